/* cause_cells.c -- slips in single numbers: a row that is another one's, an operand misread, a
 * sign, digits exchanged, a number rounded too early. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "causes.h"
#include "operations.h"

/* From the author's own numbers, and the right one. */
static double follows(const struct attn_cause_search *h, size_t n) {
  return h->judged->followed.at[n];
}
static double exact(const struct attn_cause_search *h, size_t n) { return h->step->exact.at[n]; }

static int is_output(const struct attn_cause_search *h) {
  return h->step->name == ATTN_STEP_OUTPUT;
}

/* ---- Another row or column ----------------------------------------------------------------- */

/* Is what is printed at n the number of another place, however exact the author had that? */
static int is_that_of(const struct attn_cause_search *h, size_t n, size_t other) {
  return attn_cause_fits(h, n, follows(h, other)) || attn_cause_fits(h, n, exact(h, other));
}

/* Another row or column of the result. */
static int of_another_place(const struct attn_cause_search *h, size_t n) {
  size_t cols = (size_t)h->step->exact.cols, row = n / cols * cols;
  for (size_t at = row; at < row + cols; at++)
    if (at != n && is_that_of(h, n, at)) return 1;
  for (size_t at = n % cols; at < h->cells; at += cols)
    if (at != n && is_that_of(h, n, at)) return 1;
  return 0;
}

/* All that is printed of the line is what the line that begins at `from` is, two numbers or more.
 */
static int line_is_that_of(const struct attn_cause_search *h, struct attn_cell_line l,
                           size_t from) {
  size_t printed = 0;
  for (size_t n = 0; n < l.count; n++) {
    size_t at = l.first + n * l.stride, other = from + n * l.stride;
    if (!h->judged->printed[at]) continue;
    if (!is_that_of(h, at, other)) return 0;
    printed++;
  }
  return printed > 1;
}

int attn_cause_of_other_line(struct attn_cause_search *h, struct attn_cell_line line) {
  size_t lines = h->cells / line.count, next = line.stride == 1 ? line.count : 1;
  int weights = line.is_query && (is_output(h) || h->step->name == ATTN_STEP_WEIGHTS);
  if (!weights && !attn_is_product(h->step->op)) return ATTN_CAUSE_NONE;
  for (size_t l = 0; l < lines; l++)
    if (l * next != line.first && line_is_that_of(h, line, l * next))
      return weights ? ATTN_CAUSE_WRONG_WEIGHT_ROW : ATTN_CAUSE_WRONG_ROW_OR_COLUMN;
  return ATTN_CAUSE_NONE;
}

