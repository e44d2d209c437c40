/* test_tensors.h -- tensors of any type and layout for the tests of layers. Elements are read and
 * written by their row-major index. */
#ifndef TEST_TENSORS_H
#define TEST_TENSORS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attn/attn.h"
#include "element.h"
#include "random.h"

struct test_tensor {
  attn_tensor t;
  char *memory;
  size_t bytes;
};

static const attn_dtype test_tensor_types[] = {ATTN_F32, ATTN_F64, ATTN_F16, ATTN_BF16};

static inline double normal(void) { return (double)(uniform() + uniform() + uniform()); }

static inline int64_t test_tensor_count(const attn_tensor *t) {
  int64_t count = 1;
  for (int d = 0; d < t->rank; d++) count *= t->shape[d];
  return count;
}

/* any 0: dense; else dimensions in random order, with gaps, some with negative strides. */
static inline struct test_tensor test_tensor_new(attn_dtype dtype, int rank, const int64_t *shape,
                                                 int any) {
  struct test_tensor x = {.t = {.dtype = dtype, .rank = rank}};
  int64_t step = any ? 1 + below(2) : 1, start = 0, size = attn_real_size(dtype);
  int order[ATTN_RANK_MAX];
  for (int d = 0; d < rank; d++) order[d] = rank - 1 - d, x.t.shape[d] = shape[d];
  for (int d = 0; any && d < rank; d++) {
    int other = (int)below(rank), kept = order[d];
    order[d] = order[other], order[other] = kept;
  }
  for (int d = 0; d < rank; d++) {
    x.t.strides[order[d]] = step;
    if (any && chance(4))
      x.t.strides[order[d]] = -step,
      start += step * (shape[order[d]] > 0 ? shape[order[d]] - 1 : 0);
    step *= shape[order[d]] + (any ? below(2) : 0);
  }
  x.bytes = (size_t)((step + 1) * size);
  x.memory = malloc(x.bytes);
  memset(x.memory, 0xA5, x.bytes);
  x.t.data = x.memory + start * size;
  return x;
}

static inline char *test_tensor_at(const attn_tensor *t, int64_t index) {
  int64_t at = 0;
  for (int d = t->rank - 1; d >= 0; index /= t->shape[d--])
    at += index % t->shape[d] * t->strides[d];
  return (char *)t->data + at * attn_real_size(t->dtype);
}

static inline double get(const attn_tensor *t, int64_t index) {
  return attn_load_real(t->dtype, test_tensor_at(t, index));
}

static inline void put(const attn_tensor *t, int64_t index, double value) {
  if (t->dtype == ATTN_F64)
    memcpy(test_tensor_at(t, index), &value, 8);
  else
    attn_store_f32(t->dtype, test_tensor_at(t, index), (float)value);
}

static inline void test_tensor_fill(const attn_tensor *t, double centre, double gain) {
  for (int64_t n = 0; n < test_tensor_count(t); n++) put(t, n, centre + gain * normal());
}

/* The index in t, which broadcasts to the shape of x, of element `index` of x. */
static inline int64_t test_tensor_broadcast_index(const attn_tensor *t, const attn_tensor *x,
                                                  int64_t index) {
  int64_t at_dim[ATTN_RANK_MAX], at = 0;
  for (int d = x->rank - 1; d >= 0; index /= x->shape[d--]) at_dim[d] = index % x->shape[d];
  for (int d = 0; d < t->rank; d++)
    at = at * t->shape[d] + (t->shape[d] == 1 ? 0 : at_dim[d + x->rank - t->rank]);
  return at;
}

/* The largest error of rounding `value` to nearest. */
static inline double rounding(attn_dtype dtype, double value) {
  double u = dtype == ATTN_F64   ? 0x1p-53
             : dtype == ATTN_F32 ? 0x1p-24
             : dtype == ATTN_F16 ? 0x1p-11
                                 : 0x1p-8;
  double min = dtype == ATTN_F64   ? 0
               : dtype == ATTN_F16 ? 0x1p-25
               : dtype == ATTN_F32 ? 0x1p-150
                                   : 0x1p-134;
  return u * fabs(value) + min;
}

#endif
