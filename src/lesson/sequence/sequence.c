/* sequence.c -- the numbers that are queries, keys, values and what these give -> blocks. */
#include "sequence.h"

#include <math.h>
#include <string.h>

#include "cell.h"
#include "facts.h"

static const struct {
  int step;
  const char *name;
} STEPS[] = {
    {ATTN_STEP_Q, "Q ="},
    {ATTN_STEP_K, "K ="},
    {ATTN_STEP_V, "V ="},
    {ATTN_W_S, "W s ="},
    {ATTN_U_H, "U h ="},
    {ATTN_W_S_U_H, "W s + U h ="},
    {ATTN_TANH, "tanh ="},
    {ATTN_STEP_SCORES, "scores ="},
    {ATTN_STEP_SCALED, "scaled scores ="},
    {ATTN_STEP_MASKED, "masked scores ="},
    {ATTN_STEP_EXPONENTIALS, "exponentials ="},
    {ATTN_STEP_ROW_SUM, "row sums ="},
    {ATTN_STEP_WEIGHTS, "weights ="},
    {ATTN_STEP_OUTPUT, "output ="},
};
enum { STEPS_COUNT = sizeof STEPS / sizeof *STEPS };

static int rows_of(const struct attn_sequence *s, int step) {
  int is_of_keys = (step < 0 && step != ATTN_W_S) || step == ATTN_STEP_K || step == ATTN_STEP_V;
  return is_of_keys ? s->given.keys : s->given.queries;
}

