#include "eval.h"

#include <math.h>

#include "error.h"
#include "operations.h"
#include "source.h"

typedef const attn_matrix *matrix;

static double get(matrix m, int32_t i, int32_t j) {
  return m->at[(size_t)i * (size_t)m->cols + (size_t)j];
}

static void set(attn_matrix *m, int32_t i, int32_t j, double value) {
  m->at[(size_t)i * (size_t)m->cols + (size_t)j] = value;
}

attn_matrix attn_matrix_new(struct attn_pool *pool, int32_t rows, int32_t cols) {
  attn_matrix m = {rows, cols, NULL};
  if (rows >= 0 && cols >= 0)
    m.at = attn_pool_take(pool, (size_t)rows * (size_t)cols * sizeof(double));
  return m;
}

/* The product of two long thin matrices is the one result that is far larger than what is read. */
static attn_status make(const struct attn_eval_call *call, int64_t rows, int64_t cols,
                        attn_matrix *out) {
  if (rows < 1 || cols < 1 || rows > ATTN_CELLS_MAX || cols > ATTN_CELLS_MAX ||
      rows * cols > ATTN_CELLS_MAX)
    return attn_fail(call->err, ATTN_ERR_SHAPE, NULL,
                     "the result would be %lld x %lld; the limit is %d values", (long long)rows,
                     (long long)cols, ATTN_CELLS_MAX);
  *out = attn_matrix_new(call->pool, (int32_t)rows, (int32_t)cols);
  if (!out->at)
    return attn_fail(call->err, ATTN_ERR_MEMORY, NULL, "no memory for %lld x %lld numbers",
                     (long long)rows, (long long)cols);
  return ATTN_OK;
}

static attn_status misfit(const struct attn_eval_call *call, matrix a, matrix b, const char *what) {
  return attn_fail(call->err, ATTN_ERR_SHAPE, NULL, "%s: shapes %dx%d and %dx%d do not match", what,
                   (int)a->rows, (int)a->cols, (int)b->rows, (int)b->cols);
}

/* ---- products ---- */

/* op(a) op(b); ta and tb: 1 where that factor is transposed. */
static attn_status multiply(const struct attn_eval_call *call, matrix a, int ta, matrix b, int tb,
                            attn_matrix *out) {
  int32_t rows = ta ? a->cols : a->rows, inner = ta ? a->rows : a->cols;
  int32_t cols = tb ? b->rows : b->cols;
  if (inner != (tb ? b->cols : b->rows)) return misfit(call, a, b, "product");
  attn_status status = make(call, rows, cols, out);
  if (status) return status;
  for (int32_t i = 0; i < rows; i++)
    for (int32_t j = 0; j < cols; j++) {
      double sum = 0;
      for (int32_t k = 0; k < inner; k++)
        sum += (ta ? get(a, k, i) : get(a, i, k)) * (tb ? get(b, j, k) : get(b, k, j));
      set(out, i, j, sum);
    }
  return ATTN_OK;
}

attn_status attn_eval_product(const struct attn_eval_call *call) {
  return multiply(call, call->operand[0], call->step->op == ATTN_OP_MATMUL_TN, call->operand[1],
                  call->step->op == ATTN_OP_MATMUL_NT, call->out);
}

attn_status attn_eval_general(const struct attn_eval_call *call) {
  attn_matrix qw;
  attn_status status = multiply(call, call->operand[0], 0, call->operand[2], 0, &qw);
  return status ? status : multiply(call, &qw, 0, call->operand[1], 1, call->out);
}

/* W and U act on upright vectors: a row a_i of a becomes W a_i, so a W^T row by row. */
attn_status attn_eval_additive(const struct attn_eval_call *call) {
  matrix v = call->operand[4];
  attn_matrix wa, ub;
  attn_status status = multiply(call, call->operand[0], 0, call->operand[2], 1, &wa);
  if (!status) status = multiply(call, call->operand[1], 0, call->operand[3], 1, &ub);
  if (status) return status;
  int64_t width = (int64_t)v->rows * v->cols;
  if (wa.cols != ub.cols) return misfit(call, &wa, &ub, "sum under tanh");
  if ((v->rows != 1 && v->cols != 1) || width != wa.cols) return misfit(call, v, &wa, "v and tanh");
  status = make(call, wa.rows, ub.rows, call->out);
  if (status) return status;
  for (int32_t i = 0; i < wa.rows; i++)
    for (int32_t j = 0; j < ub.rows; j++) {
      double sum = 0;
      for (int32_t k = 0; k < wa.cols; k++) sum += v->at[k] * tanh(get(&wa, i, k) + get(&ub, j, k));
      set(call->out, i, j, sum);
    }
  return ATTN_OK;
}

/* ---- along rows and columns ---- */

