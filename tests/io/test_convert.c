/* test_convert.c -- every float16 and bfloat16 widens exactly. */
#include <math.h>
#include <stdlib.h>

#include "attn/io.h"
#include "faults.h"
#include "unit.h"

enum { ALL = 65536 };

static attn_array all_halves(attn_dtype dtype) {
  uint16_t *bits = malloc(ALL * sizeof *bits);
  for (int n = 0; n < ALL; n++) bits[n] = (uint16_t)n;
  return (attn_array){{bits, dtype, 1, {ALL}, {1}}, bits};
}

/* By the definition of the format: sign, exponent with its bias, fraction. */
static double value_of(int bits, int fraction_bits) {
  int exponent_bits = 15 - fraction_bits, bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  double fraction = bits & ((1 << fraction_bits) - 1), value;
  if (exponent == (1 << exponent_bits) - 1)
    value = fraction > 0 ? (double)NAN : (double)INFINITY;
  else if (exponent == 0)
    value = ldexp(fraction, 1 - bias - fraction_bits);
  else
    value = ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return bits >> 15 ? -value : value;
}

static void check_all(attn_dtype from, int fraction_bits, attn_dtype to) {
  attn_array a = all_halves(from);
  assert_int_equal(attn_array_convert(&a, to, NULL), ATTN_OK);
  assert_int_equal(a.tensor.dtype, to);
  for (int n = 0; n < ALL; n++) {
    double got =
        to == ATTN_F32 ? (double)((float *)a.tensor.data)[n] : ((double *)a.tensor.data)[n];
    double want = value_of(n, fraction_bits);
    int same = isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want);
    if (!same) fail_msg("%04x: %.17g, not %.17g", (unsigned)n, got, want);
  }
  attn_array_free(&a);
}

static void every_float16(void **state) {
  (void)state;
  check_all(ATTN_F16, 10, ATTN_F32);
  check_all(ATTN_F16, 10, ATTN_F64);
}

static void every_bfloat16(void **state) {
  (void)state;
  check_all(ATTN_BF16, 7, ATTN_F32);
  check_all(ATTN_BF16, 7, ATTN_F64);
}

static void whole_numbers_and_doubles(void **state) {
  (void)state;
  int32_t *i = malloc(2 * sizeof *i);
  i[0] = -2147483647 - 1, i[1] = 7;
  attn_array a = {{i, ATTN_I32, 1, {2}, {1}}, i};
  assert_int_equal(attn_array_convert(&a, ATTN_F64, NULL), ATTN_OK);
  assert_true(((double *)a.tensor.data)[0] == -2147483648.0);
  ((double *)a.tensor.data)[1] = 0.1;
  assert_int_equal(attn_array_convert(&a, ATTN_F32, NULL), ATTN_OK);
  assert_true(((float *)a.tensor.data)[1] == 0.1f);
  attn_array_free(&a);
}

static void what_cannot_be_leaves_the_array_alone(void **state) {
  (void)state;
  attn_array a = all_halves(ATTN_F16);
  void *before = a.memory;
  assert_int_equal(attn_array_convert(&a, ATTN_I32, NULL), ATTN_ERR_TYPE);
  faults_begin(FAULT_MEMORY, 1);
  assert_int_equal(attn_array_convert(&a, ATTN_F32, NULL), ATTN_ERR_MEMORY);
  faults_end();
  assert_ptr_equal(a.memory, before);
  assert_int_equal(a.tensor.dtype, ATTN_F16);
  attn_array_free(&a);
  attn_array_free(&a);
  attn_array_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_float16),
      cmocka_unit_test(every_bfloat16),
      cmocka_unit_test(whole_numbers_and_doubles),
      cmocka_unit_test(what_cannot_be_leaves_the_array_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
