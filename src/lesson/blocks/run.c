/* run.c -- rows that look alike, one below the other, until one does not. */
#include <string.h>

#include "table.h"

/* "total 3", "[1,] 0.5", "with 'cat' 0.5", "score(s, h1) 0.5": a label of one number */
static const char SHORT_LABEL[] =
    "(*UCP)(?:\\[\\d+,\\]|[-\\w\\s\"'\\x{201C}\\x{201D}\\x{300C}\\x{300D}]{1,16}|\\W{0,4}\\w{1,12}"
    "\\([\\w\\s,]{"
    "1,16}\\))$";
/* "d_k", "sqrt(d": sizes and divisors are not results */
static const char SIZE_LABEL[] =
    "d_?\\{?(?:k|v|model|head)|\\x{221A}|sqrt|(?i:\\b(?:n_?|num_?)?heads$|\\bscale$)";
static const char COUNT_LABEL[] =
    "(?i)\\bd_?\\{?(?:k|v|model|head)|dimension|number of|(?:トークン|単語|ヘッド|次元)の?数|"
    "\\bn(?:um)?_(?:quer(?:y|ies)|keys?|values?|tokens?|words?|heads?)$";
enum { VALUE_LABEL_MAX = 40, SIZE_CHARACTERS = 14, WORDS_MAX = 2 };

static int count_texts(const struct attn_row *row) {
  int count = 0;
  for (int n = 0; n < row->items; n++) count += row->item[n].kind == ATTN_ITEM_TEXT;
  return count;
}

static int count_numbers(const struct attn_row *row) {
  int count = 0;
  for (int n = 0; n < row->items; n++)
    count += row->item[n].kind == ATTN_ITEM_VALUE || attn_item_is_number(&row->item[n]);
  return count;
}

static int has_vector(const struct attn_row *row) {
  int n = 0;
  while (n < row->items && row->item[n].kind != ATTN_ITEM_VALUE) n++;
  return n < row->items;
}

/* ---- a row or prose? ---- */

/* "number of tokens: 4", "dimension (d_k): 2"; "d_k = 2" */
static int is_size(struct attn_grouping *g, const struct attn_row *row, struct attn_part label) {
  const char *text = row->label.text;
  if (row->style == ATTN_ROW_COLON)
    return row->item[0].cell.decimals == 0 && attn_part_find(g, COUNT_LABEL, text, label, NULL);
  return row->style == ATTN_ROW_EQUALS && attn_item_is_number(&row->item[0]) &&
         attn_part_ends_in(g, SIZE_LABEL, text, label, SIZE_CHARACTERS);
}

/* "√d_k,1.4142", "d_k,2,√d_k,1.41": a line of a sheet that is none of its tables. */
static int is_size_of_sheet(struct attn_grouping *g, const struct attn_row *row) {
  static const char SIZE[] =
      "(?i)\\s*(?:\\x{221A}|sqrt|root of |\\W{0,4}\\s?d_?(?:k|v|model)\\s*$)";
  if (row->style != ATTN_ROW_TABS && row->style != ATTN_ROW_COMMAS) return 0;
  if (!count_texts(row) || count_texts(row) != count_numbers(row)) return 0;
  for (int n = 0; n < row->items; n++) {
    const struct attn_row_item *i = &row->item[n], *next = n + 1 < row->items ? i + 1 : NULL;
    struct attn_part name = {i->begin, i->end};
    if (i->kind == ATTN_ITEM_TEXT && (!next || !attn_item_is_number(next) ||
                                      !attn_part_begins_in(g, SIZE, row->line->text, name, NULL)))
      return 0;
  }
  return 1;
}

/* "scores,cat,dog,0.5" below "step,row,col,value" and "Q,cat,1,0.2". */
static int is_record(const struct attn_grouping *g, const struct attn_row *row) {
  return g->rows > 0 && g->row[0].style == row->style && g->row[0].items == row->items &&
         g->header.items == row->items && attn_item_is_number(&row->item[row->items - 1]);
}

