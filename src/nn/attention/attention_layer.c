/* attention_layer.c -- attn/nn.h's layer: products with matrices around the core's attention. */
#include <string.h>

#include "allocator.h"
#include "attn/nn.h"
#include "descriptor.h"
#include "error.h"
#include "layer_matrix.h"
#include "view.h"

/* out = in w; without w, out is in. */
struct linear_map {
  struct attn_layer_matrix in, w, out;
};

struct layer_call {
  attn_attention_layer layer;
  attn_sdpa desc;
  attn_score score;
  struct attn_layer_memory memory;
  int rank;                              /* of x: 2, or 3 with a batch */
  int64_t batch, inputs, queries, heads; /* B, N, M, H */
  struct attn_layer_matrix x, queried;   /* x, q */
  struct linear_map q, k, v, o;
};

/* ---- Checks ---- */

static attn_status copy_descriptors(struct layer_call *c, const attn_attention_layer *layer,
                                    attn_error *err) {
  attn_status status =
      attn_descriptor_copy(layer, &c->layer, sizeof c->layer, sizeof c->layer, "layer", err);
  if (!status)
    status = attn_descriptor_copy(c->layer.sdpa, &c->desc, sizeof c->desc,
                                  offsetof(attn_sdpa, workspace), "sdpa", err);
  if (!status)
    status = attn_descriptor_copy(c->layer.score, &c->score, sizeof c->score, sizeof c->score,
                                  "score", err);
  if (!status && c->layer.heads < 0)
    status = attn_fail(err, ATTN_ERR_ARGUMENT, "heads", "heads is %lld; it must be at least 1",
                       (long long)c->layer.heads);
  c->heads = c->layer.heads ? c->layer.heads : 1;
  c->desc.workspace = NULL, c->desc.workspace_bytes = 0;
  c->memory.host = (struct attn_host){c->desc.executor, c->desc.allocator, c->desc.threads};
  return status ? status : attn_host_check(&c->memory.host, err);
}

static attn_status check_inputs(struct layer_call *c, const attn_tensor *x, const attn_tensor *q,
                                attn_error *err) {
  attn_status status = attn_layer_check_real(x, "x", err);
  if (!status && x->rank != 2 && x->rank != 3)
    status = attn_fail(err, ATTN_ERR_SHAPE, "x", "x has rank %d; it must be 2, or 3 with a batch",
                       (int)x->rank);
  if (!status) status = attn_layer_check_real(q, "q", err);
  if (status) return status;
  if (q->rank != x->rank || (x->rank == 3 && q->shape[0] != x->shape[0]))
    return attn_fail(err, ATTN_ERR_SHAPE, "q", "q must have the rank and the batch of x");
  c->rank = x->rank, c->batch = x->rank == 3 ? x->shape[0] : 1;
  c->inputs = x->shape[x->rank - 2], c->queries = q->shape[q->rank - 2];
  return ATTN_OK;
}

/* w (rows, any), NULL: the identity. *width is the number of columns, a multiple of heads. */
static attn_status check_matrix(const attn_tensor *w, const char *name, int64_t rows, int64_t heads,
                                int64_t *width, attn_error *err) {
  *width = rows;
  if (w) {
    attn_status status = attn_layer_check_real(w, name, err);
    if (!status && (w->rank != 2 || w->shape[0] != rows)) {
      char text[ATTN_SHAPE_TEXT];
      status = attn_fail(err, ATTN_ERR_SHAPE, name, "%s is %s; it must have %lld rows", name,
                         attn_view_text(w, text), (long long)rows);
    }
    if (status) return status;
    *width = w->shape[1];
  }
  if (*width % heads == 0) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_SHAPE, w ? name : "heads",
                   "%lld heads do not divide a width of %lld%s%s", (long long)heads,
                   (long long)*width, w ? ", the columns of " : "", w ? name : "");
}

