/* percent.c -- weights in percent, where only the text near them states it. */
#include <math.h>

#include "blocks.h"
#include "cell.h"

static int is_percentage(const attn_cell *c) {
  return c->kind == ATTN_CELL_NUMBER && c->value >= 0 && c->value <= 100;
}

/* Do the cells of a row, or a column, add up to 100 but for rounding? */
static int is_hundred(const attn_printing *p, int first, int stride, int count) {
  double sum = 0, half = 0;
  for (int n = 0; n < count; n++) {
    const attn_cell *c = &p->cells[first + n * stride];
    sum += c->value, half += 0.5 * pow(10, -(double)c->decimals);
  }
  return count > 1 && fabs(sum - 100) <= half + 1e-9;
}

/* A slip leaves other rows or columns as they are. */
static int add_up(const attn_printing *p) {
  int rows = 0, cols = 0;
  for (int n = 0; n < p->rows * p->cols; n++)
    if (!is_percentage(&p->cells[n])) return 0;
  for (int i = 0; i < p->rows; i++) rows += is_hundred(p, i * p->cols, 1, p->cols);
  for (int j = 0; j < p->cols; j++) cols += is_hundred(p, j, p->cols, p->rows);
  return 2 * rows >= p->rows || 2 * cols >= p->cols;
}

static int states_percent(const struct attn_grouping *g, const struct attn_block *b) {
  static const char PERCENT[] = "(?i)%|percent|パーセント";
  int found = attn_occurs(g->scan->patterns, PERCENT, b->name) ||
              attn_occurs(g->scan->patterns, PERCENT, b->header);
  for (int n = 0; n < b->captions && !found; n++)
    found = attn_occurs(g->scan->patterns, PERCENT, b->caption[n]);
  return found;
}

static void divide(struct attn_grouping *g, attn_printing *p) {
  const attn_cell *from = p->cells;
  const size_t count = (size_t)p->rows * (size_t)p->cols;
  attn_cell *cells = attn_group_take(g, count, sizeof *cells);
  for (size_t n = 0; cells && n < count; n++) {
    cells[n] = attn_cell_percent(from[n]);
    cells[n].line = from[n].line, cells[n].column = from[n].column;
  }
  if (cells) p->cells = cells;
}

void attn_percents(struct attn_grouping *g) {
  for (int n = 0; n < g->blocks; n++) {
    struct attn_block *b = g->block[n];
    if (!add_up(&b->reading[0]) || !states_percent(g, b)) continue;
    for (int r = 0; r < b->readings; r++) divide(g, &b->reading[r]);
  }
}
