/* hypotheses.c -- the queries, keys, values, scale and mask by which all numbers of the text are
 * cells.
 */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "sequence.h"

/* ---- labels ---- */

static int has_word(const struct attn_item_list *l, const char *word) {
  for (int n = 0; n < ATTN_WORDS; n++)
    if (strcmp(l->word[n], word) == 0) return 1;
  return 0;
}

/* Words that name no token. */
static int is_filler(const char *word) {
  return attn_is_listed(
      "a an and are as at for has have is it its of on our that the then this to "
      "we with は が を に の と で も へ や",
      word, strlen(word));
}

/* A word that is in front of this key, and of no other. NULL: there is none. */
static const char *label_of(const struct attn_sequence *s, int key) {
  if (s->given.key[key] < 0) return NULL;
  const struct attn_item_list *l = &s->list[s->given.key[key]];
  for (int n = 0; n < ATTN_WORDS; n++) {
    int others = 0;
    for (int k = 0; k < s->given.keys && *l->word[n]; k++)
      others += k != key && s->given.key[k] >= 0 && has_word(&s->list[s->given.key[k]], l->word[n]);
    if (*l->word[n] && !others && !is_filler(l->word[n])) return l->word[n];
  }
  return NULL;
}

/* Has a number the label of another key? "sea = 4", read as the score of the sun; "q1·k2 = 4", as
 * that of k1 */
static int is_of_other_key(const struct attn_sequence *s, int item) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  const struct attn_expected *e = &s->expected[s->item[item].expected];
  int key = attn_sequence_key_of(e), named = 0, is_own = 0;
  if (l->count > 1 || e->step == ATTN_W_S || e->step == ATTN_STEP_ROW_SUM ||
      e->step == ATTN_STEP_OUTPUT || s->given.is_projected)
    return 0;
  int is_of_key = l->called == ATTN_STEP_K || s->given.queries == 1; /* not s21, or row 2 */
  if (is_of_key && l->index && l->index != key + 1 && l->index != key) return 1;
  for (int k = 0; k < s->given.keys; k++) {
    const char *label = label_of(s, k);
    if (!label || !has_word(l, label)) continue;
    named = 1, is_own |= k == key;
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

static int is_cell_printed(const struct attn_sequence *s, int cell) {
  int n = 0;
  while (n < s->items && s->item[n].expected != cell) n++;
  return n < s->items;
}

/* Is a list that of a given, or the row of a step, once more? */
static int is_mention(const struct attn_sequence *s, int list) {
  const struct attn_item_list *l = &s->list[list];
  const struct attn_item *item = &s->item[l->first];
  for (int n = 0; n < s->lists; n++)
    if (attn_sequence_is_given(s, n) && attn_sequence_are_equal(s, n, list)) return 1;
  for (int n = 0; n + l->count <= s->expecteds; n++) {
    int k = 0;
    while (k < l->count && s->expected[n + k].col == k &&
           s->expected[n + k].value == item[k].cell.value)
      k++;
    if (k == l->count && is_cell_printed(s, n)) return 1;
  }
  return 0;
}

/* Is the list, or the row above it in a matrix, one of a step? */
static int is_of_step(const struct attn_sequence *s, const struct attn_item_list *l) {
  return has_cell(s, l) || (l->is_next_row && has_cell(s, l - 1));
}

/* An integer may be prose: but not in a list or vector of a step, nor as a step's own number. Sizes
 * and mentions are. */
static int is_prose(const struct attn_sequence *s, int item) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  double value = s->item[item].cell.value;
  if (is_of_step(s, l)) return 0;
  if (isinf(value)) return 1;
  if (l->count > 1 && (l->is_vector || l->called >= ATTN_STEP_SCORES))
    return is_mention(s, s->item[item].list);
  if (!l->is_own || l->called < ATTN_STEP_SCORES) return 1;
  for (int n = 0; n < s->expecteds; n++)
    if (s->expected[n].value == value) return 1;
  return value == s->given.width || value == s->given.keys;
}

/* Is an argument of softmax no score? The first of several may be any; the others follow
 * it. */
