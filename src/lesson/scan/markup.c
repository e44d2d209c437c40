/* markup.c -- the tables of wikis, of AsciiDoc, of reStructuredText and of nested lists, as rows
 * between pipes. */
#include <string.h>

#include "text.h"

/* "- - 1", "* - word": a row begins; the list inside it has its cells. */
static const char NESTED_LIST[] = "[ \\t]*+[-*][ \\t]++(-(?:[ \\t]|$))";
static const char ANY_NESTED_LIST[] = "(?m)^[ \\t]*+[-*][ \\t]++-(?:[ \\t]|$)";
/* "===== ===": above and below the columns of a simple table */
static const char COLUMN_RULE[] = "=++(?:[ \\t]++=++)++$";
static const char ANY_COLUMN_RULE[] = "(?m)^[ \\t]*+=++(?:[ \\t]++=++)++[ \\t]*+$";
/* [options="header", cols="1,2"], [%header] */
static const char ATTRIBUTES[] = "\\[(?:[^\\]\\n]*\\b(?:options|opts|cols|format|width|role)=|%)";
static const char HEADER_OPTION[] = "(?:options|opts)=\"?[^\"\\n]*header|%header";
static const char COLUMNS[] = "cols=\"?([^\"\\]\\n]*)";
/* 2+ of "2+|", a of "a|" */
static const char CELL_FORMAT[] = "(\\d*)\\+?[.\\d]*[<^>]?[.<^>]*[aehlmsd]?$";

enum { COLUMNS_MAX = 1000 };

enum table { NO_TABLE, WIKI, ASCIIDOC, NESTED, SIMPLE };

struct markup {
  struct attn_patterns *patterns;
  const struct attn_canonical *from;
  struct attn_text *out;
  int kinds;
  enum table table;
  int in_row, cells, rows;
  int columns;            /* of AsciiDoc, 0: as many as the first line has cells */
  int has_header;         /* the first row is one (AsciiDoc) */
  int only_headers;       /* of a wiki: this row has no other cells so far */
  int first_line, blanks; /* of AsciiDoc: the lines of the table so far, and its blank ones */
  size_t dash;            /* of a nested list: the column of its cells */
  size_t rule;            /* of a simple table: the line of the rule above it */
};

struct line {
  size_t begin, end; /* without blanks around */
  size_t first;      /* with them */
  size_t next;       /* after its newline */
};

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static struct line line_at(const struct markup *m, size_t at) {
  const struct attn_canonical *t = m->from;
  const char *newline = memchr(t->text + at, '\n', t->bytes - at);
  size_t end = newline ? (size_t)(newline - t->text) : t->bytes;
  struct line l = {at, end, at, newline ? end + 1 : end};
  while (l.begin < l.end && is_blank(t->text[l.begin])) l.begin++;
  while (l.end > l.begin && is_blank(t->text[l.end - 1])) l.end--;
  return l;
}

static int begins_with(const struct markup *m, const struct line *l, const char *sign) {
  size_t bytes = strlen(sign);
  return l->end - l->begin >= bytes && memcmp(m->from->text + l->begin, sign, bytes) == 0;
}

static int matches(const struct markup *m, const char *pattern, size_t begin, size_t end,
                   struct attn_match *match) {
  return attn_match_at(m->patterns, pattern, m->from->text, end, begin, match);
}

static int finds(const struct markup *m, const char *pattern, const struct line *l,
                 struct attn_match *match) {
  return attn_find(m->patterns, pattern, m->from->text, l->end, l->begin, match);
}

static void add(struct markup *m, const char *text, size_t at) {
  attn_text_add(m->out, text, strlen(text), m->from->origin[at]);
}

static void copy_line(struct markup *m, const struct line *l) {
  attn_text_copy(m->out, m->from, l->first, l->next);
}

/* ---- rows ---- */

static void end_row(struct markup *m, size_t at) {
  if (!m->in_row) return;
  add(m, " |\n", at);
  int is_header = m->table == WIKI ? m->only_headers : m->has_header;
  if (m->rows++ == 0 && is_header && m->table != NESTED) add(m, "|---|\n", at);
  m->in_row = m->cells = 0;
}

static void add_cell(struct markup *m, size_t begin, size_t end) {
  if (m->table == ASCIIDOC && m->columns && m->cells == m->columns) end_row(m, begin);
  if (!m->in_row) m->only_headers = 1;
  add(m, m->in_row ? " | " : "| ", begin);
  attn_text_copy(m->out, m->from, begin, end);
  m->in_row = 1;
  m->cells++;
}

/* A line of text: more of the last cell, or between rows. */
static void add_text(struct markup *m, const struct line *l) {
  if (!m->in_row) {
    copy_line(m, l);
    return;
  }
  add(m, " ", l->begin);
  attn_text_copy(m->out, m->from, l->begin, l->end);
}

static void begin_table(struct markup *m, enum table table) {
  m->table = table;
  m->in_row = m->cells = m->rows = m->first_line = m->blanks = 0;
}

