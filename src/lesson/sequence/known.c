/* known.c -- queries, keys and values that another reading of the document has found. */
#include "cell.h"
#include "sequence.h"
#include "steps.h"

static int item_at(const struct attn_sequence *s, const attn_cell *cell) {
  int n = 0;
  while (n < s->items && attn_cell_compare(&s->item[n].cell, cell) != 0) n++;
  return n < s->items ? n : -1;
}

/* Not what a constructor prints of a large matrix: "np.ones((1000, 1000))". */
static void mark_known(struct attn_sequence *s, const attn_step *step) {
  for (int k = 0; k < step->printings; k++) {
    const attn_printing *p = &step->printing[k];
    int cells = p->rows * p->cols;
    for (int n = 0; n < cells && cells <= ATTN_ITEMS_MAX; n++) {
      int item = item_at(s, &p->cells[n]);
      if (item >= 0) s->item[item].is_known = 1;
    }
  }
}

/* Is it one of Q, K and V, or does one follow from it? */
static int is_input(const attn_example *ex, const attn_step *step) {
  int is_used = step->name >= ATTN_STEP_Q && step->name <= ATTN_STEP_V;
  for (int n = 0; n < ex->steps && !is_used; n++)
    for (int k = 0; k < ex->step[n].operands && ex->step[n].name <= ATTN_STEP_V; k++)
      is_used |= &ex->step[ex->step[n].operand[k]] == step;
  return is_used;
}

/* The list that begins with the first number of a row; -1: none. */
static int list_of_row(const struct attn_sequence *s, const attn_step *step, int row) {
  const attn_cell *cell = step->printings ? attn_printed_cell(step->printing, row, 0) : NULL;
  int item = cell ? item_at(s, cell) : -1;
  return item >= 0 && s->list[s->item[item].list].first == item ? s->item[item].list : -1;
}

/* As they are printed; else computed. 0: a number is not what follows from the inputs: these may be
 * others. */
static int set_vectors(struct attn_sequence *s, int of, const attn_step *step) {
  for (int row = 0; row < step->exact.rows; row++)
    for (int col = 0; col < step->exact.cols; col++) {
      const attn_cell *cell = step->printings ? attn_printed_cell(step->printing, row, col) : NULL;
      double exact = step->exact.at[row * step->exact.cols + col];
      int is_printed = cell && cell->kind == ATTN_CELL_NUMBER;
      if (is_printed && !attn_cell_is_near(cell, exact, 3)) return 0;
      s->vector[of][row][col] = is_printed ? cell->value : exact;
    }
  return 1;
}

int attn_sequence_known(struct attn_sequence *s) {
  struct attn_givens *g = &s->given;
  const attn_step *of[3];
  *g = (struct attn_givens){.scoring = ATTN_DOT};
  for (int n = 0; n < 3; n++) {
    of[n] = attn_find_step(s->known, ATTN_STEP_Q + n, ATTN_ANY_HEAD);
    if (!of[n] || !of[n]->exact.at) return 0;
    if (of[n]->exact.rows > ATTN_TOKENS_MAX || of[n]->exact.cols > ATTN_WIDTH_MAX) return 0;
    if (!set_vectors(s, n, of[n])) return 0;
  }
  g->queries = of[0]->exact.rows, g->keys = of[1]->exact.rows;
  g->width = of[1]->exact.cols, g->out_width = of[2]->exact.cols;
  if (of[0]->exact.cols != g->width || of[2]->exact.rows != g->keys) return 0;
  for (int n = 0; n < g->keys; n++) g->key[n] = list_of_row(s, of[1], n);
  for (int n = 0; n < s->known->steps; n++)
    if (is_input(s->known, &s->known->step[n])) mark_known(s, &s->known->step[n]);
  return 1;
}
