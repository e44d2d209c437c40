/* workings.c -- numbers that are worked out on the way to a step, or a row of it once more: further
 * printings of its cells. */
#include <math.h>
#include <stdlib.h>

#include "cell.h"
#include "judge.h"
#include "reading.h"
#include "steps.h"

/* Where a printed number is shown: a cell of a step. */
struct shown {
  uint64_t place; /* first: attn_compare_places */
  int example, step, row, col;
};

/* Cells next to each other in a row of a step. */
struct cells {
  int example, step, row, col;
};

struct workings {
  struct attn_scan *scan;
  attn_lesson *lesson;
  struct attn_maker maker;
  struct attn_judged **judged; /* of each example */
  struct shown *shown;         /* in the order of places */
  size_t count;
  int64_t work;
};

enum { WORK_MAX = 2000000, ROWS_MAX = 64 }; /* rows: of a step whose order is looked at */

static attn_status add_shown(struct workings *w, int example, int step, const attn_printing *p) {
  for (int n = 0; n < p->rows * p->cols; n++) {
    if (attn_pool_grow(w->scan->pool, (void **)&w->shown, w->count, sizeof *w->shown))
      return attn_no_memory(&w->maker);
    w->shown[w->count++] = (struct shown){attn_cell_place(&p->cells[n]), example, step,
                                          p->row0 + n / p->cols, p->col0 + n % p->cols};
  }
  return ATTN_OK;
}

static attn_status collect_shown(struct workings *w) {
  attn_status status = ATTN_OK;
  for (int e = 0; e < w->lesson->examples; e++)
    for (int s = 0; s < w->lesson->example[e].steps; s++) {
      const attn_step *step = &w->lesson->example[e].step[s];
      for (int p = 0; p < step->printings && !status; p++)
        status = add_shown(w, e, s, &step->printing[p]);
    }
  if (w->count > 1) qsort(w->shown, w->count, sizeof *w->shown, attn_compare_places);
  return status;
}

/* NULL: no step shows it. */
static const struct shown *find_shown(const struct workings *w, const attn_cell *cell) {
  uint64_t place = attn_cell_place(cell);
  return w->count ? bsearch(&place, w->shown, w->count, sizeof *w->shown, attn_compare_places)
                  : NULL;
}

static attn_status judge_examples(struct workings *w) {
  attn_status status = ATTN_OK;
  w->judged = attn_pool_take(w->scan->pool, (size_t)w->lesson->examples * sizeof *w->judged);
  if (!w->judged) return attn_no_memory(&w->maker);
  for (int e = 0; e < w->lesson->examples && !status; e++)
    if (!w->lesson->example[e].from_python)
      status =
          attn_judge_example(&w->lesson->example[e], w->scan->pool, &w->judged[e], w->maker.err);
  return status;
}

/* ---- do numbers fit? ---- */

/* An integer is exact. */
static int is_in(const attn_cell *cell, double value) {
  double more = 1e-9 * (1 + fabs(value));
  if (cell->kind == ATTN_CELL_NUMBER && cell->decimals == 0)
    return fabs(value - cell->value) <= more;
  return value >= cell->lo - more && value <= cell->hi + more;
}

/* Is the number that of a cell: the right one, one that follows from the author's, or what is
 * printed there already? */
static int fits_cell(const struct workings *w, const struct cells *c, int at, const attn_cell *cell,
                     int again) {
  const struct attn_judged *j = &w->judged[c->example][c->step];
  int n = c->row * j->followed.cols + c->col + at;
  if (cell->kind == ATTN_CELL_BLANK) return 1;
  if (is_in(cell, w->lesson->example[c->example].step[c->step].exact.at[n])) return 1;
  return is_in(cell, j->followed.at[n]) ||
         ((again || !j->printed[n]) && is_in(cell, j->carried.at[n]));
}

