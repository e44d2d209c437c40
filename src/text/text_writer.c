#include "text_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "text_layout.h"

enum { BAD_STYLE = 2 }; /* nothing is written, as after a failed write */

/* Returns 0, with *to the default, if the style has an unknown size or language. */
static int take_style(const attn_style *from, attn_style *to) {
  if (attn_descriptor_copy(from, to, sizeof *to, sizeof *to, "style", NULL)) return 0;
  if (to->language >= ATTN_LANGUAGE_ENGLISH && to->language <= ATTN_LANGUAGE_JAPANESE) return 1;
  memset(to, 0, sizeof *to);
  return 0;
}

void attn_out_begin(struct attn_out *out, const attn_style *style, const attn_sink *sink) {
  memset(out, 0, sizeof *out);
  out->sink = sink;
  out->before = -1;
  if (!take_style(style, &out->style)) out->failed = BAD_STYLE;
  if (out->style.width < 1) out->style.width = 80;
  if (out->style.precision == 0) out->style.precision = 4;
  if (out->style.precision < 0) out->style.precision = 0;
  if (out->style.precision > 17) out->style.precision = 17;
}

attn_status attn_out_end(const struct attn_out *out, attn_error *err) {
  if (!out->failed) return ATTN_OK;
  if (out->failed == BAD_STYLE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "style",
                     "style has an unknown struct_size or language");
  return attn_fail(err, ATTN_ERR_FILE, "sink", "the text could not be written");
}

attn_status attn_out_open(struct attn_out *out, const attn_style *style, const attn_sink *sink,
                          attn_error *err) {
  if (!sink || !sink->write) return attn_fail(err, ATTN_ERR_ARGUMENT, "sink", "sink is NULL");
  attn_out_begin(out, style, sink);
  return attn_out_end(out, err);
}

static void write_out(struct attn_out *out, const char *text, size_t bytes) {
  if (!out->failed && bytes) out->failed = out->sink->write(out->sink->context, text, bytes) != 0;
}

static void spaces(struct attn_out *out, int count) {
  static const char blank[] = "                                ";
  for (out->column += count > 0 ? count : 0; count > 0; count -= 32)
    write_out(out, blank, count < 32 ? (size_t)count : 32);
}

static void new_line(struct attn_out *out) {
  write_out(out, "\n", 1);
  out->column = out->space = 0;
}

/* ---- Flowing text ------------------------------------------------------------------------ */

static void flush_word(struct attn_out *out) {
  if (!out->word_bytes) return;
  int fresh = out->column <= out->indent;
  if (!fresh && out->column + out->space + out->word_width > out->style.width)
    new_line(out), fresh = 1;
  if (out->column < out->indent) spaces(out, out->indent - out->column);
  if (out->space && !fresh) spaces(out, 1);
  write_out(out, out->word, out->word_bytes);
  out->column += out->word_width;
  out->space = out->word_width = 0;
  out->word_bytes = 0;
}

static void add_to_word(struct attn_out *out, const char *text, size_t bytes, int width) {
  if (out->word_bytes + bytes > sizeof out->word) flush_word(out);
  memcpy(out->word + out->word_bytes, text, bytes);
  out->word_bytes += bytes;
  out->word_width += width;
}

/* From `together` on there is no break between characters, only before the first. */
static void flow(struct attn_out *out, const char *text, const char *together) {
  struct attn_cluster c;
  for (const char *begin = text, *at = text; attn_text_next(&at, &c); begin = at) {
    if (c.code == ' ') {
      flush_word(out);
      out->space = 1;
    } else {
      if (begin <= together && out->before >= 0 && attn_text_can_break(out->before, c.code))
        flush_word(out);
      add_to_word(out, c.bytes, c.size, c.width);
    }
    out->before = c.last;
  }
}

void attn_out_flow(struct attn_out *out, const char *text) { flow(out, text, text + strlen(text)); }
void attn_out_whole(struct attn_out *out, const char *text) { flow(out, text, text); }

void attn_out_line(struct attn_out *out, int indent) {
  flush_word(out);
  new_line(out);
  out->indent = indent;
  out->before = -1;
}

enum { LAST_TOGETHER = 6 }; /* not one character alone on the last line */

static const char *last_characters(const char *text, int count) {
  const char *at = text + strlen(text);
  while (at > text && count > 0) count -= (*--at & 0xC0) != 0x80;
  return at;
}

attn_status attn_text_write_wrapped(const char *text, int32_t column, int32_t indent, int32_t width,
                                    const attn_sink *sink, attn_error *err) {
  const attn_style style = {.struct_size = sizeof style, .width = width};
  struct attn_out out;
  attn_out_begin(&out, &style, sink);
  out.column = column, out.indent = indent;
  flow(&out, text, last_characters(text, LAST_TOGETHER));
  attn_out_line(&out, 0);
  return attn_out_end(&out, err);
}

/* ---- The rest ------------------------------------------------------------------------------ */

void attn_out_bytes(struct attn_out *out, const char *text, size_t bytes) {
  flush_word(out);
  write_out(out, text, bytes);
}

void attn_out_text(struct attn_out *out, const char *text) {
  const char *end = strrchr(text, '\n');
  attn_out_bytes(out, text, strlen(text));
  out->column = end ? attn_text_width(end + 1) : out->column + attn_text_width(text);
}

void attn_out_spaces(struct attn_out *out, int count) {
  if (count > 0) flush_word(out);
  spaces(out, count);
}

void attn_out_cell(struct attn_out *out, const char *text, int width) {
  const int blank = abs(width) - attn_text_width(text);
  if (width > 0) attn_out_spaces(out, blank);
  attn_out_text(out, text);
  if (width < 0) attn_out_spaces(out, blank);
}

void attn_put(struct attn_out *out, const char *text) { attn_out_bytes(out, text, strlen(text)); }

void attn_putf(struct attn_out *out, const char *format, ...) {
  char text[ATTN_PUT_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  attn_put(out, text);
}

void attn_out_color(struct attn_out *out, const char *code) {
  if (!out->style.color) return;
  flush_word(out);
  write_out(out, "\033[", 2);
  write_out(out, code, strlen(code));
  write_out(out, "m", 1);
}

enum { ARGUMENTS_MAX = 10 };

void attn_out_message(struct attn_out *out, int message, ...) {
  const char *argument[ARGUMENTS_MAX], *at = attn_message_text(message, out->style.language);
  int count = 0;
  va_list arguments;
  va_start(arguments, message);
  for (const char *next; count < ARGUMENTS_MAX && (next = va_arg(arguments, const char *));)
    argument[count++] = next;
  va_end(arguments);
  while (*at) {
    char piece[ATTN_WORD_BYTES];
    size_t n = strcspn(at, "{");
    if (n >= sizeof piece) n = attn_text_cut(at, sizeof piece - 1);
    memcpy(piece, at, n);
    piece[n] = 0;
    attn_out_flow(out, piece);
    at += n;
    if (*at != '{') continue;
    int hole = at[1] - '0';
    if (hole >= 0 && hole < count) attn_out_whole(out, argument[hole]);
    at += at[1] && at[2] == '}' ? 3 : 1;
  }
}
