/* sdpa_row.c -- one row of attention and its gradients by the equations, in double. */
#include <math.h>

#include "element.h"
#include "philox.h"
#include "ref.h"

/* The inputs of a row. */
struct ref_query {
  const attn_sdpa *desc; /* may be NULL */
  const attn_tensor *q, *k;
  int64_t head;   /* of k and v */
  int64_t length; /* keys of the row's sequence */
};

/* Element (a, b, c, d) of a tensor of rank 4. */
static const char *address(const attn_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d) {
  int64_t at = a * t->strides[0] + b * t->strides[1] + c * t->strides[2] + d * t->strides[3];
  return (const char *)t->data + at * attn_real_size(t->dtype);
}

static double element(const attn_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d) {
  return attn_load_real(t->dtype, address(t, a, b, c, d));
}

/* Element b of a vector, or (a, b) of a matrix: ALiBi's slopes, sinks, a of additive scores. */
static double vector_element(const attn_tensor *t, int64_t a, int64_t b) {
  int64_t at = t->rank == 2 ? a * t->strides[0] + b * t->strides[1] : b * t->strides[0];
  return attn_load_real(t->dtype, (const char *)t->data + at * attn_real_size(t->dtype));
}

enum { CHUNK = 64 }; /* elements of a row that are loaded at a time */

/* Loads the elements of row (a, b, c) from e on. Returns how many: up to CHUNK. */
static int64_t load_chunk(const attn_tensor *t, int64_t a, int64_t b, int64_t c, int64_t e,
                          double to[CHUNK]) {
  int64_t rest = t->shape[3] - e, count = rest < CHUNK ? rest : CHUNK;
  attn_load_reals(t->dtype, address(t, a, b, c, e), t->strides[3], count, to);
  return count;
}

/* NumPy's broadcasting: dimensions are aligned at the right; one of size 1 repeats. */
static int64_t mask_element(const attn_tensor *mask, const int64_t index[4]) {
  int64_t at = 0;
  for (int n = 0; n < mask->rank; n++)
    if (mask->shape[n] != 1) at += index[4 - mask->rank + n] * mask->strides[n];
  return at;
}

/* Clamps a finite value to +-FLT_MAX ln 2, because the kernels keep scores in base 2. */
static double clamp_mask(double mask) {
  const double most = 0x1.62e42fefa39efp-1 * 0x1.fffffep127;
  if (isinf(mask) || mask != mask) return mask;
  return mask > most ? most : mask < -most ? -most : mask;
}

/* The mask's addend of the score: 0 for true, -inf for false, else its value. */
static double mask_value(const attn_tensor *mask, const int64_t index[4]) {
  const char *data = mask->data;
  int64_t at = mask_element(mask, index);
  if (mask->dtype == ATTN_BOOL) return data[at] ? 0.0 : -(double)INFINITY;
  return clamp_mask(attn_load_real(mask->dtype, data + at * attn_real_size(mask->dtype)));
}

static int64_t key_length(const attn_sdpa *desc, int64_t b, int64_t keys) {
  if (!desc || !desc->key_lengths) return keys;
  const attn_tensor *t = desc->key_lengths;
  const int64_t size = t->dtype == ATTN_I32 ? 4 : 8;
  return attn_load_integer(t->dtype, (const char *)t->data + b * t->strides[0] * size);
}

/* row->keys must be set. */
static struct ref_query query_of(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                                 const struct attn_ref_row *row) {
  return (struct ref_query){.desc = desc,
                            .q = q,
                            .k = k,
                            .head = k->shape[1] ? row->h / (q->shape[1] / k->shape[1]) : 0,
                            .length = key_length(desc, row->b, row->keys)};
}

/* j - (i + offset), in long double so that no int64_t overflows. */
static long double ahead_of(const attn_sdpa *desc, int64_t i, int64_t j, int64_t rows,
                            int64_t length) {
  long double offset = 0;
  if (desc->align == ATTN_ALIGN_BOTTOM_RIGHT) offset = (long double)length - (long double)rows;
  if (desc->align == ATTN_ALIGN_OFFSET) offset = (long double)desc->offset;
  return (long double)j - ((long double)i + offset);
}