/* Sets the widths of Q', K and V in c, and *y_width. */
static attn_status check_matrices(struct layer_call *c, const attn_tensor *x, const attn_tensor *q,
                                  int64_t *y_width, attn_error *err) {
  const attn_attention_layer *l = &c->layer;
  int64_t x_width = x->shape[x->rank - 1], *v = &c->v.out.columns;
  attn_status status =
      check_matrix(l->w_q, "w_q", q->shape[q->rank - 1], c->heads, &c->q.out.columns, err);
  if (!status) status = check_matrix(l->w_k, "w_k", x_width, c->heads, &c->k.out.columns, err);
  if (!status) status = check_matrix(l->w_v, "w_v", x_width, c->heads, v, err);
  if (!status) status = check_matrix(l->w_o, "w_o", *v, 1, y_width, err);
  if (status || c->score.kind != ATTN_SCORE_DOT || c->q.out.columns == c->k.out.columns)
    return status;
  return attn_fail(err, ATTN_ERR_SHAPE, l->w_k ? "w_k" : "x",
                   "a dot product requires keys as wide as the queries: %lld, not %lld",
                   (long long)c->q.out.columns, (long long)c->k.out.columns);
}

static attn_status check_result_shape(const struct layer_call *c, const attn_tensor *t,
                                      const char *name, int64_t width, attn_error *err) {
  const int64_t shape[] = {c->batch, c->queries, width};
  return attn_layer_check_shape(t, name, shape + 3 - c->rank, c->rank, err);
}

/* d_y: NULL in the forward. */
static attn_status check_no_overlap(const struct layer_call *c, const struct attn_named_view *out,
                                    size_t outs, const attn_tensor *x, const attn_tensor *q,
                                    const attn_tensor *d_y, attn_error *err) {
  const attn_attention_layer *l = &c->layer;
  const struct attn_named_view in[] = {{x, "x"},
                                       {q, "q"},
                                       {d_y, "d_y"},
                                       {l->w_q, "w_q"},
                                       {l->w_k, "w_k"},
                                       {l->w_v, "w_v"},
                                       {l->w_o, "w_o"},
                                       {c->score.w, "w"},
                                       {c->score.u, "u"},
                                       {c->score.a, "a"},
                                       {c->desc.mask, "mask"},
                                       {c->desc.alibi, "alibi"},
                                       {c->desc.sinks, "sinks"},
                                       {c->desc.key_lengths, "key_lengths"}};
  return attn_views_check_no_overlap(out, outs, in, sizeof in / sizeof *in, err);
}

static attn_status check(struct layer_call *c, const attn_attention_layer *layer,
                         const attn_tensor *x, const attn_tensor *q, const attn_tensor *y,
                         const char *y_name, attn_error *err) {
  int64_t width;
  memset(c, 0, sizeof *c);
  attn_status status = copy_descriptors(c, layer, err);
  if (!status) status = check_inputs(c, x, q, err);
  if (!status) status = check_matrices(c, x, q, &width, err);
  if (!status) status = check_result_shape(c, y, y_name, width, err);
  if (status) return status;
  const attn_tensor *const all[] = {x, q, c->layer.w_q, c->layer.w_k, c->layer.w_v, c->layer.w_o};
  c->memory.type = ATTN_F32;
  for (size_t n = 0; n < sizeof all / sizeof *all; n++)
    if (all[n] && all[n]->dtype == ATTN_F64) c->memory.type = ATTN_F64;
  c->o.out.columns = width;
  return ATTN_OK;
}

static attn_status no_memory(const struct layer_call *c, attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL,
                   "cannot allocate memory for %lld queries and %lld inputs of an attention layer",
                   (long long)c->queries, (long long)c->inputs);
}

/* ---- Linear maps ---- */

static void take_out(struct layer_call *c, struct linear_map *map, struct attn_layer_matrix in,
                     const attn_tensor *w) {
  map->in = in, map->w = attn_layer_matrix_of(&c->memory, w), map->out.rows = in.rows;
  map->out.at = w ? attn_layer_take(&c->memory, in.rows, map->out.columns) : in.at;
}

