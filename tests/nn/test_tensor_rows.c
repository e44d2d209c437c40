/* attn_store_reals rounds double to every type once, to nearest, ties to even: tested at the
 * midpoint of all neighbours of the 16-bit types and slightly above and below it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "element.h"
#include "tensor_rows.h"

static uint16_t stored(attn_dtype dtype, double value) {
  uint16_t bits[3] = {7, 7, 7};
  attn_store_reals(dtype, (char *)&bits[1], 1, 1, &value);
  assert_true(bits[0] == 7 && bits[2] == 7);
  return bits[1];
}

static double widened(attn_dtype dtype, uint16_t bits) {
  return (double)(dtype == ATTN_F16 ? attn_from_f16(bits) : attn_from_bf16(bits));
}

static void between_all_neighbours(attn_dtype dtype, uint16_t infinity) {
  for (int sign = 0; sign < 2; sign++)
    for (uint16_t h = 0; h + 1 < infinity; h++) {
      uint16_t lower = (uint16_t)(h | sign << 15), upper = (uint16_t)(lower + 1);
      double a = widened(dtype, lower);
      double b = widened(dtype, upper), middle = (a + b) / 2;
      double little = (b - a) * 0x1p-40; /* below the resolution of float32 */
      assert_int_equal(stored(dtype, a), lower);
      assert_int_equal(stored(dtype, middle - little), lower);
      assert_int_equal(stored(dtype, middle), h % 2 ? upper : lower);
      assert_int_equal(stored(dtype, middle + little), upper);
    }
}

static void all_midpoints_round_once(void **state) {
  (void)state;
  between_all_neighbours(ATTN_F16, 0x7C00);
  between_all_neighbours(ATTN_BF16, 0x7F80);
}

static void overflow_underflow_and_nan(void **state) {
  (void)state;
  assert_int_equal(stored(ATTN_F16, 65519.999999999), 0x7BFF);
  assert_int_equal(stored(ATTN_F16, 65520), 0x7C00);
  assert_int_equal(stored(ATTN_F16, -1e300), 0xFC00);
  assert_int_equal(stored(ATTN_BF16, 1e300), 0x7F80);
  assert_int_equal(stored(ATTN_F16, 1e-300), 0);
  assert_int_equal(stored(ATTN_F16, -1e-300), 0x8000);
  assert_int_equal(stored(ATTN_BF16, -0.0), 0x8000);
  assert_int_equal(stored(ATTN_F16, (double)INFINITY), 0x7C00);
  assert_true((stored(ATTN_F16, (double)NAN) & 0x7FFF) > 0x7C00);
  assert_true((stored(ATTN_BF16, (double)NAN) & 0x7FFF) > 0x7F80);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_midpoints_round_once),
                                     cmocka_unit_test(overflow_underflow_and_nan)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
