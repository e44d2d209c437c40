/* markup.c -- the tables of wikis, of AsciiDoc, of nested lists and of columns with vectors, as
 * rows between pipes. */
#include <string.h>

#include "ascii.h"
#include "text.h"

/* "* - word": a row begins; the list inside it has its cells. */
static const char NESTED_LIST[] = "[ \\t]*+[-*][ \\t]++(-(?:[ \\t]|$))";
static const char ANY_NESTED_LIST[] = "(?m)^[ \\t]*+[-*][ \\t]++-(?:[ \\t]|$)";
/* [options="header", cols="1,2"], [%header] */
static const char ATTRIBUTES[] = "\\[(?:[^\\]\\n]*\\b(?:options|opts|cols|format|width|role)=|%)";
/* "cat   [1, 0]   0.7": a vector is a cell of columns that blanks separate. */
static const char VECTOR_CELL[] =
    "(?m)[^\\s|][ \\t]{2,}+(?:\\[[^]|\\n]*+\\]|\\([^)|\\n]*+\\))(?=[ \\t]{2}|[ \\t]*+$)";

enum table { NO_TABLE, WIKI, ASCIIDOC, NESTED, COLUMNS };

struct markup {
  struct attn_patterns *patterns;
  const struct attn_canonical *from;
  struct attn_text *out;
  int kinds, has_columns;
  enum table table;
  int in_row, cells, rows;
  int columns;    /* of AsciiDoc: as many as the first line has cells; of COLUMNS: of each row */
  int has_header; /* the first row has no other cells (wiki), or a blank line below it (AsciiDoc) */
  size_t dash;    /* of a nested list: the column of its cells */
};

struct line {
  size_t begin, end; /* without blanks around */
  size_t first;      /* with them */
  size_t next;       /* after its newline */
};

static struct line line_at(const struct markup *m, size_t at) {
  const struct attn_canonical *t = m->from;
  const char *newline = memchr(t->text + at, '\n', t->bytes - at);
  size_t end = newline ? (size_t)(newline - t->text) : t->bytes;
  struct line l = {at, end, at, newline ? end + 1 : end};
  while (l.begin < l.end && attn_is_blank(t->text[l.begin])) l.begin++;
  while (l.end > l.begin && attn_is_blank(t->text[l.end - 1])) l.end--;
  return l;
}

static int begins_with(const struct markup *m, const struct line *l, const char *sign) {
  size_t bytes = strlen(sign);
  return l->end - l->begin >= bytes && memcmp(m->from->text + l->begin, sign, bytes) == 0;
}

static void add(struct markup *m, const char *text, size_t at) {
  attn_text_add(m->out, text, strlen(text), m->from->origin[at]);
}

/* ---- rows ---- */

static void end_row(struct markup *m, size_t at) {
  if (!m->in_row) return;
  add(m, " |\n", at);
  if (m->rows++ == 0 && m->has_header) add(m, "|---|\n", at);
  m->in_row = m->cells = 0;
}

static void add_cell(struct markup *m, size_t begin, size_t end) {
  if (m->table == ASCIIDOC && m->columns && m->cells == m->columns) end_row(m, begin);
  add(m, m->in_row ? " | " : "| ", begin);
  attn_text_copy(m->out, m->from, begin, end);
  m->in_row = 1;
  m->cells++;
}

/* The cells from `at` on, with a sign between. */
static void add_cells(struct markup *m, size_t at, size_t end, const char *sign) {
  const char *text = m->from->text;
  const size_t bytes = strlen(sign);
  while (at <= end) {
    size_t cell = at; /* not strstr, which would search the document for each line */
    while (cell < end && strncmp(text + cell, sign, bytes) != 0) cell++;
    add_cell(m, at, cell);
    at = cell + bytes;
  }
}

static void begin_table(struct markup *m, enum table table) {
  m->table = table;
  m->in_row = m->cells = m->rows = m->columns = m->has_header = 0;
}

static void end_table(struct markup *m, size_t at) {
  end_row(m, at);
  add(m, "\n", at);
  m->table = NO_TABLE;
}

/* ---- wikis ---- */

