#include "norm.h"

#include <math.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "element.h"
#include "view.h"

enum { COLUMNS = 64 }; /* elements of d_scale or d_bias that one task sums */

/* ---- The door ------------------------------------------------------------ */

static attn_status check_knobs(struct attn_norm_call *c, attn_error *err) {
  attn_norm *d = &c->desc;
  const uint64_t known = ATTN_NORM_EPSILON | ATTN_NORM_AXIS;
  if (d->flags & ~known)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "flags", "flags has unknown bits 0x%llx",
                     (unsigned long long)(d->flags & ~known));
  if ((d->flags & ATTN_NORM_EPSILON) && !(d->epsilon >= 0 && isfinite(d->epsilon)))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "epsilon",
                     "epsilon is %g; it must be finite and at least 0", d->epsilon);
  c->epsilon = d->flags & ATTN_NORM_EPSILON ? d->epsilon : 1e-5;
  c->host = (struct attn_host){d->executor, d->allocator, d->threads};
  return attn_host_check(&c->host, err);
}

static attn_status check_x(struct attn_norm_call *c, const attn_tensor *x, attn_error *err) {
  attn_status status = attn_layer_check_real(x, "x", err);
  if (status) return status;
  if (x->rank < 1)
    return attn_fail(err, ATTN_ERR_SHAPE, "x", "x has rank 0; it must be at least 1");
  int axis = c->desc.flags & ATTN_NORM_AXIS ? c->desc.axis : -1;
  if (axis < -x->rank || axis >= x->rank)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "axis", "axis is %d; it must be in %d .. %d", axis,
                     -x->rank, x->rank - 1);
  c->x = *x;
  c->axis = axis < 0 ? axis + x->rank : axis;
  c->rows = c->n = 1;
  for (int d = 0; d < x->rank; d++) *(d < c->axis ? &c->rows : &c->n) *= x->shape[d];
  return ATTN_OK;
}

