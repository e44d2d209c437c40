/* terminal_heatmap.c -- panels for a terminal: numbers and shades in columns. */
#include <math.h>
#include <stdio.h>

#include "number_text.h"
#include "picture.h"
#include "text_layout.h"

enum { INDENT = 2 };

struct terminal_table {
  struct attn_out *out;
  const attn_panel *panel;
  int name_width, cell_width;
  int numbers, headings;
};

static int larger(int a, int b) { return a > b ? a : b; }

/* ---- Sizes ---- */

static double columns_of(const char *text) { return attn_text_width(text); }

static int widest_label(const attn_panel *p, int axis) {
  return (int)attn_panel_widest_label(p, axis, 0, columns_of);
}

static int widest_number(const attn_panel *p, int precision) {
  return larger(1, (int)attn_panel_widest_number(p, precision, columns_of));
}

/* A cell two characters wide is nearly square; one wide if the line is too short. */
static void measure(struct terminal_table *t) {
  const attn_panel *p = t->panel;
  int heat = p->kind == ATTN_PANEL_HEAT, width = t->out->style.width - INDENT;
  t->numbers = !heat || (int64_t)p->rows * p->cols <= ATTN_NUMBERED_CELLS;
  t->headings = t->numbers && attn_panel_has_labels(p, 1);
  if (attn_panel_has_labels(p, 0)) t->name_width = widest_label(p, 0) + 1;
  t->cell_width = (int64_t)p->cols * 2 <= width - t->name_width ? 2 : 1;
  if (t->numbers) t->cell_width = widest_number(p, t->out->style.precision) + 1 + heat;
  if (t->headings) t->cell_width = larger(t->cell_width, widest_label(p, 1) + 1);
}

/* ---- Cells ---- */

/* The dark theme's colours for cell and number, readable on any terminal. */
static void set_colors(struct attn_out *out, int level) {
  char code[64];
  struct attn_rgb foreground = attn_paint_color(ATTN_PAINT_ON_HEAT + level, ATTN_DARK);
  struct attn_rgb background = attn_paint_color(ATTN_PAINT_HEAT + level, ATTN_DARK);
  snprintf(code, sizeof code, "48;2;%d;%d;%d;38;2;%d;%d;%d", background.r, background.g,
           background.b, foreground.r, foreground.g, foreground.b);
  attn_out_color(out, code);
}

static const char *mark_of(const struct terminal_table *t, double value) {
  return isnan(value) || t->out->style.color ? " " : attn_terminal_shade(attn_heat_level(value));
}

/* A text at the right end of a cell or of the names, before a space. */
static void put_right(struct attn_out *out, const char *text, int width) {
  attn_out_cell(out, text, width - 1);
  attn_out_text(out, " ");
}

/* Empty for NaN. */
static void put_number(const struct terminal_table *t, double value, int width) {
  char text[ATTN_NUMBER_BYTES] = "";
  if (!isnan(value)) attn_panel_number(t->panel, value, t->out->style.precision, text);
  put_right(t->out, text, width);
}

static void put_weight(const struct terminal_table *t, double value) {
  if (!isnan(value)) set_colors(t->out, attn_heat_level(value));
  attn_out_text(t->out, mark_of(t, value));
  put_number(t, value, t->cell_width - 1);
  if (!isnan(value)) attn_out_color(t->out, "0");
}

/* Sets the colour once for neighbours of the same level. */
static void put_shades(const struct terminal_table *t, int32_t i, int32_t from, int32_t to) {
  int before = -1;
  for (int32_t j = from; j < to; j++) {
    double value = attn_panel_at(t->panel, i, j);
    int level = isnan(value) ? -1 : attn_heat_level(value);
    if (level != before && level < 0) attn_out_color(t->out, "0");
    if (level != before && level >= 0) set_colors(t->out, level);
    for (int n = 0; n < t->cell_width; n++) attn_out_text(t->out, mark_of(t, value));
    before = level;
  }
  if (before >= 0) attn_out_color(t->out, "0");
}

