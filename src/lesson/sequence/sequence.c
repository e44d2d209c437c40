/* sequence.c -- the numbers that are queries, keys, values and what these give -> blocks. */
#include "sequence.h"

#include <math.h>
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

enum { WAYS = 8, MASKED_FROM = 2 };

/* Scaled or not; no mask, a causal one, one or two keys of padding. 0: not possible. */
static int set_way(struct attn_sequence *s, int way) {
  struct attn_givens *g = &s->given;
  g->is_scaled = !(way & 1), g->is_causal = way >> 1 == 1,
  g->padding = way > 3 ? (way >> 1) - 1 : 0;
  if (g->is_causal ? g->queries != g->keys : g->padding >= g->keys) return 0;
  return attn_sequence_expect(s);
}

/* Is an argument of softmax none of the scores? The first of several may be any; the others follow
 * it. */
static int is_odd_argument(const struct attn_sequence *s, int item) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  int at = item - l->first;
  for (int n = at; n < s->expecteds && n < ATTN_EXPECTED_MAX; n++) {
    const struct attn_expected *e = &s->expected[n];
    if (e->step > ATTN_STEP_MASKED || (l->count > 1 && e->col != at)) continue;
    int k = 0;
    while (k <= at && attn_sequence_fits(&s->item[l->first + k].cell, e - at + k)) k++;
    if (k > at) return 0;
  }
  return 1;
}

/* ---- labels ---- */

static int has_word(const struct attn_item_list *l, const char *word) {
  for (int n = 0; n < ATTN_WORDS; n++)
    if (strcmp(l->word[n], word) == 0) return 1;
  return 0;
}

/* A word that is in front of this key, and of no other. NULL: there is none. */
static const char *label_of(const struct attn_sequence *s, int key) {
  const struct attn_item_list *l = &s->list[s->given.key[key]];
  for (int n = 0; n < ATTN_WORDS; n++) {
    int others = 0;
    for (int k = 0; k < s->given.keys && *l->word[n]; k++)
      others += k != key && has_word(&s->list[s->given.key[k]], l->word[n]);
    if (*l->word[n] && !others) return l->word[n];
  }
  return NULL;
}

/* "sea = 4", read as what is of the sun? "q1·k2 = 4", of k1? */
static int is_of_other_key(const struct attn_sequence *s, int item) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  const struct attn_expected *e = &s->expected[s->item[item].expected];
  int named = 0, is_own = 0;
  if (l->count > 1 || e->step == ATTN_STEP_ROW_SUM || e->step == ATTN_STEP_OUTPUT) return 0;
  if (l->index && l->index != e->col + 1 && l->index != e->col) return 1;
  for (int k = 0; k < s->given.keys; k++) {
    const char *label = label_of(s, k);
    if (!label || !has_word(l, label)) continue;
    named = 1, is_own |= k == e->col;
  }
  return named && !is_own;
}

/* ---- what is left ---- */

/* Is another number of the list a cell? */
static int has_cell(const struct attn_sequence *s, const struct attn_item_list *l) {
  for (int n = l->first; n < l->first + l->count; n++)
    if (s->item[n].expected >= 0) return 1;
  return 0;
}

/* Is a number of the steps, from the first on to the last, that is no cell a decimal, or called a
 * step? Sizes and mentions are not. */
static int is_left_over(const struct attn_sequence *s, int item, int is_within) {
  const struct attn_item *i = &s->item[item];
  const struct attn_item_list *l = &s->list[i->list];
  double value = i->cell.value;
  if (l->is_root && value == rint(value)) return value != s->given.width;
  if (l->is_argument && i->cell.decimals > 0) return is_odd_argument(s, item);
  if (i->expected >= 0) return is_of_other_key(s, item);
  if (l->is_operand || attn_sequence_is_given(s, i->list)) return 0;
  if (i->cell.decimals > 0 || has_cell(s, l)) return 1;
  if (!is_within || !l->is_own || l->called < ATTN_STEP_SCORES || isinf(value)) return 0;
  for (int n = 0; n < s->expecteds; n++)
    if (s->expected[n].value == value) return 0;
  return value != s->given.width && value != s->given.keys;
}

static int has_left_over(const struct attn_sequence *s) {
  int first = 0, last = s->items - 1, n = 0;
  while (first < s->items && s->item[first].expected < 0) first++;
  while (last > first && s->item[last].expected < 0) last--;
  while (n < s->items && !is_left_over(s, n, first < n && n < last)) n++;
  return n < s->items;
}

