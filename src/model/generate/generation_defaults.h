/* generation.h -- how a model generates: the tokens around what it reads and says, and what a
 * folder of Hugging Face's says in generation_config.json, or without one in config.json.
 * [huggingface/transformers: generation/configuration_utils.py] */
#ifndef ATTN_MODEL_GENERATION_DEFAULTS_H
#define ATTN_MODEL_GENERATION_DEFAULTS_H

#include "config.h"
#include "token_search.h"

/* Tokens are -1 where there is none. */
struct attn_generation_defaults {
  int32_t begin;          /* read before what is said */
  int32_t end;            /* ends it */
  int32_t before, behind; /* around what an encoder reads */
  int32_t pad;            /* beside shorter texts; nothing here reads it */
  int32_t empty;          /* read by a decoder for a text without tokens */
  int forced_end;
  int64_t longest; /* tokens at most, what is read before them counted; 0: any number */
  int64_t most;    /* without it; 0: any number */
  enum attn_beam_rule rule;
  int32_t beams; /* where the caller names none */
  double length_penalty;
  int early;
  int32_t *never; /* tokens that are never said; to be freed */
  int64_t nevers;
};

/* That of a checkpoint: BEGIN is read, END ends. */
struct attn_generation_defaults attn_generation_defaults_of_checkpoint(
    const struct attn_model_config *config);

/* That of a folder, from the text of its file `name`. What would change a reply and is not done
 * here: ATTN_ERR_FORMAT with the member and its value; nothing is written then. before and behind
 * are the tokenizer's, and are left as they are. */
attn_status attn_generation_defaults_read(const char *json, size_t size, const char *name,
                                          const struct attn_model_config *config,
                                          struct attn_generation_defaults *g, attn_error *err);

/* generation_config.json, to be freed; NULL where there is no memory. */
char *attn_generation_defaults_write(const struct attn_model_config *config,
                                     const struct attn_generation_defaults *g);

/* A search as the model searches where the caller says nothing else. */
struct attn_search_config attn_generation_defaults_search(const struct attn_generation_defaults *g);

#endif
