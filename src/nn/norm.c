/* norm.c -- layer normalization [Ba16] and RMS normalization [Zhang19], forward and backward.
 *
 * RMS normalization is layer normalization with mean 0, so both are one algorithm (norm_rows.inc).
 * It is compiled twice: in double, for tensors of any type and layout (attn/nn.h), and in float32,
 * for the dense rows of a model's layers (layers.h). */
#include <math.h>
#include <string.h>

#include "attn/nn.h"
#include "clones.h"
#include "descriptor.h"
#include "element.h"
#include "error.h"
#include "layers.h"
#include "tensor_rows.h"
#include "view.h"

#define INLINE static inline __attribute__((always_inline)) /* into each clone */

enum { LANES = 16, COLUMNS = 64 }; /* partial sums; elements of d_scale or d_bias for one task */

/* One validated call. Tensors that broadcast have x's shape by strides of 0. */
struct norm_call {
  attn_norm desc;
  struct attn_host host;
  int rms;         /* RMS normalization: mean 0 */
  int axis;        /* 0 .. rank-1 */
  int64_t rows, n; /* x is (rows, n) */
  double epsilon;
  attn_tensor x, scale;          /* (rows, n) */
  attn_tensor bias, y;           /* (rows, n)  forward; data NULL: no bias, y not wanted */
  attn_tensor mean, inv_std_dev; /* (rows, 1)  forward; data NULL: not wanted */
  attn_tensor d_y, d_x;          /* (rows, n)  backward */
  int adds;                      /* d_x is added to */
  struct attn_norm_row *row;     /* (rows)     out of the forward, in of the backward; or NULL */
  float *d_scale, *d_bias;       /* (n)        of a layer's backward; NULL: not wanted */
};

static void store_statistics(const struct norm_call *c, int64_t row, struct attn_norm_row r) {
  const double mean = r.mean + r.rest;
  if (c->mean.data) attn_row_store(&c->mean, c->axis, row, 0, 1, &mean);
  if (c->inv_std_dev.data) attn_row_store(&c->inv_std_dev, c->axis, row, 0, 1, &r.inverse);
}

/* ---- In double: any type and layout, ATTN_ROW_CHUNK elements at a time ---- */

static const double *load_f64(const struct norm_call *c, const attn_tensor *t, int64_t row,
                              int64_t at, int64_t n, double *buffer) {
  if (!t->data) return NULL;
  attn_row_load(t, c->axis, row, at, n, buffer);
  return buffer;
}

static double *output_f64(const attn_tensor *t, int64_t row, int64_t at, double *buffer) {
  (void)t, (void)row, (void)at;
  return buffer;
}

static void store_f64(const struct norm_call *c, const attn_tensor *t, int64_t row, int64_t at,
                      int64_t n, const double *buffer) {
  attn_row_store(t, c->axis, row, at, n, buffer);
}

#define NAME(f) f##_f64
#define REAL double
#define SQRT sqrt
#define COMPENSATED 1
#define CHUNK ATTN_ROW_CHUNK
#define BUFFER ATTN_ROW_CHUNK
#include "norm_rows.inc"
#undef NAME
#undef REAL
#undef SQRT
#undef COMPENSATED
#undef CHUNK
#undef BUFFER

/* ---- In float32: whole dense rows, in place ---- */

static inline float *output_f32(const attn_tensor *t, int64_t row, int64_t at, float *buffer) {
  (void)buffer;
  return (float *)t->data + row * t->strides[0] + at;
}

static inline const float *load_f32(const struct norm_call *c, const attn_tensor *t, int64_t row,
                                    int64_t at, int64_t n, float *buffer) {
  (void)c, (void)n;
  return t->data ? output_f32(t, row, at, buffer) : NULL;
}

static inline void store_f32(const struct norm_call *c, const attn_tensor *t, int64_t row,
                             int64_t at, int64_t n, const float *buffer) {
  (void)c, (void)t, (void)row, (void)at, (void)n, (void)buffer;
}

#define NAME(f) f##_f32
#define REAL float
#define SQRT sqrtf
#define COMPENSATED 0
#define CHUNK INT64_MAX
#define BUFFER 1
#include "norm_rows.inc"

/* Some four passes over a row. */
static void run_rows(struct norm_call *c, void (*body)(void *argument, int64_t from, int64_t to)) {
  attn_parallel_rows(&c->host, c->rows, c->n < INT64_MAX / 4 ? 4 * c->n : c->n, body, c);
}

