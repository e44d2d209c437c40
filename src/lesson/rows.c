/* rows.c -- which step each printed matrix, row and cell belongs to. */
#include <string.h>

#include "assemble.h"

enum { GROUP_MAX = 4, LOOK_BACK = 64 };

struct collector {
  struct attn_assembly *a;
  int target;                    /* what the section computes, or NONE */
  int head, head_level;          /* of the section */
  int row;                       /* the row that a label spoke of last; -1 */
  struct attn_meaning chain;     /* of the chain that is being read */
  int group[GROUP_MAX], grouped; /* items of one product */
  int at;
};

static const struct attn_item *item_at(const struct collector *c, int i) {
  return &c->a->document->item[i];
}

/* ---- slots ---- */

struct attn_slot *attn_slot_find(struct attn_assembly *a, int name, int head) {
  for (int i = 0; i < a->slots; i++)
    if (a->slot[i].name == name && a->slot[i].head == head) return &a->slot[i];
  return NULL;
}

static struct attn_slot *slot_for(struct attn_assembly *a, int name, int head) {
  struct attn_slot *slot = attn_slot_find(a, name, head);
  if (slot) return slot;
  if (attn_pool_grow(a->pool, (void **)&a->slot, (size_t)a->slots, sizeof *a->slot)) return NULL;
  slot = &a->slot[a->slots++];
  *slot = (struct attn_slot){.name = name, .head = head};
  return slot;
}

/* The cells live as long as the lesson, not as the document. */
static attn_status copy_cells(struct attn_assembly *a, attn_printing *p) {
  size_t count = (size_t)p->rows * (size_t)p->cols;
  attn_cell *cells = attn_pool_take(a->pool, count * sizeof *cells);
  if (!cells) return attn_no_memory(a);
  if (count) memcpy(cells, p->cells, count * sizeof *cells);
  p->cells = cells;
  return ATTN_OK;
}

/* x_1, x_2, x_3 down the side of a table say what it is; they are no tokens. NONE: they do not.
 * *first is the number of the first. */
static int role_of_labels(const struct attn_item *item, int *first) {
  int role = ATTN_ROLE_NONE;
  for (int i = 0; i < item->row_labels; i++) {
    if (!item->row_label[i]) return ATTN_ROLE_NONE;
    struct attn_meaning m = attn_meaning_of(item->row_label[i]);
    if (i == 0) *first = m.index;
    if (m.index != *first + i || m.index < 0 || m.name == ATTN_ROLE_NONE) return ATTN_ROLE_NONE;
    if (i > 0 && m.name != role) return ATTN_ROLE_NONE;
    role = m.name;
  }
  return role;
}

static int labels_are_tokens(const struct attn_item *item) {
  int first;
  if (role_of_labels(item, &first) != ATTN_ROLE_NONE) return 0;
  for (int i = 0; i < item->row_labels; i++)
    if (item->row_label[i] && attn_meaning_of(item->row_label[i]).row >= 0) return 0;
  return item->row_labels > 0 && item->row_labels == item->table.rows;
}

static attn_status keep_labels(struct attn_assembly *a, struct attn_slot *slot,
                               const struct attn_item *item) {
  if (slot->labels || !labels_are_tokens(item)) return ATTN_OK;
  slot->label = attn_pool_take(a->pool, (size_t)item->row_labels * sizeof *slot->label);
  if (!slot->label) return attn_no_memory(a);
  for (int i = 0; i < item->row_labels; i++) {
    const char *label = item->row_label[i];
    if (!label) continue;
    slot->label[i] = attn_pool_text(a->pool, label, strlen(label));
    if (!slot->label[i]) return attn_no_memory(a);
  }
  slot->labels = item->row_labels;
  return ATTN_OK;
}

/* "1行目" and "softmax" are no names for a whole matrix. */
static attn_status keep_symbol(struct attn_assembly *a, struct attn_slot *slot,
                               const struct attn_item *item, const struct attn_meaning *m) {
  const char *colon = strstr(item->text, ": "), *text = colon ? colon + 2 : item->text;
  size_t length = strlen(text);
  if (slot->symbol || !m->certain || (m->row >= 0 && item->table.rows == 1) || m->col >= 0 ||
      m->name == ATTN_ROLE_NONE || length == 0 || length > 40 || attn_is_softmax_name(item->text) ||
      item->table.rows < 2 || attn_meaning_of(item->text).name == ATTN_ROLE_NONE)
    return ATTN_OK;
  slot->symbol = attn_pool_text(a->pool, text, length);
  return slot->symbol ? ATTN_OK : attn_no_memory(a);
}

