/* misprint.c -- a word among the numbers of a matrix, a list or a fence that is not closed: errors
 * where the document cannot be read without them. An error of a spreadsheet always is one. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "scan.h"
#include "text.h"

#define NUMBER "[-+\u2212]?(?:\\d++\\.?\\d*+|\\.\\d++)(?:e[-+]?\\d++)?%?"
/* 1.2.3, 0.?3, 1.?, O.5: a point and digits, but no number */
#define DIGIT "[\\d?#OolIBSZ]"
#define BROKEN                                                       \
  "[-+\u2212]?(?=" DIGIT "*+\\.)(?!" NUMBER "(?![\\w.?#]))(?:" DIGIT \
  "|\\.)++"                                                          \
  "(?<=[\\d?])(?![\\w.?#])"
#define WORD "(?!(?i:-?inf|nan)\\b)\\pL[\\pL\\w]*+|" BROKEN "|\\d++[A-Za-z]\\w*+"
#define NEXT "\\s*+(?:[,;&]|\\]\\s*+,\\s*+\\[|" ATTN_MARK_ROW ")\\s*+"

static const char IN_MATRIX[] =
    "(?:\\[\\s*+\\[|" ATTN_MARK_OPEN ")\\s*+(?|" NUMBER "(?:" NEXT NUMBER "(?![\\w.?#]))*+" NEXT
    "(" WORD ")|(" BROKEN "))\\s*+(?=[,;&\\])]|" ATTN_MARK_ROW "|" ATTN_MARK_CLOSE ")";
/* In a line of numbers, perhaps in brackets, or a row between pipes */
#define BESIDE "(?:[ \\t]*+[,;|][ \\t]*+|[ \\t]++)"
#define REST "(?=(?:" BESIDE NUMBER "(?![\\w.]))*+[ \\t]*+[])|]{0,2}+[,;]*+[ \\t]*+$)"
static const char IN_COLUMNS[] =
    "(?m)^(?:[^\\n\\d]{0,40}[=:|]|[\\pL\"][^\\n,\\t]{0,40}[,\\t])?+[ \\t]*+[[(]{0,2}+[ "
    "\\t]*+(?|(?:" NUMBER BESIDE ")++(" BROKEN ")" REST "|(" BROKEN ")(?=" BESIDE NUMBER ")" REST
    ")";
/* In a vector anywhere: "| cat | [1, 0.?5] |" */
static const char IN_VECTOR[] = "[[(]\\s*+(?|(?:" NUMBER "\\s*+[,;]\\s*+)++(" BROKEN ")|(" BROKEN
                                ")(?=\\s*+[,;]\\s*+" NUMBER "))(?=\\s*+[],;)])";
/* A number that its author cannot read */
#define LOST                                                                            \
  "(?i:illegible|unreadable|smudged|blurred)\\b|不明|読め(?:ない|ず|ません)|" \
  "(?:判読|読み?取り?)(?:不能|不可|できず)"
/* A number in words */
#define IN_WORDS                                                                   \
  "((?i:zero|one|two|three|four|five|six|seven|eight|nine|ten|half)\\b(?:-ish)?+|" \
  "[零〇一二三四五六七八九十](?!\\pL)|ゼロ|いち|ひとつ|ふたつ|みっつ|よっつ|半分|" LOST ")"
