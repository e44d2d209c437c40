/* model.h -- an open model: network, weights, tokenizer, defaults. */
#ifndef ATTN_MODEL_MODEL_H
#define ATTN_MODEL_MODEL_H

#include "attn/model.h"
#include "batch.h"
#include "generation_defaults.h"
#include "history.h"
#include "packed_weights.h"
#include "tokenizer.h"

/* Sentence embedding of a folder (sentence-transformers). 0: not configured. */
struct attn_sentence_config {
  int64_t max_tokens;         /* longer texts are truncated, special tokens included */
  int32_t pooling, normalize; /* attn_pooling_kind, attn_normalize_kind */
};

struct attn_model {
  struct attn_network *network;
  float *weights;
  _Atomic(struct attn_packed_weights *) pack[2]; /* float32 and bf16, built on first use */
  struct attn_tokenizer *tokenizer;
  char *config; /* JSON */
  struct attn_training_history history;
  int is_huggingface; /* opened from a folder */
  struct attn_generation_defaults generation;
  struct attn_sentence_config sentence;
};

/* As attn_model_open for the bytes of a checkpoint, which are not used after the call. name: for
 * messages. */
attn_status attn_model_open_memory(const void *data, size_t size, const char *name,
                                   attn_model **model, attn_error *err);

/* The packed weights for generation, owned by the model. Thread-safe. */
attn_status attn_model_packed_weights(const struct attn_model *model, int bf16,
                                      const struct attn_packed_weights **pack, attn_error *err);

/* The tokens of a text; the caller frees them. what: the argument's name for messages. */
attn_status attn_model_tokenize(const struct attn_model *model, const char *text, const char *what,
                                int32_t **tokens, int64_t *count, attn_error *err);

/* The same for an encoder's input: with the special tokens around it, and truncated to
 * sentence.max_tokens. */
attn_status attn_model_tokenize_source(const struct attn_model *model, const char *text,
                                       const char *what, int32_t **tokens, int64_t *count,
                                       attn_error *err);

#endif
