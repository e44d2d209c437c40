/* trainer.h -- training steps: data-parallel gradients and AdamW.
 *
 * A batch is split over replicas, one per thread. The replicas share the weights; each has its own
 * tape and gradients, which are summed in replica order. A small model has too little work in one
 * product to split it, and replicas synchronize once per step instead of once per product. A model
 * of single_replica_from parameters or more would spend its time copying gradients: it has one
 * replica, whose layers run in parallel. Both ways give the same bits for the same build and the
 * same number of threads; dropout does not depend on the number of threads at all. */
#ifndef ATTN_TRAIN_TRAINER_H
#define ATTN_TRAIN_TRAINER_H

#include "batch.h"
#include "optimizer.h"
#include "watch.h"

enum {
  ATTN_BATCH_TOKENS_MAX = 1 << 24, /* of max_tokens */
  ATTN_BATCH_SIZE_MAX = 1 << 20    /* of batch_size, and of gradient_accumulation_steps */
};

struct attn_trainer_config {
  struct attn_adamw adam;
  struct attn_lr_schedule schedule;
  double max_grad_norm; /* 0: no clipping */
  double label_smoothing;
  int64_t batch_size;                  /* sequences */
  int64_t max_tokens;                  /* of a batch, source and target each */
  int64_t max_length;                  /* of a sequence; every replica has capacity for one */
  int64_t gradient_accumulation_steps; /* batches per step; 0: 1 */
  uint64_t seed;
  int32_t threads;             /* 0: all CPUs */
  int64_t single_replica_from; /* parameters; 0: 2^21 */
  int32_t bf16;                /* 1: linear layers multiply in bf16 */
  int32_t freeze_cnn; /* 1: the convolutions of the encoder of images are not trained: no gradients,
                       * no updates */
};

/* "float32" or "bf16", the names used in attn_train_config and in checkpoints. */
const char *attn_precision_name(int32_t bf16);
int attn_precision_find(const char *name, int32_t *bf16); /* 0: unknown name */

struct attn_replica {
  struct attn_network *network;
  struct attn_tape tape;
  struct attn_batch *batch;
  struct attn_loss loss;
};

struct attn_trainer {
  struct attn_trainer_config config;
  int64_t parameter_count;
  float *weights; /* one block: weights, first moments, second moments, each replica's gradients */
  float *first_moment, *second_moment;
  uint16_t *bf16_weights; /* NULL: float32 training */
  int32_t threads;
  int replica_count;
  struct attn_replica *replicas;
  int64_t step, skipped_steps;
  int64_t added;                /* sequences in the current batch */
  struct attn_loss accumulated; /* since the last step; 0 rows: nothing */
  int64_t accumulated_batches;
  uint64_t examples_seen; /* position in the data; maintained by the caller */
  size_t memory_bytes;
  struct attn_watch *watch; /* NULL, or polled by each layer of a long pass: it may end with
                             * ATTN_ERR_INTERRUPTED, which drops the accumulated gradients */
};

struct attn_step_result {
  double loss, accuracy; /* means over target tokens; nats */
  double learning_rate;
  double grad_norm; /* before clipping */
  int64_t tokens;
  int skipped; /* 1: loss or gradient not finite, weights unchanged */
};

attn_status attn_trainer_new(const struct attn_model_config *model,
                             const struct attn_trainer_config *config,
                             struct attn_trainer **trainer, attn_error *err);
void attn_trainer_free(struct attn_trainer *trainer);

/* Adds a pair to the batch by attn_batch_add. Returns 0 when it does not fit. */
int attn_trainer_add(struct attn_trainer *trainer, const int32_t *source, int64_t source_count,
                     const int32_t *target, int64_t target_count);

/* The same for an image and its caption, by attn_batch_add_image. */
int attn_trainer_add_image(struct attn_trainer *trainer, const unsigned char *rgb,
                           const int32_t *caption, int64_t count);

/* Computes the gradients of the batch, adds them to those of the next step and clears the batch.
 * Only needed for more than one batch per step: attn_trainer_step does it for the last. */
attn_status attn_trainer_accumulate(struct attn_trainer *trainer, attn_error *err);

/* Adds the loss of the batch to *loss, without dropout and label smoothing, and clears the batch.
 */
attn_status attn_trainer_evaluate(struct attn_trainer *trainer, struct attn_loss *loss,
                                  attn_error *err);

/* AdamW's update of the encoder of images alone, with the gradients of the first replica, which are
 * 0 afterwards; for attn_pretrain_encoder. Counts no step. */
void attn_trainer_update_encoder(struct attn_trainer *trainer, int64_t step, double grad_scale,
                                 double learning_rate);
void attn_trainer_clear_moments(struct attn_trainer *trainer);

/* Updates the weights with the mean of the accumulated gradients. */
attn_status attn_trainer_step(struct attn_trainer *trainer, struct attn_step_result *result,
                              attn_error *err);

#endif
