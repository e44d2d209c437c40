/* image_panel.c -- a panel of an image: heat over its darkened grey, or the image itself. */
#include <math.h>
#include <stdio.h>

#include "error.h"
#include "number_text.h"
#include "panels.h"
#include "view.h"

enum { LONGER_SIDE = 144, SMALL = 11, LINE = 18 };

/* ---- Checks ---------------------------------------------------------------------------------- */

attn_status attn_image_check(const attn_tensor *image, const char *name, attn_error *err) {
  attn_status status = attn_view_check(image, name, err);
  if (status) return status;
  if (image->dtype != ATTN_U8)
    return attn_fail(err, ATTN_ERR_TYPE, name, "an image must be ATTN_U8, got %s",
                     attn_element_name(image->dtype));
  const int64_t *shape = image->shape;
  if (image->rank == 3 && shape[2] == 3 && shape[0] >= 1 && shape[1] >= 1 &&
      shape[0] <= ATTN_IMAGE_SIDE_MAX && shape[1] <= ATTN_IMAGE_SIDE_MAX &&
      shape[0] * shape[1] <= ATTN_IMAGE_PIXELS_MAX)
    return ATTN_OK;
  char text[ATTN_SHAPE_TEXT];
  return attn_fail(err, ATTN_ERR_SHAPE, name,
                   "an image must be (height, width, 3), each side 1 to %d, at most %d pixels; got "
                   "%.80s",
                   ATTN_IMAGE_SIDE_MAX, ATTN_IMAGE_PIXELS_MAX, attn_view_text(image, text));
}

/* A weight that is negative or not finite is 0. */
static double weight_at(const attn_panel *p, int32_t i, int32_t j) {
  double value = attn_panel_at(p, i, j);
  return value > 0 && isfinite(value) ? value : 0;
}

attn_status attn_image_panel_prepare(attn_panel *p, int32_t n, attn_error *err) {
  attn_status status = attn_image_check(p->image, "panels", err);
  if (status) return status;
  if (!(p->full_heat >= 0) || !isfinite(p->full_heat))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "panels",
                     "panel %d: full_heat is %g; it must be finite and not negative", (int)n,
                     p->full_heat);
  if (p->smooth < 0 || p->smooth > 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "panels", "panel %d: smooth is %d; it must be 0 or 1",
                     (int)n, (int)p->smooth);
  if (!(fabs(p->shift) <= 0.5))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "panels",
                     "panel %d: shift is %g; it must be between -0.5 and 0.5", (int)n, p->shift);
  if (p->full_heat > 0) return ATTN_OK;
  for (int32_t i = 0; i < p->rows; i++)
    for (int32_t j = 0; j < p->cols; j++) p->full_heat = fmax(p->full_heat, weight_at(p, i, j));
  return ATTN_OK;
}

/* ---- Colours --------------------------------------------------------------------------------- */

double attn_image_panel_share(const attn_panel *p, int32_t i, int32_t j) {
  return p->full_heat > 0 ? fmin(1, weight_at(p, i, j) / p->full_heat) : 0;
}

/* The cells on both sides of a place, 0 to 1, along an axis; returns the share of the second. */
static double neighbours(double at, int32_t count, int smooth, int32_t cell[2]) {
  double centre = at * count - 0.5;
  int32_t last = count - 1;
  if (!smooth || centre <= 0 || centre >= last) {
    cell[0] = cell[1] = at * count >= last ? last : at > 0 ? (int32_t)(at * count) : 0;
    return 0;
  }
  cell[0] = (int32_t)centre, cell[1] = cell[0] + 1;
  return centre - cell[0];
}

static double share_at(const attn_panel *p, double x, double y) {
  int32_t col[2], row[2];
  double right = neighbours(x - p->shift / p->cols, p->cols, p->smooth, col);
  double below = neighbours(y - p->shift / p->rows, p->rows, p->smooth, row);
  double line[2];
  for (int n = 0; n < 2; n++) {
    double a = attn_image_panel_share(p, row[n], col[0]);
    line[n] = a + right * (attn_image_panel_share(p, row[n], col[1]) - a);
  }
  return line[0] + below * (line[1] - line[0]);
}

