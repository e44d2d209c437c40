/* value.c -- worked-out cells: sums, products, fractions, roots, powers; vectors times numbers. */
#include <math.h>
#include <string.h>

#include "reader.h"

static int number_value(struct attn_expression_value *value, attn_cell cell, size_t begin) {
  *value = (struct attn_expression_value){.one = cell, .begin = begin};
  return ATTN_YES;
}

static attn_printing *new_table(struct attn_reader *r, const attn_printing *like, int rows,
                                int cols) {
  attn_printing *t = attn_pool_take(r->pool, sizeof *t);
  attn_cell *cells = attn_pool_take(r->pool, (size_t)rows * (size_t)cols * sizeof *cells);
  if (!t || !cells) return NULL;
  *t = *like;
  t->rows = rows;
  t->cols = cols;
  t->cells = cells;
  return t;
}

static attn_cell placed(attn_cell cell, const attn_cell *where) {
  cell.line = where->line;
  cell.column = where->column;
  return cell;
}

/* a operation b, element by element; a number goes with every element. */
static int combine(struct attn_reader *r, char operation, struct attn_expression_value *a,
                   const struct attn_expression_value *b) {
  if (!a->table && !b->table) {
    a->one = attn_cell_binary(operation, a->one, b->one);
    return ATTN_YES;
  }
  const attn_printing *shape = a->table ? a->table : b->table;
  if (a->table && b->table &&
      (a->table->rows != b->table->rows || a->table->cols != b->table->cols))
    return ATTN_NO;
  attn_printing *t = new_table(r, shape, shape->rows, shape->cols);
  if (!t) return attn_reader_no_memory(r);
  for (int i = 0; i < t->rows * t->cols; i++) {
    attn_cell x = a->table ? a->table->cells[i] : a->one;
    attn_cell y = b->table ? b->table->cells[i] : b->one;
    t->cells[i] = placed(attn_cell_binary(operation, x, y), &shape->cells[i]);
  }
  a->table = t;
  return ATTN_YES;
}

static int negate(struct attn_reader *r, struct attn_expression_value *v) {
  if (!v->table) {
    v->one = attn_cell_negate(v->one);
    return ATTN_YES;
  }
  attn_printing *t = new_table(r, v->table, v->table->rows, v->table->cols);
  if (!t) return attn_reader_no_memory(r);
  for (int i = 0; i < t->rows * t->cols; i++) t->cells[i] = attn_cell_negate(v->table->cells[i]);
  v->table = t;
  return ATTN_YES;
}

static int transpose(struct attn_reader *r, struct attn_expression_value *v) {
  attn_printing *t = new_table(r, v->table, v->table->cols, v->table->rows);
  if (!t) return attn_reader_no_memory(r);
  for (int i = 0; i < t->rows; i++)
    for (int j = 0; j < t->cols; j++) t->cells[i * t->cols + j] = v->table->cells[j * t->rows + i];
  v->table = t;
  return ATTN_YES;
}

/* An expression between the current token, an opening one, and close. */
static int enclosed(struct attn_cursor *c, uint32_t close, struct attn_expression_value *value) {
  int element = c->element, result = attn_advance(c);
  if (result != ATTN_YES) return result;
  c->element = 0;
  result = attn_expression(c, value);
  c->element = element;
  if (result != ATTN_YES) return result;
  return attn_token_is(c, close) ? attn_advance(c) : ATTN_NO;
}

/* The argument of \frac or \sqrt: {..}, or a single token as in \frac12. */
static int argument(struct attn_cursor *c, struct attn_expression_value *value) {
  if (attn_token_is(c, '{')) return enclosed(c, '}', value);
  if (c->token.kind == ATTN_TOKEN_NUMBER) {
    number_value(value, c->token.number, c->token.begin);
    return attn_advance(c);
  }
  return ATTN_NO;
}

/* \frac12: without braces one digit is the whole argument. */
static int fraction_part(struct attn_cursor *c, struct attn_expression_value *value) {
  const char *digit = c->r->source.text + c->token.begin;
  if (c->token.kind != ATTN_TOKEN_NUMBER || *digit < '0' || *digit > '9') return argument(c, value);
  number_value(value, attn_cell_exact(*digit - '0'), c->token.begin);
  c->at = c->token.begin + 1;
  return attn_advance(c);
}

