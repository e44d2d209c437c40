/* Open models: a trained model opens as it was; a result is independent of other sources and of
 * threads; truncated, foreign and inconsistent files are rejected by name; an invalid source leaves
 * no result. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "attn/model.h"
#include "attn/train.h"
#include "random.h"

enum { TEXTS = 9 };

static const char *const texts[TEXTS] = {"1+1", "99+1",  "",  "7+123", "+",
                                         "5+5", "12+34", "0", "8+8"};
static char folder[] = "/tmp/attn-model-XXXXXX", path[64], last[64], other[64];

/* Trained for a few steps. */
static int train(const char *kind, const char *more) {
  char config[200];
  attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
  if (!mkdtemp(strcpy(folder, "/tmp/attn-model-XXXXXX"))) return -1;
  snprintf(path, sizeof path, "%s/m.safetensors", folder);
  snprintf(last, sizeof last, "%s/m.last.safetensors", folder);
  snprintf(other, sizeof other, "%s/other", folder);
  snprintf(config, sizeof config,
           "{\"kind\": \"%s\", \"d_model\": 16, \"num_heads\": 2, \"ffn_dim\": 16, "
           "\"encoder_layers\": 1, "
           "\"decoder_layers\": 1%s}",
           kind, more);
  run.task = "addition", run.output = path, run.config = config;
  run.steps = 30, run.batch_size = 8, run.max_validation_examples = 4, run.learning_rate = 0.02,
  run.threads = 2;
  return attn_model_train(&run, NULL, NULL) != ATTN_OK;
}

static int with_encoder(void **state) { return (void)state, train("encoder-decoder", ""); }
static int alone(void **state) { return (void)state, train("decoder", ""); }
static int encoder_alone(void **state) {
  return (void)state, train("encoder", ", \"share_encoder_decoder_embeddings\": false");
}

static int end(void **state) {
  (void)state;
  remove(path), remove(last), remove(other);
  return rmdir(folder);
}

static attn_model *open_model(void) {
  attn_model *m;
  attn_error err;
  if (attn_model_open(path, &m, &err)) fail_msg("%s", err.message);
  return m;
}

static void expect_same(const attn_generation_result *a, const attn_generation_result *b) {
  assert_string_equal(a->text, b->text);
  assert_true(a->text_length == b->text_length && a->token_count == b->token_count &&
              a->finished == b->finished);
  assert_memory_equal(&a->log_prob, &b->log_prob, sizeof a->log_prob);
  assert_memory_equal(&a->score, &b->score, sizeof a->score);
}

/* Greedy, beam search, sampling, greedy in bf16: each text by itself, all at once, with other
 * threads. */
static void a_result_depends_only_on_its_source(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_model_info facts = {.struct_size = sizeof facts};
  assert_int_equal(attn_model_describe(m, &facts, NULL), ATTN_OK);
  for (int kind = 0; kind < (facts.decoder_layers ? 4 : 1); kind++) {
    attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;
    how.num_beams = kind == 1 ? 3 : 0, how.num_return_sequences = kind == 1 ? 2 : 0,
    how.max_new_tokens = 12;
    how.temperature = kind == 2 ? 1.5 : 0, how.seed = 3;
    how.precision = kind == 3 ? ATTN_BF16 : 0;
    int n_best = kind == 1 ? 2 : 1;
    attn_generation_result all[TEXTS * 2] = {ATTN_GENERATION_RESULT_INIT},
                                       again[TEXTS * 2] = {ATTN_GENERATION_RESULT_INIT};
    attn_generation_result one[2] = {ATTN_GENERATION_RESULT_INIT};
    how.threads = 1;
    assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, all, NULL), ATTN_OK);
    how.threads = 3;
    assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, again, NULL), ATTN_OK);
    for (int n = 0; n < TEXTS * n_best; n++) expect_same(&all[n], &again[n]);
    for (int n = 0; n < TEXTS && kind != 2; n++) { /* samples depend on the index as well */
      assert_int_equal(attn_model_generate(m, &texts[n], 1, &how, one, NULL), ATTN_OK);
      for (int k = 0; k < n_best; k++) expect_same(&all[n * n_best + k], &one[k]);
      attn_generation_results_free(one, n_best);
    }
    attn_generation_results_free(all, TEXTS * n_best),
        attn_generation_results_free(again, TEXTS * n_best);
    assert_null(all[0].text);
  }
  attn_model_free(m);
}

