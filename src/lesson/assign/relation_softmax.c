/* relation_softmax.c -- exponentials and attention weights, from scores in any state of scaling. */
#include <math.h>

#include "relations.h"

/* ---- weights ---- */

/* What softmax may be taken of. */
struct source {
  const struct attn_node *from;
  struct attn_divided divided; /* kind NONE or ONE: by nothing */
  int may_hide;                /* try masks as well */
  int is_plain;                /* the last step before, as it is */
};

struct weights {
  struct attn_listing *l;
  struct attn_masks masks; /* none: no weight is 0 */
  int any_zero;
};

static struct attn_draft begin(struct attn_listing *l, const struct source *s, int cause,
                               double more, int *ref) {
  int first = s->divided.cause ? s->divided.cause : cause;
  struct attn_draft x = attn_draft_over(l, s->from, NULL, first, s->divided.cost + more);
  int kind = s->divided.kind;
  *ref = 0;
  if (kind == ATTN_DIVISOR_NONE || kind == ATTN_DIVISOR_ONE)
    x.relation.divisor = kind;
  else
    *ref = attn_draft_divide(&x, &s->divided, 0);
  return x;
}

/* Softmax, or exponentials. mask: NULL where nothing is hidden */
static void list_softmax(struct attn_listing *l, const struct source *s, int axis,
                         const struct attn_mask *mask, int cause, double more) {
  int ref, is_exp = l->role == ATTN_ROLE_EXPONENTIALS;
  struct attn_draft x = begin(l, s, cause, more, &ref);
  if (mask) ref = attn_draft_mask(&x, mask, ref);
  attn_draft_use(&x, is_exp ? ATTN_OP_EXP : ATTN_OP_SOFTMAX,
                 is_exp ? ATTN_STEP_EXPONENTIALS : ATTN_STEP_WEIGHTS, is_exp ? 0 : axis, ref, 0);
  attn_list(l, &x);
}

/* 1 where a node is finite; at NULL: everywhere, or no memory. */
static attn_matrix finite_cells(struct attn_listing *l, const struct attn_node *node) {
  const attn_matrix *lo = &node->carried.lo, *hi = &node->carried.hi;
  size_t count = (size_t)lo->rows * (size_t)lo->cols, finite = 0;
  while (finite < count && isfinite(lo->at[finite]) && isfinite(hi->at[finite])) finite++;
  double *keep = finite < count ? attn_pool_take(l->memo->pool, count * sizeof *keep) : NULL;
  if (!keep) return l->memo->failed |= finite < count, (attn_matrix){0, 0, NULL};
  for (size_t n = 0; n < count; n++) keep[n] = isfinite(lo->at[n]) && isfinite(hi->at[n]);
  return attn_relations_constant(l->memo, lo->rows, lo->cols, keep);
}

/* x / sum x; hidden scores count as 0. */
static void list_quotient(struct attn_listing *l, const struct source *s) {
  int ref;
  attn_matrix finite = finite_cells(l, s->from);
  struct attn_draft x = begin(l, s, ATTN_CAUSE_SOFTMAX_WITHOUT_EXP, 6, &ref);
  if (finite.at) {
    int keep = attn_draft_constant(&x, ATTN_STEP_MASK, finite);
    ref = attn_draft_use(&x, ATTN_OP_MASK, ATTN_STEP_OTHER, 0, ref, keep);
  }
  int sum = attn_draft_use(&x, ATTN_OP_SUM, ATTN_STEP_ROW_SUM, 1, ref, 0);
  attn_draft_use(&x, ATTN_OP_QUOTIENT, ATTN_STEP_WEIGHTS, 1, ref, sum);
  attn_list(l, &x);
}

/* softmax(scores / temperature) */
static void list_tempered(struct attn_listing *l, const struct attn_node *from) {
  if (l->hints->temperature == 1) return;
  struct attn_draft x = attn_draft_over(l, from, NULL, ATTN_CAUSE_NONE, 1);
  int ref = attn_draft_use(&x, ATTN_OP_DIVIDE, ATTN_STEP_OTHER, 0, 0, 0);
  x.use[x.relation.uses - 1].scalar = x.relation.divided_by = l->hints->temperature;
  attn_draft_use(&x, ATTN_OP_SOFTMAX, ATTN_STEP_WEIGHTS, 1, ref, 0);
  attn_list(l, &x);
}

