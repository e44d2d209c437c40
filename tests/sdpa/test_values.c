/* Values: a row does not depend on keys that it does not see, and does on all that it sees;
 * large values, a single large score, increasing scores and ties stay within the bound. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "random.h"
#include "select.h"

enum { L = 70, S = 210, E = 16, EV = 12 };

static float q[L * E], k[S * E], v[S * EV], o[L * EV], o2[L * EV], lse[L];
static attn_tensor tq, tk, tv, to, to2, tlse;
static attn_sdpa desc;

static int begin(void **state) {
  (void)state;
  for (int n = 0; n < L * E; n++) q[n] = uniform();
  for (int n = 0; n < S * E; n++) k[n] = uniform();
  for (int n = 0; n < S * EV; n++) v[n] = uniform();
  tq = attn_tensor_dense(ATTN_F32, q, 1, 1, L, E), tk = attn_tensor_dense(ATTN_F32, k, 1, 1, S, E);
  tv = attn_tensor_dense(ATTN_F32, v, 1, 1, S, EV);
  to = attn_tensor_dense(ATTN_F32, o, 1, 1, L, EV);
  to2 = attn_tensor_dense(ATTN_F32, o2, 1, 1, L, EV);
  tlse = (attn_tensor){lse, ATTN_F32, 3, {1, 1, L}, {L, L, 1}};
  desc = (attn_sdpa)ATTN_SDPA_INIT;
  return 0;
}

static void forward(attn_tensor *out) {
  attn_error err;
  if (attn_sdpa_forward(&desc, &tq, &tk, &tv, out, &err)) fail_msg("%s", err.message);
}

/* row_limit: 0, or how many rows are compared. */
static void verified_rows(int64_t row_limit) {
  attn_error err;
  attn_sdpa_report r = {.struct_size = sizeof r};
  forward(&to);
  if (attn_sdpa_verify(&desc, &tq, &tk, &tv, &to, row_limit, random_bits(), &r, &err))
    fail_msg("%s", err.message);
  if (r.outside)
    fail_msg("%d outside; worst [%d, %d]: %g, not %g (bound %g)", (int)r.outside,
             (int)r.worst_index[2], (int)r.worst_index[3], r.worst_got, r.worst_exact,
             r.worst_bound);
}

static void verified(void) { verified_rows(0); }

/* Of few rows too, which another kernel computes; of many rows a sample is compared. */
static void verified_of_any_rows(void) {
  static const int64_t rows[] = {1, 5, 16, L};
  for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
    tq.shape[2] = to.shape[2] = rows[n]; /* strides stay */
    verified_rows(16);
  }
}

/* Hidden keys filled with poison give the same bits as with 0. */
static void poison_in_hidden_keys_cannot_leak(void **state) {
  (void)state;
  static const float poisons[] = {NAN, INFINITY, -INFINITY, FLT_MAX};
  static char mask[L * S];
  attn_tensor tmask = attn_tensor_dense(ATTN_BOOL, mask, 1, 1, L, S);
  attn_tensor vector = {q, ATTN_F32, 1, {E}, {1}};
  for (int kind = 0; kind < 16; kind++) {
    begin(NULL);
    float poison = poisons[kind % 4];
    if (kind >= 8) desc.additive = &vector;
    for (int i = 0; i < L; i++)
      for (int j = 0; j < S; j++)
        mask[i * S + j] = j % 7 != 3 && (kind % 8 < 4 || (i + j) % 3 != 0);
    desc.mask = &tmask;
    int64_t hidden_from = 190;
    int64_t length[1] = {hidden_from};
    attn_tensor tlength = {length, ATTN_I64, 1, {1}, {1}};
    desc.key_lengths = &tlength;
    for (int pass = 0; pass < 2; pass++) {
      for (int j = 0; j < S; j++) {
        if (j % 7 != 3 && j < hidden_from) continue;
        for (int e = 0; e < E; e++) k[j * E + e] = pass ? poison : 0.0f;
        for (int e = 0; e < EV; e++) v[j * EV + e] = pass ? poison : 0.0f;
      }
      forward(pass ? &to2 : &to);
    }
    assert_memory_equal(o, o2, sizeof o);
  }
}

/* Causal: a NaN in key and value j reaches the rows from j on only. */
static void poison_in_the_future_cannot_leak(void **state) {
  (void)state;
  desc.flags = ATTN_SDPA_CAUSAL;
  forward(&to);
  for (int e = 0; e < E; e++) k[40 * E + e] = NAN;
  for (int e = 0; e < EV; e++) v[40 * EV + e] = INFINITY;
  forward(&to2);
  assert_memory_equal(o, o2, 40 * EV * sizeof(float));
  for (int n = 40 * EV; n < L * EV; n++) assert_true(o2[n] != o2[n]);
}

