#include <string.h>

#include "clones.h"
#include "exponential.h"
#include "recurrent.h"

enum { LANES = 16, CHUNK = 256 }; /* CHUNK: columns whose tanh are stored at a time */

struct alignment_args {
  const struct attn_alignment *s;
  float *to_context, *to_weights;             /* of the forward: out */
  const float *context, *weights, *d_context; /* of the backward: in */
  float *dq, *dk, *dz, *da;                   /* and out; da: (N, A), of each row */
};

/* In LANES partial sums, so that the loop vectorizes; one order for each n. */
ATTN_INLINE float dot(const float *x, const float *y, int64_t n) {
  float lane[LANES] = {0}, sum = 0;
  int64_t k = 0;
  for (; k + LANES <= n; k += LANES)
    for (int l = 0; l < LANES; l++) lane[l] += x[k + l] * y[k + l];
  for (int l = 0; l < LANES; l++) sum += lane[l];
  for (; k < n; k++) sum += x[k] * y[k];
  return sum;
}

/* y += factor x. */
ATTN_INLINE void add_scaled(float *restrict y, const float *restrict x, float factor, int64_t n) {
  for (int64_t k = 0; k < n; k++) y[k] += factor * x[k];
}

/* ---- Forward ---- */

ATTN_INLINE void tanh_of_sums(float *restrict t, const float *restrict q, const float *restrict k,
                              int64_t n) {
  for (int64_t e = 0; e < n; e++) t[e] = attn_tanh(q[e] + k[e]);
}

ATTN_INLINE float additive_score(const float *q, const float *k, const float *a, int64_t width) {
  float t[CHUNK], sum = 0;
  for (int64_t e = 0; e < width; e += CHUNK) {
    const int64_t count = attn_min(width - e, CHUNK);
    tanh_of_sums(t, q + e, k + e, count);
    sum += dot(t, a + e, count);
  }
  return sum;
}

ATTN_INLINE void softmax(float *e, int64_t n) {
  float top = e[0], sum = 0;
  for (int64_t j = 1; j < n; j++) top = e[j] > top ? e[j] : top;
  for (int64_t j = 0; j < n; j++) sum += e[j] = attn_exponential(e[j] - top);
  for (int64_t j = 0; j < n; j++) e[j] /= sum;
}

ATTN_CLONES
static void align(void *argument, int64_t from, int64_t to) {
  const struct alignment_args *p = argument;
  const struct attn_alignment *s = p->s;
  for (int64_t n = from; n < to; n++) {
    float *w = p->to_weights + n * s->positions, *context = p->to_context + n * s->values;
    for (int64_t j = 0; j < s->positions; j++) {
      const int64_t key = (n * s->positions + j) * s->width;
      if (s->kind == ATTN_ALIGNMENT_ADDITIVE)
        w[j] = additive_score(s->q + n * s->width, s->k + key, s->a, s->width);
      else if (s->kind == ATTN_ALIGNMENT_DOT)
        w[j] = s->scale * dot(s->q + n * s->width, s->k + key, s->width);
      else
        w[j] = 1 / (float)s->positions;
    }
    if (s->kind != ATTN_ALIGNMENT_UNIFORM) softmax(w, s->positions);
    memset(context, 0, (size_t)s->values * sizeof *context);
    for (int64_t j = 0; j < s->positions; j++)
      add_scaled(context, s->z + (n * s->positions + j) * s->values, w[j], s->values);
  }
}

void attn_alignment_forward(const struct attn_host *host, const struct attn_alignment *s,
                            float *context, float *weights) {
  struct alignment_args p = {.s = s, .to_context = context, .to_weights = weights};
  attn_parallel_rows(host, s->n, s->positions * (8 * s->width + s->values), align, &p);
}

/* ---- Backward ---- */

/* slope = d a (1 - t^2) and d_a = d t with t = tanh(q + k): the gradients of q and k, and of a. */
ATTN_INLINE void additive_slopes(float *restrict slope, float *restrict d_a,
                                 const float *restrict q, const float *restrict k,
                                 const float *restrict a, float d, int64_t n) {
  for (int64_t e = 0; e < n; e++) {
    const float t = attn_tanh(q[e] + k[e]);
    slope[e] = d * a[e] * (1 - t * t), d_a[e] = d * t;
  }
}

/* row, key: the offsets of q and k of one position, d the gradient of its score. */
ATTN_INLINE void additive_back(const struct alignment_args *p, int64_t row, int64_t key, float d) {
  const struct attn_alignment *s = p->s;
  float slope[CHUNK], d_a[CHUNK];
  for (int64_t e = 0; e < s->width; e += CHUNK) {
    const int64_t count = attn_min(s->width - e, CHUNK);
    additive_slopes(slope, d_a, s->q + row + e, s->k + key + e, s->a + e, d, count);
    if (p->dq) add_scaled(p->dq + row + e, slope, 1, count);
    if (p->dk) add_scaled(p->dk + key + e, slope, 1, count);
    if (p->da) add_scaled(p->da + row + e, d_a, 1, count);
  }
}

ATTN_INLINE void score_back(const struct alignment_args *p, int64_t row, int64_t key, float d) {
  const struct attn_alignment *s = p->s;
  if (s->kind == ATTN_ALIGNMENT_ADDITIVE) additive_back(p, row, key, d);
  if (s->kind != ATTN_ALIGNMENT_DOT) return;
  if (p->dq) add_scaled(p->dq + row, s->k + key, d * s->scale, s->width);
  if (p->dk) add_scaled(p->dk + key, s->q + row, d * s->scale, s->width);
}

/* The gradient of score j is w_j (d . z_j - d . context), d that of the context. */
ATTN_CLONES
static void align_back(void *argument, int64_t from, int64_t to) {
  const struct alignment_args *p = argument;
  const struct attn_alignment *s = p->s;
  for (int64_t n = from; n < to; n++) {
    const float *d = p->d_context + n * s->values;
    const float mean = dot(d, p->context + n * s->values, s->values);
    for (int64_t j = 0; j < s->positions; j++) {
      const int64_t at = n * s->positions + j;
      const float w = p->weights[at], change = dot(d, s->z + at * s->values, s->values) - mean;
      if (p->dz) add_scaled(p->dz + at * s->values, d, w, s->values);
      score_back(p, n * s->width, at * s->width, w * change);
    }
  }
}

void attn_alignment_backward(const struct attn_host *host, const struct attn_alignment *s,
                             const float *context, const float *weights, float *dq, float *dk,
                             float *da, float *dz, const float *d_context, float *scratch) {
  struct alignment_args p = {.s = s, .dq = dq, .dk = dk, .dz = dz, .d_context = d_context};
  p.context = context, p.weights = weights;
  if (s->kind == ATTN_ALIGNMENT_ADDITIVE && da) {
    memset(scratch, 0, (size_t)(s->n * s->width) * sizeof *scratch);
    p.da = scratch;
  }
  attn_parallel_rows(host, s->n, s->positions * (12 * s->width + 2 * s->values), align_back, &p);
  for (int64_t n = 0; n < s->n && p.da; n++) add_scaled(da, scratch + n * s->width, 1, s->width);
}
