/* expected.c -- what queries, keys and values give. */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "sequence.h"
#include "steps.h"

static double at(const struct attn_sequence *s, int list, int n) {
  return s->item[s->list[list].first + n].cell.value;
}

/* A unit of the last digit of the coarsest decimal numbers that are no givens. */
static double unit_of(const struct attn_sequence *s) {
  int count[16] = {0}, best = 0;
  for (int n = 0; n < s->items; n++) {
    int decimals = s->item[n].cell.decimals;
    if (decimals > 1 && decimals < 16 && s->item[n].cell.kind == ATTN_CELL_NUMBER)
      count[decimals]++;
  }
  for (int n = 2; n < 16; n++)
    if (count[n] > count[best]) best = n;
  return pow(10, -(best ? best : 1));
}

int attn_sequence_visible(const struct attn_sequence *s, int row) {
  return s->given.is_causal ? row + 1 : s->given.keys - s->given.padding;
}

/* The value, or what is printed in its place. */
static double expect(struct attn_sequence *s, int step, int row, int col, double value,
                     double slack) {
  int cell = s->expecteds++;
  if (cell >= ATTN_EXPECTED_MAX) return value;
  if (s->is_printed[cell]) value = s->printed[cell];
  int is_hidden = step <= ATTN_STEP_MASKED && col >= attn_sequence_visible(s, row);
  s->expected[cell] = (struct attn_expected){step, row, col, is_hidden, value, slack};
  return value;
}

static double score_of(const struct attn_sequence *s, int row, int key) {
  double sum = 0;
  for (int k = 0; k < s->given.width; k++)
    sum += at(s, s->given.query[row], k) * at(s, s->given.key[key], k);
  return sum;
}

static void expect_scores(struct attn_sequence *s, int row, double unit, double *x) {
  int n = s->given.keys, keys = attn_sequence_visible(s, row);
  for (int j = 0; j < n; j++) x[j] = expect(s, ATTN_STEP_SCORES, row, j, score_of(s, row, j), 0);
  for (int j = 0; j < n && s->given.is_scaled; j++)
    x[j] = expect(s, ATTN_STEP_SCALED, row, j, x[j] / sqrt(s->given.width), unit / 2);
  for (int j = 0; j < n && (s->given.is_causal || s->given.padding); j++)
    x[j] = expect(s, ATTN_STEP_MASKED, row, j, j < keys ? x[j] : -INFINITY, unit / 2);
}

static void expect_query(struct attn_sequence *s, int row, double unit) {
  double x[ATTN_TOKENS_MAX], e[ATTN_TOKENS_MAX], sum = 0;
  int n = s->given.keys;
  expect_scores(s, row, unit, x);
  for (int j = 0; j < n; j++)
    sum += e[j] = expect(s, ATTN_STEP_EXPONENTIALS, row, j, exp(x[j]), exp(x[j]) * unit);
  sum = expect(s, ATTN_STEP_ROW_SUM, row, 0, sum, (sum + n) * unit);
  for (int j = 0; j < n; j++) e[j] = expect(s, ATTN_STEP_WEIGHTS, row, j, e[j] / sum, unit);
  for (int c = 0; c < s->given.out_width; c++) {
    double o = 0, size = 0;
    for (int j = 0; j < n; j++) {
      double v = at(s, s->given.value[j], c);
      o += e[j] * v, size += fabs(v);
    }
    expect(s, ATTN_STEP_OUTPUT, row, c, o, size * unit);
  }
}

int attn_sequence_expect(struct attn_sequence *s) {
  double unit = unit_of(s);
  s->expecteds = 0;
  for (int row = 0; row < s->given.queries; row++) expect_query(s, row, unit);
  return s->expecteds <= ATTN_EXPECTED_MAX;
}
