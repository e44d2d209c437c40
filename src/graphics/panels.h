/* panels.h -- layout, labels and drawing of one panel. */
#ifndef ATTN_GRAPHICS_PANELS_H
#define ATTN_GRAPHICS_PANELS_H

#include "canvas.h"
#include "number_text.h"

enum {
  ATTN_NUMBERED_CELLS = 400, /* a heat map of more shows no numbers */
  ATTN_TABLE_CELLS = 10000,  /* an HTML page has no table of more */
  ATTN_NAME_BYTES = 128,
  ATTN_LABEL_SIZE = 13 /* of the font of labels */
};

/* The layout of a panel, relative to its upper left corner. */
struct attn_panel_layout {
  double width, height; /* of the panel */
  double left, top;     /* of the first cell */
  double cell_w, cell_h, gap;
  int numbers;                /* whether cells show their numbers */
  int rotated;                /* column labels are */
  int32_t row_step, col_step; /* only every row_step-th, col_step-th label is drawn */
  int32_t block;              /* columns side by side; the others follow below */
  double block_h;
};

/* ---- Values and texts (panel_text.c) ---- */

double attn_panel_at(const attn_panel *p, int32_t i, int32_t j);

/* The displayable name of a row (axis 0) or column (axis 1); its number if it has no name, or with
 * plain none in the built-in font. Returns text. */
const char *attn_panel_label(const attn_panel *p, int axis, int32_t index, int plain,
                             char text[ATTN_NAME_BYTES]);

/* Whether labels are shown along this axis. */
int attn_panel_has_labels(const attn_panel *p, int axis);

/* The text of a cell; not for NaN. Returns text. */
const char *attn_panel_number(const attn_panel *p, double value, int precision,
                              char text[ATTN_NUMBER_BYTES]);

/* attn_text_units at the size of labels. */
double attn_label_units(const char *text);

/* The largest measure of the labels along an axis, and of the numbers; 0 if there are none. */
double attn_panel_widest_label(const attn_panel *p, int axis, int plain,
                               double (*measure)(const char *text));
double attn_panel_widest_number(const attn_panel *p, int precision,
                                double (*measure)(const char *text));

/* ---- Layout and drawing (panel.c) ---- */

struct attn_panel_layout attn_panel_measure(const attn_panel *p, const struct attn_canvas *c);
void attn_panel_draw(const attn_panel *p, const struct attn_panel_layout *f, struct attn_canvas *c,
                     double x, double y);

/* The same for arrows (arrow_plot.c), images (image_panel.c) and rooflines (roofline.c), called by
 * attn_panel_measure and attn_panel_draw. */
struct attn_panel_layout attn_arrow_plot_measure(const attn_panel *p, const struct attn_canvas *c);
void attn_arrow_plot_draw(const attn_panel *p, const struct attn_panel_layout *f,
                          struct attn_canvas *c, double x, double y);
struct attn_panel_layout attn_image_panel_measure(const attn_panel *p);
void attn_image_panel_draw(const attn_panel *p, const struct attn_panel_layout *f,
                           struct attn_canvas *c, double x, double y);

struct attn_panel_layout attn_roofline_measure(const attn_panel *p, const struct attn_canvas *c);
void attn_roofline_draw(const attn_panel *p, const struct attn_panel_layout *f,
                        struct attn_canvas *c, double x, double y);

/* A line of the grid of a plot: at, where the value is on the canvas, along axis. strong: wider. */
struct attn_plot_box {
  double x, y, w, h;
};
void attn_gridline_draw(struct attn_canvas *c, const struct attn_plot_box *plot, int axis,
                        const double at[2], double value, int strong);

/* Labels of points that avoid those placed before. */
enum { ATTN_PLACED_LABELS = 128 };
struct attn_labels {
  int placed;
  struct attn_plot_box box[ATTN_PLACED_LABELS];
};

/* Moves a label down until it overlaps no other, and adds it. */
void attn_labels_place(struct attn_labels *labels, struct attn_plot_box *b);

/* Checks the roof and the slope. */
attn_status attn_roofline_check(const attn_panel *p, int32_t n, attn_error *err);

/* Whether it is (height, width, 3) of ATTN_U8 within the limits. */
attn_status attn_image_check(const attn_tensor *image, const char *name, attn_error *err);

/* Checks an IMAGE panel except its rows and cols, and sets its full_heat. */
attn_status attn_image_panel_prepare(attn_panel *p, int32_t n, attn_error *err);

/* The weight of a cell as a share of full_heat, 0 to 1. */
double attn_image_panel_share(const attn_panel *p, int32_t i, int32_t j);

/* "max 0.25", the scale of the heat, in a language; "" without weights. Returns text. */
const char *attn_image_panel_scale(const attn_panel *p, int language, int precision,
                                   char text[ATTN_NAME_BYTES]);

#endif
