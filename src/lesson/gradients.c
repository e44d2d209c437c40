/* gradients.c -- attn_lesson_gradients: backpropagation through the steps of an example.
 *
 * A gradient is a step like any other, computed from earlier ones, so that all that explains,
 * prints and evaluates steps works on it. Of several contributions each is a step, and their sums.
 * References: [Goodfellow16] Deep Learning, 6.5 (reverse accumulation); the gradient of softmax:
 * arXiv 1706.03762 has the forward, attn/attn.h the same backward for tensors. */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "eval.h"
#include "steps.h"

enum { NONE = -1, SYMBOL_BYTES = 160 };

/* Of each step of the document. */
struct backprop_node {
  int32_t gradient;  /* the step that is its gradient so far, or NONE */
  int32_t uses, met; /* contributions to it: all, and those made */
  int reaches;       /* the loss depends on it */
};

struct backprop {
  struct attn_maker maker;
  attn_example *e;
  struct backprop_node *node;
  attn_status status;
};

static const attn_step *step_at(const struct backprop *b, int32_t n) { return &b->e->step[n]; }

/* ---- Which steps a step passes its gradient to ---- */

/* Softmax as a document writes it in parts: exp(z) / sum(exp(z)). The softmax's input, or NONE. */
static int32_t softmax_input(const attn_example *e, const attn_step *s) {
  const attn_step *sum = &e->step[s->operand[1]], *exps = &e->step[s->operand[0]];
  if (s->op == ATTN_OP_SOFTMAX) return s->operand[0];
  if (sum->op != ATTN_OP_SUM || sum->operand[0] != s->operand[0] || sum->axis != s->axis ||
      exps->op != ATTN_OP_EXP)
    return NONE;
  const attn_step *shift = &e->step[exps->operand[0]]; /* a common factor cancels out */
  return shift->op == ATTN_OP_SHIFT && shift->axis == s->axis ? shift->operand[0]
                                                              : exps->operand[0];
}

/* Fills in the inputs; returns their number, NONE where the gradient is not known. */
static int inputs_of(const attn_example *e, const attn_step *s, int32_t *input) {
  switch (s->op) {
    case ATTN_OP_GIVEN:
    case ATTN_OP_POSITIONS:
      return 0;
    case ATTN_OP_MASK:
      return input[0] = s->operand[0], 1;
    case ATTN_OP_SOFTMAX:
    case ATTN_OP_QUOTIENT:
      return input[0] = softmax_input(e, s), input[0] < 0 ? NONE : 1;
    case ATTN_OP_MATMUL:
    case ATTN_OP_MATMUL_NT:
    case ATTN_OP_MATMUL_TN:
    case ATTN_OP_TRANSPOSE:
    case ATTN_OP_DIVIDE:
    case ATTN_OP_ADD:
    case ATTN_OP_APPEND:
    case ATTN_OP_COLUMNS:
    case ATTN_OP_GENERAL:
      memcpy(input, s->operand, (size_t)s->operands * sizeof *input);
      return s->operands;
    default:
      return NONE;
  }
}

/* ---- Steps ---- */

/* A step of the gradient of step `of`; symbol: its name. of NONE: on the way to one. */
static int32_t add(struct backprop *b, int op, int32_t of, int32_t head, const char *symbol,
                   const int32_t *operand, int32_t operands) {
  if (b->status) return 0;
  attn_step *s = attn_add_step(&b->maker, b->e, ATTN_STEP_OTHER, head, op);
  if (!s || !(s->symbol = attn_pool_text(b->maker.pool, symbol, strlen(symbol))))
    return b->status = attn_no_memory(&b->maker), 0;
  s->gradient_of = of < 0 ? ATTN_GRADIENT_PART : of + 1;
  if (operands) memcpy(s->operand, operand, (size_t)operands * sizeof *operand);
  s->operands = operands;
  return b->e->steps - 1;
}

static int32_t compute(struct backprop *b, int32_t n) {
  if (!b->status) b->status = attn_compute_step(&b->maker, b->e, &b->e->step[n]);
  return n;
}

