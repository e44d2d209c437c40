/* numbers.c -- a document read by its numbers. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "graph.h"
#include "reading.h"

struct attn_numbers {
  struct attn_scan scan;
  struct attn_pool *relations; /* what the search needs */
  struct attn_priors *priors;
};

void attn_numbers_free(struct attn_numbers *numbers) {
  if (!numbers) return;
  attn_patterns_free(numbers->scan.patterns);
  attn_pool_free(numbers->relations);
  free(numbers);
}

static attn_status no_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson");
}

static attn_status find_steps(struct attn_numbers *n, attn_lesson *lesson, attn_error *err) {
  struct attn_scan *scan = &n->scan;
  struct attn_reading reading = {.columns = 0};
  n->priors = attn_pool_take(n->relations, ((size_t)scan->blocks + 1) * sizeof *n->priors);
  struct attn_relations *r = attn_relations_new(n->relations, scan->patterns);
  if (!n->priors || !r) return no_memory(err);
  for (int i = 0; i < scan->blocks; i++) attn_block_priors(scan, i, &n->priors[i]);
  attn_status status = attn_assign(scan, r, n->priors, &reading);
  lesson->incomplete = reading.exhausted;
  if (!status) status = attn_build_lesson(scan, r, &reading, n->priors, scan->pool, lesson, err);
  return status || !attn_patterns_failed(scan->patterns) ? status : no_memory(err);
}

static attn_status read_into(struct attn_numbers *n, attn_lesson *lesson, const char *text,
                             size_t bytes, const char *file, attn_error *err) {
  const char *name = file ? file : "-";
  lesson->file = attn_pool_text(n->scan.pool, name, strlen(name));
  if (!lesson->file || !n->scan.patterns || !n->relations) return no_memory(err);
  attn_status status = attn_scan_document(&n->scan, text, bytes, file);
  lesson->japanese = n->scan.japanese;
  return status ? status : find_steps(n, lesson, err);
}

attn_status attn_read_numbers(const char *text, size_t bytes, const char *file,
                              struct attn_numbers **numbers, attn_lesson **lesson,
                              attn_error *err) {
  struct attn_pool *pool = attn_pool_new();
  struct attn_lesson_owner *o = pool ? attn_pool_take(pool, sizeof *o) : NULL;
  struct attn_numbers *n = calloc(1, sizeof *n);
  *numbers = NULL, *lesson = NULL;
  attn_status status = ATTN_ERR_MEMORY;
  if (o && n) {
    o->memory = n->scan.pool = pool;
    n->scan.err = err;
    n->scan.patterns = attn_patterns_new();
    n->relations = attn_pool_new();
    status = read_into(n, &o->lesson, text, bytes, file, err);
  }
  if (!status) {
    *numbers = n, *lesson = &o->lesson;
    return ATTN_OK;
  }
  attn_numbers_free(n);
  attn_pool_free(pool);
  return status == ATTN_ERR_MEMORY ? no_memory(err) : status;
}

attn_status attn_list_unread(struct attn_numbers *numbers, attn_lesson *lesson,
                             struct attn_pool *pool, attn_error *err) {
  return attn_account_for(&numbers->scan, numbers->priors, lesson, pool, err);
}

attn_status attn_list_strays(struct attn_numbers *numbers, attn_lesson *lesson,
                             struct attn_pool *pool, attn_error *err) {
  return attn_account_for_strays(&numbers->scan, lesson, pool, err);
}
