#include "source.h"

#include <stdio.h>
#include <string.h>

#include "error.h"

enum { MARK_BYTES = 64 };

struct attn_mark {
  uint32_t line;        /* at the mark, from 1 */
  uint32_t characters;  /* before the mark, from the text's begin */
  uint32_t line_begins; /* the same count where the mark's line begins */
};

static int is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

uint32_t attn_code_point(const char *text, size_t at, size_t end, size_t *next) {
  const unsigned char *s = (const unsigned char *)text + at;
  size_t left = end - at;
  size_t length = s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
  if (length > left) length = left; /* a range that ends inside a character */
  *next = at + length;
  if (length == 1) return s[0];
  if (length == 2) return (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
  if (length == 3) return (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
  return (s[0] & 0x07u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
}

/* Characters that stand for another one, in order. */
static const struct {
  uint32_t from, to, as;
} GLYPHS[] = {
    {0x00A0, 0x00A0, ' '},    {0x00B7, 0x00B7, '*'},    {0x00D7, 0x00D7, '*'},
    {0x00F7, 0x00F7, '/'},    {0x2000, 0x200B, ' '},    {0x2010, 0x2013, '-'},
    {0x2025, 0x2025, 0x2026}, {0x202F, 0x202F, ' '},    {0x2044, 0x2044, '/'},
    {0x2212, 0x2212, '-'},    {0x2215, 0x2215, '/'},    {0x2217, 0x2217, '*'},
    {0x2219, 0x2219, '*'},    {0x2243, 0x2243, 0x2248}, {0x2245, 0x2245, 0x2248},
    {0x2252, 0x2252, 0x2248}, {0x22C5, 0x22C5, '*'},    {0x22EF, 0x22EF, 0x2026},
    {0x3000, 0x3000, ' '},    {0x3001, 0x3001, ','},    {0xFE63, 0xFE63, '-'},
    {0xFEFF, 0xFEFF, ' '},
};

uint32_t attn_glyph(const char *text, size_t at, size_t end, size_t *next) {
  uint32_t c = attn_code_point(text, at, end, next);
  if (c < 0x80 || (c > 0x3001 && c < 0xFE63)) return c;
  if (c >= 0xFF01 && c <= 0xFF5E) return c - 0xFEE0; /* full-width */
  for (size_t n = 0; n < sizeof GLYPHS / sizeof *GLYPHS && GLYPHS[n].from <= c; n++)
    if (c <= GLYPHS[n].to) return GLYPHS[n].as;
  return c;
}

/* Length of the well-formed character at s, or 0. */
static size_t character_length(const unsigned char *s, size_t left) {
  unsigned char c = s[0];
  if (c < 0x80) return 1;
  size_t length = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
  if (c < 0xC2 || c > 0xF4 || length > left) return 0;
  for (size_t i = 1; i < length; i++)
    if (!is_continuation(s[i])) return 0;
  if (c == 0xE0 && s[1] < 0xA0) return 0;       /* overlong */
  if (c == 0xED && s[1] > 0x9F) return 0;       /* a surrogate */
  if (c == 0xF0 && s[1] < 0x90) return 0;       /* overlong */
  return c == 0xF4 && s[1] > 0x8F ? 0 : length; /* beyond Unicode */
}

static int is_control(unsigned char c) {
  return c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f';
}

struct scan {
  struct attn_mark now;
  size_t line_offset;
  int seen; /* something other than white space */
};

static attn_status check_character(struct scan *scan, const unsigned char *text, size_t at,
                                   size_t size, size_t *length, attn_error *err) {
  long line = (long)scan->now.line;
  long column = (long)(scan->now.characters - scan->now.line_begins) + 1;
  *length = character_length(text + at, size - at);
  if (*length == 0)
    return attn_fail_at(err, ATTN_ERR_FORMAT, line, column,
                        "byte 0x%02X is not UTF-8: save the document as UTF-8 text", text[at]);
  if (is_control(text[at]))
    return attn_fail_at(err, ATTN_ERR_FORMAT, line, column,
                        "control character 0x%02X: this is a binary file, not a text document",
                        text[at]);
  if (at - scan->line_offset >= ATTN_LINE_BYTES_MAX)
    return attn_fail_at(err, ATTN_ERR_FORMAT, line, column,
                        "the line is longer than %d MiB: break it into lines",
                        ATTN_LINE_BYTES_MAX >> 20);
  return ATTN_OK;
}

static void step(struct scan *scan, unsigned char c, size_t next) {
  scan->now.characters++;
  if (c > ' ') scan->seen = 1;
  if (c != '\n') return;
  scan->now.line++;
  scan->now.line_begins = scan->now.characters;
  scan->line_offset = next;
}

static attn_status index_places(struct attn_source *source, attn_error *err) {
  const unsigned char *text = (const unsigned char *)source->text;
  struct scan scan = {.now = {.line = 1}};
  size_t length = 0;
  for (size_t at = 0, mark = 0; at < source->size; at += length) {
    attn_status status = check_character(&scan, text, at, source->size, &length, err);
    if (status != ATTN_OK) return status;
    /* A mark inside a character counts from that character. */
    for (; mark * MARK_BYTES < at + length; mark++) {
      source->marks[mark] = scan.now;
      if (mark * MARK_BYTES > at) source->marks[mark].characters++;
    }
    step(&scan, text[at], at + length);
  }
  if (scan.seen) return ATTN_OK;
  return attn_fail_at(err, ATTN_ERR_FORMAT, 1, 1,
                      "the document is empty: write a lesson into it (attn new shows one)");
}

attn_status attn_source_open(struct attn_source *source, const char *text, size_t size,
                             struct attn_pool *pool, attn_error *err) {
  if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3, size -= 3;
  if (size > ATTN_TEXT_BYTES_MAX)
    return attn_fail_at(err, ATTN_ERR_FORMAT, 1, 1,
                        "the document has %zu bytes, more than the %d MiB that a lesson may have",
                        size, ATTN_TEXT_BYTES_MAX >> 20);
  source->text = text;
  source->size = size;
  source->marks = attn_pool_take(pool, (size / MARK_BYTES + 2) * sizeof *source->marks);
  if (!source->marks) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the document");
  return index_places(source, err);
}

const char *attn_source_line(const struct attn_source *source, int line, size_t *bytes) {
  const char *text = source->text, *end = text + source->size, *feed;
  size_t low = 0, high = source->size / MARK_BYTES; /* the last mark above the line, or the first */
  while (low < high) {
    size_t middle = low + (high - low + 1) / 2;
    if (middle * MARK_BYTES < source->size && (int)source->marks[middle].line < line)
      low = middle;
    else
      high = middle - 1;
  }
  text += low * MARK_BYTES;
  for (int at = source->size ? (int)source->marks[low].line : line; at < line; at++) {
    feed = memchr(text, '\n', (size_t)(end - text));
    text = feed ? feed + 1 : end;
  }
  feed = memchr(text, '\n', (size_t)(end - text));
  *bytes = (size_t)((feed ? feed : end) - text);
  return text;
}

struct attn_source_position attn_source_place(const struct attn_source *source, size_t offset) {
  if (source->size == 0) return (struct attn_source_position){1, 1};
  if (offset > source->size) offset = source->size;
  size_t mark = offset / MARK_BYTES;
  if (mark * MARK_BYTES >= source->size) mark = (source->size - 1) / MARK_BYTES;
  struct attn_mark m = source->marks[mark];
  for (size_t at = mark * MARK_BYTES; at < offset; at++) {
    unsigned char c = (unsigned char)source->text[at];
    if (!is_continuation(c)) m.characters++;
    if (c == '\n') m.line++, m.line_begins = m.characters;
  }
  return (struct attn_source_position){(int)m.line, (int)(m.characters - m.line_begins) + 1};
}

int attn_source_is_japanese(const struct attn_source *s) {
  size_t japanese = 0, letters = 0, next;
  for (size_t at = 0; at < s->size; at = next) {
    uint32_t c = attn_code_point(s->text, at, s->size, &next);
    japanese += (c >= 0x3041 && c <= 0x30FF) || (c >= 0x4E00 && c <= 0x9FFF);
    letters += c > 127 || (c | 32) - 'a' < 26;
  }
  return japanese > 0 && japanese * 10 >= letters;
}

attn_status attn_source_fail(const struct attn_source *s, size_t offset, attn_error *err,
                             const char *format, va_list arguments) {
  char message[256];
  vsnprintf(message, sizeof message, format, arguments);
  struct attn_source_position place = attn_source_place(s, offset);
  return attn_fail_at(err, ATTN_ERR_FORMAT, place.line, place.column, "%s", message);
}
