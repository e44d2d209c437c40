/* pivot.c -- facts whose keys are of the same kinds are a table: its keys name matrices, count
 * their rows and count their columns. Where the words leave it open, what is known as a name is
 * one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "fact_tokens.h"

enum {
  COLUMNS_MAX = ATTN_FACT_KEYS + 4,
  NAME_BYTES = 200,
  INDEX_MOST = 99,
  ENTRIES_MAX = 2000,
  ORDER_MOST = 12
};

/* A row of the table: a fact, or one number of it. */
struct entry {
  struct attn_fact *fact;
  const attn_cell *cell;
  int cells;
  struct attn_key key[COLUMNS_MAX];
};

struct column {
  int kind, values;
  int *rank;    /* of each entry: the order in which its word appears */
  int *word;    /* of each rank */
  int is_name;  /* of a matrix */
  int is_round; /* how often the keys have occurred */
  int is_extra; /* the line above, or how often the keys have occurred */
};

struct pivot {
  struct attn_grouping *g;
  int entries, columns, keys;
  uint32_t ignored; /* keys, a bit each */
  struct entry *entry;
  struct column column[COLUMNS_MAX];
};

/* ---- columns ---- */

static int add_column(struct pivot *p, int kind, const int *word) {
  struct column *c = &p->column[p->columns];
  *c = (struct column){.kind = kind};
  c->rank = attn_group_take(p->g, (size_t)p->entries, sizeof *c->rank);
  c->word = attn_group_take(p->g, (size_t)p->entries, sizeof *c->word);
  if (!c->rank || !c->word) return 0;
  for (int n = 0; n < p->entries; n++) {
    int rank = 0;
    while (rank < c->values && c->word[rank] != word[n]) rank++;
    if (rank == c->values) c->word[c->values++] = word[n];
    c->rank[n] = rank;
  }
  return 1;
}

/* A key that is always the same, or goes with another, is not needed. */
static int is_needed(const struct pivot *p) {
  const struct column *last = &p->column[p->columns];
  if (last->values < 2) return 0;
  for (int n = 0; n < p->columns; n++)
    if (memcmp(p->column[n].rank, last->rank, (size_t)p->entries * sizeof *last->rank) == 0)
      return 0;
  return 1;
}

static int add_keys(struct pivot *p) {
  int *word = attn_group_take(p->g, (size_t)p->entries, sizeof *word);
  for (int k = 0; word && k < p->keys; k++) {
    if (p->ignored >> k & 1) continue;
    for (int n = 0; n < p->entries; n++) word[n] = p->entry[n].key[k].word;
    if (!add_column(p, p->entry[0].key[k].kind, word)) return 0;
    p->columns += is_needed(p);
  }
  return word != NULL;
}

static uint64_t place_in(const struct pivot *p, int entry, int names_only) {
  uint64_t place = 0;
  for (int n = 0; n < p->columns; n++)
    if (!names_only || p->column[n].is_name)
      place = place * (uint64_t)(p->column[n].values + 1) + (uint64_t)p->column[n].rank[entry];
  return place;
}

/* The first entry from `from` on with the keys of this one. */
static int same_before(const struct pivot *p, int from, int entry) {
  uint64_t place = place_in(p, entry, 0);
  while (from < entry && place_in(p, from, 0) != place) from++;
  return from;
}

static int is_unique(const struct pivot *p) {
  for (int n = 1; n < p->entries; n++)
    if (same_before(p, 0, n) < n) return 0;
  return 1;
}

static int add_extra(struct pivot *p, const int *word) {
  if (!add_column(p, ATTN_KEY_WORD, word)) return 0;
  p->column[p->columns].is_extra = 1;
  p->columns += is_needed(p);
  return 1;
}

/* Keys that recur are distinguished by the line above, then by how often they have occurred. */
static int add_sections(struct pivot *p) {
  int *word = attn_group_take(p->g, (size_t)p->entries, sizeof *word), round = 0, from = 0;
  if (!word) return 0;
  for (int n = 0; n < p->entries; n++) word[n] = p->entry[n].fact->place->section;
  if (!add_extra(p, word)) return 0;
  if (is_unique(p)) return 1;
  for (int n = 0; n < p->entries; n++) word[n] = p->entry[n].fact->place->outer;
  if (!add_extra(p, word)) return 0;
  if (is_unique(p)) return 1;
  for (int n = 0; n < p->entries; n++) {
    if (same_before(p, from, n) < n) from = n, round++;
    word[n] = round;
  }
  from = p->columns;
  if (!add_extra(p, word)) return 0;
  if (p->columns > from) p->column[from].is_round = 1;
  return 1;
}

