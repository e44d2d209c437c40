/* Labels of an encoder: at each position the most likely token of the whole pass, up to the first
 * end, with its log-probability; never more tokens than positions; other sources and threads change
 * no bit; options of a search are rejected.
 *
 *     test_label [SEED] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "scarce.h"
#include "search_results.h"

static const char *const encoders[] = {
    "\"kind\": \"encoder\"",
    "\"kind\": \"encoder\", \"norm_first\": false, \"positions\": \"learned\"",
    ("\"kind\": \"encoder\", \"norm\": \"rms_norm\", \"bias\": false, \"activation\": \"swiglu\", "
     "\"positions\": \"rotary\", \"num_kv_heads\": 2"),
    "\"kind\": \"encoder\", \"positions\": \"alibi\", \"type_vocab_size\": 2",
    ("\"kind\": \"encoder\", \"normalize_embedding\": true, \"head\": \"transform\", "
     "\"activation\": "
     "\"silu\", \"share_encoder_decoder_embeddings\": true, \"tie_word_embeddings\": true, "
     "\"output_bias\": true"),
    "\"kind\": \"encoder\", \"num_kv_heads\": 1, \"position_mode\": \"concatenate\", "
    "\"position_dim\": 6",
};
enum { ENCODERS = sizeof encoders / sizeof *encoders };

static const struct attn_search_config plain = {.max_new_tokens = MOST, .bos = BEGIN, .eos = END};

/* Some sources end early, others never. */
static void open_encoder(int variant, uint64_t seed) {
  open_network(encoders[variant], WORDS, seed);
  if (!strstr(encoders[variant], "\"bias\": false")) parameter("output.bias")->x[END] += 0.5f;
}

static int64_t places_of(int64_t s) { return source_starts[s + 1] - source_starts[s]; }

/* ---- Tokens ---- */

/* The bound on log-probabilities is derived in test_search.c. */
static const double near_token = 2 * NEAR_LOGIT + 1e-5;

static void hold(const struct attn_search_config *how, const struct search_output *f, int64_t s) {
  int64_t steps = f->token_counts[s] + f->finished[s], at = s * how->max_new_tokens;
  int64_t room = places_of(s) < how->max_new_tokens ? places_of(s) : how->max_new_tokens;
  const float *logits = whole(NULL, 0, s);
  double sum = 0;
  assert_in_range(steps, 1, room);
  assert_true(f->finished[s] || steps == room);
  for (int64_t n = 0; n < steps; n++) {
    int32_t said = n < f->token_counts[s] ? f->tokens[at + n] : END;
    assert_true(n == f->token_counts[s] || said != END);
    for (int v = 0; v < WORDS; v++)
      assert_true((double)(logits[n * WORDS + v] - logits[n * WORDS + said]) < 2 * NEAR_LOGIT);
    double log_p = log_probability(logits + n * WORDS, said);
    assert_true(fabs(log_p - (double)f->log_probs[at + n]) < near_token);
    sum += log_p;
  }
  sum /= pow((5.0 + (double)steps) / 6, how->length_penalty);
  assert_true(fabs(sum - f->scores[s]) < near_token * (double)steps);
}

static void each_position_has_its_most_likely_token(void **state) {
  (void)state;
  static struct search_output f;
  int ends = 0, cuts = 0;
  for (int variant = 0; variant < ENCODERS; variant++)
    for (uint64_t seed = 0; seed < 8; seed++) {
      struct attn_search_config how = plain;
      open_encoder(variant, seed);
      how.max_new_tokens = 1 + below(MOST), how.batch_size = 1 + below(SOURCES);
      how.length_penalty = seed % 2 ? 1.5 : 0;
      search(&source, &how, &f);
      for (int64_t s = 0; s < SOURCES; s++) {
        hold(&how, &f, s);
        ends += f.finished[s], cuts += !f.finished[s];
      }
      close_network();
    }
  assert_true(ends > 10 && cuts > 10);
}

/* Without scores logits are compared, else log-probabilities. */
static void outputs_are_optional(void **state) {
  (void)state;
  static struct search_output f, g;
  open_encoder(0, 5);
  search(&source, &plain, &f);
  const struct attn_search_results some = {.tokens = (all_of(&g), g.tokens),
                                           .token_counts = g.token_counts};
  assert_int_equal(attn_search_run(network, &source, &plain, &some, NULL), ATTN_OK);
  assert_memory_equal(f.tokens, g.tokens, sizeof f.tokens);
  assert_memory_equal(f.token_counts, g.token_counts, sizeof f.token_counts);
  const struct attn_token_batch none = {.starts = source_starts};
  search(&none, &plain, &g), all_of(&f);
  assert_memory_equal(&f, &g, sizeof f);
  close_network();
}

