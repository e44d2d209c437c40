/* python_ops.c -- the few operations of a snippet that attention needs. */
#include <math.h>
#include <string.h>

#include "error.h"
#include "eval.h"
#include "python_graph.h"

typedef struct attn_py_value value;

enum { WORK_MAX = 1 << 26 };

static const value UNKNOWN = {ATTN_VALUE_UNKNOWN, 0, 0, -1, 0};

static value scalar_of(double x) { return (value){ATTN_VALUE_SCALAR, x, 0, -1, 0}; }
static value step_of(int i) { return (value){ATTN_VALUE_STEP, 0, 0, i, 0}; }

static attn_step *at(struct attn_py_follower *f, value v) { return &f->ex->step[v.step]; }
static int is_step(value v) { return v.kind == ATTN_VALUE_STEP; }
static int is_scalar(value v) { return v.kind == ATTN_VALUE_SCALAR; }

/* ---- steps ---- */

static double work_of(const attn_step *a, const attn_step *b, int op) {
  double cells = (double)a->exact.rows * a->exact.cols;
  if (!b) return cells;
  return cells * (op == ATTN_OP_MATMUL_NT ? b->exact.rows : b->exact.cols);
}

static attn_status misfit(struct attn_py_follower *f, const attn_step *a, const attn_step *b) {
  int64_t line = b->printings ? b->printing[0].line : a->printings ? a->printing[0].line : 0;
  int64_t column = b->printings ? b->printing[0].column : a->printings ? a->printing[0].column : 0;
  return attn_fail_at(f->maker->err, ATTN_ERR_FORMAT, line ? line : f->ex->line,
                      column ? column : 1, "%s is %dx%d and %s is %dx%d: the shapes do not match%s",
                      a->symbol, (int)a->exact.rows, (int)a->exact.cols, b->symbol,
                      (int)b->exact.rows, (int)b->exact.cols,
                      a->exact.cols == b->exact.cols ? "; did you mean the transpose?" : "");
}

value attn_py_step(struct attn_py_follower *f, int name, int op, double scalar, const int *operand,
                   int operands, int axis) {
  if (f->status) return UNKNOWN;
  const attn_step *a = operands > 0 ? &f->ex->step[operand[0]] : NULL;
  const attn_step *b = operands > 1 ? &f->ex->step[operand[1]] : NULL;
  if (a) f->scope->work += work_of(a, b, op);
  if (f->scope->work > WORK_MAX) return UNKNOWN;
  attn_step *step = attn_add_step(f->maker, f->ex, name, -1, op);
  if (!step) return f->status = ATTN_ERR_MEMORY, UNKNOWN;
  step->scalar = scalar;
  step->axis = axis;
  step->operands = operands;
  for (int i = 0; i < operands; i++) step->operand[i] = operand[i];
  f->status = attn_compute_step(f->maker, f->ex, step);
  if (!f->status) return step_of(f->ex->steps - 1);
  f->ex->steps--;
  if (f->status == ATTN_ERR_SHAPE && b)
    f->status = misfit(f, &f->ex->step[operand[0]], &f->ex->step[operand[1]]);
  return UNKNOWN;
}

static value unary(struct attn_py_follower *f, int name, int op, double scalar, int axis, value a) {
  return attn_py_step(f, name, op, scalar, &a.step, 1, axis);
}

/* A step of its own for what was only marked as transposed. */
static value settled(struct attn_py_follower *f, value v) {
  if (!is_step(v) || !v.transposed) return v;
  return unary(f, ATTN_STEP_OTHER, ATTN_OP_TRANSPOSE, 0, 1, v);
}

/* ---- roles ---- */