/* ---- numbers that are keys ---- */

static int is_count(const attn_cell *c) {
  return c->kind == ATTN_CELL_NUMBER && c->decimals == 0 && c->value >= 0 && c->value <= INDEX_MOST;
}

static int counts(const struct pivot *p) {
  int decimals = 0;
  for (int n = 0; n < p->entries; n++) {
    const struct entry *e = &p->entry[n];
    if (e->cells < 2 || !is_count(e->cell)) return 0;
    for (int c = 1; c < e->cells; c++) decimals |= e->cell[c].decimals > 0;
  }
  return decimals;
}

static int word_of_count(struct attn_grouping *g, int count) {
  char text[2] = {(char)('0' + count / 10), (char)('0' + count % 10)};
  return attn_fact_word(g, text, (struct attn_part){count < 10, 2});
}

/* Does a letter end at `end`? Not a root or a stroke: the 2 of "QK/√2" is no index. */
static int ends_in_letter(const char *text, size_t end) {
  size_t at = end;
  while (at > 0 && (text[--at] & 0xC0) == 0x80) continue;
  return end > 0 && (text[at] == '_' || attn_fact_letter(text, at, end) > at);
}

/* "q1", "score_cat": a name and an index or a word, which may be empty. */
static int split_header(struct attn_grouping *g, int header, struct attn_key key[2]) {
  const char *text = g->facts->word[header], *last = strrchr(text, '_');
  size_t bytes = strlen(text), name = bytes;
  while (name > 0 && text[name - 1] >= '0' && text[name - 1] <= '9') name--;
  if (name == bytes && last && last > text) name = (size_t)(last - text);
  if (name < bytes && text[name] != '_' && !ends_in_letter(text, name)) name = bytes;
  int is_split = name < bytes;
  size_t rest = name + (text[name] == '_');
  key[0] = (struct attn_key){is_split ? ATTN_KEY_NAME : ATTN_KEY_WORD,
                             attn_fact_word(g, text, (struct attn_part){0, name})};
  key[1] =
      (struct attn_key){ATTN_KEY_WORD, attn_fact_word(g, text, (struct attn_part){rest, bytes})};
  return g->status == ATTN_OK;
}

/* The first number of each entry becomes a key. */
static void take_count(struct pivot *p) {
  for (int n = 0; n < p->entries; n++) {
    struct entry *e = &p->entry[n];
    e->key[p->keys] = (struct attn_key){ATTN_KEY_INDEX, word_of_count(p->g, (int)e->cell->value)};
    e->cell++, e->cells--;
    e->fact->counts++;
  }
  p->keys++;
}

/* The columns of the keys once more. */
static int renew_columns(struct pivot *p) { return p->columns = 0, add_keys(p); }

/* Is the last key another number in each row, in front of those that count? */
static int is_running(const struct pivot *p) {
  return p->columns > 0 && p->column[p->columns - 1].values == p->entries && counts(p);
}

/* A key that some rows lack may be a comment. */
static uint32_t find_comments(const struct pivot *p) {
  uint32_t found = 0;
  for (int k = 0; k < p->keys; k++)
    for (int n = 0; n < p->entries; n++)
      if (!*p->g->facts->word[p->entry[n].key[k].word]) found |= 1u << k;
  return found;
}

/* Numbers that count become keys where the keys recur. Comments and numbers of rows are ignored if
 * the other keys distinguish the rows. */
static int take_counts(struct pivot *p) {
  p->ignored = find_comments(p);
  if (!add_keys(p)) return 0;
  while (!is_unique(p) && counts(p) && p->keys < ATTN_FACT_KEYS + 1) {
    take_count(p);
    if (!renew_columns(p)) return 0;
    if (is_running(p)) p->ignored |= 1u << (p->keys - 1);
    if (!renew_columns(p)) return 0;
  }
  if (!is_unique(p)) p->ignored = 0;
  return 1;
}

