/* source.h -- a document's text and the places in it. */
#ifndef ATTN_LESSON_SOURCE_H
#define ATTN_LESSON_SOURCE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "attn/attn.h"
#include "pool.h"

/* Limits that no lesson comes near: they keep hostile files cheap. */
enum {
  ATTN_TEXT_BYTES_MAX = 64 << 20,
  ATTN_LINE_BYTES_MAX = 16 << 20,
  ATTN_CELLS_MAX = 1 << 20, /* of one matrix */
  ATTN_NESTING_MAX = 48,
};

struct attn_mark;

struct attn_source {
  const char *text; /* after the byte order mark */
  size_t size;
  struct attn_mark *marks; /* line and column of every 64th byte */
};

struct attn_source_position {
  int line, column; /* from 1; columns in characters */
};

/* Checks that text is UTF-8 without control characters and not empty, and indexes its places. */
attn_status attn_source_open(struct attn_source *source, const char *text, size_t size,
                             struct attn_pool *pool, attn_error *err);

/* Constant time, however long the line is. */
struct attn_source_position attn_source_place(const struct attn_source *source, size_t offset);

/* The text of a line, from 1, without its newline: its first byte; *bytes of it. A line beyond the
 * last is empty. Costs the logarithm of the size, and the line. */
const char *attn_source_line(const struct attn_source *source, int line, size_t *bytes);

/* The character at offset, with full-width forms, minus signs, crosses and spaces of all kinds as
 * the ASCII character that they look like. *next is the offset after it. */
uint32_t attn_glyph(const char *text, size_t at, size_t end, size_t *next);

/* The same without that: the code point itself. */
uint32_t attn_code_point(const char *text, size_t at, size_t end, size_t *next);

/* Mostly Japanese: kana and kanji are at least a tenth of the letters. */
int attn_source_is_japanese(const struct attn_source *source);

/* Sets err to a format error with the line and column of offset. Returns ATTN_ERR_FORMAT. */
attn_status attn_source_fail(const struct attn_source *source, size_t offset, attn_error *err,
                             const char *format, va_list arguments);

#endif
