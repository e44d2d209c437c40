/* allocator.h -- the host's memory, or aligned_alloc's. */
#ifndef ATTN_BASE_ALLOCATOR_H
#define ATTN_BASE_ALLOCATOR_H

#include "attn/attn.h"

/* Can it both give and take back? NULL can. */
attn_status attn_allocator_check(const attn_allocator *allocator, attn_error *err);

/* At least bytes, a multiple of alignment and never none, of allocator's (NULL: aligned_alloc's);
 * NULL where there is no such memory. alignment is a power of two. */
void *attn_memory_allocate(const attn_allocator *allocator, size_t alignment, size_t bytes);

/* Gives back what attn_memory_allocate gave; NULL: nothing. */
void attn_memory_release(const attn_allocator *allocator, void *memory);

#endif