/* The pixels of a part, begin .. end - 1: at least the one in its middle. */
static void pixels_of(double at, double size, int64_t count, int64_t *begin, int64_t *end) {
  double middle = floor((at + size / 2) * (double)count);
  *begin = (int64_t)middle, *end = *begin + 1;
  if (size * (double)count > 1) {
    *begin = (int64_t)floor(at * (double)count + 0.5);
    *end = (int64_t)floor((at + size) * (double)count + 0.5);
  }
  if (*begin < 0) *begin = 0;
  if (*end > count) *end = count;
  if (*begin >= *end) *begin = *end - 1;
}

static void average(const attn_tensor *image, double x, double y, double w, double h,
                    double mean[3]) {
  int64_t x0, x1, y0, y1;
  pixels_of(x, w, image->shape[1], &x0, &x1), pixels_of(y, h, image->shape[0], &y0, &y1);
  mean[0] = mean[1] = mean[2] = 0;
  for (int64_t i = y0; i < y1; i++)
    for (int64_t j = x0; j < x1; j++)
      for (int c = 0; c < 3; c++)
        mean[c] += *(unsigned char *)attn_view_at(
            image, i * image->strides[0] + j * image->strides[1] + c * image->strides[2]);
  for (int c = 0; c < 3; c++) mean[c] /= (double)((x1 - x0) * (y1 - y0));
}

static double luma(const double rgb[3]) {
  return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

/* Heat blends the darkened grey with the lightest colour of the palette, which is lighter in every
 * channel: more weight is lighter whatever the image. */
struct attn_rgb attn_panel_image_color(const attn_panel *p, double x, double y, double w,
                                       double h) {
  static const double darkened = 0.5, opacity = 0.7; /* of the grey; of full heat */
  double rgb[3];
  average(p->image, x, y, w, h, rgb);
  if (p->at) {
    double heat = opacity * share_at(p, x + w / 2, y + h / 2), grey = darkened * luma(rgb);
    struct attn_rgb hot = attn_paint_color(ATTN_PAINT_HEAT + ATTN_HEAT_LEVELS - 1, ATTN_DARK);
    const double full[3] = {hot.r, hot.g, hot.b};
    for (int c = 0; c < 3; c++) rgb[c] = grey + heat * (full[c] - grey);
  }
  return (struct attn_rgb){(unsigned char)(rgb[0] + 0.5), (unsigned char)(rgb[1] + 0.5),
                           (unsigned char)(rgb[2] + 0.5)};
}

/* ---- Drawing --------------------------------------------------------------------------------- */

const char *attn_image_panel_scale(const attn_panel *p, int language, int precision,
                                   char text[ATTN_NAME_BYTES]) {
  static const char *const words[] = {"max", "最大"};
  *text = 0;
  if (p->at)
    snprintf(text, ATTN_NAME_BYTES, "%s %s", words[language],
             ATTN_NUMBER_TEXT(p->full_heat, precision));
  return text;
}

struct attn_panel_layout attn_image_panel_measure(const attn_panel *p) {
  double h = (double)p->image->shape[0], w = (double)p->image->shape[1];
  double unit = LONGER_SIDE / fmax(h, w);
  struct attn_panel_layout f = {.row_step = 1, .col_step = 1, .block = 1};
  f.cell_w = fmax(1, w * unit), f.cell_h = fmax(1, h * unit);
  f.width = f.cell_w;
  f.height = f.block_h = f.cell_h + (p->at ? LINE : 0);
  return f;
}

void attn_image_panel_draw(const attn_panel *p, const struct attn_panel_layout *f,
                           struct attn_canvas *c, double x, double y) {
  const struct attn_text_style as = {.size = SMALL, .paint = ATTN_PAINT_FAINT};
  char text[2][ATTN_NAME_BYTES];
  c->image(c, x, y, f->cell_w, f->cell_h, p);
  if (!p->at) return;
  const attn_bilingual_text scale = {attn_image_panel_scale(p, 0, c->precision, text[0]),
                                     attn_image_panel_scale(p, 1, c->precision, text[1])};
  attn_canvas_draw_text(c, x, y + f->cell_h + LINE - 4, &scale, &as);
}
