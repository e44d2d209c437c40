/* Search: greedy takes the most likely token of the whole pass; a beam that is wide enough finds
 * exactly the best of all sequences, a narrow one what its definition gives; a score is that of the
 * whole pass; other sources and threads change no bit.
 *
 *     test_search [SEED] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "decoder.h"
#include "scarce.h"
#include "select.h"
#include "search_results.h"

enum { BEST = 3 };

/* ---- Results and their scores ---- */

/* The log-probability of a token is off by its logit's error and a mean of the others', within
 * twice that; expf's error and the rounding to float32 are below 1e-5 of a log-probability above
 * -40. */
static const double near_token = 2 * NEAR_LOGIT + 1e-5;

static enum attn_beam_rule rule; /* of the expected scores */

static double penalty(double alpha, int64_t steps) {
  return pow(rule ? (double)steps : (5.0 + (double)steps) / 6, alpha);
}

static const struct attn_token_batch *prefixes; /* of targets; NULL: none */

/* BEGIN, the source if there is no encoder or else the prefix, then the tokens. Returns how many
 * precede them. */
static int64_t put_before(int32_t *read, int64_t of) {
  int64_t n = 1;
  read[0] = BEGIN;
  for (int64_t t = prefixes ? prefixes->starts[of] : 0; prefixes && t < prefixes->starts[of + 1];
       t++)
    read[n++] = prefixes->tokens[t];
  for (int64_t t = source_starts[of];
       network->config.kind == ATTN_DECODER && t < source_starts[of + 1]; t++)
    read[n++] = source_tokens[t];
  return n;
}

/* Compares result n of source `of` with the whole pass over its tokens. */
static void hold(const struct attn_search_config *how, const struct search_output *f, int64_t of,
                 int64_t n) {
  int64_t best = how->num_return_sequences ? how->num_return_sequences : 1, at = of * best + n,
          steps;
  int32_t read[LENGTH + 1];
  int64_t before = put_before(read, of);
  double sum = 0;
  if (f->token_counts[at] < 0) return;
  memcpy(read + before, f->tokens + at * how->max_new_tokens,
         (size_t)f->token_counts[at] * sizeof *read);
  steps = f->token_counts[at] + f->finished[at];
  if (f->finished[at]) read[before + f->token_counts[at]] = how->eos;
  assert_in_range(steps, 1, how->max_new_tokens);
  assert_true(f->finished[at] || steps == how->max_new_tokens);
  const float *logits = whole(read, before + steps - 1, of);
  for (int64_t s = 0; s < steps; s++) {
    double log_p = log_probability(logits + (before + s - 1) * words, read[before + s]);
    assert_true(fabs(log_p - (double)f->log_probs[at * how->max_new_tokens + s]) < near_token);
    sum += log_p;
  }
  sum /= penalty(how->length_penalty, steps);
  assert_true(fabs(sum - f->scores[at]) < near_token * (double)steps);
}

/* ---- Greedy ---- */

static void greedy_takes_the_most_likely_token(void **state) {
  (void)state;
  static struct search_output f;
  const struct attn_search_config how = {.max_new_tokens = MOST, .bos = BEGIN, .eos = END};
  for (int variant = 0; variant < VARIANTS; variant++) {
    open_network(variants[variant], WORDS, 5);
    search(&source, &how, &f);
    for (int s = 0; s < SOURCES; s++) {
      int32_t read[LENGTH + 1];
      int64_t before = put_before(read, s);
      memcpy(read + before, f.tokens + s * MOST, (size_t)f.token_counts[s] * sizeof *read);
      const float *logits = whole(read, before + f.token_counts[s], s) + (before - 1) * WORDS;
      for (int64_t n = 0; n < f.token_counts[s] + f.finished[s]; n++) {
        int32_t chosen = n < f.token_counts[s] ? read[before + n] : END;
        for (int v = 0; v < WORDS; v++)
          assert_true((double)(logits[n * WORDS + v] - logits[n * WORDS + chosen]) <
                      2 * NEAR_LOGIT);
      }
      hold(&how, &f, s, 0);
    }
    close_network();
  }
}

/* With scores log-probabilities are compared, else logits. Temperature 0 and one beam are greedy.
 */
