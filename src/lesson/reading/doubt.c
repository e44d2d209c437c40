/* doubt.c -- the steps of which half is wrong, below numbers that were not read or whose place is a
 * guess, and those that are printed again, below another input: they may be other steps; examples
 * that a program contradicts; weights of additive scores of which one is used transposed. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "cell.h"
#include "judge.h"
#include "placed.h"
#include "reading.h"
#include "steps.h"

/* Is a part of a printing wrong that begins after a place? share: the least; 0: any number. */
static int is_wrong(const attn_step *s, const struct attn_judged *j, uint64_t after, double share) {
  for (int32_t n = 0; n < s->printings; n++) {
    const attn_printing *p = &s->printing[n];
    int wrong = 0;
    if (attn_cell_place(&p->cells[0]) <= after) continue;
    for (int32_t c = 0; c < p->rows * p->cols; c++) {
      int32_t row = p->row0 + c / p->cols, col = p->col0 + c % p->cols;
      int in = row < s->exact.rows && col < s->exact.cols;
      wrong += in && j->verdict[row * s->exact.cols + col] == ATTN_JUDGED_WRONG;
    }
    if (wrong && wrong >= share * p->rows * p->cols) return 1;
  }
  return 0;
}

/* Is a step printed before a place, and printed again with a wrong number after it? */
static int is_wrong_again(const attn_step *s, const struct attn_judged *j, uint64_t place) {
  if (!s->printings || attn_cell_place(&s->printing[0].cells[0]) > place) return 0;
  return is_wrong(s, j, place, 0);
}

static int is_input_name(const char *name) {
  int step = attn_step_called(name);
  return step >= ATTN_STEP_X && step <= ATTN_STEP_V && step != ATTN_STEP_MASK;
}

/* The first block of an example that was not read; or of those that are called an input. */
static uint64_t first_unread(const attn_lesson *l, int32_t example, int is_input) {
  int32_t begin = l->example[example].line, more = example + 1 < l->examples;
  int32_t end = more ? l->example[example + 1].line : INT_MAX;
  for (int32_t n = 0; n < l->unreads; n++) {
    const attn_unread *u = &l->unread[n];
    const attn_cell first = {.line = u->line, .column = u->column};
    int is_block = u->rows * u->cols > 1 && u->line >= begin && u->line < end;
    if (is_block && (!is_input || is_input_name(u->name))) return attn_cell_place(&first);
  }
  return UINT64_MAX;
}

/* Or the first step whose place is a guess and whose numbers differ. */
static uint64_t first_guess(const attn_example *e, const struct attn_judged *judged,
                            uint64_t first) {
  for (int32_t n = 0; n < e->steps; n++) {
    const attn_step *s = &e->step[n];
    if (!s->uncertain || !s->printings || judged[n].worst != ATTN_JUDGED_DOUBTFUL) continue;
    uint64_t place = attn_cell_place(&s->printing[0].cells[0]);
    if (place < first) first = place;
  }
  return first;
}

/* A slip that explains its numbers, so that they are of no other step. Rounding may fit by chance.
 */
static int is_known_slip(const attn_step *s) {
  return s->suspected && s->suspected != ATTN_CAUSE_ROUNDING_TOO_COARSE;
}

/* Is a step computed from inputs, where a block of as many columns was not read: other inputs? */
static int has_other_inputs(const attn_lesson *l, int32_t example, const attn_step *s) {
  const attn_example *e = &l->example[example];
  int32_t more = example + 1 < l->examples, end = more ? e[1].line : INT_MAX;
  for (int k = 0; k < s->operands; k++) {
    const attn_step *x = &e->step[s->operand[k]];
    if (x->name != ATTN_STEP_X || x->op != ATTN_OP_GIVEN) continue;
    for (int32_t n = 0; n < l->unreads; n++) {
      const attn_unread *u = &l->unread[n];
      if (u->cols == x->exact.cols && u->rows > 1 && u->line >= e->line && u->line < end) return 1;
    }
  }
  return 0;
}

attn_status attn_doubt_below_unread(attn_lesson *l, struct attn_pool *pool, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int32_t i = 0; i < l->examples && !status; i++) {
    attn_example *e = (attn_example *)&l->example[i];
    struct attn_judged *judged;
    if (e->from_python || (status = attn_judge_example(e, pool, &judged, err)) != ATTN_OK) continue;
    uint64_t first = first_guess(e, judged, first_unread(l, i, 0)), input = first_unread(l, i, 1);
    for (int32_t n = 0; n < e->steps && first < UINT64_MAX; n++) {
      const attn_step *s = &e->step[n];
      if (s->op != ATTN_OP_GIVEN && !is_known_slip(s) &&
          (is_wrong(s, &judged[n], first, .5) || is_wrong_again(s, &judged[n], input) ||
           (is_wrong(s, &judged[n], first, 0) && has_other_inputs(l, i, s))))
        e->step[n].uncertain = 1;
    }
  }
  return status;
}

