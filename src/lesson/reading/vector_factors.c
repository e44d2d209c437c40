/* vector_factors.c -- "(1, 2) · (0, 3) = 6", "0.2·(1, 2) + 0.8·(0, 3) = (0.2, 2.8)": are the
 * vectors and the weights those that the result is of? So is tanh of a vector. */
#include <math.h>

#include "cell.h"
#include "factors.h"

enum { NUMBERS_MAX = 16, WEIGHTED_MAX = 12, GAP = 24 }; /* columns from a product to its result */

struct vector {
  struct attn_part part[NUMBERS_MAX];
  attn_cell number[NUMBERS_MAX];
  int numbers;
};

/* 0.2 · (1, 2) */
struct weighted {
  struct attn_part part; /* of the weight */
  attn_cell weight;
  struct vector vector;
};

#define NUMBER ATTN_SIGN "?" ATTN_UNSIGNED
#define VECTOR \
  "[(\\[]" ATTN_SPACE "(" NUMBER "(?:" ATTN_SPACE "," ATTN_SPACE NUMBER ")+)" ATTN_SPACE "[)\\]]"
#define TERM ATTN_FACTOR ATTN_TIMES VECTOR
#define PLUS ATTN_SPACE "\\+" ATTN_SPACE

static int read_vector(const struct attn_placing *x, struct attn_part of, struct vector *v) {
  static const char UNSIGNED[] = ATTN_UNSIGNED;
  struct attn_match m;
  v->numbers = 0;
  for (size_t at = of.begin; attn_find(x->a->scan->patterns, UNSIGNED, x->text, of.end, at, &m);
       at = m.group[0].end) {
    if (v->numbers == NUMBERS_MAX) return 0;
    v->part[v->numbers] = m.group[0];
    if (!attn_scan_part(x->text, m.group[0], &v->number[v->numbers++])) return 0;
  }
  return 1;
}

/* ---- a product of two vectors ---- */

/* The numbers of two vectors that are not those of the row and the column; the first of them. */
static int count_other_numbers(const struct attn_placed *p, const struct vector *row,
                               const struct vector *column, struct attn_part *first) {
  int others = 0;
  for (int n = 0; n < row->numbers; n++) {
    if (!attn_is_left(p, n, &row->number[n]) && !others++) *first = row->part[n];
    if (!attn_is_right(p, n, p->col, &column->number[n]) && !others++) *first = column->part[n];
  }
  return others;
}

/* In the order in which they fit better: lists the first number that is not the result's, if most
 * are. */
static void check_vectors(struct attn_placing *x, const struct attn_placed *p,
                          const struct vector *a, const struct vector *b) {
  struct attn_part other, turned_other;
  if (attn_terms_of(p) != a->numbers || b->numbers != a->numbers) return;
  int others = count_other_numbers(p, a, b, &other);
  int turned = count_other_numbers(p, b, a, &turned_other);
  if (turned < others) others = turned, other = turned_other;
  if (others && others <= a->numbers / 2) attn_list_number(x, other, other.begin);
}

static void check_products(struct attn_placing *x) {
  static const char PRODUCT[] = VECTOR ATTN_TIMES VECTOR;
  struct attn_match m;
  struct vector a, b;
  for (size_t at = 0; attn_placing_find(x, PRODUCT, at, &m); at = m.group[0].end) {
    const struct attn_placed *p = attn_placed_after(x, m.group[0].end, GAP);
    if (p && read_vector(x, m.group[1], &a) && read_vector(x, m.group[2], &b))
      check_vectors(x, p, &a, &b);
  }
}

/* ---- a sum of vectors ---- */

static int read_terms(const struct attn_placing *x, struct attn_match *m,
                      struct weighted term[WEIGHTED_MAX]) {
  static const char NEXT[] = PLUS TERM;
  int terms = 0;
  do {
    if (terms == WEIGHTED_MAX) return 0;
    struct weighted *t = &term[terms++];
    t->part = m->group[1];
    if (!attn_scan_part(x->text, t->part, &t->weight) || !read_vector(x, m->group[2], &t->vector))
      return 0;
  } while (attn_match_at(x->a->scan->patterns, NEXT, x->text, x->bytes, m->group[0].end, m));
  return terms;
}

