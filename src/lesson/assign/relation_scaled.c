/* relation_scaled.c -- scores divided by something: the root of d_k, or what is taken for it. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "cell.h"
#include "relations.h"

/* ---- what the text states ---- */

/* A decimal number, or an integer that something is divided by. */
static const char STATED[] =
    "(?<![A-Za-z0-9.^_])[0-9]+\\.[0-9]+|(?<=[÷/] |\\b1/)[0-9]+(?![0-9.])|"
    "(?<![\\p{L}\\p{N}_.^√(])(?<!root of )(?<!d_k=|dk=)(?<!d_k = |dk = "
    ")[0-9]+(?=\\s*(?:で割|$))|(?<=by "
    ")[0-9]+(?![0-9.])";

/* The integer of a root that something is divided by. */
static const char STATED_ROOT[] = "(?<=/√|/ √)[0-9]+(?![0-9.])";

enum { DIGITS_MAX = 40 };

/* 0: too long. */
static double number_of(const char *text, size_t bytes) {
  char digits[DIGITS_MAX];
  size_t count = 0, decimals = 0;
  if (bytes > DIGITS_MAX) return 0;
  for (size_t n = 0, point = 0; n < bytes; n++) {
    decimals += point;
    if (text[n] == '.')
      point = 1;
    else
      digits[count++] = text[n];
  }
  return attn_decimal(digits, count, -(long)decimals);
}

/* ---- all divisors ---- */

/* Are a and b the same to six decimals? */
static int same(double a, double b) { return rint(a * 1e6) == rint(b * 1e6); }

static int tried(const struct attn_divisors *d, double by) {
  for (int n = 0; n < d->count; n++)
    if (d->at[n].kind != ATTN_DIVISOR_ONE && same(d->at[n].by, by)) return 1;
  return 0;
}

static void try(struct attn_divisors *d, double by, int kind, int root_of, int cause, double cost) {
  if (d->count == ATTN_DIVISORS_MAX || !(by > 0) || !isfinite(by)) return;
  if (kind != ATTN_DIVISOR_ONE && tried(d, by)) return;
  d->at[d->count++] = (struct attn_divided){by, kind, root_of, cause, cost};
}

static void try_number(double by, int d_k, struct attn_divisors *d) {
  if (fabs(by - 1) <= 1e-9) return;
  if (by == d_k)
    try(d, by, ATTN_DIVISOR_STATED, 0, ATTN_CAUSE_SCALE_BY_DK, 6);
  else
    try(d, by, ATTN_DIVISOR_STATED, 0, ATTN_CAUSE_NONE, 2);
}

static void try_root(double of, int d_k, struct attn_divisors *d) {
  if (of != 1 && of != d_k && of < INT_MAX)
    try(d, sqrt(of), ATTN_DIVISOR_STATED, (int)of, ATTN_CAUSE_NONE, 2);
}

static void try_matches(const struct attn_listing *l, const char *pattern, int d_k,
                        void (*each)(double, int, struct attn_divisors *),
                        struct attn_divisors *d) {
  const char *text = l->hints->text ? l->hints->text : "";
  size_t bytes = strlen(text);
  struct attn_match m;
  for (size_t from = 0; attn_find(l->memo->patterns, pattern, text, bytes, from, &m);
       from = m.group[0].end)
    each(number_of(text + m.group[0].begin, m.group[0].end - m.group[0].begin), d_k, d);
}

static void try_stated(const struct attn_listing *l, int d_k, struct attn_divisors *d) {
  try_matches(l, STATED_ROOT, d_k, try_root, d);
  try_matches(l, STATED, d_k, try_number, d);
  try_number(l->hints->temperature, d_k, d);
}

/* Other sizes that are taken for d_k, in ascending order. */
static int sizes_of(const struct attn_listing *l, int d_k, int *size) {
  static const int roles[] = {ATTN_ROLE_V, ATTN_ROLE_SOURCE, ATTN_ROLE_Y, ATTN_ROLE_Q};
  const struct attn_node *node = attn_listing_node(l, ATTN_ROLE_K);
  int count = 0;
  if (node) size[count++] = node->grid->rows;
  for (int n = 0; n < 4; n++)
    if ((node = attn_listing_node(l, roles[n]))) size[count++] = node->grid->cols;
  size[count++] = d_k * 2;
  size[count++] = d_k * l->state->heads;
  for (int n = 1; n < count; n++)
    for (int k = n, moved = size[n]; k > 0 && size[k - 1] > moved; k--)
      size[k] = size[k - 1], size[k - 1] = moved;
  return count;
}

static void try_sizes(const struct attn_listing *l, int d_k, struct attn_divisors *d) {
  int size[8], count = sizes_of(l, d_k, size);
  for (int n = 0; n < count; n++)
    if (size[n] > 1 && size[n] != d_k)
      try(d, sqrt(size[n]), ATTN_DIVISOR_OTHER_SIZE, size[n], ATTN_CAUSE_SCALE_WRONG_DIM, 7);
}

static double with_decimals(double x, double unit) { return rint(x * unit) / unit; }

