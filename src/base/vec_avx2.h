/* vec_avx2.h -- vector operations for sdpa_f32.inc and gemm.inc in AVX2 and FMA: 8 lanes, 16
 * registers. */
#include <immintrin.h>

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
VEC_INLINE vm vm_and(vm a, vm b) { return _mm256_and_ps(a, b); }
VEC_INLINE vm vm_not(vm a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1))); }
VEC_INLINE int vm_any(vm a) { return _mm256_movemask_ps(a); }
VEC_INLINE vf vf_select(vm m, vf yes, vf no) { return _mm256_blendv_ps(no, yes, m); }

VEC_INLINE vf vf_clear(vm m, vf a) { return _mm256_andnot_ps(m, a); } /* 0 where m */

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
