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

/* Of a struct that a caller gives to be filled: is its struct_size at least the first published one
 * and not absurd? NULL is refused. */
attn_status attn_descriptor_expect(const void *to, size_t size, size_t least, const char *name,
                                   attn_error *err);

/* Fills it from this library's, of size bytes: an older caller's as far as it goes, a newer one's
 * with zeros behind. Its struct_size stays as it was. */
void attn_descriptor_fill(void *to, const void *from, size_t size);

#endif
