#include "parallel.h"

#include "error.h"
#include "integer.h"
#include "key_range.h"
#include "threads.h"

struct attn_partition attn_problem_partition(const struct attn_problem *p) {
  struct attn_partition s = {p->heads ? p->heads_q / p->heads : 0, 0, 0, 0, 0};
  int merged = p->rows < ATTN_ROW_BLOCK;
  s.units = merged ? 1 : s.group;
  s.unit_rows = merged ? s.group * p->rows : p->rows;
  s.blocks = attn_divide_up(s.unit_rows, ATTN_ROW_BLOCK);
  if (p->row_blocks) s.tasks = attn_divide_up(s.blocks, p->row_blocks);
  return s;
}

int attn_problem_shares_keys(const struct attn_problem *p) {
  enum { MOST = 1 << 16 }; /* floats of k and v */
  const int float_mask = p->desc.mask && p->mask.dtype != ATTN_BOOL;
  if (p->k.dtype != ATTN_F32) return 1;
  if (float_mask || p->desc.flags & ATTN_SDPA_WINDOW) return 0;
  return (double)p->keys * (double)(p->width + p->value_width) >= MOST; /* any sizes */
}

int32_t attn_problem_row_blocks(const struct attn_problem *p) {
  enum { TASKS = 4 }; /* of a worker, at least */
  const struct attn_partition s = attn_problem_partition(p);
  if (s.blocks <= 1) return 1;
  double each = (double)p->batch * (double)(p->heads * s.units) * (double)s.blocks / p->workers;
  int32_t most = p->kernel->row_blocks;
  if (s.blocks < most) most = (int32_t)s.blocks;
  if (p->workers > 1 && each / TASKS < most) most = (int32_t)(each / TASKS);
  return most < 1 ? 1 : most;
}

void attn_partition_key_blocks(const struct attn_problem *p, int64_t b, int64_t from, int64_t to,
                               int64_t *lo, int64_t *hi) {
  const struct attn_partition s = attn_problem_partition(p);
  int64_t first, end;
  *lo = p->keys, *hi = 0;
  for (int64_t n = from; n < to && n < s.units * s.blocks; n++)
    for (int64_t m = n % s.blocks * ATTN_ROW_BLOCK, last = m + ATTN_ROW_BLOCK;
         m < s.unit_rows && m < last; m++) {
      attn_problem_key_range(p, b, m % p->rows, &first, &end);
      if (first < end && first < *lo) *lo = first;
      if (first < end && end > *hi) *hi = end;
    }
  *lo = *lo < *hi ? *lo / ATTN_KEY_BLOCK : 0;
  *hi = attn_divide_up(*hi, ATTN_KEY_BLOCK);
}

void attn_problem_parallel(const struct attn_problem *p, int64_t count,
                           void (*body)(void *, int64_t, int32_t), void *argument) {
  attn_threads_parallel_for(p->desc.executor, p->workers, count, body, argument);
}

void attn_progress_report(struct attn_progress *p, const attn_sdpa *d, int64_t more) {
  int64_t done = atomic_fetch_add(&p->done, more) + more;
  if (!d->progress || atomic_flag_test_and_set(&p->reporting)) return;
  if (d->progress(d->progress_context, done, p->total)) p->stop = 1;
  atomic_flag_clear(&p->reporting);
}

attn_status attn_progress_end(const struct attn_progress *p, attn_error *err) {
  if (!p->stop) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_INTERRUPTED, "progress",
                   "stopped by the caller's progress function");
}
