/* test_reading.c -- from roles to a lesson: steps, what is called a slip, what is left unread. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "one_head.h"
#include "page.h"
#include "reading.h"
#include "words.h"

/* ---- slips: accused, excused or uncertain ---- */

#define SCALED_BY_2 "[[1.00, 1.50, 2.50], [0.50, 0.50, 1.00], [1.50, 2.00, 3.50]]\n\n"
#define WEIGHTS_UNSCALED "[[0.042, 0.114, 0.844], [0.212, 0.212, 0.576], [0.017, 0.047, 0.936]]\n\n"
#define WEIGHTS_BY_COLUMNS \
  "[[0.284, 0.306, 0.191], [0.140, 0.074, 0.023], [0.576, 0.620, 0.786]]\n\n"
#define WEIGHTS_WITHOUT_EXP \
  "[[0.200, 0.300, 0.500], [0.250, 0.250, 0.500], [0.214, 0.286, 0.500]]\n\n"
#define GIVEN "Q = " Q "K = " K "V = " V

/* The slip of the first block with this role, as the document has it. */
static const char *slip_in(const char *text, int role) {
  static const char *const NAMES[] = {"accused", "excused", "uncertain"};
  static struct words w;
  struct page p;
  w.size = 0;
  assert_true(page_begin(&p));
  assert_int_equal(page_read(&p, text), ATTN_OK);
  for (int n = 0; n < p.reading.placements && !w.size; n++) {
    const struct attn_placement *b = p.reading.placement[n];
    int cause;
    if (b->role != role || !b->relation) continue;
    enum attn_accusation accusation = attn_accuse(&p.scan, p.priors, &p.reading, b, &cause);
    put(&w, "%s: %s", NAMES[accusation], attn_cause_label(cause));
  }
  if (!w.size) put(&w, "no such block");
  page_free(&p);
  return w.text;
}

static void expect_slip(const char *text, int role, const char *slip) {
  assert_string_equal(slip_in(text, role), slip);
}

/* ---- a check in words ---- */

static void put_check(struct words *w, const attn_lesson *lesson) {
  static const char *const JUDGED[] = {"not given", "ok", "doubtful", "carried", "wrong"};
  attn_check *check = NULL;
  assert_int_equal(attn_lesson_check(lesson, &check, NULL), ATTN_OK);
  w->size = 0;
  put(w, "%s", JUDGED[check->judgement]);
  for (int e = 0; e < check->examples; e++)
    for (int n = 0; n < check->example[e].verdicts; n++) {
      const attn_step_verdict *v = &check->example[e].verdict[n];
      const attn_step *s = &lesson->example[e].step[v->step];
      if (v->judgement <= ATTN_JUDGED_OK) continue;
      put(w, "; %s %s", attn_step_label(s->name), JUDGED[v->judgement]);
      if (v->cause) put(w, " (%s)", attn_cause_label(v->cause));
    }
  for (int n = 0; n < lesson->unreads; n++)
    put(w, "; unread %dx%d at %d", (int)lesson->unread[n].rows, (int)lesson->unread[n].cols,
        (int)lesson->unread[n].line);
  attn_check_free(check);
}

static void expect_verdict(const char *text, const char *check) {
  attn_lesson *lesson;
  attn_error err = {0};
  static struct words w;
  if (attn_lesson_read(text, strlen(text), "test.md", &lesson, &err)) fail_msg("%s", err.message);
  put_check(&w, lesson);
  attn_lesson_free(lesson);
  assert_string_equal(w.text, check);
}

/* ---- divisors ---- */

static void test_no_scaling_is_mentioned(void **state) {
  (void)state;
  expect_slip(GIVEN "S = " SCORES "A = softmax(S) = " WEIGHTS_UNSCALED, ATTN_ROLE_WEIGHTS,
              "excused: none");
}

