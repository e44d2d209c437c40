/* labels.c -- `label: what it is`: definitions, vectors, names of what comes below. */
#include <string.h>

#include "reader.h"

int attn_split_label(const struct attn_reader *r, struct attn_span line, struct attn_span *label,
                     struct attn_span *rest) {
  const char *text = r->source.text;
  int depth = 0, math = 0;
  size_t next;
  for (size_t i = line.begin; i < line.end; i = next) {
    uint32_t g = attn_glyph(text, i, line.end, &next);
    if (g == '$') math ^= 1;
    if (g == '(' || g == '[' || g == '{') depth++;
    if (g == ')' || g == ']' || g == '}') depth--;
    if (g != ':' || depth > 0 || math) continue;
    if (next < line.end && (text[next] == '=' || text[next] == '/' || text[next] == ':'))
      return ATTN_NO;
    *label = attn_trim(r, (struct attn_span){line.begin, i});
    *rest = attn_trim(r, (struct attn_span){next, line.end});
    return label->begin < label->end ? ATTN_YES : ATTN_NO;
  }
  return ATTN_NO;
}

static size_t find(const struct attn_reader *r, struct attn_span s, const char *what) {
  for (size_t i = s.begin; i < s.end; i++)
    if (attn_starts(r, i, s.end, what)) return i;
  return s.end;
}

/* Q of `クエリ (Q)`, where it is a symbol. */
static struct attn_span in_parentheses(const struct attn_reader *r, struct attn_span label) {
  size_t open = find(r, label, "("), close = find(r, label, ")"), width = 1;
  if (open == label.end) open = find(r, label, "（"), close = find(r, label, "）"), width = 3;
  struct attn_span inside = {open + width, close};
  if (open >= label.end || close >= label.end || inside.begin >= inside.end ||
      inside.end - inside.begin > 8)
    return label;
  char symbol[16] = {0};
  memcpy(symbol, r->source.text + inside.begin, inside.end - inside.begin);
  return attn_name_is_symbol(symbol) ? inside : label;
}

struct attn_span attn_label_name(const struct attn_reader *r, struct attn_span label) {
  size_t open = find(r, label, "\\("), close = find(r, label, "\\)"), width = 2;
  if (open == label.end) {
    open = find(r, label, "$");
    width = 1;
    close = open < label.end ? find(r, (struct attn_span){open + 1, label.end}, "$") : label.end;
  }
  if (open + width < close && close < label.end)
    return attn_trim(r, (struct attn_span){open + width, close});
  return in_parentheses(r, label);
}

/* Behind a value only a full stop or a comma. */
static int is_end(struct attn_cursor *c) {
  if (c->token.kind == ATTN_TOKEN_END) return ATTN_YES;
  if (!attn_token_is(c, '.') && !attn_token_is(c, ',') && !attn_token_is(c, 0x3002)) return ATTN_NO;
  int result = attn_advance(c);
  if (result == ATTN_YES && c->token.kind != ATTN_TOKEN_END) return ATTN_NO;
  return result;
}

/* 1 0 1 0, or 1, 0, 1, 0 */
static int bare_numbers(struct attn_cursor *c, attn_printing **table) {
  struct attn_builder b = {.r = c->r, .begin = c->token.begin, .row_begin = c->token.begin};
  int result = ATTN_YES;
  c->element = 1;
  while (result == ATTN_YES && c->token.kind != ATTN_TOKEN_END) {
    struct attn_expression_value value;
    result = attn_expression(c, &value);
    if (result == ATTN_YES) result = value.table ? ATTN_NO : attn_build_value(&b, &value);
    if (result != ATTN_YES) return result;
    if (attn_token_is(c, ','))
      result = attn_advance(c);
    else if (!c->token.space && c->token.kind != ATTN_TOKEN_END)
      return ATTN_NO;
  }
  if (result != ATTN_YES || b.count < 2) return result == ATTN_YES ? ATTN_NO : result;
  return attn_build_end(&b, table);
}

