/* decoder.h -- a decoder one token at a time, over the core's KV caches: what it said before is
 * kept as keys and values, and so is the source. Slots are hypotheses; several may share a source.
 */
#ifndef ATTN_MODEL_DECODER_H
#define ATTN_MODEL_DECODER_H

#include "transformer.h"

struct attn_decoder;

/* Room for so many slots of so many tokens. memory: the encoder's hidden vectors of source, which
 * are no more needed afterwards; NULL, both, where there is no encoder. Slot n begins empty, with
 * source n. pack: of the network, or NULL. threads: 0 for all; packed products take one. */
attn_status attn_decoder_new(const struct attn_network *network,
                             const struct attn_packed_weights *pack, struct attn_value *memory,
                             const struct attn_token_batch *source, int64_t slots, int64_t tokens,
                             int32_t threads, struct attn_decoder **decoder, attn_error *err);
void attn_decoder_free(struct attn_decoder *decoder);

/* Slot `to` becomes what `from` is: its tokens and its source. Nothing is copied until they part.
 */
attn_status attn_decoder_fork(struct attn_decoder *decoder, int64_t from, int64_t to,
                              attn_error *err);

/* One token more for each of count different slots. *logits (count, V) stand until the next step.
 * ATTN_ERR_ARGUMENT where a slot is full. */
attn_status attn_decoder_step(struct attn_decoder *decoder, int64_t count, const int64_t *slots,
                              const int32_t *tokens, const float **logits, attn_error *err);

#endif
