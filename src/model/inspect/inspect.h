/* inspect.h -- a traced pass over source and target, with tokens as text. */
#ifndef ATTN_MODEL_INSPECT_H
#define ATTN_MODEL_INSPECT_H

#include "image_source.h"
#include "trace.h"

struct attn_labeled_tokens {
  int32_t *ids;
  int64_t count;
  char **texts;
};

struct attn_inspection {
  const struct attn_model *model;
  struct attn_labeled_tokens source;        /* the encoder's input */
  struct attn_labeled_tokens decoder_input; /* BEGIN and the target */
  struct attn_labeled_tokens predicted;     /* the target and END */
  struct attn_image_source image; /* whose grid positions are the source, if there is one */
  int32_t threads;
};

/* target NULL: generated greedily. The caller calls attn_inspection_close in every case. */
attn_status attn_inspection_open(struct attn_inspection *inspection, const struct attn_model *model,
                                 const char *source, const char *target, int32_t threads,
                                 attn_error *err);
/* The same for an image and its caption. */
attn_status attn_inspection_open_image(struct attn_inspection *inspection,
                                       const struct attn_model *model, const attn_tensor *image,
                                       const char *caption, int32_t threads, attn_error *err);
void attn_inspection_close(struct attn_inspection *inspection);

attn_status attn_inspection_trace(const struct attn_inspection *inspection,
                                  int (*visit)(void *context,
                                               const struct attn_traced_attention *attention),
                                  void *context, attn_error *err);

/* A token as text, to be freed: special tokens by their names, bytes that are not UTF-8 as
 * "<0xE4>". NULL: out of memory. */
char *attn_inspection_token_text(const struct attn_model *model, int32_t id);

/* The texts of the tokens of the queries and of the keys. */
char **attn_inspection_query_tokens(const struct attn_inspection *inspection,
                                    attn_attention_kind kind);
char **attn_inspection_key_tokens(const struct attn_inspection *inspection,
                                  attn_attention_kind kind);

#endif
