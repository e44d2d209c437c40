/* test_eval.c -- every operation of a step against values worked out by hand, and its intervals
 * against values inside them. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <math.h>
#include <string.h>

#include "operations.h"
#include "eval.h"
#include "interval_arithmetic.h"
#include "random.h"

static struct attn_pool *pool;

static int set_up(void **state) {
  (void)state;
  pool = attn_pool_new();
  return pool == NULL;
}

static int tear_down(void **state) {
  (void)state;
  attn_pool_free(pool);
  return 0;
}

static attn_matrix make(int rows, int cols, const double *at) {
  attn_matrix m = attn_matrix_new(pool, rows, cols);
  assert_non_null(m.at);
  memcpy(m.at, at, (size_t)rows * (size_t)cols * sizeof *at);
  return m;
}

#define MATRIX(rows, cols, ...) make(rows, cols, (const double[]){__VA_ARGS__})

struct scene {
  int op, axis;
  double scalar;
  int operands;
  attn_matrix operand[5];
};

static attn_status evaluate(struct scene s, attn_matrix *out, attn_error *err) {
  attn_step step = {.op = s.op, .axis = s.axis, .scalar = s.scalar, .operands = s.operands};
  const attn_matrix *operand[5];
  char symbol[] = "step";
  step.symbol = symbol;
  for (int i = 0; i < 5; i++) operand[i] = &s.operand[i];
  return attn_eval_step(&step, operand, pool, out, err);
}

static void expect(struct scene s, int rows, int cols, const double *right) {
  attn_matrix out;
  attn_error err = {0};
  if (evaluate(s, &out, &err) != ATTN_OK) fail_msg("%s", err.message);
  assert_int_equal(out.rows, rows);
  assert_int_equal(out.cols, cols);
  for (int i = 0; i < rows * cols; i++) {
    if (out.at[i] == right[i]) continue; /* infinities too */
    if (!(fabs(out.at[i] - right[i]) <= 1e-12))
      fail_msg("%d: %.17g, not %.17g", i, out.at[i], right[i]);
  }
}

#define RIGHT(rows, cols, ...) \
  rows, cols, (const double[]) { __VA_ARGS__ }

static attn_matrix a23(void) { return MATRIX(2, 3, 1, 2, 3, 4, 5, 6); }

static void test_every_operation_has_a_row(void **state) {
  (void)state;
  for (int op = 0; op < ATTN_OP_COUNT; op++) assert_non_null(attn_operations[op].eval);
}

static void test_products(void **state) {
  (void)state;
  attn_matrix b = MATRIX(3, 2, 1, 0, 0, 1, 2, -1), c = MATRIX(2, 2, 1, 2, 3, 4);
  expect((struct scene){ATTN_OP_MATMUL, 1, 0, 2, {a23(), b}}, RIGHT(2, 2, 7, -1, 16, -1));
  expect((struct scene){ATTN_OP_MATMUL_NT, 1, 0, 2, {a23(), a23()}}, RIGHT(2, 2, 14, 32, 32, 77));
  expect((struct scene){ATTN_OP_MATMUL_TN, 1, 0, 2, {a23(), c}},
         RIGHT(3, 2, 13, 18, 17, 24, 21, 30));
  expect((struct scene){ATTN_OP_TRANSPOSE, 1, 0, 1, {a23()}}, RIGHT(3, 2, 1, 4, 2, 5, 3, 6));
}

