#include "model.h"

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "folder.h"
#include "weights.h"

/* ---- Opening ---- */

/* Everything but the weights, which take the most memory. */
static attn_status read_metadata(struct attn_model *m, const struct attn_safetensors *file,
                                 struct attn_model_config *config, attn_error *err) {
  const char *text = attn_safetensors_metadata(file, "config");
  const char *tokenizer = attn_safetensors_metadata(file, "tokenizer");
  if (!text || !tokenizer)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "checkpoint: metadata \"%s\" is missing: not a checkpoint of attn",
                     text ? "tokenizer" : "config");
  attn_status status = attn_model_config_parse(text, strlen(text), config, err);
  if (!status) m->generation = attn_generation_defaults_of_checkpoint(config);
  if (!status) status = attn_tokenizer_parse(tokenizer, strlen(tokenizer), &m->tokenizer, err);
  if (!status) status = attn_tokenizer_check_special_tokens(m->tokenizer, err);
  if (!status && !(m->config = attn_model_config_write(config)))
    status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a configuration");
  if (!status) status = attn_training_history_read(file, &m->history, err);
  int64_t count = status ? 0 : attn_tokenizer_vocab_size(m->tokenizer);
  if (!status && (config->vocab_size != count ||
                  (config->kind != ATTN_DECODER && config->source_vocab_size != count)))
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "checkpoint: the tokenizer has %lld tokens, but source_vocab_size is %lld "
                       "and vocab_size %lld",
                       (long long)count, (long long)config->source_vocab_size,
                       (long long)config->vocab_size);
  return status;
}

/* A weight that no layer uses means that the configuration is not the file's. The optimizer's state
 * does not count. */
static attn_status check_count(const struct attn_safetensors *file, const struct attn_network *n,
                               attn_error *err) {
  size_t weights = 0;
  for (size_t k = 0; k < file->entries; k++) weights += !!strncmp(file->entry[k].name, "adamw.", 6);
  if (weights == (size_t)n->count) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "checkpoint: the file has %zu weights, its configuration describes %d", weights,
                   n->count);
}

static attn_status read_model(const struct attn_bytes *bytes, struct attn_model *m,
                              attn_error *err) {
  struct attn_safetensors file = {NULL, NULL, 0};
  struct attn_model_config config;
  attn_status status = attn_safetensors_open(bytes, &file, err);
  if (!status) status = read_metadata(m, &file, &config, err);
  if (!status)
    status = attn_weights_check_size("checkpoint", bytes->size, sizeof *m->weights, &config, err);
  if (!status) status = attn_network_allocate(&config, &m->network, &m->weights, err);
  if (!status) status = attn_weights_read(bytes, &file, m->network, "", m->weights, err);
  if (!status) status = check_count(&file, m->network, err);
  attn_safetensors_close(&file);
  return status;
}

static attn_status read_checkpoint(const char *path, struct attn_model *m, attn_error *err) {
  struct attn_bytes bytes;
  attn_status status = attn_bytes_open(&bytes, path, err);
  if (!status) status = read_model(&bytes, m, err);
  attn_bytes_close(&bytes);
  return status;
}

static int is_checkpoint(const char *path) {
  struct attn_bytes bytes;
  struct attn_safetensors file = {NULL, NULL, 0};
  if (attn_bytes_open(&bytes, path, NULL)) return 0;
  int is = !attn_safetensors_open(&bytes, &file, NULL) &&
           attn_safetensors_metadata(&file, "config") &&
           attn_safetensors_metadata(&file, "tokenizer");
  attn_safetensors_close(&file), attn_bytes_close(&bytes);
  return is;
}

attn_status attn_model_open_memory(const void *data, size_t size, const char *name,
                                   attn_model **model, attn_error *err) {
  const struct attn_bytes bytes = {data, -1, size, name};
  *model = NULL;
  struct attn_model *m = calloc(1, sizeof *m);
  if (!m) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a model");
  attn_status status = read_model(&bytes, m, err);
  if (status) return attn_model_free(m), status;
  *model = m;
  return ATTN_OK;
}

int32_t attn_model_probe(const char *path) { return attn_is_folder(path) || is_checkpoint(path); }

attn_status attn_model_open(const char *path, attn_model **model, attn_error *err) {
  *model = NULL;
  struct attn_model *m = calloc(1, sizeof *m);
  if (!m) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a model");
  attn_status status =
      attn_is_folder(path) ? attn_folder_read(path, m, err) : read_checkpoint(path, m, err);
  if (status) return attn_model_free(m), status;
  *model = m;
  return ATTN_OK;
}

void attn_model_free(attn_model *m) {
  if (!m) return;
  attn_packed_weights_free(m->pack[0]), attn_packed_weights_free(m->pack[1]);
  attn_network_free(m->network), attn_tokenizer_free(m->tokenizer);
  attn_training_history_free(&m->history);
  free((void *)m->generation.search.suppressed), free(m->weights), free(m->config), free(m);
}

/* If two threads pack at once, the first result is kept. */
attn_status attn_model_packed_weights(const struct attn_model *model, int bf16,
                                      const struct attn_packed_weights **pack, attn_error *err) {
  struct attn_model *m = (struct attn_model *)(uintptr_t)model;
  struct attn_packed_weights *packed = atomic_load(&m->pack[bf16]), *other = NULL;
  if (!packed) {
    attn_status status =
        attn_packed_weights_new(m->network, bf16, ATTN_PACKED_WEIGHTS_MIN, &packed, err);
    if (status) return status;
    if (!atomic_compare_exchange_strong(&m->pack[bf16], &other, packed))
      attn_packed_weights_free(packed), packed = other;
  }
  *pack = packed;
  return ATTN_OK;
}

