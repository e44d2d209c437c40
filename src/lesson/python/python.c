/* python.c -- expressions of Python snippets, evaluated as they are read. */
#include <math.h>

#include "snippet.h"

typedef struct attn_py_value value;

static const char NUMBER[] = "(?:\\d++\\.?+\\d*+|\\.\\d++)(?:[eE][-+]?+\\d++)?+";
static const char WORD[] = "[A-Za-z_\\x{80}-\\x{10FFFF}][\\w\\x{80}-\\x{10FFFF}]*+";
static const char STRING[] = "([\"'])(?:\\\\.|(?!\\1)[^\\\\\\n])*+\\1";
static const char INFINITE_STRING[] = "[\"'](-?)inf[\"']";
static const char KEYWORD[] = "([A-Za-z_]\\w*+)\\s*+=(?!=)";
static const char INFINITIES[] = "inf Inf Infinity";
static const char MODULES[] =
    "np numpy torch F nn functional tf jnp math jax scipy special linalg keras mx backend";

/* ---- tokens ---- */

static int is(const struct attn_python *p, char sign) {
  return p->token.kind == ATTN_PY_SIGN && p->code[p->token.begin] == sign;
}

/* Is the sign followed by itself: "==", "**"? */
static int is_doubled(const struct attn_python *p, char sign) {
  return is(p, sign) && p->at < p->end && p->code[p->at] == sign;
}

static void skip_blanks(struct attn_python *p) {
  for (; p->at < p->end; p->at++) {
    const char *text = p->code + p->at;
    int joined = *text == '\\' && p->at + 1 < p->end && text[1] == '\n';
    p->at += (size_t)joined;
    p->token.newline |= *text == '\n';
    if (!joined && !attn_is_blank(*text)) return;
  }
}

static int read_number(struct attn_python *p, size_t end) {
  attn_cell cell;
  p->token.kind = ATTN_PY_NUMBER;
  if (!attn_scan_number(p->code + p->at, end - p->at, &cell)) return 0;
  p->token.number = cell.value;
  return isinf(cell.value) ? attn_py_fail(p, p->at, "a number that is too large for a double") : 1;
}

static int advance(struct attn_python *p) {
  struct attn_py_token *t = &p->token;
  struct attn_match m;
  int ok = 1;
  p->previous = t->end;
  *t = (struct attn_py_token){.kind = ATTN_PY_END};
  skip_blanks(p);
  t->begin = t->end = p->at;
  if (p->at >= p->end) return 1;
  if (attn_py_matches(p, NUMBER, p->at, &m)) {
    ok = read_number(p, t->end = m.group[0].end);
  } else if (attn_py_matches(p, WORD, p->at, &m)) {
    t->kind = ATTN_PY_WORD;
    t->end = m.group[0].end;
  } else {
    t->kind = ATTN_PY_SIGN;
    t->end++;
  }
  p->at = t->end;
  return ok;
}

/* What is up to `end` is read. */
static int advance_from(struct attn_python *p, size_t end) {
  p->at = p->token.end = end;
  return advance(p);
}

/* A new line ends the expression unless a bracket is open. */
static int goes_on(const struct attn_python *p) { return !p->token.newline || p->open > 0; }

/* ---- calls ---- */

static int expression(struct attn_python *p, value *v);

static int add_value(struct attn_python *p, value **list, int *count, value v) {
  if (attn_pool_grow(p->scan->pool, (void **)list, (size_t)*count, sizeof v))
    return attn_py_no_memory(p);
  (*list)[(*count)++] = v;
  return 1;
}

static int add_keyword(struct attn_python *p, struct attn_py_call *call, struct attn_part name) {
  struct attn_py_keyword k = {.name = name};
  if (!expression(p, &k.value)) return 0;
  if (attn_pool_grow(p->scan->pool, (void **)&call->keyword, (size_t)call->keywords, sizeof k))
    return attn_py_no_memory(p);
  call->keyword[call->keywords++] = k;
  return 1;
}

static int one_argument(struct attn_python *p, struct attn_py_call *call) {
  struct attn_match m;
  value v;
  if (p->token.kind == ATTN_PY_WORD && attn_py_matches(p, KEYWORD, p->token.begin, &m))
    return advance_from(p, m.group[0].end) && add_keyword(p, call, m.group[1]);
  return expression(p, &v) && add_value(p, &call->argument, &call->arguments, v);
}

/* From ( to ). */
static int arguments(struct attn_python *p, struct attn_py_call *call) {
  int ok = advance(p);
  p->open++; /* inside brackets lines may go on */
  while (ok && !is(p, ')'))
    ok = one_argument(p, call) && (is(p, ')') || (is(p, ',') && advance(p)));
  p->open--;
  return ok && advance(p);
}

static value resolved(struct attn_python *p, value v) {
  return v.name.end ? attn_py_lookup(p, v.name) : v;
}

static int call_function(struct attn_python *p, value *v) {
  struct attn_py_call call = {.name = v->name};
  if (!v->name.end || !arguments(p, &call)) return 0;
  *v = attn_py_call(p, &call);
  return 1;
}

/* np.inf, np.f, x.f(..), x.T */
static int attribute(struct attn_python *p, value *v) {
  if (!advance(p) || p->token.kind != ATTN_PY_WORD) return 0;
  struct attn_py_call call = {.name = {p->token.begin, p->token.end}, .is_method = 1};
  if (!advance(p)) return 0;
  if (attn_py_is(p, call.name, INFINITIES)) return *v = attn_py_scalar(INFINITY), 1;
  if (attn_py_is(p, v->name, MODULES)) return *v = (value){.name = call.name}, 1;
  if (!add_value(p, &call.argument, &call.arguments, resolved(p, *v))) return 0;
  int is_call = is(p, '(') && !p->token.newline;
  if (is_call ? !arguments(p, &call) : !attn_py_is(p, call.name, "T mT")) return 0;
  *v = attn_py_call(p, &call);
  return 1;
}

