/* models.h -- small models with clear preferences, ragged sources for them, and the logits of the
 * whole pass over a sequence: the reference of decoding. */
#ifndef TEST_MODELS_H
#define TEST_MODELS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "transformer.h"

enum { MEMORY = 1 << 22, LENGTH = 40, SOURCES = 3, SOURCE_TOKENS = 14 };

static struct attn_tape tape;
static struct attn_network *network;
static float *block;
static int64_t words;
static int32_t source_tokens[SOURCE_TOKENS], places[LENGTH];
static const int32_t source_places[SOURCE_TOKENS] = {0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2};
static const int64_t source_starts[SOURCES + 1] = {0, 4, 11, 14};
static const struct attn_token_batch source = {.n = SOURCE_TOKENS,
                                               .sequences = SOURCES,
                                               .tokens = source_tokens,
                                               .position_ids = source_places,
                                               .starts = source_starts};

static void make_tape(struct attn_tape *t) {
  *t = (struct attn_tape){.host.threads = 2};
  t->data = (struct attn_arena){aligned_alloc(64, MEMORY), MEMORY, 0, 0};
}

static void free_tape(struct attn_tape *t) { attn_tape_close(t); }

static int begin(void **state) {
  (void)state;
  make_tape(&tape);
  for (int32_t p = 0; p < LENGTH; p++) places[p] = p;
  return 0;
}

static int end(void **state) {
  (void)state;
  free_tape(&tape);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static const char *const variants[] = {
    "",
    "\"kind\": \"decoder\"",
    "\"norm_first\": false, \"positions\": \"learned\"",
    ("\"kind\": \"decoder\", \"norm\": \"rms_norm\", \"bias\": false, \"activation\": \"swiglu\", "
     "\"positions\": \"rotary\", \"num_kv_heads\": 2"),
    "\"num_kv_heads\": 2, \"head_dim\": 6, \"value_head_dim\": 5, \"positions\": \"alibi\"",
    ("\"normalize_embedding\": true, \"head\": \"transform\", \"activation\": \"silu\", "
     "\"positions\": \"sinusoidal_halves\", \"tie_word_embeddings\": true, \"output_bias\": true"),
    "\"num_kv_heads\": 1, \"position_mode\": \"concatenate\", \"position_dim\": 6, \"scale\": 0.7",
    "\"alignment\": \"additive\", \"num_kv_heads\": 2, \"head_dim\": 6",
    "\"alignment\": \"general\", \"num_kv_heads\": 2, \"head_dim\": 6, \"positions\": \"alibi\"",
    "\"kind\": \"decoder\", \"alignment\": \"dot\"",
    "\"alignment\": \"uniform\", \"scale\": 2",
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static void open_network(const char *more, int64_t vocabulary, uint64_t seed) {
  char json[600];
  struct attn_model_config config;
  attn_error err;
  words = vocabulary;
  char length[40];
  snprintf(length, sizeof length, ", \"max_positions\": %d", LENGTH);
  snprintf(json, sizeof json,
           "{\"vocab_size\": %d, \"d_model\": 16, \"num_heads\": 4, \"ffn_dim\": 24, "
           "\"encoder_layers\": 2%s%s%s%s}",
           (int)words, strstr(more, "decoder_layers") ? "" : ", \"decoder_layers\": 2",
           strstr(more, "max_positions") ? "" : length, *more ? ", " : "", more);
  if (attn_model_config_parse(json, strlen(json), &config, &err)) fail_msg("%s", err.message);
  assert_int_equal(attn_network_allocate(&config, &network, &block, NULL), ATTN_OK);
  attn_network_init_weights(network, seed);
  for (int64_t n = 0; n < network->parameter_count; n++) block[n] *= 1.5f;
  for (int n = 0; n < SOURCE_TOKENS; n++) source_tokens[n] = (int32_t)below(words);
}

static void close_network(void) { attn_network_free(network), free(block); }

static inline const struct attn_tape_variable *parameter(const char *name) {
  for (int n = 0; n < network->count; n++)
    if (!strcmp(network->parameters[n].name, name)) return &network->parameters[n].value;
  fail_msg("no %s", name);
  return NULL;
}

/* The logits (count, words) of the whole pass over tokens, with source number `of`. */
static inline const float *whole(const int32_t *tokens, int64_t count, int64_t of) {
  int64_t starts[2] = {0, count}, from = source_starts[of], n = source_starts[of + 1] - from;
  int64_t one[2] = {0, n};
  const struct attn_token_batch said = {
      .n = count, .sequences = 1, .tokens = tokens, .position_ids = places, .starts = starts};
  const struct attn_token_batch asked = {.n = n,
                                         .sequences = 1,
                                         .tokens = source_tokens + from,
                                         .position_ids = places,
                                         .starts = one};
  attn_tape_start(&tape);
  const struct attn_tape_variable *y = attn_transformer_forward(network, &tape, &asked, &said);
  assert_int_equal(tape.status, ATTN_OK);
  return y->x;
}

/* log softmax(x)_v. */
static inline double log_probability(const float *x, int32_t v) {
  double top = -INFINITY, sum = 0;
  for (int64_t n = 0; n < words; n++) top = fmax(top, (double)x[n]);
  for (int64_t n = 0; n < words; n++) sum += exp((double)x[n] - top);
  return (double)x[v] - top - log(sum);
}

/* Bound on the difference between cached and whole-pass logits, tested by test_decoder. */
#define NEAR_LOGIT 2e-4

#endif