static void test_element_by_element(void **state) {
  (void)state;
  attn_matrix mask = MATRIX(2, 3, 1, 0, 1, 1, 1, 0), row = MATRIX(1, 3, 10, 20, 30);
  expect((struct scene){ATTN_OP_DIVIDE, 1, 2, 1, {a23()}}, RIGHT(2, 3, .5, 1, 1.5, 2, 2.5, 3));
  expect((struct scene){ATTN_OP_MASK, 1, -INFINITY, 2, {a23(), mask}},
         RIGHT(2, 3, 1, -INFINITY, 3, 4, 5, -INFINITY));
  expect((struct scene){ATTN_OP_MASK, 1, -9, 2, {a23(), mask}}, RIGHT(2, 3, 1, -9, 3, 4, 5, -9));
  expect((struct scene){ATTN_OP_ADD, 1, 0, 2, {a23(), mask}}, RIGHT(2, 3, 2, 2, 4, 5, 6, 6));
  expect((struct scene){ATTN_OP_ADD, 1, 0, 2, {a23(), row}}, RIGHT(2, 3, 11, 22, 33, 14, 25, 36));
  expect((struct scene){ATTN_OP_ADD, 1, 0, 2, {row, a23()}}, RIGHT(2, 3, 11, 22, 33, 14, 25, 36));
  expect((struct scene){ATTN_OP_ADD, 1, 0, 2, {row, row}}, RIGHT(1, 3, 20, 40, 60));
  attn_matrix small = MATRIX(1, 2, 0, 1);
  expect((struct scene){ATTN_OP_TANH, 1, 0, 1, {small}}, RIGHT(1, 2, 0, tanh(1)));
  attn_matrix logs = MATRIX(1, 3, 0, 0.69314718055994530942, -INFINITY);
  expect((struct scene){ATTN_OP_EXP, 1, 0, 1, {logs}}, RIGHT(1, 3, 1, 2, 0));
  expect((struct scene){ATTN_OP_APPEND, 1, 0, 3, {mask, a23(), mask}},
         RIGHT(2, 9, 1, 0, 1, 1, 2, 3, 1, 0, 1, 1, 1, 0, 4, 5, 6, 1, 1, 0));
}

/* e^ln2 : e^0 is 2 : 1. */
static void test_softmax(void **state) {
  (void)state;
  double ln2 = 0.69314718055994530942;
  attn_matrix s = MATRIX(2, 2, ln2, 0, 0, 1000);
  expect((struct scene){ATTN_OP_SOFTMAX, 1, 0, 1, {s}}, RIGHT(2, 2, 2 / 3.0, 1 / 3.0, 0, 1));
  s = MATRIX(2, 2, ln2, -1000, 0, 0);
  expect((struct scene){ATTN_OP_SOFTMAX, 0, 0, 1, {s}}, RIGHT(2, 2, 2 / 3.0, 0, 1 / 3.0, 1));
  s = MATRIX(2, 2, -INFINITY, -INFINITY, -INFINITY, 5); /* who sees nothing has no weights */
  expect((struct scene){ATTN_OP_SOFTMAX, 1, 0, 1, {s}}, RIGHT(2, 2, 0, 0, 0, 1));
}

static void test_less_the_largest(void **state) {
  (void)state;
  attn_matrix a = MATRIX(2, 2, 1, 3, -INFINITY, 5), none = MATRIX(1, 2, -INFINITY, -INFINITY);
  expect((struct scene){ATTN_OP_SHIFT, 1, 0, 1, {a}}, RIGHT(2, 2, -2, 0, -INFINITY, 0));
  expect((struct scene){ATTN_OP_SHIFT, 0, 0, 1, {a}}, RIGHT(2, 2, 0, -2, -INFINITY, 0));
  expect((struct scene){ATTN_OP_SHIFT, 1, 0, 1, {none}}, RIGHT(1, 2, -INFINITY, -INFINITY));
}

/* p (g - p . g): of p = (1/4, 3/4) and g = (4, 0), p . g = 1. A line that sees nothing has none. */
static void test_the_gradient_of_softmax(void **state) {
  (void)state;
  attn_matrix p = MATRIX(2, 2, 0.25, 0.75, 0, 0), g = MATRIX(2, 2, 4, 0, 5, 6);
  attn_matrix down = MATRIX(2, 1, 0.25, 0.75), of = MATRIX(2, 1, 4, 0);
  expect((struct scene){ATTN_OP_SOFTMAX_GRADIENT, 1, 0, 2, {p, g}}, RIGHT(2, 2, 0.75, -0.75, 0, 0));
  expect((struct scene){ATTN_OP_SOFTMAX_GRADIENT, 0, 0, 2, {down, of}}, RIGHT(2, 1, 0.75, -0.75));
}

