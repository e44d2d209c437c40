/* trace.h -- the attention weights of every layer and head in a pass. */
#ifndef ATTN_MODEL_TRACE_H
#define ATTN_MODEL_TRACE_H

#include "attn/model.h"
#include "transformer.h"

/* The attention of one layer. Pointers are valid until the visitor returns. */
struct attn_traced_attention {
  attn_attention_kind kind;
  int64_t layer;                  /* from 0, in the encoder or the decoder */
  int64_t heads, kv_heads, width; /* Hq, H, E; head h has key/value head h / (Hq / H) */
  int64_t queries, keys;          /* L, S */
  int causal;                     /* query i attends to keys 0 .. i */
  double scale;                   /* of the scores */
  const float *additive;          /* (Hq, E): a of a . tanh(q + k), or NULL: q . k */
  const float *slopes;            /* (Hq) of ALiBi, or NULL */
  const float *weights;           /* (Hq, L, S), each row sums to 1 */
  /* (L, Hq E), (S, H E); with rotary positions already rotated, with general alignment q times W.
   */
  struct attn_row_view q, k;
};

/* Runs a pass and calls visit with the attention of each layer: the encoder's first, then of each
 * decoder layer self-attention and cross-attention. Stops if visit returns nonzero. A recurrent
 * decoder has one head of cross-attention, without q and k, or none.
 *
 *   source  (source_count); not read without an encoder. Of an image its grid positions
 *   pixels  of the image, transformer.h; NULL without images
 *   target  (target_count) the decoder's input, BEGIN included: row i of the weights predicts the
 *           token after target[i]; not read without a decoder
 *
 * Accuracy       attn_sdpa_forward's, of the layer's q and k
 * Cost           a pass, and Hq (L + S) (L + S) weights; memory for the weights of one layer
 * Errors         ATTN_ERR_ARGUMENT, ATTN_ERR_MEMORY, ATTN_ERR_INTERRUPTED (visit)
 * Thread safety  threads: 0 for all. The same bits for any number, except products large enough to
 *                be split (linalg.h) */
attn_status attn_transformer_trace(const struct attn_network *network, const int32_t *source,
                                   int64_t source_count, const float *pixels, const int32_t *target,
                                   int64_t target_count, int32_t threads,
                                   int (*visit)(void *context,
                                                const struct attn_traced_attention *attention),
                                   void *context, attn_error *err);

#endif