static int is_odd_argument(const struct attn_sequence *s, int item) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  int at = item - l->first;
  for (int n = at; n < s->expecteds; n++) {
    const struct attn_expected *e = &s->expected[n];
    if (e->step > ATTN_STEP_MASKED || (l->count > 1 && e->col != at)) continue;
    int k = 0;
    while (k <= at && attn_sequence_fits(&s->item[l->first + k].cell, e - at + k)) k++;
    if (k > at) return 0;
  }
  return 1;
}

/* The first item of a step; s->items: it is not printed. */
static int first_of(const struct attn_sequence *s, int step) {
  int n = 0;
  while (n < s->items && (s->item[n].expected < 0 || s->expected[s->item[n].expected].step != step))
    n++;
  return n;
}

static int is_printed(const struct attn_sequence *s, int step) {
  return first_of(s, step) < s->items;
}

/* The 1.41 of a text that divides by √2. */
static int is_root_of_width(const struct attn_sequence *s, const attn_cell *cell) {
  return s->given.is_scaled && cell->decimals > 1 &&
         fabs(cell->value - sqrt(s->given.width)) <= attn_cell_half(cell);
}

/* The 100 that percentages add up to. */
static int is_hundred(const attn_cell *cell) { return cell->decimals < 1 && cell->value == 100; }

/* The first number of inputs that are found by their order. */
static int first_known(const struct attn_sequence *s) {
  int n = 0;
  while (n < s->items && !s->item[n].is_known) n++;
  return n;
}

/* Is a list above inputs that are found by their order as long as a row of features, and no date?
 * Then it is perhaps what they are computed from. */
static int is_row_above(const struct attn_sequence *s, int item) {
  enum { LARGEST = 99 };
  const struct attn_item_list *l = &s->list[s->item[item].list];
  const struct attn_givens *g = &s->given;
  if (!g->results || !g->is_projected || l->is_operand || item >= first_known(s) ||
      l->count != s->list[g->x[0]].count)
    return 0;
  for (int n = l->first > 0 ? l->first - 1 : 0; n < l->first + l->count; n++)
    if (s->item[n].cell.value > LARGEST) return 0;
  return 1;
}

/* Is a list below all cells as long as a row of a step, where the numbers are in order? */
static int is_row_below(const struct attn_sequence *s, int item, int last) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  return s->given.results && item > last && l->count > 1 &&
         (l->count == s->given.out_width || l->count == s->given.keys);
}

/* In front of all cells or after them a number may be of something else, which is then not read. */
static int is_left_over(const struct attn_sequence *s, int item, int first, int last) {
  const struct attn_item *i = &s->item[item];
  const struct attn_item_list *l = &s->list[i->list];
  int is_result = item < first && l->count > 1 && l->is_own && l->called >= ATTN_STEP_SCORES;
  int is_within =
      s->to_the_end || is_result || (first < item && item < last) || is_row_below(s, item, last);
  if (l->is_root && i->cell.value == rint(i->cell.value)) return i->cell.value != s->given.width;
  if (l->is_argument && i->cell.decimals > 0) return is_odd_argument(s, item);
  if (i->expected >= 0) return is_of_other_key(s, item);
  if (is_row_above(s, item)) return 1;
  if (!attn_sequence_is_free(s, item)) return 0;
  if (l->count == 1 && (is_root_of_width(s, &i->cell) || is_hundred(&i->cell))) return 0;
  if (i->cell.decimals < 1 && ((item < first && !is_result) || is_prose(s, item))) return 0;
  return is_within || is_of_step(s, l) ||
         (l->called >= ATTN_STEP_SCORES && !is_printed(s, l->called));
}

static int has_left_over(const struct attn_sequence *s) {
  int first = 0, last = s->items - 1, n = 0;
  while (first < s->items && s->item[first].expected < 0) first++;
  while (last > first && s->item[last].expected < 0) last--;
  if (s->given.results) first = s->given.results - 1;
  while (n < s->items && !is_left_over(s, n, first, last)) n++;
  return n < s->items;
}

/* ---- hypotheses ---- */

enum { WAYS = 8, PROJECTED_WAYS = 16, SLIPS = 12 };

