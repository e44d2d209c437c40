/* 2^x of the kernels is within 2 ULP over all floats, exact at 0, 0 for -inf and below -126, inf
 * from 128 on, NaN for NaN. test_exp2: every 257th float; test_exp2 --all: all 2^32. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "floats.h"
#include "kernels.h"

static uint64_t step = 257;

static double check(float x, float y, float y_of_minus_x) {
  (void)y_of_minus_x;
  if (x != x) return assert_true(y != y), 0;
  if (x >= 128.0f) return assert_true(y == INFINITY), 0;
  if (x < -126.0f) return assert_true(y == 0.0f), 0;
  return floats_ulps(y, exp2((double)x)); /* glibc's is right to 2^-52: 2^-29 of our ULP */
}

static void exp2_is_within_2_ulp(void **state) {
  (void)state;
  for (int n = 0; test_kernel(n); n++) {
    if (!test_kernel_runs(test_kernel(n))) continue;
    float where = 0;
    double worst = floats_worst(test_kernel(n)->exp2_f32, check, step, &where);
    printf("%s: worst %.3f ULP, at %a\n", test_kernel(n)->name, worst, (double)where);
    assert_true(worst <= 2.0);
  }
}

static void exp2_of_special_values(void **state) {
  (void)state;
  const float x[] = {0.0f, -0.0f, 1.0f, -126.0f, -INFINITY, INFINITY, NAN, 128.0f, -1e30f, 1e30f};
  float y[10];
  for (int n = 0; test_kernel(n); n++) {
    if (!test_kernel_runs(test_kernel(n))) continue;
    test_kernel(n)->exp2_f32(x, y, 10);
    const float expected[] = {1, 1, 2, 0x1p-126f, 0, INFINITY, NAN, INFINITY, 0, INFINITY};
    for (int i = 0; i < 10; i++)
      assert_true(y[i] == expected[i] || (expected[i] != expected[i] && y[i] != y[i]));
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--all")) step = 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(exp2_of_special_values),
                                     cmocka_unit_test(exp2_is_within_2_ulp)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
