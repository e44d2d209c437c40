/* look.h -- a trace of a pass, with the tokens as text. */
#ifndef ATTN_MODEL_LOOK_H
#define ATTN_MODEL_LOOK_H

#include "model.h"
#include "trace.h"

/* What the model reads and says: tokens, and each as text. */
struct attn_passage_tokens {
  int32_t *id;
  int64_t count;
  char **text;
};

struct attn_viewing {
  const struct attn_model *model;
  struct attn_passage_tokens source, read, said; /* read: BEGIN and said but for its end */
  int32_t threads;
};

/* target NULL: what it says greedily. attn_viewing_close in every case. */
attn_status attn_viewing_open(struct attn_viewing *viewing, const struct attn_model *model,
                              const char *source, const char *target, int32_t threads,
                              attn_error *err);
void attn_viewing_close(struct attn_viewing *viewing);

attn_status attn_viewing_trace(const struct attn_viewing *viewing,
                               int (*look)(void *context, const struct attn_trace_site *site),
                               void *context, attn_error *err);

/* The tokens that a site's queries and keys belong to. */
const struct attn_passage_tokens *attn_viewing_queries(const struct attn_viewing *viewing,
                                                       enum attn_trace_kind kind);
const struct attn_passage_tokens *attn_viewing_keys(const struct attn_viewing *viewing,
                                                    enum attn_trace_kind kind);

#endif
