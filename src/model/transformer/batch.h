/* batch.h -- training batches of source and target, and slices of a token batch. */
#ifndef ATTN_MODEL_BATCH_H
#define ATTN_MODEL_BATCH_H

#include "tokenizer.h"
#include "transformer.h"

/* ATTN_ERR_ARGUMENT, with name, unless each token is in 0 .. vocab_size - 1. */
attn_status attn_tokens_check(const int32_t *tokens, int64_t n, int64_t vocab_size,
                              const char *name, attn_error *err);

/* The tokens of the longest sequence, at least 1. */
int64_t attn_token_batch_longest(const struct attn_token_batch *batch);

/* Some sequences of a token batch as a batch of their own; it refers to the tokens of the whole. */
struct attn_token_batch_slice {
  struct attn_token_batch text;
  int32_t *position_ids;
  int64_t *starts;
};
attn_status attn_token_batch_slice_new(struct attn_token_batch_slice *slice,
                                       const struct attn_token_batch *all, int64_t first,
                                       int64_t count, attn_error *err);
void attn_token_batch_slice_free(struct attn_token_batch_slice *slice);

struct attn_batch {
  enum attn_model_kind kind;                    /* of the model */
  int64_t sequences, max_sequences, max_tokens; /* max_tokens: of source and of target */
  struct attn_token_batch source, target;       /* the model's input */
  int32_t *labels; /* expected output: (target.n) the target shifted by one, then END; of an encoder
                      (source.n) */
  int32_t *tokens[2], *position_ids[2];
  int64_t *starts[2];
  int64_t positions, values; /* of an image: grid positions, colour values; 0: no images */
  float *pixels;
};

/* Of a model that reads images the sources are images. */
attn_status attn_batch_new(const struct attn_model_config *config, int64_t sequences,
                           int64_t tokens, struct attn_batch **batch, attn_error *err);
void attn_batch_free(struct attn_batch *batch);

/* Colour values 0 .. 255 to -1 .. 1, as models read them. */
void attn_pixels_to_float(const unsigned char *rgb, int64_t n, float *to);

/* As attn_batch_add for an image (image_size, image_size, 3), sRGB; NULL: the caller sets pixels.
 */
int attn_batch_add_image(struct attn_batch *batch, const unsigned char *rgb, const int32_t *target,
                         int64_t target_count);
void attn_batch_clear(struct attn_batch *batch);

/* Appends a pair: source END and BEGIN target are the input, target END the labels. Either may have
 * no tokens. For an encoder source END is the input; the labels are the target, then END up to the
 * length of the input. Returns 0 if the batch is full or an encoder's target longer than the
 * source.
 */
int attn_batch_add(struct attn_batch *batch, const int32_t *source, int64_t source_count,
                   const int32_t *target, int64_t target_count);

#endif
