/* blocks.c -- lines become blocks: each line goes to the file that reads its kind. */
#include "blocks.h"
#include "facts.h"
#include "sequence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "error.h"
#include "table.h"

/* "Example 2: a longer sentence", "## Scores", "\section{Scores}" without its braces, "== Scores
 * ==" */
static const char HEADING[] =
    "(*UCP)(?i)\\s*(?:具体例|例題?|example|problem|exercise)\\s*\\d+\\s*(?::|$)|\\s*#{1,6}\\s(?=.*"
    "\\pL)|\\s*"
    "\\\\?(?:sub)*section|=+ (?=\\w)";
/* "|---|", "|:-:|", "| == |", "--- | ---", "-+-": the rule of a table's header */
static const char HEADER_RULE[] = "\\|\\s*(?::?(?:-{2}|={2})|:-|-:)|(?<!-)-{2,}:?\\s*\\||-\\+-";
static const char RULE_CHARACTERS[] = " \t\r\f\v|+:=-*_~#";
/* "====  ==  ==": a rule of columns that blanks separate */
static const char COLUMNS_RULE[] = "\\s*(?:=+|-{2,})(?:\\s+(?:=+|-+))+\\s*$";

/* ---- the state ---- */

int attn_group_no_memory(struct attn_grouping *g) {
  if (g->status == ATTN_OK)
    g->status = attn_fail(g->scan->err, ATTN_ERR_MEMORY, NULL, "no memory for the document");
  return 0;
}

void *attn_group_take(struct attn_grouping *g, size_t count, size_t size) {
  void *memory = attn_pool_take(g->scan->pool, count * size);
  if (!memory) attn_group_no_memory(g);
  return memory;
}

