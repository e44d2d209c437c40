#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "clones.h"
#include "exponential.h"
#include "layers.h"

enum { LANES = 16 };

struct cross_entropy_args {
  float *logits;
  const int32_t *targets;
  int64_t vocab_size;
  double smoothing;
  float scale;
  int evaluate;
  double *losses;
  _Atomic int64_t *correct;
};

static inline float max_of(const float *x, int64_t count) {
  float lane[LANES], max;
  int64_t at = 0;
  for (int k = 0; k < LANES; k++) lane[k] = -INFINITY;
  for (; at + LANES <= count; at += LANES)
    for (int k = 0; k < LANES; k++) lane[k] = x[at + k] > lane[k] ? x[at + k] : lane[k];
  max = lane[0];
  for (int k = 1; k < LANES; k++) max = lane[k] > max ? lane[k] : max;
  for (; at < count; at++) max = x[at] > max ? x[at] : max;
  return max;
}

/* The target has the largest logit; of equal ones the first counts. */
static int is_argmax(const float *x, int32_t target, float max) {
  int32_t v = 0;
  if (x[target] != max) return 0;
  while (v < target && x[v] < max) v++;
  return v == target;
}

/* The sum of e^(x - max), which are written to `to`, if that is not NULL. */
static inline double sum_exp(float *to, const float *x, int64_t count, float max) {
  double lane[LANES] = {0}, sum = 0;
  int64_t at = 0;
  for (; at + LANES <= count; at += LANES) {
    float e[LANES];
    for (int k = 0; k < LANES; k++) e[k] = attn_exponential(x[at + k] - max);
    for (int k = 0; k < LANES; k++) lane[k] += (double)e[k];
    if (to) memcpy(to + at, e, sizeof e);
  }
  for (; at < count; at++) {
    float e = attn_exponential(x[at] - max);
    sum += (double)e;
    if (to) to[at] = e;
  }
  for (int k = 0; k < LANES; k++) sum += lane[k];
  return sum;
}

static inline double mean_of(const float *x, int64_t count) {
  double lane[LANES] = {0}, sum = 0;
  int64_t at = 0;
  for (; at + LANES <= count; at += LANES)
    for (int k = 0; k < LANES; k++) lane[k] += (double)x[at + k];
  for (; at < count; at++) sum += (double)x[at];
  for (int k = 0; k < LANES; k++) sum += lane[k];
  return sum / (double)count;
}

/* Exponentials become (e_v / sum - t_v) scale. */
static inline void differentiate(const struct cross_entropy_args *c, float *x, int32_t target,
                                 double sum) {
  float smoothed = (float)(c->smoothing / (double)c->vocab_size), inverse_sum = (float)(1 / sum),
        scale = c->scale;
  for (int64_t v = 0, end = c->vocab_size; v < end; v++)
    x[v] = (x[v] * inverse_sum - smoothed) * scale;
  x[target] -= (float)(1 - c->smoothing) * c->scale;
}

ATTN_CLONES
static void cross_entropy_rows(void *argument, int64_t from, int64_t to) {
  const struct cross_entropy_args *c = argument;
  for (int64_t n = from; n < to; n++) {
    float *x = c->logits + n * c->vocab_size;
    int32_t target = c->targets[n];
    c->losses[n] = 0;
    for (int64_t v = 0; target < 0 && !c->evaluate && v < c->vocab_size; v++) x[v] = 0;
    if (target < 0) continue;
    float max = max_of(x, c->vocab_size), target_logit = x[target];
    if (is_argmax(x, target, max)) atomic_fetch_add(c->correct, 1);
    double mean = c->smoothing > 0 ? mean_of(x, c->vocab_size) : 0;
    double sum = sum_exp(c->evaluate ? NULL : x, x, c->vocab_size, max);
    /* -sum t_v log p_v = log sum e^x - (1 - s) x_target - s mean(x) */
    c->losses[n] =
        (double)max + log(sum) - (1 - c->smoothing) * (double)target_logit - c->smoothing * mean;
    if (!c->evaluate) differentiate(c, x, target, sum);
  }
}

ATTN_CLONES
static void summarize(struct attn_logits_summary *to, const float *x, int64_t count, int has_sum) {
  int is_nan = 0;
  for (int64_t v = 0; v < count; v++) is_nan |= x[v] != x[v];
  to->max = is_nan ? NAN : max_of(x, count);
  to->log_sum_exp = (double)to->max + (has_sum ? log(sum_exp(NULL, x, count, to->max)) : 0);
}

struct attn_logits_summary attn_logits_summarize(const float *logits, int64_t vocab_size,
                                                 int has_sum) {
  struct attn_logits_summary found;
  summarize(&found, logits, vocab_size, has_sum);
  return found;
}

struct attn_loss attn_cross_entropy_forward(const struct attn_host *host, float *logits,
                                            const int32_t *targets, int64_t n, int64_t vocab_size,
                                            double smoothing, float scale, int evaluate,
                                            double *scratch) {
  _Atomic int64_t correct = 0;
  struct cross_entropy_args c = {logits, targets,  vocab_size, smoothing,
                                 scale,  evaluate, scratch,    &correct};
  struct attn_loss all = {0, 0, 0};
  attn_parallel_rows(host, n, vocab_size * 8, cross_entropy_rows, &c);
  for (int64_t row = 0; row < n; row++) all.rows += targets[row] >= 0;
  all.correct = atomic_load(&correct);
  for (int64_t row = 0; row < n; row++) all.sum += scratch[row];
  return all;
}
