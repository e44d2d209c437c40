#include "operation_text.h"

/* clang-format off */
#define SAME  {{0, 0}, {0, 1}}
#define PAIRS {{0, 0}, {1, 0}} /* a row of the first operand, and a row of the second */
#define NONE  {{-1, 0}, {-1, 0}}

static const struct attn_operation_text operations[] = {
    [ATTN_OP_GIVEN] = {"given", "", NULL, NULL, NULL, ATTN_STEP_SCORES, NONE, 0},
    [ATTN_OP_MATMUL] = {"matmul", "0 1", attn_explain_product, attn_write_product,
                        attn_visit_product, ATTN_STEP_SCORES, {{0, 0}, {1, 1}}, 0},
    [ATTN_OP_MATMUL_NT] = {"matmul_nt", "0 1^T", attn_explain_product, attn_write_product,
                           attn_visit_product, ATTN_STEP_SCORES, PAIRS, 0},
    [ATTN_OP_MATMUL_TN] = {"matmul_tn", "0^T 1", attn_explain_product, attn_write_product,
                           attn_visit_product, ATTN_STEP_SCORES, {{0, 1}, {1, 1}}, 0},
    [ATTN_OP_TRANSPOSE] = {"transpose", "0^T", attn_explain_product, attn_write_transpose,
                           attn_visit_transpose, ATTN_STEP_SCORES, {{0, 1}, {0, 0}}, 0},
    [ATTN_OP_DIVIDE] = {"divide", "0 / #", attn_explain_scaled, attn_write_divide,
                        attn_visit_broadcast, ATTN_STEP_SCALED, SAME, ATTN_WITH_SCALAR},
    [ATTN_OP_MASK] = {"mask", "mask(0, 1)", attn_explain_masked, attn_write_mask,
                      attn_visit_broadcast, ATTN_STEP_MASKED, SAME, ATTN_WITH_SCALAR},
    [ATTN_OP_SOFTMAX] = {"softmax", "softmax(0)", attn_explain_softmax, attn_write_softmax,
                         attn_visit_line, ATTN_STEP_WEIGHTS, SAME, ATTN_WITH_AXIS},
    [ATTN_OP_EXP] = {"exp", "exp(0)", attn_explain_exponentials, attn_write_exp,
                     attn_visit_broadcast, ATTN_STEP_EXPONENTIALS, SAME, 0},
    [ATTN_OP_SUM] = {"sum", "sum(0)", attn_explain_exponentials, attn_write_sum,
                     attn_visit_line, ATTN_STEP_ROW_SUM, SAME, ATTN_WITH_AXIS},
    [ATTN_OP_QUOTIENT] = {"quotient", "0 / 1", attn_explain_exponentials, attn_write_quotient,
                          attn_visit_broadcast, ATTN_STEP_WEIGHTS, SAME, ATTN_WITH_AXIS},
    [ATTN_OP_ADD] = {"add", "0 + 1", attn_explain_joined, attn_write_add,
                     attn_visit_broadcast, ATTN_STEP_POSITIONS, SAME, 0},
    [ATTN_OP_APPEND] = {"append", "*", attn_explain_joined, attn_write_append,
                        attn_visit_append, ATTN_STEP_POSITIONS, SAME, 0},
    [ATTN_OP_GENERAL] = {"general", "0 2 1^T", attn_explain_scores, attn_write_general,
                         attn_visit_alignment, ATTN_STEP_SCORES, PAIRS, 0},
    [ATTN_OP_ADDITIVE] = {"additive", "4 · tanh(2 0 + 3 1)", attn_explain_scores, attn_write_additive,
                          attn_visit_alignment, ATTN_STEP_SCORES, PAIRS, 0},
    [ATTN_OP_POSITIONS] = {"positions", "sin, cos", attn_explain_positions, attn_write_positions,
                           NULL, ATTN_STEP_POSITIONS, NONE, ATTN_WITH_SCALAR},
    [ATTN_OP_TANH] = {"tanh", "tanh(0)", attn_explain_cell, attn_write_tanh,
                      attn_visit_broadcast, ATTN_STEP_SCORES, SAME, 0},
    [ATTN_OP_SHIFT] = {"shift", "0 - max(0)", attn_explain_cell, attn_write_shift,
                       attn_visit_line, ATTN_STEP_SCORES, SAME, ATTN_WITH_AXIS},
    [ATTN_OP_SOFTMAX_GRADIENT] = {"softmax_gradient", "0 × (1 - sum(0 × 1))", attn_explain_cell,
                                  attn_write_softmax_gradient, attn_visit_line, ATTN_STEP_SCORES,
                                  SAME, ATTN_WITH_AXIS},
    [ATTN_OP_COLUMNS] = {"columns", "0:", attn_explain_cell, attn_write_columns, attn_visit_columns,
                         ATTN_STEP_SCORES, {{0, 0}, {-1, 0}}, ATTN_WITH_SCALAR},
};
/* clang-format on */

_Static_assert(sizeof operations / sizeof *operations == ATTN_OP_COUNT, "an operation has no row");

const struct attn_operation_text *attn_operation_text(int32_t op) {
  return &operations[op >= 0 && op < ATTN_OP_COUNT ? op : ATTN_OP_GIVEN];
}
