/* page_text.h -- explanations and messages as elements of a page, in both languages. */
#ifndef ATTN_REPORT_PAGE_TEXT_H
#define ATTN_REPORT_PAGE_TEXT_H

#include "text_writer.h"

/* Writes a text in the language of the style; lines do not break. */
typedef void attn_page_writer(struct attn_out *out, const void *data);

/* Calls write for each language. Each line becomes an element: <p lang="en">. */
void attn_page_both(struct attn_out *page, const char *tag, attn_page_writer *write,
                    const void *data);

/* The computation of a cell as the attribute data-how. */
void attn_page_working(struct attn_out *page, const attn_example *e, const attn_step *s,
                       int32_t row, int32_t col);

#endif
