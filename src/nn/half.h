/* half.h -- bf16 as products read it.
 *
 * A number is rounded to bf16, products are exact and summed in float32. Where oneDNN multiplies
 * bf16, a factor is its bits; elsewhere it is the rounded number in float32, whose products are the
 * same: slower than float32, but what is learned on one CPU is learned on the other. */
#ifndef ATTN_NN_HALF_H
#define ATTN_NN_HALF_H

#include "linalg.h"

/* How factors stand in memory on this CPU: ATTN_HALVES, or rounded ATTN_FLOATS. */
enum attn_factors attn_half_factors(void);

/* Bytes of one. */
size_t attn_half_size(enum attn_factors type);

/* The factors of count numbers; ties round to even. */
void attn_half_write(const struct attn_host *host, enum attn_factors type, void *factors,
                     const float *numbers, int64_t count);

#endif
