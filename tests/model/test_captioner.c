/* Models of images: a step over states or caches gives the logits of the whole pass, whatever other
 * slots do; a caption does not depend on the images and captions in the same batch, and continues
 * its prefix; the weights of the alignment sum to 1, and are those of the whole pass.
 *
 *     test_captioner [SEED] */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bf16.h"
#include "decoder.h"
#include "random.h"
#include "token_search.h"
#include "trace.h"

enum {
  IMAGES = 3,
  SIZE = 12,
  GRID = 3,
  PLACES = GRID * GRID,
  WORDS = 11,
  LENGTH = 12,
  MEMORY = 1 << 22
};

static const char *const variants[] = {
    "\"decoder_type\": \"lstm\"",
    "\"decoder_type\": \"gru\"",
    "\"decoder_type\": \"lstm\", \"alignment\": \"dot\"",
    "\"decoder_type\": \"gru\", \"alignment\": \"scaled\"",
    "\"decoder_type\": \"lstm\", \"alignment\": \"general\", \"bias\": false",
    "\"decoder_type\": \"gru\", \"alignment\": \"uniform\"",
    "\"decoder_type\": \"lstm\", \"alignment\": \"none\", \"tie_word_embeddings\": true",
    "\"decoder_type\": \"transformer\", \"num_heads\": 4, \"head_dim\": 4",
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static struct attn_tape tape, encoding;
static struct attn_network *network;
static float *block, pixels[IMAGES * SIZE * SIZE * 3];
static int32_t places[IMAGES * PLACES], position_ids[LENGTH];
static int64_t starts[IMAGES + 1];
static struct attn_token_batch images;

static void open_network(const char *more) {
  char json[400];
  struct attn_model_config config;
  attn_error err;
  snprintf(json, sizeof json,
           "{\"kind\": \"vision-encoder-decoder\", \"vocab_size\": %d, \"d_model\": 16, "
           "\"ffn_dim\": 20, \"decoder_layers\": 2, \"max_positions\": %d, \"image_size\": %d, "
           "\"num_stages\": 2, \"stage_channels\": 4, \"dropout\": 0%s, %s}",
           WORDS, LENGTH, SIZE, strstr(more, "num_heads") ? "" : ", \"num_heads\": 1", more);
  if (attn_model_config_parse(json, strlen(json), &config, &err)) fail_msg("%s", err.message);
  assert_int_equal(attn_model_grid_size(&config), GRID);
  assert_int_equal(attn_network_allocate(&config, &network, &block, NULL), ATTN_OK);
  attn_network_init_weights(network, 5);
  for (int64_t n = 0; n < network->parameter_count; n++) block[n] *= 2;
  for (int n = 0; n < IMAGES * SIZE * SIZE * 3; n++) pixels[n] = uniform();
  for (int n = 0; n < IMAGES * PLACES; n++) places[n] = n % PLACES;
  for (int n = 0; n <= IMAGES; n++) starts[n] = n * PLACES;
  for (int n = 0; n < LENGTH; n++) position_ids[n] = n;
  images = (struct attn_token_batch){.n = IMAGES * PLACES,
                                     .sequences = IMAGES,
                                     .tokens = places,
                                     .starts = starts,
                                     .pixels = pixels,
                                     .values = SIZE * SIZE * 3};
}

static void make_tape(struct attn_tape *t) {
  *t = (struct attn_tape){.host.threads = 2};
  t->data = (struct attn_arena){aligned_alloc(64, MEMORY), MEMORY, 0, 0};
}

static int begin(void **state) {
  (void)state;
  make_tape(&tape), make_tape(&encoding);
  return 0;
}

static int end(void **state) {
  (void)state;
  attn_tape_close(&tape), attn_tape_close(&encoding);
  return 0;
}

static void close_network(void) { attn_network_free(network), free(block); }

static struct attn_token_batch image_alone(int64_t of) {
  struct attn_token_batch one = images;
  one.n = PLACES, one.sequences = 1, one.pixels += of * one.values;
  return one;
}

/* The logits (count, WORDS) of a whole pass over tokens with one image. */
static const float *whole(const int32_t *tokens, int64_t count, int64_t of) {
  const int64_t ends[2] = {0, count};
  const struct attn_token_batch image = image_alone(of);
  const struct attn_token_batch caption = {
      .n = count, .sequences = 1, .tokens = tokens, .position_ids = position_ids, .starts = ends};
  attn_tape_start(&tape);
  const struct attn_tape_variable *y = attn_transformer_forward(network, &tape, &image, &caption);
  assert_int_equal(tape.status, ATTN_OK);
  return y->x;
}

static void expect_within(const float *got, const float *expected, int count, double bound) {
  for (int v = 0; v < count; v++)
    if (!(fabs((double)(got[v] - expected[v])) < bound))
      fail_msg("%d: %g %g", v, (double)got[v], (double)expected[v]);
}

static void expect_near(const float *got, const float *expected, int count) {
  expect_within(got, expected, count, 2e-4);
}

/* The layout of the decoder's weights, as in test_decoder.c. */
enum standing { PLAIN, PACKED, PACKED_BF16, STANDINGS };

/* Packs all layers; the whole pass then uses bf16 too. */
static struct attn_packed_weights *pack_as(enum standing how, uint16_t **bf16) {
  struct attn_packed_weights *pack = NULL;
  const struct attn_host host = {.threads = 1};
  tape.bf16 = encoding.bf16 = how == PACKED_BF16;
  if (how == PLAIN) return NULL;
  assert_int_equal(attn_packed_weights_new(network, how == PACKED_BF16, 0, &pack, NULL), ATTN_OK);
  if (how == PACKED) return pack;
  *bf16 = malloc((size_t)network->parameter_count * sizeof **bf16);
  attn_network_set_bf16(network, *bf16);
  attn_convert_to_bf16(&host, *bf16, network->parameters[0].value.x, network->parameter_count);
  return pack;
}

/* Slots advance and fork at random; each is compared with the whole pass at every step. In bf16 the
 * last bit of a sum may decide how an input is rounded, by one part in 2^8. */
static void steps_equal_the_whole_pass(void **state) {
  enum { SLOTS = 5, ROUNDS = 20 };
  (void)state;
  for (int v = 0; v < VARIANTS * STANDINGS; v++) {
    const enum standing how = (enum standing)(v % STANDINGS);
    uint16_t *bf16 = NULL;
    int32_t read[SLOTS][LENGTH];
    int64_t counts[SLOTS] = {0}, of[SLOTS] = {0, 1, 2, 0, 0};
    struct attn_decoder *d;
    open_network(variants[v / STANDINGS]);
    struct attn_packed_weights *pack = pack_as(how, &bf16);
    struct attn_tape_variable *memory =
        (attn_tape_start(&encoding), attn_transformer_encode(network, &encoding, &images));
    assert_int_equal(
        attn_decoder_new(network, pack, memory, &images, SLOTS, LENGTH, 1, 1, &d, NULL), ATTN_OK);
    for (int round = 0; round < ROUNDS; round++) {
      int64_t slots[SLOTS], count = 0;
      int32_t next[SLOTS];
      const float *logits;
      if (chance(3)) {
        int64_t from = below(SLOTS), to = below(SLOTS);
        assert_int_equal(attn_decoder_fork(d, from, to, NULL), ATTN_OK);
        memmove(read[to], read[from], sizeof read[to]);
        counts[to] = counts[from], of[to] = of[from];
      }
      for (int64_t s = 0; s < SLOTS; s++)
        if (chance(2) && counts[s] < LENGTH) {
          next[count] = read[s][counts[s]++] = (int32_t)below(WORDS);
          slots[count++] = s;
        }
      assert_int_equal(attn_decoder_step(d, count, slots, next, &logits, NULL), ATTN_OK);
      for (int64_t n = 0; n < count; n++) {
        int64_t s = slots[n];
        expect_within(logits + n * WORDS,
                      whole(read[s], counts[s], of[s]) + (counts[s] - 1) * WORDS, WORDS,
                      how == PACKED_BF16 ? 0x1p-5 : 2e-4);
      }
    }
    attn_decoder_free(d), attn_packed_weights_free(pack), close_network(), free(bf16);
  }
  tape.bf16 = encoding.bf16 = 0;
}

/* A slot takes max_positions tokens and no more. */
static void a_full_slot_refuses_a_token(void **state) {
  (void)state;
  open_network(variants[0]);
  struct attn_tape_variable *memory = attn_transformer_encode(network, &encoding, &images);
  struct attn_decoder *d;
  attn_error err;
  const float *logits;
  const int64_t slot = 0, none = 7;
  const int32_t token = 3, unknown = WORDS;
  assert_int_equal(attn_decoder_new(network, NULL, memory, &images, 2, LENGTH, 1, 1, &d, NULL), 0);
  for (int n = 0; n < LENGTH; n++)
    assert_int_equal(attn_decoder_step(d, 1, &slot, &token, &logits, NULL), ATTN_OK);
  assert_int_equal(attn_decoder_step(d, 1, &slot, &token, &logits, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_decoder_step(d, 1, &none, &token, &logits, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_decoder_step(d, 1, &slot, &unknown, &logits, &err), ATTN_ERR_ARGUMENT);
  attn_decoder_free(d), close_network();
}

/* Captions of different lengths in one batch: padding and neighbours have no effect. */
static void a_caption_does_not_depend_on_its_neighbours(void **state) {
  static const int64_t ends[IMAGES + 1] = {0, 5, 6, 6 + LENGTH};
  enum { TOKENS = 6 + LENGTH };
  (void)state;
  for (int v = 0; v < VARIANTS; v++) {
    int32_t tokens[TOKENS], ids[TOKENS];
    float together[TOKENS * WORDS];
    open_network(variants[v]);
    for (int n = 0; n < TOKENS; n++)
      tokens[n] = (int32_t)below(WORDS), ids[n] = n - (int)(n < 5 ? 0 : n < 6 ? 5 : 6);
    const struct attn_token_batch captions = {
        .n = TOKENS, .sequences = IMAGES, .tokens = tokens, .position_ids = ids, .starts = ends};
    attn_tape_start(&tape);
    memcpy(together, attn_transformer_forward(network, &tape, &images, &captions)->x,
           sizeof together);
    for (int n = 0; n < IMAGES; n++)
      expect_near(together + ends[n] * WORDS, whole(tokens + ends[n], ends[n + 1] - ends[n], n),
                  (int)(ends[n + 1] - ends[n]) * WORDS);
    close_network();
  }
}

/* A Transformer decoder continues a prefix. A recurrent one reads no token but the first. */
static void captions_continue_their_prefixes(void **state) {
  enum { BEGIN = 1, TOKENS = 4 };
  static const int64_t ends[IMAGES + 1] = {0, 2, 2, 4};
  (void)state;
  for (int v = 0; v < VARIANTS; v++) {
    int32_t tokens[TOKENS] = {3, 4, 5, 6}, out[IMAGES * LENGTH];
    int64_t counts[IMAGES];
    float log_probs[IMAGES * LENGTH];
    attn_error err = {.argument = ""};
    open_network(variants[v]);
    const struct attn_token_batch prefixes = {
        .n = TOKENS, .sequences = IMAGES, .tokens = tokens, .starts = ends};
    const struct attn_search_config how = {
        .max_new_tokens = 1, .bos = BEGIN, .eos = -1, .prefixes = &prefixes};
    const struct attn_search_results found = {
        .tokens = out, .token_counts = counts, .log_probs = log_probs};
    attn_status status = attn_search_run(network, &images, &how, &found, &err);
    const int is_recurrent = network->config.decoder_type != ATTN_TRANSFORMER_DECODER;
    assert_int_equal(status, is_recurrent ? ATTN_ERR_ARGUMENT : ATTN_OK);
    assert_string_equal(err.argument, is_recurrent ? "target_prefixes" : "");
    for (int64_t n = 0; n < IMAGES && !is_recurrent; n++) {
      const int32_t read[3] = {BEGIN, tokens[ends[n]], tokens[ends[n] + 1]};
      const int64_t count = 1 + ends[n + 1] - ends[n];
      const float *logits = whole(read, count, n) + (count - 1) * WORDS;
      for (int w = 0; w < WORDS; w++) assert_true(logits[w] <= logits[out[n]] + 1e-4f);
    }
    close_network();
  }
}

/* ---- The trace ---- */

static int visits;

static int expect_weights(void *context, const struct attn_traced_attention *a) {
  if (a->kind != ATTN_ATTENTION_CROSS) return 0;
  visits++;
  assert_int_equal(a->queries, LENGTH), assert_int_equal(a->keys, PLACES);
  for (int64_t row = 0; row < a->heads * a->queries; row++) {
    double sum = 0;
    for (int64_t n = 0; n < PLACES; n++) {
      double w = (double)a->weights[row * PLACES + n];
      sum += w;
      if (context) assert_true(fabs(w - 1.0 / PLACES) < 1e-7); /* uniform */
    }
    assert_true(fabs(sum - 1) < 1e-5);
  }
  return 0;
}

static void weights_sum_to_1(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; v++) {
    int32_t tokens[LENGTH];
    open_network(variants[v]);
    const struct attn_model_config *c = &network->config;
    int is_uniform = attn_model_is_recurrent(c) && c->alignment == ATTN_ALIGN_UNIFORM;
    for (int n = 0; n < LENGTH; n++) tokens[n] = (int32_t)below(WORDS);
    visits = 0;
    assert_int_equal(attn_transformer_trace(network, places, PLACES, pixels, tokens, LENGTH, 1,
                                            expect_weights, is_uniform ? &visits : NULL, NULL),
                     ATTN_OK);
    int is_none = attn_model_is_recurrent(c) && c->alignment == ATTN_ALIGN_NONE;
    assert_int_equal(visits, is_none ? 0 : attn_model_is_recurrent(c) ? 1 : c->decoder_layers);
    close_network();
  }
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(steps_equal_the_whole_pass, begin, end),
      cmocka_unit_test_setup_teardown(a_full_slot_refuses_a_token, begin, end),
      cmocka_unit_test_setup_teardown(a_caption_does_not_depend_on_its_neighbours, begin, end),
      cmocka_unit_test_setup_teardown(captions_continue_their_prefixes, begin, end),
      cmocka_unit_test_setup_teardown(weights_sum_to_1, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
