/* numbers.c -- a document read by its numbers. */
#include <string.h>

#include "cell.h"
#include "error.h"
#include "reading.h"
#include "snippet.h"
#include "steps.h"

/* What a reading needs besides its lesson. */
struct numbers {
  struct attn_scan scan;
  struct attn_pool *search;
  struct attn_priors *priors;
};

static attn_status no_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson");
}

/* Is everything in it understood? */
static int is_whole(const attn_lesson *lesson) {
  int whole = lesson->examples > 0 && lesson->unreads == 0;
  for (int32_t n = 0; n < lesson->examples; n++) whole &= !lesson->example[n].uncertain;
  return whole;
}

/* The line of a place, how long it is, and how many bytes are in front of the place. */
static const char *line_at(const struct attn_scan *scan, struct attn_source_position at,
                           size_t *bytes, size_t *before) {
  const char *line = attn_source_line(&scan->source, at.line, bytes);
  *before = 0;
  for (int n = 1; n < at.column && *before < *bytes; n++)
    attn_code_point(line, *before, *bytes, before);
  return line;
}

/* The misprint's line up to it. NULL: no memory. */
static char *text_before(const struct attn_scan *scan) {
  size_t bytes, before;
  const char *line = line_at(scan, scan->misprint.place, &bytes, &before);
  return attn_pool_text(scan->pool, line, before);
}

/* "W_Q = [1 0; 0 one]": is it in a list that is called a step? */
static int is_in_list_of_step(const struct attn_scan *scan) {
  char *name = text_before(scan);
  if (!name || !strpbrk(name, "=:")) return 0;
  *strpbrk(name, "=:") = 0;
  return attn_label_step(name) >= 0;
}

static int has_cell_at(const attn_printing *p, struct attn_source_position at) {
  for (int n = 0; n < p->rows * p->cols; n++)
    if (p->cells[n].line == at.line && p->cells[n].column == at.column) return 1;
  return 0;
}

/* Is it a cell of a table below the name of a step, and nothing else? */
static int is_in_table_of_step(const struct attn_scan *scan) {
  for (int n = 0; n < scan->blocks; n++) {
    const struct attn_block *b = &scan->block[n];
    if (has_cell_at(&b->reading[0], scan->misprint.place))
      return !*b->name && b->captions && attn_label_step(b->caption[b->captions - 1]) >= 0;
  }
  return 0;
}

static int is_in_step(const struct attn_scan *scan) {
  return is_in_list_of_step(scan) || is_in_table_of_step(scan);
}

/* A number is missing at a misprint, or is more than its row has. */
static attn_status list_misprint(const struct attn_scan *scan, attn_lesson *lesson,
                                 attn_error *err) {
  const struct attn_source_position at = scan->misprint.place;
  const attn_cell cell = {.line = at.line, .column = at.column};
  if (!scan->misprint.message || scan->misprint.may_be_meant) return ATTN_OK;
  char *name = text_before(scan);
  if (!name || attn_add_unread(scan->pool, lesson, &cell, 1, 1, name)) return no_memory(err);
  return ATTN_OK;
}

/* Is nothing at all written there: "| 0 | 1 |   |"? */
static int is_empty(const struct attn_scan *scan, const attn_cell *cell) {
  const struct attn_source_position place = {.line = cell->line, .column = cell->column};
  size_t bytes, at;
  const char *line = line_at(scan, place, &bytes, &at);
  return cell->decimals != ATTN_CELL_OPEN && at < bytes && strchr(" \t|,", line[at]);
}

/* The only cell of a matrix without a number. NULL: it has several, or none. */
static const attn_cell *empty_cell(const struct attn_scan *scan, const attn_printing *p) {
  const attn_cell *found = NULL;
  for (int n = 0; n < p->rows * p->cols; n++) {
    if (p->cells[n].kind != ATTN_CELL_BLANK) continue;
    if (found) return NULL;
    found = &p->cells[n];
  }
  if (!found || !found->line || p->rows < 2 || p->cols < 2) return NULL;
  return is_empty(scan, found) ? found : NULL;
}

