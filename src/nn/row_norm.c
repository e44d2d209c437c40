#include <math.h>

#include "clones.h"
#include "layers.h"

enum { LANES = 16, COLUMNS = 64 };

struct call {
  float *y, *dx, *d_scale, *d_bias, *mean, *inverse;
  const float *x, *dy, *scale, *bias;
  int64_t n, width;
  float epsilon;
  int root;
};

/* Halves upon halves, so that no sum waits for all others. */
static inline float total(float lane[LANES]) {
  for (int half = LANES / 2; half; half /= 2)
    for (int k = 0; k < half; k++) lane[k] += lane[k + half];
  return lane[0];
}

static inline float sum_of(const float *restrict x, int64_t width) {
  float lane[LANES] = {0};
  int64_t at = 0;
  for (; at + LANES <= width; at += LANES)
    for (int k = 0; k < LANES; k++) lane[k] += x[at + k];
  for (; at < width; at++) lane[0] += x[at];
  return total(lane);
}

static inline float squares_of(const float *restrict x, int64_t width, float mean) {
  float lane[LANES] = {0};
  int64_t at = 0;
  for (; at + LANES <= width; at += LANES)
    for (int k = 0; k < LANES; k++) lane[k] += (x[at + k] - mean) * (x[at + k] - mean);
  for (; at < width; at++) lane[0] += (x[at] - mean) * (x[at] - mean);
  return total(lane);
}

static inline void write_row(float *restrict y, const float *restrict x, int64_t width, float mean,
                             float inverse, const float *restrict scale,
                             const float *restrict bias) {
  if (bias)
    for (int64_t d = 0; d < width; d++) y[d] = (x[d] - mean) * inverse * scale[d] + bias[d];
  else
    for (int64_t d = 0; d < width; d++) y[d] = (x[d] - mean) * inverse * scale[d];
}

/* The squares are taken about the mean, however far that lies from 0. */
ATTN_CLONES
static void normalize(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from; n < to; n++) {
    const float *x = c->x + n * c->width;
    float count = (float)c->width, mean = c->root ? 0 : sum_of(x, c->width) / count;
    float inverse = 1 / sqrtf(squares_of(x, c->width, mean) / count + c->epsilon);
    write_row(c->y + n * c->width, x, c->width, mean, inverse, c->scale, c->bias);
    if (c->mean) c->mean[n] = mean, c->inverse[n] = inverse;
  }
}

void attn_row_norm_forward(const struct attn_host *host, float *y, float *mean, float *inverse,
                           const float *x, const float *scale, const float *bias, int64_t n,
                           int64_t width, double epsilon, int root) {
  struct call c = {.y = y,
                   .mean = mean,
                   .inverse = inverse,
                   .x = x,
                   .scale = scale,
                   .bias = bias,
                   .n = n,
                   .width = width,
                   .epsilon = (float)epsilon,
                   .root = root};
  attn_parallel_rows(host, n, width * 4, normalize, &c);
}

/* ---- Backward: xhat = (x - mean) inverse, g = dy scale,
 *      dx = inverse (g - mean(g) - xhat mean(g xhat)), without mean(g) in RMS normalization ---- */

static inline float mean_of_g(const float *restrict dy, const float *restrict scale,
                              int64_t width) {
  float lane[LANES] = {0};
  int64_t at = 0;
  for (; at + LANES <= width; at += LANES)
    for (int k = 0; k < LANES; k++) lane[k] += dy[at + k] * scale[at + k];
  for (; at < width; at++) lane[0] += dy[at] * scale[at];
  return total(lane) / (float)width;
}

static inline float mean_of_g_xhat(const float *restrict x, const float *restrict dy,
                                   const float *restrict scale, int64_t width, float mean,
                                   float inverse) {
  float lane[LANES] = {0};
  int64_t at = 0;
  for (; at + LANES <= width; at += LANES)
    for (int k = 0; k < LANES; k++)
      lane[k] += dy[at + k] * scale[at + k] * ((x[at + k] - mean) * inverse);
  for (; at < width; at++) lane[0] += dy[at] * scale[at] * ((x[at] - mean) * inverse);
  return total(lane) / (float)width;
}

static inline void add_row(float *restrict dx, const float *restrict x, const float *restrict dy,
                           const float *restrict scale, int64_t width, float mean, float inverse,
                           float of_g, float of_g_xhat) {
  for (int64_t d = 0; d < width; d++)
    dx[d] += inverse * (dy[d] * scale[d] - of_g - (x[d] - mean) * inverse * of_g_xhat);
}

ATTN_CLONES
static void differentiate(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from; n < to; n++) {
    const float *x = c->x + n * c->width, *dy = c->dy + n * c->width;
    float mean = c->mean[n], inverse = c->inverse[n];
    float of_g = c->root ? 0 : mean_of_g(dy, c->scale, c->width);
    float of_g_xhat = mean_of_g_xhat(x, dy, c->scale, c->width, mean, inverse);
    add_row(c->dx + n * c->width, x, dy, c->scale, c->width, mean, inverse, of_g, of_g_xhat);
  }
}

static inline void add_columns(const struct call *c, int64_t n, int64_t first, int64_t end) {
  const float *restrict x = c->x + n * c->width, *restrict dy = c->dy + n * c->width;
  float *restrict d_scale = c->d_scale, *restrict d_bias = c->d_bias;
  float mean = c->mean[n], inverse = c->inverse[n];
  for (int64_t d = first; d_scale && d < end; d++) d_scale[d] += dy[d] * ((x[d] - mean) * inverse);
  for (int64_t d = first; d_bias && d < end; d++) d_bias[d] += dy[d];
}

/* Stretches of columns, so that each sum is one thread's. */
ATTN_CLONES
static void sum_columns(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  int64_t end = to * COLUMNS < c->width ? to * COLUMNS : c->width;
  for (int64_t n = 0; n < c->n; n++) add_columns(c, n, from * COLUMNS, end);
}

void attn_row_norm_backward(const struct attn_host *host, float *dx, float *d_scale, float *d_bias,
                            const float *dy, const float *x, const float *mean,
                            const float *inverse, const float *scale, int64_t n, int64_t width,
                            int root) {
  struct call c = {.dx = dx,
                   .d_scale = d_scale,
                   .d_bias = d_bias,
                   .dy = dy,
                   .x = x,
                   .mean = (float *)(uintptr_t)mean,
                   .inverse = (float *)(uintptr_t)inverse,
                   .scale = scale,
                   .n = n,
                   .width = width,
                   .root = root};
  attn_parallel_rows(host, n, width * 4, differentiate, &c);
  if (d_scale || d_bias)
    attn_parallel_rows(host, (width + COLUMNS - 1) / COLUMNS, n * COLUMNS * 2, sum_columns, &c);
}
