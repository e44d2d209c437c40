/* relation_softmax.c -- exponentials and attention weights, from scores in any state of scaling. */
#include <math.h>

#include "relations.h"

/* What softmax may be taken of. */
struct source {
  const struct attn_node *from;
  struct attn_divided divided; /* kind NONE or ONE: by nothing */
  int may_hide;                /* try masks as well */
  int is_plain;                /* the last step before, as it is */
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

/* x / sum x */
static void list_quotient(struct attn_listing *l, const struct source *s) {
  int ref;
  struct attn_draft x = begin(l, s, ATTN_CAUSE_SOFTMAX_WITHOUT_EXP, 6, &ref);
  int sum = attn_draft_use(&x, ATTN_OP_SUM, ATTN_STEP_ROW_SUM, 1, ref, 0);
  attn_draft_use(&x, ATTN_OP_QUOTIENT, ATTN_STEP_WEIGHTS, 1, ref, sum);
  attn_list(l, &x);
}

static void list_down_columns(struct attn_listing *l, const struct source *s) {
  if (l->grid->rows > 1) list_softmax(l, s, 0, NULL, ATTN_CAUSE_SOFTMAX_OVER_COLUMNS, 6);
}

static void list_source(struct attn_listing *l, const struct attn_masks *masks,
                        const struct source *s) {
  int at = l->count;
  list_softmax(l, s, 1, NULL, ATTN_CAUSE_NONE, 0);
  if (s->is_plain && l->count > at) l->coarse = at;
  for (int n = 0; s->may_hide && n < masks->count; n++) {
    const struct attn_mask *m = &masks->at[n];
    list_softmax(l, s, 1, m, m->cause, m->cost + 1);
  }
  list_down_columns(l, s);
  list_quotient(l, s);
}

/* Raw scores, divided on the way by the first few divisors. */
static void list_scaled_sources(struct attn_listing *l, const struct attn_masks *masks,
                                const struct attn_node *scores, int d_k) {
  enum { FEW = 7 };
  struct attn_divisors d;
  attn_divisors_of(l, d_k, 1, &d);
  for (int n = 0; n < d.count && n < FEW; n++) {
    if (d.at[n].kind == ATTN_DIVISOR_ONE) continue;
    struct source s = {scores, d.at[n], 1, 0};
    s.divided.cost += 1.5;
    list_source(l, masks, &s);
  }
}

/* Which weights are 0 or blank; any: whether there are some that no rounding explains. NULL: no
 * memory. */
static unsigned char *zero_cells(const struct attn_listing *l, int *any) {
  const struct attn_grid *g = l->grid;
  size_t count = (size_t)g->rows * (size_t)g->cols;
  unsigned char *zero = attn_pool_take(l->memo->pool, count);
  if (!zero) l->memo->failed = 1;
  for (size_t n = 0; zero && n < count; n++)
    *any |= zero[n] = g->value[n] == 0 || g->value[n] == -(double)INFINITY;
  *any &= !g->coarse || l->hints->causal || l->hints->padding;
  return zero;
}

void attn_list_exponentials(struct attn_listing *l) {
  struct source plain = {attn_listing_node(l, ATTN_ROLE_LOGITS), {1, 0, 0, 0, 0}, 1, 1};
  struct attn_masks masks = {.count = 0};
  int any = 0;
  const unsigned char *zero = zero_cells(l, &any);
  attn_list_steps(l);
  if (zero && any && plain.from && !attn_listing_node(l, ATTN_ROLE_MASKED))
    attn_masks_of(l, zero, &masks);
  for (int n = 0; n < masks.count; n++)
    list_softmax(l, &plain, 0, &masks.at[n], masks.at[n].cause, masks.at[n].cost + 1.5);
}

void attn_list_weights(struct attn_listing *l) {
  struct attn_masks masks = {.count = 0}; /* none: no weight is 0 */
  struct source plain = {attn_listing_node(l, ATTN_ROLE_LOGITS), {1, 0, 0, 0, 0}, 1, 1};
  const struct attn_node *scores = attn_listing_node(l, ATTN_ROLE_SCORES);
  struct source raw = {scores, {1, ATTN_DIVISOR_ONE, 0, ATTN_CAUSE_MISSING_SCALE, 6}, 1, 0};
  int d_k = attn_listing_width(l), masked = attn_listing_node(l, ATTN_ROLE_MASKED) != NULL;
  struct source past = {scores, {sqrt(d_k), ATTN_DIVISOR_ROOT, d_k, ATTN_CAUSE_NONE, 4}, 1, 0};
  int scaled = attn_listing_node(l, ATTN_ROLE_SCALED) != NULL, any_zero = 0;
  const unsigned char *zero = zero_cells(l, &any_zero);
  attn_list_rules(l);
  int in_steps = attn_listing_node(l, ATTN_ROLE_EXPONENTIALS) != NULL;
  if (!plain.from) {
    attn_list_skipped(l);
    return;
  }
  if (in_steps && attn_listing_node(l, ATTN_ROLE_ROW_SUM)) { /* their quotient, by a rule */
    list_down_columns(l, &plain);
    return;
  }
  if (zero && (any_zero || l->hints->causal_here) && !masked) attn_masks_of(l, zero, &masks);
  list_source(l, &masks, &plain);
  if (!scores || masked) return;
  if (scaled) {
    list_source(l, &masks, &raw);
    if (d_k) list_source(l, &masks, &past);
  } else if (d_k) {
    list_scaled_sources(l, &masks, scores, d_k);
  }
}