static void test_a_stated_scaling_is_forgotten(void **state) {
  (void)state;
  expect_slip(GIVEN "S = " SCORES "A = softmax(S / √2) = " WEIGHTS_UNSCALED, ATTN_ROLE_WEIGHTS,
              "accused: missing_scale");
  expect_slip(GIVEN "S = " SCORES "We scale by √d_k, then softmax:\n\n" WEIGHTS_UNSCALED,
              ATTN_ROLE_WEIGHTS, "accused: missing_scale");
  expect_slip(GIVEN "S = " SCORES "We do not scale by √d_k. softmax:\n\n" WEIGHTS_UNSCALED,
              ATTN_ROLE_WEIGHTS, "excused: none");
}

static void test_scaled_scores_that_are_not(void **state) {
  (void)state;
  expect_slip(GIVEN "S = " SCORES "scaled = " SCORES, ATTN_ROLE_SCALED, "accused: missing_scale");
  expect_slip(GIVEN "S = " SCORES "scaled = " SCALED "A = " WEIGHTS_UNSCALED, ATTN_ROLE_WEIGHTS,
              "accused: missing_scale");
}

static void test_division_by_d_k(void **state) {
  (void)state;
  expect_slip(GIVEN "S = " SCORES "S / √d_k = " SCALED_BY_2, ATTN_ROLE_SCALED,
              "accused: scale_by_dk");
  expect_slip(GIVEN "S = " SCORES "divide by 2: " SCALED_BY_2, ATTN_ROLE_SCALED,
              "uncertain: scale_by_dk");
  expect_slip("The temperature is chosen.\n\n" GIVEN "S = " SCORES "divide by 2: " SCALED_BY_2,
              ATTN_ROLE_SCALED, "excused: scale_by_dk");
  expect_slip(GIVEN "S = " SCORES "then: " SCALED_BY_2, ATTN_ROLE_SCALED, "uncertain: scale_by_dk");
}

#define SCALED_BY_1_4 \
  "[[1.4286, 2.1429, 3.5714], [0.7143, 0.7143, 1.4286], [2.1429, 2.8571, 5.0000]]\n\n"

static void test_a_rounded_root(void **state) {
  (void)state;
  expect_slip(GIVEN "S = " SCORES "S / √d_k = " SCALED_BY_1_4, ATTN_ROLE_SCALED,
              "accused: rounding_too_coarse");
  expect_slip("We take √2 ≈ 1.4 throughout.\n\n" GIVEN "S = " SCORES "S / √d_k = " SCALED_BY_1_4,
              ATTN_ROLE_SCALED, "excused: rounding_too_coarse");
}

/* ---- softmax ---- */

static void test_softmax_by_columns(void **state) {
  (void)state;
  expect_slip(GIVEN "S = " SCORES "scaled = " SCALED "softmax: " WEIGHTS_BY_COLUMNS
                    "O = [[3.14, 0.50], [0.36, 0.10], [4.13, 1.41]]\n",
              ATTN_ROLE_WEIGHTS, "accused: softmax_over_columns");
  expect_slip(GIVEN "S = " SCORES "scaled = " SCALED "softmax of each column: " WEIGHTS_BY_COLUMNS,
              ATTN_ROLE_WEIGHTS, "excused: none"); /* a query is a column */
}

static void test_softmax_without_exponentials(void **state) {
  (void)state;
  expect_slip(GIVEN "S = " SCORES "scaled = " SCALED "A = softmax: " WEIGHTS_WITHOUT_EXP,
              ATTN_ROLE_WEIGHTS, "accused: softmax_without_exp");
  expect_slip(GIVEN "S = " SCORES SCALED "Divide by the total:\n\n" WEIGHTS_WITHOUT_EXP,
              ATTN_ROLE_WEIGHTS, "excused: softmax_without_exp");
  expect_slip(GIVEN "S = " SCORES SCALED "Then:\n\n" WEIGHTS_WITHOUT_EXP, ATTN_ROLE_WEIGHTS,
              "uncertain: softmax_without_exp");
}

/* ---- masks ---- */

