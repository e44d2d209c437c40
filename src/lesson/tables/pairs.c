/* pairs.c -- long tables -> matrices. One row for each pair of tokens: "from | to | score |
 * weight"; for each number: "scores | 0 | 1 | 0.5"; for each row of all matrices: "scores | cat | 1
 * | 0.5". */
#include <string.h>

#include "table.h"

struct pairs {
  const struct attn_table *t;
  const char *source;
  int begin, end; /* rows */
  int a, b, keys; /* the columns of what its rows and columns are called; how many columns */
};

/* Are the items from column c to d of two rows printed in the same way? */
static int same(const struct pairs *p, int x, int y, int c, int d) {
  const struct attn_row *i = &p->t->row[x], *j = &p->t->row[y];
  uint32_t at = i->line->origin[i->item[c].begin], end = i->line->origin[i->item[d].end];
  uint32_t other = j->line->origin[j->item[c].begin];
  return end >= at && end - at == j->line->origin[j->item[d].end] - other &&
         memcmp(p->source + at, p->source + other, end - at) == 0;
}

/* Do the keys in column b recur for each in column a? */
static int find_keys(struct pairs *p) {
  int n = 1;
  while (p->begin + n < p->end && same(p, p->begin, p->begin + n, p->a, p->a)) n++;
  p->keys = n;
  for (int r = p->begin; r < p->end; r++) {
    int col = (r - p->begin) % n, first = r - p->begin < n;
    if (col ? !same(p, r, r - 1, p->a, p->a) || same(p, r, r - 1, p->b, p->b)
            : !first && same(p, r, r - 1, p->a, p->a))
      return 0;
    if (!first && !same(p, r, r - n, p->b, p->b)) return 0;
  }
  return (p->end - p->begin) % n == 0;
}

/* A number of each row -> a matrix. is_sum: of all pairs with one name the same -> a column. */
static void add_matrix(struct attn_grouping *g, const struct pairs *p, int col, char *name,
                       int is_sum) {
  const struct attn_row *row = p->t->row;
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_ROWS, row[p->begin].line->line, name);
  attn_cell *cell = NULL;
  for (int r = p->begin, n = 0; b && r < p->end; r++, n = (n + 1) % p->keys) {
    char *label = n ? "" : attn_item_text(g, &row[r], p->a);
    if (n == 0) cell = attn_block_add_row(g, b, is_sum ? 1 : p->keys, label);
    if (!cell) return;
    if (n == 0 || !is_sum) cell[n] = row[r].item[col].cell;
    row[r].item[col].used = 1;
  }
  for (int r = p->begin; b && !is_sum && r < p->begin + p->keys; r++)
    if (!attn_block_label_column(g, b, attn_item_text(g, &row[r], p->b))) return;
  if (b) attn_block_end(g, b, row[p->end - 1].line->line);
}

static int is_name(const struct attn_row_item *i) {
  return i->kind == ATTN_ITEM_TEXT && i->begin < i->end;
}

/* The next column of names. t->cols: none. */
static int next_names(const struct attn_table *t, int col) {
  for (int r = 0; col < t->cols && r < t->rows;)
    if (is_name(attn_table_item(t, r, col)))
      r++;
    else
      r = 0, col++;
  return col;
}

/* How many rows from here on have the same name. */
static int same_names(const struct pairs *p, int row, int last) {
  int n = 1;
  while (row + n < p->t->rows && same(p, row, row + n, 0, last)) n++;
  return n;
}

/* ---- a row for each pair ---- */

/* "q1", "q2": is a word a letter and its number n? */
static int is_numbered(const char *word, int n) {
  return attn_is_digit(word[1]) && word[1] - '0' == n && !word[2];
}

/* "query | cat | 1", "key | cat | 0": are the words of column a those of steps? */
static int are_steps(struct attn_grouping *g, const struct pairs *p) {
  int steps = 0, names = 0, numbered = 0;
  for (int r = 0; r < p->t->rows; r += same_names(p, r, p->b - 1)) {
    char *word = attn_item_text(g, &p->t->row[r], p->a);
    steps += !word || attn_step_of_text(g, word) >= 0;
    numbered += word && is_numbered(word, ++names);
  }
  return 2 * steps > names && numbered < names ? names : 0;
}

