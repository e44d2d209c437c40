/* Embeddings: pooled hidden vectors of the tokens with their special tokens; threads and other
 * texts change no bit; truncation and errors. tests/python/test_embed.py compares with Hugging
 * Face.
 *
 *     test_embed [SEED] */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "huggingface.h"
#include "model.h"
#include "random.h"
#include "scarce.h"
#include "scratch.h"

enum { D = 8, LENGTH = 9, TEXTS = 7, CLS = 1, SEP = 2 };

static const char config_text[] =
    "{\"model_type\": \"bert\", \"architectures\": [\"BertModel\"], \"vocab_size\": 9, "
    "\"hidden_size\": 8, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
    "\"intermediate_size\": 20, \"max_position_embeddings\": 9}";

#define TOKEN(id, word) "{\"id\":" id ",\"content\":\"" word "\",\"special\":true}"
#define PART(kind, id) "{\"" kind "\":{\"id\":\"" id "\",\"type_id\":0}}"
#define ENTRY(word, id) \
  "\"" word "\":{\"id\":\"" word "\",\"ids\":[" id "],\"tokens\":[\"" word "\"]}"
#define WORDS(truncation) \
  "{\"version\":\"1.0\"," truncation "\"added_tokens\":[" TOKEN("0", "[UNK]") "," TOKEN("1",    \
  "[CLS]") "," TOKEN("2", "[SEP]") "],\"normalizer\":{\"type\":\"BertNormalizer\","             \
  "\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true" \
  "},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"post_processor\":{\"type\":"           \
  "\"TemplateProcessing\",\"single\":[" PART("SpecialToken", "[CLS]") "," PART("Sequence", "A") \
  "," PART("SpecialToken", "[SEP]") "],\"special_tokens\":{" ENTRY("[CLS]", "1") "," ENTRY(     \
  "[SEP]", "2") "}},\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"   \
  "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":"    \
  "\"##\",\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0,\"[CLS]\":1,\"[SEP]\":2,"     \
  "\"a\":3,\"b\":4,\"##a\":5,\"##b\":6,\"!\":7}}}"

static const char *const texts[TEXTS] = {"a", "ab ba", "", "A!", "abba!", "c", "b a b a b"};

static attn_model *model;

static void put(const char *name, const char *text) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(attn_file_write(path, text, strlen(text), NULL), ATTN_OK);
}

static void take_away(const char *name) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(remove(path), 0);
}

static void put_weights(const char *config) {
  char path[128];
  struct attn_model_config c;
  struct attn_network *n;
  const struct attn_hf_family *f;
  assert_int_equal(attn_hf_config_parse(config, strlen(config), &c, &f, NULL), ATTN_OK);
  float *block;
  assert_int_equal(attn_network_allocate(&c, &n, &block, NULL), ATTN_OK);
  for (int64_t e = 0; e < n->parameter_count; e++) block[e] = uniform();
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  assert_int_equal(attn_hf_weights_write(path, f, n, NULL), ATTN_OK);
  attn_network_free(n), free(block);
}

static void reopen(void) {
  attn_error err;
  attn_model_free(model);
  if (attn_model_open(folder, &model, &err)) fail_msg("%s", err.message);
}

static int begin(void **state) {
  (void)state;
  if (folder_begin()) return -1;
  put("config.json", config_text), put("tokenizer.json", WORDS(""));
  put_weights(config_text);
  reopen();
  return 0;
}

static int end(void **state) {
  (void)state;
  attn_model_free(model);
  return folder_end();
}

static void embed(const char *const *which, int64_t count, attn_embedding_config how, float *out) {
  attn_error err;
  how.struct_size = sizeof how;
  if (attn_model_embed(model, which, count, &how, out, &err)) fail_msg("%s", err.message);
}

/* Hidden vectors of tokens that are known. */
static void hidden_of(const int32_t *tokens, int64_t n, float *out) {
  static const int32_t places[LENGTH] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  const int64_t starts[] = {0, n};
  const struct attn_token_batch text = {
      .n = n, .sequences = 1, .tokens = tokens, .position_ids = places, .starts = starts};
  struct attn_tape tape = {.host.threads = 1};
  attn_transformer_encode(model->network, &tape, &text);
  assert_int_equal(attn_tape_reserve(&tape, NULL), ATTN_OK);
  memcpy(out, attn_transformer_encode(model->network, &tape, &text)->x,
         (size_t)n * D * sizeof *out);
  attn_tape_close(&tape);
}

