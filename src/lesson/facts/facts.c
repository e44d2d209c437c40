#include "facts.h"

#include <string.h>

#include "fact_tokens.h"

enum { LABEL_WORDS = 3, SECTION_CHARACTERS = 60 };

/* ---- words ---- */

int attn_fact_word(struct attn_grouping *g, const char *text, struct attn_part part) {
  struct attn_facts *f = g->facts;
  part = attn_part_trim(text, part);
  size_t bytes = part.end - part.begin;
  for (int n = 0; n < f->words; n++)
    if (strlen(f->word[n]) == bytes && memcmp(f->word[n], text + part.begin, bytes) == 0) return n;
  if (f->words == ATTN_FACT_WORDS_MAX) return f->is_full = 1, 0;
  char *copy = attn_group_copy(g, text + part.begin, bytes);
  if (!copy || !attn_group_grow(g, (void **)&f->word, (size_t)f->words, sizeof *f->word)) return 0;
  f->word[f->words] = copy;
  return f->words++;
}

/* 0: too many. */
static int add_key(struct attn_fact_reader *r, struct attn_fact *f, int kind,
                   struct attn_part part) {
  if (f->keys >= ATTN_FACT_KEYS) return 0;
  f->key[f->keys++] = (struct attn_key){kind, attn_fact_word(r->g, r->line->text, part)};
  return 1;
}

static struct attn_fact_place *place_of(struct attn_grouping *g) {
  struct attn_fact_place *p = attn_group_take(g, 1, sizeof *p);
  if (!p) return NULL;
  p->section = g->facts->section;
  p->outer = g->facts->outer;
  p->line = g->facts->line;
  for (int n = 0; n < g->aboves; n++)
    if (g->above[n][0]) p->caption[p->captions++] = g->above[n];
  return p;
}

static void add_fact(struct attn_fact_reader *r, const struct attn_fact *fact) {
  struct attn_grouping *g = r->g;
  struct attn_facts *f = g->facts;
  if (f->facts == ATTN_FACTS_MAX) {
    f->is_full = 1;
    return;
  }
  if (!r->place && !(r->place = place_of(g))) return;
  if (!attn_group_grow(g, (void **)&f->fact, (size_t)f->facts, sizeof *f->fact)) return;
  f->fact[f->facts] = *fact;
  f->fact[f->facts++].place = r->place;
}

/* ---- equations and lists ---- */

/* The sign that closes what is open at `at`, or the end. */
static int closing(const struct attn_fact_reader *r, int at) {
  int depth = 0;
  for (; at < r->tokens; at++) {
    depth += attn_fact_is_sign(r, at, "([");
    depth -= attn_fact_is_sign(r, at, ")]");
    if (depth == 0) break;
  }
  return at;
}

/* "and" of two numbers, in Japanese too. */
static int is_and(const struct attn_fact_reader *r, int at) {
  if (!attn_fact_is_kind(r, at, TOKEN_WORD)) return 0;
  struct attn_part p = r->token[at].part;
  return p.end - p.begin == 3 && (memcmp(r->line->text + p.begin, "and", 3) == 0 ||
                                  memcmp(r->line->text + p.begin, "と", 3) == 0);
}

/* The end of the numbers in a row at `at`. */
static int numbers_end(const struct attn_fact_reader *r, int at) {
  if (attn_fact_is_kind(r, at, TOKEN_VALUE)) return at + 1;
  for (at++; at < r->tokens; at++) {
    int next = at + attn_fact_is_sign(r, at, ",;|");
    next += is_and(r, next);
    if (!attn_fact_is_kind(r, next, TOKEN_NUMBER)) break;
    at = next;
  }
  return at;
}

static void add_words(struct attn_fact_reader *r, struct attn_fact *f, int begin, int end) {
  for (int n = begin; n < end; n++) {
    const struct attn_fact_token *t = &r->token[n];
    int kind = t->kind == TOKEN_WORD ? ATTN_KEY_WORD : ATTN_KEY_INDEX;
    if ((t->kind == TOKEN_WORD || t->kind == TOKEN_INDEX || attn_fact_is_whole(r, n)) &&
        !add_key(r, f, kind, t->part))
      f->keys = ATTN_FACT_KEYS + 1;
  }
}

