/* test_reader.c -- documents of any kind become a lesson or an error with its place: line ends,
 * places, intervals, titles, tokens, mistakes; hostile ones in linear time. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attn/lesson.h"
#include "select.h"
#include "source.h"

static attn_lesson *read_bytes(const char *text, size_t bytes) {
  attn_lesson *lesson = NULL;
  attn_error err = {0};
  if (attn_lesson_read(text, bytes, "test.md", &lesson, &err))
    fail_msg("%d:%d %s", (int)err.line, (int)err.column, err.message);
  assert_non_null(lesson);
  return lesson;
}

static attn_lesson *read_text(const char *text) { return read_bytes(text, strlen(text)); }

static const attn_step *first_step(const attn_lesson *lesson, int name) {
  assert_int_equal(lesson->examples, 1);
  for (int n = 0; n < lesson->example[0].steps; n++)
    if (lesson->example[0].step[n].name == name) return &lesson->example[0].step[n];
  fail_msg("no step %d", name);
  return NULL;
}

static const attn_cell *cells_of(const attn_lesson *lesson, int name) {
  const attn_step *step = first_step(lesson, name);
  assert_int_equal(step->printings, 1);
  return step->printing[0].cells;
}

/* ---- places and intervals ---- */

#define K_AND_SCORES "K = [[1, 0], [0, 1]]\n"

static void test_line_ends_and_a_bom_change_nothing(void **state) {
  static const char *const TEXTS[] = {
      "Q = [[1, 2], [3, 4]]\n" K_AND_SCORES "scores = [[1, 2], [3, 4]]\n",
      "\xEF\xBB\xBFQ = [[1, 2], [3, 4]]\r\nK = [[1, 0], [0, 1]]\r\nscores = [[1, 2], [3, 4]]\r\n",
  };
  (void)state;
  for (size_t n = 0; n < sizeof TEXTS / sizeof *TEXTS; n++) {
    attn_lesson *lesson = read_text(TEXTS[n]);
    const attn_cell *c = cells_of(lesson, ATTN_STEP_SCORES);
    assert_true(c[3].value == 4 && c[3].line == 3 && c[3].column == 23);
    attn_lesson_free(lesson);
  }
}

static void test_cells_know_their_places(void **state) {
  (void)state;
  attn_lesson *lesson =
      read_text("Q = [[１, 2],\n  [3, 4]]\n" K_AND_SCORES "scores = [[1, 2], [3, 4]]\n");
  const attn_cell *c = cells_of(lesson, ATTN_STEP_Q);
  assert_true(c[0].line == 1 && c[0].column == 7);
  assert_true(c[1].line == 1 && c[1].column == 10);
  assert_true(c[2].line == 2 && c[2].column == 4);
  assert_true(c[3].line == 2 && c[3].column == 7);
  attn_lesson_free(lesson);
}

/* What prints as 0.25 lies within half a unit of its last digit. */
static void test_intervals_hold_what_prints_so(void **state) {
  (void)state;
  attn_lesson *lesson = read_text("Q = [[0.25, 3], [33%, 1/3]]\n" K_AND_SCORES
                                  "scores = [[0.25, 3], [0.33, 0.33]]\n");
  const attn_cell *c = cells_of(lesson, ATTN_STEP_Q);
  assert_true(c[0].lo <= 0.245 && c[0].lo > 0.2449999 && c[0].hi >= 0.255 && c[0].hi < 0.2550001);
  assert_int_equal(c[0].decimals, 2);
  assert_true(c[1].lo <= 2.5 && c[1].lo > 2.4999999 && c[1].hi >= 3.5 && c[1].hi < 3.5000001);
  assert_int_equal(c[1].decimals, 0);
  assert_true(c[2].lo <= 0.325 && c[2].lo > 0.32499 && c[2].hi >= 0.335 && c[2].hi < 0.33501);
  assert_int_equal(c[2].decimals, 2);
  assert_int_equal(c[3].kind, ATTN_CELL_EXACT);
  assert_true(c[3].lo == c[3].hi && c[3].value == 1.0 / 3.0);
  attn_lesson_free(lesson);
}

