#include <math.h>

#include "beam_state.h"

/* Tokens by falling likelihood, without sorting more than are asked for: a heap. */
struct heap {
  const float *x;
  int32_t *tokens;
  int64_t count;
};

static int before(const struct heap *h, int32_t a, int32_t b) {
  return h->x[a] > h->x[b] || (!(h->x[a] < h->x[b]) && a < b);
}

static void sink(const struct heap *h, int64_t at) {
  int32_t token = h->tokens[at];
  for (int64_t child; (child = 2 * at + 1) < h->count; at = child) {
    if (child + 1 < h->count && before(h, h->tokens[child + 1], h->tokens[child])) child++;
    if (before(h, token, h->tokens[child])) break;
    h->tokens[at] = h->tokens[child];
  }
  h->tokens[at] = token;
}

static void heap_fill(struct heap *h) {
  for (int64_t v = 0; v < h->count; v++) h->tokens[v] = (int32_t)v;
  for (int64_t at = h->count / 2; at-- > 0;) sink(h, at);
}

/* The likeliest left. It stands behind the heap then: the last of all tokens is the first popped.
 */
static int32_t pop(struct heap *h) {
  int32_t top = h->tokens[0];
  h->tokens[0] = h->tokens[--h->count];
  h->tokens[h->count] = top;
  if (h->count) sink(h, 0);
  return top;
}

/* weights[v] = e^((x_v - largest) / temperature); returns their sum. */
static double weigh(const struct attn_search_config *how, const float *x, int64_t words,
                    double *weights) {
  double sum = 0;
  float top = x[0];
  for (int64_t v = 1; v < words; v++)
    if (x[v] > top) top = x[v];
  for (int64_t v = 0; v < words; v++)
    sum += weights[v] = exp(((double)x[v] - (double)top) / how->temperature);
  return sum;
}

/* Cuts the tokens that may be drawn to the front of order, most likely first; *total is their
 * weight. */
static int64_t cut(const struct attn_search_config *how, struct heap *h, const double *weights,
                   double *total) {
  int64_t words = h->count, most = how->top_k && how->top_k < words ? how->top_k : words, kept = 0;
  double mass = 0;
  heap_fill(h);
  if (most < words) {
    *total = 0;
    while (kept < most) *total += weights[pop(h)], kept++;
  }
  double wanted = how->top_p * *total;
  int64_t popped = kept;
  for (kept = 0; kept < most && (kept == 0 || mass < wanted); kept++)
    mass += weights[kept < popped ? h->tokens[words - 1 - kept] : pop(h)];
  for (int64_t n = 0; n < kept && n < words - 1 - n; n++) {
    int32_t token = h->tokens[n];
    h->tokens[n] = h->tokens[words - 1 - n], h->tokens[words - 1 - n] = token;
  }
  *total = mass;
  return kept;
}

int32_t attn_sample_token(const struct attn_search_config *how, const float *logits, int64_t words,
                          double u, int32_t *order, double *weights) {
  struct heap h = {logits, order, words};
  double total = weigh(how, logits, words, weights), mass = 0;
  int cuts = how->top_p < 1 || (how->top_k && how->top_k < words);
  int64_t kept = cuts ? cut(how, &h, weights, &total) : words, n = 0;
  for (; n < kept - 1; n++) { /* the last is reached at the latest where mass is total > u total */
    mass += weights[cuts ? order[n] : n];
    if (mass > u * total) break;
  }
  return cuts ? order[n] : (int32_t)n;
}
