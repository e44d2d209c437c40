#include "parallel_batches.h"

#include <stdlib.h>

#include "error.h"

/* One per batch, so that the failure returned does not depend on which thread is fastest. */
struct attn_parallel_batch_result {
  attn_status status;
  attn_error error;
};

attn_status attn_parallel_batches_report(struct attn_parallel_batches *b, attn_error *err) {
  return attn_watch_report(&b->watch, b->done, b->sequences, err);
}

static void run_batch(void *argument, int64_t index, int32_t worker) {
  struct attn_parallel_batches *b = argument;
  struct attn_parallel_batch_result *result = &b->results[index];
  int64_t first = index * b->batch_size, left = b->sequences - first;
  (void)worker;
  if (b->stopped) return;
  result->status =
      b->work(b->argument, first, left < b->batch_size ? left : b->batch_size, &result->error);
  if (result->status) b->stopped = 1;
}

attn_status attn_parallel_batches_run(struct attn_parallel_batches *b, attn_error *err) {
  const struct attn_host host = {.threads = b->threads};
  int64_t count = b->sequences / b->batch_size + (b->sequences % b->batch_size > 0);
  attn_status status = ATTN_OK;
  if (!(b->results = calloc((size_t)count + 1, sizeof *b->results)))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %lld batches", (long long)count);
  attn_parallel_for(&host, count, run_batch, b);
  for (int64_t n = 0; n < count && !status; n++) {
    status = b->results[n].status;
    if (status && err) *err = b->results[n].error;
  }
  free(b->results);
  return status;
}