/* ---- echoes ---- */

/* Is there a row of these numbers, or, of one number, the number? */
static int shows_row(const attn_printing *p, const attn_printing *row) {
  int32_t n = 0;
  if (row->cols > 1) return attn_has_rows_of(p, row);
  while (n < p->rows * p->cols && p->cells[n].value != row->cells[0].value) n++;
  return n < p->rows * p->cols;
}

static int is_shown(const attn_example *e, const attn_printing *row, int64_t *work) {
  for (int32_t n = 0; n < e->steps; n++)
    for (int32_t p = 0; p < e->step[n].printings; p++) {
      *work += (int64_t)e->step[n].printing[p].rows * e->step[n].printing[p].cols;
      if (shows_row(&e->step[n].printing[p], row)) return 1;
    }
  return 0;
}

/* A matrix in brackets, or a table, is no remark. */
static int is_matrix(const struct attn_scan *scan, const attn_printing *p) {
  int n = p->rows > 1 ? attn_block_of(scan, p) : -1;
  return n >= 0 && (scan->block[n].source == ATTN_BLOCK_GRID ||
                    (scan->block[n].source == ATTN_BLOCK_ROWS && !scan->block[n].name[0]));
}

/* Is it made of remarks whose numbers are all in an example above? */
static int is_echo(const struct attn_scan *scan, const attn_example *e, const attn_example *above,
                   int64_t *work) {
  enum { WORK = 1 << 22 };
  for (int32_t n = 0; n < e->steps; n++) {
    const attn_step *s = &e->step[n];
    for (int32_t p = 0; p < s->printings; p++) {
      const attn_printing *q = &s->printing[p];
      int32_t cols = s->op == ATTN_OP_GIVEN ? q->cols : 1;
      if (is_matrix(scan, q)) return 0;
      for (int32_t c = 0; c < q->rows * q->cols; c += cols) {
        const attn_printing row = {.rows = 1, .cols = cols, .cells = q->cells + c};
        if (*work > WORK || !is_shown(above, &row, work)) return 0;
      }
    }
  }
  return 1;
}

static int has_wrong(const attn_example *e, const struct attn_judged *judged) {
  int32_t n = 0;
  while (n < e->steps && judged[n].worst != ATTN_JUDGED_WRONG) n++;
  return n < e->steps;
}

attn_status attn_drop_echoes(const struct attn_scan *scan, attn_lesson *l, attn_error *err) {
  int64_t work = 0;
  for (int32_t i = l->examples - 1; i > 0; i--) {
    attn_example *e = (attn_example *)&l->example[i];
    struct attn_judged *judged;
    if (e->from_python || e[-1].from_python || !is_echo(scan, e, e - 1, &work)) continue;
    attn_status status = attn_judge_example(e, scan->pool, &judged, err);
    if (status) return status;
    if (!has_wrong(e, judged)) continue;
    memmove(e, e + 1, (size_t)(--l->examples - i) * sizeof *e);
  }
  return ATTN_OK;
}

/* ---- programs ---- */

/* Do numbers that are given differ from what a program computes under their name? */
static int differs(const attn_step *given, const attn_step *computed) {
  const attn_printing *p = given->printings ? &given->printing[0] : NULL;
  const attn_matrix *m = &computed->exact;
  if (!p || !m->at || p->rows != m->rows || p->cols != m->cols) return 0;
  int32_t n = 0;
  while (n < p->rows * p->cols && attn_cell_is_near(&p->cells[n], m->at[n], 2)) n++;
  return n < p->rows * p->cols;
}

/* Queries, keys or values that a program computes otherwise. */
static int contradicts(const attn_example *e, const attn_example *program) {
  for (int name = ATTN_STEP_Q; name <= ATTN_STEP_V; name++) {
    const attn_step *given = attn_find_step(e, name, -1);
    const attn_step *computed = attn_find_step(program, name, -1);
    if (given && computed && given->op == ATTN_OP_GIVEN && computed->op != ATTN_OP_GIVEN &&
        differs(given, computed))
      return 1;
  }
  return 0;
}

