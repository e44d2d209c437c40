#include "checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"
#include "weights.h"

enum { KINDS = 3, NAME = 80, EXACT = 17 }; /* digits that give a double back */

static const char *const prefixes[KINDS] = {"", "adamw.m.", "adamw.v."};

/* ---- How it is trained, as JSON ---- */

/* float32 is not said, so that versions that know no other read it. */
static json_t *training_object(const struct attn_trainer *t) {
  const struct attn_training *h = &t->how;
  return json_pack(
      "{s:s, s:f, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
      "s:s*}",
      "schedule", attn_schedule_name(h->schedule.kind), "rate", h->schedule.rate, "warm_up",
      (json_int_t)h->schedule.warm_up, "steps", (json_int_t)h->schedule.steps, "beta1",
      h->adam.beta1, "beta2", h->adam.beta2, "epsilon", h->adam.epsilon, "decay", h->adam.decay,
      "clip", h->clip, "smoothing", h->smoothing, "batch", (json_int_t)h->batch, "accumulate",
      (json_int_t)h->accumulate, "tokens", (json_int_t)h->tokens, "longest", (json_int_t)h->longest,
      "seed", (json_int_t)h->seed, "step", (json_int_t)t->step, "skipped", (json_int_t)t->skipped,
      "drawn", (json_int_t)t->drawn, "precision", h->halves ? attn_precision_name(1) : NULL);
}

/* As a run's own settings are: JSON holds no NaN and no infinity. */
static int is_sound(const struct attn_training *h) {
  const struct attn_adamw *a = &h->adam;
  return h->schedule.rate >= 0 && a->beta1 >= 0 && a->beta1 < 1 && a->beta2 >= 0 && a->beta2 < 1 &&
         a->epsilon >= 0 && a->decay >= 0 && h->clip >= 0 && h->smoothing >= 0 && h->smoothing < 1;
}

static attn_status read_training(const char *text, struct attn_checkpoint *c, attn_error *err) {
  const char *kind = "", *precision = attn_precision_name(0);
  struct attn_training *h = &c->how;
  json_int_t warm_up, steps, batch, accumulate, tokens, longest, seed, step, skipped, drawn;
  json_error_t where;
  json_t *root;
  attn_status status =
      attn_json_read("checkpoint: \"training\"", text, strlen(text), 0, &root, err);
  if (status) return status;
  int failed = json_unpack_ex(
      root, &where, JSON_STRICT,
      "{s:s, s:F, s:I, s:I, s:F, s:F, s:F, s:F, s:F, s:F, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
      "s?s}",
      "schedule", &kind, "rate", &h->schedule.rate, "warm_up", &warm_up, "steps", &steps, "beta1",
      &h->adam.beta1, "beta2", &h->adam.beta2, "epsilon", &h->adam.epsilon, "decay", &h->adam.decay,
      "clip", &h->clip, "smoothing", &h->smoothing, "batch", &batch, "accumulate", &accumulate,
      "tokens", &tokens, "longest", &longest, "seed", &seed, "step", &step, "skipped", &skipped,
      "drawn", &drawn, "precision", &precision);
  int known = !failed && attn_schedule_find(kind, &h->schedule.kind) &&
              attn_precision_find(precision, &h->halves);
  json_decref(root);
  if (failed)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL, "checkpoint: \"training\": %.100s", where.text);
  if (!known || !is_sound(h) || batch < 1 || batch > ATTN_PAIRS_MOST || tokens < 1 ||
      tokens > ATTN_BATCH_MOST || longest < 0 || longest > ATTN_BATCH_MOST || step < 0 ||
      step == INT64_MAX || skipped < 0 || skipped == INT64_MAX || accumulate < 1 ||
      accumulate > ATTN_PAIRS_MOST || steps < 1 || warm_up < 0)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL, "checkpoint: \"training\" holds what cannot be");
  h->schedule.warm_up = warm_up, h->schedule.steps = steps, h->batch = batch, h->tokens = tokens;
  h->accumulate = accumulate, h->longest = longest;
  h->seed = (uint64_t)seed, c->step = step, c->skipped = skipped, c->drawn = (uint64_t)drawn;
  return ATTN_OK;
}

/* ---- Writing ---- */

/* The strings of the file; NULL where there is no memory. */
static json_t *metadata_of(const struct attn_trainer *t, const char *tokenizer, const char *run) {
  char *config = attn_config_write(&t->part[0].network->config);
  json_t *how = training_object(t);
  char *training = how ? attn_json_text(how, JSON_COMPACT | JSON_REAL_PRECISION(EXACT)) : NULL;
  json_t *all = config && training
                    ? json_pack("{s:s, s:s, s:s, s:s, s:s}", "format", "pt", "config", config,
                                "training", training, "tokenizer", tokenizer, "run", run)
                    : NULL;
  json_decref(how);
  free(config), free(training);
  return all;
}

/* Every tensor of the file, by kind, then as the network lists them. */
struct listing {
  int count;
  char (*name)[NAME];
  const char **names;
  attn_tensor *tensor;
  const attn_tensor **tensors;
};

static void forget(struct listing *l) {
  free(l->name), free(l->names), free(l->tensor), free(l->tensors);
}

