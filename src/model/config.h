/* config.h -- the configuration of a model, and its JSON: read and written. */
#ifndef ATTN_MODEL_CONFIG_H
#define ATTN_MODEL_CONFIG_H

#include <jansson.h>

#include "attn/attn.h"
#include "layers.h"

enum attn_model_kind {
  ATTN_ENCODER_DECODER,
  ATTN_DECODER,
  ATTN_ENCODER,
  ATTN_VISION_ENCODER_DECODER /* a convolutional encoder of images; the target is a caption */
};
enum attn_position_encoding {
  ATTN_POSITIONS_SINUSOIDAL,
  ATTN_POSITIONS_LEARNED,
  ATTN_POSITIONS_ROTARY,
  ATTN_POSITIONS_ALIBI,
  ATTN_POSITIONS_NONE,
  ATTN_POSITIONS_SINUSOIDAL_HALVES, /* all sines before all cosines, as in Marian */
};

enum attn_norm_type { ATTN_LAYER_NORM, ATTN_RMS_NORM, ATTN_NO_NORM };

/* The decoder of images. */
enum attn_decoder_type { ATTN_TRANSFORMER_DECODER, ATTN_LSTM_DECODER, ATTN_GRU_DECODER };

/* The score of a key [Bahdanau14, Luong15, Xu15, Vaswani17]: in a Transformer of the projections q
 * and k of each head; in a recurrent decoder of its state h and a vector z of an image's grid. */
enum attn_model_alignment {
  ATTN_ALIGN_ADDITIVE, /* a . tanh(q + k); a . tanh(W_q h + b + W_k z) */
  ATTN_ALIGN_DOT,      /* q . k; h . z */
  ATTN_ALIGN_SCALED,   /* q . k / sqrt(head_dim); h . z / sqrt(d_model) */
  ATTN_ALIGN_GENERAL,  /* q^T W k; h . W z */
  ATTN_ALIGN_UNIFORM,  /* equal weights: the control */
  ATTN_ALIGN_NONE      /* recurrent: the first state is computed from one vector of the image */
};

/* From the last hidden vectors to the output. */
enum attn_output_head {
  ATTN_HEAD_LINEAR,    /* logits = linear(h) */
  ATTN_HEAD_TRANSFORM, /* logits = linear(norm(activation(linear(h)))), as in BERT */
  ATTN_HEAD_NONE,      /* no logits: the output is h */
};

/* Members have the names of the JSON members. Sizes are between 1 and 2^24, layers at most 2^10.
 * num_heads * head_dim need not equal d_model, but is at most 2^24. Computed tables of positions,
 * sinusoidal (max_positions, position_dim) or rotary (max_positions, head_dim), have at most 2^26
 * values. */
struct attn_model_config {
  enum attn_model_kind kind;
  int64_t source_vocab_size, vocab_size; /* vocab_size: the target's, or the only one */
  int64_t d_model, ffn_dim;
  int64_t num_heads, num_kv_heads, head_dim, value_head_dim;
  int64_t encoder_layers, decoder_layers;
  int64_t max_positions; /* the longest sequence, in tokens */
  enum attn_position_encoding positions;
  enum attn_position_mode position_mode; /* added to the token's vector, or concatenated */
  int64_t position_dim; /* width of the position's vector if concatenated; else d_model */
  double rotary_base;
  enum attn_model_alignment alignment; /* of a recurrent decoder head_dim wide */
  double scale;                        /* of scores; 0: the alignment's. "none" in JSON is 1 */
  enum attn_activation activation;
  enum attn_norm_type norm;
  int norm_first, final_norm, bias;
  int residual; /* 0: a sublayer replaces its input instead of adding to it */
  int share_encoder_decoder_embeddings;
  int tie_word_embeddings; /* the output layer's weights are the target embedding */
  int scale_embedding;     /* by sqrt(d_model) */
  double norm_eps, dropout;
  int normalize_embedding; /* a norm before the first block */
  int64_t type_vocab_size; /* token types of the source, each with an embedding; 0: none */
  enum attn_output_head head;
  int output_bias;
  /* Of ATTN_VISION_ENCODER_DECODER. A stage halves the sides: a convolution of stride 2, then one
   * of stride 1. The first has stage_channels channels, each later one twice as many. */
  int64_t image_size, num_stages, stage_channels;
  enum attn_decoder_type decoder_type;
};

/* Absent members have the defaults of [Vaswani17], with norm_first. ATTN_ERR_FORMAT with the name
 * of a member that is unknown or out of range. */
attn_status attn_model_config_parse(const char *json, size_t length,
                                    struct attn_model_config *config, attn_error *err);

/* The same from an object, whose former names of members it replaces. */
attn_status attn_model_config_read(json_t *root, struct attn_model_config *config, attn_error *err);

/* Replaces the former names of members by the current ones. ATTN_ERR_FORMAT if both are given. */
attn_status attn_model_config_rename_members(json_t *root, attn_error *err);

/* 1: the decoder is an LSTM or a GRU. */
int attn_model_is_recurrent(const struct attn_model_config *config);

/* What scores are multiplied by. */
double attn_model_score_scale(const struct attn_model_config *config);

/* The side of an image's grid of hidden vectors. */
int64_t attn_model_grid_size(const struct attn_model_config *config);

/* "encoder-decoder", "decoder", "encoder", "vision-encoder-decoder" */
const char *attn_model_kind_name(enum attn_model_kind kind);

/* "transformer", "lstm", "gru"; "additive" .. "none" */
const char *attn_decoder_type_name(enum attn_decoder_type type);
const char *attn_model_alignment_name(enum attn_model_alignment alignment);

/* All members that apply as JSON; the caller frees it. NULL if out of memory. */
char *attn_model_config_write(const struct attn_model_config *config);

#endif
