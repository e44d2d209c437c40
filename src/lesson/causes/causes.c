/* causes.c -- why a step is wrong, where no slip of the whole step explains it: the first wrong
 * number is explained, with its row. */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "eval.h"
#include "cause_search.h"

enum { WORK_MAX = 200000000 };

/* ---- What the search is made of ---------------------------------------------------------- */

/* Operand n, as printed or as exact. Where it depends on a wrong number: as printed. */
static const attn_matrix *operand_of(const struct cause_search *h, int32_t n) {
  int32_t index = h->step->operand[n];
  int printed = (h->as_printed >> (n < 2 ? n : 1)) & 1;
  return printed || h->all[index].tainted ? &h->all[index].carried : &h->example->step[index].exact;
}

/* Takes multiplications from the work that is left; 0: too much. */
static int afford(struct cause_search *h, double multiplications) {
  h->work -= multiplications;
  return h->work > 0;
}

/* From the author's own numbers. */
static double follows(const struct cause_search *h, size_t n) { return h->judged->followed.at[n]; }
static int is_output(const struct cause_search *h) { return h->step->name == ATTN_STEP_OUTPUT; }

/* ---- Another row or column ----------------------------------------------------------------- */

/* Is what is printed at n the number of another place, however exact the author had that? */
static int is_that_of(const struct cause_search *h, size_t n, size_t other) {
  return fits(h, n, follows(h, other)) || fits(h, n, exact(h, other));
}

/* Another row or column of the result. */
static int of_another_place(const struct cause_search *h, size_t n) {
  size_t cols = (size_t)h->step->exact.cols, row = n / cols * cols;
  for (size_t at = row; at < row + cols; at++)
    if (at != n && is_that_of(h, n, at)) return 1;
  for (size_t at = n % cols; at < h->cells; at += cols)
    if (at != n && is_that_of(h, n, at)) return 1;
  return 0;
}

/* All that is printed of the line is what the line that begins at `from` is, two numbers or more.
 */
static int line_is_that_of(const struct cause_search *h, struct cell_line l, size_t from) {
  size_t printed = 0;
  for (size_t n = 0; n < l.count; n++) {
    size_t at = l.first + n * l.stride, other = from + n * l.stride;
    if (!h->judged->printed[at]) continue;
    if (!is_that_of(h, at, other)) return 0;
    printed++;
  }
  return printed > 1;
}

static int of_other_line(struct cause_search *h, struct cell_line line) {
  size_t lines = h->cells / line.count, next = line.stride == 1 ? line.count : 1;
  int weights = line.is_query && (is_output(h) || h->step->name == ATTN_STEP_WEIGHTS);
  if (!weights && !attn_is_product(h->step->op)) return ATTN_CAUSE_NONE;
  for (size_t l = 0; l < lines; l++)
    if (l * next != line.first && line_is_that_of(h, line, l * next))
      return weights ? ATTN_CAUSE_WRONG_WEIGHT_ROW : ATTN_CAUSE_WRONG_ROW_OR_COLUMN;
  return ATTN_CAUSE_NONE;
}

/* Scores, or scaled ones, of keys times queries. */
static int of_swap(struct cause_search *h) {
  size_t size = (size_t)h->step->exact.rows;
  int is_square = h->cells == size * size && size > 1;
  if (!is_square || (h->step->name != ATTN_STEP_SCORES && h->step->name != ATTN_STEP_SCALED))
    return ATTN_CAUSE_NONE;
  for (size_t n = 0; n < h->cells; n++)
    if (h->judged->printed[n] && !is_that_of(h, n, n % size * size + n / size))
      return ATTN_CAUSE_NONE;
  return ATTN_CAUSE_SWAPPED_QK;
}

/* ---- Digits --------------------------------------------------------------------------------- */

/* Two digits of value change places. */
static int digits_swapped(const struct cause_search *h, size_t n, double value) {
  const attn_cell *cell = h->judged->printed[n];
  char right[48], got[48];
  int places = h->judged->decimals;
  if (cell->kind != ATTN_CELL_NUMBER || fabs(value) > 1e12 || fabs(cell->value) > 1e12) return 0;
  snprintf(right, sizeof right, "%.*f", places, value);
  snprintf(got, sizeof got, "%.*f", places, cell->value);
  if (strlen(right) != strlen(got)) return 0;
  size_t differ = 0, first = 0, second = 0;
  for (size_t k = 0; right[k]; k++)
    if (right[k] != got[k]) second = differ ? k : second, first = differ++ ? first : k;
  return differ == 2 && right[first] == got[second] && right[second] == got[first];
}

