/* test_assemble.c -- which steps a document has, what they come from, and where each is printed. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/lesson.h"
#include "failing_calloc.h"
#include "words.h"

/* ---- a lesson in words ---- */

static const char *const OPS[] = {
    "given", "MATMUL",   "NT",  "TN",     "T",       "DIVIDE",   "MASK",      "SOFTMAX", "EXP",
    "SUM",   "QUOTIENT", "ADD", "APPEND", "GENERAL", "ADDITIVE", "POSITIONS", "TANH",    "SHIFT"};

/* "Q = MATMUL X W_Q 4x2 @55 @60+1": printed in full in line 55, row 1 in line 60. A column and a
 * cell are +row,col; (CAUSE): a slip that explains the step. */
static void put_step(struct words *w, const attn_example *ex, int i) {
  const attn_step *s = &ex->step[i];
  put(w, "%s", attn_step_label(s->name));
  if (s->head >= 0) put(w, "/%d", (int)s->head);
  put(w, " = %s", OPS[s->op]);
  for (int n = 0; n < s->operands; n++) {
    const attn_step *from = &ex->step[s->operand[n]];
    put(w, " %s", attn_step_label(from->name));
    if (from->head >= 0) put(w, "/%d", (int)from->head);
  }
  if (s->op == ATTN_OP_DIVIDE) put(w, " root %d", (int)s->scaled_by);
  put(w, " %dx%d", (int)s->exact.rows, (int)s->exact.cols);
  if (s->suspected) put(w, " (%s)", attn_cause_label(s->suspected));
  for (int n = 0; n < s->printings; n++) {
    const attn_printing *p = &s->printing[n];
    put(w, " @%d", (int)p->line);
    if (p->rows == s->exact.rows && p->cols == s->exact.cols) continue;
    put(w, "+%d", (int)p->row0);
    if (p->cols != s->exact.cols || p->rows != 1)
      put(w, ",%d:%dx%d", (int)p->col0, (int)p->rows, (int)p->cols);
  }
  put(w, "\n");
}

static void put_lesson(struct words *w, const attn_lesson *lesson) {
  w->size = 0;
  w->text[0] = 0;
  for (int e = 0; e < lesson->examples; e++) {
    const attn_example *ex = &lesson->example[e];
    put(w, "# %s%s%s", ex->title, ex->orientation ? " columns" : "",
        ex->from_python ? " python" : "");
    for (int i = 0; i < ex->key_tokens; i++) put(w, "%s%s", i ? "|" : " :", ex->key_token[i]);
    put(w, "\n");
    for (int i = 0; i < ex->steps; i++) put_step(w, ex, i);
  }
}

static attn_lesson *lesson_of(const char *text) {
  attn_lesson *lesson = NULL;
  attn_error err = {0};
  if (attn_lesson_read(text, strlen(text), "test", &lesson, &err) != ATTN_OK)
    fail_msg("%d:%d %s", (int)err.line, (int)err.column, err.message);
  return lesson;
}

/* ---- documents: graph/NAME.md is read, graph/NAME.graph is what it must be ---- */

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = calloc(1, 1 << 16);
  assert_non_null(text);
  size_t size = fread(text, 1, (1 << 16) - 1, file);
  fclose(file);
  text[size] = 0;
  return text;
}

/* Where ATTN_GRAPHS names a folder, what was made is written there, to be compared by eye. */
static void keep(const char *name, const struct words *got) {
  const char *folder = getenv("ATTN_GRAPHS");
  char path[1024];
  if (!folder || !*folder) return;
  snprintf(path, sizeof path, "%s/%s.graph", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file) return;
  fwrite(got->text, 1, got->size, file);
  fclose(file);
}

/* 1: it is as it must be. */
static int check_graph(const char *path, const char *name) {
  char expected_path[1024];
  static struct words got;
  char *text = read_file(path);
  if (!text) {
    print_message("skipped: no document %s\n", path);
    skip();
  }
  snprintf(expected_path, sizeof expected_path, "%s/graph/%s.graph", ATTN_TEST_DATA, name);
  attn_lesson *lesson = lesson_of(text);
  put_lesson(&got, lesson);
  keep(name, &got);
  char *expected = read_file(expected_path);
  assert_non_null(expected);
  int same = strcmp(got.text, expected) == 0;
  if (!same) print_error("%s\n%s\n-- expected --\n%s", name, got.text, expected);
  attn_lesson_free(lesson);
  free(expected);
  free(text);
  return same;
}

static void test_documents(void **state) {
  static const char *const NAMES[] = {
      "plain",        "heads",     "masked",          "cross",       "alignments",   "positions",
      "exponentials", "columns",   "columns_numbers", "scaled_once", "two_examples", "prose",
      "single_query", "masked_ja", "aligned",         "snippets",    "vectors",      "step_by_step",
      "inputs_only",  "formulas",  "factors"};
  char path[1024];
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
    snprintf(path, sizeof path, "%s/graph/%s.md", ATTN_TEST_DATA, NAMES[i]);
    wrong += !check_graph(path, NAMES[i]);
  }
  assert_int_equal(wrong, 0);
}