int attn_vector(struct attn_reader *r, struct attn_span span, attn_printing **table) {
  struct attn_cursor c = attn_cursor_at(r, span.begin, span.end);
  struct attn_expression_value value;
  int result = attn_advance(&c);
  if (result != ATTN_YES) return result;
  struct attn_cursor before = c;
  result = attn_expression(&c, &value);
  if (result == ATTN_YES && value.table)
    result = is_end(&c);
  else if (result == ATTN_YES)
    result = ATTN_NO;
  if (result == ATTN_YES) *table = value.table;
  if (result != ATTN_NO) return result;
  return bare_numbers(&before, table);
}

/* d_k = d_v in `... (\( d_k = d_v \)): 2` are two names. */
static int add_numbers(struct attn_reader *r, struct attn_span names, double value) {
  while (names.begin < names.end) {
    size_t equals = find(r, names, "=");
    char *name = attn_name_clean(r, (struct attn_span){names.begin, equals});
    if (!name) return ATTN_FAILED;
    int result = *name ? attn_add_number(r, name, names.begin, value) : ATTN_YES;
    if (result != ATTN_YES) return result;
    names.begin = equals + 1;
  }
  return ATTN_YES;
}

static int number_definition(struct attn_reader *r, struct attn_span label, struct attn_span rest) {
  struct attn_cursor c = attn_cursor_at(r, rest.begin, rest.end);
  struct attn_expression_value value;
  int result = attn_advance(&c);
  if (result == ATTN_YES) result = attn_expression(&c, &value);
  if (result == ATTN_YES) result = is_end(&c);
  if (result != ATTN_YES || value.table || value.one.kind == ATTN_CELL_BLANK)
    return result == ATTN_FAILED ? result : ATTN_NO;
  return add_numbers(r, attn_label_name(r, label), value.one.value);
}

/* The label of row n as this document writes it: this label with n for its number. */
static char *label_of_row(struct attn_reader *r, const char *key, long n) {
  char digits[24];
  size_t size = strlen(key), to = 0, begin = strcspn(key, "0123456789");
  size_t length = strspn(key + begin, "0123456789"), count = 0;
  for (long left = n; left > 0 && count < sizeof digits; left /= 10)
    digits[count++] = (char)('0' + left % 10);
  char *made = attn_pool_take(r->pool, size + count + 1);
  if (!made) return NULL;
  memcpy(made, key, begin), to = begin;
  while (count > 0) made[to++] = digits[--count];
  memcpy(made + to, key + begin + length, size - begin - length);
  return made;
}

/* 3行目: 同1行目 */
static int ditto_row(struct attn_reader *r, struct attn_span label, struct attn_span rest) {
  long row;
  size_t at = rest.begin;
  if (rest.begin >= rest.end || !attn_ditto(r, &at, rest.end, &row)) return ATTN_NO;
  if (attn_trim(r, (struct attn_span){at, rest.end}).begin < rest.end) return ATTN_NO;
  char *name = attn_name_clean(r, label), *key = name ? attn_name_key(r, name) : NULL;
  char *wanted = key && row ? label_of_row(r, key, row) : NULL;
  if (!key || (row && !wanted)) return attn_reader_no_memory(r);
  struct attn_item *same = attn_reader_last_matrix(r, wanted);
  if (!same) return ATTN_NO;
  attn_printing table = same->table;
  struct attn_source_position place = attn_source_place(&r->source, rest.begin);
  size_t count = (size_t)table.rows * (size_t)table.cols;
  table.cells = attn_pool_take(r->pool, count * sizeof *table.cells);
  if (!table.cells) return attn_reader_no_memory(r);
  for (size_t i = 0; i < count; i++) {
    table.cells[i] = same->table.cells[i];
    table.cells[i].line = place.line;
    table.cells[i].column = place.column;
  }
  table.line = place.line;
  table.column = place.column;
  return attn_add_matrix(r, name, "", ATTN_LINK_NONE, &table) ? ATTN_YES : ATTN_FAILED;
}

