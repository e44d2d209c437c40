/* Law: a layer that cannot be computed is refused with the right status and the argument's name,
 * and nothing is written. Memory that is not to be had is such a case; what was had is given back.
 */
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

static void nothing_is_written(void) {
  for (int n = 0; n < COUNT; n++)
    assert_true(y[n] == 42.0f && x[n] == (float)n && d_y[n] == (float)n);
  for (int n = 0; n < 24; n++) assert_true(mean[n] == 42.0f && inverse[n] == 42.0f);
  for (int n = 0; n < 6; n++) assert_true(d_scale[n] == 42.0f && d_bias[n] == 42.0f);
}

static void refuses(attn_status (*call)(attn_error *), attn_status status, const char *argument) {
  attn_error err;
  memset(&err, 0, sizeof err);
  attn_status got = call(&err);
  if (got != status || strcmp(err.argument, argument) || err.status != status || !err.message[0])
    fail_msg("expected %s for %s, got %s for %s: %s", attn_status_name(status), argument,
             attn_status_name(got), err.argument, err.message);
  assert_int_equal(call(NULL), status);
  nothing_is_written();
}

/* The call's arguments are as the caller has set them; afterwards they are right again. */
static void refused(attn_status (*call)(attn_error *), attn_status status, const char *argument) {
  refuses(call, status, argument);
  begin(NULL);
}

static void both_norms_refuse(attn_status status, const char *argument) {
  refuses(layer_forward, status, argument), refuses(rms_forward, status, argument);
  refuses(layer_backward, status, argument);
  gradients.d_bias = NULL;
  refused(rms_backward, status, argument);
}

static void all_are_served(void **state) {
  (void)state;
  attn_status (*all[])(attn_error *) = {layer_forward, rms_forward,    layer_backward,
                                        rms_backward,  rotary_forward, rotary_backward};
  for (int n = 0; n < 6; n++) assert_int_equal(all[n](NULL), ATTN_OK);
}

static void knobs_of_a_norm(void **state) {
  (void)state;
  norm.struct_size = 0, both_norms_refuse(ATTN_ERR_ARGUMENT, "struct_size");
  norm.struct_size = 1u << 20, both_norms_refuse(ATTN_ERR_ARGUMENT, "struct_size");
  norm.flags = 64, both_norms_refuse(ATTN_ERR_ARGUMENT, "flags");
  const double bad[] = {-1e-9, (double)NAN, (double)INFINITY, -(double)INFINITY};
  for (int n = 0; n < 4; n++)
    norm.flags = ATTN_NORM_EPSILON, norm.epsilon = bad[n],
    both_norms_refuse(ATTN_ERR_ARGUMENT, "epsilon");
  const int32_t axis[] = {4, -5, INT32_MAX, INT32_MIN};
  for (int n = 0; n < 4; n++)
    norm.flags = ATTN_NORM_AXIS, norm.axis = axis[n], both_norms_refuse(ATTN_ERR_ARGUMENT, "axis");
  norm.threads = -1, both_norms_refuse(ATTN_ERR_ARGUMENT, "threads");
  const attn_executor none = {NULL, 0, NULL};
  norm.executor = &none, both_norms_refuse(ATTN_ERR_ARGUMENT, "executor");
  const attn_allocator half = {NULL, NULL, NULL};
  norm.allocator = &half, both_norms_refuse(ATTN_ERR_ARGUMENT, "allocator");
  norm.epsilon = -1, norm.axis = 99; /* not live */
  assert_int_equal(layer_forward(NULL), ATTN_OK);
}

