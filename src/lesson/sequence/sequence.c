/* sequence.c -- the numbers that are queries, keys, values and what these give -> blocks. */
#include "sequence.h"

#include <string.h>

#include "cell.h"
#include "facts.h"
#include "steps.h"

static const struct {
  int step;
  const char *name;
} STEPS[] = {
    {ATTN_STEP_SCORES, "scores ="},        {ATTN_STEP_SCALED, "scaled scores ="},
    {ATTN_STEP_MASKED, "masked scores ="}, {ATTN_STEP_EXPONENTIALS, "exponentials ="},
    {ATTN_STEP_ROW_SUM, "row sums ="},     {ATTN_STEP_WEIGHTS, "weights ="},
    {ATTN_STEP_OUTPUT, "output ="},
};
enum { STEPS_COUNT = sizeof STEPS / sizeof *STEPS };

/* ---- hypotheses ---- */

enum { WAYS = 8 };

/* Scaled or not; no mask, a causal one, one or two keys of padding. 0: not possible. */
static int set_way(struct attn_sequence *s, int way) {
  s->is_scaled = !(way & 1), s->is_causal = way >> 1 == 1,
  s->padding = way >> 1 > 1 ? (way >> 1) - 1 : 0;
  if (s->is_causal ? s->queries != s->keys : s->padding >= s->keys) return 0;
  return attn_sequence_expect(s);
}

/* The mask and scale by which most numbers are explained. */
static int choose(struct attn_sequence *s) {
  int best = 0, way = -1;
  for (int n = 0; n < WAYS; n++) {
    int found = set_way(s, n) ? attn_sequence_align(s) : 0;
    if (found > best) best = found, way = n;
  }
  return way >= 0 && set_way(s, way) && attn_sequence_align(s) > 0;
}

/* ---- blocks ---- */

static int cols_of(const struct attn_sequence *s, int step) {
  return step == ATTN_STEP_OUTPUT ? s->out_width : step == ATTN_STEP_ROW_SUM ? 1 : s->keys;
}

/* The items of a row of a step, each the first of its cell. 0: they are in another order. */
static int find_row(const struct attn_sequence *s, int step, int row, const attn_cell **cell) {
  int last = -1;
  for (int n = 0; n < s->items; n++) {
    if (s->item[n].step < 0) continue;
    const struct attn_expected *e = &s->expected[s->item[n].step];
    if (e->step != step || e->row != row || cell[e->col]) continue;
    if (e->col < last) return 0;
    cell[last = e->col] = &s->item[n].cell;
  }
  return 1;
}

/* The block whose words are near: the last one that begins before a number. */
static const struct attn_block *block_before(const struct attn_grouping *g, const attn_cell *cell) {
  const struct attn_block *found = g->block[0];
  for (int n = 0; n < g->blocks; n++)
    if (attn_cell_compare(g->block[n]->reading[0].cells, cell) <= 0) found = g->block[n];
  return found;
}

static struct attn_block *begin(struct attn_grouping *g, const char *name, const attn_cell *cell) {
  char *copy = attn_group_copy(g, name, strlen(name));
  struct attn_block *b = attn_block_in_place_of(g, block_before(g, cell), copy);
  if (b) b->source = ATTN_BLOCK_TURNS, b->captions = 0, b->header = "", b->line = cell->line;
  return b;
}

static void add_given(struct attn_sequence *s, const char *name, const int *list, int count) {
  const attn_cell *first = &s->item[s->list[list[0]].first].cell;
  struct attn_block *b = begin(s->g, name, first);
  for (int n = 0; b && n < count; n++) {
    const struct attn_item_list *l = &s->list[list[n]];
    attn_cell *row = attn_block_add_row(s->g, b, l->count, "");
    for (int c = 0; row && c < l->count; c++) row[c] = s->item[l->first + c].cell;
    if (!row) return;
  }
  if (b) attn_block_end(s->g, b, first->line);
}

/* A block of all rows of a step that are printed whole. 0: one is in another order. */
static int add_step(struct attn_sequence *s, int index) {
  int step = STEPS[index].step, cols = cols_of(s, step);
  struct attn_block *b = NULL;
  int line = 0;
  for (int row = 0; row < s->queries; row++) {
    const attn_cell *cell[ATTN_TOKENS_MAX] = {NULL};
    int is_of_keys = step >= ATTN_STEP_SCORES && step <= ATTN_STEP_WEIGHTS && cols > 1;
    int least = is_of_keys ? attn_sequence_visible(s, row) : cols, n = 0;
    if (!find_row(s, step, row, cell)) return 0;
    while (n < least && cell[n]) n++;
    if (n < least) continue;
    if (!b) b = begin(s->g, STEPS[index].name, cell[0]);
    attn_cell *cells = b ? attn_block_add_row(s->g, b, cols, "") : NULL;
    if (!cells) return 0;
    for (int c = 0; c < cols; c++) cells[c] = cell[c] ? *cell[c] : attn_cell_blank();
    line = cells[0].line;
  }
  if (b) attn_block_end(s->g, b, line);
  return 1;
}

static int add_blocks(struct attn_sequence *s) {
  if (s->query[0] == s->key[0] && s->key[0] == s->value[0]) {
    add_given(s, "X =", s->key, s->keys);
  } else {
    add_given(s, "Q =", s->query, s->queries);
    add_given(s, s->key[0] == s->value[0] ? "K = V =" : "K =", s->key, s->keys);
    if (s->key[0] != s->value[0]) add_given(s, "V =", s->value, s->keys);
  }
  for (int n = 0; n < STEPS_COUNT; n++)
    if (!add_step(s, n)) return 0;
  return 1;
}

void attn_sequence_merge(struct attn_grouping *g) {
  struct attn_sequence *s = attn_group_take(g, 1, sizeof *s);
  int from = g->blocks;
  if (!s || !g->blocks) return;
  s->g = g;
  if (attn_sequence_items(s) && attn_sequence_givens(s) && choose(s) && !add_blocks(s))
    g->blocks = from;
  g->scan->regrouped = g->blocks - from;
  if (g->status == ATTN_OK) attn_blocks_replace(g, from);
}
