/* run_record.h -- what a run says of itself in its checkpoints, so that it can go on. */
#ifndef ATTN_TRAIN_RUN_RECORD_H
#define ATTN_TRAIN_RUN_RECORD_H

#include <stdint.h>

#include "attn/attn.h"

enum { ATTN_VALIDATION_EXAMPLES_MAX = 1 << 24 }; /* of a validation */

struct attn_run_record {
  char *task, *data, *held_out; /* NULL where there is none; either task or data is there */
  uint64_t hash;                /* of the data's bytes */
  int64_t validate_every, examples, patience;
  double until;
  double best, best_loss, exact, loss; /* of validations; NAN: none yet */
  int64_t best_step, worse;            /* worse: validations since the best */
  int32_t pending;                     /* 1: the validation of this step was stopped */
};

/* JSON, to be freed; NULL where there is no memory. */
char *attn_run_record_write(const struct attn_run_record *record);

/* Members that are missing are 0, NaN or NULL. What no run has is ATTN_ERR_FORMAT; ATTN_ERR_MEMORY.
 * Released by attn_run_record_free, after a failure as well. */
attn_status attn_run_record_parse(const char *json, struct attn_run_record *record,
                                  attn_error *err);
void attn_run_record_free(struct attn_run_record *record);

#endif
