/* pair_ops.h -- the vector operations on pairs of bf16 as functions, on AVX512-BF16 and in its
 * software model. */
#ifndef TEST_PAIR_OPS_H
#define TEST_PAIR_OPS_H

#include <stdint.h>

enum { PAIR_LANES = 16 };

struct pair_ops {
  const char *name;
  /* Each of PAIR_LANES lanes, aligned to 64 bytes; pairs are the bits of a float. */
  void (*dot)(const float *a, const float *b, float *sum);
  void (*round)(const float *even, const float *odd, float *pairs);
  void (*round_neighbours)(const float *low, const float *high, float *pairs);
  void (*zip)(const uint16_t *even, const uint16_t *odd, float *pairs);
  void (*keep)(uint32_t even, uint32_t odd, float *pairs); /* a bit for each lane */
  void (*exp2_weight)(const float *x, float *y, int64_t count);
};

extern const struct pair_ops pair_ops_model;
#if defined(__x86_64__)
extern const struct pair_ops pair_ops_avx512;
#endif

#endif
