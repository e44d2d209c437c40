/* align.c -- the numbers of the text aligned with what is expected: the cheapest path. */
#include <float.h>
#include <math.h>

#include "cell.h"
#include "sequence.h"

/* Prices. A number that is passed over, and the way from one cell to the next. */
static const double INTEGER = 1.5, IN_VECTOR = .5, DECIMAL = 5, NOT_FREE = 0;
static const double NEXT_ROW = .5, NEXT_STEP = .5, SAME_KEY = .45, NEXT_KEY = .7, AGAIN = 1.5,
                    CUT = 1, JUMP = 3;
enum { ITEMS_BACK = 40, WORK_MAX = 10000000 };
static const double CALLED_SO = -.7, CALLED_OTHERWISE = 1.2, UNNAMED = .2;

int attn_sequence_fits(const attn_cell *c, const struct attn_expected *e) {
  if (c->kind == ATTN_CELL_BLANK) return 0;
  if (isinf(c->value) || isinf(e->value)) return isinf(c->value) && e->is_hidden;
  double slack = c->decimals > 0 ? e->slack : 0;
  return fabs(c->value - e->value) <= attn_cell_half(c) + slack + 1e-9 * (1 + fabs(e->value));
}

static double price_of(const struct attn_item_list *l, const struct attn_expected *e) {
  if (attn_sequence_is_projection(e->step) && l->count == 1)
    return CALLED_OTHERWISE; /* q1·k2 = 1 */
  if (l->called == e->step) return CALLED_SO;
  if (e->step == ATTN_STEP_EXPONENTIALS && !l->is_own) return UNNAMED;
  return l->is_own && l->called >= ATTN_STEP_SCORES ? CALLED_OTHERWISE : 0;
}

/* Is the cell the last one of its row that is printed? */
static int is_last(const struct attn_sequence *s, const struct attn_expected *e) {
  if (e->step < 0) return e->col == s->list[s->given.v].count - 1;
  if (e->step == ATTN_STEP_ROW_SUM) return 1;
  if (e->step == ATTN_STEP_Q || e->step == ATTN_STEP_K) return e->col == s->given.width - 1;
  if (e->step == ATTN_STEP_OUTPUT || e->step == ATTN_STEP_V)
    return e->col == s->given.out_width - 1;
  return e->col >= attn_sequence_visible(s, e->row) - 1;
}

static int is_of_keys(int step) {
  return !attn_sequence_is_projection(step) && step <= ATTN_STEP_WEIGHTS &&
         step != ATTN_STEP_ROW_SUM;
}

int attn_sequence_key_of(const struct attn_expected *e) { return e->step < 0 ? e->row : e->col; }

/* From a cell on the way to additive scores, or to one. */
static double way_of_additive(const struct attn_sequence *s, const struct attn_expected *a,
                              const struct attn_expected *b) {
  int from = attn_sequence_key_of(a), to = attn_sequence_key_of(b);
  int begins = (a->step >= 0 || is_last(s, a)) && (b->step >= 0 || b->col == 0);
  if (!begins) return JUMP;
  if (a->step == ATTN_W_S) return to == 0 ? NEXT_STEP : JUMP;
  if (to == from && b->step > a->step) return SAME_KEY;
  if (to == from + 1 && (b->step < 0 || b->step == a->step)) return NEXT_KEY;
  return to == 0 && b->step > a->step ? NEXT_STEP : JUMP;
}

/* From one cell to the next, of the next item or a later one. */
static double way(const struct attn_sequence *s, int from, int to, int same_list, int is_bare) {
  const struct attn_expected *a = &s->expected[from], *b = &s->expected[to];
  int begins = b->col == 0 && is_last(s, a), is_of_key = is_of_keys(a->step) && is_of_keys(b->step);
  if (a->step == b->step && a->row == b->row && b->col == a->col + 1) return 0;
  if (same_list) return DBL_MAX;
  if (a->step < 0 || b->step < 0) return way_of_additive(s, a, b);
  if (a->row == b->row && b->step > a->step && b->col == a->col && is_of_key) return SAME_KEY;
  if (a->row == b->row && b->step > a->step && begins) return NEXT_STEP;
  if (a->row == b->row && b->col == a->col + 1 && b->step < a->step) return NEXT_KEY;
  if (a->step == b->step && b->row == a->row + 1 && begins) return NEXT_ROW;
  if (begins && (b->row > a->row || b->step > a->step)) return NEXT_KEY;
  return is_bare ? DBL_MAX : from == to ? AGAIN : JUMP;
}

