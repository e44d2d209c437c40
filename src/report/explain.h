/* explain.h -- telling an example step by step; one file a family of steps. */
#ifndef ATTN_REPORT_EXPLAIN_H
#define ATTN_REPORT_EXPLAIN_H

#include "out.h"

/* What is being told, and to whom. */
struct attn_telling {
  struct attn_out *out;
  const attn_example *example;
  int32_t query;                 /* the one whose numbers are worked out in full */
  unsigned char told[SAY_COUNT]; /* explanations that were given once */
};

enum { ATTN_INDENT = 3, ATTN_TERMS = 12, ATTN_LINES = 16 };

/* Writes an explanation unless it was given before, as a line of its own. Returns whether it did.
 */
int attn_tell_once(struct attn_telling *t, int message);

/* One number of a step worked out, at the query that is followed. */
void attn_tell_one_cell(struct attn_telling *t, const attn_step *s);

/* The row (or column) of a query in a step that has one cell a key. */
int32_t attn_keys_of(const struct attn_telling *t, const attn_step *s);
void attn_cell_of_key(const struct attn_telling *t, const attn_step *s, int32_t query, int32_t key,
                      int32_t *row, int32_t *col);
void attn_tell_line_of_query(struct attn_telling *t, const attn_step *s);

void attn_tell_scores(struct attn_telling *t, const attn_step *s); /* tell_scores.c */
void attn_tell_scaled(struct attn_telling *t, const attn_step *s);
void attn_tell_masked(struct attn_telling *t, const attn_step *s);
void attn_tell_softmax(struct attn_telling *t, const attn_step *s); /* tell_softmax.c */
void attn_tell_exponentials(struct attn_telling *t, const attn_step *s);
void attn_tell_looks(struct attn_telling *t, const attn_step *s);  /* tell_looks.c */
void attn_tell_output(struct attn_telling *t, const attn_step *s); /* tell_output.c */
void attn_tell_joined(struct attn_telling *t, const attn_step *s);
void attn_tell_positions(struct attn_telling *t, const attn_step *s); /* tell_positions.c */

#endif