/* ---- names, titles, tokens ---- */

static void test_a_name_in_every_notation(void **state) {
  static const char *const SAME[] = {"W_Q = [[1, 2], [3, 5]]",
                                     "W^Q = [[1, 2], [3, 5]]",
                                     "$W^{Q} = [[1, 2], [3, 5]]$",
                                     "\\( W_{Q} = [[1, 2], [3, 5]] \\)",
                                     "\\[ \\mathbf{W}_Q = [[1, 2], [3, 5]] \\]",
                                     "W_Q:\n1 2\n3 5"};
  (void)state;
  for (size_t n = 0; n < sizeof SAME / sizeof *SAME; n++) {
    char text[200] = "X = [[2, 0], [0, 1]]\n\n";
    strcat(text, SAME[n]);
    strcat(text, "\n\nQ = [[2, 4], [3, 5]]\n");
    attn_lesson *lesson = read_text(text);
    assert_true(cells_of(lesson, ATTN_STEP_W_Q)[3].value == 5);
    attn_lesson_free(lesson);
  }
}

/* A heading of a part, or a comment of a program, is no title. */
static void test_titles(void **state) {
#define EXAMPLE "Q = [[1, 2], [3, 4]]\n" K_AND_SCORES "scores = [[1, 2], [3, 4]]\n"
  static const struct {
    const char *text, *title;
  } CASES[] = {
      {"# Two words\n\n" EXAMPLE, "Two words"},
      {"# Two words\n\n## Inputs\n\n" EXAMPLE, "Two words"},
      {"# Lesson\n\n## Example 2: a cat\n\n### Setup of it\n\n" EXAMPLE, "Example 2: a cat"},
      {"Two words\n=========\n\n" EXAMPLE, "Two words"},
      {"A short line\n\n" EXAMPLE, "A short line"},
      {"A sentence is no title.\n\n" EXAMPLE, ""},
      {"\\section{Two words}\n\n" EXAMPLE, "Two words"},
      {EXAMPLE, ""},
  };
  (void)state;
  for (size_t n = 0; n < sizeof CASES / sizeof *CASES; n++) {
    attn_lesson *lesson = read_text(CASES[n].text);
    assert_int_equal(lesson->examples, 1);
    assert_string_equal(lesson->example[0].title, CASES[n].title);
    attn_lesson_free(lesson);
  }
}

/* Tokens of one character that have no label follow from the sentence. */
static void test_the_sentence_completes_the_tokens(void **state) {
  static const char *const TOKENS[] = {"私", "は", "学校へ"};
  (void)state;
  attn_lesson *lesson = read_text(
      "シーケンス: 「私は 学校へ」\n\nX\n\\([1, 0]\\)\n\\([0, 1]\\)\n学校へ\\([1, 1]\\)\n\n"
      "\\[ W_Q = \\begin{bmatrix} 2 & 0 \\\\ 0 & 3 \\end{bmatrix} \\]\n\n"
      "\\[ Q = \\begin{bmatrix} 2 & 0 \\\\ 0 & 3 \\\\ 2 & 3 \\end{bmatrix} \\]\n");
  assert_int_equal(lesson->example[0].key_tokens, 3);
  for (int n = 0; n < 3; n++) assert_string_equal(lesson->example[0].key_token[n], TOKENS[n]);
  attn_lesson_free(lesson);
}

/* ---- mistakes ---- */

struct mistake {
  const char *name, *text;
  size_t size;
  int line, column;
  const char *message; /* part of it */
};

