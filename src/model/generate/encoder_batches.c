#include "encoder_batches.h"

#include "batch.h"
#include "parallel_batches.h"

struct job {
  const struct attn_encoder_batches *e;
  struct attn_parallel_batches sharing;
};

static attn_status read_group(void *job, int64_t first, int64_t count, attn_error *err) {
  struct job *j = job;
  const struct attn_encoder_batches *e = j->e;
  struct attn_token_batch_slice part = {.places = NULL};
  struct attn_tape tape = {.host.threads = 1}; /* sums are the same with any number of threads */
  struct attn_value *y = NULL;
  attn_status status = attn_token_batch_slice_new(&part, e->texts, first, count, err);
  if (!status)
    status = (e->labels ? attn_transformer_label_alone : attn_transformer_encode_alone)(
        e->network, e->pack, &tape, &part.text, &y, err);
  for (int64_t s = 0; s < count && !status; s++)
    status = e->take(e->context, first + s, y->x + part.starts[s] * y->width,
                     part.starts[s + 1] - part.starts[s], y->width, err);
  if (!status) {
    j->sharing.done += count;
    status = attn_parallel_batches_report(&j->sharing, err);
  }
  attn_tape_close(&tape);
  attn_token_batch_slice_free(&part);
  return status;
}

attn_status attn_encoder_batches_run(const struct attn_encoder_batches *e, attn_error *err) {
  struct job j = {.e = e};
  j.sharing = (struct attn_parallel_batches){
      .sequences = e->texts->sequences,
      .together = e->together,
      .threads = e->threads,
      .work = read_group,
      .argument = &j,
      .watch = {.stop = e->stop, .context = e->stop_context, .name = "progress"}};
  return attn_parallel_batches_run(&j.sharing, err);
}
