/* Laws of configurations: what is written is read back; what cannot be is refused by name, and
 * changes nothing. */
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

static void defaults_follow_from_what_is_said(void **state) {
  (void)state;
  struct attn_model_config c;
  assert_int_equal(parse("{\"vocabulary\": 100, \"width\": 64, \"heads\": 4}", &c, NULL), ATTN_OK);
  assert_int_equal(c.source_vocab_size, 100), assert_int_equal(c.hidden, 256);
  assert_int_equal(c.key_width, 16), assert_int_equal(c.kv_heads, 4);
  assert_int_equal(c.encoder_layers, 6), assert_int_equal(c.kind, ATTN_ENCODER_DECODER);
  assert_int_equal(c.output_bias, 1);
  assert_int_equal(parse("{\"vocabulary\": 9, \"tied_output\": true}", &c, NULL), ATTN_OK);
  assert_int_equal(c.output_bias, 0);
  assert_int_equal(parse("{\"vocabulary\": 9, \"bias\": false}", &c, NULL), ATTN_OK);
  assert_int_equal(c.output_bias, 0);
}

static void what_is_written_is_read_back(void **state) {
  (void)state;
  struct attn_model_config c, again;
  const char *json =
      "{\"kind\": \"decoder\", \"vocabulary\": 7, \"positions\": \"rotary\", \"heads\": 2,"
      "\"width\": 8, \"activation\": \"swiglu\", \"rms_norm\": true, \"dropout\": 0.25}";
  assert_int_equal(parse(json, &c, NULL), ATTN_OK);
  char *text = attn_model_config_write(&c);
  assert_int_equal(parse(text, &again, NULL), ATTN_OK);
  char *twice = attn_model_config_write(&again);
  assert_string_equal(text, twice);
  assert_int_equal(again.kind, ATTN_DECODER), assert_int_equal(again.activation, ATTN_SWIGLU);
  free(text), free(twice);
}

static void what_cannot_be_is_refused_by_name(void **state) {
  (void)state;
  static const struct {
    const char *json, *says;
  } wrong[] = {
      {"", "line"},
      {"[]", "object"},
      {"{}", "vocabulary"},
      {"{\"vocabulary\": 0}", "vocabulary"},
      {"{\"vocabulary\": 1e9}", "vocabulary"},
      {"{\"vocabulary\": 99999999999}", "vocabulary"},
      {"{\"vocabulary\": 9, \"vocabulary\": 9}", "duplicate"},
      {"{\"vocabulary\": 9, \"widht\": 9}", "widht"},
      {"{\"vocabulary\": 9, \"encoder_layers\": 1025}", "encoder_layers"},
      {"{\"vocabulary\": 9, \"heads\": 0}", "heads"},
      {"{\"vocabulary\": 9, \"heads\": 600}", "heads"},
      {"{\"vocabulary\": 9, \"heads\": 4, \"kv_heads\": 3}", "kv_heads"},
      {"{\"vocabulary\": 9, \"positions\": \"here\"}", "positions"},
      {"{\"vocabulary\": 9, \"positions\": 1}", "positions"},
      {"{\"vocabulary\": 9, \"bias\": 1}", "bias"},
      {"{\"vocabulary\": 9, \"dropout\": 1}", "dropout"},
      {"{\"vocabulary\": 9, \"dropout\": \"0\"}", "dropout"},
      {"{\"vocabulary\": 9, \"epsilon\": -1}", "epsilon"},
      {"{\"vocabulary\": 9, \"key_width\": 3, \"positions\": \"rotary\"}", "key_width"},
      {"{\"vocabulary\": 9, \"source_vocabulary\": 8, \"shared_embedding\": true}", "shared"},
      {"{\"vocabulary\": 9, \"position_joining\": \"concatenate\"}", "position_width"},
      {"{\"vocabulary\": 9, \"position_joining\": \"concatenate\", \"position_width\": 4, "
       "\"tied_output\": true}",
       "tied"},
      {"{\"vocabulary\": 9, \"kind\": \"decoder\", \"token_types\": 2}", "token_types"},
      {"{\"vocabulary\": 9, \"head\": \"none\"}", "head"},
      {"{\"vocabulary\": 9, \"heads\": 512, \"key_width\": 32769}", "heads"},
      {"{\"vocabulary\": 9, \"heads\": 512, \"value_width\": 32769}", "heads"},
      {"{\"vocabulary\": 9, \"width\": 4194312}", "hidden"},
      /* tables that no file holds: 2^26 numbers and one row more */
      {"{\"vocabulary\": 9, \"width\": 512, \"length\": 131073}", "length"},
      {"{\"vocabulary\": 9, \"width\": 512, \"length\": 131073, "
       "\"positions\": \"sinusoidal_halves\"}",
       "length"},
      {"{\"vocabulary\": 9, \"length\": 1048577, \"positions\": \"rotary\"}", "length"},
  };
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    struct attn_model_config c = {.width = 42};
    attn_error err;
    if (parse(wrong[n].json, &c, &err) != ATTN_ERR_FORMAT || !strstr(err.message, wrong[n].says))
      fail_msg("%s: %s", wrong[n].json, err.message);
    assert_int_equal(c.width, 42);
  }
}

/* jansson alone passes over one behind a number or a word. */
static void a_nul_anywhere_is_refused(void **state) {
  (void)state;
  static const char json[] = "{\"vocabulary\": 9, \"width\": 8, \"bias\": true}";
  enum { LENGTH = sizeof json - 1 };
  for (size_t at = 0; at <= LENGTH; at++) {
    char text[LENGTH + 1];
    struct attn_model_config c;
    memcpy(text, json, at), text[at] = 0, memcpy(text + at + 1, json + at, LENGTH - at);
    assert_int_equal(attn_model_config_parse(text, sizeof text, &c, NULL), ATTN_ERR_FORMAT);
  }
}

static void tables_up_to_their_limit_are_let_through(void **state) {
  (void)state;
  struct attn_model_config c;
  assert_int_equal(parse("{\"vocabulary\": 9, \"length\": 131072}", &c, NULL), ATTN_OK);
  assert_int_equal(
      parse("{\"vocabulary\": 9, \"length\": 1048576, \"positions\": \"rotary\"}", &c, NULL),
      ATTN_OK);
  assert_int_equal(
      parse("{\"vocabulary\": 9, \"length\": 16777216, \"positions\": \"alibi\"}", &c, NULL),
      ATTN_OK);
}

static void names_are_torchs(void **state) {
  (void)state;
  static const char *const some[] = {"encoder.layers.0.self_attn.in_proj_weight",
                                     "encoder.layers.1.linear2.bias",
                                     "decoder.layers.1.multihead_attn.out_proj.weight",
                                     "decoder.layers.0.norm3.bias",
                                     "encoder.norm.weight",
                                     "decoder.norm.bias"};
  struct attn_model_config c;
  struct attn_network *n;
  assert_int_equal(parse("{\"vocabulary\": 9, \"width\": 8, \"heads\": 2, \"encoder_layers\": 2,"
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(defaults_follow_from_what_is_said),
                                     cmocka_unit_test(what_is_written_is_read_back),
                                     cmocka_unit_test(what_cannot_be_is_refused_by_name),
                                     cmocka_unit_test(a_nul_anywhere_is_refused),
                                     cmocka_unit_test(tables_up_to_their_limit_are_let_through),
                                     cmocka_unit_test(names_are_torchs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
