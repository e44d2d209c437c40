/* grid.c -- a printed matrix as the numbers that a search needs. */
#include <math.h>

#include "cell.h"
#include "relations.h"

static const double BITS_MAX = 16, NOTHING = 1e-15;

static const attn_cell *cell_at(const attn_printing *p, int transposed, int row, int col) {
  return &p->cells[transposed ? (size_t)col * (size_t)p->cols + (size_t)row
                              : (size_t)row * (size_t)p->cols + (size_t)col];
}

static int is_literal(const attn_cell *c) {
  return c->kind == ATTN_CELL_NUMBER && isfinite(c->value);
}

/* A block whose trailing zeros were stripped has one last place. */
static int decimals_of(const attn_printing *p) {
  int most = 0;
  for (size_t n = 0; n < (size_t)p->rows * (size_t)p->cols; n++)
    if (is_literal(&p->cells[n]) && p->cells[n].decimals > most) most = p->cells[n].decimals;
  return most;
}

static int is_multiple(double value, double unit) {
  return fabs(value / unit - rint(value / unit)) < 1e-9;
}

/* The decimals that are left of the block's where zeros end all its numbers, of which several are
 * fractions, or all are 0 and 1: they were rounded further than they are printed. */
static int decimals_before_zeros(const attn_printing *p, int decimals) {
  enum { FEW = 2 };
  int count = p->rows * p->cols, fractions = 0, others = 0, shared = 1;
  for (int n = 0; n < count; n++) {
    const attn_cell *c = &p->cells[n];
    if (!is_literal(c)) continue;
    if (c->decimals != decimals) return decimals;
    fractions += !is_multiple(c->value, 1);
    others += c->value != 0 && c->value != 1;
    while (shared < decimals && !is_multiple(c->value, pow(10, -shared))) shared++;
  }
  int rounded = decimals - shared >= 2 && (fractions >= FEW || !others);
  return rounded ? shared : decimals;
}

static double half_unit(int decimals) { return .5 * pow(10, -decimals); }

/* Half of the numbers that print as this cell. decimals: of the block. */
static double half_of(const attn_cell *c, int decimals) {
  double half = (c->hi - c->lo) / 2;
  if (c->kind == ATTN_CELL_NUMBER) return half_unit(decimals);
  return c->kind != ATTN_CELL_EXACT && isfinite(half) ? half : 0;
}

static void set_cell(struct attn_grid *g, size_t n, const attn_cell *c) {
  int none = c->kind == ATTN_CELL_BLANK || isnan(c->value);
  int open = c->kind == ATTN_CELL_BLANK && c->decimals == ATTN_CELL_OPEN;
  g->blank[n] = (unsigned char)(none + open);
  g->open += open;
  g->value[n] = none ? -(double)INFINITY : c->value;
  if (isfinite(g->value[n])) g->half[n] = half_of(c, g->decimals);
}

/* Scores far below all others, by which a mask hides, are minus infinity. */
static void hide_far(struct attn_grid *g) {
  size_t count = (size_t)g->rows * (size_t)g->cols;
  double largest = 0;
  for (size_t n = 0; n < count; n++)
    if (g->value[n] >= ATTN_HIDDEN) largest = fmax(largest, fabs(g->value[n]));
  double hidden = attn_hidden_below(largest);
  for (size_t n = 0; n < count; n++)
    if (g->value[n] < hidden) g->value[n] = -(double)INFINITY;
}

/* The bits of one number out of the block's range. */
static void set_bits(struct attn_grid *g) {
  size_t count = (size_t)g->rows * (size_t)g->cols;
  double largest = .5;
  int negative = 0;
  for (size_t n = 0; n < count; n++) {
    if (!isfinite(g->value[n])) continue;
    largest = fmax(largest, fabs(g->value[n]));
    negative |= g->value[n] < 0;
  }
  double range = negative ? 2 * largest : largest;
  for (size_t n = 0; n < count; n++) {
    g->bits[n] =
        isfinite(g->value[n]) ? fmin(BITS_MAX, log2(1 + range / (2 * g->half[n] + NOTHING))) : 1;
    g->all_bits += g->bits[n];
  }
}

static int take_arrays(struct attn_relations *r, struct attn_grid *g) {
  size_t count = (size_t)g->rows * (size_t)g->cols;
  double *at = attn_pool_take(r->pool, 3 * count * sizeof *at);
  g->blank = attn_pool_take(r->pool, count);
  if (!at || !g->blank) return 0;
  g->value = at, g->half = at + count, g->bits = at + 2 * count;
  return 1;
}

static struct attn_grid *make_grid(struct attn_relations *r, const attn_printing *p, int block,
                                   int reading, int transposed) {
  struct attn_grid *g = attn_pool_take(r->pool, sizeof *g);
  if (!g) return NULL;
  g->block = block, g->reading = reading, g->transposed = transposed;
  g->rows = transposed ? p->cols : p->rows;
  g->cols = transposed ? p->rows : p->cols;
  int decimals = decimals_of(p);
  g->decimals = decimals_before_zeros(p, decimals);
  g->coarse = g->decimals < decimals;
  if (!take_arrays(r, g)) return NULL;
  size_t n = 0;
  for (int i = 0; i < g->rows; i++)
    for (int j = 0; j < g->cols; j++) set_cell(g, n++, cell_at(p, transposed, i, j));
  hide_far(g);
  set_bits(g);
  return g;
}

const struct attn_grid *attn_grid_of(struct attn_relations *r, const struct attn_scan *scan,
                                     int block, int reading, int transposed) {
  const int key[] = {block, reading, transposed};
  struct attn_memo_entry *e = attn_memo_at(r->pool, &r->grid, key, sizeof key);
  if (e && !e->value)
    e->value = make_grid(r, &scan->block[block].reading[reading], block, reading, transposed);
  if (!e || !e->value) r->failed = 1;
  return e ? e->value : NULL;
}

int attn_grid_is_symmetric(const struct attn_grid *g) {
  for (int i = 0; i < g->rows; i++)
    for (int j = 0; j < i && g->rows == g->cols; j++)
      if (g->value[i * g->cols + j] != g->value[j * g->cols + i]) return 0;
  return g->rows == g->cols;
}

int attn_grid_same_values(const struct attn_grid *a, const struct attn_grid *b) {
  int n = 0, cells = a->rows * a->cols;
  if (a->rows != b->rows || a->cols != b->cols) return 0;
  while (n < cells && a->value[n] == b->value[n]) n++;
  return n == cells;
}

int attn_grid_has_rows_of_one(const struct attn_grid *g) {
  for (int i = 0; i < g->rows; i++) {
    double sum = 0, half = 0;
    for (int j = 0; j < g->cols; j++)
      sum += g->value[i * g->cols + j], half += g->half[i * g->cols + j];
    if (!(fabs(sum - 1) <= half + 1e-9)) return 0;
  }
  return g->cols > 1;
}