/* "We get 0.5", "d_k = 2" */
static int is_prose(struct attn_grouping *g, const struct attn_row *row) {
  const char *label = row->label.text;
  int texts = attn_row_is_delimited(row->style) ? count_texts(row) : 0;
  if (texts > WORDS_MAX && texts > count_numbers(row) && !is_record(g, row)) return 1;
  if (is_size_of_sheet(g, row)) return 1;
  if (row->items != 1) return 0;
  struct attn_part all = {0, strlen(label)};
  if (row->style == ATTN_ROW_SPACES)
    return *label && !attn_part_begins_in(g, SHORT_LABEL, label, all, NULL);
  if (row->style == ATTN_ROW_VALUES) return attn_part_last(label, all, VALUE_LABEL_MAX).begin > 0;
  return is_size(g, row, all);
}

/* ---- the header of a table ---- */

static char *join_texts(struct attn_grouping *g, const struct attn_row *row) {
  size_t bytes = row->line->bytes, end = 0;
  char *text = attn_group_take(g, bytes + (size_t)row->items + 1, 1);
  if (!text) return NULL;
  for (int n = 0; n < row->items; n++) {
    const struct attn_row_item *item = &row->item[n];
    if (item->kind != ATTN_ITEM_TEXT) continue;
    if (end) text[end++] = ' ';
    memcpy(text + end, row->line->text + item->begin, item->end - item->begin);
    end += item->end - item->begin;
  }
  return text;
}

/* ",1,2,1,2" below ",Q,,K,": the columns of each part. */
static int counts_parts(const struct attn_row *names, const struct attn_row *row) {
  int first = row->items > 2 && attn_item_is_integer(&row->item[1], 1), last = first, parts = 0;
  for (int n = 1, next = first; n < row->items; n++, next++) {
    if (names->item[n].kind == ATTN_ITEM_TEXT) next = first, parts++;
    if (!attn_item_is_integer(&row->item[n], next)) return 0;
    if (next > last) last = next;
  }
  return parts && last > first && row->item[0].begin == row->item[0].end;
}

/* ",cat,dog,1,2" below a header of as many cells: one more. */
static int is_second_header(const struct attn_grouping *g, const struct attn_row *row) {
  return g->rows == 0 && g->header.items == row->items && g->header.style == row->style &&
         !has_vector(row) &&
         (count_texts(row) > count_numbers(row) || counts_parts(&g->header, row));
}

/* A row of words alone: the header of what follows, and perhaps a line of text. */
static int read_header(struct attn_grouping *g, const struct attn_row *row) {
  const int is_second = is_second_header(g, row);
  const struct attn_row above = is_second ? g->header : (struct attn_row){.items = 0};
  if (!attn_row_is_delimited(row->style) || (count_numbers(row) > 0 && !is_second)) return 0;
  const int is_list = row->style == ATTN_ROW_COMMAS;
  for (int n = 0; n < row->items && !is_list; n++) attn_stray_item(g, row, n);
  if (is_list) attn_stray_text(g, row->line, (struct attn_part){0, row->line->bytes}, NULL, 0);
  attn_run_flush(g);
  g->super = above;
  g->header = *row;
  if (row->style != ATTN_ROW_PIPES) attn_group_above(g, join_texts(g, row));
  return 1;
}

/* ---- rows that look alike ---- */

/* The length of the vector that an item is, 0: it is none. */
static int item_length(const struct attn_grouping *g, const struct attn_row_item *item) {
  return item->kind == ATTN_ITEM_VALUE ? g->lines->value[item->value].grid[0].cols : 0;
}

static int is_bare(const struct attn_row *row) { return *row->label.text == 0; }

/* "Q = 1 0" above "    0 1": more of the same matrix. */
static int continues_matrix(const struct attn_row *last, const struct attn_row *row) {
  return row->style == ATTN_ROW_SPACES && is_bare(row) && row->items > 1 &&
         (last->style == ATTN_ROW_EQUALS || last->style == ATTN_ROW_COLON) &&
         attn_is_blank(row->line->text[0]) && row->line->line == last->line->line + 1;
}

