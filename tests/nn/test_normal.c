/* attn_normal's Phi and phi are within the bounds of docs/accuracy.md for all floats. The
 * reference, erfc and exp in double, is accurate to 2^-51.
 *
 *     test_normal          every 257th float
 *     test_normal --all    every one */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "float_bits.h"
#include "normal.h"

static uint64_t step = 257;

struct max_error {
  double ratio, where; /* of the error to its bound */
};

static void add_error(struct max_error *m, double x, double got, double exact, double bound) {
  double ratio = fabs(got - exact) / bound;
  if (ratio > m->ratio) *m = (struct max_error){ratio, x};
}

static void errors_are_within_the_bounds(void **state) {
  (void)state;
  const double u = 0x1p-24, min = 0x1p-125, of_density = 0.39894228040143267794;
  struct max_error left = {0, 0}, right = {0, 0}, density = {0, 0};
  for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += step) {
    double x = (double)float_of_bits((uint32_t)bits), z = x * x;
    if (!isfinite(x)) continue;
    const struct attn_normal at = attn_normal((float)x);
    double below = erfc(-x * 0.70710678118654752440) / 2, phi = of_density * exp(-z / 2);
    if (x < 0)
      add_error(&left, x, (double)at.below, below, (11 + z / 2) * u * below + min);
    else
      add_error(&right, x, (double)at.below, below, 4 * u * below);
    add_error(&density, x, (double)at.density, phi, (4 + z / 2) * u * phi + min);
  }
  printf("largest error / bound: %.3f at %a, %.3f at %a, density %.3f at %a\n", left.ratio,
         left.where, right.ratio, right.where, density.ratio, density.where);
  assert_true(left.ratio <= 1 && right.ratio <= 1 && density.ratio <= 1);
}

static void values_at_0_infinity_and_nan(void **state) {
  (void)state;
  const struct attn_normal middle = attn_normal(0), low = attn_normal(-INFINITY),
                           high = attn_normal(INFINITY), none = attn_normal(NAN);
  assert_true(middle.below == 0.5f && middle.density == 0x1.988454p-2f);
  assert_true(low.below == 0 && low.density == 0 && high.below == 1 && high.density == 0);
  assert_true(isnan(none.below) && isnan(none.density));
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--all")) step = 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(errors_are_within_the_bounds),
                                     cmocka_unit_test(values_at_0_infinity_and_nan)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