static int32_t pair(struct backprop *b, int op, int32_t of, int32_t head, const char *symbol,
                    int32_t x, int32_t y) {
  return compute(b, add(b, op, of, head, symbol, (int32_t[]){x, y}, 2));
}

/* "d_scores"; of steps without such a name, or of one of two, the document's. */
static void name_gradient(const struct backprop *b, int32_t of, char symbol[SYMBOL_BYTES]) {
  const attn_step *s = step_at(b, of);
  const char *name = attn_step_label(s->name);
  for (int32_t n = 0; n < b->e->steps; n++)
    if (n != of && !step_at(b, n)->gradient_of && step_at(b, n)->name == s->name &&
        step_at(b, n)->head == s->head)
      name = s->symbol;
  if (s->name == ATTN_STEP_OTHER) name = s->symbol;
  snprintf(symbol, SYMBOL_BYTES, "d_%.100s", name);
}

/* ---- The rule of each operation ---- */

/* What one input gets from the step it goes into. */
struct contribution {
  int32_t from, to, slot, g; /* g: the gradient of from */
  int32_t head;
  const char *symbol;
};

static int32_t of_product(struct backprop *b, const struct contribution *c) {
  const attn_step *s = step_at(b, c->from);
  const int32_t x = s->operand[0], y = s->operand[1], g = c->g;
  const int nt = s->op == ATTN_OP_MATMUL_NT, tn = s->op == ATTN_OP_MATMUL_TN;
  if (c->slot == 0)
    return tn   ? pair(b, ATTN_OP_MATMUL_NT, c->to, c->head, c->symbol, y, g)
           : nt ? pair(b, ATTN_OP_MATMUL, c->to, c->head, c->symbol, g, y)
                : pair(b, ATTN_OP_MATMUL_NT, c->to, c->head, c->symbol, g, y);
  return tn   ? pair(b, ATTN_OP_MATMUL, c->to, c->head, c->symbol, x, g)
         : nt ? pair(b, ATTN_OP_MATMUL_TN, c->to, c->head, c->symbol, g, x)
              : pair(b, ATTN_OP_MATMUL_TN, c->to, c->head, c->symbol, x, g);
}

/* scores = q W k^T: (g k) W^T, (g^T q) W, (q^T g) k. */
static int32_t of_general(struct backprop *b, const struct contribution *c) {
  const attn_step *s = step_at(b, c->from);
  const int32_t q = s->operand[0], k = s->operand[1], w = s->operand[2], g = c->g;
  char part[SYMBOL_BYTES];
  snprintf(part, sizeof part, "%.100s on the way", c->symbol);
  if (c->slot == 0)
    return pair(b, ATTN_OP_MATMUL_NT, c->to, c->head, c->symbol,
                pair(b, ATTN_OP_MATMUL, NONE, c->head, part, g, k), w);
  if (c->slot == 1)
    return pair(b, ATTN_OP_MATMUL, c->to, c->head, c->symbol,
                pair(b, ATTN_OP_MATMUL_TN, NONE, c->head, part, g, q), w);
  return pair(b, ATTN_OP_MATMUL, c->to, c->head, c->symbol,
              pair(b, ATTN_OP_MATMUL_TN, NONE, c->head, part, q, g), k);
}

/* A step of the gradient of an input, with the operation and the operands of another one. */
static int32_t derive(struct backprop *b, const struct contribution *c, const attn_step *like) {
  int32_t n = add(b, like->op, c->to, c->head, c->symbol, like->operand, like->operands);
  if (b->status) return 0;
  attn_step *s = &b->e->step[n];
  s->axis = like->axis, s->scalar = like->scalar, s->scaled_by = like->scaled_by;
  s->exact.cols = like->exact.cols;
  return compute(b, n);
}

/* Columns from .. of g, as many as the input has. */
static int32_t of_columns(struct backprop *b, const struct contribution *c, int32_t from) {
  attn_step columns = {.op = ATTN_OP_COLUMNS, .scalar = from, .operands = 1, .operand = {c->g}};
  columns.exact.cols = step_at(b, c->to)->exact.cols;
  return derive(b, c, &columns);
}

