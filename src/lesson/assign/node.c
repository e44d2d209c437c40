/* node.c -- a block read as something: what it is expected to be, which cells fit, what follows
 * from it. */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "relations.h"

/* Bits. */
static const double MISFIT = 5, MISFITS_MAX = 14; /* a cell that does not fit; all of them */
static const double NOT_MASKED = 10;              /* a cell that is hidden before any mask */
static const double FEW_FIT = 5;                  /* less than two fifths of the cells */
static const double ALL_OPEN = 4;                 /* an exercise: no cell is filled in */
static const double NOTHING = 1e-15;              /* the unit of an exact number */

enum node_kind { GIVEN_EXACT, GIVEN_ROUNDED, COPIED, RELATED, COLUMNS };

static size_t cells_of(const struct attn_grid *g) { return (size_t)g->rows * (size_t)g->cols; }

/* The entry of a node; its value is NULL until the node is made. */
static struct attn_memo_entry *entry_of(struct attn_relations *r, const struct attn_grid *grid,
                                        int kind, int of, int role, int row) {
  const int key[] = {grid->block, grid->reading, grid->transposed, kind, of, role, row};
  struct attn_memo_entry *e = attn_memo_at(r->pool, &r->node, key, sizeof key);
  if (!e) r->failed = 1;
  return e;
}

/* Nothing is carried yet. */
static struct attn_node *new_node(struct attn_relations *r, const struct attn_grid *g) {
  struct attn_node *node = attn_pool_take(r->pool, sizeof *node);
  if (!node) return r->failed = 1, NULL;
  *node = (struct attn_node){.id = ++r->nodes, .grid = g, .share = 1};
  node->carried.lo = node->carried.hi = (attn_matrix){g->rows, g->cols, NULL};
  return node;
}

static int take_carried(struct attn_relations *r, struct attn_node *node) {
  double *at = attn_pool_take(r->pool, 2 * cells_of(node->grid) * sizeof *at);
  if (!at) return r->failed = 1, 0;
  node->carried.lo.at = at, node->carried.hi.at = at + cells_of(node->grid);
  return 1;
}

const struct attn_node *attn_node_given(struct attn_relations *r, const struct attn_grid *grid,
                                        int rounded) {
  struct attn_memo_entry *e = entry_of(r, grid, rounded ? GIVEN_ROUNDED : GIVEN_EXACT, 0, 0, 0);
  if (!e || e->value) return e ? e->value : NULL;
  struct attn_node *node = new_node(r, grid);
  if (!node || !take_carried(r, node)) return NULL;
  for (size_t n = 0; n < cells_of(grid); n++) {
    double half = rounded && grid->decimals > 0 ? grid->half[n] : 0;
    node->carried.lo.at[n] = grid->value[n] - half;
    node->carried.hi.at[n] = grid->value[n] + half;
  }
  return e->value = node;
}

/* ---- a grid and what it is expected to be ---- */

/* A masked score, printed and expected. */
static int both_hidden(double printed, struct attn_interval x) {
  int none = x.lo == -(double)INFINITY;
  return printed == -(double)INFINITY && (none || x.hi < ATTN_HIDDEN);
}

static int within(double printed, double half, double more, struct attn_interval x) {
  return printed + half + more >= x.lo && printed - half - more <= x.hi;
}

static int is_hidden_weight(const struct attn_grid *g, size_t n, struct attn_interval x) {
  return g->blank[n] && x.lo == 0 && x.hi == 0;
}

static int cell_fits(const struct attn_grid *g, size_t n, struct attn_interval x) {
  double more = 1e-9 + 2e-7 * g->half[n];
  if (is_hidden_weight(g, n, x)) return 1;
  if (isinf(g->value[n]) || isinf(x.lo)) return both_hidden(g->value[n], x);
  return within(g->value[n], g->half[n], more, x);
}

/* Left to the reader, where something else than hidden is expected. */
static int is_open(const struct attn_grid *g, size_t n, struct attn_interval x) {
  return g->blank[n] == 2 && isfinite(x.lo) && x.hi > ATTN_HIDDEN && !is_hidden_weight(g, n, x);
}

/* The bits of a number that what is expected leaves open. */
static double open_bits(const struct attn_grid *g, size_t n, struct attn_interval x) {
  double bits = log2(1 + (x.hi - x.lo) / (2 * g->half[n] + NOTHING));
  return isfinite(bits) ? bits : 0;
}

static struct attn_interval expected_at(const struct attn_node *node, size_t n) {
  return (struct attn_interval){node->expected.lo.at[n], node->expected.hi.at[n]};
}

/* Carried on: the printed number, or anything of the expected interval that prints so. A slip may
 * have been carried on with more digits of a score than are printed. */
