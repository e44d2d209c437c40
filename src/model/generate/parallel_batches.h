/* sharing.h -- sequences, so many of them side by side, shared over threads. */
#ifndef ATTN_MODEL_PARALLEL_BATCHES_H
#define ATTN_MODEL_PARALLEL_BATCHES_H

#include <stdatomic.h>

#include "layer.h"
#include "watch.h"

struct attn_parallel_batches {
  int64_t sequences, together; /* together: at least 1, how many make a group; the last has less */
  int32_t threads;             /* 0: all. A group is worked on by one */
  /* Works on one group. A failure halts the others: none begins any more. */
  attn_status (*work)(void *argument, int64_t first, int64_t count, attn_error *err);
  void *argument;
  struct attn_watch watch; /* told of sequences by attn_parallel_batches_report */

  _Atomic int64_t done; /* added to by work */
  _Atomic int halted;   /* for work that is long: what is left of it is not wanted */
  struct attn_parallel_batch_result *outcomes; /* sharing.c's */
};

/* Every group's work; of those that failed the first one's failure. ATTN_ERR_MEMORY. */
attn_status attn_parallel_batches_run(struct attn_parallel_batches *sharing, attn_error *err);

/* For work to call: ATTN_ERR_INTERRUPTED where the caller wants no more. */
attn_status attn_parallel_batches_report(struct attn_parallel_batches *sharing, attn_error *err);

#endif
