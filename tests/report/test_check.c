/* test_check.c -- the report of a check: verdicts, numbers that were not read, how numbers were
 * read. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

static struct fixture f;
static struct kept kept;

static void has(const char *piece) {
  if (!strstr(kept.text, piece)) fail_msg("no \"%s\" in:\n%s", piece, kept.text);
}

static void has_not(const char *piece) {
  if (strstr(kept.text, piece)) fail_msg("\"%s\" in:\n%s", piece, kept.text);
}

static attn_check *judged(void) {
  attn_check *check;
  attn_error err;
  assert_int_equal(attn_lesson_check(&f.lesson, &check, &err), ATTN_OK);
  return check;
}

/* Prints the report of the fixture into kept. */
static void report(int language) {
  const attn_style style = {sizeof style, language, 0, 100, 0};
  const attn_sink sink = kept_sink(&kept);
  attn_error err;
  attn_check *check = judged();
  assert_int_equal(attn_check_print(&f.lesson, check, &style, &sink, &err), ATTN_OK);
  attn_check_free(check);
}

static json_t *report_json(void) {
  const attn_sink sink = kept_sink(&kept);
  attn_error err;
  attn_check *check = judged();
  assert_int_equal(attn_check_print_json("a.md", &f.lesson, check, NULL, &sink, &err), ATTN_OK);
  attn_check_free(check);
  json_t *read = json_loads(kept.text, 0, NULL);
  assert_non_null(read);
  return read;
}

static int step_named(int name) {
  for (int n = 0; n < f.example.steps; n++)
    if (f.step[n].name == name) return n;
  fail_msg("no step %d", name);
  return -1;
}

/* Prints a step with its exact values. */
static void print_exact(int name, int line) {
  int n = step_named(name);
  fixture_print(&f, n, line, 4, f.step[n].exact.at);
}

/* A list of unread numbers; name NULL ends it. */
static void set_unread(attn_unread *list, int count) {
  f.lesson.unread = list;
  f.lesson.unreads = count;
}

#define NAME(text) (char *)(uintptr_t)(text)

/* ---- Numbers that were not read ---- */

static void test_unread_numbers_are_listed(void **state) {
  (void)state;
  attn_unread list[] = {{4, 9, 2, 3, NAME("scores =")},
                        {9, 1, 1, 1, NAME("q1·k1 = ")},
                        {12, 1, 3, 3, NAME("")},
                        {13, 5, 1, 1, NAME("")}};
  fixture_attention(&f, 0);
  print_exact(ATTN_STEP_WEIGHTS, 20);
  report(0);
  has("lesson.md: correct\n");
  has_not("Not read");
  set_unread(list, 4);
  report(0);
  has("lesson.md: doubtful: the numbers that were read are correct, but some were not read\n");
  has("(from line 3; one query per row): correct\n");
  has("\nNot read, and so not judged:\n"
      "  line 4: 2×3 numbers after \"scores\"\n"
      "  line 9: one number after \"q1·k1\"\n"
      "  line 12: 3×3 numbers\n"
      "  line 13: one number\n");
  report(1);
  has("\n読み取れず、判定していない数値：\n"
      "  4 行目：「scores」の後の 2×3 の数値\n"
      "  9 行目：「q1·k1」の後の数値 1 個\n"
      "  12 行目：3×3 の数値\n");
}

static void test_at_most_ten_unread_lines(void **state) {
  (void)state;
  attn_unread list[13];
  for (int n = 0; n < 13; n++) list[n] = (attn_unread){100 + n, 1, 2, 2, NAME("")};
  fixture_attention(&f, 0);
  print_exact(ATTN_STEP_WEIGHTS, 20);
  set_unread(list, 10);
  report(0);
  has("line 109: 2×2 numbers\n");
  has_not("more");
  set_unread(list, 13);
  report(0);
  has("line 109: 2×2 numbers\n  … and 3 more\n");
  has_not("line 110");
}

static void test_an_incomplete_document_is_at_most_doubtful(void **state) {
  (void)state;
  fixture_attention(&f, 0);
  print_exact(ATTN_STEP_WEIGHTS, 20);
  f.lesson.incomplete = 1;
  report(0);
  has("lesson.md: doubtful: the numbers that were read are correct, but some were not read\n");
  has("\nThe document has more numbers than are read at once: check it in parts.\n");
  has_not("Not read, and so not judged");
}