/* Its struct ends before `precision`, which the library must not read. */
static void config_of_an_older_caller(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;
  attn_generation_result old = ATTN_GENERATION_RESULT_INIT, now = ATTN_GENERATION_RESULT_INIT;
  assert_int_equal(attn_model_generate(m, texts, 1, &how, &now, NULL), ATTN_OK);
  how.struct_size = offsetof(attn_generation_config, precision), how.precision = -1;
  assert_int_equal(attn_model_generate(m, texts, 1, &how, &old, NULL), ATTN_OK);
  expect_same(&old, &now);
  how.struct_size--;
  assert_int_equal(attn_model_generate(m, texts, 1, &how, &old, NULL), ATTN_ERR_ARGUMENT);
  attn_generation_results_free(&now, 1), attn_generation_results_free(&old, 1);
  attn_model_free(m);
}

/* A newer caller's results are longer and further apart; members that the library lacks are 0. */
static void struct_size_is_respected(void **state) {
  (void)state;
  enum { MORE = 16 };
  struct longer {
    attn_generation_result reply;
    unsigned char more[MORE];
  } longer[3];
  static const size_t bad[] = {0, 8, offsetof(attn_task_info, picture_size) - 1, 65537};
  attn_model *m = open_model();
  attn_generation_result now[3] = {ATTN_GENERATION_RESULT_INIT};
  attn_error err;
  memset(longer, 0x5A, sizeof longer), longer[0].reply.struct_size = sizeof *longer;
  assert_int_equal(attn_model_generate(m, texts, 3, NULL, now, NULL), ATTN_OK);
  assert_int_equal(attn_model_generate(m, texts, 3, NULL, &longer[0].reply, NULL), ATTN_OK);
  for (int n = 0; n < 3; n++) {
    expect_same(&longer[n].reply, &now[n]);
    assert_int_equal(longer[n].reply.struct_size, sizeof *longer);
    for (int b = 0; b < MORE; b++) assert_int_equal(longer[n].more[b], 0);
  }
  attn_generation_results_free(now, 3), attn_generation_results_free(&longer[0].reply, 3);
  for (int n = 0; n < 3; n++) assert_null(longer[n].reply.text);
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    attn_generation_result reply = {.struct_size = bad[n], .text_length = 7};
    attn_evaluation card = {.struct_size = bad[n], .examples = 7};
    attn_train_state at = {.struct_size = bad[n], .step = 7};
    attn_task_info task = {.struct_size = bad[n]};
    attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
    run.task = "addition", run.output = other;
    assert_int_equal(attn_model_generate(m, texts, 1, NULL, &reply, &err), ATTN_ERR_ARGUMENT);
    assert_string_equal(err.argument, "results");
    assert_int_equal(attn_model_evaluate(m, "addition", 1, 0, 1, NULL, NULL, &card, &err),
                     ATTN_ERR_ARGUMENT);
    assert_string_equal(err.argument, "evaluation");
    assert_int_equal(attn_model_train(&run, &at, &err), ATTN_ERR_ARGUMENT);
    assert_string_equal(err.argument, "state");
    assert_int_equal(attn_task_describe(0, &task), 0);
    assert_true(reply.text_length == 7 && card.examples == 7 && at.step == 7 && !task.name);
  }
  attn_model_free(m);
}

static void results_describe_themselves(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;
  attn_generation_result replies[TEXTS] = {ATTN_GENERATION_RESULT_INIT};
  for (how.max_new_tokens = 1; how.max_new_tokens < 70; how.max_new_tokens += 17) {
    assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, replies, NULL), ATTN_OK);
    for (int n = 0; n < TEXTS; n++) {
      assert_int_equal(strlen(replies[n].text), replies[n].text_length);
      assert_int_equal(replies[n].token_count,
                       replies[n].text_length); /* only digits, each a token */
      assert_true(replies[n].log_prob <= 0 && isfinite(replies[n].log_prob));
      assert_true(replies[n].token_count + replies[n].finished <= how.max_new_tokens);
      assert_true(replies[n].finished || replies[n].token_count >= 1);
    }
    attn_generation_results_free(replies, TEXTS);
  }
  attn_model_free(m);
}