/* Is each number a cell, and the order that of steps? */
static int is_explained(struct attn_sequence *s) {
  return attn_sequence_expect(s) && attn_sequence_align(s) > 0 && attn_sequence_is_smooth(s) &&
         !has_left_over(s);
}

enum { SLIPS = 8 };

/* By how many slips the numbers differ from what these givens give; SLIPS: by too many. */
static int count_slips(struct attn_sequence *s) {
  int n = 0;
  memset(s->is_printed, 0, sizeof s->is_printed);
  while (n < SLIPS && !is_explained(s) && attn_sequence_fill(s)) n++;
  return n < SLIPS && is_explained(s) ? n : SLIPS;
}

/* The givens, scale and mask of this pattern by which most numbers are explained, and all. */
static int find_whole(struct attn_sequence *s, int pattern) {
  struct attn_givens chosen;
  int best = 0;
  memset(s->is_printed, 0, sizeof s->is_printed);
  for (int keys = ATTN_TOKENS_MAX; keys > 1; keys--)
    for (int way = 0; way < WAYS && attn_sequence_givens(s, pattern, keys); way++) {
      int value = set_way(s, way) ? attn_sequence_align(s) : 0;
      if (value > best) best = value, chosen = s->given;
    }
  if (!best) return 0;
  s->given = chosen;
  return is_explained(s);
}

/* Those that words call so, with the fewest slips. */
static int find_with_slips(struct attn_sequence *s) {
  struct attn_givens chosen;
  int best = SLIPS;
  for (int keys = ATTN_TOKENS_MAX; keys > 1; keys--)
    for (int way = 0; way < WAYS && attn_sequence_givens(s, ATTN_BY_WORDS, keys); way++) {
      int slips = set_way(s, way) ? count_slips(s) : SLIPS;
      if (slips < best) best = slips, chosen = s->given;
    }
  if (best == SLIPS) return 0;
  s->given = chosen;
  return count_slips(s) == best;
}

static int choose(struct attn_sequence *s) {
  for (int pattern = 0; pattern < ATTN_PATTERNS; pattern++)
    if (find_whole(s, pattern)) return 1;
  return find_with_slips(s);
}

/* ---- blocks ---- */

static int cols_of(const struct attn_sequence *s, int step) {
  return step == ATTN_STEP_OUTPUT    ? s->given.out_width
         : step == ATTN_STEP_ROW_SUM ? 1
                                     : s->given.keys;
}

/* The items of a row of a step, each the first of its cell. 0: they are in another order. */
static int find_row(const struct attn_sequence *s, int step, int row,
                    const struct attn_item **item) {
  int last = -1;
  for (int n = 0; n < s->items; n++) {
    if (s->item[n].expected < 0) continue;
    const struct attn_expected *e = &s->expected[s->item[n].expected];
    if (e->step != step || e->row != row || item[e->col]) continue;
    if (e->col < last) return 0;
    item[last = e->col] = &s->item[n];
  }
  return 1;
}

/* The block whose words are near: the last one that begins before a number. */
static const struct attn_block *block_before(const struct attn_sequence *s, const attn_cell *cell) {
  struct attn_block *const *block = s->g->block, *found = block[0];
  for (int n = 0; n < s->blocks; n++)
    if (attn_cell_compare(block[n]->reading[0].cells, cell) <= 0) found = block[n];
  return found;
}

/* A result is called as on the page, if it has a name there. */
static struct attn_block *begin(struct attn_sequence *s, const char *name, const attn_cell *cell,
                                int is_result) {
  struct attn_grouping *g = s->g;
  char *copy = attn_group_copy(g, name, strlen(name));
  const struct attn_block *near = block_before(s, cell);
  int is_there = is_result && attn_cell_compare(near->reading[0].cells, cell) == 0;
  struct attn_block *b = attn_block_in_place_of(g, near, is_there ? near->name : copy);
  if (!b || !copy) return NULL;
  b->source = ATTN_BLOCK_TURNS, b->header = "", b->line = cell->line, b->is_factor = 0;
  b->captions = 1, b->caption[0] = copy;
  return b;
}

