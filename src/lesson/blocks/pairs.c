/* pairs.c -- a table with a row for each query and key: "cat | dog | 2 | 1.41 | 0.67". Each column
 * of numbers is a matrix. */
#include <string.h>

#include "table.h"

static int same_text(const struct attn_table *t, int row, int other, int col) {
  const struct attn_row_item *a = attn_table_item(t, row, col), *b = attn_table_item(t, other, col);
  return a->end - a->begin == b->end - b->begin &&
         memcmp(t->row[row].line->text + a->begin, t->row[other].line->text + b->begin,
                a->end - a->begin) == 0;
}

/* How many rows have the first text of column 0, if the same number has each other one and column 1
 * repeats its texts; 0: no such table. */
static int keys_of(const struct attn_table *t) {
  int keys = 1;
  while (keys < t->rows && same_text(t, keys, 0, 0)) keys++;
  if (keys < 2 || keys == t->rows || t->rows % keys) return 0;
  for (int r = 0; r < t->rows; r++) {
    if (!same_text(t, r, r - r % keys, 0) || !same_text(t, r, r % keys, 1)) return 0;
    if (r % keys == 0 && r && same_text(t, r, r - keys, 0)) return 0;
    if (r && r < keys && same_text(t, r, r - 1, 1)) return 0;
  }
  return keys;
}

static void add_column(struct attn_grouping *g, const struct attn_table *t, int keys, int col) {
  char *name = attn_item_text(g, &t->header, col);
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_ROWS, t->line, name);
  for (int r = 0; b && r < t->rows; r += keys) {
    attn_cell *row = attn_block_add_row(g, b, keys, attn_item_text(g, &t->row[r], 0));
    if (!row) return;
    for (int k = 0; k < keys; k++) {
      attn_table_item(t, r + k, col)->used = 1;
      row[k] = attn_table_item(t, r + k, col)->cell;
    }
  }
  if (b) attn_block_end(g, b, t->last_line);
}

int attn_table_pairs(struct attn_grouping *g, const struct attn_table *t) {
  if (t->cols < 3 || t->numbers < 1 || t->header.items != t->cols || t->number[0] < 2) return 0;
  int keys = keys_of(t);
  if (!keys) return 0;
  for (int n = 0; n < t->numbers && g->status == ATTN_OK; n++) add_column(g, t, keys, t->number[n]);
  return 1;
}