/* "U =" in the line above the rows */
static int is_named_above(const struct attn_grouping *g) {
  const char *above = g->aboves ? g->above[g->aboves - 1] : "";
  return *above && above[strlen(above) - 1] == '=';
}

/* "K = [..]" after rows without a name, the first of which has one, or which have one above. */
static int begins_next(const struct attn_grouping *g, const struct attn_row *row) {
  int is_name = row->style != ATTN_ROW_VALUES || row->label.stem;
  return g->rows > 1 && !attn_row_is_delimited(row->style) && !is_bare(row) && is_name &&
         is_bare(&g->row[g->rows - 1]) && (!is_bare(&g->row[0]) || is_named_above(g));
}

/* z1 and z2, "row 1" and "row 2" */
static int same_name(const struct attn_row *a, const struct attn_row *b) {
  return attn_same_letters(a->label.text, b->label.text);
}

/* "step 2  U h1" and "U h2", "encoder states  h1" and "h2": words in front of the first name only.
 */
static int is_next_name(struct attn_grouping *g, const char *last, const char *name) {
  static const char WORDS_BEFORE[] = "(*UCP)[\\w\\s.:)]*\\pL[\\w\\s.:)]*\\s$";
  size_t bytes = strlen(last), length = strlen(name);
  if (bytes <= length || !attn_name_recurs(last + bytes - length, name, 1)) return 0;
  return attn_match_at(g->scan->patterns, WORDS_BEFORE, last, bytes - length, 0, NULL);
}

/* "sum: 9.13" below "exp(1.5) = 4.48" */
static int is_sum(const struct attn_row *row) {
  return row->items == 1 && attn_label_step(row->label.text) == ATTN_STEP_ROW_SUM;
}

/* In the reading in which vectors with different names are no matrix. */
static int are_apart(struct attn_grouping *g, const struct attn_row *last,
                     const struct attn_row *row) {
  return g->scan->left && g->scan->left->apart && row->items == 1 &&
         item_length(g, &row->item[0]) && !is_bare(last) && !is_bare(row) &&
         !same_name(last, row) && !is_next_name(g, last->label.text, row->label.text);
}

/* "Q = [1, 0], [0, 1]", "keys: [1, 0]  [0, 1]": all rows of a matrix. */
static int is_matrix_row(struct attn_grouping *g, const struct attn_row *row) {
  int is_matrix =
      row->style == ATTN_ROW_COLON || (row->style == ATTN_ROW_EQUALS && row->label.stem);
  if (!is_matrix || row->items < 2 || row->label.index >= 0) return 0;
  for (int n = 0; n < row->items; n++)
    if (!item_length(g, &row->item[n]) ||
        item_length(g, &row->item[n]) != item_length(g, &row->item[0]))
      return 0;
  return !strstr(row->line->text, "\u2192");
}

/* "s[1]" above "s[0]/sqrt(d)" */
static int begins_quotient(const struct attn_row *last, const struct attn_row *row) {
  const char *a = last->label.text, *b = row->label.text, *end = strchr(b, ']');
  size_t stem = strcspn(a, "[");
  return stem && a[stem] && end && end[1] == '/' && strncmp(a, b, stem + 1) == 0;
}

/* Is the row below the last of "v1" and "v2", and none that counts so: "scores of q1"? */
static int ends_count(const struct attn_grouping *g, const struct attn_row *row) {
  if (g->rows < 2 || row->label.stem) return 0;
  const struct attn_label *last = &g->row[g->rows - 1].label, *above = &g->row[g->rows - 2].label;
  return attn_same_stem(above, last) && above->index >= 0 && last->index == above->index + 1;
}

/* "keys of dog: 1 0" above a blank line and "values(cat) = 2 1"; "v1 = (1, 0)" and "v2 = (0, 1)"
 * above "scores of q1: (2, 1)" */
