#include "line.h"

#include <string.h>

#include "element.h"
#include "view.h"

void attn_line_load(attn_dtype dtype, const char *at, int64_t step, int64_t count, double *to) {
  int64_t size = attn_real_size(dtype);
  if (dtype == ATTN_F32 && step == 1) {
    float value;
    for (int64_t n = 0; n < count; n++) memcpy(&value, at + n * 4, 4), to[n] = (double)value;
    return;
  }
  for (int64_t n = 0; n < count; n++) to[n] = attn_load_real(dtype, at + n * step * size);
}

void attn_line_store(attn_dtype dtype, char *at, int64_t step, int64_t count, const double *from) {
  int64_t size = attn_real_size(dtype);
  if (dtype == ATTN_F32 && step == 1) {
    float value;
    for (int64_t n = 0; n < count; n++) value = (float)from[n], memcpy(at + n * 4, &value, 4);
    return;
  }
  for (int64_t n = 0; n < count; n++) attn_store_real(dtype, at + n * step * size, from[n]);
}

char *attn_row_at(const attn_tensor *t, int first, int64_t index) {
  return attn_view_at(t, attn_view_offset(t->shape, t->strides, first, index));
}

/* The stretch from element `from` to the end of the innermost dimension, at most count long:
 * its first element's offset in *offset. */
static int64_t stretch(const attn_tensor *t, int first, int64_t from, int64_t count,
                       int64_t *offset) {
  int64_t inner = t->shape[t->rank - 1], left = inner - from % inner;
  *offset = attn_view_offset(t->shape + first, t->strides + first, t->rank - first, from) *
            attn_real_size(t->dtype);
  return left < count ? left : count;
}

void attn_row_load(const attn_tensor *t, int first, const char *row, int64_t from, int64_t count,
                   double *to) {
  for (int64_t offset, length; count > 0; count -= length, from += length, to += length) {
    length = stretch(t, first, from, count, &offset);
    attn_line_load(t->dtype, row + offset, t->strides[t->rank - 1], length, to);
  }
}

void attn_row_store(const attn_tensor *t, int first, char *row, int64_t from, int64_t count,
                    const double *values) {
  for (int64_t offset, length; count > 0; count -= length, from += length, values += length) {
    length = stretch(t, first, from, count, &offset);
    attn_line_store(t->dtype, row + offset, t->strides[t->rank - 1], length, values);
  }
}

double attn_line_sum(const double *values, int64_t count) {
  double lane[8] = {0}, sum = 0;
  int64_t whole = count / 8 * 8;
  for (int64_t n = 0; n < whole; n += 8)
    for (int m = 0; m < 8; m++) lane[m] += values[n + m];
  for (int64_t n = whole; n < count; n++) lane[n - whole] += values[n];
  for (int m = 0; m < 8; m++) sum += lane[m];
  return sum;
}
