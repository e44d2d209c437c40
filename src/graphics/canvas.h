/* canvas.h -- what panels are drawn on: an SVG's elements or a PNG's pixels.
 *
 * Units are CSS pixels, x to the right, y downwards. A text's y is its baseline. */
#ifndef ATTN_GRAPHICS_CANVAS_H
#define ATTN_GRAPHICS_CANVAS_H

#include "attn/picture.h"
#include "text_writer.h"
#include "palette.h"

enum attn_anchor { ATTN_ANCHOR_START, ATTN_ANCHOR_MIDDLE, ATTN_ANCHOR_END };
enum { ATTN_LANGUAGE_ANY = -1 };

struct attn_text_style {
  enum attn_anchor anchor;
  int size, bold;
  int turned; /* reads upwards: turned a quarter to the left about (x, y) */
  int halo;   /* set off from what it lies upon */
  int paint;
  int language; /* attn_language, or ANY: a name, shown in both */
};

struct attn_canvas {
  int language;  /* of words */
  int bilingual; /* words are drawn in both, and the page hides one */
  int plain;     /* only letters of the built-in face */
  void (*rect)(struct attn_canvas *c, double x, double y, double w, double h, int paint);
  void (*line)(struct attn_canvas *c, const double from[2], const double to[2], double width,
               int paint, int dashed);
  void (*triangle)(struct attn_canvas *c, const double corner[3][2], int paint);
  void (*text)(struct attn_canvas *c, double x, double y, const char *text,
               const struct attn_text_style *as);
};

/* An estimate that errs to the wide side. */
double attn_text_units(const char *text, int size);

/* The words in a language; "" for none. */
const char *attn_text_in(const attn_bilingual_text *words, int language);

/* A message of the catalogue as it stands. */
attn_bilingual_text attn_message_bilingual(int message);

/* The words in the canvas's language, or in both. */
void attn_canvas_draw_text(struct attn_canvas *c, double x, double y,
                           const attn_bilingual_text *words, const struct attn_text_style *as);
double attn_canvas_text_width(const struct attn_canvas *c, const attn_bilingual_text *words,
                              int size);

/* ---- SVG ---- */

struct attn_svg {
  struct attn_canvas canvas; /* first: a canvas is its SVG */
  struct attn_out *out;
};
void attn_svg_begin(struct attn_svg *svg, struct attn_out *out, int bilingual);

/* Text between tags or between quotes of an attribute, whatever it holds. */
void attn_xml_text(struct attn_out *out, const char *text);
void attn_xml_number(struct attn_out *out, double value);                    /* a coordinate */
void attn_xml_color(struct attn_out *out, int paint, enum attn_theme theme); /* #rrggbb */
/* The rules by which classes get a theme's colours. */
void attn_xml_theme(struct attn_out *out, enum attn_theme theme);

/* ---- PNG ---- */

struct attn_raster {
  struct attn_canvas canvas;
  unsigned char *rgb;
  size_t width, height; /* pixels: ATTN_RASTER_SCALE a unit */
};
enum { ATTN_RASTER_SCALE = 2 };

/* White; ATTN_ERR_SHAPE beyond 2^26 pixels. */
attn_status attn_raster_begin(struct attn_raster *r, double width, double height, attn_error *err);
attn_status attn_raster_write(const struct attn_raster *r, const attn_sink *sink, attn_error *err);
void attn_raster_end(struct attn_raster *r);

/* ---- The built-in face (face.c): 5 by 7 dots, an eighth below the line ---- */

/* Five columns, the lowest bit on top; NULL: it has no such letter. */
const unsigned char *attn_font_glyph(int32_t code);
int attn_font_covers(const char *text);

#endif
