/* Laws of models that are opened and asked: what was trained is what is opened; a reply does not
 * depend on what else is asked nor on threads; files that are not whole, not ours or do not fit are
 * refused and named; a source that cannot be is refused, and no reply is left. */
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

#include "attn/model.h"
#include "attn/train.h"
#include "random.h"

enum { TEXTS = 9 };

static const char *const texts[TEXTS] = {"1+1", "99+1",  "",  "7+123", "+",
                                         "5+5", "12+34", "0", "8+8"};
static char folder[] = "/tmp/attn-model-XXXXXX", path[64], last[64], other[64];

/* Of a few steps: it has opinions, but no good ones. */
static int train(const char *kind, const char *more) {
  char config[200];
  attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
  if (!mkdtemp(strcpy(folder, "/tmp/attn-model-XXXXXX"))) return -1;
  snprintf(path, sizeof path, "%s/m.safetensors", folder);
  snprintf(last, sizeof last, "%s/m.last.safetensors", folder);
  snprintf(other, sizeof other, "%s/other", folder);
  snprintf(config, sizeof config,
           "{\"kind\": \"%s\", \"width\": 16, \"heads\": 2, \"hidden\": 16, \"encoder_layers\": 1, "
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
  return (void)state, train("encoder", ", \"shared_embedding\": false");
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

static void expect_same(const attn_reply *a, const attn_reply *b) {
  assert_string_equal(a->text, b->text);
  assert_true(a->bytes == b->bytes && a->tokens == b->tokens && a->ended == b->ended);
  assert_memory_equal(&a->log_p, &b->log_p, sizeof a->log_p);
  assert_memory_equal(&a->score, &b->score, sizeof a->score);
}

/* Greedily, by beams, drawn, greedily in bf16: each text by itself, all at once, with other
 * threads. */
static void a_reply_depends_on_its_text_alone(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_model_facts facts = {.struct_size = sizeof facts};
  assert_int_equal(attn_model_describe(m, &facts, NULL), ATTN_OK);
  for (int kind = 0; kind < (facts.decoder_layers ? 4 : 1); kind++) {
    attn_generation how = ATTN_GENERATION_INIT;
    how.beams = kind == 1 ? 3 : 0, how.n_best = kind == 1 ? 2 : 0, how.most = 12;
    how.temperature = kind == 2 ? 1.5 : 0, how.seed = 3;
    how.precision = kind == 3 ? ATTN_BF16 : 0;
    int n_best = kind == 1 ? 2 : 1;
    attn_reply all[TEXTS * 2] = {ATTN_REPLY_INIT}, again[TEXTS * 2] = {ATTN_REPLY_INIT};
    attn_reply one[2] = {ATTN_REPLY_INIT};
    how.threads = 1;
    assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, all, NULL), ATTN_OK);
    how.threads = 3;
    assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, again, NULL), ATTN_OK);
    for (int n = 0; n < TEXTS * n_best; n++) expect_same(&all[n], &again[n]);
    for (int n = 0; n < TEXTS && kind != 2; n++) { /* what is drawn depends on the index as well */
      assert_int_equal(attn_model_generate(m, &texts[n], 1, &how, one, NULL), ATTN_OK);
      for (int k = 0; k < n_best; k++) expect_same(&all[n * n_best + k], &one[k]);
      attn_replies_free(one, n_best);
    }
    attn_replies_free(all, TEXTS * n_best), attn_replies_free(again, TEXTS * n_best);
    assert_null(all[0].text);
  }
  attn_model_free(m);
}

/* Its struct ends before `precision`: what stands there is not the library's to read. */
static void an_older_caller_is_served(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_generation how = ATTN_GENERATION_INIT;
  attn_reply old = ATTN_REPLY_INIT, now = ATTN_REPLY_INIT;
  assert_int_equal(attn_model_generate(m, texts, 1, &how, &now, NULL), ATTN_OK);
  how.struct_size = offsetof(attn_generation, precision), how.precision = -1;
  assert_int_equal(attn_model_generate(m, texts, 1, &how, &old, NULL), ATTN_OK);
  expect_same(&old, &now);
  how.struct_size--;
  assert_int_equal(attn_model_generate(m, texts, 1, &how, &old, NULL), ATTN_ERR_ARGUMENT);
  attn_replies_free(&now, 1), attn_replies_free(&old, 1);
  attn_model_free(m);
}

