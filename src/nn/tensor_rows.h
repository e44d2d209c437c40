/* line.h -- stretches of a tensor's elements, as doubles and back, rounded once. */
#ifndef ATTN_NN_LINE_H
#define ATTN_NN_LINE_H

#include "attn/attn.h"

enum { ATTN_ROW_CHUNK = 256 }; /* the longest stretch that a layer handles at once */

/* count elements, step elements apart, from at on. */
void attn_load_strided(attn_dtype dtype, const char *at, int64_t step, int64_t count, double *to);

/* The other way: each to nearest, ties to even, whatever the type. */
void attn_store_strided(attn_dtype dtype, char *at, int64_t step, int64_t count, const double *from);

/* Elements from .. from + count - 1, row-major, of the last dimensions of t, from `first` on, of
 * the row whose first element stands at `row`. */
void attn_row_load(const attn_tensor *t, int first, const char *row, int64_t from, int64_t count,
                   double *to);
void attn_row_store(const attn_tensor *t, int first, char *row, int64_t from, int64_t count,
                    const double *values);

/* Where row number index begins, rows being what the dimensions before `first` count. */
char *attn_row_data(const attn_tensor *t, int first, int64_t index);

/* The sum of at most ATTN_ROW_CHUNK numbers, always in the same order: eight interleaved sums, so
 * that a compiler may use vectors. */
double attn_line_sum(const double *values, int64_t count);

#endif
