/* intern.h -- a set of byte strings, numbered in insertion order; a binary heap. */
#ifndef ATTN_TOKENIZERS_INTERN_H
#define ATTN_TOKENIZERS_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* Grows to at least need elements, at least doubling. Returns 0 if out of memory, with nothing
 * changed. */
int attn_grow(void **array, size_t *capacity, size_t need, size_t element);

struct attn_intern {
  char *bytes; /* all keys, each terminated by 0 */
  size_t used, bytes_capacity;
  size_t *start; /* (count + 1) */
  size_t count, start_capacity;
  int32_t *slot; /* open addressing, never more than half full; -1: free */
  size_t slots;
};

/* A zeroed table is empty. find returns -1 if the key is absent; add returns the key's number, new
 * or existing, or -1 if out of memory. */
int32_t attn_intern_find(const struct attn_intern *table, const void *key, size_t bytes);
int32_t attn_intern_add(struct attn_intern *table, const void *key, size_t bytes);
const char *attn_intern_key(const struct attn_intern *table, size_t number, size_t *bytes);
void attn_intern_free(struct attn_intern *table);

/* ---- A heap: the smallest first, by first, then by second ---- */

struct attn_heap_item {
  uint64_t first, second;
};

struct attn_heap {
  struct attn_heap_item *at;
  size_t count, capacity;
};

int attn_heap_push(struct attn_heap *heap, uint64_t first, uint64_t second); /* 0: out of memory */
struct attn_heap_item attn_heap_pop(struct attn_heap *heap); /* the heap must not be empty */

#endif
