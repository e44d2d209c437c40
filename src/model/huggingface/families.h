/* families.h -- what Hugging Face calls things, as tables. */
#ifndef ATTN_MODEL_FAMILIES_H
#define ATTN_MODEL_FAMILIES_H

#include "huggingface.h"

/* A member of config.json and ours of the same meaning.
 * ours NULL: it must be what `otherwise` says, or missing. theirs NULL: ours is that in the whole
 * family. Else otherwise is its value where it is missing or null: JSON, or "@name" for that of
 * another member; NULL: it must be there. Where two name one of ours, both must say the same. */
struct attn_hf_member {
  const char *theirs, *ours, *otherwise;
};

/* A word of theirs for one of ours, of the member `ours`; the first is the one that is written. */
struct attn_hf_value {
  const char *ours, *their_word, *our_word;
};

enum attn_hf_rows { ATTN_HF_ALL_ROWS, ATTN_HF_QUERY_ROWS, ATTN_HF_KEY_ROWS, ATTN_HF_VALUE_ROWS };

/* A tensor of theirs and what it is of ours. '#' is a layer's number; with a '.' at the end of
 * theirs, "weight" and "bias" follow on both sides. */
struct attn_hf_tensor_name {
  const char *theirs, *ours;
  enum attn_hf_rows part; /* rows of in_proj */
  int turned;             /* theirs is (in, out) */
  int row;                /* a vector that is (1, n) with them */
};

/* All tables end in an entry of NULLs. */
struct attn_hf_family {
  const char *name;   /* their "model_type" */
  const char *prefix; /* of their names, which a file without a head leaves out */
  const struct attn_hf_member *members;
  const struct attn_hf_value *words;
  const struct attn_hf_tensor_name *names;
  const char *const *idle; /* ends of names of tensors that change no number */
};

extern const struct attn_hf_member attn_hf_common_members[];
extern const struct attn_hf_family *const attn_hf_families[]; /* NULL at the end */

#endif
