/* panels.h -- one panel: its places, its labels, its drawing. */
#ifndef ATTN_GRAPHICS_PANELS_H
#define ATTN_GRAPHICS_PANELS_H

#include "canvas.h"
#include "number_text.h"

enum { ATTN_NUMBERED_CELLS = 400, ATTN_TABLE_CELLS = 10000, ATTN_NAME_BYTES = 128 };

/* Where the parts of a panel stand, from its own corner. */
struct attn_panel_layout {
  double width, height; /* of all */
  double left, top;     /* of the first cell */
  double cell_w, cell_h, gap;
  int numbers;                /* cells show them */
  int turned;                 /* column labels read upwards */
  int32_t row_step, col_step; /* every so many-th label has room */
  int32_t block;              /* columns side by side; those behind them follow below */
  double block_h;
};

/* The name of a row (axis 0) or column (axis 1), fit to be shown; its number where it has none, or
 * none that plain letters can write. Returns text. */
const char *attn_panel_label(const attn_panel *p, int axis, int32_t index, int plain,
                             char text[ATTN_NAME_BYTES]);

/* Are there names along this axis to show? */
int attn_panel_has_labels(const attn_panel *p, int axis);

/* What stands in a cell; not for NaN. Returns text. */
const char *attn_panel_number(const attn_panel *p, double value, int precision,
                              char text[ATTN_NUMBER_BYTES]);

double attn_panel_at(const attn_panel *p, int32_t i, int32_t j);

struct attn_panel_layout attn_panel_measure(const attn_panel *p, const struct attn_canvas *c,
                                            int precision);
void attn_panel_draw(const attn_panel *p, const struct attn_panel_layout *f, struct attn_canvas *c,
                     double x, double y, int precision);

/* The same of arrows (arrows.c); attn_panel_measure and attn_panel_draw call them. */
struct attn_panel_layout attn_arrow_plot_measure(const attn_panel *p, const struct attn_canvas *c);
void attn_arrow_plot_draw(const attn_panel *p, const struct attn_panel_layout *f,
                          struct attn_canvas *c, double x, double y);

#endif
