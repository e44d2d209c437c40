/* prose.c -- a line of text: a heading, a definition, a formula on a line, or a sentence. */
#include <string.h>

#include "reader.h"

enum { HEADING_BYTES_MAX = 150, NAME_BYTES_MAX = 80 };

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* The last character, normalised. */
static uint32_t last_glyph(const struct attn_reader *r, struct attn_span s) {
  size_t at = s.end - 1, next;
  while (at > s.begin && ((unsigned char)r->source.text[at] & 0xC0) == 0x80) at--;
  return attn_glyph(r->source.text, at, s.end, &next);
}

static int ends_sentence(const struct attn_reader *r, struct attn_span s) {
  uint32_t g = last_glyph(r, s);
  return g == 0x3002 || g == 0xFF61 || (g < 128 && strchr(".,:;!", (int)g) != NULL);
}

/* ## Title */
static int marked_heading(struct attn_reader *r, struct attn_span line) {
  const char *text = r->source.text;
  int level = 0;
  size_t at = line.begin;
  while (at < line.end && text[at] == '#') at++, level++;
  if (level == 0 || level > 6 || at >= line.end || text[at] != ' ') return ATTN_NO;
  struct attn_span title = attn_trim(r, (struct attn_span){at, line.end});
  while (title.end > title.begin && text[title.end - 1] == '#') title.end--;
  title = attn_trim(r, title);
  if (title.begin >= title.end) return ATTN_YES;
  int result = attn_reader_heading(r, title, level);
  r->pending = title;
  return result;
}

/* 3. or 3.1 or 3.1.2 before a title: how many numbers; *behind them. */
static int numbering(const struct attn_reader *r, struct attn_span s, long *last, size_t *behind) {
  const char *text = r->source.text;
  size_t at = s.begin;
  int count = 0, dot = 0;
  for (;;) {
    size_t begin = at;
    long n = 0;
    while (at < s.end && is_digit(text[at]) && at - begin < 4) n = n * 10 + (text[at++] - '0');
    if (at == begin) break;
    *last = n;
    count++;
    dot = at < s.end && text[at] == '.';
    if (!dot) break;
    at++;
  }
  *behind = at;
  if (count == 0 || at >= s.end || text[at] != ' ' || (count == 1 && !dot)) return 0;
  return count;
}

/* The next line that is not blank. */
static struct attn_span following(const struct attn_reader *r, size_t at) {
  struct attn_span line = {at, at};
  for (int i = 0; i < 4 && at < r->source.size && line.begin >= line.end; i++) {
    line = attn_line(r, at);
    at = attn_next_line(r, at);
  }
  return line;
}

/* 3.1 Title; but `2. item` with `1. item` before it or `3. item` behind it is a list's. */
static int numbered_heading(struct attn_reader *r, struct attn_span line, size_t after) {
  long n, other;
  size_t behind, unused;
  int level = numbering(r, line, &n, &behind);
  if (level == 0 || ends_sentence(r, line) || line.end - line.begin > HEADING_BYTES_MAX)
    return ATTN_NO;
  if (level == 1) {
    if (line.begin > 0 && r->source.text[line.begin - 1] == ' ') return ATTN_NO; /* indented */
    struct attn_span below = following(r, after);
    if (numbering(r, below, &other, &unused) == 1 && other == n + 1) return ATTN_NO;
    struct attn_document *d = r->document;
    const char *above = d->items && d->item[d->items - 1].kind == ATTN_ITEM_SENTENCE
                            ? d->item[d->items - 1].text
                            : "";
    long before = 0;
    for (int i = 0; i < 4 && is_digit(above[i]); i++) before = before * 10 + (above[i] - '0');
    if (before > 0 && before == n - 1 && strncmp(above + strspn(above, "0123456789"), ". ", 2) == 0)
      return ATTN_NO;
  }
  int result = attn_reader_heading(r, line, level);
  r->pending = attn_trim(r, (struct attn_span){behind, line.end});
  return result;
}

