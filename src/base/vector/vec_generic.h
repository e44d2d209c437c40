/* vec_generic.h -- vector operations for sdpa_f32.inc and gemm.inc in C with GNU vectors.
 *
 * The includer sets VL (lanes) and FUSED (1: vf_fma rounds once). With VL 4 it
 * is the portable kernel: SSE2, NEON or whatever the compiler makes of it. With
 * VL 16 and FUSED it is the software model of AVX-512: the same lanes, the same
 * order of the same roundings, hence the same bits, on any machine.
 */
#ifdef __FMA__
#include <immintrin.h>
#endif
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "element.h"

/* Vectors are only passed to inlined functions: their ABI does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define VEC_INLINE static inline __attribute__((always_inline))

/* Operations lane by lane. Those of the software model are calls: inlined, sixteen lanes each time,
 * they take half a minute to compile. */
#if FUSED
#define VEC_LANES static __attribute__((noinline, unused))
#else
#define VEC_LANES VEC_INLINE
#endif

typedef float vf __attribute__((vector_size(4 * VL)));
typedef int32_t vm __attribute__((vector_size(4 * VL))); /* -1 or 0 in each lane */

VEC_INLINE vf vf_set(float x) { return x - (vf){0}; }
VEC_INLINE vf vf_load(const float *p) { return *(const vf *)__builtin_assume_aligned(p, 4 * VL); }
VEC_INLINE vf vf_loadu(const float *p) {
  vf x = {0};
  memcpy(&x, p, sizeof x);
  return x;
}
VEC_INLINE void vf_store(float *p, vf x) { *(vf *)__builtin_assume_aligned(p, 4 * VL) = x; }
VEC_INLINE void vf_storeu(float *p, vf x) { memcpy(p, &x, sizeof x); }
VEC_INLINE vf vf_add(vf a, vf b) { return a + b; }
VEC_INLINE vf vf_sub(vf a, vf b) { return a - b; }
VEC_INLINE vf vf_mul(vf a, vf b) { return a * b; }
VEC_INLINE vf vf_div(vf a, vf b) { return a / b; }
VEC_INLINE vf vf_select(vm m, vf yes, vf no) { return (vf)(((vm)yes & m) | ((vm)no & ~m)); }
VEC_INLINE vm vm_lt(vf a, vf b) { return a < b; }
VEC_INLINE vm vm_le(vf a, vf b) { return a <= b; }
VEC_INLINE vm vm_ne(vf a, vf b) { return a != b; }
VEC_INLINE vm vm_not(vm a) { return ~a; }
VEC_INLINE vf vf_max(vf a, vf b) { return vf_select(a > b, a, b); } /* b where either is NaN */

VEC_INLINE vf vf_min(vf a, vf b) { return vf_select(a < b, a, b); } /* likewise */
VEC_INLINE vf vf_keep(vm m, vf a) { return (vf)((vm)a & m); }       /* 0 where not m */
VEC_INLINE vf vf_clear(vm m, vf a) { return (vf)((vm)a & ~m); }     /* 0 where m */

VEC_LANES uint32_t vm_bits(vm a) { /* bit n: lane n */
  uint32_t bits = 0;
  for (int lane = 0; lane < VL; lane++) bits |= (uint32_t)a[lane] & 1u << lane;
  return bits;
}

/* Lanes whose word has the bit. */
VEC_INLINE vm vm_test(const uint32_t *words, uint32_t bit) {
  vm w;
  memcpy(&w, words, sizeof w);
  return (w & (int32_t)bit) != 0;
}

/* Bit n: byte n of 32 is not 0. */
VEC_LANES uint32_t vb_nonzero(const char *p) {
  uint32_t bits = 0;
  for (int n = 0; n < 32; n++) bits |= (uint32_t)(p[n] != 0) << n;
  return bits;
}