/* Whether query i sees key j, without the mask. */
static int sees(const attn_sdpa *desc, int64_t i, int64_t j, int64_t rows, int64_t length) {
  if (j >= length) return 0;
  if (!desc) return 1;
  long double ahead = ahead_of(desc, i, j, rows, length);
  if ((desc->flags & ATTN_SDPA_CAUSAL) && ahead > 0) return 0;
  if (!(desc->flags & ATTN_SDPA_WINDOW)) return 1;
  if (desc->window_left >= 0 && -ahead > (long double)desc->window_left) return 0;
  return desc->window_right < 0 || ahead <= (long double)desc->window_right;
}

/* Whether the row sees key j, with the mask. */
static int visible(const struct ref_query *ask, const struct attn_ref_row *row, int64_t j) {
  const int64_t index[4] = {row->b, row->h, row->i, j};
  if (!sees(ask->desc, row->i, j, ask->q->shape[2], ask->length)) return 0;
  return !ask->desc || !ask->desc->mask || mask_value(ask->desc->mask, index) != -(double)INFINITY;
}

/* The addend of the score, mask and ALiBi [Press22], and its magnitude. */
static double added(const struct ref_query *ask, const struct attn_ref_row *row, int64_t j,
                    double *size) {
  const attn_sdpa *d = ask->desc;
  const int64_t index[4] = {row->b, row->h, row->i, j};
  double sum = d && d->mask ? mask_value(d->mask, index) : 0.0;
  *size = fabs(sum);
  if (!d || !d->alibi) return sum;
  double ahead = (double)ahead_of(d, row->i, j, ask->q->shape[2], ask->length);
  double slope = vector_element(d->alibi, row->b, row->h) * fabs(ahead);
  *size += fabs(slope);
  return sum - slope;
}

static int is_additive(const struct ref_query *ask) { return ask->desc && ask->desc->additive; }

static double scale_of(const struct ref_query *ask) {
  if (ask->desc && (ask->desc->flags & ATTN_SDPA_SCALE)) return ask->desc->scale;
  if (is_additive(ask) || !ask->q->shape[3]) return 1.0;
  return 1.0 / sqrt((double)ask->q->shape[3]);
}

/* A score after the softcap, and sums of magnitudes for its bound. */
struct score_sizes {
  double capped; /* scale q . k_j after the softcap */
  double dot;    /* of the terms of scale q . k_j */
  double added;  /* of mask and ALiBi */
  double key;    /* of k_j; E with additive scores; with bf16 dot products |scale| times the
                    magnitudes that subnormal factors and sums are multiplied by */
};

/* q . k_j, the magnitude of its terms, and the sums of |k_je| and of |q_e|. */
static double dot_product(const struct ref_query *ask, const struct attn_ref_row *row, int64_t j,
                          double *absolute, double *keys, double *queries) {
  double q[CHUNK], k[CHUNK], sum = 0, terms = 0, of_keys = 0, of_queries = 0;
  for (int64_t e = 0; e < ask->q->shape[3]; e += CHUNK) {
    int64_t count = load_chunk(ask->q, row->b, row->h, row->i, e, q);
    load_chunk(ask->k, row->b, ask->head, j, e, k);
    for (int64_t n = 0; n < count; n++) {
      sum += q[n] * k[n], terms += fabs(q[n] * k[n]);
      of_keys += fabs(k[n]), of_queries += fabs(q[n]);
    }
  }
  *absolute = terms, *keys = of_keys, *queries = of_queries;
  return sum;
}

/* sum_e a_e tanh(q_e + k_je) [Bahdanau14 A.1.2], and the magnitude of its terms. */
static double additive_sum(const struct ref_query *ask, const struct attn_ref_row *row, int64_t j,
                           double *absolute) {
  double sum = 0;
  *absolute = 0;
  for (int64_t e = 0; e < ask->q->shape[3]; e++) {
    double k = element(ask->k, row->b, ask->head, j, e);
    double q = element(ask->q, row->b, row->h, row->i, e);
    double a = vector_element(ask->desc->additive, row->h, e);
    sum += a * tanh(q + k), *absolute += fabs(a);
  }
  return sum;
}

