/* paragraph.c -- sentences that continue in the next line, between a name and its numbers. */
#include <string.h>

#include "blocks.h"

#define ITEM "(?:" ATTN_VALUE "|-?" ATTN_NUMBER ")"

/* The next line continues a sentence: it begins with a number, but is no item of a list. */
static const char CONTINUES[] =
    "\\s*+(?:(?:and|or|und|oder|et|ou|y|e)\\s+)?(?!\\d{1,2}[.)]\\s+[A-Za-z])" ITEM;
/* After "[1, 0] and": "that of eggs is [1, 1]". */
static const char AND[] = "[\\d\\x{25A3}],?\\s(?:and|or|und|oder|et|ou|y)\\s*$";
static const char ITEM_SOON[] = "[^.:;=|]{0,40}?" ITEM;
static const char ENDED[] = "[.:!?;|](?:\\s*[\"')])?\\s*$";
/* Both lines are prose: words next to each other. */
static const char WORDS[] = "(*UCP)\\pL{2,}[,;]?\\s+\\pL{2,}";
/* Columns: "0  cat  sat  0.5". */
static const char COLUMNS[] = "^(?=[^=:]+$).*?[^\\s.;!?]\\s{2,}\\S.*?[^\\s.;!?]\\s{2,}\\S";
enum { JOINED_BYTES = 4000, WRAPPED_BYTES = 55, END_CHARACTERS = 24 };

static int is_prose(struct attn_grouping *g, const char *text) {
  return !strpbrk(text, "|\t") && attn_occurs(g->scan->patterns, WORDS, text) &&
         !attn_occurs(g->scan->patterns, COLUMNS, text);
}

/* A line of running text that was broken: the next one goes on with a word, a number or a vector,
 * and begins neither a list nor an equation, nor is it the size of what is printed below it. */
static int is_wrapped(struct attn_grouping *g, const struct attn_scan_line *line,
                      const struct attn_scan_line *next) {
  static const char WORDS_OF_TEXT[] = "(*UCP)(?:\\pL{2,}[,;.:]?\\s+\\W*){4}";
  static const char GOES_ON[] =
      "\\s*+(?!\\d{1,4}+(?:[x×]\\d{1,4}+|-element) [^.\\n]{1,40}:\\s*+$)"
      "(?:\"?[a-z(\\x{25A3}]|-?[.\\d])(?!\\w{0,12}(?:\\s*[=:]|>\\s)|[.)]\\s)";
  size_t blanks = strspn(line->text, " \t");
  return line->bytes >= WRAPPED_BYTES && strspn(next->text, " \t") == blanks &&
         !strpbrk(line->text, "|\t") && !strpbrk(next->text, "|\t") &&
         !strchr("#>*-", line->text[blanks]) &&
         attn_match_at(g->scan->patterns, GOES_ON, next->text, next->bytes, 0, NULL) &&
         attn_occurs(g->scan->patterns, WORDS_OF_TEXT, line->text);
}

/* A matrix in brackets has its name in the line above. */
static int begins_with_matrix(const struct attn_grouping *g, const char *text) {
  struct attn_part p = {0, strlen(text)};
  size_t at;
  int value;
  if (!attn_next_value(text, p, &at, &value) || at > strspn(text, " \t")) return 0;
  return !attn_group_is_value(g, value) || !g->lines->value[value].is_vector;
}

/* "out = 0.3*[1, 0] + 0.7*[0, 1]" above "= [0.3, 0.7]": a sum of vectors, and what it is. */
static int is_result_of(struct attn_grouping *g, const struct attn_scan_line *line,
                        const struct attn_scan_line *next) {
  static const char SUM[] = "[*\\x{B7}\\x{D7}+]\\s*(?:-?" ATTN_NUMBER "\\s*)?" ATTN_VALUE "\\s*$";
  static const char RESULT[] = "\\s*+=\\s*" ATTN_VALUE;
  return attn_match_at(g->scan->patterns, RESULT, next->text, next->bytes, 0, NULL) &&
         attn_occurs(g->scan->patterns, SUM, line->text);
}

