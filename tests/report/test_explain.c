/* test_explain.c -- the explanation of every family of steps; any cell from the givens. */
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
#include <stdlib.h>
#include <string.h>

#include "operation_text.h"
#include "fixture.h"
#include "step_labels.h"
#include "text_writer.h"
#include "text_layout.h"
#include "working.h"

static struct fixture f;
static struct kept kept;

static attn_style style_of(int language, int width) {
  return (attn_style){sizeof(attn_style), language, 0, width, 0};
}

static const char *explain(int language, int width) {
  const attn_style style = style_of(language, width);
  const attn_sink sink = kept_sink(&kept);
  attn_error err;
  assert_int_equal(attn_lesson_explain(&f.lesson, &style, &sink, &err), ATTN_OK);
  return kept.text;
}

static void has(const char *piece) {
  if (!strstr(kept.text, piece)) fail_msg("no \"%s\" in:\n%s", piece, kept.text);
}

static void has_not(const char *piece) {
  if (strstr(kept.text, piece)) fail_msg("\"%s\" in:\n%s", piece, kept.text);
}

static const char *cell(const char *name) {
  const attn_style style = style_of(0, 200);
  const attn_sink sink = kept_sink(&kept);
  attn_error err;
  if (attn_lesson_explain_cell(&f.lesson, name, &style, &sink, &err)) fail_msg("%s", err.message);
  return kept.text;
}

static const char *cell_problem(const char *name) {
  static attn_error err;
  const attn_style style = style_of(0, 200);
  const attn_sink sink = kept_sink(&kept);
  assert_int_equal(attn_lesson_explain_cell(&f.lesson, name, &style, &sink, &err),
                   ATTN_ERR_ARGUMENT);
  assert_string_equal(kept.text, "");
  assert_string_equal(err.argument, "cell");
  return err.message;
}

/* ---- Self-attention ---- */

static void test_every_operation_has_a_row(void **state) {
  (void)state;
  for (int op = 0; op < ATTN_OP_COUNT; op++) {
    const struct attn_operation_text *row = attn_operation_text(op);
    assert_non_null(row->json);
    assert_non_null(row->formula);
    assert_int_equal(row->explain != NULL, op != ATTN_OP_GIVEN);
    assert_int_equal(row->working != NULL, op != ATTN_OP_GIVEN);
    assert_int_equal(row->visit != NULL, op != ATTN_OP_GIVEN && op != ATTN_OP_POSITIONS);
  }
}

static void test_plain(void **state) {
  (void)state;
  char tokens[] = "私 は";
  fixture_attention(&f, 0);
  fixture_tokens(&f, tokens);
  explain(0, 120);
  has("Example 1: Two tokens\n2 tokens: 私 は\n");
  has("Queries run along the rows");
  has("1. Inputs: X (2×2)\n   私 1  0\n   は 0  1\n");
  has("5. Queries: Q = X W^Q (2×2)\n");
  has("One value worked out: Q[私,0] = X[私,:]·W_Q[:,0] = 1×1 + 0×0 = 1\n");
  has("8. Scores: E = Q K^T (2×2; one row per query, one column per key)\n");
  has("The row of 私 in full:\n     scores[私,私] = Q[私,:]·K[私,:] = 1×1 + 0×0 = 1\n"
      "     scores[私,は] = Q[私,:]·K[は,:] = 1×0 + 0×1 = 0\n");
  has("Why: a dot product sums d_k = 2 products");
  has("scaled[私,私] = scores[私,私] / √2 = 1 / 1.4142 = 0.7071\n");
  has("exponentials: e^0.7071 = 2.0281, e^0 = 1\n     their sum: 2.0281 + 1 = 3.0281\n"
      "     quotients: 2.0281 / 3.0281 = 0.6698, 1 / 3.0281 = 0.3302\n");
  has("   私 attends mostly to 私 (0.6698), then to は (0.3302).\n");
  has("output[私,:] = 0.6698×[2, 0] + 0.3302×[0, 4] = [1.3395, 1.3210]\n");
  has_not("\x1B");
  has_not("document prints");
}

static void test_japanese(void **state) {
  (void)state;
  char tokens[] = "私 は";
  fixture_attention(&f, 0);
  fixture_tokens(&f, tokens);
  explain(1, 120);
  has("トークン 2 個：私 は\n");
  has("クエリは行に並びます。");
  has("「私」が最も強く見ているのは「私」（0.6698）で、続いて「は」（0.3302）の順です。\n");
  has("理由：内積は");
  has_not("the ");
}

static void test_causal(void **state) {
  (void)state;
  fixture_attention(&f, 1);
  explain(0, 120);
  has("Masked scores: masked = mask(Scaled E, M)");
  has("    0.7071      -∞\n         0  0.7071\n"); /* no tokens: no names */
  has("#1 cannot attend to #2.\n   #2 can attend to every key.\n");
  has("The row of #2 in full:\n"); /* the first shows nothing */
  has("#1 attends only to #1.\n");
}

