/* Laws of the KV cache: it holds what was appended, whoever shares its pages; attention over it is
 * bit for bit attention over what attn_cache_read gives, hence within the oracle's bound; a
 * refusal changes nothing. */
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
#include "half.h"
#include "random.h"
#include "select.h"

enum { H = 2, G = 3, HQ = H * G, E = 20, EV = 13, SEQUENCES = 4, CAPACITY = 400 };

static const attn_dtype TYPES[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};

/* ---- A cache and what it should hold ---- */

struct twin {
  attn_cache *cache;
  int64_t capacity, pages, lengths[SEQUENCES];
  float *k[SEQUENCES], *v[SEQUENCES]; /* (H, capacity, E), (H, capacity, EV) as appended */
};

static struct twin twin_new(attn_dtype dtype, int64_t capacity, int64_t page_tokens,
                            int64_t pages) {
  struct twin t = {.capacity = capacity};
  attn_cache_config config = ATTN_CACHE_CONFIG_INIT;
  attn_error err;
  config.heads = H, config.width = E, config.value_width = EV, config.dtype = dtype;
  config.sequences = SEQUENCES, config.capacity = capacity;
  config.page_tokens = page_tokens, config.pages = pages;
  if (attn_cache_new(&config, &t.cache, &err)) fail_msg("%s", err.message);
  t.pages = attn_cache_pages_free(t.cache);
  for (int n = 0; n < SEQUENCES; n++) {
    t.k[n] = malloc((size_t)(H * capacity * E) * sizeof(float));
    t.v[n] = malloc((size_t)(H * capacity * EV) * sizeof(float));
  }
  return t;
}

static void twin_free(struct twin *t) {
  attn_cache_free(t->cache);
  for (int n = 0; n < SEQUENCES; n++) free(t->k[n]), free(t->v[n]);
}

static attn_tensor dense3(float *data, int64_t tokens, int64_t width) {
  return (attn_tensor){data, ATTN_F32, 3, {H, tokens, width}, {tokens * width, width, 1}};
}

