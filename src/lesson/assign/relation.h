/* relation.h -- the algebra of attention: all ways in which a block may follow from others.
 *
 * A node is a block read in a role. A relation computes what a block in a role would be: a chain of
 * the operations of lesson.h over nodes, with its price in bits and, where it is a slip that people
 * make, its cause. Nothing here knows words. */
#ifndef ATTN_LESSON_RELATION_H
#define ATTN_LESSON_RELATION_H

#include <stdint.h>

#include "interval_arithmetic.h"
#include "scan.h"

enum attn_role {
  ATTN_ROLE_X,
  ATTN_ROLE_Y,
  ATTN_ROLE_POSITION_TABLE,
  ATTN_ROLE_POSITIONED, /* X + the table */
  ATTN_ROLE_W_Q,
  ATTN_ROLE_W_K,
  ATTN_ROLE_W_V,
  ATTN_ROLE_W_O,
  ATTN_ROLE_W_A,
  ATTN_ROLE_U_A,
  ATTN_ROLE_V_A, /* of additive and general scores */
  ATTN_ROLE_Q,
  ATTN_ROLE_K,
  ATTN_ROLE_V,
  ATTN_ROLE_W_A_Q,
  ATTN_ROLE_U_A_K,
  ATTN_ROLE_TANH_INPUT,
  ATTN_ROLE_TANH, /* of additive scores: W q, U k, their sum, its tanh */
  ATTN_ROLE_SCORES,
  ATTN_ROLE_SCALED,
  ATTN_ROLE_MASKED,
  ATTN_ROLE_SHIFTED, /* minus the largest of the row */
  ATTN_ROLE_EXPONENTIALS,
  ATTN_ROLE_ROW_SUM,
  ATTN_ROLE_WEIGHTS,
  ATTN_ROLE_OUTPUT,
  ATTN_ROLE_CONCAT,
  ATTN_ROLE_PROJECTED,
  ATTN_ROLES,
  ATTN_ROLE_OTHER = ATTN_ROLES, /* of a block that no role fits */
};

/* One reading of a block: numbers as a search needs them. Row-major arrays of rows * cols. */
struct attn_grid {
  int block, reading, transposed;
  int rows, cols;
  int decimals;  /* of the block: the most of its plain literals */
  int coarse;    /* 1: its numbers are printed with more decimals, which all are 0 */
  int open;      /* cells that are left to the reader */
  double *value; /* -inf where blank */
  double
      *half; /* half a unit of the block's last digit; of its own where scientific or worked out */
  double *bits;         /* that a number costs to print, at most 16 */
  double all_bits;      /* their sum */
  unsigned char *blank; /* 1; 2: left to the reader */
};

struct attn_node {
  int id;
  const struct attn_grid *grid;
  const struct attn_relation *relation; /* NULL: given or a copy */
  struct attn_interval_matrix expected; /* of the relation; lo.at NULL: given */
  struct attn_interval_matrix carried;  /* what follows is computed from this: printed, or expected
                                           where it fits, or anything between. lo.at NULL: nothing
                                           follows yet, see attn_node_follow */
  double bits;                          /* saved by the relation, its price not included */
  double share;                         /* of the cells that fit */
  int slipped;                   /* 1: a number of it, or of what it is computed from, is a slip */
  const struct attn_node *right; /* of a slip: the numbers that it should have; or NULL */
  const struct attn_node *shadow_of;  /* of such a node: the one that is on the page; or NULL */
  const struct attn_node *columns_of; /* it is one head of this, which has all; or NULL */
  int first_column;
};

enum { ATTN_HEADS_MAX = 16, ATTN_USES_MAX = 9 };
/* Of as many rows a block may be one alone: each has a bit. */
enum { ATTN_ROWS_ALONE_MAX = 12 };

/* One operation of a relation. */
struct attn_use {
  uint8_t name; /* attn_step_name of the step that it would be */
  uint8_t op, axis, operands;
  int scaled_by; /* DIVIDE: n if scalar is its square root */
  int base;      /* POSITIONS */
  double scalar;
  int8_t
      operand[ATTN_HEADS_MAX]; /* >= 0: of the relation's operands; -1 - n: the result of use n */
  attn_matrix constant; /* op GIVEN: a mask, rounded operands; POSITIONS, COLUMNS: its size */
};

/* How the divisor of a relation was found. */
enum attn_divisor {
  ATTN_DIVISOR_NONE,
  ATTN_DIVISOR_ROOT,
  ATTN_DIVISOR_STATED,
  ATTN_DIVISOR_D_K,
  ATTN_DIVISOR_ONE,
  ATTN_DIVISOR_OTHER_SIZE,
  ATTN_DIVISOR_ROUNDED_ROOT,
};
enum attn_mask_kind {
  ATTN_MASK_NONE,
  ATTN_MASK_CAUSAL,
  ATTN_MASK_CAUSAL_LATE, /* one key more */
  ATTN_MASK_CAUSAL_EARLY,
  ATTN_MASK_CAUSAL_EARLY_BUT_FIRST, /* one less; the first row kept */
  ATTN_MASK_CAUSAL_IN_PART,         /* not of rows that hide nothing */
  ATTN_MASK_PADDING,
  ATTN_MASK_CAUSAL_PADDING,
  ATTN_MASK_AS_PRINTED,
  ATTN_MASK_STATED, /* a table of the document */
};

enum { ATTN_LEAST_COST = -5 }; /* bits: no relation costs less */

