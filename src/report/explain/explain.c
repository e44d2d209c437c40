/* explain.c -- attn_lesson_explain: an example from its givens to its output. */
#include "explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "step_labels.h"
#include "matrix_cells.h"
#include "matrix_text.h"
#include "number_text.h"
#include "operation_text.h"
#include "text_layout.h"
#include "working.h"

enum { TITLE_COLUMNS = 400, NAME_COLUMNS = 24, DIFFERENCES_MAX = 6 };

/* ---- Shared by the families of steps ---- */

int attn_explain_is_new(struct attn_explanation *t, int message) {
  const int is_new = !t->explained[message];
  t->explained[message] = 1;
  return is_new;
}

void attn_explain_once(struct attn_explanation *t, int message) {
  if (!attn_explain_is_new(t, message)) return;
  attn_out_message(t->out, message, NULL);
  attn_out_line(t->out, ATTN_INDENT);
}

const char *attn_name_in_text(const struct attn_explanation *t, enum attn_step_axis axis, int32_t n,
                              char text[ATTN_LABEL_BYTES]) {
  char name[ATTN_LABEL_BYTES - sizeof "「」"];
  attn_name_text(t->example, axis, n, text);
  if (t->out->style.language != ATTN_LANGUAGE_JAPANESE || *text == '#') return text;
  attn_text_shorten(name, sizeof name, text, NAME_COLUMNS);
  snprintf(text, ATTN_LABEL_BYTES, "「%s」", name);
  return text;
}

void attn_cell_of_key(const struct attn_explanation *t, const attn_step *s, int32_t query,
                      int32_t key, int32_t *row, int32_t *col) {
  int down = attn_step_axis(t->example, s, 1) == ATTN_AXIS_QUERIES;
  if (query >= attn_query_count(t->example, s)) query = 0;
  *row = down ? key : query;
  *col = down ? query : key;
}

void attn_explain_cell(struct attn_explanation *t, const attn_step *s) {
  int32_t row = 0, col = 0;
  if (attn_step_axis(t->example, s, 0) == ATTN_AXIS_QUERIES) row = t->query;
  if (attn_step_axis(t->example, s, 1) == ATTN_AXIS_QUERIES) col = t->query;
  if (row >= s->exact.rows) row = 0;
  if (col >= s->exact.cols) col = 0;
  attn_out_message(t->out, MESSAGE_ONE_CELL, NULL);
  attn_out_working(t->out, t->example, s, row, col, ATTN_TERMS);
  attn_out_line(t->out, ATTN_INDENT);
}

/* ---- Which query is followed ---- */

static int32_t visible(const attn_matrix *m, int axis, int32_t line) {
  int32_t count = 0;
  for (int32_t k = 0; k < attn_line_length(m, axis); k++)
    count += !isinf(attn_line_at(m, axis, line, k));
  return count;
}

/* The first query that sees the most keys: with a causal mask the first one sees only itself. */
static int32_t followed_query(const attn_example *e) {
  for (int32_t n = 0; n < e->steps; n++) {
    const attn_step *s = &e->step[n];
    if (s->op != ATTN_OP_MASK || !attn_is_scorelike(e, s)) continue;
    int axis = attn_step_axis(e, s, 0) == ATTN_AXIS_QUERIES;
    int32_t best = 0, most = -1;
    for (int32_t q = 0; q < attn_query_count(e, s); q++) {
      int32_t count = isinf(s->scalar) ? visible(&s->exact, axis, q) : 0;
      if (count > most) most = count, best = q;
    }
    return best;
  }
  return 0;
}

/* ---- The head of an example ---- */

static int is_cross(const attn_example *e) {
  return attn_step_named(e, ATTN_STEP_Y) ||
         (e->key_tokens && e->query_tokens && e->key_tokens != e->query_tokens);
}

