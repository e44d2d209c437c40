/* pack.h -- a network's weights once more, laid out for generation: a step multiplies all of them
 * by few rows. */
#ifndef ATTN_MODEL_PACKED_WEIGHTS_H
#define ATTN_MODEL_PACKED_WEIGHTS_H

#include "network.h"

struct attn_packed_weights;

/* Of fewer weights in one layer there is no gain. */
enum { ATTN_PACKED_WEIGHTS_MIN = 1 << 16 };

/* The decoder's weights and the output's, of layers that have `least` of them; half: all there are,
 * rounded to bf16. Threads may share it. The network must live as long. */
attn_status attn_packed_weights_new(const struct attn_network *network, int half, int64_t least,
                                    struct attn_packed_weights **pack, attn_error *err);
void attn_packed_weights_free(struct attn_packed_weights *pack);

int attn_packed_weights_is_bf16(const struct attn_packed_weights *pack);

/* NULL: they are multiplied as they stand. So is everything where pack is NULL. */
struct attn_packed *attn_packed_weights_of(const struct attn_packed_weights *pack,
                                           struct attn_linear_weights weights);

#endif
