/* Layer and RMS normalization for any rank, axis, types, strides and broadcasting. Results and
 * gradients are within the bounds of docs/accuracy.md, compared to long double; gradients agree
 * with central differences; in place and for any number of threads the bits are the same; a NaN
 * stays in its row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "attn/nn.h"
#include "test_tensors.h"
#include "select.h"

enum { MAX_ELEMENTS = 20000 };

typedef long double wide;

/* One call; layer_norm: else RMS normalization. */
struct norm_case {
  int layer_norm, has_scale, has_bias;
  attn_norm desc;
  int64_t n, rows;
  double epsilon;
  struct test_tensor x, scale, bias, y, mean, inverse, d_y, d_x, d_scale, d_bias;
};

/* The exact results and the magnitudes of which the bounds are computed. */
struct expected {
  wide xhat[MAX_ELEMENTS], y[MAX_ELEMENTS], d_x[MAX_ELEMENTS], d_x_size[MAX_ELEMENTS],
      d_scale[MAX_ELEMENTS], d_scale_size[MAX_ELEMENTS], d_bias[MAX_ELEMENTS],
      d_bias_size[MAX_ELEMENTS];
  wide mean[MAX_ELEMENTS], s[MAX_ELEMENTS],
      size[MAX_ELEMENTS]; /* of a row: mean, s, and (n + 12) (1 + 2 D)^2 2^-53 */
};

static struct expected expected;

/* ---- Random calls ---- */

static attn_dtype random_type(void) { return test_tensor_types[below(4)]; }

static struct test_tensor like(const struct test_tensor *x, attn_dtype dtype) {
  return test_tensor_new(dtype, x->t.rank, x->t.shape, chance(2));
}

/* A shape that broadcasts to x: leading dimensions may be missing, any may be 1. */
static struct test_tensor broadcasting(const struct norm_case *c, attn_dtype dtype, int plain) {
  const attn_tensor *x = &c->x.t;
  int axis = x->rank - (int)(c->desc.flags & ATTN_NORM_AXIS ? -c->desc.axis : 1);
  int missing = plain ? axis : (int)below(x->rank + 1);
  int64_t shape[ATTN_RANK_MAX];
  for (int d = missing; d < x->rank; d++)
    shape[d - missing] = !plain && chance(3) ? 1 : x->shape[d];
  return test_tensor_new(dtype, x->rank - missing, shape, chance(2));
}

static struct norm_case random_case(int layer_norm, attn_dtype (*type)(void), int64_t max_width) {
  struct norm_case c = {
      .layer_norm = layer_norm, .desc = ATTN_NORM_INIT, .epsilon = 1e-5, .n = 1, .rows = 1};
  int rank = 1 + (int)below(4), axis = rank - 1;
  int64_t shape[4], statistic[4];
  for (int d = 0; d < rank; d++) shape[d] = 1 + below(d == rank - 1 ? max_width : 6);
  if (chance(2)) axis = (int)below(rank), c.desc.flags |= ATTN_NORM_AXIS, c.desc.axis = axis - rank;
  if (chance(2))
    c.desc.flags |= ATTN_NORM_EPSILON, c.desc.epsilon = c.epsilon = chance(2) ? 0.1 : 1e-12;
  for (int d = 0; d < rank; d++) {
    *(d < axis ? &c.rows : &c.n) *= shape[d];
    statistic[d] = d < axis ? shape[d] : 1;
  }
  c.x = test_tensor_new(type(), rank, shape, chance(2));
  test_tensor_fill(&c.x.t, chance(3) ? 1e4 * normal() : 0, 1);
  c.has_scale = !chance(6), c.has_bias = layer_norm && !chance(4);
  c.scale = broadcasting(&c, type(), chance(2)), c.bias = broadcasting(&c, type(), chance(2));
  test_tensor_fill(&c.scale.t, 0, 1), test_tensor_fill(&c.bias.t, 0, 1);
  c.y = like(&c.x, type()), c.d_y = like(&c.x, type()), c.d_x = like(&c.x, type());
  test_tensor_fill(&c.d_y.t, 0, 1);
  c.mean = test_tensor_new(type(), rank, statistic, 1),
  c.inverse = test_tensor_new(type(), rank, statistic, 1);
  c.d_scale = like(&c.scale, type()), c.d_bias = like(&c.bias, type());
  return c;
}

static void free_case(struct norm_case *c) {
  struct test_tensor *all[] = {&c->x,       &c->scale, &c->bias, &c->y,       &c->mean,
                               &c->inverse, &c->d_y,   &c->d_x,  &c->d_scale, &c->d_bias};
  for (size_t n = 0; n < sizeof all / sizeof *all; n++) free(all[n]->memory);
}