enum depends { ON_PAIR, ON_ROW, ON_COLUMN, ON_NOTHING, SUM_OF_ROW };

/* What the numbers or vectors of a column depend on. */
static int depends_on(struct attn_grouping *g, const struct pairs *p, int col) {
  int of_row = 1, of_column = 1, cells = 0;
  char *name = attn_item_text(g, &p->t->header, col);
  int step = name ? attn_step_of_text(g, name) : -1;
  for (int r = 0; r < p->end; r++) {
    if (attn_table_item(p->t, r, col)->kind == ATTN_ITEM_TEXT) return ON_NOTHING;
    cells += attn_table_item(p->t, r, col)->kind == ATTN_ITEM_CELL;
    of_row &= same(p, r, r - r % p->keys, col, col);
    of_column &= same(p, r, r % p->keys, col, col);
  }
  if (step == ATTN_STEP_ROW_SUM && of_row && cells == p->end) return SUM_OF_ROW;
  if (step >= ATTN_STEP_SCORES || !(of_row || of_column))
    return cells == p->end ? ON_PAIR : ON_NOTHING;
  return of_row && (!of_column || step == ATTN_STEP_Q) ? ON_ROW : ON_COLUMN;
}

/* The columns that depend on what column `labels` names, once for each name: rows `step` apart. */
static void add_part(struct attn_grouping *g, const struct pairs *p, int on, int step, int labels) {
  struct attn_table t = *p->t;
  t.rows = step > 1 ? p->end / step : p->keys, t.labels = labels, t.numbers = 0;
  t.row = attn_group_take(g, (size_t)t.rows, sizeof *t.row);
  t.kind = attn_group_take(g, (size_t)t.cols, 1);
  t.number = attn_group_take(g, (size_t)t.cols, sizeof *t.number);
  t.header.item = attn_group_take(g, (size_t)t.cols, sizeof *t.header.item);
  if (!t.row || !t.kind || !t.number || !t.header.item) return;
  for (int r = 0; r < t.rows; r++) t.row[r] = p->t->row[r * step];
  for (int c = 0; c < t.cols; c++) {
    t.kind[c] = COLUMN_TEXT;
    if (c == p->a || c == p->b || depends_on(g, p, c) != on) continue;
    t.header.item[c] = p->t->header.item[c];
    t.kind[c] = t.row[0].item[c].kind == ATTN_ITEM_VALUE ? COLUMN_VALUES : COLUMN_NUMBERS;
    if (t.kind[c] == COLUMN_NUMBERS) t.number[t.numbers++] = c;
    for (int r = 0; r < p->end; r++) { /* each is printed again */
      struct attn_row_item *i = attn_table_item(p->t, r, c);
      i->used = 1;
      if (i->kind == ATTN_ITEM_VALUE) g->lines->value[i->value].used = 1;
    }
  }
  attn_table_add(g, &t);
}

/* "i | j | score": numbers that count rows and columns, and not "x1 | x2". */
static int counts_pairs(struct attn_grouping *g, struct pairs *p) {
  char *name = attn_item_text(g, &p->t->header, 0);
  int first = attn_item_is_integer(p->t->row[0].item, 1);
  p->a = 0, p->b = 1;
  if (!name || !*name || attn_is_digit(name[strlen(name) - 1]) || !find_keys(p)) return 0;
  for (int r = 0; r < p->end; r++)
    if (!attn_item_is_integer(attn_table_item(p->t, r, 0), first + r / p->keys) ||
        !attn_item_is_integer(attn_table_item(p->t, r, 1), first + r % p->keys))
      return 0;
  return 1;
}

/* "a | a", "a | b", "b | a", "b | b": each name is that of a row and of a column, as a token's is.
 */
static int are_tokens(struct attn_grouping *g, const struct pairs *p) {
  int n = 0;
  for (; n < p->keys && p->keys * p->keys == p->end; n++) {
    char *row = attn_item_text(g, &p->t->row[n * p->keys], p->a);
    char *column = attn_item_text(g, &p->t->row[n], p->b);
    if (!row || !column || strcmp(row, column)) return 0;
  }
  return n > 1;
}

