/* relation_rules.c -- relations that follow from the roles of their operands alone. */
#include <string.h>

#include "relations.h"

enum {
  ROWS = 1,          /* the block may be one row of the result */
  COARSE = 2,        /* try rounded operands as well */
  SQUARE = 4,        /* the first operand is square and the block has several rows */
  SECOND_IS_ROW = 8, /* the second operand is a row, not a column or one number */
  V_IS_NOT_K = 16,
  TANH_OF_SUM = 32,  /* the text has the tanh of a sum of vectors without weights */
  CONCATENATED = 64, /* the third operand is as wide as the first two together */
  AS_VALUES = 128,   /* dearer where the text mentions values */
};

enum { FIRST = -1, SECOND = -2, THIRD = -3, FOURTH = -4, FIFTH = -5, SIXTH = -6 };

static const double VALUES_MENTIONED = 4; /* bits */

struct rule_use {
  uint8_t op, name, axis, operands;
  int8_t operand[5]; /* of the rule; FIRST, SECOND, .. : the results of these uses */
};

struct rule {
  int role;
  int operands, operand[5];
  int uses;
  struct rule_use use[7];
  int cause;
  double cost;
  int flags;
  uint32_t with, without; /* roles that must or must not be known */
};

#define COUNT(...) (sizeof((int[]){__VA_ARGS__}) / sizeof(int))
#define OF1(a) \
  1, { ATTN_ROLE_##a }
#define OF2(a, b) \
  2, { ATTN_ROLE_##a, ATTN_ROLE_##b }
#define OF3(a, b, c) \
  3, { ATTN_ROLE_##a, ATTN_ROLE_##b, ATTN_ROLE_##c }
#define OF4(a, b, c, d) \
  4, { ATTN_ROLE_##a, ATTN_ROLE_##b, ATTN_ROLE_##c, ATTN_ROLE_##d }
#define OF_ALIGNMENT_WEIGHTS \
  (1u << ATTN_ROLE_W_A | 1u << ATTN_ROLE_U_A | 1u << ATTN_ROLE_W_A_Q | 1u << ATTN_ROLE_U_A_K)
#define OF_ADDITIVE \
  5, { ATTN_ROLE_Q, ATTN_ROLE_KEYS, ATTN_ROLE_W_A, ATTN_ROLE_U_A, ATTN_ROLE_V_A }
#define OF_PROJECTED(x, y) \
  5, { ATTN_ROLE_##x, ATTN_ROLE_##y, ATTN_ROLE_W_Q, ATTN_ROLE_W_K, ATTN_ROLE_V_A }
/* Of W and U that act on rows. */
#define ADDITIVE_OF_ROWS \
  USE(TRANSPOSE, W_A, 2), USE(TRANSPOSE, U_A, 3), USE(ADDITIVE, SCORES, 0, 1, FIRST, SECOND, 4)
#define USE(op, name, ...)                                                 \
  {                                                                        \
    ATTN_OP_##op, ATTN_STEP_##name, 1, COUNT(__VA_ARGS__), { __VA_ARGS__ } \
  }
/* Columns of the third operand: those for the first operand, then those for the second; or for the
 * second, then the first. Their products with both, and the sum of these. */
#define COLUMNS(of, from)                                 \
  {                                                       \
    ATTN_OP_COLUMNS, ATTN_STEP_W_A, 1, 3, { 2, of, from } \
  }
#define SUM_OF_CONCATENATED(first_from, second_from)                            \
  COLUMNS(0, first_from), COLUMNS(1, second_from), USE(MATMUL_NT, Q, 0, FIRST), \
      USE(MATMUL_NT, K, 1, SECOND), USE(ADD, OTHER, THIRD, FOURTH)
#define CAUSE(cause) ATTN_CAUSE_##cause
#define WITH(role) (1u << ATTN_ROLE_##role), 0
#define WITHOUT(role) 0, (1u << ATTN_ROLE_##role)

/* clang-format off */
static const struct rule rules[] = {
    /* scores */
    {ATTN_ROLE_SCORES, OF2(Q, K), 1, {USE(MATMUL_NT, SCORES, 0, 1)}, 0, 0, ROWS | COARSE, 0, 0},
    {ATTN_ROLE_SCORES, OF2(K, Q), 1, {USE(MATMUL_NT, SCORES, 0, 1)}, CAUSE(SWAPPED_QK), 7, ROWS, 0, 0},
    {ATTN_ROLE_SCORES, OF2(Q, K), 1, {USE(MATMUL, SCORES, 0, 1)}, CAUSE(TRANSPOSED_WEIGHTS), 9, 0, 0, 0},
    {ATTN_ROLE_SCORES, OF2(Q, V), 1, {USE(MATMUL_NT, SCORES, 0, 1)}, CAUSE(UNKNOWN), 9, V_IS_NOT_K, WITH(K)},
    /* inputs that serve as keys */
    {ATTN_ROLE_SCORES, OF2(Q, SOURCE), 1, {USE(MATMUL_NT, SCORES, 0, 1)}, 0, 3, ROWS,
     0, 1u << ATTN_ROLE_K | 1u << ATTN_ROLE_W_K},
    {ATTN_ROLE_SCORES, OF2(QUERY_SOURCE, SOURCE), 1, {USE(MATMUL_NT, SCORES, 0, 1)}, 0, 4, ROWS,
     0, 1u << ATTN_ROLE_Q | 1u << ATTN_ROLE_K},
    /* queries or keys that are not printed */
    {ATTN_ROLE_SCORES, OF3(Q, SOURCE, W_K), 2, {USE(MATMUL, K, 1, 2), USE(MATMUL_NT, SCORES, 0, FIRST)},
     0, 6, ROWS, WITHOUT(K)},
    {ATTN_ROLE_SCORES, OF3(QUERY_SOURCE, W_Q, K), 2, {USE(MATMUL, Q, 0, 1), USE(MATMUL_NT, SCORES, FIRST, 2)},
     0, 6, ROWS, WITHOUT(Q)},
    {ATTN_ROLE_SCORES, OF4(QUERY_SOURCE, W_Q, SOURCE, W_K), 3,
     {USE(MATMUL, Q, 0, 1), USE(MATMUL, K, 2, 3), USE(MATMUL_NT, SCORES, FIRST, SECOND)}, 0, 6, ROWS,
     0, 1u << ATTN_ROLE_Q | 1u << ATTN_ROLE_K},
    /* general */
    {ATTN_ROLE_SCORES, OF3(Q, K, W_A), 1, {USE(GENERAL, SCORES, 0, 1, 2)}, 0, 1, 0, 0, 0},
    {ATTN_ROLE_SCORES, OF3(QUERY_SOURCE, SOURCE, W_A), 1, {USE(GENERAL, SCORES, 0, 1, 2)}, 0, 2, 0,
     0, 1u << ATTN_ROLE_Q | 1u << ATTN_ROLE_K | 1u << ATTN_ROLE_W_A_Q},
    {ATTN_ROLE_SCORES, OF3(QUERY_SOURCE, SOURCE, W_A), 2, {USE(TRANSPOSE, W_A, 2), USE(GENERAL, SCORES, 0, 1, FIRST)},
     CAUSE(TRANSPOSED_WEIGHTS), 8, 0, 0, 1u << ATTN_ROLE_Q | 1u << ATTN_ROLE_K | 1u << ATTN_ROLE_W_A_Q},
    {ATTN_ROLE_SCORES, OF2(W_A_Q, K), 1, {USE(MATMUL_NT, SCORES, 0, 1)}, 0, 1, ROWS, WITHOUT(U_A)},
    {ATTN_ROLE_SCORES, OF2(W_A_Q, SOURCE), 1, {USE(MATMUL_NT, SCORES, 0, 1)}, 0, 2, ROWS,
     0, 1u << ATTN_ROLE_K | 1u << ATTN_ROLE_U_A},
    {ATTN_ROLE_SCORES, OF2(Q, U_A_K), 1, {USE(MATMUL_NT, SCORES, 0, 1)}, 0, 1, ROWS, WITHOUT(U_A)},
    {ATTN_ROLE_SCORES, OF3(Q, K, W_A), 2, {USE(TRANSPOSE, W_A, 2), USE(GENERAL, SCORES, 0, 1, FIRST)},
     CAUSE(TRANSPOSED_WEIGHTS), 7, 0, 0, 0},
    /* additive: W and U for upright vectors, or for rows */
    {ATTN_ROLE_SCORES, OF_ADDITIVE, 1, {USE(ADDITIVE, SCORES, 0, 1, 2, 3, 4)}, 0, 1, 0, 0, 0},
    {ATTN_ROLE_SCORES, OF_ADDITIVE, 2, {USE(TRANSPOSE, U_A, 3), USE(ADDITIVE, SCORES, 0, 1, 2, FIRST, 4)},
     0, 2, 0, 0, 0},
    {ATTN_ROLE_SCORES, OF_ADDITIVE, 2, {USE(TRANSPOSE, W_A, 2), USE(ADDITIVE, SCORES, 0, 1, FIRST, 3, 4)},
     0, 2, 0, 0, 0},
    {ATTN_ROLE_SCORES, OF_ADDITIVE, 3, {ADDITIVE_OF_ROWS}, 0, 3, 0, 0, 0},
    {ATTN_ROLE_SCORES, OF3(W_A_Q, U_A_K, V_A), 3,
     {USE(ADD, OTHER, 0, 1), USE(TANH, OTHER, FIRST), USE(MATMUL_NT, SCORES, 2, SECOND)}, 0, 0, 0,
     0, 1u << ATTN_ROLE_TANH | 1u << ATTN_ROLE_TANH_INPUT},
    {ATTN_ROLE_SCORES, OF2(TANH, V_A), 2, {USE(MATMUL, OTHER, 0, 1), USE(TRANSPOSE, SCORES, FIRST)}, 0, 0, 0, 0, 0},
    {ATTN_ROLE_SCORES, OF2(V_A, TANH), 1, {USE(MATMUL_NT, SCORES, 0, 1)}, 0, 0, 0, 0, 0},
    {ATTN_ROLE_SCORES, OF2(TANH_INPUT, V_A), 3,
     {USE(TANH, OTHER, 0), USE(MATMUL, OTHER, FIRST, 1), USE(TRANSPOSE, SCORES, SECOND)}, 0, 0, 0, WITHOUT(TANH)},
    {ATTN_ROLE_SCORES, OF2(V_A, TANH_INPUT), 2, {USE(TANH, OTHER, 1), USE(MATMUL_NT, SCORES, 0, FIRST)},
     0, 0, 0, WITHOUT(TANH)},
    /* of one matrix: v . tanh(W [q; k]), or of [k; q] */
    {ATTN_ROLE_SCORES, OF4(Q, KEYS, W_A, V_A), 7,
     {SUM_OF_CONCATENATED(-1, 0), USE(TANH, OTHER, FIFTH), USE(MATMUL_NT, SCORES, 3, SIXTH)}, 0, 2, CONCATENATED,
     0, 1u << ATTN_ROLE_U_A | 1u << ATTN_ROLE_TANH | 1u << ATTN_ROLE_TANH_INPUT},
    {ATTN_ROLE_SCORES, OF4(Q, KEYS, W_A, V_A), 7,
     {SUM_OF_CONCATENATED(1, -1), USE(TANH, OTHER, FIFTH), USE(MATMUL_NT, SCORES, 3, SIXTH)}, 0, 3, CONCATENATED,
     0, 1u << ATTN_ROLE_U_A | 1u << ATTN_ROLE_TANH | 1u << ATTN_ROLE_TANH_INPUT},
    {ATTN_ROLE_TANH_INPUT, OF3(Q, KEYS, W_A), 5, {SUM_OF_CONCATENATED(-1, 0)}, 0, 2, CONCATENATED | ROWS, WITHOUT(U_A)},
    {ATTN_ROLE_TANH_INPUT, OF3(Q, KEYS, W_A), 5, {SUM_OF_CONCATENATED(1, -1)}, 0, 3, CONCATENATED | ROWS, WITHOUT(U_A)},
    {ATTN_ROLE_TANH, OF3(Q, KEYS, W_A), 6, {SUM_OF_CONCATENATED(-1, 0), USE(TANH, OTHER, FIFTH)}, 0, 2, CONCATENATED | ROWS,
     0, 1u << ATTN_ROLE_U_A | 1u << ATTN_ROLE_TANH_INPUT},
    {ATTN_ROLE_TANH, OF3(Q, KEYS, W_A), 6, {SUM_OF_CONCATENATED(1, -1), USE(TANH, OTHER, FIFTH)}, 0, 3, CONCATENATED | ROWS,
     0, 1u << ATTN_ROLE_U_A | 1u << ATTN_ROLE_TANH_INPUT},
    /* without W and U: v . tanh(q + k) */
    {ATTN_ROLE_SCORES, OF3(Q, KEYS, V_A), 3,
     {USE(ADD, OTHER, 0, 1), USE(TANH, OTHER, FIRST), USE(MATMUL_NT, SCORES, 2, SECOND)}, 0, 2, TANH_OF_SUM,
     0, OF_ALIGNMENT_WEIGHTS | 1u << ATTN_ROLE_TANH | 1u << ATTN_ROLE_TANH_INPUT},
    /* of projections q = x W_Q and k = y W_K: what W and U are for upright vectors */
    {ATTN_ROLE_SCORES, OF_PROJECTED(SOURCE, SOURCE), 3, {ADDITIVE_OF_ROWS}, 0, 1, TANH_OF_SUM | ROWS,
     0, OF_ALIGNMENT_WEIGHTS},
    {ATTN_ROLE_SCORES, OF_PROJECTED(SOURCE, Y), 3, {ADDITIVE_OF_ROWS}, 0, 1, TANH_OF_SUM | ROWS,
     0, OF_ALIGNMENT_WEIGHTS},
    {ATTN_ROLE_SCORES, OF_PROJECTED(Y, SOURCE), 3, {ADDITIVE_OF_ROWS}, 0, 1, TANH_OF_SUM | ROWS,
     0, OF_ALIGNMENT_WEIGHTS},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, SOURCE), 1, {USE(MATMUL, OUTPUT, 0, 1)}, 0, 3, TANH_OF_SUM | COARSE | ROWS,
     1u << ATTN_ROLE_V_A, 1u << ATTN_ROLE_V | 1u << ATTN_ROLE_W_V},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, Y), 1, {USE(MATMUL, OUTPUT, 0, 1)}, 0, 3, TANH_OF_SUM | COARSE | ROWS,
     1u << ATTN_ROLE_V_A, 1u << ATTN_ROLE_V | 1u << ATTN_ROLE_W_V},
    {ATTN_ROLE_TANH_INPUT, OF2(Q, KEYS), 1, {USE(ADD, OTHER, 0, 1)}, 0, 2, TANH_OF_SUM | ROWS, 0, OF_ALIGNMENT_WEIGHTS},
    {ATTN_ROLE_TANH, OF2(Q, KEYS), 2, {USE(ADD, OTHER, 0, 1), USE(TANH, OTHER, FIRST)}, 0, 2, TANH_OF_SUM | ROWS,
     0, OF_ALIGNMENT_WEIGHTS | 1u << ATTN_ROLE_TANH_INPUT},
    {ATTN_ROLE_W_A_Q, OF2(QUERIES, W_A), 1, {USE(MATMUL_NT, Q, 0, 1)}, 0, 0, ROWS, 0, 0},
    {ATTN_ROLE_W_A_Q, OF2(QUERIES, W_A), 1, {USE(MATMUL, Q, 0, 1)}, 0, 1, ROWS, 0, 0},
    {ATTN_ROLE_U_A_K, OF2(KEYS, U_A), 1, {USE(MATMUL_NT, K, 0, 1)}, 0, 0, ROWS, 0, 0},
    {ATTN_ROLE_U_A_K, OF2(KEYS, U_A), 1, {USE(MATMUL, K, 0, 1)}, 0, 1, ROWS, 0, 0},
    {ATTN_ROLE_U_A_K, OF2(K, W_A), 1, {USE(MATMUL_NT, K, 0, 1)}, 0, 1, 0, WITHOUT(U_A)},
    {ATTN_ROLE_U_A_K, OF2(K, W_A), 1, {USE(MATMUL, K, 0, 1)}, 0, 2, 0, WITHOUT(U_A)},
    {ATTN_ROLE_TANH_INPUT, OF2(W_A_Q, U_A_K), 1, {USE(ADD, OTHER, 0, 1)}, 0, 0, ROWS, 0, 0},
    {ATTN_ROLE_TANH_INPUT, OF4(Q, W_A, KEYS, U_A), 3,
     {USE(MATMUL_NT, Q, 0, 1), USE(MATMUL_NT, K, 2, 3), USE(ADD, OTHER, FIRST, SECOND)}, 0, 3, 0,
     0, 1u << ATTN_ROLE_W_A_Q | 1u << ATTN_ROLE_U_A_K},
    {ATTN_ROLE_TANH_INPUT, OF4(Q, W_A, KEYS, U_A), 3,
     {USE(MATMUL, Q, 0, 1), USE(MATMUL, K, 2, 3), USE(ADD, OTHER, FIRST, SECOND)}, 0, 4, 0,
     0, 1u << ATTN_ROLE_W_A_Q | 1u << ATTN_ROLE_U_A_K},
    {ATTN_ROLE_TANH, OF1(TANH_INPUT), 1, {USE(TANH, OTHER, 0)}, 0, 0, 0, 0, 0},
    {ATTN_ROLE_TANH, OF2(W_A_Q, U_A_K), 2, {USE(ADD, OTHER, 0, 1), USE(TANH, SCORES, FIRST)}, 0, 0, 0, 0, 0},
    {ATTN_ROLE_TANH, OF3(W_A_Q, KEYS, U_A), 3,
     {USE(MATMUL_NT, K, 1, 2), USE(ADD, OTHER, 0, FIRST), USE(TANH, OTHER, SECOND)}, 0, 2, ROWS, WITHOUT(U_A_K)},
    {ATTN_ROLE_TANH, OF3(W_A_Q, KEYS, U_A), 3,
     {USE(MATMUL, K, 1, 2), USE(ADD, OTHER, 0, FIRST), USE(TANH, OTHER, SECOND)}, 0, 3, ROWS, WITHOUT(U_A_K)},
    {ATTN_ROLE_TANH, OF4(Q, W_A, KEYS, U_A), 4,
     {USE(MATMUL_NT, Q, 0, 1), USE(MATMUL_NT, K, 2, 3), USE(ADD, OTHER, FIRST, SECOND), USE(TANH, OTHER, THIRD)}, 0, 3, 0,
     0, 1u << ATTN_ROLE_W_A_Q | 1u << ATTN_ROLE_U_A_K},
    {ATTN_ROLE_TANH, OF4(Q, W_A, KEYS, U_A), 4,
     {USE(MATMUL, Q, 0, 1), USE(MATMUL, K, 2, 3), USE(ADD, OTHER, FIRST, SECOND), USE(TANH, OTHER, THIRD)}, 0, 4, 0,
     0, 1u << ATTN_ROLE_W_A_Q | 1u << ATTN_ROLE_U_A_K},
    /* softmax in steps */
    {ATTN_ROLE_SHIFTED, OF1(LOGITS), 1, {USE(SHIFT, OTHER, 0)}, 0, 2, 0, 0, 0},
    {ATTN_ROLE_EXPONENTIALS, OF1(SHIFTED), 1, {USE(EXP, EXPONENTIALS, 0)}, 0, 0, 0, 0, 0},
    {ATTN_ROLE_WEIGHTS, OF1(SHIFTED), 1, {USE(SOFTMAX, WEIGHTS, 0)}, 0, 0, 0, 0, 0},
    {ATTN_ROLE_EXPONENTIALS, OF1(LOGITS), 1, {USE(EXP, EXPONENTIALS, 0)}, 0, 0, 0, 0, 0},
    {ATTN_ROLE_EXPONENTIALS, OF1(SCORES), 1, {USE(EXP, EXPONENTIALS, 0)}, CAUSE(MISSING_SCALE), 6, 0, WITH(SCALED)},
    {ATTN_ROLE_EXPONENTIALS, OF1(LOGITS), 2, {USE(SHIFT, OTHER, 0), USE(EXP, EXPONENTIALS, FIRST)}, 0, 2, 0, 0, 0},
    {ATTN_ROLE_ROW_SUM, OF1(EXPONENTIALS), 1, {USE(SUM, ROW_SUM, 0)}, 0, 0, 0, 0, 0},
    {ATTN_ROLE_ROW_SUM, OF1(EXPONENTIALS), 2, {USE(SUM, ROW_SUM, 0), USE(TRANSPOSE, ROW_SUM, FIRST)}, 0, 0, 0, 0, 0},
    {ATTN_ROLE_ROW_SUM, OF1(WEIGHTS), 1, {USE(SUM, ROW_SUM, 0)}, 0, 2, 0, 0, 0},
    {ATTN_ROLE_ROW_SUM, OF1(WEIGHTS), 2, {USE(SUM, ROW_SUM, 0), USE(TRANSPOSE, ROW_SUM, FIRST)}, 0, 2, 0, 0, 0},
    {ATTN_ROLE_WEIGHTS, OF2(EXPONENTIALS, ROW_SUM), 1, {USE(QUOTIENT, WEIGHTS, 0, 1)}, 0, 0, 0, 0, 0},
    {ATTN_ROLE_WEIGHTS, OF2(EXPONENTIALS, ROW_SUM), 2,
     {USE(TRANSPOSE, ROW_SUM, 1), USE(QUOTIENT, WEIGHTS, 0, FIRST)}, 0, 0, SECOND_IS_ROW, 0, 0},
    {ATTN_ROLE_WEIGHTS, OF1(EXPONENTIALS), 2, {USE(SUM, ROW_SUM, 0), USE(QUOTIENT, WEIGHTS, 0, FIRST)}, 0, .5, 0, 0, 0},
    /* output: of the values; of keys or inputs that serve as values; of the wrong matrix */
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, V), 1, {USE(MATMUL, OUTPUT, 0, 1)}, 0, 0, COARSE | ROWS, 0, 0},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, V), 1, {USE(MATMUL_TN, OUTPUT, 0, 1)}, CAUSE(SWAPPED_QK), 7, SQUARE, 0, 0},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, K), 1, {USE(MATMUL, OUTPUT, 0, 1)}, 0, 2, ROWS | COARSE | AS_VALUES,
     0, 1u << ATTN_ROLE_V | 1u << ATTN_ROLE_W_V},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, K), 1, {USE(MATMUL, OUTPUT, 0, 1)}, CAUSE(K_INSTEAD_OF_V), 7, 0,
     1u << ATTN_ROLE_W_V, 1u << ATTN_ROLE_V},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, K), 1, {USE(MATMUL_TN, OUTPUT, 0, 1)}, CAUSE(SWAPPED_QK), 9, SQUARE, WITHOUT(V)},
    {ATTN_ROLE_OUTPUT, OF3(WEIGHTS, SOURCE, W_V), 2, {USE(MATMUL, V, 1, 2), USE(MATMUL, OUTPUT, 0, FIRST)},
     0, 6, 0, WITHOUT(V)},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, SOURCE), 1, {USE(MATMUL, OUTPUT, 0, 1)}, 0, 3, COARSE | ROWS,
     0, 1u << ATTN_ROLE_V | 1u << ATTN_ROLE_K},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, SOURCE), 1, {USE(MATMUL_TN, OUTPUT, 0, 1)}, CAUSE(SWAPPED_QK), 10, SQUARE,
     0, 1u << ATTN_ROLE_V | 1u << ATTN_ROLE_K},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, K), 1, {USE(MATMUL, OUTPUT, 0, 1)}, CAUSE(K_INSTEAD_OF_V), 7, ROWS, WITH(V)},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, K), 1, {USE(MATMUL_TN, OUTPUT, 0, 1)}, CAUSE(K_INSTEAD_OF_V), 14, SQUARE, WITH(V)},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, Q), 1, {USE(MATMUL, OUTPUT, 0, 1)}, CAUSE(UNKNOWN), 9, 0, WITH(V)},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, Q), 1, {USE(MATMUL_TN, OUTPUT, 0, 1)}, CAUSE(UNKNOWN), 16, SQUARE, WITH(V)},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, SOURCE), 1, {USE(MATMUL, OUTPUT, 0, 1)}, CAUSE(UNKNOWN), 9, 0, WITH(V)},
    {ATTN_ROLE_OUTPUT, OF2(WEIGHTS, SOURCE), 1, {USE(MATMUL_TN, OUTPUT, 0, 1)}, CAUSE(UNKNOWN), 16, SQUARE, WITH(V)},
    {ATTN_ROLE_PROJECTED, OF3(WEIGHTS, V, W_O), 2, {USE(MATMUL, OUTPUT, 0, 1), USE(MATMUL, PROJECTED, FIRST, 2)},
     0, 1, 0, WITHOUT(OUTPUT)},
};
/* clang-format on */

