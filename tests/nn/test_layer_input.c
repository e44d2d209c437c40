/* Invalid calls of the public layers fail with the right status and the name of the argument, and
 * write nothing. An allocation that fails is one such error; what was allocated is released. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/nn.h"
#include "random.h"

/* x (2, 3, 4, 6) as (B, H, L, E), scale and bias (6), tables (5, 3), positions (2, 4). */
enum { COUNT = 2 * 3 * 4 * 6 };

static float x[COUNT], d_y[COUNT], y[COUNT], scale[6], bias[6], mean[24], inverse[24], d_scale[6],
    d_bias[6], cosine[15], sine[15];
static int64_t position[8];
static attn_tensor tx, td_y, ty, tscale, tbias, tmean, tinverse, td_scale, td_bias, tcos, tsin,
    tposition;
static attn_norm norm;
static attn_rotary rotary;
static attn_norm_gradients gradients;

static attn_tensor column(float *data) {
  return (attn_tensor){data, ATTN_F32, 4, {2, 3, 4, 1}, {12, 4, 1, 1}};
}

static int begin(void **state) {
  (void)state;
  tx = attn_tensor_dense(ATTN_F32, x, 2, 3, 4, 6), ty = td_y = tx, ty.data = y, td_y.data = d_y;
  tscale = (attn_tensor){scale, ATTN_F32, 1, {6}, {1}}, tbias = td_scale = td_bias = tscale;
  tbias.data = bias, td_scale.data = d_scale, td_bias.data = d_bias;
  tmean = column(mean), tinverse = column(inverse);
  tcos = (attn_tensor){cosine, ATTN_F32, 2, {5, 3}, {3, 1}}, tsin = tcos, tsin.data = sine;
  tposition = (attn_tensor){position, ATTN_I64, 2, {2, 4}, {4, 1}};
  norm = (attn_norm)ATTN_NORM_INIT, rotary = (attn_rotary)ATTN_ROTARY_INIT;
  rotary.positions = &tposition;
  gradients = (attn_norm_gradients)ATTN_NORM_GRADIENTS_INIT;
  gradients.d_x = &ty, gradients.d_scale = &td_scale, gradients.d_bias = &td_bias;
  memset(position, 0, sizeof position);
  for (int n = 0; n < COUNT; n++) x[n] = d_y[n] = (float)n, y[n] = 42;
  for (int n = 0; n < 24; n++) mean[n] = inverse[n] = 42;
  for (int n = 0; n < 6; n++) scale[n] = bias[n] = 1, d_scale[n] = d_bias[n] = 42;
  for (int n = 0; n < 15; n++) cosine[n] = sine[n] = 1;
  return 0;
}

static attn_status layer_forward(attn_error *e) {
  return attn_layer_norm_forward(&norm, &tx, &tscale, &tbias, &ty, &tmean, &tinverse, e);
}
static attn_status rms_forward(attn_error *e) {
  return attn_rms_norm_forward(&norm, &tx, &tscale, &ty, e);
}
static attn_status layer_backward(attn_error *e) {
  return attn_layer_norm_backward(&norm, &tx, &tscale, &td_y, &gradients, e);
}
static attn_status rms_backward(attn_error *e) {
  gradients.d_bias = NULL;
  return attn_rms_norm_backward(&norm, &tx, &tscale, &td_y, &gradients, e);
}
static attn_status rotary_forward(attn_error *e) {
  return attn_rotary_forward(&rotary, &tx, &tcos, &tsin, &ty, e);
}
static attn_status rotary_backward(attn_error *e) {
  return attn_rotary_backward(&rotary, &tcos, &tsin, &td_y, &ty, e);
}

static void assert_nothing_written(void) {
  for (int n = 0; n < COUNT; n++)
    assert_true(y[n] == 42.0f && x[n] == (float)n && d_y[n] == (float)n);
  for (int n = 0; n < 24; n++) assert_true(mean[n] == 42.0f && inverse[n] == 42.0f);
  for (int n = 0; n < 6; n++) assert_true(d_scale[n] == 42.0f && d_bias[n] == 42.0f);
}