/* Each of the few operations rounds once: far within 1e-6 of numbers of order 1. */
static void vectors_are_pooled_hidden_vectors(void **state) {
  (void)state;
  static const int32_t tokens[] = {CLS, 3, 6, 4, 5, SEP}; /* ab ba */
  float hidden[6 * D], out[D];
  double mean[D] = {0}, squares = 0, other = 0;
  hidden_of(tokens, 6, hidden);
  for (int e = 0; e < 6 * D; e++) mean[e % D] += hidden[e] / 6.0;
  for (int d = 0; d < D; d++) squares += mean[d] * mean[d], other += hidden[d] * hidden[d];
  embed(texts + 1, 1, (attn_embedding_config){.normalize = ATTN_NORMALIZE_NONE}, out);
  for (int d = 0; d < D; d++) assert_true(fabs(out[d] - mean[d]) < 1e-6);
  embed(texts + 1, 1, (attn_embedding_config){.normalize = 0}, out);
  for (int d = 0; d < D; d++) assert_true(fabs(out[d] - mean[d] / sqrt(squares)) < 1e-6);
  embed(texts + 1, 1, (attn_embedding_config){.pooling = ATTN_POOLING_CLS}, out);
  for (int d = 0; d < D; d++) assert_true(fabs(out[d] - hidden[d] / sqrt(other)) < 1e-6);
  embed(texts + 1, 1,
        (attn_embedding_config){.pooling = ATTN_POOLING_CLS, .normalize = ATTN_NORMALIZE_NONE},
        out);
  assert_memory_equal(out, hidden, sizeof out);
}

static void threads_and_batch_change_no_bit(void **state) {
  (void)state;
  float all[TEXTS * D], again[TEXTS * D], one[D];
  embed(texts, TEXTS, (attn_embedding_config){.threads = 1}, all);
  embed(texts, TEXTS, (attn_embedding_config){.threads = 4}, again);
  assert_memory_equal(again, all, sizeof all);
  for (int n = 0; n < TEXTS; n++) {
    embed(texts + n, 1, (attn_embedding_config){.threads = 0}, one);
    assert_memory_equal(one, all + (ptrdiff_t)n * D, sizeof one);
  }
  /* Other orders of sums: some hundred roundings of numbers that are at most 1. */
  for (int together = 2; together < 9; together++) {
    embed(texts, TEXTS, (attn_embedding_config){.batch_size = together}, again);
    for (int e = 0; e < TEXTS * D; e++) assert_true(fabsf(again[e] - all[e]) < 1e-5F);
  }
  embed(texts, 0, (attn_embedding_config){.threads = 1}, NULL);
}

/* A text that is cut has the vector of what is left of it. */
static void truncation_keeps_the_end_token(void **state) {
  (void)state;
  const char *long_ones[] = {"abbbbbb", "abbbbbbb", "abbb", "abbbbbbbbbbb"};
  const char *five = "abbbb";
  float out[4 * D], left[D], before[D] = {7};
  attn_error err;
  embed(long_ones, 1, (attn_embedding_config){.threads = 1}, out); /* nine tokens: they fit */
  *out = 7;
  assert_int_equal(attn_model_embed(model, long_ones + 1, 1, NULL, out, &err), ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "texts");
  assert_true(*out == *before);
  put("tokenizer.json",
      WORDS("\"truncation\":{\"max_length\":6,\"strategy\":\"LongestFirst\",\"stride\":0},"));
  reopen();
  embed(long_ones, 4, (attn_embedding_config){.threads = 1}, out);
  for (int n = 0; n < 4; n++) assert_memory_equal(out + (ptrdiff_t)n * D, out, D * sizeof *out);
  put("sentence_bert_config.json", "{\"max_seq_length\": 7}");
  reopen();
  embed(long_ones, 4, (attn_embedding_config){.threads = 1}, out);
  assert_memory_equal(out + D, out, D * sizeof *out);
  embed(&five, 1, (attn_embedding_config){.threads = 1}, left);
  assert_memory_equal(left, out, sizeof left);
  assert_memory_not_equal(out + (ptrdiff_t)2 * D, out, D * sizeof *out);
  put("sentence_bert_config.json", "{\"max_seq_length\": 1000}");
  reopen();
  embed(long_ones, 4, (attn_embedding_config){.threads = 1}, out);
  assert_memory_equal(out + (ptrdiff_t)3 * D, out + D, D * sizeof *out);
  take_away("sentence_bert_config.json");
  put("tokenizer.json", WORDS(""));
  reopen();
}

