#include "caption_probe.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "image_source.h"

static int add_weights(void *context, const attn_attention *a) {
  struct attn_caption_probe *p = context;
  if (a->kind != ATTN_ATTENTION_CROSS || a->queries != p->words + 1) return 0;
  for (int64_t n = 0; n < a->queries * a->keys; n++) p->seen[n] += (double)a->weights[n];
  return 0;
}

static attn_status open_batch(struct attn_caption_probe *p, attn_error *err) {
  const struct attn_network *n = p->model->network;
  attn_status status = attn_batch_new(&n->config, 1, p->words + 1, &p->batch, err);
  if (status) return status;
  attn_batch_add_image(p->batch, NULL, p->tokens, p->words);
  p->tape.host.threads = 1;
  attn_transformer_forward(n, &p->tape, &p->batch->source, &p->batch->target);
  return attn_tape_reserve(&p->tape, err);
}

attn_status attn_caption_probe_open(struct attn_caption_probe *p, const struct attn_model *model,
                                    const attn_tensor *image, const char *caption,
                                    attn_error *err) {
  const int64_t side = attn_model_grid_size(&model->network->config);
  memset(p, 0, sizeof *p);
  p->model = model;
  attn_status status = attn_model_tokenize(model, caption, "caption", &p->tokens, &p->words, err);
  if (status) return status;
  p->seen = calloc((size_t)(p->words + 1), (size_t)(side * side) * sizeof *p->seen);
  p->predicted = calloc((size_t)(p->words + 1), sizeof *p->predicted);
  if (!p->seen || !p->predicted)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: a caption");
  status = attn_model_visit_caption(model, image, caption, 1, add_weights, p, err);
  if (!status) status = open_batch(p, err);
  return status ? status : attn_caption_probe_predict(p, image, err);
}

static int32_t argmax(const float *row, int64_t count) {
  int64_t best = 0;
  for (int64_t n = 1; n < count; n++)
    if (row[n] > row[best]) best = n;
  return (int32_t)best;
}

attn_status attn_caption_probe_predict(struct attn_caption_probe *p, const attn_tensor *image,
                                       attn_error *err) {
  struct attn_image_source source;
  attn_status status = attn_image_source_open(&source, p->model, image, 1, err);
  attn_tape_start(&p->tape);
  p->batch->source.pixels = source.pixels;
  if (!status) {
    const struct attn_tape_variable *logits =
        attn_transformer_forward(p->model->network, &p->tape, &p->batch->source, &p->batch->target);
    status = attn_tape_status(&p->tape, err);
    for (int64_t k = 0; k <= p->words && !status; k++)
      p->predicted[k] = argmax(logits->x + k * logits->width, logits->width);
  }
  attn_image_source_close(&source);
  return status;
}

void attn_caption_probe_close(struct attn_caption_probe *p) {
  attn_batch_free(p->batch), attn_tape_close(&p->tape);
  free(p->seen), free(p->predicted), free(p->tokens);
}