static int begins_step(struct attn_grouping *g, const struct attn_row *last,
                       const struct attn_row *row) {
  if (row->line->line <= last->line->line + 1 && !ends_count(g, row)) return 0;
  if (is_bare(last) || is_bare(row)) return 0;
  if (!attn_row_is_labelled(last->style) || same_name(last, row)) return 0;
  int step = attn_step_of_text(g, row->label.text), before = attn_step_of_text(g, last->label.text);
  return step >= 0 && before >= 0 && step != before;
}

/* "softmax: [0.3, 0.7]" below "[-1, 0]", which is the only row: another step. A row of a matrix
 * that has its name in front of another row is indented. */
static int begins_result(struct attn_grouping *g, const struct attn_row *last,
                         const struct attn_row *row) {
  if (g->rows != 1 || !is_bare(last) || is_bare(row)) return 0;
  if (!has_vector(last) || !has_vector(row)) return 0;
  if (last->item[0].begin > strspn(row->line->text, " \t")) return 0;
  return attn_step_of_text(g, row->label.text) >= ATTN_STEP_SCORES;
}

static int looks_alike(struct attn_grouping *g, const struct attn_row *last,
                       const struct attn_row *row) {
  if (begins_result(g, last, row)) return 0;
  if (last->items != row->items || begins_next(g, row)) return 0;
  if (is_matrix_row(g, last) || is_matrix_row(g, row) || begins_step(g, last, row)) return 0;
  for (int n = 0; n < row->items; n++)
    if (item_length(g, &last->item[n]) != item_length(g, &row->item[n])) return 0;
  if (continues_matrix(last, row)) return 1;
  if (is_sum(row) && !is_sum(last)) return 0;
  if (is_sum(last) && !is_sum(row) && attn_item_is_number(&last->item[0])) return 0;
  if ((row->is_formula || begins_quotient(last, row)) && !same_name(last, row)) return 0;
  return last->style == row->style ||
         (attn_row_is_labelled(last->style) && attn_row_is_labelled(row->style));
}

/* "  0 1" above "0 0.5 0.2" or "cat 0.5 0.2": column numbers of a printed table, whose rows are
 * numbered or called something, too. */
static int is_numbered_header(const struct attn_row *header, const struct attn_row *row) {
  int first = attn_item_is_integer(&header->item[0], 1), is_called = !is_bare(row);
  if (row->style != header->style || row->items != header->items + !is_called) return 0;
  if (is_called && (!is_bare(header) || header->items < 2 || row->style != ATTN_ROW_SPACES))
    return 0;
  for (int n = 0; n < header->items; n++)
    if (!attn_item_is_integer(&header->item[n], first + n)) return 0;
  return is_called || attn_item_is_integer(&row->item[0], first);
}

static int is_blank_item(const struct attn_row_item *item) { return item->begin == item->end; }

/* The items up to the last that is not blank. */
static int items_to_last(const struct attn_row *row) {
  int items = row->items;
  while (items && is_blank_item(&row->item[items - 1])) items--;
  return items;
}

/* "query \\ key | 1 | 2 | 3", "Q | 1 | 2 | 3" above "1 | 0.5 | 0.2 | 0.3", "W_Q,1,2" above
 * "1,2,-1", or with a blank corner: both are numbered.
 */
static int numbers_both(struct attn_grouping *g, const struct attn_row *header,
                        const struct attn_row *row) {
  static const char PAIR[] = "(?i)quer|key|クエリ|キー|\\\\|/";
  int is_blank = is_blank_item(&header->item[0]);
  if (!attn_row_is_delimited(row->style) || header->style != row->style ||
      row->items != header->items || row->items < 3)
    return 0;
  if (!is_blank && header->item[0].kind != ATTN_ITEM_TEXT) return 0;
  int first = attn_item_is_integer(&header->item[1], 1);
  for (int n = 1; n < header->items; n++)
    if (!attn_item_is_integer(&header->item[n], first + n - 1)) return 0;
  if (!attn_item_is_integer(&row->item[0], first)) return 0;
  char *title = attn_item_text(g, header, 0);
  return is_blank ||
         (title && (attn_label_step(title) >= 0 || attn_occurs(g->scan->patterns, PAIR, title)));
}

