/* tensor_rows.h -- elements of tensors of any float type, read as double and rounded back once. */
#ifndef ATTN_NN_TENSOR_ROWS_H
#define ATTN_NN_TENSOR_ROWS_H

#include "attn/attn.h"

enum { ATTN_ROW_CHUNK = 256 }; /* elements that layers process at a time */

/* A row is one choice of the dimensions before `first`; its elements, row-major over the others,
 * are counted from 0. These copy elements from .. from + count - 1 of a row. */
void attn_row_load(const attn_tensor *t, int first, int64_t row, int64_t from, int64_t count,
                   double *to);
void attn_row_store(const attn_tensor *t, int first, int64_t row, int64_t from, int64_t count,
                    const double *values);

/* The address of a row's first element. */
char *attn_row_data(const attn_tensor *t, int first, int64_t row);

#endif