/* As NumPy broadcasts: dimensions from the right, each x's or 1. */
static attn_status broadcast(const struct attn_norm_call *c, const attn_tensor *t, const char *name,
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

/* What stands for a scale or a bias that is not given. -0 leaves every number as it is; 0 would
 * make 0 of -0. */
static attn_tensor constant(const struct attn_norm_call *c, const double *value) {
  attn_tensor t = c->x;
  t.data = (void *)(uintptr_t)value; /* an input: never written */
  t.dtype = ATTN_F64;
  memset(t.strides, 0, sizeof t.strides);
  return t;
}

static attn_status check_inputs(const attn_norm *desc, const attn_tensor *x,
                                const attn_tensor *scale, struct attn_norm_call *c,
                                attn_error *err) {
  static const double one = 1;
  memset(c, 0, sizeof *c);
  attn_status status =
      attn_descriptor_copy(desc, &c->desc, sizeof c->desc, sizeof c->desc, "struct_size", err);
  if (!status) status = check_knobs(c, err);
  if (!status) status = check_x(c, x, err);
  c->scale = constant(c, &one);
  if (!status && scale) status = broadcast(c, scale, "scale", &c->scale, err);
  return status;
}

/* mean or inv_std_dev: x's shape with 1 from axis on. */
static attn_status check_statistic(const struct attn_norm_call *c, const attn_tensor *t,
                                   const char *name, attn_tensor *to, attn_error *err) {
  if (!t) return ATTN_OK;
  int64_t shape[ATTN_RANK_MAX];
  for (int d = 0; d < c->x.rank; d++) shape[d] = d < c->axis ? c->x.shape[d] : 1;
  attn_status status = attn_layer_check_shape(t, name, shape, c->x.rank, err);
  if (!status) *to = *t;
  return status;
}

attn_status attn_norm_check_forward(const attn_norm *desc, const attn_tensor *x,
                                    const attn_tensor *scale, const attn_tensor *bias,
                                    const attn_tensor *y, const attn_tensor *mean,
                                    const attn_tensor *inv_std_dev, struct attn_norm_call *c,
                                    attn_error *err) {
  static const double nothing = -0.0;
  attn_status status = check_inputs(desc, x, scale, c, err);
  if (status) return status;
  c->bias = constant(c, &nothing);
  if (bias) status = broadcast(c, bias, "bias", &c->bias, err);
  if (!status) status = attn_layer_check_shape(y, "y", x->shape, x->rank, err);
  if (!status) status = check_statistic(c, mean, "mean", &c->mean, err);
  if (!status) status = check_statistic(c, inv_std_dev, "inv_std_dev", &c->inv_std_dev, err);
  if (!status) status = attn_layer_check_in_place(y, "y", x, "x", err);
  if (!status) status = attn_layer_check_apart(mean, "mean", y, "y", err);
  if (!status) status = attn_layer_check_apart(inv_std_dev, "inv_std_dev", y, "y", err);
  if (!status) status = attn_layer_check_apart(mean, "mean", inv_std_dev, "inv_std_dev", err);
  const attn_tensor *const out[] = {mean, inv_std_dev, y}, *const in[] = {scale, bias, x};
  const char *const outs[] = {"mean", "inv_std_dev", "y"}, *const ins[] = {"scale", "bias", "x"};
  for (int a = 0; a < 3; a++)
    for (int b = 0; !status && b < (a == 2 ? 2 : 3); b++)
      status = attn_layer_check_apart(out[a], outs[a], in[b], ins[b], err);
  if (status) return status;
  if (!c->n && !mean && !inv_std_dev) c->rows = 0; /* nothing to write, however many there are */
  c->y = *y;
  return ATTN_OK;
}

static attn_status check_outputs(const struct attn_norm_call *c, const attn_tensor *scale,
                                 const attn_norm_gradients *g, int has_bias, attn_error *err) {
  attn_tensor unused;
  attn_status status = ATTN_OK;
  if (g->d_x) status = attn_layer_check_shape(g->d_x, "d_x", c->x.shape, c->x.rank, err);
  if (!status && g->d_scale && !scale)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "d_scale", "d_scale is given, but there is no scale");
  if (!status && g->d_scale)
    status = attn_layer_check_shape(g->d_scale, "d_scale", scale->shape, scale->rank, err);
  if (!status && g->d_bias && !has_bias)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "d_bias",
                     "d_bias is given, but this normalization has no bias");
  if (!status && g->d_bias) status = broadcast(c, g->d_bias, "d_bias", &unused, err);
  return status;
}

attn_status attn_norm_check_backward(const attn_norm *desc, const attn_tensor *x,
                                     const attn_tensor *scale, const attn_tensor *d_y,
                                     const attn_norm_gradients *gradients, int has_bias,
                                     struct attn_norm_call *c, attn_error *err) {
  attn_norm_gradients own, *g = &own;
  attn_status status =
      attn_descriptor_require(gradients, g, sizeof *g, sizeof *g, "gradients", err);
  if (!status) status = check_inputs(desc, x, scale, c, err);
  if (!status) status = attn_layer_check_shape(d_y, "d_y", x->shape, x->rank, err);
  if (!status) status = check_outputs(c, scale, g, has_bias, err);
  if (!status) status = attn_layer_check_in_place(g->d_x, "d_x", d_y, "d_y", err);
  if (!status) status = attn_layer_check_in_place(g->d_x, "d_x", x, "x", err);
  if (!status) status = attn_layer_check_apart(g->d_x, "d_x", scale, "scale", err);
  const attn_tensor *const out[] = {g->d_scale, g->d_bias};
  const char *const outs[] = {"d_scale", "d_bias"};
  const attn_tensor *const other[] = {scale, x, d_y, g->d_x, g->d_bias};
  const char *const others[] = {"scale", "x", "d_y", "d_x", "d_bias"};
  for (int a = 0; a < 2; a++)
    for (int b = 0; !status && b < 5 - a; b++) /* d_bias but with itself */
      status = attn_layer_check_apart(out[a], outs[a], other[b], others[b], err);
  if (status) return status;
  c->d_y = *d_y;
  if (g->d_x) c->d_x = *g->d_x;
  c->g = own;
  return ATTN_OK;
}

/* ---- Rows ---------------------------------------------------------------- */

struct rows {
  struct attn_norm_call *c;
  void (*body)(struct attn_norm_call *c, int64_t row);
  int64_t block;
};

