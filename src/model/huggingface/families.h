/* families.h -- tables: Hugging Face's names of members and tensors. */
#ifndef ATTN_MODEL_FAMILIES_H
#define ATTN_MODEL_FAMILIES_H

#include <jansson.h>

#include "huggingface.h"

/* A member of config.json, and the member of attn_model_config with the same meaning.
 *   ours NULL    the value must be `otherwise`, or absent
 *   theirs NULL  ours is `otherwise` in the whole family
 *   both         otherwise is the default: JSON, or "@name" for the value of another member; NULL:
 *                the member is required. If two name one of ours, their values must be equal */
struct attn_hf_member {
  const char *theirs, *ours, *otherwise;
};

/* A value of the member `ours`: their string and our string. The first entry for ours is the one
 * that is written. */
struct attn_hf_value {
  const char *ours, *their_value, *our_value;
};

/* How a tensor contains a parameter. */
enum attn_hf_form {
  ATTN_HF_WHOLE,
  ATTN_HF_QUERY_ROWS, /* rows of in_proj */
  ATTN_HF_KEY_ROWS,
  ATTN_HF_VALUE_ROWS,
  ATTN_HF_TRANSPOSED, /* the tensor is (in, out) */
  ATTN_HF_ROW_VECTOR  /* the tensor is (1, n) */
};

/* A tensor and its parameter. '#' is the layer's index; after a final '.' of theirs, "weight" and
 * "bias" follow in both names. */
struct attn_hf_tensor_name {
  const char *theirs, *ours;
  enum attn_hf_form form;
};

/* Tables end with an entry of NULLs. */
struct attn_hf_family {
  const char *name;   /* "model_type" */
  const char *prefix; /* of their tensor names; absent in a file without an output head */
  const struct attn_hf_member *members;
  const struct attn_hf_value *values;
  const struct attn_hf_tensor_name *tensors;
  const char *const *unused; /* name endings of tensors that do not change results */
};

/* ATTN_ERR_FORMAT with the name and value of the member, unless it is absent (NULL), null or `only`
 * (JSON). For members that change results. file: its name in messages. */
attn_status attn_hf_require_value(const char *file, const char *name, const json_t *value,
                                  const char *only, attn_error *err);

extern const struct attn_hf_member attn_hf_common_members[];
extern const struct attn_hf_family *const attn_hf_families[]; /* NULL at the end */

#endif
