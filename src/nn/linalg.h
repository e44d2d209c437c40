/* linalg.h -- matrix products. linalg.c is the one file that knows oneDNN. */
#ifndef ATTN_NN_LINALG_H
#define ATTN_NN_LINALG_H

#include "layer.h"

enum attn_factors {
  ATTN_FLOATS,
  ATTN_HALVES,          /* bf16, where attn_matmul_has_bf16 */
  ATTN_FLOATS_BY_KERNEL /* float32 by the way that bf16 takes, to be tested on any CPU */
};

/* A matrix in memory, row by row, step elements from row to row. */
struct attn_matrix {
  const void *at;
  int64_t step;
  int transposed;         /* what is multiplied is the transpose of what stands there */
  enum attn_factors type; /* one for both factors */
};

/* c (rows, columns) = or, with add, += a (rows, inner) b (inner, columns).
 * Each element is summed by one thread in one order: the same bits for one shape and number of
 * threads, on one machine. ATTN_ERR_MEMORY where oneDNN finds none. */
attn_status attn_matmul(const struct attn_host *host, int64_t rows, int64_t columns, int64_t inner,
                        struct attn_matrix a, struct attn_matrix b, float *c, int64_t c_step,
                        int add, attn_error *err);

/* Does oneDNN multiply bf16 on this CPU? From AVX-512 on it does; sums are of float32. */
int attn_matmul_has_bf16(void);

/* ---- Weights that are multiplied again and again, by few rows each time ---- */

/* A copy of weights as oneDNN likes to read them: with 32 rows 1.4 times as fast as attn_matmul,
 * with 4 rows 2.5 times (Zen 3). Threads may share it. */
struct attn_packed;

/* Of w (out, in); b (out) is NULL or must live as long. half: rounded to bf16. */
attn_status attn_packed_new(const float *w, const float *b, int64_t in, int64_t out, int half,
                            struct attn_packed **packed, attn_error *err);
void attn_packed_free(struct attn_packed *packed);

/* y (n, out) = x w^T + b of x (n, in), on the caller's thread; half: x as half.h writes it. A row's
 * bits do not depend on its neighbours. */
attn_status attn_packed_multiply(struct attn_packed *packed, float *y, const void *x, int64_t n,
                                 attn_error *err);

#endif
