/* Gradients: the reference agrees with central differences of the forward in double; every
 * kernel agrees with the reference within its bound; hidden keys and rows contribute nothing;
 * the same bits for any threads; invalid calls are rejected. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "element.h"
#include "kernel.h"
#include "random.h"
#include "ref.h"
#include "scene.h"
#include "select.h"

/* Where bounds are at their tightest: rows with all but one weight small, few terms in a score, and
 * caps far below what cancels in it. */
static void sharpen(struct scene *c) {
  static const double caps[] = {1e-3, 1e-2, 0.1, 1};
  c->e = chance(2) ? 1 : c->e, c->ev = chance(2) ? 1 : c->ev, c->has_mask = 0;
  c->desc.flags &= ~(uint64_t)(ATTN_SDPA_CAUSAL | ATTN_SDPA_WINDOW | ATTN_SDPA_SOFTCAP);
  double cap = caps[below(4)], gain = 4;
  if (chance(2)) c->desc.flags |= ATTN_SDPA_SOFTCAP, c->desc.softcap = cap;
  if (chance(2) && (c->desc.flags & ATTN_SDPA_SOFTCAP)) gain = sqrt(cap);
  for (int n = 0; n < 1 << 12; n++) c->q[n] *= gain, c->k[n] *= gain;
  for (int n = 0; n < 1 << 12 && chance(2); n++) c->v[n] = (double)below(2);
}

/* ---- The oracle against central differences ---- */

static double *f64(const attn_tensor *t) { return t->data; }

/* sum dO O + sum dlse lse: its gradient is what the backward computes. */
static double loss(struct tensors *t, const struct scene *c) {
  double sum = 0;
  forward(t);
  for (int64_t n = 0; n < c->b * c->hq * c->l * c->ev; n++) sum += f64(&t->o)[n] * f64(&t->d_o)[n];
  for (int64_t n = 0; c->has_d_lse && n < c->b * c->hq * c->l; n++)
    if (f64(&t->lse)[n] > -1e300) sum += f64(&t->lse)[n] * f64(&t->d_lse)[n];
  return sum;
}

static void agrees(struct tensors *t, const struct scene *c, double *at, double gradient,
                   const char *name) {
  const double kept = *at, h = 1e-5;
  if (isinf(kept)) {
    assert_true(gradient == 0);
    return;
  }
  *at = kept + h;
  double up = loss(t, c);
  *at = kept - h;
  double down = loss(t, c);
  *at = kept;
  double difference = (up - down) / (2 * h);
  if (fabs(difference - gradient) > 1e-6 * (1 + fabs(gradient)) + 1e-7)
    fail_msg("%s: %.12g, but differences give %.12g", name, gradient, difference);
}

static void the_reference_agrees_with_central_differences(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(60); round++) {
    struct scene *c = &scene;
    struct tensors t;
    draw_scene(c, 12);
    make_tensors(&t, c, ATTN_F64);
    forward(&t);
    backward(&t);
    for (int n = 0; n < 6; n++) {
      int64_t i = below(c->b * c->hq * c->l * c->e), j = below(c->b * c->h * c->s * c->e);
      int64_t m = below(c->b * c->h * c->s * c->ev), x = below(product(c->mask_shape));
      agrees(&t, c, &f64(&t.q)[i], f64(&t.d_q)[i], "d_q");
      agrees(&t, c, &f64(&t.k)[j], f64(&t.d_k)[j], "d_k");
      agrees(&t, c, &f64(&t.v)[m], f64(&t.d_v)[m], "d_v");
      if (c->has_mask) agrees(&t, c, &f64(&t.mask)[x], f64(&t.d_mask)[x], "d_mask");
      int64_t a = below(additive_heads(c) * c->e);
      if (c->additive_rank)
        agrees(&t, c, &f64(&t.additive)[a], f64(&t.d_additive)[a], "d_additive");
      if (has_sinks(c))
        agrees(&t, c, &f64(&t.sinks)[n % c->hq], f64(&t.d_sinks)[n % c->hq], "d_sinks");
    }
    free_tensors(&t);
  }
}

