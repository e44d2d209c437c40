/* layer_matrix.h -- matrices of an attention layer, dense and of one type, and their products. */
#ifndef ATTN_NN_LAYER_MATRIX_H
#define ATTN_NN_LAYER_MATRIX_H

#include "matmul.h"

enum { ATTN_LAYER_BUFFERS = 32 };

/* The memory of a call; all of it is allocated before anything is computed. */
struct attn_layer_memory {
  struct attn_host host;
  attn_dtype type; /* that is computed in: ATTN_F32 or ATTN_F64 */
  int count, failed;
  void *buffers[ATTN_LAYER_BUFFERS];
};

/* A view of rank at least 2 as a matrix: `rows` over all dimensions but the last. */
struct attn_layer_matrix {
  const attn_tensor *view; /* NULL: absent, or not the caller's */
  int64_t rows, columns;
  void *at; /* its elements, dense in the memory's type: view's own, or a buffer */
};

/* Memory of rows x columns elements; on failure NULL, and failed is set. */
void *attn_layer_take(struct attn_layer_memory *m, int64_t rows, int64_t columns);
void attn_layer_release(struct attn_layer_memory *m);

/* The matrix of a view, which may be NULL; takes memory if its elements are not as needed. */
struct attn_layer_matrix attn_layer_matrix_of(struct attn_layer_memory *m, const attn_tensor *view);

/* Copies the elements of a view to the memory that was taken for it, and back, rounded once. */
void attn_layer_load(const struct attn_layer_memory *m, const struct attn_layer_matrix *x);
void attn_layer_store(const struct attn_layer_memory *m, const struct attn_layer_matrix *x);

/* c = or, with add, += a b; a and b each transposed or not. Sums run over the inner dimension in
 * order: the same bits for any number of threads. */
attn_status attn_layer_multiply(const struct attn_layer_memory *m,
                                const struct attn_layer_matrix *a, int a_transposed,
                                const struct attn_layer_matrix *b, int b_transposed, void *c,
                                int add, attn_error *err);

#endif
