/* Text pairs: each epoch visits every line once, in a new order; validation lines are never trained
 * on; examples are a function of the bytes and the seed; errors name file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "scratch.h"
#include "text_pairs.h"

enum { LINES = 200 };

static char path[96], other[96];

static int begin(void **state) {
  (void)state;
  if (folder_begin()) return -1;
  snprintf(path, sizeof path, "%s/a.tsv", folder);
  snprintf(other, sizeof other, "%s/b.tsv", folder);
  return 0;
}

static int end(void **state) { return (void)state, folder_end(); }

static void write_file(const char *to, const char *bytes, size_t size) {
  FILE *f = fopen(to, "wb");
  assert_true(f && fwrite(bytes, 1, size, f) == size && !fclose(f));
}

static void write_numbers(const char *to, int from, int count) {
  FILE *f = fopen(to, "wb");
  for (int n = from; n < from + count; n++) fprintf(f, "%d\t%d\n", n, -n);
  assert_int_equal(fclose(f), 0);
}

static struct attn_text_pairs *open_data(const char *validation_path, int plain_text,
                                         uint64_t seed) {
  struct attn_text_pairs *d = NULL;
  attn_error err;
  if (attn_text_pairs_from_file(path, validation_path, plain_text, seed, NULL, &d, &err))
    fail_msg("%s", err.message);
  return d;
}

/* The number in source and target of example n. */
static int number_of(struct attn_text_pairs *d, uint64_t n, int validation) {
  struct attn_text_pair pair;
  attn_text_pairs_get(d, n, validation, &pair, NULL);
  int source = atoi(pair.source.text), target = atoi(pair.target.text);
  assert_true(source == -target && pair.file);
  return source;
}

static void test_epochs_shuffle_all_lines(void **state) {
  (void)state;
  write_numbers(path, 0, LINES);
  struct attn_text_pairs *d = open_data(NULL, 0, 5);
  int64_t count = attn_text_pairs_count(d, 0), out = attn_text_pairs_count(d, 1);
  assert_int_equal(count + out, LINES);
  /* A tenth of 200 on average, with a standard deviation of sqrt(200 0.1 0.9) = 4.2. */
  assert_true(out >= 3 && out <= 37);
  int before[LINES], moved[3] = {0};
  for (int epoch = 0; epoch < 3; epoch++) {
    char seen[LINES] = {0};
    for (int64_t n = 0; n < out; n++) seen[number_of(d, (uint64_t)n, 1)]++;
    for (int64_t n = 0; n < count; n++) {
      int number = number_of(d, (uint64_t)(epoch * count + n), 0);
      moved[epoch] += epoch && before[n] != number;
      seen[number]++, before[n] = number;
    }
    for (int n = 0; n < LINES; n++) assert_int_equal(seen[n], 1);
  }
  assert_true(moved[1] > LINES / 2 && moved[2] > LINES / 2);
  attn_text_pairs_free(d);
}

static void test_examples_depend_on_bytes_and_seed_only(void **state) {
  (void)state;
  write_numbers(path, 0, LINES);
  struct attn_text_pairs *a = open_data(NULL, 0, 5), *b = open_data(NULL, 0, 5),
                         *c = open_data(NULL, 0, 6);
  int same = 0;
  int forwards[3 * LINES];
  for (uint64_t n = 0; n < 3 * LINES; n++) forwards[n] = number_of(a, n, 0);
  for (uint64_t n = 3 * LINES; n-- > 0;) { /* in reverse: no example depends on earlier ones */
    assert_int_equal(number_of(b, n, 0), forwards[n]);
    same += number_of(c, n, 0) == forwards[n];
  }
  assert_true(same < LINES);
  assert_true(attn_text_pairs_hash(a) == attn_text_pairs_hash(c));
  for (int64_t n = 0; n < attn_text_pairs_count(a, 1);
       n++) /* the split does not depend on the seed */
    assert_int_equal(number_of(a, (uint64_t)n, 1), number_of(c, (uint64_t)n, 1));
  write_numbers(path, 1, LINES);
  struct attn_text_pairs *d = open_data(NULL, 0, 5);
  assert_true(attn_text_pairs_hash(a) != attn_text_pairs_hash(d));
  attn_text_pairs_free(a), attn_text_pairs_free(b), attn_text_pairs_free(c),
      attn_text_pairs_free(d);
}

/* All lines of one source are on one side of the split. */
static void test_split_by_source(void **state) {
  (void)state;
  FILE *f = fopen(path, "wb");
  for (int n = 0; n < 3 * LINES; n++) fprintf(f, "%d\t%d\n", n % LINES, n);
  assert_int_equal(fclose(f), 0);
  struct attn_text_pairs *d = open_data(NULL, 0, 1);
  char sides[LINES] = {0};
  for (int side = 0; side < 2; side++)
    for (int64_t n = 0; n < attn_text_pairs_count(d, side); n++) {
      struct attn_text_pair pair;
      attn_text_pairs_get(d, (uint64_t)n, side, &pair, NULL);
      sides[atoi(pair.source.text)] |= (char)(1 << side);
    }
  for (int n = 0; n < LINES; n++) assert_true(sides[n] == 1 || sides[n] == 2);
  attn_text_pairs_free(d);
}

