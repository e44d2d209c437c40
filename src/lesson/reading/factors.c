/* factors.c -- "q1·k2 = 2·0.5 + 1·3 = 4", "4 / 1.414 = 2.83": are the factors those of the row and
 * the column that the product is of, and the divisor that of the step? A zero hides another factor.
 */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "factors.h"
#include "operations.h"
#include "placed.h"

enum { TERMS_MAX = 16, SUMS_MAX = 8 };

/* A product: its factors, without their signs. */
struct term {
  struct attn_part part[2];
  attn_cell factor[2];
};

struct sum {
  struct term term[TERMS_MAX];
  int terms;
  size_t begin, factor; /* where it begins, with brackets and sign and without */
};

/* Not of a fraction: 1*1/2 */
#define PRODUCT \
  "\\({0,2}?" ATTN_FACTOR "(?:" ATTN_TIMES "|(?<=\\))[ ]?(?=\\())" ATTN_FACTOR "\\)?(?!/\\d)"
static const char FIRST[] =
    "(?<![\\w.)^*/\\x{D7}\\x{B7}+-])(?<![*/\\x{D7}\\x{B7}+-] )" PRODUCT "(?=[ ]?" ATTN_SIGN ")";
static const char NEXT[] = "[ ]?" ATTN_SIGN "[ ]?" PRODUCT;
/* The next component of a vector of sums. */
static const char NEXT_SUM[] =
    ATTN_SPACE "[,;]" ATTN_SPACE ATTN_SPACE PRODUCT "(?=[ ]?" ATTN_SIGN ")";

static int read_term(const struct attn_placing *x, const struct attn_match *m, struct term *t) {
  for (int n = 0; n < 2; n++) {
    t->part[n] = m->group[n + 1];
    if (!attn_scan_part(x->text, t->part[n], &t->factor[n])) return 0;
  }
  return 1;
}

/* The terms of a sum that begins with a match; m is then the last one. */
static int read_sum(const struct attn_placing *x, struct attn_match *m, struct sum *s) {
  s->terms = 0, s->begin = m->group[0].begin, s->factor = m->group[1].begin;
  do {
    if (s->terms == TERMS_MAX || !read_term(x, m, &s->term[s->terms])) return 0;
    s->terms++;
  } while (attn_match_at(x->a->scan->patterns, NEXT, x->text, x->bytes, m->group[0].end, m));
  return 1;
}

/* ---- operands ---- */

int attn_is_factor(const attn_step *s, int row, int col, const attn_cell *cell) {
  if (row >= s->exact.rows || col >= s->exact.cols) return 0;
  if (attn_cell_is_near(cell, fabs(s->exact.at[row * s->exact.cols + col]), 3)) return 1;
  for (int32_t n = 0; n < s->printings; n++) {
    const attn_cell *printed = attn_printed_cell(&s->printing[n], row, col);
    if (printed && attn_cell_is_near(cell, fabs(printed->value), 3)) return 1;
  }
  return 0;
}

int attn_is_left(const struct attn_placed *p, int at, const attn_cell *cell) {
  const attn_step *left = &p->example->step[p->step->operand[0]];
  return p->step->op == ATTN_OP_MATMUL_TN ? attn_is_factor(left, at, p->row, cell)
                                          : attn_is_factor(left, p->row, at, cell);
}

int attn_is_right(const struct attn_placed *p, int at, int col, const attn_cell *cell) {
  const attn_step *right = &p->example->step[p->step->operand[1]];
  return p->step->op == ATTN_OP_MATMUL_NT ? attn_is_factor(right, col, at, cell)
                                          : attn_is_factor(right, at, col, cell);
}

/* How many terms each number of a product has. 0: it is none. */
static int length_of(const attn_example *e, const attn_step *s) {
  if (!attn_is_product(s->op)) return 0;
  const attn_matrix *left = &e->step[s->operand[0]].exact;
  return s->op == ATTN_OP_MATMUL_TN ? left->rows : left->cols;
}

/* Three times as far as rounding explains: of a sum, that of its factors, "0.64·0 + 0.36·1". */
static int is_right(const attn_cell *cell, double value) {
  if (cell->kind != ATTN_CELL_SUM) return attn_cell_is_near(cell, value, 3);
  return fabs(value - cell->value) <= 1.5 * (cell->hi - cell->lo) + 1e-9 * (1 + fabs(value));
}

int attn_terms_of(const struct attn_placed *p) {
  const attn_matrix *m = &p->step->exact;
  const attn_cell *cell = attn_printed_cell(p->printing, p->row, p->col);
  if (!attn_is_product(p->step->op) || p->row >= m->rows || p->col >= m->cols ||
      !is_right(cell, m->at[p->row * m->cols + p->col]))
    return 0;
  return length_of(p->example, p->step);
}

/* The factors at a place of the row and the column of a product, in either order. */
static int is_term(const struct attn_placed *p, int at, const struct term *t) {
  const attn_cell *a = &t->factor[0], *b = &t->factor[1];
  return (attn_is_left(p, at, a) && attn_is_right(p, at, p->col, b)) ||
         (attn_is_left(p, at, b) && attn_is_right(p, at, p->col, a));
}

