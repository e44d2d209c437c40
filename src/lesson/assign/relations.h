/* relations.h -- what the files of relations share. */
#ifndef ATTN_LESSON_RELATIONS_H
#define ATTN_LESSON_RELATIONS_H

#include "memo.h"
#include "relation.h"

/* ---- chain.c: operations over nodes, each chain evaluated once ---- */

/* Relations of the same operations over the same nodes share one. */
struct attn_chain {
  int id;
  double work; /* multiplications */
  int operands, uses;
  const struct attn_node *const *operand;
  const struct attn_use *use;
  struct attn_interval_matrix value; /* lo.at NULL: not evaluated yet */
};

/* A relation that is being made, with its operands and uses. */
struct attn_draft {
  struct attn_relation relation;
  const struct attn_node *operand[ATTN_HEADS_MAX + 1]; /* all heads and W_O */
  struct attn_use use[ATTN_USES_MAX];
};

struct attn_relations {
  struct attn_pool *pool;
  struct attn_patterns *patterns;
  int failed; /* out of memory */
  int nodes, chains;
  double work; /* so far */
  struct attn_memo grid, node, list, constant, chain;
  int room; /* the list that is being made: capacity of scratch */
  struct attn_relation *scratch;
};

/* Counts work. Returns 0 where a document needs too much in all: no more relations. */
int attn_relations_afford(struct attn_relations *r, double work);

/* Rows and columns of the result of a chain, and its multiplications. 0: the shapes do not go
 * together, or it is too much work. */
int attn_chain_shape(const struct attn_draft *x, int *rows, int *cols, double *work);

/* *out: the relation of a draft, which keeps nothing of it. 0: no memory. */
int attn_relation_of(struct attn_relations *r, const struct attn_draft *x, double work,
                     struct attn_relation *out);

/* The value, all rows. NULL: no memory, or too much work in all. */
const struct attn_interval_matrix *attn_chain_value(struct attn_relations *r,
                                                    struct attn_chain *chain);

/* A matrix with these numbers, one for each content. at NULL: no memory, or too much work. */
attn_matrix attn_relations_constant(struct attn_relations *r, int rows, int cols,
                                    const double *numbers);

/* ---- relation.c: making a list ---- */

struct attn_listing {
  struct attn_relations *memo;
  const struct attn_state *state;
  int head, role;
  const struct attn_grid *grid;
  const struct attn_hints *hints;
  int count;
  int coarse[4], coarses; /* of the list: relations that are tried over rounded operands, too */
  /* For a role of which the right numbers are not on the page: only right relations over them. */
  int right_role;
  const struct attn_node *right; /* NULL: all relations */
};

/* Operands that are one of several roles. */
enum {
  ATTN_ROLE_SOURCE = ATTN_ROLES + 1, /* X, with its positions where they were added */
  ATTN_ROLE_QUERY_SOURCE,            /* Y, else that */
  ATTN_ROLE_QUERIES,                 /* Q, else the queries' source */
  ATTN_ROLE_KEYS,                    /* K, else the source */
  ATTN_ROLE_LOGITS, /* what softmax is taken of: masked, else scaled, else scores */
};

/* The node with a role: of the head or shared. NULL: none. */
const struct attn_node *attn_listing_node(const struct attn_listing *l, int role);

/* The width of queries and keys, printed; or else as it is stated. 0: not known. */
int attn_printed_width(const struct attn_listing *l);
int attn_listing_width(const struct attn_listing *l);

/* A relation of the list's role over one or two operands (b may be NULL), without operations. */
struct attn_draft attn_draft_over(const struct attn_listing *l, const struct attn_node *a,
                                  const struct attn_node *b, int cause, double cost);

/* A use of operands a and b, of which the operation takes one or two; returns what refers to the
 * result: -1 - n. */
int attn_draft_use(struct attn_draft *x, int op, int name, int axis, int a, int b);
int attn_draft_constant(struct attn_draft *x, int name, attn_matrix constant);

/* Adds it to the list if the shapes fit. */
void attn_list(struct attn_listing *l, const struct attn_draft *x);
/* Relation `at` of the list, if there is one, is tried over rounded operands, too. */
void attn_list_over_rounded(struct attn_listing *l, int at);
/* And the block as each row of it alone. */
void attn_list_rows(struct attn_listing *l, const struct attn_draft *x);

/* relation_rules.c: what follows from nothing but the operands' roles */
void attn_list_rules(struct attn_listing *l);

/* relation_projections.c, relation_scaled.c, relation_masked.c, relation_softmax.c */
void attn_list_projections(struct attn_listing *l); /* Q, K, V */
void attn_list_positions(struct attn_listing *l);
void attn_list_positioned(struct attn_listing *l);
void attn_list_concat(struct attn_listing *l);
void attn_list_projected(struct attn_listing *l);
void attn_list_scaled(struct attn_listing *l);
void attn_list_masked(struct attn_listing *l);
void attn_list_shifted(struct attn_listing *l);
void attn_list_exponentials(struct attn_listing *l);
void attn_list_weights(struct attn_listing *l);
void attn_list_output(struct attn_listing *l);

/* ---- relation_skipped.c ---- */

/* Of a role from the scaled scores to the output: over the last printed step, or the queries and
 * keys, or the inputs. */
void attn_list_skipped(struct attn_listing *l);

/* ---- relation_scaled.c: what scores may be divided by ---- */

enum { ATTN_DIVISORS_MAX = 24 };

struct attn_divisors {
  int count;
  struct attn_divided {
    double by;
    int kind;    /* attn_divisor */
    int root_of; /* n if it is its square root, else 0 */
    int cause;
    double cost;
  } at[ATTN_DIVISORS_MAX];
};

/* d_k: the width of the keys. other_sizes: 1 to try the roots of other sizes as well. */
void attn_divisors_of(const struct attn_listing *l, int d_k, int other_sizes,
                      struct attn_divisors *out);

/* Where queries and keys are not printed: the roots of usual widths. */
void attn_usual_divisors(struct attn_divisors *out);

/* Divides `from` (a reference) and notes how. */
int attn_draft_divide(struct attn_draft *x, const struct attn_divided *d, int from);

/* ---- relation_masked.c: masks worth a try ---- */

enum { ATTN_MASKS_MAX = 9 };

struct attn_masks {
  int count;
  struct attn_mask {
    attn_matrix keep; /* 1: visible, 0: hidden */
    int kind;         /* attn_mask_kind */
    int cause;
    double cost;
    const struct attn_grid *table; /* that states it; or NULL */
  } at[ATTN_MASKS_MAX];
};

/* hidden: which cells of the grid look masked. */
void attn_masks_of(const struct attn_listing *l, const unsigned char *hidden,
                   struct attn_masks *out);

/* The cells that look hidden: scores; exponentials or weights. any: whether there are some that no
 * rounding explains. NULL: no memory. */
unsigned char *attn_hidden_cells(const struct attn_listing *l, int *any);
unsigned char *attn_zero_cells(const struct attn_listing *l, int *any);

/* A causal mask of the grid's size, from the first query on. */
attn_matrix attn_causal_mask(const struct attn_listing *l);

/* Hides cells of `from` (a reference). */
int attn_draft_mask(struct attn_draft *x, const struct attn_mask *m, int from);

#endif