static const attn_tensor *scale_of(const struct norm_case *c) {
  return c->has_scale ? &c->scale.t : NULL;
}

static void forward(struct norm_case *c) {
  attn_error err;
  attn_status status =
      c->layer_norm
          ? attn_layer_norm_forward(&c->desc, &c->x.t, scale_of(c), c->has_bias ? &c->bias.t : NULL,
                                    &c->y.t, &c->mean.t, &c->inverse.t, &err)
          : attn_rms_norm_forward(&c->desc, &c->x.t, scale_of(c), &c->y.t, &err);
  if (status) fail_msg("%s: %s", err.argument, err.message);
}

static void backward(struct norm_case *c) {
  attn_error err;
  attn_norm_gradients g = ATTN_NORM_GRADIENTS_INIT;
  g.d_x = &c->d_x.t, g.d_scale = c->has_scale ? &c->d_scale.t : NULL;
  g.d_bias = c->layer_norm ? &c->d_bias.t : NULL;
  attn_status status = (c->layer_norm ? attn_layer_norm_backward : attn_rms_norm_backward)(
      &c->desc, &c->x.t, scale_of(c), &c->d_y.t, &g, &err);
  if (status) fail_msg("%s: %s", err.argument, err.message);
}

/* ---- The equations ---- */

static wide scale_at(const struct norm_case *c, int64_t i) {
  return c->has_scale ? (wide)get(&c->scale.t, test_tensor_broadcast_index(&c->scale.t, &c->x.t, i))
                      : 1;
}

static wide bias_at(const struct norm_case *c, int64_t i) {
  return c->has_bias ? (wide)get(&c->bias.t, test_tensor_broadcast_index(&c->bias.t, &c->x.t, i))
                     : 0;
}

/* Relative to the row's first element, so that a large mean loses no digits. */
static void expect_row(const struct norm_case *c, int64_t row) {
  struct expected *t = &expected;
  int64_t first = row * c->n, end = first + c->n;
  wide n = (wide)c->n, origin = c->layer_norm ? (wide)get(&c->x.t, first) : 0;
  wide mean = 0, var = 0, absolute = 0; /* mean: relative to origin */
  for (int64_t i = first; i < end; i++) {
    mean += ((wide)get(&c->x.t, i) - origin) / n;
    absolute += fabsl((wide)get(&c->x.t, i)) / n;
  }
  if (!c->layer_norm) mean = absolute = 0;
  for (int64_t i = first; i < end; i++) {
    wide e = ((wide)get(&c->x.t, i) - origin) - mean;
    var += e * e / n;
  }
  wide s = sqrtl(var + (wide)c->epsilon), d = (n + 1) * 0x1p-53L * absolute / s;
  t->mean[row] = origin + mean, t->s[row] = s,
  t->size[row] = (n + 12) * (1 + 2 * d) * (1 + 2 * d) * 0x1p-53L;
  wide g_mean = 0, dot_mean = 0, g_size = 0, dot_size = 0;
  for (int64_t i = first; i < end; i++) {
    wide xhat = t->xhat[i] = (((wide)get(&c->x.t, i) - origin) - mean) / s;
    wide g = (wide)get(&c->d_y.t, i) * scale_at(c, i);
    t->y[i] = xhat * scale_at(c, i) + bias_at(c, i);
    g_mean += g / n, dot_mean += g * xhat / n;
    g_size += fabsl(g) / n, dot_size += fabsl(g * xhat) / n;
  }
  if (!c->layer_norm) g_mean = g_size = 0;
  for (int64_t i = first; i < end; i++) {
    wide g = (wide)get(&c->d_y.t, i) * scale_at(c, i), x = t->xhat[i];
    t->d_x[i] = (g - g_mean - x * dot_mean) / s;
    t->d_x_size[i] = (fabsl(g) + (1 + fabsl(x)) * (g_size + dot_size)) / s;
  }
}

static void expect_sums(const struct norm_case *c) {
  struct expected *t = &expected;
  for (int64_t i = 0; i < MAX_ELEMENTS; i++)
    t->d_scale[i] = t->d_scale_size[i] = t->d_bias[i] = t->d_bias_size[i] = 0;
  for (int64_t i = 0; i < c->rows * c->n; i++) {
    int64_t to = test_tensor_broadcast_index(&c->scale.t, &c->x.t, i),
            also = test_tensor_broadcast_index(&c->bias.t, &c->x.t, i);
    wide d_y = (wide)get(&c->d_y.t, i), terms = (wide)(c->rows * c->n);
    t->d_scale[to] += d_y * t->xhat[i];
    t->d_scale_size[to] +=
        fabsl(d_y) * (1 + fabsl(t->xhat[i])) * (t->size[i / c->n] + (terms + 4) * 0x1p-53L);
    t->d_bias[also] += d_y, t->d_bias_size[also] += fabsl(d_y) * terms * 0x1p-53L;
  }
}

