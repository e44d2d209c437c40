/* The encoder of images. Frozen convolutions: not a bit of them changes and their gradients are 0,
 * and the other gradients are those of a trainer that trains all. Pre-trained: a linear
 * function of a position's hidden vector knows more about what is there than one that does not see
 * the picture; the decoder does not change; the same bits with any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pretrain_encoder.h"
#include "random.h"
#include "scene.h"

enum { WORDS = 9, SIDE = 12, BYTES = SIDE * SIDE * 3, BATCH = 4, LENGTH = 6 };

static const char *const variants[] = {
    "\"decoder_type\": \"lstm\"",
    "\"decoder_type\": \"gru\", \"alignment\": \"dot\"",
    "\"decoder_type\": \"lstm\", \"alignment\": \"general\"",
    "\"decoder_type\": \"gru\", \"alignment\": \"uniform\"",
    "\"decoder_type\": \"lstm\", \"alignment\": \"none\"",
    "\"decoder_type\": \"transformer\", \"num_heads\": 2, \"head_dim\": 4",
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static struct attn_trainer *open_trainer(const char *variant, int32_t freeze, int32_t threads) {
  char json[400];
  struct attn_model_config config;
  struct attn_trainer *t = NULL;
  attn_error err;
  snprintf(json, sizeof json,
           "{\"kind\": \"vision-encoder-decoder\", \"vocab_size\": %d, \"d_model\": 8, "
           "\"ffn_dim\": 8, \"decoder_layers\": 1, \"max_positions\": 8, \"image_size\": %d, "
           "\"num_stages\": 1, \"stage_channels\": 4, \"dropout\": 0%s, %s}",
           WORDS, SIDE, strstr(variant, "num_heads") ? "" : ", \"num_heads\": 1", variant);
  const struct attn_trainer_config trainer = {.adam = {0.9, 0.98, 1e-9, 0.1},
                                              .schedule = {ATTN_LR_CONSTANT, 0.01, 1, 100},
                                              .max_grad_norm = 1,
                                              .batch_size = BATCH,
                                              .max_tokens = BATCH * (LENGTH + 1),
                                              .max_length = 8,
                                              .seed = 3,
                                              .threads = threads,
                                              .freeze_cnn = freeze};
  if (attn_model_config_parse(json, strlen(json), &config, &err) ||
      attn_trainer_new(&config, &trainer, &t, &err))
    fail_msg("%s", err.message);
  return t;
}

/* The same in every call with the same seed. */
static void add_batch(struct attn_trainer *t, uint64_t seed) {
  random_state = seed * 1000003;
  for (int n = 0; n < BATCH; n++) {
    unsigned char rgb[BYTES];
    int32_t words[LENGTH];
    for (int k = 0; k < BYTES; k++) rgb[k] = (unsigned char)below(256);
    for (int k = 0; k < LENGTH; k++) words[k] = (int32_t)(4 + below(WORDS - 4));
    assert_true(attn_trainer_add_image(t, rgb, words, LENGTH));
  }
}

static int is_zero(const float *x, int64_t count) {
  while (count-- > 0)
    if (x[count] != 0) return 0;
  return 1;
}

static size_t bytes_of(const struct attn_parameter *p) {
  return (size_t)(p->value.n * p->value.width) * sizeof(float);
}

/* ---- Frozen ---- */

/* Compares the first gradients with frozen and with trained convolutions. */
static void compare_gradients(const struct attn_trainer *frozen, const struct attn_trainer *both) {
  const struct attn_network *n = frozen->replicas[0].network, *m = both->replicas[0].network;
  int convolutions = 0, moved = 0;
  for (int p = 0; p < n->count; p++) {
    const struct attn_parameter *one = &n->parameters[p], *other = &m->parameters[p];
    if (!attn_parameter_is_cnn(one)) {
      assert_memory_equal(one->value.dx, other->value.dx, bytes_of(one));
      continue;
    }
    assert_true(is_zero(one->value.dx, one->value.n * one->value.width));
    moved += !is_zero(other->value.dx, other->value.n * other->value.width), convolutions++;
  }
  assert_int_equal(convolutions, moved);
  assert_true(convolutions > 0);
}

static void test_frozen_convolutions_keep_every_bit(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; v++) {
    struct attn_trainer *t[2] = {open_trainer(variants[v], 1, 1), open_trainer(variants[v], 0, 1)};
    const struct attn_network *n = t[0]->replicas[0].network;
    const size_t bytes = (size_t)t[0]->parameter_count * sizeof(float);
    float *before = malloc(bytes);
    assert_non_null(before);
    memcpy(before, t[0]->weights, bytes);
    for (int k = 0; k < 2; k++) {
      add_batch(t[k], 1);
      assert_int_equal(attn_trainer_accumulate(t[k], NULL), ATTN_OK);
    }
    compare_gradients(t[0], t[1]);
    for (uint64_t step = 0; step < 3; step++) {
      struct attn_step_result result;
      assert_int_equal(attn_trainer_step(t[0], &result, NULL), ATTN_OK);
      assert_false(result.skipped);
      add_batch(t[0], 2 + step);
    }
    for (int p = 0; p < n->count; p++) {
      const struct attn_parameter *one = &n->parameters[p];
      const int is_frozen = attn_parameter_is_cnn(one);
      const int is_same = !memcmp(before + one->offset, one->value.x, bytes_of(one));
      assert_int_equal(is_same, is_frozen);
      if (is_frozen) assert_true(is_zero(t[0]->first_moment + one->offset, one->value.n));
    }
    free(before), attn_trainer_free(t[0]), attn_trainer_free(t[1]);
  }
}

