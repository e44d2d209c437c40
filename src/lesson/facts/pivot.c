/* pivot.c -- facts whose keys are of the same kinds are a table: some keys name its matrices, the
 * others count their rows and columns. Where the words leave it open, what is known as a name is
 * one. */
#include <stdint.h>
#include <string.h>

#include "facts.h"

enum { COLUMNS_MAX = ATTN_FACT_KEYS + 3, NAME_BYTES = 200 };

/* A key of each fact, or what is above them. */
struct column {
  int kind; /* attn_key_kind */
  int key;  /* its index in a fact */
  int values;
  int *rank;    /* of each fact: the order in which its word appears */
  int *word;    /* of each rank */
  int is_name;  /* of a matrix */
  int is_round; /* how often the keys have occurred */
  int is_extra; /* the line above, or how often the keys have occurred */
};

struct pivot {
  struct attn_grouping *g;
  struct attn_fact *const *fact;
  int facts, columns;
  struct column column[COLUMNS_MAX];
};

/* ---- columns ---- */

/* Not "x" and "y", which are coordinates. */
static int is_step_name(const struct pivot *p, int word) {
  const char *text = word >= 0 ? p->g->facts->word[word] : "x";
  return !(*text && strchr("xyz", *text) && !text[1]) && attn_label_step(text) >= 0;
}

static int has_step_names(const struct pivot *p, const struct column *c) {
  int named = 0;
  for (int n = 0; n < c->values && !c->is_round; n++) named += is_step_name(p, c->word[n]);
  return 2 * named > c->values;
}

/* The column that tells the same facts apart, as "scores" and "weights" do by "scores with" and
 * "weights on"; p->columns: none does. */
static int same_column(const struct pivot *p, const struct column *c) {
  int n = 0;
  while (n < p->columns &&
         memcmp(p->column[n].rank, c->rank, (size_t)p->facts * sizeof *c->rank) != 0)
    n++;
  return n;
}

/* The next column; one that is always the same is not needed. */
static int add_column(struct pivot *p, struct column column, const int *word) {
  struct column *c = &p->column[p->columns];
  *c = column;
  c->rank = attn_group_take(p->g, (size_t)p->facts, sizeof *c->rank);
  c->word = attn_group_take(p->g, (size_t)p->facts, sizeof *c->word);
  if (!c->rank || !c->word) return 0;
  for (int n = 0; n < p->facts; n++) {
    int rank = 0;
    while (rank < c->values && c->word[rank] != word[n]) rank++;
    if (rank == c->values) c->word[c->values++] = word[n];
    c->rank[n] = rank;
  }
  int same = same_column(p, c);
  if (same == p->columns)
    p->columns += c->values > 1;
  else if (has_step_names(p, c))
    p->column[same] = *c;
  return 1;
}

/* q1·k2 before q1·k1: what is gathered is in the order of the page. */
static int is_in_order(const struct pivot *p) {
  for (int n = 0; n < p->columns; n++) {
    const struct column *c = &p->column[n];
    for (int v = 1; v < c->values && c->kind == ATTN_KEY_INDEX; v++) {
      const char *last = p->g->facts->word[c->word[v - 1]], *next = p->g->facts->word[c->word[v]];
      if (strlen(next) == strlen(last) && strcmp(next, last) < 0) return 0;
    }
  }
  return 1;
}

static uint64_t place_in(const struct pivot *p, int fact, int names_only) {
  uint64_t place = 0;
  for (int n = 0; n < p->columns; n++)
    if (!names_only || p->column[n].is_name)
      place = place * (uint64_t)(p->column[n].values + 1) + (uint64_t)p->column[n].rank[fact];
  return place;
}

/* The first fact from `from` on with the keys of this one. */
static int same_before(const struct pivot *p, int from, int fact) {
  uint64_t place = place_in(p, fact, 0);
  while (from < fact && place_in(p, from, 0) != place) from++;
  return from;
}

static int is_unique(const struct pivot *p) {
  for (int n = 1; n < p->facts; n++)
    if (same_before(p, 0, n) < n) return 0;
  return 1;
}

/* The keys. Where they recur, also the line above, then how often they have occurred. */
static int add_columns(struct pivot *p) {
  int *word = attn_group_take(p->g, (size_t)p->facts, sizeof *word), round = 0, from = 0;
  if (!word) return 0;
  for (int k = 0; k < p->fact[0]->keys; k++) {
    for (int n = 0; n < p->facts; n++) word[n] = p->fact[n]->key[k].word;
    if (!add_column(p, (struct column){.kind = p->fact[0]->key[k].kind, .key = k}, word)) return 0;
  }
  if (is_unique(p)) return 1;
  for (int n = 0; n < p->facts; n++) word[n] = p->fact[n]->section;
  if (!add_column(p, (struct column){.is_extra = 1}, word)) return 0;
  if (is_unique(p)) return 1;
  for (int n = 0; n < p->facts; n++) {
    if (same_before(p, from, n) < n) from = n, round++;
    word[n] = round;
  }
  return add_column(p, (struct column){.is_extra = 1, .is_round = 1}, word);
}

