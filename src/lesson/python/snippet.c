/* snippet.c -- Python among prose or in a fence: assignments, and results in comments. */
#include "snippet.h"

#include <stdarg.h>
#include <string.h>

#include "ascii.h"

/* ---- what is Python ---- */

#define NAME "[A-Za-z_]\\w*+"
#define TARGETS "(" NAME "(?:[ \\t]*+,[ \\t]*+" NAME ")*+)"
/* x = .., a, b = .., x /= .. */
#define ASSIGNED TARGETS "[ \\t]*+([-+*/@]?)=(?!=)[ \\t]*+(?=\\S)"
/* A line that is Python and nothing else: a snippet may begin with it. What people write is not:
 * weights = softmax(scores) = [[..]] */
#define SURELY                                                              \
  "[ \\t]*+(?:>>> |import " NAME                                            \
  "(?:[ .,][^\\n]{0,60})?[ \\t\\r]*$|from [^\\n]{1,60}? import |"           \
  "def [^\\n]*:[ \\t\\r]*$|" ASSIGNED                                       \
  "(?:np[. ]|torch\\.|numpy\\.|F\\.|tf\\.|jnp\\.|math\\.|nn\\.|softmax\\()" \
  "(?![^#\\n]*[)\\]][ \\t]*=(?!=)))"
#define BLOCK "(?:def |class |if |for |while |with |try:|else:|elif |except|async )"
/* A line that goes on with a snippet. */
#define MAYBE                                                                                 \
  "(?:[ \\t]*+(?:" BLOCK "|import |from |print\\(|return|assert |pass|@|%|" ASSIGNED "|" NAME \
  "(?:\\." NAME ")*+\\([^\\n]*\\)[ \\t\\r]*$)|" SURELY ")"
#define COMMENTS "(?:[ \\t\\r]*+(?:#[^\\n]*+)?\\n){0,7}+"
#define FENCE "[ \\t]*+(?:```|~~~)"

static const char ASSIGNMENT[] = ASSIGNED;
static const char TARGET[] = NAME;
static const char IS_FENCE[] = FENCE;
static const char MAY_GO_ON[] = "(?m)" COMMENTS MAYBE;
static const char INDENTED[] = "[ \\t]++[^\\s#]";
static const char BEGINS[] = "(?m)^(?:" FENCE "|(?:(?=[ \\t]*+#(?!#))" COMMENTS ")?+" SURELY ")";
static const char HAS_PYTHON[] = "(?m)^" SURELY;
static const char IMPORTS[] = "(?:import|from) ";
static const char BLOCKS[] = BLOCK;
static const char PROMPT[] = ">>>[ \\t]++";
/* "```python", "```python:main.py" */
static const char PYTHON_FENCE[] =
    "(?m)" FENCE "[ \\t]*+(?:[Pp]ython|python3|py|ipython)[ \\t\\r]*+(?::|$)";
static const char TEXT_FENCE[] =
    "(?m)" FENCE
    "[ \\t]*+(?:text|txt|math|latex|tex|attn|plaintext|markdown|md|output)?+"
    "[ \\t\\r]*+(?::|$)";
static const char NEXT_FENCE[] = "(?m)^" FENCE;
/* A comment, with the lines of comment below it. */
static const char COMMENT[] = "[ \\t\\r]*+#[^\\n]*+(?:\\n[ \\t]*+#[^\\n]*+){0,64}+";
/* # -> [[0.5, 0.5]], # tensor([[0.5, 0.5]]), # weights: [[0.5, 0.5]] */
static const char RESULT_MARK[] =
    "\\s*+(?:#\\s*+)++((?:(?:\u2192|->|=>|\u21D2|=|\u2248|>>>|[Oo]utput:|Out:|Result:|"
    "(?:\u7D50\u679C|\u51FA\u529B)[:\uFF1A])\\s*+)*+(?:(?:np\\.|torch\\.)?(?:tensor|array)\\(\\s*+)"
    "?)(?:([A-Za-z_][\\w ]{0,23})[:=]\\s*+)?";
/* Only a comment may follow the expression. */
static const char END[] = "(?m)[ \\t\\r]*+(?:[#;]|$)";

