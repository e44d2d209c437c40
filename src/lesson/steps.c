/* steps.c -- steps of an example: adding them, their numbers, what the document prints for them. */
#include "steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "error.h"
#include "eval.h"

attn_status attn_no_memory(struct attn_maker *m) {
  return attn_fail(m->err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson");
}

attn_step *attn_add_step(struct attn_maker *m, attn_example *example, int name, int head, int op) {
  if (attn_pool_grow(m->pool, (void **)&example->step, (size_t)example->steps,
                     sizeof *example->step))
    return attn_no_memory(m), NULL;
  const char *symbol = attn_default_symbol(name);
  attn_step *step = &example->step[example->steps];
  *step = (attn_step){.name = name, .head = head, .op = op, .axis = 1};
  step->symbol = attn_pool_text(m->pool, symbol, strlen(symbol));
  if (!step->symbol) return attn_no_memory(m), NULL;
  example->steps++;
  return step;
}

attn_status attn_add_example(struct attn_maker *m, attn_lesson *lesson,
                             const attn_example *example) {
  if (attn_pool_grow(m->pool, (void **)&lesson->example, (size_t)lesson->examples,
                     sizeof *lesson->example))
    return attn_no_memory(m);
  lesson->example[lesson->examples++] = *example;
  return ATTN_OK;
}

int attn_is_computed(const attn_example *example) {
  for (int32_t n = 0; n < example->steps; n++)
    if (example->step[n].op != ATTN_OP_GIVEN) return 1;
  return 0;
}

attn_status attn_add_printing(struct attn_maker *m, attn_step *step,
                              const attn_printing *printing) {
  if (attn_pool_grow(m->pool, (void **)&step->printing, (size_t)step->printings,
                     sizeof *step->printing))
    return attn_no_memory(m);
  step->printing[step->printings++] = *printing;
  return ATTN_OK;
}

attn_status attn_compute_step(struct attn_maker *m, attn_example *example, attn_step *step) {
  const attn_matrix *operand[ATTN_OPERANDS_MAX] = {0};
  attn_matrix out;
  for (int i = 0; i < step->operands; i++) operand[i] = &example->step[step->operand[i]].exact;
  attn_status status = attn_eval_step(step, operand, m->pool, &out, m->err);
  if (!status) step->exact = out;
  return status;
}

attn_status attn_given_from(struct attn_maker *m, attn_step *step) {
  const attn_printing *p = &step->printing[0];
  for (int32_t n = 0; n < p->rows * p->cols; n++)
    if (p->cells[n].kind == ATTN_CELL_BLANK) return ATTN_OK;
  step->exact = attn_matrix_new(m->pool, p->rows, p->cols);
  if (!step->exact.at) return attn_no_memory(m);
  for (int32_t n = 0; n < p->rows * p->cols; n++) step->exact.at[n] = p->cells[n].value;
  return ATTN_OK;
}

int attn_cells_contradict(const attn_cell *x, const attn_cell *y) {
  if (x->kind == ATTN_CELL_BLANK || y->kind == ATTN_CELL_BLANK) return 0;
  if (x->value == y->value) return 0;
  if (x->decimals == 0 && y->decimals == 0) return 1;
  double slack = 1e-9 * (fabs(x->value) + fabs(y->value));
  return x->lo > y->hi + slack || y->lo > x->hi + slack;
}

int attn_has_programs(const attn_lesson *lesson) {
  for (int32_t n = 0; n < lesson->examples; n++)
    if (lesson->example[n].from_python) return 1;
  return 0;
}

const attn_step *attn_find_step(const attn_example *e, int name, int head) {
  for (int32_t n = 0; n < e->steps; n++) {
    const attn_step *s = &e->step[n];
    if (s->name == name && (head == ATTN_ANY_HEAD || s->head == head)) return s;
  }
  return NULL;
}

static int count_keys(const attn_example *e, int head) {
  const attn_step *k = attn_find_step(e, ATTN_STEP_K, head);
  if (!k) return 0;
  return e->orientation == ATTN_QUERIES_IN_ROWS ? k->exact.rows : k->exact.cols;
}

int attn_heads_are_uneven(const attn_example *e) {
  for (int32_t h = 1; h < e->heads; h++) {
    if (!attn_find_step(e, ATTN_STEP_Q, 0) != !attn_find_step(e, ATTN_STEP_Q, h)) return 1;
    if (count_keys(e, 0) != count_keys(e, h)) return 1;
  }
  return 0;
}

/* ---- places ---- */

int attn_add_unread(struct attn_pool *pool, attn_lesson *l, const attn_cell *first, int rows,
                    int cols, const char *words) {
  char *name = attn_pool_text(pool, words, strlen(words));
  if (!name || attn_pool_grow(pool, (void **)&l->unread, (size_t)l->unreads, sizeof *l->unread))
    return -1;
  l->unread[l->unreads++] = (attn_unread){first->line, first->column, rows, cols, name};
  return 0;
}

const attn_cell *attn_printed_cell(const attn_printing *p, int row, int col) {
  int i = row - p->row0, j = col - p->col0;
  return i >= 0 && i < p->rows && j >= 0 && j < p->cols ? &p->cells[i * p->cols + j] : NULL;
}

int attn_add_places(struct attn_pool *pool, struct attn_places *places, const attn_printing *p) {
  for (int32_t n = 0; n < p->rows * p->cols; n++) {
    if (p->cells[n].kind == ATTN_CELL_BLANK) continue;
    if (attn_pool_grow(pool, (void **)&places->at, places->count, sizeof *places->at)) return -1;
    places->at[places->count++] = attn_cell_place(&p->cells[n]);
  }
  return 0;
}

void attn_sort_places(struct attn_places *places) {
  if (places->count > 1) qsort(places->at, places->count, sizeof *places->at, attn_compare_places);
}

int attn_has_place(const struct attn_places *places, uint64_t place) {
  return places->count &&
         bsearch(&place, places->at, places->count, sizeof place, attn_compare_places) != NULL;
}
