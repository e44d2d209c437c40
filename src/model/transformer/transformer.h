/* transformer.h -- the Transformer [Vaswani17] on a tape: encoder, decoder, or both. */
#ifndef ATTN_MODEL_TRANSFORMER_H
#define ATTN_MODEL_TRANSFORMER_H

#include "packed_weights.h"

/* Sequences of tokens, one behind another. */
struct attn_token_batch {
  int64_t n, sequences;
  const int32_t *tokens;             /* (n) */
  const int32_t *places;             /* (n): from 0 in each sequence */
  const int64_t *starts;             /* (sequences + 1) */
  int64_t first_row, first_sequence; /* of a larger batch that these are a part of; dropout's */
  const int32_t *types;              /* (n): which kind each token is, NULL: all 0 */
};

/* Hidden vectors (source->n, D). */
struct attn_value *attn_transformer_encode(const struct attn_network *network,
                                           struct attn_tape *tape,
                                           const struct attn_token_batch *source);

/* The same by itself, in memory of the tape's that is measured first, on as many threads as the
 * tape says, by packed weights where pack is not NULL. attn_tape_close in every case. */
attn_status attn_transformer_encode_alone(const struct attn_network *network,
                                          const struct attn_packed_weights *pack,
                                          struct attn_tape *tape,
                                          const struct attn_token_batch *source,
                                          struct attn_value **hidden, attn_error *err);

/* Likewise the logits (source->n, V) of the encoder's hidden vectors. */
attn_status attn_transformer_label_alone(const struct attn_network *network,
                                         const struct attn_packed_weights *pack,
                                         struct attn_tape *tape,
                                         const struct attn_token_batch *source,
                                         struct attn_value **logits, attn_error *err);

/* Hidden vectors (target->n, D); memory and source are NULL in a model without an encoder. */
struct attn_value *attn_transformer_decode(const struct attn_network *network,
                                           struct attn_tape *tape,
                                           const struct attn_token_batch *target,
                                           struct attn_value *memory,
                                           const struct attn_token_batch *source);

/* Logits (n, V) of hidden vectors; without a head themselves. */
struct attn_value *attn_transformer_project(const struct attn_network *network,
                                            struct attn_tape *tape, struct attn_value *hidden);

/* All three: logits of the target's tokens, of an encoder the source's. */
struct attn_value *attn_transformer_forward(const struct attn_network *network,
                                            struct attn_tape *tape,
                                            const struct attn_token_batch *source,
                                            const struct attn_token_batch *target);

#endif
