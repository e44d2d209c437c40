/* sums.c -- what weights are divided by, where it is one number that is in no block: the sum of the
 * exponentials in a sentence or a cell of its own, or its logarithm. */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "reading.h"
#include "steps.h"

int attn_names_sum(const struct attn_scan *scan, const char *text) {
  static const char SUM[] =
      "(*UCP)(?i)\\b(?:sums?|totals?|adds? (?:it |them "
      ")?up|summen?|sommes?|sumas?|somas?|somma)\\b|"
      "denominat|[Σ∑]|合計|和|합|сумм";
  return attn_occurs(scan->patterns, SUM, text);
}

/* The weights of one query, and what they are computed from. */
struct softmax {
  attn_example *e;
  int weights, logits, exponentials, sum; /* steps; -1: there is none */
  const attn_step *terms;                 /* that are added up: exponentials, or logits */
  int count;
  double total; /* the right sum */
};

static int find_step(const attn_example *e, int op, int of) {
  for (int n = 0; n < e->steps; n++)
    if (e->step[n].op == op && e->step[n].operand[0] == of) return n;
  return -1;
}

/* 0: the weights are of several queries, or follow from something else. */
static int find_softmax(attn_example *e, int weights, struct softmax *x) {
  const attn_step *w = &e->step[weights];
  *x = (struct softmax){.e = e, .weights = weights, .sum = -1, .exponentials = -1};
  if (w->name != ATTN_STEP_WEIGHTS || !w->printings) return 0;
  if (w->exact.rows != 1 && w->exact.cols != 1) return 0;
  if (w->op != ATTN_OP_SOFTMAX && w->op != ATTN_OP_QUOTIENT) return 0;
  x->logits = w->operand[0];
  if (w->op == ATTN_OP_QUOTIENT) {
    x->exponentials = w->operand[0], x->sum = w->operand[1];
    if (e->step[x->exponentials].op != ATTN_OP_EXP || e->step[x->sum].op != ATTN_OP_SUM) return 0;
    x->logits = e->step[x->exponentials].operand[0];
  } else {
    x->exponentials = find_step(e, ATTN_OP_EXP, x->logits);
    if (x->exponentials >= 0) x->sum = find_step(e, ATTN_OP_SUM, x->exponentials);
  }
  x->terms = &e->step[x->exponentials >= 0 && e->step[x->exponentials].printings ? x->exponentials
                                                                                 : x->logits];
  x->count = w->exact.rows * w->exact.cols;
  for (int n = 0; n < x->count; n++) x->total += exp(e->step[x->logits].exact.at[n]);
  return isfinite(x->total);
}

/* The number of a step in the first printing that has all of them; NULL: none has. */
static const attn_cell *shown(const attn_step *s, int n) {
  for (int p = 0; p < s->printings; p++)
    if (s->printing[p].rows * s->printing[p].cols == s->exact.rows * s->exact.cols &&
        s->printing[p].cells[n].kind != ATTN_CELL_BLANK)
      return &s->printing[p].cells[n];
  return NULL;
}

static double half_shown(const attn_step *s) {
  return s->printings ? attn_cell_half(&s->printing[0].cells[0]) : 0;
}

/* exp of the logits, as printed if the exponentials are. */
static double term(const struct softmax *x, int n) {
  const attn_cell *cell = shown(x->terms, n);
  double value = cell ? cell->value : x->terms->exact.at[n];
  return x->terms->op == ATTN_OP_EXP ? value : exp(value);
}

/* Do the printed weights follow from this sum, and not from the right one? */
static int are_divided_by(const struct softmax *x, const attn_cell *sum) {
  const attn_step *w = &x->e->step[x->weights];
  int differ = 0;
  for (int n = 0; n < x->count; n++) {
    const attn_cell *cell = shown(w, n);
    if (!cell) return 0;
    double half = attn_cell_half(cell), e = term(x, n), slack = half + 1e-9;
    if (x->terms->op == ATTN_OP_EXP) slack += half_shown(x->terms) / sum->lo;
    if (cell->value < e / sum->hi - slack || cell->value > e / sum->lo + slack) return 0;
    differ |= fabs(cell->value - w->exact.at[n]) > slack;
  }
  return differ;
}

/* The exponentials without one of them? */
static int lacks_term(const struct softmax *x, const attn_cell *sum) {
  double slack = attn_cell_half(sum) + x->count * half_shown(x->terms) + 1e-9, left = -sum->value;
  for (int n = 0; n < x->count; n++) left += term(x, n);
  for (int n = 0; n < x->count && x->count > 2; n++)
    if (fabs(left - term(x, n)) <= slack && term(x, n) > 2 * slack) return 1;
  return 0;
}

/* Where the number is: not before the terms are printed. */
static int is_after(const attn_step *s, const attn_cell *cell) {
  const attn_cell *first = s->printings ? &s->printing[0].cells[0] : NULL;
  return !first || attn_cell_place(first) < attn_cell_place(cell);
}

static int is_sum(const struct attn_scan *scan, const struct softmax *x, const char *name,
                  const attn_cell *sum) {
  if (x->terms->op != ATTN_OP_EXP || !is_after(x->terms, sum) || !(sum->lo > 0)) return 0;
  int named = attn_names_sum(scan, name), lacks = lacks_term(x, sum);
  return (named && lacks) || ((named || lacks) && are_divided_by(x, sum));
}

