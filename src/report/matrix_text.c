#include "matrix_text.h"

#include <math.h>
#include <stdio.h>

#include "matrix_cells.h"
#include "step_labels.h"
#include "number_text.h"
#include "text_layout.h"

enum { NAME_COLUMNS = 16, BINARY_MAX = 12, MANY = 64 };

struct matrix_printer {
  struct attn_out *out;
  const attn_example *example;
  const attn_step *step;
  const struct attn_matrix_format *look;
  int name_width, cell_width;
  int names, headings; /* whether rows and columns have any */
  int hidden;          /* a cell that the mask hides was written */
};

/* ---- Cells that the mask hides ---- */

static int is_of_softmax(const attn_step *s) {
  return s->operands &&
         (s->op == ATTN_OP_SOFTMAX || s->op == ATTN_OP_EXP || s->op == ATTN_OP_QUOTIENT);
}

int attn_cell_is_hidden(const attn_example *e, const attn_step *s, int32_t i, int32_t j) {
  if (!is_of_softmax(s) || attn_cell_at(&s->exact, i, j) != 0) return 0;
  while (is_of_softmax(s)) s = &e->step[s->operand[0]];
  if (i >= s->exact.rows || j >= s->exact.cols) return 0;
  if (attn_cell_at(&s->exact, i, j) == -(double)INFINITY) return 1;
  while (s->op == ATTN_OP_DIVIDE && s->operands) s = &e->step[s->operand[0]];
  if (s->op != ATTN_OP_MASK || s->operands < 2) return 0;
  return attn_broadcast_at(&e->step[s->operand[1]].exact, i, j) == 0;
}

/* ---- Names ---------------------------------------------------------------------------------- */

int attn_binary_digits(const attn_step *s) {
  int digits = 0;
  while (s->op == ATTN_OP_POSITIONS && (1 << digits) < s->exact.rows && digits < BINARY_MAX)
    digits++;
  return digits;
}

const char *attn_binary_text(int32_t number, int digits, char *text) {
  for (int k = 0; k < digits; k++) text[k] = (char)('0' + ((number >> k) & 1));
  text[digits] = 0;
  return text;
}

static const char *name_of(const struct matrix_printer *g, int axis, int32_t index, char *text) {
  const char *token = attn_axis_token(g->example, g->step, axis, index);
  if (token) return attn_text_shorten(text, ATTN_LABEL_BYTES, token, NAME_COLUMNS);
  return attn_integer_text(index, text);
}

/* With the position in binary if requested. */
static const char *row_name(const struct matrix_printer *g, int32_t i, char *text) {
  char picture[BINARY_MAX + 1], name[ATTN_LABEL_BYTES];
  if (!g->look->binary) return name_of(g, 0, i, text);
  int widest = snprintf(picture, sizeof picture, "%d", (int)g->step->exact.rows - 1);
  attn_binary_text(i, g->look->binary < BINARY_MAX ? g->look->binary : BINARY_MAX, picture);
  int named = attn_axis_token(g->example, g->step, 0, i) != NULL;
  snprintf(text, ATTN_LABEL_BYTES, "%*d  %s%s%.80s", widest, (int)i, picture, named ? "  " : "",
           named ? name_of(g, 0, i, name) : "");
  return text;
}

/* ---- Sizes ---------------------------------------------------------------------------------- */

static int widest_number(const struct matrix_printer *g) {
  const attn_matrix *m = &g->step->exact;
  int widest = 1;
  for (size_t n = 0; n < attn_cell_count(m); n++) {
    int width = attn_text_width(ATTN_NUMBER_TEXT(m->at[n], g->out->style.precision));
    if (width > widest) widest = width;
  }
  return widest;
}

static void measure(struct matrix_printer *g) {
  char text[ATTN_LABEL_BYTES];
  g->cell_width = widest_number(g);
  g->names =
      g->look->binary || g->step->exact.rows > 8 || attn_axis_token(g->example, g->step, 0, 0);
  g->headings = g->step->exact.cols > 8 || attn_axis_token(g->example, g->step, 1, 0);
  for (int32_t i = 0; g->names && i < g->step->exact.rows; i++) {
    int width = attn_text_width(row_name(g, i, text));
    if (width > g->name_width) g->name_width = width;
  }
  for (int32_t j = 0; g->headings && j < g->step->exact.cols; j++) {
    int width = attn_text_width(name_of(g, 1, j, text));
    if (width > g->cell_width) g->cell_width = width;
  }
}

