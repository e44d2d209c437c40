/* python_ops.c -- the few operations of a snippet that attention needs. */
#include <math.h>
#include <stdio.h>

#include "cell.h"
#include "error.h"
#include "eval.h"
#include "snippet.h"

typedef struct attn_py_value value;

enum { WORK_MAX = 1 << 26, WORK_OF_CELL = 64 };

static const value UNKNOWN = {.kind = ATTN_PY_UNKNOWN};

value attn_py_scalar(double x) { return (value){.kind = ATTN_PY_SCALAR, .scalar = x}; }

static attn_step *at(const struct attn_python *p, value v) { return &p->example->step[v.step]; }
static int is_step(value v) { return v.kind == ATTN_PY_STEP; }
static int is_scalar(value v) { return v.kind == ATTN_PY_SCALAR; }

/* ---- steps ---- */

static value last_step(const struct attn_python *p) {
  return (value){.kind = ATTN_PY_STEP, .step = p->example->steps - 1, .is_new = 1};
}

static double work_of(const attn_step *a, const attn_step *b, int op) {
  double cells = (double)a->exact.rows * a->exact.cols;
  if (!b) return cells;
  return cells * (op == ATTN_OP_MATMUL_NT ? b->exact.rows : b->exact.cols);
}

static void misfit(struct attn_python *p, const attn_step *a, const attn_step *b) {
  const attn_printing *place = b->printings ? b->printing : a->printings ? a->printing : NULL;
  p->misfit = 1;
  p->status = ATTN_ERR_FORMAT;
  attn_fail_at(p->maker.err, ATTN_ERR_FORMAT, place ? place->line : p->example->line,
               place ? place->column : 1, "%s is %dx%d and %s is %dx%d: the shapes do not match%s",
               a->symbol, (int)a->exact.rows, (int)a->exact.cols, b->symbol, (int)b->exact.rows,
               (int)b->exact.cols,
               a->exact.cols == b->exact.cols ? "; did you mean the transpose?" : "");
}

/* A new step. UNKNOWN where memory or work is used up, or where shapes do not fit. */
static value add_step(struct attn_python *p, attn_step step) {
  if (p->status) return UNKNOWN;
  const int32_t *operand = step.operand;
  const attn_step *steps = p->example->step;
  int has_two = step.operands > 1;
  p->work += work_of(&steps[operand[0]], has_two ? &steps[operand[1]] : NULL, step.op);
  if (p->work > WORK_MAX) return UNKNOWN;
  attn_step *added = attn_add_step(&p->maker, p->example, step.name, -1, step.op);
  if (!added) return p->status = ATTN_ERR_MEMORY, UNKNOWN;
  step.symbol = added->symbol;
  step.head = -1;
  *added = step;
  p->status = attn_compute_step(&p->maker, p->example, added);
  if (!p->status) return last_step(p);
  p->example->steps--;
  if (p->status == ATTN_ERR_SHAPE && has_two) {
    steps = p->example->step;
    misfit(p, &steps[operand[0]], &steps[operand[1]]);
  }
  return UNKNOWN;
}

static value unary(struct attn_python *p, int name, int op, int axis, value a) {
  return add_step(
      p, (attn_step){.name = name, .op = op, .axis = axis, .operands = 1, .operand = {a.step}});
}

static value pair(struct attn_python *p, int name, int op, int axis, value a, value b) {
  return add_step(
      p, (attn_step){
             .name = name, .op = op, .axis = axis, .operands = 2, .operand = {a.step, b.step}});
}

value attn_py_settled(struct attn_python *p, value v) {
  return is_step(v) && v.transposed ? unary(p, ATTN_STEP_OTHER, ATTN_OP_TRANSPOSE, 1, v) : v;
}

/* A given: the cells are the caller's, each a number. */
static value add_given(struct attn_python *p, int name, const attn_printing *printing) {
  if (p->status) return UNKNOWN;
  attn_step *step = attn_add_step(&p->maker, p->example, name, -1, ATTN_OP_GIVEN);
  p->status = step ? attn_add_printing(&p->maker, step, printing) : ATTN_ERR_MEMORY;
  if (!p->status) p->status = attn_given_from(&p->maker, step);
  return p->status ? UNKNOWN : last_step(p);
}

value attn_py_given(struct attn_python *p, const attn_printing *table) {
  for (int n = 0; n < table->rows * table->cols; n++)
    if (table->cells[n].kind == ATTN_CELL_BLANK) return UNKNOWN;
  return add_given(p, ATTN_STEP_OTHER, table);
}

