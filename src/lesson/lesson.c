/* lesson.c -- a document becomes a lesson: by its snippets and its numbers, or by its numbers
 * alone. */
#include "error.h"
#include "reading.h"
#include "steps.h"

/* Strays make no reading better than another. */
static int64_t unexplained(const attn_lesson *lesson) {
  return ((const struct attn_lesson_owner *)(const void *)lesson)->unexplained;
}

/* How many numbers a reading explains, less those that it leaves open: unread, or wrong. */
static attn_status value_of(const attn_lesson *lesson, int64_t *value, attn_error *err) {
  attn_check *check;
  attn_status status = attn_lesson_check(lesson, &check, err);
  *value = -unexplained(lesson);
  if (status) return status;
  for (int32_t i = 0; i < check->examples; i++)
    for (int32_t n = 0; n < check->example[i].verdicts; n++) {
      const attn_step_verdict *v = &check->example[i].verdict[n];
      *value += v->cells - 2 * (int64_t)v->findings;
    }
  attn_check_free(check);
  return ATTN_OK;
}

/* Snippets are followed as programs, unless to read their arrays as blocks of the document explains
 * more. */
static attn_status choose(attn_lesson **followed, attn_lesson **plain, attn_error *err) {
  int64_t value = 0, other = 0;
  attn_status status = value_of(*followed, &value, err);
  if (!status) status = value_of(*plain, &other, err);
  if (value >= other) return status;
  attn_lesson *better = *plain;
  *plain = *followed;
  *followed = better;
  return status;
}

static int has_snippets(const attn_lesson *lesson) {
  for (int32_t n = 0; n < lesson->examples; n++)
    if (lesson->example[n].from_python) return 1;
  return 0;
}

attn_status attn_lesson_read(const char *text, size_t bytes, const char *file, attn_lesson **lesson,
                             attn_error *err) {
  attn_lesson *plain = NULL;
  if (lesson) *lesson = NULL;
  if (!lesson || (!text && bytes))
    return attn_fail(err, ATTN_ERR_ARGUMENT, lesson ? "text" : "lesson", "must not be NULL");
  attn_status status = attn_read_numbers(text, bytes, file, 1, lesson, err);
  if (!status && has_snippets(*lesson)) {
    status = attn_read_numbers(text, bytes, file, 0, &plain, err);
    if (status == ATTN_ERR_FORMAT) status = ATTN_OK;
    if (!status && plain) status = choose(lesson, &plain, err);
  }
  attn_lesson_free(plain);
  if (!status) return ATTN_OK;
  attn_lesson_free(*lesson);
  *lesson = NULL;
  return status;
}

void attn_lesson_free(attn_lesson *lesson) {
  if (lesson) attn_pool_free(((struct attn_lesson_owner *)(void *)lesson)->memory);
}
