/* lesson.c -- a document becomes a lesson: by its snippets and its numbers, or by its numbers
 * alone. */
#include "error.h"
#include "judge.h"
#include "reading.h"
#include "steps.h"

/* A reading of the document, and what its check finds. */
struct candidate {
  attn_lesson *lesson;         /* NULL: none */
  int recurring, apart, lanes; /* as of the attn_left that it was read with */
  int64_t explained; /* numbers, less those that are wrong, and those that no slip computes twice */
  int64_t value;     /* the same, less those that are not read */
  int64_t errors;    /* numbers that are wrong or doubtful */
  int misread;       /* most of a step is wrong and unexplained, or one row is there twice */
};

/* Strays make no reading better than another. */
static int64_t unexplained(const attn_lesson *lesson) {
  return ((const struct attn_lesson_owner *)(const void *)lesson)->unexplained;
}

/* Is it one that computes the printed numbers of a step? */
static int computes(int32_t cause) {
  return cause != ATTN_CAUSE_NONE && cause != ATTN_CAUSE_UNKNOWN &&
         cause != ATTN_CAUSE_SOFTMAX_CELL && cause != ATTN_CAUSE_ARITHMETIC_CELL &&
         cause != ATTN_CAUSE_SIGN_SLIP && cause != ATTN_CAUSE_TRANSCRIPTION;
}

/* "The outputs are [1, 0] and [1, 0]": one row twice in a line, of a step without its other rows.
 */
static int repeats_row(const attn_step *s) {
  const attn_printing *p = s->printing;
  if (s->op == ATTN_OP_GIVEN || s->printings < 2 || s->exact.rows < 2) return 0;
  for (int32_t n = 0; n < s->printings; n++)
    if (p[n].rows > 1 || p[n].cols < 2 || p[n].row0 != p->row0 || p[n].line != p->line) return 0;
  return p[1].column > p->column; /* of "0.5 (1, 0) + .. = (0.5, 1)" the sum is second */
}

