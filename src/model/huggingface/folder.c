/* folder.c -- [huggingface/transformers: save_pretrained, models/gpt2/tokenization_gpt2.py,
 * models/marian/tokenization_marian.py;
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

enum {
  MAX_JSON_BYTES = 1 << 20,
  MAX_CONFIG_BYTES = 1 << 24,
  MAX_FILE_BYTES = 64 << 20,
  SHOWN = 60
};

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

/* As attn_folder_join; *path NULL: there is no such file. */
static attn_status find_file(const char *folder, const char *name, char **path, attn_error *err) {
  struct stat info;
  attn_status status = attn_folder_join(folder, name, path, err);
  if (!status && stat(*path, &info)) free(*path), *path = NULL;
  return status;
}

/* The text of a file of at most max bytes; the caller frees it. */
static attn_status read_text(const char *folder, const char *name, size_t max, char **text,
                             size_t *size, attn_error *err) {
  char *path;
  *text = NULL;
  attn_status status = attn_folder_join(folder, name, &path, err);
  if (!status) status = attn_file_read(path, max, NULL, text, size, err);
  free(path);
  return status;
}

/* A small JSON file, read with jansson's flags. *root NULL: the file does not exist. */
static attn_status read_json(const char *folder, const char *name, size_t flags, json_t **root,
                             attn_error *err) {
  char *path, *text = NULL;
  size_t size;
  *root = NULL;
  attn_status status = find_file(folder, name, &path, err);
  if (path) status = read_text(folder, name, MAX_JSON_BYTES, &text, &size, err);
  if (text) status = attn_json_read(name, text, size, flags, root, err);
  free(path), free(text);
  return status;
}

static int has(const char *folder, const char *name) {
  char *path;
  find_file(folder, name, &path, NULL);
  int found = path != NULL;
  free(path);
  return found;
}

/* ---- The vocabulary: GPT-2's vocab.json and merges.txt ---- */

/* One merge per line, after a line with the version. */
static attn_status read_merges(const char *text, size_t size, json_t *merges, attn_error *err) {
  int64_t number = 1;
  for (const char *line = text, *end = text + size, *next; line < end; line = next, number++) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    size_t bytes = (size_t)((newline ? newline : end) - line);
    next = newline ? newline + 1 : end;
    if (bytes && line[bytes - 1] == '\r') bytes--;
    if (!bytes || (number == 1 && bytes > 7 && !memcmp(line, "#version", 8))) continue;
    if (json_array_append_new(merges, json_stringn(line, bytes)))
      return attn_fail_at(err, ATTN_ERR_FORMAT, number, 1, "merges.txt: not UTF-8");
  }
  return ATTN_OK;
}

/* The equivalent tokenizer.json, with the special token <|endoftext|>. */
static json_t *tokenizer_of(json_t *vocab, json_t *merges) {
  static const char end[] = "<|endoftext|>";
  json_t *id = json_object_get(vocab, end);
  json_t *added =
      id ? json_pack("[{s:O, s:s, s:b}]", "id", id, "content", end, "special", 1) : json_array();
  return json_pack("{s:s, s:o, s:{s:s, s:b}, s:{s:s}, s:{s:s, s:O, s:O}}", "version", "1.0",
                   "added_tokens", added, "pre_tokenizer", "type", "ByteLevel", "add_prefix_space",
                   0, "decoder", "type", "ByteLevel", "model", "type", "BPE", "vocab", vocab,
                   "merges", merges);
}

static attn_status parse_pairs(json_t *vocab, json_t *merges, struct attn_tokenizer **tokenizer,
                               attn_error *err) {
  json_t *root = tokenizer_of(vocab, merges);
  char *text = attn_json_finish(root, !root, JSON_COMPACT);
  if (!text) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a vocabulary");
  attn_status status = attn_tokenizer_parse_pretrained(text, strlen(text), tokenizer, err);
  free(text);
  return status;
}

