/* The KV cache holds what was appended, also with shared pages; a failed call changes nothing;
 * its memory is the caller's or the allocator's. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "guarded.h"
#include "element.h"
#include "random.h"
#include "select.h"
#include "twin.h"

/* How far an element may be from what was appended; row is all that shares its scale. */
static float allowed(attn_dtype dtype, const float *row, int width, float exact) {
  float most = 0;
  for (int e = 0; e < width; e++) most = fabsf(row[e]) > most ? fabsf(row[e]) : most;
  if (dtype == ATTN_F16) return fabsf(exact) * 0x1p-11f + 0x1p-25f;
  if (dtype == ATTN_BF16) return fabsf(exact) * 0x1p-8f;
  return dtype == ATTN_I8 ? most / 254 * 1.00001f + fabsf(exact) * 0x1p-23f : 0;
}

static void compare(attn_dtype dtype, const float *got, const float *kept, int64_t tokens,
                    int64_t capacity, int width) {
  for (int h = 0; h < H; h++)
    for (int64_t j = 0; j < tokens; j++)
      for (int e = 0; e < width; e++) {
        const float *row = kept + (h * capacity + j) * width;
        float x = got[(h * tokens + j) * width + e];
        if (!(fabsf(x - row[e]) <= allowed(dtype, row, width, row[e])))
          fail_msg("%s [%d %d %d]: %.9g, not %.9g", attn_dtype_name(dtype), h, (int)j, e, (double)x,
                   (double)row[e]);
      }
}

static void holds_what_its_twin_holds(const struct twin *t, attn_dtype dtype) {
  for (int n = 0; n < SEQUENCES; n++) {
    int64_t tokens = t->lengths[n];
    assert_int_equal(attn_cache_length(t->cache, n), tokens);
    float *k = malloc((size_t)(H * tokens * E + 1) * 4);
    float *v = malloc((size_t)(H * tokens * EV + 1) * 4);
    attn_tensor tk = dense3(k, tokens, E), tv = dense3(v, tokens, EV);
    assert_int_equal(attn_cache_read(t->cache, n, &tk, &tv, NULL), ATTN_OK);
    compare(dtype, k, t->k[n], tokens, t->capacity, E);
    compare(dtype, v, t->v[n], tokens, t->capacity, EV);
    free(k), free(v);
  }
}

/* ---- Growing, sharing, forgetting ---- */

static void one_step(struct twin *t) {
  int64_t n = below(SEQUENCES);
  if (chance(4)) {
    fork_twin(t, n, below(SEQUENCES));
  } else if (chance(6)) {
    int64_t length = below(t->lengths[n] + 1);
    assert_int_equal(attn_cache_truncate(t->cache, n, length, NULL), ATTN_OK);
    t->lengths[n] = length;
  } else {
    int64_t tokens = below(12), before = attn_cache_num_free_pages(t->cache);
    attn_status status = grow(t, n, tokens);
    if (status == ATTN_ERR_ARGUMENT) assert_true(t->lengths[n] + tokens > t->capacity);
    if (status) assert_int_equal(attn_cache_num_free_pages(t->cache), before);
  }
}

/* Enough pages for all, unless limited: then some appends fail. */
static void it_holds_what_was_appended(void **state) {
  (void)state;
  static const int64_t page_size[] = {0, 1, 3, 8, 64};
  for (int round = 0; round < ROUNDS(60); round++) {
    attn_dtype dtype = TYPES[below(4)];
    int few = chance(3);
    struct twin t = twin_new(dtype, 60, page_size[below(5)], few ? 9 : 0);
    for (int n = 0; n < 60; n++) {
      one_step(&t);
      if (chance(10)) holds_what_its_twin_holds(&t, dtype);
    }
    holds_what_its_twin_holds(&t, dtype);
    for (int n = 0; n < SEQUENCES; n++)
      assert_int_equal(attn_cache_truncate(t.cache, n, 0, NULL), ATTN_OK);
    assert_int_equal(attn_cache_num_free_pages(t.cache), t.pages);
    twin_free(&t);
  }
}

/* Every sequence can be filled to its capacity, whatever was shared before. */
static void sharing_needs_no_more_pages(void **state) {
  (void)state;
  for (int64_t page_size = 0; page_size < 20; page_size += 7) {
    struct twin t = twin_new(ATTN_F32, 60, page_size, 0);
    assert_int_equal(grow(&t, 0, 31), ATTN_OK);
    for (int n = 1; n < SEQUENCES; n++) fork_twin(&t, 0, n);
    for (int n = 0; n < SEQUENCES; n++) assert_int_equal(grow(&t, n, 29), ATTN_OK);
    holds_what_its_twin_holds(&t, ATTN_F32);
    twin_free(&t);
  }
}

