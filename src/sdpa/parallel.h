/* parallel.h -- rows as tasks of threads, and their progress. */
#ifndef ATTN_SDPA_PARALLEL_H
#define ATTN_SDPA_PARALLEL_H

#include <stdatomic.h>

#include "problem.h"

/* Runs body over 0 .. count-1 on the caller's executor or the library's pool. */
void attn_problem_parallel(const struct attn_problem *problem, int64_t count,
                           void (*body)(void *argument, int64_t index, int32_t worker),
                           void *argument);

/* How rows become tasks: a function of L and the group alone, because bits must not depend on the
 * batch or the threads. Long sequences: blocks within a head. Short ones (decoding): the rows of
 * all query heads that share a key/value head are in one block, so that k and v are read once. */
struct attn_partition {
  int64_t group; /* query heads of a key/value head */
  int64_t units; /* of a group: runs of rows that are cut into blocks */
  int64_t unit_rows;
  int64_t blocks; /* of a unit */
  int64_t tasks;  /* of a unit, of row_blocks blocks but the last one */
};
struct attn_partition attn_problem_partition(const struct attn_problem *problem);

/* Whether blocks of rows gain by sharing keys: if those are widened, or do not stay in the L2 cache
 * from one block to the next. Float masks and windows leave too little to share. */
int attn_problem_shares_keys(const struct attn_problem *problem);

/* Blocks of rows of a task at most: as many as the kernel runs fast, if each worker has some tasks.
 * It does not depend on the keys, and so neither does the workspace. */
int32_t attn_problem_row_blocks(const struct attn_problem *problem);

/* The blocks of ATTN_KEY_BLOCK keys that rows of blocks from..to, counted over a group of sequence
 * b, see by their ranges: lo <= n < hi. Those past the group's last block are none. */
void attn_partition_key_blocks(const struct attn_problem *problem, int64_t b, int64_t from,
                               int64_t to, int64_t *lo, int64_t *hi);

/* The progress of a call, reported to the caller by one thread at a time. stop: set once the
 * caller interrupts; tasks that have not begun return at once. */
struct attn_progress {
  _Atomic int64_t done;
  int64_t total;
  _Atomic int stop;
  atomic_flag reporting;
};
#define ATTN_PROGRESS_INIT \
  { .reporting = ATOMIC_FLAG_INIT }

void attn_progress_report(struct attn_progress *progress, const attn_sdpa *desc, int64_t more);

/* ATTN_OK, or ATTN_ERR_INTERRUPTED if the caller interrupted the call. */
attn_status attn_progress_end(const struct attn_progress *progress, attn_error *err);

#endif
