/* Score functions: outputs equal the formulas, evaluated here in double; gradients agree with
 * central differences; in every type bit-identical to explicit projections followed by the core;
 * the same bits for any threads; hidden keys do not leak; invalid calls are rejected. */
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

enum { SETS = 16 };

/* One call. Tensors of one type; what was learned and its gradients are float64 or float32. */
struct score_case {
  int64_t b, hq, h, l, s, eq, ek, ev, a; /* a: width of what is compared */
  int kind, own_matrices;                /* a matrix for each head */
  attn_dtype dtype, wide;
  attn_sdpa desc;
  attn_score score;
  attn_sdpa_gradients g;
  attn_score_gradients sg;
  attn_tensor q, k, v, o, d_o, lse, mask, w, u, vec;
  attn_tensor d_q, d_k, d_v, d_w, d_u, d_vec;
  char *memory[32];
  int used;
};

static attn_tensor make(struct score_case *c, attn_dtype dtype, double gain, int64_t n0, int64_t n1,
                        int64_t n2, int64_t n3) {
  int64_t count = n0 * n1 * n2 * n3, size = (int64_t)attn_dtype_size(dtype);
  char *data = calloc((size_t)(count + 1), (size_t)size);
  c->memory[c->used++] = data;
  for (int64_t n = 0; n < count; n++) {
    double x = (double)uniform() * gain;
    if (dtype == ATTN_BOOL) data[n] = x > -0.6;
    if (dtype == ATTN_F64) memcpy(data + n * 8, &x, 8);
    if (dtype != ATTN_F64 && dtype != ATTN_BOOL) attn_store_f32(dtype, data + n * size, (float)x);
  }
  return attn_tensor_dense(dtype, data, n0, n1, n2, n3);
}

static attn_tensor last(attn_tensor t, int rank) {
  for (int n = 0; n < rank; n++)
    t.shape[n] = t.shape[n + 4 - rank], t.strides[n] = t.strides[n + 4 - rank];
  t.rank = rank;
  return t;
}

static void draw_shapes(struct score_case *c, int kind, int largest) {
  c->kind = kind;
  c->b = 1 + below(2), c->h = 1 + below(2), c->hq = c->h * (1 + below(3));
  c->l = 1 + below(largest), c->s = 1 + below(largest);
  c->eq = 1 + below(9), c->ek = kind == ATTN_SCORE_DOT ? c->eq : 1 + below(9);
  c->ev = 1 + below(9), c->own_matrices = (int)below(2);
  c->a = kind == ATTN_SCORE_ADDITIVE ? 1 + below(70) : c->ek;
}

static void draw_learned(struct score_case *c) {
  int64_t of_q = c->own_matrices ? c->hq : 1, of_k = c->own_matrices ? c->h : 1;
  int rank = c->own_matrices ? 3 : 2;
  c->w = last(make(c, c->wide, 0.7, 1, of_q, c->eq, c->a), rank);
  c->d_w = last(make(c, c->wide, 0, 1, of_q, c->eq, c->a), rank);
  c->u = last(make(c, c->wide, 0.7, 1, of_k, c->ek, c->a), rank);
  c->d_u = last(make(c, c->wide, 0, 1, of_k, c->ek, c->a), rank);
  c->vec = last(make(c, c->wide, 0.7, 1, 1, of_q, c->a), rank - 1);
  c->d_vec = last(make(c, c->wide, 0, 1, 1, of_q, c->a), rank - 1);
  c->score = (attn_score){.struct_size = sizeof c->score, .kind = c->kind};
  c->sg = (attn_score_gradients){.struct_size = sizeof c->sg};
  if (c->kind != ATTN_SCORE_DOT) c->score.w = &c->w, c->sg.d_w = &c->d_w;
  if (c->kind != ATTN_SCORE_ADDITIVE) return;
  c->score.u = &c->u, c->score.a = &c->vec, c->sg.d_u = &c->d_u, c->sg.d_a = &c->d_vec;
}

