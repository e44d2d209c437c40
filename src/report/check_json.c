/* check_json.c -- attn_check_print_json: one line per file, docs/check.schema.json. */
#include <stdlib.h>

#include "check_text.h"
#include "error.h"
#include "json_writer.h"
#include "operation_text.h"

static const char *verdict_word(int32_t judgement) {
  switch (judgement) {
    case ATTN_JUDGED_OK:
      return "correct";
    case ATTN_JUDGED_DOUBTFUL:
      return "doubtful";
    case ATTN_JUDGED_CARRIED:
    case ATTN_JUDGED_WRONG:
      return "wrong";
    default:
      return "nothing_to_check";
  }
}

static const char *status_word(int32_t judgement) {
  static const char *const words[] = {"not_given", "ok", "doubtful", "carried", "wrong"};
  return words[judgement >= 0 && judgement <= ATTN_JUDGED_WRONG ? judgement : 0];
}

/* W q and U k of additive and general scores are projections. OTHER: it is none. */
static int32_t projection_of(const attn_example *e, const attn_step *s) {
  for (int32_t n = 0; n < s->operands && s->operands == 2; n++) {
    int32_t by = e->step[s->operand[n]].name, of = e->step[s->operand[1 - n]].name;
    if ((by == ATTN_STEP_W_A || by == ATTN_STEP_U_A) && s->op <= ATTN_OP_MATMUL_TN)
      return of == ATTN_STEP_Q || of == ATTN_STEP_Y ? ATTN_STEP_Q : ATTN_STEP_K;
  }
  return ATTN_STEP_OTHER;
}

/* The schema names only the steps of attention: a snippet's own variable, or an input that is
 * computed, is named by its operation. */
static int32_t name_of(const attn_example *e, const attn_step *s) {
  if (s->name >= ATTN_STEP_Q && s->name <= ATTN_STEP_PROJECTED) return s->name;
  int32_t projection = projection_of(e, s);
  if (projection != ATTN_STEP_OTHER) return projection;
  if (s->op == ATTN_OP_APPEND && s->head < 0 && s->name == ATTN_STEP_OTHER) return ATTN_STEP_CONCAT;
  if (s->op == ATTN_OP_ADD && s->name == ATTN_STEP_OTHER) return ATTN_STEP_SCORES;
  return attn_operation_text(s->op)->reported_as;
}

static void put_numbers(struct attn_json *json, const attn_finding *f) {
  attn_json_integer(json, "row", f->row);
  attn_json_integer(json, "col", f->col);
  attn_json_number(json, "printed", f->printed);
  attn_json_number(json, "expected", f->expected);
  if (f->follows != f->expected) attn_json_number(json, "follows", f->follows);
}

static void put_step(struct attn_json *json, const attn_example *e, const attn_step_verdict *v) {
  const attn_step *s = &e->step[v->step];
  attn_json_open(json, NULL, '{');
  attn_json_string(json, "name", attn_step_label(name_of(e, s)));
  if (s->head >= 0) attn_json_integer(json, "head", s->head);
  attn_json_string(json, "status", status_word(v->judgement));
  attn_json_open(json, "cells", '[');
  for (int32_t n = 0; n < v->findings; n++) {
    attn_json_open(json, NULL, '{');
    put_numbers(json, &v->finding[n]);
    attn_json_string(json, "status", status_word(v->finding[n].judgement));
    attn_json_close(json, '}');
  }
  attn_json_close(json, ']');
  attn_json_close(json, '}');
}

/* v NULL: there is none. */
static void put_first_wrong(struct attn_json *json, const attn_example *e,
                            const attn_step_verdict *v) {
  const attn_finding *f = v ? attn_first_finding(v, ATTN_JUDGED_WRONG) : NULL;
  if (!f) return attn_json_literal(json, "first_wrong", "null");
  const attn_step *s = &e->step[v->step];
  attn_json_open(json, "first_wrong", '{');
  attn_json_string(json, "step", attn_step_label(name_of(e, s)));
  if (s->head >= 0) attn_json_integer(json, "head", s->head);
  put_numbers(json, f);
  attn_json_string(json, "cause", attn_cause_label(v->cause ? v->cause : ATTN_CAUSE_UNKNOWN));
  attn_json_close(json, '}');
}

/* Unprinted intermediate variables of a snippet are not listed. */
static int is_listed(const attn_step *s, const attn_step_verdict *v) {
  return v->judgement != ATTN_JUDGED_NOT_GIVEN ||
         (s->name >= ATTN_STEP_Q && s->name <= ATTN_STEP_PROJECTED);
}

