/* relation.c -- lists of relations, each made once. */
#include <math.h>
#include <string.h>

#include "relations.h"

static const double LISTED_WORK = 1000; /* of one relation: bounds memory */

/* ---- roles ---- */

enum { SHARED = 1, DERIVED = 2 };

static const struct {
  double order; /* along the computation */
  int flags;
} roles[ATTN_ROLES] = {
    [ATTN_ROLE_X] = {0, SHARED},
    [ATTN_ROLE_Y] = {0, SHARED},
    [ATTN_ROLE_POSITION_TABLE] = {.5, SHARED | DERIVED},
    [ATTN_ROLE_POSITIONED] = {.7, SHARED | DERIVED},
    [ATTN_ROLE_W_Q] = {1, 0},
    [ATTN_ROLE_W_K] = {1, 0},
    [ATTN_ROLE_W_V] = {1, 0},
    [ATTN_ROLE_W_A] = {1, 0},
    [ATTN_ROLE_U_A] = {1, 0},
    [ATTN_ROLE_V_A] = {1, 0},
    [ATTN_ROLE_Q] = {2, DERIVED},
    [ATTN_ROLE_K] = {2, DERIVED},
    [ATTN_ROLE_V] = {2, DERIVED},
    [ATTN_ROLE_W_A_Q] = {2.5, DERIVED},
    [ATTN_ROLE_U_A_K] = {2.5, DERIVED},
    [ATTN_ROLE_TANH_INPUT] = {2.6, DERIVED},
    [ATTN_ROLE_TANH] = {2.7, DERIVED},
    [ATTN_ROLE_SCORES] = {3, DERIVED},
    [ATTN_ROLE_SCALED] = {4, DERIVED},
    [ATTN_ROLE_MASKED] = {5, DERIVED},
    [ATTN_ROLE_SHIFTED] = {5.5, DERIVED},
    [ATTN_ROLE_EXPONENTIALS] = {6, DERIVED},
    [ATTN_ROLE_ROW_SUM] = {7, DERIVED},
    [ATTN_ROLE_WEIGHTS] = {8, DERIVED},
    [ATTN_ROLE_OUTPUT] = {9, DERIVED},
    [ATTN_ROLE_CONCAT] = {10, SHARED | DERIVED},
    [ATTN_ROLE_W_O] = {10.5, SHARED},
    [ATTN_ROLE_PROJECTED] = {11, SHARED | DERIVED},
};

static int has(int role, int flag) {
  return role >= 0 && role < ATTN_ROLES && (roles[role].flags & flag) != 0;
}

int attn_role_is_shared(int role) { return has(role, SHARED); }
int attn_role_is_derived(int role) { return has(role, DERIVED); }
double attn_role_order(int role) { return role >= 0 && role < ATTN_ROLES ? roles[role].order : 0; }

/* ---- how a role may come about ---- */

_Static_assert(ATTN_ROLES <= 32, "each role has a bit");
#define BIT(role) (1u << ATTN_ROLE_##role)
#define POSITIONED_X (BIT(X) | BIT(POSITIONED))
#define SOURCES (POSITIONED_X | BIT(Y))
#define PROJECTIONS (BIT(W_Q) | BIT(W_K) | BIT(W_V))
#define ALIGNMENT (BIT(W_A) | BIT(U_A) | BIT(V_A))
/* What steps that are not printed are computed from, and whose widths divide scores. */
#define GIVENS (BIT(Q) | BIT(K) | BIT(V) | PROJECTIONS | ALIGNMENT | SOURCES)
#define QUERIES (BIT(Q) | SOURCES) /* a row for each */
#define KEYS (BIT(K) | POSITIONED_X)
#define LOGITS (BIT(SCORES) | BIT(SCALED) | BIT(MASKED))
#define TANH_TERMS (BIT(W_A_Q) | BIT(U_A_K))
#define OF_TANH (TANH_TERMS | BIT(Q) | BIT(W_A) | BIT(U_A) | KEYS)
#define OF_PROJECTION                                                                             \
  {                                                                                               \
    attn_list_projections, SOURCES | BIT(POSITION_TABLE) | PROJECTIONS, PROJECTIONS, PROJECTIONS, \
        SOURCES | BIT(POSITION_TABLE), 0                                                          \
  }

