/* python_token.c -- words, numbers and signs of Python. */
#include <math.h>

#include "snippet.h"

struct attn_cursor attn_cursor_at(struct attn_python *p, size_t begin, size_t end) {
  return (struct attn_cursor){.p = p, .at = begin, .end = end};
}

int attn_token_is(const struct attn_cursor *c, char sign) {
  return c->token.kind == ATTN_PYTHON_SIGN && c->token.sign == sign;
}

static int is_word(char c) {
  return ((c | 32) >= 'a' && (c | 32) <= 'z') || attn_is_digit(c) || c == '_' || (c & 0x80);
}

static size_t skip_digits(const struct attn_cursor *c, size_t at) {
  while (at < c->end && attn_is_digit(c->p->code[at])) at++;
  return at;
}

/* The end of the number at `at`, or `at`. */
static size_t number_end(const struct attn_cursor *c, size_t at) {
  const char *text = c->p->code;
  size_t end = skip_digits(c, at), digits = end - at;
  if (end < c->end && text[end] == '.') {
    size_t after = skip_digits(c, end + 1);
    digits += after - end - 1;
    if (digits) end = after;
  }
  if (!digits || end >= c->end || (text[end] | 32) != 'e') return digits ? end : at;
  size_t exponent = end + 1;
  if (exponent < c->end && (text[exponent] == '-' || text[exponent] == '+')) exponent++;
  size_t after = skip_digits(c, exponent);
  return after > exponent ? after : end;
}

static void skip_blanks(struct attn_cursor *c) {
  const char *text = c->p->code;
  for (; c->at < c->end; c->at++) {
    int joined = text[c->at] == '\\' && c->at + 1 < c->end && text[c->at + 1] == '\n';
    if (joined) c->at++;
    if (text[c->at] == '\n' && !joined) c->token.newline = 1;
    if (text[c->at] != ' ' && (text[c->at] < '\t' || text[c->at] > '\r')) return;
  }
}

static int read_number(struct attn_cursor *c, size_t end) {
  attn_cell cell;
  if (!attn_scan_number(c->p->scan, c->p->code + c->at, end - c->at, &cell)) return ATTN_NO;
  if (isinf(cell.value))
    return attn_python_fail(c->p, c->at, "a number that is too large for a double");
  c->token.kind = ATTN_PYTHON_NUMBER;
  c->token.number = cell.value;
  c->at = end;
  return ATTN_YES;
}

int attn_advance(struct attn_cursor *c) {
  struct attn_python_token *t = &c->token;
  int result = ATTN_YES;
  c->previous = t->end;
  *t = (struct attn_python_token){.kind = ATTN_PYTHON_END};
  skip_blanks(c);
  t->begin = t->end = c->at;
  if (c->at >= c->end) return ATTN_YES;
  size_t number = number_end(c, c->at);
  if (number > c->at) {
    result = read_number(c, number);
  } else if (is_word(c->p->code[c->at])) {
    t->kind = ATTN_PYTHON_WORD;
    while (c->at < c->end && is_word(c->p->code[c->at])) c->at++;
  } else {
    t->kind = ATTN_PYTHON_SIGN;
    t->sign = c->p->code[c->at++];
  }
  t->end = c->at;
  return result;
}