#define OPEN "[\\[" ATTN_MARK_OPEN ATTN_MARK_ROW "][ \\t]*+"
#define COMMA "[ \\t]*+[,;&][ \\t]*+"
#define BETWEEN "(?:\\s*+[,;&]\\s*+|[ \\t]*+" ATTN_MARK_ROW "[ \\t]*+|[ \\t]++)"
#define CLOSE "[ \\t]*+[\\];" ATTN_MARK_CLOSE ATTN_MARK_ROW "]"
#define CELL "[ \\t]*+[|\\t,][ \\t]*+"
#define LAST "[ \\t]*+(?:[|\\t,]|$)"
#define LABEL "(?:[^\\s\\d:=]{1,12}[:=]?[ \\t]++)?"
#define LINE "^[ \\t]*+" LABEL
#define MORE "(?:[ \\t]++" NUMBER ")"
#define UNICODE "(*UCP)(?m)"
#define NAME_LINE "^[ \\t]*+\\w{1,6}[ \\t]*+=[ \\t]*+\\n(?:"
#define ANY_WORD "(\\pL{1,12}+)(?=[ \\t]*+$|[ \\t]++" NUMBER "[ \\t]*+$)"
static const char *const NUMBER_WORDS[] = {
    /* "(4, two)", "(zero, 1)" */
    UNICODE "[(,;][ \\t]*+" NUMBER COMMA IN_WORDS "(?=[ \\t]*+[,;)])",
    UNICODE "\\([ \\t]*+" IN_WORDS "(?=" COMMA NUMBER "[ \\t]*+[,;)])",
    /* "K = two, 1 / 0, 1" */
    UNICODE "^[ \\t]*+\\w{1,3}[ \\t]*+=[ \\t]*+" IN_WORDS "(?=" COMMA NUMBER ")",
    /* "K: 0 2; 0 1; 1 two" */
    UNICODE "^[^\\w\\n]{0,6}+\\w{1,3}[ \\t]*+[:=][ \\t]*+(?:" NUMBER
            "(?:[ \\t]*+[,;/][ \\t]*+|[ \\t]++))++" IN_WORDS
            "(?=(?:[ \\t]*+[,;/][ \\t]*+|[ \\t]++)" NUMBER "|[ \\t]*+$)",
    /* "[4, two]", "[1 0; zero 1]" */
    UNICODE "(?:[\\[,;&" ATTN_MARK_OPEN ATTN_MARK_ROW
            "]|(?<=[\\d.])[ ])[ \\t]*+" NUMBER BETWEEN IN_WORDS "(?=" BETWEEN "[-\\d.]|" CLOSE ")",
    /* "[2, a small one, 2]" */
    UNICODE "(?:=|\\]|\\[)[,\\s]*+" OPEN "(?:" NUMBER COMMA
            ")++(\\pL++(?:[ ]\\pL++){1,4}+)(?=" COMMA NUMBER "|" CLOSE ")",
    UNICODE OPEN IN_WORDS "(?=" BETWEEN NUMBER "(?:" BETWEEN "|" CLOSE "))",
    /* "| 4 | two |", "| cat | zero | 1 |"; the first cell is a label */
    UNICODE "[|\\t,][ \\t]*+" NUMBER CELL IN_WORDS "(?=" LAST ")",
    /* "illegible,4" below "1,0": no label, since the row above has none */
    UNICODE "^[ \\t]*+" NUMBER "(?:" CELL NUMBER ")++[ \\t]*+\\n[ \\t]*+(" LOST
            ")(?=" CELL NUMBER LAST ")",
    /* "1 two" below or above "1 0" */
    UNICODE LINE NUMBER MORE "++[ \\t]*+\\n[ \\t]*+" LABEL "(?:" NUMBER "[ \\t]++)*+" IN_WORDS MORE
                             "*+[ \\t]*+$",
    UNICODE LINE "(?:" NUMBER "[ \\t]++)*+" IN_WORDS "(?=" MORE
                 "*+[ \\t]*+\\n[ \\t]*+" LABEL NUMBER MORE "++[ \\t]*+$)",
    /* "2 few" below "Q =" and "1 0": any word in the place of a number */
    UNICODE NAME_LINE "[ \\t]*+" NUMBER "[ \\t]++" NUMBER "[ \\t]*+\\n)++[ \\t]*+" NUMBER
                      "[ \\t]++" ANY_WORD,
    UNICODE NAME_LINE "[ \\t]*+" NUMBER MORE MORE "[ \\t]*+\\n)++[ \\t]*+" NUMBER
                      "[ \\t]++(?:" NUMBER "[ \\t]++)?+" ANY_WORD,
    /* "2 few" between "1 0" and "0 1" */
    UNICODE "^[ \\t]*+" NUMBER MORE "[ \\t]*+\\n[ \\t]*+" NUMBER
            "[ \\t]++(\\pL[\\pL-]{0,11}+)(?=[ \\t]*+\\n[ \\t]*+" NUMBER MORE "[ \\t]*+$)",
};
/* "[[1, 2], [3, 4]", "= [1, 2" above other text, "[1, 2" above "[3, 4]", or "[1, 2, [3, 4]" */
#define NUMBERS NUMBER "(?:\\s*+[,;&]\\s*+" NUMBER ")*+"
static const char OPEN_LIST[] =
    "\\[\\s*+(?:\\[\\s*+" NUMBERS "\\s*+\\]\\s*+,?+\\s*+)++(?:\\[\\s*+" NUMBERS
    "\\s*+)?+(?=\\z|\\n|[\\pL#`)<]|\\[?\\d\\d?:\\d\\d)|"
    "(?|[=:]\\s*+((?:\\[\\[?|\\((?=[^,\\n]{0,200}+,))\\s*+" NUMBERS
    ")(?=[ \\t]*+(?:\\n[ \\t]*+)?+(?:\\z|\\n|[A-Za-z]\\w*+\\s*+=))|"
    "(?m:^)[ \\t]*+(?:-[ \\t]++)*+(\\[" NUMBERS
    ")(?=[ \\t]*+\\n[ \\t]*+(?:-[ \\t]++)*+\\[\\s*+" NUMBER
    ")|"
    "(\\[\\s*+" NUMBERS ")(?=\\s*+,\\s*+\\[\\s*+" NUMBER
    ")|"
    "=\\s*+(\\[\\s*+(?:\\[\\s*+" NUMBERS
    "\\s*+\\]\\s*+,\\s*+)++)(?=\\[?+(?:\u2026|\\.{3})[ \\t]*+\\n(?!\\s*+[\\[\\]])))";
