#include "tensor_rows.h"

#include "element.h"
#include "integer.h"
#include "view.h"

char *attn_row_data(const attn_tensor *t, int first, int64_t row) {
  return attn_view_at(t, attn_view_offset(t->shape, t->strides, first, row));
}

/* Elements from `from` to the end of the innermost dimension, at most count; *offset: the first's.
 */
static int64_t contiguous(const attn_tensor *t, int first, int64_t from, int64_t count,
                          int64_t *offset) {
  int64_t inner = t->shape[t->rank - 1];
  *offset = attn_view_offset(t->shape + first, t->strides + first, t->rank - first, from) *
            attn_real_size(t->dtype);
  return attn_min(inner - from % inner, count);
}

void attn_row_load(const attn_tensor *t, int first, int64_t row, int64_t from, int64_t count,
                   double *to) {
  const char *data = attn_row_data(t, first, row);
  for (int64_t offset, n; count > 0; count -= n, from += n, to += n) {
    n = contiguous(t, first, from, count, &offset);
    attn_load_reals(t->dtype, data + offset, t->strides[t->rank - 1], n, to);
  }
}

void attn_row_store(const attn_tensor *t, int first, int64_t row, int64_t from, int64_t count,
                    const double *values) {
  char *data = attn_row_data(t, first, row);
  for (int64_t offset, n; count > 0; count -= n, from += n, values += n) {
    n = contiguous(t, first, from, count, &offset);
    attn_store_reals(t->dtype, data + offset, t->strides[t->rank - 1], n, values);
  }
}
