/* roofline.c -- rates over operations per byte on logarithmic axes, below the roof of the limits
 * [Williams09]. */
#include <math.h>
#include <stdio.h>

#include "error.h"
#include "number_text.h"
#include "panels.h"

enum { PLOT_W = 420, PLOT_H = 260, PAD = 22, LABEL = 13, SMALL = 11, LINE = 18, DOT = 6 };

static const double RATE_MIN = 1e-9, RATE_MAX = 1e15;

struct roofline {
  const attn_panel *panel;
  struct attn_canvas *canvas;
  double x, y;            /* of the plot's corner */
  double low[2], span[2]; /* of log10 */
  struct attn_labels labels;
};

static int is_usable(double value) { return value >= RATE_MIN && value <= RATE_MAX; }

static int has_point(const attn_panel *p, int32_t row) {
  return is_usable(attn_panel_at(p, row, 0)) && is_usable(attn_panel_at(p, row, 1));
}

attn_status attn_roofline_check(const attn_panel *p, int32_t n, attn_error *err) {
  if (is_usable(p->roof) && is_usable(p->slope)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "panels",
                   "panel %d: roof is %g and slope %g; both must be between 1e-9 and 1e15", (int)n,
                   p->roof, p->slope);
}

/* ---- The scale: half decades, with the ridge and all points inside ---- */

static void find_scale(struct roofline *r) {
  const attn_panel *p = r->panel;
  double low[2] = {log10(p->roof / p->slope), log10(p->roof)}, high[2] = {low[0], low[1]};
  for (int32_t i = 0; i < p->rows; i++)
    for (int k = 0; k < 2 && has_point(p, i); k++) {
      double value = log10(attn_panel_at(p, i, k));
      low[k] = fmin(low[k], value), high[k] = fmax(high[k], value);
    }
  for (int k = 0; k < 2; k++) {
    r->low[k] = floor(2 * low[k] - 0.5) / 2;
    r->span[k] = ceil(2 * high[k] + 0.5) / 2 - r->low[k];
  }
}

static void place(const struct roofline *r, double u, double v, double to[2]) {
  to[0] = r->x + (log10(u) - r->low[0]) / r->span[0] * PLOT_W;
  to[1] = r->y + PLOT_H - (log10(v) - r->low[1]) / r->span[1] * PLOT_H;
}

/* ---- Grid and roof ---- */

static void draw_gridline(const struct roofline *r, int axis, double value) {
  const struct attn_plot_box plot = {r->x, r->y, PLOT_W, PLOT_H};
  double at[2];
  place(r, value, value, at);
  attn_gridline_draw(r->canvas, &plot, axis, at, value, 0);
}

static void draw_grid(const struct roofline *r) {
  for (int axis = 0; axis < 2; axis++)
    for (double d = ceil(r->low[axis]); d <= r->low[axis] + r->span[axis]; d++)
      draw_gridline(r, axis, pow(10, d));
}

/* From the lower or left edge up to the ridge, then to the right. */
static void draw_roof(const struct roofline *r) {
  const attn_panel *p = r->panel;
  double from[2], ridge[2], to[2];
  double left = fmax(pow(10, r->low[0]), pow(10, r->low[1]) / p->slope);
  place(r, left, p->slope * left, from);
  place(r, p->roof / p->slope, p->roof, ridge);
  place(r, pow(10, r->low[0] + r->span[0]), p->roof, to);
  r->canvas->line(r->canvas, from, ridge, 2, ATTN_PAINT_INK, 0);
  r->canvas->line(r->canvas, ridge, to, 2, ATTN_PAINT_INK, 0);
}

static void draw_axes(const struct roofline *r) {
  const attn_panel *p = r->panel;
  struct attn_text_style as = {.anchor = ATTN_ANCHOR_END, .size = SMALL, .paint = ATTN_PAINT_INK};
  attn_canvas_draw_text(r->canvas, r->x + PLOT_W, r->y + PLOT_H + 32, &p->row_axis, &as);
  as.anchor = ATTN_ANCHOR_START;
  attn_canvas_draw_text(r->canvas, r->x, r->y - 8, &p->col_axis, &as);
}

/* ---- Points ---- */

static void draw_point(struct roofline *r, int32_t row) {
  double at[2];
  place(r, attn_panel_at(r->panel, row, 0), attn_panel_at(r->panel, row, 1), at);
  r->canvas->rect(r->canvas, at[0] - DOT / 2.0, at[1] - DOT / 2.0, DOT, DOT, ATTN_PAINT_FIRST);
}

/* The number of a point, right of it and moved down as needed; its name is in the list. */
static void draw_number(struct roofline *r, int32_t row) {
  const char *text = ATTN_INTEGER_TEXT(row + 1);
  double at[2];
  place(r, attn_panel_at(r->panel, row, 0), attn_panel_at(r->panel, row, 1), at);
  struct attn_text_style as = {.size = SMALL, .halo = 1, .paint = ATTN_PAINT_INK};
  struct attn_plot_box b = {at[0] + DOT, at[1] - 6, attn_text_units(text, SMALL), 11};
  attn_labels_place(&r->labels, &b);
  r->canvas->text(r->canvas, b.x, b.y + 10, text, &as);
}

static void draw_list(const struct roofline *r) {
  struct attn_text_style as = {.size = LABEL, .paint = ATTN_PAINT_INK};
  char name[ATTN_NAME_BYTES], text[ATTN_NAME_BYTES + 16];
  for (int32_t i = 0; i < r->panel->rows; i++) {
    snprintf(text, sizeof text, "%d  %s", (int)i + 1,
             attn_panel_label(r->panel, 0, i, r->canvas->plain, name));
    r->canvas->text(r->canvas, r->x + PLOT_W + PAD, r->y + LINE * (i + 1), text, &as);
  }
}

/* ---- One panel ---- */

struct attn_panel_layout attn_roofline_measure(const attn_panel *p, const struct attn_canvas *c) {
  struct attn_panel_layout f = {.left = 52, .top = PAD, .row_step = 1, .col_step = 1};
  double names = attn_panel_widest_label(p, 0, c->plain, attn_label_units);
  f.width = f.left + PLOT_W + PAD + attn_text_units("100  ", LABEL) + names;
  f.height = f.top + fmax(PLOT_H + 44, LINE * (p->rows + 1));
  return f;
}

void attn_roofline_draw(const attn_panel *p, const struct attn_panel_layout *f,
                        struct attn_canvas *c, double x, double y) {
  struct roofline r = {.panel = p, .canvas = c, .x = x + f->left, .y = y + f->top};
  find_scale(&r);
  draw_grid(&r);
  draw_axes(&r);
  draw_roof(&r);
  for (int32_t i = 0; i < p->rows; i++)
    if (has_point(p, i)) draw_point(&r, i);
  for (int32_t i = 0; i < p->rows; i++)
    if (has_point(p, i)) draw_number(&r, i);
  draw_list(&r);
}
