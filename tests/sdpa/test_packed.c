/* Packed sequences: bit-identical to each alone, forward and backward, with masks, lengths and
 * dropout; nothing outside a tensor is accessed; an invalid sequence is rejected before anything
 * is written. */
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

enum { HQ = 4, H = 2, E = 12, EV = 10, MOST = 700, SEQUENCES = 6 };

static float q[HQ * MOST * E], k[H * MOST * E], v[H * MOST * EV], o[HQ * MOST * EV], lse[HQ * MOST];
static float d_o[HQ * MOST * EV], d_q[HQ * MOST * E], d_k[H * MOST * E], d_v[H * MOST * EV];
static float one_o[HQ * MOST * EV], one_lse[HQ * MOST], one_q[HQ * MOST * E], one_k[H * MOST * E],
    one_v[H * MOST * EV];
static char mask[MOST * MOST];
static int64_t rows[SEQUENCES + 1], keys[SEQUENCES + 1];

static attn_tensor starts_of(int64_t *from, int64_t count) {
  return (attn_tensor){from, ATTN_I64, 1, {count}, {1}};
}

/* (heads, tokens, width) of a packed array: rank 3. */
static attn_tensor packed(float *data, int64_t heads, int64_t tokens, int64_t width) {
  return (attn_tensor){data, ATTN_F32, 3, {heads, tokens, width}, {tokens * width, width, 1}};
}

/* Tokens from..to of it, as one sequence. */
static attn_tensor part(attn_tensor t, int64_t from, int64_t to) {
  t.data = (float *)t.data + from * t.strides[1];
  t.shape[1] = to - from;
  return t;
}

static void fill(float *to, size_t count) {
  for (size_t n = 0; n < count; n++) to[n] = uniform();
}

static void draw_starts(int64_t *starts) {
  for (int n = 0; n < SEQUENCES; n++) starts[n + 1] = starts[n] + below(5) * below(29);
}

static void the_same_bits_as_each_alone(void **state) {
  (void)state;
  for (int round = 0; round < 20; round++) {
    fill(q, HQ * MOST * E), fill(k, H * MOST * E), fill(v, H * MOST * EV),
        fill(d_o, HQ * MOST * EV);
    for (int n = 0; n < MOST * MOST; n++) mask[n] = !chance(4);
    draw_starts(rows), draw_starts(keys);
    int64_t t = rows[SEQUENCES], u = keys[SEQUENCES];
    attn_tensor tq = packed(q, HQ, t, E), tk = packed(k, H, u, E), tv = packed(v, H, u, EV);
    attn_tensor to = packed(o, HQ, t, EV), tlse = {lse, ATTN_F32, 2, {HQ, t}, {t, 1}},
                td_o = packed(d_o, HQ, t, EV);
    attn_tensor td_q = packed(d_q, HQ, t, E), td_k = packed(d_k, H, u, E),
                td_v = packed(d_v, H, u, EV);
    attn_tensor tmask = {mask, ATTN_BOOL, 2, {t, u}, {u, 1}};
    attn_tensor starts_q = starts_of(rows, SEQUENCES + 1),
                starts_k = starts_of(keys, SEQUENCES + 1);
    attn_sdpa desc = ATTN_SDPA_INIT;
    if (chance(2)) desc.flags |= ATTN_SDPA_CAUSAL, desc.align = ATTN_ALIGN_BOTTOM_RIGHT;
    if (chance(2)) desc.flags |= ATTN_SDPA_DROPOUT, desc.dropout = 0.3, desc.seed = 5;
    if (chance(2)) desc.mask = &tmask;
    attn_tensor vectors = {q, ATTN_F32, 2, {HQ, E}, {E, 1}};
    if (chance(3)) desc.additive = &vectors;
    desc.lse = &tlse;
    attn_error err;
    attn_sdpa_gradients g = {.struct_size = sizeof g, .d_q = &td_q, .d_k = &td_k, .d_v = &td_v};
    if (attn_sdpa_forward_packed(&desc, &tq, &tk, &tv, &to, &starts_q, &starts_k, &err) ||
        attn_sdpa_backward_packed(&desc, &tq, &tk, &tv, &to, &td_o, &starts_q, &starts_k, &g, &err))
      fail_msg("%s", err.message);
    for (int n = 0; n < SEQUENCES; n++) {
      attn_sdpa alone = desc;
      attn_tensor sq = part(tq, rows[n], rows[n + 1]), sk = part(tk, keys[n], keys[n + 1]),
                  sv = part(tv, keys[n], keys[n + 1]);
      attn_tensor so = part(packed(one_o, HQ, t, EV), rows[n], rows[n + 1]),
                  sd = part(td_o, rows[n], rows[n + 1]);
      attn_tensor slse =
          part((attn_tensor){one_lse, ATTN_F32, 2, {HQ, t}, {t, 1}}, rows[n], rows[n + 1]);
      attn_tensor gq = part(packed(one_q, HQ, t, E), rows[n], rows[n + 1]),
                  gk = part(packed(one_k, H, u, E), keys[n], keys[n + 1]);
      attn_tensor gv = part(packed(one_v, H, u, EV), keys[n], keys[n + 1]);
      attn_tensor smask = {
          mask + rows[n] * u + keys[n], ATTN_BOOL, 2, {sq.shape[1], sk.shape[1]}, {u, 1}};
      if (desc.mask) alone.mask = &smask;
      alone.lse = &slse, alone.origin_batch = n;
      attn_sdpa_gradients own = {.struct_size = sizeof own, .d_q = &gq, .d_k = &gk, .d_v = &gv};
      assert_int_equal(attn_sdpa_forward(&alone, &sq, &sk, &sv, &so, NULL), ATTN_OK);
      assert_int_equal(attn_sdpa_backward(&alone, &sq, &sk, &sv, &so, &sd, &own, NULL), ATTN_OK);
    }
    assert_memory_equal(o, one_o, (size_t)(HQ * t * EV) * 4);
    assert_memory_equal(lse, one_lse, (size_t)(HQ * t) * 4);
    assert_memory_equal(d_q, one_q, (size_t)(HQ * t * E) * 4);
    assert_memory_equal(d_k, one_k, (size_t)(H * u * E) * 4);
    assert_memory_equal(d_v, one_v, (size_t)(H * u * EV) * 4);
  }
}