void attn_doubt_contradicted(attn_lesson *lesson) {
  for (int32_t i = 0; i < lesson->examples; i++)
    for (int32_t n = 0; n < lesson->examples; n++) {
      const attn_example *e = &lesson->example[i], *program = &lesson->example[n];
      if (!e->from_python && program->from_python && !strcmp(e->title, program->title) &&
          contradicts(e, program))
        ((attn_example *)&lesson->example[i])->uncertain = 1;
    }
}

/* ---- additive scores ---- */

/* The first step that a step is an operand of; -1: none. */
static int user_of(const attn_example *ex, int step) {
  for (int n = step + 1; n < ex->steps; n++)
    for (int k = 0; k < ex->step[n].operands; k++)
      if (ex->step[n].operand[k] == step) return n;
  return -1;
}

/* Does x W differ from x W^T? */
static int differs_transposed(const attn_matrix *x, const attn_matrix *w) {
  double largest = 0;
  if (w->rows != w->cols || x->cols != w->rows) return 1;
  for (int32_t i = 0; i < x->rows; i++)
    for (int32_t j = 0; j < w->cols; j++) {
      double change = 0;
      for (int32_t k = 0; k < w->rows; k++)
        change += x->at[i * x->cols + k] * (w->at[k * w->cols + j] - w->at[j * w->cols + k]);
      largest = fmax(largest, fabs(change));
    }
  return largest > 1e-9;
}

/* 1: x W; -1: W x; 0: either, or it is in no product. */
static int side_of(const attn_example *ex, int name) {
  const attn_step *w = attn_find_step(ex, name, ATTN_ANY_HEAD);
  int at = w ? (int)(w - ex->step) : -1, user = w ? user_of(ex, at) : -1, side = -1;
  for (; user >= 0 && ex->step[user].op == ATTN_OP_TRANSPOSE; side = -side)
    at = user, user = user_of(ex, at);
  const attn_step *p = user < 0 ? NULL : &ex->step[user];
  int is_product = p && (p->op == ATTN_OP_MATMUL || p->op == ATTN_OP_MATMUL_NT);
  if (!is_product && !(p && p->op == ATTN_OP_ADDITIVE)) return 0;
  int of = is_product ? 0 : name == ATTN_STEP_W_A ? 0 : 1;
  if (!differs_transposed(&ex->step[p->operand[of]].exact, &w->exact)) return 0;
  return p->op == ATTN_OP_MATMUL ? -side : side; /* x W^T is the transpose of W x */
}

int attn_is_turned_on_one_side(const attn_example *ex) {
  return side_of(ex, ATTN_STEP_W_A) * side_of(ex, ATTN_STEP_U_A) < 0;
}

/* ---- hidden keys ---- */

/* Is a column of a printing blank, and not left to the reader, though each key there is seen? */
static int is_hidden_and_seen(const attn_step *s, const attn_printing *p, int32_t col) {
  for (int32_t row = 0; row < p->rows; row++) {
    const attn_cell *cell = &p->cells[row * p->cols + col];
    double exact = s->exact.at[(p->row0 + row) * s->exact.cols + p->col0 + col];
    if (cell->kind != ATTN_CELL_BLANK || cell->decimals == ATTN_CELL_OPEN || !(exact > .01))
      return 0;
  }
  return 1;
}

int attn_hides_seen_keys(const attn_example *ex) {
  const attn_step *s = attn_find_step(ex, ATTN_STEP_WEIGHTS, ATTN_ANY_HEAD);
  for (int32_t n = 0; s && s->exact.at && n < s->printings; n++) {
    const attn_printing *p = &s->printing[n];
    int32_t hidden = 0;
    if (p->row0 + p->rows > s->exact.rows || p->col0 + p->cols > s->exact.cols) continue;
    for (int32_t col = 0; col < p->cols; col++) hidden += is_hidden_and_seen(s, p, col);
    if (hidden && hidden < p->cols) return 1;
  }
  return 0;
}

int attn_only_repeats(const attn_example *ex) {
  int repeats = 0;
  for (int n = 0; n < ex->steps; n++) {
    const attn_step *s = &ex->step[n];
    int is_result = s->op != ATTN_OP_GIVEN && s->printings > 0;
    if (is_result && s->name != ATTN_STEP_OUTPUT) return 0;
    if (s->name == ATTN_STEP_WEIGHTS && s->exact.rows * s->exact.cols != 1) return 0;
    repeats |= is_result;
  }
  return repeats && !attn_find_step(ex, ATTN_STEP_W_V, ATTN_ANY_HEAD);
}