static void try_rounded(double root, struct attn_divisors *d) {
  const double by[] = {with_decimals(root, 10), with_decimals(root, 100),
                       1 / with_decimals(1 / root, 10), 1 / with_decimals(1 / root, 100)};
  for (int n = 0; n < 4; n++)
    try(d, by[n], ATTN_DIVISOR_ROUNDED_ROOT, 0, ATTN_CAUSE_ROUNDING_TOO_COARSE, 6);
}

void attn_divisors_of(const struct attn_listing *l, int d_k, int other_sizes,
                      struct attn_divisors *out) {
  out->count = 0;
  try(out, sqrt(d_k), ATTN_DIVISOR_ROOT, d_k, ATTN_CAUSE_NONE, 0);
  try_stated(l, d_k, out);
  try(out, d_k, ATTN_DIVISOR_D_K, 0, ATTN_CAUSE_SCALE_BY_DK, 6);
  try(out, 1, ATTN_DIVISOR_ONE, 0, ATTN_CAUSE_MISSING_SCALE, 6);
  if (other_sizes) try_sizes(l, d_k, out);
  try_rounded(sqrt(d_k), out);
}

void attn_usual_divisors(struct attn_divisors *out) {
  static const int widths[] = {2, 3, 4, 8, 16, 64};
  out->count = 0;
  for (size_t n = 0; n < sizeof widths / sizeof *widths; n++)
    try(out, sqrt(widths[n]), ATTN_DIVISOR_ROOT, widths[n], ATTN_CAUSE_NONE, 4);
}

int attn_draft_divide(struct attn_draft *x, const struct attn_divided *d, int from) {
  int ref = attn_draft_use(x, ATTN_OP_DIVIDE, ATTN_STEP_SCALED, 0, from, 0);
  struct attn_use *use = &x->use[x->relation.uses - 1];
  use->scalar = d->by, use->scaled_by = d->root_of;
  x->relation.divisor = d->kind, x->relation.divided_by = d->by;
  return ref;
}

/* ---- scaled scores ---- */

static const double FIRST_ROW = 1.5; /* bits */

/* Not the one whose root is the width that is stated. */
static void list_usual_widths(struct attn_listing *l, const struct attn_node *scores) {
  struct attn_divisors d;
  attn_usual_divisors(&d);
  for (int n = 0; n < d.count; n++) {
    if (d.at[n].by == l->hints->width) continue;
    struct attn_draft x = attn_draft_over(l, scores, NULL, d.at[n].cause, d.at[n].cost);
    attn_draft_divide(&x, &d.at[n], 0);
    attn_list(l, &x);
  }
}

/* Q K^T divided at once */
static void list_scaled_product(struct attn_listing *l, const struct attn_divided *d) {
  const struct attn_node *q = attn_listing_node(l, ATTN_ROLE_Q);
  const struct attn_node *k = attn_listing_node(l, ATTN_ROLE_K);
  if (!q || !k) return;
  struct attn_draft x = attn_draft_over(l, q, k, d->cause, d->cost + 1);
  attn_draft_divide(&x, d, attn_draft_use(&x, ATTN_OP_MATMUL_NT, ATTN_STEP_SCORES, 0, 0, 1));
  attn_list_rows(l, &x);
}

/* Scores that a mask hides in the same step are masked ones. */
static int hides(const struct attn_listing *l, const struct attn_node *scores) {
  int any = 0, before = 0;
  attn_hidden_cells(l, &any);
  if (scores)
    for (int n = 0; n < scores->grid->rows * scores->grid->cols; n++)
      before |= isinf(scores->grid->value[n]);
  return any && !before;
}

void attn_list_scaled(struct attn_listing *l) {
  const struct attn_node *scores = attn_listing_node(l, ATTN_ROLE_SCORES);
  struct attn_divisors d = {.count = 0};
  int d_k = attn_listing_width(l);
  if (scores && scores->grid->rows == 1 && l->grid->rows > 1) scores = NULL; /* of the last query */
  if (hides(l, scores)) return;
  if (!scores && !(attn_listing_node(l, ATTN_ROLE_Q) && attn_listing_node(l, ATTN_ROLE_K)))
    attn_list_skipped(l);
  if (d_k) attn_divisors_of(l, d_k, 1, &d);
  if (d_k)
    try(&d, 1 / sqrt(d_k), ATTN_DIVISOR_OTHER_SIZE, 0, ATTN_CAUSE_UNKNOWN, 7); /* multiplied */
  for (int n = 0; n < d.count; n++) {
    if (!scores) {
      list_scaled_product(l, &d.at[n]);
      continue;
    }
    struct attn_draft x = attn_draft_over(l, scores, NULL, d.at[n].cause, d.at[n].cost);
    attn_draft_divide(&x, &d.at[n], 0);
    attn_list(l, &x);
    if (l->grid->rows > 1 || scores->grid->rows < 2) continue;
    x.relation.row = 0; /* the first row, where an exercise is begun */
    x.relation.cost += FIRST_ROW;
    attn_list(l, &x);
  }
  if (scores && !attn_printed_width(l)) list_usual_widths(l, scores);
}
