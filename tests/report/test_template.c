/* test_template.c -- attn_lesson_template: its configuration, and its errors. tests/cli/test_new.py
 * reads the lessons. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <string.h>

#include "attn/lesson.h"
#include "failing_calloc.h"

struct page {
  size_t bytes, limit;
  char text[16384];
};

static int keep(void *context, const char *text, size_t bytes) {
  struct page *p = context;
  if (p->bytes + bytes > p->limit) return -1;
  memcpy(p->text + p->bytes, text, bytes);
  p->bytes += bytes;
  return 0;
}

static attn_status write_page(const attn_lesson_template_config *config, const attn_style *style,
                              struct page *page, attn_error *err) {
  const attn_sink sink = {page, keep};
  page->bytes = 0;
  return attn_lesson_template(config, style, &sink, err);
}

static void test_defaults(void **state) {
  (void)state;
  static struct page one = {.limit = 16000}, other = {.limit = 16000};
  attn_lesson_template_config config = ATTN_LESSON_TEMPLATE_CONFIG_INIT;
  attn_error err;
  assert_int_equal(write_page(NULL, NULL, &one, &err), ATTN_OK);
  assert_int_equal(write_page(&config, NULL, &other, &err), ATTN_OK);
  assert_int_equal(one.bytes, other.bytes);
  assert_memory_equal(one.text, other.text, one.bytes);
  config.level = 1;
  assert_int_equal(write_page(&config, NULL, &other, &err), ATTN_OK);
  assert_memory_equal(one.text, other.text, one.bytes);
  config.seed = 1;
  assert_int_equal(write_page(&config, NULL, &other, &err), ATTN_OK);
  assert_true(one.bytes != other.bytes || memcmp(one.text, other.text, one.bytes) != 0);
}

#define REFUSED(name, ...)                                                       \
  do {                                                                           \
    attn_lesson_template_config config = ATTN_LESSON_TEMPLATE_CONFIG_INIT;       \
    __VA_ARGS__;                                                                 \
    assert_int_equal(write_page(&config, NULL, &page, &err), ATTN_ERR_ARGUMENT); \
    assert_string_equal(err.argument, name);                                     \
    assert_int_equal(page.bytes, 0);                                             \
  } while (0)

static void test_arguments(void **state) {
  (void)state;
  static struct page page = {.limit = 16000};
  attn_error err;
  REFUSED("kind", config.kind = -1);
  REFUSED("kind", config.kind = ATTN_TEMPLATE_QUESTION + 1);
  REFUSED("level", config.level = 4);
  REFUSED("level", config.level = -1);
  REFUSED("num_heads", config.kind = ATTN_TEMPLATE_HEADS, config.num_heads = 1);
  REFUSED("num_heads", config.kind = ATTN_TEMPLATE_HEADS, config.num_heads = 5);
  REFUSED("num_heads", config.num_heads = 2);
  REFUSED("tokens", config.tokens = "");
  REFUSED("tokens", config.tokens = "a b|c");
  REFUSED("tokens", config.kind = ATTN_TEMPLATE_QUESTION, config.question = "a?",
          config.answer = "a");
  REFUSED("answer", config.kind = ATTN_TEMPLATE_QUESTION, config.tokens = "a b",
          config.question = "a?");
  REFUSED("first_step", config.first_step = ATTN_STEP_MASK);
  REFUSED("first_step", config.first_step = ATTN_STEP_OTHER);
  REFUSED("last_step", config.last_step = -1);
  REFUSED("config", config.struct_size = 1);
}

static void test_failures(void **state) {
  (void)state;
  static struct page page = {.limit = 16000};
  attn_style style = {.struct_size = sizeof style, .language = 2};
  attn_error err;
  assert_int_equal(write_page(NULL, &style, &page, &err), ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "style");
  page.limit = 100;
  assert_int_equal(write_page(NULL, NULL, &page, &err), ATTN_ERR_FILE);
  calls_left = 0;
  attn_status status = write_page(NULL, NULL, &page, &err);
  calls_left = -1;
  assert_int_equal(status, ATTN_ERR_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults),
                                     cmocka_unit_test(test_arguments),
                                     cmocka_unit_test(test_failures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