struct attn_relation {
  int role;
  int cause;                     /* attn_cause of the slip that it is; NONE: it is right */
  double cost;                   /* bits */
  int row;                       /* the block is this row alone; -1: the whole */
  int divisor, mask;             /* attn_divisor, attn_mask_kind */
  double divided_by;             /* 1: nothing */
  const struct attn_grid *table; /* of a mask that is stated, where 1 is visible; or NULL */
  int coarse;                    /* > 0: operands rounded to this many decimals */
  int operands, uses;
  const struct attn_node *const *operand;
  const struct attn_use *use;           /* the last one is the block */
  struct attn_chain *chain;             /* the value of its uses over its operands */
  const struct attn_relation *standard; /* of a slip: the right one; NULL: there is none */
};

/* What has a role: of a head, or shared by all. */
struct attn_roles {
  const struct attn_node *at[ATTN_ROLES];
  int row;       /* the one row of queries that these are of; -1: all */
  uint32_t done; /* the rows that were shown before, a bit each */
};

/* What is known so far. Forked by the search. */
struct attn_state {
  double score;
  int heads;    /* at least 1 */
  int is_split; /* they were projected together */
  struct attn_roles head[ATTN_HEADS_MAX];
  struct attn_roles shared;
  int section;                       /* of its first block; -1: it has none */
  int examples;                      /* finished before this one */
  const struct attn_state *finished; /* the last state of the example before; NULL: none */
  const struct attn_placement *last; /* assign.h */
};

/* What relations take from the text: set by the search for each block. */
struct attn_hints {
  const char *text;             /* name, caption and header of the block: stated divisors */
  int causal;                   /* a causal mask is mentioned in the document */
  int causal_here;              /* and in the text of this block */
  int padding;                  /* padding is mentioned, and no causal mask */
  int query;                    /* "word 2": the only one that is numbered so; 0: none, or more */
  int called_query;             /* q_3: the query that the block is called; 0: none */
  int heads, splits;            /* heads are mentioned; several are */
  int unscaled;                 /* the text denies that scores are divided */
  int scaled_formula;           /* and ends with "Q K^T / √d" */
  int shifts;                   /* a largest value is mentioned, which softmax may subtract */
  int values;                   /* the symbol V is mentioned */
  int tanh_of_sum;              /* tanh(q + k) is mentioned, without weights */
  int transposed_weights;       /* 1: weights are printed transposed (Q = W X) */
  const struct attn_grid *mask; /* the last table of a mask before the block, in the layout of
                                   scores; NULL: none */
  const struct attn_grid *bias; /* the last block that is called a bias, or nothing; NULL: none */
  int width;                    /* of queries and keys, that is stated; 0: none, or several */
  int position_base;            /* stated of sines and cosines; 0: none */
  double temperature;           /* stated: softmax is taken of the scores divided by it; or 1 */
};

struct attn_relations; /* the memo of grids, nodes and relations of one document */
struct attn_relations *attn_relations_new(struct attn_pool *pool, struct attn_patterns *patterns);
int attn_relations_failed(const struct attn_relations *r); /* out of memory */

/* grid.c. NULL: no memory. */
const struct attn_grid *attn_grid_of(struct attn_relations *r, const struct attn_scan *scan,
                                     int block, int reading, int transposed);

/* Are the numbers the same transposed? */
int attn_grid_is_symmetric(const struct attn_grid *g);
/* Do all rows, of several numbers, add up to 1? Then they are weights. */
int attn_grid_has_rows_of_one(const struct attn_grid *g);
int attn_grid_same_values(const struct attn_grid *a, const struct attn_grid *b);
/* node.c. A given of the grid: decimals rounded if `rounded`, else exact. Memoized. NULL: no
 * memory. */
const struct attn_node *attn_node_given(struct attn_relations *r, const struct attn_grid *grid,
                                        int rounded);
/* Of numbers that were printed before: as they are, transposed, or row n of them: ATTN_COPY_ROW +
 * n.
 */
enum { ATTN_COPY = 1, ATTN_COPY_TRANSPOSED, ATTN_COPY_ROW };
/* Has it the shape of such a copy? */
int attn_is_copy_of(const struct attn_grid *grid, const struct attn_grid *of, int copy);
/* The numbers of another node once more; NULL: the shapes differ. */
const struct attn_node *attn_node_copy(struct attn_relations *r, const struct attn_grid *grid,
                                       const struct attn_node *of, int copy);
/* The grid explained by a relation: evaluated over intervals on first use. NULL: shapes do not
 * match, or no memory. */
const struct attn_node *attn_node_of(struct attn_relations *r, const struct attn_grid *grid,
                                     const struct attn_relation *relation);

/* Columns of a node that others may follow from. Memoized. NULL: no memory. */
const struct attn_node *attn_node_columns(struct attn_relations *r, const struct attn_node *of,
                                          int first, int count);

/* Something will be computed from the node. 0: no memory. */
int attn_node_follow(struct attn_relations *r, const struct attn_node *node);

/* relation.c. All relations by which grid may have this role in a head of the state, standard ones
 * and slips; *list is memoized, valid as long as r. Returns the count. */
int attn_relations_list(struct attn_relations *r, const struct attn_state *s, int head, int role,
                        const struct attn_grid *grid, const struct attn_hints *hints,
                        const struct attn_relation **list);

int attn_role_is_shared(int role); /* by all heads: X, Y, positions, W_O, concat, projected */
int attn_role_is_derived(int role);
int attn_role_is_of_scores(int role); /* a row for each query, a column for each key */
double attn_role_order(int role);     /* along the computation */

#endif
