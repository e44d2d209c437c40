/* constructor.c -- R's matrix(c(1, 2, 3, 4), nrow = 2), rbind(c(1, 3), c(2, 4)) and
 * cbind(c(1, 2), c(3, 4)) -> [[1, 3], [2, 4]]; and "insert into q values (1,1,1), (1,2,3), ..",
 * of row, column and number, -> q = [[1, 3], ..]. */
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* Numbers between commas; newlines and blanks around them. */
#define NUMBER "[-+]?[\\d.]++(?:[eE][-+]?\\d++)?"
#define ITEM "\\s*+" NUMBER "\\s*+"
#define ITEMS ITEM "(?:," ITEM ")*+"
#define LIST "\\s*+(?:\\w{1,20}\\s*+=\\s*+)?c\\(" ITEMS "\\)\\s*+"
#define WORDS "[^()\\n]{1,80}+"
static const char NEXT[] = "(?<!\\w)" NUMBER;
/* Groups: the numbers; the arguments after them, none of rbind and cbind:
 * ", nrow = 2, dimnames = list(c(..), NULL)". */
static const char CALL[] = "\\b(?|(?:matrix|array)\\s*\\(\\s*(?:data\\s*=\\s*)?c\\((" ITEMS
                           ")\\)((?:" WORDS "|\\((?:" WORDS "|\\(" WORDS
                           "\\))*+\\))*+)"
                           "|[rc]bind\\s*\\((" LIST "(?:," LIST ")*+)())\\)";

struct flat {
  int count, rows, cols, by_rows;
  struct attn_part *number;
};

static int find_numbers(struct attn_rewrite *r, struct attn_part list, struct flat *out) {
  const char *text = r->text->now.text;
  struct attn_match m;
  for (size_t at = list.begin; attn_find(r->scan->patterns, NEXT, text, list.end, at, &m);
       at = m.group[0].end) {
    if (attn_pool_grow(r->scan->pool, (void **)&out->number, (size_t)out->count,
                       sizeof *out->number))
      return r->text->failed = 1, 0;
    out->number[out->count++] = m.group[0];
  }
  return 1;
}

/* 0: it is not stated. */
static int argument(const struct attn_rewrite *r, struct attn_part a, const char *pattern) {
  const char *text = r->text->now.text;
  struct attn_match m;
  if (!attn_find(r->scan->patterns, pattern, text, a.end, a.begin, &m)) return 0;
  return atoi(text + m.group[1].begin);
}

/* ", nrow = 2, byrow = TRUE", ", 2, 3" */
static void read_arguments(const struct attn_rewrite *r, struct attn_part a, struct flat *f) {
  f->rows = argument(r, a, "(?|nrow\\s*=\\s*(\\d{1,6})|\\G\\s*,\\s*(\\d{1,6}))");
  f->cols = argument(r, a, "(?|ncol\\s*=\\s*(\\d{1,6})|\\G\\s*,\\s*\\d+\\s*,\\s*(\\d{1,6}))");
  f->by_rows =
      attn_find(r->scan->patterns, "byrow\\s*=\\s*T", r->text->now.text, a.end, a.begin, NULL);
}

/* Of rbind each list is a row, of cbind a column. 0: the numbers are no matrix. */
static int read_shape(const struct attn_rewrite *r, const struct attn_match *m, struct flat *f) {
  const char *text = r->text->now.text, call = text[m->group[0].begin];
  int lists = 0;
  for (size_t at = m->group[1].begin; at < m->group[1].end; at++) lists += text[at] == '(';
  read_arguments(r, m->group[2], f);
  if (call == 'r') f->rows = lists, f->by_rows = 1;
  if (call == 'c') f->cols = lists;
  if (!f->rows && f->cols) f->rows = f->count / f->cols;
  if (!f->cols && f->rows) f->cols = f->count / f->rows;
  return f->rows && f->count % f->rows == 0 && f->cols == f->count / f->rows;
}

