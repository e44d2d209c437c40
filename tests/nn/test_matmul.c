/* Matrix products, for all transpositions, random_floats of threads and micro-kernels.
 *
 * |error| <= (n + 1) u sum |a b| for n products, u = 2^-24 [Higham02 sec. 3.1]. The bits of an
 * element depend only on its row and its column: not on other rows and columns, threads or packing.
 * For float32 with FMA they are the chain of fmaf that gemm.h specifies. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocator.h"
#include "bf16.h"
#include "element.h"
#include "gemm/gemm.h"
#include "gemm/matmul.h"
#include "random.h"

extern const struct attn_gemm_kernel model_gemm_avx512; /* model_gemm.c */

static const struct attn_host one_thread = {.threads = 1};

static size_t size_of(attn_dtype type) {
  return type == ATTN_BF16 ? sizeof(uint16_t) : sizeof(float);
}

static float *random_floats(int64_t count) {
  float *x = malloc((size_t)count * sizeof *x);
  for (int64_t n = 0; n < count; n++) x[n] = uniform();
  return x;
}

static void *random_elements(int64_t count, attn_dtype type) {
  float *x = random_floats(count);
  uint16_t *rounded = malloc((size_t)count * sizeof *rounded);
  if (type == ATTN_F32) return free(rounded), x;
  attn_convert_to_bf16(&one_thread, rounded, x, count);
  return free(x), rounded;
}

static double element(struct attn_gemm_operand m, int64_t row, int64_t column) {
  int64_t at = m.transposed ? column * m.step + row : row * m.step + column;
  if (m.type == ATTN_BF16) return (double)attn_from_bf16(((const uint16_t *)m.at)[at]);
  return (double)((const float *)m.at)[at];
}

/* is = was + the sum of the products, within the bound */
static void expect_sum(float is, double was, struct attn_gemm_operand a, struct attn_gemm_operand b,
                       int64_t i, int64_t j, int64_t inner) {
  double sum = was, size = fabs(was);
  for (int64_t k = 0; k < inner; k++) {
    double term = element(a, i, k) * element(b, k, j);
    sum += term, size += fabs(term);
  }
  assert_true(fabs((double)is - sum) <= (double)(inner + 1) * 0x1p-24 * size);
}

/* ---- Any matrices ---- */

struct sizes {
  int64_t rows, columns, inner;
};

static void check(struct sizes s, int how, attn_dtype type, int32_t threads) {
  int a_transposed = how & 1, b_transposed = how >> 1 & 1, add = how >> 2;
  const struct attn_host host = {.threads = threads};
  int64_t a_step = (a_transposed ? s.rows : s.inner) + 3,
          b_step = (b_transposed ? s.inner : s.columns) + 1 + below(2), c_step = s.columns + 2;
  const size_t shift = (size_t)below(2); /* bf16 operands may be at any even address */
  char *a = random_elements((a_transposed ? s.inner : s.rows) * a_step + 1, type),
       *b = random_elements((b_transposed ? s.columns : s.inner) * b_step + 1, type);
  float *c = random_floats(s.rows * c_step), *was = malloc((size_t)(s.rows * c_step) * sizeof *was);
  const struct attn_gemm_operand left = {a + shift * size_of(type), a_step, a_transposed, type},
                                 right = {b + shift * size_of(type), b_step, b_transposed, type};
  memcpy(was, c, (size_t)(s.rows * c_step) * sizeof *was);
  assert_int_equal(
      attn_matmul(&host, s.rows, s.columns, s.inner, left, right, c, c_step, add, NULL), ATTN_OK);
  for (int64_t i = 0; i < s.rows; i++) {
    for (int64_t j = 0; j < s.columns; j++)
      expect_sum(c[i * c_step + j], add ? (double)was[i * c_step + j] : 0, left, right, i, j,
                 s.inner);
    for (int64_t j = s.columns; j < c_step; j++) /* the gaps between rows are not written */
      assert_true(c[i * c_step + j] == was[i * c_step + j]);
  }
  free(a), free(b), free(c), free(was);
}

