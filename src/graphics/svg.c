#include <stdio.h>
#include <string.h>

#include "base64.h"
#include "canvas.h"
#include "number_text.h"
#include "text_layout.h"

static void put(struct attn_out *out, const char *text) { attn_out_bytes(out, text, strlen(text)); }

/* ---- Text ---- */

/* The escape of the character at text, *bytes long; NULL: none needed. XML cannot represent the
 * noncharacters U+FFFE and U+FFFF. */
static const char *entity(const char *text, size_t left, size_t *bytes) {
  *bytes = 1;
  switch (*text) {
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '&':
      return "&amp;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      if (left < 3 || (memcmp(text, "\xEF\xBF\xBE", 3) && memcmp(text, "\xEF\xBF\xBF", 3)))
        return NULL;
      *bytes = 3;
      return "\uFFFD";
  }
}

void attn_xml_bytes(struct attn_out *out, const char *text, size_t bytes) {
  for (size_t n = 0, step; n < bytes; n += step) {
    const char *instead = entity(text + n, bytes - n, &step);
    attn_out_bytes(out, instead ? instead : text + n, instead ? strlen(instead) : step);
  }
}

/* By bytes: a cluster can include a following "<". */
void attn_xml_text(struct attn_out *out, const char *text) {
  struct attn_cluster c;
  while (attn_text_next(&text, &c)) attn_xml_bytes(out, c.bytes, c.size);
}

void attn_xml_number(struct attn_out *out, double value) { put(out, ATTN_NUMBER_TEXT(value, 2)); }

/* ---- Colours ---- */

static const char *const class_of[ATTN_PAINTS] = {
    [ATTN_PAINT_PAGE] = "page",    [ATTN_PAINT_INK] = "ink",     [ATTN_PAINT_FAINT] = "faint",
    [ATTN_PAINT_GRID] = "grid",    [ATTN_PAINT_EMPTY] = "empty", [ATTN_PAINT_FIRST] = "first",
    [ATTN_PAINT_SECOND] = "second"};

static void put_class(struct attn_out *out, int paint) {
  char text[16];
  if (paint < ATTN_PAINTS)
    snprintf(text, sizeof text, "%s", class_of[paint]);
  else
    snprintf(text, sizeof text, paint >= ATTN_PAINT_ON_HEAT ? "t%d" : "h%d", paint % 64);
  put(out, text);
}

void attn_xml_color(struct attn_out *out, int paint, enum attn_theme theme) {
  char text[16];
  struct attn_rgb c = attn_paint_color(paint, theme);
  snprintf(text, sizeof text, "#%02x%02x%02x", c.r, c.g, c.b);
  put(out, text);
}

/* A CSS rule: the property of the paint's class, of elements of that name or of all. */
static void put_rule(struct attn_out *out, const char *element, const char *property, int paint,
                     enum attn_theme theme) {
  put(out, element), put(out, ".");
  put_class(out, paint);
  put(out, "{"), put(out, property), put(out, ":");
  attn_xml_color(out, paint, theme);
  put(out, "}");
}

void attn_xml_theme(struct attn_out *out, enum attn_theme theme) {
  for (int paint = 0; paint < ATTN_PAINTS; paint++) {
    put_rule(out, "", "fill", paint, theme);
    put_rule(out, "line", "stroke", paint, theme);
  }
  put(out, ".halo{stroke:");
  attn_xml_color(out, ATTN_PAINT_PAGE, theme);
  put(out, "}");
  for (int level = 0; level < ATTN_HEAT_LEVELS; level++) {
    put_rule(out, "", "fill", ATTN_PAINT_HEAT + level, theme);
    put_rule(out, "", "fill", ATTN_PAINT_ON_HEAT + level, theme);
  }
  put(out, "\n");
}

/* ---- Elements, each with its colour in the light theme for viewers without CSS ---- */

static struct attn_out *out_of(struct attn_canvas *c) { return ((struct attn_svg *)c)->out; }

static void put_at(struct attn_out *out, const char *name, double value) {
  put(out, " ");
  put(out, name);
  put(out, "=\"");
  attn_xml_number(out, value);
  put(out, "\"");
}

