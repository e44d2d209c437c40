/* watch.h -- progress and cancellation of long operations. */
#ifndef ATTN_BASE_WATCH_H
#define ATTN_BASE_WATCH_H

#include <stdatomic.h>

#include "attn/attn.h"

struct attn_watch {
  /* NULL, or called with the work done and in total; nonzero: stop. */
  int (*progress)(void *context, int64_t done, int64_t total);
  void *context;
  const char *name; /* name of the caller's argument, for attn_error; may be NULL */
  /* private; initialized to zero */
  atomic_flag reporting;
  _Atomic int stopped;
  int64_t done, total; /* the last report */
};

/* Reports progress to watch, which may be NULL. If several threads report at once, one of them
 * calls progress and the others continue without reporting. Returns ATTN_ERR_INTERRUPTED once it
 * has returned nonzero. */
attn_status attn_watch_report(struct attn_watch *watch, int64_t done, int64_t total,
                              attn_error *err);

/* Repeats the last report, for cancellation within a step. */
attn_status attn_watch_poll(struct attn_watch *watch, attn_error *err);

#endif
