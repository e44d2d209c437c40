/* Training steps: AdamW and the schedules follow their formulas; runs are deterministic; dropout
 * does not depend on the number of threads; a step that is not finite changes nothing; models learn
 * easy tasks; in bf16 only linear layers use rounded weights, those of the current step. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bf16.h"
#include "element.h"
#include "random.h"
#include "select.h"
#include "trainer.h"

enum { VOCAB = 12 };
static int64_t single_replica_from; /* 0: the default; 1: every model has a single replica */
static int32_t bf16;                /* 1: in bf16 */
static int hidden = 64;

static struct attn_trainer *open_trainer(const char *more, int32_t threads, double rate) {
  char json[400];
  struct attn_model_config config;
  struct attn_trainer *t = NULL;
  attn_error err;
  snprintf(json, sizeof json,
           "{\"vocab_size\": %d, \"d_model\": 32, \"num_heads\": 4, \"ffn_dim\": %d, "
           "\"encoder_layers\": 1, "
           "\"decoder_layers\": 1, \"max_positions\": 16%s}",
           VOCAB, hidden, more);
  const struct attn_trainer_config trainer = {.adam = {0.9, 0.98, 1e-9, 0.01},
                                              .schedule = {ATTN_LR_COSINE, rate, 20, 300},
                                              .max_grad_norm = 1,
                                              .batch_size = 16,
                                              .max_tokens = 128,
                                              .max_length = 16,
                                              .seed = 3,
                                              .threads = threads,
                                              .single_replica_from = single_replica_from,
                                              .bf16 = bf16};
  if (attn_model_config_parse(json, strlen(json), &config, &err) ||
      attn_trainer_new(&config, &trainer, &t, &err))
    fail_msg("%s", err.message);
  return t;
}

/* Under a sanitizer the steps are what is tested, not that they lead somewhere. */
static int steps_to_learn(void) { return SANITIZED ? 30 : 300; }

static void expect_learned(struct attn_step_result last) {
  assert_true(SANITIZED || (last.loss < 0.1 && last.accuracy > 0.97));
}

/* The target is the source reversed. */
static void add_batch(struct attn_trainer *t) {
  for (int n = 0; n < 16; n++) {
    int32_t source[6], target[6];
    int64_t count = 3 + below(3);
    for (int64_t k = 0; k < count; k++)
      source[k] = target[count - 1 - k] =
          (int32_t)(ATTN_NUM_SPECIAL_TOKENS + below(VOCAB - ATTN_NUM_SPECIAL_TOKENS));
    assert_true(attn_trainer_add(t, source, count, target, count));
  }
  assert_false(attn_trainer_add(t, NULL, 0, NULL, 0)); /* the batch is full */
}

static struct attn_step_result make_step(struct attn_trainer *t) {
  struct attn_step_result step;
  add_batch(t);
  assert_int_equal(attn_trainer_step(t, &step, NULL), ATTN_OK);
  return step;
}

static int single_replica(void **state) {
  (void)state;
  single_replica_from = 1;
  return 0;
}

static int in_bf16(void **state) {
  (void)state;
  bf16 = 1;
  return 0;
}

static int single_replica_in_bf16(void **state) { return single_replica(state), in_bf16(state); }

static int reset(void **state) {
  (void)state;
  single_replica_from = bf16 = 0;
  return 0;
}

static void test_learns_to_reverse(void **state) {
  (void)state;
  struct attn_trainer *t = open_trainer(", \"dropout\": 0", 0, 5e-3);
  struct attn_step_result first = make_step(t), last = first;
  assert_true(fabs(first.loss - log(VOCAB)) < 1); /* nearly uniform at first */
  for (int n = 1; n < steps_to_learn(); n++) last = make_step(t);
  expect_learned(last);
  attn_trainer_free(t);
}

struct stop {
  int calls, at;
};

static int count_calls(void *context, int64_t done, int64_t total) {
  struct stop *s = context;
  (void)done, (void)total;
  return ++s->calls == s->at;
}