/* A result has the columns of an operand of `cols`, or as many as one of `turned` has rows; and the
 * rows of one of `rows`, or it is one row. 0: any. */
static const struct way {
  void (*list)(struct attn_listing *l);
  uint32_t reads; /* the roles that its relations depend on */
  uint32_t cols, turned, rows;
  int of_heads; /* and on the outputs of all heads */
} ways[ATTN_ROLES] = {
    [ATTN_ROLE_POSITION_TABLE] = {attn_list_positions, 0, 0, 0, 0, 0},
    [ATTN_ROLE_POSITIONED] = {attn_list_positioned, BIT(X) | BIT(POSITION_TABLE), 0, 0, 0, 0},
    [ATTN_ROLE_Q] = OF_PROJECTION,
    [ATTN_ROLE_K] = OF_PROJECTION,
    [ATTN_ROLE_V] = OF_PROJECTION,
    [ATTN_ROLE_W_A_Q] = {attn_list_rules, BIT(Q) | BIT(W_A) | SOURCES, BIT(W_A), BIT(W_A),
                         BIT(Q) | SOURCES, 0},
    [ATTN_ROLE_U_A_K] = {attn_list_rules, BIT(K) | BIT(U_A) | BIT(W_A) | POSITIONED_X,
                         BIT(U_A) | BIT(W_A), BIT(U_A) | BIT(W_A), BIT(K) | POSITIONED_X, 0},
    [ATTN_ROLE_TANH_INPUT] = {attn_list_rules, OF_TANH, TANH_TERMS | KEYS | BIT(U_A), BIT(U_A),
                              TANH_TERMS | KEYS, 0},
    [ATTN_ROLE_TANH] = {attn_list_rules, OF_TANH | BIT(TANH_INPUT),
                        TANH_TERMS | BIT(TANH_INPUT) | KEYS | BIT(U_A), BIT(U_A),
                        TANH_TERMS | BIT(TANH_INPUT) | KEYS, 0},
    [ATTN_ROLE_SCORES] = {attn_list_rules,
                          BIT(Q) | BIT(K) | BIT(V) | BIT(W_A) | BIT(U_A) | BIT(V_A) | BIT(W_A_Q) |
                              BIT(U_A_K) | BIT(TANH_INPUT) | BIT(TANH) | SOURCES | BIT(W_Q) |
                              BIT(W_K),
                          BIT(K),
                          BIT(Q) | BIT(K) | BIT(U_A_K) | BIT(V) | SOURCES | BIT(TANH_INPUT) |
                              BIT(TANH),
                          BIT(Q) | BIT(K) | BIT(W_A_Q) | SOURCES, 0},
    [ATTN_ROLE_SCALED] = {attn_list_scaled, BIT(SCORES) | GIVENS, BIT(SCORES), KEYS,
                          BIT(SCORES) | QUERIES, 0},
    [ATTN_ROLE_MASKED] = {attn_list_masked, BIT(SCORES) | BIT(SCALED) | GIVENS,
                          BIT(SCORES) | BIT(SCALED), KEYS, BIT(SCORES) | BIT(SCALED) | QUERIES, 0},
    [ATTN_ROLE_SHIFTED] = {attn_list_shifted, LOGITS | GIVENS, LOGITS, KEYS, LOGITS | QUERIES, 0},
    [ATTN_ROLE_EXPONENTIALS] = {attn_list_exponentials, LOGITS | BIT(SHIFTED) | GIVENS,
                                LOGITS | BIT(SHIFTED), KEYS, LOGITS | BIT(SHIFTED) | QUERIES, 0},
    [ATTN_ROLE_ROW_SUM] = {attn_list_rules, BIT(EXPONENTIALS) | BIT(WEIGHTS), 0,
                           BIT(EXPONENTIALS) | BIT(WEIGHTS), BIT(EXPONENTIALS) | BIT(WEIGHTS), 0},
    [ATTN_ROLE_WEIGHTS] = {attn_list_weights,
                           LOGITS | BIT(SHIFTED) | BIT(EXPONENTIALS) | BIT(ROW_SUM) | GIVENS,
                           LOGITS | BIT(SHIFTED) | BIT(EXPONENTIALS), KEYS,
                           LOGITS | BIT(SHIFTED) | BIT(EXPONENTIALS) | QUERIES, 0},
    [ATTN_ROLE_OUTPUT] = {attn_list_output,
                          LOGITS | BIT(SHIFTED) | BIT(EXPONENTIALS) | BIT(WEIGHTS) | GIVENS,
                          BIT(Q) | BIT(K) | BIT(V) | SOURCES | BIT(W_V), 0,
                          LOGITS | BIT(SHIFTED) | BIT(EXPONENTIALS) | BIT(WEIGHTS) | QUERIES, 0},
    [ATTN_ROLE_CONCAT] = {attn_list_concat, 0, 0, 0, 0, 1},
    [ATTN_ROLE_PROJECTED] = {attn_list_projected, BIT(CONCAT) | BIT(W_O) | BIT(WEIGHTS) | BIT(V),
                             BIT(W_O), BIT(W_O), 0, 1},
};

