/* row.c -- a line of numbers: its style, its label and its items. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "cell.h"

/* In front of a row: "- a: 1 2" but not "- 1 2". */
static const char BULLET[] = "\\s*[-*+]\\s+(?=\\S)(?!\\d*\\.?\\d+\\s+[-\\d.])";
/* Two words: a sentence with commas, no row of them. */
static const char WORDS[] = "[A-Za-z\\x{3040}-\\x{9FFF}]\\s+[A-Za-z]";
/* But a record has no blanks after its commas. */
static const char RECORD[] = "[^,\\n]*+(?:,(?!\\s)[^,\\n]*+){3,}+$";
/* "= 0.5,", "= 0.5 and" or "= 0.5 with": two of them are a sentence */
static const char ASSIGNMENT[] =
    "(?:(?:=|\\x{2192})\\s*(?:" ATTN_VALUE "|-?" ATTN_NUMBER
    "(?:/\\x{221A}?\\d{1,2}+)?+)|:\\s+(?:-?\\d+\\.\\d+|" ATTN_VALUE
    "))\\s*(?=,|;|[.\\x{3002}]?\\s*$|(?:and|with)\\b|(?<=\\s\\s)[A-Za-z]|(?<="
    "\\s)[A-Za-z]_?\\d[^\\s=]{0,6} ?=)";
/* "0, 1, ...", "0.25, 0.25 and 0.50", '"it" has 0.5,' */
static const char ENUMERATION[] =
    "\\d\\s*,\\s*(?:\\x{2026}|\\.\\.+)|\\d\\s+(?:and|or|und)\\s+-?[\\d.]|\\d\\s*\\x{3068}\\s*-?\\d"
    "|[\"\\x{201D}\\x{300D}][^\",]{0,20}[^\",\\d.-]-?\\d+(?:\\.\\d+)?\\s*[,.]";
static const char NUMBER_TOKEN[] =
    "[-+]?(?:" ATTN_NUMBER "%?|\\x{221E}|nan|\\d+/\\d+|\\x{221A}\\d+)$";
/* "about 0.5", "0.5 (50%)", "0.5 *", "0.5 [1]": a number in a cell with a remark */
static const char REMARKED[] =
    "(*UCP)(?:[^\\w\\s.,+\\x{2212}\\x{F7}\\x{221A}()\\[\\]/-]{1,2}\\s?|\\x{7D04}|ca\\.? "
    ")?(-?" ATTN_NUMBER
    ")(?:\\s?(?:\\([\\w\\s%]{1,12}\\)|\\[\\^?\\w{1,3}\\]|[^\\w\\s.,()\\[\\]/"
    "+*^=\\x{B7}\\x{D7}-]{1,2}))?$";
/* "0.5 1.0   <- cat", "0.5, 1.0  # cat", "0.5 1.0 (cat)": groups: the numbers, the remark */
#define PLAIN "[-+]?(?:\\d++(?:\\.\\d*+)?|\\.\\d++|\\x{221E}|inf\\b)"
static const char NUMBERS_REMARKED[] =
    "[ \\t]*+(" PLAIN "(?:(?:[ \\t]*+,[ \\t]*+|[ \\t]++)" PLAIN
    ")++)[ \\t]++"
    "(?:<-+|\\x{2190}|#|//|--|%|(?=\\())[ \\t]*+\\(?([^\\d\\n()|=]{1,24}?)\\)?[ \\t]*+$";
#define ARROW "\u2192"
static const char FULL_STOP[] = "\u3002"; /* of Japanese */

static const char INFINITY_SIGN[] = "\u221E";
enum { LABEL_WORDS = 3 };

static int ends_with(const char *text, struct attn_part p, const char *word) {
  size_t bytes = strlen(word);
  return p.end - p.begin >= bytes && memcmp(text + p.end - bytes, word, bytes) == 0;
}