int attn_py_fail(struct attn_python *p, size_t offset, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  p->status = attn_source_fail(&p->scan->source, offset, p->scan->err, format, arguments);
  va_end(arguments);
  return 0;
}

int attn_py_no_memory(struct attn_python *p) {
  p->status = attn_no_memory(&p->maker);
  return 0;
}

int attn_py_is(const struct attn_python *p, struct attn_part part, const char *words) {
  return part.end > part.begin &&
         attn_is_listed(words, p->code + part.begin, part.end - part.begin);
}

int attn_py_matches(const struct attn_python *p, const char *pattern, size_t at,
                    struct attn_match *m) {
  return attn_match_at(p->scan->patterns, pattern, p->code, p->end, at, m);
}

/* The same in the source, whose comments are not blank. */
static int matches(const struct attn_python *p, const char *pattern, size_t at, size_t end,
                   struct attn_match *m) {
  return attn_match_at(p->scan->patterns, pattern, p->scan->source.text, end, at, m);
}

/* ---- lines ---- */

/* At the newline, or the end. */
static size_t line_end(const struct attn_python *p, size_t at) {
  const struct attn_source *s = &p->scan->source;
  const char *found = at < s->size ? memchr(s->text + at, '\n', s->size - at) : NULL;
  return found ? (size_t)(found - s->text) : s->size;
}

static size_t next_line(const struct attn_python *p, size_t at) {
  size_t end = line_end(p, at);
  return end < p->scan->source.size ? end + 1 : end;
}

static struct attn_part line_at(const struct attn_python *p, size_t at) {
  return attn_part_trim(p->scan->source.text, (struct attn_part){at, line_end(p, at)});
}

/* After the lines that are deeper than the one at `at`, and blank lines among them. */
static size_t skip_body(const struct attn_python *p, size_t at, size_t end) {
  size_t depth = line_at(p, at).begin - at, here = next_line(p, at), after = here;
  while (here < end) {
    struct attn_part line = line_at(p, here);
    int is_blank = line.begin == line.end;
    if (!is_blank && line.begin - here <= depth && p->scan->source.text[line.begin] != ')') break;
    here = next_line(p, here);
    if (!is_blank) after = here;
  }
  return after;
}

/* After the statement at `at`: over lines while brackets are open. */
static size_t skip_statement(const struct attn_python *p, size_t at, size_t end) {
  long open = 0;
  char quote = 0;
  for (; at < end; at++) {
    char c = p->code[at];
    if (c == '\n' && open <= 0) return at + 1;
    if (quote)
      quote = c == quote || c == '\n' ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else
      open += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
  }
  return at;
}

/* ---- results in comments ---- */

enum { ROWS_MAX = 64 }; /* of a matrix with a comment for each */

/* [1, 0] without an arrow may be a shape: a result has a point, or two brackets. */
static int is_surely_numbers(const char *text, const attn_printing *t) {
  if (t->rows > 1 || strncmp(text, "[[", 2) == 0) return 1;
  for (int i = 0; i < t->cols; i++)
    if (t->cells[i].decimals > 0) return 1;
  return 0;
}

/* "# [0.5, 0.5]" below "# [0.2, 0.8]": the next row, and what is after it. 0: it is none. */
static int read_next_row(struct attn_python *p, size_t at, size_t end, attn_printing *table,
                         size_t *after) {
  static const char ROW[] = "[^\\S\\n]*+\\n[ \\t]*+#[ \\t]*+(?=\\[[^\\[])";
  struct attn_match m;
  attn_printing row;
  if (!matches(p, ROW, at, end, &m) || m.group[0].end >= end) return 0;
  if (!attn_read_array(p->shown, m.group[0].end, 0, &row, after)) return 0;
  if (row.rows != 1 || row.cols != table->cols || *after > end) return 0;
  const size_t had = (size_t)table->rows * (size_t)table->cols, more = (size_t)row.cols;
  attn_cell *cells = attn_pool_take(p->scan->pool, (had + more) * sizeof *cells);
  if (!cells) return attn_py_no_memory(p), 0;
  memcpy(cells, table->cells, had * sizeof *cells);
  memcpy(cells + had, row.cells, more * sizeof *cells);
  table->cells = cells, table->rows++;
  return 1;
}

