/* align.c -- the numbers of the text aligned with what is expected: the cheapest path. */
#include <math.h>

#include "cell.h"
#include "sequence.h"

/* Prices, in twentieths of a bit. A number that is passed over, the way from one cell to the next,
 * and what a number is called. */
enum { INTEGER = 30, COUNT = 55, IN_VECTOR = 10, DECIMAL = 100, NOT_FREE = 0 };
enum {
  NEXT_ROW = 10,
  NEXT_STEP = 10,
  SAME_KEY = 9,
  NEXT_KEY = 14,
  AGAIN = 30,
  CUT = 20,
  JUMP = 60,
  LEAP = 200,    /* back, where the numbers are in order */
  STEP_BACK = 5, /* of a misprint */
  MISPRINT = 70, /* a number that is another one than its cell */
  NO_WAY = 1 << 20
};
enum { CALLED_SO = -14, CALLED_OTHERWISE = 24, UNNAMED = 4 };
enum { ITEMS_BACK = 40, IN_ORDER_BACK = 10, WORK_MAX = 3500000 };

int attn_sequence_fits(const attn_cell *c, const struct attn_expected *e) {
  if (c->kind == ATTN_CELL_BLANK) return e->is_hidden && c->decimals != ATTN_CELL_OPEN;
  if (isinf(c->value) || isinf(e->value))
    return isinf(c->value) && e->is_hidden && e->step <= ATTN_STEP_MASKED;
  double slack = c->decimals > 0 ? e->slack : 0;
  return fabs(c->value - e->value) <= attn_cell_half(c) + slack + 1e-9 * (1 + fabs(e->value));
}

static int price_of(const struct attn_sequence *s, const struct attn_item_list *l,
                    const struct attn_expected *e) {
  if (attn_sequence_is_projection(e->step) && l->count == 1)
    return CALLED_OTHERWISE; /* q1·k2 = 1 */
  if (l->called == e->step) return l->is_own || !s->given.results ? CALLED_SO : 0;
  if (l->is_own && l->called >= ATTN_STEP_SCORES) return CALLED_OTHERWISE;
  return e->step == ATTN_STEP_EXPONENTIALS ? UNNAMED : 0;
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
static int way_of_additive(const struct attn_sequence *s, const struct attn_expected *a,
                           const struct attn_expected *b) {
  int from = attn_sequence_key_of(a), to = attn_sequence_key_of(b);
  int begins = (a->step >= 0 || is_last(s, a)) && (b->step >= 0 || b->col == 0);
  if (!begins) return JUMP;
  if (a->step == ATTN_W_S) return to == 0 ? NEXT_STEP : JUMP;
  if (to == from && b->step > a->step) return SAME_KEY;
  if (to == from + 1 && (b->step < 0 || b->step == a->step)) return NEXT_KEY;
  return to == 0 && b->step > a->step ? NEXT_STEP : JUMP;
}

/* Is a cell below another one, where each step is printed of all queries? */
static int is_forward(const struct attn_expected *a, const struct attn_expected *b) {
  return b->step > a->step || (b->step == a->step && b->row > a->row);
}

/* Is a cell a later step, but of another query, though that step is not printed of all before? */
static int is_other_query(const struct attn_sequence *s, const struct attn_expected *a,
                          const struct attn_expected *b) {
  return s->given.results && !attn_sequence_is_projection(a->step) && b->step > a->step &&
         (b->row || a->row != s->given.queries - 1);
}

/* From one cell to the next, of the next item or a later one. */
static int way(const struct attn_sequence *s, int from, int to, int same_list, int is_bare) {
  const struct attn_expected *a = &s->expected[from], *b = &s->expected[to];
  int begins = b->col == 0 && is_last(s, a), is_of_key = is_of_keys(a->step) && is_of_keys(b->step);
  if (a->step == b->step && a->row == b->row && b->col == a->col + 1) return 0;
  if (same_list) return a->step == b->step && b->row == a->row + 1 && begins ? NEXT_ROW : NO_WAY;
  if (a->step < 0 || b->step < 0) return way_of_additive(s, a, b);
  if (a->row == b->row && b->step > a->step && b->col == a->col && is_of_key) return SAME_KEY;
  if (a->row == b->row && b->step > a->step && begins) return NEXT_STEP;
  if (a->row == b->row && b->col == a->col + 1 && b->step < a->step) return NEXT_KEY;
  if (a->step == b->step && b->row == a->row + 1 && begins) return NEXT_ROW;
  if (begins && is_other_query(s, a, b)) return JUMP;
  if (begins && (b->row > a->row || b->step > a->step)) return NEXT_KEY;
  if (is_bare) return NO_WAY;
  if (from == to) return AGAIN;
  return s->given.results && !is_forward(a, b) ? LEAP : JUMP;
}

int attn_sequence_way(const struct attn_sequence *s, int from, int to) {
  int price = way(s, from, to, 0, 0);
  return price < JUMP ? price : -1;
}

int attn_sequence_row_cells(const struct attn_sequence *s, int cell) {
  const struct attn_expected *e = &s->expected[cell];
  int cells = 1;
  while (cell + cells < s->expecteds && e[cells].step == e->step && e[cells].row == e->row) cells++;
  return cells;
}

/* Is the number in the column of its list, if that is as long as the row? */
static int is_in_place(const struct attn_sequence *s, int item, int cell) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  const struct attn_expected *e = &s->expected[cell];
  if (!s->in_place || l->count < 2 || attn_sequence_row_cells(s, cell - e->col) != l->count)
    return 1;
  return item - l->first == e->col;
}