/* tokens: 私 は 猫 / tokens: [I, love, cats] */
static int token_list(struct attn_reader *r, struct attn_span rest) {
  struct attn_item *item = attn_reader_add(r, ATTN_ITEM_TOKENS, rest.begin);
  if (!item) return ATTN_FAILED;
  const char *text = r->source.text;
  size_t next, begin = rest.begin;
  for (size_t i = rest.begin; i <= rest.end; i = next) {
    uint32_t g = ' ';
    next = i + 1;
    if (i < rest.end) g = attn_glyph(text, i, rest.end, &next);
    if (g > 32 && !(g < 128 && strchr(",[]\"'|/", (int)g)) && g != 0x300C && g != 0x300D) continue;
    if (i > begin) {
      if (attn_pool_grow(r->pool, (void **)&item->token, (size_t)item->tokens, sizeof(char *)))
        return attn_reader_no_memory(r);
      item->token[item->tokens] = attn_pool_text(r->pool, text + begin, i - begin);
      if (!item->token[item->tokens++]) return attn_reader_no_memory(r);
    }
    begin = next;
  }
  return ATTN_YES;
}

static int known_label(struct attn_reader *r, struct attn_span label, struct attn_span rest) {
  static const char *const TITLES[] = {"title", "Title", "題", "タイトル", NULL};
  static const char *const TOKENS[] = {"tokens", "Tokens", "トークン", "トークン列", "token", NULL};
  if (rest.begin >= rest.end) return ATTN_NO;
  if (attn_span_is(r, label, TOKENS)) return token_list(r, rest);
  if (!attn_span_is(r, label, TITLES)) return ATTN_NO;
  if (rest.end - rest.begin >= 2 && r->source.text[rest.begin] == '"' &&
      r->source.text[rest.end - 1] == '"')
    rest.begin++, rest.end--;
  return attn_reader_heading(r, rest, 1);
}

/* scale: none   # a comment */
static struct attn_span without_comment(const struct attn_reader *r, struct attn_span rest) {
  for (size_t at = rest.begin; at + 2 < rest.end; at++)
    if (attn_starts(r, at, rest.end, " # "))
      return attn_trim(r, (struct attn_span){rest.begin, at});
  return rest;
}

static int matrix_definition(struct attn_reader *r, struct attn_span label, struct attn_span rest) {
  attn_printing *table;
  int result = attn_vector(r, rest, &table);
  if (result != ATTN_YES) return result;
  char *name = attn_name_clean(r, attn_label_name(r, label));
  if (!name || !attn_add_matrix(r, name, "", ATTN_LINK_NONE, table)) return ATTN_FAILED;
  return ATTN_YES;
}

/* Nothing behind the colon: it names what comes below. */
static int names_what_follows(struct attn_reader *r, struct attn_span line,
                              struct attn_span label) {
  struct attn_span name = attn_label_name(r, label);
  int result = attn_reader_sentence(r, line);
  if (name.end - name.begin <= 64) r->pending = name;
  return result;
}

int attn_label_line(struct attn_reader *r, struct attn_span line, struct attn_span span) {
  struct attn_span label, rest;
  if (attn_split_label(r, span, &label, &rest) != ATTN_YES) return ATTN_NO;
  size_t line_end = rest.end;
  rest = without_comment(r, rest);
  if (rest.begin >= rest.end) return names_what_follows(r, line, label);
  static int (*const TRY[])(struct attn_reader *, struct attn_span, struct attn_span) = {
      known_label, ditto_row, number_definition, matrix_definition};
  for (size_t i = 0; i < sizeof TRY / sizeof *TRY; i++) {
    int result = TRY[i](r, label, rest);
    if (result != ATTN_NO) return result;
  }
  int begins_math =
      attn_starts(r, rest.begin, rest.end, "\\(") || attn_starts(r, rest.begin, rest.end, "$");
  if (begins_math) return attn_formula(r, rest, 1, label);
  if (rest.end == line_end) return ATTN_NO;
  return attn_reader_sentence(r,
                              (struct attn_span){label.begin, rest.end}); /* without its comment */
}
