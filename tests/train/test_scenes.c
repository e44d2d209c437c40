/* Scenes: a function of seed, number and split, in every thread and build; captions parse back to
 * the scene and name the object of each word; splits share no caption; objects are inside the
 * picture and apart; attributes are uniform. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/lesson.h"
#include "scene.h"

enum {
  SIDE = ATTN_SCENE_SIDE,
  CELL = SIDE / ATTN_SCENE_GRID,
  BYTES = SIDE * SIDE * 3,
  MANY = 20000
};

static struct attn_scene scene_of(uint64_t n, int split) {
  struct attn_scene scene;
  memset(&scene, 0xAA, sizeof scene);
  attn_scene_make(7, n, (enum attn_scene_split)split, 0, NULL, &scene);
  return scene;
}

static uint64_t hash_of(uint64_t seed, uint64_t n, int split) {
  struct attn_scene scene;
  unsigned char rgb[BYTES];
  uint64_t hash = 0xcbf29ce484222325u;
  attn_scene_make(seed, n, (enum attn_scene_split)split, 0, NULL, &scene);
  attn_scene_render(&scene, rgb);
  for (int k = 0; k < BYTES; k++) hash = (hash ^ rgb[k]) * 0x100000001b3u;
  return hash;
}

/* count of total is within five standard deviations of p. */
static void assert_share(int count, int total, double p) {
  double wrong = fabs(count - total * p), deviation = sqrt(total * p * (1 - p));
  if (wrong > 5 * deviation) fail_msg("%d of %d, expected %g", count, total, total * p);
}

/* ---- The same bytes -------------------------------------------------------------------------- */

enum { HASHES = 300, THREADS = 4 };

static const uint64_t GOLDEN = 0x5c12118f79970d49;

static uint64_t index_of(int n) { return (uint64_t)n * (n % 2 ? 1 : (uint64_t)1 << 40); }

static void *hash_backwards(void *hashes) {
  for (int n = HASHES - 1; n >= 0; n--) ((uint64_t *)hashes)[n] = hash_of(7, index_of(n), n % 3);
  return NULL;
}

static void test_same_bytes_in_every_thread(void **state) {
  (void)state;
  static uint64_t hashes[THREADS][HASHES];
  pthread_t thread[THREADS];
  for (int t = 0; t < THREADS; t++)
    assert_int_equal(pthread_create(&thread[t], NULL, hash_backwards, hashes[t]), 0);
  for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(thread[t], NULL), 0);
  for (int n = 0; n < HASHES; n++) {
    uint64_t hash = hash_of(7, index_of(n), n % 3);
    for (int t = 0; t < THREADS; t++) assert_true(hashes[t][n] == hash);
    assert_true(hash != hash_of(8, index_of(n), n % 3));
    assert_true(hash != hash_of(7, index_of(n) + 1, n % 3));
  }
}

/* The pictures of trained models must not change, with the compiler least of all. */
static void test_same_bytes_in_every_build(void **state) {
  (void)state;
  uint64_t sum = 0;
  for (int n = 0; n < HASHES; n++) sum = sum * 31 + hash_of(7, index_of(n), n % 3);
  if (sum != GOLDEN) fail_msg("the hash of %d pictures is 0x%llx", HASHES, (unsigned long long)sum);
}

/* ---- Captions, parsed by a grammar of their own ---------------------------------------------- */

static const char *const sizes[2][3] = {{"small", "large", NULL}, {"小さな", "大きな", NULL}};
static const char *const colors[2][9] = {
    {"red", "orange", "yellow", "green", "blue", "purple", "pink", "black", NULL},
    {"赤い", "オレンジ色の", "黄色い", "緑の", "青い", "紫の", "ピンクの", "黒い", NULL}};
static const char *const shapes[2][9] = {
    {"circle", "square", "triangle", "star", "cross", "ring", "heart", "diamond", NULL},
    {"丸", "四角", "三角", "星", "十字", "輪", "ハート", "ひし形", NULL}};
static const char *const positions[2][10] = {
    {"at the top left", "at the top right", "at the top", "on the left", "in the center",
     "on the right", "at the bottom left", "at the bottom right", "at the bottom", NULL},
    {"左上に", "右上に", "上に", "左に", "中央に", "右に", "左下に", "右下に", "下に", NULL}};