char *attn_group_copy(struct attn_grouping *g, const char *text, size_t bytes) {
  char *copy = attn_group_take(g, bytes + 1, 1);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

/* Cells to which attn_block_add_row can add. */
static attn_cell *take_cells(struct attn_grouping *g, int rows, int cols) {
  size_t count = (size_t)rows * (size_t)cols;
  attn_cell *cells = attn_pool_array(g->scan->pool, count, sizeof *cells);
  if (!cells) attn_group_no_memory(g);
  return cells;
}

int attn_group_grow(struct attn_grouping *g, void **array, size_t count, size_t size) {
  return attn_pool_grow(g->scan->pool, array, count, size) == 0 || attn_group_no_memory(g);
}

int attn_group_label(struct attn_grouping *g, char *text, struct attn_label *label) {
  return (text && attn_label_read(g->scan->pool, text, label)) || attn_group_no_memory(g);
}

struct attn_source_position attn_group_place(const struct attn_grouping *g,
                                             const struct attn_scan_line *line, size_t at) {
  return attn_source_place(&g->scan->source, line->origin[at]);
}

attn_cell attn_group_blank(const struct attn_grouping *g, const struct attn_scan_line *line,
                           size_t at) {
  struct attn_source_position place = attn_group_place(g, line, at);
  attn_cell cell = attn_cell_blank();
  cell.line = place.line, cell.column = place.column;
  return cell;
}

int attn_group_is_value(const struct attn_grouping *g, int value) {
  return value >= 0 && value < g->lines->values && g->lines->value[value].grids > 0;
}

int attn_group_cell(struct attn_grouping *g, const struct attn_scan_line *line,
                    struct attn_part part, attn_cell *cell) {
  if (!attn_scan_part(line->text, part, cell)) return 0;
  struct attn_source_position place = attn_group_place(g, line, part.begin);
  cell->line = place.line;
  cell->column = place.column;
  return 1;
}

char *attn_group_text(struct attn_grouping *g, const char *text, struct attn_part part) {
  char *copy = attn_group_take(g, part.end - part.begin + 1, 1);
  size_t bytes = 0, mark, end;
  if (!copy) return NULL;
  while ((end = attn_next_value(text, part, &mark, NULL)) != 0) {
    memcpy(copy + bytes, text + part.begin, mark - part.begin);
    bytes += mark - part.begin;
    part.begin = end;
  }
  memcpy(copy + bytes, text + part.begin, part.end - part.begin);
  bytes += part.end - part.begin;
  struct attn_part kept = attn_part_trim(copy, (struct attn_part){0, bytes});
  copy[kept.end] = 0;
  return copy + kept.begin;
}

void attn_group_above(struct attn_grouping *g, char *text) {
  if (!text) return;
  if (g->aboves == ATTN_CAPTIONS)
    memmove(g->above, g->above + 1, (size_t)--g->aboves * sizeof *g->above);
  g->above[g->aboves++] = text;
}

/* How many lines of the text above are of the next block: of "print(Q)" above "print(K)", each
 * prints another one. */
static int aboves_of_next(const struct attn_grouping *g) {
  int first = g->aboves;
  while (first > 0 && strncmp(g->above[first - 1], "print(", 6) == 0) first--;
  return first + 1 < g->aboves ? first + 1 : g->aboves;
}

static void drop_aboves(struct attn_grouping *g) {
  int used = aboves_of_next(g);
  g->aboves -= used;
  memmove(g->above, g->above + used, (size_t)g->aboves * sizeof *g->above);
}

/* ---- one block ---- */

struct attn_block *attn_block_begin(struct attn_grouping *g, int source, int line, char *name) {
  struct attn_block *b = attn_group_take(g, 1, sizeof *b);
  if (!b || !name) return NULL;
  b->source = source;
  b->line = b->end = line;
  b->name = name;
  b->heading = g->heading;
  b->header = "";
  b->readings = 1;
  int aboves = aboves_of_next(g);
  for (int n = 0; n < aboves; n++)
    if (g->above[n][0]) b->caption[b->captions++] = g->above[n];
  return b;
}

struct attn_block *attn_block_in_place_of(struct attn_grouping *g, const struct attn_block *first,
                                          char *name) {
  struct attn_block *b = attn_group_take(g, 1, sizeof *b);
  if (!b || !name) return NULL;
  *b = *first;
  b->name = name;
  b->label = NULL, b->labels = 0, b->readings = 1;
  b->ordinal = b->siblings = b->stated_row = 0;
  b->reading[0] = (attn_printing){0};
  return b;
}

static int add_text(struct attn_grouping *g, char ***list, int *count, const char *text) {
  if (!attn_group_grow(g, (void **)list, (size_t)*count, sizeof **list)) return 0;
  (*list)[(*count)++] = (char *)text;
  return 1;
}

static int too_many_cells(struct attn_grouping *g, const struct attn_block *b) {
  if (g->status == ATTN_OK)
    g->status =
        attn_fail_at(g->scan->err, ATTN_ERR_FORMAT, b->line, 1,
                     "a matrix of more than %d numbers: show a smaller one", ATTN_CELLS_MAX);
  return 0;
}

/* Space for more cells at the end of reading 0. */
static attn_cell *add_cells(struct attn_grouping *g, struct attn_block *b, int more) {
  attn_printing *p = &b->reading[0];
  size_t had = (size_t)p->rows * (size_t)p->cols;
  if (had + (size_t)more > ATTN_CELLS_MAX) return too_many_cells(g, b), NULL;
  for (size_t n = had; n < had + (size_t)more; n++)
    if (!attn_group_grow(g, (void **)&p->cells, n, sizeof *p->cells)) return NULL;
  return p->cells + had;
}

attn_cell *attn_block_add_row(struct attn_grouping *g, struct attn_block *b, int cols,
                              const char *label) {
  attn_cell *cells = b ? add_cells(g, b, cols) : NULL;
  if (!cells || !add_text(g, &b->label, &b->labels, label)) return NULL;
  b->reading[0].rows++;
  b->reading[0].cols = cols;
  return cells;
}

int attn_block_copy_row(struct attn_grouping *g, struct attn_block *b, const attn_cell *cells,
                        int cols, const char *label) {
  attn_cell *row = attn_block_add_row(g, b, cols, label);
  if (!row) return 0;
  memcpy(row, cells, (size_t)cols * sizeof *row);
  attn_printing *p = &b->reading[0];
  if (!p->line) p->line = cells[0].line, p->column = cells[0].column;
  const attn_printing added = {.rows = 1, .cols = cols, .cells = row};
  if (g->status == ATTN_OK) g->status = attn_scan_check_finite(g->scan, &added);
  return g->status == ATTN_OK;
}

int attn_block_widen(struct attn_grouping *g, struct attn_block *b, const attn_cell *cell,
                     const char *label) {
  attn_cell *added = add_cells(g, b, 1);
  if (!added) return 0;
  *added = *cell;
  b->reading[0].cols++;
  return attn_block_label_column(g, b, label);
}

int attn_block_label_column(struct attn_grouping *g, struct attn_block *b, const char *label) {
  return add_text(g, &b->column_label, &b->column_labels, label);
}

void attn_block_add_reading(struct attn_block *b, int rows, int cols, attn_cell *cells) {
  if (b->readings == ATTN_READINGS || rows < 1 || cols < 1) return;
  b->reading[b->readings++] = (attn_printing){
      .rows = rows, .cols = cols, .line = cells[0].line, .column = cells[0].column, .cells = cells};
}

void attn_block_add_shapes(struct attn_block *b, int most) {
  attn_printing *p = &b->reading[0];
  int cells = p->rows * p->cols;
  for (int rows = 2; rows <= most && b->readings < ATTN_READINGS; rows++)
    if (cells % rows == 0) attn_block_add_reading(b, rows, cells / rows, p->cells);
}

int attn_group_ragged(struct attn_grouping *g, struct attn_source_position place, int cols,
                      int other) {
  if (g->status == ATTN_OK)
    g->status =
        attn_fail_at(g->scan->err, ATTN_ERR_FORMAT, place.line, place.column,
                     "this row has %d numbers, but the rows next to it have %d: give all rows of "
                     "a matrix the same length",
                     other, cols);
  return 0;
}

/* Are no keys called so before "K^T = .."? Then these are the keys. */
static int gives_transposed_keys(struct attn_grouping *g, const struct attn_block *b) {
  static const char TRANSPOSED[] = "\\W*K\\W{0,2}(?:\\^\\W{0,3}T|\\.T|\\x{22A4})\\W*$";
  static const char KEYS[] = "(?i)\\bk(?:eys?)?\\d?\\b|\\bk_";
  if (!attn_match_at(g->scan->patterns, TRANSPOSED, b->name, strlen(b->name), 0, NULL)) return 0;
  for (int n = 0; n < g->blocks; n++)
    if (attn_occurs(g->scan->patterns, KEYS, g->block[n]->name)) return 0;
  return 1;
}

static void transpose(struct attn_grouping *g, struct attn_block *b) {
  attn_printing *p = &b->reading[0];
  int rows = p->rows, cols = p->cols;
  attn_cell *cells = take_cells(g, rows, cols);
  for (int n = 0; cells && n < rows * cols; n++) cells[n] = p->cells[n % rows * cols + n / rows];
  if (!cells) return;
  p->cells = cells, p->rows = cols, p->cols = rows;
  b->name = "K =", b->labels = b->column_labels = 0;
}

int attn_block_end(struct attn_grouping *g, struct attn_block *b, int last_line) {
  attn_printing *p = &b->reading[0];
  if (g->status != ATTN_OK) return 0;
  if (p->rows == 0 || p->cols == 0) return 1;
  b->end = last_line;
  if (!p->line) p->line = p->cells[0].line, p->column = p->cells[0].column;
  g->status = attn_scan_check_finite(g->scan, p);
  if (g->status != ATTN_OK) return 0;
  if (gives_transposed_keys(g, b)) transpose(g, b);
  if (!attn_group_grow(g, (void **)&g->block, (size_t)g->blocks, sizeof *g->block)) return 0;
  g->block[g->blocks++] = b;
  return 1;
}

/* ---- lines ---- */

/* Only signs, as in a line that underlines or divides: "---", "|===|", "+--+". */
static int is_rule(const char *text) {
  size_t bytes = strspn(text, RULE_CHARACTERS);
  return text[bytes] == 0 && strpbrk(text, "-=+|_") != NULL;
}

/* A word, then 0, 1, .. or 1, 2, ..: "(index)" of a printed table. */
static int counts_columns(const struct attn_row *row) {
  if (row->items < 3 || row->item[0].kind != ATTN_ITEM_TEXT) return 0;
  int first = attn_item_is_integer(&row->item[1], 1);
  for (int n = 1; n < row->items; n++)
    if (!attn_item_is_integer(&row->item[n], first + n - 1)) return 0;
  return 1;
}

/* Is the next line blank, or is there none? */
static int is_last_line(const struct attn_grouping *g, const struct attn_scan_line *line) {
  const struct attn_scan_line *next = line + 1;
  if (next == g->lines->line + g->lines->lines) return 1;
  return next->line > line->line + 1 || next->text[strspn(next->text, " \t\r\f\v")] == 0;
}

/* Is it the first "=== ==" below words, or the second of a table that goes on: the end of its
 * header? */
static int ends_header(struct attn_grouping *g, const struct attn_scan_line *line) {
  if (!attn_match_at(g->scan->patterns, COLUMNS_RULE, line->text, line->bytes, 0, NULL)) return 0;
  if (g->text_line && g->text_line->line == line->line - 1) g->column_rules = 1;
  return ++g->column_rules < 3 && !is_last_line(g, line);
}

/* Do numbers above a rule only count the columns: ", 1, 2", "Q, 1, 2", "word, 1, 2, 3"? Not "v1, 0,
 * 1" above "v2, 2, 0". */
static int is_numbered_header(struct attn_grouping *g, const struct attn_row *row) {
  if (row->item[0].begin == row->item[0].end) return 1;
  char *name = attn_item_text(g, row, 0), *next = attn_item_text(g, &g->row[0], 0);
  if (!name || !next) return 0;
  if (attn_label_is_indexed(name) && attn_same_letters(name, next)) return 0;
  return counts_columns(row) && (row->items > 3 || attn_label_step(name) >= 0);
}

/* A rule below the second row, too: numbers that were taken for the header are a row of the table.
 */
static void restore_row(struct attn_grouping *g) {
  const struct attn_row header = g->header, row = g->row[0];
  int numbers = 0;
  for (int n = 0; n < header.items; n++) numbers += attn_item_is_number(&header.item[n]);
  if (2 * numbers <= header.items || is_numbered_header(g, &header)) return;
  if (!attn_group_grow(g, (void **)&g->row, 1, sizeof *g->row)) return;
  g->row[0] = header, g->row[1] = row;
  g->rows = 2;
  g->header.items = 0;
}

/* A rule below the only row of a table so far: that row was the header, if it has none yet. */
static void read_rule(struct attn_grouping *g, const struct attn_scan_line *line) {
  int ends = ends_header(g, line), style = g->rows == 1 ? g->row[0].style : -1;
  int is_corner = line->text[strspn(line->text, " \t\r\f\v")] == '+';
  if (style == ATTN_ROW_SPACES && ends) {
    g->counted = g->row[0].items;
  } else if (style == ATTN_ROW_PIPES && g->header.items) {
    restore_row(g);
    return;
  } else if (style == ATTN_ROW_PIPES) {
    int drops = is_corner && counts_columns(&g->row[0]);
    if (!drops && (is_corner || !attn_occurs(g->scan->patterns, HEADER_RULE, line->text))) return;
    g->drop_first |= drops;
    g->header = g->row[0];
  } else {
    return;
  }
  g->rows = 0;
}

/* "W_Q = W_K = W_V =": one matrix of several names. */
static const char NAMES[] = "\\s*(?:(?:W\\s*[_^]?\\s*)?[QKV]\\s*=\\s*){2,3}$";

static void add_grid(struct attn_grouping *g, int line, const attn_printing *grid, char *name,
                     int is_factor) {
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_GRID, line, name);
  attn_cell *cells = b ? take_cells(g, grid->rows, grid->cols) : NULL;
  if (!cells) return;
  memcpy(cells, grid->cells, (size_t)grid->rows * (size_t)grid->cols * sizeof *cells);
  b->reading[0] = *grid;
  b->reading[0].cells = cells;
  b->is_factor = is_factor;
  attn_block_end(g, b, line);
}