static int copied_wrongly(struct cause_search *h, size_t n) {
  return digits_swapped(h, n, follows(h, n)) || digits_swapped(h, n, exact(h, n));
}

enum { DIGITS_MAX = 12 };

/* x, printed with so many decimals, with two digits exchanged that are next or next but one to each
 * other: the one at place / 2, counted from the last. x itself if it has none. */
static double exchanged(double x, int decimals, int place) {
  int64_t digits = (int64_t)round(fabs(x) * pow(10, decimals)), low = 1, near, far;
  for (int k = 0; k < place / 2; k++) low *= 10;
  int64_t high = low * (place % 2 ? 100 : 10);
  near = digits / low % 10, far = digits / high % 10;
  if (digits / high == 0 && high > (int64_t)pow(10, decimals)) return x; /* no digit there */
  double value = (double)(digits + (near - far) * (high - low)) / pow(10, decimals);
  return x < 0 ? -value : value;
}

static int exchanges(double x, int decimals) {
  return isfinite(x) && fabs(x) <= 1e6 && decimals <= 8 ? 2 * DIGITS_MAX : 0;
}

/* The author rounded, or cut, at fewer digits than he prints. */
static int rounded_early(struct cause_search *h, size_t n) {
  const attn_cell *cell = h->judged->printed[n];
  double value = follows(h, n);
  for (int d = h->judged->decimals; d >= 1; d--) {
    double unit = pow(10, d);
    if (fabs(round(value * unit) / unit - cell->value) < 1e-12 ||
        fabs(trunc(value * unit) / unit - cell->value) < 1e-12)
      return 1;
  }
  return 0;
}

/* ---- One operand misread ----------------------------------------------------------------------
 */

/* Factor a_ik or b_kj of a product, and where it is in its matrix. */
static size_t place_of(const struct cause_search *h, int side, size_t line, size_t k) {
  const attn_matrix *m = operand_of(h, side);
  int upright = side ? h->step->op != ATTN_OP_MATMUL_NT : h->step->op == ATTN_OP_MATMUL_TN;
  size_t cols = (size_t)m->cols;
  return upright ? k * cols + line : line * cols + k;
}

static double factor(const struct cause_search *h, int side, size_t line, size_t k) {
  return operand_of(h, side)->at[place_of(h, side, line, k)];
}

static size_t inner(const struct cause_search *h) {
  const attn_matrix *a = operand_of(h, 0);
  return (size_t)(h->step->op == ATTN_OP_MATMUL_TN ? a->rows : a->cols);
}

/* The sum of products that belongs at cell n. */
static double sum_at(const struct cause_search *h, size_t n) {
  size_t cols = (size_t)h->step->exact.cols, count = inner(h);
  double sum = 0;
  for (size_t k = 0; k < count; k++) sum += factor(h, 0, n / cols, k) * factor(h, 1, n % cols, k);
  return sum;
}

/* Factor k of the line (of a row: of its left factor), more by delta: does that explain all that is
 * printed of the line? */
static int delta_explains(const struct cause_search *h, struct cell_line l, int side, size_t k,
                          double delta, const double *sum) {
  size_t cols = (size_t)h->step->exact.cols;
  for (size_t n = 0; n < l.count; n++) {
    size_t at = l.first + n * l.stride, other = side ? at / cols : at % cols;
    double value = sum[n] + delta * factor(h, !side, other, k);
    if (h->judged->printed[at] && !attn_judged_fits(h->judged, at, value)) return 0;
  }
  return 1;
}

/* One factor of the line with two digits exchanged. */
static int factor_misread(const struct cause_search *h, struct cell_line l, int side,
                          const double *sum) {
  size_t cols = (size_t)h->step->exact.cols, count = inner(h);
  size_t line = side ? l.first % cols : l.first / cols;
  const struct attn_judged *from = &h->all[h->step->operand[side]];
  for (size_t k = 0; k < count; k++) {
    double x = factor(h, side, line, k);
    if (!from->printed[place_of(h, side, line, k)]) continue;
    for (int n = 0; n < exchanges(x, from->decimals); n++) {
      double delta = exchanged(x, from->decimals, n) - x;
      if (fabs(delta) > 1e-9 && delta_explains(h, l, side, k, delta, sum)) return 1;
    }
  }
  return 0;
}