/* Without the mark of a list. */
static struct attn_part row_body(struct attn_grouping *g, const char *text) {
  struct attn_match m;
  struct attn_part p = {0, strlen(text)};
  if (attn_part_begins_in(g, BULLET, text, p, &m)) p.begin = m.group[0].end;
  return p;
}

/* Takes a remark from the end of the body; an empty part: there is none. */
static struct attn_part take_remark(struct attn_grouping *g, const char *text,
                                    struct attn_part *body) {
  struct attn_match m;
  struct attn_part none = {body->end, body->end};
  if (!attn_part_begins_in(g, NUMBERS_REMARKED, text, *body, &m)) return none;
  body->end = m.group[1].end;
  return m.group[2];
}

static struct attn_row_item *new_item(struct attn_grouping *g, struct attn_row *row, int kind,
                                      struct attn_part part) {
  if (!attn_group_grow(g, (void **)&row->item, (size_t)row->items, sizeof *row->item)) return NULL;
  struct attn_row_item *item = &row->item[row->items++];
  *item = (struct attn_row_item){
      .kind = (unsigned char)kind, .begin = (uint32_t)part.begin, .end = (uint32_t)part.end};
  return item;
}

void attn_row_pad(struct attn_grouping *g, struct attn_row *row, int items) {
  const struct attn_row_item *had = row->item;
  struct attn_row_item blank = {.kind = ATTN_ITEM_CELL,
                                .cell = attn_group_blank(g, row->line, row->line->bytes)};
  if (row->items >= items) return;
  row->item = attn_group_take(g, (size_t)items, sizeof *row->item);
  if (!row->item) return;
  memcpy(row->item, had, (size_t)row->items * sizeof *had);
  while (row->items < items) row->item[row->items++] = blank;
}

static int add_cell(struct attn_grouping *g, struct attn_row *row, struct attn_part part,
                    const attn_cell *cell) {
  struct attn_row_item *item = new_item(g, row, ATTN_ITEM_CELL, part);
  if (!item) return 0;
  item->cell = *cell;
  item->is_counted =
      part.end - part.begin == sizeof "(1)" - 1 && row->line->text[part.begin] == '(';
  return 1;
}

static int add_value(struct attn_grouping *g, struct attn_row *row, struct attn_part part,
                     int value) {
  if (!attn_group_is_value(g, value)) return 0;
  struct attn_row_item *item = new_item(g, row, ATTN_ITEM_VALUE, part);
  if (item) item->value = value;
  return item != NULL;
}

/* ---- cells between pipes, tabs or commas ---- */

static int add_remarked(struct attn_grouping *g, struct attn_row *row, struct attn_part part) {
  struct attn_match m;
  attn_cell cell;
  if (!attn_part_begins_in(g, REMARKED, row->line->text, part, &m)) return 0;
  struct attn_part number = m.group[1];
  return attn_group_cell(g, row->line, number, &cell) && add_cell(g, row, number, &cell);
}

static void add_field(struct attn_grouping *g, struct attn_row *row, struct attn_part part) {
  const char *text = row->line->text;
  attn_cell cell;
  int value;
  part = attn_part_trim(text, part);
  int quoted = row->style == ATTN_ROW_PIPES && part.begin < part.end && text[part.begin] == '"';
  while (part.begin < part.end && text[part.begin] == '"') part.begin++;
  while (part.begin < part.end && text[part.end - 1] == '"') part.end--;
  if (attn_value_mark(text, part.begin, part.end, &value) == part.end && part.end > part.begin &&
      add_value(g, row, part, value))
    return;
  if (part.begin == part.end) {
    cell = attn_group_blank(g, row->line, part.begin);
    add_cell(g, row, part, &cell);
  } else if (!quoted && attn_group_cell(g, row->line, part, &cell)) {
    add_cell(g, row, part, &cell);
  } else if (quoted || !add_remarked(g, row, part)) { /* "1" is a token */
    new_item(g, row, ATTN_ITEM_TEXT, part);
  }
}