/* The matrices of a line, named by their column in a table or by the text in front of them. */
static void add_matrix(struct attn_grouping *g, const struct attn_scan_line *line, int index,
                       struct attn_part front, int is_factor) {
  struct attn_scan_value *value = &g->lines->value[index];
  char *name = attn_cell_name(g, &g->columns, line, front), *equals;
  value->used = 1;
  if (!name) name = attn_group_text(g, line->text, front);
  if (!name) return;
  const int several = attn_match_at(g->scan->patterns, NAMES, name, strlen(name), 0, NULL);
  do {
    equals = several ? strchr(name, '=') : NULL;
    if (equals) *equals = 0;
    for (int n = 0; n < value->grids; n++)
      add_grid(g, line->line, &value->grid[n], name, is_factor);
    name = equals ? equals + 1 : "";
  } while (strchr(name, '='));
}

/* The name below a brace: "[..]_Q", "[..]_scores". */
#define BELOW "_([A-Za-z](?:_?\\w)?(?:\\^\\W?T)?|[A-Za-z ]{3,24})(?!\\w)"

/* "O = [..] [..] = [..]", "[..]_Q [..]_K = [..]": the matrix that ends at `at` is the first factor
 * of a product that is worked out, not O. */
static int begins_product(const struct attn_grouping *g, const struct attn_scan_line *line,
                          size_t at) {
  static const char FACTOR[] = "(?:" BELOW ")?+\\s*+" ATTN_VALUE "(?:" BELOW ")?+\\s*+(?:=|$)";
  return attn_match_at(g->scan->patterns, FACTOR, line->text, line->bytes, at, NULL);
}