#define SCALED_FINE \
  "[[1.4142, 2.1213, 3.5355], [0.7071, 0.7071, 1.4142], [2.1213, 2.8284, 4.9497]]\n\n"
#define MASKED_LATE "[[1.41, 2.12, -inf], [0.71, 0.71, 1.41], [2.12, 2.83, 4.95]]\n\n"

static void test_a_mask_one_key_late(void **state) {
  (void)state;
  expect_slip(GIVEN "S = " SCORES SCALED "causal mask: " MASKED_LATE, ATTN_ROLE_MASKED,
              "accused: mask_off_by_one");
  expect_slip(GIVEN "S = " SCORES SCALED "then: " MASKED_LATE, ATTN_ROLE_MASKED,
              "uncertain: mask_off_by_one");
}

/* Neither causal nor of padding: a slip where one of the two is meant. */
static void test_an_odd_mask(void **state) {
  static const char ODD[] =
      "[[1.4142, -inf, 3.5355], [0.7071, -inf, -inf], [2.1213, 2.8284, 4.9497]]\n\n";
  char text[1000];
  (void)state;
  snprintf(text, sizeof text, "%scausal mask: %s", GIVEN "S = " SCORES SCALED_FINE, ODD);
  expect_slip(text, ATTN_ROLE_MASKED, "accused: mask_off_by_one");
  snprintf(text, sizeof text, "%sthen: %s", GIVEN "S = " SCORES SCALED_FINE, ODD);
  expect_slip(text, ATTN_ROLE_MASKED, "uncertain: mask_off_by_one");
}

/* The mask was forgotten for one query. */
static void test_a_mask_with_an_open_row(void **state) {
  (void)state;
  expect_slip(
      "Causal attention.\n\nscores = [[1.25, 0.50, 2.75, 0.25], [0.75, 1.50, 0.25, 2.25], "
      "[2.50, 0.75, 1.25, 1.75], [0.25, 1.75, 2.25, 0.50]]\n\n"
      "masked = [[1.25, 0.50, 2.75, 0.25], [0.75, 1.50, -inf, -inf], "
      "[2.50, 0.75, 1.25, -inf], [0.25, 1.75, 2.25, 0.50]]\n\n",
      ATTN_ROLE_MASKED, "accused: mask_ignored");
}

/* ---- other slips are always slips, except where names tell too little ---- */

static void test_keys_instead_of_values(void **state) {
  (void)state;
  expect_slip(GIVEN "A = " WEIGHTS "O = [[0.912, 1.734], [0.752, 1.503], [0.950, 1.848]]\n\n",
              ATTN_ROLE_OUTPUT, "accused: k_instead_of_v");
}

static void test_queries_from_the_weights_of_keys(void **state) {
  (void)state;
  expect_slip("X = " X "W_Q = " W_Q "W_K = " W_K "Q = " K, ATTN_ROLE_Q, "accused: swapped_qk");
}

/* ---- verdicts ---- */

#define DOCUMENT "X = " X "W_Q = " W_Q "W_K = " W_K "W_V = " W_V GIVEN

static void test_a_correct_document(void **state) {
  (void)state;
  expect_verdict(DOCUMENT "S = " SCORES "S / √2 = " SCALED "A = " WEIGHTS "O = " OUTPUT, "ok");
  expect_verdict(X W_Q W_K W_V Q K V SCORES SCALED WEIGHTS OUTPUT, "ok");
}

static void test_a_wrong_number(void **state) {
  (void)state;
  expect_verdict(DOCUMENT "S = [[2, 3, 5], [1, 1, 2], [3, 9, 7]]\n\n",
                 "wrong; scores wrong (arithmetic_cell)");
}

/* What is accused is judged as the right relation. */
static void test_an_accused_slip_is_wrong(void **state) {
  (void)state;
  expect_verdict(DOCUMENT "S = " SCORES "S / √d_k = " SCALED_BY_2,
                 "wrong; scaled wrong (scale_by_dk)");
}