static void test_columns(void **state) {
  (void)state;
  static const double e[] = {1, 2, 0, 0, 0, 2}, a[] = {0.5, 0.25, 0.25, 0.25, 0.25, 0.5};
  static const double x[] = {1, 2, 3};
  fixture_begin(&f, "");
  f.example.orientation = ATTN_QUERIES_IN_COLUMNS;
  int in = fixture_given(&f, ATTN_STEP_X, "x", 3, 1, x);
  int s = fixture_given(&f, ATTN_STEP_SCORES, "e", 3, 2, e);
  int w = fixture_step(&f, ATTN_STEP_WEIGHTS, "a", ATTN_OP_SOFTMAX, 1, &s, 3, 2, a);
  f.step[w].axis = 0;
  fixture_step(&f, ATTN_STEP_OUTPUT, "y", ATTN_OP_MATMUL_TN, 2, (int[]){w, in}, 2, 1,
               (double[]){1.75, 2.25});
  explain(0, 120);
  has("Example 1\n");
  has("Queries run along the columns");
  has("softmax(e) (3×2; one row per key, one column per query)");
  has("The column of #1 in full:\n     exponentials: e^1 = 2.7183, e^0 = 1, e^0 = 1\n");
  has("#1 attends most to #1 (0.5), then equally to #2 and #3 (0.25 each).\n");
  has("#2 attends most to #3 (0.5), then equally to #1 and #2 (0.25 each).\n");
  has("output[0,:] = 0.5×[1] + 0.25×[2] + 0.25×[3] = [1.75]\n");
  has_not("error");
}

/* ---- What a reader could take for something else ---- */

static void test_what_the_mask_hides_is_not_an_ordinary_zero(void **state) {
  (void)state;
  static const double ninf = -(double)INFINITY;
  fixture_attention(&f, 1);
  int w = f.example.steps - 2;
  explain(0, 120);
  has("masked) (2×2; one row per query, one column per key)\n"
      "         1       –\n    0.3302  0.6698\n   –: hidden by the mask, exactly 0.\n");
  f.step[w - 1].scalar = f.step[w - 1].exact.at[1] = -1e9; /* finite: from the mask itself */
  explain(1, 120);
  has("         1       –\n");
  has("   –：マスクで隠れているため 0 です。\n");
  fixture_attention(&f, 0);
  f.step[w - 1].exact.at[1] = 0; /* no mask: a 0 that is only small */
  explain(0, 120);
  has_not("–");
  fixture_begin(&f, ""); /* given scores that are masked, exponentials, their quotient */
  int e = fixture_given(&f, ATTN_STEP_MASKED, "m", 1, 2, (double[]){0, ninf});
  int x = fixture_step(&f, ATTN_STEP_EXPONENTIALS, "x", ATTN_OP_EXP, 1, &e, 1, 2, (double[]){1, 0});
  int s = fixture_step(&f, ATTN_STEP_ROW_SUM, "s", ATTN_OP_SUM, 1, &x, 1, 1, (double[]){1});
  fixture_step(&f, ATTN_STEP_WEIGHTS, "a", ATTN_OP_QUOTIENT, 2, (int[]){x, s}, 1, 2,
               (double[]){1, 0});
  explain(0, 120);
  has("x = exp(m) (1×2; one row per query, one column per key)\n    1  –\n");
  has("a = x / s (1×2; one row per query, one column per key)\n    1  –\n");
}

static void test_many_equal_values_are_one_line(void **state) {
  (void)state;
  double ones[512];
  for (int n = 0; n < 512; n++) ones[n] = 1;
  fixture_begin(&f, "");
  fixture_given(&f, ATTN_STEP_OTHER, "q_large", 1, 512, ones);
  fixture_given(&f, ATTN_STEP_OTHER, "few", 8, 8, ones);
  explain(0, 120);
  has("1. Matrix: q_large (1×512)\n   every value is 1\n\n2. Matrix: few (8×8)\n    1  1  1");
  f.step[0].exact.at[511] = 2;
  explain(0, 120);
  has_not("every value");
  f.step[0].exact.at[511] = 1;
  f.step[0].name = ATTN_STEP_SCORES; /* a query's scores: their places are keys */
  explain(0, 120);
  has_not("every value");
}

