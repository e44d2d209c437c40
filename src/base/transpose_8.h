/* transpose_8.h -- transposes eight rows of eight floats. */
#ifndef ATTN_BASE_TRANSPOSE_8_H
#define ATTN_BASE_TRANSPOSE_8_H

#include <immintrin.h>
#include <stdint.h>

/* column[n], lane k = rows[k][at + n]. */
static inline __attribute__((always_inline)) void transpose_8(const float *const rows[8],
                                                              int64_t at, __m256 column[8]) {
  __m256 x[8], y[8];
  _Pragma("GCC unroll 8") for (int n = 0; n < 8; n++) x[n] = _mm256_loadu_ps(rows[n] + at);
  _Pragma("GCC unroll 4") for (int n = 0; n < 8; n += 2) {
    y[n] = _mm256_unpacklo_ps(x[n], x[n + 1]);
    y[n + 1] = _mm256_unpackhi_ps(x[n], x[n + 1]);
  }
  _Pragma("GCC unroll 2") for (int n = 0; n < 8; n += 4) {
    x[n] = _mm256_shuffle_ps(y[n], y[n + 2], 0x44);
    x[n + 1] = _mm256_shuffle_ps(y[n], y[n + 2], 0xEE);
    x[n + 2] = _mm256_shuffle_ps(y[n + 1], y[n + 3], 0x44);
    x[n + 3] = _mm256_shuffle_ps(y[n + 1], y[n + 3], 0xEE);
  }
  _Pragma("GCC unroll 4") for (int n = 0; n < 4; n++) {
    column[n] = _mm256_permute2f128_ps(x[n], x[n + 4], 0x20);
    column[n + 4] = _mm256_permute2f128_ps(x[n], x[n + 4], 0x31);
  }
}

#endif
