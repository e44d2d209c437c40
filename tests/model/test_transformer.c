/* Whole Transformers of every kind and configuration: gradients are derivatives; every weight has
 * an effect; no token attends to the future or to another sequence; the order of tokens matters
 * with positions, and only then.
 *
 *     test_transformer [SEED] */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "transformer.h"

enum { MEMORY = 1 << 22, VOCAB = 11, TOKENS = 12 };

static struct attn_tape tape;
static struct attn_network *network;
static float *block; /* weights, then gradients */
static int64_t parameter_count;

/* Two sequences in the source and in the target. */
static int32_t tokens[2][TOKENS];
static const int32_t position_ids[2][TOKENS] = {{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5},
                                                {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4}};
static const int32_t types[TOKENS] = {0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0};
static const int64_t starts[2][3] = {{0, 6, 12}, {0, 7, 12}};
static struct attn_token_batch source = {.n = TOKENS,
                                         .sequences = 2,
                                         .tokens = tokens[0],
                                         .position_ids = position_ids[0],
                                         .starts = starts[0],
                                         .token_type_ids = types};
static struct attn_token_batch target = {.n = TOKENS,
                                         .sequences = 2,
                                         .tokens = tokens[1],
                                         .position_ids = position_ids[1],
                                         .starts = starts[1]};

static int begin(void **state) {
  (void)state;
  tape = (struct attn_tape){.host.threads = 2};
  tape.data = (struct attn_arena){aligned_alloc(64, MEMORY), MEMORY, 0, 0};
  for (int side = 0; side < 2; side++)
    for (int n = 0; n < TOKENS; n++) tokens[side][n] = (int32_t)below(VOCAB);
  return 0;
}

static int end(void **state) {
  (void)state;
  attn_tape_close(&tape);
  return 0;
}

static void open_network(const char *more) {
  char json[600];
  struct attn_model_config config;
  attn_error err;
  /* GELU, not ReLU: finite differences across its corner are meaningless. */
  snprintf(json, sizeof json,
           "{\"vocab_size\": %d, \"d_model\": 16, \"num_heads\": 4, \"ffn_dim\": 24, "
           "\"encoder_layers\": 2, \"decoder_layers\": 2, \"max_positions\": 16, \"norm_eps\": 0.01"
           "%s%s%s%s}",
           VOCAB, strstr(more, "dropout") ? "" : ", \"dropout\": 0",
           strstr(more, "activation") ? "" : ", \"activation\": \"gelu\"", *more ? ", " : "", more);
  if (attn_model_config_parse(json, strlen(json), &config, &err))
    fail_msg("%s: %s", json, err.message);
  assert_int_equal(attn_network_count(&config, &parameter_count, &err), ATTN_OK);
  block = calloc((size_t)parameter_count * 2, sizeof *block);
  assert_int_equal(attn_network_new(&config, block, block + parameter_count, &network, &err),
                   ATTN_OK);
  attn_network_init_weights(network, 5);
}

static void close_network(void) { attn_network_free(network), free(block); }

/* Logits in the tape's memory, of both sequences or of one. */
static struct attn_tape_variable *forward(void) {
  attn_tape_start(&tape);
  struct attn_tape_variable *y = attn_transformer_forward(network, &tape, &source, &target);
  if (tape.status) fail_msg("%s", tape.error.message);
  return y;
}

static const char *const variants[] = {
    "",
    "\"kind\": \"decoder\"",
    "\"kind\": \"encoder\"",
    "\"norm_first\": false",
    "\"norm_first\": false, \"final_norm\": false, \"kind\": \"decoder\", \"activation\": \"gelu\"",
    "\"norm\": \"rms_norm\", \"bias\": false, \"activation\": \"swiglu\", \"positions\": "
    "\"rotary\"",
    "\"num_kv_heads\": 2, \"head_dim\": 6, \"value_head_dim\": 5, \"positions\": \"alibi\"",
    "\"num_kv_heads\": 1, \"positions\": \"learned\", \"activation\": \"gelu_tanh\"",
    "\"tie_word_embeddings\": true, \"share_encoder_decoder_embeddings\": true, "
    "\"scale_embedding\": false",
    "\"kind\": \"encoder\", \"tie_word_embeddings\": true, \"positions\": \"none\"",
    "\"position_mode\": \"concatenate\", \"position_dim\": 6",
    "\"position_mode\": \"concatenate\", \"position_dim\": 4, \"positions\": \"learned\"",
    "\"dropout\": 0.2",
    "\"normalize_embedding\": true, \"type_vocab_size\": 2, \"positions\": \"learned\"",
    "\"kind\": \"encoder\", \"head\": \"transform\", \"tie_word_embeddings\": true, "
    "\"output_bias\": true",
    "\"positions\": \"sinusoidal_halves\", \"activation\": \"silu\", \"output_bias\": false",
    "\"head\": \"transform\", \"activation\": \"swiglu\"",
    "\"residual\": false, \"scale\": 0.3",
    "\"norm\": \"none\", \"scale\": 0.1, \"dropout\": 0.2",
    "\"alignment\": \"additive\", \"num_kv_heads\": 2, \"head_dim\": 6",
    "\"alignment\": \"general\", \"num_kv_heads\": 2, \"head_dim\": 6, \"positions\": \"alibi\"",
    "\"kind\": \"decoder\", \"alignment\": \"dot\"",
};

