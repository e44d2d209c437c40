/* Every kernel agrees with the reference on blocks of rows within the documented bound, for any key
 * ranges, masks and strides; a block's bits do not depend on the others; the AVX-512 kernel is
 * bit-identical to its software model. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels.h"
#include "ref.h"

static uint64_t random_state = 1;

static uint32_t random_bits(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 32);
}
static int64_t below(int64_t n) { return random_bits() % n; }
static float uniform(void) { return (float)random_bits() * 0x1p-31f - 1.0f; }

/* One head with everything a task can have; dense tensors, so that the oracle reads them too. */
struct setting {
  int64_t rows, keys, width, value_width;
  float *q, *k, *v, *mask, *o, *lse, *weights;
  int64_t offset, left, right;
  int masked, window, weighted;
  float gain;
  struct attn_sdpa_task tasks[ATTN_FORWARD_BLOCKS];
  float *workspace;
};

static float *numbers(int64_t n, float gain) {
  float *x = malloc((size_t)(n + 1) * sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i] = uniform() * gain;
  return x;
}

static int32_t blocks_of(const struct setting *s) {
  return (int32_t)((s->rows + ATTN_ROW_BLOCK - 1) / ATTN_ROW_BLOCK);
}

static void draw(struct setting *s) {
  static const int64_t keys[] = {1, 5, 6, 7, 47, 48, 95, 96, 97, 191, 192, 193, 300};
  static const int64_t widths[] = {1, 3, 8, 17, 64, 65, 128, 144};
  static const int64_t rows[] = {16, ATTN_ROW_BLOCK, ATTN_ROW_BLOCK * ATTN_FORWARD_BLOCKS};
  s->rows = below(rows[below(3)]), s->keys = keys[below(13)];
  /* Half of the last blocks have few rows, which may be decoded. */
  s->rows = 1 + (below(2) ? s->rows : s->rows - s->rows % ATTN_ROW_BLOCK + s->rows % 16);
  s->width = widths[below(8)], s->value_width = widths[below(8)];
  s->masked = (int)below(3) == 0, s->window = (int)below(2), s->weighted = (int)below(2);
  s->offset = below(s->keys + 20) - 10, s->left = below(80), s->right = below(80);
  s->gain = below(4) ? 1.0f : 40.0f; /* large scores: maxima that move, blocks done again */
  s->q = numbers(s->rows * s->width, s->gain), s->k = numbers(s->keys * s->width, 3);
  s->v = numbers(s->keys * s->value_width, 1), s->mask = numbers(s->rows * s->keys, 2);
  for (int64_t n = 0; n < s->rows * s->keys; n++)
    if (below(3) == 0) s->mask[n] = -INFINITY;
  if (below(4) == 0) /* scores that jump in a late block, after one that raised no maximum */
    for (int64_t n = s->keys * 2 / 3 * s->width; n < s->keys * s->width; n++) s->k[n] *= 200;
  s->o = numbers(s->rows * s->value_width, 1), s->lse = numbers(s->rows, 1);
  s->weights = numbers(s->rows * s->keys, 1);
  size_t floats = (size_t)attn_sdpa_lay_out(s->width, s->value_width, 0, blocks_of(s)).end;
  s->workspace = aligned_alloc(64, (floats * 4 + 63) / 64 * 64);
  memset(s->workspace, 0xFF, floats * 4); /* NaN exposes a read before a write */
}

static void release(struct setting *s) {
  free(s->q), free(s->k), free(s->v), free(s->mask), free(s->o), free(s->lse);
  free(s->weights), free(s->workspace);
}

