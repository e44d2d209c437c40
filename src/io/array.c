#include "array.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

int64_t attn_shape_count(const int64_t *shape, int rank, size_t size) {
  int64_t count = (int64_t)size;
  int empty = 0;
  for (int n = 0; n < rank; n++) {
    empty |= shape[n] == 0;
    if (shape[n] < 0 || (shape[n] && __builtin_mul_overflow(count, shape[n], &count))) return -1;
  }
  return empty ? 0 : count / (int64_t)size;
}

static void dense_strides(attn_tensor *t, int fortran, int64_t *strides) {
  int64_t stride = 1;
  for (int n = 0; n < t->rank; n++) {
    int d = fortran ? n : t->rank - 1 - n;
    strides[d] = stride;
    if (t->shape[d]) stride *= t->shape[d];
  }
}

/* Steps an index of row-major order over the first rank dimensions. */
static void step(int64_t *index, const int64_t *shape, int rank) {
  for (int n = rank - 1; n >= 0; n--) {
    if (++index[n] < shape[n]) return;
    index[n] = 0;
  }
}

static int64_t place(const int64_t *index, const int64_t *strides, int rank) {
  int64_t at = 0;
  for (int n = 0; n < rank; n++) at += index[n] * strides[n];
  return at;
}

static void copy_element(char *to, const char *from, size_t size, int swap) {
  for (size_t n = 0; n < size; n++) to[n] = from[swap ? size - 1 - n : n];
}

/* From the file's element and byte order to the machine's. */
static void reorder(attn_tensor *t, const struct attn_stored_tensor *s, const char *raw,
                    int64_t count) {
  int64_t index[ATTN_RANK_MAX] = {0}, strides[ATTN_RANK_MAX];
  size_t size = (size_t)attn_element_size(t->dtype);
  dense_strides(t, s->fortran, strides);
  for (int64_t e = 0; e < count; e++) {
    copy_element((char *)t->data + (size_t)e * size,
                 raw + (size_t)place(index, strides, t->rank) * size, size, s->swap);
    step(index, t->shape, t->rank);
  }
}

static attn_status load_reordered(attn_tensor *t, const struct attn_stored_tensor *s,
                                  const struct attn_bytes *bytes, attn_error *err) {
  char *raw = malloc(s->bytes ? s->bytes : 1);
  if (!raw) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu bytes", s->bytes);
  attn_status status = attn_bytes_get(bytes, s->offset, raw, s->bytes, err);
  if (!status) reorder(t, s, raw, (int64_t)(s->bytes / (size_t)attn_element_size(t->dtype)));
  free(raw);
  return status;
}

attn_status attn_stored_tensor_load(const struct attn_stored_tensor *s,
                                    const struct attn_bytes *bytes, attn_array *array,
                                    attn_error *err) {
  attn_tensor t = {malloc(s->bytes ? s->bytes : 1), s->dtype, s->rank, {0}, {0}};
  if (!t.data) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu bytes", s->bytes);
  for (int n = 0; n < s->rank; n++) t.shape[n] = s->shape[n];
  dense_strides(&t, 0, t.strides);
  attn_status status = s->fortran || s->swap
                           ? load_reordered(&t, s, bytes, err)
                           : attn_bytes_get(bytes, s->offset, t.data, s->bytes, err);
  if (status) return free(t.data), status;
  array->tensor = t;
  array->memory = t.data;
  return ATTN_OK;
}

/* The number of trailing dimensions that are contiguous, and the elements of such a piece. */
static int dense_tail(const attn_tensor *t, int64_t *piece) {
  int n = t->rank;
  for (*piece = 1; n > 0 && (t->strides[n - 1] == *piece || t->shape[n - 1] == 1); n--)
    *piece *= t->shape[n - 1];
  return t->rank - n;
}

/* Small pieces are buffered, so that a strided tensor is not written element by element. */
attn_status attn_tensor_put(const attn_tensor *t, struct attn_file_writer *w, attn_error *err) {
  char group[8192];
  size_t size = (size_t)attn_element_size(t->dtype), used = 0;
  int64_t index[ATTN_RANK_MAX] = {0}, piece, count = attn_shape_count(t->shape, t->rank, size);
  if (count == 0) return ATTN_OK;
  int outer = t->rank - dense_tail(t, &piece);
  size_t bytes = (size_t)piece * size;
  for (int64_t e = 0; e < count; e += piece) {
    const char *from = (const char *)t->data + place(index, t->strides, outer) * (int64_t)size;
    int direct = bytes > sizeof group / 8;
    if (used && (direct || used + bytes > sizeof group)) {
      attn_status status = attn_file_put(w, group, used, err);
      if (status) return status;
      used = 0;
    }
    if (direct) {
      attn_status status = attn_file_put(w, from, bytes, err);
      if (status) return status;
    } else {
      memcpy(group + used, from, bytes);
      used += bytes;
    }
    step(index, t->shape, outer);
  }
  return attn_file_put(w, group, used, err);
}

void attn_array_free(attn_array *array) {
  if (!array) return;
  free(array->memory);
  memset(array, 0, sizeof *array);
}
