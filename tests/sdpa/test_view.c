/* Laws of overlap: views that share a byte are never called apart, views of disjoint ranges and
 * columns of one matrix always are; so q, k, v and their gradients may share one matrix.
 *
 *     test_view [SEED] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "view.h"

enum { ROOM = 4096 };
static char memory[ROOM];

/* The bytes of t's elements, one by one. */
static void mark(const attn_tensor *t, char *touched) {
  int64_t count = 1, size = attn_element_size(t->dtype);
  memset(touched, 0, ROOM);
  for (int n = 0; n < t->rank; n++) count *= t->shape[n];
  for (int64_t e = 0; e < count; e++) {
    int64_t at =
        (char *)t->data - memory + attn_view_offset(t->shape, t->strides, t->rank, e) * size;
    memset(touched + at, 1, (size_t)size);
  }
}

static attn_tensor any_view(void) {
  static const attn_dtype types[] = {ATTN_U8, ATTN_F16, ATTN_F32, ATTN_F64};
  attn_tensor t = {memory + ROOM / 2, types[below(4)], (int32_t)below(4), {0}, {0}};
  for (int n = 0; n < t.rank; n++) t.shape[n] = chance(12) ? 0 : 1 + below(4);
  for (int n = 0; n < t.rank; n++)
    t.strides[n] = (chance(4) ? -1 : 1) * (chance(3) ? 1 : 8) * below(5);
  t.data = memory + ROOM / 2 + 8 * below(12);
  return t;
}

static int share(const attn_tensor *a, const attn_tensor *b) {
  static char x[ROOM], y[ROOM];
  mark(a, x), mark(b, y);
  for (int n = 0; n < ROOM; n++)
    if (x[n] && y[n]) return 1;
  return 0;
}

static void views_that_share_a_byte_overlap(void **state) {
  (void)state;
  int apart = 0, told = 0;
  for (int round = 0; round < 30000; round++) {
    attn_tensor a = any_view(), b = any_view();
    int overlap = attn_views_overlap(&a, &b);
    if (share(&a, &b))
      assert_true(overlap);
    else
      apart++, told += !overlap;
    assert_int_equal(overlap, attn_views_overlap(&b, &a));
  }
  assert_true(told > apart / 2); /* some cases are too complex, but not most */
}

/* Rows of q, k and v side by side: heads of them, in any order of dimensions. */
static void columns_of_one_matrix_do_not_overlap(void **state) {
  (void)state;
  enum { HEADS = 4, ROWS = 5, E = 3, ALL = 3 * HEADS * E };
  for (int part = 0; part < 3; part++)
    for (int other = 0; other < 3; other++)
      for (int by_head = 0; by_head < 2; by_head++) {
        attn_tensor t[2] = {{memory + part * HEADS * E * 4, ATTN_F32, 3, {0}, {0}},
                            {memory + other * HEADS * E * 4, ATTN_F32, 3, {0}, {0}}};
        for (int k = 0; k < 2; k++) {
          const int64_t shape[] = {by_head ? HEADS : ROWS, by_head ? ROWS : HEADS, E};
          const int64_t strides[] = {by_head ? E : ALL, by_head ? ALL : E, 1};
          memcpy(t[k].shape, shape, sizeof shape), memcpy(t[k].strides, strides, sizeof strides);
        }
        assert_int_equal(attn_views_overlap(&t[0], &t[1]) != 0, part == other);
        t[0].shape[2] = E + 1; /* its last head overlaps the first column of the next part */
        assert_true(attn_views_overlap(&t[0], &t[1]) || (other != part && other != part + 1));
      }
}

/* Attention and its gradients on parts of one matrix are those of parts on their own, to the bit.
 */
static void gradients_may_share_one_matrix(void **state) {
  (void)state;
  enum { HEADS = 2, ROWS = 9, E = 4, W = HEADS * E };
  static float qkv[ROWS * 3 * W], d_qkv[ROWS * 3 * W], d[3][ROWS * W], o[ROWS * W], g[ROWS * W],
      lse[HEADS * ROWS];
  attn_tensor one[3], d_one[3], d_own[3];
  for (int n = 0; n < ROWS * 3 * W; n++) qkv[n] = uniform();
  for (int n = 0; n < ROWS * W; n++) g[n] = uniform();
  for (int n = 0; n < 3; n++) {
    one[n] = (attn_tensor){qkv + n * W, ATTN_F32, 3, {HEADS, ROWS, E}, {E, 3 * W, 1}};
    d_one[n] = one[n], d_one[n].data = d_qkv + n * W;
    d_own[n] = (attn_tensor){d[n], ATTN_F32, 3, {HEADS, ROWS, E}, {E, W, 1}};
  }
  attn_tensor to = {o, ATTN_F32, 3, {HEADS, ROWS, E}, {E, W, 1}}, tg = to;
  attn_tensor tl = {lse, ATTN_F32, 2, {HEADS, ROWS}, {ROWS, 1}};
  attn_sdpa desc = ATTN_SDPA_INIT;
  desc.lse = &tl, tg.data = g;
  assert_int_equal(attn_sdpa_forward(&desc, &one[0], &one[1], &one[2], &to, NULL), ATTN_OK);
  attn_sdpa_gradients all = {
      .struct_size = sizeof all, .d_q = &d_one[0], .d_k = &d_one[1], .d_v = &d_one[2]};
  attn_sdpa_gradients own = {
      .struct_size = sizeof own, .d_q = &d_own[0], .d_k = &d_own[1], .d_v = &d_own[2]};
  assert_int_equal(attn_sdpa_backward(&desc, &one[0], &one[1], &one[2], &to, &tg, &all, NULL),
                   ATTN_OK);
  assert_int_equal(attn_sdpa_backward(&desc, &one[0], &one[1], &one[2], &to, &tg, &own, NULL),
                   ATTN_OK);
  for (int n = 0; n < 3; n++)
    for (int row = 0; row < ROWS; row++)
      assert_memory_equal(d_qkv + row * 3 * W + n * W, d[n] + row * W, W * sizeof(float));
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(views_that_share_a_byte_overlap),
                                     cmocka_unit_test(columns_of_one_matrix_do_not_overlap),
                                     cmocka_unit_test(gradients_may_share_one_matrix)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
