/* linalg.h -- matrix products. linalg.c is the one file that knows oneDNN. */
#ifndef ATTN_NN_LINALG_H
#define ATTN_NN_LINALG_H

#include "layer.h"

/* A matrix in memory, row by row, step elements from row to row. */
struct attn_matrix {
  const float *at;
  int64_t step;
  int transposed; /* what is multiplied is the transpose of what stands there */
};

/* c (rows, columns) = or, with add, += a (rows, inner) b (inner, columns).
 * Each element is summed by one thread in one order: the same bits for one shape and number of
 * threads, on one machine. ATTN_ERR_MEMORY where oneDNN finds none. */
attn_status attn_matmul(const struct attn_host *host, int64_t rows, int64_t columns, int64_t inner,
                        struct attn_matrix a, struct attn_matrix b, float *c, int64_t c_step,
                        int add, attn_error *err);

#endif
