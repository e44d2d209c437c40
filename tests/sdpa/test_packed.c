/* Laws of packed sequences: the same bits as each alone, forward and backward, with masks, lengths
 * and dropout; starts that fall or overrun are refused before anything is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
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

static void starts_that_do_not_fit_are_refused(void **state) {
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
    assert_string_equal(err.argument, "key_starts");
  }
  assert_int_equal(attn_sdpa_forward_packed(NULL, &tq, &tk, &tv, &to, NULL, &right, &err),
                   ATTN_ERR_ARGUMENT);
  right.dtype = ATTN_F32;
  assert_int_equal(attn_sdpa_forward_packed(NULL, &tq, &tk, &tv, &to, &right, &right, &err),
                   ATTN_ERR_TYPE);
  for (int n = 0; n < HQ * 8 * EV; n++) assert_true(o[n] == 0);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_bits_as_each_alone),
                                     cmocka_unit_test(starts_that_do_not_fit_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