int attn_row_is_delimited(int style) { return style <= ATTN_ROW_COMMAS; }

int attn_row_is_labelled(int style) {
  return style == ATTN_ROW_VALUES || style == ATTN_ROW_COLON || style == ATTN_ROW_EQUALS;
}

int attn_item_is_number(const struct attn_row_item *item) {
  return item->kind == ATTN_ITEM_CELL &&
         (item->cell.kind != ATTN_CELL_BLANK || item->cell.decimals == ATTN_CELL_OPEN);
}

int attn_item_is_integer(const struct attn_row_item *item, int value) {
  const attn_cell *cell = &item->cell;
  if (item->kind != ATTN_ITEM_CELL || cell->value != value) return 0;
  if (cell->kind == ATTN_CELL_EXACT) return item->is_counted;
  return cell->kind == ATTN_CELL_NUMBER && cell->decimals == 0;
}

static int is_two_assignments(struct attn_grouping *g, const char *text, struct attn_part p) {
  struct attn_match m;
  for (int found = 0; found < 2; found++) {
    if (!attn_part_find(g, ASSIGNMENT, text, p, &m)) return 0;
    p.begin = m.group[0].end;
  }
  return 1;
}

/* "weights 0.25, 0.75", "softmax -> 0.25, 0.75", "row 1  2, 0", "row 1 2.5%, 97.5%": a label and
 * numbers, no fields. */
static const char LABELLED[] =
    "(?:\\s*(?:第?\\d{1,2}行目?|(?i:row) "
    "\\d{1,2})\\s{2,}-?\\d[^,]{0,12}|(?:[^,.]{0,40}[^,.\\d\\s][^,.]{0,20}\\s|\\D{1,200}?[\\x{306F}"
    "\\x{304C}])\\s*-?\\d*\\.\\d+%?|"
    "[^,]{1,200}?\\x{2192}\\s*-?[.\\d]+)\\s*,";

/* Not that of "score(1, 2)", nor one that ends an equation. */
static int has_comma(const char *text, struct attn_part p) {
  if (attn_part_has(text, p, "=")) p = attn_part_chop(text, attn_part_trim(text, p), ",");
  size_t last = p.end; /* the last ) */
  while (last > p.begin && text[last - 1] != ')') last--;
  for (size_t at = p.begin; at < p.end; at++) {
    const char *close = text[at] == '(' && at < last ? memchr(text + at, ')', last - at) : NULL;
    if (close) at = (size_t)(close - text);
    if (text[at] == ',') return 1;
  }
  return 0;
}

/* "..すると, 重みは 0.1, 0.3", "0.1, 0.3 です": a list in a Japanese sentence */
static const char IN_SENTENCE[] =
    ",[^,\\d]{0,60}[^\\x00-\\x7F,](?: -?\\d|-?\\d++\\.\\d)[\\d.]*+ ?,|"
    "^[^,]*[てでとにはがをも]-?\\d[\\d.]*+ ?, ?-?\\d|"
    "\\d ?, ?-?\\d[\\d.]*+ ?(?:です|でした|だ|にな[りっ]|とな[りっ])";

static int has_commas_only(struct attn_grouping *g, const char *text, struct attn_part p) {
  return has_comma(text, p) && !attn_part_has(text, p, FULL_STOP) &&
         !is_two_assignments(g, text, p) && !attn_part_find(g, ENUMERATION, text, p, NULL) &&
         !attn_part_has(text, p, ATTN_MARK_VALUE) && !attn_part_has(text, p, "[") &&
         !attn_part_has(text, p, ":") && !attn_part_begins_in(g, LABELLED, text, p, NULL) &&
         !attn_part_find(g, IN_SENTENCE, text, p, NULL) &&
         (!attn_part_find(g, WORDS, text, p, NULL) ||
          attn_part_begins_in(g, RECORD, text, p, NULL));
}

