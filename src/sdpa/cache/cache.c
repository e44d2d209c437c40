/* cache.c -- the paged KV cache: sequences that share pages by reference counts. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "allocator.h"
#include "element.h"
#include "integer.h"
#include "paging.h"

struct attn_cache {
  attn_cache_config config; /* defaults filled in */
  attn_allocator allocator; /* a copy: the caller's need not outlive the cache */
  void *owned;              /* what attn_cache_free releases, or NULL */
  attn_tensor k, v;         /* (pages, H, T, E), (pages, H, T, Ev) */
  struct attn_paging paging;
  int32_t *table;       /* (sequences, columns) */
  int64_t *lengths;     /* (sequences) */
  int32_t *uses;        /* (pages) reference counts: the sequences that use a page */
  int32_t *free;        /* a stack of unused pages */
  unsigned char *marks; /* (sequences) NAMED, COPIES; 0 between calls */
  attn_tensor memory;   /* all of this, as bytes */
  int64_t columns, free_count;
};

/* ---- Memory ---- */

/* Where each part begins, and how many bytes there are in all. */
struct cache_layout {
  size_t k, v, k_scales, v_scales, table, lengths, uses, free, marks, total;
};

static int add_part(size_t *total, size_t *at, size_t size, int64_t a, int64_t b, int64_t c,
                    int64_t d) {
  int64_t bytes = (int64_t)size;
  const int64_t factors[4] = {a, b, c, d};
  for (int n = 0; n < 4; n++)
    if (__builtin_mul_overflow(bytes, factors[n], &bytes)) return -1;
  *at = *total;
  if (bytes > INT64_MAX / 2 - (int64_t)*total) return -1;
  *total += ((size_t)bytes + ATTN_PANEL_ALIGN - 1) / ATTN_PANEL_ALIGN * ATTN_PANEL_ALIGN;
  return 0;
}

static int lay_out(const attn_cache_config *c, int64_t columns, struct cache_layout *l) {
  size_t size = attn_dtype_size(c->dtype), start;
  int64_t p = c->pages, h = c->num_kv_heads, t = c->page_size, scaled = c->dtype == ATTN_I8 ? p : 0;
  l->total = 0;
  if (add_part(&l->total, &start, sizeof(attn_cache), 1, 1, 1, 1) ||
      add_part(&l->total, &l->k, size, p, h, t, c->head_dim) ||
      add_part(&l->total, &l->v, size, p, h, t, c->value_head_dim) ||
      add_part(&l->total, &l->k_scales, sizeof(float), scaled, h, t, 1) ||
      add_part(&l->total, &l->v_scales, sizeof(float), scaled, h, t, 1) ||
      add_part(&l->total, &l->table, sizeof(int32_t), c->sequences, columns, 1, 1) ||
      add_part(&l->total, &l->lengths, sizeof(int64_t), c->sequences, 1, 1, 1) ||
      add_part(&l->total, &l->uses, sizeof(int32_t), p, 1, 1, 1) ||
      add_part(&l->total, &l->free, sizeof(int32_t), p, 1, 1, 1) ||
      add_part(&l->total, &l->marks, 1, c->sequences, 1, 1, 1))
    return -1;
  l->total += ATTN_PANEL_ALIGN; /* for memory of any alignment */
  return 0;
}

/* ---- Configuration ---- */

static attn_status check_sizes(const attn_cache_config *c, attn_error *err) {
  const struct {
    int64_t value, least;
    const char *name;
  } all[] = {{c->num_kv_heads, 1, "num_kv_heads"},
             {c->head_dim, 1, "head_dim"},
             {c->value_head_dim, 1, "value_head_dim"},
             {c->sequences, 1, "sequences"},
             {c->capacity, 1, "capacity"},
             {c->page_size, 0, "page_size"},
             {c->pages, 0, "pages"}};
  for (size_t n = 0; n < sizeof all / sizeof *all; n++)
    if (all[n].value < all[n].least)
      return attn_fail(err, ATTN_ERR_ARGUMENT, all[n].name, "%s is %lld; it must be at least %lld",
                       all[n].name, (long long)all[n].value, (long long)all[n].least);
  if (c->dtype != ATTN_F32 && !attn_is_16_bit(c->dtype) && c->dtype != ATTN_I8)
    return attn_fail(err, ATTN_ERR_TYPE, "dtype",
                     "dtype is %s; it must be float32, float16, bfloat16 or int8",
                     attn_dtype_name(c->dtype));
  if (c->reserved) return attn_fail(err, ATTN_ERR_ARGUMENT, "reserved", "reserved must be 0");
  return attn_allocator_check(c->allocator, err);
}