/* Without 'style="..." |'. */
static size_t skip_attributes(const struct markup *m, size_t begin, size_t end) {
  const char *text = m->from->text, *pipe = memchr(text + begin, '|', end - begin);
  if (!pipe || pipe[1] == '|' || !memchr(text + begin, '=', (size_t)(pipe - text) - begin))
    return begin;
  return (size_t)(pipe - text) + 1;
}

/* A table within a cell of another is one of its own, below the cells before it. */
static void wiki_line(struct markup *m, const struct line *l) {
  int is_header = begins_with(m, l, "!");
  if (begins_with(m, l, "|}") || begins_with(m, l, "{|")) {
    end_table(m, l->begin);
    if (begins_with(m, l, "{|")) begin_table(m, WIKI);
  } else if (begins_with(m, l, "|+")) {
    end_row(m, l->begin);
    attn_text_copy(m->out, m->from, l->begin + 2, l->next);
  } else if (begins_with(m, l, "|-") && !attn_is_digit(m->from->text[l->begin + 2])) {
    end_row(m, l->begin);
  } else if (is_header || begins_with(m, l, "|")) {
    m->has_header = (!m->in_row || m->has_header) && is_header;
    add_cells(m, skip_attributes(m, l->begin + 1, l->end), l->end, is_header ? "!!" : "||");
  }
}

/* ---- AsciiDoc ---- */

static void asciidoc_line(struct markup *m, const struct line *l) {
  const char *text = m->from->text, *pipe = memchr(text + l->begin, '|', l->end - l->begin);
  if (begins_with(m, l, "|===")) {
    end_table(m, l->begin);
  } else if (pipe) {
    add_cells(m, (size_t)(pipe - text) + 1, l->end, "|");
    if (!m->columns) m->columns = m->cells;
  } else if (l->begin == l->end && m->cells == m->columns) {
    m->has_header |= m->rows == 0;
    end_row(m, l->begin);
  }
}

/* A line outside of tables: 0: of no use here. */
static int asciidoc_outside(struct markup *m, const struct line *l) {
  if (!(m->kinds & ATTN_NOTATION_ASCIIDOC)) return 0;
  if (begins_with(m, l, "|===")) return begin_table(m, ASCIIDOC), 1;
  return attn_match_at(m->patterns, ATTRIBUTES, m->from->text, l->end, l->begin, NULL);
}

/* ---- nested lists ---- */

/* A cell of the row: a dash in this column. */
static int is_list_cell(const struct markup *m, const struct line *l) {
  const char *text = m->from->text;
  return l->begin - l->first == m->dash && l->begin < l->end && text[l->begin] == '-' &&
         (l->begin + 1 == l->end || attn_is_blank(text[l->begin + 1]));
}

static int begins_list_row(struct markup *m, const struct line *l) {
  struct attn_match match;
  if (!attn_match_at(m->patterns, NESTED_LIST, m->from->text, l->end, l->first, &match)) return 0;
  struct line next = line_at(m, l->next);
  m->dash = match.group[1].begin - l->first;
  return is_list_cell(m, &next);
}

/* 0: not part of the table. */
static int list_line(struct markup *m, const struct line *l) {
  int goes_on = m->table == NESTED && is_list_cell(m, l);
  if (!goes_on && m->table == NESTED) end_row(m, l->begin);
  if (!goes_on && !begins_list_row(m, l)) return m->table = NO_TABLE, 0;
  if (m->table != NESTED) begin_table(m, NESTED);
  size_t begin = l->first + m->dash + 1;
  add_cell(m, begin < l->end ? begin : l->end, l->end);
  return 1;
}

/* ---- columns ---- */

/* Two blanks or a tab end a cell, but not within brackets. */
static size_t cell_end(const struct markup *m, size_t at, size_t end) {
  const char *text = m->from->text;
  int depth = 0;
  for (; at < end; at++) {
    depth += (text[at] == '[' || text[at] == '(') - (text[at] == ']' || text[at] == ')');
    if (depth <= 0 && (text[at] == '\t' || (text[at] == ' ' && text[at + 1] == ' '))) break;
  }
  return at;
}

/* Counts the cells of the line, and adds them to the table if `adds`. */
static int columns_in(struct markup *m, const struct line *l, int adds) {
  int cells = 0;
  for (size_t at = l->begin, end; at < l->end; at = end, cells++) {
    end = cell_end(m, at, l->end);
    if (adds) add_cell(m, at, end);
    while (end < l->end && attn_is_blank(m->from->text[end])) end++;
  }
  return cells;
}

