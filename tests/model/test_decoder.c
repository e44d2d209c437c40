/* Decoding: a step over the caches gives the logits of the whole pass, whatever other slots do; a
 * forked slot continues as its origin would.
 *
 *     test_decoder [SEED] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bf16.h"
#include "decoder.h"
#include "models.h"

enum { WORDS = 11 };

static struct attn_tape encoding;
static struct attn_tape_variable *memory; /* encoded sources, or NULL */

static void close_decodable(void) { free_tape(&encoding), close_network(); }

static void expect_near(const float *got, const float *expected, double near) {
  for (int v = 0; v < WORDS; v++)
    if (!(fabs((double)(got[v] - expected[v])) < near))
      fail_msg("%g %g near %g", got[v], expected[v], near);
}

/* The layout of the decoder's weights. */
enum standing { PLAIN, PACKED, PACKED_BF16, STANDINGS };

/* In bf16 the last bit of a sum may decide how an input is rounded, by one part in 2^8. */
static const double nears[STANDINGS] = {NEAR_LOGIT, NEAR_LOGIT, 0x1p-5};

/* Packs all layers; the whole pass then uses bf16 too. */
static struct attn_packed_weights *pack_as(enum standing how) {
  struct attn_packed_weights *pack = NULL;
  static uint16_t bf16[1 << 16];
  const struct attn_host host = {.threads = 1};
  if (how == PLAIN) return NULL;
  assert_int_equal(attn_packed_weights_new(network, how == PACKED_BF16, 0, &pack, NULL), ATTN_OK);
  if (how == PACKED) return pack;
  assert_true(network->parameter_count <= (int64_t)(sizeof bf16 / sizeof *bf16));
  attn_network_set_bf16(network, bf16);
  attn_convert_to_bf16(&host, bf16, network->parameters[0].value.x, network->parameter_count);
  tape.bf16 = 1;
  return pack;
}

static struct attn_packed_weights *open_decodable(const char *more, enum standing how) {
  open_network(more, WORDS, 5);
  make_tape(&encoding);
  struct attn_packed_weights *pack = pack_as(how);
  encoding.bf16 = tape.bf16;
  memory = network->config.kind == ATTN_DECODER
               ? NULL
               : attn_transformer_encode(network, &encoding, &source);
  return pack;
}

enum { SLOTS = 5, ROWS = 8, ROUNDS = 24 };

/* Some slots read several tokens in one pass, and keep space for a token of each later round. */
static void read_prompts(struct attn_decoder *d, int32_t said[][LENGTH], int64_t *counts,
                         int rounds_left) {
  int64_t slots[SLOTS], starts[SLOTS + 1] = {0}, count = 0;
  int32_t tokens[ROWS];
  for (int64_t s = SLOTS - 1; s >= 0; s--) {
    int64_t more = below(5), row = starts[count];
    if (!more || row + more > ROWS || counts[s] + more + rounds_left > LENGTH) continue;
    for (slots[count] = s; more > 0; more--)
      tokens[row++] = said[s][counts[s]++] = (int32_t)below(WORDS);
    starts[++count] = row;
  }
  if (count) assert_int_equal(attn_decoder_read(d, count, slots, starts, tokens, NULL), ATTN_OK);
}

/* Slots read, advance and fork at random; each is compared with the whole pass at every step. */
static void steps_equal_the_whole_pass(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS * STANDINGS; v++) {
    enum standing how = (enum standing)(v % STANDINGS);
    int32_t said[SLOTS][LENGTH];
    int64_t counts[SLOTS] = {0}, of[SLOTS] = {0, 1, 2, 0, 0};
    struct attn_decoder *d;
    struct attn_packed_weights *pack = open_decodable(variants[v / STANDINGS], how);
    assert_int_equal(attn_decoder_new(network, pack, memory, memory ? &source : NULL, SLOTS, LENGTH,
                                      ROWS, 2, &d, NULL),
                     ATTN_OK);
    for (int round = 0; round < ROUNDS; round++) {
      int64_t slots[SLOTS], count = 0;
      int32_t next[SLOTS];
      const float *logits;
      if (chance(2)) read_prompts(d, said, counts, ROUNDS - round);
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
        expect_near(
            logits + n * WORDS,
            whole(said[slots[n]], counts[slots[n]], of[slots[n]]) + (counts[slots[n]] - 1) * WORDS,
            nears[how]);
    }
    attn_decoder_free(d), attn_packed_weights_free(pack);
    tape.bf16 = 0;
    close_decodable();
  }
}

