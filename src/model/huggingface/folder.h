/* folder.h -- a Hugging Face folder: config.json, model.safetensors, tokenizer.json,
 * generation_config.json, and for sentence embeddings the files of sentence-transformers. */
#ifndef ATTN_MODEL_FOLDER_H
#define ATTN_MODEL_FOLDER_H

#include "model.h"

int attn_is_folder(const char *path);

/* Fills the model; after a failure the caller still calls attn_model_free. ATTN_ERR_FORMAT with the
 * names of the file and of the member for a setting that is not supported. */
attn_status attn_folder_read(const char *folder, struct attn_model *model, attn_error *err);

/* folder/name; the caller frees it. */
attn_status attn_folder_join(const char *folder, const char *name, char **path, attn_error *err);

#endif
