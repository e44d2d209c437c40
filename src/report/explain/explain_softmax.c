/* explain_softmax.c -- exponentials, their sum and the quotients of one query. */
#include <math.h>

#include "explain.h"
#include "matrix_cells.h"
#include "number_text.h"
#include "working.h"

struct softmax_line {
  struct attn_explanation *t;
  const attn_matrix *from; /* the operand of softmax */
  int32_t axis, line, count;
  double shift, sum;
};

static double exponent(const struct softmax_line *r, int32_t k) {
  return attn_line_at(r->from, r->axis, r->line, k) - r->shift;
}

/* "e^0.5 = 1.6487" */
static void put_exponential(const struct softmax_line *r, int32_t k) {
  attn_out_values(r->t->out, "e^@ = #", exponent(r, k), exp(exponent(r, k)));
}

static void put_summand(const struct softmax_line *r, int32_t k) {
  attn_out_number(r->t->out, exp(exponent(r, k)));
}

static void put_quotient(const struct softmax_line *r, int32_t k) {
  const double e = exp(exponent(r, k));
  attn_out_values(r->t->out, "# / # = #", e, r->sum, e / r->sum);
}

/* One line: a message, then a piece for each key. */
static void put_line(const struct softmax_line *r, int message,
                     void (*put)(const struct softmax_line *, int32_t), const char *between) {
  struct attn_out *out = r->t->out;
  attn_out_line(out, ATTN_INDENT + 2);
  attn_out_message(out, message, NULL);
  for (int32_t k = 0; k < r->count; k++) {
    if (k) attn_out_flow(out, between);
    if (k >= ATTN_TERMS && r->count > ATTN_TERMS + 1) {
      attn_out_flow(out, "…");
      return;
    }
    put(r, k);
  }
}

static void put_row(const struct softmax_line *r) {
  struct attn_out *out = r->t->out;
  if (r->shift != 0) {
    attn_out_line(out, ATTN_INDENT + 2);
    attn_out_message(out, MESSAGE_MINUS_MAXIMUM, ATTN_NUMBER_TEXT(r->shift, out->style.precision),
                     NULL);
  }
  put_line(r, MESSAGE_EXPONENTIALS_ARE, put_exponential, ", ");
  put_line(r, MESSAGE_SUM_IS, put_summand, " + ");
  attn_out_values(out, " = #", r->sum);
  put_line(r, MESSAGE_QUOTIENTS_ARE, put_quotient, ", ");
}

void attn_explain_softmax(struct attn_explanation *t, const attn_step *s) {
  char name[ATTN_LABEL_BYTES];
  struct softmax_line r = {t, &t->example->step[s->operand[0]].exact, s->axis, t->query, 0, 0, 0};
  attn_explain_once(t, s->axis ? MESSAGE_WHAT_SOFTMAX_ROWS : MESSAGE_WHAT_SOFTMAX_COLUMNS);
  r.count = attn_line_length(r.from, r.axis);
  if (r.line >= attn_line_length(r.from, !r.axis)) r.line = 0;
  r.shift = attn_softmax_shift(r.from, r.axis, r.line);
  for (int32_t k = 0; k < r.count; k++) r.sum += exp(exponent(&r, k));
  attn_name_in_text(t, ATTN_AXIS_QUERIES, r.line, name);
  if (r.sum > 0) {
    attn_out_message(t->out, s->axis ? MESSAGE_ONE_ROW : MESSAGE_ONE_COLUMN, name, NULL);
    put_row(&r);
  } else {
    attn_out_message(t->out, MESSAGE_MASKED_ALL, name, NULL);
  }
  attn_out_line(t->out, ATTN_INDENT);
}

/* The same for a document that prints each of the three as a step. */
void attn_explain_exponentials(struct attn_explanation *t, const attn_step *s) {
  attn_explain_once(t, s->op == ATTN_OP_EXP   ? MESSAGE_WHAT_EXP
                       : s->op == ATTN_OP_SUM ? MESSAGE_WHAT_SUM
                                              : MESSAGE_WHAT_QUOTIENT);
  (s->op == ATTN_OP_SUM ? attn_explain_cell : attn_explain_query)(t, s);
}
