#include <stdlib.h>
#include <string.h>

#include "blocks.h"

/* Numbers mentioned in a sentence. Digits that are not a number of the example are left out: sizes
 * (d_k = 2), numbering (step 3), indices (q1, W_2, k_1,2, S(1, 2), x[0], [,1]), shapes (4x2) and
 * terms of sums that are worked out. */

/* "3. We divide", "(2) We divide", "9.3 Attention", "9.3 A sum", "9.3 例題", "- 4) We" */
static const char NUMBERING[] =
    "(*UCP)\\s*(?:[>*-]\\s+)*\\(?\\d{1,3}[.)]\\s|\\s*[1-9]\\d?(?:\\.\\d{1,2}){1,3}\\s+"
    "(?:\\p{Lu}\\p{L}|A \\p{Ll}|(?=[\\p{Han}\\p{Katakana}])[^=\\n\\x{3002}]*+$)";
/* 4x2, 4 by 2, a date, 1.2.3, 12:30, 2nd */
static const char NO_NUMBER[] =
    "\\d+\\s?(?:x|\\x{D7}|\\*|by)\\s?\\d+(?![.\\d^])|\\d{4}-\\d\\d-\\d\\d|\\d+(?:\\.\\d+){2,9}|"
    "\\d+:\\d+|\\d+(?:st|nd|rd|th)\\b|\\d+(?:/\\d+){2}";
/* 0.5, -2, 1/2, 50%, 50 % */
static const char NUMBER[] = "[-+]?(?>" ATTN_NUMBER ")(?:/\\d+)?(?:\\s?%)?(?![A-Za-z0-9_])";
/* After an opening parenthesis or bracket of a name: "1, 2)". */
static const char INDICES[] = "\\d+(?:\\s*,\\s*\\d+){0,9}\\s*[)\\]]";
/* After _ or ^: "12", "1,2", "0.5". */
static const char SCRIPT[] = "\\d[\\d.]*(?:,\\d+){0,9}";

/* The number after one of these is its number, also one with decimals: section 3.2. In English also
 * with a plural s. */
static const char *const NUMBERED[] = {
    "table",   "tab",      "fig",        "figure",  "section", "sec",      "example",
    "problem", "exercise", "question",   "lecture", "chapter", "equation", "eq",
    "theorem", "lemma",    "definition", "version", "room",    "part",     "unit",
    "notes",   "python",   "numpy",      "torch",   "pytorch", "cuda",     "ubuntu",
    "debian",  "macos",    "windows",    "ノート",  "定理",    "例",       "問",
    "図",      "表",       "式",         "第",      "§",       "題",       NULL};
/* Only a whole number. */
static const char *const COUNTED[] = {
    "step", "head", "token", "query", "key", "row",      "column",   "position", "layer",
    "word", "page", "week",  "quiz",  "no",  "ステップ", "トークン", "ヘッド",   NULL};
enum { WIDTH_CHARACTERS = 16, DIVISOR_CHARACTERS = 40 };

static size_t back_over(const char *text, size_t at, const char *set) {
  while (at > 0 && text[at - 1] && strchr(set, text[at - 1])) at--;
  return at;
}

/* Does the text in front of `at` end so? Letters in any case; a scanned m may be rn. */
static int ends_with(const char *text, size_t at, const char *word) {
  for (size_t n = strlen(word); n > 0; n--) {
    char c = at > 0 ? text[--at] : 0;
    if (c == 'n' && word[n - 1] == 'm' && at > 0 && text[at - 1] == 'r')
      at--;
    else if (c != word[n - 1] && !(c >= 'A' && c <= 'Z' && c - 'A' + 'a' == word[n - 1]))
      return 0;
  }
  return at == 0 || !attn_is_letter(word[0]) || !attn_is_letter(text[at - 1]);
}

static int ends_with_any(const char *text, size_t at, const char *const *words) {
  size_t singular = at > 1 && (text[at - 1] | ' ') == 's' ? at - 1 : at;
  for (; *words; words++)
    if (ends_with(text, at, *words) || ends_with(text, singular, *words)) return 1;
  return 0;
}

/* "step 3", "heads 1 and", "No. 4", "#2" */
static int is_numbered(const char *text, size_t at, int is_integer) {
  at = back_over(text, at, " \t");
  if (at > 0 && text[at - 1] == '#') return 1;
  at = back_over(text, at, " \t.(");
  return ends_with_any(text, at, NUMBERED) || (is_integer && ends_with_any(text, at, COUNTED));
}

/* Where the digits at `at` end if they are an index, else `at`. */
static size_t skip_index(struct attn_grouping *g, const char *text, size_t at, size_t end) {
  struct attn_match m;
  char before = at > 0 ? text[at - 1] : 0, name = at > 1 ? text[at - 2] : 0;
  const char *pattern = NULL;
  size_t next = at;
  if (before == '_' || before == '^') pattern = SCRIPT;
  int is_call = (before == '(' || before == '[') && (attn_is_letter(name) || name == '_');
  if (is_call && !ends_with(text, at - 1, "sqrt")) pattern = INDICES;
  if (pattern && attn_match_at(g->scan->patterns, pattern, text, end, at, &m))
    return m.group[0].end;
  if (!attn_is_letter(before) && before != '\'') return at;
  while (next < end && attn_is_digit(text[next])) next++;
  return next;
}

