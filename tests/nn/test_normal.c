/* Law: attn_normal's Phi and phi are within what docs/accuracy.md says, over all floats. The double
 * functions are right to 2^-51, which is nothing beside it.
 *
 *     test_normal          every 257th float
 *     test_normal --all    every one */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "normal.h"

static uint64_t step = 257;

static float float_of(uint64_t bits) {
  uint32_t word = (uint32_t)bits;
  float x;
  memcpy(&x, &word, sizeof x);
  return x;
}

struct worst {
  double share, where; /* of what is allowed */
};

static void weigh(struct worst *w, double x, double got, double truth, double allowed) {
  double share = fabs(got - truth) / allowed;
  if (share > w->share) *w = (struct worst){share, x};
}

static void is_near_the_truth(void **state) {
  (void)state;
  const double u = 0x1p-24, least = 0x1p-125, of_density = 0.39894228040143267794;
  struct worst left = {0, 0}, right = {0, 0}, density = {0, 0};
  for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += step) {
    double x = (double)float_of(bits), z = x * x;
    if (!isfinite(x)) continue;
    const struct attn_normal at = attn_normal((float)x);
    double below = erfc(-x * 0.70710678118654752440) / 2, phi = of_density * exp(-z / 2);
    if (x < 0)
      weigh(&left, x, (double)at.below, below, (11 + z / 2) * u * below + least);
    else
      weigh(&right, x, (double)at.below, below, 4 * u * below);
    weigh(&density, x, (double)at.density, phi, (4 + z / 2) * u * phi + least);
  }
  printf("of what is allowed: %.3f at %a, %.3f at %a, density %.3f at %a\n", left.share, left.where,
         right.share, right.where, density.share, density.where);
  assert_true(left.share <= 1 && right.share <= 1 && density.share <= 1);
}

static void is_what_it_is_at_the_ends(void **state) {
  (void)state;
  const struct attn_normal middle = attn_normal(0), low = attn_normal(-INFINITY),
                           high = attn_normal(INFINITY), none = attn_normal(NAN);
  assert_true(middle.below == 0.5f && middle.density == 0x1.988454p-2f);
  assert_true(low.below == 0 && low.density == 0 && high.below == 1 && high.density == 0);
  assert_true(isnan(none.below) && isnan(none.density));
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--all")) step = 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(is_near_the_truth),
                                     cmocka_unit_test(is_what_it_is_at_the_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