static const int places[9] = {0, 2, 1, 3, 4, 5, 6, 8, 7}; /* row * 3 + column */

/* What a caption states. */
struct statement {
  int objects, size[3], color[3], shape[3], above[2], place;
};

static int accept(const char **at, const char *text) {
  size_t bytes = strlen(text);
  if (strncmp(*at, text, bytes)) return 0;
  *at += bytes;
  while (**at == ' ') ++*at;
  return 1;
}

static int accept_one(const char **at, const char *const *list) {
  for (int n = 0; list[n]; n++)
    if (accept(at, list[n])) return n;
  return -1;
}

static void parse_object(const char **at, int language, struct statement *s, int n) {
  s->size[n] = accept_one(at, sizes[language]);
  s->color[n] = accept_one(at, colors[language]);
  s->shape[n] = accept_one(at, shapes[language]);
  if (s->size[n] < 0 || s->color[n] < 0 || s->shape[n] < 0) fail_msg("object %d: %s", n, *at);
}

static struct statement parse_english(const char *at) {
  struct statement s = {.place = -1};
  for (int more = 1; more;) {
    assert_true(s.objects < 3 && accept(&at, "a "));
    parse_object(&at, 0, &s, s.objects++);
    int above = accept(&at, "above "), left = accept(&at, "left of ");
    more = above || left;
    if (more) s.above[s.objects - 1] = above;
  }
  if (*at) s.place = places[accept_one(&at, positions[0])];
  assert_string_equal(at, "");
  return s;
}

static void reverse(int *list, int count) {
  for (int n = 0; n < count / 2; n++) {
    int kept = list[n];
    list[n] = list[count - 1 - n], list[count - 1 - n] = kept;
  }
}

static struct statement parse_japanese(const char *at) {
  struct statement s = {.place = -1};
  int place = accept_one(&at, positions[1]);
  if (place >= 0) s.place = places[place];
  for (;;) {
    assert_true(s.objects < 3);
    parse_object(&at, 1, &s, s.objects++);
    if (accept(&at, "がある")) break;
    int above = accept(&at, "の上"), left = accept(&at, "の左");
    assert_true(above != left && (accept(&at, "の") || accept(&at, "に")));
    s.above[s.objects - 1] = above;
  }
  reverse(s.size, s.objects), reverse(s.color, s.objects), reverse(s.shape, s.objects);
  reverse(s.above, s.objects - 1);
  assert_string_equal(at, "");
  return s;
}

static void check_statement(const struct attn_scene *scene, const struct statement *s) {
  assert_int_equal(s->objects, scene->objects);
  for (int n = 0; n < s->objects; n++) {
    const struct attn_scene_object *o = &scene->object[n], *next = o + 1;
    assert_int_equal(s->size[n], o->large);
    assert_int_equal(s->color[n], o->color);
    assert_int_equal(s->shape[n], o->shape);
    if (n + 1 == s->objects) break;
    /* The order: by column, then by row. */
    assert_true(s->above[n] ? o->col == next->col && o->row < next->row : o->col < next->col);
    assert_true(s->above[n] ? o->y < next->y : o->x < next->x);
  }
  assert_int_equal(s->place,
                   s->objects == 1 ? scene->object[0].row * 3 + scene->object[0].col : -1);
}

static void test_captions_state_the_scene(void **state) {
  (void)state;
  struct attn_caption caption;
  for (int n = 0; n < MANY; n++) {
    const struct attn_scene scene = scene_of((uint64_t)n, n % 3);
    attn_scene_caption(&scene, ATTN_LANGUAGE_ENGLISH, n % 2, &caption);
    struct statement s = parse_english(caption.text);
    check_statement(&scene, &s);
    attn_scene_caption(&scene, ATTN_LANGUAGE_JAPANESE, 0, &caption);
    s = parse_japanese(caption.text);
    check_statement(&scene, &s);
  }
}