/* How many terms are those of a product of so many. *other: the first that is none; -1. */
static int count_terms(const struct attn_placed *p, int length, const struct sum *s, int *other) {
  int found = 0;
  unsigned used = 0;
  *other = -1;
  if (length > TERMS_MAX || s->terms > length) return 0;
  for (int n = 0; n < s->terms; n++) {
    int at = 0;
    while (at < length && (used >> at & 1 || !is_term(p, at, &s->term[n]))) at++;
    if (at < length) used |= 1u << at, found++;
    if (at == length && *other < 0) *other = n;
  }
  return found;
}

/* ---- sums ---- */

const struct attn_placed *attn_result_at(const struct attn_placing *x, size_t end, int component) {
  static const char EQUALS[] = "[ ]?(?:=|\\x{FF1D}|\\x{2248}|\\\\approx\\b)[ *$]{0,3}";
  struct attn_match m;
  if (!attn_match_at(x->a->scan->patterns, EQUALS, x->text, x->bytes, end, &m)) return NULL;
  const struct attn_placed *p = attn_placed_after(x, m.group[0].end, 1);
  if (!p || (size_t)component >= x->count - (size_t)(p - x->placed)) return NULL;
  const struct attn_placed *of = p + component;
  return of->printing == p->printing && of->row == p->row ? of : NULL;
}

/* The number of a step that a sum is, or is equal to: it begins there, or after the sign; or it is
 * a component of the vector after all sums. */
static const struct attn_placed *number_of(const struct attn_placing *x, const struct sum *s,
                                           size_t end, int component) {
  const struct attn_placed *p = attn_next_placed(x, s->begin, 1);
  attn_cell last = attn_placing_cell(x, s->factor);
  return p && p->place <= attn_cell_place(&last) ? p : attn_result_at(x, end, component);
}

/* The sums of a vector, one or more. m is then the last match. */
static int read_sums(const struct attn_placing *x, struct attn_match *m, struct sum sum[SUMS_MAX]) {
  int sums = 0;
  do {
    if (sums == SUMS_MAX || !read_sum(x, m, &sum[sums])) return 0;
    sums++;
  } while (attn_match_at(x->a->scan->patterns, NEXT_SUM, x->text, x->bytes, m->group[0].end, m));
  return sums;
}

static void list_term(struct attn_placing *x, const struct sum *s, int term) {
  if (term >= 0) attn_list_number(x, s->term[term].part[0], s->term[term].part[0].begin);
}

/* Is one of the factors that of a term of the product? */
static int has_factor(const struct attn_placed *p, int length, const struct term *t) {
  const attn_cell *a = &t->factor[0], *b = &t->factor[1];
  int at = 0;
  while (at < length && !attn_is_left(p, at, a) && !attn_is_right(p, at, p->col, b) &&
         !attn_is_left(p, at, b) && !attn_is_right(p, at, p->col, a))
    at++;
  return at < length;
}

/* Are the terms those of a number of a product? *missing: the only one that is not, of the first
 * number that has all others. */
static int is_sum_of(struct attn_placing *x, const attn_example *e, const attn_step *s,
                     const struct sum *sum, int *missing) {
  const int length = length_of(e, s), cells = s->exact.rows * s->exact.cols;
  if (length != sum->terms) return 0;
  const int printings = e->step[s->operand[0]].printings + e->step[s->operand[1]].printings;
  for (int n = 0; n < cells && x->a->work < ATTN_ACCOUNT_WORK; n++) {
    struct attn_placed p = {.example = e, .step = s};
    int other;
    p.row = n / s->exact.cols, p.col = n % s->exact.cols;
    x->a->work += 4L * length * length * (2 + printings);
    int found = count_terms(&p, length, sum, &other);
    if (found == length) return 1;
    if (found == length - 1 && *missing < 0 && has_factor(&p, length, &sum->term[other]))
      *missing = other;
  }
  return 0;
}

/* A sum without a number of a step: are all factors but one those of a product, and none's all? */
static void check_loose(struct attn_placing *x, const struct sum *sum) {
  const attn_lesson *l = x->a->lesson;
  int missing = -1;
  for (int32_t i = 0; i < l->examples; i++)
    for (int32_t n = 0; n < l->example[i].steps; n++)
      if (is_sum_of(x, &l->example[i], &l->example[i].step[n], sum, &missing)) return;
  list_term(x, sum, missing);
}

static void check_sums(struct attn_placing *x) {
  struct sum sum[SUMS_MAX];
  struct attn_match m;
  int other;
  for (size_t at = 0; attn_placing_find(x, FIRST, at, &m); at = m.group[0].end) {
    int sums = read_sums(x, &m, sum);
    for (int n = 0; n < sums; n++) {
      const struct attn_placed *p = number_of(x, &sum[n], m.group[0].end, n);
      if (sum[n].terms < 2) continue;
      if (p && count_terms(p, attn_terms_of(p), &sum[n], &other)) list_term(x, &sum[n], other);
      if (!p) check_loose(x, &sum[n]);
    }
  }
}

