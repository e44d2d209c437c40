/* tanh of the kernels is within 4 ULP over all floats, exact where it rounds to x, bitwise odd
 * (except that -0 gives 0), -1 and 1 at the infinities, NaN for NaN. test_tanh: every 257th
 * float; test_tanh --all: all 2^32. */
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
  if (x != x) return assert_true(y != y), 0;
  assert_true(y == -y_of_minus_x && (x == 0 || !signbit(y) == !signbit(x)));
  return floats_ulps(y, tanh((double)x)); /* glibc's is right to 2^-51: 2^-28 of our ULP */
}

static void tanh_is_within_4_ulp(void **state) {
  (void)state;
  for (int n = 0; test_kernel(n); n++) {
    if (!test_kernel_runs(test_kernel(n))) continue;
    float where = 0;
    double worst = floats_worst(test_kernel(n)->tanh_f32, check, step, &where);
    printf("%s: worst %.3f ULP, at %a\n", test_kernel(n)->name, worst, (double)where);
    assert_true(worst <= 4.0);
  }
}

static void tanh_of_special_values(void **state) {
  (void)state;
  const float x[] = {0.0f, -0.0f, 0x1p-149f, 0x1p-126f, 1e-4f, 10.0f, 1e30f, INFINITY};
  const float expected[] = {0.0f, 0.0f, 0x1p-149f, 0x1p-126f, 1e-4f, 1.0f, 1.0f, 1.0f};
  float y[8], nan = NAN;
  for (int n = 0; test_kernel(n); n++) {
    if (!test_kernel_runs(test_kernel(n))) continue;
    test_kernel(n)->tanh_f32(x, y, 8);
    for (int i = 0; i < 8; i++) assert_true(y[i] == expected[i]);
    test_kernel(n)->tanh_f32(&nan, y, 1);
    assert_true(y[0] != y[0]);
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--all")) step = 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(tanh_of_special_values),
                                     cmocka_unit_test(tanh_is_within_4_ulp)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
