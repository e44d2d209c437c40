/* checkpoint.h -- all that a run needs to go on as if it had never stopped, in one safetensors
 * file: weights under their names, AdamW's moments under "adamw.m." and "adamw.v.", and as metadata
 * the configuration, how it is trained and how far it is, the tokenizer, and what the run says of
 * itself. */
#ifndef ATTN_TRAIN_CHECKPOINT_H
#define ATTN_TRAIN_CHECKPOINT_H

#include "trainer.h"

/* What a file says beside its numbers. */
struct attn_checkpoint {
  struct attn_config config;
  struct attn_trainer_config how;
  int64_t step, skipped;
  uint64_t drawn;
  char *tokenizer; /* a tokenizer.json; freed by attn_checkpoint_close, as is */
  char *run;       /* JSON, the caller's */
};

/* Written beside, fsynced, renamed: what stood there stands until the new file is whole. gone: as
 * in attn_file_commit. */
attn_status attn_checkpoint_write(const char *path, const char *gone,
                                  const struct attn_trainer *trainer, const char *tokenizer,
                                  const char *run, attn_error *err);

/* A trainer that goes on where the file's one was. threads: as in attn_trainer_config, for the
 * number of threads is the machine's; with the same number every bit is as without the stop.
 * *checkpoint, if it is wanted, is the caller's to close. ATTN_ERR_FORMAT, with the name of what is
 * missing or does not fit; nothing is kept then. */
attn_status attn_checkpoint_resume(const char *path, int32_t threads, struct attn_trainer **trainer,
                                   struct attn_checkpoint *checkpoint, attn_error *err);
void attn_checkpoint_close(struct attn_checkpoint *checkpoint);

#endif
