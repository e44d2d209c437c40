/* bound.c -- what the float32 kernels promise; derived in docs/accuracy.md. */
#include <math.h>

#include "ref.h"

static double headroom(int64_t keys) { return keys > 1 ? ceil(log2((double)keys)) + 1 : 1; }

/* The kernel holds 2^(x - m), flushed below 2^-126, with m at most 2c - 1 above the row's
 * maximum; so a weight of 2^(2c - 126) or more is never lost. */
double attn_ref_flush(int64_t keys) { return exp2(2 * headroom(keys) - 126); }

/* What the scores are off by acts twice: in a weight and in the sum of the weights. A score: q's
 * rounding S, the products' sqrt(E) S, a mask's or ALiBi's own and that of adding it 2 S, softcap
 * (a tanh between products) 8 S, additive scores 10 S; where q times scale is subnormal, up to
 * 2^-150 |k_e| in each product. */
static double scores(const struct attn_ref_row *row, int64_t width) {
  double each = 2 + 2 * sqrt((double)width) + (row->lifted ? 4 : 0) + (row->bent ? 16 : 0) +
                (row->additive ? 20 : 0);
  return each * row->magnitude + 0x1p-125 * row->key_magnitude;
}

/* The fixed roundings, the scores', the sums'; 4 c for the part of the exponents, in a weight and
 * in the sum, that is not the key's distance to the maximum. */
static double relative(const struct attn_ref_row *row, int64_t width) {
  return 16 + scores(row, width) + 2 * sqrt((double)row->visible) + 4 * headroom(row->keys);
}

/* The distance stands in the exponent, which is rounded (1), and each restart between that key and
 * the maximum costs a product by a power of two (at most 1.2 more). */
enum { FAR = 3 };

/* Of a sink, j = -1: 0. */
static double distance(const struct attn_ref_row *row, int64_t j) {
  return j < 0 || row->scores[j] == -(double)INFINITY ? 0 : row->top - row->scores[j];
}

double attn_ref_own_output(const struct attn_ref_row *row, int64_t width, int64_t e) {
  /* Terms that are all 0 have no error, however large the scores: not 0 times infinity. */
  if (row->absolute[e] == 0) return 0;
  return row->absolute[e] * relative(row, width) + FAR * row->far[e];
}

double attn_ref_bound_f32(const struct attn_ref_row *row, int64_t width, int64_t e) {
  /* Products that are subnormal lose half of 2^-149 each, before the division by the sum. */
  double subnormal = (double)row->visible * exp2(2 * headroom(row->keys) - 149);
  return 0x1p-24 * attn_ref_own_output(row, width, e) + row->flushed[e] + subnormal;
}

static double weight_relative(const struct attn_ref_row *row, int64_t width, int64_t j) {
  return relative(row, width) + FAR * distance(row, j);
}

double attn_ref_bound_weight(const struct attn_ref_row *row, int64_t width, int64_t j) {
  const double u = 0x1p-24;
  if (row->scores[j] == -(double)INFINITY) return 0; /* hidden: nothing but 0 will do */
  double flush = attn_ref_flush(row->keys) * row->largest_kept;
  if (row->weights[j] == 0) return flush;
  return u * row->weights[j] * weight_relative(row, width, j) + flush;
}

double attn_ref_bound_lse(const struct attn_ref_row *row, int64_t width) {
  const double u = 0x1p-24;
  return u * (relative(row, width) + fabs(row->lse));
}

/* ---- Gradients ---- */

double attn_ref_own_score(const struct attn_ref_row *row, int64_t width) {
  return (1 + 2 * sqrt((double)width) + (row->additive ? 10 : 0)) * row->magnitude +
         0x1p-126 * row->key_magnitude;
}

/* The log-sum-exp is rounded, in natural units and in powers of two: at most S + ln n each. The
 * exponent is the distance and what the log-sum-exp lies above the maximum, ln n at most, within
 * 4 c. */
double attn_ref_own_weight(const struct attn_ref_row *row, int64_t width, int64_t j) {
  double n = row->visible > 1 ? (double)row->visible : 2;
  return relative(row, width) + 2 * (row->magnitude + log(n)) + distance(row, j);
}

/* |(1 - t^2)'| = 2 |t| (1 - t^2); over a step d by which the score is off, |t| grows by d at most
 * and 1 - t^2 by e^2d, for its logarithm's slope is -2 t. Beside it the roundings, 12 (1 + t^2). */
double attn_ref_own_slope(const struct attn_ref_row *row, int64_t width, double cap, double t) {
  double own = attn_ref_own_score(row, width) / cap, d = 0x1p-24 * own;
  double moved = own * 2 * (fabs(t) + d) * (1 - t * t) * exp(2 * d);
  return fmin(moved, 0x1p24) + 12 * (1 + t * t);
}

double attn_ref_bound_gradient(double size, double own, double count) {
  return 0x1p-24 * (own + 2 * sqrt(count) * size) + 0x1p-120;
}

/* ---- Summaries: row is without its sink, whose share is taken from the rounded log-sum-exp ----
 */

static double lse_error(const struct attn_ref_row *row, int64_t width, double u) {
  return u * (relative(row, width) + fabs(row->lse));
}

/* 1 / (1 + exp(x)): what the keys keep of 1 with x = sink - lse; with -x, the sink's part. */
static double part(double x) { return 1 / (1 + exp(x)); }

double attn_ref_bound_shared(const struct attn_ref_row *row, int64_t width, double u, double sink,
                             int64_t j) {
  if (row->scores[j] == -(double)INFINITY) return 0;
  double off = lse_error(row, width, u), share = part(sink - row->lse);
  double weight = u * row->weights[j] * weight_relative(row, width, j) + attn_ref_flush(row->keys);
  if (sink == -(double)INFINITY) return weight;
  return share * exp(off) * (weight + row->weights[j] * off);
}

/* That of the row's farthest weight. */
static double worst_relative(const struct attn_ref_row *row, int64_t width) {
  double most = 0;
  for (int64_t j = 0; j < row->keys; j++)
    if (row->weights[j] > 0) most = fmax(most, weight_relative(row, width, j));
  return most;
}

/* With weights off by at most r each the distribution q differs from p by
 *     H(q) - H(p) = sum (p - q)(ln p + H) - KL(q || p),
 * the first at most r / (1 - r) sum p |ln p + H|, the second at most 4 r^2 / (1 - r)^2. What is
 * flushed adds its own p ln p, the sums in double their roundings. The sink's choice comes before:
 * G(x) = h(share) + share H has |G'| <= share other (|x| + H). */
double attn_ref_bound_entropy(const struct attn_ref_row *row, int64_t width, double u,
                              double sink) {
  double r = u * worst_relative(row, width), off = lse_error(row, width, u);
  double entropy = 0, spread = 0, flush = attn_ref_flush(row->keys), n = (double)row->visible;
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
double attn_ref_bound_logit(const struct attn_ref_row *row, int64_t width, double u) {
  double r = u * worst_relative(row, width) + (double)row->visible * attn_ref_flush(row->keys);
  if (!(r < 0.5)) return (double)INFINITY;
  return r / (1 - r) + lse_error(row, width, u) + 0x1p-50 * (1 + fabs(row->lse));
}
