/* stray.c -- numbers that are in no block, with the words in front of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "cell.h"

struct attn_part attn_name_before(const char *text, size_t at) {
  struct attn_part p = attn_part_chop(text, (struct attn_part){0, at}, " \t\r\f\v=:");
  size_t least = attn_part_last(text, p, ATTN_NAME_CHARACTERS).begin;
  int depth = 0; /* of parentheses: score(1,2) */
  for (p.begin = p.end; p.begin > least; p.begin--) {
    char c = text[p.begin - 1];
    depth += (c == ')') - (c == '(' && depth > 0);
    if (!depth && strchr("=,;", c)) break;
  }
  p = attn_part_trim(text, p);
  return attn_part_whole_words(text, attn_part_last(text, p, ATTN_LABEL_CHARACTERS), p.begin);
}

/* How much a result may be off: "abs=2e-3", "atol = 0.002", the last of "near(a, b, 2e-3)". */
static int is_tolerance(struct attn_grouping *g, const struct attn_stray *s) {
  static const char TOLERANCE[] =
      "(?i)(?:^|[\\s(_])(?:abs|rel|[ar]?tol|eps(?:ilon)?|tolerance|within)(?: (?:of|is))?\\W*$";
  if (s->cell.value < 0 || s->cell.value >= .1) return 0;
  return (s->cell.kind == ATTN_CELL_SCIENTIFIC && !*s->name) ||
         attn_occurs(g->scan->patterns, TOLERANCE, s->name);
}

static void add_stray(struct attn_grouping *g, struct attn_stray stray) {
  if (stray.cell.kind == ATTN_CELL_BLANK || isnan(stray.cell.value)) return;
  if (stray.cell.value == -(double)INFINITY) return; /* hides a key */
  if (stray.name && !is_tolerance(g, &stray) &&
      attn_group_grow(g, (void **)&g->stray, (size_t)g->strays, sizeof *g->stray))
    g->stray[g->strays++] = stray;
}

void attn_stray_cell(struct attn_grouping *g, char *name, const attn_cell *cell, int is_result) {
  add_stray(g, (struct attn_stray){.name = name, .is_result = is_result, .cell = *cell});
}

void attn_stray_turn(struct attn_grouping *g, char *name, const attn_cell *cell, int turn) {
  add_stray(g, (struct attn_stray){.name = name, .is_result = 1, .turn = turn, .cell = *cell});
}

void attn_stray_of(struct attn_grouping *g, char *name, const attn_cell *cell, int vector,
                   int is_row) {
  add_stray(g,
            (struct attn_stray){
                .name = name, .is_result = 1, .vector = vector, .is_row = is_row, .cell = *cell});
}

void attn_stray_size(struct attn_grouping *g, char *name, const attn_cell *cell) {
  add_stray(g, (struct attn_stray){.name = name, .is_size = 1, .cell = *cell});
}

/* The argument of a function is not a result, unless it is of softmax. */
enum { NAME_OF_SOFTMAX = 12 };

static void add_value(struct attn_grouping *g, const struct attn_scan_line *line,
                      struct attn_part front, int index) {
  const struct attn_scan_value *value = &g->lines->value[index];
  char *name = attn_group_text(g, line->text, attn_name_before(line->text, front.end));
  int is_result = front.end == 0 || line->text[front.end - 1] != '(' ||
                  attn_part_ends_in(g, "(?i)softmax\\s?\\($", line->text, front, NAME_OF_SOFTMAX);
  for (int n = 0; n < value->grids; n++) {
    const attn_printing *grid = &value->grid[n];
    for (int c = 0; c < grid->rows * grid->cols && g->status == ATTN_OK; c++)
      add_stray(g, (struct attn_stray){.name = name,
                                       .is_result = is_result,
                                       .vector = grid->rows == 1 ? grid->cells[0].column : 0,
                                       .cell = grid->cells[c]});
  }
}

static void add_values(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct attn_part rest = {0, line->bytes}, front = rest;
  size_t end;
  int index;
  while (g->status == ATTN_OK &&
         (end = attn_next_value(line->text, rest, &front.end, &index)) != 0) {
    rest.begin = end;
    if (attn_group_is_value(g, index) && !g->lines->value[index].used &&
        !attn_is_term(g, line->text, front, rest))
      add_value(g, line, front, index);
    front.begin = end;
  }
}

