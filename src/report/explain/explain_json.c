/* explain_json.c -- attn_lesson_explain_json: docs/explain.schema.json. */
#include "json_writer.h"
#include "matrix_cells.h"
#include "operation_text.h"

/* -inf and blanks are null, as JSON has neither. */
static void put_rows(struct attn_json *json, const char *key, const attn_matrix *m) {
  attn_json_open(json, key, '[');
  for (int32_t i = 0; i < m->rows; i++) {
    attn_json_open(json, NULL, '[');
    for (int32_t j = 0; j < m->cols; j++) attn_json_number(json, NULL, attn_cell_at(m, i, j));
    attn_json_close(json, ']');
  }
  attn_json_close(json, ']');
}

static void put_printing(struct attn_json *json, const attn_printing *p) {
  attn_json_open(json, NULL, '{');
  attn_json_integer(json, "line", p->line);
  attn_json_integer(json, "col", p->column);
  attn_json_integer(json, "row0", p->row0);
  attn_json_integer(json, "col0", p->col0);
  attn_json_open(json, "rows", '[');
  for (int32_t i = 0; i < p->rows; i++) {
    attn_json_open(json, NULL, '[');
    for (int32_t j = 0; j < p->cols; j++)
      attn_json_number(json, NULL, p->cells[(size_t)i * (size_t)p->cols + (size_t)j].value);
    attn_json_close(json, ']');
  }
  attn_json_close(json, ']');
  attn_json_close(json, '}');
}

static void put_parameters(struct attn_json *json, const attn_step *s) {
  int parameters = attn_operation_text(s->op)->parameters;
  if (parameters & ATTN_WITH_AXIS) attn_json_integer(json, "axis", s->axis);
  if (parameters & ATTN_WITH_SCALAR) attn_json_number(json, "scalar", s->scalar);
  if (s->op == ATTN_OP_DIVIDE && s->scaled_by) attn_json_integer(json, "root_of", s->scaled_by);
  if (s->base) attn_json_integer(json, "base", s->base);
}

static void put_step(struct attn_json *json, const attn_step *s) {
  attn_json_open(json, NULL, '{');
  attn_json_string(json, "name", attn_step_label(s->name));
  attn_json_string(json, "symbol", s->symbol);
  if (s->head >= 0) attn_json_integer(json, "head", s->head);
  attn_json_string(json, "op", attn_operation_text(s->op)->json);
  attn_json_integers(json, "operands", s->operand, s->operands);
  put_parameters(json, s);
  if (s->gradient_of > 0) attn_json_integer(json, "gradient_of", s->gradient_of - 1);
  attn_json_integer(json, "rows", s->exact.rows);
  attn_json_integer(json, "cols", s->exact.cols);
  put_rows(json, "exact", &s->exact);
  attn_json_open(json, "printed", '[');
  for (int32_t n = 0; n < s->printings; n++) put_printing(json, &s->printing[n]);
  attn_json_close(json, ']');
  attn_json_close(json, '}');
}

static void put_example(struct attn_json *json, const attn_example *e) {
  attn_json_open(json, NULL, '{');
  attn_json_string(json, "title", e->title);
  attn_json_integer(json, "line", e->line);
  attn_json_string(json, "orientation",
                   e->orientation == ATTN_QUERIES_IN_COLUMNS ? "columns" : "rows");
  attn_json_integer(json, "heads", e->heads);
  attn_json_strings(json, "query_tokens", e->query_token, e->query_tokens);
  attn_json_strings(json, "key_tokens", e->key_token, e->key_tokens);
  attn_json_open(json, "steps", '[');
  for (int32_t n = 0; n < e->steps; n++) put_step(json, &e->step[n]);
  attn_json_close(json, ']');
  attn_json_close(json, '}');
}

attn_status attn_lesson_explain_json(const attn_lesson *lesson, const attn_sink *sink,
                                     attn_error *err) {
  struct attn_json json;
  attn_json_begin(&json, sink);
  attn_json_open(&json, NULL, '{');
  attn_json_string(&json, "schema", "attn-explain/1");
  attn_json_string(&json, "file", lesson->file);
  attn_json_open(&json, "examples", '[');
  for (int32_t n = 0; n < lesson->examples; n++) put_example(&json, &lesson->example[n]);
  attn_json_close(&json, ']');
  attn_json_close(&json, '}');
  attn_out_bytes(&json.out, "\n", 1);
  return attn_out_end(&json.out, err);
}
