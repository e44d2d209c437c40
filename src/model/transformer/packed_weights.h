/* packed_weights.h -- a second copy of a network's weights, packed for products with few rows, as
 * in generation. */
#ifndef ATTN_MODEL_PACKED_WEIGHTS_H
#define ATTN_MODEL_PACKED_WEIGHTS_H

#include "network.h"

struct attn_packed_weights;

/* Smaller layers gain nothing from packing. */
enum { ATTN_PACKED_WEIGHTS_MIN = 1 << 16 };

/* Packs the decoder's layers and the output that have at least `min` weights; with bf16 every
 * layer, rounded to bf16. Threads may share the result. The network must outlive it. */
attn_status attn_packed_weights_new(const struct attn_network *network, int bf16, int64_t min,
                                    struct attn_packed_weights **pack, attn_error *err);
void attn_packed_weights_free(struct attn_packed_weights *pack);

int attn_packed_weights_is_bf16(const struct attn_packed_weights *pack);

/* NULL: the layer is not packed, or pack is NULL. */
struct attn_packed_matrix *attn_packed_weights_of(const struct attn_packed_weights *pack,
                                                  struct attn_linear_weights weights);

#endif
