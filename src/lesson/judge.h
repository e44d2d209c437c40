/* judge.h -- the judge's view of one example, step by step. */
#ifndef ATTN_LESSON_JUDGE_H
#define ATTN_LESSON_JUDGE_H

#include "interval_arithmetic.h"

/* One step: what is printed, what it may be with rounding, and what became of each cell. Arrays
 * have a cell for each of the step's matrix. */
struct attn_judged {
  const attn_cell **printed; /* the best printing, or NULL */
  int decimals;              /* the most decimals of a literal */
  int significant;           /* the most digits that count */
  double largest;            /* the largest magnitude that no mask hides */
  int has_fractions;         /* 1/2: whole numbers among them are exact */
  int is_rounded;            /* also to whole numbers: an exponential is none */
  int *verdict;              /* attn_judgement; NOT_GIVEN where nothing is printed */
  int rounded_divisor;       /* DIVIDE: the author divided by a rounded root */
  int worst;
  int tainted;                        /* wrong, or computed from something wrong */
  attn_matrix followed;               /* computed from the author's own numbers */
  attn_matrix carried;                /* the author's numbers: printed, or followed */
  struct attn_interval_matrix range;  /* values with rounding, from the right numbers */
  struct attn_interval_matrix open;   /* values with rounding, from the author's own numbers */
  struct attn_interval_matrix right;  /* this step as an operand of right steps */
  struct attn_interval_matrix author; /* and as the author has it */
};

/* Judges all steps; *judged has one for each, from pool. */
attn_status attn_judge_example(const attn_example *example, struct attn_pool *pool,
                               struct attn_judged **judged, attn_error *err);

/* Is what cell n of the step prints a rounding of value? */
int attn_judged_fits(const struct attn_judged *judged, size_t n, double value);

/* check.c: values of a step that are wrong or doubtful; not those that follow from an earlier one.
 */
int32_t attn_errors_of(const attn_step_verdict *v);

/* causes.c: the likely cause of a wrong step. */
attn_status attn_find_cause(const attn_example *example, const struct attn_judged *judged,
                            int32_t step, int32_t *cause, attn_error *err);

#endif