static void test_columns(void **state) {
  (void)state;
  attn_matrix a = a23(), out;
  const attn_matrix *operand[] = {&a};
  attn_step step = {.op = ATTN_OP_COLUMNS, .operands = 1, .scalar = 1, .exact = {0, 2, NULL}};
  assert_int_equal(attn_eval_step(&step, operand, pool, &out, NULL), ATTN_OK);
  assert_int_equal(out.cols, 2);
  assert_true(out.at[0] == 2 && out.at[1] == 3 && out.at[2] == 5 && out.at[3] == 6);
  step.scalar = 2; /* one column is left */
  assert_int_equal(attn_eval_step(&step, operand, pool, &out, NULL), ATTN_ERR_SHAPE);
  step.scalar = -1;
  assert_int_equal(attn_eval_step(&step, operand, pool, &out, NULL), ATTN_ERR_SHAPE);
}

static void test_sums_and_quotients(void **state) {
  (void)state;
  attn_matrix rows = MATRIX(2, 1, 2, 0), cols = MATRIX(1, 3, 1, 2, 4);
  expect((struct scene){ATTN_OP_SUM, 1, 0, 1, {a23()}}, RIGHT(2, 1, 6, 15));
  expect((struct scene){ATTN_OP_SUM, 0, 0, 1, {a23()}}, RIGHT(1, 3, 5, 7, 9));
  attn_matrix e = MATRIX(2, 2, 1, 3, 0, 0);
  expect((struct scene){ATTN_OP_QUOTIENT, 1, 0, 2, {e, rows}}, RIGHT(2, 2, .5, 1.5, 0, 0));
  expect((struct scene){ATTN_OP_QUOTIENT, 0, 0, 2, {a23(), cols}},
         RIGHT(2, 3, 1, 1, .75, 4, 2.5, 1.5));
}

static void test_alignments(void **state) {
  (void)state;
  attn_matrix q = MATRIX(1, 2, 1, 2), k = MATRIX(2, 2, 1, 0, 0, 1), w = MATRIX(2, 2, 2, 0, 1, 1);
  /* q W = [4, 2] */
  expect((struct scene){ATTN_OP_GENERAL, 1, 0, 3, {q, k, w}}, RIGHT(1, 2, 4, 2));
  /* W a = [2, 3]; U b = [1, 0] and [2, 1] */
  attn_matrix u = MATRIX(2, 2, 1, 2, 0, 1), v = MATRIX(2, 1, 3, -1);
  expect((struct scene){ATTN_OP_ADDITIVE, 1, 0, 5, {q, k, w, u, v}},
         RIGHT(1, 2, 3 * tanh(3) - tanh(3), 3 * tanh(4) - tanh(4)));
}

static void test_positions(void **state) {
  (void)state;
  attn_step step = {.op = ATTN_OP_POSITIONS};
  attn_matrix out;
  attn_error err = {0};
  step.exact = (attn_matrix){2, 4, NULL};
  assert_int_equal(attn_eval_step(&step, NULL, pool, &out, &err), ATTN_OK);
  const double original[] = {0, 1, 0, 1, sin(1), cos(1), sin(.01), cos(.01)};
  for (int i = 0; i < 8; i++) assert_true(fabs(out.at[i] - original[i]) < 1e-12);
  step.scalar = 1; /* frequencies from k = 1 */
  assert_int_equal(attn_eval_step(&step, NULL, pool, &out, &err), ATTN_OK);
  const double later[] = {0, 1, 0, 1, sin(.01), cos(.01), sin(.0001), cos(.0001)};
  for (int i = 0; i < 8; i++) assert_true(fabs(out.at[i] - later[i]) < 1e-12);
}

