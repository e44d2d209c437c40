#include "tensor_rows.h"

#include <string.h>

#include "element.h"
#include "view.h"

void attn_load_strided(attn_dtype dtype, const char *at, int64_t step, int64_t count, double *to) {
  int64_t size = attn_real_size(dtype);
  if (dtype == ATTN_F32 && step == 1) {
    float value;
    for (int64_t n = 0; n < count; n++) memcpy(&value, at + n * 4, 4), to[n] = (double)value;
    return;
  }
  for (int64_t n = 0; n < count; n++) to[n] = attn_load_real(dtype, at + n * step * size);
}

void attn_store_strided(attn_dtype dtype, char *at, int64_t step, int64_t count,
                        const double *from) {
  int64_t size = attn_real_size(dtype);
  if (dtype == ATTN_F32 && step == 1) {
    float value;
    for (int64_t n = 0; n < count; n++) value = (float)from[n], memcpy(at + n * 4, &value, 4);
    return;
  }
  for (int64_t n = 0; n < count; n++) attn_store_real(dtype, at + n * step * size, from[n]);
}

char *attn_row_data(const attn_tensor *t, int first, int64_t row) {
  return attn_view_at(t, attn_view_place(t->shape, t->strides, first, row));
}

/* Elements from `from` to the end of the innermost dimension, at most count; *offset: the first's.
 */
static int64_t contiguous(const attn_tensor *t, int first, int64_t from, int64_t count,
                          int64_t *offset) {
  int64_t inner = t->shape[t->rank - 1], left = inner - from % inner;
  *offset = attn_view_place(t->shape + first, t->strides + first, t->rank - first, from) *
            attn_real_size(t->dtype);
  return left < count ? left : count;
}

void attn_row_load(const attn_tensor *t, int first, int64_t row, int64_t from, int64_t count,
                   double *to) {
  const char *data = attn_row_data(t, first, row);
  for (int64_t offset, n; count > 0; count -= n, from += n, to += n) {
    n = contiguous(t, first, from, count, &offset);
    attn_load_strided(t->dtype, data + offset, t->strides[t->rank - 1], n, to);
  }
}

void attn_row_store(const attn_tensor *t, int first, int64_t row, int64_t from, int64_t count,
                    const double *values) {
  char *data = attn_row_data(t, first, row);
  for (int64_t offset, n; count > 0; count -= n, from += n, values += n) {
    n = contiguous(t, first, from, count, &offset);
    attn_store_strided(t->dtype, data + offset, t->strides[t->rank - 1], n, values);
  }
}
