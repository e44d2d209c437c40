/* cause_search.h -- what a search for the cause of a wrong step is made of. */
#ifndef ATTN_LESSON_CAUSE_SEARCH_H
#define ATTN_LESSON_CAUSE_SEARCH_H

#include <math.h>

#include "judge.h"
#include "operations.h"

struct cause_search {
  const attn_example *example;
  const struct attn_judged *all, *judged; /* of all steps; of this one */
  const attn_step *step;
  struct attn_pool *pool;
  size_t cells;
  unsigned as_printed; /* bit n: operand n is read as printed, else as exact */
  double work;         /* multiplications left: a large wrong matrix is not tried forever */
  int out_of_memory;
};

/* Cells of one row or column: `count` of them, `stride` apart. */
struct cell_line {
  size_t first, stride, count;
  int is_query; /* what one query sees or gets */
};

/* Is value what cell n prints, give or take one unit: values of another step were rounded once
 * more. Of a wrong cell it must be twice as near to what is printed as the right value. */
static inline int fits(const struct cause_search *h, size_t n, double value) {
  const attn_cell *cell = h->judged->printed[n];
  if (attn_judged_fits(h->judged, n, value)) return 1;
  double unit = pow(10, -(double)h->judged->decimals), off = fabs(cell->value - value);
  double right =
      fmin(fabs(cell->value - h->step->exact.at[n]), fabs(cell->value - h->judged->followed.at[n]));
  int better = h->judged->verdict[n] != ATTN_JUDGED_WRONG || 2 * off < right;
  return cell->kind == ATTN_CELL_NUMBER && h->judged->decimals > 0 && off <= unit && better;
}

static inline int is_miss(const struct cause_search *h, size_t n) {
  return h->judged->verdict[n] == ATTN_JUDGED_WRONG ||
         h->judged->verdict[n] == ATTN_JUDGED_DOUBTFUL;
}

/* Wrong or doubtful cells of a line. */
static inline size_t misses(const struct cause_search *h, struct cell_line line) {
  size_t count = 0;
  for (size_t n = 0; n < line.count; n++) count += is_miss(h, line.first + n * line.stride) != 0;
  return count;
}

/* The right number. */
static inline double exact(const struct cause_search *h, size_t n) { return h->step->exact.at[n]; }

static inline struct cell_line all_cells(const struct cause_search *h) {
  return (struct cell_line){0, 1, h->cells, 0};
}

/* Scores and weights are as the example has them; an output is turned as its weights are used. */
static inline int queries_in_columns(const struct cause_search *h) {
  const attn_step *s = h->step;
  int columns = h->example->orientation == ATTN_QUERIES_IN_COLUMNS;
  if (s->name != ATTN_STEP_OUTPUT || !attn_is_product(s->op)) return columns;
  return h->example->step[s->operand[1]].name == ATTN_STEP_WEIGHTS;
}

/* The row of cell n, or its column. */
static inline struct cell_line line_of(const struct cause_search *h, size_t n, int column) {
  size_t rows = (size_t)h->step->exact.rows, cols = (size_t)h->step->exact.cols;
  int is_query = column == queries_in_columns(h);
  return column ? (struct cell_line){n % cols, cols, rows, is_query}
                : (struct cell_line){n / cols * cols, 1, cols, is_query};
}

static inline struct cell_line query_of(const struct cause_search *h, size_t n) {
  return line_of(h, n, queries_in_columns(h));
}

/* softmax.c. Of weights: the slip of the softmax that explains all of them, or the row of the first
 * wrong one. */
int attn_cause_of_softmax(struct cause_search *h, size_t first);

#endif