static void end_table(struct markup *m, size_t at) {
  end_row(m, at);
  add(m, "\n", at);
  m->table = NO_TABLE;
  m->columns = m->has_header = 0;
}

/* ---- wikis ---- */

/* Without 'style="..." |'. */
static size_t skip_attributes(const struct markup *m, size_t begin, size_t end) {
  const char *text = m->from->text, *pipe = memchr(text + begin, '|', end - begin);
  if (!pipe || !memchr(text + begin, '=', (size_t)(pipe - text) - begin)) return begin;
  return (size_t)(pipe - text) + 1;
}

static size_t wiki_cell_end(const char *text, size_t at, size_t end) {
  for (; at + 1 < end; at++)
    if ((text[at] == '|' || text[at] == '!') && text[at + 1] == text[at]) return at;
  return end;
}

static void wiki_cells(struct markup *m, const struct line *l) {
  const char *text = m->from->text;
  int is_header = text[l->begin] == '!';
  for (size_t at = l->begin + 1; at <= l->end;) {
    size_t end = wiki_cell_end(text, at, l->end);
    add_cell(m, skip_attributes(m, at, end), end);
    at = end + 2;
  }
  m->only_headers &= is_header;
}

static void wiki_line(struct markup *m, struct line *l) {
  const char *text = m->from->text;
  if (begins_with(m, l, "|}")) {
    end_table(m, l->begin);
  } else if (begins_with(m, l, "|+")) {
    end_row(m, l->begin);
    attn_text_copy(m->out, m->from, l->begin + 2, l->next);
  } else if (begins_with(m, l, "|-") && (text[l->begin + 2] < '0' || text[l->begin + 2] > '9')) {
    end_row(m, l->begin);
  } else if (begins_with(m, l, "|") || begins_with(m, l, "!")) {
    wiki_cells(m, l);
  } else if (l->begin < l->end) {
    add_text(m, l);
  }
}

/* ---- AsciiDoc ---- */

static int number_at(const struct markup *m, size_t begin, size_t end) {
  int number = 0;
  for (; begin < end && number < COLUMNS_MAX; begin++)
    if (m->from->text[begin] >= '0' && m->from->text[begin] <= '9')
      number = number * 10 + (m->from->text[begin] - '0');
  return number;
}

/* cols="1,2", cols="1h,3*>1" */
static void read_attributes(struct markup *m, const struct line *l) {
  struct attn_match match;
  m->has_header = finds(m, HEADER_OPTION, l, NULL);
  if (!finds(m, COLUMNS, l, &match)) return;
  size_t at = match.group[1].begin, end = match.group[1].end;
  for (m->columns = 0; at <= end && m->columns < COLUMNS_MAX;) {
    const char *text = m->from->text, *comma = memchr(text + at, ',', end - at);
    const size_t next = comma ? (size_t)(comma - text) : end;
    const char *times = memchr(text + at, '*', next - at);
    m->columns += times ? number_at(m, at, (size_t)(times - text)) : 1;
    at = next + 1;
  }
}

/* "2+" in front of a pipe: the cell spans two columns. Text there is more of the cell before. */
static int read_format(struct markup *m, size_t begin, size_t end) {
  struct attn_match match;
  if (begin == end) return 1;
  if (matches(m, CELL_FORMAT, begin, end, &match)) {
    int span = number_at(m, match.group[1].begin, match.group[1].end);
    return span > 1 && span < COLUMNS_MAX && m->from->text[match.group[1].end] == '+' ? span : 1;
  }
  add(m, " ", begin);
  attn_text_copy(m->out, m->from, begin, end);
  return 1;
}

static void asciidoc_cells(struct markup *m, const struct line *l) {
  const char *text = m->from->text, *pipe = memchr(text + l->begin, '|', l->end - l->begin);
  if (!pipe) {
    add_text(m, l);
    return;
  }
  size_t at = (size_t)(pipe - text) + 1;
  int span = read_format(m, l->begin, at - 1);
  while (at <= l->end) {
    pipe = memchr(text + at, '|', l->end - at);
    size_t end = pipe ? (size_t)(pipe - text) : l->end;
    add_cell(m, at, end);
    at = end + 1;
  }
  while (--span > 0) add_cell(m, l->end, l->end);
  if (!m->columns) m->columns = m->cells;
  m->first_line++;
}

static void asciidoc_line(struct markup *m, struct line *l) {
  if (begins_with(m, l, "|===")) {
    end_table(m, l->begin);
  } else if (l->begin < l->end) {
    asciidoc_cells(m, l);
  } else {
    if (m->first_line == 1 && !m->blanks) m->has_header = 1; /* a blank line after the first row */
    if (m->cells == m->columns) end_row(m, l->begin);
    m->blanks++;
  }
}

/* A line outside of tables: 0: of no use here. */
static int asciidoc_outside(struct markup *m, const struct line *l) {
  if (!(m->kinds & ATTN_NOTATION_ASCIIDOC)) return 0;
  if (begins_with(m, l, "|===")) return begin_table(m, ASCIIDOC), 1;
  if (matches(m, ATTRIBUTES, l->begin, l->end, NULL)) return read_attributes(m, l), 1;
  if (!matches(m, "\\.[^\\s.\\d]", l->begin, l->end, NULL)) return 0;
  attn_text_copy(m->out, m->from, l->begin + 1, l->next); /* ".Title" */
  return 1;
}

