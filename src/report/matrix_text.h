/* matrix.h -- a matrix as aligned columns, its rows and columns named. */
#ifndef ATTN_REPORT_MATRIX_TEXT_H
#define ATTN_REPORT_MATRIX_TEXT_H

#include "text_writer.h"

/* marked: rows * cols bytes, 1 where a star follows the number; or NULL. heat: the numbers are
 * shares of 1, shaded where there is colour. */
struct attn_matrix_format {
  const unsigned char *marked;
  int heat;
  int indent;
  int binary; /* behind each row's name its number in so many binary digits, lowest first */
};

/* The right numbers of a step. Columns that do not fit the line follow below, as often as needed.
 */
void attn_out_matrix(struct attn_out *out, const attn_example *e, const attn_step *s,
                     const struct attn_matrix_format *look);

#endif
