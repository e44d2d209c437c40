/* Sampling: from exactly the tokens that top_k and top_p leave, smaller tokens first among equals;
 * frequencies match probabilities, and samples are independent.
 *
 *     test_sample [SEED] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "beam_state.h"
#include "models.h"

enum { WORDS = 11, FEW = 4, BEGIN = 1 };

static void ties_and_limits_of_a_sample(void **state) {
  (void)state;
  const float equal[] = {1, 1, 1, 1}, odd[] = {-INFINITY, 0, 2, -INFINITY, 2, -INFINITY};
  const double last = 1 - 0x1p-53;
  struct attn_search_config how = {.temperature = 1, .top_p = 1};
  int32_t order[6];
  double weights[6];
  for (int32_t n = 0; n < 4; n++)
    assert_int_equal(attn_sample_token(&how, equal, 4, 0.25 * n, order, weights), n);
  assert_int_equal(attn_sample_token(&how, equal, 4, last, order, weights), 3);
  assert_int_equal(attn_sample_token(&how, odd, 6, 0, order, weights), 1);
  assert_int_equal(attn_sample_token(&how, odd, 6, last, order, weights), 4);
  how.top_p = 0.5; /* two of them have it exactly */
  assert_int_equal(attn_sample_token(&how, equal, 4, last, order, weights), 1);
  how.top_p = 0.500001;
  assert_int_equal(attn_sample_token(&how, equal, 4, last, order, weights), 2);
  how.top_p = 1e-9; /* one is left at least */
  assert_int_equal(attn_sample_token(&how, odd, 6, last, order, weights), 2);
  how.top_p = 1, how.top_k = 2;
  assert_int_equal(attn_sample_token(&how, odd, 6, 0, order, weights), 2);
  assert_int_equal(attn_sample_token(&how, odd, 6, last, order, weights), 4);
  how.top_k = 3; /* e^2 e^2 1: the last has 6 in a hundred */
  assert_int_equal(attn_sample_token(&how, odd, 6, 0.93, order, weights), 4);
  assert_int_equal(attn_sample_token(&how, odd, 6, 0.94, order, weights), 1);
  how.top_p = 0.93; /* of these three: with the others it would be the same, with two 1 */
  assert_int_equal(attn_sample_token(&how, odd, 6, last, order, weights), 4);
  how.top_p = 1, how.top_k = 0, how.temperature = 1e-300;
  assert_int_equal(attn_sample_token(&how, odd, 6, last, order, weights), 4);
}

/* The tokens that may be sampled, by sorting; p becomes their probabilities. */
static int cut_plainly(const struct attn_search_config *how, double *p, int n) {
  double q[WORDS], sum = 0, mass = 0;
  int kept = 0, most = how->top_k ? (int)how->top_k : n;
  memset(q, 0, sizeof q);
  int order[WORDS];
  for (int v = 0; v < n; v++) {
    int at = v;
    for (; at > 0 && p[order[at - 1]] < p[v]; at--) order[at] = order[at - 1];
    order[at] = v;
  }
  for (int k = 0; k < most; k++) sum += p[order[k]];
  for (; kept < most && mass < how->top_p * sum; kept++)
    mass += p[order[kept]], q[order[kept]] = p[order[kept]];
  for (int v = 0; v < n; v++) p[v] = q[v] / mass;
  return kept;
}

/* Chi-square of 20000 samples; values that are exceeded once in 10000, by degrees of freedom. The
 * samples are the same in every run. */
static const double chi_square[] = {0,     15.14, 18.42, 21.11, 23.51, 25.74, 27.86, 29.88,
                                    31.83, 33.72, 35.56, 37.37, 39.13, 40.87, 42.58, 44.26};
enum { DRAWS = 20000 };

