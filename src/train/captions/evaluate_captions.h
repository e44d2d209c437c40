/* evaluate_captions.h -- captions of scenes, where the model looks, and what hiding it changes. */
#ifndef ATTN_TRAIN_EVALUATE_CAPTIONS_H
#define ATTN_TRAIN_EVALUATE_CAPTIONS_H

#include "attn/train.h"
#include "scene.h"
#include "watch.h"

struct attn_caption_evaluation {
  const attn_model *model;
  const struct attn_task *task;
  const struct attn_photos *photos; /* those of validation, if the task has any */
  int64_t examples; /* scenes of the validation split; as many of unseen pairs, of shapes */
  uint64_t seed;
  int32_t threads;
  struct attn_watch *watch; /* counts all of them */
};

/* Fills the counts of result up to a stop or failure. Errors: those of attn_model_caption. */
attn_status attn_evaluate_captions(const struct attn_caption_evaluation *config,
                                   attn_evaluation *result, attn_error *err);

#endif