/* Checks given, fills in its defaults, and lays the memory out. */
static attn_status plan(const attn_cache_config *given, attn_cache_config *c, int64_t *columns,
                        struct cache_layout *l, attn_error *err) {
  attn_status status = attn_descriptor_require(given, c, sizeof *c, sizeof *c, "config", err);
  if (!status) status = check_sizes(c, err);
  if (status) return status;
  if (!c->page_size || c->page_size > c->capacity) c->page_size = c->capacity;
  *columns = (c->capacity - 1) / c->page_size + 1;
  if (!c->pages && __builtin_mul_overflow(c->sequences, *columns, &c->pages)) c->pages = INT64_MAX;
  if (c->pages > INT32_MAX)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "pages", "pages is above %d: use a larger page_size",
                     INT32_MAX);
  if (lay_out(c, *columns, l))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "capacity", "the size of the cache overflows");
  return ATTN_OK;
}

attn_status attn_cache_measure(const attn_cache_config *config, size_t *bytes, attn_error *err) {
  attn_cache_config filled;
  struct cache_layout l;
  int64_t columns;
  if (!bytes) return attn_fail(err, ATTN_ERR_ARGUMENT, "bytes", "bytes is NULL");
  attn_status status = plan(config, &filled, &columns, &l, err);
  if (!status) *bytes = l.total;
  return status;
}

/* ---- Creation ---- */

static attn_cache *lay_out_cache(char *memory, const attn_cache_config *c, int64_t columns,
                                 const struct cache_layout *l) {
  uintptr_t align = ATTN_PANEL_ALIGN, at = ((uintptr_t)memory + align - 1) / align * align;
  char *base = memory + (at - (uintptr_t)memory);
  attn_cache *cache = (attn_cache *)(void *)base;
  memset(cache, 0, sizeof *cache);
  cache->config = *c, cache->columns = columns;
  cache->k = attn_tensor_dense(c->dtype, base + l->k, c->pages, c->num_kv_heads, c->page_size,
                               c->head_dim);
  cache->v = attn_tensor_dense(c->dtype, base + l->v, c->pages, c->num_kv_heads, c->page_size,
                               c->value_head_dim);
  struct attn_paging *g = &cache->paging;
  g->k_scales =
      attn_tensor_dense(ATTN_F32, base + l->k_scales, c->pages, c->num_kv_heads, c->page_size, 1);
  g->k_scales.rank = 3;
  g->v_scales = g->k_scales, g->v_scales.data = base + l->v_scales;
  g->tokens = c->page_size;
  cache->table = (int32_t *)(void *)(base + l->table);
  cache->lengths = (int64_t *)(void *)(base + l->lengths);
  g->table = (attn_tensor){cache->table, ATTN_I32, 2, {c->sequences, columns}, {columns, 1}};
  g->lengths = (attn_tensor){cache->lengths, ATTN_I64, 1, {c->sequences}, {1}};
  cache->uses = (int32_t *)(void *)(base + l->uses);
  cache->free = (int32_t *)(void *)(base + l->free);
  cache->marks = (unsigned char *)base + l->marks;
  cache->memory = (attn_tensor){base, ATTN_U8, 1, {(int64_t)l->marks + c->sequences}, {1}};
  memset(cache->marks, 0, (size_t)c->sequences);
  memset(cache->lengths, 0, (size_t)c->sequences * sizeof *cache->lengths);
  memset(cache->uses, 0, (size_t)c->pages * sizeof *cache->uses);
  for (int64_t n = 0; n < c->pages; n++) cache->free[n] = (int32_t)(c->pages - 1 - n);
  cache->free_count = c->pages;
  return cache;
}

