/* Law: a product is the sum of its products, whatever is transposed, however it is shared out over
 * threads; |error| <= n u sum |a b|, n products and u = 2^-24 [Higham02 sec. 3.1]. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "element.h"
#include "half.h"
#include "random.h"

static float *numbers(int64_t count) {
  float *x = malloc((size_t)count * sizeof *x);
  for (int64_t n = 0; n < count; n++) x[n] = uniform();
  return x;
}

/* As they stand in memory. */
static void *factors(int64_t count, enum attn_factors type) {
  float *x = numbers(count);
  uint16_t *half = malloc((size_t)count * sizeof *half);
  if (type != ATTN_HALVES) return free(half), x;
  for (int64_t n = 0; n < count; n++) half[n] = attn_to_bf16(x[n]);
  return free(x), half;
}

static double element(struct attn_matrix m, int64_t row, int64_t column) {
  int64_t at = m.transposed ? column * m.step + row : row * m.step + column;
  if (m.type == ATTN_HALVES) return (double)attn_from_bf16(((const uint16_t *)m.at)[at]);
  return (double)((const float *)m.at)[at];
}

static void check(int64_t rows, int64_t columns, int64_t inner, int how, enum attn_factors type,
                  int32_t threads) {
  int turn_a = how & 1, turn_b = how >> 1 & 1, add = how >> 2;
  const struct attn_host host = {.threads = threads};
  int64_t a_step = (turn_a ? rows : inner) + 3, b_step = (turn_b ? inner : columns) + 1;
  int64_t c_step = columns + 2;
  void *a = factors((turn_a ? inner : rows) * a_step, type),
       *b = factors((turn_b ? columns : inner) * b_step, type);
  float *c = numbers(rows * c_step), *kept = malloc((size_t)(rows * c_step) * sizeof *kept);
  const struct attn_matrix left = {a, a_step, turn_a, type}, right = {b, b_step, turn_b, type};
  for (int64_t n = 0; n < rows * c_step; n++) kept[n] = c[n];
  assert_int_equal(attn_matmul(&host, rows, columns, inner, left, right, c, c_step, add, NULL),
                   ATTN_OK);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < c_step; j++) {
      double sum = add || j >= columns ? (double)kept[i * c_step + j] : 0, size = fabs(sum);
      for (int64_t k = 0; j < columns && k < inner; k++) {
        double term = element(left, i, k) * element(right, k, j);
        sum += term, size += fabs(term);
      }
      assert_true(fabs((double)c[i * c_step + j] - sum) <= (double)(inner + 1) * 0x1p-24 * size);
    }
  free(a), free(b), free(c), free(kept);
}

static void check_all(enum attn_factors type) {
  static const int64_t shapes[][3] = {
      {1, 1, 1}, {5, 7, 3}, {130, 70, 40}, {33, 150, 60}, {64, 64, 70}};
  for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
    for (int how = 0; how < 8; how++)
      for (int32_t threads = 1; threads <= 3; threads++)
        check(shapes[n][0], shapes[n][1], shapes[n][2], how, type, threads);
}

static void products_are_sums_of_products(void **state) {
  (void)state;
  check_all(ATTN_FLOATS);
}

static void so_are_those_of_kernels(void **state) {
  (void)state;
  check_all(ATTN_FLOATS_BY_KERNEL);
}

static void so_are_those_of_bf16(void **state) {
  (void)state;
  if (!attn_matmul_has_bf16()) {
    print_message("skipped: oneDNN has no products of bf16 on this CPU\n");
    skip();
  }
  check_all(ATTN_HALVES);
}

/* As above, and the bits of a row are the same beside other rows: 300 are more than are multiplied
 * at once. */
static void check_packed(int64_t in, int64_t out, int half, int with_bias) {
  enum { ROWS = 300 };
  static const int64_t counts[] = {0, 1, 2, 5, 31, 32, 256, ROWS};
  enum attn_factors type = half ? attn_half_factors() : ATTN_FLOATS;
  struct attn_packed *packed;
  float *w = numbers(out * in), *b = numbers(out), *alone = numbers(ROWS * out),
        *y = numbers(ROWS * out), *given = numbers(ROWS * in);
  void *x = malloc((size_t)(ROWS * in) * attn_half_size(type));
  const struct attn_matrix left = {x, in, 0, type};
  const struct attn_host host = {.threads = 1};
  if (half)
    attn_half_write(&host, type, x, given, ROWS * in);
  else
    memcpy(x, given, (size_t)(ROWS * in) * sizeof *given);
  assert_int_equal(attn_packed_new(w, with_bias ? b : NULL, in, out, half, &packed, NULL), ATTN_OK);
  for (int64_t r = 0; r < ROWS; r++) {
    const char *row = (const char *)x + (size_t)(r * in) * attn_half_size(type);
    assert_int_equal(attn_packed_multiply(packed, alone + r * out, row, 1, NULL), ATTN_OK);
  }
  for (int64_t e = 0; e < ROWS * out; e++) {
    double sum = with_bias ? (double)b[e % out] : 0, size = fabs(sum);
    for (int64_t k = 0; k < in; k++) {
      float weight = w[e % out * in + k];
      double term = element(left, e / out, k) *
                    (double)(half ? attn_from_bf16(attn_to_bf16(weight)) : weight);
      sum += term, size += fabs(term);
    }
    assert_true(fabs((double)alone[e] - sum) <= (double)(in + 1) * 0x1p-24 * size);
  }
  for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
    assert_int_equal(attn_packed_multiply(packed, y, x, counts[n], NULL), ATTN_OK);
    assert_memory_equal(y, alone, (size_t)(counts[n] * out) * sizeof *y);
  }
  attn_packed_free(packed);
  free(w), free(b), free(alone), free(y), free(x), free(given);
}

static void packed_products_are_too_and_rows_do_not_know_each_other(void **state) {
  (void)state;
  for (int bias = 0; bias < 2; bias++)
    for (int half = 0; half < 2; half++)
      for (int64_t width = 1; width < 80; width += 13) {
        check_packed(width, 64, half, bias);
        check_packed(64, width, half, bias);
        check_packed(width, 3 * width, half, bias);
      }
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_sums_of_products), cmocka_unit_test(so_are_those_of_kernels),
      cmocka_unit_test(so_are_those_of_bf16),
      cmocka_unit_test(packed_products_are_too_and_rows_do_not_know_each_other)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
