/**
 * nn.h -- layers around attention: rotary positions, layer and RMS normalization, the general
 * attention layer; forward and backward. Part of libattn-model.
 *
 *     attn_rms_norm_forward(NULL, &x, &scale, &y, &err);
 *     attn_rotary_forward(NULL, &q, &cos, &sin, &q, &err);
 *
 * The functions keep no state: a backward takes the forward's inputs and recomputes in
 * double what it needs of the forward.
 *
 * Types    Each tensor is float32, float64, float16 or bfloat16, independently of the others,
 *          unless a function states otherwise. Everything is computed in double and rounded
 *          once, to nearest, to the output's type.
 * Views    Any strides; inputs may have strides of 0 and negative ones. An output may be an
 *          input where a function allows it, and only as the same view (data, type, strides);
 *          any other overlap is an error. Interleaved views, such as different columns of one
 *          matrix, do not overlap.
 * Errors   ATTN_ERR_ARGUMENT, _SHAPE, _TYPE, _MEMORY; outputs are unchanged then.
 * Threads  Reentrant; outputs of concurrent calls must not overlap. The same bits for any
 *          number of threads and any executor. Without an executor, libattn-model's own
 *          thread pool is used, as attn.h describes.
 *
 * References: [Su21] arXiv 2104.09864; [Ba16] arXiv 1607.06450; [Zhang19] arXiv 1910.07467;
 *             [Vaswani17] arXiv 1706.03762; [Luong15] arXiv 1508.04025; [Bahdanau14] arXiv
 *             1409.0473; [Xu15] arXiv 1502.03044; ONNX RotaryEmbedding-23, LayerNormalization-17,
 *             RMSNormalization-23.
 */
#ifndef ATTN_NN_H
#define ATTN_NN_H

#include "attn/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Rotary position embedding ------------------------------------------- */

/** Bits of attn_rotary.flags. An unknown bit is an error. */
typedef enum attn_rotary_flag {
  ATTN_ROTARY_INTERLEAVED = 1, /* pairs (0, 1), (2, 3), ..; else (k, k + R/2), "rotate half" */
} attn_rotary_flag;

/**
 * Describes which elements of a head are rotated, and by which row of the tables.
 * The first R = rotary_dim of the E elements of each head are rotated, the others copied.
 */
typedef struct attn_rotary {
  size_t struct_size;            /* sizeof(attn_rotary) */
  uint64_t flags;                /* attn_rotary_flag bits */
  int64_t rotary_dim;            /* R: even, 0 < R <= E; 0: E, which must be even then */
  int64_t heads;                 /* H; required for tensors of rank 3, may be 0 for rank 4 */
  const attn_tensor *positions;  /* in   (B, L) int32 or int64, each in 0 .. P-1, or NULL */
  const attn_executor *executor; /* NULL: the library's pool */
  int32_t threads;               /* the maximum number; 0: as many as the executor has */
  int32_t reserved;              /* 0 */
} attn_rotary;

#ifdef __cplusplus
#define ATTN_ROTARY_INIT { sizeof(attn_rotary) }
#else
#define ATTN_ROTARY_INIT { .struct_size = sizeof(attn_rotary) }
#endif

/**
 * Rotates each pair (x1, x2) of a head by the angle of its position:
 *
 *     y1 = cos x1 - sin x2
 *     y2 = sin x1 + cos x2                                     [Su21 eq. 34]
 *
 *   desc      in   NULL: R = E, pairs (k, k + R/2), no positions
 *   x         in   (B, H, L, E), or (B, L, H * E) with desc->heads
 *   cos, sin  in   with positions (P, R/2), else (B, L, R/2); a batch stride of 0 shares them
 *   y         out  of x's shape and type; may be x itself
 *
 * Accuracy  |y - exact| <= u |y| + 2^-52 (|cos x1| + |sin x2|), likewise for y2, for the
 *           given tables; u is y's unit roundoff, docs/accuracy.md.
 * Cost      6 operations per pair; allocates no memory.
 * Errors    ATTN_ERR_ARGUMENT also for a position outside the tables.
 * Source    ONNX RotaryEmbedding-23.
 */
ATTN_API attn_status attn_rotary_forward(const attn_rotary *desc, const attn_tensor *x,
                                         const attn_tensor *cos, const attn_tensor *sin,
                                         const attn_tensor *y, attn_error *err);

/**
 * Computes the gradient of x from that of y: the inverse rotation.
 *
 *     dx1 =  cos dy1 + sin dy2
 *     dx2 = -sin dy1 + cos dy2
 *
 *   desc, cos, sin  in   as in the forward
 *   d_y             in   of y's shape
 *   d_x             out  of d_y's shape and type; may be d_y itself
 *
 * The tables have no gradient. Accuracy, cost, errors as attn_rotary_forward.
 */