static attn_status list(const struct attn_trainer *t, struct listing *l, attn_error *err) {
  const struct attn_network *n = t->part[0].network;
  size_t count = (size_t)n->count * KINDS;
  float *const blocks[KINDS] = {t->weights, t->first, t->second};
  *l = (struct listing){(int)count, malloc(count * NAME), malloc(count * sizeof *l->names),
                        malloc(count * sizeof *l->tensor), malloc(count * sizeof *l->tensors)};
  if (!l->name || !l->names || !l->tensor || !l->tensors)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a list of %zu tensors", count);
  for (int k = 0, at = 0; k < KINDS; k++)
    for (int p = 0; p < n->count; p++, at++) {
      const struct attn_parameter *one = &n->parameters[p];
      snprintf(l->name[at], NAME, "%s%s", prefixes[k], one->name);
      l->tensor[at] = attn_weights_tensor(one, blocks[k]);
      l->names[at] = l->name[at], l->tensors[at] = &l->tensor[at];
    }
  return ATTN_OK;
}

attn_status attn_checkpoint_write(const char *path, const char *gone, const struct attn_trainer *t,
                                  const char *tokenizer, const char *run, attn_error *err) {
  struct listing l = {0, NULL, NULL, NULL, NULL};
  json_t *metadata = metadata_of(t, tokenizer, run);
  attn_status status = metadata
                           ? list(t, &l, err)
                           : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a checkpoint");
  if (!status)
    status = attn_safetensors_write(path, gone, l.names, l.tensors, l.count, metadata, err);
  forget(&l);
  json_decref(metadata);
  return status;
}

/* ---- Reading ---- */

static attn_status missing(attn_error *err, const char *what) {
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "checkpoint: there is no \"%s\": not one of attn's",
                   what);
}

static attn_status read_words(const struct attn_safetensors *file, struct attn_checkpoint *c,
                              attn_error *err) {
  const char *config = attn_safetensors_metadata(file, "config");
  const char *training = attn_safetensors_metadata(file, "training");
  const char *tokenizer = attn_safetensors_metadata(file, "tokenizer");
  const char *run = attn_safetensors_metadata(file, "run");
  memset(c, 0, sizeof *c);
  if (!config || !training || !tokenizer || !run)
    return missing(err, !config      ? "config"
                        : !training  ? "training"
                        : !tokenizer ? "tokenizer"
                                     : "run");
  attn_status status = attn_config_parse(config, strlen(config), &c->config, err);
  if (!status) status = read_training(training, c, err);
  if (!status && (!(c->tokenizer = strdup(tokenizer)) || !(c->run = strdup(run))))
    status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a tokenizer");
  return status;
}

static attn_status read_numbers(const struct attn_bytes *bytes, const struct attn_safetensors *file,
                                const struct attn_trainer *t, attn_error *err) {
  const struct attn_network *n = t->part[0].network;
  float *const blocks[KINDS] = {t->weights, t->first, t->second};
  if (file->entries != (size_t)n->count * KINDS)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "checkpoint: %zu tensors, but its configuration has %d", file->entries,
                     n->count * KINDS);
  attn_status status = ATTN_OK;
  for (int k = 0; k < KINDS && !status; k++)
    status = attn_weights_read(bytes, file, n, prefixes[k], blocks[k], err);
  return status;
}

void attn_checkpoint_close(struct attn_checkpoint *c) {
  free(c->tokenizer), free(c->run);
  c->tokenizer = c->run = NULL;
}

static attn_status resume(const struct attn_bytes *bytes, const struct attn_safetensors *file,
                          int32_t threads, struct attn_checkpoint *c, struct attn_trainer **trainer,
                          attn_error *err) {
  attn_status status = read_words(file, c, err);
  c->how.threads = threads;
  if (!status)
    status =
        attn_weights_check_size("checkpoint", bytes->size, KINDS * sizeof(float), &c->config, err);
  if (!status) status = attn_trainer_new(&c->config, &c->how, trainer, err);
  if (!status) status = read_numbers(bytes, file, *trainer, err);
  if (status) return status;
  (*trainer)->step = c->step, (*trainer)->skipped = c->skipped, (*trainer)->drawn = c->drawn;
  return ATTN_OK;
}

attn_status attn_checkpoint_resume(const char *path, int32_t threads, struct attn_trainer **trainer,
                                   struct attn_checkpoint *checkpoint, attn_error *err) {
  struct attn_bytes bytes;
  struct attn_safetensors file = {NULL, NULL, 0};
  struct attn_checkpoint c = {.tokenizer = NULL};
  struct attn_trainer *made = NULL;
  attn_status status = attn_bytes_open(&bytes, path, err);
  if (status) return status;
  status = attn_safetensors_open(&bytes, &file, err);
  if (!status) status = resume(&bytes, &file, threads, &c, &made, err);
  attn_safetensors_close(&file), attn_bytes_close(&bytes);
  if (status) return attn_trainer_free(made), attn_checkpoint_close(&c), status;
  *trainer = made;
  if (checkpoint)
    *checkpoint = c;
  else
    attn_checkpoint_close(&c);
  return ATTN_OK;
}