static void compute_expected(const struct norm_case *c) {
  for (int64_t row = 0; row < c->rows; row++) expect_row(c, row);
  expect_sums(c);
}

/* ---- Within the bounds ---- */

static double worst, worst_inner; /* error / bound: of all; of float64, without the one rounding */

static void within(const attn_tensor *t, int64_t i, wide exact, wide inner, const char *name) {
  double got = get(t, i), error = (double)fabsl((wide)got - exact);
  if (t->dtype == ATTN_F16 && isinf(got) && (got > 0) == (exact > 0) &&
      fabsl(exact) + inner >= 65520)
    return; /* float16 overflows to infinity */
  double bound = rounding(t->dtype, (double)exact) + 1.01 * (double)inner;
  if (!(error <= bound))
    fail_msg("%s[%d] (%s) is %.17g, expected %.17g: error %.3g, bound %.3g", name, (int)i,
             attn_dtype_name(t->dtype), got, (double)exact, error, bound);
  if (error > worst * bound) worst = error / bound;
  if (t->dtype == ATTN_F64 && inner > 0 && error > worst_inner * bound) worst_inner = error / bound;
}

static void forward_within(const struct norm_case *c) {
  const struct expected *t = &expected;
  for (int64_t i = 0; i < c->rows * c->n; i++) {
    wide scale = fabsl(scale_at(c, i)), xhat = fabsl(t->xhat[i]), size = t->size[i / c->n];
    wide inner = c->layer_norm
                     ? scale * size * (1 + xhat) + 0x1p-51L * (scale * xhat + fabsl(bias_at(c, i)))
                     : ((wide)c->n / 2 + 8) * 0x1p-53L * scale * xhat;
    within(&c->y.t, i, t->y[i], inner, "y");
  }
  for (int64_t row = 0; c->layer_norm && row < c->rows; row++) {
    wide s = t->s[row], size = t->size[row];
    within(&c->mean.t, row, t->mean[row], size * s + 0x1p-53L * fabsl(t->mean[row]), "mean");
    within(&c->inverse.t, row, 1 / s, size / s, "inv_std_dev");
  }
}

static void backward_within(const struct norm_case *c) {
  const struct expected *t = &expected;
  for (int64_t i = 0; i < c->rows * c->n; i++)
    within(&c->d_x.t, i, t->d_x[i], 4 * t->size[i / c->n] * t->d_x_size[i], "d_x");
  for (int64_t i = 0; c->has_scale && i < test_tensor_count(&c->scale.t); i++)
    within(&c->d_scale.t, i, t->d_scale[i], t->d_scale_size[i], "d_scale");
  for (int64_t i = 0; c->layer_norm && i < test_tensor_count(&c->bias.t); i++)
    within(&c->d_bias.t, i, t->d_bias[i], t->d_bias_size[i], "d_bias");
}

static void errors_are_within_the_bounds(void **state) {
  (void)state;
  for (int layer_norm = 0; layer_norm < 2; layer_norm++) {
    worst = worst_inner = 0;
    for (int round = 0; round < ROUNDS(400); round++) {
      struct norm_case c = random_case(layer_norm, random_type, chance(3) ? 700 : 30);
      if (c.rows * c.n > MAX_ELEMENTS) {
        free_case(&c);
        continue;
      }
      forward(&c), backward(&c);
      compute_expected(&c);
      forward_within(&c), backward_within(&c);
      free_case(&c);
    }
    printf("%s norm: largest error / bound %.3f, float64 %.3f\n", layer_norm ? "layer" : "RMS",
           worst, worst_inner);
  }
}

/* The mean is 2^20 times the deviation: naive formulas lose all digits. */
static void a_mean_far_from_zero(void **state) {
  (void)state;
  struct test_tensor x = test_tensor_new(ATTN_F32, 1, (int64_t[]){1000}, 0), y = like(&x, ATTN_F32);
  for (int64_t i = 0; i < 1000; i++) put(&x.t, i, 0x1p20 + (double)(i % 8) / 8);
  assert_int_equal(attn_layer_norm_forward(NULL, &x.t, NULL, NULL, &y.t, NULL, NULL, NULL),
                   ATTN_OK);
  for (int64_t i = 0; i < 1000; i++) { /* mean 7/16, variance (8^2 - 1) / 12 / 64 */
    double exact = ((double)(i % 8) / 8 - 7.0 / 16) / sqrt(63.0 / 768 + 1e-5);
    assert_true(fabs(get(&y.t, i) - exact) <= 0x1p-24 * fabs(exact) + 1e-12);
  }
  free(x.memory), free(y.memory);
}