static void put_paint(struct attn_out *out, int paint, int halo, const char *attribute) {
  put(out, " class=\"");
  put_class(out, paint);
  put(out, halo ? " halo\" " : "\" ");
  put(out, attribute);
  put(out, "=\"");
  attn_xml_color(out, paint, ATTN_LIGHT);
  put(out, "\"");
}

static void rect(struct attn_canvas *c, double x, double y, double w, double h, int paint) {
  struct attn_out *out = out_of(c);
  put(out, "<rect");
  put_at(out, "x", x);
  put_at(out, "y", y);
  put_at(out, "width", w);
  put_at(out, "height", h);
  put_paint(out, paint, 0, "fill");
  put(out, "/>\n");
}

static void line(struct attn_canvas *c, const double from[2], const double to[2], double width,
                 int paint, int dashed) {
  struct attn_out *out = out_of(c);
  put(out, "<line");
  put_at(out, "x1", from[0]);
  put_at(out, "y1", from[1]);
  put_at(out, "x2", to[0]);
  put_at(out, "y2", to[1]);
  put_at(out, "stroke-width", width);
  put_paint(out, paint, 0, "stroke");
  put(out, dashed ? " stroke-dasharray=\"6 4\"/>\n" : "/>\n");
}

static void triangle(struct attn_canvas *c, const double corner[3][2], int paint) {
  struct attn_out *out = out_of(c);
  put(out, "<polygon points=\"");
  for (int n = 0; n < 3; n++) {
    if (n) put(out, " ");
    attn_xml_number(out, corner[n][0]);
    put(out, ",");
    attn_xml_number(out, corner[n][1]);
  }
  put(out, "\"");
  put_paint(out, paint, 0, "fill");
  put(out, "/>\n");
}

static void put_lettering(struct attn_out *out, double x, double y,
                          const struct attn_text_style *as) {
  static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  static const char *const languages[] = {" lang=\"en\"", " lang=\"ja\""};
  put_at(out, "x", x);
  put_at(out, "y", y);
  put_at(out, "font-size", as->size);
  put(out, anchors[as->anchor]);
  if (as->bold) put(out, " font-weight=\"600\"");
  if (as->language >= 0) put(out, languages[as->language]);
  if (as->rotated) {
    put(out, " transform=\"rotate(-90 ");
    attn_xml_number(out, x);
    put(out, " ");
    attn_xml_number(out, y);
    put(out, ")\"");
  }
}

static void text(struct attn_canvas *c, double x, double y, const char *words,
                 const struct attn_text_style *as) {
  struct attn_out *out = out_of(c);
  put(out, "<text");
  put_lettering(out, x, y, as);
  put_paint(out, as->paint, as->halo, "fill");
  if (as->halo)
    put(out,
        " stroke=\"#ffffff\" stroke-width=\"4\" stroke-linejoin=\"round\" "
        "paint-order=\"stroke\"");
  put(out, ">");
  attn_xml_text(out, words);
  put(out, "</text>\n");
}

/* ---- An image, as a PNG in base64 ---- */

static void image(struct attn_canvas *c, double x, double y, double w, double h,
                  const attn_panel *p) {
  struct attn_base64 writer = {.out = out_of(c)};
  const attn_sink sink = {&writer, attn_base64_write};
  struct attn_raster raster;
  put(writer.out, "<image");
  put_at(writer.out, "x", x);
  put_at(writer.out, "y", y);
  put_at(writer.out, "width", w);
  put_at(writer.out, "height", h);
  put(writer.out, " href=\"data:image/png;base64,");
  c->no_memory |= attn_raster_begin(&raster, w, h, NULL) != ATTN_OK;
  if (raster.rgb) {
    raster.canvas.image(&raster.canvas, 0, 0, w, h, p);
    c->no_memory |= attn_raster_write(&raster, &sink, NULL) != ATTN_OK;
  }
  attn_base64_end(&writer);
  attn_raster_end(&raster);
  put(writer.out, "\"/>\n");
}

void attn_svg_begin(struct attn_svg *svg, struct attn_out *out, int bilingual) {
  *svg = (struct attn_svg){
      {out->style.language, bilingual, 0, 0, rect, line, triangle, text, image}, out};
}
