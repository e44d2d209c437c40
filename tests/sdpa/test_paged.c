/* Paged attention, over a cache or the caller's pages: bit-identical to attention over the
 * contents, hence within the reference's bound, for any order of the pages; rows beyond a
 * sequence's length are not read. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "guarded.h"
#include "element.h"
#include "random.h"
#include "select.h"
#include "twin.h"

struct call {
  attn_sdpa desc;
  int64_t rows;
  float *q;
  attn_tensor alibi, sinks;
  float slopes[HQ], logits[HQ];
};

static void draw_call(struct call *c) {
  memset(c, 0, sizeof *c);
  c->desc = (attn_sdpa)ATTN_SDPA_INIT;
  c->rows = 1 + (chance(2) ? 0 : below(30));
  c->q = malloc((size_t)(SEQUENCES * HQ * c->rows * E) * sizeof(float));
  for (int64_t n = 0; n < SEQUENCES * HQ * c->rows * E; n++) c->q[n] = uniform() * 2;
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

static void cached_attention_is_attention_over_the_contents(void **state) {
  (void)state;
  static const int64_t page_size[] = {0, 1, 16, 40, 96, 192};
  for (int round = 0; round < ROUNDS(40); round++) {
    struct call c;
    struct twin t = twin_new(TYPES[below(4)], CAPACITY, page_size[below(6)], 0);
    for (int n = 0; n < 14; n++) {
      int64_t sequence = below(SEQUENCES);
      if (chance(4)) fork_twin(&t, sequence, below(SEQUENCES));
      grow(&t, sequence, below(100));
    }
    draw_call(&c);
    cached_equals_dense(&t, &c);
    free(c.q), twin_free(&t);
  }
}

/* Long sequences are split over their keys, a short one in the same batch is not. */
static void cached_attention_with_split_keys(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(8); round++) {
    struct call c;
    struct twin t = twin_new(TYPES[below(4)], 5000, chance(2) ? 0 : 160, 0);
    for (int n = 0; n < SEQUENCES; n++) grow(&t, n, n == 1 ? 20 : 3000 + below(2000));
    draw_call(&c);
    if (c.rows > 20) c.rows = 20;
    cached_equals_dense(&t, &c);
    free(c.q), twin_free(&t);
  }
}

/* Decoding token by token agrees with prefill within both bounds. */
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
  double n = (double)tokens, sizes = 2 * (E + 1) + 6; /* 3 d <= 6 S */
  double arithmetic =
      most * expm1(0x1p-24 * (34 + sizes * scores + 2 * n + 5 * (log2(n) + 2))) + 0x1p-24 * most;
  return (exp(scale * size * step_k) - 1) * most + step_v / 2 + arithmetic;
}