/* Random tokens to one sequence; the twin follows where the cache took them. */
static attn_status grow(struct twin *t, int64_t sequence, int64_t tokens) {
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

static void fork_twin(struct twin *t, int64_t from, int64_t to) {
  assert_int_equal(attn_cache_fork(t->cache, from, to, NULL), ATTN_OK);
  if (from == to) return;
  t->lengths[to] = t->lengths[from];
  memcpy(t->k[to], t->k[from], (size_t)(H * t->capacity * E) * 4);
  memcpy(t->v[to], t->v[from], (size_t)(H * t->capacity * EV) * 4);
}

static void one_step(struct twin *t) {
  int64_t n = below(SEQUENCES);
  if (chance(4)) {
    fork_twin(t, n, below(SEQUENCES));
  } else if (chance(6)) {
    int64_t length = below(t->lengths[n] + 1);
    assert_int_equal(attn_cache_truncate(t->cache, n, length, NULL), ATTN_OK);
    t->lengths[n] = length;
  } else {
    int64_t tokens = below(12), before = attn_cache_pages_free(t->cache);
    attn_status status = grow(t, n, tokens);
    if (status == ATTN_ERR_ARGUMENT) assert_true(t->lengths[n] + tokens > t->capacity);
    if (status) assert_int_equal(attn_cache_pages_free(t->cache), before);
  }
}

/* Enough pages for all unless they are said to be fewer: then some appends are refused. */
static void it_holds_what_was_appended(void **state) {
  (void)state;
  static const int64_t page_tokens[] = {0, 1, 3, 8, 64};
  for (int round = 0; round < ROUNDS(60); round++) {
    attn_dtype dtype = TYPES[below(4)];
    int few = chance(3);
    struct twin t = twin_new(dtype, 60, page_tokens[below(5)], few ? 9 : 0);
    for (int n = 0; n < 60; n++) {
      one_step(&t);
      if (chance(10)) holds_what_its_twin_holds(&t, dtype);
    }
    holds_what_its_twin_holds(&t, dtype);
    for (int n = 0; n < SEQUENCES; n++)
      assert_int_equal(attn_cache_truncate(t.cache, n, 0, NULL), ATTN_OK);
    assert_int_equal(attn_cache_pages_free(t.cache), t.pages);
    twin_free(&t);
  }
}

/* Every sequence can be filled to its capacity, whatever was shared before. */
static void sharing_never_costs_room(void **state) {
  (void)state;
  for (int64_t page_tokens = 0; page_tokens < 20; page_tokens += 7) {
    struct twin t = twin_new(ATTN_F32, 60, page_tokens, 0);
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
    assert_int_equal(attn_cache_pages_free(t.cache), pages == 3 ? 0 : 1);
    twin_free(&t);
  }
}

static void int8_makes_nan_of_what_is_not_finite(void **state) {
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

/* ---- Attention over it ---- */

struct call {
  attn_sdpa desc;
  int64_t rows;
  attn_dtype dtype;
  float *q;
  attn_tensor alibi, sinks;
  float slopes[HQ], logits[HQ];
};

static void draw_call(struct call *c, attn_dtype dtype) {
  memset(c, 0, sizeof *c);
  c->desc = (attn_sdpa)ATTN_SDPA_INIT;
  c->dtype = dtype, c->rows = 1 + (chance(2) ? 0 : below(30));
  c->q = malloc((size_t)(SEQUENCES * HQ * c->rows * E) * sizeof(float));
  for (int64_t n = 0; n < SEQUENCES * HQ * c->rows * E; n++)
    if (dtype == ATTN_F32)
      c->q[n] = uniform() * 2;
    else
      ((uint16_t *)c->q)[n] = attn_to_f16(uniform());
  if (chance(2)) c->desc.flags |= ATTN_SDPA_CAUSAL, c->desc.align = ATTN_ALIGN_BOTTOM_RIGHT;
  if (chance(4))
    c->desc.flags |= ATTN_SDPA_WINDOW, c->desc.window_left = 50, c->desc.window_right = -1;
  if (chance(4)) c->desc.flags |= ATTN_SDPA_SOFTCAP, c->desc.softcap = 7;
  if (chance(4)) c->desc.flags |= ATTN_SDPA_DROPOUT, c->desc.dropout = 0.3, c->desc.seed = 5;
  c->desc.empty_row = (int32_t)below(3);
  for (int h = 0; h < HQ; h++) c->slopes[h] = uniform(), c->logits[h] = uniform();
  c->alibi = (attn_tensor){c->slopes, ATTN_F32, 1, {HQ}, {1}}, c->sinks = c->alibi;
  c->sinks.data = c->logits;
  if (chance(4)) c->desc.alibi = &c->alibi;
  if (chance(4)) c->desc.sinks = &c->sinks;
}

static attn_tensor part(attn_dtype dtype, void *data, int64_t n, int64_t heads, int64_t rows,
                        int64_t width) {
  char *at = (char *)data + n * heads * rows * width * (int64_t)attn_dtype_size(dtype);
  return attn_tensor_dense(dtype, at, 1, heads, rows, width);
}

/* Sequence `sequence` alone, from what can be read of it; within the oracle's bound. */
static void dense_call(const struct twin *t, const struct call *c, int64_t row, int64_t sequence,
                       void *o, float *lse) {
  int64_t tokens = t->lengths[sequence];
  float *k = malloc((size_t)(H * tokens * E + 1) * 4),
        *v = malloc((size_t)(H * tokens * EV + 1) * 4);
  attn_tensor k3 = dense3(k, tokens, E), v3 = dense3(v, tokens, EV);
  assert_int_equal(attn_cache_read(t->cache, sequence, &k3, &v3, NULL), ATTN_OK);
  attn_tensor tk = attn_tensor_dense(ATTN_F32, k, 1, H, tokens, E),
              tv = attn_tensor_dense(ATTN_F32, v, 1, H, tokens, EV);
  attn_tensor tq = part(ATTN_F32, c->q, row, HQ, c->rows, E),
              to = part(ATTN_F32, o, row, HQ, c->rows, EV);
  attn_tensor tlse = {
      lse + row * HQ * c->rows, ATTN_F32, 3, {1, HQ, c->rows}, {HQ * c->rows, c->rows, 1}};
  attn_sdpa desc = c->desc;
  desc.lse = &tlse, desc.origin_batch = row;
  attn_error err;
  if (attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, &err)) fail_msg("%s", err.message);
  attn_sdpa_report report = {.struct_size = sizeof report};
  assert_int_equal(attn_sdpa_verify(&desc, &tq, &tk, &tv, &to, 0, 0, &report, NULL), ATTN_OK);
  assert_int_equal(report.outside, 0);
  free(k), free(v);
}

static void cached_equals_dense(const struct twin *t, const struct call *c) {
  int64_t sequences[SEQUENCES], size = SEQUENCES * HQ * c->rows;
  for (int n = 0; n < SEQUENCES; n++) sequences[n] = below(SEQUENCES);
  float *o = malloc((size_t)(size * EV) * 4), *expected = malloc((size_t)(size * EV) * 4);
  float *lse = malloc((size_t)size * 4), *expected_lse = malloc((size_t)size * 4);
  attn_tensor tq = attn_tensor_dense(ATTN_F32, c->q, SEQUENCES, HQ, c->rows, E);
  attn_tensor to = attn_tensor_dense(ATTN_F32, o, SEQUENCES, HQ, c->rows, EV);
  attn_tensor tlse = {lse, ATTN_F32, 3, {SEQUENCES, HQ, c->rows}, {HQ * c->rows, c->rows, 1}};
  attn_sdpa desc = c->desc;
  desc.lse = &tlse, desc.threads = (int32_t)below(4);
  for (int n = 0; n < SEQUENCES; n++) dense_call(t, c, n, sequences[n], expected, expected_lse);
  attn_error err;
  if (attn_sdpa_forward_cached(&desc, &tq, t->cache, sequences, SEQUENCES, &to, &err))
    fail_msg("%s", err.message);
  assert_memory_equal(o, expected, (size_t)(size * EV) * 4);
  assert_memory_equal(lse, expected_lse, (size_t)size * 4);
  free(o), free(expected), free(lse), free(expected_lse);
}

static void attention_over_it_is_attention_over_what_it_holds(void **state) {
  (void)state;
  static const int64_t page_tokens[] = {0, 1, 16, 40, 96, 192};
  for (int round = 0; round < ROUNDS(40); round++) {
    struct call c;
    struct twin t = twin_new(TYPES[below(4)], CAPACITY, page_tokens[below(6)], 0);
    for (int n = 0; n < 14; n++) {
      int64_t sequence = below(SEQUENCES);
      if (chance(4)) fork_twin(&t, sequence, below(SEQUENCES));
      grow(&t, sequence, below(100));
    }
    draw_call(&c, ATTN_F32);
    cached_equals_dense(&t, &c);
    free(c.q), twin_free(&t);
  }
}

/* Long sequences are split over their keys, a short one beside them is not. */
static void so_it_is_where_the_keys_are_split(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(8); round++) {
    struct call c;
    struct twin t = twin_new(TYPES[below(4)], 5000, chance(2) ? 0 : 160, 0);
    for (int n = 0; n < SEQUENCES; n++) grow(&t, n, n == 1 ? 20 : 3000 + below(2000));
    draw_call(&c, ATTN_F32);
    if (c.rows > 20) c.rows = 20;
    cached_equals_dense(&t, &c);
    free(c.q), twin_free(&t);
  }
}

