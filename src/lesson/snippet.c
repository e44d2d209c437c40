/* snippet.c -- Python among prose or in a fence: assignments, and results in comments. */
#include <string.h>

#include "reader.h"

static int is_name_byte(unsigned char c) {
  return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* The end of an identifier at the line's begin; begin itself where there is none. */
static size_t name_end(const struct attn_reader *r, struct attn_span s) {
  size_t at = s.begin;
  const char *text = r->source.text;
  if (at < s.end && text[at] >= '0' && text[at] <= '9') return at;
  while (at < s.end && is_name_byte((unsigned char)text[at])) at++;
  return at;
}

static int starts_any(const struct attn_reader *r, struct attn_span s, const char *const *words) {
  for (; *words; words++)
    if (attn_starts(r, s.begin, s.end, *words)) return 1;
  return 0;
}

static const char *const IMPORTS[] = {"import ", "from ", NULL};
static const char *const BLOCKS[] = {"def ", "class ", "if ",   "for ",   "while ", "with ",
                                     "try:", "else:",  "elif ", "except", "async ", NULL};
static const char *const OTHERS[] = {"print(", "return", "assert ", "pass", "@", "%", NULL};

/* What stands behind `name =`, or an empty span. */
static struct attn_span assigned(const struct attn_reader *r, struct attn_span line) {
  struct attn_span none = {line.end, line.end};
  size_t end = name_end(r, line);
  const char *text = r->source.text;
  if (end == line.begin) return none;
  while (end < line.end && text[end] == ' ') end++;
  if (end < line.end && strchr("+-*/@", text[end]) && end + 1 < line.end && text[end + 1] == '=')
    end++;
  if (end >= line.end || text[end] != '=' || (end + 1 < line.end && text[end + 1] == '='))
    return none;
  return attn_trim(r, (struct attn_span){end + 1, line.end});
}

/* weights = softmax(scores) = [[..]]: no Python, but what people write. */
static int has_second_relation(const struct attn_reader *r, struct attn_span value) {
  const char *text = r->source.text;
  int depth = 0;
  for (size_t at = value.begin; at < value.end && text[at] != '#'; at++) {
    depth += (text[at] == '(' || text[at] == '[') - (text[at] == ')' || text[at] == ']');
    if (text[at] == '=' && depth == 0) return 1;
  }
  return 0;
}

/* A line that is Python and nothing else: a snippet may begin with it. */
static int surely_python(const struct attn_reader *r, struct attn_span line) {
  static const char *const CALLS[] = {"np.",   "torch.", "numpy.",   "F.", "tf.", "jnp.",
                                      "math.", "nn.",    "softmax(", "[[", "np ", NULL};
  if (attn_starts(r, line.begin, line.end, ">>> ")) return 1;
  if (attn_starts(r, line.begin, line.end, "import ")) {
    size_t end = name_end(r, (struct attn_span){line.begin + 7, line.end});
    return end > line.begin + 7 &&
           (end >= line.end || strchr(" .,", r->source.text[end]) != NULL) &&
           line.end - line.begin < 80;
  }
  if (attn_starts(r, line.begin, line.end, "from ")) {
    for (size_t at = line.begin; at < line.end && at < line.begin + 80; at++)
      if (attn_starts(r, at, line.end, " import ")) return 1;
    return 0;
  }
  if (attn_starts(r, line.begin, line.end, "def ")) return r->source.text[line.end - 1] == ':';
  struct attn_span value = assigned(r, line);
  if (has_second_relation(r, value)) return 0;
  return value.begin < value.end && starts_any(r, value, CALLS) &&
         !attn_starts(r, value.begin, value.end, "[[");
}

/* A line that goes on with a snippet. */
static int maybe_python(const struct attn_reader *r, struct attn_span line) {
  struct attn_span value = assigned(r, line);
  if (surely_python(r, line) || starts_any(r, line, BLOCKS) || starts_any(r, line, OTHERS))
    return 1;
  if (value.begin < value.end) return 1;
  size_t end = name_end(r, line); /* a, b = f(x); f(x) */
  if (end > line.begin && end < line.end && r->source.text[end] == ',')
    return memchr(r->source.text + end, '=', line.end - end) != NULL;
  return end > line.begin && end < line.end && r->source.text[end] == '(' &&
         r->source.text[line.end - 1] == ')';
}

/* Whether the lines from at on, past blank ones and comments, are Python. */
static int python_follows(const struct attn_reader *r, size_t at, size_t end, int surely) {
  for (int i = 0; i < 8 && at < end; i++) {
    struct attn_span line = attn_line(r, at);
    int comment = line.begin < line.end && r->source.text[line.begin] == '#';
    if (line.begin < line.end && !comment)
      return surely ? surely_python(r, line) : maybe_python(r, line);
    at = attn_next_line(r, at);
  }
  return 0;
}

static size_t indentation(const struct attn_reader *r, size_t at) {
  return attn_line(r, at).begin - at;
}

/* Behind the lines that are deeper than the one at at, and blank lines among them. */
static size_t skip_body(const struct attn_reader *r, size_t at, size_t end) {
  size_t depth = indentation(r, at), here = attn_next_line(r, at), after = here;
  while (here < end) {
    struct attn_span line = attn_line(r, here);
    if (line.begin < line.end && indentation(r, here) <= depth && r->source.text[line.begin] != ')')
      break;
    here = attn_next_line(r, here);
    if (line.begin < line.end) after = here;
  }
  return after;
}

/* Behind the statement at at: over lines while brackets are open. */
static size_t skip_statement(const struct attn_reader *r, size_t at, size_t end) {
  const char *text = r->source.text;
  long open = 0;
  for (char quote = 0; at < end; at++) {
    char c = text[at];
    if (c == '\n' && open <= 0) return at + 1;
    if (quote)
      quote = c == quote || c == '\n' ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '#')
      at = attn_line_end(r, at) - 1;
    else
      open += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
  }
  return at;
}

