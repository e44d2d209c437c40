/* test_relations.c -- which relation explains a block: each family of relations, by known numbers.
 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <math.h>

#include "known.h"

/* ---- products with weights ---- */

static void test_queries_keys_and_values_are_products(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_X, X_3);
  give(k, ATTN_ROLE_W_Q, W_Q_2);
  give(k, ATTN_ROLE_W_K, W_K_2);
  give(k, ATTN_ROLE_W_V, W_V_2);
  expect(k, ATTN_ROLE_Q, Q_3, "product(X, W_Q)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_K, K_3, "product(X, W_K)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_V, V_3, "product(X, W_V)", ATTN_CAUSE_NONE);
}

static void test_slips_of_projections(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_X, X_3);
  give(k, ATTN_ROLE_W_Q, W_Q_2);
  give(k, ATTN_ROLE_W_K, W_K_2);
  expect(k, ATTN_ROLE_Q, "1.0 0.0; 2.0 1.0; 3.0 1.0", "product_nt(X, W_Q)",
         ATTN_CAUSE_TRANSPOSED_WEIGHTS);
  expect(k, ATTN_ROLE_Q, K_3, "product(X, W_K)", ATTN_CAUSE_SWAPPED_QK);
}

/* Queries come from one source, keys from the other. */
static void test_sources_of_cross_attention(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_X, X_3);
  give(k, ATTN_ROLE_Y, "2 1; 0 3");
  give(k, ATTN_ROLE_W_Q, W_Q_2);
  give(k, ATTN_ROLE_W_K, W_K_2);
  expect(k, ATTN_ROLE_Q, "2.0 5.0; 0.0 3.0", "product(Y, W_Q)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_K, K_3, "product(X, W_K)", ATTN_CAUSE_NONE);
}

/* One query may be shown alone; keys never are. */
static void test_a_row_alone(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_X, X_3);
  give(k, ATTN_ROLE_W_Q, W_Q_2);
  give(k, ATTN_ROLE_W_K, W_K_2);
  struct found f = find(k, ATTN_ROLE_Q, "1.00 3.00");
  assert_string_equal(words_of(k, f.relation), "product(X, W_Q) row 2");
  assert_true(f.relation->cost > 0);
  expect_none(k, ATTN_ROLE_K, "1.0 2.0");
}

static void test_scores_of_one_query(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_Q, Q_3);
  give(k, ATTN_ROLE_K, K_3);
  expect(k, ATTN_ROLE_SCORES, "3.0 4.0 7.0", "product_nt(Q, K) row 2", ATTN_CAUSE_NONE);
}

/* The table may have more positions than there are inputs. */
static void test_positions_are_added(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_X, "1 2; 3 4");
  give(k, ATTN_ROLE_POSITION_TABLE, "0.0 1.0; 0.84 0.54");
  expect(k, ATTN_ROLE_POSITIONED, "1.0 3.0; 3.84 4.54", "add(X, table)", ATTN_CAUSE_NONE);
  give(k, ATTN_ROLE_POSITION_TABLE, "0.0 1.0; 0.84 0.54; 0.91 -0.42");
  take(k, ATTN_ROLE_POSITIONED);
  expect(k, ATTN_ROLE_POSITIONED, "1.0 3.0; 3.84 4.54", "add(X, constant)", ATTN_CAUSE_NONE);
}

/* Once positions are added, they belong to the source. */
static void test_products_of_positioned_inputs(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_X, "5 5; 5 5; 5 5");
  give(k, ATTN_ROLE_POSITIONED, X_3);
  give(k, ATTN_ROLE_W_Q, W_Q_2);
  expect(k, ATTN_ROLE_Q, Q_3, "product(positioned, W_Q)", ATTN_CAUSE_NONE);
}

/* ---- scores ---- */

