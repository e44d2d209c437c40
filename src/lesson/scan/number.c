/* number.c -- one cell: a literal, infinity, a blank, or an expression that is worked out. */
#include <math.h>
#include <string.h>

#include "ascii.h"
#include "cell.h"
#include "scan.h"
#include "text.h"

enum { CELL_BYTES_MAX = 600, EXPONENT_MAX = 100000 };

struct slice {
  const char *text;
  size_t bytes;
};

static char last_of(struct slice s) { return s.bytes ? s.text[s.bytes - 1] : 0; }

static struct slice trim(struct slice s) {
  while (s.bytes && attn_is_space((unsigned char)*s.text)) s.text++, s.bytes--;
  while (s.bytes && attn_is_space((unsigned char)last_of(s))) s.bytes--;
  return s;
}

/* Blanks and asterisks around (**0.5**). */
static struct slice strip(struct slice s) {
  s = trim(s);
  while (s.bytes && *s.text == '*') s.text++, s.bytes--;
  while (s.bytes && last_of(s) == '*') s.bytes--;
  return trim(s);
}

static int is_point_or_comma(char c) { return c == '.' || c == ','; }

/* The end of a sentence, but not the point of "3.". */
static struct slice strip_end(struct slice s) {
  if (s.bytes < 2 || !is_point_or_comma(last_of(s))) return s;
  size_t digits = 0, sign = *s.text == '-';
  while (sign + digits < s.bytes && attn_is_digit(s.text[sign + digits])) digits++;
  if (last_of(s) == '.' && digits && sign + digits + 1 == s.bytes) return s;
  while (s.bytes && is_point_or_comma(last_of(s))) s.bytes--;
  return s;
}

static int equals(struct slice s, const char *word) {
  return strlen(word) == s.bytes && memcmp(s.text, word, s.bytes) == 0;
}

static int is_no_value(struct slice s) {
  static const char *const blanks[] = {
      "-", "--", ".", "\u00D7", "x", "\u00B7\u00B7", "masked", "NA", "N/A",
  };
  if (s.bytes == 0) return 1;
  for (size_t n = 0; n < sizeof blanks / sizeof *blanks; n++)
    if (equals(s, blanks[n])) return 1;
  return 0;
}

static int is_nan(struct slice s) {
  if (s.bytes && (*s.text == '-' || *s.text == '+')) s.text++, s.bytes--;
  return s.bytes == 3 && (s.text[0] | 32) == 'n' && (s.text[1] | 32) == 'a' &&
         (s.text[2] | 32) == 'n';
}

/* Cells without arithmetic: a blank, an infinity, NaN. */
static int special(struct slice s, attn_cell *cell) {
  if (equals(s, "\u2026") || equals(s, "?")) return *cell = attn_cell_open(), 1;
  if (is_no_value(s)) return *cell = attn_cell_blank(), 1;
  if (equals(s, "-\u221E")) return *cell = attn_cell_exact(-INFINITY), 1;
  if (equals(s, "\u221E")) return *cell = attn_cell_exact(INFINITY), 1;
  if (!is_nan(s)) return 0;
  *cell = attn_cell_blank();
  cell->kind = ATTN_CELL_NUMBER;
  return 1;
}

/* ---- without blanks, a byte for each sign: r a root, x a cross or a dot, X the letter ---- */

struct signs {
  char text[CELL_BYTES_MAX + 1]; /* 0-terminated */
  size_t count;
};

/* 0: a character that no number has. */
static char sign_at(struct slice s, size_t at, size_t *length) {
  static const char *const known = "0123456789.+-/*()^eE";
  *length = 1;
  if (s.text[at] == 'x') return 'X';
  if (strchr(known, s.text[at])) return s.text[at];
  *length = 2;
  if (s.bytes - at >= 2 &&
      (memcmp(s.text + at, "\u00D7", 2) == 0 || memcmp(s.text + at, "\u00B7", 2) == 0))
    return 'x';
  *length = 3;
  return s.bytes - at >= 3 && memcmp(s.text + at, "\u221A", 3) == 0 ? 'r' : 0;
}

static int is_part_of_number(char c) { return attn_is_digit(c) || c == '.'; }