static int role_of_product(int a, int b, int op) {
  int from_inputs = a == ATTN_STEP_X || a == ATTN_STEP_Y || a == ATTN_STEP_POSITIONS;
  if (op == ATTN_OP_MATMUL_NT)
    return (a == ATTN_STEP_Q && b == ATTN_STEP_K) || (a == ATTN_STEP_K && b == ATTN_STEP_Q) ||
                   (a == ATTN_STEP_X && b == ATTN_STEP_X)
               ? ATTN_STEP_SCORES
               : ATTN_STEP_OTHER;
  if (a == ATTN_STEP_WEIGHTS && b != ATTN_STEP_W_O) return ATTN_STEP_OUTPUT;
  if (from_inputs && b >= ATTN_STEP_W_Q && b <= ATTN_STEP_W_V)
    return ATTN_STEP_Q + (b - ATTN_STEP_W_Q);
  if (b == ATTN_STEP_W_O) return ATTN_STEP_PROJECTED;
  return ATTN_STEP_OTHER;
}

/* "Q @ K.T" until the statement gives it a name. */
static value call_it(struct attn_py_follower *f, value v, int op) {
  attn_step *step = at(f, v);
  const char *l = f->ex->step[step->operand[0]].symbol, *r = f->ex->step[step->operand[1]].symbol;
  const char *parts[] = {l, op == ATTN_OP_MATMUL_TN ? ".T @ " : " @ ", r,
                         op == ATTN_OP_MATMUL_NT ? ".T" : ""};
  size_t size = 0, n = 0;
  for (int i = 0; i < 4; i++) size += strlen(parts[i]);
  if (size > 40) return v;
  step->symbol = attn_pool_take(f->maker->pool, size + 1);
  if (!step->symbol) return f->status = attn_no_memory(f->maker), UNKNOWN;
  for (int i = 0; i < 4; i++) {
    memcpy(step->symbol + n, parts[i], strlen(parts[i]));
    n += strlen(parts[i]);
  }
  return v;
}

static value product(struct attn_py_follower *f, value a, value b) {
  if (!is_step(a) || !is_step(b)) return UNKNOWN;
  if (a.transposed && b.transposed) a = settled(f, a);
  if (!is_step(a)) return UNKNOWN;
  const attn_matrix *m = &at(f, a)->exact, *n = &at(f, b)->exact;
  int op = b.transposed ? ATTN_OP_MATMUL_NT : a.transposed ? ATTN_OP_MATMUL_TN : ATTN_OP_MATMUL;
  int operand[2] = {a.step, b.step};
  if (op == ATTN_OP_MATMUL && m->cols != n->rows && n->rows == 1 && m->cols == n->cols) {
    /* A flat array has no rows: matrix @ vector is a vector, vector @ vector a number. */
    op = ATTN_OP_MATMUL_NT;
    operand[0] = b.step;
    operand[1] = a.step;
  }
  int name = role_of_product(f->ex->step[operand[0]].name, f->ex->step[operand[1]].name, op);
  value v = attn_py_step(f, name, op, 0, operand, 2, 1);
  return is_step(v) ? call_it(f, v, op) : v;
}

static value divide_by(struct attn_py_follower *f, value a, double scalar, double root) {
  a = settled(f, a);
  if (!is_step(a) || scalar == 0 || !isfinite(scalar)) return UNKNOWN;
  int scores = at(f, a)->name == ATTN_STEP_SCORES || root > 0;
  value v = unary(f, scores ? ATTN_STEP_SCALED : ATTN_STEP_OTHER, ATTN_OP_DIVIDE, scalar, 1, a);
  if (is_step(v) && root >= 1 && root < 1e9 && root == floor(root))
    at(f, v)->scaled_by = (int32_t)root;
  return v;
}

static value quotient(struct attn_py_follower *f, value a, value b) {
  a = settled(f, a), b = settled(f, b);
  if (!is_step(a) || !is_step(b)) return UNKNOWN;
  const attn_matrix *m = &at(f, a)->exact, *n = &at(f, b)->exact;
  int axis = n->cols == 1 && n->rows == m->rows ? 1 : n->rows == 1 && n->cols == m->cols ? 0 : -1;
  if (axis < 0) return UNKNOWN;
  int operand[2] = {a.step, b.step};
  int name = at(f, a)->name == ATTN_STEP_EXPONENTIALS ? ATTN_STEP_WEIGHTS : ATTN_STEP_OTHER;
  return attn_py_step(f, name, ATTN_OP_QUOTIENT, 0, operand, 2, axis);
}