/* Has the row so many cells from there on? */
static int has_cells(const struct workings *w, const struct cells *c, int count) {
  return c->col + count <= w->judged[c->example][c->step].followed.cols;
}

static int fits(const struct workings *w, const struct cells *c, const attn_printing *side,
                int again) {
  int blank = 0;
  if (!has_cells(w, c, side->cols)) return 0;
  for (int n = 0; n < side->cols; n++) {
    if (!fits_cell(w, c, n, &side->cells[n], again)) return 0;
    blank += side->cells[n].kind == ATTN_CELL_BLANK;
  }
  return blank < side->cols;
}

static int any_fits(const struct workings *w, const struct cells *c,
                    const struct attn_worked *piece) {
  for (int n = 0; n < piece->sides; n++)
    if (piece->side[n].cols == piece->side->cols && fits(w, c, &piece->side[n], 1)) return 1;
  return 0;
}

/* ---- which cells? ---- */

/* The last example that begins before a line. -1: there is none, or it is a program. */
static int example_at(struct workings *w, int line) {
  int found = -1;
  for (int e = 0; e < w->lesson->examples && w->work < WORK_MAX; e++, w->work++)
    if (w->lesson->example[e].line <= line) found = e;
  return found >= 0 && !w->lesson->example[found].from_python ? found : -1;
}

/* Small integers are like each other by chance; what is worked out, or called row 1, is not. */
static int is_telling(const struct attn_worked *piece) {
  int telling = piece->row > 0;
  for (int side = 0; side < piece->sides; side++)
    for (int n = 0; n < piece->side[side].cols; n++) {
      const attn_cell *cell = &piece->side[side].cells[n];
      telling |=
          cell->decimals > 0 || (cell->kind != ATTN_CELL_NUMBER && cell->kind != ATTN_CELL_BLANK);
    }
  return telling;
}

/* Has the row another printing of its own yet? */
static int is_taken(const attn_step *s, const struct cells *c) {
  for (int p = 0; p < s->printings; p++) {
    const attn_printing *g = &s->printing[p];
    if (g->rows == 1 && g->row0 == c->row && s->exact.rows > 1) return 1;
  }
  return 0;
}

/* How near a step is to a piece: called so there; the last one above it; printed at all. */
static double nearness(const attn_step *s, const struct attn_worked *piece) {
  double near = *piece->name && attn_step_find(piece->name) == s->name ? 2 : 0;
  if (!s->printings) return near;
  int line = s->printing[0].line, above = piece->first.line - line;
  return near + (above >= 0 ? 1 + 1.0 / (1 + above) : .5);
}

/* "[0.5, …]" has any. */
static int has_length(const attn_printing *side, int length) {
  int is_open = side->cells[side->cols - 1].kind == ATTN_CELL_BLANK;
  return is_open ? side->cols <= length : side->cols == length;
}

/* The row of a computed step that a vector may be, the nearest one. 0: none. */
static int find_row(struct workings *w, const struct attn_worked *piece, struct cells *out) {
  int example = example_at(w, piece->first.line);
  double best = -1;
  if (example < 0 || piece->side->cols < 2 || !is_telling(piece)) return 0;
  const attn_example *ex = &w->lesson->example[example];
  for (int s = 0; s < ex->steps && w->work < WORK_MAX; s++) {
    const attn_matrix *m = &ex->step[s].exact;
    if (ex->step[s].op == ATTN_OP_GIVEN || !has_length(piece->side, m->cols)) continue;
    int first = piece->row ? piece->row - 1 : 0, end = piece->row ? piece->row : m->rows;
    for (int row = first; row < end && row < m->rows; row++) {
      struct cells c = {example, s, row, 0};
      w->work += piece->side->cols * (int64_t)piece->sides;
      if (!any_fits(w, &c, piece)) continue;
      double near = nearness(&ex->step[s], piece) + (is_taken(&ex->step[s], &c) ? 0 : .01);
      if (near > best) best = near, *out = c;
    }
  }
  return best >= 0;
}

