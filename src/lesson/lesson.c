/* lesson.c -- a document becomes a lesson. */
#include <string.h>

#include "error.h"
#include "python_graph.h"

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
  attn_error *err;
  struct attn_py_scope scope;
};

static attn_status follow(struct lesson_owner *w, const struct attn_range *range) {
  attn_lesson *lesson = &w->o->lesson;
  struct attn_assembly a = {
      .document = w->document, .pool = w->o->memory, .err = w->err, .scope = &w->scope};
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

attn_status attn_lesson_read(const char *text, size_t bytes, const char *file, attn_lesson **lesson,
                             attn_error *err) {
  struct attn_document *document = NULL;
  if (lesson) *lesson = NULL;
  if (!lesson || (!text && bytes))
    return attn_fail(err, ATTN_ERR_ARGUMENT, lesson ? "text" : "lesson", "must not be NULL");
  attn_status status = attn_document_read(text, bytes, &document, err);
  if (status) return status;
  status = attn_graph_assemble(document, file, lesson, err);
  attn_document_free(document);
  return status;
}

void attn_lesson_free(attn_lesson *lesson) {
  if (lesson) attn_pool_free(((struct attn_lesson_owner *)lesson)->memory);
}
