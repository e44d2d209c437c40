/* parallel_batches.h -- sequences in batches of batch_size, distributed over threads. */
#ifndef ATTN_MODEL_PARALLEL_BATCHES_H
#define ATTN_MODEL_PARALLEL_BATCHES_H

#include <stdatomic.h>

#include "layer_common.h"
#include "watch.h"

struct attn_parallel_batches {
  int64_t sequences, batch_size; /* batch_size: at least 1; the last batch may be smaller */
  int32_t threads;               /* 0: all. One thread processes a batch */
  /* Processes one batch. After a failure no further batch starts. */
  attn_status (*work)(void *argument, int64_t first, int64_t count, attn_error *err);
  void *argument;
  struct attn_watch watch; /* receives the progress that attn_parallel_batches_report reports */

  _Atomic int64_t done;                       /* sequences; incremented by work */
  _Atomic int stopped;                        /* long work should return: its result is not used */
  struct attn_parallel_batch_result *results; /* private */
};

/* Processes every batch; returns the failure of the first batch that failed. ATTN_ERR_MEMORY. */
attn_status attn_parallel_batches_run(struct attn_parallel_batches *batches, attn_error *err);

/* Called by work. ATTN_ERR_INTERRUPTED if the caller requests to stop. */
attn_status attn_parallel_batches_report(struct attn_parallel_batches *batches, attn_error *err);

#endif