static void test_an_uncertain_slip_is_doubtful(void **state) {
  (void)state;
  expect_verdict(DOCUMENT "S = " SCORES "then: " SCALED_BY_2, "doubtful");
}

static void test_an_excused_slip_is_right(void **state) {
  (void)state;
  expect_verdict(DOCUMENT "S = " SCORES "A = softmax(S) = " WEIGHTS_UNSCALED, "ok");
}

/* Once more, in the same numbers or rounded further: right. Other numbers: wrong. */
static void test_a_result_is_printed_again(void **state) {
  (void)state;
  expect_verdict(DOCUMENT "S = " SCORES "S / √2 = " SCALED
                          "Again, S / √2 = [[1.4, 2.1, 3.5], [0.7, 0.7, 1.4], [2.1, 2.8, 4.9]]\n\n",
                 "ok");
  expect_verdict(DOCUMENT
                 "S = " SCORES "S / √2 = " SCALED
                 "Again, S / √2 = [[1.41, 2.12, 3.54], [0.71, 0.71, 1.41], [2.12, 8.23, 4.95]]\n\n",
                 "wrong; scaled wrong (transcription)");
}

/* ---- causes of slips that names read, too ---- */

#define MASK_TABLE "Mask = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]\n\nA = softmax of the masked scores = "

static void test_causes(void **state) {
  static const struct {
    const char *text, *verdict;
  } CASES[] = {
      {DOCUMENT "S = Q K^T = [[2, 1, 3], [3, 1, 4], [5, 2, 7]]\n\nA = softmax(S / √2) = "
                "[[0.284, 0.140, 0.576], [0.306, 0.074, 0.620], [0.191, 0.023, 0.786]]\n\n",
       "wrong; scores wrong (swapped_qk); weights carried"},
      {DOCUMENT "S = " SCORES "S / √2 = " SCORES, "wrong; scaled wrong (missing_scale)"},
      {DOCUMENT "S = " SCORES "S / √2 = " SCALED_BY_2, "wrong; scaled wrong (scale_by_dk)"},
      {DOCUMENT "S = " SCORES "S / √2 = " SCALED "A = softmax(S / √2) = " WEIGHTS_BY_COLUMNS,
       "wrong; weights wrong (softmax_over_columns)"},
      /* one key late, and one early, seen in the weights alone */
      {DOCUMENT "S = " SCORES "S / √2 = " SCALED MASK_TABLE
                "[[0.330, 0.670, 0], [0.248, 0.248, 0.503], [0.050, 0.102, 0.848]]\n\n",
       "wrong; weights wrong (mask_off_by_one)"},
      {DOCUMENT "S = " SCORES "S / √2 = " SCALED MASK_TABLE
                "[[1, 0, 0], [1, 0, 0], [0.330, 0.670, 0]]\n\n",
       "wrong; weights wrong (mask_off_by_one)"},
  };
  (void)state;
  for (size_t n = 0; n < sizeof CASES / sizeof *CASES; n++)
    expect_verdict(CASES[n].text, CASES[n].verdict);
}

/* Scores in columns are K Q^T; by the name Q K^T, or by none, they are not right. */
static void test_scores_in_columns_are_stated(void **state) {
#define TURNED "[[2, 1, 3], [3, 1, 4], [5, 2, 7]]\n"
  (void)state;
  expect_verdict("Q = " Q "K = " K "S = K Q^T = " TURNED, "ok");
  expect_verdict("Q = " Q "K = " K "S = Q K^T = " TURNED, "wrong; scores wrong (swapped_qk)");
  expect_verdict("Q = " Q "K = " K "S = " TURNED, "doubtful");
}

/* A mask nearer to one of padding, which departs from a causal one in its first row. */
static void test_the_mask_that_is_mentioned_was_meant(void **state) {
#define ODD_MASK "\n\nmasked: [[1.41, -inf, 3.54], [0.71, -inf, 1.41], [2.12, 2.83, 4.95]]\n"
  (void)state;
  expect_verdict(GIVEN "S = " SCORES "S / √2 = " SCALED "The mask is causal." ODD_MASK,
                 "wrong; masked wrong (mask_off_by_one)");
  expect_verdict(GIVEN "S = " SCORES "S / √2 = " SCALED "The second key is padding." ODD_MASK,
                 "wrong; masked wrong (mask_ignored)");
}

