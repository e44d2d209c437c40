/* array.h -- what both file formats need of tensors. */
#ifndef ATTN_IO_ARRAY_H
#define ATTN_IO_ARRAY_H

#include "attn/io.h"
#include "file.h"

/* Bytes of one element of a type that the library knows. */
size_t attn_element_bytes(attn_dtype dtype);

/* Element count of shape[0..rank). -1 where a dimension is negative or the product of those that
 * are not 0, times size, overflows: then no stride can overflow either. */
int64_t attn_shape_count(const int64_t *shape, int rank, size_t size);

/* A tensor as a file holds it: where, and in which order. */
struct attn_stored_tensor {
  attn_dtype dtype; /* 0: a type that the library has not */
  int rank;
  int64_t shape[ATTN_RANK_MAX];
  int fortran;   /* the first index counts fastest */
  int swap;      /* bytes of an element stand the other way round */
  size_t offset; /* in the file; the reader has checked offset and bytes against its size */
  size_t bytes;
};

/* A dense array of it. */
attn_status attn_stored_tensor_load(const struct attn_stored_tensor *stored,
                                    const struct attn_bytes *bytes, attn_array *array,
                                    attn_error *err);

/* Writes every element in row-major order. */
attn_status attn_tensor_put(const attn_tensor *tensor, struct attn_file_writer *w, attn_error *err);

/* ---- The formats ------------------------------------------------------------------- */

/* Reads and checks a header; nothing is allocated for it to release. type: as the file spells it.
 */
attn_status attn_npy_header(const struct attn_bytes *bytes, struct attn_stored_tensor *stored,
                            char type[16], attn_error *err);

attn_status attn_npy_put(struct attn_file_writer *w, const attn_tensor *tensor, attn_error *err);

/* The file that is there, or NULL bytes; then count tensors by name, which replace their namesakes.
 */
attn_status attn_safetensors_put(struct attn_file_writer *w, const struct attn_bytes *old,
                                 const char *const *names, const attn_tensor *const *tensors,
                                 int count, attn_error *err);

#endif
