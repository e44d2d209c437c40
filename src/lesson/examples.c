/* examples.c -- where one example ends and the next begins. */
#include <string.h>

#include "assemble.h"
#include "error.h"

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* The number of "Example 2", 具体例2, 例題 3; 0: the heading names no example. */
static int example_number(const char *text) {
  static const char *const WORDS[] = {"example", "exercise", "problem", "case ", "例題",
                                      "例",      "演習",     "問題",    "問",    NULL};
  for (const char *const *w = WORDS; *w; w++) {
    for (const char *s = text; *s; s++) {
      size_t length = strlen(*w), i = 0;
      while (i < length && lower(s[i]) == (*w)[i]) i++;
      if (i < length) continue;
      s += length;
      while (*s == ' ' || *s == '#' || *s == '(') s++;
      if (strncmp(s, "　", 3) == 0) s += 3;
      int number = 0;
      while (*s >= '0' && *s <= '9' && number < 100000) number = number * 10 + (*s++ - '0');
      if (number) return number;
      break;
    }
  }
  return 0;
}

enum { LOOK_BACK = 512 }; /* items: a name given so long ago was another example's */

/* Headings that open a part of an example, so never its title where another is near. */
static int is_generic(const char *text) {
  static const char *const WORDS[] = {"仮定",  "前提",    "入力",  "設定",      "given",
                                      "setup", "input",   "assum", "embedding", "埋め込み",
                                      "重み",  "weights", "解釈",  "計算",      NULL};
  static const char *const STEPS[] = {"step", "ステップ", "手順", NULL};
  for (const char *const *w = STEPS; *w; w++) {
    size_t i = 0;
    while ((*w)[i] && lower(text[i]) == (*w)[i]) i++;
    if (!(*w)[i]) return 1;
  }
  struct attn_meaning m = attn_meaning_of(text);
  if (m.certain && m.name != ATTN_ROLE_NONE && m.name != ATTN_STEP_WEIGHTS) return 1; /* ## W_Q */
  return attn_text_has_any(text, WORDS);
}

/* What an example begins with: X and the weight matrices; without these, Q, K and V. */
static int is_root(const struct attn_document *d, int begin, int i) {
  int name = attn_meaning_of(d->item[i].text).name;
  if (name == ATTN_STEP_X || (name >= ATTN_STEP_W_Q && name <= ATTN_STEP_W_O)) return 1;
  if (name < ATTN_STEP_Q || name > ATTN_STEP_V) return 0;
  for (int j = begin; j < i; j++)
    if (d->item[j].kind == ATTN_ITEM_MATRIX) {
      int other = attn_meaning_of(d->item[j].text).name;
      if (other >= ATTN_STEP_W_Q && other <= ATTN_STEP_W_V) return 0;
    }
  return 1;
}

/* Each head may have its own Q under its own heading. */
static int heads_between(const struct attn_document *d, int from, int to) {
  for (int j = from; j < to; j++)
    if (d->item[j].kind == ATTN_ITEM_HEADING && attn_meaning_of(d->item[j].text).head >= 0)
      return 1;
  return 0;
}

static int same_table(const attn_printing *a, const attn_printing *b) {
  if (a->rows != b->rows || a->cols != b->cols) return 0;
  for (int i = 0; i < a->rows * a->cols; i++)
    if (attn_cells_contradict(&a->cells[i], &b->cells[i])) return 0;
  return 1;
}

/* Item i gives anew, with other numbers, what an item from begin on gave, and a heading stands
 * between them. */
static int is_given_anew(const struct attn_document *d, int begin, int i, int heading) {
  const struct attn_item *item = &d->item[i];
  if (item->kind != ATTN_ITEM_MATRIX || item->link != ATTN_LINK_NONE || !*item->key) return 0;
  for (int j = heading - 1; j >= begin && j > heading - LOOK_BACK; j--) {
    if (d->item[j].kind != ATTN_ITEM_MATRIX || d->item[j].link != ATTN_LINK_NONE ||
        strcmp(d->item[j].key, item->key) != 0)
      continue;
    return !same_table(&d->item[j].table, &item->table) && is_root(d, begin, i) &&
           !heads_between(d, j, i);
  }
  return 0;
}

