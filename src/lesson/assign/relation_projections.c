/* relation_projections.c -- products with weights: Q, K, V, the projected heads; what joins inputs.
 */
#include "relations.h"

/* ---- Q, K, V ---- */

static int step_of(int role) { return ATTN_STEP_Q + role - ATTN_ROLE_Q; }

static int weights_of(int role) { return ATTN_ROLE_W_Q + role - ATTN_ROLE_Q; }

/* x w, or x w^T. Only queries are shown one at a time. */
static void list_product(struct attn_listing *l, const struct attn_node *x,
                         const struct attn_node *w, int op, int cause, double cost) {
  struct attn_draft product = attn_draft_over(l, x, w, cause, cost);
  attn_draft_use(&product, op, step_of(l->role), 0, 0, 1);
  if (l->role == ATTN_ROLE_Q && op == ATTN_OP_MATMUL)
    attn_list_rows(l, &product);
  else
    attn_list(l, &product);
}

static const double LESS_LIKELY = 1; /* bits: keys of the queries' source */

/* extra: bits, for keys and values of the queries' source, and queries of that of the keys. */
static void list_products(struct attn_listing *l, const struct attn_node *x, double extra) {
  const struct attn_node *own = attn_listing_node(l, weights_of(l->role));
  for (int role = ATTN_ROLE_W_Q; role <= ATTN_ROLE_W_V; role++) {
    const struct attn_node *w = attn_listing_node(l, role);
    if (w && role == weights_of(l->role)) {
      list_product(l, x, w, ATTN_OP_MATMUL, ATTN_CAUSE_NONE, extra);
      list_product(l, x, w, ATTN_OP_MATMUL_NT, ATTN_CAUSE_TRANSPOSED_WEIGHTS, 7);
    } else if (w && w != own) {
      list_product(l, x, w, ATTN_OP_MATMUL, ATTN_CAUSE_SWAPPED_QK, 8 + extra);
    }
  }
}

/* x with its positions, which are not printed, times w. */
static void list_of_positioned(struct attn_listing *l) {
  const struct attn_node *x = attn_listing_node(l, ATTN_ROLE_X);
  const struct attn_node *table = attn_listing_node(l, ATTN_ROLE_POSITION_TABLE);
  const struct attn_node *w = attn_listing_node(l, weights_of(l->role));
  static const int JOINS[] = {ATTN_OP_ADD, ATTN_OP_APPEND};
  if (!x || !table || !w || attn_listing_node(l, ATTN_ROLE_POSITIONED)) return;
  for (int n = 0; n < 2; n++) {
    struct attn_draft product = attn_draft_over(l, x, table, ATTN_CAUSE_NONE, 1);
    product.operand[product.relation.operands++] = w;
    int joined = attn_draft_use(&product, JOINS[n], ATTN_STEP_POSITIONS, 0, 0, 1);
    attn_draft_use(&product, ATTN_OP_MATMUL, step_of(l->role), 0, joined, 2);
    attn_list(l, &product);
  }
}

void attn_list_projections(struct attn_listing *l) {
  const struct attn_node *x = attn_listing_node(l, ATTN_ROLE_SOURCE);
  const struct attn_node *y = attn_listing_node(l, ATTN_ROLE_Y);
  list_of_positioned(l);
  if (x) list_products(l, x, y && l->role == ATTN_ROLE_Q ? LESS_LIKELY / 2 : 0);
  if (y) list_products(l, y, l->role == ATTN_ROLE_Q ? 0 : LESS_LIKELY);
}

/* ---- positions ---- */

/* Position 0: sines of 0 and cosines of 0. */
static int may_be_positions(const struct attn_grid *g) {
  for (int j = 0; j < g->cols; j++)
    if (!g->blank[j] && g->value[j] != j % 2) return 0;
  return g->decimals > 1 && g->rows > 1 && g->cols % 2 == 0;
}

/* Of frequencies that are counted from 0 or from 1. */
static void list_waves(struct attn_listing *l, int base, double cost) {
  for (int first = 0; first < 2; first++) {
    struct attn_draft x = attn_draft_over(l, NULL, NULL, ATTN_CAUSE_NONE, cost + first);
    x.relation.operands = 0;
    attn_draft_use(&x, ATTN_OP_POSITIONS, ATTN_STEP_POSITIONS, 0, 0, 0);
    x.use[0].operands = 0, x.use[0].scalar = first, x.use[0].base = base;
    x.use[0].constant = (attn_matrix){l->grid->rows, l->grid->cols, NULL};
    attn_list(l, &x);
  }
}

