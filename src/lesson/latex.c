/* latex.c -- \begin{bmatrix} ... \end{bmatrix}, and what is left of it after a careless copy. */
#include <string.h>

#include "reader.h"

int attn_is_matrix_environment(const struct attn_reader *r, struct attn_span name) {
  static const char *const NAMES[] = {"matrix",       "bmatrix",      "pmatrix",     "Bmatrix",
                                      "vmatrix",      "Vmatrix",      "smallmatrix", "array",
                                      "psmallmatrix", "bsmallmatrix", NULL};
  size_t length = name.end - name.begin;
  if (length > 0 && r->source.text[name.end - 1] == '*') length--;
  for (int i = 0; NAMES[i]; i++)
    if (strlen(NAMES[i]) == length && memcmp(NAMES[i], r->source.text + name.begin, length) == 0)
      return 1;
  return 0;
}

/* Where \end{name} begins, or SIZE_MAX. */
static size_t find_end(const struct attn_cursor *c, struct attn_span name) {
  const char *text = c->r->source.text;
  size_t length = name.end - name.begin;
  for (size_t at = c->at; at + 6 + length <= c->end; at++) {
    const char *slash = memchr(text + at, '\\', c->end - at);
    if (!slash) break;
    at = (size_t)(slash - text);
    if (attn_starts(c->r, at, c->end, "\\begin{")) break; /* none of ours is nested */
    if (!attn_starts(c->r, at, c->end, "\\end{") || c->end - at < 6 + length) continue;
    if (memcmp(text + at + 5, text + name.begin, length) == 0 && text[at + 5 + length] == '}')
      return at;
  }
  return SIZE_MAX;
}

/* How rows end in the body: by \\, by a single backslash, or by nothing but the line. */
static int row_style(const struct attn_cursor *c, size_t end) {
  const char *text = c->r->source.text;
  int single = 0;
  for (size_t at = c->at; at + 1 < end; at++) {
    if (text[at] != '\\') continue;
    if (text[at + 1] == '\\') return 1;
    if (text[at + 1] == ' ' || text[at + 1] == '\n' || text[at + 1] == '\r')
      single = 2;
    else
      at++;
  }
  return single ? single : text[end - 1] == '\\' ? 2 : 0;
}

/* Array's {cc|c}. */
static int skip_format(struct attn_cursor *c) {
  struct attn_span name = c->token.name;
  if (!attn_starts(c->r, name.begin, name.end, "array")) return attn_advance(c);
  int result = attn_advance(c);
  return result == ATTN_YES && attn_token_is(c, '{') ? attn_skip_group(c) : result;
}

static int ends_cell(const struct attn_cursor *c) {
  return attn_token_is(c, '&') || c->token.kind == ATTN_TOKEN_ROW ||
         c->token.kind == ATTN_TOKEN_END || (c->rows == 0 && c->token.newline);
}

static int cell(struct attn_cursor *c, struct attn_builder *b) {
  struct attn_cursor before = *c;
  struct attn_expression_value value = {.begin = c->token.begin};
  int result;
  if (c->token.kind == ATTN_TOKEN_DITTO) {
    long row = c->token.row;
    result = attn_advance(c);
    if (result == ATTN_YES && ends_cell(c)) return attn_build_ditto(b, row, before.token.begin);
  } else {
    result = attn_expression(c, &value);
    if (result == ATTN_YES && ends_cell(c)) {
      result = attn_build_value(b, &value);
      if (result != ATTN_NO) return result;
    }
  }
  if (result == ATTN_FAILED) return result;
  *c = before;
  do result = attn_advance(c);
  while (result == ATTN_YES && !ends_cell(c));
  if (result != ATTN_YES) return result;
  return attn_build_odd(b, before.token.begin, c->token.begin);
}

static int next_row(struct attn_cursor *c, struct attn_builder *b) {
  int result = ATTN_YES;
  if (c->token.kind == ATTN_TOKEN_ROW) result = attn_advance(c);
  return result == ATTN_YES ? attn_build_row(b, c->token.begin) : result;
}

static int body(struct attn_cursor *c, struct attn_builder *b) {
  int result = ATTN_YES, expects = 0; /* 1: behind an & */
  while (result == ATTN_YES) {
    if (attn_token_is(c, '&')) {
      if (expects || b->count == b->row_start) /* an empty cell */
        result = attn_build_cell(b, attn_cell_blank(), c->token.begin);
      if (result == ATTN_YES) result = attn_advance(c);
      c->token.newline = 0;
      expects = 1;
      continue;
    }
    if (expects && ends_cell(c)) result = attn_build_cell(b, attn_cell_blank(), c->token.begin);
    if (result != ATTN_YES) break;
    expects = 0;
    if (c->token.kind == ATTN_TOKEN_END) return ATTN_YES;
    if (c->token.kind == ATTN_TOKEN_ROW || (c->rows == 0 && c->token.newline)) {
      result = next_row(c, b);
      c->token.newline = 0;
    } else {
      result = cell(c, b);
    }
  }
  return result;
}

int attn_latex_matrix(struct attn_cursor *c, attn_printing **table) {
  struct attn_reader *r = c->r;
  struct attn_span name = c->token.name;
  if (!attn_is_matrix_environment(r, name)) return ATTN_NO;
  size_t begin = c->token.begin, end = find_end(c, name);
  int length = (int)(name.end - name.begin);
  if (end == SIZE_MAX)
    return attn_reader_fail(r, begin,
                            "\\begin{%.*s} has no \\end{%.*s}: write it after the last row", length,
                            r->source.text + name.begin, length, r->source.text + name.begin);
  struct attn_cursor inside = attn_cursor_at(r, c->at, end);
  inside.depth = c->depth;
  inside.token.name = name;
  inside.rows = row_style(c, end);
  struct attn_builder b = {.r = r, .begin = begin, .row_begin = begin};
  int result = skip_format(&inside);
  inside.token.newline = 0;
  if (result == ATTN_YES) result = body(&inside, &b);
  if (result == ATTN_YES) result = attn_build_end(&b, table);
  if (result != ATTN_YES) return result;
  struct attn_source_position place = attn_source_place(&r->source, begin);
  (*table)->line = place.line;
  (*table)->column = place.column;
  c->at = end;
  result = attn_advance(c); /* \end{..} */
  return result == ATTN_YES ? attn_advance(c) : result;
}
