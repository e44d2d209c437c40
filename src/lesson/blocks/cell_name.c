/* cell_name.c -- a matrix in a cell of a table is called what its column is called. */
#include "blocks.h"
#include "table.h"

enum { LINE_BYTES = 4096 }; /* cells further right have no name: each counts those before it */

/* How many cells are before a place? */
static int column_of(const char *text, size_t at) {
  size_t n = 0;
  int column = 0;
  if (at > LINE_BYTES) return 0;
  while (attn_is_blank(text[n])) n++;
  for (n += text[n] == '|'; n < at; n++) column += text[n] == '|';
  return column;
}

char *attn_cell_name(struct attn_grouping *g, const struct attn_row *columns,
                     const struct attn_scan_line *line, struct attn_part front) {
  static const char WORD[] = "(*UCP)\\pL";
  struct attn_match m;
  int column = columns->style == ATTN_ROW_PIPES ? column_of(line->text, front.end) : 0;
  if (column < 1 || column >= columns->items || attn_part_find(g, WORD, line->text, front, &m))
    return NULL;
  char *name = attn_item_text(g, columns, column);
  return name && attn_label_step(name) >= 0 ? name : NULL;
}
