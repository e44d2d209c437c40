/* vector_factors.c -- "(1, 2) · (0, 3) = 6", "0.2·(1, 2) + 0.8·(0, 3) = (0.2, 2.8)": are the
 * vectors and the weights those that the result is of? */
#include <string.h>

#include "factors.h"

enum { NUMBERS_MAX = 16, TERMS_MAX = 12, GAP = 24 }; /* columns from a product to its result */

struct vector {
  struct attn_part part[NUMBERS_MAX];
  attn_cell number[NUMBERS_MAX];
  int numbers;
};

/* 0.2 · (1, 2) */
struct term {
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

/* The result of a product that ends there: nothing else is between. */
static const struct attn_placed *result_after(const struct attn_placing *x, size_t end) {
  const struct attn_placed *p = attn_next_placed(x, end, 1);
  int column = attn_placing_cell(x, end).column;
  int gap = p ? (int)(p->place & UINT32_MAX) - column : GAP;
  for (int n = 0; n < gap && gap < GAP; n++)
    if (x->text[end + (size_t)n] >= '0' && x->text[end + (size_t)n] <= '9') return NULL;
  return gap < GAP ? p : NULL;
}

/* Lists the first number that is not the result's, if most are. */
static void check_vectors(struct attn_placing *x, const struct attn_placed *p,
                          const struct vector *a, const struct vector *b) {
  struct attn_part other = {0, 0};
  int others = 0, numbers = a->numbers;
  if (attn_terms_of(p) != numbers || b->numbers != numbers) return;
  for (int n = 0; n < 2 * numbers; n++) {
    const struct vector *v = n < numbers ? a : b;
    int at = n % numbers;
    int is_own =
        v == a ? attn_is_left(p, at, &a->number[at]) : attn_is_right(p, at, p->col, &b->number[at]);
    if (!is_own && !others++) other = v->part[at];
  }
  if (others && others <= numbers / 2) attn_list_number(x, other, other.begin);
}

static void check_products(struct attn_placing *x) {
  static const char PRODUCT[] = VECTOR ATTN_TIMES VECTOR;
  struct attn_match m;
  struct vector a, b;
  for (size_t at = 0; attn_placing_find(x, PRODUCT, at, &m); at = m.group[0].end) {
    const struct attn_placed *p = result_after(x, m.group[0].end);
    if (p && read_vector(x, m.group[1], &a) && read_vector(x, m.group[2], &b))
      check_vectors(x, p, &a, &b);
  }
}

/* ---- a sum of vectors ---- */

static int read_terms(const struct attn_placing *x, struct attn_match *m,
                      struct term term[TERMS_MAX]) {
  static const char NEXT[] = PLUS TERM;
  int terms = 0;
  do {
    if (terms == TERMS_MAX) return 0;
    struct term *t = &term[terms++];
    t->part = m->group[1];
    if (!attn_scan_part(x->text, t->part, &t->weight) || !read_vector(x, m->group[2], &t->vector))
      return 0;
  } while (attn_match_at(x->a->scan->patterns, NEXT, x->text, x->bytes, m->group[0].end, m));
  return terms;
}

/* The numbers of a term that are not those of a row; the first of them. */
static int count_others(const struct attn_placed *p, int row, const struct term *t,
                        struct attn_part *first) {
  int others = !attn_is_left(p, row, &t->weight);
  *first = t->part;
  for (int n = 0; n < t->vector.numbers; n++)
    if (!attn_is_right(p, row, n, &t->vector.number[n]) && !others++) *first = t->vector.part[n];
  return others;
}

/* Each term is that of the row with which it has the most in common. */
static void check_terms(struct attn_placing *x, const struct attn_placed *p,
                        const struct term *term, int terms) {
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
  struct term term[TERMS_MAX];
  struct attn_match m;
  for (size_t at = 0; attn_placing_find(x, FIRST, at, &m); at = m.group[0].end) {
    int terms = read_terms(x, &m, term);
    const struct attn_placed *p = terms > 1 ? attn_result_at(x, m.group[0].end, 0) : NULL;
    if (p && p->col == 0) check_terms(x, p, term, terms);
  }
}

void attn_list_vectors(struct attn_placing *x) {
  check_products(x);
  check_sums_of_vectors(x);
}
