/* picture_cache.h -- decoded and scaled pictures by name, so that an epoch does not decode them
 * again. */
#ifndef ATTN_TRAIN_PICTURE_CACHE_H
#define ATTN_TRAIN_PICTURE_CACHE_H

#include "vocabulary.h"

/* All 0: empty, with the default limit. */
struct attn_picture_cache {
  struct attn_intern names;
  unsigned char **pixels;  /* (names) */
  size_t capacity;         /* of pixels */
  size_t bytes, max_bytes; /* of pictures and names; 0: 2^28 */
};

/* The pixels of a picture, valid until the cache is freed; NULL: it is not there. */
const unsigned char *attn_picture_cache_find(const struct attn_picture_cache *cache,
                                             struct attn_text_view name);

/* Copies a picture that is not there yet. Does nothing if the cache is full or there is no memory.
 */
void attn_picture_cache_add(struct attn_picture_cache *cache, struct attn_text_view name,
                            const unsigned char *rgb, size_t bytes);
void attn_picture_cache_free(struct attn_picture_cache *cache);

#endif