static void put_example(struct attn_json *json, const attn_example *e,
                        const attn_example_verdict *v) {
  attn_json_open(json, NULL, '{');
  attn_json_string(json, "title", e->title);
  attn_json_string(json, "orientation",
                   e->orientation == ATTN_QUERIES_IN_COLUMNS ? "columns" : "rows");
  attn_json_open(json, "steps", '[');
  for (int32_t n = 0; n < v->verdicts; n++) {
    const attn_step_verdict *verdict = &v->verdict[n];
    if (is_listed(&e->step[verdict->step], verdict)) put_step(json, e, verdict);
  }
  attn_json_close(json, ']');
  put_first_wrong(json, e, v->first_wrong < 0 ? NULL : &v->verdict[v->first_wrong]);
  attn_json_close(json, '}');
}

static void put_unread(struct attn_json *json, const attn_lesson *lesson) {
  attn_json_open(json, "unread", '[');
  for (int32_t n = 0; n < lesson->unreads; n++) {
    const attn_unread *u = &lesson->unread[n];
    attn_json_open(json, NULL, '{');
    attn_json_integer(json, "line", u->line);
    attn_json_integer(json, "col", u->column);
    attn_json_integer(json, "rows", u->rows);
    attn_json_integer(json, "cols", u->cols);
    attn_json_string(json, "name", u->name);
    attn_json_close(json, '}');
  }
  attn_json_close(json, ']');
  if (lesson->incomplete) attn_json_literal(json, "incomplete", "true");
}

/* ---- How numbers were read ---- */

static void put_relation(struct attn_json *json, const attn_example *e, const attn_step *s) {
  char symbol[ATTN_LABEL_BYTES], relation[ATTN_RELATION_BYTES];
  attn_json_string(json, "op", attn_operation_text(s->op)->json);
  attn_json_open(json, "operands", '[');
  for (int32_t n = 0; n < s->operands; n++)
    attn_json_string(json, NULL, attn_symbol_text(&e->step[s->operand[n]], symbol));
  attn_json_close(json, ']');
  if (s->op == ATTN_OP_GIVEN) return;
  attn_json_string(json, "relation", attn_relation_text(e, s, 4, relation));
}

static void put_block(struct attn_json *json, const struct attn_read_block *b) {
  char symbol[ATTN_LABEL_BYTES];
  attn_json_open(json, NULL, '{');
  attn_json_integer(json, "line", b->printing->line);
  attn_json_integer(json, "col", b->printing->column);
  attn_json_integer(json, "example", b->index);
  attn_json_string(json, "role", attn_step_label(b->step->name));
  if (b->step->head >= 0) attn_json_integer(json, "head", b->step->head);
  attn_json_string(json, "symbol", attn_symbol_text(b->step, symbol));
  put_relation(json, b->example, b->step);
  attn_json_integer(json, "rows", b->printing->rows);
  attn_json_integer(json, "cols", b->printing->cols);
  attn_json_integer(json, "row0", b->printing->row0);
  attn_json_integer(json, "col0", b->printing->col0);
  attn_json_integer(json, "cells", b->cells);
  if (b->step->op != ATTN_OP_GIVEN) attn_json_integer(json, "explained", b->explained);
  attn_json_close(json, '}');
}

static void put_reading(struct attn_json *json, const struct attn_read_block *list, size_t count) {
  attn_json_open(json, "reading", '[');
  for (size_t n = 0; n < count; n++) put_block(json, &list[n]);
  attn_json_close(json, ']');
}

/* ---- One line ---- */

static void put_problem(struct attn_json *json, const attn_error *problem) {
  attn_json_open(json, "error", '{');
  attn_json_integer(json, "line", problem ? problem->line : 0);
  attn_json_integer(json, "col", problem ? problem->column : 0);
  attn_json_string(json, "message", problem ? problem->message : "");
  attn_json_close(json, '}');
}

attn_status attn_check_print_json(const char *file, const attn_lesson *lesson,
                                  const attn_check *check, const attn_error *problem,
                                  const attn_sink *sink, attn_error *err) {
  struct attn_json json;
  int bad = !lesson || !check;
  size_t blocks = 0;
  struct attn_read_block *list = bad ? NULL : attn_list_reading(lesson, check, &blocks);
  if (!bad && !list) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the reading");
  attn_json_begin(&json, sink);
  attn_json_open(&json, NULL, '{');
  attn_json_string(&json, "schema", "attn-check/1");
  attn_json_string(&json, "file", file);
  attn_json_string(&json, "verdict", bad ? "bad_input" : verdict_word(check->judgement));
  if (bad) put_problem(&json, problem);
  attn_json_open(&json, "examples", '[');
  for (int32_t n = 0; !bad && n < check->examples && n < lesson->examples; n++)
    put_example(&json, &lesson->example[n], &check->example[n]);
  attn_json_close(&json, ']');
  if (!bad) put_unread(&json, lesson), put_reading(&json, list, blocks);
  free(list);
  attn_json_close(&json, '}');
  attn_out_bytes(&json.out, "\n", 1);
  return attn_out_end(&json.out, err);
}