/* A matrix, or in a line with matrices a vector that is called something: "W = [..], v = (1, 2)".
 */
static int is_matrix(struct attn_grouping *g, const struct attn_scan_line *line, int value,
                     struct attn_part front) {
  static const char CALLED[] = "(*UCP)\\w\\s*=\\s*$";
  if (!attn_group_is_value(g, value)) return 0;
  return !g->lines->value[value].is_vector ||
         attn_part_ends_in(g, CALLED, line->text, front, ATTN_LABEL_CHARACTERS);
}

static int has_matrix(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct attn_part rest = {0, line->bytes};
  size_t at;
  int value;
  while ((rest.begin = attn_next_value(line->text, rest, &at, &value)) != 0)
    if (attn_group_is_value(g, value) && !g->lines->value[value].is_vector) return 1;
  return 0;
}

/* The name below a brace. *name is empty where there is none. Returns its end. */
static size_t name_below(struct attn_grouping *g, const struct attn_scan_line *line, size_t at,
                         struct attn_part *name) {
  struct attn_match m = {.group = {{at, at}, {at, at}}};
  attn_match_at(g->scan->patterns, BELOW, line->text, line->bytes, at, &m);
  *name = m.group[1];
  return m.group[0].end;
}

/* A line with matrices in brackets. 0: it has none. */
static int read_matrices(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct attn_part all = {0, line->bytes}, rest = all, front = all, below;
  size_t at, end;
  int value, factors = 0;
  if (!has_matrix(g, line)) return 0;
  if (g->header.items) g->columns = g->header;
  attn_run_flush(g);
  while ((end = attn_next_value(line->text, rest, &at, &value)) != 0) {
    rest.begin = end;
    front.end = at;
    if (!is_matrix(g, line, value, front)) continue;
    if (begins_product(g, line, end)) factors = 2;
    end = rest.begin = name_below(g, line, end, &below);
    int is_named = below.end > below.begin;
    if (is_named) front = below;
    add_matrix(g, line, value, factors && !is_named ? (struct attn_part){at, at} : front,
               factors > 0);
    if (factors)
      factors--; /* the name is that of the product */
    else
      front.begin = end;
  }
  drop_aboves(g);
  attn_stray_text(g, line, all, NULL, 0);
  return 1;
}

