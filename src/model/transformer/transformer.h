/* transformer.h -- a model over whole sequences: the Transformer's encoder, decoder, or both
 * [Vaswani17]; the encoder of images and its decoders. */
#ifndef ATTN_MODEL_TRANSFORMER_H
#define ATTN_MODEL_TRANSFORMER_H

#include "packed_weights.h"

/* Token sequences, concatenated without padding. */
struct attn_token_batch {
  int64_t n, sequences;
  const int32_t *tokens;             /* (n) */
  const int32_t *position_ids;       /* (n): from 0 in each sequence */
  const int64_t *starts;             /* (sequences + 1): cumulative lengths */
  int64_t first_row, first_sequence; /* in a larger batch that this is a part of; for dropout */
  const int32_t *token_type_ids;     /* (n), NULL: all 0 */
  /* Of images: (sequences, image_size, image_size, 3) from -1 to 1; the tokens of each are its grid
   * positions 0, 1 ... */
  const float *pixels;
  int64_t values; /* of an image: image_size image_size 3 */
};

/* Hidden vectors (source->n, D). */
struct attn_tape_variable *attn_transformer_encode(const struct attn_network *network,
                                                   struct attn_tape *tape,
                                                   const struct attn_token_batch *source);

/* The same with memory measured and allocated first; with `logits` also through the output head,
 * which an encoder must have: (source->n, V). Uses the tape's threads, and packed weights if pack
 * is not NULL. The caller calls attn_tape_close in every case. */
attn_status attn_transformer_encode_alone(const struct attn_network *network,
                                          const struct attn_packed_weights *pack,
                                          struct attn_tape *tape,
                                          const struct attn_token_batch *source, int logits,
                                          struct attn_tape_variable **y, attn_error *err);

/* Encoder, decoder and output head: logits of the target's tokens, of an encoder the source's. */
struct attn_tape_variable *attn_transformer_forward(const struct attn_network *network,
                                                    struct attn_tape *tape,
                                                    const struct attn_token_batch *source,
                                                    const struct attn_token_batch *target);

#endif
