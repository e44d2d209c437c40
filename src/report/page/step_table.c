/* step_table.c -- the values of a step as an HTML table whose cells hold how they are computed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "canvas.h"
#include "lesson_page.h"
#include "matrix_text.h"
#include "number_text.h"
#include "page_text.h"
#include "working.h"

enum {
  WHOLE = 10000,
  PART = 64
}; /* cells of a table that is written whole; else rows and columns */

static void put(struct attn_out *out, const char *text) { attn_out_bytes(out, text, strlen(text)); }

/* ---- What a cell needs ---- */

struct cell_range {
  int32_t step, top, left, bottom, right;
};

struct cell_sources {
  struct cell_range range[ATTN_OPERANDS_MAX];
  int ranges;
  int64_t cells;
};

/* Extends the range of the operand: the cells that an operation reads of one operand are a
 * rectangle. */
static void add_source(void *context, int32_t operand, int32_t row, int32_t col) {
  struct cell_sources *f = context;
  int n = 0;
  while (n < f->ranges && f->range[n].step != operand) n++;
  f->cells++;
  if (n == ATTN_OPERANDS_MAX) return;
  struct cell_range *r = &f->range[n];
  if (n == f->ranges) {
    *r = (struct cell_range){operand, row, col, row, col};
    f->ranges++;
  }
  if (row < r->top) r->top = row;
  if (row > r->bottom) r->bottom = row;
  if (col < r->left) r->left = col;
  if (col > r->right) r->right = col;
}

static void put_sources(const struct attn_step_table *t, const struct cell_sources *f) {
  char text[80];
  for (int n = 0; n < f->ranges; n++) {
    const struct cell_range *r = &f->range[n];
    snprintf(text, sizeof text, "%s%d.%d.%d.%d.%d", n ? " " : " data-from=\"",
             (int)(t->first + r->step), (int)r->top, (int)r->left, (int)r->bottom, (int)r->right);
    put(t->out, text);
  }
  if (f->ranges) put(t->out, "\"");
}

/* ---- The table ---- */

static void put_cell(const struct attn_step_table *t, const char *id, int32_t i, int32_t j) {
  const attn_example *e = &t->lesson->example[t->example];
  const attn_step *s = t->step;
  const size_t n = (size_t)i * (size_t)s->exact.cols + (size_t)j;
  const int hidden = attn_cell_is_hidden(e, s, i, j);
  struct cell_sources sources = {.ranges = 0};
  char text[ATTN_STEP_ID_BYTES + ATTN_NUMBER_BYTES];
  snprintf(text, sizeof text, "<td id=\"%s-%d-%d\"", id, (int)i, (int)j);
  put(t->out, text);
  if (s->name == ATTN_STEP_WEIGHTS && !hidden) {
    snprintf(text, sizeof text, " style=\"--w:%.3f\"", s->exact.at[n]);
    put(t->out, text);
  }
  if (hidden || (t->marked && t->marked[n]))
    put(t->out, hidden ? " class=\"hidden\"" : " class=\"differs\"");
  attn_operand_cells(e, s, i, j, add_source, &sources);
  put_sources(t, &sources);
  if ((*t->terms -= sources.cells + 1) > 0) attn_page_working(t->out, e, s, i, j);
  put(t->out, ">");
  put(t->out, hidden ? "–" : attn_number_text(s->exact.at[n], t->out->style.precision, text));
  put(t->out, "</td>");
}

static void put_header(const struct attn_step_table *t, int axis, int32_t index) {
  const attn_example *e = &t->lesson->example[t->example];
  char text[16];
  const char *token = attn_axis_token(e, t->step, axis, index);
  snprintf(text, sizeof text, "%d", (int)index); /* as in addresses */
  put(t->out, axis ? "<th scope=\"col\">" : "<th scope=\"row\">");
  attn_xml_text(t->out, token ? token : text);
  put(t->out, "</th>");
}

static void put_rest(const struct attn_step_table *t, int32_t rows, int32_t cols) {
  char text[96];
  snprintf(text, sizeof text, "<p class=\"note\">%d×%d / %d×%d</p>\n", (int)rows, (int)cols,
           (int)t->step->exact.rows, (int)t->step->exact.cols);
  put(t->out, text);
}

void attn_put_step_table(const struct attn_step_table *t) {
  const attn_matrix *m = &t->step->exact;
  const int whole = (int64_t)m->rows * m->cols <= WHOLE;
  const int32_t rows = whole || m->rows < PART ? m->rows : PART;
  const int32_t cols = whole || m->cols < PART ? m->cols : PART;
  char id[ATTN_STEP_ID_BYTES];
  attn_step_id(t->lesson, t->example, t->step, id);
  put(t->out, "<div class=\"wide\"><table>\n<thead><tr><td></td>");
  for (int32_t j = 0; j < cols; j++) put_header(t, 1, j);
  put(t->out, "</tr></thead>\n<tbody>\n");
  for (int32_t i = 0; i < rows && !t->out->failed; i++) {
    put(t->out, "<tr>");
    put_header(t, 0, i);
    for (int32_t j = 0; j < cols; j++) put_cell(t, id, i, j);
    put(t->out, "</tr>\n");
  }
  put(t->out, "</tbody></table></div>\n");
  if (rows < m->rows || cols < m->cols) put_rest(t, rows, cols);
}