attn_status attn_cache_new(const attn_cache_config *config, attn_cache **cache, attn_error *err) {
  attn_cache_config c;
  struct cache_layout l = {0};
  int64_t columns = 0;
  if (!cache) return attn_fail(err, ATTN_ERR_ARGUMENT, "cache", "cache is NULL");
  attn_status status = plan(config, &c, &columns, &l, err);
  if (status) return status;
  if (c.memory && c.memory_bytes < l.total)
    return attn_fail(err, ATTN_ERR_MEMORY, "memory", "memory_bytes is %zu; this cache needs %zu",
                     c.memory_bytes, l.total);
  void *memory = c.memory ? c.memory : attn_memory_allocate(c.allocator, ATTN_PANEL_ALIGN, l.total);
  if (!memory)
    return attn_fail(err, ATTN_ERR_MEMORY, "memory", "no memory for %zu bytes of cache", l.total);
  *cache = lay_out_cache(memory, &c, columns, &l);
  (*cache)->owned = c.memory ? NULL : memory;
  if (c.allocator) (*cache)->allocator = *c.allocator;
  return ATTN_OK;
}

void attn_cache_free(attn_cache *cache) {
  if (!cache || !cache->owned) return;
  attn_allocator allocator = cache->allocator; /* it is in the memory that is freed */
  attn_memory_release(allocator.release ? &allocator : NULL, cache->owned);
}

/* ---- Pages ---- */

static int is_sequence(const attn_cache *c, int64_t n) { return n >= 0 && n < c->config.sequences; }

static attn_status check_sequence(const attn_cache *c, int64_t n, const char *name,
                                  attn_error *err) {
  if (!c) return attn_fail(err, ATTN_ERR_ARGUMENT, "cache", "cache is NULL");
  if (is_sequence(c, n)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s is %lld; it must be between 0 and %lld", name,
                   (long long)n, (long long)c->config.sequences - 1);
}

static int64_t pages_of(const attn_cache *c, int64_t length) {
  return attn_divide_up(length, c->config.page_size);
}

static int32_t *slot(attn_cache *c, int64_t sequence, int64_t column) {
  return &c->table[sequence * c->columns + column];
}

static void release_page(attn_cache *c, int32_t page) {
  if (--c->uses[page] == 0) c->free[c->free_count++] = page;
}

static int32_t take_page(attn_cache *c) {
  int32_t page = c->free[--c->free_count];
  c->uses[page] = 1;
  return page;
}

/* The first rows of a page, of all heads. */
static void copy_rows(const attn_tensor *t, int32_t from, int32_t to, int64_t rows) {
  size_t bytes = (size_t)(rows * t->strides[2]) * attn_dtype_size(t->dtype);
  for (int64_t h = 0; h < t->shape[1]; h++)
    memcpy(attn_tensor_at(t, to, h, 0, 0), attn_tensor_at(t, from, h, 0, 0), bytes);
}

/* Gives a sequence its own page for the next token: a new one, or a copy of a shared one. */
static void open_page(attn_cache *c, int64_t sequence) {
  int64_t length = c->lengths[sequence], rows = length % c->config.page_size;
  int32_t *at = slot(c, sequence, length / c->config.page_size), old = *at;
  if (rows && c->uses[old] == 1) return;
  *at = take_page(c);
  if (!rows) return;
  copy_rows(&c->k, old, *at, rows), copy_rows(&c->v, old, *at, rows);
  if (c->config.dtype == ATTN_I8)
    copy_rows(&c->paging.k_scales, old, *at, rows), copy_rows(&c->paging.v_scales, old, *at, rows);
  c->uses[old]--;
}

int64_t attn_cache_length(const attn_cache *c, int64_t sequence) {
  return c && is_sequence(c, sequence) ? c->lengths[sequence] : -1;
}

int64_t attn_cache_num_free_pages(const attn_cache *c) { return c ? c->free_count : 0; }

attn_status attn_cache_truncate(attn_cache *c, int64_t sequence, int64_t length, attn_error *err) {
  attn_status status = check_sequence(c, sequence, "sequence", err);
  if (status) return status;
  if (length < 0 || length > c->lengths[sequence])
    return attn_fail(err, ATTN_ERR_ARGUMENT, "length",
                     "length is %lld; sequence %lld has %lld tokens", (long long)length,
                     (long long)sequence, (long long)c->lengths[sequence]);
  int64_t before = pages_of(c, c->lengths[sequence]);
  for (int64_t n = pages_of(c, length); n < before; n++) release_page(c, *slot(c, sequence, n));
  c->lengths[sequence] = length;
  return ATTN_OK;
}

