/* Occlusion: for each token of a caption, the place of the highest attention is covered, and only
 * it, by a square of the colour that is the median; the token predicted is that of a pass over that
 * picture; the same seed gives the same squares; models without places are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/train.h"
#include "caption_probe.h"
#include "scene.h"
#include "scratch.h"

enum { SIDE = ATTN_SCENE_SIDE, GRID = 12, SQUARE = SIDE / 3, TEXT = 32, WORDS = 24 };

static attn_model *model;
static unsigned char rgb[SIDE * SIDE * 3];
static const attn_tensor image = {rgb, ATTN_U8, 3, {SIDE, SIDE, 3}, {SIDE * 3, 3, 1}};
static struct attn_caption caption;

/* A few steps: the weights of the attention differ between places. */
static attn_model *train(const char *name, const char *alignment) {
  attn_train_config config = ATTN_TRAIN_CONFIG_INIT;
  attn_model *m = NULL;
  attn_error err;
  char path[128], json[128];
  snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
  snprintf(json, sizeof json, "{\"d_model\": 16, \"stage_channels\": 4, \"alignment\": \"%s\"}",
           alignment);
  config.task = "captions", config.output = path, config.config = json;
  config.steps = 8, config.batch_size = 8, config.learning_rate = 0.02;
  config.max_validation_examples = 1;
  if (attn_model_train(&config, NULL, &err) || attn_model_open(path, &m, &err))
    fail_msg("%s", err.message);
  return m;
}

static int begin(void **state) {
  struct attn_scene scene;
  (void)state;
  if (folder_begin()) return -1;
  model = train("a", "additive");
  attn_scene_make(5, 2, ATTN_SCENE_TRAINING, 0, NULL, &scene);
  attn_scene_render(&scene, rgb);
  attn_scene_caption(&scene, 0, 1, &caption);
  return 0;
}

static int end(void **state) {
  (void)state;
  attn_model_free(model);
  return folder_end();
}

/* What is visited. */
struct visits {
  int64_t count;
  struct {
    int row, column;
    char token[TEXT], predicted[TEXT], occluded[TEXT], control[TEXT];
    unsigned char rgb[SIDE * SIDE * 3];
  } at[WORDS];
  int64_t stop_at; /* 0: never */
};

static int record(void *context, const attn_occlusion *o) {
  struct visits *v = context;
  assert_int_equal(o->index, v->count);
  assert_int_equal(o->count, caption.words);
  assert_true(o->occluded_image->shape[0] == SIDE && o->occluded_image->shape[1] == SIDE);
  v->at[v->count].row = o->row, v->at[v->count].column = o->column;
  snprintf(v->at[v->count].token, TEXT, "%s", o->token);
  snprintf(v->at[v->count].predicted, TEXT, "%s", o->predicted);
  snprintf(v->at[v->count].occluded, TEXT, "%s", o->occluded);
  snprintf(v->at[v->count].control, TEXT, "%s", o->control);
  memcpy(v->at[v->count++].rgb, o->occluded_image->data, sizeof rgb);
  return v->count == v->stop_at;
}

static struct visits *visit(uint64_t seed) {
  struct visits *v = calloc(1, sizeof *v);
  attn_error err;
  assert_non_null(v);
  if (attn_model_occlude_caption(model, &image, caption.text, seed, record, v, &err))
    fail_msg("%s", err.message);
  assert_int_equal(v->count, caption.words);
  return v;
}

static int compare_bytes(const void *a, const void *b) {
  return *(const unsigned char *)a - *(const unsigned char *)b;
}

/* The lower median of a channel, by sorting. */
static unsigned char median_of(int channel) {
  static unsigned char values[SIDE * SIDE];
  for (int n = 0; n < SIDE * SIDE; n++) values[n] = rgb[3 * n + channel];
  qsort(values, SIDE * SIDE, 1, compare_bytes);
  return values[(SIDE * SIDE - 1) / 2];
}

/* All pixels outside of the square around the place are those of the picture, all inside the fill.
 */
