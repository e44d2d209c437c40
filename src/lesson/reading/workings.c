/* workings.c -- numbers that are worked out on the way to a step, or a row of it once more: further
 * printings of its cells. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "error.h"
#include "judge.h"
#include "reading.h"
#include "steps.h"

/* Where a printed number is shown: a cell of a step. */
struct shown {
  uint64_t place; /* line and column */
  int example, step, row, col;
};

/* Cells next to each other of a step: of a row, or of a column. */
struct cells {
  int example, step, row, col, by_columns;
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

enum { WORK_MAX = 2000000 };

/* ---- which numbers the steps show ---- */

static int in_order(const void *a, const void *b) {
  const struct shown *x = a, *y = b;
  return (x->place > y->place) - (x->place < y->place);
}

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
  if (w->count > 1) qsort(w->shown, w->count, sizeof *w->shown, in_order);
  return status;
}

/* NULL: no step shows it. */
static const struct shown *find_shown(const struct workings *w, const attn_cell *cell) {
  const struct shown key = {.place = attn_cell_place(cell)};
  return w->count ? bsearch(&key, w->shown, w->count, sizeof key, in_order) : NULL;
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
  int row = c->row + (c->by_columns ? at : 0), col = c->col + (c->by_columns ? 0 : at);
  int n = row * j->followed.cols + col;
  if (cell->kind == ATTN_CELL_BLANK) return 1;
  if (is_in(cell, w->lesson->example[c->example].step[c->step].exact.at[n])) return 1;
  return is_in(cell, j->followed.at[n]) ||
         ((again || !j->printed[n]) && is_in(cell, j->carried.at[n]));
}

static int fits(const struct workings *w, const struct cells *c, const attn_printing *side,
                int again) {
  int blank = 0;
  for (int n = 0; n < side->cols; n++) {
    if (!fits_cell(w, c, n, &side->cells[n], again)) return 0;
    blank += side->cells[n].kind == ATTN_CELL_BLANK;
  }
  return blank < side->cols;
}

static int any_fits(const struct workings *w, const struct cells *c, const attn_printing *side,
                    int sides) {
  for (int n = 0; n < sides; n++)
    if (side[n].cols == side[0].cols && fits(w, c, &side[n], 1)) return 1;
  return 0;
}

/* ---- which cells? ---- */

/* The last example that begins before a line. -1: there is none, or it is a program. */
static int example_at(const struct workings *w, int line) {
  int found = -1;
  for (int e = 0; e < w->lesson->examples; e++)
    if (w->lesson->example[e].line <= line) found = e;
  return found >= 0 && !w->lesson->example[found].from_python ? found : -1;
}

/* Small integers are like each other by chance; what is worked out, or called row 1, is not. */
static int is_telling(const attn_printing *side, int sides, int row) {
  int telling = row > 0;
  for (int n = 0; n < sides * side->cols; n++) {
    const attn_cell *cell = &side[n / side->cols].cells[n % side->cols];
    telling |=
        cell->decimals > 0 || (cell->kind != ATTN_CELL_NUMBER && cell->kind != ATTN_CELL_BLANK);
  }
  return telling;
}