static void add_matrix(struct attn_text *out, const struct attn_canonical *from,
                       const struct flat *f) {
  uint32_t origin = from->origin[f->number[0].begin];
  for (int r = 0; r < f->rows; r++) {
    attn_text_add(out, r ? ", [" : "[[", r ? 3 : 2, origin);
    for (int c = 0; c < f->cols; c++) {
      struct attn_part number = f->number[f->by_rows ? r * f->cols + c : c * f->rows + r];
      if (c) attn_text_add(out, ", ", 2, origin);
      origin = from->origin[number.begin];
      attn_text_copy(out, from, number.begin, number.end);
    }
    attn_text_add(out, "]", 1, origin);
  }
  attn_text_add(out, "]", 1, origin);
}

#define INDEXED "\\s*+\\(\\d{1,3}+,\\s*+\\d{1,3}+," ITEM "\\)"
static const char INSERT[] =
    "(?i)\\binsert into (\\w{1,16}+)(?: ?\\([\\w, ]++\\))?+\\s++values(" INDEXED "(?:," INDEXED
    ")*+)";

static int value_of(const struct attn_rewrite *r, const struct flat *f, int n) {
  return atoi(r->text->now.text + f->number[n].begin);
}

/* Numbers with their row and column, row by row -> the numbers. 0: in another order, or not whole.
 */
static int drop_indices(const struct attn_rewrite *r, const struct attn_match *m, struct flat *f) {
  const int cells = f->count / 3, first = value_of(r, f, 0), left = value_of(r, f, 1);
  int cols = 0;
  (void)m;
  while (cols < cells && value_of(r, f, 3 * cols) == first) cols++;
  if (cells * 3 != f->count || cols < 2 || cells < 2 * cols || cells % cols) return 0;
  for (int n = 0; n < cells; n++) {
    if (value_of(r, f, 3 * n) != first + n / cols || value_of(r, f, 3 * n + 1) != left + n % cols)
      return 0;
    f->number[n] = f->number[3 * n + 2];
  }
  f->count = cells, f->rows = cells / cols, f->cols = cols, f->by_rows = 1;
  return 1;
}

/* The matrix of a call, or what a table of a database has. */
struct kind {
  const char *has, *pattern;
  int numbers, name; /* groups; name 0: none */
  int (*read)(const struct attn_rewrite *r, const struct attn_match *m, struct flat *f);
};

static void add_name(struct attn_text *out, const struct attn_canonical *from,
                     struct attn_part name) {
  attn_text_add(out, "\n", 1, from->origin[name.begin]);
  attn_text_copy(out, from, name.begin, name.end);
  attn_text_add(out, " = ", 3, from->origin[name.end]);
}

static void rewrite_kind(struct attn_rewrite *r, const struct kind *k) {
  const struct attn_canonical *from = &r->text->now;
  struct attn_match m;
  size_t done = 0;
  if (r->text->failed || !attn_occurs(r->scan->patterns, k->has, from->text)) return;
  attn_text_clear(r->spare);
  for (size_t at = 0; attn_find(r->scan->patterns, k->pattern, from->text, from->bytes, at, &m);
       at = m.group[0].end) {
    struct flat f = {.count = 0};
    if (!find_numbers(r, m.group[k->numbers], &f)) return;
    if (!k->read(r, &m, &f)) continue;
    attn_text_copy(r->spare, from, done, m.group[0].begin);
    if (k->name) add_name(r->spare, from, m.group[k->name]);
    add_matrix(r->spare, from, &f);
    done = m.group[0].end;
  }
  attn_rewrite_end(r, done);
}

void attn_rewrite_calls(struct attn_rewrite *r) {
  static const struct kind INSERTED = {"(?i)\\binsert into", INSERT, 2, 1, drop_indices};
  static const struct kind CALLED = {"c\\(", CALL, 1, 0, read_shape};
  rewrite_kind(r, &INSERTED);
  rewrite_kind(r, &CALLED);
}
