/* called.c -- which lists of numbers are queries, keys and values. */
#include <string.h>

#include "sequence.h"

static int is_vector(const struct attn_sequence *s, int list) {
  const struct attn_item_list *l = &s->list[list];
  return l->is_vector && !l->is_operand && l->count > 1;
}

/* ---- by words ---- */

/* Are only indices between two lists: "row 1 is 0.5 1, row 2"? */
static int is_next_row(const struct attn_sequence *s, int list, int next) {
  while (++list < next)
    if (!s->list[list].is_operand) return 0;
  return 1;
}

/* Lists of this length (0: any) that are called so, those in brackets if there are any. */
static int find_called(const struct attn_sequence *s, int called, int count, int *list) {
  int found = 0, is_matrix = called >= ATTN_STEP_W_Q && called <= ATTN_STEP_U_A;
  for (int brackets = 1; brackets >= 0 && !found; brackets--)
    for (int n = 0; n < s->lists && found < ATTN_TOKENS_MAX; n++) {
      const struct attn_item_list *l = &s->list[n];
      if (l->called != called || l->is_operand) continue;
      if (l->is_vector != brackets && !is_matrix) continue;
      if (count ? l->count != count : l->count < 2) continue;
      int is_next = is_matrix && found && is_next_row(s, list[found - 1], n);
      if (!l->is_vector && !l->is_own && !is_next) continue;
      if (!count) count = l->count;
      list[found++] = n;
    }
  return found;
}

int attn_sequence_are_equal(const struct attn_sequence *s, int list, int other) {
  const struct attn_item_list *a = &s->list[list], *b = &s->list[other];
  const struct attn_item *x = &s->item[a->first], *y = &s->item[b->first];
  int n = 0;
  while (n < a->count && n < b->count && x[n].cell.value == y[n].cell.value) n++;
  return n == a->count && n == b->count;
}

/* Without a query that is mentioned again. */
static int drop_mentions(const struct attn_sequence *s, int *list, int count) {
  int kept = 0;
  for (int n = 0; n < count; n++) {
    int k = 0;
    while (k < kept && !attn_sequence_are_equal(s, list[k], list[n])) k++;
    if (k == kept) list[kept++] = list[n];
  }
  return kept;
}

/* "v1 = 3, v2 = 2": numbers next to each other that are called values. Returns how many. */
static int find_numbers(const struct attn_sequence *s, int *list) {
  int found = 0;
  for (int n = 0; n < s->lists && found < ATTN_TOKENS_MAX; n++) {
    const struct attn_item_list *l = &s->list[n];
    if (l->called != ATTN_STEP_V || l->count != 1 || !l->is_own || l->is_operand) continue;
    if (found && !is_next_row(s, list[found - 1], n)) break;
    list[found++] = n;
  }
  return found;
}

/* Without values: the keys are the values. */
static int find_by_words(struct attn_sequence *s, int keys) {
  struct attn_givens *g = &s->given;
  int found = find_called(s, ATTN_STEP_K, 0, g->key),
      values = find_called(s, ATTN_STEP_V, 0, g->value);
  if (!values) values = find_numbers(s, g->value);
  if (found < keys || (values && values < keys)) return 0;
  if (!values) memcpy(g->value, g->key, sizeof g->key);
  g->queries = find_called(s, ATTN_STEP_Q, s->list[g->key[0]].count, g->query);
  if (g->queries != keys) g->queries = drop_mentions(s, g->query, g->queries);
  return g->queries > 0;
}

/* The rows of a matrix that is called so, one after the other. Returns how many: at most `most`. */
static int find_rows(const struct attn_sequence *s, int called, int *list, int most) {
  int found[ATTN_TOKENS_MAX], rows = find_called(s, called, 0, found), n = 0;
  while (n < rows && n < most && (n == 0 || is_next_row(s, found[n - 1], found[n]))) {
    list[n] = found[n];
    n++;
  }
  return n;
}

/* The state that scores are of: it may be called s, as scores are. */
static int find_state(const struct attn_sequence *s, int *list) {
  int found[ATTN_TOKENS_MAX];
  if (!find_called(s, ATTN_STEP_Q, 0, found) && !find_called(s, ATTN_STEP_SCORES, 0, found))
    return 0;
  *list = found[0];
  return is_vector(s, *list);
}

/* One query, called so, with matrices: W; or W, U and v of a text with tanh. */
static int find_with_matrices(struct attn_sequence *s, int pattern, int keys) {
  struct attn_givens *g = &s->given;
  int is_additive = pattern == ATTN_WITH_TANH, found[ATTN_TOKENS_MAX];
  if (is_additive != attn_document_has(s->g->scan->patterns, "tanh", s->g->scan->text)) return 0;
  if (find_called(s, ATTN_STEP_K, 0, g->key) != keys || !find_state(s, g->query)) return 0;
  g->w_rows = find_rows(s, ATTN_STEP_W_A, g->w, ATTN_WIDTH_MAX);
  g->queries = 1, g->scoring = is_additive ? ATTN_ADDITIVE : ATTN_GENERAL;
  memcpy(g->value, g->key, sizeof g->key);
  if (!g->w_rows || !is_additive) return g->w_rows > 0;
  g->u_rows = find_rows(s, ATTN_STEP_U_A, g->u, ATTN_WIDTH_MAX);
  if (!g->u_rows && g->w_rows % 2 == 0) {
    g->u_rows = g->w_rows /= 2;
    memcpy(g->u, g->w + g->w_rows, (size_t)g->u_rows * sizeof *g->u);
  }
  if (!find_called(s, ATTN_STEP_V, 0, found) && !find_called(s, ATTN_STEP_V_A, 0, found)) return 0;
  g->v = found[0];
  return g->u_rows > 0;
}

