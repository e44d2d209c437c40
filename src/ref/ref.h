/* ref.h -- the equations in double, written to be read: the oracle of every test.
 *
 * Derived from docs/semantics.md alone; shares no code with the kernels, the mask
 * logic included, so that one mistake cannot hide in both.
 */
#ifndef ATTN_REF_H
#define ATTN_REF_H

#include "attn/attn.h"

/* One row (b, h, i) of scaled dot-product attention and what bounds its error. */
struct attn_ref_row {
  int64_t b, h, i;      /* in */
  double *scores;       /* S  out: scale q.k + mask; -inf where j is not visible */
  double *weights;      /* S  out: softmax of the scores; 0 where not visible */
  double *output;       /* Ev out */
  double *absolute;     /* Ev out: A_e = sum_j p_j |v_je| */
  double *flushed;      /* Ev out: the part of A whose weights a float32 kernel may flush to 0 */
  double key_magnitude; /* out: K = max over visible j of sum_e |k_je| */
  double lse;           /* out: natural log of sum exp(scores); -inf for an empty row */
  /* out: S = max over visible j of |scale| sum_e |q_e k_je| + |mask| + |alibi|; of additive scores
   * the sum is sum_e |a_e| */
  double magnitude;
  double largest_kept; /* out: 1 / (1 - dropout) */
  int32_t bent;        /* out: 1 with softcap: each score is rounded a few times more */
  int64_t visible;     /* out: n, keys seen */
  int64_t keys;        /* out: S */
  int32_t additive;    /* out: 1 with additive scores: each term is rounded a few times more */
  int32_t lifted;      /* out: 1 where numbers are added to the scores: a mask's or ALiBi's */
  double top;          /* out: the largest score; -inf for an empty row */
  double *far; /* Ev out, or NULL: sum_j p_j |v_je| (top - s_j), A with each key's distance */
};

/* Fills row. Tensors of rank 4 (B, Hq, L, E) and so on, float32 or float64, already
 * validated by the door; desc may be NULL. Reads k and v of visible keys only. */
void attn_ref_sdpa_row(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                       const attn_tensor *v, struct attn_ref_row *row);

/* The gradients that one row contributes, with the sums of the magnitudes of their terms. */
struct attn_ref_gradients {
  double *d_q, *d_q_size;               /* E   out */
  double *d_k, *d_k_size;               /* S x E   added to */
  double *d_v, *d_v_size;               /* S x Ev  added to */
  double *d_scores, *d_scores_size;     /* S   out: what reaches the mask; 0 where not visible */
  double d_sink, d_sink_size;           /* out */
  double *d_additive, *d_additive_size; /* E   added to; of additive scores */
  /* Like the sizes, or NULL: the errors that the terms bring with them to the sum, in units of
   * float32's roundoff. With any of them row->far is needed. */
  double *d_q_own, *d_k_own, *d_v_own, *d_scores_own, *d_additive_own;
  double d_sink_own;
};

/* After attn_ref_sdpa_row of the same row. d_lse: the gradient of its log-sum-exp. */
void attn_ref_sdpa_row_backward(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                                const attn_tensor *v, const attn_tensor *d_o, double d_lse,
                                const struct attn_ref_row *row, struct attn_ref_gradients *g);

/* What the float32 kernels promise of a gradient: size and own are its terms', count how many. */
double attn_ref_bound_gradient(double size, double own, double count);

/* In units of the roundoff: errors of one score, of a weight made from the rounded log-sum-exp
 * relative to itself, and of the slope of a softcap where tanh is t. */
double attn_ref_own_score(const struct attn_ref_row *row, int64_t width);
double attn_ref_own_weight(const struct attn_ref_row *row, int64_t width, int64_t j);
double attn_ref_own_slope(const struct attn_ref_row *row, int64_t width, double cap, double t);

/* The output's bound in units of the roundoff, what is flushed or subnormal aside. */
double attn_ref_own_output(const struct attn_ref_row *row, int64_t width, int64_t e);

/* Weights below this may be flushed to 0 in float32, docs/accuracy.md: a function of S alone. */
double attn_ref_flush(int64_t keys);

/* The promised bound on |o_e - exact| for float32, docs/accuracy.md. */
double attn_ref_bound_f32(const struct attn_ref_row *row, int64_t width, int64_t e);

/* The same for one weight, and for the row's log-sum-exp. */
double attn_ref_bound_weight(const struct attn_ref_row *row, int64_t width, int64_t j);
double attn_ref_bound_lse(const struct attn_ref_row *row, int64_t width);

/* What attn_sdpa_summarize promises before its results are rounded to their type, of a row
 * without its sink, in arithmetic of unit roundoff u; infinite where it promises nothing. sink is
 * its logit, -inf: none. A weight with its sink's share taken off, the entropy, the largest logit.
 */
double attn_ref_bound_shared(const struct attn_ref_row *row, int64_t width, double u, double sink,
                             int64_t j);
double attn_ref_bound_entropy(const struct attn_ref_row *row, int64_t width, double u, double sink);
double attn_ref_bound_logit(const struct attn_ref_row *row, int64_t width, double u);

#endif
