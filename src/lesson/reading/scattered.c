/* scattered.c -- results that are printed one by one, in no block: in the order of a step that no
 * block shows, they are its numbers. */
#include <math.h>
#include <string.h>

#include "blocks.h"
#include "cell.h"
#include "reading.h"
#include "steps.h"

enum {
  RESULTS_MAX = 400,
  CELLS_MAX = 64,
  LINES_EACH = 3 /* a number is so many lines below the one before at most */
};

struct results {
  int count;
  const struct attn_stray *at[RESULTS_MAX];
  unsigned char used[RESULTS_MAX];
};

static void find_results(const struct attn_scan *scan, struct results *r) {
  for (int n = 0; n < scan->strays && r->count < RESULTS_MAX; n++) {
    const struct attn_stray *s = &scan->stray[n];
    int may_be = s->is_result || s->cell.decimals > 0;
    if (may_be && !s->is_size && !s->is_idle && s->cell.kind == ATTN_CELL_NUMBER)
      r->at[r->count++] = s;
  }
}

/* Within what numbers that were rounded on the way may move it. */
static int fits(const attn_cell *cell, double exact) {
  double half = cell->decimals > 1 ? 3 * attn_cell_half(cell) : attn_cell_half(cell);
  if (cell->decimals == 0) half = 0;
  return fabs(cell->value - exact) <= half + 1e-9 * (1 + fabs(exact));
}

/* The index of the n-th number, row by row or column by column. */
static int index_of(const attn_matrix *m, int n, int by_columns) {
  return by_columns ? n % m->rows * m->cols + n / m->rows : n;
}

/* How many of the results from `from` on are the numbers of a matrix; 0: they are apart. */
static int count_fits(const struct results *r, int from, const attn_matrix *m, int by_columns) {
  int cells = m->rows * m->cols, fit = 0;
  for (int n = 0; n < cells; n++) {
    const attn_cell *c = &r->at[from + n]->cell;
    if (r->used[from + n]) return 0;
    if (n > 0 && c->line > r->at[from + n - 1]->cell.line + LINES_EACH) return 0;
    fit += fits(c, m->at[index_of(m, n, by_columns)]);
  }
  return fit;
}

/* Are all of them called alike, as q1·k1 and q1·k2 are? */
static int are_called_alike(const struct results *r, int from, int cells) {
  for (int n = 1; n < cells; n++)
    if (!attn_same_letters(r->at[from]->name, r->at[from + n]->name)) return 0;
  return *r->at[from]->name != 0;
}

/* One number of three or more may be wrong, if they are called alike. Returns the first result, or
 * -1. */
static int find_matrix(const struct results *r, const attn_matrix *m, int by_columns) {
  int cells = m->rows * m->cols, almost = -1;
  for (int from = 0; from + cells <= r->count; from++) {
    int fit = count_fits(r, from, m, by_columns);
    if (fit == cells) return from;
    if (almost < 0 && cells > 2 && fit == cells - 1 && are_called_alike(r, from, cells))
      almost = from;
  }
  return almost;
}

static attn_status attach(struct attn_maker *m, struct results *r, int from, attn_step *s,
                          int by_columns) {
  int cells = s->exact.rows * s->exact.cols;
  attn_printing p = {.rows = s->exact.rows, .cols = s->exact.cols};
  p.line = r->at[from]->cell.line, p.column = r->at[from]->cell.column;
  p.cells = attn_pool_take(m->pool, (size_t)cells * sizeof *p.cells);
  if (!p.cells) return attn_no_memory(m);
  for (int n = 0; n < cells; n++) {
    p.cells[index_of(&s->exact, n, by_columns)] = r->at[from + n]->cell;
    r->used[from + n] = 1;
  }
  return attn_add_printing(m, s, &p);
}

static attn_status attach_step(struct attn_maker *m, struct results *r, attn_step *s) {
  int cells = s->exact.rows * s->exact.cols;
  if (s->op == ATTN_OP_GIVEN || s->printings || cells < 2 || cells > CELLS_MAX) return ATTN_OK;
  for (int by_columns = 0; by_columns < 2; by_columns++) {
    int from = find_matrix(r, &s->exact, by_columns);
    if (from >= 0) return attach(m, r, from, s, by_columns);
    if (s->exact.rows == 1 || s->exact.cols == 1) break;
  }
  return ATTN_OK;
}

attn_status attn_attach_scattered(const struct attn_scan *scan, attn_lesson *lesson,
                                  struct attn_pool *pool, attn_error *err) {
  struct attn_maker m = {.pool = pool, .err = err};
  struct results r = {.count = 0};
  attn_status status = ATTN_OK;
  find_results(scan, &r);
  for (int i = 0; i < lesson->examples; i++) {
    attn_example *e = &lesson->example[i];
    for (int n = 0; n < e->steps && !e->from_python && r.count > 1 && !status; n++)
      status = attach_step(&m, &r, &e->step[n]);
  }
  return status;
}