static void test_known_captions(void **state) {
  (void)state;
  const struct attn_scene scene = {.objects = 3,
                                   .object = {{.shape = 0, .color = 0, .row = 1, .col = 0},
                                              {.shape = 1, .color = 4, .large = 1, .col = 1},
                                              {.shape = 3, .color = 3, .row = 2, .col = 1}}};
  static const char *const expected[3][3] = {
      {"a small red circle on the left", "左に小さな赤い丸がある", "左 に 小さな 赤い 丸 が ある"},
      {"a small red circle left of a large blue square", "大きな青い四角の左に小さな赤い丸がある",
       "大きな 青い 四角 の 左 に 小さな 赤い 丸 が ある"},
      {"a small red circle left of a large blue square above a small green star",
       "小さな緑の星の上の大きな青い四角の左に小さな赤い丸がある",
       "小さな 緑 の 星 の 上 の 大きな 青い 四角 の 左 に 小さな 赤い 丸 が ある"}};
  for (int n = 0; n < 3; n++) {
    struct attn_scene part = scene;
    struct attn_caption caption;
    part.objects = n + 1;
    for (int form = 0; form < 3; form++) {
      attn_scene_caption(&part, form > 0, form == 2, &caption);
      assert_string_equal(caption.text, expected[n][form]);
    }
  }
}

/* The text of a content word without the の of colours. */
static const char *content_of(const struct attn_scene_object *o, int part, int language) {
  if (part == ATTN_CAPTION_SIZE) return sizes[language][o->large];
  return part == ATTN_CAPTION_COLOR ? colors[language][o->color] : shapes[language][o->shape];
}

static void check_words(const struct attn_scene *scene, int language, int spaced) {
  struct attn_caption c;
  int named[3][ATTN_CAPTION_POSITION + 1] = {{0}}, end = 0, parts[ATTN_CAPTION_POSITION + 1] = {0};
  attn_scene_caption(scene, language, spaced, &c);
  assert_in_range(c.words, 1, ATTN_CAPTION_WORDS);
  for (int n = 0; n < c.words; n++) {
    const struct attn_caption_word *w = &c.word[n];
    assert_int_equal(w->begin, end + (n && (spaced || !language)));
    assert_true(w->length > 0 && !memchr(c.text + w->begin, ' ', (size_t)w->length));
    end = w->begin + w->length, parts[w->part]++;
    int is_content = w->part >= ATTN_CAPTION_SIZE && w->part <= ATTN_CAPTION_SHAPE;
    assert_int_equal(w->object >= 0, is_content);
    if (!is_content) continue;
    assert_true(w->object < scene->objects);
    named[w->object][w->part]++;
    const char *expected = content_of(&scene->object[w->object], w->part, language);
    size_t rest = strlen(expected) - (size_t)w->length;
    assert_memory_equal(c.text + w->begin, expected, (size_t)w->length);
    assert_true(!rest || !strcmp(expected + w->length, "の"));
  }
  assert_int_equal((size_t)end, strlen(c.text));
  assert_int_equal(parts[ATTN_CAPTION_RELATION], scene->objects - 1);
  assert_int_equal(parts[ATTN_CAPTION_POSITION] > 0, scene->objects == 1);
  for (int k = 0; k < scene->objects; k++)
    for (int part = ATTN_CAPTION_SIZE; part <= ATTN_CAPTION_SHAPE; part++)
      assert_int_equal(named[k][part], 1);
}

static void test_each_content_word_names_its_object(void **state) {
  (void)state;
  for (int n = 0; n < MANY; n++) {
    const struct attn_scene scene = scene_of((uint64_t)n, n % 3);
    for (int form = 0; form < 4; form++) check_words(&scene, form / 2, form % 2);
  }
}

static void test_objects_of_a_scene_differ(void **state) {
  (void)state;
  for (int n = 0; n < MANY; n++) {
    const struct attn_scene scene = scene_of((uint64_t)n, n % 3);
    for (int k = 1; k < scene.objects; k++)
      for (int other = 0; other < k; other++) {
        const struct attn_scene_object *a = &scene.object[k], *b = &scene.object[other];
        assert_true(a->shape != b->shape || a->color != b->color || a->large != b->large);
      }
  }
}

