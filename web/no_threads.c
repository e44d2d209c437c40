/* no_threads.c -- in place of threads.c: the page's module has one thread. */
#include "threads.h"

int32_t attn_threads_count(void) { return 1; }

attn_status attn_threads_check(const attn_executor *host, int32_t threads, attn_error *err) {
  (void)host, (void)threads, (void)err;
  return ATTN_OK;
}

int32_t attn_threads_workers(const attn_executor *host, int32_t threads) {
  (void)host, (void)threads;
  return 1;
}

void attn_threads_parallel_for(const attn_executor *host, int32_t workers, int64_t count,
                               void (*body)(void *argument, int64_t index, int32_t worker),
                               void *argument) {
  (void)host, (void)workers;
  for (int64_t n = 0; n < count; n++) body(argument, n, 0);
}
