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
#include "foreign.h"

enum { JSON_MOST = 1 << 20, SHOWN = 60 };

int attn_folder_is(const char *path) {
  struct stat info;
  return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a model");
}

/* folder/name or folder/part/name, to be freed. */
attn_status attn_folder_join(const char *folder, const char *part, const char *name, char **path,
                             attn_error *err) {
  size_t bytes = strlen(folder) + strlen(part) + strlen(name) + 3;
  if (!(*path = malloc(bytes))) return out_of_memory(err);
  snprintf(*path, bytes, "%s/%s%s%s", folder, part, *part ? "/" : "", name);
  return ATTN_OK;
}

/* ---- Small files of JSON ---- */

static attn_status parse(const char *path, const char *name, size_t flags, json_t **root,
                         attn_error *err) {
  char *text;
  size_t size;
  attn_status status = attn_file_read(path, JSON_MOST, NULL, &text, &size, err);
  if (!status) status = attn_json_read(name, text, size, flags, root, err);
  free(text);
  return status;
}

attn_status attn_folder_json(const char *folder, const char *part, const char *name, size_t flags,
                             json_t **root, attn_error *err) {
  struct stat info;
  char *path;
  *root = NULL;
  attn_status status = attn_folder_join(folder, part, name, &path, err);
  if (status) return status;
  if (!stat(path, &info)) status = parse(path, name, flags, root, err);
  free(path);
  return status;
}

/* ---- A text's one vector ---- */

static int is_set(const json_t *object, const char *name) {
  return json_is_true(json_object_get(object, name));
}

/* One of the two that are done here, and nothing with it. */
static attn_status read_pooling(const char *folder, const char *part, struct attn_sentence *s,
                                attn_error *err) {
  static const char *const others[] = {
      "pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
      "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"};
  json_t *root;
  attn_status status = attn_folder_json(folder, part, "config.json", 0, &root, err);
  if (status) return status;
  int mean = is_set(root, "pooling_mode_mean_tokens"),
      first = is_set(root, "pooling_mode_cls_token");
  int sound = mean != first;
  for (size_t n = 0; n < sizeof others / sizeof *others; n++) sound &= !is_set(root, others[n]);
  json_decref(root);
  s->pooling = first ? ATTN_POOLING_FIRST : ATTN_POOLING_MEAN;
  if (sound) return ATTN_OK;
  return attn_fail(
      err, ATTN_ERR_FORMAT, NULL,
      "%.*s/config.json: of the ways of pooling exactly one must be chosen, and it must "
      "be pooling_mode_mean_tokens or pooling_mode_cls_token",
      SHOWN, part);
}

static attn_status read_module(const char *folder, const json_t *module, struct attn_sentence *s,
                               attn_error *err) {
  const char *type = json_string_value(json_object_get(module, "type"));
  const char *part = json_string_value(json_object_get(module, "path"));
  const char *name = type && strrchr(type, '.') ? strrchr(type, '.') + 1 : "";
  if (!strcmp(name, "Transformer") && part && !*part) return ATTN_OK;
  if (!strcmp(name, "Pooling") && part && !s->pooling) return read_pooling(folder, part, s, err);
  if (!strcmp(name, "Normalize")) return s->norm = ATTN_NORM_UNIT, ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "modules.json: %.*s is not done here; a Transformer in the folder itself, a "
                   "Pooling and a Normalize are",
                   SHOWN, type ? type : "what has no type");
}

static attn_status read_modules(const char *folder, struct attn_sentence *s, attn_error *err) {
  json_t *root;
  attn_status status = attn_folder_json(folder, "", "modules.json", 0, &root, err);
  if (status || !root) return status;
  s->norm = ATTN_NORM_NONE;
  if (!json_is_array(root))
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL, "modules.json: it is no list");
  for (size_t n = 0; n < json_array_size(root) && !status; n++)
    status = read_module(folder, json_array_get(root, n), s, err);
  if (!status && !s->pooling)
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL, "modules.json: there is no Pooling");
  json_decref(root);
  return status;
}

/* How long a text may be is said here before what the tokenizer says, as it is there. */
static attn_status read_length(const char *folder, struct attn_sentence *s, attn_error *err) {
  json_t *root;
  attn_status status = attn_folder_json(folder, "", "sentence_bert_config.json", 0, &root, err);
  if (status || !root) return status;
  const json_t *most = json_object_get(root, "max_seq_length");
  if (json_is_integer(most)) s->most = json_integer_value(most);
  if (is_set(root, "do_lower_case"))
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "sentence_bert_config.json: \"do_lower_case\" is not done here; the "
                       "tokenizer's normalizer may do it");
  else if (most && !json_is_null(most) && s->most < 3)
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "sentence_bert_config.json: \"max_seq_length\" must be 3 or more");
  json_decref(root);
  return status;
}