static value sum_of(struct attn_py_follower *f, value a, value b) {
  a = settled(f, a), b = settled(f, b);
  if (!is_step(a) || !is_step(b)) return UNKNOWN;
  const attn_step *l = at(f, a), *r = at(f, b);
  int fits = (r->exact.rows == l->exact.rows || r->exact.rows == 1) &&
             (r->exact.cols == l->exact.cols || r->exact.cols == 1);
  if (!fits) return UNKNOWN; /* broadcast the other way */
  int masked = r->name == ATTN_STEP_MASK;
  int placed = l->name == ATTN_STEP_X && r->name == ATTN_STEP_POSITIONS;
  int operand[2] = {a.step, b.step};
  int name = masked ? ATTN_STEP_MASKED : placed ? ATTN_STEP_POSITIONS : ATTN_STEP_OTHER;
  return attn_py_step(f, name, ATTN_OP_ADD, 0, operand, 2, 1);
}

static value binary(struct attn_py_follower *f, const struct attn_expr *e) {
  value a = attn_py_evaluate(f, e->argument[0]), b = attn_py_evaluate(f, e->argument[1]);
  const char *o = e->text;
  if (strcmp(o, "@") == 0) return product(f, a, b);
  if (is_scalar(a) && is_scalar(b)) {
    if (strcmp(o, "**") == 0) {
      value v = scalar_of(pow(a.scalar, b.scalar));
      if (b.scalar == 0.5) v.root = a.scalar;
      return v;
    }
    return *o == '+'   ? scalar_of(a.scalar + b.scalar)
           : *o == '-' ? scalar_of(a.scalar - b.scalar)
           : *o == '*' ? scalar_of(a.scalar * b.scalar)
           : *o == '/' ? scalar_of(a.scalar / b.scalar)
                       : UNKNOWN;
  }
  if (strcmp(o, "/") == 0 && is_step(a) && is_scalar(b)) return divide_by(f, a, b.scalar, b.root);
  if (strcmp(o, "/") == 0) return quotient(f, a, b);
  if (strcmp(o, "*") == 0 && is_step(a) && is_scalar(b)) return divide_by(f, a, 1 / b.scalar, 0);
  if (strcmp(o, "*") == 0 && is_scalar(a) && is_step(b)) return divide_by(f, b, 1 / a.scalar, 0);
  return strcmp(o, "+") == 0 ? sum_of(f, a, b) : UNKNOWN;
}

/* ---- calls ---- */

static const struct attn_expr *keyword(const struct attn_expr *e, const char *name) {
  for (int i = 0; i < e->keywords; i++)
    if (strcmp(e->keyword[i], name) == 0) return e->keyword_value[i];
  return NULL;
}

static const struct attn_expr *argument(const struct attn_expr *e, int i) {
  return i < e->arguments ? e->argument[i] : NULL;
}

/* 1: along rows, 0: down columns, -1: not given, -2: unknown. */
static int axis_of(struct attn_py_follower *f, const struct attn_expr *e, int position) {
  const struct attn_expr *said = keyword(e, "dim");
  if (!said) said = keyword(e, "axis");
  if (!said) said = argument(e, position);
  if (!said) return -1;
  value v = attn_py_evaluate(f, said);
  if (!is_scalar(v)) return -2;
  if (v.scalar == -1 || v.scalar == 1 || v.scalar == 2) return 1;
  return v.scalar == 0 || v.scalar == -2 ? 0 : -2;
}

static value softmax(struct attn_py_follower *f, const struct attn_expr *e) {
  value a = e->arguments ? settled(f, attn_py_evaluate(f, e->argument[0])) : UNKNOWN;
  int axis = axis_of(f, e, 1);
  if (!is_step(a) || axis == -2) return UNKNOWN;
  if (at(f, a)->exact.rows == 1) axis = 1; /* a flat array has one axis */
  return unary(f, ATTN_STEP_WEIGHTS, ATTN_OP_SOFTMAX, 0, axis < 0 ? 1 : axis, a);
}