static int has_vector_cell(const struct markup *m, const struct line *l) {
  return attn_find(m->patterns, VECTOR_CELL, m->from->text, l->end, l->first, NULL);
}

/* "---  ---" */
static int is_ruler(const struct markup *m, const struct line *l) {
  size_t at = l->begin;
  while (at < l->end && strchr("-= \t", m->from->text[at])) at++;
  return l->begin < l->end && at == l->end;
}

/* Is the line the header of columns, with a row below? The first column may have no title. */
static int begins_columns(struct markup *m, const struct line *l) {
  static const char NAMED_VECTOR[] = "= ?[\\[(]";
  struct line next = line_at(m, l->next);
  if (is_ruler(m, &next)) next = line_at(m, next.next);
  int titles = l->begin < l->end ? columns_in(m, l, 0) : 0;
  if (titles < 3 || attn_find(m->patterns, NAMED_VECTOR, m->from->text, l->end, l->first, NULL))
    return 0;
  if (has_vector_cell(m, l) || !has_vector_cell(m, &next)) return 0;
  int cells = columns_in(m, &next, 0);
  if (cells != titles && cells != titles + 1) return 0;
  begin_table(m, COLUMNS);
  m->columns = cells;
  m->has_header = 1;
  if (cells > titles) add_cell(m, l->begin, l->begin);
  columns_in(m, l, 1);
  return 1;
}

/* 0: not part of the table. */
static int column_line(struct markup *m, const struct line *l) {
  if (m->table != COLUMNS) return m->has_columns && begins_columns(m, l);
  end_row(m, l->first);
  if (m->rows == 1 && is_ruler(m, l)) return 1;
  if (columns_in(m, l, 0) != m->columns) return m->table = NO_TABLE, 0;
  columns_in(m, l, 1);
  return 1;
}

/* ---- lines ---- */

static void read_line(struct markup *m, const struct line *l) {
  if (m->table == WIKI) {
    wiki_line(m, l);
  } else if (m->table == ASCIIDOC) {
    asciidoc_line(m, l);
  } else if (column_line(m, l) || list_line(m, l) || asciidoc_outside(m, l)) {
    return;
  } else if ((m->kinds & ATTN_NOTATION_WIKI) && begins_with(m, l, "{|")) {
    begin_table(m, WIKI);
  } else if (!(m->kinds & ATTN_NOTATION_WIKI) || !begins_with(m, l, "|}")) {
    attn_text_copy(m->out, m->from, l->first, l->next);
  }
}

/* "|>|Q" of PukiWiki: a cell above two columns, as one in front of a blank cell. "|>|>|Q": above
 * three, the sign next to the cell first. */
static void rewrite_spans(struct attn_rewrite *r) {
  enum { COLUMNS_MAX = 5 };
  for (int columns = 2; columns <= COLUMNS_MAX; columns++)
    attn_rewrite_all(r, "(?<=\\|)>\\|([^|>\\n]++(?:\\| )*+)(?=\\|)", "$1| ", ">");
}

/* "||1|2|h" of PukiWiki is a header: its numbers count columns. So is a cell "~1", and of Textile
 * "_. 1"; ">. 0" is a cell that is aligned. */
static void rewrite_headers(struct attn_rewrite *r) {
  rewrite_spans(r);
  attn_rewrite_all(r, "(?<=\\|)(?:(?:RIGHT|LEFT|CENTER|(?:(?:BG)?COLOR|SIZE)\\([#\\w]*+\\)):)++",
                   "", ":");
  attn_rewrite_all(r, "(?<=\\|)~[ \\t]*+(\\d++)(?=[ \\t]*\\|)", "c$1", "~");
  attn_rewrite_all(r, "(?<=\\|)_\\.[ \\t]++(\\d++)(?=[ \\t]*\\|)", "c$1", "_");
  attn_rewrite_all(r, "(?<=\\|)[_<>=]{1,2}\\. ++(?=[^|\\n]*+\\|)", "", "|");
  attn_rewrite_all(r, "(?<=\\|)~(?=[^\\d\\s|~.-][^|\\n]*+\\|)", "", "~");
  if (r->text->failed ||
      !attn_occurs(r->scan->patterns, "(?m)^\\|[^\\n]*+(?<=\\|h)$", r->text->now.text))
    return;
  attn_rewrite_all(r, "(?m)(?<=\\|)(\\d++)(?=(?:\\|[^|\\n]*+)*\\|h[ \\t]*$)", "c$1", "|");
  attn_rewrite_all(r, "(?m)^(\\|[^\\n]*\\|)h[ \\t]*+$", "$1", "|");
}

