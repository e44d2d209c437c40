#include "buffer_offsets.h"

#include "layer_common.h"

void attn_buffer_offsets_reserve(struct attn_buffer_offsets *all, struct attn_buffer_span *span,
                                 size_t bytes) {
  struct attn_buffer_span **link = &all->first;
  size_t offset = 0;
  bytes = attn_align_up(bytes);
  for (; *link && (*link)->offset - offset < bytes; link = &(*link)->next)
    offset = (*link)->offset + (*link)->bytes;
  *span = (struct attn_buffer_span){offset, bytes, *link}, *link = span;
  if (all->peak < offset + bytes) all->peak = offset + bytes;
}

void attn_buffer_offsets_release(struct attn_buffer_offsets *all, struct attn_buffer_span *span) {
  struct attn_buffer_span **link = &all->first;
  while (*link && *link != span) link = &(*link)->next;
  if (*link) *link = span->next;
}
