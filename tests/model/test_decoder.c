/* Laws of decoding: a step over the caches gives the logits of the whole pass, whatever other slots
 * do; a forked slot goes on as its origin would; greedy says what the whole pass finds likeliest.
 *
 *     test_decoder [SEED] */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder.h"
#include "random.h"

enum {
  MEMORY = 1 << 22,
  WORDS = 11,
  LENGTH = 40,
  SOURCES = 3,
  SOURCE_TOKENS = 14,
  BEGIN = 1,
  END = 2
};

static struct attn_tape tape, encoding;
static struct attn_network *network;
static float *block;
static int32_t source_tokens[SOURCE_TOKENS];
static const int32_t source_places[SOURCE_TOKENS] = {0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2};
static const int64_t source_starts[SOURCES + 1] = {0, 4, 11, 14};
static const struct attn_text source = {.n = SOURCE_TOKENS,
                                        .sequences = SOURCES,
                                        .tokens = source_tokens,
                                        .places = source_places,
                                        .starts = source_starts};
static struct attn_value *memory; /* the sources encoded, or NULL */

static void make_tape(struct attn_tape *t) {
  *t = (struct attn_tape){.host.threads = 2};
  t->notes = (struct attn_stack){malloc(MEMORY), MEMORY, 0};
  t->numbers = (struct attn_stack){aligned_alloc(64, MEMORY), MEMORY, 0};
}

static int begin(void **state) {
  (void)state;
  make_tape(&tape), make_tape(&encoding);
  for (int n = 0; n < SOURCE_TOKENS; n++) source_tokens[n] = (int32_t)below(WORDS);
  return 0;
}

static int end(void **state) {
  (void)state;
  free(tape.notes.memory), free(tape.numbers.memory);
  free(encoding.notes.memory), free(encoding.numbers.memory);
  return 0;
}

