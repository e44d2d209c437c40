/* ref.h -- the reference implementation in double, the oracle of every test.
 *
 * Written from docs/semantics.md alone. It shares no code with the kernels, mask logic included, so
 * that the same mistake is not in both.
 */
#ifndef ATTN_REF_H
#define ATTN_REF_H

#include "attn/attn.h"

/* One row (b, h, i) of scaled dot-product attention and the terms of its error bounds, with the
 * symbols of docs/accuracy.md. */
struct attn_ref_row {
  int64_t b, h, i;      /* in */
  int32_t exact_scores; /* in: 1: the scores are taken as exact, sigma = 0 */
  int32_t has_dots;     /* in: 1: computed by bf16 dot products, with P and dS rounded to bf16 */
  double *scores;       /* S  out: after softcap, mask and ALiBi; -inf where j is not visible */
  double *weights;      /* S  out: softmax of the scores, dropped out; 0 where not visible */
  double *output;       /* Ev out */
  double *absolute;     /* Ev out: A_e = sum_j p_j |v_je| */
  /* For the bounds; set all or none. */
  double *budget;  /* S  out: beta_j, the error of the logarithm of weight j before normalization */
  double *error;   /* Ev out: sum_j |v_je| times the error of p_j */
  double *largest; /* Ev out: the largest |v_je|, after dropout */
  double *flushed; /* Ev out: the part of A whose weights a float32 kernel may flush to 0 */
  double spread;   /* out: lambda, beta of the sum of all weights */
  double lse;      /* out: ln of the sum of exp(scores) and exp(sink); -inf if there are neither */
  double base, sum;    /* out: lse = base + ln sum, where a large base would round ln sum */
  double sink;         /* out: a logit; -inf: none */
  double largest_kept; /* out: 1 / (1 - dropout) */
  double top;          /* out: the largest score; -inf for an empty row */
  int64_t visible;     /* out: n, keys seen */
  int64_t keys;        /* out: S */
  int32_t has_softcap; /* out: 1 with softcap: each score has additional roundings */
  int32_t additive;    /* out: 1 with additive scores: likewise */
  int32_t has_bias;    /* out: 1 with a float mask or ALiBi: likewise */
};

/* Computes row. The tensors have rank 4 and any float type and are validated; desc may be NULL.
 * Reads k and v of visible keys only. */
void attn_ref_sdpa_row(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                       const attn_tensor *v, struct attn_ref_row *row);

/* The gradients that one row contributes, and the sums of the magnitudes of their terms (_size). */
struct attn_ref_gradients {
  double *d_q, *d_q_size;               /* E   out */
  double *d_k, *d_k_size;               /* S x E   added to */
  double *d_v, *d_v_size;               /* S x Ev  added to */
  double *d_scores, *d_scores_size;     /* S   out: the gradient of the mask; 0 where not visible */
  double d_sink, d_sink_size;           /* out */
  double *d_additive, *d_additive_size; /* E   added to; of additive scores */
  /* Like the sizes, or NULL: the errors of the float32 terms of the sum. They require the row's
   * bounds. */
  double *d_q_error, *d_k_error, *d_v_error, *d_scores_error, *d_additive_error;
  double d_sink_error;
};

/* Computes the gradients after attn_ref_sdpa_row of the same row. d_lse: the gradient of its
 * log-sum-exp. */
void attn_ref_sdpa_row_backward(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                                const attn_tensor *v, const attn_tensor *d_o, double d_lse,
                                const struct attn_ref_row *row, struct attn_ref_gradients *g);

/* ---- Bounds of float32: Lemmas and Theorems of docs/accuracy.md ---- */

/* The error of a dot product before the softcap, and of the final score. size: the sum of the
 * magnitudes of its terms; key: that of the key. */
double attn_ref_dot_error(const struct attn_ref_row *row, int64_t width, double size, double key);
double attn_ref_score_error(const struct attn_ref_row *row, int64_t width, double size, double key);

/* Turns the errors of the scores in row->budget into the budgets; computes row->spread. */
void attn_ref_complete_budgets(struct attn_ref_row *row);

/* The error of p_j before dropout; the bounds of the output, of one weight, and of the log-sum-exp.
 */
double attn_ref_weight_error(const struct attn_ref_row *row, int64_t j);
double attn_ref_bound_output(const struct attn_ref_row *row, int64_t e);
double attn_ref_bound_weight(const struct attn_ref_row *row, int64_t j);
double attn_ref_bound_lse(const struct attn_ref_row *row);

/* A bound after rounding to a 16-bit type; in float64 a bound is 2^-29 of float32's. */
double attn_ref_bound_rounded(attn_dtype dtype, double bound, double value);

/* Weights below this may be flushed to 0 in float32. */
double attn_ref_flush(const struct attn_ref_row *row);

/* Errors in the backward: of a recomputed weight (-1: the sink's) times three rounded factors; of a
 * sum of Ev products, with the sum of the magnitudes of their factors; of the slope of a softcap
 * where tanh is t and the dot product has error `error`. */
double attn_ref_recomputed_weight_error(const struct attn_ref_row *row, int64_t j);
double attn_ref_product_error(const struct attn_ref_row *row, int64_t values, double size,
                              double factors);
double attn_ref_softcap_slope_error(double error, double cap, double t);

/* The error of P or dS as a factor of a gradient, given its error in float32; least: what a product
 * with it loses where factors or sums are subnormal. */
double attn_ref_factor_error(const struct attn_ref_row *row, double factor, double error,
                             double *least);

/* The bound of a gradient: size and error are those of its terms, depth is the most additions that
 * a term takes part in. */
double attn_ref_bound_gradient(double size, double error, double depth);

/* The bounds of attn_sdpa_summarize before rounding to the result's type, of a row without its
 * sink, in arithmetic of unit roundoff u; infinite if unbounded. sink: its logit; -inf: none. A
 * weight after the sink's share, the entropy, the largest logit. */
double attn_ref_bound_shared(const struct attn_ref_row *row, double u, double sink, int64_t j);
double attn_ref_bound_entropy(const struct attn_ref_row *row, double u, double sink);
double attn_ref_bound_logit(const struct attn_ref_row *row, double u);

#endif