/* ---- the account ---- */

/* W_Q of which the queries do not follow, though each row of it is one of K, too. */
static void test_a_product_of_its_names_is_judged(void **state) {
  (void)state;
  expect_verdict("X = " X "W_Q = [[1, 1], [0, 1]]\n\nW_K = " W_K "W_V = " W_V GIVEN "S = " SCORES
                 "S / √2 = " SCALED "A = " WEIGHTS "O = " OUTPUT,
                 "wrong; Q wrong (wrong_row_or_column); scores carried; scaled carried; weights "
                 "carried; output carried");
}

static void test_a_block_without_a_role_is_unread(void **state) {
  (void)state;
  expect_verdict(DOCUMENT "Other: [[1, 1], [2, 0]]\n", "doubtful; unread 2x2 at 15");
  expect_verdict(DOCUMENT "Losses: [[9.31, 7.2, 5.5, 4.1, 3.3]]\n", "doubtful; unread 1x5 at 15");
}

static void test_counts_and_indices_are_prose(void **state) {
  (void)state;
  expect_verdict(DOCUMENT "See pages [1, 2, 3, 4] of the book.\n", "ok");
}

static void test_a_row_in_a_sentence_is_a_mention(void **state) {
  (void)state;
  expect_verdict(DOCUMENT "S = " SCORES "S / √2 = " SCALED
                          "The first row [1.41, 2.12, 3.54] is largest at the end.\n",
                 "ok");
  expect_verdict(DOCUMENT "S = " SCORES "S / √2 = " SCALED
                          "The first row [1.41, 2.12, 9.54] is largest at the end.\n",
                 "doubtful; unread 1x3 at 19");
}

#define WHOLE DOCUMENT "S = " SCORES "S / √2 = " SCALED "A = " WEIGHTS

/* A number that a sentence gives as a value, and that is no value of the example, is not read. */
static void test_a_stray_value_is_unread(void **state) {
  static const struct {
    const char *sentence, *verdict;
  } CASES[] = {
      {"We divided by 1.41, so 3.54 is the largest.", "ok"},
      {"We divided by 2.78.", "doubtful; unread 1x1 at 21"},
      {"The last weight is 84.8 %, or about 0.85.", "ok"},
      {"The last weight is 76.8 %.", "doubtful; unread 1x1 at 21"},
      {"Here d_k = 2, while the paper has d_k = 64.", "ok"},
      {"Here d_k = 9.", "doubtful; unread 1x1 at 21"},
      {"Your d_k is 2.", "ok"},
      {"Your d_k is 9.", "doubtful; unread 1x1 at 21"},
      {"The first row sums to 1.000.", "ok"},
  };
  char text[4000];
  (void)state;
  for (size_t n = 0; n < sizeof CASES / sizeof *CASES; n++) {
    snprintf(text, sizeof text, "%s%s\n", WHOLE, CASES[n].sentence);
    expect_verdict(text, CASES[n].verdict);
  }
}

static void test_numbers_of_prose_are_no_values(void **state) {
  static const char *const SENTENCES[] = {
      "Posted on 3 June 2023 at 14:30, 2024-02-11, v1.2.3, about 4 minutes to read.",
      "See section 3.2, equation (4.1), figure 2.3 and chapter 4 of the book.",
      "GPT-3 has 96 heads of 128 numbers in each of its 96 layers.",
      "第 4.2 節を参照（2024 年 4 月 18 日，3 ページ，配点 7.5 点）。",
      "It took 2.5 hours with Python 3.11 and numpy 1.26; the error is below 0.001.",
      "Each of the 2 heads has 3 tokens; exercise 7 is worth 10 points.",
  };
  char text[4000];
  (void)state;
  for (size_t n = 0; n < sizeof SENTENCES / sizeof *SENTENCES; n++) {
    snprintf(text, sizeof text, "%s%s\n", WHOLE, SENTENCES[n]);
    expect_verdict(text, "ok");
  }
}

