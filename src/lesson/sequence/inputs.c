/* inputs.c -- inputs that are found by the order of the numbers alone: the first ones of the text,
 * row by row, of which results are printed below them.
 */
#include <string.h>

#include "sequence.h"

enum { ORDER_MAX = 5, LARGEST = 6, STARTS = 24, STRAYS = 4, SUPPORT = 4, TRIES = 500000 };

/* The matrices in the order of the text, each whole, or a row of each in turn. -1: the end. */
static const struct order {
  signed char matrix[ORDER_MAX];
  signed char first, in_turn; /* so many in turn, from this one on */
  signed char late;           /* 1: the last one is called by its name below the first results */
} ORDERS[] = {
    {{ATTN_STEP_Q, ATTN_STEP_K, ATTN_STEP_V, -1}, 0, 0, 0},
    {{ATTN_STEP_Q, ATTN_STEP_K, ATTN_STEP_V, -1}, 0, 0, 1},
    {{ATTN_STEP_Q, ATTN_STEP_K, ATTN_STEP_V, -1}, 0, 3, 0},
    {{ATTN_STEP_Q, ATTN_STEP_K, ATTN_STEP_V, -1}, 1, 2, 0},
    {{ATTN_STEP_K, ATTN_STEP_V, ATTN_STEP_Q, -1}, 0, 0, 0},
    {{ATTN_STEP_K, ATTN_STEP_V, ATTN_STEP_Q, -1}, 0, 2, 0},
    {{ATTN_STEP_X, ATTN_STEP_W_Q, ATTN_STEP_W_K, ATTN_STEP_W_V, -1}, 0, 0, 0},
    {{ATTN_STEP_X, ATTN_STEP_W_Q, ATTN_STEP_W_K, ATTN_STEP_W_V, -1}, 1, 3, 0},
    {{ATTN_STEP_W_Q, ATTN_STEP_W_K, ATTN_STEP_W_V, ATTN_STEP_X, -1}, 0, 0, 0},
    {{ATTN_STEP_Y, ATTN_STEP_X, ATTN_STEP_W_Q, ATTN_STEP_W_K, ATTN_STEP_W_V}, 0, 0, 0},
};

static int is_of_features(const struct order *o) { return o->matrix[3] >= 0; }

struct sizes {
  int queries, keys, features, width, out_width;
};

/* A row of an input: its numbers, one after the other. */
struct row {
  int matrix, n, length, item;
};

/* Where the inputs may be. */
struct attn_choice {
  const struct order *order;
  struct sizes sizes;
  int rows, below, results; /* the first number after the inputs, and its item */
  struct row row[ATTN_ROWS_MAX];
};

struct finder {
  struct attn_sequence *s;
  int count, at[ATTN_ITEMS_MAX]; /* the numbers that may be one of an input or result */
  struct attn_choice now, best;
  int best_rating, tries;
};

static int rows_of(const struct sizes *z, int matrix) {
  if (matrix == ATTN_STEP_Q || matrix == ATTN_STEP_Y) return z->queries;
  return matrix == ATTN_STEP_X || matrix == ATTN_STEP_K || matrix == ATTN_STEP_V ? z->keys
                                                                                 : z->features;
}

static int cols_of(const struct sizes *z, int matrix) {
  if (matrix == ATTN_STEP_X || matrix == ATTN_STEP_Y) return z->features;
  return matrix == ATTN_STEP_V || matrix == ATTN_STEP_W_V ? z->out_width : z->width;
}

static int add_row(struct attn_choice *c, int matrix, int n) {
  if (c->rows == ATTN_ROWS_MAX) return 0;
  c->row[c->rows++] = (struct row){matrix, n, cols_of(&c->sizes, matrix), -1};
  return 1;
}

static int add_in_turn(struct attn_choice *c, const signed char *matrix, int matrices) {
  int rows = rows_of(&c->sizes, matrix[0]);
  for (int k = 1; k < matrices; k++)
    if (rows_of(&c->sizes, matrix[k]) != rows) return 0;
  for (int n = 0; n < rows * matrices; n++)
    if (!add_row(c, matrix[n % matrices], n / matrices)) return 0;
  return 1;
}

/* The rows in the order of the text. 0: not possible with these sizes. */
static int plan(struct attn_choice *c) {
  const struct order *o = c->order;
  c->rows = 0;
  for (int k = 0, count; k < ORDER_MAX && o->matrix[k] >= 0; k += count) {
    count = k == o->first && o->in_turn ? o->in_turn : 1;
    if (!add_in_turn(c, o->matrix + k, count)) return 0;
  }
  return 1;
}

