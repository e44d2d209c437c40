/* trace.h -- what a model attends to: the weights of every layer and head, and what they are made
 * of. */
#ifndef ATTN_MODEL_TRACE_H
#define ATTN_MODEL_TRACE_H

#include "transformer.h"

enum attn_trace_kind {
  ATTN_TRACE_ENCODER, /* the source to itself: L = S, the source's tokens */
  ATTN_TRACE_DECODER, /* the target to itself: L = S, the target's tokens, causal */
  ATTN_TRACE_CROSS,   /* the target (L) to the source (S) */
};

/* One attention. All pointers are good until the function that is given it returns. */
struct attn_traced_attention {
  enum attn_trace_kind kind;
  int64_t layer;                         /* from 0, of the encoder or the decoder */
  int64_t heads, kv_heads, width;        /* Hq, H, E; head h has key/value head h / (Hq / H) */
  int64_t queries, keys;                 /* L, S */
  int causal;                            /* query i sees keys 0 .. i */
  double scale;                          /* 1 / sqrt(E) */
  const float *slopes;                   /* (Hq): ALiBi's; NULL: none */
  const float *weights;                  /* (Hq, L, S): each row sums to 1 */
  struct attn_rows q /* (L, Hq E) */, k; /* (S, H E); turned already where positions are rotary */
};

/* Calls look for each attention in the order of computing: the encoder's layers, then of each of
 * the decoder's itself and the source. The target is what the decoder reads, with its beginning;
 * row i of its weights belongs to the token that is said behind target[i]. look's result is not 0:
 * stop.
 *
 *   source  (source_count), none where there is no encoder
 *   target  (target_count), none where there is no decoder
 *
 * Accuracy  attn_sdpa_forward's, of the layer's q and k
 * Cost      a pass over both, and Hq (L + S) (L + S) weights' time; memory of one attention's
 * Errors    ATTN_ERR_ARGUMENT, ATTN_ERR_MEMORY, ATTN_ERR_INTERRUPTED (look)
 * Threads   the same bits for each number of them, but for products that are large enough to be
 *           shared (linalg.h). 0: all */
attn_status attn_transformer_trace(const struct attn_network *network, const int32_t *source,
                                   int64_t source_count, const int32_t *target,
                                   int64_t target_count, int32_t threads,
                                   int (*look)(void *context,
                                               const struct attn_traced_attention *site),
                                   void *context, attn_error *err);

/* How one weight comes about:  score = scale q.k - distance, weight = e^(score - lse). */
struct attn_traced_weight {
  const float *q, *k;   /* (E) */
  double dot, distance; /* distance: ALiBi's slope |i - j|, 0 without */
  double score;         /* -inf where the key is hidden */
  double lse;           /* log sum e^score, of the row */
  double weight;        /* of these in double: the site's weight is this, rounded */
};

/* Of a head, a query and a key that the site has. Cost: (E + 1) S. */
void attn_traced_weight_get(const struct attn_traced_attention *site, int64_t head, int64_t query,
                            int64_t key, struct attn_traced_weight *cell);

#endif
