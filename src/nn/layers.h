/* layers.h -- the layers of a model, each a forward and a backward, in float32; linear layers can
 * multiply in bf16.
 *
 * N rows (the tokens of all sequences, concatenated), D, I, O, F widths, V the vocabulary's size.
 * Everything is dense and row-major. A backward adds to the gradients of parameters; those of
 * inputs it adds to or stores. A NULL gradient is not computed. Only matrix products allocate
 * memory. Results do not depend on the number of threads.
 *
 * References: [Vaswani17] arXiv 1706.03762, [Shazeer20] arXiv 2002.05202, [Hendrycks16] arXiv
 * 1606.08415, [Szegedy16] arXiv 1512.00567, [Srivastava14] JMLR 15. */
#ifndef ATTN_NN_LAYERS_H
#define ATTN_NN_LAYERS_H

#include "gemm/matmul.h"

/* The gradient of an input, of the input's shape. */
struct attn_gradient {
  float *at;
  int adds; /* 1: it is added to; 0: it has no value yet and is stored */
};

/* ---- Linear (linear.c): y = x W^T + b ---- */

struct attn_linear {
  int64_t n, in, out; /* N, I, O */
  attn_dtype type;    /* of x, w and dy_operand: ATTN_F32 or ATTN_BF16 */
  const void *x;      /* (N, I) */
  const void *w;      /* (O, I) */
};

attn_status attn_linear_forward(const struct attn_host *host, const struct attn_linear *l,
                                float *y /* (N, O) */, const float *b /* (O), NULL: 0 */,
                                attn_error *err);

/* dy_operand: dy in l->type; for float32 dy itself. */
attn_status attn_linear_backward(const struct attn_host *host, const struct attn_linear *l,
                                 struct attn_gradient dx, float *dw /* (O, I) */,
                                 float *db /* (O) */, const float *dy /* (N, O) */,
                                 const void *dy_operand /* (N, O) */, attn_error *err);

/* ---- Embedding (embedding.c): y_n = scale table[token_n], then positions ---- */

/* The position's vector is added to the token's or follows it. */
enum attn_position_mode { ATTN_POSITION_MODE_ADD, ATTN_POSITION_MODE_CONCATENATE };

struct attn_embedding {
  int64_t n, vocab_size;       /* N, V */
  int64_t width;               /* of the table: D, or with ATTN_POSITION_MODE_CONCATENATE D - P */
  const int32_t *tokens;       /* (N), each in 0 .. V-1 */
  const int32_t *position_ids; /* (N): rows of the positions, from 0 in each sequence */
  float scale;                 /* sqrt(D) in [Vaswani17 3.4], else 1 */
  enum attn_position_mode position_mode;
  int64_t position_dim; /* P; 0: no positions */
};

void attn_embedding_forward(const struct attn_host *host, const struct attn_embedding *e,
                            float *y /* (N, D) */, const float *table /* (V, width) */,
                            const float *positions /* (rows, P) */);

void attn_embedding_backward(const struct attn_host *host, const struct attn_embedding *e,
                             float *d_table /* (V, width) */, float *d_positions /* (rows, P) */,
                             const float *dy /* (N, D) */);

/* Positions first .. first + rows - 1: table[p][2k] = sin(p / 10000^(2k/P)), table[p][2k+1] = cos
 * of the same angle [Vaswani17 3.5]; sines_first: the same values, all sines before all cosines. */
void attn_sinusoid_fill(float *table /* (rows, P) */, int64_t first, int64_t rows, int64_t width,
                        int sines_first);

/* ---- Normalization (norm.c): attn/nn.h's on dense float32 rows, computed in float32 ---- */

/* Statistics of a row: xhat = ((x - mean) - rest) * inverse. rest is the rounding error of mean, 0
 * in float32; RMS normalization has mean 0. */
struct attn_norm_row {
  double mean, rest, inverse;
};

struct attn_norm_layer {
  int64_t n, width; /* N, D */
  int rms;
  double epsilon;
  const float *x;            /* (N, D) */
  const float *scale, *bias; /* (D); bias NULL: 0 */
  struct attn_norm_row *row; /* (N)  out of the forward, NULL: not wanted; in of the backward */
};

void attn_norm_layer_forward(const struct attn_host *host, const struct attn_norm_layer *l,
                             float *y /* (N, D) */);

void attn_norm_layer_backward(const struct attn_host *host, const struct attn_norm_layer *l,
                              struct attn_gradient d_x, float *d_scale /* (D) */,
                              float *d_bias /* (D) */, const float *d_y /* (N, D) */);

/* ---- Activations (activation.c) ---- */

enum attn_activation {
  ATTN_RELU,
  ATTN_GELU,      /* x Phi(x)  [Hendrycks16] */
  ATTN_GELU_TANH, /* approximated by tanh, as in GPT-2 */
  ATTN_SWIGLU,    /* silu(x1) x2, x = (x1, x2)  [Shazeer20]; y is half as wide */
  ATTN_SILU,      /* x / (1 + e^-x)  [Hendrycks16]; also called Swish */
};

