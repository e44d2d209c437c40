/* sequence.h -- the numbers of a document in the order of its text, as what its queries, keys and
 * values give: whatever the layout.
 *
 * Vectors that are called queries, keys and values give scores, scaled scores, exponentials, their
 * sums, weights and outputs. The other numbers are these in some order: an alignment finds which.
 */
#ifndef ATTN_LESSON_SEQUENCE_H
#define ATTN_LESSON_SEQUENCE_H

#include "blocks.h"

enum {
  ATTN_ITEMS_MAX = 500,
  ATTN_EXPECTED_MAX = 400,
  ATTN_TOKENS_MAX = 12,
  ATTN_WIDTH_MAX = 8,
  ATTN_ROWS_MAX = 60, /* of inputs that are found by their order */
  ATTN_LINKS_MAX = 6000,
  ATTN_WORDS = 4,
  ATTN_WORD_BYTES = 32
};

/* A printed number. */
struct attn_item {
  attn_cell cell;
  int list;     /* its vector or list, see attn_sequence */
  int expected; /* the cell that it is; -1: none */
  int is_known; /* 1: a value of an input, see attn_left */
};

/* Numbers next to each other: 0.7, 0.2 and 0.1. At least one. */
struct attn_item_list {
  int first, count;
  int called;      /* attn_step_name by the nearest word in front of it; -1: none */
  int is_own;      /* the word is between it and the list before */
  int is_set;      /* by a name in front of a sign of equality */
  int is_vector;   /* in brackets */
  int is_operand;  /* of arithmetic, an index, or the 1.414 of √2 = 1.414 */
  int is_root;     /* the 2 of √2 */
  int is_argument; /* of softmax or exp */
  int is_bare;     /* no word is between it and the list before, in its line */
  int is_next_row; /* of the matrix that the list before is a row of */
  int index;       /* of the key that it is of: 2 of "q1·k2 ="; 0: none */
  char word[ATTN_WORDS][ATTN_WORD_BYTES]; /* the last words since the list before, none of steps */
};

/* What a number may be. */
struct attn_expected {
  int step, row, col; /* attn_step_name, query, key or component */
  int is_hidden;      /* the score of a key that is masked: -inf fits */
  double value, slack;
};

/* What additive scores v . tanh(W s + U h) are computed by: as the steps of attn_step_name, but
 * each with a row for a key. */
enum attn_additive { ATTN_W_S = -4, ATTN_U_H, ATTN_W_S_U_H, ATTN_TANH };

enum attn_scoring { ATTN_DOT, ATTN_GENERAL, ATTN_ADDITIVE };

/* What an author may do in place of the right step. */
enum attn_other_step {
  ATTN_NO_OTHER,
  ATTN_WITHOUT_EXP,  /* weights are scores divided by their sum */
  ATTN_BY_WIDTH,     /* divided by d_k */
  ATTN_NOT_DIVIDED,  /* called scaled, and not */
  ATTN_KEYS_IN_PLACE /* of the values */
};

/* Queries, keys and values, each a list, and what is done with them. Of those of another reading
 * only the keys are lists: -1 where a list does not begin with one. */
struct attn_givens {
  int queries, keys, width, out_width;
  int query[ATTN_TOKENS_MAX], key[ATTN_TOKENS_MAX], value[ATTN_TOKENS_MAX];
  int scoring;                                 /* attn_scoring */
  int w_rows, u_rows;                          /* of W and U */
  int w[ATTN_WIDTH_MAX], u[ATTN_WIDTH_MAX], v; /* lists */
  int is_projected;                            /* Q, K and V are those of x: x W, or W x */
  int results; /* the first item after inputs found by order; 0: none */
  int x[ATTN_TOKENS_MAX], y[ATTN_TOKENS_MAX]; /* of keys and values, and of queries */
  int rows[3], projection[3][ATTN_WIDTH_MAX]; /* of W_Q, W_K and W_V */
  int in_columns;                             /* W s, not s W */
  int is_scaled;
  int is_causal, padding; /* of the mask: keys hidden at the end */
  int other;              /* attn_other_step */
};

/* An item as a cell, and the cheapest path that ends there. */
struct attn_link {
  int item, cell;
  int before; /* the link before; -1: none */
  int price;  /* less that of passing over its items */
};

/* How queries, keys and values are found. */
enum attn_pattern {
  ATTN_PROJECTED, /* by words: inputs, and W_Q, W_K and W_V */
  ATTN_BY_WORDS,
  ATTN_LISTS,       /* the queries that are called so, then the keys, then the values */
  ATTN_EQUAL_LISTS, /* as many queries as keys, then the keys, then the values */
  ATTN_TURNS,       /* a query, its key and its value in turn */
  ATTN_WITH_MATRIX, /* by words, with W between query and key */
  ATTN_WITH_TANH,   /* by words, with W, U and v */
  ATTN_IN_ORDER,    /* the first numbers are all inputs, row by row */
  ATTN_KNOWN        /* by another reading of the document */
};

