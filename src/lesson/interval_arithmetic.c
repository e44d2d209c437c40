#include "interval_arithmetic.h"

#include <math.h>

#include "error.h"
#include "operations.h"

typedef const struct attn_interval_matrix *intervals;

static size_t place(const attn_matrix *m, int32_t i, int32_t j) {
  return (size_t)i * (size_t)m->cols + (size_t)j;
}

static struct attn_interval get(intervals m, int transposed, int32_t i, int32_t j) {
  size_t at = transposed ? place(&m->lo, j, i) : place(&m->lo, i, j);
  return (struct attn_interval){m->lo.at[at], m->hi.at[at]};
}

static void set(struct attn_interval_matrix *m, int32_t i, int32_t j, struct attn_interval x) {
  m->lo.at[place(&m->lo, i, j)] = x.lo;
  m->hi.at[place(&m->hi, i, j)] = x.hi;
}

/* 0 times infinity counts as 0: a masked score has no part in a sum. */
static double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

static struct attn_interval times(struct attn_interval a, struct attn_interval b) {
  double p[4] = {product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo),
                 product(a.hi, b.hi)};
  struct attn_interval r = {p[0], p[0]};
  for (int n = 1; n < 4; n++) r.lo = fmin(r.lo, p[n]), r.hi = fmax(r.hi, p[n]);
  return r;
}

static attn_status make(const struct attn_interval_call *call, int32_t rows, int32_t cols,
                        struct attn_interval_matrix *out) {
  out->lo = attn_matrix_new(call->pool, rows, cols);
  out->hi = attn_matrix_new(call->pool, rows, cols);
  return out->lo.at && out->hi.at ? ATTN_OK
                                  : attn_fail(call->err, ATTN_ERR_MEMORY, NULL, "no memory");
}

static attn_status multiply(const struct attn_interval_call *call, intervals a, int ta, intervals b,
                            int tb, struct attn_interval_matrix *out) {
  int32_t rows = ta ? a->lo.cols : a->lo.rows, inner = ta ? a->lo.rows : a->lo.cols;
  int32_t cols = tb ? b->lo.rows : b->lo.cols;
  attn_status status = make(call, rows, cols, out);
  if (status) return status;
  for (int32_t i = 0; i < rows; i++)
    for (int32_t j = 0; j < cols; j++) {
      struct attn_interval sum = {0, 0};
      for (int32_t k = 0; k < inner; k++) {
        struct attn_interval x = get(a, ta, i, k), y = get(b, tb, k, j), p = times(x, y);
        /* A product with 0 or 1, or one that is a whole number, is not rounded. */
        int plain = (x.lo == x.hi && (x.lo == 0 || fabs(x.lo) == 1)) ||
                    (y.lo == y.hi && (y.lo == 0 || fabs(y.lo) == 1)) ||
                    (x.lo == x.hi && y.lo == y.hi && p.lo == floor(p.lo));
        sum.lo += p.lo - (plain ? 0 : call->slack), sum.hi += p.hi + (plain ? 0 : call->slack);
      }
      set(out, i, j, sum);
    }
  return ATTN_OK;
}

attn_status attn_interval_product(const struct attn_interval_call *call) {
  return multiply(call, call->operand[0], call->step->op == ATTN_OP_MATMUL_TN, call->operand[1],
                  call->step->op == ATTN_OP_MATMUL_NT, call->out);
}

attn_status attn_interval_general(const struct attn_interval_call *call) {
  struct attn_interval_matrix qw;
  attn_status status = multiply(call, call->operand[0], 0, call->operand[2], 0, &qw);
  return status ? status : multiply(call, &qw, 0, call->operand[1], 1, call->out);
}

/* Lines of a matrix: rows for axis 1, columns for axis 0. */
static int32_t lines(intervals m, int axis) { return axis ? m->lo.rows : m->lo.cols; }
static int32_t length(intervals m, int axis) { return axis ? m->lo.cols : m->lo.rows; }
static struct attn_interval line_get(intervals m, int axis, int32_t line, int32_t k) {
  return axis ? get(m, 0, line, k) : get(m, 0, k, line);
}
static void line_set(struct attn_interval_matrix *m, int axis, int32_t line, int32_t k,
                     struct attn_interval x) {
  set(m, axis ? line : k, axis ? k : line, x);
}