static void expect_error(attn_status (*call)(attn_error *), attn_status status,
                         const char *argument) {
  attn_error err;
  memset(&err, 0, sizeof err);
  attn_status got = call(&err);
  if (got != status || strcmp(err.argument, argument) || err.status != status || !err.message[0])
    fail_msg("expected %s for %s, got %s for %s: %s", attn_status_name(status), argument,
             attn_status_name(got), err.argument, err.message);
  assert_int_equal(call(NULL), status);
  assert_nothing_written();
}

/* The caller has set invalid arguments; they are reset to valid ones afterwards. */
static void expect_error_and_reset(attn_status (*call)(attn_error *), attn_status status,
                                   const char *argument) {
  expect_error(call, status, argument);
  begin(NULL);
}

static void expect_norm_error(attn_status status, const char *argument) {
  expect_error(layer_forward, status, argument), expect_error(rms_forward, status, argument);
  expect_error(layer_backward, status, argument);
  gradients.d_bias = NULL;
  expect_error_and_reset(rms_backward, status, argument);
}

static void valid_calls_succeed(void **state) {
  (void)state;
  attn_status (*all[])(attn_error *) = {layer_forward, rms_forward,    layer_backward,
                                        rms_backward,  rotary_forward, rotary_backward};
  for (int n = 0; n < 6; n++) assert_int_equal(all[n](NULL), ATTN_OK);
}

static void norm_descriptor(void **state) {
  (void)state;
  norm.struct_size = 0, expect_norm_error(ATTN_ERR_ARGUMENT, "struct_size");
  norm.struct_size = 1u << 20, expect_norm_error(ATTN_ERR_ARGUMENT, "struct_size");
  norm.flags = 64, expect_norm_error(ATTN_ERR_ARGUMENT, "flags");
  const double bad[] = {-1e-9, (double)NAN, (double)INFINITY, -(double)INFINITY};
  for (int n = 0; n < 4; n++)
    norm.flags = ATTN_NORM_EPSILON, norm.epsilon = bad[n],
    expect_norm_error(ATTN_ERR_ARGUMENT, "epsilon");
  const int32_t axis[] = {4, -5, INT32_MAX, INT32_MIN};
  for (int n = 0; n < 4; n++)
    norm.flags = ATTN_NORM_AXIS, norm.axis = axis[n], expect_norm_error(ATTN_ERR_ARGUMENT, "axis");
  norm.threads = -1, expect_norm_error(ATTN_ERR_ARGUMENT, "threads");
  const attn_executor none = {NULL, 0, NULL};
  norm.executor = &none, expect_norm_error(ATTN_ERR_ARGUMENT, "executor");
  const attn_allocator incomplete = {NULL, NULL, NULL};
  norm.allocator = &incomplete, expect_norm_error(ATTN_ERR_ARGUMENT, "allocator");
  norm.epsilon = -1, norm.axis = 99; /* flags do not select them */
  assert_int_equal(layer_forward(NULL), ATTN_OK);
}