static void invalid_cu_seqlens_are_rejected(void **state) {
  (void)state;
  static int64_t good[] = {0, 3, 8}, falls[] = {0, 5, 3}, over[] = {0, 5, 9}, late[] = {1, 3, 8},
                 few[] = {0, 8};
  attn_tensor tq = packed(q, HQ, 8, E), tk = packed(k, H, 8, E), tv = packed(v, H, 8, EV),
              to = packed(o, HQ, 8, EV);
  attn_tensor right = starts_of(good, 3);
  int64_t *const wrong[] = {falls, over, late};
  attn_error err;
  memset(o, 0, sizeof o);
  for (int n = 0; n < 4; n++) {
    attn_tensor bad = n < 3 ? starts_of(wrong[n], 3) : starts_of(few, 2);
    assert_int_not_equal(attn_sdpa_forward_packed(NULL, &tq, &tk, &tv, &to, &bad, &right, &err),
                         ATTN_OK);
    assert_int_not_equal(attn_sdpa_forward_packed(NULL, &tq, &tk, &tv, &to, &right, &bad, &err),
                         ATTN_OK);
    assert_string_equal(err.argument, "cu_seqlens_k");
  }
  assert_int_equal(attn_sdpa_forward_packed(NULL, &tq, &tk, &tv, &to, NULL, &right, &err),
                   ATTN_ERR_ARGUMENT);
  right.dtype = ATTN_F32;
  assert_int_equal(attn_sdpa_forward_packed(NULL, &tq, &tk, &tv, &to, &right, &right, &err),
                   ATTN_ERR_TYPE);
  for (int n = 0; n < HQ * 8 * EV; n++) assert_true(o[n] == 0);
}

/* ---- Gradients of masks and sinks ---- */

enum { FEW = 120 };
static double many[HQ * FEW * FEW], apart[HQ * FEW * FEW], terms[HQ * FEW * FEW];
static double values[4][HQ * FEW * FEW], outputs[2][HQ * FEW * FEW];

/* Random values of one type, or the initial contents of an output; rank 3. */
static attn_tensor drawn(double *memory, attn_dtype dtype, int64_t n0, int64_t n1, int64_t n2) {
  for (int64_t n = 0; n < n0 * n1 * n2; n++) {
    double value = (double)uniform();
    float narrow = (float)value;
    memcpy((char *)memory + n * attn_real_size(dtype),
           dtype == ATTN_F64 ? (void *)&value : (void *)&narrow, (size_t)attn_real_size(dtype));
  }
  return (attn_tensor){memory, dtype, 3, {n0, n1, n2}, {n1 * n2, n2, 1}};
}

