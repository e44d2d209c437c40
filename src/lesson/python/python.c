/* python.c -- expressions of Python snippets. */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "snippet.h"
#include "text.h"

static struct attn_expr *node(struct attn_cursor *c, enum attn_expr_kind kind, size_t offset) {
  struct attn_expr *e = attn_pool_take(c->p->scan->pool, sizeof *e);
  if (!e) return attn_python_no_memory(c->p), NULL;
  struct attn_source_position place = attn_source_place(&c->p->scan->source, offset);
  e->kind = kind;
  e->line = place.line;
  e->column = place.column;
  return e;
}

static int named(struct attn_cursor *c, enum attn_expr_kind kind, struct attn_part name,
                 struct attn_expr **e) {
  *e = node(c, kind, name.begin);
  if (!*e) return ATTN_FAILED;
  (*e)->text = attn_pool_text(c->p->scan->pool, c->p->code + name.begin, name.end - name.begin);
  return (*e)->text ? ATTN_YES : attn_python_no_memory(c->p);
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
    return attn_python_fail(c->p, c->token.begin, "an expression of more than %d operations",
                            ATTN_HEIGHT_MAX);
  if (call->height <= argument->height) call->height = argument->height + 1;
  if (attn_pool_grow(c->p->scan->pool, (void **)&call->argument, (size_t)call->arguments,
                     sizeof(struct attn_expr *)))
    return attn_python_no_memory(c->p);
  call->argument[call->arguments++] = argument;
  return ATTN_YES;
}

int attn_expr_is_named(const struct attn_expr *e, const char *const *names) {
  for (; e->text && *names; names++)
    if (strcmp(e->text, *names) == 0) return 1;
  return 0;
}

static int expression(struct attn_cursor *c, struct attn_expr **e);

static struct attn_part part_of(const struct attn_python_token *t) {
  return (struct attn_part){t->begin, t->end};
}

/* Is the sign at the token followed by itself: "==", "**"? */
static int is_doubled(const struct attn_cursor *c, char sign) {
  return c->at < c->end && c->p->code[c->at] == sign;
}

static int is_infinity(const struct attn_cursor *c) {
  static const char *const NAMES[] = {"inf", "Infinity", "Inf"};
  size_t bytes = c->token.end - c->token.begin;
  for (size_t n = 0; n < sizeof NAMES / sizeof *NAMES; n++)
    if (strlen(NAMES[n]) == bytes && memcmp(c->p->code + c->token.begin, NAMES[n], bytes) == 0)
      return 1;
  return 0;
}

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
  if (!attn_expr_is_named(call, FILLED) || call->arguments == 0) return ATTN_YES;
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
  t->cells = attn_pool_take(c->p->scan->pool, (size_t)t->rows * (size_t)t->cols * sizeof *t->cells);
  if (!t->cells) return attn_python_no_memory(c->p);
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
    if ((attn_expr_is_named(call, ARRAYS) && literal) ||
        (method && attn_expr_is_named(call, SAME))) {
      *e = first;
      return ATTN_YES;
    }
    if (attn_expr_is_named(call, TRANSPOSED) && (method || call->text[1])) {
      call->kind = ATTN_EXPR_TRANSPOSE;
      call->arguments = 1;
      call->keywords = 0;
      return ATTN_YES;
    }
  }
  return filled(c, call);
}

/* ---- Calls ---- */

static int keyword(struct attn_cursor *c, struct attn_expr *call, struct attn_part name) {
  struct attn_expr *value;
  int result = expression(c, &value);
  if (result != ATTN_YES) return result;
  struct attn_pool *pool = c->p->scan->pool;
  size_t count = (size_t)call->keywords;
  char *text = attn_pool_text(pool, c->p->code + name.begin, name.end - name.begin);
  if (!text || attn_pool_grow(pool, (void **)&call->keyword, count, sizeof(char *)) ||
      attn_pool_grow(pool, (void **)&call->keyword_value, count, sizeof(struct attn_expr *)))
    return attn_python_no_memory(c->p);
  call->keyword[count] = text;
  call->keyword_value[count] = value;
  call->keywords++;
  return ATTN_YES;
}

