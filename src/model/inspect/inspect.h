/* look.h -- a trace of a pass, with the tokens as text. */
#ifndef ATTN_MODEL_INSPECT_H
#define ATTN_MODEL_INSPECT_H

#include "model.h"
#include "trace.h"

/* What the model reads and says: tokens, and each as text. */
struct attn_labeled_tokens {
  int32_t *id;
  int64_t count;
  char **text;
};

struct attn_inspection {
  const struct attn_model *model;
  struct attn_labeled_tokens source, read, said; /* read: BEGIN and said but for its end */
  int32_t threads;
};

/* target NULL: what it says greedily. attn_inspection_close in every case. */
attn_status attn_inspection_open(struct attn_inspection *viewing, const struct attn_model *model,
                                 const char *source, const char *target, int32_t threads,
                                 attn_error *err);
void attn_inspection_close(struct attn_inspection *viewing);

attn_status attn_inspection_trace(const struct attn_inspection *viewing,
                                  int (*look)(void *context,
                                              const struct attn_traced_attention *site),
                                  void *context, attn_error *err);

/* The tokens that a site's queries and keys belong to. */
const struct attn_labeled_tokens *attn_inspection_query_tokens(
    const struct attn_inspection *viewing, enum attn_trace_kind kind);
const struct attn_labeled_tokens *attn_inspection_key_tokens(const struct attn_inspection *viewing,
                                                             enum attn_trace_kind kind);

#endif
