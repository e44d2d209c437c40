/* formula.c -- chains of equalities: E = QK^T = [..] = [..]. */
#include <string.h>

#include "reader.h"

enum { NAMES_MAX = 8 };

/* One chain while it is read. */
struct chain {
  struct attn_reader *r;
  int strict, continues; /* continues: it begins with a relation */
  struct attn_span names[NAMES_MAX];
  int name_count;
  struct attn_span formula; /* the last side of symbols behind the names */
  struct attn_span fallback;
  size_t begin;
  attn_printing **factor; /* all values, side by side */
  enum attn_item_link *link;
  struct attn_span *said; /* the formula before each */
  size_t factors;
  int worked; /* more than one value, or one that was worked out */
};

static int is_layout(const struct attn_cursor *c) {
  int environment = c->token.kind == ATTN_TOKEN_BEGIN || c->token.kind == ATTN_TOKEN_FINISH;
  return attn_token_is(c, '&') || (environment && !attn_is_matrix_environment(c->r, c->token.name));
}

static int skip_layout(struct attn_cursor *c) {
  int result = ATTN_YES;
  while (result == ATTN_YES && is_layout(c)) result = attn_advance(c);
  return result;
}

/* Behind a value: `Q = [..] and K = [..]` are two formulas. */
static int joins_formulas(const struct attn_cursor *c) {
  return c->token.kind == ATTN_TOKEN_WORD &&
         (attn_token_says(c, "and") || attn_token_says(c, "where") || attn_token_says(c, "with"));
}

static int ends_part(const struct attn_cursor *c) {
  return c->token.kind == ATTN_TOKEN_END || c->token.kind == ATTN_TOKEN_ROW ||
         attn_token_is(c, ',') || attn_token_is(c, ';') || attn_token_is(c, 0x3002);
}

static int ends_side(const struct attn_cursor *c) {
  return ends_part(c) || c->token.kind == ATTN_TOKEN_RELATION || is_layout(c);
}

/* A full stop at the very end, or trailing remarks behind a matrix unless strict. */
static int ends_value(struct attn_cursor *c, const attn_printing *table, int strict) {
  if (ends_side(c) || joins_formulas(c)) return 1;
  if (attn_token_is(c, '.')) {
    struct attn_cursor look = *c;
    if (attn_advance(&look) == ATTN_YES && look.token.kind == ATTN_TOKEN_END) return *c = look, 1;
  }
  int operates = c->token.kind == ATTN_TOKEN_SYMBOL && c->token.symbol < 128 &&
                 strchr("+-*/^_[", (int)c->token.symbol) != NULL;
  if (strict || !table || operates) return 0;
  while (!ends_side(c))
    if (attn_advance(c) != ATTN_YES) return 0;
  return 1;
}

/* A side of symbols: to the next relation or comma outside brackets. */
static int symbols(struct attn_cursor *c, struct attn_span *span) {
  span->begin = span->end = c->token.begin;
  int result = ATTN_YES, began = 0, unbalanced = 0;
  while (result == ATTN_YES && (!began || !ends_side(c)) && c->token.kind != ATTN_TOKEN_END) {
    began = 1;
    int opens = attn_token_is(c, '(') || attn_token_is(c, '[') || attn_token_is(c, '{');
    struct attn_cursor before = *c;
    if (c->token.kind == ATTN_TOKEN_BEGIN) {
      attn_printing *unused;
      result = attn_latex_matrix(c, &unused); /* to see that it ends */
      if (result == ATTN_NO) *c = before, result = attn_skip_group(c);
    } else if (opens && !unbalanced) {
      result = attn_skip_group(c);
      if (result == ATTN_NO) *c = before, unbalanced = 1, result = attn_advance(c);
    } else {
      result = attn_advance(c);
    }
    if (result == ATTN_YES) span->end = c->token.begin;
    if (result == ATTN_NO) result = ATTN_YES; /* unbalanced to the end: symbols all the same */
  }
  return result;
}

