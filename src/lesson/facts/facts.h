/* facts.h -- numbers with the words and indices that they are called by, whatever the layout.
 *
 * A line, a term of a list and a row of a table are one thing here: keys, then numbers. Facts whose
 * keys are of the same kinds are a table, of which some keys count rows and columns.
 */
#ifndef ATTN_LESSON_FACTS_H
#define ATTN_LESSON_FACTS_H

#include "blocks.h"

enum { ATTN_FACT_KEYS = 12, ATTN_FACTS_MAX = 1500, ATTN_FACT_WORDS_MAX = 600 };

enum attn_key_kind {
  ATTN_KEY_WORD,
  ATTN_KEY_NAME,  /* what an equation is about: s of s12 = 0.5 */
  ATTN_KEY_INDEX, /* 1 and 2 of s12, of "row 1", of score(1, 2) */
};

struct attn_key {
  int kind; /* attn_key_kind */
  int word; /* its index in attn_facts */
};

/* What is above a line. */
struct attn_fact_place {
  int section; /* the nearest line of text: its word */
  int outer;   /* the nearest of those that are indented less */
  int line;    /* its index in the document */
  int captions;
  char *caption[ATTN_CAPTIONS];
};

struct attn_fact {
  const struct attn_fact_place *place;
  uint64_t template; /* of a line that is one fact: its signs, and where words and numbers are */
  int keys, cells;
  struct attn_key key[ATTN_FACT_KEYS];
  const attn_cell *cell;
  int counts;  /* the first cells that are keys: they count */
  int *header; /* of a row of a table: the word above each cell; NULL: none */
  int value;   /* the vector that the cells are, -1: none */
};

struct attn_fact_reader; /* facts.c */

struct attn_facts {
  int words, facts;
  char **word; /* each once */
  struct attn_fact *fact;
  int line, section, outer;
  int indent, outer_indent; /* of their lines */
  struct attn_row header;   /* of the table that the last lines are; items 0: none */
  int *header_word;
  struct attn_fact_reader *reader;
  int is_full; /* 1: there are more than are gathered */
};

/* facts.c: the index of a word, which is added if it is a new one. */
int attn_fact_word(struct attn_grouping *g, const char *text, struct attn_part part);
/* The facts of a line. */
void attn_facts_line(struct attn_grouping *g, const struct attn_scan_line *line);

/* pivot.c: facts that are alike, a table -> blocks. */
void attn_facts_pivot(struct attn_grouping *g, struct attn_fact *const *fact, int facts);

/* gather.c: tables of facts -> blocks, in place of those that have their numbers. */
void attn_facts_merge(struct attn_grouping *g);

#endif