/* s_j = cap(scale q . k_j) + addend; with additive scores their sum replaces q . k_j. */
static double score(const struct ref_query *ask, const struct attn_ref_row *row, int64_t j,
                    struct score_sizes *size) {
  double scale = scale_of(ask), more = added(ask, row, j, &size->added), sum, absolute, query = 0;
  const double width = (double)ask->q->shape[3];
  size->key = width;
  if (is_additive(ask))
    sum = additive_sum(ask, row, j, &absolute);
  else
    sum = dot_product(ask, row, j, &absolute, &size->key, &query);
  size->dot = fabs(scale) * absolute;
  if (row->has_dots) size->key = fabs(scale) * (size->key + query + 2 * width);
  sum *= scale;
  if (ask->desc && (ask->desc->flags & ATTN_SDPA_SOFTCAP))
    sum = ask->desc->softcap * tanh(sum / ask->desc->softcap);
  size->capped = sum;
  return sum + more;
}

/* Computes all scores of the row. Returns their maximum: NaN if one is. */
static double score_row(const struct ref_query *ask, struct attn_ref_row *row) {
  double top = -(double)INFINITY;
  row->visible = 0;
  for (int64_t j = 0; j < row->keys; j++) {
    struct score_sizes size;
    row->scores[j] = -(double)INFINITY;
    if (!visible(ask, row, j)) continue;
    row->visible++;
    row->scores[j] = score(ask, row, j, &size);
    if (row->scores[j] > top || row->scores[j] != row->scores[j]) top = row->scores[j];
    if (row->budget)
      row->budget[j] = attn_ref_score_error(row, ask->q->shape[3], size.dot + size.added, size.key);
  }
  return top;
}

/* p_j = exp(s_j - top) / sum: softmax [Vaswani17 eq. 1]. A NaN score makes the whole row NaN. So do
 * visible scores that are all -inf: 0 / 0, although lse is -inf. */
static void softmax_row(const struct ref_query *ask, struct attn_ref_row *row, double top) {
  double sink = ask->desc && ask->desc->sinks ? vector_element(ask->desc->sinks, 0, row->h)
                                              : -(double)INFINITY;
  double highest = sink > top ? sink : top, sum = 0;
  if (highest == -(double)INFINITY) highest = 0;
  if (top != top) highest = top;
  for (int64_t j = 0; j < row->keys; j++) {
    row->weights[j] = visible(ask, row, j) ? exp(row->scores[j] - highest) : 0.0;
    sum += row->weights[j];
  }
  sum += exp(sink - highest); /* has a weight, but no value */
  row->lse = highest + log(sum), row->base = highest, row->sum = sum, row->sink = sink;
  for (int64_t j = 0; j < row->keys; j++)
    if (visible(ask, row, j)) row->weights[j] /= sum;
}

/* The dropout factor of weight j: 0 or 1 / (1 - dropout). */
static double kept(const attn_sdpa *d, const struct attn_ref_row *row, int64_t j) {
  uint32_t random[4];
  if (!d || !(d->flags & ATTN_SDPA_DROPOUT)) return 1;
  const uint32_t counter[4] = {(uint32_t)(j / 4), (uint32_t)(d->origin_query + row->i),
                               (uint32_t)(d->origin_head + row->h),
                               (uint32_t)(d->origin_batch + row->b)};
  attn_philox(d->seed, counter, random);
  return random[j % 4] < attn_dropout_threshold(d->dropout) ? 0 : 1 / (1 - d->dropout);
}

/* p_j v_j. A weight that underflows is still positive: times infinity it is infinite. */
static double share_of(const struct attn_ref_row *row, int64_t j, double keep, double value) {
  int vanished = row->weights[j] == 0 && keep > 0 && row->scores[j] > -(double)INFINITY;
  return vanished && isinf(value) ? value : row->weights[j] * keep * value;
}

