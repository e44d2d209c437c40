/* The general attention layer: in float64 it is the formula, evaluated here, and its gradients are
 * the derivatives of what it computes; in float32 it is the products and the core's call, bit for
 * bit; other types are float32 rounded once; the same bits for any threads; refused calls and
 * failed allocations write nothing.
 *
 *     test_attention_layer [SEED] */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/nn.h"
#include "matmul.h"
#include "select.h"
#include "test_tensors.h"

enum { X, Q, W_Q, W_K, W_V, W_O, W, U, A, INPUTS };

struct layer_case {
  int64_t batch, n, m, heads, eq, ek, ev, out, units; /* units: A of additive scores */
  int rank, any;                                      /* any: strides */
  struct test_tensor in[INPUTS], d[INPUTS], y, d_y, mask;
  int has[INPUTS];
  attn_sdpa desc;
  attn_score score;
  attn_attention_layer layer;
  attn_score_gradients score_gradients;
  attn_attention_layer_gradients gradients;
};

/* ---- Random calls ---- */

static struct test_tensor matrix(const struct layer_case *c, attn_dtype type, int64_t rows,
                                 int64_t columns) {
  struct test_tensor t = test_tensor_new(type, 2, (const int64_t[]){rows, columns}, c->any);
  test_tensor_fill(&t.t, 0, 0.4);
  return t;
}

static struct test_tensor batched(const struct layer_case *c, attn_dtype type, int64_t rows,
                                  int64_t columns) {
  const int64_t shape[] = {c->batch, rows, columns};
  struct test_tensor t = test_tensor_new(type, c->rank, shape + 3 - c->rank, c->any);
  test_tensor_fill(&t.t, 0, 0.4);
  return t;
}

static void draw_shapes(struct layer_case *c, int kind, int largest) {
  c->rank = 2 + (int)below(2), c->batch = c->rank == 3 ? 1 + below(3) : 1;
  c->n = 1 + below(largest), c->m = 1 + below(largest), c->heads = 1 + below(3);
  c->eq = 1 + below(6), c->ek = kind == ATTN_SCORE_DOT ? c->eq : 1 + below(6);
  c->ev = 1 + below(6), c->out = 1 + below(12), c->units = 1 + below(9);
  for (int k = W_Q; k <= W_O; k++) c->has[k] = (int)below(2);
  if (!c->has[W_K] && !c->has[W_V]) c->ev = c->ek; /* both are x */
}

static void draw_inputs(struct layer_case *c, attn_dtype type, int kind) {
  const int64_t h = c->heads, of_q = h * c->eq, of_k = h * c->ek, of_v = h * c->ev;
  const int64_t dx = !c->has[W_K] ? of_k : !c->has[W_V] ? of_v : 1 + below(9);
  const int64_t dq = c->has[W_Q] ? 1 + below(9) : of_q;
  c->in[X] = batched(c, type, c->n, dx), c->in[Q] = batched(c, type, c->m, dq);
  if (c->has[W_Q]) c->in[W_Q] = matrix(c, type, dq, of_q);
  if (c->has[W_K]) c->in[W_K] = matrix(c, type, dx, of_k);
  if (c->has[W_V]) c->in[W_V] = matrix(c, type, dx, of_v);
  if (c->has[W_O]) c->in[W_O] = matrix(c, type, of_v, c->out);
  const attn_dtype learned = type == ATTN_F64 ? ATTN_F64 : ATTN_F32;
  c->has[X] = c->has[Q] = 1, c->has[W] = kind != ATTN_SCORE_DOT;
  c->has[U] = c->has[A] = kind == ATTN_SCORE_ADDITIVE;
  if (c->has[W]) c->in[W] = matrix(c, learned, c->eq, c->has[U] ? c->units : c->ek);
  if (c->has[U]) c->in[U] = matrix(c, learned, c->ek, c->units);
  if (c->has[A]) c->in[A] = test_tensor_new(learned, 1, &c->units, 0);
  if (c->has[A]) test_tensor_fill(&c->in[A].t, 0, 1);
}