/* Scores, or scaled ones, of keys times queries. */
int attn_cause_of_swap(struct attn_cause_search *h) {
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
static int digits_swapped(const struct attn_cause_search *h, size_t n, double value) {
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

static int copied_wrongly(struct attn_cause_search *h, size_t n) {
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
static int rounded_early(struct attn_cause_search *h, size_t n) {
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
static size_t place_of(const struct attn_cause_search *h, int side, size_t line, size_t k) {
  const attn_matrix *m = attn_cause_operand(h, h->step, side);
  int upright = side ? h->step->op != ATTN_OP_MATMUL_NT : h->step->op == ATTN_OP_MATMUL_TN;
  size_t cols = (size_t)m->cols;
  return upright ? k * cols + line : line * cols + k;
}

static double factor(const struct attn_cause_search *h, int side, size_t line, size_t k) {
  return attn_cause_operand(h, h->step, side)->at[place_of(h, side, line, k)];
}

static size_t inner(const struct attn_cause_search *h) {
  const attn_matrix *a = attn_cause_operand(h, h->step, 0);
  return (size_t)(h->step->op == ATTN_OP_MATMUL_TN ? a->rows : a->cols);
}

/* The sum of products that belongs at cell n. */
static double sum_at(const struct attn_cause_search *h, size_t n) {
  size_t cols = (size_t)h->step->exact.cols, count = inner(h);
  double sum = 0;
  for (size_t k = 0; k < count; k++) sum += factor(h, 0, n / cols, k) * factor(h, 1, n % cols, k);
  return sum;
}

/* Factor k of the line (of a row: of its left factor), more by delta: does that explain all that is
 * printed of the line? */
static int delta_explains(const struct attn_cause_search *h, struct attn_cell_line l, int side,
                          size_t k, double delta, const double *sum) {
  size_t cols = (size_t)h->step->exact.cols;
  for (size_t n = 0; n < l.count; n++) {
    size_t at = l.first + n * l.stride, other = side ? at / cols : at % cols;
    double value = sum[n] + delta * factor(h, !side, other, k);
    if (h->judged->printed[at] && !attn_judged_fits(h->judged, at, value)) return 0;
  }
  return 1;
}

/* One factor of the line with two digits exchanged. */
static int factor_misread(const struct attn_cause_search *h, struct attn_cell_line l, int side,
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
static int line_misread(struct attn_cause_search *h, struct attn_cell_line l) {
  int found = 0;
  double *sum = attn_pool_take(h->pool, l.count * sizeof *sum);
  if (!sum) return h->out_of_memory = 1, 0;
  for (h->as_printed = 0; h->as_printed < 4 && !found; h->as_printed++) {
    if (!attn_cause_afford(h, (double)l.count * (double)inner(h), 2 * DIGITS_MAX)) break;
    for (size_t n = 0; n < l.count; n++) sum[n] = sum_at(h, l.first + n * l.stride);
    for (int side = 0; side < 2 && !found; side++)
      if (l.count == 1 || side == (l.stride != 1)) found = factor_misread(h, l, side, sum);
  }
  h->as_printed = 0;
  return found;
}

int attn_cause_of_operand(struct attn_cause_search *h, struct attn_cell_line line) {
  int found = attn_is_product(h->step->op) && line_misread(h, line);
  return found ? ATTN_CAUSE_TRANSCRIPTION : ATTN_CAUSE_NONE;
}

/* What is divided has two digits exchanged. */
static int dividend_misread(struct attn_cause_search *h, size_t n) {
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
static int divisor_rounded(struct attn_cause_search *h, size_t n) {
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
static int term_of_another_sign(struct attn_cause_search *h, size_t n) {
  enum { V = 4 };
  const attn_matrix *operand[ATTN_OPERANDS_MAX] = {NULL}, *v = attn_cause_operand(h, h->step, V);
  const size_t terms = (size_t)v->rows * (size_t)v->cols;
  attn_matrix turned = attn_matrix_new(h->pool, v->rows, v->cols), value;
  if (!turned.at) return h->out_of_memory = 1, 0;
  for (int32_t k = 0; k < V; k++) operand[k] = attn_cause_operand(h, h->step, k);
  operand[V] = &turned;
  memcpy(turned.at, v->at, terms * sizeof *v->at);
  for (size_t k = 0; k < terms; k++) {
    turned.at[k] = -v->at[k];
    if (!attn_cause_eval(h, h->step, operand, &value)) return 0;
    if (attn_cause_fits(h, n, value.at[n])) return 1;
    turned.at[k] = v->at[k];
  }
  return 0;
}

/* The whole cell, or one term of its sum, with the other sign. */
static int of_another_sign(struct attn_cause_search *h, size_t n) {
  double value = follows(h, n);
  int found = value != 0 && attn_cause_fits(h, n, -value);
  if (!found && h->step->op == ATTN_OP_ADDITIVE) return term_of_another_sign(h, n);
  if (!attn_is_product(h->step->op)) return found;
  size_t cols = (size_t)h->step->exact.cols;
  for (h->as_printed = 0; h->as_printed < 4 && !found; h->as_printed++) {
    if (!attn_cause_afford(h, (double)inner(h), 4)) break;
    double sum = sum_at(h, n);
    for (size_t k = 0; k < inner(h) && !found; k++) {
      double term = factor(h, 0, n / cols, k) * factor(h, 1, n % cols, k);
      found = term != 0 && attn_cause_fits(h, n, sum - 2 * term);
    }
  }
  h->as_printed = 0;
  return found;
}

static int is_rounded_early(struct attn_cause_search *h, size_t n) {
  return rounded_early(h, n) || divisor_rounded(h, n);
}

int attn_cause_of_rounding(struct attn_cause_search *h) {
  for (size_t n = 0; n < h->cells; n++)
    if (h->judged->verdict[n] == ATTN_JUDGED_WRONG && !is_rounded_early(h, n))
      return ATTN_CAUSE_NONE;
  return ATTN_CAUSE_ROUNDING_TOO_COARSE;
}

/* A few units of the last digit: exponentials with too few digits. */
static int is_near(const struct attn_cause_search *h, size_t n) {
  double units = fabs(h->judged->printed[n]->value - exact(h, n)) * pow(10, h->judged->decimals);
  return h->step->name == ATTN_STEP_WEIGHTS && h->judged->decimals > 2 && units <= 6;
}

int attn_cause_of_cell(struct attn_cause_search *h, size_t n) {
  const struct attn_cell_line cell = {n, 1, 1, 0};
  int product = attn_is_product(h->step->op);
  if (is_rounded_early(h, n)) return ATTN_CAUSE_ROUNDING_TOO_COARSE;
  if (of_another_sign(h, n)) return ATTN_CAUSE_SIGN_SLIP;
  if (copied_wrongly(h, n) || dividend_misread(h, n)) return ATTN_CAUSE_TRANSCRIPTION;
  if (product && of_another_place(h, n)) return ATTN_CAUSE_WRONG_ROW_OR_COLUMN;
  if (product && line_misread(h, cell)) return ATTN_CAUSE_TRANSCRIPTION;
  return is_near(h, n) ? ATTN_CAUSE_ROUNDING_TOO_COARSE : ATTN_CAUSE_NONE;
}
