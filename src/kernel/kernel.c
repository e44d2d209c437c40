#include "kernel.h"

#include <math.h>
#include <stddef.h>

static const struct attn_kernel *const table[] = {
    &attn_kernel_scalar,
#if defined(__x86_64__)
    &attn_kernel_avx2,
    &attn_kernel_avx512,
#endif
};

const struct attn_kernel *attn_kernel_entry(int32_t index) {
  if (index < 0 || (size_t)index >= sizeof table / sizeof *table) return NULL;
  return table[index];
}

const struct attn_kernel *attn_kernel_for(int32_t isa) {
  const struct attn_kernel *best = table[0];
  for (size_t n = 1; n < sizeof table / sizeof *table; n++)
    if (table[n]->isa <= isa) best = table[n];
  return best;
}

/* Panels of a and of its gradient, scores of one group. */
static int64_t additive_floats(int64_t width, int has_additive) {
  return has_additive ? ATTN_ROW_BLOCK * (2 * width + ATTN_KEY_BLOCK) : 0;
}

/* q panel, scores, mask tile, output, copies of strided k and v. */
int64_t attn_sdpa_panel_floats(int64_t width, int64_t value_width, int has_additive) {
  return ATTN_ROW_BLOCK * (width + 2 * ATTN_KEY_BLOCK + value_width) +
         ATTN_KEY_BLOCK * (width + value_width) + additive_floats(width, has_additive) + 64;
}

/* The sink may be far above or below all scores: double has room for either. */
struct attn_softmax_sum attn_softmax_finish(double m, double l, double sink) {
  double top = sink > m ? sink : m, own = exp2(m - top), other = exp2(sink - top);
  double sum = l * own + other;
  return (struct attn_softmax_sum){top + log2(sum), own / sum, other / sum};
}

/* Queries: the forward's, panels of dO and dQ, dP and a slope of one group. Keys: panels of k, v,
 * their gradients, q and dO; five squares. */
int64_t attn_backward_panel_floats(int64_t width, int64_t value_width, int has_additive) {
  int64_t queries = attn_sdpa_panel_floats(width, value_width, 0) +
                    ATTN_ROW_BLOCK * (width + value_width + 2 * ATTN_KEY_BLOCK);
  int64_t keys = ATTN_ROW_BLOCK * (3 * (width + value_width) + 5 * ATTN_ROW_BLOCK);
  return (queries > keys ? queries : keys) + additive_floats(width, has_additive) + 64;
}
