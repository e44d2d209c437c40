/* Tracing: every attention of a pass is visited once, in order, with its q and k; its weights are
 * the softmax of them, 0 for masked keys.
 *
 *     test_trace [SEED] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "models.h"
#include "scarce.h"
#include "trace.h"

enum { WORDS = 11, ASKED = 7, SAID = 9, SEEN = 64, WEIGHTS = 4 * SAID * SAID };

static const int32_t target_tokens[SAID] = {1, 3, 5, 7, 9, 10, 8, 6, 4};

/* ---- The attentions visited ---- */

struct seen {
  int count, stop_at;
  struct attn_traced_attention site[SEEN];
  float weights[SEEN][WEIGHTS];
  void (*hold)(const struct attn_traced_attention *site);
};
static struct seen seen;

static int look(void *context, const struct attn_traced_attention *site) {
  struct seen *s = context;
  size_t bytes = (size_t)(site->heads * site->queries * site->keys) * sizeof(float);
  assert_true(s->count < SEEN && bytes <= sizeof s->weights[0]);
  memcpy(s->weights[s->count], site->weights, bytes);
  s->site[s->count++] = *site;
  if (s->hold) s->hold(site);
  return s->count == s->stop_at;
}

static attn_status trace(void (*hold)(const struct attn_traced_attention *), int stop_at,
                         int32_t threads) {
  memset(&seen, 0, sizeof seen);
  seen.hold = hold, seen.stop_at = stop_at;
  return attn_transformer_trace(network, source_tokens, ASKED, NULL, target_tokens, SAID, threads,
                                look, &seen, NULL);
}

/* ---- Weights are the softmax of q and k ---- */

/* One row in double, from the equations; the corollary of docs/accuracy.md, with ALiBi and with
 * additive scores. S is the largest of the sums of magnitudes. */
static void hold_row(const struct attn_traced_attention *s, int64_t h, int64_t i) {
  double scores[SAID], top = -INFINITY, most = 0, sum = 0, all = 0;
  int64_t group = s->heads / s->kv_heads, visible = s->causal ? i + 1 : s->keys;
  const double scale = attn_model_score_scale(&network->config);
  const float *a = s->additive ? s->additive + h * s->width : NULL;
  const float *w = s->weights + (h * s->queries + i) * s->keys;
  for (int64_t j = 0; j < visible; j++) {
    double dot = 0, size = 0;
    for (int64_t e = 0; e < s->width; e++) {
      double q = (double)s->q.at[i * s->q.step + h * s->width + e];
      double k = (double)s->k.at[j * s->k.step + h / group * s->width + e];
      double term = a ? (double)a[e] * tanh(q + k) : q * k;
      dot += term, size += fabs(term);
    }
    double far = s->slopes ? (double)s->slopes[h] * fabs((double)(i - j)) : 0;
    scores[j] = dot * scale - far, top = fmax(top, scores[j]);
    most = fmax(most, size * scale + far);
  }
  for (int64_t j = 0; j < visible; j++) sum += exp(scores[j] - top);
  double c = ceil(log2((double)s->keys)) + 1, n = (double)visible;
  double roundings = (double)s->width + (a ? 10 : 1) + (s->slopes ? 1 : 0);
  double b = 34 + 2 * roundings * most + 2 * n + 5 * c;
  for (int64_t j = 0; j < s->keys; j++) {
    double p = j < visible ? exp(scores[j] - top) / sum : 0;
    double bound = p * expm1(0x1p-24 * (b + 3 * (top - (j < visible ? scores[j] : top))));
    assert_true(fabs((double)w[j] - p) <= bound);
    all += (double)w[j];
  }
  assert_true(fabs(all - 1) <= expm1(0x1p-24 * (b + 3 * 2 * most)));
}

static void hold_weights(const struct attn_traced_attention *s) {
  for (int64_t h = 0; h < s->heads; h++)
    for (int64_t i = 0; i < s->queries; i++) hold_row(s, h, i);
}

static void expect_site(int n, attn_attention_kind kind, int64_t layer, int64_t queries,
                        int64_t keys) {
  const struct attn_traced_attention *s = &seen.site[n];
  assert_int_equal(s->kind, kind);
  assert_int_equal(s->layer, layer);
  assert_int_equal(s->queries, queries);
  assert_int_equal(s->keys, keys);
  assert_int_equal(s->causal, kind == ATTN_ATTENTION_DECODER);
  assert_int_equal(s->heads, network->config.num_heads);
  assert_int_equal(s->kv_heads, network->config.num_kv_heads);
  assert_int_equal(s->width, network->config.head_dim);
  assert_true(s->scale == attn_model_score_scale(&network->config));
  assert_int_equal(s->additive != NULL, network->config.alignment == ATTN_ALIGN_ADDITIVE);
  assert_int_equal(s->slopes != NULL, network->config.positions == ATTN_POSITIONS_ALIBI &&
                                          kind != ATTN_ATTENTION_CROSS);
}