ATTN_API attn_status attn_rotary_backward(const attn_rotary *desc, const attn_tensor *cos,
                                          const attn_tensor *sin, const attn_tensor *d_y,
                                          const attn_tensor *d_x, attn_error *err);

/**
 * Fills the tables of positions first .. first + P - 1:
 *
 *     cos[p][k] = cos((first + p) base^(-2k/R)), k < R/2, likewise sin        [Su21 eq. 15]
 *
 *   base      in   10000 in most models; finite, above 0
 *   first     in   at least 0; first + P at most 2^53
 *   cos, sin  out  (P, R/2) both
 *
 * Accuracy  |cos - exact| <= u + 2^-53 (4 + |ln base|) angle, likewise for sin: the
 *           angle is computed in double, and its error grows with it; docs/accuracy.md.
 * Cost      pow and cos or sin for each element, about 100 ns; one thread.
 * Errors    ATTN_ERR_ARGUMENT, _SHAPE, _TYPE.
 */
ATTN_API attn_status attn_rotary_tables(double base, int64_t first, const attn_tensor *cos,
                                        const attn_tensor *sin, attn_error *err);

/* ---- Normalization ------------------------------------------------------- */

/** Which optional members of attn_norm are set. An unknown bit is an error. */
typedef enum attn_norm_flag {
  ATTN_NORM_EPSILON = 1, /* .epsilon; else 1e-5 */
  ATTN_NORM_AXIS = 2,    /* .axis; else -1: the last dimension */
} attn_norm_flag;

/**
 * Describes a normalization. Dimensions axis .. rank - 1 of x are normalized together: they are
 * a row of n elements; each choice of the other dimensions is one row.
 */
typedef struct attn_norm {
  size_t struct_size; /* sizeof(attn_norm) */
  uint64_t flags;     /* attn_norm_flag bits */
  double epsilon;     /* finite, at least 0; with 0 a row of variance 0 becomes NaN (0/0) */
  int32_t axis;       /* -rank .. rank-1; negative ones count from the end */
  int32_t threads;    /* the maximum number; 0: as many as the executor has */
  const attn_executor *executor;   /* NULL: the library's pool */
  const attn_allocator *allocator; /* NULL: aligned_alloc and free; used by the backward only */
} attn_norm;

#ifdef __cplusplus
#define ATTN_NORM_INIT { sizeof(attn_norm) }
#else
#define ATTN_NORM_INIT { .struct_size = sizeof(attn_norm) }
#endif

/**
 * Applies layer normalization: mean 0 and variance 1 in each row, then scale and bias.
 *
 *     mean = sum x / n,  s = sqrt(sum (x - mean)^2 / n + epsilon),
 *     y = (x - mean) / s * scale + bias                        [Ba16 eq. 3, 4]
 *
 *   desc         in   NULL: the last dimension, epsilon 1e-5
 *   x            in   rank at least 1
 *   scale, bias  in   each broadcasts to x's shape as in NumPy; NULL: 1 and 0
 *   y            out  of x's shape; may be x itself
 *   mean, inv_std_dev  out  mean and 1 / s, of x's shape with 1 from axis on; NULL: not computed
 *
 * A NaN or an infinity makes its row NaN and no other row. The mean of a row of no elements is NaN.
 *
 * Accuracy  |y - exact| <= u |y| + |scale| e + 2^-51 (|scale xhat| + |bias|), where
 *           xhat = (x - mean) / s and e is about (n + 12) 2^-53 (1 + |xhat|), docs/accuracy.md: for
 *           float32 one rounding, however far the mean is from 0. float64 needs squares that do
 *           not overflow: |x| < 10^150.
 * Cost      9 operations per element in three passes over the row; allocates no memory.
 * Source    ONNX LayerNormalization-17.
 */
ATTN_API attn_status attn_layer_norm_forward(const attn_norm *desc, const attn_tensor *x,
                                             const attn_tensor *scale, const attn_tensor *bias,
                                             const attn_tensor *y, const attn_tensor *mean,
                                             const attn_tensor *inv_std_dev, attn_error *err);

/** The gradients to compute; NULL: not computed. They are written, not accumulated. */
typedef struct attn_norm_gradients {
  size_t struct_size;         /* sizeof(attn_norm_gradients) */
  const attn_tensor *d_x;     /* out  of x's shape; may be d_y or x itself */
  const attn_tensor *d_scale; /* out  of scale's shape, summed where it broadcasts */
  const attn_tensor *d_bias;  /* out  of the bias's shape. attn_layer_norm_backward only */
} attn_norm_gradients;

