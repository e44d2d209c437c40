/* table.c -- a run of rows as a table: its columns, its header, and the matrices that it has. */
#include <string.h>

#include "results.h"
#include "table.h"

static int is_assigned(int style) { return style == ATTN_ROW_COLON || style == ATTN_ROW_EQUALS; }

struct attn_row_item *attn_table_item(const struct attn_table *t, int row, int col) {
  return &t->row[row].item[col];
}

char *attn_item_text(struct attn_grouping *g, const struct attn_row *row, int item) {
  struct attn_part part = {row->item[item].begin, row->item[item].end};
  return attn_group_text(g, row->line->text, part);
}

/* ---- columns ---- */

int attn_table_count(const struct attn_table *t, int col, int kind) {
  int count = 0;
  for (int r = 0; r < t->rows; r++) count += attn_table_item(t, r, col)->kind == kind;
  return count;
}

/* A, B, C or token A, token B from this row on. */
static int begins_letters(const struct attn_table *t, int begin) {
  const char *label = t->row[begin].label.text, *word = label + strspn(label, " -*");
  const char *second = word + strcspn(word, " ");
  int is_second = *second && (second[1] | 32) == 'a' && !second[2];
  return ((*word | 32) == 'a' || is_second) && begin + 1 < t->rows &&
         attn_label_follows(label, t->row[begin + 1].label.text);
}

int attn_table_group_end(const struct attn_table *t, int begin) {
  int end = begin + 1, letters = begins_letters(t, begin);
  if (t->steps) return end;
  while (end < t->rows &&
         (t->titles ? !*t->row[end].label.text
          : letters ? attn_label_follows(t->row[end - 1].label.text, t->row[end].label.text)
                    : attn_same_stem(&t->row[begin].label, &t->row[end].label)))
    end++;
  return end;
}

/* A word in a column of numbers between pipes is a misprint, and so is the only one between commas
 * or tabs; in columns of other styles it is not known what it is. */
static int are_misprints(struct attn_grouping *g, const struct attn_table *t, int col, int texts) {
  if (t->style == ATTN_ROW_PIPES || !texts) return texts;
  if (!attn_row_is_delimited(t->style) || texts > 1 || t->rows < 3 || col == 0) return 0;
  int row = 0;
  while (attn_table_item(t, row, col)->kind != ATTN_ITEM_TEXT) row++;
  const char *word = attn_item_text(g, &t->row[row], col);
  return word && !strpbrk(word, " =");
}

static void check_words(struct attn_grouping *g, const struct attn_table *t, int col) {
  for (int r = 0; r < t->rows; r++) {
    struct attn_row_item *item = attn_table_item(t, r, col);
    if (item->kind != ATTN_ITEM_TEXT) continue;
    struct attn_source_position p = attn_group_place(g, t->row[r].line, item->begin);
    char *word = attn_item_text(g, &t->row[r], col);
    attn_stray_item(g, &t->row[r], col);
    if (!word || g->status) return;
    int may_be_meant = !attn_occurs(g->scan->patterns, "[A-Za-z\\d]", word);
    g->status = attn_scan_add_misprint(
        g->scan, p, may_be_meant, "\"%s\" is not a number: a column of numbers has only numbers",
        word);
    item->kind = ATTN_ITEM_CELL;
    item->cell = attn_group_blank(g, t->row[r].line, item->begin);
  }
}

static int has_product(const struct attn_row *row, const struct attn_row_item *item) {
  const char *text = row->line->text;
  struct attn_part p = {item->begin, item->end};
  return attn_part_has(text, p, "\u00D7") || attn_part_has(text, p, "\u00B7") ||
         attn_part_has(text, p, "*");
}

/* "0.5×2 + 1×3 | 4.00": arithmetic next to its result. */
static int is_working(const struct attn_row *row, const struct attn_row_item *item) {
  const struct attn_row_item *result = item + 1;
  return attn_item_is_number(item) && attn_item_is_number(result) && has_product(row, item) &&
         !has_product(row, result) && item->cell.value >= result->cell.lo - 1e-9 &&
         item->cell.value <= result->cell.hi + 1e-9;
}