static void draw(struct score_case *c, int kind, attn_dtype dtype, int largest) {
  memset(c, 0, sizeof *c);
  draw_shapes(c, kind, largest);
  c->dtype = dtype, c->wide = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
  c->q = make(c, dtype, 1, c->b, c->hq, c->l, c->eq);
  c->d_q = make(c, dtype, 0, c->b, c->hq, c->l, c->eq);
  c->k = make(c, dtype, 1, c->b, c->h, c->s, c->ek);
  c->d_k = make(c, dtype, 0, c->b, c->h, c->s, c->ek);
  c->v = make(c, dtype, 1, c->b, c->h, c->s, c->ev);
  c->d_v = make(c, dtype, 0, c->b, c->h, c->s, c->ev);
  c->o = make(c, dtype, 0, c->b, c->hq, c->l, c->ev);
  c->d_o = make(c, dtype, 1, c->b, c->hq, c->l, c->ev);
  c->lse = last(make(c, c->wide, 0, 1, c->b, c->hq, c->l), 3);
  c->mask = make(c, ATTN_BOOL, 1, 1, 1, c->l, c->s);
  draw_learned(c);
  c->desc = (attn_sdpa)ATTN_SDPA_INIT;
  c->desc.lse = &c->lse;
  if (chance(2)) c->desc.flags |= ATTN_SDPA_CAUSAL;
  if (chance(2)) c->desc.mask = &c->mask;
  if (chance(3)) c->desc.flags |= ATTN_SDPA_SCALE, c->desc.scale = (double)uniform();
  if (chance(3)) c->desc.flags |= ATTN_SDPA_SOFTCAP, c->desc.softcap = 1.5;
  c->g = (attn_sdpa_gradients){
      .struct_size = sizeof c->g, .d_q = &c->d_q, .d_k = &c->d_k, .d_v = &c->d_v};
}

static void release(struct score_case *c) {
  while (c->used) free(c->memory[--c->used]);
}

static void forward(struct score_case *c) {
  attn_error err;
  if (attn_score_forward(&c->desc, &c->score, &c->q, &c->k, &c->v, &c->o, &err))
    fail_msg("%s", err.message);
}

static void backward(struct score_case *c) {
  attn_error err;
  if (attn_score_backward(&c->desc, &c->score, &c->q, &c->k, &c->v, &c->o, &c->d_o, &c->g, &c->sg,
                          &err))
    fail_msg("%s", err.message);
}

static double at(const attn_tensor *t, int64_t n) {
  return attn_load_real(t->dtype, (const char *)t->data + n * attn_real_size(t->dtype));
}

static void put(const attn_tensor *t, int64_t n, double x) {
  attn_store_real(t->dtype, (char *)t->data + n * attn_real_size(t->dtype), x);
}

/* ---- The formulas, in double ---- */

/* Element f of x M of head h, or of |x| |M|. */
static double projected(const attn_tensor *x, int64_t row, int64_t width, const attn_tensor *m,
                        int64_t h, int64_t f, int absolute) {
  int64_t columns = m->shape[m->rank - 1], first = m->rank == 3 ? h * width * columns : 0;
  double sum = 0;
  for (int64_t e = 0; e < width; e++) {
    double term = at(x, row * width + e) * at(m, first + e * columns + f);
    sum += absolute ? fabs(term) : term;
  }
  return sum;
}

/* The score of a row of q and one of k; what bounds it, and how far roundings of the projections by
 * one unit move it. */
static double score_of(const struct score_case *c, int64_t h, int64_t i, int64_t j, double *size,
                       double *moved) {
  double sum = 0, scale = c->kind == ATTN_SCORE_DOT ? 1 / sqrt((double)c->eq) : 1;
  int64_t kv = h / (c->hq / c->h);
  *size = *moved = 0;
  if (c->desc.flags & ATTN_SDPA_SCALE) scale = c->desc.scale;
  for (int64_t f = 0; f < c->a; f++) {
    double x = c->kind == ATTN_SCORE_DOT ? at(&c->q, i * c->eq + f)
                                         : projected(&c->q, i, c->eq, &c->w, h, f, 0);
    double y = c->kind == ATTN_SCORE_ADDITIVE ? projected(&c->k, j, c->ek, &c->u, kv, f, 0)
                                              : at(&c->k, j * c->ek + f);
    double px = c->kind == ATTN_SCORE_DOT ? 0 : projected(&c->q, i, c->eq, &c->w, h, f, 1);
    double a =
        c->kind == ATTN_SCORE_ADDITIVE ? at(&c->vec, (c->own_matrices ? h * c->a : 0) + f) : 1;
    if (c->kind == ATTN_SCORE_ADDITIVE) {
      sum += a * tanh(x + y), *size += fabs(a);
      *moved += fabs(a) * (px + projected(&c->k, j, c->ek, &c->u, kv, f, 1));
    } else {
      sum += x * y, *size += fabs(x * y), *moved += px * fabs(y);
    }
  }
  *size *= fabs(scale), *moved *= fabs(scale), sum *= scale;
  return c->desc.flags & ATTN_SDPA_SOFTCAP ? c->desc.softcap * tanh(sum / c->desc.softcap) : sum;
}

