/* recurrent_decoder.h -- an LSTM or GRU that writes a caption and looks at the image's hidden
 * vectors z before each word [Xu15]:
 *
 *     h_0 (and c_0) = linear(mean of z)
 *     context_t = sum_j a_tj z_j,  a_t = softmax_j e(h_{t-1}, z_j)     alignment.h
 *     h_t = cell(word_t, context_t, h_{t-1})
 *     logits_t = output(word_t + linear(h_t) + linear(context_t))
 *
 * Without alignment there is no context, and h_0 is computed from one vector, which is a linear
 * function of all z. */
#ifndef ATTN_MODEL_RECURRENT_DECODER_H
#define ATTN_MODEL_RECURRENT_DECODER_H

#include "block.h"

/* ---- Whole captions ---- */

/* Hidden vectors (target->n, D) of target, for the output head. memory: z of the images of source.
 * weights: NULL, or out: for each step up to the longest target the alignment's weights (sequences,
 * grid positions), valid for the pass; NULL without alignment and while measuring. */
struct attn_tape_variable *attn_recurrent_decode(const struct attn_pass *pass,
                                                 const struct attn_token_batch *target,
                                                 struct attn_tape_variable *memory,
                                                 const struct attn_token_batch *source,
                                                 const float **weights);

/* ---- One word at a time ---- */

struct attn_recurrent_decoder;

/* As attn_decoder_new, which calls it. */
attn_status attn_recurrent_decoder_new(const struct attn_network *network,
                                       const struct attn_packed_weights *pack,
                                       struct attn_tape_variable *memory,
                                       const struct attn_token_batch *source, int64_t slots,
                                       struct attn_recurrent_decoder **decoder, attn_error *err);
void attn_recurrent_decoder_free(struct attn_recurrent_decoder *decoder);

/* Tokens that a slot has read. */
int64_t attn_recurrent_decoder_length(const struct attn_recurrent_decoder *decoder, int64_t slot);

void attn_recurrent_decoder_fork(struct attn_recurrent_decoder *decoder, int64_t from, int64_t to);

attn_status attn_recurrent_decoder_step(struct attn_recurrent_decoder *decoder, int64_t count,
                                        const int64_t *slots, const int32_t *tokens,
                                        const float **logits, attn_error *err);

#endif