static int delimiter_of(struct attn_grouping *g, const char *text, struct attn_part p) {
  if (attn_part_has(text, p, "|")) return ATTN_ROW_PIPES;
  if (attn_part_has(text, attn_part_trim(text, p), "\t")) return ATTN_ROW_TABS;
  return has_commas_only(g, text, p) ? ATTN_ROW_COMMAS : -1;
}

/* Without what is around a row. */
static struct attn_part without_border(const char *text, struct attn_part p) {
  p = attn_part_trim(text, p);
  while (p.begin < p.end && text[p.begin] == '|') p.begin++;
  while (p.begin < p.end && text[p.end - 1] == '|') p.end--;
  return p;
}

static int is_closed(const struct attn_scan_line *line) {
  struct attn_part p = attn_part_trim(line->text, (struct attn_part){0, line->bytes});
  return p.end > p.begin && line->text[p.end - 1] == '|';
}

/* "scores | 2 | 4 | =MMULT(B2:C4,B5:C7)", "=B17/$E17": how a sheet computes the numbers of a row.
 */
static void blank_formulas(struct attn_grouping *g, struct attn_row *row) {
  static const char FORMULA[] = "=[ ]?(?:[A-Z]{2,}\\(|\\$?[A-Z]{1,2}\\$?\\d)";
  int numbers = 0;
  for (int n = 0; n < row->items; n++) numbers += attn_item_is_number(&row->item[n]);
  for (int n = 0; n < row->items && numbers; n++) {
    struct attn_row_item *item = &row->item[n];
    struct attn_part text = {item->begin, item->end};
    if (item->kind != ATTN_ITEM_TEXT ||
        !attn_part_begins_in(g, FORMULA, row->line->text, text, NULL))
      continue;
    item->kind = ATTN_ITEM_CELL;
    item->cell = attn_group_blank(g, row->line, item->begin);
    item->end = item->begin;
    /* where it is blank, the line ends */
    row->items -= n + 1 == row->items && row->style == ATTN_ROW_PIPES && !is_closed(row->line);
  }
}

/* "cat: 1 | 0", "cat  1 | 0", "q_1 = 1, 0": adds what the row is called. Returns where its first
 * number begins. */
static size_t add_row_name(struct attn_grouping *g, struct attn_row *row, struct attn_part p) {
#define FIRST "[-+]?+(?:\\d++\\.?+\\d*+|\\.\\d++)"
  static const char BARS[] =
      "(*UCP)\\s*+([^|]{0,60}?\\pL[^|]{0,60}?)(?:[:=]\\s*+|(?<=\\s\\s)|(?<=\\d\\s))(?=" FIRST
      "\\s*+\\|)";
  static const char COMMAS[] = "(*UCP)\\s*+([^,]{0,60}?\\pL[^,]{0,60}?)[:=]\\s*+(?=" FIRST
                               "(?:(?:\\s*+,\\s++" FIRST ")++|(?:," FIRST "){2,}+)\\s*+$)";
  struct attn_match m;
  const char *text = row->line->text, *name = row->style == ATTN_ROW_PIPES ? BARS : COMMAS;
  int is_bordered = p.begin > 0 && text[p.begin - 1] == '|'; /* "| t=1 | 2 |": a cell */
  if (row->style == ATTN_ROW_TABS || is_bordered || !attn_part_begins_in(g, name, text, p, &m))
    return p.begin;
  new_item(g, row, ATTN_ITEM_TEXT, attn_part_trim(text, m.group[1]));
  return m.group[0].end;
}