/* Replies of a newer caller are longer, and further apart; what stands behind ours is zero. */
static void structs_to_be_filled_are_as_long_as_the_caller_says(void **state) {
  (void)state;
  enum { MORE = 16 };
  struct longer {
    attn_reply reply;
    unsigned char more[MORE];
  } longer[3];
  static const size_t bad[] = {0, 8, sizeof(attn_task_info) - 1, 65537};
  attn_model *m = open_model();
  attn_reply now[3] = {ATTN_REPLY_INIT};
  attn_error err;
  memset(longer, 0x5A, sizeof longer), longer[0].reply.struct_size = sizeof *longer;
  assert_int_equal(attn_model_generate(m, texts, 3, NULL, now, NULL), ATTN_OK);
  assert_int_equal(attn_model_generate(m, texts, 3, NULL, &longer[0].reply, NULL), ATTN_OK);
  for (int n = 0; n < 3; n++) {
    expect_same(&longer[n].reply, &now[n]);
    assert_int_equal(longer[n].reply.struct_size, sizeof *longer);
    for (int b = 0; b < MORE; b++) assert_int_equal(longer[n].more[b], 0);
  }
  attn_replies_free(now, 3), attn_replies_free(&longer[0].reply, 3);
  for (int n = 0; n < 3; n++) assert_null(longer[n].reply.text);
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    attn_reply reply = {.struct_size = bad[n], .bytes = 7};
    attn_evaluation card = {.struct_size = bad[n], .examples = 7};
    attn_train_state at = {.struct_size = bad[n], .step = 7};
    attn_task_info task = {.struct_size = bad[n]};
    attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
    run.task = "addition", run.output = other;
    assert_int_equal(attn_model_generate(m, texts, 1, NULL, &reply, &err), ATTN_ERR_ARGUMENT);
    assert_string_equal(err.argument, "replies");
    assert_int_equal(attn_model_evaluate(m, "addition", 1, 0, 1, NULL, NULL, &card, &err),
                     ATTN_ERR_ARGUMENT);
    assert_string_equal(err.argument, "evaluation");
    assert_int_equal(attn_model_train(&run, &at, &err), ATTN_ERR_ARGUMENT);
    assert_string_equal(err.argument, "state");
    assert_int_equal(attn_task_describe(0, &task), 0);
    assert_true(reply.bytes == 7 && card.examples == 7 && at.step == 7 && !task.name);
  }
  attn_model_free(m);
}

static void replies_say_what_they_are(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_generation how = ATTN_GENERATION_INIT;
  attn_reply replies[TEXTS] = {ATTN_REPLY_INIT};
  for (how.most = 1; how.most < 70; how.most += 17) {
    assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, replies, NULL), ATTN_OK);
    for (int n = 0; n < TEXTS; n++) {
      assert_int_equal(strlen(replies[n].text), replies[n].bytes);
      assert_int_equal(replies[n].tokens, replies[n].bytes); /* digits alone, each a token */
      assert_true(replies[n].log_p <= 0 && isfinite(replies[n].log_p));
      assert_true(replies[n].tokens + replies[n].ended <= how.most);
      assert_true(replies[n].ended || replies[n].tokens >= 1);
    }
    attn_replies_free(replies, TEXTS);
  }
  attn_model_free(m);
}

