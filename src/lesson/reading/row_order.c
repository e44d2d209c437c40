/* row_order.c -- tokens whose rows are in another order in another matrix: the numbers are read in
 * the order of the page, so that those of other tokens are compared. */
#include <string.h>

#include "blocks.h"
#include "role_search.h"
#include "step_builder.h"

enum { TOKENS_MAX = 32 };

/* Labels of rows or columns. */
struct tokens {
  char *const *label;
  int count;
};

/* "q_cat" and "cat" are of one token. */
static const char *token_of(const char *label) {
  return label && attn_is_letter(label[0]) && label[1] == '_' ? label + 2 : label ? label : "";
}

/* Where a token is among others; -1: nowhere. */
static int find_token(const struct tokens *t, const char *token) {
  int n = t->count - 1;
  while (n >= 0 && strcmp(token_of(t->label[n]), token)) n--;
  return n;
}

/* The same tokens, each once, in two orders? */
static int are_moved(struct tokens a, struct tokens b) {
  int moved = 0;
  if (a.count != b.count || a.count < 2 || a.count > TOKENS_MAX) return 0;
  for (int n = 0; n < a.count; n++) {
    const char *token = token_of(a.label[n]);
    int there = *token ? find_token(&b, token) : -1;
    if (there < 0 || find_token(&a, token) != n) return 0;
    moved |= there != n;
  }
  return moved;
}

static struct tokens rows_of(const struct attn_block *b) {
  return (struct tokens){b->label, b->labels};
}

static struct tokens columns_of(const struct attn_block *b) {
  return (struct tokens){b->column_label, b->column_labels};
}

static int has_pairs(int role) { return role >= ATTN_ROLE_SCORES && role <= ATTN_ROLE_WEIGHTS; }

/* Has a matrix that is printed before another order of tokens? Of scores and weights the columns
 * are keys, as the rows of keys and values are. */
int attn_is_in_other_order(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_block *block = &b->scan->block[p->block];
  if (b->reading->columns != ATTN_COLUMNS_NONE) return 0;
  for (const struct attn_placement *q = p->before; q; q = q->before) {
    const struct attn_block *other = &b->scan->block[q->block];
    if (q->example != p->example || !q->node) continue;
    int are_keys = q->role == ATTN_ROLE_K || q->role == ATTN_ROLE_V;
    if (has_pairs(p->role) && are_moved(columns_of(block), rows_of(other)) && are_keys) return 1;
    if (has_pairs(p->role) && has_pairs(q->role) && are_moved(columns_of(block), columns_of(other)))
      return 1;
    if (are_moved(rows_of(block), rows_of(other))) return 1;
  }
  return 0;
}
