/* lesson_page.h -- a lesson as one HTML page. */
#ifndef ATTN_REPORT_LESSON_PAGE_H
#define ATTN_REPORT_LESSON_PAGE_H

#include "step_labels.h"
#include "text_writer.h"

/* The title of a page, and a text in Markdown in front of the steps. */
struct attn_page_text {
  const char *title, *markdown;
};

/* Writes the page: per step its matrix, its formula and its explanation in both languages. Its
 * script recomputes them when the reader changes an input; the page can be read without it. text:
 * NULL: the usual title alone. */
attn_status attn_lesson_page(const struct attn_page_text *text, const attn_lesson *lesson,
                             struct attn_out *out, attn_error *err);

enum { ATTN_STEP_ID_BYTES = 64 };

/* "scores", "e2-h1-scores": unique on the page, without spaces. Its cells are "scores-0-2". */
const char *attn_step_id(const attn_lesson *lesson, int32_t example, const attn_step *s,
                         char text[ATTN_STEP_ID_BYTES]);

/* The values of a step as a table. marked: as attn_explain_marks. */
void attn_put_step_table(struct attn_out *out, const attn_lesson *lesson, int32_t example,
                         const attn_step *s, const unsigned char *marked);

/* The steps as JSON in a script element, which the page's script computes with; no examples if they
 * are too large to be computed on each edit. */
void attn_put_lesson_data(struct attn_out *page, const attn_lesson *lesson);

/* A formula as MathML: "Q K^T", "scores / √2", "W_Q". */
void attn_put_math(struct attn_out *out, const char *formula);

#endif
