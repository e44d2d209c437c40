/* image_page.c -- all panels in one image: a standalone SVG, or a PNG. */
#include <math.h>
#include <stdlib.h>

#include "error.h"
#include "picture.h"

enum {
  MARGIN = 24,
  GAP = 36,
  SMALL_GAP = 14,
  SHEET = 1160,
  WIDE_SHEET = 1950,
  TITLE = 20,
  HEADING = 16,
  CAPTION = 14,
  NOTE = 12
};
enum { TITLE_LINE = 44, HEADING_LINE = 40, CAPTION_LINE = 20, NOTE_LINE = 17, CAPTION_GAP = 12 };

struct panel_position {
  double x, y;
  struct attn_panel_layout frame;
};

struct page_layout {
  const struct attn_picture *picture;
  struct panel_position *spot; /* one per panel */
  double width, height;
};

/* ---- Layout: panels side by side while they fit; a heading begins a new line ---------------- */

static int has_note(const struct attn_canvas *c, const attn_panel *p) {
  return *attn_text_in(&p->note, c->language) != 0;
}

static double caption_height(const struct attn_canvas *c, const attn_panel *p) {
  double title = *attn_text_in(&p->title, c->language) ? CAPTION_LINE : 0;
  double note = has_note(c, p) ? NOTE_LINE : 0;
  return title + note > 0 ? title + note + CAPTION_GAP : 0;
}

static double panel_width(const struct attn_canvas *c, const attn_panel *p,
                          const struct attn_panel_layout *f) {
  double title = attn_canvas_text_width(c, &p->title, CAPTION) * 1.08; /* bold */
  return fmax(f->width, fmax(title, attn_canvas_text_width(c, &p->note, NOTE)));
}

/* A picture with thumbnails is wide enough for a dozen side by side. */
static double sheet_width(const struct attn_picture *picture) {
  for (int32_t n = 0; n < picture->panels; n++)
    if (picture->panel[n].compact) return WIDE_SHEET;
  return SHEET;
}

static void place_all(struct page_layout *s, const struct attn_canvas *c) {
  const struct attn_picture *picture = s->picture;
  const double sheet = sheet_width(picture);
  double x = MARGIN, y = MARGIN, line = 0;
  s->width = 2 * MARGIN + attn_canvas_text_width(c, &picture->title, TITLE) * 1.08;
  if (*attn_text_in(&picture->title, c->language)) y += TITLE_LINE;
  for (int32_t n = 0; n < picture->panels; n++) {
    const attn_panel *p = &picture->panel[n];
    struct panel_position *spot = &s->spot[n];
    spot->frame = attn_panel_measure(p, c);
    double width = panel_width(c, p, &spot->frame);
    int heading = attn_picture_has_heading(picture, n);
    if (x > MARGIN && (heading || x + width > sheet)) x = MARGIN, y += line + GAP, line = 0;
    if (heading) {
      y += HEADING_LINE;
      s->width =
          fmax(s->width, 2 * MARGIN + attn_canvas_text_width(c, &p->section, HEADING) * 1.08);
    }
    spot->x = x, spot->y = y;
    const double gap = p->compact ? SMALL_GAP : GAP;
    x += width + gap;
    line = fmax(line, caption_height(c, p) + spot->frame.height);
    s->width = fmax(s->width, x - gap + MARGIN);
  }
  s->height = y + line + MARGIN;
}

/* ---- Drawing -------------------------------------------------------------------------------- */

static void draw_words(struct attn_canvas *c, double x, double y, const attn_bilingual_text *words,
                       int size, int faint) {
  struct attn_text_style as = {
      .size = size, .bold = !faint, .paint = faint ? ATTN_PAINT_FAINT : ATTN_PAINT_INK};
  attn_canvas_draw_text(c, x, y, words, &as);
}

static void draw_panel(const struct page_layout *s, struct attn_canvas *c, int32_t n) {
  const attn_panel *p = &s->picture->panel[n];
  const struct panel_position *spot = &s->spot[n];
  double y = spot->y;
  if (attn_picture_has_heading(s->picture, n))
    draw_words(c, spot->x, y - HEADING_LINE / 2 + 2, &p->section, HEADING, 0);
  if (*attn_text_in(&p->title, c->language)) {
    draw_words(c, spot->x, y + CAPTION, &p->title, CAPTION, 0);
    y += CAPTION_LINE;
  }
  if (has_note(c, p)) draw_words(c, spot->x, y + NOTE, &p->note, NOTE, 1);
  attn_panel_draw(p, &spot->frame, c, spot->x, spot->y + caption_height(c, p));
}

static void draw_sheet(const struct page_layout *s, struct attn_canvas *c) {
  c->rect(c, 0, 0, s->width, s->height, ATTN_PAINT_PAGE);
  draw_words(c, MARGIN, MARGIN + TITLE, &s->picture->title, TITLE, 0);
  for (int32_t n = 0; n < s->picture->panels; n++) draw_panel(s, c, n);
}

static attn_status begin(struct page_layout *s, const struct attn_picture *p,
                         const struct attn_canvas *c, attn_error *err) {
  *s = (struct page_layout){.picture = p, .spot = calloc((size_t)p->panels, sizeof *s->spot)};
  if (!s->spot) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to lay out the picture");
  place_all(s, c);
  return ATTN_OK;
}

/* ---- SVG ---- */

static void open_svg(struct attn_out *out, const struct page_layout *s, const char *title) {
  const char *width = ATTN_NUMBER_TEXT(s->width, 2), *height = ATTN_NUMBER_TEXT(s->height, 2);
  attn_putf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" "
            "viewBox=\"0 0 %s %s\" lang=\"%s\" role=\"img\" "
            "font-family=\"system-ui, sans-serif\">\n<title>",
            width, height, width, height, attn_language_code(out->style.language));
  attn_xml_text(out, title);
  attn_put(
      out,
      "</title>\n<style>text{font-variant-numeric:tabular-nums}rect{shape-rendering:crispEdges}\n"
      "@media (prefers-color-scheme:dark){");
  attn_xml_theme(out, ATTN_DARK);
  attn_put(out, "}</style>\n");
}

attn_status attn_picture_svg(struct attn_out *out, const struct attn_picture *p, attn_error *err) {
  struct attn_svg svg;
  struct page_layout s;
  attn_svg_begin(&svg, out, 0);
  attn_status status = begin(&s, p, &svg.canvas, err);
  if (status) return status;
  const attn_bilingual_text *title = *attn_text_in(&p->title, 0) ? &p->title : &p->panel[0].title;
  open_svg(out, &s, attn_text_in(title, out->style.language));
  draw_sheet(&s, &svg.canvas);
  attn_put(out, "</svg>\n");
  free(s.spot);
  return svg.canvas.no_memory ? attn_picture_no_memory(err) : ATTN_OK;
}

/* ---- PNG ---- */

attn_status attn_picture_png(struct attn_out *out, const struct attn_picture *p, attn_error *err) {
  /* The layout needs the font before there are pixels. */
  const int precision = out->style.precision;
  struct attn_raster raster = {
      .canvas = {.language = ATTN_LANGUAGE_ENGLISH, .precision = precision, .plain = 1}};
  struct page_layout s;
  attn_status status = begin(&s, p, &raster.canvas, err);
  if (status) return status;
  status = attn_raster_begin(&raster, s.width, s.height, err);
  raster.canvas.precision = precision;
  if (!status) draw_sheet(&s, &raster.canvas);
  if (!status) status = attn_raster_write(&raster, out->sink, err);
  attn_raster_end(&raster);
  free(s.spot);
  return status;
}
