#include "weights.h"

#include <stdio.h>
#include <string.h>

#include "error.h"

enum { NAME = 80 };

attn_tensor attn_weights_tensor(const struct attn_parameter *p, float *block) {
  attn_tensor t = attn_tensor_dense(ATTN_F32, block + p->offset, 1, 1, p->value.n, p->value.width);
  t.rank = p->rank; /* keeps the last dimensions */
  for (int d = 0; d < p->rank; d++)
    t.shape[d] = t.shape[4 - p->rank + d], t.strides[d] = t.strides[4 - p->rank + d];
  return t;
}

attn_status attn_weights_check_size(const char *what, size_t bytes, size_t value_bytes,
                                    const struct attn_model_config *config, attn_error *err) {
  int64_t count = 0;
  attn_status status = attn_network_count(config, &count, err);
  if (status || (int64_t)(bytes / value_bytes) >= count) return status;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "%s: %zu bytes are too few for the %lld parameters of its configuration", what,
                   bytes, (long long)count);
}

static attn_status read_one(const struct attn_bytes *bytes, const struct attn_safetensors *file,
                            const char *name, const attn_tensor *to, attn_error *err) {
  const struct attn_safetensor *found = attn_safetensors_find(file, name);
  if (!found)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL, "checkpoint: tensor \"%s\" is missing", name);
  const struct attn_stored_tensor *at = &found->at;
  if (at->dtype != ATTN_F32 || at->rank != to->rank ||
      memcmp(at->shape, to->shape, (size_t)to->rank * sizeof *to->shape))
    return attn_fail(
        err, ATTN_ERR_FORMAT, NULL,
        "checkpoint: tensor \"%s\" does not have the type and shape of its configuration", name);
  return attn_bytes_get(bytes, at->offset, to->data, at->bytes, err);
}

attn_status attn_weights_read(const struct attn_bytes *bytes, const struct attn_safetensors *file,
                              const struct attn_network *network, const char *prefix, float *block,
                              attn_error *err) {
  attn_status status = ATTN_OK;
  for (int p = 0; p < network->count && !status; p++) {
    char name[NAME];
    snprintf(name, sizeof name, "%s%s", prefix, network->parameters[p].name);
    const attn_tensor to = attn_weights_tensor(&network->parameters[p], block);
    status = read_one(bytes, file, name, &to, err);
  }
  return status;
}