static void products_are_within_the_error_bound(void **state) {
  (void)state;
  static const struct sizes sizes[] = {{1, 1, 1},     {5, 7, 3},     {130, 70, 40}, {33, 150, 60},
                                       {64, 64, 70},  {2, 300, 515}, {300, 2, 257}, {13, 37, 600},
                                       {25, 64, 256}, {3, 4, 0}};
  static const attn_dtype types[] = {ATTN_F32, ATTN_BF16};
  for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
    for (int how = 0; how < 8; how++)
      for (int32_t threads = 1; threads <= 3; threads++)
        for (int type = 0; type < 2; type++) check(sizes[n], how, types[type], threads);
}

/* ---- Bits ---- */

/* A product of some of the rows and columns has the same bits. */
static void expect_part(const float *whole, struct sizes s, struct attn_gemm_operand a,
                        struct attn_gemm_operand b) {
  const struct attn_host host = {.threads = 1 + (int32_t)below(4)};
  int64_t i = below(s.rows), j = below(s.columns), rows = 1 + below(s.rows - i),
          columns = 1 + below(s.columns - j);
  float *c = random_floats(rows * columns);
  a.at = (const char *)a.at + (size_t)(a.transposed ? i : i * a.step) * size_of(a.type);
  b.at = (const char *)b.at + (size_t)(b.transposed ? j * b.step : j) * size_of(b.type);
  assert_int_equal(attn_matmul(&host, rows, columns, s.inner, a, b, c, columns, 0, NULL), ATTN_OK);
  for (int64_t r = 0; r < rows; r++)
    assert_memory_equal(c + r * columns, whole + (i + r) * s.columns + j,
                        (size_t)columns * sizeof *c);
  free(c);
}

static void bits_depend_only_on_the_row_and_the_column(void **state) {
  (void)state;
  static const struct sizes sizes[] = {{90, 120, 70}, {40, 300, 513}, {300, 40, 300}};
  for (int n = 0; n < 3; n++)
    for (int how = 0; how < 8; how++) {
      const struct sizes s = sizes[n];
      attn_dtype type = how >> 2 ? ATTN_BF16 : ATTN_F32;
      void *x = random_elements(s.rows * s.inner, type),
           *w = random_elements(s.inner * s.columns, type);
      float *c = random_floats(s.rows * s.columns);
      const struct attn_gemm_operand a = {x, how & 1 ? s.rows : s.inner, how & 1, type},
                                     b = {w, how & 2 ? s.inner : s.columns, how & 2, type};
      assert_int_equal(
          attn_matmul(&one_thread, s.rows, s.columns, s.inner, a, b, c, s.columns, 0, NULL),
          ATTN_OK);
      for (int part = 0; part < 10; part++) expect_part(c, s, a, b);
      free(x), free(w), free(c);
    }
}

/* ---- Kernels, tile by tile ---- */

enum { DEPTH = 50, GAP = 3, PITCH = DEPTH + DEPTH / 10 * GAP };

/* Element (r, k) of A, with a gap after each run. */
static int in_a(int r, int k, int run) { return r * PITCH + k + (run ? k / run * GAP : 0); }

/* Compares a tile to the chain of fmaf. run: 0, or at least 10. */
static void check_tile(const struct attn_gemm_kernel *g, int rows, int64_t columns, int add,
                       int run) {
  float a[ATTN_GEMM_MAX_ROWS * PITCH], panel[DEPTH * ATTN_GEMM_MAX_COLUMNS] = {0},
                                                     c[ATTN_GEMM_MAX_ROWS * ATTN_GEMM_MAX_COLUMNS],
                                                     was[sizeof c / sizeof *c];
  const struct attn_gemm_rows from = {.a = (const char *)a,
                                      .row = PITCH * sizeof *a,
                                      .step = sizeof *a,
                                      .run = run,
                                      .jump = GAP * sizeof *a,
                                      .ahead = columns & 1 ? (const char *)c : NULL,
                                      .ahead_step = 12};
  int exact = strcmp(g->name, "scalar") != 0;
  for (size_t n = 0; n < sizeof a / sizeof *a; n++) a[n] = uniform();
  for (int k = 0; k < DEPTH; k++)
    for (int64_t j = 0; j < columns; j++) panel[k * g->columns + j] = uniform();
  for (size_t n = 0; n < sizeof c / sizeof *c; n++) c[n] = was[n] = uniform();
  g->float_tile(rows, DEPTH, &from, panel, c, ATTN_GEMM_MAX_COLUMNS, columns, add);
  for (int r = 0; r < ATTN_GEMM_MAX_ROWS; r++)
    for (int j = 0; j < ATTN_GEMM_MAX_COLUMNS; j++) {
      float before = was[r * ATTN_GEMM_MAX_COLUMNS + j], is = c[r * ATTN_GEMM_MAX_COLUMNS + j];
      float sum = 0, rounded = 0;
      for (int k = 0; k < DEPTH && j < g->columns; k++) {
        sum = fmaf(a[in_a(r, k, run)], panel[k * g->columns + j], sum);
        rounded = rounded + a[in_a(r, k, run)] * panel[k * g->columns + j];
      }
      if (!exact) sum = rounded;
      if (add) sum += before;
      assert_true(is == (r < rows && j < columns ? sum : before));
    }
}

