/* foreign.h -- models in Hugging Face's files: config.json and model.safetensors, of the families
 * BERT, GPT-2 and Marian, read and written. [huggingface/transformers, models]
 *
 * A member of config.json that the family's table does not list is taken for one that changes no
 * number (dropout of other places, how to generate). What would change one and cannot be had here
 * is refused by its name; and so is a file that holds a tensor nobody asked for. */
#ifndef ATTN_MODEL_HUGGINGFACE_H
#define ATTN_MODEL_HUGGINGFACE_H

#include "network.h"

struct attn_hf_family;

/* "bert", "gpt2", "marian"; NULL for any other name. */
const struct attn_hf_family *attn_hf_family_find(const char *name);

/* What config.json describes. ATTN_ERR_FORMAT with the name of what is missing, unknown or cannot
 * be; nothing is written then. BertModel's pooler is left out: its output are the hidden vectors.
 */
attn_status attn_hf_config_parse(const char *json, size_t length, struct attn_model_config *config,
                                 const struct attn_hf_family **family, attn_error *err);

/* The same of a file. */
attn_status attn_hf_config_read(const char *path, struct attn_model_config *config,
                                const struct attn_hf_family **family, attn_error *err);

/* The same as text, to be freed; which tokens pad, begin and end is not said. ATTN_ERR_ARGUMENT
 * with the name of the first member that the family has not so. */
attn_status attn_hf_config_write(const struct attn_hf_family *family,
                                 const struct attn_model_config *config, char **json,
                                 attn_error *err);

/* Fills the network's weights from a safetensors file of any float type. ATTN_ERR_FORMAT with the
 * name of a tensor that is missing, too many, or of another shape: the weights are then neither
 * the old nor the new ones. */
attn_status attn_hf_weights_read(const char *path, const struct attn_hf_family *family,
                                 struct attn_network *network, attn_error *err);

/* All of the above: the network that both files say, over *weights, to be freed after it. Nothing
 * is allocated for numbers before the file is seen to be large enough for them. */
attn_status attn_hf_model_load(const char *config_path, const char *weights_path,
                               const struct attn_hf_family **family, struct attn_network **network,
                               float **weights, attn_error *err);

/* The network's weights under the family's names, the file whole or not at all. */
attn_status attn_hf_weights_write(const char *path, const struct attn_hf_family *family,
                                  const struct attn_network *network, attn_error *err);

#endif
