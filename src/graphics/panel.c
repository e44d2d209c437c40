#include "panels.h"

#include <math.h>

#include "number_text.h"

enum {
  LABEL = ATTN_LABEL_SIZE,
  SMALL = 11,
  BRACKET = 7,
  LEGEND_TOP = 12,
  LEGEND_BAR = 10,
  LEGEND_WIDTH = 2 * ATTN_HEAT_LEVELS,
  BLOCK = 1040, /* wider matrices continue below */
  BLOCK_GAP = 14,
  THUMBNAIL = 96,
};

/* ---- Layout --------------------------------------------------------------------------------- */

/* The more cells, the smaller: a thousand columns still fit a page. */
static double side_of(const attn_panel *p) {
  static const struct {
    int32_t upto;
    double side;
  } sides[] = {{32, 18}, {64, 12}, {128, 7}, {256, 4}, {850, 2}};
  int32_t most = p->rows > p->cols ? p->rows : p->cols;
  for (size_t n = 0; n < sizeof sides / sizeof *sides; n++)
    if (most <= sides[n].upto) return sides[n].side;
  return 1;
}

static void size_cells(struct attn_panel_layout *f, const attn_panel *p,
                       const struct attn_canvas *c, double label) {
  int heat = p->kind == ATTN_PANEL_HEAT;
  f->numbers = !heat || (int64_t)p->rows * p->cols <= ATTN_NUMBERED_CELLS;
  if (f->numbers) {
    double number = attn_panel_widest_number(p, c->precision, attn_label_units) + 16;
    f->rotated = label + 10 > fmax(2 * number, 64); /* long names of narrow columns */
    f->cell_w = fmax(fmax(number, heat ? 46 : 26), f->rotated ? 0 : label + 10);
    f->cell_h = heat ? 32 : 25;
    f->gap = heat ? 2 : 0;
  } else {
    f->cell_w = f->cell_h = side_of(p);
    f->rotated = 1;
  }
  f->block = f->numbers && f->cell_w * p->cols > BLOCK ? (int32_t)(BLOCK / f->cell_w) : p->cols;
  if (f->block < 1) f->block = 1;
  f->row_step = (int32_t)ceil((LABEL + 2) / f->cell_h);
  f->col_step = (int32_t)ceil((LABEL + 2) / f->cell_w);
}

static double words_width(const struct attn_canvas *c, const attn_bilingual_text *w) {
  double width = attn_canvas_text_width(c, w, SMALL);
  return width > 0 ? width + 16 : 0; /* plus an arrow */
}

static struct attn_panel_layout measure_thumbnail(const attn_panel *p) {
  const double most = p->rows > p->cols ? p->rows : p->cols, side = fmax(THUMBNAIL / most, 0.5);
  return (struct attn_panel_layout){.width = side * p->cols,
                                    .height = side * p->rows,
                                    .cell_w = side,
                                    .cell_h = side,
                                    .block = p->cols};
}

struct attn_panel_layout attn_panel_measure(const attn_panel *p, const struct attn_canvas *c) {
  struct attn_panel_layout f = {.row_step = 1};
  if (p->kind == ATTN_PANEL_ARROWS) return attn_arrow_plot_measure(p, c);
  if (p->kind == ATTN_PANEL_IMAGE) return attn_image_panel_measure(p);
  if (p->kind == ATTN_PANEL_ROOFLINE) return attn_roofline_measure(p, c);
  if (p->compact) return measure_thumbnail(p);
  int heat = p->kind == ATTN_PANEL_HEAT;
  double rows = words_width(c, &p->row_axis), cols = words_width(c, &p->col_axis);
  double label =
      attn_panel_has_labels(p, 1) ? attn_panel_widest_label(p, 1, c->plain, attn_label_units) : 0;
  size_cells(&f, p, c, label);
  if (attn_panel_has_labels(p, 0))
    f.left = attn_panel_widest_label(p, 0, c->plain, attn_label_units) + 10;
  f.left = fmax(f.left, rows) + (heat ? 0 : BRACKET);
  f.top = cols > 0 ? 18 : 0;
  if (label > 0)
    f.top += f.rotated ? label + 8 : 20;
  else if (rows > 0 && cols <= 0)
    f.top += 18;
  f.width = fmax(f.left + f.block * f.cell_w + (heat ? 0 : BRACKET), f.left + cols);
  f.block_h = f.top + p->rows * f.cell_h + BLOCK_GAP;
  f.height = f.block_h * ((p->cols - 1) / f.block + 1) - BLOCK_GAP;
  if (heat) {
    f.width = fmax(f.width, f.left + LEGEND_WIDTH + 36);
    f.height += LEGEND_TOP + LEGEND_BAR + 4;
  }
  return f;
}