/* More than 3072 keys are split into ranges, which need more workspace. */
static void long_sequences_fit_the_workspace(void **state) {
  (void)state;
  enum { LONG = 3200, PROMPT = 3120 };
  static int32_t tokens[LONG], position_ids[LONG];
  const int64_t starts[] = {0, LONG}, pass[] = {0, ROWS}, slot = 1;
  const struct attn_token_batch text = {
      .n = LONG, .sequences = 1, .tokens = tokens, .position_ids = position_ids, .starts = starts};
  const float *logits = NULL;
  struct attn_decoder *d;
  struct attn_tape exact = {.host.threads = 2};
  open_decodable("\"kind\": \"decoder\", \"decoder_layers\": 1, \"max_positions\": 4000", PLAIN);
  for (int32_t n = 0; n < LONG; n++) tokens[n] = (int32_t)below(WORDS), position_ids[n] = n;
  assert_int_equal(attn_decoder_new(network, NULL, NULL, NULL, 2, LONG, ROWS, 2, &d, NULL),
                   ATTN_OK);
  for (int n = 0; n < PROMPT; n += ROWS)
    assert_int_equal(attn_decoder_read(d, 1, &slot, pass, tokens + n, NULL), ATTN_OK);
  for (int n = PROMPT; n < LONG; n++)
    assert_int_equal(attn_decoder_step(d, 1, &slot, tokens + n, &logits, NULL), ATTN_OK);
  attn_transformer_forward(network, &exact, NULL, &text);
  assert_int_equal(attn_tape_reserve(&exact, NULL), ATTN_OK);
  const struct attn_tape_variable *y = attn_transformer_forward(network, &exact, NULL, &text);
  assert_int_equal(exact.status, ATTN_OK);
  expect_near(logits, y->x + (LONG - 1) * WORDS, NEAR_LOGIT);
  attn_tape_close(&exact);
  attn_decoder_free(d);
  close_decodable();
}

static void rejects_invalid_steps(void **state) {
  (void)state;
  struct attn_decoder *d;
  const float *logits;
  const int64_t slot[] = {0, 7};
  const int32_t token[] = {3, WORDS};
  const int64_t two[] = {0, 2}, three[] = {0, 3};
  const int32_t tokens[] = {3, 3, 3};
  open_decodable("\"kind\": \"decoder\"", PLAIN);
  assert_int_equal(attn_decoder_new(network, NULL, NULL, NULL, 1, LENGTH + 1, 4, 1, &d, NULL),
                   ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_decoder_new(network, NULL, NULL, NULL, 1, 2, 4, 1, &d, NULL), ATTN_OK);
  assert_int_equal(attn_decoder_step(d, 1, slot + 1, token, &logits, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_decoder_step(d, 1, slot, token + 1, &logits, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_decoder_read(d, 1, slot + 1, two, tokens, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_decoder_read(d, 1, slot, two, token, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_decoder_read(d, 1, slot, three, tokens, NULL), ATTN_ERR_ARGUMENT);
  for (int n = 0; n < 3; n++)
    assert_int_equal(attn_decoder_step(d, 1, slot, token, &logits, NULL),
                     n < 2 ? ATTN_OK : ATTN_ERR_ARGUMENT);
  attn_decoder_free(d);
  /* One slot is too short: the other one has read nothing. */
  const int64_t both[] = {0, 1}, parts[] = {0, 1, 4};
  const int32_t four[] = {3, 3, 3, 3};
  assert_int_equal(attn_decoder_new(network, NULL, NULL, NULL, 2, 2, 4, 1, &d, NULL), ATTN_OK);
  assert_int_equal(attn_decoder_read(d, 2, both, parts, four, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_decoder_read(d, 1, both, two, four, NULL), ATTN_OK);
  attn_decoder_free(d);
  close_decodable();
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {TEST(steps_equal_the_whole_pass),
                                     TEST(long_sequences_fit_the_workspace),
                                     TEST(rejects_invalid_steps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