static int fraction(struct attn_cursor *c, struct attn_expression_value *value) {
  struct attn_expression_value below;
  int result = attn_advance(c);
  if (result == ATTN_YES) result = fraction_part(c, value);
  if (result == ATTN_YES) result = fraction_part(c, &below);
  if (result != ATTN_YES) return result;
  return below.table ? ATTN_NO : combine(c->r, '/', value, &below);
}

/* \sqrt{2}, \sqrt[3]{8}, √2, √(2) */
static int root(struct attn_cursor *c, struct attn_expression_value *value) {
  struct attn_expression_value degree = {.one = attn_cell_exact(2)};
  int result = attn_advance(c);
  if (result == ATTN_YES && attn_token_is(c, '[')) result = enclosed(c, ']', &degree);
  if (result != ATTN_YES) return result;
  result = attn_token_is(c, '(') ? enclosed(c, ')', value) : argument(c, value);
  if (result != ATTN_YES) return result;
  if (value->table || degree.table) return ATTN_NO;
  if (degree.one.value == 2) {
    value->one = attn_cell_function(sqrt, value->one);
    return ATTN_YES;
  }
  struct attn_expression_value power = {.one =
                                            attn_cell_binary('/', attn_cell_exact(1), degree.one)};
  return combine(c->r, '^', value, &power);
}

/* What stands behind ^: {..}, -1, 2. */
static int exponent(struct attn_cursor *c, struct attn_expression_value *value) {
  if (c->token.kind != ATTN_TOKEN_SYMBOL || c->token.symbol != '-') return argument(c, value);
  int result = attn_advance(c);
  if (result == ATTN_YES) result = argument(c, value);
  return result == ATTN_YES ? negate(c->r, value) : result;
}

static int power_of_e(struct attn_cursor *c, struct attn_expression_value *value) {
  int result = attn_advance(c);
  if (result != ATTN_YES) return result;
  if (c->token.kind == ATTN_TOKEN_POWER) {
    number_value(value, c->token.number, c->token.begin);
    result = attn_advance(c);
  } else {
    if (!attn_token_is(c, '^')) return ATTN_NO;
    result = attn_advance(c);
    if (result == ATTN_YES)
      result = attn_token_is(c, '(') ? enclosed(c, ')', value) : exponent(c, value);
  }
  if (result != ATTN_YES) return result;
  if (value->table) return ATTN_NO;
  value->one = attn_cell_function(exp, value->one);
  return ATTN_YES;
}

struct function {
  const char *name;
  double (*apply)(double);
  int monotone;
};

static const struct function FUNCTIONS[] = {
    {"exp", exp, 1}, {"sqrt", sqrt, 1}, {"tanh", tanh, 1}, {"ln", log, 1},
    {"log", log, 1}, {"sin", sin, 0},   {"cos", cos, 0},
};

/* |sin' | and |cos'| are at most 1: the interval is no wider than the argument's. */
static attn_cell wave(double (*apply)(double), attn_cell a) {
  attn_cell r = attn_cell_function(apply, a);
  if (r.kind == ATTN_CELL_BLANK || a.kind != ATTN_CELL_NUMBER || a.decimals == 0) {
    r.lo = r.hi = r.value;
    return r;
  }
  double half = (a.hi - a.lo) / 2;
  r.lo = r.value - half;
  r.hi = r.value + half;
  return r;
}

static int call(struct attn_cursor *c, const struct function *f,
                struct attn_expression_value *value) {
  int result = attn_advance(c);
  if (result != ATTN_YES) return result;
  if (attn_token_is(c, '('))
    result = enclosed(c, ')', value);
  else
    result = argument(c, value);
  if (result != ATTN_YES) return result;
  if (value->table) return ATTN_NO;
  value->one = f->monotone ? attn_cell_function(f->apply, value->one) : wave(f->apply, value->one);
  return ATTN_YES;
}