static int add_pairs(struct attn_grouping *g, const struct attn_table *t) {
  struct pairs p = {.t = t, .source = g->scan->source.text, .end = t->rows, .a = next_names(t, 0)};
  p.b = next_names(t, p.a + 1);
  if (t->cols < 3 || t->header.items != t->cols) return 0;
  if (p.b < t->cols ? !find_keys(&p) : !counts_pairs(g, &p)) return 0;
  if (p.keys < 2 || p.keys == t->rows || (are_steps(g, &p) && !are_tokens(g, &p))) return 0;
  add_part(g, &p, ON_ROW, p.keys, p.a);
  add_part(g, &p, ON_COLUMN, 1, p.b);
  for (int c = 0; c < t->cols && g->status == ATTN_OK; c++) {
    int on = c == p.a || c == p.b ? ON_NOTHING : depends_on(g, &p, c);
    if (on == ON_PAIR || on == SUM_OF_ROW)
      add_matrix(g, &p, c, attn_item_text(g, &t->header, c), on == SUM_OF_ROW);
  }
  return 1;
}

/* "0  cat  sat  0.5": the words in front of the numbers as items. 0: there are not two. */
static int add_words(struct attn_grouping *g, struct attn_row *row) {
  static const char TWO_WORDS[] = "\\s*+(?:\\d++\\s++)?(\\S++)\\s++(\\S++)\\s++$";
  const struct attn_row_item *had = row->item;
  struct attn_match m;
  row->item = attn_group_take(g, (size_t)row->items + 2, sizeof *row->item);
  if (!row->item ||
      !attn_match_at(g->scan->patterns, TWO_WORDS, row->line->text, had->begin, 0, &m))
    return 0;
  memcpy(row->item + 2, had, (size_t)row->items * sizeof *had);
  row->items += 2;
  for (int n = 0; n < 2; n++)
    row->item[n] = (struct attn_row_item){.kind = ATTN_ITEM_TEXT,
                                          .begin = (uint32_t)m.group[n + 1].begin,
                                          .end = (uint32_t)m.group[n + 1].end};
  return 1;
}

/* Columns that blanks separate. */
static int add_printed(struct attn_grouping *g, struct attn_table t) {
  const struct attn_row *had = t.row;
  int aboves = g->aboves;
  t.row = attn_group_take(g, (size_t)t.rows, sizeof *t.row);
  if (!t.row) return 0;
  t.cols += 2;
  for (int r = 0; r < t.rows; r++) {
    t.row[r] = had[r];
    if (!add_words(g, &t.row[r])) return 0;
  }
  attn_header_find(g, &t);
  if (add_pairs(g, &t)) return 1;
  g->aboves = aboves;
  return 0;
}

int attn_table_pairs(struct attn_grouping *g, const struct attn_table *t) {
  return t->style == ATTN_ROW_SPACES ? add_printed(g, *t) : add_pairs(g, t);
}

/* ---- a row for each number ---- */

/* The matrix that begins in a row: what is in front of its keys is the same. 0: there is none. */
static int matrix_at(struct attn_grouping *g, const struct attn_table *t, int begin,
                     struct pairs *p) {
  *p = (struct pairs){t, g->scan->source.text, begin, begin, t->cols - 3, t->cols - 2, 0};
  p->end += same_names(p, begin, p->a - 1);
  return find_keys(p);
}

/* A name or a number that counts. */
static int is_key(const struct attn_row_item *i) {
  return is_name(i) || (i->kind == ATTN_ITEM_CELL && i->cell.kind == ATTN_CELL_NUMBER &&
                        i->cell.decimals == 0 && i->cell.value >= 0);
}