/* The cells that show one of the sides. 0: none does. */
static int find_result(const struct workings *w, const struct attn_worked *piece,
                       struct cells *out) {
  for (int n = piece->sides - 1; n >= 0; n--) {
    const attn_printing *side = &piece->side[n];
    const struct shown *s = find_shown(w, &side->cells[0]);
    if (!s || side->cells[0].kind != ATTN_CELL_NUMBER) continue;
    const attn_example *ex = &w->lesson->example[s->example];
    const struct shown *last = find_shown(w, &side->cells[side->cols - 1]);
    if (ex->from_python || ex->step[s->step].op == ATTN_OP_GIVEN || !last) continue;
    if (last->step != s->step || last->example != s->example) continue;
    if (last->row != s->row || last->col != s->col + side->cols - 1) continue;
    *out = (struct cells){s->example, s->step, s->row, s->col};
    return 1;
  }
  return 0;
}

/* ---- further printings ---- */

static attn_status add_side(struct workings *w, const struct cells *c, const attn_printing *side) {
  attn_step *step = &w->lesson->example[c->example].step[c->step];
  attn_printing p = *side;
  p.row0 = c->row, p.col0 = c->col;
  return attn_add_printing(&w->maker, step, &p);
}

/* Is it printed as a number, which is judged? What is worked out only explains it. */
static int is_literal(const attn_printing *side) {
  for (int n = 0; n < side->cols; n++)
    if (side->cells[n].kind != ATTN_CELL_NUMBER) return 0;
  return 1;
}

/* Does the judge find nothing wrong with the cells? */
static int are_right(const struct workings *w, const struct cells *c, int count) {
  const struct attn_judged *j = &w->judged[c->example][c->step];
  const int *verdict = &j->verdict[c->row * j->followed.cols + c->col];
  int n = 0;
  while (n < count && verdict[n] == ATTN_JUDGED_OK) n++;
  return n == count;
}

/* All sides are printings of the cells that show or fit one of them, so that one that does not fit
 * is judged. */
static attn_status attach(struct workings *w, struct attn_worked *piece) {
  struct cells c;
  attn_status status = ATTN_OK;
  if (!piece->sides || (!find_result(w, piece, &c) && !find_row(w, piece, &c))) return ATTN_OK;
  for (int n = 0; n < piece->sides && !status; n++) {
    const attn_printing *side = &piece->side[n];
    const struct shown *s = find_shown(w, &side->cells[0]);
    if (!has_cells(w, &c, side->cols)) continue; /* it is no part of the row */
    int is_result = s && s->example == c.example && s->step == c.step &&
                    side->cells[0].kind == ATTN_CELL_NUMBER;
    int is_judged = is_literal(side);
    int is_right = fits(w, &c, side, 1);
    int is_wrong =
        is_judged && !fits(w, &c, side, 0) && !(is_result && are_right(w, &c, side->cols));
    piece->is_read |= piece->differs ? is_wrong : is_right || is_judged;
    if (side->cols != piece->side[piece->sides - 1].cols || is_result) continue;
    if (is_right || is_judged || piece->differs) status = add_side(w, &c, side);
  }
  return status;
}

/* The row that is shown last above a line; -1: all rows. 0: nothing is. */
static int row_above(struct workings *w, const attn_example *e, int line, int *head, int *row) {
  int last = 0;
  for (int s = 0; s < e->steps; w->work += e->step[s++].printings)
    for (int p = 0; p < e->step[s].printings && e->step[s].op != ATTN_OP_GIVEN; p++) {
      const attn_printing *g = &e->step[s].printing[p];
      if (g->cells[0].line > line || g->cells[0].line < last) continue;
      last = g->cells[0].line, *head = e->step[s].head;
      *row = g->rows == 1 && e->step[s].exact.rows > 1 ? g->row0 : -1;
    }
  return last > 0;
}