static void take_forward(struct layer_call *c, const attn_tensor *x, const attn_tensor *q) {
  c->x = attn_layer_matrix_of(&c->memory, x), c->queried = attn_layer_matrix_of(&c->memory, q);
  take_out(c, &c->q, c->queried, c->layer.w_q);
  take_out(c, &c->k, c->x, c->layer.w_k), take_out(c, &c->v, c->x, c->layer.w_v);
  struct attn_layer_matrix o = {NULL, c->queried.rows, c->v.out.columns, NULL};
  o.at = attn_layer_take(&c->memory, o.rows, o.columns);
  take_out(c, &c->o, o, c->layer.w_o);
}

static attn_status apply(const struct layer_call *c, const struct linear_map *map,
                         attn_error *err) {
  if (!map->w.view) return ATTN_OK;
  attn_layer_load(&c->memory, &map->w);
  return attn_layer_multiply(&c->memory, &map->in, 0, &map->w, 0, map->out.at, 0, err);
}

/* d_in = or, with add, += d_out w^T; d_w = in^T d_out. NULL: not computed. */
static attn_status apply_backward(const struct layer_call *c, const struct linear_map *map,
                                  const void *d_out, void *d_in, int add, void *d_w,
                                  attn_error *err) {
  const struct attn_layer_matrix d = {NULL, map->out.rows, map->out.columns,
                                      (void *)(uintptr_t)d_out};
  const int64_t count = d.rows * d.columns;
  attn_status status = ATTN_OK;
  if (d_w) status = attn_layer_multiply(&c->memory, &map->in, 1, &d, 0, d_w, 0, err);
  if (status || !d_in) return status;
  if (map->w.view) return attn_layer_multiply(&c->memory, &d, 0, &map->w, 1, d_in, add, err);
  for (int64_t n = 0; n < count; n++)
    if (c->memory.type == ATTN_F64)
      ((double *)d_in)[n] = (add ? ((double *)d_in)[n] : 0) + ((const double *)d_out)[n];
    else
      ((float *)d_in)[n] = (add ? ((float *)d_in)[n] : 0) + ((const float *)d_out)[n];
  return ATTN_OK;
}

/* ---- Forward ---- */

/* (B, H, rows, width / H), without B if x has no batch: the heads of (B rows, width). */
static attn_tensor by_heads(const struct layer_call *c, void *at, int64_t rows, int64_t width) {
  const int64_t each = width / c->heads, shape[] = {c->batch, c->heads, rows, each},
                strides[] = {rows * width, each, width, 1};
  attn_tensor t = {.data = at, .dtype = c->memory.type, .rank = c->rank + 1};
  memcpy(t.shape, shape + 3 - c->rank, (size_t)t.rank * sizeof *shape);
  memcpy(t.strides, strides + 3 - c->rank, (size_t)t.rank * sizeof *strides);
  return t;
}

static attn_status attend(const struct layer_call *c, const attn_sdpa *desc, attn_error *err) {
  const attn_tensor q = by_heads(c, c->q.out.at, c->queries, c->q.out.columns),
                    k = by_heads(c, c->k.out.at, c->inputs, c->k.out.columns),
                    v = by_heads(c, c->v.out.at, c->inputs, c->v.out.columns),
                    o = by_heads(c, c->o.in.at, c->queries, c->o.in.columns);
  return attn_score_forward(desc, &c->score, &q, &k, &v, &o, err);
}

static attn_status run_forward(const struct layer_call *c, const attn_sdpa *desc, attn_error *err) {
  attn_layer_load(&c->memory, &c->x), attn_layer_load(&c->memory, &c->queried);
  attn_status status = apply(c, &c->q, err);
  if (!status) status = apply(c, &c->k, err);
  if (!status) status = apply(c, &c->v, err);
  return status ? status : attend(c, desc, err);
}

