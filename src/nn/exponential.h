/* exponential.h -- e^x, the logistic function and tanh in float32 without branches or calls, so
 * that loops over them vectorize. */
#ifndef ATTN_NN_EXPONENTIAL_H
#define ATTN_NN_EXPONENTIAL_H

#include <stdint.h>
#include <string.h>

/* x = k log 2 + r: e^x = 2^k e^r, e^r a polynomial of degree 7 (Cephes). The relative
 * error is at most 2^-23 for x in -87 .. 88. Below, the result is 0; above, e^88; of NaN, NaN. */
static inline float attn_exponential(float x) {
  const float shift = 0x1.8p23f; /* adding it rounds to an integer */
  float clamped = x > 88 ? 88 : x, z = clamped < -87 ? -87 : clamped, e;
  float shifted = z * 0x1.715476p0f + shift, k = shifted - shift;
  float r = z - k * 0x1.63p-1f - k * -0x1.bd0106p-13f, p = 1.9875691500e-4f;
  uint32_t bits, of_shift = 0x4b400000;
  p = p * r + 1.3981999507e-3f, p = p * r + 8.3334519073e-3f, p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f, p = p * r + 5.0000001201e-1f, p = p * (r * r) + r + 1;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits - of_shift + 127) << 23;
  memcpy(&e, &bits, sizeof e);
  return x < -87 ? 0 : p * e;
}

/* The relative error is at most 2^-22 for x above -87. */
static inline float attn_sigmoid(float x) { return 1 / (1 + attn_exponential(-x)); }

/* For |x| < 0.625 an odd polynomial of degree 11 (Cephes), else 1 - 2 / (e^(2 |x|) + 1) with x's
 * sign. The relative error is at most 2^-22. */
static inline float attn_tanh(float x) {
  const float z = x * x, a = x < 0 ? -x : x, far = 1 - 2 / (attn_exponential(2 * a) + 1);
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f, p = p * z - 5.37397155531e-2f, p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  return a < 0.625f ? p * z * x + x : x < 0 ? -far : far;
}

#endif
