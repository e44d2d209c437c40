/* bracketed.c -- which brackets are values: vectors, matrices and tensors. */
#include <string.h>

#include "brackets.h"
#include "error.h"

enum { ROW_END = 0x23CE, ROOT = 0x221A, INFINITE = 0x221E };

/* f(1, 2) is a call; 2(3), and a bracket after Japanese words, may be values. */
static int is_call(const struct attn_value_reader *p, size_t at) {
  const char *text = p->text->text;
  size_t begin = at, next;
  if (at == 0 || text[at] != '(') return 0;
  do begin--;
  while (begin > 0 && ((unsigned char)text[begin] & 0xC0) == 0x80);
  uint32_t c = attn_value_character(p, begin, &next);
  if (c < 0x80) return c == '_' || (c | 32) - 'a' < 26;
  return c <= 0x2FFF &&
         attn_match_at(p->scan->patterns, "\\p{L}", text, p->text->bytes, begin, NULL);
}

/* weights[0, 1] is a cell; Float64[0, 1] and Vector[0, 1] are vectors. [0, 1].map(c => ..) counts.
 */
static int is_index(const struct attn_value_reader *p, size_t at) {
  static const char INDICES[] =
      "(?<=[a-z_]|\\b[A-Z])(?<!\\b[A-Z][a-z]{2}|\\b[A-Z][a-z]{5})\\[\\d{1,2}(?:\\s?,\\s?\\d{1,2}){"
      "1,2}\\]|\\[0(?:, ?\\d)++\\]\\.(?:map|forEach)\\(";
  return p->text->text[at] == '[' &&
         attn_match_at(p->scan->patterns, INDICES, p->text->text, p->text->bytes, at, NULL);
}

static size_t skip_spaces(const struct attn_value_reader *p, size_t at, size_t most) {
  size_t end = p->text->bytes - at > most ? at + most : p->text->bytes;
  while (at < end && attn_is_space((unsigned char)p->text->text[at])) at++;
  return at < end ? at : p->text->bytes;
}

/* Does it begin as numbers do? */
static int may_be_value(const struct attn_value_reader *p, size_t at) {
  size_t next;
  uint32_t c = attn_value_character(p, at, &next);
  if (!attn_bracket_mate(c) || is_call(p, at) || is_index(p, at)) return 0;
  at = skip_spaces(p, next, 40);
  if (at == p->text->bytes) return 0;
  const char *text = p->text->text + at;
  c = attn_value_character(p, at, &next);
  if (attn_bracket_mate(c) || c - '0' < 10 || c == ROOT || c == INFINITE || c == ROW_END) return 1;
  if (c == '-' || c == '+' || c == '.') return 1;
  return attn_match_at(p->scan->patterns, "(?i)nan|inf", text, p->text->bytes - at, 0, NULL);
}

/* [1] alone is a reference, = [1] is a vector. */
static int follows_equals(const struct attn_value_reader *p, size_t at) {
  const char *text = p->text->text;
  size_t begin = at;
  while (begin > 0 && at - begin < 6 && attn_is_space((unsigned char)text[begin - 1])) begin--;
  return begin > 0 && at - begin < 6 && (text[begin - 1] == '=' || text[begin - 1] == ':');
}

static int check_widths(struct attn_value_reader *p, const struct attn_range *grid) {
  size_t width = p->row[grid->first].count;
  for (size_t r = grid->first + 1; r < grid->first + grid->count; r++) {
    const struct attn_range *row = &p->row[r];
    const attn_cell *cell = &p->cell[row->first];
    if (row->count == width) continue;
    p->status = attn_fail_at(p->scan->err, ATTN_ERR_FORMAT, cell->line, cell->column,
                             "row %zu has %zu numbers, but the rows above have %zu: give all rows "
                             "of a matrix the same length",
                             r - grid->first + 1, row->count, width);
    return 0;
  }
  return 1;
}

/* The cells of a grid are consecutive. 0: an error. */
static int copy_grid(struct attn_value_reader *p, const struct attn_range *grid, size_t origin,
                     attn_printing *out) {
  struct attn_source_position place = attn_source_place(&p->scan->source, origin);
  size_t columns = p->row[grid->first].count, cells = columns * grid->count;
  if (!check_widths(p, grid)) return 0;
  out->rows = (int32_t)grid->count;
  out->cols = (int32_t)columns;
  out->line = place.line;
  out->column = place.column;
  out->cells = attn_pool_take(p->scan->pool, cells * sizeof *out->cells);
  if (!out->cells) return p->status = attn_scan_no_memory(p->scan), 0;
  memcpy(out->cells, &p->cell[p->row[grid->first].first], cells * sizeof *out->cells);
  return 1;
}