/* Both sides of arithmetic agree, and a number that is multiplied by 0 is a number of the example.
 */
static void test_arithmetic_is_worked_out(void **state) {
  static const struct {
    const char *sentence, *verdict;
  } CASES[] = {
      {"The first score is 1·0 + 2·1 = 2.", "ok"},
      {"The first score is 1·0 + 8·1 = 2.", "doubtful; unread 1x5 at 21"},
      {"- 1·0 + 2·1 = 3", "doubtful; unread 1x5 at 21"},
      {"So we add 0.088 (2, 0) + 0.178 (1, 1) + 0.734 (3, 1) now.", "ok"},
      {"So we add 0.088 (2, 0) + 0.178 (1, 1) + 0.734 (3, 8) now.", "doubtful; unread 1x9 at 21"},
      {"- row 1: 1.41, 2.12, 3.54\n- row 2: 0.71, 0.71, 1.41", "ok"},
      {"We have 8·12 = 1 here.", "doubtful; unread 1x3 at 21"},
      {"0.67·100 = 67 %", "ok"},
      {"0.67·100 = 67.9", "doubtful; unread 1x3 at 21"},
      {"$e^{1.41} = 4.10$ and $\\frac{1}{\\sqrt{2}} \\approx 0.71$.", "ok"},
      {"$e^{2.78} = 4.10$", "doubtful; unread 1x2 at 21"},
      {"0.088 (2, 0) + 0.178 (1, 1) + 0.734 (3, 1) = (2.556, 0.912)", "ok"},
      {"0.088 (2, 0) + 0.178 (1, 1) + 0.734 (3, 8) = (2.556, 0.912)",
       "doubtful; unread 1x11 at 21"},
      {"0.088·2 + 0.178·1 + 0.734·3 = 0.176 + 0.178 + 2.202 = 2.556", "ok"},
      {"Note that 2 d_k - 2 = 2 here.", "ok"},
  };
  char text[4000];
  (void)state;
  for (size_t n = 0; n < sizeof CASES / sizeof *CASES; n++) {
    snprintf(text, sizeof text, "%s%s\n", WHOLE, CASES[n].sentence);
    expect_verdict(text, CASES[n].verdict);
  }
}

/* What is worked out belongs to the cells of a step: a slip in it is one of the step. */
static void test_workings_are_cells_of_their_step(void **state) {
  static const struct {
    const char *working, *verdict;
  } CASES[] = {
      {"- e_{12} = 1·1 + 2·1 = 3", "ok"},
      {"- e_{12} = 1·1 + 2·1 = 9", "doubtful; unread 1x5 at 21"},
      {"Row 2 of A: [0.248, 0.248, 0.503]", "ok"},
      {"Row 2 of A: [0.248, 0.348, 0.503]", "doubtful; unread 1x3 at 21"},
      {"scores for x_1: [2, 3, 5]", "ok"},
      {"scores for x_1: [2, 3, 4]", "doubtful; unread 1x3 at 21"},
      {"scores for x_1: [7, 8, 4]", "doubtful; unread 1x3 at 21"},
      {"$\\text{softmax} = [\\frac{e^{1.41}}{e^{1.41} + e^{2.12} + e^{3.54}}, …]$\n\n"
       "$= [0.088, 0.178, 0.734]$",
       "ok"},
      {"$\\text{softmax} = [\\frac{e^{1.41}}{e^{1.41} + e^{2.12} + e^{3.54}}, …]$\n\n"
       "$= [0.188, 0.178, 0.734]$",
       "doubtful; unread 1x3 at 23"},
  };
  char text[4000];
  (void)state;
  for (size_t n = 0; n < sizeof CASES / sizeof *CASES; n++) {
    snprintf(text, sizeof text, "%s%s\n", WHOLE, CASES[n].working);
    expect_verdict(text, CASES[n].verdict);
  }
}