static void run_rows(void *argument, int64_t index, int32_t worker) {
  const struct rows *r = argument;
  int64_t first = index * r->block, left = r->c->rows - first;
  (void)worker;
  for (int64_t n = 0; n < (left < r->block ? left : r->block); n++) r->body(r->c, first + n);
}

void attn_norm_rows(struct attn_norm_call *c, void (*body)(struct attn_norm_call *c, int64_t row)) {
  struct rows r = {c, body, attn_layer_block(c->n)};
  attn_layer_run(&c->host, c->rows / r.block + (c->rows % r.block != 0), run_rows, &r);
}

/* xhat (count) of elements from .. of a row */
static void load_xhat(const struct attn_norm_call *c, const struct attn_norm_row *r, int64_t row,
                      int64_t from, int64_t count, double *xhat) {
  attn_row_load(&c->x, c->axis, attn_row_at(&c->x, c->axis, row), from, count, xhat);
  for (int64_t i = 0; i < count; i++) xhat[i] = ((xhat[i] - r->near) - r->rest) * r->inverse;
}

void attn_norm_write(const struct attn_norm_call *c, const struct attn_norm_row *r, int64_t row) {
  const char *scale_row = attn_row_at(&c->scale, c->axis, row);
  const char *bias_row = attn_row_at(&c->bias, c->axis, row);
  char *y_row = attn_row_at(&c->y, c->axis, row);
  double y[ATTN_LINE], scale[ATTN_LINE], bias[ATTN_LINE];
  for (int64_t from = 0, count; from < c->n; from += count) {
    count = c->n - from < ATTN_LINE ? c->n - from : ATTN_LINE;
    load_xhat(c, r, row, from, count, y);
    attn_row_load(&c->scale, c->axis, scale_row, from, count, scale);
    attn_row_load(&c->bias, c->axis, bias_row, from, count, bias);
    for (int64_t i = 0; i < count; i++)
      y[i] = y[i] * scale[i] + bias[i]; /* y = xhat scale + bias */
    attn_row_store(&c->y, c->axis, y_row, from, count, y);
  }
}

/* ---- Sums over rows ------------------------------------------------------ */

/* d_scale or d_bias. Dimensions in which it has x's size are kept, the others are summed over: each
 * element by one task, in row-major order, so that threads cannot change a bit. */
struct sums {
  struct attn_norm_call *c;
  attn_tensor out;
  int times_xhat; /* d_scale */
  int kept, summed;
  int64_t kept_count, summed_count;
  int64_t kept_shape[ATTN_RANK_MAX], summed_shape[ATTN_RANK_MAX];
  struct sums_strides {
    int64_t x[ATTN_RANK_MAX], d_y[ATTN_RANK_MAX], row[ATTN_RANK_MAX], out[ATTN_RANK_MAX];
  } keep, sum;
};

static void add_dimension(struct sums *s, int d, int64_t row_stride, int is_kept,
                          int64_t out_stride) {
  struct sums_strides *to = is_kept ? &s->keep : &s->sum;
  int at = is_kept ? s->kept++ : s->summed++;
  (is_kept ? s->kept_shape : s->summed_shape)[at] = s->c->x.shape[d];
  *(is_kept ? &s->kept_count : &s->summed_count) *= s->c->x.shape[d];
  to->x[at] = s->c->x.strides[d];
  to->d_y[at] = s->c->d_y.strides[d];
  to->row[at] = d < s->c->axis ? row_stride : 0;
  to->out[at] = out_stride;
}

static struct sums plan_sums(struct attn_norm_call *c, const attn_tensor *out, int times_xhat) {
  struct sums s = {
      .c = c, .out = *out, .times_xhat = times_xhat, .kept_count = 1, .summed_count = 1};
  int64_t row_stride[ATTN_RANK_MAX], stride = 1;
  for (int d = c->axis - 1; d >= 0; d--) row_stride[d] = stride, stride *= c->x.shape[d];
  for (int d = 0; d < c->x.rank; d++) {
    int at = d - (c->x.rank - out->rank);
    int is_kept = at >= 0 && out->shape[at] == c->x.shape[d];
    add_dimension(&s, d, d < c->axis ? row_stride[d] : 0, is_kept, is_kept ? out->strides[at] : 0);
  }
  return s;
}

