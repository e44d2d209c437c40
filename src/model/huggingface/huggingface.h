/* huggingface.h -- config.json and model.safetensors of the families BERT, GPT-2 and Marian, read
 * and written. [huggingface/transformers, models]
 *
 * Members of config.json that a family's table does not list do not change results (dropout inside
 * layers, generation options). A listed member with an unsupported value is an error, and so is a
 * tensor that no parameter uses. */
#ifndef ATTN_MODEL_HUGGINGFACE_H
#define ATTN_MODEL_HUGGINGFACE_H

#include "network.h"

struct attn_hf_family;

/* "bert", "gpt2", "marian"; NULL for any other name. */
const struct attn_hf_family *attn_hf_family_find(const char *name);

/* Reads config.json. ATTN_ERR_FORMAT with the name of a member that is missing, unknown or
 * unsupported; the outputs are then unchanged. BertModel's pooler is ignored: the output is the
 * hidden vectors. */
attn_status attn_hf_config_parse(const char *json, size_t length, struct attn_model_config *config,
                                 const struct attn_hf_family **family, attn_error *err);

/* config.json without token ids; the caller frees it. ATTN_ERR_ARGUMENT with the name of the first
 * member that the family cannot represent. */
attn_status attn_hf_config_write(const struct attn_hf_family *family,
                                 const struct attn_model_config *config, char **json,
                                 attn_error *err);

/* Fills the network's weights from a safetensors file of any float type. ATTN_ERR_FORMAT with the
 * name of a tensor that is missing, unused or of another shape; the weights are then undefined. */
attn_status attn_hf_weights_read(const char *path, const struct attn_hf_family *family,
                                 struct attn_network *network, attn_error *err);

/* As attn_network_allocate, with the weights of a file. Allocates memory only after checking that
 * the file is large enough for them. */
attn_status attn_hf_model_load(const char *path, const struct attn_hf_family *family,
                               const struct attn_model_config *config,
                               struct attn_network **network, float **weights, attn_error *err);

/* Writes the weights under the family's names; the file appears complete or not at all. */
attn_status attn_hf_weights_write(const char *path, const struct attn_hf_family *family,
                                  const struct attn_network *network, attn_error *err);

#endif