static void test_scores_are_products(void **state) {
  struct known *k = *state;
  give_projected(k);
  expect(k, ATTN_ROLE_SCORES, SCORES_3, "product_nt(Q, K)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_SCORES, "2.0 1.0 3.0; 3.0 1.0 4.0; 5.0 2.0 7.0", "product_nt(K, Q)",
         ATTN_CAUSE_SWAPPED_QK);
  expect(k, ATTN_ROLE_SCORES, "2.0 3.0 5.0; 0.0 1.0 1.0; 2.0 4.0 6.0", "product_nt(Q, V)",
         ATTN_CAUSE_UNKNOWN);
}

/* Q K instead of Q K^T, where the shapes allow it. */
static void test_scores_without_the_transpose(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_Q, "1 2; 0 1");
  give(k, ATTN_ROLE_K, "1 5; 0 2");
  expect(k, ATTN_ROLE_SCORES, "1.0 9.0; 0.0 2.0", "product(Q, K)", ATTN_CAUSE_TRANSPOSED_WEIGHTS);
}

/* Inputs serve as keys, and as queries, where there are no others. */
static void test_inputs_serve_as_keys(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_X, X_3);
  expect(k, ATTN_ROLE_SCORES, "1.0 0.0 1.0; 0.0 1.0 1.0; 1.0 1.0 2.0", "product_nt(X, X)",
         ATTN_CAUSE_NONE);
  give(k, ATTN_ROLE_Q, Q_3);
  expect(k, ATTN_ROLE_SCORES, "1.0 2.0 3.0; 0.0 1.0 1.0; 1.0 3.0 4.0", "product_nt(Q, X)",
         ATTN_CAUSE_NONE);
}

static void test_general_scores(void **state) {
  struct known *k = *state;
  give_projected(k);
  give(k, ATTN_ROLE_W_A, "1 0.5; 0 1");
  expect(k, ATTN_ROLE_SCORES, "2.5 3.5 6.0; 1.0 1.0 2.0; 3.5 4.5 8.0", "general(Q, K, W_A)",
         ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_SCORES, "2.0 4.0 6.0; 1.0 1.5 2.5; 3.0 5.5 8.5",
         "general(Q, K, transpose(W_A))", ATTN_CAUSE_TRANSPOSED_WEIGHTS);
}

/* W and U are for upright vectors or for rows: all four are right. */
static void test_additive_scores(void **state) {
  static const struct {
    const char *words, *numbers;
  } CASES[] = {
      {"additive(Q, K, W_A, U_A, v_A)",
       "-0.031 -0.013 -0.013; -0.502 -0.233 -0.238; -0.013 -0.005 -0.005"},
      {"additive(Q, K, W_A, transpose(U_A), v_A)",
       "0.000 0.003 0.000; -0.059 0.000 0.000; -0.001 0.000 0.000"},
      {"additive(Q, K, transpose(W_A), U_A, v_A)",
       "-0.237 -0.095 -0.095; -0.964 -0.533 -0.537; -0.238 -0.095 -0.095"},
      {"additive(Q, K, transpose(W_A), transpose(U_A), v_A)",
       "-0.034 -0.012 -0.002; -0.202 -0.059 -0.008; -0.036 -0.013 -0.002"},
  };
  struct known *k = *state;
  give_projected(k);
  give(k, ATTN_ROLE_W_A, "1 0.5; 0 1");
  give(k, ATTN_ROLE_U_A, "0.5 0; 1 1");
  give(k, ATTN_ROLE_V_A, "1 -1");
  for (size_t n = 0; n < sizeof CASES / sizeof *CASES; n++)
    expect(k, ATTN_ROLE_SCORES, CASES[n].numbers, CASES[n].words, ATTN_CAUSE_NONE);
}