/* ---- operators ---- */

/* From the first item, which is *v; a comma may be after the last. */
static int tuple(struct attn_python *p, value *v, char close) {
  value all = {.kind = ATTN_PY_TUPLE};
  int ok = add_value(p, &all.item, &all.items, *v);
  while (ok && is(p, ',')) {
    if (!advance(p)) return 0;
    if (is(p, close)) break;
    ok = expression(p, v) && add_value(p, &all.item, &all.items, *v);
  }
  *v = all;
  return ok;
}

/* (a) is a; (a, b) and [a] are tuples. */
static int in_brackets(struct attn_python *p, value *v, char close) {
  int ok = advance(p);
  p->open++;
  ok = ok && expression(p, v) && ((close == ')' && !is(p, ',')) || tuple(p, v, close));
  p->open--;
  return ok && is(p, close) && advance(p);
}

/* Numbers in brackets, or other expressions. */
static int array(struct attn_python *p, value *v) {
  attn_printing table;
  size_t end;
  if (!attn_read_array(p->arrays, p->token.begin, 1, &table, &end)) {
    p->status = attn_value_status(p->arrays);
    return !p->status && in_brackets(p, v, ']');
  }
  p->status = attn_scan_check_finite(p->scan, &table);
  *v = attn_py_given(p, &table);
  return !p->status && advance_from(p, end);
}

/* Only float('-inf') has a value. */
static int string(struct attn_python *p, value *v) {
  struct attn_match m, infinite;
  if (!attn_py_matches(p, STRING, p->token.begin, &m)) return 0;
  *v = (value){.kind = ATTN_PY_UNKNOWN};
  if (attn_py_matches(p, INFINITE_STRING, p->token.begin, &infinite))
    *v = attn_py_scalar(infinite.group[1].end > infinite.group[1].begin ? -INFINITY : INFINITY);
  return advance_from(p, m.group[0].end);
}

static value named(const struct attn_python *p, struct attn_part name) {
  if (attn_py_is(p, name, INFINITIES)) return attn_py_scalar(INFINITY);
  if (attn_py_is(p, name, "True False")) return attn_py_scalar(p->code[name.begin] == 'T');
  return (value){.name = name};
}

static int atom(struct attn_python *p, value *v) {
  const struct attn_py_token *t = &p->token;
  if (is(p, '(')) return in_brackets(p, v, ')');
  if (is(p, '[')) return array(p, v);
  if (is(p, '"') || is(p, '\'')) return string(p, v);
  if (t->kind != ATTN_PY_NUMBER && t->kind != ATTN_PY_WORD) return 0;
  *v = t->kind == ATTN_PY_NUMBER ? attn_py_scalar(t->number)
                                 : named(p, (struct attn_part){t->begin, t->end});
  return advance(p);
}

static int postfix(struct attn_python *p, value *v) {
  int ok = atom(p, v);
  while (ok && goes_on(p) && (is(p, '.') || is(p, '(')))
    ok = is(p, '.') ? attribute(p, v) : call_function(p, v);
  if (!ok || (goes_on(p) && is(p, '['))) return 0; /* a part of an array is not followed */
  *v = resolved(p, *v);
  return 1;
}

static int unary(struct attn_python *p, value *v) {
  int minus = 0;
  value power;
  while (is(p, '-') || is(p, '+')) {
    minus ^= is(p, '-');
    if (!advance(p)) return 0;
  }
  if (!postfix(p, v)) return 0;
  if (goes_on(p) && is_doubled(p, '*')) {
    p->at++;
    if (!advance(p) || !postfix(p, &power)) return 0;
    *v = attn_py_binary(p, '^', *v, power);
  }
  if (minus)
    *v = v->kind == ATTN_PY_SCALAR ? attn_py_scalar(-v->scalar) : (value){.kind = ATTN_PY_UNKNOWN};
  return 1;
}

/* How tightly the operator at the token binds; 0: none. */
static int binding(const struct attn_python *p) {
  if (!goes_on(p) || p->token.kind != ATTN_PY_SIGN) return 0;
  if (is(p, '=')) return is_doubled(p, '=');
  return is(p, '+') || is(p, '-') ? 2 : 3 * (is(p, '*') || is(p, '/') || is(p, '@'));
}

static int operators(struct attn_python *p, int tighter, value *v) {
  value right;
  int ok = unary(p, v), binds;
  while (ok && (binds = binding(p)) > tighter) {
    char operation = p->code[p->token.begin];
    p->at += operation == '=';
    ok = advance(p) && operators(p, binds, &right);
    if (ok) *v = attn_py_binary(p, operation, *v, right);
  }
  return ok;
}

static int expression(struct attn_python *p, value *v) {
  if (p->depth >= ATTN_NESTING_MAX)
    return attn_py_fail(p, p->token.begin, "nested deeper than %d levels", ATTN_NESTING_MAX);
  p->depth++;
  int ok = operators(p, 0, v);
  p->depth--;
  return ok;
}

int attn_py_expression(struct attn_python *p, size_t begin, size_t end, value *v) {
  p->at = begin;
  p->end = end;
  p->open = p->depth = 0;
  return advance(p) && expression(p, v) && (!is(p, ',') || tuple(p, v, 0));
}
