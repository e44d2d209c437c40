#include "facts.h"

#include <string.h>

#include "fact_tokens.h"

enum { LABEL_WORDS = 4, SECTION_CHARACTERS = 60 };

/* ---- words ---- */

/* The index of a word, which is added if it is a new one. */
static int word_index(struct attn_fact_reader *r, struct attn_part part) {
  struct attn_grouping *g = r->g;
  struct attn_facts *f = g->facts;
  const char *text = r->line->text;
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

/* One key too many is counted, but not kept. */
static void add_key(struct attn_fact_reader *r, struct attn_fact *f, int kind, int token) {
  if (f->keys < ATTN_FACT_KEYS)
    f->key[f->keys] = (struct attn_key){kind, word_index(r, r->token[token].part)};
  if (f->keys <= ATTN_FACT_KEYS) f->keys++;
}

static void add_fact(struct attn_fact_reader *r, struct attn_fact *fact) {
  struct attn_grouping *g = r->g;
  struct attn_facts *f = g->facts;
  if (f->facts == ATTN_FACTS_MAX) {
    f->is_full = 1;
    return;
  }
  if (!r->block) r->block = attn_block_begin(g, ATTN_BLOCK_TURNS, r->line->line, "");
  if (!r->block) return;
  fact->block = r->block;
  fact->section = f->section;
  if (attn_group_grow(g, (void **)&f->fact, (size_t)f->facts, sizeof *f->fact))
    f->fact[f->facts++] = *fact;
}

/* ---- equations and lists ---- */

/* The sign that closes what is open at `at`, or the end. */
static int closing(const struct attn_fact_reader *r, int at) {
  int depth = 0;
  for (; at < r->tokens; at++) {
    depth += attn_fact_is_sign(r, at, "([") - attn_fact_is_sign(r, at, ")]");
    if (depth == 0) break;
  }
  return at;
}

/* The end of the numbers in a row at `at`. */
static int numbers_end(const struct attn_fact_reader *r, int at) {
  if (attn_fact_is_kind(r, at, TOKEN_VALUE)) return at + 1;
  for (at++; at < r->tokens; at++) {
    int next = at + attn_fact_is_sign(r, at, ",;|");
    if (!attn_fact_is_kind(r, next, TOKEN_NUMBER)) break;
    at = next;
  }
  return at;
}

static void add_words(struct attn_fact_reader *r, struct attn_fact *f, int begin, int end) {
  for (int n = begin; n < end; n++) {
    int is_word = attn_fact_is_kind(r, n, TOKEN_WORD);
    if (is_word || attn_fact_is_kind(r, n, TOKEN_INDEX) || attn_fact_is_whole(r, n))
      add_key(r, f, is_word ? ATTN_KEY_WORD : ATTN_KEY_INDEX, n);
  }
}

/* A formula that has a label only, as "cat: 0.52 / 1.414 =", is called by its first sign. */
static void add_operation(struct attn_fact_reader *r, struct attn_fact *f, int begin, int end) {
  for (int n = begin + 1; n < end; n++)
    if (attn_fact_is_kind(r, n, TOKEN_SIGN) && attn_fact_is_kind(r, n - 1, TOKEN_NUMBER))
      return add_key(r, f, ATTN_KEY_NAME, n);
}

/* s of "so s12 =", with its indices; score of "score(the, cat) =". */
static void add_name(struct attn_fact_reader *r, struct attn_fact *f, int begin, int end) {
  int open = end;
  if (attn_fact_is_sign(r, end - 1, ")]"))
    for (open = end - 1; open > begin && !attn_fact_is_sign(r, open, "([");) open--;
  int name = open - 1;
  if (name == begin + 1 && attn_fact_is_whole(r, name)) name--; /* "score 1 = 3" */
  while (name >= begin && r->token[name].kind == TOKEN_INDEX) name--;
  if (name < begin || !attn_fact_is_kind(r, name, TOKEN_WORD)) {
    if (f->keys) add_operation(r, f, begin, end);
    return;
  }
  add_key(r, f, ATTN_KEY_NAME, name);
  add_words(r, f, name + 1, end);
}

/* The keys of the numbers after [begin, end). 0: none, or it is a sentence. */
static int read_keys(struct attn_fact_reader *r, struct attn_fact *f, int begin, int end) {
  int equals = begin, keys = f->keys;
  while (equals < end && !attn_fact_is_sign(r, equals, "=")) equals++;
  if (equals == end)
    add_words(r, f, begin, end);
  else
    add_name(r, f, begin, equals);
  return f->keys > 0 && f->keys <= ATTN_FACT_KEYS && (f->keys > keys || equals == end);
}

/* The cells of the tokens. 0: a matrix. */
static int read_cells(struct attn_fact_reader *r, struct attn_fact *f, int begin, int end) {
  f->value = r->token[begin].value;
  if (attn_fact_is_kind(r, begin, TOKEN_VALUE)) {
    if (!attn_group_is_value(r->g, f->value)) return 0;
    const struct attn_scan_value *v = &r->g->lines->value[f->value];
    f->cell = v->grid[0].cells, f->cells = v->grid[0].cols;
    return v->grids == 1 && v->grid[0].rows == 1;
  }
  attn_cell *cell = attn_group_take(r->g, (size_t)(end - begin), sizeof *cell);
  for (int n = begin; cell && n < end; n++)
    if (attn_fact_is_kind(r, n, TOKEN_NUMBER)) cell[f->cells++] = r->token[n].cell;
  f->cell = cell;
  return cell != NULL;
}

/* The arrow of "cat → sat", not of "q·k → 0.5". */
static int is_between_words(const struct attn_fact_reader *r, int at) {
  return attn_fact_is_kind(r, at - 1, TOKEN_WORD) && attn_fact_is_kind(r, at + 1, TOKEN_WORD) &&
         r->line->text[r->token[at].part.begin] != '=';
}

/* "cat: 0.5, dog: 0.3": is a number after the colon at `at`, and then another colon? */
static int has_next_label(const struct attn_fact_reader *r, int at) {
  int n = at + 1;
  while (n < r->tokens && !attn_fact_is_sign(r, n, ":")) n++;
  return n < r->tokens && attn_fact_is_kind(r, at + 1, TOKEN_NUMBER);
}

/* "cat:", "cat → sat:" in front of all numbers of a line: how many tokens. */
static int label_end(const struct attn_fact_reader *r) {
  int words = 0;
  for (int n = 0; n < r->tokens && words <= LABEL_WORDS; n++) {
    if (attn_fact_is_sign(r, n, ":")) return words && !has_next_label(r, n) ? n + 1 : 0;
    if ((attn_fact_is_sign(r, n, "=") && !is_between_words(r, n)) ||
        attn_fact_is_kind(r, n, TOKEN_VALUE) ||
        (attn_fact_is_kind(r, n, TOKEN_NUMBER) && !attn_fact_is_whole(r, n)))
      return 0;
    words += r->token[n].kind != TOKEN_SIGN;
  }
  return 0;
}

static int is_worked(const struct attn_fact_reader *r, int at) {
  return attn_fact_is_sign(r, at, "+-*/?^") || attn_fact_is_kind(r, at, TOKEN_VALUE);
}

/* Where the next side of an equation begins, if the numbers that end at `at` are worked out; `at`:
 * they are not. */
static int next_side(const struct attn_fact_reader *r, int at) {
  if (attn_fact_is_sign(r, at, "=")) return at + 1;
  if (!is_worked(r, at) && !attn_fact_is_sign(r, at, "([)]")) return at;
  for (int n = at; n < r->tokens; n++)
    if (attn_fact_is_sign(r, n, "=")) return n + 1;
  return at;
}

static void read_terms(struct attn_fact_reader *r) {
  struct attn_fact label = {.value = -1};
  int begin = label_end(r);
  add_words(r, &label, 0, begin);
  for (int at = begin; at < r->tokens;) {
    if (attn_fact_is_sign(r, at, "([") && attn_fact_is_kind(r, at - 1, TOKEN_WORD)) {
      at = closing(r, at);
    } else if (!attn_fact_is_kind(r, at, TOKEN_NUMBER) && !attn_fact_is_kind(r, at, TOKEN_VALUE)) {
      at++;
    } else {
      struct attn_fact f = label;
      int end = numbers_end(r, at), side = next_side(r, end);
      if (side == end && !is_worked(r, end) && read_keys(r, &f, begin, at) &&
          read_cells(r, &f, at, end))
        add_fact(r, &f);
      if (side == end) begin = end;
      at = side;
    }
  }
}

/* ---- lines ---- */

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
  if (!p.end) return;
  f->section = word_index(r, attn_part_last(r->line->text, p, SECTION_CHARACTERS));
}

void attn_facts_line(struct attn_grouping *g, const struct attn_scan_line *line) {
  static const char ASIDE[] =
      "(?i)\\b(?:common|typical) (?:mistake|error|slip)|\\bwould\\b|よくある(?:間違い|誤り|ミス)";
  struct attn_facts *f = g->facts;
  if (f->is_full || attn_occurs(g->scan->patterns, ASIDE, line->text)) return;
  if (!f->reader) f->reader = attn_group_take(g, 1, sizeof *f->reader);
  struct attn_fact_reader *r = f->reader;
  if (!r) return;
  r->g = g, r->line = line, r->block = NULL;
  attn_fact_tokens(r);
  if (r->tokens == ATTN_FACT_TOKENS_MAX) return;
  int facts = f->facts;
  read_terms(r);
  if (f->facts == facts) read_section(r);
}
