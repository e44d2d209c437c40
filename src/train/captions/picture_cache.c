#include "picture_cache.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 28 };

const unsigned char *attn_picture_cache_find(const struct attn_picture_cache *c,
                                             struct attn_text_view name) {
  int32_t n = attn_intern_find(&c->names, name.text, name.length);
  return n < 0 ? NULL : c->pixels[n];
}

void attn_picture_cache_add(struct attn_picture_cache *c, struct attn_text_view name,
                            const unsigned char *rgb, size_t bytes) {
  const size_t all = sizeof *c->pixels + name.length + bytes, count = c->names.count;
  const size_t max = c->max_bytes ? c->max_bytes : BYTES_MAX;
  if (all > max - c->bytes ||
      !attn_grow((void **)&c->pixels, &c->capacity, count + 1, sizeof *c->pixels))
    return;
  unsigned char *pixels = malloc(bytes);
  if (!pixels || attn_intern_add(&c->names, name.text, name.length) < 0) {
    free(pixels);
    return;
  }
  memcpy(pixels, rgb, bytes);
  c->pixels[count] = pixels, c->bytes += all;
}

void attn_picture_cache_free(struct attn_picture_cache *c) {
  for (size_t n = 0; n < c->names.count; n++) free(c->pixels[n]);
  free(c->pixels), attn_intern_free(&c->names);
  *c = (struct attn_picture_cache){.max_bytes = c->max_bytes};
}
