/* split.h -- few queries against many keys: the keys in splits that run in parallel [Dao23]. */
#ifndef ATTN_SDPA_SPLIT_H
#define ATTN_SDPA_SPLIT_H

#include "problem.h"

/* How many splits the keys of a sequence are cut into; 1: not split. A function of the shape alone.
 */
int64_t attn_split_count(const struct attn_problem *problem, int64_t keys);

/* The largest count of all sequences. */
int64_t attn_split_max(const struct attn_problem *problem);

/* Keys of each split but the last. */
int64_t attn_split_keys(int64_t keys, int64_t count);

/* Floats of the partial result of one row of one split. */
int64_t attn_split_floats(const struct attn_problem *problem);

/* Writes row i from the partial results of its splits, attn_split_floats apart. Returns 1 if the
 * row sees no key. */
int attn_split_merge(const struct attn_problem *problem, const float *partial, int64_t count,
                     int64_t b, int64_t h, int64_t i);

#endif