static int shows_row(const attn_step *s, int row) {
  for (int p = 0; p < s->printings; p++)
    if (s->printing[p].row0 <= row && row < s->printing[p].row0 + s->printing[p].rows) return 1;
  return 0;
}

/* "output: 0.1, 0.9" is not the row of weights that it equals. */
static int is_called_other(const struct workings *w, const struct cells *c,
                           const struct attn_block *b) {
  const char *name = *b->name || !b->captions ? b->name : b->caption[b->captions - 1];
  int formula = attn_role_of_formula(w->scan, name);
  int step = formula != ATTN_ROLE_OTHER ? attn_step_of_role(formula) : attn_step_called(name);
  return step > ATTN_STEP_V && step <= ATTN_STEP_PROJECTED &&
         step != w->lesson->example[c->example].step[c->step].name;
}

/* "Weights of cat: 0.1, 0.9" is not the row of scores that it equals. */
static int is_labelled_other(const struct workings *w, const struct cells *c,
                             const struct attn_block *b, int row) {
  struct attn_priors named;
  if (row >= b->labels || !b->label[row] || b->reading[0].rows < 2) return 0;
  attn_name_priors(w->scan, b, b->label[row], &named);
  int is_result = 0;
  for (int role = ATTN_ROLE_SCORES; role < ATTN_ROLES; role++) {
    if (named.bits[role] <= 0) continue;
    if (attn_step_of_role(role) == w->lesson->example[c->example].step[c->step].name) return 0;
    is_result |= named.bits[role] == named.best;
  }
  return is_result;
}

/* A row of another query or head than what is above it, of which this step is not printed. */
static int is_of_other(struct workings *w, const struct cells *c, int line) {
  const attn_example *e = &w->lesson->example[c->example];
  const attn_step *s = &e->step[c->step];
  int head = -1, row = -1;
  if (w->work >= WORK_MAX) return 1;
  if (!row_above(w, e, line, &head, &row)) return 0;
  if (row >= 0 && s->head == head && s->exact.rows > 1) return row != c->row && !shows_row(s, row);
  for (int n = 0; n < e->steps && head >= 0 && s->head >= 0 && s->head != head; n++)
    if (e->step[n].name == s->name && e->step[n].head == head) return !e->step[n].printings;
  return 0;
}

/* Rows of a step that no step shows, in their order. */
static attn_status attach_block(struct workings *w, const struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  attn_status status = ATTN_OK;
  struct cells last = {.step = -1};
  if (find_shown(w, &p->cells[0]) || attn_is_aside(w->scan, b)) return ATTN_OK;
  for (int n = 0; n < p->rows && !status; n++) {
    attn_printing side = {.rows = 1, .cols = p->cols, .cells = p->cells + n * p->cols};
    struct attn_worked row = {
        .name = b->name, .first = side.cells[0], .row = b->stated_row, .sides = 1, .side = &side};
    struct cells c;
    side.line = row.first.line, side.column = row.first.column;
    if (!find_row(w, &row, &c) || (c.step == last.step && c.row <= last.row)) continue;
    if (p->rows == 1 && is_of_other(w, &c, side.line)) continue;
    if (p->rows == 1 && attn_is_called_other_row(w->scan, (int)(b - w->scan->block), c.row))
      continue;
    if (is_called_other(w, &c, b) || is_labelled_other(w, &c, b, n)) continue;
    last = c;
    status = add_side(w, &c, &side);
  }
  return status;
}

/* Rows that are shown one by one: where one is there twice, in the place of another that is
 * missing, its numbers are those of a wrong row. */