/* Inputs and their weights have a number in each cell. */
static attn_status check_inputs(const struct attn_scan *scan, const attn_example *e,
                                attn_error *err) {
  for (int32_t n = 0; n < e->steps; n++) {
    const attn_step *s = &e->step[n];
    if (s->op != ATTN_OP_GIVEN || s->name > ATTN_STEP_W_O || !s->printings) continue;
    const attn_cell *cell = empty_cell(scan, s->printing);
    if (cell)
      return attn_fail_at(err, ATTN_ERR_FORMAT, cell->line, cell->column,
                          "this cell of %s has no number: write one, or ? if it is unknown",
                          s->symbol);
  }
  return ATTN_OK;
}

static attn_status find_steps(struct numbers *n, struct attn_lesson_owner *o, attn_error *err) {
  attn_lesson *lesson = &o->lesson;
  struct attn_scan *scan = &n->scan;
  const struct attn_misprint *misprint = &scan->misprint;
  struct attn_reading reading = {.columns = 0};
  n->priors = attn_pool_take(n->search, ((size_t)scan->blocks + 1) * sizeof *n->priors);
  struct attn_relations *r = attn_relations_new(n->search, scan->patterns);
  if (!n->priors || !r) return no_memory(err);
  for (int i = 0; i < scan->blocks; i++) attn_block_priors(scan, i, &n->priors[i]);
  if (scan->shared->failed) return no_memory(err);
  attn_status status = attn_assign(scan, r, n->priors, &reading);
  lesson->incomplete = reading.exhausted;
  if (!status) status = attn_find_mistakes(scan, &reading, n->priors, err);
  if (!status) status = attn_build_lesson(scan, r, &reading, n->priors, scan->pool, lesson, err);
  if (!status) status = attn_drop_echoes(scan, lesson, err);
  if (!status) status = attn_attach_workings(scan, lesson, scan->pool, err);
  if (!status) status = attn_account_for(scan, n->priors, o, err);
  for (int32_t i = 0; i < lesson->examples && !status; i++)
    status = check_inputs(scan, &lesson->example[i], err);
  if (!status && misprint->message &&
      (!is_whole(lesson) || (!misprint->may_be_meant && is_in_step(scan))))
    return attn_scan_fail_misprint(scan);
  if (!status) status = list_misprint(scan, lesson, err);
  int failed = attn_patterns_failed(scan->patterns) || scan->shared->failed;
  return status || !failed ? status : no_memory(err);
}

/* Those of snippets are in between. */
static void sort_examples(attn_lesson *lesson) {
  for (int n = 1; n < lesson->examples; n++) {
    attn_example moved = lesson->example[n];
    int at = n;
    for (; at > 0 && lesson->example[at - 1].line > moved.line; at--)
      lesson->example[at] = lesson->example[at - 1];
    lesson->example[at] = moved;
  }
}

static attn_status read_into(struct numbers *n, struct attn_lesson_owner *o,
                             const struct attn_document *d, int snippets, attn_error *err) {
  attn_lesson *lesson = &o->lesson;
  const char *file = d->file, *name = file ? file : "-";
  lesson->file = attn_pool_text(n->scan.pool, name, strlen(name));
  if (!lesson->file) return no_memory(err);
  attn_status status = attn_scan_open(&n->scan, d->text, d->bytes, &file);
  lesson->japanese = n->scan.japanese;
  if (!status && snippets) status = attn_add_snippets(&n->scan, lesson);
  if (!status) status = attn_scan_document(&n->scan, file);
  int is_same = n->scan.left && !n->scan.regrouped; /* as the first reading */
  if (!status && !is_same) status = find_steps(n, o, err);
  sort_examples(lesson);
  return status;
}

attn_status attn_read_numbers(const struct attn_document *d, int snippets,
                              const struct attn_left *left, attn_lesson **lesson, attn_error *err) {
  struct attn_pool *pool = attn_pool_new();
  struct attn_lesson_owner *o = pool ? attn_pool_take(pool, sizeof *o) : NULL;
  struct numbers n = {.scan = {.pool = pool,
                               .patterns = d->patterns,
                               .shared = &d->shared[snippets],
                               .left = left,
                               .err = err}};
  attn_status status = ATTN_ERR_MEMORY;
  *lesson = NULL;
  if (o) {
    o->memory = pool;
    n.search = d->search;
    attn_pool_clear(n.search);
    status = read_into(&n, o, d, snippets, err);
  }
  if (!status) return *lesson = &o->lesson, ATTN_OK;
  attn_pool_free(pool);
  return status == ATTN_ERR_MEMORY ? no_memory(err) : status;
}