static void norm_tensors(void **state) {
  (void)state;
  tx.rank = 0, expect_norm_error(ATTN_ERR_SHAPE, "x");
  tx.rank = 9, expect_norm_error(ATTN_ERR_SHAPE, "x");
  tx.shape[1] = -1, expect_norm_error(ATTN_ERR_SHAPE, "x");
  tx.shape[1] = INT64_MAX, expect_norm_error(ATTN_ERR_SHAPE, "x");
  tx.strides[0] = INT64_MAX / 2, expect_norm_error(ATTN_ERR_SHAPE, "x");
  tx.dtype = ATTN_I32, expect_norm_error(ATTN_ERR_TYPE, "x");
  tx.dtype = (attn_dtype)77, expect_norm_error(ATTN_ERR_TYPE, "x");
  tx.data = NULL, expect_norm_error(ATTN_ERR_ARGUMENT, "x");
  tx.data = (char *)x + 1, expect_norm_error(ATTN_ERR_ARGUMENT, "x");
  tscale.shape[0] = 5, expect_norm_error(ATTN_ERR_SHAPE, "scale");
  tscale.rank = 5, expect_norm_error(ATTN_ERR_SHAPE, "scale");
  tscale.dtype = ATTN_BOOL, expect_norm_error(ATTN_ERR_TYPE, "scale");
  tbias.shape[0] = 2, expect_error_and_reset(layer_forward, ATTN_ERR_SHAPE, "bias");
  ty.shape[3] = 5, expect_error_and_reset(layer_forward, ATTN_ERR_SHAPE, "y");
  ty.rank = 3, expect_error_and_reset(rms_forward, ATTN_ERR_SHAPE, "y");
  ty.dtype = ATTN_I64, expect_error_and_reset(rms_forward, ATTN_ERR_TYPE, "y");
  tmean.shape[3] = 6, expect_error_and_reset(layer_forward, ATTN_ERR_SHAPE, "mean");
  tinverse.rank = 3, expect_error_and_reset(layer_forward, ATTN_ERR_SHAPE, "inv_std_dev");
  td_y.shape[0] = 1, expect_error_and_reset(layer_backward, ATTN_ERR_SHAPE, "d_y");
  ty.shape[0] = 1, expect_error_and_reset(layer_backward, ATTN_ERR_SHAPE, "d_x");
  td_scale.shape[0] = 1, expect_error_and_reset(rms_backward, ATTN_ERR_SHAPE, "d_scale");
  td_bias.shape[0] = 5, expect_error_and_reset(layer_backward, ATTN_ERR_SHAPE, "d_bias");
  td_bias.dtype = ATTN_I32, expect_error_and_reset(layer_backward, ATTN_ERR_TYPE, "d_bias");
  gradients.struct_size = 3, expect_error_and_reset(layer_backward, ATTN_ERR_ARGUMENT, "gradients");
  attn_error err;
  assert_int_equal(attn_layer_norm_forward(NULL, NULL, NULL, NULL, &ty, NULL, NULL, &err),
                   ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "x");
  assert_int_equal(attn_rms_norm_forward(NULL, &tx, NULL, NULL, &err), ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "y");
  assert_int_equal(attn_rms_norm_backward(NULL, &tx, NULL, &td_y, NULL, &err), ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "gradients");
  assert_int_equal(attn_rms_norm_backward(NULL, &tx, &tscale, &td_y, &gradients, &err),
                   ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "d_bias");
  assert_int_equal(attn_layer_norm_backward(NULL, &tx, NULL, &td_y, &gradients, &err),
                   ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "d_scale");
  assert_nothing_written();
}

static void norm_overlaps(void **state) {
  (void)state;
  ty.data = x + 1,
  expect_error_and_reset(rms_forward, ATTN_ERR_ARGUMENT, "y"); /* would be read past its end */
  ty.data = x, ty.strides[0] = 0, expect_error_and_reset(rms_forward, ATTN_ERR_ARGUMENT, "y");
  tscale.data = y, expect_error_and_reset(layer_forward, ATTN_ERR_ARGUMENT, "y");
  tbias.data = y + 3, expect_error_and_reset(layer_forward, ATTN_ERR_ARGUMENT, "y");
  tmean.data = x, expect_error_and_reset(layer_forward, ATTN_ERR_ARGUMENT, "mean");
  tmean.data = y, expect_error_and_reset(layer_forward, ATTN_ERR_ARGUMENT, "mean");
  tinverse.data = mean, expect_error_and_reset(layer_forward, ATTN_ERR_ARGUMENT, "mean");
  tinverse.data = bias,
  tinverse.shape[0] = tinverse.shape[1] = tx.shape[0] = tx.shape[1] = ty.shape[0] = ty.shape[1] = 1;
  tmean.shape[0] = tmean.shape[1] = 1,
  expect_error_and_reset(layer_forward, ATTN_ERR_ARGUMENT, "inv_std_dev");
  ty.data = d_y + 1, expect_error_and_reset(layer_backward, ATTN_ERR_ARGUMENT, "d_x");
  ty.data = x + 1, expect_error_and_reset(layer_backward, ATTN_ERR_ARGUMENT, "d_x");
  tscale.data = y, expect_error_and_reset(layer_backward, ATTN_ERR_ARGUMENT, "d_x");
  td_scale.data = scale, expect_error_and_reset(rms_backward, ATTN_ERR_ARGUMENT, "d_scale");
  td_scale.data = d_bias, expect_error_and_reset(layer_backward, ATTN_ERR_ARGUMENT, "d_scale");
  td_scale.data = y, expect_error_and_reset(layer_backward, ATTN_ERR_ARGUMENT, "d_scale");
  td_bias.data = x, expect_error_and_reset(layer_backward, ATTN_ERR_ARGUMENT, "d_bias");
  td_bias.data = d_y, expect_error_and_reset(layer_backward, ATTN_ERR_ARGUMENT, "d_bias");
}

