/* recurring.c -- vectors that recur with the same words: query, key and value of each token, what
 * is computed of each key in turn. Each of them is a row of a matrix. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "cell.h"

enum { WORDS = 6, INDEX_DIGITS = 2, VECTORS_MAX = 600, PERIOD_MAX = 12 };

/* ---- the words of a name ---- */

/* The last words of a name, the last one first. A number is a word, too. */
struct recurring_words {
  int count;
  struct attn_part word[WORDS];
};

static int is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (unsigned char)c > 127;
}

/* Does a bracket or stop of Japanese end at `end`: U+3000 .. U+303F? */
static int ends_in_sign(const char *name, size_t end) {
  return end > 2 && memcmp(name + end - 3, "\xE3\x80", 2) == 0;
}

static void read_words(const char *name, struct recurring_words *out) {
  size_t end = strlen(name);
  for (out->count = 0; end > 0 && out->count < WORDS;) {
    int number = attn_is_digit(name[end - 1]);
    size_t begin = end;
    while (begin > 0 && !ends_in_sign(name, begin) &&
           (number ? attn_is_digit(name[begin - 1]) : is_letter(name[begin - 1])))
      begin--;
    if (begin < end) out->word[out->count++] = (struct attn_part){begin, end};
    end = begin < end ? begin : end - (ends_in_sign(name, end) ? 3 : 1);
  }
}

/* Of an index; -1: the number is a value, as 0.25. */
static long index_of(const char *name, struct attn_part word) {
  int is_part = (word.begin > 0 && name[word.begin - 1] == '.') || name[word.end] == '.';
  return is_part || word.end - word.begin > INDEX_DIGITS ? -1 : strtol(name + word.begin, NULL, 10);
}

/* Equal but for a capital, or two indices that are `step` apart, or two values. */
static int same_word(const char *a, struct attn_part x, const char *b, struct attn_part y,
                     int step) {
  size_t bytes = x.end - x.begin;
  if (bytes == y.end - y.begin && (a[x.begin] | 32) == (b[y.begin] | 32) &&
      memcmp(a + x.begin + 1, b + y.begin + 1, bytes - 1) == 0)
    return 1;
  if (!attn_is_digit(a[x.begin]) || !attn_is_digit(b[y.begin])) return 0;
  long i = index_of(a, x), j = index_of(b, y);
  return i < 0 || j < 0 ? i < 0 && j < 0 : j - i == step;
}

/* In how many words two names differ; WORDS: in their length, or in all. step: the indices of b are
 * those of a, or so many more. *first: the first of these words of a. */
static int differing_words(const char *a, const char *b, int step, struct attn_part *first) {
  struct recurring_words x, y;
  int differ = 0;
  read_words(a, &x);
  read_words(b, &y);
  if (x.count != y.count) return WORDS;
  for (int n = 0; n < x.count; n++) {
    if (same_word(a, x.word[n], b, y.word[n], step)) continue;
    differ++;
    if (first) *first = x.word[n];
  }
  return differ == x.count ? WORDS : differ;
}

int attn_name_recurs(const char *a, const char *b, int step) {
  return strcmp(a, b) != 0 && differing_words(a, b, step, NULL) == 0;
}

/* ---- vectors in the order of the document ---- */

struct recurring_vector {
  int block, row, cols;
  const char *name; /* NULL: not a vector, but a matrix */
  const attn_cell *cell;
  int recurs;
};

struct recurring {
  struct attn_grouping *g;
  int vectors;
  struct recurring_vector *vector;
};

/* Rows of different things, each with its name? */
static int is_list_of_vectors(const struct attn_block *b) {
  if (b->source != ATTN_BLOCK_VECTORS || b->labels != b->reading[0].rows) return 0;
  for (int n = 0; n < b->labels; n++)
    if (!*b->label[n] || (n > 0 && differing_words(b->label[n - 1], b->label[n], 1, NULL) == 0))
      return 0;
  return 1;
}

static void add_vector(struct recurring *r, int block, int row, const char *name) {
  const attn_printing *p = &r->g->block[block]->reading[0];
  if (r->vectors == VECTORS_MAX) return;
  r->vector[r->vectors++] =
      (struct recurring_vector){.block = block,
                                .row = row,
                                .cols = p->cols == 1 ? p->rows : p->cols,
                                .name = name && *name ? name : NULL,
                                .cell = p->cells + (size_t)row * (size_t)p->cols};
}

static void find_vectors(struct recurring *r) {
  for (int n = 0; n < r->g->blocks; n++) {
    const struct attn_block *b = r->g->block[n];
    const attn_printing *p = &b->reading[0];
    int is_column = b->source == ATTN_BLOCK_GRID && p->cols == 1 && p->rows > 1;
    if (p->rows > 1 && !is_column && is_list_of_vectors(b))
      for (int row = 0; row < p->rows; row++) add_vector(r, n, row, b->label[row]);
    else if (p->rows == 1 || is_column)
      add_vector(r, n, 0, *b->name || !b->labels ? b->name : b->label[0]);
    else
      add_vector(r, n, 0, NULL);
  }
}

/* ---- what recurs ---- */

/* A word of a name that is a token's; text NULL: not seen yet. */
struct recurring_token {
  const char *text;
  struct attn_part word;
};