static int is_in(uint32_t set, int role) { return set >> role & 1; }

static int lowest(uint32_t set) { return __builtin_ctz(set); }

/* ---- operands ---- */

/* Query heads may share the keys and values of a head before. */
static const struct attn_node *node_at(const struct attn_state *s, int head, int role) {
  if (attn_role_is_shared(role)) return s->shared.at[role];
  int grouped = (role == ATTN_ROLE_K || role == ATTN_ROLE_V) && s->head[head].at[ATTN_ROLE_Q];
  while (grouped && head > 0 && !s->head[head].at[role]) head--;
  return s->head[head].at[role];
}

/* The first of two roles that there is. */
static const struct attn_node *either(const struct attn_listing *l, int role, int other) {
  const struct attn_node *node = attn_listing_node(l, role);
  return node ? node : attn_listing_node(l, other);
}

/* "X asks, Y answers": do the keys follow from Y? Then the values of an output do. */
static int are_of_y(const struct attn_listing *l) {
  const struct attn_node *y =
      l->role == ATTN_ROLE_OUTPUT ? node_at(l->state, l->head, ATTN_ROLE_Y) : NULL;
  const struct attn_node *k = y ? node_at(l->state, l->head, ATTN_ROLE_K) : NULL;
  return k && k->relation && k->relation->operand[0] == y;
}

const struct attn_node *attn_listing_node(const struct attn_listing *l, int role) {
  if (l->right && role == l->right_role) return l->right;
  if (role == ATTN_ROLE_SOURCE && are_of_y(l)) return attn_listing_node(l, ATTN_ROLE_Y);
  if (role == ATTN_ROLE_SOURCE) return either(l, ATTN_ROLE_POSITIONED, ATTN_ROLE_X);
  if (role == ATTN_ROLE_QUERY_SOURCE) return either(l, ATTN_ROLE_Y, ATTN_ROLE_SOURCE);
  if (role == ATTN_ROLE_QUERIES) return either(l, ATTN_ROLE_Q, ATTN_ROLE_QUERY_SOURCE);
  if (role == ATTN_ROLE_KEYS) return either(l, ATTN_ROLE_K, ATTN_ROLE_SOURCE);
  if (role != ATTN_ROLE_LOGITS) return node_at(l->state, l->head, role);
  const struct attn_node *masked = attn_listing_node(l, ATTN_ROLE_MASKED);
  return masked ? masked : either(l, ATTN_ROLE_SCALED, ATTN_ROLE_SCORES);
}

/* The inputs, where scores are X X^T; or NULL. */
static const struct attn_node *inputs_of_scores(const struct attn_listing *l) {
  const struct attn_node *scores = attn_listing_node(l, ATTN_ROLE_SCORES);
  const struct attn_relation *r = scores ? scores->relation : NULL;
  return r && r->operands == 2 && r->operand[0] == r->operand[1] ? r->operand[0] : NULL;
}

int attn_printed_width(const struct attn_listing *l) {
  const struct attn_node *node = either(l, ATTN_ROLE_K, ATTN_ROLE_Q);
  if (!node) node = either(l, ATTN_ROLE_W_K, ATTN_ROLE_W_Q);
  if (!node) node = inputs_of_scores(l);
  return node ? node->grid->cols : 0;
}

