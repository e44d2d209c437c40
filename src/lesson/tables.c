/* tables.c -- Markdown pipe tables, and tables that a copy robbed of their pipes. */
#include <string.h>

#include "reader.h"

enum { COLUMNS_MAX = 1024 };

/* Cells as spans, row by row. */
struct text_grid {
  struct attn_span *cells;
  size_t count;
  int rows, cols;
  int bordered;  /* its first row begins with a pipe */
  size_t uneven; /* 1 + where the first row of another length begins; 0: none */
};

static struct attn_span *grid_at(const struct text_grid *g, int row, int col) {
  return &g->cells[(size_t)row * (size_t)g->cols + (size_t)col];
}

static int is_separator(const struct attn_reader *r, struct attn_span line) {
  int dashes = 0, pipes = 0;
  for (size_t i = line.begin; i < line.end; i++) {
    char c = r->source.text[i];
    if (c != '-' && c != '|' && c != ':' && c != ' ' && c != '+' && c != '\t') return 0;
    dashes += c == '-';
    pipes += c == '|' || c == '+';
  }
  return dashes > 1 && pipes > 0;
}

static size_t find_pipe(const struct attn_reader *r, size_t at, size_t end) {
  for (; at < end; at++) {
    if (r->source.text[at] == '|') return at;
    if (r->source.text[at] == '\\') at++;
  }
  return end;
}

/* How many cells a row has; stores up to limit of them. */
static int split_row(const struct attn_reader *r, struct attn_span line, struct attn_span *cells,
                     int limit, int bordered) {
  int count = 0;
  if (bordered && r->source.text[line.begin] == '|') line.begin++;
  if (line.end > line.begin && r->source.text[line.end - 1] == '|') line.end--;
  for (size_t at = line.begin; count < limit; count++) {
    size_t pipe = find_pipe(r, at, line.end);
    cells[count] = attn_trim(r, (struct attn_span){at, pipe});
    at = pipe + 1;
    if (pipe >= line.end) return count + 1;
  }
  return count + 1;
}

/* A row of the grid; rows that are short get empty cells, long ones lose theirs: as Markdown does.
 */
static int grid_row(struct attn_reader *r, struct text_grid *g, struct attn_span line) {
  struct attn_span cells[COLUMNS_MAX];
  int count = split_row(r, line, cells, COLUMNS_MAX, 1);
  /* Without borders a row may begin with an empty cell. */
  if (count < g->cols && !g->bordered && r->source.text[line.begin] == '|')
    count = split_row(r, line, cells, COLUMNS_MAX, 0);
  if (g->cols == 0) g->bordered = r->source.text[line.begin] == '|';
  if (g->cols && count != g->cols && !g->uneven) g->uneven = line.begin + 1;
  if (g->cols == 0) g->cols = count <= COLUMNS_MAX ? count : COLUMNS_MAX;
  for (int i = 0; i < g->cols; i++) {
    if (attn_pool_grow(r->pool, (void **)&g->cells, g->count, sizeof *g->cells))
      return attn_reader_no_memory(r);
    struct attn_span none = {line.end, line.end};
    g->cells[g->count++] = i < count ? cells[i] : none;
  }
  g->rows++;
  return ATTN_YES;
}

/* What stands between \( and \), $ and $, ** and **, or the cell itself. */
static struct attn_span unwrap(const struct attn_reader *r, struct attn_span s) {
  if (s.end - s.begin >= 4 && attn_starts(r, s.begin, s.end, "\\(") &&
      attn_starts(r, s.end - 2, s.end, "\\)"))
    return attn_trim(r, (struct attn_span){s.begin + 2, s.end - 2});
  while (s.end - s.begin > 2 && strchr("$`*", r->source.text[s.begin]) &&
         r->source.text[s.begin] == r->source.text[s.end - 1])
    s.begin++, s.end--;
  return attn_trim(r, s);
}

/* A cell that is one number. */
static int scalar_cell(struct attn_reader *r, struct attn_span span,
                       struct attn_expression_value *value) {
  span = unwrap(r, span);
  struct attn_cursor c = attn_cursor_at(r, span.begin, span.end);
  int result = attn_advance(&c);
  if (result == ATTN_YES) result = attn_expression(&c, value);
  if (result != ATTN_YES) return result;
  return value->table || c.token.kind != ATTN_TOKEN_END ? ATTN_NO : ATTN_YES;
}