/* In a row its left factor may be misread, in a column its right one; a single cell has both. */
static int line_misread(struct cause_search *h, struct cell_line l) {
  int found = 0;
  double *sum = attn_pool_take(h->pool, l.count * sizeof *sum);
  if (!sum) return h->out_of_memory = 1, 0;
  for (h->as_printed = 0; h->as_printed < 4 && !found; h->as_printed++) {
    if (!afford(h, 2.0 * DIGITS_MAX * (double)l.count * (double)inner(h))) break;
    for (size_t n = 0; n < l.count; n++) sum[n] = sum_at(h, l.first + n * l.stride);
    for (int side = 0; side < 2 && !found; side++)
      if (l.count == 1 || side == (l.stride != 1)) found = factor_misread(h, l, side, sum);
  }
  h->as_printed = 0;
  return found;
}

static int of_operand(struct cause_search *h, struct cell_line line) {
  int found = attn_is_product(h->step->op) && line_misread(h, line);
  return found ? ATTN_CAUSE_TRANSCRIPTION : ATTN_CAUSE_NONE;
}

/* What is divided has two digits exchanged. */
static int dividend_misread(struct cause_search *h, size_t n) {
  const attn_step *s = h->step;
  if (s->op != ATTN_OP_DIVIDE || !h->all[s->operand[0]].printed[n]) return 0;
  double x = h->all[s->operand[0]].carried.at[n];
  int decimals = h->all[s->operand[0]].decimals;
  for (int k = 0; k < exchanges(x, decimals); k++) {
    double value = exchanged(x, decimals, k);
    if (fabs(value - x) > 1e-9 && attn_judged_fits(h->judged, n, value / s->scalar)) return 1;
  }
  return 0;
}

/* The root of d_k, or one over it, with one or two decimals for this cell alone. */
static int divisor_rounded(struct cause_search *h, size_t n) {
  const attn_step *s = h->step;
  if (s->op != ATTN_OP_DIVIDE || s->scalar == 0) return 0;
  for (double unit = 10; unit < 1000; unit *= 10) {
    double by = round(s->scalar * unit) / unit, times = round(unit / s->scalar) / unit;
    const double x[] = {h->all[s->operand[0]].carried.at[n],
                        h->example->step[s->operand[0]].exact.at[n]};
    for (int k = 0; k < 2; k++)
      if ((by != 0 && attn_judged_fits(h->judged, n, x[k] / by)) ||
          attn_judged_fits(h->judged, n, x[k] * times))
        return 1;
  }
  return 0;
}

/* ---- One cell -----------------------------------------------------------------------------------
 */

/* One term of v · tanh(..) with the other sign. */
static int term_of_another_sign(struct cause_search *h, size_t n) {
  enum { V = 4 };
  const attn_matrix *operand[ATTN_OPERANDS_MAX] = {NULL}, *v = operand_of(h, V);
  const size_t terms = (size_t)v->rows * (size_t)v->cols;
  attn_matrix turned = attn_matrix_new(h->pool, v->rows, v->cols), value;
  if (!turned.at) return h->out_of_memory = 1, 0;
  for (int32_t k = 0; k < V; k++) operand[k] = operand_of(h, k);
  operand[V] = &turned;
  memcpy(turned.at, v->at, terms * sizeof *v->at);
  for (size_t k = 0; k < terms; k++) {
    turned.at[k] = -v->at[k];
    if (!afford(h, 16.0 * (double)h->cells * (double)terms)) return 0;
    if (attn_eval_step(h->step, operand, h->pool, &value, NULL)) return 0;
    if (fits(h, n, value.at[n])) return 1;
    turned.at[k] = v->at[k];
  }
  return 0;
}

/* The whole cell, or one term of its sum, with the other sign. */
static int of_another_sign(struct cause_search *h, size_t n) {
  double value = follows(h, n);
  int found = value != 0 && fits(h, n, -value);
  if (!found && h->step->op == ATTN_OP_ADDITIVE) return term_of_another_sign(h, n);
  if (!attn_is_product(h->step->op)) return found;
  size_t cols = (size_t)h->step->exact.cols;
  for (h->as_printed = 0; h->as_printed < 4 && !found; h->as_printed++) {
    if (!afford(h, 4.0 * (double)inner(h))) break;
    double sum = sum_at(h, n);
    for (size_t k = 0; k < inner(h) && !found; k++) {
      double term = factor(h, 0, n / cols, k) * factor(h, 1, n % cols, k);
      found = term != 0 && fits(h, n, sum - 2 * term);
    }
  }
  h->as_printed = 0;
  return found;
}