static void a_live_nan_reaches_its_own(void **state) {
  (void)state;
  forward(&to);
  q[5 * E + 3] = NAN; /* row 5, and no other */
  forward(&to2);
  for (int i = 0; i < L; i++)
    for (int e = 0; e < EV; e++)
      assert_true(i == 5 ? o2[i * EV + e] != o2[i * EV + e] : o2[i * EV + e] == o[i * EV + e]);
  begin(NULL);
  forward(&to);
  v[100 * EV + 4] = NAN; /* column 4 of every row, and no other */
  forward(&to2);
  for (int i = 0; i < L; i++)
    for (int e = 0; e < EV; e++)
      assert_true(e == 4 ? o2[i * EV + e] != o2[i * EV + e] : o2[i * EV + e] == o[i * EV + e]);
}

static void one_key_that_matters_is_found_at_any_place(void **state) {
  (void)state;
  for (int at = 0; at < S; at += SANITIZED ? 5 : 1) {
    begin(NULL);
    for (int e = 0; e < E; e++) k[at * E + e] = q[at % 8 * E + e] * 30;
    verified_of_any_rows();
  }
}

static void scores_that_rise_without_end(void **state) {
  (void)state;
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int j = 0; j < S; j++)
      for (int e = 0; e < E; e++) k[j * E + e] = (float)sign * (float)j * 0.5f * q[e];
    for (int i = 0; i < L; i++) memcpy(q + i * E, q, E * sizeof(float));
    verified_of_any_rows();
  }
}

static void ties_outliers_and_zeros(void **state) {
  (void)state;
  memset(k, 0, sizeof k);
  verified();
  for (int e = 0; e < E; e++) k[150 * E + e] = 500;
  verified();
  memset(q, 0, sizeof q);
  verified();
}

/* The true output is finite, so no sum on the way may overflow. */
/* Large weights have v = 0, so an output consists of small weights with large exponents; with
 * few terms all roundings of a score may have one sign. */
static void outputs_made_of_small_weights(void **state) {
  (void)state;
  enum { KINDS = 8, ROWS = 64 };
  static const int widths[KINDS] = {1, 1, 1, 2, 4, 8, 16, 64};
  static const float gains[KINDS] = {3, 6, 9, 4, 3, 2, 1.5f, 0.8f};
  static float queries[ROWS * 64], keys[2 * 64], outputs[ROWS], values[2] = {0, 1};
  desc.flags |= ATTN_SDPA_SCALE, desc.scale = 1;
  for (int round = 0; round < 160; round++) {
    int width = widths[round % KINDS];
    float gain = gains[round % KINDS];
    for (int n = 0; n < ROWS * width; n++) queries[n] = gain * (0.75f + uniform() / 4);
    for (int n = 0; n < 2 * width; n++)
      keys[n] = gain * (0.75f + uniform() / 4) * (n < width ? 1.0f : -1.0f);
    tq = attn_tensor_dense(ATTN_F32, queries, 1, 1, ROWS, width);
    tk = attn_tensor_dense(ATTN_F32, keys, 1, 1, 2, width);
    tv = attn_tensor_dense(ATTN_F32, values, 1, 1, 2, 1);
    to = attn_tensor_dense(ATTN_F32, outputs, 1, 1, ROWS, 1);
    verified();
  }
}

static void values_near_the_largest_float(void **state) {
  (void)state;
  for (int n = 0; n < S * EV; n++) v[n] = v[n] < 0 ? -FLT_MAX : FLT_MAX;
  for (int n = 0; n < S; n++) v[n * EV] = FLT_MAX / 2;
  verified();
  for (int n = 0; n < S * EV; n++) v[n] = uniform() * FLT_MIN;
  verified();
}

static void a_finite_mask_never_hides(void **state) {
  (void)state;
  static float mask[S];
  attn_tensor tmask = {mask, ATTN_F32, 1, {S}, {1}};
  for (int j = 0; j < S; j++) mask[j] = -FLT_MAX; /* all equal: no effect */
  desc.mask = &tmask;
  verified();
  assert_true(o[0] != 0.0f);
}

static void rows_that_see_nothing(void **state) {
  (void)state;
  desc.flags = ATTN_SDPA_CAUSAL | ATTN_SDPA_OFFSET;
  desc.align = ATTN_ALIGN_OFFSET;
  desc.offset = -3;
  desc.lse = &tlse;
  forward(&to);
  for (int i = 0; i < 3; i++) {
    assert_true(lse[i] == -INFINITY);
    for (int e = 0; e < EV; e++) assert_true(o[i * EV + e] == 0.0f);
  }
  assert_true(o[3 * EV] == v[0]); /* row 3 sees key 0 alone */
  desc.empty_row = ATTN_EMPTY_NAN;
  verified();
  assert_true(o[0] != o[0] && lse[0] != lse[0]);
  desc.empty_row = ATTN_EMPTY_MEAN;
  verified();
  desc.empty_row = ATTN_EMPTY_ERROR;
  float before = o[0] = 42;
  assert_int_equal(attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, NULL), ATTN_ERR_EMPTY_ROW);
  assert_true(o[0] == before);
}

