/* view.h -- questions about one tensor view, asked before its memory is touched. */
#ifndef ATTN_BASE_VIEW_H
#define ATTN_BASE_VIEW_H

#include <stddef.h>

#include "attn/attn.h"
#include "element.h"

enum { ATTN_SHAPE_TEXT = 192 }; /* bytes that hold any shape as text */

/* The shape as people write it, "(2, 3)", into text, which is returned. */
const char *attn_view_text(const attn_tensor *t, char text[ATTN_SHAPE_TEXT]);

/* The element that lies `at` elements from the first. A view without elements may have no data
 * either: NULL then, for an offset from NULL is no address. */
static inline char *attn_view_at(const attn_tensor *t, int64_t at) {
  int64_t bytes = (t->dtype >> 8 & 0xFF) / 8; /* DLPack's bits: the type is known by now */
  return t->data ? (char *)t->data + at * bytes : NULL;
}

/* Has it no elements? Its strides and its data may then be anything. */
int attn_view_is_empty(const attn_tensor *t);

/* Is it a view at all: rank, type, dimensions, reach of its strides, alignment, data? */
attn_status attn_view_check(const attn_tensor *t, const char *name, attn_error *err);

/* Have they memory in common, as far as can be seen: by address range, but for columns of one
 * matrix, which are apart. NULL, what has no elements and what no check would let pass overlap
 * nothing. */
int attn_views_overlap(const attn_tensor *a, const attn_tensor *b);

/* A view and the name that the caller knows it by; t may be NULL. */
struct attn_named_view {
  const attn_tensor *t;
  const char *name;
};

/* Refuses an output that overlaps an input, or an output before it. */
attn_status attn_views_check_no_overlap(const struct attn_named_view *out, size_t outs,
                                        const struct attn_named_view *in, size_t ins,
                                        attn_error *err);

/* The same elements in the same places: what may be worked on in place. */
int attn_views_same(const attn_tensor *a, const attn_tensor *b);

/* The element of number index, row-major over these dimensions, in elements from their first. */
static inline int64_t attn_view_offset(const int64_t *shape, const int64_t *strides, int rank,
                                       int64_t index) {
  int64_t at = 0;
  for (int n = rank - 1; n >= 0; n--) {
    at += index % shape[n] * strides[n];
    index /= shape[n];
  }
  return at;
}

#endif
