/* attn_exponential has a relative error of at most 2^-23 for all floats in -87 .. 88; the result is
 * 0 below, e^88 above, NaN for NaN. attn_tanh has at most 2^-22 for all floats but subnormal ones,
 * attn_sigmoid for those above -87. The references, exp and tanh in double, are accurate to 2^-52.
 *
 *     test_exponential          every 257th float
 *     test_exponential --all    every one */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "exponential.h"
#include "float_bits.h"

static uint64_t step = 257;

static void error_is_within_the_bound(void **state) {
  (void)state;
  double worst = 0, where = 0;
  for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += step) {
    double x = (double)float_of_bits((uint32_t)bits);
    if (!(x >= -87 && x <= 88)) continue;
    double exact = exp(x), error = fabs((double)attn_exponential((float)x) - exact) / exact;
    if (error > worst) worst = error, where = x;
  }
  printf("worst 2^%.3f, at %a\n", log2(worst), where);
  assert_true(worst <= 0x1p-23);
}

static void errors_of_tanh_and_sigmoid(void **state) {
  (void)state;
  double worst = 0, worst_sigmoid = 0;
  for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += step) {
    double x = (double)float_of_bits((uint32_t)bits);
    if (!(fabs(x) >= 0x1p-126 && fabs(x) < (double)INFINITY)) continue;
    double exact = tanh(x), error = fabs((double)attn_tanh((float)x) / exact - 1);
    if (error > worst) worst = error;
    exact = 1 / (1 + exp(-x)), error = fabs((double)attn_sigmoid((float)x) / exact - 1);
    if (x > -87 && error > worst_sigmoid) worst_sigmoid = error;
  }
  printf("worst 2^%.3f of tanh, 2^%.3f of sigmoid\n", log2(worst), log2(worst_sigmoid));
  assert_true(worst <= 0x1p-22 && worst_sigmoid <= 0x1p-22);
  assert_true(attn_tanh(INFINITY) == 1 && attn_tanh(-INFINITY) == -1 && isnan(attn_tanh(NAN)));
  assert_true(attn_tanh(0) == 0 && attn_sigmoid(-INFINITY) < 1e-38f && attn_sigmoid(INFINITY) == 1);
}

static void values_outside_the_range(void **state) {
  (void)state;
  static const float below[] = {-0x1.5c0002p6f, -88, -1e9f, -INFINITY},
                     above[] = {0x1.600002p6f, 1e9f, INFINITY};
  for (int n = 0; n < 4; n++) assert_true(attn_exponential(below[n]) == 0);
  for (int n = 0; n < 3; n++) assert_true(attn_exponential(above[n]) == attn_exponential(88));
  assert_true(attn_exponential(0) == 1 && attn_exponential(-0.0f) == 1);
  assert_true(isnan(attn_exponential(NAN)));
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--all")) step = 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(error_is_within_the_bound),
                                     cmocka_unit_test(errors_of_tanh_and_sigmoid),
                                     cmocka_unit_test(values_outside_the_range)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