static int read_fields(struct attn_grouping *g, struct attn_row *row, struct attn_part p) {
  static const char delimiters[] = "|\t,";
  const char *text = row->line->text;
  char delimiter = delimiters[row->style];
  if (row->style == ATTN_ROW_PIPES) p = without_border(text, p);
  p.begin = add_row_name(g, row, p);
  for (size_t at = p.begin; at <= p.end && g->status == ATTN_OK;) {
    const char *found = memchr(text + at, delimiter, p.end - at);
    size_t end = found ? (size_t)(found - text) : p.end;
    add_field(g, row, (struct attn_part){at, end});
    at = end + 1;
  }
  blank_formulas(g, row);
  return row->items > (row->style == ATTN_ROW_PIPES ? 0 : 1);
}

/* ---- a label, and numbers or values ---- */

/* 12, -0.5, 3.: what nearly all are, without a search. */
static int is_plain_number(const char *text, struct attn_part p) {
  int digits = 0, points = 0;
  if (text[p.begin] == '-' || text[p.begin] == '+') p.begin++;
  for (; p.begin < p.end; p.begin++) {
    char c = text[p.begin];
    if (c != '.' && !attn_is_digit(c)) return 0;
    points += c == '.';
    digits += c != '.';
  }
  return digits > 0 && points < 2;
}

static int is_number_token(struct attn_grouping *g, const char *text, struct attn_part p) {
  return p.begin < p.end &&
         (is_plain_number(text, p) || attn_part_begins_in(g, NUMBER_TOKEN, text, p, NULL));
}

/* "1.00  -  -", "1.00  x": masked cells at the end of a row, which no minus is, and no factor; a
 * few at most. */
static int is_hidden_cell(const char *text, struct attn_part p) {
  enum { CELLS = 12 };
  static const char *const SIGNS[] = {"--", "-", "x", "\u00D7"};
  if (p.begin == 0 || !attn_is_blank(text[p.begin - 1])) return 0;
  size_t at = p.begin, bytes = 0;
  for (size_t n = 0; n < sizeof SIGNS / sizeof *SIGNS && !bytes; n++)
    if (strncmp(text + at, SIGNS[n], strlen(SIGNS[n])) == 0) bytes = strlen(SIGNS[n]);
  if (!bytes || p.end - p.begin != bytes) return 0;
  if (text[at] != '-' && (at < 2 || !attn_is_blank(text[at - 2]))) return 0;
  for (int n = 0; n < CELLS && strncmp(text + at, text + p.begin, bytes) == 0; n++) {
    at += bytes;
    if (text[at] && !attn_is_blank(text[at])) return 0;
    for (int blanks = 0; blanks < CELLS && attn_is_blank(text[at]); blanks++) at++;
  }
  return !text[at];
}

/* "1.00, -, -": a masked cell of a row with commas. */
static int follows_comma(const char *text, struct attn_part p) {
  while (p.begin > 0 && attn_is_blank(text[p.begin - 1])) p.begin--;
  return p.begin > 0 && text[p.begin - 1] == ',';
}

static int add_token(struct attn_grouping *g, struct attn_row *row, struct attn_part p) {
  const char *text = row->line->text;
  attn_cell cell;
  if ((follows_comma(text, p) || is_hidden_cell(text, p)) &&
      attn_group_cell(g, row->line, p, &cell) && cell.kind == ATTN_CELL_BLANK)
    return add_cell(g, row, p, &cell);
  if (!is_number_token(g, text, p)) return 0;
  if (!attn_group_cell(g, row->line, p, &cell) || cell.kind == ATTN_CELL_BLANK) return 0;
  return add_cell(g, row, p, &cell);
}

/* The bytes of a separator of tokens at `at`, 0: it is none. */
static size_t separator(const char *text, size_t at, size_t end, const char *set) {
  static const char *const WORDS_BETWEEN[] = {ARROW, "と", "and "};
  if (attn_is_blank(text[at])) return 1;
  if (text[at] && strchr(set, text[at])) return 1;
  for (size_t n = 0; n < sizeof WORDS_BETWEEN / sizeof *WORDS_BETWEEN; n++) {
    size_t bytes = strlen(WORDS_BETWEEN[n]);
    if (end - at > bytes && memcmp(text + at, WORDS_BETWEEN[n], bytes) == 0) return bytes;
  }
  return 0;
}

