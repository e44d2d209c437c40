/* scarce.h -- failing allocations: one chosen allocation fails; blocks in use are counted, and the
 * largest request is recorded. The linker redirects these functions to this file (--wrap). For one
 * thread. */
#ifndef TEST_SCARCE_H
#define TEST_SCARCE_H

#include <stddef.h>

#include "attn/attn.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *memory);

static struct {
  int on, calls, fails_at, blocks;
  size_t largest;
} scarce;

/* Counts allocations from here; number fails_at (from 1) fails. */
static void scarce_begin(int fails_at) {
  scarce.calls = scarce.blocks = 0, scarce.largest = 0;
  scarce.fails_at = fails_at, scarce.on = 1;
}
static void scarce_end(void) { scarce.on = 0; }

static int refuses(size_t bytes) {
  if (scarce.on && bytes > scarce.largest) scarce.largest = bytes;
  return scarce.on && ++scarce.calls == scarce.fails_at;
}
static void *given(void *memory) {
  if (scarce.on && memory) scarce.blocks++;
  return memory;
}

void *__wrap_malloc(size_t bytes) { return refuses(bytes) ? NULL : given(__real_malloc(bytes)); }
void *__wrap_calloc(size_t count, size_t bytes) {
  return refuses(count * bytes) ? NULL : given(__real_calloc(count, bytes));
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return refuses(bytes) ? NULL : given(__real_aligned_alloc(alignment, bytes));
}
void __wrap_free(void *memory) {
  if (scarce.on && memory) scarce.blocks--;
  __real_free(memory);
}

/* Calls run once for each of its allocations and lets that one fail: run must return
 * ATTN_ERR_MEMORY and free everything. The last call must succeed. Returns the number of
 * allocations. */
static inline int scarce_fail_each(attn_status (*run)(void *context), void *context) {
  for (int fails_at = 1;; fails_at++) {
    scarce_begin(fails_at);
    attn_status status = run(context);
    int calls = scarce.calls, blocks = scarce.blocks;
    scarce_end();
    assert_int_equal(blocks, 0);
    assert_int_equal(status, calls < fails_at ? ATTN_OK : ATTN_ERR_MEMORY);
    if (calls < fails_at) return calls;
  }
}

#endif
