#include <string.h>

#include "layers.h"

enum { COLUMNS = 256 };

struct bias_args {
  float *y, *db;
  const float *b, *dy;
  int64_t n, width;
};

static void start_rows(void *argument, int64_t from, int64_t to) {
  const struct bias_args *p = argument;
  for (int64_t row = from; row < to; row++)
    memcpy(p->y + row * p->width, p->b, (size_t)p->width * sizeof *p->y);
}

/* Ranges of columns: each sum is one thread's. */
static void sum_columns(void *argument, int64_t from, int64_t to) {
  const struct bias_args *p = argument;
  int64_t first = from * COLUMNS, end = attn_min(to * COLUMNS, p->width);
  for (int64_t row = 0; row < p->n; row++)
    attn_add_floats(p->db + first, p->dy + row * p->width + first, end - first);
}

static struct attn_gemm_operand x_of(const struct attn_linear *l) {
  return (struct attn_gemm_operand){l->x, l->in, 0, l->type};
}

static struct attn_gemm_operand w_of(const struct attn_linear *l, int transposed) {
  return (struct attn_gemm_operand){l->w, l->in, transposed, l->type};
}

/* The product is added to the bias. */
attn_status attn_linear_forward(const struct attn_host *host, const struct attn_linear *l, float *y,
                                const float *b, attn_error *err) {
  struct bias_args p = {.y = y, .b = b, .width = l->out};
  if (b) attn_parallel_rows(host, l->n, l->out, start_rows, &p);
  return attn_matmul(host, l->n, l->out, l->in, x_of(l), w_of(l, 1), y, l->out, b != NULL, err);
}

/* y = x W^T + b:  dx = dy W,  dW = dy^T x,  db = sum of dy's rows. */
attn_status attn_linear_backward(const struct attn_host *host, const struct attn_linear *l,
                                 struct attn_gradient dx, float *dw, float *db, const float *dy,
                                 const void *dy_operand, attn_error *err) {
  const struct attn_gemm_operand g = {dy_operand, l->out, 0, l->type},
                                 g_t = {dy_operand, l->out, 1, l->type};
  struct bias_args p = {.db = db, .dy = dy, .n = l->n, .width = l->out};
  attn_status status = ATTN_OK;
  if (db)
    attn_parallel_rows(host, attn_divide_up(l->out, COLUMNS), l->n * COLUMNS, sum_columns, &p);
  if (dx.at)
    status = attn_matmul(host, l->n, l->in, l->out, g, w_of(l, 0), dx.at, l->in, dx.adds, err);
  if (dw && !status)
    status = attn_matmul(host, l->out, l->in, l->n, g_t, x_of(l), dw, l->in, 1, err);
  return status;
}