static int word_value(struct attn_cursor *c, struct attn_expression_value *value) {
  if (attn_token_says(c, "e")) return power_of_e(c, value);
  for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
    if (attn_token_says(c, FUNCTIONS[i].name)) return call(c, &FUNCTIONS[i], value);
  return ATTN_NO;
}

/* ( expression ), or a vector (1, 0). */
static int parenthesis(struct attn_cursor *c, struct attn_expression_value *value) {
  struct attn_cursor before = *c;
  int result = enclosed(c, ')', value);
  /* Deep in a formula it is no vector, and to try both readings there would take 2^depth steps. */
  if (result != ATTN_NO || before.element || before.depth > 3) return result;
  *c = before;
  return attn_bracket(c, &value->table);
}

static int blank_value(struct attn_cursor *c, struct attn_expression_value *value) {
  number_value(value, attn_cell_blank(), c->token.begin);
  return attn_advance(c);
}

static int symbol_value(struct attn_cursor *c, struct attn_expression_value *value) {
  switch (c->token.symbol) {
    case '?':
      return blank_value(c, value);
    case '{':
      return enclosed(c, '}', value);
    case '(':
      return parenthesis(c, value);
    case '[':
      return attn_bracket(c, &value->table);
    default:
      return ATTN_NO;
  }
}

static int primary(struct attn_cursor *c, struct attn_expression_value *value) {
  *value = (struct attn_expression_value){.begin = c->token.begin};
  switch (c->token.kind) {
    case ATTN_TOKEN_NUMBER:
      number_value(value, c->token.number, c->token.begin);
      return attn_advance(c);
    case ATTN_TOKEN_INFINITY:
      number_value(value, attn_cell_exact(INFINITY), c->token.begin);
      return attn_advance(c);
    case ATTN_TOKEN_DOTS:
      return blank_value(c, value);
    case ATTN_TOKEN_FRACTION:
      return fraction(c, value);
    case ATTN_TOKEN_ROOT:
      return root(c, value);
    case ATTN_TOKEN_WORD:
      return word_value(c, value);
    case ATTN_TOKEN_BEGIN:
      return attn_latex_matrix(c, &value->table);
    case ATTN_TOKEN_SYMBOL:
      return symbol_value(c, value);
    default:
      return ATTN_NO;
  }
}

static int is_transposition(const struct attn_cursor *c) {
  return c->token.kind == ATTN_TOKEN_WORD || c->token.kind == ATTN_TOKEN_COMMAND
             ? attn_token_says(c, "T") || attn_token_says(c, "top") || attn_token_says(c, "⊤")
             : 0;
}

/* ^T, ^{\top}, ^2 behind what was read. */
static int raised(struct attn_cursor *c, struct attn_expression_value *value) {
  struct attn_expression_value power;
  int result = attn_advance(c);
  if (result != ATTN_YES) return result;
  if (!value->table) {
    result = exponent(c, &power);
    if (result != ATTN_YES) return result;
    return power.table ? ATTN_NO : combine(c->r, '^', value, &power);
  }
  int brace = attn_token_is(c, '{');
  if (brace && attn_advance(c) != ATTN_YES) return ATTN_FAILED;
  if (!is_transposition(c)) return ATTN_NO;
  result = attn_advance(c);
  if (result == ATTN_YES && brace) result = attn_token_is(c, '}') ? attn_advance(c) : ATTN_NO;
  return result == ATTN_YES ? transpose(c->r, value) : result;
}

static int postfix(struct attn_cursor *c, struct attn_expression_value *value) {
  int result = primary(c, value);
  while (result == ATTN_YES) {
    if (attn_token_is(c, '%') && !value->table) {
      value->one = attn_cell_percent(value->one);
      result = attn_advance(c);
    } else if (attn_token_is(c, '^')) {
      result = raised(c, value);
    } else if (c->token.kind == ATTN_TOKEN_POWER && !value->table) {
      struct attn_expression_value power = {.one = c->token.number};
      result = combine(c->r, '^', value, &power);
      if (result == ATTN_YES) result = attn_advance(c);
    } else {
      return ATTN_YES;
    }
  }
  return result;
}