/* Is the run below such a title: "Q,1,2"? */
static int is_titled(const struct attn_grouping *g) {
  const char *above = g->aboves ? g->above[g->aboves - 1] : "";
  return *above && strchr("XQKV", *above) && !above[1];
}

/* "p1" below "p0": a row of the table. */
static int is_next_row(struct attn_grouping *g, const char *title) {
  char *above = g->rows > 1 ? attn_item_text(g, &g->row[g->rows - 2], 0) : NULL;
  return above && title && *title && attn_same_letters(above, title);
}

/* ",1,2" or "Q,1,2" above "cat,0.5,0.2": the columns of a sheet are numbered from 1. */
static int numbers_columns(struct attn_grouping *g, const struct attn_row *header,
                           const struct attn_row *row) {
  int end = items_to_last(header); /* without blanks at the end of either */
  if (!attn_row_is_delimited(row->style) || row->style != header->style || end < 3 ||
      items_to_last(row) != end || row->item[0].kind != ATTN_ITEM_TEXT)
    return 0;
  for (int n = 1; n < end; n++)
    if (!attn_item_is_integer(&header->item[n], n) || !attn_item_is_number(&row->item[n])) return 0;
  char *title = attn_item_text(g, header, 0), *name = attn_item_text(g, row, 0);
  int is_letter = title && *title && !title[1];
  int is_word =
      title && *title && (!is_letter || (strchr("XQKV", *title) && (g->rows == 1 || is_titled(g))));
  int is_title =
      is_word && name && !attn_same_letters(title, name) && attn_label_step(title) >= 0 &&
      (attn_label_step(name) < 0 || attn_label_is_indexed(name)) && !is_next_row(g, title);
  return is_blank_item(&header->item[0]) || is_title;
}

/* A table whose row has one cell more or less is a mistake. */
static int is_ragged(const struct attn_grouping *g, const struct attn_row *row) {
  const struct attn_row *last = &g->row[g->rows - 1];
  int more = row->items - last->items;
  return (g->rows > 1 || g->header.items == last->items) && last->style == ATTN_ROW_PIPES &&
         row->style == ATTN_ROW_PIPES && (more == 1 || more == -1) && count_texts(row) == 0 &&
         count_numbers(row) > 0 && !strstr(row->line->text, ATTN_MARK_VALUE);
}

/* Are the second cells of two rows 1 and 2, or 2 and 3, ..? */
static int counts_on(const struct attn_row *above, const struct attn_row *row) {
  enum { COUNT_MAX = 32 };
  int n = 2;
  while (n < COUNT_MAX && !attn_item_is_integer(&row->item[1], n)) n++;
  return attn_item_is_integer(&above->item[1], n - 1);
}

/* "sum | 1 | 2.3" below "exp | 1 | 1.2 | 1.1" and "exp | 2 | 1.4 | 0.9", or below other matrices
 * whose rows are counted: the first row of another one. */
static int begins_counted(struct attn_grouping *g, const struct attn_row *row) {
  const struct attn_row *last = &g->row[g->rows - 1];
  if (row->items < 3 || !attn_item_is_integer(&row->item[1], 1)) return 0;
  if (g->has_counted_rows || g->rows < 2) return g->has_counted_rows;
  char *name = attn_item_text(g, last, 0), *above = attn_item_text(g, last - 1, 0);
  return name && above && !strcmp(name, above) && counts_on(last - 1, last);
}

/* A row of a table that has a name, and one number less than those above. It is not that of sums.
 */