/* Every row: softmax of the scores, times v; each element within
 * A (e^uB - 1), the corollary of docs/accuracy.md, and A (e^2d - 1)
 * where the projections' roundings move a score by d. */
static void agrees_with_the_formula(struct score_case *c, double unit, double steps) {
  static double p[4096];
  forward(c);
  for (int64_t n = 0; n < c->b * c->hq * c->l; n++) {
    int64_t i = n % c->l, h = n / c->l % c->hq, b = n / c->l / c->hq, seen = 0;
    int64_t kv = b * c->h + h / (c->hq / c->h);
    double top = -(double)INFINITY, sum = 0, most = 0, moved = 0, size, move;
    for (int64_t j = 0; j < c->s; j++) {
      int sees = !(c->desc.flags & ATTN_SDPA_CAUSAL) || j <= i;
      if (c->desc.mask) sees = sees && ((char *)c->mask.data)[i * c->s + j];
      p[j] = sees ? score_of(c, h, n, kv * c->s + j, &size, &move) : -(double)INFINITY;
      if (!sees) continue;
      seen++, top = p[j] > top ? p[j] : top, most = size > most ? size : most;
      moved = move > moved ? move : moved;
    }
    for (int64_t j = 0; j < c->s; j++) sum += p[j] = seen ? exp(p[j] - top) : 0;
    for (int64_t e = 0; e < c->ev; e++) {
      double exact = 0, absolute = 0;
      for (int64_t j = 0; j < c->s && seen; j++) {
        double term = p[j] / sum * at(&c->v, (kv * c->s + j) * c->ev + e);
        exact += term, absolute += fabs(term);
      }
      double keys = (double)c->s, sizes = 2 * ((double)c->a + 26) + 6; /* 3 d <= 6 S */
      double fixed = 34 + sizes * most + 2 * keys + 5 * (log2(keys) + 2);
      double bound = absolute * (expm1(unit * fixed) + expm1(2 * unit * steps * moved)) + 1e-30;
      double got = at(&c->o, n * c->ev + e);
      if (!(fabs(got - exact) <= bound))
        fail_msg("kind %d: %.17g, not %.17g; bound %g", c->kind, got, exact, bound);
    }
  }
}

static void outputs_equal_the_formulas(void **state) {
  (void)state;
  for (int round = 0; round < 60; round++) {
    struct score_case c;
    draw(&c, round % 3, ATTN_F64, 30);
    agrees_with_the_formula(&c, 0x1p-53, (double)(1 + c.eq + c.ek)); /* sums rounded in double */
    release(&c);
    draw(&c, round % 3, ATTN_F32, 100);
    agrees_with_the_formula(&c, 0x1p-24, 1);
    release(&c);
  }
}

/* ---- Gradients ---- */

static double loss(struct score_case *c) {
  double sum = 0;
  forward(c);
  for (int64_t n = 0; n < c->b * c->hq * c->l * c->ev; n++) sum += at(&c->o, n) * at(&c->d_o, n);
  return sum;
}

static void differs_as(struct score_case *c, const attn_tensor *x, const attn_tensor *d,
                       int64_t count, const char *name) {
  int64_t n = below(count);
  const double kept = at(x, n), step = 1e-5, gradient = at(d, n);
  put(x, n, kept + step);
  double up = loss(c);
  put(x, n, kept - step);
  double down = loss(c), difference = (up - down) / (2 * step);
  put(x, n, kept);
  if (!(fabs(difference - gradient) <= 1e-6 * (1 + fabs(gradient))))
    fail_msg("kind %d, %s[%d]: %.12g, but differences give %.12g", c->kind, name, (int)n, gradient,
             difference);
}

static int64_t count_of(const attn_tensor *t) {
  int64_t count = 1;
  for (int n = 0; n < t->rank; n++) count *= t->shape[n];
  return count;
}