attn_status attn_cache_fork(attn_cache *c, int64_t from, int64_t to, attn_error *err) {
  attn_status status = check_sequence(c, from, "from", err);
  if (!status) status = check_sequence(c, to, "to", err);
  if (status || from == to) return status;
  attn_cache_truncate(c, to, 0, NULL);
  for (int64_t n = 0; n < pages_of(c, c->lengths[from]); n++)
    c->uses[*slot(c, to, n) = *slot(c, from, n)]++;
  c->lengths[to] = c->lengths[from];
  return ATTN_OK;
}

/* ---- Appending ---- */

/* Stores round(x / scale) with scale = max |x| / 127; NaN if the row holds NaN or Inf. */
static void store_int8(const attn_tensor *from, int64_t b, int64_t h, int64_t t, signed char *to,
                       float *scale) {
  int64_t width = from->shape[3];
  double max = 0;
  for (int64_t e = 0; e < width; e++) {
    double size = fabs(attn_load_real(from->dtype, attn_tensor_at(from, b, h, t, e)));
    if (max == max && !(size <= max)) max = size; /* a NaN stays */
  }
  *scale = max <= (double)FLT_MAX ? (float)(max / 127) : NAN;
  if (isinf(127 * *scale)) *scale = nextafterf(*scale, 0); /* FLT_MAX / 127 rounds up */
  for (int64_t e = 0; e < width; e++) {
    double x = attn_load_real(from->dtype, attn_tensor_at(from, b, h, t, e));
    double n = *scale > 0 ? nearbyint(x / (double)*scale) : 0;
    to[e] = (signed char)(n > 127 ? 127 : n < -127 ? -127 : n);
  }
}

static void store_token(const attn_tensor *from, int64_t b, int64_t t, const attn_tensor *pages,
                        const attn_tensor *scales, int64_t page, int64_t row) {
  for (int64_t h = 0; h < pages->shape[1]; h++) {
    char *to = attn_tensor_at(pages, page, h, row, 0);
    if (pages->dtype == ATTN_I8) {
      store_int8(from, b, h, t, (signed char *)to,
                 (float *)(void *)attn_tensor_at(scales, page, h, row, 0));
      continue;
    }
    int64_t size = attn_real_size(pages->dtype);
    if (from->dtype == pages->dtype && from->strides[3] == 1) {
      memmove(to, attn_tensor_at(from, b, h, t, 0), (size_t)(from->shape[3] * size));
      continue;
    }
    for (int64_t e = 0; e < from->shape[3]; e++)
      attn_store_real(pages->dtype, to + e * size,
                      attn_load_real(from->dtype, attn_tensor_at(from, b, h, t, e)));
  }
}

static void append_sequence(attn_cache *c, int64_t sequence, int64_t b, const attn_tensor *k,
                            const attn_tensor *v) {
  for (int64_t t = 0; t < k->shape[2]; t++) {
    int64_t length = c->lengths[sequence], row = length % c->config.page_size;
    if (t == 0 || row == 0) open_page(c, sequence);
    int64_t page = *slot(c, sequence, length / c->config.page_size);
    store_token(k, b, t, &c->k, &c->paging.k_scales, page, row);
    store_token(v, b, t, &c->v, &c->paging.v_scales, page, row);
    c->lengths[sequence]++;
  }
}

/* Checks that t is (count, H, T, width), or (H, T, width) if count is 1; *wide: t with rank 4. */
static attn_status check_tokens(const attn_cache *c, const attn_tensor *t, const char *name,
                                int64_t count, int64_t width, attn_tensor *wide, attn_error *err) {
  attn_status status = attn_view_check(t, name, err);
  if (status) return status;
  if (t->dtype != ATTN_F32 && t->dtype != ATTN_F64 && !attn_is_16_bit(t->dtype))
    return attn_fail(err, ATTN_ERR_TYPE, name,
                     "%s is %s; it must be float32, float64, float16 or bfloat16", name,
                     attn_dtype_name(t->dtype));
  int missing = t->rank == 3 && count == 1;
  if (t->rank != 4 && !missing)
    return attn_fail(err, ATTN_ERR_SHAPE, name, "%s has rank %d; it must be (count, H, T, width)",
                     name, (int)t->rank);
  *wide = (attn_tensor){t->data, t->dtype, 4, {1}, {0}};
  memcpy(wide->shape + missing, t->shape, (size_t)t->rank * sizeof *t->shape);
  memcpy(wide->strides + missing, t->strides, (size_t)t->rank * sizeof *t->strides);
  const int64_t *shape = wide->shape;
  if (shape[0] == count && shape[1] == c->config.num_kv_heads && shape[3] == width) return ATTN_OK;
  return attn_fail(
      err, ATTN_ERR_SHAPE, name, "%s is (%lld, %lld, %lld, %lld); it must be (%lld, %lld, T, %lld)",
      name, (long long)shape[0], (long long)shape[1], (long long)shape[2], (long long)shape[3],
      (long long)count, (long long)c->config.num_kv_heads, (long long)width);
}

