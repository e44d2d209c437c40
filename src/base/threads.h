/* threads.h -- the library's thread pool: started on first use, fork-safe, 1 MiB of stack each. */
#ifndef ATTN_BASE_THREADS_H
#define ATTN_BASE_THREADS_H

#include "attn/attn.h"

/* The workers of the pool: the CPUs that the process may run on, or ATTN_THREADS in the environment
 * (1 to 1024; other values are ignored). */
int32_t attn_threads_count(void);

/* Checks a host's executor (NULL is valid) and a number of threads. */
attn_status attn_threads_check(const attn_executor *host, int32_t threads, attn_error *err);

/* The workers of a call: the executor's, or the pool's if it is NULL; at most threads, unless 0.
 * Both may change at any time, so a call of the library reads the number once. */
int32_t attn_threads_workers(const attn_executor *host, int32_t threads);

/* Calls body(argument, index, worker) for each index below count on at most workers threads,
 * including the caller, of the host's executor, or of the pool if it is NULL. Indices are taken in
 * order; worker is below workers even if the executor has more by now. If the pool is busy with
 * another call or no thread can be started, the caller runs all of them: it never waits and never
 * fails. */
void attn_threads_parallel_for(const attn_executor *host, int32_t workers, int64_t count,
                               void (*body)(void *argument, int64_t index, int32_t worker),
                               void *argument);

#endif