/* ---- Lines ---- */

static void put_headings(const struct terminal_table *t, int32_t from, int32_t to) {
  char text[ATTN_NAME_BYTES];
  attn_out_spaces(t->out, INDENT + t->name_width);
  for (int32_t j = from; j < to; j++)
    put_right(t->out, attn_panel_label(t->panel, 1, j, 0, text), t->cell_width);
  attn_out_line(t->out, 0);
}

static void put_row(const struct terminal_table *t, int32_t i, int32_t from, int32_t to) {
  char text[ATTN_NAME_BYTES];
  attn_out_spaces(t->out, INDENT);
  if (t->name_width) put_right(t->out, attn_panel_label(t->panel, 0, i, 0, text), t->name_width);
  if (!t->numbers) put_shades(t, i, from, to);
  for (int32_t j = from; t->numbers && j < to; j++) {
    if (t->panel->kind == ATTN_PANEL_HEAT)
      put_weight(t, attn_panel_at(t->panel, i, j));
    else
      put_number(t, attn_panel_at(t->panel, i, j), t->cell_width);
  }
  attn_out_line(t->out, 0);
}

/* Writes columns that do not fit the line in further tables below. */
static void put_table(struct attn_out *out, const attn_panel *p) {
  struct terminal_table t = {.out = out, .panel = p};
  measure(&t);
  int32_t fit = (out->style.width - INDENT - t.name_width) / t.cell_width;
  if (fit < 1) fit = 1;
  for (int32_t from = 0; from < p->cols && !out->failed; from += fit) {
    int32_t to = p->cols - from > fit ? from + fit : p->cols;
    if (from) attn_out_line(out, 0);
    if (t.headings) put_headings(&t, from, to);
    for (int32_t i = 0; i < p->rows && !out->failed; i++) put_row(&t, i, from, to);
  }
}

static void put_words(struct attn_out *out, const attn_bilingual_text *words, int bold) {
  const char *text = attn_text_in(words, out->style.language);
  if (!*text) return;
  if (bold) attn_out_color(out, "1");
  attn_out_flow(out, text);
  if (bold) attn_out_color(out, "0");
}

static void put_axes(struct attn_out *out, const attn_panel *p) {
  const char *rows = attn_text_in(&p->row_axis, out->style.language);
  const char *cols = attn_text_in(&p->col_axis, out->style.language);
  int has_points = p->kind == ATTN_PANEL_ARROWS || p->kind == ATTN_PANEL_ROOFLINE;
  if (has_points || (!*rows && !*cols)) return;
  attn_out_flow(out, "  ");
  if (*rows) attn_out_whole(out, rows), attn_out_whole(out, " ↓ ");
  if (*cols) attn_out_whole(out, cols), attn_out_whole(out, " →");
}

void attn_picture_text(struct attn_out *out, const struct attn_picture *p) {
  put_words(out, &p->title, 1);
  if (out->word_bytes || out->column) attn_out_line(out, 0);
  for (int32_t n = 0; n < p->panels && !out->failed; n++) {
    const attn_panel *panel = &p->panel[n];
    if (attn_picture_has_heading(p, n)) {
      attn_out_line(out, 0);
      put_words(out, &panel->section, 1);
      attn_out_line(out, 0);
    }
    attn_out_line(out, 0);
    if (panel->kind == ATTN_PANEL_IMAGE) {
      n += attn_terminal_images(out, p, n) - 1;
      continue;
    }
    put_words(out, &panel->title, 1);
    if (*attn_text_in(&panel->note, 0)) attn_out_flow(out, "  ");
    put_words(out, &panel->note, 0);
    put_axes(out, panel);
    if (out->word_bytes || out->column) attn_out_line(out, 0);
    put_table(out, panel);
  }
}
