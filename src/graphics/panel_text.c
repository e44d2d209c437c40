/* panel_text.c -- values and texts of panels, for all formats. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "number_text.h"
#include "picture.h"
#include "text_layout.h"

enum { FEW = 64 /* cells */, LABEL_COLUMNS = 16 };

double attn_panel_at(const attn_panel *p, int32_t i, int32_t j) {
  return p->at[(size_t)i * (size_t)p->cols + (size_t)j];
}

/* In a large map 0.00 reads better than 3.1e-9; a small one has the space for the exponent. */
const char *attn_panel_number(const attn_panel *p, double value, int precision,
                              char text[ATTN_NUMBER_BYTES]) {
  int large = p->kind == ATTN_PANEL_HEAT && (int64_t)p->rows * p->cols > FEW;
  if (large && value != 0 && fabs(value) < 1) return attn_number_fixed(value, precision, text);
  return attn_number_text(value, precision, text);
}

/* ---- Labels --------------------------------------------------------------------------------- */

int attn_panel_has_labels(const attn_panel *p, int axis) {
  if (p->compact) return 0;
  return p->kind == ATTN_PANEL_HEAT || (axis ? p->col_label : p->row_label) != NULL;
}

const char *attn_panel_label(const attn_panel *p, int axis, int32_t index, int plain,
                             char text[ATTN_NAME_BYTES]) {
  const char *const *labels = axis ? p->col_label : p->row_label;
  const char *label = labels ? labels[index] : NULL;
  if (label && *label && (!plain || attn_font_covers(label)))
    return attn_text_shorten(text, ATTN_NAME_BYTES, label, LABEL_COLUMNS);
  snprintf(text, ATTN_NAME_BYTES, labels ? "#%d" : "%d", (int)(index + p->first));
  return text;
}

double attn_panel_widest_label(const attn_panel *p, int axis, int plain,
                               double (*measure)(const char *text)) {
  char text[ATTN_NAME_BYTES];
  double widest = 0;
  for (int32_t n = 0; n < (axis ? p->cols : p->rows); n++)
    widest = fmax(widest, measure(attn_panel_label(p, axis, n, plain, text)));
  return widest;
}

double attn_panel_widest_number(const attn_panel *p, int precision,
                                double (*measure)(const char *text)) {
  char text[ATTN_NUMBER_BYTES];
  double widest = 0;
  for (int32_t i = 0; i < p->rows; i++)
    for (int32_t j = 0; j < p->cols; j++)
      if (!isnan(attn_panel_at(p, i, j)))
        widest =
            fmax(widest, measure(attn_panel_number(p, attn_panel_at(p, i, j), precision, text)));
  return widest;
}

double attn_label_units(const char *text) { return attn_text_units(text, ATTN_LABEL_SIZE); }

/* ---- Headings ---- */

static int same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

int attn_picture_has_heading(const struct attn_picture *p, int32_t n) {
  const attn_bilingual_text *now = &p->panel[n].section,
                            *before = n ? &p->panel[n - 1].section : NULL;
  if (!now->english && !now->japanese) return 0;
  return !before || !same_text(now->english, before->english) ||
         !same_text(now->japanese, before->japanese);
}

attn_status attn_picture_no_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to draw an image");
}