static struct attn_interval line_sum(intervals a, int axis, int32_t line) {
  struct attn_interval sum = {0, 0};
  for (int32_t k = 0; k < length(a, axis); k++) {
    struct attn_interval x = line_get(a, axis, line, k);
    sum.lo += x.lo, sum.hi += x.hi;
  }
  return sum;
}

/* The largest finite upper end; 0: none. */
static double line_top(intervals a, int axis, int32_t line) {
  double top = -(double)INFINITY;
  for (int32_t k = 0; k < length(a, axis); k++) {
    double hi = line_get(a, axis, line, k).hi;
    if (isfinite(hi)) top = fmax(top, hi);
  }
  return isfinite(top) ? top : 0;
}

/* x_i less the larger of x_i and the others' maximum: grows with x_i, falls with the others. */
static struct attn_interval less_maximum(intervals a, int axis, int32_t line, int32_t i) {
  struct attn_interval x = line_get(a, axis, line, i), top = x;
  for (int32_t k = 0; k < length(a, axis); k++) {
    struct attn_interval y = line_get(a, axis, line, k);
    if (k != i) top.hi = fmax(top.hi, y.lo), top.lo = fmax(top.lo, y.hi);
  }
  if (isfinite(top.lo)) x.lo -= top.lo;
  if (isfinite(top.hi)) x.hi -= top.hi;
  return x;
}

attn_status attn_interval_shift(const struct attn_interval_call *call) {
  intervals a = call->operand[0];
  attn_status status = make(call, a->lo.rows, a->lo.cols, call->out);
  for (int32_t l = 0; l < lines(a, call->step->axis) && !status; l++)
    for (int32_t k = 0; k < length(a, call->step->axis); k++)
      line_set(call->out, call->step->axis, l, k, less_maximum(a, call->step->axis, l, k));
  return status;
}

attn_status attn_interval_sum(const struct attn_interval_call *call) {
  intervals a = call->operand[0];
  int axis = call->step->axis;
  int32_t rows = axis ? a->lo.rows : 1, cols = axis ? 1 : a->lo.cols;
  attn_status status = make(call, rows, cols, call->out);
  for (int32_t n = 0; n < (axis ? rows : cols) && !status; n++) {
    struct attn_interval sum = line_sum(a, axis, n);
    set(call->out, axis ? n : 0, axis ? 0 : n,
        (struct attn_interval){sum.lo - call->slack, sum.hi + call->slack});
  }
  return status;
}

/* The exponentials of a line. Where they are not rounded, a common factor cancels out: the largest
 * is 1, whatever the scores. */
static void line_exponentials(intervals a, int axis, int32_t line, double slack,
                              struct attn_interval_matrix *e) {
  double top = slack > 0 ? 0 : line_top(a, axis, line);
  for (int32_t k = 0; k < length(a, axis); k++) {
    struct attn_interval x = line_get(a, axis, line, k);
    struct attn_interval y = {exp(x.lo - top), exp(x.hi - top)};
    int rounded = y.lo != y.hi || (y.lo != 0 && y.lo != 1);
    y.lo = fmax(0, y.lo - (rounded ? slack : 0)), y.hi += rounded ? slack : 0;
    line_set(e, axis, line, k, y);
  }
}

/* p_i is largest where e_i is and all others are least. */
attn_status attn_interval_softmax(const struct attn_interval_call *call) {
  int axis = call->step->axis;
  attn_status status = make(call, call->operand[0]->lo.rows, call->operand[0]->lo.cols, call->out);
  for (int32_t l = 0; l < lines(call->operand[0], axis) && !status; l++) {
    line_exponentials(call->operand[0], axis, l, call->slack, call->out);
    struct attn_interval sum = line_sum(call->out, axis, l);
    for (int32_t k = 0; k < length(call->out, axis); k++) {
      struct attn_interval x = line_get(call->out, axis, l, k);
      double least = x.lo + (sum.hi - x.hi), most = x.hi + (sum.lo - x.lo);
      line_set(call->out, axis, l, k,
               (struct attn_interval){least > 0 ? x.lo / least : 0, most > 0 ? x.hi / most : 0});
    }
  }
  return status;
}