#ifdef __cplusplus
#define ATTN_NORM_GRADIENTS_INIT { sizeof(attn_norm_gradients) }
#else
#define ATTN_NORM_GRADIENTS_INIT { .struct_size = sizeof(attn_norm_gradients) }
#endif

/**
 * Computes the gradients of attn_layer_norm_forward(desc, x, scale, bias, y, ..) from d_y, y's:
 *
 *     g = d_y scale,  d_x = (g - sum g / n - xhat sum (g xhat) / n) / s
 *     d_scale = sum d_y xhat,  d_bias = sum d_y      over what they broadcast to
 *
 *   desc, x, scale  in   as in the forward
 *   d_y             in   of x's shape
 *
 * Accuracy  u |exact| and a few n 2^-53 of the sum of the terms' magnitudes, docs/accuracy.md.
 * Cost      20 operations per element in six passes; allocates 24 bytes per row. Threads share
 *           the columns of d_scale and d_bias, so few columns use few threads.
 */
ATTN_API attn_status attn_layer_norm_backward(const attn_norm *desc, const attn_tensor *x,
                                              const attn_tensor *scale, const attn_tensor *d_y,
                                              const attn_norm_gradients *gradients,
                                              attn_error *err);

/**
 * Applies RMS normalization: layer normalization without the mean.
 *
 *     s = sqrt(sum x^2 / n + epsilon),  y = x / s * scale      [Zhang19 eq. 4]
 *
 *   desc   in   NULL: the last dimension, epsilon 1e-5
 *   x      in   rank at least 1
 *   scale  in   broadcasts to x's shape as in NumPy; NULL: 1
 *   y      out  of x's shape; may be x itself
 *
 * A NaN makes its row NaN and no other row; an infinity becomes NaN and the rest of its row 0.
 *
 * Accuracy  |y - exact| <= (u + (n/2 + 8) 2^-53) |y|. float64 needs squares that neither overflow
 *           nor vanish: |x| < 10^150, and epsilon above 0 or some |x| > 10^-140.
 * Cost      5 operations per element in two passes; allocates no memory.
 * Source    ONNX RMSNormalization-23.
 */
ATTN_API attn_status attn_rms_norm_forward(const attn_norm *desc, const attn_tensor *x,
                                           const attn_tensor *scale, const attn_tensor *y,
                                           attn_error *err);

/**
 * Computes the gradients of attn_rms_norm_forward(desc, x, scale, y) from d_y, y's:
 *
 *     g = d_y scale,  d_x = (g - xhat sum (g xhat) / n) / s,  d_scale = sum d_y xhat
 *
 * As attn_layer_norm_backward; gradients->d_bias must be NULL.
 */
ATTN_API attn_status attn_rms_norm_backward(const attn_norm *desc, const attn_tensor *x,
                                            const attn_tensor *scale, const attn_tensor *d_y,
                                            const attn_norm_gradients *gradients, attn_error *err);

/* ---- General attention layer --------------------------------------------- */

/**
 * The parameters of an attention layer: each of M queries attends to N inputs.
 *
 *     Q' = Q W_q   K = X W_k   V = X W_v   O = attention(Q', K, V)   Y = O W_o
 *
 * A matrix that is NULL is left out: without W_q the queries are compared as they are, without W_k
 * and W_v the inputs themselves are keys and values. Self-attention is a call whose q is x. Of
 * several heads, head h has columns h Eq .. (h + 1) Eq - 1 of Q', h Ek .. of K, h Ev .. of V and O.
 */
typedef struct attn_attention_layer {
  size_t struct_size; /* sizeof(attn_attention_layer) */
  int64_t heads;      /* H; 0: 1 */
  /* in   NULL: plain attention; else as for attn_score_forward: scale (1 / sqrt(E) for dot products
   * unless given; 1: the plain dot product), mask, causal, key_lengths, dropout, empty_row,
   * executor, allocator, threads. The forward writes .lse and .weights. .workspace is not used. */
  const attn_sdpa *sdpa;
  const attn_score *score; /* in   NULL: the dot product; else the score of rows of Q' and K */
  const attn_tensor *w_q;  /* in   (Dq, H Eq), NULL: Q' = Q */
  const attn_tensor *w_k;  /* in   (Dx, H Ek), NULL: K = X */
  const attn_tensor *w_v;  /* in   (Dx, H Ev), NULL: V = X */
  const attn_tensor *w_o;  /* in   (H Ev, Do), NULL: Y = O, Do = H Ev */
} attn_attention_layer;

