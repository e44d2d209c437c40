/* ascii.h -- classes of ASCII characters, whatever the locale. */
#ifndef ATTN_LESSON_ASCII_H
#define ATTN_LESSON_ASCII_H

#include <stddef.h>
#include <string.h>

static inline int attn_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline int attn_is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
static inline int attn_is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The end of the digits at `at`, which may be none. */
static inline size_t attn_skip_digits(const char *text, size_t at, size_t end) {
  while (at < end && attn_is_digit(text[at])) at++;
  return at;
}

/* Is the word one of a list, with a blank between each? */
static inline int attn_is_listed(const char *list, const char *word, size_t bytes) {
  for (const char *at = list; at; at = strchr(at, ' ')) {
    at += *at == ' ';
    if (*at == *word && strncmp(at, word, bytes) == 0 && (at[bytes] == ' ' || !at[bytes])) return 1;
  }
  return 0;
}

#endif