/* The letters of the columns and the numbers of the rows of a spreadsheet, between pipes or in a
 * box.
 */
static void drop_references(struct attn_rewrite *r) {
#define TO_BAR "[ \\t]*+\\|"
#define THEN(letter) "(?=" TO_BAR "[ \\t]*" letter "[ \\t]*\\|)|"
#define NEXT                                                                                    \
  "A" THEN("B") "B" THEN("C") "C" THEN("D") "D" THEN("E") "E" THEN("F") "F" THEN("G") "G" THEN( \
      "H") "H" THEN("I") "I" THEN("J") "J" THEN("K") "K" THEN("L") "L" THEN("M")
#define LAST "[ \\t]*+[A-M]" TO_BAR
  attn_rewrite_all(r,
                   "(?m)(?:^[ \\t]*+\\|[ \\t*#]*+(?:(?:row|\u884C)[ \\t]*+(?=\\|" LAST
                   "[ \\t]*+$)|"
                   "(?=\\|[^|\\n]*+\\|[^|\\n]*+\\|)|(?:row|\u884C)[ \\t]*+)\\|"
                   "(?:[ \\t]*+(?:" NEXT "(?!))" TO_BAR ")*+" LAST
                   "[ \\t]*+\\n[ \\t:|\\x{2500}-\\x{257F}-]++\\n|"
                   "(?!\\A)\\G(\\|[^\\n]*+\\n))[ \\t]*+\\|[ \\t*]*+\\d{1,3}[ \\t*]*+(?=\\|)",
                   "$1", "|");
#undef TO_BAR
#undef THEN
#undef NEXT
#undef LAST
}

/* "8/2 = 4   -6/2 = -3": equations in columns, where the sign begins the next one. */
static void rewrite_equations(struct attn_rewrite *r) {
  attn_rewrite_all(
      r, "(= ?-?\\d++(?:\\.\\d++)?) {2,}(?=-\\d++(?:\\.\\d++)?[*/\\x{B7}\\x{D7}][^\\s=]*+ ?=)",
      "$1, ", "=");
  /* "sum = e^1.00 + e^0.50", then "= 2.72 + 1.65", then "= 4.37": one equation */
  attn_rewrite_all(r,
                   "(?m)(?<=[\\d)])[ \\t]*\\n[ \\t]++(?==[ \\t]*[-\\d.]++(?: ?\\+ "
                   "?[-\\d.]++)*+[ \\t]*$)",
                   " ", "=");
}

/* "output = (3) × V": the matrix of step (3). "From (12.3)" above an equation (12.4): a number. */
static void rewrite_references(struct attn_rewrite *r) {
  attn_rewrite_all(r,
                   "(?m)(?<=[a-z,][ \\n]|式)\\(([1-9]\\d?)\\.\\d{1,2}\\)(?=[^\\w=]"
                   "(?s:.{0,2000}?)=[^=\\n]*[ \\t]{2}\\(\\1\\.\\d{1,2}\\)[ \\t]*$)",
                   "", "(");
  if (r->text->failed || !attn_occurs(r->scan->patterns, "(?m)^[ \\t]*+\\(1\\)", r->text->now.text))
    return;
  attn_rewrite_all(r, "(?<==)( ?)\\(\\d\\)(?= ?[*\\x{D7}\\x{B7}@] ?[A-Z]\\b)", "$1A", "=");
}