int attn_listing_width(const struct attn_listing *l) {
  int width = attn_printed_width(l);
  return width ? width : l->hints->width;
}

/* ---- making relations ---- */

struct attn_draft attn_draft_over(const struct attn_listing *l, const struct attn_node *a,
                                  const struct attn_node *b, int cause, double cost) {
  struct attn_draft x;
  x.relation = (struct attn_relation){
      .role = l->role, .cause = cause, .cost = cost, .row = -1, .divided_by = 1};
  x.relation.operands = b ? 2 : 1;
  x.operand[0] = a, x.operand[1] = b;
  return x;
}

static int takes_two(int op) {
  switch (op) {
    case ATTN_OP_MATMUL:
    case ATTN_OP_MATMUL_NT:
    case ATTN_OP_MATMUL_TN:
    case ATTN_OP_MASK:
    case ATTN_OP_QUOTIENT:
    case ATTN_OP_ADD:
    case ATTN_OP_APPEND:
      return 1;
    default:
      return 0;
  }
}

static int add_use(struct attn_draft *x, struct attn_use use) {
  x->use[x->relation.uses++] = use;
  return -x->relation.uses;
}

int attn_draft_use(struct attn_draft *x, int op, int name, int axis, int a, int b) {
  int two = takes_two(op);
  return add_use(x, (struct attn_use){.op = (uint8_t)op,
                                      .name = (uint8_t)name,
                                      .axis = (uint8_t)axis,
                                      .operands = two ? 2 : 1,
                                      .operand = {(int8_t)a, (int8_t)(two ? b : 0)}});
}

int attn_draft_constant(struct attn_draft *x, int name, attn_matrix constant) {
  return add_use(
      x, (struct attn_use){.op = ATTN_OP_GIVEN, .name = (uint8_t)name, .constant = constant});
}

/* ---- the list ---- */

/* Capacity for one more; 0: no memory. */
static int make_room(struct attn_relations *r, int count) {
  if (count < r->room) return 1;
  int room = r->room ? 2 * r->room : 32;
  struct attn_relation *grown = attn_pool_take(r->pool, (size_t)room * sizeof *grown);
  if (!grown) return 0;
  if (count) memcpy(grown, r->scratch, (size_t)count * sizeof *grown);
  r->scratch = grown;
  r->room = room;
  return 1;
}

/* Has the block the size of the result, or of the one row? */
static int has_size(const struct attn_grid *g, int row, int rows, int cols) {
  if (cols != g->cols) return 0;
  return row < 0 ? rows == g->rows : g->rows == 1 && row < rows;
}

static const double FROM_RIGHT = 2; /* bits: the numbers after a slip follow from the right ones */

/* Is it one that the list is of? */
static int is_listed(const struct attn_listing *l, const struct attn_draft *x) {
  for (int n = 0; n < x->relation.uses; n++)
    if (x->use[n].op == ATTN_OP_GIVEN && !x->use[n].constant.at) return 0;
  if (!l->right) return 1;
  for (int n = 0; n < x->relation.operands; n++)
    if (x->operand[n] == l->right) return x->relation.cause == ATTN_CAUSE_NONE;
  return 0;
}

void attn_list(struct attn_listing *l, const struct attn_draft *x) {
  struct attn_relations *r = l->memo;
  struct attn_relation relation;
  int rows, cols;
  double work;
  if (!is_listed(l, x) || !attn_chain_shape(x, &rows, &cols, &work)) return;
  if (!has_size(l->grid, x->relation.row, rows, cols)) return;
  if (!attn_relations_afford(r, LISTED_WORK) || !attn_relation_of(r, x, work, &relation)) return;
  if (l->right) relation.cost += FROM_RIGHT;
  if (make_room(r, l->count))
    r->scratch[l->count++] = relation;
  else
    r->failed = 1;
}

static const double ONE_ROW = 1.5, OTHER_ROW = 1; /* bits */

/* Is a row that is called q_3 read as another one? From 0, q_1 is the second. */
static int is_called_other(const struct attn_listing *l, int row) {
  int called = l->role == ATTN_ROLE_Q ? l->hints->called_query : 0;
  return called && row != called - 1 && row != called;
}

