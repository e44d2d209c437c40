/* array.h -- what both file formats need of tensors. */
#ifndef ATTN_IO_ARRAY_H
#define ATTN_IO_ARRAY_H

#include "attn/io.h"
#include "file.h"

/* Element count of shape[0..rank); -1 where the product, times size, overflows. */
int64_t attn_shape_count(const int64_t *shape, int rank, size_t size);

/* Makes a dense array and copies count elements of raw bytes into it. fortran: the file counts the
 * first index fastest; swap: its bytes stand the other way round. */
attn_status attn_array_from_bytes(attn_dtype dtype, const int64_t *shape, int rank, int fortran,
                                  int swap, const void *raw, attn_array *array, attn_error *err);

/* Calls put for every element in row-major order, in pieces. */
attn_status attn_tensor_put(const attn_tensor *tensor, struct attn_file_writer *w, attn_error *err);

attn_status attn_npy_write(const char *path, const attn_tensor *tensor, attn_error *err);
attn_status attn_safetensors_write(const char *path, const char *name, const attn_tensor *tensor,
                                   attn_error *err);

/* "file.safetensors:name": the length of the file part, or 0 where path is not of that form;
 * *name points at the name, or is NULL. */
size_t attn_safetensors_split(const char *path, const char **name);

#endif