static void test_titles_are_not_doubled(void **state) {
  (void)state;
  static const char *const titles[][2] = {{"Example 1: Cats", "Example 1: Cats\n"},
                                          {"Example 1 - Cats", "Example 1: Cats\n"},
                                          {"Example 1. Cats", "Example 1: Cats\n"},
                                          {"Worked example 1", "Example 1\n"},
                                          {"例1「猫」", "Example 1: 「猫」\n"},
                                          {"具体例1: 短い文", "Example 1: 短い文\n"},
                                          {"例 1　： 猫", "Example 1: 猫\n"},
                                          {"Example 1.2 Cats", "Example 1: Example 1.2 Cats\n"},
                                          {"Example 12", "Example 1: Example 12\n"},
                                          {"Example 2: Cats", "Example 1: Example 2: Cats\n"},
                                          {"Example 1 of two", "Example 1: Example 1 of two\n"}};
  for (size_t n = 0; n < sizeof titles / sizeof *titles; n++) {
    fixture_begin(&f, titles[n][0]);
    fixture_given(&f, ATTN_STEP_X, "X", 1, 1, (double[]){1});
    explain(0, 120);
    if (strncmp(kept.text, titles[n][1], strlen(titles[n][1])))
      fail_msg("%s: %s", titles[n][0], kept.text);
  }
}

static void test_formulas_have_no_echo_of_the_prose(void **state) {
  (void)state;
  fixture_attention(&f, 0);
  f.step[4].symbol = (char *)(uintptr_t) "Let Q";
  f.step[9].symbol = (char *)(uintptr_t) "After softmax";
  explain(0, 120);
  has("Queries: Q = X W^Q (");
  has("Scores: E = Q K^T (");
  has("Output: O = softmax V (");
  fixture_begin(&f, "");
  int x = fixture_given(&f, ATTN_STEP_X, "X", 1, 1, (double[]){1});
  int p = fixture_given(&f, ATTN_STEP_POSITIONS, "PE", 1, 1, (double[]){2});
  fixture_step(&f, ATTN_STEP_POSITIONS, "X + PE", ATTN_OP_ADD, 2, (int[]){x, p}, 1, 1,
               (double[]){3});
  explain(0, 120);
  has("Positions: X + PE (1×1)\n");
}

static void test_heads_are_numbered_once(void **state) {
  (void)state;
  static const double a[] = {1, 2};
  fixture_begin(&f, "");
  int h1 = fixture_given(&f, ATTN_STEP_OUTPUT, "output_1", 2, 1, a);
  int h2 = fixture_given(&f, ATTN_STEP_OUTPUT, "output_2", 2, 1, a);
  f.step[h1].head = 0, f.step[h2].head = 1;
  fixture_step(&f, ATTN_STEP_CONCAT, "concat", ATTN_OP_APPEND, 2, (int[]){h1, h2}, 2, 2,
               (double[]){1, 1, 2, 2});
  explain(0, 120);
  has("concat = [output_1 | output_2] (2×2)\n");
}

static void test_why_scores_are_scaled(void **state) {
  (void)state;
  fixture_attention(&f, 0);
  explain(0, 1000);
  has("If the components are independent with mean 0 and variance 1, its variance is d_k and its "
      "standard deviation √d_k. Divided by √2 = 1.4142,");
  explain(1, 1000);
  has("各成分が独立で平均 0、分散 1 なら、内積の分散は d_k に、標準偏差は √d_k に");
}

/* ---- Which tokens a query attends to ---- */

static void test_attention(void **state) {
  (void)state;
  static const double s[12] = {0}, w[] = {0.25, 0.25, 0.25, 0.25, 0, 0, 0, 0, 0.3, 0.1, 0.3, 0.3};
  char tokens[] = "a b c d";
  fixture_begin(&f, "");
  fixture_tokens(&f, tokens);
  f.example.query_tokens = 3;
  int e = fixture_given(&f, ATTN_STEP_SCORES, "e", 3, 4, s);
  fixture_step(&f, ATTN_STEP_WEIGHTS, "w", ATTN_OP_SOFTMAX, 1, &e, 3, 4, w);
  explain(0, 120);
  has("a attends equally to all 4 keys (0.25 each).\n");
  has("b cannot attend to any key: its weights are 0.\n");
  has("c attends equally to a, c and d (0.3 each), then to b (0.1).\n");
  explain(1, 120);
  has("「c」が最も強く見ているのは「a」、「c」、「d」（各 0.3）で、続いて「b」（0.1）の順です。\n");
  f.step[1].exact.at[8] = 0.9, f.step[1].exact.at[10] = f.step[1].exact.at[11] = 0;
  f.step[1].exact.at[9] = 1.5e-10; /* nearly nothing is not nothing */
  explain(0, 120);
  has("c attends mostly to a (0.9), then to b (1.5e-10).\n");
}

static void test_long_sentences_stay_short(void **state) {
  (void)state;
  double s[400] = {0}, w[400];
  for (int n = 0; n < 400; n++) w[n] = 0.05;
  w[0] = 0.04;
  fixture_begin(&f, "");
  int e = fixture_given(&f, ATTN_STEP_SCORES, "e", 20, 20, s);
  fixture_step(&f, ATTN_STEP_WEIGHTS, "w", ATTN_OP_SOFTMAX, 1, &e, 20, 20, w);
  explain(0, 100);
  has("#1 attends equally to #2, #3, #4, #5 and 15 others (0.05 each), then to #1 (0.04).\n");
  has("… and 4 more queries\n");
}