static attn_status read_pairs(const char *folder, struct attn_tokenizer **tokenizer,
                              attn_error *err) {
  char *words = NULL, *text = NULL;
  size_t bytes, more;
  json_t *vocab = NULL, *merges = json_array();
  attn_status status =
      merges ? ATTN_OK : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a vocabulary");
  if (!status) status = read_text(folder, "vocab.json", MAX_FILE_BYTES, &words, &bytes, err);
  if (!status) status = read_text(folder, "merges.txt", MAX_FILE_BYTES, &text, &more, err);
  if (!status) status = attn_json_read("vocab.json", words, bytes, 0, &vocab, err);
  if (!status) status = read_merges(text, more, merges, err);
  if (!status) status = parse_pairs(vocab, merges, tokenizer, err);
  json_decref(vocab), json_decref(merges), free(words), free(text);
  return status;
}

/* ---- The vocabulary: which files ---- */

/* transformers applies these over tokenizer.json. model_max_length may be 10^30. */
static attn_status check_settings(const char *folder, attn_error *err) {
  static const char *const names[] = {"add_prefix_space", "add_bos_token", "add_eos_token"};
  json_t *root;
  attn_status status =
      read_json(folder, "tokenizer_config.json", JSON_DECODE_INT_AS_REAL, &root, err);
  for (size_t n = 0; n < sizeof names / sizeof *names && !status; n++)
    if (json_is_true(json_object_get(root, names[n])))
      status =
          attn_fail(err, ATTN_ERR_FORMAT, NULL,
                    "tokenizer_config.json: \"%s\" is true; only false is supported", names[n]);
  json_decref(root);
  return status;
}

static attn_status read_document(const char *folder, int any_special_tokens,
                                 struct attn_tokenizer **tokenizer, attn_error *err) {
  char *text = NULL;
  size_t size;
  attn_status status = read_text(folder, "tokenizer.json", MAX_FILE_BYTES, &text, &size, err);
  if (!status)
    status = (any_special_tokens ? attn_tokenizer_parse_pretrained : attn_tokenizer_parse)(
        text, size, tokenizer, err);
  free(text);
  return status;
}

static attn_status read_tokenizer(const char *folder, const struct attn_model_config *config,
                                  struct attn_tokenizer **tokenizer, attn_error *err) {
  int encodes = config->kind == ATTN_ENCODER;
  if (!encodes && !has(folder, "tokenizer.json")) {
    if (has(folder, "source.spm"))
      return attn_fail(
          err, ATTN_ERR_FORMAT, NULL,
          "source.spm: SentencePiece is not supported; add a tokenizer.json (BPE, WordLevel or "
          "WordPiece, of the tokenizers library) with the same token ids");
    if (config->kind == ATTN_DECODER && has(folder, "vocab.json")) {
      attn_status status = check_settings(folder, err);
      return status ? status : read_pairs(folder, tokenizer, err);
    }
  }
  attn_status status = encodes ? ATTN_OK : check_settings(folder, err);
  return status ? status : read_document(folder, !encodes, tokenizer, err);
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
  if (!status) status = read_json(path, "config.json", 0, &root, err);
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
  attn_status status = read_json(folder, "modules.json", 0, &root, err);
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
  attn_status status = read_json(folder, "sentence_bert_config.json", 0, &root, err);
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
  attn_status status = find_file(folder, name, &path, err);
  if (!path) name = "config.json";
  if (!status) status = read_text(folder, name, MAX_JSON_BYTES, &text, &size, err);
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
  attn_status status = read_json(folder, "config.json", 0, &root, err);
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
  attn_status status = read_text(folder, "config.json", MAX_CONFIG_BYTES, &text, &size, err);
  if (!status) status = attn_hf_config_parse(text, size, &config, &family, err);
  free(text);
  if (!status) status = read_tokenizer(folder, &config, &m->tokenizer, err);
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