static double at3(const attn_tensor *t, int64_t a, int64_t b, int64_t c) {
  int64_t place = a * t->strides[0] + b * t->strides[1] + c * t->strides[2];
  return attn_load_real(t->dtype, (char *)t->data + place * attn_real_size(t->dtype));
}

static attn_tensor slice(attn_tensor t, int dimension, int64_t from, int64_t to) {
  t.data = (char *)t.data + from * t.strides[dimension] * attn_real_size(t.dtype);
  t.shape[dimension] = to - from;
  return t;
}

/* Every pair's term of the mask's gradient, by each sequence alone with the mask written out, and
 * the gradients of sinks and of additive's vectors added in order. */
static void each_alone(const attn_sdpa *packed_desc, const attn_tensor *t, const attn_tensor *full,
                       attn_tensor all, double *sinks, double *vectors) {
  memset(terms, 0, sizeof terms), memset(sinks, 0, HQ * sizeof *sinks);
  memset(vectors, 0, HQ * E * sizeof *vectors);
  for (int n = 0; n < SEQUENCES; n++) {
    attn_sdpa desc = *packed_desc;
    double mine[HQ], my_vectors[HQ * E] = {0};
    attn_tensor d_additive = {my_vectors, ATTN_F64, 2, {HQ, E}, {E, 1}};
    attn_tensor d_sinks = {mine, ATTN_F64, 1, {HQ}, {1}};
    attn_tensor sq = slice(t[0], 1, rows[n], rows[n + 1]),
                sk = slice(t[1], 1, keys[n], keys[n + 1]),
                sv = slice(t[2], 1, keys[n], keys[n + 1]),
                so = slice(t[3], 1, rows[n], rows[n + 1]),
                sd = slice(t[4], 1, rows[n], rows[n + 1]);
    attn_tensor lse_of = slice(*packed_desc->lse, 1, rows[n], rows[n + 1]);
    attn_tensor part_of = slice(slice(*full, 1, rows[n], rows[n + 1]), 2, keys[n], keys[n + 1]);
    attn_tensor d_mask = slice(slice(all, 1, rows[n], rows[n + 1]), 2, keys[n], keys[n + 1]);
    desc.mask = &part_of, desc.lse = &lse_of, desc.origin_batch += n;
    attn_sdpa_gradients g = {.struct_size = sizeof g, .d_mask = &d_mask, .d_sinks = &d_sinks};
    if (desc.additive) g.d_additive = &d_additive;
    assert_int_equal(attn_sdpa_backward(&desc, &sq, &sk, &sv, &so, &sd, &g, NULL), ATTN_OK);
    for (int h = 0; h < HQ; h++) sinks[h] += mine[h];
    for (int e = 0; e < HQ * E; e++) vectors[e] += my_vectors[e];
  }
}

/* Terms are the same to the bit, so two sums of n of them differ by the order of additions alone:
 * by at most 2 n u times the sum of the magnitudes, u = 2^-53. */
static void check_mask_sums(const attn_tensor *got, const attn_tensor *all) {
  for (int64_t a = 0; a < got->shape[0]; a++)
    for (int64_t b = 0; b < got->shape[1]; b++)
      for (int64_t c = 0; c < got->shape[2]; c++) {
        double sum = 0, size = 0, count = 0;
        for (int64_t h = a; h < HQ; h += got->shape[0] == 1 ? 1 : HQ)
          for (int64_t i = b; i < all->shape[1]; i += got->shape[1] == 1 ? 1 : all->shape[1])
            for (int64_t j = c; j < all->shape[2]; j += got->shape[2] == 1 ? 1 : all->shape[2])
              sum += at3(all, h, i, j), size += fabs(at3(all, h, i, j)), count++;
        assert_true(fabs(at3(got, a, b, c) - sum) <= 2 * count * 0x1p-53 * size);
      }
}