int attn_table_long(struct attn_grouping *g, const struct attn_table *t) {
  int name = next_names(t, 0), matrices = 0;
  struct pairs p = {.end = 0};
  if (name >= t->cols - 3 || !attn_row_is_delimited(t->style)) return 0;
  for (int r = 0; r < t->rows; r++)
    for (int c = 0; c < t->cols; c++)
      if (c < t->cols - 1 ? !is_key(&t->row[r].item[c]) : t->row[r].item[c].kind != ATTN_ITEM_CELL)
        return 0;
  for (; p.end < t->rows; matrices++)
    if (!matrix_at(g, t, p.end, &p)) return 0;
  if (matrices < 3 || 2 * matrices > t->rows) return 0;
  for (p.end = 0; p.end < t->rows && matrix_at(g, t, p.end, &p);)
    add_matrix(g, &p, t->cols - 1, attn_item_text(g, &t->row[p.begin], name), 0);
  for (int r = 0; r < t->rows; r++)
    for (int c = 0; c < t->cols - 1; c++) t->row[r].item[c].used = 1;
  return 1;
}

/* ---- a row for each row ---- */

/* The numbers of a row from a column on, with nothing between them. 0: there is something else. */
static int width_at(const struct attn_table *t, int row, int col) {
  int last = col, end = t->cols;
  while (end > col && !attn_item_is_number(attn_table_item(t, row, end - 1)) &&
         attn_table_item(t, row, end - 1)->kind == ATTN_ITEM_CELL)
    end--;
  while (last < end && attn_item_is_number(attn_table_item(t, row, last))) last++;
  return last == end ? end - col : 0;
}

/* The rows of one name -> a matrix. */
static void add_section(struct attn_grouping *g, const struct pairs *p, int begin, int rows) {
  const struct attn_table *t = p->t;
  struct attn_part name = {t->row[begin].item[p->a].begin, t->row[begin].item[p->b - 1].end};
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_ROWS, t->row[begin].line->line,
                                          attn_group_text(g, t->row[begin].line->text, name));
  int cols = width_at(t, begin, p->b + 1);
  for (int r = begin; b && r < begin + rows; r++) {
    attn_cell *cell = attn_block_add_row(g, b, cols, attn_item_text(g, &t->row[r], p->b));
    for (int n = 0; cell && n < cols; n++) cell[n] = t->row[r].item[p->b + 1 + n].cell;
  }
  if (b) attn_block_end(g, b, t->row[begin + rows - 1].line->line);
}

/* "X | cat | 1 | 0" above "W_Q | 1 | 1 | 0" and "W_Q | 2 | 0 | 1": is each row named or counted,
 * and has a matrix two rows or more in the mean? */
static int has_keys(const struct pairs *p) {
  int matrices = 0, end = p->b < p->t->cols ? p->t->rows : 0;
  for (int r = 0, n = 0; r < end; r++, n++) {
    const struct attn_row_item *key = attn_table_item(p->t, r, p->b);
    if (!r || !same(p, r, r - 1, 0, p->a)) n = 0, matrices++;
    if (!is_name(key) && !attn_item_is_integer(key, n + 1)) return 0;
  }
  return 2 * matrices <= end;
}

int attn_table_sections(struct attn_grouping *g, const struct attn_table *t) {
  struct pairs p = {.t = t, .source = g->scan->source.text, .end = t->rows, .a = next_names(t, 0)};
  p.b = p.a + 1;
  int are_keys = has_keys(&p), goes_on = are_keys && g->has_counted_rows;
  if (!are_keys) p.b = next_names(t, p.a + 1);
  if (p.b >= t->cols - 1 || !attn_row_is_delimited(t->style)) return 0;
  if (are_steps(g, &p) < (goes_on ? 1 : 2)) return 0;
  if (find_keys(&p) && are_tokens(g, &p)) return 0;
  for (int r = 0, rows; r < t->rows; r += rows) {
    int width = width_at(t, r, p.b + 1);
    rows = same_names(&p, r, p.b - 1);
    for (int n = 0; n < rows; n++)
      if (!width || width_at(t, r + n, p.b + 1) != width) return 0;
  }
  g->has_counted_rows = are_keys;
  for (int r = 0, rows; r < t->rows && g->status == ATTN_OK; r += rows)
    add_section(g, &p, r, rows = same_names(&p, r, p.b - 1));
  for (int r = 0; r < t->rows; r++)
    for (int c = 0; c < t->cols; c++) t->row[r].item[c].used = 1;
  return 1;
}
