/* run.h -- a run: its parts, and how they come about. run_begin.c makes them, run.c goes on. */
#ifndef ATTN_TRAIN_RUN_H
#define ATTN_TRAIN_RUN_H

#include "attn/train.h"
#include "checkpoint.h"
#include "examples.h"
#include "record.h"

struct attn_run {
  struct attn_record record;
  struct attn_data *data;
  struct attn_tokenizer *tokenizer;
  char *words; /* the tokenizer's JSON */
  struct attn_examples examples;
  struct attn_trainer *trainer;
  char *best_path, *last_path;
};

/* Anew, as wanted says, or from wanted's checkpoint. Nothing is written. attn_run_free in every
 * case. */
attn_status attn_run_begin(struct attn_run *run, const attn_train *wanted, attn_error *err);
void attn_run_free(struct attn_run *run);

#endif
