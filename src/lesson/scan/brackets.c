/* brackets.c -- numbers in nested brackets: one pass, into lists of cells, rows and grids. */
#include "brackets.h"

#include <string.h>

/* One pair of brackets. */
struct bracket {
  size_t at, cell; /* where the reader is, where the current cell begins */
  uint32_t mate;
  int depth;
  int is_matrix;                            /* in marks: blanks are cells, commas and & separate */
  int has_ampersands;                       /* these alone separate cells */
  size_t first_cell, first_row, first_grid; /* of the reader's lists */
  size_t row_cell;                          /* where the current row begins */
  int parts, rows_of_parts, first_is_row;
  uint32_t separator; /* the last one since a cell; a newline at a row's begin */
};

/* A number in brackets, or an expression with digits before or after an operator. */
#define INNER "[-\\d.+*/^ \\x{80}-\\x{10FFFF}]"
#define INNERMOST "\\(" INNER "{1,48}+\\)"
#define NESTED "\\((?:" INNER "|" INNERMOST "){1,48}+\\)"
static const char TERM[] =
    "\\( *[-+]? *[\\d.]+ *\\)|(?=[^\\d)]{0,48}\\d)(?:(?<=[-\\d+*/^\u221A\u00D7\u00B7])|"
    "(?<=[-\\d+*/^\u221A\u00D7\u00B7] )|(?=" NESTED " *[/^*]))" NESTED;
enum progress { WORDS, MORE, CLOSED };

enum { OPEN = 0x27E6, CLOSE = 0x27E7, ROW = 0x23CE, ROOT = 0x221A, INFINITE = 0x221E };

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
  if (b->has_ampersands) return separator == '&';
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
    if (b->parts || !attn_scan_number(text + begin, end - begin, &cell)) return 0;
    if (!add_cell(p, &cell, begin)) return 0;
    b->separator = 0;
  }
  if (!attn_is_space(separator)) b->separator = separator;
  return 1;
}

/* 0: no memory. */
static int end_row(struct attn_value_reader *p, struct bracket *b) {
  size_t cells = b->parts ? 0 : p->cells - b->row_cell;
  if (cells && !add_range(p, &p->row, &p->row_room, &p->rows, b->row_cell, cells)) return 0;
  b->row_cell = p->cells;
  b->separator = '\n';
  return 1;
}

static enum attn_shape close_cells(struct attn_value_reader *p, struct bracket *b) {
  if (!end_row(p, b) || p->rows == b->first_row) return ATTN_SHAPE_WORDS;
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

/* The bytes of "(-0.5)", or of "(2 + 1)" in an expression: part of a cell. 0: anything else. */
static size_t term_in_brackets(const struct bracket *b, const struct attn_value_reader *p) {
  struct attn_match m;
  const char *cell = p->text->text + b->cell;
  size_t bytes = p->text->bytes - b->cell;
  if (!attn_match_at(p->scan->patterns, TERM, cell, bytes, b->at - b->cell, &m)) return 0;
  return m.group[0].end - m.group[0].begin;
}

/* Also at a newline, except after a comma: then the row is continued. */
static int is_row_end(const struct attn_value_reader *p, const struct bracket *b, uint32_t c) {
  if (c == ROW || c == ';') return 1;
  if (c != '\n' || b->parts || b->is_matrix) return 0;
  return b->cell < b->at || (p->cells > b->first_cell && b->separator != ',');
}

static int is_cell_end(const struct bracket *b, uint32_t c) {
  return c == ',' || (c == '&' && b->is_matrix) || (attn_is_space(c) && !b->has_ampersands);
}

enum { BLANKS_MAX = 40 }; /* in front of a sign */

/* "1·2 + 3·4": a blank beside the + or - of products does not end their cell. */
static int is_in_sum(const struct attn_value_reader *p, const struct bracket *b) {
  static const char SUM[] = "[^\\s,;&]{0,40}[\\d)]\\s?[\u00B7\u00D7*]\\s?[(\\d]";
  const char *text = p->text->text;
  size_t at = b->at, end = b->at + BLANKS_MAX;
  if (b->at == b->cell) return 0;
  while (at < end && attn_is_space((unsigned char)text[at]) && text[at] != '\n') at++;
  int before = b->at > b->cell && strchr("+-", text[b->at - 1]) != NULL;
  int after = (text[at] == '+' || text[at] == '-') && attn_is_space((unsigned char)text[at + 1]);
  return (before || after) && attn_match_at(p->scan->patterns, SUM, text, b->at, b->cell, NULL);
}

/* In the row of a matrix also one that is left to the reader: [[1, …], [?, 2]]. */
static int is_of_a_number(const struct bracket *b, uint32_t c) {
  if (c == '?' || c == 0x2026) return b->is_matrix || b->depth > 1;
  if (c < 0x80)
    return is_digit(c) || attn_is_space(c) || strchr(".+-/*^eE%)nanNAxif", (int)c) != NULL;
  return c == ROOT || c == 0xD7 || c == 0xB7 || c == INFINITE;
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
    size_t number = c == '(' ? term_in_brackets(b, p) : 0;
    if (!number) return read_part(p, b);
    b->at += number;
    return MORE;
  }
  if (is_closing(c)) {
    if (c != b->mate && !(b->is_matrix && c == ')')) return WORDS;
    return end_cell(p, b, b->separator == '&' ? '&' : c) ? CLOSED : WORDS;
  }
  if (is_row_end(p, b, c)) {
    if (!end_cell(p, b, b->separator == '&' ? '&' : c) || !end_row(p, b)) return WORDS;
  } else if (is_cell_end(b, c) && !(attn_is_space(c) && is_in_sum(p, b))) {
    if (!end_cell(p, b, c)) return WORDS;
  } else {
    b->at = next;
    return is_of_a_number(b, c) ? MORE : WORDS;
  }
  b->at = b->cell = c == '\n' ? skip_prompt(p, next) : next;
  return MORE;
}

/* Is there an & before the next mark of a matrix? */
static int has_ampersands(struct attn_value_reader *p, size_t at) {
  size_t begin = at + strlen(ATTN_MARK_OPEN), end = attn_next_matrix_mark(p->text, begin);
  if (p->reached < end) p->reached = end;
  return memchr(p->text->text + begin, '&', end - begin) != NULL;
}

enum attn_shape attn_read_brackets(struct attn_value_reader *p, size_t at, int depth, size_t *end) {
  struct bracket b = {.depth = depth, .separator = '\n'};
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