/* ---- Gradients ---- */

static double loss(const float *r, int differentiates, double *size) {
  double sum = 0;
  struct attn_tape_variable *y = forward();
  *size = 0;
  for (int64_t e = 0; e < y->n * y->width; e++) {
    double term = (double)r[e] * (double)y->x[e];
    sum += term, *size += fabs(term), y->dx[e] = r[e];
  }
  if (differentiates) attn_tape_backward(&tape);
  assert_int_equal(tape.status, ATTN_OK);
  return sum;
}

/* Along random directions over all weights of one parameter, as in test_tape.c. The terms summed in
 * the logits are larger than the sum: tenfold. */
static void expect_derivative(const struct attn_parameter *p, const float *r) {
  const double step = 1.0 / 128;
  int64_t count = p->value.n * p->value.width;
  float *kept = malloc((size_t)count * sizeof *kept),
        *direction = malloc((size_t)count * sizeof *kept);
  double exact = 0, sums[4], size;
  memcpy(kept, p->value.x, (size_t)count * sizeof *kept);
  for (int64_t e = 0; e < count; e++)
    direction[e] = chance(2) ? 1 : -1, exact += (double)direction[e] * (double)p->value.dx[e];
  for (int n = 0; n < 4; n++) {
    const double by[] = {step, -step, 2 * step, -2 * step};
    for (int64_t e = 0; e < count; e++) p->value.x[e] = kept[e] + (float)by[n] * direction[e];
    sums[n] = loss(r, 0, &size);
  }
  memcpy(p->value.x, kept, (size_t)count * sizeof *kept);
  double found = (8 * (sums[0] - sums[1]) - (sums[2] - sums[3])) / (12 * step);
  double bound = size * 320 * 0x1p-24 / step + 0.01 * fabs(found);
  if (!(fabs(found - exact) <= bound))
    fail_msg("%s: derivative %g, differences give %g +- %g", p->name, exact, found, bound);
  free(kept), free(direction);
}

static void gradients_are_derivatives(void **state) {
  (void)state;
  float r[TOKENS * VOCAB];
  for (size_t n = 0; n < sizeof variants / sizeof *variants; n++) {
    double size;
    open_network(variants[n]);
    tape.training = 1, tape.drop.seed = 77;
    for (int e = 0; e < TOKENS * VOCAB; e++) r[e] = uniform();
    loss(r, 1, &size);
    for (int p = 0; p < network->count; p++) expect_derivative(&network->parameters[p], r);
    close_network();
  }
  tape.training = 0;
}

/* A step's gradients: memory of the values and of shared gradients. */
static void learn(struct attn_tape *t, float *gradients) {
  int32_t labels[TOKENS];
  for (int n = 0; n < TOKENS; n++) labels[n] = n % 5 ? n % VOCAB : ATTN_IGNORE_INDEX;
  memset(block + parameter_count, 0, (size_t)parameter_count * sizeof *block);
  attn_tape_start(t);
  struct attn_tape_variable *y = attn_transformer_forward(network, t, &source, &target);
  attn_tape_cross_entropy(t, y, labels, 0.1, 1);
  attn_tape_backward(t);
  assert_int_equal(t->status, ATTN_OK);
  memcpy(gradients, block + parameter_count, (size_t)parameter_count * sizeof *block);
}

/* A tape measured for longer texts; the content of its memory has no effect. */
static void open_sharing(struct attn_tape *t) {
  struct attn_token_batch longer[2] = {source, target};
  longer[0].n += 3, longer[1].n += 5;
  *t = (struct attn_tape){
      .training = 1, .shares_gradients = 1, .host.threads = 2, .drop.seed = tape.drop.seed};
  struct attn_tape_variable *y = attn_transformer_forward(network, t, &longer[0], &longer[1]);
  attn_tape_cross_entropy(t, y, NULL, 0, 1);
  assert_int_equal(attn_tape_reserve(t, NULL), ATTN_OK);
  memset(t->data.memory, 0xff, t->data.size + t->gradients.offsets.peak);
}

static void shared_gradient_memory_changes_no_bit(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof variants / sizeof *variants; n++) {
    struct attn_tape sharing;
    open_network(variants[n]);
    float *own = malloc((size_t)parameter_count * sizeof *own),
          *shared = malloc((size_t)parameter_count * sizeof *own);
    tape.training = 1, tape.drop.seed = 77;
    learn(&tape, own);
    open_sharing(&sharing);
    learn(&sharing, shared), learn(&sharing, shared);
    assert_memory_equal(own, shared, (size_t)parameter_count * sizeof *own);
    assert_true(sharing.gradients.offsets.peak < sharing.data.size / 2);
    attn_tape_close(&sharing), free(own), free(shared), close_network();
  }
  tape.training = 0;
}

/* ---- Visibility ---- */

static void logits_to(float *to) { memcpy(to, forward()->x, TOKENS * VOCAB * sizeof *to); }

