/* embed.c -- attn_model_embed: a vector for each text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "encoder_batches.h"
#include "error.h"
#include "model.h"

#define MIN_NORM 1e-12 /* the smallest divisor, as in PyTorch's normalize */

struct embedding_run {
  const struct attn_model *model;
  attn_embedding_config config;
  int64_t count;
  struct attn_token_batch text; /* all texts */
  int32_t *tokens;
  int64_t *starts;
  float *out;
};

/* ---- Tokens ---- */

static attn_status add_text(struct embedding_run *r, const char *text, attn_error *err) {
  int32_t *tokens = NULL;
  int64_t count = 0, index = r->text.sequences;
  attn_status status = attn_model_tokenize_source(r->model, text, "texts", &tokens, &count, err);
  if (status) return status;
  memcpy(r->tokens + r->text.n, tokens, (size_t)count * sizeof *tokens);
  free(tokens);
  r->starts[++r->text.sequences] = r->text.n += count;
  if (count) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "texts", "texts[%lld] has no tokens", (long long)index);
}

/* A token has at least one byte, except the two special tokens around a text. */
static attn_status read_texts(struct embedding_run *r, const char *const *texts, attn_error *err) {
  attn_status status = ATTN_OK;
  size_t capacity = 1;
  for (int64_t n = 0; n < r->count; n++) capacity += strlen(texts[n]) + 2;
  r->text.tokens = r->tokens = malloc(capacity * sizeof *r->tokens);
  r->text.starts = r->starts = calloc((size_t)r->count + 1, sizeof *r->starts);
  if (!r->tokens || !r->starts)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for embeddings");
  for (int64_t n = 0; n < r->count && !status; n++) status = add_text(r, texts[n], err);
  return status;
}

/* ---- Pooling and normalization ---- */

static attn_status pool(void *run, int64_t index, const float *hidden, int64_t n, int64_t width,
                        attn_error *err) {
  const struct embedding_run *r = run;
  float *to = r->out + index * width;
  double sum, squares = 0, norm = 1;
  int64_t rows = r->config.pooling == ATTN_POOLING_CLS ? 1 : n;
  for (int64_t d = 0; d < width; d++) {
    sum = 0;
    for (int64_t i = 0; i < rows; i++) sum += (double)hidden[i * width + d];
    to[d] = (float)(sum / (double)rows);
    squares += (double)to[d] * (double)to[d];
  }
  if (!isfinite(squares))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "the vector of texts[%lld] is not finite",
                     (long long)index);
  if (r->config.normalize == ATTN_NORMALIZE_L2) norm = fmax(sqrt(squares), MIN_NORM);
  for (int64_t d = 0; d < width; d++) to[d] = (float)((double)to[d] / norm);
  return ATTN_OK;
}

/* ---- attn_model_embed ---- */

static attn_status encode_all(struct embedding_run *r, attn_error *err) {
  const attn_embedding_config *c = &r->config;
  struct attn_encoder_batches all = {.batches = {.batch_size = c->batch_size,
                                                 .threads = c->threads,
                                                 .watch = {.progress = c->progress,
                                                           .context = c->progress_context,
                                                           .name = "progress"}},
                                     .network = r->model->network,
                                     .texts = &r->text,
                                     .take = pool,
                                     .context = r};
  return attn_encoder_batches_run(&all, err);
}

static attn_status check(struct embedding_run *r, attn_error *err) {
  attn_embedding_config *c = &r->config;
  const struct attn_sentence_config *own = &r->model->sentence;
  if (r->model->network->config.kind == ATTN_VISION_ENCODER_DECODER)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "the model reads images, not texts");
  if (r->model->network->config.encoder_layers < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "cannot embed: the model has no encoder");
  if (r->count < 0 || r->count > 1 << 24)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "count", "count must be between 0 and 2^24, got %lld",
                     (long long)r->count);
  if (c->pooling < 0 || c->pooling > ATTN_POOLING_CLS)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "pooling", "unknown pooling kind %d", (int)c->pooling);
  if (c->normalize < 0 || c->normalize > ATTN_NORMALIZE_NONE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "normalize", "unknown normalize kind %d",
                     (int)c->normalize);
  if (c->threads < 0 || c->batch_size < 0) {
    const char *name = c->threads < 0 ? "threads" : "batch_size";
    return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s must be at least 0, got %d", name,
                     (int)(c->threads < 0 ? c->threads : c->batch_size));
  }
  if (!c->pooling) c->pooling = own->pooling ? own->pooling : ATTN_POOLING_MEAN;
  if (!c->normalize) c->normalize = own->normalize ? own->normalize : ATTN_NORMALIZE_L2;
  if (!c->batch_size) c->batch_size = 1;
  return ATTN_OK;
}

attn_status attn_model_embed(const attn_model *model, const char *const *texts, int64_t count,
                             const attn_embedding_config *config, float *out, attn_error *err) {
  struct embedding_run r = {.model = model, .count = count, .out = out};
  attn_status status =
      attn_descriptor_copy(config, &r.config, sizeof r.config, sizeof r.config, "config", err);
  if (!status) status = check(&r, err);
  if (!status) status = read_texts(&r, texts, err);
  if (!status) status = encode_all(&r, err);
  free(r.tokens), free(r.starts);
  return status;
}
