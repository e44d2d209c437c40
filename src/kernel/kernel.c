#include "kernel.h"

#include <math.h>
#include <stddef.h>

#include "integer.h"

static const struct attn_kernel *const table[] = {
    &attn_kernel_scalar,
#if defined(__x86_64__)
    &attn_kernel_avx2,   &attn_kernel_avx512, &attn_kernel_avx512_bf16, &attn_kernel_amx_bf16,
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

/* ---- Workspaces ---- */

static int64_t place(int64_t *end, int64_t floats) {
  int64_t at = *end;
  *end += floats;
  return at;
}

static const int64_t SCORES = (int64_t)ATTN_KEY_BLOCK * ATTN_ROW_BLOCK;
static const int64_t MASK_BITS =
    2 * ATTN_MASK_BLOCKS * (int64_t)ATTN_KEY_BLOCK / 32 * ATTN_ROW_BLOCK;

struct attn_sdpa_layout attn_sdpa_lay_out(int64_t width, int64_t value_width, int has_additive,
                                          int32_t blocks) {
  struct attn_sdpa_layout l = {0};
  width = attn_round_up(width, ATTN_PANEL_WIDTH),
  value_width = attn_round_up(value_width, ATTN_PANEL_WIDTH);
  l.q = place(&l.end, width * ATTN_ROW_BLOCK);
  l.o = place(&l.end, (value_width + 1) * ATTN_ROW_BLOCK); /* and a column of sums */
  l.a = place(&l.end, has_additive ? width * ATTN_ROW_BLOCK : 0);
  l.mask_values = place(&l.end, SCORES);
  l.mask_bits = place(&l.end, MASK_BITS);
  l.rows_end = l.end;
  l.end *= blocks;
  l.p = place(&l.end, SCORES);
  l.tile = place(&l.end, SCORES);
  l.k_copy = place(&l.end, width * ATTN_KEY_BLOCK);
  l.v_copy = place(&l.end, value_width * ATTN_KEY_BLOCK);
  l.scores = place(&l.end, has_additive ? SCORES : 0);
  return l;
}

struct attn_backward_layout attn_backward_lay_out(int64_t width, int64_t value_width, int64_t keys,
                                                  int has_additive, int32_t blocks) {
  const int64_t e = attn_round_up(width, ATTN_ROW_BLOCK),
                ev = attn_round_up(value_width, ATTN_ROW_BLOCK);
  const int64_t rows = ATTN_ROW_BLOCK, all = attn_round_up(keys, ATTN_KEY_BLOCK);
  struct attn_backward_layout l = {0};
  l.q_lanes = place(&l.end, width * rows);
  l.d_out_lanes = place(&l.end, value_width * rows);
  l.q = place(&l.end, e * rows);
  l.d_out = place(&l.end, ev * rows);
  l.d_q = place(&l.end, e * rows);
  l.a_lanes = place(&l.end, has_additive ? width * rows : 0);
  l.a = place(&l.end, has_additive ? e * rows : 0);
  l.d_a = place(&l.end, has_additive ? e * rows : 0);
  l.mask_bits = place(&l.end, MASK_BITS);
  l.rows_end = l.end;
  l.end *= blocks;
  l.p = place(&l.end, SCORES);
  l.d_s = place(&l.end, SCORES);
  l.dropped = place(&l.end, SCORES);
  l.gain = place(&l.end, SCORES);
  l.tile = place(&l.end, SCORES);
  l.mask_values = place(&l.end, SCORES);
  l.k = place(&l.end, e * all);
  l.v = place(&l.end, ev * all);
  l.not_finite = place(&l.end, all / ATTN_KEY_BLOCK);
  l.d_v = e * all;
  l.sum_floats = (e + ev) * all;
  return l;
}

/* ---- Softmax ---- */

/* The sink may be far above or below all scores: double holds either. */
struct attn_softmax_sum attn_softmax_finish(double m, double l, double sink) {
  double top = sink > m ? sink : m;
  if (top == -(double)INFINITY) return (struct attn_softmax_sum){.top = top};
  if (sink == -(double)INFINITY && isfinite(m)) /* the same bits, without powers */
    return (struct attn_softmax_sum){m, l, 1 / l, 0 / l};
  double own = exp2(m - top), other = exp2(sink - top), sum = l * own + other;
  return (struct attn_softmax_sum){top, sum, own / sum, other / sum};
}

double attn_softmax_log2(struct attn_softmax_sum total) { return total.top + log2(total.sum); }
