/* matmul.h -- matrix products of float32 and of bf16, summed in float32.
 *
 * Both are one path over packed operands. bf16 operands are packed as bf16. CPUs with AVX512-BF16
 * multiply them directly; on others the micro-kernel converts them to float32 in registers, which
 * is exact and at best as fast as float32. The results differ only by the rounding of sums.
 *
 * |error| <= (n + 1) u sum |a b| for n products, u = 2^-24 [Higham02 sec. 3.1]. On one instruction
 * set the bits of an element depend only on its row of A and its column of B, not on the number of
 * rows, columns or threads. */
#ifndef ATTN_NN_MATMUL_H
#define ATTN_NN_MATMUL_H

#include "layer_common.h"

/* A row-major matrix, its rows `step` elements apart. */
struct attn_gemm_operand {
  const void *at;
  int64_t step;
  int transposed;  /* the operand is the transpose of the matrix in memory */
  attn_dtype type; /* ATTN_F32 or ATTN_BF16; the same for both operands */
};

/* c (rows, columns) = or, with add, += a (rows, inner) b (inner, columns).
 * ATTN_ERR_MEMORY if a thread cannot allocate 304 KiB for packed operands. */
attn_status attn_matmul(const struct attn_host *host, int64_t rows, int64_t columns, int64_t inner,
                        struct attn_gemm_operand a, struct attn_gemm_operand b, float *c,
                        int64_t c_step, int add, attn_error *err);

/* ---- Packed weights, for many products with few rows each ---- */

/* A copy of weights in the order in which the micro-kernels read them. Read-only: threads may share
 * it. */
struct attn_packed_matrix;
struct attn_gemm_kernel;

/* Packs w (out, in) for a kernel (attn_gemm_best()) as type: ATTN_F32, or ATTN_BF16, rounded to
 * nearest. b (out) may be NULL, else it must outlive the result. */
attn_status attn_packed_matrix_new(const struct attn_gemm_kernel *kernel, const float *w,
                                   const float *b, int64_t in, int64_t out, attn_dtype type,
                                   struct attn_packed_matrix **packed, attn_error *err);
void attn_packed_matrix_free(struct attn_packed_matrix *packed);

/* y (n, out) = x w^T + b for x (n, in) of the weights' type, on the caller's thread. Allocates no
 * memory. */
void attn_packed_matmul(const struct attn_packed_matrix *packed, float *y, const void *x,
                        int64_t n);

#endif