/* ---- The kernels against the oracle ---- */

static void every_gradient(attn_dtype dtype, int rounds) {
  const char *kernel;
  double worst = 0;
  for (int round = 0; round < rounds; round++) {
    struct scene *c = &scene;
    char where[48];
    snprintf(where, sizeof where, "seed %llu", (unsigned long long)random_state);
    draw_scene(c, round % 4 ? 8 : 200);
    if (round % 4) sharpen(c);
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      struct tensors t;
      make_tensors(&t, c, dtype);
      forward(&t);
      backward(&t);
      worst = fmax(worst, hold(c, &t, &t, kernel, where));
      free_tensors(&t);
    }
    select_default();
  }
  printf("%s: the worst gradient of %d calls is at %.3f of its bound\n", attn_dtype_name(dtype),
         rounds, worst);
}

static void every_gradient_is_within_the_bound(void **state) {
  (void)state;
  every_gradient(ATTN_F32, ROUNDS(120));
}

static void every_16_bit_gradient_is_within_the_bound(void **state) {
  (void)state;
  every_gradient(ATTN_BF16, ROUNDS(24));
  every_gradient(ATTN_F16, ROUNDS(24));
}

/* ---- Scores so large that float32 cannot represent ln n next to them ---- */

/* Small integers times ln 2 / 4: dot products are exact in powers of two. */
static void make_dots_exact(struct scene *c) {
  for (int64_t n = 0; n < c->b * c->hq * c->l * c->e; n++) c->q[n] = (double)below(5) - 2;
  for (int64_t n = 0; n < c->b * c->h * c->s * c->e; n++) c->k[n] = (double)below(5) - 2;
  c->desc.flags |= ATTN_SDPA_SCALE, c->desc.scale = ATTN_LN2 / 4;
}

/* Fills rows of a mask with common fill values, some not at all; a few keys are hidden or
 * differ. gone: any other value vanishes next to the fill. */
static void draw_fills(struct scene *c, int gone) {
  static const double fills[] = {-1e30, 1e30, -FLT_MAX, -1e9, 1e9, -1e6, 123456, -1e4, 65, 0};
  int64_t keys = c->mask_shape[3], rows = product(c->mask_shape) / keys;
  c->has_mask = 1;
  for (int64_t n = 0; n < rows; n++) {
    double fill = fills[below(gone ? 3 : 10)];
    for (int64_t j = 0; j < keys; j++) {
      double *at = &c->mask[n * keys + j];
      *at = chance(8) ? -(double)INFINITY : fill;
      if (!gone && chance(8)) *at = fill / 2;
    }
  }
  for (int h = 0; h < 16; h++) c->sinks[h] = chance(2) ? fills[below(10)] : c->sinks[h];
}

/* No mask: products of 2^88, equal or far apart. */
static void draw_huge_dots(struct scene *c) {
  c->has_mask = 0;
  for (int64_t n = 0; n < c->b * c->h * c->s * c->e; n++)
    c->k[n] = ldexp((double)(n % c->e) - (chance(16) ? 1 : 0), 80);
  for (int64_t n = 0; n < c->b * c->hq * c->l * c->e; n++) c->q[n] *= 256;
}

/* 0: exact products and any fill; 1: no mask; 2: any scores, of which the fill leaves nothing. */
static void draw_large(struct scene *c, int kind, int largest) {
  do draw_scene(c, largest);
  while (kind < 2 && has_slopes(c));
  c->exact_scores = 1;
  if (kind == 2) {
    draw_fills(c, 1);
    return;
  }
  c->additive_rank = 0, c->desc.flags &= ~(uint64_t)ATTN_SDPA_SOFTCAP;
  make_dots_exact(c);
  if (kind == 0) draw_fills(c, 0);
  if (kind == 1) draw_huge_dots(c);
}

/* What the kernel rounds the score of a pair to, in natural units: the sum of the product, which is
 * exact, and the mask in powers of two. */