enum result { NO_RESULT, BARE, NAMED, WITH_SIGN };

/* The numbers that the comment at `at` gives for what is above it, with a sign or name in front or
 * bare. *name: of NAMED. */
static enum result read_result(struct attn_python *p, size_t at, size_t end, attn_printing *table,
                               struct attn_part *name) {
  struct attn_match comment, m;
  size_t after;
  if (!matches(p, COMMENT, at, end, &comment)) return NO_RESULT;
  end = comment.group[0].end;
  if (!matches(p, RESULT_MARK, at, end, &m)) return NO_RESULT;
  int is_marked = m.group[1].end > m.group[1].begin, is_named = m.group[2].end > m.group[2].begin;
  *name = m.group[2];
  const char *text = p->scan->source.text + m.group[0].end;
  if (m.group[0].end >= end || *text != '[') return NO_RESULT;
  if (!attn_read_array(p->shown, m.group[0].end, 0, table, &after)) {
    p->status = attn_value_status(p->shown);
    return NO_RESULT;
  }
  if (after > end) return NO_RESULT;
  while (table->rows < ROWS_MAX && text[1] != '[' && read_next_row(p, after, end, table, &after)) {
  }
  if (is_marked && !is_named) return WITH_SIGN;
  return !is_surely_numbers(text, table) ? NO_RESULT : is_named ? NAMED : BARE;
}

/* After the last line of the numbers that a comment gives. */
static size_t end_of_result(const struct attn_python *p, size_t at, const attn_printing *table) {
  const struct attn_source *s = &p->scan->source;
  int last = table->cells[(size_t)table->rows * (size_t)table->cols - 1].line;
  while (at < s->size && attn_source_place(s, at).line <= last) at = next_line(p, at);
  return at;
}

/* The step of the numbers of a comment with a name: the latest of that size that is called so; -1:
 * none. */
static int step_of_named(const struct attn_python *p, const char *name,
                         const attn_printing *table) {
  int called = attn_step_called(name), n = p->example->steps - 1;
  for (; n >= 0; n--) {
    const attn_step *s = &p->example->step[n];
    int has_size = s->exact.rows == table->rows && s->exact.cols == table->cols;
    if (has_size && (strcmp(s->symbol, name) == 0 || (called >= 0 && s->name == called))) break;
  }
  return n;
}

static void list_unread(struct attn_python *p, const attn_printing *table, const char *name) {
  if (attn_add_unread(p->scan->pool, p->lesson, table->cells, table->rows, table->cols, name))
    attn_py_no_memory(p);
}

/* 0: the name is that of no step. */
static int add_named(struct attn_python *p, struct attn_part name, const attn_printing *table) {
  name = attn_part_trim(p->scan->source.text, name);
  char *text =
      attn_pool_text(p->scan->pool, p->scan->source.text + name.begin, name.end - name.begin);
  if (!text) return attn_py_no_memory(p), 0;
  int step = step_of_named(p, text, table);
  if (step < 0 && attn_step_called(text) < 0) return 0;
  if (step >= 0)
    attn_py_add_result(p, step, table);
  else
    list_unread(p, table, text);
  return 1;
}

/* A comment may give the value of what was set or shown last, below other comments with a sign; a
 * matrix of what is not followed is listed. 1: it does. */
static int read_comment(struct attn_python *p, size_t begin, size_t end, size_t *at) {
  attn_printing table;
  struct attn_part name;
  enum result found = read_result(p, begin, end, &table, &name);
  if (found == NAMED) {
    if (p->is_introduced || !add_named(p, name, &table)) return 0;
    *at = end_of_result(p, *at, &table);
    return 1;
  }
  int is_next = found == WITH_SIGN || !p->is_below_comment;
  int is_result = p->may_have_result && !p->is_introduced && is_next;
  int is_step = is_result && p->last.kind == ATTN_PY_STEP;
  if (found == NO_RESULT || (!is_result && table.rows < 2)) return 0;
  if (is_step && !p->last.transposed)
    attn_py_add_result(p, p->last.step, &table);
  else if (!is_step && table.rows > 1)
    list_unread(p, &table, "");
  p->may_have_result = 0;
  p->shown_steps = -1;
  *at = end_of_result(p, *at, &table);
  return 1;
}

