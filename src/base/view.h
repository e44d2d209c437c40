/* view.h -- checks of tensor views before their memory is accessed. */
#ifndef ATTN_BASE_VIEW_H
#define ATTN_BASE_VIEW_H

#include <stddef.h>

#include "attn/attn.h"
#include "element.h"

enum { ATTN_SHAPE_TEXT = 192 }; /* bytes that hold any shape as text */

/* Writes the shape, "(2, 3)", to text and returns it. */
const char *attn_view_text(const attn_tensor *t, char text[ATTN_SHAPE_TEXT]);

/* The element at offset `at`, in elements, from the first. NULL if data is NULL, which a view
 * without elements allows. */
static inline char *attn_view_at(const attn_tensor *t, int64_t at) {
  int64_t bytes = (t->dtype >> 8 & 0xFF) / 8; /* DLPack's bits; the type has been checked */
  return t->data ? (char *)t->data + at * bytes : NULL;
}

/* Whether it has no elements; its strides and data are then arbitrary. */
int attn_view_is_empty(const attn_tensor *t);

/* Checks rank, type, dimensions, the extent of its strides, alignment and data. */
attn_status attn_view_check(const attn_tensor *t, const char *name, attn_error *err);

/* Whether they share memory: compares address ranges, except that different columns of one matrix
 * are disjoint. NULL, an empty view and an invalid view overlap nothing. */
int attn_views_overlap(const attn_tensor *a, const attn_tensor *b);

/* A view, which may be NULL, and its argument name. */
struct attn_named_view {
  const attn_tensor *t;
  const char *name;
};

/* ATTN_ERR_ARGUMENT if an output overlaps an input or another output. */
attn_status attn_views_check_no_overlap(const struct attn_named_view *out, size_t outs,
                                        const struct attn_named_view *in, size_t ins,
                                        attn_error *err);

/* Whether they have the same elements at the same addresses, for work in place. */
int attn_views_same(const attn_tensor *a, const attn_tensor *b);

/* The offset, in elements, of element number index in row-major order. */
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