static int has_workings(const struct attn_table *t, int col) {
  if (t->style != ATTN_ROW_PIPES || col + 1 >= t->cols) return 0;
  for (int r = 0; r < t->rows; r++)
    if (!is_working(&t->row[r], attn_table_item(t, r, col))) return 0;
  for (int r = 0; r < t->rows; r++) attn_table_item(t, r, col)->used = 1;
  return 1;
}

/* "Q | 1 | 0" above " | 0 | 1": titles of rows, with blanks below. */
static int has_titles(const struct attn_table *t) {
  if (!attn_row_is_delimited(t->style) || t->row[0].item[0].kind != ATTN_ITEM_TEXT) return 0;
  for (int r = 1; r < t->rows; r++) {
    const struct attn_row_item *item = attn_table_item(t, r, 0);
    if (item->kind != ATTN_ITEM_TEXT && item->begin < item->end) return 0;
  }
  return 2 * attn_table_count(t, 0, ATTN_ITEM_TEXT) <= t->rows;
}

/* Words without a number among them: the tokens "x" and "y", though "x" hides a key elsewhere. */
static int has_no_number(const struct attn_table *t, int col) {
  int r = 0;
  while (r < t->rows && !attn_item_is_number(attn_table_item(t, r, col))) r++;
  return r == t->rows;
}

static int kind_of_column(struct attn_grouping *g, const struct attn_table *t, int col) {
  if (has_workings(t, col)) return COLUMN_TEXT;
  int texts = attn_table_count(t, col, ATTN_ITEM_TEXT);
  if (2 * attn_table_count(t, col, ATTN_ITEM_VALUE) > t->rows) return COLUMN_VALUES;
  if (2 * texts > t->rows || (t->titles && col == 0)) return COLUMN_TEXT;
  if (col == 0 && texts && has_no_number(t, col)) return COLUMN_TEXT;
  if (are_misprints(g, t, col, texts)) check_words(g, t, col);
  return COLUMN_NUMBERS;
}

/* Is nothing in it? The signs of keys that are hidden from all queries are something. */
static int is_blank_column(const struct attn_table *t, int col) {
  int signs = 0;
  for (int r = 0; r < t->rows; r++) {
    const struct attn_row_item *item = attn_table_item(t, r, col);
    if (item->kind != ATTN_ITEM_CELL || attn_item_is_number(item)) return 0;
    signs += item->begin < item->end;
  }
  return signs < t->rows;
}

int attn_table_counts(const struct attn_table *t, int first) {
  for (int r = 0; r < t->rows; r++)
    if (!attn_item_is_integer(attn_table_item(t, r, t->number[0]), first + r)) return 0;
  return 1;
}

char *attn_table_label(struct attn_grouping *g, const struct attn_table *t, int row) {
  return t->labels < 0 ? t->row[row].label.text : attn_item_text(g, &t->row[row], t->labels);
}

/* "input | Q row 1 | 1 | 0" above "input | Q row 2 | 0 | 1": the column next to the numbers has the
 * labels, where those of the first one are the same. */
static void find_labels(struct attn_grouping *g, struct attn_table *t) {
  int n = 0;
  while (n < t->numbers && t->number[n] < t->labels) n++;
  if (t->labels < 0 || n == t->numbers || t->rows < 2) return;
  const int next = t->number[n] - 1;
  const char *first = attn_table_label(g, t, 0), *second = attn_table_label(g, t, 1);
  const char *name = attn_item_text(g, &t->row[0], next);
  const char *other = attn_item_text(g, &t->row[1], next);
  if (first && second && name && other && !strcmp(first, second) && strcmp(name, other))
    t->labels = next;
}

static int read_columns(struct attn_grouping *g, struct attn_table *t) {
  t->kind = attn_group_take(g, (size_t)t->cols, 1);
  t->number = attn_group_take(g, (size_t)t->cols, sizeof *t->number);
  if (!t->kind || !t->number) return 0;
  t->labels = -1;
  t->titles = has_titles(t);
  for (int c = 0; c < t->cols; c++) {
    t->kind[c] = (unsigned char)kind_of_column(g, t, c);
    if (t->kind[c] == COLUMN_TEXT && t->labels < 0 && attn_row_is_delimited(t->style))
      t->labels = c;
    if (t->kind[c] == COLUMN_NUMBERS && !is_blank_column(t, c)) t->number[t->numbers++] = c;
  }
  find_labels(g, t);
  t->skip = (t->drop_first && t->numbers > 1 && t->labels < 0) || attn_table_has_index(g, t);
  return g->status == ATTN_OK;
}