/* "Q = [[1, 2], [3, 4]" above "K = ..", or at the end: no more rows follow; a fence may be around
 * the matrix alone. "Q = [1 2; 3 4, K =". "Q = [[1, 2], [3, 4" above a blank line. "q = {{1, 0},
 * {1, -1;", "{"q": [[1, 0]}" */
#define ROW_NUMBERS NUMBER "(?:(?:\\s*+[,;&]\\s*+|[ \\t]++)" NUMBER ")*+"
#define ROWS(open, close)                                                                         \
  open "\\s*+" open "\\s*+" ROW_NUMBERS "(?:\\s*+" close "\\s*+,?+\\s*+" open "\\s*+" ROW_NUMBERS \
       ")*+"
#define NEXT_NAME "[^\\n[\\](){}=:,#%/\\d-][^\\n[\\](){}=:]{0,40}+(?:=|:\\s*+\\[\\s*+\\[)"
static const char OPEN_MATRIX[] =
    "(?|(?:[=:]\\s*+(?:[\\w.]*+\\()?+|`{3}[^\\n]*+\\n\\s*+)(" ROWS("\\[", "\\]")
    "(?:\\s*+\\])?+)\\)?+[ \\t]*+,?+[ \\t]*+(?:\\n\\s*+(?:[-*+] )?+(?:" NEXT_NAME
    "|`{3})|\\s*+\\z)|[=:]\\s*+(\\[\\s*+" ROW_NUMBERS
    ")[ \\t]*+[,;][ \\t]*+[A-Za-z]\\w*+\\s*+=|"
    "(?:=\\s*+|(?m:^)[ \\t]*+)(" ROWS("\\[", "\\]")
    ")[ \\t]*+\\n[ \\t]*+\\n(?!\\s*+[-\\d\\[\\]])|"
    "=\\s*+(" ROWS("\\{", "\\}") ")[ \\t]*+;[ \\t]*+(?:\\n|\\z)|"
    ":\\s*+(" ROWS("\\[", "\\]") "(?:\\s*+\\])?+)\\s*+\\})";
/* A fence of code: its mark, and what follows it in its line */
static const char FENCE[] = "(?m)^[ \\t>]*+(`{3,}+|~{3,}+)[ \\t\\r]*+([^\\n`]*+)$";

/* "[ 1 ]" below "[ 0.5 2 ]", "[0.5 2]; [1]", "1…" below "0 3 3"; "W = [ 1 ]" between rows */
static const char SHORT_ROW[] =
    "(?m)(?|^[ \\t]*+" NUMBER "(?:[ \\t]++" NUMBER ")++[ \\t]*+\\n[ \\t]*+(" NUMBER
    ")(?:\u2026|\\.{3})|"
    "(?:^|=)\\s*+[\\[(][ \\t]*+" NUMBER "(?:[ \\t,]++" NUMBER
    ")++[ \\t]*+[\\])][ \\t]*+(?:\\n|;)[^\\S\\n]*+"
    "([\\[(]|\\w{1,3}[ ]?=[ ]?\\[(?=[^\\n]*+\\n[ \\t]*+\\[[ \\t]*+" NUMBER "[ \\t]++" NUMBER
    "))"
    "[ \\t]*+" NUMBER "[ \\t]*+[\\])][ \\t]*+$)";

static int find(struct attn_scan *scan, const struct attn_canonical *text, const char *pattern,
                struct attn_match *m) {
  return attn_find(scan->patterns, pattern, text->text, text->bytes, 0, m);
}