/* Words before a colon that announce an example or a step. */
static int announces(const struct attn_reader *r, struct attn_span label) {
  static const char *const WORDS[] = {"例", "Example",  "example", "Step",     "Part", "Case",
                                      "第", "ステップ", "Section", "Exercise", "問",   NULL};
  for (size_t at = label.begin; at < label.end && at < label.begin + 40; at++)
    for (int i = 0; WORDS[i]; i++)
      if (attn_starts(r, at, label.end, WORDS[i])) return 1;
  return 0;
}

/* A short line that stands alone and ends like no sentence. */
static int short_heading(struct attn_reader *r, struct attn_span line, size_t after) {
  struct attn_span label, rest, bold = line;
  const char *text = r->source.text;
  if (line.end - line.begin > HEADING_BYTES_MAX || ends_sentence(r, line)) return ATTN_NO;
  if (attn_split_label(r, line, &label, &rest) == ATTN_YES && !announces(r, label)) return ATTN_NO;
  if (memchr(text + line.begin, '=', line.end - line.begin)) return ATTN_NO;
  unsigned char first = (unsigned char)text[line.begin];
  if (first < 128 && strchr("[]{}()|=-<>`\\$&!\"'0123456789", first)) return ATTN_NO;
  int is_bold = line.end - line.begin > 4 && attn_starts(r, line.begin, line.end, "**") &&
                attn_starts(r, line.end - 2, line.end, "**");
  if (is_bold) bold.begin += 2, bold.end -= 2;
  size_t end = attn_line_end(r, line.begin);
  struct attn_span below = attn_line(r, after);
  int alone = below.begin >= below.end || attn_bare(r, below).begin != below.begin;
  if (end > line.end + 1 && !is_bold)
    alone &= attn_trim(r, (struct attn_span){line.end, end}).begin >= end;
  if (!alone && !is_bold && !announces(r, line)) return ATTN_NO;
  int result = attn_reader_heading(r, bold, 0);
  r->pending = bold;
  return result;
}

/* \( .. \) or $ .. $ and nothing else. */
static int whole_math(struct attn_reader *r, struct attn_span line, struct attn_span *inside) {
  struct attn_span s = line;
  if (s.end - s.begin > 2 && ends_sentence(r, s)) {
    while (((unsigned char)r->source.text[s.end - 1] & 0xC0) == 0x80) s.end--;
    s.end--;
  }
  size_t width = attn_starts(r, s.begin, s.end, "\\(") ? 2 : 1;
  if (s.end - s.begin <= 2 * width) return 0;
  const char *text = r->source.text;
  if (width == 1 && (text[s.begin] != '$' || text[s.end - 1] != '$')) return 0;
  if (width == 2 && !attn_starts(r, s.end - 2, s.end, "\\)")) return 0;
  *inside = (struct attn_span){s.begin + width, s.end - width};
  for (size_t i = inside->begin; i < inside->end; i++)
    if (text[i] == '$' || attn_starts(r, i, inside->end, "\\)")) return 0;
  return 1;
}

static int begins_list(const struct attn_reader *r, size_t at, size_t end) {
  size_t next = at;
  uint32_t g = attn_glyph(r->source.text, at, end, &next);
  if (g != '[') return 0;
  for (at = next; at < end; at = next) {
    g = attn_glyph(r->source.text, at, end, &next);
    if (g != ' ' && g != '[' && g != '\n' && g != '\r' && g != '\t') break;
  }
  return at >= end || (g >= '0' && g <= '9') || g == '-' || g == '.' || g == '?' || g == 0x2026;
}

/* The end of the bracket that opens at open: over lines, as far as a blank one. */
static size_t bracket_end(const struct attn_reader *r, size_t open) {
  const char *text = r->source.text;
  long depth = 0;
  size_t next, end = r->source.size;
  int blank = 0;
  for (size_t at = open; at < end; at = next) {
    uint32_t g = attn_glyph(text, at, end, &next);
    if (at - open > r->lookahead && g == '\n') return at;
    if (g == '\n' && (blank || depth <= 0)) return at;
    blank = g == '\n' || (blank && (g == ' ' || g == '\t' || g == '\r'));
    depth += (g == '[') - (g == ']');
  }
  return end;
}

