/* number_text.h -- numbers as text, independent of the program's locale. */
#ifndef ATTN_TEXT_NUMBER_TEXT_H
#define ATTN_TEXT_NUMBER_TEXT_H

#include <stdint.h>

enum { ATTN_NUMBER_BYTES = 48 };

/* The number, or the integer, as an argument of a call: its buffer is one of the block around. */
#define ATTN_NUMBER_TEXT(value, precision) \
  attn_number_text(value, precision, (char[ATTN_NUMBER_BYTES]){0})
#define ATTN_INTEGER_TEXT(value) attn_integer_text(value, (char[ATTN_NUMBER_BYTES]){0})

/* For a person, with at most precision decimals: 2, 0.5, 0.3333, 1.0000 (nearly 1), 1.5e-10, -∞;
 * never -0. Trailing zeros mean that the number was rounded. Returns text. */
const char *attn_number_text(double value, int precision, char text[ATTN_NUMBER_BYTES]);

/* With exactly that many decimals; never -0. Returns text. */
const char *attn_number_fixed(double value, int digits, char text[ATTN_NUMBER_BYTES]);

/* For a program: 17 digits, which round-trip; "null" if not finite. Returns text. */
const char *attn_number_json(double value, char text[ATTN_NUMBER_BYTES]);

/* In decimal. Returns text. */
const char *attn_integer_text(int64_t value, char text[ATTN_NUMBER_BYTES]);

#endif
