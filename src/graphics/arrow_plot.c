/* arrow_plot.c -- vectors of two components as arrows in the plane. */
#include <math.h>

#include "number_text.h"
#include "panels.h"

enum { PLOT = 260, PAD = 12, LABEL = 13, SMALL = 11, KEY_ROW = 22, TRIES = 24 };

static const double HUGE_NUMBER =
    1e150; /* spans of larger values would overflow; also excludes NaN */

struct arrow_plane {
  const attn_panel *panel;
  struct attn_canvas *canvas;
  double x, y;        /* of the plot's corner */
  double low[2], per; /* the value at its lower left; pixels per unit */
  double step;        /* between grid lines */
  struct attn_labels labels;
};

static int is_there(const attn_panel *p, int32_t row) {
  return fabs(attn_panel_at(p, row, 0)) < HUGE_NUMBER &&
         fabs(attn_panel_at(p, row, 1)) < HUGE_NUMBER;
}

/* ---- The scale: the same on both axes, including the origin, grid lines at 1, 2 or 5 times 10^n
 * ---- */

static void find_span(const attn_panel *p, double low[2], double high[2]) {
  low[0] = low[1] = high[0] = high[1] = 0;
  for (int32_t i = 0; i < p->rows; i++) {
    for (int k = 0; k < 2 && is_there(p, i); k++) {
      low[k] = fmin(low[k], attn_panel_at(p, i, k));
      high[k] = fmax(high[k], attn_panel_at(p, i, k));
    }
  }
}

static double round_step(double span) {
  static const double steps[] = {1, 2, 5, 10};
  double ten = pow(10, floor(log10(span / 5)));
  for (int n = 0; n < 3; n++)
    if (steps[n] * ten >= span / 5.0001) return steps[n] * ten;
  return 10 * ten;
}

static void find_scale(struct arrow_plane *a) {
  double high[2];
  find_span(a->panel, a->low, high);
  double span = fmax(high[0] - a->low[0], high[1] - a->low[1]);
  a->step = round_step(span > 1e-150 ? span : 1);
  for (int k = 0; k < 2; k++) a->low[k] = a->step * (floor(a->low[k] / a->step) - 0.5);
  span = a->step;
  for (int k = 0; k < 2; k++)
    span = fmax(span, a->step * (ceil(high[k] / a->step) + 0.5) - a->low[k]);
  a->per = PLOT / span;
}

static void place(const struct arrow_plane *a, double u, double v, double to[2]) {
  to[0] = a->x + (u - a->low[0]) * a->per;
  to[1] = a->y + PLOT - (v - a->low[1]) * a->per;
}

/* ---- The grid ---- */

void attn_gridline_draw(struct attn_canvas *c, const struct attn_plot_box *plot, int axis,
                        const double at[2], double value, int strong) {
  struct attn_text_style as = {.anchor = axis ? ATTN_ANCHOR_END : ATTN_ANCHOR_MIDDLE,
                               .size = SMALL,
                               .paint = ATTN_PAINT_FAINT};
  const char *text = ATTN_NUMBER_TEXT(value, 6);
  const double left = plot->x, bottom = plot->y + plot->h;
  const double from[2] = {axis ? left : at[0], axis ? at[1] : bottom};
  const double to[2] = {axis ? left + plot->w : at[0], axis ? at[1] : plot->y};
  c->line(c, from, to, strong ? 1.5 : 1, strong ? ATTN_PAINT_FAINT : ATTN_PAINT_GRID, 0);
  c->text(c, axis ? left - 6 : at[0], axis ? at[1] + 4 : bottom + 15, text, &as);
}

static void draw_gridline(const struct arrow_plane *a, int axis, double value) {
  const struct attn_plot_box plot = {a->x, a->y, PLOT, PLOT};
  const int is_origin = fabs(value) < 0.25 * a->step;
  double at[2];
  place(a, value, value, at);
  attn_gridline_draw(a->canvas, &plot, axis, at, is_origin ? 0 : value, is_origin);
}

static int gridlines(const struct arrow_plane *a) {
  return (int)(PLOT / (a->step * a->per) + 0.51);
}

static double gridline(const struct arrow_plane *a, int axis, int n) {
  return a->low[axis] + (n + 0.5) * a->step;
}

static void draw_grid(const struct arrow_plane *a) {
  for (int axis = 0; axis < 2; axis++)
    for (int n = 0; n < gridlines(a); n++) draw_gridline(a, axis, gridline(a, axis, n));
}

/* ---- Arrows ---- */

static int paint_of(const attn_panel *p, int32_t row) {
  return p->split && row >= p->split ? ATTN_PAINT_SECOND : ATTN_PAINT_FIRST;
}

