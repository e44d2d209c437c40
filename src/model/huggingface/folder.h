/* folder.h -- a Hugging Face folder: config.json, model.safetensors, tokenizer.json,
 * generation_config.json, and for sentence embeddings the files of sentence-transformers. */
#ifndef ATTN_MODEL_FOLDER_H
#define ATTN_MODEL_FOLDER_H

#include <jansson.h>

#include "model.h"

int attn_is_folder(const char *path);

/* Fills the model; after a failure the caller still calls attn_model_free. ATTN_ERR_FORMAT with the
 * names of the file and of the member for a setting that is not supported. */
attn_status attn_folder_read(const char *folder, struct attn_model *model, attn_error *err);

/* folder/name; the caller frees it. */
attn_status attn_folder_join(const char *folder, const char *name, char **path, attn_error *err);

/* The same; *path NULL: there is no such file. */
attn_status attn_folder_find(const char *folder, const char *name, char **path, attn_error *err);

/* The text of a file of at most max bytes; the caller frees it. */
attn_status attn_folder_text(const char *folder, const char *name, size_t max, char **text,
                             size_t *size, attn_error *err);

/* A small JSON file, read with jansson's flags. *root NULL: the file does not exist. */
attn_status attn_folder_json(const char *folder, const char *name, size_t flags, json_t **root,
                             attn_error *err);

/* The vocabulary: tokenizer.json, or GPT-2's older vocab.json and merges.txt. */
attn_status attn_folder_read_tokenizer(const char *folder, const struct attn_model_config *config,
                                       struct attn_tokenizer **tokenizer, attn_error *err);

#endif