static const attn_tensor *given(struct layer_case *c, struct test_tensor *t, int k) {
  return c->has[k] ? &t[k].t : NULL;
}

static void describe(struct layer_case *c, int kind) {
  c->desc = (attn_sdpa)ATTN_SDPA_INIT, c->layer = (attn_attention_layer)ATTN_ATTENTION_LAYER_INIT;
  c->score = (attn_score)ATTN_SCORE_INIT, c->score.kind = kind;
  c->score.w = given(c, c->in, W), c->score.u = given(c, c->in, U), c->score.a = given(c, c->in, A);
  c->layer.heads = c->heads == 1 ? below(2) : c->heads;
  c->layer.sdpa = &c->desc, c->layer.score = &c->score;
  c->layer.w_q = given(c, c->in, W_Q), c->layer.w_k = given(c, c->in, W_K);
  c->layer.w_v = given(c, c->in, W_V), c->layer.w_o = given(c, c->in, W_O);
  if (chance(2)) c->desc.flags |= ATTN_SDPA_CAUSAL;
  if (chance(2)) c->desc.flags |= ATTN_SDPA_SCALE, c->desc.scale = 0.8;
  c->mask = test_tensor_new(ATTN_F32, 2, (const int64_t[]){c->m, c->n}, 0);
  for (int64_t k = 0; k < c->m * c->n; k++)
    put(&c->mask.t, k, chance(3) ? -(double)INFINITY : normal());
  if (chance(2)) c->desc.mask = &c->mask.t;
}

static void want_gradients(struct layer_case *c) {
  attn_attention_layer_gradients *g = &c->gradients;
  for (int k = 0; k < INPUTS; k++)
    if (c->has[k])
      c->d[k] = test_tensor_new(c->in[k].t.dtype, c->in[k].t.rank, c->in[k].t.shape, c->any);
  *g = (attn_attention_layer_gradients)ATTN_ATTENTION_LAYER_GRADIENTS_INIT;
  c->score_gradients = (attn_score_gradients)ATTN_SCORE_GRADIENTS_INIT;
  c->score_gradients.d_w = given(c, c->d, W), c->score_gradients.d_u = given(c, c->d, U);
  c->score_gradients.d_a = given(c, c->d, A), g->score = &c->score_gradients;
  g->d_x = &c->d[X].t, g->d_q = &c->d[Q].t, g->d_w_q = given(c, c->d, W_Q);
  g->d_w_k = given(c, c->d, W_K), g->d_w_v = given(c, c->d, W_V), g->d_w_o = given(c, c->d, W_O);
}

static void draw(struct layer_case *c, int kind, attn_dtype type, int largest, int any) {
  memset(c, 0, sizeof *c);
  c->any = any;
  draw_shapes(c, kind, largest), draw_inputs(c, type, kind), describe(c, kind);
  const int64_t width = c->has[W_O] ? c->out : c->heads * c->ev;
  c->y = batched(c, type, c->m, width), c->d_y = batched(c, type, c->m, width);
  want_gradients(c);
}

static void release(struct layer_case *c) {
  for (int k = 0; k < INPUTS; k++) free(c->in[k].memory), free(c->d[k].memory);
  free(c->y.memory), free(c->d_y.memory), free(c->mask.memory);
}

static void forward(struct layer_case *c) {
  attn_error err;
  if (attn_attention_layer_forward(&c->layer, &c->in[X].t, &c->in[Q].t, &c->y.t, &err))
    fail_msg("%s: %s", err.argument, err.message);
}

static void backward(struct layer_case *c) {
  attn_error err;
  if (attn_attention_layer_backward(&c->layer, &c->in[X].t, &c->in[Q].t, &c->d_y.t, &c->gradients,
                                    &err))
    fail_msg("%s: %s", err.argument, err.message);
}

/* ---- The formula, in double ---- */

