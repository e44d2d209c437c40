/* python.c -- expressions of Python snippets, and the results that comments give. */
#include <math.h>
#include <string.h>

#include "reader.h"

static struct attn_expr *node(struct attn_cursor *c, enum attn_expr_kind kind, size_t offset) {
  struct attn_expr *e = attn_pool_take(c->r->pool, sizeof *e);
  if (!e) return attn_reader_no_memory(c->r), NULL;
  struct attn_source_position place = attn_source_place(&c->r->source, offset);
  e->kind = kind;
  e->line = place.line;
  e->column = place.column;
  return e;
}

static int named(struct attn_cursor *c, enum attn_expr_kind kind, struct attn_span name,
                 struct attn_expr **e) {
  *e = node(c, kind, name.begin);
  if (!*e) return ATTN_FAILED;
  (*e)->text = attn_pool_text(c->r->pool, c->r->source.text + name.begin, name.end - name.begin);
  return (*e)->text ? ATTN_YES : attn_reader_no_memory(c->r);
}

static int number(struct attn_cursor *c, double value, size_t offset, struct attn_expr **e) {
  *e = node(c, ATTN_EXPR_NUMBER, offset);
  if (!*e) return ATTN_FAILED;
  (*e)->number = value;
  return ATTN_YES;
}

/* a + a + .. leans to the left as deep as it is long: who follows it later recurses as deep. */
static int add_argument(struct attn_cursor *c, struct attn_expr *call, struct attn_expr *argument) {
  if (argument->height >= ATTN_HEIGHT_MAX)
    return attn_reader_fail(c->r, c->token.begin, "an expression of more than %d operations",
                            ATTN_HEIGHT_MAX);
  if (call->height <= argument->height) call->height = argument->height + 1;
  if (attn_pool_grow(c->r->pool, (void **)&call->argument, (size_t)call->arguments,
                     sizeof(struct attn_expr *)))
    return attn_reader_no_memory(c->r);
  call->argument[call->arguments++] = argument;
  return ATTN_YES;
}

static int says(const struct attn_expr *e, const char *const *words) {
  if (e->text)
    for (; *words; words++)
      if (strcmp(e->text, *words) == 0) return 1;
  return 0;
}

static int expression(struct attn_cursor *c, struct attn_expr **e);

/* ---- What calls become ---- */

static const char *const MODULES[] = {"np",     "numpy", "torch", "F",       "nn",    "functional",
                                      "tf",     "jnp",   "math",  "jax",     "scipy", "special",
                                      "linalg", "keras", "mx",    "backend", NULL};
static const char *const ARRAYS[] = {"array",    "tensor", "asarray",   "Tensor",   "FloatTensor",
                                     "constant", "matrix", "as_tensor", "Variable", "float32",
                                     "float64",  "float",  NULL};
static const char *const SAME[] = {
    "float", "double",     "numpy", "detach",         "astype", "to", "clone",
    "copy",  "contiguous", "cpu",   "requires_grad_", "type",   NULL};
static const char *const TRANSPOSED[] = {"T", "mT", "t", "transpose", "swapaxes", NULL};

