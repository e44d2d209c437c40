/* safetensors.h -- a safetensors header, read and checked. */
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
  struct attn_safetensor *entry; /* by place in the file */
  size_t entries;
};

/* After a failure the header is empty, with no entries; attn_safetensors_close does no harm then.
 */
attn_status attn_safetensors_open(const struct attn_bytes *bytes, struct attn_safetensors *header,
                                  attn_error *err);
void attn_safetensors_close(struct attn_safetensors *header);

/* A string of the metadata, which lives as long as the header; NULL where there is none. */
const char *attn_safetensors_metadata(const struct attn_safetensors *header, const char *name);

/* Loads the tensor of that name; name NULL: the only one. */
attn_status attn_safetensors_load(const struct attn_bytes *bytes, const char *name,
                                  attn_array *array, attn_error *err);

/* A new file, whole or not at all: count tensors by name, and metadata, an object of strings. */
attn_status attn_safetensors_write(const char *path, const char *gone, const char *const *names,
                                   const attn_tensor *const *tensors, int count, json_t *metadata,
                                   attn_error *err);

/* "F32" for ATTN_F32; NULL for no known type. */
const char *attn_safetensors_type(attn_dtype dtype);

#endif