/* A batch of a large model can be interrupted between layers. The next step gives the same bits as
 * without the interruption. */
static void test_interrupt_at_any_layer(void **state) {
  (void)state;
  hidden = 1 << 14;
  struct attn_trainer *uninterrupted = NULL;
  for (int at = 0; at < 40; at += 1 + 2 * at) { /* at 0: no interruption */
    struct stop stop = {0, at};
    struct attn_watch watch = {.progress = count_calls, .context = &stop};
    struct attn_step_result step;
    struct attn_trainer *t = open_trainer("", 2, 1e-3);
    t->watch = &watch;
    random_state = 9, add_batch(t);
    assert_int_equal(attn_trainer_accumulate(t, NULL), at ? ATTN_ERR_INTERRUPTED : ATTN_OK);
    assert_true(at ? stop.calls == at : stop.calls > 40);
    t->watch = NULL;
    if (at) random_state = 9, add_batch(t);
    assert_int_equal(attn_trainer_step(t, &step, NULL), ATTN_OK);
    if (!at) {
      uninterrupted = t;
      continue;
    }
    assert_memory_equal(t->weights, uninterrupted->weights,
                        (size_t)t->parameter_count * sizeof(float));
    attn_trainer_free(t);
  }
  attn_trainer_free(uninterrupted);
  hidden = 64;
}

static void test_steps_are_deterministic(void **state) {
  (void)state;
  for (int32_t threads = 1; threads <= 3; threads++) {
    struct attn_trainer *t[2];
    for (int k = 0; k < 2; k++) {
      random_state = 9;
      t[k] = open_trainer("", threads, 1e-3);
      for (int n = 0; n < 5; n++) make_step(t[k]);
    }
    assert_memory_equal(t[0]->weights, t[1]->weights,
                        (size_t)t[0]->parameter_count * sizeof(float));
    assert_memory_equal(t[0]->second_moment, t[1]->second_moment,
                        (size_t)t[0]->parameter_count * sizeof(float));
    attn_trainer_free(t[0]), attn_trainer_free(t[1]);
  }
}

static void test_single_replica_matches_replicas(void **state) {
  (void)state;
  struct attn_trainer *t[2];
  struct attn_step_result step[2];
  for (int k = 0; k < 2; k++) {
    single_replica_from = k, random_state = 9;
    t[k] = open_trainer("", 3, 1e-3);
    assert_int_equal(t[k]->threads, 3);
    assert_int_equal(t[k]->replica_count, k ? 1 : 3);
    step[k] = make_step(t[k]);
  }
  assert_true(t[1]->memory_bytes < t[0]->memory_bytes);
  assert_true(fabs(step[0].loss - step[1].loss) < 1e-5);
  assert_true(fabs(step[0].grad_norm - step[1].grad_norm) < 1e-4 * step[0].grad_norm);
  attn_trainer_free(t[0]), attn_trainer_free(t[1]);
}

static int count_replicas(const char *json) {
  const struct attn_trainer_config trainer = {.batch_size = 3, .max_tokens = 3, .threads = 3};
  struct attn_model_config config;
  struct attn_trainer *t = NULL;
  assert_int_equal(attn_model_config_parse(json, strlen(json), &config, NULL), ATTN_OK);
  assert_int_equal(attn_trainer_new(&config, &trainer, &t, NULL), ATTN_OK);
  int count = t->replica_count;
  attn_trainer_free(t);
  return count;
}

/* Embeddings of 2^21 and 2^20 parameters. */
static void test_large_model_has_a_single_replica(void **state) {
  (void)state;
  static const char text[] =
      "{\"vocab_size\": %s, \"d_model\": 64, \"num_heads\": 4, \"kind\": "
      "\"decoder\", \"decoder_layers\": 0, \"tie_word_embeddings\": true}";
  char json[200];
  snprintf(json, sizeof json, text, "32768");
  assert_int_equal(count_replicas(json), 1);
  snprintf(json, sizeof json, text, "16384");
  assert_int_equal(count_replicas(json), 3);
}

