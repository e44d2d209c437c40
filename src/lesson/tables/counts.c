/* counts.c -- labels of rows or columns that only count, "row 1", "row 2"; and the first column. */
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "table.h"

enum { COUNT_MAX = 19 };

/* Labels of the same words with one number each, so far. */
struct counts {
  struct attn_grouping *g;
  const char *first;            /* the text of the first label; NULL: there is none */
  struct attn_part number;      /* in it */
  int labels, low, high, other; /* other: their words differ, or a number is there twice */
  unsigned seen;                /* bit n: n */
};

/* "row 1": 1 to COUNT_MAX, or -1; *number is where it is. Not that of "exp(2)". */
static int only_number(struct attn_grouping *g, const char *text, struct attn_part *number) {
  struct attn_match m;
  struct attn_part all = {0, strlen(text)};
  if (!attn_part_begins_in(g, "[^\\d.,-]*(?<!exp\\()(?<!e\\^)(\\d{1,2})[^\\d.,-]*$", text, all, &m))
    return -1;
  *number = m.group[1];
  int value = atoi(text + number->begin);
  return value <= COUNT_MAX ? value : -1;
}

static void add_label(struct counts *c, const char *text) {
  struct attn_part p;
  int value = text ? only_number(c->g, text, &p) : -1;
  if (value < 0 || c->other) {
    c->other = 1;
    return;
  }
  if (!c->labels++) c->first = text, c->number = p, c->low = c->high = value;
  c->other = p.begin != c->number.begin || strncmp(text, c->first, p.begin) != 0 ||
             strcmp(text + p.end, c->first + c->number.end) != 0 || (c->seen >> value & 1);
  c->seen |= 1u << value;
  if (value < c->low) c->low = value;
  if (value > c->high) c->high = value;
}

/* Numbers that do not count, though they should. */
static void list_numbers(struct attn_grouping *g, const struct attn_scan_line *line, int numbers) {
  attn_cell cell = attn_group_blank(g, line, 0);
  attn_worked_add(g,
                  (struct attn_worked){
                      .name = "", .first = cell, .last = cell, .numbers = numbers, .differs = 1});
}

/* Numbers with a gap between are no count. */
static void finish(struct counts *c, const struct attn_scan_line *line) {
  if (c->other || c->labels < 2 || c->high - c->low + 1 == c->labels) return;
  list_numbers(c->g, line, c->labels);
}

void attn_table_check_counts(struct attn_grouping *g, const struct attn_table *t) {
  if (t->skip && !attn_table_counts(t, 0) && !attn_table_counts(t, 1))
    list_numbers(g, t->row[0].line, t->rows);
  struct counts rows = {.g = g}, columns = {.g = g};
  for (int r = 0; r < t->rows; r++) add_label(&rows, attn_table_label(g, t, r));
  finish(&rows, t->row[0].line);
  int first = t->header.items - t->numbers;
  if (first < 0 || !t->header.items) return;
  for (int n = 0; n < t->numbers; n++)
    add_label(&columns, attn_item_text(g, &t->header, first + n));
  finish(&columns, t->header.line);
}

/* ---- a first column that counts the rows ---- */

/* "X | 1 | 0 | 2" above "X | 2 | 1 | 1", not "cat | 1 | 2" */
static int is_name_of_all(struct attn_grouping *g, const struct attn_table *t) {
  const char *name = attn_table_label(g, t, 0);
  for (int r = 1; name && r < t->rows; r++) {
    const char *label = attn_table_label(g, t, r);
    if (!label || strcmp(name, label) != 0) return 0;
  }
  return name != NULL;
}

int attn_table_has_index(struct attn_grouping *g, const struct attn_table *t) {
  if (t->numbers < 2 || t->rows < 2) return 0;
  if (t->style == ATTN_ROW_SPACES && t->numbers != t->counted + 1) return 0;
  if (t->labels >= 0 && t->labels < t->number[0] && !is_name_of_all(g, t)) return 0;
  return attn_table_counts(t, attn_item_is_integer(attn_table_item(t, 0, t->number[0]), 1));
}

/* "Q | d_1 | d_2": the columns are numbered, and the first is none of them. */
static int is_beside_numbered(struct attn_grouping *g, const struct attn_table *t) {
  if (t->header.items < 3) return 0;
  char *corner = attn_item_text(g, &t->header, 0), *first = attn_item_text(g, &t->header, 1);
  for (int n = 1; n < t->header.items; n++) {
    char *name = attn_item_text(g, &t->header, n);
    if (!name || !attn_label_is_indexed(name) || !attn_same_letters(name, first)) return 0;
  }
  return corner && !attn_same_letters(corner, first);
}

int attn_table_counts_rows(struct attn_grouping *g, const struct attn_table *t) {
  static const char COUNTED[] =
      "(*UCP)(?i)\\W*(?:(?:(?:token|row|word|[qk])_?|[a-z]++_)?id|tokens?|pos(?:ition)?|index|idx|"
      "i|n|no|row|word|"
      "トークン|位置|番号|行|単語|語)?\\W*$";
  if (t->header.items != t->cols) return 0;
  char *corner = attn_item_text(g, &t->header, 0);
  if (is_beside_numbered(g, t)) return 1;
  return corner && attn_match_at(g->scan->patterns, COUNTED, corner, strlen(corner), 0, NULL);
}