static const struct mistake MISTAKES[] = {
    {"ragged bmatrix", "x\n\\[ W = \\begin{bmatrix} 1 & 2 \\\\ 3 \\end{bmatrix} \\]", 52, 2, 33,
     "row 2 has 1 numbers, but the rows above have 2"},
    {"ragged list", "W = [[1, 2], [3]]", 17, 1, 15, "row 2 has 1 numbers"},
    {"ragged columns", "X\n1 2\n3\n4 5", 11, 3, 1,
     "this row has 1 numbers, but the rows next to it have 2"},
    {"ragged table", "Weights:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 |", 55, 7, 3,
     "this row has 1 numbers, but the rows next to it have 2"},
    {"no number in a bmatrix", "$$\\begin{bmatrix} 1 & 2 \\\\ x & 4 \\end{bmatrix}$$", 48, 1, 28,
     "\"x\" is not a number: write a number, a fraction, -inf, or ?"},
    {"no number in a list", "W = [[1, 2], [abc, 4]]", 22, 1, 15, "\"abc\" is not a number"},
    {"no number in columns", "W_Q\n1 2\n3 1.2.3\n", 16, 3, 3, "\"1.2.3\" is not a number"},
    {"a step with no number", EXAMPLE "scaled = [[0.71, x2], [2.12, 2.83]]\n", 103, 4, 18,
     "\"x2\" is not a number"},
    {"unterminated bmatrix", "a\n\\[ W = \\begin{bmatrix} 1 & 2 \\]", 33, 2, 8,
     "\\end{bmatrix} is missing"},
    {"no number in a table", "| a | b |\n|--|--|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | oh |\n", 49, 5, 7,
     "\"oh\" is not a number: a column of numbers has only numbers"},
    {"unterminated list", "W = [[1, 2], [3, 4]\n\ntext", 25, 1, 5,
     "the bracket is never closed: write ] after the last number"},
    {"unterminated row", "Q = [[1, 2]]\nW = [1, 2\n\ntext", 28, 2, 5,
     "the bracket is never closed"},
    {"an unread digit in a row of brackets", "K =\n[ 0.5 1.5 ]\n[ 0.?3 1.0 ]\n", 29, 3, 3,
     "\"0.?3\" is not a number"},
    {"a letter for a digit in columns", "K\n0.5 1.5\n0.2 O.5\n", 18, 3, 5,
     "\"O.5\" is not a number"},
    {"an unread digit in a list", "K = [[0.5, 1.5], [0.2, 0.?3]]\n", 30, 1, 24,
     "\"0.?3\" is not a number"},
    {"unterminated last row", "K = [[1, 2], [3, 4\nV = [[1, 2], [3, 4]]\n", 40, 1, 5,
     "the bracket is never closed"},
    {"unterminated last row in a sentence",
     "The keys are [[1, 2], [3, 4\nand V = [[1, 2], [3, 4]]\n", 53, 1, 14,
     "the bracket is never closed"},
    {"unterminated first row", "K = [1, 2\nV = [1, 2]\n", 21, 1, 5, "the bracket is never closed"},
    {"unterminated vector", "Q = (1, 2\n\nK = (1, 2)\n", 22, 1, 5, "write ) after the last number"},
    {"unterminated fence", "```\nX = [[1, 2]]\n", 17, 1, 1,
     "the code block is never closed: write ``` below it"},
    {"unterminated longer fence", "~~~\n~~~\n\n````\nX = [[1, 2]]\n```\n", 31, 4, 1,
     "the code block is never closed: write ```` below it"},
    {"beyond a double", "Q = [１, 1e400]", 16, 1, 9, "too large"},
    {"not UTF-8", "ab\n\xE9t", 5, 2, 1, "byte 0xE9 is not UTF-8: save the documen"},
    {"binary", "a\0b", 3, 1, 2, "control character 0x00: this is a binary"},
    {"nothing", "", 0, 1, 1, "the document is empty: write a lesson in"},
    {"only blank", " \n\n", 3, 1, 1, "the document is empty: write a lesson in"},
    {"deep", "Q = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((", 64, 1, 53,
     "nested too deeply: more than 48"},
};

static void test_mistakes_have_their_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof MISTAKES / sizeof *MISTAKES; i++) {
    const struct mistake *m = &MISTAKES[i];
    attn_lesson *lesson = NULL;
    attn_error err = {0};
    attn_status status = attn_lesson_read(m->text, m->size, "test.md", &lesson, &err);
    if (status != ATTN_ERR_FORMAT || err.line != m->line || err.column != m->column ||
        !strstr(err.message, m->message))
      fail_msg("%s: status %d, %d:%d %s", m->name, (int)status, (int)err.line, (int)err.column,
               err.message);
    assert_null(lesson);
  }
}

