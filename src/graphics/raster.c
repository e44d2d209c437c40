/* raster.c -- a canvas of pixels, written as PNG. */
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "canvas.h"
#include "error.h"
#include "panels.h"
#include "text_layout.h"
#include "view.h"

static const double PIXELS_MAX = 67108864; /* 2^26: 192 MiB of memory */

/* ---- Pixels --------------------------------------------------------------------------------- */

static struct attn_raster *raster_of(struct attn_canvas *c) { return (struct attn_raster *)c; }

struct pixel_area {
  size_t x0, y0, x1, y1; /* pixels, half-open */
};

static size_t clipped(double at, size_t end) {
  return at <= 0 ? 0 : at >= (double)end ? end : (size_t)at;
}

static struct pixel_area area_of(const struct attn_raster *r, double x0, double y0, double x1,
                                 double y1) {
  return (struct pixel_area){clipped(floor(x0), r->width), clipped(floor(y0), r->height),
                             clipped(ceil(x1), r->width), clipped(ceil(y1), r->height)};
}

static void blend(struct attn_raster *r, size_t x, size_t y, struct attn_rgb color, double share) {
  unsigned char *to = r->rgb + 3 * (y * r->width + x);
  const unsigned char from[3] = {color.r, color.g, color.b};
  if (share <= 0) return;
  if (share > 1) share = 1;
  for (int n = 0; n < 3; n++) to[n] = (unsigned char)(to[n] + share * (from[n] - to[n]) + 0.5);
}

static void fill(struct attn_raster *r, struct pixel_area a, struct attn_rgb color) {
  for (size_t y = a.y0; y < a.y1; y++)
    for (size_t x = a.x0; x < a.x1; x++) blend(r, x, y, color, 1);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static void rect(struct attn_canvas *c, double x, double y, double w, double h, int paint) {
  struct attn_raster *r = raster_of(c);
  const double s = ATTN_RASTER_SCALE;
  fill(r, area_of(r, round(x * s), round(y * s), round((x + w) * s), round((y + h) * s)),
       attn_paint_color(paint, ATTN_LIGHT));
}

struct line_stroke {
  double from[2], along[2]; /* pixels; along: a unit vector */
  double length, half;
};

/* The coverage of the pixel at (x, y) by the stroke, antialiased over one pixel. */
static double covered(const struct line_stroke *s, double x, double y, int dashed) {
  double dx = x - s->from[0], dy = y - s->from[1];
  double t = dx * s->along[0] + dy * s->along[1], off = fabs(dy * s->along[0] - dx * s->along[1]);
  double dash = fmod(t, 10 * ATTN_RASTER_SCALE); /* 6 on, 4 off, as in the SVG */
  if (dashed && t >= 0 && dash > 6 * ATTN_RASTER_SCALE) return 0;
  double across = s->half + 0.5 - off, end = fmin(t, s->length - t) + 0.5;
  return fmax(0, fmin(1, across)) * fmax(0, fmin(1, end));
}

static void line(struct attn_canvas *c, const double from[2], const double to[2], double width,
                 int paint, int dashed) {
  struct attn_raster *r = raster_of(c);
  const double s = ATTN_RASTER_SCALE, x0 = from[0] * s, y0 = from[1] * s, x1 = to[0] * s,
               y1 = to[1] * s, m = width * s / 2 + 1, length = hypot(x1 - x0, y1 - y0);
  struct attn_rgb color = attn_paint_color(paint, ATTN_LIGHT);
  if (!(length > 0)) return;
  const struct line_stroke k = {
      {x0, y0}, {(x1 - x0) / length, (y1 - y0) / length}, length, width * s / 2};
  struct pixel_area a =
      area_of(r, fmin(x0, x1) - m, fmin(y0, y1) - m, fmax(x0, x1) + m, fmax(y0, y1) + m);
  for (size_t y = a.y0; y < a.y1; y++)
    for (size_t x = a.x0; x < a.x1; x++)
      blend(r, x, y, color, covered(&k, (double)x + 0.5, (double)y + 0.5, dashed));
}

/* The signed distance to the nearest edge, positive inside, whatever the corners' orientation. */
static double inside(const double corner[3][2], double x, double y) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (int n = 0; n < 3; n++) {
    const double *a = corner[n], *b = corner[(n + 1) % 3];
    double ex = b[0] - a[0], ey = b[1] - a[1], length = hypot(ex, ey);
    if (!(length > 0)) return -1;
    double d = (ex * (y - a[1]) - ey * (x - a[0])) / length;
    least = fmin(least, d), most = fmax(most, d);
  }
  return fmax(least, -most);
}