/* "scores row 2", "重みの2行目": the name in front of the row. */
static void find_counted_name(struct attn_grouping *g, struct attn_label *label) {
  static const char ROW[] = "(*UCP)^(.{1,24}?)(?|[ ]?の?([1-9])行目|,? row ([1-9]))$";
  struct attn_match m;
  if (!attn_match_at(g->scan->patterns, ROW, label->text, strlen(label->text), 0, &m)) return;
  label->stem = attn_group_text(g, label->text, m.group[1]);
  label->index = label->text[m.group[2].begin] - '0';
}

static int read_labels(struct attn_grouping *g, struct attn_table *t) {
  for (int r = 0; t->labels >= 0 && r < t->rows; r++) {
    if (!attn_group_label(g, attn_table_label(g, t, r), &t->row[r].label)) return 0;
    find_counted_name(g, &t->row[r].label);
  }
  return 1;
}

/* ---- columns of numbers ---- */

static int has_only_numbers(const struct attn_table *t) {
  for (int r = 0; r < t->rows; r++)
    for (int n = 0; n < t->numbers; n++)
      if (attn_table_item(t, r, t->number[n])->kind != ATTN_ITEM_CELL) return 0;
  return 1;
}

static void copy_cells(const struct attn_row *row, const int *number, int count, attn_cell *out) {
  for (int n = 0; n < count; n++) {
    row->item[number[n]].used = 1;
    out[n] = row->item[number[n]].cell;
  }
}

static const char *row_label(struct attn_grouping *g, const struct attn_table *t, int row,
                             int skip) {
  const char *label = t->row[row].label.text;
  return skip && !*label ? attn_item_text(g, &t->row[row], t->number[0]) : label;
}

/* The numbers of rows begin .. end, without the first `skip` columns. */
static struct attn_block *rows_block(struct attn_grouping *g, const struct attn_table *t, int begin,
                                     int end, int skip, char *name) {
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_ROWS, t->row[begin].line->line, name);
  int count = t->numbers - skip;
  for (int r = begin; b && r < end; r++) {
    attn_cell *row = attn_block_add_row(g, b, count, row_label(g, t, r, skip));
    if (!row) return NULL;
    copy_cells(&t->row[r], t->number + skip, count, row);
    if (skip) attn_table_item(t, r, t->number[0])->used = 1;
  }
  return b;
}

/* The rows once more, with all columns. */
static void add_table_reading(struct attn_grouping *g, const struct attn_table *t,
                              struct attn_block *b, const struct attn_row *header) {
  int rows = t->rows + (header != NULL);
  attn_cell *cells = attn_group_take(g, (size_t)rows * (size_t)t->numbers, sizeof *cells);
  if (!cells) return;
  for (int r = 0; r < rows; r++)
    copy_cells(!header ? &t->row[r]
               : r     ? &t->row[r - 1]
                       : header,
               t->number, t->numbers, cells + r * t->numbers);
  attn_block_add_reading(b, rows, t->numbers, cells);
}

/* A header of numbers, above rows that have no labels, may be one of them. */
static int header_may_be_row(const struct attn_table *t) {
  if (t->header.items != t->cols || t->labels >= 0 || !t->numbers) return 0;
  for (int n = 0; n < t->numbers; n++)
    if (!attn_item_is_number(&t->header.item[t->number[n]])) return 0;
  return 1;
}

/* One number in each line: a column, a row, or any shape between. */
static void add_scalar_shapes(struct attn_block *b) {
  attn_printing *p = &b->reading[0];
  attn_block_add_reading(b, 1, p->rows, p->cells);
  attn_block_add_shapes(b, p->rows - 1);
}

/* Has a header more than a title in its first cell? */
static int names_columns(const struct attn_row *header) {
  int n = 1;
  while (n < header->items && header->item[n].begin == header->item[n].end) n++;
  return n < header->items;
}

/* "QK^T | cat | sat", "Q | 1 | 2": the cell above the labels names a step; the only one that is not
 * blank, "Inputs X | |", all numbers. NULL: neither. */
