/* bound.c -- what the float32 kernels promise; derived in docs/accuracy.md. */
#include <math.h>

#include "ref.h"

static double headroom(int64_t keys) { return keys > 1 ? ceil(log2((double)keys)) + 1 : 1; }

/* The kernel holds 2^(x - m), flushed below 2^-126, with m at most 2c - 1 above the row's
 * maximum; so a weight of 2^(2c - 126) or more is never lost. */
double attn_ref_flush(int64_t keys) { return exp2(2 * headroom(keys) - 126); }

double attn_ref_bound_f32(const struct attn_ref_row *row, int64_t width, int64_t e) {
  const double u = 0x1p-24;
  double n = (double)row->visible;
  double relative = 16 + 2 * sqrt((double)width) * row->magnitude + 2 * sqrt(n);
  /* Products that are subnormal lose half of 2^-149 each, before the division by the sum. */
  double subnormal = n * exp2(2 * headroom(row->keys) - 149);
  return u * row->absolute[e] * relative + row->flushed[e] + subnormal;
}
