/* history.h -- what a checkpoint says of its training; for people, no layer needs it. */
#ifndef ATTN_MODEL_HISTORY_H
#define ATTN_MODEL_HISTORY_H

#include "safetensors.h"

struct attn_training_history {
  char *task, *data;       /* what it learned from; NULL: nothing says */
  int halves;              /* trained with products of bf16 */
  int64_t step;            /* of this file's weights; 0: nothing says */
  int64_t validation_step; /* of the validation that exact and loss are of; 0: there was none */
  int64_t validation_max_examples; /* examples of it, at most */
  double exact, loss;              /* NaN: not known */
};

/* From metadata "training" and "run"; what is not there, or has another form, is not known, since
 * other programs may have written it. ATTN_ERR_MEMORY; attn_training_history_free in every case. */
attn_status attn_training_history_read(const struct attn_safetensors *file,
                                       struct attn_training_history *history, attn_error *err);
void attn_training_history_free(struct attn_training_history *history);

#endif
