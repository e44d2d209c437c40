/* lesson.c -- a document becomes a lesson. */
#include <string.h>

#include "error.h"
#include "python_graph.h"
#include "reading.h"

const char *attn_step_label(int32_t name) {
  static const char *const LABELS[] = {
      "X",       "Y",         "W_Q",    "W_K",    "W_V",       "W_O",
      "W_A",     "U_A",       "V_A",    "mask",   "Q",         "K",
      "V",       "positions", "scores", "scaled", "masked",    "exponentials",
      "row_sum", "weights",   "output", "concat", "projected", "other"};
  return name >= 0 && name <= ATTN_STEP_OTHER ? LABELS[name] : "other";
}

int32_t attn_step_find(const char *name) {
  int found = attn_meaning_of(name).name;
  return found >= 0 && found < ATTN_STEP_OTHER ? found : -1;
}

static int is_computed(const attn_example *ex) {
  for (int i = 0; i < ex->steps; i++)
    if (ex->step[i].op != ATTN_OP_GIVEN) return 1;
  return 0;
}

static attn_status follow_prose(struct attn_assembly *a, attn_example *ex) {
  attn_read_clues(a);
  attn_status status = attn_collect(a);
  if (status) return status;
  attn_settle_roles(a);
  status = attn_choose_reading(a, ex);
  if (!status) status = attn_name_tokens(a, ex);
  ex->one_based = !a->clues.count_zero;
  ex->unfollowed = a->clues.unfollowed;
  return status;
}

struct lesson_owner {
  struct attn_lesson_owner *o;
  const struct attn_document *document;
  int scaled; /* the document mentions the scale */
  attn_error *err;
  struct attn_py_scope scope;
};

static attn_status follow(struct lesson_owner *w, const struct attn_range *range) {
  attn_lesson *lesson = &w->o->lesson;
  struct attn_assembly a = {
      .document = w->document, .pool = w->o->memory, .err = w->err, .scope = &w->scope};
  a.document_scaled = w->scaled;
  attn_example ex = {.heads = 1};
  a.range = *range;
  a.heads = 1;
  ex.line = range->line;
  ex.from_python = range->block != 0;
  ex.title = attn_pool_text(a.pool, range->title, strlen(range->title));
  if (!ex.title) return attn_no_memory(&a);
  attn_status status = range->block
                           ? attn_follow_snippet(&a, lesson->example, lesson->examples, &ex)
                           : follow_prose(&a, &ex);
  if (status || !ex.steps || (!range->block && !is_computed(&ex))) return status;
  if (attn_pool_grow(a.pool, (void **)&lesson->example, (size_t)lesson->examples,
                     sizeof *lesson->example))
    return attn_no_memory(&a);
  lesson->example[lesson->examples++] = ex;
  return ATTN_OK;
}

/* Snippets of givens alone were kept while a later one could use their variables. */
static void drop_idle(attn_lesson *lesson) {
  int kept = 0;
  for (int i = 0; i < lesson->examples; i++)
    if (is_computed(&lesson->example[i])) lesson->example[kept++] = lesson->example[i];
  lesson->examples = kept;
}

