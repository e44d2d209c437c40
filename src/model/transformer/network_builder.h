/* network_builder.h -- adds the parameters of a network, in the order of its layers. */
#ifndef ATTN_MODEL_NETWORK_BUILDER_H
#define ATTN_MODEL_NETWORK_BUILDER_H

#include "network.h"

struct attn_network_builder {
  struct attn_network *n;
  float *weights, *gradients;
  char prefix[28]; /* of the names */
  int views;
};

const struct attn_tape_variable *attn_network_add(struct attn_network_builder *b, const char *name,
                                                  int64_t rows, int64_t width, int rank,
                                                  enum attn_init filling);

/* Of normal numbers: vectors of tokens or positions. */
const struct attn_tape_variable *attn_network_add_table(struct attn_network_builder *b,
                                                        const char *name, int64_t rows,
                                                        int64_t width);

/* The weights `name` (out, in), and a bias of that name unless it is NULL or the model has none. */
struct attn_linear_weights attn_network_add_linear(struct attn_network_builder *b, const char *name,
                                                   const char *bias, int64_t out, int64_t in);

struct attn_norm_weights attn_network_add_norm(struct attn_network_builder *b, const char *name);

/* Of a vision encoder-decoder: the encoder, and the decoder if it is recurrent. */
void attn_network_add_vision(struct attn_network_builder *b);
void attn_network_add_recurrent(struct attn_network_builder *b);

#endif