attn_status attn_attention_layer_forward(const attn_attention_layer *layer, const attn_tensor *x,
                                         const attn_tensor *q, const attn_tensor *y,
                                         attn_error *err) {
  struct layer_call c;
  attn_status status = check(&c, layer, x, q, y, "y", err);
  const struct attn_named_view out[] = {{y, "y"}, {c.desc.lse, "lse"}, {c.desc.weights, "weights"}};
  if (!status) status = check_no_overlap(&c, out, 3, x, q, NULL, err);
  if (status) return status;
  take_forward(&c, x, q);
  status = c.memory.failed ? no_memory(&c, err) : run_forward(&c, &c.desc, err);
  if (!status) status = apply(&c, &c.o, err);
  c.o.out.view = y;
  if (!status) attn_layer_store(&c.memory, &c.o.out);
  attn_layer_release(&c.memory);
  return status;
}

/* ---- Backward ---- */

enum { D_X, D_Q, D_W_Q, D_W_K, D_W_V, D_W_O, RESULTS };

struct layer_results {
  attn_attention_layer_gradients given;
  attn_score_gradients score;
  struct attn_layer_matrix result[RESULTS], d_y;
  void *lse, *d_o, *d_q, *d_k, *d_v; /* of O, Q', K, V; NULL: not needed */
};

static attn_status check_results(const struct layer_call *c, struct layer_results *r,
                                 const attn_tensor *x, const attn_tensor *q, const attn_tensor *d_y,
                                 attn_error *err) {
  const attn_attention_layer_gradients *g = &r->given;
  const attn_attention_layer *l = &c->layer;
  const struct attn_named_view out[] = {
      {g->d_x, "d_x"},       {g->d_q, "d_q"},       {g->d_w_q, "d_w_q"},
      {g->d_w_k, "d_w_k"},   {g->d_w_v, "d_w_v"},   {g->d_w_o, "d_w_o"},
      {r->score.d_w, "d_w"}, {r->score.d_u, "d_u"}, {r->score.d_a, "d_a"}};
  const attn_tensor *const like[RESULTS] = {x, q, l->w_q, l->w_k, l->w_v, l->w_o};
  for (int n = 0; n < RESULTS; n++) {
    if (!out[n].t) continue;
    if (!like[n])
      return attn_fail(err, ATTN_ERR_ARGUMENT, out[n].name, "%s must be NULL: %s is NULL",
                       out[n].name, out[n].name + 2);
    attn_status status =
        attn_layer_check_shape(out[n].t, out[n].name, like[n]->shape, like[n]->rank, err);
    if (status) return status;
  }
  return check_no_overlap(c, out, sizeof out / sizeof *out, x, q, d_y, err);
}

static void take_backward(struct layer_call *c, struct layer_results *r, const attn_tensor *d_y) {
  const attn_attention_layer_gradients *g = &r->given;
  const attn_tensor *const view[RESULTS] = {g->d_x, g->d_q, g->d_w_q, g->d_w_k, g->d_w_v, g->d_w_o};
  struct attn_layer_memory *m = &c->memory;
  const struct linear_map *const map[] = {&c->k, &c->q, &c->q, &c->k, &c->v, &c->o};
  for (int n = 0; n < RESULTS; n++) {
    const struct attn_layer_matrix *like = n <= D_Q ? &map[n]->in : &map[n]->w;
    r->result[n] = *like, r->result[n].view = view[n];
    r->result[n].at = view[n] ? attn_layer_take(m, like->rows, like->columns) : NULL;
  }
  r->d_y = attn_layer_matrix_of(m, d_y);
  r->lse = attn_layer_take(m, c->queried.rows, c->heads);
  r->d_o = c->o.w.view ? attn_layer_take(m, c->o.in.rows, c->o.in.columns) : r->d_y.at;
  if (g->d_q || g->d_w_q) r->d_q = attn_layer_take(m, c->q.out.rows, c->q.out.columns);
  if (g->d_x || g->d_w_k) r->d_k = attn_layer_take(m, c->k.out.rows, c->k.out.columns);
  if (g->d_x || g->d_w_v) r->d_v = attn_layer_take(m, c->v.out.rows, c->v.out.columns);
}