/* Where the comment of a line begins; the end of the line: it has none. */
static size_t comment_of(const struct attn_python *p, size_t at) {
  size_t end = line_end(p, at);
  while (at < end && (p->code[at] != ' ' || p->scan->source.text[at] != '#')) at++;
  return at;
}

/* "# what K Q^T would give:" */
static int ends_in_colon(const struct attn_python *p, size_t at) {
  size_t end = line_end(p, at);
  const char *text = p->scan->source.text;
  while (end > at && (text[end - 1] == ' ' || text[end - 1] == '\r')) end--;
  return end > at && text[end - 1] == ':';
}

/* ---- statements ---- */

static void drop_steps(struct attn_python *p, int steps, int imports) {
  p->example->steps = steps;
  p->imports = imports;
}

/* What was only shown leaves no steps unless a comment gives its value. */
static void end_shown(struct attn_python *p) {
  if (p->shown_steps >= 0) drop_steps(p, p->shown_steps, p->shown_imports);
  p->shown_steps = -1;
  p->may_have_result = 0;
}

/* The value from `begin` on. 0: it is not followed, or an error. */
static int read_value(struct attn_python *p, size_t begin, size_t end, struct attn_py_value *v) {
  int steps = p->example->steps, imports = p->imports;
  p->weights = -1;
  int ok = attn_py_expression(p, begin, end, v) &&
           matches(p, END, p->previous, line_end(p, p->previous), NULL);
  if (p->misfit && (!ok || p->rounding)) p->status = ATTN_OK, ok = 0;
  p->misfit = 0;
  if (!ok) *v = (struct attn_py_value){.kind = ATTN_PY_UNKNOWN};
  if (v->kind == ATTN_PY_UNKNOWN) drop_steps(p, steps, imports);
  return ok && !p->status;
}

/* output, weights = attention(q, k, v) */
static struct attn_py_value item_of(const struct attn_python *p, struct attn_py_value v, int n,
                                    int targets) {
  if (targets == 1) return v;
  if (v.kind == ATTN_PY_TUPLE && v.items == targets) return v.item[n];
  if (v.kind != ATTN_PY_STEP || p->weights < 0 || targets != 2)
    return (struct attn_py_value){.kind = ATTN_PY_UNKNOWN};
  if (n) v.step = p->weights;
  return v;
}

static void assign(struct attn_python *p, struct attn_part names, struct attn_py_value v) {
  struct attn_match m;
  int targets = 1, n = 0;
  for (size_t at = names.begin; at < names.end; at++) targets += p->code[at] == ',';
  for (size_t at = names.begin; attn_find(p->scan->patterns, TARGET, p->code, names.end, at, &m);
       at = m.group[0].end)
    attn_py_bind(p, m.group[0], item_of(p, v, n++, targets));
  p->last = attn_py_lookup(p, names);
}

static int assignment(struct attn_python *p, size_t begin, size_t end) {
  struct attn_match m;
  struct attn_py_value v;
  if (!matches(p, ASSIGNMENT, begin, line_end(p, begin), &m)) return 0;
  p->rounding = 0;
  int ok = read_value(p, m.group[0].end, end, &v);
  if (ok && m.group[2].end > m.group[2].begin) /* x /= 2 is x = x / 2 */
    v = attn_py_binary(p, p->code[m.group[2].begin], attn_py_lookup(p, m.group[1]), v);
  if (!p->status) assign(p, m.group[1], v);
  return ok;
}

/* print(x)  # tensor(..), or x alone */
static int shown(struct attn_python *p, size_t begin, size_t end) {
  int steps = p->example->steps;
  p->shown_imports = p->imports;
  p->rounding = 1;
  if (!read_value(p, begin, end, &p->last)) return 0;
  p->shown_steps = steps;
  return 1;
}