/* in (rows, inner) w, or a copy of in. */
static double *product(const double *in, int64_t rows, int64_t inner, const attn_tensor *w) {
  const int64_t columns = w ? w->shape[1] : inner;
  double *out = calloc((size_t)(rows * columns), sizeof *out);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < columns; j++)
      if (!w) {
        out[r * columns + j] = in[r * inner + j];
      } else {
        for (int64_t k = 0; k < inner; k++)
          out[r * columns + j] += in[r * inner + k] * get(w, k * columns + j);
      }
  return out;
}

static double *projected(const attn_tensor *x, const attn_tensor *w) {
  const int64_t width = x->shape[x->rank - 1], count = test_tensor_count(x);
  double *values = malloc((size_t)count * sizeof *values);
  for (int64_t k = 0; k < count; k++) values[k] = get(x, k);
  double *out = product(values, count / width, width, w);
  free(values);
  return out;
}

static double score_of(const struct layer_case *c, const double *q, const double *k) {
  double sum = 0, scale = c->score.kind == ATTN_SCORE_DOT ? 1 / sqrt((double)c->ek) : 1;
  if (c->desc.flags & ATTN_SDPA_SCALE) scale = c->desc.scale;
  for (int64_t a = 0; a < c->ek && c->score.kind == ATTN_SCORE_DOT; a++) sum += q[a] * k[a];
  for (int64_t a = 0; a < c->eq && c->score.kind == ATTN_SCORE_GENERAL; a++)
    for (int64_t b = 0; b < c->ek; b++) sum += q[a] * get(c->score.w, a * c->ek + b) * k[b];
  for (int64_t f = 0; f < c->units && c->score.kind == ATTN_SCORE_ADDITIVE; f++) {
    double inside = 0;
    for (int64_t a = 0; a < c->eq; a++) inside += q[a] * get(c->score.w, a * c->units + f);
    for (int64_t b = 0; b < c->ek; b++) inside += k[b] * get(c->score.u, b * c->units + f);
    sum += get(c->score.a, f) * tanh(inside);
  }
  return sum * scale;
}

/* One head of one query: o = sum a_j v_j. */
static void attend(const struct layer_case *c, int64_t i, const double *q, const double *k,
                   const double *v, double *o) {
  double a[64], sum = 0;
  for (int64_t j = 0; j < c->n; j++) {
    double e = score_of(c, q, k + j * c->heads * c->ek);
    if (c->desc.mask) e += get(&c->mask.t, i * c->n + j);
    if ((c->desc.flags & ATTN_SDPA_CAUSAL) && j > i) e = -(double)INFINITY;
    sum += a[j] = exp(e);
  }
  for (int64_t j = 0; j < c->n; j++)
    for (int64_t e = 0; e < c->ev && sum > 0; e++) o[e] += a[j] / sum * v[j * c->heads * c->ev + e];
}

static double *formula(const struct layer_case *c) {
  const attn_attention_layer *l = &c->layer;
  double *q = projected(&c->in[Q].t, l->w_q), *k = projected(&c->in[X].t, l->w_k),
         *v = projected(&c->in[X].t, l->w_v);
  const int64_t of_q = c->heads * c->eq, of_k = c->heads * c->ek, of_v = c->heads * c->ev;
  double *o = calloc((size_t)(c->batch * c->m * of_v), sizeof *o);
  for (int64_t b = 0; b < c->batch; b++)
    for (int64_t i = 0; i < c->m; i++)
      for (int64_t h = 0; h < c->heads; h++)
        attend(c, i, q + (b * c->m + i) * of_q + h * c->eq, k + b * c->n * of_k + h * c->ek,
               v + b * c->n * of_v + h * c->ev, o + (b * c->m + i) * of_v + h * c->ev);
  double *y = product(o, c->batch * c->m, of_v, l->w_o);
  free(q), free(k), free(v), free(o);
  return y;
}

