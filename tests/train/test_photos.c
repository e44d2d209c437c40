/* Scenes of photos: an object is a photo of the class that the caption names, from the files of its
 * split alone; pixels are the background, darkened; splits share no caption; files that are missing
 * or invalid are typed errors. With files that the test writes, and with Debian's package if
 * installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/lesson.h"
#include "attn/train.h"
#include "scene.h"
#include "scratch.h"
#include "text_pairs.h"

enum {
  SIDE = ATTN_SCENE_PHOTO_SIDE,
  PHOTO = ATTN_PHOTO_SIDE,
  CELL = SIDE / ATTN_SCENE_GRID,
  CLASSES = ATTN_PHOTO_CLASSES,
  EACH = 3, /* photos of a class */
  PHOTOS = CLASSES * EACH,
  MANY = 3000
};

/* ---- Files: plain IDX, which the reader accepts under any name ---- */

struct files {
  int photos, side, labels; /* in the headers */
  int wrong;                /* added to the last label */
};

static void put_big(FILE *f, int value) {
  for (int shift = 24; shift >= 0; shift -= 8) fputc(value >> shift & 255, f);
}

static FILE *create(const char *part, int validation) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s-%s-ubyte.gz", folder, validation ? "t10k" : "train", part);
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  return f;
}

/* Photo n of class n % 10; each pixel is 0 at the border, else 1 + 2 n, plus 100 in validation. */
static void write_files(const struct files *h, int validation) {
  FILE *f = create("images-idx3", validation);
  put_big(f, 0x0803), put_big(f, h->photos), put_big(f, h->side), put_big(f, h->side);
  for (int n = 0; n < h->photos; n++)
    for (int p = 0; p < h->side * h->side; p++) {
      int x = p % h->side, y = p / h->side, in = x && y && x < h->side - 1 && y < h->side - 1;
      fputc(in ? 1 + 2 * n + 100 * validation : 0, f);
    }
  assert_int_equal(fclose(f), 0);
  f = create("labels-idx1", validation);
  put_big(f, 0x0801), put_big(f, h->labels);
  for (int n = 0; n < h->labels; n++) fputc(n % CLASSES + (n == h->labels - 1 ? h->wrong : 0), f);
  assert_int_equal(fclose(f), 0);
}

static const struct files valid = {PHOTOS, PHOTO, PHOTOS, 0};

static int begin(void **state) {
  (void)state;
  if (folder_begin()) return -1;
  setenv("ATTN_FASHION_MNIST", folder, 1);
  write_files(&valid, 0), write_files(&valid, 1);
  return 0;
}

static int end(void **state) { return (void)state, folder_end(); }

static struct attn_photos *open_photos(int validation) {
  struct attn_photos *photos = NULL;
  attn_error err;
  if (attn_photos_open(validation, NULL, &photos, &err)) fail_msg("%s", err.message);
  return photos;
}

static struct attn_scene scene_of(uint64_t n, int validation, const struct attn_photos *photos) {
  struct attn_scene scene;
  memset(&scene, 0xAA, sizeof scene);
  attn_scene_make(7, n, validation ? ATTN_SCENE_VALIDATION : ATTN_SCENE_TRAINING, 1, photos,
                  &scene);
  return scene;
}

/* ---- Scenes ---- */

/* Inside its cell; the value of its pixels is that of a photo of its class and split. */
static int photo_of(const struct attn_scene *scene, int k, int validation) {
  const struct attn_scene_object *o = &scene->object[k];
  const struct attn_scene_box box = attn_scene_locate(scene, k);
  unsigned char mask[SIDE * SIDE];
  attn_scene_mask(scene, k, mask);
  const int value = mask[box.y0 * SIDE + box.x0], n = (value - 1 - 100 * validation) / 2;
  assert_true(box.x1 - box.x0 == PHOTO - 2 && box.y1 - box.y0 == PHOTO - 2);
  assert_true(box.x0 > o->col * CELL && box.x1 < (o->col + 1) * CELL);
  assert_true(box.y0 > o->row * CELL && box.y1 < (o->row + 1) * CELL);
  for (int p = 0; p < SIDE * SIDE; p++) {
    int x = p % SIDE, y = p / SIDE;
    int is_in = x >= box.x0 && x < box.x1 && y >= box.y0 && y < box.y1;
    assert_int_equal(mask[p], is_in ? value : 0);
  }
  assert_in_range(n, 0, PHOTOS - 1);
  assert_int_equal(n % CLASSES, o->shape);
  return n;
}

static void test_photos_are_of_their_class_and_split(void **state) {
  (void)state;
  for (int validation = 0; validation < 2; validation++) {
    struct attn_photos *photos = open_photos(validation);
    int seen[PHOTOS] = {0};
    for (uint64_t n = 0; n < MANY / 10; n++) {
      const struct attn_scene scene = scene_of(n, validation, photos);
      for (int k = 0; k < scene.objects; k++) {
        seen[photo_of(&scene, k, validation)]++;
        for (int other = 0; other < k; other++)
          assert_int_not_equal(scene.object[k].shape, scene.object[other].shape);
      }
    }
    for (int n = 0; n < PHOTOS; n++) assert_true(seen[n]);
    attn_photos_free(photos);
  }
}