/* Only the end is likely, or everything except the end. */
static void at_most_one_token_per_position(void **state) {
  (void)state;
  static struct search_output f;
  open_network(encoders[0], WORDS, 5);
  parameter("output.bias")->x[END] = -INFINITY;
  search(&source, &plain, &f);
  for (int64_t s = 0; s < SOURCES; s++)
    assert_true(!f.finished[s] && f.token_counts[s] == places_of(s)); /* all are below MOST */
  parameter("output.bias")->x[END] = 1000;
  search(&source, &plain, &f);
  for (int64_t s = 0; s < SOURCES; s++)
    assert_true(f.finished[s] && f.token_counts[s] == 0 && fabs(f.scores[s]) < 1e-6);
  close_network();
}

/* ---- Other sources, threads ---- */

static void threads_and_batch_change_no_bit(void **state) {
  (void)state;
  static struct search_output all, again, one;
  setenv("ATTN_THREADS", "4", 1);
  for (int variant = 0; variant < ENCODERS; variant++) {
    struct attn_search_config how = plain;
    open_encoder(variant, 5);
    how.threads = 1, search(&source, &how, &all);
    how.threads = 1 + (int32_t)below(4), search(&source, &how, &again);
    assert_memory_equal(&all, &again, sizeof all);
    for (int64_t s = 0; s < SOURCES; s++) {
      const int64_t starts[] = {0, places_of(s)};
      const struct attn_token_batch alone = {.n = places_of(s),
                                             .sequences = 1,
                                             .tokens = source_tokens + source_starts[s],
                                             .starts = starts};
      how.threads = 0, search(&alone, &how, &one);
      assert_true(one.token_counts[0] == all.token_counts[s] && one.finished[0] == all.finished[s]);
      assert_memory_equal(&one.scores[0], &all.scores[s], sizeof(double));
      assert_memory_equal(one.tokens, all.tokens + s * MOST, MOST * sizeof(int32_t));
      assert_memory_equal(one.log_probs, all.log_probs + s * MOST, MOST * sizeof(float));
    }
    close_network();
  }
  unsetenv("ATTN_THREADS");
}

/* ---- Errors ---- */

static void rejects_options_of_a_search(void **state) {
  (void)state;
#define REFUSED(name, ...)                                  \
  do {                                                      \
    struct attn_search_config bad = plain;                  \
    bad.__VA_ARGS__;                                        \
    expect_refused(&source, &bad, ATTN_ERR_ARGUMENT, name); \
  } while (0)
  open_network(encoders[0], WORDS, 5);
  REFUSED("num_beams", num_beams = 2);
  REFUSED("num_beams", num_beams = 3, bad.num_return_sequences = 3);
  REFUSED("num_return_sequences", num_return_sequences = 2);
  REFUSED("temperature", temperature = 0.5);
  REFUSED("temperature", temperature = (double)NAN);
  REFUSED("length_penalty", length_penalty = -1);
  REFUSED("max_new_tokens", max_new_tokens = 0);
  REFUSED("max_new_tokens", max_new_tokens = LENGTH + 1);
  REFUSED("eos", eos = WORDS);
  REFUSED("threads", threads = -1);
  int32_t kept = source_tokens[7];
  source_tokens[7] = WORDS, expect_refused(&source, &plain, ATTN_ERR_ARGUMENT, "source");
  source_tokens[7] = -1, expect_refused(&source, &plain, ATTN_ERR_ARGUMENT, "source");
  source_tokens[7] = kept;
  struct attn_token_batch gap = source;
  gap.starts = (const int64_t[]){0, 4, 4, 14};
  expect_refused(&gap, &plain, ATTN_ERR_ARGUMENT, "source");
  parameter("output.bias")->x[4] = (float)NAN;
  expect_refused(&source, &plain, ATTN_ERR_ARGUMENT, "network");
  close_network();
  open_network("\"kind\": \"encoder\", \"head\": \"none\"", WORDS, 5);
  expect_refused(&source, &plain, ATTN_ERR_ARGUMENT, "network");
  close_network();
}

static void reports_progress_and_stops(void **state) {
  (void)state;
  static struct search_output f;
  struct progress w = {0};
  struct attn_search_config how = plain;
  how.progress = report, how.context = &w, how.threads = 1;
  open_network(encoders[0], WORDS, 5);
  search(&source, &how, &f);
  assert_true(w.calls == SOURCES && w.done == SOURCES && w.of == SOURCES);
  for (int64_t at = 1; at <= SOURCES; at++) {
    w = (struct progress){.stop_at = at};
    expect_refused(&source, &how, ATTN_ERR_INTERRUPTED, "progress");
    assert_int_equal(w.calls, at);
  }
  close_network();
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  static struct search_output expected, f;
  struct attn_search_config how = plain;
  how.threads = 1, how.batch_size = 2;
  open_network(encoders[0], WORDS, 5);
  search(&source, &how, &expected);
  struct search_call call = {&how, &f};
  assert_true(scarce_fail_each(run_search, &call) >= 20);
  assert_memory_equal(&f, &expected, sizeof f);
  close_network();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {TEST(each_position_has_its_most_likely_token),
                                     TEST(outputs_are_optional),
                                     TEST(at_most_one_token_per_position),
                                     TEST(threads_and_batch_change_no_bit),
                                     TEST(rejects_options_of_a_search),
                                     TEST(reports_progress_and_stops),
                                     TEST(survives_every_failing_allocation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
