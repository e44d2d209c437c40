/* expected.c -- what queries, keys and values give. */
#include <math.h>

#include "sequence.h"

static double at(const struct attn_sequence *s, int list, int n) {
  return s->item[s->list[list].first + n].cell.value;
}

/* A unit of the last digit of most numbers with two decimals or more; 0.1 if there are none. */
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

int attn_sequence_is_projection(int step) { return step >= ATTN_STEP_Q && step <= ATTN_STEP_V; }

int attn_sequence_visible(const struct attn_sequence *s, int row) {
  return s->given.is_causal ? row + 1 : s->given.keys - s->given.padding;
}

/* The value, or what is printed in its place. */
static double expect(struct attn_sequence *s, int step, int row, int col, double value,
                     double slack) {
  int cell = s->expecteds++;
  if (cell >= ATTN_EXPECTED_MAX) return value;
  if (s->is_slip[cell]) value = s->slip[cell];
  int is_hidden = step >= ATTN_STEP_SCORES && step <= ATTN_STEP_WEIGHTS &&
                  step != ATTN_STEP_ROW_SUM && col >= attn_sequence_visible(s, row);
  s->expected[cell] = (struct attn_expected){step, row, col, is_hidden, value, slack};
  return value;
}

/* Has W s, or s W, as many components as `size`? */
static int fits_rows(const struct attn_sequence *s, const int *rows, int count, int list,
                     int size) {
  int columns = s->list[rows[0]].count, terms = s->list[list].count;
  for (int n = 1; n < count; n++)
    if (s->list[rows[n]].count != columns) return 0;
  if (size > ATTN_WIDTH_MAX) return 0;
  return s->given.in_columns ? columns == terms && count == size
                             : count == terms && columns == size;
}

static int matrices_fit(const struct attn_sequence *s) {
  const struct attn_givens *g = &s->given;
  if (g->scoring == ATTN_GENERAL) return fits_rows(s, g->w, g->w_rows, g->query[0], g->width);
  int size = s->list[g->v].count;
  return fits_rows(s, g->w, g->w_rows, g->query[0], size) &&
         fits_rows(s, g->u, g->u_rows, g->key[0], size);
}

static int projections_fit(const struct attn_sequence *s) {
  const struct attn_givens *g = &s->given;
  for (int n = 0; n < 3; n++)
    if (!fits_rows(s, g->projection[n], g->rows[n], n ? g->x[0] : g->y[0],
                   n < 2 ? g->width : g->out_width))
      return 0;
  return 1;
}

/* Cell n of W s, or of s W. */
static double product_of(const struct attn_sequence *s, const int *rows, int list, int n) {
  double sum = 0;
  int terms = s->list[list].count;
  for (int k = 0; k < terms; k++)
    sum += at(s, list, k) * (s->given.in_columns ? at(s, rows[n], k) : at(s, rows[k], n));
  return sum;
}

/* v . tanh(W s + U h), and what is on the way to it. */
static double additive_score(struct attn_sequence *s, int key, double unit) {
  const struct attn_givens *g = &s->given;
  double *w = s->state, u[ATTN_WIDTH_MAX], score = 0;
  int size = s->list[g->v].count;
  for (int n = 0; n < size && key == 0; n++)
    w[n] = expect(s, ATTN_W_S, 0, n, product_of(s, g->w, g->query[0], n), 0);
  for (int n = 0; n < size; n++)
    u[n] = expect(s, ATTN_U_H, key, n, product_of(s, g->u, g->key[key], n), 0);
  for (int n = 0; n < size; n++) u[n] = expect(s, ATTN_W_S_U_H, key, n, w[n] + u[n], unit / 2);
  for (int n = 0; n < size; n++) u[n] = expect(s, ATTN_TANH, key, n, tanh(u[n]), unit / 2);
  for (int n = 0; n < size; n++) score += u[n] * at(s, g->v, n);
  return score;
}

