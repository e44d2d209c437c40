#include "picture_cache.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

enum { BYTES_MAX = 1 << 28, FIRST_CAPACITY = 1 << 10 };

struct attn_cached_picture {
  size_t length; /* of the name, which precedes the pixels */
  unsigned char data[];
};

/* Where the picture is, or where it belongs. */
static struct attn_cached_picture **slot_of(const struct attn_picture_cache *c, const void *name,
                                            size_t length) {
  size_t at = (size_t)attn_hash_bytes(ATTN_HASH_BEGIN, name, length) & (c->capacity - 1);
  for (;; at = (at + 1) & (c->capacity - 1)) {
    const struct attn_cached_picture *p = c->slots[at];
    if (!p || (p->length == length && !memcmp(p->data, name, length))) return &c->slots[at];
  }
}

const unsigned char *attn_picture_cache_find(const struct attn_picture_cache *c,
                                             struct attn_text_view name) {
  const struct attn_cached_picture *p = c->count ? *slot_of(c, name.text, name.length) : NULL;
  return p ? p->data + p->length : NULL;
}

/* At least half of the slots stay empty. */
static int grow(struct attn_picture_cache *c) {
  if (2 * (c->count + 1) <= c->capacity) return 1;
  struct attn_picture_cache more = {.capacity = c->capacity ? 2 * c->capacity : FIRST_CAPACITY};
  if (!(more.slots = calloc(more.capacity, sizeof *more.slots))) return 0;
  for (size_t n = 0; n < c->capacity; n++)
    if (c->slots[n]) *slot_of(&more, c->slots[n]->data, c->slots[n]->length) = c->slots[n];
  free(c->slots);
  c->slots = more.slots, c->capacity = more.capacity;
  return 1;
}

void attn_picture_cache_add(struct attn_picture_cache *c, struct attn_text_view name,
                            const unsigned char *rgb, size_t bytes) {
  const size_t all = sizeof(struct attn_cached_picture) + name.length + bytes;
  const size_t max = c->max_bytes ? c->max_bytes : BYTES_MAX;
  if (all > max - c->bytes || !grow(c)) return;
  struct attn_cached_picture *p = malloc(all);
  if (!p) return;
  p->length = name.length;
  memcpy(p->data, name.text, name.length), memcpy(p->data + name.length, rgb, bytes);
  *slot_of(c, name.text, name.length) = p;
  c->count++, c->bytes += all;
}

void attn_picture_cache_free(struct attn_picture_cache *c) {
  for (size_t n = 0; n < c->capacity; n++) free(c->slots[n]);
  free(c->slots);
  *c = (struct attn_picture_cache){.max_bytes = c->max_bytes};
}