static const char *const variants[] = {
    "",
    "\"kind\": \"decoder\"",
    "\"norm_first\": false, \"positions\": \"learned\"",
    ("\"kind\": \"decoder\", \"rms_norm\": true, \"bias\": false, \"activation\": \"swiglu\", "
     "\"positions\": \"rotary\", \"kv_heads\": 2"),
    "\"kv_heads\": 2, \"key_width\": 6, \"value_width\": 5, \"positions\": \"alibi\"",
    ("\"embedding_norm\": true, \"head\": \"transform\", \"activation\": \"silu\", "
     "\"positions\": \"sinusoidal_halves\", \"tied_output\": true, \"output_bias\": true"),
    "\"kv_heads\": 1, \"position_joining\": \"concatenate\", \"position_width\": 6",
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static void open_network(const char *more) {
  char json[600];
  struct attn_config config;
  struct attn_network *counted = NULL;
  attn_error err;
  snprintf(
      json, sizeof json,
      "{\"vocabulary\": %d, \"width\": 16, \"heads\": 4, \"hidden\": 24, \"encoder_layers\": 2, "
      "\"decoder_layers\": 2, \"length\": %d%s%s}",
      WORDS, LENGTH, *more ? ", " : "", more);
  if (attn_config_parse(json, strlen(json), &config, &err)) fail_msg("%s", err.message);
  assert_int_equal(attn_network_new(&config, NULL, NULL, &counted, NULL), ATTN_OK);
  block = calloc((size_t)counted->numbers, sizeof *block);
  attn_network_free(counted);
  assert_int_equal(attn_network_new(&config, block, NULL, &network, NULL), ATTN_OK);
  attn_network_fill(network, 5);
  for (int64_t n = 0; n < network->numbers; n++) block[n] *= 1.5f; /* opinions that differ */
  attn_tape_start(&encoding);
  memory =
      config.kind == ATTN_DECODER ? NULL : attn_transformer_encode(network, &encoding, &source);
}

static void close_network(void) { attn_network_free(network), free(block); }

/* The last row of the whole pass over these tokens, with that source. */
static const float *whole(const int32_t *tokens, int64_t count, int64_t of) {
  static int32_t places[LENGTH];
  int64_t starts[2] = {0, count}, from = source_starts[of], n = source_starts[of + 1] - from;
  int64_t one[2] = {0, n};
  const struct attn_text said = {
      .n = count, .sequences = 1, .tokens = tokens, .places = places, .starts = starts};
  const struct attn_text asked = {.n = n,
                                  .sequences = 1,
                                  .tokens = source_tokens + from,
                                  .places = source_places + from,
                                  .starts = one};
  for (int32_t p = 0; p < LENGTH; p++) places[p] = p;
  attn_tape_start(&tape);
  const struct attn_value *y = attn_transformer_forward(network, &tape, &asked, &said);
  assert_int_equal(tape.status, ATTN_OK);
  return y->x + (count - 1) * WORDS;
}

static void expect_near(const float *got, const float *expected) {
  for (int v = 0; v < WORDS; v++) assert_true(fabs((double)(got[v] - expected[v])) < 2e-4);
}

/* Slots that advance at random, fork at random, each held against the whole pass at every step. */
static void a_step_is_the_whole_pass(void **state) {
  (void)state;
  enum { SLOTS = 5 };
  for (int variant = 0; variant < VARIANTS; variant++) {
    int32_t said[SLOTS][LENGTH];
    int64_t counts[SLOTS] = {0}, of[SLOTS] = {0, 1, 2, 0, 0};
    struct attn_decoder *d;
    open_network(variants[variant]);
    assert_int_equal(
        attn_decoder_new(network, memory, memory ? &source : NULL, SLOTS, LENGTH, 2, &d, NULL),
        ATTN_OK);
    for (int round = 0; round < 24; round++) {
      int64_t slots[SLOTS], count = 0;
      int32_t next[SLOTS];
      const float *logits;
      if (chance(3)) {
        int64_t from = below(SLOTS), to = below(SLOTS);
        assert_int_equal(attn_decoder_fork(d, from, to, NULL), ATTN_OK);
        memmove(said[to], said[from], sizeof said[to]);
        counts[to] = counts[from], of[to] = of[from];
      }
      for (int64_t s = SLOTS - 1; s >= 0; s--) /* any of them, in any order */
        if (!chance(3))
          next[count] = said[s][counts[s]++] = (int32_t)below(WORDS), slots[count++] = s;
      if (!count) continue;
      assert_int_equal(attn_decoder_step(d, count, slots, next, &logits, NULL), ATTN_OK);
      for (int64_t n = 0; n < count; n++)
        expect_near(logits + n * WORDS, whole(said[slots[n]], counts[slots[n]], of[slots[n]]));
    }
    attn_decoder_free(d);
    close_network();
  }
}

static void greedy_says_the_likeliest(void **state) {
  (void)state;
  enum { MOST = 12 };
  for (int variant = 0; variant < VARIANTS; variant++) {
    int32_t said[SOURCES * MOST];
    int64_t counts[SOURCES];
    open_network(variants[variant]);
    assert_int_equal(attn_decode_greedy(network, memory, memory ? &source : NULL, SOURCES, MOST,
                                        BEGIN, END, 1, said, counts, NULL),
                     ATTN_OK);
    for (int s = 0; s < SOURCES; s++) {
      int32_t read[MOST + 1] = {BEGIN};
      memcpy(read + 1, said + s * MOST, (size_t)counts[s] * sizeof *read);
      for (int64_t n = 0; n <= counts[s] && n < MOST; n++) {
        const float *logits = whole(read, n + 1, s);
        int32_t chosen = n < counts[s] ? read[n + 1] : END;
        for (int v = 0; v < WORDS; v++) assert_true(logits[v] <= logits[chosen] + 2e-4f);
      }
    }
    close_network();
  }
}

/* Whatever token stands for the end, a sequence says what it would say otherwise, up to there. */
static void greedy_ends_where_the_end_is_said(void **state) {
  (void)state;
  enum { MOST = 12, NONE = WORDS };
  int32_t endless[SOURCES * MOST], said[SOURCES * MOST];
  int64_t counts[SOURCES];
  open_network("");
  assert_int_equal(attn_decode_greedy(network, memory, &source, SOURCES, MOST, BEGIN, NONE, 1,
                                      endless, counts, NULL),
                   ATTN_OK);
  for (int32_t end_token = 0; end_token < WORDS; end_token++) {
    assert_int_equal(attn_decode_greedy(network, memory, &source, SOURCES, MOST, BEGIN, end_token,
                                        1, said, counts, NULL),
                     ATTN_OK);
    for (int s = 0; s < SOURCES; s++) {
      int64_t n = 0;
      while (n < MOST && endless[s * MOST + n] != end_token) n++;
      assert_int_equal(counts[s], n);
      assert_memory_equal(said + s * MOST, endless + s * MOST, (size_t)n * sizeof *said);
    }
  }
  close_network();
}

static void what_cannot_be_decoded_is_refused(void **state) {
  (void)state;
  struct attn_decoder *d;
  const float *logits;
  const int64_t slot[] = {0, 7};
  const int32_t token[] = {3, WORDS};
  open_network("\"kind\": \"decoder\"");
  assert_int_equal(attn_decoder_new(network, NULL, NULL, 1, LENGTH + 1, 1, &d, NULL),
                   ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_decoder_new(network, NULL, NULL, 1, 2, 1, &d, NULL), ATTN_OK);
  assert_int_equal(attn_decoder_step(d, 1, slot + 1, token, &logits, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_decoder_step(d, 1, slot, token + 1, &logits, NULL), ATTN_ERR_ARGUMENT);
  for (int n = 0; n < 3; n++)
    assert_int_equal(attn_decoder_step(d, 1, slot, token, &logits, NULL),
                     n < 2 ? ATTN_OK : ATTN_ERR_ARGUMENT);
  attn_decoder_free(d);
  close_network();
}

#define LAW(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {LAW(a_step_is_the_whole_pass), LAW(greedy_says_the_likeliest),
                                     LAW(greedy_ends_where_the_end_is_said),
                                     LAW(what_cannot_be_decoded_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