/* Three that share a page and grow at once need two copies of it, not three. */
static void a_batch_counts_its_pages_exactly(void **state) {
  (void)state;
  static float k[3 * H * E], v[3 * H * EV];
  attn_tensor tk = attn_tensor_dense(ATTN_F32, k, 3, H, 1, E),
              tv = attn_tensor_dense(ATTN_F32, v, 3, H, 1, EV);
  for (int64_t pages = 2; pages <= 3; pages++) {
    struct twin t = twin_new(ATTN_F32, 8, 8, pages);
    assert_int_equal(grow(&t, 0, 5), ATTN_OK);
    fork_twin(&t, 0, 1), fork_twin(&t, 0, 2);
    attn_status status = attn_cache_append(t.cache, NULL, 3, &tk, &tv, NULL);
    assert_int_equal(status, pages == 3 ? ATTN_OK : ATTN_ERR_MEMORY);
    assert_int_equal(attn_cache_length(t.cache, 2), pages == 3 ? 6 : 5);
    assert_int_equal(attn_cache_num_free_pages(t.cache), pages == 3 ? 0 : 1);
    twin_free(&t);
  }
}

static void int8_stores_non_finite_rows_as_nan(void **state) {
  (void)state;
  struct twin t = twin_new(ATTN_I8, 8, 0, 0);
  static float k[H * E], v[H * EV], got_k[H * E], got_v[H * EV];
  k[3] = INFINITY, v[EV] = NAN, k[E] = 1e-44f, k[E + 1] = -FLT_MAX, v[0] = 1e-44f;
  attn_tensor tk = dense3(k, 1, E), tv = dense3(v, 1, EV);
  attn_tensor gk = dense3(got_k, 1, E), gv = dense3(got_v, 1, EV);
  assert_int_equal(attn_cache_append(t.cache, NULL, 1, &tk, &tv, NULL), ATTN_OK);
  assert_int_equal(attn_cache_read(t.cache, 0, &gk, &gv, NULL), ATTN_OK);
  for (int e = 0; e < E; e++) assert_true(isnan(got_k[e]));
  for (int e = 0; e < EV; e++) assert_true(isnan(got_v[EV + e]));
  assert_true(fabsf(got_k[E + 1] + FLT_MAX) <= FLT_MAX / 254 && got_k[E] == 0);
  assert_true(fabsf(got_v[0] - 1e-44f) <= 0x1p-143f);
  twin_free(&t);
}

/* ---- Memory and refusals ---- */

static void callers_memory_is_enough_to_the_byte(void **state) {
  (void)state;
  attn_cache_config config = ATTN_CACHE_CONFIG_INIT;
  config.num_kv_heads = H, config.head_dim = E, config.value_head_dim = EV, config.dtype = ATTN_I8;
  config.sequences = 2, config.capacity = 33, config.page_size = 5;
  size_t bytes = 0;
  assert_int_equal(attn_cache_measure(&config, &bytes, NULL), ATTN_OK);
  for (int shift = 0; shift < 70; shift += 23) {
    struct guarded g = guarded_new(bytes + (size_t)shift, 1);
    attn_cache *cache = NULL;
    config.memory = (char *)g.data + shift, config.memory_bytes = bytes - 1;
    attn_error err;
    assert_int_equal(attn_cache_new(&config, &cache, &err), ATTN_ERR_MEMORY);
    assert_string_equal(err.argument, "memory");
    assert_null(cache);
    config.memory_bytes = bytes;
    assert_int_equal(attn_cache_new(&config, &cache, NULL), ATTN_OK);
    struct twin t = {.cache = cache, .capacity = 33};
    for (int n = 0; n < 2; n++) t.k[n] = malloc(H * 33 * E * 4), t.v[n] = malloc(H * 33 * EV * 4);
    assert_int_equal(grow(&t, 0, 33), ATTN_OK);
    assert_int_equal(grow(&t, 1, 33), ATTN_OK);
    for (int n = 0; n < 2; n++) free(t.k[n]), free(t.v[n]);
    attn_cache_free(cache); /* nothing of the caller's is released */
    guarded_free(&g);
  }
}

