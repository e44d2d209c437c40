/* line.c -- the lines of a text, values in brackets taken out. */
#include <stdio.h>
#include <string.h>

#include "text.h"

static void add_mark(struct attn_text *out, int index, uint32_t origin) {
  char mark[24];
  int length = snprintf(mark, sizeof mark, ATTN_MARK_VALUE "%d" ATTN_MARK_VALUE, index);
  attn_text_add(out, mark, (size_t)length, origin);
}

/* ---- LaTeX tables with words in them: rows between pipes ---- */

/* The end of the matrix that opens at `at`, 0: it has no cells, or another one is inside. */
static size_t table_end(const struct attn_canonical *text, size_t at) {
  size_t mark = strlen(ATTN_MARK_OPEN);
  if (strncmp(text->text + at, ATTN_MARK_OPEN, mark) != 0) return 0;
  size_t end = attn_next_matrix_mark(text, at + mark);
  if (strncmp(text->text + end, ATTN_MARK_CLOSE, mark) != 0) return 0;
  return memchr(text->text + at, '&', end - at) ? end + mark : 0;
}

/* "& key & value": does the first cell of a row end at `at`, blank? */
static int is_blank_first(const char *text, size_t at) {
  const size_t mark = strlen(ATTN_MARK_ROW);
  while (at > 0 && attn_is_space((unsigned char)text[at - 1]) && text[at - 1] != *ATTN_MARK_RULE)
    at--;
  return (at > 0 && text[at - 1] == *ATTN_MARK_RULE) ||
         (at >= mark && (strncmp(text + at - mark, ATTN_MARK_ROW, mark) == 0 ||
                         strncmp(text + at - mark, ATTN_MARK_OPEN, mark) == 0));
}

/* A rule in a line of its own: its newlines are added where the source has none. */
static const char *plain_rule(const char *text, size_t at) {
  static const char RULE[] = "\n|---|\n";
  static const char *const RULES[2][2] = {{RULE, "\n|---|"}, {RULE + 1, "|---|"}};
  size_t begin = at, end = at + strlen(ATTN_MARK_RULE);
  while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t')) begin--;
  end += strspn(text + end, " \t");
  return RULES[begin > 0 && text[begin - 1] == '\n'][text[end] == '\n'];
}

/* A sign of the table that ends at `end`: as it is between pipes. Returns its bytes, 0: none. */
static size_t table_sign(const struct attn_canonical *text, size_t at, size_t end,
                         const char **plain) {
  size_t mark = strlen(ATTN_MARK_CLOSE);
  if (at >= end) return 0;
  char c = text->text[at];
  *plain = c == *ATTN_MARK_RULE ? plain_rule(text->text, at) : "\n\n";
  if (c == '&') *plain = is_blank_first(text->text, at) ? "| |" : "|";
  return at + mark == end ? mark : c == '&' || c == *ATTN_MARK_RULE;
}

static void add_plain(struct attn_text *out, const struct attn_canonical *text, size_t done,
                      size_t at, const char *plain) {
  attn_text_copy(out, text, done, at);
  attn_text_add(out, plain, strlen(plain), text->origin[at]);
}

/* A value in a table is in one cell. */
static int is_in_cell(const struct attn_canonical *text, size_t at, size_t end, size_t table) {
  return at >= table || (end < table && !memchr(text->text + at, '&', end - at));
}

static int is_bracket(unsigned char c) { return c == '[' || c == '(' || c == '{' || c == 0xE2; }

