/* causes.h -- what the files of the search for a cause share. */
#ifndef ATTN_LESSON_CAUSES_H
#define ATTN_LESSON_CAUSES_H

#include "judge.h"

struct attn_cause_search {
  const attn_example *example;
  const struct attn_judged *all, *judged; /* of all steps; of this one */
  const attn_step *step;
  int32_t index; /* of this step */
  struct attn_pool *pool;
  size_t cells;
  unsigned as_printed; /* bit n: operand n is read as printed, else as exact */
  double work;         /* multiplications left: a large wrong matrix is not tried forever */
  int out_of_memory;
};

/* Cells of one row or column: `count` of them, `stride` apart. */
struct attn_cell_line {
  size_t first, stride, count;
  int is_query; /* what one query sees or gets */
};

/* ---- causes.c ---- */

/* Operand n of a step, as printed or as exact. Where it depends on a wrong number: as printed. */
const attn_matrix *attn_cause_operand(const struct attn_cause_search *h, const attn_step *step,
                                      int32_t n);
/* 0: there is no such value, or too much work was done. */
int attn_cause_eval(struct attn_cause_search *h, const attn_step *step,
                    const attn_matrix *const *operand, attn_matrix *out);
/* Takes count * each from the work that is left; 0: too much. */
int attn_cause_afford(struct attn_cause_search *h, double count, double each);
/* Is value what cell n prints, give or take one unit: values of another step were rounded once
 * more. Of a wrong cell it must be twice as near to what is printed as the right value. */
int attn_cause_fits(const struct attn_cause_search *h, size_t n, double value);
/* Wrong or doubtful cells of a line. */
size_t attn_cause_misses(const struct attn_cause_search *h, struct attn_cell_line line);

/* ---- cause_cells.c: a slip in single numbers ---- */

/* The numbers of another line. */
int attn_cause_of_other_line(struct attn_cause_search *h, struct attn_cell_line line);
/* The whole step is the transpose of what it should be. */
int attn_cause_of_swap(struct attn_cause_search *h);
/* One operand with two digits exchanged. */
int attn_cause_of_operand(struct attn_cause_search *h, struct attn_cell_line line);
/* Every wrong cell was rounded too early. */
int attn_cause_of_rounding(struct attn_cause_search *h);
int attn_cause_of_cell(struct attn_cause_search *h, size_t n);

#endif