/* ---- divisors and powers ---- */

/* "4 / 1.5 = 2.83" where the step divides by √2 */
static int is_other_divisor(const struct attn_placing *x, const struct attn_match *m) {
  const struct attn_placed *p = attn_placed_after(x, m->group[0].end, 1);
  attn_cell cell;
  if (!p || p->step->op != ATTN_OP_DIVIDE) return 0;
  return attn_scan_part(x->text, m->group[1], &cell) &&
         !attn_cell_is_near(&cell, fabs(p->step->scalar), 3);
}

/* "8/√2": the 1 of "1/√2", or a score. */
static int is_other_numerator(const struct attn_placing *x, const struct attn_match *m) {
  attn_cell cell;
  return attn_scan_part(x->text, m->group[1], &cell) && cell.value != 1 &&
         !attn_is_known_operand(x->a->operands, &cell);
}

/* "d_k ** 1.5": only a root divides scores. */
static int is_other_power(const struct attn_placing *x, const struct attn_match *m) {
  attn_cell cell;
  return attn_scan_part(x->text, m->group[1], &cell) && cell.value != .5;
}

/* ---- a softmax that is mentioned ---- */

enum { ROW_MAX = 16 };

#define LIST "[-\\x{2212}]?\\d++(?:\\.\\d++)?+(?:,[ ]?[-\\x{2212}]?\\d++(?:\\.\\d++)?+){1,15}+"

/* The numbers of a list; their count, 0: there are too many, or something else. */
static int read_list(const struct attn_placing *x, struct attn_part list, attn_cell *cells) {
  int count = 0;
  for (size_t at = list.begin, end; at < list.end; at = end) {
    end = at;
    while (end < list.end && x->text[end] != ',' && x->text[end] != ' ') end++;
    if (end == at) {
      end++;
    } else if (count == ROW_MAX ||
               !attn_scan_part(x->text, (struct attn_part){at, end}, &cells[count++])) {
      return 0;
    }
  }
  return count;
}

static double half_of(const attn_cell *cell) {
  return cell->decimals > 0 ? attn_cell_half(cell) : 0;
}

/* Is each weight near the softmax of the logits, which are rounded? Three times as far as rounding
 * explains, as of other numbers that are worked with. */
static int is_softmax(const attn_cell *logit, const attn_cell *weight, int count) {
  double sum = 0, half = 0, largest = logit[0].value;
  for (int n = 1; n < count; n++) largest = fmax(largest, logit[n].value);
  for (int n = 0; n < count; n++) {
    sum += exp(logit[n].value - largest);
    half = fmax(half, half_of(&logit[n]));
  }
  for (int n = 0; n < count; n++) {
    double w = exp(logit[n].value - largest) / sum;
    if (!(fabs(w - weight[n].value) <= 3 * (w * expm1(2 * half) + attn_cell_half(&weight[n]))))
      return 0;
  }
  return 1;
}

/* "softmax([1, 2]) = [0.27, 0.73]", which is not judged as a step: is it one? */
static int is_no_softmax(const struct attn_placing *x, const struct attn_match *m) {
  attn_cell logit[ROW_MAX], weight[ROW_MAX];
  const struct attn_placed *p = attn_next_placed(x, m->group[2].begin, 1);
  attn_cell at = attn_placing_cell(x, m->group[2].begin);
  int is_step = p && p->place == attn_cell_place(&at) && p->printing == &p->step->printing[0];
  int count = read_list(x, m->group[1], logit);
  return !is_step && count > 1 && read_list(x, m->group[2], weight) == count &&
         !is_softmax(logit, weight, count);
}

void attn_list_factors(struct attn_placing *x) {
  static const char POWER[] = "(?<=[\\w)\\]])(?:\\*\\*|[ ]\\*\\*[ ])\\(?(\\d++\\.\\d++)(?!\\w)";
  static const char DIVISOR[] =
      "[/\\x{F7}][ ]?(\\d++(?:\\.\\d++)?+)[ ]?(?:=|\\x{2248}|\\\\approx\\b)[ "
      "]?(?=[-\\x{2212}.\\d])";
  static const char NUMERATOR[] =
      "(?<![\\w.)\\]])(\\d++(?:\\.\\d++)?+)[ ]?/[ ]?(?:\\x{221A}|\\\\?sqrt\\b|Sqrt\\b)";
  static const char SOFTMAX[] = "(?i)(?<![A-Za-z_])softmax[ ]?\\([ ]?\\[?[ ]?(" LIST
                                ")[ ]?\\]?[ ]?\\)[ ]?(?:=|\\x{2248}|\\x{2192})[ ]?"
                                "[\\[(][ ]?(" LIST ")[ ]?[\\])]";
  check_sums(x);
  attn_list_vectors(x);
  attn_list_numbers(x, SOFTMAX, is_no_softmax);
  attn_list_numbers(x, POWER, is_other_power);
  attn_list_numbers(x, DIVISOR, is_other_divisor);
  attn_list_numbers(x, NUMERATOR, is_other_numerator);
}
