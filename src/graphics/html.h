/* html.h -- the parts that every HTML page shares: both languages, the theme, figures of panels. */
#ifndef ATTN_GRAPHICS_HTML_H
#define ATTN_GRAPHICS_HTML_H

#include "picture.h"

/* From <!DOCTYPE html> to the buttons that select the language; what follows is inside <main>.
 * style: CSS rules after the shared ones, or NULL. */
void attn_html_begin(struct attn_out *out, const attn_bilingual_text *title, const char *style);

/* Closes <main> and the page. script: JavaScript after the shared one, or NULL. */
void attn_html_end(struct attn_out *out, const char *script);

/* In both languages, each with its lang attribute; nothing if there is no text. */
void attn_html_words(struct attn_out *out, const attn_bilingual_text *words);
void attn_html_message(struct attn_out *out, int message); /* of the catalogue */

/* A panel as a <figure>, with its values as a table; n: its number on the page, from 0. Returns
 * whether there was no memory for it. */
int attn_html_panel(struct attn_out *out, const attn_panel *p, int32_t n);

#endif
