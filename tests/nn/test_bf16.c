/* Linear layers in bf16. float32 is rounded to the nearest bf16, ties to even. A layer on a bf16
 * tape has the bits of attn_linear on rounded operands, forward and backward, with |error| <= n u
 * sum |a b| for n products, u = 2^-24. The gradient of the bias is computed from the unrounded dy.
 * A step that needs more memory than was planned fails.
 *
 *     test_bf16 [SEED] */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bf16.h"
#include "float_bits.h"
#include "random.h"
#include "tape.h"

/* ---- Rounding ---- */

/* By definition: the nearer of the two neighbours of 16 bits, in a tie the even one. The successor
 * of the largest finite value counts as 2^128 and means infinity. */
static double value_of(uint32_t high) {
  if ((high & 0x7FFF) == 0x7F80) return high & 0x8000 ? -0x1p128 : 0x1p128;
  return (double)float_of_bits(high << 16);
}

static uint32_t nearest(uint32_t bits) {
  uint32_t below_it = bits >> 16, above = below_it + 1;
  double x = (double)float_of_bits(bits), down = fabs(x - value_of(below_it)),
         up = fabs(value_of(above) - x);
  if (down == 0) return below_it;
  return up < down || (!(down < up) && below_it & 1) ? above : below_it;
}

/* NaN and infinity are kept. */
static void expect_rounded(uint32_t bits, uint32_t is) {
  float x = float_of_bits(bits);
  uint32_t expected = isinf(x) ? bits >> 16 : nearest(bits);
  if (isnan(x) ? !isnan(float_of_bits(is << 16)) : is != expected)
    fail_msg("%08x is rounded to %04x, expected %04x", bits, is, expected);
}