/* Has the line of cells another printing of its own yet? */
static int is_taken(const attn_step *s, const struct cells *c) {
  for (int p = 0; p < s->printings; p++) {
    const attn_printing *g = &s->printing[p];
    if (c->by_columns ? g->cols == 1 && g->col0 == c->col : g->rows == 1 && g->row0 == c->row)
      return s->exact.rows > 1 || s->exact.cols > 1;
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

/* The rows of a step that a vector may be, or its columns. */
static void find_lines(struct workings *w, const struct attn_worked *piece, struct cells c,
                       double *best, struct cells *out) {
  const attn_step *step = &w->lesson->example[c.example].step[c.step];
  int lines = c.by_columns ? step->exact.cols : step->exact.rows;
  if (!has_length(piece->side, c.by_columns ? step->exact.rows : step->exact.cols)) return;
  int first = piece->row ? piece->row - 1 : 0, end = piece->row ? piece->row : lines;
  for (int n = first; n < end && n < lines; n++) {
    *(c.by_columns ? &c.col : &c.row) = n;
    w->work += piece->side->cols * (int64_t)piece->sides;
    if (!any_fits(w, &c, piece->side, piece->sides)) continue;
    double near = nearness(step, piece) + (is_taken(step, &c) ? 0 : .01);
    if (near > *best) *best = near, *out = c;
  }
}

/* The row (or column, where queries are columns) of a computed step that a vector is. 0: none. */
static int find_line(struct workings *w, const struct attn_worked *piece, struct cells *out) {
  int example = example_at(w, piece->first.line);
  double best = -1;
  if (example < 0 || piece->side->cols < 2 || !is_telling(piece->side, piece->sides, piece->row))
    return 0;
  const attn_example *ex = &w->lesson->example[example];
  for (int s = 0; s < ex->steps && w->work < WORK_MAX; s++) {
    if (ex->step[s].op == ATTN_OP_GIVEN) continue;
    find_lines(w, piece, (struct cells){example, s, 0, 0, 0}, &best, out);
    if (ex->orientation == ATTN_QUERIES_IN_COLUMNS)
      find_lines(w, piece, (struct cells){example, s, 0, 0, 1}, &best, out);
  }
  return best >= 0;
}

/* "e_{12}" and "e_{1,2}": the indices; "a_2": the second alone. Returns how many. */
static int indices_of(const char *name, int index[2]) {
  const char *end = name + strlen(name), *at;
  while (end > name && !isdigit((unsigned char)end[-1]) && strchr("}]) =\t", end[-1])) end--;
  for (at = end; at > name && (isdigit((unsigned char)at[-1]) || strchr(", ", at[-1]));) at--;
  const char *comma = memchr(at, ',', (size_t)(end - at));
  if (at == end || at == name) return 0;
  if (comma) return index[0] = atoi(at), index[1] = atoi(comma + 1), 2;
  if (end - at == 2) return index[0] = at[0] - '0', index[1] = at[1] - '0', 2;
  return index[1] = atoi(at), 1;
}

/* The cell that a number is called: e_12. 0: none. */
static int find_cell(struct workings *w, const struct attn_worked *piece, struct cells *out) {
  int index[2] = {1, 1}, example = example_at(w, piece->first.line);
  int32_t name = piece->side->cols == 1 && *piece->name ? attn_step_find(piece->name) : -1;
  int indices = name >= 0 && example >= 0 ? indices_of(piece->name, index) : 0;
  if (!indices) return 0;
  const attn_example *ex = &w->lesson->example[example];
  for (int s = 0; s < ex->steps; s++) {
    const attn_step *step = &ex->step[s];
    *out = (struct cells){example, s, index[0] - 1, index[1] - 1, 0};
    if (step->name != name || step->op == ATTN_OP_GIVEN || out->row < 0 || out->col < 0) continue;
    if (out->row >= step->exact.rows || out->col >= step->exact.cols) continue;
    if (indices == 1 && step->exact.rows > 1) continue;
    if (any_fits(w, out, piece->side, piece->sides)) return 1;
  }
  return 0;
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
    int across = last->row == s->row && last->col == s->col + side->cols - 1;
    if (!across && (last->col != s->col || last->row != s->row + side->cols - 1)) continue;
    *out = (struct cells){s->example, s->step, s->row, s->col, !across};
    return 1;
  }
  return 0;
}

static int is_step(const attn_step *s, int name, int head) {
  return s->name == name && s->head == head;
}

/* Weights of which a row are the factors of the sum, and their output. 0: there are none. */
static int find_sum(struct workings *w, const struct attn_worked *piece, struct cells *out) {
  int example = example_at(w, piece->first.line);
  if (example < 0 || piece->factors < 2) return 0;
  const attn_example *ex = &w->lesson->example[example];
  for (int s = 0; s < ex->steps && ex->orientation == ATTN_QUERIES_IN_ROWS; s++) {
    const attn_printing factors = {.rows = 1, .cols = piece->factors, .cells = piece->factor};
    const attn_step *of = &ex->step[s];
    if (of->name != ATTN_STEP_WEIGHTS || of->exact.cols != piece->factors) continue;
    for (int t = s + 1; t < ex->steps; t++)
      for (int row = 0; is_step(&ex->step[t], ATTN_STEP_OUTPUT, of->head) && row < of->exact.rows;
           row++) {
        struct cells c = {example, s, row, 0, 0};
        *out = (struct cells){example, t, row, 0, 0};
        if (fits(w, &c, &factors, 1) && ex->step[t].exact.cols == piece->side->cols &&
            ex->step[t].exact.rows == of->exact.rows && !is_taken(&ex->step[t], out))
          return 1;
      }
  }
  return 0;
}

/* ---- further printings ---- */

static attn_status add_side(struct workings *w, const struct cells *c, const attn_printing *side) {
  attn_step *step = &w->lesson->example[c->example].step[c->step];
  attn_printing p = *side;
  p.row0 = c->row, p.col0 = c->col;
  if (c->by_columns) p.rows = side->cols, p.cols = 1;
  return attn_add_printing(&w->maker, step, &p);
}

/* Is it printed as a number, which is judged? What is worked out only explains it. */
static int is_literal(const attn_printing *side) {
  for (int n = 0; n < side->cols; n++)
    if (side->cells[n].kind != ATTN_CELL_NUMBER) return 0;
  return 1;
}

/* Does the judge find nothing wrong with so many cells? */
static int are_right(const struct workings *w, const struct cells *c, int count) {
  const struct attn_judged *j = &w->judged[c->example][c->step];
  int at = c->row * j->followed.cols + c->col, n = 0;
  while (n < count && j->verdict[at + n * (c->by_columns ? j->followed.cols : 1)] == ATTN_JUDGED_OK)
    n++;
  return n == count;
}

/* Where all sides agree, those that fit; else all, so that the one that does not is judged. */
static attn_status attach(struct workings *w, struct attn_worked *piece) {
  struct cells c;
  attn_status status = ATTN_OK;
  if (!piece->sides) return ATTN_OK;
  int all = find_result(w, piece, &c);
  if (!all && !find_line(w, piece, &c) && !find_cell(w, piece, &c) &&
      !(all = find_sum(w, piece, &c)))
    return ATTN_OK;
  all |= any_fits(w, &c, piece->side, piece->sides);
  for (int n = 0; n < piece->sides && !status; n++) {
    const attn_printing *side = &piece->side[n];
    const struct shown *s = find_shown(w, &side->cells[0]);
    int is_result = s && s->example == c.example && s->step == c.step &&
                    side->cells[0].kind == ATTN_CELL_NUMBER;
    int is_right = fits(w, &c, side, 1), is_judged = all && is_literal(side);
    int is_wrong =
        is_judged && !fits(w, &c, side, 0) && !(is_result && are_right(w, &c, side->cols));
    piece->is_read |= piece->differs ? is_wrong : is_right || is_judged;
    if (side->cols != piece->side[piece->sides - 1].cols || is_result) continue;
    if (!is_right && !is_judged && !(all && piece->differs)) continue;
    status = add_side(w, &c, side);
  }
  return status;
}

/* y_2: the second row; 0: it is not numbered. */
static int index_of(const struct attn_block *b, int row) {
  int index[2];
  const char *label = row < b->labels && b->label[row] ? b->label[row] : "";
  return indices_of(label, index) == 1 ? index[1] : 0;
}

static int count_fits(const struct workings *w, const struct cells *c, const attn_printing *side) {
  int count = 0;
  for (int n = 0; n < side->cols; n++) count += fits_cell(w, c, n, &side->cells[n], 1);
  return count;
}

/* "Row 2 of A", "scores for x_1": a row by its name, most of which fits. 0: it is none. */
static int find_called_row(const struct workings *w, const struct attn_worked *piece,
                           struct cells *out) {
  int index[2] = {0, 0}, example = example_at(w, piece->first.line);
  int32_t name = *piece->name ? attn_step_find(piece->name) : -1;
  int row = piece->row ? piece->row : indices_of(piece->name, index) == 1 ? index[1] : 0;
  if (example < 0 || name < 0 || row < 1) return 0;
  const attn_example *ex = &w->lesson->example[example];
  for (int s = 0; s < ex->steps && ex->orientation == ATTN_QUERIES_IN_ROWS; s++) {
    const attn_step *step = &ex->step[s];
    *out = (struct cells){example, s, row - ex->one_based, 0, 0};
    if (step->name != name || step->op == ATTN_OP_GIVEN || out->row >= step->exact.rows) continue;
    if (step->exact.cols == piece->side->cols && piece->side->cols > 1 &&
        2 * count_fits(w, out, piece->side) >= piece->side->cols)
      return 1;
  }
  return 0;
}

/* Rows of a step that no step shows. */
static attn_status attach_block(struct workings *w, const struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  attn_status status = ATTN_OK;
  if (find_shown(w, &p->cells[0]) || attn_is_aside(w->scan, b)) return ATTN_OK;
  for (int n = 0; n < p->rows && !status; n++) {
    attn_printing side = {.rows = 1, .cols = p->cols, .cells = p->cells + n * p->cols};
    struct attn_worked row = {
        .name = b->name, .first = side.cells[0], .row = b->stated_row, .sides = 1, .side = &side};
    struct cells c;
    side.line = row.first.line, side.column = row.first.column;
    if (!row.row) row.row = index_of(b, n);
    if (!find_line(w, &row, &c) && !find_called_row(w, &row, &c)) continue;
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

attn_status attn_attach_workings(struct attn_scan *scan, attn_lesson *lesson,
                                 struct attn_pool *pool, attn_error *err) {
  struct workings w = {.scan = scan, .lesson = lesson, .maker = {.pool = pool, .err = err}};
  if (!lesson->examples) return ATTN_OK;
  attn_status status = collect_shown(&w);
  if (!status) status = judge_examples(&w);
  for (int n = 0; n < scan->workeds && !status; n++) status = attach(&w, &scan->worked[n]);
  for (int n = 0; n < scan->blocks && !status; n++) status = attach_block(&w, &scan->block[n]);
  for (int e = 0; e < lesson->examples; e++)
    for (int s = 0; s < lesson->example[e].steps; s++) order_rows(&lesson->example[e].step[s]);
  return status;
}
