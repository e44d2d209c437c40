#include "canvas.h"

#include "text_layout.h"

double attn_text_units(const char *text, int size) {
  struct attn_cluster c;
  double width = 0;
  while (attn_text_next(&text, &c)) width += c.width > 1 ? 1.0 * c.width / 2 : 0.62 * c.width;
  return width * size;
}

const char *attn_text_in(const attn_bilingual_text *words, int language) {
  const char *english = words->english ? words->english : words->japanese;
  const char *japanese = words->japanese ? words->japanese : words->english;
  const char *text = language == ATTN_LANGUAGE_JAPANESE ? japanese : english;
  return text ? text : "";
}

attn_bilingual_text attn_message_bilingual(int message) {
  return (attn_bilingual_text){attn_message_text(message, ATTN_LANGUAGE_ENGLISH),
                               attn_message_text(message, ATTN_LANGUAGE_JAPANESE)};
}

void attn_canvas_draw_text(struct attn_canvas *c, double x, double y,
                           const attn_bilingual_text *words, const struct attn_text_style *as) {
  for (int language = ATTN_LANGUAGE_ENGLISH; language <= ATTN_LANGUAGE_JAPANESE; language++) {
    struct attn_text_style one = *as;
    const char *text = attn_text_in(words, language);
    one.lang = c->bilingual ? attn_language_code(language) : NULL;
    if (*text && (c->bilingual || language == c->language)) c->text(c, x, y, text, &one);
  }
}

double attn_canvas_text_width(const struct attn_canvas *c, const attn_bilingual_text *words,
                              int size) {
  double widest = 0;
  for (int language = ATTN_LANGUAGE_ENGLISH; language <= ATTN_LANGUAGE_JAPANESE; language++) {
    double width = attn_text_units(attn_text_in(words, language), size);
    if ((c->bilingual || language == c->language) && width > widest) widest = width;
  }
  return widest;
}
