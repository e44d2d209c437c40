#include "watch.h"

#include <stddef.h>

#include "error.h"

static attn_status report(struct attn_watch *w, const int64_t now[2], attn_error *err) {
  if (!w || !w->progress) return ATTN_OK;
  if (!w->stopped && !atomic_flag_test_and_set(&w->reporting)) {
    if (now) w->done = now[0], w->total = now[1];
    if (w->progress(w->context, w->done, w->total)) w->stopped = 1;
    atomic_flag_clear(&w->reporting);
  }
  if (!w->stopped) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_INTERRUPTED, w->name, "stopped by the caller");
}

attn_status attn_watch_report(struct attn_watch *w, int64_t done, int64_t total, attn_error *err) {
  const int64_t now[] = {done, total};
  return report(w, now, err);
}

attn_status attn_watch_poll(struct attn_watch *w, attn_error *err) { return report(w, NULL, err); }