/* s of "so s12 =", with its indices; score of "score(the, cat) =". */
static void add_name(struct attn_fact_reader *r, struct attn_fact *f, int begin, int end) {
  int open = end;
  if (attn_fact_is_sign(r, end - 1, ")]"))
    for (open = end - 1; open > begin && !attn_fact_is_sign(r, open, "([");) open--;
  int name = open - 1;
  while (name >= begin && r->token[name].kind == TOKEN_INDEX) name--;
  if (name < begin || !attn_fact_is_kind(r, name, TOKEN_WORD)) return;
  add_key(r, f, ATTN_KEY_NAME, r->token[name].part);
  add_words(r, f, name + 1, end);
}

/* Where the last equation in [begin, end) begins: after a comma in front of its sign. */
static int equation_begin(const struct attn_fact_reader *r, int begin, int end) {
  int equals = 0, depth = 0;
  for (int n = end - 1; n >= begin; n--) {
    equals |= attn_fact_is_sign(r, n, "=");
    depth += attn_fact_is_sign(r, n, ")]") - attn_fact_is_sign(r, n, "([");
    if (equals && depth <= 0 && attn_fact_is_sign(r, n, ",;:.?")) return n + 1;
  }
  return begin;
}

/* The keys of the numbers after [begin, end). 0: none, or it is a sentence. */
static int read_keys(struct attn_fact_reader *r, struct attn_fact *f, int begin, int end) {
  int equals = begin = equation_begin(r, begin, end), keys = f->keys;
  while (equals < end && !attn_fact_is_sign(r, equals, "=")) equals++;
  if (equals == end) {
    add_words(r, f, begin, end);
  } else {
    add_name(r, f, begin, equals);
    for (int n = equals; n + 2 < end; n++)
      if (attn_fact_is_sign(r, n, "=") && attn_fact_is_whole(r, n + 1) &&
          attn_fact_is_sign(r, n + 2, "="))
        add_key(r, f, ATTN_KEY_INDEX, r->token[n + 1].part);
  }
  return f->keys > 0 && f->keys <= ATTN_FACT_KEYS && (f->keys > keys || equals == end);
}

/* The cells of the tokens. NULL: a matrix. */
static const attn_cell *cells_of(struct attn_fact_reader *r, int begin, int end, int *count) {
  if (r->token[begin].kind == TOKEN_VALUE) {
    int value = r->token[begin].value;
    if (!attn_group_is_value(r->g, value)) return NULL;
    const struct attn_scan_value *v = &r->g->lines->value[value];
    *count = v->grid[0].cols;
    return v->grids == 1 && v->grid[0].rows == 1 ? v->grid[0].cells : NULL;
  }
  attn_cell *cell = attn_group_take(r->g, (size_t)(end - begin), sizeof *cell);
  if (!cell) return NULL;
  *count = 0;
  for (int n = begin; n < end; n++)
    if (r->token[n].kind == TOKEN_NUMBER) cell[(*count)++] = r->token[n].cell;
  return cell;
}

/* "cat:" in front of all numbers of a line: how many tokens. */
static int label_end(const struct attn_fact_reader *r) {
  int words = 0;
  for (int n = 0; n < r->tokens && words <= LABEL_WORDS; n++) {
    if (attn_fact_is_sign(r, n, ":")) return words ? n + 1 : 0;
    if (n == 1 && attn_fact_is_sign(r, n, "=") && attn_fact_is_sign(r, n + 1, "{")) return n + 2;
    if (attn_fact_is_sign(r, n, "=") || r->token[n].kind == TOKEN_VALUE ||
        (r->token[n].kind == TOKEN_NUMBER && !attn_fact_is_whole(r, n)))
      return 0;
    words += r->token[n].kind != TOKEN_SIGN;
  }
  return 0;
}

static int is_worked(const struct attn_fact_reader *r, int at) {
  if (attn_fact_is_sign(r, at, ")]"))
    return is_worked(r, at + 1) || attn_fact_is_sign(r, at + 1, "([");
  return attn_fact_is_sign(r, at, "+-*/?^") || attn_fact_is_kind(r, at, TOKEN_VALUE);
}

/* Where the next side of an equation begins, if the numbers that end at `at` are worked out; `at`:
 * they are not. */
static int next_side(const struct attn_fact_reader *r, int at) {
  if (attn_fact_is_sign(r, at, "=")) return at + 1;
  if (!is_worked(r, at) && !attn_fact_is_sign(r, at, "([")) return at;
  for (int n = at; n < r->tokens; n++)
    if (attn_fact_is_sign(r, n, "=")) return n + 1;
  return at;
}