/* o = sum_j p_j v_j over the visible keys; a NaN in v_j counts however small p_j is. */
static void weighted_sum(const struct ref_query *ask, const attn_tensor *v,
                         struct attn_ref_row *row) {
  for (int64_t e = 0; e < v->shape[3]; e++) row->output[e] = row->absolute[e] = 0;
  for (int64_t j = 0; j < row->keys; j++) {
    if (!visible(ask, row, j)) continue;
    double keep = kept(ask->desc, row, j), values[CHUNK];
    for (int64_t e = 0; e < v->shape[3]; e++) {
      if (e % CHUNK == 0) load_chunk(v, row->b, ask->head, j, e, values);
      double term = share_of(row, j, keep, values[e % CHUNK]);
      row->output[e] += term;
      row->absolute[e] += fabs(term);
    }
    row->weights[j] *= keep;
  }
}

/* The terms of the output's bound, once the weights are known. */
static void bound_terms(const struct ref_query *ask, const attn_tensor *v,
                        struct attn_ref_row *row) {
  double flush = attn_ref_flush(row) * row->largest_kept;
  for (int64_t e = 0; e < v->shape[3]; e++) row->error[e] = row->largest[e] = row->flushed[e] = 0;
  attn_ref_complete_budgets(row);
  for (int64_t j = 0; j < row->keys; j++) {
    double keep = visible(ask, row, j) ? kept(ask->desc, row, j) : 0;
    double error = keep > 0 ? keep * attn_ref_weight_error(row, j) : 0, values[CHUNK];
    for (int64_t e = 0; keep > 0 && e < v->shape[3]; e++) {
      if (e % CHUNK == 0) load_chunk(v, row->b, ask->head, j, e, values);
      double size = fabs(values[e % CHUNK]);
      if (size > 0) row->error[e] += size * error;
      row->largest[e] = fmax(row->largest[e], size * keep);
      if (row->weights[j] < flush) row->flushed[e] += fabs(share_of(row, j, 1, values[e % CHUNK]));
    }
  }
}

void attn_ref_sdpa_row(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                       const attn_tensor *v, struct attn_ref_row *row) {
  row->keys = k->shape[2];
  const struct ref_query ask = query_of(desc, q, k, row);
  row->has_softcap = desc && (desc->flags & ATTN_SDPA_SOFTCAP);
  row->has_bias = desc && (desc->alibi || (desc->mask && desc->mask->dtype != ATTN_BOOL));
  row->additive = desc && desc->additive;
  row->largest_kept = desc && (desc->flags & ATTN_SDPA_DROPOUT) ? 1 / (1 - desc->dropout) : 1;
  row->top = score_row(&ask, row);
  softmax_row(&ask, row, row->top);
  weighted_sum(&ask, v, row);
  if (row->budget) bound_terms(&ask, v, row);
}

/* ---- Backward ---- */

/* dp_j = dO . v_j with the weight's dropout, and its magnitude; factors: those of its factors. */
static double weight_gradient(const struct ref_query *ask, const attn_tensor *v,
                              const attn_tensor *d_o, const struct attn_ref_row *row, int64_t j,
                              double *size, double *factors) {
  double sum = 0, absolute = 0, keep = kept(ask->desc, row, j), g[CHUNK], x[CHUNK];
  *factors = 0;
  for (int64_t e = 0; e < v->shape[3]; e += CHUNK) {
    int64_t count = load_chunk(d_o, row->b, row->h, row->i, e, g);
    load_chunk(v, row->b, ask->head, j, e, x);
    for (int64_t n = 0; n < count; n++)
      sum += g[n] * x[n], absolute += fabs(g[n] * x[n]), *factors += fabs(g[n]) + fabs(x[n]);
  }
  *size = keep * absolute;
  return keep > 0 ? keep * sum : 0;
}

