#include "checkpoint.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "json_fields.h"
#include "weights.h"

enum { KINDS = 3, NAME = 80 };

static const char *const prefixes[KINDS] = {"", "adamw.m.", "adamw.v."};

/* ---- Metadata "training" ---- */

struct training {
  struct attn_trainer_config c;
  int64_t step, skipped_steps;
  uint64_t examples_seen;
  char *lr_schedule, *precision, *frozen;
};

#define TEXT(name) \
  { #name, ATTN_JSON_TEXT, offsetof(struct training, name), 0, 0 }
#define REAL(name, member) \
  { name, ATTN_JSON_REAL, offsetof(struct training, c.member), 0, 0 }
#define INTEGER(name, member, min, max) \
  { name, ATTN_JSON_INTEGER, offsetof(struct training, member), min, max }

static const char cnn[] = "cnn"; /* as a frozen part */

static const struct attn_json_field fields[] = {
    TEXT(lr_schedule),
    REAL("learning_rate", schedule.learning_rate),
    INTEGER("warmup_steps", c.schedule.warmup_steps, 0, INT64_MAX),
    INTEGER("steps", c.schedule.steps, 1, INT64_MAX),
    REAL("beta1", adam.beta1),
    REAL("beta2", adam.beta2),
    REAL("epsilon", adam.epsilon),
    REAL("weight_decay", adam.weight_decay),
    REAL("max_grad_norm", max_grad_norm),
    REAL("label_smoothing", label_smoothing),
    INTEGER("batch_size", c.batch_size, 1, ATTN_BATCH_SIZE_MAX),
    INTEGER("gradient_accumulation_steps", c.gradient_accumulation_steps, 1, ATTN_BATCH_SIZE_MAX),
    INTEGER("max_tokens", c.max_tokens, 1, ATTN_BATCH_TOKENS_MAX),
    INTEGER("max_length", c.max_length, 0, ATTN_BATCH_TOKENS_MAX),
    INTEGER("seed", c.seed, INT64_MIN, INT64_MAX),
    INTEGER("step", step, 0, INT64_MAX - 1),
    INTEGER("skipped_steps", skipped_steps, 0, INT64_MAX - 1),
    INTEGER("examples_seen", examples_seen, INT64_MIN, INT64_MAX),
    TEXT(precision), /* missing in the oldest files: float32 */
    TEXT(frozen),    /* "cnn"; missing: nothing */
};
static const struct attn_json_table table = {"checkpoint: \"training\"", fields,
                                             sizeof fields / sizeof *fields, 1};

static int is_valid(const struct attn_trainer_config *c) {
  const struct attn_adamw *a = &c->adam;
  return c->schedule.learning_rate >= 0 && a->beta1 >= 0 && a->beta1 < 1 && a->beta2 >= 0 &&
         a->beta2 < 1 && a->epsilon >= 0 && a->weight_decay >= 0 && c->max_grad_norm >= 0 &&
         c->label_smoothing >= 0 && c->label_smoothing < 1;
}

static attn_status read_training(const char *text, struct attn_checkpoint *c, attn_error *err) {
  struct training t = {.step = 0};
  attn_status status = attn_json_table_read(&table, text, &t, err);
  if (!status && (!t.lr_schedule || !attn_lr_schedule_find(t.lr_schedule, &t.c.schedule.kind) ||
                  (t.precision && !attn_precision_find(t.precision, &t.c.bf16)) ||
                  (t.frozen && strcmp(t.frozen, cnn) != 0) || !is_valid(&t.c)))
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "checkpoint: \"training\": unknown lr_schedule, precision or "
                       "frozen part, or an "
                       "optimizer setting out of range");
  t.c.freeze_cnn = t.frozen != NULL;
  free(t.lr_schedule), free(t.precision), free(t.frozen);
  c->trainer = t.c, c->step = t.step, c->skipped_steps = t.skipped_steps;
  c->examples_seen = t.examples_seen;
  return status;
}

static char *write_training(const struct attn_trainer *t) {
  const struct training object = {
      .c = t->config,
      .step = t->step,
      .skipped_steps = t->skipped_steps,
      .examples_seen = t->examples_seen,
      .lr_schedule = (char *)attn_lr_schedule_name(t->config.schedule.kind),
      .precision = (char *)attn_precision_name(t->config.bf16),
      .frozen = t->config.freeze_cnn ? (char *)cnn : NULL};
  return attn_json_table_write(&table, &object);
}

/* ---- Writing ---- */

/* The metadata of the file; NULL: out of memory. */
static json_t *metadata_of(const struct attn_trainer *t, const char *tokenizer, const char *run) {
  char *config = attn_model_config_write(&t->replicas[0].network->config),
       *training = write_training(t);
  json_t *all = config && training
                    ? json_pack("{s:s, s:s, s:s, s:s, s:s}", "format", "pt", "config", config,
                                "training", training, "tokenizer", tokenizer, "run", run)
                    : NULL;
  free(config), free(training);
  return all;
}

