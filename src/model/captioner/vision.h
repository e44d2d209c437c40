/* vision.h -- the convolutional encoder of images. */
#ifndef ATTN_MODEL_VISION_H
#define ATTN_MODEL_VISION_H

#include "block.h"

/* Hidden vectors (source->n, D) of the images of source: grid positions row by row, each a
 * projection of the last stage's channels plus the vector of the position, normalized. */
struct attn_tape_variable *attn_vision_encode(const struct attn_pass *pass,
                                              const struct attn_token_batch *source);

#endif
