/* step_table.c -- the values of a step as an HTML table. */
#include "canvas.h"
#include "lesson_page.h"
#include "matrix_cells.h"
#include "matrix_text.h"
#include "number_text.h"

/* Cells of a table that is written whole; else rows and columns. Columns of a single row that does
 * not fold. */
enum { WHOLE = 10000, PART = 64, VECTOR = 16, BITS = 16 };

/* ---- The table ---- */

struct step_table {
  struct attn_out *out;
  const attn_example *example;
  const attn_step *step;
  const unsigned char *marked;
};

static void put_cell(const struct step_table *t, const char *id, int32_t i, int32_t j) {
  const attn_step *s = t->step;
  const size_t n = attn_cell_index(&s->exact, i, j);
  const int hidden = attn_cell_is_hidden(t->example, s, i, j);
  char text[ATTN_NUMBER_BYTES];
  attn_putf(t->out, "<td id=\"%s-%d-%d\"", id, (int)i, (int)j);
  if ((s->name == ATTN_STEP_WEIGHTS && !hidden) || s->op == ATTN_OP_POSITIONS) {
    const double share = s->op == ATTN_OP_POSITIONS ? (s->exact.at[n] + 1) / 2 : s->exact.at[n];
    attn_putf(t->out, " style=\"--w:%s\"", attn_number_fixed(share, 3, text));
  }
  if (hidden || (t->marked && t->marked[n]))
    attn_put(t->out, hidden ? " class=\"hidden\"" : " class=\"differs\"");
  attn_putf(t->out, ">%s</td>",
            hidden ? "–" : ATTN_NUMBER_TEXT(s->exact.at[n], t->out->style.precision));
}

static void put_header(const struct step_table *t, int axis, int32_t index) {
  const char *token = attn_axis_token(t->example, t->step, axis, index);
  attn_putf(t->out, "<th scope=\"%s\"", axis ? "col" : "row");
  if (!axis && attn_binary_digits(t->step)) { /* shown by the style sheet: edits replace the text */
    char bits[BITS];
    attn_putf(t->out, " data-bits=\"%s\"",
              attn_binary_text(index, attn_binary_digits(t->step), bits));
  }
  attn_put(t->out, ">");
  attn_xml_text(t->out, token ? token : ATTN_INTEGER_TEXT(index)); /* as in addresses */
  attn_put(t->out, "</th>");
}

static void put_rows(const struct step_table *t, const char *id, int32_t rows, int32_t cols) {
  attn_put(t->out, "<thead><tr><td></td>");
  for (int32_t j = 0; j < cols; j++) put_header(t, 1, j);
  attn_put(t->out, "</tr></thead>\n<tbody>\n");
  for (int32_t i = 0; i < rows && !t->out->failed; i++) {
    attn_put(t->out, "<tr>");
    put_header(t, 0, i);
    for (int32_t j = 0; j < cols; j++) put_cell(t, id, i, j);
    attn_put(t->out, "</tr>\n");
  }
  attn_put(t->out, "</tbody>");
}

void attn_put_step_table(struct attn_out *out, const attn_lesson *lesson, int32_t example,
                         const attn_step *s, const unsigned char *marked) {
  const struct step_table t = {out, &lesson->example[example], s, marked};
  const attn_matrix *m = &s->exact;
  const int whole = (int64_t)m->rows * m->cols <= WHOLE;
  const int32_t rows = whole || m->rows < PART ? m->rows : PART;
  const int32_t cols = whole || m->cols < PART ? m->cols : PART;
  char id[ATTN_STEP_ID_BYTES];
  attn_step_id(lesson, example, s, id);
  attn_put(out, "<div class=\"wide\"><table");
  attn_put(out, m->rows == 1 && m->cols > VECTOR ? " class=\"vector\">\n" : ">\n"); /* folds */
  put_rows(&t, id, rows, cols);
  attn_put(out, "</table></div>\n");
  if (rows < m->rows || cols < m->cols)
    attn_putf(out, "<p class=\"note\">%d×%d / %d×%d</p>\n", (int)rows, (int)cols, (int)m->rows,
              (int)m->cols);
}
