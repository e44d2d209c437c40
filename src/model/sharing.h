/* sharing.h -- sequences, so many of them side by side, shared over threads. */
#ifndef ATTN_MODEL_SHARING_H
#define ATTN_MODEL_SHARING_H

#include <stdatomic.h>

#include "layer.h"

struct attn_sharing {
  int64_t sequences, together; /* together: at least 1, how many make a group; the last has less */
  int32_t threads;             /* 0: all. A group is worked on by one */
  /* Works on one group. A failure halts the others: none begins any more. */
  attn_status (*work)(void *argument, int64_t first, int64_t count, attn_error *err);
  void *argument;
  /* NULL, or told by attn_sharing_tell, by one thread at a time, how many sequences are done and of
   * how many; not 0 stops with ATTN_ERR_INTERRUPTED. stop_name is the argument's, for messages. */
  int (*stop)(void *context, int64_t done, int64_t of);
  void *context;
  const char *stop_name;

  _Atomic int64_t done; /* added to by work */
  _Atomic int halted;   /* for work that is long: what is left of it is not wanted */
  atomic_flag telling;  /* sharing.c's, as is what follows */
  struct attn_outcome *outcomes;
};

/* Every group's work; of those that failed the first one's failure. ATTN_ERR_MEMORY. */
attn_status attn_sharing_run(struct attn_sharing *sharing, attn_error *err);

/* For work to call: ATTN_ERR_INTERRUPTED where the caller wants no more. A thread that finds
 * another telling goes on. */
attn_status attn_sharing_tell(struct attn_sharing *sharing, attn_error *err);

#endif
