/* placed.h -- the numbers of steps by where they are printed, and what is written around them. */
#ifndef ATTN_LESSON_PLACED_H
#define ATTN_LESSON_PLACED_H

#include "account.h"

/* A printed number of a step. */
struct attn_placed {
  uint64_t place; /* attn_cell_place */
  const attn_example *example;
  const attn_step *step;
  const attn_printing *printing;
  int row, col; /* of the step */
};

/* The document's text, and the numbers of its steps. */
struct attn_placing {
  struct attn_account *a;
  const char *text; /* as it is in the file */
  size_t bytes;
  size_t count;
  struct attn_placed *placed; /* sorted */
  int failed;                 /* no memory */
};

/* Are the rows of a block rows that a step shows, in their order if they are all? Then it mentions
 * them. */
int attn_has_rows_of(const attn_printing *shown, const attn_printing *p);
void attn_place_numbers(struct attn_placing *p, struct attn_account *a);
/* The first number of a step at an offset or after it. NULL: there is none in so many lines. */
const struct attn_placed *attn_next_placed(const struct attn_placing *p, size_t at, int lines);
/* The last one in front of an offset, in its line. NULL: there is none. */
const struct attn_placed *attn_last_placed(const struct attn_placing *p, size_t at);
/* The first one after an offset, at most so many columns after it and with no digit between; NULL:
 * there is none. */
const struct attn_placed *attn_placed_after(const struct attn_placing *p, size_t at, int columns);
/* The line and column of an offset, in a blank cell. */
attn_cell attn_placing_cell(const struct attn_placing *p, size_t at);
/* attn_find in the text. */
int attn_placing_find(const struct attn_placing *p, const char *pattern, size_t from,
                      struct attn_match *m);
/* Lists a number of the text as not read, with the words from begin on. */
void attn_list_number(struct attn_placing *p, struct attn_part number, size_t begin);

/* Lists the number of the first group of each match that differs from what it should be. */
void attn_list_numbers(struct attn_placing *p, const char *pattern,
                       int (*differs)(const struct attn_placing *, const struct attn_match *));

/* indices.c. Lists indices, sizes and prompts that do not agree with the numbers around. */
void attn_list_indices(struct attn_placing *p);
/* factors.c. Lists factors and divisors that are not those of the number that they make. */
void attn_list_factors(struct attn_placing *p);

#endif