static double chi_square_of(const int64_t *seen, const double *p, int cells) {
  double sum = 0;
  for (int n = 0; n < cells; n++) {
    double expected = p[n] * DRAWS;
    if (!(p[n] > 0)) assert_int_equal(seen[n], 0);
    if (!(p[n] > 0)) continue;
    assert_true(expected > 5);
    sum += ((double)seen[n] - expected) * ((double)seen[n] - expected) / expected;
  }
  return sum;
}

/* Every token occurs often. */
static void open_undecided(int64_t vocabulary) {
  open_network("\"kind\": \"decoder\"", vocabulary, 5);
  for (int64_t n = 0; n < network->parameter_count; n++) block[n] *= 0.5f;
}

static void frequencies_match_probabilities(void **state) {
  (void)state;
  static int64_t starts[DRAWS + 1];
  static int32_t tokens[2 * DRAWS];
  const struct attn_token_batch empty = {
      .n = 0, .sequences = DRAWS, .tokens = tokens, .starts = starts};
  struct attn_search_config how[] = {
      {.temperature = 1, .top_p = 1, .seed = 1},
      {.temperature = 0.5, .top_p = 1, .seed = 2},
      {.temperature = 2, .top_p = 1, .top_k = 3, .seed = 3},
      {.temperature = 1, .top_p = 0.7, .seed = 4},
      {.temperature = 1, .top_p = 0.8, .top_k = 5, .seed = 5},
  };
  const int32_t read[] = {BEGIN};
  open_undecided(WORDS);
  const float *logits = whole(read, 1, 0);
  for (int way = 0; way < 5; way++) {
    double p[WORDS], sum = 0;
    int64_t seen[WORDS] = {0};
    for (int v = 0; v < WORDS; v++)
      sum += p[v] = exp(log_probability(logits, v) / how[way].temperature);
    for (int v = 0; v < WORDS; v++) p[v] /= sum;
    int kept = cut_plainly(&how[way], p, WORDS);
    how[way].max_new_tokens = 1, how[way].bos = BEGIN, how[way].eos = -1, how[way].batch_size = 500;
    const struct attn_search_results found = {.tokens = tokens};
    assert_int_equal(attn_search_run(network, &empty, &how[way], &found, NULL), ATTN_OK);
    for (int n = 0; n < DRAWS; n++) seen[tokens[n]]++;
    assert_true(kept > 1 && chi_square_of(seen, p, WORDS) < chi_square[kept - 1]);
  }
  close_network();
}

/* Samples of one sequence are independent: a pair is as frequent as the product of its
 * probabilities. */
static void steps_are_sampled_independently(void **state) {
  (void)state;
  static int64_t starts[DRAWS + 1];
  static int32_t tokens[2 * DRAWS];
  const struct attn_token_batch empty = {
      .n = 0, .sequences = DRAWS, .tokens = tokens, .starts = starts};
  const struct attn_search_config how = {
      .max_new_tokens = 2, .bos = BEGIN, .eos = -1, .temperature = 1, .seed = 6, .batch_size = 500};
  const struct attn_search_results found = {.tokens = tokens};
  double p[FEW * FEW];
  int64_t seen[FEW * FEW] = {0};
  open_undecided(FEW);
  for (int32_t v = 0; v < FEW; v++) {
    const int32_t read[] = {BEGIN, v};
    const float *logits = whole(read, 2, 0);
    for (int32_t w = 0; w < FEW; w++)
      p[v * FEW + w] = exp(log_probability(logits, v) + log_probability(logits + FEW, w));
  }
  assert_int_equal(attn_search_run(network, &empty, &how, &found, NULL), ATTN_OK);
  for (int n = 0; n < DRAWS; n++) seen[tokens[2 * n] * FEW + tokens[2 * n + 1]]++;
  assert_true(chi_square_of(seen, p, FEW * FEW) < chi_square[FEW * FEW - 1]);
  close_network();
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {TEST(ties_and_limits_of_a_sample),
                                     TEST(frequencies_match_probabilities),
                                     TEST(steps_are_sampled_independently)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