/* ---- Layers ---- */

static attn_tensor dense(const float *data, int64_t rows, int64_t n, int64_t row_stride) {
  return (attn_tensor){(void *)(uintptr_t)data, ATTN_F32, 2, {rows, n}, {row_stride, 1}};
}

static struct norm_call layer_call(const struct attn_host *host, const struct attn_norm_layer *l) {
  return (struct norm_call){.host = *host,
                            .rms = l->rms,
                            .axis = 1,
                            .rows = l->n,
                            .n = l->width,
                            .epsilon = l->epsilon,
                            .x = dense(l->x, l->n, l->width, l->width),
                            .scale = dense(l->scale, l->n, l->width, 0),
                            .bias = dense(l->bias, l->n, l->width, 0),
                            .row = l->row};
}

void attn_norm_layer_forward(const struct attn_host *host, const struct attn_norm_layer *l,
                             float *y) {
  struct norm_call c = layer_call(host, l);
  c.y = dense(y, l->n, l->width, l->width);
  run_rows(&c, forward_f32);
}

static inline void add_columns(const struct norm_call *c, int64_t row, int64_t first, int64_t end) {
  const float *restrict x = (const float *)c->x.data + row * c->n;
  const float *restrict d_y = (const float *)c->d_y.data + row * c->n;
  float *restrict d_scale = c->d_scale, *restrict d_bias = c->d_bias;
  const float mean = (float)c->row[row].mean, inverse = (float)c->row[row].inverse;
  for (int64_t i = first; d_scale && i < end; i++) d_scale[i] += d_y[i] * ((x[i] - mean) * inverse);
  for (int64_t i = first; d_bias && i < end; i++) d_bias[i] += d_y[i];
}

/* d_scale and d_bias of columns from * COLUMNS .. to * COLUMNS - 1: each sum is one thread's. */
ATTN_CLONES
static void sum_columns(void *argument, int64_t from, int64_t to) {
  const struct norm_call *c = argument;
  int64_t end = attn_min(to * COLUMNS, c->n);
  for (int64_t row = 0; row < c->rows; row++) add_columns(c, row, from * COLUMNS, end);
}

void attn_norm_layer_backward(const struct attn_host *host, const struct attn_norm_layer *l,
                              struct attn_gradient d_x, float *d_scale, float *d_bias,
                              const float *d_y) {
  struct norm_call c = layer_call(host, l);
  c.d_y = dense(d_y, l->n, l->width, l->width), c.d_x = dense(d_x.at, l->n, l->width, l->width);
  c.adds = d_x.adds, c.d_scale = d_scale, c.d_bias = d_bias;
  run_rows(&c, backward_f32);
  if (d_scale || d_bias)
    attn_parallel_rows(host, attn_divide_up(l->width, COLUMNS), l->n * COLUMNS * 2, sum_columns,
                       &c);
}

/* ---- Checks of the public functions' arguments ---- */

static attn_status check_desc(struct norm_call *c, attn_error *err) {
  attn_norm *d = &c->desc;
  const uint64_t known = ATTN_NORM_EPSILON | ATTN_NORM_AXIS;
  if (d->flags & ~known)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "flags", "flags has unknown bits 0x%llx",
                     (unsigned long long)(d->flags & ~known));
  if ((d->flags & ATTN_NORM_EPSILON) && !(d->epsilon >= 0 && isfinite(d->epsilon)))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "epsilon",
                     "epsilon must be finite and at least 0, got %g", d->epsilon);
  c->epsilon = d->flags & ATTN_NORM_EPSILON ? d->epsilon : 1e-5;
  c->host = (struct attn_host){d->executor, d->allocator, d->threads};
  return attn_host_check(&c->host, err);
}

static attn_status check_x(struct norm_call *c, const attn_tensor *x, attn_error *err) {
  attn_status status = attn_layer_check_real(x, "x", err);
  if (status) return status;
  if (x->rank < 1) return attn_fail(err, ATTN_ERR_SHAPE, "x", "x must have rank at least 1, got 0");
  int axis = c->desc.flags & ATTN_NORM_AXIS ? c->desc.axis : -1;
  if (axis < -x->rank || axis >= x->rank)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "axis", "axis must be between %d and %d, got %d",
                     -x->rank, x->rank - 1, axis);
  c->x = *x;
  c->axis = axis < 0 ? axis + x->rank : axis;
  c->rows = c->n = 1;
  for (int d = 0; d < x->rank; d++) *(d < c->axis ? &c->rows : &c->n) *= x->shape[d];
  return ATTN_OK;
}