/* "1 0": the next number of a part that has numbers alone. *rest: what is after it. */
static int next_cell(struct attn_grouping *g, const struct attn_scan_line *line,
                     struct attn_part *rest, attn_cell *cell) {
  struct attn_part p = attn_part_trim(line->text, *rest);
  size_t end = p.begin + strcspn(line->text + p.begin, " \t");
  if (end > p.end) end = p.end;
  rest->begin = end;
  return p.begin < p.end && attn_group_cell(g, line, (struct attn_part){p.begin, end}, cell);
}

/* Two numbers or more alone are a row of a matrix. 0: something else is there. */
static int add_cells(struct attn_grouping *g, const struct attn_scan_line *line,
                     struct attn_part p) {
  struct attn_part rest = attn_part_chop(line->text, p, " \t"), all = rest;
  attn_cell cell;
  int count = 0, vector = 0;
  while (rest.begin < rest.end && next_cell(g, line, &rest, &cell)) count++;
  if (rest.begin < rest.end || count < 2 || cell.kind == ATTN_CELL_BLANK) return 0;
  for (rest = all; next_cell(g, line, &rest, &cell);) {
    if (!vector) vector = cell.column;
    attn_stray_of(g, "", &cell, vector, 1);
  }
  return 1;
}

void attn_stray_label(struct attn_grouping *g, const struct attn_row *row, int item) {
  struct attn_part p = {row->item[item].begin, row->item[item].end};
  p.begin = attn_numbers_begin(g, row->line->text, p);
  add_cells(g, row->line, p);
}

/* Not of a sentence with a pipe in parentheses. */
void attn_stray_item(struct attn_grouping *g, const struct attn_row *row, int item) {
  struct attn_part p = {row->item[item].begin, row->item[item].end};
  int open = 0;
  if (add_cells(g, row->line, p)) return;
  for (size_t at = p.begin; at < p.end; at++)
    open += (row->line->text[at] == '(') - (row->line->text[at] == ')');
  if (open == 0) attn_stray_text(g, row->line, p, NULL, 0);
}

/* The factors of "0.7 v_1 + 0.3 v_2" are weights. */
static void add_factors(struct attn_grouping *g, const struct attn_scan_line *line) {
#define TERM "(-?\\d*\\.\\d+)\\s?[*\\x{B7}\\x{D7}]?\\s?[vVhHxX]_?\\(?(\\d|[A-H]\\b)"
  static const char FACTOR[] = TERM, SUM[] = TERM "\\)?\\s*\\+\\s*" TERM;
  struct attn_part rest = {0, line->bytes};
  struct attn_match m;
  attn_cell cell;
  if (!attn_part_find(g, SUM, line->text, rest, &m)) return;
  char last = 0;
  int vector = 0;
  for (; attn_part_find(g, FACTOR, line->text, rest, &m); rest.begin = m.group[0].end) {
    char index = line->text[m.group[2].begin];
    if (!attn_group_cell(g, line, m.group[1], &cell)) continue;
    if (index != last + 1) vector = cell.column;
    last = index;
    add_stray(
        g, (struct attn_stray){.name = "weight", .is_result = 1, .vector = vector, .cell = cell});
  }
}

static int strays_in_order(const void *a, const void *b) {
  const struct attn_stray *x = a, *y = b;
  int order = attn_cell_compare(&x->cell, &y->cell);
  return order ? order : (x->vector == 0) - (y->vector == 0);
}

/* What is in a vector and in a sentence is once in the list: in the vector. */
static void sort_strays(struct attn_grouping *g) {
  int kept = 0;
  if (g->strays > 1) qsort(g->stray, (size_t)g->strays, sizeof *g->stray, strays_in_order);
  for (int n = 0; n < g->strays; n++)
    if (!kept || attn_cell_compare(&g->stray[kept - 1].cell, &g->stray[n].cell) != 0)
      g->stray[kept++] = g->stray[n];
  g->strays = kept;
}

static int worked_in_order(const void *a, const void *b) {
  return attn_cell_compare(&((const struct attn_worked *)a)->first,
                           &((const struct attn_worked *)b)->first);
}

void attn_stray_finish(struct attn_grouping *g) {
  for (int n = 0; n < g->lines->lines && g->status == ATTN_OK; n++)
    add_values(g, &g->lines->line[n]), add_factors(g, &g->lines->line[n]);
  attn_worked_lines(g);
  sort_strays(g);
  struct attn_scan *scan = g->scan;
  if (scan->workeds > 1)
    qsort(scan->worked, (size_t)scan->workeds, sizeof *scan->worked, worked_in_order);
}