static attn_printing *single(struct chain *h, const struct attn_expression_value *value) {
  attn_printing *t = attn_pool_take(h->r->pool, sizeof *t);
  attn_cell *cell = attn_pool_take(h->r->pool, sizeof *cell);
  if (!t || !cell) return NULL;
  struct attn_source_position place = attn_source_place(&h->r->source, value->begin);
  *cell = value->one;
  cell->line = place.line;
  cell->column = place.column;
  *t = (attn_printing){
      .rows = 1, .cols = 1, .line = place.line, .column = place.column, .cells = cell};
  return t;
}

static int push(struct chain *h, const struct attn_expression_value *value,
                enum attn_item_link link) {
  struct attn_pool *pool = h->r->pool;
  attn_printing *table = value->table ? value->table : single(h, value);
  if (!table || attn_pool_grow(pool, (void **)&h->factor, h->factors, sizeof *h->factor) ||
      attn_pool_grow(pool, (void **)&h->link, h->factors, sizeof *h->link) ||
      attn_pool_grow(pool, (void **)&h->said, h->factors, sizeof *h->said))
    return attn_reader_no_memory(h->r);
  h->factor[h->factors] = table;
  h->link[h->factors] = link;
  h->said[h->factors++] = h->formula;
  h->formula = (struct attn_span){0, 0};
  h->worked |= !value->table && value->one.kind == ATTN_CELL_SUM;
  return ATTN_YES;
}

/* [1 0]
 * [0 1]   below each other: one matrix. */
static int stack(struct chain *h, size_t first) {
  size_t rows = h->factors - first;
  int cols = h->factor[first]->cols;
  for (size_t i = first; i < h->factors; i++)
    if (h->factor[i]->rows != 1 || h->factor[i]->cols != cols) return ATTN_NO;
  struct attn_builder b = {.r = h->r};
  attn_printing t = *h->factor[first];
  attn_cell *cells = attn_pool_take(h->r->pool, rows * (size_t)cols * sizeof *cells);
  if (!cells) return attn_reader_no_memory(b.r);
  for (size_t i = 0; i < rows; i++)
    memcpy(cells + i * (size_t)cols, h->factor[first + i]->cells, (size_t)cols * sizeof *cells);
  t.rows = (int)rows;
  t.cells = cells;
  *h->factor[first] = t;
  h->factors = first + 1;
  return ATTN_YES;
}

/* A side of numbers: a value, or several matrices to be multiplied. NO restores h. */
static int values(struct chain *h, struct attn_cursor *c, enum attn_item_link link) {
  size_t first = h->factors;
  struct attn_span formula = h->formula;
  int result, stacked = 1, worked = h->worked;
  do {
    struct attn_expression_value value;
    if (h->factors > first && attn_token_is(c, '*')) {
      stacked = 0;
      if (attn_advance(c) != ATTN_YES) return ATTN_FAILED;
    } else if (h->factors > first && !c->token.newline) {
      stacked = 0;
    }
    result = attn_expression(c, &value);
    if (result == ATTN_YES) result = push(h, &value, h->factors > first ? ATTN_LINK_TIMES : link);
  } while (result == ATTN_YES &&
           h->factor[h->factors - 1]->rows * h->factor[h->factors - 1]->cols > 1 &&
           (attn_token_is(c, '*') || attn_token_is(c, '[') ||
            (c->token.kind == ATTN_TOKEN_BEGIN && !is_layout(c))));
  if (result == ATTN_YES && ends_value(c, h->factor[h->factors - 1], h->strict)) {
    if (stacked && h->factors - first > 1) result = stack(h, first);
    return result == ATTN_FAILED ? result : ATTN_YES;
  }
  h->factors = first;
  h->formula = formula;
  h->worked = worked;
  return result == ATTN_FAILED ? result : ATTN_NO;
}

static int symbol_side(struct chain *h, struct attn_cursor *c) {
  struct attn_span span;
  int result = symbols(c, &span);
  if (result != ATTN_YES) return result;
  char *clean = attn_name_clean(h->r, span);
  if (!clean) return ATTN_FAILED;
  if (!*clean) return ATTN_YES;
  int is_name = !h->continues && h->factors == 0 && h->name_count < NAMES_MAX && !h->formula.end &&
                (h->name_count == 0 || attn_name_is_symbol(clean));
  if (is_name)
    h->names[h->name_count++] = span;
  else
    h->formula = span;
  return ATTN_YES;
}

