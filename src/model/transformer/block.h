/* block.h -- the one definition of a Transformer: embedding, blocks, output head.
 *
 * Training, encoding and decoding all execute it on a tape. They differ only in attention: over
 * whole sequences (transformer.c), or over KV caches (decoder.c). */
#ifndef ATTN_MODEL_BLOCK_H
#define ATTN_MODEL_BLOCK_H

#include "packed_weights.h"
#include "transformer.h"

struct attn_pass {
  const struct attn_network *n;
  const struct attn_model_config *c; /* the network's */
  struct attn_tape *tape;
  const struct attn_packed_weights *pack; /* or NULL */
};

/* Queries in the first columns of q, multiplied by W with general alignment. additive: a of
 * additive alignment, else NULL. */
struct attn_block_queries {
  struct attn_tape_variable *q;
  const struct attn_tape_variable *additive;
};

/* The attention of a block: the heads' outputs (n, num_heads value_head_dim), before the output
 * projection. block: its index in the stack. */
struct attn_block_attention {
  /* qkv: one projection, with q and k already rotated if positions are rotary. */
  struct attn_tape_variable *(*self)(const void *context, const struct attn_pass *pass,
                                     int64_t block, struct attn_block_queries queries,
                                     struct attn_tape_variable *qkv);
  /* NULL: the block has no cross-attention. */
  struct attn_tape_variable *(*cross)(const void *context, const struct attn_pass *pass,
                                      int64_t block, struct attn_block_queries queries);
  const void *context;
};

struct attn_tape_variable *attn_pass_linear(const struct attn_pass *pass,
                                            struct attn_tape_variable *x,
                                            struct attn_linear_weights l);

/* Rows `tokens` of a table, times scale. */
struct attn_tape_variable *attn_pass_lookup(const struct attn_pass *pass,
                                            const struct attn_tape_variable *table,
                                            const int32_t *tokens, int64_t n, float scale);

/* What vectors of tokens are multiplied by. */
float attn_pass_embedding_scale(const struct attn_pass *pass);

/* x itself if there are no weights. */
struct attn_tape_variable *attn_pass_norm(const struct attn_pass *pass,
                                          struct attn_tape_variable *x, struct attn_norm_weights w);

/* Hidden vectors (n, D): embedding, all blocks, the final norm. */
struct attn_tape_variable *attn_pass_stack(const struct attn_pass *pass,
                                           const struct attn_stack_weights *stack,
                                           const struct attn_token_batch *tokens,
                                           const struct attn_block_attention *attention);

/* Logits (n, V) of hidden vectors; the hidden vectors if there is no output head. */
struct attn_tape_variable *attn_pass_output_head(const struct attn_pass *pass,
                                                 struct attn_tape_variable *hidden);

#endif