/* And step by step: W q, U k, tanh of their sum, its product with v. */
static void test_additive_scores_in_steps(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_Q, "1.0 2.0");
  give(k, ATTN_ROLE_K, K_3);
  give(k, ATTN_ROLE_W_A, "1 0.5; 0 1");
  give(k, ATTN_ROLE_U_A, "0.5 0; 1 1");
  expect(k, ATTN_ROLE_W_A_Q, "2.0 2.0", "product_nt(Q, W_A)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_U_A_K, "0.0 1.0; 0.5 2.0; 0.5 3.0", "product_nt(K, U_A)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_TANH, "0.964 0.995; 0.987 0.999; 0.987 1.000", "tanh(add(Wq, Uk))",
         ATTN_CAUSE_NONE);
  give(k, ATTN_ROLE_V_A, "2; -1");
  take(k, ATTN_ROLE_Q);
  expect(k, ATTN_ROLE_SCORES, "0.933 0.974 0.973", "transpose(product(tanh, v_A))",
         ATTN_CAUSE_NONE);
  give(k, ATTN_ROLE_V_A, "2 -1");
  expect(k, ATTN_ROLE_SCORES, "0.933 0.974 0.973", "product_nt(v_A, tanh)", ATTN_CAUSE_NONE);
}

/* ---- scaled scores ---- */

static void expect_divisor(struct known *k, const char *numbers, const char *words, int divisor,
                           int cause) {
  struct found f = find(k, ATTN_ROLE_SCALED, numbers);
  assert_non_null(f.relation);
  assert_string_equal(words_of(k, f.relation), words);
  assert_int_equal(f.relation->divisor, divisor);
  assert_string_equal(attn_cause_label(f.relation->cause), attn_cause_label(cause));
}

static void test_divisors(void **state) {
  struct known *k = *state;
  give_scores(k);
  expect_divisor(k, SCALED_3, "divide(scores, 1.414)", ATTN_DIVISOR_ROOT, ATTN_CAUSE_NONE);
  expect_divisor(k, "1.00 1.50 2.50; 0.50 0.50 1.00; 1.50 2.00 3.50", "divide(scores, 2.000)",
                 ATTN_DIVISOR_D_K, ATTN_CAUSE_SCALE_BY_DK);
  expect_divisor(k, SCORES_3, "divide(scores, 1.000)", ATTN_DIVISOR_ONE, ATTN_CAUSE_MISSING_SCALE);
  /* 3 keys */
  expect_divisor(k, "1.155 1.732 2.887; 0.577 0.577 1.155; 1.732 2.309 4.041",
                 "divide(scores, 1.732)", ATTN_DIVISOR_OTHER_SIZE, ATTN_CAUSE_SCALE_WRONG_DIM);
  expect_divisor(k, "1.4286 2.1429 3.5714; 0.7143 0.7143 1.4286; 2.1429 2.8571 5.0000",
                 "divide(scores, 1.400)", ATTN_DIVISOR_ROUNDED_ROOT,
                 ATTN_CAUSE_ROUNDING_TOO_COARSE);
}

/* What the text of the block states is no slip, unless it is d_k itself. */
static void test_stated_divisors(void **state) {
  struct known *k = *state;
  give_scores(k);
  k->hints.text = "S / 1.4";
  expect_divisor(k, "1.4286 2.1429 3.5714; 0.7143 0.7143 1.4286; 2.1429 2.8571 5.0000",
                 "divide(scores, 1.400)", ATTN_DIVISOR_STATED, ATTN_CAUSE_NONE);
}

static void test_a_stated_integer(void **state) {
  struct known *k = *state;
  give_scores(k);
  k->hints.text = "We divide by 4";
  expect_divisor(k, "0.50 0.75 1.25; 0.25 0.25 0.50; 0.75 1.00 1.75", "divide(scores, 4.000)",
                 ATTN_DIVISOR_STATED, ATTN_CAUSE_NONE);
}

static void test_d_k_is_stated(void **state) {
  struct known *k = *state;
  give_scores(k);
  k->hints.text = "We divide by 2";
  expect_divisor(k, "1.00 1.50 2.50; 0.50 0.50 1.00; 1.50 2.00 3.50", "divide(scores, 2.000)",
                 ATTN_DIVISOR_STATED, ATTN_CAUSE_SCALE_BY_DK);
}

