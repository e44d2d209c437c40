#include "working.h"

#include <math.h>
#include <stdio.h>

#include "step_labels.h"
#include "number_text.h"

/* Beyond this e^x has more digits than a reader wants. */
static const double EXPONENT_MAX = 30;

struct worked_cell {
  struct attn_out *out;
  const attn_example *example;
  const attn_step *step;
  int32_t row, col;
  int terms;
};

static double at(const attn_matrix *m, int32_t i, int32_t j) {
  return m->at[(size_t)i * (size_t)m->cols + (size_t)j];
}

static const attn_step *operand(const struct worked_cell *w, int n) {
  return &w->example->step[w->step->operand[n]];
}

static const attn_matrix *matrix(const struct worked_cell *w, int n) {
  return &operand(w, n)->exact;
}

/* ---- Pieces -----------------------------------------------------------------------------------
 */

void attn_out_number(struct attn_out *out, double value) {
  char text[ATTN_NUMBER_BYTES];
  attn_out_whole(out, attn_number_text(value, out->style.precision, text));
}

void attn_out_factor(struct attn_out *out, double value) {
  int brackets = value < 0;
  if (brackets) attn_out_flow(out, "(");
  attn_out_number(out, value);
  if (brackets) attn_out_flow(out, ")");
}

void attn_out_vector(struct attn_out *out, const double *value, int32_t count, int terms) {
  attn_out_flow(out, "[");
  for (int32_t k = 0; k < count; k++) {
    if (k) attn_out_flow(out, ", ");
    if (terms && k >= terms) {
      attn_out_flow(out, "…");
      break;
    }
    attn_out_number(out, value[k]);
  }
  attn_out_flow(out, "]");
}

static void more_terms(const struct worked_cell *w, int32_t count) {
  char number[16];
  snprintf(number, sizeof number, "%d", (int)count);
  attn_out_flow(w->out, " + ");
  attn_out_message(w->out, MESSAGE_MORE_TERMS, number, NULL);
}

/* Whether the sum stops here, having said so. */
static int cut(const struct worked_cell *w, int32_t k, int32_t count) {
  if (!w->terms || k < w->terms || count <= w->terms + 1) return 0;
  more_terms(w, count);
  return 1;
}

static void put_address(const struct worked_cell *w, int n, int32_t row, int32_t col) {
  char text[ATTN_ADDRESS_BYTES];
  attn_out_whole(w->out, attn_address(w->example, operand(w, n), row, col, text));
}

static void put_equals(const struct worked_cell *w) { attn_out_flow(w->out, " = "); }

/* ---- Products -----------------------------------------------------------------------------------
 */

static void product(const struct worked_cell *w, int ta, int tb) {
  const attn_matrix *a = matrix(w, 0), *b = matrix(w, 1);
  int32_t inner = ta ? a->rows : a->cols;
  put_address(w, 0, ta ? -1 : w->row, ta ? w->row : -1);
  attn_out_flow(w->out, "·");
  put_address(w, 1, tb ? w->col : -1, tb ? -1 : w->col);
  put_equals(w);
  for (int32_t k = 0; k < inner && !cut(w, k, inner); k++) {
    if (k) attn_out_flow(w->out, " + ");
    attn_out_factor(w->out, ta ? at(a, k, w->row) : at(a, w->row, k));
    attn_out_flow(w->out, "×");
    attn_out_factor(w->out, tb ? at(b, w->col, k) : at(b, k, w->col));
  }
}

/* Part k of q W, or of W a for a row a of operand n. */
static double part(const attn_matrix *m, int transposed, const attn_matrix *a, int32_t row,
                   int32_t k) {
  double sum = 0;
  for (int32_t l = 0; l < a->cols; l++)
    sum += at(a, row, l) * (transposed ? at(m, k, l) : at(m, l, k));
  return sum;
}

static void general(const struct worked_cell *w) {
  const attn_matrix *q = matrix(w, 0), *k = matrix(w, 1), *m = matrix(w, 2);
  put_address(w, 0, w->row, -1);
  attn_out_flow(w->out, "·");
  attn_out_whole(w->out, attn_step_label(operand(w, 2)->name));
  attn_out_flow(w->out, "·");
  put_address(w, 1, w->col, -1);
  put_equals(w);
  for (int32_t n = 0; n < m->cols && !cut(w, n, m->cols); n++) {
    if (n) attn_out_flow(w->out, " + ");
    attn_out_factor(w->out, part(m, 0, q, w->row, n));
    attn_out_flow(w->out, "×");
    attn_out_factor(w->out, at(k, w->col, n));
  }
}

static void additive(const struct worked_cell *w) {
  const attn_matrix *v = matrix(w, 4);
  int32_t count = v->rows * v->cols;
  for (int32_t n = 0; n < count && !cut(w, n, count); n++) {
    if (n) attn_out_flow(w->out, " + ");
    attn_out_factor(w->out, v->at[n]);
    attn_out_flow(w->out, "×tanh(");
    attn_out_factor(w->out, part(matrix(w, 2), 1, matrix(w, 0), w->row, n));
    attn_out_flow(w->out, " + ");
    attn_out_factor(w->out, part(matrix(w, 3), 1, matrix(w, 1), w->col, n));
    attn_out_flow(w->out, ")");
  }
}

