/* key_range.h -- which keys a row sees. */
#ifndef ATTN_SDPA_KEY_RANGE_H
#define ATTN_SDPA_KEY_RANGE_H

#include "problem.h"

/* S of sequence b; the results of its rows depend on no other. */
int64_t attn_problem_keys(const struct attn_problem *problem, int64_t b);

/* The keys of sequence b that are in use: S, or less by key_lengths. */
int64_t attn_problem_length(const struct attn_problem *problem, int64_t b);

/* The keys that row i of sequence b sees by causal, window and length: lo <= j < hi. */
void attn_problem_key_range(const struct attn_problem *problem, int64_t b, int64_t i, int64_t *lo,
                            int64_t *hi);

/* The position of query i of sequence b among the keys: i + offset. */
int64_t attn_problem_position(const struct attn_problem *problem, int64_t b, int64_t i);

/* Whether the mask, which the call must have, lets row i see key j. */
int attn_problem_mask_allows(const struct attn_problem *problem, int64_t b, int64_t h, int64_t i,
                             int64_t j);

/* Whether row i sees no key. */
int attn_problem_row_is_empty(const struct attn_problem *problem, int64_t b, int64_t h, int64_t i);

/* ATTN_ERR_EMPTY_ROW if some row sees no key. */
attn_status attn_problem_reject_empty_rows(const struct attn_problem *problem, attn_error *err);

#endif
