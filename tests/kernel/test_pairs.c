/* The vector operations of AVX512-BF16 give the bits of their software model, for random and
 * special values; 2^x of weights is within 2 ULP. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "element.h"
#include "floats.h"
#include "pair_ops.h"
#include "random.h"

static const struct pair_ops *ops(int n) {
#if defined(__x86_64__)
  static int printed;
  if (n == 1 && attn_cpu_isa() >= ATTN_ISA_AVX512_BF16) return &pair_ops_avx512;
  if (n == 1 && !printed++) printf("SKIPPED: %s: this CPU lacks it\n", pair_ops_avx512.name);
#endif
  return n == 0 ? &pair_ops_model : NULL;
}

/* Of any exponent, near 1, near the smallest normal, or special. */
static uint32_t draw_float(void) {
  static const uint32_t special[] = {0,          0x80000000, 0x00000001, 0x807FFFFF, 0x00800000,
                                     0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F808000,
                                     0x3F818000, 0x3F807FFF, 0x007FC000, 0x00008000};
  uint32_t bits = random_bits() & 0x807FFFFF;
  switch (below(5)) {
    case 0:
      return bits | (uint32_t)below(256) << 23;
    case 1:
      return bits | (uint32_t)(120 + below(16)) << 23;
    case 2:
      return bits | (uint32_t)below(40) << 23;
    case 3:
      return bits | (uint32_t)(60 + below(12)) << 23;
    default:
      return special[below(sizeof special / sizeof *special)];
  }
}

static uint32_t draw_pair(void) { return draw_float() >> 16 | (draw_float() & 0xFFFF0000); }

static void fill(float *lanes, uint32_t (*draw)(void)) {
  for (int n = 0; n < PAIR_LANES; n++) {
    uint32_t bits = draw();
    memcpy(lanes + n, &bits, sizeof bits);
  }
}

/* Equal bits, or NaN of any bits; of pairs for each element. */
static int same(float x, float y, int pairs) {
  uint32_t a, b;
  memcpy(&a, &x, sizeof a), memcpy(&b, &y, sizeof b);
  if (!pairs) return a == b || (x != x && y != y);
  for (int n = 0; n < 2; n++, a >>= 16, b >>= 16)
    if ((uint16_t)a != (uint16_t)b && ((a & 0x7FFF) <= 0x7F80 || (b & 0x7FFF) <= 0x7F80)) return 0;
  return 1;
}

static void expect_same(const char *name, const float *x, const float *y, int pairs) {
  for (int n = 0; n < PAIR_LANES; n++)
    if (!same(x[n], y[n], pairs)) fail_msg("%s: %a, not %a", name, (double)y[n], (double)x[n]);
}

static void the_model_has_the_bits_of_the_instructions(void **state) {
  (void)state;
  float a[PAIR_LANES] __attribute__((aligned(64))), b[PAIR_LANES] __attribute__((aligned(64)));
  float sum[PAIR_LANES] __attribute__((aligned(64))), x[2][PAIR_LANES] __attribute__((aligned(64)));
  for (int round = 0; ops(1) && round < 200000; round++) {
    const uint32_t even = random_bits(), odd = random_bits();
    fill(a, draw_pair), fill(b, draw_pair), fill(sum, draw_float);
    for (int n = 0; n < 2; n++) memcpy(x[n], sum, sizeof sum), ops(n)->dot(a, b, x[n]);
    expect_same("dot", x[0], x[1], 0);
    for (int n = 0; n < 2; n++) memcpy(x[n], a, sizeof a), ops(n)->keep(even, odd, x[n]);
    expect_same("keep", x[0], x[1], 1);
    for (int n = 0; n < 2; n++)
      ops(n)->zip((const uint16_t *)(const void *)a, (const uint16_t *)(const void *)b, x[n]);
    expect_same("zip", x[0], x[1], 1);
    fill(a, draw_float), fill(b, draw_float);
    for (int n = 0; n < 2; n++) ops(n)->round(a, b, x[n]);
    expect_same("round", x[0], x[1], 1);
    for (int n = 0; n < 2; n++) ops(n)->round_neighbours(a, b, x[n]);
    expect_same("round_neighbours", x[0], x[1], 1);
    for (int n = 0; n < 2; n++) ops(n)->exp2_weight(a, x[n], PAIR_LANES);
    expect_same("exp2_weight", x[0], x[1], 0);
  }
}

