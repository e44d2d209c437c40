/* encode.h -- texts through an encoder, group by group.
 *
 * A group is worked on by one thread, by itself: what becomes of its texts is the same, bit for
 * bit, whatever else is asked for and however many threads there are. */
#ifndef ATTN_MODEL_ENCODER_BATCHES_H
#define ATTN_MODEL_ENCODER_BATCHES_H

#include "transformer.h"

struct attn_encoder_batches {
  const struct attn_network *network;
  const struct attn_packed_weights *pack; /* of the network, or NULL */
  const struct attn_token_batch *texts;   /* places are not read */
  int64_t together; /* texts of a group, which go through each layer side by side */
  int32_t threads;  /* 0: all */
  int labels;       /* logits are wanted, not hidden vectors */
  /* Told what came of text number `index`: a row for each token. By several threads at once. */
  attn_status (*take)(void *context, int64_t index, const float *rows /* (n, width) */, int64_t n,
                      int64_t width, attn_error *err);
  void *context;
  /* NULL, or called after groups, by one thread at a time, with the texts done and in all; not 0
   * stops with ATTN_ERR_INTERRUPTED. */
  int (*stop)(void *context, int64_t done, int64_t of);
  void *stop_context;
};

/* The first failure is handed out; groups that were not begun then are left out. */
attn_status attn_encoder_batches_run(const struct attn_encoder_batches *encoding, attn_error *err);

#endif
