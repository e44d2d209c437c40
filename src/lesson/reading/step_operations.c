/* step_operations.c -- the operations of relations as steps, in the orientation of the page. */
#include <string.h>

#include "operations.h"
#include "step_builder.h"

int attn_is_turned(const struct attn_builder *b, int name) {
  if (b->reading->columns != ATTN_COLUMNS_SCORES) return b->reading->columns == ATTN_COLUMNS_ALL;
  return name == ATTN_STEP_MASK || (name >= ATTN_STEP_SCORES && name <= ATTN_STEP_WEIGHTS);
}

/* ---- One operation ---- */

static int same_step(const attn_step *x, const attn_step *y) {
  return x->op == y->op && x->axis == y->axis && x->scalar == y->scalar &&
         x->operands == y->operands && x->head == y->head &&
         memcmp(x->operand, y->operand, (size_t)x->operands * sizeof *x->operand) == 0;
}

/* Adds a computed step, or returns the equal one that no block shows. */
static int compute(struct attn_builder *b, attn_step like) {
  for (int n = 0; n < b->ex->steps; n++) {
    const attn_step *s = &b->ex->step[n];
    if (same_step(s, &like) && !s->printings) return n;
  }
  attn_step *step = attn_add_step(&b->maker, b->ex, like.name, like.head, like.op);
  if (!step) return b->status = ATTN_ERR_MEMORY, -1;
  step->axis = like.axis;
  step->scalar = like.scalar;
  step->scaled_by = like.scaled_by;
  step->base = like.base;
  step->operands = like.operands;
  memcpy(step->operand, like.operand, sizeof step->operand);
  step->exact = like.exact;
  b->status = attn_compute_step(&b->maker, b->ex, step);
  if (b->status) return b->ex->steps--, -1;
  return b->ex->steps - 1;
}

/* The step of an operand with its matrix turned as wanted: one more step where it is not. */
static int turned(struct attn_builder *b, struct attn_turned o, int want, int head) {
  if (o.turned == want || b->status) return o.step;
  attn_step t = {.name = ATTN_STEP_OTHER, .op = ATTN_OP_TRANSPOSE, .head = head, .axis = 1};
  t.operands = 1;
  t.operand[0] = o.step;
  return compute(b, t);
}

struct attn_turned attn_row_alone(struct attn_builder *b, const struct attn_node *node,
                                  struct attn_turned of, int head) {
  if (b->status || node->grid->rows > 1 || !node->relation || node->relation->row < 0) return of;
  const attn_matrix *all = &b->ex->step[of.step].exact;
  if ((of.turned ? all->cols : all->rows) == 1) return of;
  attn_step s = {.name = ATTN_STEP_OTHER, .op = ATTN_OP_COLUMNS, .head = head, .axis = 1};
  s.operands = 1, s.scalar = node->relation->row;
  s.exact = (attn_matrix){0, 1, NULL};
  s.operand[0] = turned(b, of, 1, head);
  return (struct attn_turned){b->status ? -1 : compute(b, s), 1};
}

/* a b of operands that may be turned, itself turned as wanted: (a b)^T = b^T a^T. */
static int product(struct attn_builder *b, attn_step s, struct attn_turned left,
                   struct attn_turned right, int want) {
  int tl = (s.op == ATTN_OP_MATMUL_TN) ^ left.turned,
      tr = (s.op == ATTN_OP_MATMUL_NT) ^ right.turned;
  if (want) {
    struct attn_turned swap = left;
    int t = !tl;
    left = right, right = swap;
    tl = !tr, tr = t;
  }
  if (tl && tr) { /* no operation of ours */
    left = (struct attn_turned){turned(b, (struct attn_turned){left.step, 0}, 1, s.head), 0};
    tl = 0;
  }
  s.op = tl ? ATTN_OP_MATMUL_TN : tr ? ATTN_OP_MATMUL_NT : ATTN_OP_MATMUL;
  s.operands = 2;
  s.operand[0] = left.step, s.operand[1] = right.step;
  return b->status ? -1 : compute(b, s);
}

/* Operations of one element, or along an axis. */
static int is_pointwise(int op) {
  return op == ATTN_OP_DIVIDE || op == ATTN_OP_EXP || op == ATTN_OP_MASK || op == ATTN_OP_SOFTMAX ||
         op == ATTN_OP_SUM || op == ATTN_OP_QUOTIENT || op == ATTN_OP_TANH || op == ATTN_OP_SHIFT ||
         op == ATTN_OP_ADD;
}

struct attn_turned attn_apply(struct attn_builder *b, const struct attn_use *use, int head,
                              int name, const struct attn_turned *in) {
  int want = attn_is_turned(b, name);
  if (use->op == ATTN_OP_TRANSPOSE && in[0].turned && !want)
    return (struct attn_turned){in[0].step, 0};
  attn_step s = {.name = name, .head = head, .op = use->op, .axis = use->axis};
  s.scalar = use->scalar, s.scaled_by = use->scaled_by, s.base = use->base;
  s.operands = use->operands;
  if (use->op == ATTN_OP_POSITIONS || use->op == ATTN_OP_COLUMNS) s.exact = use->constant;
  if (attn_is_product(use->op))
    return (struct attn_turned){product(b, s, in[0], in[1], want), want};
  int pointwise = is_pointwise(use->op), inner = pointwise ? want : 0;
  if (pointwise && want) s.axis = !s.axis;
  for (int n = 0; n < use->operands && !b->status; n++)
    s.operand[n] = turned(b, in[n], inner, head);
  if (b->status) return (struct attn_turned){-1, 0};
  int step = compute(b, s);
  if (inner == want || b->status) return (struct attn_turned){step, inner};
  s = (attn_step){.name = name, .head = head, .op = ATTN_OP_TRANSPOSE, .axis = 1, .operands = 1};
  s.operand[0] = step;
  return (struct attn_turned){compute(b, s), want};
}

/* ---- What is printed of a step ---- */

void attn_crop_printing(struct attn_builder *b, attn_printing *p, const attn_matrix *to) {
  int rows = p->rows < to->rows ? p->rows : to->rows,
      cols = p->cols < to->cols ? p->cols : to->cols;
  attn_cell *cells = attn_pool_take(b->maker.pool, (size_t)rows * (size_t)cols * sizeof *cells);
  if (!cells) b->status = attn_no_memory(&b->maker);
  for (int n = 0; cells && n < rows * cols; n++) cells[n] = p->cells[n / cols * p->cols + n % cols];
  if (cells) p->rows = rows, p->cols = cols, p->cells = cells;
}

const attn_printing *attn_upright(struct attn_builder *b, const attn_printing *from,
                                  int is_transposed) {
  if (!is_transposed) return from;
  attn_printing *p = attn_pool_take(b->maker.pool, sizeof *p);
  size_t cells = (size_t)from->rows * (size_t)from->cols;
  attn_cell *to = attn_pool_take(b->maker.pool, cells * sizeof *to);
  if (!p || !to) return b->status = attn_no_memory(&b->maker), NULL;
  *p = *from;
  p->rows = from->cols, p->cols = from->rows, p->cells = to;
  for (int i = 0; i < from->rows; i++)
    for (int j = 0; j < from->cols; j++) to[j * from->rows + i] = from->cells[i * from->cols + j];
  return p;
}