attn_status attn_scan_add_misprint(struct attn_scan *scan, struct attn_source_position place,
                                   int may_be_meant, const char *format, ...) {
  struct attn_misprint *first = &scan->misprint;
  char message[256];
  va_list arguments;
  if (first->message && (first->place.line < place.line ||
                         (first->place.line == place.line && first->place.column <= place.column)))
    return ATTN_OK;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  first->place = place;
  first->may_be_meant = may_be_meant;
  first->message = attn_pool_text(scan->pool, message, strlen(message));
  return first->message ? ATTN_OK : attn_scan_no_memory(scan);
}

/* Several of one form are words: tokens called one and two. */
static int find_number_word(struct attn_scan *scan, const struct attn_canonical *text,
                            struct attn_match *m) {
  for (size_t n = 0; n < sizeof NUMBER_WORDS / sizeof *NUMBER_WORDS; n++) {
    const char *pattern = NUMBER_WORDS[n];
    if (find(scan, text, pattern, m) &&
        !attn_find(scan->patterns, pattern, text->text, text->bytes, m->group[0].end, NULL))
      return 1;
  }
  return 0;
}

static attn_status find_word(struct attn_scan *scan, const struct attn_canonical *text) {
  struct attn_match m;
  if (!find(scan, text, IN_MATRIX, &m) && !find(scan, text, IN_COLUMNS, &m) &&
      !find(scan, text, IN_VECTOR, &m) && !find_number_word(scan, text, &m))
    return ATTN_OK;
  size_t at = m.group[1].begin;
  return attn_scan_add_misprint(scan, attn_source_place(&scan->source, text->origin[at]), 0,
                                "\"%.*s\" is not a number: write a number, a fraction, -inf, or ? "
                                "for an unknown value",
                                (int)(m.group[1].end - at), text->text + at);
}

static const char NEVER_CLOSED[] = "the bracket is never closed: write %c after the last number";

/* A matrix of MathML, LaTeX or Typst at the end of a document that is cut off; a row "0," below
 * "1, 0"; one number below "1 0 2" and above "[Message clipped]" */
#define BULLET "[ \\t]*+(?:[*\u2022\u00B7-][ \\t]?+)?"
#define CLIPPED                                                                             \
  "[\\[(<]?(?:(?i:(?:message|text|post) (?:is )?(?:clipped|truncated)|view entire message|" \
  "(?:read|see|show) more|continue reading)|続き(?:を|は)|ここから先は|以下略)"
static const char CUT_OFF[] =
    "(?m)(?|(" ATTN_MARK_OPEN ")[^()\\[\\]{}\u27E6\u27E7]*+\\z|^" BULLET NUMBER
    "(?:[ \\t]*+,[ \\t]*+" NUMBER ")++[ \\t]*+\\n" BULLET "(" NUMBER
    ")[ \\t]*+,[ \\t]*+(?:\\n[ \\t]*+)?+(?:\\n|\\z)|^" BULLET NUMBER "(?:[ \\t]++" NUMBER
    ")++[ \\t]*+\\n" BULLET "(" NUMBER ")[ \\t]*+\\n\\s*+" CLIPPED ")";

/* "[[1, 2], [3, 4])", and a matrix that has a name and no end, are errors in any document. */
static attn_status find_open_list(struct attn_scan *scan, const struct attn_canonical *text) {
  struct attn_match m;
  if (find(scan, text, CUT_OFF, &m))
    return attn_scan_fail(scan, text->origin[m.group[1].begin],
                          "the document ends in this matrix: write the rest of it");
  if (find(scan, text, OPEN_MATRIX, &m))
    return attn_scan_fail(scan, text->origin[m.group[1].begin], NEVER_CLOSED, ']');
  if (!find(scan, text, OPEN_LIST, &m)) return ATTN_OK;
  size_t at = m.group[m.group[1].end > m.group[1].begin].begin;
  if (text->text[m.group[0].end] == ')')
    return attn_scan_fail(scan, text->origin[at], NEVER_CLOSED, ']');
  int leaves_rows = attn_match_at(scan->patterns, "\\[?+(?:\u2026|\\.{3})", text->text, text->bytes,
                                  m.group[0].end, NULL);
  return attn_scan_add_misprint(scan, attn_source_place(&scan->source, text->origin[at]),
                                leaves_rows, NEVER_CLOSED, text->text[at] == '(' ? ')' : ']');
}

/* Does the mark of a fence close the one that is open? */
static int closes(const char *text, const struct attn_match *m, const struct attn_match *open) {
  size_t length = m->group[1].end - m->group[1].begin;
  return m->group[2].begin == m->group[2].end &&
         text[m->group[1].begin] == text[open->group[1].begin] &&
         length >= open->group[1].end - open->group[1].begin;
}

