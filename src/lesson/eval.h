/* eval.h -- what a step's matrix is, given its operands: each operation once. */
#ifndef ATTN_LESSON_EVAL_H
#define ATTN_LESSON_EVAL_H

#include "attn/lesson.h"
#include "pool.h"

/* Computes step->op from operand[0 .. step->operands-1] into *out (memory from pool).
 * The operands need not be the example's own: the judge passes printed, perturbed or
 * swapped ones. POSITIONS takes rows and cols from step->exact, COLUMNS cols. GIVEN is a copy of
 * exact.
 *
 * Returns ATTN_ERR_SHAPE where the operands do not chain, ATTN_ERR_MEMORY. */
attn_status attn_eval_step(const attn_step *step, const attn_matrix *const *operand,
                           struct attn_pool *pool, attn_matrix *out, attn_error *err);

/* A zeroed rows x cols matrix from pool; at is NULL if out of memory. */
attn_matrix attn_matrix_new(struct attn_pool *pool, int32_t rows, int32_t cols);

#endif