/* A sink's term of row i is at most |dO_i . o_i|, for its weight is at most 1. */
static void check_sink_sums(const double *got, const double *expected, const attn_tensor *out,
                            const attn_tensor *d_out) {
  for (int h = 0; h < HQ; h++) {
    double size = 0;
    for (int64_t i = 0; i < out->shape[1]; i++)
      for (int64_t e = 0; e < EV; e++) size += fabs(at3(out, h, i, e) * at3(d_out, h, i, e));
    double most = out->dtype == ATTN_F64 ? 2 * (double)out->shape[1] * 0x1p-53 * size : 0;
    assert_true(fabs(got[h] - expected[h]) <= most); /* in float32 one sum for each sequence */
  }
}

/* A mask of HQ or 1 heads, t or 1 queries, u or 1 keys, here and there -inf. */
static attn_tensor drawn_mask(attn_dtype dtype, int64_t t, int64_t u) {
  attn_tensor m = drawn(many, dtype, chance(2) ? HQ : 1, chance(2) ? t : 1, chance(2) ? u : 1);
  float narrow = -(float)INFINITY;
  double wide = -(double)INFINITY;
  size_t size = (size_t)attn_real_size(dtype);
  for (int64_t n = 0; n < m.shape[0] * m.shape[1] * m.shape[2]; n++)
    if (chance(9))
      memcpy((char *)many + (size_t)n * size, dtype == ATTN_F64 ? (void *)&wide : &narrow, size);
  return m;
}

static attn_tensor written_out(attn_tensor m, int64_t t, int64_t u) {
  const int64_t full[3] = {HQ, t, u};
  for (int n = 0; n < 3; n++)
    if (m.shape[n] == 1) m.strides[n] = 0;
  memcpy(m.shape, full, sizeof full);
  return m;
}

static void check_a_pack(attn_dtype dtype, int64_t t, int64_t u) {
  attn_tensor x[5] = {drawn(values[0], dtype, HQ, t, E), drawn(values[1], dtype, H, u, E),
                      drawn(values[2], dtype, H, u, EV), drawn(outputs[0], dtype, HQ, t, EV),
                      drawn(values[3], dtype, HQ, t, EV)};
  attn_tensor mask_of = drawn_mask(dtype, t, u), full = written_out(mask_of, t, u),
              d_mask = drawn(apart, ATTN_F64, mask_of.shape[0], mask_of.shape[1], mask_of.shape[2]),
              all = {terms, ATTN_F64, 3, {HQ, t, u}, {t * u, u, 1}},
              log_sum = {outputs[1], dtype, 2, {HQ, t}, {t, 1}};
  double sink[HQ], d_sink[HQ], expected[HQ];
  attn_tensor sinks = {sink, ATTN_F64, 1, {HQ}, {1}}, d_sinks = {d_sink, ATTN_F64, 1, {HQ}, {1}};
  for (int h = 0; h < HQ; h++) sink[h] = (double)uniform(), d_sink[h] = 7;
  attn_tensor starts_q = starts_of(rows, SEQUENCES + 1), starts_k = starts_of(keys, SEQUENCES + 1);
  attn_sdpa desc = ATTN_SDPA_INIT;
  desc.mask = &mask_of, desc.sinks = &sinks, desc.lse = &log_sum;
  if (chance(3)) desc.flags |= ATTN_SDPA_DROPOUT, desc.dropout = 0.3, desc.seed = 9;
  double vector[HQ * E], d_vector[HQ * E], expected_vectors[HQ * E];
  attn_tensor additive = {vector, ATTN_F64, 2, {HQ, E}, {E, 1}}, d_additive = additive;
  d_additive.data = d_vector;
  for (int e = 0; e < HQ * E; e++) vector[e] = (double)uniform(), d_vector[e] = 7;
  attn_sdpa_gradients g = {.struct_size = sizeof g, .d_mask = &d_mask, .d_sinks = &d_sinks};
  if (chance(3)) desc.additive = &additive, g.d_additive = &d_additive;
  attn_error err;
  if (attn_sdpa_forward_packed(&desc, x, x + 1, x + 2, x + 3, &starts_q, &starts_k, &err) ||
      attn_sdpa_backward_packed(&desc, x, x + 1, x + 2, x + 3, x + 4, &starts_q, &starts_k, &g,
                                &err))
    fail_msg("%s", err.message);
  each_alone(&desc, x, &full, all, expected, expected_vectors);
  if (desc.additive) assert_memory_equal(d_vector, expected_vectors, sizeof d_vector);
  check_mask_sums(&d_mask, &all);
  check_sink_sums(d_sink, expected, &x[3], &x[4]);
}