/* The comment behind the statement that ends at at, with the lines of comment below it: a result
 * may take several. Empty where something else stands there. */
static struct attn_span comment_at(const struct attn_reader *r, size_t at, size_t end) {
  struct attn_span s = {at, attn_line_end(r, at)}, trimmed = attn_trim(r, s);
  if (trimmed.begin >= trimmed.end || r->source.text[trimmed.begin] != '#')
    return (struct attn_span){at, at};
  for (int i = 0; i < 64; i++) {
    size_t below = s.end + 1;
    struct attn_span line = below < end ? attn_line(r, below) : (struct attn_span){0, 0};
    if (line.begin >= line.end || r->source.text[line.begin] != '#') break;
    s.end = attn_line_end(r, below);
  }
  return s;
}

/* The result goes to the last assignment of that name; without one it is an item of its own. */
static int give_result(struct attn_reader *r, struct attn_expr *e, const attn_printing *table) {
  struct attn_document *d = r->document;
  const char *name = e->kind == ATTN_EXPR_NAME ? e->text : NULL;
  for (int i = d->items - 1; name && i >= 0 && i >= d->items - 256; i--) {
    struct attn_item *item = &d->item[i];
    if (item->kind != ATTN_ITEM_ASSIGN || strcmp(item->text, name) != 0) continue;
    if (item->has_result) break;
    item->has_result = 1;
    item->result = *table;
    return ATTN_YES;
  }
  struct attn_item *item = attn_reader_add(r, ATTN_ITEM_ASSIGN, 0);
  if (!item) return ATTN_FAILED;
  item->line = e->line;
  item->column = e->column;
  item->expression = e;
  item->has_result = 1;
  item->result = *table;
  item->text = attn_pool_text(r->pool, name ? name : "", name ? strlen(name) : 0);
  item->key = item->text ? attn_name_key(r, item->text) : NULL;
  return item->key ? ATTN_YES : attn_reader_no_memory(r);
}

static int assign(struct attn_reader *r, struct attn_span name, struct attn_expr *e) {
  struct attn_item *item = attn_reader_add(r, ATTN_ITEM_ASSIGN, name.begin);
  if (!item) return ATTN_FAILED;
  item->expression = e;
  item->text = attn_pool_text(r->pool, r->source.text + name.begin, name.end - name.begin);
  item->key = item->text ? attn_name_key(r, item->text) : NULL;
  return item->key ? ATTN_YES : attn_reader_no_memory(r);
}

static struct attn_expr *name_node(struct attn_reader *r, struct attn_span name) {
  struct attn_expr *e = attn_pool_take(r->pool, sizeof *e);
  char *text = attn_pool_text(r->pool, r->source.text + name.begin, name.end - name.begin);
  if (!e || !text) return attn_reader_no_memory(r), NULL;
  struct attn_source_position place = attn_source_place(&r->source, name.begin);
  *e = (struct attn_expr){
      .kind = ATTN_EXPR_NAME, .text = text, .line = place.line, .column = place.column};
  return e;
}

