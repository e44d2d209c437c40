/* relation_skipped.c -- right results of which the steps before are not printed. */
#include <math.h>
#include <stdint.h>

#include "relations.h"

static const double SKIPPED = 1.5, WEIGHTS_SKIPPED = 8, PROJECTION_SKIPPED = 4; /* bits */
static const double KEYS_AS_VALUES = 2;
enum { NOTHING = INT8_MIN };

/* A relation from the last printed step to the role of the list. */
struct path {
  const struct attn_listing *l;
  int from;    /* the role of that step; below ATTN_ROLE_SCORES: none */
  int divided; /* by the root of so much on the way; 0: by nothing */
  struct attn_draft x;
};

static const struct attn_node *node_of(const struct path *p, int role) {
  return attn_listing_node(p->l, role);
}

static int take(struct attn_draft *x, const struct attn_node *node) {
  x->operand[x->relation.operands] = node;
  return x->relation.operands++;
}

/* Are the inputs their own queries and keys, so that nothing is printed of these? */
static int is_unprojected(const struct path *p) {
  return !node_of(p, ATTN_ROLE_Q) && !node_of(p, ATTN_ROLE_K) && !node_of(p, ATTN_ROLE_W_Q) &&
         !node_of(p, ATTN_ROLE_W_K) && p->l->head == 0;
}

/* Q, K or V; where it is not printed, X W, or X. NOTHING: there is none. */
static int take_projection(struct path *p, int role) {
  int source = role == ATTN_ROLE_Q ? ATTN_ROLE_QUERY_SOURCE : ATTN_ROLE_SOURCE;
  const struct attn_node *of = node_of(p, source);
  const struct attn_node *by = node_of(p, ATTN_ROLE_W_Q + role - ATTN_ROLE_Q);
  if (node_of(p, role)) return take(&p->x, node_of(p, role));
  if (of && role != ATTN_ROLE_V && is_unprojected(p)) return take(&p->x, of);
  if (!of || !by) return NOTHING;
  int a = take(&p->x, of), b = take(&p->x, by);
  p->x.relation.cost += PROJECTION_SKIPPED;
  return attn_draft_use(&p->x, ATTN_OP_MATMUL, ATTN_STEP_Q + role - ATTN_ROLE_Q, 0, a, b);
}

/* Values that are not given apart are the keys, or the inputs. */
static int take_values(struct path *p) {
  int v = take_projection(p, ATTN_ROLE_V);
  const struct attn_node *keys = node_of(p, ATTN_ROLE_KEYS);
  if (v != NOTHING || node_of(p, ATTN_ROLE_W_V)) return v;
  p->x.relation.cost += KEYS_AS_VALUES;
  return keys ? take(&p->x, keys) : NOTHING;
}

/* Additive scores, or those of q^T W k. NOTHING: an operand is missing. */
static int take_alignment(struct path *p) {
  static const int roles[] = {ATTN_ROLE_QUERIES, ATTN_ROLE_KEYS, ATTN_ROLE_W_A, ATTN_ROLE_U_A,
                              ATTN_ROLE_V_A};
  const int is_additive = node_of(p, ATTN_ROLE_U_A) != NULL;
  struct attn_use use = {.op = is_additive ? ATTN_OP_ADDITIVE : ATTN_OP_GENERAL,
                         .name = ATTN_STEP_SCORES,
                         .operands = is_additive ? 5 : 3};
  for (int n = 0; n < use.operands; n++) {
    const struct attn_node *node = node_of(p, roles[n]);
    if (!node) return NOTHING;
    use.operand[n] = (int8_t)take(&p->x, node);
  }
  p->x.use[p->x.relation.uses++] = use;
  return -p->x.relation.uses;
}

/* What the path begins with. NOTHING: queries or keys are missing. */
static int take_first(struct path *p) {
  if (p->from >= ATTN_ROLE_SCORES) return take(&p->x, node_of(p, p->from));
  p->x.relation.cost += SKIPPED;
  if (node_of(p, ATTN_ROLE_W_A)) return take_alignment(p);
  int q = take_projection(p, ATTN_ROLE_Q);
  int k = q == NOTHING ? NOTHING : take_projection(p, ATTN_ROLE_K);
  return k == NOTHING ? k : attn_draft_use(&p->x, ATTN_OP_MATMUL_NT, ATTN_STEP_SCORES, 0, q, k);
}

