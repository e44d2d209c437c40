/* test_assign.c -- which block of a document has which role. Numbers decide; words break ties. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_calloc.h"
#include "one_head.h"
#include "page.h"

/* ---- the roles of a document ---- */

/* "X W_Q Q": one word for each block. Q/1: of the second head; Q': its numbers again; Q row 1: this
 * row alone; Q!: a slip; "|": the next example begins; "columns",
 * "score columns", "turned": settings. */
static void put_roles(const struct page *p, char *out, size_t size) {
  static const char *const SETTINGS[] = {"", "columns ", "score columns "}; /* by attn_columns */
  const struct attn_reading *r = &p->reading;
  int example = 0;
  size_t at = (size_t)snprintf(out, size, "%s%s", SETTINGS[r->columns],
                               r->transposed_weights ? "turned " : "");
  for (int n = 0; n < r->placements && at < size; n++) {
    const struct attn_placement *b = r->placement[n];
    char head[12] = "", row[16] = "";
    if (b->head) snprintf(head, sizeof head, "/%d", b->head);
    if (b->relation && b->relation->row >= 0) snprintf(row, sizeof row, ":%d", b->relation->row);
    at +=
        (size_t)snprintf(out + at, size - at, "%s%s%s%s%s%s%s", n ? " " : "",
                         b->example > example ? "| " : "", role_name(b->role), head,
                         b->is_copy ? "'" : "", row, b->relation && b->relation->cause ? "!" : "");
    example = b->example;
  }
  assert_true(at < size);
}

static void expect(const char *text, const char *roles) {
  struct page p;
  char got[2000];
  assert_true(page_begin(&p));
  assert_int_equal(page_read(&p, text), ATTN_OK);
  put_roles(&p, got, sizeof got);
  page_free(&p);
  assert_string_equal(got, roles);
}

/* ---- one head ---- */

static void test_no_words_at_all(void **state) {
  (void)state;
  expect(X W_Q W_K W_V Q K V SCORES SCALED WEIGHTS OUTPUT, ONE_HEAD);
}

static void test_letters_as_names(void **state) {
  (void)state;
  expect("A = " X "B = " W_Q "C = " W_K "D = " W_V "E = " Q "F = " K "G = " V "H = " SCORES
         "I = " SCALED "J = " WEIGHTS "L = " OUTPUT,
         ONE_HEAD);
}

static void test_usual_names(void **state) {
  (void)state;
  expect("X = " X "W_Q = " W_Q "W_K = " W_K "W_V = " W_V "Q = X W_Q = " Q "K = X W_K = " K
         "V = X W_V = " V "S = Q K^T = " SCORES "S / √2 = " SCALED "A = softmax = " WEIGHTS
         "O = A V = " OUTPUT,
         ONE_HEAD);
}

/* Steps that are not printed are passed over. */
static void test_steps_left_out(void **state) {
  (void)state;
  expect("Q = " Q "K = " K "V = " V "A = " WEIGHTS "O = " OUTPUT, "Q K V weights output");
}

/* Names say one thing, numbers another. */
static void test_numbers_decide(void **state) {
  (void)state;
  expect("X = " X "W_Q = " W_Q "W_K = " W_K "W_V = " W_V "Q = " Q "K = " K "V = " V
         "attention weights = " SCORES "output = " SCALED "scores = " WEIGHTS "scaled = " OUTPUT,
         ONE_HEAD);
}

/* What numbers leave open, names decide: which weights are those of the queries. */
static void test_names_break_ties(void **state) {
  (void)state;
  expect("X = " X "W_K = " W_Q "W_Q = " W_K "K = " Q "Q = " K, "X W_K W_Q K Q");
}

/* A slip is still the step that it was meant to be; the author may go on from the right numbers. */
static void test_slips_keep_their_roles(void **state) {
  (void)state;
  expect(X W_Q W_K W_V Q K V SCORES
         "[[1.00, 1.50, 2.50], [0.50, 0.50, 1.00], [1.50, 2.00, 3.50]]\n\n" WEIGHTS OUTPUT,
         "X W_Q W_K W_V Q K V scores scaled! weights output");
}

static void test_one_wrong_number(void **state) {
  (void)state;
  expect(X W_Q W_K W_V Q K V "[[2, 3, 5], [1, 1, 2], [3, 9, 7]]\n\n" SCALED WEIGHTS OUTPUT,
         ONE_HEAD);
}

