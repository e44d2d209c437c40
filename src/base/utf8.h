/* utf8.h -- characters of a text, and which of them may be shown. */
#ifndef ATTN_BASE_UTF8_H
#define ATTN_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { ATTN_UTF8_REPLACEMENT = 0xFFFD };

/* Bytes of the code point at text, *code what it is; 0: no UTF-8 there. */
size_t attn_utf8_read(const char *text, size_t length, int32_t *code);

/* May the code point go to a terminal as it is? Not a control, not a line's end of Unicode's own,
 * not a mark that changes the direction of what is around it. The one place that decides it. */
int attn_utf8_is_displayable(int32_t code);

/* The same for text that is to be shown, whatever it is: a character that may not be shown, and a
 * byte that is no UTF-8, come as U+FFFD. Never 0 where length is not. */
size_t attn_utf8_read_displayable(const char *text, size_t length, int32_t *code);

#endif