/* As NumPy broadcasts: dimensions are aligned at the right, each is x's or 1. */
static attn_status broadcast(const struct norm_call *c, const attn_tensor *t, const char *name,
                             attn_tensor *wide, attn_error *err) {
  attn_status status = attn_layer_check_real(t, name, err);
  if (status) return status;
  const attn_tensor *x = &c->x;
  int missing = x->rank - t->rank, fits = missing >= 0;
  *wide = (attn_tensor){.data = t->data, .dtype = t->dtype, .rank = x->rank};
  memcpy(wide->shape, x->shape, sizeof wide->shape);
  for (int d = 0; fits && d < t->rank; d++) {
    fits = t->shape[d] == 1 || t->shape[d] == x->shape[d + missing];
    wide->strides[d + missing] = t->shape[d] == 1 ? 0 : t->strides[d];
  }
  char got[ATTN_SHAPE_TEXT], full[ATTN_SHAPE_TEXT];
  if (!fits)
    return attn_fail(err, ATTN_ERR_SHAPE, name, "%s %s does not broadcast to x's %s", name,
                     attn_view_text(t, got), attn_view_text(x, full));
  return ATTN_OK;
}

static attn_status check_inputs(const attn_norm *desc, const attn_tensor *x,
                                const attn_tensor *scale, struct norm_call *c, attn_error *err) {
  static const double one = 1;
  attn_status status =
      attn_descriptor_copy(desc, &c->desc, sizeof c->desc, sizeof c->desc, "struct_size", err);
  if (!status) status = check_desc(c, err);
  if (!status) status = check_x(c, x, err);
  if (status) return status;
  const attn_tensor ones = {(void *)(uintptr_t)&one, ATTN_F64, 0, {0}, {0}};
  return broadcast(c, scale ? scale : &ones, "scale", &c->scale, err);
}

/* mean or inv_std_dev: x's shape with 1 from axis on. */
static attn_status check_statistic(const struct norm_call *c, const attn_tensor *t,
                                   const char *name, attn_tensor *to, attn_error *err) {
  if (!t) return ATTN_OK;
  int64_t shape[ATTN_RANK_MAX];
  for (int d = 0; d < c->x.rank; d++) shape[d] = d < c->axis ? c->x.shape[d] : 1;
  attn_status status = attn_layer_check_shape(t, name, shape, c->x.rank, err);
  if (!status) *to = *t;
  return status;
}

/* ---- Forward ---- */

static attn_status forward(struct norm_call *c, const attn_norm *desc, const attn_tensor *x,
                           const attn_tensor *scale, const attn_tensor *bias, const attn_tensor *y,
                           const attn_tensor *mean, const attn_tensor *inv_std_dev,
                           attn_error *err) {
  const struct attn_named_view out[] = {{y, "y"}, {inv_std_dev, "inv_std_dev"}, {mean, "mean"}};
  const struct attn_named_view in[] = {{scale, "scale"}, {bias, "bias"}, {x, "x"}};
  attn_status status = check_inputs(desc, x, scale, c, err);
  if (!status && bias) status = broadcast(c, bias, "bias", &c->bias, err);
  if (!status) status = attn_layer_check_shape(y, "y", x->shape, x->rank, err);
  if (!status) status = check_statistic(c, mean, "mean", &c->mean, err);
  if (!status) status = check_statistic(c, inv_std_dev, "inv_std_dev", &c->inv_std_dev, err);
  if (!status) status = attn_layer_check_in_place(y, "y", x, "x", err);
  if (!status) status = attn_views_check_no_overlap(out, 3, in, 2, err);
  if (!status) status = attn_views_check_no_overlap(out + 1, 2, in + 2, 1, err);
  if (status) return status;
  if (!c->n && !mean && !inv_std_dev) c->rows = 0; /* nothing to write: any number of rows fits */
  c->y = *y;
  run_rows(c, forward_f64);
  return ATTN_OK;
}

