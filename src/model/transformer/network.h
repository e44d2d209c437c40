/* network.h -- a model's parameters, by name and by layer.
 *
 * All weights are in one block of memory, gradients in another of the same layout: optimizers,
 * clipping and checkpoints are loops over a block. Names are those of PyTorch's nn.Transformer. */
#ifndef ATTN_MODEL_NETWORK_H
#define ATTN_MODEL_NETWORK_H

#include "config.h"
#include "tape.h"

enum attn_init { ATTN_INIT_ZERO, ATTN_INIT_ONE, ATTN_INIT_NORMAL, ATTN_INIT_XAVIER };

struct attn_parameter {
  char name[64];
  struct attn_tape_variable value; /* (n, width), a vector as (1, width) */
  int rank;
  int64_t offset; /* in the block */
  enum attn_init filling;
  double deviation; /* of ATTN_INIT_NORMAL */
  int decays;       /* weight decay applies: to matrices only */
};

struct attn_norm_weights {
  const struct attn_tape_variable *scale, *bias;
};
struct attn_linear_weights {
  const struct attn_tape_variable *w, *b;
  int index; /* among the linear layers of the network */
};
struct attn_embedding_weights {
  const struct attn_tape_variable *table, *positions,
      *token_types; /* positions, token_types: or NULL */
  struct attn_norm_weights norm;
};

/* self_in, PyTorch's in_proj: rows of q, then k, then v. A score is a of additive alignment (Hq, E)
 * or W of general alignment (Hq E, E), else NULL. */
struct attn_block_weights {
  struct attn_norm_weights norm1, norm2, norm3;
  struct attn_linear_weights self_in, self_out;
  struct attn_linear_weights cross_q, cross_kv, cross_out; /* of an encoder-decoder */
  const struct attn_tape_variable *self_score, *cross_score;
  struct attn_linear_weights linear1, linear2;
};

/* An encoder or a decoder. */
struct attn_stack_weights {
  struct attn_embedding_weights embedding;
  struct attn_block_weights *blocks;
  int64_t num_blocks;
  struct attn_norm_weights norm; /* after the last block, or none */
};

/* A convolutional encoder of images. */
struct attn_stage_weights {
  const struct attn_tape_variable *w[2], *b[2]; /* of stride 2 and of stride 1 */
};
struct attn_vision_weights {
  struct attn_stage_weights *stages;
  struct attn_linear_weights projection;      /* of the last stage's channels to d_model */
  const struct attn_tape_variable *positions; /* (grid positions, D) */
  struct attn_norm_weights norm;
};

/* A recurrent decoder; x is the word that was read last. The weights of a cell's inputs are those
 * of PyTorch, split by columns. */
struct attn_recurrent_weights {
  struct attn_linear_weights input, context, hidden; /* the cell's gates of x, c and h */
  struct attn_linear_weights query, key;             /* of the alignment */
  const struct attn_tape_variable *score;            /* (1, head_dim): a of the additive one */
  struct attn_linear_weights vector;                 /* all of the grid to one vector */
  struct attn_linear_weights first_h, first_c;       /* the first state, of a vector */
  struct attn_linear_weights out_hidden, out_context;
};

struct attn_network {
  struct attn_model_config config;
  struct attn_parameter *parameters;
  int count, linears;
  int64_t parameter_count; /* values in all parameters */
  struct attn_stack_weights encoder, decoder;
  struct attn_vision_weights vision;
  struct attn_recurrent_weights recurrent;
  struct attn_tape_variable *views; /* rows of in_proj: the projections of cross-attention */
  struct attn_linear_weights transform, output;
  struct attn_norm_weights transform_norm;
  struct attn_tape_variable sinusoid, cos, sin; /* computed tables */
  float *tables, *slopes;
  int freezes_cnn; /* 1: training passes compute no gradients of the convolutions */
};

/* Whether it belongs to the encoder; to the convolutions of an encoder of images. */
int attn_parameter_is_encoder(const struct attn_parameter *parameter);
int attn_parameter_is_cnn(const struct attn_parameter *parameter);

/* A network over two blocks of parameter_count floats each. weights NULL: shapes only, without
 * tables. gradients NULL: none. */
attn_status attn_network_new(const struct attn_model_config *config, float *weights,
                             float *gradients, struct attn_network **network, attn_error *err);
void attn_network_free(struct attn_network *network);

/* The number of parameter values. */
attn_status attn_network_count(const struct attn_model_config *config, int64_t *count,
                               attn_error *err);

/* Sets memory of parameter_count values for bf16 copies of the weights. */
void attn_network_set_bf16(struct attn_network *network, uint16_t *bf16);

/* A network without gradients over a new block *weights, which the caller frees after the network.
 * After a failure both are NULL or must be freed too. */
attn_status attn_network_allocate(const struct attn_model_config *config,
                                  struct attn_network **network, float **weights, attn_error *err);

/* Initializes the weights as a function of the seed: Xavier uniform matrices [Glorot10], normal
 * embeddings, norms 1, biases 0. */
void attn_network_init_weights(struct attn_network *network, uint64_t seed);

#endif
