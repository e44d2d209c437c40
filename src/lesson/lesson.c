/* lesson.c -- a document becomes a lesson: by its snippets and its numbers, or by its numbers
 * alone. */
#include "error.h"
#include "reading.h"
#include "steps.h"

/* A reading of the document. What its check finds is computed once, when it is compared. */
struct candidate {
  attn_lesson *lesson; /* NULL: none */
  int is_judged;
  int64_t explained; /* numbers, less those that are wrong, and those that no slip computes twice */
  int64_t value;     /* the same, less those that are not read */
  int64_t errors;    /* numbers that are wrong or doubtful */
  int misread;       /* most of a step is wrong, and nothing explains it: it was read wrongly */
};

/* Strays make no reading better than another. */
static int64_t unexplained(const attn_lesson *lesson) {
  return ((const struct attn_lesson_owner *)(const void *)lesson)->unexplained;
}

/* Those of a step; not those that follow from an earlier one. */
static int64_t errors(const attn_step_verdict *v) {
  int64_t count = 0;
  for (int32_t n = 0; n < v->findings; n++) count += v->finding[n].judgement != ATTN_JUDGED_CARRIED;
  return count;
}

/* Is it one that computes the printed numbers of a step? */
static int computes(int32_t cause) {
  return cause != ATTN_CAUSE_NONE && cause != ATTN_CAUSE_UNKNOWN &&
         cause != ATTN_CAUSE_SOFTMAX_CELL && cause != ATTN_CAUSE_ARITHMETIC_CELL &&
         cause != ATTN_CAUSE_SIGN_SLIP && cause != ATTN_CAUSE_TRANSCRIPTION;
}

static attn_status judge(struct candidate *c, attn_error *err) {
  attn_check *check;
  if (c->is_judged) return ATTN_OK;
  attn_status status = attn_lesson_check(c->lesson, &check, err);
  if (status) return status;
  c->is_judged = 1;
  c->explained = c->errors = 0;
  for (int32_t i = 0; i < check->examples; i++)
    for (int32_t n = 0; n < check->example[i].verdicts; n++) {
      const attn_step_verdict *v = &check->example[i].verdict[n];
      c->errors += errors(v);
      c->explained += v->cells - (computes(v->cause) ? 1 : 2) * errors(v);
      c->misread |= v->cause == ATTN_CAUSE_UNKNOWN && 2 * v->findings > v->cells;
    }
  c->value = c->explained - unexplained(c->lesson);
  attn_check_free(check);
  return ATTN_OK;
}

/* Keeps the one that explains more, the first of equals; frees the other. */
static attn_status choose(struct candidate *best, struct candidate *other, attn_error *err) {
  attn_status status = judge(best, err);
  if (!status) status = judge(other, err);
  if (!status && other->value > best->value) {
    struct candidate better = *other;
    *other = *best;
    *best = better;
  }
  attn_lesson_free(other->lesson);
  return status;
}

static int has_snippets(const attn_lesson *lesson) {
  for (int32_t n = 0; n < lesson->examples; n++)
    if (lesson->example[n].from_python) return 1;
  return 0;
}

static int prints_result(const attn_example *e) {
  for (int32_t s = 0; s < e->steps; s++)
    if (e->step[s].op != ATTN_OP_GIVEN && e->step[s].printings) return 1;
  return 0;
}

static int has_results(const attn_lesson *lesson) {
  int32_t n = 0;
  while (n < lesson->examples && !prints_result(&lesson->example[n])) n++;
  return n < lesson->examples;
}

/* The lines that the document has left; of one without results, all. */
static struct attn_left lines_left(const attn_lesson *lesson, int *line, int most) {
  struct attn_left left = {.line = line};
  for (int32_t n = 0; has_results(lesson) && n < lesson->unreads && left.lines < most; n++)
    line[left.lines++] = lesson->unread[n].line;
  return left;
}

enum { GATHERED_BYTES = 1 << 17 }; /* of a document at most: it is read up to seven times */

static int has_uneven_heads(const attn_lesson *lesson) {
  int32_t n = 0;
  while (n < lesson->examples && !attn_heads_are_uneven(&lesson->example[n])) n++;
  return n < lesson->examples;
}

static int is_read(const attn_lesson *lesson) {
  return lesson->incomplete ||
         (lesson->unreads == 0 && has_results(lesson) && !has_uneven_heads(lesson));
}

/* The document once more; lesson NULL: it cannot be read so. */
static attn_status read_again(const struct attn_document *d, int snippets,
                              const struct attn_left *left, attn_lesson **lesson) {
  attn_status status = attn_read_numbers(d, snippets, left, lesson, NULL);
  if (status != ATTN_ERR_MEMORY) return ATTN_OK;
  return attn_fail(d->err, status, NULL, "no memory for the lesson");
}

/* With numbers gathered by what they are called; lesson NULL: that explains no more of them. That
 * vectors which recur are matrices is supposed; it is dropped unless each of them is read. */
static attn_status read_gathered(const struct attn_document *d, const struct attn_left *left,
                                 struct candidate *best, struct candidate *c) {
  attn_status status = read_again(d, 1, left, &c->lesson);
  if (status || !c->lesson) return status;
  status = judge(c, d->err);
  if (!status) status = judge(best, d->err);
  int is_supposed = left->recurring && unexplained(c->lesson) > 0;
  if (!status && !c->misread && !is_supposed && c->lesson->examples &&
      c->explained > best->explained)
    return ATTN_OK;
  attn_lesson_free(c->lesson);
  c->lesson = NULL;
  return status;
}

