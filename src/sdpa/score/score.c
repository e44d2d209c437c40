/* score.c -- score functions with learned matrices: projects q and k, then runs sdpa. */
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "backward.h"
#include "projection.h"

/* One call. Tensors at rank 4; a matrix is (1, heads, rows, columns), with stride 0 if heads
 * share it. */
struct score_call {
  attn_sdpa desc; /* of the projected call */
  attn_score score;
  attn_tensor q, k, w, u;
  attn_tensor core_q, core_k;     /* the projected q and k, at the caller's rank */
  attn_tensor core_d_q, core_d_k; /* and their gradients */
  void *memory;
  struct attn_problem p; /* of the projected call: its threads */
};

/* ---- Checks ---- */

static attn_status check_kind(const attn_score *s, attn_error *err) {
  const struct {
    const attn_tensor *t;
    const char *name;
    int used;
  } all[] = {{s->w, "w", s->kind != ATTN_SCORE_DOT},
             {s->u, "u", s->kind == ATTN_SCORE_ADDITIVE},
             {s->a, "a", s->kind == ATTN_SCORE_ADDITIVE}};
  if (s->kind < ATTN_SCORE_DOT || s->kind > ATTN_SCORE_ADDITIVE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "kind", "unknown score kind %d; it must be 0, 1 or 2",
                     (int)s->kind);
  if (s->reserved) return attn_fail(err, ATTN_ERR_ARGUMENT, "reserved", "reserved must be 0");
  for (int n = 0; n < 3; n++)
    if (!all[n].t != !all[n].used)
      return attn_fail(err, ATTN_ERR_ARGUMENT, all[n].name, "%s is %s, but score kind %d %s",
                       all[n].name, all[n].t ? "not NULL" : "NULL", (int)s->kind,
                       all[n].used ? "requires it" : "does not use it");
  return ATTN_OK;
}

static attn_status check_type(const attn_tensor *t, const char *name, attn_error *err) {
  if (attn_is_floating_point(t->dtype)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_TYPE, name, "%s is %s; it must be a float type", name,
                   attn_dtype_name(t->dtype));
}

static attn_status check_input(const attn_tensor *t, const char *name, const attn_tensor *q,
                               attn_tensor *wide, attn_error *err) {
  if (!t) return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s is NULL", name);
  if (t->rank < 2 || t->rank > 4 || t->rank != q->rank)
    return attn_fail(err, ATTN_ERR_SHAPE, name,
                     "%s has rank %d; it must be 2, 3 or 4, the same in q and k", name,
                     (int)t->rank);
  attn_tensor like = {.rank = 4};
  for (int n = 0; n < t->rank; n++) like.shape[n + 4 - t->rank] = t->shape[n];
  attn_status status = check_type(t, name, err);
  return status ? status : attn_tensor_check_like(t, name, &like, t->rank, q->dtype, wide, err);
}

/* (rows, columns) or (heads, rows, columns), of any float type. columns < 0: any. */
static attn_status check_matrix(const attn_tensor *t, const char *name, int64_t heads, int64_t rows,
                                int64_t columns, attn_tensor *wide, attn_error *err) {
  if (t->rank != 2 && t->rank != 3)
    return attn_fail(err, ATTN_ERR_SHAPE, name,
                     "%s has rank %d; it must be 2, or 3 with a matrix for each head", name,
                     (int)t->rank);
  attn_tensor like = {.rank = 4,
                      .shape = {1, heads, rows, columns < 0 ? t->shape[t->rank - 1] : columns}};
  attn_status status = check_type(t, name, err);
  if (!status) status = attn_tensor_check_like(t, name, &like, t->rank, t->dtype, wide, err);
  if (t->rank == 2) wide->strides[1] = 0;
  return status;
}

