/* gemm.h -- micro-kernels of matrix products, one set for each instruction set.
 *
 * A micro-kernel multiplies a few rows of A by one packed panel of B. Every element of the result
 * is one chain of fused multiply-adds over at most ATTN_GEMM_DEPTH factors, in order, whatever the
 * tile's size: its bits do not depend on the rows and columns computed beside it. (bf16
 * instructions add pairs of products; without FMA each product is rounded first.) */
#ifndef ATTN_NN_GEMM_H
#define ATTN_NN_GEMM_H

#include "attn/attn.h"

/* Products of the inner dimension that are summed from 0 before the sum is added to C. */
enum { ATTN_GEMM_DEPTH = 256, ATTN_GEMM_MAX_ROWS = 12, ATTN_GEMM_MAX_COLUMNS = 32 };

/* Rows of A as a micro-kernel reads them: element (r, k) is at a + r * row + k * step bytes.
 * float32; where the kernel has bf16 instructions and multiplies bf16, pairs of bf16 (k, k + 1). */
struct attn_gemm_rows {
  const char *a;
  int64_t row, step;
};

/* c (rows, columns) = or, with add, += A (rows, depth) times panel (depth, kernel's columns).
 * columns <= the kernel's: those beyond are padding. */
typedef void attn_gemm_tile(int rows, int64_t depth, const struct attn_gemm_rows *a,
                            const void *panel, float *c, int64_t c_step, int64_t columns, int add);

/* Panels of float32 are (depth, columns) floats; of bf16 (depth / 2, columns) words, each the pair
 * (k, k + 1) with k in the low half. A depth that is odd ends with a 0. */
struct attn_gemm_kernel {
  const char *name;
  int32_t isa;
  int has_bf16;      /* multiplies pairs of bf16; otherwise A of a bf16 product is float32 */
  int rows, columns; /* of a tile */
  attn_gemm_tile *float_tile, *bf16_tile;
  /* Transposes words: to (count, columns) = from (columns, count), its rows `step` words apart, at
   * any address. */
  void (*transpose)(uint32_t *to, const void *from, int64_t step, int64_t count);
};

extern const struct attn_gemm_kernel attn_gemm_scalar;
#ifdef __x86_64__
extern const struct attn_gemm_kernel attn_gemm_avx2, attn_gemm_avx512, attn_gemm_avx512_bf16;
#endif

/* The index-th kernel, NULL after the last; later ones are better. Does this CPU run it? */
const struct attn_gemm_kernel *attn_gemm_entry(int index);
int attn_gemm_runs(const struct attn_gemm_kernel *kernel);

/* The best one for this CPU. */
const struct attn_gemm_kernel *attn_gemm_best(void);

#endif
