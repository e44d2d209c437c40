/* layer_norm.c -- each row to mean 0 and variance 1 [Ba16]. */
#include <math.h>

#include "norm.h"

/* near = sum x / n, whose rounding error a second pass measures: rest = sum (x - near) / n.
 * x (n) in */
static double first_mean(const struct attn_norm_call *c, int64_t row) {
  const char *x_row = attn_row_data(&c->x, c->axis, row);
  double x[ATTN_ROW_CHUNK], sum = 0;
  for (int64_t from = 0, count; from < c->n; from += count) {
    count = c->n - from < ATTN_ROW_CHUNK ? c->n - from : ATTN_ROW_CHUNK;
    attn_row_load(&c->x, c->axis, x_row, from, count, x);
    sum += attn_line_sum(x, count);
  }
  return sum / (double)c->n;
}

/* x - near is exact to 2^-53 of itself, so nothing is lost where the mean is far from 0:
 *     rest = sum (x - near) / n
 *     var  = sum (x - near)^2 / n - rest^2                     [Chan83]
 * x (n) in */
static struct attn_norm_row measure(const struct attn_norm_call *c, int64_t row) {
  const char *x_row = attn_row_data(&c->x, c->axis, row);
  struct attn_norm_row r = {.near = first_mean(c, row)};
  double e[ATTN_ROW_CHUNK], sum = 0, squares = 0;
  for (int64_t from = 0, count; from < c->n; from += count) {
    count = c->n - from < ATTN_ROW_CHUNK ? c->n - from : ATTN_ROW_CHUNK;
    attn_row_load(&c->x, c->axis, x_row, from, count, e);
    for (int64_t i = 0; i < count; i++) e[i] -= r.near;
    sum += attn_line_sum(e, count);
    for (int64_t i = 0; i < count; i++) e[i] *= e[i];
    squares += attn_line_sum(e, count);
  }
  r.rest = sum / (double)c->n;
  double var = squares / (double)c->n - r.rest * r.rest;
  r.inverse = 1 / sqrt((var < 0 ? 0 : var) + c->epsilon); /* a NaN stays one */
  return r;
}

static void store_statistic(const struct attn_norm_call *c, const attn_tensor *t, int64_t row,
                            double value) {
  if (t->data) attn_store_strided(t->dtype, attn_row_data(t, c->axis, row), 1, 1, &value);
}

/* mean = near + rest;  y = (x - mean) inverse scale + bias
 * x (n), scale (n), bias (n) in; y (n), mean (1), inv_std_dev (1) out */
static void forward_row(struct attn_norm_call *c, int64_t row) {
  struct attn_norm_row r = measure(c, row);
  attn_norm_write(c, &r, row);
  store_statistic(c, &c->mean, row, r.near + r.rest);
  store_statistic(c, &c->inv_std_dev, row, r.inverse);
}

attn_status attn_layer_norm_forward(const attn_norm *desc, const attn_tensor *x,
                                    const attn_tensor *scale, const attn_tensor *bias,
                                    const attn_tensor *y, const attn_tensor *mean,
                                    const attn_tensor *inv_std_dev, attn_error *err) {
  struct attn_norm_call c;
  attn_status status = attn_norm_check_forward(desc, x, scale, bias, y, mean, inv_std_dev, &c, err);
  if (!status) attn_norm_rows(&c, forward_row);
  return status;
}

/* ---- Backward ------------------------------------------------------------ */

/* The forward was xhat = (x - mean) / s, y = xhat scale + bias. Mean and s depend on every x:
 *     d_x = (g - sum g / n - xhat sum (g xhat) / n) / s
 * x (n), scale (n), d_y (n) in; d_x (n) out */
static void backward_row(struct attn_norm_call *c, int64_t row) {
  double g[ATTN_ROW_CHUNK], xhat[ATTN_ROW_CHUNK], sum = 0, dot = 0;
  for (int64_t from = 0, count; from < c->n; from += count) {
    count = c->n - from < ATTN_ROW_CHUNK ? c->n - from : ATTN_ROW_CHUNK;
    attn_norm_terms(c, row, from, count, g, xhat);
    for (int64_t i = 0; i < count; i++) xhat[i] *= g[i];
    sum += attn_line_sum(g, count);
    dot += attn_line_sum(xhat, count);
  }
  sum /= (double)c->n, dot /= (double)c->n;
  char *d_x_row = attn_row_data(&c->d_x, c->axis, row);
  for (int64_t from = 0, count; from < c->n; from += count) {
    count = c->n - from < ATTN_ROW_CHUNK ? c->n - from : ATTN_ROW_CHUNK;
    attn_norm_terms(c, row, from, count, g, xhat);
    for (int64_t i = 0; i < count; i++) g[i] = (g[i] - sum - xhat[i] * dot) * c->row[row].inverse;
    attn_row_store(&c->d_x, c->axis, d_x_row, from, count, g);
  }
}

attn_status attn_layer_norm_backward(const attn_norm *desc, const attn_tensor *x,
                                     const attn_tensor *scale, const attn_tensor *d_y,
                                     const attn_norm_gradients *gradients, attn_error *err) {
  struct attn_norm_call c;
  attn_status status = attn_norm_check_backward(desc, x, scale, d_y, gradients, 1, &c, err);
  return status ? status : attn_norm_differentiate(&c, measure, backward_row, err);
}