static double score_of(struct attn_sequence *s, int row, int key, double unit) {
  const struct attn_givens *g = &s->given;
  double sum = 0;
  if (g->scoring == ATTN_ADDITIVE) return additive_score(s, key, unit);
  for (int k = 0; k < g->width; k++)
    sum += (g->scoring == ATTN_GENERAL ? product_of(s, g->w, g->query[row], k)
                                       : s->vector[0][row][k]) *
           s->vector[1][key][k];
  return sum;
}

/* The queries, keys and values; those of inputs are printed, too. */
static void set_vectors(struct attn_sequence *s) {
  const struct attn_givens *g = &s->given;
  for (int of = 0; of < 3 && !s->known; of++) {
    const int *list = of == 0 ? g->query : of == 1 ? g->key : g->value;
    int rows = of ? g->keys : g->queries, cols = of == 2 ? g->out_width : g->width;
    for (int n = 0; n < rows; n++)
      for (int c = 0; c < cols; c++)
        s->vector[of][n][c] =
            g->is_projected ? expect(s, ATTN_STEP_Q + of, n, c,
                                     product_of(s, g->projection[of], of ? g->x[n] : g->y[n], c), 0)
                            : at(s, list[n], c);
  }
}

static double divisor_of(const struct attn_givens *g) {
  return g->other == ATTN_NOT_DIVIDED ? 1 : g->other == ATTN_BY_WIDTH ? g->width : sqrt(g->width);
}

static void expect_scores(struct attn_sequence *s, int row, double unit, double *x) {
  int n = s->given.keys, keys = attn_sequence_visible(s, row);
  for (int j = 0; j < n; j++) {
    double score = score_of(s, row, j, unit);
    x[j] = expect(s, ATTN_STEP_SCORES, row, j, score,
                  s->given.scoring == ATTN_ADDITIVE ? 2 * unit : 0);
  }
  for (int j = 0; j < n && s->given.is_scaled; j++)
    x[j] = expect(s, ATTN_STEP_SCALED, row, j, x[j] / divisor_of(&s->given), unit / 2);
  for (int j = 0; j < n && (s->given.is_causal || s->given.padding); j++)
    x[j] = expect(s, ATTN_STEP_MASKED, row, j, j < keys ? x[j] : -INFINITY, unit / 2);
}

static void expect_query(struct attn_sequence *s, int row, double unit) {
  double x[ATTN_TOKENS_MAX], e[ATTN_TOKENS_MAX], sum = 0;
  int n = s->given.keys, with_keys = s->given.other == ATTN_KEYS_IN_PLACE;
  expect_scores(s, row, unit, x);
  for (int j = 0; j < n; j++)
    sum += e[j] = s->given.other == ATTN_WITHOUT_EXP
                      ? x[j]
                      : expect(s, ATTN_STEP_EXPONENTIALS, row, j, exp(x[j]), exp(x[j]) * unit);
  sum = expect(s, ATTN_STEP_ROW_SUM, row, 0, sum, (sum + n) * unit);
  for (int j = 0; j < n; j++) e[j] = expect(s, ATTN_STEP_WEIGHTS, row, j, e[j] / sum, unit);
  for (int c = 0; c < s->given.out_width; c++) {
    double o = 0, size = 0;
    for (int j = 0; j < n; j++) {
      double v = s->vector[with_keys ? 1 : 2][j][c];
      o += e[j] * v, size += fabs(v);
    }
    expect(s, ATTN_STEP_OUTPUT, row, c, o, size * unit);
  }
}

int attn_sequence_expect(struct attn_sequence *s) {
  double unit = unit_of(s);
  s->expecteds = 0;
  if (s->given.scoring && !matrices_fit(s)) return 0;
  if (s->given.is_projected && !projections_fit(s)) return 0;
  set_vectors(s);
  for (int row = 0; row < s->given.queries; row++) expect_query(s, row, unit);
  if (s->expecteds > ATTN_EXPECTED_MAX) s->expecteds = 0;
  return s->expecteds > 0;
}