static void triangle(struct attn_canvas *c, const double corner[3][2], int paint) {
  struct attn_raster *r = raster_of(c);
  struct attn_rgb color = attn_paint_color(paint, ATTN_LIGHT);
  double at[3][2], low[2] = {HUGE_VAL, HUGE_VAL}, high[2] = {-HUGE_VAL, -HUGE_VAL};
  for (int n = 0; n < 3; n++)
    for (int k = 0; k < 2; k++) {
      at[n][k] = corner[n][k] * ATTN_RASTER_SCALE;
      low[k] = fmin(low[k], at[n][k]), high[k] = fmax(high[k], at[n][k]);
    }
  struct pixel_area a = area_of(r, low[0] - 1, low[1] - 1, high[0] + 1, high[1] + 1);
  for (size_t y = a.y0; y < a.y1; y++)
    for (size_t x = a.x0; x < a.x1; x++)
      blend(r, x, y, color, inside((const double(*)[2])at, (double)x + 0.5, (double)y + 0.5) + 0.5);
}

static void image(struct attn_canvas *c, double x, double y, double w, double h,
                  const attn_panel *p) {
  struct attn_raster *r = raster_of(c);
  const double s = ATTN_RASTER_SCALE;
  struct pixel_area a =
      area_of(r, round(x * s), round(y * s), round((x + w) * s), round((y + h) * s));
  for (size_t i = a.y0; i < a.y1; i++)
    for (size_t j = a.x0; j < a.x1; j++)
      blend(r, j, i,
            attn_panel_image_color(p, (double)(j - a.x0) / (w * s), (double)(i - a.y0) / (h * s),
                                   1 / (w * s), 1 / (h * s)),
            1);
}

/* ---- Letters -------------------------------------------------------------------------------- */

struct text_pen {
  struct attn_raster *raster;
  struct attn_rgb color;
  double x, y; /* start of the baseline, pixels */
  int dot;     /* pixels per dot */
  int bold, rotated;
  int grown; /* pixels on each side of a dot, for the halo */
};

/* Draws a dot at (along, up) from the start of a text. */
static void dot(const struct text_pen *p, double along, double up) {
  double w = p->dot + p->bold, g = p->grown;
  double x = p->rotated ? p->x - up - p->dot : p->x + along;
  double y = p->rotated ? p->y - along - w : p->y - up - p->dot;
  double right = x + (p->rotated ? p->dot : w), bottom = y + (p->rotated ? w : p->dot);
  fill(p->raster, area_of(p->raster, x - g, y - g, right + g, bottom + g), p->color);
}

/* A character outside the font is an empty box. */
static void letter(const struct text_pen *p, int32_t code, double along) {
  static const unsigned char box[5] = {0x7F, 0x41, 0x41, 0x41, 0x7F};
  const unsigned char *glyph = attn_font_glyph(code);
  if (!glyph) glyph = box;
  for (int column = 0; column < 5; column++)
    for (int row = 0; row < 8; row++)
      if (glyph[column] >> row & 1) dot(p, along + column * p->dot, (6 - row) * p->dot);
}

static void letters(const struct text_pen *p, const char *text, int advance) {
  struct attn_cluster cluster;
  for (double along = 0; attn_text_next(&text, &cluster); along += advance)
    letter(p, cluster.code, along);
}

static void text(struct attn_canvas *c, double x, double y, const char *words,
                 const struct attn_text_style *as) {
  const double s = ATTN_RASTER_SCALE;
  struct attn_cluster cluster;
  /* Pixels of a dot: six fit into a character's width, which attn_text_units takes as 0.62. */
  int size = (int)(as->size * 0.62 * s) / 6, advance = 6 * size + (size > 1), count = 0;
  for (const char *at = words; attn_text_next(&at, &cluster);) count++;
  double start = -(count * advance - size) * (double)as->anchor / 2;
  struct text_pen p = {.raster = raster_of(c),
                       .color = attn_paint_color(ATTN_PAINT_PAGE, ATTN_LIGHT),
                       .x = round(x * s + (as->rotated ? 0 : start)),
                       .y = round(y * s - (as->rotated ? start : 0)),
                       .dot = size,
                       .bold = as->bold,
                       .rotated = as->rotated,
                       .grown = size + 1};
  if (as->halo) letters(&p, words, advance);
  p.grown = 0;
  p.color = attn_paint_color(as->paint, ATTN_LIGHT);
  letters(&p, words, advance);
}

