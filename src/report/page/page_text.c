#include "page_text.h"

#include <string.h>

#include "canvas.h"
#include "working.h"

static attn_style plain_style(const struct attn_out *page, int language) {
  attn_style style = page->style;
  style.language = language, style.color = 0, style.width = INT32_MAX / 2;
  return style;
}

/* ---- Lines as elements ---- */

static void close_element(struct attn_page_languages *both) {
  if (both->is_open) attn_putf(both->page, "</%s>\n", both->tag);
  both->is_open = 0;
}

static void write_part(struct attn_page_languages *both, const char *text, const char *end) {
  while (!both->is_open && text < end && *text == ' ') text++; /* indentation */
  if (text == end) return;
  if (!both->is_open)
    attn_putf(both->page, "<%s lang=\"%s\">", both->tag,
              attn_language_code(both->text.style.language));
  both->is_open = 1;
  attn_xml_bytes(both->page, text, (size_t)(end - text));
}

static int write_lines(void *context, const char *text, size_t bytes) {
  struct attn_page_languages *both = context;
  for (const char *end = text + bytes; text < end;) {
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    write_part(both, text, stop ? stop : end);
    if (stop) close_element(both);
    text = stop ? stop + 1 : end;
  }
  return both->page->failed;
}

int attn_page_next(struct attn_page_languages *both) {
  if (both->turns) attn_out_line(&both->text, 0), close_element(both);
  if (both->turns == 2) return 0;
  const attn_style style = plain_style(both->page, both->turns++);
  both->sink = (attn_sink){both, write_lines};
  attn_out_begin(&both->text, &style, &both->sink);
  return 1;
}

/* ---- Attributes ---- */

static int write_escaped(void *page, const char *text, size_t bytes) {
  attn_xml_bytes(page, text, bytes);
  return ((struct attn_out *)page)->failed;
}

void attn_page_working(struct attn_out *page, const attn_example *e, const attn_step *s,
                       int32_t row, int32_t col) {
  const attn_sink sink = {page, write_escaped};
  const attn_style style = plain_style(page, page->style.language);
  struct attn_out text;
  attn_out_begin(&text, &style, &sink);
  attn_put(page, " data-how=\"");
  attn_out_working(&text, e, s, row, col, 0);
  attn_out_bytes(&text, "", 0); /* the last word */
  attn_put(page, "\"");
}
