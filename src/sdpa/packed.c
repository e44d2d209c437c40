/* packed.c -- packed sequences: each runs as a call of its own. The packed tensors are checked
 * as a whole, then each sequence, before the first is computed. */
#include <stdio.h>
#include <string.h>

#include "backward_call.h"
#include "error.h"

/* The packed call that each sequence's call is sliced from. */
struct packed_call {
  attn_sdpa desc; /* a copy without key_lengths, which count per sequence */
  const attn_tensor *q, *k, *v, *o, *cu_seqlens_q, *cu_seqlens_k, *lengths;
  int64_t sequences;
};

/* ---- Checks ---- */

/* Checks before those of the packed tensors as a whole. */
static attn_status begin(struct packed_call *p, const attn_sdpa *desc, attn_error *err) {
  const struct {
    const attn_tensor *t;
    const char *name;
  } all[] = {{p->q, "q"}, {p->k, "k"}, {p->v, "v"}, {p->o, "o"}};
  attn_status status = attn_problem_copy_desc(desc, &p->desc, err);
  if (status) return status;
  if (p->desc.weights)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "weights",
                     "weights must be NULL for packed sequences");
  for (int n = 0; n < 4; n++) {
    if (!all[n].t) return attn_fail(err, ATTN_ERR_ARGUMENT, all[n].name, "%s is NULL", all[n].name);
    if (all[n].t->rank != 3)
      return attn_fail(err, ATTN_ERR_SHAPE, all[n].name,
                       "%s has rank %d; packed tensors must have rank 3: (heads, tokens, width)",
                       all[n].name, (int)all[n].t->rank);
  }
  p->lengths = p->desc.key_lengths, p->desc.key_lengths = NULL;
  return ATTN_OK;
}

static attn_status check_integers(const attn_tensor *t, const char *name, attn_error *err) {
  attn_tensor wide, like = {.rank = 4, .shape = {1, 1, 1, t->shape[0]}};
  if (t->dtype != ATTN_I32 && t->dtype != ATTN_I64)
    return attn_fail(err, ATTN_ERR_TYPE, name, "%s is %s; it must be int32 or int64", name,
                     attn_dtype_name(t->dtype));
  if (t->rank != 1)
    return attn_fail(err, ATTN_ERR_SHAPE, name, "%s has rank %d; it must be 1", name, (int)t->rank);
  return attn_tensor_check_like(t, name, &like, 1, t->dtype, &wide, err);
}

static attn_status check_starts(const attn_tensor *t, const char *name, int64_t total,
                                attn_error *err) {
  if (!t) return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s is missing", name);
  attn_status status = check_integers(t, name, err);
  if (status) return status;
  if (t->shape[0] < 1)
    return attn_fail(err, ATTN_ERR_SHAPE, name, "%s is empty; it must have sequences + 1 elements",
                     name);
  int64_t before = 0;
  for (int64_t n = 0; n < t->shape[0]; n++) {
    int64_t at = attn_tensor_integer(t, n, 0);
    if (at < before || at > total || (n == 0 && at != 0))
      return attn_fail(
          err, ATTN_ERR_ARGUMENT, name,
          "%s[%lld] is %lld; the values must start at 0, not decrease, and end at %lld", name,
          (long long)n, (long long)at, (long long)total);
    before = at;
  }
  if (before == total) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s ends at %lld; it must end at %lld", name,
                   (long long)before, (long long)total);
}

/* The values are checked per sequence. */
static attn_status check_lengths(const struct packed_call *p, attn_error *err) {
  if (!p->lengths) return ATTN_OK;
  attn_status status = check_integers(p->lengths, "key_lengths", err);
  if (status || p->lengths->shape[0] == p->sequences) return status;
  return attn_fail(err, ATTN_ERR_SHAPE, "key_lengths",
                   "key_lengths must have shape (sequences) = (%lld)", (long long)p->sequences);
}

static attn_status check_cuts(struct packed_call *p, attn_error *err) {
  const attn_tensor *t = p->cu_seqlens_q, *u = p->cu_seqlens_k;
  attn_status status = check_starts(t, "cu_seqlens_q", p->q->shape[1], err);
  if (!status) status = check_starts(u, "cu_seqlens_k", p->k->shape[1], err);
  if (status) return status;
  p->sequences = t->shape[0] - 1;
  if (u->shape[0] != t->shape[0])
    return attn_fail(err, ATTN_ERR_SHAPE, "cu_seqlens_k",
                     "cu_seqlens_q has %lld elements, but cu_seqlens_k has %lld",
                     (long long)t->shape[0], (long long)u->shape[0]);
  return check_lengths(p, err);
}

