/* vec_avx512_bf16.h -- vector operations on pairs of bf16 for sdpa_bf16.inc, in AVX512-BF16. After
 * vec_avx512.h. A vector of pairs has one in the bits of each lane. */
#include <string.h>

struct bf16_pair {
  uint16_t of[2];
};

/* The pair in every lane; any alignment. */
VEC_INLINE vf vf_set_pair(const struct bf16_pair *p) {
  int32_t bits;
  memcpy(&bits, p, sizeof bits);
  return _mm512_castsi512_ps(_mm512_set1_epi32(bits));
}

/* sum + a[1] b[1] + a[0] b[0] in each lane: two fused multiply-adds in this order. Subnormal
 * factors, sums and results are 0. */
VEC_INLINE vf vf_dot_pairs(vf a, vf b, vf sum) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

/* Pairs of the low and the high half's elements. */
VEC_INLINE vf vf_zip_halves(__m512i halves) {
  const __m512i zip = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8,
                                       23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_castsi512_ps(_mm512_permutexvar_epi16(zip, halves));
}

/* Rounds two vectors to nearest even; subnormal values become 0. To pairs of their lanes, or of
 * neighbouring lanes: those of low, then those of high. */
VEC_INLINE vf vf_round_neighbours(vf low, vf high) { return (vf)_mm512_cvtne2ps_pbh(high, low); }
VEC_INLINE vf vf_round_pairs(vf even, vf odd) {
  return vf_zip_halves((__m512i)vf_round_neighbours(even, odd));
}

/* VL elements of two rows as pairs. */
VEC_INLINE vf vf_zip_bf16(const char *even, const char *odd) {
  __m512i low = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i_u *)even));
  return vf_zip_halves(_mm512_inserti64x4(low, _mm256_loadu_si256((const __m256i_u *)odd), 1));
}

/* 0 in place of the elements of lanes that are not set. */
VEC_INLINE vf vf_keep_pairs(vm even, vm odd, vf pairs) {
  __m512i low = _mm512_maskz_mov_epi32(even, _mm512_set1_epi32(0xFFFF));
  __m512i high = _mm512_maskz_mov_epi32(odd, _mm512_set1_epi32(-0x10000));
  __m512i kept = _mm512_and_si512(_mm512_castps_si512(pairs), _mm512_or_si512(low, high));
  return _mm512_castsi512_ps(kept);
}

/* table[the last five bits of x] */
VEC_INLINE vf vf_look_up(const float table[32], vf x) {
  return _mm512_permutex2var_ps(_mm512_load_ps(table), _mm512_castps_si512(x),
                                _mm512_load_ps(table + 16));
}

/* p 2^floor(n), rounded once. */
VEC_INLINE vf vf_scale2_floor(vf p, vf n) { return _mm512_scalef_ps(p, n); }
