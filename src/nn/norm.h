/* norm.h -- what the two normalizations have in common: the door, and sums over rows. */
#ifndef ATTN_NN_NORM_H
#define ATTN_NN_NORM_H

#include "attn/nn.h"
#include "layer_common.h"
#include "tensor_rows.h"

/* What is kept of a row: xhat = ((x - near) - rest) * inverse. near + rest is the mean: near a
 * first estimate, rest what the differences from it have left. Without a mean both are 0. */
struct attn_norm_row {
  double near, rest, inverse;
};

struct attn_norm_call;

/* What is kept of a row: the equation in which the two normalizations differ. */
typedef struct attn_norm_row attn_norm_measure(const struct attn_norm_call *c, int64_t row);

/* One validated call. Tensors that broadcast have x's shape by strides of 0. */
struct attn_norm_call {
  attn_norm desc;
  struct attn_host host;
  int axis;        /* 0 .. rank-1 */
  int64_t rows, n; /* x is (rows, n) */
  double epsilon;
  attn_tensor x, scale;          /* (rows, n) */
  attn_tensor bias, y;           /* (rows, n)  forward; bias -0 where there is none */
  attn_tensor mean, inv_std_dev; /* (rows, 1)  forward; data NULL: not wanted */
  attn_tensor d_y, d_x;          /* (rows, n)  backward; d_x's data NULL: not wanted */
  attn_norm_gradients g;         /* a copy */
  struct attn_norm_row *row;     /* (rows)  backward */
  attn_norm_measure *measure;
};

attn_status attn_norm_check_forward(const attn_norm *desc, const attn_tensor *x,
                                    const attn_tensor *scale, const attn_tensor *bias,
                                    const attn_tensor *y, const attn_tensor *mean,
                                    const attn_tensor *inv_std_dev, struct attn_norm_call *c,
                                    attn_error *err);

/* has_bias: d_bias may be asked for. Nothing is allocated yet. */
attn_status attn_norm_check_backward(const attn_norm *desc, const attn_tensor *x,
                                     const attn_tensor *scale, const attn_tensor *d_y,
                                     const attn_norm_gradients *gradients, int has_bias,
                                     struct attn_norm_call *c, attn_error *err);

/* body(call, row) for every row, shared out among the host's threads. */
void attn_norm_rows(struct attn_norm_call *c, void (*body)(struct attn_norm_call *c, int64_t row));

/* y (n) = xhat scale + bias of one row. */
void attn_norm_write(const struct attn_norm_call *c, const struct attn_norm_row *r, int64_t row);

/* Of elements from .. from + count - 1 of a row, count at most ATTN_ROW_CHUNK, in the backward:
 * g (count) = d_y scale and xhat (count), out. */
void attn_norm_terms(const struct attn_norm_call *c, int64_t row, int64_t from, int64_t count,
                     double *g, double *xhat);

/* The backward around its two equations: measure every row, sum d_scale and d_bias, then
 * differentiate writes d_x. In this order, so that d_x may be d_y or x. */
attn_status attn_norm_differentiate(struct attn_norm_call *c, attn_norm_measure *measure,
                                    void (*differentiate)(struct attn_norm_call *c, int64_t row),
                                    attn_error *err);

#endif