/* ---- Splits ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) { return strcmp(a, b); }

static void test_splits_share_no_caption(void **state) {
  (void)state;
  static char texts[3][MANY][ATTN_EXAMPLE_SIZE];
  for (int split = 0; split < 3; split++) {
    for (int n = 0; n < MANY; n++) {
      const struct attn_scene scene = scene_of((uint64_t)n, split);
      struct attn_caption caption;
      int unseen = 0;
      attn_scene_caption(&scene, ATTN_LANGUAGE_ENGLISH, 0, &caption);
      strcpy(texts[split][n], caption.text);
      for (int k = 0; k < scene.objects; k++)
        unseen += attn_scene_is_unseen_pair(scene.object[k].shape, scene.object[k].color);
      assert_int_equal(unseen > 0, split == ATTN_SCENE_UNSEEN_PAIRS);
    }
    qsort(texts[split], MANY, sizeof *texts[split], compare);
  }
  for (int split = 0; split < 3; split++)
    for (int n = 0; n < MANY; n++)
      assert_null(
          bsearch(texts[split][n], texts[(split + 1) % 3], MANY, sizeof *texts[0], compare));
}

static void test_each_shape_and_color_has_one_unseen_pair(void **state) {
  (void)state;
  for (int n = 0; n < 8; n++) {
    int of_shape = 0, of_color = 0;
    for (int k = 0; k < 8; k++)
      of_shape += attn_scene_is_unseen_pair(n, k), of_color += attn_scene_is_unseen_pair(k, n);
    assert_true(of_shape == 1 && of_color == 1);
  }
}

static void test_every_word_occurs(void **state) {
  (void)state;
  for (int split = 0; split < 3; split++) {
    int place[9] = {0}, above[2] = {0}, pair[8][8][2] = {{{0}}}, missing = 0;
    for (int n = 0; n < MANY; n++) {
      const struct attn_scene scene = scene_of((uint64_t)n, split);
      struct attn_caption caption;
      attn_scene_caption(&scene, ATTN_LANGUAGE_ENGLISH, 0, &caption);
      const struct statement s = parse_english(caption.text);
      if (s.place >= 0) place[s.place]++;
      for (int k = 0; k + 1 < s.objects; k++) above[s.above[k]]++;
      for (int k = 0; k < s.objects; k++) pair[s.shape[k]][s.color[k]][s.size[k]]++;
    }
    for (int n = 0; n < 9; n++) assert_true(place[n]);
    assert_true(above[0] && above[1]);
    for (int n = 0; n < 128; n++) missing += !pair[n / 16][n / 2 % 8][n % 2];
    assert_int_equal(missing, split == ATTN_SCENE_UNSEEN_PAIRS ? 0 : 16);
  }
}

/* ---- Statistics ------------------------------------------------------------------------------ */

static void test_attributes_are_uniform(void **state) {
  (void)state;
  int objects[4] = {0}, shape[8] = {0}, color[8] = {0}, cell[9] = {0}, large = 0, total = 0;
  for (int n = 0; n < MANY; n++) {
    const struct attn_scene scene = scene_of((uint64_t)n, ATTN_SCENE_TRAINING);
    objects[scene.objects]++;
    for (int k = 0; k < scene.objects; k++, total++) {
      const struct attn_scene_object *o = &scene.object[k];
      shape[o->shape]++, color[o->color]++, large += o->large, cell[o->row * 3 + o->col]++;
    }
  }
  for (int n = 1; n <= 3; n++) assert_share(objects[n], MANY, 1.0 / 3);
  for (int n = 0; n < 8; n++) assert_share(shape[n], total, 1.0 / 8);
  for (int n = 0; n < 8; n++) assert_share(color[n], total, 1.0 / 8);
  for (int n = 0; n < 9; n++) assert_share(cell[n], total, 1.0 / 9);
  assert_share(large, total, 0.5);
}

/* ---- Pictures -------------------------------------------------------------------------------- */

/* Inside its cell, so inside the picture and apart from the others; the box and the centre are
 * those of the mask. */
static void check_place(const struct attn_scene *scene, int k) {
  const struct attn_scene_object *o = &scene->object[k];
  const struct attn_scene_box box = attn_scene_locate(scene, k);
  assert_in_range(box.x0, o->col * CELL, (o->col + 1) * CELL - 1);
  assert_in_range(box.x1, box.x0 + 1, (o->col + 1) * CELL);
  assert_in_range(box.y0, o->row * CELL, (o->row + 1) * CELL - 1);
  assert_in_range(box.y1, box.y0 + 1, (o->row + 1) * CELL);
  assert_true(o->x - o->radius >= o->col * CELL && o->x + o->radius <= (o->col + 1) * CELL);
  assert_true(o->y - o->radius >= o->row * CELL && o->y + o->radius <= (o->row + 1) * CELL);
  assert_true(hypot(box.x - o->x, box.y - o->y) < 0.2 * o->radius);
  int width = box.x1 - box.x0, height = box.y1 - box.y0;
  assert_true(width >= 1.2 * o->radius && width <= 2 * o->radius + 2);
  assert_true(height >= 1.2 * o->radius && height <= 2 * o->radius + 2);
}