static void test_a_long_name_keeps_its_end(void **state) {
  (void)state;
  char name[2000];
  attn_unread one = {7, 1, 2, 2, name};
  fixture_attention(&f, 0);
  print_exact(ATTN_STEP_WEIGHTS, 20);
  set_unread(&one, 1);
  strcpy(name, "From these follow, as the reader may check by hand, the scores: [");
  report(0);
  has("line 7: 2×2 numbers after \"…may check by hand, the scores\"\n");
  for (size_t at = 0; at + 4 < sizeof name; at += 3) memcpy(name + at, "重", 4);
  report(0);
  has("after \"…重重重重重重重重重重重重重重重重\"\n");
  strcpy(name, "a\x1B[31m\xFF =");
  report(0);
  has("after \"a\uFFFD[31m\uFFFD\"\n");
}

static void test_unread_numbers_do_not_soften_a_wrong_one(void **state) {
  (void)state;
  attn_unread one = {4, 9, 2, 3, NAME("")};
  fixture_attention(&f, 0);
  fixture_print(&f, step_named(ATTN_STEP_SCORES), 20, 0, (double[]){1, 5, 0, 1});
  set_unread(&one, 1);
  report(0);
  has("lesson.md: wrong\n");
  has("  line 4: 2×3 numbers\n");
}

/* One word for one thing: a step, a value and a document are correct. */
static void test_correct_is_never_called_right(void **state) {
  (void)state;
  const double d = 5 / sqrt(2), a = 1 / sqrt(2);
  fixture_attention(&f, 0);
  print_exact(ATTN_STEP_Q, 10);
  fixture_print(&f, step_named(ATTN_STEP_SCORES), 20, 0, (double[]){1, 5, 0, 1});
  fixture_print(&f, step_named(ATTN_STEP_SCALED), 30, 15, (double[]){a, d, 0, a});
  report(0);
  has("✓ Q               correct\n");
  has("↳ scaled          correct, given the earlier error (1 of 4 values)\n");
  has(": the document prints 5, correct is 0.\n");
  has_not("right");
}

/* ---- "not printed" ---- */

static void test_only_what_is_not_printed_is_called_so(void **state) {
  (void)state;
  static const double blank[] = {NAN, NAN, NAN, NAN};
  attn_unread one = {4, 9, 2, 3, NAME("")};
  fixture_attention(&f, 0);
  print_exact(ATTN_STEP_Q, 20);
  fixture_print(&f, step_named(ATTN_STEP_K), 30, 0, blank);
  report(0);
  has("· K               left blank\n");
  has("· V               not printed\n");
  set_unread(&one, 1);
  report(0);
  has("· K               left blank\n");
  has("· V               not among the numbers that were read\n");
  has_not("not printed");
}

/* ---- Guesses ---- */

static void test_a_guess_is_called_one(void **state) {
  (void)state;
  fixture_attention(&f, 0);
  print_exact(ATTN_STEP_SCORES, 20);
  f.example.uncertain = 1;
  report(0);
  has("one query per row): doubtful: the numbers agree with a\ncomputation that the document does "
      "not "
      "state\n");
  has_not("guess");
  f.step[step_named(ATTN_STEP_SCORES)].uncertain = 1;
  f.step[step_named(ATTN_STEP_SCORES)].printing->cells[1].value = 5;
  report(0);
  has("doubtful: nothing certainly wrong\n");
  has(" (1 of 4 values) (its role is a guess)\n");
}

/* ---- JSON ---- */

static void test_unread_numbers_in_json(void **state) {
  (void)state;
  attn_unread one = {4, 9, 2, 3, NAME("scores \"")};
  fixture_attention(&f, 0);
  json_t *read = report_json();
  assert_int_equal(json_array_size(json_object_get(read, "unread")), 0);
  assert_null(json_object_get(read, "incomplete"));
  json_decref(read);
  f.lesson.incomplete = 1;
  read = report_json();
  assert_true(json_is_true(json_object_get(read, "incomplete")));
  json_decref(read);
  set_unread(&one, 1);
  read = report_json();
  json_t *unread = json_object_get(read, "unread"), *first = json_array_get(unread, 0);
  assert_int_equal(json_array_size(unread), 1);
  assert_int_equal(json_integer_value(json_object_get(first, "line")), 4);
  assert_int_equal(json_integer_value(json_object_get(first, "col")), 9);
  assert_int_equal(json_integer_value(json_object_get(first, "rows")), 2);
  assert_int_equal(json_integer_value(json_object_get(first, "cols")), 3);
  assert_string_equal(json_string_value(json_object_get(first, "name")), "scores \"");
  json_decref(read);
}