static int copy_value(struct attn_value_reader *p, size_t at, enum attn_shape shape,
                      struct attn_scan_value *value) {
  memset(value, 0, sizeof *value);
  value->grid = attn_pool_take(p->scan->pool, p->grids * sizeof *value->grid);
  if (!value->grid) return p->status = attn_scan_no_memory(p->scan), 0;
  value->grids = (int)p->grids;
  for (size_t g = 0; g < p->grids; g++)
    if (!copy_grid(p, &p->grid[g], p->text->origin[at], &value->grid[g])) return 0;
  value->is_vector = shape == ATTN_SHAPE_ROW && p->grids == 1 && p->grid[0].count == 1;
  return 1;
}

/* What was read in vain is read again, from the next bracket on: only so often. */
static int charge(struct attn_value_reader *p, size_t at) {
  size_t bytes = p->reached > at ? p->reached - at : 0;
  if (bytes <= p->budget) return p->budget -= bytes, 0;
  p->status = attn_scan_fail(p->scan, p->text->origin[at],
                             "too many brackets that are not closed: close this one");
  return 0;
}

/* "MMULT(EXP(A2:B3), {1; 1})": a column of ones as an argument only adds up. */
static int is_summing_column(const struct attn_value_reader *p, size_t at, size_t end) {
  const char *text = p->text->text;
  while (at > 0 && attn_is_space((unsigned char)text[at - 1])) at--;
  if (at == 0 || text[at - 1] != ',' || end >= p->text->bytes || text[end] != ')') return 0;
  if (p->grids != 1 || p->rows < 2 || p->cells != p->rows) return 0;
  for (size_t n = 0; n < p->cells; n++)
    if (p->cell[n].kind != ATTN_CELL_NUMBER || p->cell[n].value != 1) return 0;
  return 1;
}

static int is_value(struct attn_value_reader *p, size_t at, size_t end, enum attn_shape shape) {
  if (shape == ATTN_SHAPE_WORDS || p->mixed || is_summing_column(p, at, end)) return 0;
  char c = p->text->text[at];
  return p->cells >= 2 || (c != '(' && c != '{' && follows_equals(p, at));
}

static enum attn_shape read_shape(struct attn_value_reader *p, size_t at, size_t *end) {
  p->cells = p->rows = p->grids = 0;
  p->mixed = 0;
  p->reached = at;
  return attn_read_brackets(p, at, 1, end);
}

int attn_read_value(struct attn_value_reader *p, size_t at, struct attn_scan_value *value,
                    size_t *end) {
  if (!may_be_value(p, at)) return 0;
  enum attn_shape shape = read_shape(p, at, end);
  if (p->status != ATTN_OK) return 0;
  return is_value(p, at, *end, shape) ? copy_value(p, at, shape, value) : charge(p, at);
}

/* Do the rows differ in length? */
static int rows_differ(const struct attn_value_reader *p, const struct attn_range *grid) {
  for (size_t r = 1; r < grid->count; r++)
    if (p->row[grid->first + r].count != p->row[grid->first].count) return 1;
  return 0;
}

int attn_read_array(struct attn_value_reader *p, size_t at, int strict, attn_printing *table,
                    size_t *end) {
  enum attn_shape shape = read_shape(p, at, end);
  if (p->status != ATTN_OK) return 0;
  if (shape == ATTN_SHAPE_WORDS || p->mixed) return charge(p, at);
  if (p->grids != 1 || (!strict && rows_differ(p, p->grid))) return 0;
  *table = (attn_printing){.rows = 0};
  return copy_grid(p, &p->grid[0], p->text->origin[at], table);
}

attn_status attn_value_status(const struct attn_value_reader *p) { return p->status; }

struct attn_value_reader *attn_value_reader_new(struct attn_scan *scan,
                                                const struct attn_canonical *text) {
  struct attn_value_reader *p = attn_pool_take(scan->pool, sizeof *p);
  if (!p) return NULL;
  p->scan = scan;
  p->text = text;
  p->budget = text->bytes * 4 + 65536;
  return p;
}