/* Scores that are not printed; a width that is not known. */
static void test_scaled_at_once(void **state) {
  struct known *k = *state;
  give_projected(k);
  expect(k, ATTN_ROLE_SCALED, SCALED_3, "divide(product_nt(Q, K), 1.414)", ATTN_CAUSE_NONE);
}

static void test_scores_of_unknown_width(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_SCORES, SCORES_3);
  expect(k, ATTN_ROLE_SCALED, "0.707 1.061 1.768; 0.354 0.354 0.707; 1.061 1.414 2.475",
         "divide(scores, 2.828)", ATTN_CAUSE_NONE);
}

/* ---- masks ---- */

static void test_masks(void **state) {
  static const struct {
    const char *words, *numbers;
    int cause;
  } CASES[] = {
      {"mask(scaled, causal)", "1.414 -∞ -∞; 0.707 0.707 -∞; 2.121 2.828 4.950", 0},
      {"mask(scaled, causal)", "1.414 -1e9 -1e9; 0.707 0.707 -1e9; 2.121 2.828 4.950", 0},
      {"mask(scaled, causal)", "1.414 ? ?; 0.707 0.707 ?; 2.121 2.828 4.950", 0},
      {"mask(scaled, late)", "1.414 2.121 -∞; 0.707 0.707 1.414; 2.121 2.828 4.950",
       ATTN_CAUSE_MASK_OFF_BY_ONE},
      {"mask(scaled, early)", "-∞ -∞ -∞; 0.707 -∞ -∞; 2.121 2.828 -∞", ATTN_CAUSE_MASK_OFF_BY_ONE},
      {"mask(scaled, early but first)", "1.414 -∞ -∞; 0.707 -∞ -∞; 2.121 2.828 -∞",
       ATTN_CAUSE_MASK_OFF_BY_ONE},
      {"mask(scaled, padding)", "1.414 2.121 -∞; 0.707 0.707 -∞; 2.121 2.828 -∞", 0},
      {"mask(scaled, padding)", "1.414 -∞ 3.536; 0.707 -∞ 1.414; 2.121 -∞ 4.950", 0},
      {"mask(scaled, causal and padding)", "1.414 -∞ -∞; 0.707 0.707 -∞; 2.121 2.828 -∞", 0},
      {"mask(scaled, as printed)", "1.414 2.121 3.536; -∞ 0.707 1.414; 2.121 2.828 4.950", 0},
  };
  struct known *k = *state;
  give_scaled(k);
  for (size_t n = 0; n < sizeof CASES / sizeof *CASES; n++)
    expect(k, ATTN_ROLE_MASKED, CASES[n].numbers, CASES[n].words, CASES[n].cause);
}

/* A mask is ignored only where one is mentioned. */
static void test_an_ignored_mask(void **state) {
  struct known *k = *state;
  give_scaled(k);
  expect_none(k, ATTN_ROLE_MASKED, SCALED_3);
  k->hints.causal = 1;
  expect(k, ATTN_ROLE_MASKED, SCALED_3, "divide(scaled, 1.000)", ATTN_CAUSE_MASK_IGNORED);
}

/* Scores are masked as they are, or scaled in the same step. */
static void test_scaled_and_masked_at_once(void **state) {
  struct known *k = *state;
  give_scores(k);
  expect(k, ATTN_ROLE_MASKED, "2.0 -∞ -∞; 1.0 1.0 -∞; 3.0 4.0 7.0", "mask(scores, causal)",
         ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_MASKED, "1.414 -∞ -∞; 0.707 0.707 -∞; 2.121 2.828 4.950",
         "mask(divide(scores, 1.414), causal)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_MASKED, "1.00 -∞ -∞; 0.50 0.50 -∞; 1.50 2.00 3.50",
         "mask(divide(scores, 2.000), causal)", ATTN_CAUSE_SCALE_BY_DK);
}