static void fill_task(struct setting *s, struct attn_sdpa_task *t, int64_t first) {
  memset(t, 0xA5, sizeof *t);
  t->rows = 0;
  for (int64_t r = 0, i = first; r < ATTN_ROW_BLOCK && i < s->rows; r++, i++, t->rows++) {
    t->q[r] = (const char *)(s->q + i * s->width), t->o[r] = (char *)(s->o + i * s->value_width);
    t->lse[r] = s->lse + i, t->weights[r] = s->weighted ? (char *)(s->weights + i * s->keys) : NULL;
    t->mask[r] = (const char *)(s->mask + i * s->keys), t->sink[r] = -INFINITY;
    int64_t centre = i + s->offset, lo = s->window ? centre - s->left : 0;
    int64_t hi = (s->window ? centre + s->right : s->keys - 1) + 1;
    t->lo[r] = lo < 0 ? 0 : lo, t->hi[r] = hi > s->keys ? s->keys : hi;
    if (t->hi[r] < t->lo[r]) t->hi[r] = t->lo[r];
  }
  t->dtype = t->weights_dtype = t->kv_dtype = ATTN_F32;
  t->pages.tokens = 0, t->partial[0] = NULL, t->k.data = (const char *)s->k,
  t->v.data = (const char *)s->v;
  t->q_col = t->o_col = t->weights_col = t->mask_col = t->k.col = t->v.col = 1;
  t->k.row = t->k.width = s->width, t->v.row = t->v.width = s->value_width;
  t->keys = s->keys;
  t->has_mask = s->masked, t->mask_dtype = ATTN_F32;
  t->has_alibi = t->has_additive = 0, t->softcap = 0, t->drop_below = 0, t->keep = 1;
  t->scale = ATTN_LOG2E / sqrt((double)s->width);
  t->headroom = s->keys > 1 ? (float)(ceil(log2((double)s->keys)) + 1) : 1.0f;
  t->workspace = s->workspace;
}

/* Runs the blocks of rows in one call, or each in its own. */
static void run(struct setting *s, const struct attn_kernel *kernel, int together) {
  int32_t blocks = blocks_of(s);
  memset(s->o, 0xA5, (size_t)(s->rows * s->value_width) * sizeof *s->o);
  for (int32_t n = 0; n < blocks; n++) fill_task(s, &s->tasks[n], n * ATTN_ROW_BLOCK);
  if (together) kernel->sdpa_f32(s->tasks, blocks);
  for (int32_t n = 0; n < blocks && !together; n++) kernel->sdpa_f32(&s->tasks[n], 1);
}

static attn_tensor dense(float *data, int64_t n, int64_t m) {
  return (attn_tensor){data, ATTN_F32, 4, {1, 1, n, m}, {n * m, n * m, m, 1}};
}

static void compare_row(struct setting *s, const struct attn_kernel *kernel, int64_t i) {
  attn_tensor q = dense(s->q, s->rows, s->width), k = dense(s->k, s->keys, s->width);
  attn_tensor v = dense(s->v, s->keys, s->value_width), mask = dense(s->mask, s->rows, s->keys);
  attn_sdpa desc = ATTN_SDPA_INIT;
  if (s->window) desc.flags = ATTN_SDPA_WINDOW | ATTN_SDPA_OFFSET, desc.align = ATTN_ALIGN_OFFSET;
  desc.offset = s->offset, desc.window_left = s->left, desc.window_right = s->right;
  if (s->masked) desc.mask = &mask;
  double *work = malloc((size_t)(3 * s->keys + 5 * s->value_width) * sizeof *work);
  double *output = work + 3 * s->keys;
  struct attn_ref_row row = {.i = i,
                             .scores = work,
                             .weights = work + s->keys,
                             .budget = work + 2 * s->keys,
                             .output = output,
                             .absolute = output + s->value_width,
                             .flushed = output + 2 * s->value_width,
                             .error = output + 3 * s->value_width,
                             .largest = output + 4 * s->value_width};
  attn_ref_sdpa_row(&desc, &q, &k, &v, &row);
  if (s->tasks[i / ATTN_ROW_BLOCK].empty[i % ATTN_ROW_BLOCK] != (row.visible == 0))
    fail_msg("%s: row %d", kernel->name, (int)i);
  for (int64_t e = 0; e < s->value_width; e++) {
    double error = fabs((double)s->o[i * s->value_width + e] - row.output[e]);
    if (!(error <= attn_ref_bound_output(&row, e)))
      fail_msg("%s: rows %d keys %d E %d: o[%d,%d] is %g, not %g", kernel->name, (int)s->rows,
               (int)s->keys, (int)s->width, (int)i, (int)e, (double)s->o[i * s->value_width + e],
               row.output[e]);
  }
  for (int64_t j = 0; s->weighted && j < s->keys; j++)
    if (!(fabs((double)s->weights[i * s->keys + j] - row.weights[j]) <=
          attn_ref_bound_weight(&row, j)))
      fail_msg("%s: weights[%d,%d] is %g, not %g (E %d, n %d)", kernel->name, (int)i, (int)j,
               (double)s->weights[i * s->keys + j], row.weights[j], (int)s->width,
               (int)row.visible);
  if (row.visible ? !(fabs((double)s->lse[i] - row.lse) <= attn_ref_bound_lse(&row))
                  : s->lse[i] != -INFINITY)
    fail_msg("%s: lse[%d] is %g, not %g", kernel->name, (int)i, (double)s->lse[i], row.lse);
  free(work);
}

