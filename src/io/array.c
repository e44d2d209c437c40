#include "array.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

static size_t size_of(attn_dtype dtype) { return (size_t)(((unsigned)dtype >> 8) & 0xFF) / 8; }

int64_t attn_shape_count(const int64_t *shape, int rank, size_t size) {
  int64_t count = 1;
  for (int n = 0; n < rank; n++)
    if (shape[n] == 0) return 0;
  for (int n = 0; n < rank; n++)
    if (shape[n] < 0 || __builtin_mul_overflow(count, shape[n], &count)) return -1;
  return count > INT64_MAX / (int64_t)size ? -1 : count;
}

static void dense_strides(attn_tensor *t) {
  int64_t stride = 1;
  for (int n = t->rank - 1; n >= 0; n--) {
    t->strides[n] = stride;
    stride *= t->shape[n] > 0 ? t->shape[n] : 1;
  }
}

/* Steps an index of row-major order; returns the last dimension that did not wrap. */
static void step(int64_t *index, const attn_tensor *t) {
  for (int n = t->rank - 1; n >= 0; n--) {
    if (++index[n] < t->shape[n]) return;
    index[n] = 0;
  }
}

static void copy_element(char *to, const char *from, size_t size, int swap) {
  for (size_t n = 0; n < size; n++) to[n] = from[swap ? size - 1 - n : n];
}

static void reorder(attn_tensor *t, const char *raw, int64_t count, int fortran, int swap) {
  int64_t index[ATTN_RANK_MAX] = {0}, strides[ATTN_RANK_MAX], stride = 1;
  size_t size = size_of(t->dtype);
  for (int n = 0; n < t->rank; n++) {
    strides[n] = fortran ? stride : t->strides[n];
    stride *= t->shape[n];
  }
  for (int64_t e = 0; e < count; e++) {
    int64_t at = 0;
    for (int n = 0; n < t->rank; n++) at += index[n] * strides[n];
    copy_element((char *)t->data + (size_t)e * size, raw + (size_t)at * size, size, swap);
    step(index, t);
  }
}

attn_status attn_array_from_bytes(attn_dtype dtype, const int64_t *shape, int rank, int fortran,
                                  int swap, const void *raw, attn_array *array, attn_error *err) {
  size_t size = size_of(dtype);
  int64_t count = attn_shape_count(shape, rank, size);
  attn_tensor t = {NULL, dtype, rank, {0}, {0}};
  for (int n = 0; n < rank; n++) t.shape[n] = shape[n];
  dense_strides(&t);
  t.data = malloc(count ? (size_t)count * size : 1);
  if (!t.data)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %lld elements", (long long)count);
  if (fortran || swap)
    reorder(&t, raw, count, fortran, swap);
  else if (count)
    memcpy(t.data, raw, (size_t)count * size);
  array->tensor = t;
  array->memory = t.data;
  return ATTN_OK;
}

attn_status attn_tensor_put(const attn_tensor *t, struct attn_file_writer *w, attn_error *err) {
  char piece[8192];
  size_t size = size_of(t->dtype), used = 0;
  int64_t index[ATTN_RANK_MAX] = {0}, count = attn_shape_count(t->shape, t->rank, size);
  attn_status status = ATTN_OK;
  for (int64_t e = 0; e < count && !status; e++) {
    int64_t at = 0;
    for (int n = 0; n < t->rank; n++) at += index[n] * t->strides[n];
    memcpy(piece + used, (const char *)t->data + at * (int64_t)size, size);
    used += size;
    if (used == sizeof piece || e + 1 == count) {
      status = attn_file_put(w, piece, used, err);
      used = 0;
    }
    step(index, t);
  }
  return status;
}

void attn_array_free(attn_array *array) {
  if (!array) return;
  free(array->memory);
  memset(array, 0, sizeof *array);
}

/* ---- Conversion -------------------------------------------------------------- */

