/* split.c -- few queries against many keys: splits of the keys run in parallel and are merged in
 * order [Dao23 "Flash-Decoding"]. Bits depend on the splits, so these depend on the shape alone. */
#include "split.h"

#include <float.h>
#include <math.h>

#include "element.h"
#include "integer.h"
#include "key_range.h"
#include "paging.h"
#include "parallel.h"
#include "sdpa_task.h"

enum {
  SPLIT_KEYS = 16 * ATTN_KEY_BLOCK, /* shorter splits cost more overhead than they gain */
  SPLIT_LIMIT = 32 /* splits of a row, which limits the memory of partial results */
};

/* If all queries of a key/value head are in one block, threads cannot share the blocks of
 * queries. Weights need the sum of the whole row first. */
int64_t attn_split_count(const struct attn_problem *p, int64_t keys) {
  struct attn_partition parts = attn_problem_partition(p);
  if (!p->kernel || p->desc.weights || p->rows >= ATTN_ROW_BLOCK || parts.blocks != 1) return 1;
  int64_t count = keys / SPLIT_KEYS;
  return count < 1 ? 1 : count > SPLIT_LIMIT ? SPLIT_LIMIT : count;
}

int64_t attn_split_max(const struct attn_problem *p) {
  int64_t max = 1;
  int64_t sequences = p->paging ? p->batch : p->batch > 0; /* else all have the same keys */
  for (int64_t b = 0; b < sequences; b++) {
    int64_t count = attn_split_count(p, attn_problem_keys(p, b));
    if (count > max) max = count;
  }
  return max;
}

/* Whole blocks, the same as without splits. */
int64_t attn_split_keys(int64_t keys, int64_t count) {
  int64_t blocks = attn_divide_up(keys, ATTN_KEY_BLOCK);
  return attn_divide_up(blocks, count) * ATTN_KEY_BLOCK;
}

int64_t attn_split_floats(const struct attn_problem *p) { return p->value_width + 3; }

/* The partial results of all splits, scaled to the largest m. */
struct merged_splits {
  const float *partial;
  int64_t count, floats;
  double m, l, rounded;       /* rounded: l of the weights as rounded for p v */
  double factor[SPLIT_LIMIT]; /* 0 for a split in which the row sees no key */
};

static struct merged_splits gather_splits(const struct attn_problem *p, const float *partial,
                                          int64_t count) {
  struct merged_splits all = {.partial = partial, .count = count, .floats = attn_split_floats(p)};
  const float *m = partial + p->value_width, *l = m + 1;
  all.m = -(double)INFINITY;
  for (int64_t n = 0; n < count; n++)
    if ((double)m[n * all.floats] > all.m) all.m = (double)m[n * all.floats];
  for (int64_t n = 0; n < count; n++) {
    int sees = m[n * all.floats] >= -FLT_MAX;
    all.factor[n] = sees ? exp2((double)m[n * all.floats] - all.m) : 0;
    all.l += (double)l[n * all.floats] * all.factor[n];
    all.rounded += (double)l[n * all.floats + 1] * all.factor[n];
  }
  return all;
}

static double column(const struct merged_splits *all, int64_t e) {
  double sum = 0;
  for (int64_t n = 0; n < all->count; n++)
    sum += (double)all->partial[n * all->floats + e] * all->factor[n];
  return sum;
}

int attn_split_merge(const struct attn_problem *p, const float *partial, int64_t count, int64_t b,
                     int64_t h, int64_t i) {
  struct merged_splits all = gather_splits(p, partial, count);
  int empty = all.m == -(double)INFINITY;
  const double sink = attn_problem_sink(p, h) * ATTN_LOG2E;
  double share = attn_softmax_finish(all.m, all.rounded, sink).share;
  for (int64_t e = 0; e < p->value_width; e++)
    attn_store_real(p->o.dtype, attn_tensor_at(&p->o, b, h, i, e),
                    empty ? 0 : column(&all, e) * share);
  if (p->desc.lse)
    attn_store_real(p->lse.dtype, attn_tensor_at(&p->lse, b, h, i, 0),
                    attn_softmax_log2(attn_softmax_finish(all.m, all.l, sink)) * ATTN_LN2);
  return empty;
}