attn_status attn_layer_norm_forward(const attn_norm *desc, const attn_tensor *x,
                                    const attn_tensor *scale, const attn_tensor *bias,
                                    const attn_tensor *y, const attn_tensor *mean,
                                    const attn_tensor *inv_std_dev, attn_error *err) {
  struct norm_call c = {.rms = 0};
  return forward(&c, desc, x, scale, bias, y, mean, inv_std_dev, err);
}

attn_status attn_rms_norm_forward(const attn_norm *desc, const attn_tensor *x,
                                  const attn_tensor *scale, const attn_tensor *y, attn_error *err) {
  struct norm_call c = {.rms = 1};
  return forward(&c, desc, x, scale, NULL, y, NULL, NULL, err);
}

/* ---- d_scale and d_bias: sums over the dimensions in which they broadcast ---- */

/* x's dimensions in another order: first those that the output keeps, then those summed over. An
 * element is summed by one task, in row-major order, so that the result does not depend on threads.
 */
struct broadcast_sum {
  const struct norm_call *c;
  const attn_tensor *out;
  int times_xhat; /* d_scale */
  int kept, rank; /* dimensions */
  int64_t kept_count, summed_count, shape[ATTN_RANK_MAX];
  struct broadcast_strides {
    int64_t x[ATTN_RANK_MAX], d_y[ATTN_RANK_MAX], row[ATTN_RANK_MAX], out[ATTN_RANK_MAX];
  } by; /* row: index of the row in c->row */
};

static void add_dimensions(struct broadcast_sum *s, int kept) {
  const attn_tensor *x = &s->c->x;
  int64_t rows = s->c->rows; /* in one step of the dimension */
  for (int d = 0; d < x->rank; d++) {
    int at = d - (x->rank - s->out->rank), is_kept = at >= 0 && s->out->shape[at] == x->shape[d];
    if (d < s->c->axis && x->shape[d]) rows /= x->shape[d];
    if (is_kept != kept) continue;
    s->shape[s->rank] = x->shape[d], s->by.row[s->rank] = d < s->c->axis ? rows : 0;
    s->by.x[s->rank] = x->strides[d], s->by.d_y[s->rank] = s->c->d_y.strides[d];
    s->by.out[s->rank++] = is_kept ? s->out->strides[at] : 0;
    *(kept ? &s->kept_count : &s->summed_count) *= x->shape[d];
  }
}

/* Of an element: offsets in x and d_y, and the index of its row. */
struct sum_offsets {
  int64_t x, d_y, row;
};

static struct sum_offsets offsets_of(const struct broadcast_sum *s, int first, int end,
                                     int64_t index) {
  const int64_t *shape = s->shape + first;
  return (struct sum_offsets){attn_view_offset(shape, s->by.x + first, end - first, index),
                              attn_view_offset(shape, s->by.d_y + first, end - first, index),
                              attn_view_offset(shape, s->by.row + first, end - first, index)};
}

static double term(const struct broadcast_sum *s, struct sum_offsets a, struct sum_offsets b) {
  const struct norm_call *c = s->c;
  double d_y = attn_load_real(c->d_y.dtype, attn_view_at(&c->d_y, a.d_y + b.d_y));
  if (!s->times_xhat) return d_y;
  const struct attn_norm_row *r = &c->row[a.row + b.row];
  double x = attn_load_real(c->x.dtype, attn_view_at(&c->x, a.x + b.x));
  return d_y * ((x - r->mean - r->rest) * r->inverse);
}

static void sum_block(void *argument, int64_t block, int32_t worker) {
  const struct broadcast_sum *s = argument;
  int64_t first = block * COLUMNS, count = attn_min(s->kept_count - first, COLUMNS);
  struct sum_offsets kept[COLUMNS];
  double sum[COLUMNS] = {0};
  (void)worker;
  for (int64_t j = 0; j < count; j++) kept[j] = offsets_of(s, 0, s->kept, first + j);
  for (int64_t i = 0; i < s->summed_count; i++) {
    const struct sum_offsets summed = offsets_of(s, s->kept, s->rank, i);
    for (int64_t j = 0; j < count; j++) sum[j] += term(s, kept[j], summed);
  }
  for (int64_t j = 0; j < count; j++) {
    int64_t at = attn_view_offset(s->shape, s->by.out, s->kept, first + j);
    attn_store_real(s->out->dtype, attn_view_at(s->out, at), sum[j]);
  }
}

