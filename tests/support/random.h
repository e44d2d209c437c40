/* random.h -- one seedable stream of random values for a test; every run prints its seed. */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state = 1;

static inline uint32_t random_bits(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 32);
}
static inline int64_t below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }
static inline int chance(int one_in) { return below(one_in) == 0; }
static inline float uniform(void) { return (float)random_bits() * 0x1p-31f - 1.0f; }

static inline void random_begin(int argc, char **argv) {
  if (argc > 1) random_state = strtoull(argv[1], NULL, 10);
  printf("seed %llu (set it with an argument)\n", (unsigned long long)random_state);
}

#endif
