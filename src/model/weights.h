/* weights.h -- a network's numbers and the tensors of a safetensors file, by name. */
#ifndef ATTN_MODEL_WEIGHTS_H
#define ATTN_MODEL_WEIGHTS_H

#include "network.h"
#include "safetensors.h"

/* A parameter's numbers in a block of the network's layout, as a tensor. */
attn_tensor attn_weights_tensor(const struct attn_parameter *parameter, float *block);

/* Fills a block from the tensors whose names are the prefix and the parameters'. ATTN_ERR_FORMAT,
 * with the name, where one is missing or is not float32 of its shape; others are left alone. */
attn_status attn_weights_read(const struct attn_bytes *bytes, const struct attn_safetensors *file,
                              const struct attn_network *network, const char *prefix, float *block,
                              attn_error *err);

/* Before memory is taken for them: can a file of so many bytes hold the numbers that config
 * describes, of `each` bytes or more? ATTN_ERR_FORMAT, what: its name for messages. */
attn_status attn_weights_check_size(const char *what, size_t bytes, size_t each,
                                    const struct attn_model_config *config, attn_error *err);

#endif