/* ---- nested lists ---- */

/* A cell of the row: a dash in this column. */
static int is_list_cell(const struct markup *m, const struct line *l) {
  const char *text = m->from->text;
  return l->begin - l->first == m->dash && l->begin < l->end && text[l->begin] == '-' &&
         (l->begin + 1 == l->end || is_blank(text[l->begin + 1]));
}

static int begins_list_row(struct markup *m, const struct line *l) {
  struct attn_match match;
  if (!matches(m, NESTED_LIST, l->first, l->end, &match)) return 0;
  struct line next = line_at(m, l->next);
  m->dash = match.group[1].begin - l->first;
  return is_list_cell(m, &next);
}

static void add_list_cell(struct markup *m, const struct line *l) {
  size_t begin = l->first + m->dash + 1;
  add_cell(m, begin < l->end ? begin : l->end, l->end);
}

/* 0: not part of the table. */
static int list_line(struct markup *m, const struct line *l) {
  if (m->table == NESTED && is_list_cell(m, l)) return add_list_cell(m, l), 1;
  if (m->table == NESTED) end_row(m, l->begin);
  if (begins_list_row(m, l)) {
    if (m->table != NESTED) begin_table(m, NESTED);
    add_list_cell(m, l);
    return 1;
  }
  if (m->table == NESTED) m->table = NO_TABLE;
  return 0;
}

/* ---- simple tables of reStructuredText ---- */

/* Does a column begin so many characters after the begin of the rule? */
static int begins_column(const struct markup *m, size_t at) {
  struct line rule = line_at(m, m->rule);
  const char *text = m->from->text + rule.first;
  return at > 0 && rule.first + at < rule.end && text[at] == '=' && is_blank(text[at - 1]);
}

/* Where the word at `at` begins, if that is after `begin`. */
static size_t word_begin(const struct markup *m, size_t begin, size_t at) {
  while (at > begin && !is_blank(m->from->text[at - 1])) at--;
  return at;
}

static void simple_row(struct markup *m, const struct line *l) {
  size_t begin = l->first, character = 0;
  for (size_t at = l->first; at < l->end; at++) {
    if (((unsigned char)m->from->text[at] & 0xC0) == 0x80) continue;
    if (!begins_column(m, character++)) continue;
    size_t cut = word_begin(m, begin, at);
    add_cell(m, begin, cut);
    begin = cut;
  }
  add_cell(m, begin, l->end);
  for (struct line rule = line_at(m, m->rule); rule.first + character < rule.end; character++)
    if (begins_column(m, character)) add_cell(m, l->end, l->end);
  end_row(m, l->begin);
}

/* The second rule is below the header, or ends a table that has none. 0: not part of a table. */
static int simple_line(struct markup *m, const struct line *l) {
  int is_rule = matches(m, COLUMN_RULE, l->begin, l->end, NULL), is_first = m->table != SIMPLE;
  if (is_first && !is_rule) return 0;
  if (is_first) {
    m->has_header = 0;
    begin_table(m, SIMPLE);
    m->rule = l->first;
  } else if (is_rule) {
    add(m, m->rows == 1 ? "|---|" : "", l->begin);
  } else if (l->begin < l->end) {
    simple_row(m, l);
    return 1;
  } else {
    m->table = NO_TABLE;
  }
  attn_text_copy(m->out, m->from, l->end, l->next);
  return 1;
}

/* ---- lines ---- */

static void read_line(struct markup *m, struct line *l) {
  if (m->table == WIKI) {
    wiki_line(m, l);
  } else if (m->table == ASCIIDOC) {
    asciidoc_line(m, l);
  } else if (simple_line(m, l) || list_line(m, l) || asciidoc_outside(m, l)) {
    return;
  } else if ((m->kinds & ATTN_NOTATION_WIKI) && begins_with(m, l, "{|")) {
    begin_table(m, WIKI);
  } else {
    copy_line(m, l);
  }
}

void attn_markup_tables(struct attn_rewrite *r, int kinds) {
  struct markup m = {.patterns = r->scan->patterns,
                     .from = &r->text->now,
                     .out = r->spare,
                     .kinds = kinds & (ATTN_NOTATION_WIKI | ATTN_NOTATION_ASCIIDOC)};
  if (r->text->failed || (!m.kinds && !attn_occurs(m.patterns, ANY_NESTED_LIST, m.from->text) &&
                          !attn_occurs(m.patterns, ANY_COLUMN_RULE, m.from->text)))
    return;
  attn_text_clear(m.out);
  for (size_t at = 0; at < m.from->bytes;) {
    struct line l = line_at(&m, at);
    read_line(&m, &l);
    at = l.next;
  }
  if (m.in_row) end_row(&m, m.from->bytes);
  attn_rewrite_end(r, m.from->bytes);
}
