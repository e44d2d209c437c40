/* shown_rows.c -- "row 1: [0.7, 0]", "softmax = [0.67, 0.33]", "row 2: ..": the results that are
 * shown row by row are one matrix; the other vectors of each item are its working. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

#define ROW "(?:(\\d{1,4})\\s*行目|\\b(?:row|zeile|ligne|fila|linha|riga|строка) (\\d{1,4})\\b)"
static const char ORDINAL[] = "(*UCP)(?i)^\\W*" ROW, ROW_OF_SENTENCE[] = "(*UCP)(?i)" ROW;

static int find_ordinal(struct attn_grouping *g, const char *pattern, const char *text) {
  struct attn_match m;
  if (!attn_find(g->scan->patterns, pattern, text, strlen(text), 0, &m)) return 0;
  return atoi(text + (m.group[1].end > m.group[1].begin ? m.group[1] : m.group[2]).begin);
}

/* "the weights of row 1 are" */
static int is_in_sentence(const struct attn_block *b) {
  return b->source == ATTN_BLOCK_INLINE || b->source == ATTN_BLOCK_SCALARS;
}

static int is_vector(const struct attn_block *b) {
  return (b->source == ATTN_BLOCK_VECTORS || is_in_sentence(b)) && b->reading[0].rows == 1 &&
         b->reading[0].cols > 1;
}

static int ordinal_of(struct attn_grouping *g, const struct attn_block *b) {
  if (is_in_sentence(b)) return find_ordinal(g, ROW_OF_SENTENCE, b->name);
  int row = find_ordinal(g, ORDINAL, b->name);
  for (int n = b->captions - 1; n >= 0 && !row; n--) row = find_ordinal(g, ORDINAL, b->caption[n]);
  return row;
}

struct shown_rows {
  int begin, end; /* blocks */
  int rows;
  int *result; /* the last block of each row */
};

/* May b be in the same matrix as the first one? */
static int goes_on(const struct attn_block *first, const struct attn_block *b) {
  return is_vector(b) && b->reading[0].cols == first->reading[0].cols &&
         is_in_sentence(b) == is_in_sentence(first) &&
         (!is_in_sentence(b) || (b->line == first->line && b->stated_row));
}

/* The items from block `begin` on. 0: they are not the rows of a matrix. */
static int find_rows(struct attn_grouping *g, int begin, struct shown_rows *s) {
  const struct attn_block *first = g->block[begin];
  int shown = 0, n = begin;
  *s = (struct shown_rows){.begin = begin, .result = s->result};
  for (; n < g->blocks && goes_on(first, g->block[n]); n++) {
    int row = g->block[n]->stated_row;
    if (row != 0 && row != s->rows + 1) break;
    shown += row == 0 || is_in_sentence(first) || !find_ordinal(g, ORDINAL, g->block[n]->name);
    s->rows += row != 0;
    s->result[s->rows - 1] = n;
  }
  s->end = n;
  return s->rows > 1 && shown >= s->rows;
}

static void add_working(struct attn_grouping *g, struct attn_block *b, int row) {
  const attn_printing *p = &b->reading[0];
  attn_worked_add(g, (struct attn_worked){.name = b->name,
                                          .first = p->cells[0],
                                          .last = p->cells[p->cols - 1],
                                          .numbers = p->cols,
                                          .row = row,
                                          .sides = 1,
                                          .side = &b->reading[0]});
}

static int merge_rows(struct attn_grouping *g, const struct shown_rows *s) {
  const struct attn_block *last = g->block[s->result[s->rows - 1]];
  struct attn_block *first = g->block[s->begin];
  struct attn_block *all =
      attn_block_in_place_of(g, first, is_in_sentence(first) ? first->name : last->name);
  if (!all) return 0;
  for (int r = 0, n = s->begin; n < s->end; n++) {
    const attn_printing *p = &g->block[n]->reading[0];
    if (n != s->result[r]) {
      add_working(g, g->block[n], r + 1);
    } else {
      if (!attn_block_copy_row(g, all, p->cells, p->cols, "")) return 0;
      r++;
    }
  }
  all->end = last->end;
  g->block[s->begin] = all;
  int more = s->end - s->begin - 1;
  memmove(g->block + s->begin + 1, g->block + s->end,
          (size_t)(g->blocks - s->end) * sizeof(struct attn_block *));
  g->blocks -= more;
  return 1;
}

/* A sentence begins with the name of its rows; of items, the words of the last are those of its
 * result: the first has more of the working in front of it. */
void attn_shown_rows_merge(struct attn_grouping *g) {
  struct shown_rows s = {.result = attn_group_take(g, (size_t)g->blocks + 1, sizeof *s.result)};
  for (int n = 0; n < g->blocks; n++)
    if (is_vector(g->block[n])) g->block[n]->stated_row = ordinal_of(g, g->block[n]);
  for (int n = 0; s.result && n < g->blocks && g->status == ATTN_OK; n++)
    if (g->block[n]->stated_row == 1 && find_rows(g, n, &s)) merge_rows(g, &s);
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

void attn_workings_merge(struct attn_grouping *g) {
  int kept = 0;
  for (int n = 0; n < g->blocks && g->status == ATTN_OK; n++) {
    if (n + 1 < g->blocks && is_working_of(g->block[n], g->block[n + 1])) {
      add_workings(g, g->block[n], g->block[n + 1]);
      n++;
    }
    g->block[kept++] = g->block[n];
  }
  g->blocks = kept;
}
