/* floats.h -- a function of one float, held against the truth over all floats. */
#ifndef ATTN_TESTS_KERNEL_FLOATS_H
#define ATTN_TESTS_KERNEL_FLOATS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The distance in ULP of the exact result; subnormals have the spacing of the smallest normal. */
static inline double floats_ulps(float got, double exact) {
  int exponent;
  frexp(exact, &exponent);
  return fabs((double)got - exact) / ldexp(1.0, exponent < -125 ? -149 : exponent - 24);
}

/* Calls check for every float whose bits are a multiple of step, and its negative. Returns the
 * largest error, and where. */
static inline double floats_worst(void (*f)(const float *x, float *y, int64_t n),
                                  double (*check)(float x, float y, float y_of_minus_x),
                                  uint64_t step, float *where) {
  enum { BATCH = 4096 };
  static float x[BATCH], minus[BATCH], y[BATCH], other[BATCH];
  double worst = 0;
  for (uint64_t bits = 0; bits < (uint64_t)1 << 32;) {
    int n = 0;
    for (; n < BATCH && bits < (uint64_t)1 << 32; bits += step, n++) {
      uint32_t low = (uint32_t)bits;
      memcpy(&x[n], &low, sizeof low);
      minus[n] = -x[n];
    }
    f(x, y, n), f(minus, other, n);
    for (int i = 0; i < n; i++) {
      double error = check(x[i], y[i], other[i]);
      if (error > worst) worst = error, *where = x[i];
    }
  }
  return worst;
}

#endif
