/* train_run.h -- a run: its parts, and how they come about. run_begin.c makes them, run.c goes on.
 */
#ifndef ATTN_TRAIN_RUN_H
#define ATTN_TRAIN_RUN_H

#include "attn/train.h"
#include "checkpoint.h"
#include "dataset.h"
#include "lock.h"
#include "run_record.h"

struct attn_run {
  attn_train_config wanted;
  attn_train_state state; /* as wanted's progress is told */
  struct attn_watch watch;
  struct attn_run_record record;
  struct attn_text_pairs *data;
  struct attn_tokenizer *tokenizer;
  char *words; /* the tokenizer's JSON */
  struct attn_dataset examples;
  struct attn_trainer *trainer;
  char *best_path, *last_path;
  struct attn_lock locks[2]; /* of the two */
  int replaces;              /* 1: a last checkpoint that stands there is another run's */
};

/* Anew, as run->wanted says, or from its checkpoint; all else in *run is 0. Nothing is written, and
 * nobody else's run has these outputs until attn_run_free, which is to be called in every case. */
attn_status attn_train_run_open(struct attn_run *run, attn_error *err);

/* What the watch tells of from now on. */
struct attn_watch *attn_train_run_phase(struct attn_run *run, enum attn_train_phase phase);

void attn_run_free(struct attn_run *run);

#endif
