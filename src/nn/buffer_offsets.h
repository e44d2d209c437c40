/* places.h -- where in memory things stand that do not all live at one time. */
#ifndef ATTN_NN_PLACES_H
#define ATTN_NN_PLACES_H

#include <stddef.h>

struct attn_buffer_span {
  size_t at, bytes;
  struct attn_buffer_span *next; /* that lives, by rising `at` */
};

struct attn_buffer_offsets {
  struct attn_buffer_span *first;
  size_t most; /* bytes that were ever needed */
};

/* The lowest place where it meets nothing that lives. */
void attn_buffer_offsets_reserve(struct attn_buffer_offsets *all, struct attn_buffer_span *one,
                                 size_t bytes);

/* It lives no more; its place is remembered. */
void attn_buffer_offsets_release(struct attn_buffer_offsets *all, struct attn_buffer_span *one);

#endif
