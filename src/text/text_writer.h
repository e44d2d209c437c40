/* text_writer.h -- writes text to a sink: language, colours, lines that fit the terminal. */
#ifndef ATTN_TEXT_TEXT_WRITER_H
#define ATTN_TEXT_TEXT_WRITER_H

#include "attn/lesson.h"
#include "message_catalog.h"

enum { ATTN_WORD_BYTES = 256 };

struct attn_out {
  const attn_sink *sink;
  attn_style style;
  int failed;     /* the sink has stopped */
  int column;     /* of the terminal, from 0 */
  int indent;     /* of the continuation lines of flowing text */
  int space;      /* a space is due before the next word */
  int word_width; /* of the word that is not written yet */
  size_t word_bytes;
  int32_t before; /* the last code point of flowing text, or -1 */
  char word[ATTN_WORD_BYTES];
};

/* style NULL: English, no colour, 80 columns, 4 decimals. */
void attn_out_begin(struct attn_out *out, const attn_style *style, const attn_sink *sink);

/* ATTN_ERR_ARGUMENT: the style is unknown. ATTN_ERR_FILE: the sink has stopped. */
attn_status attn_out_end(const struct attn_out *out, attn_error *err);

/* attn_out_begin of a caller's arguments. ATTN_ERR_ARGUMENT: the sink is NULL, or the style is
 * unknown. */
attn_status attn_out_open(struct attn_out *out, const attn_style *style, const attn_sink *sink,
                          attn_error *err);

/* Writes text unchanged, at once. */
void attn_out_text(struct attn_out *out, const char *text);
void attn_out_bytes(struct attn_out *out, const char *text, size_t bytes);

/* The same for a file, whose columns do not matter; attn_putf as printf formats it, at most
 * ATTN_PUT_BYTES - 1 bytes. */
enum { ATTN_PUT_BYTES = 1024 };
void attn_put(struct attn_out *out, const char *text);
void attn_putf(struct attn_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Spaces; and a text padded to |width| columns: aligned right, or left if width is negative. */
void attn_out_spaces(struct attn_out *out, int count);
void attn_out_cell(struct attn_out *out, const char *text, int width);

/* Flowing text breaks between words, or between characters of scripts without spaces. Characters
 * that would disturb a terminal become U+FFFD. whole: no break between characters. */
void attn_out_flow(struct attn_out *out, const char *text);
void attn_out_whole(struct attn_out *out, const char *text);

/* A message of the catalogue as flowing text; the strings that follow, ended by NULL, replace its
 * {n}. */
void attn_out_message(struct attn_out *out, int message, ...) __attribute__((sentinel));

/* Ends the line. The next one and its continuation lines begin with indent spaces. */
void attn_out_line(struct attn_out *out, int indent);

/* An ANSI style, written only if colour is enabled: "1" bold, "31" red; "0" ends it. */
void attn_out_color(struct attn_out *out, const char *code);

#endif