/* ---- operators ---- */

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
  return b == ATTN_STEP_W_O ? ATTN_STEP_PROJECTED : ATTN_STEP_OTHER;
}

/* "Q @ K.T" until the statement gives it a name. */
static value call_it(struct attn_python *p, value v, const char *left, const char *right, int op) {
  enum { SYMBOL_BYTES = 40 };
  char *symbol = attn_pool_take(p->scan->pool, SYMBOL_BYTES + 1);
  if (!symbol) return attn_py_no_memory(p), UNKNOWN;
  int bytes =
      snprintf(symbol, SYMBOL_BYTES + 1, "%s%s @ %s%s", left, op == ATTN_OP_MATMUL_TN ? ".T" : "",
               right, op == ATTN_OP_MATMUL_NT ? ".T" : "");
  if (bytes <= SYMBOL_BYTES) at(p, v)->symbol = symbol;
  return v;
}

static value product(struct attn_python *p, value a, value b) {
  if (is_step(b) && b.transposed) a = attn_py_settled(p, a);
  if (!is_step(a) || !is_step(b)) return UNKNOWN;
  const attn_matrix *m = &at(p, a)->exact, *n = &at(p, b)->exact;
  int op = b.transposed ? ATTN_OP_MATMUL_NT : a.transposed ? ATTN_OP_MATMUL_TN : ATTN_OP_MATMUL;
  if (op == ATTN_OP_MATMUL && m->cols != n->rows && n->rows == 1 && m->cols == n->cols) {
    /* A flat array has no rows: matrix @ vector is a vector, vector @ vector a number. */
    value vector = b;
    op = ATTN_OP_MATMUL_NT;
    b = a, a = vector;
  }
  value v = pair(p, role_of_product(at(p, a)->name, at(p, b)->name, op), op, 1, a, b);
  return is_step(v) ? call_it(p, v, at(p, a)->symbol, at(p, b)->symbol, op) : v;
}

static value divide_by(struct attn_python *p, value a, double scalar, double root) {
  a = attn_py_settled(p, a);
  if (!is_step(a) || scalar == 0 || !isfinite(scalar)) return UNKNOWN;
  int scores = at(p, a)->name == ATTN_STEP_SCORES || root > 0;
  int is_size = root >= 1 && root < 1e9 && root == floor(root);
  return add_step(p, (attn_step){.name = scores ? ATTN_STEP_SCALED : ATTN_STEP_OTHER,
                                 .op = ATTN_OP_DIVIDE,
                                 .axis = 1,
                                 .scalar = scalar,
                                 .scaled_by = is_size ? (int32_t)root : 0,
                                 .operands = 1,
                                 .operand = {a.step}});
}

static value quotient(struct attn_python *p, value a, value b) {
  const attn_matrix *m = &at(p, a)->exact, *n = &at(p, b)->exact;
  int axis = n->cols == 1 && n->rows == m->rows ? 1 : n->rows == 1 && n->cols == m->cols ? 0 : -1;
  if (axis < 0) return UNKNOWN;
  int name = at(p, a)->name == ATTN_STEP_EXPONENTIALS ? ATTN_STEP_WEIGHTS : ATTN_STEP_OTHER;
  return pair(p, name, ATTN_OP_QUOTIENT, axis, a, b);
}

static value sum_of(struct attn_python *p, value a, value b) {
  const attn_step *l = at(p, a), *r = at(p, b);
  int fits = (r->exact.rows == l->exact.rows || r->exact.rows == 1) &&
             (r->exact.cols == l->exact.cols || r->exact.cols == 1);
  if (!fits) return UNKNOWN; /* broadcast the other way */
  int masked = r->name == ATTN_STEP_MASK;
  int placed = l->name == ATTN_STEP_X && r->name == ATTN_STEP_POSITIONS;
  int name = masked ? ATTN_STEP_MASKED : placed ? ATTN_STEP_POSITIONS : ATTN_STEP_OTHER;
  return pair(p, name, ATTN_OP_ADD, 1, a, b);
}

static value of_scalars(char operation, double a, double b) {
  switch (operation) {
    case '+':
      return attn_py_scalar(a + b);
    case '-':
      return attn_py_scalar(a - b);
    case '*':
      return attn_py_scalar(a * b);
    case '/':
      return attn_py_scalar(a / b);
    case '^':
      return (value){.kind = ATTN_PY_SCALAR, .scalar = pow(a, b), .root = b == 0.5 ? a : 0};
    default:
      return UNKNOWN;
  }
}

