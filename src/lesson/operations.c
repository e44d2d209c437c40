#include "operations.h"

#define ROW(op, operands, eval, interval) [op] = {operands, attn_eval_##eval, interval}

const struct attn_operation attn_operations[] = {
    ROW(ATTN_OP_GIVEN, 0, given, NULL),
    ROW(ATTN_OP_MATMUL, 2, product, attn_interval_product),
    ROW(ATTN_OP_MATMUL_NT, 2, product, attn_interval_product),
    ROW(ATTN_OP_MATMUL_TN, 2, product, attn_interval_product),
    ROW(ATTN_OP_TRANSPOSE, 1, transpose, NULL),
    ROW(ATTN_OP_DIVIDE, 1, divide, NULL),
    ROW(ATTN_OP_MASK, 2, mask, NULL),
    ROW(ATTN_OP_SOFTMAX, 1, softmax, attn_interval_softmax),
    ROW(ATTN_OP_EXP, 1, exp, NULL),
    ROW(ATTN_OP_SUM, 1, sum, attn_interval_sum),
    ROW(ATTN_OP_QUOTIENT, 2, quotient, attn_interval_quotient),
    ROW(ATTN_OP_ADD, 2, add, NULL),
    ROW(ATTN_OP_APPEND, 1, append, NULL),
    ROW(ATTN_OP_GENERAL, 3, general, attn_interval_general),
    ROW(ATTN_OP_ADDITIVE, 5, additive, attn_interval_additive),
    ROW(ATTN_OP_POSITIONS, 0, positions, NULL),
    ROW(ATTN_OP_TANH, 1, tanh, NULL),
    ROW(ATTN_OP_SHIFT, 1, shift, attn_interval_shift),
    ROW(ATTN_OP_SOFTMAX_GRADIENT, 2, softmax_gradient, attn_interval_softmax_gradient),
    ROW(ATTN_OP_COLUMNS, 1, columns, NULL),
};

_Static_assert(sizeof attn_operations / sizeof *attn_operations == ATTN_OP_COUNT,
               "an operation has no row");

int attn_is_product(int op) {
  return op == ATTN_OP_MATMUL || op == ATTN_OP_MATMUL_NT || op == ATTN_OP_MATMUL_TN;
}
