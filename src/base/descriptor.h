/* descriptor.h -- versioned structs: fields are added at the end, so callers have other sizes. */
#ifndef ATTN_BASE_DESCRIPTOR_H
#define ATTN_BASE_DESCRIPTOR_H

#include "attn/attn.h"

/* Copies the caller's struct, which begins with its struct_size, to *to of this library's size.
 * An older caller's struct is shorter: the missing fields are zero. A newer caller's is longer: the
 * unknown fields must be zero, because they would be ignored. NULL is a struct of zeros. After
 * ATTN_ERR_ARGUMENT *to is zero, too; its struct_size is always size.
 *
 * least  the size when the struct was first published: size until a field is added, then the
 *        offsetof the first added field
 * name   the argument that the error names */
attn_status attn_descriptor_copy(const void *from, void *to, size_t size, size_t least,
                                 const char *name, attn_error *err);

/* The same, but NULL is an error. */
attn_status attn_descriptor_require(const void *from, void *to, size_t size, size_t least,
                                    const char *name, attn_error *err);

/* Checks the struct_size of a struct that the library fills: at least the first published size, and
 * plausible. NULL is an error. */
attn_status attn_descriptor_expect(const void *to, size_t size, size_t least, const char *name,
                                   attn_error *err);

/* Fills the caller's struct, which attn_descriptor_expect has checked, from this library's of size
 * bytes: a shorter one up to its size, a longer one with zeros at the end. Its struct_size does not
 * change. */
void attn_descriptor_fill(void *to, const void *from, size_t size);

#endif