/* The tensors of the file: weights, first moments, second moments. */
struct tensor_list {
  int count;
  char (*name)[NAME];
  attn_tensor *tensor;
  struct attn_named_tensor *named;
};

static void free_tensors(struct tensor_list *l) { free(l->name), free(l->tensor), free(l->named); }

static attn_status list_tensors(const struct attn_trainer *t, struct tensor_list *l,
                                attn_error *err) {
  const struct attn_network *n = t->replicas[0].network;
  size_t count = (size_t)n->count * KINDS;
  float *const blocks[KINDS] = {t->weights, t->first_moment, t->second_moment};
  *l = (struct tensor_list){(int)count, malloc(count * NAME), malloc(count * sizeof *l->tensor),
                            malloc(count * sizeof *l->named)};
  if (!l->name || !l->tensor || !l->named)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: a list of %zu tensors", count);
  for (int k = 0, at = 0; k < KINDS; k++)
    for (int p = 0; p < n->count; p++, at++) {
      const struct attn_parameter *one = &n->parameters[p];
      snprintf(l->name[at], NAME, "%s%s", prefixes[k], one->name);
      l->tensor[at] = attn_weights_tensor(one, blocks[k]);
      l->named[at] = (struct attn_named_tensor){l->name[at], &l->tensor[at]};
    }
  return ATTN_OK;
}

attn_status attn_checkpoint_write(const char *path, const char *stale, const struct attn_trainer *t,
                                  const char *tokenizer, const char *run, attn_error *err) {
  struct tensor_list l = {0, NULL, NULL, NULL};
  json_t *metadata = metadata_of(t, tokenizer, run);
  attn_status status =
      metadata ? list_tensors(t, &l, err)
               : attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: checkpoint metadata");
  if (!status) status = attn_safetensors_write(path, stale, l.named, l.count, metadata, err);
  free_tensors(&l);
  json_decref(metadata);
  return status;
}

/* ---- Reading ---- */

static attn_status read_metadata(const struct attn_safetensors *file, struct attn_checkpoint *c,
                                 attn_error *err) {
  enum { CONFIG, TRAINING, TOKENIZER, RUN, COUNT };
  static const char *const names[COUNT] = {"config", "training", "tokenizer", "run"};
  const char *texts[COUNT];
  memset(c, 0, sizeof *c);
  for (int n = 0; n < COUNT; n++)
    if (!(texts[n] = attn_safetensors_metadata(file, names[n])))
      return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "checkpoint: metadata \"%s\" is missing; expected a checkpoint of attn",
                       names[n]);
  attn_status status =
      attn_model_config_parse(texts[CONFIG], strlen(texts[CONFIG]), &c->model, err);
  if (!status) status = read_training(texts[TRAINING], c, err);
  if (!status && (!(c->tokenizer = strdup(texts[TOKENIZER])) || !(c->run = strdup(texts[RUN]))))
    status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: checkpoint metadata");
  return status;
}

static attn_status read_tensors(const struct attn_bytes *bytes, const struct attn_safetensors *file,
                                const struct attn_trainer *t, attn_error *err) {
  const struct attn_network *n = t->replicas[0].network;
  float *const blocks[KINDS] = {t->weights, t->first_moment, t->second_moment};
  if (file->entries != (size_t)n->count * KINDS)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "checkpoint: expected %d tensors for its configuration, got %zu",
                     n->count * KINDS, file->entries);
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
  attn_status status = read_metadata(file, c, err);
  c->trainer.threads = threads;
  if (!status)
    status =
        attn_weights_check_size("checkpoint", bytes->size, KINDS * sizeof(float), &c->model, err);
  if (!status) status = attn_trainer_new(&c->model, &c->trainer, trainer, err);
  if (!status) status = read_tensors(bytes, file, *trainer, err);
  if (status) return status;
  (*trainer)->step = c->step, (*trainer)->skipped_steps = c->skipped_steps;
  (*trainer)->examples_seen = c->examples_seen;
  return ATTN_OK;
}

attn_status attn_checkpoint_resume(const char *path, int32_t threads, struct attn_trainer **trainer,
                                   struct attn_checkpoint *checkpoint, attn_error *err) {
  struct attn_bytes bytes;
  struct attn_safetensors file = {NULL, NULL, 0};
  struct attn_checkpoint c = {.tokenizer = NULL};
  struct attn_trainer *resumed = NULL;
  attn_status status = attn_bytes_open(&bytes, path, err);
  if (!status) status = attn_safetensors_open(&bytes, &file, err);
  if (!status) status = resume(&bytes, &file, threads, &c, &resumed, err);
  attn_safetensors_close(&file), attn_bytes_close(&bytes);
  if (status) return attn_trainer_free(resumed), attn_checkpoint_close(&c), status;
  *trainer = resumed;
  if (checkpoint)
    *checkpoint = c;
  else
    attn_checkpoint_close(&c);
  return ATTN_OK;
}