/* ---- Printing ---- */

/* Shades of one hue, 256 colours; the number stays readable on each. */
static void shade(struct attn_out *out, double share) {
  static const char *const shades[] = {"", "48;5;17", "48;5;18", "48;5;19", "48;5;20", "48;5;26"};
  int level = share > 0 ? 1 + (int)(share * 4.999) : 0;
  if (level > 0 && level <= 5) {
    attn_out_color(out, shades[level]);
    attn_out_color(out, "97");
  }
}

static void print_cell(struct matrix_printer *g, int32_t i, int32_t j, int32_t to) {
  const size_t n = attn_cell_index(&g->step->exact, i, j);
  const double value = g->step->exact.at[n];
  int hidden = attn_cell_is_hidden(g->example, g->step, i, j);
  g->hidden |= hidden;
  attn_out_text(g->out, " ");
  if (g->look->heat) shade(g->out, value);
  attn_out_cell(g->out, hidden ? "–" : ATTN_NUMBER_TEXT(value, g->out->style.precision),
                g->cell_width);
  if (g->look->heat && value > 0) attn_out_color(g->out, "0");
  int marked = g->look->marked && g->look->marked[n];
  if (marked || j + 1 < to) attn_out_text(g->out, marked ? "*" : " ");
}

static void print_headings(const struct matrix_printer *g, int32_t from, int32_t to) {
  char text[ATTN_LABEL_BYTES];
  attn_out_spaces(g->out, g->look->indent + g->name_width);
  for (int32_t j = from; j < to; j++) {
    attn_out_cell(g->out, name_of(g, 1, j, text), 1 + g->cell_width);
    if (j + 1 < to) attn_out_text(g->out, " ");
  }
  attn_out_line(g->out, g->out->indent);
}

static void print_row(struct matrix_printer *g, int32_t i, int32_t from, int32_t to) {
  char text[ATTN_LABEL_BYTES];
  attn_out_spaces(g->out, g->look->indent);
  if (g->names) attn_out_cell(g->out, row_name(g, i, text), -g->name_width);
  for (int32_t j = from; j < to; j++) print_cell(g, i, j, to);
  attn_out_line(g->out, g->out->indent);
}

/* Many equal values; a score's or a weight's place has a meaning. */
static int is_uniform(const struct matrix_printer *g) {
  const attn_matrix *m = &g->step->exact;
  size_t cells = attn_cell_count(m), n = 1;
  if (cells <= MANY || g->look->marked || attn_is_scorelike(g->example, g->step)) return 0;
  while (n < cells && m->at[n] == m->at[0]) n++;
  return n == cells;
}

static void print_uniform(const struct matrix_printer *g) {
  attn_out_spaces(g->out, g->look->indent);
  attn_out_message(g->out, MESSAGE_ALL_EQUAL,
                   ATTN_NUMBER_TEXT(g->step->exact.at[0], g->out->style.precision), NULL);
  attn_out_line(g->out, g->out->indent);
}

int attn_out_matrix(struct attn_out *out, const attn_example *e, const attn_step *s,
                    const struct attn_matrix_format *look) {
  struct matrix_printer g = {out, e, s, look, 0, 0, 0, 0, 0};
  if (is_uniform(&g)) return print_uniform(&g), 0;
  measure(&g);
  int32_t fit = (out->style.width - look->indent - g.name_width) / (g.cell_width + 2);
  if (fit < 1) fit = 1;
  if (fit < s->exact.cols) g.headings = 1;
  for (int32_t from = 0; from < s->exact.cols; from += fit) {
    int32_t to = from + fit < s->exact.cols ? from + fit : s->exact.cols;
    if (g.headings) print_headings(&g, from, to);
    for (int32_t i = 0; i < s->exact.rows; i++) print_row(&g, i, from, to);
  }
  return g.hidden;
}