static int read_heading(struct attn_grouping *g, const char *text) {
  if (strstr(text, ATTN_MARK_VALUE)) return 0;
  if (!attn_match_at(g->scan->patterns, HEADING, text, strlen(text), 0, NULL)) return 0;
  attn_run_flush(g);
  char *heading = attn_group_text(g, text, (struct attn_part){0, strlen(text)});
  if (!heading) return 1;
  g->heading = heading;
  g->aboves = 0;
  attn_group_above(g, heading);
  return 1;
}

/* A blank line ends a table, columns, or a matrix of several lines; labelled numbers may continue.
 */
static void read_blank(struct attn_grouping *g) {
  g->column_rules = g->columns.items = 0;
  if (g->rows == 0) return;
  const struct attn_row *first = &g->row[0], *last = &g->row[g->rows - 1];
  int may_go_on = attn_row_is_labelled(first->style) && *last->label.text;
  if (may_go_on && first->items == 1 && first->label.stem) return;
  if (!may_go_on || first->items == 1) attn_run_flush(g);
}

static void read_line(struct attn_grouping *g, const struct attn_scan_line *line) {
  int is_blank = line->text[strspn(line->text, " \t\r\f\v")] == 0;
  struct attn_row row;
  if (g->facts) attn_facts_line(g, line);
  if (attn_drawn_line(g, line)) return;
  if (g->drawns) attn_drawn_end(g, line->line - 1);
  if (is_blank) {
    read_blank(g);
    g->text_line = NULL;
  } else if (is_rule(line->text)) {
    read_rule(g, line);
  } else if (!read_matrices(g, line) && !read_heading(g, line->text)) {
    g->columns.items = 0;
    if (attn_row_read(g, line, &row) && attn_run_add(g, &row)) return;
    attn_run_flush(g);
    attn_sentence(g, line);
    g->text_line = line;
  }
}

