/* brackets.c -- numbers in nested brackets: one pass, into lists of cells, rows and grids. */
#include "brackets.h"

#include <string.h>

/* One pair of brackets. */
struct bracket {
  size_t at, cell; /* where the reader is, where the current cell begins */
  size_t begin;    /* of the bracket */
  uint32_t mate;
  int depth;
  int is_matrix;                            /* in marks: blanks are cells, commas and & separate */
  int has_ampersands;                       /* these alone separate cells */
  size_t first_cell, first_row, first_grid; /* of the reader's lists */
  size_t row_cell;                          /* where the current row begins */
  int parts, rows_of_parts, first_is_row;
  uint32_t separator; /* the last one since a cell; a newline at a row's begin */
  int lines, marks;   /* row ends that are newlines; others */
  size_t first_line;  /* bytes up to the first newline that ends a row */
};

enum { TERM_BYTES = 48, TERM_DEPTH_MAX = 3 };
enum { PRINTED_BYTES = 56 }; /* programs do not break shorter lines */

enum progress { WORDS, MORE, CLOSED };

enum { OPEN = 0x27E6, CLOSE = 0x27E7, ROW = 0x23CE, CELL = 0xA6, ROOT = 0x221A, INFINITE = 0x221E };

uint32_t attn_bracket_mate(uint32_t c) {
  return c == '[' ? ']' : c == '(' ? ')' : c == '{' ? '}' : c == OPEN ? CLOSE : 0;
}

static int is_closing(uint32_t c) { return c == ']' || c == ')' || c == '}' || c == CLOSE; }

static int is_digit(uint32_t c) { return c - '0' < 10; }

static int make_room(struct attn_value_reader *p, void **list, size_t *room, size_t count,
                     size_t size) {
  if (count < *room) return 1;
  size_t wanted = *room ? *room * 2 : 64;
  void *grown = attn_pool_take(p->scan->pool, wanted * size);
  if (!grown) return p->status = attn_scan_no_memory(p->scan), 0;
  if (count) memcpy(grown, *list, count * size);
  *list = grown;
  *room = wanted;
  return 1;
}

static int add_range(struct attn_value_reader *p, struct attn_range **list, size_t *room,
                     size_t *count, size_t first, size_t items) {
  if (!make_room(p, (void **)list, room, *count, sizeof **list)) return 0;
  (*list)[(*count)++] = (struct attn_range){first, items};
  return 1;
}

static int add_cell(struct attn_value_reader *p, const attn_cell *cell, size_t at) {
  size_t origin = p->text->origin[at];
  if (p->cells == ATTN_CELLS_MAX) {
    p->status = attn_scan_fail(p->scan, origin, "a matrix of more than %d numbers", ATTN_CELLS_MAX);
    return 0;
  }
  if (!make_room(p, (void **)&p->cell, &p->cell_room, p->cells, sizeof *cell)) return 0;
  struct attn_source_position place = attn_source_place(&p->scan->source, origin);
  p->cell[p->cells] = *cell;
  p->cell[p->cells].line = place.line;
  p->cell[p->cells++].column = place.column;
  return 1;
}

/* ---- what is inside one pair of brackets ---- */

static int is_blank_cell(const struct bracket *b, uint32_t separator) {
  if (!b->is_matrix) return 0;
  if (b->has_ampersands) return separator == '&' || separator == CELL;
  return separator == ',' && (b->separator == ',' || b->separator == '\n');
}

/* The text since the last separator is a cell, or nothing. 0: words, or an error. */
static int end_cell(struct attn_value_reader *p, struct bracket *b, uint32_t separator) {
  const char *text = p->text->text;
  attn_cell cell;
  size_t begin = b->cell, end = b->at;
  while (begin < end && attn_is_space((unsigned char)text[begin])) begin++;
  while (end > begin && attn_is_space((unsigned char)text[end - 1])) end--;
  if (begin < end || is_blank_cell(b, separator)) {
    if (b->parts || !attn_scan_number(p->scan, text + begin, end - begin, &cell)) return 0;
    if (!add_cell(p, &cell, begin)) return 0;
    b->separator = 0;
  }
  if (!attn_is_space(separator)) b->separator = separator;
  return 1;
}

/* 0: no memory. */
static int end_row(struct attn_value_reader *p, struct bracket *b, int is_line) {
  size_t cells = b->parts ? 0 : p->cells - b->row_cell;
  if (cells && !add_range(p, &p->row, &p->row_room, &p->rows, b->row_cell, cells)) return 0;
  if (cells && is_line && b->lines++ == 0) b->first_line = b->at - b->begin;
  if (cells && !is_line) b->marks++;
  b->row_cell = p->cells;
  b->separator = '\n';
  return 1;
}

int attn_rows_differ(const struct attn_value_reader *p, size_t first, size_t rows) {
  for (size_t r = 1; r < rows; r++)
    if (p->row[first + r].count != p->row[first].count) return 1;
  return 0;
}