static attn_status check_matrices(struct score_call *c, attn_error *err) {
  const attn_score *s = &c->score;
  const int64_t *q = c->q.shape, *k = c->k.shape;
  if (s->kind == ATTN_SCORE_DOT) return ATTN_OK;
  int general = s->kind == ATTN_SCORE_GENERAL;
  attn_status status = check_matrix(s->w, "w", q[1], q[3], general ? k[3] : -1, &c->w, err);
  if (status || general) return status;
  status = check_matrix(s->u, "u", k[1], k[3], c->w.shape[3], &c->u, err);
  if (status) return status;
  attn_tensor like = {.rank = 4, .shape = {1, 1, q[1], c->w.shape[3]}}, wide;
  if (s->a->rank != 1 && s->a->rank != 2)
    return attn_fail(err, ATTN_ERR_SHAPE, "a", "a has rank %d; it must be 1, or 2 with (Hq, A)",
                     (int)s->a->rank);
  status = check_type(s->a, "a", err);
  if (status) return status;
  return attn_tensor_check_like(s->a, "a", &like, s->a->rank, s->a->dtype, &wide, err);
}

/* Checks the outputs against the inputs that the projected call does not see. */
static attn_status check_outputs(const struct score_call *c, const attn_tensor *o,
                                 const attn_tensor *q, const attn_tensor *k, attn_error *err) {
  const struct attn_named_view out[] = {
      {o, "o"}, {c->desc.lse, "lse"}, {c->desc.weights, "weights"}};
  const struct attn_named_view in[] = {{q, "q"}, {k, "k"}, {c->score.w, "w"}, {c->score.u, "u"}};
  return attn_views_check_no_overlap(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in,
                                     err);
}

static attn_status check(struct score_call *c, const attn_sdpa *desc, const attn_score *score,
                         const attn_tensor *q, const attn_tensor *k, attn_error *err) {
  memset(c, 0, sizeof *c);
  attn_status status =
      attn_descriptor_copy(score, &c->score, sizeof c->score, sizeof c->score, "score", err);
  if (!status) status = attn_problem_copy_desc(desc, &c->desc, err);
  if (!status) status = check_kind(&c->score, err);
  if (!status && c->desc.additive)
    status = attn_fail(err, ATTN_ERR_ARGUMENT, "additive",
                       "additive must be NULL: use score->kind and score->a");
  if (!status && !q) status = attn_fail(err, ATTN_ERR_ARGUMENT, "q", "q is NULL");
  if (!status) status = check_input(q, "q", q, &c->q, err);
  if (!status) status = check_input(k, "k", q, &c->k, err);
  if (!status) status = check_matrices(c, err);
  if (status) return status;
  c->core_q = *q, c->core_k = *k;
  if (c->score.kind != ATTN_SCORE_DOT && !(c->desc.flags & ATTN_SDPA_SCALE))
    c->desc.flags |= ATTN_SDPA_SCALE, c->desc.scale = 1;
  if (c->score.kind == ATTN_SCORE_ADDITIVE) c->desc.additive = c->score.a;
  return ATTN_OK;
}

/* ---- Projected tensors ---- */

/* Bytes of (B, H, N, width) of like's type, and up to the next multiple of the alignment; 0 only on
 * overflow. */
static size_t bytes_of(const attn_tensor *like, int64_t width) {
  size_t bytes = attn_dtype_size(like->dtype);
  for (int n = 0; n < 4; n++)
    if (__builtin_mul_overflow(bytes, (size_t)(n == 3 ? width : like->shape[n]), &bytes)) return 0;
  return bytes > SIZE_MAX / 8 ? 0 : bytes + ATTN_PANEL_ALIGN - bytes % ATTN_PANEL_ALIGN;
}

/* A contiguous tensor like t, width wide, at *at; advances *at. */
static attn_tensor dense_at(const attn_tensor *t, int64_t width, char **at, size_t bytes) {
  attn_tensor dense = *t;
  uint64_t stride = 1; /* overflow is detected by bytes_of */
  dense.data = *at;
  dense.shape[t->rank - 1] = width;
  for (int n = t->rank - 1; n >= 0; n--) {
    dense.strides[n] = (int64_t)stride;
    stride *= (uint64_t)dense.shape[n];
  }
  *at += bytes;
  return dense;
}