static void expect_order(void) {
  const struct attn_model_config *c = &network->config;
  int n = 0;
  for (int64_t l = 0; l < c->encoder_layers; l++)
    expect_site(n++, ATTN_ATTENTION_ENCODER, l, ASKED, ASKED);
  for (int64_t l = 0; l < c->decoder_layers; l++) {
    expect_site(n++, ATTN_ATTENTION_DECODER, l, SAID, SAID);
    if (c->kind == ATTN_ENCODER_DECODER) expect_site(n++, ATTN_ATTENTION_CROSS, l, SAID, ASKED);
  }
  assert_int_equal(seen.count, n);
}

static void every_attention_is_visited(void **state) {
  (void)state;
  for (int variant = 0; variant <= VARIANTS; variant++) {
    open_network(variant < VARIANTS ? variants[variant] : "\"kind\": \"encoder\"", WORDS, 5);
    assert_int_equal(trace(hold_weights, 0, 2), ATTN_OK);
    expect_order();
    close_network();
  }
}

/* ---- q and k are the layer's ---- */

/* Row `row` of the weights and bias of that layer's projection, of x. 17 roundings of 16 terms and
 * a bias, none larger than their sum of magnitudes. */
static void expect_projected(float got, const char *layer, int64_t row, const double *x) {
  char name[80];
  snprintf(name, sizeof name, "%s.in_proj_weight", layer);
  const struct attn_tape_variable *w = parameter(name);
  snprintf(name, sizeof name, "%s.in_proj_bias", layer);
  double sum = (double)parameter(name)->x[row], size = fabs(sum);
  for (int64_t e = 0; e < w->width; e++) {
    double term = (double)w->x[row * w->width + e] * x[e];
    sum += term, size += fabs(term);
  }
  assert_true(fabs((double)got - sum) <= 17 * 0x1p-24 * size);
}

/* Each holds for a known x: the embedded tokens before the first layer, and the encoder's hidden
 * vectors, which another pass computes in the same way. */
static void hold_first_projection(const struct attn_traced_attention *s) {
  const struct attn_model_config *c = &network->config;
  int encodes = s->kind == ATTN_ATTENTION_ENCODER;
  if (s->layer != 0 || s->kind == ATTN_ATTENTION_CROSS) return;
  const struct attn_tape_variable *words_of =
      parameter(encodes ? "source_embedding.weight" : "target_embedding.weight");
  const struct attn_tape_variable *places_of =
      parameter(encodes ? "source_positions.weight" : "target_positions.weight");
  for (int64_t i = 0; i < s->queries; i++) {
    double x[16];
    int32_t token = (encodes ? source_tokens : target_tokens)[i];
    for (int e = 0; e < 16; e++)
      x[e] = (double)(sqrtf(16) * words_of->x[token * 16 + e] + places_of->x[i * 16 + e]);
    const char *layer = encodes ? "encoder.layers.0.self_attn" : "decoder.layers.0.self_attn";
    for (int64_t e = 0; e < c->num_heads * c->head_dim; e++) {
      expect_projected(s->q.at[i * s->q.step + e], layer, e, x);
      expect_projected(s->k.at[i * s->k.step + e], layer, 16 + e, x);
    }
  }
}

static void hold_keys_of_the_source(const struct attn_traced_attention *s) {
  const int64_t starts[2] = {0, ASKED};
  const struct attn_token_batch text = {.n = ASKED,
                                        .sequences = 1,
                                        .tokens = source_tokens,
                                        .position_ids = places,
                                        .starts = starts};
  if (s->kind != ATTN_ATTENTION_CROSS || s->layer != 1) return;
  attn_tape_start(&tape);
  const struct attn_tape_variable *hidden = attn_transformer_encode(network, &tape, &text);
  for (int64_t j = 0; j < s->keys; j++) {
    double x[16];
    for (int e = 0; e < 16; e++) x[e] = (double)hidden->x[j * 16 + e];
    for (int64_t e = 0; e < 16; e++)
      expect_projected(s->k.at[j * s->k.step + e], "decoder.layers.1.multihead_attn", 16 + e, x);
  }
}

static void queries_and_keys_are_those_of_the_layer(void **state) {
  (void)state;
  open_network("\"norm_first\": false, \"positions\": \"learned\"", WORDS, 5);
  for (int64_t n = 0; n < network->parameter_count; n++)
    if (block[n] == 0) block[n] = uniform(); /* biases */
  assert_int_equal(trace(hold_first_projection, 0, 1), ATTN_OK);
  assert_int_equal(trace(hold_keys_of_the_source, 0, 1), ATTN_OK);
  close_network();
}