/* ---- Other alignments, heads, positions ---- */

static void test_general_and_additive(void **state) {
  (void)state;
  static const double q[] = {1, 2}, k[] = {1, 0, 0, 1}, w[] = {1, 2, 3, 4}, g[] = {7, 10};
  static const double u[] = {0, 0, 0, 0}, v[] = {2, -1};
  double a[] = {2 * tanh(5) - tanh(11), 2 * tanh(5) - tanh(11)};
  fixture_begin(&f, "");
  int y = fixture_given(&f, ATTN_STEP_Y, "q", 1, 2, q),
      x = fixture_given(&f, ATTN_STEP_X, "k", 2, 2, k);
  int m = fixture_given(&f, ATTN_STEP_W_A, "W", 2, 2, w);
  fixture_step(&f, ATTN_STEP_SCORES, "e", ATTN_OP_GENERAL, 3, (int[]){y, x, m}, 1, 2, g);
  explain(0, 120);
  has("Cross-attention: one query attends to 2 inputs.\n");
  has("4. Scores: e = q W k^T (1×2");
  has("with a matrix between them: q W k.\n");
  has("scores[0,0] = Y[0,:]·W_A·X[0,:] = 7×1 + 10×0 = 7\n");
  f.example.steps--;
  int uu = fixture_given(&f, ATTN_STEP_U_A, "U", 2, 2, u),
      vv = fixture_given(&f, ATTN_STEP_V_A, "v", 1, 2, v);
  fixture_step(&f, ATTN_STEP_SCORES, "e", ATTN_OP_ADDITIVE, 5, (int[]){y, x, m, uu, vv}, 1, 2, a);
  explain(0, 120);
  has("e = v · tanh(W q + U k) (1×2");
  has("scores[0,0] = 2×tanh(5 + 0) + (-1)×tanh(11 + 0) = 0.9998\n");
  cell("scores[0,1]");
  has("Given: q, k, W, U, v\n");
}

static void test_heads(void **state) {
  (void)state;
  static const double a[] = {1, 2, 3, 4}, b[] = {5, 6}, c[] = {1, 2, 5, 3, 4, 6};
  static const double w[] = {1, 0, 1}, p[] = {6, 9};
  fixture_begin(&f, "");
  f.example.heads = 2;
  int h1 = fixture_given(&f, ATTN_STEP_OUTPUT, "head", 2, 2, a);
  int h2 = fixture_given(&f, ATTN_STEP_OUTPUT, "head", 2, 1, b);
  f.step[h1].head = 0, f.step[h2].head = 1;
  int wo = fixture_given(&f, ATTN_STEP_W_O, "W^O", 3, 1, w);
  int all = fixture_step(&f, ATTN_STEP_CONCAT, "H", ATTN_OP_APPEND, 2, (int[]){h1, h2}, 2, 3, c);
  fixture_step(&f, ATTN_STEP_PROJECTED, "P", ATTN_OP_MATMUL, 2, (int[]){all, wo}, 2, 1, p);
  explain(0, 120);
  has("2 heads: each has its own Q, K, V and weights.\n");
  has("1. Output, head 1: head (2×2)");
  has("Concatenated heads: H = [head 1 | head 2] (2×3)\n");
  has("Projected output: P = H W^O (2×1)\n");
  has("The output projection mixes");
  cell("concat[1,2]");
  has("concat[1,2] = head 2: output[1,0] = 6\n");
  assert_string_equal(cell("head 2: output[1,0]"),
                      "Output (head 2): head\n  output[1,0] = 6\nGiven: head\n");
}

static void test_positions(void **state) {
  (void)state;
  double p[4 * 4], x[16] = {0}, added[16];
  for (int t = 0; t < 4; t++)
    for (int c = 0; c < 4; c++) {
      double angle = t * pow(10000, -2 * (1 + c / 2) / 4.0);
      p[t * 4 + c] = added[t * 4 + c] = c % 2 ? cos(angle) : sin(angle);
    }
  fixture_begin(&f, "");
  int in = fixture_given(&f, ATTN_STEP_X, "X", 4, 4, x);
  int at = fixture_step(&f, ATTN_STEP_POSITIONS, "P", ATTN_OP_POSITIONS, 0, NULL, 4, 4, p);
  f.step[at].scalar = 1;
  fixture_step(&f, ATTN_STEP_OTHER, "Z", ATTN_OP_ADD, 2, (int[]){in, at}, 4, 4, added);
  explain(0, 120);
  has("w_k = 1 / 10000^(2k/4), k counted from 1.\n");
  has("w_1 = 0.01: repeats every 628.32 positions\n   w_2 = 0.0001: repeats every 62831.85 "
      "positions\n");
  has("   0  00      0       1       0       1\n   1  10 0.0100  1.0000  0.0001  1.0000\n"
      "   2  01 0.0200  0.9998  0.0002  1.0000\n   3  11 ");
  has("lowest digit first");
  has("positions[1,0] = sin(0.01×1) = 0.0100\n");
  has("Matrix: Z = X + P (4×4)\n");
  has("Added element by element.\n");
  f.step[1].base = 100;
  explain(0, 120);
  has("w_k = 1 / 100^(2k/4), k counted from 1.\n");
  has("w_1 = 0.1: repeats every");
  f.step[1].base = 0;
  f.step[2].op = ATTN_OP_APPEND;
  explain(1, 120);
  has("各行を横に連結");
}