static void invalid_configurations_are_rejected(void **state) {
  (void)state;
  attn_cache_config good = ATTN_CACHE_CONFIG_INIT, bad;
  good.num_kv_heads = H, good.head_dim = E, good.value_head_dim = EV, good.dtype = ATTN_F32;
  good.sequences = 2, good.capacity = 10;
  attn_cache *cache = NULL;
  attn_error err;
#define REFUSED(change, status, name) \
  bad = good, change, expect(attn_cache_new(&bad, &cache, &err), &err, status, name)
  REFUSED(bad.struct_size = 8, ATTN_ERR_ARGUMENT, "config");
  REFUSED(bad.num_kv_heads = 0, ATTN_ERR_ARGUMENT, "num_kv_heads");
  REFUSED(bad.head_dim = -1, ATTN_ERR_ARGUMENT, "head_dim");
  REFUSED(bad.value_head_dim = 0, ATTN_ERR_ARGUMENT, "value_head_dim");
  REFUSED(bad.sequences = 0, ATTN_ERR_ARGUMENT, "sequences");
  REFUSED(bad.capacity = 0, ATTN_ERR_ARGUMENT, "capacity");
  REFUSED(bad.page_size = -1, ATTN_ERR_ARGUMENT, "page_size");
  REFUSED(bad.pages = -1, ATTN_ERR_ARGUMENT, "pages");
  REFUSED(bad.pages = (int64_t)1 << 40, ATTN_ERR_ARGUMENT, "pages");
  REFUSED(bad.dtype = ATTN_F64, ATTN_ERR_TYPE, "dtype");
  REFUSED(bad.dtype = (attn_dtype)7, ATTN_ERR_TYPE, "dtype");
  REFUSED(bad.capacity = INT64_MAX, ATTN_ERR_ARGUMENT, "capacity");
  REFUSED((bad.capacity = INT64_MAX, bad.page_size = 1), ATTN_ERR_ARGUMENT, "pages");
  REFUSED(bad.reserved = 1, ATTN_ERR_ARGUMENT, "reserved");
  expect(attn_cache_new(NULL, &cache, &err), &err, ATTN_ERR_ARGUMENT, "config");
  expect(attn_cache_new(&good, NULL, &err), &err, ATTN_ERR_ARGUMENT, "cache");
  assert_null(cache);
}

static void a_failed_append_changes_nothing(void **state) {
  (void)state;
  struct twin t = twin_new(ATTN_F32, 10, 4, 0);
  static float k[3 * H * 11 * E], v[3 * H * 11 * EV];
  attn_error err;
  assert_int_equal(grow(&t, 1, 6), ATTN_OK);
  attn_tensor tk = attn_tensor_dense(ATTN_F32, k, 2, H, 1, E),
              tv = attn_tensor_dense(ATTN_F32, v, 2, H, 1, EV), bad;
  const int64_t good[2] = {1, 2}, twice[2] = {1, 1}, none[2] = {1, SEQUENCES};
#define APPEND(list, a, b, status, name) \
  expect(attn_cache_append(t.cache, list, 2, a, b, &err), &err, status, name)
  APPEND(twice, &tk, &tv, ATTN_ERR_ARGUMENT, "sequences");
  APPEND(none, &tk, &tv, ATTN_ERR_ARGUMENT, "sequences");
  APPEND(good, NULL, &tv, ATTN_ERR_ARGUMENT, "k");
  bad = tk, bad.shape[3] = E - 1, APPEND(good, &bad, &tv, ATTN_ERR_SHAPE, "k");
  bad = tk, bad.shape[0] = 1, APPEND(good, &bad, &tv, ATTN_ERR_SHAPE, "k");
  bad = tk, bad.rank = 3, APPEND(good, &bad, &tv, ATTN_ERR_SHAPE, "k");
  bad = tk, bad.dtype = ATTN_I8, APPEND(good, &bad, &tv, ATTN_ERR_TYPE, "k");
  bad = tv, bad.shape[2] = 2, APPEND(good, &tk, &bad, ATTN_ERR_SHAPE, "v");
  bad = tk, bad.shape[2] = 5;
  attn_tensor five = tv;
  five.shape[2] = 5;
  APPEND(good, &bad, &five, ATTN_ERR_ARGUMENT, "capacity");
  expect(attn_cache_append(t.cache, good, -1, &tk, &tv, &err), &err, ATTN_ERR_ARGUMENT, "count");
  expect(attn_cache_append(NULL, good, 2, &tk, &tv, &err), &err, ATTN_ERR_ARGUMENT, "cache");
  expect(attn_cache_truncate(t.cache, 1, 7, &err), &err, ATTN_ERR_ARGUMENT, "length");
  expect(attn_cache_truncate(t.cache, 1, -1, &err), &err, ATTN_ERR_ARGUMENT, "length");
  expect(attn_cache_truncate(t.cache, -1, 0, &err), &err, ATTN_ERR_ARGUMENT, "sequence");
  expect(attn_cache_fork(t.cache, 1, SEQUENCES, &err), &err, ATTN_ERR_ARGUMENT, "to");
  expect(attn_cache_fork(t.cache, -1, 1, &err), &err, ATTN_ERR_ARGUMENT, "from");
  expect(attn_cache_read(t.cache, 1, &tk, NULL, &err), &err, ATTN_ERR_SHAPE, "k");
  assert_int_equal(attn_cache_length(t.cache, SEQUENCES), -1);
  assert_int_equal(attn_cache_length(NULL, 0), -1);
  holds_what_its_twin_holds(&t, ATTN_F32);
  twin_free(&t);
}