struct attn_sequence {
  struct attn_grouping *g;
  const attn_example *known;        /* the other reading; NULL: none */
  const struct attn_choice *choice; /* of inputs, see inputs.c; NULL: none yet */
  int blocks;                       /* of g, without those of the sequence */
  int may_mask;                     /* the text has a word or a sign for what is hidden */
  int items, lists;
  struct attn_item item[ATTN_ITEMS_MAX];
  struct attn_item_list list[ATTN_ITEMS_MAX + ATTN_ROWS_MAX];
  struct attn_givens given;
  double vector[3][ATTN_TOKENS_MAX][ATTN_WIDTH_MAX]; /* the queries, keys and values */
  double state[ATTN_WIDTH_MAX];                      /* W s of additive scores */
  int to_the_end;     /* 1: also numbers above all cells, and below them, must be cells */
  int in_place;       /* 1: the n-th number of a list is of column n, where a row is as long */
  int with_misprints; /* 1: a number may be a cell of another value, after the one before */
  int rating;         /* of the best way that was tried; a worse one is of no use */
  int expecteds;
  struct attn_expected expected[ATTN_EXPECTED_MAX];
  double slip[ATTN_EXPECTED_MAX];           /* the number that is printed in place of a value */
  unsigned char is_slip[ATTN_EXPECTED_MAX]; /* 1: the cell is a slip */
  int first_item[ATTN_EXPECTED_MAX];        /* that is a cell; -1: none */
  int links, first_link[ATTN_ITEMS_MAX];    /* of each item */
  int least[ATTN_ITEMS_MAX];                /* price of its links */
  struct attn_link link[ATTN_LINKS_MAX];
  int64_t work; /* pairs that were compared so far */
};

/* items.c: the numbers of all lines, with what they are called. 0: too many, or no memory. */
int attn_sequence_items(struct attn_sequence *s);

/* called.c: finds the lists that are the queries, keys and values by a pattern, with so many keys.
 * 0: there are none. */
int attn_sequence_givens(struct attn_sequence *s, int pattern, int keys);
/* inputs.c: the inputs with so many keys (0: any) that most of the numbers below them follow from.
 * 0: there are none. */
int attn_sequence_inputs(struct attn_sequence *s, int keys);
/* known.c: the queries, keys and values of the other reading. 0: it has none. */
int attn_sequence_known(struct attn_sequence *s);

/* Is the list one of the queries, keys, values and matrices? */
int attn_sequence_is_given(const struct attn_sequence *s, int list);
/* May the number be a cell: is it neither a given nor an operand? */
int attn_sequence_is_free(const struct attn_sequence *s, int item);
int attn_sequence_are_equal(const struct attn_sequence *s, int list, int other);
/* expected.c. Is it a step of the queries, keys or values? */
int attn_sequence_is_projection(int step);
/* How many keys a query may see. */
int attn_sequence_visible(const struct attn_sequence *s, int row);
/* What they give, with this mask and scale. 0: too much. */
int attn_sequence_expect(struct attn_sequence *s);

/* align.c. The key that a score is of, or what is on the way to it or follows from it. */
int attn_sequence_key_of(const struct attn_expected *e);
/* Does a cell follow another one in the order of a computation? The price; -1: it does not. */
int attn_sequence_way(const struct attn_sequence *s, int from, int to);
/* How many cells of its row follow each other from there on. */
int attn_sequence_row_cells(const struct attn_sequence *s, int cell);
/* May the number be this one, within rounding? */
int attn_sequence_fits(const attn_cell *cell, const struct attn_expected *e);
/* Sets the cell that each item is, by the best alignment. Returns how good it is: the numbers that
 * are cells, less twice the decimal numbers that are none. */
int attn_sequence_align(struct attn_sequence *s);

/* Is each cell the next one of the cell that is printed before it, mentions aside? */
int attn_sequence_is_smooth(const struct attn_sequence *s);

/* hypotheses.c: finds the givens by which all numbers are explained, and their cells. 0: none. */
int attn_sequence_explain(struct attn_sequence *s);

/* gaps.c: takes a number that is no cell for the only cell that is missing there, or a list for a
 * row: slips. What follows is then expected of them. 0: there is no such number. */
int attn_sequence_fill(struct attn_sequence *s);
/* May the number be a slip in this cell? Weights and exponentials are no integers. */
int attn_sequence_may_be(const struct attn_sequence *s, int cell, int item);

/* sequence.c: blocks of the steps, in place of those that have their numbers. */
void attn_sequence_merge(struct attn_grouping *g);

#endif