static void test_exponentials_apart(void **state) {
  (void)state;
  static const double s[] = {0, 1};
  const double x[] = {1, exp(1)}, sum[] = {1 + exp(1)}, w[] = {1 / sum[0], exp(1) / sum[0]};
  fixture_begin(&f, "");
  int a = fixture_given(&f, ATTN_STEP_SCORES, "e", 1, 2, s);
  int b = fixture_step(&f, ATTN_STEP_EXPONENTIALS, "exp", ATTN_OP_EXP, 1, &a, 1, 2, x);
  int c = fixture_step(&f, ATTN_STEP_ROW_SUM, "sum", ATTN_OP_SUM, 1, &b, 1, 1, sum);
  fixture_step(&f, ATTN_STEP_WEIGHTS, "w", ATTN_OP_QUOTIENT, 2, (int[]){b, c}, 1, 2, w);
  explain(0, 120);
  has("exponentials[0,1] = e^1 = 2.7183\n");
  has("row_sum[0,0] = 1 + 2.7183 = 3.7183\n");
  has("weights[0,1] = exponentials[0,1] / row_sum[0,0] = 2.7183 / 3.7183 = 0.7311\n");
  has("#1 attends mostly to #2 (0.7311)");
}

static void test_exponentials_less_the_largest(void **state) {
  (void)state;
  static const double s[] = {0, 3}, less[] = {-3, 0};
  const double x[] = {exp(-3), 1};
  fixture_begin(&f, "");
  int a = fixture_given(&f, ATTN_STEP_SCORES, "e", 1, 2, s);
  int b = fixture_step(&f, ATTN_STEP_OTHER, "z", ATTN_OP_SHIFT, 1, &a, 1, 2, less);
  fixture_step(&f, ATTN_STEP_EXPONENTIALS, "exp", ATTN_OP_EXP, 1, &b, 1, 2, x);
  explain(0, 120);
  has("z = e - max(e) (1×2");
  has("0 - 3 = -3\n");
}

static void test_tanh(void **state) {
  (void)state;
  static const double s[] = {0, 3};
  const double t[] = {0, tanh(3)};
  fixture_begin(&f, "");
  int a = fixture_given(&f, ATTN_STEP_OTHER, "s", 1, 2, s);
  fixture_step(&f, ATTN_STEP_OTHER, "t", ATTN_OP_TANH, 1, &a, 1, 2, t);
  explain(0, 120);
  has("t = tanh(s) (1×2");
  has("tanh(0) = 0\n");
}

static void test_large_exponents_are_shifted(void **state) {
  (void)state;
  static const double s[] = {512, 0}, w[] = {1, 0};
  fixture_begin(&f, "");
  int a = fixture_given(&f, ATTN_STEP_SCORES, "e", 1, 2, s);
  fixture_step(&f, ATTN_STEP_WEIGHTS, "w", ATTN_OP_SOFTMAX, 1, &a, 1, 2, w);
  explain(0, 120);
  has("(the maximum, 512, is subtracted first");
  has("exponentials: e^0 = 1, e^(-512) = 4.4e-223\n");
}

static void test_fill_of_a_mask(void **state) {
  (void)state;
  fixture_attention(&f, 1);
  for (int n = 0; n < f.example.steps; n++)
    if (f.step[n].op == ATTN_OP_MASK) f.step[n].scalar = f.step[n].exact.at[1] = -1e9;
  explain(0, 120);
  has("the score becomes -1000000000, so low");
  has_not("-∞");
}

/* ---- The document's own numbers ---- */

