/* step_builder.h -- between the files that make the steps of a reading. */
#ifndef ATTN_LESSON_STEP_BUILDER_H
#define ATTN_LESSON_STEP_BUILDER_H

#include "reading.h"
#include "steps.h"

/* A node and its step. turned: 1 if the step is the transpose of the node. */
struct attn_built {
  const struct attn_node *node;
  int step, turned;
};

struct attn_builder {
  struct attn_maker maker;
  struct attn_scan *scan;
  struct attn_relations *relations;
  const struct attn_reading *reading;
  const struct attn_priors *priors;
  attn_lesson *lesson;
  attn_example *ex; /* that is being built */
  struct attn_built *built;
  int count;
  attn_status status;
};

/* A step as an operand: turned if its matrix is the transpose of what a relation computes with. */
struct attn_turned {
  int step, turned;
};

/* Is a step of this name on the page as the transpose of what relations compute with? */
int attn_is_turned(const struct attn_builder *b, int name);

/* One operation of a relation as a step, or several. */
struct attn_turned attn_apply(struct attn_builder *b, const struct attn_use *use, int head,
                              int name, const struct attn_turned *in);

/* The step of a node that is one row alone has all rows: that row of it. Others as they are. */
struct attn_turned attn_row_alone(struct attn_builder *b, const struct attn_node *node,
                                  struct attn_turned of, int head);

/* Keeps the first columns, or rows, that a matrix has. */
void attn_crop_printing(struct attn_builder *b, attn_printing *p, const attn_matrix *to);
/* As it is, or as it would be printed untransposed. NULL: no memory. */
const attn_printing *attn_upright(struct attn_builder *b, const attn_printing *from,
                                  int is_transposed);

/* guess.c. Has the name of a block a pattern, or the nearest line of text above it? */
int attn_is_introduced(const struct attn_builder *b, const struct attn_block *block,
                       const char *pattern);
int attn_follows_from_guess(const struct attn_builder *b, const struct attn_relation *r);
int attn_is_guess(const struct attn_builder *b, const struct attn_placement *p);

/* contradicted.c: the first of these roles that a block is called by most; OTHER: none. */
int attn_best_role(const struct attn_priors *named, int first, int last);
/* "I heard that queries are questions" above X: is what text calls by this role, at least as much,
 * computed from the input? */
int attn_is_called_after_result(const struct attn_builder *b, const struct attn_placement *p,
                                int called);
/* Do other words or numbers of the page not go with the place of a computed block?
 */
int attn_is_contradicted(const struct attn_builder *b, const struct attn_placement *p);
/* Has the name of a block a formula, "softmax(QK^T) =", of another step than its own? */
int attn_states_other_step(const struct attn_builder *b, const struct attn_placement *p);
/* Is it the row of one token once more, where the page has that of another? */
int attn_repeats_other_row(const struct attn_builder *b, const struct attn_placement *p);
/* Has it the numbers of another step than it is called, which are printed by their name, too? */
int attn_repeats_other_step(const struct attn_builder *b, const struct attn_placement *p);
/* Is it a matrix of a session printed once more, with other numbers? */
int attn_is_float_echo(const struct attn_builder *b, const struct attn_placement *p);
int attn_is_other_echo(const struct attn_builder *b, const struct attn_placement *p);
/* Do the labels of its rows, "value 1", "value 2", all call a block another input than the role? */
int attn_is_labelled_other(const struct attn_block *block, int role);
int attn_shifts_by_other(const struct attn_builder *b, const struct attn_block *block,
                         const attn_step *s);
/* Are the numbers of a step printed again, times another number? */
int attn_is_multiple(const struct attn_builder *b, const struct attn_placement *p,
                     const attn_printing *of, const attn_printing *from);

/* contradicted.c: the numbers of q1·k2, of o_2 or Q[2], of "row 2": 12, 2. -1: it is no such label.
 */
int attn_index_of_label(const struct attn_builder *b, const char *label);
/* contradicted.c: are the tokens of its rows or columns in another order in a matrix before it? */
int attn_is_in_other_order(const struct attn_builder *b, const struct attn_placement *p);

/* tokens.c: labels of the rows of X, Q, K or V name the tokens; else a list of tokens. */
void attn_name_tokens(struct attn_builder *b, const struct attn_placement *p);
void attn_name_listed_tokens(struct attn_builder *b);
/* Queries without names: those of the rows of two matrices with a row for each, of an example. */
void attn_name_queries(struct attn_builder *b, int example);

/* complete.c: the usual steps that the document leaves out. */
void attn_complete_example(struct attn_builder *b);

#endif
