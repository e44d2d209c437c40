/* Captions of a folder's pictures: each caption comes with its picture; all captions of a picture
 * are on one side; a wrong line is a typed error with its file and line, and names do not leave the
 * folder; changed pictures change the hash; a picture is decoded once, within a limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <png.h>

#include "caption_files.h"
#include "dataset.h"
#include "scratch.h"

enum { PICTURES = 60, CAPTIONS = 3 };

static char pictures[80], captions[96], other[96];

static void write_file(const char *path, const char *bytes, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_true(f && fwrite(bytes, 1, size, f) == size && !fclose(f));
}

/* One pixel, whose red is the number. */
static void write_picture(const char *name, int number) {
  char path[160];
  const unsigned char pixel[3] = {(unsigned char)number, 7, 9};
  png_image image = {
      .version = PNG_IMAGE_VERSION, .width = 1, .height = 1, .format = PNG_FORMAT_RGB};
  snprintf(path, sizeof path, "%s/%s", pictures, name);
  assert_true(png_image_write_to_file(&image, path, 0, pixel, 0, NULL));
}

static int begin(void **state) {
  (void)state;
  char path[160];
  if (folder_begin()) return -1;
  snprintf(pictures, sizeof pictures, "%s/pictures", folder);
  snprintf(captions, sizeof captions, "%s/captions.tsv", folder);
  snprintf(other, sizeof other, "%s/other.tsv", folder);
  snprintf(path, sizeof path, "%s/deep", pictures);
  if (mkdir(pictures, 0700) || mkdir(path, 0700)) return -1;
  for (int n = 0; n < PICTURES; n++) {
    char name[32];
    snprintf(name, sizeof name, n % 2 ? "%d.png" : "deep/%d.png", n);
    write_picture(name, n);
  }
  write_picture("..a.png", 1), write_picture("b..png", 2);
  snprintf(path, sizeof path, "%s/damaged.png", pictures);
  write_file(path, "\x89PNG", 4);
  return 0;
}

static int end(void **state) { return (void)state, folder_end(); }

static void write_captions(const char *path, int from, int count) {
  FILE *f = fopen(path, "wb");
  for (int n = from; n < from + count; n++)
    for (int k = 0; k < CAPTIONS; k++)
      fprintf(f, n % 2 ? "%d.png\tpicture %d, %d\n" : "deep/%d.png\tpicture %d, %d\n", n, n, k);
  assert_int_equal(fclose(f), 0);
}

static struct attn_text_pairs *open_captions(const char *validation_path) {
  struct attn_text_pairs *pairs = NULL;
  attn_error err;
  if (attn_captions_open(pictures, captions, validation_path, 5, NULL, &pairs, &err))
    fail_msg("%s", err.message);
  return pairs;
}

/* The number of the picture of caption n; its picture is that one. */
static int check_caption(struct attn_text_pairs *pairs, int64_t n, int validation) {
  struct attn_text_pair pair;
  attn_array image;
  int number, k;
  assert_int_equal(attn_text_pairs_get(pairs, (uint64_t)n, validation, &pair, NULL), ATTN_OK);
  assert_int_equal(sscanf(pair.target.text, "picture %d, %d", &number, &k), 2);
  assert_int_equal(attn_captions_image(pictures, &pair, NULL, &image, NULL), ATTN_OK);
  assert_int_equal(*(unsigned char *)image.tensor.data, number);
  attn_array_free(&image);
  return number;
}

static void test_each_caption_has_its_picture(void **state) {
  (void)state;
  int captions_of[PICTURES] = {0}, held_out[PICTURES] = {0}, sides[2] = {0};
  write_captions(captions, 0, PICTURES);
  struct attn_text_pairs *pairs = open_captions(NULL);
  for (int side = 0; side < 2; side++)
    for (int64_t n = 0; n < attn_text_pairs_count(pairs, side); n++) {
      int number = check_caption(pairs, n, side);
      captions_of[number]++, held_out[number] += side;
    }
  for (int n = 0; n < PICTURES; n++) {
    assert_int_equal(captions_of[n], CAPTIONS);
    assert_true(!held_out[n] || held_out[n] == CAPTIONS);
    sides[held_out[n] > 0]++;
  }
  assert_true(sides[0] && sides[1]);
  attn_text_pairs_free(pairs);
}

