/* packed.c -- sequences of different lengths end to end in one tensor: each is a call of its own.
 */
#include <string.h>

#include "error.h"
#include "problem.h"

/* What every sequence's call is cut from. */
struct pack {
  const attn_sdpa *desc; /* may be NULL */
  const attn_tensor *query_starts, *key_starts;
  int64_t sequences, queries, keys; /* in all */
};

static int64_t start_at(const attn_tensor *t, int64_t n) {
  const char *at = (const char *)t->data + n * t->strides[0] * (t->dtype == ATTN_I32 ? 4 : 8);
  int32_t narrow;
  int64_t wide;
  if (t->dtype == ATTN_I32) return memcpy(&narrow, at, sizeof narrow), narrow;
  return memcpy(&wide, at, sizeof wide), wide;
}

static attn_status check_starts(const attn_tensor *t, const char *name, int64_t total,
                                attn_error *err) {
  if (!t || !t->data) return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s is missing", name);
  if (t->dtype != ATTN_I32 && t->dtype != ATTN_I64)
    return attn_fail(err, ATTN_ERR_TYPE, name, "%s is %s; it must be int32 or int64", name,
                     attn_dtype_name(t->dtype));
  if (t->rank != 1 || t->shape[0] < 1)
    return attn_fail(err, ATTN_ERR_SHAPE, name, "%s must be (sequences + 1)", name);
  int64_t before = 0;
  for (int64_t n = 0; n < t->shape[0]; n++) {
    int64_t at = start_at(t, n);
    if (at < before || at > total || (n == 0 && at != 0))
      return attn_fail(err, ATTN_ERR_ARGUMENT, name,
                       "%s[%lld] is %lld; it must begin with 0, never fall, and end with %lld",
                       name, (long long)n, (long long)at, (long long)total);
    before = at;
  }
  if (before == total) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s ends with %lld; it must end with %lld", name,
                   (long long)before, (long long)total);
}

static attn_status check_pack(struct pack *p, const attn_tensor *q, const attn_tensor *k,
                              attn_error *err) {
  if (!q || !k || q->rank != 3 || k->rank != 3)
    return attn_fail(err, ATTN_ERR_SHAPE, "q",
                     "packed tensors have rank 3: (heads, tokens, width)");
  p->queries = q->shape[1], p->keys = k->shape[1];
  attn_status status = check_starts(p->query_starts, "query_starts", p->queries, err);
  if (!status) status = check_starts(p->key_starts, "key_starts", p->keys, err);
  if (status) return status;
  p->sequences = p->query_starts->shape[0] - 1;
  if (p->key_starts->shape[0] != p->query_starts->shape[0])
    return attn_fail(err, ATTN_ERR_SHAPE, "key_starts",
                     "query_starts has %lld numbers and key_starts has %lld: they must be as many",
                     (long long)p->query_starts->shape[0], (long long)p->key_starts->shape[0]);
  return ATTN_OK;
}

/* Elements from..to of a dimension; one of size 1 that broadcasts stays. */
static attn_tensor cut(const attn_tensor *t, int dimension, int64_t from, int64_t to) {
  attn_tensor part = *t;
  if (dimension < 0 || (t->shape[dimension] == 1 && to - from != 1)) return part;
  if (t->data)
    part.data = (char *)t->data + from * t->strides[dimension] * (int64_t)attn_dtype_size(t->dtype);
  part.shape[dimension] = to - from;
  return part;
}

/* One sequence's descriptor and the views it points to. */
struct piece {
  attn_sdpa desc;
  attn_tensor q, k, v, o, mask, lse, weights, lengths;
};

static attn_status cut_piece(const struct pack *p, int64_t n, const attn_tensor *q,
                             const attn_tensor *k, const attn_tensor *v, const attn_tensor *o,
                             struct piece *c, attn_error *err) {
  int64_t i0 = start_at(p->query_starts, n), i1 = start_at(p->query_starts, n + 1);
  int64_t j0 = start_at(p->key_starts, n), j1 = start_at(p->key_starts, n + 1);
  memset(c, 0, sizeof *c);
  c->desc.struct_size = sizeof c->desc;
  if (p->desc)
    memcpy(&c->desc, p->desc,
           p->desc->struct_size < sizeof c->desc ? p->desc->struct_size : sizeof c->desc);
  c->desc.struct_size = sizeof c->desc;
  c->desc.origin_batch += n;
  c->q = cut(q, 1, i0, i1), c->k = cut(k, 1, j0, j1), c->v = cut(v, 1, j0, j1),
  c->o = cut(o, 1, i0, i1);
  if (c->desc.mask) {
    int rank = c->desc.mask->rank;
    c->mask = cut(c->desc.mask, rank - 1, j0, j1);
    if (rank > 1 && !(c->mask.shape[rank - 2] == 1)) c->mask = cut(&c->mask, rank - 2, i0, i1);
    c->desc.mask = &c->mask;
  }
  if (c->desc.lse) c->lse = cut(c->desc.lse, 1, i0, i1), c->desc.lse = &c->lse;
  if (c->desc.weights)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "weights",
                     "packed sequences have no weights to return");
  if (c->desc.key_lengths) {
    if (c->desc.key_lengths->rank != 1 || c->desc.key_lengths->shape[0] != p->sequences)
      return attn_fail(err, ATTN_ERR_SHAPE, "key_lengths",
                       "key_lengths must be (sequences) = (%lld)", (long long)p->sequences);
    c->lengths = cut(c->desc.key_lengths, 0, n, n + 1);
    c->desc.key_lengths = &c->lengths;
  }
  return ATTN_OK;
}

