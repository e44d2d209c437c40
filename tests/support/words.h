/* words.h -- text that grows by printf. Include after cmocka.h. */
#ifndef TEST_WORDS_H
#define TEST_WORDS_H

#include <stdarg.h>
#include <stdio.h>

struct words {
  char text[16384];
  size_t size;
};

static inline void put(struct words *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void put(struct words *w, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(w->text + w->size, sizeof w->text - w->size, format, arguments);
  va_end(arguments);
  assert_true(n >= 0 && (size_t)n < sizeof w->text - w->size);
  w->size += (size_t)n;
}

#endif