static void sum_over_rows(struct norm_call *c, const attn_tensor *out, int times_xhat) {
  if (!out) return;
  struct broadcast_sum s = {
      .c = c, .out = out, .times_xhat = times_xhat, .kept_count = 1, .summed_count = 1};
  add_dimensions(&s, 1);
  s.kept = s.rank;
  add_dimensions(&s, 0);
  attn_parallel_for(&c->host, attn_divide_up(s.kept_count, COLUMNS), sum_block, &s);
}

/* ---- Backward ---- */

static attn_status check_outputs(const struct norm_call *c, const attn_tensor *scale,
                                 const attn_norm_gradients *g, attn_error *err) {
  attn_tensor unused;
  attn_status status = ATTN_OK;
  if (g->d_x) status = attn_layer_check_shape(g->d_x, "d_x", c->x.shape, c->x.rank, err);
  if (!status && g->d_scale && !scale)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "d_scale", "d_scale is given, but scale is NULL");
  if (!status && g->d_scale)
    status = attn_layer_check_shape(g->d_scale, "d_scale", scale->shape, scale->rank, err);
  if (!status && g->d_bias && c->rms)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "d_bias",
                     "d_bias must be NULL: RMS normalization has no bias");
  if (!status && g->d_bias) status = broadcast(c, g->d_bias, "d_bias", &unused, err);
  return status;
}

/* Statistics of every row, d_scale and d_bias, then d_x: in this order, so that d_x may be d_y or
 * x. */
static attn_status run_backward(struct norm_call *c, const attn_norm_gradients *g,
                                attn_error *err) {
  if (!c->n) c->rows = 0; /* no elements: any number of rows fits */
  c->row = c->rows ? attn_host_allocate(&c->host, c->rows, sizeof *c->row) : NULL;
  if (c->rows && !c->row)
    return attn_fail(err, ATTN_ERR_MEMORY, "allocator",
                     "cannot allocate the statistics of %lld rows", (long long)c->rows);
  run_rows(c, forward_f64);
  sum_over_rows(c, g->d_scale, 1);
  sum_over_rows(c, g->d_bias, 0);
  if (g->d_x) c->d_x = *g->d_x, run_rows(c, backward_f64);
  attn_host_release(&c->host, c->row);
  return ATTN_OK;
}

static attn_status backward(struct norm_call *c, const attn_norm *desc, const attn_tensor *x,
                            const attn_tensor *scale, const attn_tensor *d_y,
                            const attn_norm_gradients *gradients, attn_error *err) {
  attn_norm_gradients g = ATTN_NORM_GRADIENTS_INIT;
  attn_status status = attn_descriptor_require(gradients, &g, sizeof g, sizeof g, "gradients", err);
  const struct attn_named_view out[] = {
      {g.d_x, "d_x"}, {g.d_bias, "d_bias"}, {g.d_scale, "d_scale"}};
  const struct attn_named_view in[] = {{scale, "scale"}, {x, "x"}, {d_y, "d_y"}};
  if (!status) status = check_inputs(desc, x, scale, c, err);
  if (!status) status = attn_layer_check_shape(d_y, "d_y", x->shape, x->rank, err);
  if (!status) status = check_outputs(c, scale, &g, err);
  if (!status) status = attn_layer_check_in_place(g.d_x, "d_x", d_y, "d_y", err);
  if (!status) status = attn_layer_check_in_place(g.d_x, "d_x", x, "x", err);
  if (!status) status = attn_views_check_no_overlap(out, 3, in, 1, err);
  if (!status) status = attn_views_check_no_overlap(out + 1, 2, in + 1, 2, err);
  if (status) return status;
  c->d_y = *d_y;
  return run_backward(c, &g, err);
}

attn_status attn_layer_norm_backward(const attn_norm *desc, const attn_tensor *x,
                                     const attn_tensor *scale, const attn_tensor *d_y,
                                     const attn_norm_gradients *gradients, attn_error *err) {
  struct norm_call c = {.rms = 0};
  return backward(&c, desc, x, scale, d_y, gradients, err);
}

attn_status attn_rms_norm_backward(const attn_norm *desc, const attn_tensor *x,
                                   const attn_tensor *scale, const attn_tensor *d_y,
                                   const attn_norm_gradients *gradients, attn_error *err) {
  struct norm_call c = {.rms = 1};
  return backward(&c, desc, x, scale, d_y, gradients, err);
}
