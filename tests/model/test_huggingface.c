/* Hugging Face's files: configuration and weights are read as they were written; each weight is in
 * the tensor of its name; truncated, missing, unused and unsupported content is rejected by name.
 * tests/python/test_huggingface.py compares the results with transformers.
 *
 *     test_huggingface [SEED] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/io.h"
#include "huggingface.h"
#include "generation_defaults.h"
#include "random.h"
#include "scratch.h"

enum { D = 8, F = 20 };

static const char *const configs[] = {
    "{\"model_type\": \"bert\", \"architectures\": [\"BertForMaskedLM\"], \"vocab_size\": 11, "
    "\"hidden_size\": 8, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
    "\"intermediate_size\": 20, \"max_position_embeddings\": 6}",
    "{\"model_type\": \"gpt2\", \"vocab_size\": 11, \"n_embd\": 8, \"n_layer\": 2, \"n_head\": 2, "
    "\"n_inner\": 20, \"n_positions\": 6, \"tie_word_embeddings\": false}",
    "{\"model_type\": \"marian\", \"vocab_size\": 11, \"d_model\": 8, \"encoder_layers\": 1, "
    "\"decoder_layers\": 2, \"encoder_attention_heads\": 2, \"decoder_attention_heads\": 2, "
    "\"encoder_ffn_dim\": 20, \"decoder_ffn_dim\": 20, \"max_position_embeddings\": 6, "
    "\"activation_function\": \"swish\"}"};
enum { FAMILIES = sizeof configs / sizeof *configs };

static char path[96];

static int begin(void **state) {
  (void)state;
  if (folder_begin()) return -1;
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  return 0;
}

static int end(void **state) { return (void)state, folder_end(); }

/* A network of random weights, and their block. */
static struct attn_network *new_network(const struct attn_model_config *c, float **block) {
  struct attn_network *n;
  assert_int_equal(attn_network_allocate(c, &n, block, NULL), ATTN_OK);
  for (int64_t e = 0; e < n->parameter_count; e++) (*block)[e] = uniform();
  return n;
}

static const struct attn_hf_family *parse(const char *json, struct attn_model_config *c) {
  const struct attn_hf_family *f = NULL;
  attn_error err;
  if (attn_hf_config_parse(json, strlen(json), c, &f, &err)) fail_msg("%s", err.message);
  return f;
}

static void reads_what_it_writes(void **state) {
  (void)state;
  for (int n = 0; n < FAMILIES; n++) {
    struct attn_model_config c, again;
    const struct attn_hf_family *f = parse(configs[n], &c);
    char *json, *twice;
    assert_int_equal(attn_hf_config_write(f, &c, &json, NULL), ATTN_OK);
    assert_ptr_equal(parse(json, &again), f);
    assert_int_equal(attn_hf_config_write(f, &again, &twice, NULL), ATTN_OK);
    assert_string_equal(json, twice);
    float *one, *other;
    struct attn_network *a = new_network(&c, &one), *b = new_network(&again, &other);
    assert_int_equal(a->parameter_count, b->parameter_count);
    assert_int_equal(attn_hf_weights_write(path, f, a, NULL), ATTN_OK);
    assert_int_equal(attn_hf_weights_read(path, f, b, NULL), ATTN_OK);
    assert_memory_equal(one, other, (size_t)a->parameter_count * sizeof *one);
    attn_network_free(a), attn_network_free(b);
    free(one), free(other), free(json), free(twice);
  }
}

/* Row i, column j of our parameter. */
static float ours(const struct attn_network *n, const char *name, int64_t i, int64_t j) {
  for (int p = 0; p < n->count; p++)
    if (!strcmp(n->parameters[p].name, name))
      return n->parameters[p].value.x[i * n->parameters[p].value.width + j];
  fail_msg("there is no %s", name);
  return 0;
}