static void read_terms(struct attn_fact_reader *r) {
  struct attn_fact label = {.value = -1};
  int begin = label_end(r);
  add_words(r, &label, 0, begin);
  if (label.keys > ATTN_FACT_KEYS) return;
  for (int at = begin; at < r->tokens;) {
    if (attn_fact_is_sign(r, at, "([") && attn_fact_is_kind(r, at - 1, TOKEN_WORD)) {
      at = closing(r, at);
    } else if (!attn_fact_is_kind(r, at, TOKEN_NUMBER) && !attn_fact_is_kind(r, at, TOKEN_VALUE)) {
      at++;
    } else {
      struct attn_fact f = label;
      int end = numbers_end(r, at), side = next_side(r, end);
      if (side == end && !is_worked(r, end) && read_keys(r, &f, begin, at) &&
          (f.cell = cells_of(r, at, end, &f.cells)) != NULL) {
        f.value = r->token[at].value;
        add_fact(r, &f);
      }
      if (side == end) begin = end;
      at = side;
    }
  }
}

/* ---- lines that are one fact ---- */

static uint64_t mix(uint64_t hash, int what) {
  return (hash ^ (uint64_t)(what + 1)) * 0x9E3779B97F4A7C15u;
}

/* Is the number at `at` a value: the last ones, or one with decimals? */
static int is_value(const struct attn_fact_reader *r, int at, int last) {
  if (attn_fact_is_kind(r, at, TOKEN_VALUE)) return 1;
  return attn_fact_is_kind(r, at, TOKEN_NUMBER) && (at >= last || !attn_fact_is_whole(r, at));
}

/* The numbers at the end of the line, and how many there are in front of them. */
static int last_numbers(const struct attn_fact_reader *r, int *others) {
  int last = -1;
  *others = 0;
  for (int n = 0; n < r->tokens; n++) {
    if (!attn_fact_is_kind(r, n, TOKEN_NUMBER) && !attn_fact_is_kind(r, n, TOKEN_VALUE)) continue;
    if (last >= 0) *others += is_value(r, last, r->tokens);
    last = n;
    n = numbers_end(r, n) - 1;
  }
  return last;
}

static int add_cells(struct attn_fact_reader *r, struct attn_fact *f, int at) {
  int count;
  const attn_cell *cell = cells_of(r, at, at + 1, &count);
  attn_cell *all = attn_group_take(r->g, (size_t)(f->cells + count + 1), sizeof *all);
  if (!cell || !all) return 0;
  if (f->cells) memcpy(all, f->cell, (size_t)f->cells * sizeof *all);
  memcpy(all + f->cells, cell, (size_t)count * sizeof *all);
  f->cell = all;
  f->cells += count;
  return 1;
}

/* The words in front of a number, with their index: w1 of "w1 0.3"; -1: nothing since the number
 * before it. */
static int word_before(struct attn_fact_reader *r, int at) {
  int end = at, begin;
  while (end > 0 && attn_fact_is_kind(r, end - 1, TOKEN_SIGN)) end--;
  for (begin = end; begin > 0 && attn_fact_is_kind(r, begin - 1, TOKEN_INDEX);) begin--;
  if (!attn_fact_is_kind(r, begin - 1, TOKEN_WORD)) return -1;
  struct attn_part p = {r->token[begin - 1].part.begin, r->token[end - 1].part.end};
  return attn_fact_word(r->g, r->line->text, p);
}

/* All words and counts of a line are keys, whatever is between them: what recurs in other lines is
 * a table. Of several results in a line only if it is to be read so. */
static void read_whole(struct attn_fact_reader *r) {
  struct attn_fact f = {.value = -1, .template = 1};
  int others, last = last_numbers(r, &others), each = r->g->scan->left->whole_lines, vectors = 0;
  int *header = attn_group_take(r->g, (size_t)(r->tokens + 1), sizeof *header);
  if (!header) return;
  if (last < 0 || (others && !r->g->scan->left->whole_lines)) return;
  for (int n = 0; n < r->tokens; n++) {
    const struct attn_fact_token *t = &r->token[n];
    f.template = mix(f.template, t->kind == TOKEN_SIGN ? t->sign : 256 + t->kind);
    if (is_value(r, n, last) || (each && t->kind == TOKEN_NUMBER)) {
      vectors |= t->kind == TOKEN_VALUE || attn_fact_is_kind(r, n - 1, TOKEN_NUMBER);
      header[f.cells] = word_before(r, n);
      if (!add_cells(r, &f, n)) return;
    } else if (t->kind != TOKEN_SIGN) {
      int is_name =
          n == 0 && (attn_fact_is_kind(r, 1, TOKEN_INDEX) || attn_fact_is_sign(r, 1, "(["));
      int kind = t->kind != TOKEN_WORD ? ATTN_KEY_INDEX : is_name ? ATTN_KEY_NAME : ATTN_KEY_WORD;
      if (!add_key(r, &f, kind, t->part)) return;
    }
  }
  if (each && !vectors && f.cells > 1) f.header = header;
  if (f.keys) add_fact(r, &f);
}

