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

enum { WAYS = 8, KEYS_LESS = 3 };

/* Scaled or not; no mask, a causal one, one or two keys of padding. 0: not possible. */
static int set_way(struct attn_sequence *s, int way) {
  s->is_scaled = !(way & 1), s->is_causal = way >> 1 == 1,
  s->padding = way >> 1 > 1 ? (way >> 1) - 1 : 0;
  if (s->is_causal ? s->queries != s->keys : s->padding >= s->keys) return 0;
  return attn_sequence_expect(s);
}

/* The number of keys, the mask and the scale by which most numbers are explained. A list that is
 * called a key may be none. */
static int choose(struct attn_sequence *s) {
  int best = 0, way = -1, most = s->keys, keys = most;
  for (int k = most; k > 1 && k > most - KEYS_LESS; k--)
    for (int n = 0; n < WAYS; n++) {
      s->keys = k;
      int value = set_way(s, n) ? attn_sequence_align(s) : 0;
      if (value > best) best = value, way = n, keys = k;
    }
  s->keys = keys;
  return way >= 0 && set_way(s, way) && attn_sequence_align(s) > 0;
}

/* ---- blocks ---- */

/* Is a number that is no cell a decimal, or called a step? Sizes are not. */
static int is_left_over(const struct attn_sequence *s, const struct attn_item *item) {
  const struct attn_item_list *l = &s->list[item->list];
  double value = item->cell.value;
  if (item->step >= 0 || l->is_operand || attn_sequence_is_given(s, item->list)) return 0;
  if (item->cell.decimals > 0) return 1;
  return l->is_own && l->called >= ATTN_STEP_SCORES && value != s->width && value != s->keys;
}

static int has_left_over(const struct attn_sequence *s) {
  int n = 0;
  while (n < s->items && !is_left_over(s, &s->item[n])) n++;
  return n < s->items;
}

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

/* How many of the cells of a row that must be printed are, at least -1: all; keys may be hidden. */
static int missing(const struct attn_sequence *s, int step, int row, const attn_cell **cell,
                   int *found) {
  int cols = cols_of(s, step), is_of_keys = cols == s->keys && step != ATTN_STEP_OUTPUT;
  int least = is_of_keys ? attn_sequence_visible(s, row) : cols;
  *found = 0;
  for (int n = 0; n < least; n++) *found += cell[n] != NULL;
  return least - *found;
}

/* A block of the rows of a step that are printed whole; the others are left to the reader. 0: one
 * is in another order. */
static int add_step(struct attn_sequence *s, int index) {
  int step = STEPS[index].step, cols = cols_of(s, step), rows = 0;
  const attn_cell *cell[ATTN_TOKENS_MAX][ATTN_TOKENS_MAX] = {{NULL}}, *first = NULL;
  int whole[ATTN_TOKENS_MAX];
  for (int row = 0; row < s->queries; row++) {
    int found;
    if (!find_row(s, step, row, cell[row])) return 0;
    if (missing(s, step, row, cell[row], &found) && found) return 0;
    rows += whole[row] = found > 1 || (found && (cols == 1 || cell[row][0]->decimals > 0));
    if (whole[row] && !first) first = cell[row][0];
  }
  struct attn_block *b = rows ? begin(s->g, STEPS[index].name, first) : NULL;
  for (int row = 0; b && row < s->queries; row++) {
    attn_cell *cells = attn_block_add_row(s->g, b, cols, "");
    if (!cells) return 0;
    for (int c = 0; c < cols; c++)
      cells[c] = !whole[row] ? attn_cell_open() : cell[row][c] ? *cell[row][c] : attn_cell_blank();
  }
  if (b) attn_block_end(s->g, b, first->line);
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
  if (attn_sequence_items(s) && attn_sequence_givens(s) && choose(s) &&
      (has_left_over(s) || !add_blocks(s)))
    g->blocks = from;
  g->scan->regrouped = g->blocks - from;
  if (g->status == ATTN_OK) attn_blocks_replace(g, from);
}
