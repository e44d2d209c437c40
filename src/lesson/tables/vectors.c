/* vectors.c -- the columns of a table that are vectors. */
#include <stdint.h>
#include <string.h>

#include "table.h"

/* More groups of one vector each, with long names, are one matrix. */
enum { GROUPS_MAX = 3 };

static const attn_printing *value_at(struct attn_grouping *g, const struct attn_table *t, int row,
                                     int col) {
  struct attn_row_item *item = attn_table_item(t, row, col);
  return item->kind == ATTN_ITEM_VALUE ? &g->lines->value[item->value].grid[0] : NULL;
}

static int add_value(struct attn_grouping *g, const struct attn_table *t, struct attn_block *b,
                     int row, int col) {
  const attn_printing *vector = value_at(g, t, row, col);
  g->lines->value[attn_table_item(t, row, col)->value].used = 1;
  return attn_block_copy_row(g, b, vector->cells, vector->cols, t->row[row].label.text);
}

/* What the header calls a column, "": nothing. */
static char *header_text(struct attn_grouping *g, const struct attn_table *t, int col) {
  if (t->header.items != t->cols || t->header.item[col].kind != ATTN_ITEM_TEXT) return "";
  return attn_item_text(g, &t->header, col);
}

/* The vectors of rows begin .. end of a column as one block. */
static void add_vectors(struct attn_grouping *g, const struct attn_table *t, int col, int begin,
                        int end, char *name, int ordinal) {
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_VECTORS, t->row[begin].line->line, name);
  for (int r = begin; b && r < end; r++)
    if (value_at(g, t, r, col) && !add_value(g, t, b, r, col)) return;
  if (!b) return;
  char *labels = t->labels >= 0 ? header_text(g, t, t->labels) : NULL;
  if (labels) b->header = labels;
  b->ordinal = ordinal;
  attn_block_end(g, b, t->row[end - 1].line->line);
}

/* Do labels part the rows: q1, q2, k1, k2? Not so if the labels have all different long names, as
 * tokens do. */
static int has_groups(const struct attn_table *t, int columns) {
  int groups = 0, longest = 0, letters = 1;
  if (t->steps) return 1;
  for (int r = 0, end; r < t->rows; r = end, groups++) {
    if (!t->row[r].label.stem) return 0;
    end = attn_table_group_end(t, r);
    if (end - r > longest) longest = end - r;
    if (attn_part_last(t->row[r].label.stem, (struct attn_part){0, strlen(t->row[r].label.stem)}, 1)
            .begin)
      letters = 0;
  }
  return groups > 1 && (longest > 1 || (columns == 1 && (groups <= GROUPS_MAX || letters)));
}

/* The only label in front of the rows of a matrix: of the first, the one in the middle or the last.
 * NULL: there are several, or none. */
static char *only_label(const struct attn_table *t) {
  char *only = NULL;
  for (int r = 0; r < t->rows; r++) {
    if (!*t->row[r].label.text) continue;
    if (only) return NULL;
    only = t->row[r].label.text;
  }
  return only;
}

static void add_value_column(struct attn_grouping *g, const struct attn_table *t, int col,
                             int columns, int ordinal) {
  char *header = header_text(g, t, col), *only = only_label(t);
  char *label = only ? only : t->row[0].label.text;
  if (!header) return;
  if ((columns == 1 || !*header) && has_groups(t, columns)) {
    for (int r = 0, end; r < t->rows && g->status == ATTN_OK; r = end)
      add_vectors(g, t, col, r, end = attn_table_group_end(t, r), t->row[r].label.text, 0);
  } else {
    int letters = t->rows > 1 && attn_label_follows(label, t->row[1].label.text);
    int is_named = columns == 1 && ((t->row[0].label.stem && !letters) || only);
    add_vectors(g, t, col, 0, t->rows,
                *header    ? header
                : is_named ? label
                           : "",
                columns > 1 && !*header ? ordinal : 0);
  }
}

/* Only vectors of one length from a column on? */
static int is_row_of_vectors(struct attn_grouping *g, const struct attn_table *t, int row,
                             int from) {
  for (int c = from; c < t->cols; c++)
    if (!value_at(g, t, row, c) || value_at(g, t, row, c)->cols != value_at(g, t, row, from)->cols)
      return 0;
  return 1;
}

/* Others may be the places of cells: "(0, 1), (0, 2) and (1, 2)". */
static int has_decimals(struct attn_grouping *g, const struct attn_table *t) {
  for (int c = 0; c < t->cols; c++)
    for (int n = 0; n < value_at(g, t, 0, c)->cols; n++)
      if (value_at(g, t, 0, c)->cells[n].decimals > 0) return 1;
  return 0;
}

/* "tanh: (1, 0), (0, 1)", "keys  (1, 0)  (0, 1)", "gives (0.5, 1), (1, 0) and (1, 2)": is the row a
 * name and the vectors of a matrix? */