static int lacks_number(struct attn_grouping *g, const struct attn_row *row) {
  const struct attn_row *last = g->rows ? &g->row[g->rows - 1] : NULL;
  if (!last || !attn_row_is_delimited(row->style) || last->style != row->style) return 0;
  if (g->rows < 2 && g->header.items != last->items) return 0;
  if (row->items + 1 != last->items || count_numbers(row) + 1 != row->items) return 0;
  if (count_texts(last) != 1 || last->item[0].kind != ATTN_ITEM_TEXT) return 0;
  if (begins_counted(g, row)) return 0;
  char *name = row->item[0].kind == ATTN_ITEM_TEXT ? attn_item_text(g, row, 0) : NULL;
  int is_indexed = name && row->style == ATTN_ROW_PIPES && attn_label_is_indexed(name);
  int is_row = is_indexed || (name && attn_label_step(name) < 0);
  return is_row && !strstr(row->line->text, ATTN_MARK_VALUE);
}

/* "q.k | 9 | 6" below " | cat | dog | sum" of a sheet: the last cell was blank. */
static int lacks_sum(struct attn_grouping *g, const struct attn_row *row) {
  const struct attn_row *header = &g->header;
  if (!attn_row_is_delimited(row->style) || header->style != row->style ||
      header->items != row->items + 1 || count_numbers(row) + 1 != row->items || row->items < 3)
    return 0;
  char *last = attn_item_text(g, header, header->items - 1);
  return last && attn_label_step(last) == ATTN_STEP_ROW_SUM;
}

/* "sits,1,," below "cat,2,1,": a cell of a sheet that was left out. A causal mask leaves out more
 * above than below, and rows of sums have fewer numbers. */
static int lacks_cell(struct attn_grouping *g, const struct attn_row *row) {
  const struct attn_row *last = g->rows ? &g->row[g->rows - 1] : NULL;
  if (!last || (row->style != ATTN_ROW_COMMAS && row->style != ATTN_ROW_TABS)) return 0;
  if (last->style != row->style || last->items != row->items || row->items < 3) return 0;
  int numbers = count_numbers(row);
  if (!numbers || numbers + 1 >= row->items || last->item[0].kind != ATTN_ITEM_TEXT) return 0;
  if (numbers + 1 != count_numbers(last) || count_texts(row) != 1) return 0;
  for (int n = 1; n <= numbers + 1; n++)
    if (!attn_item_is_number(&last->item[n]) || attn_item_is_number(&row->item[n]) == (n > numbers))
      return 0;
  char *name = row->item[0].kind == ATTN_ITEM_TEXT ? attn_item_text(g, row, 0) : NULL;
  return name && attn_label_step(name) < 0;
}

static void report_missing(struct attn_grouping *g, const struct attn_row *row, int numbers,
                           int others) {
  struct attn_source_position p = attn_group_place(g, row->line, row->item[0].begin);
  attn_status status =
      attn_scan_add_misprint(g->scan, p, 0,
                             "this row has %d numbers, but the rows next to it have %d: "
                             "give all rows of a matrix the same length",
                             numbers, others);
  if (g->status == ATTN_OK) g->status = status;
}

/* The missing number is read as a blank. */
static struct attn_row complete_row(struct attn_grouping *g, const struct attn_row *row) {
  struct attn_row complete = *row;
  report_missing(g, row, row->items - 1, row->items);
  attn_row_pad(g, &complete, g->row[g->rows - 1].items);
  return complete;
}

/* Rows of numbers in consecutive lines. */
static int is_consecutive(const struct attn_row *last, const struct attn_row *row) {
  int may_have_words = row->style == ATTN_ROW_COMMAS;
  return last->style == row->style && is_bare(last) && is_bare(row) &&
         (may_have_words || count_texts(last) + count_texts(row) == 0) &&
         row->line->line == last->line->line + 1;
}

/* "K = 2 1" above "    1": a row of a matrix whose name is in front of its first row. */
static int is_in_named(const struct attn_row *first, const struct attn_row *row) {
  return (first->style == ATTN_ROW_EQUALS || first->style == ATTN_ROW_COLON) &&
         attn_label_step(first->label.text) >= 0 && row->style == ATTN_ROW_SPACES && is_bare(row) &&
         attn_is_blank(row->line->text[0]);
}