/* Allocates the projections and, for the backward, their gradients. */
static attn_status allocate_projections(struct score_call *c, int gradients, attn_error *err) {
  const int kind = c->score.kind;
  if (kind == ATTN_SCORE_DOT) return ATTN_OK;
  int64_t width = c->w.shape[3];
  size_t q = bytes_of(&c->q, width), k = kind == ATTN_SCORE_ADDITIVE ? bytes_of(&c->k, width) : 0;
  if (!q || (kind == ATTN_SCORE_ADDITIVE && !k))
    return attn_fail(err, ATTN_ERR_SHAPE, "w", "the size of the projections overflows");
  size_t all = (q + k) * (gradients ? 2 : 1);
  char *at = c->memory = attn_problem_allocate(&c->desc, all);
  if (!at)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu bytes of projections", all);
  c->core_q = dense_at(&c->core_q, width, &at, q);
  if (kind == ATTN_SCORE_ADDITIVE) c->core_k = dense_at(&c->core_k, width, &at, k);
  if (!gradients) return ATTN_OK;
  c->core_d_q = dense_at(&c->core_q, width, &at, q);
  if (kind == ATTN_SCORE_ADDITIVE) c->core_d_k = dense_at(&c->core_k, width, &at, k);
  return ATTN_OK;
}

static void project(const struct score_call *c) {
  attn_tensor q = attn_tensor_rank4(&c->core_q), k = attn_tensor_rank4(&c->core_k);
  if (c->score.kind != ATTN_SCORE_DOT) attn_project(&c->p, &c->q, &c->w, 0, &q);
  if (c->score.kind == ATTN_SCORE_ADDITIVE) attn_project(&c->p, &c->k, &c->u, 0, &k);
}

/* Runs the checks of the projected call before anything is projected. */
static attn_status prepare(struct score_call *c, const attn_tensor *v, const attn_tensor *o,
                           int gradients, attn_error *err) {
  attn_status status = allocate_projections(c, gradients, err);
  if (!status)
    status = attn_problem_check(NULL, &c->desc, &c->core_q, &c->core_k, v, o, 1, &c->p, err);
  if (!status) status = attn_forward_check(&c->p, err);
  if (!status) project(c);
  return status;
}

attn_status attn_score_forward(const attn_sdpa *desc, const attn_score *score, const attn_tensor *q,
                               const attn_tensor *k, const attn_tensor *v, const attn_tensor *o,
                               attn_error *err) {
  struct score_call c;
  attn_status status = check(&c, desc, score, q, k, err);
  if (!status) status = check_outputs(&c, o, q, k, err);
  if (status) return status;
  status = prepare(&c, v, o, 0, err);
  if (!status) status = attn_problem_run(&c.p, err);
  attn_problem_release(&c.desc, c.memory);
  return status;
}

/* ---- Backward ---- */

struct score_results {
  attn_sdpa_gradients given, core; /* the caller's, and those of the projected call */
  attn_score_gradients score;
  attn_tensor d_q, d_k, d_w, d_u; /* rank 4; data NULL: not computed */
};

static attn_status check_results(const struct score_call *c, struct score_results *r,
                                 const attn_tensor *q, const attn_tensor *k, attn_error *err) {
  attn_status status = ATTN_OK;
  if (r->given.d_additive)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "d_additive",
                     "d_additive must be NULL: use score_gradients->d_a");
  if (r->given.d_q)
    status = attn_tensor_check_like(r->given.d_q, "d_q", &c->q, q->rank, q->dtype, &r->d_q, err);
  if (!status && r->given.d_k)
    status = attn_tensor_check_like(r->given.d_k, "d_k", &c->k, k->rank, k->dtype, &r->d_k, err);
  const attn_score *s = &c->score;
  const attn_score_gradients *d = &r->score;
  attn_tensor like = {.rank = 4, .shape = {1, 1, c->q.shape[1], c->w.shape[3]}}, wide;
  if (!status)
    status = attn_tensor_check_gradient(d->d_w, "d_w", s->w, "w is NULL", &c->w, &r->d_w, err);
  if (!status)
    status = attn_tensor_check_gradient(d->d_u, "d_u", s->u, "u is NULL", &c->u, &r->d_u, err);
  if (!status)
    status = attn_tensor_check_gradient(d->d_a, "d_a", s->a, "a is NULL", &like, &wide, err);
  return status;
}