static void check_seed(const char *file, const char *name) {
  const char *folder = getenv("ATTN_SEEDS");
  char path[1024];
  if (!folder || !*folder) folder = ATTN_TEST_DATA "/../../../shared/seeds";
  snprintf(path, sizeof path, "%s/%s", folder, file);
  assert_true(check_graph(path, name));
}

static void test_seed_000(void **state) {
  (void)state;
  check_seed("000_960ebc02adf1dc3f.txt", "000");
}

static void test_seed_001(void **state) {
  (void)state;
  check_seed("001_84289e6cfb509d84.txt", "001");
}

static void test_seed_002(void **state) {
  (void)state;
  check_seed("002_757482c3e3bacce8.txt", "002");
}

static void test_seed_003(void **state) {
  (void)state;
  check_seed("003_8efce11549477f0c.txt", "003");
}

static void test_seed_004(void **state) {
  (void)state;
  check_seed("004_07b5e95cbe484175.txt", "004");
}

/* ---- numbers ---- */

static const attn_step *find(const attn_example *ex, int name) {
  for (int i = 0; i < ex->steps; i++)
    if (ex->step[i].name == name) return &ex->step[i];
  fail_msg("no step %s", attn_step_label(name));
  return NULL;
}

static void expect_numbers(const attn_step *step, const double *right, int count) {
  assert_int_equal(step->exact.rows * step->exact.cols, count);
  for (int i = 0; i < count; i++)
    if (!(fabs(step->exact.at[i] - right[i]) < 5e-5)) fail_msg("%d: %g", i, step->exact.at[i]);
}

static void test_steps_hold_the_right_numbers(void **state) {
  (void)state;
  attn_lesson *lesson = lesson_of(
      "X = [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]]\n"
      "W_Q = [[1, 0], [0, 1], [1, 0], [0, 1]]\n"
      "W_K = [[1, 0], [0, 1], [1, 0], [0, 1]]\n"
      "W_V = [[1, 0], [0, 1], [1, 0], [0, 1]]\n"
      "scale by \\sqrt{d_k}\n");
  const attn_example *ex = &lesson->example[0];
  assert_int_equal(lesson->examples, 1);
  const double q[] = {2, 0, 0, 2, 1, 1, 1, 1};
  const double weights[] = {.6471, .0382, .1573, .1573, .0382, .6471, .1573, .1573,
                            .25,   .25,   .25,   .25,   .25,   .25,   .25,   .25};
  const double output[] = {1.6089, .3911, .3911, 1.6089, 1, 1, 1, 1};
  expect_numbers(find(ex, ATTN_STEP_Q), q, 8);
  expect_numbers(find(ex, ATTN_STEP_WEIGHTS), weights, 16);
  expect_numbers(find(ex, ATTN_STEP_OUTPUT), output, 8);
  assert_int_equal(find(ex, ATTN_STEP_SCALED)->scaled_by, 2);
  attn_lesson_free(lesson);
}

/* ---- names ---- */

static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int name;
  } NAMES[] = {
      {"W^Q", ATTN_STEP_W_Q},
      {"W_1^Q", ATTN_STEP_W_Q},
      {"W_Q1", ATTN_STEP_W_Q},
      {"W^{(K)}", ATTN_STEP_W_K},
      {"Queries (Q)", ATTN_STEP_Q},
      {"キー", ATTN_STEP_K},
      {"q_2", ATTN_STEP_Q},
      {"e_{12}", ATTN_STEP_SCORES},
      {"e_{1,12}", ATTN_STEP_SCORES},
      {"\\alpha_{12}", ATTN_STEP_WEIGHTS},
      {"α", ATTN_STEP_WEIGHTS},
      {"アテンションの重み行列", ATTN_STEP_WEIGHTS},
      {"Attention weights", ATTN_STEP_WEIGHTS},
      {"attention_weights", ATTN_STEP_WEIGHTS},
      {"Attention(Q, K, V)", ATTN_STEP_OUTPUT},
      {"コンテキストベクトル", ATTN_STEP_OUTPUT},
      {"\\frac{QK^T}{\\sqrt{d_k}}", ATTN_STEP_SCALED},
      {"softmax(0.7, 0, 1.4)", ATTN_STEP_WEIGHTS},
      {"softmax(QK^T / \\sqrt{d_k}) V", ATTN_STEP_OUTPUT},
      {"2行目", -1},
      {"Row 3 of E", ATTN_STEP_SCORES},
      {"Scores for x1", ATTN_STEP_SCORES},
      {"2列目", -1},
      {"head_2", ATTN_STEP_OUTPUT},
      {"ヘッド1のスコア", ATTN_STEP_SCORES},
      {"Step 4: scores", ATTN_STEP_SCORES},
      {"Scores matrix", ATTN_STEP_SCORES},
      {"row sum", ATTN_STEP_ROW_SUM},
      {"cats", -1},
      {"", -1},
  };
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
    if (attn_step_find(NAMES[i].text) != NAMES[i].name)
      fail_msg("%s: %d", NAMES[i].text, (int)attn_step_find(NAMES[i].text));
}

