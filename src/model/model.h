/* model.h -- a model that was trained: its network, its weights, its words. */
#ifndef ATTN_MODEL_MODEL_H
#define ATTN_MODEL_MODEL_H

#include "attn/model.h"
#include "batch.h"
#include "generation_defaults.h"
#include "history.h"
#include "packed_weights.h"
#include "tokenizer.h"

/* What a folder says of the one vector of a text; 0: nothing. */
struct attn_sentence_config {
  int64_t most; /* tokens that are read, begin and end with them; 0: a longer text is refused */
  int32_t pooling, norm; /* attn_pooling_kind, attn_normalize_kind */
};

struct attn_model {
  struct attn_network *network;
  float *weights;
  _Atomic(struct attn_packed_weights *)
      pack[2]; /* of float32 and of bf16, made when first asked for */
  struct attn_tokenizer *tokenizer;
  char *config; /* its JSON */
  struct attn_training_history history;
  int foreign; /* of a folder */
  struct attn_generation_defaults generating;
  struct attn_sentence_config sentence;
};

/* The weights as generation multiplies them; the model's own. Threads may ask at once. */
attn_status attn_model_packed_weights(const struct attn_model *model, int half,
                                      const struct attn_packed_weights **pack, attn_error *err);

/* What an encoder reads of a text, to be freed: its tokens, before them what begins one, where
 * there is such, and behind them what ends it; cut to sentence.most. */
attn_status attn_model_tokenize_source(const struct attn_model *model, const char *text,
                                       const char *what, int32_t **tokens, int64_t *count,
                                       attn_error *err);

/* Tokens of a text, to be freed; *count of them. what: the argument's name for messages. */
attn_status attn_model_tokenize(const struct attn_model *model, const char *text, const char *what,
                                int32_t **tokens, int64_t *count, attn_error *err);

#endif