static void test_validation_captions_of_a_file(void **state) {
  (void)state;
  write_captions(captions, 0, 10), write_captions(other, 10, 5);
  struct attn_text_pairs *pairs = open_captions(other);
  assert_int_equal(attn_text_pairs_count(pairs, 0), 10 * CAPTIONS);
  assert_int_equal(attn_text_pairs_count(pairs, 1), 5 * CAPTIONS);
  for (int64_t n = 0; n < 5 * CAPTIONS; n++) assert_true(check_caption(pairs, n, 1) >= 10);
  attn_text_pairs_free(pairs);
}

static void test_pictures_are_scaled(void **state) {
  (void)state;
  struct attn_text_pair pair;
  attn_image_config c = ATTN_IMAGE_CONFIG_INIT;
  attn_array image;
  c.height = 2, c.width = 3, c.dtype = ATTN_F32;
  struct attn_text_pairs *pairs = open_captions(other);
  assert_int_equal(attn_text_pairs_get(pairs, 0, 0, &pair, NULL), ATTN_OK);
  assert_int_equal(attn_captions_image(pictures, &pair, &c, &image, NULL), ATTN_OK);
  assert_true(image.tensor.shape[0] == 2 && image.tensor.shape[1] == 3);
  assert_true(((float *)image.tensor.data)[1] == (float)(7 / 255.0));
  attn_array_free(&image);
  attn_text_pairs_free(pairs);
}

/* ---- Changed pictures ---- */

static uint64_t hash_of_captions(void) {
  struct attn_text_pairs *pairs = open_captions(NULL);
  uint64_t hash = attn_text_pairs_hash(pairs);
  attn_text_pairs_free(pairs);
  return hash;
}

static void test_the_hash_is_that_of_captions_and_pictures(void **state) {
  (void)state;
  write_captions(captions, 0, 10);
  const uint64_t before = hash_of_captions();
  assert_true(hash_of_captions() == before);
  write_picture("7.png", 8);
  assert_true(hash_of_captions() != before);
  write_picture("7.png", 7);
  assert_true(hash_of_captions() == before);
  write_captions(captions, 0, 9);
  assert_true(hash_of_captions() != before);
}

/* ---- The cache ---- */

static struct attn_text_view name_of(int n, char text[16]) {
  snprintf(text, 16, "%d.png", n);
  return (struct attn_text_view){text, strlen(text)};
}

static void test_the_cache_keeps_pictures_by_name(void **state) {
  (void)state;
  enum { MANY = 5000, BYTES = 5 };
  struct attn_picture_cache cache = {.bytes = 0};
  char text[16];
  for (int n = 0; n < MANY; n++) {
    const unsigned char rgb[BYTES] = {(unsigned char)n, (unsigned char)(n >> 8), 3, 4, 5};
    assert_null(attn_picture_cache_find(&cache, name_of(n, text)));
    attn_picture_cache_add(&cache, name_of(n, text), rgb, BYTES);
  }
  for (int n = 0; n < MANY; n++) {
    const unsigned char *rgb = attn_picture_cache_find(&cache, name_of(n, text));
    assert_non_null(rgb);
    assert_true(rgb[0] + 256 * rgb[1] == n && rgb[4] == 5);
  }
  assert_null(attn_picture_cache_find(&cache, (struct attn_text_view){"1.pn", 4}));
  attn_picture_cache_free(&cache);
  assert_null(attn_picture_cache_find(&cache, name_of(1, text)));
}

