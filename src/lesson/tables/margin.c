/* margin.c -- what tables have beside a matrix. */
#include <math.h>

#include "blocks.h"
#include "cell.h"
#include "steps.h"
#include "table.h"

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

/* ---- sums of rows ---- */

/* How many rows end in a decimal that is the sum of the numbers before it. */
static int count_sums(const attn_printing *p) {
  int sums = 0;
  for (int row = 0; row < p->rows; row++) {
    const attn_cell *first = &p->cells[row * p->cols], *last = first + p->cols - 1;
    sums += last->decimals > 0 && attn_is_sum(last, first, p->cols - 1, 1);
  }
  return sums;
}

/* Is the last column that of the sums of the rows, by its title, or by its numbers? */
static int ends_in_sums(const struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  int cols = p->cols - 1;
  if (b->column_labels == p->cols && attn_label_step(b->column_label[cols]) == ATTN_STEP_ROW_SUM)
    return 1;
  return p->rows > 1 && count_sums(p) == p->rows;
}

void attn_table_add_without_sums(struct attn_grouping *g, struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  int cols = p->cols - 1;
  if (cols < 2 || !ends_in_sums(b)) return;
  attn_cell *cells = attn_group_take(g, (size_t)p->rows * (size_t)cols, sizeof *cells);
  for (int n = 0; cells && n < p->rows * cols; n++)
    cells[n] = p->cells[n / cols * p->cols + n % cols];
  if (cells) attn_block_add_reading(b, p->rows, cols, cells);
}

/* Does the last column have the sums of the rows, all but one, as the text states? */
static int has_wrong_sum(struct attn_grouping *g, const struct attn_block *b) {
  static const char STATED[] = "(?i)\\b(?:sum|total)s?\\b(?!\\()|合計|総和|の和";
  const attn_printing *p = &b->reading[0];
  int is_stated = attn_occurs(g->scan->patterns, STATED, b->heading);
  for (int n = 0; n < b->captions; n++)
    is_stated |= attn_occurs(g->scan->patterns, STATED, b->caption[n]);
  if (p->rows < 2 || p->cols < 3 || !is_stated) return 0;
  for (int row = 0; row < p->rows; row++) {
    const attn_cell *sum = &p->cells[(row + 1) * p->cols - 1];
    if (sum->kind == ATTN_CELL_BLANK || sum->decimals < 1) return 0;
  }
  return count_sums(p) == p->rows - 1;
}

struct attn_block *attn_table_split_sums(struct attn_grouping *g, struct attn_block *b) {
  static const char NAME[] = "row sums";
  attn_printing *p = &b->reading[0];
  const int cols = p->cols - 1;
  if (!has_wrong_sum(g, b)) return NULL;
  struct attn_block *sums = attn_block_in_place_of(g, b, attn_group_copy(g, NAME, sizeof NAME - 1));
  if (!sums) return NULL;
  sums->column_labels = 0;
  for (int row = 0; row < p->rows; row++) {
    attn_cell *sum = attn_block_add_row(g, sums, 1, "");
    if (!sum) return NULL;
    *sum = p->cells[row * p->cols + cols];
  }
  for (int n = 0; n < p->rows * cols; n++) p->cells[n] = p->cells[n / cols * p->cols + n % cols];
  p->cols = cols;
  if (b->column_labels > cols) b->column_labels = cols;
  return sums;
}

int attn_table_rows_of_part(const struct attn_table *t, const struct attn_table_part *p) {
  int rows = t->rows, blank = 1;
  while (rows > 1 && blank) {
    for (int n = p->begin; n < p->end && blank; n++) {
      const struct attn_row_item *item = attn_table_item(t, rows - 1, t->number[n]);
      blank = item->begin == item->end;
    }
    rows -= blank;
  }
  return rows;
}

int attn_table_columns_of_rows(const struct attn_table *t, int begin, int end) {
  int columns = t->numbers;
  for (int r = begin; columns > 1 && r < end;) {
    const struct attn_row_item *item = attn_table_item(t, r++, t->number[columns - 1]);
    if (item->begin < item->end) break;
    if (r == end) columns--, r = begin;
  }
  return columns;
}
