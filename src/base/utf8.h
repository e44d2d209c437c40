/* utf8.h -- decoding UTF-8, and which characters are safe to display. */
#ifndef ATTN_BASE_UTF8_H
#define ATTN_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { ATTN_UTF8_REPLACEMENT = 0xFFFD };

/* Decodes the code point at text into *code. Returns its bytes; 0: invalid UTF-8. */
size_t attn_utf8_read(const char *text, size_t length, int32_t *code);

/* Whether a text is valid UTF-8. */
int attn_utf8_is_valid(const char *text, size_t length);

/* Whether a code point may be written to a terminal: not a control character, a Unicode line
 * separator or a mark that changes the direction of the text around it. */
int attn_utf8_is_displayable(int32_t code);

/* attn_utf8_read for display: a character that must not be displayed and an invalid byte become
 * U+FFFD. Returns 0 only if length is 0. */
size_t attn_utf8_read_displayable(const char *text, size_t length, int32_t *code);

#endif
