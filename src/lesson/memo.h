/* memo.h -- a table from bytes to anything. */
#ifndef ATTN_LESSON_MEMO_H
#define ATTN_LESSON_MEMO_H

#include <stddef.h>
#include <stdint.h>

#include "pool.h"

struct attn_memo_entry {
  struct attn_memo_entry *next;
  uint64_t hash;
  size_t bytes;
  void *value; /* NULL at first */
  double key[];
};

struct attn_memo {
  size_t used, buckets;
  struct attn_memo_entry **bucket;
};

/* The entry of the key, which is copied on first use. Entries never move. NULL: no memory. */
struct attn_memo_entry *attn_memo_at(struct attn_pool *pool, struct attn_memo *memo,
                                     const void *key, size_t bytes);

#endif