static void expect_rotary_error(attn_status status, const char *argument) {
  expect_error(rotary_forward, status, argument);
  expect_error_and_reset(rotary_backward, status, argument);
}

static void rotary_arguments(void **state) {
  (void)state;
  rotary.struct_size = 1, expect_rotary_error(ATTN_ERR_ARGUMENT, "struct_size");
  rotary.flags = 2, expect_rotary_error(ATTN_ERR_ARGUMENT, "flags");
  rotary.rotary_dim = 5, expect_rotary_error(ATTN_ERR_ARGUMENT, "rotary_dim");
  rotary.rotary_dim = 8, expect_rotary_error(ATTN_ERR_ARGUMENT, "rotary_dim");
  rotary.rotary_dim = -2, expect_rotary_error(ATTN_ERR_ARGUMENT, "rotary_dim");
  tx.shape[3] = ty.shape[3] = td_y.shape[3] = 5,
  expect_rotary_error(ATTN_ERR_ARGUMENT, "rotary_dim");
  rotary.rotary_dim = 4, expect_rotary_error(ATTN_ERR_SHAPE, "cos");
  rotary.heads = -1, expect_rotary_error(ATTN_ERR_ARGUMENT, "heads");
  rotary.heads = 2, expect_rotary_error(ATTN_ERR_SHAPE, "heads");
  rotary.threads = -1, expect_rotary_error(ATTN_ERR_ARGUMENT, "threads");
  tx.rank = ty.rank = td_y.rank = 3, expect_rotary_error(ATTN_ERR_SHAPE, "heads");
  tx.rank = ty.rank = td_y.rank = 3, rotary.heads = 3, expect_rotary_error(ATTN_ERR_SHAPE, "heads");
  tx.rank = ty.rank = td_y.rank = 2, expect_error(rotary_forward, ATTN_ERR_SHAPE, "x");
  expect_error_and_reset(rotary_backward, ATTN_ERR_SHAPE, "d_y");
  tx.dtype = ATTN_I32, expect_error_and_reset(rotary_forward, ATTN_ERR_TYPE, "x");
  ty.dtype = ATTN_F64, expect_error_and_reset(rotary_forward, ATTN_ERR_TYPE, "y");
  ty.shape[2] = 3, expect_error_and_reset(rotary_backward, ATTN_ERR_SHAPE, "d_x");
  tcos.rank = 3, expect_rotary_error(ATTN_ERR_SHAPE, "cos");
  tcos.shape[1] = 2, expect_rotary_error(ATTN_ERR_SHAPE, "cos");
  tsin.dtype = ATTN_I32, expect_rotary_error(ATTN_ERR_TYPE, "sin");
  tsin.shape[0] = 4, expect_rotary_error(ATTN_ERR_SHAPE, "sin");
  tsin.data = NULL, expect_rotary_error(ATTN_ERR_ARGUMENT, "sin");
  rotary.positions = NULL, expect_rotary_error(ATTN_ERR_SHAPE, "cos");
  position[7] = 5, expect_rotary_error(ATTN_ERR_ARGUMENT, "positions");
  position[0] = -1, expect_rotary_error(ATTN_ERR_ARGUMENT, "positions");
  tposition.shape[1] = 3, expect_rotary_error(ATTN_ERR_SHAPE, "positions");
  tposition.rank = 1, expect_rotary_error(ATTN_ERR_SHAPE, "positions");
  tposition.dtype = ATTN_F64, expect_rotary_error(ATTN_ERR_TYPE, "positions");
  ty.data = x + 2, expect_error_and_reset(rotary_forward, ATTN_ERR_ARGUMENT, "y");
  tcos.data = y, expect_error(rotary_forward, ATTN_ERR_ARGUMENT, "y");
  expect_error_and_reset(rotary_backward, ATTN_ERR_ARGUMENT, "d_x");
}