/* A long row in several lines, as programs print it: all are as long as the first but the last. */
static int is_wrapped(const struct attn_value_reader *p, const struct bracket *b) {
  size_t rows = p->rows - b->first_row;
  if (b->first_line < PRINTED_BYTES || b->marks || b->lines + 1 != (int)rows) return 0;
  size_t last = p->row[p->rows - 1].count, width = p->row[b->first_row].count;
  return width > 1 && last < width && !attn_rows_differ(p, b->first_row, rows - 1);
}

static enum attn_shape close_cells(struct attn_value_reader *p, struct bracket *b) {
  size_t cells = p->cells - b->row_cell;
  if (cells && !add_range(p, &p->row, &p->row_room, &p->rows, b->row_cell, cells))
    return ATTN_SHAPE_WORDS;
  if (p->rows == b->first_row) return ATTN_SHAPE_WORDS;
  if (is_wrapped(p, b)) {
    p->row[b->first_row].count = p->cells - b->first_cell;
    p->rows = b->first_row + 1;
  }
  size_t rows = p->rows - b->first_row;
  if (!add_range(p, &p->grid, &p->grid_room, &p->grids, b->first_row, rows))
    return ATTN_SHAPE_WORDS;
  return b->is_matrix || rows > 1 ? ATTN_SHAPE_GRID : ATTN_SHAPE_ROW;
}

/* Rows in brackets of their own make one grid. */
static enum attn_shape close_parts(struct attn_value_reader *p, struct bracket *b) {
  if (b->first_is_row && b->rows_of_parts < b->parts) p->mixed = 1;
  if (b->rows_of_parts == b->parts) {
    p->grids = b->first_grid + 1;
    p->grid[b->first_grid].count = p->rows - p->grid[b->first_grid].first;
  }
  return ATTN_SHAPE_PARTS;
}

static enum progress read_part(struct attn_value_reader *p, struct bracket *b) {
  size_t end;
  if (p->cells > b->first_cell && b->parts == 0) return WORDS;
  for (size_t at = b->cell; at < b->at; at++)
    if (!attn_is_space((unsigned char)p->text->text[at])) return WORDS;
  enum attn_shape shape = attn_read_brackets(p, b->at, b->depth + 1, &end);
  if (shape == ATTN_SHAPE_WORDS) return WORDS;
  if (b->parts++ == 0) b->first_is_row = shape == ATTN_SHAPE_ROW;
  b->rows_of_parts += shape == ATTN_SHAPE_ROW;
  b->separator = 0;
  b->at = b->cell = end;
  return MORE;
}

/* Is the bracket at `at` part of an expression: after an operator, a root or a digit? */
static int is_factor(const struct bracket *b, const char *text, size_t at) {
  static const char root[] = "\u221A", times[] = "\u00D7", dot[] = "\u00B7";
  while (at > b->cell && attn_is_space((unsigned char)text[at - 1])) at--;
  if (at == b->cell) return 0;
  if (strchr("0123456789+-*/^", text[at - 1])) return 1;
  return (at - b->cell >= 3 && memcmp(text + at - 3, root, 3) == 0) ||
         (at - b->cell >= 2 &&
          (memcmp(text + at - 2, times, 2) == 0 || memcmp(text + at - 2, dot, 2) == 0));
}

/* The bytes of "(-0.5)", or of "(2 + 1)" in an expression: part of a cell. 0: anything else. */
static size_t term_in_brackets(const struct bracket *b, const struct attn_value_reader *p,
                               size_t at) {
  const char *text = p->text->text;
  size_t begin = at, end = p->text->bytes - at > TERM_BYTES ? at + TERM_BYTES : p->text->bytes;
  int depth = 0, digits = 0, operators = 0;
  for (; at < end; at++) {
    unsigned char c = (unsigned char)text[at];
    depth += (c == '(') - (c == ')');
    if (depth == 0) break;
    if (depth > TERM_DEPTH_MAX || !(c >= 0x80 || c == ' ' || strchr("0123456789.+-*/^()", c)))
      return 0;
    digits += is_digit(c);
    operators +=
        c == '/' || c == '*' || c == '^' || c >= 0x80 || c == '+' || (c == '-' && digits > 0);
  }
  if (at == end || digits == 0) return 0;
  size_t after = at + 1;
  while (after < end && text[after] == ' ') after++;
  int is_number = operators == 0 && memchr(text + begin + 1, '(', at - begin - 1) == NULL;
  int is_divided = after < end && (text[after] == '/' || text[after] == '^' || text[after] == '*');
  return is_number || is_divided || is_factor(b, text, begin) ? at + 1 - begin : 0;
}

/* Also at a newline, except after a comma: then the row is continued. */
static int is_row_end(const struct attn_value_reader *p, const struct bracket *b, uint32_t c) {
  if (c == ROW || c == ';') return 1;
  if (c != '\n' || b->parts || b->is_matrix) return 0;
  return b->cell < b->at || (p->cells > b->first_cell && b->separator != ',');
}

static int is_cell_end(const struct bracket *b, uint32_t c) {
  return c == CELL || c == ',' || (c == '&' && b->is_matrix) ||
         (attn_is_space(c) && !b->has_ampersands);
}