static size_t token_end(const char *text, size_t at, size_t end, const char *set) {
  while (at < end && !separator(text, at, end, set) && !attn_value_mark(text, at, end, NULL)) at++;
  return at;
}

/* Reads the part as numbers and values. 0: there is something else in it, or nothing. */
static int read_items(struct attn_grouping *g, struct attn_row *row, struct attn_part p,
                      const char *separators) {
  const char *text = row->line->text;
  row->items = 0;
  row->item = NULL;
  for (size_t at = p.begin; at < p.end;) {
    int value;
    size_t next = separator(text, at, p.end, separators);
    if (next) {
      at += next;
      continue;
    }
    next = attn_value_mark(text, at, p.end, &value);
    int good = next ? add_value(g, row, (struct attn_part){at, next}, value) : 1;
    if (!next) {
      next = token_end(text, at, p.end, separators);
      good = add_token(g, row, (struct attn_part){at, next});
    }
    if (!good) return 0;
    at = next;
  }
  return row->items > 0;
}

static int set_label(struct attn_grouping *g, struct attn_row *row, struct attn_part p) {
  p = attn_part_trim(row->line->text, p);
  return attn_group_label(g, attn_group_copy(g, row->line->text + p.begin, p.end - p.begin),
                          &row->label);
}

/* The last place of a separator in the part, SIZE_MAX: none. */
static size_t last_separator(const char *text, struct attn_part p, const char *sign) {
  size_t bytes = strlen(sign);
  for (size_t at = p.end; at >= p.begin + bytes; at--)
    if (memcmp(text + at - bytes, sign, bytes) == 0) return at - bytes;
  return SIZE_MAX;
}

/* Does the first value after the label belong to a sum that is worked out? */
static int is_sum(struct attn_grouping *g, const char *text, struct attn_part label) {
  struct attn_part rest = {label.end, strlen(text)};
  size_t at;
  rest.begin = attn_next_value(text, rest, &at, NULL);
  return attn_is_term(g, text, label, rest);
}

/* Numbers of a sentence are no part of a label. */
static int has_decimal(struct attn_grouping *g, const char *text, struct attn_part label) {
  return attn_part_find(g, "\\d\\.\\d+\\s", text, label, NULL);
}

/* "Q: 1 2" of "Q: 1 2 -> 0 1" */
static int ends_in_row(struct attn_grouping *g, const char *text, struct attn_part label) {
  struct attn_part row = attn_part_trim(text, label);
  row.begin = attn_numbers_begin(g, text, row);
  return attn_part_has(text, row, " ");
}

/* "scores: 1 2", "q1 = [1, 0] -> [0, 1]": the label ends at the last separator, or at the first
 * value in front of it. */
static int read_after(struct attn_grouping *g, struct attn_row *row, struct attn_part p,
                      const char *sign, int style) {
  const char *text = row->line->text;
  size_t at = last_separator(text, p, sign), value;
  if (at == SIZE_MAX) return 0;
  struct attn_part label = {p.begin, at}, tail = {at + strlen(sign), p.end};
  if (style == ATTN_ROW_ARROW && ends_in_row(g, text, label)) return 0;
  tail = attn_part_chop(text, attn_part_trim(text, tail), ".,;");
  if (!read_items(g, row, tail, ",;|")) return 0;
  row->style = style;
  if (style != ATTN_ROW_COLON && attn_next_value(text, label, &value, NULL)) {
    label.end = value;
    row->style = ATTN_ROW_VALUES;
    if (!read_items(g, row, (struct attn_part){value, p.end}, ",;|:=")) {
      read_items(g, row, tail, ",;|");
      row->is_formula = !is_sum(g, text, label);
    }
  }
  return set_label(g, row, label);
}

