/* bound.c -- what the float32 kernels promise; derived in docs/accuracy.md. */
#include <math.h>

#include "ref.h"

static double headroom(int64_t keys) { return keys > 1 ? ceil(log2((double)keys)) + 1 : 1; }

/* The kernel holds 2^(x - m), flushed below 2^-126, with m at most 2c - 1 above the row's
 * maximum; so a weight of 2^(2c - 126) or more is never lost. */
double attn_ref_flush(int64_t keys) { return exp2(2 * headroom(keys) - 126); }

/* 16 + 2 sqrt(E) S + 2 sqrt(n): the fixed roundings, those of the score, those of the sums; and,
 * where q times scale is subnormal, up to 2^-150 |k_e| lost in each product. Softcap (a tanh of
 * 4 ULP between two products) and ALiBi add up to 8 u S to a score, additive scores 10 u S, which
 * counts twice: in the weights and in their sum. */
static double relative(const struct attn_ref_row *row, int64_t width) {
  int64_t terms =
      row->visible ? row->visible : row->keys; /* of a row that sees none, a mean of all */
  return 16 + 2 * sqrt((double)width) * row->magnitude + 2 * sqrt((double)terms) +
         0x1p-125 * row->key_magnitude + (row->bent ? 8 * row->magnitude : 0) +
         (row->additive ? 20 * row->magnitude : 0);
}

/* A small weight has the whole distance to the maximum, at most 2 S, and the headroom in its
 * exponent. */
static double exponent(const struct attn_ref_row *row, int64_t width) {
  return (2 + sqrt((double)width)) * (2 * row->magnitude + headroom(row->keys));
}

double attn_ref_bound_f32(const struct attn_ref_row *row, int64_t width, int64_t e) {
  const double u = 0x1p-24;
  /* Products that are subnormal lose half of 2^-149 each, before the division by the sum. */
  double subnormal = (double)row->visible * exp2(2 * headroom(row->keys) - 149);
  /* Terms that are all 0 have no error, however large the scores: not 0 times infinity. */
  double roundings = relative(row, width);
  if (row->largest_kept > 1) roundings += exponent(row, width); /* dropout may leave small ones */
  double own = row->absolute[e] == 0 ? 0 : u * row->absolute[e] * roundings;
  return own + row->flushed[e] + subnormal;
}

/* In an output small weights hardly count, here they stand alone. */
static double weight_relative(const struct attn_ref_row *row, int64_t width) {
  return relative(row, width) + exponent(row, width);
}

double attn_ref_bound_weight(const struct attn_ref_row *row, int64_t width, int64_t j) {
  const double u = 0x1p-24;
  if (row->scores[j] == -(double)INFINITY) return 0; /* hidden: nothing but 0 will do */
  double flush = attn_ref_flush(row->keys) * row->largest_kept;
  if (row->weights[j] == 0) return flush;
  return u * row->weights[j] * weight_relative(row, width) + flush;
}

double attn_ref_bound_lse(const struct attn_ref_row *row, int64_t width) {
  const double u = 0x1p-24;
  return u * (relative(row, width) + fabs(row->lse));
}

/* The same form as an output's, of the sizes of the gradient's own terms. P comes from the rounded
 * log-sum-exp, off by up to u (S + ln n) more. The slope 1 - tanh^2 of an additive score: 12 more.
 */
double attn_ref_bound_gradient(const struct attn_ref_row *row, int64_t width, double size,
                               double count) {
  double lse = row->magnitude + log((double)(row->visible > 1 ? row->visible : 2));
  double roundings = 16 + 2 * sqrt((double)width) * row->magnitude + 2 * sqrt(count) + lse +
                     (row->bent ? 8 * row->magnitude : 0) + 0x1p-125 * row->key_magnitude +
                     (row->additive ? 12 + 20 * row->magnitude : 0);
  return 0x1p-24 * size * roundings + 0x1p-120;
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
  double weight = u * row->weights[j] * weight_relative(row, width) + attn_ref_flush(row->keys);
  if (sink == -(double)INFINITY) return weight;
  return share * exp(off) * (weight + row->weights[j] * off);
}

/* With weights off by at most r each the distribution q differs from p by
 *     H(q) - H(p) = sum (p - q)(ln p + H) - KL(q || p),
 * the first at most r / (1 - r) sum p |ln p + H|, the second at most 4 r^2 / (1 - r)^2. What is
 * flushed adds its own p ln p, the sums in double their roundings. The sink's choice comes before:
 * G(x) = h(share) + share H has |G'| <= share other (|x| + H). */
double attn_ref_bound_entropy(const struct attn_ref_row *row, int64_t width, double u,
                              double sink) {
  double r = u * weight_relative(row, width), off = lse_error(row, width, u);
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
  double r = u * weight_relative(row, width) + (double)row->visible * attn_ref_flush(row->keys);
  if (!(r < 0.5)) return (double)INFINITY;
  return r / (1 - r) + lse_error(row, width, u) + 0x1p-50 * (1 + fabs(row->lse));
}
