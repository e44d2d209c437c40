/* generation_defaults.h -- how a model generates by default: its special tokens, and the options in
 * a folder's generation_config.json, or without that file in config.json.
 * [huggingface/transformers: generation/configuration_utils.py] */
#ifndef ATTN_MODEL_GENERATION_DEFAULTS_H
#define ATTN_MODEL_GENERATION_DEFAULTS_H

#include "config.h"
#include "token_search.h"

/* Tokens are -1 if there is none. */
struct attn_generation_defaults {
  /* num_beams and max_new_tokens, which is without the prompt: 0 if there is no default. suppressed
   * is owned. */
  struct attn_search_config search;
  int32_t source_bos, source_eos; /* around an encoder's source */
  int32_t pad;                    /* only written to folders */
  int32_t empty_prompt;           /* what a decoder reads for an empty source */
};

/* Of a checkpoint: BEGIN, END, greedy search. */
struct attn_generation_defaults attn_generation_defaults_of_checkpoint(
    const struct attn_model_config *config);

/* From the text of a folder's file `name`. ATTN_ERR_FORMAT with the name and value of a member that
 * would change results and is not supported; g is then unchanged. source_bos and source_eos belong
 * to the tokenizer and are never changed. */
attn_status attn_generation_defaults_read(const char *json, size_t size, const char *name,
                                          const struct attn_model_config *config,
                                          struct attn_generation_defaults *g, attn_error *err);

/* generation_config.json; the caller frees it. NULL if out of memory. */
char *attn_generation_defaults_write(const struct attn_model_config *config,
                                     const struct attn_generation_defaults *g);

#endif
