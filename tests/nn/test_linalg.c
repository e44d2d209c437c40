/* Law: a product is the sum of its products, whatever is transposed, however it is shared out over
 * threads; |error| <= n u sum |a b|, n products and u = 2^-24 [Higham02 sec. 3.1]. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "linalg.h"
#include "random.h"

static float *numbers(int64_t count) {
  float *x = malloc((size_t)count * sizeof *x);
  for (int64_t n = 0; n < count; n++) x[n] = uniform();
  return x;
}

static double element(struct attn_matrix m, int64_t row, int64_t column) {
  return (double)(m.transposed ? m.at[column * m.step + row] : m.at[row * m.step + column]);
}

static void check(int64_t rows, int64_t columns, int64_t inner, int turn_a, int turn_b, int add,
                  int32_t threads) {
  const struct attn_host host = {.threads = threads};
  int64_t a_step = (turn_a ? rows : inner) + 3, b_step = (turn_b ? inner : columns) + 1;
  int64_t c_step = columns + 2;
  float *a = numbers((turn_a ? inner : rows) * a_step),
        *b = numbers((turn_b ? columns : inner) * b_step);
  float *c = numbers(rows * c_step), *kept = malloc((size_t)(rows * c_step) * sizeof *kept);
  const struct attn_matrix left = {a, a_step, turn_a}, right = {b, b_step, turn_b};
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

static void products_are_sums_of_products(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {
      {1, 1, 1}, {5, 7, 3}, {130, 70, 40}, {33, 150, 60}, {64, 64, 70}};
  for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
    for (int how = 0; how < 8; how++)
      for (int32_t threads = 1; threads <= 3; threads++)
        check(shapes[n][0], shapes[n][1], shapes[n][2], how & 1, how >> 1 & 1, how >> 2, threads);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_sums_of_products)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