/* ---- hostile texts ---- */

/* Text of unit repeated to size bytes. */
static char *repeated(const char *unit, size_t size) {
  char *text = malloc(size);
  size_t length = strlen(unit);
  assert_non_null(text);
  for (size_t i = 0; i < size; i++) text[i] = unit[i % length];
  return text;
}

static void test_a_line_of_100_megabytes_is_refused(void **state) {
  (void)state;
  size_t size = (size_t)100 << 20;
  char *text = repeated("x", size);
  attn_lesson *lesson = NULL;
  attn_error err = {0};
  assert_int_equal(attn_lesson_read(text, size, "test.md", &lesson, &err), ATTN_ERR_FORMAT);
  assert_int_equal(err.line, 1);
  size = (size_t)20 << 20;
  assert_int_equal(attn_lesson_read(text, size, "test.md", &lesson, &err), ATTN_ERR_FORMAT);
  assert_non_null(strstr(err.message, "longer than 16 MiB"));
  free(text);
}

/* Lines of 0 to 210 bytes, short and long characters, with and without a newline at the end. */
static void test_a_line_is_found_by_its_number(void **state) {
  char text[40000] = "";
  (void)state;
  for (int n = 0; n < 200; n++) {
    for (int k = 0; k < n * 37 % 71; k++) strcat(text, n % 3 ? "a" : "\u3042");
    if (n < 199) strcat(text, "\n");
  }
  for (int has_newline = 0; has_newline < 2; has_newline++) {
    struct attn_pool *pool = attn_pool_new();
    struct attn_source source;
    const char *at = text;
    if (has_newline) strcat(text, "\n");
    assert_int_equal(attn_source_open(&source, text, strlen(text), pool, NULL), ATTN_OK);
    for (int line = 1; line <= 202; line++) {
      size_t bytes, wanted = strcspn(at, "\n");
      const char *found = attn_source_line(&source, line, &bytes);
      assert_ptr_equal(found, at);
      assert_int_equal(bytes, wanted);
      at += wanted + (at[wanted] == '\n');
    }
    attn_pool_free(pool);
  }
}

/* Each of these once took time that grows with the square of its length: minutes, not a moment. */
static void test_hostile_text_takes_linear_time(void **state) {
  static const char *const UNITS[] = {"[1 foo\n",
                                      "$$\\frac",
                                      "= [x ",
                                      "\\[ ",
                                      "[1, 2],\n",
                                      "(\\( Q \\))",
                                      "\\begin{a} ",
                                      "a: [1, 2]\n",
                                      "[x ",
                                      "x = [a\n",
                                      "```\n",
                                      "# a\n\n",
                                      "[[1, 2",
                                      "1.1 a\n",
                                      "Q = [[1, 2], [3, 4]]\n",
                                      "mask = [[1, 0], [1, 1]]\n",
                                      "| 1 ",
                                      "mat({|",
                                      "1.2 The a\n",
                                      "[1 2]   [3 4]\n",
                                      "[1 2]   [3 4]\n\n",
                                      "\u221A1% ",
                                      "[0.5, 0.5] ",
                                      "[1, 2] = ",
                                      "(1, 2) (3, 4)\n",
                                      "[1, 2] (max[ ",
                                      "|a| ",
                                      "a\n",
                                      "(1\u00B72 + ",
                                      "=( ",
                                      "2.5",
                                      "the temperature 1 of softmax and "};
  (void)state;
  for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
    size_t size = (size_t)1 << (SANITIZED ? 18 : 20);
    char *text = repeated(UNITS[i], size);
    attn_lesson *lesson = NULL;
    clock_t begin = clock();
    attn_status status = attn_lesson_read(text, size, "test.md", &lesson, NULL);
    assert_true(clock() - begin < 6 * CLOCKS_PER_SEC); /* usually less than one */
    assert_true(status == ATTN_OK || status == ATTN_ERR_FORMAT);
    attn_lesson_free(lesson);
    free(text);
  }
}