/* The second group is thinner and dashed, so that it is visible on top of the first. */
static void draw_arrow(const struct arrow_plane *a, const double from[2], const double to[2],
                       int paint) {
  struct attn_canvas *c = a->canvas;
  int second = paint == ATTN_PAINT_SECOND;
  double dx = to[0] - from[0], dy = to[1] - from[1], length = hypot(dx, dy);
  double head = second ? 9 : 12, half = second ? 4 : 6;
  if (length < 1) { /* the zero vector: a dot */
    c->rect(c, from[0] - half / 2, from[1] - half / 2, half, half, paint);
    return;
  }
  if (head > length) head = length;
  dx /= length, dy /= length;
  const double neck[2] = {to[0] - head * dx, to[1] - head * dy};
  const double corner[3][2] = {{to[0], to[1]},
                               {neck[0] - half * dy, neck[1] + half * dx},
                               {neck[0] + half * dy, neck[1] - half * dx}};
  c->line(c, from, neck, second ? 2 : 4, paint, second);
  c->triangle(c, corner, paint);
}

static int overlaps(const struct attn_plot_box *a, const struct attn_plot_box *b) {
  return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h && b->y < a->y + a->h;
}

void attn_labels_place(struct attn_labels *l, struct attn_plot_box *b) {
  for (int tries = 0, n = 0; n < l->placed && tries < TRIES; n++)
    if (overlaps(b, &l->box[n])) b->y = l->box[n].y + l->box[n].h, n = -1, tries++;
  if (l->placed < ATTN_PLACED_LABELS) l->box[l->placed++] = *b;
}

static void draw_name(struct arrow_plane *a, int32_t row, const double from[2],
                      const double to[2]) {
  char text[ATTN_NAME_BYTES];
  attn_panel_label(a->panel, 0, row, a->canvas->plain, text);
  double dx = to[0] - from[0], dy = to[1] - from[1], length = hypot(dx, dy);
  if (length < 1) dx = 1, dy = 0, length = 1;
  int right = dx > -0.3 * length;
  struct attn_text_style as = {.anchor = right ? ATTN_ANCHOR_START : ATTN_ANCHOR_END,
                               .size = LABEL,
                               .bold = 1,
                               .halo = 1,
                               .paint = paint_of(a->panel, row)};
  double width = attn_text_units(text, LABEL);
  /* The name of a horizontal arrow is above it: an axis may continue at its tip. */
  double rise = fabs(dy) < 0.2 * length ? -10 : 10 * dy / length;
  struct attn_plot_box b = {to[0] + (right ? 5 : -5 - width), to[1] + rise - 8, width, 16};
  attn_labels_place(&a->labels, &b);
  a->canvas->text(a->canvas, right ? b.x : b.x + width, b.y + 12, text, &as);
}

static void draw_arrows(struct arrow_plane *a, int names) {
  double from[2], to[2];
  place(a, 0, 0, from);
  for (int32_t i = 0; i < a->panel->rows; i++) {
    if (!is_there(a->panel, i)) continue;
    place(a, attn_panel_at(a->panel, i, 0), attn_panel_at(a->panel, i, 1), to);
    if (names)
      draw_name(a, i, from, to);
    else
      draw_arrow(a, from, to, paint_of(a->panel, i));
  }
}

/* Which group is which: an arrow and its words. */
static void draw_key(const struct arrow_plane *a) {
  struct attn_canvas *c = a->canvas;
  const attn_panel *p = a->panel;
  const attn_bilingual_text *words[] = {&p->row_axis, &p->col_axis};
  struct attn_text_style as = {.size = LABEL, .paint = ATTN_PAINT_INK};
  double y = a->y + PLOT + 38;
  for (int n = 0; n < (p->split ? 2 : 1); n++, y += KEY_ROW) {
    const double from[2] = {a->x, y - 4}, to[2] = {a->x + 34, y - 4};
    if (!*attn_text_in(words[n], c->language)) continue;
    draw_arrow(a, from, to, n ? ATTN_PAINT_SECOND : ATTN_PAINT_FIRST);
    attn_canvas_draw_text(c, a->x + 44, y, words[n], &as);
  }
}

/* ---- One panel ---- */

static double widest_tick(const struct arrow_plane *a) {
  double widest = 0;
  for (int n = 0; n < gridlines(a); n++)
    widest = fmax(widest, attn_text_units(ATTN_NUMBER_TEXT(gridline(a, 1, n), 6), SMALL));
  return widest;
}

struct attn_panel_layout attn_arrow_plot_measure(const attn_panel *p, const struct attn_canvas *c) {
  struct arrow_plane a = {.panel = p};
  double names = attn_panel_widest_label(p, 0, c->plain, attn_label_units);
  find_scale(&a);
  struct attn_panel_layout f = {
      .left = widest_tick(&a) + 12, .top = PAD, .row_step = 1, .col_step = 1};
  f.width = f.left + PLOT + names;
  f.height = f.top + PLOT + 30 + KEY_ROW * (p->split ? 2 : 1);
  return f;
}

void attn_arrow_plot_draw(const attn_panel *p, const struct attn_panel_layout *f,
                          struct attn_canvas *c, double x, double y) {
  struct arrow_plane a = {.panel = p, .canvas = c, .x = x + f->left, .y = y + f->top};
  find_scale(&a);
  draw_grid(&a);
  draw_arrows(&a, 0);
  draw_arrows(&a, 1);
  draw_key(&a);
}