static void add_given(struct attn_sequence *s, const char *name, const int *list, int count) {
  const attn_cell *first = &s->item[s->list[list[0]].first].cell;
  struct attn_block *b = begin(s, name, first, 0);
  for (int n = 0; b && n < count; n++) {
    const struct attn_item_list *l = &s->list[list[n]];
    attn_cell *row = attn_block_add_row(s->g, b, l->count, "");
    for (int c = 0; row && c < l->count; c++) row[c] = s->item[l->first + c].cell;
    if (!row) return;
  }
  if (b) attn_block_end(s->g, b, first->line);
}

/* Are all cells of a row printed, or none? Keys that are hidden need not be. */
static int is_whole_or_empty(const struct attn_sequence *s, int step, int row,
                             const struct attn_item *const *item, int *found) {
  int cols = cols_of(s, step), is_of_keys = cols == s->given.keys && step != ATTN_STEP_OUTPUT;
  int least = is_of_keys ? attn_sequence_visible(s, row) : cols, missing = 0;
  *found = 0;
  for (int n = 0; n < cols; n++) *found += item[n] != NULL;
  for (int n = 0; n < least; n++) missing += !item[n];
  return !missing || !*found;
}

/* What is printed of a step. */
struct printed {
  const struct attn_item *item[ATTN_TOKENS_MAX][ATTN_TOKENS_MAX];
  int whole[ATTN_TOKENS_MAX], rows;
};

/* Is it a row? A single integer is one only if it is called so. */
static int is_row(const struct attn_sequence *s, int step, const struct attn_item *const *item,
                  int found) {
  if (found != 1 || cols_of(s, step) == 1 || item[0]->cell.decimals > 0) return found > 0;
  return s->list[item[0]->list].called == step;
}

/* 0: a row is in another order, or not whole. */
static int find_printed(const struct attn_sequence *s, int step, struct printed *p) {
  *p = (struct printed){.rows = 0};
  for (int row = 0; row < s->given.queries; row++) {
    const struct attn_item **item = p->item[row];
    int found;
    if (!find_row(s, step, row, item)) return 0;
    if (!is_whole_or_empty(s, step, row, item, &found)) return 0;
    p->whole[row] = is_row(s, step, item, found);
    p->rows += p->whole[row];
  }
  return 1;
}

/* A block of all rows of a step, or one of each that is printed. */
static void add_step(struct attn_sequence *s, const char *name, int cols, const struct printed *p) {
  struct attn_block *b = NULL;
  int by_query = p->rows < s->given.queries;
  for (int row = 0; row < s->given.queries; row++) {
    const struct attn_item *const *from = p->item[row];
    if (!p->whole[row]) continue;
    if (!b || by_query) b = begin(s, name, &from[0]->cell, 1);
    attn_cell *cells = b ? attn_block_add_row(s->g, b, cols, "") : NULL;
    if (!cells) return;
    for (int c = 0; c < cols; c++) cells[c] = from[c] ? from[c]->cell : attn_cell_blank();
    if (by_query) attn_block_end(s->g, b, cells[0].line);
  }
  if (b && !by_query) attn_block_end(s->g, b, b->line);
}

/* 0: a row is not whole. */
static int add_steps(struct attn_sequence *s) {
  struct printed *p = attn_group_take(s->g, 1, sizeof *p);
  for (int n = 0; n < STEPS_COUNT; n++) {
    if (!p || !find_printed(s, STEPS[n].step, p)) return 0;
    add_step(s, STEPS[n].name, cols_of(s, STEPS[n].step), p);
  }
  return 1;
}

static int add_blocks(struct attn_sequence *s) {
  if (s->given.query[0] == s->given.key[0] && s->given.key[0] == s->given.value[0]) {
    add_given(s, "X =", s->given.key, s->given.keys);
  } else {
    add_given(s, "Q =", s->given.query, s->given.queries);
    add_given(s, s->given.key[0] == s->given.value[0] ? "K = V =" : "K =", s->given.key,
              s->given.keys);
    if (s->given.key[0] != s->given.value[0]) add_given(s, "V =", s->given.value, s->given.keys);
  }
  return add_steps(s);
}

void attn_sequence_merge(struct attn_grouping *g) {
  struct attn_sequence *s = attn_group_take(g, 1, sizeof *s);
  int from = g->blocks;
  if (!s || !g->blocks) return;
  s->g = g, s->blocks = from;
  if (attn_sequence_items(s) && choose(s) && !add_blocks(s)) g->blocks = from;
  g->scan->regrouped = g->blocks - from;
  if (g->status == ATTN_OK) attn_blocks_replace(g, from);
}
