/* decoder.h -- a decoder over the core's KV caches: prompts in passes of many tokens, then one
 * token at a time. A slot is a hypothesis; slots may share a source. */
#ifndef ATTN_MODEL_DECODER_H
#define ATTN_MODEL_DECODER_H

#include "transformer.h"

struct attn_decoder;

/* A decoder with empty slots for at most `tokens` tokens each; slot n has source n. memory: the
 * encoder's hidden vectors of source, not used after the call; both NULL without an encoder. rows:
 * tokens of an attn_decoder_read. pack: of the network, or NULL. threads: 0 for all; products of
 * packed weights use one. */
attn_status attn_decoder_new(const struct attn_network *network,
                             const struct attn_packed_weights *pack,
                             struct attn_tape_variable *memory,
                             const struct attn_token_batch *source, int64_t slots, int64_t tokens,
                             int64_t rows, int32_t threads, struct attn_decoder **decoder,
                             attn_error *err);
void attn_decoder_free(struct attn_decoder *decoder);

/* Replaces slot `to` by a copy of slot `from`: its tokens and its source. Pages are copied on
 * write. */
attn_status attn_decoder_fork(struct attn_decoder *decoder, int64_t from, int64_t to,
                              attn_error *err);

/* Appends tokens[starts[n]] .. tokens[starts[n + 1] - 1] to slots[n], of count distinct slots: at
 * most `rows` in all, at least one to each. ATTN_ERR_ARGUMENT if a slot would have too many. Not
 * for recurrent decoders. */
attn_status attn_decoder_read(struct attn_decoder *decoder, int64_t count, const int64_t *slots,
                              const int64_t *starts, const int32_t *tokens, attn_error *err);

/* Appends one token to each of count distinct slots. *logits (count, V) are valid until the next
 * step. ATTN_ERR_ARGUMENT if a slot is full. */
attn_status attn_decoder_step(struct attn_decoder *decoder, int64_t count, const int64_t *slots,
                              const int32_t *tokens, const float **logits, attn_error *err);

#endif
