/* palette.h -- the colours of pictures, in a light and a dark theme. */
#ifndef ATTN_GRAPHICS_PALETTE_H
#define ATTN_GRAPHICS_PALETTE_H

struct attn_rgb {
  unsigned char r, g, b;
};

enum attn_theme { ATTN_LIGHT, ATTN_DARK, ATTN_THEMES };

/* Roles of colours; a theme maps them to RGB. ATTN_PAINT_HEAT + level is a cell of a heat map,
 * ATTN_PAINT_ON_HEAT + level the number in it. */
enum attn_paint {
  ATTN_PAINT_PAGE,
  ATTN_PAINT_INK,
  ATTN_PAINT_FAINT, /* secondary text; contrast still 4.5 to 1 */
  ATTN_PAINT_GRID,
  ATTN_PAINT_EMPTY,  /* an empty cell */
  ATTN_PAINT_FIRST,  /* the two groups of arrows: blue and orange */
  ATTN_PAINT_SECOND, /* [Okabe & Ito 2008, Color Universal Design] */
  ATTN_PAINTS,
  ATTN_PAINT_HEAT = 64,
  ATTN_PAINT_ON_HEAT = 128,
};

enum { ATTN_HEAT_LEVELS = 64 };

/* The level of a weight, 0 to ATTN_HEAT_LEVELS - 1; clamps to 0..1; not for NaN. */
int attn_heat_level(double weight);

/* The character of a level of heat on a terminal without colours. */
const char *attn_terminal_shade(int level);

struct attn_rgb attn_paint_color(int paint, enum attn_theme theme);

/* Relative luminance and contrast of two colours, 1 to 21 [W3C 2018, WCAG 2.1, 1.4.3]. */
double attn_luminance(struct attn_rgb color);
double attn_contrast(struct attn_rgb a, struct attn_rgb b);

#endif
