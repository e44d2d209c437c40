/* recurrent_pass.h -- an LSTM or GRU that writes a caption and looks at the image's hidden vectors
 * z before each word [Xu15]:
 *
 *     h_0 (and c_0) = linear(mean of z)
 *     context_t = sum_j a_tj z_j,  a_t = softmax_j e(h_{t-1}, z_j)
 *     h_t = cell(word_t, context_t, h_{t-1})
 *     logits_t = output(word_t + linear(h_t) + linear(context_t))
 *
 * Without alignment there is no context, and h_0 is a function of one vector, which is linear in
 * all z. Whole captions and single steps (recurrent_decoder.h) share these layers. */
#ifndef ATTN_MODEL_RECURRENT_PASS_H
#define ATTN_MODEL_RECURRENT_PASS_H

#include "block.h"
#include "recurrent.h"

/* Hidden vectors (target->n, D) of target, for the output head. memory: z of the images. weights:
 * NULL, or out: for each step up to the longest target the alignment's weights (sequences, grid
 * positions), valid for the pass; NULL without alignment and while measuring. */
struct attn_tape_variable *attn_recurrent_decode(const struct attn_pass *pass,
                                                 const struct attn_token_batch *target,
                                                 struct attn_tape_variable *memory,
                                                 const float **weights);

/* ---- Layers ---- */

/* c: of an LSTM; else NULL. */
struct attn_recurrent_state {
  struct attn_tape_variable *h, *c;
};

/* The images of a step's rows. align: the contexts (rows, D) for the queries q, NULL if the weights
 * are uniform; it is not called without alignment. */
struct attn_recurrent_images {
  struct attn_tape_variable *(*align)(const struct attn_recurrent_images *images,
                                      const struct attn_pass *pass, struct attn_tape_variable *q,
                                      int64_t rows);
  const struct attn_tape_variable *keys, *memory;
  void *context; /* for align */
};

/* The alignment's kind and scale; the rest is not set. */
struct attn_alignment attn_recurrent_alignment(const struct attn_model_config *config);

struct attn_tape_variable *attn_recurrent_embed(const struct attn_pass *pass, const int32_t *tokens,
                                                int64_t n);

/* What the alignment compares with the state; NULL if it compares nothing. */
struct attn_tape_variable *attn_recurrent_keys(const struct attn_pass *pass,
                                               struct attn_tape_variable *memory);

struct attn_recurrent_state attn_recurrent_first_state(const struct attn_pass *pass,
                                                       struct attn_tape_variable *memory,
                                                       int64_t images);

/* Advances the state of `rows` rows. gates: of the words that were read. Returns the context, NULL
 * without alignment. */
struct attn_tape_variable *attn_recurrent_step(const struct attn_pass *pass,
                                               const struct attn_recurrent_images *images,
                                               struct attn_tape_variable *gates, int64_t rows,
                                               struct attn_recurrent_state *state);

/* What the output head reads; context NULL: none. */
struct attn_tape_variable *attn_recurrent_output(const struct attn_pass *pass,
                                                 struct attn_tape_variable *word,
                                                 struct attn_tape_variable *h,
                                                 struct attn_tape_variable *context);

#endif