/* Reports a row whose length differs from that of the rows above. */
static void report_ragged(struct attn_grouping *g, const struct attn_row *row, int cols) {
  attn_group_ragged(g, attn_group_place(g, row->line, row->item[0].begin), cols, row->items);
}

/* "1,0", "-1", "0,1": one number between two rows of a sheet. */
static int is_lone_number(const struct attn_row *before, const struct attn_row *odd,
                          const struct attn_row *row) {
  return before->style == ATTN_ROW_COMMAS && row->style == ATTN_ROW_COMMAS && row->items > 1 &&
         before->items > 1 && odd->items == 1 && attn_item_is_number(&odd->item[0]) &&
         count_numbers(before) == before->items && count_numbers(row) == row->items &&
         is_bare(odd) && odd->line->line == before->line->line + 1 &&
         row->line->line == odd->line->line + 1;
}

/* One row of another length between rows of the same: "1 2", "3", "4 5"; in a sheet, three rows of
 * three lengths. */
static void check_odd_row(struct attn_grouping *g, const struct attn_row *row) {
  const struct attn_row *odd = g->row;
  if (g->rows != 1 || !g->before.items || odd->items == row->items) return;
  if (is_lone_number(&g->before, odd, row)) report_ragged(g, odd, row->items);
  if (is_in_named(&g->before, odd) && odd->line->line == g->before.line->line + 1 &&
      g->before.items == row->items && odd->items < row->items && is_consecutive(odd, row))
    report_missing(g, odd, odd->items, row->items);
  if (!is_consecutive(&g->before, odd) || !is_consecutive(odd, row)) return;
  int is_sheet = row->style == ATTN_ROW_COMMAS && row->items > 1 && g->before.items > 1;
  if (g->before.items == row->items || is_sheet) report_ragged(g, odd, g->before.items);
}

/* "[1,] 0.5 1" above "[2,] 2": R numbers the rows of a matrix so. */
static int are_numbered(const struct attn_row *last, const struct attn_row *row) {
  return *row->label.text == '[' && strstr(row->label.text, ",]") &&
         last->style == ATTN_ROW_SPACES && row->style == last->style &&
         row->line->line == last->line->line + 1 && row->label.index == last->label.index + 1 &&
         same_name(last, row);
}

/* "X" above "1 2" above "3". */
static int is_short_row(struct attn_grouping *g, const struct attn_row *row) {
  const struct attn_row *last = &g->row[g->rows - 1];
  if (!is_consecutive(last, row) || row->items >= last->items || !g->aboves ||
      attn_label_step(g->above[g->aboves - 1]) < 0)
    return 0;
  char *title = row->item[0].kind == ATTN_ITEM_TEXT ? attn_item_text(g, row, 0) : NULL;
  return !title || attn_label_step(title) < 0;
}

/* "x2 = (1, 0)" below "x1 = (1, 0, 0)". */
static int is_short_vector(struct attn_grouping *g, const struct attn_row *row) {
  const struct attn_row *last = &g->row[g->rows - 1];
  int is_next = last->items == 1 && row->items == 1 && attn_same_stem(&last->label, &row->label) &&
                row->label.index == last->label.index + 1 &&
                row->line->line == last->line->line + 1;
  if (!is_next || !strchr("xkqv", *row->label.stem) || row->label.stem[1]) return 0;
  int above = item_length(g, &last->item[0]), here = item_length(g, &row->item[0]);
  return above > 1 && here > 1 && above != here;
}

static void check_ragged(struct attn_grouping *g, const struct attn_row *row) {
  const struct attn_row *last = &g->row[g->rows - 1];
  int is_numbered = are_numbered(last, row) && row->items != last->items;
  if (is_numbered && g->rows == 1 && row->items > last->items)
    report_ragged(g, last, row->items);
  else if (is_short_vector(g, row))
    report_missing(g, row, item_length(g, &row->item[0]), item_length(g, &last->item[0]));
  else if (g->rows > 1 && is_in_named(g->row, row) && is_consecutive(last, row) &&
           row->items < last->items)
    report_missing(g, row, row->items, last->items);
  else if (is_numbered || is_ragged(g, row) || is_short_row(g, row))
    report_ragged(g, row, last->items);
}