static double price_of_skip(const struct attn_sequence *s, int item) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  if (!attn_sequence_is_free(s, item)) return NOT_FREE;
  if (isinf(s->item[item].cell.value)) return l->count > 1 ? DECIMAL : 0; /* "set to -inf" */
  if (s->item[item].cell.decimals > 0) return DECIMAL;
  return l->is_vector ? IN_VECTOR : INTEGER;
}

/* From the middle of a vector of integers to another list? */
static int is_cut(const struct attn_sequence *s, int from, int to) {
  const struct attn_item_list *l = &s->list[s->item[from].list];
  return l != &s->list[s->item[to].list] && l->is_vector && from + 1 < l->first + l->count &&
         s->item[from + 1].cell.decimals < 1;
}

/* The cheapest way to a cell for an item: from nothing, or from a cell of one of the items before.
 * skipped: the price of passing over all items before each. */
static struct attn_link best_link(struct attn_sequence *s, int item, int cell,
                                  const double *skipped) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  const struct attn_expected *e = &s->expected[cell];
  double own = item == l->first ? price_of(l, e) : 0;
  struct attn_link best = {item, cell, -1, skipped[item] + own + (e->col ? JUMP : 0)};
  int first = item > ITEMS_BACK ? s->first_link[item - ITEMS_BACK] : 0;
  for (int n = first; n < s->first_link[item]; n++, s->work++) {
    const struct attn_link *q = &s->link[n];
    double step = way(s, q->cell, cell, s->item[q->item].list == s->item[item].list, l->is_bare);
    double price = q->price + skipped[item] - skipped[q->item + 1] + own + step +
                   (is_cut(s, q->item, item) ? CUT : 0);
    if (step < DBL_MAX && price < best.price) best.before = n, best.price = price;
  }
  return best;
}

/* All cells that each item may be. 0: none, or too many. */
static int find_links(struct attn_sequence *s, const double *skipped) {
  s->links = 0;
  for (int n = 0; n < s->items; n++) {
    s->first_link[n] = s->links;
    int cells = attn_sequence_is_free(s, n) ? s->expecteds : 0;
    for (int c = 0; c < cells; c++) {
      if (!attn_sequence_fits(&s->item[n].cell, &s->expected[c])) continue;
      if (s->links == ATTN_LINKS_MAX || s->work > WORK_MAX) return 0;
      s->link[s->links++] = best_link(s, n, c, skipped);
    }
  }
  return s->links > 0;
}

/* Is a number that was a cell before called another step here? */
static int is_odd_mention(const struct attn_sequence *s, int item) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  int step = s->expected[s->item[item].expected].step;
  return s->item[item].cell.decimals > 0 && l->is_own && l->called >= ATTN_STEP_SCORES &&
         l->called != step;
}

/* Has a step a cell that is printed twice, and one that is not? */
static int lacks_cell(const struct attn_sequence *s, const unsigned char *count) {
  for (int a = 0; a < s->expecteds; a++)
    for (int b = 0; b < s->expecteds && count[a] > 1; b++)
      if (s->expected[a].step == s->expected[b].step && !count[b]) return 1;
  return 0;
}

int attn_sequence_is_smooth(const struct attn_sequence *s) {
  unsigned char count[ATTN_EXPECTED_MAX] = {0};
  int last = -1;
  for (int n = 0; n < s->items; n++) {
    int cell = s->item[n].expected, list = s->item[n].list;
    if (cell < 0) continue;
    if (count[cell] && is_odd_mention(s, n)) return 0;
    if (s->item[n].cell.decimals > 0 && count[cell] < 2) count[cell]++;
    if (count[cell] > 1) continue;
    int same = n > 0 && s->item[n - 1].list == list && last == s->item[n - 1].expected;
    if (last >= 0 ? way(s, last, cell, same, 0) >= JUMP : s->expected[cell].col > 0) return 0;
    count[cell] = 1, last = cell;
  }
  return !lacks_cell(s, count);
}

int attn_sequence_align(struct attn_sequence *s) {
  double skipped[ATTN_ITEMS_MAX + 1] = {0}, best = DBL_MAX;
  int last = -1, value = 0;
  for (int n = 0; n < s->items; n++)
    skipped[n + 1] = skipped[n] + price_of_skip(s, n), s->item[n].expected = -1;
  if (!find_links(s, skipped)) return 0;
  for (int n = 0; n < s->links; n++) {
    double price = s->link[n].price + skipped[s->items] - skipped[s->link[n].item + 1];
    if (price < best) best = price, last = n;
  }
  for (; last >= 0; last = s->link[last].before)
    s->item[s->link[last].item].expected = s->link[last].cell;
  for (int n = 0; n < s->items; n++)
    if (s->item[n].expected >= 0 || price_of_skip(s, n) == DECIMAL)
      value += s->item[n].expected >= 0 ? 1 : -2;
  return value;
}
