#include "half_rows.h"

#include <string.h>

#include "clones.h"
#include "element.h"

/* Weights stand as they are read: PANEL outputs side by side, block by block. A word has those of
 * two inputs that are LANES apart, the first in its low half: a shift and a mask make vectors of
 * inputs that are neighbours. What is no weight is 0. */
enum { LANES = 8, BLOCK = 2 * LANES, PANEL = 4, ROWS = 2, AHEAD = 8 * PANEL * LANES };

typedef float floats __attribute__((vector_size(LANES * sizeof(float))));
typedef uint32_t words __attribute__((vector_size(LANES * sizeof(uint32_t))));

static int64_t blocks_of(int64_t in) { return (in + BLOCK - 1) / BLOCK; }

uint64_t attn_half_rows_size(int64_t in, int64_t out) {
  return (uint64_t)((out + PANEL - 1) / PANEL * PANEL * blocks_of(in)) * sizeof(words);
}

void attn_half_rows_pack(uint32_t *packed, const float *w, int64_t in, int64_t out) {
  memset(packed, 0, attn_half_rows_size(in, out));
  for (int64_t o = 0; o < out; o++)
    for (int64_t k = 0; k < in; k++) {
      int64_t block = (o / PANEL * blocks_of(in) + k / BLOCK) * PANEL + o % PANEL;
      packed[block * LANES + k % LANES] |= (uint32_t)attn_to_bf16(w[o * in + k])
                                           << (k % BLOCK < LANES ? 0 : 16);
    }
}

/* One panel by rows of x, which so share its reading; the last block of x by a copy. */
static inline __attribute__((always_inline)) void dot(float sums[ROWS][PANEL], const float *x,
                                                      const int rows, const uint32_t *panel,
                                                      int64_t in) {
  floats sum[ROWS][PANEL] = {{{0}}}, first, second;
  float end[ROWS][BLOCK] = {{0}};
  for (int64_t k = 0; k < in; k += BLOCK, panel += PANEL * LANES)
    for (int r = 0; r < rows; r++) {
      const float *at = x + r * in + k;
      if (in - k < BLOCK) at = memcpy(end[r], at, (size_t)(in - k) * sizeof *at);
      memcpy(&first, at, sizeof first), memcpy(&second, at + LANES, sizeof second);
      for (int o = 0; o < PANEL; o++) {
        words two;
        __builtin_prefetch((const void *)((uintptr_t)(panel + o * LANES) + AHEAD * sizeof *panel));
        memcpy(&two, panel + o * LANES, sizeof two);
        sum[r][o] += first * (floats)(two << 16);
        sum[r][o] += second * (floats)(two & 0xFFFF0000);
      }
    }
  for (int r = 0; r < rows; r++)
    for (int o = 0; o < PANEL; o++) {
      const floats s = sum[r][o];
      sums[r][o] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }
}

ATTN_CLONES
static void multiply(float *y, const float *x, const uint32_t *packed, const float *b, int64_t n,
                     int64_t in, int64_t out) {
  float sums[ROWS][PANEL];
  for (int64_t o = 0; o < out; o += PANEL, packed += blocks_of(in) * PANEL * LANES)
    for (int64_t row = 0; row < n; row += ROWS) {
      int rows = n - row < ROWS ? 1 : ROWS;
      if (rows == 1)
        dot(sums, x + row * in, 1, packed, in);
      else
        dot(sums, x + row * in, ROWS, packed, in);
      for (int r = 0; r < rows; r++)
        for (int64_t p = 0; p < PANEL && o + p < out; p++)
          y[(row + r) * out + o + p] = sums[r][p] + (b ? b[o + p] : 0);
    }
}

/* A function that others call cannot be cloned itself: its clones would be seen outside. */
void attn_half_rows_multiply(float *y, const float *x, const uint32_t *packed, const float *b,
                             int64_t n, int64_t in, int64_t out) {
  multiply(y, x, packed, b, n, in, out);
}