/* Some hundred roundings of values below 100. */
static void is_the_formula_in_double(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(300); round++) {
    struct layer_case c;
    draw(&c, round % 3, ATTN_F64, 9, (int)below(2)), forward(&c);
    double *exact = formula(&c);
    for (int64_t k = 0; k < test_tensor_count(&c.y.t); k++)
      if (!(fabs(get(&c.y.t, k) - exact[k]) <= 1e-12))
        fail_msg("round %d, element %d: %.17g, exactly %.17g", round, (int)k, get(&c.y.t, k),
                 exact[k]);
    free(exact), release(&c);
  }
}

/* ---- Gradients: central differences of the loss sum d_y y ---- */

static double loss(struct layer_case *c) {
  double sum = 0;
  forward(c);
  for (int64_t k = 0; k < test_tensor_count(&c->y.t); k++)
    sum += get(&c->d_y.t, k) * get(&c->y.t, k);
  return sum;
}

static double moved(struct layer_case *c, int number, const double *direction, double by) {
  const attn_tensor *t = &c->in[number].t;
  const int64_t count = test_tensor_count(t);
  double *kept = malloc((size_t)count * sizeof *kept);
  for (int64_t k = 0; k < count; k++) kept[k] = get(t, k), put(t, k, kept[k] + by * direction[k]);
  double sum = loss(c);
  for (int64_t k = 0; k < count; k++) put(t, k, kept[k]);
  free(kept);
  return sum;
}

/* Differences of fourth order err by some h^4 = 10^-12 and 10^-16 / h = 10^-13 of values of some
 * 10^2. */
static void check_derivative(struct layer_case *c, int number, int round) {
  const attn_tensor *t = &c->in[number].t;
  const int64_t count = test_tensor_count(t);
  const double h = 1e-3;
  double *direction = malloc((size_t)count * sizeof *direction), exact = 0;
  for (int64_t k = 0; k < count; k++)
    direction[k] = normal() / sqrt((double)count), exact += direction[k] * get(&c->d[number].t, k);
  double one = moved(c, number, direction, h) - moved(c, number, direction, -h);
  double two = moved(c, number, direction, 2 * h) - moved(c, number, direction, -2 * h);
  double found = (8 * one - two) / (12 * h);
  if (!(fabs(found - exact) <= 1e-9))
    fail_msg("round %d, input %d: derivative %.12g, differences %.12g", round, number, exact,
             found);
  free(direction);
}

static void gradients_are_derivatives(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(60); round++) {
    struct layer_case c;
    draw(&c, round % 3, ATTN_F64, 7, (int)below(2)), backward(&c);
    for (int k = 0; k < INPUTS; k++)
      if (c.has[k]) check_derivative(&c, k, round);
    release(&c);
  }
}

/* A gradient has the same bits with and without the others. */
static void gradients_alone(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(30); round++) {
    struct layer_case c;
    draw(&c, round % 3, ATTN_F32, 7, 0), backward(&c);
    const attn_attention_layer_gradients all = c.gradients;
    const attn_tensor *const each[] = {all.d_x,   all.d_q,   all.d_w_q,
                                       all.d_w_k, all.d_w_v, all.d_w_o};
    for (int k = 0; k <= W_O; k++) {
      if (!each[k]) continue;
      c.gradients = (attn_attention_layer_gradients)ATTN_ATTENTION_LAYER_GRADIENTS_INIT;
      const attn_tensor **one[] = {&c.gradients.d_x,   &c.gradients.d_q,   &c.gradients.d_w_q,
                                   &c.gradients.d_w_k, &c.gradients.d_w_v, &c.gradients.d_w_o};
      char *kept = malloc(c.d[k].bytes);
      memcpy(kept, c.d[k].memory, c.d[k].bytes), memset(c.d[k].memory, 0, c.d[k].bytes);
      *one[k] = each[k], backward(&c);
      assert_memory_equal(each[k]->data, kept, (size_t)test_tensor_count(each[k]) * 4);
      free(kept);
    }
    release(&c);
  }
}

/* ---- float32: the products, then the core ---- */

