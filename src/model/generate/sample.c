#include <math.h>

#include "beam_state.h"

/* A heap of tokens by logit: sorts only as many as are popped. */
struct token_heap {
  const float *x;
  int32_t *tokens;
  int64_t count;
};

static int is_likelier(const struct token_heap *h, int32_t a, int32_t b) {
  return h->x[a] > h->x[b] || (!(h->x[a] < h->x[b]) && a < b);
}

static void sink(const struct token_heap *h, int64_t at) {
  int32_t token = h->tokens[at];
  for (int64_t child; (child = 2 * at + 1) < h->count; at = child) {
    if (child + 1 < h->count && is_likelier(h, h->tokens[child + 1], h->tokens[child])) child++;
    if (is_likelier(h, token, h->tokens[child])) break;
    h->tokens[at] = h->tokens[child];
  }
  h->tokens[at] = token;
}

static void heap_fill(struct token_heap *h) {
  for (int64_t v = 0; v < h->count; v++) h->tokens[v] = (int32_t)v;
  for (int64_t at = h->count / 2; at-- > 0;) sink(h, at);
}

/* Returns the most likely token left, and stores it after the heap: popped tokens are in the array
 * in ascending order, the first popped last. */
static int32_t pop(struct token_heap *h) {
  int32_t top = h->tokens[0];
  h->tokens[0] = h->tokens[--h->count];
  h->tokens[h->count] = top;
  if (h->count) sink(h, 0);
  return top;
}

/* weights[v] = e^((x_v - max x) / temperature); returns their sum. */
static double exp_weights(const struct attn_search_config *config, const float *x,
                          int64_t vocab_size, double *weights) {
  double sum = 0;
  float top = x[0];
  for (int64_t v = 1; v < vocab_size; v++)
    if (x[v] > top) top = x[v];
  for (int64_t v = 0; v < vocab_size; v++)
    sum += weights[v] = exp(((double)x[v] - (double)top) / config->temperature);
  return sum;
}

/* Moves the tokens within top_k and top_p to the front of order, most likely first; *total is their
 * weight. */
static int64_t keep_likeliest(const struct attn_search_config *config, struct token_heap *h,
                              const double *weights, double *total) {
  int64_t vocab_size = h->count,
          max = config->top_k && config->top_k < vocab_size ? config->top_k : vocab_size, kept = 0;
  double mass = 0;
  heap_fill(h);
  if (max < vocab_size) {
    *total = 0;
    while (kept < max) *total += weights[pop(h)], kept++;
  }
  double target = config->top_p * *total;
  int64_t popped = kept;
  for (kept = 0; kept < max && (kept == 0 || mass < target); kept++)
    mass += weights[kept < popped ? h->tokens[vocab_size - 1 - kept] : pop(h)];
  for (int64_t n = 0; n < kept && n < vocab_size - 1 - n; n++) {
    int32_t token = h->tokens[n];
    h->tokens[n] = h->tokens[vocab_size - 1 - n], h->tokens[vocab_size - 1 - n] = token;
  }
  *total = mass;
  return kept;
}

int32_t attn_sample_token(const struct attn_search_config *config, const float *logits,
                          int64_t vocab_size, double u, int32_t *order, double *weights) {
  struct token_heap h = {logits, order, vocab_size};
  double total = exp_weights(config, logits, vocab_size, weights), mass = 0;
  int is_truncated = config->top_p < 1 || (config->top_k && config->top_k < vocab_size);
  int64_t kept = is_truncated ? keep_likeliest(config, &h, weights, &total) : vocab_size, n = 0;
  for (; n < kept - 1; n++) { /* the last token is the rest */
    mass += weights[is_truncated ? order[n] : n];
    if (mass > u * total) break;
  }
  return is_truncated ? order[n] : (int32_t)n;
}
