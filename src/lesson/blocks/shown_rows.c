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

int attn_ordinal_in(struct attn_grouping *g, const char *text) {
  return find_ordinal(g, ORDINAL, text);
}

static int ordinal_of(struct attn_grouping *g, const struct attn_block *b) {
  int row = attn_ordinal_in(g, b->name);
  for (int n = b->captions - 1; n >= 0 && !row; n--) row = attn_ordinal_in(g, b->caption[n]);
  return row;
}

/* "the weights of row 1 are" */
static int is_in_sentence(const struct attn_block *b) {
  return (b->source == ATTN_BLOCK_INLINE || b->source == ATTN_BLOCK_SCALARS) &&
         b->reading[0].rows == 1;
}

static int is_vector(const struct attn_block *b) {
  return b->source == ATTN_BLOCK_VECTORS && b->reading[0].rows == 1 && b->reading[0].cols > 1;
}

struct shown_rows {
  int begin, end; /* blocks */
  int rows;
  int *result; /* the last block of each row */
};

/* The items from block `begin` on. 0: they are not the rows of a matrix. */
static int find_rows(struct attn_grouping *g, int begin, struct shown_rows *s) {
  int cols = g->block[begin]->reading[0].cols, shown = 0, n = begin;
  *s = (struct shown_rows){.begin = begin, .result = s->result};
  for (; n < g->blocks && is_vector(g->block[n]) && g->block[n]->reading[0].cols == cols; n++) {
    int row = ordinal_of(g, g->block[n]);
    if (row != 0 && row != s->rows + 1) break;
    shown += row == 0 || !attn_ordinal_in(g, g->block[n]->name);
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

/* "The weights are (0.5, 0.5) in row 1 and ..": each block of a line. 0: they are no rows. */
static int find_rows_of_sentence(struct attn_grouping *g, int begin, struct shown_rows *s) {
  const struct attn_block *first = g->block[begin];
  int n = begin;
  *s = (struct shown_rows){.begin = begin, .result = s->result};
  for (; n < g->blocks && is_in_sentence(g->block[n]) && g->block[n]->line == first->line; n++) {
    if (g->block[n]->reading[0].cols != first->reading[0].cols) break;
    if (g->block[n]->stated_row != s->rows + 1) break;
    s->result[s->rows++] = n;
  }
  s->end = n;
  return s->rows > 1;
}

static int merge_rows(struct attn_grouping *g, const struct shown_rows *s, char *name) {
  const struct attn_block *last = g->block[s->result[s->rows - 1]];
  struct attn_block *all = attn_block_in_place_of(g, g->block[s->begin], name);
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

static void set_row(struct attn_grouping *g, struct attn_block *b) {
  if (is_in_sentence(b)) b->stated_row = find_ordinal(g, ROW_OF_SENTENCE, b->name);
  if (is_vector(b)) b->stated_row = ordinal_of(g, b);
}

/* A sentence begins with the name of its rows; of items, the words of the last are those of its
 * result: the first has more of the working in front of it. */
void attn_shown_rows_merge(struct attn_grouping *g) {
  struct shown_rows s = {.result = attn_group_take(g, (size_t)g->blocks + 1, sizeof *s.result)};
  for (int n = 0; n < g->blocks; n++) set_row(g, g->block[n]);
  for (int n = 0; s.result && n < g->blocks && g->status == ATTN_OK; n++) {
    struct attn_block *first = g->block[n];
    if (first->stated_row != 1) continue;
    if (is_in_sentence(first) ? find_rows_of_sentence(g, n, &s) : find_rows(g, n, &s))
      merge_rows(g, &s, is_in_sentence(first) ? first->name : g->block[s.result[s.rows - 1]]->name);
  }
}