/* row0 and col0 hold what the document counts, -1 for none, until settle_indices. */
static attn_status add_printing(struct attn_assembly *a, int name, int head,
                                const struct attn_item *item, const struct attn_meaning *m,
                                int factor) {
  attn_printing p = item->table;
  p.row0 = m->row;
  p.col0 = m->col;
  if (m->row == 0 || m->col == 0) a->clues.count_zero = 1;
  attn_status status = copy_cells(a, &p);
  struct attn_slot *slot = status ? NULL : slot_for(a, name, head);
  if (status || !slot) return attn_no_memory(a);
  if (attn_pool_grow(a->pool, (void **)&slot->printing, (size_t)slot->printings,
                     sizeof *slot->printing))
    return attn_no_memory(a);
  slot->printing[slot->printings++] = p;
  if (name >= ATTN_STEP_Q && name <= ATTN_STEP_V && attn_is_foreign(item->formula))
    slot->foreign = 1;
  if (!slot->item) slot->item = item;
  if (m->certain) slot->certain = 1;
  status = factor ? ATTN_OK : keep_symbol(a, slot, item, m);
  return status || factor ? status : keep_labels(a, slot, item);
}

/* ---- meanings in their place ---- */

/* `S = QK^T / \sqrt{d_k}` in a sentence above says what S is. */
static int role_by_definition(const struct collector *c, const char *name) {
  char wanted[64], got[64], left[64];
  attn_normal_name(name, wanted, sizeof wanted);
  for (int i = c->at - 1, seen = 0; i >= c->a->range.begin && seen < LOOK_BACK; i--, seen++) {
    const struct attn_item *item = item_at(c, i);
    const char *equals =
        item->kind == ATTN_ITEM_SENTENCE && !item->block ? strchr(item->text, '=') : NULL;
    size_t length = equals ? (size_t)(equals - item->text) : 0;
    if (!length || length >= sizeof left || strstr(item->text, "quad")) continue;
    memcpy(left, item->text, length);
    left[length] = 0;
    attn_normal_name(left, got, sizeof got);
    if (strcmp(got, wanted) == 0) return attn_formula_role(equals + 1);
  }
  return ATTN_ROLE_NONE;
}

/* The name says one thing, the formula behind it may say it better. */
static int refine(int name, int formula) {
  if (name == ATTN_ROLE_NONE) return formula;
  if (name == ATTN_STEP_SCORES && (formula == ATTN_STEP_SCALED || formula == ATTN_STEP_WEIGHTS))
    return formula;
  if (name == ATTN_STEP_WEIGHTS &&
      (formula == ATTN_STEP_OUTPUT || formula == ATTN_STEP_SCORES || formula == ATTN_STEP_SCALED))
    return formula;
  if (name == ATTN_STEP_OUTPUT && formula == ATTN_STEP_PROJECTED) return formula;
  if (name == ATTN_STEP_POSITIONS && formula == ATTN_STEP_WEIGHTS) return formula;
  return name;
}

static int token_row(struct collector *c, const char *text) {
  for (int s = 0; s < c->a->slots; s++) {
    const struct attn_slot *slot = &c->a->slot[s];
    for (int i = 0; i < slot->labels && slot->labels <= 256; i++)
      if (slot->label[i] && *text && strcmp(slot->label[i], text) == 0) return i + 1;
  }
  return -1;
}

/* A row by itself, with its softmax right below: what the softmax is taken of. */
static int stands_before_softmax(const struct collector *c, int i) {
  for (int j = i + 1; j < c->a->range.end; j++) {
    const struct attn_item *item = item_at(c, j);
    if (item->kind == ATTN_ITEM_HEADING) return 0;
    if (item->kind != ATTN_ITEM_MATRIX || item->link != ATTN_LINK_NONE) continue;
    return item->table.rows == 1 && attn_is_softmax_name(item->text);
  }
  return 0;
}

static int is_weight_matrix(int name) { return name >= ATTN_STEP_W_Q && name <= ATTN_STEP_V_A; }

/* Q_1 is a head where it is a matrix, a row where it is a vector. */
static void place_index(const struct collector *c, struct attn_meaning *m,
                        const struct attn_item *item) {
  if (m->index < 0) return;
  int vector = item->table.rows == 1 || item->table.cols == 1;
  int small = item->text[0] >= 'a' && item->text[0] <= 'z';
  if (is_weight_matrix(m->name) || !vector || (!small && c->head >= 0 && m->row < 0))
    m->head = m->index;
  else if (m->row < 0)
    m->row = m->index;
  if (m->name == ATTN_STEP_X && m->head >= 0) m->name = ATTN_ROLE_NONE; /* X_1, X_2: layers? */
}

