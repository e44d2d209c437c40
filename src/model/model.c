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

/* The words before the network: it takes more memory. */
static attn_status read_words(struct attn_model *m, const struct attn_safetensors *file,
                              struct attn_config *config, attn_error *err) {
  const char *text = attn_safetensors_metadata(file, "config");
  const char *words = attn_safetensors_metadata(file, "tokenizer");
  if (!text || !words)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "checkpoint: there is no \"%s\" in its metadata: not one of attn's",
                     text ? "tokenizer" : "config");
  attn_status status = attn_config_parse(text, strlen(text), config, err);
  if (!status) m->generating = attn_generating_own(config);
  if (!status) status = attn_tokenizer_parse(words, strlen(words), &m->tokenizer, err);
  if (!status) status = attn_tokenizer_check_special_tokens(m->tokenizer, err);
  if (!status && !(m->config = strdup(text)))
    status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a configuration");
  if (!status) status = attn_history_read(file, &m->history, err);
  int64_t count = status ? 0 : attn_tokenizer_vocab_size(m->tokenizer);
  if (!status && (config->target_words != count ||
                  (config->kind != ATTN_DECODER && config->source_words != count)))
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "checkpoint: the tokenizer has %lld words, the model %lld and %lld",
                       (long long)count, (long long)config->source_words,
                       (long long)config->target_words);
  return status;
}

/* What no layer takes would be left out without a word: a configuration that is not the file's. The
 * optimizer's numbers are not the model's. */
static attn_status check_count(const struct attn_safetensors *file, const struct attn_network *n,
                               attn_error *err) {
  size_t weights = 0;
  for (size_t k = 0; k < file->entries; k++) weights += !!strncmp(file->entry[k].name, "adamw.", 6);
  if (weights == (size_t)n->count) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "checkpoint: %zu weights by name, but its configuration has %d", weights,
                   n->count);
}

static attn_status read_model(const struct attn_bytes *bytes, struct attn_model *m,
                              attn_error *err) {
  struct attn_safetensors file = {NULL, NULL, 0};
  struct attn_config config;
  attn_status status = attn_safetensors_open(bytes, &file, err);
  if (!status) status = read_words(m, &file, &config, err);
  if (!status)
    status = attn_weights_check_size("checkpoint", bytes->size, sizeof *m->weights, &config, err);
  if (!status) status = attn_network_make(&config, &m->network, &m->weights, err);
  if (!status) status = attn_weights_read(bytes, &file, m->network, "", m->weights, err);
  if (!status) status = check_count(&file, m->network, err);
  attn_safetensors_close(&file);
  return status;
}

static attn_status read_checkpoint(const char *path, struct attn_model *m, attn_error *err) {
  struct attn_bytes bytes;
  attn_status status = attn_bytes_open(&bytes, path, err);
  if (status) return status;
  status = read_model(&bytes, m, err);
  attn_bytes_close(&bytes);
  return status;
}

/* Its header says so; a damaged one is opened, and says what is wrong with it. */
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

int32_t attn_model_recognize(const char *path) {
  return attn_folder_is(path) || is_checkpoint(path);
}

attn_status attn_model_open(const char *path, attn_model **model, attn_error *err) {
  *model = NULL;
  struct attn_model *m = calloc(1, sizeof *m);
  if (!m) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a model");
  attn_status status =
      attn_folder_is(path) ? attn_folder_read(path, m, err) : read_checkpoint(path, m, err);
  if (status) return attn_model_free(m), status;
  *model = m;
  return ATTN_OK;
}

void attn_model_free(attn_model *m) {
  if (!m) return;
  attn_pack_free(m->pack[0]), attn_pack_free(m->pack[1]);
  attn_network_free(m->network), attn_tokenizer_free(m->tokenizer);
  attn_history_free(&m->history);
  free(m->generating.never), free(m->weights), free(m->config), free(m);
}

/* Of two threads that make one, one keeps its own. */
attn_status attn_model_pack(const struct attn_model *model, int half, const struct attn_pack **pack,
                            attn_error *err) {
  struct attn_model *m = (struct attn_model *)(uintptr_t)model;
  struct attn_pack *made = atomic_load(&m->pack[half]), *other = NULL;
  if (!made) {
    attn_status status = attn_pack_new(m->network, half, ATTN_PACK_WORTH, &made, err);
    if (status) return status;
    if (!atomic_compare_exchange_strong(&m->pack[half], &other, made))
      attn_pack_free(made), made = other;
  }
  *pack = made;
  return ATTN_OK;
}

