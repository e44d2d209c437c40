/* gaps.c -- slips of the author: numbers that are no cell, where exactly one is missing, or that
 * are in place of a cell.
 */
#include <math.h>
#include <stdlib.h>

#include "sequence.h"

/* May the number be a cell, and is none? */
static int is_unmatched(const struct attn_sequence *s, int item) {
  return s->item[item].expected < 0 && attn_sequence_is_free(s, item);
}

static void find_items(struct attn_sequence *s) {
  for (int cell = 0; cell < s->expecteds; cell++) s->first_item[cell] = -1;
  for (int n = s->items - 1; n >= 0; n--)
    if (s->item[n].expected >= 0) s->first_item[s->item[n].expected] = n;
}

/* The nearest item before (way -1) or after (1) that is a cell; -1, or the number of items. */
static int next_matched(const struct attn_sequence *s, int item, int way) {
  for (item += way; item >= 0 && item < s->items && s->item[item].expected < 0;) item += way;
  return item;
}

/* The only number between two items that is no cell, a decimal as the number next to it; -1: none,
 * or more. */
static int only_between(const struct attn_sequence *s, int first, int last, int next_to) {
  int found = -1, is_decimal = s->item[next_to].cell.decimals > 0;
  for (int n = first + 1; n < last; n++) {
    if (!is_unmatched(s, n) || (is_decimal && s->item[n].cell.decimals < 1)) continue;
    if (found >= 0) return -1;
    found = n;
  }
  return found;
}

static int is_same_row(const struct attn_expected *a, const struct attn_expected *b) {
  return a->step == b->step && a->row == b->row;
}

/* The number after an item in its list, if it is no cell; -1: none. */
static int beside(const struct attn_sequence *s, int item) {
  int n = item + 1;
  return n < s->items && s->item[n].list == s->item[item].list && is_unmatched(s, n) ? n : -1;
}

/* Is it of the same query and key? */
static int is_same_place(const struct attn_expected *a, const struct attn_expected *b) {
  return a->row == b->row && a->col == b->col;
}

/* The number that a cell must be, between those of its row. */
static int find_missing(const struct attn_sequence *s, int cell) {
  const struct attn_expected *e = &s->expected[cell];
  int left = e->col > 0 ? s->first_item[cell - 1] : -1, found = -1;
  int has_right = cell + 1 < s->expecteds && is_same_row(e, e + 1);
  int right = has_right ? s->first_item[cell + 1] : -1;
  if (left >= 0) found = only_between(s, left, next_matched(s, left, 1), left);
  if (found < 0 && left >= 0 && s->item[left].cell.decimals > 0) found = beside(s, left);
  if (found < 0 && right >= 0) found = only_between(s, next_matched(s, right, -1), right, right);
  for (int n = cell - 1; n >= 0 && found < 0; n--) {
    const struct attn_expected *b = &s->expected[n];
    if (b->step == e->step || !is_same_place(b, e)) continue;
    int item = s->first_item[n];
    if (item >= 0) return only_between(s, item, next_matched(s, item, 1), item);
  }
  return found;
}

static int has_cell_of_row(const struct attn_sequence *s, int cell) {
  for (int n = 0; n < s->items; n++)
    if (s->item[n].expected >= 0 &&
        is_same_row(&s->expected[s->item[n].expected], &s->expected[cell]))
      return 1;
  return 0;
}

int attn_sequence_may_be(const struct attn_sequence *s, int cell, int item) {
  const attn_cell *c = &s->item[item].cell;
  int step = s->expected[cell].step;
  if (!isfinite(c->value)) return 0;
  return c->decimals > 0 || step <= ATTN_STEP_SCORES || step >= ATTN_STEP_OUTPUT;
}

static void fill(struct attn_sequence *s, int cell, int item) {
  s->slip[cell] = s->item[item].cell.value;
  s->is_slip[cell] = 1;
}

/* The first number that a row lacks: its cell; -1: none. */
static int find_cell(const struct attn_sequence *s, int *item) {
  int first = -1;
  for (int cell = 0; cell < s->expecteds; cell++) {
    if (s->is_slip[cell] || s->first_item[cell] >= 0 || !has_cell_of_row(s, cell)) continue;
    int found = find_missing(s, cell);
    if (found < 0 || !attn_sequence_may_be(s, cell, found) || (first >= 0 && found >= *item))
      continue;
    first = cell, *item = found;
  }
  return first;
}

/* Is no number of a list a cell? */
static int is_whole_gap(const struct attn_sequence *s, const struct attn_item_list *l) {
  for (int n = l->first; n < l->first + l->count; n++)
    if (!is_unmatched(s, n)) return 0;
  return l->count > 1;
}

/* Does a list go where a row begins, between the cells before and after it? The price of the way;
 * -1: it does not, or the row has these numbers. */
static int price_of_row(const struct attn_sequence *s, const struct attn_item_list *l, int row) {
  if (attn_sequence_row_cells(s, row) != l->count || has_cell_of_row(s, row)) return -1;
  int last = row + l->count - 1, before = next_matched(s, l->first, -1);
  int after = next_matched(s, l->first + l->count - 1, 1), fits = 1;
  for (int n = 0; n < l->count; n++) {
    if (s->is_slip[row + n] || !attn_sequence_may_be(s, row + n, l->first + n)) return -1;
    fits &= attn_sequence_fits(&s->item[l->first + n].cell, &s->expected[row + n]);
  }
  int to = before < 0 ? 0 : attn_sequence_way(s, s->item[before].expected, row);
  int from = after == s->items ? 0 : attn_sequence_way(s, last, s->item[after].expected);
  return fits || to < 0 || from < 0 ? -1 : to + from;
}

