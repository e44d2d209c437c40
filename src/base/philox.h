/* philox.h -- Philox4x32-10, the counter-based random numbers of [Salmon11]. */
#ifndef ATTN_BASE_PHILOX_H
#define ATTN_BASE_PHILOX_H

#include <stdint.h>

static inline void attn_philox(uint64_t seed, const uint32_t counter[4], uint32_t out[4]) {
  uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
  uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
  for (int round = 0; round < 10; round++) {
    uint64_t left = (uint64_t)0xD2511F53u * a, right = (uint64_t)0xCD9E8D57u * c;
    uint32_t next_a = (uint32_t)(right >> 32) ^ b ^ key0,
             next_c = (uint32_t)(left >> 32) ^ d ^ key1;
    b = (uint32_t)right, d = (uint32_t)left;
    a = next_a, c = next_c;
    key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
  }
  out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}

/* A random 32-bit word below this drops: probability threshold / 2^32. */
static inline uint32_t attn_dropout_threshold(double probability) {
  return (uint32_t)(probability * 4294967296.0);
}

#endif
