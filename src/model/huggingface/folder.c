/* folder.c -- [huggingface/transformers: save_pretrained;
 * UKPLab/sentence-transformers: models/{Transformer,Pooling,Normalize}.py] */
#include "folder.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json_text.h"
#include "error.h"
#include "file.h"
#include "huggingface.h"

enum { MAX_JSON_BYTES = 1 << 20, MAX_CONFIG_BYTES = 1 << 24, SHOWN = 60 };

int attn_is_folder(const char *path) {
  struct stat info;
  return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a model");
}

attn_status attn_folder_join(const char *folder, const char *name, char **path, attn_error *err) {
  size_t bytes = strlen(folder) + strlen(name) + 2;
  if (!(*path = malloc(bytes))) return out_of_memory(err);
  snprintf(*path, bytes, "%s/%s", folder, name);
  return ATTN_OK;
}

attn_status attn_folder_find(const char *folder, const char *name, char **path, attn_error *err) {
  struct stat info;
  attn_status status = attn_folder_join(folder, name, path, err);
  if (!status && stat(*path, &info)) free(*path), *path = NULL;
  return status;
}

attn_status attn_folder_text(const char *folder, const char *name, size_t max, char **text,
                             size_t *size, attn_error *err) {
  char *path;
  *text = NULL;
  attn_status status = attn_folder_join(folder, name, &path, err);
  if (!status) status = attn_file_read(path, max, NULL, text, size, err);
  free(path);
  return status;
}

attn_status attn_folder_json(const char *folder, const char *name, size_t flags, json_t **root,
                             attn_error *err) {
  char *path, *text = NULL;
  size_t size;
  *root = NULL;
  attn_status status = attn_folder_find(folder, name, &path, err);
  if (path) status = attn_folder_text(folder, name, MAX_JSON_BYTES, &text, &size, err);
  if (text) status = attn_json_read(name, text, size, flags, root, err);
  free(path), free(text);
  return status;
}

/* ---- Sentence embeddings ---- */

static int is_set(const json_t *object, const char *name) {
  return json_is_true(json_object_get(object, name));
}

/* Exactly one of the two supported poolings. */
static attn_status read_pooling(const char *folder, const char *part,
                                struct attn_sentence_config *s, attn_error *err) {
  static const char *const others[] = {
      "pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
      "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"};
  json_t *root = NULL;
  char *path;
  attn_status status = attn_folder_join(folder, part, &path, err);
  if (!status) status = attn_folder_json(path, "config.json", 0, &root, err);
  free(path);
  if (status) return status;
  int mean = is_set(root, "pooling_mode_mean_tokens"),
      first = is_set(root, "pooling_mode_cls_token");
  int valid = mean != first;
  for (size_t n = 0; n < sizeof others / sizeof *others; n++) valid &= !is_set(root, others[n]);
  json_decref(root);
  s->pooling = first ? ATTN_POOLING_CLS : ATTN_POOLING_MEAN;
  if (valid) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "%.*s/config.json: exactly one of pooling_mode_mean_tokens and "
                   "pooling_mode_cls_token must be "
                   "true, and no other pooling mode",
                   SHOWN, part);
}

static attn_status read_module(const char *folder, const json_t *module,
                               struct attn_sentence_config *s, attn_error *err) {
  const char *type = json_string_value(json_object_get(module, "type"));
  const char *part = json_string_value(json_object_get(module, "path"));
  const char *name = type && strrchr(type, '.') ? strrchr(type, '.') + 1 : "";
  if (!strcmp(name, "Transformer") && part && !*part) return ATTN_OK;
  if (!strcmp(name, "Pooling") && part && !s->pooling) return read_pooling(folder, part, s, err);
  if (!strcmp(name, "Normalize")) return s->normalize = ATTN_NORMALIZE_L2, ATTN_OK;
  return attn_fail(
      err, ATTN_ERR_FORMAT, NULL,
      "modules.json: module %.*s is not supported; expected a Transformer in the folder itself, a "
      "Pooling and a Normalize",
      SHOWN, type ? type : "without a type");
}

static attn_status read_modules(const char *folder, struct attn_sentence_config *s,
                                attn_error *err) {
  json_t *root;
  attn_status status = attn_folder_json(folder, "modules.json", 0, &root, err);
  if (status || !root) return status;
  s->normalize = ATTN_NORMALIZE_NONE;
  if (!json_is_array(root))
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL, "modules.json: expected an array");
  for (size_t n = 0; n < json_array_size(root) && !status; n++)
    status = read_module(folder, json_array_get(root, n), s, err);
  if (!status && !s->pooling)
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL, "modules.json: no Pooling module");
  json_decref(root);
  return status;
}

/* max_seq_length has precedence over the tokenizer's truncation, as in sentence-transformers. */
static attn_status read_length(const char *folder, struct attn_sentence_config *s,
                               attn_error *err) {
  json_t *root;
  attn_status status = attn_folder_json(folder, "sentence_bert_config.json", 0, &root, err);
  if (status || !root) return status;
  const json_t *max_length = json_object_get(root, "max_seq_length");
  if (json_is_integer(max_length)) s->max_tokens = json_integer_value(max_length);
  if (is_set(root, "do_lower_case"))
    status =
        attn_fail(err, ATTN_ERR_FORMAT, NULL,
                  "sentence_bert_config.json: \"do_lower_case\" is not supported; the tokenizer's "
                  "normalizer can lowercase");
  else if (max_length && !json_is_null(max_length) && s->max_tokens < 3)
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "sentence_bert_config.json: \"max_seq_length\" must be at least 3");
  json_decref(root);
  return status;
}