/* 0: words, or two numbers next to each other. */
static int read_signs(struct slice s, struct signs *out) {
  int blank = 0, apart = 0, product = 0, depth = 0;
  size_t length;
  out->count = 0;
  for (size_t at = 0; at < s.bytes; at += length) {
    length = 1;
    if (attn_is_space((unsigned char)s.text[at])) {
      blank = 1;
      continue;
    }
    char sign = sign_at(s, at, &length);
    if (!sign || out->count == CELL_BYTES_MAX) return 0;
    product |= sign == 'x' || sign == '*';
    depth += (sign == '(') - (sign == ')');
    int is_operator = depth > 0 && at + 1 < s.bytes && attn_is_space((unsigned char)s.text[at + 1]);
    if (blank && out->count && is_part_of_number(out->text[out->count - 1]))
      apart |= is_part_of_number(sign) || ((sign == '-' || sign == '+') && !is_operator);
    blank = 0;
    out->text[out->count++] = sign;
  }
  out->text[out->count] = 0;
  return !apart || product;
}

/* ---- literals ---- */

struct literal {
  char digits[CELL_BYTES_MAX];
  size_t count;
  long fraction; /* digits after the point */
  long exponent;
  int negative, scientific, point;
};

static const char *read_mantissa(const char *at, struct literal *l) {
  l->count = 0, l->fraction = 0, l->exponent = 0, l->point = 0, l->scientific = 0;
  for (; attn_is_digit(*at) || (*at == '.' && !l->point); at++) {
    if (*at == '.') {
      l->point = 1;
    } else {
      l->digits[l->count++] = *at;
      l->fraction += l->point;
    }
  }
  return at;
}

/* -12; NULL: no integer. */
static const char *read_integer(const char *at, long *value) {
  int negative = *at == '-';
  if (*at == '-' || *at == '+') at++;
  if (!attn_is_digit(*at)) return NULL;
  for (*value = 0; attn_is_digit(*at); at++)
    if (*value < EXPONENT_MAX) *value = *value * 10 + (*at - '0');
  if (negative) *value = -*value;
  return at;
}

/* e-5, x10^-5, x10^(-5); the place after it, or `at`: none. */
static const char *read_exponent(const char *at, struct literal *l) {
  const char *end;
  if (*at == 'e' || *at == 'E') {
    end = read_integer(at + 1, &l->exponent);
  } else if ((*at == 'x' || *at == 'X') && strncmp(at + 1, "10^", 3) == 0) {
    int bracket = at[4] == '(';
    end = read_integer(at + 4 + bracket, &l->exponent);
    if (end && bracket && *end != ')') end = NULL;
    if (end) end += bracket;
  } else {
    return at;
  }
  l->scientific = end != NULL;
  return end ? end : at;
}

static attn_cell literal_cell(const struct literal *l) {
  long decimals = l->fraction - l->exponent;
  double value = attn_decimal(l->digits, l->count, -decimals);
  if (l->negative) value = -value;
  attn_cell cell = attn_cell_literal(value, (int)decimals, attn_decimal("5", 1, -decimals - 1));
  if (l->scientific) cell.kind = ATTN_CELL_SCIENTIFIC;
  if (!isinf(value)) return cell;
  cell.kind = ATTN_CELL_NUMBER;
  cell.lo = cell.hi = value;
  return cell;
}

static int whole_literal(const char *text, int percent, attn_cell *cell) {
  struct literal l;
  l.negative = *text == '-';
  const char *at = read_mantissa(text + (*text == '-' || *text == '+'), &l);
  if (l.count == 0) return 0;
  at = read_exponent(at, &l);
  if (*at) return 0;
  if (percent) l.exponent -= 2;
  *cell = literal_cell(&l);
  return 1;
}

/* ---- expressions: + - * / ^, brackets, roots ---- */

struct expression {
  const char *at;
  int depth;
  struct literal literal; /* the last one: not on the stack of each level */
};

static int read_sum(struct expression *e, attn_cell *cell);

/* Of an expression: an integer is exact, a decimal is any number that rounds to it. */
static int read_number(struct expression *e, attn_cell *cell) {
  struct literal *l = &e->literal;
  const char *begin = e->at;
  l->negative = 0;
  e->at = read_mantissa(begin, l);
  if (l->count == 0) return 0;
  if (!l->point && *begin == '0' && strspn(begin, "0") < l->count) return 0; /* 01 */
  if (*e->at == 'e' || *e->at == 'E') e->at = read_exponent(e->at, l);
  *cell = literal_cell(l);
  if (isinf(cell->value)) return 0;
  if (cell->decimals <= 0)
    *cell = attn_cell_exact(cell->value);
  else
    cell->kind = ATTN_CELL_NUMBER;
  return 1;
}