static void put_cross(struct attn_out *out, const attn_example *e) {
  const attn_step *q = attn_step_named(e, ATTN_STEP_Q), *k = attn_step_named(e, ATTN_STEP_K);
  if (!q) q = attn_step_named(e, ATTN_STEP_Y);
  if (!k) k = attn_step_named(e, ATTN_STEP_X);
  if (!q || !k || !is_cross(e)) return;
  attn_out_message(out, q->exact.rows == 1 ? MESSAGE_CROSS_ONE : MESSAGE_CROSS,
                   ATTN_INTEGER_TEXT(q->exact.rows), ATTN_INTEGER_TEXT(k->exact.rows), NULL);
  attn_out_line(out, 0);
}

/* A message, and the tokens. */
static void put_tokens(struct attn_out *out, int message, char *const *token, int32_t count) {
  char name[ATTN_LABEL_BYTES];
  attn_out_message(out, message, ATTN_INTEGER_TEXT(count), NULL);
  for (int32_t n = 0; n < count; n++) {
    if (n) attn_out_flow(out, "  ");
    attn_out_whole(out,
                   attn_text_shorten(name, sizeof name, token[n] ? token[n] : "", NAME_COLUMNS));
  }
  attn_out_line(out, 0);
}

static void put_names(struct attn_out *out, const attn_example *e) {
  int cross = is_cross(e);
  if (!e->key_tokens && !e->query_tokens) return;
  if (cross && e->query_tokens)
    put_tokens(out, MESSAGE_QUERY_TOKENS, e->query_token, e->query_tokens);
  if (e->key_tokens || !cross)
    put_tokens(out, cross ? MESSAGE_KEY_TOKENS : MESSAGE_TOKENS, e->key_token, e->key_tokens);
}

void attn_out_example_title(struct attn_out *out, const attn_example *e, int32_t index,
                            int columns) {
  char title[TITLE_COLUMNS * 4];
  attn_text_shorten(title, sizeof title, attn_example_title(e, index), columns);
  attn_out_message(out, *title ? MESSAGE_EXAMPLE_TITLED : MESSAGE_EXAMPLE,
                   ATTN_INTEGER_TEXT(index + 1), NULL);
  attn_out_flow(out, title);
}

void attn_explain_title(struct attn_out *out, const attn_lesson *lesson, int32_t index) {
  attn_out_example_title(out, &lesson->example[index], index, TITLE_COLUMNS);
  attn_out_line(out, 0);
}

void attn_explain_context(struct attn_out *out, const attn_example *e) {
  put_cross(out, e);
  put_names(out, e);
  if (e->heads > 1) {
    attn_out_message(out, MESSAGE_HEADS, ATTN_INTEGER_TEXT(e->heads), NULL);
    attn_out_line(out, 0);
  }
  if (attn_step_named(e, ATTN_STEP_SCORES) || attn_step_named(e, ATTN_STEP_WEIGHTS)) {
    attn_out_message(out, e->orientation ? MESSAGE_IN_COLUMNS : MESSAGE_IN_ROWS, NULL);
    attn_out_line(out, 0);
  }
}

static void put_head(struct attn_out *out, const attn_lesson *lesson, int32_t index) {
  attn_out_color(out, "1");
  attn_explain_title(out, lesson, index);
  attn_out_color(out, "0");
  attn_explain_context(out, &lesson->example[index]);
  if (index == 0) attn_out_message(out, MESSAGE_ADDRESSES, NULL), attn_out_line(out, 0);
}

/* ---- Steps ---- */

static int is_output(const attn_example *e, const attn_step *s) {
  return (s->op == ATTN_OP_MATMUL || s->op == ATTN_OP_MATMUL_TN) && s->operands > 1 &&
         e->step[s->operand[0]].name == ATTN_STEP_WEIGHTS;
}

void attn_explain_product(struct attn_explanation *t, const attn_step *s) {
  if (attn_is_scorelike(t->example, s)) return attn_explain_scores(t, s);
  if (is_output(t->example, s)) return attn_explain_output(t, s);
  if (s->name == ATTN_STEP_Q) attn_explain_once(t, MESSAGE_WHAT_Q);
  if (s->name == ATTN_STEP_K) attn_explain_once(t, MESSAGE_WHAT_K);
  if (s->name == ATTN_STEP_V) attn_explain_once(t, MESSAGE_WHAT_V);
  if (s->name == ATTN_STEP_PROJECTED) attn_explain_once(t, MESSAGE_WHAT_PROJECTED);
  attn_explain_cell(t, s);
}

