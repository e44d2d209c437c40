/* recurrent_decoder.h -- a recurrent decoder one word at a time. A slot is a hypothesis; slots may
 * share an image. decoder.h calls it. */
#ifndef ATTN_MODEL_RECURRENT_DECODER_H
#define ATTN_MODEL_RECURRENT_DECODER_H

#include "transformer.h"

struct attn_recurrent_decoder;

/* As attn_decoder_new. */
attn_status attn_recurrent_decoder_new(const struct attn_network *network,
                                       const struct attn_packed_weights *pack,
                                       struct attn_tape_variable *memory,
                                       const struct attn_token_batch *source, int64_t slots,
                                       struct attn_recurrent_decoder **decoder, attn_error *err);
void attn_recurrent_decoder_free(struct attn_recurrent_decoder *decoder);

/* Tokens that a slot has read; -1: there is no such slot. */
int64_t attn_recurrent_decoder_length(const struct attn_recurrent_decoder *decoder, int64_t slot);

void attn_recurrent_decoder_fork(struct attn_recurrent_decoder *decoder, int64_t from, int64_t to);

/* As attn_decoder_step, with valid slots and tokens. */
attn_status attn_recurrent_decoder_step(struct attn_recurrent_decoder *decoder, int64_t count,
                                        const int64_t *slots, const int32_t *tokens,
                                        const float **logits, attn_error *err);

#endif
