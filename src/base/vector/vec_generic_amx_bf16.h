/* vec_generic_amx_bf16.h -- the software model of vec_amx_bf16.h. After vec_generic_bf16.h. */

static _Thread_local vf tiles[8][16];
static _Thread_local int tiles_are_open;

/* A tile that is used while none is set up contains NaN. */
VEC_LANES void tiles_fill(float x) {
  for (int n = 0; n < 8 * 16; n++) tiles[n / 16][n % 16] = vf_set(x);
}

VEC_INLINE void tiles_open(void) { tiles_fill(0), tiles_are_open = 1; }
VEC_INLINE void tiles_close(void) { tiles_fill(NAN), tiles_are_open = 0; }
VEC_INLINE void tiles_see_memory(void) {}

VEC_LANES void tile_clear(int n) {
  for (int row = 0; row < 16; row++) tiles[n][row] = vf_set(tiles_are_open ? 0 : NAN);
}

VEC_LANES void tile_load(int n, const void *from, int64_t row_bytes) {
  for (int row = 0; row < 16; row++)
    memcpy(&tiles[n][row], (const char *)from + row * row_bytes, sizeof tiles[n][row]);
}

VEC_LANES void tile_store(int n, void *to, int64_t row_bytes) {
  for (int row = 0; row < 16; row++)
    memcpy((char *)to + row * row_bytes, &tiles[n][row], sizeof tiles[n][row]);
}

/* The pseudocode of TDPBF16PS in Intel's manual. */
VEC_LANES void tile_dot(int c, int a, int b) {
  for (int row = 0; row < 16; row++) {
    vf even = vf_set(0.0f), odd = even;
    for (int k = 0; k < 16; k++) {
      const vf pair = vf_set_pair((const struct bf16_pair *)(const void *)&tiles[a][row] + k);
      even = vf_fma_flushed(vf_pair_element(pair, 0), vf_pair_element(tiles[b][k], 0), even);
      odd = vf_fma_flushed(vf_pair_element(pair, 1), vf_pair_element(tiles[b][k], 1), odd);
    }
    tiles[c][row] = vf_flush(vf_flush(tiles[c][row]) + vf_flush(even + odd));
  }
}

VEC_LANES void vf_transpose_bf16(const char *const rows[32], int64_t e, vf column[8]) {
  for (int n = 0; n < 8; n++) {
    uint16_t element[2 * VL];
    for (int row = 0; row < 2 * VL; row++) memcpy(element + row, rows[row] + 2 * (e + n), 2);
    memcpy(column + n, element, sizeof column[n]);
  }
}
