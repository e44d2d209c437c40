/* margin.c -- what tables have beside a matrix: a last column or row that is computed of the
 * others, a first column that counts. */
#include <math.h>

#include "blocks.h"
#include "cell.h"

static int is_near(const attn_cell *cell, double x, double slack) {
  return fabs(cell->value - x) <= (attn_cell_half(cell) + slack) * (1 + 1e-6) + 1e-9;
}

int attn_is_margin(const attn_cell *cell, const attn_cell *of, int count, int stride) {
  double sum = 0, squares = 0, slack = 0, most = -INFINITY, least = INFINITY;
  int largest = 0;
  for (int n = 0; n < count; n++) {
    const attn_cell *c = &of[(size_t)n * (size_t)stride];
    if (c->kind == ATTN_CELL_BLANK || !isfinite(c->value)) return 0;
    if (c->value > most) most = c->value, largest = n;
    least = fmin(least, c->value), sum += c->value, squares += c->value * c->value;
    slack += attn_cell_half(c);
  }
  if (count < 2 || cell->kind == ATTN_CELL_BLANK) return 0;
  return is_near(cell, sum, slack) || is_near(cell, sum / count, slack / count) ||
         is_near(cell, sqrt(squares), slack) || cell->value == most || cell->value == least ||
         (cell->decimals == 0 && (cell->value == largest || cell->value == largest + 1));
}

static int has_decimals(const attn_printing *p) {
  for (int n = 0; n < p->rows * p->cols; n++)
    if (p->cells[n].decimals > 0) return 1;
  return 0;
}

static const attn_cell *at(const attn_printing *p, int row, int col) {
  return &p->cells[row * p->cols + col];
}

/* In all rows but one, which may be wrong. */
static int has_last_column(const attn_printing *p) {
  int fit = 0;
  for (int r = 0; r < p->rows; r++)
    fit += attn_is_margin(at(p, r, p->cols - 1), at(p, r, 0), p->cols - 1, 1);
  return fit >= 2 && fit >= p->rows - 1;
}

static int has_last_row(const attn_printing *p) {
  int fit = 0;
  for (int c = 0; c < p->cols; c++)
    fit += attn_is_margin(at(p, p->rows - 1, c), at(p, 0, c), p->rows - 1, p->cols);
  return fit >= 2 && fit >= p->cols - 1;
}

int attn_counts(const attn_cell *cell, int count, int stride) {
  double first = cell->value;
  for (int n = 0; n < count; n++, cell += stride)
    if (cell->decimals != 0 || cell->value != first + n) return 0;
  return count > 1 && (first == 0 || first == 1);
}

void attn_block_add_margins(struct attn_grouping *g, struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  if (!has_decimals(p)) return;
  int first = p->cols > 2 && attn_counts(p->cells, p->rows, p->cols);
  int last = has_last_column(p), row = has_last_row(p);
  int rows = p->rows - row, cols = p->cols - first - last;
  if (!(first || last || row) || rows < 1 || cols < 2) return;
  attn_cell *cells = attn_pool_take(g->scan->pool, (size_t)rows * (size_t)cols * sizeof *cells);
  if (!cells) {
    attn_group_no_memory(g);
    return;
  }
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) cells[r * cols + c] = *at(p, r, first + c);
  attn_block_add_reading(b, rows, cols, cells);
}
