#include "clones.h"
#include "layers.h"
#include "normal.h"

struct activation_args {
  float *y;
  struct attn_gradient dx;
  const float *x, *dy;
  int64_t width;
};

typedef void activation_rows(void *argument, int64_t from, int64_t to);

/* name and name_back: elementwise y = value of x, and dx = or += gradient of x and dy. dy is read
 * in any case, so that a choice between two values is not a branch. */
#define DEFINE_ELEMENTWISE(name, value, gradient)                          \
  ATTN_CLONES                                                              \
  static void name(void *argument, int64_t from, int64_t to) {             \
    const struct activation_args *c = argument;                            \
    const float *restrict in = c->x;                                       \
    float *restrict y = c->y;                                              \
    for (int64_t n = from * c->width, end = to * c->width; n < end; n++) { \
      const float x = in[n];                                               \
      y[n] = value;                                                        \
    }                                                                      \
  }                                                                        \
  ATTN_CLONES                                                              \
  static void name##_back(void *argument, int64_t from, int64_t to) {      \
    const struct activation_args *c = argument;                            \
    const float *restrict in = c->x, *restrict d_y = c->dy;                \
    float *restrict dx = c->dx.at;                                         \
    const int adds = c->dx.adds;                                           \
    for (int64_t n = from * c->width, end = to * c->width; n < end; n++) { \
      const float x = in[n], dy = d_y[n];                                  \
      dx[n] = adds ? dx[n] + (gradient) : (gradient);                      \
    }                                                                      \
  }

/* d/dx of x sigmoid(u), u' = slope. */
static inline float gated_slope(float x, float u, float slope) {
  float s = attn_sigmoid(u);
  return s * (1 + x * (1 - s) * slope);
}

static inline float gelu_slope(float x) {
  const struct attn_normal at = attn_normal(x);
  return at.below + x * at.density;
}

/* GELU by tanh: x (1 + tanh u) / 2 = x sigmoid(2u), 2u = sqrt(8/pi) (x + 0.044715 x^3). */
static inline float twice_u(float x) { return 0x1.988454p0f * (x + 0.044715f * x * x * x); }
static inline float twice_u_slope(float x) { return 0x1.988454p0f * (1 + 3 * 0.044715f * x * x); }

DEFINE_ELEMENTWISE(relu, (x > 0 ? x : 0), (x > 0 ? dy : 0))
DEFINE_ELEMENTWISE(gelu, (x * attn_normal(x).below), (dy * gelu_slope(x)))
DEFINE_ELEMENTWISE(silu, (x * attn_sigmoid(x)), (dy * gated_slope(x, x, 1)))
DEFINE_ELEMENTWISE(gelu_tanh, (x * attn_sigmoid(twice_u(x))),
                   (dy * gated_slope(x, twice_u(x), twice_u_slope(x))))

/* ---- SwiGLU: silu(x1) x2 ---- */

static inline void swiglu_row(float *restrict y, const float *restrict x1, const float *restrict x2,
                              int64_t width) {
  for (int64_t d = 0; d < width; d++) y[d] = x1[d] * attn_sigmoid(x1[d]) * x2[d];
}

ATTN_CLONES
static void swiglu(void *argument, int64_t from, int64_t to) {
  const struct activation_args *c = argument;
  for (int64_t n = from; n < to; n++) {
    const float *x = c->x + n * 2 * c->width;
    swiglu_row(c->y + n * c->width, x, x + c->width, c->width);
  }
}

static inline void swiglu_row_back(float *restrict dx1, float *restrict dx2,
                                   const float *restrict dy, const float *restrict x1,
                                   const float *restrict x2, int adds, int64_t width) {
  for (int64_t d = 0; d < width; d++) {
    const float s = attn_sigmoid(x1[d]), d1 = dy[d] * x2[d] * s * (1 + x1[d] * (1 - s)),
                d2 = dy[d] * x1[d] * s;
    dx1[d] = adds ? dx1[d] + d1 : d1, dx2[d] = adds ? dx2[d] + d2 : d2;
  }
}

ATTN_CLONES
static void swiglu_back(void *argument, int64_t from, int64_t to) {
  const struct activation_args *c = argument;
  for (int64_t n = from; n < to; n++) {
    const float *x = c->x + n * 2 * c->width;
    float *dx = c->dx.at + n * 2 * c->width;
    swiglu_row_back(dx, dx + c->width, c->dy + n * c->width, x, x + c->width, c->dx.adds, c->width);
  }
}

/* In the order of enum attn_activation. */
static activation_rows *const forward[] = {relu, gelu, gelu_tanh, swiglu, silu};
static activation_rows *const backward[] = {relu_back, gelu_back, gelu_tanh_back, swiglu_back,
                                            silu_back};

void attn_activation_forward(const struct attn_host *host, enum attn_activation kind, float *y,
                             const float *x, int64_t n, int64_t width) {
  struct activation_args c = {.y = y, .x = x, .width = width};
  attn_parallel_rows(host, n, width, forward[kind], &c);
}

void attn_activation_backward(const struct attn_host *host, enum attn_activation kind,
                              struct attn_gradient dx, const float *dy, const float *x, int64_t n,
                              int64_t width) {
  struct activation_args c = {.dx = dx, .dy = dy, .x = x, .width = width};
  attn_parallel_rows(host, n, width, backward[kind], &c);
}