/* What is left to the reader is neither right nor wrong, the rest is judged. */
static void test_an_exercise_that_is_filled_in_in_part(void **state) {
#define EXERCISE "Q = [[1, 2], [0, 1]]\n\nK = [[2, 1], [1, 1]]\n\n"
  (void)state;
  expect_verdict(EXERCISE "scores = [[4, …], [1, …]]\n", "ok");
  expect_verdict(EXERCISE "scores = [[4, ?], [1, ?]]\n", "ok");
  expect_verdict(EXERCISE "scores = [[1, ?], [?, ?]]\n",
                 "wrong; scores wrong (wrong_row_or_column)");
  expect_verdict(EXERCISE "scores:\n\n| a | b |\n|---|---|\n| 4 | ? |\n| ? | 7 |\n",
                 "wrong; scores wrong (arithmetic_cell)");
  expect_verdict(EXERCISE "scores = [[…, …], […, …]]\n", "not given");
  expect_verdict(GIVEN "scores = [[2, …, …], […, …, …], […, …, …]]\n", "ok");
}

/* The words of a sentence are no name that makes numbers wrong of which none fits. */
static void test_scores_of_other_queries_are_doubtful(void **state) {
  (void)state;
  expect_verdict(
      "Its query is q = (8, 2). The keys are\n\n- k_1 = (2, 1)\n- k_2 = (0, 1)\n- k_3 = (1, 1)\n\n"
      "and the values\n\n- v_1 = (1, 0)\n- v_2 = (0, 1)\n- v_3 = (2, 1)\n\n"
      "The score row is [4, 2, 3].\n\nDividing by √2 leaves the scaled row [2.83, 1.41, 2.12].\n\n"
      "The weights are [0.577, 0.140, 0.284].\n\nThe output is [1.145, 0.424].\n",
      "doubtful; scores doubtful");
}

static void test_a_mask_in_numbers_is_read(void **state) {
  (void)state;
  expect_verdict(DOCUMENT "S = " SCORES SCALED
                          "Causal mask:\n\n[[1, 0, 0], [1, 1, 0], [1, 1, 1]]\n\nmasked: [[1.41, "
                          "-inf, -inf], [0.71, 0.71, -inf], [2.12, 2.83, 4.95]]\n\n",
                 "ok");
}

/* A table of the mask is no attention weights, though rows of it may be: it is not judged. */
static void test_a_mask_table_is_no_step(void **state) {
  static const char *const NAMES[] = {"Causal mask: M = ", "Mask = ", "The mask:\n\n"};
  char text[2000];
  (void)state;
  for (size_t n = 0; n < sizeof NAMES / sizeof *NAMES; n++) {
    snprintf(text, sizeof text, "%s%s[[1, 0, 0], [1, 1, 0], [1, 1, 1]]\n\nMasked scores = %s",
             DOCUMENT "S = " SCORES "S / √2 = " SCALED, NAMES[n],
             "[[1.41, -inf, -inf], [0.71, 0.71, -inf], [2.12, 2.83, 4.95]]\n\n");
    expect_verdict(text, "ok");
  }
}

/* ---- documents without names, and with names twice ---- */

static void test_names_that_mean_nothing(void **state) {
  (void)state;
  expect_verdict("A = " X "B = " W_Q "C = " W_K "D = " W_V "E = " Q "F = " K "G = " V "H = " SCORES,
                 "ok");
}

/* Refused in this line. */
static void expect_refused(const char *text, int line, const char *message) {
  attn_lesson *lesson;
  attn_error err = {0};
  assert_int_equal(attn_lesson_read(text, strlen(text), "test.md", &lesson, &err), ATTN_ERR_FORMAT);
  assert_null(lesson);
  assert_int_equal(err.line, line);
  assert_non_null(strstr(err.message, message));
}