static void greedy_is_one_beam_without_temperature(void **state) {
  (void)state;
  static struct search_output f, g;
  struct attn_search_config how = {.max_new_tokens = MOST, .bos = BEGIN, .eos = END};
  for (int variant = 0; variant < VARIANTS; variant++) {
    open_network(variants[variant], WORDS, 5);
    search(&source, &how, &f);
    struct attn_search_config beam = how;
    beam.num_beams = 1, beam.length_penalty = 2, beam.top_k = 3, beam.top_p = 0.5;
    search(&source, &beam, &g);
    assert_memory_equal(f.tokens, g.tokens, sizeof f.tokens);
    const struct attn_search_results some = {.tokens = (all_of(&g), g.tokens),
                                             .token_counts = g.token_counts};
    assert_int_equal(attn_search_run(network, &source, &how, &some, NULL), ATTN_OK);
    assert_memory_equal(f.tokens, g.tokens, sizeof f.tokens);
    assert_memory_equal(f.token_counts, g.token_counts, sizeof f.token_counts);
    close_network();
  }
}

/* Whatever token is eos, a sequence is the same up to it. */
static void greedy_ends_at_eos(void **state) {
  (void)state;
  static struct search_output endless, f;
  struct attn_search_config how = {.max_new_tokens = MOST, .bos = BEGIN, .eos = -1};
  open_network("", WORDS, 5);
  search(&source, &how, &endless);
  for (how.eos = 0; how.eos < WORDS; how.eos++) {
    search(&source, &how, &f);
    for (int s = 0; s < SOURCES; s++) {
      int64_t n = 0;
      while (n < MOST && endless.tokens[s * MOST + n] != how.eos) n++;
      assert_int_equal(f.token_counts[s], n);
      assert_int_equal(f.finished[s], n < MOST);
      assert_memory_equal(f.tokens + s * MOST, endless.tokens + s * MOST,
                          (size_t)n * sizeof *f.tokens);
    }
  }
  close_network();
}

/* ---- Wide beams, against all sequences ---- */

enum { FEW = 4, SHORT = 4, FEW_END = 3, STRINGS = 121, NARROW_BEST = 10 };

/* All of at most SHORT tokens, eos included: 1 + 3 + 9 + 27 that end, 81 that are cut. */
struct string {
  int32_t tokens[SHORT];
  int64_t count;
  int finished;
  double sum, score;
};

static void score(struct string *s, int64_t of, double alpha) {
  int32_t read[LENGTH + 1];
  int64_t before = put_before(read, of), steps = s->count + s->finished;
  memcpy(read + before, s->tokens, sizeof s->tokens);
  if (s->finished) read[before + s->count] = FEW_END;
  const float *logits = whole(read, before + steps - 1, of);
  s->sum = 0;
  for (int64_t n = 0; n < steps; n++)
    s->sum += log_probability(logits + (before + n - 1) * words, read[before + n]);
  s->score = s->sum / penalty(alpha, steps);
}

static int by_score(const void *a, const void *b) {
  double x = ((const struct string *)a)->score, y = ((const struct string *)b)->score;
  return (x < y) - (x > y);
}

static int64_t all_strings(struct string *all, int64_t of, double alpha) {
  int64_t count = 0;
  for (int64_t length = 0; length <= SHORT; length++)
    for (int64_t number = 0, many = (int64_t)pow(3, (double)length); number < many; number++) {
      struct string s = {.count = length, .finished = length < SHORT};
      for (int64_t n = 0, rest = number; n < length; n++, rest /= 3)
        s.tokens[n] = (int32_t)(rest % 3);
      score(&s, of, alpha), all[count++] = s;
    }
  qsort(all, (size_t)count, sizeof *all, by_score);
  return count;
}

/* Result n has the n-th score, and is the n-th unless another score is as near. */
static void expect_nth(const struct string *all, int64_t count, const struct search_output *f,
                       int64_t of, int64_t n, int64_t best) {
  const double near = near_token * SHORT;
  int64_t at = of * best + n;
  assert_true(fabs(f->scores[at] - all[n].score) < near);
  if ((n > 0 && all[n - 1].score - all[n].score < 2 * near) ||
      (n + 1 < count && all[n].score - all[n + 1].score < 2 * near))
    return;
  assert_int_equal(f->token_counts[at], all[n].count);
  assert_int_equal(f->finished[at], all[n].finished);
  assert_memory_equal(f->tokens + at * SHORT, all[n].tokens, (size_t)all[n].count * 4);
}