static void list_down_columns(struct weights *w, const struct source *s) {
  struct attn_listing *l = w->l;
  if (l->grid->rows < 2) return;
  list_softmax(l, s, 0, NULL, ATTN_CAUSE_SOFTMAX_OVER_COLUMNS, 6);
  if (!w->any_zero || l->grid->rows != l->grid->cols) return;
  if (attn_listing_node(l, ATTN_ROLE_MASKED)) return;
  struct attn_mask causal = {attn_causal_mask(l), ATTN_MASK_CAUSAL, 0, 0, NULL};
  if (causal.keep.at) list_softmax(l, s, 0, &causal, ATTN_CAUSE_SOFTMAX_OVER_COLUMNS, 9);
}

/* Softmax of scores that are 0 where the causal mask of the text hides them. */
static void list_softmax_of_filled(struct weights *w, const struct source *s) {
  struct attn_listing *l = w->l;
  int ref;
  if ((!l->hints->causal && !l->hints->causal_here) || l->grid->rows != l->grid->cols ||
      l->grid->rows < 2 || attn_listing_node(l, ATTN_ROLE_MASKED))
    return;
  struct attn_mask causal = {attn_causal_mask(l), ATTN_MASK_CAUSAL, 0, 0, NULL};
  struct attn_draft x = begin(l, s, ATTN_CAUSE_MASK_FILL, 7, &ref);
  if (!causal.keep.at) return;
  ref = attn_draft_mask(&x, &causal, ref);
  x.use[x.relation.uses - 1].scalar = 0;
  attn_draft_use(&x, ATTN_OP_SOFTMAX, ATTN_STEP_WEIGHTS, 1, ref, 0);
  attn_list(l, &x);
  list_softmax(l, s, 1, &causal, ATTN_CAUSE_NONE, 12); /* what it should be */
}

static void list_source(struct weights *w, const struct source *s) {
  int at = w->l->count;
  list_softmax(w->l, s, 1, NULL, ATTN_CAUSE_NONE, 0);
  if (s->is_plain) attn_list_over_rounded(w->l, at);
  for (int n = 0; s->may_hide && n < w->masks.count; n++) {
    const struct attn_mask *m = &w->masks.at[n];
    list_softmax(w->l, s, 1, m, m->cause, m->cost + 1);
  }
  list_down_columns(w, s);
  list_quotient(w->l, s);
  if (s->may_hide) list_softmax_of_filled(w, s);
}

/* Raw scores, divided on the way by the first few divisors. */
static void list_scaled_sources(struct weights *w, const struct attn_node *scores, int d_k) {
  enum { FEW = 7 };
  struct attn_divisors d;
  attn_divisors_of(w->l, d_k, 1, &d);
  for (int n = 0; n < d.count && n < FEW; n++) {
    if (d.at[n].kind == ATTN_DIVISOR_ONE) continue;
    struct source s = {scores, d.at[n], 1, 0};
    s.divided.cost += 1.5;
    list_source(w, &s);
  }
}

/* softmax(masked / sqrt(d)): the scores are masked before they are divided. */
static void list_scaled_masked(struct attn_listing *l, int d_k) {
  const struct attn_node *masked = attn_listing_node(l, ATTN_ROLE_MASKED);
  struct source s = {masked, {sqrt(d_k), ATTN_DIVISOR_ROOT, d_k, ATTN_CAUSE_NONE, 1.5}, 0, 0};
  if (masked && d_k && !attn_listing_node(l, ATTN_ROLE_SCALED))
    list_softmax(l, &s, 1, NULL, ATTN_CAUSE_NONE, 0);
}

/* Scores that were scaled or masked, and softmax is taken of others. */
static void list_passed_sources(struct weights *w, int d_k) {
  const struct attn_listing *l = w->l;
  const struct attn_node *scores = attn_listing_node(l, ATTN_ROLE_SCORES);
  const struct attn_node *scaled = attn_listing_node(l, ATTN_ROLE_SCALED);
  int masked = attn_listing_node(l, ATTN_ROLE_MASKED) != NULL;
  struct source raw = {scores, {1, ATTN_DIVISOR_ONE, 0, ATTN_CAUSE_MISSING_SCALE, 6}, 1, 0};
  struct source past = {scores, {sqrt(d_k), ATTN_DIVISOR_ROOT, d_k, ATTN_CAUSE_NONE, 4}, 1, 0};
  struct source bare = {scaled ? scaled : scores, {1, 0, 0, ATTN_CAUSE_MASK_IGNORED, 6}, 0, 0};
  if (scaled && scores && !masked) list_source(w, &raw);
  if (scaled && scores && !masked && d_k) list_source(w, &past);
  if (masked && bare.from) list_source(w, &bare);
}