/* Rows below that begin with [ too belong to it: [1 0] over [0 1]. */
static size_t stacked_end(const struct attn_reader *r, size_t end) {
  size_t begin = end;
  while (end < r->source.size && end - begin < r->lookahead) {
    size_t below = end + 1;
    struct attn_span line = attn_line(r, below < r->source.size ? below : end);
    if (line.begin >= line.end || r->source.text[line.begin] != '[' ||
        !begins_list(r, line.begin, line.end) || r->source.text[line.end - 1] != ']')
      return end;
    end = bracket_end(r, line.begin);
  }
  return end;
}

/* Reading ahead has a budget: past it a list must stand on its line. */
static size_t afford(struct attn_reader *r, size_t line_end, size_t end) {
  if (end - line_end > r->lookahead) return line_end;
  r->lookahead -= end - line_end;
  return end;
}

/* The relation that ends a short name before a value, or line.end. */
static size_t find_relation(const struct attn_reader *r, struct attn_span line, size_t *behind) {
  const char *text = r->source.text;
  size_t next;
  for (size_t i = line.begin; i < line.end && i < line.begin + NAME_BYTES_MAX; i = next) {
    uint32_t g = attn_glyph(text, i, line.end, &next);
    if (g == 0x3002 || g == '?' || g == '!') return line.end;
    int about = attn_starts(r, i, line.end, "\\approx");
    if (g != '=' && g != 0x2248 && !about) continue;
    *behind = about ? i + 7 : next;
    return i;
  }
  return line.end;
}

/* `name = value` or a value on a line of its own. */
static int line_formula(struct attn_reader *r, struct attn_span line, size_t *after) {
  size_t behind = line.begin, relation = find_relation(r, line, &behind);
  struct attn_span rest = attn_trim(r, (struct attn_span){behind, line.end});
  int bare = begins_list(r, line.begin, line.end);
  if (relation >= line.end && !bare) return ATTN_NO;
  if (rest.begin >= rest.end) { /* `W_Q =`: what comes below */
    r->pending = (struct attn_span){line.begin, relation};
    return ATTN_YES;
  }
  size_t list = bare ? line.begin : rest.begin, end = line.end;
  if (bare || begins_list(r, list, rest.end)) {
    end = bracket_end(r, list);
    if (end > line.end) end = afford(r, line.end, end);
    end = stacked_end(r, end);
    if (end > line.end) end = afford(r, line.end, end);
  }
  int result = attn_formula(r, (struct attn_span){line.begin, end}, 1, r->pending);
  if (result == ATTN_YES && end > line.end)
    *after = attn_next_line(r, end > *after ? end : line.begin);
  return result;
}

/* `label: [[1, 0],` that goes on below. */
static int labelled_list(struct attn_reader *r, struct attn_span line, size_t *after) {
  struct attn_span label, rest;
  if (attn_split_label(r, line, &label, &rest) != ATTN_YES || rest.begin >= rest.end)
    return ATTN_NO;
  if (!begins_list(r, rest.begin, rest.end)) return ATTN_NO;
  size_t end = bracket_end(r, rest.begin);
  if (end > line.end) end = afford(r, line.end, end);
  if (end <= line.end || attn_trim(r, (struct attn_span){line.end, end}).end <= line.end)
    return ATTN_NO;
  int result = attn_formula(r, (struct attn_span){rest.begin, end}, 1, attn_label_name(r, label));
  if (result == ATTN_YES) *after = attn_next_line(r, end);
  return result;
}

int attn_prose(struct attn_reader *r, struct attn_span line, size_t *after) {
  struct attn_span bare = attn_bare(r, line), inside, pending = r->pending;
  int marked = bare.begin != line.begin;
  if (bare.begin >= bare.end) return ATTN_YES;
  int result = marked ? ATTN_NO : marked_heading(r, line);
  if (result == ATTN_NO && whole_math(r, bare, &inside))
    result = attn_formula(r, inside, 0, pending);
  if (result == ATTN_NO) result = labelled_list(r, bare, after);
  if (result == ATTN_NO) result = attn_label_line(r, line, bare);
  if (result == ATTN_NO) result = line_formula(r, bare, after);
  if (result == ATTN_NO && !marked) result = numbered_heading(r, line, *after);
  if (result == ATTN_NO && !marked) result = short_heading(r, line, *after);
  return result == ATTN_NO ? attn_reader_sentence(r, line) : result;
}
