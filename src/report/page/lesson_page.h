/* lesson_page.h -- a lesson as one HTML page. */
#ifndef ATTN_REPORT_LESSON_PAGE_H
#define ATTN_REPORT_LESSON_PAGE_H

#include "step_labels.h"
#include "text_writer.h"

/* Writes the page: per step its matrix, its formula and its explanation in both languages. A script
 * shows how each value is computed, and from what; the page can be read without it. */
attn_status attn_lesson_page(const attn_lesson *lesson, struct attn_out *out, attn_error *err);

enum { ATTN_STEP_ID_BYTES = 64 };

/* "scores", "e2-h1-scores": unique on the page, without spaces. Its cells are "scores-0-2". */
const char *attn_step_id(const attn_lesson *lesson, int32_t example, const attn_step *s,
                         char text[ATTN_STEP_ID_BYTES]);

/* The values of a step as a table. Each cell has its computation (data-how) and the cells of
 * earlier steps that it needs (data-from: step, first row and column, last row and column). first:
 * the number of the example's first step on the page. */
struct attn_step_table {
  struct attn_out *out;
  const attn_lesson *lesson;
  int32_t example;
  const attn_step *step;
  const unsigned char *marked; /* as attn_explain_marks */
  int32_t first;
  int64_t *terms; /* how many more terms of sums may be written on the page */
};
void attn_put_step_table(const struct attn_step_table *t);

/* A formula as MathML: "Q K^T", "scores / √2", "W_Q". */
void attn_put_math(struct attn_out *out, const char *formula);

#endif
