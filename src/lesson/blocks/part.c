/* part.c -- parts of a line: trimmed, searched, and with the marks of values. */
#include <string.h>

#include "blocks.h"

static const char MARK[] = ATTN_MARK_VALUE;
static const char FULL_STOP[] = "\u3002"; /* of Japanese */
enum { MARK_BYTES = sizeof MARK - 1, STOP_BYTES = sizeof FULL_STOP - 1, INDEX_DIGITS_MAX = 9 };

struct attn_part attn_part_trim(const char *text, struct attn_part part) {
  while (part.begin < part.end && attn_is_blank(text[part.begin])) part.begin++;
  while (part.begin < part.end && attn_is_blank(text[part.end - 1])) part.end--;
  return part;
}

struct attn_part attn_part_chop(const char *text, struct attn_part part, const char *set) {
  int stops = strchr(set, '.') != NULL;
  while (part.begin < part.end) {
    size_t bytes = part.end - part.begin;
    char last = text[part.end - 1];
    if (last && strchr(set, last))
      part.end--;
    else if (stops && bytes >= STOP_BYTES &&
             memcmp(text + part.end - STOP_BYTES, FULL_STOP, STOP_BYTES) == 0)
      part.end -= STOP_BYTES;
    else
      break;
  }
  return part;
}

struct attn_part attn_part_last(const char *text, struct attn_part part, int characters) {
  size_t at = part.end;
  while (at > part.begin && characters > 0)
    if (((unsigned char)text[--at] & 0xC0) != 0x80) characters--;
  part.begin = at;
  return part;
}

struct attn_part attn_part_whole_words(const char *text, struct attn_part p, size_t least) {
  size_t next = p.begin;
  if (p.begin <= least || !attn_is_letter(text[p.begin - 1])) return p;
  while (next < p.end && attn_is_letter(text[next])) next++;
  if (next < p.end && strchr(",:", text[next])) next++;
  if (next < p.end && text[next] == ' ') p.begin = next + 1;
  return p;
}

size_t attn_value_mark(const char *text, size_t at, size_t end, int *value) {
  int digits = 0, index = 0;
  if (end - at < 2 * MARK_BYTES + 1 || memcmp(text + at, MARK, MARK_BYTES) != 0) return 0;
  at += MARK_BYTES;
  for (; at < end && text[at] >= '0' && text[at] <= '9' && digits < INDEX_DIGITS_MAX; digits++)
    index = index * 10 + (text[at++] - '0');
  if (digits == 0 || end - at < MARK_BYTES || memcmp(text + at, MARK, MARK_BYTES) != 0) return 0;
  if (value) *value = index;
  return at + MARK_BYTES;
}

size_t attn_next_value(const char *text, struct attn_part part, size_t *at, int *value) {
  while (part.begin < part.end) {
    const char *mark = memchr(text + part.begin, MARK[0], part.end - part.begin);
    if (!mark) return 0;
    *at = (size_t)(mark - text);
    size_t end = attn_value_mark(text, *at, part.end, value);
    if (end) return end;
    part.begin = *at + 1;
  }
  return 0;
}

int attn_part_has(const char *text, struct attn_part part, const char *word) {
  size_t bytes = strlen(word);
  while (part.end - part.begin >= bytes) {
    const char *at = memchr(text + part.begin, word[0], part.end - part.begin - bytes + 1);
    if (!at) return 0;
    if (memcmp(at, word, bytes) == 0) return 1;
    part.begin = (size_t)(at - text) + 1;
  }
  return 0;
}

int attn_part_begins_in(struct attn_grouping *g, const char *pattern, const char *text,
                        struct attn_part part, struct attn_match *match) {
  return attn_match_at(g->scan->patterns, pattern, text, part.end, part.begin, match);
}

int attn_part_find(struct attn_grouping *g, const char *pattern, const char *text,
                   struct attn_part part, struct attn_match *match) {
  return attn_find(g->scan->patterns, pattern, text, part.end, part.begin, match);
}

int attn_part_ends_in(struct attn_grouping *g, const char *pattern, const char *text,
                      struct attn_part part, int characters) {
  return attn_part_find(g, pattern, text, attn_part_last(text, part, characters), NULL);
}