/* ---- tables ---- */

static struct attn_part field_text(const struct attn_row *row, int item) {
  struct attn_part p = {row->item[item].begin, row->item[item].end};
  const char *text = row->line->text;
  while (p.begin < p.end && strchr("*_`\"' ", text[p.begin])) p.begin++;
  while (p.begin < p.end && strchr("*_`\"' ", text[p.end - 1])) p.end--;
  return p;
}

/* "0.1, 0.2": the numbers of one field. */
static int read_list(struct attn_fact_reader *r, const struct attn_row *row, int item,
                     struct attn_fact *f) {
  attn_fact_tokens(r, (struct attn_part){row->item[item].begin, row->item[item].end});
  for (int n = 0; n < r->tokens; n++)
    if (r->token[n].kind != TOKEN_NUMBER && !attn_fact_is_sign(r, n, ",;()[]")) return 0;
  if (r->tokens < 2) return 0;
  f->cell = cells_of(r, 0, r->tokens, &f->cells);
  return f->cell && f->cells > 1;
}

/* "|---|" */
static int is_rule(const char *text) { return text[strspn(text, " \t-=|+:_*")] == 0; }

/* All fields are words: the header of the rows below. */
static int read_header(struct attn_fact_reader *r, const struct attn_row *row) {
  struct attn_grouping *g = r->g;
  struct attn_fact f;
  for (int n = 0; n < row->items; n++)
    if (row->item[n].begin < row->item[n].end &&
        (row->item[n].kind != ATTN_ITEM_TEXT || read_list(r, row, n, &f)))
      return 0;
  if (is_rule(row->line->text)) return 1;
  g->facts->header = *row;
  g->facts->header_word = attn_group_take(g, (size_t)row->items, sizeof *g->facts->header_word);
  if (!g->facts->header_word) return 0;
  for (int n = 0; n < row->items; n++)
    g->facts->header_word[n] = attn_fact_word(g, row->line->text, field_text(row, n));
  return 1;
}

static int has_header(const struct attn_facts *f, const struct attn_row *row) {
  return f->header.items == row->items && f->header.style == row->style;
}

/* Each list of a row is a fact of its own. */
static int read_lists(struct attn_fact_reader *r, const struct attn_row *row,
                      const struct attn_fact *keys) {
  int found = 0;
  if (!has_header(r->g->facts, row)) return 0;
  for (int n = 0; n < row->items; n++) {
    struct attn_fact f = *keys;
    const struct attn_row_item *item = &row->item[n];
    if (item->kind == ATTN_ITEM_TEXT ? !read_list(r, row, n, &f) : item->kind != ATTN_ITEM_VALUE)
      continue;
    if (item->kind == ATTN_ITEM_VALUE) {
      const attn_printing *grid = r->g->lines->value[item->value].grid;
      f.value = item->value;
      f.cell = grid->cells;
      f.cells = grid->cols;
    }
    if (f.keys == ATTN_FACT_KEYS) continue;
    f.key[f.keys++] = (struct attn_key){ATTN_KEY_NAME, r->g->facts->header_word[n]};
    add_fact(r, &f);
    found = 1;
  }
  return found;
}

static int is_number(const struct attn_row_item *item) {
  return item->kind == ATTN_ITEM_CELL && item->cell.kind != ATTN_CELL_BLANK;
}

/* A token, also "x". */
static int is_word(const struct attn_row *row, int item) {
  const struct attn_row_item *i = &row->item[item];
  return i->kind == ATTN_ITEM_TEXT ||
         (i->kind == ATTN_ITEM_CELL && i->begin < i->end && i->cell.kind == ATTN_CELL_BLANK &&
          attn_fact_letter(row->line->text, i->begin, i->end) > i->begin);
}

static int is_list(struct attn_fact_reader *r, const struct attn_row *row, int item) {
  struct attn_fact f = {.value = -1};
  return row->item[item].kind == ATTN_ITEM_TEXT && read_list(r, row, item, &f);
}

