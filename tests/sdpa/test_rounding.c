/* Results in double are rounded once to 16 bits. Rounding through float32 would round a value
 * just above a tie to even, which is below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "element.h"

static const struct {
  attn_dtype dtype;
  double unit; /* ULP of 1 */
} halves[] = {{ATTN_F16, 0x1p-10}, {ATTN_BF16, 0x1p-7}};

/* What a cache reads as after value was appended to it. */
static double cached(attn_dtype dtype, double value) {
  attn_cache_config config = ATTN_CACHE_CONFIG_INIT;
  config.num_kv_heads = config.head_dim = config.value_head_dim = config.sequences =
      config.capacity = 1;
  config.dtype = dtype;
  attn_cache *cache = NULL;
  float k, v;
  attn_tensor from = attn_tensor_dense(ATTN_F64, &value, 1, 1, 1, 1);
  attn_tensor to_k = {&k, ATTN_F32, 3, {1, 1, 1}, {1, 1, 1}}, to_v = to_k;
  to_v.data = &v;
  assert_int_equal(attn_cache_new(&config, &cache, NULL), ATTN_OK);
  assert_int_equal(attn_cache_append(cache, NULL, 1, &from, &from, NULL), ATTN_OK);
  assert_int_equal(attn_cache_read(cache, 0, &to_k, &to_v, NULL), ATTN_OK);
  attn_cache_free(cache);
  assert_true(k == v);
  return (double)k;
}

static void a_cache_rounds_float64_once(void **state) {
  (void)state;
  for (int n = 0; n < 2; n++) {
    attn_dtype t = halves[n].dtype;
    double unit = halves[n].unit, middle = 1 + unit / 2;
    assert_true(cached(t, middle) == 1);
    assert_true(cached(t, middle + 0x1p-30) == 1 + unit);
    assert_true(cached(t, -middle - 0x1p-30) == -1 - unit);
    assert_true(cached(t, middle + unit) == 1 + 2 * unit);
    assert_true(cached(t, middle + unit - 0x1p-30) == 1 + unit);
  }
  assert_true(cached(ATTN_F32, 1 + 0x1p-24 + 0x1p-50) == 1 + 0x1p-23);
}

enum { KEYS = 1 << 15 };

/* All weights are equal, so o is the mean of v, 1 or 1 + 1 ULP, with no rounding before the
 * last: `more` values are the larger. */
static double mean_of(attn_dtype dtype, double unit, int more) {
  static uint16_t zeros[KEYS], values[KEYS];
  uint16_t o[4] = {0};
  attn_tensor q = attn_tensor_dense(dtype, zeros, 1, 1, 1, 1), to = q;
  attn_tensor k = attn_tensor_dense(dtype, zeros, 1, 1, KEYS, 1), v = k;
  v.data = values, to.data = o;
  for (int n = 0; n < KEYS; n++)
    attn_store_real(dtype, (char *)&values[n], n < more ? 1 + unit : 1);
  assert_int_equal(attn_sdpa_forward(NULL, &q, &k, &v, &to, NULL), ATTN_OK);
  return attn_load_real(dtype, (char *)o);
}

static void split_keys_are_merged_and_rounded_once(void **state) {
  (void)state;
  for (int n = 0; n < 2; n++) {
    attn_dtype t = halves[n].dtype;
    double unit = halves[n].unit;
    assert_true(mean_of(t, unit, KEYS / 2) == 1);
    assert_true(mean_of(t, unit, KEYS / 2 + 1) == 1 + unit);
    assert_true(mean_of(t, unit, KEYS / 2 - 1) == 1);
  }
}

static void other_types_read_as_nan(void **state) {
  (void)state;
  const attn_dtype others[] = {ATTN_I8, ATTN_U8, ATTN_BOOL, ATTN_I32, ATTN_I64, (attn_dtype)0};
  const char before[8] = {7, 7, 7, 7, 7, 7, 7, 7};
  for (size_t n = 0; n < sizeof others / sizeof *others; n++) {
    char room[8] = {7, 7, 7, 7, 7, 7, 7, 7};
    double read = attn_load_real(others[n], room);
    attn_store_real(others[n], room, 1);
    assert_true(read != read);
    assert_memory_equal(room, before, sizeof room);
    assert_int_equal(attn_real_size(others[n]), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_cache_rounds_float64_once),
                                     cmocka_unit_test(split_keys_are_merged_and_rounded_once),
                                     cmocka_unit_test(other_types_read_as_nan)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