/* キー(猫) = [1, 0]: the key of one token, which one we cannot tell. */
static int names_one_of_several(const struct attn_item *item) {
  const char *open = strpbrk(item->text, "("), *wide = strstr(item->text, "（");
  if (wide && (!open || wide < open)) open = wide + 2;
  if (!open || item->table.rows != 1 || strchr(item->text, '^') || strchr(item->text, '_'))
    return 0;
  char inside[64];
  size_t length = strcspn(open + 1, ")");
  const char *close = strstr(open + 1, "）");
  if (close && (size_t)(close - open - 1) < length) length = (size_t)(close - open - 1);
  if (length == 0 || length >= sizeof inside || strpbrk(open + 1, "0123456789,")) return 0;
  memcpy(inside, open + 1, length);
  inside[length] = 0;
  return attn_meaning_of(inside).name == ATTN_ROLE_NONE;
}

static struct attn_meaning meaning_here(struct collector *c, int i) {
  const struct attn_item *item = item_at(c, i);
  struct attn_meaning m = attn_meaning_of(item->text);
  if (m.name == ATTN_ROLE_NONE && m.row < 0 && item->table.rows == 1) {
    int row = token_row(c, item->text);
    if (row >= 0) m.row = c->a->clues.count_zero ? row - 1 : row;
  }
  if (names_one_of_several(item)) m.name = ATTN_ROLE_NONE;
  int first = -1, labelled = item->table.rows > 1 ? role_of_labels(item, &first) : ATTN_ROLE_NONE;
  if (labelled != ATTN_ROLE_NONE && (m.name == ATTN_ROLE_NONE || !m.certain || m.name == labelled))
    m = (struct attn_meaning){labelled, 1, item->table.cols > 1 ? first : -1, -1, -1, -1};
  int alone = m.name == ATTN_ROLE_NONE && (m.row >= 0 || m.col >= 0);
  if (m.certain && !alone) m.name = refine(m.name, attn_formula_role(item->formula));
  if (m.certain && !alone && !*item->formula && m.name != ATTN_ROLE_NONE)
    m.name = refine(m.name, role_by_definition(c, item->text));
  if (alone) {
    m.name = stands_before_softmax(c, i) ? ATTN_ROLE_SOFTMAX_INPUT : c->target;
    m.certain = 0;
    c->row = m.row;
  } else if (item->table.rows == 1 && m.row < 0 && m.index < 0 &&
             attn_is_softmax_name(item->text)) {
    m.row = c->row;
  }
  place_index(c, &m, item);
  if (m.head < 0) m.head = c->head;
  return m;
}

/* ---- groups of factors ---- */

static attn_status add_factors(struct collector *c) {
  static const int FACTORS[][3] = {
      {ATTN_STEP_SCORES, ATTN_STEP_Q, ATTN_STEP_K},
      {ATTN_STEP_OUTPUT, ATTN_STEP_WEIGHTS, ATTN_STEP_V},
      {ATTN_STEP_PROJECTED, ATTN_STEP_CONCAT, ATTN_STEP_W_O},
  };
  for (size_t f = 0; f < sizeof FACTORS / sizeof *FACTORS; f++) {
    if (FACTORS[f][0] != c->chain.name) continue;
    for (int k = 0; k < 2; k++) {
      struct attn_meaning m = {FACTORS[f][k + 1], 0, k ? -1 : c->chain.row, -1, -1, -1};
      attn_status status = add_printing(c->a, ATTN_ROLE_FACTOR + m.name, c->chain.head,
                                        item_at(c, c->group[k]), &m, 1);
      if (status) return status;
    }
  }
  return ATTN_OK;
}

static int belongs_to_all_heads(int name) {
  return name == ATTN_STEP_X || name == ATTN_STEP_Y || name == ATTN_STEP_W_O ||
         name == ATTN_STEP_MASK || name == ATTN_STEP_POSITIONS || name == ATTN_STEP_CONCAT ||
         name == ATTN_STEP_PROJECTED || name == ATTN_ROLE_WITH_POSITIONS;
}

/* Dropout, a residual and the like, in the name, the formula or the words since the last matrix. */
static int is_foreign_here(const struct collector *c, int i) {
  const struct attn_item *item = item_at(c, i);
  if (item->kind == ATTN_ITEM_MATRIX && *item->formula && attn_is_foreign(item->formula)) return 1;
  for (; i >= c->a->range.begin; i--) {
    item = item_at(c, i);
    if (i < c->group[0] && item->kind == ATTN_ITEM_MATRIX) return 0;
    if (item->kind == ATTN_ITEM_HEADING && item->level > 0) return 0;
    if (item->text && attn_is_foreign(item->text)) return 1;
  }
  return 0;
}

