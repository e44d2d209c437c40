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

/* What attn_lesson_read is called with. */
struct document {
  const char *text;
  size_t bytes;
  const char *file;
  attn_error *err;
};

static int has_results(const attn_lesson *lesson) {
  for (int32_t i = 0; i < lesson->examples; i++)
    for (int32_t s = 0; s < lesson->example[i].steps; s++)
      if (lesson->example[i].step[s].op != ATTN_OP_GIVEN && lesson->example[i].step[s].printings)
        return 1;
  return 0;
}

/* The lines that the document has left; of one without results, all. */
static struct attn_left lines_left(const attn_lesson *lesson, int *line, int most) {
  struct attn_left left = {.line = line};
  for (int32_t n = 0; has_results(lesson) && n < lesson->unreads && left.lines < most; n++)
    line[left.lines++] = lesson->unread[n].line;
  return left;
}

/* Is most of a step wrong, and nothing explains it? Then it was read wrongly. */
static attn_status is_misread(const attn_lesson *lesson, int *misread, attn_error *err) {
  attn_check *check;
  attn_status status = attn_lesson_check(lesson, &check, err);
  *misread = 0;
  if (status) return status;
  for (int32_t i = 0; i < check->examples; i++)
    for (int32_t n = 0; n < check->example[i].verdicts; n++) {
      const attn_step_verdict *v = &check->example[i].verdict[n];
      *misread |= v->cause == ATTN_CAUSE_UNKNOWN && 2 * v->findings > v->cells;
    }
  attn_check_free(check);
  return ATTN_OK;
}

enum { GATHERED_BYTES = 1 << 17 }; /* of a document at most: it is read up to five times */

static int is_read(const attn_lesson *lesson) {
  return lesson->incomplete || (lesson->unreads == 0 && has_results(lesson));
}

/* The document once more, with numbers gathered by what they are called; NULL: not so. */
static attn_status read_gathered(const struct document *d, const struct attn_left *left,
                                 attn_lesson **lesson) {
  int misread = 0;
  attn_status status = attn_read_numbers(d->text, d->bytes, d->file, 1, left, lesson, NULL);
  if (status == ATTN_ERR_FORMAT) return ATTN_OK;
  if (status) return attn_fail(d->err, status, NULL, "no memory for the lesson");
  status = is_misread(*lesson, &misread, d->err);
  if (!status && !misread && (*lesson)->examples) return ATTN_OK;
  attn_lesson_free(*lesson);
  *lesson = NULL;
  return status;
}

/* Numbers that are not read are gathered, those of the lines that were left or all, and lines with
 * several taken in both ways: the reading that explains most is right. */
static attn_status read_left(const struct document *d, attn_lesson **lesson) {
  enum { LINES = 256, WAYS = 4 };
  int line[LINES];
  struct attn_left left = lines_left(*lesson, line, LINES);
  const int lines = left.lines, ways = lines ? WAYS : WAYS / 2;
  attn_status status = ATTN_OK;
  if (d->bytes > GATHERED_BYTES) return ATTN_OK;
  for (int n = 0; n < ways && !status && !is_read(*lesson); n++) {
    attn_lesson *other = NULL;
    left.lines = n < WAYS / 2 ? lines : 0;
    left.whole_lines = n % 2;
    status = read_gathered(d, &left, &other);
    if (!status && other) status = choose(lesson, &other, d->err);
    attn_lesson_free(other);
  }
  return status;
}

attn_status attn_lesson_read(const char *text, size_t bytes, const char *file, attn_lesson **lesson,
                             attn_error *err) {
  attn_lesson *plain = NULL;
  if (lesson) *lesson = NULL;
  if (!lesson || (!text && bytes))
    return attn_fail(err, ATTN_ERR_ARGUMENT, lesson ? "text" : "lesson", "must not be NULL");
  attn_status status = attn_read_numbers(text, bytes, file, 1, NULL, lesson, err);
  if (!status && has_snippets(*lesson)) {
    status = attn_read_numbers(text, bytes, file, 0, NULL, &plain, err);
    if (status == ATTN_ERR_FORMAT) status = ATTN_OK;
    if (!status && plain) status = choose(lesson, &plain, err);
  }
  attn_lesson_free(plain);
  const struct document d = {text, bytes, file, err};
  if (!status) status = read_left(&d, lesson);
  if (!status) return ATTN_OK;
  attn_lesson_free(*lesson);
  *lesson = NULL;
  return status;
}

void attn_lesson_free(attn_lesson *lesson) {
  if (lesson) attn_pool_free(((struct attn_lesson_owner *)(void *)lesson)->memory);
}
