#include "view.h"

#include <stdio.h>

#include "element.h"
#include "error.h"

const char *attn_view_text(const attn_tensor *t, char text[ATTN_SHAPE_TEXT]) {
  size_t at = 0;
  for (int n = 0; n < t->rank && n < ATTN_RANK_MAX; n++)
    at += (size_t)snprintf(text + at, ATTN_SHAPE_TEXT - at, "%s%lld", n ? ", " : "(",
                           (long long)t->shape[n]);
  snprintf(text + at, ATTN_SHAPE_TEXT - at, "%s", at ? ")" : "()");
  return text;
}

int attn_view_is_empty(const attn_tensor *t) {
  for (int n = 0; n < t->rank; n++)
    if (t->shape[n] == 0) return 1;
  return 0;
}

/* The byte range of the elements, relative to data: low <= .. < high. -1 on overflow. */
static int extent(const attn_tensor *t, int64_t *low, int64_t *high) {
  int64_t lo = 0, hi = 0, reach;
  *low = *high = 0;
  if (attn_view_is_empty(t)) return 0;
  for (int n = 0; n < t->rank; n++) {
    if (__builtin_mul_overflow(t->shape[n] - 1, t->strides[n], &reach)) return -1;
    if (__builtin_add_overflow(reach < 0 ? lo : hi, reach, reach < 0 ? &lo : &hi)) return -1;
  }
  int64_t size = attn_element_size(t->dtype);
  if (__builtin_mul_overflow(lo, size, low)) return -1;
  if (__builtin_add_overflow(hi, 1, &hi) || __builtin_mul_overflow(hi, size, high)) return -1;
  return 0;
}

static attn_status check_shape(const attn_tensor *t, const char *name, attn_error *err) {
  int64_t count = 1;
  for (int n = 0; n < t->rank; n++) {
    if (t->shape[n] < 0)
      return attn_fail(err, ATTN_ERR_SHAPE, name, "%s has negative dimension %lld", name,
                       (long long)t->shape[n]);
    if (t->shape[n] && __builtin_mul_overflow(count, t->shape[n], &count))
      return attn_fail(err, ATTN_ERR_SHAPE, name, "the shape of %s overflows", name);
  }
  return ATTN_OK;
}

attn_status attn_view_check(const attn_tensor *t, const char *name, attn_error *err) {
  if (!t) return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s is NULL", name);
  if (t->rank < 0 || t->rank > ATTN_RANK_MAX)
    return attn_fail(err, ATTN_ERR_SHAPE, name, "%s has rank %d; it must be between 0 and %d", name,
                     (int)t->rank, ATTN_RANK_MAX);
  int64_t size = attn_element_size(t->dtype), low, high;
  if (!size)
    return attn_fail(err, ATTN_ERR_TYPE, name, "%s has unknown element type 0x%x", name,
                     (unsigned)t->dtype);
  attn_status status = check_shape(t, name, err);
  if (status) return status;
  if (extent(t, &low, &high))
    return attn_fail(err, ATTN_ERR_SHAPE, name, "the strides of %s overflow", name);
  if (high > low && (uintptr_t)t->data % (uintptr_t)size)
    return attn_fail(err, ATTN_ERR_ARGUMENT, name,
                     "the data of %s is not aligned to its element size (%lld bytes)", name,
                     (long long)size);
  if (high > low && !t->data)
    return attn_fail(err, ATTN_ERR_ARGUMENT, name, "the data of %s is NULL, but it has elements",
                     name);
  return ATTN_OK;
}

/* The bytes that the elements take within a period, ignoring dimensions whose stride is a multiple
 * of it: the size, from offset *first on. 0: the whole period. */
static int64_t within_period(const attn_tensor *t, int64_t period, uint64_t *first) {
  int64_t size = attn_element_size(t->dtype), low = 0, high = size;
  for (int n = 0; n < t->rank; n++) {
    if (t->shape[n] == 1) continue; /* its stride is not used */
    int64_t step = t->strides[n] * size;
    if (step % period) *(step < 0 ? &low : &high) += (t->shape[n] - 1) * step;
  }
  *first = ((uint64_t)(uintptr_t)t->data + (uint64_t)low) % (uint64_t)period;
  return high - low < period ? high - low : 0;
}

/* Columns of one matrix interleave but do not overlap: modulo some stride of a, their byte ranges
 * are disjoint. */
static int interleave(const attn_tensor *a, const attn_tensor *b) {
  for (int n = 0; n < a->rank; n++) {
    uint64_t x, y;
    if (!a->strides[n] || a->shape[n] == 1) continue;
    int64_t step = a->strides[n] * attn_element_size(a->dtype), period = step < 0 ? -step : step;
    int64_t wide = within_period(a, period, &x), other = within_period(b, period, &y);
    if (!wide || !other) continue;
    uint64_t ahead = (y + (uint64_t)period - x) % (uint64_t)period;
    if (ahead >= (uint64_t)wide && ahead + (uint64_t)other <= (uint64_t)period) return 1;
  }
  return 0;
}

int attn_views_overlap(const attn_tensor *a, const attn_tensor *b) {
  int64_t alo, ahi, blo, bhi;
  if (!a || !b || !a->data || !b->data) return 0;
  if (a->rank < 0 || a->rank > ATTN_RANK_MAX || b->rank < 0 || b->rank > ATTN_RANK_MAX) return 0;
  if (extent(a, &alo, &ahi) || extent(b, &blo, &bhi) || alo == ahi || blo == bhi) return 0;
  uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
  if (x + (uintptr_t)alo >= y + (uintptr_t)bhi || y + (uintptr_t)blo >= x + (uintptr_t)ahi)
    return 0;
  return !interleave(a, b) && !interleave(b, a);
}

static attn_status check_apart(const struct attn_named_view *out,
                               const struct attn_named_view *others, size_t count,
                               attn_error *err) {
  for (size_t n = 0; n < count; n++)
    if (attn_views_overlap(out->t, others[n].t))
      return attn_fail(err, ATTN_ERR_ARGUMENT, out->name, "%s overlaps %s in memory", out->name,
                       others[n].name);
  return ATTN_OK;
}

attn_status attn_views_check_no_overlap(const struct attn_named_view *out, size_t outs,
                                        const struct attn_named_view *in, size_t ins,
                                        attn_error *err) {
  attn_status status = ATTN_OK;
  for (size_t n = 0; !status && n < outs; n++) {
    status = check_apart(&out[n], in, ins, err);
    if (!status) status = check_apart(&out[n], out, n, err);
  }
  return status;
}

int attn_views_same(const attn_tensor *a, const attn_tensor *b) {
  if (!a || !b || a->data != b->data || a->dtype != b->dtype || a->rank != b->rank) return 0;
  for (int n = 0; n < a->rank; n++)
    if (a->shape[n] != b->shape[n] || (a->shape[n] > 1 && a->strides[n] != b->strides[n])) return 0;
  return 1;
}
