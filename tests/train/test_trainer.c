/* Laws of training: AdamW and the schedules are their formulas; a run is repeated bit for bit; what
 * is dropped does not depend on the number of threads; a step that is not finite changes nothing;
 * a model learns what can be learned; in bf16 linear layers see rounded weights, those of this
 * step, and nothing else does. */
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
#include "trainer.h"

enum { WORDS = 12 };
static int64_t whole_from; /* 0: as it is; 1: every model counts as a large one */
static int32_t halves;     /* 1: in bf16 */
static int hidden = 64;

static struct attn_trainer *open_trainer(const char *more, int32_t threads, double rate) {
  char json[400];
  struct attn_config config;
  struct attn_trainer *t = NULL;
  attn_error err;
  snprintf(
      json, sizeof json,
      "{\"vocabulary\": %d, \"width\": 32, \"heads\": 4, \"hidden\": %d, \"encoder_layers\": 1, "
      "\"decoder_layers\": 1, \"length\": 16%s}",
      WORDS, hidden, more);
  const struct attn_trainer_config how = {.adam = {0.9, 0.98, 1e-9, 0.01},
                                          .schedule = {ATTN_LR_COSINE, rate, 20, 300},
                                          .clip = 1,
                                          .batch = 16,
                                          .tokens = 128,
                                          .longest = 16,
                                          .seed = 3,
                                          .threads = threads,
                                          .whole_from = whole_from,
                                          .halves = halves};
  if (attn_config_parse(json, strlen(json), &config, &err) ||
      attn_trainer_new(&config, &how, &t, &err))
    fail_msg("%s", err.message);
  return t;
}

/* To be learned: the source backwards. */
static void add_batch(struct attn_trainer *t) {
  for (int n = 0; n < 16; n++) {
    int32_t source[6], target[6];
    int64_t count = 3 + below(3);
    for (int64_t k = 0; k < count; k++)
      source[k] = target[count - 1 - k] =
          (int32_t)(ATTN_TOKENS_SPECIAL + below(WORDS - ATTN_TOKENS_SPECIAL));
    assert_true(attn_trainer_add(t, source, count, target, count));
  }
  assert_false(attn_trainer_add(t, NULL, 0, NULL, 0)); /* that is all of a batch */
}

static struct attn_step make_step(struct attn_trainer *t) {
  struct attn_step step;
  add_batch(t);
  assert_int_equal(attn_trainer_step(t, &step, NULL), ATTN_OK);
  return step;
}

static int as_large_models(void **state) {
  (void)state;
  whole_from = 1;
  return 0;
}

static int in_bf16(void **state) {
  (void)state;
  halves = 1;
  return 0;
}

static int large_in_bf16(void **state) { return as_large_models(state), in_bf16(state); }

static int as_it_is(void **state) {
  (void)state;
  whole_from = halves = 0;
  return 0;
}

