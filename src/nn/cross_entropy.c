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
  int64_t words;
  double smoothing;
  float scale;
  int evaluate;
  double *losses;
  _Atomic int64_t *correct;
};

static inline float largest(const float *x, int64_t count) {
  float lane[LANES], top;
  int64_t at = 0;
  for (int k = 0; k < LANES; k++) lane[k] = -INFINITY;
  for (; at + LANES <= count; at += LANES)
    for (int k = 0; k < LANES; k++) lane[k] = x[at + k] > lane[k] ? x[at + k] : lane[k];
  top = lane[0];
  for (int k = 1; k < LANES; k++) top = lane[k] > top ? lane[k] : top;
  for (; at < count; at++) top = x[at] > top ? x[at] : top;
  return top;
}

/* The target's is the largest, and of equals the first. */
static int is_likeliest(const float *x, int32_t target, float top) {
  int32_t v = 0;
  if (x[target] != top) return 0;
  while (v < target && x[v] < top) v++;
  return v == target;
}

/* The sum of e^(x - top); these, where to is not NULL, stand there. */
static inline double exponentials(float *to, const float *x, int64_t count, float top) {
  double lane[LANES] = {0}, sum = 0;
  int64_t at = 0;
  for (; at + LANES <= count; at += LANES) {
    float e[LANES];
    for (int k = 0; k < LANES; k++) e[k] = attn_exponential(x[at + k] - top);
    for (int k = 0; k < LANES; k++) lane[k] += (double)e[k];
    if (to) memcpy(to + at, e, sizeof e);
  }
  for (; at < count; at++) {
    float e = attn_exponential(x[at] - top);
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
  float each = (float)(c->smoothing / (double)c->words), share = (float)(1 / sum), by = c->scale;
  for (int64_t v = 0, words = c->words; v < words; v++) x[v] = (x[v] * share - each) * by;
  x[target] -= (float)(1 - c->smoothing) * c->scale;
}

ATTN_CLONES
static void run(void *argument, int64_t from, int64_t to) {
  const struct cross_entropy_args *c = argument;
  for (int64_t n = from; n < to; n++) {
    float *x = c->logits + n * c->words;
    int32_t target = c->targets[n];
    c->losses[n] = 0;
    for (int64_t v = 0; target < 0 && !c->evaluate && v < c->words; v++) x[v] = 0;
    if (target < 0) continue;
    float top = largest(x, c->words), said = x[target];
    if (is_likeliest(x, target, top)) atomic_fetch_add(c->correct, 1);
    double mean = c->smoothing > 0 ? mean_of(x, c->words) : 0;
    double sum = exponentials(c->evaluate ? NULL : x, x, c->words, top);
    /* -sum t_v log p_v = log sum e^x - (1 - s) x_target - s mean(x) */
    c->losses[n] = (double)top + log(sum) - (1 - c->smoothing) * (double)said - c->smoothing * mean;
    if (!c->evaluate) differentiate(c, x, target, sum);
  }
}

struct attn_loss attn_cross_entropy_forward(const struct attn_host *host, float *logits,
                                            const int32_t *targets, int64_t n, int64_t words,
                                            double smoothing, float scale, int evaluate,
                                            double *scratch) {
  _Atomic int64_t correct = 0;
  struct cross_entropy_args c = {logits, targets,  words,   smoothing,
                                 scale,  evaluate, scratch, &correct};
  struct attn_loss all = {0, 0, 0};
  attn_parallel_rows(host, n, words * 8, run, &c);
  for (int64_t row = 0; row < n; row++) all.rows += targets[row] >= 0;
  all.correct = atomic_load(&correct);
  for (int64_t row = 0; row < n; row++) all.sum += scratch[row];
  return all;
}