static attn_status check_no_overlap(const struct score_call *c, const struct score_results *r,
                                    const attn_tensor *const *main, attn_error *err) {
  const attn_sdpa *d = &c->desc;
  const attn_score *s = &c->score;
  const attn_sdpa_gradients *g = &r->given;
  const struct attn_named_view out[] = {
      {g->d_q, "d_q"},         {g->d_k, "d_k"},       {g->d_v, "d_v"},       {g->d_mask, "d_mask"},
      {g->d_sinks, "d_sinks"}, {r->score.d_w, "d_w"}, {r->score.d_u, "d_u"}, {r->score.d_a, "d_a"}};
  const struct attn_named_view in[] = {{main[0], "q"},      {main[1], "k"},
                                       {main[2], "v"},      {main[3], "o"},
                                       {main[4], "d_o"},    {s->w, "w"},
                                       {s->u, "u"},         {s->a, "a"},
                                       {d->lse, "lse"},     {d->mask, "mask"},
                                       {d->alibi, "alibi"}, {d->sinks, "sinks"},
                                       {g->d_lse, "d_lse"}, {d->key_lengths, "key_lengths"}};
  return attn_views_check_no_overlap(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in,
                                     err);
}

static attn_status take_results(struct score_results *r, const attn_sdpa_gradients *g,
                                const attn_score_gradients *s, attn_error *err) {
  memset(r, 0, sizeof *r);
  attn_status status = attn_gradients_copy(g, &r->given, err);
  if (!status)
    status = attn_descriptor_copy(s, &r->score, sizeof r->score, sizeof r->score, "score_gradients",
                                  err);
  r->core = r->given;
  return status;
}

/* Turns gradients of the projections into those of q, k and the matrices. */
static void project_gradients(const struct score_call *c, const struct score_results *r) {
  attn_tensor d_q = attn_tensor_rank4(&c->core_d_q), d_k = attn_tensor_rank4(&c->core_d_k);
  if (r->d_q.data && c->core_d_q.data) attn_project(&c->p, &d_q, &c->w, 1, &r->d_q);
  if (r->d_w.data) attn_project_backward(&c->p, &c->q, &d_q, &r->d_w);
  if (r->d_k.data && c->core_d_k.data) attn_project(&c->p, &d_k, &c->u, 1, &r->d_k);
  if (r->d_u.data) attn_project_backward(&c->p, &c->k, &d_k, &r->d_u);
}

attn_status attn_score_backward(const attn_sdpa *desc, const attn_score *score,
                                const attn_tensor *q, const attn_tensor *k, const attn_tensor *v,
                                const attn_tensor *o, const attn_tensor *d_o,
                                const attn_sdpa_gradients *gradients,
                                const attn_score_gradients *score_gradients, attn_error *err) {
  struct score_call c;
  struct score_results r;
  const attn_tensor *const main[] = {q, k, v, o, d_o};
  attn_status status = take_results(&r, gradients, score_gradients, err);
  if (!status) status = check(&c, desc, score, q, k, err);
  if (!status) status = check_results(&c, &r, q, k, err);
  if (!status) status = check_no_overlap(&c, &r, main, err);
  if (status) return status;
  status = prepare(&c, v, o, 1, err);
  r.core.d_additive = r.score.d_a;
  if (c.core_d_q.data) r.core.d_q = r.given.d_q || r.score.d_w ? &c.core_d_q : NULL;
  if (c.core_d_k.data) r.core.d_k = r.given.d_k || r.score.d_u ? &c.core_d_k : NULL;
  if (!status)
    status = attn_backward_part(&c.p, 0, &c.desc, &c.core_q, &c.core_k, v, o, d_o, &r.core, err);
  if (!status) project_gradients(&c, &r);
  attn_problem_release(&c.desc, c.memory);
  return status;
}
