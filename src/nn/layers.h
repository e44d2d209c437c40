/* layers.h -- the layers of a model, in float32 but for what products read: each a forward and,
 * beside it, its backward.
 *
 * N rows (tokens, of all sequences one after another), D, I, O, F widths, V words. Everything is
 * dense and row-major. A backward adds to the gradients it is given; NULL ones are not wanted.
 * Nothing is allocated but by matmul; sums are formed in an order that threads do not change.
 * References: [Vaswani17] arXiv 1706.03762, [Shazeer20] arXiv 2002.05202, [Hendrycks16] arXiv
 * 1606.08415, [Szegedy16] arXiv 1512.00567, [Srivastava14] JMLR 15. */
#ifndef ATTN_NN_LAYERS_H
#define ATTN_NN_LAYERS_H

#include "linalg.h"

/* ---- Linear (linear.c): y = x W^T + b ---- */

struct attn_linear {
  int64_t n, in, out; /* N, I, O */
  attn_dtype type;    /* of x, w and factor: ATTN_F32 or ATTN_BF16 */
  const void *x;      /* (N, I) */
  const void *w;      /* (O, I) */
};

attn_status attn_linear_forward(const struct attn_host *host, const struct attn_linear *l,
                                float *y /* (N, O) */, const float *b /* (O), NULL: 0 */,
                                attn_error *err);

/* factor: dy of the same type; in float32 dy itself. */
attn_status attn_linear_backward(const struct attn_host *host, const struct attn_linear *l,
                                 float *dx /* (N, I) */, float *dw /* (O, I) */,
                                 float *db /* (O) */, const float *dy /* (N, O) */,
                                 const void *factor /* (N, O) */, attn_error *err);

/* ---- Embedding (embedding.c): y_n = scale table[token_n], then positions ---- */

/* Where a position's vector goes: added to the token's, or behind it. */
enum attn_joining { ATTN_JOIN_ADD, ATTN_JOIN_CONCATENATE };

struct attn_embedding {
  int64_t n, words, width; /* N, V; of the table: D, or with ATTN_JOIN_CONCATENATE D - P */
  const int32_t *tokens;   /* (N), each in 0 .. V-1 */
  const int32_t *places;   /* (N): the row of the positions, from 0 in each sequence */
  float scale;             /* sqrt(D) in [Vaswani17 3.4], 1 elsewhere */
  enum attn_joining joining;
  int64_t position_width; /* P; 0: no positions */
};

void attn_embedding_forward(const struct attn_host *host, const struct attn_embedding *e,
                            float *y /* (N, D) */, const float *table /* (V, width) */,
                            const float *positions /* (rows, P) */);

void attn_embedding_backward(const struct attn_host *host, const struct attn_embedding *e,
                             float *d_table /* (V, width) */, float *d_positions /* (rows, P) */,
                             const float *dy /* (N, D) */);

/* table[p][2k] = sin(p / 10000^(2k/P)), table[p][2k+1] = cos of it  [Vaswani17 3.5]; halves: the
 * same numbers, all sines before all cosines. */
void attn_sinusoid_fill(float *table /* (rows, P) */, int64_t first, int64_t rows, int64_t width,
                        int halves);

/* ---- Normalization (row_norm.c): attn/nn.h's of dense float32, summed in float32 ---- */

/* mean and inverse deviation of each row are kept for the backward; NULL: not wanted. root: RMS
 * normalization, whose mean is 0. */
void attn_row_norm_forward(const struct attn_host *host, float *y /* (N, D) */,
                           float *mean /* (N) */, float *inverse /* (N) */,
                           const float *x /* (N, D) */, const float *scale /* (D) */,
                           const float *bias /* (D), NULL: 0 */, int64_t n, int64_t width,
                           double epsilon, int root);

void attn_row_norm_backward(const struct attn_host *host, float *dx /* (N, D) */,
                            float *d_scale /* (D) */, float *d_bias /* (D) */,
                            const float *dy /* (N, D) */, const float *x /* (N, D) */,
                            const float *mean /* (N) */, const float *inverse /* (N) */,
                            const float *scale /* (D) */, int64_t n, int64_t width, int root);

/* ---- Activations (activation.c) ---- */

