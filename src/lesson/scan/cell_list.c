/* cell_list.c -- the cells of a spreadsheet, one in a line with its address and formula, "B9
 * =$B2*B$5 4": those of a range, row by row -> a matrix, named as in "W_Q in B5:C6". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "text.h"

#define NUMBER "-?(?:\\d++(?:\\.\\d++)?+|\\.\\d++)"
/* Groups: the column, the row, the number. A sum is not a cell of a matrix. */
static const char CELL[] =
    "(?m)^[ \\t]*+([A-Z])(\\d{1,3})\\t(?:=(?!SUM\\()[^\\t\\n]++|\\([^()\\t\\n]*+\\)|)\\t(" NUMBER
    ")[ \\t]*+$";

enum { CELLS_MAX = 256, ADDRESS_BYTES = 24 };

struct listed_cell {
  int col, row;
  struct attn_part number;
};

struct listing {
  struct attn_rewrite *r;
  int cells; /* that were listed so far */
  struct listed_cell cell[CELLS_MAX];
  int first, width;        /* of the range that is open; width 0: its first row has not ended */
  size_t begin, end, done; /* of its lines; how much of the text is copied */
};

static int open_cells(const struct listing *l) { return l->cells - l->first; }

/* The next cell, of the same row or of the next one? */
static int continues(const struct listing *l, int col, int row, size_t at) {
  const struct listed_cell *first = &l->cell[l->first];
  int cells = open_cells(l), width = l->width ? l->width : cells;
  if (!cells || at != l->end + 1) return 0;
  if (!l->width && row == first->row && col == first->col + cells) return 1;
  return row == first->row + cells / width && col == first->col + cells % width;
}

/* W_Q of "W_Q in B5:C6"; an empty part: the range has no name. */
static struct attn_part name_of(const struct listing *l, const char *text) {
  char address[ADDRESS_BYTES];
  const struct listed_cell *first = &l->cell[l->first], *last = &l->cell[l->cells - 1];
  snprintf(address, sizeof address, "%c%d:%c%d", 'A' + first->col, first->row, 'A' + last->col,
           last->row);
  const char *found = strstr(text, address);
  if (found && attn_is_digit(found[strlen(address)])) found = NULL; /* B5:C60 */
  struct attn_part p = {0, found ? (size_t)(found - text) : 0};
  while (p.end && strchr(" (=:", text[p.end - 1])) p.end--;
  if (p.end > 3 && (!strncmp(text + p.end - 3, " in", 3) || !strncmp(text + p.end - 3, " at", 3)))
    p.end -= 3;
  for (p.begin = p.end; p.begin && (attn_is_letter(text[p.begin - 1]) || text[p.begin - 1] == '_');)
    p.begin--;
  return p;
}

static void add_matrix(struct listing *l) {
  const struct attn_canonical *from = &l->r->text->now;
  struct attn_part name = name_of(l, from->text);
  uint32_t origin = from->origin[l->begin];
  attn_text_copy(l->r->spare, from, l->done, l->begin);
  attn_text_copy(l->r->spare, from, name.begin, name.end);
  if (name.begin < name.end) attn_text_add(l->r->spare, " = ", 3, origin);
  attn_text_add(l->r->spare, ATTN_MARK_OPEN, strlen(ATTN_MARK_OPEN), origin);
  for (int n = l->first; n < l->cells; n++) {
    const char *between = (n - l->first) % l->width ? " " : ATTN_MARK_ROW;
    if (n > l->first) attn_text_add(l->r->spare, between, strlen(between), origin);
    attn_text_copy(l->r->spare, from, l->cell[n].number.begin, l->cell[n].number.end);
  }
  attn_text_add(l->r->spare, ATTN_MARK_CLOSE, strlen(ATTN_MARK_CLOSE), origin);
  l->done = l->end;
}

/* Replaces the lines of the range, if they are a matrix. */
static void end_range(struct listing *l) {
  if (!l->width) l->width = open_cells(l);
  if (open_cells(l) > 1 && open_cells(l) % l->width == 0) add_matrix(l);
  l->first = l->cells, l->width = 0;
}

static void add_cell(struct listing *l, const struct attn_match *m) {
  const char *text = l->r->text->now.text;
  int col = text[m->group[1].begin] - 'A', row = atoi(text + m->group[2].begin);
  if (open_cells(l) && !continues(l, col, row, m->group[0].begin)) end_range(l);
  if (open_cells(l) && !l->width && row > l->cell[l->first].row) l->width = open_cells(l);
  if (!open_cells(l)) l->begin = m->group[0].begin;
  l->cell[l->cells++] = (struct listed_cell){col, row, m->group[3]};
  l->end = m->group[0].end;
}

void attn_rewrite_cell_list(struct attn_rewrite *r) {
  const struct attn_canonical *from = &r->text->now;
  struct listing l = {.r = r};
  struct attn_match m;
  if (r->text->failed || !from->bytes || !strchr(from->text, '\t')) return;
  if (!attn_find(r->scan->patterns, CELL, from->text, from->bytes, 0, &m)) return;
  attn_text_clear(r->spare);
  do add_cell(&l, &m);
  while (l.cells < CELLS_MAX &&
         attn_find(r->scan->patterns, CELL, from->text, from->bytes, m.group[0].end, &m));
  if (l.cells < CELLS_MAX) end_range(&l);
  attn_rewrite_end(r, l.done);
}
