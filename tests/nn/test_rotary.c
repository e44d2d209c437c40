/* Rotary position embedding for both pairings, any R, both ranks, all types and strides, with and
 * without positions: errors are within the bound; elements that are not rotated are copied; the
 * backward is the transpose; products of rotated vectors depend only on distances; the tables are
 * within their bound. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "attn/nn.h"
#include "test_tensors.h"
#include "select.h"

typedef long double wide;

struct rotary_case {
  attn_rotary desc;
  int64_t b, h, l, e, r, p; /* p: rows of the tables */
  int64_t position[64];     /* (B, L) */
  int32_t narrow[64];
  attn_tensor positions;
  struct test_tensor x, y, cos, sin;
};

static struct rotary_case random_case(attn_dtype dtype, int64_t max_width) {
  struct rotary_case c = {
      .desc = ATTN_ROTARY_INIT, .b = 1 + below(3), .h = 1 + below(4), .l = 1 + below(9)};
  c.e = 2 * (1 + below(max_width)), c.r = chance(2) ? c.e : 2 * (1 + below(c.e / 2)),
  c.p = 1 + below(50);
  if (chance(2)) c.desc.flags = ATTN_ROTARY_INTERLEAVED;
  if (c.r < c.e || chance(2)) c.desc.rotary_dim = c.r;
  for (int n = 0; n < 64; n++) c.position[n] = below(c.p), c.narrow[n] = (int32_t)c.position[n];
  c.positions = (attn_tensor){NULL, chance(2) ? ATTN_I32 : ATTN_I64, 2, {c.b, c.l}, {c.l, 1}};
  const int64_t four[] = {c.b, c.h, c.l, c.e}, three[] = {c.b, c.l, c.h * c.e};
  int flat = chance(2);
  if (flat || chance(3)) c.desc.heads = c.h;
  c.x = test_tensor_new(dtype, flat ? 3 : 4, flat ? three : four, chance(2));
  c.y = test_tensor_new(dtype, flat ? 3 : 4, flat ? three : four, chance(2));
  const int64_t by_position[] = {c.p, c.r / 2}, by_token[] = {c.b, c.l, c.r / 2};
  int with = chance(2);
  c.cos = test_tensor_new(test_tensor_types[below(4)], with ? 2 : 3, with ? by_position : by_token,
                          chance(2));
  c.sin = test_tensor_new(test_tensor_types[below(4)], with ? 2 : 3, with ? by_position : by_token,
                          chance(2));
  test_tensor_fill(&c.x.t, 0, 1), test_tensor_fill(&c.cos.t, 0, 1),
      test_tensor_fill(&c.sin.t, 0, 1);
  return c;
}

/* The positions are members of the case, which is returned by value, so the pointers are set here.
 */
static const attn_rotary *desc_of(struct rotary_case *c) {
  c->positions.data = c->positions.dtype == ATTN_I32 ? (void *)c->narrow : c->position;
  c->desc.positions = c->cos.t.rank == 2 ? &c->positions : NULL;
  return &c->desc;
}

static void free_case(struct rotary_case *c) {
  free(c->x.memory), free(c->y.memory), free(c->cos.memory), free(c->sin.memory);
}

static void forward(struct rotary_case *c) {
  attn_error err;
  if (attn_rotary_forward(desc_of(c), &c->x.t, &c->cos.t, &c->sin.t, &c->y.t, &err))
    fail_msg("%s: %s", err.argument, err.message);
}

/* The row-major index of element (b, h, l, e) for either rank. */
static int64_t index_of(const struct rotary_case *c, int64_t b, int64_t h, int64_t l, int64_t e) {
  return c->x.t.rank == 4 ? ((b * c->h + h) * c->l + l) * c->e + e
                          : ((b * c->l + l) * c->h + h) * c->e + e;
}

static wide table(const struct rotary_case *c, const attn_tensor *t, int64_t b, int64_t l,
                  int64_t k) {
  int64_t row = t->rank == 2 ? c->position[b * c->l + l] : b * c->l + l;
  return (wide)get(t, row * (c->r / 2) + k);
}