static int one_argument(struct attn_cursor *c, struct attn_expr *call) {
  struct attn_cursor before = *c;
  if (c->token.kind == ATTN_PYTHON_WORD) {
    if (attn_advance(c) != ATTN_YES) return ATTN_FAILED;
    if (attn_token_is(c, '=') && !is_doubled(c, '=')) {
      int result = attn_advance(c);
      return result == ATTN_YES ? keyword(c, call, part_of(&before.token)) : result;
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
  c->open++; /* inside brackets lines may go on */
  while (result == ATTN_YES && !attn_token_is(c, ')')) {
    result = one_argument(c, call);
    if (result == ATTN_YES && !attn_token_is(c, ')'))
      result = attn_token_is(c, ',') ? attn_advance(c) : ATTN_NO;
  }
  c->open--;
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
  if (result != ATTN_YES || c->token.kind == ATTN_PYTHON_END)
    return result == ATTN_YES ? ATTN_NO : result;
  struct attn_part name = part_of(&c->token);
  if (c->token.kind != ATTN_PYTHON_WORD) return ATTN_NO;
  if (is_infinity(c)) { /* np.inf */
    result = number(c, INFINITY, name.begin, e);
    return result == ATTN_YES ? attn_advance(c) : result;
  }
  struct attn_expr *object = *e;
  int module = object->kind == ATTN_EXPR_NAME && attn_expr_is_named(object, MODULES);
  result = named(c, module ? ATTN_EXPR_NAME : ATTN_EXPR_CALL, name, e);
  if (result == ATTN_YES) result = attn_advance(c);
  if (result != ATTN_YES || module) return result;
  (*e)->line = object->line;
  (*e)->column = object->column;
  result = add_argument(c, *e, object);
  if (result == ATTN_YES && attn_token_is(c, '(') && !c->token.newline) {
    result = arguments(c, *e);
  } else if (result == ATTN_YES && !attn_expr_is_named(*e, TRANSPOSED)) {
    return ATTN_NO; /* x.shape and the like */
  }
  return result == ATTN_YES ? simplify(c, e, 1) : result;
}

/* ---- Operators ---- */

/* '...' or "...": only float('-inf') has a value. */
static int string(struct attn_cursor *c, struct attn_expr **e) {
  const char *text = c->p->code;
  char quote = c->token.sign;
  size_t begin = c->token.end, close = begin;
  while (close < c->end && text[close] != quote && text[close] != '\n')
    close += text[close] == '\\' ? 2 : 1;
  if (close >= c->end || text[close] != quote) return ATTN_NO;
  c->at = close + 1;
  int minus = close > begin && text[begin] == '-';
  size_t word = begin + (size_t)minus;
  int result = close - word == 3 && memcmp(text + word, "inf", 3) == 0
                   ? number(c, minus ? -INFINITY : INFINITY, begin, e)
                   : named(c, ATTN_EXPR_NAME, (struct attn_part){begin, close}, e);
  return result == ATTN_YES ? attn_advance(c) : result;
}

/* From the first element, which is *e, to the bracket that closes. */
static int tuple(struct attn_cursor *c, struct attn_expr **e, size_t begin, char close) {
  struct attn_expr *all = node(c, ATTN_EXPR_CALL, begin);
  if (!all) return ATTN_FAILED;
  all->text = attn_pool_text(c->p->scan->pool, "tuple", 5);
  if (!all->text) return attn_python_no_memory(c->p);
  int result = add_argument(c, all, *e);
  while (result == ATTN_YES && attn_token_is(c, ',')) {
    result = attn_advance(c);
    if (result != ATTN_YES || attn_token_is(c, close)) break;
    result = expression(c, e);
    if (result == ATTN_YES) result = add_argument(c, all, *e);
  }
  *e = all;
  return result;
}

/* (a) is a; (a, b) and [a] are tuples. */
static int in_brackets(struct attn_cursor *c, struct attn_expr **e, char close) {
  size_t begin = c->token.begin;
  int result = attn_advance(c);
  c->open++;
  if (result == ATTN_YES) result = expression(c, e);
  if (result == ATTN_YES && (close == ']' || attn_token_is(c, ',')))
    result = tuple(c, e, begin, close);
  c->open--;
  if (result != ATTN_YES) return result;
  return attn_token_is(c, close) ? attn_advance(c) : ATTN_NO;
}

/* Numbers in brackets, or other expressions. */
static int array(struct attn_cursor *c, struct attn_expr **e) {
  attn_printing table;
  size_t end, begin = c->token.begin;
  if (!attn_read_array(c->p->arrays, begin, 1, &table, &end)) {
    c->p->status = attn_value_status(c->p->arrays);
    return c->p->status ? ATTN_FAILED : in_brackets(c, e, ']');
  }
  c->p->status = attn_scan_check_finite(c->p->scan, &table);
  *e = node(c, ATTN_EXPR_ARRAY, begin);
  if (!*e || c->p->status) return ATTN_FAILED;
  (*e)->table = table;
  c->at = c->token.end = end;
  return attn_advance(c);
}

static int atom(struct attn_cursor *c, struct attn_expr **e) {
  size_t begin = c->token.begin;
  int result = ATTN_NO;
  if (c->token.kind == ATTN_PYTHON_NUMBER)
    result = number(c, c->token.number, begin, e);
  else if (c->token.kind == ATTN_PYTHON_WORD && is_infinity(c))
    result = number(c, INFINITY, begin, e);
  else if (c->token.kind == ATTN_PYTHON_WORD)
    result = named(c, ATTN_EXPR_NAME, part_of(&c->token), e);
  if (result != ATTN_NO) return result == ATTN_YES ? attn_advance(c) : result;
  if (attn_token_is(c, '(')) return in_brackets(c, e, ')');
  if (attn_token_is(c, '[')) return array(c, e);
  if (attn_token_is(c, '"') || attn_token_is(c, '\'')) return string(c, e);
  return ATTN_NO;
}

/* A new line ends the expression unless a bracket is open. */
static int goes_on(const struct attn_cursor *c) { return !c->token.newline || c->open > 0; }

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
  e->text = attn_pool_text(c->p->scan->pool, operation, strlen(operation));
  if (!e->text) return attn_python_no_memory(c->p);
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
  if (result == ATTN_YES && goes_on(c) && attn_token_is(c, '*') && is_doubled(c, '*')) {
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
    char sign;
    const char *text;
    int binds;
  } TABLE[] = {{'+', "+", 2}, {'-', "-", 2}, {'*', "*", 3}, {'/', "/", 3}, {'@', "@", 3}};
  if (!goes_on(c)) return 0;
  if (attn_token_is(c, '=') && is_doubled(c, '=')) {
    *text = "==";
    return 1;
  }
  for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
    if (attn_token_is(c, TABLE[i].sign)) return *text = TABLE[i].text, TABLE[i].binds;
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
    return attn_python_fail(c->p, c->token.begin, "nested deeper than %d levels", ATTN_NESTING_MAX);
  c->depth++;
  int result = operators(c, 0, e);
  c->depth--;
  return result;
}

int attn_python_expression(struct attn_cursor *c, struct attn_expr **e) {
  size_t begin = c->token.begin;
  int result = expression(c, e);
  return result == ATTN_YES && attn_token_is(c, ',') ? tuple(c, e, begin, 0) : result;
}