/* All tokens are equal: each visible one has the same weight. */
static void equal_scores_give_equal_weights(void **state) {
  (void)state;
  open_network("", WORDS, 5);
  memset(block, 0, (size_t)network->parameter_count * sizeof *block);
  assert_int_equal(trace(hold_weights, 0, 1), ATTN_OK);
  for (int n = 0; n < seen.count; n++)
    for (int64_t i = 0; i < seen.site[n].queries; i++)
      for (int64_t j = 0; j < seen.site[n].keys; j++) {
        int64_t visible = seen.site[n].causal ? i + 1 : seen.site[n].keys;
        float w = seen.weights[n][i * seen.site[n].keys + j];
        assert_true(fabsf(w - (j < visible ? 1 / (float)visible : 0)) < 1e-6f);
      }
  close_network();
}

/* ---- Side effects ---- */

static void tracing_changes_nothing(void **state) {
  (void)state;
  static float first[SEEN][WEIGHTS];
  float plain[SAID * WORDS];
  open_network("", WORDS, 5);
  memcpy(plain, whole(target_tokens, SAID, 1), sizeof plain); /* source 1 has 7 tokens */
  memmove(source_tokens, source_tokens + source_starts[1], ASKED * sizeof *source_tokens);
  assert_int_equal(trace(NULL, 0, 1), ATTN_OK);
  memcpy(first, seen.weights, sizeof first);
  assert_int_equal(trace(NULL, 0, 3), ATTN_OK);
  assert_memory_equal(first, seen.weights, sizeof first);
  memmove(source_tokens + source_starts[1], source_tokens, ASKED * sizeof *source_tokens);
  assert_memory_equal(plain, whole(target_tokens, SAID, 1), sizeof plain);
  close_network();
}

static int count_sites(void *context, const struct attn_traced_attention *site) {
  (void)site;
  ++*(int *)context;
  return 0;
}

/* The notes of a pass grow with the layers. */
static void the_notes_of_a_deep_model_fit(void **state) {
  (void)state;
  int sites = 0;
  struct attn_model_config config;
  const char *json =
      "{\"vocab_size\": 11, \"d_model\": 4, \"ffn_dim\": 4, \"num_heads\": 1, \"max_positions\": "
      "16, "
      "\"encoder_layers\": 400, \"decoder_layers\": 400, \"positions\": \"rotary\"}";
  assert_int_equal(attn_model_config_parse(json, strlen(json), &config, NULL), ATTN_OK);
  assert_int_equal(attn_network_allocate(&config, &network, &block, NULL), ATTN_OK);
  attn_network_init_weights(network, 5);
  assert_int_equal(attn_transformer_trace(network, source_tokens, ASKED, NULL, target_tokens, SAID,
                                          1, count_sites, &sites, NULL),
                   ATTN_OK);
  assert_int_equal(sites, 1200);
  close_network();
}

/* ---- Errors ---- */

static void expect_refused(const int32_t *asked, int64_t asked_count, const int32_t *said,
                           int64_t said_count, int32_t threads, const char *argument) {
  attn_error err = {0};
  memset(&seen, 0, sizeof seen);
  assert_int_equal(attn_transformer_trace(network, asked, asked_count, NULL, said, said_count,
                                          threads, look, &seen, &err),
                   ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, argument);
  assert_int_equal(seen.count, 0);
}

static void rejects_invalid_sequences(void **state) {
  (void)state;
  const int32_t none[] = {1, WORDS}, below_0[] = {-1};
  int32_t many[LENGTH + 1] = {0};
  open_network("", WORDS, 5);
  expect_refused(source_tokens, 0, target_tokens, SAID, 1, "source");
  expect_refused(source_tokens, ASKED, target_tokens, 0, 1, "target");
  expect_refused(many, LENGTH + 1, target_tokens, SAID, 1, "source");
  expect_refused(source_tokens, ASKED, many, LENGTH + 1, 1, "target");
  expect_refused(none, 2, target_tokens, SAID, 1, "source");
  expect_refused(source_tokens, ASKED, below_0, 1, 1, "target");
  expect_refused(source_tokens, ASKED, target_tokens, SAID, -1, "threads");
  for (int at = 1; at <= 6; at++) {
    assert_int_equal(trace(NULL, at, 1), ATTN_ERR_INTERRUPTED);
    assert_int_equal(seen.count, at);
  }
  close_network();
}

static attn_status run_trace(void *context) { return (void)context, trace(NULL, 0, 1); }

static void survives_every_failing_allocation(void **state) {
  (void)state;
  open_network("", WORDS, 5);
  assert_true(scarce_fail_each(run_trace, NULL) >= 10);
  close_network();
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      TEST(every_attention_is_visited),       TEST(queries_and_keys_are_those_of_the_layer),
      TEST(equal_scores_give_equal_weights),  TEST(tracing_changes_nothing),
      TEST(the_notes_of_a_deep_model_fit),    TEST(rejects_invalid_sequences),
      TEST(survives_every_failing_allocation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