/* A model that learned "source<TAB>target" goes on behind source and tab. */
static void a_decoder_alone_goes_on(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_model_facts facts = {.struct_size = sizeof facts};
  assert_int_equal(attn_model_describe(m, &facts, NULL), ATTN_OK);
  assert_true(facts.encoder_layers == 0 && facts.decoder_layers == 1 && facts.heads == 2);
  const char *asked[] = {"1+1\t", "12+34\t", ""};
  attn_reply replies[3] = {ATTN_REPLY_INIT}, one = ATTN_REPLY_INIT;
  assert_int_equal(attn_model_generate(m, asked, 3, NULL, replies, NULL), ATTN_OK);
  for (int n = 0; n < 3; n++) {
    assert_int_equal(attn_model_generate(m, &asked[n], 1, NULL, &one, NULL), ATTN_OK);
    if (n != 1) assert_true(one.tokens + (int64_t)strlen(asked[n]) <= facts.length);
    assert_true(!strncmp(one.text, replies[n].text, strlen(replies[n].text)));
    attn_replies_free(&one, 1);
  }
  attn_replies_free(replies, 3);
  attn_evaluation card = ATTN_EVALUATION_INIT;
  assert_int_equal(attn_model_evaluate(m, "addition", 5, 1, 1, NULL, NULL, &card, NULL), ATTN_OK);
  assert_true(card.examples == 5 && card.exact_matches >= 0 && card.exact_matches <= 5);
  attn_model_free(m);
}

/* One token for each of the source's, and the end; its other heads are looked at as ever. */
static int count_heads(void *context, const attn_attention *a) {
  ++*(int *)context;
  return a->kind != ATTN_ATTENTION_ENCODER || a->queries != 6 || a->keys != 6;
}

static void an_encoder_alone_has_a_token_for_each_place(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_generation how = ATTN_GENERATION_INIT;
  attn_reply replies[TEXTS] = {ATTN_REPLY_INIT};
  attn_evaluation card = ATTN_EVALUATION_INIT;
  int heads = 0;
  assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, replies, NULL), ATTN_OK);
  for (int n = 0; n < TEXTS; n++)
    assert_true(replies[n].tokens + replies[n].ended <= (int64_t)strlen(texts[n]) + 1);
  attn_replies_free(replies, TEXTS);
  how.together = 4;
  assert_int_equal(attn_model_generate(m, texts, TEXTS, &how, replies, NULL), ATTN_OK);
  attn_replies_free(replies, TEXTS);
  assert_int_equal(attn_model_evaluate(m, "addition", 5, 1, 1, NULL, NULL, &card, NULL), ATTN_OK);
  assert_true(card.examples == 5 && card.aligned_tokens == 0);
  assert_int_equal(attn_model_look(m, "12+34", NULL, 1, count_heads, &heads, NULL), ATTN_OK);
  assert_int_equal(heads, 2);
  attn_model_free(m);
}

static void expect_refused(const attn_model *m, const char *text, int64_t count,
                           const attn_generation *how, attn_status status, const char *says) {
  attn_error err = {.message = ""};
  const char *sources[2] = {"1+1", text};
  attn_reply replies[2] = {ATTN_REPLY_INIT};
  assert_int_equal(attn_model_generate(m, sources, count, how, replies, &err), status);
  if (!strstr(err.message, says)) fail_msg("\"%s\" does not say \"%s\"", err.message, says);
  assert_true(!replies[0].text && !replies[1].text);
}

static int stop(void *context, int64_t done, int64_t total) {
  return (void)context, (void)done, (void)total, 1;
}

static void what_an_encoder_cannot_be_asked_is_refused(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_generation how = ATTN_GENERATION_INIT;
  char longer[100] = "";
  memset(longer, '1', sizeof longer - 1);
  expect_refused(m, longer, 2, NULL, ATTN_ERR_ARGUMENT, "99 tokens");
  expect_refused(m, "\xff", 2, NULL, ATTN_ERR_FORMAT, "UTF-8");
  how.beams = 2, expect_refused(m, "2", 2, &how, ATTN_ERR_ARGUMENT, "2 beams: an encoder alone");
  how.n_best = 2, expect_refused(m, "2", 1, &how, ATTN_ERR_ARGUMENT, "2 beams: an encoder alone");
  how.beams = how.n_best = 0, how.temperature = 1;
  expect_refused(m, "2", 2, &how, ATTN_ERR_ARGUMENT, "temperature must be 0");
  how.temperature = 0, how.progress = stop;
  expect_refused(m, "2", 2, &how, ATTN_ERR_INTERRUPTED, "");
  attn_model_free(m);
}

