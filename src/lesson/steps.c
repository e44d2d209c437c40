/* steps.c -- steps of an example: adding them, their numbers, what the document prints for them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "assemble.h"
#include "error.h"

attn_status attn_no_memory(struct attn_assembly *a) {
  return attn_fail(a->err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson");
}

attn_step *attn_add_step(struct attn_assembly *a, attn_example *example, int name, int head,
                         int op) {
  if (attn_pool_grow(a->pool, (void **)&example->step, (size_t)example->steps,
                     sizeof *example->step))
    return attn_no_memory(a), NULL;
  const char *symbol = attn_default_symbol(name);
  attn_step *step = &example->step[example->steps];
  *step = (attn_step){.name = name, .head = head, .op = op, .axis = 1};
  step->symbol = attn_pool_text(a->pool, symbol, strlen(symbol));
  if (!step->symbol) return attn_no_memory(a), NULL;
  example->steps++;
  return step;
}

attn_status attn_add_printing(struct attn_assembly *a, attn_step *step,
                              const attn_printing *printing) {
  if (attn_pool_grow(a->pool, (void **)&step->printing, (size_t)step->printings,
                     sizeof *step->printing))
    return attn_no_memory(a);
  step->printing[step->printings++] = *printing;
  return ATTN_OK;
}

int attn_transpose_printing(struct attn_pool *pool, const attn_printing *from, attn_printing *to) {
  *to = *from;
  to->rows = from->cols;
  to->cols = from->rows;
  to->cells = attn_pool_take(pool, (size_t)to->rows * (size_t)to->cols * sizeof *to->cells);
  if (!to->cells) return -1;
  for (int i = 0; i < to->rows; i++)
    for (int j = 0; j < to->cols; j++)
      to->cells[(size_t)i * (size_t)to->cols + (size_t)j] =
          from->cells[(size_t)j * (size_t)from->cols + (size_t)i];
  return 0;
}

/* ---- numbers ---- */

attn_status attn_compute_step(struct attn_assembly *a, attn_example *example, attn_step *step) {
  const attn_matrix *operand[ATTN_OPERANDS_MAX] = {0};
  attn_matrix out;
  for (int i = 0; i < step->operands; i++) operand[i] = &example->step[step->operand[i]].exact;
  attn_status status = attn_eval_step(step, operand, a->pool, &out, a->err);
  if (!status) step->exact = out;
  return status;
}

/* A step's numbers where printed, in the order of printing, else its exact ones. */
static attn_status printed_matrix(struct attn_assembly *a, const attn_step *step, attn_matrix *m) {
  *m = attn_matrix_new(a->pool, step->exact.rows, step->exact.cols);
  if (!m->at) return attn_no_memory(a);
  memcpy(m->at, step->exact.at, (size_t)m->rows * (size_t)m->cols * sizeof *m->at);
  for (int n = 0; n < step->printings; n++) {
    const attn_printing *p = &step->printing[n];
    for (int i = 0; i < p->rows; i++)
      for (int j = 0; j < p->cols; j++) {
        const attn_cell *cell = &p->cells[(size_t)i * (size_t)p->cols + (size_t)j];
        if (cell->kind == ATTN_CELL_BLANK) continue;
        m->at[(size_t)(p->row0 + i) * (size_t)m->cols + (size_t)(p->col0 + j)] = cell->value;
      }
  }
  return ATTN_OK;
}

attn_status attn_compute_from_printed(struct attn_assembly *a, const attn_example *example,
                                      const attn_step *step, attn_matrix *out) {
  attn_matrix printed[ATTN_OPERANDS_MAX];
  const attn_matrix *operand[ATTN_OPERANDS_MAX] = {0};
  for (int i = 0; i < step->operands; i++) {
    const attn_step *from = &example->step[step->operand[i]];
    operand[i] = &printed[i];
    printed[i] = from->exact;
    attn_status status = from->op == ATTN_OP_GIVEN ? ATTN_OK : printed_matrix(a, from, &printed[i]);
    if (status) return status;
  }
  return attn_eval_step(step, operand, a->pool, out, a->err);
}

/* Two ways to print one given may differ by what either may have been rounded; an integer has not
 * been. */
int attn_cells_contradict(const attn_cell *x, const attn_cell *y) {
  if (x->kind == ATTN_CELL_BLANK || y->kind == ATTN_CELL_BLANK) return 0;
  if (x->value == y->value) return 0;
  if (x->decimals == 0 && y->decimals == 0) return 1;
  double slack = 1e-9 * (fabs(x->value) + fabs(y->value));
  return x->lo > y->hi + slack || y->lo > x->hi + slack;
}

