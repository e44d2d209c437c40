/* history.h -- the training that a checkpoint records, and older names of members. */
#ifndef ATTN_MODEL_HISTORY_H
#define ATTN_MODEL_HISTORY_H

#include "safetensors.h"

/* Renames members of either object from the names that libattn 0.1 wrote. A member that exists
 * under both names keeps both. Nonzero: out of memory. */
int attn_training_metadata_rename(json_t *object);

struct attn_training_history {
  char *task, *data;               /* trained on; NULL: not recorded */
  int is_bf16;                     /* matrix products in bf16 */
  int64_t step;                    /* of these weights; 0: not recorded */
  int64_t validation_step;         /* of the last validation; 0: none */
  int64_t validation_max_examples; /* that a validation reads */
  double exact_match, loss;        /* NaN: unknown */
};

/* Reads metadata "training" and "run". What is absent or malformed is unknown, since other programs
 * may have written the file. ATTN_ERR_MEMORY. The caller calls attn_training_history_free in every
 * case. */
attn_status attn_training_history_read(const struct attn_safetensors *file,
                                       struct attn_training_history *history, attn_error *err);
void attn_training_history_free(struct attn_training_history *history);

#endif
