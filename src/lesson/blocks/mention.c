/* mention.c -- the single numbers of a sentence. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

/* Numbers mentioned in a sentence. Digits that are not a number of the example are left out: sizes
 * (d_k = 2), numbering (section 3.2) and indices (q1, W_2, k_1,2, S(1, 2), x[0]). */

/* "3. We divide", "(2) We divide", "9.3 Attention", "9.3 A sum", "9.3 (a) We", "9.3 例題", "- 4)
 * We" */
static const char NUMBERING[] =
    "(*UCP)\\s*(?:[>*-]\\s+)*\\(?\\d{1,3}[.)]\\s|\\s*[1-9]\\d?(?:\\.\\d{1,2}){1,3}\\s+"
    "(?:\\p{Lu}\\p{L}|A \\p{Ll}|\\([a-z]\\)\\s|(?=[\\p{Han}\\p{Katakana}])[^=\\n\\x{3002}]*+$)";
/* "6.1  √4 = 2", if the next part is "6.2 Softmax" */
static const char COUNT[] = "(*UCP)\\s*((?:[1-9]\\d?\\.){1,3})(\\d{1,2})\\s+(?=[\\p{L}\\x{221A}])";
/* 0.5, -2, 1/2, 50%, 50 % */
static const char NUMBER[] = "[-+]?(?>" ATTN_NUMBER ")(?:/\\d+)?(?:\\s?%)?(?![A-Za-z0-9_])";
/* After an opening parenthesis or bracket of a name: "1, 2)". */
static const char INDICES[] = "\\d+(?:\\s*,\\s*\\d+){0,9}\\s*[)\\]]";
/* 11.4.0 of "[GCC 11.4.0]", 1.9.3 of "v\"1.9.3\"" */
static const char VERSION[] = "\\d++(?:\\.\\d++){2,}+(?![\\w.])";
/* After _ or ^: "12", "1,2", "0.5". */
static const char SCRIPT[] = "\\d[\\d.]*(?:,\\d+){0,9}";

/* "section 3.2", "figures 1 and", "#2": in front of a number. A scanned m may be rn. */
static const char NUMBERED[] =
    "(?i)(?:#\\s*|(?:added|changed|deprecated)::\\s*|(?:(?<![a-z])(?:tab(?:le)?|fig(?:"
    "ure)?|sec(?:tion)?|exa(?:m|rn)ple|"
    "proble(?:m|rn)|exercise|question|lecture|chapter|eq(?:uation)?|theore(?:m|rn)|"
    "le(?:mm|rnrn)a|definition|version|room|part|unit|notes|python|julia|octave|numpy|(?:py)?torch|"
    "lua|mathematica|matlab|ruby|perl|java|php|"
    "msc v|cuda|"
    "ubuntu|debian|macos|windows)s?|ノート|定理|例|問|図|表|式|第|§|題)[\\s.(]*)$";
enum { WIDTH_CHARACTERS = 16, PART_LINES = 20 };

static size_t back_over(const char *text, size_t at, const char *set) {
  while (at > 0 && text[at - 1] && strchr(set, text[at - 1])) at--;
  return at;
}

static int ends_in(struct attn_grouping *g, const char *pattern, const char *text, size_t at) {
  return attn_part_ends_in(g, pattern, text, (struct attn_part){0, at}, WIDTH_CHARACTERS);
}

/* Where the digits at `at` end if they are an index, else `at`. */
static size_t skip_index(struct attn_grouping *g, const char *text, size_t at, size_t end) {
  struct attn_match m;
  char before = at > 0 ? text[at - 1] : 0, name = at > 1 ? text[at - 2] : 0;
  const char *pattern = NULL;
  size_t next = at;
  if (before == '_' || before == '^') pattern = SCRIPT;
  int is_call = (before == '(' || before == '[') && (attn_is_letter(name) || name == '_');
  if (is_call && !ends_in(g, "(?i)sqrt$", text, at - 1)) pattern = INDICES;
  if (pattern && attn_match_at(g->scan->patterns, pattern, text, end, at, &m))
    return m.group[0].end;
  if (!attn_is_letter(before) && before != '\'') return at;
  while (next < end && attn_is_digit(text[next])) next++;
  return next;
}

/* After a sign of equality or an arrow: 1; of a size: -1; else 0. */
static int is_assigned(struct attn_grouping *g, const char *text, size_t at) {
  if (ends_in(g, "\\x{2192}\\s*$", text, at)) return 1;
  at = back_over(text, at, " \t");
  if (at == 0 || text[at - 1] != '=') return 0;
  return attn_is_size(g, text, (struct attn_part){0, back_over(text, at, " \t=")}) ? -1 : 1;
}

