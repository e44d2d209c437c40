/* tokens.c -- what the tokens are called: row labels, token lists, or the sentence itself. */
#include <string.h>

#include "assemble.h"
#include "source.h"

/* The pieces of 私は 学校へ 行きます without spaces, quotes and commas: one character each. */
struct letters {
  const char *text;
  size_t begin, end;
};

static int is_gap(uint32_t c) {
  return c <= ' ' || c == 0x3000 || c == 0x3001 || c == 0x3002 || c == ',' || c == '.';
}

static size_t skip_gaps(const char *s, size_t at, size_t end) {
  size_t next = at;
  while (at < end && is_gap(attn_glyph(s, at, end, &next))) at = next;
  return at;
}

/* label, where it stands next in the sentence; the missing tokens before it must be one character
 * each, or nothing is known of them. */
static size_t fill_missing(struct attn_assembly *a, char **token, int from, int to, const char *s,
                           size_t begin, size_t end) {
  size_t at = begin, next;
  int letters = 0;
  for (at = skip_gaps(s, at, end); at < end; at = skip_gaps(s, next, end)) {
    attn_code_point(s, at, end, &next);
    letters++;
  }
  if (letters != to - from) return 0;
  at = skip_gaps(s, begin, end);
  for (int i = from; i < to; i++, at = skip_gaps(s, next, end)) {
    attn_code_point(s, at, end, &next);
    token[i] = attn_pool_text(a->pool, s + at, next - at);
    if (!token[i]) return 0;
  }
  return 1;
}

/* The sentence between 「 and 」, or quotes, of an item above the first matrix. */
static int sentence_of(const struct attn_assembly *a, struct letters *s) {
  for (int i = a->range.begin; i < a->range.end; i++) {
    const struct attn_item *item = &a->document->item[i];
    if (item->kind == ATTN_ITEM_MATRIX && item->table.rows > 1 && item->row_labels) break;
    if (item->kind != ATTN_ITEM_SENTENCE) continue;
    const char *open = strstr(item->text, "「"), *close = open ? strstr(open, "」") : NULL;
    if (!close) continue;
    s->text = item->text;
    s->begin = (size_t)(open - item->text) + strlen("「");
    s->end = (size_t)(close - item->text);
    return 1;
  }
  return 0;
}

/* Where the labels that there are leave one reading of the sentence, the others follow from it. */
static void complete_labels(struct attn_assembly *a, char **token, int count) {
  struct letters s;
  if (!sentence_of(a, &s)) return;
  size_t at = s.begin;
  for (int from = 0; from < count;) {
    int to = from;
    while (to < count && !token[to]) to++;
    size_t stop = s.end, after = s.end;
    if (to < count) {
      const char *found = strstr(s.text + at, token[to]);
      if (!found || (size_t)(found - s.text) >= s.end) return;
      stop = (size_t)(found - s.text);
      after = stop + strlen(token[to]);
    }
    if (to > from && !fill_missing(a, token, from, to, s.text, at, stop)) return;
    at = after;
    from = to + 1;
  }
}

static attn_status name_from(struct attn_assembly *a, int rows, const struct attn_slot *slot,
                             char ***names, int32_t *count) {
  if (rows < 1 || !slot || slot->labels != rows) return ATTN_OK;
  char **token = attn_pool_take(a->pool, (size_t)rows * sizeof *token);
  if (!token) return attn_no_memory(a);
  int known = 0;
  for (int i = 0; i < rows; i++) token[i] = slot->label[i];
  complete_labels(a, token, rows);
  for (int i = 0; i < rows; i++) known += token[i] != NULL && *token[i] != 0;
  if (known < rows) return ATTN_OK; /* half of the names would mislead */
  *names = token;
  *count = rows;
  return ATTN_OK;
}

static attn_status name_from_list(struct attn_assembly *a, int rows, char ***names,
                                  int32_t *count) {
  for (int i = a->range.begin; i < a->range.end; i++) {
    const struct attn_item *item = &a->document->item[i];
    if (item->kind != ATTN_ITEM_TOKENS || item->tokens != rows || rows < 1) continue;
    char **token = attn_pool_take(a->pool, (size_t)rows * sizeof *token);
    if (!token) return attn_no_memory(a);
    for (int t = 0; t < rows; t++) {
      token[t] = attn_pool_text(a->pool, item->token[t], strlen(item->token[t]));
      if (!token[t]) return attn_no_memory(a);
    }
    *names = token;
    *count = rows;
    return ATTN_OK;
  }
  return ATTN_OK;
}

static int rows_of(const attn_example *ex, const int *names, int count) {
  for (int n = 0; n < count; n++)
    for (int i = 0; i < ex->steps; i++)
      if (ex->step[i].name == names[n] && ex->step[i].exact.rows > 0)
        return (int)ex->step[i].exact.rows;
  return 0;
}

static attn_status name_side(struct attn_assembly *a, const attn_example *ex, const int *sources,
                             int count, char ***names, int32_t *found) {
  int rows = rows_of(ex, sources, count);
  attn_status status = ATTN_OK;
  for (int n = 0; n < count && !*found && !status; n++)
    for (int s = 0; s < a->slots && !*found && !status; s++)
      if (a->slot[s].name == sources[n]) status = name_from(a, rows, &a->slot[s], names, found);
  return *found || status ? status : name_from_list(a, rows, names, found);
}

attn_status attn_name_tokens(struct attn_assembly *a, attn_example *example) {
  static const int KEYS[] = {ATTN_STEP_X, ATTN_STEP_K, ATTN_STEP_V};
  static const int QUERIES[] = {ATTN_STEP_Y, ATTN_STEP_X, ATTN_STEP_Q};
  static const int PLAIN[] = {ATTN_STEP_Q};
  int cross = rows_of(example, QUERIES, 1) > 0, given_queries = !rows_of(example, QUERIES, 2);
  attn_status status = name_side(a, example, KEYS, 3, &example->key_token, &example->key_tokens);
  if (status) return status;
  if (cross)
    return name_side(a, example, QUERIES, 1, &example->query_token, &example->query_tokens);
  if (given_queries)
    status = name_side(a, example, PLAIN, 1, &example->query_token, &example->query_tokens);
  int same = rows_of(example, PLAIN, 1) == example->key_tokens || !rows_of(example, PLAIN, 1);
  if (!status && !example->query_tokens && same) {
    example->query_token = example->key_token;
    example->query_tokens = example->key_tokens;
  }
  return status;
}
