/* pair.c -- a line that has the score of one query and one key: do its other numbers belong to the
 * same two? "q·k1 = 4, /√2 = 2.828" */
#include <math.h>
#include <string.h>

#include "account.h"
#include "cell.h"
#include "placed.h"

/* The only cell of scores, or of what follows from them, in a line. */
struct pair {
  const attn_example *example; /* NULL: there is none, or there are several */
  int head, row, col;
};

enum { A_SEARCH = 20 }; /* the work of a search for a name, in cells that are compared */

static int is_of_scores(const attn_step *s) {
  return s->name >= ATTN_STEP_SCORES && s->name <= ATTN_STEP_WEIGHTS && s->op != ATTN_OP_GIVEN &&
         s->name != ATTN_STEP_ROW_SUM && s->exact.at && s->exact.rows * s->exact.cols > 1;
}

/* 0: it is another cell than before. */
static int add_cell(struct pair *p, struct pair cell) {
  int same = p->example == cell.example && p->head == cell.head && p->row == cell.row &&
             p->col == cell.col;
  if (p->example && !same) return p->example = NULL, 0;
  *p = cell;
  return 1;
}

/* 0: there are several, or what is printed is not the right number. */
static int add_printing(struct attn_account *a, struct pair *pair, const attn_example *e,
                        const attn_step *s, const attn_printing *p, int line) {
  int32_t cells = p->rows * p->cols;
  if (cells < 1 || p->cells[0].line > line || p->cells[cells - 1].line < line) return 1;
  a->work += cells;
  for (int32_t n = 0; n < cells; n++) {
    struct pair cell = {e, s->head, p->row0 + n / p->cols, p->col0 + n % p->cols};
    if (p->cells[n].line != line) continue;
    if (cell.row >= s->exact.rows || cell.col >= s->exact.cols ||
        !attn_cell_is_near(&p->cells[n], s->exact.at[cell.row * s->exact.cols + cell.col], 3))
      return pair->example = NULL, 0;
    if (!add_cell(pair, cell)) return 0;
  }
  return 1;
}

static struct pair pair_of(struct attn_account *a, int line) {
  struct pair pair = {NULL, 0, 0, 0};
  for (int32_t i = 0; i < a->lesson->examples && a->work < ATTN_ACCOUNT_WORK; i++) {
    const attn_example *e = &a->lesson->example[i];
    for (int32_t n = 0; n < e->steps; n++)
      for (int32_t p = 0; p < e->step[n].printings && is_of_scores(&e->step[n]); p++, a->work++)
        if (!add_printing(a, &pair, e, &e->step[n], &e->step[n].printing[p], line)) return pair;
  }
  return pair;
}

/* Does the document print the number for the pair? */
static int is_printed(const struct pair *p, const attn_step *s, const attn_cell *cell) {
  for (int32_t n = 0; n < s->printings; n++) {
    const attn_cell *printed = attn_printed_cell(&s->printing[n], p->row, p->col);
    if (printed && attn_cell_is_near(cell, printed->value, 3)) return 1;
  }
  return 0;
}

/* Bits: 1: it is a number of the pair, rounded on the way or not; 2: of another one. */
static int whose(struct attn_account *a, const struct pair *p, const attn_cell *cell) {
  int found = 0;
  for (int32_t n = 0; n < p->example->steps; n++) {
    const attn_step *s = &p->example->step[n];
    if (!is_of_scores(s) || s->head != p->head) continue;
    found |= is_printed(p, s, cell);
    for (int c = 0; c < s->exact.rows * s->exact.cols; c++, a->work++) {
      int is_own = c / s->exact.cols == p->row && c % s->exact.cols == p->col;
      if (attn_cell_is_near(cell, s->exact.at[c], is_own ? 3 : 1)) found |= is_own ? 1 : 2;
    }
  }
  return found;
}

