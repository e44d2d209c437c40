#include "encoder_batches.h"

#include "batch.h"

static attn_status encode_batch(void *batches, int64_t first, int64_t count, attn_error *err) {
  struct attn_encoder_batches *e = batches;
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
    e->batches.done += count;
    status = attn_parallel_batches_report(&e->batches, err);
  }
  attn_tape_close(&tape);
  attn_token_batch_slice_free(&slice);
  return status;
}

attn_status attn_encoder_batches_run(struct attn_encoder_batches *e, attn_error *err) {
  e->batches.sequences = e->texts->sequences;
  e->batches.work = encode_batch, e->batches.argument = e;
  return attn_parallel_batches_run(&e->batches, err);
}