static void no_token_attends_to_the_future_or_another_sequence(void **state) {
  (void)state;
  float before[TOKENS * VOCAB], after[TOKENS * VOCAB];
  for (size_t n = 0; n < sizeof variants / sizeof *variants; n++) {
    open_network(variants[n]);
    int decodes = network->config.kind != ATTN_ENCODER,
        encodes = network->config.kind != ATTN_DECODER;
    logits_to(before);
    if (decodes) {
      tokens[1][4] = (tokens[1][4] + 1) % VOCAB;
      logits_to(after);
      assert_memory_equal(before, after, 4 * VOCAB * sizeof *after); /* the earlier ones */
      assert_memory_not_equal(before + 4 * VOCAB, after + 4 * VOCAB, 3 * VOCAB * sizeof *after);
      assert_memory_equal(before + 7 * VOCAB, after + 7 * VOCAB, 5 * VOCAB * sizeof *after);
      memcpy(before, after, sizeof before);
    }
    if (encodes) {
      int64_t first = decodes ? starts[1][1] : starts[0][1];
      tokens[0][5] = (tokens[0][5] + 1) % VOCAB; /* the first sequence's last */
      logits_to(after);
      assert_memory_not_equal(before, after, VOCAB * sizeof *after);
      assert_memory_equal(before + first * VOCAB, after + first * VOCAB,
                          (size_t)(TOKENS - first) * VOCAB * sizeof *after);
    }
    close_network();
  }
}

static void every_weight_has_an_effect(void **state) {
  (void)state;
  float before[TOKENS * VOCAB], after[TOKENS * VOCAB];
  for (size_t n = 0; n < sizeof variants / sizeof *variants; n++) {
    open_network(variants[n]);
    logits_to(before);
    for (int p = 0; p < network->count; p++) {
      const struct attn_tape_variable *v = &network->parameters[p].value;
      for (int64_t e = 0; e < v->n * v->width; e++) v->x[e] += e % 2 ? 0.25f : -0.5f;
      logits_to(after);
      if (!memcmp(before, after, sizeof after))
        fail_msg("%s: nothing depends on %s", variants[n], network->parameters[p].name);
      memcpy(before, after, sizeof after);
    }
    close_network();
  }
}

static void token_types_have_an_effect(void **state) {
  (void)state;
  float before[TOKENS * VOCAB], after[TOKENS * VOCAB];
  open_network("\"type_vocab_size\": 2, \"kind\": \"encoder\"");
  logits_to(before);
  source.token_type_ids = NULL; /* all 0 */
  logits_to(after);
  source.token_type_ids = types;
  assert_memory_not_equal(before, after, sizeof after);
  close_network();
}

/* Swaps tokens 1 and 3 of the first sequence: the largest change of the other tokens' logits. */
static double change_by_order(const char *positions) {
  char more[80];
  float before[TOKENS * VOCAB], after[TOKENS * VOCAB];
  double worst = 0;
  snprintf(more, sizeof more, "\"kind\": \"encoder\", \"positions\": \"%s\"", positions);
  open_network(more);
  tokens[0][1] = 1, tokens[0][3] = 7;
  logits_to(before);
  tokens[0][1] = 7, tokens[0][3] = 1;
  logits_to(after);
  for (int n = 0; n < 6; n++)
    for (int v = 0; v < VOCAB; v++) {
      int other = n == 1 ? 3 : n == 3 ? 1 : n;
      worst = fmax(worst, fabs((double)(before[n * VOCAB + v] - after[other * VOCAB + v])));
    }
  close_network();
  return worst;
}

static void order_matters_only_with_positions(void **state) {
  (void)state;
  assert_true(change_by_order("none") < 1e-5);
  assert_true(change_by_order("sinusoidal") > 1e-2);
  assert_true(change_by_order("learned") > 1e-4); /* small at initialization */
  assert_true(change_by_order("rotary") > 1e-2);
  assert_true(change_by_order("alibi") > 1e-2);
}

static void a_sequence_is_independent_of_its_batch(void **state) {
  (void)state;
  float together[TOKENS * VOCAB];
  for (size_t n = 0; n < sizeof variants / sizeof *variants; n++) {
    open_network(variants[n]);
    struct attn_token_batch whole_source = source, whole_target = target;
    logits_to(together);
    source.n = starts[0][1], target.n = starts[1][1], source.sequences = target.sequences = 1;
    const struct attn_tape_variable *alone = forward();
    for (int64_t e = 0; e < alone->n * VOCAB; e++) /* products of other sizes may round otherwise */
      assert_true(fabs((double)(alone->x[e] - together[e])) < 1e-4);
    source = whole_source, target = whole_target;
    close_network();
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {TEST(gradients_are_derivatives),
                                     TEST(shared_gradient_memory_changes_no_bit),
                                     TEST(every_weight_has_an_effect),
                                     TEST(token_types_have_an_effect),
                                     TEST(no_token_attends_to_the_future_or_another_sequence),
                                     TEST(order_matters_only_with_positions),
                                     TEST(a_sequence_is_independent_of_its_batch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