static void carry(struct attn_node *node, size_t n) {
  const struct attn_grid *g = node->grid;
  struct attn_interval x = expected_at(node, n);
  int open = is_open(g, n, x);
  double printed = is_hidden_weight(g, n, x) ? 0 : g->value[n], lo = printed, hi = printed;
  if (open) lo = x.lo, hi = x.hi;
  if ((open || cell_fits(g, n, x)) && isfinite(printed)) {
    double from = fmax(x.lo, printed - g->half[n]), to = fmin(x.hi, printed + g->half[n]);
    if (from <= to) lo = fmin(printed, from), hi = fmax(printed, to);
  } else if (attn_role_is_of_scores(node->relation->role) && isfinite(printed) &&
             (g->decimals > 0 || node->relation->role == ATTN_ROLE_EXPONENTIALS)) {
    lo = printed - g->half[n], hi = printed + g->half[n];
  }
  node->carried.lo.at[n] = lo;
  node->carried.hi.at[n] = hi;
}

/* Minus infinity of scores that no mask hides? */
static int is_hidden_early(const struct attn_node *node, size_t n) {
  const struct attn_relation *r = node->relation;
  return r && (r->role == ATTN_ROLE_SCORES || r->role == ATTN_ROLE_SCALED) &&
         !node->grid->blank[n] && node->grid->value[n] == -(double)INFINITY;
}

static void compare(struct attn_node *node) {
  const struct attn_grid *g = node->grid;
  size_t fit = 0, open = 0;
  double gain = 0;
  for (size_t n = 0; n < cells_of(g); n++) {
    struct attn_interval x = expected_at(node, n);
    if (is_open(g, n, x))
      open++;
    else if (cell_fits(g, n, x))
      fit++, gain += fmax(0, g->bits[n] - open_bits(g, n, x));
    else if (is_hidden_early(node, n))
      gain -= NOT_MASKED;
  }
  size_t printed = cells_of(g) - open, misfits = printed - fit;
  node->share = printed ? (double)fit / (double)printed : 1;
  /* After a slip an author may continue from the right numbers, which are not on the page. */
  double most = node->slipped ? MISFIT : MISFITS_MAX;
  node->bits = gain - fmin(most, MISFIT * (double)misfits) -
               (node->share < .4 && !node->slipped ? FEW_FIT : 0);
  if (!printed) node->bits -= ALL_OPEN;
  node->slipped |= misfits > 0;
}

/* ---- copies and relations ---- */

static struct attn_interval_matrix expected_copy(struct attn_relations *r,
                                                 const struct attn_grid *grid,
                                                 const struct attn_grid *of, int copy) {
  size_t row = copy >= ATTN_COPY_ROW ? (size_t)(copy - ATTN_COPY_ROW) : 0;
  size_t count = cells_of(grid), n = 0;
  double *at = attn_pool_take(r->pool, 2 * count * sizeof *at);
  struct attn_interval_matrix x = {{grid->rows, grid->cols, at},
                                   {grid->rows, grid->cols, at ? at + count : NULL}};
  for (int i = 0; at && i < grid->rows; i++)
    for (int j = 0; j < grid->cols; j++, n++) {
      size_t from = copy == ATTN_COPY_TRANSPOSED ? (size_t)j * (size_t)of->cols + (size_t)i
                                                 : row * (size_t)of->cols + n;
      double half = grid->decimals > of->decimals ? of->half[from] : 0;
      x.lo.at[n] = of->value[from] - half, x.hi.at[n] = of->value[from] + half;
    }
  return x;
}

int attn_is_copy_of(const struct attn_grid *grid, const struct attn_grid *of, int copy) {
  if (copy >= ATTN_COPY_ROW)
    return grid->rows == 1 && copy - ATTN_COPY_ROW < of->rows && grid->cols == of->cols;
  int turned = copy == ATTN_COPY_TRANSPOSED;
  return grid->rows == (turned ? of->cols : of->rows) &&
         grid->cols == (turned ? of->rows : of->cols);
}

const struct attn_node *attn_node_copy(struct attn_relations *r, const struct attn_grid *grid,
                                       const struct attn_node *of, int copy) {
  const struct attn_grid *g = of->grid;
  if (!attn_is_copy_of(grid, g, copy)) return NULL;
  struct attn_memo_entry *e = entry_of(r, grid, COPIED, of->id, copy, 0);
  if (!e || e->value) return e ? e->value : NULL;
  struct attn_node *node = new_node(r, grid);
  if (!node) return NULL;
  node->expected = expected_copy(r, grid, g, copy);
  if (!node->expected.lo.at) {
    r->failed = 1;
    return NULL;
  }
  compare(node);
  return e->value = node;
}

/* The chain's value as the grid has it: the whole, or one row. 0: another size. */
static int cut_out(const struct attn_interval_matrix *from, int row, const struct attn_grid *grid,
                   struct attn_interval_matrix *out) {
  *out = *from;
  if (row >= from->lo.rows) return 0;
  if (row >= 0) {
    out->lo.rows = out->hi.rows = 1;
    out->lo.at += (size_t)row * (size_t)from->lo.cols;
    out->hi.at += (size_t)row * (size_t)from->lo.cols;
  }
  return out->lo.rows == grid->rows && out->lo.cols == grid->cols;
}