void attn_explain_values(struct attn_explanation *t, const attn_step *s) {
  const struct attn_operation_text *operation = attn_operation_text(s->op);
  if (s->gradient_of) return attn_explain_gradient(t, s);
  if (!operation->explain) return;
  operation->explain(t, s);
  if (s->name == ATTN_STEP_WEIGHTS) attn_explain_attention(t, s);
}

void attn_explain_kind(struct attn_out *out, const attn_step *s) {
  attn_out_message(out, s->gradient_of ? MESSAGE_GRADIENT : MESSAGE_TITLE + s->name, NULL);
}

void attn_explain_name(struct attn_out *out, const attn_step *s, int number) {
  attn_out_text(out, ATTN_INTEGER_TEXT(number));
  attn_out_text(out, ". ");
  attn_explain_kind(out, s);
  if (s->head >= 0) {
    attn_out_message(out, MESSAGE_COMMA, NULL);
    attn_out_message(out, MESSAGE_HEAD, ATTN_INTEGER_TEXT(s->head + 1), NULL);
  }
}

void attn_explain_size(struct attn_out *out, const attn_example *e, const attn_step *s) {
  char size[48];
  snprintf(size, sizeof size, "%d×%d", (int)s->exact.rows, (int)s->exact.cols);
  attn_out_message(out, MESSAGE_OPEN_BRACKET, NULL);
  attn_out_flow(out, size);
  if (attn_is_scorelike(e, s)) {
    attn_out_message(out, MESSAGE_SEMICOLON, NULL);
    attn_out_message(out,
                     attn_step_axis(e, s, 0) == ATTN_AXIS_QUERIES ? MESSAGE_AXES_QUERY_KEY
                                                                  : MESSAGE_AXES_KEY_QUERY,
                     NULL);
  }
  attn_out_message(out, MESSAGE_CLOSE_BRACKET, NULL);
}

/* "3. Scores: E = Q K^T  (4×4; one row per query, one column per key)" */
static void put_heading(struct attn_out *out, const attn_example *e, const attn_step *s,
                        int number) {
  char relation[ATTN_RELATION_BYTES];
  attn_out_line(out, ATTN_INDENT);
  attn_out_color(out, "1");
  attn_explain_name(out, s, number);
  attn_out_message(out, MESSAGE_COLON, NULL);
  attn_out_flow(out, attn_relation_text(e, s, out->style.precision, relation));
  attn_out_color(out, "0");
  attn_explain_size(out, e, s);
  attn_out_line(out, ATTN_INDENT);
}

/* ---- Where the document prints another value ---- */

static int differs(const attn_finding *f) {
  return f->judgement == ATTN_JUDGED_WRONG || f->judgement == ATTN_JUDGED_CARRIED;
}

unsigned char *attn_explain_marks(const attn_step *s, const attn_step_verdict *v,
                                  attn_status *status) {
  unsigned char *marked = NULL;
  for (int32_t n = 0; v && n < v->findings; n++) {
    const attn_finding *f = &v->finding[n];
    if (!differs(f)) continue;
    if (!marked) marked = calloc(attn_cell_count(&s->exact), 1);
    if (!marked) return *status = ATTN_ERR_MEMORY, NULL;
    marked[attn_cell_index(&s->exact, f->row, f->col)] = 1;
  }
  return marked;
}