static void test_differences_are_marked(void **state) {
  (void)state;
  attn_cell cells[4];
  fixture_attention(&f, 0);
  for (int n = 0; n < 4; n++) {
    double value = n % 3 ? 0 : 1;
    cells[n] = (attn_cell){ATTN_CELL_NUMBER, 0, value, value - 0.5, value + 0.5, 7, n + 1};
  }
  attn_printing printing = {2, 2, 0, 0, 7, 1, cells};
  f.step[4].printings = 1, f.step[4].printing = &printing; /* Q, as it is right */
  explain(0, 120);
  has_not("*");
  cells[1].value = 5, cells[1].lo = 4.5, cells[1].hi = 5.5;
  explain(0, 120);
  has("    1  0*\n    0  1\n");
  has("* The document prints another value here:\n     Q[0,1]: the document prints 5, correct is "
      "0\n");
  has("Q[0,0] = X[0,:]·W_Q[:,0] = 1×1 + 0×0 = 1\n"); /* what is explained is always right */
}

/* ---- Cells ---- */

static void test_cell_back_to_the_givens(void **state) {
  (void)state;
  char tokens[] = "私 は";
  fixture_attention(&f, 0);
  fixture_tokens(&f, tokens);
  assert_string_equal(cell("scaled[は,0]"),
                      "Scaled scores: Scaled E = E / √2\n"
                      "  scaled[は,私] = scores[は,私] / √2 = 0 / 1.4142 = 0\n"
                      "Scores: E = Q K^T\n"
                      "  scores[は,私] = Q[は,:]·K[私,:] = 0×1 + 1×0 = 0\n"
                      "Keys: K = X W^K\n"
                      "  K[私,0] = X[私,:]·W_K[:,0] = 1×1 + 0×0 = 1\n"
                      "  K[私,1] = X[私,:]·W_K[:,1] = 1×0 + 0×1 = 0\n"
                      "Queries: Q = X W^Q\n"
                      "  Q[は,0] = X[は,:]·W_Q[:,0] = 0×1 + 1×0 = 0\n"
                      "  Q[は,1] = X[は,:]·W_Q[:,1] = 0×0 + 1×1 = 1\n"
                      "Given: X, W^Q, W^K\n");
  cell("output[1,1]"); /* needs the whole row of weights, so all of the scores' row */
  has("output[は,1] = weights[は,:]·V[:,1] = 0.3302×0 + 0.6698×4 = 2.6790\n");
  has("weights[は,私] = e^0 / (e^0 + e^0.7071) = 1 / 3.0281 = 0.3302\n");
  has("Given: X, W^Q, W^K, W^V\n");
  has_not("Q[私"); /* nothing that it does not need */
}

static void test_ways_to_name_a_cell(void **state) {
  (void)state;
  char tokens[] = "私 は", expected[8192];
  fixture_attention(&f, 0);
  fixture_tokens(&f, tokens);
  snprintf(expected, sizeof expected, "%s", cell("scaled[1,0]"));
  static const char *const same[] = {"Scaled E[1,0]", " scaled[ は , 私 ] ",
                                     "example 1: scaled[1,0]", "例 1：Scaled E[は,0]",
                                     "scaled [1,0]"};
  for (size_t n = 0; n < sizeof same / sizeof *same; n++)
    assert_string_equal(cell(same[n]), expected);
}

/* Bare digits are indices, anything in quotes is a name, the document's quotes are not part of a
 * name; printed addresses are valid input. */
static void test_digits_are_numbers_and_quotes_make_names(void **state) {
  (void)state;
  char digits[] = "7 0", quoted[] = "\"1\" \"x\"", odd[] = "a,b [c]";
  fixture_attention(&f, 0);
  fixture_tokens(&f, digits);
  assert_non_null(strstr(cell("Q[0,1]"), "Q[\"7\",1] = "));
  assert_non_null(strstr(cell("Q[\"7\",1]"), "Q[\"7\",1] = "));
  assert_non_null(strstr(cell("scores[1,\"7\"]"), "scores[\"0\",\"7\"] = "));
  assert_string_equal(cell_problem("Q[7,0]"),
                      "Q has no row 7; expected 0 to 1, or a token's "
                      "name, in quotes where it is digits: \"2\"");
  fixture_tokens(&f, quoted);
  assert_non_null(strstr(cell("Q[x,1]"), "Q[\"x\",1] = "));
  assert_non_null(strstr(cell("Q[\"x\",1]"), "Q[\"x\",1] = "));
  assert_non_null(strstr(cell("Q[\"1\",1]"), "Q[\"1\",1] = "));
  assert_non_null(strstr(cell("Q[1,1]"), "Q[\"x\",1] = "));
  fixture_tokens(&f, odd);
  assert_non_null(strstr(cell("scores[\"a,b\",\"[c]\"]"), "scores[0,1] = "));
}