/* softmax(Q K^T / c), perhaps masked. */
static void list_of_queries(struct attn_listing *l, const struct attn_divided *d,
                            const struct attn_mask *mask, int axis) {
  const struct attn_node *q = attn_listing_node(l, ATTN_ROLE_Q);
  const struct attn_node *k = attn_listing_node(l, ATTN_ROLE_K);
  int cause = d->kind == ATTN_DIVISOR_ONE ? ATTN_CAUSE_NONE : d->cause;
  if (mask && mask->cause) cause = mask->cause;
  if (!axis) cause = ATTN_CAUSE_SOFTMAX_OVER_COLUMNS;
  double cost = d->cost + 3 + (mask ? mask->cost + 1 : 0) + (axis ? 0 : 6);
  struct attn_draft x = attn_draft_over(l, q, k, cause, cost);
  int ref = attn_draft_use(&x, ATTN_OP_MATMUL_NT, ATTN_STEP_SCORES, 0, 0, 1);
  ref = attn_draft_divide(&x, d, ref);
  if (mask) ref = attn_draft_mask(&x, mask, ref);
  attn_draft_use(&x, ATTN_OP_SOFTMAX, ATTN_STEP_WEIGHTS, axis, ref, 0);
  if (mask || !axis)
    attn_list(l, &x);
  else
    attn_list_rows(l, &x);
}

/* At once: a divisor that is missing may have been meant. */
static void list_at_once(struct weights *w, int d_k) {
  enum { FEW = 3, SMALL = 400 };
  struct attn_divisors d;
  int is_small = w->l->grid->rows * w->l->grid->cols <= SMALL;
  if (!attn_listing_node(w->l, ATTN_ROLE_Q) || !attn_listing_node(w->l, ATTN_ROLE_K)) return;
  attn_divisors_of(w->l, d_k, 0, &d);
  for (int n = 0; n < d.count && n < FEW; n++) {
    list_of_queries(w->l, &d.at[n], NULL, 1);
    if (n == 0 && w->l->grid->rows > 1) list_of_queries(w->l, &d.at[n], NULL, 0);
    for (int m = 0; m < w->masks.count; m++)
      if (is_small || (n == 0 && !w->masks.at[m].cause))
        list_of_queries(w->l, &d.at[n], &w->masks.at[m], 1);
  }
}

/* Which weights or exponentials are 0 or blank; any: whether there are some that no rounding
 * explains. NULL: no memory. */
unsigned char *attn_zero_cells(const struct attn_listing *l, int *any) {
  const struct attn_grid *g = l->grid;
  size_t count = (size_t)g->rows * (size_t)g->cols;
  unsigned char *zero = attn_pool_take(l->memo->pool, count);
  if (!zero) l->memo->failed = 1;
  for (size_t n = 0; zero && n < count; n++) *any |= zero[n] = g->value[n] == 0 || g->blank[n] == 1;
  *any &= !g->coarse || l->hints->causal || l->hints->padding;
  return zero;
}

void attn_list_shifted(struct attn_listing *l) {
  if (!l->hints->shifts) return;
  attn_list_rules(l);
  attn_list_skipped(l);
}

void attn_list_exponentials(struct attn_listing *l) {
  attn_list_rules(l);
  attn_list_skipped(l);
}

void attn_list_weights(struct attn_listing *l) {
  struct weights w = {.l = l};
  struct source plain = {attn_listing_node(l, ATTN_ROLE_LOGITS), {1, 0, 0, 0, 0}, 1, 1};
  const struct attn_node *scores = attn_listing_node(l, ATTN_ROLE_SCORES);
  int d_k = attn_listing_width(l), masked = attn_listing_node(l, ATTN_ROLE_MASKED) != NULL;
  const unsigned char *zero = attn_zero_cells(l, &w.any_zero);
  attn_list_rules(l);
  int in_steps = attn_listing_node(l, ATTN_ROLE_EXPONENTIALS) != NULL;
  if (in_steps && attn_listing_node(l, ATTN_ROLE_ROW_SUM)) { /* their quotient, by a rule */
    if (plain.from) list_down_columns(&w, &plain), list_quotient(l, &plain);
    return;
  }
  if (zero && (w.any_zero || l->hints->mask || l->hints->causal_here) && !masked &&
      (plain.from || d_k))
    attn_masks_of(l, zero, &w.masks);
  if (!plain.from && d_k) list_at_once(&w, d_k);
  if (!plain.from) attn_list_skipped(l);
  if (plain.from) list_source(&w, &plain), list_tempered(l, plain.from);
  if (scores && d_k && !masked && !attn_listing_node(l, ATTN_ROLE_SCALED))
    list_scaled_sources(&w, scores, d_k);
  list_scaled_masked(l, d_k);
  list_passed_sources(&w, d_k);
}

void attn_list_output(struct attn_listing *l) {
  attn_list_rules(l);
  if (!attn_listing_node(l, ATTN_ROLE_WEIGHTS)) attn_list_skipped(l);
}
