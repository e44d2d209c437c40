/* folder.h -- a model as Hugging Face keeps it: a folder with config.json, model.safetensors,
 * tokenizer.json, generation_config.json and, of an encoder for sentences, how a text becomes one
 * vector. */
#ifndef ATTN_MODEL_FOLDER_H
#define ATTN_MODEL_FOLDER_H

#include <jansson.h>

#include "model.h"

int attn_is_folder(const char *path);

/* Fills the model, or leaves in it what attn_model_free releases. What a file says and would not be
 * done here is refused, ATTN_ERR_FORMAT with the file's name and the member's. */
attn_status attn_folder_read(const char *folder, struct attn_model *model, attn_error *err);

/* folder/part/name, or with part "" folder/name; to be freed. */
attn_status attn_folder_join(const char *folder, const char *part, const char *name, char **path,
                             attn_error *err);

/* A small file of JSON, with jansson's flags beside those of all; *root NULL: there is none. */
attn_status attn_folder_json(const char *folder, const char *part, const char *name, size_t flags,
                             json_t **root, attn_error *err);

/* The vocabulary: tokenizer.json, or GPT-2's older vocab.json and merges.txt. */
attn_status attn_folder_read_tokenizer(const char *folder, const struct attn_model_config *config,
                                       struct attn_tokenizer **tokenizer, attn_error *err);

#endif