static void order_rows(attn_step *s) {
  int out_of_place = -1;
  if (s->exact.rows < 3 || s->printings != s->exact.rows) return;
  for (int n = 0; n < s->printings; n++) {
    const attn_printing *p = &s->printing[n];
    if (p->rows != 1 || p->cols != s->exact.cols) return;
    if (p->row0 == n) continue;
    if (out_of_place >= 0) return;
    out_of_place = n;
  }
  if (out_of_place >= 0) s->printing[out_of_place].row0 = out_of_place;
}

/* The rows of a step that are shown one by one, in the order of the page. */
struct shown_rows {
  const attn_printing *row[ROWS_MAX];
  int count;
};

/* 0: there are more than `most`. */
static int add_row(struct shown_rows *r, const attn_printing *p, int most) {
  if (r->count == most) return 0;
  int at = r->count++;
  for (; at > 0 && attn_cell_place(r->row[at - 1]->cells) > attn_cell_place(p->cells); at--)
    r->row[at] = r->row[at - 1];
  r->row[at] = p;
  return 1;
}

/* Is a row called by its number? Then it may be in any place. */
static int is_numbered(const struct workings *w, const attn_printing *p) {
  static const char ORDINAL[] =
      "(?i)\\b(?:first|second|third|fourth|last)\\b|最初|最後|[一二三]つ目|番目";
  int n = attn_block_of(w->scan, p), other = p->row0 == 0; /* a row that it is not */
  return n >= 0 && (attn_is_called_other_row(w->scan, n, other) ||
                    attn_occurs(w->scan->patterns, ORDINAL, w->scan->block[n].name));
}

/* Are the numbers of two rows of a step others? */
static int differ(const attn_printing *a, const attn_printing *b) {
  int n = 0;
  while (n < a->cols && a->cells[n].value == b->cells[n].value) n++;
  return n < a->cols;
}

/* Next to each other, in another order than that of the queries, and not numbered? */
static int are_out_of_order(const struct workings *w, const struct shown_rows *r) {
  int descends = 0;
  for (int n = 1; n < r->count; n++) {
    if (r->row[n]->cells[0].line > r->row[n - 1]->cells[0].line + 1) return 0;
    descends |= r->row[n]->row0 < r->row[n - 1]->row0 && differ(r->row[n], r->row[n - 1]);
  }
  for (int n = 0; n < r->count && descends; n++)
    if (is_numbered(w, r->row[n])) return 0;
  return descends;
}

static int has_rows_exchanged(const struct workings *w, const attn_example *e,
                              const attn_step *of) {
  struct shown_rows r = {.count = 0};
  int most = of->exact.rows;
  if (most < 2 || most > ROWS_MAX || of->op == ATTN_OP_GIVEN) return 0;
  for (const attn_step *s = e->step; s < e->step + e->steps; s++)
    for (int n = 0; n < s->printings && s->name == of->name && s->head == of->head; n++) {
      const attn_printing *p = &s->printing[n];
      int is_row = p->rows == 1 && p->cols == of->exact.cols && p->cols > 1;
      if (is_row && !add_row(&r, p, most)) return 0;
    }
  return r.count == most && are_out_of_order(w, &r);
}

attn_status attn_attach_workings(struct attn_scan *scan, attn_lesson *lesson,
                                 struct attn_pool *pool, attn_error *err) {
  struct workings w = {.scan = scan, .lesson = lesson, .maker = {.pool = pool, .err = err}};
  if (!lesson->examples) return ATTN_OK;
  attn_status status = collect_shown(&w);
  if (!status) status = judge_examples(&w);
  for (int n = 0; n < scan->workeds && !status; n++) status = attach(&w, &scan->worked[n]);
  for (int n = 0; n < scan->blocks && !status; n++) status = attach_block(&w, &scan->block[n]);
  for (int n = 0; n < lesson->examples; n++) {
    attn_example *e = (attn_example *)&lesson->example[n];
    for (int s = 0; s < e->steps; s++) {
      order_rows(&e->step[s]);
      e->uncertain |= has_rows_exchanged(&w, e, &e->step[s]);
    }
  }
  return status;
}