static int vector_cell(struct attn_reader *r, struct attn_span span, attn_printing **table) {
  span = unwrap(r, span);
  unsigned char first = span.begin < span.end ? (unsigned char)r->source.text[span.begin] : 0;
  if (first != '[' && first != '(' && first != '\\' && first != 0xEF) return ATTN_NO;
  int result = attn_vector(r, span, table);
  return result == ATTN_YES && (*table)->rows != 1 ? ATTN_NO : result;
}

static int is_ditto(struct attn_reader *r, struct attn_span span, long *row) {
  size_t at = span.begin;
  return span.begin < span.end && attn_ditto(r, &at, span.end, row) && at == span.end;
}

static char *label_text(struct attn_reader *r, struct attn_span span) {
  return attn_name_clean(r, unwrap(r, span));
}

/* The first column's cells, NULL where one is empty. */
static int set_row_labels(struct attn_reader *r, struct attn_item *item, const struct text_grid *g,
                          int first) {
  item->row_label = attn_pool_take(r->pool, (size_t)(g->rows - first) * sizeof(char *));
  if (!item->row_label) return attn_reader_no_memory(r);
  item->row_labels = g->rows - first;
  for (int i = first; i < g->rows; i++) {
    struct attn_span *cell = grid_at(g, i, 0);
    if (cell->begin >= cell->end) continue;
    item->row_label[i - first] = label_text(r, *cell);
    if (!item->row_label[i - first]) return ATTN_FAILED;
  }
  return ATTN_YES;
}

/* A column of vectors as a matrix. NO: some cell is none. */
static int vector_column(struct attn_reader *r, const struct text_grid *g, int col,
                         attn_printing **table) {
  struct attn_builder b = {.r = r};
  for (int i = 1; i < g->rows; i++) {
    attn_printing *vector;
    struct attn_span span = *grid_at(g, i, col);
    long row;
    int result = b.rows && is_ditto(r, span, &row) ? attn_build_ditto(&b, row, span.begin)
                                                   : vector_cell(r, span, &vector);
    if (result == ATTN_YES && !(b.rows && is_ditto(r, span, &row))) {
      struct attn_expression_value value = {.table = vector, .begin = span.begin};
      result = attn_build_value(&b, &value);
      for (int k = 0; k < vector->cols && result == ATTN_YES; k++) /* their own places */
        b.cells[b.row_start + (size_t)k] = vector->cells[k];
    }
    if (result == ATTN_YES) result = attn_build_row(&b, span.end);
    if (result != ATTN_YES) return result;
  }
  return attn_build_end(&b, table);
}

/* Every column of vectors is a matrix named by its header. YES: there was one. */
static int vector_columns(struct attn_reader *r, const struct text_grid *g, int labels) {
  int found = ATTN_NO;
  for (int col = 0; col < g->cols; col++) {
    attn_printing *table;
    int result = vector_column(r, g, col, &table);
    if (result == ATTN_FAILED) return result;
    if (result == ATTN_NO) continue;
    char *name = attn_name_clean(r, attn_label_name(r, *grid_at(g, 0, col)));
    struct attn_item *item = name ? attn_add_matrix(r, name, "", ATTN_LINK_NONE, table) : NULL;
    if (!item) return ATTN_FAILED;
    if (labels && col > 0 && set_row_labels(r, item, g, 1) != ATTN_YES) return ATTN_FAILED;
    found = ATTN_YES;
  }
  return found;
}

/* How many cells of a column, from a row on, are numbers. */
static int count_numbers(struct attn_reader *r, const struct text_grid *g, int first, int col) {
  int count = 0;
  for (int i = first; i < g->rows; i++) {
    struct attn_expression_value value;
    long row;
    int result = scalar_cell(r, *grid_at(g, i, col), &value);
    if (result == ATTN_FAILED) return result;
    count += result == ATTN_YES || is_ditto(r, *grid_at(g, i, col), &row);
  }
  return count;
}