/* The slope of the softcap, 1 - tanh^2, and the error of that difference. */
static double slope(const struct ref_query *ask, const struct attn_ref_row *row, int64_t j,
                    double *error) {
  struct score_sizes size;
  *error = 0;
  if (!ask->desc || !(ask->desc->flags & ATTN_SDPA_SOFTCAP)) return 1;
  score(ask, row, j, &size); /* scores[j] minus a large mask would have lost it */
  double cap = ask->desc->softcap, t = size.capped / cap;
  *error = attn_ref_softcap_slope_error(
      attn_ref_dot_error(row, ask->q->shape[3], size.dot, size.key), cap, t);
  return 1 - t * t;
}

/* The error of D - dlse, of size: D has O's error, and both are rounded. */
static double delta_error(const attn_tensor *d_o, const struct attn_ref_row *row, int64_t values,
                          double size) {
  double error = 0x1p-23 * size;
  for (int64_t e = 0; e < values; e++) {
    double bound = attn_ref_bound_output(row, e), d = fabs(element(d_o, row->b, row->h, row->i, e));
    if (d > 0) error += d * attn_ref_bound_rounded(d_o->dtype, bound, row->output[e]);
  }
  return error;
}

/* The weight of a logit before dropout. */
static double softmax(const struct attn_ref_row *row, double logit) {
  return exp(logit - row->base) / row->sum;
}

/* ds_j = p_j (dp_j - D + dlse), D = sum_j p_j dp_j [Dao22 sec. B.2]. */
static void score_gradients(const struct ref_query *ask, const attn_tensor *v,
                            const attn_tensor *d_o, double d_lse, const struct attn_ref_row *row,
                            struct attn_ref_gradients *g) {
  double d = 0, d_size = 0, d_error = 0;
  for (int64_t e = 0; e < v->shape[3]; e++)
    d_size += fabs(element(d_o, row->b, row->h, row->i, e) * row->output[e]);
  if (g->d_scores_error) d_error = delta_error(d_o, row, v->shape[3], d_size + fabs(d_lse));
  for (int64_t j = 0; j < row->keys; j++) {
    g->d_scores[j] = g->d_scores_size[j] = 0;
    if (g->d_scores_error) g->d_scores_error[j] = 0;
    if (!visible(ask, row, j)) continue;
    double factors;
    g->d_scores[j] = weight_gradient(ask, v, d_o, row, j, &g->d_scores_size[j], &factors);
    if (g->d_scores_error)
      g->d_scores_error[j] =
          attn_ref_product_error(row, v->shape[3], g->d_scores_size[j], factors) + d_error;
    d += softmax(row, row->scores[j]) * g->d_scores[j];
  }
  for (int64_t j = 0; j < row->keys; j++) {
    if (!visible(ask, row, j)) continue;
    double p = softmax(row, row->scores[j]);
    double size = g->d_scores_size[j] + d_size + fabs(d_lse);
    g->d_scores[j] = p * (g->d_scores[j] - d + d_lse);
    g->d_scores_size[j] = p * size;
    if (!g->d_scores_error) continue;
    double error = attn_ref_recomputed_weight_error(row, j);
    g->d_scores_error[j] = error * size + (p + error) * g->d_scores_error[j] + 0x1p-149;
  }
  double p = row->sink == -(double)INFINITY ? 0 : softmax(row, row->sink);
  g->d_sink = p > 0 ? p * (d_lse - d) : 0;
  g->d_sink_size = p > 0 ? p * (d_size + fabs(d_lse)) : 0;
  double error = g->d_scores_error && p > 0 ? attn_ref_recomputed_weight_error(row, -1) : 0;
  g->d_sink_error = error * (d_size + fabs(d_lse)) + (p + error) * d_error;
}

static void add(double *to, int64_t at, double x) {
  if (to) to[at] += x;
}

/* The gradients of q, k_j and a from d_z = d loss / d (sum_e a_e tanh(q_e + k_je)); the slope of
 * tanh is a difference of 1 and t^2. */
