/* allocator.h -- memory of the host's allocator or of aligned_alloc. */
#ifndef ATTN_BASE_ALLOCATOR_H
#define ATTN_BASE_ALLOCATOR_H

#include "attn/attn.h"

/* ATTN_ERR_ARGUMENT unless both functions are set; NULL is valid. */
attn_status attn_allocator_check(const attn_allocator *allocator, attn_error *err);

/* Allocates bytes, rounded up to a positive multiple of alignment (a power of two), from allocator;
 * NULL: from aligned_alloc. Returns NULL on failure. */
void *attn_memory_allocate(const attn_allocator *allocator, size_t alignment, size_t bytes);

/* Releases memory of attn_memory_allocate; NULL is allowed. */
void attn_memory_release(const attn_allocator *allocator, void *memory);

#endif