/* "W = (1, 0)" below "s = (1, 1)" and above "(0, 1)" without a name: W begins here. */
static void part_from_last(struct attn_grouping *g, const struct attn_row *row) {
  if (g->rows < 2 || attn_row_is_delimited(row->style) || !is_bare(row)) return;
  const struct attn_row last = g->row[g->rows - 1], *above = &g->row[g->rows - 2];
  if (is_bare(&last) || is_bare(above) || same_name(above, &last)) return;
  if (!looks_alike(g, &last, row)) return;
  g->rows--;
  attn_run_flush(g);
  if (attn_group_grow(g, (void **)&g->row, 0, sizeof *g->row)) g->row[g->rows++] = last;
}

/* The last row of words above a blank line, shorter than the rows below it: it is of what is above.
 */
static void drop_header_above(struct attn_grouping *g, const struct attn_row *row) {
  const struct attn_row *header = &g->header;
  if (g->rows || !header->items || header->style == ATTN_ROW_PIPES) return;
  if (row->items > header->items && row->line->line > header->line->line + 1) g->header.items = 0;
}

/* " 2  0     1  0" above "-1  1" below a line of names: the matrix on the left has more rows than
 * those beside it. Its numbers end where those above do, in front of a wide gap. */
static int lacks_parts(struct attn_grouping *g, const struct attn_row *row) {
  enum { GAP = 4 };
  const struct attn_row *last = g->rows > 1 ? &g->row[g->rows - 1] : NULL;
  int n = 0, items = row->items;
  if (!last || row->style != ATTN_ROW_SPACES || !is_consecutive(last, row)) return 0;
  if (items < 2 || items >= last->items) return 0;
  for (; n < items && row->item[n].end == last->item[n].end; n++)
    if ((last->item[n + 1].begin - last->item[n].end >= GAP) != (n + 1 == items)) return 0;
  return n == items && attn_header_is_above_parts(g, last->items);
}

int attn_run_add(struct attn_grouping *g, const struct attn_row *row) {
  struct attn_row complete;
  drop_header_above(g, row);
  if (read_header(g, row)) return 1;
  if (lacks_sum(g, row))
    complete = *row, attn_row_pad(g, &complete, row->items + 1), row = &complete;
  else if (lacks_parts(g, row))
    complete = *row, attn_row_pad(g, &complete, g->row[g->rows - 1].items), row = &complete;
  else if (lacks_number(g, row))
    complete = complete_row(g, row), row = &complete;
  if (is_prose(g, row)) return 0;
  check_odd_row(g, row);
  if (lacks_cell(g, row)) report_missing(g, row, count_numbers(row), count_numbers(row) + 1);
  part_from_last(g, row);
  int is_pair = g->rows == 1 && numbers_both(g, &g->row[0], row);
  if (is_pair || (g->rows == 1 && is_numbered_header(&g->row[0], row))) {
    g->rows = 0;
    g->drop_first = is_pair || is_bare(row);
  } else if (g->rows > 0 && numbers_columns(g, &g->row[g->rows - 1], row)) {
    char *title = attn_item_text(g, &g->row[g->rows - 1], 0);
    if (--g->rows) attn_run_flush(g);
    attn_group_above(g, title);
    g->counted = row->items - 1;
  } else if (g->rows > 0 && are_apart(g, &g->row[g->rows - 1], row)) {
    attn_run_flush(g);
    g->scan->regrouped++;
  } else if (g->rows > 0 && !looks_alike(g, &g->row[g->rows - 1], row)) {
    check_ragged(g, row);
    struct attn_row before = g->row[g->rows - 1];
    attn_run_flush(g);
    g->before = before;
  }
  if (!attn_group_grow(g, (void **)&g->row, (size_t)g->rows, sizeof *g->row)) return 0;
  g->row[g->rows++] = *row;
  return 1;
}