static double rounded_score(const struct scene *c, const int64_t at[4], double mask, int gone) {
  int64_t kv = at[0] * c->h + at[1] / (c->hq / c->h);
  double dot = 0;
  for (int64_t e = 0; e < c->e; e++)
    dot += c->q[((at[0] * c->hq + at[1]) * c->l + at[2]) * c->e + e] *
           c->k[(kv * c->s + at[3]) * c->e + e] / 4;
  double tile = fmin(fmax(mask * ATTN_LOG2E, -FLT_MAX), FLT_MAX);
  return (double)((gone ? 0 : (float)dot) + (float)tile) * ATTN_LN2;
}

/* t with a mask that makes the oracle's scores what the kernel's are. */
static void as_rounded(struct tensors *as, const struct scene *c, const struct tensors *t,
                       int gone) {
  static double mask[1 << 18];
  int64_t at[4], n = 0;
  *as = *t;
  for (at[0] = 0; at[0] < c->b; at[0]++)
    for (at[1] = 0; at[1] < c->hq; at[1]++)
      for (at[2] = 0; at[2] < c->l; at[2]++)
        for (at[3] = 0; at[3] < c->s; at[3]++, n++) {
          int64_t x = 0;
          for (int d = 0; d < 4; d++)
            x = x * c->mask_shape[d] + (c->mask_shape[d] == 1 ? 0 : at[d]);
          double own = (double)(float)c->mask[x];
          mask[n] = isinf(own) ? own : rounded_score(c, at, own, gone);
          if (!gone && !isinf(own)) mask[n] -= rounded_score(c, at, 0, 0);
        }
  as->mask = attn_tensor_dense(ATTN_F64, mask, c->b, c->hq, c->l, c->s);
  if (c->has_mask) as->desc.mask = &as->mask;
}

/* With exact scores the bound of the gradients does not grow with the scores: masks of -1e9 give
 * every key 1 / n. */
static void large_scores(attn_dtype dtype, int rounds) {
  double worst = 0;
  const char *kernel;
  for (int round = 0; round < rounds; round++) {
    struct scene *c = &scene;
    char where[48];
    snprintf(where, sizeof where, "seed %llu", (unsigned long long)random_state);
    draw_large(c, dtype == ATTN_F16 ? 2 * (round % 2) : round % 3, round % 8 ? 20 : 120);
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      struct tensors t, as;
      make_tensors(&t, c, dtype);
      as_rounded(&as, c, &t, (dtype == ATTN_F16 ? 2 * (round % 2) : round % 3) == 2);
      forward(&t);
      backward(&t);
      worst = fmax(worst, hold(c, &t, &as, kernel, where));
      free_tensors(&t);
    }
    select_default();
  }
  printf("%s, large scores: the worst gradient of %d calls is at %.3f of its bound\n",
         attn_dtype_name(dtype), rounds, worst);
}

/* The score of a pair as dot products of bf16 round it, and as it is, in natural units. */
static double dot_score(const struct scene *c, const struct tensors *t, const int64_t at[4],
                        double *exact) {
  const int64_t i = ((at[0] * c->hq + at[1]) * c->l + at[2]) * c->e;
  const int64_t j = ((at[0] * c->h + at[1]) * c->s + at[3]) * c->e;
  float sum = 0;
  *exact = 0;
  for (int64_t e = 0; e < c->e; e++) {
    const int64_t n = e ^ 1; /* the second of a pair first */
    *exact += value(&t->q, i + e) * value(&t->k, j + e) * t->desc.scale;
    if (n < c->e) sum = fmaf((float)value(&t->q, i + n), (float)value(&t->k, j + n), sum);
    if (n == c->e) sum = fmaf((float)value(&t->q, i + e), (float)value(&t->k, j + e), sum);
  }
  return (double)(sum * (float)(t->desc.scale * ATTN_LOG2E)) * ATTN_LN2;
}