static void each_weight_is_in_its_tensor(void **state) {
  (void)state;
  static const struct {
    int family;
    const char *theirs, *ours;
    int64_t rows, columns, first; /* theirs; our row of their first */
    int turned;
  } some[] = {
      {0, "bert.encoder.layer.1.attention.self.query.weight",
       "encoder.layers.1.self_attn.in_proj_weight", D, D, 0, 0},
      {0, "bert.encoder.layer.1.attention.self.key.weight",
       "encoder.layers.1.self_attn.in_proj_weight", D, D, D, 0},
      {0, "bert.encoder.layer.0.attention.self.value.weight",
       "encoder.layers.0.self_attn.in_proj_weight", D, D, 2 * D, 0},
      {0, "bert.encoder.layer.0.output.dense.weight", "encoder.layers.0.linear2.weight", D, F, 0,
       0},
      {1, "transformer.h.1.attn.c_attn.weight", "decoder.layers.1.self_attn.in_proj_weight", D,
       3 * D, 0, 1},
      {1, "transformer.h.0.mlp.c_fc.weight", "decoder.layers.0.linear1.weight", D, F, 0, 1},
      {1, "lm_head.weight", "output.weight", 11, D, 0, 0},
      {2, "final_logits_bias", "output.bias", 1, 11, 0, 0},
      {2, "model.decoder.layers.1.encoder_attn.k_proj.weight",
       "decoder.layers.1.multihead_attn.in_proj_weight", D, D, D, 0},
  };
  for (size_t s = 0; s < sizeof some / sizeof *some; s++) {
    char full[200];
    struct attn_model_config c;
    attn_array theirs;
    float *block;
    const struct attn_hf_family *f = parse(configs[some[s].family], &c);
    struct attn_network *n = new_network(&c, &block);
    assert_int_equal(attn_hf_weights_write(path, f, n, NULL), ATTN_OK);
    snprintf(full, sizeof full, "%s:%s", path, some[s].theirs);
    assert_int_equal(attn_array_read(full, &theirs, NULL), ATTN_OK);
    assert_int_equal(theirs.tensor.rank, 2);
    assert_int_equal(theirs.tensor.shape[0], some[s].rows);
    assert_int_equal(theirs.tensor.shape[1], some[s].columns);
    const float *x = theirs.tensor.data;
    for (int64_t i = 0; i < some[s].rows; i++)
      for (int64_t j = 0; j < some[s].columns; j++)
        assert_true(*x++ == (some[s].turned ? ours(n, some[s].ours, j, i)
                                            : ours(n, some[s].ours, some[s].first + i, j)));
    attn_array_free(&theirs), attn_network_free(n), free(block);
  }
}

static void rejects_invalid_configurations_by_name(void **state) {
  (void)state;
  static const struct {
    const char *json, *expected;
  } wrong[] = {{"", "line"},
               {"[]", "model_type"},
               {"{\"model_type\": 7}", "model_type"},
               {"{\"model_type\": \"opt\"}", "opt"},
               {"{\"model_type\": \"bert\"}", "architectures"},
               {"{\"model_type\": \"bert\", \"architectures\": []}", "architectures"},
               {"{\"model_type\": \"gpt2\", \"n_head\": 0}", "num_heads"},
               {"{\"model_type\": \"gpt2\", \"n_head\": [1, 2]}", "heads"},
               {"{\"model_type\": \"gpt2\", \"activation_function\": \"mish\"}", "mish"},
               {"{\"model_type\": \"gpt2\", \"add_cross_attention\": true}", "add_cross_attention"},
               {"{\"model_type\": \"marian\", \"vocab_size\": 9, \"decoder_ffn_dim\": 9}",
                "decoder_ffn_dim"},
               {"{\"model_type\": \"marian\"}", "vocab_size"}};
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    struct attn_model_config c = {.d_model = 42};
    const struct attn_hf_family *f = NULL;
    attn_error err = {.message = ""};
    if (attn_hf_config_parse(wrong[n].json, strlen(wrong[n].json), &c, &f, &err) !=
            ATTN_ERR_FORMAT ||
        !strstr(err.message, wrong[n].expected))
      fail_msg("%s: %s", wrong[n].json, err.message);
    assert_int_equal(c.d_model, 42), assert_null(f);
  }
}

