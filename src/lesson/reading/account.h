/* account.h -- between the files that account for the numbers of a document. */
#ifndef ATTN_LESSON_ACCOUNT_H
#define ATTN_LESSON_ACCOUNT_H

#include "reading.h"

enum {
  ATTN_ANY_STEP = -1,
  ATTN_ANY_RESULT = -2,        /* a step that is computed */
  ATTN_ACCOUNT_WORK = 20000000 /* then what is a mention or a mask is listed, too */
};

/* A pattern: what queries, keys and values are called in sentences. */
#define ATTN_INPUT_WORDS "(?:\\bkeys?|\\bquer(?:y|ies)|\\bvalues?|キー|クエリ|バリュー)"

struct attn_account {
  struct attn_scan *scan;
  const struct attn_priors *priors;
  attn_lesson *lesson;
  struct attn_pool *pool;
  struct attn_places shown;                /* that steps show */
  int64_t work;                            /* steps that were compared so far */
  const struct attn_known *known, *values; /* with sizes, and without */
  const struct attn_known *printed;        /* of what is printed */
  const struct attn_known *operands;       /* of arithmetic */
  const struct attn_known *maxima;         /* of rows and columns */
  int64_t left_out;                        /* numbers of rows of which others are in blocks */
  int prints_shapes;
  int input_line, names_inputs; /* the line of the source that was asked last, and the answer */
};

/* account.c */
int attn_is_placed(const struct attn_account *a, const attn_cell *cell); /* in a step */
/* Is the number one of arithmetic? That is listed as a whole if its sides differ. */
int attn_is_worked_out(const struct attn_scan *scan, const attn_cell *cell);

/* mentioned.c. Does a step show the printing? */
int attn_is_read(const struct attn_account *a, const attn_printing *p);
/* Does a printing that was read have the rows of q? step: of this step; ATTN_ANY_STEP. block: that
 * q is of, if its one row is to be the one that it is called; -1: none. */
int attn_has_printing_of(struct attn_account *a, const attn_printing *q, int step, int block);
/* "total", "Σ" */
int attn_names_sum(const struct attn_scan *scan, const char *text);
/* Lists the numbers of sentences that nothing explains, and arithmetic. -1: no memory */
int attn_list_strays(struct attn_account *a);
/* "0.71 and -0.71": two to four numbers of a row or a column of a step, in their order, in a
 * sentence? Or the largest and the smallest of it. */
int attn_is_selection(const struct attn_account *a, const struct attn_block *b);
/* "(j = 1, 2)": do the numbers count the queries or the keys, all of them? */
int attn_are_indices(const struct attn_account *a, const struct attn_block *b);

/* pair.c. "(6, 8)" below "q k1 = 6" and "q k2 = 8": are the numbers, in this order, those of a row
 * that a step shows in the lines just above, one in each? */
int attn_is_gathered_above(struct attn_account *a, const attn_printing *q);
/* pair.c. Is a number that of another query or key than the score of its line? Or arithmetic? */
int attn_is_of_other_pair(struct attn_account *a, const struct attn_stray *s);
int attn_divides_other_pair(struct attn_account *a, const struct attn_worked *w);

#endif
