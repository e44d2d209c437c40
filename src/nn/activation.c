#include <math.h>

#include "layers.h"

struct call {
  float *y, *dx;
  const float *x, *dy;
  int64_t width;
};

typedef void body(void *argument, int64_t from, int64_t to);

/* ---- ReLU: max(x, 0) ---- */

static void relu(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  const float *restrict x = c->x;
  float *restrict y = c->y;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++) y[n] = x[n] > 0 ? x[n] : 0;
}

static void relu_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  const float *restrict x = c->x, *restrict dy = c->dy;
  float *restrict dx = c->dx;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++) {
    float g = dy[n]; /* read in any case: a choice between two numbers, not a branch */
    dx[n] += x[n] > 0 ? g : 0;
  }
}

/* ---- GELU: x Phi(x), Phi the normal distribution's, phi its density ---- */

static float normal_below(float x) { return 0.5f * erfcf(-x * 0x1.6a09e6p-1f); }

static void gelu(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from * c->width; n < to * c->width; n++)
    c->y[n] = c->x[n] * normal_below(c->x[n]);
}

static void gelu_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from * c->width; n < to * c->width; n++) {
    float x = c->x[n], density = 0x1.988454p-2f * expf(-0.5f * x * x);
    c->dx[n] += c->dy[n] * (normal_below(x) + x * density);
  }
}

/* ---- GELU by tanh: x (1 + tanh u) / 2, u = sqrt(2/pi) (x + 0.044715 x^3) ---- */

static float inner(float x) { return 0x1.988454p-1f * (x + 0.044715f * x * x * x); }

static void gelu_tanh(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from * c->width; n < to * c->width; n++)
    c->y[n] = 0.5f * c->x[n] * (1 + tanhf(inner(c->x[n])));
}

static void gelu_tanh_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from * c->width; n < to * c->width; n++) {
    float x = c->x[n], t = tanhf(inner(x)), slope = 0x1.988454p-1f * (1 + 3 * 0.044715f * x * x);
    c->dx[n] += c->dy[n] * 0.5f * (1 + t + x * (1 - t * t) * slope);
  }
}

/* ---- SwiGLU: silu(x1) x2, silu(x) = x / (1 + e^-x) ---- */

static void swiglu(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from; n < to; n++) {
    const float *x1 = c->x + n * 2 * c->width, *x2 = x1 + c->width;
    for (int64_t d = 0; d < c->width; d++)
      c->y[n * c->width + d] = x1[d] / (1 + expf(-x1[d])) * x2[d];
  }
}

static void swiglu_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from; n < to; n++) {
    const float *x1 = c->x + n * 2 * c->width, *x2 = x1 + c->width;
    float *dx1 = c->dx + n * 2 * c->width, *dx2 = dx1 + c->width;
    for (int64_t d = 0; d < c->width; d++) {
      float s = 1 / (1 + expf(-x1[d])), g = c->dy[n * c->width + d];
      dx1[d] += g * x2[d] * s * (1 + x1[d] * (1 - s));
      dx2[d] += g * x1[d] * s;
    }
  }
}

/* ---- SiLU: x / (1 + e^-x) ---- */

static void silu(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from * c->width; n < to * c->width; n++)
    c->y[n] = c->x[n] / (1 + expf(-c->x[n]));
}

static void silu_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from * c->width; n < to * c->width; n++) {
    float s = 1 / (1 + expf(-c->x[n]));
    c->dx[n] += c->dy[n] * s * (1 + c->x[n] * (1 - s));
  }
}

static body *const forward[] = {relu, gelu, gelu_tanh, swiglu, silu}, *const backward[] = {
                                                                          relu_back, gelu_back,
                                                                          gelu_tanh_back,
                                                                          swiglu_back, silu_back};

void attn_activation_forward(const struct attn_host *host, enum attn_activation kind, float *y,
                             const float *x, int64_t n, int64_t width) {
  struct call c = {.y = y, .x = x, .width = width};
  attn_layer_rows(host, n, width, forward[kind], &c);
}

void attn_activation_backward(const struct attn_host *host, enum attn_activation kind, float *dx,
                              const float *dy, const float *x, int64_t n, int64_t width) {
  struct call c = {.dx = dx, .dy = dy, .x = x, .width = width};
  attn_layer_rows(host, n, width, backward[kind], &c);
}