static int is_finer(const attn_cell *x, const attn_cell *y) {
  if (x->kind == ATTN_CELL_BLANK) return 0;
  if (y->kind == ATTN_CELL_BLANK) return 1;
  return x->hi - x->lo < y->hi - y->lo;
}

/* With a point, whatever the process's locale writes. */
static const char *short_text(double value, char text[32]) {
  snprintf(text, 32, "%g", value);
  text[strcspn(text, ",")] = text[strcspn(text, ",")] ? '.' : 0;
  return text;
}

static attn_status given_twice(struct attn_assembly *a, const attn_step *step, const attn_cell *x,
                               const attn_cell *y) {
  char here[32], there[32];
  return attn_fail_at(a->err, ATTN_ERR_FORMAT, y->line, y->column,
                      "%s is given twice within one example with different values: %s here, %s at "
                      "line %d, column %d; correct one, or begin a new example with a heading",
                      step->symbol, short_text(y->value, here), short_text(x->value, there),
                      (int)x->line, (int)x->column);
}

/* The size that whole printings say, else what rows and cells reach. */
static attn_status size_of_given(struct attn_assembly *a, const attn_step *step, int *rows,
                                 int *cols) {
  const attn_printing *whole = NULL;
  *rows = *cols = 0;
  for (int i = 0; i < step->printings; i++) {
    const attn_printing *p = &step->printing[i];
    if (p->row0 < 0 && p->col0 < 0) {
      if (whole && (whole->rows != p->rows || whole->cols != p->cols))
        return attn_fail_at(a->err, ATTN_ERR_FORMAT, p->line, p->column,
                            "%s is given twice within one example: %dx%d here, %dx%d at line %d; "
                            "correct one, or begin a new example with a heading",
                            step->symbol, (int)p->rows, (int)p->cols, (int)whole->rows,
                            (int)whole->cols, (int)whole->line);
      whole = p;
    }
    int bottom = (p->row0 < 0 ? 0 : p->row0) + p->rows,
        right = (p->col0 < 0 ? 0 : p->col0) + p->cols;
    if (bottom > *rows) *rows = bottom;
    if (right > *cols) *cols = right;
  }
  if (whole) *rows = whole->rows, *cols = whole->cols;
  return ATTN_OK;
}

/* Fills best with the finest cell of each place. */
static attn_status gather(struct attn_assembly *a, attn_step *step, const attn_cell **best,
                          int rows, int cols) {
  int kept = 0;
  for (int n = 0; n < step->printings; n++) {
    attn_printing *p = &step->printing[n];
    int top = p->row0 < 0 ? 0 : p->row0, left = p->col0 < 0 ? 0 : p->col0;
    if (top > rows - p->rows || left > cols - p->cols) continue; /* of something else */
    for (int i = 0; i < p->rows; i++)
      for (int j = 0; j < p->cols; j++) {
        const attn_cell *cell = &p->cells[(size_t)i * (size_t)p->cols + (size_t)j];
        const attn_cell **at = &best[(size_t)(top + i) * (size_t)cols + (size_t)(left + j)];
        if (*at && attn_cells_contradict(*at, cell)) return given_twice(a, step, *at, cell);
        if (!*at || is_finer(cell, *at)) *at = cell;
      }
    p->row0 = top;
    p->col0 = left;
    step->printing[kept++] = *p;
  }
  step->printings = kept;
  return ATTN_OK;
}

/* exact from what is printed; exact.rows is 0 where a cell is missing. */
attn_status attn_given_from(struct attn_assembly *a, attn_step *step) {
  int rows, cols;
  step->exact = (attn_matrix){0, 0, NULL};
  attn_status status = size_of_given(a, step, &rows, &cols);
  if (status) return status;
  size_t count = (size_t)rows * (size_t)cols, area = 0;
  for (int i = 0; i < step->printings; i++)
    area += (size_t)step->printing[i].rows * (size_t)step->printing[i].cols;
  if (rows < 1 || cols < 1 || count > area) return ATTN_OK;
  const attn_cell **best = attn_pool_take(a->pool, count * sizeof *best);
  attn_matrix m = attn_matrix_new(a->pool, rows, cols);
  if (!best || !m.at) return attn_no_memory(a);
  status = gather(a, step, best, rows, cols);
  if (status) return status;
  for (size_t i = 0; i < count; i++) {
    if (!best[i] || best[i]->kind == ATTN_CELL_BLANK) return ATTN_OK;
    m.at[i] = best[i]->value;
  }
  step->exact = m;
  return ATTN_OK;
}
