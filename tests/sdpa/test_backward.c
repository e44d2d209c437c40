/* Laws of the gradients: the oracle's agree with central differences of the forward in double; the
 * kernels' lie within their bound of the oracle's, on every kernel; hidden keys and rows give
 * nothing and leak nothing; the same bits for any threads; what is wrong is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "element.h"
#include "random.h"
#include "ref.h"
#include "select.h"

enum { MOST = 1 << 19 }; /* 2 x 6 x 200 x 200 numbers of a mask */

/* One call with everything; values in double, copied to the type under test. */
struct scene {
  int64_t b, hq, h, l, s, e, ev;
  attn_sdpa desc;
  double q[MOST], k[MOST], v[MOST], d_o[MOST], mask[MOST], d_lse[MOST], sinks[16], slopes[16];
  double additive[256];
  int64_t mask_shape[4];
  int has_mask, has_d_lse, additive_rank; /* 0: the dot product */
};

/* The scene's tensors in one type. */
struct tensors {
  attn_dtype dtype;
  attn_tensor q, k, v, o, d_o, lse, d_lse, mask, sinks, slopes, additive;
  attn_tensor d_q, d_k, d_v, d_mask, d_sinks, d_additive;
  attn_sdpa desc;
  attn_sdpa_gradients g;
  char *memory[20];
  int used;
};

static struct scene scene;

static double normal(void) { return (double)(uniform() + uniform() + uniform()); }

static int64_t product(const int64_t *shape) { return shape[0] * shape[1] * shape[2] * shape[3]; }

static void fill(double *to, int64_t count, double gain) {
  for (int64_t n = 0; n < count; n++) to[n] = gain * normal();
}

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

static void draw_scene(struct scene *c, int largest) {
  memset(c, 0, sizeof *c);
  c->desc.struct_size = sizeof c->desc;
  c->b = 1 + below(2), c->h = 1 + below(2), c->hq = c->h * (1 + below(3));
  c->l = 1 + below(largest), c->s = 1 + below(largest), c->e = 1 + below(20), c->ev = 1 + below(20);
  fill(c->q, c->b * c->hq * c->l * c->e, 1), fill(c->k, c->b * c->h * c->s * c->e, 1);
  fill(c->v, c->b * c->h * c->s * c->ev, 1), fill(c->d_o, c->b * c->hq * c->l * c->ev, 1);
  fill(c->d_lse, c->b * c->hq * c->l, 1), fill(c->sinks, 16, 1);
  for (int n = 0; n < 16; n++) c->slopes[n] = 0.2 * fabs(normal());
  attn_sdpa *d = &c->desc;
  if (chance(2)) d->flags |= ATTN_SDPA_CAUSAL, d->align = (int32_t)below(2);
  if (chance(3))
    d->flags |= ATTN_SDPA_WINDOW, d->window_left = below(30), d->window_right = below(9);
  if (chance(3)) d->flags |= ATTN_SDPA_SOFTCAP, d->softcap = 1 + fabs(normal());
  if (chance(3))
    d->flags |= ATTN_SDPA_DROPOUT, d->dropout = 0.3, d->seed = (uint64_t)below(1 << 30);
  if (chance(3)) d->flags |= ATTN_SDPA_SCALE, d->scale = 0.3 * normal();
  if (chance(3)) c->additive_rank = 1 + (int)below(2);
  fill(c->additive, 256, 0.6);
  c->has_d_lse = chance(2);
  c->has_mask = chance(2);
  const int64_t full[4] = {c->b, c->hq, c->l, c->s};
  for (int n = 0; n < 4; n++) c->mask_shape[n] = chance(3) ? 1 : full[n];
  fill(c->mask, product(c->mask_shape), 1);
  for (int64_t n = 0; n < product(c->mask_shape); n++)
    if (chance(6)) c->mask[n] = -(double)INFINITY;
}

static int has_sinks(const struct scene *c) { return (c->l + c->s) % 3 == 0; }
static int has_slopes(const struct scene *c) { return (c->l + c->s) % 4 == 0; }

static int64_t additive_heads(const struct scene *c) { return c->additive_rank == 2 ? c->hq : 1; }

static attn_tensor make(struct tensors *t, attn_dtype dtype, const double *from, int64_t n0,
                        int64_t n1, int64_t n2, int64_t n3) {
  int64_t count = n0 * n1 * n2 * n3, size = attn_real_size(dtype);
  char *data = malloc((size_t)(count * size + 1));
  t->memory[t->used++] = data;
  for (int64_t n = 0; n < count; n++)
    if (dtype == ATTN_F64)
      memcpy(data + n * 8, from ? &from[n] : &(double){0}, 8);
    else
      attn_store_f32(dtype, data + n * size, from ? (float)from[n] : 0);
  return attn_tensor_dense(dtype, data, n0, n1, n2, n3);
}

