/* encoder_batches.h -- texts through an encoder, batch by batch.
 *
 * One thread processes a batch by itself: the result of a text is the same, bit for bit, whatever
 * the other batches are and however many threads there are. */
#ifndef ATTN_MODEL_ENCODER_BATCHES_H
#define ATTN_MODEL_ENCODER_BATCHES_H

#include "parallel_batches.h"
#include "transformer.h"

struct attn_encoder_batches {
  struct attn_parallel_batches batches; /* the caller sets batch_size, threads and watch */
  const struct attn_network *network;
  const struct attn_packed_weights *pack; /* of the network, or NULL */
  const struct attn_token_batch *texts;   /* position_ids are not read */
  int logits;                             /* compute logits, not hidden vectors */
  /* Receives the rows of text number `index`, one for each token. Several threads call it at once.
   */
  attn_status (*take)(void *context, int64_t index, const float *rows /* (n, width) */, int64_t n,
                      int64_t width, attn_error *err);
  void *context;
};

/* Returns the failure of the first batch that failed; later batches may not have started. */
attn_status attn_encoder_batches_run(struct attn_encoder_batches *batches, attn_error *err);

#endif