static int add_division(struct path *p, int ref) {
  struct attn_divided root = {sqrt(p->divided), ATTN_DIVISOR_ROOT, p->divided, 0, 0};
  if (p->from < ATTN_ROLE_SCALED) p->x.relation.cost += SKIPPED;
  return p->divided ? attn_draft_divide(&p->x, &root, ref) : ref;
}

static int add_weights(struct path *p, int ref) {
  if (p->from < ATTN_ROLE_EXPONENTIALS)
    return attn_draft_use(&p->x, ATTN_OP_SOFTMAX, ATTN_STEP_WEIGHTS, 1, ref, 0);
  int sum = attn_draft_use(&p->x, ATTN_OP_SUM, ATTN_STEP_ROW_SUM, 1, ref, 0);
  return attn_draft_use(&p->x, ATTN_OP_QUOTIENT, ATTN_STEP_WEIGHTS, 1, ref, sum);
}

/* Returns 0 where something is missing. */
static int add_steps(struct path *p) {
  int role = p->l->role, ref = take_first(p);
  if (ref == NOTHING) return 0;
  if (role > ATTN_ROLE_SCORES) ref = add_division(p, ref);
  if (role == ATTN_ROLE_EXPONENTIALS)
    attn_draft_use(&p->x, ATTN_OP_EXP, ATTN_STEP_EXPONENTIALS, 0, ref, 0);
  if (role >= ATTN_ROLE_WEIGHTS) ref = add_weights(p, ref);
  if (role != ATTN_ROLE_OUTPUT) return 1;
  int values = take_values(p);
  if (values == NOTHING) return 0;
  p->x.relation.cost += WEIGHTS_SKIPPED;
  attn_draft_use(&p->x, ATTN_OP_MATMUL, ATTN_STEP_OUTPUT, 0, ref, values);
  return 1;
}

static int last_printed(const struct attn_listing *l) {
  int role = l->role <= ATTN_ROLE_EXPONENTIALS ? l->role - 1 : ATTN_ROLE_EXPONENTIALS;
  while (role >= ATTN_ROLE_SCORES && !attn_listing_node(l, role)) role--;
  return role;
}

/* Is nothing filled in? It fits all that is tried. */
static int is_open(const struct attn_grid *g) {
  int n = 0;
  while (n < g->rows * g->cols && g->blank[n]) n++;
  return n == g->rows * g->cols;
}

/* The width that the scores are divided by the root of; 0: none. */
static int width_of(const struct path *p) {
  const struct attn_node *x = is_unprojected(p) ? node_of(p, ATTN_ROLE_SOURCE) : NULL;
  if (p->from >= ATTN_ROLE_SCALED || p->l->role < ATTN_ROLE_SCALED || node_of(p, ATTN_ROLE_W_A))
    return 0;
  return x && p->from < ATTN_ROLE_SCORES ? x->grid->cols : attn_listing_width(p->l);
}

void attn_list_skipped(struct attn_listing *l) {
  struct path p = {.l = l, .from = last_printed(l)};
  if (is_open(l->grid)) return;
  if (l->head > 0 && !l->hints->heads) return; /* a head that nothing mentions has all steps */
  int width = width_of(&p);
  for (int divides = width > 0; divides >= 0; divides--) {
    p.x = attn_draft_over(l, NULL, NULL, ATTN_CAUSE_NONE, 0);
    p.x.relation.operands = 0;
    p.divided = divides ? width : 0;
    if (add_steps(&p) && p.x.relation.uses > 1) attn_list_rows(l, &p.x);
  }
}

void attn_list_steps(struct attn_listing *l) {
  attn_list_rules(l);
  if (l->role != ATTN_ROLE_OUTPUT || !attn_listing_node(l, ATTN_ROLE_WEIGHTS)) attn_list_skipped(l);
}