static void table_arguments(void **state) {
  (void)state;
  attn_error err;
  const double base[] = {0, -1, (double)NAN, (double)INFINITY};
  for (int n = 0; n < 4; n++) {
    assert_int_equal(attn_rotary_tables(base[n], 0, &tcos, &tsin, &err), ATTN_ERR_ARGUMENT);
    assert_string_equal(err.argument, "base");
  }
  const int64_t first[] = {-1, INT64_MAX, ((int64_t)1 << 53) - 4};
  for (int n = 0; n < 3; n++) {
    assert_int_equal(attn_rotary_tables(10, first[n], &tcos, &tsin, &err), ATTN_ERR_ARGUMENT);
    assert_string_equal(err.argument, "first");
  }
  assert_int_equal(attn_rotary_tables(10, 0, &tcos, &tcos, &err), ATTN_ERR_ARGUMENT);
  tsin.shape[1] = 2;
  assert_int_equal(attn_rotary_tables(10, 0, &tcos, &tsin, &err), ATTN_ERR_SHAPE);
  tcos.rank = 1;
  assert_int_equal(attn_rotary_tables(10, 0, &tcos, &tsin, &err), ATTN_ERR_SHAPE);
  for (int n = 0; n < 15; n++) assert_true(cosine[n] == 1 && sine[n] == 1);
}

/* ---- Memory ---- */

static int64_t held, requested;

static void *allocate(void *context, size_t alignment, size_t bytes) {
  requested++;
  return *(int *)context ? NULL : (held++, aligned_alloc(alignment, bytes));
}

static void release(void *context, void *memory) {
  (void)context;
  held--;
  free(memory);
}

static void allocation_failures(void **state) {
  (void)state;
  int none = 1;
  const attn_allocator allocator = {&none, allocate, release};
  norm.allocator = &allocator;
  expect_error(layer_backward, ATTN_ERR_MEMORY, "allocator");
  expect_error(rms_backward, ATTN_ERR_MEMORY, "allocator");
  none = 0;
  assert_int_equal(rms_backward(NULL), ATTN_OK);
  assert_true(held == 0 && requested > 0);
  requested = 0;
  assert_int_equal(layer_forward(NULL), ATTN_OK); /* a forward allocates nothing */
  assert_true(requested == 0);
}

/* With strides of 0 a few bytes are a valid view of 2^60 rows: their statistics cannot be
 * allocated. */
static void more_rows_than_memory(void **state) {
  (void)state;
  attn_error err;
  tx = (attn_tensor){x, ATTN_F32, 2, {(int64_t)1 << 60, 6}, {0, 1}}, td_y = tx;
  gradients.d_x = NULL;
  assert_int_equal(layer_backward(&err), ATTN_ERR_MEMORY);
}

/* Without elements any number of rows is valid: none is visited, nothing is allocated. */
static void rows_without_elements(void **state) {
  (void)state;
  int none = 1;
  const attn_allocator allocator = {&none, allocate, release};
  norm.allocator = &allocator, requested = 0;
  tx = (attn_tensor){x, ATTN_F32, 2, {(int64_t)1 << 40, 0}, {0, 1}}, td_y = ty = tx;
  tscale.shape[0] = tbias.shape[0] = td_scale.shape[0] = td_bias.shape[0] = 1;
  assert_int_equal(layer_backward(NULL), ATTN_OK);
  assert_true(d_scale[0] == 0 && d_bias[0] == 0 && d_scale[1] == 42 && d_bias[1] == 42);
  assert_int_equal(rms_backward(NULL), ATTN_OK);
  assert_int_equal(rms_forward(NULL), ATTN_OK);
  assert_int_equal(attn_layer_norm_forward(&norm, &tx, NULL, NULL, &ty, NULL, NULL, NULL), ATTN_OK);
  assert_true(requested == 0);
  tx.shape[0] = ty.shape[0] = 2, tmean.rank = tinverse.rank = 2;
  tmean.shape[0] = tinverse.shape[0] = 2, tmean.shape[1] = tinverse.shape[1] = 1;
  assert_int_equal(layer_forward(NULL), ATTN_OK); /* the statistics of empty rows */
  assert_true(mean[0] != 42 && mean[12] != 42 && inverse[0] != 42 && inverse[12] != 42);
}

