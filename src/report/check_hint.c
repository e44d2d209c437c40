/* check_hint.c -- attn_check_hint: the rule of a step, the operands of a value, its computation. */
#include "error.h"
#include "matrix_cells.h"
#include "number_text.h"
#include "operation_text.h"
#include "step_labels.h"

enum { RULE = 1, OPERANDS = 2, COMPUTATION = 3, TERMS = 12 };

struct hint {
  struct attn_out *out;
  const attn_example *example;
  const attn_step *step;
  int32_t row, col;
  int32_t shown; /* operands so far */
};

/* ---- The rule, in the sentences of attn_lesson_template ---- */

static int projection_rule(const attn_example *e) {
  if (attn_step_named(e, ATTN_STEP_Y)) return MESSAGE_NEW_PROJECT_CROSS;
  return attn_step_named(e, ATTN_STEP_POSITIONS) ? MESSAGE_NEW_PROJECT_PLACED : MESSAGE_NEW_PROJECT;
}

/* Without placeholders; -1: the formula is all. */
static int rule_of(const attn_example *e, const attn_step *s) {
  const int columns = e->orientation == ATTN_QUERIES_IN_COLUMNS;
  switch (s->name) {
    case ATTN_STEP_Q:
    case ATTN_STEP_K:
    case ATTN_STEP_V:
      return projection_rule(e);
    case ATTN_STEP_SCORES:
      if (s->op != ATTN_OP_MATMUL && s->op != ATTN_OP_MATMUL_NT) return -1;
      return columns ? MESSAGE_NEW_SCORES_COLUMNS : MESSAGE_NEW_SCORES;
    case ATTN_STEP_MASKED:
      return MESSAGE_NEW_MASKED;
    case ATTN_STEP_WEIGHTS:
      return columns ? MESSAGE_NEW_WEIGHTS_COLUMNS : MESSAGE_NEW_WEIGHTS;
    case ATTN_STEP_OUTPUT:
      return columns ? MESSAGE_NEW_OUTPUT_COLUMNS : MESSAGE_NEW_OUTPUT;
    case ATTN_STEP_CONCAT:
      return MESSAGE_NEW_CONCAT;
    case ATTN_STEP_PROJECTED:
      return MESSAGE_NEW_PROJECTED;
    default:
      return s->op == ATTN_OP_ADD ? MESSAGE_NEW_PLACED : -1;
  }
}

static void put_scaling(const struct hint *h) {
  attn_out_message(h->out, MESSAGE_NEW_SCALED, ATTN_INTEGER_TEXT(h->step->scaled_by),
                   ATTN_NUMBER_TEXT(h->step->scalar, h->out->style.precision), NULL);
}

static void put_rule(const struct hint *h) {
  char relation[ATTN_RELATION_BYTES];
  const attn_step *s = h->step;
  const int rule = rule_of(h->example, s);
  attn_out_flow(h->out, attn_relation_text(h->example, s, h->out->style.precision, relation));
  attn_out_message(h->out, MESSAGE_STOP, NULL);
  attn_out_line(h->out, 2);
  if (s->op == ATTN_OP_DIVIDE && s->scaled_by) put_scaling(h);
  if (s->op == ATTN_OP_POSITIONS && !s->base && s->exact.cols <= 4)
    attn_out_message(h->out, MESSAGE_NEW_POSITIONS, ATTN_POSITIONS_TEXT(s->exact.cols), NULL);
  if (rule >= 0) attn_out_message(h->out, rule, NULL);
  attn_out_line(h->out, 2);
}

/* A slip of a whole step; nothing where a single value is wrong. */
static void put_cause(const struct hint *h, const attn_check *check, int32_t example) {
  const int32_t step = (int32_t)(h->step - h->example->step);
  const attn_step_verdict *v = check ? attn_explain_verdict(&check->example[example], step) : NULL;
  if (!v || v->cause == ATTN_CAUSE_NONE || v->cause == ATTN_CAUSE_UNKNOWN) return;
  attn_out_message(h->out, MESSAGE_LIKELY_CAUSE, NULL);
  attn_out_message(h->out, MESSAGE_CAUSE + v->cause, NULL);
  attn_out_message(h->out, MESSAGE_STOP, NULL);
  attn_out_line(h->out, 2);
}

/* ---- The operands ---- */

static void put_operand(void *context, int32_t operand, int32_t row, int32_t col) {
  struct hint *h = context;
  const attn_step *s = &h->example->step[operand];
  char text[ATTN_ADDRESS_BYTES];
  if (h->shown++ > TERMS) return;
  if (h->shown > 1) attn_out_flow(h->out, ", ");
  if (h->shown > TERMS) return attn_out_flow(h->out, "…");
  attn_out_whole(h->out, attn_address(h->example, s, row, col, text));
  attn_out_values(h->out, " = #", attn_cell_at(&s->exact, row, col));
}

static void put_operands(struct hint *h) {
  const struct attn_operation_text *operation = attn_operation_text(h->step->op);
  const struct attn_worked_cell cell = {h->out, h->example, h->step, h->row, h->col, TERMS};
  attn_out_message(h->out, MESSAGE_HINT_OPERANDS, NULL);
  if (operation->visit)
    attn_operand_cells(h->example, h->step, h->row, h->col, put_operand, h);
  else if (operation->working)
    operation->working(&cell);
  attn_out_line(h->out, 2);
}

/* ---- A hint ---- */

static const attn_step *step_at(const attn_lesson *lesson, int32_t example, int32_t step,
                                int32_t row, int32_t col) {
  if (example < 0 || example >= lesson->examples) return NULL;
  const attn_example *e = &lesson->example[example];
  if (step < 0 || step >= e->steps || e->step[step].op == ATTN_OP_GIVEN) return NULL;
  const attn_matrix *m = &e->step[step].exact;
  return row < 0 || row >= m->rows || col < 0 || col >= m->cols ? NULL : &e->step[step];
}

attn_status attn_check_hint(const attn_lesson *lesson, const attn_check *check,
                            const attn_hint_place *place, const attn_style *style,
                            const attn_sink *sink, attn_error *err) {
  struct attn_out out;
  if (!lesson || !place) return attn_fail(err, ATTN_ERR_ARGUMENT, "place", "a pointer is NULL");
  const attn_step *s = step_at(lesson, place->example, place->step, place->row, place->col);
  if (!s)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "place", "the lesson has no such computed value");
  if (place->level < RULE || place->level > COMPUTATION)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "level", "level must be between 1 and 3, got %d",
                     (int)place->level);
  attn_out_begin(&out, style, sink);
  struct hint h = {&out, &lesson->example[place->example], s, place->row, place->col, 0};
  put_rule(&h);
  put_cause(&h, check, place->example);
  if (place->level == OPERANDS) put_operands(&h);
  if (place->level == COMPUTATION) {
    attn_out_working(&out, h.example, s, place->row, place->col, TERMS);
    attn_out_line(&out, 2);
  }
  return attn_out_end(&out, err);
}