/* "d_k = 2", "\u221A2": how many columns a matrix has. */
static int is_width(struct attn_grouping *g, const char *text, size_t at) {
  static const char WIDTH[] =
      "(*UCP)\\bd_?\\{?(?:k|v|q)[^=:\\w]{0,3}[=:]\\s*$|\\b[nm]\\s?=\\s?$|sqrt\\(\\s*$|\u221A\\s*$";
  return ends_in(g, WIDTH, text, at);
}

/* The 1 of "1/√d_k = 1/√2" */
static int is_divided(const struct attn_scan_line *line, size_t at) {
  while (at < line->bytes && line->text[at] == ' ') at++;
  return at < line->bytes && line->text[at] == '/';
}

/* "-0.5 P" of an exam; "4桁", digits; "17ページ" */
static const char POINTS[] =
    "(?:\\s?(?:P|pts?|points?|marks?|Punkte?|\\x{70B9})(?!\\w)|\\s?(?:[桁位頁]|ページ))";

/* "score 4, weight 0.5": an integer right after the name of a step, in a line of results. */
static int is_of_step(struct attn_grouping *g, const struct attn_scan_line *line,
                      struct attn_part p) {
  static const char STEP[] =
      "(?i)(?:\\b(?:score|logit|product|scaled|scaling|weight|energy)|スコア|内積|重み|スケール後)"
      "[ :]{0,2}$";
  static const char ENDS[] = "\\s*+(?:[,;.)\\x{3002}](?!\\d)|$)";
  return ends_in(g, STEP, line->text, p.begin) &&
         attn_match_at(g->scan->patterns, ENDS, line->text, line->bytes, p.end, NULL) &&
         attn_occurs(g->scan->patterns, "\\d\\.\\d", line->text);
}

/* The 30% of "#line(length: 30%)" */
static int is_share_of_page(struct attn_grouping *g, const char *text, struct attn_part p) {
  static const char OF_PAGE[] = "(?i)(?:width|height|length)\\s?[:=][\\s\"']{0,2}$";
  return text[p.end - 1] == '%' && ends_in(g, OF_PAGE, text, p.begin);
}

static void add_number(struct attn_grouping *g, const struct attn_scan_line *line,
                       struct attn_part p) {
  const char *text = line->text;
  attn_cell cell;
  if (!attn_group_cell(g, line, p, &cell)) return;
  int assigned = is_assigned(g, text, p.begin);
  if (!assigned && cell.decimals == 0) assigned = is_of_step(g, line, p);
  char *name = attn_group_text(g, text, attn_name_before(text, p.begin));
  if (cell.decimals == 0 && is_width(g, text, p.begin) && !is_divided(line, p.end))
    attn_stray_size(g, name, &cell);
  if (ends_in(g, NUMBERED, text, p.begin) || is_share_of_page(g, text, p)) return;
  if (attn_match_at(g->scan->patterns, POINTS, text, line->bytes, p.end, NULL)) return;
  if (cell.decimals == 0 && assigned < 0) return;
  attn_stray_cell(g, name, &cell, assigned > 0);
}

/* The 17 of "p.17", the only one of its line; not of "p.25 p.75" */
static int is_page(const char *text, size_t at) {
  return at > 1 && text[at - 2] == 'p' && strstr(text, "p.") == text + at - 2 &&
         !strstr(text + at, "p.") && (at < 3 || !attn_is_letter(text[at - 3]));
}

/* The 2 of a column "v.2" */
static int is_column_index(const char *text, size_t at) {
  return at > 1 && strchr("qkvo", text[at - 2]) && !attn_is_digit(text[at + 1]) &&
         (at < 3 || !attn_is_letter(text[at - 3]));
}

/* The number that the digit at `at` begins, with its sign and a leading point. */
static struct attn_part number_at(struct attn_grouping *g, const char *text, size_t at,
                                  size_t end) {
  struct attn_match m;
  struct attn_part none = {at, at};
  int is_point = at > 0 && text[at - 1] == '.' && (at < 2 || !attn_is_digit(text[at - 2]));
  if (is_point && !is_page(text, at) && !is_column_index(text, at)) at--;
  size_t sign = at > 0 && (text[at - 1] == '-' || text[at - 1] == '+') ? at - 1 : at;
  if (sign > 0 && (attn_is_digit(text[sign - 1]) || text[sign - 1] == ')')) sign = at;
  if (!attn_match_at(g->scan->patterns, NUMBER, text, end, sign, &m)) return none;
  return m.group[0];
}

