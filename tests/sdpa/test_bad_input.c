/* An invalid call fails with the right status and argument name, and writes nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "random.h"

static float q[2 * 6 * 5 * 4], k[2 * 2 * 7 * 4], v[2 * 2 * 7 * 3], o[2 * 6 * 5 * 3];
static attn_tensor tq, tk, tv, to;
static attn_sdpa desc;

static int begin(void **state) {
  (void)state;
  tq = attn_tensor_dense(ATTN_F32, q, 2, 6, 5, 4), tk = attn_tensor_dense(ATTN_F32, k, 2, 2, 7, 4);
  tv = attn_tensor_dense(ATTN_F32, v, 2, 2, 7, 3), to = attn_tensor_dense(ATTN_F32, o, 2, 6, 5, 3);
  desc = (attn_sdpa)ATTN_SDPA_INIT;
  for (size_t n = 0; n < sizeof o / 4; n++) o[n] = 42;
  return 0;
}

static void refused(attn_status status, const char *argument) {
  attn_error err;
  memset(&err, 0, sizeof err);
  attn_status got = attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, &err);
  if (got != status || strcmp(err.argument, argument) || err.status != status || !err.message[0])
    fail_msg("expected %s for %s, got %s for %s: %s", attn_status_name(status), argument,
             attn_status_name(got), err.argument, err.message);
  for (size_t n = 0; n < sizeof o / 4; n++) assert_true(o[n] == 42.0f);
  begin(NULL);
}

static void tensors(void **state) {
  (void)state;
  tq.rank = 5, refused(ATTN_ERR_SHAPE, "q");
  tq.rank = -1, refused(ATTN_ERR_SHAPE, "q");
  tk.rank = 3, refused(ATTN_ERR_SHAPE, "k");
  tq.shape[0] = -1, refused(ATTN_ERR_SHAPE, "q");
  tq.shape[0] = 3, refused(ATTN_ERR_SHAPE, "k");
  tk.shape[1] = 4, refused(ATTN_ERR_SHAPE, "v");
  tk.shape[1] = tv.shape[1] = 4, refused(ATTN_ERR_SHAPE, "k"); /* 6 is not a multiple of 4 */
  tk.shape[3] = 3, refused(ATTN_ERR_SHAPE, "k");
  tv.shape[2] = 6, refused(ATTN_ERR_SHAPE, "v");
  to.shape[3] = 4, refused(ATTN_ERR_SHAPE, "o");
  to.shape[2] = 4, refused(ATTN_ERR_SHAPE, "o");
  tq.dtype = ATTN_I32, refused(ATTN_ERR_TYPE, "q");
  tk.dtype = ATTN_F64, refused(ATTN_ERR_TYPE, "k");
  tv.dtype = (attn_dtype)0x777, refused(ATTN_ERR_TYPE, "v");
  tk.data = NULL, refused(ATTN_ERR_ARGUMENT, "k");
  tq.shape[2] = INT64_MAX, refused(ATTN_ERR_SHAPE, "q");
  tk.strides[2] = INT64_MAX / 2, refused(ATTN_ERR_SHAPE, "k");
  to.data = q, refused(ATTN_ERR_ARGUMENT, "o");
}

/* With strides of 0 a small buffer can have any number of keys. */
static void more_keys_than_memory_could_hold(void **state) {
  (void)state;
  double x[1] = {1}, y[1];
  attn_tensor one = attn_tensor_dense(ATTN_F64, x, 1, 1, 1, 1), out = one, many = one;
  attn_error err;
  attn_plan plan = {.struct_size = sizeof plan};
  out.data = y;
  many.shape[2] = ((int64_t)1 << 60) - 1;
  memset(many.strides, 0, sizeof many.strides);
  assert_int_equal(attn_sdpa_plan(NULL, &one, &many, &many, &out, &plan, &err), ATTN_ERR_SHAPE);
  assert_string_equal(err.argument, "k");
  many.shape[2] = 1, many.shape[3] = out.shape[3] = ((int64_t)1 << 60) - 1;
  memset(out.strides, 0, sizeof out.strides);
  assert_int_not_equal(attn_sdpa_plan(NULL, &one, &one, &many, &out, &plan, &err), ATTN_OK);
}

