/* settle.c -- names that mean one thing in one example and another in the next: Y, M, E, W, v. */
#include <string.h>

#include "assemble.h"

static const struct attn_item *first_item(struct attn_assembly *a, int name) {
  const struct attn_item *first = NULL;
  for (int i = 0; i < a->slots; i++)
    if (a->slot[i].name == name && a->slot[i].item && (!first || a->slot[i].item < first))
      first = a->slot[i].item;
  return first;
}

static int has(struct attn_assembly *a, int name) { return first_item(a, name) != NULL; }

/* Nothing more is made of it. */
static void forget(struct attn_assembly *a, int name) {
  for (int i = 0; i < a->slots; i++)
    if (a->slot[i].name == name) a->slot[i].name = ATTN_ROLE_NONE;
}

static void rename_slots(struct attn_assembly *a, int from, int to) {
  for (int i = 0; i < a->slots; i++)
    if (a->slot[i].name == from)
      a->slot[i].name = attn_slot_find(a, to, a->slot[i].head) ? ATTN_ROLE_NONE : to;
}

static int formula_says(const struct attn_assembly *a, const char *word) {
  char normal[256];
  for (int i = a->range.begin; i < a->range.end; i++) {
    const struct attn_item *item = &a->document->item[i];
    if (item->kind != ATTN_ITEM_SENTENCE) continue;
    attn_normal_name(item->text, normal, sizeof normal);
    if (strstr(normal, word)) return 1;
  }
  return 0;
}

static int says_any(const struct attn_assembly *a, const char *const *words) {
  for (int i = a->range.begin; i < a->range.end; i++)
    if (a->document->item[i].text && attn_text_has_any(a->document->item[i].text, words)) return 1;
  return 0;
}

/* Y before the queries is where they come from, behind the weights what comes out. */
static void settle_y(struct attn_assembly *a) {
  const struct attn_item *y = first_item(a, ATTN_STEP_Y), *end = NULL;
  if (!y) return;
  static const int LATER[] = {ATTN_STEP_Q, ATTN_STEP_SCORES, ATTN_STEP_WEIGHTS};
  for (size_t i = 0; i < sizeof LATER / sizeof *LATER; i++) {
    const struct attn_item *first = first_item(a, LATER[i]);
    if (first && (!end || first < end)) end = first;
  }
  int source = has(a, ATTN_STEP_W_Q) && (!end || y < end);
  if (!source) rename_slots(a, ATTN_STEP_Y, ATTN_STEP_OUTPUT);
}

/* E that stands for embeddings: before the weights or the queries. It is X where there is none. */
static void settle_embeddings(struct attn_assembly *a) {
  const struct attn_item *e = first_item(a, ATTN_STEP_SCORES), *q = first_item(a, ATTN_STEP_Q);
  const struct attn_item *w = first_item(a, ATTN_STEP_W_Q), *end = w && (!q || w < q) ? w : q;
  if (!e || *e->text != 'E' || !end || end < e) return;
  struct attn_slot *slot = attn_slot_find(a, ATTN_STEP_SCORES, -1);
  if (!slot) return;
  if (!has(a, ATTN_STEP_X) && w && e->table.cols == w->table.rows && slot->printings == 1)
    rename_slots(a, ATTN_STEP_SCORES, ATTN_STEP_X);
  else /* the first is none; scores may come later under the same name */
    slot->printing++, slot->printings--;
  if (slot->printings == 0) slot->name = ATTN_ROLE_NONE;
}

static void settle_alignment(struct attn_assembly *a) {
  static const char *const GENERAL[] = {"general", "luong", "一般", "bilinear", NULL};
  const struct attn_item *v = first_item(a, ATTN_STEP_V);
  if (has(a, ATTN_STEP_U_A) && !has(a, ATTN_STEP_V_A) && v && *v->text == 'v' &&
      (v->table.rows == 1 || v->table.cols == 1))
    rename_slots(a, ATTN_STEP_V, ATTN_STEP_V_A);
  int additive = has(a, ATTN_STEP_U_A) && has(a, ATTN_STEP_V_A) && has(a, ATTN_STEP_W_A);
  if (additive) return;
  const struct attn_item *w = first_item(a, ATTN_STEP_W_A);
  int named = w && strcmp(w->key, "Wa") == 0;
  if (!named && !says_any(a, GENERAL) && !formula_says(a, "qtwk") && !formula_says(a, "qwk"))
    forget(a, ATTN_STEP_W_A);
  forget(a, ATTN_STEP_U_A);
  forget(a, ATTN_STEP_V_A);
}

/* Weights shown before the mask and behind it: the later ones go on. */
static void settle_masked_weights(struct attn_assembly *a) {
  if (!has(a, ATTN_ROLE_MASKED_WEIGHTS)) return;
  forget(a, ATTN_STEP_WEIGHTS);
  rename_slots(a, ATTN_ROLE_MASKED_WEIGHTS, ATTN_STEP_WEIGHTS);
  a->clues.masked = 1;
}

static void settle_positions(struct attn_assembly *a) {
  static const char *const WORDS[] = {"position", "位置", NULL};
  const struct attn_item *p = first_item(a, ATTN_STEP_POSITIONS);
  if (p && strcmp(p->key, "P") == 0 && !says_any(a, WORDS)) forget(a, ATTN_STEP_POSITIONS);
}

/* Heads as the document counts them become 0, 1, ..; one head alone is none. */
static void settle_heads(struct attn_assembly *a) {
  int seen[ATTN_OPERANDS_MAX], heads = 0;
  for (;;) { /* the next larger one */
    int next = -1;
    for (int i = 0; i < a->slots; i++) {
      int head = a->slot[i].name == ATTN_ROLE_NONE ? -1 : a->slot[i].head;
      if (head >= 0 && (heads == 0 || head > seen[heads - 1]) && (next < 0 || head < next))
        next = head;
    }
    if (next < 0 || heads == ATTN_OPERANDS_MAX) break;
    seen[heads++] = next;
  }
  for (int i = 0; i < a->slots; i++) {
    struct attn_slot *slot = &a->slot[i];
    int h = 0;
    if (slot->head < 0) continue;
    while (h < heads && seen[h] != slot->head) h++;
    if (heads == 1 && attn_slot_find(a, slot->name, -1)) slot->name = ATTN_ROLE_NONE;
    if (h == heads) slot->name = ATTN_ROLE_NONE;
    slot->head = heads == 1 ? -1 : h;
  }
  a->heads = heads > 1 ? heads : 1;
}

void attn_settle_roles(struct attn_assembly *a) {
  if (has(a, ATTN_STEP_MASK) && !has(a, ATTN_STEP_X) && formula_says(a, "mw"))
    rename_slots(a, ATTN_STEP_MASK, ATTN_STEP_X);
  settle_y(a);
  settle_embeddings(a);
  settle_alignment(a);
  settle_positions(a);
  settle_masked_weights(a);
  settle_heads(a);
  /* Of several heads, the output of all is the concatenation or its projection. */
  struct attn_slot *all = a->heads > 1 ? attn_slot_find(a, ATTN_STEP_OUTPUT, -1) : NULL;
  int of_all = has(a, ATTN_STEP_W_O) ? ATTN_STEP_PROJECTED : ATTN_STEP_CONCAT;
  if (all) all->name = attn_slot_find(a, of_all, -1) ? ATTN_ROLE_NONE : of_all;
}