/* The numbers of a step once more, straight or transposed. */
static void test_numbers_again(void **state) {
  (void)state;
  expect(
      "Q = [[1.5, 2], [0.25, 1], [1, 3.25]]\n\nK = [[0.25, 1.5], [1.75, 1.25], [1.5, 2.25]]\n\n"
      "Q = [[1.5, 2], [0.25, 1], [1, 3.25]]\n\nK^T = [[0.25, 1.75, 1.5], [1.5, 1.25, 2.25]]\n\n"
      "[[3.38, 5.13, 6.75], [1.56, 1.69, 2.63], [5.13, 5.81, 8.81]]\n\n",
      "Q K Q' K' scores");
}

/* ---- layouts ---- */

/* Queries in columns: Q = W X, scores = K^T Q, softmax down the columns. */
static void test_queries_in_columns(void **state) {
  (void)state;
  expect(
      "[[1, 0, 1], [0, 1, 1]]\n\n[[1, 0], [2, 1]]\n\n[[0, 1], [1, 1]]\n\n[[2, 1], [0, 1]]\n\n"
      "[[1, 0, 1], [2, 1, 3]]\n\n[[0, 1, 1], [1, 1, 2]]\n\n[[2, 1, 3], [0, 1, 1]]\n\n"
      "[[2, 1, 3], [3, 1, 4], [5, 2, 7]]\n\n"
      "[[1.41, 0.71, 2.12], [2.12, 0.71, 2.83], [3.54, 1.41, 4.95]]\n\n"
      "[[0.088, 0.248, 0.050], [0.178, 0.248, 0.102], [0.734, 0.503, 0.848]]\n\n"
      "[[2.555, 2.255, 2.747], [0.912, 0.752, 0.950]]\n\n",
      "columns " ONE_HEAD);
}

/* Tokens in rows, but K Q^T: softmax down the columns. */
static void test_scores_in_columns(void **state) {
  (void)state;
  expect(X W_Q W_K W_V Q K V
         "[[2, 1, 3], [3, 1, 4], [5, 2, 7]]\n\n"
         "[[1.41, 0.71, 2.12], [2.12, 0.71, 2.83], [3.54, 1.41, 4.95]]\n\n"
         "[[0.088, 0.248, 0.050], [0.178, 0.248, 0.102], [0.734, 0.503, 0.848]]\n\n" OUTPUT,
         "score columns " ONE_HEAD);
}

/* Q = X W^T, as libraries keep weights. */
static void test_transposed_weights(void **state) {
  (void)state;
  expect(X "[[1, 0], [2, 1]]\n\n[[0, 1], [1, 1]]\n\n[[2, 1], [0, 1]]\n\n" Q K V SCORES SCALED
             WEIGHTS OUTPUT,
         "turned " ONE_HEAD);
}

static void test_one_query(void **state) {
  (void)state;
  expect("q = [1, 3]\n\nK = " K "V = " V
         "scores: [3, 4, 7]\n\nscaled: [2.12, 2.83, 4.95]\n\n"
         "weights: [0.050, 0.102, 0.848]\n\noutput: [2.747, 0.950]\n\n",
         "Q K V scores scaled weights output");
}

/* The row of one token out of all queries. */
static void test_the_scores_of_one_token(void **state) {
  (void)state;
  expect("X = " X "W_Q = " W_Q "W_K = " W_K "Q = " Q "K = " K
         "The third token: scores [3.0, 4.0, 7.0], scaled [2.12, 2.83, 4.95], weights [0.050, "
         "0.102, 0.848]\n",
         "X W_Q W_K Q K scores:2 scaled weights");
}

/* Tables with labels of rows and columns, some numbers in bold. */
static void test_tables(void **state) {
  (void)state;
  expect(
      "X\n\n|     | d1 | d2 |\n|-----|----|----|\n| cat | 1 | 0 |\n| sat | 0 | 1 |\n| mat | 1 | 1 "
      "|\n\n"
      "W_Q\n\n| | q1 | q2 |\n|-|-|-|\n| d1 | **1** | 2 |\n| d2 | 0 | **1** |\n\n"
      "Q\n\n|     | q1 | q2 |\n|-----|----|----|\n| cat | 1 | **2** |\n| sat | 0 | 1 |\n| mat | 1 "
      "| 3 |\n",
      "X W_Q Q");
}