void attn_list_rows(struct attn_listing *l, const struct attn_draft *x) {
  int rows = x->operand[0]->grid->rows;
  attn_list(l, x);
  if (l->grid->rows != 1 || rows < 2) return;
  struct attn_draft one = *x;
  int *row = &one.relation.row;
  for (*row = 0; *row < rows && *row < ATTN_ROWS_ALONE_MAX; ++*row) {
    one.relation.cost = x->relation.cost + ONE_ROW + (is_called_other(l, *row) ? OTHER_ROW : 0);
    attn_list(l, &one);
  }
}

/* What a printed number was rounded from, as far as that is known: 0.0501 of 0.050, which has to be
 * rounded to 0.1. */
static double before_rounding(const struct attn_node *node, size_t n) {
  double printed = node->grid->value[n];
  if (!node->expected.lo.at) return printed;
  double middle = (node->expected.lo.at[n] + node->expected.hi.at[n]) / 2;
  return fabs(middle - printed) <= node->grid->half[n] ? middle : printed;
}

/* The numbers of a node with fewer decimals. */
static attn_matrix rounded(struct attn_relations *r, const struct attn_node *node, int decimals) {
  const struct attn_grid *g = node->grid;
  size_t count = (size_t)g->rows * (size_t)g->cols;
  double unit = pow(10, decimals), *at = attn_pool_take(r->pool, count * sizeof *at);
  for (size_t n = 0; at && n < count; n++) at[n] = rint(before_rounding(node, n) * unit) / unit;
  if (!at) r->failed = 1;
  return at ? attn_relations_constant(r, g->rows, g->cols, at) : (attn_matrix){0, 0, NULL};
}

/* A relation of one operation, its first operand rounded. */
static void list_coarse(struct attn_listing *l, const struct attn_relation *of, int decimals) {
  struct attn_draft x = {.relation = *of};
  struct attn_use use = of->use[0];
  memcpy(x.operand, of->operand, (size_t)of->operands * sizeof *x.operand);
  x.relation.cause = ATTN_CAUSE_ROUNDING_TOO_COARSE, x.relation.cost = 7;
  x.relation.coarse = decimals, x.relation.uses = 0;
  use.operand[0] =
      (int8_t)attn_draft_constant(&x, ATTN_STEP_OTHER, rounded(l->memo, x.operand[0], decimals));
  add_use(&x, use);
  attn_list(l, &x);
}

void attn_list_over_rounded(struct attn_listing *l, int at) {
  const int most = sizeof l->coarse / sizeof *l->coarse;
  if (at < l->count && l->coarses < most) l->coarse[l->coarses++] = at;
}

static void list_all_coarse(struct attn_listing *l) {
  if (!l->grid->coarse && l->grid->decimals < 1) return;
  for (int n = 0; n < l->coarses; n++) {
    struct attn_relation x = l->memo->scratch[l->coarse[n]];
    for (int k = 1; k < 3 && k < x.operand[0]->grid->decimals; k++) list_coarse(l, &x, k);
  }
}

/* ---- the memo ---- */

struct kept_list {
  int count;
  struct attn_relation *relation;
};

enum { KEY_MAX = 16 + ATTN_ROLES + ATTN_HEADS_MAX };

/* Once there are scores, only the widths of what they were made of count: for divisors. */
static uint32_t counted_by_width(const struct attn_listing *l) {
  int of = l->role == ATTN_ROLE_SCALED ? ATTN_ROLE_SCORES : ATTN_ROLE_LOGITS;
  int divides = l->role == ATTN_ROLE_SCALED || l->role == ATTN_ROLE_EXPONENTIALS ||
                l->role == ATTN_ROLE_WEIGHTS;
  return divides && attn_listing_node(l, of) ? GIVENS : 0;
}

/* Has a result of the operands that are known the size of the grid? */
static int may_have_size(const struct attn_listing *l) {
  const struct way *w = &ways[l->role];
  const struct attn_grid *g = l->grid;
  int cols = g->cols == 1 || !(w->cols | w->turned), rows = g->rows == 1 || !w->rows;
  for (uint32_t left = w->cols | w->turned | w->rows; left && !(cols && rows); left &= left - 1) {
    int role = lowest(left);
    const struct attn_node *node = node_at(l->state, l->head, role);
    if (!node) continue;
    cols |= (is_in(w->cols, role) && node->grid->cols == g->cols) ||
            (is_in(w->turned, role) && node->grid->rows == g->cols);
    rows |= is_in(w->rows, role) && node->grid->rows == g->rows;
  }
  return cols && rows;
}