/* ---- Nothing to check ---- */

static void test_nothing_to_check_states_what_was_found(void **state) {
  (void)state;
  attn_unread list[] = {{4, 9, 1, 1, NAME("")},
                        {9, 1, 1, 1, NAME("")},
                        {12, 1, 3, 3, NAME("")},
                        {13, 5, 1, 2, NAME("")}};
  fixture_begin(&f, "");
  f.lesson.examples = 0;
  report(0);
  assert_string_equal(kept.text,
                      "lesson.md: nothing to check\n"
                      "No worked example with numbers to judge was found.\n");
  set_unread(list, 1);
  report(0);
  has("No matrix or vector was found, only one number in a sentence.\n\nNot read");
  set_unread(list, 2);
  report(0);
  has("only 2 numbers in sentences.\n");
  set_unread(list, 3);
  report(0);
  has("One block of numbers was found; a check needs a result and");
  set_unread(list, 4);
  report(0);
  has("nothing to check\n2 blocks of numbers were found, no two of which are related by a step of "
      "attention.\n");
  report(1);
  has("数値のまとまりが 2 個ありますが、アテンションの計算で結び付くものはありません。\n");
}

static void test_given_matrices_are_counted(void **state) {
  (void)state;
  attn_unread one = {12, 1, 3, 3, NAME("")};
  fixture_begin(&f, "");
  int x = fixture_given(&f, ATTN_STEP_X, "X", 1, 2, (double[]){1, 2});
  fixture_print(&f, x, 3, 0, f.step[x].exact.at);
  fixture_given(&f, ATTN_STEP_MASK, "M", 2, 2, (double[]){1, 0, 1, 1}); /* causal, not printed */
  report(0);
  has("One block of numbers was found;");
  has("one query per row): nothing to check\n");
  set_unread(&one, 1);
  report(0);
  has("2 blocks of numbers were found,");
}

static void test_an_untouched_exercise(void **state) {
  (void)state;
  fixture_attention(&f, 0);
  report(0);
  assert_string_equal(kept.text,
                      "lesson.md: nothing to check\n"
                      "No number of a computed step was found.\n\n"
                      "Example 1: Two tokens (from line 3; one query per row): nothing to check\n"
                      "0 of 7 steps filled in: begin with Q = X W^Q.\n");
  report(1);
  has("7 個のステップはすべて未記入です。Q = X W^Q から始めてください。\n");
  f.example.from_python = 1;
  report(0);
  has("It prints no result of its 7 computed steps.\n");
}

/* ---- How numbers were read ---- */

static void reading(int language) {
  const attn_style style = {sizeof style, language, 0, 100, 0};
  const attn_sink sink = kept_sink(&kept);
  attn_error err;
  attn_check *check = judged();
  assert_int_equal(attn_check_print_reading(&f.lesson, check, &style, &sink, &err), ATTN_OK);
  attn_check_free(check);
}

/* One wrong score, from which the scaled scores follow; Q is printed after them. */
static void begin_reading(void) {
  const double d = 5 / sqrt(2), a = 1 / sqrt(2);
  fixture_attention(&f, 0);
  print_exact(ATTN_STEP_X, 5);
  fixture_print(&f, step_named(ATTN_STEP_SCORES), 20, 0, (double[]){1, 5, 0, 1});
  fixture_print(&f, step_named(ATTN_STEP_SCALED), 30, 15, (double[]){a, d, 0, a});
  print_exact(ATTN_STEP_Q, 40);
}

static void test_reading_is_listed_by_line(void **state) {
  (void)state;
  fixture_attention(&f, 0);
  reading(0);
  assert_string_equal(kept.text, "No number was read.\n");
  begin_reading();
  reading(0);
  assert_string_equal(kept.text,
                      "How the numbers were read:\n"
                      "  line 5: Inputs: X (2×2): given\n"
                      "  line 20: Scores: E = Q K^T (2×2): 3 of 4 values agree\n"
                      "  line 30: Scaled scores: Scaled E = E / √2 (2×2): 4 of 4 values agree\n"
                      "  line 40: Queries: Q = X W^Q (2×2): 4 of 4 values agree\n");
  reading(1);
  has("  20 行目：スコア：E = Q K^T（2×2）：4 個中 3 個が一致\n");
}

