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

static int is_near(double value, const attn_cell *cell) {
  return fabs(fabs(value) - cell->value) <= 3 * attn_cell_half(cell) + 1e-9 * (1 + fabs(value));
}

/* Is it the number of a cell, as it should be or as it is printed? */
static int is_cell(const attn_step *s, int row, int col, const attn_cell *cell) {
  if (row >= s->exact.rows || col >= s->exact.cols) return 0;
  if (is_near(s->exact.at[row * s->exact.cols + col], cell)) return 1;
  for (int32_t n = 0; n < s->printings; n++) {
    const attn_printing *p = &s->printing[n];
    int i = row - p->row0, j = col - p->col0;
    if (i >= 0 && i < p->rows && j >= 0 && j < p->cols &&
        is_near(p->cells[i * p->cols + j].value, cell))
      return 1;
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
  const attn_printing *g = p->printing;
  const attn_cell *cell = &g->cells[(p->row - g->row0) * g->cols + p->col - g->col0];
  const attn_matrix *m = &p->step->exact;
  if (p->row >= m->rows || p->col >= m->cols) return 0;
  double value = m->at[p->row * m->cols + p->col];
  return fabs(value - cell->value) <= 3 * attn_cell_half(cell) + 1e-9 * (1 + fabs(value));
}

static int is_product(const attn_step *s) {
  return s->op == ATTN_OP_MATMUL || s->op == ATTN_OP_MATMUL_NT || s->op == ATTN_OP_MATMUL_TN;
}

/* The number of a step that a sum is, or is equal to: it begins there, or behind the sign. */
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

/* ---- divisors ---- */

/* "4 / 1.5 = 2.83" where the step divides by √2 */
static void check_divisors(struct attn_placing *x) {
  static const char DIVISOR[] =
      "[/\\x{F7}][ ]?(\\d++(?:\\.\\d++)?+)[ ]?(?:=|\\x{2248}|\\\\approx\\b)[ "
      "]?(?=[-\\x{2212}.\\d])";
  struct attn_match m;
  attn_cell cell;
  for (size_t at = 0; attn_placing_find(x, DIVISOR, at, &m); at = m.group[0].end) {
    const struct attn_placed *p = attn_next_placed(x, m.group[0].end, 1);
    attn_cell end = attn_placing_cell(x, m.group[0].end);
    if (!p || p->place > attn_cell_place(&end) + 1 || p->step->op != ATTN_OP_DIVIDE) continue;
    if (attn_scan_part(x->text, m.group[1], &cell) && !is_near(p->step->scalar, &cell))
      attn_list_number(x, m.group[1], m.group[0].begin);
  }
}

/* "8/√2": the 1 of "1/√2", or a score. */
static void check_numerators(struct attn_placing *x) {
  static const char NUMERATOR[] =
      "(?<![\\w.)\\]])(\\d++(?:\\.\\d++)?+)[ ]?/[ ]?(?:\\x{221A}|\\\\?sqrt\\b|Sqrt\\b)";
  struct attn_match m;
  attn_cell cell;
  for (size_t at = 0; attn_placing_find(x, NUMERATOR, at, &m); at = m.group[0].end)
    if (attn_scan_part(x->text, m.group[1], &cell) && cell.value != 1 &&
        !attn_is_known_operand(x->a->operands, &cell))
      attn_list_number(x, m.group[1], m.group[0].begin);
}

/* "d_k ** 1.5": only a root divides scores. */
static void check_powers(struct attn_placing *x) {
  static const char POWER[] = "(?<=[\\w)\\]])[ ]?\\*\\*[ ]?\\(?(\\d++\\.\\d++)(?!\\w)";
  struct attn_match m;
  attn_cell cell;
  for (size_t at = 0; attn_placing_find(x, POWER, at, &m); at = m.group[0].end)
    if (attn_scan_part(x->text, m.group[1], &cell) && cell.value != .5)
      attn_list_number(x, m.group[1], m.group[0].begin);
}

void attn_list_factors(struct attn_placing *x) {
  check_powers(x);
  check_sums(x);
  check_divisors(x);
  check_numerators(x);
}
