#include "memo.h"

#include <string.h>

static uint64_t hash_of(const unsigned char *key, size_t bytes) {
  uint64_t hash = 0xCBF29CE484222325u, word;
  for (; bytes >= sizeof word; key += sizeof word, bytes -= sizeof word) {
    memcpy(&word, key, sizeof word);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  for (; bytes; key++, bytes--) hash = (hash ^ *key) * 0x100000001B3u;
  return hash ^ hash >> 32;
}

/* Buckets: a power of two. */
static int grow(struct attn_pool *pool, struct attn_memo *memo) {
  size_t buckets = memo->buckets ? memo->buckets * 2 : 256;
  struct attn_memo_entry **bucket = attn_pool_take(pool, buckets * sizeof *bucket);
  if (!bucket) return 0;
  for (size_t n = 0; n < memo->buckets; n++)
    for (struct attn_memo_entry *e = memo->bucket[n], *next; e; e = next) {
      next = e->next;
      e->next = bucket[e->hash & (buckets - 1)];
      bucket[e->hash & (buckets - 1)] = e;
    }
  memo->bucket = bucket;
  memo->buckets = buckets;
  return 1;
}

struct attn_memo_entry *attn_memo_at(struct attn_pool *pool, struct attn_memo *memo,
                                     const void *key, size_t bytes) {
  if (memo->used == memo->buckets && !grow(pool, memo)) return NULL;
  uint64_t hash = hash_of(key, bytes);
  struct attn_memo_entry **bucket = &memo->bucket[hash & (memo->buckets - 1)];
  for (struct attn_memo_entry *e = *bucket; e; e = e->next)
    if (e->hash == hash && e->bytes == bytes && !memcmp(e->key, key, bytes)) return e;
  struct attn_memo_entry *e = attn_pool_take(pool, sizeof *e + bytes);
  if (!e) return NULL;
  *e = (struct attn_memo_entry){*bucket, hash, bytes, NULL};
  memcpy(e->key, key, bytes);
  memo->used++;
  return *bucket = e;
}
