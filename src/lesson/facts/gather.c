/* gather.c -- which facts are tables, and the blocks of these in place of others. */
#include <stdint.h>
#include <stdlib.h>

#include "cell.h"
#include "facts.h"

static int are_alike(const struct attn_fact *a, const struct attn_fact *b) {
  if (a->keys != b->keys || a->cells != b->cells) return 0;
  for (int k = 0; k < a->keys; k++)
    if (a->key[k].kind != b->key[k].kind) return 0;
  return 1;
}

/* ---- in place of other blocks ---- */

struct places {
  size_t count;
  uint64_t *at; /* line and column, sorted */
};

static int has_place(const struct places *p, const attn_cell *c) {
  uint64_t at = attn_cell_place(c);
  return p->count && bsearch(&at, p->at, p->count, sizeof at, attn_compare_places) != NULL;
}

static int is_printed(const attn_cell *c) { return c->kind != ATTN_CELL_BLANK; }

static int has_any_place(const struct places *p, const attn_cell *cells, int count) {
  for (int n = 0; n < count; n++)
    if (is_printed(&cells[n]) && has_place(p, &cells[n])) return 1;
  return 0;
}

static int overlaps(const struct places *p, const struct attn_block *b) {
  const attn_printing *g = &b->reading[0];
  return has_any_place(p, g->cells, g->rows * g->cols);
}

/* The numbers of the blocks from `from` on. */
static int find_places(struct attn_grouping *g, int from, struct places *p) {
  size_t count = 0;
  for (int n = from; n < g->blocks; n++)
    count += (size_t)g->block[n]->reading[0].rows * (size_t)g->block[n]->reading[0].cols;
  p->at = attn_group_take(g, count, sizeof *p->at);
  if (!p->at) return 0;
  for (int n = from; n < g->blocks; n++)
    for (int c = 0; c < g->block[n]->reading[0].rows * g->block[n]->reading[0].cols; c++)
      p->at[p->count++] = attn_cell_place(&g->block[n]->reading[0].cells[c]);
  qsort(p->at, p->count, sizeof *p->at, attn_compare_places);
  return 1;
}

static void drop_strays(struct attn_grouping *g, const struct places *p) {
  int kept = 0;
  for (int n = 0; n < g->strays; n++)
    if (!has_place(p, &g->stray[n].cell)) g->stray[kept++] = g->stray[n];
  g->strays = kept;
}

/* What only the block had is not read; a whole row of it is no mention. */
static void drop_block(struct attn_grouping *g, const struct attn_block *b,
                       const struct places *p) {
  const attn_printing *grid = &b->reading[0];
  for (int r = 0; r < grid->rows; r++) {
    const attn_cell *row = grid->cells + r * grid->cols;
    int is_row = grid->rows > 1 && !has_any_place(p, row, grid->cols);
    for (int n = 0; n < grid->cols && g->status == ATTN_OK; n++)
      if (is_printed(&row[n]) && !has_place(p, &row[n]))
        attn_stray_of(g, b->name, &row[n], row[0].column, is_row);
  }
}

void attn_blocks_replace(struct attn_grouping *g, int from) {
  struct places p = {.count = 0};
  int kept = 0;
  if (from == g->blocks || !find_places(g, from, &p)) return;
  drop_strays(g, &p);
  for (int n = 0; n < g->blocks && g->status == ATTN_OK; n++) {
    if (n < from && overlaps(&p, g->block[n]))
      drop_block(g, g->block[n], &p);
    else
      g->block[kept++] = g->block[n];
  }
  g->blocks = kept;
  attn_blocks_sort(g, 0);
  for (int n = 0; g->facts && n < g->facts->facts; n++) {
    const struct attn_fact *f = &g->facts->fact[n];
    if (f->value >= 0 && has_place(&p, f->cell)) g->lines->value[f->value].used = 1;
  }
}

/* ---- tables ---- */

static int is_left(const struct attn_grouping *g, const struct attn_fact *f) {
  const struct attn_left *left = g->scan->left;
  for (int n = 0; n < left->lines; n++)
    if (f->cell[0].line == left->line[n]) return 1;
  return left->lines == 0;
}

void attn_facts_merge(struct attn_grouping *g) {
  struct attn_facts *f = g->facts;
  int from = g->blocks;
  unsigned char *done = attn_group_take(g, (size_t)f->facts, 1);
  struct attn_fact **alike = attn_group_take(g, (size_t)f->facts, sizeof(struct attn_fact *));
  if (f->is_full || !done || !alike) return;
  for (int first = 0; first < f->facts && g->status == ATTN_OK; first++) {
    int left = 0, count = 0;
    for (int n = first; n < f->facts && !done[first]; n++)
      if (!done[n] && are_alike(&f->fact[first], &f->fact[n])) {
        alike[count++] = &f->fact[n];
        left |= is_left(g, &f->fact[n]);
      }
    for (int n = 0; n < count; n++) done[alike[n] - f->fact] = 1;
    if (left) attn_facts_pivot(g, alike, count);
  }
  g->scan->regrouped += g->blocks - from;
  if (g->status == ATTN_OK) attn_blocks_replace(g, from);
}