static void defaults_are_those_of_the_folder(void **state) {
  (void)state;
  float own[D], asked[D];
  char path[96];
  snprintf(path, sizeof path, "%s/P", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  put("modules.json",
      "[{\"type\": \"s.Transformer\", \"path\": \"\"}, {\"type\": \"s.Pooling\", "
      "\"path\": \"P\"}]");
  put("P/config.json", "{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": false}");
  reopen();
  embed(texts + 1, 1, (attn_embedding_config){.threads = 1}, own);
  embed(texts + 1, 1,
        (attn_embedding_config){.pooling = ATTN_POOLING_CLS, .normalize = ATTN_NORMALIZE_NONE},
        asked);
  assert_memory_equal(own, asked, sizeof own);
  take_away("modules.json");
  reopen();
}

static int stop(void *context, int64_t done, int64_t total) {
  int *calls = context;
  assert_true(done >= 1 && done <= total && total == TEXTS);
  return ++*calls == 2;
}

static void rejects_invalid_calls(void **state) {
  (void)state;
  static const struct {
    attn_embedding_config how;
    int64_t count;
    const char *argument;
  } bad[] = {{{.pooling = 3}, 1, "pooling"},     {{.pooling = -1}, 1, "pooling"},
             {{.normalize = 3}, 1, "normalize"}, {{.normalize = -1}, 1, "normalize"},
             {{.threads = -1}, 1, "threads"},    {{.batch_size = -1}, 1, "batch_size"},
             {{.threads = 1}, -1, "count"},      {{.threads = 1}, (1 << 24) + 1, "count"}};
  const char *no_text = "a\xff";
  float out[TEXTS * D] = {7};
  attn_error err;
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    attn_embedding_config how = bad[n].how;
    how.struct_size = sizeof how;
    assert_int_equal(attn_model_embed(model, texts, bad[n].count, &how, out, &err),
                     ATTN_ERR_ARGUMENT);
    assert_string_equal(err.argument, bad[n].argument);
  }
  assert_int_equal(attn_model_embed(model, &no_text, 1, NULL, out, &err), ATTN_ERR_FORMAT);
  assert_true(out[0] == 7);
  int calls = 0;
  attn_embedding_config how = {sizeof how, .threads = 1, .progress = stop,
                               .progress_context = &calls};
  assert_int_equal(attn_model_embed(model, texts, TEXTS, &how, out, &err), ATTN_ERR_INTERRUPTED);
  assert_int_equal(calls, 2);
}

/* With a head too: its special tokens are not those of an encoder trained by attn. */
static void an_encoder_folder_cannot_generate(void **state) {
  (void)state;
  static const char masked[] =
      "{\"model_type\": \"bert\", \"architectures\": [\"BertForMaskedLM\"], \"vocab_size\": 9, "
      "\"hidden_size\": 8, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
      "\"intermediate_size\": 20, \"max_position_embeddings\": 9}";
  attn_error err;
  for (int head = 0; head < 2; head++) {
    attn_generation_result reply = ATTN_GENERATION_RESULT_INIT;
    if (head) put("config.json", masked), put_weights(masked), reopen();
    assert_int_equal(attn_model_generate(model, texts, 1, NULL, &reply, &err), ATTN_ERR_ARGUMENT);
    assert_string_equal(err.argument, "model");
    assert_null(reply.text);
  }
}

