/* tensor.h -- views of a call at rank 4: access and checks. */
#ifndef ATTN_SDPA_TENSOR_H
#define ATTN_SDPA_TENSOR_H

#include "view.h"

/* The same view at rank 4, with dimensions of size 1 in front. Dimensions of size 1 get a stride
 * that is safe to multiply, and a view without elements gets a valid address. */
attn_tensor attn_tensor_rank4(const attn_tensor *t);

/* Element (a, b, c, d) of a view of rank 4. */
static inline char *attn_tensor_at(const attn_tensor *t, int64_t a, int64_t b, int64_t c,
                                   int64_t d) {
  return attn_view_at(
      t, a * t->strides[0] + b * t->strides[1] + c * t->strides[2] + d * t->strides[3]);
}

/* Element (a, b) of an int32 or int64 view of rank 1 or 2. */
int64_t attn_tensor_integer(const attn_tensor *t, int64_t a, int64_t b);

/* Element h of a view (Hq), or (b, h) of (B, Hq): ALiBi slopes, sinks. */
double attn_tensor_per_head(const attn_tensor *t, int64_t b, int64_t h);

/* Stores row (a, b, c) of a view of rank 4, each element rounded once. */
void attn_tensor_store_row(const attn_tensor *t, int64_t a, int64_t b, int64_t c,
                           const double *values);

/* Sets all elements of a view of a float type to 0; NULL: nothing. */
void attn_tensor_clear(const attn_tensor *t);

/* Checks that t has the last `rank` dimensions of like, a view of rank 4, and this type. *wide is t
 * at rank 4. */
attn_status attn_tensor_check_like(const attn_tensor *t, const char *name, const attn_tensor *like,
                                   int rank, attn_dtype dtype, attn_tensor *wide, attn_error *err);

/* The same for an optional result, float32 or float64; NULL is ATTN_OK. */
attn_status attn_tensor_check_result(const attn_tensor *t, const char *name,
                                     const attn_tensor *like, int rank, attn_tensor *wide,
                                     attn_error *err);

/* The same for the gradient of `of`, at its rank. If `of` is NULL, t must be NULL, because of
 * `absent`. */
attn_status attn_tensor_check_gradient(const attn_tensor *t, const char *name,
                                       const attn_tensor *of, const char *absent,
                                       const attn_tensor *like, attn_tensor *wide, attn_error *err);

#endif
