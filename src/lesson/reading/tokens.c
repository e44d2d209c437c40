/* tokens.c -- what the tokens are called: labels of rows, completed by the sentence that they are
 * of, or a list of tokens. */
#include <string.h>

#include "blocks.h"
#include "source.h"
#include "step_builder.h"

/* ---- the sentence ---- */

/* 私は 学校へ 行きます, without its quotes. */
struct quoted {
  const char *text;
  size_t begin, end;
};

static int is_gap(uint32_t c) {
  return c <= ' ' || c == 0x3000 || c == 0x3001 || c == 0x3002 || c == ',' || c == '.';
}

static size_t skip_gaps(const struct quoted *q, size_t at, size_t end) {
  size_t next = at;
  while (at < end && is_gap(attn_glyph(q->text, at, end, &next))) at = next;
  return at;
}

/* The last sentence between 「 and 」 above a line. */
static int sentence_above(const struct attn_source *s, int line, struct quoted *q) {
  static const char OPEN[] = "「", CLOSE[] = "」";
  size_t at = 0;
  q->text = s->text, q->end = 0;
  for (int n = 1; n < line && at < s->size; n++) {
    const char *end = memchr(s->text + at, '\n', s->size - at);
    size_t next = end ? (size_t)(end - s->text) + 1 : s->size;
    for (size_t i = at, open = 0; i + sizeof OPEN - 1 <= next; i++) {
      if (memcmp(s->text + i, OPEN, sizeof OPEN - 1) == 0) open = i + sizeof OPEN - 1;
      if (open && memcmp(s->text + i, CLOSE, sizeof CLOSE - 1) == 0) q->begin = open, q->end = i;
    }
    at = next;
  }
  return q->end > 0;
}

static int count_characters(const struct quoted *q, size_t at, size_t end) {
  int count = 0;
  for (size_t next; (at = skip_gaps(q, at, end)) < end; at = next, count++)
    attn_code_point(q->text, at, end, &next);
  return count;
}

/* Tokens without a label are one character each. */
static int fill(struct attn_builder *b, char **token, int count, const struct quoted *q, size_t at,
                size_t end) {
  if (count_characters(q, at, end) != count) return 0;
  for (int n = 0; n < count; n++) {
    size_t next;
    at = skip_gaps(q, at, end);
    attn_code_point(q->text, at, end, &next);
    token[n] = attn_pool_text(b->maker.pool, q->text + at, next - at);
    if (!token[n]) return b->status = attn_no_memory(&b->maker), 0;
    at = next;
  }
  return 1;
}

static int is_missing(const char *label) { return !label || !*label; }

/* Where a label is in the rest of the sentence; 0: nowhere. */
static size_t find_label(const struct quoted *q, size_t from, const char *label) {
  size_t bytes = strlen(label);
  for (size_t at = from; at + bytes <= q->end; at++)
    if (memcmp(q->text + at, label, bytes) == 0) return at;
  return 0;
}

/* Where the labels that there are leave one reading of the sentence, the others follow from it.
 * NULL: some are missing. */
static char **completed_labels(struct attn_builder *b, const struct attn_block *block, char **label,
                               int count) {
  struct quoted q;
  int missing = 0;
  for (int n = 0; n < count; n++) missing += is_missing(label[n]);
  if (!missing) return label;
  if (missing == count || !sentence_above(&b->scan->source, block->line, &q)) return NULL;
  char **token = attn_pool_take(b->maker.pool, (size_t)count * sizeof *token);
  if (!token) return b->status = attn_no_memory(&b->maker), NULL;
  for (int from = 0, to; from < count; from = to + 1) {
    for (to = from; to < count && is_missing(label[to]);) to++;
    size_t stop = to < count ? find_label(&q, q.begin, label[to]) : q.end;
    if (!stop || (to > from && !fill(b, token + from, to - from, &q, q.begin, stop))) return NULL;
    if (to < count) token[to] = label[to], q.begin = stop + strlen(label[to]);
  }
  return token;
}

/* ---- labels ---- */

