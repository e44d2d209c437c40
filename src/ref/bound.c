/* bound.c -- the error bounds of docs/accuracy.md as code, with its symbols. */
#include <math.h>

#include "ref.h"

static const double U = 0x1p-24;
static const double DOUBLES = 1.0001; /* factor for the roundings in double */
static const double LEAST = 0x1p-126; /* bf16 dot products flush what is smaller */

enum {
  BLOCK = 96,     /* keys per partial sum */
  FIRST_KEYS = 6, /* keys that give the first maximum of a row */
};

/* c */
static double headroom(const struct attn_ref_row *row) {
  return row->keys > 1 ? ceil(log2((double)row->keys)) + 1 : 1;
}

double attn_ref_flush(const struct attn_ref_row *row) { return exp2(2 * headroom(row) - 126); }

/* tau: the roundings of a sum over the visible keys. */
static double summed(const struct attn_ref_row *row) {
  double n = (double)row->visible, blocks = ceil((double)row->keys / BLOCK);
  return n > 0 ? fmin(n, BLOCK) + fmin(n, blocks) - 2 : 0;
}

/* p e^b of a logit, even if p underflows. */
static double raised(const struct attn_ref_row *row, double logit, double b) {
  return logit == -(double)INFINITY ? 0 : exp(logit - row->base + b) / row->sum;
}

/* p (e^b - 1) */
static double excess(const struct attn_ref_row *row, double logit, double b) {
  return b < 1 ? raised(row, logit, 0) * expm1(b) : raised(row, logit, b) - raised(row, logit, 0);
}

/* ---- Scores ---- */

static double sum_error(const struct attn_ref_row *row, double roundings, double size, double key) {
  if (row->exact_scores) return 0;
  if (row->has_dots) return DOUBLES * (expm1(U * (roundings + 1)) * size + LEAST * key) + 0x1p-150;
  return DOUBLES * expm1(U * roundings) * size + 0x1p-150 * key;
}

double attn_ref_dot_error(const struct attn_ref_row *row, int64_t width, double size, double key) {
  return sum_error(row, (double)width + (row->additive ? 10 : 1), size, key);
}

double attn_ref_score_error(const struct attn_ref_row *row, int64_t width, double size,
                            double key) {
  double more = (row->additive ? 10 : 1) + (row->has_softcap ? 16 : 0) + (row->has_bias ? 1 : 0);
  return sum_error(row, (double)width + more, size, key);
}

/* ---- Weights ---- */

/* beta - sigma: the exponent, 2^x and, beyond the first six keys, rescaling. */
static double exponent_error(const struct attn_ref_row *row, double logit) {
  int restarts = row->keys > FIRST_KEYS;
  double far = (restarts ? 3 : 1) * (row->top - logit);
  return U * (far + 2 * log(2) * headroom(row) + (restarts ? 15 : 5) + (row->has_softcap ? 4 : 0));
}

void attn_ref_complete_budgets(struct attn_ref_row *row) {
  double more = 0;
  for (int64_t j = 0; j < row->keys; j++) {
    if (row->scores[j] == -(double)INFINITY) continue;
    row->budget[j] += exponent_error(row, row->scores[j]);
    more += excess(row, row->scores[j], row->budget[j]);
  }
  row->spread = log1p(more);
}

/* b_j. A rounded weight is divided by the sum of rounded weights. */
static double weight_budget(const struct attn_ref_row *row, int64_t j) {
  double rounded = row->has_dots ? 0x1p-7 : 0;
  return row->budget[j] + row->spread + U * (2 * summed(row) + 4) + rounded;
}

/* The largest computed sum of the weights of a row. */
static double weight_sum_max(const struct attn_ref_row *row) {
  return row->largest_kept * exp(U * (2 * summed(row) + 4));
}

double attn_ref_weight_error(const struct attn_ref_row *row, int64_t j) {
  return excess(row, row->scores[j], weight_budget(row, j));
}

double attn_ref_bound_weight(const struct attn_ref_row *row, int64_t j) {
  double logit = row->scores[j], error = row->largest_kept * attn_ref_weight_error(row, j);
  if (logit == -(double)INFINITY) return 0;                        /* hidden: exactly 0 */
  if (row->weights[j] == 0 && raised(row, logit, 0) > 0) return 0; /* dropped: exactly 0 */
  return fmin(error, row->weights[j] + weight_sum_max(row)) +
         attn_ref_flush(row) * row->largest_kept;
}

double attn_ref_bound_lse(const struct attn_ref_row *row) {
  return DOUBLES * (row->spread + U * (summed(row) + fabs(row->lse)));
}

double attn_ref_bound_output(const struct attn_ref_row *row, int64_t e) {
  double n = (double)row->visible, c = headroom(row);
  double subnormal = row->has_dots ? (n + 1) * exp2(2 * c) * LEAST : n * exp2(2 * c - 149);
  double convex = row->absolute[e] + row->largest[e] * exp(U * (2 * summed(row) + 4));
  return fmin(row->error[e], convex) + row->flushed[e] + subnormal;
}

double attn_ref_bound_rounded(attn_dtype dtype, double bound, double value) {
  double u = dtype == ATTN_F16 ? 0x1p-11 : dtype == ATTN_BF16 ? 0x1p-8 : 0;
  double least = dtype == ATTN_F16 ? 0x1p-25 : dtype == ATTN_BF16 ? 0x1p-134 : 0;
  if (dtype == ATTN_F64) return bound * 0x1p-29;
  return u > 0 ? bound + u * (fabs(value) + bound) + least : bound;
}

