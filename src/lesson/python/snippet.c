/* snippet.c -- Python among prose or in a fence: assignments, and results in comments. */
#include "snippet.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

int attn_python_fail(struct attn_python *p, size_t offset, const char *format, ...) {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  p->status = attn_scan_fail(p->scan, offset, "%s", message);
  return ATTN_FAILED;
}

int attn_python_no_memory(struct attn_python *p) {
  p->status = attn_scan_no_memory(p->scan);
  return ATTN_FAILED;
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

static struct attn_part trim(const struct attn_python *p, struct attn_part part) {
  return attn_part_trim(p->scan->source.text, part);
}

static struct attn_part line_at(const struct attn_python *p, size_t at) {
  return trim(p, (struct attn_part){at, line_end(p, at)});
}

static int starts(const struct attn_python *p, struct attn_part part, const char *prefix) {
  size_t bytes = strlen(prefix);
  return part.end - part.begin >= bytes &&
         memcmp(p->scan->source.text + part.begin, prefix, bytes) == 0;
}

static int starts_any(const struct attn_python *p, struct attn_part part,
                      const char *const *words) {
  for (; *words; words++)
    if (starts(p, part, *words)) return 1;
  return 0;
}

/* ---- what is Python ---- */

static int is_name_byte(unsigned char c) {
  return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* The end of an identifier at the line's begin; begin itself where there is none. */
static size_t name_end(const struct attn_python *p, struct attn_part s) {
  size_t at = s.begin;
  const char *text = p->scan->source.text;
  if (at < s.end && text[at] >= '0' && text[at] <= '9') return at;
  while (at < s.end && is_name_byte((unsigned char)text[at])) at++;
  return at;
}

static const char *const IMPORTS[] = {"import ", "from ", NULL};
static const char *const BLOCKS[] = {"def ", "class ", "if ",   "for ",   "while ", "with ",
                                     "try:", "else:",  "elif ", "except", "async ", NULL};
static const char *const OTHERS[] = {"print(", "return", "assert ", "pass", "@", "%", NULL};

static size_t skip_spaces(const struct attn_python *p, size_t at, size_t end) {
  while (at < end && p->scan->source.text[at] == ' ') at++;
  return at;
}

/* The end of "a" and of "a, b" at the line's begin. */
static size_t targets_end(const struct attn_python *p, struct attn_part line) {
  size_t end = name_end(p, line), last = end > line.begin ? end : line.end;
  while (last < line.end) {
    size_t next = skip_spaces(p, last, line.end);
    if (next >= line.end || p->scan->source.text[next] != ',') break;
    next = skip_spaces(p, next + 1, line.end);
    last = name_end(p, (struct attn_part){next, line.end});
    if (last == next) break;
    end = last;
  }
  return end;
}

/* What follows `name =`, or an empty span. */
static struct attn_part assigned(const struct attn_python *p, struct attn_part line) {
  struct attn_part none = {line.end, line.end};
  size_t end = targets_end(p, line);
  const char *text = p->scan->source.text;
  if (end == line.begin) return none;
  end = skip_spaces(p, end, line.end);
  if (end < line.end && strchr("+-*/@", text[end]) && end + 1 < line.end && text[end + 1] == '=')
    end++;
  if (end >= line.end || text[end] != '=' || (end + 1 < line.end && text[end + 1] == '='))
    return none;
  return trim(p, (struct attn_part){end + 1, line.end});
}

/* weights = softmax(scores) = [[..]]: no Python, but what people write. */
static int has_second_relation(const struct attn_python *p, struct attn_part value) {
  const char *text = p->scan->source.text;
  int depth = 0;
  for (size_t at = value.begin; at < value.end && text[at] != '#'; at++) {
    depth += (text[at] == '(' || text[at] == '[') - (text[at] == ')' || text[at] == ']');
    if (text[at] == '=' && depth == 0) return 1;
  }
  return 0;
}

/* A line that is Python and nothing else: a snippet may begin with it. */
static int surely_python(const struct attn_python *p, struct attn_part line) {
  static const char *const CALLS[] = {"np.",   "torch.", "numpy.",   "F.", "tf.", "jnp.",
                                      "math.", "nn.",    "softmax(", "[[", "np ", NULL};
  if (starts(p, line, ">>> ")) return 1;
  if (starts(p, line, "import ")) {
    size_t end = name_end(p, (struct attn_part){line.begin + 7, line.end});
    return end > line.begin + 7 &&
           (end >= line.end || strchr(" .,", p->scan->source.text[end]) != NULL) &&
           line.end - line.begin < 80;
  }
  if (starts(p, line, "from ")) {
    for (size_t at = line.begin; at < line.end && at < line.begin + 80; at++)
      if (starts(p, (struct attn_part){at, line.end}, " import ")) return 1;
    return 0;
  }
  if (starts(p, line, "def ")) return p->scan->source.text[line.end - 1] == ':';
  struct attn_part value = assigned(p, line);
  if (has_second_relation(p, value)) return 0;
  return value.begin < value.end && starts_any(p, value, CALLS) && !starts(p, value, "[[");
}

/* A line that goes on with a snippet. */
static int maybe_python(const struct attn_python *p, struct attn_part line) {
  struct attn_part value = assigned(p, line);
  if (surely_python(p, line) || starts_any(p, line, BLOCKS) || starts_any(p, line, OTHERS))
    return 1;
  if (value.begin < value.end) return 1;
  size_t end = name_end(p, line); /* f(x), np.f(x) */
  while (end > line.begin && end < line.end && p->scan->source.text[end] == '.')
    end = name_end(p, (struct attn_part){end + 1, line.end});
  return end > line.begin && end < line.end && p->scan->source.text[end] == '(' &&
         p->scan->source.text[line.end - 1] == ')';
}

/* Whether the lines from at on, past blank ones and comments, are Python. */
static int python_follows(const struct attn_python *p, size_t at, size_t end, int surely) {
  for (int i = 0; i < 8 && at < end; i++) {
    struct attn_part line = line_at(p, at);
    int comment = line.begin < line.end && p->scan->source.text[line.begin] == '#';
    if (line.begin < line.end && !comment)
      return surely ? surely_python(p, line) : maybe_python(p, line);
    at = next_line(p, at);
  }
  return 0;
}

static size_t indentation(const struct attn_python *p, size_t at) {
  return line_at(p, at).begin - at;
}

/* Behind the lines that are deeper than the one at at, and blank lines among them. */
static size_t skip_body(const struct attn_python *p, size_t at, size_t end) {
  size_t depth = indentation(p, at), here = next_line(p, at), after = here;
  while (here < end) {
    struct attn_part line = line_at(p, here);
    if (line.begin < line.end && indentation(p, here) <= depth &&
        p->scan->source.text[line.begin] != ')')
      break;
    here = next_line(p, here);
    if (line.begin < line.end) after = here;
  }
  return after;
}

/* Behind the statement at at: over lines while brackets are open. */
static size_t skip_statement(const struct attn_python *p, size_t at, size_t end) {
  const char *text = p->scan->source.text;
  long open = 0;
  for (char quote = 0; at < end; at++) {
    char c = text[at];
    if (c == '\n' && open <= 0) return at + 1;
    if (quote)
      quote = c == quote || c == '\n' ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '#')
      at = line_end(p, at) - 1;
    else
      open += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
  }
  return at;
}

/* The comment after the statement that ends at at, with the lines of comment below it: a result
 * may take several. Empty if something else follows. */
static struct attn_part comment_at(const struct attn_python *p, size_t at, size_t end) {
  struct attn_part s = {at, line_end(p, at)}, trimmed = trim(p, s);
  if (trimmed.begin >= trimmed.end || p->scan->source.text[trimmed.begin] != '#')
    return (struct attn_part){at, at};
  for (int i = 0; i < 64; i++) {
    size_t below = s.end + 1;
    struct attn_part line = below < end ? line_at(p, below) : (struct attn_part){0, 0};
    if (line.begin >= line.end || p->scan->source.text[line.begin] != '#') break;
    s.end = line_end(p, below);
  }
  return s;
}

/* ---- statements ---- */

static struct attn_statement *add_statement(struct attn_python *p, struct attn_part name) {
  struct attn_scan *scan = p->scan;
  if (attn_pool_grow(scan->pool, (void **)&p->statement, (size_t)p->statements,
                     sizeof *p->statement))
    return attn_python_no_memory(p), NULL;
  struct attn_statement *s = &p->statement[p->statements];
  *s = (struct attn_statement){.snippet = p->snippets - 1};
  s->text = attn_pool_text(scan->pool, scan->source.text + name.begin, name.end - name.begin);
  if (!s->text) return attn_python_no_memory(p), NULL;
  p->statements++;
  return s;
}

static int add_line(struct attn_python *p, struct attn_part line) {
  return add_statement(p, line) ? ATTN_YES : ATTN_FAILED;
}

static struct attn_expr *name_node(struct attn_python *p, struct attn_part name) {
  struct attn_expr *e = attn_pool_take(p->scan->pool, sizeof *e);
  char *text =
      attn_pool_text(p->scan->pool, p->scan->source.text + name.begin, name.end - name.begin);
  if (!e || !text) return attn_python_no_memory(p), NULL;
  struct attn_source_position place = attn_source_place(&p->scan->source, name.begin);
  *e = (struct attn_expr){
      .kind = ATTN_EXPR_NAME, .text = text, .line = place.line, .column = place.column};
  return e;
}

/* x /= 2 is x = x / 2. */
static int augment(struct attn_python *p, struct attn_part name, char operation,
                   struct attn_expr **e) {
  struct attn_expr *whole = attn_pool_take(p->scan->pool, sizeof *whole);
  struct attn_expr **operands = attn_pool_take(p->scan->pool, 2 * sizeof(struct attn_expr *));
  char *text = attn_pool_text(p->scan->pool, &operation, 1);
  struct attn_expr *left = name_node(p, name);
  if (!whole || !operands || !text || !left) return attn_python_no_memory(p);
  operands[0] = left;
  operands[1] = *e;
  *whole = (struct attn_expr){.kind = ATTN_EXPR_BINARY,
                              .text = text,
                              .arguments = 2,
                              .argument = operands,
                              .line = left->line,
                              .column = left->column};
  *e = whole;
  return ATTN_YES;
}

/* ---- results in comments ---- */

static void skip_any(const struct attn_python *p, struct attn_part *s, const char *const *words,
                     int *any) {
  for (int i = 0; words[i]; i++) {
    if (!starts(p, *s, words[i])) continue;
    s->begin += strlen(words[i]);
    *s = trim(p, *s);
    *any = 1;
    i = -1;
  }
}

/* [1, 0] without an arrow may be a shape: a result has a point, or two brackets. */
static int is_surely_numbers(const struct attn_python *p, struct attn_part s,
                             const attn_printing *t) {
  if (t->rows > 1 || starts(p, s, "[[")) return 1;
  for (int i = 0; i < t->cols; i++)
    if (t->cells[i].decimals > 0) return 1;
  return 0;
}

/* One number, and nothing after it but a bracket or words of another line. */
static int read_one(struct attn_python *p, struct attn_part s, attn_printing *table) {
  const char *text = p->scan->source.text;
  size_t end = s.begin;
  while (end < s.end && !strchr(" \t\n)", text[end])) end++;
  struct attn_part rest = trim(p, (struct attn_part){end, line_end(p, end)});
  attn_cell cell;
  if (rest.begin < rest.end && text[rest.begin] != ')') return ATTN_NO;
  if (!attn_scan_number(p->scan, text + s.begin, end - s.begin, &cell) ||
      cell.kind == ATTN_CELL_BLANK)
    return ATTN_NO;
  struct attn_source_position place = attn_source_place(&p->scan->source, s.begin);
  cell.line = place.line, cell.column = place.column;
  *table = (attn_printing){.rows = 1, .cols = 1, .line = place.line, .column = place.column};
  table->cells = attn_pool_take(p->scan->pool, sizeof cell);
  if (!table->cells) return attn_python_no_memory(p);
  *table->cells = cell;
  return ATTN_YES;
}

/* The numbers that a comment tells. */
static int read_result(struct attn_python *p, struct attn_part comment, attn_printing *table) {
  static const char *const SIGNS[] = {"#", NULL};
  static const char *const ARROWS[] = {"→",     "->",      "=>",      "⇒",    "=",       "≈",
                                       ">>>",   "Output:", "output:", "Out:", "Result:", "結果:",
                                       "出力:", "結果：",  "出力：",  NULL};
  static const char *const WRAPPERS[] = {"tensor(", "array(", "np.array(", "torch.tensor(", NULL};
  struct attn_part s = trim(p, comment);
  int signs = 0, told = 0;
  size_t end;
  skip_any(p, &s, SIGNS, &signs);
  skip_any(p, &s, ARROWS, &told);
  skip_any(p, &s, WRAPPERS, &told);
  if (s.begin >= s.end) return ATTN_NO;
  if (p->scan->source.text[s.begin] != '[') return told ? read_one(p, s, table) : ATTN_NO;
  if (!attn_read_array(p->shown, s.begin, 0, table, &end)) {
    p->status = attn_value_status(p->shown);
    return p->status ? ATTN_FAILED : ATTN_NO;
  }
  return end <= comment.end && (told || is_surely_numbers(p, s, table)) ? ATTN_YES : ATTN_NO;
}

enum { LOOK_BACK = 256 };

/* The result goes to the last assignment of that name; without one it is a statement of its own. */
static int give_result(struct attn_python *p, struct attn_expr *e, const attn_printing *table) {
  const char *name = e->kind == ATTN_EXPR_NAME ? e->text : NULL;
  struct attn_statement *found = NULL;
  for (int i = p->statements - 1; name && i >= 0 && i >= p->statements - LOOK_BACK; i--) {
    found = &p->statement[i];
    if (found->expression && strcmp(found->text, name) == 0) break;
    found = NULL;
  }
  if (!found || found->has_result) {
    found = add_statement(p, (struct attn_part){0, 0});
    if (!found) return ATTN_FAILED;
    found->expression = e;
  }
  found->has_result = 1;
  found->result = *table;
  return ATTN_YES;
}

/* Behind the last line of the numbers that a comment told. */
static size_t end_of_result(const struct attn_python *p, size_t at, const attn_printing *table) {
  const struct attn_source *s = &p->scan->source;
  int last = table->cells[(size_t)table->rows * (size_t)table->cols - 1].line;
  while (at < s->size && attn_source_place(s, at).line <= last) at = next_line(p, at);
  return at;
}

/* Does the comment at `at` tell the value of what is above it? */
static int tells_result(struct attn_python *p, size_t at, size_t end) {
  attn_printing table;
  return p->last && read_result(p, comment_at(p, at, end), &table) == ATTN_YES;
}

/* A comment that begins at begin may tell the value of what was shown last. */
static int read_comment(struct attn_python *p, size_t begin, size_t end, size_t *at) {
  struct attn_part comment = comment_at(p, begin, end);
  attn_printing table;
  if (comment.begin >= comment.end || !p->last) return ATTN_NO;
  int result = read_result(p, comment, &table);
  if (result != ATTN_YES) return result;
  result = give_result(p, p->last, &table);
  p->last = NULL;
  *at = end_of_result(p, *at, &table);
  return result;
}

/* Behind the expression only a comment may stand. */
static int is_end(const struct attn_cursor *c) {
  struct attn_python *p = c->p;
  struct attn_part rest = trim(p, (struct attn_part){c->previous, line_end(p, c->previous)});
  if (rest.begin >= rest.end) return 1;
  char next = p->scan->source.text[rest.begin];
  return next == '#' || next == ';';
}

/* Its numbers are the result of the value. */
static int finish(struct attn_cursor *c, size_t end, struct attn_expr *value, size_t *at) {
  struct attn_python *p = c->p;
  *at = next_line(p, c->previous);
  p->last = value;
  return read_comment(p, c->previous, end, at) == ATTN_FAILED ? ATTN_FAILED : ATTN_YES;
}

static int read_expression(struct attn_cursor *c, struct attn_expr **e) {
  int result = attn_advance(c);
  if (result == ATTN_YES) result = attn_python_expression(c, e);
  return result == ATTN_YES && !is_end(c) ? ATTN_NO : result;
}

static int assignment(struct attn_python *p, struct attn_part line, size_t end, size_t *at) {
  struct attn_part name = {line.begin, targets_end(p, line)}, value = assigned(p, line);
  const char *text = p->scan->source.text;
  if (value.begin >= value.end) return ATTN_NO;
  struct attn_cursor c = attn_cursor_at(p, value.begin, end);
  struct attn_expr *e;
  int result = read_expression(&c, &e);
  if (result != ATTN_YES) return result;
  size_t sign = name.end + strspn(text + name.end, " ");
  if (text[sign] != '=') result = augment(p, name, text[sign], &e);
  struct attn_statement *s = result == ATTN_YES ? add_statement(p, name) : NULL;
  if (!s) return ATTN_FAILED;
  s->expression = e;
  struct attn_expr *target = name_node(p, name);
  return target ? finish(&c, end, target, at) : ATTN_FAILED;
}

/* print(x)  # tensor(..), or x alone */
static int shown(struct attn_python *p, struct attn_part line, size_t end, size_t *at) {
  struct attn_cursor c = attn_cursor_at(p, line.begin, end);
  struct attn_expr *e;
  int result = read_expression(&c, &e);
  if (result != ATTN_YES) return result;
  if (e->kind == ATTN_EXPR_CALL && strcmp(e->text, "print") == 0) {
    if (e->arguments == 0) return ATTN_NO;
    e = e->argument[e->arguments - 1]; /* print("weights:", weights) */
  }
  return finish(&c, end, e, at);
}

/* A comment on a line of its own: the value of what is above it, or words. */
static int comment_line(struct attn_python *p, size_t *at, size_t end) {
  size_t begin = *at;
  int result = read_comment(p, begin, end, at);
  if (result != ATTN_NO) return result;
  *at = next_line(p, begin);
  p->last = NULL;
  return ATTN_YES;
}

static int statement(struct attn_python *p, size_t *at, size_t end) {
  struct attn_part line = line_at(p, *at);
  if (p->scan->source.text[line.begin] == '#') return comment_line(p, at, end);
  if (starts(p, line, ">>> ")) line = trim(p, (struct attn_part){line.begin + 4, line.end});
  if (starts_any(p, line, IMPORTS)) return *at = next_line(p, *at), ATTN_YES;
  if (starts_any(p, line, BLOCKS)) return *at = skip_body(p, *at, end), add_line(p, line);
  int result = assignment(p, line, end, at);
  if (result == ATTN_NO) result = shown(p, line, end, at);
  if (result != ATTN_NO) return result;
  *at = skip_statement(p, *at, end);
  return add_line(p, line);
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

/* At the first snippet. */
static int open_code(struct attn_python *p) {
  struct attn_scan *scan = p->scan;
  size_t size = scan->source.size;
  struct attn_canonical *text = attn_pool_take(scan->pool, 2 * sizeof *text);
  uint32_t *origin = attn_pool_take(scan->pool, (size + 1) * sizeof *origin);
  char *code = code_of(scan), *source = attn_pool_text(scan->pool, scan->source.text, size);
  if (!text || !origin || !code || !source) return attn_python_no_memory(p);
  for (size_t n = 0; n <= size; n++) origin[n] = (uint32_t)n;
  text[0] = (struct attn_canonical){code, size, origin};
  text[1] = (struct attn_canonical){source, size, origin};
  p->code = code;
  p->arrays = attn_value_reader_new(scan, &text[0]);
  p->shown = attn_value_reader_new(scan, &text[1]);
  return p->arrays && p->shown ? ATTN_YES : attn_python_no_memory(p);
}

/* ---- snippets ---- */

static int goes_on(struct attn_python *p, size_t at, size_t end) {
  struct attn_part line = line_at(p, at);
  int blank = line.begin >= line.end, comment = !blank && p->scan->source.text[line.begin] == '#';
  if (comment && tells_result(p, at, end)) return 1;
  if (blank || comment) return python_follows(p, at, end, 0);
  return line.begin > at || maybe_python(p, line);
}

/* Statements from *at on: all of a fence, or as long as they look like Python. */
static int statements(struct attn_python *p, size_t *at, size_t end, int fenced) {
  int result = ATTN_YES;
  if (!p->code && open_code(p) != ATTN_YES) return ATTN_FAILED;
  if (attn_pool_grow(p->scan->pool, (void **)&p->snippet, (size_t)p->snippets, sizeof *p->snippet))
    return attn_python_no_memory(p);
  p->snippet[p->snippets++] =
      (struct attn_snippet){*at, *at, attn_source_place(&p->scan->source, *at).line};
  p->last = NULL;
  while (result == ATTN_YES && *at < end && (fenced || goes_on(p, *at, end))) {
    struct attn_part line = line_at(p, *at);
    if (line.begin >= line.end)
      *at = next_line(p, *at);
    else
      result = statement(p, at, end);
  }
  p->snippet[p->snippets - 1].end = *at;
  return result;
}

static int is_fence(const struct attn_python *p, struct attn_part line) {
  return starts(p, line, "```") || starts(p, line, "~~~");
}

static int has_python(const struct attn_python *p, size_t begin, size_t end) {
  for (size_t at = begin; at < end; at = next_line(p, at))
    if (surely_python(p, line_at(p, at))) return 1;
  return 0;
}

static int is_one_of(const struct attn_python *p, struct attn_part part, const char *const *words) {
  for (; *words; words++)
    if (starts(p, part, *words) && strlen(*words) == part.end - part.begin) return 1;
  return 0;
}

/* A fence of Python; *at moves past any fence but one of plain text. */
static int fence(struct attn_python *p, size_t *at) {
  static const char *const PYTHON[] = {"python", "py", "python3", "Python", "ipython", NULL};
  static const char *const TEXT[] = {"",     "text",      "txt",      "math", "latex",  "tex",
                                     "attn", "plaintext", "markdown", "md",   "output", NULL};
  struct attn_part line = line_at(p, *at);
  struct attn_part language = trim(p, (struct attn_part){line.begin + 3, line.end});
  const char *name =
      memchr(p->scan->source.text + language.begin, ':', language.end - language.begin);
  if (name) language.end = (size_t)(name - p->scan->source.text); /* "python:main.py" */
  size_t begin = next_line(p, *at), end = begin;
  while (end < p->scan->source.size && !is_fence(p, line_at(p, end))) end = next_line(p, end);
  int text = is_one_of(p, language, TEXT);
  int python = is_one_of(p, language, PYTHON) || (text && has_python(p, begin, end));
  *at = text && !python ? begin : next_line(p, end);
  return python ? statements(p, &begin, end, 1) : ATTN_YES;
}

static int begins_snippet(const struct attn_python *p, size_t at, struct attn_part line) {
  if (line.begin >= line.end) return 0;
  if (p->scan->source.text[line.begin] != '#') return surely_python(p, line);
  return python_follows(p, at, p->scan->source.size, 1) && !starts(p, line, "##");
}

static int read_snippets(struct attn_python *p) {
  size_t size = p->scan->source.size;
  int result = ATTN_YES;
  for (size_t at = 0; at < size && result == ATTN_YES;) {
    struct attn_part line = line_at(p, at);
    if (is_fence(p, line)) {
      result = fence(p, &at);
    } else if (begins_snippet(p, at, line)) {
      result = statements(p, &at, size, 0);
    } else {
      at = next_line(p, at);
    }
  }
  return result;
}

attn_status attn_read_python(struct attn_python *p, struct attn_scan *scan) {
  *p = (struct attn_python){.scan = scan};
  read_snippets(p);
  return p->status;
}