static char *corner_name(struct attn_grouping *g, const struct attn_table *t) {
  const struct attn_row *header = &t->header;
  int is_title = header->items && t->cols > 1 && !names_columns(header);
  int is_corner = header->items == t->cols && t->labels == 0;
  char *corner = is_title || is_corner ? attn_item_text(g, header, 0) : NULL;
  if (!corner || (*corner >= 'a' && *corner <= 'z' && !corner[1])) return NULL; /* a token */
  return is_title || attn_label_step(corner) >= ATTN_STEP_Q ? corner : NULL;
}

/* "W_Q | 1 | 2" above "a | 0.5 | 0.1": the first row may be a header that names and counts. */
static int first_row_counts(const struct attn_table *t) {
  if (!attn_row_is_delimited(t->style) || t->labels < 0 || t->rows < 2 ||
      names_columns(&t->header) || t->counted)
    return 0;
  int first = t->numbers > 1 && attn_item_is_integer(attn_table_item(t, 0, t->number[0]), 1);
  for (int n = 0; n < t->numbers; n++)
    if (!attn_item_is_integer(attn_table_item(t, 0, t->number[n]), first + n)) return 0;
  return t->numbers > 1;
}

/* "Q = 1 0" alone, or above rows without a name; "query | 1 | 0" alone. */
static int first_label_names(const struct attn_table *t) {
  if (t->rows == 1 && t->labels == 0 && t->numbers > 1 && !t->header.items)
    return attn_label_step(t->row[0].label.text) >= 0;
  return is_assigned(t->style) && (t->rows == 1 || *t->row[1].label.text == 0);
}

static void add_table(struct attn_grouping *g, const struct attn_table *t) {
  int counts = first_row_counts(t), names = first_label_names(t) || counts;
  char *name = names ? t->row[0].label.text : attn_table_components(g, t);
  if (!name || !*name) name = corner_name(g, t);
  struct attn_block *b = rows_block(g, t, 0, t->rows, t->skip, name ? name : "");
  if (!b) return;
  if (counts)
    attn_block_add_reading(b, t->rows - 1, b->reading[0].cols,
                           b->reading[0].cells + b->reading[0].cols);
  if (t->skip && !t->drop_first && !attn_table_counts_rows(g, t)) add_table_reading(g, t, b, NULL);
  if (header_may_be_row(t)) add_table_reading(g, t, b, &t->header);
  if (t->numbers == 1 && t->rows > 1) add_scalar_shapes(b);
  attn_header_set(g, t, b, t->skip);
  attn_table_add_without_sums(g, b);
  struct attn_block *sums = attn_table_split_sums(g, b);
  attn_block_end(g, b, t->last_line);
  if (sums) attn_block_end(g, sums, t->last_line);
}

static void add_parts(struct attn_grouping *g, const struct attn_table *t) {
  for (int r = 0; r < t->rows && t->skip; r++) attn_table_item(t, r, t->number[0])->used = 1;
  struct attn_table only = *t;
  only.header_words = attn_header_words(g, t);
  for (int n = 0; n < t->parts && g->status == ATTN_OK; n++) {
    const struct attn_table_part *p = &t->part[n];
    only.number = t->number + p->begin;
    only.numbers = p->end - p->begin;
    struct attn_block *b = rows_block(g, &only, 0, attn_table_rows_of_part(t, p), 0, p->name);
    if (!b) return;
    if (only.numbers == 1 && t->rows > 1) add_scalar_shapes(b);
    if (!*p->name) b->ordinal = n;
    attn_header_set(g, &only, b, 0);
    attn_block_end(g, b, t->last_line);
  }
}

static int is_stem(const struct attn_label *label, const char *letters) {
  return label->stem && strchr(letters, *label->stem) && !label->stem[1];
}

/* "h_1", "h_2", then "s": the states of an encoder and the one that asks, in either order. */
static int has_states(const struct attn_table *t) {
  int changes = 0, states = 0, queries = 0;
  for (int r = 0; r < t->rows; r++) {
    const struct attn_label *label = &t->row[r].label;
    states += is_stem(label, "hk") && label->index >= 0;
    queries += is_stem(label, "sq");
    changes += r && !attn_same_stem(label, &t->row[r - 1].label);
  }
  return states > 1 && queries && states + queries == t->rows && changes == 1;
}

