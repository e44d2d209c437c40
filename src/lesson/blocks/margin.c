/* margin.c -- what tables have beside a matrix: a last column or row that is computed of the
 * others, a first column that counts. */
#include <math.h>

#include "cell.h"
#include "steps.h"
#include "table.h"

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

int attn_is_sum(const attn_cell *cell, const attn_cell *of, int count) {
  double sum = 0, slack = 0;
  for (int n = 0; n < count; n++) sum += of[n].value, slack += attn_cell_half(&of[n]);
  return cell->decimals > 0 && cell->kind != ATTN_CELL_BLANK && is_near(cell, sum, slack);
}

/* In all rows but one, which may be wrong. sums: it is of sums only. */
static int has_last_column(const attn_printing *p, int sums) {
  int fit = 0, last = p->cols - 1;
  for (int r = 0; r < p->rows; r++)
    fit += sums ? attn_is_sum(at(p, r, last), at(p, r, 0), last)
                : attn_is_margin(at(p, r, last), at(p, r, 0), last, 1);
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

void attn_block_add_margins(struct attn_grouping *g, struct attn_block *b, int is_labelled) {
  const attn_printing *p = &b->reading[0];
  if (!has_decimals(p)) return;
  int first = is_labelled && p->cols > 2 && attn_counts(p->cells, p->rows, p->cols);
  int last = has_last_column(p, !is_labelled), row = is_labelled && has_last_row(p);
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

/* ---- sums that are called so ---- */

static char *column_name(struct attn_grouping *g, const struct attn_table *t, int col) {
  return t->header.items == t->cols ? attn_item_text(g, &t->header, col) : NULL;
}

static int is_step(struct attn_grouping *g, const char *name, int step) {
  return name && *name && attn_step_of_text(g, name) == step;
}

static int has_exponentials_above(struct attn_grouping *g, const struct attn_table *t) {
  for (int n = 0; n < t->numbers; n++)
    if (is_step(g, column_name(g, t, t->number[n]), ATTN_STEP_EXPONENTIALS)) return 1;
  return 0;
}

static int has_exponentials_beside(struct attn_grouping *g, const struct attn_table *t) {
  for (int r = 0; r < t->rows; r++)
    if (is_step(g, t->row[r].label.text, ATTN_STEP_EXPONENTIALS)) return 1;
  return 0;
}

static int have_sums(const struct attn_table *t) {
  for (int r = 0; r < t->rows; r++)
    if (!t->row[r].has_sum) return 0;
  return 1;
}

void attn_table_take_sums(struct attn_grouping *g, struct attn_table *t) {
  int last = t->numbers > 1 ? t->number[t->numbers - 1] : 0;
  if (last && have_sums(t)) {
    t->sum_column = last, t->numbers--;
    return;
  }
  if (t->rows > 1 && attn_label_step(t->row[t->rows - 1].label.text) == ATTN_STEP_ROW_SUM &&
      has_exponentials_above(g, t))
    t->sums = 1, t->rows--;
  if (last && is_step(g, column_name(g, t, last), ATTN_STEP_ROW_SUM) &&
      has_exponentials_beside(g, t))
    t->sum_column = last, t->numbers--;
}

/* One of exponentials is a block; any other is a number of the document. */
static void add_sum(struct attn_grouping *g, const struct attn_row *row, int col, char *name,
                    const char *of) {
  struct attn_row_item *item = &row->item[col];
  if (item->used || !attn_item_is_number(item) || !name) return;
  item->used = 1;
  if (!is_step(g, of, ATTN_STEP_EXPONENTIALS)) {
    attn_stray_cell(g, name, &item->cell, 1);
    return;
  }
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_ROWS, row->line->line, name);
  if (b && attn_block_copy_row(g, b, &item->cell, 1, "")) attn_block_end(g, b, row->line->line);
}

/* "(sum 0.73)" of all rows. */
static void add_sums_of_rows(struct attn_grouping *g, const struct attn_table *t) {
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_ROWS, t->line, "sum");
  for (int r = 0; b && r < t->rows; r++) {
    struct attn_row_item *item = attn_table_item(t, r, t->sum_column);
    item->used = 1;
    if (!attn_block_copy_row(g, b, &item->cell, 1, "")) return;
  }
  if (b) attn_block_end(g, b, t->last_line);
}

void attn_table_add_sums(struct attn_grouping *g, const struct attn_table *t) {
  const struct attn_row *sums = &t->row[t->rows];
  if (t->sum_column && have_sums(t)) {
    add_sums_of_rows(g, t);
    return;
  }
  for (int n = 0; t->sums && n < t->numbers && g->status == ATTN_OK; n++)
    add_sum(g, sums, t->number[n], sums->label.text, column_name(g, t, t->number[n]));
  for (int r = 0; t->sum_column && r < t->rows && g->status == ATTN_OK; r++)
    add_sum(g, &t->row[r], t->sum_column, column_name(g, t, t->sum_column), t->row[r].label.text);
}
