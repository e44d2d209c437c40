/* reading.h -- from the roles of blocks to the steps of examples. */
#ifndef ATTN_LESSON_READING_H
#define ATTN_LESSON_READING_H

#include "assign.h"
#include "steps.h"

/* What a relation that is a slip counts as. */
enum attn_accusation {
  ATTN_ACCUSED,   /* the right relation is stated or implied: the document is wrong */
  ATTN_EXCUSED,   /* the document states the relation that it uses */
  ATTN_UNCERTAIN, /* nothing is stated: neither right nor wrong */
};

/* accuse.c. Is the relation of a placement a slip, given what the document states? Does it state a
 * mask that is neither causal nor of padding: a window, a prefix? */
int attn_states_other_mask(struct attn_scan *scan);
enum attn_accusation attn_accuse(struct attn_scan *scan, const struct attn_priors *priors,
                                 const struct attn_reading *reading, const struct attn_placement *p,
                                 int *cause);
/* Is a causal mask mentioned above the weights of an example, and nothing in the document masked?
 */
int attn_forgets_mask(struct attn_scan *scan, const struct attn_reading *reading, int example);
/* The relation that should have been used, or the placement's own. NULL: no memory. */
const struct attn_relation *attn_right_relation(struct attn_scan *scan, struct attn_relations *r,
                                                const struct attn_reading *reading,
                                                const struct attn_placement *p, int cause);

/* meant_mask.c. Is the mask one that no relation has: an odd one, one that hides other keys than
 * the padding, a causal one moved by a key where only padding is mentioned? */
int attn_is_own_mask(struct attn_scan *scan, const struct attn_relation *r);
enum attn_accusation attn_accuse_mask(struct attn_scan *scan, const struct attn_relation *r,
                                      int *cause);
/* The relation with the mask that was meant. NULL: no memory. */
const struct attn_relation *attn_with_meant_mask(struct attn_scan *scan,
                                                 const struct attn_relation *r);
/* Does a table show the mask of a step, or the row that all queries have: 1 and 0, or 0 and minus
 * infinity? */
int attn_shows_mask(const attn_matrix *mask, const attn_printing *table);

/* mistakes.c. ATTN_ERR_FORMAT, where a matrix is called by its name, is not read, and does not go
 * together with one that is. */
attn_status attn_find_mistakes(struct attn_scan *scan, const struct attn_reading *reading,
                               const struct attn_priors *priors, attn_error *err);

/* guess.c. Does a block of which at least this share of the numbers fits follow from a node? */
int attn_is_operand(const struct attn_reading *r, const struct attn_node *node, double share);

/* steps_of_reading.c. The step of a role. */
int attn_step_of_role(int role);
/* Adds the examples of a reading to lesson; memory from pool. Errors: ATTN_ERR_MEMORY. */
attn_status attn_build_lesson(struct attn_scan *scan, struct attn_relations *r,
                              const struct attn_reading *reading, const struct attn_priors *priors,
                              struct attn_pool *pool, attn_lesson *lesson, attn_error *err);

/* workings.c. What is worked out on the way to a step, and rows of steps once more: further
 * printings. Memory from pool. Errors: ATTN_ERR_MEMORY. */
attn_status attn_attach_workings(struct attn_scan *scan, attn_lesson *lesson,
                                 struct attn_pool *pool, attn_error *err);

/* account.c. Lists what no step of the lesson shows: numbers of blocks, then those of sentences
 * that nothing explains, and arithmetic whose sides differ. */
attn_status attn_account_for(struct attn_scan *scan, const struct attn_priors *priors,
                             struct attn_lesson_owner *o, attn_error *err);

/* doubt.c. unread[] has the blocks that no step shows: a step below them is not called wrong where
 * half of it is. */
attn_status attn_doubt_below_unread(attn_lesson *lesson, struct attn_pool *pool, attn_error *err);
/* Drops examples that are remarks below another one: their numbers are all in it, and some are
 * wrong. */
attn_status attn_drop_echoes(const struct attn_scan *scan, attn_lesson *lesson, attn_error *err);
/* Queries, keys or values that a program below the same heading computes otherwise; elsewhere it
 * may compute another example. */