static double mask_area(const struct attn_scene *scene, int k) {
  unsigned char mask[SIDE * SIDE];
  const struct attn_scene_box box = attn_scene_locate(scene, k);
  double sum = 0;
  attn_scene_mask(scene, k, mask);
  for (int n = 0; n < SIDE * SIDE; n++) {
    int x = n % SIDE, y = n / SIDE;
    assert_true(!mask[n] || (x >= box.x0 && x < box.x1 && y >= box.y0 && y < box.y1));
    sum += mask[n] / 255.0;
  }
  return sum;
}

static void test_objects_are_inside_and_apart(void **state) {
  (void)state;
  double least_large = HUGE_VAL, most_small[8] = {0}, least[8];
  for (int n = 0; n < 8; n++) least[n] = HUGE_VAL;
  for (int n = 0; n < MANY / 4; n++) {
    const struct attn_scene scene = scene_of((uint64_t)n, n % 3);
    for (int k = 0; k < scene.objects; k++) {
      int shape = scene.object[k].shape;
      check_place(&scene, k);
      double area = mask_area(&scene, k);
      if (!scene.object[k].large) most_small[shape] = fmax(most_small[shape], area);
      if (scene.object[k].large) least[shape] = fmin(least[shape], area);
      least_large = fmin(least_large, area);
    }
  }
  assert_true(least_large > 15); /* pixels */
  for (int n = 0; n < 8; n++) assert_true(least[n] > 1.8 * most_small[n]);
}

/* Fully covered pixels have the object's colour, others the background's, up to the noise. */
static void test_pixels_have_their_colors(void **state) {
  (void)state;
  for (int n = 0; n < 500; n++) {
    const struct attn_scene scene = scene_of((uint64_t)n, n % 3);
    unsigned char rgb[BYTES], mask[SIDE * SIDE], covered[SIDE * SIDE] = {0};
    double noise = 0, pixels = 0;
    attn_scene_render(&scene, rgb);
    for (int k = 0; k < scene.objects; k++) {
      attn_scene_mask(&scene, k, mask);
      for (int p = 0; p < SIDE * SIDE; p++) {
        assert_true(!mask[p] || !covered[p]);
        covered[p] |= mask[p];
        for (int c = 0; c < 3 && mask[p] == 255; c++)
          assert_true(abs(rgb[3 * p + c] - scene.object[k].rgb[c]) <= 10);
      }
    }
    for (int p = 0; p < BYTES; p++) {
      int off = rgb[p] - scene.background[p % 3];
      if (covered[p / 3] || scene.background[p % 3] > 245) continue;
      assert_true(abs(off) <= 10);
      noise += off * off, pixels++;
    }
    /* Of two uniform bytes the variance is 2 (256^2 - 1) / 12, divided by 25^2; truncated. */
    if (pixels > 2000) assert_true(noise / pixels > 13 && noise / pixels < 19);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bytes_in_every_thread),
      cmocka_unit_test(test_same_bytes_in_every_build),
      cmocka_unit_test(test_known_captions),
      cmocka_unit_test(test_captions_state_the_scene),
      cmocka_unit_test(test_each_content_word_names_its_object),
      cmocka_unit_test(test_objects_of_a_scene_differ),
      cmocka_unit_test(test_splits_share_no_caption),
      cmocka_unit_test(test_each_shape_and_color_has_one_unseen_pair),
      cmocka_unit_test(test_every_word_occurs),
      cmocka_unit_test(test_attributes_are_uniform),
      cmocka_unit_test(test_objects_are_inside_and_apart),
      cmocka_unit_test(test_pixels_have_their_colors),
  };
#if defined __SANITIZE_THREAD__ /* the other tests have one thread */
  cmocka_set_test_filter("*_in_every_thread");
#endif
  return cmocka_run_group_tests(tests, NULL, NULL);
}