static attn_status judge(struct candidate *c, attn_error *err) {
  attn_check *check;
  attn_status status = attn_lesson_check(c->lesson, &check, err);
  if (status) return status;
  for (int32_t i = 0; i < c->lesson->examples; i++)
    for (int32_t n = 0; n < c->lesson->example[i].steps; n++)
      c->misread |= repeats_row(&c->lesson->example[i].step[n]);
  for (int32_t i = 0; i < check->examples; i++)
    for (int32_t n = 0; n < check->example[i].verdicts; n++) {
      const attn_step_verdict *v = &check->example[i].verdict[n];
      c->errors += attn_errors_of(v);
      c->explained += v->cells - (computes(v->cause) ? 1 : 2) * attn_errors_of(v);
      c->misread |= v->cause == ATTN_CAUSE_UNKNOWN && 2 * v->findings > v->cells;
    }
  c->value = c->explained - unexplained(c->lesson);
  attn_check_free(check);
  return ATTN_OK;
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

enum { GATHERED_BYTES = 1 << 17 }; /* of a document at most: it is read in several ways */

static int has_uneven_heads(const attn_lesson *lesson) {
  int32_t n = 0;
  while (n < lesson->examples && !attn_heads_are_uneven(&lesson->example[n])) n++;
  return n < lesson->examples;
}

static int is_read(const attn_lesson *lesson) {
  return lesson->incomplete ||
         (lesson->unreads == 0 && has_results(lesson) && !has_uneven_heads(lesson));
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

/* The document in one way. c->lesson NULL: it cannot be read so. */
static attn_status read_way(const struct attn_document *d, int snippets,
                            const struct attn_left *left, struct candidate *c, attn_error *err) {
  *c = (struct candidate){.recurring = left && left->recurring,
                          .apart = left && left->apart,
                          .lanes = left && left->lanes};
  attn_status status = attn_read_numbers(d, snippets, left, &c->lesson, err);
  if (status || !(status = judge(c, d->err))) return status;
  attn_lesson_free(c->lesson);
  c->lesson = NULL;
  return status;
}

enum { FEW = 8 }; /* numbers that may be in order by chance */

/* Does it explain more? Of a document that cannot be read otherwise, all; in order without a
 * mistake, and more than a few numbers. That vectors which recur are matrices is supposed; it is
 * dropped unless each of them is read. To leave a program aside explains nothing: as much is enough
 * to read its arrays; and to read more numbers of the text, of which some are wrong. */
static int is_better(const struct candidate *c, const struct candidate *best,
                     const struct attn_left *left) {
  if (!best->lesson)
    return is_read(c->lesson) && !c->misread &&
           (left->recurring || (!c->errors && c->explained > FEW));
  int is_supposed =
      left &&
      ((left->recurring && unexplained(c->lesson) > 0) ||
       (left->sequence && !is_read(c->lesson) && (c->errors || c->explained <= best->explained)));
  if (left && (c->misread || is_supposed || !c->lesson->examples)) return 0;
  if (left && !left->sequence && c->explained <= best->explained) return 0;
  int has_more = c->explained + c->errors > best->explained + best->errors;
  if (left && left->sequence && has_more && !is_read(best->lesson)) return c->value >= best->value;
  if (!left && has_idle_snippet(best->lesson)) return c->value >= best->value;
  return c->value > best->value;
}

/* The document in one more way; best: the better of both. */
static attn_status try_way(const struct attn_document *d, int snippets,
                           const struct attn_left *left, struct candidate *best) {
  struct candidate other;
  attn_status status = read_way(d, snippets, left, &other, NULL);
  if (status == ATTN_ERR_MEMORY) return attn_fail(d->err, status, NULL, "no memory for the lesson");
  if (!other.lesson) return ATTN_OK;
  if (is_better(&other, best, left)) {
    struct candidate better = other;
    other = *best;
    *best = better;
  }
  attn_lesson_free(other.lesson);
  return ATTN_OK;
}

static const struct attn_left RECURRING = {.recurring = 1}, APART = {.apart = 1},
                              LANES = {.lanes = 1}, SEQUENCE = {.sequence = 1},
                              IN_ORDER = {.sequence = 1, .in_order = 1};

/* What is left in the order of the text, with the queries, keys and values of one example of one
 * head. */
static attn_status read_rest(const struct attn_document *d, struct candidate *best) {
  const attn_lesson *lesson = best->lesson;
  if (lesson->examples != 1) return ATTN_OK;
  if (lesson->example->heads != 1 || lesson->example->orientation != ATTN_QUERIES_IN_ROWS)
    return ATTN_OK;
  const struct attn_left left = {.sequence = 1, .known = lesson->example};
  return try_way(d, 1, &left, best);
}

/* Where numbers are not read or not right, vectors that recur may be matrices, and vectors that
 * were taken for a matrix be none; numbers that are still not read are gathered by what they are
 * called. */
static attn_status read_left(const struct attn_document *d, struct candidate *best) {
  enum { LINES = 256 };
  int line[LINES];
  const struct attn_left *const ways[] = {&RECURRING, &APART};
  attn_status status = ATTN_OK;
  if (d->bytes > GATHERED_BYTES || best->lesson->incomplete) return ATTN_OK;
  if (!is_read(best->lesson)) status = try_way(d, 1, &LANES, best);
  for (int n = 0; n < 2 && !status && (!is_read(best->lesson) || best->errors); n++)
    status = try_way(d, 1, ways[n], best);
  struct attn_left left = lines_left(best->lesson, line, LINES);
  left.recurring = left.lines && best->recurring;
  left.apart = left.lines && best->apart;
  left.lanes = left.lines && best->lanes;
  if (!status && !is_read(best->lesson)) status = try_way(d, 1, &left, best);
  if (!status && is_read(best->lesson) && best->errors) status = try_way(d, 1, &SEQUENCE, best);
  if (!status && (!is_read(best->lesson) || 4 * best->errors > best->explained))
    status = try_way(d, 1, &IN_ORDER, best);
  if (!status && !is_read(best->lesson)) status = read_rest(d, best);
  return status;
}

/* Snippets are followed as programs, unless to read their arrays as blocks of the document explains
 * more. */
static attn_status read_plain(const struct attn_document *d, struct candidate *best) {
  if (!attn_has_programs(best->lesson)) return ATTN_OK;
  if (is_read(best->lesson) && !has_idle_snippet(best->lesson)) return ATTN_OK;
  return try_way(d, 0, NULL, best);
}

/* Where matrices of the first reading do not go together, vectors that recur may be matrices, or
 * the inputs be known by their order alone: if that explains the whole document. */
static attn_status read_first(const struct attn_document *d, struct candidate *best) {
  attn_error mistake;
  attn_status found = read_way(d, 1, NULL, best, &mistake), status = ATTN_OK;
  const struct attn_left *const ways[] = {&LANES, &RECURRING, &IN_ORDER};
  int is_tried = found == ATTN_ERR_FORMAT && d->bytes <= GATHERED_BYTES;
  for (int n = 0; n < 3 && is_tried && !status && !best->lesson; n++)
    status = try_way(d, 1, ways[n], best);
  if (status || best->lesson) return status;
  if (d->err) *d->err = mistake;
  return found;
}

static attn_status read_document(const struct attn_document *d, attn_lesson **lesson) {
  struct candidate best;
  attn_status status = read_first(d, &best);
  if (!status) status = read_plain(d, &best);
  if (!status) status = read_left(d, &best);
  if (!status) attn_doubt_contradicted(best.lesson);
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