static void masks_sinks_and_vectors_add_up(void **state) {
  (void)state;
  for (int round = 0; round < 60; round++) {
    int64_t most = 1 + below(20); /* often one or no token */
    for (int n = 0; n < SEQUENCES; n++)
      rows[n + 1] = rows[n] + below(most), keys[n + 1] = keys[n] + below(most);
    check_a_pack(chance(2) ? ATTN_F64 : ATTN_F32, rows[SEQUENCES], keys[SEQUENCES]);
  }
}

/* ---- Edges: one token in all, dimensions of 1, memory that ends ---- */

/* Dense, flush against a forbidden page. */
static attn_tensor guard(struct guarded *g, attn_dtype dtype, int64_t n0, int64_t n1, int64_t n2) {
  *g = guarded_new((size_t)(n0 * n1 * n2) * attn_dtype_size(dtype), 1);
  return (attn_tensor){g->data, dtype, 3, {n0, n1, n2}, {n1 * n2, n2, 1}};
}

/* The only token is sequence 0's; that 1 and 2 have keys is nothing to it. */
static void an_empty_sequence_has_no_tokens(void **state) {
  (void)state;
  static int64_t one[] = {0, 1, 1, 1}, some[] = {0, 2, 5, 8};
  for (int swap = 0; swap < 2; swap++) {
    int64_t t = swap ? 8 : 1, u = swap ? 1 : 8;
    fill(q, HQ * MOST * E), fill(k, H * MOST * E), fill(v, H * MOST * EV);
    attn_tensor tq = packed(q, HQ, t, E), tk = packed(k, H, u, E), tv = packed(v, H, u, EV),
                to = packed(o, HQ, t, EV), alone = packed(one_o, HQ, t, EV);
    attn_tensor starts_q = starts_of(swap ? some : one, 4),
                starts_k = starts_of(swap ? one : some, 4);
    assert_int_equal(attn_sdpa_forward_packed(NULL, &tq, &tk, &tv, &to, &starts_q, &starts_k, NULL),
                     ATTN_OK);
    memset(one_o, 0, sizeof one_o);
    attn_tensor sq = part(tq, 0, swap ? 2 : 1), so = part(alone, 0, swap ? 2 : 1),
                sk = part(tk, 0, swap ? 1 : 2), sv = part(tv, 0, swap ? 1 : 2);
    assert_int_equal(attn_sdpa_forward(NULL, &sq, &sk, &sv, &so, NULL), ATTN_OK);
    assert_memory_equal(o, one_o, (size_t)(HQ * t * EV) * 4);
  }
}

/* Sequences of one token each, and a mask that broadcasts: all of it is every sequence's. */
static void a_broadcast_mask_is_not_sliced(void **state) {
  (void)state;
  enum { T = 5 };
  static int64_t each[] = {0, 1, 2, 3, 4, 5};
  fill(q, HQ * MOST * E), fill(k, H * MOST * E), fill(v, H * MOST * EV);
  attn_tensor tq = packed(q, HQ, T, E), tk = packed(k, H, T, E), tv = packed(v, H, T, EV),
              to = packed(o, HQ, T, EV), plain = packed(one_o, HQ, T, EV);
  attn_tensor starts = starts_of(each, T + 1);
  assert_int_equal(attn_sdpa_forward_packed(NULL, &tq, &tk, &tv, &plain, &starts, &starts, NULL),
                   ATTN_OK);
  for (int n = 0; n < 8; n++) {
    struct guarded memory;
    attn_tensor m = guard(&memory, ATTN_F32, n & 1 ? HQ : 1, n & 2 ? T : 1, n & 4 ? T : 1);
    for (int64_t at = 0; at < m.shape[0] * m.strides[0]; at++) ((float *)m.data)[at] = 0;
    attn_sdpa desc = ATTN_SDPA_INIT;
    desc.mask = &m;
    assert_int_equal(attn_sdpa_forward_packed(&desc, &tq, &tk, &tv, &to, &starts, &starts, NULL),
                     ATTN_OK);
    assert_memory_equal(o, one_o, sizeof(float) * HQ * T * EV);
    guarded_free(&memory);
  }
}

/* ---- Refusals ---- */

