/* bf16 calls and their gradients by dot products and by tiles: AVX512-BF16 and AMX-BF16 give the
 * bits of their software models, on any number of threads; outputs are within the bound of rounded
 * weights (gradients: test_backward.c); weights sum to 1 as rounded; what dot products do not
 * compute runs in float32.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "cpu.h"
#include "element.h"
#include "random.h"
#include "select.h"

enum { B = 2, HQ = 4, L = 150, S = 330, E = 72, MOST = B * HQ * S * (E + 1) };

static uint16_t q[MOST], k[MOST], v[MOST], o[2][MOST], d_o[MOST];
static uint16_t gradients[2][3][MOST];
static float d_mask[2][L * S];
static float lse[2][B * HQ * L], lse_float32[B * HQ * L], mask[L * S], slopes[HQ], sinks[HQ];

struct call {
  attn_sdpa desc;
  attn_tensor q, k, v, mask, slopes, sinks;
};

/* Now and then subnormal, the smallest normal or, if last is 6, the largest value. */
static uint16_t draw_bf16(float gain, int last) {
  static const uint16_t special[] = {0x0001, 0x8040, 0x007F, 0x0080, 0x3F80, 0x7F7F};
  return chance(500) ? special[below(last)] : attn_to_bf16(uniform() * gain);
}

/* Dense, or with a NaN after each row. */
static attn_tensor tensor(uint16_t *data, int64_t heads, int64_t rows, int64_t width, int gap) {
  attn_tensor t = attn_tensor_dense(ATTN_BF16, data, B, heads, rows, width + gap);
  t.shape[3] = width;
  for (int64_t n = 0; gap && n < B * heads * rows; n++) data[n * (width + 1) + width] = 0x7FC0;
  return t;
}

static void draw(struct call *c) {
  static const int64_t widths[] = {1, 2, 7, 16, 33, 64, 72}, rows[] = {17, 40, 64, 65, 150};
  static const int64_t all_keys[] = {1, 2, 5, 41, 95, 96, 97, 191, 330};
  int64_t heads = chance(2) ? HQ : 2, l = rows[below(5)], s = all_keys[below(9)];
  int64_t e = widths[below(7)], ev = widths[below(7)];
  float gain = chance(4) ? 30.0f : 1.0f; /* rows restart */
  for (int n = 0; n < MOST; n++)
    q[n] = draw_bf16(gain, 5), k[n] = draw_bf16(1, 5), v[n] = draw_bf16(1, 6),
    d_o[n] = draw_bf16(1, 5);
  for (int n = 0; n < L * S; n++) mask[n] = chance(3) ? -INFINITY : uniform();
  for (int n = 0; n < HQ; n++) slopes[n] = uniform(), sinks[n] = uniform();
  c->q = tensor(q, HQ, l, e, (int)below(2)), c->k = tensor(k, heads, s, e, (int)below(2));
  c->v = tensor(v, heads, s, ev, (int)below(2));
  c->mask = attn_tensor_dense(ATTN_F32, mask, 1, 1, l, s);
  c->slopes = (attn_tensor){slopes, ATTN_F32, 1, {HQ}, {1}};
  c->sinks = (attn_tensor){sinks, ATTN_F32, 1, {HQ}, {1}};
  c->desc = (attn_sdpa)ATTN_SDPA_INIT;
  if (chance(2)) c->desc.flags |= ATTN_SDPA_CAUSAL, c->desc.align = ATTN_ALIGN_BOTTOM_RIGHT;
  if (chance(3)) c->desc.flags |= ATTN_SDPA_WINDOW, c->desc.window_left = below(120);
  if (c->desc.flags & ATTN_SDPA_WINDOW) c->desc.window_right = below(120);
  if (chance(4)) c->desc.flags |= ATTN_SDPA_SOFTCAP, c->desc.softcap = 5;
  if (chance(4)) c->desc.flags |= ATTN_SDPA_SCALE, c->desc.scale = (double)uniform();
  if (chance(4)) c->desc.mask = &c->mask;
  if (chance(4)) c->desc.alibi = &c->slopes;
  if (chance(4)) c->desc.sinks = &c->sinks;
}

static attn_tensor like(const attn_tensor *t, uint16_t *data) {
  return attn_tensor_dense(ATTN_BF16, data, t->shape[0], t->shape[1], t->shape[2], t->shape[3]);
}