/* t with a mask that makes the oracle's scores those of dot products. */
static void as_dots(struct tensors *as, const struct scene *c, const struct tensors *t) {
  static double mask[1 << 18];
  int64_t at[4], n = 0;
  *as = *t;
  for (at[0] = 0; at[0] < c->b; at[0]++)
    for (at[1] = 0; at[1] < c->hq; at[1]++)
      for (at[2] = 0; at[2] < c->l; at[2]++)
        for (at[3] = 0; at[3] < c->s; at[3]++) {
          double exact, rounded = dot_score(c, t, at, &exact);
          mask[n++] = rounded - exact;
        }
  as->mask = attn_tensor_dense(ATTN_F64, mask, c->b, c->hq, c->l, c->s);
  as->desc.mask = &as->mask;
}

/* Theorem 3: forward and backward round scores of 10^5 alike, by dot products of bf16, too. No
 * block of rows is so small that the forward runs it as decoding does; in every second call few
 * rows of a block have such scores. */
static void rounded_scores_count_as_exact(void **state) {
  (void)state;
  const char *kernel;
  for (int round = 0; round < ROUNDS(12); round++) {
    struct scene *c = &scene;
    do draw_scene(c, 60);
    while ((c->l % 64 > 0 && c->l % 64 <= 16) || has_slopes(c) || has_sinks(c));
    c->has_mask = c->additive_rank = 0, c->hq = c->h, c->exact_scores = 1;
    c->desc.flags &= ~(uint64_t)(ATTN_SDPA_SOFTCAP | ATTN_SDPA_DROPOUT);
    c->desc.flags |= ATTN_SDPA_SCALE, c->desc.scale = 0.37;
    for (int n = 0; n < 1 << 12; n++)
      c->q[n] *= round % 2 && n / c->e % 8 ? 1e-3 : 300, c->k[n] *= 300;
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      struct tensors t, as;
      make_tensors(&t, c, ATTN_BF16);
      as_dots(&as, c, &t);
      forward(&t), backward(&t);
      if (has_dots(&t)) hold(c, &t, &as, kernel, "rounded scores");
      free_tensors(&t);
    }
    select_default();
  }
}

/* Factors of bf16 that are subnormal, or whose products are. */
static void subnormal_factors_are_within_the_bound(void **state) {
  (void)state;
  const char *kernel;
  for (int round = 0; round < ROUNDS(20); round++) {
    struct scene *c = &scene;
    draw_scene(c, 40);
    c->additive_rank = 0, c->desc.flags &= ~(uint64_t)ATTN_SDPA_DROPOUT;
    double *const all[] = {c->q, c->k, c->v, c->d_o};
    for (int n = 0; n < 1 << 12; n++)
      if (chance(4)) all[below(4)][n] *= 0x1p-128;
    for (int n = 0; n < 1 << 12; n++) all[2 + round % 2][n] *= round % 4 < 2 ? 0x1p-122 : 1;
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      struct tensors t;
      make_tensors(&t, c, ATTN_BF16);
      forward(&t), backward(&t);
      hold(c, &t, &t, kernel, "subnormal factors");
      free_tensors(&t);
    }
    select_default();
  }
}

/* The same if a scale makes the vectors of additive scores subnormal or 0. */
static void subnormal_additive_vectors_are_within_the_bound(void **state) {
  (void)state;
  const char *kernel;
  for (int round = 0; round < ROUNDS(20); round++) {
    struct scene *c = &scene;
    draw_scene(c, 20);
    c->additive_rank = 1 + round % 2;
    c->desc.flags |= ATTN_SDPA_SCALE, c->desc.scale = round % 4 < 2 ? 0x1p-142 : 0x1p-150;
    for (int64_t n = 0; n < c->b * c->hq * c->l * c->ev; n++) c->d_o[n] *= 0x1p40;
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      struct tensors t;
      make_tensors(&t, c, ATTN_F32);
      forward(&t), backward(&t);
      hold(c, &t, &t, kernel, "subnormal vectors");
      free_tensors(&t);
    }
    select_default();
  }
}

static void large_scores_keep_gradients_accurate(void **state) {
  (void)state;
  large_scores(ATTN_F32, ROUNDS(120));
  large_scores(ATTN_BF16, ROUNDS(24));
  large_scores(ATTN_F16, ROUNDS(24));
}