static void test_misfits(void **state) {
  (void)state;
  attn_matrix square = MATRIX(2, 2, 1, 2, 3, 4), row = MATRIX(1, 2, 1, 2), out;
  const struct scene scenes[] = {
      {ATTN_OP_MATMUL, 1, 0, 2, {a23(), square}},
      {ATTN_OP_MATMUL_NT, 1, 0, 2, {a23(), square}},
      {ATTN_OP_MATMUL_TN, 1, 0, 2, {row, square}},
      {ATTN_OP_MASK, 1, 0, 2, {a23(), square}},
      {ATTN_OP_ADD, 1, 0, 2, {a23(), square}},
      {ATTN_OP_QUOTIENT, 1, 0, 2, {square, row}},
      {ATTN_OP_APPEND, 1, 0, 2, {square, row}},
      {ATTN_OP_GENERAL, 1, 0, 3, {row, square, a23()}},
      {ATTN_OP_ADDITIVE, 1, 0, 5, {row, square, square, square, a23()}},
      {ATTN_OP_MATMUL, 1, 0, 1, {square}},
      {99, 1, 0, 2, {square, square}},
  };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    attn_error err = {0};
    if (evaluate(scenes[i], &out, &err) != ATTN_ERR_SHAPE) fail_msg("scene %d", (int)i);
    assert_true(strlen(err.message) > 0);
    assert_null(out.at);
  }
}

/* 4 MB of input could ask for 2 TB. */
static void test_too_large(void **state) {
  (void)state;
  attn_matrix tall = attn_matrix_new(pool, 1 << 18, 1), out;
  attn_error err = {0};
  assert_non_null(tall.at);
  assert_int_equal(evaluate((struct scene){ATTN_OP_MATMUL_NT, 1, 0, 2, {tall, tall}}, &out, &err),
                   ATTN_ERR_SHAPE);
}

/* ---- Intervals ---- */

enum { SIDE = 3 };

struct interval_scene {
  int op, axis, operands;
  double scalar;
};

/* An interval around a random matrix; some of its elements are exact. */
static struct attn_interval_matrix draw_interval(int rows, int cols, int positive) {
  struct attn_interval_matrix m = {attn_matrix_new(pool, rows, cols),
                                   attn_matrix_new(pool, rows, cols)};
  assert_non_null(m.lo.at), assert_non_null(m.hi.at);
  for (int n = 0; n < rows * cols; n++) {
    double middle = (double)uniform() * 2, half = chance(4) ? 0 : fabs((double)uniform());
    if (positive) middle = fabs(middle) + half + 0.1;
    m.lo.at[n] = middle - half, m.hi.at[n] = middle + half;
  }
  return m;
}

/* A matrix in the interval, often at its ends. */
static attn_matrix draw_inside(const struct attn_interval_matrix *m) {
  attn_matrix x = attn_matrix_new(pool, m->lo.rows, m->lo.cols);
  assert_non_null(x.at);
  for (int n = 0; n < x.rows * x.cols; n++) {
    double part = fabs((double)uniform());
    if (chance(2)) part = (double)below(2);
    x.at[n] = m->lo.at[n] + part * (m->hi.at[n] - m->lo.at[n]);
  }
  return x;
}

static void draw_operands(const struct interval_scene *s, struct attn_interval_matrix *operand) {
  for (int n = 0; n < s->operands; n++) operand[n] = draw_interval(SIDE, SIDE, 0);
  if (s->op == ATTN_OP_QUOTIENT)
    operand[1] = draw_interval(s->axis ? SIDE : 1, s->axis ? 1 : SIDE, 1);
  if (s->op == ATTN_OP_ADDITIVE) operand[4] = draw_interval(1, SIDE, 0);
}

static void expect_inside(const struct interval_scene *s) {
  struct attn_interval_matrix operand[5], out;
  const struct attn_interval_matrix *pointer[5];
  attn_step step = {.op = s->op, .axis = s->axis, .scalar = s->scalar, .operands = s->operands};
  draw_operands(s, operand);
  for (int n = 0; n < s->operands; n++) pointer[n] = &operand[n];
  assert_int_equal(attn_interval_step(&step, pointer, 0, pool, &out, NULL), ATTN_OK);
  for (int point = 0; point < 20; point++) {
    struct scene scene = {s->op, s->axis, s->scalar, s->operands, {{0, 0, NULL}}};
    attn_matrix x;
    for (int n = 0; n < s->operands; n++) scene.operand[n] = draw_inside(&operand[n]);
    assert_int_equal(evaluate(scene, &x, NULL), ATTN_OK);
    for (int n = 0; n < x.rows * x.cols; n++)
      if (x.at[n] < out.lo.at[n] - 1e-9 || x.at[n] > out.hi.at[n] + 1e-9)
        fail_msg("operation %d, axis %d: %g is outside [%g, %g]", s->op, s->axis, x.at[n],
                 out.lo.at[n], out.hi.at[n]);
  }
}