/* ---- Gradients ---- */

/* g_j of a weight recomputed from the log-sum-exp or, where that is large, from the scores; of the
 * sink with j = -1. */
static double recomputed_budget(const struct attn_ref_row *row, int64_t j) {
  double lse = fabs(row->lse), error = j < 0 ? U : row->budget[j];
  double below = j < 0 ? 0 : fmax(row->lse - row->scores[j], 0);
  return error + row->spread + U * (summed(row) + 2 * fmin(lse, 64) + below + 2);
}

double attn_ref_recomputed_weight_error(const struct attn_ref_row *row, int64_t j) {
  double logit = j < 0 ? row->sink : row->scores[j];
  return excess(row, logit, recomputed_budget(row, j) + 3 * U) + attn_ref_flush(row);
}

double attn_ref_product_error(const struct attn_ref_row *row, int64_t values, double size,
                              double factors) {
  double n = (double)values, flushed = row->has_dots ? LEAST * (factors + n) : n * 0x1p-149;
  return expm1(U * (n + 1)) * size + flushed;
}

double attn_ref_factor_error(const struct attn_ref_row *row, double factor, double error,
                             double *least) {
  *least = 0x1p-149;
  if (!row->has_dots) return error;
  error += 0x1p-8 * (fabs(factor) + error) + LEAST;
  *least = LEAST * (1 + fabs(factor) + error);
  return error;
}

double attn_ref_softcap_slope_error(double error, double cap, double t) {
  double h = error / cap, moved = 2 * h * (fabs(t) + h) * (1 - t * t) * exp(2 * h);
  return fmin(moved, 1) + 16 * U * (1 + t * t);
}

double attn_ref_bound_gradient(double size, double error, double depth) {
  double b = U * (depth + 3);
  return exp(b) * error + expm1(b) * size + 0x1p-149;
}

/* ---- Summaries: row has no sink; its share comes from the rounded log-sum-exp ---- */

/* In arithmetic of roundoff u all budgets scale by u / U. */
static double lse_error(const struct attn_ref_row *row, double u) {
  return u / U * attn_ref_bound_lse(row);
}

/* 1 / (1 + exp(x)) with x = sink - lse: the share of the keys; with -x, that of the sink. */
static double part(double x) { return 1 / (1 + exp(x)); }

double attn_ref_bound_shared(const struct attn_ref_row *row, double u, double sink, int64_t j) {
  if (row->scores[j] == -(double)INFINITY) return 0;
  double off = lse_error(row, u), share = part(sink - row->lse);
  double weight = excess(row, row->scores[j], u / U * weight_budget(row, j)) + attn_ref_flush(row);
  if (sink == -(double)INFINITY) return weight;
  return share * exp(off) * (weight + row->weights[j] * off);
}

/* r: the largest relative error of a weight. */
static double worst_relative(const struct attn_ref_row *row, double u) {
  double worst = 0;
  for (int64_t j = 0; j < row->keys; j++)
    if (row->weights[j] > 0) worst = fmax(worst, weight_budget(row, j));
  return expm1(u / U * worst);
}

/* With weights off by at worst r each the distribution q differs from p by
 *     H(q) - H(p) = sum (p - q)(ln p + H) - KL(q || p),
 * the first at worst r / (1 - r) sum p |ln p + H|, the second at worst 4 r^2 / (1 - r)^2. Flushed
 * weights add their p ln p, the sums in double their roundings. With a sink the entropy is
 * G(x) = h(share) + share H with |G'| <= share other (|x| + H). */
double attn_ref_bound_entropy(const struct attn_ref_row *row, double u, double sink) {
  double r = worst_relative(row, u), off = lse_error(row, u);
  double entropy = 0, spread = 0, flush = attn_ref_flush(row), n = (double)row->visible;
  if (!(r < 0.5)) return (double)INFINITY;
  for (int64_t j = 0; j < row->keys; j++)
    if (row->weights[j] > 0) entropy -= row->weights[j] * log(row->weights[j]);
  for (int64_t j = 0; j < row->keys; j++)
    if (row->weights[j] > 0) spread += row->weights[j] * fabs(log(row->weights[j]) + entropy);
  double error = (r * spread + 4 * r * r) / ((1 - r) * (1 - r)) +
                 2 * n * flush * (fabs(log(flush)) + entropy + 1) +
                 0x1p-53 * (16 + 4 * sqrt(n)) * (entropy + 1);
  if (sink == -(double)INFINITY) return error;
  double x = sink - row->lse, slope = part(x) * part(-x) * (fabs(x) + off + entropy);
  return part(x) * exp(off) * error + off * exp(off) * slope + 0x1p-50;
}

/* The logarithm of the largest weight plus the log-sum-exp. */
double attn_ref_bound_logit(const struct attn_ref_row *row, double u) {
  double r = worst_relative(row, u) + (double)row->visible * attn_ref_flush(row);
  if (!(r < 0.5)) return (double)INFINITY;
  return r / (1 - r) + lse_error(row, u) + 0x1p-50 * (1 + fabs(row->lse));
}