/* float64 likewise: what all keys have in common changes nothing, be it 1e30. */
static void large_scores_keep_gradients_accurate_in_double(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(20); round++) {
    struct scene *c = &scene;
    struct tensors plain, filled;
    draw_scene(c, 20);
    c->has_mask = 1, memset(c->sinks, 0, sizeof c->sinks);
    for (int64_t n = 0; n < c->b * c->hq * c->l * c->e; n++) c->q[n] = 0;
    for (int64_t n = 0; n < 256; n++) c->additive[n] = 0;
    for (int64_t n = 0; n < product(c->mask_shape); n++) c->mask[n] = 0;
    for (int n = 0; n < 16; n++) c->slopes[n] = 0;
    make_tensors(&plain, c, ATTN_F64);
    for (int64_t n = 0; n < product(c->mask_shape); n++) c->mask[n] = -1e30;
    for (int n = 0; n < 16; n++) c->sinks[n] = -1e30;
    make_tensors(&filled, c, ATTN_F64);
    forward(&plain), forward(&filled);
    backward(&plain), backward(&filled);
    assert_memory_equal(plain.d_q.data, filled.d_q.data, (size_t)(c->b * c->hq * c->l * c->e) * 8);
    assert_memory_equal(plain.d_k.data, filled.d_k.data, (size_t)(c->b * c->h * c->s * c->e) * 8);
    assert_memory_equal(plain.d_v.data, filled.d_v.data, (size_t)(c->b * c->h * c->s * c->ev) * 8);
    assert_memory_equal(plain.d_mask.data, filled.d_mask.data, (size_t)product(c->mask_shape) * 8);
    assert_memory_equal(plain.d_sinks.data, filled.d_sinks.data, (size_t)c->hq * 8);
    free_tensors(&plain), free_tensors(&filled);
  }
}

/* ---- Hidden keys, hidden rows, threads ---- */

/* 70 causal queries of two heads, 130 keys: those from 70 on are hidden from all, and not finite.
 */
static void causal_scene(struct scene *c, int additive_rank) {
  draw_scene(c, 1);
  c->b = 1, c->h = 1, c->hq = 2, c->l = 70, c->s = 130, c->e = 8, c->ev = 6;
  c->has_mask = c->has_d_lse = 0, c->additive_rank = additive_rank;
  fill(c->q, 2 * 70 * 8, 1), fill(c->k, 130 * 8, 1), fill(c->v, 130 * 6, 1);
  fill(c->d_o, 2 * 70 * 6, 1);
  c->desc = (attn_sdpa)ATTN_SDPA_INIT;
  c->desc.flags = ATTN_SDPA_CAUSAL;
  for (int64_t x = 70 * 8; x < 130 * 8; x++) c->k[x] = (double)NAN;
  for (int64_t x = 70 * 6; x < 130 * 6; x++) c->v[x] = (double)INFINITY;
}

static void differentiate(struct tensors *t, const struct scene *c) {
  make_tensors(t, c, ATTN_F32);
  t->desc.sinks = t->desc.alibi = NULL, t->g.d_sinks = NULL;
  forward(t);
  backward(t);
}

/* A NaN in query 5 reaches its own gradient and keys 0 to 5; keys 6 on do not see it. */
static void a_query_that_is_not_a_number(struct scene *c, int additive_rank) {
  struct tensors t;
  causal_scene(c, additive_rank);
  for (int64_t x = 0; x < 8; x++) c->q[5 * 8 + x] = (double)NAN;
  differentiate(&t, c);
  for (int64_t n = 0; n < 130 * 8; n++) {
    double got = value(&t.d_k, n);
    if (n / 8 >= 70) assert_true(got == 0);
    if (n / 8 < 70) assert_true(isnan(got) == (n / 8 <= 5));
  }
  for (int64_t n = 0; n < 140 * 8; n++) assert_true(isnan(value(&t.d_q, n)) == (n / 8 == 5));
  free_tensors(&t);
}

