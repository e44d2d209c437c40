/* test_memory.c -- whichever allocation fails, reading, explaining and checking a lesson return an
 * error and leak nothing (under AddressSanitizer), and the next call succeeds. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "attn/lesson.h"
#include "pool.h"

/* Every request, including those that the pool serves from its chunks, by the linker's --wrap. */
static long requests, refuse_at;
static int refused(void) { return ++requests == refuse_at; }

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__real_attn_pool_take(struct attn_pool *pool, size_t bytes);
void *__wrap_attn_pool_take(struct attn_pool *pool, size_t bytes);
char *__real_attn_pool_text(struct attn_pool *pool, const char *text, size_t bytes);
char *__wrap_attn_pool_text(struct attn_pool *pool, const char *text, size_t bytes);
int __real_attn_pool_grow(struct attn_pool *pool, void **array, size_t count, size_t size);
int __wrap_attn_pool_grow(struct attn_pool *pool, void **array, size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t bytes) {
  return refused() ? NULL : __real_calloc(count, bytes);
}
void *__wrap_attn_pool_take(struct attn_pool *pool, size_t bytes) {
  return refused() ? NULL : __real_attn_pool_take(pool, bytes);
}
char *__wrap_attn_pool_text(struct attn_pool *pool, const char *text, size_t bytes) {
  return refused() ? NULL : __real_attn_pool_text(pool, text, bytes);
}
int __wrap_attn_pool_grow(struct attn_pool *pool, void **array, size_t count, size_t size) {
  return refused() ? -1 : __real_attn_pool_grow(pool, array, count, size);
}

/* ---- Every operation on a document ---- */

struct digest {
  size_t bytes;
  uint64_t hash;
};

static int add_text(void *context, const char *text, size_t bytes) {
  struct digest *t = context;
  t->bytes += bytes;
  for (size_t n = 0; n < bytes; n++) t->hash = (t->hash ^ (unsigned char)text[n]) * 0x100000001b3;
  return 0;
}

static attn_status report_all(const attn_lesson *lesson, const char *cell, struct digest *digest,
                              attn_error *err) {
  const attn_style style = {sizeof style, 1, 0, 80, 4};
  const attn_sink sink = {digest, add_text};
  attn_check *check = NULL;
  attn_status status = attn_lesson_explain(lesson, &style, &sink, err);
  if (!status) status = attn_lesson_explain_json(lesson, &sink, err);
  if (!status) status = attn_lesson_explain_cell(lesson, cell, &style, &sink, err);
  if (!status) status = attn_lesson_check(lesson, &check, err);
  if (!status) status = attn_check_print(lesson, check, &style, &sink, err);
  if (!status) status = attn_check_print_reading(lesson, check, &style, &sink, err);
  if (!status) status = attn_check_print_json("a.md", lesson, check, NULL, &sink, err);
  attn_check_free(check);
  return status;
}

static attn_status everything(const char *text, const char *cell, struct digest *digest,
                              attn_error *err) {
  attn_lesson *lesson = NULL;
  *digest = (struct digest){0, 0xcbf29ce484222325};
  attn_status status = attn_lesson_read(text, strlen(text), "a.md", &lesson, err);
  if (!status) status = report_all(lesson, cell, digest, err);
  attn_lesson_free(lesson);
  return status;
}

/* Of thousands of requests, each of the first 25 fails once, and then ever fewer: about 200. */
static long next_request(long n) { return n + 1 + n / 25; }

/* Fails the first, second, .. request until all succeed. */
static void sweep(const char *text, const char *cell) {
  struct digest right, now;
  attn_error err = {0};
  refuse_at = requests = 0;
  if (everything(text, cell, &right, &err)) fail_msg("%s", err.message);
  long all = requests;
  assert_true(all > 50 && right.bytes > 500);
  for (long n = 1; n <= all; n = next_request(n)) {
    memset(&err, 0, sizeof err);
    requests = 0, refuse_at = n;
    attn_status status = everything(text, cell, &now, &err);
    refuse_at = 0;
    if (status != ATTN_ERR_MEMORY || err.status != ATTN_ERR_MEMORY || !err.message[0])
      fail_msg("request %ld of %ld refused: status %d, error %d: %s", n, all, (int)status,
               (int)err.status, err.message);
  }
  assert_int_equal(everything(text, cell, &now, &err), ATTN_OK);
  assert_int_equal(now.bytes, right.bytes);
  assert_true(now.hash == right.hash);
}

static void a_markdown_lesson_with_a_slip(void **state) {
  (void)state;
  sweep(
      "# A lesson\n\ntokens: we read\n\nmask: causal\n\nX:\n\n| | a | b |\n|---|---|---|\n"
      "| we | 1 | 0 |\n| read | 1 | 1 |\n\nW_Q = [[1, 0], [0, 1]]\n"
      "\\[ W^K = \\begin{bmatrix} 1 & 1 \\\\ 0 & \\frac{1}{2} \\end{bmatrix} \\]\n"
      "W_V = [[2, 0], [0, 1]]\n\nQ\n1 0\n1 1\n\nscores\n1 0\n1 0.5\n\nscaled\n0.71 0\n0.71 0.35\n\n"
      "weights\n1 0\n0.59 0.41\n\noutput\n2 0\n3 0.41\n",
      "output[1,0]");
}

static void a_snippet_with_its_results(void **state) {
  (void)state;
  sweep(
      "```python\nimport numpy as np\nq = np.array([[1.0, 0.0], [0.0, 1.0]])\n"
      "k = np.array([[1.0, 2.0], [0.0, 1.0]])\nv = np.ones((2, 2))\n"
      "s = q @ k.T / np.sqrt(2)\nprint(s)  # [[0.7071 0.    ] [1.4142 0.7071]]\n"
      "w = softmax(s, axis=-1)\nprint(w)  # [[0.6698 0.3302] [0.6698 0.3302]]\no = w @ v\n```\n",
      "weights[0,0]");
}

static void heads_positions_and_columns(void **state) {
  (void)state;
  sweep(
      "# Example 1: heads\n\nQ_1 = [[1, 0], [0, 1]]\nK_1 = [[1, 0], [0, 1]]\nV_1 = [[1, 0], [0, "
      "2]]\n"
      "Q_2 = [[1, 1], [0, 1]]\nK_2 = [[1, 0], [1, 1]]\nV_2 = [[3, 0], [0, 1]]\n"
      "head_1 = [[0.67, 0.66], [0.33, 1.34]]\n\n# Example 2: positions\n\ntokens: to be\n"
      "X = [[1, 0], [0, 1]]\nPE = [[0, 1], [0.8415, 0.5403]]\nX + PE = [[1, 1], [0.8415, "
      "1.5403]]\n\n"
      "# Example 3: columns\n\n各列の softmax、y_j = sum_i a_ij v_i\n\nQ = [[1, 0], [0, 1]]\n"
      "K = [[1, 2], [0, 1]]\nV = [[1, 0], [0, 1]]\nscores = [[1, 2], [0, 1]]\n",
      "scores[0,0]");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_markdown_lesson_with_a_slip),
                                     cmocka_unit_test(a_snippet_with_its_results),
                                     cmocka_unit_test(heads_positions_and_columns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