/* Every prefix of a configuration, and every byte replaced. */
static void broken_configurations_are_read_or_rejected(void **state) {
  (void)state;
  for (int n = 0; n < FAMILIES; n++)
    for (size_t length = strlen(configs[n]), at = 0; at < 2 * length; at++) {
      char *copy = strdup(configs[n]);
      struct attn_model_config c;
      const struct attn_hf_family *f;
      if (at >= length) copy[at - length] = (char)(32 + below(95));
      attn_status status = attn_hf_config_parse(copy, at < length ? at : length, &c, &f, NULL);
      assert_true(status == ATTN_OK || status == ATTN_ERR_FORMAT);
      assert_true(at >= length || status);
      free(copy);
    }
}

/* jansson alone ignores a NUL after a number or a literal. */
static void rejects_a_nul_anywhere(void **state) {
  (void)state;
  for (int n = 0; n < FAMILIES; n++)
    for (size_t length = strlen(configs[n]), at = 0; at <= length; at++) {
      char *text = calloc(length + 1, 1);
      struct attn_model_config c;
      const struct attn_hf_family *f;
      memcpy(text, configs[n], at), memcpy(text + at + 1, configs[n] + at, length - at);
      assert_int_equal(attn_hf_config_parse(text, length + 1, &c, &f, NULL), ATTN_ERR_FORMAT);
      free(text);
    }
}

static void rejects_what_the_family_cannot_represent(void **state) {
  (void)state;
  static const struct {
    const char *json, *family, *expected;
  } wrong[] = {
      {"{\"vocab_size\": 9, \"d_model\": 8, \"num_heads\": 2, \"kind\": \"decoder\"}", "gpt2",
       "positions"},
      {"{\"vocab_size\": 9, \"d_model\": 8, \"num_heads\": 2, \"kind\": \"decoder\"}", "bert",
       "head"},
      {"{\"vocab_size\": 9, \"d_model\": 8, \"num_heads\": 2, \"kind\": \"decoder\", "
       "\"num_kv_heads\": 1, "
       "\"positions\": \"learned\", \"scale_embedding\": false, \"tie_word_embeddings\": true}",
       "gpt2", "kv_heads"}};
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    const struct attn_hf_family *f = attn_hf_family_find(wrong[n].family);
    struct attn_model_config c;
    attn_error err = {.message = ""};
    float *block;
    char *json = NULL;
    assert_int_equal(attn_model_config_parse(wrong[n].json, strlen(wrong[n].json), &c, NULL),
                     ATTN_OK);
    assert_int_equal(attn_hf_config_write(f, &c, &json, &err), ATTN_ERR_ARGUMENT);
    if (!strstr(err.message, wrong[n].expected)) fail_msg("%s", err.message);
    assert_null(json);
    struct attn_network *w = new_network(&c, &block);
    if (n < 2) assert_int_equal(attn_hf_weights_write(path, f, w, NULL), ATTN_ERR_ARGUMENT);
    attn_network_free(w), free(block);
  }
}

static void expect_refused(const struct attn_hf_family *f, struct attn_network *n,
                           const char *expected) {
  attn_error err = {.message = ""};
  assert_int_equal(attn_hf_weights_read(path, f, n, &err), ATTN_ERR_FORMAT);
  if (!strstr(err.message, expected))
    fail_msg("\"%s\" does not contain \"%s\"", err.message, expected);
}

static void rejects_missing_and_unused_tensors(void **state) {
  (void)state;
  struct attn_model_config c, less;
  float *block, *fewer;
  char full[200], bytes[400];
  const struct attn_hf_family *f = parse(configs[1], &c);
  less = c, less.decoder_layers = 1;
  struct attn_network *n = new_network(&c, &block), *shorter = new_network(&less, &fewer);
  assert_int_equal(attn_hf_weights_write(path, f, n, NULL), ATTN_OK);
  expect_refused(f, shorter, "transformer.h.1.");
  snprintf(full, sizeof full, "%s:transformer.ln_f.bias", path);
  attn_tensor one = {block, ATTN_F32, 1, {D - 1}, {1}};
  assert_int_equal(attn_array_write(full, &one, NULL), ATTN_OK);
  expect_refused(f, n, "ln_f.bias");
  one.shape[0] = D, one.dtype = ATTN_I32;
  assert_int_equal(attn_array_write(full, &one, NULL), ATTN_OK);
  assert_int_not_equal(attn_hf_weights_read(path, f, n, NULL), ATTN_ERR_MEMORY);
  assert_int_equal(attn_hf_weights_write(path, f, shorter, NULL), ATTN_OK);
  expect_refused(f, n, "transformer.h.1.ln_1.weight");
  FILE *file = fopen(path, "rb");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file), file = fopen(path, "wb");
  assert_true(fwrite(bytes, 1, size, file) == size && !fclose(file));
  expect_refused(f, n, "");
  remove(path);
  assert_int_equal(attn_hf_weights_read(path, f, n, NULL), ATTN_ERR_FILE);
  attn_network_free(n), attn_network_free(shorter), free(block), free(fewer);
}