/* A header that names each of many columns. */
static void test_a_wide_header_takes_linear_time(void **state) {
  (void)state;
  size_t size = 80000;
  char *text = malloc(3 * size),
       *line[] = {repeated("|a| ", size), repeated("|-", size), repeated("|1|2", size)};
  for (int n = 0; n < 3; n++) {
    line[n][size - 1] = '\n';
    memcpy(text + (size_t)n * size, line[n], size);
    free(line[n]);
  }
  attn_lesson *lesson = NULL;
  clock_t begin = clock();
  attn_lesson_read(text, 3 * size, "test.md", &lesson, NULL);
  assert_true(clock() - begin < 4 * CLOCKS_PER_SEC); /* 13 s if its words are taken for each part */
  attn_lesson_free(lesson);
  free(text);
}

/* ones(1000, 1000) is cheap to write: a document of them takes neither time nor memory. */
static void test_programs_make_little(void **state) {
  static const char FENCE[] = "```python\nimport numpy as np\n";
  (void)state;
  size_t size = 3000;
  char *text = repeated("a = np.ones((1000, 1000))\n", size);
  memcpy(text, FENCE, sizeof FENCE - 1);
  attn_lesson *lesson = NULL;
  clock_t begin = clock();
  attn_lesson_read(text, size, "test.md", &lesson, NULL);
  assert_true(clock() - begin < 3 * CLOCKS_PER_SEC); /* 30 s if each of them is made */
  attn_lesson_free(lesson);
  free(text);
}

/* Texts of which each once reached beyond a buffer, a shift or an int: for the sanitizers. */
static void test_texts_at_a_limit(void **state) {
  static char text[8000];
  attn_lesson *lesson = NULL;
  (void)state;
  for (int n = 0; n < 4; n++) {
    char *at = stpcpy(text, n == 0 ? "dk,9\n\n" : "");
    at = stpcpy(at, "Q = [[1, 2], [3, 4]]\n\nK = [[1, 2], [3, 4]]\n\n");
    if (n == 1) { /* a query that is the 40th row of Q */
      at = stpcpy(text, "Q =\n");
      for (int row = 0; row < 40; row++) at += sprintf(at, "  %d %d\n", row, row * 7 % 11);
      stpcpy(at, "\nK = [[1, 2], [3, 1]]\n\nThe query is\n\nq = [37, 6]\n\nscores = [49, 117]\n");
    }
    if (n == 2) { /* more words than keys in a line on padding */
      at = stpcpy(at, "masked scores = [[5, -inf], [11, -inf]]\n\nthe padding of");
      for (int word = 0; word < 40; word++) at = stpcpy(at, " word");
    }
    if (n == 3) stpcpy(at, "m <- matrix(c(1, 2), nrow = 3000, ncol = 999999)\n");
    attn_status status = attn_lesson_read(text, strlen(text), "test.md", &lesson, NULL);
    assert_true(status == ATTN_OK || status == ATTN_ERR_FORMAT);
    attn_lesson_free(lesson);
    lesson = NULL;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_line_ends_and_a_bom_change_nothing),
      cmocka_unit_test(test_cells_know_their_places),
      cmocka_unit_test(test_intervals_hold_what_prints_so),
      cmocka_unit_test(test_a_name_in_every_notation),
      cmocka_unit_test(test_titles),
      cmocka_unit_test(test_the_sentence_completes_the_tokens),
      cmocka_unit_test(test_mistakes_have_their_place),
      cmocka_unit_test(test_a_line_of_100_megabytes_is_refused),
      cmocka_unit_test(test_a_line_is_found_by_its_number),
      cmocka_unit_test(test_hostile_text_takes_linear_time),
      cmocka_unit_test(test_a_wide_header_takes_linear_time),
      cmocka_unit_test(test_programs_make_little),
      cmocka_unit_test(test_texts_at_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
