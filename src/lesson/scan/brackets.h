/* brackets.h -- between bracketed.c and brackets.c: numbers in nested brackets. */
#ifndef ATTN_LESSON_BRACKETS_H
#define ATTN_LESSON_BRACKETS_H

#include "text.h"

enum attn_shape {
  ATTN_SHAPE_WORDS, /* not a value, or an error: see reader.status */
  ATTN_SHAPE_ROW,
  ATTN_SHAPE_GRID,
  ATTN_SHAPE_PARTS
};

/* Consecutive items of the list below. */
struct attn_range {
  size_t first, count;
};

/* Rows are ranges of cells, grids are ranges of rows. */
struct attn_value_reader {
  struct attn_scan *scan;
  const struct attn_canonical *text;
  attn_status status;
  attn_cell *cell;
  struct attn_range *row, *grid;
  size_t cells, rows, grids;
  size_t cell_room, row_room, grid_room;
  size_t reached; /* the furthest byte that was looked at */
  size_t budget;  /* bytes that may still be looked at in vain */
  int mixed;      /* rows next to matrices: not a value */
};

/* Reads the value at an opening bracket and appends it to the lists; *end is after it. depth: 0. */
enum attn_shape attn_read_brackets(struct attn_value_reader *p, size_t at, int depth, size_t *end);

/* The bracket that closes c; 0: c opens none. */
uint32_t attn_bracket_mate(uint32_t c);
/* The character at `at` of the reader's text; *next: where the one after it is. */
static inline uint32_t attn_value_character(const struct attn_value_reader *p, size_t at,
                                            size_t *next) {
  return attn_code_point(p->text->text, at, p->text->bytes, next);
}

#endif