/* "~~~~" below a title of reStructuredText */
static int is_underline(const struct attn_scan *scan, const struct attn_match *m) {
  static const char UNDERLINE[] = "(?<=[^\\s`~]\\n)(?:~{4,}+|`{4,}+)[ \\t\\r]*+(?:\\n|\\z)";
  const struct attn_source *s = &scan->source;
  return attn_match_at(scan->patterns, UNDERLINE, s->text, s->size, m->group[1].begin, NULL);
}

static attn_status find_open_fence(struct attn_scan *scan) {
  const struct attn_source *s = &scan->source;
  struct attn_match m, open;
  int is_open = 0;
  for (size_t at = 0; attn_find(scan->patterns, FENCE, s->text, s->size, at, &m);
       at = m.group[0].end) {
    if (!is_open)
      open = m, is_open = 1;
    else if (closes(s->text, &m, &open))
      is_open = 0;
  }
  if (!is_open || is_underline(scan, &open)) return ATTN_OK;
  size_t begin = open.group[1].begin;
  return attn_scan_add_misprint(scan, attn_source_place(s, begin), 0,
                                "the code block is never closed: write %.*s below it",
                                (int)(open.group[1].end - begin), s->text + begin);
}

static attn_status find_short_row(struct attn_scan *scan, const struct attn_canonical *text) {
  struct attn_match m;
  if (!find(scan, text, SHORT_ROW, &m)) return ATTN_OK;
  return attn_scan_add_misprint(
      scan, attn_source_place(&scan->source, text->origin[m.group[1].begin]), 0,
      "this row has 1 number, but the row before it has more: give all rows of a matrix the same "
      "length");
}

/* "1,#REF!", "#DIV/0!;2", "<td>#N/A</td>": a cell that a spreadsheet could not compute */
#define SHEET_ERROR "(#(?:\\p{Lu}[\\p{Lu}/0]{1,12}+[!?]|N/A|NV)|Err:5\\d\\d)"
#define SHEET_NEXT "(?:\"?(?:[ ]*+[,;|&\\t][ \\t]*+|[ ]{2,}+)\"?)"
#define SHEET_END "(?=\"?(?:[ ]*+[,;|&\\t]|[ ]{2}|[ \\r]*+$))"
static const char IN_SHEET[] =
    "(?m)(?|(?<![\\w.])" NUMBER SHEET_NEXT SHEET_ERROR SHEET_END "|(?:^[ \\t]*+\"?|" SHEET_NEXT
    ")" SHEET_ERROR "(?=" SHEET_NEXT "(?:" NUMBER SHEET_END "|" SHEET_ERROR
    "))|<td[^<>]{0,99}+>\\s*+" SHEET_ERROR "\\s*+</td>)";

static attn_status find_sheet_error(struct attn_scan *scan) {
  const struct attn_source *s = &scan->source;
  struct attn_match m;
  if (!attn_find(scan->patterns, IN_SHEET, s->text, s->size, 0, &m)) return ATTN_OK;
  size_t at = m.group[1].begin;
  return attn_scan_fail(scan, at,
                        "\"%.*s\" is an error of a spreadsheet: write the number of this cell",
                        (int)(m.group[1].end - at), s->text + at);
}

attn_status attn_scan_misprint(struct attn_scan *scan, const struct attn_canonical *text) {
  attn_status status = find_sheet_error(scan);
  if (!status) status = find_word(scan, text);
  if (!status) status = find_short_row(scan, text);
  if (!status) status = find_open_list(scan, text);
  return status ? status : find_open_fence(scan);
}

attn_status attn_scan_check_finite(const struct attn_scan *scan, const attn_printing *p) {
  for (int n = 0; n < p->rows * p->cols; n++) {
    const attn_cell *cell = &p->cells[n];
    if (cell->kind == ATTN_CELL_NUMBER && !isfinite(cell->value))
      return attn_fail_at(scan->err, ATTN_ERR_FORMAT, cell->line, cell->column,
                          "%s: write a number that a double can hold, or -inf if masked",
                          isnan(cell->value) ? "NaN" : "a number that is too large");
  }
  return ATTN_OK;
}

attn_status attn_scan_fail_misprint(const struct attn_scan *scan) {
  struct attn_source_position place = scan->misprint.place;
  return attn_fail_at(scan->err, ATTN_ERR_FORMAT, place.line, place.column, "%s",
                      scan->misprint.message);
}