/* Are all of these roles known? any: is one of them? */
static int known(const struct attn_listing *l, uint32_t set, int any) {
  for (int role = 0; role < ATTN_ROLES; role++)
    if (set >> role & 1 && any == (attn_listing_node(l, role) != NULL)) return any;
  return !any;
}

static int is_row(const struct attn_node *node) {
  return node->grid->rows == 1 && node->grid->cols > 1;
}

static int applies(const struct attn_listing *l, const struct rule *rule,
                   const struct attn_draft *x) {
  const struct attn_grid *a = x->operand[0]->grid;
  if (rule->flags & SQUARE && (a->rows != a->cols || l->grid->rows < 2)) return 0;
  if (rule->flags & SECOND_IS_ROW && !is_row(x->operand[1])) return 0;
  if (rule->flags & TANH_OF_SUM && !l->hints->tanh_of_sum) return 0;
  if (rule->flags & CONCATENATED &&
      x->operand[2]->grid->cols != a->cols + x->operand[1]->grid->cols)
    return 0;
  if (rule->flags & V_IS_NOT_K && x->operand[1] == attn_listing_node(l, ATTN_ROLE_K)) return 0;
  return known(l, rule->with, 0) && !known(l, rule->without, 1);
}

/* As many columns as an operand has, from 0 on, or after those for the other operand. */
static void take_columns(const struct attn_draft *x, const struct rule_use *from,
                         struct attn_use *use) {
  int of = from->operand[1], after = from->operand[2];
  use->operands = 1;
  use->constant = (attn_matrix){1, x->operand[of]->grid->cols, NULL};
  use->scalar = after < 0 ? 0 : x->operand[after]->grid->cols;
}