static void read_lines(struct attn_grouping *g) {
  struct attn_scan_lines *lines = g->lines;
  for (int n = 0; n < lines->lines && g->status == ATTN_OK; n++) {
    struct attn_scan_line line = lines->line[n];
    size_t room = 0;
    int joined = 0;
    while (n + 1 < lines->lines && attn_paragraph_goes_on(g, &line, &lines->line[n + 1]) &&
           attn_paragraph_join(g, &line, &lines->line[n + 1], &room)) {
      lines->line[n].text += strlen(lines->line[n].text); /* nothing of it is left */
      lines->line[n].bytes = 0;
      n++;
      joined = 1;
    }
    if (joined) line.bytes = strlen(line.text), lines->line[n] = line;
    read_line(g, &lines->line[n]);
  }
}

static int in_order(const void *a, const void *b) {
  return attn_cell_compare((*(struct attn_block *const *)a)->reading[0].cells,
                           (*(struct attn_block *const *)b)->reading[0].cells);
}

void attn_blocks_sort(struct attn_grouping *g, int from) {
  if (g->blocks - from > 1)
    qsort(g->block + from, (size_t)(g->blocks - from), sizeof *g->block, in_order);
}

/* ---- weights in percent, where only the text near them states it ---- */

enum { CAPTION_CHARACTERS = 400 };

/* Do numbers that are `step` apart add up to 100 but for rounding? Hidden keys have no number. */
static int is_hundred(const attn_cell *cell, int count, int step) {
  double sum = 0;
  for (int n = 0; n < count; n++)
    if (cell[n * step].kind != ATTN_CELL_BLANK) sum += cell[n * step].value;
  return count > 1 && fabs(sum - 100) <= 1;
}