static int is_matrix(struct attn_grouping *g, const struct attn_table *t) {
#define LIST_OF(and)                                                         \
  "(*UCP)(?=[^\\x{25A3}]*\\pL)(?:[^\\x{25A3}]*[=:]|[^\\x{25A3}=:(\\[]*)\\s*" \
  "(?:" ATTN_VALUE "\\s*+[,;.、。]?" and                                     \
      "\\s*+)++$"
  static const char LIST[] = LIST_OF(""),
                    SENTENCE[] = LIST_OF("(?:\\s*+\\b(?:and|und)\\b|\\s*+と)?");
  const struct attn_scan_line *line = t->row[0].line;
  return t->rows == 1 && t->cols > 1 && is_row_of_vectors(g, t, 0, 0) &&
         attn_match_at(g->scan->patterns, has_decimals(g, t) ? SENTENCE : LIST, line->text,
                       line->bytes, 0, NULL);
}

/* Rows of vectors that are each called another step; one may have any name. */
static int are_called_steps(struct attn_grouping *g, const struct attn_table *t, int from) {
  uint32_t seen = 0;
  for (int r = 0; r < t->rows; r++) {
    int step = attn_step_of_text(g, t->row[r].label.text);
    if (!is_row_of_vectors(g, t, r, from)) return 0;
    if (t->rows > 1 && (step < 0 || seen >> step & 1)) return 0;
    seen |= step < 0 ? 0 : (uint32_t)1 << step;
  }
  return 1;
}

static int are_matrices(struct attn_grouping *g, const struct attn_table *t) {
  return (t->rows > 1 && t->cols > 1 && are_called_steps(g, t, 0)) || is_matrix(g, t);
}

/* "| | cat | dog |", "| | query 1 | query 2 |" above "| q | (1, 0) | (0, 1) |": a column for each
 * token, and rows that are matrices: one of them, or each called another step. */
static int has_token_columns(struct attn_grouping *g, const struct attn_table *t) {
  int tokens = 0;
  if (!attn_row_is_delimited(t->style) || t->labels != 0 || t->cols < 3) return 0;
  for (int c = 1; c < t->cols; c++) {
    const char *header = header_text(g, t, c);
    tokens +=
        header && *header && (attn_step_of_text(g, header) < 0 || attn_label_is_indexed(header));
  }
  return tokens && are_called_steps(g, t, 1);
}

static void add_matrix(struct attn_grouping *g, const struct attn_table *t, int row) {
  const struct attn_row *r = &t->row[row];
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_VECTORS, r->line->line, r->label.text);
  for (int c = 0; b && c < t->cols; c++)
    if (value_at(g, t, row, c) && !add_value(g, t, b, row, c)) return;
  if (b) attn_block_end(g, b, r->line->line);
}

/* A first column that only counts the vectors: they have these numbers. */
static void use_counts(const struct attn_table *t) {
  if (t->numbers != 1 || t->number[0] != 0 || !attn_table_counts(t, 1)) return;
  for (int r = 0; r < t->rows; r++) attn_table_item(t, r, 0)->used = 1;
}

/* Is each vector of column c that of column `of` times the number in column `by`? */
static int is_product(struct attn_grouping *g, const struct attn_table *t, int c, int of, int by) {
  int decimals = 0;
  for (int r = 0; r < t->rows; r++) {
    const attn_printing *x = value_at(g, t, r, c), *v = value_at(g, t, r, of);
    const struct attn_row_item *w = attn_table_item(t, r, by);
    if (!x || !v || x->cols != v->cols || !attn_item_is_number(w)) return 0;
    for (int n = 0; n < x->cols; n++) {
      decimals |= x->cells[n].decimals > 0;
      if (!attn_is_product_of(&x->cells[n], &w->cell, &v->cells[n])) return 0;
    }
  }
  return decimals;
}

/* "α", "v", then "αv": the values times their weights, on the way to the output. */
static int is_weighted(struct attn_grouping *g, const struct attn_table *t, int col) {
  if (t->rows < 2 || t->cols > ATTN_TERM_COLUMNS) return 0;
  for (int of = 0; of < col; of++)
    for (int n = 0; t->kind[of] == COLUMN_VALUES && n < t->numbers; n++) {
      if (!is_product(g, t, col, of, t->number[n])) continue;
      for (int r = 0; r < t->rows; r++) g->lines->value[attn_table_item(t, r, col)->value].used = 1;
      return 1;
    }
  return 0;
}

int attn_table_vectors(struct attn_grouping *g, const struct attn_table *t) {
  int columns = 0, ordinal = 0;
  for (int c = 0; c < t->cols; c++) columns += t->kind[c] == COLUMN_VALUES;
  if (are_matrices(g, t) || has_token_columns(g, t)) {
    for (int r = 0; r < t->rows; r++) add_matrix(g, t, r);
    return 1;
  }
  if (columns) use_counts(t);
  for (int c = 0; c < t->cols && g->status == ATTN_OK; c++)
    if (t->kind[c] == COLUMN_VALUES && !is_weighted(g, t, c))
      add_value_column(g, t, c, columns, ordinal++);
  return columns > 0;
}