/* ---- Central differences ---- */

static attn_dtype always_f64(void) { return ATTN_F64; }

static double loss(struct norm_case *c) {
  double sum = 0;
  forward(c);
  for (int64_t i = 0; i < c->rows * c->n; i++) sum += get(&c->y.t, i) * get(&c->d_y.t, i);
  return sum;
}

/* The error of (up - down) / 2h is of the order h^2 and of the loss' rounding / h: both far below
 * 1e-6 of its terms. */
static void check_difference(struct norm_case *c, const attn_tensor *t, int64_t i, double gradient,
                             const char *name) {
  const double kept = get(t, i), h = 1e-5;
  put(t, i, kept + h);
  double up = loss(c);
  put(t, i, kept - h);
  double down = loss(c);
  put(t, i, kept);
  double difference = (up - down) / (2 * h);
  if (fabs(difference - gradient) > 1e-5 * (1 + fabs(gradient)))
    fail_msg("%s[%d]: %.12g, but differences give %.12g", name, (int)i, gradient, difference);
}

static void gradients_agree_with_central_differences(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(100); round++) {
    struct norm_case c = random_case(round % 2, always_f64, 12);
    c.desc.flags |= ATTN_NORM_EPSILON,
        c.desc.epsilon = 0.1; /* so that a row of one element is smooth */
    test_tensor_fill(&c.x.t, 1, 1);
    c.has_scale = 1, c.has_bias = c.layer_norm;
    forward(&c), backward(&c);
    for (int n = 0; n < 5; n++) {
      int64_t i = below(c.rows * c.n), j = below(test_tensor_count(&c.scale.t)),
              k = below(test_tensor_count(&c.bias.t));
      check_difference(&c, &c.x.t, i, get(&c.d_x.t, i), "d_x");
      check_difference(&c, &c.scale.t, j, get(&c.d_scale.t, j), "d_scale");
      if (c.layer_norm) check_difference(&c, &c.bias.t, k, get(&c.d_bias.t, k), "d_bias");
    }
    free_case(&c);
  }
}

/* ---- In place, any threads ---- */

static void run_in_reverse_order(void *context, int64_t count,
                                 void (*body)(void *, int64_t, int32_t), void *argument) {
  *(int *)context += 1;
  for (int64_t n = count - 1; n >= 0; n--) body(argument, n, (int32_t)(n % 3));
}

static void the_same_bits_for_any_threads(void **state) {
  (void)state;
  int calls = 0;
  const attn_executor executor = {&calls, 3, run_in_reverse_order};
  setenv("ATTN_THREADS", "4", 1);
  for (int round = 0; round < 12; round++) {
    struct norm_case c = {.layer_norm = round % 2, .has_scale = 1, .has_bias = round % 2};
    c.desc = (attn_norm)ATTN_NORM_INIT, c.rows = 150, c.n = 333;
    const int64_t shape[] = {150, 333}, column[] = {150, 1};
    c.x = test_tensor_new(ATTN_F32, 2, shape, 1), c.y = like(&c.x, ATTN_F32),
    c.d_y = like(&c.x, ATTN_F32);
    c.d_x = like(&c.x, ATTN_F64), c.mean = test_tensor_new(ATTN_F32, 2, column, 0);
    c.inverse = test_tensor_new(ATTN_F32, 2, column, 0);
    c.scale = test_tensor_new(ATTN_F32, 1, shape + 1, 0),
    c.bias = test_tensor_new(ATTN_F32, 1, shape + 1, 0);
    c.d_scale = test_tensor_new(ATTN_F64, 1, shape + 1, 0),
    c.d_bias = test_tensor_new(ATTN_F64, 1, shape + 1, 0);
    test_tensor_fill(&c.x.t, 3, 1), test_tensor_fill(&c.scale.t, 0, 1),
        test_tensor_fill(&c.bias.t, 0, 1), test_tensor_fill(&c.d_y.t, 0, 1);
    struct test_tensor *out[] = {&c.y, &c.d_x, &c.d_scale, &c.d_bias};
    char *kept[4];
    for (int way = 0; way < 4; way++) {
      c.desc.threads = (int32_t[]){1, 0, 3, 2}[way];
      c.desc.executor = way >= 2 ? &executor : NULL;
      forward(&c), backward(&c);
      for (int n = 0; n < 4; n++) {
        if (way == 0)
          kept[n] = malloc(out[n]->bytes), memcpy(kept[n], out[n]->memory, out[n]->bytes);
        assert_memory_equal(kept[n], out[n]->memory, out[n]->bytes);
        memset(out[n]->memory, 0xA5, out[n]->bytes);
      }
    }
    for (int n = 0; n < 4; n++) free(kept[n]);
    free_case(&c);
  }
  unsetenv("ATTN_THREADS");
  assert_true(calls > 0);
}

