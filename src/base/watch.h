/* watch.h -- progress and cancellation of long operations. */
#ifndef ATTN_BASE_WATCH_H
#define ATTN_BASE_WATCH_H

#include <stdatomic.h>

#include "attn/attn.h"

struct attn_watch {
  /* NULL, or called with the work done and in total; nonzero: stop. */
  int (*stop)(void *context, int64_t done, int64_t total);
  void *context;
  const char *name; /* of the caller's argument, for the message; may be NULL */
  /* private; initialized to zero */
  atomic_flag reporting;
  _Atomic int stopped;
  int64_t done, total; /* the last report */
};

/* Reports progress to watch, which may be NULL. One thread at a time calls stop; another continues
 * without reporting. Returns ATTN_ERR_INTERRUPTED from the time stop returned nonzero. */
attn_status attn_watch_report(struct attn_watch *watch, int64_t done, int64_t total,
                              attn_error *err);

/* Repeats the last report, for cancellation within a step. */
attn_status attn_watch_poll(struct attn_watch *watch, attn_error *err);

#endif
