/* batch.h -- pairs of sequences side by side, as a model wants them. */
#ifndef ATTN_MODEL_BATCH_H
#define ATTN_MODEL_BATCH_H

#include "transformer.h"

/* Tokens that every vocabulary begins with. */
enum {
  ATTN_TOKEN_PAD,
  ATTN_TOKEN_BEGIN,
  ATTN_TOKEN_END,
  ATTN_TOKEN_UNKNOWN,
  ATTN_NUM_SPECIAL_TOKENS
};

/* Some of the sequences of a text, as if there were no more: their tokens are the text's. */
struct attn_token_batch_slice {
  struct attn_token_batch text;
  int32_t *places;
  int64_t *starts;
};
attn_status attn_token_batch_slice_new(struct attn_token_batch_slice *part,
                                       const struct attn_token_batch *all, int64_t first,
                                       int64_t count, attn_error *err);
void attn_token_batch_slice_free(struct attn_token_batch_slice *part);

/* Room for so many sequences and so many tokens on either side. */
struct attn_batch {
  int64_t sequences, most_sequences, most_tokens;
  struct attn_token_batch source, target; /* what the model reads */
  int32_t *labels; /* what it is to say at each place: (target.n) the target one on,
                    * then END; of an encoder alone (source.n) */
  int32_t *tokens[2], *places[2];
  int64_t *starts[2];
};

attn_status attn_batch_new(int64_t sequences, int64_t tokens, struct attn_batch **batch,
                           attn_error *err);
void attn_batch_free(struct attn_batch *batch);
void attn_batch_clear(struct attn_batch *batch);

/* source then END is read; BEGIN then target is read, target then END to be said. 0 where it is
 * full. Either may have no tokens. */
int attn_batch_add(struct attn_batch *batch, const int32_t *source, int64_t source_count,
                   const int32_t *target, int64_t target_count);

/* For an encoder alone: source then END is read, at each of its places a token of the target to be
 * said, and END at those behind the last. 0 where it is full, or there are fewer places than
 * tokens.
 */
int attn_batch_add_labels(struct attn_batch *batch, const int32_t *source, int64_t source_count,
                          const int32_t *target, int64_t target_count);

#endif
