/* align.c -- the numbers of the text aligned with what is expected: the cheapest path. */
#include <float.h>
#include <math.h>

#include "cell.h"
#include "sequence.h"
#include "steps.h"

/* Prices. A number that is passed over, and the way from one cell to the next. */
static const double INTEGER = 1.5, IN_VECTOR = .5, DECIMAL = 5, OPERAND = 0;
static const double NEXT_ROW = .5, NEXT_STEP = .5, SAME_KEY = .45, NEXT_KEY = .7, AGAIN = 1.5,
                    JUMP = 3;
static const double CALLED_SO = -.7, CALLED_OTHERWISE = 1.2;

struct path {
  double price;
  int item; /* the last that is a cell */
  int cell; /* of the one before; -1: none */
};

struct aligner {
  struct attn_sequence *s;
  struct path *best; /* of each item and each cell: the cheapest path that ends there */
};

static int fits(const struct attn_item *item, const struct attn_expected *e) {
  const attn_cell *c = &item->cell;
  if (c->kind == ATTN_CELL_BLANK) return 0;
  if (isinf(e->value)) return isinf(c->value);
  double slack = c->decimals > 0 ? e->slack : 0;
  return fabs(c->value - e->value) <= attn_cell_half(c) + slack + 1e-9 * (1 + fabs(e->value));
}

static double price_of(const struct attn_item_list *l, const struct attn_expected *e) {
  if (l->called == e->step) return CALLED_SO;
  return l->is_own && l->called >= ATTN_STEP_SCORES ? CALLED_OTHERWISE : 0;
}

/* Is the cell the last one of its row that is printed? */
static int is_last(const struct attn_sequence *s, const struct attn_expected *e) {
  if (e->step == ATTN_STEP_ROW_SUM) return 1;
  if (e->step == ATTN_STEP_OUTPUT) return e->col == s->given.out_width - 1;
  return e->col >= attn_sequence_visible(s, e->row) - 1;
}

static int is_of_keys(int step) { return step <= ATTN_STEP_WEIGHTS && step != ATTN_STEP_ROW_SUM; }

/* From one cell to the next, of the next item or a later one. */
static double way(const struct attn_sequence *s, int from, int to, int same_list, int is_bare) {
  const struct attn_expected *a = &s->expected[from], *b = &s->expected[to];
  int begins = b->col == 0 && is_last(s, a), is_of_key = is_of_keys(a->step) && is_of_keys(b->step);
  if (a->step == b->step && a->row == b->row && b->col == a->col + 1) return 0;
  if (same_list) return DBL_MAX;
  if (a->row == b->row && b->step > a->step && b->col == a->col && is_of_key) return SAME_KEY;
  if (a->row == b->row && b->step > a->step && begins) return NEXT_STEP;
  if (a->row == b->row && b->col == a->col + 1 && b->step < a->step) return NEXT_KEY;
  if (a->step == b->step && b->row == a->row + 1 && begins) return NEXT_ROW;
  if (b->row == a->row + 1 && begins) return NEXT_KEY;
  if (b->row == 0 && b->step > a->step && begins) return NEXT_STEP;
  return is_bare ? DBL_MAX : from == to ? AGAIN : JUMP;
}

static double price_of_skip(const struct attn_sequence *s, int item) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  if (l->is_operand || attn_sequence_is_given(s, s->item[item].list)) return OPERAND;
  if (s->item[item].cell.decimals > 0) return DECIMAL;
  return l->is_vector ? IN_VECTOR : INTEGER;
}

static struct path *path_at(const struct aligner *a, int item, int cell) {
  return &a->best[(size_t)item * (size_t)a->s->expecteds + (size_t)cell];
}

/* The cheapest way to a cell for an item; skipped: the price of passing over all before it. */
static void find_path(const struct aligner *a, int item, int cell, const double *skipped) {
  const struct attn_sequence *s = a->s;
  const struct attn_item_list *l = &s->list[s->item[item].list];
  struct path *p = path_at(a, item, cell);
  const struct attn_expected *e = &s->expected[cell];
  double own = price_of(l, e);
  *p = (struct path){skipped[item] + own + (e->col ? JUMP : 0), -1, -1};
  for (int before = item - 1; before >= 0 && before >= item - 40; before--) {
    double between = skipped[item] - skipped[before + 1];
    for (int n = 0; n < s->expecteds; n++) {
      const struct path *q = path_at(a, before, n);
      if (q->price == DBL_MAX) continue;
      double price = q->price + between + own +
                     way(s, n, cell, s->item[before].list == s->item[item].list, l->is_bare);
      if (price < p->price) *p = (struct path){price, before, n};
    }
  }
}

int attn_sequence_align(struct attn_sequence *s) {
  struct aligner a = {.s = s};
  double skipped[ATTN_ITEMS_MAX + 1] = {0}, best = DBL_MAX;
  int item = -1, cell = -1, found = 0;
  a.best = attn_group_take(s->g, (size_t)s->items * (size_t)s->expecteds, sizeof *a.best);
  if (!a.best) return 0;
  for (int n = 0; n < s->items; n++) skipped[n + 1] = skipped[n] + price_of_skip(s, n);
  for (int n = 0; n < s->items; n++) {
    int is_free =
        !s->list[s->item[n].list].is_operand && !attn_sequence_is_given(s, s->item[n].list);
    s->item[n].step = -1;
    for (int c = 0; c < s->expecteds; c++) {
      path_at(&a, n, c)->price = DBL_MAX;
      if (!is_free || !fits(&s->item[n], &s->expected[c])) continue;
      find_path(&a, n, c, skipped);
      double price = path_at(&a, n, c)->price + skipped[s->items] - skipped[n + 1];
      if (price < best) best = price, item = n, cell = c;
    }
  }
  while (item >= 0) {
    const struct path *p = path_at(&a, item, cell);
    s->item[item].step = cell;
    item = p->item, cell = p->cell;
  }
  for (int n = 0; n < s->items; n++)
    if (s->item[n].step >= 0 || price_of_skip(s, n) == DECIMAL)
      found += s->item[n].step >= 0 ? 1 : -2;
  return found;
}
