#include "encoder_batches.h"

#include "batch.h"
#include "parallel_batches.h"

struct encoder_run {
  const struct attn_encoder_batches *e;
  struct attn_parallel_batches batches;
};

static attn_status encode_batch(void *run, int64_t first, int64_t count, attn_error *err) {
  struct encoder_run *r = run;
  const struct attn_encoder_batches *e = r->e;
  struct attn_token_batch_slice slice = {.position_ids = NULL};
  struct attn_tape tape = {.host.threads = 1}; /* sums are the same with any number of threads */
  struct attn_tape_variable *y = NULL;
  attn_status status = attn_token_batch_slice_new(&slice, e->texts, first, count, err);
  if (!status)
    status =
        attn_transformer_encode_alone(e->network, e->pack, &tape, &slice.text, e->logits, &y, err);
  for (int64_t s = 0; s < count && !status; s++)
    status = e->take(e->context, first + s, y->x + slice.starts[s] * y->width,
                     slice.starts[s + 1] - slice.starts[s], y->width, err);
  if (!status) {
    r->batches.done += count;
    status = attn_parallel_batches_report(&r->batches, err);
  }
  attn_tape_close(&tape);
  attn_token_batch_slice_free(&slice);
  return status;
}

attn_status attn_encoder_batches_run(const struct attn_encoder_batches *e, attn_error *err) {
  struct encoder_run r = {.e = e};
  r.batches = (struct attn_parallel_batches){
      .sequences = e->texts->sequences,
      .batch_size = e->batch_size,
      .threads = e->threads,
      .work = encode_batch,
      .argument = &r,
      .watch = {.progress = e->progress, .context = e->progress_context, .name = "progress"}};
  return attn_parallel_batches_run(&r.batches, err);
}