/* p (g - sum p g), each operation over intervals. */
attn_status attn_interval_softmax_gradient(const struct attn_interval_call *call) {
  intervals p = call->operand[0], g = call->operand[1];
  int axis = call->step->axis;
  attn_status status = make(call, p->lo.rows, p->lo.cols, call->out);
  for (int32_t l = 0; l < lines(p, axis) && !status; l++) {
    struct attn_interval sum = {0, 0};
    for (int32_t k = 0; k < length(p, axis); k++) {
      struct attn_interval x = times(line_get(p, axis, l, k), line_get(g, axis, l, k));
      sum.lo += x.lo, sum.hi += x.hi;
    }
    for (int32_t k = 0; k < length(p, axis); k++) {
      struct attn_interval x = line_get(g, axis, l, k);
      line_set(
          call->out, axis, l, k,
          times(line_get(p, axis, l, k), (struct attn_interval){x.lo - sum.hi, x.hi - sum.lo}));
    }
  }
  return status;
}

attn_status attn_interval_quotient(const struct attn_interval_call *call) {
  intervals a = call->operand[0], b = call->operand[1];
  int axis = call->step->axis;
  attn_status status = make(call, a->lo.rows, a->lo.cols, call->out);
  for (int32_t i = 0; i < a->lo.rows && !status; i++)
    for (int32_t j = 0; j < a->lo.cols; j++) {
      struct attn_interval x = get(a, 0, i, j), y = axis ? get(b, 0, i, 0) : get(b, 0, 0, j);
      struct attn_interval inverse =
          y.lo > 0 || y.hi < 0 ? (struct attn_interval){1 / y.hi, 1 / y.lo}
                               : (struct attn_interval){-(double)INFINITY, (double)INFINITY};
      set(call->out, i, j, times(x, inverse));
    }
  return status;
}

/* e_ij = v . tanh(W a_i + U b_j) */
attn_status attn_interval_additive(const struct attn_interval_call *call) {
  struct attn_interval_matrix wa, ub, t, e;
  attn_status status = multiply(call, call->operand[0], 0, call->operand[2], 1, &wa);
  if (!status) status = multiply(call, call->operand[1], 0, call->operand[3], 1, &ub);
  if (!status) status = make(call, wa.lo.rows, ub.lo.rows, call->out);
  if (!status) status = make(call, 1, wa.lo.cols, &t);
  int column = call->operand[4]->lo.rows > 1;
  for (int32_t i = 0; !status && i < wa.lo.rows; i++)
    for (int32_t j = 0; !status && j < ub.lo.rows; j++) {
      for (int32_t k = 0; k < wa.lo.cols; k++) {
        struct attn_interval x = get(&wa, 0, i, k), y = get(&ub, 0, j, k);
        set(&t, 0, k,
            (struct attn_interval){tanh(x.lo + y.lo) - call->slack,
                                   tanh(x.hi + y.hi) + call->slack});
      }
      status = multiply(call, &t, 0, call->operand[4], !column, &e);
      if (!status) set(call->out, i, j, get(&e, 0, 0, 0));
    }
  return status;
}

/* What moves numbers about, or falls or grows with each of them, does so with both ends. */
static attn_status both_ends(const attn_step *step, intervals const *o, struct attn_pool *pool,
                             struct attn_interval_matrix *out, attn_error *err) {
  const attn_matrix *lo[ATTN_OPERANDS_MAX], *hi[ATTN_OPERANDS_MAX];
  for (int n = 0; n < step->operands; n++) lo[n] = &o[n]->lo, hi[n] = &o[n]->hi;
  attn_status status = attn_eval_step(step, lo, pool, &out->lo, err);
  if (!status) status = attn_eval_step(step, hi, pool, &out->hi, err);
  for (size_t n = 0; !status && n < (size_t)out->lo.rows * (size_t)out->lo.cols; n++) {
    double x = out->lo.at[n], y = out->hi.at[n];
    if (x > y) out->lo.at[n] = y, out->hi.at[n] = x;
  }
  return status;
}

attn_status attn_interval_step(const attn_step *step, intervals const *o, double slack,
                               struct attn_pool *pool, struct attn_interval_matrix *out,
                               attn_error *err) {
  int known = step->op >= 0 && step->op < ATTN_OP_COUNT;
  if (!known || !attn_operations[step->op].interval) return both_ends(step, o, pool, out, err);
  return attn_operations[step->op].interval(
      &(struct attn_interval_call){step, o, slack, pool, out, err});
}