/* Vector b is vector a, `step` turns later. token: of the turn of b; NULL: names do not differ. */
static int is_again(const struct recurring *r, int a, int b, int step,
                    struct recurring_token *token) {
  const struct recurring_vector *x = &r->vector[a], *y = &r->vector[b];
  struct recurring_token own = {.text = y->name};
  if (!x->name || !y->name || x->cols != y->cols) return 0;
  int differ = differing_words(y->name, x->name, -step, &own.word);
  if (!differ || !token || differ > 1) return !differ;
  if (attn_is_digit(own.text[own.word.begin])) return 0; /* indices that do not count */
  if (!token->text) *token = own;
  return same_word(token->text, token->word, own.text, own.word, 0);
}

/* How many times the `period` vectors from n on occur in a row. tokens: 1 if their names may differ
 * in one word, the same for all of a turn. */
static int count_turns(const struct recurring *r, int n, int period, int tokens) {
  int turns = 1;
  for (; n + (turns + 1) * period <= r->vectors; turns++) {
    struct recurring_token token = {.text = NULL};
    for (int k = 0; k < period; k++)
      if (!is_again(r, n + k, n + turns * period + k, turns, tokens ? &token : NULL)) return turns;
  }
  return turns;
}

/* The period that most vectors from n on have; 0: none. */
static int find_period(const struct recurring *r, int n, int *turns) {
  int best = 0;
  *turns = 1;
  for (int tokens = 0; tokens < 2 && !best; tokens++)
    for (int period = 2; period <= PERIOD_MAX; period++) {
      int count = count_turns(r, n, period, tokens);
      if (count > 1 && count * period > best * *turns) best = period, *turns = count;
    }
  return best;
}

/* ---- matrices of what recurs ---- */

/* The word in which the names of a turn differ from those of another: a token. "": a number. */
static const char *token_of(struct recurring *r, int n, int period, int turn) {
  struct attn_part word = {0, 0};
  for (int k = 0; k < period; k++) {
    const char *name = r->vector[n + turn * period + k].name;
    const char *other = r->vector[n + (turn ? 0 : period) + k].name;
    if (differing_words(name, other, turn ? -turn : 1, &word) != 1) continue;
    const char *text = attn_group_text(r->g, name, word);
    return text ? text : "";
  }
  return "";
}

/* "U_a h1" is h of all keys. */
static char *name_of_all(struct recurring *r, const char *name) {
  struct attn_part p = attn_part_chop(name, (struct attn_part){0, strlen(name)}, " =:");
  size_t end = p.end;
  while (p.end > 0 && attn_is_digit(name[p.end - 1])) p.end--;
  if (p.end < end && p.end > 0 && index_of(name, (struct attn_part){p.end, end}) >= 0)
    return attn_group_text(r->g, name, attn_part_chop(name, p, "_"));
  return attn_group_text(r->g, name, (struct attn_part){0, strlen(name)});
}

static void stack_vectors(struct recurring *r, int n, int k, int period, int turns) {
  struct attn_grouping *g = r->g;
  const struct recurring_vector *first = &r->vector[n + k];
  struct attn_block *all =
      attn_block_in_place_of(g, g->block[first->block], name_of_all(r, first->name));
  if (!all || !attn_group_grow(g, (void **)&g->block, (size_t)g->blocks, sizeof *g->block)) return;
  all->source = ATTN_BLOCK_VECTORS;
  all->line = first->cell->line;
  for (int turn = 0; turn < turns && g->status == ATTN_OK; turn++) {
    const struct recurring_vector *v = &r->vector[n + turn * period + k];
    attn_block_copy_row(g, all, v->cell, v->cols, token_of(r, n, period, turn));
    all->end = v->cell->line;
  }
  g->block[g->blocks++] = all;
}

/* ---- all ---- */

/* Blocks whose vectors recur are replaced; other rows of them are not read. */
static void drop_blocks(struct recurring *r, int blocks) {
  struct attn_grouping *g = r->g;
  int kept = 0;
  for (int n = 0, v = 0; n < g->blocks && g->status == ATTN_OK; n++) {
    int recurs = 0, first = v;
    for (; n < blocks && v < r->vectors && r->vector[v].block == n; v++)
      recurs |= r->vector[v].recurs;
    for (int i = first; recurs && i < v; i++)
      for (int c = 0; !r->vector[i].recurs && c < r->vector[i].cols; c++)
        attn_stray_cell(g, (char *)r->vector[i].name, &r->vector[i].cell[c], 1);
    if (!recurs) g->block[kept++] = g->block[n];
  }
  g->blocks = kept;
}

void attn_recurring_merge(struct attn_grouping *g) {
  struct recurring r = {.g = g};
  int blocks = g->blocks, period, turns;
  r.vector = attn_group_take(g, VECTORS_MAX, sizeof *r.vector);
  if (g->status == ATTN_OK) find_vectors(&r);
  for (int n = 0; n < r.vectors && g->status == ATTN_OK; n += period ? period * turns : 1) {
    period = find_period(&r, n, &turns);
    for (int k = 0; k < period && g->status == ATTN_OK; k++) stack_vectors(&r, n, k, period, turns);
    for (int k = 0; k < period * turns; k++) r.vector[n + k].recurs = 1;
  }
  g->scan->regrouped += g->blocks - blocks;
  if (g->status != ATTN_OK || !g->scan->regrouped) return;
  drop_blocks(&r, blocks);
  attn_blocks_sort(g, 0);
}