void attn_doubt_contradicted(attn_lesson *lesson);
/* Is one of W and U of additive scores used as x W, the other as U x? */
int attn_is_turned_on_one_side(const attn_example *ex);
/* Is a column of the weights blank, whose keys no mask hides? */
int attn_hides_seen_keys(const attn_example *ex);

/* One token, of which nothing but its value is printed again: "sum: (1, 2)" below (1, 2). */
int attn_only_repeats(const attn_example *ex);

/* contradicted.c. Is something added to what is called so, or done to it? "output + residual" */
int attn_has_more_added(struct attn_scan *scan, const char *name);
/* The role of the result of the formula that a name ends in, "A V =". OTHER: it has none. */
int attn_role_of_formula(struct attn_scan *scan, const char *name);

/* The block of a printing; -1: none. */
int attn_block_of(const struct attn_scan *scan, const attn_printing *p);

/* known_values.c: all that a number in a sentence may refer to. steps: bit n: to a value of step n;
 * UINT32_MAX: of all, and to sizes; ATTN_AND_EXPONENTIALS: and to those of each softmax;
 * ATTN_VALUES_ONLY: of all, but not to sums of a row. NULL: no memory. */
#define ATTN_VALUES_ONLY (UINT32_MAX >> 1)
#define ATTN_AND_EXPONENTIALS (UINT32_MAX ^ 1u << 30)
struct attn_known;
struct attn_known *attn_known_of(const attn_lesson *lesson, uint32_t steps, struct attn_pool *pool);
double attn_largest(const double *at, int count, int step);
/* That of each row and column of a step. */
struct attn_known *attn_known_maxima(const attn_lesson *lesson, struct attn_pool *pool);
/* To sizes, and to the values of the steps that are printed. NULL: no memory. */
struct attn_known *attn_known_printed(const attn_lesson *lesson, struct attn_pool *pool);
int attn_is_known(const struct attn_known *known, const attn_cell *cell);
/* 0.1, 0.05, 0.001: a tolerance; e, pi. */
int attn_is_constant(const attn_cell *cell);
/* Does q W, or W k (transposed), leave the rows of a step as they are? of may be NULL. */
int attn_keeps_rows(const attn_matrix *w, const attn_step *of, int transposed);
/* Do the numbers follow each other in a step, row after row, or in a column of it? *work grows by
 * what is compared. */
int attn_is_known_row(const attn_lesson *lesson, const struct attn_stray *s, int count,
                      int64_t *work);
int attn_is_known_value(const struct attn_known *known, const attn_cell *cell); /* or nothing is */
/* With any sign, 1.5 units off: one that was rounded on the way. */
int attn_is_known_operand(const struct attn_known *known, const attn_cell *cell);
/* Has a printed number so many? */
int attn_has_decimals(const struct attn_known *known, int decimals);
int attn_is_known_size(const struct attn_known *known, double size);
/* The root of a size, with any number of decimals? */
int attn_is_known_root(const struct attn_known *known, const attn_cell *cell);

/* What attn_lesson_read is called with, and patterns that all readings share. */
struct attn_document {
  const char *text;
  size_t bytes;
  const char *file;
  attn_error *err;
  struct attn_patterns *patterns;
  struct attn_pool *search;        /* memory of one reading */
  struct attn_shared_text *shared; /* [0]: with the text of its snippets, [1]: without it */
};

/* contradicted.c: do the labels of a block, or the text above it, call it another row, counted from
 * 0? "z_2", "Token 2" */
int attn_is_called_other_row(struct attn_scan *scan, int block, int row);

/* numbers.c: a document read by its numbers: scan, priors, search, steps, account. snippets: 1 to
 * follow its Python as programs. left: lines whose numbers are gathered by what they are called;
 * NULL: none. *lesson is owned by the caller; NULL on failure. err: instead of the document's. */
attn_status attn_read_numbers(const struct attn_document *d, int snippets,
                              const struct attn_left *left, attn_lesson **lesson, attn_error *err);

#endif
