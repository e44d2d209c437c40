/* number_text.h -- numbers as text, independent of the program's locale. */
#ifndef ATTN_TEXT_NUMBER_TEXT_H
#define ATTN_TEXT_NUMBER_TEXT_H

enum { ATTN_NUMBER_BYTES = 48 };

/* For a person, with at most precision decimals: 2, 0.5, 0.3333, 1.0000 (nearly 1), 1.5e-10, -∞;
 * never -0. Trailing zeros mean that the number was rounded. Returns text. */
const char *attn_number_text(double value, int precision, char text[ATTN_NUMBER_BYTES]);

/* With exactly that many decimals; never -0. Returns text. */
const char *attn_number_fixed(double value, int digits, char text[ATTN_NUMBER_BYTES]);

/* For a program: 17 digits, which round-trip; "null" if not finite. Returns text. */
const char *attn_number_json(double value, char text[ATTN_NUMBER_BYTES]);

#endif
