/* Configurations: reading what was written, and rejecting invalid ones by name, without a change of
 * the output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "network.h"

static attn_status parse(const char *json, struct attn_model_config *c, attn_error *err) {
  return attn_model_config_parse(json, strlen(json), c, err);
}

static void defaults_depend_on_other_members(void **state) {
  (void)state;
  struct attn_model_config c;
  assert_int_equal(parse("{\"vocab_size\": 100, \"d_model\": 64, \"num_heads\": 4}", &c, NULL),
                   ATTN_OK);
  assert_int_equal(c.source_vocab_size, 100), assert_int_equal(c.ffn_dim, 256);
  assert_int_equal(c.head_dim, 16), assert_int_equal(c.num_kv_heads, 4);
  assert_int_equal(c.encoder_layers, 6), assert_int_equal(c.kind, ATTN_ENCODER_DECODER);
  assert_int_equal(c.output_bias, 1);
  assert_int_equal(parse("{\"vocab_size\": 9, \"tie_word_embeddings\": true}", &c, NULL), ATTN_OK);
  assert_int_equal(c.output_bias, 0);
  assert_int_equal(parse("{\"vocab_size\": 9, \"bias\": false}", &c, NULL), ATTN_OK);
  assert_int_equal(c.output_bias, 0);
}

static void reads_what_it_writes(void **state) {
  (void)state;
  struct attn_model_config c, again;
  const char *json =
      "{\"kind\": \"decoder\", \"vocab_size\": 7, \"positions\": \"rotary\", \"num_heads\": 2,"
      "\"d_model\": 8, \"activation\": \"swiglu\", \"norm\": \"rms_norm\", \"dropout\": 0.25}";
  assert_int_equal(parse(json, &c, NULL), ATTN_OK);
  char *text = attn_model_config_write(&c);
  assert_int_equal(parse(text, &again, NULL), ATTN_OK);
  char *twice = attn_model_config_write(&again);
  assert_string_equal(text, twice);
  assert_int_equal(again.kind, ATTN_DECODER), assert_int_equal(again.activation, ATTN_SWIGLU);
  free(text), free(twice);
}

/* "none" is a factor of 1, "default" 1 / sqrt(head_dim), which is written as such. */
static void reads_and_writes_the_scale(void **state) {
  (void)state;
  static const struct {
    const char *json, *written;
    double scale;
  } cases[] = {{"{\"vocab_size\": 9}", "\"scale\":\"default\"", 0},
               {"{\"vocab_size\": 9, \"scale\": \"default\"}", "\"scale\":\"default\"", 0},
               {"{\"vocab_size\": 9, \"scale\": \"none\"}", "\"scale\":1.0", 1},
               {"{\"vocab_size\": 9, \"scale\": 0.5}", "\"scale\":0.5", 0.5}};
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
    struct attn_model_config c;
    assert_int_equal(parse(cases[n].json, &c, NULL), ATTN_OK);
    assert_true(c.scale == cases[n].scale);
    char *text = attn_model_config_write(&c);
    assert_non_null(strstr(text, cases[n].written));
    free(text);
  }
}

/* The score's alignment and its scale: the defaults depend on the kind of model. */
static void reads_and_writes_the_alignment(void **state) {
  (void)state;
  static const char lstm[] = "\"kind\": \"vision-encoder-decoder\", \"decoder_type\": \"lstm\"";
  static const struct {
    const char *more, *written;
    double scale;
  } cases[] = {{"\"head_dim\": 16", "\"alignment\":\"scaled\"", 0.25},
               {"\"alignment\": \"scaled\", \"scale\": 3", "\"alignment\":\"scaled\"", 3},
               {"\"alignment\": \"dot\"", "\"alignment\":\"dot\"", 1},
               {"\"alignment\": \"general\", \"scale\": 0.5", "\"alignment\":\"general\"", 0.5},
               {"\"alignment\": \"additive\"", "\"alignment\":\"additive\"", 1},
               {"\"alignment\": \"uniform\", \"scale\": 3", "\"alignment\":\"uniform\"", 0},
               {lstm, "\"alignment\":\"additive\"", 1}};
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
    struct attn_model_config c, again;
    char json[200];
    snprintf(json, sizeof json, "{\"vocab_size\": 9, %s}", cases[n].more);
    assert_int_equal(parse(json, &c, NULL), ATTN_OK);
    assert_true(attn_model_score_scale(&c) == cases[n].scale);
    char *text = attn_model_config_write(&c);
    assert_non_null(strstr(text, cases[n].written));
    assert_int_equal(parse(text, &again, NULL), ATTN_OK);
    assert_int_equal(c.alignment, again.alignment);
    free(text);
  }
}