static void a_wide_beam_finds_the_best_sequences(void **state) {
  (void)state;
  static struct search_output f;
  static struct string all[STRINGS];
  const double alphas[] = {0, 0.6, 1, 3};
  struct attn_search_config how = {
      .max_new_tokens = SHORT, .bos = BEGIN, .eos = FEW_END, .num_beams = 128};
  for (int round = 0; round < ROUNDS(24); round++) {
    how.rule = rule = round % 2 ? ATTN_BEAM_RULE_HUGGING_FACE : ATTN_BEAM_RULE_WU;
    open_network(variants[round % VARIANTS], FEW, 20 + (uint64_t)round);
    how.length_penalty = alphas[round % 4], how.num_return_sequences = 1 + below(NARROW_BEST);
    if (round == 3) how.num_return_sequences = 128;
    search(&source, &how, &f);
    for (int64_t s = 0; s < SOURCES; s++) {
      int64_t count = all_strings(all, s, how.length_penalty);
      assert_int_equal(count, STRINGS);
      for (int64_t n = 0; n < how.num_return_sequences && n < count; n++) {
        expect_nth(all, count, &f, s, n, how.num_return_sequences);
        hold(&how, &f, s, n);
      }
      for (int64_t n = count; n < how.num_return_sequences; n++)
        assert_int_equal(f.token_counts[s * how.num_return_sequences + n], -1);
    }
    close_network();
  }
  rule = ATTN_BEAM_RULE_WU;
}

/* Suppressed tokens, a forced eos, and a maximum length that includes the prompt. */
static void results_respect_their_limits(void **state) {
  (void)state;
  static struct search_output f, g;
  const int32_t never[] = {3, 4, 5, 6};
  struct attn_search_config how = {
      .bos = BEGIN, .eos = END, .num_beams = 4, .suppressed = never, .num_suppressed = 4};
  for (int variant = 0; variant < VARIANTS; variant++) {
    open_network(variants[variant], WORDS, 5);
    how.max_new_tokens = 7, how.max_length = 0, how.force_eos = 1,
    how.rule = ATTN_BEAM_RULE_HUGGING_FACE;
    for (how.num_beams = 1; how.num_beams <= 4; how.num_beams += 3) {
      search(&source, &how, &f);
      for (int s = 0; s < SOURCES; s++) {
        assert_true(f.finished[s] && f.token_counts[s] < how.max_new_tokens);
        for (int64_t n = 0; n < f.token_counts[s]; n++)
          assert_true(f.tokens[s * how.max_new_tokens + n] < 3 ||
                      f.tokens[s * how.max_new_tokens + n] > 6);
      }
    }
    how.num_beams = 4, how.max_new_tokens = 12, how.max_length = 7 + 1;
    if (network->config.kind == ATTN_ENCODER_DECODER) {
      search(&source, &how, &g);
      assert_int_equal(f.token_counts[0], g.token_counts[0]);
      assert_memory_equal(f.tokens, g.tokens, (size_t)f.token_counts[0] * sizeof *f.tokens);
    }
    close_network();
  }
}

/* ---- Narrow beams, against their definition ---- */

static int by_sum(const void *a, const void *b) {
  double x = ((const struct string *)a)->sum, y = ((const struct string *)b)->sum;
  return (x < y) - (x > y);
}

/* The definition, with whole passes and without an early stop: all finished hypotheses, by score.
 * Returns 0 if a choice was too close. */
static int64_t search_plainly(struct string *found, int64_t of, double alpha, int64_t beams) {
  struct string open[STRINGS], next[STRINGS * FEW];
  int64_t opened = 1, count = 0;
  open[0] = (struct string){.count = 0};
  for (int64_t step = 1; step <= SHORT; step++) {
    int64_t candidates = 0, left = 0;
    for (int64_t n = 0; n < opened; n++)
      for (int32_t v = 0; v < FEW; v++) {
        struct string s = open[n];
        if (v == FEW_END)
          s.finished = 1;
        else
          s.tokens[s.count++] = v;
        score(&s, of, alpha), next[candidates++] = s;
      }
    qsort(next, (size_t)candidates, sizeof *next, by_sum);
    if (candidates > beams && next[beams - 1].sum - next[beams].sum < 2 * near_token * SHORT)
      return 0;
    for (int64_t n = 0; n < candidates && n < beams; n++)
      if (next[n].finished || step == SHORT)
        found[count++] = next[n];
      else
        open[left++] = next[n];
    opened = left;
  }
  qsort(found, (size_t)count, sizeof *found, by_score);
  return count;
}

