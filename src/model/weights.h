/* weights.h -- a network's parameters as tensors of a safetensors file. */
#ifndef ATTN_MODEL_WEIGHTS_H
#define ATTN_MODEL_WEIGHTS_H

#include "network.h"
#include "safetensors.h"

/* A parameter in a block of the network's layout, as a tensor. */
attn_tensor attn_weights_tensor(const struct attn_parameter *parameter, float *block);

/* Fills a block from the tensors named prefix + parameter name. ATTN_ERR_FORMAT with the name of a
 * tensor that is missing or not float32 of the parameter's shape. Other tensors are ignored. */
attn_status attn_weights_read(const struct attn_bytes *bytes, const struct attn_safetensors *file,
                              const struct attn_network *network, const char *prefix, float *block,
                              attn_error *err);

/* ATTN_ERR_FORMAT if a file of so many bytes cannot contain the parameters that config describes,
 * of at least value_bytes each. Called before memory is allocated for them. what: the file's name
 * for messages. */
attn_status attn_weights_check_size(const char *what, size_t bytes, size_t value_bytes,
                                    const struct attn_model_config *config, attn_error *err);

#endif
