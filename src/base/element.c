#include "element.h"

#include <stddef.h>

static const struct attn_dtype_entry {
  attn_dtype dtype;
  int bytes;
  const char *name;
} dtypes[] = {
    {ATTN_BOOL, 1, "bool"},   {ATTN_I8, 1, "int8"},     {ATTN_U8, 1, "uint8"},
    {ATTN_I32, 4, "int32"},   {ATTN_I64, 8, "int64"},   {ATTN_F16, 2, "float16"},
    {ATTN_F32, 4, "float32"}, {ATTN_F64, 8, "float64"}, {ATTN_BF16, 2, "bfloat16"},
};

static const struct attn_dtype_entry *find(attn_dtype dtype) {
  for (size_t n = 0; n < sizeof dtypes / sizeof *dtypes; n++)
    if (dtypes[n].dtype == dtype) return &dtypes[n];
  return NULL;
}

int64_t attn_element_size(attn_dtype dtype) {
  const struct attn_dtype_entry *entry = find(dtype);
  return entry ? entry->bytes : 0;
}

const char *attn_element_name(attn_dtype dtype) {
  const struct attn_dtype_entry *entry = find(dtype);
  return entry ? entry->name : "unknown";
}

#define LOAD_ALL(TYPE, BYTES) \
  for (int64_t n = 0; n < count; n++) to[n] = attn_load_real(TYPE, at + n * step * BYTES)

void attn_load_reals(attn_dtype dtype, const char *at, int64_t step, int64_t count, double *to) {
  ATTN_FOR_FLOAT_TYPE(dtype, LOAD_ALL)
}

#define STORE_ALL(TYPE, BYTES) \
  for (int64_t n = 0; n < count; n++) attn_store_real(TYPE, at + n * step * BYTES, from[n])

void attn_store_reals(attn_dtype dtype, char *at, int64_t step, int64_t count, const double *from) {
  ATTN_FOR_FLOAT_TYPE(dtype, STORE_ALL)
}