/* y of element e, and the sum of its terms' magnitudes. direction: -1 for the gradient. */
static wide rotated(const struct rotary_case *c, const attn_tensor *x, int64_t b, int64_t h,
                    int64_t l, int64_t e, int direction, wide *size) {
  int interleaved = c->desc.flags == ATTN_ROTARY_INTERLEAVED;
  if (e >= c->r) return *size = 0, (wide)get(x, index_of(c, b, h, l, e));
  int64_t k = interleaved ? e / 2 : e % (c->r / 2), is_second = interleaved ? e % 2 : e >= c->r / 2;
  int64_t other = interleaved ? e ^ 1 : (e + c->r / 2) % c->r;
  wide own = table(c, &c->cos.t, b, l, k) * (wide)get(x, index_of(c, b, h, l, e));
  wide cross = table(c, &c->sin.t, b, l, k) * (wide)get(x, index_of(c, b, h, l, other));
  *size = fabsl(own) + fabsl(cross);
  return own + cross * (is_second ? direction : -direction);
}

static double worst;

static void expect_within_bound(const struct rotary_case *c, const attn_tensor *from,
                                const attn_tensor *to, int direction) {
  for (int64_t b = 0; b < c->b; b++)
    for (int64_t h = 0; h < c->h; h++)
      for (int64_t l = 0; l < c->l; l++)
        for (int64_t e = 0; e < c->e; e++) {
          wide size, exact = rotated(c, from, b, h, l, e, direction, &size);
          double got = get(to, index_of(c, b, h, l, e)), error = (double)fabsl((wide)got - exact);
          double bound = e < c->r ? rounding(to->dtype, (double)exact) + 0x1p-52 * (double)size : 0;
          if (!(error <= bound))
            fail_msg("(%d, %d, %d, %d) is %.17g, expected %.17g; bound %.3g", (int)b, (int)h,
                     (int)l, (int)e, got, (double)exact, bound);
          if (error > worst * bound) worst = error / bound;
        }
}

static void errors_are_within_the_bound(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(400); round++) {
    struct rotary_case c = random_case(test_tensor_types[round % 4], chance(20) ? 400 : 12);
    attn_error err;
    forward(&c);
    expect_within_bound(&c, &c.x.t, &c.y.t, 1);
    if (attn_rotary_backward(desc_of(&c), &c.cos.t, &c.sin.t, &c.x.t, &c.y.t, &err))
      fail_msg("%s: %s", err.argument, err.message);
    expect_within_bound(&c, &c.x.t, &c.y.t, -1);
    free_case(&c);
  }
  printf("largest error / bound: %.3f\n", worst);
}

/* sum dy y(x) is linear in x, so a central difference is exact up to rounding. */
static void the_gradient_agrees_with_central_differences(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(60); round++) {
    struct rotary_case c = random_case(ATTN_F64, 12);
    struct test_tensor d_y = test_tensor_new(ATTN_F64, c.x.t.rank, c.x.t.shape, 1);
    struct test_tensor d_x = test_tensor_new(ATTN_F64, c.x.t.rank, c.x.t.shape, 1);
    int64_t count = test_tensor_count(&c.x.t), at = below(count);
    double loss[2] = {0, 0}, kept = get(&c.x.t, at);
    test_tensor_fill(&d_y.t, 0, 1);
    assert_int_equal(attn_rotary_backward(desc_of(&c), &c.cos.t, &c.sin.t, &d_y.t, &d_x.t, NULL),
                     ATTN_OK);
    for (int way = 0; way < 2; way++) {
      put(&c.x.t, at, kept + (way ? 1 : -1));
      forward(&c);
      for (int64_t n = 0; n < count; n++) loss[way] += get(&c.y.t, n) * get(&d_y.t, n);
    }
    assert_true(fabs((loss[1] - loss[0]) / 2 - get(&d_x.t, at)) < 1e-9);
    free(d_y.memory), free(d_x.memory), free_case(&c);
  }
}

static void run_in_reverse_order(void *context, int64_t count,
                                 void (*body)(void *, int64_t, int32_t), void *argument) {
  (void)context;
  for (int64_t n = count - 1; n >= 0; n--) body(argument, n, (int32_t)(n % 2));
}

static void in_place_and_threads_keep_the_bits(void **state) {
  (void)state;
  const attn_executor executor = {NULL, 2, run_in_reverse_order};
  setenv("ATTN_THREADS", "3", 1);
  for (int round = 0; round < 40; round++) {
    struct rotary_case c = random_case(test_tensor_types[round % 4], round < 4 ? 3000 : 12);
    c.desc.threads = 1;
    forward(&c);
    c.desc.threads = 0, c.desc.executor = round % 2 ? &executor : NULL;
    assert_int_equal(attn_rotary_forward(desc_of(&c), &c.x.t, &c.cos.t, &c.sin.t, &c.x.t, NULL),
                     ATTN_OK);
    for (int64_t n = 0; n < test_tensor_count(&c.x.t); n++)
      assert_memory_equal(test_tensor_at(&c.x.t, n), test_tensor_at(&c.y.t, n),
                          (size_t)attn_real_size(c.x.t.dtype));
    free_case(&c);
  }
  unsetenv("ATTN_THREADS");
}