static double cost_of_masked(struct known *k) {
  return find(k, ATTN_ROLE_MASKED, "1.414 -∞ -∞; 0.707 0.707 -∞; 2.121 2.828 4.950").relation->cost;
}

/* A causal mask that is mentioned costs less; still less if it is mentioned here. */
static void test_a_mentioned_mask_is_likely(void **state) {
  struct known *k = *state;
  give_scaled(k);
  double silent = cost_of_masked(k);
  k->hints.causal = 1;
  double document = cost_of_masked(k);
  k->hints.causal_here = 1;
  assert_true(silent > document && document > cost_of_masked(k));
}

/* The mask of one query is its row of the triangle. */
static void test_the_mask_of_one_query(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_SCALED, "0.7 0.7 1.4");
  k->state.head[0].row = 1;
  expect(k, ATTN_ROLE_MASKED, "0.7 0.7 -∞", "mask(scaled, causal)", ATTN_CAUSE_NONE);
  k->state.head[0].row = 0;
  expect(k, ATTN_ROLE_MASKED, "0.7 -∞ -∞", "mask(scaled, causal)", ATTN_CAUSE_NONE);
}

/* ---- softmax ---- */

static void test_weights(void **state) {
  struct known *k = *state;
  give_scaled(k);
  expect(k, ATTN_ROLE_WEIGHTS, WEIGHTS_3, "softmax(scaled)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_WEIGHTS, "0.284 0.306 0.191; 0.140 0.074 0.023; 0.576 0.620 0.786",
         "column_softmax(scaled)", ATTN_CAUSE_SOFTMAX_OVER_COLUMNS);
  expect(k, ATTN_ROLE_WEIGHTS, "0.200 0.300 0.500; 0.250 0.250 0.500; 0.214 0.286 0.500",
         "quotient(scaled, sum(scaled))", ATTN_CAUSE_SOFTMAX_WITHOUT_EXP);
  expect(k, ATTN_ROLE_WEIGHTS, "0.042 0.114 0.844; 0.212 0.212 0.576; 0.017 0.047 0.936",
         "softmax(scores)", ATTN_CAUSE_MISSING_SCALE);
}

/* What is not printed is passed over. */
static void test_weights_at_once(void **state) {
  struct known *k = *state;
  give_projected(k);
  expect(k, ATTN_ROLE_WEIGHTS, WEIGHTS_3, "softmax(divide(product_nt(Q, K), 1.414))",
         ATTN_CAUSE_NONE);
  take(k, ATTN_ROLE_WEIGHTS);
  give(k, ATTN_ROLE_SCORES, SCORES_3);
  expect(k, ATTN_ROLE_WEIGHTS, WEIGHTS_3, "softmax(divide(scores, 1.414))", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_WEIGHTS, CAUSAL_3, "softmax(mask(divide(scores, 1.414), causal))",
         ATTN_CAUSE_NONE);
}

/* softmax of scores that were never scaled: whether that is a slip, the text decides. */
static void test_weights_of_scores(void **state) {
  struct known *k = *state;
  give_scores(k);
  expect(k, ATTN_ROLE_WEIGHTS, "0.042 0.114 0.844; 0.212 0.212 0.576; 0.017 0.047 0.936",
         "softmax(scores)", ATTN_CAUSE_NONE);
}

static void test_weights_of_masked_scores(void **state) {
  struct known *k = *state;
  give_scaled(k);
  expect(k, ATTN_ROLE_WEIGHTS, CAUSAL_3, "softmax(mask(scaled, causal))", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_MASKED, "1.414 -∞ -∞; 0.707 0.707 -∞; 2.121 2.828 4.950",
         "mask(scaled, causal)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_WEIGHTS, CAUSAL_3, "softmax(masked)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_WEIGHTS, WEIGHTS_3, "softmax(scaled)", ATTN_CAUSE_MASK_IGNORED);
  /* hidden scores count as 0 in a sum without exponentials */
  expect(k, ATTN_ROLE_WEIGHTS, "1.000 0.000 0.000; 0.500 0.500 0.000; 0.214 0.286 0.500",
         "quotient(mask(masked, constant), sum(mask(masked, constant)))",
         ATTN_CAUSE_SOFTMAX_WITHOUT_EXP);
}