value attn_py_binary(struct attn_python *p, char operation, value a, value b) {
  if (p->status) return UNKNOWN;
  if (operation == '@') return product(p, a, b);
  if (is_scalar(a) && is_scalar(b)) return of_scalars(operation, a.scalar, b.scalar);
  if (operation == '/' && is_scalar(b)) return divide_by(p, a, b.scalar, b.root);
  if (operation == '*' && is_scalar(b)) return divide_by(p, a, 1 / b.scalar, 0);
  if (operation == '*' && is_scalar(a)) return divide_by(p, b, 1 / a.scalar, 0);
  a = attn_py_settled(p, a);
  if (operation == '=') {
    if (is_step(a) && is_scalar(b) && b.scalar == 0) a.kind = ATTN_PY_ZEROS;
    return a.kind == ATTN_PY_ZEROS ? a : UNKNOWN;
  }
  b = attn_py_settled(p, b);
  if (!is_step(a) || !is_step(b)) return UNKNOWN;
  return operation == '/' ? quotient(p, a, b) : operation == '+' ? sum_of(p, a, b) : UNKNOWN;
}

/* ---- calls ---- */

static const value *argument(const struct attn_py_call *c, int i) {
  return i < c->arguments ? &c->argument[i] : NULL;
}

/* The keyword of one of the names, else the argument in this position; NULL: not given. */
static const value *option(const struct attn_python *p, const struct attn_py_call *c,
                           const char *names, int position) {
  for (int i = 0; i < c->keywords; i++)
    if (attn_py_is(p, c->keyword[i].name, names)) return &c->keyword[i].value;
  return argument(c, position);
}

/* 1: along rows, 0: down columns, -1: not given, -2: unknown. */
static int axis_of(const struct attn_python *p, const struct attn_py_call *c) {
  const value *axis = option(p, c, "dim axis", 1);
  if (!axis) return -1;
  if (!is_scalar(*axis)) return -2;
  if (axis->scalar == -1 || axis->scalar == 1 || axis->scalar == 2) return 1;
  return axis->scalar == 0 || axis->scalar == -2 ? 0 : -2;
}

static value softmax(struct attn_python *p, const struct attn_py_call *c) {
  value a = attn_py_settled(p, c->argument[0]);
  int axis = axis_of(p, c);
  if (!is_step(a) || axis == -2) return UNKNOWN;
  if (at(p, a)->exact.rows == 1) axis = 1; /* a flat array has one axis */
  return unary(p, ATTN_STEP_WEIGHTS, ATTN_OP_SOFTMAX, axis < 0 ? 1 : axis, a);
}

static value sum_call(struct attn_python *p, const struct attn_py_call *c) {
  value a = attn_py_settled(p, c->argument[0]);
  int axis = axis_of(p, c);
  if (!is_step(a) || axis == -2) return UNKNOWN;
  int row = at(p, a)->exact.rows == 1;
  if (axis == -1 && !row) return UNKNOWN; /* of all numbers */
  int of = at(p, a)->name;
  return unary(p, of == ATTN_STEP_EXPONENTIALS ? ATTN_STEP_ROW_SUM : ATTN_STEP_OTHER, ATTN_OP_SUM,
               row ? 1 : axis, a);
}

static value exp_call(struct attn_python *p, const struct attn_py_call *c) {
  value a = attn_py_settled(p, c->argument[0]);
  if (is_scalar(a)) return attn_py_scalar(exp(a.scalar));
  return is_step(a) ? unary(p, ATTN_STEP_EXPONENTIALS, ATTN_OP_EXP, 1, a) : UNKNOWN;
}

static value sqrt_call(struct attn_python *p, const struct attn_py_call *c) {
  (void)p;
  double of = c->argument[0].scalar;
  return is_scalar(c->argument[0]) ? (value){.kind = ATTN_PY_SCALAR, .scalar = sqrt(of), .root = of}
                                   : UNKNOWN;
}

/* mask == 0 hides the zeros of mask. */
static value hide(struct attn_python *p, value a, value mask, value fill) {
  a = attn_py_settled(p, a);
  if (!is_step(a) || mask.kind != ATTN_PY_ZEROS || !is_scalar(fill)) return UNKNOWN;
  if (at(p, mask)->name == ATTN_STEP_OTHER) at(p, mask)->name = ATTN_STEP_MASK;
  return add_step(p, (attn_step){.name = ATTN_STEP_MASKED,
                                 .op = ATTN_OP_MASK,
                                 .axis = 1,
                                 .scalar = fill.scalar,
                                 .operands = 2,
                                 .operand = {a.step, mask.step}});
}

