/* margin.c -- what tables have beside a matrix. */
#include <math.h>

#include "blocks.h"
#include "cell.h"

int attn_is_sum(const attn_cell *cell, const attn_cell *of, int count, int stride) {
  double sum = 0, slack = attn_cell_half(cell);
  if (count < 2 || cell->kind == ATTN_CELL_BLANK) return 0;
  for (int n = 0; n < count; n++, of += stride) {
    if (of->kind == ATTN_CELL_BLANK || !isfinite(of->value)) return 0;
    sum += of->value, slack += attn_cell_half(of);
  }
  return fabs(cell->value - sum) <= slack * (1 + 1e-6) + 1e-9;
}

int attn_is_product_of(const attn_cell *cell, const attn_cell *a, const attn_cell *b) {
  double slack = fabs(a->value) * attn_cell_half(b) + fabs(b->value) * attn_cell_half(a);
  return fabs(a->value * b->value - cell->value) <= slack + attn_cell_half(cell) + 1e-9;
}

int attn_counts(const attn_cell *cell, int count, int stride) {
  double first = cell->value;
  for (int n = 0; n < count; n++, cell += stride)
    if (cell->decimals != 0 || cell->value != first + n) return 0;
  return count > 1 && (first == 0 || first == 1);
}