/* Exact: every float16 is a float32. Subnormals are m * 2^-24. */
static float from_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
  float value;
  uint32_t bits = sign | (exponent == 31 ? 0x7F800000 : (exponent + 112) << 23) | fraction << 13;
  if (exponent == 0) {
    value = (float)fraction * 0x1p-24f;
    return sign ? -value : value;
  }
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double element(const attn_tensor *t, int64_t e) {
  const char *at = (const char *)t->data + e * (int64_t)size_of(t->dtype);
  uint16_t half;
  uint32_t bits;
  float f;
  double d;
  int32_t i;
  int64_t l;
  switch (t->dtype) {
    case ATTN_F16:
      return memcpy(&half, at, 2), (double)from_f16(half);
    case ATTN_BF16:
      memcpy(&half, at, 2);
      bits = (uint32_t)half << 16;
      memcpy(&f, &bits, 4);
      return (double)f;
    case ATTN_F32:
      return memcpy(&f, at, 4), (double)f;
    case ATTN_F64:
      return memcpy(&d, at, 8), d;
    case ATTN_I32:
      return memcpy(&i, at, 4), (double)i;
    case ATTN_I64:
      return memcpy(&l, at, 8), (double)l;
    case ATTN_U8:
      return *(const unsigned char *)at;
    case ATTN_BOOL:
      return *at != 0;
  }
  return 0;
}

attn_status attn_array_convert(attn_array *array, attn_dtype dtype, attn_error *err) {
  attn_tensor *t = &array->tensor;
  if (t->dtype == dtype) return ATTN_OK;
  if (dtype != ATTN_F32 && dtype != ATTN_F64)
    return attn_fail(err, ATTN_ERR_TYPE, "dtype", "dtype must be float32 or float64");
  int64_t count = attn_shape_count(t->shape, t->rank, 8);
  void *memory = count < 0 ? NULL : malloc(count ? (size_t)count * size_of(dtype) : 1);
  if (!memory)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %lld elements", (long long)count);
  for (int64_t e = 0; e < count; e++) {
    double value = element(t, e);
    if (dtype == ATTN_F32)
      ((float *)memory)[e] = (float)value;
    else
      ((double *)memory)[e] = value;
  }
  free(array->memory);
  array->memory = t->data = memory;
  t->dtype = dtype;
  return ATTN_OK;
}

/* ---- By name ------------------------------------------------------------------ */

size_t attn_safetensors_split(const char *path, const char **name) {
  const char *end = strstr(path, ".safetensors");
  *name = NULL;
  for (const char *next; end && (next = strstr(end + 1, ".safetensors"));) end = next;
  if (!end) return 0;
  end += strlen(".safetensors");
  if (*end == ':') *name = end + 1;
  return *end == ':' || *end == 0 ? (size_t)(end - path) : 0;
}

attn_status attn_array_read(const char *path, attn_array *array, attn_error *err) {
  const char *name;
  void *bytes;
  size_t size, split = attn_safetensors_split(path, &name);
  memset(array, 0, sizeof *array);
  char *file = split ? strndup(path, split) : strdup(path);
  if (!file) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a file name");
  attn_status status = attn_file_read(file, &bytes, &size, err);
  if (!status) {
    status = split ? attn_safetensors_parse(bytes, size, name, array, err)
                   : attn_npy_parse(bytes, size, array, err);
    free(bytes);
  }
  free(file);
  return status;
}

attn_status attn_array_write(const char *path, const attn_tensor *tensor, attn_error *err) {
  const char *name;
  size_t split = attn_safetensors_split(path, &name);
  if (!split) return attn_npy_write(path, tensor, err);
  if (!name || !*name)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "path",
                     "%.150s: name the tensor: file.safetensors:name", path);
  char *file = strndup(path, split);
  if (!file) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a file name");
  attn_status status = attn_safetensors_write(file, name, tensor, err);
  free(file);
  return status;
}
