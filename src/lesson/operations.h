/* operations.h -- one row per attn_step_op: its operands, its value, its value over intervals. */
#ifndef ATTN_LESSON_OPERATIONS_H
#define ATTN_LESSON_OPERATIONS_H

#include "interval_arithmetic.h"

/* One evaluation: of a step from its operands into out. */
struct attn_eval_call {
  const attn_step *step;
  const attn_matrix *const *operand;
  struct attn_pool *pool;
  attn_matrix *out;
  attn_error *err;
};
struct attn_interval_call {
  const attn_step *step;
  const struct attn_interval_matrix *const *operand;
  double slack;
  struct attn_pool *pool;
  struct attn_interval_matrix *out;
  attn_error *err;
};
typedef attn_status attn_eval_operation(const struct attn_eval_call *call);
typedef attn_status attn_interval_operation(const struct attn_interval_call *call);

struct attn_operation {
  int32_t operands; /* the fewest it takes */
  attn_eval_operation *eval;
  attn_interval_operation *interval; /* NULL: eval of the lower ends, and of the upper ends */
};

extern const struct attn_operation attn_operations[]; /* ATTN_OP_COUNT */

int attn_is_product(int op); /* of two matrices, one of which may be transposed */

/* eval.c */
attn_eval_operation attn_eval_given, attn_eval_product, attn_eval_transpose, attn_eval_divide,
    attn_eval_mask, attn_eval_softmax, attn_eval_exp, attn_eval_sum, attn_eval_quotient,
    attn_eval_add, attn_eval_append, attn_eval_general, attn_eval_additive, attn_eval_positions,
    attn_eval_tanh, attn_eval_shift, attn_eval_softmax_gradient, attn_eval_columns;

/* interval_arithmetic.c */
attn_interval_operation attn_interval_product, attn_interval_softmax, attn_interval_sum,
    attn_interval_quotient, attn_interval_general, attn_interval_additive, attn_interval_shift,
    attn_interval_softmax_gradient;

#endif