static void fill_in(struct attn_draft *x, const struct rule *rule) {
  x->relation.uses = rule->uses;
  for (int n = 0; n < rule->uses; n++) {
    const struct rule_use *from = &rule->use[n];
    x->use[n] = (struct attn_use){
        .op = from->op, .name = from->name, .axis = from->axis, .operands = from->operands};
    memcpy(x->use[n].operand, from->operand, sizeof from->operand);
    if (from->op == ATTN_OP_COLUMNS) take_columns(x, from, &x->use[n]);
  }
}

static void list_rule(struct attn_listing *l, const struct rule *rule) {
  for (int n = 0; n < rule->operands; n++)
    if (!attn_listing_node(l, rule->operand[n])) return;
  struct attn_draft x = attn_draft_over(l, NULL, NULL, rule->cause, rule->cost);
  x.relation.operands = rule->operands;
  for (int n = 0; n < rule->operands; n++) x.operand[n] = attn_listing_node(l, rule->operand[n]);
  if (!applies(l, rule, &x)) return;
  if (rule->flags & AS_VALUES && l->hints->values) x.relation.cost += VALUES_MENTIONED;
  fill_in(&x, rule);
  int at = l->count;
  if (rule->flags & ROWS)
    attn_list_rows(l, &x);
  else
    attn_list(l, &x);
  if (rule->flags & COARSE && l->count > at && l->memo->scratch[at].row < 0)
    attn_list_over_rounded(l, at);
}

void attn_list_rules(struct attn_listing *l) {
  for (size_t n = 0; n < sizeof rules / sizeof *rules; n++)
    if (rules[n].role == l->role) list_rule(l, &rules[n]);
}
