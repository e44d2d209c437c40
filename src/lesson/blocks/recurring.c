/* recurring.c -- vectors that recur with the same words: query, key and value of each token, what
 * is computed of each key in turn. Each of them is a row of a matrix. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "steps.h"

enum { WORDS = 6, INDEX_DIGITS = 2, BLOCKS_MAX = 600, PERIOD_MAX = 12 };

/* ---- the words of a name ---- */

/* The last words of a name, the last one first. A number is a word, too. */
struct recurring_words {
  int count;
  struct attn_part word[WORDS];
};

static int is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (unsigned char)c > 127;
}

static void read_words(const char *name, struct recurring_words *out) {
  size_t end = strlen(name);
  for (out->count = 0; end > 0 && out->count < WORDS;) {
    int number = attn_is_digit(name[end - 1]);
    size_t begin = end;
    while (begin > 0 && (number ? attn_is_digit(name[begin - 1]) : is_letter(name[begin - 1])))
      begin--;
    if (begin < end) out->word[out->count++] = (struct attn_part){begin, end};
    end = begin < end ? begin : end - 1;
  }
}

/* Of an index; -1: the number is a value, as 0.25. */
static long index_of(const char *name, struct attn_part word) {
  int is_part = (word.begin > 0 && name[word.begin - 1] == '.') || name[word.end] == '.';
  return is_part || word.end - word.begin > INDEX_DIGITS ? -1 : strtol(name + word.begin, NULL, 10);
}

