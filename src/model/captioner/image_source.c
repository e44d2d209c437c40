#include "image_source.h"

#include <stdlib.h>

#include "error.h"
#include "image.h"

/* Through 8 bits, as in training: images of 8 bits give the same bits. */
static attn_status read_pixels(const attn_tensor *image, int64_t side, float *to, attn_error *err) {
  const attn_image_config config = attn_image_config_square(side);
  attn_array scaled;
  attn_status status = attn_image_resize(image, &config, &scaled, err);
  if (status) return status;
  attn_pixels_to_float(scaled.tensor.data, side * side * 3, to);
  attn_array_free(&scaled);
  return ATTN_OK;
}

attn_status attn_image_source_open(struct attn_image_source *s, const struct attn_model *model,
                                   const attn_tensor *images, int64_t count, attn_error *err) {
  const struct attn_model_config *c = &model->network->config;
  const int64_t side = attn_model_grid_size(c), positions = side * side,
                values = c->image_size * c->image_size * 3;
  *s = (struct attn_image_source){.tokens = NULL};
  if (c->kind != ATTN_VISION_ENCODER_DECODER)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "the model reads texts, not images");
  s->tokens = malloc((size_t)(count * positions + 1) * sizeof *s->tokens);
  s->starts = calloc((size_t)count + 1, sizeof *s->starts);
  s->pixels = malloc((size_t)(count * values + 1) * sizeof *s->pixels);
  if (!s->tokens || !s->starts || !s->pixels)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %lld images", (long long)count);
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < count && !status; n++) {
    status = read_pixels(&images[n], c->image_size, s->pixels + n * values, err);
    s->starts[n + 1] = (n + 1) * positions;
  }
  for (int64_t n = 0; n < count * positions; n++) s->tokens[n] = (int32_t)(n % positions);
  s->batch = (struct attn_token_batch){.n = count * positions,
                                       .sequences = count,
                                       .tokens = s->tokens,
                                       .starts = s->starts,
                                       .pixels = s->pixels,
                                       .values = values};
  return status;
}

void attn_image_source_close(struct attn_image_source *s) {
  free(s->tokens), free(s->starts), free(s->pixels);
}