static int price_of_skip(const struct attn_sequence *s, int item) {
  const struct attn_item_list *l = &s->list[s->item[item].list];
  if (!attn_sequence_is_free(s, item)) return NOT_FREE;
  if (isinf(s->item[item].cell.value)) return l->count > 1 ? DECIMAL : 0; /* "set to -inf" */
  if (s->item[item].cell.decimals > 0) return DECIMAL;
  if (s->given.results && l->count > 1) return DECIMAL;
  if (s->with_misprints) return COUNT;
  int is_row = s->in_place && l->count == s->given.keys;
  return l->is_vector && !is_row ? IN_VECTOR : INTEGER;
}

/* From the middle of a vector of integers to another list? */
static int is_cut(const struct attn_sequence *s, int from, int to) {
  const struct attn_item_list *l = &s->list[s->item[from].list];
  return l != &s->list[s->item[to].list] && l->is_vector && from + 1 < l->first + l->count &&
         s->item[from + 1].cell.decimals < 1;
}

/* Comes to l from an earlier link, if that is cheaper; from the nearest one of equals. called: the
 * price of what its list is called. */
static void try_link(struct attn_sequence *s, struct attn_link *l, int before, int called) {
  const struct attn_link *q = &s->link[before];
  const struct attn_item_list *list = &s->list[s->item[l->item].list];
  int same_list = s->item[q->item].list == s->item[l->item].list;
  int step = way(s, q->cell, l->cell, same_list, list->is_bare);
  int is_next_row = s->expected[q->cell].row != s->expected[l->cell].row;
  if (step == NO_WAY || (same_list && is_next_row && list->count == s->given.keys)) return;
  step += same_list ? 0 : called + (is_cut(s, q->item, l->item) ? CUT : 0);
  if (q->price + step < l->price) l->before = before, l->price = q->price + step;
}

/* The cheapest way to a cell for an item: from nothing, or from a cell of one of the items before.
 */
static struct attn_link best_link(struct attn_sequence *s, int item, int cell) {
  const struct attn_expected *e = &s->expected[cell];
  int called = price_of(s, &s->list[s->item[item].list], e), least = called < 0 ? called : 0;
  int back = s->given.results ? IN_ORDER_BACK : ITEMS_BACK, first = item > back ? item - back : 0;
  struct attn_link best = {item, cell, -1, called + (e->col ? JUMP : 0)};
  for (int i = item - 1; i >= first; i--) {
    if (s->least[i] + least >= best.price) continue;
    for (int n = s->first_link[i + 1] - 1; n >= s->first_link[i]; n--, s->work++)
      if (s->link[n].price + least < best.price) try_link(s, &best, n, called);
  }
  return best;
}

/* The nearest item before that may be a cell; -1: none. */
static int free_before(const struct attn_sequence *s, int item) {
  while (--item >= 0 && !attn_sequence_is_free(s, item)) continue;
  return item;
}

/* May a number be a misprint of this cell? */
static int is_misprint(const struct attn_sequence *s, int item, int cell) {
  return !attn_sequence_fits(&s->item[item].cell, &s->expected[cell]) &&
         attn_sequence_may_be(s, cell, item) && is_in_place(s, item, cell);
}

/* A misprint: after one of the cells that the number before may be, as the next one of its row, or
 * the first one of another row. */