static void test_validation_file(void **state) {
  (void)state;
  write_numbers(path, 0, 20), write_numbers(other, 100, 7);
  struct attn_text_pairs *d = open_data(other, 0, 1);
  assert_int_equal(attn_text_pairs_count(d, 0), 20),
      assert_int_equal(attn_text_pairs_count(d, 1), 7);
  for (uint64_t n = 0; n < 40; n++) assert_true(number_of(d, n, 0) < 100);
  for (uint64_t n = 0; n < 7; n++) assert_int_equal(number_of(d, n, 1), 100 + (int)n);
  attn_text_pairs_free(d);
}

static void test_two_lines_are_split_evenly(void **state) {
  (void)state;
  for (int n = 0; n < 50; n++) {
    write_numbers(path, n, 2);
    struct attn_text_pairs *d = open_data(NULL, 0, 1);
    assert_int_equal(attn_text_pairs_count(d, 0), 1),
        assert_int_equal(attn_text_pairs_count(d, 1), 1);
    assert_true(number_of(d, 0, 0) != number_of(d, 0, 1));
    attn_text_pairs_free(d);
  }
}

static void expect_text(struct attn_text_view is, const char *text) {
  assert_int_equal(is.length, strlen(text));
  if (is.length) assert_memory_equal(is.text, text, is.length);
}

/* Byte order marks, carriage returns and empty lines are ignored. */
static void test_bom_and_line_ends(void **state) {
  (void)state;
  static const char text[] = "\xEF\xBB\xBF\xE6\x97\xA5\t1\r\n\r\n\n\t\na\tb";
  write_file(path, text, sizeof text - 1), write_numbers(other, 1, 1);
  struct attn_text_pairs *d = open_data(other, 0, 1);
  static const struct {
    const char *source, *target;
    int64_t line;
  } known[] = {{"\xE6\x97\xA5", "1", 1}, {"", "", 4}, {"a", "b", 5}};
  int found[3] = {0};
  assert_int_equal(attn_text_pairs_count(d, 0), 3);
  for (uint64_t n = 0; n < 3; n++) {
    struct attn_text_pair pair;
    attn_text_pairs_get(d, n, 0, &pair, NULL);
    int k = pair.line == 1 ? 0 : pair.line == 4 ? 1 : 2;
    expect_text(pair.source, known[k].source), expect_text(pair.target, known[k].target);
    assert_int_equal(pair.line, known[k].line);
    found[k]++;
  }
  assert_true(found[0] == 1 && found[1] == 1 && found[2] == 1);
  attn_text_pairs_free(d);
}

static void test_plain_text(void **state) {
  (void)state;
  write_file(path, "a\tb\tc\n", 6), write_file(other, "no tab\n", 7);
  struct attn_text_pairs *d = open_data(other, 1, 1);
  struct attn_text_pair pair;
  attn_text_pairs_get(d, 0, 0, &pair, NULL);
  expect_text(pair.source, "a"), expect_text(pair.target, "b\tc");
  attn_text_pairs_get(d, 0, 1, &pair, NULL);
  assert_null(pair.source.text), expect_text(pair.target, "no tab");
  attn_text_pairs_free(d);
}

static void expect_error(const char *validation_path, int plain_text, int64_t line,
                         const char *expected) {
  struct attn_text_pairs *d = NULL;
  attn_error err = {.line = 0};
  assert_int_equal(attn_text_pairs_from_file(path, validation_path, plain_text, 1, NULL, &d, &err),
                   ATTN_ERR_FORMAT);
  assert_null(d);
  assert_int_equal(err.line, line);
  if (!strstr(err.message, expected))
    fail_msg("\"%s\" does not contain \"%s\"", err.message, expected);
}

static void test_invalid_lines(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t size;
    int64_t line;
    const char *expected;
  } cases[] = {{"", 0, 0, "no lines to train on"},
               {"\n\r\n", 3, 0, "no lines to train on"},
               {"a\tb\n", 4, 0, "no lines to validate on"},
               {"a\tb\nab\n", 7, 2, "a.tsv:2:1: line has no tab"},
               {"a\tb\tc", 5, 1, "two tabs"},
               {"a\tb\n\0\tc", 7, 2, "contains a NUL byte"},
               {"\n\n\xff\tb\n", 6, 3, "UTF-8"},
               {"a\t\xE6\x97\n", 5, 1, "UTF-8"},
               {"\xEF\xBB\xBF"
                "ab",
                5, 1, "a.tsv:1:1: line has no tab"}};
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
    write_file(path, cases[n].text, cases[n].size);
    expect_error(NULL, 0, cases[n].line, cases[n].expected);
  }
  write_numbers(path, 0, 9), write_file(other, "1\t1\n2\n", 6);
  expect_error(other, 0, 2, "b.tsv:2:1: line has no tab");
  static char line[(1 << 16) + 1];
  memset(line, 'x', sizeof line);
  write_file(path, line, sizeof line), expect_error(NULL, 1, 1, "longer than");
  write_file(path, line, sizeof line - 1), expect_error(NULL, 1, 0, "no lines to validate on");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {TEST(test_epochs_shuffle_all_lines),
                                     TEST(test_examples_depend_on_bytes_and_seed_only),
                                     TEST(test_split_by_source),
                                     TEST(test_validation_file),
                                     TEST(test_two_lines_are_split_evenly),
                                     TEST(test_bom_and_line_ends),
                                     TEST(test_plain_text),
                                     TEST(test_invalid_lines)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