static void statement(struct attn_python *p, size_t *at, size_t end) {
  struct attn_match m;
  size_t begin = line_at(p, *at).begin, next = next_line(p, *at);
  if (p->scan->source.text[begin] == '#') {
    if (read_comment(p, *at, end, at)) return;
    p->is_below_comment = 1;
    p->is_introduced = ends_in_colon(p, *at);
    *at = next;
    return;
  }
  end_shown(p);
  if (matches(p, PROMPT, begin, end, &m)) begin = m.group[0].end;
  if (matches(p, IMPORTS, begin, end, NULL)) {
    *at = next;
  } else if (matches(p, BLOCKS, begin, end, NULL)) {
    *at = skip_body(p, *at, end);
  } else if (assignment(p, begin, end) || (!p->status && shown(p, begin, end))) {
    *at = next_line(p, p->previous);
    p->may_have_result = 1, p->is_below_comment = p->is_introduced = 0;
    read_comment(p, p->previous, end, at);
  } else {
    *at = skip_statement(p, *at, end);
    read_comment(p, comment_of(p, begin), end, at);
  }
}

/* ---- snippets ---- */

static int goes_on(struct attn_python *p, size_t at) {
  size_t size = p->scan->source.size;
  attn_printing table;
  struct attn_part name;
  return (p->may_have_result && read_result(p, at, size, &table, &name)) ||
         matches(p, INDENTED, at, size, NULL) || matches(p, MAY_GO_ON, at, size, NULL);
}

/* The source without comments. NULL: no memory. */
static char *code_of(struct attn_scan *scan) {
  char *text = attn_pool_text(scan->pool, scan->source.text, scan->source.size), quote = 0;
  int comment = 0;
  for (size_t at = 0; text && at < scan->source.size; at++) {
    char c = text[at];
    if (c == '\n') {
      quote = 0, comment = 0;
    } else if (comment || (c == '#' && !quote)) {
      comment = 1, text[at] = ' ';
    } else if (quote) {
      quote = c == quote ? 0 : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    }
  }
  return text;
}

static struct attn_value_reader *reader_of(struct attn_scan *scan, char *text, uint32_t *origin) {
  struct attn_canonical *canonical = attn_pool_take(scan->pool, sizeof *canonical);
  if (!text || !canonical) return NULL;
  *canonical = (struct attn_canonical){text, scan->source.size, origin};
  return attn_value_reader_new(scan, canonical);
}

/* At the first snippet. */
static int open_code(struct attn_python *p) {
  struct attn_scan *scan = p->scan;
  size_t size = scan->source.size;
  uint32_t *origin = attn_pool_take(scan->pool, (size + 1) * sizeof *origin);
  if (!origin) return attn_py_no_memory(p);
  for (size_t n = 0; n <= size; n++) origin[n] = (uint32_t)n;
  p->code = code_of(scan);
  p->arrays = reader_of(scan, p->code, origin);
  p->shown = reader_of(scan, attn_pool_text(scan->pool, scan->source.text, size), origin);
  return p->arrays && p->shown ? 1 : attn_py_no_memory(p);
}

static void orient(attn_example *ex) {
  for (int i = 0; i < ex->steps; i++)
    if (ex->step[i].op == ATTN_OP_SOFTMAX && ex->step[i].axis == 0)
      ex->orientation = ATTN_QUERIES_IN_COLUMNS;
}

/* Statements from *at on: all of a fence, or as long as they look like Python. */
static void read_snippet(struct attn_python *p, size_t *at, size_t end, int fenced) {
  if (!p->code && !open_code(p)) return;
  struct attn_py_snippet s = {*at, *at, attn_source_place(&p->scan->source, *at).line};
  attn_example ex = {.heads = 1, .from_python = 1, .line = s.line};
  p->example = &ex;
  p->imports = 0;
  p->shown_steps = -1;
  while (!p->status && *at < end && (*at == s.begin || fenced || goes_on(p, *at)))
    if (line_at(p, *at).begin == line_end(p, *at))
      *at = next_line(p, *at);
    else
      statement(p, at, end);
  if (!p->status) end_shown(p);
  orient(&ex);
  s.end = *at;
  if (!p->status) p->status = attn_add_example(&p->maker, p->lesson, &ex);
  if (attn_pool_grow(p->scan->pool, (void **)&p->snippet, (size_t)p->snippets, sizeof s))
    attn_py_no_memory(p);
  else
    p->snippet[p->snippets++] = s;
}