/* What greedy search generates after the beginning of its own output is the rest of it. */
static void a_target_continues_its_prefix(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;
  attn_generation_result all[TEXTS] = {ATTN_GENERATION_RESULT_INIT},
                         rest[TEXTS] = {ATTN_GENERATION_RESULT_INIT};
  char prefix[TEXTS][4];
  const char *prefixes[TEXTS];
  how.max_new_tokens = 12;
  assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, all, NULL), ATTN_OK);
  for (int n = 0; n < TEXTS; n++)
    snprintf(prefix[n], sizeof prefix[n], "%.*s", n % 4, all[n].text), prefixes[n] = prefix[n];
  how.target_prefixes = prefixes;
  assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, rest, NULL), ATTN_OK);
  for (int n = 0; n < TEXTS; n++) {
    const char *expected = all[n].text + strlen(prefixes[n]);
    assert_int_equal(strncmp(rest[n].text, expected, strlen(expected)), 0);
    if (all[n].finished) assert_string_equal(rest[n].text, expected);
  }
  attn_generation_results_free(all, TEXTS), attn_generation_results_free(rest, TEXTS);
  attn_model_free(m);
}

/* A model trained on "source<TAB>target" continues after source and tab. */
static void a_decoder_continues_its_prompt(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_model_info facts = {.struct_size = sizeof facts};
  assert_int_equal(attn_model_describe(m, &facts, NULL), ATTN_OK);
  assert_true(facts.encoder_layers == 0 && facts.decoder_layers == 1 && facts.num_heads == 2);
  const char *asked[] = {"1+1\t", "12+34\t", ""};
  attn_generation_result replies[3] = {ATTN_GENERATION_RESULT_INIT},
                         one = ATTN_GENERATION_RESULT_INIT;
  assert_int_equal(attn_model_generate(m, asked, 3, NULL, replies, NULL), ATTN_OK);
  for (int n = 0; n < 3; n++) {
    assert_int_equal(attn_model_generate(m, &asked[n], 1, NULL, &one, NULL), ATTN_OK);
    if (n != 1) assert_true(one.token_count + (int64_t)strlen(asked[n]) <= facts.max_positions);
    assert_true(!strncmp(one.text, replies[n].text, strlen(replies[n].text)));
    attn_generation_results_free(&one, 1);
  }
  attn_generation_results_free(replies, 3);
  attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;
  how.target_prefixes = asked;
  assert_int_equal(attn_model_generate(m, asked, 3, &how, replies, NULL), ATTN_ERR_ARGUMENT);
  attn_evaluation card = ATTN_EVALUATION_INIT;
  assert_int_equal(attn_model_evaluate(m, "addition", 5, 1, 1, NULL, NULL, &card, NULL), ATTN_OK);
  assert_true(card.examples == 5 && card.exact_matches >= 0 && card.exact_matches <= 5);
  attn_model_free(m);
}

/* One token for each of the source's, and the end. */
static int count_heads(void *context, const attn_attention *a) {
  ++*(int *)context;
  return a->kind != ATTN_ATTENTION_ENCODER || a->queries != 6 || a->keys != 6;
}

static void an_encoder_has_a_token_for_each_position(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;
  attn_generation_result replies[TEXTS] = {ATTN_GENERATION_RESULT_INIT};
  attn_evaluation card = ATTN_EVALUATION_INIT;
  int heads = 0;
  assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, replies, NULL), ATTN_OK);
  for (int n = 0; n < TEXTS; n++)
    assert_true(replies[n].token_count + replies[n].finished <= (int64_t)strlen(texts[n]) + 1);
  attn_generation_results_free(replies, TEXTS);
  how.batch_size = 4;
  assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, replies, NULL), ATTN_OK);
  attn_generation_results_free(replies, TEXTS);
  assert_int_equal(attn_model_evaluate(m, "addition", 5, 1, 1, NULL, NULL, &card, NULL), ATTN_OK);
  assert_true(card.examples == 5 && card.aligned_tokens == 0);
  assert_int_equal(attn_model_visit_attention(m, "12+34", NULL, 1, count_heads, &heads, NULL),
                   ATTN_OK);
  assert_int_equal(heads, 2);
  attn_model_free(m);
}