/* Names that documents use, in either language; otherwise a suggestion. */
static void test_steps_go_by_what_documents_call_them(void **state) {
  (void)state;
  char tokens[] = "a b";
  fixture_attention(&f, 0);
  fixture_tokens(&f, tokens);
  for (const char *const *name = (const char *const[]){"softmax[0,1]", "重み[0,1]", "A[0,1]", NULL};
       *name; name++)
    assert_non_null(strstr(cell(*name), "weights[a,b] = "));
  assert_non_null(strstr(cell("x[0,1]"), "X[a,1] = "));
  assert_non_null(strstr(cell_problem("ouptut[0,0]"), "did you mean output?"));
  assert_non_null(strstr(cell_problem("softmx[0,0]"), "did you mean softmax?"));
  assert_non_null(strstr(cell_problem("quries[0,0]"), "did you mean queries?"));
  assert_null(strstr(cell_problem("zebra[0,0]"), "did you mean"));
  assert_null(strstr(cell_problem("maks[0,0]"), "did you mean")); /* there is no mask */
}

static void test_problems_with_cells(void **state) {
  (void)state;
  char tokens[] = "は は";
  fixture_attention(&f, 0);
  fixture_tokens(&f, tokens);
  assert_string_equal(
      cell_problem("wieghts[0,0]"),
      "no step is called wieghts; did you mean weights? The steps are: X 2x2, W_Q 2x2, "
      "W_K 2x2, W_V 2x2, Q 2x2, K 2x2, "
      "V 2x2, scores 2x2, scaled 2x2, weights 2x2, output 2x2");
  assert_string_equal(
      cell_problem("Q[2,0]"),
      "Q has no row 2; expected 0 to 1, or a token's name, in quotes where it is digits: "
      "\"2\"");
  assert_string_equal(cell_problem("Q[0,-1]"), "Q has no column -1; expected 0 to 1");
  assert_string_equal(cell_problem("Q[は,0]"),
                      "は names 2 rows of Q: give the number, counted from 0");
  assert_string_equal(cell_problem("example 2: Q[0,0]"), "the example must be between 1 and 1");
  assert_string_equal(cell_problem("example 0: Q[0,0]"), "the example must be between 1 and 1");
  static const char *const no_cells[] = {
      "", "Q", "Q[", "Q[0]", "Q[0,", "Q[0,0", "[0,0]", "Q[,]", "Q[0,0]x", "head : Q[0,0", "Q]0,0["};
  for (size_t n = 0; n < sizeof no_cells / sizeof *no_cells; n++)
    assert_non_null(strstr(cell_problem(no_cells[n]), "write NAME[ROW,COLUMN]"));
  assert_non_null(strstr(cell_problem("head 7: Q[0,0]"), "no step is called Q"));
  f.lesson.examples = 0;
  assert_string_equal(cell_problem("Q[0,0]"), "the document has no worked example with numbers");
}

/* ---- Width, colour, the sink, memory ---- */

static int widest_line(void) {
  char line[4096];
  int widest = 0;
  for (const char *at = kept.text; *at;) {
    size_t n = strcspn(at, "\n");
    assert_true(n < sizeof line);
    memcpy(line, at, n);
    line[n] = 0;
    assert_true(n == 0 || line[n - 1] != ' ');
    if (attn_text_width(line) > widest) widest = attn_text_width(line);
    at += n + (at[n] == '\n');
  }
  return widest;
}

static void test_lines_fit(void **state) {
  (void)state;
  char tokens[] = "私は 友達と";
  fixture_attention(&f, 1);
  fixture_tokens(&f, tokens);
  for (int language = 0; language < 2; language++)
    for (int width = 40; width <= 120; width += 9) {
      explain(language, width);
      assert_true(widest_line() <= width);
    }
}

static void test_wide_matrices_wrap(void **state) {
  (void)state;
  double x[2 * 30];
  for (int n = 0; n < 60; n++) x[n] = n + 0.5;
  fixture_begin(&f, "");
  fixture_given(&f, ATTN_STEP_X, "X", 2, 30, x);
  explain(0, 40);
  assert_true(widest_line() <= 40);
  has("      0     1     2 ");
  has("   29\n");
  has("59.5");
}

static void test_colour_is_never_alone(void **state) {
  (void)state;
  static char plain[20000];
  fixture_attention(&f, 0);
  snprintf(plain, sizeof plain, "%s", explain(0, 100));
  const attn_style style = {sizeof style, 0, 1, 100, 0};
  const attn_sink sink = kept_sink(&kept);
  assert_int_equal(attn_lesson_explain(&f.lesson, &style, &sink, NULL), ATTN_OK);
  has("\x1B[48;5;");
  char *to = kept.text;
  for (const char *at = kept.text; *at;) {
    if (*at == '\x1B')
      at = strchr(at, 'm') + 1;
    else
      *to++ = *at++;
  }
  *to = 0;
  assert_string_equal(kept.text, plain);
}

static void test_a_sink_that_stops(void **state) {
  (void)state;
  attn_error err;
  fixture_attention(&f, 0);
  for (long left = 0; left < 200; left += 7) {
    const attn_sink sink = kept_sink(&kept);
    kept.left = left;
    assert_int_equal(attn_lesson_explain(&f.lesson, NULL, &sink, &err), ATTN_ERR_FILE);
    assert_int_equal(err.status, ATTN_ERR_FILE);
  }
}

