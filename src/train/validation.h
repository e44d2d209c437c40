/* validation.h -- loss and exact matches on validation examples, during training. */
#ifndef ATTN_TRAIN_VALIDATION_H
#define ATTN_TRAIN_VALIDATION_H

#include "dataset.h"
#include "trainer.h"

struct attn_validation {
  double loss;        /* nats per token */
  double exact_match; /* share of examples whose greedy output equals the target; NaN when no
                       * example has a source */
};

/* Adds the example that the dataset read last to the trainer's batch. Returns 0 when it does not
 * fit. */
int attn_dataset_add_to(const struct attn_dataset *dataset, struct attn_trainer *trainer);

/* Validates on the first count validation examples. watch, or NULL, counts examples.
 * ATTN_ERR_DIVERGED: logits or loss are not finite; ATTN_ERR_INTERRUPTED. */
attn_status attn_validate(struct attn_dataset *dataset, struct attn_trainer *trainer, int64_t count,
                          struct attn_watch *watch, struct attn_validation *result,
                          attn_error *err);

#endif