/* The gradients of a call to gradients[n] and d_mask[n]. */
static void differentiate(const struct call *c, int n, const attn_tensor *out) {
  attn_error err;
  attn_tensor d_out = like(out, d_o), d_q = like(&c->q, gradients[n][0]),
              d_k = like(&c->k, gradients[n][1]), d_v = like(&c->v, gradients[n][2]),
              of_mask = c->mask;
  attn_sdpa_gradients g = {.struct_size = sizeof g, .d_q = &d_q, .d_k = &d_k, .d_v = &d_v};
  of_mask.data = d_mask[n];
  if (c->desc.mask) g.d_mask = &of_mask;
  if (attn_sdpa_backward(&c->desc, &c->q, &c->k, &c->v, out, &d_out, &g, &err))
    fail_msg("%s", err.message);
}

/* Equal bits, or NaN of any. */
static void expect_same_gradients(uint64_t seed) {
  const uint16_t *x = gradients[0][0], *y = gradients[1][0];
  for (int n = 0; n < 3 * MOST; n++)
    if (x[n] != y[n] && ((x[n] & 0x7FFF) <= 0x7F80 || (y[n] & 0x7FFF) <= 0x7F80))
      fail_msg("seed %llu: the bits of gradients differ at %d of %d", (unsigned long long)seed,
               n % MOST, n / MOST);
  for (int n = 0; n < L * S; n++)
    if (memcmp(&d_mask[0][n], &d_mask[1][n], 4) && !(isnan(d_mask[0][n]) && isnan(d_mask[1][n])))
      fail_msg("seed %llu: the bits of d_mask differ", (unsigned long long)seed);
}

/* Runs a call into o[n] and lse[n] and compares it with the equations. */
static void run(struct call *c, int n, const char *name) {
  attn_error err;
  attn_sdpa_report report = {.struct_size = sizeof report};
  const int64_t l = c->q.shape[2];
  attn_tensor out = attn_tensor_dense(ATTN_BF16, o[n], B, HQ, l, c->v.shape[3]);
  attn_tensor sums = {lse[n], ATTN_F32, 3, {B, HQ, l}, {HQ * l, l, 1}};
  c->desc.lse = &sums, c->desc.threads = n + 1; /* threads change no bit */
  memset(o[n], 0xFF, sizeof o[n]), memset(lse[n], 0xFF, sizeof lse[n]);
  if (attn_sdpa_forward(&c->desc, &c->q, &c->k, &c->v, &out, &err) ||
      attn_sdpa_verify(&c->desc, &c->q, &c->k, &c->v, &out, 24, 1, &report, &err))
    fail_msg("%s: %s", name, err.message);
  if (report.outside || !report.elements)
    fail_msg("%s: L %d S %d E %d Ev %d flags %x: %g, not %g; bound %g", name, (int)l,
             (int)c->k.shape[2], (int)c->q.shape[3], (int)c->v.shape[3], (int)c->desc.flags,
             report.worst_got, report.worst_exact, report.worst_bound);
  differentiate(c, n, &out);
}

/* The bound of the output, that of rounded weights, can hide a key that a sum of weights lacks or
 * counts twice. The log-sum-exp cannot. */
static void expect_sums_of_float32(struct call *c) {
  static uint16_t unused[MOST];
  const int64_t l = c->q.shape[2];
  attn_tensor out = attn_tensor_dense(ATTN_BF16, unused, B, HQ, l, c->v.shape[3]);
  attn_tensor sums = {lse_float32, ATTN_F32, 3, {B, HQ, l}, {HQ * l, l, 1}};
  c->desc.lse = &sums;
  assert_non_null(select_kernel(0)); /* plain C, in float32 */
  assert_int_equal(attn_sdpa_forward(&c->desc, &c->q, &c->k, &c->v, &out, NULL), ATTN_OK);
  for (int64_t n = 0; n < B * HQ * l; n++) {
    const float x = lse[0][n], y = lse_float32[n];
    if (x != y && !(fabsf(x - y) <= 1e-4f * (1 + fabsf(y))))
      fail_msg("S %d: the log-sum-exp of row %d is %g, in float32 %g", (int)c->k.shape[2], (int)n,
               (double)x, (double)y);
  }
}

/* The kernels of this machine that run bf16 by these instructions: themselves and the model. */
static const char *select_dots(const char *isa, int n) {
  const char *name;
  for (int kernel = 0; (name = select_kernel(kernel)); kernel++)
    if (!strncmp(name, isa, strlen(isa)) && n-- == 0) return name;
  return NULL;
}

static void compare_with_model(const char *isa) {
  struct call c;
  for (int round = 0; round < ROUNDS(150); round++) {
    uint64_t seed = random_state;
    const char *name;
    int count = 0;
    draw(&c);
    for (; (name = select_dots(isa, count)); count++) run(&c, count, name);
    if (count) expect_sums_of_float32(&c);
    select_default();
    if (!count) skip();
    if (count == 2 && (memcmp(o[0], o[1], sizeof *o) || memcmp(lse[0], lse[1], sizeof *lse)))
      fail_msg("seed %llu: the bits differ", (unsigned long long)seed);
    if (count == 2) expect_same_gradients(seed);
    if (count == 1 && round == 0) printf("SKIPPED: %s: this CPU lacks it\n", isa);
  }
}

