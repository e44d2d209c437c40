/* config.h -- what a model is, as its JSON says; and back. */
#ifndef ATTN_MODEL_CONFIG_H
#define ATTN_MODEL_CONFIG_H

#include "attn/attn.h"
#include "layers.h"

enum attn_model_kind { ATTN_ENCODER_DECODER, ATTN_DECODER, ATTN_ENCODER };
enum attn_position_encoding {
  ATTN_POSITIONS_SINUSOIDAL,
  ATTN_POSITIONS_LEARNED,
  ATTN_POSITIONS_ROTARY,
  ATTN_POSITIONS_ALIBI,
  ATTN_POSITIONS_NONE,
  ATTN_POSITIONS_SINUSOIDAL_HALVES, /* all sines before all cosines, as Marian has them */
};

/* What stands between the last hidden vectors and the output. */
enum attn_output_head {
  ATTN_HEAD_LINEAR,    /* logits of them */
  ATTN_HEAD_TRANSFORM, /* logits of norm(activation(linear)) of them, as BERT has it */
  ATTN_HEAD_NONE,      /* they are the output */
};

/* Widths and sizes are at least 1 and at most 2^24, layers at most 2^10; all heads together are no
 * wider, but need not be as wide as the model. Tables of positions that are computed, sinusoidal
 * (length, position_width) or rotary (length, key_width), have at most 2^26 numbers. */
struct attn_model_config {
  enum attn_model_kind kind;
  int64_t source_vocab_size,
      target_vocab_size; /* sizes of the vocabularies; a model of one has the latter */
  int64_t width, hidden; /* D, F */
  int64_t heads, kv_heads, key_width, value_width; /* Hq, H, E, Ev */
  int64_t encoder_layers, decoder_layers;
  int64_t length; /* the longest sequence: rows of the tables of positions */
  enum attn_position_encoding positions;
  enum attn_joining joining;
  int64_t position_width; /* with ATTN_JOIN_CONCATENATE, else D */
  double rotary_base;
  enum attn_activation activation;
  int rms_norm, norm_first, final_norm, bias;
  int shared_embedding; /* source and target have one table */
  int tied_output;      /* the output layer's weights are the target's table */
  int scaled_embedding; /* times sqrt(D) */
  double epsilon, dropout;
  int embedding_norm;  /* what is embedded is normalized before the first layer */
  int64_t token_types; /* kinds of the source's tokens that have a vector of their own; 0: none */
  enum attn_output_head head;
  int output_bias; /* of the output layer, tied or not */
};

/* Members that are missing have defaults: those of [Vaswani17] but for pre-norm. Unknown ones, and
 * what cannot be, are ATTN_ERR_FORMAT with their names. */
attn_status attn_model_config_parse(const char *json, size_t length,
                                    struct attn_model_config *config, attn_error *err);

/* "encoder-decoder", "decoder", "encoder" */
const char *attn_model_kind_name(enum attn_model_kind kind);

/* The whole configuration as JSON, to be freed; NULL where there is no memory. */
char *attn_model_config_write(const struct attn_model_config *config);

#endif
