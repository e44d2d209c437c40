/* gemm.h -- micro-kernels of matrix products, one set for each instruction set.
 *
 * A micro-kernel multiplies a few rows of A by one packed panel of B. Every element of the result
 * is one chain of fused multiply-adds over at most ATTN_GEMM_DEPTH products, in order, for every
 * size of the tile: its bits do not depend on the other rows and columns. (bf16 instructions add
 * pairs of products; without FMA each product is rounded first.) */
#ifndef ATTN_NN_GEMM_H
#define ATTN_NN_GEMM_H

#include "attn/attn.h"

/* A block of the inner dimension (DEPTH) is summed from 0 before the sum is added to C. */
enum { ATTN_GEMM_DEPTH = 256, ATTN_GEMM_MAX_ROWS = 12, ATTN_GEMM_MAX_COLUMNS = 32 };

/* Rows of A as a micro-kernel reads them: element (r, k) is at a + r * row + k * step bytes, and
 * `jump` bytes more for each `run` elements before it, where run is not 0: the rows of an image. An
 * element is a float32 or, for bf16 instructions, a pair of bf16 (k, k + 1). A kernel that streams
 * prefetches from `ahead` at each step, ahead_step bytes further. */
struct attn_gemm_rows {
  const char *a;
  int64_t row, step;
  int64_t run, jump; /* run: 0, or divides the depth */
  const char *ahead; /* NULL: nothing */
  int64_t ahead_step;
};

/* c (rows, columns) = or, with add, += A (rows, depth) times panel (depth, kernel's columns).
 * The kernel's further columns are padding. */
typedef void attn_gemm_tile(int rows, int64_t depth, const struct attn_gemm_rows *a,
                            const void *panel, float *c, int64_t c_step, int64_t columns, int add);

/* A panel of float32 is (depth, columns) floats; of bf16 (depth / 2, columns) 32-bit words, each
 * the pair (k, k + 1) with k in the low 16 bits. An odd depth is padded with 0. */
struct attn_gemm_kernel {
  const char *name;
  int32_t isa;
  int has_bf16;      /* has bf16 instructions; else A of a bf16 product is converted to float32 */
  int rows, columns; /* of a tile */
  int streams; /* reads packed weights panel by panel: each stays in L1 for many rows, whose tiles
                  prefetch the next one */
  attn_gemm_tile *float_tile, *bf16_tile;
  /* Transposes 32-bit words: to (count, columns) = from (columns, count), whose rows are to_step
   * and `step` words apart; from may be unaligned. */
  void (*transpose)(uint32_t *to, int64_t to_step, const void *from, int64_t step, int64_t count);
};

extern const struct attn_gemm_kernel attn_gemm_scalar;
#ifdef __x86_64__
extern const struct attn_gemm_kernel attn_gemm_avx2, attn_gemm_avx512, attn_gemm_avx512_bf16;
#endif

/* The index-th kernel, NULL after the last; later ones are faster. attn_gemm_runs: this CPU
 * supports it. */
const struct attn_gemm_kernel *attn_gemm_entry(int index);
int attn_gemm_runs(const struct attn_gemm_kernel *kernel);

/* The fastest that this CPU supports. */
const struct attn_gemm_kernel *attn_gemm_best(void);

#endif
