/* factors.h -- factors that are written out, and the operands that they should be. */
#ifndef ATTN_LESSON_FACTORS_H
#define ATTN_LESSON_FACTORS_H

#include "placed.h"

/* Parts of patterns, for the text as it is in the file. */
#define ATTN_SPACE "(?:[ \\x{A0}\\x{2009}\\x{202F}]|&(?:thin|nb)sp;|\\\\[,;!])?"
#define ATTN_SIGN "(?:[-+\\x{2212}\\x{FF0B}\\x{FF0D}]|&minus;)"
#define ATTN_UNSIGNED "(?:\\d++(?:\\.\\d++)?+|\\.\\d++)"
/* A group: the number without brackets and sign. */
#define ATTN_FACTOR "(?|\\(" ATTN_SIGN "?(" ATTN_UNSIGNED ")\\)|" ATTN_SIGN "?(" ATTN_UNSIGNED "))"
#define ATTN_TIMES                                              \
  ATTN_SPACE                                                    \
  "(?:[*\\x{D7}\\x{B7}\\x{22C5}]|&(?:middot|times|sdot);|x(?= " \
  ")|\\\\times\\b|\\\\cdot\\b)" ATTN_SPACE

/* Is it the number of a cell, as it should be or as it is printed? Its sign is not read. */
int attn_is_factor(const attn_step *s, int row, int col, const attn_cell *cell);
/* Of the terms of a product: the left factor of term `at`; the right one, in a column. */
int attn_is_left(const struct attn_placed *p, int at, const attn_cell *cell);
int attn_is_right(const struct attn_placed *p, int at, int col, const attn_cell *cell);
/* How many terms a product has. 0: it is none, or not right: what is printed wrongly is judged. */
int attn_terms_of(const struct attn_placed *p);
/* The number after "=" at an offset, or a component of the vector there. NULL: there is none. */
const struct attn_placed *attn_result_at(const struct attn_placing *p, size_t end, int component);

/* vector_factors.c. Lists numbers of vectors that are multiplied and are not those of the result.
 */
void attn_list_vectors(struct attn_placing *p);

#endif
