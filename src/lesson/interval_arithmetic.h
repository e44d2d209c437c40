/* interval_arithmetic.h -- a step evaluated over intervals: every value that rounding may
 * give. */
#ifndef ATTN_LESSON_INTERVAL_ARITHMETIC_H
#define ATTN_LESSON_INTERVAL_ARITHMETIC_H

#include "eval.h"

struct attn_interval {
  double lo, hi;
};

struct attn_interval_matrix {
  attn_matrix lo, hi;
};

/* Like attn_eval_step. slack: half a unit of the digits that intermediate products and
 * exponentials may have been rounded to; 0: they were not. */
attn_status attn_interval_step(const attn_step *step,
                               const struct attn_interval_matrix *const *operand, double slack,
                               struct attn_pool *pool, struct attn_interval_matrix *out,
                               attn_error *err);

#endif
