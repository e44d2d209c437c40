/* twin.h -- a KV cache and a dense copy of its expected contents. */
#ifndef TEST_TWIN_H
#define TEST_TWIN_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "element.h"
#include "random.h"

enum { H = 2, G = 3, HQ = H * G, E = 20, EV = 13, SEQUENCES = 4, CAPACITY = 400 };

static const attn_dtype TYPES[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};

/* ---- A cache and what it should hold ---- */

struct twin {
  attn_cache *cache;
  int64_t capacity, pages, lengths[SEQUENCES];
  float *k[SEQUENCES], *v[SEQUENCES]; /* (H, capacity, E), (H, capacity, EV) as appended */
};

static inline struct twin twin_new(attn_dtype dtype, int64_t capacity, int64_t page_size,
                                   int64_t pages) {
  struct twin t = {.capacity = capacity};
  attn_cache_config config = ATTN_CACHE_CONFIG_INIT;
  attn_error err;
  config.num_kv_heads = H, config.head_dim = E, config.value_head_dim = EV, config.dtype = dtype;
  config.sequences = SEQUENCES, config.capacity = capacity;
  config.page_size = page_size, config.pages = pages;
  if (attn_cache_new(&config, &t.cache, &err)) fail_msg("%s", err.message);
  t.pages = attn_cache_num_free_pages(t.cache);
  for (int n = 0; n < SEQUENCES; n++) {
    t.k[n] = malloc((size_t)(H * capacity * E) * sizeof(float));
    t.v[n] = malloc((size_t)(H * capacity * EV) * sizeof(float));
  }
  return t;
}

static inline void twin_free(struct twin *t) {
  attn_cache_free(t->cache);
  for (int n = 0; n < SEQUENCES; n++) free(t->k[n]), free(t->v[n]);
}

static inline attn_tensor dense3(float *data, int64_t tokens, int64_t width) {
  return (attn_tensor){data, ATTN_F32, 3, {H, tokens, width}, {tokens * width, width, 1}};
}

/* Random tokens to one sequence; the twin follows where the cache took them. */
static inline attn_status grow(struct twin *t, int64_t sequence, int64_t tokens) {
  float *k = malloc((size_t)(H * tokens * E + 1) * sizeof(float));
  float *v = malloc((size_t)(H * tokens * EV + 1) * sizeof(float));
  for (int64_t n = 0; n < H * tokens * E; n++) k[n] = uniform() * 3;
  for (int64_t n = 0; n < H * tokens * EV; n++) v[n] = uniform();
  attn_tensor tk = dense3(k, tokens, E), tv = dense3(v, tokens, EV);
  attn_status status = attn_cache_append(t->cache, &sequence, 1, &tk, &tv, NULL);
  for (int h = 0; h < H && !status; h++) {
    int64_t at = h * t->capacity + t->lengths[sequence];
    memcpy(t->k[sequence] + at * E, k + h * tokens * E, (size_t)(tokens * E) * sizeof(float));
    memcpy(t->v[sequence] + at * EV, v + h * tokens * EV, (size_t)(tokens * EV) * sizeof(float));
  }
  if (!status) t->lengths[sequence] += tokens;
  free(k), free(v);
  return status;
}

static inline void fork_twin(struct twin *t, int64_t from, int64_t to) {
  assert_int_equal(attn_cache_fork(t->cache, from, to, NULL), ATTN_OK);
  if (from == to) return;
  t->lengths[to] = t->lengths[from];
  memcpy(t->k[to], t->k[from], (size_t)(H * t->capacity * E) * 4);
  memcpy(t->v[to], t->v[from], (size_t)(H * t->capacity * EV) * 4);
}

static inline attn_tensor part(attn_dtype dtype, void *data, int64_t n, int64_t heads, int64_t rows,
                               int64_t width) {
  char *at = (char *)data + n * heads * rows * width * (int64_t)attn_dtype_size(dtype);
  return attn_tensor_dense(dtype, at, 1, heads, rows, width);
}

static inline void expect(attn_status got, const attn_error *err, attn_status status,
                          const char *name) {
  if (got != status || strcmp(err->argument, name))
    fail_msg("%s: %s: %s", attn_status_name(got), err->argument, got ? err->message : "");
}

#endif
