/* bracket.c -- [1, 0], [[1, 0], [0, 1]], [1 0; 0 1], (1, 0): lists of numbers and of lists. */
#include <string.h>

#include "reader.h"

enum { DIMENSIONS_MAX = 6 };

struct list {
  struct attn_builder cells;  /* its rows are not used: the shape is */
  long shape[DIMENSIONS_MAX]; /* outermost first; 0: not known yet */
  int levels;
};

static uint32_t closing(uint32_t open) { return open == '(' ? ')' : ']'; }

static int closes(const struct attn_cursor *c) {
  return attn_token_is(c, ')') || attn_token_is(c, ']') || attn_token_is(c, '}');
}

static int ends_element(const struct attn_cursor *c) {
  return attn_token_is(c, ',') || attn_token_is(c, ';') || closes(c) ||
         c->token.kind == ATTN_TOKEN_END;
}

static int check_length(struct list *l, int level, long length, size_t begin) {
  if (l->shape[level] == 0) l->shape[level] = length;
  if (l->shape[level] == length) return ATTN_YES;
  if (l->cells.lenient || l->cells.words + l->cells.symbols > l->cells.numbers) return ATTN_NO;
  return attn_reader_fail(l->cells.r, begin,
                          "this row has %ld numbers, but the rows before it have %ld: all rows of "
                          "a matrix need the same count",
                          length, l->shape[level]);
}

static int odd_element(struct attn_cursor *c, struct list *l, size_t begin) {
  int result = ATTN_YES;
  while (result == ATTN_YES && !ends_element(c)) {
    int opens = attn_token_is(c, '(') || attn_token_is(c, '[') || attn_token_is(c, '{');
    result = opens ? attn_skip_group(c) : attn_advance(c);
  }
  return result == ATTN_YES ? attn_build_odd(&l->cells, begin, c->token.begin) : result;
}

/* A number, or what should be one. */
static int element(struct attn_cursor *c, struct list *l, int level) {
  struct attn_cursor before = *c;
  struct attn_expression_value value;
  c->element = 1;
  int result = attn_expression(c, &value);
  c->element = before.element;
  if (result == ATTN_FAILED) return result;
  int next_follows = result == ATTN_YES && c->token.space; /* without commas */
  if (result == ATTN_YES && (ends_element(c) || next_follows)) {
    if (!value.table) return attn_build_value(&l->cells, &value);
    if (value.table->rows == 1 && level + 1 < DIMENSIONS_MAX) { /* 0.5 [1, 0]: a row */
      if (l->levels < level + 2) l->levels = level + 2;
      result = attn_build_value(&l->cells, &value);
      return result == ATTN_YES ? check_length(l, level + 1, value.table->cols, value.begin)
                                : result;
    }
  }
  *c = before;
  return odd_element(c, l, before.token.begin);
}

static int list(struct attn_cursor *c, struct list *l, int level);

/* [..] inside a list: a row of it. */
static int row(struct attn_cursor *c, struct list *l, int level) {
  if (level + 1 < DIMENSIONS_MAX) return list(c, l, level + 1);
  return attn_reader_fail(c->r, c->token.begin, "lists nested deeper than %d levels",
                          DIMENSIONS_MAX);
}

/* `1 0; 0 1`: the rows of a list whose elements are numbers. */
static int semicolon(struct list *l, int level, long *rows, long *length, size_t begin) {
  if (level + 1 >= DIMENSIONS_MAX || *length == 0) return ATTN_NO;
  int result = check_length(l, level + 1, *length, begin);
  ++*rows;
  *length = 0;
  if (l->levels < level + 2) l->levels = level + 2;
  return result;
}

static int unterminated(struct attn_cursor *c, size_t begin) {
  return attn_reader_fail(c->r, begin,
                          "the bracket is never closed: write %s after the last number",
                          c->r->source.text[begin] == '(' ? ")" : "]");
}

static int list(struct attn_cursor *c, struct list *l, int level) {
  size_t begin = c->token.begin, row_begin = begin;
  uint32_t open = c->token.symbol, close = closing(open);
  long length = 0, rows = 0;
  if (l->levels < level + 1) l->levels = level + 1;
  int result = attn_advance(c);
  while (result == ATTN_YES && !attn_token_is(c, close)) {
    if (c->token.kind == ATTN_TOKEN_END)
      return l->cells.numbers && !c->lenient ? unterminated(c, begin)
                                             : attn_charge(c->r, begin, c->end);
    if (closes(c)) return ATTN_NO; /* [0, 1): an interval */
    if (attn_token_is(c, ';')) {
      result = semicolon(l, level, &rows, &length, row_begin);
      if (result == ATTN_YES) result = attn_advance(c);
      row_begin = c->token.begin;
      continue;
    }
    int nested = attn_token_is(c, open) && (open == '[' || level == 0);
    result = nested ? row(c, l, level) : element(c, l, level);
    length++;
    if (result == ATTN_YES && attn_token_is(c, ',')) result = attn_advance(c);
  }
  if (result == ATTN_YES && rows) {
    result = length ? semicolon(l, level, &rows, &length, row_begin) : ATTN_YES;
    length = rows;
  }
  if (result == ATTN_YES && length == 0) return ATTN_NO;
  if (result == ATTN_YES) result = check_length(l, level, length, begin);
  return result == ATTN_YES ? attn_advance(c) : result;
}

/* Leading dimensions of 1 are batches that hold nothing else. */
static int shape_of(const struct list *l, int *rows, int *cols) {
  int first = 0;
  size_t product = 1;
  while (l->levels - first > 2 && l->shape[first] == 1) first++;
  if (l->levels - first > 2) return 0;
  *cols = (int)l->shape[l->levels - 1];
  *rows = l->levels - first == 2 ? (int)l->shape[first] : 1;
  for (int i = 0; i < l->levels; i++) product *= (size_t)l->shape[i];
  return product == l->cells.count; /* numbers beside lists make it uneven */
}

int attn_bracket(struct attn_cursor *c, attn_printing **table) {
  size_t begin = c->token.begin;
  struct list l = {.cells = {.r = c->r, .begin = begin, .row_begin = begin, .lenient = c->lenient}};
  int round = attn_token_is(c, '('), element_before = c->element, rows, cols;
  c->element = 0;
  int result = list(c, &l, 0);
  c->element = element_before;
  if (result != ATTN_YES) return result;
  if (!shape_of(&l, &rows, &cols) || (round && l.cells.count < 2)) return ATTN_NO;
  l.cells.row_start = l.cells.count; /* the shape is checked already */
  l.cells.rows = rows;
  l.cells.cols = cols;
  result = attn_build_end(&l.cells, table);
  if (result != ATTN_YES) return result;
  struct attn_source_position place = attn_source_place(&c->r->source, begin);
  (*table)->line = place.line;
  (*table)->column = place.column;
  return ATTN_YES;
}