/* A NaN in key 42 reaches the queries from 42 on; those before do not see it. */
static void a_key_that_is_not_a_number(struct scene *c, int additive_rank) {
  struct tensors t;
  causal_scene(c, additive_rank);
  c->k[42 * 8 + 3] = (double)NAN;
  differentiate(&t, c);
  for (int64_t n = 0; n < 140 * 8; n++) assert_true(isnan(value(&t.d_q, n)) == (n / 8 % 70 >= 42));
  free_tensors(&t);
}

/* The causal problem: no row sees the values that are not finite. */
static void hidden_keys_leave_the_vectors_gradient_alone(struct scene *c, int additive_rank) {
  struct tensors t;
  causal_scene(c, additive_rank);
  differentiate(&t, c);
  for (int64_t n = 0; n < 140 * 8; n++) assert_true(isfinite(value(&t.d_q, n)));
  for (int64_t n = 0; additive_rank && n < additive_heads(c) * 8; n++)
    assert_true(isfinite(value(&t.d_additive, n)) && value(&t.d_additive, n) != 0);
  free_tensors(&t);
}

static void hidden_rows_and_keys_contribute_nothing(void **state) {
  (void)state;
  for (int n = 0; select_kernel(n); n++) {
    for (int rank = 0; rank < 3; rank++) {
      a_query_that_is_not_a_number(&scene, rank);
      a_key_that_is_not_a_number(&scene, rank);
      hidden_keys_leave_the_vectors_gradient_alone(&scene, rank);
    }
  }
  select_default();
}

static void same_gradients(const struct scene *c, const struct tensors *one,
                           const struct tensors *many) {
  const int64_t size = attn_real_size(one->dtype);
  assert_memory_equal(one->d_q.data, many->d_q.data, (size_t)(c->b * c->hq * c->l * c->e * size));
  assert_memory_equal(one->d_k.data, many->d_k.data, (size_t)(c->b * c->h * c->s * c->e * size));
  assert_memory_equal(one->d_v.data, many->d_v.data, (size_t)(c->b * c->h * c->s * c->ev * size));
  if (c->additive_rank)
    assert_memory_equal(one->d_additive.data, many->d_additive.data,
                        (size_t)(additive_heads(c) * c->e) * 4);
  assert_memory_equal(one->d_mask.data, many->d_mask.data, (size_t)product(c->mask_shape) * 4);
}

/* The gradients of one, which are there, with other numbers of threads. */
static void any_threads(const struct scene *c, const struct tensors *one) {
  for (int threads = 1; threads < 6; threads++) {
    struct tensors many;
    char count[8];
    make_tensors(&many, c, one->dtype);
    snprintf(count, sizeof count, "%d", threads);
    setenv("ATTN_THREADS", count, 1);
    forward(&many), backward(&many);
    unsetenv("ATTN_THREADS");
    same_gradients(c, one, &many);
    free_tensors(&many);
  }
}

static void the_same_bits_for_any_threads(void **state) {
  (void)state;
  for (int round = 0; round < 10; round++) {
    struct scene *c = &scene;
    struct tensors one;
    draw_scene(c, 200);
    make_tensors(&one, c, round % 2 ? ATTN_BF16 : ATTN_F32);
    forward(&one), backward(&one);
    any_threads(c, &one);
    free_tensors(&one);
  }
}

/* So many rows that they are cut into chunks, whose sums of dK and dV are added: within the bound
 * on every kernel, and the same bits for any threads. */
static void chunks_of_rows(void **state) {
  (void)state;
  const char *kernel;
  for (int round = 0; round < 6; round++) {
    struct scene *c = &scene;
    draw_scene(c, 20);
    c->b = 1, c->h = 1 + round % 2, c->hq = c->h * (1 + below(2));
    c->l = 1000 + below(200), c->s = 1 + below(100), c->e = 1 + below(9), c->ev = 1 + below(9);
    const int64_t full[4] = {c->b, c->hq, c->l, c->s};
    for (int n = 0; n < 4; n++) c->mask_shape[n] = c->mask_shape[n] == 1 ? 1 : full[n];
    fill(c->q, c->hq * c->l * c->e, 1), fill(c->k, c->h * c->s * c->e, 1);
    fill(c->v, c->h * c->s * c->ev, 1), fill(c->d_o, c->hq * c->l * c->ev, 1);
    fill(c->d_lse, c->hq * c->l, 1), fill(c->mask, product(c->mask_shape), 1);
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      struct tensors t;
      make_tensors(&t, c, round % 3 ? ATTN_F32 : ATTN_BF16);
      forward(&t), backward(&t);
      hold(c, &t, &t, kernel, "chunks of rows");
      any_threads(c, &t);
      free_tensors(&t);
    }
    select_default();
  }
}

