/* test_course.c -- attn_check_hint and attn_course_page_write: their arguments, their text, no
 * memory. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <string.h>

#include "attn/picture.h"
#include "failing_calloc.h"

static const char document[] =
    "Q = [[1, 2]]\n\nK = [[3, 1], [0, 2]]\n\nscores = Q K^T = [[5, 7]]\n";

struct page {
  size_t bytes, limit;
  char text[1 << 18];
};

static int keep(void *context, const char *text, size_t bytes) {
  struct page *p = context;
  if (p->bytes + bytes >= p->limit) return -1;
  memcpy(p->text + p->bytes, text, bytes);
  p->bytes += bytes;
  p->text[p->bytes] = 0;
  return 0;
}

static struct page page = {.limit = sizeof page.text};

static attn_status hint(const attn_lesson *lesson, const attn_check *check, int32_t step,
                        int32_t row, int32_t col, int32_t level, attn_error *err) {
  const attn_hint_place place = {0, step, row, col, level};
  const attn_sink sink = {&page, keep};
  page.bytes = 0;
  return attn_check_hint(lesson, check, &place, NULL, &sink, err);
}

static void test_hints(void **state) {
  (void)state;
  attn_lesson *lesson;
  attn_check *check;
  attn_error err;
  assert_int_equal(attn_lesson_read(document, sizeof document - 1, "d", &lesson, &err), ATTN_OK);
  assert_int_equal(attn_lesson_check(lesson, &check, &err), ATTN_OK);
  assert_int_equal(lesson->examples, 1);
  int32_t scores = 0;
  while (lesson->example->step[scores].name != ATTN_STEP_SCORES) scores++;
  assert_int_equal(hint(lesson, check, scores, 0, 1, 1, &err), ATTN_OK);
  assert_non_null(strstr(page.text, "scores = Q K^T."));
  assert_null(strstr(page.text, "4"));
  assert_null(strstr(page.text, "Q[0,0]"));
  assert_int_equal(hint(lesson, check, scores, 0, 1, 2, &err), ATTN_OK);
  assert_non_null(strstr(page.text, "Q[0,0] = 1, Q[0,1] = 2, K[1,0] = 0, K[1,1] = 2"));
  assert_null(strstr(page.text, "4"));
  assert_int_equal(hint(lesson, NULL, scores, 0, 1, 3, &err), ATTN_OK);
  assert_non_null(strstr(page.text, "1×0 + 2×2 = 4"));
  const struct {
    int32_t step, row, col, level;
  } wrong[] = {{0, 0, 0, 1},       {-1, 0, 0, 1},     {lesson->example->steps, 0, 0, 1},
               {scores, 1, 0, 1},  {scores, 0, 2, 1}, {scores, -1, 0, 1},
               {scores, 0, -1, 1}, {scores, 0, 0, 0}, {scores, 0, 0, 4}};
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    assert_int_equal(
        hint(lesson, check, wrong[n].step, wrong[n].row, wrong[n].col, wrong[n].level, &err),
        ATTN_ERR_ARGUMENT);
    assert_int_equal(page.bytes, 0);
  }
  attn_check_free(check);
  attn_lesson_free(lesson);
}

static attn_status write_page(const char *text, const attn_lesson *lesson, attn_error *err) {
  attn_course_page course = ATTN_COURSE_PAGE_INIT;
  const attn_sink sink = {&page, keep};
  course.title = "A & B", course.text = text, course.lesson = lesson;
  page.bytes = 0;
  return attn_course_page_write(&course, NULL, &sink, err);
}

/* Each line of Markdown, and what it becomes. */
static void test_markdown(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"a\nb", "<p>a b</p>"},
      {"日\n本\nx", "<p>日本 x</p>"},
      {"# Title\n\n## A `b` c\nd", "<h2>A <code>b</code> c</h2>\n<p>d</p>"},
      {"- a\n- **b**", "<ul><li>a</li>\n<li><strong>b</strong></li>\n</ul>"},
      {"1. a\n2. b", "<ol><li>a</li>\n<li>b</li>\n</ol>"},
      {"| a | b |\n|---|--:|\n| 1 | 2 |",
       "<table><tr><th> a </th><th> b </th></tr>\n<tr><td> 1 </td><td> 2 </td></tr>\n</table>"},
      {"```\n<a> **b**\n```\nc", "<pre>&lt;a&gt; **b**\n</pre>\n<p>c</p>"},
      {"[x](a.html) [y](javascript:z)", "<p><a href=\"a.html\">x</a> [y](javascript:z)</p>"},
      {"[x](https://a.b/c#d)", "<a href=\"https://a.b/c#d\">x</a>"},
      {"<script>`**[](", "<p>&lt;script&gt;`**[](</p>"},
      {"<!-- hidden -->\n\na", "<article class=\"course\">\n<p>a</p>"},
      {"**`a", "<p>**`a</p>"},
      {"a\n\nb = a_c\n\nd",
       "<p>a</p>\n<p><math><mrow><mi>b</mi><mtext>\u00a0</mtext><mo>=</mo>"
       "<mtext>\u00a0</mtext><msub><mi>a</mi><mrow><mi>c</mi></mrow></msub>"
       "</mrow></math></p>\n<p>d</p>"},
      {"b = a", "<p><math>"},
      {"b = a\nc", "<p>b = a c</p>"},
      {"c\nb = a", "<p>c b = a</p>"},
      {"b = <a>", "<p>b = &lt;a&gt;</p>"},
      {"It is b = a.", "<p>It is b = a.</p>"},
  };
  attn_error err;
  for (size_t n = 0; n < sizeof pairs / sizeof *pairs; n++) {
    assert_int_equal(write_page(pairs[n][0], NULL, &err), ATTN_OK);
    if (!strstr(page.text, pairs[n][1]))
      fail_msg("%s: %s", pairs[n][0], strstr(page.text, "<article"));
    assert_non_null(strstr(page.text, "A &amp; B"));
  }
}

static void test_pages(void **state) {
  (void)state;
  attn_lesson *lesson;
  attn_error err;
  assert_int_equal(attn_lesson_read(document, sizeof document - 1, "d", &lesson, &err), ATTN_OK);
  assert_int_equal(write_page("text", lesson, &err), ATTN_OK);
  assert_non_null(strstr(page.text, "<p>text</p>"));
  assert_non_null(strstr(page.text, "id=\"scores\""));
  assert_int_equal(write_page(NULL, lesson, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_course_page_write(NULL, NULL, NULL, &err), ATTN_ERR_ARGUMENT);
  for (int n = 0, failed = 1; failed; n++) {
    calls_left = n;
    failed = write_page("text", lesson, &err) != ATTN_OK;
    calls_left = -1;
    if (failed) assert_int_equal(err.status, ATTN_ERR_MEMORY);
    assert_true(n < 1000);
  }
  page.limit = 4000;
  assert_int_equal(write_page("text", lesson, &err), ATTN_ERR_FILE);
  page.limit = sizeof page.text;
  attn_lesson_free(lesson);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_hints), cmocka_unit_test(test_markdown),
                                     cmocka_unit_test(test_pages)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
