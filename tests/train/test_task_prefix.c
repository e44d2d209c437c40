/* A task whose decoder reads a prefix: what validation and evaluation count as exact matches are
 * the targets that the model generates after it, and the alignment is that of the target. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/model.h"
#include "attn/train.h"
#include "scratch.h"
#include "task.h"

enum { EXAMPLES = 128, WEIGHTS = 64 * 64 };
static const uint64_t run_seed = 3, evaluation_seed = 3 ^ 0x65786d; /* the same examples */

static char path[96];

static int begin(void **state) {
  (void)state;
  if (folder_begin()) return -1;
  snprintf(path, sizeof path, "%s/questions.safetensors", folder);
  return 0;
}

static int end(void **state) { return (void)state, folder_end(); }

/* Long enough for some right answers. */
static attn_model *train(const char *kind, double *exact_match) {
  attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
  attn_train_state summary = ATTN_TRAIN_STATE_INIT;
  attn_model *m;
  attn_error err;
  char config[200];
  snprintf(config, sizeof config,
           "{\"kind\": \"%s\", \"d_model\": 32, \"num_heads\": 2, \"ffn_dim\": 32, "
           "\"encoder_layers\": %d, \"decoder_layers\": 1}",
           kind, !strcmp(kind, "decoder") ? 0 : 1);
  run.task = "questions", run.output = path, run.config = config, run.seed = run_seed;
  run.replace = 1, run.steps = run.validate_every = 150, run.batch_size = 16;
  run.learning_rate = 0.01, run.max_validation_examples = EXAMPLES, run.threads = 1;
  if (attn_model_train(&run, &summary, &err)) fail_msg("%s", err.message);
  *exact_match = summary.validation_exact_match;
  if (attn_model_open(path, &m, &err)) fail_msg("%s", err.message);
  return m;
}

static int count_words(const char *text) {
  int count = *text != 0;
  for (; *text; text++) count += *text == ' ';
  return count;
}

/* The sum of the cross-attention of the query that predicts the answer. */
struct answer_weights {
  int64_t query, keys;
  double sum[64];
};

static int add_answer(void *context, const attn_attention *a) {
  struct answer_weights *w = context;
  if (a->kind != ATTN_ATTENTION_CROSS) return 0;
  assert_string_equal(a->query_tokens[w->query - 1][0] == '?' ? "?" : "？",
                      a->query_tokens[w->query - 1]);
  w->keys = a->keys;
  for (int64_t k = 0; k < a->keys; k++) w->sum[k] += (double)a->weights[w->query * a->keys + k];
  return 0;
}

/* 1: the largest weight is on the word that answers. */
static int points_at_answer(const attn_model *m, const struct attn_aligned_pair *pair) {
  struct answer_weights w = {.query = count_words(pair->prefix)};
  char target[2 * ATTN_EXAMPLE_SIZE];
  int64_t best = 0;
  snprintf(target, sizeof target, "%s %s", pair->prefix, pair->target);
  assert_int_equal(attn_model_visit_attention(m, pair->source, target, 1, add_answer, &w, NULL), 0);
  for (int64_t k = 1; k < w.keys; k++)
    if (w.sum[k] > w.sum[best]) best = k;
  return best == pair->alignment[0];
}

/* What a caller finds with attn_model_generate. */
static void expect_evaluation(const attn_model *m, int is_decoder, double exact_match) {
  attn_evaluation e = ATTN_EVALUATION_INIT;
  int64_t matches = 0, pointing = 0;
  for (uint64_t n = 0; n < EXAMPLES; n++) {
    struct attn_aligned_pair pair;
    char text[2 * ATTN_EXAMPLE_SIZE];
    attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;
    attn_generation_result result = ATTN_GENERATION_RESULT_INIT;
    attn_task_make(attn_task_find("questions"), run_seed, n, 1, &pair);
    snprintf(text, sizeof text, is_decoder ? "%s\t%s" : "%s%.0s", pair.source, pair.prefix);
    const char *prefix = pair.prefix, *source = text;
    if (!is_decoder) how.target_prefixes = &prefix;
    assert_int_equal(attn_model_generate(m, &source, 1, &how, &result, NULL), ATTN_OK);
    int is_match = !strcmp(result.text, pair.target);
    matches += is_match;
    if (is_match && !is_decoder) pointing += points_at_answer(m, &pair);
    attn_generation_results_free(&result, 1);
  }
  assert_in_range(matches, 1, EXAMPLES - 1);
  assert_true(exact_match * EXAMPLES == (double)matches);
  assert_int_equal(
      attn_model_evaluate(m, "questions", EXAMPLES, evaluation_seed, 1, NULL, NULL, &e, NULL),
      ATTN_OK);
  assert_int_equal(e.exact_matches, matches);
  assert_int_equal(e.aligned_tokens, is_decoder ? 0 : matches);
  assert_int_equal(e.alignment_matches, pointing);
}

static void questions_are_read_by_the_decoder(void **state) {
  (void)state;
  static const char *const kinds[] = {"encoder-decoder", "decoder"};
  for (int n = 0; n < 2; n++) {
    double exact_match = 0;
    attn_model *m = train(kinds[n], &exact_match);
    expect_evaluation(m, n, exact_match);
    attn_model_free(m);
  }
}

static void an_encoder_alone_is_refused(void **state) {
  (void)state;
  attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
  attn_error err = {.message = ""};
  run.task = "questions", run.output = path, run.replace = 1;
  run.config = "{\"kind\": \"encoder\"}";
  assert_int_equal(attn_model_train(&run, NULL, &err), ATTN_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "requires a decoder"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(questions_are_read_by_the_decoder, begin, end),
      cmocka_unit_test_setup_teardown(an_encoder_alone_is_refused, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
