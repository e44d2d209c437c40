/* recurrent.h -- the layers of a recurrent decoder with attention: LSTM and GRU cells, the
 * alignment of a hidden state with the positions of an image. Conventions as in layers.h: N rows,
 * float32, a backward adds to the gradients it is given and skips those that are NULL, results do
 * not depend on the number of threads. References: [Hochreiter97] Neural Computation 9(8), [Cho14]
 * arXiv 1406.1078, [Bahdanau14] arXiv 1409.0473, [Luong15] arXiv 1508.04025, [Xu15] arXiv
 * 1502.03044; torch.nn.LSTMCell, GRUCell. */
#ifndef ATTN_NN_RECURRENT_H
#define ATTN_NN_RECURRENT_H

#include "layer_common.h"

/* ---- Cells (cells.c): after the products of their gates ----
 *
 * x_gates = x W_ih^T + b_ih and h_gates = h W_hh^T + b_hh, by attn_linear_forward, with PyTorch's
 * weight_ih, weight_hh, bias_ih, bias_hh and its order of gates: LSTM i f g o, GRU r z n. */

/* LSTM: c' = f c + i g and h' = o tanh c' with i, f, o = sigmoid and g = tanh of their sums
 * [Hochreiter97]. GRU: h' = (1 - z) n + z h with r, z = sigmoid of their sums and
 * n = tanh(x_n + r h_n) [Cho14]. */
enum attn_gated_cell { ATTN_GATED_LSTM, ATTN_GATED_GRU };

struct attn_recurrent_cell {
  enum attn_gated_cell kind;
  int64_t n, width;               /* N, D */
  const float *x_gates, *h_gates; /* (N, 4 D), GRU (N, 3 D) */
  const float *state;             /* (N, D): LSTM c, GRU h */
};

/* c: of an LSTM. gates  out  as x_gates: i, f, g, o, or r, z, n, for the backward */
void attn_cell_forward(const struct attn_host *host, const struct attn_recurrent_cell *s,
                       float *h /* (N, D) */, float *c /* (N, D) */, float *gates);

/* gates, c: the forward's. dh, dc: of its results; of an LSTM either may be NULL: 0. */
void attn_cell_backward(const struct attn_host *host, const struct attn_recurrent_cell *s,
                        const float *gates, const float *c, float *d_x_gates /* as x_gates */,
                        float *d_h_gates /* as x_gates */, float *d_state /* (N, D) */,
                        const float *dh, const float *dc);

/* ---- Alignment (alignment.c): each row with its own P positions ---- */

enum attn_alignment_kind {
  ATTN_ALIGNMENT_ADDITIVE, /* e_j = a . tanh(q + k_j)  [Bahdanau14] */
  ATTN_ALIGNMENT_DOT,      /* e_j = scale q . k_j  [Luong15] */
  ATTN_ALIGNMENT_UNIFORM,  /* weights 1 / P; q, k and a are not used */
};

/* weights = softmax(e), context = sum_j weights_j z_j [Xu15 sec. 3.1]. Keys are projected once for
 * an image, q = W_q h (+ b) for a step; the bias of either is that of the tanh. */
struct attn_alignment {
  enum attn_alignment_kind kind;
  int64_t n, positions, width, values; /* N, P, A, D */
  float scale;                         /* of dot products */
  const float *q;                      /* (N, A) */
  const float *k;                      /* (N, P, A) */
  const float *a;                      /* (A) */
  const float *z;                      /* (N, P, D) */
};

void attn_alignment_forward(const struct attn_host *host, const struct attn_alignment *s,
                            float *context /* (N, D) */, float *weights /* (N, P) */);

/* context, weights: the forward's. Steps that share k, a and z add to the same dk, da and dz.
 * scratch (N, A) if da is not NULL. */
void attn_alignment_backward(const struct attn_host *host, const struct attn_alignment *s,
                             const float *context, const float *weights, float *dq /* (N, A) */,
                             float *dk /* (N, P, A) */, float *da /* (A) */,
                             float *dz /* (N, P, D) */, const float *d_context /* (N, D) */,
                             float *scratch);

#endif