static int64_t sequence_at(const int64_t *sequences, int64_t n) {
  return sequences ? sequences[n] : n;
}

enum { NAMED = 1, COPIES = 2 }; /* bits of marks: is in sequences; copies its last page */

/* The number of pages that a sequence needs for more tokens: new ones, and a copy of its last page
 * if sequences that are appended to later still share it. */
static int64_t pages_needed(attn_cache *c, int64_t sequence, int64_t tokens) {
  int64_t length = c->lengths[sequence];
  int64_t fresh = pages_of(c, length + tokens) - pages_of(c, length);
  if (!tokens || length % c->config.page_size == 0) return fresh;
  int32_t page = *slot(c, sequence, length / c->config.page_size);
  if (c->uses[page] == 1) return fresh;
  c->uses[page]--; /* for the sequences after this one; unmark() restores it */
  c->marks[sequence] |= COPIES;
  return fresh + 1;
}

static void unmark(attn_cache *c, const int64_t *sequences, int64_t count) {
  for (int64_t n = 0; n < count; n++) {
    int64_t sequence = sequence_at(sequences, n), length = c->lengths[sequence];
    if (c->marks[sequence] & COPIES) c->uses[*slot(c, sequence, length / c->config.page_size)]++;
    c->marks[sequence] = 0;
  }
}

static attn_status check_one(attn_cache *c, int64_t sequence, int64_t tokens, attn_error *err) {
  attn_status status = check_sequence(c, sequence, "sequences", err);
  if (status) return status;
  if (c->marks[sequence])
    return attn_fail(err, ATTN_ERR_ARGUMENT, "sequences", "sequence %lld is repeated",
                     (long long)sequence);
  if (tokens > c->config.capacity - c->lengths[sequence])
    return attn_fail(err, ATTN_ERR_ARGUMENT, "capacity",
                     "sequence %lld has %lld tokens; %lld more exceed the capacity of %lld",
                     (long long)sequence, (long long)c->lengths[sequence], (long long)tokens,
                     (long long)c->config.capacity);
  c->marks[sequence] = NAMED;
  return ATTN_OK;
}

static attn_status check_capacity(attn_cache *c, const int64_t *sequences, int64_t count,
                                  int64_t tokens, attn_error *err) {
  int64_t needed = 0, n = 0;
  attn_status status = ATTN_OK;
  for (; n < count && !status; n++) {
    status = check_one(c, sequence_at(sequences, n), tokens, err);
    if (!status) needed += pages_needed(c, sequence_at(sequences, n), tokens);
  }
  unmark(c, sequences, status ? n - 1 : n);
  if (status || needed <= c->free_count) return status;
  return attn_fail(err, ATTN_ERR_MEMORY, "pages", "%lld pages are needed and %lld are free",
                   (long long)needed, (long long)c->free_count);
}

/* Arguments must not overlap the cache's memory. */
static attn_status check_no_overlap(const attn_cache *c, const attn_tensor *t, const char *name,
                                    attn_error *err) {
  if (!attn_views_overlap(t, &c->memory)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s overlaps the cache in memory", name);
}

static attn_status check_count(const attn_cache *c, int64_t count, attn_error *err) {
  if (!c) return attn_fail(err, ATTN_ERR_ARGUMENT, "cache", "cache is NULL");
  if (count >= 0) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "count", "count is %lld; it must not be negative",
                   (long long)count);
}

