#include "clones.h"
#include "layers.h"
#include "normal.h"

struct call {
  float *y, *dx;
  const float *x, *dy;
  int64_t width;
};

typedef void body(void *argument, int64_t from, int64_t to);

/* ---- ReLU: max(x, 0) ---- */

ATTN_CLONES
static void relu(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  const float *restrict x = c->x;
  float *restrict y = c->y;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++) y[n] = x[n] > 0 ? x[n] : 0;
}

ATTN_CLONES
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

ATTN_CLONES
static void gelu(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  const float *restrict x = c->x;
  float *restrict y = c->y;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++)
    y[n] = x[n] * attn_normal(x[n]).below;
}

ATTN_CLONES
static void gelu_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  const float *restrict x = c->x, *restrict dy = c->dy;
  float *restrict dx = c->dx;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++) {
    const struct attn_normal at = attn_normal(x[n]);
    dx[n] += dy[n] * (at.below + x[n] * at.density);
  }
}

/* ---- SiLU: x s(x), s(x) = 1 / (1 + e^-x) ---- */

static inline float sigmoid(float x) { return 1 / (1 + attn_exponential(-x)); }

ATTN_CLONES
static void silu(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  const float *restrict x = c->x;
  float *restrict y = c->y;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++) y[n] = x[n] * sigmoid(x[n]);
}

ATTN_CLONES
static void silu_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  const float *restrict x = c->x, *restrict dy = c->dy;
  float *restrict dx = c->dx;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++) {
    float s = sigmoid(x[n]);
    dx[n] += dy[n] * (s * (1 + x[n] * (1 - s)));
  }
}

/* ---- GELU by tanh: x (1 + tanh u) / 2 = x s(2u), 2u = sqrt(8/pi) (x + 0.044715 x^3) ---- */

static inline float twice_inner(float x) { return 0x1.988454p0f * (x + 0.044715f * x * x * x); }

ATTN_CLONES
static void gelu_tanh(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  const float *restrict x = c->x;
  float *restrict y = c->y;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++)
    y[n] = x[n] * sigmoid(twice_inner(x[n]));
}

ATTN_CLONES
static void gelu_tanh_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  const float *restrict x = c->x, *restrict dy = c->dy;
  float *restrict dx = c->dx;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++) {
    float s = sigmoid(twice_inner(x[n])), slope = 0x1.988454p0f * (1 + 3 * 0.044715f * x[n] * x[n]);
    dx[n] += dy[n] * (s * (1 + x[n] * (1 - s) * slope));
  }
}

/* ---- SwiGLU: silu(x1) x2 ---- */

static inline void swiglu_row(float *restrict y, const float *restrict x1, const float *restrict x2,
                              int64_t width) {
  for (int64_t d = 0; d < width; d++) y[d] = x1[d] * sigmoid(x1[d]) * x2[d];
}

ATTN_CLONES
static void swiglu(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from; n < to; n++) {
    const float *x = c->x + n * 2 * c->width;
    swiglu_row(c->y + n * c->width, x, x + c->width, c->width);
  }
}

static inline void swiglu_row_back(float *restrict dx1, float *restrict dx2,
                                   const float *restrict dy, const float *restrict x1,
                                   const float *restrict x2, int64_t width) {
  for (int64_t d = 0; d < width; d++) {
    float s = sigmoid(x1[d]);
    dx1[d] += dy[d] * x2[d] * s * (1 + x1[d] * (1 - s));
    dx2[d] += dy[d] * x1[d] * s;
  }
}

ATTN_CLONES
static void swiglu_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from; n < to; n++) {
    const float *x = c->x + n * 2 * c->width;
    float *dx = c->dx + n * 2 * c->width;
    swiglu_row_back(dx, dx + c->width, c->dy + n * c->width, x, x + c->width, c->width);
  }
}

/* In the order of enum attn_activation. */
static body *const forward[] = {relu, gelu, gelu_tanh, swiglu, silu};
static body *const backward[] = {relu_back, gelu_back, gelu_tanh_back, swiglu_back, silu_back};

void attn_activation_forward(const struct attn_host *host, enum attn_activation kind, float *y,
                             const float *x, int64_t n, int64_t width) {
  struct call c = {.y = y, .x = x, .width = width};
  attn_parallel_rows(host, n, width, forward[kind], &c);
}

void attn_activation_backward(const struct attn_host *host, enum attn_activation kind, float *dx,
                              const float *dy, const float *x, int64_t n, int64_t width) {
  struct call c = {.dx = dx, .dy = dy, .x = x, .width = width};
  attn_parallel_rows(host, n, width, backward[kind], &c);
}