/* ---- Drawing -------------------------------------------------------------------------------- */

struct panel_drawing {
  const attn_panel *panel;
  const struct attn_panel_layout *frame;
  struct attn_canvas *canvas;
  double x, y;      /* of the first cell */
  int32_t from, to; /* the columns of this block */
  double full;      /* the weight of the darkest colour */
};

static const struct attn_text_style axis_letters = {.size = SMALL, .paint = ATTN_PAINT_FAINT};

/* "query ↓" above the labels of the rows, "key →" above those of the columns. */
static void draw_axis(const struct panel_drawing *d, const attn_bilingual_text *words, int across) {
  struct attn_text_style as = axis_letters;
  struct attn_canvas *c = d->canvas;
  double y = across ? d->y - d->frame->top + 11 : d->y - 7, at = d->x;
  double tip = across ? 10 : 5, length = 10;
  if (!*attn_text_in(words, c->language)) return;
  if (!across) as.anchor = ATTN_ANCHOR_END, at -= 16 + (d->panel->kind ? 0 : BRACKET);
  if (across) at += 14;
  attn_canvas_draw_text(c, at, y, words, &as);
  at = across ? d->x : at + 4;
  double from[2] = {at + (across ? 0 : tip), y - (across ? 4 : 9)};
  double to[2] = {from[0] + (across ? length - 3 : 0), from[1] + (across ? 0 : length - 3)};
  double e = across ? to[0] + 4 : to[1] + 4;
  double corner[3][2] = {{across ? e : to[0], across ? to[1] : e},
                         {to[0] - (across ? 0 : 3), to[1] - (across ? 3 : 0)},
                         {to[0] + (across ? 0 : 3), to[1] + (across ? 3 : 0)}};
  c->line(c, from, to, 1, ATTN_PAINT_FAINT, 0);
  c->triangle(c, (const double(*)[2])corner, ATTN_PAINT_FAINT);
}

static void draw_row_labels(const struct panel_drawing *d) {
  const struct attn_panel_layout *f = d->frame;
  struct attn_text_style as = {.anchor = ATTN_ANCHOR_END, .size = LABEL, .paint = ATTN_PAINT_INK};
  char text[ATTN_NAME_BYTES];
  double right = d->x - 8 - (d->panel->kind ? 0 : BRACKET);
  for (int32_t i = 0; i < d->panel->rows; i += f->row_step)
    d->canvas->text(d->canvas, right, d->y + (i + 0.5) * f->cell_h + 4.5,
                    attn_panel_label(d->panel, 0, i, d->canvas->plain, text), &as);
}

static void draw_col_labels(const struct panel_drawing *d) {
  const struct attn_panel_layout *f = d->frame;
  struct attn_text_style as = {.anchor = f->rotated ? ATTN_ANCHOR_START : ATTN_ANCHOR_MIDDLE,
                               .size = LABEL,
                               .rotated = f->rotated,
                               .paint = ATTN_PAINT_INK};
  char text[ATTN_NAME_BYTES];
  for (int32_t j = d->from; j < d->to; j += f->col_step)
    d->canvas->text(d->canvas, d->x + (j - d->from + 0.5) * f->cell_w + (f->rotated ? 4.5 : 0),
                    d->y - 7, attn_panel_label(d->panel, 1, j, d->canvas->plain, text), &as);
}

static void draw_number(const struct panel_drawing *d, int32_t i, int32_t j, int paint) {
  const struct attn_panel_layout *f = d->frame;
  double value = attn_panel_at(d->panel, i, j);
  int heat = d->panel->kind == ATTN_PANEL_HEAT;
  struct attn_text_style as = {
      .anchor = heat ? ATTN_ANCHOR_MIDDLE : ATTN_ANCHOR_END, .size = LABEL, .paint = paint};
  char text[ATTN_NUMBER_BYTES];
  if (isnan(value)) return;
  double x = d->x + (j - d->from + (heat ? 0.5 : 1)) * f->cell_w - (heat ? 0.5 * f->gap : 8);
  d->canvas->text(d->canvas, x, d->y + (i + 0.5) * f->cell_h + 4 - 0.5 * f->gap,
                  attn_panel_number(d->panel, value, d->canvas->precision, text), &as);
}

/* Neighbours of one colour are one rectangle: maps are large, and mostly of few colours. */
static int paint_of(double value) {
  return isnan(value) ? ATTN_PAINT_EMPTY : ATTN_PAINT_HEAT + attn_heat_level(value);
}