/* All that a list depends on. The text of a block does not change. Returns 0 if there is nothing
 * that its relations may be over. */
static size_t list_key(const struct attn_listing *l, int *key) {
  const struct way *w = &ways[l->role];
  const struct attn_state *s = l->state;
  const struct attn_grid *g = l->grid;
  const uint32_t by_width = counted_by_width(l);
  const int first[] = {g->block,         g->reading, g->transposed,         l->role,
                       l->hints->causal, s->heads,   l->hints->causal_here, s->head[l->head].row};
  int known = !w->reads && !w->of_heads;
  size_t n = 0;
  for (; n < sizeof first / sizeof *first; n++) key[n] = first[n];
  for (uint32_t left = w->reads; left; left &= left - 1) {
    const struct attn_node *node = node_at(s, l->head, lowest(left));
    key[n++] = !node ? 0 : is_in(by_width, lowest(left)) ? -node->grid->cols : node->id;
    known |= node != NULL;
  }
  for (int head = 0; w->of_heads && head < s->heads; head++) {
    const struct attn_node *node = s->head[head].at[ATTN_ROLE_OUTPUT];
    key[n++] = node ? node->id : 0, known |= node != NULL;
  }
  return known ? n * sizeof *key : 0;
}

/* The right relations over the right numbers of a slip. */
static void list_from_right(struct attn_listing *l) {
  for (int role = 0; role < ATTN_ROLES; role++) {
    const struct attn_node *node =
        is_in(ways[l->role].reads, role) ? node_at(l->state, l->head, role) : NULL;
    if (!node || !node->right) continue;
    l->right_role = role, l->right = node->right;
    ways[l->role].list(l);
    l->right = NULL;
  }
}

/* Of each slip, the first right one of the same row. */
static void set_standards(struct kept_list *list) {
  for (struct attn_relation *x = list->relation; x < list->relation + list->count; x++)
    for (int n = 0; n < list->count && x->cause && !x->standard; n++)
      if (!list->relation[n].cause && list->relation[n].row == x->row)
        x->standard = &list->relation[n];
}

static struct kept_list *make_list(struct attn_listing *l) {
  struct attn_relations *r = l->memo;
  struct kept_list *list = attn_pool_take(r->pool, sizeof *list);
  if (!list) return NULL;
  ways[l->role].list(l);
  list_all_coarse(l);
  list_from_right(l);
  if (!l->count) return list;
  list->relation = attn_pool_take(r->pool, (size_t)l->count * sizeof *list->relation);
  if (!list->relation) return NULL;
  memcpy(list->relation, r->scratch, (size_t)l->count * sizeof *list->relation);
  list->count = l->count;
  set_standards(list);
  return list;
}

int attn_relations_list(struct attn_relations *r, const struct attn_state *s, int head, int role,
                        const struct attn_grid *grid, const struct attn_hints *hints,
                        const struct attn_relation **list) {
  int key[KEY_MAX];
  struct attn_listing l = {
      .memo = r, .state = s, .head = head, .role = role, .grid = grid, .hints = hints};
  *list = NULL;
  size_t bytes = attn_role_is_derived(role) && may_have_size(&l) ? list_key(&l, key) : 0;
  if (!bytes) return 0;
  struct attn_memo_entry *e = attn_memo_at(r->pool, &r->list, key, bytes);
  if (e && !e->value) e->value = make_list(&l);
  if (!e || !e->value) {
    r->failed = 1;
    return 0;
  }
  const struct kept_list *made = e->value;
  *list = made->relation;
  return made->count;
}

struct attn_relations *attn_relations_new(struct attn_pool *pool, struct attn_patterns *patterns) {
  struct attn_relations *r = attn_pool_take(pool, sizeof *r);
  if (r) r->pool = pool, r->patterns = patterns;
  return r;
}

int attn_role_is_of_scores(int role) {
  return role >= ATTN_ROLE_SCORES && role <= ATTN_ROLE_WEIGHTS;
}

int attn_relations_failed(const struct attn_relations *r) { return r->failed; }