#ifdef __cplusplus
#define ATTN_ATTENTION_LAYER_INIT { sizeof(attn_attention_layer) }
#else
#define ATTN_ATTENTION_LAYER_INIT { .struct_size = sizeof(attn_attention_layer) }
#endif

/**
 * Applies an attention layer to one set of inputs and queries, or to each of a batch:
 *
 *     e_ij = score(q'_i, k_j),  a_i = softmax(e_i),  y_i = (sum_j a_ij v_j) W_o
 *
 *   layer  in   NULL: one head, no matrices, scaled dot product
 *   x      in   (N, Dx) or (B, N, Dx)
 *   q      in   (M, Dq) or (B, M, Dq), of x's rank; may be x
 *   y      out  (M, Do) or (B, M, Do); must not overlap any input
 *
 * The score compares heads of rank one more than x, (B, H, M, Eq) with (B, H, N, Ek) or (H, M, Eq)
 * with (H, N, Ek): so the mask broadcasts to (B, H, M, N), .lse is (B, H, M) and .weights (B, H, M,
 * N), and score->w may be (Eq, Ek) or (H, Eq, Ek). Dot products require Eq = Ek.
 *
 * Everything is computed in float64 if x, q or a matrix is float64, else in float32; .lse and
 * .weights have that type, y any float type. score's parameters and the mask may have other types.
 *
 * Accuracy  float32: an element of Q', K, V or Y, a sum of D products, errs by at most
 *           (D + 1) 2^-24 sum |a b|; to it comes the error of attn_score_forward on these. float64:
 *           the same with 2^-53. Other types of y: one rounding more.
 * Cost      2 B (N Dx H (Ek + Ev) + M Dq H Eq + M H Ev Do) operations and those of
 *           attn_score_forward; memory for Q', K, V, O and Y, and for copies of inputs that are not
 *           dense or of another type. float64 is slower by an order of magnitude.
 * Errors    as attn_score_forward, which names q, k and v where Q', K and V do not match.
 *           ATTN_ERR_MEMORY, _INTERRUPTED: .lse and .weights may be written, y is unchanged.
 * Source    [Vaswani17 sec. 3.2, Luong15 sec. 3.1, Bahdanau14 A.1.2, Xu15 sec. 3.1].
 */
ATTN_API attn_status attn_attention_layer_forward(const attn_attention_layer *layer,
                                                  const attn_tensor *x, const attn_tensor *q,
                                                  const attn_tensor *y, attn_error *err);

/** The gradients to compute; NULL: not computed. They are written, not accumulated. */
typedef struct attn_attention_layer_gradients {
  size_t struct_size;       /* sizeof(attn_attention_layer_gradients) */
  const attn_tensor *d_x;   /* out  of x's shape: that of keys and values. With q = x the gradient
                               of both is d_x + d_q */
  const attn_tensor *d_q;   /* out  of q's shape */
  const attn_tensor *d_w_q; /* out  of w_q's shape; NULL if w_q is, likewise the others */
  const attn_tensor *d_w_k; /* out */
  const attn_tensor *d_w_v; /* out */
  const attn_tensor *d_w_o; /* out */
  const attn_score_gradients *score; /* in   those of the score's parameters, NULL: none */
} attn_attention_layer_gradients;

#ifdef __cplusplus
#define ATTN_ATTENTION_LAYER_GRADIENTS_INIT { sizeof(attn_attention_layer_gradients) }
#else
#define ATTN_ATTENTION_LAYER_GRADIENTS_INIT { .struct_size = sizeof(attn_attention_layer_gradients) }
#endif

/**
 * Computes the gradients of attn_attention_layer_forward(layer, x, q, y) from d_y, y's.
 *
 *   layer, x, q  in   as in the forward; .lse and .weights of layer->sdpa are not used
 *   d_y          in   of y's shape
 *
 * The forward is recomputed. A key that no query sees must still be finite in x for d_w_k and
 * d_w_v, whose sums run over all rows.
 *
 * Accuracy  float32: attn_score_backward's, and that of sums of products as in the forward, over
 *           B N or B M rows for the matrices.
 * Cost      that of the forward, twice its products and attn_score_backward; memory for the
 *           gradients of Q', K, V, O and of each result more.
 * Errors    as in the forward. ATTN_ERR_MEMORY, _INTERRUPTED: those of .score may be written.
 */
ATTN_API attn_status attn_attention_layer_backward(const attn_attention_layer *layer,
                                                   const attn_tensor *x, const attn_tensor *q,
                                                   const attn_tensor *d_y,
                                                   const attn_attention_layer_gradients *gradients,
                                                   attn_error *err);

#ifdef __cplusplus
}
#endif
#endif