static attn_tensor multiply(const attn_tensor *x, const attn_tensor *w) {
  const struct attn_host host = {.threads = 1};
  const int64_t inner = x->shape[x->rank - 1], rows = test_tensor_count(x) / inner;
  const int64_t columns = w ? w->shape[1] : inner;
  float *out = malloc((size_t)(rows * columns) * sizeof *out);
  if (!w) memcpy(out, x->data, (size_t)(rows * columns) * sizeof *out);
  if (w)
    assert_int_equal(attn_matmul(&host, rows, columns, inner,
                                 (struct attn_gemm_operand){x->data, inner, 0, ATTN_F32},
                                 (struct attn_gemm_operand){w->data, columns, 0, ATTN_F32}, out,
                                 columns, 0, NULL),
                     ATTN_OK);
  return attn_tensor_dense(ATTN_F32, out, 1, 1, rows, columns);
}

static attn_tensor heads_of(const struct layer_case *c, const attn_tensor *t, int64_t rows) {
  const int64_t width = t->shape[3], each = width / c->heads;
  return (attn_tensor){
      t->data, ATTN_F32, 4, {c->batch, c->heads, rows, each}, {rows * width, each, width, 1}};
}

static void float32_is_products_and_the_core(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(200); round++) {
    struct layer_case c;
    draw(&c, round % 3, ATTN_F32, 40, 0), forward(&c);
    attn_tensor q = multiply(&c.in[Q].t, c.layer.w_q), k = multiply(&c.in[X].t, c.layer.w_k),
                v = multiply(&c.in[X].t, c.layer.w_v);
    float *memory = calloc((size_t)(c.batch * c.m * v.shape[3]), sizeof *memory);
    attn_tensor o = attn_tensor_dense(ATTN_F32, memory, 1, 1, c.batch * c.m, v.shape[3]);
    attn_tensor hq = heads_of(&c, &q, c.m), hk = heads_of(&c, &k, c.n), hv = heads_of(&c, &v, c.n),
                ho = heads_of(&c, &o, c.m);
    assert_int_equal(attn_score_forward(&c.desc, &c.score, &hq, &hk, &hv, &ho, NULL), ATTN_OK);
    attn_tensor y = multiply(&o, c.layer.w_o);
    assert_memory_equal(y.data, c.y.t.data, (size_t)test_tensor_count(&c.y.t) * sizeof(float));
    free(q.data), free(k.data), free(v.data), free(o.data), free(y.data), release(&c);
  }
}

/* 16-bit inputs are exact in float32, and the result is rounded once. Any strides. */
static void other_types_are_float32_rounded_once(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(100); round++) {
    struct layer_case c, wide;
    const uint64_t seed = random_state;
    draw(&c, round % 3, chance(2) ? ATTN_F16 : ATTN_BF16, 9, 1), forward(&c), backward(&c);
    random_state = seed, (void)random_bits(), draw(&wide, round % 3, ATTN_F32, 9, 1);
    for (int k = 0; k < INPUTS; k++)
      for (int64_t e = 0; wide.has[k] && e < test_tensor_count(&wide.in[k].t); e++)
        put(&wide.in[k].t, e, get(&c.in[k].t, e));
    for (int64_t e = 0; e < test_tensor_count(&wide.d_y.t); e++)
      put(&wide.d_y.t, e, get(&c.d_y.t, e));
    forward(&wide), backward(&wide);
    for (int64_t e = 0; e < test_tensor_count(&wide.y.t); e++) {
      char once[8];
      attn_store_real(c.y.t.dtype, once, get(&wide.y.t, e));
      assert_memory_equal(once, test_tensor_at(&c.y.t, e), 2);
    }
    for (int64_t e = 0; e < test_tensor_count(&wide.in[X].t); e++) {
      char once[8];
      attn_store_real(c.y.t.dtype, once, get(&wide.d[X].t, e));
      assert_memory_equal(once, test_tensor_at(&c.d[X].t, e), 2);
    }
    release(&c), release(&wide);
  }
}

