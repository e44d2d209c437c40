/* run_record.h -- the state of a run that checkpoints keep in metadata "run": its data and its
 * validations. */
#ifndef ATTN_TRAIN_RUN_RECORD_H
#define ATTN_TRAIN_RUN_RECORD_H

#include <stdint.h>

#include "attn/attn.h"

enum { ATTN_VALIDATION_EXAMPLES_MAX = 1 << 24 };

struct attn_run_record {
  char *task, *data, *validation_data; /* NULL: none; exactly one of task and data is set */
  char *images;                        /* the folder of data's pictures, or NULL */
  uint64_t data_hash;                  /* of the files' bytes */
  int64_t validate_every;              /* steps */
  int64_t max_validation_examples;
  int64_t patience;          /* validations without improvement that end the run; 0: any number */
  double target_exact_match; /* NaN: none */
  double best_metric; /* exact match, or the loss where that is unknown; NaN: no validation */
  double best_validation_loss;                    /* NaN: no validation yet */
  double validation_exact_match, validation_loss; /* of the last validation, likewise */
  int64_t best_step, validations_without_improvement;
  int64_t pretrain_encoder_steps; /* of the encoder alone, before the first step */
  int32_t validation_pending;     /* 1: the validation of this step was interrupted */
};

/* JSON, which the caller frees; NULL: out of memory. */
char *attn_run_record_write(const struct attn_run_record *record);

/* ATTN_ERR_FORMAT: invalid; ATTN_ERR_MEMORY. Call attn_run_record_free in any case. */
attn_status attn_run_record_parse(const char *json, struct attn_run_record *record,
                                  attn_error *err);
void attn_run_record_free(struct attn_run_record *record);

#endif