/* ---- Softmax and its parts ---------------------------------------------------------------------
 */

double attn_softmax_shift(const attn_matrix *m, int32_t axis, int32_t line) {
  double top = -(double)INFINITY;
  for (int32_t k = 0; k < (axis ? m->cols : m->rows); k++)
    top = fmax(top, axis ? at(m, line, k) : at(m, k, line));
  return top > EXPONENT_MAX ? top : 0;
}

static void put_exponential(struct attn_out *out, double x) {
  attn_out_flow(out, "e^");
  attn_out_factor(out, x);
}

static void softmax(const struct worked_cell *w) {
  const attn_matrix *a = matrix(w, 0);
  int32_t axis = w->step->axis, count = axis ? a->cols : a->rows, line = axis ? w->row : w->col;
  double shift = attn_softmax_shift(a, axis, line), own = at(a, w->row, w->col) - shift, sum = 0;
  int whole = 1;
  put_exponential(w->out, own);
  attn_out_flow(w->out, " / (");
  for (int32_t k = 0; k < count; k++) {
    double x = (axis ? at(a, line, k) : at(a, k, line)) - shift;
    sum += exp(x);
    if (whole && cut(w, k, count)) whole = 0;
    if (!whole) continue;
    if (k) attn_out_flow(w->out, " + ");
    put_exponential(w->out, x);
  }
  attn_out_flow(w->out, ") = ");
  attn_out_number(w->out, exp(own));
  attn_out_flow(w->out, " / ");
  attn_out_number(w->out, sum);
}

static void line_sum(const struct worked_cell *w) {
  const attn_matrix *a = matrix(w, 0);
  int32_t axis = w->step->axis, count = axis ? a->cols : a->rows;
  for (int32_t k = 0; k < count && !cut(w, k, count); k++) {
    if (k) attn_out_flow(w->out, " + ");
    attn_out_factor(w->out, axis ? at(a, w->row, k) : at(a, k, w->col));
  }
}

/* ---- Number by number ---- */

/* The cell of operand n that stands for (row, col); one row or column may stand for all. */
static void broadcast(const struct worked_cell *w, int n, int32_t *row, int32_t *col) {
  *row = matrix(w, n)->rows == 1 ? 0 : w->row;
  *col = matrix(w, n)->cols == 1 ? 0 : w->col;
}

static void put_broadcast(const struct worked_cell *w, int n) {
  int32_t row, col;
  broadcast(w, n, &row, &col);
  put_address(w, n, row, col);
}

static double value_of(const struct worked_cell *w, int n) {
  int32_t row, col;
  broadcast(w, n, &row, &col);
  return at(matrix(w, n), row, col);
}

static void pairwise(const struct worked_cell *w, const char *sign) {
  put_broadcast(w, 0);
  attn_out_flow(w->out, sign);
  put_broadcast(w, 1);
  put_equals(w);
  attn_out_factor(w->out, value_of(w, 0));
  attn_out_flow(w->out, sign);
  attn_out_factor(w->out, value_of(w, 1));
}

static void divide(const struct worked_cell *w) {
  char root[32];
  snprintf(root, sizeof root, " / √%d = ", (int)w->step->scaled_by);
  put_broadcast(w, 0);
  if (w->step->scaled_by)
    attn_out_flow(w->out, root);
  else
    attn_out_flow(w->out, " / "), attn_out_number(w->out, w->step->scalar), put_equals(w);
  attn_out_factor(w->out, value_of(w, 0));
  attn_out_flow(w->out, " / ");
  attn_out_factor(w->out, w->step->scalar);
}

/* Why the mask let the score through or not stands behind it. */
static void mask(const struct worked_cell *w) {
  int sees = value_of(w, 1) != 0;
  if (sees) put_broadcast(w, 0), put_equals(w);
  attn_out_number(w->out, sees ? value_of(w, 0) : w->step->scalar);
  attn_out_flow(w->out, " (");
  put_broadcast(w, 1);
  put_equals(w);
  attn_out_number(w->out, value_of(w, 1));
  attn_out_flow(w->out, ")");
}

/* Which operand of an APPEND holds column col; *col becomes the column there. */
static int appended(const attn_example *e, const attn_step *s, int32_t *col) {
  for (int n = 0; n < s->operands; n++) {
    int32_t cols = e->step[s->operand[n]].exact.cols;
    if (*col < cols) return n;
    *col -= cols;
  }
  return -1;
}

static void append(const struct worked_cell *w) {
  int32_t col = w->col;
  int n = appended(w->example, w->step, &col);
  char number[16];
  if (n < 0) return;
  snprintf(number, sizeof number, "%d", (int)operand(w, n)->head + 1);
  if (operand(w, n)->head >= 0)
    attn_out_message(w->out, MESSAGE_HEAD, number, NULL), attn_out_flow(w->out, ": ");
  put_address(w, n, w->row, col);
}