static attn_status read_sentence(const char *folder, struct attn_model *m, attn_error *err) {
  struct attn_sentence_config *s = &m->sentence;
  int64_t length = m->network->config.max_positions;
  s->max_tokens = attn_tokenizer_max_length(m->tokenizer);
  attn_status status = read_length(folder, s, err);
  if (!status) status = read_modules(folder, s, err);
  if (s->max_tokens > length) s->max_tokens = length;
  return status;
}

/* ---- The model ---- */

static attn_status check_vocab_size(const struct attn_model *m, attn_error *err) {
  int64_t count = attn_tokenizer_vocab_size(m->tokenizer), rows = m->network->config.vocab_size;
  if (count <= rows) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "tokenizer.json: %lld tokens, but the model has embeddings for %lld",
                   (long long)count, (long long)rows);
}

/* From generation_config.json, or if it does not exist config.json. */
static attn_status read_generation_config(const char *folder,
                                          const struct attn_model_config *config,
                                          struct attn_generation_defaults *g, attn_error *err) {
  const char *name = "generation_config.json";
  char *path, *text = NULL;
  size_t size;
  attn_status status = attn_folder_find(folder, name, &path, err);
  if (!path) name = "config.json";
  if (!status) status = attn_folder_text(folder, name, MAX_JSON_BYTES, &text, &size, err);
  if (!status) status = attn_generation_defaults_read(text, size, name, config, g, err);
  free(path), free(text);
  return status;
}

/* The token that ends an encoder-decoder's source, as in Marian: that of the model, also where
 * generation_config.json has none and generation ends at its length alone. */
static attn_status read_source_eos(const char *folder, const struct attn_model_config *config,
                                   const struct attn_generation_defaults *g, int32_t *eos,
                                   attn_error *err) {
  json_t *root;
  *eos = g->search.eos;
  if (g->search.eos >= 0) return ATTN_OK;
  attn_status status = attn_folder_json(folder, "config.json", 0, &root, err);
  const json_t *token = status ? NULL : json_object_get(root, "eos_token_id");
  if (json_array_size(token) == 1) token = json_array_get(token, 0);
  json_int_t id = json_integer_value(token);
  if (json_is_integer(token) && id >= 0 && id < config->vocab_size) *eos = (int32_t)id;
  json_decref(root);
  return status;
}

/* A prompt may have a token before it and none after it. */
static attn_status set_special_tokens(const char *folder, const struct attn_model_config *config,
                                      struct attn_generation_defaults *g, attn_error *err) {
  int is_prompt = config->kind == ATTN_DECODER;
  int32_t eos = -1;
  if (is_prompt && g->source_bos >= 0) g->search.bos = g->source_bos;
  if (is_prompt && g->source_eos >= 0)
    return attn_fail(
        err, ATTN_ERR_FORMAT, NULL,
        "tokenizer.json: post_processor must not append a token to a decoder's prompt");
  if (config->kind != ATTN_ENCODER_DECODER) return ATTN_OK;
  attn_status status = read_source_eos(folder, config, g, &eos, err);
  if (!status && g->source_eos >= 0 && g->source_eos != eos)
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "tokenizer.json: post_processor must end a source with eos_token_id, %d",
                       (int)eos);
  if (!status) g->source_eos = eos;
  return status;
}

static attn_status read_defaults(const char *folder, const struct attn_model_config *config,
                                 struct attn_model *m, attn_error *err) {
  struct attn_generation_defaults *g = &m->generation;
  g->search.bos = g->search.eos = g->empty_prompt = g->pad = -1;
  int is_wordpiece = attn_tokenizer_kind(m->tokenizer) == ATTN_TOKENIZER_WORDPIECE;
  int no_bos = !is_wordpiece && config->kind == ATTN_ENCODER; /* an encoder trained by attn */
  g->source_bos = no_bos ? -1 : attn_tokenizer_special_token(m->tokenizer, ATTN_TOKEN_BOS);
  g->source_eos = attn_tokenizer_special_token(m->tokenizer, ATTN_TOKEN_EOS);
  if (config->kind == ATTN_ENCODER) return ATTN_OK;
  attn_status status = read_generation_config(folder, config, g, err);
  return status ? status : set_special_tokens(folder, config, g, err);
}

/* Small files before large ones. */
static attn_status read_files(const char *folder, const char *weights, struct attn_model *m,
                              attn_error *err) {
  const struct attn_hf_family *family;
  struct attn_model_config config;
  char *text;
  size_t size;
  attn_status status = attn_folder_text(folder, "config.json", MAX_CONFIG_BYTES, &text, &size, err);
  if (!status) status = attn_hf_config_parse(text, size, &config, &family, err);
  free(text);
  if (!status) status = attn_folder_read_tokenizer(folder, &config, &m->tokenizer, err);
  if (!status) status = read_defaults(folder, &config, m, err);
  if (!status) status = attn_hf_model_load(weights, family, &config, &m->network, &m->weights, err);
  m->is_huggingface = 1;
  if (!status) status = check_vocab_size(m, err);
  if (!status && !(m->config = attn_model_config_write(&m->network->config)))
    status = out_of_memory(err);
  return status;
}

attn_status attn_folder_read(const char *folder, struct attn_model *m, attn_error *err) {
  char *weights;
  attn_status status = attn_folder_join(folder, "model.safetensors", &weights, err);
  if (!status) status = read_files(folder, weights, m, err);
  if (!status) status = read_sentence(folder, m, err);
  free(weights);
  return status;
}