/* As many columns of zeros on the way. */
static int32_t zeros(struct backprop *b, const struct contribution *c, int32_t cols) {
  int32_t n = add(b, ATTN_OP_GIVEN, NONE, c->head, "0", NULL, 0);
  if (b->status) return 0;
  attn_step *s = &b->e->step[n];
  s->exact = attn_matrix_new(b->maker.pool, step_at(b, c->g)->exact.rows, cols);
  if (!s->exact.at) b->status = attn_no_memory(&b->maker);
  for (int64_t k = 0; !b->status && k < (int64_t)s->exact.rows * cols; k++) s->exact.at[k] = 0;
  return n;
}

/* g where its columns are of the input, and 0 beside it. */
static int32_t among_columns(struct backprop *b, const struct contribution *c) {
  const attn_step *s = step_at(b, c->from);
  int32_t left = (int32_t)s->scalar, parts = 0, part[3];
  int32_t right = step_at(b, c->to)->exact.cols - left - s->exact.cols;
  if (left) part[parts++] = zeros(b, c, left);
  part[parts++] = c->g;
  if (right) part[parts++] = zeros(b, c, right);
  return compute(b, add(b, ATTN_OP_APPEND, c->to, c->head, c->symbol, part, parts));
}

static int32_t of_append(struct backprop *b, const struct contribution *c) {
  const attn_step *s = step_at(b, c->from);
  int32_t from = 0;
  for (int32_t n = 0; n < c->slot; n++) from += step_at(b, s->operand[n])->exact.cols;
  return of_columns(b, c, from);
}

static int32_t of_sum(struct backprop *b, const struct contribution *c) {
  const attn_matrix *to = &step_at(b, c->to)->exact, *g = &step_at(b, c->g)->exact;
  if (to->rows == g->rows && to->cols == g->cols) return of_columns(b, c, 0);
  if (to->rows != 1 || to->cols != g->cols)
    return b->status = attn_fail(b->maker.err, ATTN_ERR_ARGUMENT, "lesson",
                                 "the gradient of a sum of %dx%d and %dx%d is not supported",
                                 (int)to->rows, (int)to->cols, (int)g->rows, (int)g->cols),
           0;
  return derive(b, c, &(attn_step){.op = ATTN_OP_SUM, .operands = 1, .operand = {c->g}});
}

static int32_t of_softmax(struct backprop *b, const struct contribution *c) {
  attn_step softmax = {.op = ATTN_OP_SOFTMAX_GRADIENT, .operands = 2, .operand = {c->from, c->g}};
  softmax.axis = step_at(b, c->from)->axis;
  return derive(b, c, &softmax);
}

/* Divided as the step is; 0 where the mask hides. */
static int32_t of_element(struct backprop *b, const struct contribution *c) {
  attn_step like = *step_at(b, c->from);
  like.operand[0] = c->g;
  if (like.op == ATTN_OP_MASK) like.scalar = 0;
  return derive(b, c, &like);
}

static int32_t contribute(struct backprop *b, const struct contribution *c) {
  switch (step_at(b, c->from)->op) {
    case ATTN_OP_TRANSPOSE:
    case ATTN_OP_DIVIDE:
    case ATTN_OP_MASK:
      return of_element(b, c);
    case ATTN_OP_SOFTMAX:
    case ATTN_OP_QUOTIENT:
      return of_softmax(b, c);
    case ATTN_OP_ADD:
      return of_sum(b, c);
    case ATTN_OP_APPEND:
      return of_append(b, c);
    case ATTN_OP_COLUMNS:
      return among_columns(b, c);
    case ATTN_OP_GENERAL:
      return of_general(b, c);
    default:
      return of_product(b, c);
  }
}

/* ---- Backwards through the steps ---- */

/* A contribution is named by the step it comes from if there are several; their last sum is the
 * gradient. */
