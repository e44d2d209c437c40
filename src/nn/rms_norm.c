/* rms_norm.c -- each row divided by its root mean square [Zhang19]. */
#include <math.h>

#include "norm.h"

/* 1 / s with s = sqrt(sum x^2 / n + epsilon); there is no mean to take away.
 * x (n) in */
static struct attn_norm_row measure(const struct attn_norm_call *c, int64_t row) {
  const char *x_row = attn_row_data(&c->x, c->axis, row);
  double x[ATTN_ROW_CHUNK], squares = 0;
  for (int64_t from = 0, count; from < c->n; from += count) {
    count = c->n - from < ATTN_ROW_CHUNK ? c->n - from : ATTN_ROW_CHUNK;
    attn_row_load(&c->x, c->axis, x_row, from, count, x);
    for (int64_t i = 0; i < count; i++) x[i] *= x[i];
    squares += attn_line_sum(x, count);
  }
  return (struct attn_norm_row){.inverse = 1 / sqrt(squares / (double)c->n + c->epsilon)};
}

/* y = x / s scale
 * x (n), scale (n) in; y (n) out */
static void forward_row(struct attn_norm_call *c, int64_t row) {
  struct attn_norm_row r = measure(c, row);
  attn_norm_write(c, &r, row);
}

attn_status attn_rms_norm_forward(const attn_norm *desc, const attn_tensor *x,
                                  const attn_tensor *scale, const attn_tensor *y, attn_error *err) {
  struct attn_norm_call c;
  attn_status status = attn_norm_check_forward(desc, x, scale, NULL, y, NULL, NULL, &c, err);
  if (!status) attn_norm_rows(&c, forward_row);
  return status;
}

/* ---- Backward ------------------------------------------------------------ */

/* The forward was xhat = x / s, y = xhat scale, and s depends on every x:
 *     d_x = (g - xhat sum (g xhat) / n) / s
 * x (n), scale (n), d_y (n) in; d_x (n) out */
static void backward_row(struct attn_norm_call *c, int64_t row) {
  double g[ATTN_ROW_CHUNK], xhat[ATTN_ROW_CHUNK], dot = 0;
  for (int64_t from = 0, count; from < c->n; from += count) {
    count = c->n - from < ATTN_ROW_CHUNK ? c->n - from : ATTN_ROW_CHUNK;
    attn_norm_terms(c, row, from, count, g, xhat);
    for (int64_t i = 0; i < count; i++) xhat[i] *= g[i];
    dot += attn_line_sum(xhat, count);
  }
  dot /= (double)c->n;
  char *d_x_row = attn_row_data(&c->d_x, c->axis, row);
  for (int64_t from = 0, count; from < c->n; from += count) {
    count = c->n - from < ATTN_ROW_CHUNK ? c->n - from : ATTN_ROW_CHUNK;
    attn_norm_terms(c, row, from, count, g, xhat);
    for (int64_t i = 0; i < count; i++) g[i] = (g[i] - xhat[i] * dot) * c->row[row].inverse;
    attn_row_store(&c->d_x, c->axis, d_x_row, from, count, g);
  }
}

attn_status attn_rms_norm_backward(const attn_norm *desc, const attn_tensor *x,
                                   const attn_tensor *scale, const attn_tensor *d_y,
                                   const attn_norm_gradients *gradients, attn_error *err) {
  struct attn_norm_call c;
  attn_status status = attn_norm_check_backward(desc, x, scale, d_y, gradients, 0, &c, err);
  return status ? status : attn_norm_differentiate(&c, measure, backward_row, err);
}