/* More threads change the order of summation, but not the dropout mask: the first loss agrees. */
static void test_dropout_does_not_depend_on_threads(void **state) {
  (void)state;
  double loss[3];
  for (int32_t threads = 1; threads <= 3; threads++) {
    random_state = 9;
    struct attn_trainer *t = open_trainer(", \"dropout\": 0.5", threads, 1e-3);
    loss[threads - 1] = make_step(t).loss;
    attn_trainer_free(t);
  }
  assert_true(fabs(loss[0] - loss[1]) < 1e-5 && fabs(loss[0] - loss[2]) < 1e-5);
}

static void test_non_finite_step_changes_nothing(void **state) {
  (void)state;
  struct attn_trainer *t = open_trainer("", 2, 1e-3);
  size_t bytes = 3 * (size_t)t->parameter_count * sizeof(float); /* and both moments */
  float *kept = malloc(bytes);
  make_step(t);
  t->weights[7] = NAN;
  memcpy(kept, t->weights, bytes);
  assert_true(make_step(t).skipped);
  assert_int_equal(t->skipped_steps, 1);
  assert_memory_equal(kept, t->weights, bytes);
  free(kept), attn_trainer_free(t);
}

static void test_adamw_formula(void **state) {
  (void)state;
  enum { COUNT = 37 };
  float w[COUNT], m[COUNT] = {0}, v[COUNT] = {0}, g[COUNT];
  double wd[COUNT], md[COUNT] = {0}, vd[COUNT] = {0};
  const struct attn_adamw adam = {0.9, 0.98, 1e-8, 0.1};
  const struct attn_host host = {.threads = 2};
  for (int n = 0; n < COUNT; n++) wd[n] = (double)(w[n] = uniform());
  for (int t = 1; t <= 20; t++) {
    const struct attn_adamw_group all = {w, m, v, g, COUNT, t % 2};
    for (int n = 0; n < COUNT; n++) g[n] = uniform();
    attn_adamw_step(&host, &adam, t, 0.01, 0.5, &all);
    for (int n = 0; n < COUNT; n++) {
      double gradient = 0.5 * (double)g[n];
      md[n] = 0.9 * md[n] + 0.1 * gradient, vd[n] = 0.98 * vd[n] + 0.02 * gradient * gradient;
      double step = md[n] / (1 - pow(0.9, t)) / (sqrt(vd[n] / (1 - pow(0.98, t))) + 1e-8);
      wd[n] -= 0.01 * (step + (t % 2 ? 0.1 * wd[n] : 0));
      assert_true(fabs((double)w[n] - wd[n]) < 1e-6);
    }
  }
}

static void test_sum_of_squares_does_not_depend_on_threads(void **state) {
  (void)state;
  enum { COUNT = 4099 };
  static float x[COUNT];
  double exact = 0, one = 0;
  for (int n = 0; n < COUNT; n++) x[n] = uniform(), exact += (double)x[n] * (double)x[n];
  for (int32_t threads = 1; threads <= 3; threads++) {
    const struct attn_host host = {.threads = threads};
    double sum = attn_sum_of_squares(&host, x, COUNT);
    if (threads == 1) one = sum;
    assert_true(sum == one && fabs(sum - exact) < 1e-9 * exact);
  }
  const struct attn_host host = {.threads = 3};
  assert_true(attn_sum_of_squares(&host, x, 3) == (double)x[0] * (double)x[0] +
                                                      (double)x[1] * (double)x[1] +
                                                      (double)x[2] * (double)x[2]);
}

static void test_lr_schedules(void **state) {
  (void)state;
  const struct attn_lr_schedule cosine = {ATTN_LR_COSINE, 2, 10, 110},
                                noam = {ATTN_LR_NOAM, 2, 10, 0},
                                constant = {ATTN_LR_CONSTANT, 2, 0, 0};
  const struct {
    const struct attn_lr_schedule *s;
    int64_t step;
    double rate;
  } known[] = {{&cosine, 5, 1},   {&cosine, 10, 2},   {&cosine, 60, 1}, {&cosine, 110, 0},
               {&cosine, 200, 0}, {&noam, 5, 1},      {&noam, 10, 2},   {&noam, 40, 1},
               {&constant, 1, 2}, {&constant, 999, 2}};
  for (size_t n = 0; n < sizeof known / sizeof *known; n++)
    assert_true(fabs(attn_lr_schedule_rate(known[n].s, known[n].step) - known[n].rate) < 1e-12);
}

