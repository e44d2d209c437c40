/* build.c -- cells that come one by one become a matrix, or a mistake that is named. */
#include <string.h>

#include "reader.h"

int attn_build_cell(struct attn_builder *b, attn_cell cell, size_t offset) {
  struct attn_reader *r = b->r;
  if (b->count >= ATTN_CELLS_MAX)
    return attn_reader_fail(r, offset,
                            "a matrix of more than %d numbers: too large for a worked example",
                            ATTN_CELLS_MAX);
  if (attn_pool_grow(r->pool, (void **)&b->cells, b->count, sizeof *b->cells))
    return attn_reader_no_memory(r);
  struct attn_source_position place = attn_source_place(&r->source, offset);
  cell.line = place.line;
  cell.column = place.column;
  if (b->count == b->row_start) b->row_begin = offset;
  if (b->count == 0) b->begin = offset;
  b->cells[b->count++] = cell;
  b->numbers += cell.kind != ATTN_CELL_BLANK;
  return ATTN_YES;
}

int attn_build_value(struct attn_builder *b, const struct attn_expression_value *value) {
  if (!value->table) return attn_build_cell(b, value->one, value->begin);
  if (value->table->rows != 1) return ATTN_NO;
  for (int i = 0; i < value->table->cols; i++) {
    int result = attn_build_cell(b, value->table->cells[i], value->begin);
    if (result != ATTN_YES) return result;
  }
  return ATTN_YES;
}

/* x, x_1, \alpha, q \cdot k: what a formula may say where a number could stand. "abc" and "1.2.3"
 * are none of these. */
static int looks_symbolic(const struct attn_reader *r, size_t begin, size_t end) {
  int letters = 0, longest = 0;
  unsigned char first = (unsigned char)r->source.text[begin];
  if ((first >= '0' && first <= '9') || first == '.') return 0;
  for (size_t i = begin; i < end; i++) {
    unsigned char c = (unsigned char)r->source.text[i];
    if (c == '\\' || c == '_' || c == '^' || c == '(') return 1;
    letters = (c | 32) >= 'a' && (c | 32) <= 'z' ? letters + 1 : 0;
    if (letters > longest) longest = letters;
  }
  return longest == 1 && end - begin <= 8;
}

int attn_build_odd(struct attn_builder *b, size_t begin, size_t end) {
  struct attn_span odd = attn_trim(b->r, (struct attn_span){begin, end});
  if (!b->symbols && !b->words) b->odd = odd.begin, b->odd_end = odd.end;
  if (odd.begin < odd.end && looks_symbolic(b->r, odd.begin, odd.end))
    b->symbols++;
  else
    b->words++;
  return attn_build_cell(b, attn_cell_blank(), odd.begin);
}

int attn_build_ditto(struct attn_builder *b, long row, size_t offset) {
  size_t column = b->count - b->row_start;
  size_t above = row ? (size_t)(row - 1) : (size_t)b->rows - 1;
  if (b->rows == 0 || above >= (size_t)b->rows || column >= (size_t)b->cols)
    return attn_build_odd(b, offset, offset);
  return attn_build_cell(b, b->cells[above * (size_t)b->cols + column], offset);
}

/* One ellipsis for a whole row, or one ditto. */
static int widen_row(struct attn_builder *b) {
  attn_cell only = b->cells[b->row_start];
  int ditto = b->rows > 0 && memcmp(&only.value, &b->cells[b->row_start - (size_t)b->cols].value,
                                    sizeof only.value) == 0;
  if (only.kind != ATTN_CELL_BLANK && !ditto) return ATTN_NO;
  for (int i = 1; i < b->cols; i++) {
    attn_cell cell = only;
    if (only.kind != ATTN_CELL_BLANK) cell = b->cells[b->row_start - (size_t)b->cols + (size_t)i];
    int result = attn_build_cell(b, cell, b->row_begin);
    if (result != ATTN_YES) return result;
    b->cells[b->count - 1].line = only.line;
    b->cells[b->count - 1].column = only.column;
  }
  return ATTN_YES;
}

static int ragged(struct attn_builder *b, size_t cells) {
  if (b->lenient || b->words + b->symbols > b->numbers) return ATTN_NO;
  return attn_reader_fail(b->r, b->row_begin,
                          "row %d has %zu numbers, but the rows above have %d: all rows of a "
                          "matrix need the same count",
                          b->rows + 1, cells, b->cols);
}

int attn_build_row(struct attn_builder *b, size_t next) {
  size_t cells = b->count - b->row_start;
  if (cells == 0) return ATTN_YES;
  if (b->cols == 0) b->cols = (int)cells;
  if (cells == 1 && b->cols > 1) {
    int result = widen_row(b);
    if (result == ATTN_FAILED) return result;
    cells = b->count - b->row_start;
  }
  if (cells != (size_t)b->cols) return ragged(b, cells);
  b->rows++;
  b->row_start = b->count;
  b->row_begin = next;
  return ATTN_YES;
}

/* A matrix of symbols is a formula; one odd cell among numbers is a mistake. */
static int judge_odd_cells(struct attn_builder *b) {
  int odd = b->symbols + b->words;
  if (odd == 0) return b->numbers ? ATTN_YES : ATTN_NO;
  int mistake = b->numbers > odd && (b->words || (odd == 1 && b->numbers >= 3));
  if (!mistake || b->lenient) return ATTN_NO;
  size_t length = b->odd_end - b->odd;
  if (length == 0) return attn_reader_fail(b->r, b->odd, "a cell \"same\" without a row above it");
  return attn_reader_fail(b->r, b->odd,
                          "\"%.*s\" is not a number: write a number, a fraction, -inf, or ? for "
                          "an unknown value",
                          (int)(length > 60 ? 60 : length), b->r->source.text + b->odd);
}

int attn_build_end(struct attn_builder *b, attn_printing **table) {
  int result = attn_build_row(b, b->row_begin);
  if (result != ATTN_YES) return result;
  result = judge_odd_cells(b);
  if (result != ATTN_YES) return result;
  *table = attn_pool_take(b->r->pool, sizeof **table);
  if (!*table) return attn_reader_no_memory(b->r);
  struct attn_source_position place = attn_source_place(&b->r->source, b->begin);
  **table = (attn_printing){.rows = b->rows,
                            .cols = b->cols,
                            .line = place.line,
                            .column = place.column,
                            .cells = b->cells};
  return ATTN_YES;
}
