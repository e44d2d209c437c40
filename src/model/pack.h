/* pack.h -- a network's weights once more, laid out for generation: a step multiplies all of them
 * by few rows. */
#ifndef ATTN_MODEL_PACK_H
#define ATTN_MODEL_PACK_H

#include "network.h"

struct attn_pack;

/* Of fewer weights in one layer there is no gain. */
enum { ATTN_PACK_WORTH = 1 << 16 };

/* The decoder's weights and the output's, of layers that have `least` of them; bf16: all there are,
 * rounded to bf16. Threads may share it. The network must live as long. */
attn_status attn_pack_new(const struct attn_network *network, int bf16, int64_t least,
                          struct attn_pack **pack, attn_error *err);
void attn_pack_free(struct attn_pack *pack);

int attn_packed_weights_is_bf16(const struct attn_pack *pack);

/* NULL: they are multiplied as they stand. So is everything where pack is NULL. */
struct attn_packed_matrix *attn_pack_of(const struct attn_pack *pack,
                                        struct attn_linear_weights weights);

#endif
