#include "error.h"
#include "problem.h"

void attn_progress_report(struct attn_progress *p, const attn_sdpa *d, int64_t more) {
  int64_t done = atomic_fetch_add(&p->done, more) + more;
  if (!d->progress || atomic_flag_test_and_set(&p->telling)) return;
  if (d->progress(d->progress_context, done, p->total)) p->stop = 1;
  atomic_flag_clear(&p->telling);
}

attn_status attn_progress_end(const struct attn_progress *p, attn_error *err) {
  if (!p->stop) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_INTERRUPTED, "progress",
                   "stopped by the caller's progress function");
}