/* Even ways are scaled, odd ones not; with matrices: s W, or W s. Each without a mask, with a
 * causal one, with one or two keys of padding. The last ones project as W x. 0: not possible. */
static int set_way(struct attn_sequence *s, int way) {
  struct attn_givens *g = &s->given;
  int mask = way % WAYS / 2;
  g->in_columns = way & 1, g->is_scaled = !g->scoring && !g->in_columns;
  if (g->is_projected) g->in_columns = way >= WAYS;
  g->is_causal = mask == 1, g->padding = mask > 1 ? mask - 1 : 0;
  if (g->is_causal ? g->queries != g->keys : g->padding >= g->keys) return 0;
  if (mask && !s->may_mask) return 0;
  return (!g->scoring || way < 2) && attn_sequence_expect(s);
}

/* Is a key or its value printed below weights, which are of all keys? */
static int has_late_key(const struct attn_sequence *s) {
  int first = 0, late = 0;
  while (first < s->items && (s->item[first].expected < 0 ||
                              s->expected[s->item[first].expected].step != ATTN_STEP_WEIGHTS))
    first++;
  for (int n = 0; n < s->given.keys && !s->known; n++)
    late |= s->list[s->given.key[n]].first > first || s->list[s->given.value[n]].first > first;
  return late;
}

static int has_result(const struct attn_sequence *s, int row) {
  for (int n = s->given.results; n < s->items; n++) {
    int cell = s->item[n].expected;
    if (cell >= 0 && s->expected[cell].row == row && s->expected[cell].step >= ATTN_STEP_SCORES)
      return 1;
  }
  return 0;
}

/* Of queries that only their order tells, has one no result, so that it may be none? */
static int has_idle_query(const struct attn_sequence *s) {
  for (int row = 0; row < s->given.queries && s->given.results && !s->given.is_projected; row++)
    if (s->list[s->given.query[row]].called != ATTN_STEP_Q && !has_result(s, row)) return 1;
  return 0;
}

/* Is each number a cell, and the order that of steps? */
static int is_explained(struct attn_sequence *s) {
  return attn_sequence_expect(s) && attn_sequence_align(s) > 0 && attn_sequence_is_smooth(s) &&
         !has_left_over(s) && !(s->given.padding && has_late_key(s)) && !has_idle_query(s);
}

/* SLIPS, less one for each slip by which the numbers differ from what these givens give. 0: by too
 * many, or by more than those of a way that was tried before. */
static int rate_slips(struct attn_sequence *s) {
  int left = SLIPS;
  memset(s->is_slip, 0, sizeof s->is_slip);
  s->in_place = 1;
  while (left > s->rating && !is_explained(s) && attn_sequence_fill(s)) left--;
  int is_found = left > s->rating && is_explained(s);
  s->in_place = 0;
  return is_found ? left : 0;
}

/* Sets the givens, scale and mask of this pattern that are rated highest. Returns the rating. */
static int find_best(struct attn_sequence *s, int pattern, int (*rate)(struct attn_sequence *)) {
  struct attn_givens chosen;
  int best = 0;
  for (int keys = ATTN_TOKENS_MAX; keys > 1; keys--) {
    int found = attn_sequence_givens(s, pattern, keys);
    int ways = !found ? 0 : s->given.is_projected ? PROJECTED_WAYS : WAYS;
    for (int way = 0; way < ways; way++) {
      s->rating = best;
      int rating = set_way(s, way) ? rate(s) : 0;
      if (rating > best) best = rating, chosen = s->given;
    }
  }
  s->rating = 0;
  if (best) s->given = chosen;
  return best;
}

/* Are all numbers explained, without a slip? By their order alone, givens need weights. */
static int find_whole(struct attn_sequence *s, int pattern) {
  memset(s->is_slip, 0, sizeof s->is_slip);
  return find_best(s, pattern, attn_sequence_align) && is_explained(s) &&
         (pattern == ATTN_PROJECTED || pattern == ATTN_BY_WORDS || pattern == ATTN_KNOWN ||
          is_printed(s, ATTN_STEP_WEIGHTS));
}