static void null_arguments(void **state) {
  (void)state;
  attn_error err;
  assert_int_equal(attn_sdpa_forward(NULL, NULL, &tk, &tv, &to, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_sdpa_forward(NULL, &tq, NULL, &tv, &to, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_sdpa_forward(NULL, &tq, &tk, NULL, &to, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_sdpa_forward(NULL, &tq, &tk, &tv, NULL, &err), ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "o");
  assert_int_equal(attn_sdpa_forward(NULL, &tq, NULL, &tv, &to, NULL), ATTN_ERR_ARGUMENT);
}

static void knobs(void **state) {
  (void)state;
  desc.struct_size = 0, refused(ATTN_ERR_ARGUMENT, "struct_size");
  desc.struct_size = 8, refused(ATTN_ERR_ARGUMENT, "struct_size");
  desc.flags = 1u << 20, refused(ATTN_ERR_ARGUMENT, "flags");
  desc.flags = ATTN_SDPA_SCALE, desc.scale = (double)NAN, refused(ATTN_ERR_ARGUMENT, "scale");
  desc.flags = ATTN_SDPA_SCALE, desc.scale = (double)INFINITY, refused(ATTN_ERR_ARGUMENT, "scale");
  desc.flags = ATTN_SDPA_WINDOW, desc.window_left = -2, refused(ATTN_ERR_ARGUMENT, "window_left");
  desc.flags = ATTN_SDPA_WINDOW, desc.window_right = -9, refused(ATTN_ERR_ARGUMENT, "window_right");
  desc.align = 3, refused(ATTN_ERR_ARGUMENT, "align");
  desc.align = ATTN_ALIGN_OFFSET, refused(ATTN_ERR_ARGUMENT, "offset");
  desc.flags = ATTN_SDPA_OFFSET, refused(ATTN_ERR_ARGUMENT, "offset");
  desc.empty_row = -1, refused(ATTN_ERR_ARGUMENT, "empty_row");
  desc.threads = -1, refused(ATTN_ERR_ARGUMENT, "threads");
  const attn_executor none = {NULL, 0, NULL};
  desc.executor = &none, refused(ATTN_ERR_ARGUMENT, "executor");
  const attn_allocator half = {NULL, NULL, NULL};
  desc.allocator = &half, refused(ATTN_ERR_ARGUMENT, "allocator");
  char small[64];
  desc.workspace = small, desc.workspace_bytes = 64, refused(ATTN_ERR_MEMORY, "workspace");
}

static void masks_and_lengths(void **state) {
  (void)state;
  static float numbers[6 * 5 * 7];
  attn_tensor mask = attn_tensor_dense(ATTN_F32, numbers, 1, 1, 5, 6);
  desc.mask = &mask, refused(ATTN_ERR_SHAPE, "mask");
  mask = attn_tensor_dense(ATTN_I32, numbers, 1, 1, 5, 7);
  desc.mask = &mask, refused(ATTN_ERR_TYPE, "mask");
  int64_t length[2] = {7, 8};
  attn_tensor lengths = {length, ATTN_I64, 1, {2}, {1}};
  desc.key_lengths = &lengths, refused(ATTN_ERR_ARGUMENT, "key_lengths");
  length[1] = -1, desc.key_lengths = &lengths, refused(ATTN_ERR_ARGUMENT, "key_lengths");
  lengths.shape[0] = 1, desc.key_lengths = &lengths, refused(ATTN_ERR_SHAPE, "key_lengths");
  lengths = (attn_tensor){numbers, ATTN_F32, 1, {2}, {1}};
  desc.key_lengths = &lengths, refused(ATTN_ERR_TYPE, "key_lengths");
  attn_tensor lse = {numbers, ATTN_F32, 3, {2, 6, 4}, {24, 4, 1}};
  desc.lse = &lse, refused(ATTN_ERR_SHAPE, "lse");
  attn_tensor weights = attn_tensor_dense(ATTN_F64, numbers, 2, 6, 5, 7);
  desc.weights = &weights, refused(ATTN_ERR_TYPE, "weights");
}

static void vectors_of_additive_scores(void **state) {
  (void)state;
  static float a[6 * 4];
  attn_tensor t = {a, ATTN_F32, 2, {6, 4}, {4, 1}};
#define ADDITIVE(change, status) \
  do {                           \
    attn_tensor kept = t;        \
    desc.additive = &t;          \
    change;                      \
    refused(status, "additive"); \
    t = kept;                    \
  } while (0)
  ADDITIVE(t.shape[0] = 2, ATTN_ERR_SHAPE); /* H, not Hq */
  ADDITIVE(t.shape[1] = 3, ATTN_ERR_SHAPE);
  ADDITIVE(t.rank = 3, ATTN_ERR_SHAPE);
  ADDITIVE(t.rank = 0, ATTN_ERR_SHAPE);
  ADDITIVE(t.rank = 1, ATTN_ERR_SHAPE); /* (6) */
  ADDITIVE(t.dtype = ATTN_I32, ATTN_ERR_TYPE);
  ADDITIVE(t.dtype = ATTN_BOOL, ATTN_ERR_TYPE);
  ADDITIVE(t.data = NULL, ATTN_ERR_ARGUMENT);
  t.data = o, desc.additive = &t, refused(ATTN_ERR_ARGUMENT, "o");
}

static void an_instruction_set_that_is_not_there(void **state) {
  (void)state;
  setenv("ATTN_ISA", "avx9000", 1);
  refused(ATTN_ERR_CPU, "ATTN_ISA");
  unsetenv("ATTN_ISA");
}

/* Sizes computed from more rows, or keys times columns, must not wrap. */
static void gradients_larger_than_memory(void **state) {
  (void)state;
  double x[4] = {1, 1, 1, 1}, y[1] = {0}, z[1] = {0};
  attn_tensor one = attn_tensor_dense(ATTN_F64, x, 1, 1, 1, 1), many = one, wide = one, lse1 = one,
              out = one;
  attn_error err;
  attn_sdpa d = ATTN_SDPA_INIT;
  attn_sdpa_gradients g = ATTN_SDPA_GRADIENTS_INIT;
  lse1.rank = 3, lse1.data = y, out.data = z, d.lse = &lse1;
  memset(many.strides, 0, sizeof many.strides), memset(wide.strides, 0, sizeof wide.strides);
  many.shape[2] = (int64_t)1 << 33, many.shape[3] = wide.shape[3] = (int64_t)1 << 28;
  attn_tensor values = one; /* 2^33 keys, of one column */
  values.shape[2] = many.shape[2], values.strides[2] = 0;
  assert_int_equal(attn_sdpa_backward(&d, &wide, &many, &values, &out, &one, &g, &err),
                   ATTN_ERR_MEMORY);
  attn_tensor none = attn_tensor_dense(ATTN_F32, NULL, 1, 1, (int64_t)1 << 62, 0);
  attn_tensor key = attn_tensor_dense(ATTN_F32, NULL, 1, 1, 1, 0);
  attn_tensor rows = {y, ATTN_F32, 3, {1, 1, (int64_t)1 << 62}, {0, 0, 0}};
  d.lse = &rows;
  assert_int_equal(attn_sdpa_backward(&d, &none, &key, &key, &none, &none, &g, &err),
                   ATTN_ERR_MEMORY);
}

/* An older header's descriptor is shorter; a newer one's is longer, with unused fields. */
static void descriptors_of_other_versions(void **state) {
  (void)state;
  struct {
    attn_sdpa desc;
    char more[32];
  } newer = {.desc = ATTN_SDPA_INIT};
  newer.desc.struct_size = sizeof newer;
  assert_int_equal(attn_sdpa_forward(&newer.desc, &tq, &tk, &tv, &to, NULL), ATTN_OK);
  newer.more[3] = 1;
  assert_int_equal(attn_sdpa_forward(&newer.desc, &tq, &tk, &tv, &to, NULL), ATTN_ERR_ARGUMENT);
  desc.struct_size = offsetof(attn_sdpa, workspace);
  assert_int_equal(attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, NULL), ATTN_OK);
}

/* Whatever the arguments, no crash: random edits of a valid call. */
static void random_arguments_never_crash(void **state) {
  (void)state;
  static const int64_t odd[] = {-1, 0, 1, 2, 3, 4, 5, 6, 7, INT64_MAX, INT64_MIN, 1LL << 40};
  attn_tensor *all[] = {&tq, &tk, &tv, &to};
  int served = 0;
  for (int round = 0; round < 20000; round++) {
    begin(NULL);
    for (int edits = (int)below(3); edits >= 0; edits--) {
      attn_tensor *t = all[below(4)];
      if (chance(3)) t->shape[below(4)] = odd[below(8)] % (chance(2) ? 8 : 3);
      if (chance(9)) t->rank = (int32_t)below(7) - 1;
      if (chance(9)) t->shape[below(4)] = odd[below(12)];
      if (chance(6)) desc.flags = random_bits() % 20;
      if (chance(6)) desc.offset = odd[below(12)], desc.align = (int32_t)below(4);
      if (chance(6)) desc.window_left = odd[below(12)], desc.window_right = odd[below(12)];
    }
    /* Shapes larger than their buffers cannot be detected. */
    int lie = 0;
    for (int n = 0; n < 4; n++) {
      int64_t reach = 0;
      for (int d = 0; d < 4; d++) {
        int64_t size = all[n]->shape[d];
        lie |= size > 8;
        if (size > 0 && size <= 8) reach += (size - 1) * all[n]->strides[d];
      }
      lie |= reach >= (int64_t)((size_t[]){sizeof q, sizeof k, sizeof v, sizeof o}[n] / 4);
    }
    if (!lie) served += attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, NULL) == ATTN_OK;
  }
  assert_true(served > 100);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(tensors, begin),
      cmocka_unit_test_setup(null_arguments, begin),
      cmocka_unit_test(more_keys_than_memory_could_hold),
      cmocka_unit_test(gradients_larger_than_memory),
      cmocka_unit_test_setup(knobs, begin),
      cmocka_unit_test_setup(masks_and_lengths, begin),
      cmocka_unit_test_setup(vectors_of_additive_scores, begin),
      cmocka_unit_test_setup(an_instruction_set_that_is_not_there, begin),
      cmocka_unit_test_setup(descriptors_of_other_versions, begin),
      cmocka_unit_test_setup(random_arguments_never_crash, begin)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
