/* stacks.c -- rows of a matrix that are lists of their own: "Row 1" above a number a line. */
#include <string.h>

#include "blocks.h"

static const char *last_caption(const struct attn_block *b) {
  return b->captions ? b->caption[b->captions - 1] : "";
}

static int is_list(const struct attn_block *b) {
  return b->source == ATTN_BLOCK_ROWS && b->reading[0].cols == 1 && b->reading[0].rows > 1 &&
         b->labels == b->reading[0].rows;
}

/* s21, s22, .. of row 2 */
static int is_indexed_row(struct attn_grouping *g, const struct attn_block *b, int row) {
  struct attn_label label;
  for (int n = 0; n < b->labels; n++) {
    if (!attn_group_label(g, b->label[n], &label)) return 0;
    if (!label.stem || label.index != 10 * (row + 1) + n + 1) return 0;
  }
  return 1;
}

/* Is the list below the label of row `row`: its number, or the token of that column? */
static int is_captioned_row(struct attn_grouping *g, const struct attn_block *b, int row) {
  static const char ROW[] = "(?i)\\b(?:row|query|token) ?(\\d)\\b";
  const char *label = last_caption(b);
  struct attn_match m;
  if (attn_ordinal_in(g, label) == row + 1) return 1;
  if (attn_find(g->scan->patterns, ROW, label, strlen(label), 0, &m) &&
      label[m.group[1].begin] - '0' == row) /* from 0 */
    return 1;
  return *label && row < b->labels && strcmp(label, b->label[row]) == 0;
}

static int is_list_of_row(struct attn_grouping *g, const struct attn_block *b, int row) {
  return is_list(b) && (is_captioned_row(g, b, row) || is_indexed_row(g, b, row));
}

/* How many lists from block n on are the rows of one matrix; 0: none. */
static int count_lists(struct attn_grouping *g, int n) {
  const struct attn_block *first = g->block[n];
  int count = 0;
  while (n + count < g->blocks && is_list_of_row(g, g->block[n + count], count) &&
         g->block[n + count]->reading[0].rows == first->reading[0].rows)
    count++;
  return count > 1 ? count : 0;
}

static void stack_lists(struct attn_grouping *g, int n, int count) {
  const struct attn_block *first = g->block[n];
  struct attn_block *all = attn_block_in_place_of(g, first, first->name);
  if (!all) return;
  int captioned = is_captioned_row(g, first, 0);
  all->captions -= captioned;
  all->column_label = first->label, all->column_labels = first->labels;
  for (int r = 0; r < count; r++) {
    const struct attn_block *b = g->block[n + r];
    const char *label = captioned ? last_caption(b) : "";
    if (!attn_block_copy_row(g, all, b->reading[0].cells, b->reading[0].rows, label)) return;
    all->end = b->end;
  }
  g->block[n] = all;
}

/* ---- the working of each vector beside it: q1 = (1·2 + 0·1, 1·3) = (2, 3) ---- */

static int is_worked(const attn_printing *p) {
  for (int n = 0; n < p->rows * p->cols; n++)
    if (p->cells[n].kind == ATTN_CELL_NUMBER) return 0;
  return 1;
}

static int is_working_of(const struct attn_block *a, const struct attn_block *b) {
  const attn_printing *p = &a->reading[0], *q = &b->reading[0];
  return a->source == ATTN_BLOCK_VECTORS && b->source == ATTN_BLOCK_VECTORS && a->line == b->line &&
         a->end == b->end && p->rows == q->rows && p->cols == q->cols && is_worked(p) &&
         !is_worked(q);
}

static int is_rounded(const attn_cell *worked, const attn_cell *cell) {
  return cell->kind == ATTN_CELL_BLANK ||
         (worked->value >= cell->lo - 1e-9 && worked->value <= cell->hi + 1e-9);
}

/* A row of a working is arithmetic; one that is right is not listed. */
static void add_workings(struct attn_grouping *g, const struct attn_block *a,
                         const struct attn_block *b) {
  const attn_printing *p = &a->reading[0];
  for (int r = 0; r < p->rows; r++) {
    const attn_cell *row = p->cells + r * p->cols, *result = b->reading[0].cells + r * p->cols;
    int differs = 0;
    for (int c = 0; c < p->cols; c++) differs |= !is_rounded(&row[c], &result[c]);
    if (differs)
      attn_worked_add(g, (struct attn_worked){.name = a->name,
                                              .first = row[0],
                                              .last = row[p->cols - 1],
                                              .numbers = p->cols,
                                              .differs = 1});
  }
}

void attn_stacks_merge(struct attn_grouping *g) {
  int kept = 0;
  for (int n = 0; n < g->blocks && g->status == ATTN_OK; kept++) {
    if (n + 1 < g->blocks && is_working_of(g->block[n], g->block[n + 1])) {
      add_workings(g, g->block[n], g->block[n + 1]);
      n++;
    }
    int lists = count_lists(g, n);
    if (lists) stack_lists(g, n, lists);
    g->block[kept] = g->block[n];
    n += lists ? lists : 1;
  }
  g->blocks = kept;
}