static void test_model_without_output_head_is_rejected(void **state) {
  (void)state;
  static const char json[] = "{\"vocab_size\": 9, \"kind\": \"encoder\", \"head\": \"none\"}";
  const struct attn_trainer_config trainer = {.batch_size = 1, .max_tokens = 9, .threads = 1};
  struct attn_model_config config;
  struct attn_trainer *t = NULL;
  assert_int_equal(attn_model_config_parse(json, strlen(json), &config, NULL), ATTN_OK);
  assert_int_equal(attn_trainer_new(&config, &trainer, &t, NULL), ATTN_ERR_ARGUMENT);
  assert_null(t);
}

static const struct attn_model_config texts = {.kind = ATTN_ENCODER_DECODER},
                                      encoder = {.kind = ATTN_ENCODER};

static void test_batch_is_filled_up_to_its_capacity(void **state) {
  (void)state;
  struct attn_batch *b;
  const int32_t some[5] = {4, 5, 6, 7, 8};
  assert_int_equal(attn_batch_new(&texts, 3, 10, &b, NULL), ATTN_OK);
  assert_true(attn_batch_add(b, some, 5, some, 2));
  assert_false(attn_batch_add(b, some, 4, some, 2)); /* 6 and 5 are more than 10 */
  assert_true(attn_batch_add(b, some, 3, some, 1));
  assert_int_equal(b->source.n, 10), assert_int_equal(b->target.n, 5);
  const int32_t tokens[] = {ATTN_TOKEN_BEGIN, 4, 5, ATTN_TOKEN_BEGIN, 4},
                labels[] = {4, 5, ATTN_TOKEN_END, 4, ATTN_TOKEN_END},
                position_ids[] = {0, 1, 2, 0, 1};
  assert_memory_equal(b->target.tokens, tokens, sizeof tokens);
  assert_memory_equal(b->labels, labels, sizeof labels);
  assert_memory_equal(b->target.position_ids, position_ids, sizeof position_ids);
  assert_int_equal(b->source.tokens[5], ATTN_TOKEN_END);
  assert_int_equal(b->target.starts[1], 3), assert_int_equal(b->target.starts[2], 5);
  attn_batch_free(b);
}

/* Each source position has a label: the target's tokens, then end tokens. */
static void test_encoder_has_a_label_for_each_source_position(void **state) {
  (void)state;
  struct attn_batch *b;
  const int32_t some[5] = {4, 5, 6, 7, 8};
  const int32_t labels[] = {8, ATTN_TOKEN_END, ATTN_TOKEN_END, 5,
                            6, ATTN_TOKEN_END, ATTN_TOKEN_END},
                tokens[] = {4, 5, ATTN_TOKEN_END, 6, 7, ATTN_TOKEN_END, ATTN_TOKEN_END},
                position_ids[] = {0, 1, 2, 0, 1, 2, 0};
  assert_int_equal(attn_batch_new(&encoder, 3, 7, &b, NULL), ATTN_OK);
  assert_true(attn_batch_add(b, some, 2, some + 4, 1));
  assert_false(attn_batch_add(b, some, 2, some, 3));
  assert_false(attn_batch_add(b, some, 4, some, 1)); /* 3 and 5 are more than 7 */
  assert_true(attn_batch_add(b, some + 2, 2, some + 1, 2));
  assert_true(attn_batch_add(b, NULL, 0, NULL, 0));
  assert_true(b->source.n == 7 && b->source.sequences == 3 && b->sequences == 3 && !b->target.n);
  assert_memory_equal(b->labels, labels, sizeof labels);
  assert_memory_equal(b->source.tokens, tokens, sizeof tokens);
  assert_memory_equal(b->source.position_ids, position_ids, sizeof position_ids);
  assert_false(attn_batch_add(b, NULL, 0, NULL, 0)); /* three sequences at most */
  attn_batch_free(b);
}

