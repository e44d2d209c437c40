/* operation_text.h -- one row per attn_step_op: how it is written, explained and worked out. */
#ifndef ATTN_REPORT_OPERATION_TEXT_H
#define ATTN_REPORT_OPERATION_TEXT_H

#include "explain.h"
#include "step_labels.h"
#include "working.h"

typedef void attn_explain_step(struct attn_explanation *t, const attn_step *s);
typedef void attn_write_working(const struct attn_worked_cell *w);
typedef void attn_visit_operands(const struct attn_worked_cell *w, attn_cell_visit visit,
                                 void *context);

/* What an axis of the result has in common with an operand; operand -1: with none. */
struct attn_axis_source {
  int operand, axis;
};

enum { ATTN_WITH_AXIS = 1, ATTN_WITH_SCALAR = 2 }; /* members of attn_step that the JSON has */

struct attn_operation_text {
  const char *json;            /* "matmul_nt" */
  const char *formula;         /* "0 1^T": a digit is an operand, # the divisor, * all
                                  operands, : the columns */
  attn_explain_step *explain;  /* NULL: nothing to explain */
  attn_write_working *working; /* NULL: the value alone */
  attn_visit_operands *visit;  /* NULL: no operands */
  int reported_as; /* attn_step_name in the check's JSON, of a step without a name there */
  struct attn_axis_source axis[2];
  int parameters;
};

/* Never NULL; an unknown operation is a GIVEN. */
const struct attn_operation_text *attn_operation_text(int32_t op);

/* explain.c; the other families are in explain.h */
attn_explain_step attn_explain_product;

/* working.c */
attn_write_working attn_write_product, attn_write_transpose, attn_write_divide, attn_write_mask,
    attn_write_softmax, attn_write_exp, attn_write_sum, attn_write_quotient, attn_write_add,
    attn_write_append, attn_write_general, attn_write_additive, attn_write_positions,
    attn_write_tanh, attn_write_shift, attn_write_softmax_gradient, attn_write_columns;
attn_visit_operands attn_visit_product, attn_visit_transpose, attn_visit_line, attn_visit_broadcast,
    attn_visit_append, attn_visit_alignment, attn_visit_columns;

#endif