static void int8_error_is_within_the_bound(void **state) {
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

/* Weights are 0 beyond a sequence's length; 16-bit queries work with any cache. */
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

/* ---- The caller's pages ---- */

/* Two pages of three tokens; sequence 0 has four tokens, sequence 1 two. */
static void invalid_page_tables_are_rejected(void **state) {
  (void)state;
  static float q[2 * HQ * E], o[2 * HQ * EV], k[2 * H * 3 * E], v[2 * H * 3 * EV];
  int32_t table[4] = {1, 0, 0, INT32_MAX}; /* the last is beyond its sequence's length */
  int64_t lengths[2] = {4, 2};
  attn_tensor tq = attn_tensor_dense(ATTN_F32, q, 2, HQ, 1, E),
              to = attn_tensor_dense(ATTN_F32, o, 2, HQ, 1, EV),
              tk = attn_tensor_dense(ATTN_F32, k, 2, H, 3, E),
              tv = attn_tensor_dense(ATTN_F32, v, 2, H, 3, EV);
  attn_tensor tt = {table, ATTN_I32, 2, {2, 2}, {2, 1}}, tl = {lengths, ATTN_I64, 1, {2}, {1}};
  attn_tensor scales = {k, ATTN_F32, 3, {2, H, 3}, {H * 3, 3, 1}}, bad;
  const attn_pages good = {sizeof good, &tk, &tv, NULL, NULL, &tt, &tl};
  attn_pages p;
  attn_error err;
  assert_int_equal(attn_sdpa_forward_paged(NULL, &tq, &good, &to, &err), ATTN_OK);
  memset(o, 0xFF, sizeof o);
#define PAGED(change, status, name) \
  p = good, change, expect(attn_sdpa_forward_paged(NULL, &tq, &p, &to, &err), &err, status, name)
  PAGED(p.struct_size = 1, ATTN_ERR_ARGUMENT, "pages");
  PAGED(p.k = NULL, ATTN_ERR_ARGUMENT, "k");
  PAGED(p.page_table = NULL, ATTN_ERR_ARGUMENT, "page_table");
  PAGED(p.lengths = NULL, ATTN_ERR_ARGUMENT, "lengths");
  PAGED(p.k_scales = &scales, ATTN_ERR_ARGUMENT, "k_scales");
  PAGED((bad = tk, bad.dtype = ATTN_F64, p.k = &bad), ATTN_ERR_TYPE, "k");
  PAGED((bad = tv, bad.dtype = ATTN_I8, p.v = &bad), ATTN_ERR_TYPE, "v");
  PAGED((bad = tv, bad.shape[2] = 2, p.v = &bad), ATTN_ERR_SHAPE, "v");
  PAGED((bad = tt, bad.dtype = ATTN_F32, p.page_table = &bad), ATTN_ERR_TYPE, "page_table");
  PAGED((bad = tt, bad.shape[0] = 1, p.page_table = &bad), ATTN_ERR_SHAPE, "lengths");
  PAGED((bad = to, bad.rank = 4, bad.shape[0] = 1, p.k = &bad), ATTN_ERR_SHAPE, "v");
#define WITH(place, value, name)                                                                 \
  do {                                                                                           \
    int64_t kept = (int64_t)(place);                                                             \
    (place) = (value);                                                                           \
    expect(attn_sdpa_forward_paged(NULL, &tq, &good, &to, &err), &err, ATTN_ERR_ARGUMENT, name); \
    (place) = (__typeof__(place))kept;                                                           \
  } while (0)
  WITH(table[0], 2, "page_table");
  WITH(table[1], -1, "page_table");
  WITH(table[2], INT32_MAX, "page_table");
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
  /* Without a dimension for heads there must be one; and lengths may be as long as they like. */
  int64_t one_length = 5;
  int32_t far = 1000000;
  attn_tensor table_of = {&far, ATTN_I32, 2, {1, 1}, {1, 1}},
              length_of = {&one_length, ATTN_I64, 1, {1}, {1}};
  attn_tensor flat_q = {q, ATTN_F32, 2, {1, E}, {E, 1}},
              flat_o = {o, ATTN_F32, 2, {1, EV}, {EV, 1}};
  p = good, p.page_table = &table_of, p.lengths = &length_of;
  expect(attn_sdpa_forward_paged(NULL, &flat_q, &p, &flat_o, &err), &err, ATTN_ERR_SHAPE, "q");
  attn_tensor endless = {k, ATTN_F32, 4, {1, 1, INT64_MAX, 1}, {1 << 20, 0, 0, 0}};
  attn_tensor one_q = attn_tensor_dense(ATTN_F32, q, 1, 1, 1, 1), one_o = one_q;
  one_o.data = o, p.k = p.v = &endless;
  expect(attn_sdpa_forward_paged(NULL, &one_q, &p, &one_o, &err), &err, ATTN_ERR_ARGUMENT,
         "page_table");
}

/* (pages, H, T, width) with its dimensions in any order and gaps between; the memory is the
 * caller's to free. */
static attn_tensor scattered(attn_dtype dtype, int64_t pages, int64_t tokens, int64_t width) {
  attn_tensor t = {NULL, dtype, 4, {pages, H, tokens, width}, {0}};
  int order[4] = {0, 1, 2, 3};
  for (int n = 3; n > 0; n--) {
    int with = chance(2) ? n : (int)below(n + 1), kept = order[n];
    order[n] = order[with], order[with] = kept;
  }
  int64_t stride = 1;
  for (int n = 3; n >= 0; n--)
    t.strides[order[n]] = stride, stride = stride * t.shape[order[n]] + below(3);
  t.data = malloc((size_t)stride * attn_dtype_size(dtype) + 8);
  for (int64_t n = 0; n < stride; n++) {
    float x = uniform();
    if (dtype == ATTN_F32) ((float *)t.data)[n] = x;
    if (dtype == ATTN_F16) ((uint16_t *)t.data)[n] = attn_to_f16(x);
    if (dtype == ATTN_BF16) ((uint16_t *)t.data)[n] = attn_to_bf16(x);
    if (dtype == ATTN_I8) ((signed char *)t.data)[n] = (signed char)(x * 127);
  }
  return t;
}

static float number_of(const attn_tensor *t, const attn_tensor *scales, int64_t page, int64_t h,
                       int64_t row, int64_t e) {
  int64_t at = page * t->strides[0] + h * t->strides[1] + row * t->strides[2] + e * t->strides[3];
  if (t->dtype == ATTN_F32) return ((float *)t->data)[at];
  if (t->dtype == ATTN_F16) return attn_from_f16(((uint16_t *)t->data)[at]);
  if (t->dtype == ATTN_BF16) return attn_from_bf16(((uint16_t *)t->data)[at]);
  int64_t s = page * scales->strides[0] + h * scales->strides[1] + row * scales->strides[2];
  return (float)((signed char *)t->data)[at] * ((float *)scales->data)[s];
}

/* One sequence of the table written out. */
static void write_out(const attn_tensor *t, const attn_tensor *scales, const int64_t *table,
                      int64_t length, float *to) {
  int64_t tokens = t->shape[2], width = t->shape[3];
  for (int64_t h = 0; h < H; h++)
    for (int64_t j = 0; j < length; j++)
      for (int64_t e = 0; e < width; e++)
        to[(h * length + j) * width + e] =
            number_of(t, scales, table[j / tokens], h, j % tokens, e);
}

static void one_layout(attn_dtype dtype, int64_t tokens, int half) {
  enum { B = 2, N = 5, L = 3 };
  static float q[B * HQ * L * E], o[B * HQ * L * EV], alone[HQ * L * EV];
  static uint16_t half_q[B * HQ * L * E], half_o[B * HQ * L * EV];
  int64_t pages = 2 * N + 1, table[2 * B * N], lengths[B], step = 1 + below(2);
  attn_tensor tk = scattered(dtype, pages, tokens, E), tv = scattered(dtype, pages, tokens, EV);
  attn_tensor sk = scattered(ATTN_F32, pages, tokens, 1),
              sv = scattered(ATTN_F32, pages, tokens, 1);
  sk.rank = sv.rank = 3;
  for (int64_t n = 0; n < 2 * B * N; n++) table[n] = below(pages);
  for (int b = 0; b < B; b++) lengths[b] = below(N * tokens + 1);
  int32_t narrow[2 * B * N];
  for (int n = 0; n < 2 * B * N; n++) narrow[n] = (int32_t)table[n];
  int is_narrow = (int)below(2);
  attn_tensor tt = {is_narrow ? (void *)narrow : (void *)table,
                    is_narrow ? ATTN_I32 : ATTN_I64,
                    2,
                    {B, N},
                    {N * step, step}};
  attn_tensor tl = {lengths, ATTN_I64, 1, {B}, {1}};
  attn_pages p = {sizeof p, &tk, &tv, NULL, NULL, &tt, &tl};
  if (dtype == ATTN_I8) p.k_scales = &sk, p.v_scales = &sv;
  for (int n = 0; n < B * HQ * L * E; n++) {
    half_q[n] = attn_to_f16(uniform()), q[n] = attn_from_f16(half_q[n]);
  }
  attn_dtype type = half ? ATTN_F16 : ATTN_F32;
  attn_tensor tq = attn_tensor_dense(type, half ? (void *)half_q : (void *)q, B, HQ, L, E);
  attn_tensor to = attn_tensor_dense(type, half ? (void *)half_o : (void *)o, B, HQ, L, EV);
  attn_sdpa desc = ATTN_SDPA_INIT;
  attn_error err;
  desc.empty_row = (int32_t)below(3);
  if (attn_sdpa_forward_paged(&desc, &tq, &p, &to, &err)) fail_msg("%s", err.message);
  for (int b = 0; b < B; b++) {
    int64_t length = lengths[b], mine[N];
    for (int n = 0; n < N; n++) mine[n] = table[(b * N + n) * step];
    float *k = malloc((size_t)(H * length * E + 1) * 4),
          *v = malloc((size_t)(H * length * EV + 1) * 4);
    write_out(&tk, &sk, mine, length, k), write_out(&tv, &sv, mine, length, v);
    attn_tensor dk = attn_tensor_dense(ATTN_F32, k, 1, H, length, E),
                dv = attn_tensor_dense(ATTN_F32, v, 1, H, length, EV);
    attn_tensor dq = part(ATTN_F32, q, b, HQ, L, E),
                dense_o = attn_tensor_dense(ATTN_F32, alone, 1, HQ, L, EV);
    assert_int_equal(attn_sdpa_forward(&desc, &dq, &dk, &dv, &dense_o, NULL), ATTN_OK);
    for (int n = 0; n < HQ * L * EV; n++) {
      if (half)
        assert_int_equal(half_o[b * HQ * L * EV + n], attn_to_f16(alone[n]));
      else
        assert_memory_equal(&o[b * HQ * L * EV + n], &alone[n], 4);
    }
    free(k), free(v);
  }
  free(tk.data), free(tv.data), free(sk.data), free(sv.data);
}

static void pages_may_be_in_any_order(void **state) {
  (void)state;
  static const int64_t tokens[] = {1, 7, 40, 96, 100, 192};
  for (int round = 0; round < ROUNDS(80); round++)
    one_layout(TYPES[below(4)], tokens[below(6)], (int)below(2));
}

/* Sequence 0 uses four of its page's 96 rows; the others may be unmapped. */
static void rows_beyond_a_sequence_are_not_read(void **state) {
  (void)state;
  enum { WIDE = 1024, T = 96, ROW = WIDE * 4 };
  static float q[2 * WIDE], o[2 * WIDE];
  static int32_t table[2] = {0, 1};
  static int64_t lengths[2] = {4, T};
  char *memory =
      mmap(NULL, 2 * T * ROW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  assert_int_equal(mprotect(memory + 4 * ROW, (T - 4) * ROW, PROT_NONE), 0);
  attn_tensor tk = attn_tensor_dense(ATTN_F32, memory, 2, 1, T, WIDE), tv = tk;
  attn_tensor tq = attn_tensor_dense(ATTN_F32, q, 2, 1, 1, WIDE), to = tq;
  attn_tensor tt = {table, ATTN_I32, 2, {2, 1}, {1, 1}}, tl = {lengths, ATTN_I64, 1, {2}, {1}};
  to.data = o;
  const attn_pages p = {sizeof p, &tk, &tv, NULL, NULL, &tt, &tl};
  assert_int_equal(attn_sdpa_forward_paged(NULL, &tq, &p, &to, NULL), ATTN_OK);
  munmap(memory, 2 * T * ROW);
}

/* The workspace of attn_sdpa_plan for a dense call of the longest length suffices. */
static void the_workspace_of_a_dense_call_is_enough(void **state) {
  (void)state;
  struct twin t = twin_new(ATTN_I8, 5000, 64, 0);
  for (int n = 0; n < SEQUENCES; n++) grow(&t, n, n == 2 ? 4800 : below(4000));
  static float q[SEQUENCES * HQ * E], o[SEQUENCES * HQ * EV];
  attn_tensor tq = attn_tensor_dense(ATTN_F32, q, SEQUENCES, HQ, 1, E),
              to = attn_tensor_dense(ATTN_F32, o, SEQUENCES, HQ, 1, EV);
  attn_tensor k = {q, ATTN_F32, 4, {SEQUENCES, H, 4800, E}, {0}},
              v = {q, ATTN_F32, 4, {SEQUENCES, H, 4800, EV}, {0}};
  attn_plan plan = {.struct_size = sizeof plan};
  assert_int_equal(attn_sdpa_plan(NULL, &tq, &k, &v, NULL, &plan, NULL), ATTN_OK);
  attn_sdpa desc = ATTN_SDPA_INIT;
  desc.workspace = malloc(plan.workspace_bytes), desc.workspace_bytes = plan.workspace_bytes;
  assert_int_equal(attn_sdpa_forward_cached(&desc, &tq, t.cache, NULL, SEQUENCES, &to, NULL), 0);
  free(desc.workspace), twin_free(&t);
}

static int suite(const char *kernel) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cached_attention_is_attention_over_the_contents),
      cmocka_unit_test(cached_attention_with_split_keys),
      cmocka_unit_test(decoding_gives_what_prefill_gives),
      cmocka_unit_test(int8_error_is_within_the_bound),
      cmocka_unit_test(weights_and_types),
      cmocka_unit_test(pages_may_be_in_any_order),
      cmocka_unit_test(rows_beyond_a_sequence_are_not_read),
  };
  return cmocka_run_group_tests_name(kernel, tests, NULL, NULL);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest once[] = {
      cmocka_unit_test(invalid_page_tables_are_rejected),
      cmocka_unit_test(the_workspace_of_a_dense_call_is_enough),
  };
  int failed = cmocka_run_group_tests(once, NULL, NULL);
  return failed + on_every_kernel(suite);
}