static void expect_refused(const attn_model *m, const char *text, int64_t count,
                           const attn_generation_config *how, attn_status status,
                           const char *expected) {
  attn_error err = {.message = ""};
  const char *sources[2] = {"1+1", text};
  attn_generation_result replies[2] = {ATTN_GENERATION_RESULT_INIT};
  assert_int_equal(attn_model_generate(m, sources, count, how, replies, &err), status);
  if (!strstr(err.message, expected))
    fail_msg("\"%s\" does not contain \"%s\"", err.message, expected);
  assert_true(!replies[0].text && !replies[1].text);
}

static int stop(void *context, int64_t done, int64_t total) {
  return (void)context, (void)done, (void)total, 1;
}

static void rejects_options_that_an_encoder_lacks(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;
  char longer[100] = "";
  memset(longer, '1', sizeof longer - 1);
  expect_refused(m, longer, 2, NULL, ATTN_ERR_ARGUMENT, "99 tokens");
  expect_refused(m, "\xff", 2, NULL, ATTN_ERR_FORMAT, "UTF-8");
  how.num_beams = 2, expect_refused(m, "2", 2, &how, ATTN_ERR_ARGUMENT, "0 or 1, got 2");
  how.num_return_sequences = 2, expect_refused(m, "2", 1, &how, ATTN_ERR_ARGUMENT, "0 or 1, got 2");
  how.num_beams = how.num_return_sequences = 0, how.temperature = 1;
  expect_refused(m, "2", 2, &how, ATTN_ERR_ARGUMENT, "temperature must be 0");
  how.temperature = 0, how.progress = stop;
  expect_refused(m, "2", 2, &how, ATTN_ERR_INTERRUPTED, "");
  attn_model_free(m);
}