/* The numbers of a term that are not those of a row; the first of them. */
static int count_others(const struct attn_placed *p, int row, const struct weighted *t,
                        struct attn_part *first) {
  int others = !attn_is_left(p, row, &t->weight);
  *first = t->part;
  for (int n = 0; n < t->vector.numbers; n++)
    if (!attn_is_right(p, row, n, &t->vector.number[n]) && !others++) *first = t->vector.part[n];
  return others;
}

/* Each term is that of the row with which it has the most in common. */
static void check_terms(struct attn_placing *x, const struct attn_placed *p,
                        const struct weighted *term, int terms) {
  int rows = attn_terms_of(p);
  for (int n = 0; n < terms && terms <= rows; n++) {
    int least = term[n].vector.numbers + 1;
    struct attn_part other = term[n].part, first;
    for (int row = 0; row < rows; row++) {
      int others = count_others(p, row, &term[n], &first);
      if (others < least) least = others, other = first;
    }
    if (least == 1) attn_list_number(x, other, other.begin);
  }
}

static void check_sums_of_vectors(struct attn_placing *x) {
  static const char FIRST[] = "(?<![\\w.)^])" TERM "(?=" PLUS ")";
  struct weighted term[WEIGHTED_MAX];
  struct attn_match m;
  for (size_t at = 0; attn_placing_find(x, FIRST, at, &m); at = m.group[0].end) {
    int terms = read_terms(x, &m, term);
    const struct attn_placed *p = terms > 1 ? attn_result_at(x, m.group[0].end, 0) : NULL;
    if (p && p->col == 0) check_terms(x, p, term, terms);
  }
}

/* ---- tanh(1, 2) = (0.762, 0.964) ---- */

/* Is it the tanh of the other, within the rounding of both? */
static int is_tanh_of(const attn_cell *result, const attn_cell *of) {
  double half = attn_cell_half(result) + (of->decimals ? attn_cell_half(of) : 0);
  return fabs(tanh(of->value) - result->value) <= 1.5 * half;
}

static void check_tanh(struct attn_placing *x) {
  static const char TANH[] = "tanh(?:\\\\left)?" ATTN_SPACE VECTOR ATTN_SPACE
                             "&?(?:=|\\x{2248}|\\x{2192})" ATTN_SPACE VECTOR;
  struct attn_match m;
  struct vector of, result;
  for (size_t at = 0; attn_placing_find(x, TANH, at, &m); at = m.group[0].end) {
    if (!read_vector(x, m.group[1], &of) || !read_vector(x, m.group[2], &result)) continue;
    int n = 0;
    while (n < of.numbers && n < result.numbers && is_tanh_of(&result.number[n], &of.number[n]))
      n++;
    if (n < of.numbers) attn_list_number(x, of.part[n], of.part[n].begin);
  }
}

/* Is it a row of a step, but for the signs? */
static int is_row(const struct attn_placing *x, const struct vector *v) {
  for (int32_t e = 0; e < x->a->lesson->examples; e++) {
    const attn_example *ex = &x->a->lesson->example[e];
    for (int32_t s = 0; s < ex->steps; s++) {
      const attn_matrix *m = &ex->step[s].exact;
      x->a->work += m->rows;
      for (int32_t row = 0; m->at && m->cols == v->numbers && row < m->rows; row++) {
        int n = 0;
        while (n < v->numbers &&
               attn_cell_is_near(&v->number[n], fabs(m->at[row * m->cols + n]), 2))
          n++;
        if (n == v->numbers) return 1;
      }
    }
  }
  return 0;
}

/* "tanh((0, 0.5) + (2, 0))": the rows that are added. */
static void check_sums_in_tanh(struct attn_placing *x) {
  static const char SUM[] = "tanh" ATTN_SPACE "\\(" ATTN_SPACE VECTOR PLUS VECTOR ATTN_SPACE "\\)";
  struct attn_match m;
  struct vector v;
  for (size_t at = 0; x->a->work < ATTN_ACCOUNT_WORK && attn_placing_find(x, SUM, at, &m);
       at = m.group[0].end)
    for (int g = 1; g <= 2; g++)
      if (read_vector(x, m.group[g], &v) && !is_row(x, &v))
        attn_list_number(x, v.part[0], v.part[0].begin);
}

void attn_list_vectors(struct attn_placing *x) {
  check_tanh(x);
  check_sums_in_tanh(x);
  check_products(x);
  check_sums_of_vectors(x);
}
