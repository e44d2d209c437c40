/* idx.h -- arrays in the IDX format of MNIST, plain or compressed by gzip. */
#ifndef ATTN_IO_IDX_H
#define ATTN_IO_IDX_H

#include "attn/io.h"
#include "file.h"

struct attn_watch; /* watch.h */

enum { ATTN_IDX_BYTES_MAX = 1 << 28 }; /* of an array */

/* Decodes an array of unsigned bytes to ATTN_U8, dense; *array is left empty on an error. watch:
 * NULL, or reports bytes of the file.
 *
 * Errors  ATTN_ERR_FORMAT: not IDX, another type than unsigned bytes, no elements or more than
 *         ATTN_IDX_BYTES_MAX, truncated or damaged, bytes after the end. ATTN_ERR_MEMORY,
 *         ATTN_ERR_FILE, ATTN_ERR_INTERRUPTED. */
attn_status attn_idx_decode(const struct attn_bytes *bytes, struct attn_watch *watch,
                            attn_array *array, attn_error *err);

/* The same from a file. */
attn_status attn_idx_read(const char *path, struct attn_watch *watch, attn_array *array,
                          attn_error *err);

#endif