static const struct attn_item_list *list_at(const struct finder *f, int at) {
  return &f->s->list[f->s->item[f->at[at]].list];
}

/* Is a list called another input than this one? The table of W_Q may be called the queries'. */
static int is_of_other(const struct attn_item_list *l, int matrix) {
  int called = l->called;
  if (!l->is_own || called < 0 || called == matrix) return 0;
  if (called >= ATTN_STEP_W_Q && called <= ATTN_STEP_W_V) return 1;
  if (called < ATTN_STEP_Q || called > ATTN_STEP_V) return 0;
  return called - ATTN_STEP_Q != matrix - ATTN_STEP_W_Q;
}

/* So many numbers from there on are a row: a part of a list that has as many rows as it is longer;
 * or, one by one, single numbers. */
static int is_row(const struct finder *f, int at, const struct row *r, int one_by_one) {
  const struct attn_item_list *l = list_at(f, at);
  if (at + r->length > f->count || is_of_other(l, r->matrix)) return 0;
  if (!one_by_one)
    return l->count % r->length == 0 && (f->at[at] - l->first) % r->length == 0 &&
           f->at[at] + r->length <= l->first + l->count;
  for (int n = 0; n < r->length; n++)
    if (list_at(f, at + n)->count > 1) return 0;
  return 1;
}

/* Is a row called by the name of its matrix, and the first one is not? That is in front of it. */
static int is_named_late(const struct finder *f, int row, const struct attn_item_list *l) {
  const struct attn_choice *c = &f->now;
  int first = row;
  if (!l->is_own || l->called != c->row[row].matrix) return 0;
  for (int n = row - 1; n >= 0; n--)
    if (c->row[n].matrix == c->row[row].matrix) first = n;
  return first < row && f->s->list[f->s->item[c->row[first].item].list].called != l->called;
}

/* The next number of a list that is called a matrix, below at least one that is not. */
static int next_called(const struct finder *f, int at, int matrix) {
  int first = at;
  while (at < f->count && !(list_at(f, at)->is_own && list_at(f, at)->called == matrix)) at++;
  return at > first ? at : f->count;
}

/* Finds the rows of the plan from a number on; between them may be counts. */
static int walk(struct finder *f, int at, int one_by_one) {
  struct attn_choice *c = &f->now;
  int strays = 0, below = 0;
  for (int n = 0; n < c->rows; n++) {
    struct row *r = &c->row[n];
    if (c->order->late && r->matrix == ATTN_STEP_V && r->n == 0)
      below = at, at = next_called(f, at, r->matrix);
    while (!one_by_one && n > 0 && strays < STRAYS && at < f->count && list_at(f, at)->count == 1)
      at++, strays++;
    if (at >= f->count || !is_row(f, at, r, one_by_one)) return 0;
    if (is_named_late(f, n, list_at(f, at))) return 0;
    r->item = f->at[at], at += r->length;
  }
  if (at == f->count) return 0;
  c->below = below ? below : at, c->results = f->at[c->below];
  return 1;
}

/* ---- results of them ---- */

static int *lists_of(struct attn_givens *g, int matrix) {
  if (matrix == ATTN_STEP_X) return g->x;
  if (matrix == ATTN_STEP_Y) return g->y;
  if (matrix <= ATTN_STEP_W_V) return g->projection[matrix - ATTN_STEP_W_Q];
  return matrix == ATTN_STEP_Q ? g->query : matrix == ATTN_STEP_K ? g->key : g->value;
}

/* The rows as lists of their own, after those of the text. */
static void give(struct attn_sequence *s, const struct attn_choice *c) {
  struct attn_givens *g = &s->given;
  const struct sizes *z = &c->sizes;
  *g = (struct attn_givens){.scoring = ATTN_DOT,
                            .queries = z->queries,
                            .keys = z->keys,
                            .width = z->width,
                            .out_width = z->out_width,
                            .is_projected = is_of_features(c->order),
                            .is_scaled = 1,
                            .results = c->results,
                            .other = g->other,
                            .rows = {z->features, z->features, z->features}};
  for (int n = 0; n < c->rows; n++) {
    const struct row *r = &c->row[n];
    struct attn_item_list *l = &s->list[s->lists + n];
    *l = s->list[s->item[r->item].list];
    l->first = r->item, l->count = r->length, l->is_vector = 1, l->is_next_row = r->n > 0;
    lists_of(g, r->matrix)[r->n] = s->lists + n;
  }
  if (c->order->matrix[0] != ATTN_STEP_Y) memcpy(g->y, g->x, sizeof g->y);
}

