/* Laws of data: each round goes through all lines once, in an order of its own; what is held out is
 * never trained on; all is a function of the bytes and the seed; what is wrong is named with its
 * file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "data.h"
#include "random.h"

enum { LINES = 200 };

static char folder[] = "/tmp/attn-data-XXXXXX", path[64], other[64];

static int begin(void **state) {
  (void)state;
  if (!mkdtemp(strcpy(folder, "/tmp/attn-data-XXXXXX"))) return -1;
  snprintf(path, sizeof path, "%s/a.tsv", folder),
      snprintf(other, sizeof other, "%s/b.tsv", folder);
  return 0;
}

static int end(void **state) {
  (void)state;
  remove(path), remove(other);
  return rmdir(folder);
}

static void put(const char *to, const char *bytes, size_t size) {
  FILE *f = fopen(to, "wb");
  assert_true(f && fwrite(bytes, 1, size, f) == size && !fclose(f));
}

static void put_numbers(const char *to, int from, int count) {
  FILE *f = fopen(to, "wb");
  for (int n = from; n < from + count; n++) fprintf(f, "%d\t%d\n", n, -n);
  assert_int_equal(fclose(f), 0);
}

static struct attn_data *open_data(const char *held_out, int joined, uint64_t seed) {
  struct attn_data *d = NULL;
  attn_error err;
  if (attn_data_of_file(path, held_out, joined, seed, NULL, &d, &err)) fail_msg("%s", err.message);
  return d;
}

/* The number that example n says on both sides. */
static int number_of(struct attn_data *d, uint64_t n, int held_out) {
  struct attn_pair pair;
  attn_data_pair(d, n, held_out, &pair, NULL);
  int source = atoi(pair.source.text), target = atoi(pair.target.text);
  assert_true(source == -target && pair.file);
  return source;
}

static void each_round_is_all_lines_in_another_order(void **state) {
  (void)state;
  put_numbers(path, 0, LINES);
  struct attn_data *d = open_data(NULL, 0, 5);
  int64_t count = attn_data_count(d, 0), out = attn_data_count(d, 1);
  assert_int_equal(count + out, LINES);
  /* A tenth, by chance: 200 of it lie within 4 deviations of sqrt(200 0.1 0.9) = 4.2. */
  assert_true(out >= 3 && out <= 37);
  int before[LINES], moved[3] = {0};
  for (int round = 0; round < 3; round++) {
    char seen[LINES] = {0};
    for (int64_t n = 0; n < out; n++) seen[number_of(d, (uint64_t)n, 1)]++;
    for (int64_t n = 0; n < count; n++) {
      int number = number_of(d, (uint64_t)(round * count + n), 0);
      moved[round] += round && before[n] != number;
      seen[number]++, before[n] = number;
    }
    for (int n = 0; n < LINES; n++) assert_int_equal(seen[n], 1);
  }
  assert_true(moved[1] > LINES / 2 && moved[2] > LINES / 2);
  attn_data_free(d);
}

static void all_is_a_function_of_bytes_and_seed(void **state) {
  (void)state;
  put_numbers(path, 0, LINES);
  struct attn_data *a = open_data(NULL, 0, 5), *b = open_data(NULL, 0, 5),
                   *c = open_data(NULL, 0, 6);
  int same = 0;
  int forwards[3 * LINES];
  for (uint64_t n = 0; n < 3 * LINES; n++) forwards[n] = number_of(a, n, 0);
  for (uint64_t n = 3 * LINES; n-- > 0;) { /* backwards: no example depends on those before it */
    assert_int_equal(number_of(b, n, 0), forwards[n]);
    same += number_of(c, n, 0) == forwards[n];
  }
  assert_true(same < LINES);
  assert_true(attn_data_hash(a) == attn_data_hash(c));
  for (int64_t n = 0; n < attn_data_count(a, 1); n++) /* which are held out, no seed decides */
    assert_int_equal(number_of(a, (uint64_t)n, 1), number_of(c, (uint64_t)n, 1));
  put_numbers(path, 1, LINES);
  struct attn_data *d = open_data(NULL, 0, 5);
  assert_true(attn_data_hash(a) != attn_data_hash(d));
  attn_data_free(a), attn_data_free(b), attn_data_free(c), attn_data_free(d);
}

/* A source that stands in many lines, with other targets, is held out everywhere or nowhere. */
static void a_source_is_on_one_side(void **state) {
  (void)state;
  FILE *f = fopen(path, "wb");
  for (int n = 0; n < 3 * LINES; n++) fprintf(f, "%d\t%d\n", n % LINES, n);
  assert_int_equal(fclose(f), 0);
  struct attn_data *d = open_data(NULL, 0, 1);
  char sides[LINES] = {0};
  for (int side = 0; side < 2; side++)
    for (int64_t n = 0; n < attn_data_count(d, side); n++) {
      struct attn_pair pair;
      attn_data_pair(d, (uint64_t)n, side, &pair, NULL);
      sides[atoi(pair.source.text)] |= (char)(1 << side);
    }
  for (int n = 0; n < LINES; n++) assert_true(sides[n] == 1 || sides[n] == 2);
  attn_data_free(d);
}

