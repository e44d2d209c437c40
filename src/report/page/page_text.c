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

struct element_lines {
  struct attn_out *out;
  const char *tag;
  int language, open;
};

static void open_element(struct element_lines *e) {
  attn_putf(e->out, "<%s lang=\"%s\">", e->tag, attn_language_code(e->language));
  e->open = 1;
}

static void close_element(struct element_lines *e) {
  if (e->open) attn_putf(e->out, "</%s>\n", e->tag);
  e->open = 0;
}

static void write_part(struct element_lines *e, const char *text, const char *end) {
  while (!e->open && text < end && *text == ' ') text++; /* indentation */
  if (text == end) return;
  if (!e->open) open_element(e);
  attn_xml_bytes(e->out, text, (size_t)(end - text));
}

static int write_lines(void *context, const char *text, size_t bytes) {
  struct element_lines *e = context;
  for (const char *end = text + bytes; text < end;) {
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    write_part(e, text, stop ? stop : end);
    if (stop) close_element(e);
    text = stop ? stop + 1 : end;
  }
  return e->out->failed;
}

void attn_page_both(struct attn_out *page, const char *tag, attn_page_writer *write,
                    const void *data) {
  for (int language = 0; language < 2; language++) {
    struct element_lines lines = {page, tag, language, 0};
    const attn_sink sink = {&lines, write_lines};
    const attn_style style = plain_style(page, language);
    struct attn_out text;
    attn_out_begin(&text, &style, &sink);
    write(&text, data);
    attn_out_line(&text, 0);
    close_element(&lines);
  }
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
