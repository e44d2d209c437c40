/* checkpoint.h -- the complete state of a run in one safetensors file, so that a resumed run gives
 * the same bits as an uninterrupted one.
 *
 * Tensors: the weights under their names, AdamW's moments under "adamw.m." and "adamw.v.".
 * Metadata: "config" (the model), "training" (settings and progress), "tokenizer", "run"
 * (run_record.h). */
#ifndef ATTN_TRAIN_CHECKPOINT_H
#define ATTN_TRAIN_CHECKPOINT_H

#include "trainer.h"

/* A file's metadata. */
struct attn_checkpoint {
  struct attn_model_config model;
  struct attn_trainer_config trainer;
  int64_t step, skipped_steps;
  uint64_t examples_seen;
  char *tokenizer; /* a tokenizer.json; freed by attn_checkpoint_close, like run */
  char *run;       /* the caller's JSON */
};

/* Writes a temporary file, syncs and renames it: an existing file stays intact until the new one is
 * complete. stale: a file to delete at that moment, or NULL; see attn_file_commit. */
attn_status attn_checkpoint_write(const char *path, const char *stale,
                                  const struct attn_trainer *trainer, const char *tokenizer,
                                  const char *run, attn_error *err);

/* Creates a trainer in the state of the file. threads is not part of the file: see
 * attn_trainer_config. checkpoint, if not NULL, receives the metadata; the caller closes it.
 *
 * Errors  ATTN_ERR_FORMAT names what is missing or invalid; nothing is allocated then. */
attn_status attn_checkpoint_resume(const char *path, int32_t threads, struct attn_trainer **trainer,
                                   struct attn_checkpoint *checkpoint, attn_error *err);
void attn_checkpoint_close(struct attn_checkpoint *checkpoint);

#endif
