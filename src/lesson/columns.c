/* columns.c -- numbers in aligned columns below their name, and vectors listed by label. */
#include <ctype.h>
#include <string.h>

#include "reader.h"

/* Without a comment at its end: `1 0 1  # of the cat`. */
static struct attn_span without_comment(const struct attn_reader *r, struct attn_span line) {
  for (size_t at = line.begin + 1; at + 1 < line.end; at++)
    if (r->source.text[at] == '#' &&
        (r->source.text[at - 1] == ' ' || r->source.text[at - 1] == '\t'))
      return attn_trim(r, (struct attn_span){line.begin, at});
  return line;
}

static int begins_number(const struct attn_reader *r, struct attn_span s) {
  size_t next = s.begin;
  if (s.begin >= s.end) return 0;
  uint32_t g = attn_glyph(r->source.text, s.begin, s.end, &next);
  if (g == '-' || g == '+') { /* a bullet is no sign */
    if (next >= s.end) return 0;
    g = attn_glyph(r->source.text, next, s.end, &next);
  }
  return (g >= '0' && g <= '9') || g == '.' || g == '?' || g == 0x2026 || g == 0x221E ||
         g == 0x221A || attn_starts(r, s.begin, s.end, "inf") ||
         attn_starts(r, s.begin, s.end, "-inf") || attn_starts(r, s.begin, s.end, "同上") ||
         attn_starts(r, s.begin, s.end, "〃");
}

/* The word that is no number in front of a row: 私 in `私 1 0 1 0`. */
static struct attn_span row_label(const struct attn_reader *r, struct attn_span line) {
  struct attn_span label = {line.begin, line.begin};
  size_t next;
  if (begins_number(r, line)) return label;
  for (size_t at = line.begin; at < line.end; at = next) {
    uint32_t g = attn_glyph(r->source.text, at, line.end, &next);
    if (g == ' ' || g == '\t' || g == ',') break;
    label.end = next;
  }
  return label;
}

static int ends_cell(const struct attn_cursor *c) {
  return c->token.space || attn_token_is(c, ',') || c->token.kind == ATTN_TOKEN_END;
}

static int one_cell(struct attn_cursor *c, struct attn_builder *b) {
  struct attn_cursor before = *c;
  struct attn_expression_value value;
  int result;
  if (c->token.kind == ATTN_TOKEN_DITTO) {
    result = attn_advance(c);
    return result == ATTN_YES ? attn_build_ditto(b, before.token.row, before.token.begin) : result;
  }
  result = attn_expression(c, &value);
  if (result == ATTN_YES && !value.table && ends_cell(c)) return attn_build_value(b, &value);
  if (result == ATTN_FAILED) return result;
  *c = before;
  do result = attn_advance(c);
  while (result == ATTN_YES && !ends_cell(c));
  return result == ATTN_YES ? attn_build_odd(b, before.token.begin, c->previous) : result;
}

static int add_row(struct attn_builder *b, struct attn_span line) {
  struct attn_cursor c = attn_cursor_at(b->r, line.begin, line.end);
  c.element = 1;
  int result = attn_advance(&c);
  while (result == ATTN_YES && c.token.kind != ATTN_TOKEN_END) {
    result = one_cell(&c, b);
    if (result == ATTN_YES && attn_token_is(&c, ',')) result = attn_advance(&c);
  }
  return result == ATTN_YES ? attn_build_row(b, line.end) : result;
}

struct column_block {
  struct attn_builder cells;
  char **labels;
  size_t rows;
  int labelled; /* rows with a label */
  size_t end;   /* behind its last line */
};

static int push_label(struct column_block *k, struct attn_span label) {
  struct attn_pool *pool = k->cells.r->pool;
  if (attn_pool_grow(pool, (void **)&k->labels, k->rows, sizeof(char *)))
    return attn_reader_no_memory(k->cells.r);
  char **slot = &k->labels[k->rows++];
  *slot = NULL;
  if (label.begin >= label.end) return ATTN_YES;
  k->labelled++;
  *slot = attn_name_clean(k->cells.r, label);
  return *slot ? ATTN_YES : ATTN_FAILED;
}