static int cols_of(const struct attn_sequence *s, int step) {
  if (step < 0) return s->list[s->given.v].count;
  if (step == ATTN_STEP_Q || step == ATTN_STEP_K) return s->given.width;
  if (step == ATTN_STEP_OUTPUT || step == ATTN_STEP_V) return s->given.out_width;
  return step == ATTN_STEP_ROW_SUM ? 1 : s->given.keys;
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
  static const attn_cell NOWHERE = {.line = 0};
  static const struct attn_block NONE = {.name = "",
                                         .heading = "",
                                         .header = "",
                                         .readings = 1,
                                         .reading = {{.cells = (attn_cell *)&NOWHERE}}};
  struct attn_block *const *block = s->g->block;
  const struct attn_block *found = s->blocks ? block[0] : &NONE;
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
  if (!is_there || b->captions == ATTN_CAPTIONS) b->captions = 0;
  b->caption[b->captions++] = copy;
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
  int cols = cols_of(s, step);
  int is_of_keys = cols == s->given.keys && step >= ATTN_STEP_SCORES && step != ATTN_STEP_OUTPUT;
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
  for (int row = 0; row < rows_of(s, step); row++) {
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
static void add_step(struct attn_sequence *s, const char *name, int rows, int cols,
                     const struct printed *p) {
  struct attn_block *b = NULL;
  int by_query = p->rows < rows;
  for (int row = 0; row < rows; row++) {
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

/* Are the rows that both steps print in the same order on the page? Else those of two queries are
 * exchanged in one of them. */
static int are_in_order(const struct printed *a, const struct printed *b, int rows) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < i; j++) {
      int are_printed = a->whole[i] && a->whole[j] && b->whole[i] && b->whole[j];
      if (are_printed && (a->item[i][0] < a->item[j][0]) != (b->item[i][0] < b->item[j][0]))
        return 0;
    }
  return 1;
}

/* Of steps that are printed of some queries only: are they of the same queries? */
static int are_of_same_queries(const struct printed *a, const struct printed *b, int rows) {
  for (int n = 0; n < rows; n++)
    if (a->whole[n] != b->whole[n]) return 0;
  return 1;
}

/* The last steps that are printed of all queries, and of a part of them. */
struct printed_above {
  struct printed whole, part;
};

/* Does a result go with those above it, which it is then one of? */
static int goes_with(struct printed_above *above, const struct printed *p, int queries) {
  if (!are_in_order(p, &above->whole, queries)) return 0;
  if (p->rows == queries) above->whole = *p;
  if (p->rows == 0 || p->rows == queries) return 1;
  if (above->part.rows && !are_of_same_queries(p, &above->part, queries)) return 0;
  above->part = *p;
  return 1;
}

enum { STEPS_MAX = 32 }; /* attn_step_name */

/* Scaled and masked scores are often called scores. */
static int kind_of(int step) {
  return step >= ATTN_STEP_SCORES && step < ATTN_STEP_EXPONENTIALS ? ATTN_STEP_SCORES : step;
}

/* called[a] has a bit for each step that a row read as one of a is called by its own name. */
static void note_names(const struct attn_sequence *s, int step, const struct printed *p,
                       uint32_t *called) {
  for (int row = 0; step >= 0 && row < rows_of(s, step); row++) {
    const struct attn_item *first = p->whole[row] ? p->item[row][0] : NULL;
    const struct attn_item_list *l = first ? &s->list[first->list] : NULL;
    if (!l || !l->is_own || l->called < ATTN_STEP_SCORES) continue;
    called[step] |= 1u << l->called;
    called[kind_of(step)] |= 1u << kind_of(l->called);
  }
}

/* Is a row of one step called another one, and a row of that one called the first? */
static int has_exchanged(const uint32_t *called) {
  for (int a = 0; a < STEPS_MAX; a++)
    for (int b = 0; b < a; b++)
      if ((called[a] >> b & 1) && (called[b] >> a & 1)) return 1;
  return 0;
}

/* 0: a row is in another order, or not whole, or rows of two steps are exchanged. */
static int add_steps(struct attn_sequence *s) {
  struct printed *p = attn_group_take(s->g, 1, sizeof *p);
  struct printed_above *above = attn_group_take(s->g, 1, sizeof *above);
  uint32_t called[STEPS_MAX] = {0};
  if (!p || !above) return 0;
  for (int n = 0; n < STEPS_COUNT; n++) {
    const int step = STEPS[n].step;
    if (step < 0 && s->given.scoring != ATTN_ADDITIVE) continue;
    if (attn_sequence_is_projection(step) && !s->given.is_projected) continue;
    if (!find_printed(s, step, p)) return 0;
    if (step >= ATTN_STEP_SCORES && !goes_with(above, p, s->given.queries)) return 0;
    note_names(s, step, p, called);
    add_step(s, STEPS[n].name, rows_of(s, step), cols_of(s, step), p);
  }
  return !has_exchanged(called);
}

static void add_givens(struct attn_sequence *s) {
  const struct attn_givens *g = &s->given;
  static const char *const PROJECTION[] = {"W_Q =", "W_K =", "W_V ="};
  int is_shared = g->key[0] == g->value[0];
  if (g->is_projected) {
    add_given(s, "X =", g->x, g->keys);
    if (g->y[0] != g->x[0]) add_given(s, "Y =", g->y, g->queries);
    for (int n = 0; n < 3; n++) add_given(s, PROJECTION[n], g->projection[n], g->rows[n]);
    return;
  }
  if (is_shared && g->query[0] == g->key[0]) {
    add_given(s, "X =", g->key, g->keys);
    return;
  }
  add_given(s, g->scoring ? "s =" : "Q =", g->query, g->queries);
  add_given(s, g->scoring ? "h =" : is_shared ? "K = V =" : "K =", g->key, g->keys);
  if (!is_shared) add_given(s, "V =", g->value, g->keys);
  if (g->scoring) add_given(s, "W =", g->w, g->w_rows);
  if (g->scoring == ATTN_ADDITIVE)
    add_given(s, "U =", g->u, g->u_rows), add_given(s, "v =", &g->v, 1);
}

/* Is one of the lists set by the name of another step, "V =" of keys? */
static int is_misnamed(const struct attn_sequence *s, const int *list, int count, int step) {
  for (int n = 0; n < count; n++) {
    const struct attn_item_list *l = &s->list[list[n]];
    if (l->is_set && l->called != step && l->called >= ATTN_STEP_Q) return 1;
  }
  return 0;
}

/* "q2 = [7, 3]" below all rows of Q: one of those, and not a row more. */
static int has_row_more(const struct attn_sequence *s) {
  const struct attn_givens *g = &s->given;
  for (int n = 1; n < g->queries; n++)
    if (s->list[g->query[n]].is_set && s->list[g->query[n - 1]].is_next_row) return 1;
  return 0;
}

static int has_misnamed(const struct attn_sequence *s) {
  const struct attn_givens *g = &s->given;
  if (has_row_more(s)) return 1;
  if (g->is_projected || g->key[0] == g->value[0]) return 0;
  return is_misnamed(s, g->query, g->queries, ATTN_STEP_Q) ||
         is_misnamed(s, g->key, g->keys, ATTN_STEP_K) ||
         is_misnamed(s, g->value, g->keys, ATTN_STEP_V);
}

/* A word for what is hidden, or a sign in place of a number. */
static int may_mask(const struct attn_sequence *s) {
  static const char HIDDEN[] =
      "(*UCP)(?i)mask|\\bpad|\\bcausal|\\bhid(?:e|es|ing|den)\\b|ignor|exclud|\\bfuture|\\bskip|"
      "\\b(?:can|may|must|do|does)(?:not|n't| not|n't) |\\bonly (?:see|look|attend)|\\binf\\b|∞|"
      "\\b(?:earlier|previous|itself|backwards?|so far|nobody else|decoder)\\b|autoregress|"
      "left.to.right|triang|\\bpeek|\\bblock|"
      "マスク|パディング|パッド|埋め|因果|隠|無視|除外|未来|見え|見な|見る|見られ|参照|先の|後ろ|"
      "より前|以前|左から|三角|使えない|まだ";
  for (int n = 0; n < s->items; n++)
    if (s->item[n].cell.kind == ATTN_CELL_BLANK || isinf(s->item[n].cell.value)) return 1;
  return attn_document_has(s->g->scan->patterns, HIDDEN, s->g->scan->text);
}

void attn_sequence_merge(struct attn_grouping *g) {
  struct attn_sequence *s = attn_group_take(g, 1, sizeof *s);
  int from = g->blocks;
  if (!s) return;
  s->g = g, s->blocks = from, s->known = g->scan->left->known;
  int has_items = attn_sequence_items(s);
  s->may_mask = has_items && may_mask(s);
  if (has_items && attn_sequence_explain(s) && (s->known || !has_misnamed(s))) {
    if (!s->known) add_givens(s);
    if (!add_steps(s)) g->blocks = from;
  }
  g->scan->regrouped = g->blocks - from;
  if (g->status == ATTN_OK) attn_blocks_replace(g, from);
}
