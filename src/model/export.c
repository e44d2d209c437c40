/* export.c -- a model as the folder that transformers' from_pretrained reads. */
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
#include "foreign.h"

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to export a model");
}

static const struct attn_family *family_of(const struct attn_model *m) {
  static const char *const names[] = {
      [ATTN_ENCODER] = "bert", [ATTN_DECODER] = "gpt2", [ATTN_ENCODER_DECODER] = "marian"};
  return attn_family_find(names[m->network->config.kind]);
}

/* ---- The small files; each text is to be freed, NULL: no memory ---- */

static int put_token(json_t *root, const char *name, int32_t id) {
  return id < 0 ? 0 : json_object_set_new(root, name, json_integer(id));
}

/* The tables of theirs have a row for padding, which must be one of the vocabulary. */
static int32_t pad_of(const struct attn_generating *g) {
  return g->pad >= 0 ? g->pad : g->begin >= 0 ? g->begin : g->end;
}

static char *with_tokens(const char *config, const struct attn_model *m) {
  const struct attn_generating *g = &m->generating;
  int crosses = m->network->config.kind == ATTN_ENCODER_DECODER;
  json_t *root = json_loads(config, 0, NULL);
  int failed = !root || put_token(root, "pad_token_id", pad_of(g)) ||
               put_token(root, "bos_token_id", g->begin >= 0 ? g->begin : g->empty) ||
               put_token(root, "eos_token_id", g->end) ||
               put_token(root, "decoder_start_token_id", crosses ? g->begin : -1) ||
               (crosses && json_object_set_new(root, "forced_eos_token_id",
                                               g->forced_end ? json_integer(g->end) : json_null()));
  char *text = failed ? NULL : attn_json_text(root, JSON_INDENT(2) | JSON_SORT_KEYS);
  json_decref(root);
  return text;
}

static int put_name(json_t *root, const char *name, const struct attn_model *m, int32_t id) {
  const char *word = attn_tokenizer_token(m->tokenizer, id);
  return word ? json_object_set_new(root, name, json_string(word)) : 0;
}

static char *tokenizer_config(const struct attn_model *m) {
  const struct attn_generating *g = &m->generating;
  json_t *root = json_pack("{s:s, s:b, s:I}", "tokenizer_class", "PreTrainedTokenizerFast",
                           "clean_up_tokenization_spaces", 0, "model_max_length",
                           (json_int_t)m->network->config.length);
  int failed =
      !root || put_name(root, "bos_token", m, g->begin >= 0 ? g->begin : g->empty) ||
      put_name(root, "eos_token", m, g->end) || put_name(root, "pad_token", m, g->pad) ||
      put_name(root, "unk_token", m, attn_tokenizer_special_token(m->tokenizer, ATTN_TOKEN_UNK));
  char *text = failed ? NULL : attn_json_text(root, JSON_INDENT(2) | JSON_SORT_KEYS);
  json_decref(root);
  return text;
}

static char *tokenizer_text(const struct attn_model *m) {
  const struct attn_generating *g = &m->generating;
  int goes_on = m->network->config.kind == ATTN_DECODER;
  return attn_tokenizer_to_json_with(m->tokenizer, goes_on ? g->begin : g->before,
                                     goes_on ? -1 : g->behind);
}

/* ---- The folder ---- */

enum { BESIDE_ROOM = 48 };
enum { CONFIG, GENERATION, WORDS, WORDS_CONFIG, TEXTS };

static const char *const names[TEXTS + 1] = {"config.json", "generation_config.json",
                                             "tokenizer.json", "tokenizer_config.json",
                                             "model.safetensors"};

static attn_status make_texts(const struct attn_model *m, char *texts[TEXTS], attn_error *err) {
  char *config = NULL;
  attn_status status = attn_foreign_config_write(family_of(m), &m->network->config, &config, err);
  if (status) return status;
  texts[CONFIG] = with_tokens(config, m);
  free(config);
  texts[GENERATION] = attn_generating_write(&m->network->config, &m->generating);
  texts[WORDS] = tokenizer_text(m), texts[WORDS_CONFIG] = tokenizer_config(m);
  for (int n = 0; n < TEXTS; n++)
    if (!texts[n]) return out_of_memory(err);
  return ATTN_OK;
}

static attn_status write_one(const char *folder, int n, const struct attn_model *m,
                             char *const texts[TEXTS], attn_error *err) {
  char *path;
  attn_status status = attn_folder_join(folder, "", names[n], &path, err);
  if (status) return status;
  status = n < TEXTS ? attn_file_write(path, texts[n], strlen(texts[n]), err)
                     : attn_foreign_write(path, family_of(m), m->network, err);
  free(path);
  return status;
}

static void remove_all(const char *folder) {
  char *path;
  for (int n = 0; n <= TEXTS; n++)
    if (!attn_folder_join(folder, "", names[n], &path, NULL)) remove(path), free(path);
  rmdir(folder);
}

/* Nothing, or an empty folder. */
static int is_free(const char *folder) {
  struct stat info;
  int entries = 0;
  if (lstat(folder, &info)) return 1;
  DIR *d = S_ISDIR(info.st_mode) ? opendir(folder) : NULL;
  if (!d) return 0;
  while (entries < 3 && readdir(d)) entries++; /* "." and ".." */
  closedir(d);
  return entries < 3;
}

/* A new folder beside: another's, or one that a killed process left, is not ours. */
static int make_beside(char *beside) {
  char *end = beside + strlen(beside);
  for (int n = 0; n < 1000; n++) {
    snprintf(end, BESIDE_ROOM, ".%ld-%d.part", (long)getpid(), n);
    if (!mkdir(beside, 0777)) return 0;
    if (errno != EEXIST) return -1;
  }
  return -1;
}

/* Beside its place first, so that it is there whole or not at all: the rename takes the place of an
 * empty folder, and of no other. */
static attn_status write_folder(const char *folder, char *beside, const struct attn_model *m,
                                char *const texts[TEXTS], attn_error *err) {
  if (!is_free(folder))
    return attn_fail(err, ATTN_ERR_FILE, NULL, "%.300s is there already; name a folder that is not",
                     folder);
  if (make_beside(beside)) return attn_fail_errno(folder, "create", err);
  attn_status status = ATTN_OK;
  for (int n = 0; n <= TEXTS && !status; n++) status = write_one(beside, n, m, texts, err);
  if (!status && rename(beside, folder)) status = attn_fail_errno(folder, "create", err);
  if (status) remove_all(beside);
  return status;
}

static attn_status write_beside(const char *given, const struct attn_model *m,
                                char *const texts[TEXTS], attn_error *err) {
  size_t length = strlen(given), bytes = length + BESIDE_ROOM;
  while (length > 1 && given[length - 1] == '/') length--;
  char *folder = strndup(given, length), *beside = malloc(bytes);
  attn_status status = folder && beside ? ATTN_OK : out_of_memory(err);
  if (!status) {
    strcpy(beside, folder);
    status = write_folder(folder, beside, m, texts, err);
  }
  free(folder), free(beside);
  return status;
}

attn_status attn_model_export(const attn_model *model, const char *folder, attn_error *err) {
  char *texts[TEXTS] = {NULL};
  if (!folder || !*folder)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "folder", "folder is NULL or empty");
  attn_status status = make_texts(model, texts, err);
  if (!status) status = write_beside(folder, model, texts, err);
  for (int n = 0; n < TEXTS; n++) free(texts[n]);
  return status;
}