/* The value that a text has last, or first; NULL: it has none. */
static const struct attn_scan_value *value_of(const struct attn_grouping *g, const char *text,
                                              int is_last) {
  struct attn_part rest = {0, strlen(text)};
  size_t at, end;
  int value = -1, found = -1;
  while ((is_last || found < 0) && (end = attn_next_value(text, rest, &at, &value)) != 0)
    rest.begin = end, found = value;
  return found >= 0 && attn_group_is_value(g, found) ? &g->lines->value[found] : NULL;
}

/* "Q = [..]" above "[..]", the same once more: what a program echoes. */
static int is_echo(const struct attn_grouping *g, const char *text, const char *next) {
  const struct attn_scan_value *a = value_of(g, text, 1), *b = value_of(g, next, 0);
  if (!a || !b || a->grids != 1 || b->grids != 1) return 0;
  const attn_printing *p = &a->grid[0], *q = &b->grid[0];
  if (p->rows != q->rows || p->cols != q->cols) return 0;
  int n = 0, count = p->rows * p->cols;
  while (n < count && p->cells[n].value == q->cells[n].value) n++;
  return n == count;
}

/* "O = [..]", "[..]", "= [..]": a product that is worked out, a matrix in each line. */
static int is_product(struct attn_grouping *g, const char *text, struct attn_part all,
                      const struct attn_scan_line *next) {
  static const struct {
    const char *end, *begin;
  } PARTS[] = {{"=\\s*" ATTN_VALUE "\\s*$", "\\s*" ATTN_VALUE "\\s*$"},
               {"=\\s*" ATTN_VALUE "\\s*" ATTN_VALUE "\\s*$", "\\s*=\\s*" ATTN_VALUE}};
  for (int n = 0; n < 2; n++)
    if (attn_match_at(g->scan->patterns, PARTS[n].begin, next->text, next->bytes, 0, NULL) &&
        (n > 0 || (begins_with_matrix(g, next->text) && !is_echo(g, text, next->text))) &&
        attn_part_ends_in(g, PARTS[n].end, text, all, END_CHARACTERS))
      return 1;
  return 0;
}

int attn_paragraph_goes_on(struct attn_grouping *g, const struct attn_scan_line *line,
                           const struct attn_scan_line *next) {
  struct attn_part all = {0, line->bytes};
  if (all.end == 0 || all.end > JOINED_BYTES || next->bytes > JOINED_BYTES) return 0;
  if (line->text[all.end - 1] != '=' && is_product(g, line->text, all, next)) return 1;
  if (attn_part_ends_in(g, ENDED, line->text, all, END_CHARACTERS)) return 0;
  if (is_wrapped(g, line, next) || is_result_of(g, line, next)) return 1;
  const char *begin =
      attn_part_ends_in(g, AND, line->text, all, END_CHARACTERS) ? ITEM_SOON : CONTINUES;
  return attn_match_at(g->scan->patterns, begin, next->text, next->bytes, 0, NULL) &&
         is_prose(g, line->text) && is_prose(g, next->text) && !begins_with_matrix(g, next->text);
}

int attn_paragraph_join(struct attn_grouping *g, struct attn_scan_line *line,
                        const struct attn_scan_line *next, size_t *room) {
  size_t a = line->bytes, b = next->bytes, needed = a + b + 2;
  if (needed > *room) {
    *room = 2 * needed;
    char *text = attn_group_take(g, *room, 1);
    uint32_t *origin = attn_group_take(g, *room, sizeof *origin);
    if (!text || !origin) return 0;
    memcpy(text, line->text, a);
    memcpy(origin, line->origin, (a + 1) * sizeof *origin);
    line->text = text, line->origin = origin;
  }
  line->text[a] = ' ';
  memcpy(line->text + a + 1, next->text, b);
  line->text[a + 1 + b] = 0;
  memcpy(line->origin + a + 1, next->origin, (b + 1) * sizeof *line->origin);
  line->bytes = a + 1 + b;
  return 1;
}