/* x /= 2 is x = x / 2. */
static int augment(struct attn_reader *r, struct attn_span name, char operation,
                   struct attn_expr **e) {
  struct attn_expr *whole = attn_pool_take(r->pool, sizeof *whole);
  struct attn_expr **operands = attn_pool_take(r->pool, 2 * sizeof(struct attn_expr *));
  char *text = attn_pool_text(r->pool, &operation, 1);
  struct attn_expr *left = name_node(r, name);
  if (!whole || !operands || !text || !left) return attn_reader_no_memory(r);
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

/* Behind the last line of the numbers that a comment told. */
static size_t behind_result(const struct attn_reader *r, size_t at, const attn_printing *table) {
  int last = table->cells[(size_t)table->rows * (size_t)table->cols - 1].line;
  while (at < r->source.size && attn_source_place(&r->source, at).line <= last)
    at = attn_next_line(r, at);
  return at;
}

/* A comment that begins at at may tell the value of what was shown last. */
static int told(struct attn_reader *r, size_t begin, size_t end, size_t *at) {
  struct attn_span comment = comment_at(r, begin, end);
  attn_printing table;
  if (comment.begin >= comment.end || !r->shown) return ATTN_NO;
  int result = attn_python_result(r, comment, &table);
  if (result != ATTN_YES) return result;
  result = give_result(r, r->shown, &table);
  r->shown = NULL;
  *at = behind_result(r, *at, &table);
  return result;
}

/* Behind the expression only a comment may stand; its numbers are the result. */
static int finish(struct attn_cursor *c, size_t end, struct attn_expr *value, size_t *at) {
  struct attn_reader *r = c->r;
  size_t line_end = attn_line_end(r, c->previous);
  struct attn_span rest = attn_trim(r, (struct attn_span){c->previous, line_end});
  if (rest.begin < rest.end && r->source.text[rest.begin] != '#' &&
      r->source.text[rest.begin] != ';')
    return ATTN_NO;
  *at = attn_next_line(r, c->previous);
  r->shown = value;
  return told(r, c->previous, end, at) == ATTN_FAILED ? ATTN_FAILED : ATTN_YES;
}

static int assignment(struct attn_reader *r, struct attn_span line, size_t end, size_t *at) {
  struct attn_span name = {line.begin, name_end(r, line)}, value = assigned(r, line);
  if (value.begin >= value.end) return ATTN_NO;
  struct attn_cursor c = attn_cursor_at(r, value.begin, end);
  struct attn_expr *e;
  c.python = 1;
  int result = attn_advance(&c);
  if (result == ATTN_YES) result = attn_python(&c, &e);
  if (result != ATTN_YES) return result;
  struct attn_span rest =
      attn_trim(r, (struct attn_span){c.previous, attn_line_end(r, c.previous)});
  if (rest.begin < rest.end && r->source.text[rest.begin] != '#' &&
      r->source.text[rest.begin] != ';')
    return ATTN_NO;
  char before =
      r->source.text[name.end] == ' ' ? r->source.text[name.end + 1] : r->source.text[name.end];
  if (before != '=') result = augment(r, name, before, &e);
  if (result == ATTN_YES) result = assign(r, name, e);
  struct attn_expr *target = result == ATTN_YES ? name_node(r, name) : NULL;
  return target ? finish(&c, end, target, at) : ATTN_FAILED;
}

/* print(x)  # tensor(..), or x alone */
static int shown(struct attn_reader *r, struct attn_span line, size_t end, size_t *at) {
  struct attn_cursor c = attn_cursor_at(r, line.begin, end);
  struct attn_expr *e;
  c.python = 1;
  int result = attn_advance(&c);
  if (result == ATTN_YES) result = attn_python(&c, &e);
  if (result != ATTN_YES) return result;
  if (e->kind == ATTN_EXPR_CALL && strcmp(e->text, "print") == 0) {
    if (e->arguments == 0) return ATTN_NO;
    e = e->argument[e->arguments - 1]; /* print("weights:", weights) */
  }
  return finish(&c, end, e, at);
}

/* A comment on a line of its own: the value of what stands above it, or words. */
static int comment_line(struct attn_reader *r, size_t *at, size_t end) {
  struct attn_span line = attn_line(r, *at);
  size_t begin = *at;
  int result = told(r, begin, end, at);
  if (result != ATTN_NO) return result;
  *at = attn_next_line(r, begin);
  r->shown = NULL;
  while (line.begin < line.end && strchr("# ", r->source.text[line.begin])) line.begin++;
  return attn_reader_sentence(r, line);
}

static int statement(struct attn_reader *r, size_t *at, size_t end) {
  struct attn_span line = attn_line(r, *at);
  if (r->source.text[line.begin] == '#') return comment_line(r, at, end);
  if (attn_starts(r, line.begin, line.end, ">>> "))
    line = attn_trim(r, (struct attn_span){line.begin + 4, line.end});
  if (starts_any(r, line, IMPORTS)) {
    *at = attn_next_line(r, *at);
    return ATTN_YES;
  }
  if (starts_any(r, line, BLOCKS)) {
    *at = skip_body(r, *at, end);
    return attn_reader_sentence(r, line);
  }
  int result = assignment(r, line, end, at);
  if (result == ATTN_NO) result = shown(r, line, end, at);
  if (result != ATTN_NO) return result;
  *at = skip_statement(r, *at, end);
  return attn_reader_sentence(r, line);
}

/* Statements from *at on: all of a fence, or as long as they look like Python. */
static int statements(struct attn_reader *r, size_t *at, size_t end, int fenced) {
  int result = ATTN_YES;
  r->block = ++r->blocks;
  r->shown = NULL;
  while (result == ATTN_YES && *at < end) {
    struct attn_span line = attn_line(r, *at);
    int blank = line.begin >= line.end;
    int comment = !blank && r->source.text[line.begin] == '#';
    int indented = !blank && line.begin > *at;
    if (!fenced && (blank || comment) && !python_follows(r, *at, end, 0)) break;
    if (!fenced && !blank && !comment && !indented && !maybe_python(r, line)) break;
    if (blank)
      *at = attn_next_line(r, *at);
    else
      result = statement(r, at, end);
  }
  r->block = 0;
  return result;
}

int attn_snippet(struct attn_reader *r, size_t *at) {
  struct attn_span line = attn_line(r, *at);
  int comment = r->source.text[line.begin] == '#';
  if (comment ? !python_follows(r, *at, r->source.size, 1) : !surely_python(r, line))
    return ATTN_NO;
  return statements(r, at, r->source.size, 0);
}

/* ---- Fences ---- */

static int is_fence(const struct attn_reader *r, struct attn_span line) {
  return attn_starts(r, line.begin, line.end, "```") || attn_starts(r, line.begin, line.end, "~~~");
}

static int has_array(const struct attn_reader *r, size_t begin, size_t end) {
  const char *text = r->source.text;
  for (size_t i = begin; i + 1 < end; i++)
    if (text[i] == '[' && (text[i + 1] == '[' || (text[i + 1] >= '0' && text[i + 1] <= '9')))
      return 1;
  return 0;
}

static int has_python(const struct attn_reader *r, size_t begin, size_t end) {
  for (size_t at = begin; at < end; at = attn_next_line(r, at))
    if (surely_python(r, attn_line(r, at))) return 1;
  return 0;
}

int attn_fence(struct attn_reader *r, size_t *at) {
  static const char *const PYTHON[] = {"python", "py", "python3", "Python", "ipython", NULL};
  static const char *const TEXT[] = {"",     "text",      "txt",      "math", "latex",  "tex",
                                     "attn", "plaintext", "markdown", "md",   "output", NULL};
  struct attn_span line = attn_line(r, *at);
  if (!is_fence(r, line)) return ATTN_NO;
  struct attn_span language = attn_trim(r, (struct attn_span){line.begin + 3, line.end});
  size_t begin = attn_next_line(r, *at), end = begin;
  while (end < r->source.size && !is_fence(r, attn_line(r, end))) end = attn_next_line(r, end);
  if (end >= r->source.size && has_array(r, begin, end))
    return attn_reader_fail(r, line.begin, "the code block is never closed: write %.3s below it",
                            r->source.text + line.begin);
  *at = attn_next_line(r, end);
  int python = attn_span_is(r, language, PYTHON), text = attn_span_is(r, language, TEXT);
  if (python || (text && has_python(r, begin, end))) return statements(r, &begin, end, 1);
  if (!text) return ATTN_YES; /* another language */
  int result = attn_read_lines(r, begin, end);
  return result == ATTN_FAILED ? result : ATTN_YES;
}