static void kernels_agree_with_the_oracle(void **state) {
  (void)state;
  for (int round = 0; round < 300; round++) {
    struct setting s = {0};
    draw(&s);
    for (int n = 0; test_kernel(n); n++) {
      if (!test_kernel_runs(test_kernel(n))) continue;
      run(&s, test_kernel(n), 1);
      for (int64_t i = 0; i < s.rows; i++) compare_row(&s, test_kernel(n), i);
    }
    release(&s);
  }
}

/* The results: outputs, log-sum-exps and weights, back to back. */
static float *outputs_of(struct setting *s, const struct attn_kernel *kernel, int together,
                         size_t *bytes) {
  run(s, kernel, together);
  size_t o = (size_t)(s->rows * s->value_width), w = (size_t)(s->rows * s->keys);
  *bytes = (o + (size_t)s->rows + w) * sizeof(float);
  float *all = malloc(*bytes);
  memcpy(all, s->o, o * sizeof(float));
  memcpy(all + o, s->lse, (size_t)s->rows * sizeof(float));
  memcpy(all + o + s->rows, s->weights, w * sizeof(float));
  return all;
}

static void bits_do_not_depend_on_other_blocks(void **state) {
  (void)state;
  for (int round = 0; round < 60; round++) {
    struct setting s = {0};
    size_t bytes;
    draw(&s);
    for (int n = 0; test_kernel(n); n++) {
      if (!test_kernel_runs(test_kernel(n))) continue;
      float *alone = outputs_of(&s, test_kernel(n), 0, &bytes);
      float *together = outputs_of(&s, test_kernel(n), 1, &bytes);
      assert_memory_equal(alone, together, bytes);
      free(alone), free(together);
    }
    release(&s);
  }
}

static void avx512_is_bit_for_bit_its_model(void **state) {
  (void)state;
#if defined(__x86_64__)
  if (!test_kernel_runs(&attn_kernel_avx512)) return;
  for (int round = 0; round < 200; round++) {
    struct setting s = {0};
    size_t bytes;
    draw(&s);
    float *native = outputs_of(&s, &attn_kernel_avx512, 1, &bytes);
    float *model = outputs_of(&s, &attn_kernel_avx512_model, 1, &bytes);
    assert_memory_equal(native, model, bytes);
    free(native), free(model);
    release(&s);
  }
#endif
}

int main(int argc, char **argv) {
  if (argc > 1) random_state = strtoull(argv[1], NULL, 10);
  printf("seed %llu (an argument sets another)\n", (unsigned long long)random_state);
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_agree_with_the_oracle),
                                     cmocka_unit_test(bits_do_not_depend_on_other_blocks),
                                     cmocka_unit_test(avx512_is_bit_for_bit_its_model)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