/* A fence of Python; *at moves past any fence but one of plain text. */
static void read_fence(struct attn_python *p, size_t *at) {
  const struct attn_source *s = &p->scan->source;
  struct attn_match m;
  int is_text = matches(p, TEXT_FENCE, *at, s->size, NULL);
  int is_python = matches(p, PYTHON_FENCE, *at, s->size, NULL);
  size_t begin = next_line(p, *at), end = s->size;
  if (attn_find(p->scan->patterns, NEXT_FENCE, s->text, s->size, begin, &m)) end = m.group[0].begin;
  if (is_text) is_python = attn_find(p->scan->patterns, HAS_PYTHON, s->text, end, begin, NULL);
  *at = is_text && !is_python ? begin : next_line(p, end);
  if (is_python) read_snippet(p, &begin, end, 1);
}

static void read_snippets(struct attn_python *p) {
  const struct attn_source *s = &p->scan->source;
  struct attn_match m;
  for (size_t at = 0;
       !p->status && attn_find(p->scan->patterns, BEGINS, s->text, s->size, at, &m);) {
    at = m.group[0].begin;
    if (matches(p, IS_FENCE, at, s->size, NULL))
      read_fence(p, &at);
    else
      read_snippet(p, &at, s->size, 0);
  }
}

static int last_line(const struct attn_scan *scan, const struct attn_py_snippet *s) {
  return attn_source_place(&scan->source, s->end - 1).line;
}

/* Comments of a program are no headings. */
static void drop_comments(struct attn_scan *scan, const struct attn_python *p) {
  int kept = 0;
  for (int h = 0; h < scan->headings; h++) {
    int line = scan->heading[h].line, inside = 0;
    for (int n = 0; n < p->snippets && !inside; n++)
      inside = line >= p->snippet[n].line && line <= last_line(scan, &p->snippet[n]);
    if (!inside) scan->heading[kept++] = scan->heading[h];
  }
  scan->headings = kept;
}

/* Nothing of a snippet's lines is left to scan. */
static void make_blank(char *text, const struct attn_py_snippet *s) {
  for (size_t at = s->begin; at < s->end; at++)
    if (text[at] != '\n') text[at] = ' ';
}

/* Matrices in comments of a snippet that computes nothing are read as any others. */
static void forget_results(struct attn_python *p, const struct attn_py_snippet *s) {
  attn_lesson *l = p->lesson;
  int last = last_line(p->scan, s), kept = 0;
  for (int n = 0; n < l->unreads; n++)
    if (l->unread[n].line < s->line || l->unread[n].line > last) l->unread[kept++] = l->unread[n];
  l->unreads = kept;
}

/* A snippet that computes nothing was kept while a later one might use its variables. */
static void keep_computed(struct attn_python *p, char *text) {
  attn_example *example = p->lesson->example;
  int kept = 0;
  for (int n = 0; n < p->snippets; n++) {
    if (!attn_is_computed(&example[n])) {
      forget_results(p, &p->snippet[n]);
      continue;
    }
    const struct attn_scan_heading *title = attn_scan_heading_above(p->scan, example[n].line);
    example[n].title = title ? title->text : "";
    make_blank(text, &p->snippet[n]);
    example[kept++] = example[n];
  }
  p->lesson->examples = kept;
  if (kept) p->scan->source.text = text;
}

attn_status attn_add_snippets(struct attn_scan *scan, attn_lesson *lesson) {
  struct attn_python p = {.scan = scan, .maker = {scan->pool, scan->err}, .lesson = lesson};
  read_snippets(&p);
  if (p.status || !p.snippets) return p.status;
  drop_comments(scan, &p);
  char *text = attn_pool_text(scan->pool, scan->source.text, scan->source.size);
  if (!text) return attn_no_memory(&p.maker);
  keep_computed(&p, text);
  return ATTN_OK;
}
