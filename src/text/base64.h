/* base64.h -- bytes as text in base64 [RFC 4648, section 4]. */
#ifndef ATTN_TEXT_BASE64_H
#define ATTN_TEXT_BASE64_H

#include "text_writer.h"

/* Starts as {.out = out}; the other members are 0. */
struct attn_base64 {
  struct attn_out *out;
  unsigned char left[3];
  size_t count, length; /* of left, of text */
  char text[1024];
};

/* The write function of a sink whose context is the struct. Returns 0. */
int attn_base64_write(void *base64, const char *bytes, size_t count);

/* Writes what is left, with padding. */
void attn_base64_end(struct attn_base64 *base64);

#endif