/* Do the numbers below the inputs have this run of expected ones? */
static int has_run(struct finder *f, int cell, int count) {
  for (int from = f->now.below; from + count <= f->count; from++, f->tries--) {
    int n = 0;
    while (n < count &&
           attn_sequence_fits(&f->s->item[f->at[from + n]].cell, &f->s->expected[cell + n]))
      n++;
    if (n == count) return 1;
  }
  return 0;
}

/* How many expected numbers, in rows of two or more, are printed. */
static int support(struct finder *f) {
  int found = 0;
  give(f->s, &f->now);
  if (!attn_sequence_expect(f->s)) return 0;
  for (int cell = 0, cells; cell < f->s->expecteds; cell += cells) {
    cells = attn_sequence_row_cells(f->s, cell);
    if (cells > 1 && has_run(f, cell, cells)) found += cells;
  }
  return found;
}

/* Numbers of lists and vectors in front of the inputs. */
static int passed_over(const struct finder *f, int at) {
  int n = 0;
  while (at-- > 0) n += list_at(f, at)->count > 1;
  return n;
}

/* Where the values are below the results, the first number after the queries and keys is a score.
 */
static int begins_results(const struct finder *f) {
  return !f->now.order->late ||
         attn_sequence_fits(&f->s->item[f->now.results].cell, &f->s->expected[0]);
}

static void try_from(struct finder *f, int at, int one_by_one) {
  f->tries--;
  if (!walk(f, at, one_by_one)) return;
  int found = support(f), rating = found - passed_over(f, at);
  if (found && !begins_results(f)) return;
  int is_enough = found >= SUPPORT && 4 * found >= f->count - f->now.below;
  if (is_enough && (!f->best.rows || rating > f->best_rating))
    f->best_rating = rating, f->best = f->now;
}

/* From the beginning of each of the first lists on. */
static void try_sizes(struct finder *f) {
  if (f->tries <= 0 || !plan(&f->now)) return;
  for (int at = 0, lists = 0; at < f->count && lists < STARTS; at++) {
    const struct attn_item_list *l = list_at(f, at);
    if (l->first != f->at[at]) continue;
    try_from(f, at, l->count == 1);
    lists++;
  }
}

static void try_order(struct finder *f, const struct order *o, int keys) {
  f->now.order = o;
  struct sizes *z = &f->now.sizes;
  int is_cross = o->matrix[0] == ATTN_STEP_Y, is_projected = is_of_features(o);
  z->keys = keys;
  for (z->width = 2; z->width <= LARGEST; z->width++)
    for (z->out_width = 2; z->out_width <= LARGEST; z->out_width++)
      for (z->features = 2; z->features <= (is_projected ? LARGEST : 2); z->features++)
        for (z->queries = 1; z->queries <= LARGEST; z->queries++)
          if (z->queries == keys || is_cross || !is_projected) try_sizes(f);
}

/* The choice of all that is rated highest; without rows if there is none. NULL: no memory. */
static const struct attn_choice *find_choice(struct attn_sequence *s) {
  struct finder *f = attn_group_take(s->g, 1, sizeof *f);
  if (!f) return NULL;
  f->s = s, f->tries = TRIES;
  memset(s->is_slip, 0, sizeof s->is_slip);
  for (int n = 0; n < s->items; n++)
    if (!s->list[s->item[n].list].is_operand) f->at[f->count++] = n;
  for (int keys = 2; keys <= LARGEST; keys++)
    for (size_t n = 0; n < sizeof ORDERS / sizeof *ORDERS; n++) try_order(f, &ORDERS[n], keys);
  return &f->best;
}

int attn_sequence_inputs(struct attn_sequence *s, int keys) {
  if (!s->g->scan->left->in_order) return 0;
  if (!s->choice) s->choice = find_choice(s);
  const struct attn_choice *c = s->choice;
  if (!c || !c->rows || (keys && c->sizes.keys != keys)) return 0;
  give(s, c);
  for (int n = 0; n < c->rows; n++)
    for (int k = 0; k < c->row[n].length; k++) s->item[c->row[n].item + k].is_known = 1;
  return 1;
}