static attn_status read_sentence(const char *folder, struct attn_model *m, attn_error *err) {
  struct attn_sentence *s = &m->sentence;
  int64_t length = m->network->config.length;
  s->most = attn_tokenizer_max_length(m->tokenizer);
  attn_status status = read_length(folder, s, err);
  if (!status) status = read_modules(folder, s, err);
  if (s->most > length) s->most = length;
  return status;
}

/* ---- The model ---- */

static attn_status check_words(const struct attn_model *m, attn_error *err) {
  int64_t count = attn_tokenizer_vocab_size(m->tokenizer), rows = m->network->config.target_words;
  if (count <= rows) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "tokenizer.json: it has %lld words, the model vectors for %lld",
                   (long long)count, (long long)rows);
}

/* generation_config.json, or where there is none config.json, says how a model generates. */
static attn_status read_generating(const char *folder, const char *config_path,
                                   const struct attn_config *config, struct attn_generating *g,
                                   attn_error *err) {
  static const char own[] = "generation_config.json", older[] = "config.json";
  struct stat info;
  char *path, *text = NULL;
  size_t size;
  attn_status status = attn_folder_join(folder, "", own, &path, err);
  if (status) return status;
  int has = !stat(path, &info);
  status = attn_file_read(has ? path : config_path, JSON_MOST, NULL, &text, &size, err);
  if (!status) status = attn_generating_read(text, size, has ? own : older, config, g, err);
  free(path), free(text);
  return status;
}

/* A source ends in what ends a reply, as Marian's do there; a text to go on from may have something
 * before it and nothing behind it. */
static attn_status frame(struct attn_generating *g, const struct attn_config *config,
                         attn_error *err) {
  int goes_on = config->kind == ATTN_DECODER;
  if (goes_on && g->before >= 0) g->begin = g->before;
  if (goes_on && g->behind >= 0)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "tokenizer.json: post_processor: it ends a text that is to go on; take the "
                     "token behind it out");
  if (config->kind != ATTN_ENCODER_DECODER) return ATTN_OK;
  if (g->behind >= 0 && g->behind != g->end)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "tokenizer.json: post_processor: it ends a source with another token than "
                     "eos_token_id, %d",
                     (int)g->end);
  g->behind = g->end;
  return ATTN_OK;
}

static attn_status read_manners(const char *folder, const char *config_path,
                                const struct attn_config *config, struct attn_model *m,
                                attn_error *err) {
  struct attn_generating *g = &m->generating;
  g->begin = g->end = g->empty = g->pad = -1;
  int own = attn_tokenizer_kind(m->tokenizer) != ATTN_TOKENIZER_WORDPIECE;
  int bare = own && config->kind == ATTN_ENCODER; /* ours begins no text */
  g->before = bare ? -1 : attn_tokenizer_special_token(m->tokenizer, ATTN_TOKEN_BOS);
  g->behind = attn_tokenizer_special_token(m->tokenizer, ATTN_TOKEN_EOS);
  if (config->kind == ATTN_ENCODER) return ATTN_OK;
  attn_status status = read_generating(folder, config_path, config, g, err);
  return status ? status : frame(g, config, err);
}

/* What is small is read before what is large. */
static attn_status read_files(const char *folder, const char *config_path, const char *weights,
                              struct attn_model *m, attn_error *err) {
  const struct attn_family *family;
  struct attn_config config;
  attn_status status = attn_foreign_read_config(config_path, &config, &family, err);
  if (!status) status = attn_folder_words(folder, &config, &m->tokenizer, err);
  if (!status) status = read_manners(folder, config_path, &config, m, err);
  if (!status)
    status = attn_foreign_load(config_path, weights, &family, &m->network, &m->weights, err);
  m->foreign = 1;
  if (!status) status = check_words(m, err);
  if (!status && !(m->config = attn_config_write(&m->network->config))) status = out_of_memory(err);
  return status;
}

attn_status attn_folder_read(const char *folder, struct attn_model *m, attn_error *err) {
  char *config = NULL, *weights = NULL;
  attn_status status = attn_folder_join(folder, "", "config.json", &config, err);
  if (!status) status = attn_folder_join(folder, "", "model.safetensors", &weights, err);
  if (!status) status = read_files(folder, config, weights, m, err);
  if (!status) status = read_sentence(folder, m, err);
  free(config), free(weights);
  return status;
}