/* Has it a row that adds up to 100, or do all columns? */
static int has_hundred(const attn_printing *p) {
  int rows = 0, columns = 0;
  for (int n = 0; n < p->rows * p->cols; n++) {
    const attn_cell *cell = &p->cells[n];
    if (cell->kind == ATTN_CELL_BLANK) continue;
    if (cell->kind != ATTN_CELL_NUMBER || cell->value < 0 || cell->value > 100) return 0;
  }
  for (int r = 0; r < p->rows; r++) rows += is_hundred(p->cells + r * p->cols, p->cols, 1);
  for (int c = 0; c < p->cols; c++) columns += is_hundred(p->cells + c, p->rows, p->cols);
  return rows || columns == p->cols;
}

/* In the last characters of a text: captions may be long. */
static int is_of_percent(struct attn_grouping *g, const char *text) {
  static const char PERCENT[] = "(?i)%|percent|パーセント|\\* ?100\\b";
  struct attn_part all = {0, strlen(text)};
  return attn_part_find(g, PERCENT, text, attn_part_last(text, all, CAPTION_CHARACTERS), NULL);
}

static int states_percent(struct attn_grouping *g, const struct attn_block *b) {
  int found = is_of_percent(g, b->name) || is_of_percent(g, b->header);
  for (int n = 0; n < b->captions && !found; n++) found = is_of_percent(g, b->caption[n]);
  return found;
}

static void divide_percents(struct attn_grouping *g) {
  for (int n = 0; n < g->blocks; n++) {
    attn_printing *p = &g->block[n]->reading[0];
    if (!has_hundred(p) || !states_percent(g, g->block[n])) continue;
    for (int i = 0; i < p->rows * p->cols; i++) {
      attn_cell *cell = &p->cells[i], had = *cell;
      if (had.kind == ATTN_CELL_BLANK) continue;
      *cell = attn_cell_percent(had);
      cell->line = had.line, cell->column = had.column;
    }
  }
}

static int set_result(struct attn_grouping *g) {
  struct attn_scan *scan = g->scan;
  scan->block = attn_group_take(g, (size_t)g->blocks, sizeof *scan->block);
  if (!scan->block) return 0;
  for (int n = 0; n < g->blocks; n++) scan->block[n] = *g->block[n];
  scan->blocks = g->blocks;
  scan->stray = g->stray;
  scan->strays = g->strays;
  return 1;
}

attn_status attn_scan_blocks(struct attn_scan *scan, struct attn_scan_lines *lines) {
  struct attn_grouping g = {.scan = scan, .lines = lines, .heading = ""};
  int last = lines->lines ? lines->line[lines->lines - 1].line : 0;
  struct attn_facts facts = {.section = -1};
  int recurs = scan->left && (scan->left->recurring || scan->left->apart);
  int is_regrouped = recurs || (scan->left && scan->left->lanes);
  int in_order = scan->left && scan->left->sequence;
  if (scan->left && !in_order && (!is_regrouped || scan->left->lines)) g.facts = &facts;
  read_lines(&g);
  if (g.status == ATTN_OK) attn_run_flush(&g);
  if (g.status == ATTN_OK) attn_drawn_end(&g, last);
  if (g.status == ATTN_OK) attn_shown_rows_merge(&g);
  if (g.status == ATTN_OK) attn_workings_merge(&g);
  if (g.status == ATTN_OK) attn_parts_merge(&g);
  if (g.status == ATTN_OK && recurs) attn_recurring_merge(&g);
  if (g.status == ATTN_OK && g.facts) attn_facts_merge(&g);
  if (g.status == ATTN_OK && in_order) attn_sequence_merge(&g);
  if (g.status == ATTN_OK) divide_percents(&g);
  if (g.status == ATTN_OK) attn_stray_finish(&g);
  if (attn_patterns_failed(scan->patterns)) attn_group_no_memory(&g);
  if (g.status == ATTN_OK) set_result(&g);
  return g.status;
}
