/* safetensors.h -- reads and checks a safetensors header. */
#ifndef ATTN_IO_SAFETENSORS_H
#define ATTN_IO_SAFETENSORS_H

#include <jansson.h>

#include "array.h"

struct attn_safetensor {
  const char *name, *type; /* owned by the header's root */
  size_t element;          /* bytes of one */
  struct attn_stored_tensor at;
};

struct attn_safetensors {
  json_t *root;
  struct attn_safetensor *entry; /* by offset */
  size_t entries;
};

/* After a failure the header is empty; attn_safetensors_close is fine then. */
attn_status attn_safetensors_open(const struct attn_bytes *bytes, struct attn_safetensors *header,
                                  attn_error *err);
void attn_safetensors_close(struct attn_safetensors *header);

/* A string of the metadata, valid for the lifetime of the header; NULL: absent. */
const char *attn_safetensors_metadata(const struct attn_safetensors *header, const char *name);

/* The tensor of that name, or of a NULL name the only one. NULL: there is none. */
const struct attn_safetensor *attn_safetensors_find(const struct attn_safetensors *header,
                                                    const char *name);

/* Loads the tensor that attn_safetensors_find gives. */
attn_status attn_safetensors_load(const struct attn_bytes *bytes, const char *name,
                                  attn_array *array, attn_error *err);

/* Writes the tensors of old (NULL: none) and count tensors, which replace those of the same name.
 * metadata: an object of strings; NULL: that of old. */
attn_status attn_safetensors_put(struct attn_file_writer *w, const struct attn_bytes *old,
                                 const struct attn_named_tensor *tensors, int count,
                                 json_t *metadata, attn_error *err);

/* Writes a new file atomically: count tensors, and metadata, an object of strings. gone: as in
 * attn_file_commit. */
attn_status attn_safetensors_write(const char *path, const char *gone,
                                   const struct attn_named_tensor *tensors, int count,
                                   json_t *metadata, attn_error *err);

/* "F32" for ATTN_F32; NULL: unknown dtype. */
const char *attn_safetensors_type(attn_dtype dtype);

#endif
