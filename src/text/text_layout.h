/* text_layout.h -- grapheme clusters, their width on a terminal, line breaks. */
#ifndef ATTN_TEXT_TEXT_LAYOUT_H
#define ATTN_TEXT_TEXT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "attn/io.h"

/* One user-perceived character, made displayable. */
struct attn_cluster {
  int32_t code, last; /* its first and last code point */
  int width;          /* columns: 2 for CJK and emoji */
  size_t size;
  char bytes[64]; /* not terminated by 0; a longer cluster (stacked marks) is cut */
};

/* Reads the next cluster and advances *at; returns 0 at the end. Invalid UTF-8 and characters that
 * would disturb a terminal (utf8.h) become U+FFFD. */
int attn_text_next(const char **at, struct attn_cluster *cluster);

/* Whether a line may break between two code points: only if one belongs to a script without spaces,
 * never inside a word of katakana, before closing or after opening punctuation. */
int attn_text_can_break(int32_t before, int32_t after);

/* The bytes of the longest prefix of whole characters within limit bytes. */
size_t attn_text_cut(const char *text, size_t limit);

/* Copies text, made displayable, to `to` (capacity bytes), at most columns wide; a longer text ends
 * in "…". Returns to. */
const char *attn_text_shorten(char *to, size_t capacity, const char *text, int columns);

#endif