/* What a run trains on and what it validates on. */
static void test_runs_train_on_the_training_photos_alone(void **state) {
  (void)state;
  struct attn_text_pairs *pairs = NULL;
  assert_int_equal(attn_text_pairs_from_task("photos", 7, NULL, &pairs, NULL), ATTN_OK);
  for (uint64_t n = 0; n < 100; n++)
    for (int validation = 0; validation < 2; validation++) {
      struct attn_scene scene;
      attn_text_pairs_scene(pairs, n, validation, &scene);
      for (int k = 0; k < scene.objects; k++) photo_of(&scene, k, validation);
    }
  attn_text_pairs_free(pairs);
}

/* background (255 - value) / 255, up to noise and rounding. */
static void test_pixels_are_the_background_darkened(void **state) {
  (void)state;
  struct attn_photos *photos = open_photos(0);
  static unsigned char rgb[SIDE * SIDE * 3], mask[SIDE * SIDE], all[SIDE * SIDE];
  for (uint64_t n = 0; n < 50; n++) {
    const struct attn_scene scene = scene_of(n, 0, photos);
    attn_scene_render(&scene, rgb);
    memset(all, 0, sizeof all);
    for (int k = 0; k < scene.objects; k++) {
      attn_scene_mask(&scene, k, mask);
      for (int p = 0; p < SIDE * SIDE; p++) all[p] |= mask[p];
    }
    for (int p = 0; p < SIDE * SIDE * 3; p++) {
      int expected = scene.background[p % 3] * (255 - all[p / 3]) / 255;
      assert_true(abs(rgb[p] - expected) <= 11);
    }
  }
  attn_photos_free(photos);
}

/* ---- Captions ---- */

static const char *const nouns[2][CLASSES] = {
    {"a T-shirt", "trousers", "a pullover", "a dress", "a coat", "a sandal", "a shirt", "a sneaker",
     "a bag", "a boot"},
    {"Tシャツ", "ズボン", "セーター", "ワンピース", "コート", "サンダル", "シャツ", "スニーカー",
     "バッグ", "ブーツ"}};

/* Written again from the objects, except the place of a single one. */
static void test_captions_name_the_objects(void **state) {
  (void)state;
  for (uint64_t n = 0; n < MANY; n++) {
    const struct attn_scene scene = scene_of(n, n % 2, NULL);
    char english[512] = "", japanese[512] = "";
    struct attn_caption c;
    for (int k = 0; k < scene.objects; k++) {
      int above = k + 1 < scene.objects && scene.object[k].col == scene.object[k + 1].col;
      strcat(english, nouns[0][scene.object[k].shape]);
      if (k + 1 < scene.objects) strcat(english, above ? " above " : " left of ");
    }
    for (int k = scene.objects - 1; k > 0; k--) {
      int above = scene.object[k].col == scene.object[k - 1].col;
      strcat(strcat(japanese, nouns[1][scene.object[k].shape]), above ? "の上" : "の左");
      strcat(japanese, k > 1 ? "の" : "に");
    }
    strcat(strcat(japanese, nouns[1][scene.object[0].shape]), "がある");
    attn_scene_caption(&scene, ATTN_LANGUAGE_ENGLISH, 0, &c);
    assert_memory_equal(c.text, english, strlen(english));
    assert_int_equal(c.text[strlen(english)], scene.objects == 1 ? ' ' : 0);
    attn_scene_caption(&scene, ATTN_LANGUAGE_JAPANESE, 0, &c);
    assert_string_equal(c.text + strlen(c.text) - strlen(japanese), japanese);
    if (scene.objects > 1) assert_string_equal(c.text, japanese);
  }
}

/* One word for each object. */
static void test_words_name_their_object(void **state) {
  (void)state;
  for (uint64_t n = 0; n < MANY; n++) {
    const struct attn_scene scene = scene_of(n, 0, NULL);
    struct attn_caption c;
    int language = n % 2, named[ATTN_SCENE_OBJECTS] = {0};
    attn_scene_caption(&scene, language, 1, &c);
    for (int k = 0; k < c.words; k++) {
      const struct attn_caption_word *w = &c.word[k];
      if (w->object < 0) continue;
      const char *noun = nouns[language][scene.object[w->object].shape];
      size_t length = strlen(noun), word = (size_t)w->length;
      assert_true(word <= length);
      assert_memory_equal(c.text + w->begin, noun + length - word, word);
      named[w->object]++;
    }
    for (int k = 0; k < scene.objects; k++) assert_int_equal(named[k], 1);
  }
}

static int compare(const void *a, const void *b) { return strcmp(a, b); }

