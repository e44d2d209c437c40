/* lines.c -- from line to line: which notation begins here? */
#include <string.h>

#include "reader.h"

size_t attn_line_end(const struct attn_reader *r, size_t at) {
  const char *text = r->source.text;
  const char *newline = at < r->source.size ? memchr(text + at, '\n', r->source.size - at) : NULL;
  return newline ? (size_t)(newline - text) : r->source.size;
}

size_t attn_next_line(const struct attn_reader *r, size_t at) {
  size_t end = attn_line_end(r, at);
  return end < r->source.size ? end + 1 : end;
}

struct attn_span attn_line(const struct attn_reader *r, size_t at) {
  return attn_trim(r, (struct attn_span){at, attn_line_end(r, at)});
}

struct attn_span attn_bare(const struct attn_reader *r, struct attn_span s) {
  static const char *const MARKS[] = {"> ", ">", "- ", "* ", "+ ", "•", "・", "◦", "‣", "– ", NULL};
  for (int again = 1; again;) {
    again = 0;
    s = attn_trim(r, s);
    for (int i = 0; MARKS[i] && !again; i++)
      if (attn_starts(r, s.begin, s.end, MARKS[i])) s.begin += strlen(MARKS[i]), again = 1;
  }
  return s;
}

/* Where \[ or $$ opens in [at, end), or end. \\[ is the end of a row. */
static size_t find_display(const struct attn_reader *r, size_t at, size_t end) {
  const char *text = r->source.text;
  for (; at + 1 < end; at++) {
    if (text[at] == '\\' && text[at + 1] == '[') return at;
    if (text[at] == '$' && text[at + 1] == '$') return at;
    if (text[at] == '\\') at++;
  }
  return end;
}

/* The offset of the closing mark behind a display's begin, or SIZE_MAX. */
static size_t find_display_end(struct attn_reader *r, size_t at) {
  const char *text = r->source.text;
  int dollars = text[at] == '$';
  if (!dollars && at >= r->no_display_end) return SIZE_MAX;
  for (size_t i = at + 2; i + 1 < r->source.size; i++) {
    if (dollars && text[i] == '$' && text[i + 1] == '$') return i;
    if (!dollars && text[i] == '\\' && text[i + 1] == ']') return i;
    if (!dollars && text[i] == '\\') i++;
  }
  if (!dollars) r->no_display_end = at; /* asked once only: else n such would cost n * n */
  return SIZE_MAX;
}

static int formula_or_sentence(struct attn_reader *r, struct attn_span inside) {
  struct attn_span pending = r->pending;
  int result = attn_formula(r, inside, 0, pending);
  if (result != ATTN_NO) return result;
  result = attn_reader_sentence(r, inside);
  r->pending = pending; /* a formula of symbols does not use up the name before it */
  return result;
}

/* Text up to where the formula begins, with its line's end where that matters. */
static int text_before(struct attn_reader *r, size_t begin, size_t end) {
  struct attn_span line = attn_trim(r, (struct attn_span){begin, end});
  size_t after = end;
  return line.begin < line.end ? attn_prose(r, line, &after) : ATTN_YES;
}

static int display(struct attn_reader *r, size_t *at, size_t open) {
  size_t close = find_display_end(r, open);
  if (close == SIZE_MAX) return ATTN_NO;
  int result = text_before(r, *at, open);
  if (result != ATTN_YES) return result;
  *at = close + 2;
  return formula_or_sentence(r, (struct attn_span){open + 2, close});
}

/* Where \begin{..matrix} stands in [at, end), or end. */
static size_t find_begin(const struct attn_reader *r, size_t at, size_t end) {
  const char *text = r->source.text;
  while (at < end) {
    const char *slash = memchr(text + at, '\\', end - at);
    if (!slash) return end;
    at = (size_t)(slash - text);
    if (attn_starts(r, at, end, "\\begin{")) return at;
    at++;
  }
  return end;
}

/* The end of the line where as many environments have ended as begun. */
static size_t balanced_end(const struct attn_reader *r, size_t at) {
  const char *text = r->source.text;
  long open = 0;
  size_t i = at;
  for (; i < r->source.size; i++) {
    if (text[i] == '\n' && open <= 0) return i;
    if (text[i] != '\\') continue;
    if (attn_starts(r, i, r->source.size, "\\begin{")) open++;
    if (attn_starts(r, i, r->source.size, "\\end{")) open--;
  }
  return i;
}

/* Where the formula around a bare \begin starts: behind the last $ or \( or prose before it. */
static size_t formula_start(const struct attn_reader *r, size_t at, size_t begin) {
  const char *text = r->source.text;
  for (size_t i = begin; i > at; i--) {
    if (text[i - 1] == '$') return i;
    if (i - at >= 2 && text[i - 2] == '\\' && text[i - 1] == '(') return i;
    if (text[i - 1] == ':') return i;
  }
  return attn_bare(r, (struct attn_span){at, begin}).begin;
}

