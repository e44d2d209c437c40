/* vec_amx_bf16.h -- vector operations of sdpa_tiles.inc in AMX-BF16. After vec_avx512_bf16.h.
 *
 * There are eight tiles, each of 16 rows of 64 bytes; their numbers are literals.
 */

/* Sets up all tiles; before the first one is used, on each thread. */
VEC_INLINE void tiles_open(void) {
  struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } shape = {.palette = 1};
  for (int n = 0; n < 8; n++) shape.row_bytes[n] = 64, shape.rows[n] = 16;
  __asm__ volatile("" : : "r"(&shape) : "memory");
  _tile_loadconfig(&shape);
}

/* A thread that keeps tiles has 8 KiB more to save at each switch, and a CPU that does not rest. */
VEC_INLINE void tiles_close(void) { _tile_release(); }

/* The compiler writes what tiles read next: gcc's _tile_loadd does not declare that it reads. */
VEC_INLINE void tiles_see_memory(void) { __asm__ volatile("" : : : "memory"); }

#define tile_clear(n) _tile_zero(n)
#define tile_load(n, from, row_bytes) _tile_loadd(n, from, row_bytes)
#define tile_store(n, to, row_bytes) _tile_stored(n, to, row_bytes)

/* c[m][n] += sum_k a[m][2 k] b[k][2 n] + sum_k a[m][2 k + 1] b[k][2 n + 1], with 16 values of k,
 * each sum by fused multiply-adds. Subnormal factors, sums and results are 0. */
#define tile_dot(c, a, b) _tile_dpbf16ps(c, a, b)

/* column[n] has element e + n of each of 32 rows of bf16. */
VEC_INLINE void vf_transpose_bf16(const char *const rows[32], int64_t e, vf column[8]) {
  __m512i x[8], y[8];
  _Pragma("GCC unroll 8") for (int n = 0; n < 8; n++) {
    x[n] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i_u *)(rows[n] + 2 * e)));
    x[n] = _mm512_inserti32x4(x[n], _mm_loadu_si128((const __m128i_u *)(rows[8 + n] + 2 * e)), 1);
    x[n] = _mm512_inserti32x4(x[n], _mm_loadu_si128((const __m128i_u *)(rows[16 + n] + 2 * e)), 2);
    x[n] = _mm512_inserti32x4(x[n], _mm_loadu_si128((const __m128i_u *)(rows[24 + n] + 2 * e)), 3);
  }
  _Pragma("GCC unroll 4") for (int n = 0; n < 4; n++) {
    y[n] = _mm512_unpacklo_epi16(x[2 * n], x[2 * n + 1]);
    y[4 + n] = _mm512_unpackhi_epi16(x[2 * n], x[2 * n + 1]);
  }
  _Pragma("GCC unroll 4") for (int n = 0; n < 8; n += 2) { /* columns 2 n and 2 n + 2 */
    x[n] = _mm512_unpacklo_epi32(y[n], y[n + 1]);
    x[n + 1] = _mm512_unpackhi_epi32(y[n], y[n + 1]);
  }
  _Pragma("GCC unroll 2") for (int n = 0; n < 8; n += 4) {
    _Pragma("GCC unroll 2") for (int half = 0; half < 2; half++) {
      const __m512i low = x[n + half], high = x[n + 2 + half];
      column[n + 2 * half] = _mm512_castsi512_ps(_mm512_unpacklo_epi64(low, high));
      column[n + 2 * half + 1] = _mm512_castsi512_ps(_mm512_unpackhi_epi64(low, high));
    }
  }
}
