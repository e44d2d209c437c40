/* table.h -- between table.c, vectors.c and header.c: the rows of a run as a table. */
#ifndef ATTN_LESSON_TABLE_H
#define ATTN_LESSON_TABLE_H

#include "blocks.h"

enum column_kind { COLUMN_NUMBERS, COLUMN_TEXT, COLUMN_VALUES };

/* The rows of a run as a table. */
struct attn_table {
  struct attn_row *row;
  int rows, cols, style, line, last_line;
  struct attn_row header; /* items 0: none */
  struct attn_row super;  /* above it; items 0: none */
  char *header_words;     /* of all columns; NULL: not taken yet */
  int drop_first;
  int counted;         /* columns that are numbered above it */
  unsigned char *kind; /* column_kind */
  int *number;         /* the columns of numbers */
  int numbers;
  int has_sums; /* the last column is that of the sums of steps */
  int labels;   /* the column of labels, -1: the text in front */
  int titles;   /* 1: each label is that of the rows below it, too, which have none */
  int steps;    /* 1: each row is another step: "scores = [..]", "weights = [..]" */
  int skip;     /* 1: the first column of numbers counts the rows */
  int parts;    /* matrices side by side, each with its name above; 0: it is one matrix */
  struct attn_table_part {
    int begin, end; /* columns of numbers */
    char *name;
  } * part;
  int beside; /* the only column of numbers is beside vectors: scores, their words in the header */
};

/* table.c */
struct attn_row_item *attn_table_item(const struct attn_table *t, int row, int col);
/* Does the first column of numbers only count its rows, from `first` on? */
int attn_table_counts(const struct attn_table *t, int first);
/* counts.c. Does the first column only count: 0, 1, .. or 1, 2, ..? */
int attn_table_has_index(struct attn_grouping *g, const struct attn_table *t);
/* Is the cell above the first column blank, or does it call what is counted: "token"? */
int attn_table_counts_rows(struct attn_grouping *g, const struct attn_table *t);
/* The text of the column of labels, or what is in front of the row. */
char *attn_table_label(struct attn_grouping *g, const struct attn_table *t, int row);
char *attn_item_text(struct attn_grouping *g, const struct attn_row *row, int item);
int attn_table_count(const struct attn_table *t, int col, int kind); /* column_kind's items */
/* The step that a row or column is called, also in words: "divided by √2"; -1: none. */
int attn_step_of_text(struct attn_grouping *g, const char *text);
/* "X: 1 0", "X: 0 1", "W_Q: 2 1", "W_Q: 1 1": the name is the stem of each row. */
void attn_table_name_rows(struct attn_table *t);
/* The rows from begin on whose labels have one stem end here. */
int attn_table_group_end(const struct attn_table *t, int begin);

/* The numbers and vectors of a table -> blocks. Its columns are known. */
void attn_table_add(struct attn_grouping *g, struct attn_table *t);

/* More columns are not compared with the products of two others. */
enum { ATTN_TERM_COLUMNS = 48 };

/* terms.c: columns of weights times values are right, and so are their sums; rows of sums become
 * the output. Removes both from the table. 0: it has none. */
int attn_table_terms(struct attn_grouping *g, struct attn_table *t);
/* Moves the sum of a column of exponentials in front of the weights, which are divided by it. from:
 * the first block of the table. */
void attn_table_move_row_sum(struct attn_grouping *g, int from);

/* turned.c: a column for each token becomes a row. */
void attn_table_turn(struct attn_grouping *g, struct attn_table *t);
/* "query(1) | 1" above "query(2) | 0": what the one vector is called. NULL: it is none. */
char *attn_table_components(struct attn_grouping *g, const struct attn_table *t);

/* pairs.c: tables with a row for each pair of tokens, each number, or each row of all matrices ->
 * blocks. 0: it is none. */
int attn_table_pairs(struct attn_grouping *g, const struct attn_table *t);
int attn_table_sections(struct attn_grouping *g, const struct attn_table *t);
int attn_table_long(struct attn_grouping *g, const struct attn_table *t);

/* vectors.c: columns of vectors -> blocks. 0: the table has none. */
int attn_table_vectors(struct attn_grouping *g, const struct attn_table *t);

/* header.c. The header's words, and what each column after the first `skip` is called. */
char *attn_header_words(struct attn_grouping *g, const struct attn_table *t); /* NULL: no memory */
void attn_header_set(struct attn_grouping *g, const struct attn_table *t, struct attn_block *b,
                     int skip);
/* Numbers of a header that count no columns. */
void attn_header_strays(struct attn_grouping *g, const struct attn_row *header);
/* Is each column of numbers called another step? */
int attn_header_has_steps(struct attn_grouping *g, const struct attn_table *t);
/* Is the text above the rows of the run the names of parts of their columns? */
int attn_header_is_above_parts(struct attn_grouping *g, int cols);
/* Words above columns that blanks separate are their header; a header may name parts. */
void attn_header_find(struct attn_grouping *g, struct attn_table *t);

/* margin.c. "exp | cat | sat | sum": also without the last column. */
void attn_table_add_without_sums(struct attn_grouping *g, struct attn_block *b);
/* The sums of the rows as a block of their own; NULL: there are none, or all are right. */
struct attn_block *attn_table_split_sums(struct attn_grouping *g, struct attn_block *b);
/* The rows of a part, without blank ones below it, where a part beside it is longer. */
int attn_table_rows_of_part(const struct attn_table *t, const struct attn_table_part *p);
/* The columns of numbers that rows begin .. end have, without blank ones at their end. */
int attn_table_columns_of_rows(const struct attn_table *t, int begin, int end);

/* counts.c: labels that count, with a gap, are listed as not read. */
void attn_table_check_counts(struct attn_grouping *g, const struct attn_table *t);

#endif