/* "Q row 1 | 1 | 0", "Q row 2 | 0 | 1", "K row 1 | 1 | 1": counted rows of three steps or more, of
 * which some have several. */
static int are_rows_of_steps(struct attn_grouping *g, const struct attn_table *t) {
  int groups = 0;
  for (int r = 0, end; r < t->rows; r = end, groups++) {
    const char *stem = t->row[r].label.stem;
    if (!stem || attn_step_of_text(g, stem) < 0) return 0;
    end = attn_table_group_end(t, r);
    for (int n = r; n < end; n++)
      if (t->row[n].label.index != n - r + 1) return 0;
  }
  return groups > 2 && groups < t->rows;
}

/* Is there a block for each stem? */
static int has_stems(struct attn_grouping *g, const struct attn_table *t) {
  if (attn_row_is_delimited(t->style)) return has_states(t) || are_rows_of_steps(g, t);
  if (!is_assigned(t->style) && t->style != ATTN_ROW_SPACES) return 0;
  for (int r = 0; r < t->rows; r++)
    if (!t->row[r].label.stem) return 0;
  return attn_table_group_end(t, 0) < t->rows;
}

/* "s | 2", "e | 7.389", "w | 0.88": below scores e and w are exponentials and weights. */
static int step_of_row(struct attn_grouping *g, const char *label, int is_below_scores) {
  if (is_below_scores && !strcmp(label, "e")) return ATTN_STEP_EXPONENTIALS;
  if (is_below_scores && !strcmp(label, "w")) return ATTN_STEP_WEIGHTS;
  return attn_step_of_text(g, label);
}

/* "| | k1 | k2 | sum |" above a row for each step. */
static int has_sums_of_steps(struct attn_grouping *g, const struct attn_table *t) {
  if (!t->steps || t->numbers < 3 || t->header.items != t->cols) return 0;
  char *last = attn_item_text(g, &t->header, t->number[t->numbers - 1]);
  return last && attn_label_step(last) == ATTN_STEP_ROW_SUM;
}

/* The column after the numbers. That of the exponentials is a step of its own; that of weights is
 * left to the check of sums. */
static void add_sum_of_step(struct attn_grouping *g, const struct attn_table *t, int row) {
  struct attn_table sum = *t;
  sum.number += t->numbers, sum.numbers = 1;
  char *name = attn_item_text(g, &t->header, *sum.number);
  if (!name || step_of_row(g, t->row[row].label.text, 1) == ATTN_STEP_WEIGHTS ||
      !attn_item_is_number(attn_table_item(t, row, *sum.number)))
    return;
  struct attn_block *b = rows_block(g, &sum, row, row + 1, 0, name);
  if (b) attn_block_end(g, b, t->row[row].line->line);
}

/* "q1: 1 0", "q2: 0 1", "k1: 1 1": a block for each step, title or stem. */
static int add_groups(struct attn_grouping *g, const struct attn_table *t) {
  if (t->rows < 2 || !(t->steps || t->titles || has_stems(g, t))) return 0;
  /* a column that counts all rows, in front of their labels */
  const int skip = t->numbers > 1 && t->number[0] < t->labels && attn_table_counts(t, 1);
  for (int r = 0, end; r < t->rows && g->status == ATTN_OK; r = end) {
    end = attn_table_group_end(t, r);
    char *corner = end - r == t->rows ? corner_name(g, t) : NULL;
    struct attn_table rows = *t;
    rows.numbers = attn_table_columns_of_rows(t, r, end);
    struct attn_block *b =
        rows_block(g, &rows, r, end, skip, corner ? corner : t->row[r].label.text);
    if (!b) return 1;
    if (rows.numbers == 1 && end - r > 1) add_scalar_shapes(b);
    if (t->titles) attn_header_set(g, &rows, b, 0), attn_table_add_without_sums(g, b);
    attn_block_end(g, b, t->row[end - 1].line->line);
    if (t->has_sums) add_sum_of_step(g, t, r);
  }
  return 1;
}

