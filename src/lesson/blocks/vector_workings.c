/* vector_workings.c -- the working of each vector next to it: q1 = (1·2 + 0·1, 1·3) = (2, 3). */
#include <string.h>

#include "blocks.h"

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

void attn_vector_workings_merge(struct attn_grouping *g) {
  int kept = 0;
  for (int n = 0; n < g->blocks && g->status == ATTN_OK; kept++) {
    if (n + 1 < g->blocks && is_working_of(g->block[n], g->block[n + 1])) {
      add_workings(g, g->block[n], g->block[n + 1]);
      n++;
    }
    g->block[kept] = g->block[n++];
  }
  g->blocks = kept;
}