/* Lines of a matrix: rows for axis 1, columns for axis 0. */
static int32_t lines(matrix m, int axis) { return axis ? m->rows : m->cols; }
static int32_t length(matrix m, int axis) { return axis ? m->cols : m->rows; }
static double line_get(matrix m, int axis, int32_t line, int32_t k) {
  return axis ? get(m, line, k) : get(m, k, line);
}
static void line_set(attn_matrix *m, int axis, int32_t line, int32_t k, double value) {
  if (axis)
    set(m, line, k, value);
  else
    set(m, k, line, value);
}

/* A line that sees nothing has no weights: zeros, not NaN. */
attn_status attn_eval_softmax(const struct attn_eval_call *call) {
  matrix a = call->operand[0];
  int axis = call->step->axis;
  attn_status status = make(call, a->rows, a->cols, call->out);
  if (status) return status;
  for (int32_t l = 0; l < lines(a, axis); l++) {
    double top = -INFINITY, sum = 0;
    for (int32_t k = 0; k < length(a, axis); k++) top = fmax(top, line_get(a, axis, l, k));
    if (top == -INFINITY) continue;
    for (int32_t k = 0; k < length(a, axis); k++) {
      double e = exp(line_get(a, axis, l, k) - top);
      line_set(call->out, axis, l, k, e);
      sum += e;
    }
    for (int32_t k = 0; k < length(a, axis); k++)
      line_set(call->out, axis, l, k, line_get(call->out, axis, l, k) / sum);
  }
  return ATTN_OK;
}

attn_status attn_eval_sum(const struct attn_eval_call *call) {
  matrix a = call->operand[0];
  int axis = call->step->axis;
  attn_status status = make(call, axis ? a->rows : 1, axis ? 1 : a->cols, call->out);
  if (status) return status;
  for (int32_t l = 0; l < lines(a, axis); l++)
    for (int32_t k = 0; k < length(a, axis); k++) call->out->at[l] += line_get(a, axis, l, k);
  return ATTN_OK;
}

attn_status attn_eval_quotient(const struct attn_eval_call *call) {
  matrix a = call->operand[0], b = call->operand[1];
  int axis = call->step->axis;
  if (b->rows != (axis ? a->rows : 1) || b->cols != (axis ? 1 : a->cols))
    return misfit(call, a, b, "quotient");
  attn_status status = make(call, a->rows, a->cols, call->out);
  if (status) return status;
  for (int32_t l = 0; l < lines(a, axis); l++)
    for (int32_t k = 0; k < length(a, axis); k++) {
      double value = line_get(a, axis, l, k);
      /* A line that sees nothing sums to 0: zeros, as softmax has it. */
      line_set(call->out, axis, l, k, value == 0 && b->at[l] == 0 ? 0 : value / b->at[l]);
    }
  return ATTN_OK;
}

/* A line without a finite value stays as it is. */
attn_status attn_eval_shift(const struct attn_eval_call *call) {
  matrix a = call->operand[0];
  int axis = call->step->axis;
  attn_status status = make(call, a->rows, a->cols, call->out);
  for (int32_t l = 0; l < lines(a, axis) && !status; l++) {
    double top = -INFINITY;
    for (int32_t k = 0; k < length(a, axis); k++) top = fmax(top, line_get(a, axis, l, k));
    for (int32_t k = 0; k < length(a, axis); k++)
      line_set(call->out, axis, l, k, line_get(a, axis, l, k) - (isfinite(top) ? top : 0));
  }
  return status;
}

/* p (g - sum p g), the sum along the line. */
attn_status attn_eval_softmax_gradient(const struct attn_eval_call *call) {
  matrix p = call->operand[0], g = call->operand[1];
  int axis = call->step->axis;
  if (p->rows != g->rows || p->cols != g->cols) return misfit(call, p, g, "gradient of softmax");
  attn_status status = make(call, p->rows, p->cols, call->out);
  for (int32_t l = 0; l < lines(p, axis) && !status; l++) {
    double sum = 0;
    for (int32_t k = 0; k < length(p, axis); k++)
      sum += line_get(p, axis, l, k) * line_get(g, axis, l, k);
    for (int32_t k = 0; k < length(p, axis); k++)
      line_set(call->out, axis, l, k, line_get(p, axis, l, k) * (line_get(g, axis, l, k) - sum));
  }
  return status;
}

/* ---- element by element ---- */

/* b may be one row, one column or one value that is broadcast. */
static attn_status binary(const struct attn_eval_call *call, double (*f)(double, double, double),
                          const char *what, matrix a, matrix b) {
  if ((b->rows != a->rows && b->rows != 1) || (b->cols != a->cols && b->cols != 1))
    return misfit(call, a, b, what);
  attn_status status = make(call, a->rows, a->cols, call->out);
  for (int32_t i = 0; i < a->rows && !status; i++)
    for (int32_t j = 0; j < a->cols; j++) {
      double y = get(b, b->rows == 1 ? 0 : i, b->cols == 1 ? 0 : j);
      set(call->out, i, j, f(get(a, i, j), y, call->step->scalar));
    }
  return status;
}

static double added(double x, double y, double unused) { return (void)unused, x + y; }
static double masked(double x, double y, double fill) { return y != 0 ? x : fill; }

