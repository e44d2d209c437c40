/* A shared library through which tests/python/test_layers.py calls layers without a public name. */
#include <stdlib.h>

#include "convolution.h"
#include "tape_recurrent.h"

#define EXPORT __attribute__((visibility("default")))

enum { MEMORY = 1 << 24, LEAVES = 7 };

EXPORT int drive_convolution_forward(int32_t threads, const int64_t *shape, const float *x,
                                     const float *w, const float *b, float *y);
EXPORT int drive_convolution_backward(int32_t threads, const int64_t *shape, const float *x,
                                      const float *w, const float *dy, float *dx, float *dw,
                                      float *db);
EXPORT int drive_cell(int is_gru, const int64_t *shape, float *const *x, float *const *dx,
                      float *const *result, const float *const *d_result);
EXPORT int drive_alignment(int kind, float scale, const int64_t *shape, float *const *x,
                           float *const *dx, float *context, float *weights,
                           const float *d_context);

/* ---- Convolution. shape: N, H, W, C, O, stride ---- */

static struct attn_convolution convolution(const int64_t *shape, const float *x, const float *w) {
  return (struct attn_convolution){shape[0], shape[1], shape[2], shape[3],
                                   shape[4], shape[5], x,        w};
}

int drive_convolution_forward(int32_t threads, const int64_t *shape, const float *x, const float *w,
                              const float *b, float *y) {
  const struct attn_host host = {.threads = threads};
  const struct attn_convolution c = convolution(shape, x, w);
  return (int)attn_convolution_forward(&host, &c, y, b, NULL);
}

int drive_convolution_backward(int32_t threads, const int64_t *shape, const float *x,
                               const float *w, const float *dy, float *dx, float *dw, float *db) {
  const struct attn_host host = {.threads = threads};
  const struct attn_convolution c = convolution(shape, x, w);
  return (int)attn_convolution_backward(&host, &c, dx, dw, db, dy, NULL);
}

/* ---- On a tape ---- */

static void copy(float *to, const float *from, const struct attn_tape_variable *v) {
  for (int64_t n = 0; n < v->n * v->width; n++) to[n] = from[n];
}

static struct attn_tape_variable leaf(float *x, float *dx, int64_t n, int64_t width) {
  return (struct attn_tape_variable){.x = x, .dx = dx, .n = n, .width = width};
}

static int begin(struct attn_tape *tape) {
  *tape = (struct attn_tape){.training = 1};
  tape->data = (struct attn_arena){aligned_alloc(64, MEMORY), MEMORY, 0, 0};
  attn_tape_start(tape);
  return tape->data.memory != NULL;
}

static int end(struct attn_tape *tape) {
  attn_status status = attn_tape_status(tape, NULL);
  attn_tape_close(tape);
  return (int)status;
}

/* x, dx: x, h, c, W_ih, W_hh, b_ih, b_hh; a GRU does not read c. result: h', c'. shape: N, I, D. */
int drive_cell(int is_gru, const int64_t *shape, float *const *x, float *const *dx,
               float *const *result, const float *const *d_result) {
  const int64_t n = shape[0], in = shape[1], d = shape[2], gates = (is_gru ? 3 : 4) * d;
  const int64_t size[LEAVES][2] = {{n, in},    {n, d},     {n, d},    {gates, in},
                                   {gates, d}, {1, gates}, {1, gates}};
  struct attn_tape_variable l[LEAVES], *c = is_gru ? NULL : &l[2];
  struct attn_tape tape;
  if (!begin(&tape)) return -1;
  for (int k = 0; k < LEAVES; k++) l[k] = leaf(x[k], dx[k], size[k][0], size[k][1]);
  struct attn_tape_variable *of_x = attn_tape_linear(&tape, &l[0], &l[3], &l[5]),
                            *of_h = attn_tape_linear(&tape, &l[1], &l[4], &l[6]);
  struct attn_tape_variable *h = attn_tape_cell(&tape, of_x, of_h, &l[1], is_gru ? NULL : &c);
  if (tape.status) return end(&tape);
  copy(result[0], h->x, h), copy(h->dx, d_result[0], h);
  if (c) copy(result[1], c->x, c), copy(c->dx, d_result[1], c);
  attn_tape_backward(&tape);
  return end(&tape);
}

/* x, dx: q, k, a, z. shape: N, P, A, D. */
int drive_alignment(int kind, float scale, const int64_t *shape, float *const *x, float *const *dx,
                    float *context, float *weights, const float *d_context) {
  const int64_t n = shape[0], p = shape[1];
  struct attn_tape_variable q = leaf(x[0], dx[0], n, shape[2]),
                            k = leaf(x[1], dx[1], n * p, shape[2]),
                            a = leaf(x[2], dx[2], 1, shape[2]),
                            z = leaf(x[3], dx[3], n * p, shape[3]);
  struct attn_tape tape;
  const float *w;
  if (!begin(&tape)) return -1;
  const int uniform = kind == ATTN_ALIGNMENT_UNIFORM;
  struct attn_tape_variable *y =
      attn_tape_align(&tape, (enum attn_alignment_kind)kind, scale, uniform ? NULL : &q,
                      uniform ? NULL : &k, kind == ATTN_ALIGNMENT_ADDITIVE ? &a : NULL, &z, n, &w);
  if (tape.status) return end(&tape);
  copy(context, y->x, y), copy(y->dx, d_context, y);
  for (int64_t j = 0; j < n * p; j++) weights[j] = w[j];
  attn_tape_backward(&tape);
  return end(&tape);
}