static value sum_call(struct attn_py_follower *f, const struct attn_expr *e) {
  value a = e->arguments ? settled(f, attn_py_evaluate(f, e->argument[0])) : UNKNOWN;
  int axis = axis_of(f, e, 1);
  if (!is_step(a) || axis == -2) return UNKNOWN;
  int row = at(f, a)->exact.rows == 1;
  if (axis == -1 && !row) return UNKNOWN; /* of all numbers */
  int of = at(f, a)->name;
  return unary(f, of == ATTN_STEP_EXPONENTIALS ? ATTN_STEP_ROW_SUM : ATTN_STEP_OTHER, ATTN_OP_SUM,
               0, row ? 1 : axis, a);
}

static value exp_call(struct attn_py_follower *f, value a) {
  if (is_scalar(a)) return scalar_of(exp(a.scalar));
  a = settled(f, a);
  if (!is_step(a)) return UNKNOWN;
  return unary(f, ATTN_STEP_EXPONENTIALS, ATTN_OP_EXP, 0, 1, a);
}

static value sqrt_call(value a) {
  if (!is_scalar(a)) return UNKNOWN;
  value v = scalar_of(sqrt(a.scalar));
  v.root = a.scalar;
  return v;
}

/* mask == 0 hides the zeros of mask. */
static value mask_of(struct attn_py_follower *f, const struct attn_expr *e) {
  if (!e || e->kind != ATTN_EXPR_BINARY || strcmp(e->text, "==") != 0) return UNKNOWN;
  value m = settled(f, attn_py_evaluate(f, e->argument[0]));
  value zero = attn_py_evaluate(f, e->argument[1]);
  return is_step(m) && is_scalar(zero) && zero.scalar == 0 ? m : UNKNOWN;
}

static value hide(struct attn_py_follower *f, value a, value mask, value fill) {
  a = settled(f, a);
  if (!is_step(a) || !is_step(mask) || !is_scalar(fill)) return UNKNOWN;
  if (at(f, mask)->name == ATTN_STEP_OTHER) at(f, mask)->name = ATTN_STEP_MASK;
  int operand[2] = {a.step, mask.step};
  return attn_py_step(f, ATTN_STEP_MASKED, ATTN_OP_MASK, fill.scalar, operand, 2, 1);
}

static value masked_fill(struct attn_py_follower *f, const struct attn_expr *e) {
  if (e->arguments != 3) return UNKNOWN;
  value a = attn_py_evaluate(f, e->argument[0]);
  return hide(f, a, mask_of(f, e->argument[1]), attn_py_evaluate(f, e->argument[2]));
}

/* where(mask == 0, -1e9, scores) */
static value where_call(struct attn_py_follower *f, const struct attn_expr *e) {
  if (e->arguments != 3) return UNKNOWN;
  value fill = attn_py_evaluate(f, e->argument[1]);
  return hide(f, attn_py_evaluate(f, e->argument[2]), mask_of(f, e->argument[0]), fill);
}

static int said_inline(const struct attn_expr *e) {
  return e->argument[0]->kind == ATTN_EXPR_ARRAY;
}

/* tril and triu of what is given: a new given. */
static value triangle(struct attn_py_follower *f, const struct attn_expr *e, int lower) {
  value a = e->arguments ? settled(f, attn_py_evaluate(f, e->argument[0])) : UNKNOWN;
  const struct attn_expr *said = keyword(e, "diagonal");
  if (!said) said = keyword(e, "k");
  if (!said) said = argument(e, 1);
  value shift = said ? attn_py_evaluate(f, said) : scalar_of(0);
  if (!is_step(a) || !is_scalar(shift) || at(f, a)->op != ATTN_OP_GIVEN) return UNKNOWN;
  const attn_matrix from = at(f, a)->exact;
  if (a.step == f->ex->steps - 1 && said_inline(e)) f->ex->steps--; /* ones(3, 3) has no name */
  attn_matrix m = attn_matrix_new(f->maker->pool, from.rows, from.cols);
  attn_step *step = m.at ? attn_add_step(f->maker, f->ex, ATTN_STEP_MASK, -1, ATTN_OP_GIVEN) : NULL;
  if (!step) return f->status = attn_no_memory(f->maker), UNKNOWN;
  attn_printing p = {.rows = m.rows, .cols = m.cols, .line = e->line, .column = e->column};
  size_t count = (size_t)m.rows * (size_t)m.cols;
  p.cells = attn_pool_take(f->maker->pool, count * sizeof *p.cells);
  if (!p.cells) return f->status = attn_no_memory(f->maker), UNKNOWN;
  for (size_t i = 0; i < count; i++) {
    double off = (double)(i % (size_t)m.cols) - (double)(i / (size_t)m.cols) - shift.scalar;
    double x = (lower ? off <= 0 : off >= 0) ? from.at[i] : 0;
    m.at[i] = x;
    p.cells[i] = (attn_cell){ATTN_CELL_EXACT, -1, x, x, x, e->line, e->column};
  }
  step->exact = m;
  f->status = attn_add_printing(f->maker, step, &p);
  return f->status ? UNKNOWN : step_of(f->ex->steps - 1);
}