/* Either operand may be one row. */
attn_status attn_eval_add(const struct attn_eval_call *call) {
  int turned = call->operand[0]->rows == 1 && call->operand[1]->rows > 1;
  return binary(call, added, "sum", call->operand[turned], call->operand[!turned]);
}

attn_status attn_eval_mask(const struct attn_eval_call *call) {
  return binary(call, masked, "mask", call->operand[0], call->operand[1]);
}

static attn_status unary(const struct attn_eval_call *call, double (*f)(double, double), matrix a) {
  attn_status status = make(call, a->rows, a->cols, call->out);
  for (int32_t i = 0; i < a->rows && !status; i++)
    for (int32_t j = 0; j < a->cols; j++) set(call->out, i, j, f(get(a, i, j), call->step->scalar));
  return status;
}

static double copied(double x, double unused) { return (void)unused, x; }
static double divided(double x, double scalar) { return x / scalar; }
static double exponential(double x, double unused) { return (void)unused, exp(x); }
static double tangent(double x, double unused) { return (void)unused, tanh(x); }

attn_status attn_eval_given(const struct attn_eval_call *call) {
  return unary(call, copied, &call->step->exact);
}

attn_status attn_eval_divide(const struct attn_eval_call *call) {
  return unary(call, divided, call->operand[0]);
}

attn_status attn_eval_exp(const struct attn_eval_call *call) {
  return unary(call, exponential, call->operand[0]);
}

attn_status attn_eval_tanh(const struct attn_eval_call *call) {
  return unary(call, tangent, call->operand[0]);
}

attn_status attn_eval_transpose(const struct attn_eval_call *call) {
  matrix a = call->operand[0];
  attn_status status = make(call, a->cols, a->rows, call->out);
  for (int32_t i = 0; i < a->cols && !status; i++)
    for (int32_t j = 0; j < a->rows; j++) set(call->out, i, j, get(a, j, i));
  return status;
}

attn_status attn_eval_append(const struct attn_eval_call *call) {
  int32_t count = call->step->operands;
  int64_t cols = 0;
  for (int32_t n = 0; n < count; n++) {
    if (call->operand[n]->rows != call->operand[0]->rows)
      return misfit(call, call->operand[0], call->operand[n], "concat");
    cols += call->operand[n]->cols;
  }
  attn_status status = make(call, call->operand[0]->rows, cols, call->out);
  int32_t at = 0;
  for (int32_t n = 0; !status && n < count; at += call->operand[n]->cols, n++)
    for (int32_t i = 0; i < call->out->rows; i++)
      for (int32_t j = 0; j < call->operand[n]->cols; j++)
        set(call->out, i, at + j, get(call->operand[n], i, j));
  return status;
}

attn_status attn_eval_columns(const struct attn_eval_call *call) {
  matrix a = call->operand[0];
  const int32_t from = (int32_t)call->step->scalar, cols = call->step->exact.cols;
  if (!(call->step->scalar >= 0 && call->step->scalar <= a->cols) || cols > a->cols - from)
    return attn_fail(call->err, ATTN_ERR_SHAPE, NULL, "columns %g and %d more: there are %d",
                     call->step->scalar, (int)cols, (int)a->cols);
  attn_status status = make(call, a->rows, cols, call->out);
  for (int32_t i = 0; i < a->rows && !status; i++)
    for (int32_t j = 0; j < cols; j++) set(call->out, i, j, get(a, i, from + j));
  return status;
}

/* p(t) = [sin(w t), cos(w t), ...] with w = base^(-2k/d), k from first on, t from 0. */
attn_status attn_eval_positions(const struct attn_eval_call *call) {
  int32_t rows = call->step->exact.rows, cols = call->step->exact.cols;
  double base = call->step->base ? call->step->base : ATTN_POSITION_BASE;
  attn_status status = make(call, rows, cols, call->out);
  if (status) return status;
  for (int32_t t = 0; t < rows; t++)
    for (int32_t c = 0; c < cols; c++) {
      double k = call->step->scalar + floor(c / 2.0), w = pow(base, -2 * k / cols);
      set(call->out, t, c, c % 2 ? cos(w * t) : sin(w * t));
    }
  return ATTN_OK;
}

attn_status attn_eval_step(const attn_step *step, const attn_matrix *const *operand,
                           struct attn_pool *pool, attn_matrix *out, attn_error *err) {
  *out = (attn_matrix){0, 0, NULL};
  if (step->op < 0 || step->op >= ATTN_OP_COUNT)
    return attn_fail(err, ATTN_ERR_SHAPE, NULL, "%s: unknown operation %d", step->symbol,
                     (int)step->op);
  const struct attn_operation *operation = &attn_operations[step->op];
  if (step->operands < operation->operands)
    return attn_fail(err, ATTN_ERR_SHAPE, NULL, "%s needs %d operands, got %d", step->symbol,
                     (int)operation->operands, (int)step->operands);
  return operation->eval(&(struct attn_eval_call){step, operand, pool, out, err});
}