/* A row with one cell less is a mistake of the document. */
static void test_a_short_row_is_refused(void **state) {
  struct page p;
  (void)state;
  assert_true(page_begin(&p));
  assert_int_equal(
      page_read(&p, "Q\n\n| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n| 7 | 8 |\n"),
      ATTN_ERR_FORMAT);
  page_free(&p);
}

/* ---- several heads, several examples ---- */

static void test_two_heads(void **state) {
  (void)state;
  expect("Head 1\n\nQ = " Q "K = " K "V = " V "A = " WEIGHTS "O = " OUTPUT
         "Head 2\n\nQ = [[1], [2], [3]]\n\nK = [[1], [0], [1]]\n\nV = [[1], [0], [2]]\n\n"
         "A = [[0.422, 0.155, 0.422], [0.468, 0.063, 0.468], [0.488, 0.024, 0.488]]\n\n"
         "O = [[1.267], [1.405], [1.464]]\n\nSide by side\n\n"
         "[[2.555, 0.912, 1.267], [2.255, 0.752, 1.405], [2.747, 0.950, 1.464]]\n\n",
         "Q K V weights output Q/1 K/1 V/1 weights/1 output/1 concat");
}

static void test_two_examples(void **state) {
  (void)state;
  expect("# Example 1\n\nX = " X "W_Q = " W_Q "Q = " Q "W_K = " W_K "K = " K "S = " SCORES
         "# Example 2\n\nX = [[2, 1], [0, 3]]\n\nW_Q = [[1, 1], [0, 2]]\n\nQ = [[2, 4], [0, 6]]\n\n"
         "W_K = [[2, 1], [1, 0]]\n\nK = [[5, 2], [3, 0]]\n\nS = [[18, 6], [12, 0]]\n\n",
         "X W_Q Q W_K K scores | X W_Q Q W_K K scores");
}

static void test_cross_attention(void **state) {
  (void)state;
  expect("Encoder states X = " X "Decoder states Y = [[2, 1], [0, 3]]\n\nW_Q = " W_Q "W_K = " W_K
         "Q = [[2, 5], [0, 3]]\n\nK = " K "S = [[5, 7, 12], [3, 3, 6]]\n\n",
         "X Y W_Q W_K Q K scores");
}

static void test_a_causal_mask(void **state) {
  (void)state;
  expect("Q = " Q "K = " K "V = " V "S = " SCORES SCALED
         "masked: [[1.41, -inf, -inf], [0.71, 0.71, -inf], [2.12, 2.83, 4.95]]\n\n"
         "[[1, 0, 0], [0.5, 0.5, 0], [0.050, 0.102, 0.848]]\n\n",
         "Q K V scores scaled masked weights");
}

static void test_exponentials_and_sums(void **state) {
  (void)state;
  expect("Q = " Q "K = " K SCORES SCALED
         "[[4.11, 8.34, 34.31], [2.03, 2.03, 4.11], [8.34, 16.92, 141.14]]\n\n[[46.77], [8.17], "
         "[166.40]]\n\n" WEIGHTS,
         "Q K scores scaled exp sum weights");
}

/* A block that no role fits is not read. */
static void test_other_numbers(void **state) {
  (void)state;
  expect("X = " X "W_Q = " W_Q "Q = " Q "Losses: [[9.31, 7.2, 5.5, 4.1, 3.3]]\n\nW_K = " W_K
         "K = " K,
         "X W_Q Q - W_K K");
}

/* Integers are exact: rows of 1 and 1 are no weights, whatever their name. */
static void test_integers_that_do_not_sum_to_one(void **state) {
  (void)state;
  expect("A = [[1, 1], [1, 1], [1, 1]]\n\n", "X");
  expect("A = [[1, 0], [0, 1]]\n\n", "weights");
}

/* ---- sizes ---- */

static char *repeat(const char *text, int times) {
  size_t bytes = strlen(text);
  char *all = malloc(bytes * (size_t)times + 1);
  assert_non_null(all);
  for (int n = 0; n < times; n++) memcpy(all + (size_t)n * bytes, text, bytes);
  all[bytes * (size_t)times] = 0;
  return all;
}

