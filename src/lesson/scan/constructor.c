/* constructor.c -- matrices as calls with a flat list: matrix(c(1, 2, 3, 4), nrow = 2),
 * array([1, 2, 3, 4]).reshape(2, 2), rbind(c(1, 2), c(3, 4)) -> [[1, 2], [3, 4]]. */
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* Numbers between commas; newlines and blanks around them. */
#define NUMBER "\\s*+[-+]?[\\d.]++(?:[eE][-+]?\\d++)?\\s*+"
#define FLAT "(" NUMBER "(?:," NUMBER ")*+)"
#define LIST "(?:\\w{1,20}\\s*=\\s*)?c\\(" NUMBER "(?:," NUMBER ")*+\\)"
#define SIZE "\\s*(-?\\d{1,4})\\s*"

/* The order in which a call lists its numbers. */
enum order {
  ROW_BY_ROW,
  COLUMN_BY_COLUMN,
  AS_STATED, /* by columns unless byrow = TRUE */
  LISTS,     /* a list for each row */
  LISTS_OF_COLUMNS,
};

/* Group 1 has the numbers; 2 and 3 are rows and columns, or 2 are arguments. */
static const struct call {
  const char *pattern, *needs;
  enum order order;
} CALLS[] = {
    {"\\b(?:matrix|array)\\s*\\(\\s*(?:data\\s*=\\s*)?c\\(" FLAT "\\)([^()\\n]{0,80})\\)", "c(",
     AS_STATED},
    {"\\brbind\\s*\\(\\s*(" LIST "(?:\\s*,\\s*" LIST ")*+)\\s*\\)", "rbind", LISTS},
    {"\\bcbind\\s*\\(\\s*(" LIST "(?:\\s*,\\s*" LIST ")*+)\\s*\\)", "cbind", LISTS_OF_COLUMNS},
    {"\\[" FLAT "\\]\\s*\\)?\\s*\\.(?:reshape|view)\\s*\\(\\s*\\(?" SIZE "," SIZE "\\)?\\s*\\)",
     "]", ROW_BY_ROW},
    {"\\breshape\\s*\\(\\s*\\[" FLAT "\\]\\s*,\\s*\\(?" SIZE "," SIZE "\\)?\\s*\\)", "reshape",
     COLUMN_BY_COLUMN},
    {"(?<![\\w.])c\\(" FLAT "\\)", "c(", ROW_BY_ROW},
};

struct flat {
  int count, rows, cols, by_columns;
  size_t *begin, *end; /* of each number */
};

static int is_digit(char c) { return (c >= '0' && c <= '9') || c == '.'; }

/* Of lists, names and brackets are between the numbers. */
static int find_numbers(struct attn_pool *pool, const char *text, size_t at, size_t end,
                        struct flat *out) {
  out->begin = attn_pool_take(pool, (end - at) * sizeof *out->begin);
  out->end = attn_pool_take(pool, (end - at) * sizeof *out->end);
  if (!out->begin || !out->end) return 0;
  int lists = 0;
  while (at < end) {
    lists += text[at] == '(';
    size_t first = at;
    if (text[at] == '-' || text[at] == '+') at++;
    if (at == end || !is_digit(text[at])) {
      at = first + 1;
      continue;
    }
    while (at < end && (is_digit(text[at]) || (text[at] | 32) == 'e' ||
                        ((text[at - 1] | 32) == 'e' && (text[at] == '-' || text[at] == '+'))))
      at++;
    out->begin[out->count] = first;
    out->end[out->count++] = at;
  }
  out->rows = lists;
  return out->count > 0;
}

/* "nrow = 2", or the first or second number of ", 2, 3"; -1: it is not stated. */
static int argument(struct attn_patterns *p, const char *text, size_t begin, size_t end,
                    const char *pattern) {
  struct attn_match m;
  return attn_find(p, pattern, text, end, begin, &m) ? atoi(text + m.group[1].begin) : -1;
}