static void invalid_calls_are_rejected(void **state) {
  (void)state;
  struct scene *c = &scene;
  struct tensors t;
  attn_error err;
  do draw_scene(c, 20);
  while (c->l < 2 || c->s == c->ev || c->has_mask || has_sinks(c));
  c->additive_rank = 2;
  make_tensors(&t, c, ATTN_F32);
  forward(&t);
#define REFUSED(name, change)                                                                     \
  do {                                                                                            \
    struct tensors kept = t;                                                                      \
    change;                                                                                       \
    assert_int_not_equal(attn_sdpa_backward(&t.desc, &t.q, &t.k, &t.v, &t.o, &t.d_o, &t.g, &err), \
                         ATTN_OK);                                                                \
    assert_string_equal(err.argument, name);                                                      \
    t = kept;                                                                                     \
  } while (0)
  t.desc.additive = NULL, t.g.d_additive = NULL;
  REFUSED("lse", t.desc.lse = NULL);
  REFUSED("weights", t.desc.weights = &t.o);
  REFUSED("gradients", t.g.struct_size = 8);
  REFUSED("d_o", t.d_o.shape[2]++);
  REFUSED("d_o", t.d_o.dtype = ATTN_F64);
  REFUSED("d_q", t.d_q.shape[3]++);
  REFUSED("d_k", t.d_k.dtype = ATTN_BF16);
  REFUSED("d_v", t.d_v.data = NULL);
  REFUSED("d_q", t.d_q.data = t.q.data);
  REFUSED("d_mask", t.g.d_mask = &t.d_mask);
  REFUSED("d_sinks", t.g.d_sinks = &t.d_sinks);
  REFUSED("d_additive", t.g.d_additive = &t.d_additive);
  t.desc.additive = &t.additive, t.g.d_additive = &t.d_additive;
  REFUSED("d_additive", t.d_additive.shape[t.d_additive.rank - 1]++);
  REFUSED("d_additive", t.d_additive.rank = 3);
  REFUSED("d_additive", t.d_additive.dtype = ATTN_BF16);
  REFUSED("d_additive", t.d_additive.data = t.additive.data);
  REFUSED("d_q", t.d_q.data = t.additive.data);
  t.g.struct_size =
      offsetof(attn_sdpa_gradients, d_additive); /* an older caller's: it has no such field */
  t.g.d_additive = (const attn_tensor *)1;
  assert_int_equal(attn_sdpa_backward(&t.desc, &t.q, &t.k, &t.v, &t.o, &t.d_o, &t.g, &err),
                   ATTN_OK);
  free_tensors(&t);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reference_agrees_with_central_differences),
      cmocka_unit_test(every_gradient_is_within_the_bound),
      cmocka_unit_test(every_16_bit_gradient_is_within_the_bound),
      cmocka_unit_test(subnormal_additive_vectors_are_within_the_bound),
      cmocka_unit_test(rounded_scores_count_as_exact),
      cmocka_unit_test(subnormal_factors_are_within_the_bound),
      cmocka_unit_test(large_scores_keep_gradients_accurate),
      cmocka_unit_test(large_scores_keep_gradients_accurate_in_double),
      cmocka_unit_test(hidden_rows_and_keys_contribute_nothing),
      cmocka_unit_test(the_same_bits_for_any_threads),
      cmocka_unit_test(chunks_of_rows),
      cmocka_unit_test(invalid_calls_are_rejected)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