/* Token by token gives what all tokens at once give, to within the bound of either. */
static void decoding_gives_what_prefill_gives(void **state) {
  (void)state;
  enum { L = 70 };
  static float q[HQ * L * E], o[HQ * L * EV], step_q[HQ * E], step_o[HQ * EV], k[H * E], v[H * EV];
  struct twin t = twin_new(ATTN_F32, L, 16, 0);
  attn_sdpa desc = ATTN_SDPA_INIT;
  desc.flags = ATTN_SDPA_CAUSAL, desc.align = ATTN_ALIGN_BOTTOM_RIGHT;
  for (int n = 0; n < HQ * L * E; n++) q[n] = uniform();
  attn_tensor tk = dense3(k, 1, E), tv = dense3(v, 1, EV);
  attn_tensor one_q = attn_tensor_dense(ATTN_F32, step_q, 1, HQ, 1, E),
              one_o = attn_tensor_dense(ATTN_F32, step_o, 1, HQ, 1, EV);
  for (int i = 0; i < L; i++) {
    for (int n = 0; n < H * E; n++) k[n] = uniform();
    for (int n = 0; n < H * EV; n++) v[n] = uniform();
    assert_int_equal(attn_cache_append(t.cache, NULL, 1, &tk, &tv, NULL), ATTN_OK);
    for (int h = 0; h < HQ; h++) memcpy(step_q + h * E, q + (h * L + i) * E, E * sizeof *q);
    assert_int_equal(attn_sdpa_forward_cached(&desc, &one_q, t.cache, NULL, 1, &one_o, NULL), 0);
    for (int h = 0; h < HQ; h++) memcpy(o + (h * L + i) * EV, step_o + h * EV, EV * sizeof *o);
  }
  static float all_k[H * L * E], all_v[H * L * EV];
  attn_tensor k3 = dense3(all_k, L, E), v3 = dense3(all_v, L, EV);
  assert_int_equal(attn_cache_read(t.cache, 0, &k3, &v3, NULL), ATTN_OK);
  attn_tensor tq = attn_tensor_dense(ATTN_F32, q, 1, HQ, L, E);
  attn_tensor to = attn_tensor_dense(ATTN_F32, o, 1, HQ, L, EV);
  attn_tensor dk = attn_tensor_dense(ATTN_F32, all_k, 1, H, L, E);
  attn_tensor dv = attn_tensor_dense(ATTN_F32, all_v, 1, H, L, EV);
  attn_sdpa_report report = {.struct_size = sizeof report};
  assert_int_equal(attn_sdpa_verify(&desc, &tq, &dk, &dv, &to, 0, 0, &report, NULL), ATTN_OK);
  assert_int_equal(report.outside, 0);
  twin_free(&t);
}