static attn_tensor last(attn_tensor t, int rank) { /* its last dimensions alone */
  for (int n = 0; n < rank; n++)
    t.shape[n] = t.shape[n + 4 - rank], t.strides[n] = t.strides[n + 4 - rank];
  t.rank = rank;
  return t;
}

static void make_tensors(struct tensors *t, const struct scene *c, attn_dtype dtype) {
  memset(t, 0, sizeof *t);
  attn_dtype wide = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
  t->dtype = dtype;
  t->q = make(t, dtype, c->q, c->b, c->hq, c->l, c->e),
  t->k = make(t, dtype, c->k, c->b, c->h, c->s, c->e);
  t->v = make(t, dtype, c->v, c->b, c->h, c->s, c->ev),
  t->o = make(t, dtype, NULL, c->b, c->hq, c->l, c->ev);
  t->d_o = make(t, dtype, c->d_o, c->b, c->hq, c->l, c->ev);
  t->lse = last(make(t, wide, NULL, 1, c->b, c->hq, c->l), 3);
  t->d_lse = last(make(t, wide, c->d_lse, 1, c->b, c->hq, c->l), 3);
  const int64_t *m = c->mask_shape;
  t->mask = make(t, wide, c->mask, m[0], m[1], m[2], m[3]);
  t->sinks = last(make(t, wide, c->sinks, 1, 1, 1, c->hq), 1);
  t->slopes = last(make(t, wide, c->slopes, 1, 1, 1, c->hq), 1);
  t->additive = last(make(t, wide, c->additive, 1, 1, additive_heads(c), c->e),
                     c->additive_rank == 1 ? 1 : 2);
  t->d_additive =
      last(make(t, wide, NULL, 1, 1, additive_heads(c), c->e), c->additive_rank == 1 ? 1 : 2);
  t->d_q = make(t, dtype, NULL, c->b, c->hq, c->l, c->e),
  t->d_k = make(t, dtype, NULL, c->b, c->h, c->s, c->e);
  t->d_v = make(t, dtype, NULL, c->b, c->h, c->s, c->ev);
  t->d_mask = make(t, wide, NULL, m[0], m[1], m[2], m[3]);
  t->d_sinks = last(make(t, wide, NULL, 1, 1, 1, c->hq), 1);
  t->desc = c->desc;
  t->desc.lse = &t->lse;
  if (c->has_mask) t->desc.mask = &t->mask;
  if (has_sinks(c)) t->desc.sinks = &t->sinks;
  if (c->additive_rank) t->desc.additive = &t->additive;
  if (has_slopes(c)) t->desc.alibi = &t->slopes;
  t->g = (attn_sdpa_gradients){sizeof t->g,
                               &t->d_q,
                               &t->d_k,
                               &t->d_v,
                               c->has_mask ? &t->d_mask : NULL,
                               has_sinks(c) ? &t->d_sinks : NULL,
                               c->has_d_lse ? &t->d_lse : NULL,
                               c->additive_rank ? &t->d_additive : NULL};
}

static void free_tensors(struct tensors *t) {
  while (t->used) free(t->memory[--t->used]);
}

static void forward(struct tensors *t) {
  attn_error err;
  if (attn_sdpa_forward(&t->desc, &t->q, &t->k, &t->v, &t->o, &err)) fail_msg("%s", err.message);
}

static void backward(struct tensors *t) {
  attn_error err;
  if (attn_sdpa_backward(&t->desc, &t->q, &t->k, &t->v, &t->o, &t->d_o, &t->g, &err))
    fail_msg("%s", err.message);
}

static double *f64(const attn_tensor *t) { return t->data; }
static double value(const attn_tensor *t, int64_t n) {
  return attn_load_real(t->dtype, (const char *)t->data + n * attn_real_size(t->dtype));
}

/* ---- The oracle against central differences ---- */

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