static void read_arguments(struct attn_patterns *p, const char *text, size_t begin, size_t end,
                           struct flat *f) {
  f->rows = argument(p, text, begin, end, "nrow\\s*=\\s*(\\d+)");
  f->cols = argument(p, text, begin, end, "ncol\\s*=\\s*(\\d+)");
  if (f->rows < 0) f->rows = argument(p, text, begin, end, "\\G\\s*,\\s*(\\d+)");
  if (f->cols < 0) f->cols = argument(p, text, begin, end, "\\G\\s*,\\s*\\d+\\s*,\\s*(\\d+)");
  f->by_columns = !attn_find(p, "byrow\\s*=\\s*T", text, end, begin, NULL);
}

static void read_shape(struct attn_patterns *p, const char *text, const struct attn_match *m,
                       enum order order, struct flat *f) {
  int lists = f->rows;
  f->by_columns = order == COLUMN_BY_COLUMN || order == LISTS_OF_COLUMNS;
  f->rows = f->cols = -1;
  if (order == AS_STATED) {
    read_arguments(p, text, m->group[2].begin, m->group[2].end, f);
  } else if (order == LISTS) {
    f->rows = lists;
  } else if (order == LISTS_OF_COLUMNS) {
    f->cols = lists;
  } else if (m->groups > 3) {
    f->rows = atoi(text + m->group[2].begin);
    f->cols = atoi(text + m->group[3].begin);
  } else {
    f->rows = 1;
  }
  if (f->rows <= 0 && f->cols > 0) f->rows = f->count / f->cols;
  if (f->cols <= 0 && f->rows > 0) f->cols = f->count / f->rows;
}

static void add_matrix(struct attn_text *out, const struct attn_canonical *from,
                       const struct flat *f, int is_vector) {
  uint32_t origin = from->origin[f->begin[0]];
  for (int r = 0; r < f->rows; r++) {
    attn_text_add(out, r ? ", [" : is_vector ? "[" : "[[", r ? 3 : is_vector ? 1 : 2, origin);
    for (int c = 0; c < f->cols; c++) {
      int n = f->by_columns ? c * f->rows + r : r * f->cols + c;
      if (c) attn_text_add(out, ", ", 2, origin);
      origin = from->origin[f->begin[n]];
      attn_text_copy(out, from, f->begin[n], f->end[n]);
    }
    attn_text_add(out, "]", 1, origin);
  }
  if (!is_vector) attn_text_add(out, "]", 1, origin);
}

/* Newlines inside the call are after it, so that lines keep their numbers. */
static void add_newlines(struct attn_text *out, const struct attn_canonical *from, size_t begin,
                         size_t end) {
  for (; begin < end; begin++)
    if (from->text[begin] == '\n') attn_text_copy(out, from, begin, begin + 1);
}

static void rewrite_calls(struct attn_rewrite *r, const struct call *call) {
  const struct attn_canonical *from = &r->text->now;
  struct attn_patterns *p = r->scan->patterns;
  struct attn_text *out = r->spare;
  struct attn_match m;
  size_t done = 0, at = 0;
  if (r->text->failed || !strstr(from->text, call->needs)) return;
  attn_text_clear(out);
  for (; attn_find(p, call->pattern, from->text, from->bytes, at, &m); at = m.group[0].end) {
    struct flat f = {.count = 0};
    if (!find_numbers(r->scan->pool, from->text, m.group[1].begin, m.group[1].end, &f)) break;
    read_shape(p, from->text, &m, call->order, &f);
    if (f.rows <= 0 || f.cols <= 0 || f.rows > f.count || f.rows * f.cols != f.count) continue;
    attn_text_copy(out, from, done, m.group[0].begin);
    add_matrix(out, from, &f, call->order == ROW_BY_ROW && m.groups < 3);
    add_newlines(out, from, m.group[0].begin, m.group[0].end);
    done = m.group[0].end;
  }
  attn_rewrite_end(r, done);
}

void attn_rewrite_calls(struct attn_rewrite *r) {
  for (size_t n = 0; n < sizeof CALLS / sizeof *CALLS; n++) rewrite_calls(r, &CALLS[n]);
}