static void rejects_invalid_options(void **state) {
  (void)state;
  attn_model *m = open_model();
  char longer[100] = "";
  memset(longer, '1', sizeof longer - 1);
  expect_refused(m, longer, 2, NULL, ATTN_ERR_ARGUMENT, "99 tokens");
  expect_refused(m, "\xff", 2, NULL, ATTN_ERR_FORMAT, "UTF-8");
  expect_refused(m, "", -1, NULL, ATTN_ERR_ARGUMENT, "count");
#define REFUSED(status, expected, ...)                            \
  do {                                                            \
    attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;     \
    __VA_ARGS__;                                                  \
    expect_refused(m, "2", 2, &how, ATTN_ERR_##status, expected); \
  } while (0)
  REFUSED(ARGUMENT, "struct_size", how.struct_size = 1);
  REFUSED(ARGUMENT, "num_return_sequences", how.num_return_sequences = 2);
  REFUSED(ARGUMENT, "num_beams", how.num_beams = -1);
  REFUSED(ARGUMENT, "num_beams", how.num_beams = INT32_MAX);
  REFUSED(ARGUMENT, "max_new_tokens", how.max_new_tokens = -1);
  REFUSED(ARGUMENT, "", how.temperature = (double)NAN);
  REFUSED(ARGUMENT, "", how.top_p = 2, how.temperature = 1);
  REFUSED(ARGUMENT, "", how.length_penalty = (double)INFINITY);
  REFUSED(ARGUMENT, "99 tokens", how.target_prefixes = (const char *[]){"", longer});
  REFUSED(FORMAT, "UTF-8", how.target_prefixes = (const char *[]){"\xff", ""});
  REFUSED(ARGUMENT, "target_prefixes[1] is NULL", how.target_prefixes = (const char *[]){"", NULL});
  REFUSED(INTERRUPTED, "", how.progress = stop);
  assert_int_equal(attn_model_generate(m, NULL, 0, NULL, NULL, NULL), ATTN_OK);
  attn_model_info facts = {.struct_size = 1};
  assert_int_equal(attn_model_describe(m, &facts, NULL), ATTN_ERR_ARGUMENT);
  attn_model_free(m);
}

/* At every <unk> and nowhere else, with capacity for all spans, for some, and 0. */
static void finds_unknown_spans(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_unknown_span parts[8];
  int64_t count;
  attn_error err;
  for (int n = 0; n < TEXTS; n++) {
    assert_int_equal(attn_model_find_unknown(m, texts[n], 0, NULL, &count, NULL), ATTN_OK);
    assert_true(count == 0);
  }
  static const char text[] = "1\xE7\xA7\x81+x2\xC3\xA9";
  static const int64_t offset[] = {1, 5, 7}, character[] = {2, 4, 6}, length[] = {3, 1, 2};
  for (int64_t room = 0; room < 5; room++) {
    memset(parts, 0x55, sizeof parts), parts->struct_size = sizeof *parts;
    assert_int_equal(attn_model_find_unknown(m, text, room, parts, &count, NULL), ATTN_OK);
    assert_true(count == 3);
    for (int64_t n = 0; n < 3 && n < room; n++)
      assert_true(parts[n].offset == offset[n] && parts[n].character == character[n] &&
                  parts[n].length == length[n]);
    if (room < 5 && room)
      assert_int_equal(parts[room < 3 ? room : 3].character, 0x5555555555555555);
  }
  struct {
    attn_unknown_span span;
    int64_t more;
  } longer[2];
  memset(longer, 0x55, sizeof longer), longer->span.struct_size = sizeof *longer;
  assert_int_equal(attn_model_find_unknown(m, text, 2, &longer->span, &count, NULL), ATTN_OK);
  for (int n = 0; n < 2; n++)
    assert_true(longer[n].span.struct_size == sizeof *longer && longer[n].more == 0 &&
                longer[n].span.offset == offset[n] && longer[n].span.length == length[n]);
  parts->struct_size = sizeof *parts - 1;
  assert_int_equal(attn_model_find_unknown(m, text, 1, parts, &count, &err), ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "spans");
  parts->struct_size = sizeof *parts;
  assert_int_equal(attn_model_find_unknown(m, text, -1, parts, &count, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_model_find_unknown(m, "1\xFF", 1, parts, &count, &err), ATTN_ERR_FORMAT);
  assert_true(count == 0);
  attn_model_free(m);
}

static void info_describes_the_training(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_model_info facts = {.struct_size = sizeof facts};
  assert_int_equal(attn_model_probe(path), 1);
  assert_int_equal(attn_model_probe(folder), 1);
  assert_int_equal(attn_model_probe("/dev/null"), 0);
  assert_int_equal(attn_model_probe("/nowhere"), 0);
  assert_int_equal(attn_model_describe(m, &facts, NULL), ATTN_OK);
  assert_true(facts.has_training && facts.step == 30 && facts.validation_step == 30);
  assert_true(facts.validation_max_examples == 4 && facts.validation_loss > 0);
  assert_true(facts.validation_exact_match >= 0 && facts.validation_exact_match <= 1);
  assert_string_equal(facts.task, "addition");
  assert_null(facts.data);
  assert_string_equal(facts.precision, "float32");
  assert_string_equal(facts.tokenizer, "characters");
  assert_true(facts.ffn_dim == 16 && facts.num_kv_heads == 2);
  attn_model_free(m);
}

struct page {
  char text[1 << 16];
  size_t size;
};

static int take(void *context, const char *text, size_t size) {
  struct page *p = context;
  if (size >= sizeof p->text - p->size) return 1;
  memcpy(p->text + p->size, text, size), p->size += size;
  return 0;
}

static void write_lesson(const attn_model *m, struct page *p) {
  const attn_sink sink = {p, take};
  memset(p, 0, sizeof *p);
  assert_int_equal(
      attn_model_write_lesson(m, "12+34", "64", ATTN_ATTENTION_CROSS, 0, 1, 1, &sink, NULL),
      ATTN_OK);
}

static void a_lesson_has_decimal_points_in_every_locale(void **state) {
  (void)state;
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
  static struct page plain, local;
  const char *set = NULL;
  attn_model *m = open_model();
  write_lesson(m, &plain);
  assert_true(strstr(plain.text, "| 0.") && strstr(plain.text, "weights = softmax"));
  for (int n = 0; n < 4 && !set; n++) set = setlocale(LC_NUMERIC, names[n]);
  write_lesson(m, &local);
  setlocale(LC_NUMERIC, "C");
  attn_model_free(m);
  assert_string_equal(local.text, plain.text);
  if (!set) skip();
}

static char bytes[1 << 18];

static void put(const char *data, size_t size) {
  FILE *f = fopen(other, "wb");
  assert_true(f && fwrite(data, 1, size, f) == size && !fclose(f));
}

static void expect_no_model(attn_status status, const char *expected) {
  attn_model *m = (attn_model *)bytes;
  attn_error err = {.message = ""};
  assert_int_equal(attn_model_open(other, &m, &err), status);
  assert_null(m);
  if (!strstr(err.message, expected))
    fail_msg("\"%s\" does not contain \"%s\"", err.message, expected);
}

/* Replaces a word of the header, wherever it occurs, by another of the same length. */
static void exchange(size_t size, const char *old, const char *new) {
  static char changed[sizeof bytes];
  size_t length = strlen(old), found = 0;
  memcpy(changed, bytes, size);
  for (size_t at = 0; at + length < size; at++)
    if (!memcmp(bytes + at, old, length)) memcpy(changed + at, new, length), found++;
  if (!found) fail_msg("there is no %s", old);
  put(changed, size);
}

static size_t slurp(void) {
  FILE *f = fopen(path, "rb");
  size_t size = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  assert_true(size > 1000 && size < sizeof bytes);
  return size;
}

static void rejects_files_that_are_not_models(void **state) {
  (void)state;
  size_t size = slurp();
  exchange(size, "\"tokenizer\"", "\"tokenixer\""), expect_no_model(ATTN_ERR_FORMAT, "tokenizer");
  exchange(size, "\"config\"", "\"konfig\""), expect_no_model(ATTN_ERR_FORMAT, "config");
  exchange(size, "\"output.weight", "\"output.veight"),
      expect_no_model(ATTN_ERR_FORMAT, "output.weight");
  exchange(size, "\\\"ffn_dim\\\":16", "\\\"ffn_dim\\\":32"),
      expect_no_model(ATTN_ERR_FORMAT, "linear1");
  exchange(size, "\\\"encoder-decoder\\\"", "\\\"encoder\\\"        "),
      expect_no_model(ATTN_ERR_FORMAT, "the file has");
  exchange(size, "coder_layers\\\":1", "coder_layers\\\":9"),
      expect_no_model(ATTN_ERR_FORMAT, "are too few");
  exchange(size, "vocab_size\\\":16", "vocab_size\\\":15"),
      expect_no_model(ATTN_ERR_FORMAT, "tokens, but source_vocab_size");
  for (size_t part = 0; part < size; part += size / 31)
    put(bytes, part), expect_no_model(ATTN_ERR_FORMAT, "");
  remove(other), expect_no_model(ATTN_ERR_FILE, "other");
  put(bytes, size);
  attn_model *m;
  assert_int_equal(attn_model_open(other, &m, NULL), ATTN_OK);
  attn_model_free(m), attn_model_free(NULL);
}

/* Replaces the configuration in the header's metadata. */
static void put_with_config(size_t size, const char *config) {
  uint64_t length;
  memcpy(&length, bytes, sizeof length);
  json_t *header = json_loadb(bytes + sizeof length, length, 0, NULL);
  json_object_set_new(json_object_get(header, "__metadata__"), "config", json_string(config));
  char *text = json_dumps(header, JSON_COMPACT);
  uint64_t new_length = strlen(text);
  size_t rest = size - sizeof length - length;
  char *file = malloc(sizeof length + new_length + rest);
  memcpy(file, &new_length, sizeof length), memcpy(file + sizeof length, text, new_length);
  memcpy(file + sizeof length + new_length, bytes + sizeof length + length, rest);
  put(file, sizeof length + new_length + rest);
  json_decref(header), free(text), free(file);
}

/* A configuration as attn wrote it before its members were renamed. */
static void opens_a_checkpoint_with_former_member_names(void **state) {
  (void)state;
  static const char former[] =
      "{\"activation\":\"relu\",\"bias\":true,\"decoder_layers\":1,\"dropout\":0.0,"
      "\"embedding_norm\":false,\"encoder_layers\":1,\"epsilon\":1e-5,\"final_norm\":true,"
      "\"head\":\"linear\",\"heads\":2,\"hidden\":16,\"key_width\":8,"
      "\"kind\":\"encoder-decoder\",\"kv_heads\":2,\"length\":64,\"norm_first\":true,"
      "\"output_bias\":true,\"position_joining\":\"add\",\"position_width\":16,"
      "\"positions\":\"sinusoidal\",\"rms_norm\":false,\"rotary_base\":10000.0,"
      "\"scaled_embedding\":true,\"shared_embedding\":true,\"source_vocabulary\":16,"
      "\"tied_output\":false,\"token_types\":0,\"value_width\":8,\"vocabulary\":16,"
      "\"width\":16}";
  const char *source = "12+34";
  attn_generation_result expected = ATTN_GENERATION_RESULT_INIT, result = expected;
  attn_model *current = open_model(), *m;
  attn_model_info info = {.struct_size = sizeof info}, same = info;
  put_with_config(slurp(), former);
  assert_int_equal(attn_model_open(other, &m, NULL), ATTN_OK);
  attn_model_describe(m, &info, NULL), attn_model_describe(current, &same, NULL);
  assert_string_equal(info.config, same.config);
  assert_int_equal(attn_model_generate(m, &source, 1, NULL, &result, NULL), ATTN_OK);
  assert_int_equal(attn_model_generate(current, &source, 1, NULL, &expected, NULL), ATTN_OK);
  expect_same(&result, &expected);
  attn_generation_results_free(&result, 1), attn_generation_results_free(&expected, 1);
  attn_model_free(m), attn_model_free(current);
  put_with_config(slurp(), "{\"width\":16,\"d_model\":16,\"vocabulary\":16}");
  expect_no_model(ATTN_ERR_FORMAT, "\"width\" is the former name of \"d_model\"");
}

/* Its source has an embedding of its own. */
static void an_encoder_has_an_embedding_for_each_token(void **state) {
  (void)state;
  size_t size = slurp();
  exchange(size, "source_vocab_size\\\":16", "source_vocab_size\\\":15");
  expect_no_model(ATTN_ERR_FORMAT, "the tokenizer has 16 tokens");
}

#define TEST(name, begin) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      TEST(a_result_depends_only_on_its_source, with_encoder),
      TEST(config_of_an_older_caller, with_encoder),
      TEST(struct_size_is_respected, with_encoder),
      TEST(opens_a_checkpoint_with_former_member_names, with_encoder),
      TEST(finds_unknown_spans, with_encoder),
      TEST(info_describes_the_training, with_encoder),
      TEST(info_describes_the_training, encoder_alone),
      TEST(results_describe_themselves, with_encoder),
      TEST(a_target_continues_its_prefix, with_encoder),
      TEST(a_decoder_continues_its_prompt, alone),
      TEST(a_result_depends_only_on_its_source, encoder_alone),
      TEST(results_describe_themselves, encoder_alone),
      TEST(an_encoder_has_a_token_for_each_position, encoder_alone),
      TEST(rejects_options_that_an_encoder_lacks, encoder_alone),
      TEST(rejects_invalid_options, with_encoder),
      TEST(a_lesson_has_decimal_points_in_every_locale, with_encoder),
      TEST(rejects_files_that_are_not_models, with_encoder),
      TEST(an_encoder_has_an_embedding_for_each_token, encoder_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