/* The cumulative lengths and key_lengths must not be overwritten by an output. */
static attn_status check_outputs(const struct packed_call *p, const struct attn_named_view *out,
                                 size_t outs, attn_error *err) {
  const struct attn_named_view in[] = {{p->cu_seqlens_q, "cu_seqlens_q"},
                                       {p->cu_seqlens_k, "cu_seqlens_k"},
                                       {p->lengths, "key_lengths"}};
  return attn_views_check_no_overlap(out, outs, in, sizeof in / sizeof *in, err);
}

/* ---- Cuts ---- */

/* Elements from..to of a dimension; an empty slice keeps data. */
static attn_tensor cut(const attn_tensor *t, int dimension, int64_t from, int64_t to) {
  attn_tensor part = *t;
  part.shape[dimension] = to - from;
  if (!attn_view_is_empty(&part)) part.data = attn_view_at(t, from * t->strides[dimension]);
  return part;
}

/* The range of sequence n: queries i0..i1, keys j0..j1. */
struct sequence_range {
  int64_t i0, i1, j0, j1;
};

static struct sequence_range place_of(const struct packed_call *p, int64_t n) {
  return (struct sequence_range){
      attn_tensor_integer(p->cu_seqlens_q, n, 0), attn_tensor_integer(p->cu_seqlens_q, n + 1, 0),
      attn_tensor_integer(p->cu_seqlens_k, n, 0), attn_tensor_integer(p->cu_seqlens_k, n + 1, 0)};
}

/* A dimension of size 1 broadcasts to all sequences. */
static attn_tensor cut_mask(const attn_tensor *t, const struct sequence_range *at) {
  attn_tensor part = *t;
  int rows = t->rank - 2, keys = t->rank - 1;
  if (rows >= 0 && t->shape[rows] != 1) part = cut(&part, rows, at->i0, at->i1);
  if (keys >= 0 && t->shape[keys] != 1) part = cut(&part, keys, at->j0, at->j1);
  return part;
}

/* One sequence's descriptor and the views it points to. */
struct packed_sequence {
  attn_sdpa desc;
  attn_tensor q, k, v, o, mask, lse, lengths;
};

static void cut_piece(const struct packed_call *p, int64_t n, struct packed_sequence *c) {
  const struct sequence_range at = place_of(p, n);
  const int64_t i0 = at.i0, i1 = at.i1, j0 = at.j0, j1 = at.j1;
  memset(c, 0, sizeof *c);
  c->desc = p->desc;
  c->desc.origin_batch += n;
  c->q = cut(p->q, 1, i0, i1), c->o = cut(p->o, 1, i0, i1);
  c->k = cut(p->k, 1, j0, j1);
  c->v = cut(p->v, 1, j0, j1);
  if (c->desc.mask) c->mask = cut_mask(p->desc.mask, &at), c->desc.mask = &c->mask;
  if (c->desc.lse) c->lse = cut(p->desc.lse, 1, i0, i1), c->desc.lse = &c->lse;
  if (p->lengths) c->lengths = cut(p->lengths, 0, n, n + 1), c->desc.key_lengths = &c->lengths;
}

/* ---- Forward ---- */

/* Adds the number of the sequence to the message of its call. */
static void name_sequence(int64_t n, attn_error *err) {
  char message[sizeof err->message];
  if (!err) return;
  memcpy(message, err->message, sizeof message);
  snprintf(err->message, sizeof err->message, "packed sequence %lld: %.200s", (long long)n,
           message);
}

static attn_status check_pieces(const struct packed_call *p, const struct attn_problem *whole,
                                int forward, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < p->sequences && !status; n++) {
    struct packed_sequence c;
    struct attn_problem problem;
    cut_piece(p, n, &c);
    status = attn_problem_check(whole, &c.desc, &c.q, &c.k, &c.v, &c.o, 1, &problem, err);
    if (!status && forward) status = attn_forward_check(&problem, err);
    if (status) name_sequence(n, err);
  }
  return status;
}