static void the_oracle_agrees_with_central_differences(void **state) {
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

struct oracle {
  double d_q[MOST], d_q_size[MOST], d_k[MOST], d_k_size[MOST], d_v[MOST], d_v_size[MOST];
  double d_mask[MOST], d_mask_size[MOST], d_sinks[16], d_sinks_size[16];
  double d_additive[256], d_additive_size[256];
  double d_q_own[MOST], d_k_own[MOST], d_v_own[MOST], d_mask_own[MOST], d_sinks_own[16];
  double d_additive_own[256];
};

static struct oracle oracle;

static void ask_oracle(const struct scene *c, const struct tensors *t) {
  struct oracle *r = &oracle;
  memset(r, 0, sizeof *r);
  static double scores[4096], weights[4096], output[64], absolute[64], flushed[64], far[64],
      d_s[4096], size[4096], own[4096];
  for (int64_t n = 0; n < c->b * c->hq * c->l; n++) {
    struct attn_ref_row row = {.b = n / c->l / c->hq,
                               .h = n / c->l % c->hq,
                               .i = n % c->l,
                               .scores = scores,
                               .weights = weights,
                               .output = output,
                               .absolute = absolute,
                               .flushed = flushed,
                               .far = far};
    int64_t kv = row.b * c->h + row.h / (c->hq / c->h);
    int64_t ke = kv * c->s * c->e, kev = kv * c->s * c->ev, qe = n * c->e;
    int64_t a = c->additive_rank == 2 ? row.h * c->e : 0;
    struct attn_ref_gradients g = {.d_q = r->d_q + qe,
                                   .d_q_size = r->d_q_size + qe,
                                   .d_q_own = r->d_q_own + qe,
                                   .d_k = r->d_k + ke,
                                   .d_k_size = r->d_k_size + ke,
                                   .d_k_own = r->d_k_own + ke,
                                   .d_v = r->d_v + kev,
                                   .d_v_size = r->d_v_size + kev,
                                   .d_v_own = r->d_v_own + kev,
                                   .d_scores = d_s,
                                   .d_scores_size = size,
                                   .d_scores_own = own,
                                   .d_additive = r->d_additive + a,
                                   .d_additive_size = r->d_additive_size + a,
                                   .d_additive_own = r->d_additive_own + a};
    attn_ref_sdpa_row(&t->desc, &t->q, &t->k, &t->v, &row);
    attn_ref_sdpa_row_backward(&t->desc, &t->q, &t->k, &t->v, &t->d_o,
                               c->has_d_lse ? value(&t->d_lse, n) : 0, &row, &g);
    for (int64_t j = 0; j < c->s; j++) {
      const int64_t at[4] = {row.b, row.h, row.i, j}, *m = c->mask_shape;
      int64_t x = 0;
      for (int d = 0; d < 4; d++) x = x * m[d] + (m[d] == 1 ? 0 : at[d]);
      r->d_mask[x] += d_s[j], r->d_mask_size[x] += size[j], r->d_mask_own[x] += own[j];
    }
    r->d_sinks[row.h] += g.d_sink, r->d_sinks_size[row.h] += g.d_sink_size;
    r->d_sinks_own[row.h] += g.d_sink_own;
  }
}

static attn_dtype inputs;

static double compare(const attn_tensor *got, const double *exact, const double *size,
                      const double *own, int64_t count, int64_t terms, const char *name,
                      const char *kernel) {
  double most = 0;
  double unit = inputs == ATTN_BF16 ? 0x1p-8 : inputs == ATTN_F16 ? 0x1p-11 : 0;
  double least = got->dtype == ATTN_F16 ? 0x1p-25 : 0;
  /* O and dO of 16 bits: D is off by a rounding of O. */
  for (int64_t n = 0; n < count; n++) {
    double bound =
        attn_ref_bound_gradient(size[n], own[n], (double)terms) + 2.1 * unit * size[n] + least;
    double error = fabs(value(got, n) - exact[n]);
    if (!(error <= bound))
      fail_msg("%s on %s: [%d] is %.9g, not %.9g; bound %.3g", name, kernel, (int)n, value(got, n),
               exact[n], bound);
    if (error > most * bound) most = error / bound;
  }
  return most;
}

static void every_gradient(attn_dtype dtype, int rounds) {
  const char *kernel;
  double worst = 0;
  inputs = dtype;
  for (int round = 0; round < rounds; round++) {
    struct scene *c = &scene;
    uint64_t seed = random_state;
    draw_scene(c, round % 4 ? 8 : 200);
    if (round % 4) sharpen(c);
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      struct tensors t;
      make_tensors(&t, c, dtype);
      forward(&t);
      backward(&t);
      ask_oracle(c, &t);
      char name[64];
      snprintf(name, sizeof name, "seed %llu, ", (unsigned long long)seed);
      int64_t rows = c->l * (c->hq / c->h), pairs = c->b * c->hq * c->l * c->s;
      struct oracle *r = &oracle;
      const double all[] = {
          compare(&t.d_q, r->d_q, r->d_q_size, r->d_q_own, c->b * c->hq * c->l * c->e, c->s,
                  strcat(name, "d_q"), kernel),
          compare(&t.d_k, r->d_k, r->d_k_size, r->d_k_own, c->b * c->h * c->s * c->e, rows, "d_k",
                  kernel),
          compare(&t.d_v, r->d_v, r->d_v_size, r->d_v_own, c->b * c->h * c->s * c->ev, rows, "d_v",
                  kernel),
          c->has_mask
              ? compare(&t.d_mask, r->d_mask, r->d_mask_size, r->d_mask_own, product(c->mask_shape),
                        pairs / product(c->mask_shape), "d_mask", kernel)
              : 0,
          has_sinks(c) ? compare(&t.d_sinks, r->d_sinks, r->d_sinks_size, r->d_sinks_own, c->hq,
                                 c->b * c->l, "d_sinks", kernel)
                       : 0,
          c->additive_rank
              ? compare(&t.d_additive, r->d_additive, r->d_additive_size, r->d_additive_own,
                        additive_heads(c) * c->e, c->s, "d_additive", kernel)
              : 0};
      for (int m = 0; m < 6; m++) worst = all[m] > worst ? all[m] : worst;
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

static void so_it_is_in_16_bits(void **state) {
  (void)state;
  every_gradient(ATTN_BF16, ROUNDS(24));
  every_gradient(ATTN_F16, ROUNDS(24));
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

/* A NaN in key 40 reaches the queries from 40 on; those before do not see it. */
static void a_key_that_is_not_a_number(struct scene *c, int additive_rank) {
  struct tensors t;
  causal_scene(c, additive_rank);
  c->k[40 * 8 + 3] = (double)NAN;
  differentiate(&t, c);
  for (int64_t n = 0; n < 140 * 8; n++) assert_true(isnan(value(&t.d_q, n)) == (n / 8 % 70 >= 40));
  free_tensors(&t);
}

/* The causal scene as it is: what is not finite is seen by nobody. */
static void hidden_keys_leave_the_vectors_gradient_alone(struct scene *c, int additive_rank) {
  struct tensors t;
  causal_scene(c, additive_rank);
  differentiate(&t, c);
  for (int64_t n = 0; n < 140 * 8; n++) assert_true(isfinite(value(&t.d_q, n)));
  for (int64_t n = 0; additive_rank && n < additive_heads(c) * 8; n++)
    assert_true(isfinite(value(&t.d_additive, n)) && value(&t.d_additive, n) != 0);
  free_tensors(&t);
}

static void what_is_hidden_gives_nothing_and_leaks_nothing(void **state) {
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

static void the_same_bits_for_any_threads(void **state) {
  (void)state;
  for (int round = 0; round < 10; round++) {
    struct scene *c = &scene;
    struct tensors one, many;
    draw_scene(c, 200);
    make_tensors(&one, c, ATTN_F32), make_tensors(&many, c, ATTN_F32);
    one.desc.threads = 1;
    forward(&one), forward(&many);
    backward(&one);
    setenv("ATTN_THREADS", "5", 1);
    backward(&many);
    unsetenv("ATTN_THREADS");
    assert_memory_equal(one.d_q.data, many.d_q.data, (size_t)(c->b * c->hq * c->l * c->e) * 4);
    assert_memory_equal(one.d_k.data, many.d_k.data, (size_t)(c->b * c->h * c->s * c->e) * 4);
    assert_memory_equal(one.d_v.data, many.d_v.data, (size_t)(c->b * c->h * c->s * c->ev) * 4);
    if (c->additive_rank)
      assert_memory_equal(one.d_additive.data, many.d_additive.data,
                          (size_t)(additive_heads(c) * c->e) * 4);
    assert_memory_equal(one.d_mask.data, many.d_mask.data, (size_t)product(c->mask_shape) * 4);
    free_tensors(&one), free_tensors(&many);
  }
}

static void what_is_wrong_is_refused(void **state) {
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
      cmocka_unit_test(the_oracle_agrees_with_central_differences),
      cmocka_unit_test(every_gradient_is_within_the_bound),
      cmocka_unit_test(so_it_is_in_16_bits),
      cmocka_unit_test(what_is_hidden_gives_nothing_and_leaks_nothing),
      cmocka_unit_test(the_same_bits_for_any_threads),
      cmocka_unit_test(what_is_wrong_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
