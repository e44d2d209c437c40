/* convert.c -- converts element types in place. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "error.h"

static double element(attn_dtype dtype, const char *at) {
  switch (dtype) {
    case ATTN_I32:
    case ATTN_I64:
      return (double)attn_load_integer(dtype, at);
    case ATTN_I8:
      return *(const signed char *)at;
    case ATTN_U8:
      return *(const unsigned char *)at;
    case ATTN_BOOL:
      return *at != 0;
    default:
      return attn_load_real(dtype, at);
  }
}

attn_status attn_array_convert(attn_array *array, attn_dtype dtype, attn_error *err) {
  attn_tensor *t = &array->tensor;
  if (t->dtype == dtype) return ATTN_OK;
  if (dtype != ATTN_F32 && dtype != ATTN_F64)
    return attn_fail(err, ATTN_ERR_TYPE, "dtype", "dtype must be ATTN_F32 or ATTN_F64");
  if (!attn_element_size(t->dtype))
    return attn_fail(err, ATTN_ERR_TYPE, "array", "the array has an unknown element type");
  size_t from = (size_t)attn_element_size(t->dtype), to = (size_t)attn_element_size(dtype);
  int64_t count = attn_shape_count(t->shape, t->rank, to > from ? to : from);
  char *memory = count < 0 ? NULL : malloc(count ? (size_t)count * to : 1);
  if (!memory) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to convert a tensor");
  for (int64_t e = 0; e < count; e++) {
    const char *at = (const char *)t->data + (size_t)e * from;
    double value = element(t->dtype, at);
    /* Through a double, an int64 would be rounded twice. */
    float narrow = t->dtype == ATTN_I64 ? (float)attn_load_integer(ATTN_I64, at) : (float)value;
    memcpy(memory + (size_t)e * to, dtype == ATTN_F32 ? (void *)&narrow : (void *)&value, to);
  }
  free(array->memory);
  array->memory = t->data = memory;
  t->dtype = dtype;
  return ATTN_OK;
}
