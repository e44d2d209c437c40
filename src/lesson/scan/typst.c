/* typst.c -- the tables of Typst, #table(columns: 2, [a], [b], ..), as rows between pipes. */
#include <string.h>

#include "text.h"

static const char TABLE[] = "#?\\btable\\(";
static const char COLUMNS[] = "columns\\s*:\\s*(?:(\\d{1,3})\\b|\\(([^()\\n]{0,400})\\))";
static const char ARGUMENT[] =
    "[a-z-]++\\s*:\\s*(?:\\([^()\\n]{0,400}\\)|\"[^\"\\n]*\"|[^,()\\[\\n]{0,80})";
static const char NUMBER[] = "[-+]?\\d[\\d.]*";

struct reader {
  struct attn_patterns *patterns;
  const struct attn_canonical *from;
  struct attn_text *out;
  size_t at;
  int columns, cells;
};

static int matches(const struct reader *r, const char *pattern, struct attn_match *m) {
  return attn_match_at(r->patterns, pattern, r->from->text, r->from->bytes, r->at, m);
}

static void add(struct reader *r, const char *text) {
  attn_text_add(r->out, text, strlen(text), r->from->origin[r->at]);
}

static void add_cell(struct reader *r, size_t begin, size_t end) {
  add(r, r->cells % r->columns ? " | " : "\n| ");
  for (; begin < end; begin++)
    if (r->from->text[begin] != '\n' && r->from->text[begin] != '$')
      attn_text_copy(r->out, r->from, begin, begin + 1);
  if (++r->cells % r->columns == 0) add(r, " |");
}

/* After the bracket that closes the one here, or where the text ends. */
static size_t closing(const struct reader *r, char open, char close) {
  int depth = 0;
  for (size_t at = r->at; at < r->from->bytes; at++) {
    depth += (r->from->text[at] == open) - (r->from->text[at] == close);
    if (depth == 0) return at + 1;
  }
  return r->from->bytes;
}

static void read_columns(struct reader *r, const struct attn_match *m) {
  const char *text = r->from->text;
  r->columns = 0;
  for (size_t at = m->group[1].begin; m->groups > 1 && at < m->group[1].end; at++)
    r->columns = r->columns * 10 + (text[at] - '0');
  if (r->columns == 0) r->columns = 1;
  for (size_t at = m->group[2].begin; m->groups > 2 && at < m->group[2].end; at++)
    r->columns += text[at] == ',' && at + 1 < m->group[2].end;
}

/* One argument of the table, or a sign between. */
static void read_argument(struct reader *r) {
  struct attn_match m;
  size_t begin = r->at;
  if (matches(r, COLUMNS, &m)) {
    read_columns(r, &m);
    r->at = m.group[0].end;
  } else if (matches(r, ARGUMENT, &m)) {
    r->at = m.group[0].end;
  } else if (r->from->text[r->at] == '[') {
    r->at = closing(r, '[', ']');
    add_cell(r, begin + 1, r->at - 1);
  } else if (r->from->text[r->at] == '$') {
    const char *end = memchr(r->from->text + begin + 1, '$', r->from->bytes - begin - 1);
    r->at = end ? (size_t)(end - r->from->text) + 1 : r->from->bytes;
    add_cell(r, begin, r->at);
  } else if (matches(r, NUMBER, &m)) {
    r->at = m.group[0].end;
    add_cell(r, begin, r->at);
  } else {
    r->at++;
  }
}

static void read_table(struct reader *r) {
  size_t end = closing(r, '(', ')');
  r->columns = 1;
  r->cells = 0;
  add(r, "\n");
  for (r->at++; r->at + 1 < end;) read_argument(r);
  r->at = end;
  add(r, "\n");
}

void attn_typst_tables(struct attn_rewrite *rewrite) {
  struct reader r = {
      .patterns = rewrite->scan->patterns, .from = &rewrite->text->now, .out = rewrite->spare};
  struct attn_match m;
  if (rewrite->text->failed || !strstr(r.from->text, "table(")) return;
  attn_text_clear(r.out);
  while (attn_find(r.patterns, TABLE, r.from->text, r.from->bytes, r.at, &m)) {
    attn_text_copy(r.out, r.from, r.at, m.group[0].begin);
    r.at = m.group[0].end - 1;
    read_table(&r);
  }
  attn_rewrite_end(rewrite, r.at);
}
