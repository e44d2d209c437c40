/* export.c -- attn_model_export: a folder for transformers' from_pretrained. */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_text.h"
#include "error.h"
#include "file.h"
#include "folder.h"
#include "huggingface.h"

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to export a model");
}

/* NULL: there is none. */
static const struct attn_hf_family *family_of(const struct attn_model *m) {
  switch (m->network->config.kind) {
    case ATTN_ENCODER:
      return attn_hf_family_find("bert");
    case ATTN_DECODER:
      return attn_hf_family_find("gpt2");
    case ATTN_ENCODER_DECODER:
      return attn_hf_family_find("marian");
    default:
      return NULL;
  }
}

/* ---- JSON files; the caller frees each text, NULL: out of memory ---- */

static int put_token(json_t *root, const char *name, int32_t id) {
  return id < 0 ? 0 : json_object_set_new(root, name, json_integer(id));
}

/* transformers needs a padding token within the vocabulary. */
static int32_t pad_of(const struct attn_generation_defaults *g) {
  return g->pad >= 0 ? g->pad : g->search.bos >= 0 ? g->search.bos : g->search.eos;
}

static char *with_tokens(const char *config, const struct attn_model *m) {
  const struct attn_generation_defaults *g = &m->generation;
  int crosses = m->network->config.kind == ATTN_ENCODER_DECODER;
  json_t *root = json_loads(config, 0, NULL);
  int failed =
      !root || put_token(root, "pad_token_id", pad_of(g)) ||
      put_token(root, "bos_token_id", g->search.bos >= 0 ? g->search.bos : g->empty_prompt) ||
      put_token(root, "eos_token_id", g->search.eos) ||
      put_token(root, "decoder_start_token_id", crosses ? g->search.bos : -1) ||
      (crosses &&
       json_object_set_new(root, "forced_eos_token_id",
                           g->search.force_eos ? json_integer(g->search.eos) : json_null()));
  return attn_json_finish(root, failed, JSON_INDENT(2) | JSON_SORT_KEYS);
}

static int put_name(json_t *root, const char *name, const struct attn_model *m, int32_t id) {
  const char *word = attn_tokenizer_token(m->tokenizer, id);
  return word ? json_object_set_new(root, name, json_string(word)) : 0;
}

static char *tokenizer_config(const struct attn_model *m) {
  const struct attn_generation_defaults *g = &m->generation;
  json_t *root = json_pack("{s:s, s:b, s:I}", "tokenizer_class", "PreTrainedTokenizerFast",
                           "clean_up_tokenization_spaces", 0, "model_max_length",
                           (json_int_t)m->network->config.max_positions);
  int failed =
      !root ||
      put_name(root, "bos_token", m, g->search.bos >= 0 ? g->search.bos : g->empty_prompt) ||
      put_name(root, "eos_token", m, g->search.eos) || put_name(root, "pad_token", m, g->pad) ||
      put_name(root, "unk_token", m, attn_tokenizer_special_token(m->tokenizer, ATTN_TOKEN_UNK));
  return attn_json_finish(root, failed, JSON_INDENT(2) | JSON_SORT_KEYS);
}

static char *tokenizer_text(const struct attn_model *m) {
  const struct attn_generation_defaults *g = &m->generation;
  int is_prompt = m->network->config.kind == ATTN_DECODER;
  return attn_tokenizer_to_json_with(m->tokenizer, is_prompt ? g->search.bos : g->source_bos,
                                     is_prompt ? -1 : g->source_eos);
}

/* ---- The folder ---- */

enum { SUFFIX_SIZE = 48 };
enum export_file { CONFIG, GENERATION, TOKENIZER, TOKENIZER_CONFIG, NUM_TEXTS };

static const char *const names[NUM_TEXTS + 1] = {"config.json", "generation_config.json",
                                                 "tokenizer.json", "tokenizer_config.json",
                                                 "model.safetensors"};