/* A view of a spreadsheet: without the letters of the columns and the numbers of the rows. */
static void drop_addresses(struct attn_rewrite *r) {
  static const char LETTERS[] =
      "(?m)^[ \\t]*+\\|[ \\t]*+A[ \\t]*+\\|[ \\t]*+B[ \\t]*+\\|(?:[ \\t]*+[C-Z][ \\t]*+\\|?+)*+\\n";
  if (r->text->failed || !attn_occurs(r->scan->patterns, LETTERS, r->text->now.text)) return;
  attn_rewrite_all(r, LETTERS, "", "|");
  attn_rewrite_all(r, "(?m)^[ \\t]*+\\d{1,4}[ \\t]*+(?=\\|)", "", "|");
}

/* "Q =" in the middle of its rows, as in text from a PDF: above them, if there are two or more. */
static void rewrite_middle_names(struct attn_rewrite *r) {
#define NUMBER "-?(?:\\d++(?:\\.\\d++)?+|\\.\\d++)"
#define ROW NUMBER "(?:[ \\t]{1,4}+" NUMBER "){1,40}+[ \\t]*+(?:\\n|\\z)"
  static const char MIDDLE[] =
      "(?m)(?<=\\n\\n)((?:[ \\t]{2,}+" ROW ")++)[ \\t]*+([^\\s\\d=][^\\n=\\d]{0,20}=)[ \\t]++(" ROW
      "(?:[ \\t]{2,}+" ROW ")*+)";
#undef ROW
#undef NUMBER
  const struct attn_canonical *text = &r->text->now;
  struct attn_match m;
  if (r->text->failed || !text->bytes ||
      !attn_find(r->scan->patterns, MIDDLE, text->text, text->bytes, 0, &m) ||
      !attn_find(r->scan->patterns, MIDDLE, text->text, text->bytes, m.group[0].end, &m))
    return;
  attn_rewrite_all(r, MIDDLE, "$2\n$1$3", "=");
}

/* "date = 2024-02-11" of a page of Hugo is no difference. */
static void drop_date(struct attn_rewrite *r) {
  attn_rewrite_all(r, "(?m)^(?:date|lastmod) ?= ?\\d{4}-\\d\\d-\\d\\d[T\\d:+Z-]*+$", "", "=");
}

/* What a document of LaTeX loads. */
static void drop_preamble(struct attn_rewrite *r) {
  attn_rewrite_all(r, "(?m)^[ \\t]*+\\\\(?:documentclass|usepackage|usetheme|geometry)\\b[^\\n]*+$",
                   "", "\\");
}

/* \pmatrix{1 & 0 \cr 0 & 1} of plain TeX, also in a document of LaTeX */
static void rewrite_plain_tex(struct attn_rewrite *r) {
  attn_rewrite_all(r, "\\\\p?matrix\\{((?:[^{}\\n]|\\{[^{}\\n]*+\\})++)\\}",
                   ATTN_MARK_OPEN "$1" ATTN_MARK_CLOSE, "\\");
  attn_rewrite_all(r, "\\\\cr(?![a-z])", ATTN_MARK_ROW, "\\");
  attn_rewrite_all(r, "(?m)^\\\\(?:magnification|[hv](?:size|offset)|pageno) ?= ?[\\w.]++", "",
                   "\\");
}

void attn_markup_tables(struct attn_rewrite *r, int kinds) {
  drop_date(r);
  if (kinds & ATTN_NOTATION_TEX) drop_preamble(r);
  rewrite_plain_tex(r);
  drop_addresses(r);
  rewrite_references(r);
  rewrite_headers(r);
  rewrite_middle_names(r);
  drop_references(r);
  rewrite_equations(r);
  struct markup m = {.patterns = r->scan->patterns,
                     .from = &r->text->now,
                     .out = r->spare,
                     .kinds = kinds & (ATTN_NOTATION_WIKI | ATTN_NOTATION_ASCIIDOC)};
  if (r->text->failed) return;
  m.has_columns = attn_occurs(m.patterns, VECTOR_CELL, m.from->text);
  if (!m.kinds && !m.has_columns && !attn_occurs(m.patterns, ANY_NESTED_LIST, m.from->text)) return;
  attn_text_clear(m.out);
  for (size_t at = 0; at < m.from->bytes;) {
    struct line l = line_at(&m, at);
    read_line(&m, &l);
    at = l.next;
  }
  if (m.in_row) end_row(&m, m.from->bytes);
  attn_rewrite_end(r, m.from->bytes);
}
