/* terms.c -- "weight | v1 | weight * v1": terms of the output in a table, and the rows of their
 * sums, "total | | | 0.5". */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "results.h"
#include "table.h"

static const attn_cell *number_at(const struct attn_table *t, int row, int col) {
  const struct attn_row_item *i = attn_table_item(t, row, col);
  return attn_item_is_number(i) && isfinite(i->cell.value) ? &i->cell : NULL;
}

/* Are the numbers of column c those of x times those of y? */
static int is_product(const struct attn_table *t, int x, int y, int c) {
  int rows = 0;
  for (int r = 0; r < t->rows; r++) {
    const attn_cell *a = number_at(t, r, x), *b = number_at(t, r, y), *p = number_at(t, r, c);
    if (!a || !b) continue;
    if (!p || !attn_is_product_of(p, a, b)) return 0;
    rows++;
  }
  return rows > 1;
}

/* The weights times their sum are the exponentials; "total |  | 6.5 |" is below them. */
static int is_of_exponentials(struct attn_grouping *g, const struct attn_table *t, int col) {
  char *name = attn_item_text(g, &t->header, col);
  return name && attn_result_kind_of(g, name) == ATTN_RESULT_EXPONENTIAL;
}

/* The column of the values in a column of terms, by the weights in column w. -1: there is none. */
static int values_of(struct attn_grouping *g, const struct attn_table *t, int w, int c) {
  if (c == w || is_of_exponentials(g, t, c)) return -1;
  for (int y = 0; y < t->cols; y++)
    if (y != w && y != c && is_product(t, w, y, c)) return y;
  return -1;
}

static int weights_of(struct attn_grouping *g, const struct attn_table *t) {
  for (int c = 0; c < t->header.items && t->header.items == t->cols; c++) {
    char *name = attn_item_text(g, &t->header, c);
    char *next = c + 1 < t->cols ? attn_item_text(g, &t->header, c + 1) : NULL;
    if (!name || (next && attn_label_follows(name, next))) continue; /* a, b, c */
    if (attn_step_of_text(g, name) == ATTN_STEP_WEIGHTS) return c;
  }
  return -1;
}

/* The numbers of a column in row `row`: is it the sum of those in the rows from `begin` on? */
static int is_sum(struct attn_grouping *g, const struct attn_table *t, int begin, int row, int c) {
  attn_cell *cell = attn_group_take(g, (size_t)(row - begin) + 1, sizeof *cell);
  for (int r = begin; cell && r <= row; r++) cell[r - begin] = attn_table_item(t, r, c)->cell;
  return cell && attn_is_sum(&cell[row - begin], cell, row - begin, 1);
}

static void add_row_sum(struct attn_grouping *g, const struct attn_table *t, int row, int col) {
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_ROWS, t->row[row].line->line, "row sum");
  attn_cell *cell = b ? attn_block_add_row(g, b, 1, "") : NULL;
  if (cell)
    *cell = attn_table_item(t, row, col)->cell, attn_block_end(g, b, t->row[row].line->line);
}

void attn_table_move_row_sum(struct attn_grouping *g, int from) {
  int last = g->blocks - 1;
  if (last <= from || strcmp(g->block[last]->name, "row sum") != 0) return;
  struct attn_block *sum = g->block[last];
  for (; last > from && !attn_follows_exponentials(g, last); last--)
    g->block[last] = g->block[last - 1];
  g->block[last] = sum;
}

/* The sums of the terms are a row of the output, and that of the exponentials is a block; a sum of
 * the other columns needs no more. */
static void add_total(struct attn_grouping *g, const struct attn_table *t, struct attn_block *b,
                      int begin, int row, const int *values, int terms) {
  attn_cell *out = terms ? attn_block_add_row(g, b, terms, t->row[row].label.text) : NULL;
  for (int c = 0; c < t->cols; c++) {
    const struct attn_row_item *i = attn_table_item(t, row, c);
    if (values[c] >= 0 && out)
      *out++ = i->cell;
    else if (attn_item_is_number(i) && begin == 0 && is_of_exponentials(g, t, c))
      add_row_sum(g, t, row, c);
    else if (attn_item_is_number(i) && !is_sum(g, t, begin, row, c))
      attn_stray_cell(g, attn_item_text(g, &t->header, c), &i->cell, 1);
  }
}

/* "output |  |  | 1.5 | 0.5" below rows that have no blanks: its numbers are a block. 0: it is no
 * such row. */
static int add_named(struct attn_grouping *g, const struct attn_table *t, int row) {
  int begin = 1, end, blanks = 0;
  char *name = row > 1 ? attn_item_text(g, &t->row[row], 0) : NULL;
  while (begin < t->cols && !number_at(t, row, begin)) begin++;
  for (end = begin; end < t->cols && number_at(t, row, end);) end++;
  for (int c = 1; c < t->cols; c++) {
    blanks += !number_at(t, row, c) && number_at(t, 0, c);
    if (c >= end && number_at(t, row, c)) return 0;
  }
  int step = name && blanks && end - begin > 1 ? attn_label_step(name) : -1;
  if (step != ATTN_STEP_OUTPUT && step != ATTN_STEP_Q) return 0;
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_ROWS, t->row[row].line->line, name);
  attn_cell *cell = attn_block_add_row(g, b, end - begin, "");
  for (int c = begin; cell && c < end; c++) *cell++ = t->row[row].item[c].cell;
  return cell && attn_block_end(g, b, t->row[row].line->line);
}

/* "total |  |  | 0.5": values: the column of those that terms have, -1: none. */
static int is_total(struct attn_grouping *g, const struct attn_table *t, int row, int values) {
  int blanks = 0, numbers = 0;
  if (values >= 0) return !number_at(t, row, values);
  for (int c = 1; c < t->cols; c++) {
    blanks += row > 0 && !number_at(t, row, c) && number_at(t, 0, c);
    numbers += number_at(t, row, c) != NULL;
    if (attn_table_item(t, row, c)->kind == ATTN_ITEM_VALUE) return 0;
  }
  char *name = blanks && numbers ? attn_item_text(g, &t->row[row], 0) : NULL;
  return name && attn_label_step(name) == ATTN_STEP_ROW_SUM;
}

int attn_table_terms(struct attn_grouping *g, struct attn_table *t) {
  int *values = attn_group_take(g, (size_t)t->cols, sizeof *values), w = weights_of(g, t);
  int terms = 0, begin = 0, kept = 0, y = -1;
  if (!values || t->header.items != t->cols || t->cols > ATTN_TERM_COLUMNS) return 0;
  for (int c = 0; c < t->cols; c++)
    if ((values[c] = w < 0 ? -1 : values_of(g, t, w, c)) >= 0) terms++, y = values[c];
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_ROWS, t->last_line, "output");
  unsigned char *total = attn_group_take(g, (size_t)t->rows, 1);
  if (!b || !total) return 0;
  for (int r = 0; r < t->rows; r++) {
    if ((total[r] = is_total(g, t, r, y) != 0))
      add_total(g, t, b, begin, r, values, terms), begin = r + 1;
    else
      total[r] = add_named(g, t, r) != 0;
  }
  for (int r = 0; r < t->rows; r++) {
    for (int c = 0; c < t->cols; c++)
      if (values[c] >= 0)
        t->row[r].item[c].kind = ATTN_ITEM_TEXT, t->row[r].item[c].end = t->row[r].item[c].begin;
    if (!total[r]) t->row[kept++] = t->row[r];
  }
  t->rows = kept;
  return attn_block_end(g, b, t->last_line);
}