/* Equal, or two indices that are `step` apart, or two values. */
static int same_word(const char *a, struct attn_part x, const char *b, struct attn_part y,
                     int step) {
  size_t bytes = x.end - x.begin;
  if (bytes == y.end - y.begin && memcmp(a + x.begin, b + y.begin, bytes) == 0) return 1;
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

/* The step that a word of a name calls; -1: none. */
static int step_of_word(struct attn_grouping *g, const char *name, struct attn_part word) {
  const char *text = attn_group_text(g, name, word);
  return text ? attn_step_called(text) : -1;
}

/* ---- what recurs ---- */

/* Of a block that is one vector. NULL: it is a matrix, or has no name. */
static const char *name_of(const struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  int is_column = b->source == ATTN_BLOCK_GRID && p->cols == 1;
  if (p->rows != 1 && !is_column) return NULL;
  const char *name = *b->name || !b->labels ? b->name : b->label[0];
  return *name ? name : NULL;
}

static int length_of(const struct attn_block *b) { return b->reading[0].rows * b->reading[0].cols; }

/* A word of a name that is a token's; text NULL: not seen yet. */
struct recurring_token {
  const char *text;
  struct attn_part word;
};

/* Block b is vector a, `step` turns later. token: of the turn of b; NULL: names do not differ. */
static int is_again(const struct attn_block *a, const struct attn_block *b, int step,
                    struct recurring_token *token) {
  const char *name = name_of(a);
  struct recurring_token own = {.text = name_of(b)};
  if (!name || !own.text || length_of(a) != length_of(b)) return 0;
  int differ = differing_words(own.text, name, -step, &own.word);
  if (!differ || !token || differ > 1) return !differ;
  if (attn_is_digit(own.text[own.word.begin])) return 0; /* indices that do not count */
  if (!token->text) *token = own;
  return same_word(token->text, token->word, own.text, own.word, 0);
}

/* Where vectors are apart, only those of lines recur, and only by the index of one of them at
 * least: "U h1 = [1, 0]", "sum = [1, 1]". */
static int may_recur(const struct attn_grouping *g, int n, int other, int period, int tokens) {
  int counts = 0;
  if (!g->scan->left->apart) return 1;
  for (int k = 0; k < period; k++) {
    const struct attn_block *a = g->block[n + k], *b = g->block[other + k];
    int is_line = a->source == ATTN_BLOCK_VECTORS || a->source == ATTN_BLOCK_ROWS;
    if (!is_line || tokens || !name_of(a) || !name_of(b)) return 0;
    counts |= strcmp(name_of(a), name_of(b)) != 0;
  }
  return counts;
}

/* How many times the `period` vectors from n on occur in a row. tokens: 1 if their names may differ
 * in one word, the same for all of a turn. */
static int count_turns(const struct attn_grouping *g, int n, int period, int tokens) {
  int turns = 1, end = g->blocks < BLOCKS_MAX ? g->blocks : BLOCKS_MAX;
  for (; n + (turns + 1) * period <= end; turns++) {
    struct recurring_token token = {.text = NULL};
    if (!may_recur(g, n, n + turns * period, period, tokens)) return turns;
    for (int k = n; k < n + period; k++)
      if (!is_again(g->block[k], g->block[k + turns * period], turns, tokens ? &token : NULL))
        return turns;
  }
  return turns;
}

/* The period that most vectors from n on have; 0: none. */
static int find_period(const struct attn_grouping *g, int n, int *turns) {
  int best = 0;
  *turns = 1;
  for (int tokens = 0; tokens < 2 && !best; tokens++)
    for (int period = 2; period <= PERIOD_MAX; period++) {
      int count = count_turns(g, n, period, tokens);
      if (count > 1 && count * period > best * *turns) best = period, *turns = count;
    }
  return best;
}

/* ---- matrices of what recurs ---- */

/* The word in which the names of a turn differ from those of another: a token. "": a number. */
static const char *token_of(struct attn_grouping *g, int n, int period, int turn) {
  struct attn_part word = {0, 0};
  for (int k = n; k < n + period; k++) {
    const char *name = name_of(g->block[k + turn * period]);
    const char *other = name_of(g->block[k + (turn ? 0 : period)]);
    if (differing_words(name, other, turn ? -turn : 1, &word) != 1) continue;
    const char *text = attn_group_text(g, name, word);
    return text ? text : "";
  }
  return "";
}

/* Do the names of two turns differ in q, k or v? */
static int differ_in_input(struct attn_grouping *g, int n, int period) {
  const char *name = name_of(g->block[n]);
  struct attn_part part;
  if (differing_words(name, name_of(g->block[n + period]), 1, &part) != 1) return 0;
  int step = step_of_word(g, name, part);
  return step >= ATTN_STEP_Q && step <= ATTN_STEP_V;
}

/* q1, q2: rows of a matrix */
static int are_rows(const struct attn_grouping *g, int n, int count) {
  for (int k = n; k + 1 < n + count; k++)
    if (!attn_name_recurs(name_of(g->block[k]), name_of(g->block[k + 1]), 1)) return 0;
  return 1;
}

/* Vector k of each turn. NULL: no memory. */
static struct attn_block *stack_vectors(struct attn_grouping *g, int n, int k, int period,
                                        int turns) {
  const struct attn_block *first = g->block[n + k];
  struct attn_block *all = attn_block_in_place_of(g, first, (char *)name_of(first));
  if (!all) return NULL;
  all->source = ATTN_BLOCK_VECTORS;
  all->line = first->reading[0].cells->line;
  for (int turn = 0; turn < turns; turn++) {
    const struct attn_block *b = g->block[n + turn * period + k];
    if (!attn_block_copy_row(g, all, b->reading[0].cells, length_of(b),
                             token_of(g, n, period, turn)))
      return NULL;
    all->end = b->reading[0].cells->line;
  }
  if (length_of(first) == 1) attn_block_add_reading(all, 1, turns, all->reading[0].cells);
  return all;
}

/* "e1 = 0.5" that does not recur is no block. */
static int is_single(struct attn_grouping *g, const struct attn_block *b) {
  if (b->source != ATTN_BLOCK_ROWS || length_of(b) > 1 || !*b->name) return 0;
  attn_stray_cell(g, b->name, &b->reading[0].cells[0], 1);
  return 1;
}

void attn_recurring_merge(struct attn_grouping *g) {
  int kept = 0, period, turns;
  for (int n = 0; n < g->blocks && g->status == ATTN_OK; n += period ? period * turns : 1) {
    struct attn_block *all[PERIOD_MAX] = {g->block[n]};
    period = find_period(g, n, &turns);
    if (period && differ_in_input(g, n, period)) /* "q1, q2", "k1, k2": each turn is a matrix */
      turns = period, period = are_rows(g, n, period);
    for (int k = 0; k < period; k++) all[k] = stack_vectors(g, n, k, period, turns);
    int count = period ? period : !is_single(g, all[0]);
    for (int k = 0; k < count; k++) g->block[kept++] = all[k];
    g->scan->regrouped += period;
  }
  g->blocks = kept;
  if (g->status == ATTN_OK) attn_blocks_sort(g, 0);
}