static void gradients_agree_with_central_differences(void **state) {
  (void)state;
  for (int round = 0; round < 60; round++) {
    struct score_case c;
    draw(&c, round % 3, ATTN_F64, 12);
    forward(&c);
    backward(&c);
    for (int n = 0; n < 4; n++) {
      differs_as(&c, &c.q, &c.d_q, count_of(&c.q), "q");
      differs_as(&c, &c.k, &c.d_k, count_of(&c.k), "k");
      differs_as(&c, &c.v, &c.d_v, count_of(&c.v), "v");
      if (c.score.w) differs_as(&c, &c.w, &c.d_w, count_of(&c.w), "w");
      if (c.score.u) differs_as(&c, &c.u, &c.d_u, count_of(&c.u), "u");
      if (c.score.a) differs_as(&c, &c.vec, &c.d_vec, count_of(&c.vec), "a");
    }
    release(&c);
  }
}

/* ---- The parts by hand ---- */

static void project_by_hand(const struct score_case *c, const attn_tensor *x, int64_t heads,
                            int64_t rows, const attn_tensor *m, const attn_tensor *out) {
  int64_t width = x->shape[3];
  for (int64_t n = 0; n < c->b * heads * rows; n++)
    for (int64_t f = 0; f < c->a; f++)
      put(out, n * c->a + f, projected(x, n, width, m, n / rows % heads, f, 0));
}

/* d_x = d M^T, and d_m = x^T d in the order b, h, i. */
static void pull_by_hand(const struct score_case *c, const attn_tensor *x, int64_t heads,
                         int64_t rows, const attn_tensor *m, const attn_tensor *d,
                         const attn_tensor *d_x, const attn_tensor *d_m) {
  int64_t width = x->shape[3], own = m->rank == 3 ? width * c->a : 0;
  for (int64_t n = 0; n < c->b * heads * rows; n++)
    for (int64_t e = 0; e < width; e++) {
      double sum = 0;
      for (int64_t f = 0; f < c->a; f++)
        sum += at(d, n * c->a + f) * at(m, n / rows % heads * own + e * c->a + f);
      put(d_x, n * width + e, sum);
    }
  for (int64_t h = 0; h < (own ? heads : 1); h++)
    for (int64_t ef = 0; ef < width * c->a; ef++) {
      double sum = 0;
      for (int64_t n = 0; n < c->b * heads * rows; n++)
        if (!own || n / rows % heads == h)
          sum += at(x, n * width + ef / c->a) * at(d, n * c->a + ef % c->a);
      put(d_m, h * own + ef, sum);
    }
}

static void same(const attn_tensor *a, const attn_tensor *b) {
  assert_memory_equal(a->data, b->data, (size_t)count_of(a) * attn_dtype_size(a->dtype));
}

static void a_call_is_bit_identical_to_its_parts(void **state) {
  (void)state;
  static const attn_dtype types[] = {ATTN_F32, ATTN_F64, ATTN_BF16, ATTN_F16};
  for (int round = 0; round < 48; round++) {
    struct score_case c;
    draw(&c, 1 + round % 2, types[round / 2 % 4], 90);
    forward(&c);
    backward(&c);
    int additive = c.kind == ATTN_SCORE_ADDITIVE;
    attn_tensor q = make(&c, c.dtype, 0, c.b, c.hq, c.l, c.a),
                d_q = make(&c, c.dtype, 0, c.b, c.hq, c.l, c.a);
    attn_tensor k = make(&c, c.dtype, 0, c.b, c.h, c.s, c.a),
                d_k = make(&c, c.dtype, 0, c.b, c.h, c.s, c.a);
    attn_tensor o = make(&c, c.dtype, 0, c.b, c.hq, c.l, c.ev);
    struct score_case hand = c;
    hand.d_q = make(&c, c.dtype, 0, c.b, c.hq, c.l, c.eq);
    hand.d_k = make(&c, c.dtype, 0, c.b, c.h, c.s, c.ek);
    hand.d_w = c.w, hand.d_w.data = make(&c, c.wide, 0, 1, c.hq, c.eq, c.a).data;
    hand.d_u = c.u, hand.d_u.data = make(&c, c.wide, 0, 1, c.h, c.ek, c.a).data;
    hand.d_vec = c.vec, hand.d_vec.data = make(&c, c.wide, 0, 1, 1, c.hq, c.a).data;
    project_by_hand(&c, &c.q, c.hq, c.l, &c.w, &q);
    if (additive) project_by_hand(&c, &c.k, c.h, c.s, &c.u, &k);
    attn_sdpa desc = c.desc;
    if (!(desc.flags & ATTN_SDPA_SCALE)) desc.flags |= ATTN_SDPA_SCALE, desc.scale = 1;
    if (additive) desc.additive = &c.vec;
    attn_sdpa_gradients g = {
        .struct_size = sizeof g, .d_q = &d_q, .d_k = additive ? &d_k : &hand.d_k};
    if (additive) g.d_additive = &hand.d_vec;
    const attn_tensor *key = additive ? &k : &c.k;
    assert_int_equal(attn_sdpa_forward(&desc, &q, key, &c.v, &o, NULL), ATTN_OK);
    assert_int_equal(attn_sdpa_backward(&desc, &q, key, &c.v, &o, &c.d_o, &g, NULL), ATTN_OK);
    pull_by_hand(&c, &c.q, c.hq, c.l, &c.w, &d_q, &hand.d_q, &hand.d_w);
    if (additive) pull_by_hand(&c, &c.k, c.h, c.s, &c.u, &d_k, &hand.d_k, &hand.d_u);
    same(&c.o, &o), same(&c.d_q, &hand.d_q), same(&c.d_k, &hand.d_k), same(&c.d_w, &hand.d_w);
    if (additive) same(&c.d_u, &hand.d_u), same(&c.d_vec, &hand.d_vec);
    release(&c);
  }
}