static void test_the_cache_is_bounded(void **state) {
  (void)state;
  enum { BYTES = 100, MOST = 1000 };
  struct attn_picture_cache cache = {.max_bytes = MOST};
  const unsigned char rgb[BYTES] = {0};
  char text[16];
  int kept = 0;
  for (int n = 0; n < 100; n++) attn_picture_cache_add(&cache, name_of(n, text), rgb, BYTES);
  for (int n = 0; n < 100; n++) kept += attn_picture_cache_find(&cache, name_of(n, text)) != NULL;
  assert_in_range(cache.bytes, MOST - BYTES - 32, MOST);
  assert_in_range(kept, 5, MOST / BYTES - 1);
  attn_picture_cache_free(&cache);
}

/* The second time the file is not read: it is gone. */
static void test_a_picture_is_decoded_once(void **state) {
  (void)state;
  char path[160];
  write_captions(captions, 0, 10);
  struct attn_dataset d = {.pairs = open_captions(NULL),
                           .kind = ATTN_VISION_ENCODER_DECODER,
                           .image_size = 2,
                           .folder = pictures};
  struct attn_text_pair pair;
  unsigned char first[12];
  for (int round = 0; round < 2; round++) {
    assert_int_equal(attn_dataset_get_picture(&d, 0, 0, NULL), ATTN_OK);
    if (!round) memcpy(first, d.rgb, sizeof first);
    assert_memory_equal(first, d.rgb, sizeof first);
    assert_int_equal(attn_text_pairs_get(d.pairs, 0, 0, &pair, NULL), ATTN_OK);
    snprintf(path, sizeof path, "%s/%.*s", pictures, (int)pair.source.length, pair.source.text);
    remove(path);
  }
  attn_dataset_free(&d);
  assert_int_not_equal(attn_dataset_get_picture(&d, 0, 0, NULL), ATTN_OK); /* without the cache */
  attn_dataset_free(&d), attn_text_pairs_free(d.pairs);
  snprintf(path, sizeof path, first[0] % 2 ? "%d.png" : "deep/%d.png", first[0]);
  write_picture(path, first[0]);
}

static void test_names_with_dots_are_accepted(void **state) {
  (void)state;
  static const char text[] = "..a.png\tx\nb..png\ty\n./1.png\tz\ndeep//2.png\tw\n";
  write_file(captions, text, sizeof text - 1);
  attn_text_pairs_free(open_captions(NULL));
}

/* ---- Wrong lines ----------------------------------------------------------------------------- */

static void expect_error(const char *text, size_t size, attn_status expected, int line,
                         const char *words) {
  struct attn_text_pairs *pairs = NULL;
  attn_error err;
  char place[128];
  write_file(captions, text, size);
  attn_status status = attn_captions_open(pictures, captions, NULL, 5, NULL, &pairs, &err);
  snprintf(place, sizeof place, "captions.tsv:%d:1: ", line);
  if (status != expected || !strstr(err.message, words) || !strstr(err.message, place))
    fail_msg("%.60s: %s: %s", text, attn_status_name(status), err.message);
  assert_null(pairs);
  assert_int_equal(err.line, line);
}

static const struct {
  const char *line;
  attn_status status;
  const char *words;
} wrong[] = {
    {"/etc/passwd\tx", ATTN_ERR_FORMAT, "leaves the folder"},
    {"//1.png\tx", ATTN_ERR_FORMAT, "leaves the folder"},
    {"..\tx", ATTN_ERR_FORMAT, "leaves the folder"},
    {"../captions.tsv\tx", ATTN_ERR_FORMAT, "leaves the folder"},
    {"deep/../1.png\tx", ATTN_ERR_FORMAT, "leaves the folder"},
    {"deep/..\tx", ATTN_ERR_FORMAT, "leaves the folder"},
    {"deep//..//1.png\tx", ATTN_ERR_FORMAT, "leaves the folder"},
    {"\tx", ATTN_ERR_FORMAT, "the name of the picture is empty"},
    {"1.png\t", ATTN_ERR_FORMAT, "the caption is empty"},
    {"1.png", ATTN_ERR_FORMAT, "no tab"},
    {"1.png\tx\ty", ATTN_ERR_FORMAT, "two tabs"},
    {"1.png\t\xff", ATTN_ERR_FORMAT, "not UTF-8"},
    {"\xc0\xae.png\tx", ATTN_ERR_FORMAT, "not UTF-8"},
    {"missing.png\tx", ATTN_ERR_FILE, "No such file"},
    {"deep\tx", ATTN_ERR_FILE, "not a regular file"},
};

