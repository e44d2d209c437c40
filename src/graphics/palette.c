#include "palette.h"

#include <math.h>

/* ---- Weights --------------------------------------------------------------------------------
 *
 * OKLab's lightness changes linearly with the weight, so that equal differences of weight look
 * alike and no information depends on hue. */

struct heat_scale {
  double light[2], chroma[3], hue[2]; /* at 0 and 1; chroma also at 1/2; hue in degrees */
};

static const struct heat_scale scales[ATTN_THEMES] = {
    [ATTN_LIGHT] = {{0.970, 0.340}, {0.012, 0.125, 0.110}, {215, 275}},
    [ATTN_DARK] = {{0.270, 0.940}, {0.035, 0.120, 0.070}, {275, 165}},
};

static unsigned char encoded(double linear) {
  if (linear <= 0) return 0;
  if (linear >= 1) return 255;
  double s = linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
  return (unsigned char)(s * 255 + 0.5);
}

/* OKLab to sRGB [Ottosson 2020, A perceptual color space for image processing]. */
static struct attn_rgb from_oklab(double L, double a, double b) {
  double l = L + 0.3963377774 * a + 0.2158037573 * b;
  double m = L - 0.1055613458 * a - 0.0638541728 * b;
  double s = L - 0.0894841775 * a - 1.2914855480 * b;
  l *= l * l, m *= m * m, s *= s * s;
  return (struct attn_rgb){encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                           encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                           encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

/* The parabola through the chroma at 0, one half and 1. */
static double bent(const double at[3], double t) {
  return at[0] * (1 - t) * (1 - 2 * t) + 4 * at[1] * t * (1 - t) + at[2] * t * (2 * t - 1);
}

static struct attn_rgb heat(int level, enum attn_theme theme) {
  const struct heat_scale *s = &scales[theme];
  double t = (double)level / (ATTN_HEAT_LEVELS - 1), chroma = bent(s->chroma, t);
  double hue = (s->hue[0] + (s->hue[1] - s->hue[0]) * t) * (3.14159265358979323846 / 180);
  return from_oklab(s->light[0] + (s->light[1] - s->light[0]) * t, chroma * cos(hue),
                    chroma * sin(hue));
}

int attn_heat_level(double weight) {
  if (!(weight > 0)) return 0;
  return weight >= 1 ? ATTN_HEAT_LEVELS - 1 : (int)(weight * (ATTN_HEAT_LEVELS - 1) + 0.5);
}

const char *attn_terminal_shade(int level) {
  static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
  return shades[(level * 4 + ATTN_HEAT_LEVELS / 2) / (ATTN_HEAT_LEVELS - 1)];
}

/* ---- Contrast ----------------------------------------------------------------------------- */

static double decoded(unsigned char c) {
  double s = c / 255.0;
  return s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
}

double attn_luminance(struct attn_rgb c) {
  return 0.2126 * decoded(c.r) + 0.7152 * decoded(c.g) + 0.0722 * decoded(c.b);
}

double attn_contrast(struct attn_rgb a, struct attn_rgb b) {
  double x = attn_luminance(a), y = attn_luminance(b);
  return x > y ? (x + 0.05) / (y + 0.05) : (y + 0.05) / (x + 0.05);
}

/* Black or white: one of them has a contrast of at least sqrt(1.05 / 0.05) = 4.58 on any colour. */
static struct attn_rgb readable_on(struct attn_rgb ground) {
  const struct attn_rgb black = {0, 0, 0}, white = {255, 255, 255};
  return attn_contrast(black, ground) > attn_contrast(white, ground) ? black : white;
}

/* ---- Everything ----------------------------------------------------------------------------- */

struct attn_rgb attn_paint_color(int paint, enum attn_theme theme) {
  static const struct attn_rgb named[ATTN_PAINTS][ATTN_THEMES] = {
      [ATTN_PAINT_PAGE] = {{255, 255, 255}, {20, 23, 28}},
      [ATTN_PAINT_INK] = {{26, 31, 41}, {232, 235, 240}},
      [ATTN_PAINT_FAINT] = {{86, 95, 110}, {163, 173, 186}},
      [ATTN_PAINT_GRID] = {{208, 214, 222}, {62, 70, 82}},
      [ATTN_PAINT_EMPTY] = {{255, 255, 255}, {20, 23, 28}},
      [ATTN_PAINT_FIRST] = {{0, 100, 170}, {86, 180, 233}},
      [ATTN_PAINT_SECOND] = {{190, 75, 0}, {240, 160, 60}},
  };
  if (paint >= ATTN_PAINT_ON_HEAT) return readable_on(heat(paint - ATTN_PAINT_ON_HEAT, theme));
  if (paint >= ATTN_PAINT_HEAT) return heat(paint - ATTN_PAINT_HEAT, theme);
  return named[paint][theme];
}