/* Whether a line is a row: numbers, perhaps behind a label. */
static int is_row(const struct attn_reader *r, struct attn_span line, struct attn_span *rest) {
  if (line.begin >= line.end) return 0;
  if (strchr("[({", r->source.text[line.begin])) return 0; /* a list over several lines */
  struct attn_span label = row_label(r, line);
  *rest = attn_trim(r, (struct attn_span){label.end, line.end});
  if (rest->begin < rest->end && r->source.text[rest->begin] == ',' && label.end > label.begin)
    *rest = attn_trim(r, (struct attn_span){rest->begin + 1, rest->end}); /* from a spreadsheet */
  return begins_number(r, *rest);
}

/* Rows from at on. strict once a name says that these are a matrix. */
static int read_block(struct attn_reader *r, size_t at, int strict, struct column_block *k) {
  k->cells.r = r;
  k->cells.lenient = 1;
  k->end = at;
  while (at < r->source.size) {
    struct attn_span line = without_comment(r, attn_line(r, at)), rest;
    if (!is_row(r, line, &rest)) break;
    int result = push_label(
        k, (struct attn_span){line.begin,
                              rest.begin == line.begin ? line.begin : row_label(r, line).end});
    if (result == ATTN_YES) result = add_row(&k->cells, rest);
    if (result != ATTN_YES) return result;
    /* The first row shows whether it is one: a sentence may begin with a number too. */
    if (k->rows == 1 && strict)
      k->cells.lenient = k->cells.words + k->cells.symbols > 0 || k->cells.cols < 2;
    if (k->rows == 1 && strict == 2) k->cells.lenient = 0;
    at = attn_next_line(r, at);
    k->end = at;
  }
  return k->rows ? ATTN_YES : ATTN_NO;
}

/* W_Q, `W_Q:`, `scores  # yours`: a line that names the rows below. */
static struct attn_span name_line(const struct attn_reader *r, size_t at) {
  struct attn_span none = {0, 0}, line = without_comment(r, attn_line(r, at)), rest;
  const char *text = r->source.text;
  if (line.end > line.begin && (text[line.end - 1] == ':' || text[line.end - 1] == '='))
    line.end--;
  else if (line.end - line.begin > 3 && attn_starts(r, line.end - 3, line.end, "："))
    line.end -= 3;
  line = attn_bare(r, line);
  if (line.begin >= line.end || line.end - line.begin > 60 || is_row(r, line, &rest)) return none;
  if (text[line.begin] == '#' || text[line.begin] == '|' || text[line.begin] == '`') return none;
  struct attn_span label;
  if (attn_split_label(r, line, &label, &rest) == ATTN_YES && rest.begin < rest.end) return none;
  size_t below = attn_next_line(r, at);
  if (below >= r->source.size) return none;
  struct attn_span next = without_comment(r, attn_line(r, below));
  return is_row(r, next, &rest) && attn_bare(r, next).begin == next.begin ? line : none;
}

/* Names that stand for a matrix of their own, not for a row of one. */
static int names_a_matrix(const char *label) {
  static const char *const WORDS[] = {"scores",  "scaled",       "masked",  "weights", "output",
                                      "mask",    "exponentials", "row_sum", "softmax", "sum",
                                      "exp",     "query",        "key",     "value",   "row sums",
                                      "row sum", "合計",         "行和",    NULL};
  for (int i = 0; WORDS[i]; i++) {
    size_t n = 0;
    while (WORDS[i][n] && tolower((unsigned char)label[n]) == (unsigned char)WORDS[i][n]) n++;
    if (!WORDS[i][n] && !label[n]) return 1;
  }
  return 0;
}

static int add_block(struct attn_reader *r, struct column_block *k, char *name, int strict) {
  attn_printing *table;
  int result = attn_build_end(&k->cells, &table);
  if (result != ATTN_YES) return result;
  int odd = k->cells.words + k->cells.symbols, cells = table->rows * table->cols;
  int wide = table->rows > 1 && table->cols > 1;
  int symbol = attn_name_is_symbol(name);
  int line = !wide && cells > 1 && names_a_matrix(name); /* row sums */
  if (odd || (!wide && !strict && !line) || (strict && cells == 1 && !symbol)) return ATTN_NO;
  if (k->labelled && k->labelled * 2 < table->rows) return ATTN_NO;
  if (table->cols == 1 && k->labelled) return ATTN_NO; /* `Chapter 3` */
  if (cells == 1) return attn_add_number(r, name, k->cells.begin, table->cells[0].value);
  struct attn_item *item = attn_add_matrix(r, name, "", ATTN_LINK_NONE, table);
  if (!item) return ATTN_FAILED;
  item->row_labels = k->labelled ? (int)k->rows : 0;
  item->row_label = k->labelled ? k->labels : NULL;
  return ATTN_YES;
}

