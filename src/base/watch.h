/* watch.h -- work that takes long tells its caller how far it is, and hears that it shall stop. */
#ifndef ATTN_BASE_WATCH_H
#define ATTN_BASE_WATCH_H

#include <stdatomic.h>

#include "attn/attn.h"

struct attn_watch {
  /* NULL, or told how much is done and of how much; not 0: no more is wanted. */
  int (*stop)(void *context, int64_t done, int64_t total);
  void *context;
  const char *name;    /* of the caller's argument, for the message; may be NULL */
  atomic_flag telling; /* watch.c's, as is what follows; zeroed memory will do */
  _Atomic int stopped;
  int64_t done, total; /* as told last */
};

/* Tells watch, which may be NULL: one thread at a time, a thread that finds another telling goes
 * on. ATTN_ERR_INTERRUPTED once stop has said so, from then on always. */
attn_status attn_watch_report(struct attn_watch *watch, int64_t done, int64_t total,
                              attn_error *err);

/* Tells it the same once more: from within a part. */
attn_status attn_watch_poll(struct attn_watch *watch, attn_error *err);

#endif
