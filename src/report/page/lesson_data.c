/* lesson_data.c -- the graph of steps as JSON in the page: what its script computes with. */
#include <math.h>

#include "json_writer.h"
#include "lesson_page.h"
#include "matrix_cells.h"
#include "operation_text.h"
#include "text_layout.h"
#include "working.h"

enum { NAME_BYTES = 1024, CELLS_MAX = 30000, PRODUCTS_MAX = 1000000 };

/* The messages of the explanations, by the names that the script uses. */
static const struct {
  const char *name;
  int message;
} words[] = {
#define WORD(name) \
  { #name, MESSAGE_##name }
    /* clang-format off */
    WORD(HEAD), WORD(AXES_QUERY_KEY), WORD(AXES_KEY_QUERY), WORD(OPEN_BRACKET), WORD(CLOSE_BRACKET),
    WORD(SEMICOLON), WORD(COMMA), WORD(AND), WORD(AND_OTHERS), WORD(WHAT_Q), WORD(WHAT_K),
    WORD(WHAT_V), WORD(WHAT_DOT), WORD(WHAT_GENERAL), WORD(WHAT_ADDITIVE), WORD(WHY_SCALED),
    WORD(DIVIDED_BY), WORD(WHAT_MASK), WORD(WHAT_MASK_FINITE), WORD(WHAT_SOFTMAX_ROWS),
    WORD(WHAT_SOFTMAX_COLUMNS), WORD(WHAT_EXP), WORD(WHAT_SUM), WORD(WHAT_QUOTIENT),
    WORD(WHAT_OUTPUT), WORD(WHAT_CONCAT), WORD(WHAT_PROJECTED), WORD(WHAT_POSITIONS),
    WORD(POSITIONS_FROM), WORD(FREQUENCY), WORD(BINARY), WORD(WHAT_ADD), WORD(WHAT_APPEND),
    WORD(ONE_CELL), WORD(ONE_ROW), WORD(ONE_COLUMN), WORD(MORE_CELLS), WORD(MORE_ROWS),
    WORD(MORE_TERMS), WORD(EXPONENTIALS_ARE), WORD(MINUS_MAXIMUM), WORD(SUM_IS),
    WORD(QUOTIENTS_ARE), WORD(WEIGHTED_SUM), WORD(MASKED_SOME), WORD(MASKED_NONE), WORD(MASKED_ALL),
    WORD(ATTENDS_MOSTLY), WORD(ATTENDS_MOST), WORD(ATTENDS_EQUALLY), WORD(ATTENDS_UNIFORMLY),
    WORD(ATTENDS_ONLY), WORD(ATTENDS_NONE), WORD(THEN_ONE), WORD(THEN_EQUALLY), WORD(NEXT_ONE),
    WORD(NEXT_EQUALLY), WORD(ATTENDS_RANKED), WORD(ATTENDS_END), WORD(PAGE_REACHES),
    WORD(PAGE_REACHES_NOTHING), WORD(PAGE_COPIED),
/* clang-format on */
#undef WORD
};

/* Names of the steps that the script can insert. */
static const int inserted[] = {ATTN_STEP_MASK, ATTN_STEP_SCALED, ATTN_STEP_MASKED};

static void put_both(struct attn_json *json, const char *key, int message) {
  attn_json_open(json, key, '[');
  for (int language = 0; language < 2; language++)
    attn_json_string(json, NULL, attn_message_text(message, language));
  attn_json_close(json, ']');
}

/* -inf, inf and nan as strings. */
static void put_value(struct attn_json *json, double value) {
  if (isfinite(value))
    attn_json_number(json, NULL, value);
  else
    attn_json_string(json, NULL, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
}

static void put_values(struct attn_json *json, const attn_matrix *m) {
  attn_json_open(json, "values", '[');
  for (size_t n = 0; m->at && n < attn_cell_count(m); n++) put_value(json, m->at[n]);
  attn_json_close(json, ']');
}

static void put_name(struct attn_json *json, const char *key, const char *name) {
  char text[NAME_BYTES];
  attn_json_string(json, key, attn_text_shorten(text, sizeof text, name ? name : "", NAME_BYTES));
}

static void put_axes(struct attn_json *json, const attn_example *e, const attn_step *s) {
  static const char *const names[] = {
      [ATTN_AXIS_NONE] = "", [ATTN_AXIS_QUERIES] = "q", [ATTN_AXIS_KEYS] = "k"};
  attn_json_open(json, "axes", '[');
  for (int axis = 0; axis < 2; axis++)
    attn_json_string(json, NULL, names[attn_step_axis(e, s, axis)]);
  attn_json_close(json, ']');
}

static void put_step(struct attn_json *json, const attn_lesson *lesson, int32_t example,
                     const attn_step *s) {
  const attn_example *e = &lesson->example[example];
  char id[ATTN_STEP_ID_BYTES], text[ATTN_LABEL_BYTES];
  attn_json_open(json, NULL, '{');
  attn_json_string(json, "id", attn_step_id(lesson, example, s, id));
  attn_json_string(json, "name", attn_step_label(s->name));
  put_name(json, "symbol", attn_symbol_text(s, text));
  put_name(json, "text", attn_step_text(e, s, text));
  put_both(json, "title", MESSAGE_TITLE + s->name);
  attn_json_integer(json, "head", s->head);
  attn_json_string(json, "op", attn_operation_text(s->op)->json);
  attn_json_integers(json, "from", s->operand, s->operands);
  attn_json_integer(json, "axis", s->axis);
  attn_json_open(json, "scalar", '[');
  put_value(json, s->scalar);
  attn_json_close(json, ']');
  attn_json_integer(json, "root", s->scaled_by);
  if (s->op == ATTN_OP_POSITIONS) attn_json_integer(json, "base", attn_position_base(s));
  attn_json_integer(json, "rows", s->exact.rows);
  attn_json_integer(json, "cols", s->exact.cols);
  put_axes(json, e, s);
  if (s->op == ATTN_OP_GIVEN) put_values(json, &s->exact);
  attn_json_close(json, '}');
}

static void put_tokens(struct attn_json *json, const char *key, char *const *token, int32_t count) {
  attn_json_open(json, key, '[');
  for (int32_t n = 0; n < count; n++) put_name(json, NULL, token[n]);
  attn_json_close(json, ']');
}

static void put_example(struct attn_json *json, const attn_lesson *lesson, int32_t index) {
  const attn_example *e = &lesson->example[index];
  attn_json_open(json, NULL, '{');
  put_name(json, "title", attn_example_title(e, index));
  attn_json_integer(json, "columns", e->orientation == ATTN_QUERIES_IN_COLUMNS);
  attn_json_integer(json, "python", e->from_python);
  attn_json_integer(json, "oneBased", e->one_based != 0);
  put_tokens(json, "q", e->query_token, e->query_tokens);
  put_tokens(json, "k", e->key_token, e->key_tokens);
  attn_json_open(json, "steps", '[');
  for (int32_t n = 0; n < e->steps; n++) put_step(json, lesson, index, &e->step[n]);
  attn_json_close(json, ']');
  attn_json_close(json, '}');
}

static void put_words(struct attn_json *json) {
  attn_json_open(json, "words", '{');
  for (size_t n = 0; n < sizeof words / sizeof *words; n++)
    put_both(json, words[n].name, words[n].message);
  attn_json_close(json, '}');
  attn_json_open(json, "titles", '{');
  for (size_t n = 0; n < sizeof inserted / sizeof *inserted; n++)
    put_both(json, attn_step_label(inserted[n]), MESSAGE_TITLE + inserted[n]);
  attn_json_close(json, '}');
}

/* What the script computes on each edit. */
static int is_small(const attn_lesson *lesson) {
  int64_t cells = 0, products = 0;
  for (int32_t n = 0; n < lesson->examples; n++)
    for (int32_t k = 0; k < lesson->example[n].steps; k++) {
      const attn_step *s = &lesson->example[n].step[k];
      const int64_t own = (int64_t)s->exact.rows * s->exact.cols;
      cells += own;
      if (s->operands && cells < CELLS_MAX)
        products += own * lesson->example[n].step[s->operand[0]].exact.cols;
    }
  return cells <= CELLS_MAX && products <= PRODUCTS_MAX;
}

void attn_put_lesson_data(struct attn_out *page, const attn_lesson *lesson) {
  const attn_sink sink = {page, attn_json_write_inert};
  struct attn_json json;
  attn_put(page, "<script type=\"application/json\" id=\"x-data\">");
  attn_json_begin(&json, &sink);
  attn_json_open(&json, NULL, '{');
  attn_json_integer(&json, "precision", page->style.precision);
  attn_json_integer(&json, "japanese", lesson->japanese);
  put_words(&json);
  attn_json_open(&json, "examples", '[');
  for (int32_t n = 0; n < lesson->examples && is_small(lesson); n++) put_example(&json, lesson, n);
  attn_json_close(&json, ']');
  attn_json_close(&json, '}');
  attn_put(page, "</script>\n");
}