void attn_activation_forward(const struct attn_host *host, enum attn_activation kind,
                             float *y /* (N, F) */, const float *x /* (N, F), SwiGLU (N, 2 F) */,
                             int64_t n, int64_t width);

void attn_activation_backward(const struct attn_host *host, enum attn_activation kind,
                              struct attn_gradient dx, const float *dy /* (N, F) */,
                              const float *x /* as x */, int64_t n, int64_t width);

/* ---- Residual and dropout (residual.c): y = x + dropout(f) ---- */

/* Which elements are dropped depends only on the seed, the use and the element's index in the whole
 * batch. */
struct attn_dropout {
  double probability; /* 0: no dropout */
  uint64_t seed;
  uint32_t use;                      /* distinguishes the uses of one seed; below 2^16 */
  int64_t first_row, first_sequence; /* index in the whole batch of the first row, sequence */
};

void attn_residual_forward(const struct attn_host *host, const struct attn_dropout *drop,
                           float *y /* (N, D), may be x */, const float *x /* (N, D), NULL: 0 */,
                           const float *f /* (N, D) */, int64_t n, int64_t width);

void attn_residual_backward(const struct attn_host *host, const struct attn_dropout *drop,
                            struct attn_gradient dx, struct attn_gradient df,
                            const float *dy /* (N, D) */, int64_t n, int64_t width);

/* ---- Multi-head attention (multihead.c): attn/attn.h's, over packed sequences ---- */

struct attn_multihead {
  int64_t num_heads, num_kv_heads, head_dim, value_head_dim; /* Hq, H, E, Ev */
  int64_t sequences;
  const int64_t *cu_seqlens_q, *cu_seqlens_k; /* (sequences + 1): cumulative lengths */
  int causal;
  const float *alibi;    /* (Hq), NULL: none */
  double scale;          /* of the scores */
  const float *additive; /* (Hq, E): a of additive scores, a . tanh(q + k); NULL: q . k */
  struct attn_dropout drop;
};

/* Rows of heads * width elements, `step` elements apart, such as a part of one projection. */
struct attn_row_view {
  float *at;
  int64_t n, step;
};

/* The tensors of a call, or their gradients. */
struct attn_multihead_rows {
  struct attn_row_view q, k, v, o; /* (N, Hq E), (S, H E), (S, H Ev), (N, Hq Ev) */
};

attn_status attn_multihead_forward(const struct attn_host *host, const struct attn_multihead *m,
                                   const struct attn_multihead_rows *x, float *lse /* (Hq, N) */,
                                   attn_error *err);

/* The attention weights of one sequence without dropout. A pass of its own, so that asking for the
 * weights does not change the bits of the forward. */
attn_status attn_multihead_weights(const struct attn_host *host, const struct attn_multihead *m,
                                   float *weights /* (Hq, N, S) */,
                                   struct attn_row_view q /* (N, Hq E) */,
                                   struct attn_row_view k /* (S, H E) */, attn_error *err);

/* From d->o: the other gradients of d and d_additive (Hq, E) are written, not accumulated;
 * d_additive may be NULL. */
attn_status attn_multihead_backward(const struct attn_host *host, const struct attn_multihead *m,
                                    const struct attn_multihead_rows *x,
                                    const struct attn_multihead_rows *d, float *d_additive,
                                    float *lse, attn_error *err);

/* ---- Loss (cross_entropy.c): softmax and cross-entropy with label smoothing ---- */

struct attn_loss {
  double sum;      /* of the losses of all rows, in nats */
  int64_t rows;    /* rows whose target is not ATTN_IGNORE_INDEX */
  int64_t correct; /* rows whose largest logit is the target's; of equal ones the first */
};
enum { ATTN_IGNORE_INDEX = -1 };

/* loss_n = -sum_v t_v log softmax(logits_n)_v, t = (1 - smoothing) one-hot + smoothing / V
 * [Szegedy16 sec. 7]. The logits are replaced by their gradients, (softmax - t) scale, and by 0 in
 * ignored rows. evaluate: the logits are not changed. */
struct attn_loss attn_cross_entropy_forward(const struct attn_host *host,
                                            float *logits /* (N, V) in, out */,
                                            const int32_t *targets /* (N) */, int64_t n,
                                            int64_t vocab_size, double smoothing, float scale,
                                            int evaluate, double *scratch /* (N) */);

struct attn_logits_summary {
  float max;          /* NaN if any logit is */
  double log_sum_exp; /* the relative error of the sum is at most 2^-22 */
};

/* has_sum: else log_sum_exp is the maximum, and no exponential is computed. */
struct attn_logits_summary attn_logits_summarize(const float *logits, int64_t vocab_size,
                                                 int has_sum);

#endif