/* Edge cases of the upper 16 bits: subnormals, 1, the largest, infinity, NaN. */
static void values_round_to_nearest_ties_to_even(void **state) {
  (void)state;
  static const uint32_t high[] = {0x0000, 0x0001, 0x0002, 0x007F, 0x0080, 0x3F7F, 0x3F80,
                                  0x3F81, 0x7F7E, 0x7F7F, 0x7F80, 0x7F81, 0x7FC0, 0x7FFF},
                        low[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
  enum { HIGH = sizeof high / sizeof *high, LOW = sizeof low / sizeof *low };
  enum { CORNERS = 2 * HIGH * LOW, COUNT = CORNERS + 20000 };
  static float x[COUNT];
  static uint16_t rounded[COUNT];
  for (int n = 0; n < COUNT; n++)
    x[n] = float_of_bits(n < CORNERS
                             ? (high[n / 2 / LOW] | (uint32_t)n % 2 << 15) << 16 | low[n / 2 % LOW]
                             : (uint32_t)below(65536) << 16 | (uint32_t)below(65536));
  for (int32_t threads = 1; threads <= 3; threads += 2) {
    const struct attn_host host = {.threads = threads};
    attn_convert_to_bf16(&host, rounded, x, COUNT);
    for (int64_t n = 0; n < COUNT; n++) expect_rounded(bits_of_float(x[n]), rounded[n]);
  }
}

/* ---- A layer on a tape ---- */

enum { N = 37, IN = 19, OUT = 45 };

struct layer {
  float x[N * IN], w[OUT * IN], b[OUT], dy[N * OUT];   /* inputs */
  float dx[N * IN], dw[OUT * IN], db[OUT], y[N * OUT]; /* gradients are accumulated */
  float rx[N * IN], rw[OUT * IN], rdy[N * OUT];        /* rounded as defined above */
};

static void draw(float *x, float *rounded, int count) {
  for (int e = 0; e < count; e++) {
    x[e] = uniform();
    if (rounded) rounded[e] = float_of_bits(nearest(bits_of_float(x[e])) << 16);
  }
}

static void draw_layer(struct layer *l) {
  draw(l->x, l->rx, N * IN), draw(l->w, l->rw, OUT * IN), draw(l->dy, l->rdy, N * OUT);
  draw(l->b, NULL, OUT), draw(l->dx, NULL, N * IN), draw(l->dw, NULL, OUT * IN);
  draw(l->db, NULL, OUT);
}

/* The first call measures, the second computes. */
static void run_on_tape(struct layer *l, int32_t threads) {
  struct attn_tape t = {.training = 1, .bf16 = 1, .host.threads = threads};
  uint16_t bf16[OUT * IN];
  struct attn_tape_variable x = {.x = l->x, .dx = l->dx, .n = N, .width = IN},
                            w = {.x = l->w, .dx = l->dw, .n = OUT, .width = IN, .bf16 = bf16},
                            b = {.x = l->b, .dx = l->db, .n = 1, .width = OUT}, *y = NULL;
  attn_convert_to_bf16(&t.host, bf16, l->w, OUT * IN);
  attn_tape_linear(&t, &x, &w, &b);
  assert_int_equal(attn_tape_reserve(&t, NULL), ATTN_OK);
  y = attn_tape_linear(&t, &x, &w, &b);
  assert_int_equal(t.status, ATTN_OK);
  memcpy(l->y, y->x, sizeof l->y), memcpy(y->dx, l->dy, sizeof l->dy);
  attn_tape_backward(&t);
  assert_int_equal(t.status, ATTN_OK);
  attn_tape_close(&t);
}

static void to_bf16(uint16_t *to, const float *rounded, int count) {
  for (int e = 0; e < count; e++) to[e] = (uint16_t)(bits_of_float(rounded[e]) >> 16);
}

static void run_attn_linear(struct layer *l, int32_t threads) {
  uint16_t x[N * IN], w[OUT * IN], dy[N * OUT];
  to_bf16(x, l->rx, N * IN), to_bf16(w, l->rw, OUT * IN), to_bf16(dy, l->rdy, N * OUT);
  const struct attn_host host = {.threads = threads};
  const struct attn_linear linear = {N, IN, OUT, ATTN_BF16, x, w};
  assert_int_equal(attn_linear_forward(&host, &linear, l->y, l->b, NULL), ATTN_OK);
  assert_int_equal(attn_linear_backward(&host, &linear, (struct attn_gradient){l->dx, 1}, l->dw,
                                        l->db, l->dy, dy, NULL),
                   ATTN_OK);
}

/* is = was + sum over k of a[k a_step] b[k b_step] */
static void expect_sum(float is, float was, const float *a, int a_step, const float *b, int b_step,
                       int count) {
  double sum = (double)was, size = fabs(sum);
  for (int k = 0; k < count; k++) {
    double term = (double)a[k * a_step] * (double)b[k * b_step];
    sum += term, size += fabs(term);
  }
  assert_true(fabs((double)is - sum) <= (count + 1) * 0x1p-24 * size);
}

static void expect_sums(const struct layer *is, const struct layer *was) {
  static const float one = 1;
  for (int n = 0; n < N; n++)
    for (int o = 0; o < OUT; o++)
      expect_sum(is->y[n * OUT + o], was->b[o], was->rx + n * IN, 1, was->rw + o * IN, 1, IN);
  for (int n = 0; n < N; n++)
    for (int i = 0; i < IN; i++)
      expect_sum(is->dx[n * IN + i], was->dx[n * IN + i], was->rdy + n * OUT, 1, was->rw + i, IN,
                 OUT);
  for (int o = 0; o < OUT; o++)
    for (int i = 0; i < IN; i++)
      expect_sum(is->dw[o * IN + i], was->dw[o * IN + i], was->rdy + o, OUT, was->rx + i, IN, N);
  for (int o = 0; o < OUT; o++) expect_sum(is->db[o], was->db[o], was->dy + o, OUT, &one, 0, N);
}

static void a_layer_on_a_tape_has_the_bits_of_attn_linear(void **state) {
  (void)state;
  static struct layer was, on_tape, hand;
  for (int32_t threads = 1; threads <= 3; threads++) {
    draw_layer(&was), on_tape = hand = was;
    run_on_tape(&on_tape, threads), run_attn_linear(&hand, threads);
    assert_memory_equal(on_tape.y, hand.y, sizeof hand.y);
    assert_memory_equal(on_tape.dx, hand.dx, sizeof hand.dx);
    assert_memory_equal(on_tape.dw, hand.dw, sizeof hand.dw);
    assert_memory_equal(on_tape.db, hand.db, sizeof hand.db);
    expect_sums(&on_tape, &was);
    assert_memory_equal(on_tape.w, was.w, sizeof was.w); /* weights stay float32 */
  }
}

/* ---- Memory ---- */

/* One layer of `out` outputs, after a variable of `extra` elements that only takes memory. */
static attn_status step(struct attn_tape *t, struct layer *l, int64_t out, int64_t extra,
                        uint16_t *bf16) {
  struct attn_tape_variable x = {.x = l->x, .dx = l->dx, .n = N, .width = IN},
                            w = {.x = l->w, .dx = l->dw, .n = out, .width = IN, .bf16 = bf16};
  attn_tape_variable(t, extra, 1);
  struct attn_tape_variable *y = attn_tape_linear(t, &x, &w, NULL);
  if (!t->data.memory || t->status) return t->status;
  memset(y->dx, 0, (size_t)(N * out) * sizeof *y->dx);
  attn_tape_backward(t);
  return t->status;
}

/* In the failing step the values fit, but not its gradient in bf16. */
static void a_step_larger_than_planned_fails(void **state) {
  (void)state;
  static struct layer l;
  uint16_t bf16[OUT * IN] = {0};
  for (int larger = 0; larger < 2; larger++) {
    struct attn_tape t = {.training = 1, .bf16 = 1, .host.threads = 1};
    step(&t, &l, OUT - 1, 8 * N, bf16);
    assert_int_equal(t.bf16_gradient_bytes, (size_t)(N * (OUT - 1)) * sizeof *bf16);
    assert_int_equal(attn_tape_reserve(&t, NULL), ATTN_OK);
    assert_int_equal(step(&t, &l, larger ? OUT : OUT - 1, larger ? 1 : 8 * N, bf16),
                     larger ? ATTN_ERR_MEMORY : ATTN_OK);
    if (larger) assert_non_null(strstr(t.error.message, "a step is larger than was planned"));
    attn_tape_start(&t); /* the tape is still usable */
    assert_int_equal(step(&t, &l, OUT - 1, 8 * N, bf16), ATTN_OK);
    attn_tape_start(&t);
    assert_int_equal(step(&t, &l, OUT - 1, 16 * N, bf16), ATTN_ERR_MEMORY);
    attn_tape_close(&t);
  }
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_round_to_nearest_ties_to_even),
      cmocka_unit_test(a_layer_on_a_tape_has_the_bits_of_attn_linear),
      cmocka_unit_test(a_step_larger_than_planned_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
