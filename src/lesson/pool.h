/* pool.h -- memory with the lifetime of a document or a lesson, freed at once. */
#ifndef ATTN_LESSON_POOL_H
#define ATTN_LESSON_POOL_H

#include <stddef.h>

struct attn_pool;

struct attn_pool *attn_pool_new(void);        /* NULL: no memory */
void attn_pool_free(struct attn_pool *pool);  /* NULL is fine */
void attn_pool_clear(struct attn_pool *pool); /* frees all that was taken; the memory is kept */
void *attn_pool_take(struct attn_pool *pool,
                     size_t bytes); /* zeroed, aligned to 16; NULL: no memory */
char *attn_pool_text(struct attn_pool *pool, const char *text,
                     size_t bytes); /* a copy that ends in 0 */

/* Zeroed, with the capacity that attn_pool_grow expects of an array of count items. */
void *attn_pool_array(struct attn_pool *pool, size_t count, size_t size);

/* Frees what was taken since the mark, but for the last of it, which may move: its new place. */
struct attn_pool_mark {
  void *chunk;
  size_t used;
};
struct attn_pool_mark attn_pool_mark(const struct attn_pool *pool);
void *attn_pool_rewind(struct attn_pool *pool, struct attn_pool_mark mark, void *last,
                       size_t bytes);

/* Grows an array that the pool owns: *array holds count items of size; adds capacity for one more.
 * Capacity is the next power of two, so no extra field is needed. Returns 0, or -1: no memory. */
int attn_pool_grow(struct attn_pool *pool, void **array, size_t count, size_t size);

#endif