/* With the fewest slips? */
static int find_with_slips(struct attn_sequence *s, int pattern) {
  return find_best(s, pattern, rate_slips) && rate_slips(s) &&
         (pattern != ATTN_IN_ORDER || is_printed(s, ATTN_STEP_WEIGHTS));
}

/* With a slip of the operation, whose result is printed? Scores that are not divided, or by d_k,
 * are printed twice. */
static int find_other(struct attn_sequence *s, int pattern, int other) {
  static const int RESULT[] = {[ATTN_WITHOUT_EXP] = ATTN_STEP_WEIGHTS,
                               [ATTN_BY_WIDTH] = ATTN_STEP_SCALED,
                               [ATTN_NOT_DIVIDED] = ATTN_STEP_SCALED,
                               [ATTN_KEYS_IN_PLACE] = ATTN_STEP_OUTPUT};
  s->given.other = other;
  return find_whole(s, pattern) && is_printed(s, RESULT[other]) &&
         (RESULT[other] != ATTN_STEP_SCALED || is_printed(s, ATTN_STEP_SCORES));
}

/* Are scaled scores called so where they are first printed, or is √d_k between them and the scores?
 */
static int are_scaled_called(const struct attn_sequence *s) {
  int scaled = first_of(s, ATTN_STEP_SCALED);
  if (scaled == s->items) return 0;
  if (s->list[s->item[scaled].list].called == ATTN_STEP_SCALED) return 1;
  for (int n = first_of(s, ATTN_STEP_SCORES); n < scaled; n++)
    if (s->list[s->item[n].list].is_root && s->item[n].cell.value == s->given.width) return 1;
  return 0;
}

/* Numbers that are whole without a division; but if the same ones are called scaled further below,
 * they are not divided by a slip. */
static int find_undivided(struct attn_sequence *s, int pattern) {
  if (s->given.scoring || s->given.is_scaled) return 1;
  struct attn_givens undivided = s->given;
  if (find_other(s, pattern, ATTN_NOT_DIVIDED) && are_scaled_called(s)) return 1;
  s->given = undivided;
  return is_explained(s);
}

/* With a slip of any operation? */
static int find_any_other(struct attn_sequence *s, int pattern) {
  for (int other = ATTN_NO_OTHER + 1; other <= ATTN_KEYS_IN_PLACE; other++)
    if (find_other(s, pattern, other)) return 1;
  s->given.other = ATTN_NO_OTHER;
  return 0;
}

/* With no number left, else with some that are of something else, above all cells or below them? */
static int explain_by(struct attn_sequence *s, int pattern) {
  s->work = 0;
  for (s->to_the_end = 1; s->to_the_end >= 0; s->to_the_end--) {
    if (find_whole(s, pattern)) return find_undivided(s, pattern);
    if (find_any_other(s, pattern) || find_with_slips(s, pattern)) return 1;
  }
  return s->to_the_end = 0;
}

/* Are the first numbers inputs and weight matrices, of which results are printed? Then the queries,
 * keys and values are no inputs. */
static int has_features(struct attn_sequence *s) {
  return attn_sequence_inputs(s, 0) && s->given.is_projected;
}

int attn_sequence_explain(struct attn_sequence *s) {
  if (s->known) return attn_sequence_known(s) && explain_by(s, ATTN_KNOWN);
  if (attn_document_has(s->g->scan->patterns, "tanh", s->g->scan->text) &&
      (find_whole(s, ATTN_WITH_TANH) || find_with_slips(s, ATTN_WITH_TANH)))
    return 1;
  if (has_features(s) && explain_by(s, ATTN_IN_ORDER)) return 1;
  for (int pattern = 0; pattern < ATTN_WITH_TANH; pattern++)
    if (find_whole(s, pattern)) return find_undivided(s, pattern);
  s->work = 0;
  if (find_any_other(s, ATTN_PROJECTED) || find_any_other(s, ATTN_BY_WORDS)) return 1;
  if (find_with_slips(s, ATTN_PROJECTED) || find_with_slips(s, ATTN_BY_WORDS) ||
      find_with_slips(s, ATTN_WITH_MATRIX))
    return 1;
  return explain_by(s, ATTN_IN_ORDER);
}