/* Sines and cosines: of the usual base, of the one that is stated, or if none is, of a power of 10.
 */
void attn_list_positions(struct attn_listing *l) {
  int stated = l->hints->position_base;
  if (!may_be_positions(l->grid)) return;
  list_waves(l, 0, 0);
  if (stated && stated != ATTN_POSITION_BASE) list_waves(l, stated, 1);
  for (int base = 10; !stated && base < ATTN_POSITION_BASE; base *= 10) list_waves(l, base, 3);
}

/* A table of more positions than there are inputs: its first rows. */
void attn_list_positioned(struct attn_listing *l) {
  const struct attn_node *x = attn_listing_node(l, ATTN_ROLE_X);
  const struct attn_node *table = attn_listing_node(l, ATTN_ROLE_POSITION_TABLE);
  if (!x || !table) return;
  struct attn_draft sum = attn_draft_over(l, x, table, ATTN_CAUSE_NONE, 0);
  int p = 1;
  if (table->grid->rows > x->grid->rows)
    p = attn_draft_constant(
        &sum, ATTN_STEP_POSITIONS,
        attn_relations_constant(l->memo, x->grid->rows, table->grid->cols, table->grid->value));
  struct attn_draft joined = sum;
  attn_draft_use(&sum, ATTN_OP_ADD, ATTN_STEP_POSITIONS, 0, 0, p);
  attn_list(l, &sum);
  attn_draft_use(&joined, ATTN_OP_APPEND, ATTN_STEP_POSITIONS, 0, 0, p);
  attn_list(l, &joined);
}

/* ---- all heads ---- */

/* The outputs that there are as the relation's operands. */
static void take_outputs(const struct attn_listing *l, struct attn_draft *x) {
  for (int head = 0; head < l->state->heads; head++) {
    const struct attn_node *output = l->state->head[head].at[ATTN_ROLE_OUTPUT];
    if (output) x->operand[x->relation.operands++] = output;
  }
}

static int append_outputs(struct attn_draft *x) {
  struct attn_use *use = &x->use[x->relation.uses];
  int ref = attn_draft_use(x, ATTN_OP_APPEND, ATTN_STEP_CONCAT, 0, 0, 0);
  use->operands = (uint8_t)x->relation.operands;
  for (int n = 0; n < x->relation.operands; n++) use->operand[n] = (int8_t)n;
  return ref;
}

void attn_list_concat(struct attn_listing *l) {
  struct attn_draft x = attn_draft_over(l, NULL, NULL, ATTN_CAUSE_NONE, 0);
  x.relation.operands = 0;
  take_outputs(l, &x);
  if (x.relation.operands < 2) return;
  append_outputs(&x);
  attn_list(l, &x);
}

void attn_list_projected(struct attn_listing *l) {
  const struct attn_node *concat = attn_listing_node(l, ATTN_ROLE_CONCAT);
  const struct attn_node *w = attn_listing_node(l, ATTN_ROLE_W_O);
  struct attn_draft x = attn_draft_over(l, concat, NULL, ATTN_CAUSE_NONE, 0);
  attn_list_rules(l);
  if (!concat) x.relation.operands = 0, take_outputs(l, &x);
  if (!w || !x.relation.operands) return;
  int heads = x.relation.operands > 1 ? append_outputs(&x) : 0;
  x.operand[x.relation.operands++] = w;
  struct attn_draft turned = x;
  attn_draft_use(&x, ATTN_OP_MATMUL, ATTN_STEP_PROJECTED, 0, heads, x.relation.operands - 1);
  attn_list(l, &x);
  turned.relation.cause = ATTN_CAUSE_TRANSPOSED_WEIGHTS, turned.relation.cost = 7;
  attn_draft_use(&turned, ATTN_OP_MATMUL_NT, ATTN_STEP_PROJECTED, 0, heads,
                 x.relation.operands - 1);
  attn_list(l, &turned);
}