/* "q1·k2", "S_12": of the only example, query 1 and key 2. */
static int is_named(const struct attn_account *a, const struct attn_stray *s, struct pair *out) {
  static const char PRODUCT[] =
      "(*UCP)(?|\\b[qQ]_?([0-9])\\s?[\\x{B7}.*\\x{D7}]\\s?[kK]_?([0-9])|"
      "\\b(?:[SsAaα]|[Ss]core)_?[({]?([0-9]),?\\s?([0-9])[)}]?)\\W*$";
  struct attn_match m;
  if (a->lesson->examples != 1 || a->lesson->example->heads != 1 ||
      !attn_find(a->scan->patterns, PRODUCT, s->name, strlen(s->name), 0, &m))
    return 0;
  int first = '0' + (a->lesson->example->one_based != 0);
  *out = (struct pair){a->lesson->example, -1, s->name[m.group[1].begin] - first,
                       s->name[m.group[2].begin] - first};
  return 1;
}

/* The pair of the last product that is named before a number in its line. */
static struct pair named_pair(struct attn_account *a, const struct attn_stray *s) {
  struct pair pair = {NULL, 0, 0, 0};
  for (const struct attn_stray *t = s; a->work < ATTN_ACCOUNT_WORK && !is_named(a, t, &pair) &&
                                       t > a->scan->stray && t[-1].cell.line == s->cell.line;
       t--)
    a->work += A_SEARCH;
  return pair;
}

/* Does the example have scores of the pair? */
static int has_pair(const struct pair *p) {
  int found = 0;
  for (int32_t n = 0; n < p->example->steps; n++) {
    const attn_step *s = &p->example->step[n];
    found |= is_of_scores(s) && p->row >= 0 && p->col >= 0 && p->row < s->exact.rows &&
             p->col < s->exact.cols;
  }
  return found;
}

int attn_is_of_other_pair(struct attn_account *a, const struct attn_stray *s) {
  struct pair pair = {NULL, 0, 0, 0};
  int is_own = is_named(a, s, &pair);
  if (is_own && s->is_result && has_pair(&pair)) return !(whose(a, &pair, &s->cell) & 1);
  if (s->cell.decimals < 1) return 0;
  if (!pair.example) pair = named_pair(a, s);
  if (!pair.example) pair = pair_of(a, s->cell.line);
  return pair.example && whose(a, &pair, &s->cell) == 2;
}

/* "q·k1 = 14, scaled 15/2 = 7", "14/7 = 2": what is divided, and what it makes. */
int attn_divides_other_pair(struct attn_account *a, const struct attn_worked *w) {
  if (w->operands != 2 || w->sides < 2 || w->side->cols != 1) return 0;
  attn_cell of = w->operand[0];
  const attn_cell *result = &w->side[w->sides - 1].cells[0];
  double by = fabs(of.value / w->side->cells[0].value);
  if (fabs(by - w->operand[1].value) > 1e-9 * by && fabs(by * by - w->operand[1].value) > 1e-9 * by)
    return 0;
  struct pair pair = pair_of(a, w->first.line);
  of.value = copysign(of.value, w->side->cells[0].value);
  int owner = pair.example ? whose(a, &pair, &of) : 0;
  return owner == 2 || (owner == 1 && !(whose(a, &pair, result) & 1));
}

/* ---- scores that are put together ---- */

/* In the lines that end above q, one in each? */
static int is_above(const attn_printing *p, const attn_printing *q) {
  if (p->rows != 1 || p->cols != q->cols) return 0;
  for (int32_t n = 0; n < q->cols; n++)
    if (p->cells[n].line != q->cells[0].line - q->cols + n) return 0;
  return 1;
}

int attn_is_gathered_above(struct attn_account *a, const attn_printing *q) {
  for (int32_t i = 0; i < a->lesson->examples && a->work < ATTN_ACCOUNT_WORK; i++)
    for (int32_t n = 0; n < a->lesson->example[i].steps; n++) {
      const attn_step *s = &a->lesson->example[i].step[n];
      for (int32_t p = 0; p < s->printings; p++, a->work++)
        if (is_above(&s->printing[p], q) && attn_has_rows_of(&s->printing[p], q) &&
            attn_is_read(a, &s->printing[p]))
          return q->cols > 1;
    }
  return 0;
}
