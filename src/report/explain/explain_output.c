/* explain_output.c -- the weighted sum of the values; concatenated and projected heads. */
#include "explain.h"
#include "matrix_cells.h"
#include "working.h"

enum { VECTOR_MAX = 8 };

/* "output[は,:] = 0.5×[1, 0] + 0.5×[0, 1] = [0.5, 0.5]" */
static void put_weighted_sum(struct attn_explanation *t, const attn_step *s, int32_t row) {
  const attn_matrix *a = &t->example->step[s->operand[0]].exact;
  const attn_matrix *v = &t->example->step[s->operand[1]].exact;
  int down = s->op == ATTN_OP_MATMUL_TN;
  char address[ATTN_ADDRESS_BYTES];
  attn_out_whole(t->out, attn_address(t->example, s, row, -1, address));
  attn_out_flow(t->out, " = ");
  for (int32_t k = 0; k < v->rows; k++) {
    attn_out_values(t->out, k ? " + @×" : "@×", attn_line_at(a, !down, row, k));
    attn_out_vector(t->out, v->at + attn_cell_index(v, k, 0), v->cols, 0);
  }
  attn_out_flow(t->out, " = ");
  attn_out_vector(t->out, s->exact.at + attn_cell_index(&s->exact, row, 0), s->exact.cols, 0);
}

void attn_explain_output(struct attn_explanation *t, const attn_step *s) {
  char name[ATTN_LABEL_BYTES];
  const attn_matrix *v = &t->example->step[s->operand[1]].exact;
  attn_explain_once(t, MESSAGE_WHAT_OUTPUT);
  if (v->cols > VECTOR_MAX || v->rows > ATTN_LINES || s->op == ATTN_OP_MATMUL_NT)
    return attn_explain_cell(t, s);
  int32_t row = t->query < s->exact.rows ? t->query : 0;
  attn_out_message(t->out, MESSAGE_WEIGHTED_SUM, attn_name_in_text(t, ATTN_AXIS_QUERIES, row, name),
                   NULL);
  attn_out_line(t->out, ATTN_INDENT + 2);
  put_weighted_sum(t, s, row);
  attn_out_line(t->out, ATTN_INDENT);
}

/* Sums and concatenations. */
void attn_explain_joined(struct attn_explanation *t, const attn_step *s) {
  attn_explain_once(t, s->name == ATTN_STEP_CONCAT ? MESSAGE_WHAT_CONCAT
                       : s->op == ATTN_OP_ADD      ? MESSAGE_WHAT_ADD
                                                   : MESSAGE_WHAT_APPEND);
  attn_explain_cell(t, s);
}