static void additive_gradients(const struct ref_query *ask, const struct attn_ref_row *row,
                               int64_t j, double d_z, double size, double error,
                               struct attn_ref_gradients *g) {
  int64_t width = ask->q->shape[3];
  for (int64_t e = 0; e < width; e++) {
    double a = vector_element(ask->desc->additive, row->h, e);
    double t =
        tanh(element(ask->q, row->b, row->h, row->i, e) + element(ask->k, row->b, ask->head, j, e));
    double slope_size = size * fabs(a) * (1 + t * t), slope_term = d_z * a * (1 - t * t);
    g->d_q[e] += slope_term, g->d_q_size[e] += slope_size;
    g->d_k[j * width + e] += slope_term, g->d_k_size[j * width + e] += slope_size;
    g->d_additive[e] += d_z * t, g->d_additive_size[e] += size * fabs(t);
    double off = 12 * 0x1p-24 * (1 + t * t);
    double slope_error = fabs(a) * (error * (1 - t * t + off) + size * off);
    slope_error += 0x1p-149 * (1 + g->d_scores_size[j]); /* scale a_e may be subnormal */
    add(g->d_q_error, e, slope_error), add(g->d_k_error, j * width + e, slope_error);
    add(g->d_additive_error, e, (error + 10 * 0x1p-24 * (size + error)) * fabs(t) + 0x1p-149);
  }
}

void attn_ref_sdpa_row_backward(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                                const attn_tensor *v, const attn_tensor *d_o, double d_lse,
                                const struct attn_ref_row *row, struct attn_ref_gradients *g) {
  const struct ref_query ask = query_of(desc, q, k, row);
  int64_t width = q->shape[3], value_width = v->shape[3];
  score_gradients(&ask, v, d_o, d_lse, row, g);
  for (int64_t e = 0; e < width; e++) g->d_q[e] = g->d_q_size[e] = 0;
  for (int64_t e = 0; g->d_q_error && e < width; e++) g->d_q_error[e] = 0;
  for (int64_t j = 0; j < row->keys; j++) {
    if (!visible(&ask, row, j)) continue;
    double cap_error, gain = slope(&ask, row, j, &cap_error), error = 0, least = 0x1p-149;
    double scale = scale_of(&ask), d_z = scale * gain * g->d_scores[j];
    double size = fabs(scale) * gain * g->d_scores_size[j];
    if (g->d_scores_error) {
      error = cap_error * g->d_scores_size[j] + (gain + cap_error) * g->d_scores_error[j];
      error = fabs(scale) * attn_ref_factor_error(row, gain * g->d_scores[j], error, &least);
    }
    if (is_additive(&ask)) additive_gradients(&ask, row, j, d_z, size, error, g);
    for (int64_t e = 0; e < width && !is_additive(&ask); e++) {
      double q_e = element(q, row->b, row->h, row->i, e), k_e = element(k, row->b, ask.head, j, e);
      g->d_q[e] += d_z * k_e, g->d_q_size[e] += size * fabs(k_e);
      g->d_k[j * width + e] += d_z * q_e, g->d_k_size[j * width + e] += size * fabs(q_e);
      add(g->d_q_error, e, error * fabs(k_e) + least * fabs(scale));
      add(g->d_k_error, j * width + e,
          error * fabs(q_e) +
              (row->has_dots ? least * fabs(scale) : 0x1p-149 * (1 + g->d_scores_size[j])));
    }
    double keep = kept(ask.desc, row, j), weight = 0;
    if (g->d_v_error && keep > 0)
      weight = attn_ref_factor_error(row, row->weights[j],
                                     keep * attn_ref_recomputed_weight_error(row, j), &least);
    for (int64_t e = 0; e < value_width; e++) {
      double term = row->weights[j] * element(d_o, row->b, row->h, row->i, e);
      g->d_v[j * value_width + e] += term, g->d_v_size[j * value_width + e] += fabs(term);
      double d = fabs(element(d_o, row->b, row->h, row->i, e));
      add(g->d_v_error, j * value_width + e, weight * d + least);
    }
  }
}
