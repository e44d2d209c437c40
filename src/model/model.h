/* model.h -- a model that was trained: its network, its weights, its words. */
#ifndef ATTN_MODEL_MODEL_H
#define ATTN_MODEL_MODEL_H

#include "attn/model.h"
#include "batch.h"
#include "generation.h"
#include "history.h"
#include "pack.h"
#include "tokenizer.h"

/* What a folder says of the one vector of a text; 0: nothing. */
struct attn_sentence {
  int64_t most; /* tokens that are read, begin and end with them; 0: a longer text is refused */
  int32_t pooling, norm; /* attn_pooling_kind, attn_norm_kind */
};

struct attn_model {
  struct attn_network *network;
  float *weights;
  _Atomic(struct attn_pack *) pack[2]; /* of float32 and of bf16, made when first asked for */
  struct attn_tokenizer *tokenizer;
  char *config; /* its JSON */
  struct attn_history history;
  int foreign; /* of a folder */
  struct attn_generating generating;
  struct attn_sentence sentence;
};

/* The weights as generation multiplies them; the model's own. Threads may ask at once. */
attn_status attn_model_pack(const struct attn_model *model, int bf16, const struct attn_pack **pack,
                            attn_error *err);

/* What an encoder reads of a text, to be freed: its tokens, before them what begins one, where
 * there is such, and behind them what ends it; cut to sentence.most. */
attn_status attn_model_encode_whole(const struct attn_model *model, const char *text,
                                    const char *what, int32_t **tokens, int64_t *count,
                                    attn_error *err);

/* Tokens of a text, to be freed; *count of them. what: the argument's name for messages. */
attn_status attn_model_encode(const struct attn_model *model, const char *text, const char *what,
                              int32_t **tokens, int64_t *count, attn_error *err);

#endif