/* "1·2 + 3·4": a blank beside the + or - of products does not end their cell. */
static int is_in_sum(const struct attn_value_reader *p, const struct bracket *b) {
  static const char SUM[] = "(?:[^\\s,;&]*[\\d)]\\s?[\u00B7\u00D7*]\\s?[(\\d][^,;&\\n]*)";
  const char *text = p->text->text;
  size_t at = b->at;
  while (attn_is_space((unsigned char)text[at]) && text[at] != '\n') at++;
  int before = b->at > b->cell && strchr("+-", text[b->at - 1]) != NULL;
  int after = (text[at] == '+' || text[at] == '-') && attn_is_space((unsigned char)text[at + 1]);
  return (before || after) && attn_match_at(p->scan->patterns, SUM, text, b->at, b->cell, NULL);
}

/* The row of a matrix, which may be left to the reader in part: [[1, …], [?, 2]]. */
static int is_row_of(const struct bracket *b) { return b->is_matrix || b->depth > 1; }

static int is_of_a_number(const struct bracket *b, uint32_t c) {
  if (c == '?') return is_row_of(b);
  if (c < 0x80)
    return is_digit(c) || attn_is_space(c) || strchr(".+-/*^eE%)nanNAxif", (int)c) != NULL;
  return c == ROOT || c == 0xD7 || c == 0xB7 || c == INFINITE || (c == 0x2026 && is_row_of(b));
}

/* What a line begins with in quotations, comments and sessions: "> ", "# ", "... ". */
static size_t skip_prompt(const struct attn_value_reader *p, size_t at) {
  const char *text = p->text->text;
  size_t end = at + strspn(text + at, " \t");
  size_t signs = strspn(text + end, text[end] == '>' ? "> " : text[end] == '#' ? "#" : ".");
  if (signs == 0 || (text[end] == '.' && signs < 3)) return at;
  return attn_is_space((unsigned char)text[end + signs]) || text[end] == '>' ? end + signs : at;
}

static enum progress step(struct attn_value_reader *p, struct bracket *b) {
  size_t next;
  uint32_t c = attn_value_character(p, b->at, &next);
  if (attn_bracket_mate(c)) {
    size_t number = c == '(' ? term_in_brackets(b, p, b->at) : 0;
    if (!number) return read_part(p, b);
    b->at += number;
    return MORE;
  }
  if (is_closing(c)) {
    if (c != b->mate && !(b->is_matrix && c == ')')) return WORDS;
    return end_cell(p, b, b->separator == '&' ? '&' : c) ? CLOSED : WORDS;
  }
  if (is_row_end(p, b, c)) {
    if (!end_cell(p, b, b->separator == '&' ? '&' : c) || !end_row(p, b, c == '\n')) return WORDS;
  } else if (is_cell_end(b, c) && !(attn_is_space(c) && is_in_sum(p, b))) {
    if (!end_cell(p, b, c)) return WORDS;
  } else {
    b->at = next;
    return is_of_a_number(b, c) ? MORE : WORDS;
  }
  b->at = b->cell = c == '\n' ? skip_prompt(p, next) : next;
  return MORE;
}

/* Is there an & before the mark that closes this matrix? Remembers where it looked. */
static int has_ampersands(struct attn_value_reader *p, size_t at) {
  if (at < p->from || at > p->close) {
    const char *text = p->text->text, *end = strstr(text + at, ATTN_MARK_CLOSE);
    p->from = at;
    p->close = end ? (size_t)(end - text) : p->text->bytes;
    p->ampersand = at;
    for (size_t n = at + 1; n < p->close; n++)
      if (text[n] == '&' || strncmp(text + n, ATTN_MARK_CELL, 2) == 0) p->ampersand = n;
    if (p->reached < p->close) p->reached = p->close;
  }
  return p->ampersand > at;
}

enum attn_shape attn_read_brackets(struct attn_value_reader *p, size_t at, int depth, size_t *end) {
  struct bracket b = {.begin = at, .depth = depth, .separator = '\n'};
  uint32_t c = attn_value_character(p, at, &b.at);
  if (depth > ATTN_NESTING_MAX) {
    p->status = attn_scan_fail(p->scan, p->text->origin[at],
                               "brackets are nested too deeply: more than %d", ATTN_NESTING_MAX);
    return ATTN_SHAPE_WORDS;
  }
  b.mate = attn_bracket_mate(c);
  b.is_matrix = c == OPEN;
  b.has_ampersands = b.is_matrix && has_ampersands(p, at);
  b.cell = b.at;
  b.first_cell = b.row_cell = p->cells;
  b.first_row = p->rows;
  b.first_grid = p->grids;
  enum progress progress = MORE;
  while (progress == MORE && b.at < p->text->bytes) progress = step(p, &b);
  if (p->reached < b.at) p->reached = b.at;
  if (progress != CLOSED) return ATTN_SHAPE_WORDS;
  attn_value_character(p, b.at, end);
  return b.parts ? close_parts(p, &b) : close_cells(p, &b);
}
