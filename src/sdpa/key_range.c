#include "key_range.h"

#include <math.h>

#include "element.h"
#include "error.h"
#include "paging.h"

int64_t attn_problem_keys(const struct attn_problem *p, int64_t b) {
  return p->paging ? attn_problem_length(p, b) : p->keys;
}

int64_t attn_problem_length(const struct attn_problem *p, int64_t b) {
  const struct attn_paging *g = p->paging;
  if (g) return attn_tensor_integer(&g->lengths, g->rows ? g->rows[b] : b, 0);
  return p->desc.key_lengths ? attn_tensor_integer(p->desc.key_lengths, b, 0) : p->keys;
}

/* a + b, saturated: offsets and windows may have any value. */
static int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

static int64_t offset_of(const struct attn_problem *p, int64_t length) {
  if (p->desc.align == ATTN_ALIGN_BOTTOM_RIGHT) return length - p->rows;
  return p->desc.align == ATTN_ALIGN_OFFSET ? p->desc.offset : 0;
}

void attn_problem_key_range(const struct attn_problem *p, int64_t b, int64_t i, int64_t *lo,
                            int64_t *hi) {
  int64_t length = attn_problem_length(p, b), offset = offset_of(p, length);
  int64_t from = 0, last = length - 1;
  if ((p->desc.flags & ATTN_SDPA_CAUSAL) && add(i, offset) < last) last = add(i, offset);
  if (p->desc.flags & ATTN_SDPA_WINDOW) {
    int64_t left = p->desc.window_left, right = p->desc.window_right;
    /* offset +- window first: INT64_MAX - INT64_MAX is 0. */
    int64_t lowest = add(i, add(offset, -left)), highest = add(i, add(offset, right));
    if (left >= 0 && lowest > from) from = lowest;
    if (right >= 0 && highest < last) last = highest;
  }
  *lo = from;
  *hi = last < from ? from : last + 1;
}

int64_t attn_problem_position(const struct attn_problem *p, int64_t b, int64_t i) {
  return add(i, offset_of(p, attn_problem_length(p, b)));
}

int attn_problem_mask_allows(const struct attn_problem *p, int64_t b, int64_t h, int64_t i,
                             int64_t j) {
  const char *at = attn_tensor_at(&p->mask, b, h, i, j);
  if (p->mask.dtype == ATTN_BOOL) return *at != 0;
  return attn_load_real(p->mask.dtype, at) != -(double)INFINITY;
}

int attn_problem_row_is_empty(const struct attn_problem *p, int64_t b, int64_t h, int64_t i) {
  int64_t lo, hi;
  attn_problem_key_range(p, b, i, &lo, &hi);
  if (!p->desc.mask) return lo >= hi;
  for (int64_t j = lo; j < hi; j++)
    if (attn_problem_mask_allows(p, b, h, i, j)) return 0;
  return 1;
}

attn_status attn_problem_reject_empty_rows(const struct attn_problem *p, attn_error *err) {
  for (int64_t b = 0; b < p->batch; b++)
    for (int64_t h = 0; h < p->heads_q; h++)
      for (int64_t i = 0; i < p->rows; i++)
        if (attn_problem_row_is_empty(p, b, h, i))
          return attn_fail(err, ATTN_ERR_EMPTY_ROW, "empty_row",
                           "query %lld of head %lld of sequence %lld sees no key", (long long)i,
                           (long long)h, (long long)b);
  return ATTN_OK;
}
