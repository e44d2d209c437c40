/* train_run.h -- a training run: created by train_setup.c, driven by train_loop.c. */
#ifndef ATTN_TRAIN_TRAIN_RUN_H
#define ATTN_TRAIN_TRAIN_RUN_H

#include "attn/train.h"
#include "checkpoint.h"
#include "dataset.h"
#include "lock.h"
#include "run_record.h"

struct attn_train_run {
  attn_train_config config;
  attn_train_state state; /* for config.progress */
  struct attn_watch watch;
  struct attn_run_record record;
  struct attn_text_pairs *pairs;
  struct attn_tokenizer *tokenizer;
  char *tokenizer_json;
  struct attn_dataset dataset;
  struct attn_trainer *trainer;
  char *best_path, *last_path;
  struct attn_lock locks[2]; /* of both paths */
  int replaces_another_run;  /* 1: a file at last_path belongs to another run */
};

/* Sets up a new run, or the one to resume, from run->config; all other members must be 0. Writes
 * nothing, and locks the outputs until attn_train_run_free; call it in any case. */
attn_status attn_train_run_open(struct attn_train_run *run, attn_error *err);

/* Starts a phase. The result reports its progress. */
struct attn_watch *attn_train_run_phase(struct attn_train_run *run, enum attn_train_phase phase);

void attn_train_run_free(struct attn_train_run *run);

#endif