/* An author who makes a slip may continue from the numbers that should have been there. */
static void add_right(struct attn_relations *r, struct attn_node *node) {
  const struct attn_relation *relation = node->relation;
  struct attn_interval_matrix right = node->expected;
  if (relation->cause != ATTN_CAUSE_NONE) {
    const struct attn_relation *standard = relation->standard;
    const struct attn_interval_matrix *whole =
        standard ? attn_chain_value(r, standard->chain) : NULL;
    if (!whole || !cut_out(whole, standard->row, node->grid, &right)) return;
  }
  struct attn_node *shadow = new_node(r, node->grid);
  if (!shadow) return;
  shadow->carried = right;
  shadow->slipped = 1;
  shadow->shadow_of = node;
  node->right = shadow;
}

const struct attn_node *attn_node_of(struct attn_relations *r, const struct attn_grid *grid,
                                     const struct attn_relation *relation) {
  struct attn_memo_entry *e =
      entry_of(r, grid, RELATED, relation->chain->id, relation->role, relation->row);
  struct attn_interval_matrix expected;
  if (!e || e->value) return e ? e->value : NULL;
  const struct attn_interval_matrix *whole = attn_chain_value(r, relation->chain);
  if (!whole || !cut_out(whole, relation->row, grid, &expected)) return NULL;
  if (!attn_relations_afford(r, 8 * (double)cells_of(grid))) return NULL;
  struct attn_node *node = new_node(r, grid);
  if (!node) return NULL;
  node->relation = relation;
  node->expected = expected;
  for (int n = 0; n < relation->operands; n++) node->slipped |= relation->operand[n]->slipped;
  compare(node);
  node->slipped |= relation->cause != ATTN_CAUSE_NONE;
  return e->value = node;
}

int attn_node_follow(struct attn_relations *r, const struct attn_node *of) {
  struct attn_node *node = (struct attn_node *)of; /* of a pool of ours */
  if (node->carried.lo.at) return 1;
  if (!take_carried(r, node)) return 0;
  for (size_t n = 0; n < cells_of(node->grid); n++) carry(node, n);
  if (node->relation->cause || node->share < 1 || node->grid->coarse) add_right(r, node);
  return 1;
}

/* ---- heads that were projected together ---- */

static void copy_columns(double *to, const double *from, int rows, int cols, int first, int count) {
  for (int i = 0; i < rows; i++)
    memcpy(to + (size_t)i * (size_t)count, from + (size_t)i * (size_t)cols + first,
           (size_t)count * sizeof *to);
}

static const struct attn_grid *grid_columns(struct attn_relations *r, const struct attn_grid *of,
                                            int first, int count) {
  size_t cells = (size_t)of->rows * (size_t)count;
  struct attn_grid *g = attn_pool_take(r->pool, sizeof *g);
  double *at = attn_pool_take(r->pool, 3 * cells * sizeof *at);
  unsigned char *blank = attn_pool_take(r->pool, cells);
  if (!g || !at || !blank) return NULL;
  *g = *of;
  g->cols = count, g->all_bits = 0, g->open = 0;
  g->value = at, g->half = at + cells, g->bits = at + 2 * cells, g->blank = blank;
  copy_columns(g->value, of->value, of->rows, of->cols, first, count);
  copy_columns(g->half, of->half, of->rows, of->cols, first, count);
  copy_columns(g->bits, of->bits, of->rows, of->cols, first, count);
  for (size_t n = 0; n < cells; n++) {
    blank[n] = of->blank[n / (size_t)count * (size_t)of->cols + (size_t)first + n % (size_t)count];
    g->all_bits += g->bits[n], g->open += blank[n] == 2;
  }
  return g;
}

static struct attn_node *node_columns(struct attn_relations *r, const struct attn_grid *g,
                                      const struct attn_node *of, int first) {
  struct attn_node *node = new_node(r, g);
  if (!node || !take_carried(r, node)) return NULL;
  const attn_matrix *lo = &of->carried.lo, *hi = &of->carried.hi;
  copy_columns(node->carried.lo.at, lo->at, lo->rows, lo->cols, first, g->cols);
  copy_columns(node->carried.hi.at, hi->at, hi->rows, hi->cols, first, g->cols);
  if (of->expected.lo.at) node->expected = node->carried;
  node->relation = of->relation, node->share = of->share, node->slipped = of->slipped;
  node->columns_of = of, node->first_column = first;
  return node;
}

const struct attn_node *attn_node_columns(struct attn_relations *r, const struct attn_node *of,
                                          int first, int count) {
  struct attn_memo_entry *e = entry_of(r, of->grid, COLUMNS, of->id, first, count);
  if (!e || e->value) return e ? e->value : NULL;
  const struct attn_grid *g = grid_columns(r, of->grid, first, count);
  struct attn_node *node = g ? node_columns(r, g, of, first) : NULL;
  if (!node) return r->failed = 1, NULL;
  if (of->right) {
    struct attn_node *right = node_columns(r, g, of->right, first);
    if (!right) return NULL;
    right->shadow_of = node;
    node->right = right;
  }
  return e->value = node;
}