/* ---- mistakes ---- */

static void test_mistakes(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int line, column;
    const char *message;
  } MISTAKES[] = {
      {"X = [[1, 0, 1, 0], [0, 1, 0, 1]]\nW_K = [[1, 0], [0, 1], [1, 1]]\n", 2, 7,
       "W_K (line 2) has 3 rows, but X (line 1) has 4 columns"},
      {"X = [[1, 0, 1], [0, 1, 1]]\nW_Q = [[1, 0, 1], [0, 1, 1]]\n", 2, 7,
       "W_Q (line 2) has 2 rows, but X (line 1) has 3 columns: did you mean the transpose?"},
      {"Q = [[1, 0], [1, 1]]\nK = [[1, 0, 0], [0, 1, 0]]\n", 2, 5,
       "K (line 2) has 3 columns, but Q (line 1) has 2 columns: their rows are multiplied"},
      {"Q = [[1, 0]]\nK = [[1, 0]]\nV = [[1, 0], [0, 1]]\n", 3, 5,
       "V (line 3) has 2 rows, but K (line 2) has 1 rows"},
      {"Q = [[1, 0], [1, 1]]\nK = [[1, 0], [0, 1], [1, 1]]\nscores = [[1, 0], [1, 1]]\n", 3, 10,
       "scores is printed as 2x2, but Q (2x2, line 1) and K (3x2, line 2) give it 2x3"},
      {"X = [[1, 0], [0, 1]]\nW_Q = [[1, 0], [0, 1]]\nX = [[1, 0], [0, 2]]\n", 3, 18,
       "X is given twice within one example with different values: 2 here, 1 at line 1, column 18"},
      {"X = [[1, 0], [0, 1]]\nW_Q = [[1, 0], [0, 1]]\nX = [[1, 0]]\n", 3, 5,
       "X is given twice within one example: 1x2 here, 2x2 at line 1"},
      {"```python\na = np.array([[1, 2, 3]])\nb = np.array([[1, 2], [3, 4]])\nc = a @ b\n```\n", 3,
       14, "a is 1x3 and b is 2x2: the shapes do not match"},
  };
  for (size_t i = 0; i < sizeof MISTAKES / sizeof *MISTAKES; i++) {
    attn_lesson *lesson = NULL;
    attn_error err = {0};
    attn_status status =
        attn_lesson_read(MISTAKES[i].text, strlen(MISTAKES[i].text), "test", &lesson, &err);
    assert_null(lesson);
    assert_int_equal(status, ATTN_ERR_FORMAT);
    if (!strstr(err.message, MISTAKES[i].message) || err.line != MISTAKES[i].line ||
        err.column != MISTAKES[i].column)
      fail_msg("%d:%d %s", (int)err.line, (int)err.column, err.message);
  }
}

static void test_arguments(void **state) {
  (void)state;
  attn_lesson *lesson = NULL;
  attn_error err = {0};
  assert_int_equal(attn_lesson_read("x", 1, "test", NULL, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_lesson_read(NULL, 1, "test", &lesson, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_lesson_read("", 0, "test", &lesson, &err), ATTN_ERR_FORMAT);
  attn_lesson_free(NULL);
  assert_string_equal(attn_step_label(ATTN_STEP_ROW_SUM), "row_sum");
  assert_string_equal(attn_step_label(99), "other");
}

/* ---- memory ---- */

static void test_every_allocation_may_fail(void **state) {
  static const char *const NAMES[] = {"plain", "heads", "snippets", "columns"};
  char path[1024];
  (void)state;
  for (size_t n = 0; n < sizeof NAMES / sizeof *NAMES; n++) {
    snprintf(path, sizeof path, "%s/graph/%s.md", ATTN_TEST_DATA, NAMES[n]);
    char *text = read_file(path);
    assert_non_null(text);
    attn_lesson *lesson = NULL;
    attn_status status = ATTN_ERR_MEMORY;
    long calls = 0;
    for (; status == ATTN_ERR_MEMORY; calls++) {
      attn_error err = {0};
      calls_left = calls;
      status = attn_lesson_read(text, strlen(text), "test", &lesson, &err);
      calls_left = -1;
      assert_true(status == ATTN_OK || status == ATTN_ERR_MEMORY);
      assert_true((status == ATTN_OK) == (lesson != NULL));
    }
    assert_true(calls > 3); /* it did fail */
    attn_lesson_free(lesson);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_documents),
      cmocka_unit_test(test_steps_hold_the_right_numbers),
      cmocka_unit_test(test_mistakes),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_every_allocation_may_fail),
      cmocka_unit_test(test_seed_000),
      cmocka_unit_test(test_seed_001),
      cmocka_unit_test(test_seed_002),
      cmocka_unit_test(test_seed_003),
      cmocka_unit_test(test_seed_004),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
