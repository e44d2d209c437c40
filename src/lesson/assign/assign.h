/* assign.h -- which block has which role: the reading with the shortest description. */
#ifndef ATTN_LESSON_ASSIGN_H
#define ATTN_LESSON_ASSIGN_H

#include "relation.h"

/* priors.c: bits for each role from what is written near a block; 0: not named. Numbers decide:
 * these only break ties. */
#define ATTN_OWN_NAME 8.9 /* bits: a role that a block is called by, by its own name, has more */
struct attn_priors {
  double bits[ATTN_ROLES];
  double best;
  int is_aside; /* its name is that of no step */
};

/* One block in its role. */
struct attn_placement {
  const struct attn_placement *before; /* of the document, NULL: the first */
  int block;
  int role;    /* ATTN_ROLE_OTHER: not read */
  int is_copy; /* ATTN_COPY ..: the numbers of that role again */
  int head, example;
  struct attn_roles roles;              /* of the head, with this one */
  const struct attn_relation *relation; /* NULL: given, a copy or not read */
  const struct attn_node *node;         /* NULL: not read */
  double bits;
};

/* Grids are transposed so that a query is a row. */
enum attn_columns {
  ATTN_COLUMNS_NONE,   /* a query is a row on the page, too */
  ATTN_COLUMNS_ALL,    /* a column in every matrix: Q = W X */
  ATTN_COLUMNS_SCORES, /* a row in X and Q, a column in the scores and weights: K Q^T */
};

struct attn_reading {
  int columns;            /* attn_columns: how queries are laid out on the page */
  int transposed_weights; /* 1: weights were, too */
  double score;
  int placements;
  const struct attn_placement **placement; /* in the order of the document */
  const int *order;                        /* in which they were read: weights before products */
  int examples;
  const struct attn_state **example; /* the last state of each */
  int exhausted;                     /* 1: the search stopped before the last block */
};

/* What is known of the head of a placement: of all blocks, or where queries are shown one after the
 * other, up to this one. */
const struct attn_roles *attn_roles_of(const struct attn_reading *reading,
                                       const struct attn_placement *p);

/* priors.c */
int attn_is_aside(struct attn_scan *scan, const struct attn_block *b);
/* "(j = 2, 1)": whole numbers that an index is. */
int attn_has_indices(struct attn_scan *scan, const struct attn_block *b);
void attn_block_priors(struct attn_scan *scan, int block, struct attn_priors *out);
/* Of a name alone, as if the block had it. */
void attn_name_priors(struct attn_scan *scan, const struct attn_block *b, const char *name,
                      struct attn_priors *out);
/* assign.c. Memory from the pool of relations. ATTN_ERR_MEMORY only. */
attn_status attn_assign(struct attn_scan *scan, struct attn_relations *relations,
                        const struct attn_priors *priors, struct attn_reading *out);

#endif