/* q.size(-1) */
static value size_call(struct attn_py_follower *f, const struct attn_expr *e) {
  value a = e->arguments ? attn_py_evaluate(f, e->argument[0]) : UNKNOWN;
  int axis = axis_of(f, e, 1);
  if (!is_step(a) || a.transposed || axis < 0) return UNKNOWN;
  const attn_matrix *m = &at(f, a)->exact;
  return scalar_of(axis ? m->cols : m->rows);
}

static value cat_call(struct attn_py_follower *f, const struct attn_expr *e) {
  static const char *const LISTS[] = {"tuple", "list", NULL};
  const struct attn_expr *list = argument(e, 0);
  int operand[ATTN_OPERANDS_MAX];
  if (!list || list->kind != ATTN_EXPR_CALL || !attn_expr_is_named(list, LISTS) ||
      axis_of(f, e, 1) != 1 || list->arguments < 1 || list->arguments > ATTN_OPERANDS_MAX)
    return UNKNOWN;
  for (int i = 0; i < list->arguments; i++) {
    value v = settled(f, attn_py_evaluate(f, list->argument[i]));
    if (!is_step(v)) return UNKNOWN;
    operand[i] = v.step;
  }
  return attn_py_step(f, ATTN_STEP_CONCAT, ATTN_OP_APPEND, 0, operand, list->arguments, 1);
}

int attn_py_is_attention(const struct attn_expr *e) {
  return e->kind == ATTN_EXPR_CALL && strcmp(e->text, "scaled_dot_product_attention") == 0 &&
         e->arguments == 3 && !e->keywords;
}

static value attention(struct attn_py_follower *f, const struct attn_expr *e) {
  value q = settled(f, attn_py_evaluate(f, e->argument[0]));
  value k = settled(f, attn_py_evaluate(f, e->argument[1]));
  value v = settled(f, attn_py_evaluate(f, e->argument[2]));
  if (!is_step(q) || !is_step(k) || !is_step(v)) return UNKNOWN;
  int scores[2] = {q.step, k.step};
  int width = (int)at(f, k)->exact.cols;
  value a = attn_py_step(f, ATTN_STEP_SCORES, ATTN_OP_MATMUL_NT, 0, scores, 2, 1);
  value s = is_step(a) ? divide_by(f, a, sqrt(width), width) : UNKNOWN;
  value w = is_step(s) ? unary(f, ATTN_STEP_WEIGHTS, ATTN_OP_SOFTMAX, 0, 1, s) : UNKNOWN;
  if (!is_step(w)) return UNKNOWN;
  int output[2] = {w.step, v.step};
  f->weights = w.step;
  return attn_py_step(f, ATTN_STEP_OUTPUT, ATTN_OP_MATMUL, 0, output, 2, 1);
}

static int is_true(const struct attn_expr *e) {
  static const char *const TRUE[] = {"True", "true", NULL};
  return e && e->kind == ATTN_EXPR_NAME && attn_expr_is_named(e, TRUE);
}

/* matmul(a, b, transpose_b=True) */
static value product_call(struct attn_py_follower *f, const struct attn_expr *e) {
  value a = attn_py_evaluate(f, e->argument[0]), b = attn_py_evaluate(f, e->argument[1]);
  a.transposed ^= is_true(keyword(e, "transpose_a"));
  b.transposed ^= is_true(keyword(e, "transpose_b"));
  return product(f, a, b);
}