static void pass_on(struct backprop *b, int32_t from, int32_t to, int32_t slot) {
  struct backprop_node *node = &b->node[to];
  const attn_step *s = step_at(b, from);
  char total[SYMBOL_BYTES], own[2 * SYMBOL_BYTES];
  name_gradient(b, to, total);
  snprintf(own, sizeof own, node->uses > 1 ? "%.90s by %.90s" : "%.90s", total,
           s->name == ATTN_STEP_OTHER ? s->symbol : attn_step_label(s->name));
  int32_t head = node->uses > 1 && s->head >= 0 ? s->head : step_at(b, to)->head;
  const struct contribution c = {from, to, slot, b->node[from].gradient, head, own};
  int32_t found = contribute(b, &c);
  node->met++;
  if (node->met == 1) {
    node->gradient = found;
    return;
  }
  if (node->met < node->uses)
    snprintf(own, sizeof own, "%.90s: %d of %d", total, (int)node->met, (int)node->uses);
  node->gradient = pair(b, ATTN_OP_ADD, to, step_at(b, to)->head,
                        node->met < node->uses ? own : total, node->gradient, found);
}

static attn_status not_supported(const struct backprop *b, int32_t n) {
  return attn_fail(b->maker.err, ATTN_ERR_ARGUMENT, "lesson",
                   "the gradient of %.60s cannot be computed step by step: its operation is not "
                   "supported",
                   step_at(b, n)->symbol);
}

/* Counts what each step contributes to, from the last one on. */
static void count_uses(struct backprop *b, int32_t steps) {
  int32_t input[ATTN_OPERANDS_MAX];
  for (int32_t n = steps - 1; n >= 0 && !b->status; n--) {
    if (!b->node[n].reaches) continue;
    int count = inputs_of(b->e, step_at(b, n), input);
    if (count < 0) b->status = not_supported(b, n);
    for (int k = 0; k < count; k++) {
      if (step_at(b, input[k])->op == ATTN_OP_POSITIONS) continue;
      b->node[input[k]].reaches = 1, b->node[input[k]].uses++;
    }
  }
}

static void run_back(struct backprop *b, int32_t steps) {
  int32_t input[ATTN_OPERANDS_MAX];
  for (int32_t n = steps - 1; n >= 0 && !b->status; n--) {
    if (!b->node[n].reaches) continue;
    int count = inputs_of(b->e, step_at(b, n), input);
    for (int k = 0; k < count && !b->status; k++)
      if (step_at(b, input[k])->op != ATTN_OP_POSITIONS) pass_on(b, n, input[k], k);
  }
}

/* ---- The loss ---- */

/* The gradient of the loss by a step whose values it sums: ones; cell: it is this cell alone. */
static void add_loss(struct backprop *b, int32_t n, const attn_cell_address *cell) {
  char symbol[SYMBOL_BYTES];
  name_gradient(b, n, symbol);
  const attn_matrix shape = step_at(b, n)->exact;
  int32_t index = add(b, ATTN_OP_GIVEN, n, step_at(b, n)->head, symbol, NULL, 0);
  if (b->status) return;
  attn_step *s = &b->e->step[index];
  s->exact = attn_matrix_new(b->maker.pool, shape.rows, shape.cols);
  if (!s->exact.at) {
    b->status = attn_no_memory(&b->maker);
    return;
  }
  const int64_t one = cell ? (int64_t)cell->row * shape.cols + cell->col : NONE;
  for (int64_t k = 0; k < (int64_t)shape.rows * shape.cols; k++) s->exact.at[k] = !cell || k == one;
  b->node[n].gradient = index, b->node[n].reaches = 1;
}

/* The loss without a cell: what no other step reads, the last of attention if there is any. */
static int is_end(const attn_example *e, int32_t steps, int32_t n) {
  const int32_t name = e->step[n].name;
  for (int32_t k = n + 1; k < steps; k++)
    for (int32_t i = 0; i < e->step[k].operands; i++)
      if (e->step[k].operand[i] == n) return 0;
  return e->step[n].op != ATTN_OP_GIVEN && name >= ATTN_STEP_OUTPUT && name <= ATTN_STEP_PROJECTED;
}

