/* descriptor.h -- structs that grow at their end: callers of other versions have other sizes. */
#ifndef ATTN_BASE_DESCRIPTOR_H
#define ATTN_BASE_DESCRIPTOR_H

#include "attn/attn.h"

/* Copies what a caller gives, a struct that begins with its struct_size, to *to, which is this
 * library's of size bytes; NULL: all zero. An older caller's is shorter: what it lacks is zero. A
 * newer one's is longer: it must be zero there, for what it asks would be silently not done.
 *
 * least  the first published size: size itself until a field is added, then the offsetof the
 *        first that was
 * name   the argument that the error is to name; ATTN_ERR_ARGUMENT, and *to is all zero then
 *
 * struct_size in *to is size always. */
attn_status attn_descriptor_copy(const void *from, void *to, size_t size, size_t least,
                                 const char *name, attn_error *err);

/* The same, but NULL is refused. */
attn_status attn_descriptor_require(const void *from, void *to, size_t size, size_t least,
                                    const char *name, attn_error *err);

#endif