/* Of the headings behind the last matrix and before item i, the one that opens the new example. */
static int opening_heading(const struct attn_document *d, int begin, int i) {
  int best = -1;
  for (int j = i - 1; j >= begin && d->item[j].kind != ATTN_ITEM_MATRIX; j--) {
    if (d->item[j].kind != ATTN_ITEM_HEADING) continue;
    if (best < 0) best = j;
    if (!is_generic(d->item[j].text)) return j;
  }
  return best;
}

struct splitter {
  const struct attn_document *d;
  struct attn_pool *pool;
  struct attn_range *ranges;
  int count;
  attn_error *err;
};

static attn_status add_range(struct splitter *s, struct attn_range range) {
  if (attn_pool_grow(s->pool, (void **)&s->ranges, (size_t)s->count, sizeof *s->ranges))
    return attn_fail(s->err, ATTN_ERR_MEMORY, NULL, "no memory for the examples");
  s->ranges[s->count++] = range;
  return ATTN_OK;
}

/* Title and line: the example's own heading, else the nearest before its first matrix. */
static attn_status add_prose(struct splitter *s, int begin, int end, int titled) {
  struct attn_range range = {begin, end, 0, "", 0};
  int first = begin, title = titled;
  while (first < end && s->d->item[first].kind != ATTN_ITEM_MATRIX) first++;
  if (first == end) return ATTN_OK;
  for (int j = first; title < 0 && j >= 0; j--)
    if (s->d->item[j].kind == ATTN_ITEM_HEADING && !is_generic(s->d->item[j].text)) title = j;
  for (int j = first; title < 0 && j >= 0; j--)
    if (s->d->item[j].kind == ATTN_ITEM_HEADING) title = j;
  range.title = title >= 0 ? s->d->item[title].text : "";
  range.line = s->d->item[title >= begin ? title : first].line;
  return add_range(s, range);
}

static attn_status split_prose(struct splitter *s) {
  int begin = 0, number = 0, titled = -1, heading = -1;
  attn_status status = ATTN_OK;
  for (int i = 0; i < s->d->items && !status; i++) {
    const struct attn_item *item = &s->d->item[i];
    int next = -1;
    if (item->kind == ATTN_ITEM_HEADING) {
      int n = example_number(item->text);
      heading = i;
      if (n && n != number) {
        next = i;
        number = n;
      }
    } else if (heading > begin && is_given_anew(s->d, begin, i, heading)) {
      next = opening_heading(s->d, begin + 1, i);
    }
    if (next < 0) continue;
    status = add_prose(s, begin, next, titled);
    begin = titled = next;
  }
  return status ? status : add_prose(s, begin, s->d->items, titled);
}

/* A statement, or a comment or line that is not followed. */
static int in_block(const struct attn_item *item) {
  return item->block != 0 && (item->kind == ATTN_ITEM_ASSIGN || item->kind == ATTN_ITEM_SENTENCE);
}

static attn_status split_snippets(struct splitter *s) {
  const struct attn_document *d = s->d;
  attn_status status = ATTN_OK;
  const char *title = "";
  for (int i = 0; i < d->items && !status; i++) {
    if (d->item[i].kind == ATTN_ITEM_HEADING) title = d->item[i].text;
    if (!in_block(&d->item[i])) continue;
    int block = d->item[i].block, end = i, first = -1;
    for (; end < d->items && (!in_block(&d->item[end]) || d->item[end].block == block); end++) {
      if (d->item[end].kind == ATTN_ITEM_HEADING) break;
      if (first < 0 && d->item[end].kind == ATTN_ITEM_ASSIGN) first = end;
    }
    if (first >= 0)
      status = add_range(s, (struct attn_range){i, end, block, title, d->item[first].line});
    i = end - 1;
  }
  return status;
}

attn_status attn_split_examples(const struct attn_document *document, struct attn_pool *pool,
                                struct attn_range **ranges, int *count, attn_error *err) {
  struct splitter s = {document, pool, NULL, 0, err};
  attn_status status = split_prose(&s);
  if (!status) status = split_snippets(&s);
  for (int i = 1; i < s.count; i++) /* in the order they stand */
    for (int j = i; j > 0 && s.ranges[j].line < s.ranges[j - 1].line; j--) {
      struct attn_range swap = s.ranges[j];
      s.ranges[j] = s.ranges[j - 1];
      s.ranges[j - 1] = swap;
    }
  *ranges = s.ranges;
  *count = s.count;
  return status;
}
