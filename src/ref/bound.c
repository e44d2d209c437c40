/* bound.c -- what the float32 kernels promise: docs/accuracy.md as code, by the names it uses. */
#include <math.h>

#include "ref.h"

static const double U = 0x1p-24;
static const double DOUBLES = 1.0001; /* roundings in double, beside those in float32 */

enum {
  BLOCK = 96,     /* keys that are summed before they are added to those before */
  FIRST_KEYS = 6, /* a row's first maximum is theirs */
};

/* c */
static double headroom(const struct attn_ref_row *row) {
  return row->keys > 1 ? ceil(log2((double)row->keys)) + 1 : 1;
}

double attn_ref_flush(const struct attn_ref_row *row) { return exp2(2 * headroom(row) - 126); }

/* tau: roundings of a sum over the visible keys. */
static double summed(const struct attn_ref_row *row) {
  double n = (double)row->visible, blocks = ceil((double)row->keys / BLOCK);
  return n > 0 ? fmin(n, BLOCK) + fmin(n, blocks) - 2 : 0;
}

/* p e^b of a logit, also where p is too small for a double. */
static double raised(const struct attn_ref_row *row, double logit, double b) {
  return logit == -(double)INFINITY ? 0 : exp(logit - row->base + b) / row->sum;
}

/* p (e^b - 1) */
static double excess(const struct attn_ref_row *row, double logit, double b) {
  return b < 1 ? raised(row, logit, 0) * expm1(b) : raised(row, logit, b) - raised(row, logit, 0);
}

/* ---- Scores ---- */

static double own_sum(const struct attn_ref_row *row, double roundings, double size, double key) {
  return row->exact_scores ? 0 : DOUBLES * expm1(U * roundings) * size + 0x1p-150 * key;
}

double attn_ref_dot_error(const struct attn_ref_row *row, int64_t width, double size, double key) {
  return own_sum(row, (double)width + (row->additive ? 10 : 1), size, key);
}

double attn_ref_score_error(const struct attn_ref_row *row, int64_t width, double size,
                            double key) {
  double more = (row->additive ? 10 : 1) + (row->bent ? 16 : 0) + (row->lifted ? 1 : 0);
  return own_sum(row, (double)width + more, size, key);
}

/* ---- Weights ---- */

/* beta - sigma: the exponent, 2^x and, after the first six keys, restarts. */
static double own_exponent(const struct attn_ref_row *row, double logit) {
  int restarts = row->keys > FIRST_KEYS;
  double far = (restarts ? 3 : 1) * (row->top - logit);
  return U * (far + 2 * log(2) * headroom(row) + (restarts ? 15 : 5) + (row->bent ? 4 : 0));
}

void attn_ref_complete_budgets(struct attn_ref_row *row) {
  double more = 0;
  for (int64_t j = 0; j < row->keys; j++) {
    if (row->scores[j] == -(double)INFINITY) continue;
    row->budget[j] += own_exponent(row, row->scores[j]);
    more += excess(row, row->scores[j], row->budget[j]);
  }
  row->spread = log1p(more);
}

/* b_j */
static double weight_budget(const struct attn_ref_row *row, int64_t j) {
  return row->budget[j] + row->spread + U * (2 * summed(row) + 4);
}

/* What all weights of a row sum to at most, as they are computed. */
static double at_most(const struct attn_ref_row *row) {
  return row->largest_kept * exp(U * (2 * summed(row) + 4));
}

double attn_ref_weight_error(const struct attn_ref_row *row, int64_t j) {
  return excess(row, row->scores[j], weight_budget(row, j));
}

double attn_ref_bound_weight(const struct attn_ref_row *row, int64_t j) {
  double logit = row->scores[j], own = row->largest_kept * attn_ref_weight_error(row, j);
  if (logit == -(double)INFINITY) return 0; /* hidden: nothing but 0 will do */
  if (row->weights[j] == 0 && raised(row, logit, 0) > 0) return 0; /* dropped: likewise */
  return fmin(own, row->weights[j] + at_most(row)) + attn_ref_flush(row) * row->largest_kept;
}

double attn_ref_bound_lse(const struct attn_ref_row *row) {
  return DOUBLES * (row->spread + U * (summed(row) + fabs(row->lse)));
}

double attn_ref_bound_output(const struct attn_ref_row *row, int64_t e) {
  double subnormal = (double)row->visible * exp2(2 * headroom(row) - 149);
  double convex = row->absolute[e] + row->largest[e] * exp(U * (2 * summed(row) + 4));
  return fmin(row->own[e], convex) + row->flushed[e] + subnormal;
}

double attn_ref_bound_rounded(attn_dtype dtype, double bound, double value) {
  double u = dtype == ATTN_F16 ? 0x1p-11 : dtype == ATTN_BF16 ? 0x1p-8 : 0;
  double least = dtype == ATTN_F16 ? 0x1p-25 : dtype == ATTN_BF16 ? 0x1p-134 : 0;
  if (dtype == ATTN_F64) return bound * 0x1p-29;
  return u > 0 ? bound + u * (fabs(value) + bound) + least : bound;
}

