/* evaluate_captions.h -- captions of scenes, where the model looks, and what hiding it changes. */
#ifndef ATTN_TRAIN_EVALUATE_CAPTIONS_H
#define ATTN_TRAIN_EVALUATE_CAPTIONS_H

#include "attn/train.h"
#include "scene.h"
#include "watch.h"

/* The arguments of attn_model_evaluate. */
struct attn_task_evaluation {
  const attn_model *model;
  const struct attn_task *task;
  int64_t examples; /* of the validation split; of drawn shapes also as many of unseen pairs */
  uint64_t seed;
  int32_t threads;
  struct attn_watch watch; /* counts all of them */
};

/* Evaluates a task with pictures: fills the counts of result up to a stop or failure. Errors: those
 * of attn_model_caption and attn_photos_open. */
attn_status attn_evaluate_captions(struct attn_task_evaluation *evaluation, attn_evaluation *result,
                                   attn_error *err);

#endif
