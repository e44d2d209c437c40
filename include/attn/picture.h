/**
 * picture.h -- matrices, attention maps and vectors as pictures. Part of libattn-model.
 *
 * A picture is a list of panels. A panel is a matrix with names along its rows
 * and columns, shown as numbers, as a heat map of weights, or as arrows in the
 * plane. One call draws them all:
 *
 *     panels   -> a sink                       attn_panels_draw
 *     a lesson -> a panel a step -> a sink     attn_lesson_draw
 *
 * ATTN_PICTURE_TEXT  for a terminal: shades and numbers; colours where style->color is set
 * ATTN_PICTURE_SVG   one picture that stands alone, in the style's language; dark where the
 *                    viewer asks for dark
 * ATTN_PICTURE_HTML  one page in both languages that needs no network and no script: light and
 *                    dark, every picture with its numbers as a table
 * ATTN_PICTURE_PNG   8-bit RGB, two pixels a unit. Its letters are a small built-in face of ASCII
 *                    and a few signs: words are English, a label with any other character is its
 *                    number (#1) instead, and any other character elsewhere an empty box
 *
 * Colour tells weights by lightness, which goes evenly from that of the page at 0 to the farthest
 * from it at 1 (L of OKLab), so that it is read without colour vision and in grey. Numbers upon it
 * are black or white, whichever contrasts more: 4.5 to 1 or better.
 */
#ifndef ATTN_PICTURE_H
#define ATTN_PICTURE_H

#include "attn/lesson.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attn_picture_format {
  ATTN_PICTURE_TEXT = 0,
  ATTN_PICTURE_SVG = 1,
  ATTN_PICTURE_HTML = 2,
  ATTN_PICTURE_PNG = 3,
} attn_picture_format;

typedef enum attn_panel_kind {
  ATTN_PANEL_MATRIX = 0, /* numbers between brackets */
  ATTN_PANEL_HEAT = 1,   /* weights of 0 to 1 as colour; their numbers too up to 400 cells */
  ATTN_PANEL_ARROWS = 2, /* rows (x, y) as arrows from the origin, in one or two groups */
} attn_panel_kind;

/** The same words in two languages, UTF-8. NULL: the other serves for both; both NULL: none. */
typedef struct attn_bilingual_text {
  const char *english, *japanese;
} attn_bilingual_text;

/** One matrix to be shown. Zero beside struct_size, rows, cols and at: plain numbers. */
typedef struct attn_panel {
  size_t struct_size;    /* sizeof(attn_panel) */
  int32_t kind;          /* attn_panel_kind */
  int32_t rows, cols;    /* 1 or more; rows * cols at most ATTN_PANEL_CELLS_MAX; ARROWS: cols = 2 */
  int32_t split;         /* ARROWS: rows from here on are the second group; 0: there is one group */
  int32_t first;         /* 0 or 1: what rows and columns without a label are counted from */
  const double *at;      /* rows * cols, row-major; NaN: nothing is there */
  const char *const *row_label; /* rows names, UTF-8; NULL: none; a name NULL or "": its number */
  const char *const *col_label; /* cols names likewise */
  attn_bilingual_text section;    /* a heading over this panel and those that follow with the same words */
  attn_bilingual_text title;
  attn_bilingual_text note;       /* small, below the title: a formula, a size */
  attn_bilingual_text row_axis;   /* what runs down: "query"; ARROWS: the first group */
  attn_bilingual_text col_axis;   /* what runs across: "key"; ARROWS: the second group */
} attn_panel;

#ifdef __cplusplus
#define ATTN_PANEL_INIT { sizeof(attn_panel) }
#else
#define ATTN_PANEL_INIT { .struct_size = sizeof(attn_panel) }
#endif

#define ATTN_PANELS_MAX 4096
#define ATTN_PANEL_CELLS_MAX 1048576

/**
 * Draws panels.
 *
 *   panels, count  in   1 to ATTN_PANELS_MAX; all of one struct_size, which is also the
 *                       distance between them
 *   title          in   of the whole picture; NULL: none
 *   format         in   attn_picture_format
 *   style          in   language (of TEXT and SVG, and the one HTML opens in), precision; color
 *                       and width for TEXT. NULL: defaults
 *   sink           in   takes the bytes, in order
 *
 * Labels are data: whatever they hold is shown, never obeyed. Control characters, changes of
 * direction and torn UTF-8 become U+FFFD; long labels are cut with an ellipsis. A weight beyond
 * 0..1 takes the colour of the nearer end and shows its own number; an arrow with a coordinate
 * that is not finite, or beyond 1e150, is left out. Numbers too wide for a page go on below. A heat
 * map of more than 64 cells shows a tiny weight as 0.0000, of more than 400 colours alone; of more
 * than 10000, the HTML page has no table of it.
 *
 * Errors  ATTN_ERR_ARGUMENT (count, format, style, a panel's kind, split, first or struct_size,
 *         at NULL), ATTN_ERR_SHAPE (rows, cols; a PNG of more than 2^26 pixels), each before the
 *         first byte is written; ATTN_ERR_MEMORY; ATTN_ERR_FILE where the sink stops: then part of
 *         the picture has gone into it, and the caller throws that away. A file that appears
 *         whole or not at all: collect the bytes, then attn_file_write (io.h).
 * Cost    linear in the cells; memory for PNG three bytes a pixel, else a few bytes a panel.
 * Threads any number at once. The same bytes for the same panels, on every call.
 */
ATTN_API attn_status attn_panels_draw(const attn_panel *panels, int32_t count,
                                      const attn_bilingual_text *title, attn_picture_format format,
                                      const attn_style *style, const attn_sink *sink,
                                      attn_error *err);

/**
 * Draws every step of every example of a lesson: matrices as numbers, weights as a heat map with
 * the tokens' names, and queries and keys of two numbers also as arrows, where a dot product is an
 * angle that can be seen.
 *
 * Errors  as attn_panels_draw; ATTN_ERR_ARGUMENT for a lesson with no examples.
 */
ATTN_API attn_status attn_lesson_draw(const attn_lesson *lesson, attn_picture_format format,
                                      const attn_style *style, const attn_sink *sink,
                                      attn_error *err);

#ifdef __cplusplus
}
#endif
#endif