static void dimensions_of_zero(void **state) {
  (void)state;
  for (int which = 0; which < 5; which++) {
    int64_t n[5] = {1, 3, 4, 2, 2}; /* B L S E Ev */
    n[which] = 0;
    tq = attn_tensor_dense(ATTN_F32, q, n[0], 1, n[1], n[3]);
    tk = attn_tensor_dense(ATTN_F32, k, n[0], 1, n[2], n[3]);
    tv = attn_tensor_dense(ATTN_F32, v, n[0], 1, n[2], n[4]);
    to = attn_tensor_dense(ATTN_F32, o, n[0], 1, n[1], n[4]);
    o[0] = 42;
    forward(&to);
    if (which == 2) assert_true(o[0] == 0.0f); /* no keys: empty rows */
    if (which == 3)
      assert_true(fabsf(o[0] - (v[0] + v[2] + v[4] + v[6]) / 4) < 1e-6f); /* all alike */
  }
}

/* Extreme offsets and windows: the saturated ends meet at row 7, key 7. */
static void offsets_and_windows_at_the_end_of_int64(void **state) {
  (void)state;
  tq.shape[2] = to.shape[2] = 8, tk.shape[2] = tv.shape[2] = 8;
  desc.flags = ATTN_SDPA_WINDOW | ATTN_SDPA_OFFSET;
  desc.align = ATTN_ALIGN_OFFSET;
  desc.offset = desc.window_left = INT64_MAX, desc.window_right = -1;
  verified();
  for (int e = 0; e < EV; e++) assert_true(o[7 * EV + e] == v[7 * EV + e]);
  desc.offset = -INT64_MAX, desc.window_left = -1, desc.window_right = INT64_MAX;
  verified();
  for (int e = 0; e < EV; e++) assert_true(o[e] == v[e]);
}

/* A scale beyond float32: only the scores count. */
static void scales_that_no_float_holds(void **state) {
  (void)state;
  desc.flags = ATTN_SDPA_SCALE, desc.scale = 1e300;
  memset(q, 0, sizeof q);
  verified();
  begin(NULL);
  desc.flags = ATTN_SDPA_SCALE, desc.scale = 1e-44;
  for (int n = 0; n < L * E; n++) q[n] *= 1e22f;
  for (int n = 0; n < S * E; n++) k[n] *= 1e22f;
  verified();
}

/* A scale of 1 is the plain dot product; additive scores have no scale unless it is given. Two keys
 * whose scores differ by x weigh 1 / (1 + e^-x). */
static void scores_of_other_kinds_by_hand(void **state) {
  (void)state;
  float a[2] = {2, -3}, query[2] = {0.5f, -1}, keys[4] = {1, 0.25f, -2, 3}, values[2] = {1, 0},
        got[1];
  attn_tensor vector = {a, ATTN_F32, 1, {2}, {1}};
  tq = attn_tensor_dense(ATTN_F32, query, 1, 1, 1, 2);
  tk = attn_tensor_dense(ATTN_F32, keys, 1, 1, 2, 2);
  tv = attn_tensor_dense(ATTN_F32, values, 1, 1, 2, 1);
  attn_tensor out = attn_tensor_dense(ATTN_F32, got, 1, 1, 1, 1);
  desc.flags = ATTN_SDPA_SCALE, desc.scale = 1;
  forward(&out);
  double plain = (0.5 - 0.25) - (-1.0 - 3.0);
  assert_true(fabs((double)got[0] - 1 / (1 + exp(-plain))) < 1e-6);
  double additive = (2 * tanh(1.5) - 3 * tanh(-0.75)) - (2 * tanh(-1.5) - 3 * tanh(2.0));
  desc.additive = &vector, desc.flags = 0;
  forward(&out);
  assert_true(fabs((double)got[0] - 1 / (1 + exp(-additive))) < 1e-6);
  desc.flags = ATTN_SDPA_SCALE, desc.scale = -0.25;
  forward(&out);
  assert_true(fabs((double)got[0] - 1 / (1 + exp(0.25 * additive))) < 1e-6);
}

