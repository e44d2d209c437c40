/**
 * io.h -- tensor files: npy and safetensors. Part of libattn-model.
 *
 * Every length in a file is checked against the file's size before it is used.
 */
#ifndef ATTN_IO_H
#define ATTN_IO_H

#include "attn/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor that owns its memory. Released by attn_array_free. */
typedef struct attn_array {
  attn_tensor tensor; /* dense, row-major, native byte order */
  void *memory;       /* what attn_array_free releases */
} attn_array;

/**
 * Reads a tensor from "file.npy" or "file.safetensors:name" (the name may be
 * left out where the file holds one tensor).
 *
 * npy: versions 1 to 3, C and Fortran order (converted to C), either byte
 * order; float16, bfloat16 stored as such in safetensors, float32, float64,
 * bool, int32, int64, uint8. Never pickles.
 *
 * Errors  ATTN_ERR_FILE, ATTN_ERR_FORMAT (with the byte offset),
 *         ATTN_ERR_TYPE, ATTN_ERR_MEMORY; *array is left empty.
 */
ATTN_API attn_status attn_array_read(const char *path, attn_array *array, attn_error *err);

/** The parsers behind it, over bytes in memory; name NULL: the only tensor. Never read past bytes. */
ATTN_API attn_status attn_npy_parse(const void *bytes, size_t size, attn_array *array,
                                    attn_error *err);
ATTN_API attn_status attn_safetensors_parse(const void *bytes, size_t size, const char *name,
                                            attn_array *array, attn_error *err);

/**
 * Writes a tensor (any strides) to "file.npy" or "file.safetensors:name"; a
 * safetensors file that exists keeps its other tensors. The file appears whole
 * or not at all: written beside, fsynced, renamed.
 */
ATTN_API attn_status attn_array_write(const char *path, const attn_tensor *tensor,
                                      attn_error *err);

/** Converts in place to dtype ATTN_F32 or ATTN_F64: float16 and bfloat16 widen exactly. ATTN_ERR_TYPE, ATTN_ERR_MEMORY. */
ATTN_API attn_status attn_array_convert(attn_array *array, attn_dtype dtype, attn_error *err);

/** Releases the memory and empties the array; NULL and an empty one are fine. */
ATTN_API void attn_array_free(attn_array *array);

#ifdef __cplusplus
}
#endif
#endif
