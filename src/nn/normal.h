/* normal.h -- the normal distribution in float32 without branches or calls, as exponential.h. */
#ifndef ATTN_NN_NORMAL_H
#define ATTN_NN_NORMAL_H

#include "exponential.h"

struct attn_normal {
  float below;   /* Phi(x) = (1 + erf(x / sqrt 2)) / 2 */
  float density; /* phi(x) = e^(-x^2 / 2) / sqrt(2 pi) */
};

/* For |x| < 1, Phi(x) is 1/2 plus x times a polynomial of x^2. Else, with a = |x|,
 *     Phi(-a) = e^(-a^2 / 2) R(a):
 * R falls like 1 / a, so R(a) (a + 3) varies little, and a polynomial of
 *     u = (a - 3) / (a + 3) = 1 - 6 / (a + 3)
 * approximates it. Where e^(-a^2 / 2) underflows to 0, so does Phi. */
static inline struct attn_normal attn_normal(float x) {
  float a = x < 0 ? -x : x, t = 1 / (a + 3), u = 1 - 6 * t, z = x * x;
  float e = attn_exponential(-0.5f * z), q = -7.664678e-6f, p = -1.0194756e-3f, tail;
  q = q * z + 1.1351265e-4f, q = q * z - 1.1863530e-3f, q = q * z + 9.9733310e-3f;
  q = q * z - 6.6490360e-2f, q = q * z + 3.9894230e-1f;
  p = p * u + 9.0899160e-4f, p = p * u + 6.9819535e-3f, p = p * u - 1.0444224e-2f;
  p = p * u - 4.7264970e-2f, p = p * u + 2.3001674e-1f, p = p * u - 5.0933194e-1f;
  p = p * u + 7.2908370e-1f, tail = e * (p * t);
  return (struct attn_normal){a < 1 ? 0.5f + x * q : x < 0 ? tail : 1 - tail, 0x1.988454p-2f * e};
}

#endif