/* ---- which keys name matrices ---- */

/* The best key to name matrices by that does not yet; -1: none. */
static int next_name(const struct pivot *p) {
  int best = -1, most = 0;
  for (int n = 0; n < p->columns; n++) {
    const struct column *c = &p->column[n];
    int good = c->kind == ATTN_KEY_INDEX ? 1 : c->is_extra ? 3 : 2;
    if (!c->is_name && good > most) most = good, best = n;
  }
  return best;
}

/* Are there numbers for each combination of keys? Then the lines above count rows, too. */
static int is_regular(const struct pivot *p) {
  int64_t product = 1;
  for (int n = 0; n < p->columns && product <= p->facts; n++) product *= p->column[n].values;
  return product == p->facts;
}

/* All but the rows, and of single numbers the columns. */
static void choose_names(struct pivot *p) {
  int axes = 0, most = p->fact[0]->cells > 1 ? 1 : 2, next;
  for (int n = 0; n < p->columns; n++) {
    struct column *c = &p->column[n];
    c->is_name = has_step_names(p, c) || (c->is_extra && !is_regular(p)) ||
                 (c->kind == ATTN_KEY_NAME && p->columns > 1);
    axes += !c->is_name;
  }
  for (; axes > most && (next = next_name(p)) >= 0; axes--) p->column[next].is_name = 1;
}

/* ---- blocks ---- */

/* Words that are not ASCII are written together. */
static void add_text(char *name, const char *text) {
  size_t bytes = strlen(name);
  if (bytes + strlen(text) + 2 > NAME_BYTES) return;
  if (bytes && !(name[bytes - 1] & text[0] & 0x80)) name[bytes++] = ' ';
  strcpy(name + bytes, text);
}

/* Does a key count rows or columns, as a token does? */
static int is_axis(const struct pivot *p, int key) {
  for (int n = 0; n < p->columns; n++)
    if (!p->column[n].is_extra && p->column[n].key == key) return !p->column[n].is_name;
  return 0;
}

static char *name_of(const struct pivot *p, const struct attn_fact *f) {
  char *name = attn_group_take(p->g, NAME_BYTES, 1);
  for (int k = 0; name && k < f->keys; k++)
    if (f->key[k].kind != ATTN_KEY_INDEX && !is_axis(p, k))
      add_text(name, p->g->facts->word[f->key[k].word]);
  return name;
}

/* A row for each fact, or all single numbers in one row. */
static void add_block(const struct pivot *p, const int *fact, int count) {
  const struct attn_fact *first = p->fact[fact[0]];
  int cells = first->cells, last = 0;
  struct attn_block *b = attn_block_in_place_of(p->g, first->block, name_of(p, first));
  attn_cell *row = b && cells == 1 ? attn_block_add_row(p->g, b, count, "") : NULL;
  for (int n = 0; b && n < count; n++) {
    const struct attn_fact *f = p->fact[fact[n]];
    if (row)
      row[n] = *f->cell;
    else if (!attn_block_copy_row(p->g, b, f->cell, cells, ""))
      return;
    if (f->cell->line > last) last = f->cell->line;
  }
  if (row) attn_block_add_shapes(b, count);
  if (b) attn_block_end(p->g, b, last);
}

void attn_facts_pivot(struct attn_grouping *g, struct attn_fact *const *fact, int facts) {
  struct pivot p = {.g = g, .fact = fact, .facts = facts};
  unsigned char *done = attn_group_take(g, (size_t)facts, 1);
  int *alike = attn_group_take(g, (size_t)facts, sizeof *alike);
  if (!done || !alike || !add_columns(&p) || !is_in_order(&p)) return;
  choose_names(&p);
  for (int first = 0; first < facts && g->status == ATTN_OK; first++) {
    int count = 0;
    for (int n = first; n < facts && !done[first]; n++)
      if (!done[n] && place_in(&p, n, 1) == place_in(&p, first, 1)) alike[count++] = n;
    for (int n = 0; n < count; n++) done[alike[n]] = 1;
    if (count * fact[0]->cells > 1) add_block(&p, alike, count);
  }
}