/* ---- Gradients ---- */

/* g_j: of a weight made anew from the log-sum-exp, or, where that is large, from the scores. Of a
 * sink, j = -1. */
static double again_budget(const struct attn_ref_row *row, int64_t j) {
  double lse = fabs(row->lse), own = j < 0 ? U : row->budget[j];
  double below = j < 0 ? 0 : fmax(row->lse - row->scores[j], 0);
  return own + row->spread + U * (summed(row) + 2 * fmin(lse, 64) + below + 2);
}

double attn_ref_recomputed_weight_error(const struct attn_ref_row *row, int64_t j) {
  double logit = j < 0 ? row->sink : row->scores[j];
  return excess(row, logit, again_budget(row, j) + 3 * U) + attn_ref_flush(row);
}

double attn_ref_product_error(int64_t values, double size) {
  return expm1(U * (double)(values + 1)) * size + (double)values * 0x1p-149;
}

double attn_ref_softcap_slope_error(double own, double cap, double t) {
  double h = own / cap, moved = 2 * h * (fabs(t) + h) * (1 - t * t) * exp(2 * h);
  return fmin(moved, 1) + 16 * U * (1 + t * t);
}

double attn_ref_bound_gradient(double size, double own, double depth) {
  double b = U * (depth + 3);
  return exp(b) * own + expm1(b) * size + 0x1p-149;
}

/* ---- Summaries: row is without its sink, whose share is taken from the rounded log-sum-exp ----
 */

/* In arithmetic of roundoff u all budgets shrink alike. */
static double lse_error(const struct attn_ref_row *row, double u) {
  return u / U * attn_ref_bound_lse(row);
}

/* 1 / (1 + exp(x)): what the keys keep of 1 with x = sink - lse; with -x, the sink's part. */
static double part(double x) { return 1 / (1 + exp(x)); }

double attn_ref_bound_shared(const struct attn_ref_row *row, double u, double sink, int64_t j) {
  if (row->scores[j] == -(double)INFINITY) return 0;
  double off = lse_error(row, u), share = part(sink - row->lse);
  double weight = excess(row, row->scores[j], u / U * weight_budget(row, j)) + attn_ref_flush(row);
  if (sink == -(double)INFINITY) return weight;
  return share * exp(off) * (weight + row->weights[j] * off);
}

/* r: the most that a weight is off by, relative to itself. */
static double worst_relative(const struct attn_ref_row *row, double u) {
  double most = 0;
  for (int64_t j = 0; j < row->keys; j++)
    if (row->weights[j] > 0) most = fmax(most, weight_budget(row, j));
  return expm1(u / U * most);
}

/* With weights off by at most r each the distribution q differs from p by
 *     H(q) - H(p) = sum (p - q)(ln p + H) - KL(q || p),
 * the first at most r / (1 - r) sum p |ln p + H|, the second at most 4 r^2 / (1 - r)^2. What is
 * flushed adds its own p ln p, the sums in double their roundings. The sink's choice comes before:
 * G(x) = h(share) + share H has |G'| <= share other (|x| + H). */
double attn_ref_bound_entropy(const struct attn_ref_row *row, double u, double sink) {
  double r = worst_relative(row, u), off = lse_error(row, u);
  double entropy = 0, spread = 0, flush = attn_ref_flush(row), n = (double)row->visible;
  if (!(r < 0.5)) return (double)INFINITY;
  for (int64_t j = 0; j < row->keys; j++)
    if (row->weights[j] > 0) entropy -= row->weights[j] * log(row->weights[j]);
  for (int64_t j = 0; j < row->keys; j++)
    if (row->weights[j] > 0) spread += row->weights[j] * fabs(log(row->weights[j]) + entropy);
  double own = (r * spread + 4 * r * r) / ((1 - r) * (1 - r)) +
               2 * n * flush * (fabs(log(flush)) + entropy + 1) +
               0x1p-53 * (16 + 4 * sqrt(n)) * (entropy + 1);
  if (sink == -(double)INFINITY) return own;
  double x = sink - row->lse, slope = part(x) * part(-x) * (fabs(x) + off + entropy);
  return part(x) * exp(off) * own + off * exp(off) * slope + 0x1p-50;
}

/* ln of the largest weight, and the log-sum-exp it is added to. */
double attn_ref_bound_logit(const struct attn_ref_row *row, double u) {
  double r = worst_relative(row, u) + (double)row->visible * attn_ref_flush(row);
  if (!(r < 0.5)) return (double)INFINITY;
  return r / (1 - r) + lse_error(row, u) + 0x1p-50 * (1 + fabs(row->lse));
}