static void bits_do_not_depend_on_threads(void **state) {
  (void)state;
  for (int round = 0; round < 12; round++) {
    struct layer_case c;
    draw(&c, round % 3, round % 2 ? ATTN_F64 : ATTN_F32, 60, 0);
    char *kept[INPUTS], *y = malloc(c.y.bytes);
    c.desc.threads = 1, forward(&c), backward(&c), memcpy(y, c.y.memory, c.y.bytes);
    for (int k = 0; k < INPUTS; k++)
      if (c.has[k]) memcpy(kept[k] = malloc(c.d[k].bytes), c.d[k].memory, c.d[k].bytes);
    c.desc.threads = 3, forward(&c), backward(&c);
    assert_memory_equal(y, c.y.memory, c.y.bytes);
    for (int k = 0; k < INPUTS; k++)
      if (c.has[k]) assert_memory_equal(kept[k], c.d[k].memory, c.d[k].bytes), free(kept[k]);
    free(y), release(&c);
  }
}

/* ---- Refused calls ---- */

/* One valid call of two heads with all matrices and an additive score. */
static struct layer_case valid;
static float lse_data[64], weights_data[512];
static attn_tensor lse, weights;

static int begin(void **state) {
  (void)state;
  struct layer_case *c = &valid;
  memset(c, 0, sizeof *c);
  c->rank = 3, c->batch = 2, c->n = 5, c->m = 4, c->heads = 2, c->eq = c->ek = 3, c->ev = 2;
  c->out = 7, c->units = 6;
  for (int k = W_Q; k <= W_O; k++) c->has[k] = 1;
  draw_inputs(c, ATTN_F32, ATTN_SCORE_ADDITIVE), describe(c, ATTN_SCORE_ADDITIVE);
  c->desc = (attn_sdpa)ATTN_SDPA_INIT;
  c->y = batched(c, ATTN_F32, c->m, 7), c->d_y = batched(c, ATTN_F32, c->m, 7);
  want_gradients(c);
  for (int k = 0; k < 64; k++) lse_data[k] = 42;
  for (int k = 0; k < 512; k++) weights_data[k] = 42;
  lse = (attn_tensor){lse_data, ATTN_F32, 3, {2, 2, 4}, {8, 4, 1}};
  weights = (attn_tensor){weights_data, ATTN_F32, 4, {2, 2, 4, 5}, {40, 20, 5, 1}};
  c->desc.lse = &lse, c->desc.weights = &weights;
  memset(c->y.memory, 0xA5, c->y.bytes);
  return 0;
}

static int end(void **state) {
  (void)state;
  release(&valid);
  return 0;
}

static attn_status run_forward(attn_error *e) {
  return attn_attention_layer_forward(&valid.layer, &valid.in[X].t, &valid.in[Q].t, &valid.y.t, e);
}

static attn_status run_backward(attn_error *e) {
  return attn_attention_layer_backward(&valid.layer, &valid.in[X].t, &valid.in[Q].t, &valid.d_y.t,
                                       &valid.gradients, e);
}

static void assert_untouched(const struct test_tensor *t) {
  for (size_t n = 0; n < t->bytes; n++) assert_int_equal((unsigned char)t->memory[n], 0xA5);
}

static void assert_nothing_written(void) {
  assert_untouched(&valid.y);
  for (int k = 0; k < INPUTS; k++) assert_untouched(&valid.d[k]);
  for (int k = 0; k < 64; k++) assert_true(lse_data[k] == 42);
  for (int k = 0; k < 512; k++) assert_true(weights_data[k] == 42);
}

static void expect(attn_status (*call)(attn_error *), attn_status status, const char *argument) {
  attn_error err;
  memset(&err, 0, sizeof err);
  attn_status got = call(&err);
  if (got != status || strcmp(err.argument, argument))
    fail_msg("expected %s for %s, got %s for %s: %s", attn_status_name(status), argument,
             attn_status_name(got), err.argument, err.message);
  assert_int_equal(call(NULL), status);
  assert_nothing_written();
}