static value masked_fill(struct attn_python *p, const struct attn_py_call *c) {
  return hide(p, c->argument[0], c->argument[1], c->argument[2]);
}

/* where(mask == 0, -1e9, scores) */
static value where_call(struct attn_python *p, const struct attn_py_call *c) {
  return hide(p, c->argument[2], c->argument[0], c->argument[1]);
}

/* A given that the program makes: no cell of it is printed. */
static value made(struct attn_python *p, int name, attn_matrix m, struct attn_part place) {
  struct attn_source_position begin = attn_source_place(&p->scan->source, place.begin);
  size_t count = (size_t)m.rows * (size_t)m.cols;
  attn_printing printing = {
      .rows = m.rows, .cols = m.cols, .line = begin.line, .column = begin.column};
  printing.cells = m.at ? attn_pool_take(p->scan->pool, count * sizeof *printing.cells) : NULL;
  if (!printing.cells) return attn_py_no_memory(p), UNKNOWN;
  for (size_t i = 0; i < count; i++) {
    printing.cells[i] = attn_cell_exact(m.at[i]);
    printing.cells[i].line = begin.line;
    printing.cells[i].column = begin.column;
  }
  return add_given(p, name, &printing);
}

/* Is there work left for a given that the program makes? ones(1000, 1000) is cheap to write. */
static int may_make(struct attn_python *p, double rows, double cols) {
  p->work += rows * cols * WORK_OF_CELL;
  return p->work <= WORK_MAX;
}

/* ones, zeros and eye of known size */
static value filled(struct attn_python *p, const struct attn_py_call *c) {
  const value *size = c->argument;
  int count = c->arguments, square = attn_py_is(p, c->name, "eye identity");
  double rows = 1, cols = 1;
  if (size->kind == ATTN_PY_TUPLE) count = size->items, size = size->item;
  for (int i = 0; i < count; i++) {
    if (!is_scalar(size[i]) || !(size[i].scalar >= 1) || rows > 1) return UNKNOWN;
    rows = cols;
    cols = floor(size[i].scalar);
  }
  if (square && count == 1) rows = cols;
  if (rows * cols > ATTN_CELLS_MAX || !may_make(p, rows, cols)) return UNKNOWN;
  attn_matrix m = attn_matrix_new(p->scan->pool, (int32_t)rows, (int32_t)cols);
  for (int i = 0; m.at && i < m.rows * m.cols; i++)
    m.at[i] = square ? i / m.cols == i % m.cols : attn_py_is(p, c->name, "ones");
  return made(p, ATTN_STEP_OTHER, m, c->name);
}

/* tril and triu of what is given: a new given. */
static value triangle(struct attn_python *p, const struct attn_py_call *c) {
  const value a = attn_py_settled(p, c->argument[0]), *diagonal = option(p, c, "diagonal k", 1);
  if (!is_step(a) || (diagonal && !is_scalar(*diagonal)) || at(p, a)->op != ATTN_OP_GIVEN)
    return UNKNOWN;
  const attn_matrix from = at(p, a)->exact;
  int lower = attn_py_is(p, c->name, "tril");
  double shift = diagonal ? diagonal->scalar : 0;
  if (a.is_new && a.step == p->example->steps - 1) p->example->steps--; /* ones(3, 3) has no name */
  if (!may_make(p, from.rows, from.cols)) return UNKNOWN;
  attn_matrix m = attn_matrix_new(p->scan->pool, from.rows, from.cols);
  for (int i = 0; m.at && i < m.rows * m.cols; i++) {
    double off = i % m.cols - i / m.cols - shift;
    m.at[i] = (lower ? off <= 0 : off >= 0) ? from.at[i] : 0;
  }
  return made(p, ATTN_STEP_MASK, m, c->name);
}

/* q.size(-1) */
static value size_call(struct attn_python *p, const struct attn_py_call *c) {
  value a = c->argument[0];
  int axis = axis_of(p, c);
  if (!is_step(a) || a.transposed || axis < 0) return UNKNOWN;
  const attn_matrix *m = &at(p, a)->exact;
  return attn_py_scalar(axis ? m->cols : m->rows);
}

