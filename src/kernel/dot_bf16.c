/* dot_bf16.c -- the rate of AVX512_BF16's dot products. */
#include <immintrin.h>

#include "kernel.h"

/* Twelve chains, as of the float32 multiply-adds; they begin with different values, or the compiler
 * would compute equal ones once. */
double attn_dot_bf16(int64_t rounds) {
  enum { CHAINS = 12, OPERATIONS = 64 };
  __m512 sum[CHAINS];
  __m512i bits = _mm512_set1_epi16(0x3c00); /* 2^-7 */
  __asm__ volatile("" : "+v"(bits));        /* unknown to the compiler */
  _Pragma("GCC unroll 12") for (int n = 0; n < CHAINS; n++) sum[n] = _mm512_set1_ps((float)n);
  for (int64_t r = 0; r < rounds; r++)
    _Pragma("GCC unroll 12") for (int n = 0; n < CHAINS; n++) sum[n] =
        _mm512_dpbf16_ps(sum[n], (__m512bh)bits, (__m512bh)bits);
  _Pragma("GCC unroll 12") for (int n = 1; n < CHAINS; n++) sum[0] = _mm512_add_ps(sum[0], sum[n]);
  __asm__ volatile("" : : "v"(sum[0])); /* keeps the loop */
  return (double)rounds * CHAINS * OPERATIONS;
}