/* The largest of so many magnitudes. */
static double largest(const float *x, int64_t count) {
  double most = 0;
  for (int64_t n = 0; n < count; n++) most = fabs((double)x[n]) > most ? fabs((double)x[n]) : most;
  return most;
}

/* One head: o of exact keys and values in double, and by how much int8 may move it: a score by
 * D = scale sum |q| s_k / 2, an output by (e^2D - 1) max |v| + s_v / 2. */
static double exact_output(const float *q, const float *k, const float *v, int64_t tokens,
                           double *o) {
  double scale = 1 / sqrt((double)E), sum = 0, size = 0;
  for (int e = 0; e < E; e++) size += fabs((double)q[e]);
  memset(o, 0, EV * sizeof *o);
  for (int64_t j = 0; j < tokens; j++) {
    double s = 0;
    for (int e = 0; e < E; e++) s += scale * (double)q[e] * (double)k[j * E + e];
    sum += exp(s);
    for (int e = 0; e < EV; e++) o[e] += exp(s) * (double)v[j * EV + e];
  }
  for (int e = 0; e < EV; e++) o[e] /= sum;
  double step_k = largest(k, tokens * E) / 127, step_v = largest(v, tokens * EV) / 127;
  double most = largest(v, tokens * EV), scores = scale * size * largest(k, tokens * E);
  double arithmetic =
      0x1p-24 * most * (18 + 2 * sqrt((double)E) * scores + 2 * sqrt((double)tokens));
  return (exp(scale * size * step_k) - 1) * most + step_v / 2 + arithmetic;
}