static void rejects_invalid_configurations_by_name(void **state) {
  (void)state;
  static const struct {
    const char *json, *expected;
  } wrong[] = {
      {"", "line"},
      {"[]", "object"},
      {"{}", "vocab_size"},
      {"{\"vocab_size\": 0}", "vocab_size"},
      {"{\"vocab_size\": 1e9}", "vocab_size"},
      {"{\"vocab_size\": 99999999999}", "vocab_size"},
      {"{\"vocab_size\": 9, \"vocab_size\": 9}", "duplicate"},
      {"{\"vocab_size\": 9, \"widht\": 9}", "widht"},
      {"{\"vocab_size\": 9, \"encoder_layers\": 1025}", "encoder_layers"},
      {"{\"vocab_size\": 9, \"vocabulary\": 9}", "former name"},
      {"{\"vocab_size\": 9, \"rms_norm\": 1}", "norm"},
      {"{\"vocab_size\": 9, \"num_heads\": 0}", "num_heads"},
      {"{\"vocab_size\": 9, \"num_heads\": 600}", "num_heads"},
      {"{\"vocab_size\": 9, \"num_heads\": 4, \"num_kv_heads\": 3}", "num_kv_heads"},
      {"{\"vocab_size\": 9, \"positions\": \"here\"}", "positions"},
      {"{\"vocab_size\": 9, \"positions\": 1}", "positions"},
      {"{\"vocab_size\": 9, \"bias\": 1}", "bias"},
      {"{\"vocab_size\": 9, \"dropout\": 1}", "dropout"},
      {"{\"vocab_size\": 9, \"dropout\": \"0\"}", "dropout"},
      {"{\"vocab_size\": 9, \"norm_eps\": -1}", "norm_eps"},
      {"{\"vocab_size\": 9, \"scale\": 0}", "scale"},
      {"{\"vocab_size\": 9, \"scale\": \"sqrt\"}", "scale"},
      {"{\"vocab_size\": 9, \"residual\": 0}", "residual"},
      {"{\"vocab_size\": 9, \"alignment\": \"luong\"}", "additive, dot, scaled"},
      {"{\"vocab_size\": 9, \"alignment\": \"none\"}", "\"none\" requires decoder_type"},
      {"{\"vocab_size\": 9, \"alignment\": \"additive\", \"positions\": \"rotary\"}", "rotary"},
      {"{\"vocab_size\": 9, \"alignment\": \"uniform\", \"positions\": \"alibi\"}", "alibi"},
      {"{\"vocab_size\": 9, \"head_dim\": 3, \"positions\": \"rotary\"}", "head_dim"},
      {"{\"vocab_size\": 9, \"source_vocab_size\": 8, \"share_encoder_decoder_embeddings\": true}",
       "share_encoder"},
      {"{\"vocab_size\": 9, \"position_mode\": \"concatenate\"}", "position_dim"},
      {"{\"vocab_size\": 9, \"position_mode\": \"concatenate\", \"position_dim\": 4, "
       "\"tie_word_embeddings\": true}",
       "tie_word_embeddings"},
      {"{\"vocab_size\": 9, \"kind\": \"decoder\", \"type_vocab_size\": 2}", "type_vocab_size"},
      {"{\"vocab_size\": 9, \"head\": \"none\"}", "head"},
      {"{\"vocab_size\": 9, \"num_heads\": 512, \"head_dim\": 32769}", "num_heads"},
      {"{\"vocab_size\": 9, \"num_heads\": 512, \"value_head_dim\": 32769}", "num_heads"},
      {"{\"vocab_size\": 9, \"d_model\": 4194312}", "ffn_dim"},
      /* computed tables: 2^26 values and one row more */
      {"{\"vocab_size\": 9, \"d_model\": 512, \"max_positions\": 131073}", "max_positions"},
      {"{\"vocab_size\": 9, \"d_model\": 512, \"max_positions\": 131073, "
       "\"positions\": \"sinusoidal_halves\"}",
       "max_positions"},
      {"{\"vocab_size\": 9, \"max_positions\": 1048577, \"positions\": \"rotary\"}",
       "max_positions"},
  };
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    struct attn_model_config c = {.d_model = 42};
    attn_error err;
    if (parse(wrong[n].json, &c, &err) != ATTN_ERR_FORMAT ||
        !strstr(err.message, wrong[n].expected))
      fail_msg("%s: %s", wrong[n].json, err.message);
    assert_int_equal(c.d_model, 42);
  }
}