/* The text with values replaced by marks. */
static attn_status take_values(struct attn_scan *scan, const struct attn_canonical *text,
                               struct attn_text *out, struct attn_scan_lines *lines) {
  struct attn_value_reader *reader = attn_value_reader_new(scan, text);
  struct attn_scan_value value;
  size_t done = 0, end, table = 0, bytes;
  const char *plain;
  if (!reader) return attn_scan_no_memory(scan);
  for (size_t at = 0; at < text->bytes; at++) {
    if ((bytes = table_sign(text, at, table, &plain)) != 0) {
      add_plain(out, text, done, at, plain);
      done = at + bytes;
      at = done - 1;
      continue;
    }
    if (!is_bracket((unsigned char)text->text[at])) continue;
    if (!attn_read_value(reader, at, &value, &end)) {
      if (attn_value_status(reader) != ATTN_OK) return attn_value_status(reader);
      if ((end = table_end(text, at)) == 0) continue;
      add_plain(out, text, done, at, "\n\n");
      table = end;
      done = at + strlen(ATTN_MARK_OPEN);
      at = done - 1;
      continue;
    }
    if (!is_in_cell(text, at, end, table)) continue;
    if (attn_pool_grow(scan->pool, (void **)&lines->value, (size_t)lines->values, sizeof value))
      return attn_scan_no_memory(scan);
    lines->value[lines->values] = value;
    attn_text_copy(out, text, done, at);
    add_mark(out, lines->values++, text->origin[at]);
    done = end;
    at = end - 1;
  }
  attn_text_copy(out, text, done, text->bytes);
  attn_text_end(out, text->origin[text->bytes]);
  return out->failed ? attn_scan_no_memory(scan) : ATTN_OK;
}

/* ---- lines, made in place: a 0 replaces what ends a line ---- */

struct splitter {
  struct attn_scan *scan;
  struct attn_scan_lines *lines;
  char *text;
  uint32_t *origin;
  size_t at, end;    /* read */
  size_t kept;       /* written, never more than read */
  int after_newline; /* the line begins one of the source */
};

/* The bytes that end a line here: a newline or the mark of a row; 0: none. */
static size_t line_end(const struct splitter *s) {
  if (s->text[s->at] == '\n') return 1;
  size_t mark = strlen(ATTN_MARK_ROW);
  return strncmp(s->text + s->at, ATTN_MARK_ROW, mark) == 0 ? mark : 0;
}

/* The first byte that is not blank, or the line's end. */
static size_t first_byte(const struct splitter *s, size_t begin) {
  size_t at = begin;
  while (at < s->kept && (s->text[at] == ' ' || s->text[at] == '\t')) at++;
  return at;
}

/* Blank lines count once, and blank parts of a line not at all. */
static int is_wanted(const struct splitter *s, size_t begin, int is_whole) {
  if (first_byte(s, begin) < s->kept) return 1;
  const struct attn_scan_lines *l = s->lines;
  return is_whole && (l->lines == 0 || *l->line[l->lines - 1].text);
}

static attn_status add_line(struct splitter *s, size_t begin, uint32_t end_origin) {
  struct attn_scan_lines *l = s->lines;
  size_t first = first_byte(s, begin);
  if (attn_pool_grow(s->scan->pool, (void **)&l->line, (size_t)l->lines, sizeof *l->line))
    return attn_scan_no_memory(s->scan);
  if (first == s->kept) s->kept = first = begin; /* a blank line is empty */
  s->text[s->kept] = 0;
  s->origin[s->kept++] = end_origin;
  struct attn_scan_line *line = &l->line[l->lines++];
  line->line = attn_source_place(&s->scan->source, s->origin[first]).line;
  line->text = s->text + begin;
  line->bytes = s->kept - 1 - begin;
  line->origin = s->origin + begin;
  return ATTN_OK;
}

static attn_status split_line(struct splitter *s) {
  size_t begin = s->kept, length = 0;
  for (; s->at < s->end && (length = line_end(s)) == 0; s->at++) {
    s->text[s->kept] = s->text[s->at];
    s->origin[s->kept++] = s->origin[s->at];
  }
  int is_newline = s->at == s->end || length == 1;
  int is_whole = s->after_newline && is_newline;
  uint32_t end_origin = s->origin[s->at];
  s->after_newline = is_newline;
  s->at += length;
  if (is_wanted(s, begin, is_whole)) return add_line(s, begin, end_origin);
  s->kept = begin;
  return ATTN_OK;
}

attn_status attn_scan_lines(struct attn_scan *scan, const struct attn_canonical *text,
                            struct attn_scan_lines *out) {
  struct attn_text flat = {.pool = scan->pool};
  memset(out, 0, sizeof *out);
  attn_status status = take_values(scan, text, &flat, out);
  if (status != ATTN_OK) return status;
  struct splitter s = {scan, out, flat.now.text, flat.now.origin, 0, flat.now.bytes, 0, 1};
  while (status == ATTN_OK && s.at < s.end) status = split_line(&s);
  return status;
}
