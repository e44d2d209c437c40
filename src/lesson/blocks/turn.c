#include <stdint.h>
#include <string.h>

#include "blocks.h"

/* Rows that recur: query by query the same 2 to 7 blocks, of the same lengths and names. */
enum { PERIOD_MIN = 2, PERIOD_MAX = 7, LINES_MAX = 400, WORDS = 2 };

/* ---- parts of one matrix ---- */

static int read_label(struct attn_grouping *g, char *text, struct attn_label *label) {
  return attn_label_read(g->scan->pool, text, label) || attn_group_no_memory(g);
}

/* b continues a: q1 = [..] in one line, q2 = [..] in another. */
static int is_next_row(struct attn_grouping *g, const struct attn_block *a,
                       const struct attn_block *b) {
  struct attn_label last, first;
  int is_vector = a->source == ATTN_BLOCK_VECTORS || a->source == ATTN_BLOCK_INLINE;
  if (!is_vector || a->source != b->source || b->reading[0].rows != 1 || !a->labels || !b->labels ||
      a->reading[0].cols != b->reading[0].cols)
    return 0;
  if (!read_label(g, a->label[a->labels - 1], &last) || !read_label(g, b->label[0], &first))
    return 0;
  return attn_same_stem(&last, &first) &&
         (first.index > 0 ? first.index : 0) == (last.index > 0 ? last.index : 0) + 1;
}

/* The symbol in front of the first sign of equality. 0: no memory. */
static int read_symbol(struct attn_grouping *g, const struct attn_block *b,
                       struct attn_label *label) {
  struct attn_part p = {0, strcspn(b->name, "=:")};
  char *text = attn_group_text(g, b->name, p);
  return text && read_label(g, text, label);
}

static int is_column(const struct attn_block *b, int rows) {
  const attn_printing *p = &b->reading[0];
  return b->source == ATTN_BLOCK_GRID && p->cols == 1 && p->rows == rows;
}

static int make_vector(struct attn_grouping *g, struct attn_block *b,
                       const struct attn_label *label) {
  attn_printing *p = &b->reading[0];
  if (attn_pool_grow(g->scan->pool, (void **)&b->label, 0, sizeof *b->label))
    return attn_group_no_memory(g);
  b->label[0] = label->text;
  b->labels = 1;
  b->source = ATTN_BLOCK_VECTORS;
  p->cols = p->rows, p->rows = 1;
  return 1;
}

/* Upright vectors q_1 = .., q_2 = ..: vectors as in lines of their own. 0: no memory. */
static int turn_columns(struct attn_grouping *g, struct attn_block *a, struct attn_block *b) {
  struct attn_label first, next;
  int rows = a->source == ATTN_BLOCK_VECTORS ? a->reading[0].cols : a->reading[0].rows;
  if (rows < 2 || !is_column(b, rows) || (a->source != ATTN_BLOCK_VECTORS && !is_column(a, rows)))
    return 1;
  if (!read_symbol(g, a, &first) || !read_symbol(g, b, &next)) return 0;
  int count = a->source == ATTN_BLOCK_VECTORS ? a->reading[0].rows : 1;
  if (first.index < 0 || !attn_same_stem(&first, &next) || next.index != first.index + count)
    return 1;
  return (count > 1 || a->source == ATTN_BLOCK_VECTORS || make_vector(g, a, &first)) &&
         make_vector(g, b, &next);
}

static int append(struct attn_grouping *g, struct attn_block *a, const struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  for (int r = 0; r < p->rows; r++)
    if (!attn_block_copy_row(g, a, p->cells + (size_t)r * (size_t)p->cols, p->cols,
                             r < b->labels ? b->label[r] : ""))
      return 0;
  a->end = b->end;
  a->readings = 1;
  return 1;
}

/* A number alone in its sentence is not a block. */
static int is_single(struct attn_grouping *g, const struct attn_block *b) {
  if (b->source != ATTN_BLOCK_SCALARS || b->reading[0].rows * b->reading[0].cols > 1) return 0;
  attn_stray_cell(g, b->name, &b->reading[0].cells[0], 1);
  return 1;
}

static void merge_parts(struct attn_grouping *g) {
  int kept = 0;
  for (int n = 0; n < g->blocks && g->status == ATTN_OK; n++) {
    struct attn_block *b = g->block[n], *last = kept ? g->block[kept - 1] : NULL;
    if (!is_single(g, b)) {
      if (b->source == ATTN_BLOCK_SCALARS && b->reading[0].rows == 1)
        attn_block_add_shapes(b, b->reading[0].cols);
      if (last && turn_columns(g, last, b) && is_next_row(g, last, b))
        append(g, last, b);
      else
        g->block[kept++] = b;
    }
  }
  g->blocks = kept;
}

/* ---- turns ---- */

/* The last words of a block's name. */
struct words {
  int count;
  struct attn_part word[WORDS]; /* the nearest last */
};

static size_t word_character(const char *text, size_t at, size_t end) {
  size_t next;
  uint32_t c = attn_code_point(text, at, end, &next);
  int is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= 0x3040 && c <= 0x9FFF);
  return is_letter ? next : at;
}

