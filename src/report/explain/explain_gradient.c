/* explain_gradient.c -- the gradient of a step: which rule gives it, and one value worked out. */
#include "explain.h"

static int rule_of(const attn_step *s) {
  switch (s->op) {
    case ATTN_OP_MATMUL:
    case ATTN_OP_MATMUL_NT:
    case ATTN_OP_MATMUL_TN:
      return MESSAGE_GRADIENT_PRODUCT;
    case ATTN_OP_SOFTMAX_GRADIENT:
      return MESSAGE_GRADIENT_SOFTMAX;
    case ATTN_OP_DIVIDE:
      return MESSAGE_GRADIENT_SCALED;
    case ATTN_OP_MASK:
      return MESSAGE_GRADIENT_MASKED;
    case ATTN_OP_ADD:
      return MESSAGE_GRADIENT_SUM;
    default:
      return MESSAGE_GRADIENT_MOVED;
  }
}

static int is_sum(const attn_step *s) {
  for (int32_t n = 0; n < s->exact.rows * s->exact.cols; n++)
    if (s->exact.at[n] != 1) return 0;
  return 1;
}

void attn_out_loss(struct attn_out *out, const attn_example *e, const attn_step *s) {
  if (s->gradient_of < 1) return; /* ATTN_GRADIENT_PART: no loss is of it */
  const attn_step *of = &e->step[s->gradient_of - 1];
  char address[ATTN_ADDRESS_BYTES], name[ATTN_LABEL_BYTES];
  int32_t cell = 0;
  if (is_sum(s)) {
    attn_out_message(out, MESSAGE_LOSS_SUM, attn_step_text(e, of, name), NULL);
  } else {
    while (cell + 1 < s->exact.rows * s->exact.cols && s->exact.at[cell] != 1) cell++;
    attn_address(e, of, cell / s->exact.cols, cell % s->exact.cols, address);
    attn_out_message(out, MESSAGE_LOSS_CELL, address, NULL);
  }
}

void attn_explain_gradient(struct attn_explanation *t, const attn_step *s) {
  if (s->op == ATTN_OP_GIVEN) {
    attn_out_loss(t->out, t->example, s);
    attn_out_line(t->out, ATTN_INDENT);
    attn_explain_once(t, MESSAGE_WHAT_GRADIENT);
    return;
  }
  attn_explain_once(t, rule_of(s));
  attn_explain_cell(t, s);
}