static attn_status create_texts(const struct attn_model *m, char *texts[NUM_TEXTS],
                                attn_error *err) {
  char *config = NULL;
  attn_status status = attn_hf_config_write(family_of(m), &m->network->config, &config, err);
  if (status) return status;
  texts[CONFIG] = with_tokens(config, m);
  free(config);
  texts[GENERATION] = attn_generation_defaults_write(&m->network->config, &m->generation);
  texts[TOKENIZER] = tokenizer_text(m), texts[TOKENIZER_CONFIG] = tokenizer_config(m);
  for (int n = 0; n < NUM_TEXTS; n++)
    if (!texts[n]) return out_of_memory(err);
  return ATTN_OK;
}

static attn_status write_one(const char *folder, int n, const struct attn_model *m,
                             char *const texts[NUM_TEXTS], attn_error *err) {
  char *path;
  attn_status status = attn_folder_join(folder, names[n], &path, err);
  if (status) return status;
  status = n < NUM_TEXTS ? attn_file_write(path, texts[n], strlen(texts[n]), err)
                         : attn_hf_weights_write(path, family_of(m), m->network, err);
  free(path);
  return status;
}

static void remove_all(const char *folder) {
  char *path;
  for (int n = 0; n <= NUM_TEXTS; n++)
    if (!attn_folder_join(folder, names[n], &path, NULL)) remove(path), free(path);
  rmdir(folder);
}

/* Does not exist, or is an empty folder. */
static int is_available(const char *folder) {
  struct stat info;
  int entries = 0;
  if (lstat(folder, &info)) return 1;
  DIR *d = S_ISDIR(info.st_mode) ? opendir(folder) : NULL;
  if (!d) return 0;
  while (entries < 3 && readdir(d)) entries++; /* "." and ".." */
  closedir(d);
  return entries < 3;
}

/* A new folder next to the target; skips those of other processes. */
static int make_temporary(char *temporary) {
  char *end = temporary + strlen(temporary);
  for (int n = 0; n < 1000; n++) {
    snprintf(end, SUFFIX_SIZE, ".%ld-%d.part", (long)getpid(), n);
    if (!mkdir(temporary, 0777)) return 0;
    if (errno != EEXIST) return -1;
  }
  return -1;
}

/* Writes a temporary folder and renames it, so that the folder appears complete or not at all: the
 * rename replaces an empty folder and no other. */
static attn_status write_folder(const char *folder, char *temporary, const struct attn_model *m,
                                char *const texts[NUM_TEXTS], attn_error *err) {
  if (!is_available(folder))
    return attn_fail(err, ATTN_ERR_FILE, NULL,
                     "%.300s exists already; choose a folder that does not exist", folder);
  if (make_temporary(temporary)) return attn_fail_errno(folder, "create", err);
  attn_status status = ATTN_OK;
  for (int n = 0; n <= NUM_TEXTS && !status; n++) status = write_one(temporary, n, m, texts, err);
  if (!status && rename(temporary, folder)) status = attn_fail_errno(folder, "create", err);
  if (status) remove_all(temporary);
  return status;
}

static attn_status write_via_temporary(const char *given, const struct attn_model *m,
                                       char *const texts[NUM_TEXTS], attn_error *err) {
  size_t length = strlen(given), bytes = length + SUFFIX_SIZE;
  while (length > 1 && given[length - 1] == '/') length--;
  char *folder = strndup(given, length), *temporary = malloc(bytes);
  attn_status status = folder && temporary ? ATTN_OK : out_of_memory(err);
  if (!status) {
    strcpy(temporary, folder);
    status = write_folder(folder, temporary, m, texts, err);
  }
  free(folder), free(temporary);
  return status;
}

attn_status attn_model_export(const attn_model *model, const char *folder, attn_error *err) {
  char *texts[NUM_TEXTS] = {NULL};
  if (!folder || !*folder)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "folder", "folder is NULL or empty");
  if (!family_of(model))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model",
                     "cannot export: transformers has no architecture for kind \"%s\"",
                     attn_model_kind_name(model->network->config.kind));
  attn_status status = create_texts(model, texts, err);
  if (!status) status = write_via_temporary(folder, model, texts, err);
  for (int n = 0; n < NUM_TEXTS; n++) free(texts[n]);
  return status;
}