static void tensors_of_a_norm(void **state) {
  (void)state;
  tx.rank = 0, both_norms_refuse(ATTN_ERR_SHAPE, "x");
  tx.rank = 9, both_norms_refuse(ATTN_ERR_SHAPE, "x");
  tx.shape[1] = -1, both_norms_refuse(ATTN_ERR_SHAPE, "x");
  tx.shape[1] = INT64_MAX, both_norms_refuse(ATTN_ERR_SHAPE, "x");
  tx.strides[0] = INT64_MAX / 2, both_norms_refuse(ATTN_ERR_SHAPE, "x");
  tx.dtype = ATTN_I32, both_norms_refuse(ATTN_ERR_TYPE, "x");
  tx.dtype = (attn_dtype)77, both_norms_refuse(ATTN_ERR_TYPE, "x");
  tx.data = NULL, both_norms_refuse(ATTN_ERR_ARGUMENT, "x");
  tx.data = (char *)x + 1, both_norms_refuse(ATTN_ERR_ARGUMENT, "x");
  tscale.shape[0] = 5, both_norms_refuse(ATTN_ERR_SHAPE, "scale");
  tscale.rank = 5, both_norms_refuse(ATTN_ERR_SHAPE, "scale");
  tscale.dtype = ATTN_BOOL, both_norms_refuse(ATTN_ERR_TYPE, "scale");
  tbias.shape[0] = 2, refused(layer_forward, ATTN_ERR_SHAPE, "bias");
  ty.shape[3] = 5, refused(layer_forward, ATTN_ERR_SHAPE, "y");
  ty.rank = 3, refused(rms_forward, ATTN_ERR_SHAPE, "y");
  ty.dtype = ATTN_I64, refused(rms_forward, ATTN_ERR_TYPE, "y");
  tmean.shape[3] = 6, refused(layer_forward, ATTN_ERR_SHAPE, "mean");
  tinverse.rank = 3, refused(layer_forward, ATTN_ERR_SHAPE, "inv_std_dev");
  td_y.shape[0] = 1, refused(layer_backward, ATTN_ERR_SHAPE, "d_y");
  ty.shape[0] = 1, refused(layer_backward, ATTN_ERR_SHAPE, "d_x");
  td_scale.shape[0] = 1, refused(rms_backward, ATTN_ERR_SHAPE, "d_scale");
  td_bias.shape[0] = 5, refused(layer_backward, ATTN_ERR_SHAPE, "d_bias");
  td_bias.dtype = ATTN_I32, refused(layer_backward, ATTN_ERR_TYPE, "d_bias");
  gradients.struct_size = 3, refused(layer_backward, ATTN_ERR_ARGUMENT, "gradients");
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
  nothing_is_written();
}

static void overlaps_of_a_norm(void **state) {
  (void)state;
  ty.data = x + 1, refused(rms_forward, ATTN_ERR_ARGUMENT,
                           "y"); /* would be read behind its end, but for the refusal */
  ty.data = x, ty.strides[0] = 0, refused(rms_forward, ATTN_ERR_ARGUMENT, "y");
  tscale.data = y, refused(layer_forward, ATTN_ERR_ARGUMENT, "y");
  tbias.data = y + 3, refused(layer_forward, ATTN_ERR_ARGUMENT, "y");
  tmean.data = x, refused(layer_forward, ATTN_ERR_ARGUMENT, "mean");
  tmean.data = y, refused(layer_forward, ATTN_ERR_ARGUMENT, "mean");
  tinverse.data = mean, refused(layer_forward, ATTN_ERR_ARGUMENT, "mean");
  tinverse.data = bias,
  tinverse.shape[0] = tinverse.shape[1] = tx.shape[0] = tx.shape[1] = ty.shape[0] = ty.shape[1] = 1;
  tmean.shape[0] = tmean.shape[1] = 1, refused(layer_forward, ATTN_ERR_ARGUMENT, "inv_std_dev");
  ty.data = d_y + 1, refused(layer_backward, ATTN_ERR_ARGUMENT, "d_x");
  ty.data = x + 1, refused(layer_backward, ATTN_ERR_ARGUMENT, "d_x");
  tscale.data = y, refused(layer_backward, ATTN_ERR_ARGUMENT, "d_x");
  td_scale.data = scale, refused(rms_backward, ATTN_ERR_ARGUMENT, "d_scale");
  td_scale.data = d_bias, refused(layer_backward, ATTN_ERR_ARGUMENT, "d_scale");
  td_scale.data = y, refused(layer_backward, ATTN_ERR_ARGUMENT, "d_scale");
  td_bias.data = x, refused(layer_backward, ATTN_ERR_ARGUMENT, "d_bias");
  td_bias.data = d_y, refused(layer_backward, ATTN_ERR_ARGUMENT, "d_bias");
}

static void both_ways_refuse(attn_status status, const char *argument) {
  refuses(rotary_forward, status, argument);
  refused(rotary_backward, status, argument);
}