static int build_numbers(struct attn_reader *r, const struct text_grid *g, int first_row,
                         int first_col, int lenient, attn_printing **table) {
  struct attn_builder b = {.r = r, .lenient = lenient};
  for (int i = first_row; i < g->rows; i++) {
    for (int j = first_col; j < g->cols; j++) {
      struct attn_expression_value value;
      struct attn_span span = *grid_at(g, i, j);
      long row;
      int result = ATTN_YES;
      if (is_ditto(r, span, &row)) {
        result = attn_build_ditto(&b, row, span.begin);
      } else if (span.begin >= span.end) {
        result = attn_build_cell(&b, attn_cell_blank(), span.begin);
      } else {
        result = scalar_cell(r, span, &value);
        if (result == ATTN_YES)
          result = attn_build_value(&b, &value);
        else if (result == ATTN_NO)
          result = attn_build_odd(&b, span.begin, span.end);
      }
      if (result == ATTN_FAILED) return result;
    }
    int result = attn_build_row(&b, grid_at(g, i, g->cols - 1)->end);
    if (result != ATTN_YES) return result;
  }
  return attn_build_end(&b, table);
}

static int set_column_labels(struct attn_reader *r, struct attn_item *item,
                             const struct text_grid *g, int first) {
  item->column_label = attn_pool_take(r->pool, (size_t)(g->cols - first) * sizeof(char *));
  if (!item->column_label) return attn_reader_no_memory(r);
  item->column_labels = g->cols - first;
  for (int j = first; j < g->cols; j++) {
    struct attn_span *cell = grid_at(g, 0, j);
    if (cell->begin >= cell->end) continue;
    item->column_label[j - first] = label_text(r, *cell);
    if (!item->column_label[j - first]) return ATTN_FAILED;
  }
  return ATTN_YES;
}

/* A table whose cells are numbers, but for labels, is one matrix. */
static int number_table(struct attn_reader *r, const struct text_grid *g, struct attn_span name) {
  int first_row = 1, first_col = 0, header_numbers = 0;
  for (int j = 0; j < g->cols; j++) {
    struct attn_expression_value value;
    int result = scalar_cell(r, *grid_at(g, 0, j), &value);
    if (result == ATTN_FAILED) return result;
    header_numbers += result;
  }
  if (header_numbers == g->cols) first_row = 0; /* Markdown wants a header: the first row is it */
  for (int j = 0; j < g->cols; j++) {
    int numbers = count_numbers(r, g, first_row, j), rows = g->rows - first_row;
    if (numbers < 0) return numbers;
    if (j == 0 && numbers * 2 <= rows)
      first_col = 1;
    else if (numbers * 2 <= rows)
      return ATTN_NO;
  }
  if (first_col >= g->cols || first_row >= g->rows) return ATTN_NO;
  struct attn_span corner = *grid_at(g, 0, 0);
  if (name.begin >= name.end && first_row && first_col) name = attn_label_name(r, corner);
  if (g->uneven && name.begin < name.end)
    return attn_reader_fail(
        r, g->uneven - 1,
        "this row of the table has more or fewer cells than its header: all rows "
        "of a matrix need the same count");
  attn_printing *table;
  int result = build_numbers(r, g, first_row, first_col, name.begin >= name.end, &table);
  if (result != ATTN_YES) return result;
  char *text = attn_name_clean(r, name);
  struct attn_item *item = text ? attn_add_matrix(r, text, "", ATTN_LINK_NONE, table) : NULL;
  if (!item || (first_col && set_row_labels(r, item, g, first_row) != ATTN_YES)) return ATTN_FAILED;
  return first_row ? set_column_labels(r, item, g, first_col) : ATTN_YES;
}

static int prose_table(struct attn_reader *r, struct attn_span *lines, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!is_separator(r, lines[i]) && attn_reader_sentence(r, lines[i]) != ATTN_YES)
      return ATTN_FAILED;
  return ATTN_YES;
}

/* With a line of dashes below the first row, or all rows between pipes. */
static int begins_table(const struct attn_reader *r, size_t at) {
  struct attn_span line = attn_line(r, at);
  if (find_pipe(r, line.begin, line.end) >= line.end) return 0;
  size_t below = attn_next_line(r, at);
  struct attn_span next = attn_line(r, below);
  if (below < r->source.size && is_separator(r, next)) return 1;
  return line.end - line.begin > 2 && r->source.text[line.begin] == '|' &&
         r->source.text[line.end - 1] == '|';
}

