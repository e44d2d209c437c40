/* threads.h -- the library's own threads: few, lazy, safe across fork; 1 MiB of stack each. */
#ifndef ATTN_BASE_THREADS_H
#define ATTN_BASE_THREADS_H

#include "attn/attn.h"

/* Workers that the pool has or would have: the CPUs this process may run on, or
 * ATTN_THREADS in the environment (1 to 1024). */
int32_t attn_threads_count(void);

/* Has a host's executor all that it needs, and is threads a number of them? */
attn_status attn_threads_check(const attn_executor *host, int32_t threads, attn_error *err);

/* Workers of a call: what the executor has, or where that is NULL the pool; at most threads, if
 * that is not 0. Both may change at any time: a call asks once and keeps the number. */
int32_t attn_threads_workers(const attn_executor *host, int32_t threads);

/* Calls body(argument, index, worker) for each index below count, on at most workers threads,
 * the caller among them. Indices are handed out in order. Where the pool is busy with another
 * caller's work, or no thread can be had, the caller does it alone: never waits, never fails. */
void attn_threads_run(int64_t count, int32_t workers,
                      void (*body)(void *argument, int64_t index, int32_t worker), void *argument);

/* The same on the host's executor, or where that is NULL on the pool; worker is below workers,
 * whatever either has by now. */
void attn_threads_parallel_for(const attn_executor *host, int32_t workers, int64_t count,
                               void (*body)(void *argument, int64_t index, int32_t worker),
                               void *argument);

#endif