static void check_square(const unsigned char *covered, int row, int column) {
  const int pixels = SIDE / GRID;
  int left = column * pixels - SQUARE / 2, top = row * pixels - SQUARE / 2;
  if (left < 0) left = 0;
  if (top < 0) top = 0;
  if (left > SIDE - SQUARE) left = SIDE - SQUARE;
  if (top > SIDE - SQUARE) top = SIDE - SQUARE;
  for (int n = 0; n < SIDE * SIDE; n++) {
    const int x = n % SIDE, y = n / SIDE;
    const int is_in = x >= left && x < left + SQUARE && y >= top && y < top + SQUARE;
    for (int c = 0; c < 3; c++)
      assert_int_equal(covered[3 * n + c], is_in ? median_of(c) : rgb[3 * n + c]);
  }
}

static void test_the_place_is_covered_and_nothing_else(void **state) {
  (void)state;
  struct visits *v = visit(1);
  check_square(v->at[0].rgb, v->at[0].row, v->at[0].column);
  check_square(v->at[v->count - 1].rgb, v->at[v->count - 1].row, v->at[v->count - 1].column);
  free(v);
}

/* The highest weight of each row of the attention that the public call visits. */
static int add_places(void *context, const attn_attention *a) {
  const struct visits *v = context;
  if (a->kind != ATTN_ATTENTION_CROSS) return 0;
  for (int64_t n = 0; n < v->count; n++) {
    const int64_t place = v->at[n].row * GRID + v->at[n].column;
    for (int64_t k = 0; k < a->keys; k++)
      assert_true(a->weights[n * a->keys + k] <= a->weights[n * a->keys + place]);
    assert_string_equal(a->query_tokens[n], v->at[n].token);
  }
  return 0;
}

static void test_places_are_those_of_the_highest_attention(void **state) {
  (void)state;
  struct visits *v = visit(1);
  assert_int_equal(attn_model_visit_caption(model, &image, caption.text, 1, add_places, v, NULL),
                   ATTN_OK);
  free(v);
}

/* The token after the same prefix, from a probe that reads the covered picture from the start. */
static void test_predictions_are_those_of_the_covered_picture(void **state) {
  (void)state;
  struct visits *v = visit(1);
  for (int64_t n = 0; n < v->count; n++) {
    const attn_tensor covered = {v->at[n].rgb, ATTN_U8, 3, {SIDE, SIDE, 3}, {SIDE * 3, 3, 1}};
    for (int whole = 0; whole < 2; whole++) {
      struct attn_caption_probe p;
      assert_int_equal(
          attn_caption_probe_open(&p, model, whole ? &image : &covered, caption.text, NULL),
          ATTN_OK);
      const char *expected = attn_tokenizer_token(model->tokenizer, p.predicted[n]);
      assert_string_equal(whole ? v->at[n].predicted : v->at[n].occluded, expected);
      attn_caption_probe_close(&p);
    }
  }
  free(v);
}

static void test_the_seed_selects_the_control(void **state) {
  (void)state;
  struct visits *v = visit(1), *same = visit(1);
  assert_memory_equal(v, same, sizeof *v);
  struct visits *other = visit(2);
  for (int64_t n = 0; n < v->count; n++)
    assert_memory_equal(v->at[n].rgb, other->at[n].rgb, sizeof rgb);
  free(v), free(same), free(other);
}

static void test_errors(void **state) {
  (void)state;
  struct visits *v = calloc(1, sizeof *v);
  attn_error err;
  attn_model *uniform = train("u", "uniform");
  assert_non_null(v);
  assert_int_equal(attn_model_occlude_caption(uniform, &image, caption.text, 1, record, v, &err),
                   ATTN_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "looks at all places equally"));
  assert_int_equal(attn_model_occlude_caption(model, &image, NULL, 1, record, v, &err),
                   ATTN_ERR_ARGUMENT);
  assert_int_equal(v->count, 0);
  v->stop_at = 2;
  assert_int_equal(attn_model_occlude_caption(model, &image, caption.text, 1, record, v, &err),
                   ATTN_ERR_INTERRUPTED);
  assert_int_equal(v->count, 2);
  attn_model_free(uniform), free(v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_place_is_covered_and_nothing_else),
      cmocka_unit_test(test_places_are_those_of_the_highest_attention),
      cmocka_unit_test(test_predictions_are_those_of_the_covered_picture),
      cmocka_unit_test(test_the_seed_selects_the_control),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