/* The sum whose logarithm a number is: of the right sum, or of that of the weights. */
static int is_logarithm(const struct softmax *x, const attn_cell *cell, attn_cell *sum) {
  *sum = attn_cell_function(exp, *cell);
  sum->line = cell->line, sum->column = cell->column;
  if (cell->decimals < 2 || !is_after(&x->e->step[x->logits], cell)) return 0;
  return (x->total >= sum->lo && x->total <= sum->hi) || are_divided_by(x, sum);
}

/* ---- steps ---- */

/* A step in front of another one. -1: no memory. */
static int insert_step(struct attn_maker *m, attn_example *e, int at, int name, int op, int of) {
  if (!attn_add_step(m, e, name, e->step[of].head, op)) return -1;
  attn_step added = e->step[e->steps - 1];
  memmove(&e->step[at + 1], &e->step[at], (size_t)(e->steps - 1 - at) * sizeof added);
  for (int n = at + 1; n < e->steps; n++)
    for (int k = 0; k < e->step[n].operands; k++)
      e->step[n].operand[k] += e->step[n].operand[k] >= at;
  added.operands = 1, added.operand[0] = of;
  added.axis = e->step[of].exact.rows == 1;
  e->step[at] = added;
  return attn_compute_step(m, e, &e->step[at]) ? -1 : at;
}

/* The weights become exponentials / their sum, which shows the number. */
static attn_status attach(struct attn_maker *m, struct softmax *x, const attn_cell *sum) {
  attn_printing p = {.rows = 1, .cols = 1, .line = sum->line, .column = sum->column};
  attn_example *e = x->e;
  p.cells = attn_pool_take(m->pool, sizeof *p.cells);
  if (!p.cells) return attn_no_memory(m);
  *p.cells = *sum;
  if (x->exponentials < 0)
    x->exponentials =
        insert_step(m, e, x->weights++, ATTN_STEP_EXPONENTIALS, ATTN_OP_EXP, x->logits);
  if (x->exponentials >= 0 && x->sum < 0)
    x->sum = insert_step(m, e, x->weights++, ATTN_STEP_ROW_SUM, ATTN_OP_SUM, x->exponentials);
  if (x->exponentials < 0 || x->sum < 0) return attn_no_memory(m);
  attn_step *w = &e->step[x->weights];
  w->op = ATTN_OP_QUOTIENT, w->operands = 2, w->suspected = ATTN_CAUSE_NONE;
  w->axis = w->exact.rows == 1;
  w->operand[0] = x->exponentials, w->operand[1] = x->sum;
  return attn_add_printing(m, &e->step[x->sum], &p);
}

/* A printed sum that lacks a term is no guess. 0: none is printed. */
static int confirm_sums(const struct softmax *x) {
  int printed = 0;
  for (int n = 0; x->exponentials >= 0 && n < x->e->steps; n++) {
    attn_step *s = &x->e->step[n];
    if (s->op != ATTN_OP_SUM || s->operand[0] != x->exponentials || !s->printings) continue;
    if (lacks_term(x, &s->printing[0].cells[0])) s->uncertain = 0;
    printed = 1;
  }
  return printed;
}

/* Is it a number of a computed step? */
static int is_shown(const attn_example *e, const attn_cell *cell) {
  for (int n = 0; n < e->steps; n++)
    for (int p = 0; e->step[n].op != ATTN_OP_GIVEN && p < e->step[n].printings; p++)
      if (attn_cell_place(&e->step[n].printing[p].cells[0]) == attn_cell_place(cell)) return 1;
  return 0;
}

/* *sum: what the weights are divided by, if the number is that. */
static int find_sum(const struct attn_scan *scan, const struct softmax *x, const char *name,
                    const attn_cell *cell, attn_cell *sum) {
  *sum = *cell;
  if (cell->kind != ATTN_CELL_NUMBER) return 0;
  return is_sum(scan, x, name, cell) || is_logarithm(x, cell, sum);
}

static attn_status attach_sum(struct attn_scan *scan, struct attn_maker *m, struct softmax *x) {
  attn_cell sum;
  for (int n = 0; n < scan->strays; n++) {
    const struct attn_stray *s = &scan->stray[n];
    if (!s->is_size && find_sum(scan, x, s->name, &s->cell, &sum)) return attach(m, x, &sum);
  }
  for (int n = 0; n < scan->blocks; n++) {
    const attn_printing *p = &scan->block[n].reading[0];
    if (p->rows * p->cols == 1 && !is_shown(x->e, &p->cells[0]) &&
        find_sum(scan, x, scan->block[n].name, &p->cells[0], &sum))
      return attach(m, x, &sum);
  }
  return ATTN_OK;
}

attn_status attn_attach_sums(struct attn_scan *scan, attn_lesson *lesson, struct attn_pool *pool,
                             attn_error *err) {
  struct attn_maker m = {.pool = pool, .err = err};
  struct softmax x;
  for (int i = 0; i < lesson->examples; i++) {
    attn_example *e = &lesson->example[i];
    for (int n = 0; n < e->steps && !e->from_python; n++) {
      if (!find_softmax(e, n, &x)) continue;
      attn_status status = confirm_sums(&x) ? ATTN_OK : attach_sum(scan, &m, &x);
      if (status) return status;
      n = x.weights;
    }
  }
  return ATTN_OK;
}