/* Read, or rejected with the member and its value. */
static void reads_generation_config(void **state) {
  (void)state;
  static const char right[] =
      "{\"decoder_start_token_id\": 3, \"eos_token_id\": [2], \"forced_eos_token_id\": 2, "
      "\"max_length\": 9, \"num_beams\": 4, \"length_penalty\": 0.5, \"early_stopping\": true, "
      "\"bad_words_ids\": [[3], [2]], \"top_k\": 7, \"min_length\": null, \"repetition_penalty\": "
      "1}";
  static const struct {
    const char *json, *expected;
  } wrong[] = {
      {"[]", "expected an object"},
      {"{", "line 1"},
      {"{\"eos_token_id\": 2}", "\"decoder_start_token_id\""},
      {"{\"bos_token_id\": 1, \"eos_token_id\": 11}", "vocabulary, got 11"},
      {"{\"bos_token_id\": 1, \"repetition_penalty\": 1.5}", "\"repetition_penalty\" is 1.5"},
      {"{\"bos_token_id\": 1, \"do_sample\": true}", "\"do_sample\" is true"},
      {"{\"bos_token_id\": 1, \"forced_eos_token_id\": 2}",
       "\"forced_eos_token_id\" must be eos_token_id, got 2"},
      {"{\"bos_token_id\": 1, \"bad_words_ids\": [[1, 2]]}",
       "\"bad_words_ids\" must be words of one token each, got [[1,2]]"}};
  struct attn_model_config c;
  struct attn_generation_defaults g = {.source_bos = 7, .source_eos = 8};
  attn_error err = {.message = ""};
  parse(configs[2], &c);
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    if (attn_generation_defaults_read(wrong[n].json, strlen(wrong[n].json), "g", &c, &g, &err) !=
            ATTN_ERR_FORMAT ||
        !strstr(err.message, wrong[n].expected))
      fail_msg("%s: %s", wrong[n].json, err.message);
    assert_true(g.source_bos == 7 && !g.search.suppressed && !g.search.max_length);
  }
  assert_int_equal(attn_generation_defaults_read(right, sizeof right - 1, "g", &c, &g, &err),
                   ATTN_OK);
  assert_true(g.search.bos == 3 && g.search.eos == 2 && g.search.force_eos &&
              g.search.max_length == 9 && g.search.num_beams == 4);
  assert_true(g.search.length_penalty == 0.5 && g.search.early_stopping &&
              g.search.num_suppressed == 1 && g.search.suppressed[0] == 3);
  assert_true(g.search.rule == ATTN_BEAM_RULE_HUGGING_FACE && g.source_bos == 7 &&
              g.source_eos == 8);
  char *text = attn_generation_defaults_write(&c, &g);
  struct attn_generation_defaults again = {.source_bos = 7};
  assert_int_equal(attn_generation_defaults_read(text, strlen(text), "g", &c, &again, &err),
                   ATTN_OK);
  char *twice = attn_generation_defaults_write(&c, &again);
  assert_string_equal(text, twice);
  free(text), free(twice), free((void *)g.search.suppressed), free((void *)again.search.suppressed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {TEST(reads_what_it_writes),
                                     TEST(each_weight_is_in_its_tensor),
                                     TEST(rejects_invalid_configurations_by_name),
                                     TEST(broken_configurations_are_read_or_rejected),
                                     TEST(rejects_a_nul_anywhere),
                                     TEST(rejects_what_the_family_cannot_represent),
                                     TEST(rejects_missing_and_unused_tensors),
                                     TEST(reads_generation_config)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