static void position(const struct worked_cell *w) {
  double k = w->step->scalar + floor(w->col / 2.0);
  double frequency = pow(10000, -2 * k / w->step->exact.cols);
  attn_out_flow(w->out, w->col % 2 ? "cos(" : "sin(");
  attn_out_number(w->out, frequency);
  attn_out_flow(w->out, "×");
  attn_out_number(w->out, w->row);
  attn_out_flow(w->out, ")");
}

/* ---- All ---- */

static void by_operation(const struct worked_cell *w) {
  switch ((attn_step_op)w->step->op) {
    case ATTN_OP_GIVEN:
      break;
    case ATTN_OP_MATMUL:
      product(w, 0, 0);
      break;
    case ATTN_OP_MATMUL_NT:
      product(w, 0, 1);
      break;
    case ATTN_OP_MATMUL_TN:
      product(w, 1, 0);
      break;
    case ATTN_OP_TRANSPOSE:
      put_address(w, 0, w->col, w->row);
      break;
    case ATTN_OP_DIVIDE:
      divide(w);
      break;
    case ATTN_OP_MASK:
      mask(w);
      break;
    case ATTN_OP_SOFTMAX:
      softmax(w);
      break;
    case ATTN_OP_EXP:
      put_exponential(w->out, value_of(w, 0));
      break;
    case ATTN_OP_SUM:
      line_sum(w);
      break;
    case ATTN_OP_QUOTIENT:
      pairwise(w, " / ");
      break;
    case ATTN_OP_ADD:
      pairwise(w, " + ");
      break;
    case ATTN_OP_APPEND:
      append(w);
      break;
    case ATTN_OP_GENERAL:
      general(w);
      break;
    case ATTN_OP_ADDITIVE:
      additive(w);
      break;
    case ATTN_OP_POSITIONS:
      position(w);
      break;
  }
}

void attn_out_working(struct attn_out *out, const attn_example *e, const attn_step *s, int32_t row,
                      int32_t col, int terms) {
  const struct worked_cell w = {out, e, s, row, col, terms};
  char text[ATTN_ADDRESS_BYTES];
  attn_out_whole(out, attn_address(e, s, row, col, text));
  put_equals(&w);
  by_operation(&w);
  if (s->op == ATTN_OP_MASK) return; /* it ends with why */
  if (s->op != ATTN_OP_GIVEN) put_equals(&w);
  attn_out_number(out, at(&s->exact, row, col));
}

/* ---- What a cell takes ---- */

static void visit_line(const struct worked_cell *w, int n, int32_t row, int32_t col,
                       attn_cell_visit visit, void *context) {
  const attn_matrix *m = matrix(w, n);
  for (int32_t i = row < 0 ? 0 : row; i < (row < 0 ? m->rows : row + 1); i++)
    for (int32_t j = col < 0 ? 0 : col; j < (col < 0 ? m->cols : col + 1); j++)
      visit(context, w->step->operand[n], i, j);
}

static void visit_same(const struct worked_cell *w, int n, attn_cell_visit visit, void *context) {
  int32_t row, col;
  broadcast(w, n, &row, &col);
  visit(context, w->step->operand[n], row, col);
}

void attn_operand_cells(const attn_example *e, const attn_step *s, int32_t row, int32_t col,
                        attn_cell_visit visit, void *context) {
  const struct worked_cell w = {NULL, e, s, row, col, 0};
  int32_t part_col = col;
  int n;
  switch ((attn_step_op)s->op) {
    case ATTN_OP_GIVEN:
    case ATTN_OP_POSITIONS:
      return;
    case ATTN_OP_MATMUL:
    case ATTN_OP_MATMUL_NT:
    case ATTN_OP_MATMUL_TN:
      visit_line(&w, 0, s->op == ATTN_OP_MATMUL_TN ? -1 : row,
                 s->op == ATTN_OP_MATMUL_TN ? row : -1, visit, context);
      visit_line(&w, 1, s->op == ATTN_OP_MATMUL_NT ? col : -1,
                 s->op == ATTN_OP_MATMUL_NT ? -1 : col, visit, context);
      return;
    case ATTN_OP_TRANSPOSE:
      visit(context, s->operand[0], col, row);
      return;
    case ATTN_OP_SOFTMAX:
    case ATTN_OP_SUM:
      visit_line(&w, 0, s->axis ? row : -1, s->axis ? -1 : col, visit, context);
      return;
    case ATTN_OP_APPEND:
      n = appended(e, s, &part_col);
      if (n >= 0) visit(context, s->operand[n], row, part_col);
      return;
    case ATTN_OP_GENERAL:
    case ATTN_OP_ADDITIVE:
      visit_line(&w, 0, row, -1, visit, context);
      visit_line(&w, 1, col, -1, visit, context);
      for (n = 2; n < s->operands; n++) visit_line(&w, n, -1, -1, visit, context);
      return;
    case ATTN_OP_DIVIDE:
    case ATTN_OP_EXP:
    case ATTN_OP_MASK:
    case ATTN_OP_QUOTIENT:
    case ATTN_OP_ADD:
      for (n = 0; n < s->operands && n < 2; n++) visit_same(&w, n, visit, context);
      return;
  }
}