static void test_no_memory(void **state) {
  (void)state;
  attn_error err;
  long calls = 0;
  attn_status status;
  fixture_attention(&f, 0);
  for (long n = 1; n < 1000; n++, calls++) {
    const attn_sink sink = kept_sink(&kept);
    calloc_fails_at = n;
    status = attn_lesson_explain_cell(&f.lesson, "output[1,1]", NULL, &sink, &err);
    if (!status) break;
    assert_int_equal(status, ATTN_ERR_MEMORY);
    assert_int_equal(err.status, ATTN_ERR_MEMORY);
  }
  calloc_fails_at = 0;
  assert_true(calls >= 8); /* the list and a map for each step that is needed */
  for (calls = 0, status = ATTN_ERR_MEMORY; status && calls < 1000; calls++) {
    const attn_sink sink = kept_sink(&kept);
    calloc_fails_at = calls + 1;
    status = attn_lesson_explain(&f.lesson, NULL, &sink, &err);
    if (status) assert_int_equal(status, ATTN_ERR_MEMORY);
  }
  calloc_fails_at = 0;
  assert_true(calls > 1 && calls < 1000);
}

/* ---- JSON ---- */

static void test_json(void **state) {
  (void)state;
  const attn_sink sink = kept_sink(&kept);
  attn_cell cells[1] = {{ATTN_CELL_BLANK, -1, NAN, NAN, NAN, 9, 4}};
  attn_printing printing = {1, 1, 1, 0, 9, 4, cells};
  fixture_attention(&f, 1);
  f.example.title = (char *)(uintptr_t) "\"\\\x1B \xFF \n題";
  f.step[4].printings = 1, f.step[4].printing = &printing;
  assert_int_equal(attn_lesson_explain_json(&f.lesson, &sink, NULL), ATTN_OK);
  json_t *read = json_loads(kept.text, 0, NULL);
  assert_non_null(read);
  assert_string_equal(json_string_value(json_object_get(read, "schema")), "attn-explain/1");
  json_t *example = json_array_get(json_object_get(read, "examples"), 0);
  assert_string_equal(json_string_value(json_object_get(example, "title")), "\"\\\x1B \uFFFD \n題");
  json_t *steps = json_object_get(example, "steps");
  assert_int_equal(json_array_size(steps), f.example.steps);
  json_t *masked = json_array_get(steps, 10), *rows = json_object_get(masked, "exact");
  assert_string_equal(json_string_value(json_object_get(masked, "name")), "masked");
  assert_string_equal(json_string_value(json_object_get(masked, "op")), "mask");
  assert_true(json_is_null(json_array_get(json_array_get(rows, 0), 1)));
  assert_true(json_number_value(json_array_get(json_array_get(rows, 0), 0)) == 1 / sqrt(2));
  json_t *printed = json_array_get(json_object_get(json_array_get(steps, 4), "printed"), 0);
  assert_int_equal(json_integer_value(json_object_get(printed, "row0")), 1);
  assert_true(json_is_null(json_array_get(json_array_get(json_object_get(printed, "rows"), 0), 0)));
  json_decref(read);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_operation_has_a_row),
      cmocka_unit_test(test_plain),
      cmocka_unit_test(test_japanese),
      cmocka_unit_test(test_causal),
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_what_the_mask_hides_is_not_an_ordinary_zero),
      cmocka_unit_test(test_many_equal_values_are_one_line),
      cmocka_unit_test(test_titles_are_not_doubled),
      cmocka_unit_test(test_formulas_have_no_echo_of_the_prose),
      cmocka_unit_test(test_heads_are_numbered_once),
      cmocka_unit_test(test_why_scores_are_scaled),
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_long_sentences_stay_short),
      cmocka_unit_test(test_general_and_additive),
      cmocka_unit_test(test_heads),
      cmocka_unit_test(test_positions),
      cmocka_unit_test(test_exponentials_apart),
      cmocka_unit_test(test_exponentials_less_the_largest),
      cmocka_unit_test(test_tanh),
      cmocka_unit_test(test_large_exponents_are_shifted),
      cmocka_unit_test(test_fill_of_a_mask),
      cmocka_unit_test(test_differences_are_marked),
      cmocka_unit_test(test_cell_back_to_the_givens),
      cmocka_unit_test(test_ways_to_name_a_cell),
      cmocka_unit_test(test_digits_are_numbers_and_quotes_make_names),
      cmocka_unit_test(test_steps_go_by_what_documents_call_them),
      cmocka_unit_test(test_problems_with_cells),
      cmocka_unit_test(test_lines_fit),
      cmocka_unit_test(test_wide_matrices_wrap),
      cmocka_unit_test(test_colour_is_never_alone),
      cmocka_unit_test(test_a_sink_that_stops),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
