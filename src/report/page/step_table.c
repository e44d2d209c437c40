/* step_table.c -- the values of a step as an HTML table. */
#include <stdio.h>
#include <string.h>

#include "canvas.h"
#include "lesson_page.h"
#include "matrix_cells.h"
#include "matrix_text.h"
#include "number_text.h"

/* Cells of a table that is written whole; else rows and columns. Columns of a single row that does
 * not fold. */
enum { WHOLE = 10000, PART = 64, VECTOR = 16, BITS = 16 };

static void put(struct attn_out *out, const char *text) { attn_out_bytes(out, text, strlen(text)); }

/* ---- The table ---- */

struct step_table {
  struct attn_out *out;
  const attn_lesson *lesson;
  const attn_example *example;
  const attn_step *step;
  const unsigned char *marked;
};

static void put_cell(const struct step_table *t, const char *id, int32_t i, int32_t j) {
  const attn_step *s = t->step;
  const size_t n = attn_cell_index(&s->exact, i, j);
  const int hidden = attn_cell_is_hidden(t->example, s, i, j);
  char text[ATTN_STEP_ID_BYTES + ATTN_NUMBER_BYTES];
  snprintf(text, sizeof text, "<td id=\"%s-%d-%d\"", id, (int)i, (int)j);
  put(t->out, text);
  if ((s->name == ATTN_STEP_WEIGHTS && !hidden) || s->op == ATTN_OP_POSITIONS) {
    const double share = s->op == ATTN_OP_POSITIONS ? (s->exact.at[n] + 1) / 2 : s->exact.at[n];
    put(t->out, " style=\"--w:"), put(t->out, attn_number_fixed(share, 3, text));
    put(t->out, "\"");
  }
  if (hidden || (t->marked && t->marked[n]))
    put(t->out, hidden ? " class=\"hidden\"" : " class=\"differs\"");
  put(t->out, ">");
  put(t->out, hidden ? "–" : attn_number_text(s->exact.at[n], t->out->style.precision, text));
  put(t->out, "</td>");
}

static void put_header(const struct step_table *t, int axis, int32_t index) {
  char text[16];
  const char *token = attn_axis_token(t->example, t->step, axis, index);
  snprintf(text, sizeof text, "%d", (int)index); /* as in addresses */
  put(t->out, axis ? "<th scope=\"col\"" : "<th scope=\"row\"");
  if (!axis && attn_binary_digits(t->step)) { /* shown by the style sheet: edits replace the text */
    char bits[BITS];
    put(t->out, " data-bits=\"");
    put(t->out, attn_binary_text(index, attn_binary_digits(t->step), bits)), put(t->out, "\"");
  }
  put(t->out, ">");
  attn_xml_text(t->out, token ? token : text);
  put(t->out, "</th>");
}

static void put_rest(const struct step_table *t, int32_t rows, int32_t cols) {
  char text[96];
  snprintf(text, sizeof text, "<p class=\"note\">%d×%d / %d×%d</p>\n", (int)rows, (int)cols,
           (int)t->step->exact.rows, (int)t->step->exact.cols);
  put(t->out, text);
}

static void put_rows(const struct step_table *t, const char *id, int32_t rows, int32_t cols) {
  put(t->out, "<thead><tr><td></td>");
  for (int32_t j = 0; j < cols; j++) put_header(t, 1, j);
  put(t->out, "</tr></thead>\n<tbody>\n");
  for (int32_t i = 0; i < rows && !t->out->failed; i++) {
    put(t->out, "<tr>");
    put_header(t, 0, i);
    for (int32_t j = 0; j < cols; j++) put_cell(t, id, i, j);
    put(t->out, "</tr>\n");
  }
  put(t->out, "</tbody>");
}

void attn_put_step_table(struct attn_out *out, const attn_lesson *lesson, int32_t example,
                         const attn_step *s, const unsigned char *marked) {
  const struct step_table t = {out, lesson, &lesson->example[example], s, marked};
  const attn_matrix *m = &s->exact;
  const int whole = (int64_t)m->rows * m->cols <= WHOLE;
  const int32_t rows = whole || m->rows < PART ? m->rows : PART;
  const int32_t cols = whole || m->cols < PART ? m->cols : PART;
  char id[ATTN_STEP_ID_BYTES];
  attn_step_id(lesson, example, s, id);
  put(out, "<div class=\"wide\"><table");
  put(out, m->rows == 1 && m->cols > VECTOR ? " class=\"vector\">\n" : ">\n"); /* folds */
  put_rows(&t, id, rows, cols);
  put(out, "</table></div>\n");
  if (rows < m->rows || cols < m->cols) put_rest(&t, rows, cols);
}
