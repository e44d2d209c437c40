/* Law: attn_exponential is within 2^-23 of e^x over all floats in -87 .. 88; 0 below, e^88 above,
 * NaN of NaN. The double function is right to 2^-52, which is nothing beside it.
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

static uint64_t step = 257;

static float float_of(uint64_t bits) {
  uint32_t word = (uint32_t)bits;
  float x;
  memcpy(&x, &word, sizeof x);
  return x;
}

static void is_near_the_truth(void **state) {
  (void)state;
  double worst = 0, where = 0;
  for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += step) {
    double x = (double)float_of(bits);
    if (!(x >= -87 && x <= 88)) continue;
    double truth = exp(x), off = fabs((double)attn_exponential((float)x) - truth) / truth;
    if (off > worst) worst = off, where = x;
  }
  printf("worst 2^%.3f, at %a\n", log2(worst), where);
  assert_true(worst <= 0x1p-23);
}

static void is_zero_far_below_and_steady_far_above(void **state) {
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(is_near_the_truth),
                                     cmocka_unit_test(is_zero_far_below_and_steady_far_above)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