static int is_rounded_early(struct cause_search *h, size_t n) {
  return rounded_early(h, n) || divisor_rounded(h, n);
}

static int of_rounding(struct cause_search *h) {
  for (size_t n = 0; n < h->cells; n++)
    if (h->judged->verdict[n] == ATTN_JUDGED_WRONG && !is_rounded_early(h, n))
      return ATTN_CAUSE_NONE;
  return ATTN_CAUSE_ROUNDING_TOO_COARSE;
}

/* A few units of the last digit: exponentials with too few digits. */
static int is_near(const struct cause_search *h, size_t n) {
  double units = fabs(h->judged->printed[n]->value - exact(h, n)) * pow(10, h->judged->decimals);
  return h->step->name == ATTN_STEP_WEIGHTS && h->judged->decimals > 2 && units <= 6;
}

static int of_cell(struct cause_search *h, size_t n) {
  const struct cell_line cell = {n, 1, 1, 0};
  int product = attn_is_product(h->step->op);
  if (is_rounded_early(h, n)) return ATTN_CAUSE_ROUNDING_TOO_COARSE;
  if (of_another_sign(h, n)) return ATTN_CAUSE_SIGN_SLIP;
  if (copied_wrongly(h, n) || dividend_misread(h, n)) return ATTN_CAUSE_TRANSCRIPTION;
  if (product && of_another_place(h, n)) return ATTN_CAUSE_WRONG_ROW_OR_COLUMN;
  if (product && line_misread(h, cell)) return ATTN_CAUSE_TRANSCRIPTION;
  return is_near(h, n) ? ATTN_CAUSE_ROUNDING_TOO_COARSE : ATTN_CAUSE_NONE;
}

/* ---- Where the first wrong number is ------------------------------------------------------- */

static size_t first_wrong(const struct cause_search *h) {
  size_t n = 0;
  while (n + 1 < h->cells && h->judged->verdict[n] != ATTN_JUDGED_WRONG) n++;
  return n;
}

/* ---- The search ------------------------------------------------------------------------ */

/* Both lines through the first wrong cell, the query's first. */
static int by_lines(struct cause_search *h, size_t first,
                    int (*cause_of)(struct cause_search *, struct cell_line)) {
  int turned = queries_in_columns(h), cause = ATTN_CAUSE_NONE;
  for (int other = 0; other < 2 && !cause; other++) {
    struct cell_line line = line_of(h, first, turned ^ other);
    if (misses(h, line) > 1) cause = cause_of(h, line);
  }
  return cause;
}

/* A softmax is normalized, so one slip moves its whole row. */
static int is_softmax(const attn_step *step) {
  return step->op == ATTN_OP_SOFTMAX || step->name == ATTN_STEP_WEIGHTS;
}

static size_t queries_of(const struct cause_search *h) {
  size_t cols = (size_t)h->step->exact.cols;
  return queries_in_columns(h) ? cols : h->cells / cols;
}

/* What query `n` sees or gets. */
static struct cell_line line_of_query(const struct cause_search *h, size_t n) {
  return query_of(h, queries_in_columns(h) ? n : n * (size_t)h->step->exact.cols);
}

/* Is some row, or column, printed and right? */
static int has_right_query(const struct cause_search *h) {
  for (size_t l = 0; l < queries_of(h); l++) {
    struct cell_line line = line_of_query(h, l);
    size_t printed = 0;
    for (size_t n = 0; n < line.count; n++)
      printed += h->judged->printed[line.first + n * line.stride] != NULL;
    if (printed && !misses(h, line)) return 1;
  }
  return 0;
}

/* Hidden where the mask shows it, or visible where the mask hides it. */
static int mask_differs(const struct cause_search *h, size_t n) {
  const attn_matrix *mask = &h->example->step[h->step->operand[1]].exact;
  size_t cols = (size_t)h->step->exact.cols, i = mask->rows == 1 ? 0 : n / cols;
  size_t j = mask->cols == 1 ? 0 : n % cols;
  int sees = mask->at[i * (size_t)mask->cols + j] != 0;
  return sees != (h->judged->printed[n]->value > -1e3);
}

/* Is every wrong number a 0 that should be minus infinity? One 0 may be a score. */
static int is_filled_with_zeros(const struct cause_search *h) {
  size_t count = 0;
  for (size_t n = 0; n < h->cells; n++) {
    if (!is_miss(h, n)) continue;
    if (h->judged->printed[n]->value != 0 || !isinf(exact(h, n))) return 0;
    count++;
  }
  return count > 1;
}