static struct attn_link best_misprint(struct attn_sequence *s, int item, int before, int cell) {
  const struct attn_item_list *list = &s->list[s->item[item].list];
  const struct attn_expected *e = &s->expected[cell];
  int called = list->is_own ? price_of(s, list, e) : 0;
  struct attn_link best = {item, cell, -1, NO_WAY};
  if (before < 0 && e->row == 0 && e->col == 0) best.price = called;
  for (int n = before < 0 ? 0 : s->first_link[before]; before >= 0 && n < s->first_link[before + 1];
       n++, s->work++) {
    struct attn_link l = {item, cell, -1, NO_WAY};
    int is_next =
        e->col > 0 ? s->link[n].cell == cell - 1 : is_last(s, &s->expected[s->link[n].cell]);
    if (is_next && s->link[n].price < best.price) try_link(s, &l, n, called);
    if (e->step < s->expected[s->link[n].cell].step) l.price += STEP_BACK;
    if (l.price - s->link[n].price < JUMP && l.price < best.price) best = l;
  }
  best.price += MISPRINT - price_of_skip(s, item);
  return best;
}

/* Misprints that are not much dearer than the cheapest link of their item. */
static void add_misprints(struct attn_sequence *s, int item) {
  int before = free_before(s, item), first = s->links, kept = first;
  for (int c = 0; c < s->expecteds && s->links < ATTN_LINKS_MAX; c++) {
    if (!is_misprint(s, item, c)) continue;
    struct attn_link l = best_misprint(s, item, before, c);
    if (l.price >= NO_WAY / 2 || l.price > s->least[item] + LEAP) continue;
    s->link[s->links++] = l;
    if (l.price < s->least[item]) s->least[item] = l.price;
  }
  for (int n = first; n < s->links; n++)
    if (s->link[n].price <= s->least[item] + LEAP) s->link[kept++] = s->link[n];
  s->links = kept;
}

/* All cells that an item may be. 0: there are too many. */
static int add_links(struct attn_sequence *s, int item) {
  int passed = price_of_skip(s, item);
  s->work += s->expecteds;
  for (int c = 0; c < s->expecteds; c++) {
    if (!attn_sequence_fits(&s->item[item].cell, &s->expected[c])) continue;
    if (!is_in_place(s, item, c)) continue;
    if (s->links == ATTN_LINKS_MAX || s->work > WORK_MAX) return 0;
    struct attn_link best = best_link(s, item, c);
    best.price -= passed;
    if (best.price < s->least[item]) s->least[item] = best.price;
    s->link[s->links++] = best;
  }
  return 1;
}

/* 0: none, or too many. */
static int find_links(struct attn_sequence *s) {
  s->links = 0;
  for (int n = 0; n < s->items; n++) {
    s->first_link[n] = s->links, s->least[n] = NO_WAY;
    if (!attn_sequence_is_free(s, n)) continue;
    if (!add_links(s, n)) return 0;
    if (s->with_misprints) add_misprints(s, n);
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
  unsigned char count[ATTN_EXPECTED_MAX] = {0}, is_odd[ATTN_EXPECTED_MAX] = {0};
  int last = -1;
  for (int n = 0; n < s->items; n++) {
    int cell = s->item[n].expected, list = s->item[n].list;
    if (cell < 0) continue;
    if (is_odd_mention(s, n)) is_odd[cell] = 1;
    if (count[cell] && is_odd[cell]) return 0;
    if (s->item[n].cell.decimals > 0 && count[cell] < 2) count[cell]++;
    if (count[cell] > 1) continue;
    int same = n > 0 && s->item[n - 1].list == list && last == s->item[n - 1].expected;
    if (last >= 0 ? way(s, last, cell, same, 0) >= JUMP : s->expected[cell].col > 0) return 0;
    count[cell] = 1, last = cell;
  }
  return !lacks_cell(s, count);
}

int attn_sequence_align(struct attn_sequence *s) {
  int last = 0, value = 0;
  for (int n = 0; n < s->items; n++) s->item[n].expected = -1;
  if (!find_links(s)) return 0;
  for (int n = 1; n < s->links; n++)
    if (s->link[n].price < s->link[last].price) last = n;
  for (; last >= 0; last = s->link[last].before)
    s->item[s->link[last].item].expected = s->link[last].cell;
  for (int n = 0; n < s->items; n++)
    if (s->item[n].expected >= 0 || price_of_skip(s, n) == DECIMAL)
      value += s->item[n].expected >= 0 ? 1 : -2;
  return value;
}
