/* canvas.h -- the drawing interface of panels, with two implementations: SVG elements and PNG
 * pixels.
 *
 * Units are CSS pixels, x to the right, y downwards. A text's y is its baseline. */
#ifndef ATTN_GRAPHICS_CANVAS_H
#define ATTN_GRAPHICS_CANVAS_H

#include "attn/picture.h"
#include "text_writer.h"
#include "palette.h"

enum attn_anchor { ATTN_ANCHOR_START, ATTN_ANCHOR_MIDDLE, ATTN_ANCHOR_END };

struct attn_text_style {
  enum attn_anchor anchor;
  int size, bold;
  int rotated; /* by 90 degrees about (x, y), reading upwards */
  int halo;    /* outlined in the page's colour */
  int paint;
  const char *lang; /* "en" or "ja"; NULL: shown in both, for example a name */
};

struct attn_canvas {
  int language;  /* attn_language of bilingual text */
  int precision; /* of numbers */
  int bilingual; /* 1: draws both languages, and the page hides one */
  int plain;     /* 1: only characters of the built-in font */
  int no_memory; /* 1: an image could not be drawn */
  void (*rect)(struct attn_canvas *c, double x, double y, double w, double h, int paint);
  void (*line)(struct attn_canvas *c, const double from[2], const double to[2], double width,
               int paint, int dashed);
  void (*triangle)(struct attn_canvas *c, const double corner[3][2], int paint);
  void (*text)(struct attn_canvas *c, double x, double y, const char *text,
               const struct attn_text_style *as);
  /* The image of a panel, with its heat. */
  void (*image)(struct attn_canvas *c, double x, double y, double w, double h, const attn_panel *p);
};

/* The colour of a part of an IMAGE panel: the average of the image's pixels there, with the heat at
 * its centre. The panel is 1 wide and 1 high; its full_heat is set. */
struct attn_rgb attn_panel_image_color(const attn_panel *p, double x, double y, double w, double h);

/* The width of text in units, an upper estimate. */
double attn_text_units(const char *text, int size);

/* The text in a language; "" if absent. */
const char *attn_text_in(const attn_bilingual_text *words, int language);

/* A message of the catalogue in both languages. */
attn_bilingual_text attn_message_bilingual(int message);

/* Draws text in the canvas's language, or in both. */
void attn_canvas_draw_text(struct attn_canvas *c, double x, double y,
                           const attn_bilingual_text *words, const struct attn_text_style *as);
double attn_canvas_text_width(const struct attn_canvas *c, const attn_bilingual_text *words,
                              int size);

/* ---- SVG ---- */

struct attn_svg {
  struct attn_canvas canvas; /* must be first: a canvas is cast to its SVG */
  struct attn_out *out;
};
void attn_svg_begin(struct attn_svg *svg, struct attn_out *out, int bilingual);

/* Escapes text for an element or a quoted attribute. */
void attn_xml_text(struct attn_out *out, const char *text);
/* The same for a part of valid UTF-8 without control characters. */
void attn_xml_bytes(struct attn_out *out, const char *text, size_t bytes);
void attn_xml_color(struct attn_out *out, int paint, enum attn_theme theme); /* #rrggbb */
/* The CSS rules of a theme's colours. */
void attn_xml_theme(struct attn_out *out, enum attn_theme theme);

/* ---- PNG ---- */

struct attn_raster {
  struct attn_canvas canvas; /* must be first, as in attn_svg */
  unsigned char *rgb;        /* (height, width, 3) */
  size_t width, height;      /* in pixels, ATTN_RASTER_SCALE per unit */
};
enum { ATTN_RASTER_SCALE = 2 };

/* Begins a white image of that size in units. ATTN_ERR_SHAPE: more than 2^26 pixels;
 * ATTN_ERR_MEMORY. */
attn_status attn_raster_begin(struct attn_raster *r, double width, double height, attn_error *err);
/* Writes a PNG file. ATTN_ERR_FILE: the sink failed; ATTN_ERR_MEMORY. */
attn_status attn_raster_write(const struct attn_raster *r, const attn_sink *sink, attn_error *err);
void attn_raster_end(struct attn_raster *r);

/* ---- The built-in font (font.c): 5 by 7 dots, and one row below the baseline ---- */

/* Five columns, the lowest bit on top; NULL: not in the font. */
const unsigned char *attn_font_glyph(int32_t code);
/* Whether it has all characters of a text. */
int attn_font_covers(const char *text);

#endif
