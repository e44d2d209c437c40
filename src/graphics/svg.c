#include <stdio.h>
#include <string.h>

#include "base64.h"
#include "canvas.h"
#include "number_text.h"
#include "text_layout.h"

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

/* ---- Colours ---- */

static const char *const class_of[ATTN_PAINTS] = {
    [ATTN_PAINT_PAGE] = "page",    [ATTN_PAINT_INK] = "ink",     [ATTN_PAINT_FAINT] = "faint",
    [ATTN_PAINT_GRID] = "grid",    [ATTN_PAINT_EMPTY] = "empty", [ATTN_PAINT_FIRST] = "first",
    [ATTN_PAINT_SECOND] = "second"};

static const char *class_text(int paint, char text[16]) {
  if (paint < ATTN_PAINTS) return class_of[paint];
  snprintf(text, 16, paint >= ATTN_PAINT_ON_HEAT ? "t%d" : "h%d", paint % 64);
  return text;
}

/* "#rrggbb". */
static const char *color_text(int paint, enum attn_theme theme, char text[16]) {
  const struct attn_rgb c = attn_paint_color(paint, theme);
  snprintf(text, 16, "#%02x%02x%02x", c.r, c.g, c.b);
  return text;
}

void attn_xml_color(struct attn_out *out, int paint, enum attn_theme theme) {
  char text[16];
  attn_put(out, color_text(paint, theme, text));
}

/* A CSS rule: the property of the paint's class, of elements of that name or of all. */
static void put_rule(struct attn_out *out, const char *element, const char *property, int paint,
                     enum attn_theme theme) {
  char name[16], color[16];
  attn_putf(out, "%s.%s{%s:%s}", element, class_text(paint, name), property,
            color_text(paint, theme, color));
}

void attn_xml_theme(struct attn_out *out, enum attn_theme theme) {
  for (int paint = 0; paint < ATTN_PAINTS; paint++) {
    put_rule(out, "", "fill", paint, theme);
    put_rule(out, "line", "stroke", paint, theme);
  }
  attn_put(out, ".halo{stroke:");
  attn_xml_color(out, ATTN_PAINT_PAGE, theme);
  attn_put(out, "}");
  for (int level = 0; level < ATTN_HEAT_LEVELS; level++) {
    put_rule(out, "", "fill", ATTN_PAINT_HEAT + level, theme);
    put_rule(out, "", "fill", ATTN_PAINT_ON_HEAT + level, theme);
  }
  attn_put(out, "\n");
}

/* ---- Elements, each with its colour in the light theme for viewers without CSS ---- */

static struct attn_out *out_of(struct attn_canvas *c) { return ((struct attn_svg *)c)->out; }

static void put_at(struct attn_out *out, const char *name, double value) {
  attn_putf(out, " %s=\"%s\"", name, ATTN_NUMBER_TEXT(value, 2));
}

/* Opens an element of that name. */
static void put_box(struct attn_out *out, const char *name, double x, double y, double w,
                    double h) {
  attn_putf(out, "<%s", name);
  put_at(out, "x", x), put_at(out, "y", y);
  put_at(out, "width", w), put_at(out, "height", h);
}

static void put_paint(struct attn_out *out, int paint, int halo, const char *attribute) {
  char name[16], color[16];
  attn_putf(out, " class=\"%s%s\" %s=\"%s\"", class_text(paint, name), halo ? " halo" : "",
            attribute, color_text(paint, ATTN_LIGHT, color));
}

static void rect(struct attn_canvas *c, double x, double y, double w, double h, int paint) {
  struct attn_out *out = out_of(c);
  put_box(out, "rect", x, y, w, h);
  put_paint(out, paint, 0, "fill");
  attn_put(out, "/>\n");
}

static void line(struct attn_canvas *c, const double from[2], const double to[2], double width,
                 int paint, int dashed) {
  struct attn_out *out = out_of(c);
  attn_put(out, "<line");
  put_at(out, "x1", from[0]);
  put_at(out, "y1", from[1]);
  put_at(out, "x2", to[0]);
  put_at(out, "y2", to[1]);
  put_at(out, "stroke-width", width);
  put_paint(out, paint, 0, "stroke");
  attn_put(out, dashed ? " stroke-dasharray=\"6 4\"/>\n" : "/>\n");
}

static void triangle(struct attn_canvas *c, const double corner[3][2], int paint) {
  struct attn_out *out = out_of(c);
  attn_put(out, "<polygon points=\"");
  for (int n = 0; n < 3; n++)
    attn_putf(out, "%s%s,%s", n ? " " : "", ATTN_NUMBER_TEXT(corner[n][0], 2),
              ATTN_NUMBER_TEXT(corner[n][1], 2));
  attn_put(out, "\"");
  put_paint(out, paint, 0, "fill");
  attn_put(out, "/>\n");
}

static void put_lettering(struct attn_out *out, double x, double y,
                          const struct attn_text_style *as) {
  static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  put_at(out, "x", x);
  put_at(out, "y", y);
  put_at(out, "font-size", as->size);
  attn_put(out, anchors[as->anchor]);
  if (as->bold) attn_put(out, " font-weight=\"600\"");
  if (as->lang) attn_putf(out, " lang=\"%s\"", as->lang);
  if (as->rotated)
    attn_putf(out, " transform=\"rotate(-90 %s %s)\"", ATTN_NUMBER_TEXT(x, 2),
              ATTN_NUMBER_TEXT(y, 2));
}

static void text(struct attn_canvas *c, double x, double y, const char *words,
                 const struct attn_text_style *as) {
  struct attn_out *out = out_of(c);
  attn_put(out, "<text");
  put_lettering(out, x, y, as);
  put_paint(out, as->paint, as->halo, "fill");
  if (as->halo)
    attn_put(out,
             " stroke=\"#ffffff\" stroke-width=\"4\" stroke-linejoin=\"round\" "
             "paint-order=\"stroke\"");
  attn_put(out, ">");
  attn_xml_text(out, words);
  attn_put(out, "</text>\n");
}

/* ---- An image, as a PNG in base64 ---- */

static void image(struct attn_canvas *c, double x, double y, double w, double h,
                  const attn_panel *p) {
  struct attn_base64 writer = {.out = out_of(c)};
  const attn_sink sink = {&writer, attn_base64_write};
  struct attn_raster raster;
  put_box(writer.out, "image", x, y, w, h);
  attn_put(writer.out, " href=\"data:image/png;base64,");
  c->no_memory |= attn_raster_begin(&raster, w, h, NULL) != ATTN_OK;
  if (raster.rgb) {
    raster.canvas.image(&raster.canvas, 0, 0, w, h, p);
    c->no_memory |= attn_raster_write(&raster, &sink, NULL) != ATTN_OK;
  }
  attn_base64_end(&writer);
  attn_raster_end(&raster);
  attn_put(writer.out, "\"/>\n");
}

void attn_svg_begin(struct attn_svg *svg, struct attn_out *out, int bilingual) {
  *svg = (struct attn_svg){{.language = out->style.language,
                            .precision = out->style.precision,
                            .bilingual = bilingual,
                            .rect = rect,
                            .line = line,
                            .triangle = triangle,
                            .text = text,
                            .image = image},
                           out};
}