static void rotary_embedding(void **state) {
  (void)state;
  rotary.struct_size = 1, both_ways_refuse(ATTN_ERR_ARGUMENT, "struct_size");
  rotary.flags = 2, both_ways_refuse(ATTN_ERR_ARGUMENT, "flags");
  rotary.rotary_dim = 5, both_ways_refuse(ATTN_ERR_ARGUMENT, "rotary_dim");
  rotary.rotary_dim = 8, both_ways_refuse(ATTN_ERR_ARGUMENT, "rotary_dim");
  rotary.rotary_dim = -2, both_ways_refuse(ATTN_ERR_ARGUMENT, "rotary_dim");
  tx.shape[3] = ty.shape[3] = td_y.shape[3] = 5, both_ways_refuse(ATTN_ERR_ARGUMENT, "rotary_dim");
  rotary.rotary_dim = 4, both_ways_refuse(ATTN_ERR_SHAPE, "cos");
  rotary.heads = -1, both_ways_refuse(ATTN_ERR_ARGUMENT, "heads");
  rotary.heads = 2, both_ways_refuse(ATTN_ERR_SHAPE, "heads");
  rotary.threads = -1, both_ways_refuse(ATTN_ERR_ARGUMENT, "threads");
  tx.rank = ty.rank = td_y.rank = 3, both_ways_refuse(ATTN_ERR_SHAPE, "heads");
  tx.rank = ty.rank = td_y.rank = 3, rotary.heads = 3, both_ways_refuse(ATTN_ERR_SHAPE, "heads");
  tx.rank = ty.rank = td_y.rank = 2, refuses(rotary_forward, ATTN_ERR_SHAPE, "x");
  refused(rotary_backward, ATTN_ERR_SHAPE, "d_y");
  tx.dtype = ATTN_I32, refused(rotary_forward, ATTN_ERR_TYPE, "x");
  ty.dtype = ATTN_F64, refused(rotary_forward, ATTN_ERR_TYPE, "y");
  ty.shape[2] = 3, refused(rotary_backward, ATTN_ERR_SHAPE, "d_x");
  tcos.rank = 3, both_ways_refuse(ATTN_ERR_SHAPE, "cos");
  tcos.shape[1] = 2, both_ways_refuse(ATTN_ERR_SHAPE, "cos");
  tsin.dtype = ATTN_I32, both_ways_refuse(ATTN_ERR_TYPE, "sin");
  tsin.shape[0] = 4, both_ways_refuse(ATTN_ERR_SHAPE, "sin");
  tsin.data = NULL, both_ways_refuse(ATTN_ERR_ARGUMENT, "sin");
  rotary.positions = NULL, both_ways_refuse(ATTN_ERR_SHAPE, "cos");
  position[7] = 5, both_ways_refuse(ATTN_ERR_ARGUMENT, "positions");
  position[0] = -1, both_ways_refuse(ATTN_ERR_ARGUMENT, "positions");
  tposition.shape[1] = 3, both_ways_refuse(ATTN_ERR_SHAPE, "positions");
  tposition.rank = 1, both_ways_refuse(ATTN_ERR_SHAPE, "positions");
  tposition.dtype = ATTN_F64, both_ways_refuse(ATTN_ERR_TYPE, "positions");
  ty.data = x + 2, refused(rotary_forward, ATTN_ERR_ARGUMENT, "y");
  tcos.data = y, refuses(rotary_forward, ATTN_ERR_ARGUMENT, "y");
  refused(rotary_backward, ATTN_ERR_ARGUMENT, "d_x");
}

