#include "tensor.h"

#include <string.h>

#include "element.h"
#include "error.h"

attn_tensor attn_tensor_dense(attn_dtype dtype, void *data, int64_t n0, int64_t n1, int64_t n2,
                              int64_t n3) {
  attn_tensor t = {data, dtype, 4, {n0, n1, n2, n3}, {0}};
  /* Unsigned: an overflow is detected by the checks of a call, and is not undefined here. */
  uint64_t stride = 1;
  for (int n = 3; n >= 0; n--) {
    t.strides[n] = (int64_t)stride;
    stride *= (uint64_t)t.shape[n];
  }
  return t;
}

size_t attn_dtype_size(attn_dtype dtype) { return (size_t)attn_element_size(dtype); }

const char *attn_dtype_name(attn_dtype dtype) { return attn_element_name(dtype); }

int64_t attn_tensor_integer(const attn_tensor *t, int64_t a, int64_t b) {
  int64_t at = a * t->strides[0] + (t->rank > 1 ? b * t->strides[1] : 0);
  return attn_load_integer(t->dtype, attn_view_at(t, at));
}

double attn_tensor_per_head(const attn_tensor *t, int64_t b, int64_t h) {
  int64_t at = t->rank == 2 ? b * t->strides[0] + h * t->strides[1] : h * t->strides[0];
  return attn_load_real(t->dtype, attn_view_at(t, at));
}

attn_tensor attn_tensor_rank4(const attn_tensor *t) {
  static const double nowhere;
  attn_tensor wide = {t->data, t->dtype, 4, {1, 1, 1, 1}, {0}};
  int shift = 4 - t->rank, empty = 0;
  for (int n = 0; n < t->rank; n++) {
    wide.shape[n + shift] = t->shape[n];
    wide.strides[n + shift] = t->shape[n] == 1 ? n + 1 == t->rank : t->strides[n];
    empty |= t->shape[n] == 0;
  }
  if (!empty) return wide;
  memset(wide.strides, 0, sizeof wide.strides);
  wide.data = (void *)(uintptr_t)&nowhere, wide.strides[3] = 1;
  return wide;
}

void attn_tensor_store_row(const attn_tensor *t, int64_t a, int64_t b, int64_t c,
                           const double *values) {
  attn_store_reals(t->dtype, attn_tensor_at(t, a, b, c, 0), t->strides[3], t->shape[3], values);
}

void attn_tensor_clear(const attn_tensor *given) {
  if (!given) return;
  const attn_tensor t = attn_tensor_rank4(given);
  const size_t row = t.strides[3] == 1 ? (size_t)t.shape[3] * attn_dtype_size(t.dtype) : 0;
  for (int64_t a = 0; a < t.shape[0]; a++)
    for (int64_t b = 0; b < t.shape[1]; b++)
      for (int64_t c = 0; c < t.shape[2]; c++) {
        if (row) memset(attn_tensor_at(&t, a, b, c, 0), 0, row); /* the bits of 0 */
        for (int64_t d = 0; !row && d < t.shape[3]; d++)
          attn_store_real(t.dtype, attn_tensor_at(&t, a, b, c, d), 0);
      }
}

attn_status attn_tensor_check_like(const attn_tensor *t, const char *name, const attn_tensor *like,
                                   int rank, attn_dtype dtype, attn_tensor *wide, attn_error *err) {
  attn_status status = attn_view_check(t, name, err);
  if (status) return status;
  char got[ATTN_SHAPE_TEXT], wanted[ATTN_SHAPE_TEXT];
  attn_tensor form = *like;
  form.rank = rank;
  for (int n = 0; n < rank; n++) form.shape[n] = like->shape[n + 4 - rank];
  int fits = t->rank == rank;
  for (int n = 0; fits && n < rank; n++) fits = t->shape[n] == form.shape[n];
  if (!fits)
    return attn_fail(err, ATTN_ERR_SHAPE, name, "%s is %s; it must be %s", name,
                     attn_view_text(t, got), attn_view_text(&form, wanted));
  if (t->dtype != dtype)
    return attn_fail(err, ATTN_ERR_TYPE, name, "%s is %s; it must be %s", name,
                     attn_dtype_name(t->dtype), attn_dtype_name(dtype));
  *wide = attn_tensor_rank4(t);
  return ATTN_OK;
}

attn_status attn_tensor_check_result(const attn_tensor *t, const char *name,
                                     const attn_tensor *like, int rank, attn_tensor *wide,
                                     attn_error *err) {
  if (!t) return ATTN_OK;
  attn_dtype dtype = t->dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
  return attn_tensor_check_like(t, name, like, rank, dtype, wide, err);
}

attn_status attn_tensor_check_gradient(const attn_tensor *t, const char *name,
                                       const attn_tensor *of, const char *absent,
                                       const attn_tensor *like, attn_tensor *wide,
                                       attn_error *err) {
  if (t && !of) return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s must be NULL: %s", name, absent);
  return t ? attn_tensor_check_result(t, name, like, of->rank, wide, err) : ATTN_OK;
}