/* Both calls refuse; then the call is valid again. */
static void refused(attn_status status, const char *argument) {
  expect(run_forward, status, argument), expect(run_backward, status, argument);
  end(NULL), begin(NULL);
}

static void refused_backward(attn_status status, const char *argument) {
  expect(run_backward, status, argument);
  end(NULL), begin(NULL);
}

static void refused_forward(attn_status status, const char *argument) {
  expect(run_forward, status, argument);
  end(NULL), begin(NULL);
}

static void refused_calls_change_nothing(void **state) {
  (void)state;
  attn_tensor *x = &valid.in[X].t, *q = &valid.in[Q].t;
  valid.layer.struct_size = 3, refused(ATTN_ERR_ARGUMENT, "layer");
  valid.layer.heads = -1, refused(ATTN_ERR_ARGUMENT, "heads");
  valid.layer.heads = 4, refused(ATTN_ERR_SHAPE, "w_q");
  valid.desc.struct_size = 3, refused(ATTN_ERR_ARGUMENT, "sdpa");
  valid.desc.threads = -1, refused(ATTN_ERR_ARGUMENT, "threads");
  valid.desc.flags = 1u << 30, refused(ATTN_ERR_ARGUMENT, "flags");
  valid.desc.additive = &valid.in[A].t, refused(ATTN_ERR_ARGUMENT, "additive");
  valid.score.struct_size = 3, refused(ATTN_ERR_ARGUMENT, "score");
  valid.score.kind = 9, refused(ATTN_ERR_ARGUMENT, "kind");
  valid.score.a = NULL, refused(ATTN_ERR_ARGUMENT, "a");
  valid.in[U].t.shape[0] = 2, refused(ATTN_ERR_SHAPE, "u");
  x->dtype = ATTN_I32, refused(ATTN_ERR_TYPE, "x");
  x->rank = 4, refused(ATTN_ERR_SHAPE, "x");
  x->rank = 1, refused(ATTN_ERR_SHAPE, "x");
  q->rank = 2, refused(ATTN_ERR_SHAPE, "q");
  q->shape[0] = 1, refused(ATTN_ERR_SHAPE, "q");
  q->shape[2] -= 1, refused(ATTN_ERR_SHAPE, "w_q");
  valid.in[W_K].t.rank = 1, refused(ATTN_ERR_SHAPE, "w_k");
  valid.in[W_V].t.shape[0] += 1, refused(ATTN_ERR_SHAPE, "w_v");
  valid.in[W_O].t.shape[0] -= 1, refused(ATTN_ERR_SHAPE, "w_o");
  valid.in[W_O].t.dtype = ATTN_BOOL, refused(ATTN_ERR_TYPE, "w_o");
  valid.layer.score = NULL, valid.layer.w_q = NULL, q->shape[2] = 2, valid.layer.heads = 1;
  refused(ATTN_ERR_SHAPE, "w_k");
  valid.y.t.shape[2] = 6, refused_forward(ATTN_ERR_SHAPE, "y");
  valid.y.t.data = x->data, refused_forward(ATTN_ERR_ARGUMENT, "y");
  lse.data = valid.in[W_K].t.data, refused_forward(ATTN_ERR_ARGUMENT, "lse");
  weights.data = valid.y.t.data, refused_forward(ATTN_ERR_ARGUMENT, "weights");
  weights.shape[3] = 4, refused_forward(ATTN_ERR_SHAPE, "weights");
  valid.d_y.t.shape[2] = 6, refused_backward(ATTN_ERR_SHAPE, "d_y");
  valid.gradients.struct_size = 3, refused_backward(ATTN_ERR_ARGUMENT, "gradients");
  valid.score_gradients.struct_size = 3, refused_backward(ATTN_ERR_ARGUMENT, "score_gradients");
  valid.d[W_K].t.shape[1] = 5, refused_backward(ATTN_ERR_SHAPE, "d_w_k");
  valid.d[X].t.dtype = ATTN_I64, refused_backward(ATTN_ERR_TYPE, "d_x");
  valid.d[Q].t.data = valid.d_y.t.data, refused_backward(ATTN_ERR_ARGUMENT, "d_q");
  valid.d[Q].t.data = valid.d[X].t.data, refused_backward(ATTN_ERR_ARGUMENT, "d_q");
  valid.d[U].t.data = valid.d[X].t.data, refused_backward(ATTN_ERR_ARGUMENT, "d_u");
  valid.d[A].t.shape[0] = 5, refused_backward(ATTN_ERR_SHAPE, "d_a");
  valid.layer.w_o = NULL, valid.y.t.shape[2] = valid.d_y.t.shape[2] = 4;
  refused_backward(ATTN_ERR_ARGUMENT, "d_w_o");
}