/* Inputs, and the rows of W_Q, W_K and W_V, which are called so. */
static int find_projected(struct attn_sequence *s, int keys) {
  struct attn_givens *g = &s->given;
  if (find_called(s, ATTN_STEP_X, 0, g->x) != keys) return 0;
  for (int n = 0; n < 3; n++) {
    g->rows[n] = find_rows(s, ATTN_STEP_W_Q + n, g->projection[n], ATTN_WIDTH_MAX);
    if (!g->rows[n]) return 0;
  }
  return 1;
}

/* ---- by their order ---- */

/* The vectors in order, so many. */
static int find_vectors(const struct attn_sequence *s, int *list, int count) {
  int found = 0;
  for (int n = 0; n < s->lists && found < count; n++)
    if (is_vector(s, n)) list[found++] = n;
  return found == count;
}

/* How many of the first vectors are called queries: at least one. */
static int count_queries(const struct attn_sequence *s) {
  int queries = 0;
  for (int n = 0; n < s->lists && queries < ATTN_TOKENS_MAX; n++) {
    if (!is_vector(s, n)) continue;
    if (s->list[n].called != ATTN_STEP_Q) break;
    queries++;
  }
  return queries ? queries : 1;
}

static int find_by_order(struct attn_sequence *s, int pattern, int keys) {
  struct attn_givens *g = &s->given;
  int list[3 * ATTN_TOKENS_MAX];
  g->queries = pattern == ATTN_LISTS ? count_queries(s) : keys;
  if (!find_vectors(s, list, g->queries + 2 * keys)) return 0;
  const int *rest = list + g->queries;
  for (int n = 0; n < g->queries; n++) g->query[n] = list[pattern == ATTN_TURNS ? 3 * n : n];
  for (int n = 0; n < keys; n++) {
    int is_turn = pattern == ATTN_TURNS;
    g->key[n] = is_turn ? list[3 * n + 1] : rest[n];
    g->value[n] = is_turn ? list[3 * n + 2] : rest[keys + n];
  }
  return 1;
}

/* ---- both ---- */

static int have_length(const struct attn_sequence *s, const int *list, int count, int length) {
  int n = 0;
  while (n < count && s->list[list[n]].count == length) n++;
  return n == count && length <= ATTN_WIDTH_MAX;
}

/* W x or x W: has W so many rows, or columns? */
static int width_of(const struct attn_sequence *s, int of) {
  const struct attn_givens *g = &s->given;
  int cols = s->list[g->projection[of][0]].count;
  return cols == s->list[g->x[0]].count ? g->rows[of] : cols;
}

static int give_projected(struct attn_sequence *s, int keys) {
  struct attn_givens *g = &s->given;
  g->is_projected = 1, g->queries = g->keys = keys;
  if (!find_projected(s, keys)) return 0;
  memcpy(g->y, g->x, sizeof g->y);
  g->width = width_of(s, 0), g->out_width = width_of(s, 2);
  return g->width <= ATTN_WIDTH_MAX && g->out_width <= ATTN_WIDTH_MAX &&
         have_length(s, g->x, keys, s->list[g->x[0]].count);
}

int attn_sequence_givens(struct attn_sequence *s, int pattern, int keys) {
  struct attn_givens *g = &s->given;
  if (pattern == ATTN_KNOWN) return g->keys == keys;
  if (pattern == ATTN_IN_ORDER) return attn_sequence_inputs(s, keys);
  g->scoring = ATTN_DOT, g->is_projected = g->results = 0;
  if (pattern == ATTN_PROJECTED) return give_projected(s, keys);
  if (!(pattern == ATTN_BY_WORDS      ? find_by_words(s, keys)
        : pattern >= ATTN_WITH_MATRIX ? find_with_matrices(s, pattern, keys)
                                      : find_by_order(s, pattern, keys)))
    return 0;
  g->keys = keys;
  g->width = s->list[g->key[0]].count, g->out_width = s->list[g->value[0]].count;
  return have_length(s, g->key, keys, g->width) && have_length(s, g->query, g->queries, g->width) &&
         have_length(s, g->value, keys, g->out_width);
}

static int is_in(const int *lists, int count, int list) {
  int n = 0;
  while (n < count && lists[n] != list) n++;
  return n < count;
}

/* Are the givens items, of lists that may have others? */
static int are_items_given(const struct attn_sequence *s) { return s->known || s->given.results; }

int attn_sequence_is_given(const struct attn_sequence *s, int list) {
  const struct attn_givens *g = &s->given;
  if (are_items_given(s)) return s->item[s->list[list].first].is_known;
  if (g->is_projected) {
    int found = is_in(g->x, g->keys, list);
    for (int n = 0; n < 3 && !found; n++) found = is_in(g->projection[n], g->rows[n], list);
    return found;
  }
  return is_in(g->key, g->keys, list) || is_in(g->value, g->keys, list) ||
         is_in(g->query, g->queries, list) || (g->scoring && is_in(g->w, g->w_rows, list)) ||
         (g->scoring == ATTN_ADDITIVE && (is_in(g->u, g->u_rows, list) || g->v == list));
}

int attn_sequence_is_free(const struct attn_sequence *s, int item) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  if (are_items_given(s) && s->item[item].is_known) return 0;
  return !l->is_operand && item >= s->given.results &&
         !attn_sequence_is_given(s, s->item[item].list);
}
