/* results.h -- between results.c and groups.c: the numbers of one sentence. */
#ifndef ATTN_LESSON_RESULTS_H
#define ATTN_LESSON_RESULTS_H

#include "blocks.h"

/* Numbers of different kinds in one sentence are different quantities. The text that names each. */
enum attn_result_kind {
  ATTN_RESULT_OTHER,
  ATTN_RESULT_EXPONENTIAL,
  ATTN_RESULT_TOTAL,
  ATTN_RESULT_QUOTIENT,
  ATTN_RESULT_WEIGHT,
  ATTN_RESULT_KINDS,
  ATTN_RESULT_DROPPED = ATTN_RESULT_KINDS
};

struct attn_result {
  attn_cell cell;
  size_t at, end;
  char *name;
  int kind;
  int is_list; /* without signs of equality */
};

struct attn_results {
  struct attn_result *item;
  int count;
  size_t bytes; /* of the line */
};

/* results.c. What a text names; is the block before one of exponentials? The place of a sum of
 * exponentials after `blocks` blocks: below them, also where a vector of weights is next; 0: none.
 */
int attn_result_kind_of(struct attn_grouping *g, const char *name);
int attn_follows_exponentials(struct attn_grouping *g, int block);
int attn_place_of_sum(struct attn_grouping *g, int blocks);

/* groups.c: those of one kind next to each other are a block, or continue one of the line above;
 * what the vectors of the line repeat is dropped. Sorts the results. */
void attn_results_group(struct attn_grouping *g, const struct attn_scan_line *line,
                        struct attn_results *r);

#endif
