#include <string.h>

#include "layers.h"
#include "linalg.h"

enum { COLUMNS = 256 };

struct bias {
  float *y, *db;
  const float *b, *dy;
  int64_t n, width;
};

static void start_rows(void *argument, int64_t from, int64_t to) {
  const struct bias *p = argument;
  for (int64_t row = from; row < to; row++)
    memcpy(p->y + row * p->width, p->b, (size_t)p->width * sizeof *p->y);
}

static void add_columns(float *restrict db, const float *restrict dy, int64_t n) {
  for (int64_t o = 0; o < n; o++) db[o] += dy[o];
}

/* Stretches of columns, so that each sum is one thread's. */
static void sum_columns(void *argument, int64_t from, int64_t to) {
  const struct bias *p = argument;
  int64_t first = from * COLUMNS, end = to * COLUMNS < p->width ? to * COLUMNS : p->width;
  for (int64_t row = 0; row < p->n; row++)
    add_columns(p->db + first, p->dy + row * p->width + first, end - first);
}

/* The bias is what the product is added to. */
attn_status attn_linear_forward(const struct attn_host *host, float *y, const float *x,
                                const float *w, const float *b, int64_t n, int64_t in, int64_t out,
                                attn_error *err) {
  struct bias p = {.y = y, .b = b, .width = out};
  const struct attn_matrix left = {x, in, 0}, right = {w, in, 1};
  if (b) attn_layer_rows(host, n, out, start_rows, &p);
  return attn_matmul(host, n, out, in, left, right, y, out, b != NULL, err);
}

/* y = x W^T + b:  dx = dy W,  dW = dy^T x,  db = sum of dy's rows. */
attn_status attn_linear_backward(const struct attn_host *host, float *dx, float *dw, float *db,
                                 const float *dy, const float *x, const float *w, int64_t n,
                                 int64_t in, int64_t out, attn_error *err) {
  const struct attn_matrix g = {dy, out, 0}, g_turned = {dy, out, 1};
  struct bias p = {.db = db, .dy = dy, .n = n, .width = out};
  attn_status status = ATTN_OK;
  if (db) attn_layer_rows(host, (out + COLUMNS - 1) / COLUMNS, n * COLUMNS, sum_columns, &p);
  if (dx) status = attn_matmul(host, n, in, out, g, (struct attn_matrix){w, in, 0}, dx, in, 1, err);
  if (dw && !status)
    status =
        attn_matmul(host, out, in, n, g_turned, (struct attn_matrix){x, in, 0}, dw, in, 1, err);
  return status;
}
