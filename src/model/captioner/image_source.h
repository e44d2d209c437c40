/* image_source.h -- images as the source of a model that reads them. */
#ifndef ATTN_MODEL_IMAGE_SOURCE_H
#define ATTN_MODEL_IMAGE_SOURCE_H

#include "model.h"

/* Owned arrays: grid positions as tokens (count P), their starts (count + 1), pixels. */
struct attn_image_source {
  int32_t *tokens;
  int64_t *starts;
  float *pixels;
  struct attn_token_batch batch;
};

/* Scales each image to the model's image_size. Images (height, width, 3), ATTN_U8 or ATTN_F32.
 * ATTN_ERR_ARGUMENT: the model reads no images; ATTN_ERR_SHAPE, ATTN_ERR_TYPE, ATTN_ERR_MEMORY. The
 * caller calls attn_image_source_close in every case. */
attn_status attn_image_source_open(struct attn_image_source *source, const struct attn_model *model,
                                   const attn_tensor *images, int64_t count, attn_error *err);
void attn_image_source_close(struct attn_image_source *source);

#endif