/* A call that is right, in guarded memory, and what was in its outputs before. */
enum { TOKENS = 8, KINDS = 16 };
struct call {
  struct guarded memory[KINDS];
  int used;
  attn_tensor q, k, v, o, lse, d_o, d_q, d_k, d_v, d_lse, mask, d_mask, lengths, starts_q, starts_k;
  attn_sdpa desc;
  attn_sdpa_gradients g;
};

static attn_tensor rank(attn_tensor t, int count) { /* without its first dimensions */
  for (int n = 0; n < count; n++)
    t.shape[n] = t.shape[n + 3 - count], t.strides[n] = t.strides[n + 3 - count];
  t.rank = count;
  return t;
}

static attn_tensor tokens(struct call *c, int64_t heads, int64_t count, int64_t width) {
  attn_tensor t = guard(&c->memory[c->used++], ATTN_F32, heads, count, width);
  fill(t.data, (size_t)(heads * count * width));
  return t;
}

static attn_tensor integers(struct call *c, int count, const int64_t *from) {
  attn_tensor t = rank(guard(&c->memory[c->used++], ATTN_I64, 1, 1, count), 1);
  memcpy(t.data, from, (size_t)count * sizeof *from);
  return t;
}

static void begin_call(struct call *c) {
  *c = (struct call){.desc = ATTN_SDPA_INIT};
  c->q = tokens(c, HQ, TOKENS, E), c->k = tokens(c, H, TOKENS, E), c->v = tokens(c, H, TOKENS, EV);
  c->o = tokens(c, HQ, TOKENS, EV), c->d_o = tokens(c, HQ, TOKENS, EV);
  c->lse = rank(tokens(c, 1, HQ, TOKENS), 2), c->d_lse = rank(tokens(c, 1, HQ, TOKENS), 2);
  c->d_q = tokens(c, HQ, TOKENS, E), c->d_k = tokens(c, H, TOKENS, E);
  c->d_v = tokens(c, H, TOKENS, EV), c->mask = rank(tokens(c, 1, TOKENS, TOKENS), 2);
  c->d_mask = rank(tokens(c, 1, TOKENS, TOKENS), 2);
  c->lengths = integers(c, 2, (int64_t[]){3, 5});
  c->starts_q = integers(c, 3, (int64_t[]){0, 3, 8});
  c->starts_k = integers(c, 3, (int64_t[]){0, 3, 8});
  c->desc.lse = &c->lse, c->desc.mask = &c->mask, c->desc.key_lengths = &c->lengths;
  c->g = (attn_sdpa_gradients){.struct_size = sizeof c->g,
                               .d_q = &c->d_q,
                               .d_k = &c->d_k,
                               .d_v = &c->d_v,
                               .d_mask = &c->d_mask,
                               .d_lse = &c->d_lse};
}

static attn_status run_forward(struct call *c, attn_error *err) {
  return attn_sdpa_forward_packed(&c->desc, &c->q, &c->k, &c->v, &c->o, &c->starts_q, &c->starts_k,
                                  err);
}

static attn_status run_backward(struct call *c, attn_error *err) {
  return attn_sdpa_backward_packed(&c->desc, &c->q, &c->k, &c->v, &c->o, &c->d_o, &c->starts_q,
                                   &c->starts_k, &c->g, err);
}