static void add_losses(struct backprop *b, int32_t steps, const attn_cell_address *cell) {
  int found = 0;
  for (int32_t n = steps - 1; n >= 0 && !b->status && !cell; n--)
    if (is_end(b->e, steps, n)) add_loss(b, n, NULL), found = 1;
  if (cell) add_loss(b, cell->step, cell);
  if (!cell && !found && !b->status)
    b->status = attn_fail(b->maker.err, ATTN_ERR_ARGUMENT, "loss",
                          "the example has no output to sum up: give a cell as the loss");
}

/* ---- A lesson with gradients ---- */

static attn_status differentiate(struct attn_maker *maker, attn_example *e,
                                 const attn_cell_address *cell) {
  const int32_t steps = e->steps;
  struct backprop b = {*maker, e, NULL, ATTN_OK};
  b.node = attn_pool_take(maker->pool, ((size_t)steps + 1) * sizeof *b.node);
  if (!b.node) return attn_no_memory(maker);
  for (int32_t n = 0; n < steps; n++) b.node[n].gradient = NONE;
  add_losses(&b, steps, cell);
  if (!b.status) count_uses(&b, steps);
  if (!b.status) run_back(&b, steps);
  return b.status;
}

/* The steps are copied, what they point to is shared. */
static attn_status copy_steps(struct attn_maker *m, const attn_example *from, attn_example *to) {
  *to = *from;
  to->step = NULL, to->steps = 0;
  for (int32_t n = 0; n < from->steps; n++) {
    if (attn_pool_grow(m->pool, (void **)&to->step, (size_t)n, sizeof *to->step))
      return attn_no_memory(m);
    to->step[to->steps++] = from->step[n];
  }
  return ATTN_OK;
}

static attn_status add_examples(struct attn_maker *m, const attn_lesson *from,
                                const attn_cell_address *cell, attn_lesson *to) {
  attn_status first = ATTN_OK;
  attn_error *err = m->err;
  int found = 0;
  for (int32_t n = 0; n < from->examples; n++) {
    attn_example e;
    attn_error own;
    attn_status status = copy_steps(m, &from->example[n], &e);
    if (status) return status;
    m->err = &own;
    if (!cell || cell->example == n) status = differentiate(m, &e, cell), found |= !status;
    m->err = err;
    if (status && (!first || status == ATTN_ERR_MEMORY)) {
      first = status;
      if (err) *err = own;
    }
    if (status == ATTN_ERR_MEMORY) return status;
    if (status && (status = copy_steps(m, &from->example[n], &e))) return status;
    if ((status = attn_add_example(m, to, &e))) return status;
  }
  return found ? ATTN_OK : first;
}

static int is_cell(const attn_lesson *lesson, const attn_cell_address *c) {
  if (c->example < 0 || c->example >= lesson->examples) return 0;
  const attn_example *e = &lesson->example[c->example];
  if (c->step < 0 || c->step >= e->steps) return 0;
  const attn_matrix *m = &e->step[c->step].exact;
  return c->row >= 0 && c->row < m->rows && c->col >= 0 && c->col < m->cols;
}

attn_status attn_lesson_gradients(const attn_lesson *lesson, const attn_cell_address *loss,
                                  attn_lesson **gradients, attn_error *err) {
  if (gradients) *gradients = NULL;
  if (!lesson || !gradients)
    return attn_fail(err, ATTN_ERR_ARGUMENT, lesson ? "gradients" : "lesson", "must not be NULL");
  if (loss && !is_cell(lesson, loss))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "loss", "loss is not a cell of the lesson");
  if (!lesson->examples)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "lesson",
                     "the document has no worked example with numbers");
  struct attn_pool *pool = attn_pool_new();
  struct attn_maker maker = {pool, err};
  struct attn_lesson_owner *owner = pool ? attn_pool_take(pool, sizeof *owner) : NULL;
  attn_status status = owner ? ATTN_OK : attn_no_memory(&maker);
  if (owner) {
    owner->lesson = *lesson, owner->memory = pool;
    owner->lesson.example = NULL, owner->lesson.examples = 0;
    status = add_examples(&maker, lesson, loss, &owner->lesson);
  }
  if (status)
    attn_pool_free(pool);
  else
    *gradients = &owner->lesson;
  return status;
}