/* The numbers of lines are called by the same words in each, or by their order. */
static void name_cells(struct pivot *p) {
  const struct attn_fact *first = p->entry[0].fact;
  for (int c = 0; first->template && first->header && c < first->cells; c++) {
    int same = first->header[c] >= 0;
    for (int n = 0; n < c; n++) same &= first->header[n] != first->header[c];
    for (int n = 0; n < p->entries; n++) same &= p->entry[n].fact->header[c] == first->header[c];
    if (same) continue;
    char arrows[3 * ORDER_MOST + 1] = "";
    for (int n = 0; n <= c && n < ORDER_MOST; n++) strcat(arrows, "\u2192");
    first->header[c] = attn_fact_word(p->g, arrows, (struct attn_part){0, strlen(arrows)});
  }
  for (int n = 0; first->template && n < p->entries; n++) p->entry[n].fact->header = first->header;
}

/* A row of a table with a header: an entry for each number. */
static int split_rows(struct pivot *p) {
  const struct attn_fact *f = p->entry[0].fact;
  int cells = p->entry[0].cells, from = f->cells - cells;
  if (!f->header || cells < 2) return 1;
  if (cells > ENTRIES_MAX / p->entries) return 0;
  struct entry *all = attn_group_take(p->g, (size_t)(p->entries * cells), sizeof *all);
  if (!all) return 0;
  for (int n = 0; n < p->entries * cells; n++) {
    const struct entry *row = &p->entry[n / cells];
    all[n] = *row;
    all[n].cell = row->cell + n % cells;
    all[n].cells = 1;
    if (!split_header(p->g, row->fact->header[from + n % cells], all[n].key + p->keys)) return 0;
  }
  p->entry = all;
  p->entries *= cells;
  p->keys += 2;
  return 1;
}

/* ---- which keys name matrices ---- */

static int shares_words(const struct column *a, const struct column *b) {
  int shared = 0;
  for (int i = 0; i < a->values; i++)
    for (int j = 0; j < b->values; j++) shared += a->word[i] == b->word[j];
  return 2 * shared >= a->values || 2 * shared >= b->values;
}

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

static int is_axis_of_tokens(const struct pivot *p, int column) {
  for (int n = 0; n < p->columns; n++)
    if (n != column && shares_words(&p->column[column], &p->column[n])) return 1;
  return 0;
}

/* The best key to name matrices by that does not yet; -1: none. */
static int next_name(const struct pivot *p) {
  int best = -1, most = 0;
  for (int n = 0; n < p->columns; n++) {
    const struct column *c = &p->column[n];
    int good = c->kind == ATTN_KEY_INDEX ? 1 : c->is_extra ? 4 : 3;
    if (is_axis_of_tokens(p, n)) good -= good > 1;
    if (!c->is_name && good > most) most = good, best = n;
  }
  return best;
}

static int count_axes(const struct pivot *p) {
  int axes = 0;
  for (int n = 0; n < p->columns; n++) axes += !p->column[n].is_name;
  return axes;
}

/* Are there numbers for each combination of keys? Then the lines above count rows, too. */
static int is_regular(const struct pivot *p) {
  int64_t product = 1;
  for (int n = 0; n < p->columns && product <= p->entries; n++) product *= p->column[n].values;
  return product == p->entries;
}

static void choose_names(struct pivot *p) {
  int cells = p->entry[0].cells, most = cells > 1 ? 1 : 2, next;
  for (int n = 0; n < p->columns; n++) {
    struct column *c = &p->column[n];
    int alone = p->columns == 1 && c->kind == ATTN_KEY_NAME && cells == 1;
    c->is_name = (has_step_names(p, c) && !is_axis_of_tokens(p, n)) ||
                 (c->is_extra && !is_regular(p)) ||
                 (c->kind == ATTN_KEY_NAME && (p->columns > 1 || alone));
  }
  while (count_axes(p) > most && (next = next_name(p)) >= 0) p->column[next].is_name = 1;
}

/* ---- blocks ---- */