enum attn_activation {
  ATTN_RELU,
  ATTN_GELU,      /* x Phi(x)  [Hendrycks16] */
  ATTN_GELU_TANH, /* its approximation by tanh, as GPT-2 has it */
  ATTN_SWIGLU,    /* silu(x1) x2, x = (x1, x2)  [Shazeer20]; y is half as wide */
  ATTN_SILU,      /* x / (1 + e^-x)  [Hendrycks16]; Swish elsewhere */
};

void attn_activation_forward(const struct attn_host *host, enum attn_activation kind,
                             float *y /* (N, F) */, const float *x /* (N, F), SwiGLU (N, 2 F) */,
                             int64_t n, int64_t width);

void attn_activation_backward(const struct attn_host *host, enum attn_activation kind,
                              float *dx /* as x */, const float *dy /* (N, F) */,
                              const float *x /* as x */, int64_t n, int64_t width);

/* ---- Residual and dropout (residual.c): y = x + dropout(f) ---- */

/* Which numbers are dropped: a function of the seed, the use and the element alone, however rows
 * are shared out. */
struct attn_dropout {
  double probability; /* 0: nothing is */
  uint64_t seed;
  uint32_t use;                      /* what tells one use of the seed from others; below 2^16 */
  int64_t first_row, first_sequence; /* of the whole batch, where these are a part of it */
};

void attn_residual_forward(const struct attn_host *host, const struct attn_dropout *drop,
                           float *y /* (N, D), may be x */, const float *x /* (N, D), NULL: 0 */,
                           const float *f /* (N, D) */, int64_t n, int64_t width);

void attn_residual_backward(const struct attn_host *host, const struct attn_dropout *drop,
                            float *dx /* (N, D) */, float *df /* (N, D) */,
                            const float *dy /* (N, D) */, int64_t n, int64_t width);

/* ---- Multi-head attention (multihead.c): the core's, over packed sequences ---- */

struct attn_multihead {
  int64_t heads, kv_heads, key_width, value_width; /* Hq, H, E, Ev */
  int64_t sequences;
  const int64_t *cu_seqlens_q, *cu_seqlens_k; /* (sequences + 1): the first of each, the end */
  int causal;
  const float *alibi; /* (Hq), NULL: none */
  double scale;       /* 0: 1 / sqrt(E) */
  struct attn_dropout drop;
};

/* Rows that are heads * width wide, step from row to row: parts of one projection may be given. */
struct attn_rows {
  float *at;
  int64_t n, step;
};

attn_status attn_multihead_forward(const struct attn_host *host, const struct attn_multihead *m,
                                   struct attn_rows o /* (N, Hq Ev) */, float *lse /* (Hq, N) */,
                                   struct attn_rows q /* (N, Hq E) */,
                                   struct attn_rows k /* (S, H E) */,
                                   struct attn_rows v /* (S, H Ev) */, attn_error *err);

/* What the forward weighs with, of one sequence and without dropout, for those who want to see it:
 * a pass of its own, so that looking changes no bit of the forward. */
attn_status attn_multihead_weights(const struct attn_host *host, const struct attn_multihead *m,
                                   float *weights /* (Hq, N, S) */,
                                   struct attn_rows q /* (N, Hq E) */,
                                   struct attn_rows k /* (S, H E) */, attn_error *err);

/* dq, dk and dv are written, not added to. */
attn_status attn_multihead_backward(const struct attn_host *host, const struct attn_multihead *m,
                                    struct attn_rows dq, struct attn_rows dk, struct attn_rows dv,
                                    struct attn_rows d_o, struct attn_rows o, float *lse,
                                    struct attn_rows q, struct attn_rows k, struct attn_rows v,
                                    attn_error *err);

/* ---- Loss (loss.c): softmax, cross-entropy, label smoothing, in one ---- */

struct attn_loss {
  double sum;      /* of the rows' losses, in nats */
  int64_t rows;    /* that count: their target is not ATTN_NO_TARGET */
  int64_t correct; /* whose largest logit is the target's */
};
enum { ATTN_NO_TARGET = -1 };

/* loss_n = -sum_v t_v log softmax(logits_n)_v, t = (1 - smoothing) one-hot + smoothing / V
 * [Szegedy16 sec. 7]. The logits become their gradients: softmax - t, times scale, 0 in rows that
 * do not count. With evaluate they stay. */
struct attn_loss attn_loss_forward(const struct attn_host *host, float *logits /* (N, V) in, out */,
                                   const int32_t *targets /* (N) */, int64_t n, int64_t words,
                                   double smoothing, float scale, int evaluate,
                                   double *scratch /* (N) */);

#endif