attn_status attn_sdpa_forward_packed(const attn_sdpa *desc, const attn_tensor *q,
                                     const attn_tensor *k, const attn_tensor *v,
                                     const attn_tensor *o, const attn_tensor *cu_seqlens_q,
                                     const attn_tensor *cu_seqlens_k, attn_error *err) {
  struct packed_call p = {
      .q = q, .k = k, .v = v, .o = o, .cu_seqlens_q = cu_seqlens_q, .cu_seqlens_k = cu_seqlens_k};
  struct attn_problem whole;
  attn_status status = begin(&p, desc, err);
  if (!status) status = attn_problem_check(NULL, &p.desc, q, k, v, o, 1, &whole, err);
  if (!status) status = check_cuts(&p, err);
  const struct attn_named_view out[] = {{o, "o"}, {p.desc.lse, "lse"}};
  if (!status) status = check_outputs(&p, out, sizeof out / sizeof *out, err);
  if (!status) status = check_pieces(&p, &whole, 1, err);
  for (int64_t n = 0; n < p.sequences && !status; n++) {
    struct packed_sequence c;
    struct attn_problem piece;
    cut_piece(&p, n, &c);
    status = attn_problem_check(&whole, &c.desc, &c.q, &c.k, &c.v, &c.o, 1, &piece, err);
    if (!status) status = attn_problem_run(&piece, err);
  }
  return status;
}

/* ---- Backward ---- */

/* One sequence's gradients and the views they point to. */
struct packed_gradients {
  attn_sdpa_gradients g;
  attn_tensor d_o, d_q, d_k, d_v, d_mask, d_lse;
};

static void cut_gradients(const struct packed_call *p, int64_t n, const attn_tensor *d_o,
                          const attn_sdpa_gradients *g, struct packed_gradients *c) {
  const struct sequence_range at = place_of(p, n);
  memset(c, 0, sizeof *c);
  c->g.struct_size = sizeof c->g;
  c->d_o = cut(d_o, 1, at.i0, at.i1);
  if (g->d_q) c->d_q = cut(g->d_q, 1, at.i0, at.i1), c->g.d_q = &c->d_q;
  if (g->d_k) c->d_k = cut(g->d_k, 1, at.j0, at.j1), c->g.d_k = &c->d_k;
  if (g->d_v) c->d_v = cut(g->d_v, 1, at.j0, at.j1), c->g.d_v = &c->d_v;
  if (g->d_mask) c->d_mask = cut_mask(g->d_mask, &at), c->g.d_mask = &c->d_mask;
  c->g.d_sinks = g->d_sinks, c->g.d_additive = g->d_additive;
  if (g->d_lse) c->d_lse = cut(g->d_lse, 1, at.i0, at.i1), c->g.d_lse = &c->d_lse;
}

/* Checks the packed tensors as a whole, which fills all, and then the sequences. */
static attn_status check_backward(struct packed_call *p, const attn_tensor *d_o,
                                  struct backward_call *all, attn_error *err) {
  attn_status status = attn_backward_call_check(all, &p->desc, p->q, p->k, p->v, p->o, d_o, err);
  const attn_sdpa_gradients *g = all->g;
  if (!status) status = check_cuts(p, err);
  const struct attn_named_view out[] = {{g->d_q, "d_q"},         {g->d_k, "d_k"},
                                        {g->d_v, "d_v"},         {g->d_mask, "d_mask"},
                                        {g->d_sinks, "d_sinks"}, {g->d_additive, "d_additive"}};
  if (!status) status = check_outputs(p, out, sizeof out / sizeof *out, err);
  return status ? status : check_pieces(p, &all->p, 0, err);
}

attn_status attn_sdpa_backward_packed(const attn_sdpa *desc, const attn_tensor *q,
                                      const attn_tensor *k, const attn_tensor *v,
                                      const attn_tensor *o, const attn_tensor *d_o,
                                      const attn_tensor *cu_seqlens_q,
                                      const attn_tensor *cu_seqlens_k,
                                      const attn_sdpa_gradients *gradients, attn_error *err) {
  struct packed_call p = {
      .q = q, .k = k, .v = v, .o = o, .cu_seqlens_q = cu_seqlens_q, .cu_seqlens_k = cu_seqlens_k};
  struct backward_call all = {.g = gradients};
  attn_status status = begin(&p, desc, err);
  if (!status) status = check_backward(&p, d_o, &all, err);
  if (!status) attn_backward_clear(all.g); /* pairs of different sequences keep 0 */
  for (int64_t n = 0; n < p.sequences && !status; n++) {
    struct packed_sequence c;
    struct packed_gradients d;
    cut_piece(&p, n, &c);
    cut_gradients(&p, n, d_o, all.g, &d);
    status = attn_backward_part(&all.p, 1, &c.desc, &c.q, &c.k, &c.v, &c.o, &d.d_o, &d.g, err);
  }
  return status;
}