/* A field as a key: q1 is the name q and an index. 0: too many. */
static int add_field_key(struct attn_fact_reader *r, struct attn_fact *f, struct attn_part p) {
  const char *text = r->line->text;
  size_t name = attn_fact_letter(text, p.begin, p.end), at = name + (text[name] == '_');
  if (name == p.begin || at >= p.end || strspn(text + at, "0123456789") < p.end - at)
    return add_key(r, f, ATTN_KEY_WORD, p);
  return add_key(r, f, ATTN_KEY_NAME, (struct attn_part){p.begin, name}) &&
         add_key(r, f, ATTN_KEY_INDEX, (struct attn_part){at, p.end});
}

/* Nothing below a header, after the last number: where other rows have a comment, perhaps. */
static int is_blank_comment(const struct attn_facts *f, const struct attn_row *row, int item) {
  if (!has_header(f, row) || row->item[item].begin < row->item[item].end) return 0;
  while (item < row->items && !is_number(&row->item[item])) item++;
  return item == row->items;
}

static void read_fields(struct attn_fact_reader *r, const struct attn_row *row) {
  struct attn_fact f = {.value = -1};
  attn_cell *cell = attn_group_take(r->g, (size_t)row->items, sizeof *cell);
  int *header = attn_group_take(r->g, (size_t)row->items, sizeof *header);
  if (!cell || !header) return;
  for (int n = 0; n < row->items; n++) {
    if (is_word(row, n) && !is_list(r, row, n) && !add_field_key(r, &f, field_text(row, n))) return;
    if (is_blank_comment(r->g->facts, row, n) && !add_field_key(r, &f, field_text(row, n))) return;
    if (!is_number(&row->item[n])) continue;
    if (has_header(r->g->facts, row))
      header[f.cells] = r->g->facts->header_word[n], f.header = header;
    cell[f.cells++] = row->item[n].cell;
  }
  read_lists(r, row, &f);
  f.cell = cell;
  if (f.cells) add_fact(r, &f);
}

/* ---- lines ---- */

static int is_blank(const char *text) { return text[strspn(text, " \t\r\f\v")] == 0; }

/* "== cat ==", "- cat": the words, with what is between them. */
static struct attn_part words_of(const struct attn_fact_reader *r) {
  struct attn_part p = {0, 0};
  for (int n = 0; n < r->tokens; n++) {
    if (r->token[n].kind == TOKEN_SIGN) continue;
    if (!p.end) p.begin = r->token[n].part.begin;
    p.end = r->token[n].part.end;
  }
  return p;
}

static void read_section(struct attn_fact_reader *r) {
  struct attn_facts *f = r->g->facts;
  struct attn_part p = words_of(r);
  int indent = (int)strspn(r->line->text, " \t");
  if (!p.end) return;
  if (indent > f->indent) f->outer = f->section, f->outer_indent = f->indent;
  if (indent <= f->outer_indent) f->outer = -1;
  f->indent = indent;
  f->section =
      attn_fact_word(r->g, r->line->text, attn_part_last(r->line->text, p, SECTION_CHARACTERS));
}

static int is_table_row(const struct attn_facts *f, const struct attn_row *row) {
  return row->style < ATTN_ROW_COMMAS || (row->style == ATTN_ROW_COMMAS &&
                                          (has_header(f, row) || !strpbrk(row->line->text, "=:(")));
}

void attn_facts_line(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct attn_facts *f = g->facts;
  struct attn_row row;
  if (f->is_full || is_blank(line->text)) return;
  f->line++;
  if (!f->reader) f->reader = attn_group_take(g, 1, sizeof *f->reader);
  struct attn_fact_reader *r = f->reader;
  if (!r) return;
  r->g = g, r->line = line, r->place = NULL;
  if (attn_row_read(g, line, &row) && is_table_row(f, &row)) {
    if (!read_header(r, &row)) read_fields(r, &row);
    return;
  }
  if (!is_rule(line->text)) f->header.items = 0;
  attn_fact_tokens(r, (struct attn_part){0, line->bytes});
  if (r->tokens == ATTN_FACT_TOKENS_MAX) return;
  if (attn_fact_is_sign(r, 0, ">"))
    memmove(r->token, r->token + 1, (size_t)--r->tokens * sizeof *r->token);
  int facts = f->facts;
  read_whole(r);
  read_terms(r);
  if (f->facts == facts) read_section(r);
}