static void a_tile_is_one_chain_of_products(void **state) {
  (void)state;
  const struct attn_gemm_kernel *g = &model_gemm_avx512;
  for (int n = -1; g; g = attn_gemm_entry(++n)) {
    if (n >= 0 && !attn_gemm_runs(g)) {
      print_message("skipped: this CPU does not run %s\n", g->name);
      continue;
    }
    for (int rows = 1; rows <= g->rows; rows++)
      for (int64_t columns = 1; columns <= g->columns; columns += columns < 3 ? 1 : 5)
        check_tile(g, rows, columns, rows & 1, 0), check_tile(g, rows, g->columns, columns & 1, 0);
    check_tile(g, g->rows, g->columns, 0, 10), check_tile(g, 1, 3, 1, 25);
  }
}

/* The order in which bf16 instructions add a pair of products is not specified. */
static void a_tile_of_bf16_is_within_the_error_bound(void **state) {
  (void)state;
  const struct attn_gemm_kernel *g = &model_gemm_avx512;
  for (int n = -1; g; g = attn_gemm_entry(++n)) {
    if (n >= 0 && !attn_gemm_runs(g)) continue;
    uint16_t pairs[DEPTH * ATTN_GEMM_MAX_ROWS], panel[DEPTH * ATTN_GEMM_MAX_COLUMNS];
    float expanded[DEPTH * ATTN_GEMM_MAX_ROWS], c[ATTN_GEMM_MAX_ROWS * ATTN_GEMM_MAX_COLUMNS];
    for (int e = 0; e < DEPTH * ATTN_GEMM_MAX_ROWS; e++)
      pairs[e] = attn_to_bf16(uniform()), expanded[e] = attn_from_bf16(pairs[e]);
    for (int e = 0; e < DEPTH * g->columns; e++) panel[e] = attn_to_bf16(uniform());
    const struct attn_gemm_rows from =
        g->has_bf16
            ? (struct attn_gemm_rows){.a = (const char *)pairs, .row = DEPTH * 2, .step = 4}
            : (struct attn_gemm_rows){.a = (const char *)expanded, .row = DEPTH * 4, .step = 4};
    g->bf16_tile(g->rows, DEPTH, &from, panel, c, g->columns, g->columns, 0);
    for (int r = 0; r < g->rows; r++)
      for (int j = 0; j < g->columns; j++) {
        double sum = 0, size = 0;
        for (int k = 0; k < DEPTH; k++) {
          double term = (double)attn_from_bf16(pairs[r * DEPTH + k]) *
                        (double)attn_from_bf16(panel[k / 2 * 2 * g->columns + j * 2 + k % 2]);
          sum += term, size += fabs(term);
        }
        assert_true(fabs((double)c[r * g->columns + j] - sum) <= DEPTH * 0x1p-24 * size);
      }
  }
}

/* ---- Packed weights ---- */

/* For any number of rows, each row has the bits of a product of one row, and with the best kernel
 * those of attn_matmul. */