/* Arguments must not overlap the cache's memory. */
static void arguments_must_not_overlap_the_cache(void **state) {
  (void)state;
  attn_cache_config config = ATTN_CACHE_CONFIG_INIT;
  config.num_kv_heads = HQ, config.head_dim = config.value_head_dim = E, config.dtype = ATTN_F32;
  config.sequences = 1, config.capacity = 9;
  size_t bytes = 0;
  attn_cache *cache = NULL;
  attn_error err;
  assert_int_equal(attn_cache_measure(&config, &bytes, NULL), ATTN_OK);
  float *memory = calloc(1, bytes);
  static float k[HQ * E], v[HQ * E];
  config.memory = memory, config.memory_bytes = bytes;
  assert_int_equal(attn_cache_new(&config, &cache, NULL), ATTN_OK);
  attn_tensor tk = {k, ATTN_F32, 3, {HQ, 1, E}, {E, E, 1}}, tv = tk, in = tk;
  tv.data = v;
  assert_int_equal(attn_cache_append(cache, NULL, 1, &tk, &tv, NULL), ATTN_OK);
  for (size_t at = 64; at < bytes / 4 - HQ * E; at += 101) {
    in.data = memory + at;
    expect(attn_sdpa_forward_cached(NULL, &tk, cache, NULL, 1, &in, &err), &err, ATTN_ERR_ARGUMENT,
           "o");
    expect(attn_cache_read(cache, 0, &tk, &in, &err), &err, ATTN_ERR_ARGUMENT, "v");
    expect(attn_cache_append(cache, NULL, 1, &in, &tv, &err), &err, ATTN_ERR_ARGUMENT, "k");
  }
  expect(attn_cache_read(cache, 0, &tk, &tk, &err), &err, ATTN_ERR_ARGUMENT, "v");
  assert_int_equal(attn_cache_length(cache, 0), 1);
  attn_cache_free(cache);
  free(memory);
}

/* A host's allocator gets all memory back. */
static int out_now;
static void *take(void *context, size_t alignment, size_t bytes) {
  if (*(int *)context) return NULL;
  out_now++;
  return aligned_alloc(alignment, bytes);
}
static void give(void *context, void *memory) {
  (void)context;
  out_now--;
  free(memory);
}

static void memory_comes_from_the_allocator(void **state) {
  (void)state;
  int fails = 1;
  attn_allocator host = {&fails, take, give};
  attn_cache_config config = ATTN_CACHE_CONFIG_INIT;
  config.num_kv_heads = config.head_dim = config.value_head_dim = config.sequences = 1,
  config.capacity = 3;
  config.dtype = ATTN_F32, config.allocator = &host;
  attn_cache *cache = NULL;
  attn_error err;
  expect(attn_cache_new(&config, &cache, &err), &err, ATTN_ERR_MEMORY, "memory");
  fails = 0;
  assert_int_equal(attn_cache_new(&config, &cache, NULL), ATTN_OK);
  assert_int_equal(out_now, 1);
  attn_cache_free(cache);
  attn_cache_free(NULL);
  assert_int_equal(out_now, 0);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_holds_what_was_appended),
      cmocka_unit_test(sharing_needs_no_more_pages),
      cmocka_unit_test(a_batch_counts_its_pages_exactly),
      cmocka_unit_test(int8_stores_non_finite_rows_as_nan),
      cmocka_unit_test(callers_memory_is_enough_to_the_byte),
      cmocka_unit_test(invalid_configurations_are_rejected),
      cmocka_unit_test(a_failed_append_changes_nothing),
      cmocka_unit_test(memory_comes_from_the_allocator),
      cmocka_unit_test(arguments_must_not_overlap_the_cache),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
