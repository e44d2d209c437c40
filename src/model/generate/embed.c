/* embed.c -- texts in, a vector for each out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "encoder_batches.h"
#include "error.h"
#include "model.h"

#define LEAST_LENGTH 1e-12 /* what a vector is divided by at least, as PyTorch's normalize */

struct job {
  const struct attn_model *model;
  attn_embedding_config how;
  int64_t count;
  struct attn_token_batch text; /* all of them */
  int32_t *tokens;
  int64_t *starts;
  float *out;
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for embeddings");
}

/* ---- Tokens ---- */

static attn_status add_text(struct job *j, const char *text, attn_error *err) {
  int32_t *tokens = NULL;
  int64_t count = 0, number = j->text.sequences;
  attn_status status = attn_model_tokenize_source(j->model, text, "texts", &tokens, &count, err);
  if (status) return status;
  memcpy(j->tokens + j->text.n, tokens, (size_t)count * sizeof *tokens);
  free(tokens);
  j->starts[++j->text.sequences] = j->text.n += count;
  if (count) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "texts", "texts[%lld] has no tokens", (long long)number);
}

/* A token has at least a byte, but for what begins and ends a text. */
static attn_status read_texts(struct job *j, const char *const *texts, attn_error *err) {
  attn_status status = ATTN_OK;
  size_t room = 1;
  for (int64_t n = 0; n < j->count; n++) room += strlen(texts[n]) + 2;
  j->text.tokens = j->tokens = malloc(room * sizeof *j->tokens);
  j->text.starts = j->starts = calloc((size_t)j->count + 1, sizeof *j->starts);
  if (!j->tokens || !j->starts) return out_of_memory(err);
  for (int64_t n = 0; n < j->count && !status; n++) status = add_text(j, texts[n], err);
  return status;
}

/* ---- From hidden vectors to one ---- */

static attn_status pool(void *job, int64_t index, const float *hidden, int64_t n, int64_t width,
                        attn_error *err) {
  const struct job *j = job;
  float *to = j->out + index * width;
  double sum, squares = 0, length = 1;
  int64_t rows = j->how.pooling == ATTN_POOLING_CLS ? 1 : n;
  for (int64_t d = 0; d < width; d++) {
    sum = 0;
    for (int64_t i = 0; i < rows; i++) sum += (double)hidden[i * width + d];
    to[d] = (float)(sum / (double)rows);
    squares += (double)to[d] * (double)to[d];
  }
  if (!isfinite(squares))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "the vector of texts[%lld] is not finite",
                     (long long)index);
  if (j->how.norm == ATTN_NORMALIZE_L2) length = fmax(sqrt(squares), LEAST_LENGTH);
  for (int64_t d = 0; d < width; d++) to[d] = (float)((double)to[d] / length);
  return ATTN_OK;
}

/* ---- The whole ---- */

static attn_status run(struct job *j, attn_error *err) {
  const struct attn_encoder_batches encoding = {.network = j->model->network,
                                                .texts = &j->text,
                                                .together = j->how.together,
                                                .threads = j->how.threads,
                                                .take = pool,
                                                .context = j,
                                                .stop = j->how.progress,
                                                .stop_context = j->how.progress_context};
  return attn_encoder_batches_run(&encoding, err);
}

static attn_status check(struct job *j, attn_error *err) {
  attn_embedding_config *h = &j->how;
  const struct attn_sentence_config *own = &j->model->sentence;
  if (j->model->network->config.encoder_layers < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "it has no encoder, and embeds nothing");
  if (j->count < 0 || j->count > 1 << 24)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "count", "count is %lld; it may be 0 to 2^24",
                     (long long)j->count);
  if (h->pooling < 0 || h->pooling > ATTN_POOLING_CLS)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "pooling", "%d is no way of pooling", (int)h->pooling);
  if (h->norm < 0 || h->norm > ATTN_NORMALIZE_NONE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "norm", "%d is no attn_normalize_kind", (int)h->norm);
  if (h->threads < 0 || h->together < 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, h->threads < 0 ? "threads" : "together",
                     "it is negative; it must be at least 0");
  if (!h->pooling) h->pooling = own->pooling ? own->pooling : ATTN_POOLING_MEAN;
  if (!h->norm) h->norm = own->norm ? own->norm : ATTN_NORMALIZE_L2;
  if (!h->together) h->together = 1;
  return ATTN_OK;
}

attn_status attn_model_embed(const attn_model *model, const char *const *texts, int64_t count,
                             const attn_embedding_config *how, float *out, attn_error *err) {
  struct job j = {.model = model, .count = count, .out = out};
  attn_status status = attn_descriptor_copy(how, &j.how, sizeof j.how, sizeof j.how, "how", err);
  if (!status) status = check(&j, err);
  if (!status) status = read_texts(&j, texts, err);
  if (!status) status = run(&j, err);
  free(j.tokens), free(j.starts);
  return status;
}
