/**
 * picture.h -- matrices, attention maps and vectors as pictures. Part of libattn-model.
 *
 * A picture is a list of panels. A panel is a matrix with row and column labels, shown as numbers, as a
 * heat map of weights, as arrows in the plane, as heat over an image, or as points of a roofline plot. One
 * call draws all panels:
 *
 *     panels   -> a sink                         attn_panels_draw
 *     a lesson -> a panel per step -> a sink     attn_lesson_draw
 *     an image -> PNG -> a sink                  attn_image_write
 *     the attention of a model -> a page -> a sink   attn_model_page_write
 *
 * ATTN_PICTURE_TEXT  for a terminal: shades and numbers; colours if style->color is set
 * ATTN_PICTURE_SVG   one standalone image in the style's language; follows the viewer's light or dark
 *                    colour scheme
 * ATTN_PICTURE_HTML  one page in both languages that needs no network and no script: light and
 *                    dark, every picture with its numbers as a table
 * ATTN_PICTURE_PNG   8-bit RGB, two pixels per unit. The small built-in font has ASCII and a few
 *                    symbols: text is English, a label with any other character is replaced by its
 *                    number (#1), and any other character elsewhere by an empty box
 *
 * Heat maps encode weights by lightness (L of OKLab), linear from the page's colour at 0, so that they
 * are readable without colour vision and in grey. Numbers on them are black or white, with a contrast
 * of at least 4.5 to 1. Over an image, heat is a mixture of the darkened grey image and a light
 * green, linear in the weight: more weight is lighter on every image, in every theme.
 */
#ifndef ATTN_PICTURE_H
#define ATTN_PICTURE_H

#include "attn/lesson.h"
#include "attn/model.h"

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
  ATTN_PANEL_IMAGE = 3,  /* weights of a grid that covers an image, as heat over the grey image */
  ATTN_PANEL_ROOFLINE = 4, /* rows (x, y) as points on logarithmic axes, below the roof
                              y = min(roof, slope x) [Williams09] */
} attn_panel_kind;

/** A text in two languages, UTF-8. NULL: the other is used for both; both NULL: none. */
typedef struct attn_bilingual_text {
  const char *english, *japanese;
} attn_bilingual_text;

/**
 * One matrix to draw. All members except struct_size, rows, cols and at may be 0: plain numbers.
 *
 * IMAGE: cell (0, 0) covers the upper left corner of the image. Its numbers and labels are not drawn,
 * except in the table of an HTML page; TEXT has no note. at NULL: the image itself, in colour; rows and
 * cols are ignored. For a caption: one panel of the image, then one per word, titled by the word, all
 * with the same full_heat to compare words.
 */