static void the_same_bits_for_any_threads(void **state) {
  (void)state;
  for (int round = 0; round < 12; round++) {
    struct score_case c;
    draw(&c, round % 3, ATTN_F32, 150);
    char *kept[SETS];
    const attn_tensor *const all[] = {&c.o, &c.d_q, &c.d_k, &c.d_v, &c.d_w, &c.d_u, &c.d_vec};
    for (int pass = 0; pass < 2; pass++) {
      setenv("ATTN_THREADS", pass ? "5" : "1", 1);
      c.desc.threads = pass ? 0 : 1;
      forward(&c);
      backward(&c);
      for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        size_t bytes = (size_t)count_of(all[n]) * attn_dtype_size(all[n]->dtype);
        if (!pass) kept[n] = memcpy(malloc(bytes + 1), all[n]->data, bytes);
        if (pass) assert_memory_equal(kept[n], all[n]->data, bytes);
        if (pass) free(kept[n]);
      }
    }
    unsetenv("ATTN_THREADS");
    release(&c);
  }
}

/* Keys beyond the sequence's length hold NaN: no result has one, and their gradients are 0. */
static void hidden_keys_leak_nothing(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    struct score_case c;
    do draw(&c, kind, ATTN_F32, 120), c.s < 3 || c.desc.mask ? release(&c) : (void)0;
    while (!c.used);
    int64_t lengths[2] = {c.s - 2, c.s - 1};
    attn_tensor length = {lengths, ATTN_I64, 1, {c.b}, {1}};
    c.desc.key_lengths = &length;
    for (int64_t n = 0; n < count_of(&c.k); n++)
      if (n / c.ek % c.s >= lengths[n / c.ek / c.s / c.h]) put(&c.k, n, (double)NAN);
    forward(&c);
    backward(&c);
    const attn_tensor *const all[] = {&c.o, &c.d_q, &c.d_k, &c.d_v, &c.d_w, &c.d_u, &c.d_vec};
    for (size_t m = 0; m < sizeof all / sizeof *all; m++)
      for (int64_t n = 0; n < count_of(all[m]); n++) assert_true(isfinite(at(all[m], n)));
    for (int64_t n = 0; n < count_of(&c.k); n++)
      if (n / c.ek % c.s >= lengths[n / c.ek / c.s / c.h]) assert_true(at(&c.d_k, n) == 0);
    release(&c);
  }
}

/* ---- Refusals ---- */

static void *no_memory(void *context, size_t alignment, size_t bytes) {
  int *left = context;
  return (*left)-- > 0 ? aligned_alloc(alignment, bytes) : NULL;
}

static void give_back(void *context, void *memory) {
  (void)context;
  free(memory);
}