static void same_elements(const struct test_tensor *a, const struct test_tensor *b) {
  for (int64_t i = 0; i < test_tensor_count(&a->t); i++)
    assert_memory_equal(test_tensor_at(&a->t, i), test_tensor_at(&b->t, i),
                        (size_t)attn_real_size(a->t.dtype));
}

/* d_x in place of x or of d_y, which the sums read as well; then y in place of x. */
static void in_place_the_same_bits(void **state) {
  (void)state;
  for (int round = 0; round < 60; round++) {
    struct norm_case c = random_case(round % 2, random_type, 300), same = c;
    int over_x = round / 2 % 2;
    free(c.y.memory), free(c.d_x.memory);
    c.y = like(&c.x, c.x.t.dtype), c.d_x = like(&c.x, over_x ? c.x.t.dtype : c.d_y.t.dtype);
    same.d_scale = like(&c.scale, c.d_scale.t.dtype), same.d_bias = like(&c.bias, c.d_bias.t.dtype);
    same.y = c.x, same.d_x = over_x ? c.x : c.d_y;
    forward(&c), backward(&c);
    backward(&same), same_elements(&c.d_x, &same.d_x);
    if (c.has_scale) same_elements(&c.d_scale, &same.d_scale);
    if (c.layer_norm) same_elements(&c.d_bias, &same.d_bias);
    if (!over_x) forward(&same), same_elements(&c.y, &same.y);
    free(same.d_scale.memory), free(same.d_bias.memory), free_case(&c);
  }
}

/* ---- NaN, infinity, empty tensors ---- */

static void a_nan_stays_in_its_row(void **state) {
  (void)state;
  for (int layer_norm = 0; layer_norm < 2; layer_norm++) {
    struct norm_case c = random_case(layer_norm, always_f64, 9);
    c.has_bias = c.has_scale = 0;
    int64_t row = below(c.rows), at = row * c.n + below(c.n);
    put(&c.x.t, at, (double)NAN);
    forward(&c);
    for (int64_t i = 0; i < c.rows * c.n; i++)
      assert_true(isnan(get(&c.y.t, i)) == (i / c.n == row));
    put(&c.x.t, at, (double)INFINITY);
    forward(&c);
    for (int64_t i = 0; i < c.rows * c.n; i++)
      assert_true(isnan(get(&c.y.t, i)) == (layer_norm ? i / c.n == row : i == at));
    free_case(&c);
  }
}

static void empty_rows_and_columns(void **state) {
  (void)state;
  float statistic[3] = {7, 7, 7}, sums[2] = {7, 7};
  attn_tensor none = {NULL, ATTN_F32, 2, {3, 0}, {1, 1}},
              mean = {statistic, ATTN_F32, 2, {3, 1}, {1, 1}};
  assert_int_equal(attn_layer_norm_forward(NULL, &none, NULL, NULL, &none, &mean, NULL, NULL),
                   ATTN_OK);
  for (int n = 0; n < 3; n++) assert_true(isnan(statistic[n]));
  assert_int_equal(attn_rms_norm_forward(NULL, &none, NULL, &none, NULL), ATTN_OK);
  attn_tensor no_rows = {NULL, ATTN_F32, 2, {0, 2}, {1, 1}}, d_bias = {sums, ATTN_F32, 1, {2}, {1}};
  attn_norm_gradients g = ATTN_NORM_GRADIENTS_INIT;
  g.d_bias = &d_bias, g.d_x = &no_rows;
  assert_int_equal(attn_layer_norm_backward(NULL, &no_rows, NULL, &no_rows, &g, NULL), ATTN_OK);
  assert_true(sums[0] == 0 && sums[1] == 0);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(errors_are_within_the_bounds),
                                     cmocka_unit_test(a_mean_far_from_zero),
                                     cmocka_unit_test(gradients_agree_with_central_differences),
                                     cmocka_unit_test(the_same_bits_for_any_threads),
                                     cmocka_unit_test(in_place_the_same_bits),
                                     cmocka_unit_test(a_nan_stays_in_its_row),
                                     cmocka_unit_test(empty_rows_and_columns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
