#include "pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* AddressSanitizer sees a read past the end of a piece: what is not taken is poisoned, and a gap
 * follows each piece. */
#if defined(__SANITIZE_ADDRESS__) /* gcc */
#define HAS_ASAN 1
#elif defined(__has_feature) /* clang */
#define HAS_ASAN __has_feature(address_sanitizer)
#else
#define HAS_ASAN 0
#endif
#if HAS_ASAN
#include <sanitizer/asan_interface.h>
enum { GAP = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
enum { GAP = 0 };
#endif

struct chunk {
  struct chunk *next;
  size_t used, size;
  size_t dirty; /* bytes from the first that may not be 0 */
};

struct attn_pool {
  struct chunk *chunks;
  struct chunk *spare;
  size_t next; /* bytes of the next chunk */
};

enum { ALIGN = 16, CHUNK_BYTES = 1 << 16, CHUNK_BYTES_MAX = 1 << 18 };

static size_t round_up(size_t n) { return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

struct attn_pool *attn_pool_new(void) {
  return calloc(1, sizeof(struct attn_pool));
}

static size_t with_gap(size_t bytes) { return round_up(bytes ? bytes : 1) + GAP; }

static void *memory_of(struct chunk *c) { return (char *)c + round_up(sizeof *c); }

static struct chunk *next_after(struct chunk **list) {
  struct chunk *c = *list;
  if (c) *list = c->next;
  return c;
}

void attn_pool_clear(struct attn_pool *pool) {
  for (struct chunk *c; (c = next_after(&pool->chunks)); pool->spare = c) {
    if (c->dirty < c->used) c->dirty = c->used;
    c->used = 0;
    c->next = pool->spare;
    ASAN_POISON_MEMORY_REGION(memory_of(c), c->size);
  }
}

void attn_pool_free(struct attn_pool *pool) {
  if (!pool) return;
  for (struct chunk *c; (c = next_after(&pool->chunks));) free(c);
  for (struct chunk *c; (c = next_after(&pool->spare));) free(c);
  free(pool);
}

static struct chunk *add_chunk(struct attn_pool *pool, size_t bytes) {
  size_t head = round_up(sizeof(struct chunk));
  size_t next = pool->next ? pool->next : CHUNK_BYTES, size = bytes > next ? bytes : next;
  struct chunk *c = pool->spare && pool->spare->size >= bytes ? next_after(&pool->spare) : NULL;
  if (!c && (c = calloc(1, head + size))) {
    c->size = size;
    ASAN_POISON_MEMORY_REGION(memory_of(c), size);
    if (next < CHUNK_BYTES_MAX) pool->next = 2 * next;
  }
  if (!c) return NULL;
  c->next = pool->chunks;
  return pool->chunks = c;
}

void *attn_pool_take(struct attn_pool *pool, size_t bytes) {
  if (bytes > SIZE_MAX / 4) return NULL;
  struct chunk *c = pool->chunks;
  if (!c || c->size - c->used < with_gap(bytes)) c = add_chunk(pool, with_gap(bytes));
  if (!c) return NULL;
  char *memory = (char *)memory_of(c) + c->used;
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
  if (c->used < c->dirty) memset(memory, 0, bytes);
  c->used += with_gap(bytes);
  return memory;
}

struct attn_pool_mark attn_pool_mark(const struct attn_pool *pool) {
  struct chunk *c = pool->chunks;
  return (struct attn_pool_mark){c, c ? c->used : 0};
}

/* Without effect where another chunk was begun since. */
void *attn_pool_rewind(struct attn_pool *pool, struct attn_pool_mark mark, void *last,
                       size_t bytes) {
  struct chunk *c = pool->chunks;
  if (!last || !c || mark.chunk != c) return last;
  char *memory = (char *)memory_of(c) + mark.used;
  size_t taken = c->used - mark.used;
  ASAN_UNPOISON_MEMORY_REGION(memory, taken);
  memmove(memory, last, bytes);
  memset(memory + bytes, 0, taken - bytes);
  ASAN_POISON_MEMORY_REGION(memory + bytes, taken - bytes);
  c->used = mark.used + with_gap(bytes);
  return memory;
}

char *attn_pool_text(struct attn_pool *pool, const char *text, size_t bytes) {
  char *copy = attn_pool_take(pool, bytes + 1);
  if (copy && bytes) memcpy(copy, text, bytes);
  return copy;
}

void *attn_pool_array(struct attn_pool *pool, size_t count, size_t size) {
  size_t capacity = 1;
  if (count > SIZE_MAX / 8 / size) return NULL;
  while (capacity < count) capacity *= 2;
  return attn_pool_take(pool, capacity * size);
}

int attn_pool_grow(struct attn_pool *pool, void **array, size_t count, size_t size) {
  if (count & (count - 1)) return 0; /* between powers of two there is capacity */
  if (count > SIZE_MAX / 4 / size) return -1;
  void *grown = attn_pool_take(pool, (count ? count * 2 : 1) * size);
  if (!grown) return -1;
  if (count) memcpy(grown, *array, count * size);
  *array = grown;
  return 0;
}