/* ones, zeros and eye of known size as an array. */
static int filled(struct attn_cursor *c, struct attn_expr *call) {
  static const char *const FILLED[] = {"ones", "zeros", "eye", "identity", NULL};
  if (!says(call, FILLED) || call->arguments == 0) return ATTN_YES;
  int square = call->text[0] == 'e' || call->text[0] == 'i';
  struct attn_expr *first = call->argument[0];
  int tuple = first->kind == ATTN_EXPR_CALL && strcmp(first->text, "tuple") == 0;
  struct attn_expr **size = tuple ? first->argument : call->argument;
  int count = tuple ? first->arguments : call->arguments;
  double last[2] = {1, 1}, product = 1;
  for (int i = 0; i < count; i++) {
    if (size[i]->kind != ATTN_EXPR_NUMBER || !(size[i]->number >= 1)) return ATTN_YES;
    product *= size[i]->number;
    last[0] = last[1];
    last[1] = floor(size[i]->number);
  }
  if (square && count == 1) last[0] = last[1];
  if (product > ATTN_CELLS_MAX || last[0] * last[1] > ATTN_CELLS_MAX) return ATTN_YES;
  if (product != last[0] * last[1] && !square) return ATTN_YES; /* a real third dimension */
  attn_printing *t = &call->table;
  *t = (attn_printing){
      .rows = (int)last[0], .cols = (int)last[1], .line = call->line, .column = call->column};
  t->cells = attn_pool_take(c->r->pool, (size_t)t->rows * (size_t)t->cols * sizeof *t->cells);
  if (!t->cells) return attn_reader_no_memory(c->r);
  for (int i = 0; i < t->rows; i++)
    for (int j = 0; j < t->cols; j++) {
      attn_cell *cell = &t->cells[(size_t)i * (size_t)t->cols + (size_t)j];
      *cell = attn_cell_exact(call->text[0] == 'o' || (square && i == j) ? 1 : 0);
      cell->line = call->line;
      cell->column = call->column;
    }
  call->kind = ATTN_EXPR_ARRAY;
  return ATTN_YES;
}

/* array([[..]]) is the list itself, x.float() is x, transpose(x) is x.T. */
static int simplify(struct attn_cursor *c, struct attn_expr **e, int method) {
  struct attn_expr *call = *e;
  if (call->arguments > 0) {
    struct attn_expr *first = call->argument[0];
    int literal = first->kind == ATTN_EXPR_ARRAY || first->kind == ATTN_EXPR_NUMBER ||
                  (first->kind == ATTN_EXPR_NEGATE && !method);
    if ((says(call, ARRAYS) && literal) || (method && says(call, SAME))) {
      *e = first;
      return ATTN_YES;
    }
    if (says(call, TRANSPOSED) && (method || call->text[1])) {
      call->kind = ATTN_EXPR_TRANSPOSE;
      call->arguments = 1;
      call->keywords = 0;
      return ATTN_YES;
    }
  }
  return filled(c, call);
}

/* ---- Calls ---- */

static int keyword(struct attn_cursor *c, struct attn_expr *call, struct attn_span name) {
  struct attn_expr *value;
  int result = expression(c, &value);
  if (result != ATTN_YES) return result;
  struct attn_pool *pool = c->r->pool;
  size_t count = (size_t)call->keywords;
  char *text = attn_pool_text(pool, c->r->source.text + name.begin, name.end - name.begin);
  if (!text || attn_pool_grow(pool, (void **)&call->keyword, count, sizeof(char *)) ||
      attn_pool_grow(pool, (void **)&call->keyword_value, count, sizeof(struct attn_expr *)))
    return attn_reader_no_memory(c->r);
  call->keyword[count] = text;
  call->keyword_value[count] = value;
  call->keywords++;
  return ATTN_YES;
}

static int one_argument(struct attn_cursor *c, struct attn_expr *call) {
  struct attn_cursor before = *c;
  if (c->token.kind == ATTN_TOKEN_WORD) {
    if (attn_advance(c) != ATTN_YES) return ATTN_FAILED;
    if (c->token.kind == ATTN_TOKEN_RELATION && c->at < c->end && c->r->source.text[c->at] != '=') {
      int result = attn_advance(c);
      return result == ATTN_YES ? keyword(c, call, before.token.name) : result;
    }
    *c = before;
  }
  struct attn_expr *argument;
  int result = expression(c, &argument);
  return result == ATTN_YES ? add_argument(c, call, argument) : result;
}

/* From ( to ). */
static int arguments(struct attn_cursor *c, struct attn_expr *call) {
  int result = attn_advance(c);
  c->element++; /* inside brackets lines may go on */
  while (result == ATTN_YES && !attn_token_is(c, ')')) {
    result = one_argument(c, call);
    if (result == ATTN_YES && !attn_token_is(c, ')'))
      result = attn_token_is(c, ',') ? attn_advance(c) : ATTN_NO;
  }
  c->element--;
  return result == ATTN_YES ? attn_advance(c) : result;
}