/* With E = 0 any number of heads is valid, and without elements any stride. */
static void heads_without_elements(void **state) {
  (void)state;
  tx = (attn_tensor){x, ATTN_F32, 3, {2, 4, 0}, {4, 2, 1}}, td_y = ty = tx;
  tcos.shape[1] = tsin.shape[1] = 0;
  rotary.heads = (int64_t)1 << 62;
  assert_int_equal(rotary_forward(NULL), ATTN_OK);
  assert_int_equal(rotary_backward(NULL), ATTN_OK);
  tx = (attn_tensor){x, ATTN_F32, 3, {0, 4, 6}, {INT64_MAX, INT64_MAX, INT64_MAX}}, td_y = ty = tx;
  tposition.shape[0] = 0, tcos.shape[1] = tsin.shape[1] = 3, rotary.heads = 1;
  assert_int_equal(rotary_forward(NULL), ATTN_OK);
  assert_int_equal(rotary_backward(NULL), ATTN_OK);
  assert_nothing_written();
}

static void descriptors_of_other_versions(void **state) {
  (void)state;
  struct {
    attn_norm desc;
    char more[16];
  } newer = {.desc = ATTN_NORM_INIT};
  newer.desc.struct_size = sizeof newer;
  assert_int_equal(attn_rms_norm_forward(&newer.desc, &tx, NULL, &ty, NULL), ATTN_OK);
  newer.more[2] = 1;
  assert_int_equal(attn_rms_norm_forward(&newer.desc, &tx, NULL, &ty, NULL), ATTN_ERR_ARGUMENT);
}

/* Random edits of valid calls: no crash, no byte written out of bounds. */
static void random_arguments_never_crash(void **state) {
  (void)state;
  attn_tensor *all[] = {&tx,       &td_y,     &ty,      &tscale, &tbias, &tmean,
                        &tinverse, &td_scale, &td_bias, &tcos,   &tsin};
  attn_status (*calls[])(attn_error *) = {layer_forward, rms_forward,    layer_backward,
                                          rms_backward,  rotary_forward, rotary_backward};
  static const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I32, ATTN_BOOL};
  int succeeded = 0;
  for (int round = 0; round < 30000; round++) {
    begin(NULL);
    for (int edits = (int)below(4); edits > 0; edits--) {
      attn_tensor *t = all[below(11)];
      int64_t d = below(4);
      if (chance(3) && t->shape[d] > 0)
        t->shape[d] = below(t->shape[d] + 1); /* within the buffer */
      if (chance(6)) t->rank = (int32_t)below(t->rank + 1);
      if (chance(6)) t->dtype = types[below(5)]; /* not larger than float32 */
      if (chance(6)) norm.flags = ATTN_NORM_AXIS, norm.axis = (int32_t)below(12) - 6;
      if (chance(6))
        rotary.flags = random_bits() % 3, rotary.rotary_dim = below(8), rotary.heads = below(4);
      if (chance(6)) position[below(8)] = below(8) - 1;
      if (chance(9)) rotary.positions = NULL;
    }
    succeeded += calls[below(6)](NULL) == ATTN_OK;
  }
  assert_true(succeeded > 3000);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup(valid_calls_succeed, begin),
                                     cmocka_unit_test_setup(norm_descriptor, begin),
                                     cmocka_unit_test_setup(norm_tensors, begin),
                                     cmocka_unit_test_setup(norm_overlaps, begin),
                                     cmocka_unit_test_setup(rotary_arguments, begin),
                                     cmocka_unit_test_setup(table_arguments, begin),
                                     cmocka_unit_test_setup(allocation_failures, begin),
                                     cmocka_unit_test_setup(more_rows_than_memory, begin),
                                     cmocka_unit_test_setup(rows_without_elements, begin),
                                     cmocka_unit_test_setup(heads_without_elements, begin),
                                     cmocka_unit_test_setup(descriptors_of_other_versions, begin),
                                     cmocka_unit_test_setup(random_arguments_never_crash, begin)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