static void check_packed(const struct attn_gemm_kernel *kernel, int64_t in, int64_t out,
                         attn_dtype type, int with_bias) {
  enum { ROWS = 70 };
  static const int64_t counts[] = {0, 1, 2, 5, 11, 31, 32, 64, ROWS};
  struct attn_packed_matrix *packed;
  float *w = random_floats(out * in), *b = random_floats(out), *alone = random_floats(ROWS * out),
        *y = random_floats(ROWS * out);
  void *x = random_elements(ROWS * in, type), *factor = w;
  if (type == ATTN_BF16)
    attn_convert_to_bf16(&one_thread, factor = malloc((size_t)(out * in) * 2), w, out * in);
  const struct attn_gemm_operand left = {x, in, 0, type}, right = {factor, in, 1, type};
  assert_int_equal(
      attn_packed_matrix_new(kernel, w, with_bias ? b : NULL, in, out, type, &packed, NULL),
      ATTN_OK);
  for (int64_t r = 0; r < ROWS; r++)
    attn_packed_matmul(packed, alone + r * out, (const char *)x + (size_t)(r * in) * size_of(type),
                       1);
  for (int64_t e = 0; e < ROWS * out; e++)
    expect_sum(alone[e], with_bias ? (double)b[e % out] : 0, left, right, e / out, e % out, in);
  for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
    attn_packed_matmul(packed, y, x, counts[n]);
    assert_memory_equal(y, alone, (size_t)(counts[n] * out) * sizeof *y);
  }
  if (with_bias)
    for (int64_t r = 0; r < ROWS; r++) memcpy(y + r * out, b, (size_t)out * sizeof *y);
  assert_int_equal(attn_matmul(&one_thread, ROWS, out, in, left, right, y, out, with_bias, NULL),
                   ATTN_OK);
  if (kernel == attn_gemm_best()) assert_memory_equal(y, alone, (size_t)(ROWS * out) * sizeof *y);
  attn_packed_matrix_free(packed);
  if (factor != w) free(factor);
  free(w), free(b), free(alone), free(y), free(x);
}

static void check_packed_kernel(const struct attn_gemm_kernel *kernel) {
  static const attn_dtype types[] = {ATTN_F32, ATTN_BF16};
  for (int bias = 0; bias < 2; bias++)
    for (int type = 0; type < 2; type++) {
      for (int64_t width = 1; width < 80; width += 13) {
        check_packed(kernel, width, 64, types[type], bias);
        check_packed(kernel, 64, width, types[type], bias);
        check_packed(kernel, width, 3 * width, types[type], bias);
      }
      check_packed(kernel, 513, 70, types[type], bias);
      check_packed(kernel, 300, 9, types[type], bias);
    }
}

/* With the best kernel, and with those that read packed weights in another order. */
static void packed_products_have_the_same_bits(void **state) {
  (void)state;
  const struct attn_gemm_kernel *kernel;
  for (int n = 0; (kernel = attn_gemm_entry(n)); n++)
    if (attn_gemm_runs(kernel) && (kernel == attn_gemm_best() || kernel->streams))
      check_packed_kernel(kernel);
}

/* ---- Memory ---- */

/* Whether the mapping that contains `memory` is advised to have huge pages: "hg" in its flags. */
static int is_advised(FILE *smaps, const void *memory) {
  char line[1000];
  unsigned long from, to, at = (unsigned long)memory;
  for (int inside = 0; fgets(line, sizeof line, smaps);) {
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2) inside = from <= at && at < to;
    if (inside && !strncmp(line, "VmFlags:", 8)) return strstr(line, " hg") != NULL;
  }
  return 0;
}

static void large_memory_has_huge_pages(void **state) {
  (void)state;
  enum { LARGE = 5 << 20 };
  char *memory = attn_memory_allocate_large(64, LARGE), *small = attn_memory_allocate_large(64, 1);
  assert_non_null(memory), assert_non_null(small);
  memset(memory, 1, LARGE);
  FILE *smaps = fopen("/proc/self/smaps", "r");
  if (smaps && !access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK))
    assert_true(is_advised(smaps, memory + LARGE / 2));
  if (smaps) fclose(smaps);
  attn_memory_release(NULL, memory), attn_memory_release(NULL, small);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_within_the_error_bound),
                                     cmocka_unit_test(bits_depend_only_on_the_row_and_the_column),
                                     cmocka_unit_test(a_tile_is_one_chain_of_products),
                                     cmocka_unit_test(a_tile_of_bf16_is_within_the_error_bound),
                                     cmocka_unit_test(packed_products_have_the_same_bits),
                                     cmocka_unit_test(large_memory_has_huge_pages)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