/* "q1 [1, 0]" */
static int read_values(struct attn_grouping *g, struct attn_row *row, struct attn_part p,
                       size_t value) {
  const char *text = row->line->text;
  struct attn_part rest = attn_part_chop(text, (struct attn_part){value, p.end}, ".,;");
  row->style = ATTN_ROW_VALUES;
  return read_items(g, row, rest, ",;|") && set_label(g, row, (struct attn_part){p.begin, value});
}

size_t attn_numbers_begin(struct attn_grouping *g, const char *text, struct attn_part p) {
  size_t begin = p.end;
  for (size_t end = p.end;;) {
    while (end > p.begin && attn_is_blank(text[end - 1])) end--;
    size_t at = end;
    while (at > p.begin && !attn_is_blank(text[at - 1])) at--;
    struct attn_part token = {at, end};
    if (at == end || (!is_number_token(g, text, attn_part_chop(text, token, ",;")) &&
                      !is_hidden_cell(text, token)))
      return begin;
    begin = end = at;
  }
}

/* A label in front of columns has at most three words, or ends in a colon. */
static int is_column_label(const char *text, struct attn_part p) {
  int words = 0;
  p = attn_part_trim(text, p);
  if (p.begin == p.end || text[p.end - 1] == ':' || text[p.end - 1] == '=') return 1;
  for (size_t at = p.begin; at < p.end && words <= LABEL_WORDS; at++)
    words += !attn_is_blank(text[at]) && (at == p.begin || attn_is_blank(text[at - 1]));
  return words <= LABEL_WORDS;
}

/* After the 1 of "query 1   0.5  0.2", which counts. */
static size_t skip_count(struct attn_grouping *g, const char *text, struct attn_part label,
                         size_t end) {
  static const char COUNTED[] =
      "(?i)\\b(?:quer(?:y|ies)|keys?|values?|tokens?|words?|rows?|positions?|output|input) $";
  struct attn_match m;
  struct attn_part rest = {label.end, end};
  if (!attn_part_find(g, COUNTED, text, label, NULL)) return label.end;
  if (!attn_part_begins_in(g, "\\d{1,2}[ \\t]{2,}(?=[-+.\\d])", text, rest, &m)) return label.end;
  return m.group[0].end;
}

static int read_columns(struct attn_grouping *g, struct attn_row *row, struct attn_part p) {
  const char *text = row->line->text;
  p = attn_part_chop(text, p, ".,;");
  size_t at = attn_numbers_begin(g, text, p);
  struct attn_part label = {p.begin, at};
  row->style = ATTN_ROW_SPACES;
  if (!is_column_label(text, label) || has_decimal(g, text, label)) return 0;
  at = label.end = skip_count(g, text, label, p.end);
  return read_items(g, row, (struct attn_part){at, p.end}, ",;") && set_label(g, row, label);
}

/* Can the part end in a number or value? It does in a digit, "2.", "5%", " -", " x", nan,
 * infinity or a value, and perhaps a full stop or comma. */
static int ends_in_item(const char *text, struct attn_part p) {
  struct attn_part full = p;
  p = attn_part_trim(text, attn_part_chop(text, p, ".,;"));
  if (p.begin == p.end) return 0;
  char last = text[p.end - 1], before = p.end - p.begin > 1 ? text[p.end - 2] : 0;
  if (last == '%') return attn_is_digit(before) || before == '.';
  size_t token = p.end;
  while (token > p.begin && p.end - token < 2 && !attn_is_blank(text[token - 1])) token--;
  if (is_hidden_cell(text, (struct attn_part){token, p.end})) return full.end == p.end;
  return attn_is_digit(last) || ends_with(text, p, "nan") || ends_with(text, p, INFINITY_SIGN) ||
         ends_with(text, p, ATTN_MARK_VALUE);
}

