/* linalg.h -- matrix products of float32 and of bf16, summed in float32.
 *
 * A product of bf16 is exact in float32. CPUs with AVX512-BF16 multiply bf16 directly; elsewhere
 * factors become float32 in registers: as fast as float32 at best, but with the same results up to
 * the rounding of sums.
 *
 * |error| <= (n + 1) u sum |a b| for n products, u = 2^-24 [Higham02 sec. 3.1]. On one instruction
 * set the bits of an element are a function of its row of A and its column of B: not of the number
 * of rows, columns or threads. */
#ifndef ATTN_NN_LINALG_H
#define ATTN_NN_LINALG_H

#include "layer_common.h"

/* A matrix in memory, row by row, step elements from row to row. */
struct attn_gemm_operand {
  const void *at;
  int64_t step;
  int transposed;  /* the factor is the transpose of the matrix in memory */
  attn_dtype type; /* ATTN_F32 or ATTN_BF16; the same for both factors */
};

/* c (rows, columns) = or, with add, += a (rows, inner) b (inner, columns).
 * ATTN_ERR_MEMORY where there is none for 256 KiB of packed factors a thread. */
attn_status attn_matmul(const struct attn_host *host, int64_t rows, int64_t columns, int64_t inner,
                        struct attn_gemm_operand a, struct attn_gemm_operand b, float *c,
                        int64_t c_step, int add, attn_error *err);

/* ---- Weights that are multiplied again and again, by few rows each time ---- */

/* A copy of weights in the order in which products read them. Threads may share it. */
struct attn_packed_matrix;

/* Of w (out, in), kept as type: ATTN_F32, or ATTN_BF16, rounded. b (out) is NULL or must outlive
 * the result. */
attn_status attn_packed_matrix_new(const float *w, const float *b, int64_t in, int64_t out,
                                   attn_dtype type, struct attn_packed_matrix **packed,
                                   attn_error *err);
void attn_packed_matrix_free(struct attn_packed_matrix *packed);

/* y (n, out) = x w^T + b of x (n, in) of the weights' type, on the caller's thread. No memory is
 * allocated. */
void attn_packed_matmul(const struct attn_packed_matrix *packed, float *y, const void *x,
                        int64_t n);

#endif
