/* turned.c -- a sheet with a column for each token, "key 1 | 1 | 0", "key 2 | 0 | 1", "score | 2 |
 * 3" below "| cat | dog": as the usual table, which has a row for each token. */
#include <string.h>

#include "table.h"

/* The bytes in front of the number that a label ends in: "key 1", "key(1)". 0: it ends in none. */
static size_t stem_bytes(const char *label) {
  size_t end = strlen(label);
  if (end && label[end - 1] == ')') end--;
  size_t digit = end;
  while (digit && attn_is_digit(label[digit - 1])) digit--;
  return digit < end ? digit : 0;
}

/* Of "key", "key dim": the step. */
static int step_of_stem(struct attn_grouping *g, const char *label, size_t bytes) {
  static const char COMPONENT[] =
      "(?i)[ ,:]*+(?:の|dim(?:ension)?|comp(?:onent)?|次元|成分)*+[ (]*+$";
  struct attn_match m;
  if (attn_find(g->scan->patterns, COMPONENT, label, bytes, 0, &m)) bytes = m.group[0].begin;
  const char *stem = attn_group_copy(g, label, bytes);
  return stem ? attn_label_step(stem) : -1;
}

/* Is it the number of the label before and one more, of queries, keys, values or outputs? */
static int is_next(struct attn_grouping *g, const char *last, const char *label, int *step) {
  size_t bytes = stem_bytes(label);
  if (!bytes || stem_bytes(last) != bytes || memcmp(last, label, bytes) != 0) return 0;
  *step = step_of_stem(g, label, bytes);
  return ((*step >= ATTN_STEP_Q && *step <= ATTN_STEP_V) || *step == ATTN_STEP_OUTPUT) &&
         label[bytes] == last[bytes] + 1;
}

char *attn_table_components(struct attn_grouping *g, const struct attn_table *t) {
  int step;
  if (!attn_row_is_delimited(t->style) || t->labels != 0 || t->numbers != 1 || t->rows < 2)
    return NULL;
  for (int r = 1; r < t->rows; r++)
    if (!is_next(g, t->row[r - 1].label.text, t->row[r].label.text, &step)) return NULL;
  const char *label = t->row[0].label.text;
  return attn_group_text(g, label, (struct attn_part){0, strcspn(label, "(0123456789")});
}

/* A word, and not the name of a component: "x", "dim 1". */
static int is_token(struct attn_grouping *g, const char *name) {
  static const char COMPONENT[] =
      "(*UCP)(?i)\\d|^\\W*(?:[a-z]\\W*)?$|\\b(?:dim|comp|coord|feature)";
  return name && !attn_occurs(g->scan->patterns, COMPONENT, name) &&
         attn_label_step(name) != ATTN_STEP_Q;
}

static int has_tokens(struct attn_grouping *g, const struct attn_table *t) {
  if (t->header.items != t->cols || t->cols < 3) return 0;
  for (int c = 1; c < t->cols; c++)
    if (t->header.item[c].kind != ATTN_ITEM_TEXT || !is_token(g, attn_item_text(g, &t->header, c)))
      return 0;
  return 1;
}

/* Are the rows steps of all tokens, some of them in components? */
static int may_turn(struct attn_grouping *g, const struct attn_table *t) {
  const char *last = "";
  int components = 0, results = 0, of = -1, first = -1, several = 0;
  if (!attn_row_is_delimited(t->style) || t->rows < 3 || !has_tokens(g, t)) return 0;
  for (int r = 0; r < t->rows; r++) {
    const struct attn_row *row = &t->row[r];
    const char *label = row->item[0].kind == ATTN_ITEM_TEXT ? attn_item_text(g, row, 0) : NULL;
    int step = label ? attn_step_of_text(g, label) : -1;
    if (label && step < 0) step = step_of_stem(g, label, stem_bytes(label));
    for (int c = 1; c < t->cols; c++)
      if (row->item[c].kind != ATTN_ITEM_CELL) return 0;
    if (step < 0) return 0;
    if (is_next(g, last, label, &of)) {
      if (of == ATTN_STEP_Q) return 0; /* rows of weights: "q1 | 0.2 | 0.8" */
      if (!components++) first = of;
      several |= of != first;
    }
    results += step >= ATTN_STEP_SCORES && !stem_bytes(label);
    last = label;
  }
  return several || (components && results);
}

/* The labels of the rows as a line: its header. 0: no memory. */
static int turn_labels(struct attn_grouping *g, const struct attn_table *t, struct attn_row *out) {
  size_t bytes = 1;
  for (int r = 0; r < t->rows; r++) bytes += t->row[r].item[0].end - t->row[r].item[0].begin + 1;
  struct attn_scan_line *line = attn_group_take(g, 1, sizeof *line);
  char *text = attn_group_take(g, bytes, 1);
  uint32_t *origin = attn_group_take(g, bytes + 1, sizeof *origin);
  struct attn_row_item *item = attn_group_take(g, (size_t)t->rows + 1, sizeof *item);
  if (!line || !text || !origin || !item) return 0;
  *line = (struct attn_scan_line){t->header.line->line, text, 0, origin};
  item[0] = t->header.item[0], item[0].begin = item[0].end = 0;
  for (int r = 0; r < t->rows; r++) {
    const struct attn_row_item *label = &t->row[r].item[0];
    item[r + 1] = *label, item[r + 1].begin = (uint32_t)line->bytes;
    for (uint32_t n = label->begin; n < label->end; n++) {
      origin[line->bytes] = t->row[r].line->origin[n];
      text[line->bytes++] = t->row[r].line->text[n];
    }
    item[r + 1].end = (uint32_t)line->bytes;
    origin[line->bytes] = t->row[r].line->origin[label->end];
    text[line->bytes++] = ' ';
  }
  *out = (struct attn_row){.line = line, .style = t->style, .items = t->rows + 1, .item = item};
  return 1;
}

void attn_table_turn(struct attn_grouping *g, struct attn_table *t) {
  struct attn_row header, *row;
  int rows = t->cols - 1;
  if (!may_turn(g, t) || !turn_labels(g, t, &header)) return;
  row = attn_group_take(g, (size_t)rows, sizeof *row);
  for (int c = 0; row && c < rows; c++) {
    row[c] = (struct attn_row){.line = t->header.line, .style = t->style, .items = t->rows + 1};
    row[c].label = (struct attn_label){.text = "", .index = -1};
    row[c].item = attn_group_take(g, (size_t)t->rows + 1, sizeof *row->item);
    if (!row[c].item) return;
    row[c].item[0] = t->header.item[c + 1];
    for (int r = 0; r < t->rows; r++) {
      struct attn_row_item *item = &row[c].item[r + 1];
      *item = t->row[r].item[c + 1];
      item->end = item->begin < item->end, item->begin = 0;
    }
  }
  if (!row) return;
  t->row = row, t->cols = t->rows + 1, t->rows = rows, t->header = header;
  t->super.items = t->steps = 0;
}
