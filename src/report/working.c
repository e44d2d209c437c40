#include "working.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "matrix_cells.h"
#include "number_text.h"
#include "operation_text.h"

/* Larger exponents have too many digits to show. */
static const double EXPONENT_MAX = 30;

static const attn_step *operand(const struct attn_worked_cell *w, int n) {
  return &w->example->step[w->step->operand[n]];
}

static const attn_matrix *matrix(const struct attn_worked_cell *w, int n) {
  return &operand(w, n)->exact;
}

/* ---- Pieces ---- */

void attn_out_number(struct attn_out *out, double value) {
  attn_out_whole(out, ATTN_NUMBER_TEXT(value, out->style.precision));
}

void attn_out_values(struct attn_out *out, const char *format, ...) {
  va_list values;
  va_start(values, format);
  for (char piece[16]; *format; format += strlen(piece)) {
    snprintf(piece, sizeof piece, "%.*s", (int)strcspn(format, "#@"), format);
    if (*piece) {
      attn_out_flow(out, piece);
      continue;
    }
    const double value = va_arg(values, double);
    const int brackets = *format == '@' && value < 0;
    if (brackets) attn_out_flow(out, "(");
    attn_out_number(out, value);
    if (brackets) attn_out_flow(out, ")");
    format++;
  }
  va_end(values);
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

/* Begins term k of a sum of `count`. Returns 0 after the last one, and where the sum is cut: there
 * it writes the number of terms. */
static int next_term(const struct attn_worked_cell *w, int32_t k, int32_t count) {
  if (k >= count) return 0;
  if (k) attn_out_flow(w->out, " + ");
  if (!w->terms || k < w->terms || count <= w->terms + 1) return 1;
  attn_out_message(w->out, MESSAGE_MORE_TERMS, ATTN_INTEGER_TEXT(count), NULL);
  return 0;
}

static void put_address(const struct attn_worked_cell *w, int n, int32_t row, int32_t col) {
  char text[ATTN_ADDRESS_BYTES];
  attn_out_whole(w->out, attn_address(w->example, operand(w, n), row, col, text));
}

static void put_equals(const struct attn_worked_cell *w) { attn_out_flow(w->out, " = "); }

/* ---- Products ---- */

void attn_write_product(const struct attn_worked_cell *w) {
  int ta = w->step->op == ATTN_OP_MATMUL_TN, tb = w->step->op == ATTN_OP_MATMUL_NT;
  const attn_matrix *a = matrix(w, 0), *b = matrix(w, 1);
  int32_t inner = attn_line_length(a, !ta);
  put_address(w, 0, ta ? -1 : w->row, ta ? w->row : -1);
  attn_out_flow(w->out, "·");
  put_address(w, 1, tb ? w->col : -1, tb ? -1 : w->col);
  put_equals(w);
  for (int32_t k = 0; next_term(w, k, inner); k++)
    attn_out_values(w->out, "@×@", attn_line_at(a, !ta, w->row, k), attn_line_at(b, tb, w->col, k));
}

/* Element k of q W, where q is a row of a; transposed: of q W^T. W is m. */
static double part(const attn_matrix *m, int transposed, const attn_matrix *a, int32_t row,
                   int32_t k) {
  double sum = 0;
  for (int32_t l = 0; l < a->cols; l++)
    sum += attn_cell_at(a, row, l) * attn_line_at(m, transposed, k, l);
  return sum;
}

void attn_write_general(const struct attn_worked_cell *w) {
  const attn_matrix *q = matrix(w, 0), *k = matrix(w, 1), *m = matrix(w, 2);
  put_address(w, 0, w->row, -1);
  attn_out_flow(w->out, "·");
  attn_out_whole(w->out, attn_step_label(operand(w, 2)->name));
  attn_out_flow(w->out, "·");
  put_address(w, 1, w->col, -1);
  put_equals(w);
  for (int32_t n = 0; next_term(w, n, m->cols); n++)
    attn_out_values(w->out, "@×@", part(m, 0, q, w->row, n), attn_cell_at(k, w->col, n));
}

void attn_write_additive(const struct attn_worked_cell *w) {
  const attn_matrix *v = matrix(w, 4);
  int32_t count = v->rows * v->cols;
  for (int32_t n = 0; next_term(w, n, count); n++)
    attn_out_values(w->out, "@×tanh(@ + @)", v->at[n],
                    part(matrix(w, 2), 1, matrix(w, 0), w->row, n),
                    part(matrix(w, 3), 1, matrix(w, 1), w->col, n));
}

/* ---- Softmax and its parts ---- */

static double largest_of(const attn_matrix *m, int32_t axis, int32_t line) {
  double top = -(double)INFINITY;
  for (int32_t k = 0; k < attn_line_length(m, axis); k++)
    top = fmax(top, attn_line_at(m, axis, line, k));
  return top;
}

double attn_softmax_shift(const attn_matrix *m, int32_t axis, int32_t line) {
  double top = largest_of(m, axis, line);
  return top > EXPONENT_MAX ? top : 0;
}

/* The row of a softmax along rows, or the column. */
static int32_t line_of(const struct attn_worked_cell *w) { return w->step->axis ? w->row : w->col; }

void attn_write_softmax(const struct attn_worked_cell *w) {
  const attn_matrix *a = matrix(w, 0);
  int32_t axis = w->step->axis, count = attn_line_length(a, axis), line = line_of(w);
  double shift = attn_softmax_shift(a, axis, line), sum = 0;
  double own = attn_cell_at(a, w->row, w->col) - shift;
  for (int32_t k = 0; k < count; k++) sum += exp(attn_line_at(a, axis, line, k) - shift);
  attn_out_values(w->out, "e^@ / (", own);
  for (int32_t k = 0; next_term(w, k, count); k++)
    attn_out_values(w->out, "e^@", attn_line_at(a, axis, line, k) - shift);
  attn_out_values(w->out, ") = # / #", exp(own), sum);
}

void attn_write_sum(const struct attn_worked_cell *w) {
  const attn_matrix *a = matrix(w, 0);
  int32_t axis = w->step->axis, count = attn_line_length(a, axis);
  for (int32_t k = 0; next_term(w, k, count); k++)
    attn_out_values(w->out, "@", attn_line_at(a, axis, line_of(w), k));
}

/* ---- Element by element ---- */

/* The cell of operand n at (row, col); a single row or column is broadcast. */
static void broadcast(const struct attn_worked_cell *w, int n, int32_t *row, int32_t *col) {
  *row = matrix(w, n)->rows == 1 ? 0 : w->row;
  *col = matrix(w, n)->cols == 1 ? 0 : w->col;
}

static void put_broadcast(const struct attn_worked_cell *w, int n) {
  int32_t row, col;
  broadcast(w, n, &row, &col);
  put_address(w, n, row, col);
}

static double value_of(const struct attn_worked_cell *w, int n) {
  return attn_broadcast_at(matrix(w, n), w->row, w->col);
}

static void pairwise(const struct attn_worked_cell *w, const char *sign, const char *values) {
  put_broadcast(w, 0);
  attn_out_flow(w->out, sign);
  put_broadcast(w, 1);
  put_equals(w);
  attn_out_values(w->out, values, value_of(w, 0), value_of(w, 1));
}

void attn_write_quotient(const struct attn_worked_cell *w) { pairwise(w, " / ", "@ / @"); }

void attn_write_add(const struct attn_worked_cell *w) { pairwise(w, " + ", "@ + @"); }

void attn_write_exp(const struct attn_worked_cell *w) {
  attn_out_values(w->out, "e^@", value_of(w, 0));
}

void attn_write_tanh(const struct attn_worked_cell *w) {
  attn_out_values(w->out, "tanh(#)", value_of(w, 0));
}

/* The value less the largest of its line. */
void attn_write_shift(const struct attn_worked_cell *w) {
  double top = largest_of(matrix(w, 0), w->step->axis, line_of(w));
  attn_out_values(w->out, "@ - @", value_of(w, 0), isfinite(top) ? top : 0);
}

void attn_write_transpose(const struct attn_worked_cell *w) { put_address(w, 0, w->col, w->row); }

void attn_write_divide(const struct attn_worked_cell *w) {
  char root[32];
  snprintf(root, sizeof root, " / √%d = ", (int)w->step->scaled_by);
  put_broadcast(w, 0);
  if (w->step->scaled_by)
    attn_out_flow(w->out, root);
  else
    attn_out_values(w->out, " / # = ", w->step->scalar);
  attn_out_values(w->out, "@ / @", value_of(w, 0), w->step->scalar);
}

/* "weights[a,b] × (d_weights[a,b] - weights[a,:]·d_weights[a,:]) = 0.3 × (2 - (0.3×2 + 0.7×1))" */
void attn_write_softmax_gradient(const struct attn_worked_cell *w) {
  const attn_matrix *p = matrix(w, 0), *g = matrix(w, 1);
  const int32_t axis = w->step->axis, count = attn_line_length(p, axis), line = line_of(w);
  const int32_t row = axis ? w->row : -1, col = axis ? -1 : w->col;
  const double own = value_of(w, 0), gradient = value_of(w, 1);
  double sum = 0;
  for (int32_t k = 0; k < count; k++)
    sum += attn_line_at(p, axis, line, k) * attn_line_at(g, axis, line, k);
  put_address(w, 0, w->row, w->col), attn_out_flow(w->out, "×(");
  put_address(w, 1, w->row, w->col), attn_out_flow(w->out, " - ");
  put_address(w, 0, row, col), attn_out_flow(w->out, "·"), put_address(w, 1, row, col);
  attn_out_values(w->out, ") = @×(@ - (", own, gradient);
  for (int32_t k = 0; next_term(w, k, count); k++)
    attn_out_values(w->out, "@×@", attn_line_at(p, axis, line, k), attn_line_at(g, axis, line, k));
  attn_out_values(w->out, ")) = @×(@ - @)", own, gradient, sum);
}

void attn_write_columns(const struct attn_worked_cell *w) {
  put_address(w, 0, w->row, w->col + (int32_t)w->step->scalar);
}

/* The value, then the mask's cell as the reason. */
void attn_write_mask(const struct attn_worked_cell *w) {
  int sees = value_of(w, 1) != 0;
  if (sees) put_broadcast(w, 0), put_equals(w);
  attn_out_number(w->out, sees ? value_of(w, 0) : w->step->scalar);
  attn_out_flow(w->out, " (");
  put_broadcast(w, 1);
  attn_out_values(w->out, " = #)", value_of(w, 1));
}

/* The operand of an APPEND that has column col; *col becomes the column within it. */
static int appended(const attn_example *e, const attn_step *s, int32_t *col) {
  for (int n = 0; n < s->operands; n++) {
    int32_t cols = e->step[s->operand[n]].exact.cols;
    if (*col < cols) return n;
    *col -= cols;
  }
  return -1;
}

void attn_write_append(const struct attn_worked_cell *w) {
  int32_t col = w->col;
  int n = appended(w->example, w->step, &col);
  if (n < 0) return;
  const int32_t head = operand(w, n)->head;
  if (head >= 0)
    attn_out_message(w->out, MESSAGE_HEAD, ATTN_INTEGER_TEXT(head + 1), NULL),
        attn_out_flow(w->out, ": ");
  put_address(w, n, w->row, col);
}

int32_t attn_position_base(const attn_step *s) { return s->base ? s->base : ATTN_POSITION_BASE; }

double attn_position_frequency(const attn_step *s, int32_t pair) {
  return pow(attn_position_base(s), -2 * (s->scalar + pair) / s->exact.cols);
}

void attn_write_positions(const struct attn_worked_cell *w) {
  attn_out_values(w->out, w->col % 2 ? "cos(#×#)" : "sin(#×#)",
                  attn_position_frequency(w->step, w->col / 2), (double)w->row);
}

/* ---- All ---- */

void attn_out_working(struct attn_out *out, const attn_example *e, const attn_step *s, int32_t row,
                      int32_t col, int terms) {
  const struct attn_worked_cell w = {out, e, s, row, col, terms};
  const struct attn_operation_text *operation = attn_operation_text(s->op);
  char text[ATTN_ADDRESS_BYTES];
  attn_out_whole(out, attn_address(e, s, row, col, text));
  put_equals(&w);
  if (operation->working) operation->working(&w);
  if (s->op == ATTN_OP_MASK) return; /* it ends with why */
  if (operation->working) put_equals(&w);
  attn_out_number(out, attn_cell_at(&s->exact, row, col));
}

/* ---- The operands' cells that a cell is computed from ---- */

/* All cells of operand n in a row and a column; -1: in all rows, in all columns. */
static void visit_cells(const struct attn_worked_cell *w, int n, int32_t row, int32_t col,
                        attn_cell_visit visit, void *context) {
  const attn_matrix *m = matrix(w, n);
  for (int32_t i = row < 0 ? 0 : row; i < (row < 0 ? m->rows : row + 1); i++)
    for (int32_t j = col < 0 ? 0 : col; j < (col < 0 ? m->cols : col + 1); j++)
      visit(context, w->step->operand[n], i, j);
}

void attn_visit_product(const struct attn_worked_cell *w, attn_cell_visit visit, void *context) {
  int ta = w->step->op == ATTN_OP_MATMUL_TN, tb = w->step->op == ATTN_OP_MATMUL_NT;
  visit_cells(w, 0, ta ? -1 : w->row, ta ? w->row : -1, visit, context);
  visit_cells(w, 1, tb ? w->col : -1, tb ? -1 : w->col, visit, context);
}

void attn_visit_transpose(const struct attn_worked_cell *w, attn_cell_visit visit, void *context) {
  visit(context, w->step->operand[0], w->col, w->row);
}

/* The line of each operand. */
void attn_visit_line(const struct attn_worked_cell *w, attn_cell_visit visit, void *context) {
  const int axis = w->step->axis;
  for (int n = 0; n < w->step->operands; n++)
    visit_cells(w, n, axis ? w->row : -1, axis ? -1 : w->col, visit, context);
}

void attn_visit_columns(const struct attn_worked_cell *w, attn_cell_visit visit, void *context) {
  visit(context, w->step->operand[0], w->row, w->col + (int32_t)w->step->scalar);
}

void attn_visit_append(const struct attn_worked_cell *w, attn_cell_visit visit, void *context) {
  int32_t col = w->col;
  int n = appended(w->example, w->step, &col);
  if (n >= 0) visit(context, w->step->operand[n], w->row, col);
}

void attn_visit_alignment(const struct attn_worked_cell *w, attn_cell_visit visit, void *context) {
  visit_cells(w, 0, w->row, -1, visit, context);
  visit_cells(w, 1, w->col, -1, visit, context);
  for (int n = 2; n < w->step->operands; n++) visit_cells(w, n, -1, -1, visit, context);
}

void attn_visit_broadcast(const struct attn_worked_cell *w, attn_cell_visit visit, void *context) {
  for (int n = 0; n < w->step->operands && n < 2; n++) {
    int32_t row, col;
    broadcast(w, n, &row, &col);
    visit(context, w->step->operand[n], row, col);
  }
}

void attn_operand_cells(const attn_example *e, const attn_step *s, int32_t row, int32_t col,
                        attn_cell_visit visit, void *context) {
  const struct attn_worked_cell w = {NULL, e, s, row, col, 0};
  const struct attn_operation_text *operation = attn_operation_text(s->op);
  if (operation->visit) operation->visit(&w, visit, context);
}
