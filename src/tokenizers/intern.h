/* intern.h -- byte strings, each once, numbered in the order they came; and a heap of numbers. */
#ifndef ATTN_TOKENIZERS_INTERN_H
#define ATTN_TOKENIZERS_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* Makes room for need elements, at least twice what was there; 0: no memory, all as it was. */
int attn_grow(void **array, size_t *room, size_t need, size_t element);

struct attn_intern {
  char *bytes; /* every key with a 0 behind it */
  size_t used, bytes_room;
  size_t *start; /* (count + 1) */
  size_t count, start_room;
  int32_t *slot; /* open addressing, never more than half full; -1: free */
  size_t slots;
};

/* Zeroed is empty. Numbers from 0; find: -1 where there is none; add: the number of the key, new or
 * old, -1: no memory. */
int32_t attn_intern_find(const struct attn_intern *table, const void *key, size_t bytes);
int32_t attn_intern_add(struct attn_intern *table, const void *key, size_t bytes);
const char *attn_intern_key(const struct attn_intern *table, size_t number, size_t *bytes);
void attn_intern_free(struct attn_intern *table);

/* ---- The least first ---- */

struct attn_heap_item {
  uint64_t first, second;
};

struct attn_heap {
  struct attn_heap_item *at;
  size_t count, room;
};

int attn_heap_push(struct attn_heap *heap, uint64_t first, uint64_t second); /* 0: no memory */
struct attn_heap_item attn_heap_pop(struct attn_heap *heap); /* not of an empty one */

#endif
