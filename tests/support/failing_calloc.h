/* failing_calloc.h -- calloc fails after a chosen number of calls. Link with --wrap=calloc. For one
 * thread. */
#ifndef TEST_FAILING_CALLOC_H
#define TEST_FAILING_CALLOC_H

#include <stddef.h>

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static long calls_left = -1; /* calls that succeed before all others fail; -1: none fails */

void *__wrap_calloc(size_t count, size_t bytes) {
  if (calls_left == 0) return NULL;
  if (calls_left > 0) calls_left--;
  return __real_calloc(count, bytes);
}

#endif