static size_t word_end(const char *text, size_t at, size_t end) {
  size_t next = at;
  while (at < end && (next = word_character(text, at, end)) != at) at = next;
  return at;
}

static struct words last_words(const char *text) {
  struct words w = {.count = 0};
  size_t bytes = strlen(text), end;
  for (size_t at = 0; at<bytes; at = end> at ? end : at + 1) {
    end = word_end(text, at, bytes);
    if (end == at) continue;
    if (w.count == WORDS) w.word[0] = w.word[1], w.count--;
    w.word[w.count++] = (struct attn_part){at, end};
  }
  return w;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static int same_word(const char *a, struct attn_part p, const char *b, struct attn_part q) {
  if (p.end - p.begin != q.end - q.begin) return 0;
  for (size_t n = 0; n < p.end - p.begin; n++)
    if (lower(a[p.begin + n]) != lower(b[q.begin + n])) return 0;
  return 1;
}

/* The blocks of the document, and the last words of each. */
struct turns {
  struct attn_block **block;
  struct words *words;
  int blocks;
};

/* The step that the line above calls the block, -1: none. */
static int caption_step(const struct attn_block *b) {
  return b->captions ? attn_label_step(b->caption[b->captions - 1]) : -1;
}

static int same_words(const struct turns *t, int a, int b) {
  const struct words *x = &t->words[a], *y = &t->words[b];
  if (x->count != y->count || caption_step(t->block[a]) != caption_step(t->block[b])) return 0;
  for (int n = 0; n < x->count; n++)
    if (!same_word(t->block[a]->name, x->word[n], t->block[b]->name, y->word[n])) return 0;
  return 1;
}

static int is_row(const struct attn_block *b) {
  return b->reading[0].rows == 1 && b->source != ATTN_BLOCK_GRID && b->source != ATTN_BLOCK_TURNS;
}

/* Do the blocks from `from` on repeat the shapes of the period at `at`? */
static int repeats(const struct turns *t, int at, int from, int period) {
  if (from + period > t->blocks) return 0;
  for (int n = 0; n < period; n++) {
    const struct attn_block *a = t->block[at + n], *b = t->block[from + n];
    if (!is_row(a) || !is_row(b) || a->reading[0].cols != b->reading[0].cols ||
        b->end - t->block[at]->line >= LINES_MAX)
      return 0;
  }
  return 1;
}

/* How often a period at `at` occurs, 1 if not again. Names are compared of the first two only, and
 * before all else: what follows is then taken, so that no block is visited often. */
static int count_turns(const struct turns *t, int at, int period) {
  int turns = 2;
  if (!repeats(t, at, at + period, period)) return 1;
  for (int n = 0; n < period; n++)
    if (!same_words(t, at + n, at + period + n)) return 1;
  while (repeats(t, at, at + turns * period, period)) turns++;
  return turns;
}

static void join_turns(struct attn_grouping *g, const struct turns *t, int at, int period,
                       int turns) {
  for (int n = 0; n < period; n++) {
    struct attn_block *b = t->block[at + n];
    for (int r = 1; r < turns && g->status == ATTN_OK; r++)
      append(g, b, t->block[at + r * period + n]);
    b->source = ATTN_BLOCK_TURNS;
    b->readings = 1;
  }
}

static void merge_turns(struct attn_grouping *g, const struct turns *t) {
  int kept = 0;
  for (int at = 0; at < t->blocks && g->status == ATTN_OK;) {
    int period = PERIOD_MIN, turns = 1;
    while (period <= PERIOD_MAX && (turns = count_turns(t, at, period)) < 2) period++;
    if (turns < 2) period = 1;
    if (turns >= 2) join_turns(g, t, at, period, turns);
    for (int n = 0; n < period; n++) g->block[kept++] = t->block[at + n];
    at += turns < 2 ? 1 : period * turns;
  }
  g->blocks = kept;
}

/* ---- vectors of one line that share a name ---- */

static int is_nameless(const struct attn_block *b, int line) {
  return (b->source == ATTN_BLOCK_VECTORS || b->source == ATTN_BLOCK_ROWS) && !*b->name &&
         b->line == line;
}

static void count_siblings(struct attn_grouping *g) {
  for (int n = 0, end; n < g->blocks; n = end) {
    int line = g->block[n]->line, count = 0;
    for (end = n; end < g->blocks && g->block[end]->line == line; end++)
      count += is_nameless(g->block[end], line);
    for (int i = n; count > 1 && i < end; i++)
      if (is_nameless(g->block[i], line)) g->block[i]->siblings = count;
  }
}

void attn_turns_merge(struct attn_grouping *g) {
  struct turns t;
  merge_parts(g);
  t.blocks = g->blocks;
  t.words = attn_pool_take(g->scan->pool, (size_t)t.blocks * sizeof *t.words);
  t.block = attn_pool_take(g->scan->pool, (size_t)t.blocks * sizeof(struct attn_block *));
  if (!t.words || !t.block) attn_group_no_memory(g);
  if (g->status != ATTN_OK) return;
  for (int n = 0; n < t.blocks; n++) {
    t.block[n] = g->block[n];
    t.words[n] = last_words(g->block[n]->name);
  }
  merge_turns(g, &t);
  count_siblings(g);
}
