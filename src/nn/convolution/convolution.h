/* convolution.h -- 3 x 3 convolutions of images, padded by 1 on each side with zeros:
 *
 *     y[h][w][o] = b[o] + sum_{i, j, c} x[s h + i - 1][s w + j - 1][c] w[i][j][c][o]
 *
 * Images are (H, W, C), channels last; s is the stride, and H' = ceil(H / s). A weight of PyTorch,
 * (O, C, 3, 3), is ours after permute(2, 3, 1, 0). As in layers.h a backward adds to the gradients
 * it is given, a NULL gradient is not computed, and results do not depend on the number of threads.
 *
 * A sum of n products errs by at most (n + 1) u of their magnitudes, u = 2^-24: 9 C for y, 9 O for
 * dx, N H' W' for dw. With stride 1 and enough channels it is that of winograd.h. */
#ifndef ATTN_NN_CONVOLUTION_H
#define ATTN_NN_CONVOLUTION_H

#include "layer_common.h"

struct attn_convolution {
  int64_t images, height, width; /* N, H, W */
  int64_t in, out;               /* C, O */
  int64_t stride;                /* s: 1 or 2 */
  const float *x;                /* (N, H, W, C) */
  const float *w;                /* (3, 3, C, O) */
};

attn_status attn_convolution_forward(const struct attn_host *host, const struct attn_convolution *c,
                                     float *y /* (N, H', W', O) */,
                                     const float *b /* (O), NULL: 0 */, attn_error *err);

attn_status attn_convolution_backward(const struct attn_host *host,
                                      const struct attn_convolution *c,
                                      float *dx /* (N, H, W, C) */, float *dw /* (3, 3, C, O) */,
                                      float *db /* (O) */, const float *dy /* (N, H', W', O) */,
                                      attn_error *err);

#endif