/* ---- The tables ---- */

static void check_tables(double base, int64_t first, int64_t positions, int64_t pairs,
                         attn_dtype type) {
  struct test_tensor c = test_tensor_new(type, 2, (int64_t[]){positions, pairs}, 1);
  struct test_tensor s = test_tensor_new(type, 2, (int64_t[]){positions, pairs}, 1);
  assert_int_equal(attn_rotary_tables(base, first, &c.t, &s.t, NULL), ATTN_OK);
  for (int64_t p = 0; p < positions; p++)
    for (int64_t k = 0; k < pairs; k++) {
      wide angle = (wide)(first + p) * powl((wide)base, -2 * (wide)k / (wide)(2 * pairs));
      double inner = 0x1p-53 * (4 + fabs(log(base))) * (double)angle;
      wide error_cos = fabsl((wide)get(&c.t, p * pairs + k) - cosl(angle));
      wide error_sin = fabsl((wide)get(&s.t, p * pairs + k) - sinl(angle));
      assert_true(error_cos <= rounding(type, 1) + inner && error_sin <= rounding(type, 1) + inner);
    }
  free(c.memory), free(s.memory);
}

static void tables_are_within_the_bound(void **state) {
  (void)state;
  for (int n = 0; n < 4; n++) {
    check_tables(10000, 0, 300, 32, test_tensor_types[n]);
    check_tables(500000, 131000, 72, 64, test_tensor_types[n]);
    check_tables(0.5, 1, 9, 3, test_tensor_types[n]);
  }
}

/* [Su21 eq. 11]: q rotated by m times k rotated by n depends only on m - n. */
static void products_depend_only_on_distances(void **state) {
  (void)state;
  double q[16], k[16], rotated_q[16], rotated_k[16], cos[100 * 8], sin[100 * 8], dot[2] = {0, 0};
  int64_t position = 0;
  attn_tensor one = {q, ATTN_F64, 4, {1, 1, 1, 16}, {16, 16, 16, 1}}, to = one;
  attn_tensor c = {cos, ATTN_F64, 2, {100, 8}, {8, 1}}, s = c;
  attn_tensor positions = {&position, ATTN_I64, 2, {1, 1}, {1, 1}};
  attn_rotary desc = ATTN_ROTARY_INIT;
  desc.positions = &positions, s.data = sin;
  assert_int_equal(attn_rotary_tables(10000, 0, &c, &s, NULL), ATTN_OK);
  for (int e = 0; e < 16; e++) q[e] = normal(), k[e] = normal();
  for (int way = 0; way < 2; way++) {
    position = way ? 90 : 12;
    one.data = q, to.data = rotated_q;
    assert_int_equal(attn_rotary_forward(&desc, &one, &c, &s, &to, NULL), ATTN_OK);
    position -= 7;
    one.data = k, to.data = rotated_k;
    assert_int_equal(attn_rotary_forward(&desc, &one, &c, &s, &to, NULL), ATTN_OK);
    for (int e = 0; e < 16; e++) dot[way] += rotated_q[e] * rotated_k[e];
  }
  assert_true(fabs(dot[0] - dot[1]) < 1e-12);
}

static void empty_tensors_are_accepted(void **state) {
  (void)state;
  attn_tensor none = {NULL, ATTN_F32, 4, {2, 0, 3, 4}, {0}},
              table = {NULL, ATTN_F32, 3, {2, 3, 2}, {0}};
  float zero = 0;
  table.data = &zero;
  assert_int_equal(attn_rotary_forward(NULL, &none, &table, &table, &none, NULL), ATTN_OK);
  none = (attn_tensor){NULL, ATTN_F32, 4, {2, 2, 3, 0}, {0}}, table.shape[2] = 0;
  assert_int_equal(attn_rotary_forward(NULL, &none, &table, &table, &none, NULL), ATTN_OK);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(errors_are_within_the_bound),
                                     cmocka_unit_test(the_gradient_agrees_with_central_differences),
                                     cmocka_unit_test(in_place_and_threads_keep_the_bits),
                                     cmocka_unit_test(tables_are_within_the_bound),
                                     cmocka_unit_test(products_depend_only_on_distances),
                                     cmocka_unit_test(empty_tensors_are_accepted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