static void reads_former_names(void **state) {
  (void)state;
  struct attn_model_config former, current;
  assert_int_equal(
      parse("{\"source_vocabulary\": 8, \"vocabulary\": 9, \"width\": 24, \"hidden\": 40, "
            "\"heads\": 4, \"kv_heads\": 2, \"key_width\": 3, \"value_width\": 5, \"length\": 30, "
            "\"position_joining\": \"concatenate\", \"position_width\": 6, \"rms_norm\": true, "
            "\"epsilon\": 0.5, \"shared_embedding\": false, \"tied_output\": false, "
            "\"scaled_embedding\": false, \"embedding_norm\": true, \"token_types\": 2}",
            &former, NULL),
      ATTN_OK);
  assert_int_equal(
      parse("{\"source_vocab_size\": 8, \"vocab_size\": 9, \"d_model\": 24, \"ffn_dim\": 40, "
            "\"num_heads\": 4, \"num_kv_heads\": 2, \"head_dim\": 3, \"value_head_dim\": 5, "
            "\"max_positions\": 30, \"position_mode\": \"concatenate\", \"position_dim\": 6, "
            "\"norm\": \"rms_norm\", \"norm_eps\": 0.5, "
            "\"share_encoder_decoder_embeddings\": false, \"tie_word_embeddings\": false, "
            "\"scale_embedding\": false, \"normalize_embedding\": true, \"type_vocab_size\": 2}",
            &current, NULL),
      ATTN_OK);
  char *one = attn_model_config_write(&former), *other = attn_model_config_write(&current);
  assert_string_equal(one, other);
  free(one), free(other);
}

/* jansson alone ignores a NUL after a number or a literal. */
static void rejects_a_nul_anywhere(void **state) {
  (void)state;
  static const char json[] = "{\"vocab_size\": 9, \"d_model\": 8, \"bias\": true}";
  enum { LENGTH = sizeof json - 1 };
  for (size_t at = 0; at <= LENGTH; at++) {
    char text[LENGTH + 1];
    struct attn_model_config c;
    memcpy(text, json, at), text[at] = 0, memcpy(text + at + 1, json + at, LENGTH - at);
    assert_int_equal(attn_model_config_parse(text, sizeof text, &c, NULL), ATTN_ERR_FORMAT);
  }
}

static void accepts_tables_up_to_the_limit(void **state) {
  (void)state;
  struct attn_model_config c;
  assert_int_equal(parse("{\"vocab_size\": 9, \"max_positions\": 131072}", &c, NULL), ATTN_OK);
  assert_int_equal(
      parse("{\"vocab_size\": 9, \"max_positions\": 1048576, \"positions\": \"rotary\"}", &c, NULL),
      ATTN_OK);
  assert_int_equal(
      parse("{\"vocab_size\": 9, \"max_positions\": 16777216, \"positions\": \"alibi\"}", &c, NULL),
      ATTN_OK);
}

static void parameters_have_pytorch_names(void **state) {
  (void)state;
  static const char *const some[] = {"encoder.layers.0.self_attn.in_proj_weight",
                                     "encoder.layers.1.linear2.bias",
                                     "decoder.layers.1.multihead_attn.out_proj.weight",
                                     "decoder.layers.0.norm3.bias",
                                     "encoder.norm.weight",
                                     "decoder.norm.bias"};
  struct attn_model_config c;
  struct attn_network *n;
  assert_int_equal(
      parse("{\"vocab_size\": 9, \"d_model\": 8, \"num_heads\": 2, \"encoder_layers\": 2,"
            "\"decoder_layers\": 2}",
            &c, NULL),
      ATTN_OK);
  assert_int_equal(attn_network_new(&c, NULL, NULL, &n, NULL), ATTN_OK);
  for (size_t s = 0; s < sizeof some / sizeof *some; s++) {
    int found = 0;
    for (int p = 0; p < n->count; p++) found += !strcmp(n->parameters[p].name, some[s]);
    if (found != 1) fail_msg("%s: %d of that name", some[s], found);
  }
  attn_network_free(n);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(defaults_depend_on_other_members),
                                     cmocka_unit_test(reads_what_it_writes),
                                     cmocka_unit_test(reads_and_writes_the_scale),
                                     cmocka_unit_test(reads_and_writes_the_alignment),
                                     cmocka_unit_test(rejects_invalid_configurations_by_name),
                                     cmocka_unit_test(reads_former_names),
                                     cmocka_unit_test(rejects_a_nul_anywhere),
                                     cmocka_unit_test(accepts_tables_up_to_the_limit),
                                     cmocka_unit_test(parameters_have_pytorch_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
