/* expected.c -- which lists are queries, keys and values, and what they give. */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "sequence.h"
#include "steps.h"

/* ---- givens ---- */

/* Lists of this length (0: any) that are called so, those in brackets if there are any. */
static int find_called(const struct attn_sequence *s, int called, int count, int *list) {
  int found = 0;
  for (int brackets = 1; brackets >= 0 && !found; brackets--)
    for (int n = 0; n < s->lists && found < ATTN_TOKENS_MAX; n++) {
      const struct attn_item_list *l = &s->list[n];
      if (l->called != called || l->is_operand || l->is_vector != brackets) continue;
      if (count ? l->count != count : l->count < 2) continue;
      if (!brackets && !l->is_own) continue;
      if (!count) count = l->count;
      list[found++] = n;
    }
  return found;
}

static int are_equal(const struct attn_sequence *s, int a, int b) {
  const struct attn_item *x = &s->item[s->list[a].first], *y = &s->item[s->list[b].first];
  int n = 0;
  while (n < s->list[a].count && x[n].cell.value == y[n].cell.value) n++;
  return n == s->list[a].count;
}

/* Without a query that is mentioned again. */
static int drop_mentions(const struct attn_sequence *s, int *list, int count) {
  int kept = 0;
  for (int n = 0; n < count; n++) {
    int k = 0;
    while (k < kept && !are_equal(s, list[k], list[n])) k++;
    if (k == kept) list[kept++] = list[n];
  }
  return kept;
}

/* The first vectors of one length serve as all three. */
static int find_inputs(struct attn_sequence *s) {
  int first = 0;
  while (first < s->lists && (!s->list[first].is_vector || s->list[first].is_operand)) first++;
  for (int n = first; n < s->lists && s->keys < ATTN_TOKENS_MAX; n++) {
    const struct attn_item_list *l = &s->list[n];
    if (!l->is_vector || l->is_operand || l->count != s->list[first].count) break;
    s->query[s->keys] = s->key[s->keys] = s->value[s->keys] = n;
    s->keys++;
  }
  s->queries = s->keys;
  return s->keys > 1;
}

int attn_sequence_givens(struct attn_sequence *s) {
  s->keys = find_called(s, ATTN_STEP_K, 0, s->key);
  int values = find_called(s, ATTN_STEP_V, 0, s->value);
  int width = s->keys ? s->list[s->key[0]].count : 0;
  s->queries = s->keys ? find_called(s, ATTN_STEP_Q, width, s->query) : 0;
  if (s->keys && !values) values = s->keys, memcpy(s->value, s->key, sizeof s->key);
  if (!s->keys && !find_inputs(s)) return 0;
  if (!values) values = s->keys;
  if (values < s->keys) s->keys = values;
  s->queries = s->query[0] == s->key[0] ? s->queries : drop_mentions(s, s->query, s->queries);
  if (!s->queries || s->keys < 2) return 0;
  s->width = s->list[s->key[0]].count, s->out_width = s->list[s->value[0]].count;
  return s->width <= ATTN_WIDTH_MAX && s->out_width <= ATTN_WIDTH_MAX;
}

/* ---- what they give ---- */

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

static void expect(struct attn_sequence *s, int step, int row, int col, double value,
                   double slack) {
  if (s->expecteds < ATTN_EXPECTED_MAX)
    s->expected[s->expecteds] = (struct attn_expected){step, row, col, value, slack};
  s->expecteds++;
}

int attn_sequence_visible(const struct attn_sequence *s, int row) {
  return s->is_causal ? row + 1 : s->keys - s->padding;
}

static void expect_query(struct attn_sequence *s, int row, double unit) {
  double x[ATTN_TOKENS_MAX], e[ATTN_TOKENS_MAX], sum = 0;
  int n = s->keys, keys = attn_sequence_visible(s, row);
  for (int j = 0; j < n; j++) {
    x[j] = 0;
    for (int k = 0; k < s->width; k++) x[j] += at(s, s->query[row], k) * at(s, s->key[j], k);
    expect(s, ATTN_STEP_SCORES, row, j, x[j], 0);
  }
  for (int j = 0; j < n && s->is_scaled; j++)
    expect(s, ATTN_STEP_SCALED, row, j, x[j] /= sqrt(s->width), unit / 2);
  for (int j = 0; j < n && (s->is_causal || s->padding); j++)
    expect(s, ATTN_STEP_MASKED, row, j, j < keys ? x[j] : (x[j] = -INFINITY), unit / 2);
  for (int j = 0; j < n; j++) {
    sum += e[j] = exp(x[j]);
    expect(s, ATTN_STEP_EXPONENTIALS, row, j, e[j], e[j] * unit);
  }
  expect(s, ATTN_STEP_ROW_SUM, row, 0, sum, (sum + n) * unit);
  for (int j = 0; j < n; j++) expect(s, ATTN_STEP_WEIGHTS, row, j, e[j] / sum, unit);
  for (int c = 0; c < s->out_width; c++) {
    double o = 0, size = 0;
    for (int j = 0; j < n; j++)
      o += e[j] / sum * at(s, s->value[j], c), size += fabs(at(s, s->value[j], c));
    expect(s, ATTN_STEP_OUTPUT, row, c, o, size * unit);
  }
}

int attn_sequence_expect(struct attn_sequence *s) {
  double unit = unit_of(s);
  s->expecteds = 0;
  for (int row = 0; row < s->queries; row++) expect_query(s, row, unit);
  return s->expecteds <= ATTN_EXPECTED_MAX;
}