static void what_cannot_be_asked_is_refused(void **state) {
  (void)state;
  attn_model *m = open_model();
  char longer[100] = "";
  memset(longer, '1', sizeof longer - 1);
  expect_refused(m, longer, 2, NULL, ATTN_ERR_ARGUMENT, "99 tokens");
  expect_refused(m, "\xff", 2, NULL, ATTN_ERR_FORMAT, "UTF-8");
  expect_refused(m, "", -1, NULL, ATTN_ERR_ARGUMENT, "count");
#define REFUSED(status, says, ...)                            \
  do {                                                        \
    attn_generation how = ATTN_GENERATION_INIT;               \
    __VA_ARGS__;                                              \
    expect_refused(m, "2", 2, &how, ATTN_ERR_##status, says); \
  } while (0)
  REFUSED(ARGUMENT, "struct_size", how.struct_size = 1);
  REFUSED(ARGUMENT, "n_best", how.n_best = 2);
  REFUSED(ARGUMENT, "beams", how.beams = -1);
  REFUSED(ARGUMENT, "beams", how.beams = INT32_MAX);
  REFUSED(ARGUMENT, "most", how.most = -1);
  REFUSED(ARGUMENT, "", how.temperature = (double)NAN);
  REFUSED(ARGUMENT, "", how.top_p = 2, how.temperature = 1);
  REFUSED(ARGUMENT, "", how.length_penalty = (double)INFINITY);
  REFUSED(INTERRUPTED, "", how.progress = stop);
  assert_int_equal(attn_model_generate(m, NULL, 0, NULL, NULL, NULL), ATTN_OK);
  attn_model_facts facts = {.struct_size = 1};
  assert_int_equal(attn_model_describe(m, &facts, NULL), ATTN_ERR_ARGUMENT);
  attn_model_free(m);
}

/* Of every text, with room for all, some and none; where an <unk> is read, and nowhere else. */
static void unknown_parts_are_told(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_unknown_part parts[8];
  int64_t count;
  attn_error err;
  for (int n = 0; n < TEXTS; n++) {
    assert_int_equal(attn_model_unknown(m, texts[n], 0, NULL, &count, NULL), ATTN_OK);
    assert_true(count == 0);
  }
  static const char text[] = "1\xE7\xA7\x81+x2\xC3\xA9";
  static const int64_t offset[] = {1, 5, 7}, character[] = {2, 4, 6}, length[] = {3, 1, 2};
  for (int64_t room = 0; room < 5; room++) {
    memset(parts, 0x55, sizeof parts);
    assert_int_equal(attn_model_unknown(m, text, room, parts, &count, NULL), ATTN_OK);
    assert_true(count == 3);
    for (int64_t n = 0; n < 3 && n < room; n++)
      assert_true(parts[n].offset == offset[n] && parts[n].character == character[n] &&
                  parts[n].bytes == length[n]);
    if (room < 5) assert_int_equal(*(unsigned char *)&parts[room < 3 ? room : 3], 0x55);
  }
  assert_int_equal(attn_model_unknown(m, text, -1, parts, &count, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_model_unknown(m, "1\xFF", 1, parts, &count, &err), ATTN_ERR_FORMAT);
  assert_true(count == 0);
  attn_model_free(m);
}

/* What training wrote is what is told; the best and the last are of one run. */
static void a_checkpoint_tells_its_training(void **state) {
  (void)state;
  attn_model *m = open_model();
  attn_model_facts facts = {.struct_size = sizeof facts};
  assert_int_equal(attn_model_recognize(path), 1);
  assert_int_equal(attn_model_recognize(folder), 1);
  assert_int_equal(attn_model_recognize("/dev/null"), 0);
  assert_int_equal(attn_model_recognize("/nowhere"), 0);
  assert_int_equal(attn_model_describe(m, &facts, NULL), ATTN_OK);
  assert_true(facts.training && facts.step == 30 && facts.held_out_step == 30);
  assert_true(facts.held_out_most == 4 && facts.held_out_loss > 0);
  assert_true(facts.held_out_exact >= 0 && facts.held_out_exact <= 1);
  assert_string_equal(facts.task, "addition");
  assert_null(facts.data);
  assert_string_equal(facts.precision, "float32");
  assert_string_equal(facts.tokenizer, "characters");
  assert_true(facts.hidden == 16 && facts.kv_heads == 2);
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

static void a_lesson_has_points_in_a_locale_with_commas(void **state) {
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

static void expect_no_model(attn_status status, const char *says) {
  attn_model *m = (attn_model *)bytes;
  attn_error err = {.message = ""};
  assert_int_equal(attn_model_open(other, &m, &err), status);
  assert_null(m);
  if (!strstr(err.message, says)) fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

/* Exchanges a word of the header, wherever it stands, for another of the same length. */
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

static void files_that_are_no_models_are_refused(void **state) {
  (void)state;
  size_t size = slurp();
  exchange(size, "\"tokenizer\"", "\"tokenixer\""), expect_no_model(ATTN_ERR_FORMAT, "tokenizer");
  exchange(size, "\"config\"", "\"konfig\""), expect_no_model(ATTN_ERR_FORMAT, "config");
  exchange(size, "\"output.weight", "\"output.veight"),
      expect_no_model(ATTN_ERR_FORMAT, "output.weight");
  exchange(size, "\\\"hidden\\\":16", "\\\"hidden\\\":32"),
      expect_no_model(ATTN_ERR_FORMAT, "linear1");
  exchange(size, "\\\"encoder-decoder\\\"", "\\\"encoder\\\"        "),
      expect_no_model(ATTN_ERR_FORMAT, "weights by name");
  exchange(size, "coder_layers\\\":1", "coder_layers\\\":9"),
      expect_no_model(ATTN_ERR_FORMAT, "cannot hold");
  exchange(size, "vocabulary\\\":16", "vocabulary\\\":15"),
      expect_no_model(ATTN_ERR_FORMAT, "words, the model");
  for (size_t part = 0; part < size; part += size / 31)
    put(bytes, part), expect_no_model(ATTN_ERR_FORMAT, "");
  remove(other), expect_no_model(ATTN_ERR_FILE, "other");
  put(bytes, size);
  attn_model *m;
  assert_int_equal(attn_model_open(other, &m, NULL), ATTN_OK);
  attn_model_free(m), attn_model_free(NULL);
}

/* Its source has a table of its own: a row for each word. */
static void an_encoder_has_a_row_for_each_word(void **state) {
  (void)state;
  size_t size = slurp();
  exchange(size, "source_vocabulary\\\":16", "source_vocabulary\\\":15");
  expect_no_model(ATTN_ERR_FORMAT, "the tokenizer has 16 words");
}

#define LAW(name, begin) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      LAW(a_reply_depends_on_its_text_alone, with_encoder),
      LAW(an_older_caller_is_served, with_encoder),
      LAW(structs_to_be_filled_are_as_long_as_the_caller_says, with_encoder),
      LAW(unknown_parts_are_told, with_encoder),
      LAW(a_checkpoint_tells_its_training, with_encoder),
      LAW(a_checkpoint_tells_its_training, encoder_alone),
      LAW(replies_say_what_they_are, with_encoder),
      LAW(a_decoder_alone_goes_on, alone),
      LAW(a_reply_depends_on_its_text_alone, encoder_alone),
      LAW(replies_say_what_they_are, encoder_alone),
      LAW(an_encoder_alone_has_a_token_for_each_place, encoder_alone),
      LAW(what_an_encoder_cannot_be_asked_is_refused, encoder_alone),
      LAW(what_cannot_be_asked_is_refused, with_encoder),
      LAW(a_lesson_has_points_in_a_locale_with_commas, with_encoder),
      LAW(files_that_are_no_models_are_refused, with_encoder),
      LAW(an_encoder_has_a_row_for_each_word, encoder_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