static int call_function(struct attn_cursor *c, struct attn_expr **e) {
  struct attn_expr *f = *e;
  if (f->kind != ATTN_EXPR_NAME) return ATTN_NO;
  f->kind = ATTN_EXPR_CALL;
  int result = arguments(c, f);
  return result == ATTN_YES ? simplify(c, e, 0) : result;
}

static int attribute(struct attn_cursor *c, struct attn_expr **e) {
  int result = attn_advance(c);
  if (result != ATTN_YES || c->token.kind == ATTN_TOKEN_END)
    return result == ATTN_YES ? ATTN_NO : result;
  struct attn_span name = c->token.name;
  if (c->token.kind == ATTN_TOKEN_INFINITY) { /* np.inf */
    result = number(c, INFINITY, name.begin, e);
    return result == ATTN_YES ? attn_advance(c) : result;
  }
  if (c->token.kind != ATTN_TOKEN_WORD) return ATTN_NO;
  struct attn_expr *object = *e;
  int module = object->kind == ATTN_EXPR_NAME && says(object, MODULES);
  result = named(c, module ? ATTN_EXPR_NAME : ATTN_EXPR_CALL, name, e);
  if (result == ATTN_YES) result = attn_advance(c);
  if (result != ATTN_YES || module) return result;
  (*e)->line = object->line;
  (*e)->column = object->column;
  result = add_argument(c, *e, object);
  if (result == ATTN_YES && attn_token_is(c, '(') && !c->token.newline) {
    result = arguments(c, *e);
  } else if (result == ATTN_YES && !says(*e, TRANSPOSED)) {
    return ATTN_NO; /* x.shape and the like */
  }
  return result == ATTN_YES ? simplify(c, e, 1) : result;
}

/* ---- Operators ---- */

/* '...' or "...": only float('-inf') has a value. */
static int string(struct attn_cursor *c, struct attn_expr **e) {
  const char *text = c->r->source.text;
  char quote = (char)c->token.symbol;
  size_t begin = c->token.end, close = begin;
  while (close < c->end && text[close] != quote && text[close] != '\n')
    close += text[close] == '\\' ? 2 : 1;
  if (close >= c->end || text[close] != quote) return ATTN_NO;
  c->at = close + 1;
  int minus = close > begin && text[begin] == '-';
  size_t word = begin + (size_t)minus;
  int result = close - word == 3 && memcmp(text + word, "inf", 3) == 0
                   ? number(c, minus ? -INFINITY : INFINITY, begin, e)
                   : named(c, ATTN_EXPR_NAME, (struct attn_span){begin, close}, e);
  return result == ATTN_YES ? attn_advance(c) : result;
}

/* (a) is a; (a, b) is a tuple. */
static int parenthesis(struct attn_cursor *c, struct attn_expr **e) {
  size_t begin = c->token.begin;
  int result = attn_advance(c);
  c->element++;
  if (result == ATTN_YES) result = expression(c, e);
  if (result == ATTN_YES && attn_token_is(c, ',')) {
    struct attn_expr *tuple = node(c, ATTN_EXPR_CALL, begin), *first = *e;
    if (!tuple) return ATTN_FAILED;
    tuple->text = attn_pool_text(c->r->pool, "tuple", 5);
    if (!tuple->text) return attn_reader_no_memory(c->r);
    result = add_argument(c, tuple, first);
    while (result == ATTN_YES && attn_token_is(c, ',')) {
      result = attn_advance(c);
      if (result != ATTN_YES || attn_token_is(c, ')')) break;
      result = expression(c, e);
      if (result == ATTN_YES) result = add_argument(c, tuple, *e);
    }
    *e = tuple;
  }
  c->element--;
  if (result != ATTN_YES) return result;
  return attn_token_is(c, ')') ? attn_advance(c) : ATTN_NO;
}

static int array(struct attn_cursor *c, struct attn_expr **e) {
  attn_printing *table;
  int element = c->element;
  *e = node(c, ATTN_EXPR_ARRAY, c->token.begin);
  if (!*e) return ATTN_FAILED;
  int result = attn_bracket(c, &table);
  c->element = element;
  if (result == ATTN_YES) (*e)->table = *table;
  return result;
}