static int read_primary(struct expression *e, attn_cell *cell) {
  if (*e->at == 'r') {
    e->at++;
    if (e->depth == ATTN_NESTING_MAX) return 0;
    e->depth++;
    if (!read_primary(e, cell)) return 0;
    e->depth--;
    *cell = attn_cell_function(sqrt, *cell);
    return cell->kind != ATTN_CELL_BLANK;
  }
  if (*e->at != '(') return read_number(e, cell);
  e->at++;
  if (!read_sum(e, cell) || *e->at != ')') return 0;
  e->at++;
  return 1;
}

static int read_factor(struct expression *e, attn_cell *cell);

static int combine(char operation, attn_cell *a, attn_cell b) {
  *a = attn_cell_binary(operation, *a, b);
  return a->kind != ATTN_CELL_BLANK;
}

static int read_power(struct expression *e, attn_cell *cell) {
  attn_cell exponent;
  if (!read_primary(e, cell)) return 0;
  if (*e->at == '^')
    e->at++;
  else if (e->at[0] == '*' && e->at[1] == '*')
    e->at += 2;
  else
    return 1;
  return read_factor(e, &exponent) && combine('^', cell, exponent);
}

static int read_factor(struct expression *e, attn_cell *cell) {
  int negative = 0;
  for (; *e->at == '-' || *e->at == '+'; e->at++) negative ^= *e->at == '-';
  if (e->depth == ATTN_NESTING_MAX) return 0;
  e->depth++;
  if (!read_power(e, cell)) return 0;
  e->depth--;
  if (negative) *cell = attn_cell_negate(*cell);
  return 1;
}

/* 2(3), (2)(3) and 2 root 3: a product without a sign. */
static int is_juxtaposed(const struct expression *e) {
  return (*e->at == '(' || *e->at == 'r') && (attn_is_digit(e->at[-1]) || e->at[-1] == ')');
}

static int read_product(struct expression *e, attn_cell *cell) {
  attn_cell next;
  if (!read_factor(e, cell)) return 0;
  for (;;) {
    char operation = *e->at == '/' ? '/' : '*';
    if (*e->at == '*' || *e->at == 'x' || *e->at == '/')
      e->at++;
    else if (!is_juxtaposed(e))
      return 1;
    if (!read_factor(e, &next) || !combine(operation, cell, next)) return 0;
  }
}

static int read_sum(struct expression *e, attn_cell *cell) {
  attn_cell next;
  if (e->depth == ATTN_NESTING_MAX) return 0;
  e->depth++;
  if (!read_product(e, cell)) return 0;
  while (*e->at == '+' || *e->at == '-') {
    char operation = *e->at++;
    if (!read_product(e, &next) || !combine(operation, cell, next)) return 0;
  }
  e->depth--;
  return 1;
}

static int whole_expression(const char *text, int percent, attn_cell *cell) {
  struct expression e;
  e.at = text;
  e.depth = 0;
  if (!read_sum(&e, cell) || *e.at || !isfinite(cell->value)) return 0;
  if (percent) *cell = attn_cell_percent(*cell);
  if (cell->kind != ATTN_CELL_NUMBER)
    cell->kind = cell->lo == cell->hi ? ATTN_CELL_EXACT : ATTN_CELL_SUM;
  return 1;
}

int attn_scan_number(const char *text, size_t bytes, attn_cell *cell) {
  struct slice s = strip((struct slice){text, bytes});
  struct signs signs;
  int percent = last_of(s) == '%';
  if (percent) s.bytes--, s = trim(s);
  s = strip_end(s);
  if (special(s, cell)) return 1;
  if (s.bytes > 4 * CELL_BYTES_MAX || !read_signs(s, &signs)) return 0;
  return whole_literal(signs.text, percent, cell) || whole_expression(signs.text, percent, cell);
}

int attn_scan_part(const char *text, struct attn_part part, attn_cell *cell) {
  return attn_scan_number(text + part.begin, part.end - part.begin, cell);
}