/* Labels of the rows of X, K or V name the tokens. */
void attn_name_tokens(struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_block *block = &b->scan->block[p->block];
  int query = p->role == ATTN_ROLE_Y || p->role == ATTN_ROLE_Q;
  int key = p->role == ATTN_ROLE_X || p->role == ATTN_ROLE_K || p->role == ATTN_ROLE_V;
  int columns = b->reading->columns == ATTN_COLUMNS_ALL,
      count = columns ? block->column_labels : block->labels;
  char **label = columns ? block->column_label : block->label;
  if ((!query && !key) || !p->node || count != p->node->grid->rows) return;
  label = completed_labels(b, block, label, count);
  int letters = label && attn_labels_are_letters(label, count);
  if (!label) return;
  for (int n = 0; n < count; n++)
    if (!label[n] || !*label[n] || (attn_label_is_indexed(label[n]) && !letters)) return;
  attn_example *ex = b->ex;
  if (key && !ex->key_tokens) ex->key_tokens = count, ex->key_token = label;
  if ((query || p->role == ATTN_ROLE_X) && !ex->query_tokens)
    ex->query_tokens = count, ex->query_token = label;
}

static int is_of_queries(int role) {
  return (role >= ATTN_ROLE_SCORES && role <= ATTN_ROLE_PROJECTED) || role == ATTN_ROLE_Q;
}

/* The names of the rows of a block; NULL: they have none, or only numbers. */
static char **names_of_rows(const struct attn_block *block, int rows) {
  if (block->labels != rows) return NULL;
  for (int n = 0; n < rows; n++)
    if (is_missing(block->label[n]) || attn_label_is_indexed(block->label[n])) return NULL;
  return block->label;
}

static int are_equal(char **a, char **b, int count) {
  for (int n = 0; n < count; n++)
    if (strcmp(a[n], b[n])) return 0;
  return 1;
}

/* One matrix with such rows may be called by them; two name the queries. */
void attn_name_queries(struct attn_builder *b, int example) {
  char **first = NULL;
  int count = 0;
  if (b->ex->query_tokens || b->reading->columns != ATTN_COLUMNS_NONE) return;
  for (int n = 0; n < b->reading->placements; n++) {
    const struct attn_placement *p = b->reading->placement[n];
    if (p->example != example || !p->node || p->is_copy || !is_of_queries(p->role)) continue;
    char **name = names_of_rows(&b->scan->block[p->block], p->node->grid->rows);
    if (!name) continue;
    if (first && count == p->node->grid->rows && are_equal(first, name, count)) {
      b->ex->query_tokens = count, b->ex->query_token = first;
      return;
    }
    first = name, count = p->node->grid->rows;
  }
}

/* ---- a list ---- */

/* "tokens: I love cats" -> the names, as many as are wanted. NULL: there is no such line. */
static char **listed_tokens(struct attn_builder *b, int count) {
  static const char LINE[] = "(?mi)^\\W*(?:tokens?|トークン列?)\\s*:\\s*([^\\n]+)$";
  static const char TOKEN[] = "[^\\s,\\[\\]\"'|「」]++";
  const char *text = b->scan->source.text; /* names as they are written */
  struct attn_match line, token;
  size_t bytes = b->scan->source.size;
  for (size_t from = 0; attn_find(b->scan->patterns, LINE, text, bytes, from, &line);) {
    size_t at = line.group[1].begin, end = line.group[1].end;
    char **name = attn_pool_take(b->maker.pool, (size_t)count * sizeof *name);
    int found = 0;
    from = end;
    for (; name && attn_find(b->scan->patterns, TOKEN, text, end, at, &token); found++) {
      at = token.group[0].end;
      if (found < count)
        name[found] =
            attn_pool_text(b->maker.pool, text + token.group[0].begin, at - token.group[0].begin);
      if (found < count && !name[found]) return b->status = attn_no_memory(&b->maker), NULL;
    }
    if (found == count) return name;
  }
  return NULL;
}

static int rows_of_step(const attn_example *ex, int name) {
  for (int n = 0; n < ex->steps; n++)
    if (ex->step[n].name == name) return ex->step[n].exact.rows;
  return 0;
}

/* Where no labels name them. */
void attn_name_listed_tokens(struct attn_builder *b) {
  attn_example *ex = b->ex;
  int x = rows_of_step(ex, ATTN_STEP_X), count = x ? x : rows_of_step(ex, ATTN_STEP_K);
  int queries = rows_of_step(ex, ATTN_STEP_Q);
  if (b->reading->columns == ATTN_COLUMNS_ALL || !count) return;
  if (!ex->key_tokens && (ex->key_token = listed_tokens(b, count))) ex->key_tokens = count;
  int same = !rows_of_step(ex, ATTN_STEP_Y) && (!queries || queries == ex->key_tokens);
  if (!ex->query_tokens && same) ex->query_tokens = ex->key_tokens, ex->query_token = ex->key_token;
}