static value cat_call(struct attn_python *p, const struct attn_py_call *c) {
  const value *list = c->argument;
  attn_step step = {.name = ATTN_STEP_CONCAT, .op = ATTN_OP_APPEND, .axis = 1};
  if (list->kind != ATTN_PY_TUPLE || axis_of(p, c) != 1 || list->items > ATTN_OPERANDS_MAX)
    return UNKNOWN;
  for (int i = 0; i < list->items; i++) {
    value next = attn_py_settled(p, list->item[i]);
    if (!is_step(next)) return UNKNOWN;
    step.operand[step.operands++] = next.step;
  }
  return add_step(p, step);
}

/* The function that everyone writes: softmax(q k^T / sqrt(d)) v */
static value attention(struct attn_python *p, const struct attn_py_call *c) {
  value q = attn_py_settled(p, c->argument[0]), k = attn_py_settled(p, c->argument[1]);
  value v = attn_py_settled(p, c->argument[2]);
  if (!is_step(q) || !is_step(k) || !is_step(v) || c->keywords) return UNKNOWN;
  int width = (int)at(p, k)->exact.cols;
  value scores = pair(p, ATTN_STEP_SCORES, ATTN_OP_MATMUL_NT, 1, q, k);
  value scaled = divide_by(p, scores, sqrt(width), width);
  if (!is_step(scaled)) return UNKNOWN;
  value weights = unary(p, ATTN_STEP_WEIGHTS, ATTN_OP_SOFTMAX, 1, scaled);
  if (!is_step(weights)) return UNKNOWN;
  p->weights = weights.step;
  return pair(p, ATTN_STEP_OUTPUT, ATTN_OP_MATMUL, 1, weights, v);
}

/* matmul(a, b, transpose_b=True) */
static value product_call(struct attn_python *p, const struct attn_py_call *c) {
  value a = c->argument[0], b = c->argument[1];
  const value *left = option(p, c, "transpose_a", 2), *right = option(p, c, "transpose_b", 3);
  a.transposed ^= left && left->scalar == 1;
  b.transposed ^= right && right->scalar == 1;
  return product(p, a, b);
}

static value transpose(struct attn_python *p, const struct attn_py_call *c) {
  value a = c->argument[0];
  (void)p;
  a.transposed = !a.transposed;
  return is_step(a) ? a : UNKNOWN;
}

static value same(struct attn_python *p, const struct attn_py_call *c) {
  (void)p;
  return c->argument[0];
}

static value printed(struct attn_python *p, const struct attn_py_call *c) {
  (void)p;
  return c->argument[c->arguments - 1]; /* print("weights:", weights) */
}

static value round_call(struct attn_python *p, const struct attn_py_call *c) {
  return p->rounding ? c->argument[0] : UNKNOWN;
}

static const struct function {
  const char *names;
  int least, most; /* arguments */
  value (*apply)(struct attn_python *p, const struct attn_py_call *c);
} FUNCTIONS[] = {
    {"matmul dot mm bmm", 2, 4, product_call},
    {"transpose swapaxes", 1, 9, transpose},
    {"softmax", 1, 9, softmax},
    {"sum", 1, 9, sum_call},
    {"exp", 1, 1, exp_call},
    {"sqrt", 1, 1, sqrt_call},
    {"masked_fill", 3, 3, masked_fill},
    {"where", 3, 3, where_call},
    {"tril triu", 1, 9, triangle},
    {"ones zeros eye identity", 1, 9, filled},
    {"size", 1, 9, size_call},
    {"cat concatenate concat", 1, 9, cat_call},
    {"scaled_dot_product_attention", 3, 3, attention},
    {"array tensor asarray Tensor FloatTensor constant matrix as_tensor Variable float32 float64 "
     "float",
     1, 9, same},
    {"print", 1, 99, printed},
    {"round around", 1, 9, round_call},
};

static const struct function METHODS[] = {
    {"T mT t", 1, 9, transpose},
    {"float double numpy detach astype to clone copy contiguous cpu requires_grad_ type", 1, 9,
     same},
};

static const struct function *find(const struct attn_python *p, const struct attn_py_call *c,
                                   const struct function *list, size_t count) {
  for (size_t n = 0; n < count; n++)
    if (attn_py_is(p, c->name, list[n].names)) return &list[n];
  return NULL;
}

value attn_py_call(struct attn_python *p, const struct attn_py_call *c) {
  const struct function *f = NULL;
  if (c->is_method) f = find(p, c, METHODS, sizeof METHODS / sizeof *METHODS);
  if (!f) f = find(p, c, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
  if (!f || p->status || c->arguments < f->least || c->arguments > f->most) return UNKNOWN;
  return f->apply(p, c);
}