/* A query that sees nothing: documents print zeros, equal parts or anything. */
static void test_weights_of_a_query_that_sees_nothing(void **state) {
  struct known *k = *state;
  give_scaled(k);
  give(k, ATTN_ROLE_MASKED, "-∞ -∞ -∞; 0.707 -∞ -∞; 2.121 2.828 -∞");
  expect(k, ATTN_ROLE_WEIGHTS, "0 0 0; 1 0 0; 0.330 0.670 0", "softmax(masked)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_WEIGHTS, "0.333 0.333 0.333; 1 0 0; 0.330 0.670 0", "softmax(masked)",
         ATTN_CAUSE_NONE);
}

#define EXPONENTIALS_3 "4.113 8.342 34.313; 2.028 2.028 4.113; 8.342 16.919 141.139"

static void test_exponentials(void **state) {
  struct known *k = *state;
  give_scores(k);
  expect(k, ATTN_ROLE_EXPONENTIALS, EXPONENTIALS_3, "exp(divide(scores, 1.414))", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_SCALED, SCALED_3, "divide(scores, 1.414)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_EXPONENTIALS, "4.11 8.34 34.31; 2.03 2.03 4.11; 8.34 16.92 141.14",
         "exp(scaled)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_EXPONENTIALS, "0.120 0.243 1.000; 0.493 0.493 1.000; 0.059 0.120 1.000",
         "exp(shift(scaled))", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_EXPONENTIALS, "7.4 20.1 148.4; 2.7 2.7 7.4; 20.1 54.6 1096.6", "exp(scores)",
         ATTN_CAUSE_MISSING_SCALE);
}

/* Sums are printed upright or as a row; the weights follow from either, or from their own sums. */
static void test_sums_and_quotients(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_EXPONENTIALS, EXPONENTIALS_3);
  expect(k, ATTN_ROLE_WEIGHTS, WEIGHTS_3, "quotient(exp, sum(exp))", ATTN_CAUSE_NONE);
  take(k, ATTN_ROLE_WEIGHTS);
  expect(k, ATTN_ROLE_ROW_SUM, "46.77; 8.17; 166.40", "sum(exp)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_WEIGHTS, WEIGHTS_3, "quotient(exp, sum)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_ROW_SUM, "46.77 8.17 166.40", "transpose(sum(exp))", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_WEIGHTS, WEIGHTS_3, "quotient(exp, transpose(sum))", ATTN_CAUSE_NONE);
}

static void test_sums_of_weights(void **state) {
  struct known *k = *state;
  give_weights(k);
  expect(k, ATTN_ROLE_ROW_SUM, "1.000; 1.000; 1.000", "sum(weights)", ATTN_CAUSE_NONE);
}

/* ---- output ---- */

static void test_outputs(void **state) {
  struct known *k = *state;
  give_weights(k);
  expect(k, ATTN_ROLE_OUTPUT, "2.56 0.91; 2.26 0.75; 2.75 0.95", "product(weights, V)",
         ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_OUTPUT, "0.91 1.73; 0.75 1.50; 0.95 1.85", "product(weights, K)",
         ATTN_CAUSE_K_INSTEAD_OF_V);
  expect(k, ATTN_ROLE_OUTPUT, "0.82 2.56; 0.75 2.26; 0.90 2.75", "product(weights, Q)",
         ATTN_CAUSE_UNKNOWN);
  expect(k, ATTN_ROLE_OUTPUT, "0.57 0.30; 0.91 0.35; 4.52 1.35", "product_tn(weights, V)",
         ATTN_CAUSE_SWAPPED_QK);
}