static void lse_short(struct call *c) {
  guarded_free(&c->memory[5]);
  c->lse = rank(guard(&c->memory[5], ATTN_F32, 1, HQ, TOKENS - 2), 2);
}
static void lse_of_rank_1(struct call *c) { c->lse = rank(c->lse, 1); }
static void mask_short(struct call *c) {
  guarded_free(&c->memory[10]);
  c->mask = rank(guard(&c->memory[10], ATTN_F32, 1, TOKENS, TOKENS - 2), 2);
}
static void size_unknown(struct call *c) { c->desc.struct_size = 3; }
static void size_absurd(struct call *c) { c->desc.struct_size = (size_t)-1; }
static void has_weights(struct call *c) { c->desc.weights = &c->mask; }
static void o_short(struct call *c) { c->o.shape[1]--; }
static void v_short(struct call *c) { c->v.shape[1]--; }
static void last_length_long(struct call *c) { ((int64_t *)c->lengths.data)[1] = 6; }
static void lengths_many(struct call *c) { c->lengths = c->starts_q; }
static void lengths_square(struct call *c) { c->lengths.rank = 2; }
static void o_over_starts(struct call *c) { /* its starts are right, and would not stay so */
  memcpy(c->o.data, c->starts_k.data, 3 * sizeof(int64_t));
  c->starts_k.data = c->o.data;
}
static void last_row_empty(struct call *c) {
  c->desc.empty_row = ATTN_EMPTY_ERROR;
  for (int j = 0; j < TOKENS; j++)
    ((float *)c->mask.data)[(TOKENS - 1) * TOKENS + j] = -(float)INFINITY;
}
static void workspace_small(struct call *c) {
  c->desc.workspace = c->o.data, c->desc.workspace_bytes = 1;
}
static void d_v_short(struct call *c) { c->d_v.shape[1]--; }
static void d_v_over_q(struct call *c) { c->d_v.data = c->q.data; }
static void d_mask_short(struct call *c) { c->d_mask.shape[1]--; }
static void d_sinks_of_none(struct call *c) { c->g.d_sinks = &c->lse; }
static void d_o_short(struct call *c) { c->d_o.shape[1]--; }
static void d_lse_short(struct call *c) { c->d_lse.shape[1]--; }

static const struct wrong {
  void (*make)(struct call *);
  const char *argument;
  attn_status status;
  int directions; /* 1 forward, 2 backward, 3 both */
} wrongs[] = {{lse_short, "lse", ATTN_ERR_SHAPE, 3},
              {lse_of_rank_1, "lse", ATTN_ERR_SHAPE, 3},
              {mask_short, "mask", ATTN_ERR_SHAPE, 3},
              {size_unknown, "struct_size", ATTN_ERR_ARGUMENT, 3},
              {size_absurd, "struct_size", ATTN_ERR_ARGUMENT, 3},
              {has_weights, "weights", ATTN_ERR_ARGUMENT, 3},
              {o_short, "o", ATTN_ERR_SHAPE, 3},
              {v_short, "v", ATTN_ERR_SHAPE, 3},
              {last_length_long, "key_lengths", ATTN_ERR_ARGUMENT, 3},
              {lengths_many, "key_lengths", ATTN_ERR_SHAPE, 3},
              {lengths_square, "key_lengths", ATTN_ERR_SHAPE, 3},
              {o_over_starts, "o", ATTN_ERR_ARGUMENT, 1},
              {last_row_empty, "empty_row", ATTN_ERR_EMPTY_ROW, 1},
              {workspace_small, "workspace", ATTN_ERR_MEMORY, 1},
              {d_v_short, "d_v", ATTN_ERR_SHAPE, 2},
              {d_v_over_q, "d_v", ATTN_ERR_ARGUMENT, 2},
              {d_o_short, "d_o", ATTN_ERR_SHAPE, 2},
              {d_mask_short, "d_mask", ATTN_ERR_SHAPE, 2},
              {d_sinks_of_none, "d_sinks", ATTN_ERR_ARGUMENT, 2},
              {d_lse_short, "d_lse", ATTN_ERR_SHAPE, 2}};

/* The memory is read-only: a write by a rejected call is a fault. */
static void invalid_calls_write_nothing(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof wrongs / sizeof *wrongs; n++)
    for (int direction = 1; direction <= 2; direction++) {
      struct call c;
      attn_error err = {0};
      begin_call(&c);
      if (run_forward(&c, &err) || run_backward(&c, &err)) fail_msg("%s", err.message);
      wrongs[n].make(&c);
      for (int m = 0; m < c.used; m++) guarded_freeze(&c.memory[m]);
      if (wrongs[n].directions & direction) {
        attn_status status = direction == 1 ? run_forward(&c, &err) : run_backward(&c, &err);
        assert_string_equal(err.argument, wrongs[n].argument);
        assert_int_equal(status, wrongs[n].status);
      }
      for (int m = 0; m < c.used; m++) guarded_free(&c.memory[m]);
    }
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_bits_as_each_alone),
                                     cmocka_unit_test(invalid_cu_seqlens_are_rejected),
                                     cmocka_unit_test(masks_sinks_and_vectors_add_up),
                                     cmocka_unit_test(an_empty_sequence_has_no_tokens),
                                     cmocka_unit_test(a_broadcast_mask_is_not_sliced),
                                     cmocka_unit_test(invalid_calls_write_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