/* The label of a position is the next token. */
static struct attn_step_result make_label_step(struct attn_trainer *t) {
  struct attn_step_result step;
  for (int n = 0; n < 16; n++) {
    int32_t source[6];
    int64_t count = 3 + below(3);
    for (int64_t k = 0; k < count; k++)
      source[k] = (int32_t)(ATTN_NUM_SPECIAL_TOKENS + below(VOCAB - ATTN_NUM_SPECIAL_TOKENS));
    assert_true(attn_trainer_add(t, source, count, source + 1, count - 1));
  }
  assert_int_equal(attn_trainer_step(t, &step, NULL), ATTN_OK);
  return step;
}

static void test_encoder_learns(void **state) {
  (void)state;
  struct attn_trainer *t = open_trainer(", \"dropout\": 0, \"kind\": \"encoder\"", 0, 5e-3);
  struct attn_step_result first = make_label_step(t), last = first;
  assert_true(fabs(first.loss - log(VOCAB)) < 1);
  for (int n = 1; n < steps_to_learn(); n++) last = make_label_step(t);
  expect_learned(last);
  const int32_t two[] = {5, 6};
  assert_false(attn_trainer_add(t, two, 1, two, 2));
  attn_trainer_free(t);
}

/* ---- bf16 ---- */

static float rounded(float x) { return attn_from_bf16(attn_to_bf16(x)); }

static void expect_current_bf16_weights(const struct attn_trainer *t) {
  for (int64_t n = 0; n < t->parameter_count; n++) {
    assert_true(attn_from_bf16(t->bf16_weights[n]) == rounded(t->weights[n]));
  }
}

static void accumulate(struct attn_trainer *t) {
  random_state = 17;
  add_batch(t);
  assert_int_equal(attn_trainer_accumulate(t, NULL), ATTN_OK);
  expect_current_bf16_weights(t);
}

static struct attn_trainer *copy_trainer(const struct attn_trainer *t, const char *more) {
  struct attn_trainer *other = open_trainer(more, 1, 1e-3);
  memcpy(other->weights, t->weights, (size_t)t->parameter_count * sizeof(float));
  return other;
}

static int same_loss_and_gradients(const struct attn_trainer *a, const struct attn_trainer *b) {
  size_t bytes = (size_t)a->parameter_count * sizeof(float);
  const struct attn_network *n = a->replicas[0].network, *m = b->replicas[0].network;
  return a->accumulated.sum == b->accumulated.sum &&
         !memcmp(n->parameters[0].value.dx, m->parameters[0].value.dx, bytes);
}

/* Weights of linear layers, by name: matrices other than embeddings. */
static int is_linear_weight(const struct attn_parameter *p) {
  return p->rank == 2 && !strstr(p->name, "embedding") && !strstr(p->name, "positions");
}

/* Rounding a linear layer's weight beforehand changes no bit of loss and gradients; rounding any
 * other parameter does. */
static void test_bf16_rounds_linear_weights_only(void **state) {
  (void)state;
  static const char more[] = ", \"dropout\": 0, \"positions\": \"learned\"";
  int linear_weights = 0;
  struct attn_trainer *t = open_trainer(more, 1, 1e-2);
  for (int n = 0; n < 3; n++) make_step(t); /* norms and biases are no longer 1 and 0 */
  accumulate(t);
  const struct attn_network *net = t->replicas[0].network;
  for (int n = 0; n < net->count; n++) {
    const struct attn_parameter *p = &net->parameters[n];
    struct attn_trainer *other = copy_trainer(t, more);
    for (int64_t e = 0; e < p->value.n * p->value.width; e++)
      other->weights[p->offset + e] = rounded(other->weights[p->offset + e]);
    accumulate(other);
    if (same_loss_and_gradients(t, other) != is_linear_weight(p))
      fail_msg("%s: %s", p->name, is_linear_weight(p) ? "is not rounded" : "is rounded");
    linear_weights += is_linear_weight(p), attn_trainer_free(other);
  }
  assert_int_equal(linear_weights, 4 + 6 + 1); /* encoder, decoder, output */
  bf16 = 0;
  struct attn_trainer *single = open_trainer(more, 1, 1e-3);
  assert_true(t->memory_bytes > single->memory_bytes &&
              !single->bf16_weights); /* memory_bytes counts them */
  attn_trainer_free(t), attn_trainer_free(single);
}