attn_status attn_model_describe(const attn_model *m, attn_model_facts *facts, attn_error *err) {
  const struct attn_config *c = &m->network->config;
  const struct attn_history *h = &m->history;
  attn_status status =
      attn_descriptor_expect(facts, sizeof *facts, offsetof(attn_model_facts, width), "facts", err);
  if (status) return status;
  const attn_model_facts all = {.struct_size = sizeof all,
                                .config = m->config,
                                .weights = m->network->numbers,
                                .words = c->target_words,
                                .length = c->length,
                                .encoder_layers = (int32_t)c->encoder_layers,
                                .decoder_layers = (int32_t)c->decoder_layers,
                                .heads = (int32_t)c->heads,
                                .width = c->width,
                                .kind = attn_config_kind_name(c->kind),
                                .tokenizer = attn_tokenizer_kind_name(m->tokenizer),
                                .hidden = c->hidden,
                                .kv_heads = (int32_t)c->kv_heads,
                                .training = h->task || h->data,
                                .task = h->task,
                                .data = h->data,
                                .precision = h->halves ? "bf16" : "float32",
                                .step = h->step,
                                .held_out_step = h->held_out_step,
                                .held_out_most = h->held_out_most,
                                .held_out_exact = h->held_out_step ? h->exact : NAN,
                                .held_out_loss = h->held_out_step ? h->loss : NAN};
  attn_descriptor_fill(facts, &all, sizeof all);
  return ATTN_OK;
}

attn_status attn_model_encode(const struct attn_model *m, const char *text, const char *what,
                              int32_t **tokens, int64_t *count, attn_error *err) {
  size_t room = strlen(text), used;
  int32_t *ids = malloc((room + 1) * sizeof *ids);
  if (!ids) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu tokens", room);
  attn_status status = attn_tokenizer_encode(m->tokenizer, text, room, ids, room, &used, err);
  if (!status && (int64_t)used >= m->network->config.length)
    status = attn_fail(err, ATTN_ERR_ARGUMENT, what,
                       "a text of %zu tokens; the model has positions for %lld and the end", used,
                       (long long)m->network->config.length - 1);
  if (status) return free(ids), status;
  *tokens = ids, *count = (int64_t)used;
  return ATTN_OK;
}

attn_status attn_model_unknown(const attn_model *m, const char *text, int64_t room,
                               attn_unknown_part *parts, int64_t *count, attn_error *err) {
  struct attn_unknown_range *all;
  size_t found, at = 0;
  int64_t column = 1;
  *count = 0;
  if (room < 0) return attn_fail(err, ATTN_ERR_ARGUMENT, "room", "room is negative");
  attn_status status =
      attn_tokenizer_find_unknown(m->tokenizer, text, strlen(text), &all, &found, err);
  if (status) return status;
  for (size_t n = 0; n < found && (int64_t)n < room; n++) {
    for (; at < all[n].at; at++) column += (text[at] & 0xC0) != 0x80;
    parts[n] = (attn_unknown_part){(int64_t)all[n].at, (int64_t)all[n].bytes, column};
  }
  *count = (int64_t)found;
  free(all);
  return ATTN_OK;
}

/* Without what is cut off; the place of the end is kept free. */
static int64_t cut(const struct attn_model *m, int64_t count, int64_t around) {
  int64_t most = m->sentence.most;
  return most && count + around > most ? most - around : count;
}

attn_status attn_model_encode_whole(const struct attn_model *m, const char *text, const char *what,
                                    int32_t **tokens, int64_t *count, attn_error *err) {
  int32_t begin = m->generating.before, end = m->generating.behind;
  size_t room = strlen(text), used = 0;
  int32_t *ids = malloc((room + 2) * sizeof *ids), first = begin >= 0, around = first + (end >= 0);
  if (!ids) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu tokens", room);
  attn_status status =
      attn_tokenizer_encode(m->tokenizer, text, room, ids + first, room, &used, err);
  int64_t kept = cut(m, (int64_t)used, around), length = m->network->config.length;
  if (!status && kept + around > length)
    status = attn_fail(err, ATTN_ERR_ARGUMENT, what,
                       "a text of %lld tokens; the model has positions for %lld",
                       (long long)(kept + around), (long long)length);
  if (status) return free(ids), status;
  if (begin >= 0) ids[0] = begin;
  if (end >= 0) ids[first + kept] = end;
  *tokens = ids, *count = kept + around;
  return ATTN_OK;
}
