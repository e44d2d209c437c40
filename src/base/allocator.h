/* allocator.h -- memory of the host's allocator or of aligned_alloc. */
#ifndef ATTN_BASE_ALLOCATOR_H
#define ATTN_BASE_ALLOCATOR_H

#include "attn/attn.h"

/* ATTN_ERR_ARGUMENT unless both functions are set; NULL is valid. */
attn_status attn_allocator_check(const attn_allocator *allocator, attn_error *err);

/* Allocates bytes, rounded up to a positive multiple of alignment (a power of two), from allocator;
 * NULL: from aligned_alloc. Returns NULL on failure. */
void *attn_memory_allocate(const attn_allocator *allocator, size_t alignment, size_t bytes);

/* The same from aligned_alloc, for memory that is read often: from 2 MiB on with the system's huge
 * pages where it has them, so that fewer addresses are translated. */
void *attn_memory_allocate_large(size_t alignment, size_t bytes);

/* Releases memory of these functions, of the same allocator; NULL is allowed. */
void attn_memory_release(const attn_allocator *allocator, void *memory);

#endif
