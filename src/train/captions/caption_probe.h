/* caption_probe.h -- what a model predicts and looks at while it reads a given caption. */
#ifndef ATTN_TRAIN_CAPTION_PROBE_H
#define ATTN_TRAIN_CAPTION_PROBE_H

#include "model.h"

/* A picture with a caption; passes over changed pictures reuse the memory. */
struct attn_caption_probe {
  const struct attn_model *model;
  int64_t words; /* tokens of the caption, without the end token */
  double *seen; /* (words + 1, grid positions): cross-attention, summed over layers and heads; all 0
                 * if the model has none */
  int32_t *predicted; /* (words + 1): the most likely token after each prefix of the caption */
  int32_t *tokens;
  struct attn_batch *batch;
  struct attn_tape tape;
};

/* image: as of attn_model_caption. The caller calls attn_caption_probe_close in every
 * case. */
attn_status attn_caption_probe_open(struct attn_caption_probe *probe,
                                    const struct attn_model *model, const attn_tensor *image,
                                    const char *caption, attn_error *err);

/* Sets predicted for a picture. */
attn_status attn_caption_probe_predict(struct attn_caption_probe *probe, const attn_tensor *image,
                                       attn_error *err);

void attn_caption_probe_close(struct attn_caption_probe *probe);

#endif
