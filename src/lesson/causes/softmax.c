/* softmax.c -- weights that are the softmax of something else: of coarse exponentials, of scores
 * that are not scaled or masked, along the other axis; or no softmax. */
#include "cause_search.h"

/* units: of the last digit in 1; 0: it is not rounded. */
static double exponential(double x, double units) {
  return units > 0 ? round(exp(x) * units) : exp(x);
}

/* Are the weights of a line the softmax of these logits, by exponentials that are rounded? */
static int is_softmax_of(const struct cause_search *h, struct cell_line line, const double *logits,
                         double units) {
  double sum = 0;
  for (size_t n = 0; n < line.count; n++)
    sum += exponential(logits[line.first + n * line.stride], units);
  for (size_t n = 0; n < line.count; n++) {
    size_t at = line.first + n * line.stride;
    double value = exponential(logits[at], units) / sum;
    if (!h->judged->printed[at]) continue;
    if (units > 0 ? !attn_judged_fits(h->judged, at, value) : !fits(h, at, value)) return 0;
  }
  return 1;
}

/* Are all weights, in lines along an axis, the softmax of these logits? */
static int are_softmax_of(const struct cause_search *h, const double *logits, int column,
                          double units) {
  size_t lines = (size_t)(column ? h->step->exact.cols : h->step->exact.rows), n = 0;
  size_t stride = column ? 1 : (size_t)h->step->exact.cols;
  while (n < lines && is_softmax_of(h, line_of(h, n * stride, column), logits, units)) n++;
  return n == lines;
}

static int of_coarse_exponentials(const struct cause_search *h) {
  if (h->step->op != ATTN_OP_SOFTMAX) return ATTN_CAUSE_NONE;
  const double *logits = h->all[h->step->operand[0]].carried.at;
  for (double units = 1; units < 1000; units *= 10)
    if (are_softmax_of(h, logits, queries_in_columns(h), units))
      return ATTN_CAUSE_ROUNDING_TOO_COARSE;
  return ATTN_CAUSE_NONE;
}

/* Are the weights of a line the softmax of all scores, with 0 where the mask hides one? */
static int is_masked_after(const struct cause_search *h, struct cell_line line,
                           const double *logits, const double *masked) {
  double sum = 0, most = -INFINITY;
  int hides = 0;
  for (size_t n = 0; n < line.count; n++) most = fmax(most, logits[line.first + n * line.stride]);
  for (size_t n = 0; n < line.count; n++) sum += exp(logits[line.first + n * line.stride] - most);
  for (size_t n = 0; n < line.count; n++) {
    size_t at = line.first + n * line.stride;
    int is_hidden = isinf(masked[at]) != 0;
    double weight = is_hidden ? 0 : exp(logits[at] - most) / sum;
    hides |= is_hidden;
    if (h->judged->printed[at] && !fits(h, at, weight)) return 0;
  }
  return hides;
}

/* Is a row of weights the softmax of the scores before they were masked, or of those with zeros in
 * place of the hidden ones? */
static int of_unmasked_row(struct cause_search *h, size_t first) {
  if (h->step->op != ATTN_OP_SOFTMAX) return ATTN_CAUSE_NONE;
  const attn_step *masked = &h->example->step[h->step->operand[0]];
  if (masked->op != ATTN_OP_MASK) return ATTN_CAUSE_NONE;
  const double *logits = h->all[masked->operand[0]].carried.at, *all = masked->exact.at;
  struct cell_line line = query_of(h, first);
  if (is_softmax_of(h, line, logits, 0)) return ATTN_CAUSE_MASK_IGNORED;
  if (is_masked_after(h, line, logits, all)) return ATTN_CAUSE_MASK_AFTER_SOFTMAX;
  double *filled = attn_pool_take(h->pool, h->cells * sizeof *filled);
  if (!filled) return h->out_of_memory = 1, ATTN_CAUSE_NONE;
  for (size_t n = 0; n < h->cells; n++) filled[n] = isinf(all[n]) ? 0 : logits[n];
  return is_softmax_of(h, line, filled, 0) ? ATTN_CAUSE_MASK_FILL : ATTN_CAUSE_NONE;
}

/* Is each weight its score divided by the sum of its line? Hidden scores count as 0. */
static int is_quotient_of(const struct cause_search *h, struct cell_line line,
                          const double *logits) {
  double sum = 0;
  for (size_t n = 0; n < line.count; n++) {
    double logit = logits[line.first + n * line.stride];
    sum += isinf(logit) ? 0 : logit;
  }
  for (size_t n = 0; n < line.count; n++) {
    size_t at = line.first + n * line.stride;
    double weight = isinf(logits[at]) ? 0 : logits[at] / sum;
    if (h->judged->printed[at] && !fits(h, at, weight)) return 0;
  }
  return 1;
}

/* No exponentials in any line: the scores divided by their sum. */
static int of_no_exponentials(const struct cause_search *h) {
  if (h->step->op != ATTN_OP_SOFTMAX || misses(h, all_cells(h)) < 2) return ATTN_CAUSE_NONE;
  const double *logits = h->all[h->step->operand[0]].carried.at;
  for (size_t n = 0; n < h->cells; n++)
    if (!is_quotient_of(h, query_of(h, n), logits)) return ATTN_CAUSE_NONE;
  return ATTN_CAUSE_SOFTMAX_WITHOUT_EXP;
}

/* Along the other axis, or of the scores that the unprinted step before divides. */
static int of_other_logits(const struct cause_search *h) {
  if (h->step->op != ATTN_OP_SOFTMAX || misses(h, all_cells(h)) < 2) return ATTN_CAUSE_NONE;
  const int32_t of = h->step->operand[0];
  const attn_step *divided = &h->example->step[of];
  if (are_softmax_of(h, h->all[of].carried.at, !queries_in_columns(h), 0))
    return ATTN_CAUSE_SOFTMAX_OVER_COLUMNS;
  if (divided->op != ATTN_OP_DIVIDE || divided->printings) return ATTN_CAUSE_NONE;
  return are_softmax_of(h, h->all[divided->operand[0]].carried.at, queries_in_columns(h), 0)
             ? ATTN_CAUSE_MISSING_SCALE
             : ATTN_CAUSE_NONE;
}

int attn_cause_of_softmax(struct cause_search *h, size_t first) {
  int cause = of_coarse_exponentials(h);
  if (!cause) cause = of_other_logits(h);
  if (!cause) cause = of_no_exponentials(h);
  return cause ? cause : of_unmasked_row(h, first);
}
