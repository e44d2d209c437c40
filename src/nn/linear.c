#include <string.h>

#include "layers.h"
#include "linalg.h"

struct bias {
  float *y, *db;
  const float *b, *dy;
  int64_t n, width;
};

static void start_row(void *argument, int64_t row, int32_t worker) {
  const struct bias *p = argument;
  (void)worker;
  memcpy(p->y + row * p->width, p->b, (size_t)p->width * sizeof *p->y);
}

/* The bias is what the product is added to. */
attn_status attn_linear_forward(const struct attn_host *host, float *y, const float *x,
                                const float *w, const float *b, int64_t n, int64_t in, int64_t out,
                                attn_error *err) {
  struct bias p = {.y = y, .b = b, .n = n, .width = out};
  const struct attn_matrix left = {x, in, 0}, right = {w, in, 1};
  for (int64_t row = 0; b && row < n; row++) start_row(&p, row, 0);
  return attn_matmul(host, n, out, in, left, right, y, out, b != NULL, err);
}

/* y = x W^T + b:  dx = dy W,  dW = dy^T x,  db = sum of dy's rows. */
attn_status attn_linear_backward(const struct attn_host *host, float *dx, float *dw, float *db,
                                 const float *dy, const float *x, const float *w, int64_t n,
                                 int64_t in, int64_t out, attn_error *err) {
  const struct attn_matrix g = {dy, out, 0}, g_turned = {dy, out, 1};
  attn_status status = ATTN_OK;
  for (int64_t row = 0; db && row < n; row++)
    for (int64_t o = 0; o < out; o++) db[o] += dy[row * out + o];
  if (dx) status = attn_matmul(host, n, in, out, g, (struct attn_matrix){w, in, 0}, dx, in, 1, err);
  if (dw && !status)
    status =
        attn_matmul(host, out, in, n, g_turned, (struct attn_matrix){x, in, 0}, dw, in, 1, err);
  return status;
}