VEC_INLINE vf vf_fma(vf a, vf b, vf c) {
#if FUSED && defined __FMA__ /* some compilers turn the loop below into calls */
  typedef float eight __attribute__((vector_size(32)));
  union {
    vf all;
    eight part[VL / 8];
  } x = {a}, y = {b}, z = {c};
  for (int n = 0; n < VL / 8; n++)
    z.part[n] = (eight)_mm256_fmadd_ps((__m256)x.part[n], (__m256)y.part[n], (__m256)z.part[n]);
  return z.all;
#elif FUSED
  for (int lane = 0; lane < VL; lane++) c[lane] = fmaf(a[lane], b[lane], c[lane]);
  return c;
#else
  return a * b + c;
#endif
}

typedef double vf_wide __attribute__((vector_size(8 * VL)));
#define WIDE(x) __builtin_convertvector(x, vf_wide)

/* a b + c, rounded once by every kernel: unfused in double, whose roundings do not count. */
VEC_INLINE vf vf_fused(vf a, vf b, vf c) {
#if FUSED
  return vf_fma(a, b, c);
#else
  return __builtin_convertvector(WIDE(a) * WIDE(b) + WIDE(c), vf);
#endif
}

/* x * by in double, rounded to float. */
VEC_LANES vf vf_mul_double(vf x, double by) { return __builtin_convertvector(WIDE(x) * by, vf); }

VEC_LANES vf vf_load_bf16(const char *p) {
  vf x = {0};
  for (int lane = 0; lane < VL; lane++) x[lane] = (float)attn_load_real(ATTN_BF16, p + 2 * lane);
  return x;
}
VEC_LANES void vf_store_f16(char *p, vf x) {
  for (int lane = 0; lane < VL; lane++) attn_store_f32(ATTN_F16, p + 2 * lane, x[lane]);
}
VEC_LANES vf vf_load_f16(const char *p) {
  vf x = {0};
  for (int lane = 0; lane < VL; lane++) x[lane] = (float)attn_load_real(ATTN_F16, p + 2 * lane);
  return x;
}

/* To nearest, ties to even, for |a| < 2^22: the bits below the point fall off the end. */
VEC_INLINE vf vf_round(vf a) {
  const vf magic = vf_set(0x1.8p23f);
  return (a + magic) - magic;
}

/* p * 2^n for p in [1/2, 2) and integers n in [-127, 128]: added to the exponent's bits. p where n
 * is below, which no int may hold, or NaN. */
VEC_INLINE vf vf_scale2(vf p, vf n) {
  const vf exponent = vf_keep(vm_le(vf_set(-127.0f), n), n);
  return (vf)((vm)p + (__builtin_convertvector(exponent, vm) << 23));
}

enum { TRANSPOSE_COLUMNS = 4 }; /* columns per call */
VEC_LANES void vf_transpose(const float *const rows[VL], int64_t at, vf column[TRANSPOSE_COLUMNS]) {
  for (int n = 0; n < TRANSPOSE_COLUMNS; n++) {
    vf x = {0};
    for (int lane = 0; lane < VL; lane++) {
      float one; /* rows of bf16 pairs may be unaligned */
      memcpy(&one, (const char *)rows[lane] + (at + n) * (int64_t)sizeof one, sizeof one);
      x[lane] = one;
    }
    column[n] = x;
  }
}

VEC_LANES vf vf_load_i8(const char *p) {
  vf x = {0};
  for (int lane = 0; lane < VL; lane++) x[lane] = (float)((const signed char *)p)[lane];
  return x;
}

/* Lane n is the sum of x[n]: lanes l and l + VL / 2 first, then l and l + VL / 4, and so on. */
VEC_LANES vf vf_sum_each(const vf x[VL]) {
  vf sums = {0};
  for (int n = 0; n < VL; n++) {
    vf y = x[n];
    for (int half = VL / 2; half; half /= 2)
      for (int lane = 0; lane < half; lane++) y[lane] += y[lane + half];
    sums[n] = y[0];
  }
  return sums;
}

VEC_INLINE vf vf_once(vf x) { return x; }