attn_status attn_cache_append(attn_cache *c, const int64_t *sequences, int64_t count,
                              const attn_tensor *k, const attn_tensor *v, attn_error *err) {
  attn_tensor wide_k, wide_v;
  attn_status status = check_count(c, count, err);
  if (!status) status = check_tokens(c, k, "k", count, c->config.head_dim, &wide_k, err);
  if (!status) status = check_tokens(c, v, "v", count, c->config.value_head_dim, &wide_v, err);
  if (status) return status;
  if (wide_v.shape[2] != wide_k.shape[2])
    return attn_fail(err, ATTN_ERR_SHAPE, "v", "v has %lld tokens, but k has %lld",
                     (long long)wide_v.shape[2], (long long)wide_k.shape[2]);
  status = check_no_overlap(c, k, "k", err);
  if (!status) status = check_no_overlap(c, v, "v", err);
  if (!status) status = check_capacity(c, sequences, count, wide_k.shape[2], err);
  for (int64_t n = 0; n < count && !status; n++)
    append_sequence(c, sequence_at(sequences, n), n, &wide_k, &wide_v);
  return status;
}

/* ---- Reading ---- */

static attn_status check_output(const attn_cache *c, const attn_tensor *t, const char *name,
                                int64_t length, int64_t width, attn_tensor *wide, attn_error *err) {
  const attn_tensor like = {.rank = 4, .shape = {1, c->config.num_kv_heads, length, width}};
  return t ? attn_tensor_check_like(t, name, &like, 3, ATTN_F32, wide, err) : ATTN_OK;
}

static void read_pages(const attn_cache *c, int64_t sequence, const attn_tensor *pages,
                       const attn_tensor *scales, const attn_tensor *to) {
  for (int64_t h = 0; h < to->shape[1]; h++)
    for (int64_t j = 0; j < to->shape[2]; j++)
      for (int64_t e = 0; e < to->shape[3]; e++)
        attn_store_f32(ATTN_F32, attn_tensor_at(to, 0, h, j, e),
                       (float)attn_paging_element(&c->paging, pages, scales, sequence, h, j, e));
}

attn_status attn_cache_read(const attn_cache *c, int64_t sequence, const attn_tensor *k,
                            const attn_tensor *v, attn_error *err) {
  attn_tensor wide_k, wide_v;
  attn_status status = check_sequence(c, sequence, "sequence", err);
  if (status) return status;
  int64_t length = c->lengths[sequence];
  status = check_output(c, k, "k", length, c->config.head_dim, &wide_k, err);
  if (!status) status = check_output(c, v, "v", length, c->config.value_head_dim, &wide_v, err);
  if (!status) status = check_no_overlap(c, k, "k", err);
  if (!status) status = check_no_overlap(c, v, "v", err);
  if (!status && attn_views_overlap(k, v))
    status = attn_fail(err, ATTN_ERR_ARGUMENT, "v", "v overlaps k in memory");
  if (status) return status;
  if (k) read_pages(c, sequence, &c->k, &c->paging.k_scales, &wide_k);
  if (v) read_pages(c, sequence, &c->v, &c->paging.v_scales, &wide_v);
  return ATTN_OK;
}

attn_status attn_sdpa_forward_cached(const attn_sdpa *desc, const attn_tensor *q,
                                     const attn_cache *c, const int64_t *sequences, int64_t count,
                                     const attn_tensor *o, attn_error *err) {
  struct attn_paging g;
  struct attn_problem p;
  attn_status status = check_count(c, count, err);
  for (int64_t n = 0; n < count && !status; n++)
    status = check_sequence(c, sequence_at(sequences, n), "sequences", err);
  if (status) return status;
  int scaled = c->config.dtype == ATTN_I8;
  const attn_pages paged = {sizeof paged,
                            &c->k,
                            &c->v,
                            scaled ? &c->paging.k_scales : NULL,
                            scaled ? &c->paging.v_scales : NULL,
                            &c->paging.table,
                            &c->paging.lengths};
  status = attn_paged_check(desc, q, &paged, sequences, count, o, &g, &p, err);
  if (!status) status = check_no_overlap(c, o, "o", err);
  if (!status) status = check_no_overlap(c, p.desc.lse, "lse", err);
  if (!status) status = check_no_overlap(c, p.desc.weights, "weights", err);
  if (!status) status = attn_forward_check(&p, err);
  return status ? status : attn_problem_run(&p, err);
}
