/* lesson_panels.h -- the panels of a lesson. */
#ifndef ATTN_REPORT_LESSON_PANELS_H
#define ATTN_REPORT_LESSON_PANELS_H

#include "attn/lesson.h"
#include "picture.h"

struct attn_panel_memory;

struct attn_lesson_panels {
  attn_panel *panel; /* of the capacity of all steps and arrow plots of the lesson */
  int32_t panels;
  struct attn_panel_memory *scraps;
  int precision;
  int plain;  /* omit names that the built-in font cannot write */
  int failed; /* no memory */
};

attn_status attn_lesson_panels_begin(struct attn_lesson_panels *a, const attn_lesson *lesson,
                                     int precision, int plain, attn_error *err);
void attn_lesson_panels_free(struct attn_lesson_panels *a);

/* Adds the plot of the queries and keys of a head, if s is the second of them and both are in the
 * plane. Returns it, or NULL. */
const attn_panel *attn_lesson_arrows(struct attn_lesson_panels *a, const attn_example *e,
                                     const attn_step *s, attn_bilingual_text section);

#endif
