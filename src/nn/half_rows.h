/* half_rows.h -- few rows times weights in bf16, on CPUs whose oneDNN has no such product.
 *
 * A product of one row reads each weight once: half the bytes are up to half the time. */
#ifndef ATTN_NN_HALF_ROWS_H
#define ATTN_NN_HALF_ROWS_H

#include <stdint.h>

/* Bytes of out rows of in weights as they are kept here. */
uint64_t attn_half_rows_size(int64_t in, int64_t out);

/* Rounds w (out, in) to bf16; ties to even. */
void attn_half_rows_pack(uint32_t *packed, const float *w, int64_t in, int64_t out);

/* y (n, out) = x (n, in) w (out, in)^T + b (out), NULL: 0. Sums in float32, in an order that
 * depends on `in` alone. */
void attn_half_rows_multiply(float *y, const float *x, const uint32_t *packed, const float *b,
                             int64_t n, int64_t in, int64_t out);

#endif
