/* network.h -- a model's weights by name, and where each layer finds its own.
 *
 * All weights stand in one block, gradients in another of the same layout: optimizers, clipping and
 * checkpoints are loops over a block. Names are those of PyTorch's nn.Transformer. */
#ifndef ATTN_MODEL_NETWORK_H
#define ATTN_MODEL_NETWORK_H

#include "config.h"
#include "tape.h"

enum attn_filling { ATTN_FILL_ZERO, ATTN_FILL_ONE, ATTN_FILL_NORMAL, ATTN_FILL_XAVIER };

struct attn_parameter {
  char name[64];
  struct attn_value value; /* (n, width), a vector as (1, width) */
  int rank;
  int64_t offset; /* of its first number in the block */
  enum attn_filling filling;
  double deviation; /* of ATTN_FILL_NORMAL */
  int decays;       /* matrices do, vectors do not */
};

struct attn_norm_weights {
  const struct attn_value *scale, *bias;
};
struct attn_linear_weights {
  const struct attn_value *w, *b;
  int number; /* of all that the network has */
};
struct attn_embedding_weights {
  const struct attn_value *table, *places, *types;
  struct attn_norm_weights norm;
};

/* One layer of the encoder or the decoder. in_proj's rows are those of q, then k, then v. */
struct attn_block_weights {
  struct attn_norm_weights norm1, norm2, norm3;
  struct attn_linear_weights self_in, self_out;
  struct attn_linear_weights cross_q, cross_kv, cross_out; /* none where there is no encoder */
  struct attn_linear_weights linear1, linear2;
};

/* An encoder or a decoder. */
struct attn_stack_weights {
  struct attn_embedding_weights embedding;
  struct attn_block_weights *blocks;
  int64_t num_blocks;
  struct attn_norm_weights norm; /* after the last block, or none */
};

struct attn_network {
  struct attn_model_config config;
  struct attn_parameter *parameters;
  int count, linears;
  int64_t numbers; /* of all parameters */
  struct attn_stack_weights encoder, decoder;
  struct attn_value *parts; /* rows of others, by themselves: the cross-attention's projections */
  struct attn_linear_weights transform, output;
  struct attn_norm_weights transform_norm;
  struct attn_value sinusoid, cos, sin; /* tables that are not learned */
  float *tables, *slopes;
};

/* The network over two blocks of `numbers` floats each; weights NULL: it is only counted, and has
 * no tables; gradients NULL: none. */
attn_status attn_network_new(const struct attn_model_config *config, float *weights,
                             float *gradients, struct attn_network **network, attn_error *err);
void attn_network_free(struct attn_network *network);

/* How many floats its weights are. */
attn_status attn_network_count(const struct attn_model_config *config, int64_t *numbers,
                               attn_error *err);

/* Memory for the weights in bf16 beside those in float32: `numbers` of them. */
void attn_network_set_halves(struct attn_network *network, uint16_t *halves);

/* The network without gradients, over *weights of its own, which are to be freed after it. Both are
 * NULL or to be released after a failure too. */
attn_status attn_network_allocate(const struct attn_model_config *config,
                                  struct attn_network **network, float **weights, attn_error *err);

/* Fills the weights: a function of the seed alone. Matrices are uniform by [Glorot10], tables
 * normal, norms 1, biases 0. */
void attn_network_init_weights(struct attn_network *network, uint64_t seed);

#endif
