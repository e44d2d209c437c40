/* tokens.c -- what the tokens are called: labels of rows, completed by the sentence that they are
 * of, or a list of tokens. */
#include <string.h>

#include "source.h"
#include "step_builder.h"

/* ---- the sentence ---- */

/* 私は 学校へ 行きます, without its quotes. */
struct quoted {
  const char *text;
  size_t begin, end;
};

/* The last sentence between 「 and 」 above a line. */
static int find_sentence(const struct attn_source *s, int line, struct quoted *q) {
  static const char OPEN[] = "「", CLOSE[] = "」";
  enum { BYTES = sizeof OPEN - 1 };
  size_t open = 0;
  *q = (struct quoted){.text = s->text};
  for (size_t at = 0; line > 1 && at + BYTES <= s->size; at++) {
    if (memcmp(s->text + at, OPEN, BYTES) == 0) open = at + BYTES;
    if (open && memcmp(s->text + at, CLOSE, BYTES) == 0) q->begin = open, q->end = at;
    if (s->text[at] == '\n') open = 0, line--;
  }
  return q->end > 0;
}

static int is_gap(uint32_t c) {
  return c <= ' ' || c == 0x3000 || c == 0x3001 || c == 0x3002 || c == ',' || c == '.';
}

static size_t skip_gaps(const struct quoted *q, size_t at) {
  size_t next = at;
  while (at < q->end && is_gap(attn_glyph(q->text, at, q->end, &next))) at = next;
  return at;
}

static int is_missing(const char *label) { return !label || !*label; }

/* Where the token at `at` ends: its label, or one character without one. 0: it is none. */
static size_t token_end(const struct quoted *q, size_t at, const char *label) {
  size_t bytes = is_missing(label) ? 0 : strlen(label), next;
  if (at >= q->end || bytes > q->end - at) return 0;
  if (bytes) return memcmp(q->text + at, label, bytes) ? 0 : at + bytes;
  attn_code_point(q->text, at, q->end, &next);
  return next;
}

/* The labels; missing ones follow from the sentence. NULL: some are missing. */
static char **completed_labels(struct attn_builder *b, const struct attn_block *block, char **label,
                               int count) {
  struct quoted q;
  int missing = 0;
  for (int n = 0; n < count; n++) missing += is_missing(label[n]);
  if (!missing) return label;
  if (missing == count || !find_sentence(&b->scan->source, block->line, &q)) return NULL;
  char **token = attn_pool_take(b->maker.pool, (size_t)count * sizeof *token);
  if (!token) return b->status = attn_no_memory(&b->maker), NULL;
  for (int n = 0; n < count; n++) {
    size_t at = skip_gaps(&q, q.begin);
    if (!(q.begin = token_end(&q, at, label[n]))) return NULL;
    token[n] = attn_pool_text(b->maker.pool, q.text + at, q.begin - at);
    if (!token[n]) return b->status = attn_no_memory(&b->maker), NULL;
  }
  return skip_gaps(&q, q.begin) == q.end ? token : NULL;
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
  if (!label) return;
  int letters = attn_labels_are_letters(label, count);
  for (int n = 0; n < count; n++)
    if (attn_label_is_indexed(label[n]) && !letters) return;
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

static int rows_of(const attn_example *ex, int name) {
  const attn_step *s = attn_find_step(ex, name, ATTN_ANY_HEAD);
  return s ? s->exact.rows : 0;
}

void attn_name_listed_tokens(struct attn_builder *b) {
  attn_example *ex = b->ex;
  int x = rows_of(ex, ATTN_STEP_X), count = x ? x : rows_of(ex, ATTN_STEP_K);
  int queries = rows_of(ex, ATTN_STEP_Q);
  if (b->reading->columns == ATTN_COLUMNS_ALL || !count) return;
  if (!ex->key_tokens && (ex->key_token = listed_tokens(b, count))) ex->key_tokens = count;
  int same = !rows_of(ex, ATTN_STEP_Y) && (!queries || queries == ex->key_tokens);
  if (!ex->query_tokens && same) ex->query_tokens = ex->key_tokens, ex->query_token = ex->key_token;
}
