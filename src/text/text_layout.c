#include "text_layout.h"

#include <string.h>
#include <utf8proc.h>

#include "utf8.h"

enum { EMOJI_STYLE = 0xFE0F, UTF8_MAX = 4 };

static size_t decode(const char *at, int32_t *code) {
  return attn_utf8_read_displayable(at, strnlen(at, UTF8_MAX), code);
}

static void append(struct attn_cluster *c, int32_t code) {
  utf8proc_uint8_t bytes[4];
  size_t n = (size_t)utf8proc_encode_char(code, bytes);
  if (c->size + n > sizeof c->bytes) return;
  memcpy(c->bytes + c->size, bytes, n);
  c->size += n;
}

/* A cluster is as wide as its widest code point. */
int attn_text_next(const char **at, struct attn_cluster *c) {
  utf8proc_int32_t state = 0;
  if (!**at) return 0;
  *c = (struct attn_cluster){.width = 0};
  for (int32_t code, before = -1; **at; before = code) {
    size_t n = decode(*at, &code);
    if (before >= 0 && utf8proc_grapheme_break_stateful(before, code, &state)) break;
    int width =
        code == EMOJI_STYLE || (code >= 0x1F1E6 && code <= 0x1F1FF) ? 2 : utf8proc_charwidth(code);
    if (width > c->width) c->width = width;
    if (before < 0) c->code = code;
    c->last = code;
    append(c, code);
    *at += n;
  }
  return 1;
}

int32_t attn_text_width(const char *text) {
  struct attn_cluster c;
  int32_t width = 0;
  while (attn_text_next(&text, &c)) width += c.width;
  return width;
}

static int among(int32_t code, const char *set) {
  for (int32_t c; *set;) {
    set += decode(set, &c);
    if (c == code) return 1;
  }
  return 0;
}

static int letter(int32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static int is_katakana(int32_t c) { return c >= 0x30A0 && c <= 0x30FF; }

int attn_text_can_break(int32_t before, int32_t after) {
  int wide = utf8proc_charwidth(before) == 2, next_wide = utf8proc_charwidth(after) == 2;
  if (among(after,
            "、。，．・：；？！）」』】〕”’ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…〜～％") ||
      among(before, "（「『【〔“‘") || (is_katakana(before) && is_katakana(after)))
    return 0;
  return (wide && (next_wide || letter(after))) || (next_wide && letter(before)) ||
         among(before, "、。");
}

size_t attn_text_cut(const char *text, size_t limit) {
  size_t n = strlen(text);
  if (n <= limit) return n;
  for (n = limit; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;) n--;
  return n;
}

const char *attn_text_shorten(char *to, size_t capacity, const char *text, int columns) {
  static const char dots[] = "…";
  struct attn_cluster c;
  size_t used = 0, cut = 0; /* cut: where the ellipsis goes if the rest does not fit */
  int width = 0;
  while (attn_text_next(&text, &c)) {
    if (width + c.width > columns || used + c.size + sizeof dots > capacity) {
      memcpy(to + cut, dots, sizeof dots);
      return to;
    }
    if (width + c.width < columns) cut = used + c.size;
    memcpy(to + used, c.bytes, c.size);
    used += c.size;
    width += c.width;
  }
  to[used] = 0;
  return to;
}