int attn_columns(struct attn_reader *r, size_t *at) {
  if (r->lookahead == 0) return ATTN_NO;
  struct attn_span name = name_line(r, *at), pending = r->pending;
  int explicit_name = name.begin < name.end;
  size_t begin = explicit_name ? attn_next_line(r, *at) : *at;
  if (!explicit_name) name = pending;
  char *clean = attn_name_clean(r, attn_label_name(r, name));
  if (!clean) return ATTN_FAILED;
  int strict = *clean ? (attn_name_is_symbol(clean) ? 2 : 1) : 0;
  if (strict == 1 && !explicit_name) strict = 0; /* a heading names, but promises nothing */
  struct column_block k = {.rows = 0};
  int result = read_block(r, begin, strict, &k);
  if (result == ATTN_YES) result = add_block(r, &k, clean, strict);
  if (result == ATTN_YES) *at = k.end;
  size_t read = k.end > begin ? k.end - begin : 0;
  if (result == ATTN_NO) r->lookahead -= read < r->lookahead ? read : r->lookahead;
  return result;
}

/* ---- Lists ---- */

static int is_balanced(const struct attn_reader *r, struct attn_span s) {
  long open = 0;
  size_t next;
  for (size_t at = s.begin; at < s.end; at = next) {
    uint32_t g = attn_glyph(r->source.text, at, s.end, &next);
    open += (g == '[' || g == '(') - (g == ']' || g == ')');
  }
  return open == 0;
}

/* `label: vector` or `x_1 = vector`. */
static int list_row(struct attn_reader *r, size_t at, struct attn_span *label,
                    attn_printing **vector, int *equals) {
  struct attn_span line = attn_bare(r, without_comment(r, attn_line(r, at))), rest;
  if (line.begin >= line.end) return ATTN_NO;
  *equals = 0;
  if (attn_split_label(r, line, label, &rest) != ATTN_YES) {
    const char *sign = memchr(r->source.text + line.begin, '=', line.end - line.begin);
    if (!sign) return ATTN_NO;
    size_t middle = (size_t)(sign - r->source.text);
    *label = attn_trim(r, (struct attn_span){line.begin, middle});
    rest = attn_trim(r, (struct attn_span){middle + 1, line.end});
    *equals = 1;
  }
  if (rest.begin >= rest.end || label->end - label->begin > 60) return ATTN_NO;
  struct attn_cursor c = attn_cursor_at(r, rest.begin, rest.end);
  int result = attn_advance(&c);
  if (result != ATTN_YES) return result;
  int opens = attn_token_is(&c, '[') || attn_token_is(&c, '(') || begins_number(r, rest);
  if (!opens || memchr(r->source.text + rest.begin, '=', rest.end - rest.begin)) return ATTN_NO;
  if (!is_balanced(r, rest)) return ATTN_NO; /* goes on below */
  result = attn_vector(r, rest, vector);
  return result == ATTN_YES && ((*vector)->rows != 1 || (*vector)->cols < 2) ? ATTN_NO : result;
}

struct column_rows {
  attn_printing **vectors;
  char **labels;
  int count, symbols, equals, matrices, same_letter;
};

/* `猫: same as above` among the rows. */
static int ditto_in_list(struct attn_reader *r, size_t at, const struct column_rows *l,
                         struct attn_span *label, attn_printing **vector) {
  struct attn_span line = attn_bare(r, without_comment(r, attn_line(r, at))), rest;
  long row;
  if (attn_split_label(r, line, label, &rest) != ATTN_YES || rest.begin >= rest.end) return ATTN_NO;
  size_t end = rest.begin;
  if (!attn_ditto(r, &end, rest.end, &row) || end != rest.end || row > l->count) return ATTN_NO;
  *vector = l->vectors[row ? row - 1 : l->count - 1];
  return ATTN_YES;
}

