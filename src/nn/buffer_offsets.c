#include "buffer_offsets.h"

enum { ALIGNMENT = 64 };

void attn_buffer_offsets_reserve(struct attn_buffer_offsets *all, struct attn_buffer_span *one,
                                 size_t bytes) {
  struct attn_buffer_span **link = &all->first;
  size_t at = 0;
  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  for (; *link && (*link)->at - at < bytes; link = &(*link)->next)
    at = (*link)->at + (*link)->bytes;
  *one = (struct attn_buffer_span){at, bytes, *link}, *link = one;
  if (all->most < at + bytes) all->most = at + bytes;
}

void attn_buffer_offsets_release(struct attn_buffer_offsets *all, struct attn_buffer_span *one) {
  struct attn_buffer_span **link = &all->first;
  while (*link && *link != one) link = &(*link)->next;
  if (*link) *link = one->next;
}
