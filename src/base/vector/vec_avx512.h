/* vec_avx512.h -- vector operations for sdpa_f32.inc and gemm.inc in AVX-512: 16 lanes, 32
 * registers. */
#include <immintrin.h>
#include <stdint.h>

#include "transpose_8.h"

#define VL 16
#define VEC_INLINE static inline __attribute__((always_inline))

typedef __m512 vf;    /* floats */
typedef __mmask16 vm; /* a bit for each lane */

VEC_INLINE vf vf_set(float x) { return _mm512_set1_ps(x); }
VEC_INLINE vf vf_load(const float *p) { return _mm512_load_ps(p); }
VEC_INLINE vf vf_loadu(const float *p) { return _mm512_loadu_ps(p); }
VEC_INLINE void vf_store(float *p, vf x) { _mm512_store_ps(p, x); }
VEC_INLINE void vf_storeu(float *p, vf x) { _mm512_storeu_ps(p, x); }
VEC_INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
VEC_INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
VEC_INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
VEC_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
VEC_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
VEC_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); } /* b where either is NaN */
VEC_INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); } /* likewise */
VEC_INLINE vf vf_round(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT); }

VEC_INLINE vm vm_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
VEC_INLINE vm vm_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
VEC_INLINE vm vm_ne(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
VEC_INLINE vm vm_not(vm a) { return (vm)~a; }
VEC_INLINE uint32_t vm_bits(vm a) { return a; } /* bit n: lane n */
VEC_INLINE vf vf_select(vm m, vf yes, vf no) { return _mm512_mask_blend_ps(m, no, yes); }
VEC_INLINE vf vf_keep(vm m, vf a) { return _mm512_maskz_mov_ps(m, a); }       /* 0 where not m */
VEC_INLINE vf vf_clear(vm m, vf a) { return _mm512_maskz_mov_ps((vm)~m, a); } /* 0 where m */
VEC_INLINE vf vf_scale2(vf p, vf n) { return _mm512_scalef_ps(p, n); }

/* Lanes whose word has the bit. */
VEC_INLINE vm vm_test(const uint32_t *words, uint32_t bit) {
  return _mm512_test_epi32_mask(_mm512_load_si512(words), _mm512_set1_epi32((int)bit));
}
/* Bit n: byte n of 32 is not 0. */
VEC_INLINE uint32_t vb_nonzero(const char *p) {
  __m256i bytes = _mm256_loadu_si256((const __m256i_u *)p);
  return _mm256_test_epi8_mask(bytes, bytes);
}

/* a b + c, rounded once by every kernel. */
VEC_INLINE vf vf_fused(vf a, vf b, vf c) { return vf_fma(a, b, c); }

/* x * by in double, rounded to float. */
VEC_INLINE vf vf_mul_double(vf x, double by) {
  __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x)), factor = _mm512_set1_pd(by);
  __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_mul_pd(low, factor))),
                            _mm512_cvtpd_ps(_mm512_mul_pd(high, factor)), 1);
}

VEC_INLINE vf vf_load_bf16(const char *p) {
  __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i_u *)p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
VEC_INLINE void vf_store_f16(char *p, vf x) {
  _mm256_storeu_si256((__m256i_u *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
VEC_INLINE vf vf_load_f16(const char *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)p));
}

enum {
  TRANSPOSE_COLUMNS = 8
}; /* columns per call: lanes 0 to 7 of the first eight rows, then the others */
VEC_INLINE void vf_transpose(const float *const rows[VL], int64_t at,
                             vf column[TRANSPOSE_COLUMNS]) {
  __m256 low[TRANSPOSE_COLUMNS], high[TRANSPOSE_COLUMNS];
  transpose_8(rows, at, low), transpose_8(rows + 8, at, high);
  _Pragma("GCC unroll 8") for (int n = 0; n < TRANSPOSE_COLUMNS; n++) column[n] =
      _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(low[n])),
                                          _mm256_castps_pd(high[n]), 1));
}

VEC_INLINE vf vf_load_i8(const char *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i_u *)p)));
}

/* Lane n is the sum of x[n]: lanes l and l + 8 first, then l and l + 4, 2 and 1. */
VEC_INLINE vf vf_sum_each(const vf x[VL]) {
  vf y[VL / 2];
  _Pragma("GCC unroll 8") for (int n = 0; n < VL / 2; n++) {
    vf a = x[n / 4 * 8 + n % 4], b = x[n / 4 * 8 + n % 4 + 4];
    y[n] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
  }
  _Pragma("GCC unroll 4") for (int n = 0; n < VL / 4; n++) y[n] = _mm512_add_ps(
      _mm512_shuffle_f32x4(y[n], y[n + 4], 0x88), _mm512_shuffle_f32x4(y[n], y[n + 4], 0xDD));
  _Pragma("GCC unroll 2") for (int n = 0; n < VL / 8; n++) {
    __m512d a = _mm512_castps_pd(y[2 * n]), b = _mm512_castps_pd(y[2 * n + 1]);
    y[n] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  }
  return _mm512_add_ps(_mm512_shuffle_ps(y[0], y[1], 0x88), _mm512_shuffle_ps(y[0], y[1], 0xDD));
}

/* x in a register: a compiler must not load it again for each use. */
VEC_INLINE vf vf_once(vf x) {
  __asm__("" : "+v"(x));
  return x;
}