static void test_splits_share_no_caption(void **state) {
  (void)state;
  static char texts[2][MANY][ATTN_EXAMPLE_SIZE];
  for (int split = 0; split < 2; split++) {
    for (uint64_t n = 0; n < MANY; n++) {
      struct attn_aligned_pair pair;
      attn_task_make(attn_task_find("photos"), 7, n, split, &pair);
      strcpy(texts[split][n], pair.target);
    }
    qsort(texts[split], MANY, sizeof *texts[split], compare);
  }
  for (int n = 0; n < MANY; n++)
    assert_null(bsearch(texts[0][n], texts[1], MANY, sizeof *texts[1], compare));
}

/* ---- Public calls ---- */

static void test_the_public_call_draws_the_scene(void **state) {
  (void)state;
  static unsigned char pictures[2][SIDE * SIDE * 3], expected[SIDE * SIDE * 3];
  attn_task_info info = ATTN_TASK_INFO_INIT;
  int n = 0;
  while (attn_task_describe(n, &info) && strcmp(info.name, "photos")) n++;
  assert_int_equal(info.picture_size, SIDE);
  for (int validation = 0; validation < 2; validation++) {
    struct attn_photos *photos = open_photos(validation);
    const struct attn_scene scene = scene_of(3, validation, photos);
    attn_scene_render(&scene, expected);
    assert_int_equal(attn_task_pictures("photos-ja", 7, 2, 2, validation, pictures[0], NULL),
                     ATTN_OK);
    assert_memory_equal(pictures[1], expected, sizeof expected);
    attn_photos_free(photos);
  }
}

/* ---- Errors ---- */

static void expect(const struct files *files, const char *what) {
  struct attn_photos *photos = NULL;
  attn_error err;
  write_files(files, 1);
  assert_int_equal(attn_photos_open(1, NULL, &photos, &err), ATTN_ERR_FORMAT);
  assert_null(photos);
  if (!strstr(err.message, what)) fail_msg("%s, expected %s", err.message, what);
}

static void test_invalid_files_are_errors(void **state) {
  (void)state;
  expect(&(struct files){PHOTOS, PHOTO - 1, PHOTOS, 0}, "28 x 28 pixels");
  expect(&(struct files){PHOTOS, PHOTO, PHOTOS - 1, 0}, "differ in number");
  expect(&(struct files){PHOTOS, PHOTO, PHOTOS, 1}, "a class is not 0 to 9");
  expect(&(struct files){CLASSES - 1, PHOTO, CLASSES - 1, 0}, "a class has no photo");
  write_files(&valid, 1);
}

static void test_a_missing_package_is_named(void **state) {
  (void)state;
  attn_train_config config = ATTN_TRAIN_CONFIG_INIT;
  attn_error err;
  char output[128];
  unsigned char rgb[1];
  snprintf(output, sizeof output, "%s/x.safetensors", folder);
  config.task = "photos", config.output = output;
  setenv("ATTN_FASHION_MNIST", "/nonexistent", 1);
  assert_int_equal(attn_task_pictures("photos", 1, 1, 1, 1, rgb, &err), ATTN_ERR_FILE);
  assert_non_null(strstr(err.message, "apt-get install dataset-fashion-mnist"));
  assert_int_equal(attn_model_train(&config, NULL, &err), ATTN_ERR_FILE);
  assert_non_null(strstr(err.message, "apt-get install dataset-fashion-mnist"));
  setenv("ATTN_FASHION_MNIST", folder, 1);
}

/* ---- The package ---- */

static void test_the_package(void **state) {
  (void)state;
  static const int counts[] = {60000, 10000};
  setenv("ATTN_FASHION_MNIST", "", 1); /* the default */
  for (int validation = 0; validation < 2; validation++) {
    struct attn_photos *photos = NULL;
    attn_error err;
    attn_status status = attn_photos_open(validation, NULL, &photos, &err);
    if (status == ATTN_ERR_FILE) {
      printf("skipped: dataset-fashion-mnist is not installed\n");
      break;
    }
    assert_int_equal(status, ATTN_OK);
    /* The photos of a class are uniform: its random numbers cover all, in steps of 2^32 / count. */
    const uint32_t step = (uint32_t)(UINT32_MAX / (unsigned)(counts[validation] / CLASSES) + 1);
    for (int kind = 0; kind < CLASSES; kind++) {
      assert_ptr_equal(attn_photos_find(photos, kind, 0), attn_photos_find(photos, kind, step - 2));
      assert_ptr_not_equal(attn_photos_find(photos, kind, 0),
                           attn_photos_find(photos, kind, step + 1));
    }
    attn_photos_free(photos);
  }
  setenv("ATTN_FASHION_MNIST", folder, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_photos_are_of_their_class_and_split),
      cmocka_unit_test(test_runs_train_on_the_training_photos_alone),
      cmocka_unit_test(test_pixels_are_the_background_darkened),
      cmocka_unit_test(test_captions_name_the_objects),
      cmocka_unit_test(test_words_name_their_object),
      cmocka_unit_test(test_splits_share_no_caption),
      cmocka_unit_test(test_the_public_call_draws_the_scene),
      cmocka_unit_test(test_invalid_files_are_errors),
      cmocka_unit_test(test_a_missing_package_is_named),
      cmocka_unit_test(test_the_package),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
