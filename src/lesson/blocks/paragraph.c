/* paragraph.c -- sentences that continue in the next line, between a name and its numbers. */
#include <string.h>

#include "blocks.h"

#define ITEM "(?:" ATTN_VALUE "|-?" ATTN_NUMBER ")"

/* How a line ends and the next one begins. */
static const struct {
  const char *end, *begin;
} breaks[] = {
    {"[A-Za-z\\d]\\s*=\\s*$", "\\s*" ITEM "\\s*(?:[,.]\\s|and\\b)"},
    {"[\\d\\x{25A3}]\\s*,?\\s*$", "\\s*(?:and|or)\\s+" ITEM "(?![A-Za-z])"},
    {"[\\d\\x{25A3}]\\s+(?:and|or)\\s*$", "\\s*" ITEM "\\s*[,.;]"},
    {"[\\d\\x{25A3}],\\s*$", "\\s*" ITEM "(?:\\s*,\\s*" ITEM ")*+\\s*,?\\s+and\\s"},
};
/* Both lines are prose: words next to each other. */
static const char WORDS[] = "[A-Za-z]{2,}\\s+[A-Za-z]{2,}";
enum { JOINED_BYTES = 4000, END_CHARACTERS = 24 };

static int is_prose(struct attn_grouping *g, const char *text) {
  return !strpbrk(text, "|\t") && attn_occurs(g->scan->patterns, WORDS, text);
}

/* A matrix in brackets has its name in the line above. */
static int begins_with_matrix(const struct attn_grouping *g, const char *text) {
  struct attn_part p = {0, strlen(text)};
  size_t at;
  int value;
  if (!attn_next_value(text, p, &at, &value) || at > strspn(text, " \t")) return 0;
  return !attn_group_is_value(g, value) || !g->lines->value[value].is_vector;
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
        (n > 0 || begins_with_matrix(g, next->text)) &&
        attn_part_ends_in(g, PARTS[n].end, text, all, END_CHARACTERS))
      return 1;
  return 0;
}

int attn_paragraph_goes_on(struct attn_grouping *g, const struct attn_scan_line *line,
                           const struct attn_scan_line *next) {
  struct attn_part all = {0, line->bytes};
  struct attn_match m;
  if (all.end == 0 || all.end > JOINED_BYTES || next->bytes > JOINED_BYTES) return 0;
  char last = line->text[all.end - 1];
  if (!strchr("=,0123456789 dr", last) && !attn_next_value(line->text, all, &(size_t){0}, NULL))
    return 0;
  if (last != '=' && is_product(g, line->text, all, next)) return 1;
  for (size_t n = 0; n < sizeof breaks / sizeof *breaks; n++)
    if (attn_match_at(g->scan->patterns, breaks[n].begin, next->text, next->bytes, 0, &m) &&
        attn_part_ends_in(g, breaks[n].end, line->text, all, END_CHARACTERS))
      return is_prose(g, line->text) && is_prose(g, next->text) &&
             !begins_with_matrix(g, next->text);
  return 0;
}

int attn_paragraph_join(struct attn_grouping *g, struct attn_scan_line *line,
                        const struct attn_scan_line *next) {
  size_t a = line->bytes, b = next->bytes;
  char *text = attn_pool_take(g->scan->pool, a + b + 2);
  uint32_t *origin = attn_pool_take(g->scan->pool, (a + b + 2) * sizeof *origin);
  if (!text || !origin) return attn_group_no_memory(g);
  memcpy(text, line->text, a);
  memcpy(origin, line->origin, (a + 1) * sizeof *origin);
  text[a] = ' ';
  memcpy(text + a + 1, next->text, b);
  memcpy(origin + a + 1, next->origin, (b + 1) * sizeof *origin);
  line->text = text;
  line->bytes = a + 1 + b;
  line->origin = origin;
  line->bytes = a + 1 + b;
  return 1;
}