/* ---- Description ---- */

attn_status attn_model_describe(const attn_model *m, attn_model_info *info, attn_error *err) {
  const struct attn_model_config *c = &m->network->config;
  const struct attn_training_history *h = &m->history;
  int reads_images = c->kind == ATTN_VISION_ENCODER_DECODER;
  attn_status status =
      attn_descriptor_expect(info, sizeof *info, offsetof(attn_model_info, d_model), "info", err);
  if (status) return status;
  const attn_model_info all = {.struct_size = sizeof all,
                               .config = m->config,
                               .parameter_count = m->network->parameter_count,
                               .vocab_size = c->vocab_size,
                               .max_positions = c->max_positions,
                               .encoder_layers = (int32_t)c->encoder_layers,
                               .decoder_layers = (int32_t)c->decoder_layers,
                               .num_heads = (int32_t)c->num_heads,
                               .d_model = c->d_model,
                               .kind = attn_model_kind_name(c->kind),
                               .tokenizer = attn_tokenizer_kind_name(m->tokenizer),
                               .ffn_dim = c->ffn_dim,
                               .num_kv_heads = (int32_t)c->num_kv_heads,
                               .has_training = h->task || h->data,
                               .task = h->task,
                               .data = h->data,
                               .precision = h->is_bf16 ? "bf16" : "float32",
                               .step = h->step,
                               .validation_step = h->validation_step,
                               .validation_max_examples = h->validation_max_examples,
                               .validation_exact_match = h->validation_step ? h->exact_match : NAN,
                               .validation_loss = h->validation_step ? h->loss : NAN,
                               .image_size = (int32_t)(reads_images ? c->image_size : 0),
                               .grid_size = (int32_t)(reads_images ? attn_model_grid_size(c) : 0),
                               .decoder_type = attn_decoder_type_name(c->decoder_type),
                               .alignment = attn_model_alignment_name(c->alignment)};
  attn_descriptor_fill(info, &all, sizeof all);
  return ATTN_OK;
}

/* ---- Tokens of a text ---- */

attn_status attn_model_tokenize(const struct attn_model *m, const char *text, const char *what,
                                int32_t **tokens, int64_t *count, attn_error *err) {
  size_t capacity = strlen(text), used;
  int32_t *ids = malloc((capacity + 1) * sizeof *ids);
  if (!ids) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu tokens", capacity);
  attn_status status =
      attn_tokenizer_encode(m->tokenizer, text, capacity, ids, capacity, &used, err);
  if (!status && (int64_t)used >= m->network->config.max_positions)
    status = attn_fail(err, ATTN_ERR_ARGUMENT, what,
                       "the text has %zu tokens; at most %lld and the end token fit into "
                       "max_positions",
                       used, (long long)m->network->config.max_positions - 1);
  if (status) return free(ids), status;
  *tokens = ids, *count = (int64_t)used;
  return ATTN_OK;
}

/* The number of tokens kept, so that `special` more fit. */
static int64_t truncated_length(const struct attn_model *m, int64_t count, int64_t special) {
  int64_t max = m->sentence.max_tokens;
  return max && count + special > max ? max - special : count;
}

attn_status attn_model_tokenize_source(const struct attn_model *m, const char *text,
                                       const char *what, int32_t **tokens, int64_t *count,
                                       attn_error *err) {
  int32_t bos = m->generation.source_bos, eos = m->generation.source_eos;
  size_t capacity = strlen(text), used = 0;
  int32_t *ids = malloc((capacity + 2) * sizeof *ids), first = bos >= 0,
          special = first + (eos >= 0);
  if (!ids) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu tokens", capacity);
  attn_status status =
      attn_tokenizer_encode(m->tokenizer, text, capacity, ids + first, capacity, &used, err);
  int64_t kept = truncated_length(m, (int64_t)used, special);
  if (!status && kept + special > m->network->config.max_positions)
    status =
        attn_fail(err, ATTN_ERR_ARGUMENT, what, "the text has %lld tokens; max_positions is %lld",
                  (long long)(kept + special), (long long)m->network->config.max_positions);
  if (status) return free(ids), status;
  if (bos >= 0) ids[0] = bos;
  if (eos >= 0) ids[first + kept] = eos;
  *tokens = ids, *count = kept + special;
  return ATTN_OK;
}

attn_status attn_model_find_unknown(const attn_model *m, const char *text, int64_t capacity,
                                    attn_unknown_span *spans, int64_t *count, attn_error *err) {
  struct attn_unknown_range *all;
  size_t found, at = 0;
  int64_t character = 1;
  *count = 0;
  if (capacity < 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "capacity", "capacity must be at least 0, got %lld",
                     (long long)capacity);
  attn_status status =
      capacity ? attn_descriptor_expect(spans, sizeof *spans, sizeof *spans, "spans", err)
               : ATTN_OK;
  if (!status)
    status = attn_tokenizer_find_unknown(m->tokenizer, text, strlen(text), &all, &found, err);
  if (status) return status;
  size_t stride = capacity ? spans->struct_size : 0;
  for (size_t n = 0; n < found && (int64_t)n < capacity; n++) {
    for (; at < all[n].at; at++) character += (text[at] & 0xC0) != 0x80;
    const attn_unknown_span span = {stride, (int64_t)all[n].at, (int64_t)all[n].bytes, character};
    char *to = (char *)spans + n * stride;
    memcpy(to, &stride, sizeof stride);
    attn_descriptor_fill(to, &span, sizeof span);
  }
  *count = (int64_t)found;
  free(all);
  return ATTN_OK;
}