static void tables(void **state) {
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

static int64_t held, asked;

static void *allocate(void *context, size_t alignment, size_t bytes) {
  asked++;
  return *(int *)context ? NULL : (held++, aligned_alloc(alignment, bytes));
}

static void release(void *context, void *memory) {
  (void)context;
  held--;
  free(memory);
}

static void memory_that_is_not_to_be_had(void **state) {
  (void)state;
  int none = 1;
  const attn_allocator allocator = {&none, allocate, release};
  norm.allocator = &allocator;
  refuses(layer_backward, ATTN_ERR_MEMORY, "allocator");
  refuses(rms_backward, ATTN_ERR_MEMORY, "allocator");
  none = 0;
  assert_int_equal(rms_backward(NULL), ATTN_OK);
  assert_true(held == 0 && asked > 0);
  asked = 0;
  assert_int_equal(layer_forward(NULL), ATTN_OK); /* a forward asks for none */
  assert_true(asked == 0);
}

/* With strides of 0 a few bytes can pass for any number of rows: more than memory could keep. */
static void more_rows_than_memory_could_keep(void **state) {
  (void)state;
  attn_error err;
  tx = (attn_tensor){x, ATTN_F32, 2, {(int64_t)1 << 60, 6}, {0, 1}}, td_y = tx;
  gradients.d_x = NULL;
  assert_int_equal(layer_backward(&err), ATTN_ERR_MEMORY);
}

/* Without elements a shape may name any number of rows: none is visited, no memory is asked for. */
static void rows_of_nothing(void **state) {
  (void)state;
  int none = 1;
  const attn_allocator allocator = {&none, allocate, release};
  norm.allocator = &allocator, asked = 0;
  tx = (attn_tensor){x, ATTN_F32, 2, {(int64_t)1 << 40, 0}, {0, 1}}, td_y = ty = tx;
  tscale.shape[0] = tbias.shape[0] = td_scale.shape[0] = td_bias.shape[0] = 1;
  assert_int_equal(layer_backward(NULL), ATTN_OK);
  assert_true(d_scale[0] == 0 && d_bias[0] == 0 && d_scale[1] == 42 && d_bias[1] == 42);
  assert_int_equal(rms_backward(NULL), ATTN_OK);
  assert_int_equal(rms_forward(NULL), ATTN_OK);
  assert_int_equal(attn_layer_norm_forward(&norm, &tx, NULL, NULL, &ty, NULL, NULL, NULL), ATTN_OK);
  assert_true(asked == 0);
  tx.shape[0] = ty.shape[0] = 2, tmean.rank = tinverse.rank = 2;
  tmean.shape[0] = tinverse.shape[0] = 2, tmean.shape[1] = tinverse.shape[1] = 1;
  assert_int_equal(layer_forward(NULL), ATTN_OK); /* the statistics of nothing are asked for */
  assert_true(mean[0] != 42 && mean[12] != 42 && inverse[0] != 42 && inverse[12] != 42);
}

/* Of width 0 any number of heads fits, and without elements any stride. */
static void heads_of_nothing(void **state) {
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
  nothing_is_written();
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

/* Whatever the arguments, no crash and no byte out of place: random edits of valid calls. */
static void random_arguments_never_crash(void **state) {
  (void)state;
  attn_tensor *all[] = {&tx,       &td_y,     &ty,      &tscale, &tbias, &tmean,
                        &tinverse, &td_scale, &td_bias, &tcos,   &tsin};
  attn_status (*calls[])(attn_error *) = {layer_forward, rms_forward,    layer_backward,
                                          rms_backward,  rotary_forward, rotary_backward};
  static const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I32, ATTN_BOOL};
  int served = 0;
  for (int round = 0; round < 30000; round++) {
    begin(NULL);
    for (int edits = (int)below(4); edits > 0; edits--) {
      attn_tensor *t = all[below(11)];
      int64_t d = below(4);
      if (chance(3) && t->shape[d] > 0)
        t->shape[d] = below(t->shape[d] + 1); /* never beyond the buffer */
      if (chance(6)) t->rank = (int32_t)below(t->rank + 1);
      if (chance(6)) t->dtype = types[below(5)]; /* none larger */
      if (chance(6)) norm.flags = ATTN_NORM_AXIS, norm.axis = (int32_t)below(12) - 6;
      if (chance(6))
        rotary.flags = random_bits() % 3, rotary.rotary_dim = below(8), rotary.heads = below(4);
      if (chance(6)) position[below(8)] = below(8) - 1;
      if (chance(9)) rotary.positions = NULL;
    }
    served += calls[below(6)](NULL) == ATTN_OK;
  }
  assert_true(served > 3000);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(all_are_served, begin),
      cmocka_unit_test_setup(knobs_of_a_norm, begin),
      cmocka_unit_test_setup(tensors_of_a_norm, begin),
      cmocka_unit_test_setup(overlaps_of_a_norm, begin),
      cmocka_unit_test_setup(rotary_embedding, begin),
      cmocka_unit_test_setup(tables, begin),
      cmocka_unit_test_setup(memory_that_is_not_to_be_had, begin),
      cmocka_unit_test_setup(more_rows_than_memory_could_keep, begin),
      cmocka_unit_test_setup(rows_of_nothing, begin),
      cmocka_unit_test_setup(heads_of_nothing, begin),
      cmocka_unit_test_setup(descriptors_of_other_versions, begin),
      cmocka_unit_test_setup(random_arguments_never_crash, begin)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