static void instructions_and_model_give_the_same_bits(void **state) {
  (void)state;
  compare_with_model("avx512_bf16");
}

static void tiles_and_model_give_the_same_bits(void **state) {
  (void)state;
  compare_with_model("amx_bf16");
}

static attn_tensor head(uint16_t *data, int64_t rows, int64_t width) {
  return attn_tensor_dense(ATTN_BF16, data, 1, 1, rows, width);
}

/* v is 255/128 for all keys and so is the output. All weights but the largest are just above the
 * middle of two values: divided by their own sum, they would add up to 2^-8 more. */
static void rounded_weights_sum_to_1(void **state) {
  (void)state;
  enum { ROWS = 32, KEYS = 200 };
  struct call c = {.q = head(q, ROWS, 2), .k = head(k, KEYS, 2), .v = head(v, KEYS, 1)};
  attn_tensor out = head(o[0], ROWS, 1);
  const char *name;
  c.desc = (attn_sdpa)ATTN_SDPA_INIT;
  c.desc.flags = ATTN_SDPA_SCALE, c.desc.scale = log(2 / (1 + 0x1.1p-8));
  for (int n = 0; n < 2 * ROWS; n++) q[n] = attn_to_bf16(n % 2 ? 0.0f : 1.0f);
  for (int n = 0; n < 2 * KEYS; n++) k[n] = attn_to_bf16(n == 0 || n % 2 ? 0.0f : -1.0f);
  for (int n = 0; n < KEYS; n++) v[n] = attn_to_bf16(255 / 128.0f);
  for (int n = 0; n < 4; n++) {
    name = select_dots(n < 2 ? "avx512_bf16" : "amx_bf16", n % 2);
    if (!name) continue;
    assert_int_equal(attn_sdpa_forward(&c.desc, &c.q, &c.k, &c.v, &out, NULL), ATTN_OK);
    for (int i = 0; i < ROWS; i++) assert_int_equal(o[0][i], v[0]);
  }
  select_default();
}

static const char *kernel_of(const struct call *c, const char *isa) {
  static attn_plan plan;
  attn_error err = {0};
  plan = (attn_plan){.struct_size = sizeof plan};
  setenv("ATTN_ISA", isa, 1);
  if (attn_sdpa_plan(&c->desc, &c->q, &c->k, &c->v, NULL, &plan, &err)) fail_msg("%s", err.message);
  unsetenv("ATTN_ISA");
  return plan.kernel;
}

static void other_calls_run_in_float32(void **state) {
  (void)state;
  if (attn_cpu_isa() < ATTN_ISA_AVX512_BF16) skip();
  struct call c = {.q = head(q, 32, 8), .k = head(k, 32, 8), .v = head(v, 32, 8)}, plain = c;
  attn_tensor weights = attn_tensor_dense(ATTN_BF16, o[0], 1, 1, 32, 32);
  plain.desc = c.desc = (attn_sdpa)ATTN_SDPA_INIT;
  assert_string_equal(kernel_of(&c, "avx512_bf16"), "bf16 avx512_bf16");
  assert_string_equal(kernel_of(&c, "avx512"), "f32 avx512");
  if (attn_cpu_isa() >= ATTN_ISA_AMX_BF16)
    assert_string_equal(kernel_of(&c, "amx_bf16"), "bf16 amx_bf16");
  c.desc.flags = ATTN_SDPA_DROPOUT, c.desc.dropout = 0.5;
  assert_string_equal(kernel_of(&c, "avx512_bf16"), "f32 avx512");
  c = plain, c.desc.weights = &weights;
  assert_string_equal(kernel_of(&c, "avx512_bf16"), "f32 avx512");
  c = plain, c.desc.flags = ATTN_SDPA_SCALE, c.desc.scale = 0x1p-130;
  assert_string_equal(kernel_of(&c, "avx512_bf16"), "f32 avx512");
  c.desc.scale = 1e300;
  assert_string_equal(kernel_of(&c, "avx512_bf16"), "f32 avx512");
  c = plain, c.q.dtype = c.k.dtype = c.v.dtype = ATTN_F16;
  assert_string_equal(kernel_of(&c, "avx512_bf16"), "f32 avx512");
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instructions_and_model_give_the_same_bits),
      cmocka_unit_test(tiles_and_model_give_the_same_bits),
      cmocka_unit_test(rounded_weights_sum_to_1),
      cmocka_unit_test(other_calls_run_in_float32),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
