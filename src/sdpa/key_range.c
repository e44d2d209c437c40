#include "problem.h"

/* a + b, held at the ends of int64_t: offsets and windows may be as large as they like. */
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
    /* The two far ends first: an offset of INT64_MAX less a window of INT64_MAX is 0. */
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