static void int8_moves_an_output_by_no_more_than_promised(void **state) {
  (void)state;
  static float q[HQ * E], o[HQ * EV];
  for (int round = 0; round < ROUNDS(20); round++) {
    struct twin t = twin_new(ATTN_I8, CAPACITY, 16, 0);
    assert_int_equal(grow(&t, 0, 1 + below(200)), ATTN_OK);
    for (int n = 0; n < HQ * E; n++) q[n] = uniform();
    attn_tensor tq = attn_tensor_dense(ATTN_F32, q, 1, HQ, 1, E),
                to = attn_tensor_dense(ATTN_F32, o, 1, HQ, 1, EV);
    assert_int_equal(attn_sdpa_forward_cached(NULL, &tq, t.cache, NULL, 1, &to, NULL), ATTN_OK);
    for (int h = 0; h < HQ; h++) {
      double exact[EV];
      double bound = exact_output(q + h * E, t.k[0] + h / G * CAPACITY * E,
                                  t.v[0] + h / G * CAPACITY * EV, t.lengths[0], exact);
      for (int e = 0; e < EV; e++) assert_true(fabs((double)o[h * EV + e] - exact[e]) <= bound);
    }
    twin_free(&t);
  }
}

/* Weights come out, 0 behind a sequence's length, and 16-bit queries meet any cache. */
static void weights_and_types(void **state) {
  (void)state;
  enum { L = 2, S = 30 };
  static uint16_t q[SEQUENCES * HQ * L * E], o[SEQUENCES * HQ * L * EV];
  static uint16_t weights[SEQUENCES * HQ * L * S];
  for (int type = 0; type < 4; type++) {
    struct twin t = twin_new(TYPES[type], S, 7, 0);
    for (int n = 0; n < SEQUENCES; n++) grow(&t, n, S - 9 * n);
    for (size_t n = 0; n < sizeof q / 2; n++) q[n] = attn_to_f16(uniform());
    attn_tensor tq = attn_tensor_dense(ATTN_F16, q, SEQUENCES, HQ, L, E),
                to = attn_tensor_dense(ATTN_F16, o, SEQUENCES, HQ, L, EV),
                tw = attn_tensor_dense(ATTN_F16, weights, SEQUENCES, HQ, L, S);
    attn_sdpa desc = ATTN_SDPA_INIT;
    desc.weights = &tw;
    memset(weights, 0xFF, sizeof weights);
    assert_int_equal(attn_sdpa_forward_cached(&desc, &tq, t.cache, NULL, SEQUENCES, &to, NULL), 0);
    for (int row = 0; row < SEQUENCES * HQ * L; row++) {
      double sum = 0;
      int64_t length = t.lengths[row / (HQ * L)];
      for (int64_t j = 0; j < S; j++) {
        double p = (double)attn_from_f16(weights[row * S + j]);
        if (j >= length) assert_true(p == 0);
        sum += p;
      }
      assert_true(fabs(sum - 1) <= 0x1p-11 * 1.1 + S * 0x1p-25);
    }
    twin_free(&t);
  }
}

/* ---- Memory and refusals ---- */

