/* page_text.h -- explanations and messages as elements of a page, in both languages. */
#ifndef ATTN_REPORT_PAGE_TEXT_H
#define ATTN_REPORT_PAGE_TEXT_H

#include "text_writer.h"

/* A loop whose turns write a text in one language each:
 *
 *     for (struct attn_page_languages both = {.page = out, .tag = "p"}; attn_page_next(&both);)
 *       write(&both.text);
 *
 * Each line becomes an element, <p lang="en">. Lines do not break. */
struct attn_page_languages {
  struct attn_out *page;
  const char *tag;
  struct attn_out text; /* its style has the language */
  /* private; initialized to zero */
  attn_sink sink;
  int turns, is_open;
};
int attn_page_next(struct attn_page_languages *both);

/* The computation of a cell as the attribute data-how. */
void attn_page_working(struct attn_out *page, const attn_example *e, const attn_step *s,
                       int32_t row, int32_t col);

#endif