static attn_status embed_texts(void *out) {
  const attn_embedding_config how = {sizeof how, .threads = 1, .batch_size = 3};
  return attn_model_embed(model, texts, TEXTS, &how, out, NULL);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  float out[TEXTS * D];
  assert_true(scarce_fail_each(embed_texts, out) >= 20);
}

static void rejects_invalid_folders(void **state) {
  (void)state;
  static const struct {
    const char *name, *text, *right, *expected;
    attn_status status;
  } bad[] = {{"config.json", "{", config_text, "config.json", ATTN_ERR_FORMAT},
             {"config.json",
              "{\"model_type\": \"gpt2\", \"vocab_size\": 11, \"n_embd\": 8, \"n_layer\": 2, "
              "\"n_head\": 2}",
              config_text, "a decoder's prompt", ATTN_ERR_FORMAT},
             {"tokenizer.json", "{}", WORDS(""), "tokenizer.json", ATTN_ERR_FORMAT},
             {"modules.json", "[", NULL, "modules.json, line 1", ATTN_ERR_FORMAT},
             {"modules.json", "[{\"type\": \"s.Pooling\", \"path\": \"nowhere\"}]", NULL,
              "nowhere/config.json", ATTN_ERR_FORMAT},
             {"modules.json", "[{\"type\": \"s.Transformer\", \"path\": \"0\"}]", NULL,
              "s.Transformer", ATTN_ERR_FORMAT}};
  attn_model *none;
  attn_error err;
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    put(bad[n].name, bad[n].text);
    assert_int_equal(attn_model_open(folder, &none, &err), bad[n].status);
    assert_non_null(strstr(err.message, bad[n].expected));
    assert_null(none);
    if (bad[n].right)
      put(bad[n].name, bad[n].right);
    else
      take_away(bad[n].name);
  }
  take_away("tokenizer.json");
  assert_int_equal(attn_model_open(folder, &none, &err), ATTN_ERR_FILE);
  put("tokenizer.json", WORDS(""));
}

static int look(void *context, const attn_attention *a) {
  static const char *const read[] = {"[CLS]", "a", "##b", "b", "##a", "[SEP]"};
  int *seen = context;
  assert_int_equal(a->kind, ATTN_ATTENTION_ENCODER);
  assert_int_equal(a->keys, 6);
  for (int n = 0; n < 6; n++) assert_string_equal(a->key_tokens[n], read[n]);
  return ++*seen, 0;
}

static void attention_can_be_visited(void **state) {
  (void)state;
  int seen = 0;
  assert_int_equal(attn_model_visit_attention(model, "ab ba", NULL, 1, look, &seen, NULL), ATTN_OK);
  assert_int_equal(seen, 4);
}

static void info_of_an_older_caller(void **state) {
  (void)state;
  attn_model_info facts = {.struct_size = sizeof facts}, old = {.d_model = 77};
  old.struct_size = offsetof(attn_model_info, d_model);
  assert_int_equal(attn_model_describe(model, &facts, NULL), ATTN_OK);
  assert_int_equal(facts.d_model, D);
  assert_int_equal(attn_model_describe(model, &old, NULL), ATTN_OK);
  assert_true(old.d_model == 77 && old.num_heads == 2);
  old.struct_size--;
  assert_int_equal(attn_model_describe(model, &old, NULL), ATTN_ERR_ARGUMENT);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(vectors_are_pooled_hidden_vectors),
                                     cmocka_unit_test(threads_and_batch_change_no_bit),
                                     cmocka_unit_test(truncation_keeps_the_end_token),
                                     cmocka_unit_test(defaults_are_those_of_the_folder),
                                     cmocka_unit_test(rejects_invalid_calls),
                                     cmocka_unit_test(survives_every_failing_allocation),
                                     cmocka_unit_test(rejects_invalid_folders),
                                     cmocka_unit_test(attention_can_be_visited),
                                     cmocka_unit_test(info_of_an_older_caller),
                                     cmocka_unit_test(an_encoder_folder_cannot_generate)};
  random_begin(argc, argv);
  return cmocka_run_group_tests(tests, begin, end);
}