static void test_an_interval_contains_every_value(void **state) {
  (void)state;
  static const struct interval_scene scenes[] = {{ATTN_OP_MATMUL, 1, 2, 0},
                                                 {ATTN_OP_MATMUL_NT, 1, 2, 0},
                                                 {ATTN_OP_MATMUL_TN, 1, 2, 0},
                                                 {ATTN_OP_DIVIDE, 1, 1, 1.5},
                                                 {ATTN_OP_DIVIDE, 1, 1, -2},
                                                 {ATTN_OP_EXP, 1, 1, 0},
                                                 {ATTN_OP_SOFTMAX, 1, 1, 0},
                                                 {ATTN_OP_SOFTMAX, 0, 1, 0},
                                                 {ATTN_OP_SUM, 1, 1, 0},
                                                 {ATTN_OP_SUM, 0, 1, 0},
                                                 {ATTN_OP_QUOTIENT, 1, 2, 0},
                                                 {ATTN_OP_QUOTIENT, 0, 2, 0},
                                                 {ATTN_OP_ADD, 1, 2, 0},
                                                 {ATTN_OP_GENERAL, 1, 3, 0},
                                                 {ATTN_OP_ADDITIVE, 1, 5, 0},
                                                 {ATTN_OP_TRANSPOSE, 1, 1, 0},
                                                 {ATTN_OP_TANH, 1, 1, 0},
                                                 {ATTN_OP_SHIFT, 1, 1, 0},
                                                 {ATTN_OP_SHIFT, 0, 1, 0},
                                                 {ATTN_OP_SOFTMAX_GRADIENT, 1, 2, 0},
                                                 {ATTN_OP_SOFTMAX_GRADIENT, 0, 2, 0}};
  for (size_t n = 0; n < sizeof scenes / sizeof *scenes; n++)
    for (int round = 0; round < 20; round++) expect_inside(&scenes[n]);
}

/* Large scores have weights, and a negative sum a quotient. */
static void test_intervals_far_from_zero(void **state) {
  (void)state;
  attn_matrix a = MATRIX(1, 2, 1000, 1000), b = MATRIX(1, 2, -1, -3), sum = MATRIX(1, 1, -4);
  const struct attn_interval_matrix scores = {a, a}, parts = {b, b}, whole = {sum, sum};
  const struct attn_interval_matrix *operand[] = {&scores}, *pair[] = {&parts, &whole};
  attn_step softmax = {.op = ATTN_OP_SOFTMAX, .axis = 1, .operands = 1};
  attn_step quotient = {.op = ATTN_OP_QUOTIENT, .axis = 1, .operands = 2};
  struct attn_interval_matrix out;
  assert_int_equal(attn_interval_step(&softmax, operand, 0, pool, &out, NULL), ATTN_OK);
  assert_true(out.lo.at[0] == 0.5 && out.hi.at[0] == 0.5);
  assert_int_equal(attn_interval_step(&quotient, pair, 0, pool, &out, NULL), ATTN_OK);
  assert_true(out.lo.at[1] == 0.75 && out.hi.at[1] == 0.75);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_operation_has_a_row),
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_element_by_element),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_less_the_largest),
      cmocka_unit_test(test_the_gradient_of_softmax),
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_sums_and_quotients),
      cmocka_unit_test(test_alignments),
      cmocka_unit_test(test_positions),
      cmocka_unit_test(test_misfits),
      cmocka_unit_test(test_too_large),
      cmocka_unit_test(test_an_interval_contains_every_value),
      cmocka_unit_test(test_intervals_far_from_zero),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
