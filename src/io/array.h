/* array.h -- tensors in files: shared by npy and safetensors. */
#ifndef ATTN_IO_ARRAY_H
#define ATTN_IO_ARRAY_H

#include "attn/io.h"
#include "element.h"
#include "file.h"

/* Whether the machine's integers begin with their lowest byte. */
static inline int attn_is_little_endian(void) {
  const uint16_t one = 1;
  return *(const unsigned char *)&one;
}

/* Element count of shape[0..rank). Returns -1 if a dimension is negative or the product of the
 * nonzero dimensions and size overflows, so that no stride overflows either. */
int64_t attn_shape_count(const int64_t *shape, int rank, size_t size);

/* The layout of a tensor in a file. */
struct attn_stored_tensor {
  attn_dtype dtype; /* 0: not supported */
  int rank;
  int64_t shape[ATTN_RANK_MAX];
  int fortran;   /* column-major */
  int swap;      /* the other byte order */
  size_t offset; /* in the file; the reader has checked offset and bytes against its size */
  size_t bytes;
};

/* Loads a stored tensor as a dense row-major array. */
attn_status attn_stored_tensor_load(const struct attn_stored_tensor *stored,
                                    const struct attn_bytes *bytes, attn_array *array,
                                    attn_error *err);

/* Writes every element in row-major order. */
attn_status attn_tensor_put(const attn_tensor *tensor, struct attn_file_writer *w, attn_error *err);

/* ---- The formats ------------------------------------------------------------------- */

/* Reads and checks a header; allocates nothing. type: as the file spells it. */
attn_status attn_npy_header(const struct attn_bytes *bytes, struct attn_stored_tensor *stored,
                            char type[16], attn_error *err);

attn_status attn_npy_put(struct attn_file_writer *w, const attn_tensor *tensor, attn_error *err);

/* Loads the tensor of the file. */
attn_status attn_npy_load(const struct attn_bytes *bytes, attn_array *array, attn_error *err);

struct attn_named_tensor {
  const char *name;
  const attn_tensor *tensor;
};

#endif
