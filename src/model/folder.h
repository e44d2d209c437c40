/* folder.h -- a model as Hugging Face keeps it: a folder with config.json, model.safetensors and
 * tokenizer.json, and what sentence-transformers says beside them of a text's one vector. */
#ifndef ATTN_MODEL_FOLDER_H
#define ATTN_MODEL_FOLDER_H

#include "model.h"

int attn_folder_is(const char *path);

/* Fills an empty model; what is there after a failure is attn_model_free's. */
attn_status attn_folder_read(const char *folder, struct attn_model *model, attn_error *err);

#endif
