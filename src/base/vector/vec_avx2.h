/* vec_avx2.h -- vector operations for sdpa_f32.inc and gemm.inc in AVX2 and FMA: 8 lanes, 16
 * registers. */
#include <immintrin.h>
#include <stdint.h>

#include "transpose_8.h"

#define VL 8
#define VEC_INLINE static inline __attribute__((always_inline))

typedef __m256 vf; /* floats */
typedef __m256 vm; /* a mask: all ones or all zeros in each lane */

VEC_INLINE vf vf_set(float x) { return _mm256_set1_ps(x); }
VEC_INLINE vf vf_load(const float *p) { return _mm256_load_ps(p); }
VEC_INLINE vf vf_loadu(const float *p) { return _mm256_loadu_ps(p); }
VEC_INLINE void vf_store(float *p, vf x) { _mm256_store_ps(p, x); }
VEC_INLINE void vf_storeu(float *p, vf x) { _mm256_storeu_ps(p, x); }
VEC_INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
VEC_INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
VEC_INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
VEC_INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
VEC_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
VEC_INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); } /* b where either is NaN */
VEC_INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); } /* likewise */
VEC_INLINE vf vf_round(vf a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

VEC_INLINE vm vm_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
VEC_INLINE vm vm_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
VEC_INLINE vm vm_ne(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
VEC_INLINE vm vm_not(vm a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1))); }
VEC_INLINE uint32_t vm_bits(vm a) { return (uint32_t)_mm256_movemask_ps(a); } /* bit n: lane n */
VEC_INLINE vf vf_select(vm m, vf yes, vf no) { return _mm256_blendv_ps(no, yes, m); }

VEC_INLINE vf vf_keep(vm m, vf a) { return _mm256_and_ps(m, a); }     /* 0 where not m */
VEC_INLINE vf vf_clear(vm m, vf a) { return _mm256_andnot_ps(m, a); } /* 0 where m */

/* Lanes whose word has the bit. */
VEC_INLINE vm vm_test(const uint32_t *words, uint32_t bit) {
  __m256i b = _mm256_set1_epi32((int)bit), w = _mm256_load_si256((const __m256i *)words);
  return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(w, b), b));
}
/* Bit n: byte n of 32 is not 0. */
VEC_INLINE uint32_t vb_nonzero(const char *p) {
  __m256i bytes = _mm256_loadu_si256((const __m256i_u *)p);
  return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()));
}

/* a b + c, rounded once by every kernel. */
VEC_INLINE vf vf_fused(vf a, vf b, vf c) { return vf_fma(a, b, c); }

/* x * by in double, rounded to float. */
VEC_INLINE vf vf_mul_double(vf x, double by) {
  __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(x)), factor = _mm256_set1_pd(by);
  __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
  return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_mul_pd(high, factor)),
                         _mm256_cvtpd_ps(_mm256_mul_pd(low, factor)));
}

VEC_INLINE vf vf_load_bf16(const char *p) {
  __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i_u *)p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
VEC_INLINE void vf_store_f16(char *p, vf x) {
  _mm_storeu_si128((__m128i_u *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
VEC_INLINE vf vf_load_f16(const char *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)p));
}

/* p * 2^n for p in [1/2, 2) and integers n in [-127, 128]: added to the exponent's bits. */
VEC_INLINE vf vf_scale2(vf p, vf n) {
  __m256i bits = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), bits));
}

enum { TRANSPOSE_COLUMNS = 8 }; /* columns per call */
VEC_INLINE void vf_transpose(const float *const rows[VL], int64_t at,
                             vf column[TRANSPOSE_COLUMNS]) {
  transpose_8(rows, at, column);
}

VEC_INLINE vf vf_load_i8(const char *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i_u *)p)));
}

/* Lane n is the sum of x[n]: lanes l and l + 4 first, then l and l + 2, then l and l + 1. */
VEC_INLINE vf vf_sum_each(const vf x[VL]) {
  vf y[VL / 2];
  _Pragma("GCC unroll 4") for (int n = 0; n < VL / 2; n++) y[n] = _mm256_add_ps(
      _mm256_blend_ps(x[n], x[n + 4], 0xF0), _mm256_permute2f128_ps(x[n], x[n + 4], 0x21));
  _Pragma("GCC unroll 2") for (int n = 0; n < VL / 4; n++) {
    __m256d a = _mm256_castps_pd(y[2 * n]), b = _mm256_castps_pd(y[2 * n + 1]);
    y[n] = _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(a, b)),
                         _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
  }
  return _mm256_add_ps(_mm256_shuffle_ps(y[0], y[1], 0x88), _mm256_shuffle_ps(y[0], y[1], 0xDD));
}

/* x in a register: a compiler must not load it again for each use. */
VEC_INLINE vf vf_once(vf x) {
  __asm__("" : "+x"(x));
  return x;
}