/* Keys or inputs serve as values where there are none. */
static void test_outputs_without_values(void **state) {
  struct known *k = *state;
  give_weights(k);
  take(k, ATTN_ROLE_V);
  expect(k, ATTN_ROLE_OUTPUT, "0.91 1.73; 0.75 1.50; 0.95 1.85", "product(weights, K)",
         ATTN_CAUSE_NONE);
  take(k, ATTN_ROLE_K);
  expect(k, ATTN_ROLE_OUTPUT, "0.82 0.91; 0.75 0.75; 0.90 0.95", "product(weights, X)",
         ATTN_CAUSE_NONE);
}

/* Three decimals computed from weights of one. */
static void test_coarse_operands(void **state) {
  struct known *k = *state;
  give_weights(k);
  struct found f = find(k, ATTN_ROLE_OUTPUT, "2.500 0.900; 2.100 0.700; 2.700 0.900");
  assert_string_equal(words_of(k, f.relation), "product(constant, V)");
  assert_int_equal(f.relation->cause, ATTN_CAUSE_ROUNDING_TOO_COARSE);
  assert_int_equal(f.relation->coarse, 1);
  assert_int_equal(
      find(k, ATTN_ROLE_OUTPUT, "2.550 0.910; 2.250 0.750; 2.750 0.950").relation->coarse, 2);
}

static void give_two_heads(struct known *k) {
  k->state.heads = 2;
  give_to(k, 0, ATTN_ROLE_OUTPUT, "1 2; 3 4");
  give_to(k, 1, ATTN_ROLE_OUTPUT, "5; 6");
}

static void test_heads_side_by_side(void **state) {
  struct known *k = *state;
  give_two_heads(k);
  give(k, ATTN_ROLE_W_O, "1 0 0; 0 1 2; 1 1 0");
  expect(k, ATTN_ROLE_PROJECTED, "6.0 7.0 4.0; 9.0 10.0 8.0",
         "product(append(output, output/1), W_O)", ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_CONCAT, "1.0 2.0 5.0; 3.0 4.0 6.0", "append(output, output/1)",
         ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_PROJECTED, "6.0 7.0 4.0; 9.0 10.0 8.0", "product(concat, W_O)",
         ATTN_CAUSE_NONE);
  expect(k, ATTN_ROLE_PROJECTED, "1.0 12.0 3.0; 3.0 16.0 7.0", "product_nt(concat, W_O)",
         ATTN_CAUSE_TRANSPOSED_WEIGHTS);
}

static void test_one_head_is_not_joined(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_OUTPUT, "1 2; 3 4");
  expect_none(k, ATTN_ROLE_CONCAT, "1.0 2.0; 3.0 4.0");
}

#define law(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      law(test_queries_keys_and_values_are_products),
      law(test_slips_of_projections),
      law(test_sources_of_cross_attention),
      law(test_a_row_alone),
      law(test_scores_of_one_query),
      law(test_positions_are_added),
      law(test_products_of_positioned_inputs),
      law(test_scores_are_products),
      law(test_scores_without_the_transpose),
      law(test_inputs_serve_as_keys),
      law(test_general_scores),
      law(test_additive_scores),
      law(test_additive_scores_in_steps),
      law(test_divisors),
      law(test_stated_divisors),
      law(test_a_stated_integer),
      law(test_d_k_is_stated),
      law(test_scaled_at_once),
      law(test_scores_of_unknown_width),
      law(test_masks),
      law(test_an_ignored_mask),
      law(test_scaled_and_masked_at_once),
      law(test_a_mentioned_mask_is_likely),
      law(test_the_mask_of_one_query),
      law(test_weights),
      law(test_weights_at_once),
      law(test_weights_of_scores),
      law(test_weights_of_masked_scores),
      law(test_weights_of_a_query_that_sees_nothing),
      law(test_exponentials),
      law(test_sums_and_quotients),
      law(test_sums_of_weights),
      law(test_outputs),
      law(test_outputs_without_values),
      law(test_coarse_operands),
      law(test_heads_side_by_side),
      law(test_one_head_is_not_joined),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