static void a_file_that_is_held_out_is_not_trained_on(void **state) {
  (void)state;
  put_numbers(path, 0, 20), put_numbers(other, 100, 7);
  struct attn_data *d = open_data(other, 0, 1);
  assert_int_equal(attn_data_count(d, 0), 20), assert_int_equal(attn_data_count(d, 1), 7);
  for (uint64_t n = 0; n < 40; n++) assert_true(number_of(d, n, 0) < 100);
  for (uint64_t n = 0; n < 7; n++) assert_int_equal(number_of(d, n, 1), 100 + (int)n);
  attn_data_free(d);
}

static void two_lines_are_one_for_each_side(void **state) {
  (void)state;
  for (int n = 0; n < 50; n++) {
    put_numbers(path, n, 2);
    struct attn_data *d = open_data(NULL, 0, 1);
    assert_int_equal(attn_data_count(d, 0), 1), assert_int_equal(attn_data_count(d, 1), 1);
    assert_true(number_of(d, 0, 0) != number_of(d, 0, 1));
    attn_data_free(d);
  }
}

static void expect_text(struct attn_text_view is, const char *text) {
  assert_int_equal(is.length, strlen(text));
  if (is.length) assert_memory_equal(is.text, text, is.length);
}

/* What editors write at the beginning of files and at the ends of lines is none of theirs. */
static void marks_of_editors_are_passed_over(void **state) {
  (void)state;
  static const char text[] = "\xEF\xBB\xBF\xE6\x97\xA5\t1\r\n\r\n\n\t\na\tb";
  put(path, text, sizeof text - 1), put_numbers(other, 1, 1);
  struct attn_data *d = open_data(other, 0, 1);
  static const struct {
    const char *source, *target;
    int64_t line;
  } known[] = {{"\xE6\x97\xA5", "1", 1}, {"", "", 4}, {"a", "b", 5}};
  int found[3] = {0};
  assert_int_equal(attn_data_count(d, 0), 3);
  for (uint64_t n = 0; n < 3; n++) {
    struct attn_pair pair;
    attn_data_pair(d, n, 0, &pair, NULL);
    int k = pair.line == 1 ? 0 : pair.line == 4 ? 1 : 2;
    expect_text(pair.source, known[k].source), expect_text(pair.target, known[k].target);
    assert_int_equal(pair.line, known[k].line);
    found[k]++;
  }
  assert_true(found[0] == 1 && found[1] == 1 && found[2] == 1);
  attn_data_free(d);
}

static void joined_any_text_is_a_line(void **state) {
  (void)state;
  put(path, "a\tb\tc\n", 6), put(other, "no tab\n", 7);
  struct attn_data *d = open_data(other, 1, 1);
  struct attn_pair pair;
  attn_data_pair(d, 0, 0, &pair, NULL);
  expect_text(pair.source, "a"), expect_text(pair.target, "b\tc");
  attn_data_pair(d, 0, 1, &pair, NULL);
  assert_null(pair.source.text), expect_text(pair.target, "no tab");
  attn_data_free(d);
}

static void expect_wrong(const char *held_out, int joined, int64_t line, const char *says) {
  struct attn_data *d = NULL;
  attn_error err = {.line = 0};
  assert_int_equal(attn_data_of_file(path, held_out, joined, 1, NULL, &d, &err), ATTN_ERR_FORMAT);
  assert_null(d);
  assert_int_equal(err.line, line);
  if (!strstr(err.message, says)) fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

static void what_is_wrong_is_named(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t size;
    int64_t line;
    const char *says;
  } cases[] = {{"", 0, 0, "nothing to learn"},
               {"\n\r\n", 3, 0, "nothing to learn"},
               {"a\tb\n", 4, 0, "nothing to validate"},
               {"a\tb\nab\n", 7, 2, "a.tsv:2:1: has no tab"},
               {"a\tb\tc", 5, 1, "two tabs"},
               {"a\tb\n\0\tc", 7, 2, "holds a 0"},
               {"\n\n\xff\tb\n", 6, 3, "UTF-8"},
               {"a\t\xE6\x97\n", 5, 1, "UTF-8"},
               {"\xEF\xBB\xBF"
                "ab",
                5, 1, "a.tsv:1:1: has no tab"}};
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
    put(path, cases[n].text, cases[n].size);
    expect_wrong(NULL, 0, cases[n].line, cases[n].says);
  }
  put_numbers(path, 0, 9), put(other, "1\t1\n2\n", 6);
  expect_wrong(other, 0, 2, "b.tsv:2:1: has no tab");
  static char line[(1 << 16) + 1];
  memset(line, 'x', sizeof line);
  put(path, line, sizeof line), expect_wrong(NULL, 1, 1, "longer than");
  put(path, line, sizeof line - 1), expect_wrong(NULL, 1, 0, "nothing to validate");
}

#define LAW(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {LAW(each_round_is_all_lines_in_another_order),
                                     LAW(all_is_a_function_of_bytes_and_seed),
                                     LAW(a_source_is_on_one_side),
                                     LAW(a_file_that_is_held_out_is_not_trained_on),
                                     LAW(two_lines_are_one_for_each_side),
                                     LAW(marks_of_editors_are_passed_over),
                                     LAW(joined_any_text_is_a_line),
                                     LAW(what_is_wrong_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
