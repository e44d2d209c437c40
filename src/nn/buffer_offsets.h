/* buffer_offsets.h -- offsets of buffers in one block of memory: buffers that are live at the same
 * time do not overlap, the others share memory. */
#ifndef ATTN_NN_BUFFER_OFFSETS_H
#define ATTN_NN_BUFFER_OFFSETS_H

#include <stddef.h>

struct attn_buffer_span {
  size_t offset, bytes;
  struct attn_buffer_span *next; /* the next live buffer by offset */
};

struct attn_buffer_offsets {
  struct attn_buffer_span *first;
  size_t peak; /* bytes that the block must have */
};

/* Places a buffer at the lowest offset where it overlaps no live buffer. */
void attn_buffer_offsets_reserve(struct attn_buffer_offsets *all, struct attn_buffer_span *span,
                                 size_t bytes);

/* Ends a buffer's life; its offset stays known. */
void attn_buffer_offsets_release(struct attn_buffer_offsets *all, struct attn_buffer_span *span);

#endif
