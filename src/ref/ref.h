/* ref.h -- the equations in double, written to be read: the oracle of every test.
 *
 * Derived from docs/semantics.md alone; shares no code with the kernels, the mask
 * logic included, so that one mistake cannot hide in both.
 */
#ifndef ATTN_REF_H
#define ATTN_REF_H

#include "attn/attn.h"

/* One row (b, h, i) of scaled dot-product attention and what bounds its error, by the names of
 * docs/accuracy.md. */
struct attn_ref_row {
  int64_t b, h, i;      /* in */
  int32_t exact_scores; /* in: 1: the scores count as exact, sigma = 0 */
  double *scores;       /* S  out: scale q.k + mask; -inf where j is not visible */
  double *weights;      /* S  out: softmax of the scores, dropped out; 0 where not visible */
  double *output;       /* Ev out */
  double *absolute;     /* Ev out: A_e = sum_j p_j |v_je| */
  /* Bounds need these; all or none. */
  double *budget;      /* S  out: beta_j, by which the logarithm of weight j is off undivided */
  double *own;         /* Ev out: sum_j of |v_je| times what p_j is off by */
  double *largest;     /* Ev out: the largest |v_je|, as dropout makes it */
  double *flushed;     /* Ev out: the part of A whose weights a float32 kernel may flush to 0 */
  double spread;       /* out: lambda, beta of the sum of all weights */
  double lse;          /* out: natural log of sum exp(scores); -inf for an empty row */
  double base, sum;    /* out: that sum is e^base sum, for lse rounds ln sum beside a large base */
  double sink;         /* out: a logit; -inf: none */
  double largest_kept; /* out: 1 / (1 - dropout) */
  double top;          /* out: the largest score; -inf for an empty row */
  int64_t visible;     /* out: n, keys seen */
  int64_t keys;        /* out: S */
  int32_t bent;        /* out: 1 with softcap: each score is rounded a few times more */
  int32_t additive;    /* out: 1 with additive scores: likewise */
  int32_t lifted;      /* out: 1 where numbers are added to the scores: a mask's or ALiBi's */
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
  /* Like the sizes, or NULL: the errors that float32 terms bring with them to the sum. With any of
   * them the row needs its bounds. */
  double *d_q_own, *d_k_own, *d_v_own, *d_scores_own, *d_additive_own;
  double d_sink_own;
};

/* After attn_ref_sdpa_row of the same row. d_lse: the gradient of its log-sum-exp. */
void attn_ref_sdpa_row_backward(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                                const attn_tensor *v, const attn_tensor *d_o, double d_lse,
                                const struct attn_ref_row *row, struct attn_ref_gradients *g);

/* ---- Bounds of float32: Lemmas and Theorems of docs/accuracy.md ---- */

/* Errors of a dot product before the softcap, and of the score after all that changes it: size is
 * the sum of the magnitudes of what it is made of, key that of the key alone. */
double attn_ref_dot_error(const struct attn_ref_row *row, int64_t width, double size, double key);
double attn_ref_score_error(const struct attn_ref_row *row, int64_t width, double size, double key);

/* From the scores' errors in row->budget to the budgets, and row->spread. */
void attn_ref_complete_budgets(struct attn_ref_row *row);

/* What p_j is off by before dropout; the promised bounds of the output, of one weight, and of the
 * row's log-sum-exp. */
double attn_ref_weight_error(const struct attn_ref_row *row, int64_t j);
double attn_ref_bound_output(const struct attn_ref_row *row, int64_t e);
double attn_ref_bound_weight(const struct attn_ref_row *row, int64_t j);
double attn_ref_bound_lse(const struct attn_ref_row *row);

/* Once rounded to 16 bits; in float64 all is 2^-29 of float32's. */
double attn_ref_bound_rounded(attn_dtype dtype, double bound, double value);

/* Weights below this may be flushed to 0 in float32. */
double attn_ref_flush(const struct attn_ref_row *row);

/* Errors in the backward: of a weight that is made anew (-1: the sink's) and multiplied by three
 * rounded numbers, of a sum of Ev products, of the slope of a softcap where tanh is t and the dot
 * product off by own. */
double attn_ref_recomputed_weight_error(const struct attn_ref_row *row, int64_t j);
double attn_ref_product_error(int64_t values, double size);
double attn_ref_softcap_slope_error(double own, double cap, double t);

/* Of a gradient: size and own are its terms', depth the most additions that one goes through. */
double attn_ref_bound_gradient(double size, double own, double depth);

/* What attn_sdpa_summarize promises before its results are rounded to their type, of a row
 * without its sink, in arithmetic of unit roundoff u; infinite where it promises nothing. sink is
 * its logit, -inf: none. A weight with its sink's share taken off, the entropy, the largest logit.
 */
double attn_ref_bound_shared(const struct attn_ref_row *row, double u, double sink, int64_t j);
double attn_ref_bound_entropy(const struct attn_ref_row *row, double u, double sink);
double attn_ref_bound_logit(const struct attn_ref_row *row, double u);

#endif
