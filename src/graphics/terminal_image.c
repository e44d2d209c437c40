/* terminal_image.c -- IMAGE panels for a terminal, side by side: two pixels per character, the
 * upper half block in the colour of the upper one. */
#include <stdio.h>

#include "picture.h"
#include "text_layout.h"

enum { TILE = 24, GAP = 2, INDENT = 2 };

struct terminal_tiles {
  struct attn_out *out;
  const attn_panel *panel;
  int32_t count; /* of panels in this line of tiles */
  int columns;   /* of a tile */
};

/* A character is about twice as high as wide. */
static int lines_of(const struct terminal_tiles *t, const attn_panel *p) {
  double lines = (double)p->image->shape[0] / (double)p->image->shape[1] * t->columns / 2 + 0.5;
  return lines < 1 ? 1 : lines > TILE ? TILE : (int)lines;
}

/* ---- Characters ---- */

static void put_halves(struct attn_out *out, struct attn_rgb upper, struct attn_rgb lower) {
  char code[64];
  snprintf(code, sizeof code, "38;2;%d;%d;%d;48;2;%d;%d;%d", upper.r, upper.g, upper.b, lower.r,
           lower.g, lower.b);
  attn_out_color(out, code);
  attn_out_text(out, "▀");
}

/* Without colours: the weight, or the brightness of the image. */
static void put_shade(struct attn_out *out, const attn_panel *p, double x, double y, double w,
                      double h) {
  int32_t i = (int32_t)((y + h / 2) * p->rows), j = (int32_t)((x + w / 2) * p->cols);
  double share = p->at ? attn_image_panel_share(p, i, j)
                       : attn_luminance(attn_panel_image_color(p, x, y, w, h));
  attn_out_text(out, attn_terminal_shade(attn_heat_level(share)));
}

static void put_image_line(const struct terminal_tiles *t, const attn_panel *p, int line) {
  double w = 1.0 / t->columns, h = 1.0 / lines_of(t, p);
  for (int column = 0; column < t->columns; column++) {
    double x = column * w, y = line * h;
    if (t->out->style.color)
      put_halves(t->out, attn_panel_image_color(p, x, y, w, h / 2),
                 attn_panel_image_color(p, x, y + h / 2, w, h / 2));
    else
      put_shade(t->out, p, x, y, w, h);
  }
  attn_out_color(t->out, "0");
}

/* ---- Lines ---- */

/* The titles of the panels, or their scales. */
static void put_texts(const struct terminal_tiles *t, int titles) {
  const attn_style *style = &t->out->style;
  char scale[ATTN_NAME_BYTES], shown[ATTN_NAME_BYTES];
  int due = INDENT; /* spaces, written only before text */
  for (int32_t n = 0; n < t->count; n++) {
    const attn_panel *p = &t->panel[n];
    const char *text = titles ? attn_text_in(&p->title, style->language)
                              : attn_image_panel_scale(p, style->language, style->precision, scale);
    attn_text_shorten(shown, sizeof shown, text, t->columns);
    if (*shown) {
      attn_out_spaces(t->out, due), due = 0;
      if (titles) attn_out_color(t->out, "1");
      attn_out_text(t->out, shown);
      if (titles) attn_out_color(t->out, "0");
    }
    due += t->columns - attn_text_width(shown) + GAP;
  }
  attn_out_line(t->out, 0);
}

static void put_tiles(const struct terminal_tiles *t) {
  int lines = 0;
  for (int32_t n = 0; n < t->count; n++)
    if (lines_of(t, &t->panel[n]) > lines) lines = lines_of(t, &t->panel[n]);
  put_texts(t, 1);
  for (int line = 0; line < lines && !t->out->failed; line++) {
    int due = INDENT;
    for (int32_t n = 0; n < t->count; n++, due += GAP) {
      if (line >= lines_of(t, &t->panel[n])) {
        due += t->columns;
        continue;
      }
      attn_out_spaces(t->out, due), due = 0;
      put_image_line(t, &t->panel[n], line);
    }
    attn_out_line(t->out, 0);
  }
  put_texts(t, 0);
}

int32_t attn_terminal_images(struct attn_out *out, const struct attn_picture *p, int32_t n) {
  int width = out->style.width - INDENT, fit = (width + GAP) / (TILE + GAP);
  int32_t end = n + 1;
  while (end < p->panels && p->panel[end].kind == ATTN_PANEL_IMAGE &&
         !attn_picture_has_heading(p, end))
    end++;
  if (fit < 1) fit = 1;
  for (int32_t at = n; at < end && !out->failed; at += fit) {
    int32_t count = end - at < fit ? end - at : fit;
    const struct terminal_tiles t = {out, &p->panel[at], count, width < TILE ? width : TILE};
    if (at > n) attn_out_line(out, 0);
    put_tiles(&t);
  }
  return end - n;
}
