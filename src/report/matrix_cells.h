/* matrix_cells.h -- the cells of a matrix by row and column, or along a line: a row for axis 1, a
 * column for axis 0. */
#ifndef ATTN_REPORT_MATRIX_CELLS_H
#define ATTN_REPORT_MATRIX_CELLS_H

#include "attn/lesson.h"

static inline size_t attn_cell_count(const attn_matrix *m) {
  return (size_t)m->rows * (size_t)m->cols;
}

static inline size_t attn_cell_index(const attn_matrix *m, int32_t row, int32_t col) {
  return (size_t)row * (size_t)m->cols + (size_t)col;
}

static inline double attn_cell_at(const attn_matrix *m, int32_t row, int32_t col) {
  return m->at[attn_cell_index(m, row, col)];
}

/* A single row or column is that of every row or column. */
static inline double attn_broadcast_at(const attn_matrix *m, int32_t row, int32_t col) {
  return attn_cell_at(m, m->rows == 1 ? 0 : row, m->cols == 1 ? 0 : col);
}

static inline int32_t attn_line_length(const attn_matrix *m, int axis) {
  return axis ? m->cols : m->rows;
}

static inline double attn_line_at(const attn_matrix *m, int axis, int32_t line, int32_t k) {
  return axis ? attn_cell_at(m, line, k) : attn_cell_at(m, k, line);
}

#endif