void attn_explain_differences(struct attn_out *out, const attn_example *e, const attn_step *s,
                              const attn_step_verdict *v) {
  char address[ATTN_ADDRESS_BYTES];
  const int precision = out->style.precision;
  int32_t count = 0;
  attn_out_message(out, MESSAGE_DIFFERS, NULL);
  for (int32_t n = 0; n < v->findings; n++) {
    const attn_finding *f = &v->finding[n];
    if (!differs(f) || count++ >= DIFFERENCES_MAX) continue;
    attn_out_line(out, ATTN_INDENT + 2);
    const double right = attn_cell_at(&s->exact, f->row, f->col);
    attn_out_message(out, MESSAGE_DIFFERS_ONE, attn_address(e, s, f->row, f->col, address),
                     ATTN_NUMBER_TEXT(f->printed, precision), ATTN_NUMBER_TEXT(right, precision),
                     NULL);
  }
  if (count > DIFFERENCES_MAX) {
    attn_out_line(out, ATTN_INDENT + 2);
    attn_out_message(out, MESSAGE_DIFFERS_MORE, ATTN_INTEGER_TEXT(count - DIFFERENCES_MAX), NULL);
  }
  attn_out_line(out, ATTN_INDENT);
}

static attn_status explain_step(struct attn_explanation *t, const attn_step *s,
                                const attn_step_verdict *v, int number) {
  attn_status status = ATTN_OK;
  struct attn_matrix_format look = {NULL, s->name == ATTN_STEP_WEIGHTS, ATTN_INDENT,
                                    attn_binary_digits(s)};
  unsigned char *marked = attn_explain_marks(s, v, &status);
  if (status) return status;
  look.marked = marked;
  put_heading(t->out, t->example, s, number);
  if (attn_out_matrix(t->out, t->example, s, &look)) attn_explain_once(t, MESSAGE_HIDDEN_CELLS);
  attn_explain_values(t, s);
  if (marked) attn_explain_differences(t->out, t->example, s, v);
  free(marked);
  return ATTN_OK;
}

const attn_step_verdict *attn_explain_verdict(const attn_example_verdict *v, int32_t step) {
  for (int32_t n = 0; n < v->verdicts; n++)
    if (v->verdict[n].step == step) return &v->verdict[n];
  return NULL;
}

void attn_explain_begin(struct attn_explanation *t, struct attn_out *out, const attn_example *e) {
  *t = (struct attn_explanation){.out = out, .example = e, .query = followed_query(e)};
}

static int has_gradients(const attn_example *e) {
  return e->steps && e->step[e->steps - 1].gradient_of;
}

/* Given steps first, then computed ones, each in the document's order; of gradients only these. */
static attn_status explain_example(struct attn_out *out, const attn_lesson *lesson, int32_t index,
                                   const attn_example_verdict *verdict) {
  const attn_example *e = &lesson->example[index];
  struct attn_explanation t;
  attn_status status = ATTN_OK;
  int number = 0, only = has_gradients(e);
  attn_explain_begin(&t, out, e);
  if (index) attn_out_line(out, 0);
  put_head(out, lesson, index);
  for (int computed = 0; computed < 2; computed++)
    for (int32_t n = 0; n < e->steps && !status; n++)
      if ((e->step[n].op != ATTN_OP_GIVEN) == computed && (!only || e->step[n].gradient_of))
        status = explain_step(&t, &e->step[n], computed ? attn_explain_verdict(verdict, n) : NULL,
                              ++number);
  return status;
}

attn_status attn_lesson_explain(const attn_lesson *lesson, const attn_style *style,
                                const attn_sink *sink, attn_error *err) {
  struct attn_out out;
  attn_check *check = NULL;
  attn_out_begin(&out, style, sink);
  attn_status status = attn_lesson_check(lesson, &check, err);
  if (status) return status;
  if (!lesson->examples) {
    attn_out_message(&out, MESSAGE_NOTHING_TO_EXPLAIN, lesson->file, NULL);
    attn_out_line(&out, 0);
  }
  for (int32_t n = 0; n < lesson->examples && !status; n++)
    status = explain_example(&out, lesson, n, &check->example[n]);
  attn_check_free(check);
  if (status) return attn_fail(err, status, NULL, "no memory for the explanation");
  return attn_out_end(&out, err);
}