/* "e1 = 0.3 + 0.2 = 0.5" alone is no matrix, but may be one of several that recur. */
static void add_single(struct attn_grouping *g, const struct attn_table *t) {
  const char *label = t->row[0].label.text;
  const struct attn_left *left = g->scan->left;
  if (!left || !left->apart || t->style != ATTN_ROW_EQUALS || t->row[0].label.index < 0) return;
  char *name = attn_group_text(g, label, (struct attn_part){0, strcspn(label, "=")});
  struct attn_block *b = name ? rows_block(g, t, 0, 1, 0, name) : NULL;
  if (b) attn_block_end(g, b, t->last_line);
}

static void add_numbers(struct attn_grouping *g, struct attn_table *t) {
  int is_scalar = t->numbers == 1 && t->rows == 1 && is_assigned(t->style);
  if (t->numbers == 0 || !has_only_numbers(t)) return;
  if (is_scalar) {
    add_single(g, t);
    return;
  }
  attn_header_find(g, t);
  t->has_sums = has_sums_of_steps(g, t);
  t->numbers -= t->has_sums;
  if (t->parts && !t->has_sums)
    add_parts(g, t);
  else if (!add_groups(g, t))
    add_table(g, t);
  t->numbers += t->has_sums;
}

void attn_table_add(struct attn_grouping *g, struct attn_table *t) {
  if (!read_labels(g, t)) return;
  attn_table_vectors(g, t);
  if (g->status == ATTN_OK) add_numbers(g, t);
}

/* ---- the run ---- */

/* "views: 87": a count of something that is no step. */
static int is_count(const struct attn_table *t) {
  const struct attn_row_item *item = &t->row[0].item[0];
  return t->rows == 1 && t->cols == 1 && t->style == ATTN_ROW_COLON && attn_item_is_number(item) &&
         item->cell.decimals == 0 && attn_step_find(t->row[0].label.text) < 0 &&
         attn_label_step(t->row[0].label.text) < 0;
}

/* The numbers of "row 1: softmax(0.5, 1.5)", or of a list: "weights 0.3 and 0.7, so .. =". What
 * tanh is applied to is no step. */
static void add_label_strays(struct attn_grouping *g, const struct attn_table *t, int row) {
  static const char CALL[] =
      "(?<!tanh)(?<=[A-Za-z]) ?\\([-\\d.,;\\s]++\\)|"
      "(?<![\\d.(\\[{,+*/"
      "\\x{D7}\\x{B7}-])-?\\d++\\.\\d++(?:\\s*+(?:\\x{3068}|and|,)\\s*+-?\\d++\\.\\d++)++"
      "(?!\\s*+(?:[*/+=)\\x{D7}\\x{B7}]|\\([-\\d]))";
  const struct attn_row *r = &t->row[row];
  struct attn_match m;
  if (attn_row_is_delimited(t->style) || r->items == 0) return;
  struct attn_part rest = {0, r->item[0].begin};
  for (; attn_part_find(g, CALL, r->line->text, rest, &m); rest.begin = m.group[0].end)
    attn_stray_text(g, r->line, m.group[0], NULL, 0);
}

static void add_strays(struct attn_grouping *g, const struct attn_table *t) {
  int is_result = !is_count(t);
  for (int r = 0; r < t->rows; r++) {
    add_label_strays(g, t, r);
    for (int c = 0; c < t->row[r].items; c++) {
      const struct attn_row_item *item = attn_table_item(t, r, c);
      if (attn_item_is_number(item) && !item->used)
        attn_stray_cell(g, t->row[r].label.text, &item->cell, is_result);
      if (item->kind == ATTN_ITEM_TEXT)
        (c == t->labels ? attn_stray_label : attn_stray_item)(g, &t->row[r], c);
    }
  }
}

/* "What do the weights sum to? | 1" */
static int is_sum_of_weights(struct attn_grouping *g, const struct attn_table *t) {
  static const char SUM[] = "(?i)\\bsum\\b|\\badds? up\\b|合計|総和";
  char *label = t->cols == 2 ? attn_item_text(g, &t->row[0], 0) : NULL;
  return label && attn_item_is_integer(&t->row[0].item[1], 1) &&
         attn_occurs(g->scan->patterns, SUM, label);
}