/* Elements of x and d_y from their first, and the row. */
struct place {
  int64_t x, d_y, row;
};

static struct place place_of(const int64_t *shape, const struct sums_strides *by, int rank,
                             int64_t index) {
  return (struct place){attn_view_offset(shape, by->x, rank, index),
                        attn_view_offset(shape, by->d_y, rank, index),
                        attn_view_offset(shape, by->row, rank, index)};
}

static double term(const struct sums *s, const struct place *kept, const struct place *summed) {
  const struct attn_norm_call *c = s->c;
  double d_y = attn_load_real(c->d_y.dtype, attn_view_at(&c->d_y, kept->d_y + summed->d_y));
  if (!s->times_xhat) return d_y;
  const struct attn_norm_row *r = &c->row[kept->row + summed->row];
  double x = attn_load_real(c->x.dtype, attn_view_at(&c->x, kept->x + summed->x));
  return d_y * (((x - r->near) - r->rest) * r->inverse);
}

static void sum_block(void *argument, int64_t block, int32_t worker) {
  const struct sums *s = argument;
  int64_t first = block * COLUMNS, left = s->kept_count - first;
  int64_t count = left < COLUMNS ? left : COLUMNS;
  struct place kept[COLUMNS];
  double sum[COLUMNS] = {0};
  (void)worker;
  for (int64_t j = 0; j < count; j++)
    kept[j] = place_of(s->kept_shape, &s->keep, s->kept, first + j);
  for (int64_t i = 0; i < s->summed_count; i++) {
    const struct place summed = place_of(s->summed_shape, &s->sum, s->summed, i);
    for (int64_t j = 0; j < count; j++) sum[j] += term(s, &kept[j], &summed);
  }
  for (int64_t j = 0; j < count; j++) {
    int64_t at = attn_view_offset(s->kept_shape, s->keep.out, s->kept, first + j);
    attn_store_real(s->out.dtype, attn_view_at(&s->out, at), sum[j]);
  }
}

static void sum_over_rows(struct attn_norm_call *c, const attn_tensor *out, int times_xhat) {
  if (!out) return;
  struct sums s = plan_sums(c, out, times_xhat);
  attn_layer_run(&c->host, s.kept_count / COLUMNS + (s.kept_count % COLUMNS != 0), sum_block, &s);
}

/* ---- The backward -------------------------------------------------------- */

void attn_norm_terms(const struct attn_norm_call *c, int64_t row, int64_t from, int64_t count,
                     double *g, double *xhat) {
  double scale[ATTN_LINE];
  attn_row_load(&c->d_y, c->axis, attn_row_at(&c->d_y, c->axis, row), from, count, g);
  attn_row_load(&c->scale, c->axis, attn_row_at(&c->scale, c->axis, row), from, count, scale);
  for (int64_t i = 0; i < count; i++) g[i] *= scale[i]; /* g = d_y scale */
  load_xhat(c, &c->row[row], row, from, count, xhat);
}

static void keep_row(struct attn_norm_call *c, int64_t row) { c->row[row] = c->measure(c, row); }

attn_status attn_norm_differentiate(struct attn_norm_call *c, attn_norm_measure *measure,
                                    void (*differentiate)(struct attn_norm_call *c, int64_t row),
                                    attn_error *err) {
  if (!c->n) c->rows = 0; /* as many as anyone likes: no memory stands behind them */
  c->row = c->rows ? attn_host_allocate(&c->host, c->rows, sizeof *c->row) : NULL;
  if (c->rows && !c->row)
    return attn_fail(err, ATTN_ERR_MEMORY, "allocator", "no memory for what is kept of %lld rows",
                     (long long)c->rows);
  c->measure = measure;
  attn_norm_rows(c, keep_row);
  sum_over_rows(c, c->g.d_scale, 1);
  sum_over_rows(c, c->g.d_bias, 0);
  if (c->g.d_x) attn_norm_rows(c, differentiate);
  attn_host_release(&c->host, c->row);
  return ATTN_OK;
}