static void test_evaluate_returns_the_loss_of_the_step(void **state) {
  (void)state;
  struct attn_trainer *t = open_trainer(", \"dropout\": 0", 2, 1e-2);
  double before = 0;
  for (int n = 0; n < 4; n++) {
    struct attn_loss loss = {0, 0, 0};
    random_state = 17, add_batch(t);
    assert_int_equal(attn_trainer_evaluate(t, &loss, NULL), ATTN_OK);
    expect_current_bf16_weights(t);
    random_state = 17;
    struct attn_step_result step = make_step(t);
    assert_true(step.loss == loss.sum / (double)loss.rows && step.loss != before);
    before = step.loss;
  }
  attn_trainer_free(t);
}

static void test_precisions_are_found_by_name(void **state) {
  (void)state;
  int32_t is = 7;
  assert_string_equal(attn_precision_name(0), "float32");
  assert_string_equal(attn_precision_name(1), "bf16");
  assert_true(attn_precision_find("bf16", &is) && is == 1);
  assert_true(attn_precision_find("float32", &is) && is == 0);
  assert_false(attn_precision_find("bf17", &is) || attn_precision_find("", &is));
}

#define IN_BF16(name) cmocka_unit_test_setup_teardown(name, in_bf16, reset)
#define SINGLE_REPLICA_IN_BF16(name) \
  cmocka_unit_test_setup_teardown(name, single_replica_in_bf16, reset)
#define SINGLE_REPLICA(name) cmocka_unit_test_setup_teardown(name, single_replica, reset)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  setenv("ATTN_THREADS", "3", 1); /* on any machine */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_learns_to_reverse),
      cmocka_unit_test(test_steps_are_deterministic),
      cmocka_unit_test(test_interrupt_at_any_layer),
      SINGLE_REPLICA(test_interrupt_at_any_layer),
      cmocka_unit_test(test_dropout_does_not_depend_on_threads),
      SINGLE_REPLICA(test_steps_are_deterministic),
      SINGLE_REPLICA(test_dropout_does_not_depend_on_threads),
      SINGLE_REPLICA(test_non_finite_step_changes_nothing),
      SINGLE_REPLICA(test_single_replica_matches_replicas),
      cmocka_unit_test(test_large_model_has_a_single_replica),
      cmocka_unit_test(test_non_finite_step_changes_nothing),
      cmocka_unit_test(test_adamw_formula),
      cmocka_unit_test(test_sum_of_squares_does_not_depend_on_threads),
      cmocka_unit_test(test_lr_schedules),
      cmocka_unit_test(test_model_without_output_head_is_rejected),
      cmocka_unit_test(test_batch_is_filled_up_to_its_capacity),
      cmocka_unit_test(test_encoder_has_a_label_for_each_source_position),
      cmocka_unit_test(test_encoder_learns),
      SINGLE_REPLICA(test_encoder_learns),
      IN_BF16(test_steps_are_deterministic),
      IN_BF16(test_non_finite_step_changes_nothing),
      SINGLE_REPLICA_IN_BF16(test_learns_to_reverse),
      SINGLE_REPLICA_IN_BF16(test_steps_are_deterministic),
      IN_BF16(test_bf16_rounds_linear_weights_only),
      IN_BF16(test_evaluate_returns_the_loss_of_the_step),
      SINGLE_REPLICA_IN_BF16(test_evaluate_returns_the_loss_of_the_step),
      cmocka_unit_test(test_precisions_are_found_by_name)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
