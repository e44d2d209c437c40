/* embed.c -- texts in, a vector for each out. */
#include <math.h>
#include <stdlib.h>

#include "descriptor.h"
#include "error.h"
#include "model.h"
#include "sharing.h"
#include "transformer.h"

#define LEAST_LENGTH 1e-12 /* what a vector is divided by at least, as PyTorch's normalize */

struct job {
  const struct attn_model *model;
  attn_embedding_how how;
  int64_t count;
  int32_t **tokens; /* of each text */
  int64_t *counts;
  float *out;
  struct attn_sharing sharing;
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for embeddings");
}

/* ---- Tokens ---- */

static attn_status read_texts(struct job *j, const char *const *texts, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < j->count && !status; n++)
    status =
        attn_model_encode_whole(j->model, texts[n], "texts", &j->tokens[n], &j->counts[n], err);
  for (int64_t n = 0; n < j->count && !status; n++)
    if (!j->counts[n])
      status =
          attn_fail(err, ATTN_ERR_ARGUMENT, "texts", "texts[%lld] has no tokens", (long long)n);
  return status;
}

/* ---- From hidden vectors to one ---- */

static void pool(const struct job *j, const float *hidden, int64_t n, int64_t width, float *to) {
  double sum, squares = 0, length = 1;
  int64_t rows = j->how.pooling == ATTN_POOLING_FIRST ? 1 : n;
  for (int64_t d = 0; d < width; d++) {
    sum = 0;
    for (int64_t i = 0; i < rows; i++) sum += (double)hidden[i * width + d];
    to[d] = (float)(sum / (double)rows);
    squares += (double)to[d] * (double)to[d];
  }
  if (j->how.norm == ATTN_NORM_UNIT) length = fmax(sqrt(squares), LEAST_LENGTH);
  for (int64_t d = 0; d < width; d++) to[d] = (float)((double)to[d] / length);
}

/* ---- A group: texts that go through each layer side by side ---- */

struct group {
  const struct job *job;
  struct attn_text text;
  int32_t *tokens, *places;
  int64_t *starts;
  struct attn_tape tape;
};

static attn_status gather(struct group *g, int64_t first, int64_t count, attn_error *err) {
  const struct job *j = g->job;
  int64_t all = 0, at = 0;
  for (int64_t s = 0; s < count; s++) all += j->counts[first + s];
  g->tokens = malloc((size_t)all * sizeof *g->tokens);
  g->places = malloc((size_t)all * sizeof *g->places);
  g->starts = calloc((size_t)count + 1, sizeof *g->starts);
  if (!g->tokens || !g->places || !g->starts) return out_of_memory(err);
  for (int64_t s = 0; s < count; s++) {
    for (int64_t i = 0; i < j->counts[first + s]; i++, at++)
      g->tokens[at] = j->tokens[first + s][i], g->places[at] = (int32_t)i;
    g->starts[s + 1] = at;
  }
  g->text = (struct attn_text){
      .n = all, .sequences = count, .tokens = g->tokens, .places = g->places, .starts = g->starts};
  return ATTN_OK;
}

static attn_status embed_group(void *job, int64_t first, int64_t count, attn_error *err) {
  struct job *j = job;
  struct group g = {.job = j};
  struct attn_value *hidden = NULL;
  attn_status status = gather(&g, first, count, err);
  g.tape.host.threads = 1; /* so that sums are the same with any number of them */
  if (!status)
    status = attn_transformer_encode_alone(j->model->network, NULL, &g.tape, &g.text, &hidden, err);
  for (int64_t s = 0; s < count && !status; s++)
    pool(j, hidden->x + g.starts[s] * hidden->width, g.starts[s + 1] - g.starts[s], hidden->width,
         j->out + (first + s) * hidden->width);
  if (!status) {
    j->sharing.done += count;
    status = attn_sharing_tell(&j->sharing, err);
  }
  attn_tape_close(&g.tape);
  free(g.tokens), free(g.places), free(g.starts);
  return status;
}

/* ---- The whole ---- */

static attn_status run(struct job *j, attn_error *err) {
  j->sharing = (struct attn_sharing){.sequences = j->count,
                                     .together = j->how.together,
                                     .threads = j->how.threads,
                                     .work = embed_group,
                                     .argument = j,
                                     .stop = j->how.progress,
                                     .context = j->how.progress_context,
                                     .stop_name = "progress"};
  return attn_sharing_run(&j->sharing, err);
}

static attn_status check(struct job *j, attn_error *err) {
  attn_embedding_how *h = &j->how;
  const struct attn_sentence *own = &j->model->sentence;
  if (j->model->network->config.encoder_layers < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "it has no encoder, and embeds nothing");
  if (j->count < 0 || j->count > 1 << 24)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "count", "count is %lld; it may be 0 to 2^24",
                     (long long)j->count);
  if (h->pooling < 0 || h->pooling > ATTN_POOLING_FIRST)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "pooling", "%d is no way of pooling", (int)h->pooling);
  if (h->norm < 0 || h->norm > ATTN_NORM_NONE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "norm", "%d is no attn_norm_kind", (int)h->norm);
  if (h->threads < 0 || h->together < 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, h->threads < 0 ? "threads" : "together",
                     "it is negative; it must be at least 0");
  if (!h->pooling) h->pooling = own->pooling ? own->pooling : ATTN_POOLING_MEAN;
  if (!h->norm) h->norm = own->norm ? own->norm : ATTN_NORM_UNIT;
  if (!h->together) h->together = 1;
  return ATTN_OK;
}

attn_status attn_model_embed(const attn_model *model, const char *const *texts, int64_t count,
                             const attn_embedding_how *how, float *out, attn_error *err) {
  struct job j = {.model = model, .count = count, .out = out};
  attn_status status = attn_descriptor_copy(how, &j.how, sizeof j.how, sizeof j.how, "how", err);
  if (!status) status = check(&j, err);
  if (status) return status;
  j.tokens = calloc((size_t)count + 1, sizeof *j.tokens);
  j.counts = calloc((size_t)count + 1, sizeof *j.counts);
  status = j.tokens && j.counts ? read_texts(&j, texts, err) : out_of_memory(err);
  if (!status) status = run(&j, err);
  for (int64_t n = 0; j.tokens && n < count; n++) free(j.tokens[n]);
  free(j.tokens), free(j.counts);
  return status;
}