static void a_narrow_beam_matches_its_definition(void **state) {
  (void)state;
  static struct search_output f;
  static struct string all[STRINGS * FEW];
  int checked = 0;
  struct attn_search_config how = {.max_new_tokens = SHORT, .bos = BEGIN, .eos = FEW_END};
  for (int round = 0; round < ROUNDS(72); round++) {
    open_network(variants[round % VARIANTS], FEW, 50 + (uint64_t)round);
    how.num_beams = 1 + below(6), how.num_return_sequences = 1 + below(how.num_beams);
    how.length_penalty = (double)below(4);
    search(&source, &how, &f);
    for (int64_t s = 0; s < SOURCES; s++) {
      int64_t count = search_plainly(all, s, how.length_penalty, how.num_beams);
      checked += count > 0;
      for (int64_t n = 0; n < how.num_return_sequences && count; n++)
        if (n < count)
          expect_nth(all, count, &f, s, n, how.num_return_sequences);
        else
          assert_int_equal(f.token_counts[s * how.num_return_sequences + n], -1);
    }
    close_network();
  }
  assert_true(checked > ROUNDS(72)); /* of three times as many */
}

/* ---- Bits ---- */

static const struct attn_search_config ways[] = {
    {.max_new_tokens = MOST, .bos = BEGIN, .eos = END},
    {.max_new_tokens = MOST,
     .bos = BEGIN,
     .eos = END,
     .num_beams = 5,
     .num_return_sequences = BEST,
     .length_penalty = 0.6},
    {.max_new_tokens = MOST, .bos = BEGIN, .eos = END, .temperature = 1.2, .seed = 3},
    {.max_new_tokens = MOST, .bos = BEGIN, .eos = END, .temperature = 1, .top_k = 6, .top_p = 0.9},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void other_sources_change_no_bit(void **state) {
  (void)state;
  static struct search_output together, alone;
  for (int variant = 0; variant < VARIANTS; variant++)
    for (int way = 0; way < WAYS; way++) {
      struct attn_search_config how = ways[way];
      int64_t best = how.num_return_sequences ? how.num_return_sequences : 1;
      open_network(variants[variant], WORDS, 5);
      search(&source, &how, &together);
      for (int64_t s = 0; s < SOURCES; s++) {
        int64_t starts[2] = {0, source_starts[s + 1] - source_starts[s]};
        const struct attn_token_batch one = {.n = starts[1],
                                             .sequences = 1,
                                             .tokens = source_tokens + source_starts[s],
                                             .starts = starts};
        how.first_sequence = s;
        search(&one, &how, &alone);
        assert_memory_equal(alone.token_counts, together.token_counts + s * best, (size_t)best * 8);
        assert_memory_equal(alone.scores, together.scores + s * best, (size_t)best * 8);
        assert_memory_equal(alone.tokens, together.tokens + s * best * MOST,
                            (size_t)(best * MOST) * 4);
        assert_memory_equal(alone.log_probs, together.log_probs + s * best * MOST,
                            (size_t)(best * MOST) * 4);
      }
      close_network();
    }
}

/* The logits after all tokens, read one by one. */
static const float *logits_after(struct attn_decoder *d, int64_t slot, const int32_t *tokens,
                                 int64_t count) {
  const float *logits = NULL;
  for (int64_t n = 0; n < count; n++)
    assert_int_equal(attn_decoder_step(d, 1, &slot, tokens + n, &logits, NULL), ATTN_OK);
  return logits;
}

/* Prompts longer than a pass, and together: the log-probability of the next token is that after
 * token by token, and other prompts change no bit. */
static void long_prompts_are_read_in_passes(void **state) {
  (void)state;
  enum { PROMPTS = 4, TOKENS = 446 };
  static const int64_t starts[PROMPTS + 1] = {0, 300, 301, 401, TOKENS};
  static struct search_output together, alone;
  static int32_t tokens[TOKENS];
  struct attn_search_config how = {
      .max_new_tokens = 1, .bos = -1, .eos = -1, .batch_size = PROMPTS};
  struct attn_decoder *d;
  open_network("\"kind\": \"decoder\", \"max_positions\": 400", WORDS, 5);
  for (int n = 0; n < TOKENS; n++) tokens[n] = (int32_t)below(WORDS);
  const struct attn_token_batch all = {
      .n = TOKENS, .sequences = PROMPTS, .tokens = tokens, .starts = starts};
  search(&all, &how, &together);
  assert_int_equal(attn_decoder_new(network, NULL, NULL, NULL, PROMPTS, 400, 1, 1, &d, NULL), 0);
  for (int64_t s = 0; s < PROMPTS; s++) {
    const int64_t count = starts[s + 1] - starts[s], both[] = {0, count};
    const struct attn_token_batch one = {
        .n = count, .sequences = 1, .tokens = tokens + starts[s], .starts = both};
    search(&one, &how, &alone);
    assert_int_equal(alone.tokens[0], together.tokens[s]);
    assert_memory_equal(alone.log_probs, together.log_probs + s, sizeof(float));
    const float *logits = logits_after(d, s, tokens + starts[s], count);
    assert_true(fabs(together.log_probs[s] - log_probability(logits, together.tokens[s])) <
                NEAR_LOGIT);
  }
  attn_decoder_free(d);
  close_network();
}

/* ---- Target prefixes ---- */

enum { PREFIX_TOKENS = 12 };
static int32_t prefix_tokens[PREFIX_TOKENS], prefixes_with_begin[PREFIX_TOKENS + SOURCES];
static const int64_t prefix_starts[SOURCES + 1] = {0, 5, 5, 12},
                                             starts_with_begin[SOURCES + 1] = {0, 6, 7, 15};
static const struct attn_token_batch without_begin = {.n = PREFIX_TOKENS,
                                                      .sequences = SOURCES,
                                                      .tokens = prefix_tokens,
                                                      .starts = prefix_starts},
                                     with_begin = {.n = PREFIX_TOKENS + SOURCES,
                                                   .sequences = SOURCES,
                                                   .tokens = prefixes_with_begin,
                                                   .starts = starts_with_begin};

static void draw_prefixes(void) {
  for (int s = 0, n = 0; s < SOURCES; s++) {
    prefixes_with_begin[n++] = BEGIN;
    for (int64_t t = prefix_starts[s]; t < prefix_starts[s + 1]; t++)
      prefixes_with_begin[n++] = prefix_tokens[t] = (int32_t)below(WORDS);
  }
}

/* A prefix is read and not generated: results continue it, with the scores of the whole pass. An
 * empty one changes no bit. The begin token may be a part of it. */
static void results_continue_their_prefixes(void **state) {
  (void)state;
  static struct search_output f, g;
  for (int variant = 0; variant < VARIANTS; variant++) {
    open_network(variants[variant], WORDS, 5);
    draw_prefixes();
    for (int way = 0; way < WAYS && network->config.kind == ATTN_ENCODER_DECODER; way++) {
      struct attn_search_config how = ways[way];
      int64_t best = how.num_return_sequences ? how.num_return_sequences : 1;
      how.batch_size = 1 + below(SOURCES);
      how.prefixes = prefixes = &without_begin, search(&source, &how, &f);
      for (int64_t n = 0; n < SOURCES * best; n++) hold(&how, &f, n / best, n % best);
      how.bos = -1, how.prefixes = &with_begin, search(&source, &how, &g);
      assert_memory_equal(&f, &g, sizeof f);
      how.bos = BEGIN, how.batch_size = 1, how.prefixes = &without_begin;
      search(&source, &how, &f);
      how.prefixes = prefixes = NULL, search(&source, &how, &g);
      assert_memory_equal(f.tokens + best * MOST, g.tokens + best * MOST,
                          (size_t)(best * MOST) * 4);
      assert_memory_equal(f.scores + best, g.scores + best, (size_t)best * 8);
    }
    close_network();
  }
}

/* max_length counts bos and the prefix. */
static void prefixes_count_towards_max_length(void **state) {
  (void)state;
  static struct search_output f;
  struct attn_search_config how = {
      .max_new_tokens = MOST, .bos = BEGIN, .eos = -1, .max_length = 9, .prefixes = &without_begin};
  open_network("", WORDS, 5);
  draw_prefixes();
  search(&source, &how, &f);
  for (int s = 0; s < SOURCES; s++)
    assert_int_equal(f.token_counts[s], 9 - 1 - (prefix_starts[s + 1] - prefix_starts[s]));
  close_network();
}

static void invalid_prefixes_are_refused(void **state) {
  (void)state;
  static const int64_t too_long[SOURCES + 1] = {0, LENGTH, LENGTH, LENGTH};
  static int32_t many[LENGTH];
  struct attn_search_config how = ways[0];
  struct attn_token_batch given = without_begin;
  open_network("", WORDS, 5);
  draw_prefixes();
  how.prefixes = &given, given.sequences = 2, given.n = 5;
  expect_refused(&source, &how, ATTN_ERR_ARGUMENT, "target_prefixes");
  given = (struct attn_token_batch){
      .n = LENGTH, .sequences = SOURCES, .tokens = many, .starts = too_long};
  expect_refused(&source, &how, ATTN_ERR_ARGUMENT, "target_prefixes");
  given = without_begin, how.max_length = 8; /* source 2 has 7 tokens, with bos 8: none is left */
  expect_refused(&source, &how, ATTN_ERR_ARGUMENT, "target_prefixes");
  given.starts = too_long, how.max_length = 0; /* they end after the last token */
  expect_refused(&source, &how, ATTN_ERR_ARGUMENT, "target_prefixes");
  given = without_begin, prefix_tokens[3] = WORDS;
  expect_refused(&source, &how, ATTN_ERR_ARGUMENT, "target_prefixes");
  prefix_tokens[3] = 0, how.bos = -1; /* source 1 has an empty one */
  expect_refused(&source, &how, ATTN_ERR_ARGUMENT, "target_prefixes");
  close_network();
  open_network("\"kind\": \"decoder\"", WORDS, 5);
  how.bos = BEGIN, expect_refused(&source, &how, ATTN_ERR_ARGUMENT, "target_prefixes");
  close_network();
}

static void threads_change_no_bit(void **state) {
  (void)state;
  static struct search_output one, many;
  setenv("ATTN_THREADS", "4", 1);
  for (int variant = 0; variant < VARIANTS; variant++)
    for (int way = 0; way < WAYS; way++) {
      struct attn_search_config how = ways[way];
      open_network(variants[variant], WORDS, 5);
      how.threads = 1, search(&source, &how, &one);
      how.threads = 1 + (int32_t)below(4), search(&source, &how, &many);
      assert_memory_equal(&one, &many, sizeof one);
      how.threads = 0, search(&source, &how, &many);
      assert_memory_equal(&one, &many, sizeof one);
      close_network();
    }
  unsetenv("ATTN_THREADS");
}

/* Sources of one decoder with different numbers of tokens, beams and ends. */
static void batched_results_have_their_scores(void **state) {
  (void)state;
  static struct search_output f;
  for (int variant = 0; variant < VARIANTS; variant++)
    for (int way = 0; way < WAYS; way++) {
      struct attn_search_config how = ways[way];
      how.batch_size = 2 + way % 2;
      open_network(variants[variant], WORDS, 5);
      search(&source, &how, &f);
      for (int64_t s = 0; s < SOURCES; s++)
        for (int64_t n = 0; n < (how.num_return_sequences ? how.num_return_sequences : 1); n++)
          hold(&how, &f, s, n);
      close_network();
    }
}

/* ---- Ties ---- */

static void ties_keep_the_first(void **state) {
  (void)state;
  static struct search_output f;
  struct attn_search_config how = {
      .max_new_tokens = 3, .bos = BEGIN, .eos = FEW_END, .num_beams = 4, .num_return_sequences = 4};
  open_network("", FEW, 1);
  memset(block, 0,
         (size_t)network->parameter_count * sizeof *block); /* all tokens are equally likely */
  search(&source, &how, &f);
  /* Kept: 0 1 2 END, then 00 01 02 0END, then 000 001 002 00END. */
  const int64_t counts[] = {0, 1, 3, 3};
  const int32_t tokens[] = {0, 0, 0, 0, 0, 0, 0, 0, 1};
  assert_memory_equal(f.token_counts, counts, sizeof counts);
  assert_int_equal(f.tokens[3], tokens[0]);
  assert_memory_equal(f.tokens + 6, tokens + 3, 6 * sizeof *tokens);
  for (int n = 0; n < 4; n++) assert_true(fabs(f.scores[n] + log(4) * (n < 2 ? n + 1 : 3)) < 1e-6);
  how.length_penalty = 10; /* longer is better: open hypotheses continue after END was found */
  search(&source, &how, &f);
  const int64_t longest[] = {3, 3, 3, 2};
  assert_memory_equal(f.token_counts, longest, sizeof longest);
  close_network();
}

/* Each source generates up to the model's positions, whatever the other sources are: the last token
 * needs none. A source that fills all positions is rejected. */
static void each_source_has_its_own_limit(void **state) {
  (void)state;
  static struct search_output all, one;
  static int32_t long_tokens[LENGTH + 1], long_places[LENGTH + 1];
  open_network("\"kind\": \"decoder\"", WORDS, 5);
  for (int begin = -1; begin <= BEGIN; begin += BEGIN + 1) {
    struct attn_search_config how = {
        .max_new_tokens = LENGTH, .bos = begin, .eos = -1, .batch_size = SOURCES};
    search(&source, &how, &all);
    for (int s = 0; s < SOURCES; s++) {
      const int64_t count = source_starts[s + 1] - source_starts[s], starts[] = {0, count};
      const struct attn_token_batch text = {.n = count,
                                            .sequences = 1,
                                            .tokens = source_tokens + source_starts[s],
                                            .position_ids = source_places,
                                            .starts = starts};
      search(&text, &how, &one);
      assert_int_equal(one.token_counts[0], LENGTH - count - (begin >= 0) + 1);
      assert_int_equal(all.token_counts[s], one.token_counts[0]);
      assert_memory_equal(all.tokens + s * LENGTH, one.tokens,
                          (size_t)one.token_counts[0] * sizeof *one.tokens);
    }
    for (int64_t count = LENGTH - (begin >= 0); count <= LENGTH + (begin < 0); count++) {
      const int64_t starts[] = {0, count};
      const struct attn_token_batch text = {.n = count,
                                            .sequences = 1,
                                            .tokens = long_tokens,
                                            .position_ids = long_places,
                                            .starts = starts};
      const struct attn_search_results found = all_of(&one);
      int fits = count == LENGTH - (begin >= 0);
      assert_int_equal(attn_search_run(network, &text, &how, &found, NULL),
                       fits ? ATTN_OK : ATTN_ERR_ARGUMENT);
      if (fits) assert_int_equal(one.token_counts[0], 1);
    }
  }
  close_network();
}

/* ---- Errors ---- */

static void rejects_invalid_options(void **state) {
  (void)state;
  const struct attn_search_config good = {.max_new_tokens = MOST, .bos = BEGIN, .eos = END};
#define REFUSED(name, ...)                                  \
  do {                                                      \
    struct attn_search_config bad = good;                   \
    bad.__VA_ARGS__;                                        \
    expect_refused(&source, &bad, ATTN_ERR_ARGUMENT, name); \
  } while (0)
  open_network("", WORDS, 5);
  REFUSED("max_new_tokens", max_new_tokens = 0);
  REFUSED("max_new_tokens", max_new_tokens = LENGTH + 1);
  REFUSED("bos", bos = -2);
  REFUSED("bos", bos = -1);
  REFUSED("bos", bos = WORDS);
  REFUSED("eos", eos = WORDS);
  REFUSED("eos", eos = -2);
  REFUSED("num_beams", num_beams = -1);
  REFUSED("num_beams", num_beams = ATTN_NUM_BEAMS_MAX + 1);
  REFUSED("num_return_sequences", num_return_sequences = 2);
  REFUSED("num_return_sequences", num_return_sequences = -1);
  REFUSED("length_penalty", length_penalty = -0.1);
  REFUSED("length_penalty", length_penalty = (double)NAN);
  REFUSED("temperature", temperature = (double)INFINITY);
  REFUSED("temperature", temperature = -1);
  REFUSED("num_beams", temperature = 1, bad.num_beams = 2);
  REFUSED("top_p", top_p = 1.01);
  REFUSED("top_p", top_p = -0.01);
  REFUSED("top_k", top_k = -1);
  REFUSED("batch_size", batch_size = -1);
  REFUSED("threads", threads = -1);
  int32_t kept = source_tokens[7];
  source_tokens[7] = WORDS, expect_refused(&source, &good, ATTN_ERR_ARGUMENT, "source");
  source_tokens[7] = -1, expect_refused(&source, &good, ATTN_ERR_ARGUMENT, "source");
  source_tokens[7] = kept;
  const int64_t gap[] = {0, 4, 4, 14}, back[] = {0, 11, 4, 14}, late[] = {1, 4, 11, 14};
  const int64_t *const wrong[] = {gap, back, late};
  for (int n = 0; n < 3; n++) {
    struct attn_token_batch text = source;
    text.starts = wrong[n];
    expect_refused(&text, &good, ATTN_ERR_ARGUMENT, "source");
  }
  close_network();
  open_network("\"kind\": \"decoder\", \"decoder_layers\": 0", WORDS, 5);
  REFUSED("network", max_new_tokens = MOST);
  close_network();
}

static void rejects_logits_that_are_not_finite(void **state) {
  (void)state;
  const float wrong[] = {NAN, INFINITY};
  for (int way = 0; way < WAYS; way++)
    for (int n = 0; n < 2; n++) {
      open_network("", WORDS, 5);
      parameter("output.bias")->x[4] = wrong[n];
      expect_refused(&source, &ways[way], ATTN_ERR_ARGUMENT, "network");
      for (int v = 0; v < WORDS; v++) parameter("output.bias")->x[v] = -INFINITY;
      expect_refused(&source, &ways[way], ATTN_ERR_ARGUMENT, "network");
      close_network();
    }
}

/* A token of probability 0 is never generated, even if fewer results remain than requested. */
static void impossible_tokens_are_never_generated(void **state) {
  (void)state;
  static struct search_output f;
  for (int way = 0; way < WAYS; way++) {
    open_network("", WORDS, 5);
    for (int v = 0; v < WORDS; v++)
      if (v != 4) parameter("output.bias")->x[v] = -INFINITY;
    search(&source, &ways[way], &f);
    for (int64_t s = 0; s < SOURCES; s++) {
      int64_t best = ways[way].num_return_sequences ? ways[way].num_return_sequences : 1;
      assert_int_equal(f.token_counts[s * best], MOST);
      for (int n = 0; n < MOST; n++) assert_int_equal(f.tokens[s * best * MOST + n], 4);
      assert_true(!(f.scores[s * best] < 0));
      for (int64_t n = 1; n < best; n++) assert_int_equal(f.token_counts[s * best + n], -1);
    }
    close_network();
  }
}

static void reports_progress_and_stops(void **state) {
  (void)state;
  static struct search_output f;
  struct progress w = {0};
  struct attn_search_config how = ways[1];
  const struct attn_search_results found = all_of(&f);
  how.progress = report, how.context = &w, how.threads = 1;
  open_network("", WORDS, 5);
  assert_int_equal(attn_search_run(network, &source, &how, &found, NULL), ATTN_OK);
  assert_int_equal(w.done, SOURCES);
  assert_int_equal(w.of, SOURCES);
  for (int64_t all = w.calls, at = 1; at <= all; at++) {
    w = (struct progress){.stop_at = at};
    assert_int_equal(attn_search_run(network, &source, &how, &found, NULL), ATTN_ERR_INTERRUPTED);
    assert_int_equal(w.calls, at);
  }
  close_network();
}

/* ---- Allocation failures ---- */

static void survives_every_failing_allocation(void **state) {
  (void)state;
  static struct search_output expected, f;
  open_network("", WORDS, 5);
  for (int way = 1; way < WAYS; way++) {
    struct attn_search_config how = ways[way];
    how.threads = 1, how.max_new_tokens = 3;
    search(&source, &how, &expected);
    struct search_call call = {&how, &f};
    assert_true(scarce_fail_each(run_search, &call) >= 30);
    assert_memory_equal(&f, &expected, sizeof f);
  }
  close_network();
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {TEST(greedy_takes_the_most_likely_token),
                                     TEST(greedy_is_one_beam_without_temperature),
                                     TEST(greedy_ends_at_eos),
                                     TEST(a_wide_beam_finds_the_best_sequences),
                                     TEST(results_respect_their_limits),
                                     TEST(a_narrow_beam_matches_its_definition),
                                     TEST(other_sources_change_no_bit),
                                     TEST(long_prompts_are_read_in_passes),
                                     TEST(results_continue_their_prefixes),
                                     TEST(prefixes_count_towards_max_length),
                                     TEST(invalid_prefixes_are_refused),
                                     TEST(threads_change_no_bit),
                                     TEST(batched_results_have_their_scores),
                                     TEST(ties_keep_the_first),

                                     TEST(each_source_has_its_own_limit),
                                     TEST(rejects_invalid_options),
                                     TEST(rejects_logits_that_are_not_finite),
                                     TEST(impossible_tokens_are_never_generated),
                                     TEST(reports_progress_and_stops),
                                     TEST(survives_every_failing_allocation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