/* A given once more: the same numbers are fine, others are a mistake of the document. */
static void test_given_twice(void **state) {
  (void)state;
  expect_verdict("X = " X "W_Q = " W_Q "Q = " Q "Again, X = " X, "ok");
  expect_refused("X = " X "W_Q = " W_Q "Q = " Q "X = [[1, 0], [0, 1], [1, 2]]\n\n", 7,
                 "X is given twice");
}

static void test_given_twice_under_other_numbers(void **state) {
  (void)state;
  expect_refused("X = [[1.0, 0.5], [0.2, 1.0]]\n\nW_Q = " W_Q
                 "Q = [[1.0, 2.5], [0.2, 1.4]]\n\nX = [[1.0, 0.5], [0.2, 1.7]]\n\n",
                 7, "X is given twice");
}

/* Where there is no example, there is nothing to check, or an error in its place. */
static void test_no_example(void **state) {
  (void)state;
  expect_verdict("Only prose, and the number 3.\n", "not given");
  expect_refused("X = [[1, 2], [3]]\n", 1, "1 numbers");
}

static void test_arguments(void **state) {
  attn_lesson *lesson;
  attn_error err;
  (void)state;
  assert_int_equal(attn_lesson_read(NULL, 3, NULL, &lesson, &err), ATTN_ERR_ARGUMENT);
  assert_null(lesson);
  assert_int_equal(attn_lesson_read("x", 1, NULL, NULL, &err), ATTN_ERR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_scaling_is_mentioned),
      cmocka_unit_test(test_a_stated_scaling_is_forgotten),
      cmocka_unit_test(test_scaled_scores_that_are_not),
      cmocka_unit_test(test_division_by_d_k),
      cmocka_unit_test(test_a_rounded_root),
      cmocka_unit_test(test_softmax_by_columns),
      cmocka_unit_test(test_softmax_without_exponentials),
      cmocka_unit_test(test_a_mask_one_key_late),
      cmocka_unit_test(test_an_odd_mask),
      cmocka_unit_test(test_a_mask_with_an_open_row),
      cmocka_unit_test(test_keys_instead_of_values),
      cmocka_unit_test(test_queries_from_the_weights_of_keys),
      cmocka_unit_test(test_a_correct_document),
      cmocka_unit_test(test_a_wrong_number),
      cmocka_unit_test(test_an_accused_slip_is_wrong),
      cmocka_unit_test(test_an_uncertain_slip_is_doubtful),
      cmocka_unit_test(test_an_excused_slip_is_right),
      cmocka_unit_test(test_a_result_is_printed_again),
      cmocka_unit_test(test_causes),
      cmocka_unit_test(test_scores_in_columns_are_stated),
      cmocka_unit_test(test_the_mask_that_is_mentioned_was_meant),
      cmocka_unit_test(test_a_product_of_its_names_is_judged),
      cmocka_unit_test(test_a_block_without_a_role_is_unread),
      cmocka_unit_test(test_counts_and_indices_are_prose),
      cmocka_unit_test(test_a_row_in_a_sentence_is_a_mention),
      cmocka_unit_test(test_a_stray_value_is_unread),
      cmocka_unit_test(test_numbers_of_prose_are_no_values),
      cmocka_unit_test(test_arithmetic_is_worked_out),
      cmocka_unit_test(test_workings_are_cells_of_their_step),
      cmocka_unit_test(test_an_exercise_that_is_filled_in_in_part),
      cmocka_unit_test(test_scores_of_other_queries_are_doubtful),
      cmocka_unit_test(test_a_mask_in_numbers_is_read),
      cmocka_unit_test(test_a_mask_table_is_no_step),
      cmocka_unit_test(test_names_that_mean_nothing),
      cmocka_unit_test(test_given_twice),
      cmocka_unit_test(test_given_twice_under_other_numbers),
      cmocka_unit_test(test_no_example),
      cmocka_unit_test(test_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
