/* bf16.h -- conversion of float32 to bf16, for products in bf16. */
#ifndef ATTN_NN_BF16_H
#define ATTN_NN_BF16_H

#include "layer_common.h"

/* to[n] = x[n], n < count, rounded to nearest, ties to even. */
void attn_convert_to_bf16(const struct attn_host *host, uint16_t *to, const float *x,
                          int64_t count);

#endif