static int atom(struct attn_cursor *c, struct attn_expr **e) {
  size_t begin = c->token.begin;
  int result = ATTN_NO;
  if (c->token.kind == ATTN_TOKEN_NUMBER)
    result = number(c, c->token.number.value, begin, e);
  else if (c->token.kind == ATTN_TOKEN_INFINITY)
    result = number(c, INFINITY, begin, e);
  else if (c->token.kind == ATTN_TOKEN_WORD)
    result = named(c, ATTN_EXPR_NAME, c->token.name, e);
  if (result != ATTN_NO) return result == ATTN_YES ? attn_advance(c) : result;
  if (attn_token_is(c, '(')) return parenthesis(c, e);
  if (attn_token_is(c, '[')) return array(c, e);
  if (attn_token_is(c, '"') || attn_token_is(c, '\'')) return string(c, e);
  return ATTN_NO;
}

/* A new line ends the expression unless a bracket is open. */
static int goes_on(const struct attn_cursor *c) { return !c->token.newline || c->element > 0; }

static int postfix(struct attn_cursor *c, struct attn_expr **e) {
  int result = atom(c, e);
  while (result == ATTN_YES && goes_on(c)) {
    if (attn_token_is(c, '.'))
      result = attribute(c, e);
    else if (attn_token_is(c, '('))
      result = call_function(c, e);
    else if (attn_token_is(c, '['))
      return ATTN_NO; /* a part of an array: not followed */
    else
      return ATTN_YES;
  }
  return result;
}

static int binary(struct attn_cursor *c, const char *operation, struct attn_expr **left,
                  struct attn_expr *right) {
  struct attn_expr *e = node(c, ATTN_EXPR_BINARY, 0);
  if (!e) return ATTN_FAILED;
  e->line = (*left)->line;
  e->column = (*left)->column;
  e->text = attn_pool_text(c->r->pool, operation, strlen(operation));
  if (!e->text) return attn_reader_no_memory(c->r);
  int result = add_argument(c, e, *left);
  if (result == ATTN_YES) result = add_argument(c, e, right);
  *left = e;
  return result;
}

static int unary(struct attn_cursor *c, struct attn_expr **e) {
  int minus = 0, result = ATTN_YES;
  size_t begin = c->token.begin;
  while (result == ATTN_YES && (attn_token_is(c, '-') || attn_token_is(c, '+'))) {
    minus ^= attn_token_is(c, '-');
    result = attn_advance(c);
  }
  if (result == ATTN_YES) result = postfix(c, e);
  if (result == ATTN_YES && goes_on(c) && attn_token_is(c, '*') && c->at < c->end &&
      c->r->source.text[c->at] == '*') {
    struct attn_expr *power;
    c->at++;
    result = attn_advance(c);
    if (result == ATTN_YES) result = postfix(c, &power);
    if (result == ATTN_YES) result = binary(c, "**", e, power);
  }
  if (result != ATTN_YES || !minus) return result;
  if ((*e)->kind == ATTN_EXPR_NUMBER) {
    (*e)->number = -(*e)->number;
    return ATTN_YES;
  }
  struct attn_expr *negated = node(c, ATTN_EXPR_NEGATE, begin);
  if (!negated) return ATTN_FAILED;
  result = add_argument(c, negated, *e);
  *e = negated;
  return result;
}

/* The operator at the token and how tightly it binds; 0: none. */
static int operator_at(const struct attn_cursor *c, const char **text) {
  static const struct {
    uint32_t symbol;
    const char *text;
    int binds;
  } TABLE[] = {{'+', "+", 2}, {'-', "-", 2}, {'*', "*", 3}, {'/', "/", 3}, {'@', "@", 3}};
  if (!goes_on(c)) return 0;
  if (c->token.kind == ATTN_TOKEN_RELATION && c->at < c->end && c->r->source.text[c->at] == '=') {
    *text = "==";
    return 1;
  }
  for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
    if (attn_token_is(c, TABLE[i].symbol)) return *text = TABLE[i].text, TABLE[i].binds;
  return 0;
}

