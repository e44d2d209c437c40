/* trainer.h -- steps of training: gradients of a batch, shared out over threads, and AdamW.
 *
 * A batch is cut into one part for each thread, and each part goes through a tape of its own; their
 * gradients are summed in order. Small models have too little in one product to share it, and a
 * step has one meeting of threads instead of hundreds. Of a large model, of whole_from weights and
 * more, a part takes a copy of all gradients and reads all weights: it has one part, whose layers
 * share out their work. Either way a run is repeated bit for bit by the same build with the same
 * number of threads, and what is dropped does not depend even on that. */
#ifndef ATTN_TRAIN_TRAINER_H
#define ATTN_TRAIN_TRAINER_H

#include "batch.h"
#include "optimizer.h"
#include "watch.h"

/* At most: tokens of a batch; its sequences, and batches of a step. */
enum { ATTN_BATCH_TOKENS_MAX = 1 << 24, ATTN_BATCH_SIZE_MAX = 1 << 20 };

struct attn_trainer_config {
  struct attn_adamw adam;
  struct attn_lr_schedule schedule;
  double clip, smoothing; /* clip 0: none */
  int64_t batch, tokens;  /* sequences of a batch; the most tokens of either side in it */
  int64_t longest;        /* tokens that a part has room for at least: no sequence has more */
  int64_t accumulate;     /* batches of a step, so that each drops otherwise; 0 is 1 */
  uint64_t seed;
  int32_t threads;    /* 0: all */
  int64_t whole_from; /* weights; 0: 2^21 */
  int32_t halves;     /* 1: linear layers multiply in bf16 */
};

/* By the names that callers and checkpoints use, "float32" and "bf16"; 0 where there is no such. */
const char *attn_precision_name(int32_t halves);
int attn_precision_find(const char *name, int32_t *halves);

struct attn_replica {
  struct attn_network *network;
  struct attn_tape tape;
  struct attn_batch *batch;
  struct attn_loss loss;
};

struct attn_trainer {
  struct attn_trainer_config how;
  int64_t numbers;       /* of the weights */
  float *weights;        /* one block with AdamW's moments and the gradients */
  float *first, *second; /* the moments */
  int32_t threads;       /* of a step */
  int parts;
  uint16_t *halves; /* the weights in bf16; NULL: float32 alone */
  struct attn_replica *part;
  int64_t step, added, skipped;
  struct attn_loss gathered; /* since the last step; its rows are 0 where there is nothing */
  int64_t batches;           /* of that */
  uint64_t drawn;            /* examples so far: where the data go on. The caller's to count */
  size_t bytes;              /* all that it holds */
  struct attn_watch *watch;  /* NULL, or told again by each layer of a long pass:
                              * ATTN_ERR_INTERRUPTED, and what was gathered is forgotten */
};

/* What a step gave. */
struct attn_step {
  double loss, accuracy, rate, norm; /* mean in nats, of tokens; norm before clipping */
  int64_t tokens;
  int skipped; /* loss or gradient were not finite: the weights stand as before */
};

attn_status attn_trainer_new(const struct attn_config *config,
                             const struct attn_trainer_config *how, struct attn_trainer **trainer,
                             attn_error *err);
void attn_trainer_free(struct attn_trainer *trainer);

/* One more pair for the next step, for an encoder alone by attn_batch_label; 0 where it does not
 * fit. */
int attn_trainer_add(struct attn_trainer *trainer, const int32_t *source, int64_t source_count,
                     const int32_t *target, int64_t target_count);

/* The gradients of what was added, summed to those of the step to come: a step may be of more than
 * one batch. Without it attn_trainer_step does so itself. */
attn_status attn_trainer_accumulate(struct attn_trainer *trainer, attn_error *err);

/* What was added is not learned from: its loss, without dropout or smoothing, is added to *loss. */
attn_status attn_trainer_evaluate(struct attn_trainer *trainer, struct attn_loss *loss,
                                  attn_error *err);

/* A step over what was added and gathered. */
attn_status attn_trainer_step(struct attn_trainer *trainer, struct attn_step *step,
                              attn_error *err);

#endif