/* "total 3" is text, and so is the sum of exponentials. */
static int is_one_number(struct attn_grouping *g, const struct attn_table *t) {
  if (t->rows == 1 && is_sum_of_weights(g, t)) return 1;
  if (t->rows != 1 || t->cols > 1) return 0;
  return t->style == ATTN_ROW_SPACES ||
         (is_assigned(t->style) && attn_label_step(t->row[0].label.text) == ATTN_STEP_ROW_SUM &&
          attn_place_of_sum(g, g->blocks));
}

/* Are rows of a list called steps, and two of them another one each? Is each row of a table? */
static int are_steps(struct attn_grouping *g, const struct attn_table *t) {
  uint32_t seen = 0;
  int first = -1, differ = 0, known = 0;
  for (int r = 0; r < t->rows; r++) {
    if (t->row[r].label.stem && !attn_row_is_delimited(t->style)) return 0;
    int step = step_of_row(g, t->row[r].label.text, seen >> ATTN_STEP_SCORES & 1);
    if (attn_row_is_delimited(t->style) && (step < 0 || seen >> step & 1)) return 0;
    if (step < 0) continue;
    seen |= (uint32_t)1 << step;
    if (!known++) first = step;
    differ |= step != first;
  }
  return differ && 2 * known >= t->rows;
}

static struct attn_table take_run(struct attn_grouping *g) {
  struct attn_table t = {.row = g->row,
                         .rows = g->rows,
                         .header = g->header,
                         .super = g->super,
                         .labels = -1,
                         .drop_first = g->drop_first,
                         .counted = g->counted};
  if (g->rows) {
    t.cols = t.row[0].items;
    t.style = t.row[0].style;
    t.line = t.row[0].line->line;
    t.last_line = t.row[t.rows - 1].line->line;
    attn_table_name_rows(&t);
    t.steps = !attn_row_is_delimited(t.style) && are_steps(g, &t);
  }
  g->rows = 0;
  g->row = NULL;
  g->header.items = g->super.items = g->before.items = 0;
  g->drop_first = g->counted = 0;
  return t;
}

static void add_text(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct attn_part all = {0, line->bytes};
  if (attn_place_of_sum(g, g->blocks))
    attn_results(g, line); /* "their sum is 3" */
  else
    attn_stray_text(g, line, all, NULL, 0);
  attn_group_above(g, attn_group_text(g, line->text, all));
}

/* "| U h_j | e_j |" above "| [0.1, 0.2] | 0.5 |": vectors, and one column of numbers. */
static int is_beside_vectors(const struct attn_table *t) {
  int vectors = 0;
  for (int c = 0; c < t->cols; c++) vectors += t->kind[c] == COLUMN_VALUES;
  if (!vectors || t->numbers - t->skip != 1 || t->rows < 2) return 0;
  return t->skip || !(attn_table_counts(t, 0) || attn_table_counts(t, 1));
}

/* A table that lists several matrices. from: its first block. 0: it is none. */
static int add_long(struct attn_grouping *g, const struct attn_table *t, int from) {
  if (!attn_table_long(g, t) && !attn_table_sections(g, t) && !attn_table_pairs(g, t)) return 0;
  attn_blocks_sort(g, from);
  add_strays(g, t);
  g->aboves = 0;
  return 1;
}

void attn_run_flush(struct attn_grouping *g) {
  struct attn_table t = take_run(g);
  int blocks = g->blocks;
  if (t.rows && is_one_number(g, &t)) add_text(g, t.row[0].line), t.rows = 0;
  if (t.rows == 0) return;
  attn_header_strays(g, &t.header);
  attn_table_turn(g, &t);
  int has_terms = attn_table_terms(g, &t);
  if (add_long(g, &t, blocks)) return;
  int is_read = read_columns(g, &t) && read_labels(g, &t);
  if (is_read && attn_row_is_delimited(t.style)) t.steps = are_steps(g, &t);
  t.beside = is_read && is_beside_vectors(&t);
  int are_both = t.beside || (is_read && t.numbers > 1 && attn_header_has_steps(g, &t));
  if (are_both) add_numbers(g, &t);
  if (is_read && !attn_table_vectors(g, &t) && !are_both) add_numbers(g, &t);
  if (are_both || has_terms) attn_blocks_sort(g, blocks);
  attn_table_move_row_sum(g, blocks);
  if (g->status == ATTN_OK) attn_table_check_counts(g, &t), add_strays(g, &t);
  if (g->blocks > blocks) g->aboves = 0;
}
