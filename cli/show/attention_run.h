/* attention_run.h -- a model run on one text: what it generates, and copies of all its heads. */
#ifndef ATTN_CLI_ATTENTION_RUN_H
#define ATTN_CLI_ATTENTION_RUN_H

#include "attn/picture.h"

enum { ATTN_CLI_RESULTS_MAX = 16 }; /* hypotheses that a page lists */

struct attn_cli_attention_run {
  /* Set by the caller, which keeps the texts. */
  const char *source, *target;       /* target: given to the decoder, not generated; or NULL */
  int64_t num_beams, max_new_tokens; /* 0: greedy; the model's limit, of a decoder 32 */
  int32_t threads;                   /* 0: all */
  /* The rest begins as zeros. */
  attn_attention *heads;
  int32_t count, capacity;
  char **tokens[3][2]; /* of queries and keys, which the heads of a kind share */
  int64_t lengths[3][2];
  attn_generation_result results[ATTN_CLI_RESULTS_MAX];
  int32_t result_count;
  int failed; /* no memory */
};

/* Generates, unless a target is given, and copies the attention of the best result. A decoder
 * generates only with num_beams or max_new_tokens, an encoder its labels if it has any. */
attn_status attn_cli_attention_run(const attn_model *model, struct attn_cli_attention_run *run,
                                   attn_error *err);
void attn_cli_attention_run_free(struct attn_cli_attention_run *run);

/* The run as an input of attn_model_page_write, valid as long as the run. */
attn_model_page_input attn_cli_attention_run_input(const struct attn_cli_attention_run *run);

#endif
