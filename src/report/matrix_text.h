/* matrix_text.h -- a matrix as aligned columns with row and column names. */
#ifndef ATTN_REPORT_MATRIX_TEXT_H
#define ATTN_REPORT_MATRIX_TEXT_H

#include "text_writer.h"

/* marked: rows * cols bytes, 1: a star follows the number; or NULL. heat: weights, shaded if colour
 * is enabled. */
struct attn_matrix_format {
  const unsigned char *marked;
  int heat;
  int indent;
  int binary; /* digits of the row number in binary after each row's name, lowest first; 0: none */
};

/* Writes the exact values of a step. Columns that do not fit the line follow below. Many equal
 * values are one line. Returns whether a cell that the mask hides is written as "–". */
int attn_out_matrix(struct attn_out *out, const attn_example *e, const attn_step *s,
                    const struct attn_matrix_format *look);

/* Whether a 0 of a softmax or of its parts is that of a key that the mask hides. */
int attn_cell_is_hidden(const attn_example *e, const attn_step *s, int32_t i, int32_t j);

/* Digits of the largest row number of a table of positions, at most 12; 0 of other steps. */
int attn_binary_digits(const attn_step *s);

/* number in binary, lowest digit first: 1 is "100". text: digits and a NUL. */
const char *attn_binary_text(int32_t number, int digits, char *text);

#endif