static void what_can_be_learned_is(void **state) {
  (void)state;
  struct attn_trainer *t = open_trainer(", \"dropout\": 0", 0, 5e-3);
  struct attn_step first = make_step(t), last = first;
  assert_true(fabs(first.loss - log(WORDS)) < 1); /* it begins with no opinion */
  for (int n = 1; n < 300; n++) last = make_step(t);
  assert_true(last.loss < 0.1 && last.accuracy > 0.97);
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

/* A batch of a large model is stopped between its layers, and was then never begun: the next step's
 * weights are, bit for bit, those of the trainer that was not stopped. */
static void a_batch_may_be_stopped_at_any_layer(void **state) {
  (void)state;
  hidden = 1 << 15;
  for (int at = 0; at < 40; at += 1 + 2 * at) { /* the first is let be */
    struct stop stop = {0, at};
    struct attn_watch watch = {.stop = count_calls, .context = &stop};
    struct attn_trainer *t[2];
    for (int k = 0; k < 2; k++) {
      t[k] = open_trainer("", 2, 1e-3);
      if (k) t[k]->watch = &watch;
      random_state = 9, add_batch(t[k]);
    }
    assert_int_equal(attn_trainer_accumulate(t[0], NULL), ATTN_OK);
    assert_int_equal(attn_trainer_accumulate(t[1], NULL), at ? ATTN_ERR_INTERRUPTED : ATTN_OK);
    assert_true(at ? stop.calls == at : stop.calls > 40);
    t[1]->watch = NULL;
    if (at) random_state = 9, add_batch(t[1]);
    for (int k = 0; k < 2; k++) {
      struct attn_step step;
      assert_int_equal(attn_trainer_step(t[k], &step, NULL), ATTN_OK);
    }
    assert_memory_equal(t[0]->weights, t[1]->weights, (size_t)t[0]->numbers * sizeof(float));
    attn_trainer_free(t[0]), attn_trainer_free(t[1]);
  }
  hidden = 64;
}

static void a_run_is_repeated_bit_for_bit(void **state) {
  (void)state;
  for (int32_t threads = 1; threads <= 3; threads++) {
    struct attn_trainer *t[2];
    for (int k = 0; k < 2; k++) {
      random_state = 9;
      t[k] = open_trainer("", threads, 1e-3);
      for (int n = 0; n < 5; n++) make_step(t[k]);
    }
    assert_memory_equal(t[0]->weights, t[1]->weights, (size_t)t[0]->numbers * sizeof(float));
    assert_memory_equal(t[0]->second, t[1]->second, (size_t)t[0]->numbers * sizeof(float));
    attn_trainer_free(t[0]), attn_trainer_free(t[1]);
  }
}

/* One part takes no copy of the gradients for each thread; and the sums are nearly the same. */
static void a_large_model_is_one_part(void **state) {
  (void)state;
  struct attn_trainer *t[2];
  struct attn_step step[2];
  for (int k = 0; k < 2; k++) {
    whole_from = k, random_state = 9;
    t[k] = open_trainer("", 3, 1e-3);
    assert_int_equal(t[k]->threads, 3);
    assert_int_equal(t[k]->parts, k ? 1 : 3);
    step[k] = make_step(t[k]);
  }
  assert_true(t[1]->bytes < t[0]->bytes);
  assert_true(fabs(step[0].loss - step[1].loss) < 1e-5);
  assert_true(fabs(step[0].norm - step[1].norm) < 1e-4 * step[0].norm);
  attn_trainer_free(t[0]), attn_trainer_free(t[1]);
}

static int parts_of(const char *json) {
  const struct attn_trainer_config how = {.batch = 3, .tokens = 3, .threads = 3};
  struct attn_config config;
  struct attn_trainer *t = NULL;
  assert_int_equal(attn_config_parse(json, strlen(json), &config, NULL), ATTN_OK);
  assert_int_equal(attn_trainer_new(&config, &how, &t, NULL), ATTN_OK);
  int parts = t->parts;
  attn_trainer_free(t);
  return parts;
}

/* A table of 2^21 weights and a little more; one of half as many. */
static void large_is_said_of_weights(void **state) {
  (void)state;
  static const char text[] =
      "{\"vocabulary\": %s, \"width\": 64, \"heads\": 4, \"kind\": "
      "\"decoder\", \"decoder_layers\": 0, \"tied_output\": true}";
  char json[200];
  snprintf(json, sizeof json, text, "32768");
  assert_int_equal(parts_of(json), 1);
  snprintf(json, sizeof json, text, "16384");
  assert_int_equal(parts_of(json), 3);
}

/* With more threads sums are formed otherwise, but the same is dropped: the first loss agrees. */
static void dropout_does_not_depend_on_threads(void **state) {
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

static void what_is_not_finite_changes_nothing(void **state) {
  (void)state;
  struct attn_trainer *t = open_trainer("", 2, 1e-3);
  size_t bytes = (size_t)t->numbers * sizeof(float);
  float *kept = malloc(bytes);
  make_step(t);
  t->weights[7] = NAN;
  memcpy(kept, t->weights, bytes);
  assert_true(make_step(t).skipped);
  assert_int_equal(t->skipped, 1);
  assert_memory_equal(kept, t->weights, bytes);
  free(kept), attn_trainer_free(t);
}

static void adamw_is_its_formula(void **state) {
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

static void a_norm_does_not_depend_on_threads(void **state) {
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

static void schedules_rise_and_fall(void **state) {
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

static void what_says_no_words_is_not_trained(void **state) {
  (void)state;
  static const char json[] = "{\"vocabulary\": 9, \"kind\": \"encoder\", \"head\": \"none\"}";
  const struct attn_trainer_config how = {.batch = 1, .tokens = 9, .threads = 1};
  struct attn_config config;
  struct attn_trainer *t = NULL;
  assert_int_equal(attn_config_parse(json, strlen(json), &config, NULL), ATTN_OK);
  assert_int_equal(attn_trainer_new(&config, &how, &t, NULL), ATTN_ERR_ARGUMENT);
  assert_null(t);
}

static void a_batch_that_is_full_takes_no_more(void **state) {
  (void)state;
  struct attn_batch *b;
  const int32_t some[5] = {4, 5, 6, 7, 8};
  assert_int_equal(attn_batch_new(3, 10, &b, NULL), ATTN_OK);
  assert_true(attn_batch_add(b, some, 5, some, 2));
  assert_false(attn_batch_add(b, some, 4, some, 2)); /* 6 and 5 are more than 10 */
  assert_true(attn_batch_add(b, some, 3, some, 1));
  assert_int_equal(b->source.n, 10), assert_int_equal(b->target.n, 5);
  const int32_t read[] = {ATTN_TOKEN_BEGIN, 4, 5, ATTN_TOKEN_BEGIN, 4},
                said[] = {4, 5, ATTN_TOKEN_END, 4, ATTN_TOKEN_END}, at[] = {0, 1, 2, 0, 1};
  assert_memory_equal(b->target.tokens, read, sizeof read);
  assert_memory_equal(b->labels, said, sizeof said);
  assert_memory_equal(b->target.places, at, sizeof at);
  assert_int_equal(b->source.tokens[5], ATTN_TOKEN_END);
  assert_int_equal(b->target.starts[1], 3), assert_int_equal(b->target.starts[2], 5);
  attn_batch_free(b);
}

/* A label for each place: the target's, then the end; a longer one has none. */
static void each_place_of_an_encoders_source_has_a_label(void **state) {
  (void)state;
  struct attn_batch *b;
  const int32_t some[5] = {4, 5, 6, 7, 8};
  const int32_t said[] = {8, ATTN_TOKEN_END, ATTN_TOKEN_END, 5, 6, ATTN_TOKEN_END, ATTN_TOKEN_END},
                read[] = {4, 5, ATTN_TOKEN_END, 6, 7, ATTN_TOKEN_END, ATTN_TOKEN_END},
                at[] = {0, 1, 2, 0, 1, 2, 0};
  assert_int_equal(attn_batch_new(3, 7, &b, NULL), ATTN_OK);
  assert_true(attn_batch_label(b, some, 2, some + 4, 1));
  assert_false(attn_batch_label(b, some, 2, some, 3));
  assert_false(attn_batch_label(b, some, 4, some, 1)); /* 3 and 5 are more than 7 */
  assert_true(attn_batch_label(b, some + 2, 2, some + 1, 2));
  assert_true(attn_batch_label(b, NULL, 0, NULL, 0));
  assert_true(b->source.n == 7 && b->source.sequences == 3 && b->sequences == 3 && !b->target.n);
  assert_memory_equal(b->labels, said, sizeof said);
  assert_memory_equal(b->source.tokens, read, sizeof read);
  assert_memory_equal(b->source.places, at, sizeof at);
  assert_false(attn_batch_label(b, NULL, 0, NULL, 0)); /* three sequences are all */
  attn_batch_free(b);
}

/* To be learned: at each place what stands at the next. */
static struct attn_step make_label_step(struct attn_trainer *t) {
  struct attn_step step;
  for (int n = 0; n < 16; n++) {
    int32_t source[6];
    int64_t count = 3 + below(3);
    for (int64_t k = 0; k < count; k++)
      source[k] = (int32_t)(ATTN_TOKENS_SPECIAL + below(WORDS - ATTN_TOKENS_SPECIAL));
    assert_true(attn_trainer_add(t, source, count, source + 1, count - 1));
  }
  assert_int_equal(attn_trainer_step(t, &step, NULL), ATTN_OK);
  return step;
}

static void an_encoder_alone_learns(void **state) {
  (void)state;
  struct attn_trainer *t = open_trainer(", \"dropout\": 0, \"kind\": \"encoder\"", 0, 5e-3);
  struct attn_step first = make_label_step(t), last = first;
  assert_true(fabs(first.loss - log(WORDS)) < 1);
  for (int n = 1; n < 300; n++) last = make_label_step(t);
  assert_true(last.loss < 0.1 && last.accuracy > 0.97);
  const int32_t two[] = {5, 6};
  assert_false(attn_trainer_add(t, two, 1, two, 2));
  attn_trainer_free(t);
}

/* ---- bf16 ---- */

static float rounded(float x) { return attn_from_bf16(attn_to_bf16(x)); }

static void expect_fresh(const struct attn_trainer *t) {
  for (int64_t n = 0; n < t->numbers; n++) {
    assert_true(attn_from_bf16(t->halves[n]) == rounded(t->weights[n]));
  }
}

/* A batch, of which the weights are what they are now; the gradients are left where they stand. */
static void gather(struct attn_trainer *t) {
  random_state = 17;
  add_batch(t);
  assert_int_equal(attn_trainer_accumulate(t, NULL), ATTN_OK);
  expect_fresh(t);
}

static struct attn_trainer *beside(const struct attn_trainer *t, const char *more) {
  struct attn_trainer *other = open_trainer(more, 1, 1e-3);
  memcpy(other->weights, t->weights, (size_t)t->numbers * sizeof(float));
  return other;
}

static int same_gathered(const struct attn_trainer *a, const struct attn_trainer *b) {
  size_t bytes = (size_t)a->numbers * sizeof(float);
  const struct attn_network *n = a->part[0].network, *m = b->part[0].network;
  return a->gathered.sum == b->gathered.sum &&
         !memcmp(n->parameters[0].value.dx, m->parameters[0].value.dx, bytes);
}

/* Matrices that are multiplied, by their names: all but the tables that tokens are looked up in. */
static int is_factor(const struct attn_parameter *p) {
  return p->rank == 2 && !strstr(p->name, "embedding") && !strstr(p->name, "positions");
}

/* Weights that linear layers multiply may be rounded before: not a bit of loss or gradients is
 * another. Of all others each bit counts. */
static void linear_layers_see_rounded_weights_and_nothing_else_does(void **state) {
  (void)state;
  static const char more[] = ", \"dropout\": 0, \"positions\": \"learned\"";
  int factors = 0;
  struct attn_trainer *t = open_trainer(more, 1, 1e-2);
  for (int n = 0; n < 3; n++) make_step(t); /* norms and biases are no longer 1 and 0 */
  gather(t);
  const struct attn_network *net = t->part[0].network;
  for (int n = 0; n < net->count; n++) {
    const struct attn_parameter *p = &net->parameters[n];
    struct attn_trainer *other = beside(t, more);
    for (int64_t e = 0; e < p->value.n * p->value.width; e++)
      other->weights[p->offset + e] = rounded(other->weights[p->offset + e]);
    gather(other);
    if (same_gathered(t, other) != is_factor(p))
      fail_msg("%s: %s", p->name, is_factor(p) ? "is not rounded" : "is rounded");
    factors += is_factor(p), attn_trainer_free(other);
  }
  assert_int_equal(factors, 4 + 6 + 1); /* of the encoder, the decoder, the output */
  halves = 0;
  struct attn_trainer *single = open_trainer(more, 1, 1e-3);
  assert_true(t->bytes > single->bytes && !single->halves); /* which are counted */
  attn_trainer_free(t), attn_trainer_free(single);
}

/* What is evaluated is what a step learns from, of the weights as they are by then. */
static void a_batch_that_is_evaluated_has_the_loss_of_its_step(void **state) {
  (void)state;
  struct attn_trainer *t = open_trainer(", \"dropout\": 0", 2, 1e-2);
  double before = 0;
  for (int n = 0; n < 4; n++) {
    struct attn_loss loss = {0, 0, 0};
    random_state = 17, add_batch(t);
    assert_int_equal(attn_trainer_evaluate(t, &loss, NULL), ATTN_OK);
    expect_fresh(t);
    random_state = 17;
    struct attn_step step = make_step(t);
    assert_true(step.loss == loss.sum / (double)loss.rows && step.loss != before);
    before = step.loss;
  }
  attn_trainer_free(t);
}

static void precisions_have_names(void **state) {
  (void)state;
  int32_t is = 7;
  assert_string_equal(attn_precision_name(0), "float32");
  assert_string_equal(attn_precision_name(1), "bf16");
  assert_true(attn_precision_find("bf16", &is) && is == 1);
  assert_true(attn_precision_find("float32", &is) && is == 0);
  assert_false(attn_precision_find("bf17", &is) || attn_precision_find("", &is));
}

#define IN_BF16(name) cmocka_unit_test_setup_teardown(name, in_bf16, as_it_is)
#define LARGE_IN_BF16(name) cmocka_unit_test_setup_teardown(name, large_in_bf16, as_it_is)
#define AS_LARGE(name) cmocka_unit_test_setup_teardown(name, as_large_models, as_it_is)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  setenv("ATTN_THREADS", "3", 1); /* wherever it runs */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_can_be_learned_is),
      cmocka_unit_test(a_run_is_repeated_bit_for_bit),
      cmocka_unit_test(a_batch_may_be_stopped_at_any_layer),
      AS_LARGE(a_batch_may_be_stopped_at_any_layer),
      cmocka_unit_test(dropout_does_not_depend_on_threads),
      AS_LARGE(what_can_be_learned_is),
      AS_LARGE(a_run_is_repeated_bit_for_bit),
      AS_LARGE(dropout_does_not_depend_on_threads),
      AS_LARGE(what_is_not_finite_changes_nothing),
      AS_LARGE(a_large_model_is_one_part),
      cmocka_unit_test(large_is_said_of_weights),
      cmocka_unit_test(what_is_not_finite_changes_nothing),
      cmocka_unit_test(adamw_is_its_formula),
      cmocka_unit_test(a_norm_does_not_depend_on_threads),
      cmocka_unit_test(schedules_rise_and_fall),
      cmocka_unit_test(what_says_no_words_is_not_trained),
      cmocka_unit_test(a_batch_that_is_full_takes_no_more),
      cmocka_unit_test(each_place_of_an_encoders_source_has_a_label),
      cmocka_unit_test(an_encoder_alone_learns),
      AS_LARGE(an_encoder_alone_learns),
      IN_BF16(what_can_be_learned_is),
      IN_BF16(a_run_is_repeated_bit_for_bit),
      IN_BF16(what_is_not_finite_changes_nothing),
      LARGE_IN_BF16(what_can_be_learned_is),
      LARGE_IN_BF16(a_run_is_repeated_bit_for_bit),
      IN_BF16(linear_layers_see_rounded_weights_and_nothing_else_does),
      IN_BF16(a_batch_that_is_evaluated_has_the_loss_of_its_step),
      LARGE_IN_BF16(a_batch_that_is_evaluated_has_the_loss_of_its_step),
      cmocka_unit_test(precisions_have_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