static int side(struct chain *h, struct attn_cursor *c) {
  struct attn_cursor before = *c;
  enum attn_item_link link = h->factors || h->continues ? ATTN_LINK_EQUAL : ATTN_LINK_NONE;
  int result = values(h, c, link);
  if (result != ATTN_NO) return result;
  *c = before;
  return symbol_side(h, c);
}

static int emit_as(struct chain *h, const char *name) {
  for (size_t i = 0; i < h->factors; i++) {
    char *formula = attn_name_clean(h->r, h->said[i]);
    if (!formula || !attn_add_matrix(h->r, name, formula, h->link[i], h->factor[i]))
      return ATTN_FAILED;
  }
  return ATTN_YES;
}

/* d_k = 2 is a definition; e_{11} = 2 is a cell of a matrix. */
static int is_definition(const struct chain *h, const char *name) {
  const attn_printing *t = h->factor[0];
  return h->factors == 1 && t->rows == 1 && t->cols == 1 && !h->worked && !h->continues &&
         t->cells[0].kind != ATTN_CELL_BLANK && !attn_name_has_two_indices(name);
}

static int emit_nameless(struct chain *h) {
  struct attn_item *last = attn_reader_last_matrix(h->r, NULL);
  const char *name = "";
  int vector = 0;
  for (size_t i = 0; i < h->factors; i++) vector |= h->factor[i]->rows * h->factor[i]->cols > 1;
  if (h->continues && last) {
    name = last->text;
  } else {
    h->link[0] = ATTN_LINK_NONE;
    if (h->fallback.end > h->fallback.begin) name = attn_name_clean(h->r, h->fallback);
    if (!name) return ATTN_FAILED;
    if (!vector && !*name) return ATTN_NO; /* \sqrt{2} \approx 1.4142 */
  }
  return emit_as(h, name);
}

static int emit(struct chain *h) {
  if (h->factors == 0) return ATTN_NO;
  if (h->name_count == 0) return emit_nameless(h);
  for (int i = 0; i < h->name_count; i++) {
    char *name = attn_name_clean(h->r, h->names[i]);
    if (!name) return ATTN_FAILED;
    int result = is_definition(h, name)
                     ? attn_add_number(h->r, name, h->names[i].begin, h->factor[0]->cells[0].value)
                     : emit_as(h, name);
    if (result != ATTN_YES) return result;
  }
  return ATTN_YES;
}

static int part(struct chain *h, struct attn_cursor *c) {
  int result = skip_layout(c);
  h->begin = c->token.begin;
  if (result == ATTN_YES && c->token.kind == ATTN_TOKEN_RELATION) {
    h->continues = 1;
    result = attn_advance(c);
  }
  while (result == ATTN_YES) {
    result = skip_layout(c);
    if (result != ATTN_YES || ends_part(c) || (h->factors && joins_formulas(c))) break;
    if (c->token.kind == ATTN_TOKEN_RELATION)
      result = attn_advance(c);
    else
      result = side(h, c);
  }
  return result == ATTN_YES ? emit(h) : result;
}

int attn_formula(struct attn_reader *r, struct attn_span span, int strict,
                 struct attn_span fallback) {
  struct attn_cursor c = attn_cursor_at(r, span.begin, span.end);
  int added = 0, result = attn_advance(&c);
  while (result == ATTN_YES && c.token.kind != ATTN_TOKEN_END) {
    struct chain h = {.r = r, .strict = strict, .fallback = fallback};
    int items = r->document->items;
    result = part(&h, &c);
    if (result == ATTN_FAILED) return result;
    if (result == ATTN_YES && items != r->document->items)
      added = 1;
    else if (added && h.begin < c.token.begin &&
             attn_reader_sentence(r, (struct attn_span){h.begin, c.token.begin}) < 0)
      return ATTN_FAILED;
    result = ATTN_YES;
    if ((ends_part(&c) || joins_formulas(&c)) && c.token.kind != ATTN_TOKEN_END)
      result = attn_advance(&c);
  }
  return result == ATTN_FAILED ? result : added ? ATTN_YES : ATTN_NO;
}
