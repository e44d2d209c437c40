/* paragraph.c -- sentences that continue in the next line, between a name and its numbers. */
#include <string.h>

#include "blocks.h"

static const char ENDED[] = "[.:!?;|](?:\\s*[\"')])?\\s*$";
enum { JOINED_BYTES = 4000, WRAPPED_BYTES = 55, END_CHARACTERS = 24 };

/* A line of running text that was broken: the next one goes on with a word, a number or a vector,
 * and begins neither a list nor an equation. */
static int is_wrapped(struct attn_grouping *g, const struct attn_scan_line *line,
                      const struct attn_scan_line *next) {
  static const char WORDS_OF_TEXT[] = "(*UCP)(?:\\pL{2,}[,;.:]?\\s+\\W*){4}";
  static const char GOES_ON[] = "\\s*+(?:\"?[a-z(\\x{25A3}]|-?[.\\d])(?!\\w{0,12}\\s*[=:]|[.)]\\s)";
  size_t blanks = strspn(line->text, " \t");
  return line->bytes >= WRAPPED_BYTES && strspn(next->text, " \t") == blanks &&
         !strpbrk(line->text, "|\t") && !strpbrk(next->text, "|\t") &&
         !strchr("#>*-", line->text[blanks]) &&
         attn_match_at(g->scan->patterns, GOES_ON, next->text, next->bytes, 0, NULL) &&
         attn_occurs(g->scan->patterns, WORDS_OF_TEXT, line->text);
}

int attn_paragraph_goes_on(struct attn_grouping *g, const struct attn_scan_line *line,
                           const struct attn_scan_line *next) {
  struct attn_part all = {0, line->bytes};
  if (all.end == 0 || all.end > JOINED_BYTES || next->bytes > JOINED_BYTES) return 0;
  return !attn_part_ends_in(g, ENDED, line->text, all, END_CHARACTERS) && is_wrapped(g, line, next);
}

int attn_paragraph_join(struct attn_grouping *g, struct attn_scan_line *line,
                        const struct attn_scan_line *next) {
  size_t a = line->bytes, b = next->bytes;
  char *text = attn_group_take(g, a + b + 2, 1);
  uint32_t *origin = attn_group_take(g, a + b + 2, sizeof *origin);
  if (!text || !origin) return 0;
  memcpy(text, line->text, a);
  memcpy(origin, line->origin, (a + 1) * sizeof *origin);
  text[a] = ' ';
  memcpy(text + a + 1, next->text, b);
  memcpy(origin + a + 1, next->origin, (b + 1) * sizeof *origin);
  line->text = text;
  line->origin = origin;
  line->bytes = a + 1 + b;
  return 1;
}