/* After a sign of equality, an arrow or "its score is": 1; of a size: -1; else 0. */
static int is_assigned(struct attn_grouping *g, const char *text, size_t at) {
  static const char ARROW[] = "\u2192";
  static const char STATED[] =
      "(?i)\\b(?:product|score|logit|energy)\\b[^.;:=\\d]{0,30}\\s(?:is|gives|equals)\\s$";
  if (attn_part_ends_in(g, STATED, text, (struct attn_part){0, at}, DIVISOR_CHARACTERS)) return 1;
  at = back_over(text, at, " \t");
  if (at >= sizeof ARROW - 1 &&
      memcmp(text + at - (sizeof ARROW - 1), ARROW, sizeof ARROW - 1) == 0)
    return 1;
  if (at == 0 || text[at - 1] != '=') return 0;
  return attn_is_size(g, text, (struct attn_part){0, back_over(text, at, " \t=")}) ? -1 : 1;
}

/* "d_k = 2", "\u221A2": how many columns a matrix has. */
static int is_width(struct attn_grouping *g, const char *text, size_t at) {
  static const char WIDTH[] =
      "(*UCP)\\bd_?\\{?(?:k|v|q)[^=:\\w]{0,3}[=:]\\s*$|\\b[nm]\\s?=\\s?$|sqrt\\(\\s*$|\u221A\\s*$";
  return attn_part_ends_in(g, WIDTH, text, (struct attn_part){0, at}, WIDTH_CHARACTERS);
}

static void add_number(struct attn_grouping *g, const struct attn_scan_line *line,
                       struct attn_part p) {
  const char *text = line->text;
  attn_cell cell;
  int assigned = is_assigned(g, text, p.begin);
  if (!attn_group_cell(g, line, p, &cell)) return;
  char *name = attn_group_text(g, text, attn_name_before(text, p.begin));
  if (cell.decimals == 0 && is_width(g, text, p.begin)) attn_stray_size(g, name, &cell);
  if (is_numbered(text, p.begin, cell.decimals == 0) || (cell.decimals == 0 && assigned < 0))
    return;
  attn_stray_cell(g, name, &cell, assigned > 0);
}

/* The number that the digit at `at` begins, with its sign and a leading point. */
static struct attn_part number_at(struct attn_grouping *g, const char *text, size_t at,
                                  size_t end) {
  struct attn_match m;
  struct attn_part none = {at, at};
  if (at > 0 && text[at - 1] == '.' && (at < 2 || !attn_is_digit(text[at - 2]))) at--;
  size_t sign = at > 0 && (text[at - 1] == '-' || text[at - 1] == '+') ? at - 1 : at;
  if (sign > 0 && (attn_is_digit(text[sign - 1]) || text[sign - 1] == ')')) sign = at;
  if (!attn_match_at(g->scan->patterns, NUMBER, text, end, sign, &m)) return none;
  return m.group[0];
}

static int is_excepted(struct attn_part p, const size_t *except, int excepts, int *next) {
  while (*next < excepts && except[*next] < p.begin) ++*next;
  return *next < excepts && except[*next] < p.end;
}

/* Where what the digits at `at` are a part of ends, if it is not a number; else `at`. */
static size_t skip_other(struct attn_grouping *g, const char *text, size_t at, size_t end) {
  struct attn_match m;
  size_t mark = sizeof ATTN_MARK_VALUE - 1;
  size_t next = at >= mark ? attn_value_mark(text, at - mark, end, NULL) : 0;
  if (next) return next;
  next = skip_index(g, text, at, end);
  if (next > at) return next;
  return attn_match_at(g->scan->patterns, NO_NUMBER, text, end, at, &m) ? m.group[0].end : at;
}

static size_t next_digit(const char *text, size_t at, size_t end) {
  while (at < end && !attn_is_digit(text[at])) at++;
  return at;
}

static int by_line(const void *line, const void *heading) {
  return *(const int *)line - ((const struct attn_scan_heading *)heading)->line;
}

static int is_heading(const struct attn_scan *scan, int line) {
  if (!scan->headings) return 0;
  const struct attn_scan_heading *found =
      bsearch(&line, scan->heading, (size_t)scan->headings, sizeof *found, by_line);
  return found && found->marked;
}

void attn_stray_text(struct attn_grouping *g, const struct attn_scan_line *line,
                     struct attn_part part, const size_t *except, int excepts) {
  const char *text = line->text;
  size_t end = part.end, at = next_digit(text, part.begin, end);
  struct attn_match m;
  int next = 0;
  if (at == end || is_heading(g->scan, line->line)) return;
  if (part.begin == 0 && attn_match_at(g->scan->patterns, NUMBERING, text, end, 0, &m))
    at = m.group[0].end;
  while (g->status == ATTN_OK && (at = next_digit(text, at, end)) < end) {
    size_t other = skip_other(g, text, at, end);
    struct attn_part p = number_at(g, text, at, end);
    if (other == at && p.end > p.begin && !is_excepted(p, except, excepts, &next))
      add_number(g, line, p);
    at = other > at ? other : p.end > at ? p.end : attn_skip_digits(text, at, end);
  }
}