/* Words that are not ASCII are written together. */
static void add_text(char *name, const char *text) {
  size_t bytes = strlen(name);
  if (bytes + strlen(text) + 2 > NAME_BYTES) return;
  if (bytes && !(name[bytes - 1] & text[0] & 0x80)) name[bytes++] = ' ';
  strcpy(name + bytes, text);
}

/* The words of an entry that are no row or column. */
static char *name_of(const struct pivot *p, const struct entry *e, int n) {
  char *name = attn_group_take(p->g, NAME_BYTES, 1);
  if (!name) return NULL;
  for (int k = 0; k < p->keys; k++) {
    int is_axis = e->key[k].kind == ATTN_KEY_INDEX || p->ignored >> k & 1;
    for (int c = 0; c < p->columns && !is_axis; c++)
      is_axis = !p->column[c].is_name && p->column[c].word[p->column[c].rank[n]] == e->key[k].word;
    if (!is_axis) add_text(name, p->g->facts->word[e->key[k].word]);
  }
  return name;
}

/* The entries of one matrix, and its axes. */
struct slice {
  int count;
  int *entry;
  int axes;
  const struct column *axis[2];
};

static int position(const struct pivot *p, const struct slice *s, int axis, int word) {
  (void)p;
  const struct column *c = s->axis[axis], *other = s->axes > 1 ? s->axis[!axis] : c;
  const struct column *order = other->values > c->values && shares_words(c, other) ? other : c;
  for (int n = 0; n < order->values; n++)
    if (order->word[n] == word) return n;
  return order->values;
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Where each entry is along an axis: 0 .. the result - 1. */
static int places_along(const struct pivot *p, const struct slice *s, int axis, int *place) {
  int *order = attn_group_take(p->g, (size_t)s->count, sizeof *order), kept = 0;
  if (!order) return 0;
  for (int n = 0; n < s->count; n++) {
    const struct column *c = s->axis[axis];
    order[n] = place[n] = position(p, s, axis, c->word[c->rank[s->entry[n]]]);
  }
  qsort(order, (size_t)s->count, sizeof *order, by_number);
  for (int n = 0; n < s->count; n++)
    if (!kept || order[kept - 1] != order[n]) order[kept++] = order[n];
  for (int n = 0; n < s->count; n++)
    for (int k = 0; k < kept; k++)
      if (order[k] == place[n]) {
        place[n] = k;
        break;
      }
  return kept;
}

static const char *label_of(const struct pivot *p, const struct slice *s, int n) {
  if (s->axes == 0) return "";
  const struct column *c = s->axis[0];
  return c->kind == ATTN_KEY_INDEX || c->is_extra
             ? ""
             : p->g->facts->word[c->word[c->rank[s->entry[n]]]];
}

static struct attn_block *begin_block(const struct pivot *p, const struct slice *s) {
  struct attn_grouping *g = p->g;
  const struct entry *e = &p->entry[s->entry[0]];
  const struct attn_fact_place *place = e->fact->place;
  struct attn_block *b =
      attn_block_begin(g, ATTN_BLOCK_TURNS, e->cell->line, name_of(p, e, s->entry[0]));
  if (!b) return NULL;
  b->captions = place->captions;
  memcpy(b->caption, place->caption, sizeof b->caption);
  return b;
}

/* A row for each entry, or all numbers in one row. */
static struct attn_block *rows_of(const struct pivot *p, const struct slice *s) {
  struct attn_block *b = begin_block(p, s);
  int single = p->entry[0].cells == 1;
  for (int n = 0; b && n < s->count; n++) {
    const struct entry *e = &p->entry[s->entry[n]];
    if (single && n > 0 ? !attn_block_widen(p->g, b, e->cell, "")
                        : !attn_block_copy_row(p->g, b, e->cell, e->cells, label_of(p, s, n)))
      return NULL;
  }
  if (b && single) attn_block_add_shapes(b, s->count);
  return b;
}

/* Is each cell there, or each that a causal mask leaves? */
static int is_filled(int count, const int *row, int rows, const int *col, int cols) {
  if (count == rows * cols) return 1;
  if (rows != cols || 2 * count != rows * (rows + 1)) return 0;
  for (int n = 0; n < count; n++)
    if (col[n] > row[n]) return 0;
  return 1;
}

/* "the second component of q1": which words are rows is not certain. */
static void add_turned(const struct pivot *p, struct attn_block *b) {
  const attn_printing *from = &b->reading[0];
  attn_cell *cell = attn_group_take(p->g, (size_t)(from->rows * from->cols), sizeof *cell);
  for (int n = 0; cell && n < from->rows * from->cols; n++)
    cell[n % from->cols * from->rows + n / from->cols] = from->cells[n];
  if (cell) attn_block_add_reading(b, from->cols, from->rows, cell);
}

static struct attn_block *grid_of(const struct pivot *p, const struct slice *s) {
  int *row = attn_group_take(p->g, (size_t)s->count, sizeof *row);
  int *col = attn_group_take(p->g, (size_t)s->count, sizeof *col);
  int rows = row && col ? places_along(p, s, 0, row) : 0;
  int cols = rows ? places_along(p, s, 1, col) : 0;
  if (!cols) return NULL;
  if (!is_filled(s->count, row, rows, col, cols)) return rows_of(p, s);
  attn_cell *cell = attn_group_take(p->g, (size_t)(rows * cols), sizeof *cell);
  struct attn_block *b = cell ? begin_block(p, s) : NULL;
  for (int n = 0; b && n < rows * cols; n++) {
    cell[n] = attn_cell_blank();
    cell[n].line = p->entry[s->entry[0]].cell->line;
    cell[n].column = p->entry[s->entry[0]].cell->column;
  }
  for (int n = 0; b && n < s->count; n++)
    cell[row[n] * cols + col[n]] = *p->entry[s->entry[n]].cell;
  for (int r = 0; b && r < rows; r++) {
    int first = 0;
    while (row[first] != r) first++;
    if (!attn_block_copy_row(p->g, b, cell + r * cols, cols, label_of(p, s, first))) return NULL;
  }
  if (b) add_turned(p, b);
  return b;
}

static void add_slice(const struct pivot *p, struct slice *s) {
  int cells = p->entry[0].cells, last = 0;
  s->axes = 0;
  for (int extra = 1; extra >= 0; extra--) /* the line above is a row */
    for (int n = 0; n < p->columns; n++)
      if (!p->column[n].is_name && p->column[n].is_extra == extra && s->axes < 2)
        s->axis[s->axes++] = &p->column[n];
  if (s->count * cells < 2) return;
  struct attn_block *b = s->axes == 2 && cells == 1 ? grid_of(p, s) : rows_of(p, s);
  for (int n = 0; n < s->count; n++)
    if (p->entry[s->entry[n]].cell->line > last) last = p->entry[s->entry[n]].cell->line;
  if (b) attn_block_end(p->g, b, last);
}

/* Each matrix of the table. */
static void add_slices(const struct pivot *p) {
  unsigned char *done = attn_group_take(p->g, (size_t)p->entries, 1);
  struct slice s = {.entry = attn_group_take(p->g, (size_t)p->entries, sizeof *s.entry)};
  for (int first = 0; done && s.entry && first < p->entries; first++) {
    if (done[first]) continue;
    s.count = 0;
    for (int n = first; n < p->entries; n++)
      if (place_in(p, n, 1) == place_in(p, first, 1)) s.entry[s.count++] = n, done[n] = 1;
    add_slice(p, &s);
  }
}

/* ---- the table ---- */

void attn_facts_pivot(struct attn_grouping *g, struct attn_fact *const *fact, int facts) {
  struct pivot p = {.g = g, .entries = facts, .keys = fact[0]->keys};
  p.entry = attn_group_take(g, (size_t)facts, sizeof *p.entry);
  for (int n = 0; p.entry && n < facts; n++) {
    p.entry[n] = (struct entry){.fact = fact[n], .cell = fact[n]->cell, .cells = fact[n]->cells};
    memcpy(p.entry[n].key, fact[n]->key, sizeof fact[n]->key);
  }
  if (!p.entry || !take_counts(&p)) return;
  name_cells(&p);
  if (!split_rows(&p)) return;
  if (!renew_columns(&p) || (!is_unique(&p) && !add_sections(&p))) return;
  choose_names(&p);
  add_slices(&p);
}