static int read_list(struct attn_reader *r, size_t *at, struct column_rows *l) {
  size_t here = *at;
  while (here < r->source.size) {
    struct attn_span label;
    attn_printing *vector;
    int equals, result = list_row(r, here, &label, &vector, &equals);
    if (result == ATTN_NO && l->count) result = ditto_in_list(r, here, l, &label, &vector);
    if (result == ATTN_FAILED) return result;
    if (result == ATTN_NO || (l->count && vector->cols != l->vectors[0]->cols)) break;
    char *clean = attn_name_clean(r, attn_label_name(r, label));
    if (!clean) return ATTN_FAILED;
    if (attn_pool_grow(r->pool, (void **)&l->vectors, (size_t)l->count, sizeof vector) ||
        attn_pool_grow(r->pool, (void **)&l->labels, (size_t)l->count, sizeof clean))
      return attn_reader_no_memory(r);
    l->vectors[l->count] = vector;
    l->labels[l->count++] = clean;
    l->equals += equals;
    l->symbols += attn_name_is_symbol(clean);
    l->matrices += names_a_matrix(clean);
    l->same_letter += clean[0] == l->labels[0][0] && islower((unsigned char)clean[0]) && clean[1];
    here = attn_next_line(r, here);
  }
  *at = here;
  return l->count >= 2 ? ATTN_YES : ATTN_NO;
}

static int add_list(struct attn_reader *r, struct column_rows *l, char *name) {
  struct attn_builder b = {.r = r};
  int cols = l->vectors[0]->cols;
  attn_printing table = *l->vectors[0];
  table.rows = l->count;
  table.cells = attn_pool_take(r->pool, (size_t)l->count * (size_t)cols * sizeof *table.cells);
  char **labels = attn_pool_take(r->pool, (size_t)l->count * sizeof *labels);
  if (!table.cells || !labels) return attn_reader_no_memory(b.r);
  for (int i = 0; i < l->count; i++) {
    memcpy(table.cells + (size_t)i * (size_t)cols, l->vectors[i]->cells,
           (size_t)cols * sizeof *table.cells);
    labels[i] = l->labels[i];
  }
  struct attn_item *item = attn_add_matrix(r, name, "", ATTN_LINK_NONE, &table);
  if (!item) return ATTN_FAILED;
  item->row_labels = l->count;
  item->row_label = labels;
  return ATTN_YES;
}

/* A, B, C or a, b, c: names of tokens, whatever the letters mean elsewhere. */
static int counts_in_letters(const struct column_rows *l) {
  for (int i = 0; i < l->count; i++)
    if (toupper((unsigned char)l->labels[i][0]) != 'A' + i || l->labels[i][1]) return 0;
  return 1;
}

static int labels_are_listed_tokens(const struct attn_reader *r, const struct column_rows *l) {
  for (int n = r->document->items - 1; n >= 0; n--) {
    const struct attn_item *item = &r->document->item[n];
    if (item->kind != ATTN_ITEM_TOKENS || item->tokens != l->count) continue;
    int same = 0;
    while (same < l->count && strcmp(item->token[same], l->labels[same]) == 0) same++;
    return same == l->count;
  }
  return 0;
}

/* Do the labels name rows of one matrix, not matrices? */
static int labels_name_rows(const struct attn_reader *r, const struct column_rows *l, int named) {
  if (l->same_letter == l->count && l->symbols == l->count) return 1; /* x_1, x_2 */
  if (l->equals) return 0;
  if (named && (counts_in_letters(l) || labels_are_listed_tokens(r, l))) return 1;
  return l->symbols < l->count && !l->matrices;
}

int attn_labelled_list(struct attn_reader *r, size_t *at) {
  struct attn_span label, pending = r->pending;
  attn_printing *first;
  int equals, result = list_row(r, *at, &label, &first, &equals);
  if (result != ATTN_YES || r->lookahead == 0) return result == ATTN_FAILED ? result : ATTN_NO;
  struct column_rows rows = {.count = 0}, *l = &rows;
  size_t end = *at, begin = *at;
  result = read_list(r, &end, l);
  if (result == ATTN_YES && !labels_name_rows(r, l, pending.begin < pending.end)) result = ATTN_NO;
  if (result == ATTN_YES) {
    char letter[2] = {l->labels[0][0], 0};
    char *name = attn_name_clean(r, pending);
    if (!name) return ATTN_FAILED;
    int indexed = l->same_letter == l->count && l->symbols == l->count;
    result = add_list(r, l, *name || !indexed ? name : letter);
  }
  if (result == ATTN_YES) *at = end;
  if (result == ATTN_NO) r->lookahead -= end - begin < r->lookahead ? end - begin : r->lookahead;
  return result;
}
