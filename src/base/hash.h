/* hash.h -- FNV-1a of 64 bits: for tables, and to notice changed data; not against an adversary. */
#ifndef ATTN_BASE_HASH_H
#define ATTN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define ATTN_HASH_BEGIN 0xcbf29ce484222325u

/* Continues a hash, which begins as ATTN_HASH_BEGIN, with count bytes. Returns the new hash. */
static inline uint64_t attn_hash_bytes(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  for (size_t n = 0; n < count; n++) hash = (hash ^ at[n]) * 0x100000001b3u;
  return hash;
}

#endif