static void callers_memory_is_enough_to_the_byte(void **state) {
  (void)state;
  attn_cache_config config = ATTN_CACHE_CONFIG_INIT;
  config.heads = H, config.width = E, config.value_width = EV, config.dtype = ATTN_I8;
  config.sequences = 2, config.capacity = 33, config.page_tokens = 5;
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

static void expect(attn_status got, const attn_error *err, attn_status status, const char *name) {
  if (got != status || strcmp(err->argument, name))
    fail_msg("%s: %s: %s", attn_status_name(got), err->argument, got ? err->message : "");
}

static void configurations_that_cannot_be_are_refused(void **state) {
  (void)state;
  attn_cache_config good = ATTN_CACHE_CONFIG_INIT, bad;
  good.heads = H, good.width = E, good.value_width = EV, good.dtype = ATTN_F32;
  good.sequences = 2, good.capacity = 10;
  attn_cache *cache = NULL;
  attn_error err;
#define REFUSED(change, status, name) \
  bad = good, change, expect(attn_cache_new(&bad, &cache, &err), &err, status, name)
  REFUSED(bad.struct_size = 8, ATTN_ERR_ARGUMENT, "config");
  REFUSED(bad.heads = 0, ATTN_ERR_ARGUMENT, "heads");
  REFUSED(bad.width = -1, ATTN_ERR_ARGUMENT, "width");
  REFUSED(bad.value_width = 0, ATTN_ERR_ARGUMENT, "value_width");
  REFUSED(bad.sequences = 0, ATTN_ERR_ARGUMENT, "sequences");
  REFUSED(bad.capacity = 0, ATTN_ERR_ARGUMENT, "capacity");
  REFUSED(bad.page_tokens = -1, ATTN_ERR_ARGUMENT, "page_tokens");
  REFUSED(bad.pages = -1, ATTN_ERR_ARGUMENT, "pages");
  REFUSED(bad.pages = (int64_t)1 << 40, ATTN_ERR_ARGUMENT, "pages");
  REFUSED(bad.dtype = ATTN_F64, ATTN_ERR_TYPE, "dtype");
  REFUSED(bad.dtype = (attn_dtype)7, ATTN_ERR_TYPE, "dtype");
  REFUSED(bad.capacity = INT64_MAX, ATTN_ERR_ARGUMENT, "capacity");
  REFUSED((bad.capacity = INT64_MAX, bad.page_tokens = 1), ATTN_ERR_ARGUMENT, "pages");
  REFUSED(bad.reserved = 1, ATTN_ERR_ARGUMENT, "reserved");
  expect(attn_cache_new(NULL, &cache, &err), &err, ATTN_ERR_ARGUMENT, "config");
  expect(attn_cache_new(&good, NULL, &err), &err, ATTN_ERR_ARGUMENT, "cache");
  assert_null(cache);
}

static void what_does_not_fit_is_refused_and_changes_nothing(void **state) {
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

/* Two pages of three tokens; sequence 0 has four tokens, sequence 1 two. */
static void tables_that_lead_nowhere_are_refused(void **state) {
  (void)state;
  static float q[2 * HQ * E], o[2 * HQ * EV], k[2 * H * 3 * E], v[2 * H * 3 * EV];
  int32_t table[4] = {1, 0, 0, INT32_MAX}; /* the last is behind its sequence's end */
  int64_t lengths[2] = {4, 2};
  attn_tensor tq = attn_tensor_dense(ATTN_F32, q, 2, HQ, 1, E),
              to = attn_tensor_dense(ATTN_F32, o, 2, HQ, 1, EV),
              tk = attn_tensor_dense(ATTN_F32, k, 2, H, 3, E),
              tv = attn_tensor_dense(ATTN_F32, v, 2, H, 3, EV);
  attn_tensor tt = {table, ATTN_I32, 2, {2, 2}, {2, 1}}, tl = {lengths, ATTN_I64, 1, {2}, {1}};
  attn_tensor scales = {k, ATTN_F32, 3, {2, H, 3}, {H * 3, 3, 1}}, bad;
  const attn_paged good = {sizeof good, &tk, &tv, NULL, NULL, &tt, &tl};
  attn_paged p;
  attn_error err;
  assert_int_equal(attn_sdpa_forward_paged(NULL, &tq, &good, &to, &err), ATTN_OK);
  memset(o, 0xFF, sizeof o);
#define PAGED(change, status, name) \
  p = good, change, expect(attn_sdpa_forward_paged(NULL, &tq, &p, &to, &err), &err, status, name)
  PAGED(p.struct_size = 1, ATTN_ERR_ARGUMENT, "paged");
  PAGED(p.k = NULL, ATTN_ERR_ARGUMENT, "k");
  PAGED(p.table = NULL, ATTN_ERR_ARGUMENT, "table");
  PAGED(p.lengths = NULL, ATTN_ERR_ARGUMENT, "lengths");
  PAGED(p.k_scales = &scales, ATTN_ERR_ARGUMENT, "k_scales");
  PAGED((bad = tk, bad.dtype = ATTN_F64, p.k = &bad), ATTN_ERR_TYPE, "k");
  PAGED((bad = tv, bad.dtype = ATTN_I8, p.v = &bad), ATTN_ERR_TYPE, "v");
  PAGED((bad = tv, bad.shape[2] = 2, p.v = &bad), ATTN_ERR_SHAPE, "v");
  PAGED((bad = tt, bad.dtype = ATTN_F32, p.table = &bad), ATTN_ERR_TYPE, "table");
  PAGED((bad = tt, bad.shape[0] = 1, p.table = &bad), ATTN_ERR_SHAPE, "lengths");
  PAGED((bad = to, bad.rank = 4, bad.shape[0] = 1, p.k = &bad), ATTN_ERR_SHAPE, "v");
#define WITH(place, value, name)                                                                 \
  do {                                                                                           \
    int64_t kept = (int64_t)(place);                                                             \
    (place) = (value);                                                                           \
    expect(attn_sdpa_forward_paged(NULL, &tq, &good, &to, &err), &err, ATTN_ERR_ARGUMENT, name); \
    (place) = (__typeof__(place))kept;                                                           \
  } while (0)
  WITH(table[0], 2, "table");
  WITH(table[1], -1, "table");
  WITH(table[2], INT32_MAX, "table");
  WITH(lengths[0], 7, "lengths");
  WITH(lengths[1], -1, "lengths");
  attn_sdpa desc = ATTN_SDPA_INIT;
  desc.key_lengths = &tl;
  expect(attn_sdpa_forward_paged(&desc, &tq, &good, &to, &err), &err, ATTN_ERR_ARGUMENT,
         "key_lengths");
  attn_tensor overlap = to;
  overlap.data = k + 8;
  expect(attn_sdpa_forward_paged(NULL, &tq, &good, &overlap, &err), &err, ATTN_ERR_ARGUMENT, "o");
  bad = tq, bad.shape[0] = 1;
  expect(attn_sdpa_forward_paged(NULL, &bad, &good, &to, &err), &err, ATTN_ERR_SHAPE, "q");
  for (size_t n = 0; n < sizeof o; n++) assert_int_equal(((unsigned char *)o)[n], 0xFF);
}

/* A host's allocator: none is left, or all is given back. */
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

static void memory_is_the_hosts(void **state) {
  (void)state;
  int fails = 1;
  attn_allocator host = {&fails, take, give};
  attn_cache_config config = ATTN_CACHE_CONFIG_INIT;
  config.heads = config.width = config.value_width = config.sequences = 1, config.capacity = 3;
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

static int suite(const char *kernel) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attention_over_it_is_attention_over_what_it_holds),
      cmocka_unit_test(so_it_is_where_the_keys_are_split),
      cmocka_unit_test(decoding_gives_what_prefill_gives),
      cmocka_unit_test(int8_moves_an_output_by_no_more_than_promised),
      cmocka_unit_test(weights_and_types),
  };
  return cmocka_run_group_tests_name(kernel, tests, NULL, NULL);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest once[] = {
      cmocka_unit_test(it_holds_what_was_appended),
      cmocka_unit_test(sharing_never_costs_room),
      cmocka_unit_test(a_batch_counts_its_pages_exactly),
      cmocka_unit_test(int8_makes_nan_of_what_is_not_finite),
      cmocka_unit_test(callers_memory_is_enough_to_the_byte),
      cmocka_unit_test(configurations_that_cannot_be_are_refused),
      cmocka_unit_test(what_does_not_fit_is_refused_and_changes_nothing),
      cmocka_unit_test(tables_that_lead_nowhere_are_refused),
      cmocka_unit_test(memory_is_the_hosts),
  };
  int failed = cmocka_run_group_tests(once, NULL, NULL);
  return failed + on_every_kernel(suite);
}