static char *matrix(int rows, int cols) {
  size_t size = (size_t)rows * (size_t)(cols * 6 + 4) + 8, at = 0;
  char *text = malloc(size);
  assert_non_null(text);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++)
      at += (size_t)snprintf(text + at, size - at, "%s0.%d%s",
                             j   ? ""
                             : i ? "["
                                 : "[[",
                             (i * 7 + j * 3) % 10,
                             j + 1 < cols   ? ", "
                             : i + 1 < rows ? "], "
                                            : "]]");
  return text;
}

static void expect_exhausted(char *text, int exhausted) {
  struct page p;
  assert_true(page_begin(&p));
  assert_int_equal(page_read(&p, text), ATTN_OK);
  assert_int_equal(p.reading.exhausted, exhausted);
  assert_int_equal(p.reading.placements, p.scan.blocks);
  page_free(&p);
  free(text);
}

static void test_a_short_document_is_searched_to_its_end(void **state) {
  (void)state;
  expect_exhausted(repeat(X W_Q Q, 1), 0);
}

/* Of many blocks the first are searched; the rest are not read. */
static void test_many_blocks(void **state) {
  (void)state;
  expect_exhausted(repeat(X W_Q Q "text\n\n", 60), 1);
}

/* The search ends at its limit, with what it has. */
static void test_large_blocks(void **state) {
  (void)state;
  char *one = matrix(80, 80), *all = malloc(strlen(one) * 40 + 600);
  assert_non_null(all);
  all[0] = 0;
  for (int n = 0; n < 40; n++) strcat(strcat(all, one), "\n\nnext\n\n");
  free(one);
  expect_exhausted(all, 1);
}

/* The same text has the same reading. */
static void test_the_same_twice(void **state) {
  char roles[2][2000];
  double score[2];
  (void)state;
  for (int n = 0; n < 2; n++) {
    struct page p;
    assert_true(page_begin(&p));
    assert_int_equal(page_read(&p, "A = " X W_Q W_K W_V Q K V SCORES SCALED WEIGHTS OUTPUT),
                     ATTN_OK);
    put_roles(&p, roles[n], sizeof roles[n]);
    score[n] = p.reading.score;
    page_free(&p);
  }
  assert_string_equal(roles[0], roles[1]);
  assert_true(score[0] == score[1]);
}

/* ---- memory ---- */

static void test_every_allocation_may_fail(void **state) {
  attn_status status = ATTN_ERR_MEMORY;
  long n = 0;
  (void)state;
  for (; status; n++) {
    struct page p;
    calls_left = n;
    if (page_begin(&p)) status = page_read(&p, "X = " X "W_Q = " W_Q "Q = " Q SCORES);
    calls_left = -1;
    page_free(&p);
    assert_true(status == ATTN_ERR_MEMORY || !status);
  }
  assert_true(n > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_words_at_all),
      cmocka_unit_test(test_letters_as_names),
      cmocka_unit_test(test_usual_names),
      cmocka_unit_test(test_steps_left_out),
      cmocka_unit_test(test_numbers_decide),
      cmocka_unit_test(test_names_break_ties),
      cmocka_unit_test(test_slips_keep_their_roles),
      cmocka_unit_test(test_one_wrong_number),
      cmocka_unit_test(test_numbers_again),
      cmocka_unit_test(test_queries_in_columns),
      cmocka_unit_test(test_scores_in_columns),
      cmocka_unit_test(test_transposed_weights),
      cmocka_unit_test(test_one_query),
      cmocka_unit_test(test_the_scores_of_one_token),
      cmocka_unit_test(test_tables),
      cmocka_unit_test(test_a_short_row_is_refused),
      cmocka_unit_test(test_two_heads),
      cmocka_unit_test(test_two_examples),
      cmocka_unit_test(test_cross_attention),
      cmocka_unit_test(test_a_causal_mask),
      cmocka_unit_test(test_exponentials_and_sums),
      cmocka_unit_test(test_other_numbers),
      cmocka_unit_test(test_integers_that_do_not_sum_to_one),
      cmocka_unit_test(test_a_short_document_is_searched_to_its_end),
      cmocka_unit_test(test_many_blocks),
      cmocka_unit_test(test_large_blocks),
      cmocka_unit_test(test_the_same_twice),
      cmocka_unit_test(test_every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
