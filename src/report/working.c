/* working.c -- the sum behind one number. */
#include <math.h>
#include <stdio.h>

#include "out.h"

static double at(const attn_matrix *m, int32_t i, int32_t j) { return m->at[(int64_t)i * m->cols + j]; }

static void number(struct attn_out *out, double value) {
  char text[ATTN_NUMBER_BYTES];
  attn_out_text(out, attn_number_text(out, value, text));
}

/* A negative number behind a sign stands in brackets. */
static void factor(struct attn_out *out, double value) {
  if (value < 0) attn_out_text(out, "(");
  number(out, value);
  if (value < 0) attn_out_text(out, ")");
}

static void sum_of_products(struct attn_out *out, const attn_matrix *a, int ta, const attn_matrix *b,
                            int tb, int32_t row, int32_t col) {
  int32_t inner = ta ? a->rows : a->cols;
  for (int32_t k = 0; k < inner; k++) {
    if (k == 12 && inner > 16) {
      attn_out_format(out, " + ... (%d terms)", (int)inner);
      return;
    }
    if (k) attn_out_text(out, " + ");
    factor(out, ta ? at(a, k, row) : at(a, row, k));
    attn_out_text(out, " x ");
    factor(out, tb ? at(b, col, k) : at(b, k, col));
  }
}

static void exponential(struct attn_out *out, double x) {
  attn_out_text(out, "e^");
  factor(out, x);
}

static void softmax(struct attn_out *out, const attn_matrix *a, int axis, int32_t row, int32_t col) {
  int32_t count = axis ? a->cols : a->rows;
  double sum = 0, top = -(double)INFINITY;
  for (int32_t k = 0; k < count; k++) top = fmax(top, axis ? at(a, row, k) : at(a, k, col));
  /* Beyond e^30 the plain exponentials say nothing: subtract the maximum, as programs do. */
  double less = top > 30 ? top : 0;
  exponential(out, at(a, row, col) - less);
  attn_out_text(out, " / (");
  for (int32_t k = 0; k < count; k++) {
    double x = (axis ? at(a, row, k) : at(a, k, col)) - less;
    sum += exp(x);
    if (k) attn_out_text(out, " + ");
    exponential(out, x);
  }
  attn_out_text(out, ") = ");
  number(out, exp(at(a, row, col) - less));
  attn_out_text(out, " / ");
  number(out, sum);
}

static void sum_of_line(struct attn_out *out, const attn_matrix *a, int axis, int32_t row, int32_t col) {
  int32_t count = axis ? a->cols : a->rows;
  for (int32_t k = 0; k < count; k++) {
    if (k) attn_out_text(out, " + ");
    factor(out, axis ? at(a, row, k) : at(a, k, col));
  }
}

static void by_operation(struct attn_out *out, const attn_example *e, const attn_step *s,
                         int32_t row, int32_t col) {
  const attn_matrix *a = s->operands > 0 ? &e->step[s->operand[0]].exact : NULL;
  const attn_matrix *b = s->operands > 1 ? &e->step[s->operand[1]].exact : NULL;
  switch (s->op) {
    case ATTN_OP_MATMUL: sum_of_products(out, a, 0, b, 0, row, col); break;
    case ATTN_OP_MATMUL_NT: sum_of_products(out, a, 0, b, 1, row, col); break;
    case ATTN_OP_MATMUL_TN: sum_of_products(out, a, 1, b, 0, row, col); break;
    case ATTN_OP_DIVIDE:
      factor(out, at(a, row, col));
      attn_out_text(out, " / ");
      if (s->scaled_by) attn_out_format(out, "sqrt(%d) = ", (int)s->scaled_by), factor(out, at(a, row, col)), attn_out_text(out, " / ");
      number(out, s->scalar);
      break;
    case ATTN_OP_SOFTMAX: softmax(out, a, s->axis, row, col); break;
    case ATTN_OP_EXP: exponential(out, at(a, row, col)); break;
    case ATTN_OP_SUM: sum_of_line(out, a, s->axis, row, col); break;
    case ATTN_OP_QUOTIENT:
      factor(out, at(a, row, col));
      attn_out_text(out, " / ");
      factor(out, s->axis ? at(b, row, 0) : at(b, 0, col));
      break;
    case ATTN_OP_ADD:
      factor(out, at(a, row, col));
      attn_out_text(out, " + ");
      factor(out, at(b, row, col));
      break;
    default: attn_out_text(out, attn_step_label(s->name)); break;
  }
}

void attn_out_working(struct attn_out *out, const attn_example *e, int32_t step, int32_t row,
                      int32_t col) {
  const attn_step *s = &e->step[step];
  attn_out_format(out, "%s[%d,%d] = ", attn_step_label(s->name), (int)row, (int)col);
  if (s->op != ATTN_OP_GIVEN) {
    by_operation(out, e, s, row, col);
    attn_out_text(out, " = ");
  }
  number(out, at(&s->exact, row, col));
}