static int is_excepted(struct attn_part p, const size_t *except, int excepts, int *next) {
  while (*next < excepts && except[*next] < p.begin) ++*next;
  return *next < excepts && except[*next] < p.end;
}

/* Where the index, the version or the mark of a value that the digits at `at` are a part of ends;
 * else `at`. */
static size_t skip_other(struct attn_grouping *g, const char *text, size_t at, size_t end) {
  struct attn_match m;
  if (ends_in(g, "(?:[A-Za-z][\\s(-]{1,2}|\\x22)$", text, at) &&
      attn_match_at(g->scan->patterns, VERSION, text, end, at, &m))
    return m.group[0].end;
  size_t mark = sizeof ATTN_MARK_VALUE - 1;
  size_t next = at >= mark ? attn_value_mark(text, at - mark, end, NULL) : 0;
  return next ? next : skip_index(g, text, at, end);
}

/* Two numbers with nothing but "and" or a comma between: of one vector. first: the stray of the
 * first; line: of text, which is no value in brackets. */
static void join_listed(struct attn_grouping *g, int first, const char *text, size_t begin,
                        size_t end) {
  static const char AND[] = "\\s*+(?:,|(?:, ?)?and|\\x{3068}|\\x{3001})\\s*+$";
  if (first < 0 || g->strays != first + 2) return;
  struct attn_stray *a = &g->stray[first];
  if (a[0].cell.decimals < 1 || a[0].cell.decimals != a[1].cell.decimals) return;
  if (!attn_match_at(g->scan->patterns, AND, text, end, begin, NULL)) return;
  if (!a[0].vector) a[0].vector = a[0].cell.column;
  a[1].vector = a[0].vector;
}

static size_t next_digit(const char *text, size_t at, size_t end) {
  while (at < end && !attn_is_digit(text[at])) at++;
  return at;
}

/* The index of the first line that is not above this one of the source. */
static int line_at(const struct attn_scan_lines *all, int line) {
  int low = 0, high = all->lines;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (all->line[middle].line < line)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Is the other line numbered as the one before or after "6.1"? m: its groups, "6." and "1". */
static int is_beside(struct attn_grouping *g, const char *text, const struct attn_match *m,
                     const struct attn_scan_line *other) {
  size_t bytes = m->group[1].end - m->group[1].begin;
  struct attn_match o;
  if (!attn_match_at(g->scan->patterns, NUMBERING, other->text, other->bytes, 0, NULL) ||
      !attn_match_at(g->scan->patterns, COUNT, other->text, other->bytes, 0, &o))
    return 0;
  return o.group[1].end - o.group[1].begin == bytes &&
         !memcmp(text + m->group[1].begin, other->text + o.group[1].begin, bytes) &&
         abs(atoi(text + m->group[2].begin) - atoi(other->text + o.group[2].begin)) == 1;
}

size_t attn_skip_part_number(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct attn_match m;
  if (!attn_match_at(g->scan->patterns, COUNT, line->text, line->bytes, 0, &m)) return 0;
  int at = line_at(g->lines, line->line), n = at > PART_LINES ? at - PART_LINES : 0;
  for (; n < g->lines->lines && n <= at + PART_LINES; n++)
    if (is_beside(g, line->text, &m, &g->lines->line[n])) return m.group[0].end;
  return 0;
}

/* Where the text after the numbering of a line begins; 0: there is none. */
static size_t skip_numbering(struct attn_grouping *g, const struct attn_scan_line *line,
                             size_t end) {
  struct attn_match m;
  if (attn_match_at(g->scan->patterns, NUMBERING, line->text, end, 0, &m)) return m.group[0].end;
  return attn_skip_part_number(g, line);
}

void attn_stray_text(struct attn_grouping *g, const struct attn_scan_line *line,
                     struct attn_part part, const size_t *except, int excepts) {
  const char *text = line->text;
  size_t end = part.end, at = next_digit(text, part.begin, end);
  int next = 0, last = -1; /* the stray of the last number */
  size_t last_end = part.begin == 0 && at < end ? skip_numbering(g, line, end) : 0;
  if (last_end > at) at = last_end;
  while (g->status == ATTN_OK && (at = next_digit(text, at, end)) < end) {
    size_t other = skip_other(g, text, at, end);
    struct attn_part p = number_at(g, text, at, end);
    if (other == at && p.end > p.begin && !is_excepted(p, except, excepts, &next)) {
      add_number(g, line, p);
      join_listed(g, last, text, last_end, p.begin);
      last = g->strays - 1, last_end = p.end;
    }
    at = other > at ? other : p.end > at ? p.end : attn_skip_digits(text, at, end);
  }
}