static void draw_heat_row(const struct panel_drawing *d, int32_t i) {
  const struct attn_panel_layout *f = d->frame;
  for (int32_t j = d->from, to; j < d->to; j = to) {
    int paint = paint_of(attn_panel_at(d->panel, i, j) / d->full);
    for (to = j + 1; !f->numbers && to < d->to; to++)
      if (paint_of(attn_panel_at(d->panel, i, to) / d->full) != paint) break;
    d->canvas->rect(d->canvas, d->x + (j - d->from) * f->cell_w, d->y + i * f->cell_h,
                    (to - j) * f->cell_w - f->gap, f->cell_h - f->gap, paint);
    if (f->numbers && paint != ATTN_PAINT_EMPTY)
      draw_number(d, i, j, paint - ATTN_PAINT_HEAT + ATTN_PAINT_ON_HEAT);
  }
}

static void draw_legend(const struct panel_drawing *d) {
  struct attn_canvas *c = d->canvas;
  struct attn_text_style as = axis_letters;
  double y = d->y + d->panel->rows * d->frame->cell_h + LEGEND_TOP;
  c->text(c, d->x, y + LEGEND_BAR - 1, "0", &as);
  for (int n = 0; n < ATTN_HEAT_LEVELS; n++)
    c->rect(c, d->x + 13 + 2 * n, y, 2, LEGEND_BAR, ATTN_PAINT_HEAT + n);
  c->text(c, d->x + 18 + LEGEND_WIDTH, y + LEGEND_BAR - 1, "1", &as);
}

/* A frame in which the palest cells end. */
static void draw_border(const struct panel_drawing *d) {
  double w = (d->to - d->from) * d->frame->cell_w, h = d->panel->rows * d->frame->cell_h;
  const double edge[4][2] = {
      {d->x - 1, d->y - 1}, {d->x + w, d->y - 1}, {d->x + w, d->y + h}, {d->x - 1, d->y + h}};
  for (int n = 0; n < 4; n++)
    d->canvas->line(d->canvas, edge[n], edge[(n + 1) % 4], 1, ATTN_PAINT_GRID, 0);
}

static void draw_bracket(const struct panel_drawing *d, double x, double serif) {
  double top = d->y, bottom = d->y + d->panel->rows * d->frame->cell_h;
  const double corner[4][2] = {{x + serif, top}, {x, top}, {x, bottom}, {x + serif, bottom}};
  for (int n = 0; n < 3; n++)
    d->canvas->line(d->canvas, corner[n], corner[n + 1], 1.5, ATTN_PAINT_FAINT, 0);
}

/* One pair of brackets, however often the columns continue below. */
static void draw_matrix(const struct panel_drawing *d) {
  if (!d->from) draw_bracket(d, d->x - 2, 5);
  if (d->to == d->panel->cols) draw_bracket(d, d->x + (d->to - d->from) * d->frame->cell_w + 2, -5);
  for (int32_t i = 0; i < d->panel->rows; i++)
    for (int32_t j = d->from; j < d->to; j++) draw_number(d, i, j, ATTN_PAINT_INK);
}

static void draw_block(const struct panel_drawing *d) {
  const attn_panel *p = d->panel;
  if (!p->compact) draw_axis(d, &p->row_axis, 0), draw_axis(d, &p->col_axis, 1);
  if (attn_panel_has_labels(p, 0)) draw_row_labels(d);
  if (attn_panel_has_labels(p, 1)) draw_col_labels(d);
  if (p->kind == ATTN_PANEL_MATRIX) return draw_matrix(d);
  draw_border(d);
  for (int32_t i = 0; i < p->rows; i++) draw_heat_row(d, i);
  if (d->to == p->cols && !p->compact) draw_legend(d);
}

/* 1, or of a thumbnail its largest weight if that is less. */
static double full_weight(const attn_panel *p) {
  double largest = 0;
  if (!p->compact) return 1;
  for (int64_t n = 0; n < (int64_t)p->rows * p->cols; n++)
    if (p->at[n] > largest) largest = p->at[n];
  return largest > 0 && largest < 1 ? largest : 1;
}

void attn_panel_draw(const attn_panel *p, const struct attn_panel_layout *f, struct attn_canvas *c,
                     double x, double y) {
  struct panel_drawing d = {p, f, c, x + f->left, y + f->top, 0, 0, 1};
  if (p->kind == ATTN_PANEL_ARROWS) return attn_arrow_plot_draw(p, f, c, x, y);
  if (p->kind == ATTN_PANEL_IMAGE) return attn_image_panel_draw(p, f, c, x, y);
  if (p->kind == ATTN_PANEL_ROOFLINE) return attn_roofline_draw(p, f, c, x, y);
  d.full = full_weight(p);
  for (; d.to < p->cols; d.from = d.to, d.y += f->block_h) {
    d.to = p->cols - d.from > f->block ? d.from + f->block : p->cols;
    draw_block(&d);
  }
}