/* Sums that saturate every tanh, and vectors that no float holds once they are scaled. */
static void additive_scores_at_their_ends(void **state) {
  (void)state;
  double a[E];
  attn_tensor vector = {a, ATTN_F64, 1, {E}, {1}};
  desc.additive = &vector, desc.lse = &tlse;
  for (int kind = 0; kind < 4; kind++) {
    for (int e = 0; e < E; e++) a[e] = (double)uniform() * (kind == 3 ? 1e-41 : 1);
    for (int n = 0; n < L * E; n++) q[n] = uniform() * (float[]){1e3f, 3e38f, 1e-42f, 1}[kind];
    for (int n = 0; n < S * E; n++) k[n] = uniform() * (float[]){1, 3e38f, 1e-42f, 1}[kind];
    verified();
  }
}

/* Caps beyond the range of float32 are exact. */
static void caps_that_no_float_holds(void **state) {
  (void)state;
  static const double caps[] = {1e-300, 1e-50, 1e-39, 1e38, 2.4e38, 1e39, 1e300};
  desc.flags |= ATTN_SDPA_SOFTCAP;
  for (int n = 0; n < 7; n++) desc.softcap = caps[n], verified();
}

/* Whether row i sees key j in a mask of runs that hide whole blocks and vectors of rows. */
static int in_runs(int kind, int i, int j) {
  if (kind == 0) return j < 40 + i;
  if (kind == 1) return (i / 16 + j / 96) % 2 == 0;
  if (kind == 2) return i / 5 != j / 20 && j != 200 - i;
  if (kind == 3) return j % 96 >= 6 && i != 64;
  return j >= 100 && j < 190;
}

/* Blocks without a visible key are left out, and those without a hidden one run without a mask:
 * a boolean and a float mask give the same bits, a row's bits do not depend on the others' masks,
 * and a mask that rows share is that mask for each row. */
static void masks_that_hide_whole_blocks(void **state) {
  (void)state;
  static char mask[L * S];
  static float added[L * S];
  attn_tensor bools = attn_tensor_dense(ATTN_BOOL, mask, 1, 1, L, S);
  attn_tensor floats = attn_tensor_dense(ATTN_F32, added, 1, 1, L, S);
  for (int kind = 0; kind < 5; kind++) {
    for (int n = 0; n < L * S; n++)
      mask[n] = (char)in_runs(kind, n / S, n % S), added[n] = mask[n] ? 0.0f : -INFINITY;
    desc.mask = &bools, bools.strides[2] = S;
    verified();
    desc.mask = &floats;
    forward(&to2);
    assert_memory_equal(o, o2, sizeof o);
    added[3 * S] = 1.5f;
    forward(&to2);
    assert_memory_equal(o + 4 * EV, o2 + 4 * EV, sizeof o - 4 * EV * sizeof *o);
    desc.mask = &bools, bools.strides[2] = 0;
    verified();
  }
}

/* Distances that float32 holds, and those that it does not; with a mask or without. */
static void alibi_far_away(void **state) {
  (void)state;
  static float added[L * S];
  double slope = 0.7;
  attn_tensor slopes = {&slope, ATTN_F64, 1, {1}, {1}};
  attn_tensor floats = attn_tensor_dense(ATTN_F32, added, 1, 1, L, S);
  for (int n = 0; n < L * S; n++) added[n] = n % 7 ? uniform() : -INFINITY;
  desc.alibi = &slopes, desc.align = ATTN_ALIGN_OFFSET, desc.flags = ATTN_SDPA_OFFSET;
  for (int bits = 0; bits < 40; bits++)
    for (int masked = 0; masked < 2; masked++) {
      desc.offset = ((int64_t)1 << bits) + (masked ? 3 : -1);
      desc.mask = masked ? &floats : NULL;
      slope = 0.7 / (double)((int64_t)1 << bits / 2);
      verified();
    }
}

#define LAW(name) cmocka_unit_test_setup(name, begin)

static int suite(const char *kernel) {
  const struct CMUnitTest tests[] = {LAW(caps_that_no_float_holds),
                                     LAW(poison_in_hidden_keys_cannot_leak),
                                     LAW(poison_in_the_future_cannot_leak),
                                     LAW(a_live_nan_reaches_its_own),
                                     LAW(one_key_that_matters_is_found_at_any_place),
                                     LAW(scores_that_rise_without_end),
                                     LAW(ties_outliers_and_zeros),
                                     LAW(outputs_made_of_small_weights),
                                     LAW(values_near_the_largest_float),
                                     LAW(a_finite_mask_never_hides),
                                     LAW(rows_that_see_nothing),
                                     LAW(dimensions_of_zero),
                                     LAW(offsets_and_windows_at_the_end_of_int64),
                                     LAW(scales_that_no_float_holds),
                                     LAW(scores_of_other_kinds_by_hand),
                                     LAW(additive_scores_at_their_ends),
                                     LAW(masks_that_hide_whole_blocks),
                                     LAW(alibi_far_away)};
  return cmocka_run_group_tests_name(kernel, tests, NULL, NULL);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  return on_every_kernel(suite);
}