static attn_status fill(struct lesson_owner *w, const char *file) {
  struct attn_range *ranges = NULL;
  int count = 0;
  attn_lesson *lesson = &w->o->lesson;
  lesson->japanese = w->document->japanese;
  w->scaled = attn_mentions_scale(w->document);
  lesson->file = attn_pool_text(w->o->memory, file ? file : "-", strlen(file ? file : "-"));
  if (!lesson->file) return attn_fail(w->err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson");
  attn_status status = attn_split_examples(w->document, w->o->memory, &ranges, &count, w->err);
  for (int i = 0; i < count && !status; i++) status = follow(w, &ranges[i]);
  if (!status) drop_idle(lesson);
  return status;
}

attn_status attn_graph_assemble(const struct attn_document *document, const char *file,
                                attn_lesson **lesson, attn_error *err) {
  *lesson = NULL;
  struct attn_pool *pool = attn_pool_new();
  struct attn_lesson_owner *o = pool ? attn_pool_take(pool, sizeof *o) : NULL;
  attn_status status;
  if (!o) {
    attn_pool_free(pool);
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson");
  }
  o->memory = pool;
  struct lesson_owner w = {.o = o, .document = document, .err = err};
  status = fill(&w, file);
  if (status)
    attn_pool_free(pool);
  else
    *lesson = &o->lesson;
  return status;
}

/* ---- Two readings of a document: by names, and by numbers ---- */

static attn_status read_by_names(const char *text, size_t bytes, const char *file,
                                 attn_lesson **lesson, attn_error *err) {
  struct attn_document *document = NULL;
  attn_status status = attn_document_read(text, bytes, &document, err);
  if (!status) status = attn_graph_assemble(document, file, lesson, err);
  attn_document_free(document);
  return status;
}

/* How well a step explains what is printed of it, in numbers. Several wrong ones are one slip, or
 * one wrong reading. */
static double value_of_step(const attn_step_verdict *v) {
  static const double VALUE[] = {0, 1, 0.3, 0.9, 0}; /* by attn_judgement */
  double value = v->cells - v->findings, wrong = 0;
  for (int32_t f = 0; f < v->findings; f++) {
    value += VALUE[v->finding[f].judgement];
    wrong += v->finding[f].judgement == ATTN_JUDGED_WRONG;
  }
  return value - (wrong > 3 ? 2.4 : 0.8 * wrong);
}

static attn_status value_of(const attn_lesson *lesson, double *value, int *judgement,
                            attn_error *err) {
  attn_check *check;
  *value = 0;
  attn_status status = attn_lesson_check(lesson, &check, err);
  for (int32_t i = 0; !status && i < check->examples; i++)
    for (int32_t n = 0; n < check->example[i].verdicts; n++)
      *value += value_of_step(&check->example[i].verdict[n]);
  for (int32_t n = 0; n < lesson->unreads; n++)
    *value -= lesson->unread[n].rows * lesson->unread[n].cols;
  if (!status) *judgement = check->judgement;
  if (!status) attn_check_free(check);
  return status;
}

static int computed_values(const attn_example *e) {
  int count = 0;
  for (int32_t s = 0; s < e->steps; s++)
    for (int32_t p = 0; e->step[s].op != ATTN_OP_GIVEN && p < e->step[s].printings; p++)
      count += e->step[s].printing[p].rows * e->step[s].printing[p].cols;
  return count;
}

/* Is everything in it understood? Three values that fit may be chance. */
static int is_whole(const attn_lesson *lesson) {
  int computed = 0, whole = lesson && lesson->examples && !lesson->unreads;
  for (int32_t n = 0; whole && n < lesson->examples; n++) {
    computed += computed_values(&lesson->example[n]);
    whole = !lesson->example[n].uncertain;
  }
  return whole && computed > 3;
}

/* Does a reading find a slip by name that explains a whole step? */
static int accuses(const attn_lesson *lesson) {
  for (int32_t n = 0; lesson && n < lesson->examples; n++)
    for (int32_t s = 0; s < lesson->example[n].steps; s++)
      if (lesson->example[n].step[s].suspected) return 1;
  return 0;
}

/* A slip that the numbers show costs a reading no more than the words that excuse it. */
enum { SLIP_VALUE = 4 };

static attn_status prefer(attn_lesson **by_names, attn_lesson **by_numbers, attn_lesson **best,
                          attn_error *err) {
  double names = 0, numbers = 0;
  int verdict = ATTN_JUDGED_NOT_GIVEN, other;
  attn_status status = *by_names ? value_of(*by_names, &names, &verdict, err) : ATTN_OK;
  if (!status && *by_numbers) status = value_of(*by_numbers, &numbers, &other, err);
  if (verdict == ATTN_JUDGED_OK && accuses(*by_numbers) && is_whole(*by_numbers))
    numbers += SLIP_VALUE;
  int by_value = *by_numbers && numbers > names;
  attn_lesson **better = by_value || !*by_names ? by_numbers : by_names;
  *best = *better;
  *better = NULL;
  return status;
}

/* Both readings with what they leave unread; NULL where there is none. */
struct two_readings {
  attn_lesson *by_names, *by_numbers;
  struct attn_numbers *numbers;
};

static attn_status list_unread(const struct two_readings *t, attn_lesson *lesson, attn_error *err) {
  struct attn_lesson_owner *o = (struct attn_lesson_owner *)lesson;
  return t->numbers && o ? attn_list_unread(t->numbers, lesson, o->memory, err) : ATTN_OK;
}

/* Of the reading that was chosen: strays make no reading better than another. */
static attn_status list_strays(const struct two_readings *t, attn_lesson *lesson, attn_error *err) {
  struct attn_lesson_owner *o = (struct attn_lesson_owner *)lesson;
  return t->numbers ? attn_list_strays(t->numbers, lesson, o->memory, err) : ATTN_OK;
}

/* The error is that of the reading by names: its messages know more. */
static attn_status read_twice(const char *text, size_t bytes, const char *file,
                              struct two_readings *t, attn_error *err) {
  attn_error ignored;
  attn_status names = read_by_names(text, bytes, file, &t->by_names, err);
  if (names == ATTN_ERR_MEMORY) return names;
  attn_status numbers = attn_read_numbers(text, bytes, file, &t->numbers, &t->by_numbers, &ignored);
  if (numbers == ATTN_ERR_MEMORY) return *err = ignored, numbers;
  attn_status status = list_unread(t, t->by_numbers, &ignored);
  if (status) return *err = ignored, status;
  if (names) return is_whole(t->by_numbers) ? ATTN_OK : names;
  return list_unread(t, t->by_names, err);
}

attn_status attn_lesson_read(const char *text, size_t bytes, const char *file, attn_lesson **lesson,
                             attn_error *err) {
  struct two_readings t = {.numbers = NULL};
  attn_error problem = {.message = ""};
  if (lesson) *lesson = NULL;
  if (!lesson || (!text && bytes))
    return attn_fail(err, ATTN_ERR_ARGUMENT, lesson ? "text" : "lesson", "must not be NULL");
  attn_status status = read_twice(text, bytes, file, &t, &problem);
  if (!status) status = prefer(&t.by_names, &t.by_numbers, lesson, &problem);
  if (!status) status = list_strays(&t, *lesson, &problem);
  attn_numbers_free(t.numbers);
  attn_lesson_free(t.by_names);
  attn_lesson_free(t.by_numbers);
  if (status) {
    if (err) *err = problem;
    attn_lesson_free(*lesson);
    *lesson = NULL;
  }
  return status;
}

void attn_lesson_free(attn_lesson *lesson) {
  if (lesson) attn_pool_free(((struct attn_lesson_owner *)lesson)->memory);
}