/* The document in one more way; best: the better of both. */
static attn_status try_way(const struct attn_document *d, const struct attn_left *left,
                           struct candidate *best) {
  struct candidate other = {.lesson = NULL};
  attn_status status = read_gathered(d, left, best, &other);
  return status || !other.lesson ? status : choose(best, &other, d->err);
}

/* Where numbers are not read or not right, vectors that recur may be matrices, and vectors that
 * were taken for a matrix be none. */
static attn_status read_recurring(const struct attn_document *d, struct candidate *best) {
  static const struct attn_left left[] = {{.recurring = 1}, {.apart = 1}};
  attn_status status = judge(best, d->err);
  for (int n = 0; n < 2 && !status && !best->lesson->incomplete; n++) {
    if (is_read(best->lesson) && !best->errors) break;
    status = try_way(d, &left[n], best);
    if (!status) status = judge(best, d->err);
  }
  return status;
}

/* Numbers that are not read are gathered, those of the lines that were left or all, and lines with
 * several taken in both ways: the reading that explains most is right. */
static attn_status read_left(const struct attn_document *d, struct candidate *best) {
  enum { LINES = 256, WAYS = 4 };
  int line[LINES];
  if (d->bytes > GATHERED_BYTES) return ATTN_OK;
  attn_status status = read_recurring(d, best);
  struct attn_left left = lines_left(best->lesson, line, LINES);
  const int lines = left.lines, ways = lines ? WAYS : WAYS / 2;
  for (int n = 0; n < ways && !status && !is_read(best->lesson); n++) {
    left.lines = n < WAYS / 2 ? lines : 0;
    left.whole_lines = n % 2;
    status = try_way(d, &left, best);
  }
  return status;
}

/* Programs to which nothing printed belongs, among numbers that are printed. */
static int has_idle_snippet(const attn_lesson *lesson) {
  int idle = 0, others = 0;
  for (int32_t n = 0; n < lesson->examples; n++)
    if (lesson->example[n].from_python)
      idle |= !prints_result(&lesson->example[n]);
    else
      others |= prints_result(&lesson->example[n]);
  return idle && others;
}

/* Snippets are followed as programs, unless to read their arrays as blocks of the document explains
 * more. */
static attn_status read_plain(const struct attn_document *d, struct candidate *best) {
  struct candidate plain = {.lesson = NULL};
  attn_status status = judge(best, d->err);
  int is_whole = is_read(best->lesson) && !has_idle_snippet(best->lesson);
  if (status || is_whole) return status;
  status = read_again(d, 0, NULL, &plain.lesson);
  return status || !plain.lesson ? status : choose(best, &plain, d->err);
}

/* Where matrices of the first reading do not go together, vectors that recur may be matrices: if
 * that explains the whole document. Else lesson is NULL. */
static attn_status read_otherwise(const struct attn_document *d, struct candidate *best) {
  static const struct attn_left recurring = {.recurring = 1};
  attn_status status =
      d->bytes > GATHERED_BYTES ? ATTN_OK : read_again(d, 1, &recurring, &best->lesson);
  if (status || !best->lesson) return status;
  status = judge(best, d->err);
  if (!status && is_read(best->lesson) && !best->misread) return ATTN_OK;
  attn_lesson_free(best->lesson);
  best->lesson = NULL;
  return status;
}

static attn_status read_first(const struct attn_document *d, struct candidate *best) {
  attn_error mistake;
  attn_status found = attn_read_numbers(d, 1, NULL, &best->lesson, &mistake);
  attn_status status = found == ATTN_ERR_FORMAT ? read_otherwise(d, best) : ATTN_OK;
  if (status || best->lesson) return status;
  if (d->err) *d->err = mistake;
  return found;
}

static attn_status read_document(const struct attn_document *d, attn_lesson **lesson) {
  struct candidate best = {.lesson = NULL};
  attn_status status = read_first(d, &best);
  if (!status && has_snippets(best.lesson)) status = read_plain(d, &best);
  if (!status) status = read_left(d, &best);
  if (!status) return *lesson = best.lesson, ATTN_OK;
  attn_lesson_free(best.lesson);
  return status;
}

attn_status attn_lesson_read(const char *text, size_t bytes, const char *file, attn_lesson **lesson,
                             attn_error *err) {
  if (lesson) *lesson = NULL;
  if (!lesson || (!text && bytes))
    return attn_fail(err, ATTN_ERR_ARGUMENT, lesson ? "text" : "lesson", "must not be NULL");
  struct attn_pool *pool = attn_pool_new();
  struct attn_shared_text shared[2] = {{.pool = pool}, {.pool = pool}};
  const struct attn_document d = {text,  bytes, file, err, attn_patterns_new(), attn_pool_new(),
                                  shared};
  attn_status status = pool && d.patterns && d.search
                           ? read_document(&d, lesson)
                           : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson");
  attn_patterns_free(d.patterns);
  attn_pool_free(d.search);
  attn_pool_free(pool);
  return status;
}

void attn_lesson_free(attn_lesson *lesson) {
  if (lesson) attn_pool_free(((struct attn_lesson_owner *)(void *)lesson)->memory);
}
