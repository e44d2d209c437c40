#include <math.h>

#include "layers.h"

struct call {
  float *logits;
  const int32_t *targets;
  int64_t words;
  double smoothing;
  float scale;
  int evaluate;
  double *losses;
};

/* The index of the largest; the first of equals. */
static int64_t largest(const float *x, int64_t count) {
  int64_t best = 0;
  for (int64_t v = 1; v < count; v++)
    if (x[v] > x[best]) best = v;
  return best;
}

/* -sum t_v log p_v = log sum e^x - (1 - s) x_target - s mean(x). */
static double lose(const struct call *c, const float *x, int32_t target, double lse) {
  double mean = 0;
  for (int64_t v = 0; c->smoothing > 0 && v < c->words; v++) mean += (double)x[v];
  mean /= (double)c->words;
  return lse - (1 - c->smoothing) * (double)x[target] - c->smoothing * mean;
}

/* x_v becomes (e^(x_v - lse) - t_v) scale. */
static void differentiate(const struct call *c, float *x, int32_t target, float lse) {
  float each = (float)(c->smoothing / (double)c->words);
  for (int64_t v = 0; v < c->words; v++) x[v] = (expf(x[v] - lse) - each) * c->scale;
  x[target] -= (float)(1 - c->smoothing) * c->scale;
}

static void run(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  for (int64_t n = from; n < to; n++) {
    float *x = c->logits + n * c->words;
    int32_t target = c->targets[n];
    c->losses[n] = 0;
    for (int64_t v = 0; target < 0 && !c->evaluate && v < c->words; v++) x[v] = 0;
    if (target < 0) continue;
    float top = x[largest(x, c->words)];
    double sum = 0;
    for (int64_t v = 0; v < c->words; v++) sum += (double)expf(x[v] - top);
    double lse = (double)top + log(sum);
    c->losses[n] = lose(c, x, target, lse);
    if (!c->evaluate) differentiate(c, x, target, (float)lse);
  }
}

struct attn_loss attn_loss_forward(const struct attn_host *host, float *logits,
                                   const int32_t *targets, int64_t n, int64_t words,
                                   double smoothing, float scale, int evaluate, double *scratch) {
  struct call c = {logits, targets, words, smoothing, scale, evaluate, scratch};
  struct attn_loss all = {0, 0, 0};
  for (int64_t row = 0; row < n; row++)
    if (targets[row] >= 0)
      all.rows++, all.correct += largest(logits + row * words, words) == targets[row];
  attn_layer_rows(host, n, words * 8, run, &c);
  for (int64_t row = 0; row < n; row++) all.sum += scratch[row];
  return all;
}