attn_status attn_sdpa_forward_packed(const attn_sdpa *desc, const attn_tensor *q,
                                     const attn_tensor *k, const attn_tensor *v,
                                     const attn_tensor *o, const attn_tensor *query_starts,
                                     const attn_tensor *key_starts, attn_error *err) {
  struct pack p = {desc, query_starts, key_starts, 0, 0, 0};
  attn_plan plan = {.struct_size = sizeof plan};
  attn_status status = check_pack(&p, q, k, err);
  if (!status && (!v || !o || v->rank != 3 || o->rank != 3))
    status = attn_fail(err, ATTN_ERR_SHAPE, v && v->rank == 3 ? "o" : "v",
                       "packed tensors have rank 3: (heads, tokens, width)");
  if (!status && v->shape[1] != p.keys)
    status = attn_fail(err, ATTN_ERR_SHAPE, "v", "v has %lld tokens, but k has %lld",
                       (long long)v->shape[1], (long long)p.keys);
  if (!status && o->shape[1] != p.queries)
    status = attn_fail(err, ATTN_ERR_SHAPE, "o", "o has %lld tokens, but q has %lld",
                       (long long)o->shape[1], (long long)p.queries);
  struct piece c;
  for (int64_t n = 0; n < p.sequences && !status; n++) { /* nothing is written until all is well */
    status = cut_piece(&p, n, q, k, v, o, &c, err);
    if (!status) status = attn_sdpa_plan(&c.desc, &c.q, &c.k, &c.v, &c.o, &plan, err);
  }
  for (int64_t n = 0; n < p.sequences && !status; n++) {
    status = cut_piece(&p, n, q, k, v, o, &c, err);
    if (!status) status = attn_sdpa_forward(&c.desc, &c.q, &c.k, &c.v, &c.o, err);
  }
  return status;
}

/* ---- Backward ---- */

/* One sequence's gradients and the views they point to. */
struct gradient_piece {
  attn_sdpa_gradients g;
  attn_tensor d_o, d_q, d_k, d_v, d_lse;
};

static void cut_gradients(const struct pack *p, int64_t n, const attn_tensor *d_o,
                          const attn_sdpa_gradients *g, struct gradient_piece *c) {
  int64_t i0 = start_at(p->query_starts, n), i1 = start_at(p->query_starts, n + 1);
  int64_t j0 = start_at(p->key_starts, n), j1 = start_at(p->key_starts, n + 1);
  memset(c, 0, sizeof *c);
  c->g.struct_size = sizeof c->g;
  c->d_o = cut(d_o, 1, i0, i1);
  if (g->d_q) c->d_q = cut(g->d_q, 1, i0, i1), c->g.d_q = &c->d_q;
  if (g->d_k) c->d_k = cut(g->d_k, 1, j0, j1), c->g.d_k = &c->d_k;
  if (g->d_v) c->d_v = cut(g->d_v, 1, j0, j1), c->g.d_v = &c->d_v;
  if (g->d_lse) c->d_lse = cut(g->d_lse, 1, i0, i1), c->g.d_lse = &c->d_lse;
}

static attn_status check_tokens(const attn_tensor *t, const char *name, int rank, int64_t tokens,
                                int required, attn_error *err) {
  if (!t && !required) return ATTN_OK;
  if (!t) return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s is NULL", name);
  if (t->rank == rank && t->shape[1] == tokens) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_SHAPE, name, "%s must have rank %d and %lld tokens", name, rank,
                   (long long)tokens);
}

attn_status attn_sdpa_backward_packed(const attn_sdpa *desc, const attn_tensor *q,
                                      const attn_tensor *k, const attn_tensor *v,
                                      const attn_tensor *o, const attn_tensor *d_o,
                                      const attn_tensor *query_starts,
                                      const attn_tensor *key_starts, const attn_sdpa_gradients *g,
                                      attn_error *err) {
  struct pack p = {desc, query_starts, key_starts, 0, 0, 0};
  const size_t least = offsetof(attn_sdpa_gradients, d_additive); /* an older caller's */
  if (!g || !attn_size_is_known(g->struct_size, least))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "gradients",
                     "gradients is NULL or its struct_size is not sizeof(attn_sdpa_gradients)");
  if (g->d_mask || g->d_sinks)
    return attn_fail(err, ATTN_ERR_ARGUMENT, g->d_mask ? "d_mask" : "d_sinks",
                     "packed sequences give no gradient of masks or sinks");
  if (g->struct_size > least && g->d_additive)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "d_additive",
                     "packed sequences give no gradient of additive");
  attn_status status = check_pack(&p, q, k, err);
  const struct {
    const attn_tensor *t;
    const char *name;
    int rank, required;
    int64_t tokens;
  } all[] = {{v, "v", 3, 1, p.keys},           {o, "o", 3, 1, p.queries},
             {d_o, "d_o", 3, 1, p.queries},    {desc ? desc->lse : NULL, "lse", 2, 1, p.queries},
             {g->d_q, "d_q", 3, 0, p.queries}, {g->d_k, "d_k", 3, 0, p.keys},
             {g->d_v, "d_v", 3, 0, p.keys},    {g->d_lse, "d_lse", 2, 0, p.queries}};
  for (size_t n = 0; n < sizeof all / sizeof *all && !status; n++)
    status = check_tokens(all[n].t, all[n].name, all[n].rank, all[n].tokens, all[n].required, err);
  for (int64_t n = 0; n < p.sequences && !status; n++) {
    struct piece c;
    struct gradient_piece d;
    status = cut_piece(&p, n, q, k, v, o, &c, err);
    if (status) break;
    cut_gradients(&p, n, d_o, g, &d);
    status = attn_sdpa_backward(&c.desc, &c.q, &c.k, &c.v, &c.o, &d.d_o, &d.g, err);
  }
  return status;
}