/* ---- Pre-trained ---- */

static attn_status pretrain(struct attn_trainer *t, int64_t steps, struct attn_watch *watch,
                            double *loss, attn_error *err) {
  struct attn_dataset d = {.kind = ATTN_VISION_ENCODER_DECODER, .image_size = SIDE};
  assert_int_equal(attn_text_pairs_from_task("captions", 3, NULL, &d.pairs, NULL), ATTN_OK);
  attn_status status = attn_pretrain_encoder(t, &d, steps, watch, loss, err);
  attn_dataset_free(&d), attn_text_pairs_free(d.pairs);
  return status;
}

static void test_pretraining_changes_the_encoder_alone(void **state) {
  (void)state;
  struct attn_trainer *t[3];
  for (int k = 0; k < 3; k++) {
    t[k] = open_trainer(variants[0], 0, 1 + k % 2);
    if (k < 2) assert_int_equal(pretrain(t[k], 5, NULL, NULL, NULL), ATTN_OK);
    assert_true(is_zero(t[k]->first_moment, t[k]->parameter_count));
    assert_true(is_zero(t[k]->second_moment, t[k]->parameter_count));
    assert_int_equal(t[k]->step, 0);
  }
  const struct attn_network *n = t[0]->replicas[0].network;
  assert_memory_equal(t[0]->weights, t[1]->weights, (size_t)t[0]->parameter_count * sizeof(float));
  for (int p = 0; p < n->count; p++) {
    const struct attn_parameter *one = &n->parameters[p];
    int is_same = !memcmp(one->value.x, t[2]->weights + one->offset, bytes_of(one));
    assert_int_equal(is_same, !attn_parameter_is_encoder(one));
    assert_true(is_zero(one->value.dx, one->value.n * one->value.width));
  }
  for (int k = 0; k < 3; k++) attn_trainer_free(t[k]);
}

/* Of the first `scenes` scenes: the cross-entropy of the best classifiers that do not see the
 * picture, which is the entropy of the attributes of a position. */
static double entropy_of(const struct attn_text_pairs *pairs, uint64_t scenes) {
  enum { GRID = SIDE / 2, NONE = 8 };
  double count[3][NONE + 1] = {{0}}, sum = 0;
  const double all = (double)(scenes * GRID * GRID);
  for (uint64_t n = 0; n < scenes; n++) {
    struct attn_scene scene;
    int left = GRID * GRID;
    attn_text_pairs_scene(pairs, n, 0, &scene);
    for (int k = 0; k < scene.objects; k++) {
      const struct attn_scene_object *o = &scene.object[k];
      const struct attn_scene_box box = attn_scene_locate(&scene, k);
      for (int p = 0; p < GRID * GRID; p++) {
        double w = (double)scene.side / GRID, x = p % GRID * w + 0.5, y = p / GRID * w + 0.5;
        if (x < box.x0 || x > box.x1 || y < box.y0 || y > box.y1) continue;
        count[0][o->shape]++, count[1][o->color]++, count[2][o->large]++, left--;
      }
    }
    for (int h = 0; h < 3; h++) count[h][NONE] += left;
  }
  for (int h = 0; h < 3; h++)
    for (int n = 0; n <= NONE; n++)
      if (count[h][n] > 0) sum -= count[h][n] / all * log(count[h][n] / all);
  return sum / 3;
}

static void test_pretraining_learns_what_is_at_each_position(void **state) {
  (void)state;
  enum { STEPS = 400 };
  struct attn_trainer *t = open_trainer(variants[0], 0, 2);
  struct attn_text_pairs *pairs = NULL;
  double first, last;
  assert_int_equal(attn_text_pairs_from_task("captions", 3, NULL, &pairs, NULL), ATTN_OK);
  assert_int_equal(pretrain(t, 1, NULL, &first, NULL), ATTN_OK);
  /* Classifiers of 0: uniform over 8 shapes, 8 colours and 2 sizes, each with that of no object. */
  assert_true(fabs(first - (2 * log(9) + log(3)) / 3) < 1e-5);
  assert_int_equal(pretrain(t, STEPS, NULL, &last, NULL), ATTN_OK);
  const double blind = entropy_of(pairs, STEPS * BATCH);
  if (!(last < blind)) fail_msg("cross-entropy %g, without the picture %g", last, blind);
  attn_text_pairs_free(pairs), attn_trainer_free(t);
}

static int stop(void *context, int64_t done, int64_t total) {
  (void)total;
  return done >= *(const int64_t *)context;
}

static void test_pretraining_is_interrupted(void **state) {
  (void)state;
  int64_t last = 2;
  struct attn_watch watch = {.progress = stop, .context = &last, .name = "progress"};
  struct attn_trainer *t = open_trainer(variants[0], 0, 1);
  attn_error err;
  assert_int_equal(pretrain(t, 1000000, &watch, NULL, &err), ATTN_ERR_INTERRUPTED);
  attn_trainer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frozen_convolutions_keep_every_bit),
      cmocka_unit_test(test_pretraining_changes_the_encoder_alone),
      cmocka_unit_test(test_pretraining_learns_what_is_at_each_position),
      cmocka_unit_test(test_pretraining_is_interrupted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