/* ---- PNG ------------------------------------------------------------------------------------ */

attn_status attn_raster_begin(struct attn_raster *r, double width, double height, attn_error *err) {
  *r = (struct attn_raster){.canvas = {.language = ATTN_LANGUAGE_ENGLISH,
                                       .plain = 1,
                                       .rect = rect,
                                       .line = line,
                                       .triangle = triangle,
                                       .text = text,
                                       .image = image}};
  width = ceil(width * ATTN_RASTER_SCALE), height = ceil(height * ATTN_RASTER_SCALE);
  if (!(width * height <= PIXELS_MAX))
    return attn_fail(
        err, ATTN_ERR_SHAPE, "panels",
        "the picture is %.0f x %.0f pixels; the limit of a PNG is 2^26: use SVG or HTML, or "
        "draw fewer panels",
        width, height);
  r->width = (size_t)width, r->height = (size_t)height;
  r->rgb = malloc(3 * r->width * r->height);
  if (!r->rgb)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %.0f x %.0f pixels", width, height);
  memset(r->rgb, 255, 3 * r->width * r->height);
  return ATTN_OK;
}

void attn_raster_end(struct attn_raster *r) {
  free(r->rgb);
  r->rgb = NULL;
}

struct png_writer {
  const attn_sink *sink;
  const struct attn_raster *raster;
  png_structp png;
  png_infop info;
  int stopped, done;
  jmp_buf failed;
};

static void on_write(png_structp png, png_bytep bytes, png_size_t count) {
  struct png_writer *w = png_get_io_ptr(png);
  w->stopped = w->sink->write(w->sink->context, (const char *)bytes, count) != 0;
  if (w->stopped) png_error(png, "stopped");
}

static void on_flush(png_structp png) { (void)png; }

/* libpng's default handler would print. */
static void on_error(png_structp png, png_const_charp message) {
  struct png_writer *w = png_get_error_ptr(png);
  (void)message;
  longjmp(w->failed, 1);
}

static void on_warning(png_structp png, png_const_charp message) { (void)png, (void)message; }

static void write_rows(struct png_writer *w) {
  const struct attn_raster *r = w->raster;
  png_set_IHDR(w->png, w->info, (png_uint_32)r->width, (png_uint_32)r->height, 8,
               PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(w->png, w->info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_write_info(w->png, w->info);
  for (size_t y = 0; y < r->height; y++) png_write_row(w->png, r->rgb + 3 * y * r->width);
  png_write_end(w->png, w->info);
}

/* All state is in *w: longjmp may clobber local variables. */
static void write_png(struct png_writer *w) {
  if (setjmp(w->failed)) return;
  w->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, w, on_error, on_warning);
  if (w->png) w->info = png_create_info_struct(w->png);
  if (!w->info) return;
  png_set_write_fn(w->png, w, on_write, on_flush);
  write_rows(w);
  w->done = 1;
}

attn_status attn_raster_write(const struct attn_raster *r, const attn_sink *sink, attn_error *err) {
  struct png_writer w = {.sink = sink, .raster = r};
  write_png(&w);
  png_destroy_write_struct(&w.png, &w.info);
  if (w.done) return ATTN_OK;
  if (w.stopped) return attn_fail(err, ATTN_ERR_FILE, "sink", "the picture could not be written");
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to compress the picture");
}

/* ---- An image alone ------------------------------------------------------------------------- */

attn_status attn_image_write(const attn_tensor *image, const attn_sink *sink, attn_error *err) {
  attn_status status = attn_image_check(image, "image", err);
  if (status) return status;
  if (!sink || !sink->write) return attn_fail(err, ATTN_ERR_ARGUMENT, "sink", "sink is NULL");
  struct attn_raster r = {.width = (size_t)image->shape[1], .height = (size_t)image->shape[0]};
  r.rgb = malloc(3 * r.width * r.height);
  if (!r.rgb)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu x %zu pixels", r.width,
                     r.height);
  for (int64_t n = 0; n < (int64_t)(3 * r.width * r.height); n++)
    r.rgb[n] =
        *(unsigned char *)attn_view_at(image, attn_view_offset(image->shape, image->strides, 3, n));
  status = attn_raster_write(&r, sink, err);
  attn_raster_end(&r);
  return status;
}