static size_t formula_end(const struct attn_reader *r, size_t start, size_t limit) {
  const char *text = r->source.text;
  int dollar = start > 0 && text[start - 1] == '$', paren = start > 0 && text[start - 1] == '(';
  for (size_t i = limit; i > start + 1; i--) {
    if (dollar && text[i - 1] == '$') return i - 1;
    if (paren && text[i - 2] == '\\' && text[i - 1] == ')') return i - 2;
  }
  return limit;
}

/* A formula with matrices and no display around it. */
static int bare_environment(struct attn_reader *r, size_t *at, size_t begin) {
  size_t start = formula_start(r, *at, begin), limit = balanced_end(r, begin);
  size_t end = formula_end(r, start, limit);
  const char *text = r->source.text;
  size_t opening = start; /* of the formula: $ or \( */
  if (opening > *at && text[opening - 1] == '$')
    opening--;
  else if (opening > *at + 1 && attn_starts(r, opening - 2, opening, "\\("))
    opening -= 2;
  int result = text_before(r, *at, opening);
  if (result != ATTN_YES) return result;
  *at = limit;
  return formula_or_sentence(r, (struct attn_span){start, end});
}

/* <!-- .. --> is for who writes, not for who reads. */
static int html_comment(struct attn_reader *r, size_t *at) {
  struct attn_span line = attn_line(r, *at);
  if (!attn_starts(r, line.begin, line.end, "<!--")) return ATTN_NO;
  size_t here = line.begin;
  while (here < r->source.size && !attn_starts(r, here, r->source.size, "-->")) here++;
  *at = attn_next_line(r, here);
  return ATTN_YES;
}

/* \documentclass and its like are no text; \section{..} is a heading. */
static int latex_line(struct attn_reader *r, size_t *at) {
  static const char *const LAYOUT[] = {"\\documentclass", "\\usepackage", "\\begin{document}",
                                       "\\end{document}", "\\maketitle",  "\\title{",
                                       "\\author{",       "\\date{",      NULL};
  static const char *const HEADINGS[] = {"\\section", "\\subsection", "\\subsubsection", NULL};
  struct attn_span line = attn_line(r, *at);
  if (line.begin >= line.end || r->source.text[line.begin] != '\\') return ATTN_NO;
  for (int n = 0; LAYOUT[n]; n++)
    if (attn_starts(r, line.begin, line.end, LAYOUT[n]))
      return *at = attn_next_line(r, *at), ATTN_YES;
  for (int n = 0; HEADINGS[n]; n++) {
    size_t open = line.begin + strlen(HEADINGS[n]);
    if (!attn_starts(r, line.begin, line.end, HEADINGS[n])) continue;
    open += open < line.end && r->source.text[open] == '*';
    if (open >= line.end || r->source.text[open] != '{' || r->source.text[line.end - 1] != '}')
      continue;
    *at = attn_next_line(r, *at);
    return attn_reader_heading(r, (struct attn_span){open + 1, line.end - 1}, n + 1);
  }
  return ATTN_NO;
}

static int line_notation(struct attn_reader *r, size_t *at) {
  static int (*const TRY[])(struct attn_reader *, size_t *) = {
      html_comment,    latex_line,   attn_fence,         attn_pipe_table,
      attn_lost_table, attn_snippet, attn_labelled_list, attn_columns};
  for (size_t i = 0; i < sizeof TRY / sizeof *TRY; i++) {
    int result = TRY[i](r, at);
    if (result != ATTN_NO) return result;
  }
  return ATTN_NO;
}

/* What begins at *at: a line, or the rest of one behind a formula. */
static int next(struct attn_reader *r, size_t *at) {
  /* Asked once a line, not once for each formula in it. */
  if (*at == 0 || *at > r->line_end || r->source.text[*at - 1] == '\n')
    r->line_end = attn_line_end(r, *at);
  size_t end = r->line_end, after = end < r->source.size ? end + 1 : end;
  struct attn_span line = attn_trim(r, (struct attn_span){*at, end});
  int result = ATTN_NO;
  if (line.begin >= line.end) return *at = after, ATTN_YES;
  if (*at == 0 || r->source.text[*at - 1] == '\n') result = line_notation(r, at);
  if (result != ATTN_NO) return result;
  size_t open = find_display(r, *at, end);
  if (open < end) result = display(r, at, open);
  if (result != ATTN_NO) return result;
  size_t begin = find_begin(r, *at, end);
  if (begin < end) return bare_environment(r, at, begin);
  result = attn_prose(r, line, &after);
  *at = after;
  return result;
}

int attn_read_lines(struct attn_reader *r, size_t begin, size_t end) {
  int result = ATTN_YES;
  while (result != ATTN_FAILED && begin < end) result = next(r, &begin);
  return result;
}