/* The second row of Q, of which one cell is blank. */
static void test_reading_of_a_part(void **state) {
  (void)state;
  begin_reading();
  int q = step_named(ATTN_STEP_Q);
  f.step[q].head = 1;
  f.step[q].printing->row0 = 1;
  f.step[q].printing->rows = 1;
  f.step[q].printing->cells[0].kind = ATTN_CELL_BLANK;
  f.step[q].printing->cells[1].value = f.step[q].exact.at[3];
  reading(0);
  has("  line 40: Queries (head 2): Q = X W^Q (1×2 of 2×2): 1 of 1 values agree\n");
  f.step[q].printing->cells[1].kind = ATTN_CELL_BLANK;
  reading(0);
  has("  line 40: Queries (head 2): Q = X W^Q (1×2 of 2×2): left blank\n");
}

static void test_reading_of_several_examples(void **state) {
  (void)state;
  attn_example two[2];
  begin_reading();
  two[0] = two[1] = f.example;
  f.lesson.example = two;
  f.lesson.examples = 2;
  reading(0);
  has("  line 20: Example 1: Scores: E");
  has("  line 20: Example 2: Scores: E");
}

static void test_reading_in_json(void **state) {
  (void)state;
  begin_reading();
  json_t *read = report_json(), *list = json_object_get(read, "reading");
  assert_int_equal(json_array_size(list), 4);
  json_t *given = json_array_get(list, 0), *scores = json_array_get(list, 1);
  assert_string_equal(json_string_value(json_object_get(given, "role")), "X");
  assert_null(json_object_get(given, "explained"));
  assert_null(json_object_get(given, "relation"));
  assert_string_equal(json_string_value(json_object_get(scores, "role")), "scores");
  assert_string_equal(json_string_value(json_object_get(scores, "symbol")), "E");
  assert_string_equal(json_string_value(json_object_get(scores, "relation")), "E = Q K^T");
  assert_string_equal(json_string_value(json_object_get(scores, "op")), "matmul_nt");
  assert_string_equal(json_string_value(json_array_get(json_object_get(scores, "operands"), 1)),
                      "K");
  assert_int_equal(json_integer_value(json_object_get(scores, "cells")), 4);
  assert_int_equal(json_integer_value(json_object_get(scores, "explained")), 3);
  json_decref(read);
}

static void test_reading_without_memory(void **state) {
  (void)state;
  const attn_sink sink = kept_sink(&kept);
  attn_error err;
  begin_reading();
  attn_check *check = judged();
  for (int n = 1; n <= 4; n++) { /* the list, and one map for each step but X */
    calloc_fails_at = n;
    assert_int_equal(attn_check_print_reading(&f.lesson, check, NULL, &sink, &err),
                     ATTN_ERR_MEMORY);
    calloc_fails_at = n;
    assert_int_equal(attn_check_print_json("a.md", &f.lesson, check, NULL, &sink, &err),
                     ATTN_ERR_MEMORY);
    assert_string_equal(kept.text, "");
  }
  calloc_fails_at = 0;
  attn_check_free(check);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unread_numbers_are_listed),
      cmocka_unit_test(test_at_most_ten_unread_lines),
      cmocka_unit_test(test_an_incomplete_document_is_at_most_doubtful),
      cmocka_unit_test(test_a_long_name_keeps_its_end),
      cmocka_unit_test(test_unread_numbers_do_not_soften_a_wrong_one),
      cmocka_unit_test(test_correct_is_never_called_right),
      cmocka_unit_test(test_only_what_is_not_printed_is_called_so),
      cmocka_unit_test(test_a_guess_is_called_one),
      cmocka_unit_test(test_unread_numbers_in_json),
      cmocka_unit_test(test_nothing_to_check_states_what_was_found),
      cmocka_unit_test(test_given_matrices_are_counted),
      cmocka_unit_test(test_an_untouched_exercise),
      cmocka_unit_test(test_reading_is_listed_by_line),
      cmocka_unit_test(test_reading_of_a_part),
      cmocka_unit_test(test_reading_of_several_examples),
      cmocka_unit_test(test_reading_in_json),
      cmocka_unit_test(test_reading_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