/* A row of which nothing is hidden, or several cells are wrong, ignores the mask. */
static int of_mask(const struct cause_search *h, size_t first) {
  struct cell_line line = query_of(h, first);
  size_t count = 0, hidden = 0;
  for (size_t n = 0; n < line.count; n++) {
    size_t at = line.first + n * line.stride;
    count += is_miss(h, at) && mask_differs(h, at);
    hidden += h->judged->printed[at] && h->judged->printed[at]->value < -1e3;
  }
  if (!mask_differs(h, first)) return ATTN_CAUSE_TRANSCRIPTION;
  if (is_filled_with_zeros(h)) return ATTN_CAUSE_MASK_FILL;
  return count > 1 || !hidden ? ATTN_CAUSE_MASK_IGNORED : ATTN_CAUSE_MASK_OFF_BY_ONE;
}

/* Is a row of what is divided printed as it was? */
static int of_undivided_row(const struct cause_search *h, size_t first) {
  struct cell_line line = query_of(h, first);
  if (h->step->op != ATTN_OP_DIVIDE || misses(h, line) < 2) return ATTN_CAUSE_NONE;
  const double *source = h->all[h->step->operand[0]].carried.at;
  for (size_t n = 0; n < line.count; n++) {
    size_t at = line.first + n * line.stride;
    if (h->judged->printed[at] && !fits(h, at, source[at])) return ATTN_CAUSE_NONE;
  }
  return ATTN_CAUSE_MISSING_SCALE;
}

/* Nothing is known but the place. A step that only copies can only copy wrongly. */
static int by_place(const struct cause_search *h, size_t first) {
  size_t in_row = misses(h, line_of(h, first, 0));
  size_t in_column = misses(h, line_of(h, first, 1));
  if (h->step->op == ATTN_OP_MASK) return of_mask(h, first);
  int alone = in_row == 1 && in_column == 1;
  int copies = h->step->op == ATTN_OP_APPEND || h->step->op == ATTN_OP_COLUMNS;
  if (copies && alone) return ATTN_CAUSE_TRANSCRIPTION;
  if (is_softmax(h->step)) {
    struct cell_line query = query_of(h, first);
    int local = misses(h, query) == 1 || query.count == h->cells || has_right_query(h);
    return local ? ATTN_CAUSE_SOFTMAX_CELL : ATTN_CAUSE_UNKNOWN;
  }
  return alone ? ATTN_CAUSE_ARITHMETIC_CELL : ATTN_CAUSE_UNKNOWN;
}

/* Are there several misses outside the query's line and the line that crosses it? Then no slip of
 * one line or cell explains them. */
static int is_scattered(const struct cause_search *h, size_t first) {
  size_t cross = misses(h, line_of(h, first, 0)) + misses(h, line_of(h, first, 1));
  size_t all = misses(h, all_cells(h));
  return all > cross && !is_softmax(h->step) && h->step->op != ATTN_OP_MASK;
}

static int search(struct cause_search *h) {
  size_t first = first_wrong(h);
  int cause = ATTN_CAUSE_NONE;
  if (misses(h, all_cells(h)) == 1) cause = of_cell(h, first);
  if (!cause) cause = of_rounding(h);
  if (!cause) cause = of_swap(h);
  if (!cause) cause = attn_cause_of_softmax(h, first);
  if (!cause) cause = of_undivided_row(h, first);
  if (!cause && is_scattered(h, first)) return by_place(h, first);
  if (!cause) cause = by_lines(h, first, of_other_line);
  if (!cause) cause = by_lines(h, first, of_operand);
  if (!cause && misses(h, query_of(h, first)) == 1) cause = of_cell(h, first);
  return cause ? cause : by_place(h, first);
}

attn_status attn_find_cause(const attn_example *example, const struct attn_judged *judged,
                            int32_t step, int32_t *cause, attn_error *err) {
  const attn_step *s = &example->step[step];
  struct cause_search h = {.example = example,
                           .all = judged,
                           .judged = &judged[step],
                           .step = s,
                           .pool = attn_pool_new(),
                           .cells = (size_t)s->exact.rows * (size_t)s->exact.cols,
                           .work = WORK_MAX};
  h.out_of_memory = !h.pool;
  *cause = h.pool ? search(&h) : ATTN_CAUSE_NONE;
  attn_pool_free(h.pool);
  return h.out_of_memory ? attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to look for the cause")
                         : ATTN_OK;
}