/* ---- Memory ---- */

struct countdown {
  int left, open;
};

static void *lend(void *context, size_t alignment, size_t bytes) {
  struct countdown *c = context;
  if (c->left-- <= 0) return NULL;
  c->open++;
  return aligned_alloc(alignment, bytes);
}

static void take_back(void *context, void *memory) {
  struct countdown *c = context;
  if (memory) c->open--;
  free(memory);
}

/* Each allocation fails once. */
static void failed_allocations_change_nothing(void **state) {
  (void)state;
  struct countdown c = {0, 0};
  const attn_allocator allocator = {&c, lend, take_back};
  attn_status (*const calls[])(attn_error *) = {run_forward, run_backward};
  for (int n = 0; n < 2; n++) {
    attn_status status = ATTN_ERR_MEMORY;
    int most = 0;
    for (; status == ATTN_ERR_MEMORY && most < 100; most++) {
      valid.desc.allocator = &allocator, c.left = most, status = calls[n](NULL);
      assert_int_equal(c.open, 0);
      if (status) assert_nothing_written();
    }
    assert_int_equal(status, ATTN_OK);
    assert_true(most > 5);
    end(NULL), begin(NULL);
  }
}

/* No inputs: y is 0. No queries: nothing. */
static void without_inputs_or_queries(void **state) {
  (void)state;
  valid.in[X].t.shape[1] = weights.shape[3] = 0, valid.d[X].t.shape[1] = 0;
  assert_int_equal(run_forward(NULL), ATTN_OK);
  for (int64_t k = 0; k < test_tensor_count(&valid.y.t); k++) assert_true(get(&valid.y.t, k) == 0);
  assert_int_equal(run_backward(NULL), ATTN_OK);
  for (int64_t k = 0; k < test_tensor_count(&valid.d[W_K].t); k++)
    assert_true(get(&valid.d[W_K].t, k) == 0);
  end(NULL), begin(NULL);
  valid.in[Q].t.shape[1] = valid.y.t.shape[1] = valid.d_y.t.shape[1] = valid.d[Q].t.shape[1] = 0;
  lse.shape[2] = weights.shape[2] = 0;
  assert_int_equal(run_forward(NULL), ATTN_OK);
  assert_nothing_written();
  assert_int_equal(run_backward(NULL), ATTN_OK);
  for (int64_t k = 0; k < test_tensor_count(&valid.d[X].t); k++)
    assert_true(get(&valid.d[X].t, k) == 0);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_the_formula_in_double),
      cmocka_unit_test(gradients_are_derivatives),
      cmocka_unit_test(gradients_alone),
      cmocka_unit_test(float32_is_products_and_the_core),
      cmocka_unit_test(other_types_are_float32_rounded_once),
      cmocka_unit_test(bits_do_not_depend_on_threads),
      cmocka_unit_test_setup_teardown(refused_calls_change_nothing, begin, end),
      cmocka_unit_test_setup_teardown(failed_allocations_change_nothing, begin, end),
      cmocka_unit_test_setup_teardown(without_inputs_or_queries, begin, end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