/* Q, K and V are then taken as they are printed; what comes later is left open from there on. */
static int leaves_open(struct collector *c) {
  int name = c->chain.name;
  if (name == ATTN_ROLE_NONE && attn_is_foreign(item_at(c, c->group[0])->text))
    name = ATTN_STEP_OUTPUT; /* weights after dropout: the output at the latest */
  if (name < ATTN_STEP_SCORES || name > ATTN_STEP_PROJECTED || !is_foreign_here(c, c->group[0]))
    return 0;
  if (!c->a->clues.unfollowed || name < c->a->clues.unfollowed) c->a->clues.unfollowed = name;
  return 1;
}

static attn_status flush(struct collector *c) {
  int count = c->grouped;
  c->grouped = 0;
  if (count == 0 || leaves_open(c) || c->chain.name == ATTN_ROLE_NONE) return ATTN_OK;
  int head = belongs_to_all_heads(c->chain.name) ? -1 : c->chain.head;
  if (count == 2) return add_factors(c);
  if (count > 2) return ATTN_OK;
  return add_printing(c->a, c->chain.name, head, item_at(c, c->group[0]), &c->chain, 0);
}

/* ---- the walk ---- */

static void read_heading(struct collector *c, const struct attn_item *item) {
  struct attn_meaning m = attn_meaning_of(item->text);
  int role = m.name != ATTN_ROLE_NONE && m.row < 0 ? m.name : attn_phrase_role(item->text);
  c->target = role;
  c->row = -1;
  if (m.head >= 0) {
    c->head = m.head;
    c->head_level = item->level;
    if (m.name == ATTN_STEP_OUTPUT) c->target = ATTN_ROLE_NONE;
  } else if (role == ATTN_STEP_CONCAT || role == ATTN_STEP_PROJECTED ||
             (item->level > 0 && item->level <= c->head_level)) {
    c->head = -1;
  }
}

/* `- スケーリング: ..` and `Output = A V` say what comes; so does "1行目:". */
static void read_sentence(struct collector *c, const struct attn_item *item) {
  char left[128];
  size_t length = strcspn(item->text, "=:");
  const char *wide = strstr(item->text, "：");
  if (wide && (size_t)(wide - item->text) < length) length = (size_t)(wide - item->text);
  if (!item->text[length] || length >= sizeof left || strstr(item->text, "quad")) return;
  memcpy(left, item->text, length);
  left[length] = 0;
  struct attn_meaning m = attn_meaning_of(left);
  if (m.row >= 0) c->row = m.row;
  if (m.head >= 0) c->head = m.head;
  if (m.name != ATTN_ROLE_NONE && m.row < 0 && m.head < 0 && m.index < 0) c->target = m.name;
}

static attn_status read_matrix(struct collector *c, int i) {
  const struct attn_item *item = item_at(c, i);
  attn_status status = ATTN_OK;
  if (item->link != ATTN_LINK_TIMES) status = flush(c);
  if (status) return status;
  if (item->link == ATTN_LINK_NONE) c->chain = meaning_here(c, i);
  if (c->grouped < GROUP_MAX) c->group[c->grouped++] = i;
  return ATTN_OK;
}

static void settle_indices(struct attn_assembly *a) {
  int base = a->clues.count_zero ? 0 : 1;
  for (int s = 0; s < a->slots; s++)
    for (int i = 0; i < a->slot[s].printings; i++) {
      attn_printing *p = &a->slot[s].printing[i];
      if (p->row0 >= 0) p->row0 -= base;
      if (p->col0 >= 0) p->col0 -= base;
    }
}

attn_status attn_collect(struct attn_assembly *a) {
  struct collector c = {.a = a, .target = ATTN_ROLE_NONE, .head = -1, .row = -1};
  attn_status status = ATTN_OK;
  for (int i = a->range.begin; i < a->range.end && !status; i++) {
    const struct attn_item *item = item_at(&c, i);
    c.at = i;
    if (item->kind == ATTN_ITEM_HEADING) {
      status = flush(&c);
      read_heading(&c, item);
    } else if (item->kind == ATTN_ITEM_SENTENCE && !item->block) {
      read_sentence(&c, item);
    } else if (item->kind == ATTN_ITEM_MATRIX) {
      status = read_matrix(&c, i);
    }
  }
  if (!status) status = flush(&c);
  settle_indices(a);
  return status;
}