/* The row that the first list of other numbers is in place of; -1: none. */
static int find_list(struct attn_sequence *s, int *item) {
  for (int n = 0; n < s->lists; n++) {
    const struct attn_item_list *l = &s->list[n];
    int best = -1, least = 0;
    if (!is_whole_gap(s, l)) continue;
    s->work += s->expecteds;
    for (int row = 0; row < s->expecteds; row++) {
      int price = s->expected[row].col ? -1 : price_of_row(s, l, row);
      if (price >= 0 && (best < 0 || price < least)) best = row, least = price;
    }
    if (best >= 0) return *item = l->first, best;
  }
  return -1;
}

/* The first number or list that is no cell, where one is missing. */
static int fill_first(struct attn_sequence *s) {
  int item = -1, first = -1, cell = find_cell(s, &item), row = find_list(s, &first);
  if (row < 0 || (cell >= 0 && item < first)) return cell >= 0 ? fill(s, cell, item), 1 : 0;
  for (int n = 0; n < s->list[s->item[first].list].count; n++) fill(s, row + n, first + n);
  return 1;
}

/* The first row of a step that has no number, not above the row of the last cell before an item:
 * its first cell. -1: none. */
static int find_empty_row(const struct attn_sequence *s, int step, int item) {
  int before = next_matched(s, item, -1), n = 0;
  int row = before >= 0 ? s->expected[s->item[before].expected].row : 0;
  while (n < s->expecteds && (s->expected[n].step != step || s->expected[n].row < row ||
                              s->expected[n].col > 0 || has_cell_of_row(s, n)))
    n++;
  return n < s->expecteds ? n : -1;
}

/* Numbers that are called a step, as many as a row of it has, where it is not printed. */
static int fill_row(struct attn_sequence *s) {
  for (int first = 0, end; first < s->items; first = end) {
    int called = s->list[s->item[first].list].called;
    end = first + 1;
    if (!is_unmatched(s, first) || called < ATTN_STEP_SCALED || called > ATTN_STEP_OUTPUT) continue;
    while (end < s->items && is_unmatched(s, end) && s->list[s->item[end].list].called == called)
      end++;
    int cell = find_empty_row(s, called, first),
        cells = cell >= 0 ? attn_sequence_row_cells(s, cell) : 0;
    if (!cells || end - first < cells) continue;
    for (int n = 0; n < cells; n++)
      if (!attn_sequence_may_be(s, cell + n, first + n)) return 0;
    for (int n = 0; n < cells; n++) fill(s, cell + n, first + n);
    return 1;
  }
  return 0;
}

static int is_misprint(const struct attn_sequence *s, int item) {
  int cell = s->item[item].expected;
  return cell >= 0 && !attn_sequence_fits(&s->item[item].cell, &s->expected[cell]);
}

/* Is the right number of a cell printed, too? */
static int is_printed_right(const struct attn_sequence *s, int cell) {
  for (int n = 0; n < s->items; n++)
    if (s->item[n].expected == cell && !is_misprint(s, n)) return 1;
  return 0;
}

/* The first number that is in place of another one, where inputs are found by their order, and the
 * others of its row; not if most cells are. */
static int fill_misprint(struct attn_sequence *s) {
  int first = -1, cells = 0, misprints = 0;
  s->with_misprints = 1;
  attn_sequence_align(s);
  s->with_misprints = 0;
  for (int n = 0; n < s->items; n++) {
    cells += s->item[n].expected >= 0, misprints += is_misprint(s, n);
    if (first < 0 && misprints) first = n;
  }
  if (first < 0 || 4 * misprints > 3 * cells) return 0;
  const struct attn_expected *of = &s->expected[s->item[first].expected];
  for (int n = first; n < s->items; n++) {
    int cell = s->item[n].expected;
    if (n > first && (!is_misprint(s, n) || is_printed_right(s, cell))) continue;
    if (is_same_row(&s->expected[cell], of)) fill(s, cell, n);
  }
  return 1;
}

/* The first cell of the row that a list is; -1: it is none. */
static int row_of_list(const struct attn_sequence *s, const struct attn_item_list *l) {
  int cell = s->item[l->first].expected;
  if (cell < 0 || s->expected[cell].col || attn_sequence_row_cells(s, cell) != l->count) return -1;
  for (int n = 1; n < l->count; n++)
    if (s->item[l->first + n].expected != cell + n) return -1;
  return l->count > 1 ? cell : -1;
}

/* The first cell of the only row of a step that is not printed; -1: none is missing, or more. */
static int find_missing_row(const struct attn_sequence *s, int step) {
  int found = -1;
  for (int n = 0; n < s->expecteds; n++) {
    if (s->expected[n].step != step || s->expected[n].col || has_cell_of_row(s, n)) continue;
    if (found >= 0) return -1;
    found = n;
  }
  return found;
}

/* A row that is printed twice, where the row before or after it is missing. */
static int fill_repeated(struct attn_sequence *s) {
  for (int n = 0, last = -1; n < s->lists; n++) {
    int cell = row_of_list(s, &s->list[n]), above = last;
    if (cell < 0) continue;
    last = n;
    if (above < 0 || row_of_list(s, &s->list[above]) != cell) continue;
    int row = find_missing_row(s, s->expected[cell].step);
    int way = row < 0 ? 0 : s->expected[row].row - s->expected[cell].row;
    if (abs(way) != 1) continue;
    const struct attn_item_list *of = &s->list[way < 0 ? above : n];
    for (int k = 0; k < of->count; k++) fill(s, row + k, of->first + k);
    return 1;
  }
  return 0;
}

int attn_sequence_fill(struct attn_sequence *s) {
  if (fill_repeated(s)) return 1;
  if (s->given.results) return fill_misprint(s);
  find_items(s);
  return fill_first(s) || fill_row(s);
}