static int factor(struct attn_cursor *c, struct attn_expression_value *value) {
  int minus = 0, result = ATTN_YES;
  size_t begin = c->token.begin;
  while (result == ATTN_YES && (attn_token_is(c, '-') || attn_token_is(c, '+'))) {
    minus ^= attn_token_is(c, '-');
    result = attn_advance(c);
  }
  if (result == ATTN_YES) result = postfix(c, value);
  value->begin = begin;
  return result == ATTN_YES && minus ? negate(c->r, value) : result;
}

/* 2\sqrt{2}, 4e^{0.7}, 0.5 [1, 0]: a factor without a sign between. */
static int is_juxtaposed(const struct attn_cursor *c, const struct attn_expression_value *left) {
  if (left->table || (c->element && c->token.space)) return 0;
  switch (c->token.kind) {
    case ATTN_TOKEN_FRACTION:
    case ATTN_TOKEN_ROOT:
    case ATTN_TOKEN_BEGIN:
      return 1;
    case ATTN_TOKEN_WORD:
      return attn_token_says(c, "e");
    case ATTN_TOKEN_SYMBOL:
      return c->token.symbol == '(' || c->token.symbol == '[';
    default:
      return 0;
  }
}

static int term(struct attn_cursor *c, struct attn_expression_value *value) {
  int result = factor(c, value);
  while (result == ATTN_YES) {
    struct attn_cursor before = *c;
    struct attn_expression_value right;
    char operation = attn_token_is(c, '/') ? '/' : '*';
    if (operation == '/' || attn_token_is(c, '*'))
      result = attn_advance(c);
    else if (!is_juxtaposed(c, value))
      return ATTN_YES;
    if (result == ATTN_YES) result = factor(c, &right);
    if (result != ATTN_YES) return result;
    if (value->table && right.table) { /* a product of matrices: left to the formula */
      *c = before;
      return ATTN_YES;
    }
    if (operation == '/' && right.table) return ATTN_NO;
    result = combine(c->r, operation, value, &right);
  }
  return result;
}

/* In a list `1 -2` are two elements, `1 - 2` is one. */
static int is_next_element(const struct attn_cursor *c) {
  if (!c->element || !c->token.space || c->at >= c->end) return 0;
  size_t next;
  uint32_t g = attn_glyph(c->r->source.text, c->at, c->end, &next);
  return g != ' ' && g != '\t' && g != '\n';
}

int attn_expression(struct attn_cursor *c, struct attn_expression_value *value) {
  *value = (struct attn_expression_value){.begin = c->token.begin};
  if (c->depth >= ATTN_NESTING_MAX)
    return attn_reader_fail(c->r, c->token.begin, "nested deeper than %d levels", ATTN_NESTING_MAX);
  c->depth++;
  int result = term(c, value);
  while (result == ATTN_YES && (attn_token_is(c, '+') || attn_token_is(c, '-')) &&
         !is_next_element(c)) {
    struct attn_expression_value right;
    char operation = attn_token_is(c, '+') ? '+' : '-';
    result = attn_advance(c);
    if (result == ATTN_YES) result = term(c, &right);
    if (result == ATTN_YES) result = combine(c->r, operation, value, &right);
  }
  c->depth--;
  return result;
}

/* Behind the group that the current token opens: brackets, braces, an environment. */
int attn_skip_group(struct attn_cursor *c) {
  int open = 0;
  size_t begin = c->token.begin;
  do {
    if (c->token.kind == ATTN_TOKEN_END) return attn_charge(c->r, begin, c->end);
    int opens = c->token.kind == ATTN_TOKEN_BEGIN || attn_token_is(c, '(') ||
                attn_token_is(c, '[') || attn_token_is(c, '{');
    int closes = c->token.kind == ATTN_TOKEN_FINISH || attn_token_is(c, ')') ||
                 attn_token_is(c, ']') || attn_token_is(c, '}');
    open += opens - closes;
    int result = attn_advance(c);
    if (result != ATTN_YES) return result;
  } while (open > 0);
  return ATTN_YES;
}