int attn_pipe_table(struct attn_reader *r, size_t *at) {
  if (!begins_table(r, *at)) return ATTN_NO;
  struct text_grid g = {0};
  struct attn_span *lines = NULL, name = r->pending;
  size_t count = 0, here = *at;
  while (here < r->source.size) {
    struct attn_span line = attn_line(r, here);
    if (find_pipe(r, line.begin, line.end) >= line.end) break;
    if (attn_pool_grow(r->pool, (void **)&lines, count, sizeof *lines))
      return attn_reader_no_memory(r);
    lines[count++] = line;
    if (!is_separator(r, line) && grid_row(r, &g, line) != ATTN_YES) return ATTN_FAILED;
    here = attn_next_line(r, here);
  }
  if (g.rows == 0) return ATTN_NO;
  *at = here;
  int result = vector_columns(r, &g, 1);
  if (result == ATTN_NO) result = number_table(r, &g, name);
  return result == ATTN_NO ? prose_table(r, lines, count) : result;
}

/* ---- Tables without pipes ---- */

/* Behind `(\( Q \))` at or behind at: *name is Q. 0: there is none. */
static size_t header_group(const struct attn_reader *r, size_t at, size_t end,
                           struct attn_span *head) {
  for (; at + 3 <= end; at++) {
    if (r->source.text[at] != '(' || !attn_starts(r, at, end, "(\\(")) continue;
    for (size_t i = at + 3; i + 3 <= end; i++)
      if (attn_starts(r, i, end, "\\))")) return head->end = i + 3, i + 3;
    return 0;
  }
  return 0;
}

/* The vectors at the end of a row: `学校へ\([1, 0]\)\([0, 1]\)`; cells[0] is the label. */
static int lost_row(struct attn_reader *r, struct attn_span line, struct attn_span *cells,
                    int limit) {
  int count = 1;
  size_t at = line.begin;
  while (at < line.end && !attn_starts(r, at, line.end, "\\(")) at++;
  cells[0] = attn_trim(r, (struct attn_span){line.begin, at});
  while (at < line.end && count < limit) {
    if (!attn_starts(r, at, line.end, "\\(")) return 0;
    size_t close = at + 2;
    while (close < line.end && !attn_starts(r, close, line.end, "\\)")) close++;
    if (close >= line.end) return 0;
    cells[count] = attn_trim(r, (struct attn_span){at + 2, close});
    struct attn_span *cell = &cells[count++];
    if (cell->begin >= cell->end || r->source.text[cell->begin] != '[') return 0;
    at = attn_trim(r, (struct attn_span){close + 2, line.end}).begin;
  }
  return at >= line.end ? count : 0;
}

/* The header's cells: all before the first formula belongs to the labels' column and the first. */
static int lost_header(const struct attn_reader *r, struct attn_span line, struct attn_span *cells,
                       int limit) {
  int count = 1;
  size_t at = line.begin;
  cells[0] = (struct attn_span){line.begin, line.begin};
  while (at < line.end && count < limit) {
    cells[count].begin = at;
    at = header_group(r, at, line.end, &cells[count]);
    if (at == 0) return 0;
    count++;
  }
  return at >= line.end && count > 1 ? count : 0;
}

static int add_lost_row(struct attn_reader *r, struct text_grid *g, const struct attn_span *cells) {
  for (int i = 0; i < g->cols; i++) {
    if (attn_pool_grow(r->pool, (void **)&g->cells, g->count, sizeof *g->cells))
      return attn_reader_no_memory(r);
    g->cells[g->count++] = cells[i];
  }
  g->rows++;
  return ATTN_YES;
}

int attn_lost_table(struct attn_reader *r, size_t *at) {
  enum { LOST_MAX = 16 };
  struct attn_span cells[LOST_MAX];
  struct attn_span line = attn_line(r, *at);
  if (line.end - line.begin > 4096) return ATTN_NO;
  int cols = lost_header(r, line, cells, LOST_MAX);
  if (cols == 0) return ATTN_NO;
  struct text_grid g = {.cols = cols};
  if (add_lost_row(r, &g, cells) != ATTN_YES) return ATTN_FAILED;
  size_t here = attn_next_line(r, *at);
  while (here < r->source.size) {
    line = attn_line(r, here);
    if (line.begin >= line.end || lost_row(r, line, cells, LOST_MAX) != cols) break;
    if (add_lost_row(r, &g, cells) != ATTN_YES) return ATTN_FAILED;
    here = attn_next_line(r, here);
  }
  if (g.rows == 1) return ATTN_NO;
  int result = vector_columns(r, &g, 1);
  if (result == ATTN_YES) *at = here;
  return result;
}
