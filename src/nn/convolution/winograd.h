/* winograd.h -- convolutions of stride 1 with 16 products for 4 results instead of 36 [Lavin15,
 * arXiv 1509.09308]. With 4 x 4 inputs x around each tile of 2 x 2 results y, by channels,
 *
 *     y = A^T ((G w G^T) * (B^T x B)) A
 *
 * The transforms add and halve, so that a result errs by at most (C + 13) u times the same
 * expression of magnitudes, of all inputs of its tile; they also carry a NaN or an infinity to all
 * results of a tile. For each of the 16 elements the sum over channels is a matrix product over all
 * tiles. */
#ifndef ATTN_NN_WINOGRAD_H
#define ATTN_NN_WINOGRAD_H

#include "convolution.h"

/* Whether it is faster than the direct products: stride 1, and 16 channels on both sides and 48
 * together. */
int attn_winograd_fits(const struct attn_convolution *c);

/* As the calls of convolution.h; dx and dw are added to. */
attn_status attn_winograd_forward(const struct attn_host *host, const struct attn_convolution *c,
                                  float *y, const float *b, attn_error *err);
attn_status attn_winograd_dx(const struct attn_host *host, const struct attn_convolution *c,
                             float *dx, const float *dy, attn_error *err);
attn_status attn_winograd_dw(const struct attn_host *host, const struct attn_convolution *c,
                             float *dw, const float *dy, attn_error *err);

#endif
