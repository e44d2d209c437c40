/* text.h -- characters as a reader sees them: clusters, their width on a terminal, line breaks. */
#ifndef ATTN_TEXT_TEXT_LAYOUT_H
#define ATTN_TEXT_TEXT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* What a reader takes for one character, fit to be shown. */
struct attn_cluster {
  int32_t code, last; /* its first and last code point */
  int width;          /* columns: 2 for CJK and emoji */
  size_t size;
  char bytes[64]; /* not ended by 0; a longer cluster (stacked marks) is cut */
};

/* The next cluster of *at, which moves on; 0 at the end. Torn UTF-8 and what would disturb a
 * terminal (utf8.h) come as U+FFFD. */
int attn_text_next(const char **at, struct attn_cluster *cluster);

/* Columns of a terminal. */
int attn_text_width(const char *text);

/* May a line be broken between these two? Only where one of them belongs to a script without
 * spaces, and never before what closes or behind what opens. */
int attn_text_can_break(int32_t before, int32_t after);

/* At most limit bytes of text, whole characters. */
size_t attn_text_cut(const char *text, size_t limit);

/* Copies text fit to be shown into to (room bytes), at most columns wide; a longer one ends in "…".
 * Returns to. */
const char *attn_text_shorten(char *to, size_t room, const char *text, int columns);

#endif