static int operators(struct attn_cursor *c, int tighter, struct attn_expr **e) {
  const char *text = "";
  int result = unary(c, e), binds;
  while (result == ATTN_YES && (binds = operator_at(c, &text)) > tighter) {
    struct attn_expr *right;
    if (binds == 1) c->at++;
    result = attn_advance(c);
    if (result == ATTN_YES) result = operators(c, binds, &right);
    if (result == ATTN_YES) result = binary(c, text, e, right);
  }
  return result;
}

static int expression(struct attn_cursor *c, struct attn_expr **e) {
  if (c->depth >= ATTN_NESTING_MAX)
    return attn_reader_fail(c->r, c->token.begin, "nested deeper than %d levels", ATTN_NESTING_MAX);
  c->depth++;
  int result = operators(c, 0, e);
  c->depth--;
  return result;
}

int attn_python(struct attn_cursor *c, struct attn_expr **e) {
  c->python = 1;
  return expression(c, e);
}

/* ---- Results in comments ---- */

static int skip_any(struct attn_reader *r, struct attn_span *s, const char *const *words) {
  int any = 0;
  for (int i = 0; words[i]; i++) {
    if (!attn_starts(r, s->begin, s->end, words[i])) continue;
    s->begin += strlen(words[i]);
    *s = attn_trim(r, *s);
    any = 1;
    i = -1;
  }
  return any;
}

/* [1, 0] without an arrow may be a shape: a result has a point, or two brackets. */
static int is_surely_numbers(const struct attn_reader *r, struct attn_span s,
                             const attn_printing *t) {
  if (t->rows > 1 || attn_starts(r, s.begin, s.end, "[[")) return 1;
  for (int i = 0; i < t->cols; i++)
    if (t->cells[i].decimals > 0) return 1;
  return 0;
}

int attn_python_result(struct attn_reader *r, struct attn_span comment, attn_printing *table) {
  static const char *const ARROWS[] = {"#",     "→",     "->",      "=>",      "⇒",    "=",
                                       "≈",     ">>>",   "Output:", "output:", "Out:", "Result:",
                                       "結果:", "出力:", "結果：",  "出力：",  NULL};
  static const char *const WRAPPERS[] = {"tensor(", "array(", "np.array(", "torch.tensor(", NULL};
  struct attn_span s = attn_trim(r, comment);
  while (s.begin < s.end && r->source.text[s.begin] == '#') s.begin++;
  s = attn_trim(r, s);
  int told = skip_any(r, &s, ARROWS);
  told |= skip_any(r, &s, WRAPPERS);
  if (s.begin >= s.end) return ATTN_NO;
  struct attn_cursor c = attn_cursor_at(r, s.begin, s.end);
  c.python = 2;
  c.lenient = 1;
  int result = attn_advance(&c);
  if (result != ATTN_YES) return result;
  struct attn_expression_value value = {.begin = c.token.begin};
  if (attn_token_is(&c, '[')) {
    result = attn_bracket(&c, &value.table);
    if (result != ATTN_YES) return result;
    if (!told && !is_surely_numbers(r, s, value.table)) return ATTN_NO;
    *table = *value.table;
    return ATTN_YES;
  }
  if (!told || (c.token.kind != ATTN_TOKEN_NUMBER && !attn_token_is(&c, '-'))) return ATTN_NO;
  result = attn_expression(&c, &value);
  if (result != ATTN_YES || value.table) return result == ATTN_FAILED ? result : ATTN_NO;
  if (c.token.kind != ATTN_TOKEN_END && !attn_token_is(&c, ')') && !c.token.newline) return ATTN_NO;
  struct attn_builder b = {.r = r};
  attn_printing *made;
  result = attn_build_cell(&b, value.one, value.begin);
  if (result == ATTN_YES) result = attn_build_end(&b, &made);
  if (result == ATTN_YES) *table = *made;
  return result;
}
