#include "intern.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

int attn_grow(void **array, size_t *capacity, size_t need, size_t element) {
  size_t wanted = *capacity < 8 ? 16 : *capacity;
  if (need <= *capacity) return 1;
  while (wanted < need) {
    if (wanted > SIZE_MAX / 2 / element) return 0;
    wanted *= 2;
  }
  void *larger = malloc(wanted * element);
  if (!larger) return 0;
  if (*array) memcpy(larger, *array, *capacity * element);
  free(*array);
  *array = larger;
  *capacity = wanted;
  return 1;
}

/* ---- Strings ---- */

/* FNV-1a [Fowler, Noll and Vo], then a mix of the low bits [Stafford]. */
static size_t hash(const unsigned char *key, size_t bytes) {
  uint64_t h = attn_hash_bytes(ATTN_HASH_BEGIN, key, bytes);
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
  return (size_t)(h ^ h >> 27);
}

const char *attn_intern_key(const struct attn_intern *t, size_t number, size_t *bytes) {
  *bytes = t->start[number + 1] - t->start[number] - 1;
  return t->bytes + t->start[number];
}

static size_t place(const struct attn_intern *t, const void *key, size_t bytes) {
  size_t at = hash(key, bytes) & (t->slots - 1), other_bytes;
  for (; t->slot[at] >= 0; at = (at + 1) & (t->slots - 1)) {
    const char *other = attn_intern_key(t, (size_t)t->slot[at], &other_bytes);
    if (other_bytes == bytes && (!bytes || !memcmp(other, key, bytes))) break;
  }
  return at;
}

int32_t attn_intern_find(const struct attn_intern *t, const void *key, size_t bytes) {
  return t->slots ? t->slot[place(t, key, bytes)] : -1;
}

static int widen(struct attn_intern *t) {
  size_t slots = t->slots ? 2 * t->slots : 64, bytes;
  if (2 * (t->count + 1) <= t->slots) return 1;
  int32_t *slot = malloc(slots * sizeof *slot);
  if (!slot) return 0;
  memset(slot, 0xff, slots * sizeof *slot);
  free(t->slot);
  t->slot = slot;
  t->slots = slots;
  for (size_t n = 0; n < t->count; n++) {
    const char *key = attn_intern_key(t, n, &bytes);
    t->slot[place(t, key, bytes)] = (int32_t)n;
  }
  return 1;
}

int32_t attn_intern_add(struct attn_intern *t, const void *key, size_t bytes) {
  int32_t number = attn_intern_find(t, key, bytes);
  if (number >= 0) return number;
  if (t->count >= INT32_MAX - 1 || !widen(t) ||
      !attn_grow((void **)&t->start, &t->start_capacity, t->count + 2, sizeof *t->start) ||
      !attn_grow((void **)&t->bytes, &t->bytes_capacity, t->used + bytes + 1, 1))
    return -1;
  number = (int32_t)t->count;
  t->slot[place(t, key, bytes)] = number;
  if (bytes) memcpy(t->bytes + t->used, key, bytes);
  t->bytes[t->used + bytes] = 0;
  t->start[t->count++] = t->used;
  t->used += bytes + 1;
  t->start[t->count] = t->used;
  return number;
}

void attn_intern_free(struct attn_intern *t) {
  free(t->bytes), free(t->start), free(t->slot);
  memset(t, 0, sizeof *t);
}

/* ---- The heap ---- */

static int before(struct attn_heap_item a, struct attn_heap_item b) {
  return a.first != b.first ? a.first < b.first : a.second < b.second;
}

int attn_heap_push(struct attn_heap *h, uint64_t first, uint64_t second) {
  struct attn_heap_item one = {first, second};
  size_t at = h->count;
  if (!attn_grow((void **)&h->at, &h->capacity, h->count + 1, sizeof *h->at)) return 0;
  for (h->count++; at && before(one, h->at[(at - 1) / 2]); at = (at - 1) / 2)
    h->at[at] = h->at[(at - 1) / 2];
  h->at[at] = one;
  return 1;
}

struct attn_heap_item attn_heap_pop(struct attn_heap *h) {
  struct attn_heap_item top = h->at[0], last = h->at[--h->count];
  size_t at = 0, child;
  while ((child = 2 * at + 1) < h->count) {
    if (child + 1 < h->count && before(h->at[child + 1], h->at[child])) child++;
    if (!before(h->at[child], last)) break;
    h->at[at] = h->at[child];
    at = child;
  }
  h->at[at] = last;
  return top;
}