static void test_wrong_lines_are_errors(void **state) {
  (void)state;
  char text[512];
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    int size = snprintf(text, sizeof text, "1.png\ta\n\n3.png\tb\n%s\n5.png\tc\n", wrong[n].line);
    expect_error(text, (size_t)size, wrong[n].status, 4, wrong[n].words);
  }
  expect_error("1.png\ta\n1.png\ta\0b\n", 18, ATTN_ERR_FORMAT, 2, "NUL");
}

static void test_long_lines_are_errors(void **state) {
  (void)state;
  char text[6000];
  int size = snprintf(text, sizeof text, "1.png\ta\n%01100d\tx\n", 0);
  expect_error(text, (size_t)size, ATTN_ERR_FORMAT, 2, "longer than 1024");
  size = snprintf(text, sizeof text, "1.png\ta\n1.png\t%04097d\n", 0);
  expect_error(text, (size_t)size, ATTN_ERR_FORMAT, 2, "longer than 4096");
}

/* Lines are shuffled and divided among training and validation; the error is that of the first. */
static void test_the_first_wrong_line_is_reported(void **state) {
  (void)state;
  for (int first = 1; first <= 40; first += 13) {
    char text[4000];
    int size = 0;
    for (int n = 1; n <= 59; n += 2)
      size += snprintf(text + size, sizeof text - (size_t)size,
                       n >= first ? "missing%d.png\tx\n" : "%d.png\tx\n", n);
    expect_error(text, (size_t)size, ATTN_ERR_FILE, first / 2 + 1, "missing");
  }
}

static void test_a_damaged_picture_is_an_error_with_its_line(void **state) {
  (void)state;
  static const char text[] = "damaged.png\tx\n1.png\ty\n";
  write_file(captions, text, sizeof text - 1), write_file(other, text, sizeof text - 1);
  struct attn_text_pairs *pairs = open_captions(other);
  for (int64_t n = 0; n < 2; n++) {
    struct attn_text_pair pair;
    attn_array image;
    attn_error err;
    assert_int_equal(attn_text_pairs_get(pairs, (uint64_t)n, 1, &pair, NULL), ATTN_OK);
    attn_status status = attn_captions_image(pictures, &pair, NULL, &image, &err);
    assert_int_equal(status, n ? ATTN_OK : ATTN_ERR_FORMAT);
    if (status) {
      assert_null(image.memory);
      assert_non_null(strstr(err.message, "other.tsv:1:1: "));
      assert_non_null(strstr(err.message, "damaged.png"));
    }
    attn_array_free(&image);
  }
  attn_text_pairs_free(pairs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_caption_has_its_picture),
      cmocka_unit_test(test_validation_captions_of_a_file),
      cmocka_unit_test(test_pictures_are_scaled),
      cmocka_unit_test(test_the_hash_is_that_of_captions_and_pictures),
      cmocka_unit_test(test_the_cache_keeps_pictures_by_name),
      cmocka_unit_test(test_the_cache_is_bounded),
      cmocka_unit_test(test_a_picture_is_decoded_once),
      cmocka_unit_test(test_names_with_dots_are_accepted),
      cmocka_unit_test(test_wrong_lines_are_errors),
      cmocka_unit_test(test_long_lines_are_errors),
      cmocka_unit_test(test_the_first_wrong_line_is_reported),
      cmocka_unit_test(test_a_damaged_picture_is_an_error_with_its_line),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
