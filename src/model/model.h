/* model.h -- a model that was trained: its network, its weights, its words. */
#ifndef ATTN_MODEL_MODEL_H
#define ATTN_MODEL_MODEL_H

#include "attn/model.h"
#include "batch.h"
#include "network.h"
#include "tokenizer.h"

struct attn_model {
  struct attn_network *network;
  float *weights;
  struct attn_tokenizer *tokenizer;
  char *config; /* its JSON */
};

/* Tokens of a text, to be freed; *count of them. what: the argument's name for messages. */
attn_status attn_model_encode(const struct attn_model *model, const char *text, const char *what,
                              int32_t **tokens, int64_t *count, attn_error *err);

#endif
