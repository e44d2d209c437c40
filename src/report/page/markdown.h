/* markdown.h -- a text in a subset of Markdown as elements of a page. */
#ifndef ATTN_REPORT_MARKDOWN_H
#define ATTN_REPORT_MARKDOWN_H

#include "text_writer.h"

/* Writes an article: headings from ## on, paragraphs, lists, tables, fenced code, `code`,
 * **strong** and [links](address). The title, a line "# ", and HTML comments are skipped;
 * everything else is text.
 */
void attn_put_markdown(struct attn_out *page, const char *text);

#endif