static void allocations_that_fail_are_typed_errors(void **state) {
  (void)state;
  struct score_case c;
  draw(&c, ATTN_SCORE_ADDITIVE, ATTN_F32, 20);
  for (int most = 0; most < 2; most++) {
    int left = most;
    const attn_allocator none = {&left, no_memory, give_back};
    c.desc.allocator = &none;
    assert_int_equal(attn_score_forward(&c.desc, &c.score, &c.q, &c.k, &c.v, &c.o, NULL),
                     ATTN_ERR_MEMORY);
    left = most;
    assert_int_equal(
        attn_score_backward(&c.desc, &c.score, &c.q, &c.k, &c.v, &c.o, &c.d_o, &c.g, &c.sg, NULL),
        ATTN_ERR_MEMORY);
  }
  for (int64_t n = 0; n < count_of(&c.o); n++) assert_true(at(&c.o, n) == 0);
  release(&c);
}

static void invalid_calls_are_rejected(void **state) {
  (void)state;
  struct score_case c;
  attn_error err;
  do
    draw(&c, ATTN_SCORE_ADDITIVE, ATTN_F32, 20),
        c.eq == c.ek || !c.own_matrices ? release(&c) : (void)0;
  while (!c.used);
#define REFUSED(name, change)                                                                      \
  do {                                                                                             \
    struct score_case kept = c;                                                                    \
    change;                                                                                        \
    assert_int_not_equal(                                                                          \
        attn_score_backward(&c.desc, &c.score, &c.q, &c.k, &c.v, &c.o, &c.d_o, &c.g, &c.sg, &err), \
        ATTN_OK);                                                                                  \
    assert_string_equal(err.argument, name);                                                       \
    c = kept;                                                                                      \
  } while (0)
  REFUSED("score", c.score.struct_size = 8);
  REFUSED("score_gradients", c.sg.struct_size = 8);
  REFUSED("gradients", c.g.struct_size = 8);
  REFUSED("kind", c.score.kind = 3);
  REFUSED("reserved", c.score.reserved = 1);
  REFUSED("u", c.score.kind = ATTN_SCORE_GENERAL);
  REFUSED("w", c.score.kind = ATTN_SCORE_DOT);
  REFUSED("a", c.score.a = NULL);
  REFUSED("additive", c.desc.additive = &c.vec);
  REFUSED("q", c.q.rank = 5);
  REFUSED("k", c.k.dtype = ATTN_F64);
  REFUSED("w", c.w.rank = 4);
  REFUSED("w", c.w.shape[1]++);
  REFUSED("w", c.w.dtype = ATTN_I32);
  REFUSED("w", c.w.shape[2] = INT64_MAX / 2);
  REFUSED("u", c.u.shape[2]++);
  REFUSED("u", c.u.data = NULL);
  REFUSED("a", c.vec.shape[1]++);
  REFUSED("a", c.vec.rank = 0);
  REFUSED("a", c.vec.dtype = ATTN_BOOL);
  REFUSED("v", c.v.shape[2]++);
  REFUSED("d_o", c.d_o.shape[2]++);
  REFUSED("d_w", c.d_w.shape[1]++);
  REFUSED("d_u", c.d_u.dtype = ATTN_F16);
  REFUSED("d_a", c.d_vec.shape[0]++);
  REFUSED("d_additive", c.g.d_additive = &c.d_vec);
  REFUSED("d_w", c.d_w.data = c.w.data);
  REFUSED("d_w", c.d_w.data = c.d_q.data);
  REFUSED("d_q", c.d_q.data = c.u.data);
  REFUSED("d_v", c.d_v.rank = 99);
  c.o.data = c.w.data;
  assert_int_equal(attn_score_forward(&c.desc, &c.score, &c.q, &c.k, &c.v, &c.o, &err),
                   ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "o");
  assert_int_equal(attn_score_forward(NULL, NULL, NULL, &c.k, &c.v, &c.o, &err), ATTN_ERR_ARGUMENT);
  release(&c);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(outputs_equal_the_formulas),
                                     cmocka_unit_test(gradients_agree_with_central_differences),
                                     cmocka_unit_test(a_call_is_bit_identical_to_its_parts),
                                     cmocka_unit_test(the_same_bits_for_any_threads),
                                     cmocka_unit_test(hidden_keys_leak_nothing),
                                     cmocka_unit_test(allocations_that_fail_are_typed_errors),
                                     cmocka_unit_test(invalid_calls_are_rejected)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
