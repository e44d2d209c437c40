/* out.h -- text on its way to a reader: width, language, numbers. */
#ifndef ATTN_REPORT_OUT_H
#define ATTN_REPORT_OUT_H

#include "attn/lesson.h"
#include "phrases.h"

struct attn_out {
  const attn_sink *sink;
  attn_style style;
  int failed; /* the sink wanted no more */
};

struct attn_out attn_out_begin(const attn_style *style, const attn_sink *sink);
attn_status attn_out_end(const struct attn_out *out, attn_error *err);

void attn_out_text(struct attn_out *out, const char *text);
void attn_out_format(struct attn_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A phrase of the catalogue, its %s filled in. */
void attn_out_phrase(struct attn_out *out, enum attn_phrase phrase, ...);
const char *attn_out_word(const struct attn_out *out, enum attn_phrase phrase);

/* text, padded with spaces to width columns of a terminal; right: on its left. */
void attn_out_padded(struct attn_out *out, const char *text, int width, int right);
int attn_text_width(const char *text);

/* A number with the style's digits: no -0, tiny ones as 1.5e-10, -inf as it is. */
enum { ATTN_NUMBER_BYTES = 40 };
const char *attn_number_text(const struct attn_out *out, double value, char text[ATTN_NUMBER_BYTES]);

/* A matrix with names of rows and columns (or NULL), aligned; wrapped into groups of columns where
 * the line is too short. */
void attn_out_matrix(struct attn_out *out, const attn_matrix *m, char **rows, char **cols);

/* cell.c: the sum behind one number, on one line without its end. */
void attn_out_working(struct attn_out *out, const attn_example *e, int32_t step, int32_t row,
                      int32_t col);

/* What the document calls a step, its head behind it. */
void attn_out_step(struct attn_out *out, const attn_step *s);

#endif
