/* arrays.h -- the public functions on a file of tensors: list it; read, convert and write each
 * tensor; add one to the file. */
#ifndef FUZZ_ARRAYS_H
#define FUZZ_ARRAYS_H

#include "attn/io.h"
#include "files.h"

enum { MAX_ENTRIES = 8 };

static inline size_t bytes_of(const attn_tensor *t) {
  size_t bytes = attn_dtype_size(t->dtype);
  for (int n = 0; n < t->rank; n++) bytes *= (size_t)t->shape[n];
  return bytes;
}

static inline void must_equal(const attn_tensor *a, const attn_tensor *b) {
  MUST(a->dtype == b->dtype && a->rank == b->rank);
  MUST(!memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape));
  MUST(!memcmp(a->data, b->data, bytes_of(a)));
}

/* Converts copies: float32 must be float64 rounded once. */
static inline void convert(const char *path) {
  attn_array narrow, wide;
  attn_error err;
  MUST(!attn_array_read(path, &narrow, &err) && !attn_array_read(path, &wide, &err));
  int exact = narrow.tensor.dtype != ATTN_I64;
  if (narrow.tensor.dtype != ATTN_I32)
    MUST(attn_array_convert(&narrow, ATTN_I32, &err) == ATTN_ERR_TYPE);
  attn_status status = attn_array_convert(&narrow, ATTN_F32, &err);
  if (!status) status = attn_array_convert(&wide, ATTN_F64, &err);
  const float *x = narrow.tensor.data;
  const double *y = wide.tensor.data;
  for (size_t n = 0; !status && n < bytes_of(&narrow.tensor) / sizeof *x; n++)
    MUST(!exact || x[n] == (float)y[n] || (x[n] != x[n] && y[n] != y[n]));
  attn_array_free(&narrow), attn_array_free(&wide);
}

/* Written to a file and read again, the tensor is the same. */
static inline void write_back(const attn_array *array, const char *name) {
  char path[1100];
  attn_array again;
  attn_error err;
  attn_status status = attn_array_write(path_of(path, name), &array->tensor, &err);
  int is_npy = !strstr(name, ".safetensors");
  MUST(!status || (is_npy && array->tensor.dtype == ATTN_BF16));
  if (status) return;
  MUST(!attn_array_read(path, &again, &err));
  must_equal(&array->tensor, &again.tensor);
  attn_array_free(&again);
}

static inline void use_entry(const char *path, const attn_array_entry *entry) {
  attn_array array;
  attn_error err;
  attn_status status = attn_array_read(path, &array, &err);
  MUST(!status == (entry->dtype != 0));
  if (status) return;
  MUST((int32_t)array.tensor.dtype == entry->dtype && array.tensor.rank == entry->rank);
  MUST((int64_t)bytes_of(&array.tensor) == entry->bytes);
  convert(path);
  write_back(&array, "again.safetensors:x");
  write_back(&array, "again.npy");
  attn_array_free(&array);
  remove_file("again.safetensors");
}

/* Adding a tensor to a file keeps the others. */
static inline void extend(const char *file, const attn_array_list *before) {
  char path[1200];
  float number = 1;
  const attn_tensor one = {&number, ATTN_F32, 1, {1}, {1}};
  attn_array_list after;
  attn_error err;
  int64_t others = 0;
  snprintf(path, sizeof path, "%s:added", file);
  MUST(!attn_array_write(path, &one, &err));
  MUST(!attn_array_list_read(file, &after, &err));
  for (int64_t n = 0; n < before->count; n++) {
    others += strcmp(before->entry[n].name, "added") != 0;
    int64_t same = 0;
    for (int64_t k = 0; k < after.count; k++)
      same +=
          !strcmp(before->entry[n].name, after.entry[k].name) &&
          (before->entry[n].bytes == after.entry[k].bytes || !strcmp(after.entry[k].name, "added"));
    MUST(same == 1);
  }
  MUST(after.count == others + 1);
  attn_array_list_free(&after);
}

/* name: of an existing file. */
static inline void use_arrays(const char *name) {
  char file[1100], path[1100 + 4200];
  attn_array_list list = {7, NULL};
  attn_array array;
  attn_error err;
  path_of(file, name);
  int is_npy = !strstr(name, ".safetensors");
  attn_status status = attn_array_list_read(file, &list, &err);
  if (status) {
    MUST(!list.count && !list.entry && err.message[0]);
    MUST(attn_array_read(file, &array, &err) && !array.memory);
  }
  for (int64_t n = 0; n < list.count && n < MAX_ENTRIES; n++) {
    int used = snprintf(path, sizeof path, "%s%s%s", file, is_npy ? "" : ":", list.entry[n].name);
    MUST(list.entry[n].offset >= 0 && list.entry[n].bytes >= 0);
    if (used < (int)sizeof path) use_entry(path, &list.entry[n]);
  }
  if (!status && !is_npy) extend(file, &list);
  attn_array_list_free(&list);
}

#endif
