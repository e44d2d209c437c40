/* attach.c -- ties what the document prints for a step to its place in the step's matrix. */
#include <math.h>
#include <string.h>

#include "assemble.h"
#include "error.h"

int attn_cell_fits(const attn_cell *cell, double value) {
  if (cell->kind == ATTN_CELL_BLANK) return 1;
  if (isinf(value) || isinf(cell->value)) return value == cell->value;
  double slack = (cell->hi - cell->lo) * 0.5 + 1e-9 * (1 + fabs(value));
  return value >= cell->lo - slack && value <= cell->hi + slack;
}

static double number_at(const attn_matrix *m, int i, int j) {
  return m->at[(size_t)i * (size_t)m->cols + (size_t)j];
}

static const attn_cell *cell_at(const attn_printing *p, int i, int j) {
  return &p->cells[(size_t)i * (size_t)p->cols + (size_t)j];
}

/* How many cells of p, set down at row0, col0, m bears out. */
int attn_printing_fits(const attn_printing *p, const attn_matrix *m) {
  int fits = 0;
  for (int i = 0; i < p->rows; i++)
    for (int j = 0; j < p->cols; j++)
      fits += attn_cell_fits(cell_at(p, i, j), number_at(m, p->row0 + i, p->col0 + j));
  return fits;
}

/* The row that a lone row can only be: the first that it fits. */
static int row_by_fit(const attn_printing *p, const attn_matrix *m) {
  attn_printing probe = *p;
  for (int i = 0; i < m->rows; i++) {
    probe.row0 = i;
    probe.col0 = 0;
    if (attn_printing_fits(&probe, m) == p->cols) return i;
  }
  return -1;
}

static int ends_blank(const attn_printing *p) {
  return cell_at(p, p->rows - 1, p->cols - 1)->kind == ATTN_CELL_BLANK;
}

enum { SKIP, PLACED, TURNED, MISFIT };

/* Where p belongs in an R x C matrix. TURNED: after transposing. */
static int place_row(attn_printing *p, const attn_matrix *m) {
  if (m->rows == 1 && p->col0 < 0 && p->rows == 1 && p->cols == 1 && p->row0 < m->cols) {
    p->col0 = p->row0; /* a_2 of a single query: the second key's */
    p->row0 = 0;
    return PLACED;
  }
  if (p->row0 >= m->rows) return SKIP;
  if (p->col0 >= 0) return p->rows == 1 && p->cols == 1 && p->col0 < m->cols ? PLACED : SKIP;
  p->col0 = 0;
  if (p->rows > 1 && p->cols == m->cols && p->row0 <= m->rows - p->rows) return PLACED;
  if (p->rows == 1 && (p->cols == m->cols || (p->cols < m->cols && ends_blank(p)))) return PLACED;
  return p->cols == 1 && p->rows == m->cols ? TURNED : SKIP;
}

static int place_column(attn_printing *p, const attn_matrix *m) {
  if (p->col0 >= m->cols) return SKIP;
  p->row0 = 0;
  if (p->cols == 1 && p->rows == m->rows) return PLACED;
  return p->rows == 1 && p->cols == m->rows ? TURNED : SKIP;
}

static int place_whole(attn_printing *p, const attn_matrix *m) {
  p->row0 = p->col0 = 0;
  if (p->rows == m->rows && p->cols == m->cols) return PLACED;
  if (p->rows == m->cols && p->cols == m->rows && (p->rows == 1 || p->cols == 1)) return TURNED;
  if (p->rows <= m->rows && p->cols <= m->cols && ends_blank(p)) return PLACED;
  if (p->rows != 1) return MISFIT;
  if (p->cols != m->cols) return SKIP;
  p->row0 = row_by_fit(p, m);
  return p->row0 >= 0 ? PLACED : SKIP;
}

static attn_status wrong_shape(struct attn_assembly *a, const attn_step *step,
                               const attn_printing *p) {
  const attn_step *l = step->operands > 0 ? &a->example->step[step->operand[0]] : step;
  const attn_step *r = step->operands > 1 ? &a->example->step[step->operand[1]] : l;
  return attn_fail_at(
      a->err, ATTN_ERR_FORMAT, p->line, p->column,
      "%s is printed as %dx%d, but %s (%dx%d, line %d) and %s (%dx%d, line %d) give "
      "it %dx%d",
      step->symbol, (int)p->rows, (int)p->cols, l->symbol, (int)l->exact.rows, (int)l->exact.cols,
      l->printings ? (int)l->printing[0].line : 0, r->symbol, (int)r->exact.rows,
      (int)r->exact.cols, r->printings ? (int)r->printing[0].line : 0, (int)step->exact.rows,
      (int)step->exact.cols);
}

attn_status attn_attach_one(struct attn_assembly *a, attn_step *step, const attn_printing *printing,
                            int certain) {
  attn_printing p = *printing, turned;
  const attn_matrix *m = &step->exact;
  if (p.rows < 1 || p.cols < 1) return ATTN_OK;
  int place = p.row0 >= 0   ? place_row(&p, m)
              : p.col0 >= 0 ? place_column(&p, m)
                            : place_whole(&p, m);
  if (place == MISFIT && certain) return wrong_shape(a, step, &p);
  if (place == SKIP || place == MISFIT) return ATTN_OK;
  if (place == PLACED) return attn_add_printing(a, step, &p);
  if (attn_transpose_printing(a->pool, &p, &turned)) return attn_no_memory(a);
  return attn_add_printing(a, step, &turned);
}

attn_status attn_attach(struct attn_assembly *a, attn_step *step, const struct attn_slot *slot) {
  attn_status status = ATTN_OK;
  if (!slot) return ATTN_OK;
  if (slot->symbol) {
    step->symbol = attn_pool_text(a->pool, slot->symbol, strlen(slot->symbol));
    if (!step->symbol) return attn_no_memory(a);
  }
  for (int i = 0; i < slot->printings && !status; i++)
    status = attn_attach_one(a, step, &slot->printing[i], slot->certain);
  return status;
}

/* Q K^T prints K lying on its side. */
attn_status attn_attach_turned(struct attn_assembly *a, attn_step *step,
                               const struct attn_slot *slot) {
  for (int i = 0; slot && i < slot->printings; i++) {
    attn_printing turned;
    if (attn_transpose_printing(a->pool, &slot->printing[i], &turned)) return attn_no_memory(a);
    turned.row0 = slot->printing[i].col0;
    turned.col0 = slot->printing[i].row0;
    attn_status status = attn_attach_one(a, step, &turned, 0);
    if (status) return status;
  }
  return ATTN_OK;
}