static value call(struct attn_py_follower *f, const struct attn_expr *e) {
  static const char *const PRODUCTS[] = {"matmul", "dot", "mm", "bmm", NULL};
  static const char *const CATS[] = {"cat", "concatenate", "concat", NULL};
  static const char *const ROUND[] = {"round", "around", NULL};
  const char *name = e->text;
  if (attn_expr_is_named(e, PRODUCTS) && e->arguments == 2) return product_call(f, e);
  if (strcmp(name, "softmax") == 0) return softmax(f, e);
  if (strcmp(name, "sum") == 0) return sum_call(f, e);
  if (strcmp(name, "masked_fill") == 0) return masked_fill(f, e);
  if (strcmp(name, "where") == 0) return where_call(f, e);
  if (strcmp(name, "tril") == 0 || strcmp(name, "triu") == 0) return triangle(f, e, name[3] == 'l');
  if (strcmp(name, "size") == 0) return size_call(f, e);
  if (attn_expr_is_named(e, CATS)) return cat_call(f, e);
  if (e->arguments < 1) return UNKNOWN;
  if (strcmp(name, "exp") == 0 && e->arguments == 1)
    return exp_call(f, attn_py_evaluate(f, e->argument[0]));
  if (strcmp(name, "sqrt") == 0 && e->arguments == 1)
    return sqrt_call(attn_py_evaluate(f, e->argument[0]));
  if (attn_expr_is_named(e, ROUND) && f->rounding) return attn_py_evaluate(f, e->argument[0]);
  if (attn_py_is_attention(e)) return attention(f, e);
  return UNKNOWN;
}

/* ---- expressions ---- */

static value given(struct attn_py_follower *f, const attn_printing *table) {
  attn_step *step = attn_add_step(f->maker, f->ex, ATTN_STEP_OTHER, -1, ATTN_OP_GIVEN);
  size_t count = (size_t)table->rows * (size_t)table->cols;
  attn_printing p = *table;
  if (!step || !count)
    return step ? (f->ex->steps--, UNKNOWN) : (f->status = ATTN_ERR_MEMORY, UNKNOWN);
  p.row0 = p.col0 = 0;
  p.cells = attn_pool_take(f->maker->pool, count * sizeof *p.cells);
  step->exact = attn_matrix_new(f->maker->pool, p.rows, p.cols);
  if (!p.cells || !step->exact.at) return f->status = attn_no_memory(f->maker), UNKNOWN;
  for (size_t i = 0; i < count; i++) {
    p.cells[i] = table->cells[i];
    step->exact.at[i] = table->cells[i].value;
    if (table->cells[i].kind != ATTN_CELL_BLANK) continue;
    f->ex->steps--;
    return UNKNOWN;
  }
  f->status = attn_add_printing(f->maker, step, &p);
  return f->status ? UNKNOWN : step_of(f->ex->steps - 1);
}

static value evaluate(struct attn_py_follower *f, const struct attn_expr *e) {
  value v;
  switch (e->kind) {
    case ATTN_EXPR_NAME:
      return attn_py_lookup(f, e->text);
    case ATTN_EXPR_NUMBER:
      return scalar_of(e->number);
    case ATTN_EXPR_ARRAY:
      return given(f, &e->table);
    case ATTN_EXPR_CALL:
      return call(f, e);
    case ATTN_EXPR_BINARY:
      return binary(f, e);
    case ATTN_EXPR_NEGATE:
      v = attn_py_evaluate(f, e->argument[0]);
      return is_scalar(v) ? scalar_of(-v.scalar) : UNKNOWN;
    case ATTN_EXPR_TRANSPOSE:
      v = attn_py_evaluate(f, e->argument[0]);
      if (is_step(v)) v.transposed = !v.transposed;
      return is_step(v) ? v : UNKNOWN;
  }
  return UNKNOWN;
}

value attn_py_evaluate(struct attn_py_follower *f, const struct attn_expr *e) {
  return f->status || !e ? UNKNOWN : evaluate(f, e);
}