static int read_labelled(struct attn_grouping *g, struct attn_row *row, struct attn_part p) {
  static const struct {
    const char *sign;
    int style;
  } signs[] = {{":", ATTN_ROW_COLON},
               {"=", ATTN_ROW_EQUALS},
               {ARROW, ATTN_ROW_ARROW},
               {"->", ATTN_ROW_ARROW}};
  const char *text = row->line->text;
  size_t value;
  p = attn_part_trim(text, p);
  if (p.begin == p.end || !ends_in_item(text, p) || is_two_assignments(g, text, p)) return 0;
  for (size_t n = 0; n < sizeof signs / sizeof signs[0]; n++)
    if (read_after(g, row, p, signs[n].sign, signs[n].style)) return 1;
  if (attn_next_value(text, p, &value, NULL)) return read_values(g, row, p, value);
  return read_columns(g, row, p);
}

/* "0.5 1.0 | sum = 1.5": the numbers in front, if that is their sum. */
static struct attn_part without_sum(struct attn_grouping *g, const struct attn_scan_line *line,
                                    struct attn_part body) {
  static const char SUM[] =
      "(?i)\\s*\\|\\s*(?:row )?(?:sum|total|\\x{3A3})\\s*[=:]?\\s*(" ATTN_NUMBER ")\\s*$";
  enum { CELLS_MAX = 16 };
  struct attn_row row = {.line = line, .label = {.text = "", .index = -1}};
  struct attn_match m;
  attn_cell cell[CELLS_MAX], sum;
  if (!attn_part_find(g, SUM, line->text, body, &m)) return body;
  struct attn_part front = {body.begin, m.group[0].begin};
  if (!attn_group_cell(g, line, m.group[1], &sum) || !read_labelled(g, &row, front)) return body;
  for (int n = 0; n < row.items; n++) {
    if (n == CELLS_MAX || row.item[n].kind != ATTN_ITEM_CELL) return body;
    cell[n] = row.item[n].cell;
  }
  return attn_is_sum(&sum, cell, row.items, 1) ? front : body;
}

/* The first number of a label. -1: it has none */
static long label_turn(const struct attn_row *row) {
  const char *digits = strpbrk(row->label.text, "0123456789");
  return digits ? strtol(digits, NULL, 10) : -1;
}

/* "i = 2 で (0, 1) となる。" below "i = 1 で (1, 0)、": the last row of a list in a sentence,
 * without its verb. */
static int read_last_of_list(struct attn_grouping *g, struct attn_row *row) {
  static const char VERB[] =
      "(?<=\\x{25A3})[ "
      "]?(?:(?:[とに]な|で(?:す|した|ある)|を得|が得)[\\x{3040}-\\x{309F}]{0,6})。?\\s*$";
  const struct attn_row *last = g->rows ? &g->row[g->rows - 1] : NULL;
  const struct attn_scan_line *line = row->line;
  struct attn_part body = {0, line->bytes};
  struct attn_match m;
  size_t value;
  if (!last || last->style != ATTN_ROW_VALUES || last->line->line + 1 != line->line) return 0;
  if (!attn_part_find(g, VERB, line->text, body, &m)) return 0;
  body.end = m.group[0].begin;
  return attn_next_value(line->text, body, &value, NULL) && read_values(g, row, body, value) &&
         attn_same_letters(last->label.text, row->label.text) && label_turn(g->row) == 1 &&
         label_turn(row) == g->rows + 1;
}

int attn_row_read(struct attn_grouping *g, const struct attn_scan_line *line,
                  struct attn_row *row) {
  struct attn_part body = row_body(g, line->text), remark = take_remark(g, line->text, &body);
  *row = (struct attn_row){.line = line, .label = {.text = "", .index = -1}};
  body = without_sum(g, line, body);
  row->style = delimiter_of(g, line->text, body);
  int is_row = row->style >= 0 ? read_fields(g, row, body) : read_labelled(g, row, body);
  if (!is_row) is_row = read_last_of_list(g, row);
  return is_row && (remark.begin == remark.end || set_label(g, row, remark));
}
