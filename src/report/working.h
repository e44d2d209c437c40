/* working.h -- the computation of one value, and the cells that it needs. */
#ifndef ATTN_REPORT_WORKING_H
#define ATTN_REPORT_WORKING_H

#include "text_writer.h"

/* One cell of a step, and where to write how it is computed. */
struct attn_worked_cell {
  struct attn_out *out;
  const attn_example *example;
  const attn_step *step;
  int32_t row, col;
  int terms; /* the maximum number of terms of a sum to show; 0: all */
};

/* "Q[は,0] = X[は,:]·W_Q[:,0] = 1×1 + 0×2 = 1", as flowing text. terms: as in
 * attn_worked_cell. Of a given matrix only the value is written. */
void attn_out_working(struct attn_out *out, const attn_example *e, const attn_step *s, int32_t row,
                      int32_t col, int terms);

/* A number in the style's precision, as flowing text. */
void attn_out_number(struct attn_out *out, double value);

/* Flowing text in which each # is a number, and each @ a factor, of which a negative one has
 * brackets; the values, doubles, follow. */
void attn_out_values(struct attn_out *out, const char *format, ...);

/* "[1, 0, 2]": count values, of which at most terms are shown (0: all). */
void attn_out_vector(struct attn_out *out, const double *value, int32_t count, int terms);

/* Calls visit for every operand cell that cell (row, col) of s is computed from. operand: a step of
 * the example. */
typedef void (*attn_cell_visit)(void *context, int32_t operand, int32_t row, int32_t col);
void attn_operand_cells(const attn_example *e, const attn_step *s, int32_t row, int32_t col,
                        attn_cell_visit visit, void *context);

/* The base of a step of positions, and the frequency of a pair of sine and cosine. */
int32_t attn_position_base(const attn_step *s);
double attn_position_frequency(const attn_step *s, int32_t pair);

/* What is subtracted before softmax if e^x is too large to show; else 0. axis as in attn_step;
 * line: the row or column. */
double attn_softmax_shift(const attn_matrix *m, int32_t axis, int32_t line);

#endif
