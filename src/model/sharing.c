#include "sharing.h"

#include <stdlib.h>

#include "error.h"

/* A group's, so that the failure that is handed out is not the fastest thread's. */
struct attn_outcome {
  attn_status status;
  attn_error error;
};

attn_status attn_sharing_tell(struct attn_sharing *s, attn_error *err) {
  return attn_watch_report(&s->watch, s->done, s->sequences, err);
}

static void run_group(void *argument, int64_t index, int32_t worker) {
  struct attn_sharing *s = argument;
  struct attn_outcome *out = &s->outcomes[index];
  int64_t first = index * s->together, left = s->sequences - first;
  (void)worker;
  if (s->halted) return;
  out->status = s->work(s->argument, first, left < s->together ? left : s->together, &out->error);
  if (out->status) s->halted = 1;
}

attn_status attn_sharing_run(struct attn_sharing *s, attn_error *err) {
  const struct attn_host host = {.threads = s->threads};
  int64_t groups = s->sequences / s->together + (s->sequences % s->together > 0);
  attn_status status = ATTN_OK;
  if (!(s->outcomes = calloc((size_t)groups + 1, sizeof *s->outcomes)))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %lld groups", (long long)groups);
  attn_layer_run(&host, groups, run_group, s);
  for (int64_t n = 0; n < groups && !status; n++) {
    status = s->outcomes[n].status;
    if (status && err) *err = s->outcomes[n].error;
  }
  free(s->outcomes);
  return status;
}