typedef struct attn_panel {
  size_t struct_size;    /* sizeof(attn_panel) */
  int32_t kind;          /* attn_panel_kind */
  int32_t rows, cols;    /* 1 or more; rows * cols at most ATTN_PANEL_CELLS_MAX; ARROWS and
                          ROOFLINE: cols = 2 */
  int32_t split;         /* ARROWS: the first row of the second group; 0: one group */
  int32_t first;         /* 0 or 1: the number of the first row and column without a label */
  const double *at;      /* rows * cols, row-major; NaN: an empty cell */
  const char *const *row_label; /* `rows` names, UTF-8; NULL: none; a name NULL or "": its number */
  const char *const *col_label; /* `cols` names likewise */
  attn_bilingual_text section;    /* a heading over this panel and following ones with an equal section */
  attn_bilingual_text title;
  attn_bilingual_text note;       /* small, below the title: a formula, a size */
  attn_bilingual_text row_axis;   /* the name of the rows: "query"; ARROWS: of the first group;
                                     ROOFLINE: of x */
  attn_bilingual_text col_axis;   /* the name of the columns: "key"; ARROWS: of the second group;
                                     ROOFLINE: of y */
  const attn_tensor *image; /* IMAGE: (height, width, 3), ATTN_U8, sRGB, any strides; each side at most
                               ATTN_IMAGE_SIDE_MAX */
  double full_heat;         /* IMAGE: the weight of the brightest colour, finite, 0 or more; 0: the
                               largest of `at` */
  int32_t smooth;           /* IMAGE: 1: interpolates the weights linearly between the centres of
                               cells; 0: one colour per cell */
  double shift;             /* IMAGE: moves all cells right and down, in cells, -0.5 to 0.5: for
                               features whose centres are not those of equal parts of the image */
  double roof, slope;       /* ROOFLINE: its height and the slope at its left, 1e-9 to 1e15 */
  int32_t compact;          /* HEAT: 1: a thumbnail of 96 units (or half a unit per cell if that is more)
                               without numbers and labels, its colours scaled to its largest weight; a picture
                               with thumbnails is up to 2000 units wide */
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
 *   panels, count  in   1 to ATTN_PANELS_MAX; all of the same struct_size, which is the
 *                       stride of the array
 *   title          in   of the whole picture; NULL: none
 *   format         in   attn_picture_format
 *   style          in   language (of TEXT and SVG, and the one HTML opens in), precision; color
 *                       and width for TEXT. NULL: defaults
 *   sink           in   takes the bytes, in order
 *
 * An IMAGE panel in TEXT is 24 columns wide: half blocks in 24-bit colours if style->color is set, else
 * shades of the weights (of the image: of its brightness). In the other formats its longer side is 144
 * units, 288 pixels. A weight that is negative or not finite is 0 there.
 *
 * Labels are untrusted text: control characters, bidirectional controls and invalid UTF-8 become
 * U+FFFD; long labels are cut with an ellipsis. A weight outside 0..1 has the colour of the nearer end
 * and shows its number; an arrow with a coordinate that is not finite, or beyond 1e150, is omitted.
 * Matrices too wide for a page continue below. A heat map of more than 64 cells shows a tiny weight as
 * 0.0000, of more than 400 cells only colours; of more than 10000 cells, the HTML page has no table.
 *
 * Errors  ATTN_ERR_ARGUMENT (count, format, style, a panel's kind, split, first, full_heat, smooth,
 *         compact, roof, slope or struct_size, at or image NULL), ATTN_ERR_TYPE (image), ATTN_ERR_SHAPE (rows, cols, image; a
 *         PNG of more than 2^26 pixels), each before the first byte is written; ATTN_ERR_MEMORY;
 *         ATTN_ERR_FILE: the sink has stopped after part of the picture. To write a file atomically,
 *         collect the bytes and call attn_file_write (io.h).
 * Cost    linear in the cells and in the pixels of images; memory for PNG three bytes per pixel, else
 *         a few bytes per panel, and three per pixel of one IMAGE panel.
 * Threads may be called concurrently. Equal panels give equal bytes.
 */
ATTN_API attn_status attn_panels_draw(const attn_panel *panels, int32_t count,
                                      const attn_bilingual_text *title, attn_picture_format format,
                                      const attn_style *style, const attn_sink *sink,
                                      attn_error *err);

/**
 * Returns 1 if the built-in font of ATTN_PICTURE_PNG has all characters of a text, else 0: as a label it is
 * replaced by its number.
 */
ATTN_API int32_t attn_picture_has_glyphs(const char *text);

/**
 * Writes a checked document as one HTML page, in both languages: the report of attn_check_print, then the
 * document itself, unchanged, with every number marked as given, correct, doubtful, carried, wrong or not
 * read. A script shows the right computation of the number under the pointer or focus. If numbers are wrong
 * or carried, the page ends with the document in which these are replaced, in their own decimals.
 *
 *   lesson, check  in   of this document
 *   text, bytes    in   what attn_lesson_read was given
 *
 * Errors  ATTN_ERR_ARGUMENT: a NULL pointer; ATTN_ERR_MEMORY; ATTN_ERR_FILE (the sink has stopped).
 * Cost    linear in the text and the numbers. Threads may call it concurrently.
 */
ATTN_API attn_status attn_check_draw(const attn_lesson *lesson, const attn_check *check, const char *text,
                                     size_t bytes, const attn_style *style, const attn_sink *sink,
                                     attn_error *err);

/** A document of an index. */
typedef struct attn_check_entry {
  const char *file;         /* its name */
  const char *page;         /* the address of its page (attn_check_draw), or NULL: no link */
  const attn_lesson *lesson;
  const attn_check *check;  /* lesson or check NULL: it could not be read */
  const char *problem;      /* then why, or NULL */
} attn_check_entry;

/**
 * Writes an index of checked documents as one HTML page, in both languages: a table of their names with links, verdicts,
 * the first wrong number (its cell, line, what is printed and what is correct) and its likely cause. A script sorts it by
 * verdict.
 *
 *   entries  in   count of them, at least 1
 *
 * Errors  ATTN_ERR_ARGUMENT: a NULL pointer, no entries; ATTN_ERR_FILE (the sink has stopped).
 * Cost    linear in the entries. Threads may call it concurrently.
 */
ATTN_API attn_status attn_check_draw_index(const attn_check_entry *entries, int32_t count,
                                           const attn_style *style, const attn_sink *sink,
                                           attn_error *err);

/**
 * Draws every step of every example of a lesson: matrices as numbers, weights as a heat map with the
 * tokens' names, and queries and keys of width 2 also as arrows. ATTN_PICTURE_HTML is the whole explanation
 * (attn_lesson_explain) in both languages: each value is a table cell with its computation, and a script marks
 * the values that it comes from and goes into. A matrix of more than 10,000 values is cut to its first 64
 * rows and columns.
 *
 * Errors  as attn_panels_draw; ATTN_ERR_ARGUMENT: the lesson has no examples.
 */
ATTN_API attn_status attn_lesson_draw(const attn_lesson *lesson, attn_picture_format format,
                                      const attn_style *style, const attn_sink *sink,
                                      attn_error *err);

/** A page of a course: a text, then a lesson to play with. */
typedef struct attn_course_page {
  size_t struct_size; /* sizeof(attn_course_page) */
  const char *title;  /* UTF-8 */
  const char *text;   /* Markdown: headings from ## on, paragraphs, lists, tables, fenced code, `code`, **strong**,
                         [links](address) to files of the same folder and to https; a paragraph of one line
                         with " = ", of letters, digits and signs without a full stop, is a formula ("scores = Q K^T");
                         everything else is text */
  const attn_lesson *lesson; /* shown after the text as attn_lesson_draw does; NULL or without examples: the text alone */
} attn_course_page;

#ifdef __cplusplus
#define ATTN_COURSE_PAGE_INIT { sizeof(attn_course_page) }
#else
#define ATTN_COURSE_PAGE_INIT { .struct_size = sizeof(attn_course_page) }
#endif

/**
 * Writes a page of a course as HTML that needs no network. The text is in the style's language, the steps of the
 * lesson are in both.
 *
 * Errors  ATTN_ERR_ARGUMENT: a NULL pointer, struct_size; ATTN_ERR_MEMORY; ATTN_ERR_FILE (the sink has stopped).
 */
ATTN_API attn_status attn_course_page_write(const attn_course_page *page, const attn_style *style,
                                            const attn_sink *sink, attn_error *err);

/**
 * Writes an image as PNG, 8-bit RGB.
 *
 *   image  in  (height, width, 3), ATTN_U8, sRGB, any strides; each side at most ATTN_IMAGE_SIDE_MAX, at
 *              most ATTN_IMAGE_PIXELS_MAX pixels
 *   sink   in  takes the bytes, in order
 *
 * attn_image_read (io.h) of the file returns the same pixels.
 *
 * Errors  ATTN_ERR_ARGUMENT, ATTN_ERR_SHAPE, ATTN_ERR_TYPE: before the first byte is written;
 *         ATTN_ERR_MEMORY; ATTN_ERR_FILE: the sink has stopped.
 * Threads may be called concurrently. Equal images give equal bytes.
 */
ATTN_API attn_status attn_image_write(const attn_tensor *image, const attn_sink *sink,
                                      attn_error *err);

/* ---- The attention of a model as a page ------------------------------------------ */

/** One text that a model read, with its attention and what it generated. */
typedef struct attn_model_page_input {
  size_t struct_size;           /* sizeof(attn_model_page_input) */
  const char *source, *target;  /* UTF-8; NULL: none. target: given to the decoder, not generated */
  const attn_attention *heads;  /* head_count: all heads of all layers, as attn_model_visit_attention passes
                                   them, with copies of what they point to */
  int32_t head_count;           /* 1 or more */
  int32_t result_count;         /* 0: nothing is generated */
  const attn_generation_result *results; /* result_count, best first; those with text NULL are skipped. The
                                   attention is that of the first */
} attn_model_page_input;

#ifdef __cplusplus
#define ATTN_MODEL_PAGE_INPUT_INIT { sizeof(attn_model_page_input) }
#else
#define ATTN_MODEL_PAGE_INPUT_INIT { .struct_size = sizeof(attn_model_page_input) }
#endif

/** A page of a model. */
typedef struct attn_model_page {
  size_t struct_size;                  /* sizeof(attn_model_page) */
  const char *name;                    /* of the model, UTF-8: the heading */
  const attn_model_info *info;         /* of the model; NULL: the page has no description */
  const attn_model_page_input *inputs; /* input_count; all of the same struct_size */
  int32_t input_count;                 /* 1 to ATTN_MODEL_PAGE_INPUTS_MAX */
  int32_t kind;                        /* 1 + the attn_attention_kind that is shown first; 0: cross-attention if
                                          the inputs have it */
  int32_t layer, head;                 /* those shown first, from 1; 0: the mean over all */
} attn_model_page;

#ifdef __cplusplus
#define ATTN_MODEL_PAGE_INIT { sizeof(attn_model_page) }
#else
#define ATTN_MODEL_PAGE_INIT { .struct_size = sizeof(attn_model_page) }
#endif

#define ATTN_MODEL_PAGE_INPUTS_MAX 64

/**
 * Writes the attention of a model as one HTML page, in both languages, that needs no network: thumbnails of
 * all layers and heads, a large map of the selected one, lines between queries and keys, the weights of a
 * query as a sorted list, and all weights of a map as a table. Further maps are the mean and the largest
 * weight over heads, and the attention rollout of self-attention of at most ATTN_MODEL_PAGE_ROLLOUT_MAX
 * tokens: the product, over the layers so far, of (A + I) / 2 with A the mean over the heads.
 *
 *   page   in
 *   style  in   the language that the page opens in; other members are ignored. NULL: English
 *   sink   in   takes the bytes, in order
 *
 * Tokens are untrusted text, as in attn_panels_draw.
 *
 * Accuracy  weights are rounded to multiples of 1/65535; where those of an input would exceed 1.76 MB, of 1/4095,
 *           1/255 or 1/127. The page states which. Weights that are not within 0..1 become 0 or 1. Rollout is
 *           computed from the weights in double and rounded likewise; mean and maximum are computed from the rounded
 *           weights. Entropies and the largest weights of a head are not rounded.
 * Errors    ATTN_ERR_ARGUMENT: a NULL pointer, a count, struct_size; a kind, layer or head that the first
 *           input lacks; ATTN_ERR_SHAPE: heads of a kind
 *           differ in queries or keys, or have more than 2^28 weights; ATTN_ERR_MEMORY; ATTN_ERR_FILE: the sink has
 *           stopped after part of the page.
 * Cost      linear in the weights, and in n^3 per layer for the rollout of n tokens; memory of 4 bytes per weight of
 *           an input.
 * Threads   may be called concurrently. Equal arguments give equal bytes.
 * Source    [Abnar20] arXiv 2005.00928 for rollout; [Vig19] arXiv 1906.05714 for the lines.
 */
ATTN_API attn_status attn_model_page_write(const attn_model_page *page, const attn_style *style,
                                           const attn_sink *sink, attn_error *err);

#define ATTN_MODEL_PAGE_ROLLOUT_MAX 1024

#ifdef __cplusplus
}
#endif
#endif