/* Two fused multiply-adds, the second element first; subnormal values are 0. */
static void dots_are_fused_and_flush(void **state) {
  (void)state;
  static const struct {
    float a[2], b[2], sum, dot; /* a, b: elements 0 and 1 */
  } cases[] = {{{1, 1}, {0x1p-30f, 1}, 0x1p-6f, 1 + 0x1p-6f},
               {{0x1p100f, -0x1p100f}, {0x1p20f, 0x1p20f}, 1, 0},
               {{0x1.02p0f, 0}, {0x1.02p0f, 0}, -0x1.04p0f, 0x1p-14f},
               {{0x1p-130f, 0}, {1, 0}, 0, 0},
               {{0x1p-70f, 0}, {0x1p-70f, 0}, 0x1p-126f, 0x1.0004p-126f},
               {{0x1p-63f, 0x1p-63f}, {0x1p-64f, 0x1p-64f}, 0, 0},
               {{0, 0}, {0, 0}, 0x1p-127f, 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int n = 0; n < 2 && ops(n); n++) {
      float a[PAIR_LANES] __attribute__((aligned(64))), b[PAIR_LANES] __attribute__((aligned(64)));
      float sum[PAIR_LANES] __attribute__((aligned(64)));
      for (int lane = 0; lane < PAIR_LANES; lane++) {
        const uint16_t low[2] = {attn_to_bf16(cases[c].a[0]), attn_to_bf16(cases[c].a[1])};
        const uint16_t high[2] = {attn_to_bf16(cases[c].b[0]), attn_to_bf16(cases[c].b[1])};
        memcpy(a + lane, low, 4), memcpy(b + lane, high, 4), sum[lane] = cases[c].sum;
      }
      ops(n)->dot(a, b, sum);
      if (!same(cases[c].dot, sum[5], 0))
        fail_msg("%s, case %d: %a, not %a", ops(n)->name, (int)c, (double)sum[5],
                 (double)cases[c].dot);
    }
}

static double check(float x, float y, float y_of_minus_x) {
  (void)y_of_minus_x;
  if (x != x) return assert_true(y != y), 0;
  if (x > 1.0f) return assert_true(y > 1.0f), 0;
  if (x < -150.0f) return assert_true(y == 0.0f), 0;
  if (x < -126.0f) return assert_true(y < 0x1p-126f), 0;
  return floats_ulps(y, exp2((double)x));
}

static void exp2_of_weights_is_within_2_ulp(void **state) {
  (void)state;
  for (int n = 0; n < 2 && ops(n); n++) {
    float where = 0, one[PAIR_LANES] = {0, -1, -INFINITY, NAN, -125, 1}, y[PAIR_LANES];
    double worst = floats_worst(ops(n)->exp2_weight, check, 257, &where);
    printf("%s: worst %.3f ULP, at %a\n", ops(n)->name, worst, (double)where);
    assert_true(worst <= 2.0);
    ops(n)->exp2_weight(one, y, PAIR_LANES);
    assert_true(y[0] == 1 && y[1] == 0.5f && y[2] == 0 && y[3] != y[3] && y[4] == 0x1p-125f);
    assert_true(y[5] == 2);
  }
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_model_has_the_bits_of_the_instructions),
      cmocka_unit_test(dots_are_fused_and_flush),
      cmocka_unit_test(exp2_of_weights_is_within_2_ulp),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