static attn_status attend_backward(const struct layer_call *c, const struct layer_results *r,
                                   const attn_sdpa *desc, attn_error *err) {
  const attn_tensor q = by_heads(c, c->q.out.at, c->queries, c->q.out.columns),
                    k = by_heads(c, c->k.out.at, c->inputs, c->k.out.columns),
                    v = by_heads(c, c->v.out.at, c->inputs, c->v.out.columns),
                    o = by_heads(c, c->o.in.at, c->queries, c->o.in.columns),
                    d_o = by_heads(c, r->d_o, c->queries, c->o.in.columns),
                    d_q = by_heads(c, r->d_q, c->queries, c->q.out.columns),
                    d_k = by_heads(c, r->d_k, c->inputs, c->k.out.columns),
                    d_v = by_heads(c, r->d_v, c->inputs, c->v.out.columns);
  attn_sdpa_gradients g = ATTN_SDPA_GRADIENTS_INIT;
  g.d_q = r->d_q ? &d_q : NULL, g.d_k = r->d_k ? &d_k : NULL, g.d_v = r->d_v ? &d_v : NULL;
  return attn_score_backward(desc, &c->score, &q, &k, &v, &o, &d_o, &g, &r->score, err);
}

static attn_status run_backward(const struct layer_call *c, struct layer_results *r,
                                attn_error *err) {
  attn_tensor lse = by_heads(c, r->lse, c->queries, c->heads);
  attn_sdpa desc = c->desc;
  lse.rank--, desc.lse = &lse, desc.weights = NULL;
  attn_status status = run_forward(c, &desc, err);
  attn_layer_load(&c->memory, &r->d_y), attn_layer_load(&c->memory, &c->o.w);
  if (!status)
    status = apply_backward(c, &c->o, r->d_y.at, c->o.w.view ? r->d_o : NULL, 0,
                            r->result[D_W_O].at, err);
  if (!status) status = attend_backward(c, r, &desc, err);
  void *d_x = r->result[D_X].at;
  if (!status && r->d_q)
    status = apply_backward(c, &c->q, r->d_q, r->result[D_Q].at, 0, r->result[D_W_Q].at, err);
  if (!status && r->d_k)
    status = apply_backward(c, &c->k, r->d_k, d_x, 0, r->result[D_W_K].at, err);
  if (!status && r->d_v)
    status = apply_backward(c, &c->v, r->d_v, d_x, 1, r->result[D_W_V].at, err);
  return status;
}

attn_status attn_attention_layer_backward(const attn_attention_layer *layer, const attn_tensor *x,
                                          const attn_tensor *q, const attn_tensor *d_y,
                                          const attn_attention_layer_gradients *gradients,
                                          attn_error *err) {
  struct layer_call c;
  struct layer_results r = {.given = ATTN_ATTENTION_LAYER_GRADIENTS_INIT};
  attn_status status = attn_descriptor_require(gradients, &r.given, sizeof r.given, sizeof r.given,
                                               "gradients", err);
  if (!status)
    status = attn_descriptor_copy(r.given.score, &r.score, sizeof r.score, sizeof r.score,
                                  "score_gradients", err);
  if (!status) status = check(&c, layer, x, q, d_y, "d_y", err);
  if (!status) status = check_results(&c, &r, x, q, d_y, err);
  if (status) return status;
  take_forward(&c, x, q), take_backward(&c, &r, d_y);
  status = c.memory.failed ? no_memory(&c, err) : run_backward(&c, &r, err);
  for (int n = 0; n < RESULTS && !status; n++) attn_layer_store(&c.memory, &r.result[n]);
  attn_layer_release(&c.memory);
  return status;
}
