/* explain.h -- explains an example step by step; one file per family of steps. */
#ifndef ATTN_REPORT_EXPLAIN_H
#define ATTN_REPORT_EXPLAIN_H

#include "step_labels.h"
#include "text_writer.h"

/* The state of an explanation. */
struct attn_explanation {
  struct attn_out *out;
  const attn_example *example;
  int32_t query;                          /* the query whose values are worked out in full */
  unsigned char explained[MESSAGE_COUNT]; /* messages already written */
};

enum { ATTN_INDENT = 3, ATTN_TERMS = 12, ATTN_LINES = 16 };

/* Chooses the query, too: the first that sees the most keys. */
void attn_explain_begin(struct attn_explanation *t, struct attn_out *out, const attn_example *e);

/* ---- Parts of an explanation ---- */

/* "Example 1: A first attention" as flowing text, the title in at most so many columns. */
void attn_out_example_title(struct attn_out *out, const attn_example *e, int32_t index,
                            int columns);

/* The same as a line. */
void attn_explain_title(struct attn_out *out, const attn_lesson *lesson, int32_t index);

/* Lines about the whole example: its tokens, heads, orientation. */
void attn_explain_context(struct attn_out *out, const attn_example *e);

/* "3. Scores, head 1" and " (4×4; one row per query, one column per key)", flowing. */
void attn_explain_name(struct attn_out *out, const attn_step *s, int number);
void attn_explain_kind(struct attn_out *out, const attn_step *s); /* "Scores" */
void attn_explain_size(struct attn_out *out, const attn_example *e, const attn_step *s);

/* Lines about the values of a step: what it is, why, values worked out, what each query attends to.
 */
void attn_explain_values(struct attn_explanation *t, const attn_step *s);

/* The verdict of a step; NULL if there is none. */
const attn_step_verdict *attn_explain_verdict(const attn_example_verdict *v, int32_t step);

/* One byte per cell, 1 where the document prints another value; the caller frees it. NULL if it
 * prints none, if v is NULL, or if out of memory: then *status becomes ATTN_ERR_MEMORY. */
unsigned char *attn_explain_marks(const attn_step *s, const attn_step_verdict *v,
                                  attn_status *status);

/* Lines about these cells: the right value and the printed one. */
void attn_explain_differences(struct attn_out *out, const attn_example *e, const attn_step *s,
                              const attn_step_verdict *v);

/* ---- Shared by the families of steps ---- */

/* Whether a message has not been written yet; marks it as written. */
int attn_explain_is_new(struct attn_explanation *t, int message);

/* Writes a message as a line unless it was written before. */
void attn_explain_once(struct attn_explanation *t, int message);

/* attn_name_text within a sentence: in quotes in Japanese, unless it is a number. */
const char *attn_name_in_text(const struct attn_explanation *t, enum attn_step_axis axis, int32_t n,
                              char text[ATTN_LABEL_BYTES]);

/* Works out one value of a step, at t->query. */
void attn_explain_cell(struct attn_explanation *t, const attn_step *s);

/* "Scores (head 1): E = Q K^T" */
void attn_out_step(struct attn_out *out, const attn_example *e, const attn_step *s);

/* The cell of a query and a key in a step with one cell per key. */
void attn_cell_of_key(const struct attn_explanation *t, const attn_step *s, int32_t query,
                      int32_t key, int32_t *row, int32_t *col);

/* Works out the values of t->query in such a step, one line per key. */
void attn_explain_query(struct attn_explanation *t, const attn_step *s);

void attn_explain_scores(struct attn_explanation *t, const attn_step *s); /* explain_scores.c */
void attn_explain_scaled(struct attn_explanation *t, const attn_step *s);
void attn_explain_masked(struct attn_explanation *t, const attn_step *s);
void attn_explain_softmax(struct attn_explanation *t, const attn_step *s); /* explain_softmax.c */
void attn_explain_exponentials(struct attn_explanation *t, const attn_step *s);
void attn_explain_attention(struct attn_explanation *t,
                            const attn_step *s);                          /* explain_attention.c */
void attn_explain_output(struct attn_explanation *t, const attn_step *s); /* explain_output.c */
void attn_explain_joined(struct attn_explanation *t, const attn_step *s);
void attn_explain_positions(struct attn_explanation *t,
                            const attn_step *s); /* explain_positions.c */
void attn_explain_gradient(struct attn_explanation *t, const attn_step *s); /* explain_gradient.c */

/* The loss of s, the first of the gradients: the sum of a step's values if s is all ones, or the
 * value where s is 1. A sentence, flowing. */
void attn_out_loss(struct attn_out *out, const attn_example *e, const attn_step *s);

#endif
