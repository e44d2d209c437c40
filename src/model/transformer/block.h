/* pass.h -- what the training pass and the decoder's steps have in common. */
#ifndef ATTN_MODEL_BLOCK_H
#define ATTN_MODEL_BLOCK_H

#include "packed_weights.h"
#include "transformer.h"

/* One pass through a model. */
struct attn_pass {
  const struct attn_network *n;
  const struct attn_model_config *c;
  struct attn_tape *tape;
  const struct attn_packed_weights *pack; /* or NULL */
};

/* Bytes that hold the notes of a pass, of training or not. */
size_t attn_pass_notes(const struct attn_model_config *config);

struct attn_value *attn_pass_linear(const struct attn_pass *pass, struct attn_value *x,
                                    struct attn_linear_weights l);

/* x itself where there are no weights. */
struct attn_value *attn_pass_norm(const struct attn_pass *pass, struct attn_value *x,
                                  struct attn_norm_weights w);

/* A sublayer f stands between these two: norm(x + f(x)), or x + f(norm(x)) [Xiong20]. */
struct attn_value *attn_pass_enter(const struct attn_pass *pass, struct attn_value *x,
                                   struct attn_norm_weights w);
struct attn_value *attn_pass_leave(const struct attn_pass *pass, struct attn_value *x,
                                   struct attn_value *f, struct attn_norm_weights w);

struct attn_value *attn_pass_feed_forward(const struct attn_pass *pass, const struct attn_block *b,
                                          struct attn_value *x);

struct attn_value *attn_pass_embed(const struct attn_pass *pass,
                                   const struct attn_token_batch *text,
                                   const struct attn_embedding_weights *w);

/* As attn_transformer_project. */
struct attn_value *attn_pass_project(const struct attn_pass *pass, struct attn_value *hidden);

/* Turns q and k, the first columns of a projection, where positions are rotary. */
void attn_pass_turn(const struct attn_pass *pass, struct attn_value *qkv, const int32_t *places);

#endif
