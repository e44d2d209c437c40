/* factors.c -- "q1·k2 = 2·0.5 + 1·3 = 4", "4 / 1.414 = 2.83": are the factors those of the row and
 * the column that the product is of, and the divisor that of the step? A zero hides another factor.
 */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "placed.h"

enum { TERMS_MAX = 16 };

/* A product: its factors, without their signs. */
struct term {
  struct attn_part part[2];
  attn_cell factor[2];
};

#define LITERAL "[-+\\x{2212}]?(\\d++(?:\\.\\d++)?+|\\.\\d++)"
#define TIMES \
  "(?:[ ]?(?:[*\\x{D7}\\x{B7}\\x{22C5}]|x(?= )|\\\\times\\b|\\\\cdot\\b)[ ]?\\(?|\\)[ ]?\\()"
#define PRODUCT "\\(*+" LITERAL TIMES LITERAL "\\)?"
static const char FIRST[] =
    "(?<![\\w.)^*/\\x{D7}\\x{B7}+-])(?<![*/\\x{D7}\\x{B7}+-] )" PRODUCT "(?=[ ]?[-+\\x{2212}])";
static const char NEXT[] = "[ ]?[-+\\x{2212}][ ]?" PRODUCT;

static int read_term(const struct attn_placing *x, const struct attn_match *m, struct term *t) {
  for (int n = 0; n < 2; n++) {
    t->part[n] = m->group[n + 1];
    if (!attn_scan_part(x->text, t->part[n], &t->factor[n])) return 0;
  }
  return 1;
}

/* The terms of a sum that begins with a match; m is then the last one. */
static int read_sum(const struct attn_placing *x, struct attn_match *m,
                    struct term term[TERMS_MAX]) {
  int terms = 0;
  do {
    if (terms == TERMS_MAX || !read_term(x, m, &term[terms])) return 0;
    terms++;
  } while (attn_match_at(x->a->scan->patterns, NEXT, x->text, x->bytes, m->group[0].end, m));
  return terms;
}

/* ---- operands ---- */

/* Is it the number of a cell, as it should be or as it is printed? Its sign is not read. */
static int is_cell(const attn_step *s, int row, int col, const attn_cell *cell) {
  if (row >= s->exact.rows || col >= s->exact.cols) return 0;
  if (attn_cell_is_near(cell, fabs(s->exact.at[row * s->exact.cols + col]), 3)) return 1;
  for (int32_t n = 0; n < s->printings; n++) {
    const attn_cell *printed = attn_printed_cell(&s->printing[n], row, col);
    if (printed && attn_cell_is_near(cell, fabs(printed->value), 3)) return 1;
  }
  return 0;
}

/* The factors at a place of the row and the column of a product. */
static int is_term(const struct attn_placed *p, int at, const attn_cell *a, const attn_cell *b) {
  const attn_step *left = &p->example->step[p->step->operand[0]];
  const attn_step *right = &p->example->step[p->step->operand[1]];
  int of = p->step->op;
  return (of == ATTN_OP_MATMUL_TN ? is_cell(left, at, p->row, a) : is_cell(left, p->row, at, a)) &&
         (of == ATTN_OP_MATMUL_NT ? is_cell(right, p->col, at, b) : is_cell(right, at, p->col, b));
}

static int length_of(const struct attn_placed *p) {
  const attn_step *left = &p->example->step[p->step->operand[0]];
  return p->step->op == ATTN_OP_MATMUL_TN ? left->exact.rows : left->exact.cols;
}

/* The first term that is none of a product of which others are terms. -1: there is none. */
static int find_other(const struct attn_placed *p, const struct term *term, int terms) {
  int length = length_of(p), other = -1, found = 0;
  unsigned used = 0;
  if (length > TERMS_MAX || terms > length) return -1;
  for (int n = 0; n < terms; n++) {
    const attn_cell *a = &term[n].factor[0], *b = &term[n].factor[1];
    int at = 0;
    while (at < length && (used >> at & 1 || (!is_term(p, at, a, b) && !is_term(p, at, b, a))))
      at++;
    if (at < length) used |= 1u << at, found++;
    if (at == length && other < 0) other = n;
  }
  return found ? other : -1;
}

/* What is printed wrongly is judged. */
static int is_right(const struct attn_placed *p) {
  const attn_cell *cell = attn_printed_cell(p->printing, p->row, p->col);
  const attn_matrix *m = &p->step->exact;
  return p->row < m->rows && p->col < m->cols &&
         attn_cell_is_near(cell, m->at[p->row * m->cols + p->col], 3);
}

static int is_product(const attn_step *s) {
  return s->op == ATTN_OP_MATMUL || s->op == ATTN_OP_MATMUL_NT || s->op == ATTN_OP_MATMUL_TN;
}

/* The number of a step that a sum is, or is equal to: it begins there, or after the sign. */
static const struct attn_placed *number_of(const struct attn_placing *x, size_t begin,
                                           size_t factor, size_t end) {
  static const char EQUALS[] = "[ ]?(?:=|\\x{2248}|\\\\approx\\b)[ *$]{0,3}";
  const struct attn_placed *p = attn_next_placed(x, begin, 1);
  attn_cell last = attn_placing_cell(x, factor);
  struct attn_match m;
  if (!p || p->place <= attn_cell_place(&last)) return p;
  if (!attn_match_at(x->a->scan->patterns, EQUALS, x->text, x->bytes, end, &m)) return NULL;
  last = attn_placing_cell(x, m.group[0].end);
  return p->place <= attn_cell_place(&last) + 1 ? p : NULL;
}

static void check_sums(struct attn_placing *x) {
  struct term term[TERMS_MAX];
  struct attn_match m;
  for (size_t at = 0; attn_placing_find(x, FIRST, at, &m); at = m.group[0].end) {
    size_t begin = m.group[0].begin, factor = m.group[1].begin;
    int terms = read_sum(x, &m, term);
    const struct attn_placed *p = number_of(x, begin, factor, m.group[0].end);
    if (!p || terms < 2 || !is_product(p->step) || !is_right(p)) continue;
    int other = find_other(p, term, terms);
    if (other >= 0) attn_list_number(x, term[other].part[0], term[other].part[0].begin);
  }
}

/* ---- divisors and powers ---- */

/* "4 / 1.5 = 2.83" where the step divides by √2 */
static int is_other_divisor(const struct attn_placing *x, const struct attn_match *m) {
  const struct attn_placed *p = attn_next_placed(x, m->group[0].end, 1);
  attn_cell end = attn_placing_cell(x, m->group[0].end), cell;
  if (!p || p->place > attn_cell_place(&end) + 1 || p->step->op != ATTN_OP_DIVIDE) return 0;
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

void attn_list_factors(struct attn_placing *x) {
  static const char POWER[] = "(?<=[\\w)\\]])[ ]?\\*\\*[ ]?\\(?(\\d++\\.\\d++)(?!\\w)";
  static const char DIVISOR[] =
      "[/\\x{F7}][ ]?(\\d++(?:\\.\\d++)?+)[ ]?(?:=|\\x{2248}|\\\\approx\\b)[ "
      "]?(?=[-\\x{2212}.\\d])";
  static const char NUMERATOR[] =
      "(?<![\\w.)\\]])(\\d++(?:\\.\\d++)?+)[ ]?/[ ]?(?:\\x{221A}|\\\\?sqrt\\b|Sqrt\\b)";
  check_sums(x);
  attn_list_numbers(x, POWER, is_other_power);
  attn_list_numbers(x, DIVISOR, is_other_divisor);
  attn_list_numbers(x, NUMERATOR, is_other_numerator);
}
