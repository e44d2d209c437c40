/* facts.h -- numbers with the words and indices that they are called by, whatever the layout.
 *
 * A line has facts: keys, then numbers. Facts whose keys are of the same kinds are a table: some
 * keys name its matrices.
 */
#ifndef ATTN_LESSON_FACTS_H
#define ATTN_LESSON_FACTS_H

#include "blocks.h"

enum { ATTN_FACT_KEYS = 12, ATTN_FACTS_MAX = 1500, ATTN_FACT_WORDS_MAX = 600 };

enum attn_key_kind {
  ATTN_KEY_WORD,
  ATTN_KEY_NAME,  /* what an equation is about: s of s12 = 0.5 */
  ATTN_KEY_INDEX, /* 12 of s12, 1 of "row 1" */
};

struct attn_key {
  int kind; /* attn_key_kind */
  int word; /* its index in attn_facts */
};

struct attn_fact {
  const struct attn_block *block; /* of its line: what is above it */
  int section;                    /* the nearest line of text: its word */
  int keys, cells;
  struct attn_key key[ATTN_FACT_KEYS];
  const attn_cell *cell;
  int value; /* the vector that the cells are, -1: none */
};

struct attn_fact_reader; /* fact_tokens.h */

struct attn_facts {
  int words, facts;
  char **word; /* each once */
  struct attn_fact *fact;
  int section;
  struct attn_fact_reader *reader;
  int is_full; /* 1: there are more than are gathered */
};

/* facts.c: the facts of a line. */
void attn_facts_line(struct attn_grouping *g, const struct attn_scan_line *line);

/* pivot.c: facts that are alike, a table -> blocks. */
void attn_facts_pivot(struct attn_grouping *g, struct attn_fact *const *fact, int facts);

/* gather.c: the blocks from `from` on in place of those before that have their numbers. */
void attn_blocks_replace(struct attn_grouping *g, int from);
/* Tables of facts -> blocks, in place of those that have their numbers. */
void attn_facts_merge(struct attn_grouping *g);

#endif
