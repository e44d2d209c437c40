/* steps_of_reading.c -- the placements of a reading become steps. */
#include <math.h>
#include <string.h>

#include "assemble.h"
#include "error.h"
#include "reading.h"

struct built {
  const struct attn_node *node;
  int step;
};

struct builder {
  struct attn_assembly memory; /* pool and err for steps.c */
  struct attn_scan *scan;
  struct attn_relations *relations;
  const struct attn_reading *reading;
  const struct attn_priors *priors;
  attn_lesson *lesson;
  attn_example *ex; /* that is being built */
  struct built *built;
  int count;
  attn_status status;
};

/* A step as an operand: turned if its matrix is the transpose of what a relation computes with. */
struct operand {
  int step, turned;
};

static const int STEP_OF_ROLE[ATTN_ROLES] = {
    [ATTN_ROLE_X] = ATTN_STEP_X,
    [ATTN_ROLE_Y] = ATTN_STEP_Y,
    [ATTN_ROLE_POSITION_TABLE] = ATTN_STEP_POSITIONS,
    [ATTN_ROLE_POSITIONED] = ATTN_STEP_POSITIONS,
    [ATTN_ROLE_W_Q] = ATTN_STEP_W_Q,
    [ATTN_ROLE_W_K] = ATTN_STEP_W_K,
    [ATTN_ROLE_W_V] = ATTN_STEP_W_V,
    [ATTN_ROLE_W_O] = ATTN_STEP_W_O,
    [ATTN_ROLE_W_A] = ATTN_STEP_W_A,
    [ATTN_ROLE_U_A] = ATTN_STEP_U_A,
    [ATTN_ROLE_V_A] = ATTN_STEP_V_A,
    [ATTN_ROLE_Q] = ATTN_STEP_Q,
    [ATTN_ROLE_K] = ATTN_STEP_K,
    [ATTN_ROLE_V] = ATTN_STEP_V,
    [ATTN_ROLE_W_A_Q] = ATTN_STEP_OTHER,
    [ATTN_ROLE_U_A_K] = ATTN_STEP_OTHER,
    [ATTN_ROLE_TANH] = ATTN_STEP_OTHER,
    [ATTN_ROLE_SCORES] = ATTN_STEP_SCORES,
    [ATTN_ROLE_SCALED] = ATTN_STEP_SCALED,
    [ATTN_ROLE_MASKED] = ATTN_STEP_MASKED,
    [ATTN_ROLE_EXPONENTIALS] = ATTN_STEP_EXPONENTIALS,
    [ATTN_ROLE_ROW_SUM] = ATTN_STEP_ROW_SUM,
    [ATTN_ROLE_WEIGHTS] = ATTN_STEP_WEIGHTS,
    [ATTN_ROLE_OUTPUT] = ATTN_STEP_OUTPUT,
    [ATTN_ROLE_CONCAT] = ATTN_STEP_CONCAT,
    [ATTN_ROLE_PROJECTED] = ATTN_STEP_PROJECTED,
};

static int step_of_node(const struct builder *b, const struct attn_node *node) {
  if (node->shadow_of) node = node->shadow_of;
  for (int n = b->count - 1; n >= 0; n--)
    if (b->built[n].node == node) return b->built[n].step;
  return -1;
}

static void remember(struct builder *b, const struct attn_node *node, int step) {
  if (attn_pool_grow(b->memory.pool, (void **)&b->built, (size_t)b->count, sizeof *b->built))
    b->status = attn_no_memory(&b->memory);
  else
    b->built[b->count++] = (struct built){node, step};
}

/* Is a step of this name on the page as the transpose of what relations compute with? */
static int is_turned(const struct builder *b, int name) {
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
static int compute(struct builder *b, attn_step like, int shown) {
  for (int n = 0; !shown && n < b->ex->steps; n++)
    if (!b->ex->step[n].printings && same_step(&b->ex->step[n], &like)) return n;
  attn_step *step = attn_add_step(&b->memory, b->ex, like.name, like.head, like.op);
  if (!step) return b->status = ATTN_ERR_MEMORY, -1;
  step->axis = like.axis;
  step->scalar = like.scalar;
  step->scaled_by = like.scaled_by;
  step->operands = like.operands;
  memcpy(step->operand, like.operand, sizeof step->operand);
  b->status = attn_compute_step(&b->memory, b->ex, step);
  if (b->status) return b->ex->steps--, -1;
  return b->ex->steps - 1;
}

/* The step of an operand with its matrix turned as wanted: one more step where it is not. */
static int turned(struct builder *b, struct operand o, int want, int head) {
  if (o.turned == want || b->status) return o.step;
  attn_step t = {.name = ATTN_STEP_OTHER, .op = ATTN_OP_TRANSPOSE, .head = head, .axis = 1};
  t.operands = 1;
  t.operand[0] = o.step;
  return compute(b, t, 0);
}

static int is_product(int op) {
  return op == ATTN_OP_MATMUL || op == ATTN_OP_MATMUL_NT || op == ATTN_OP_MATMUL_TN;
}

/* a b of operands that may be turned, itself turned as wanted: (a b)^T = b^T a^T. */
static int product(struct builder *b, attn_step s, struct operand left, struct operand right,
                   int want, int shown) {
  int tl = (s.op == ATTN_OP_MATMUL_TN) ^ left.turned,
      tr = (s.op == ATTN_OP_MATMUL_NT) ^ right.turned;
  if (want) {
    struct operand swap = left;
    int t = !tl;
    left = right, right = swap;
    tl = !tr, tr = t;
  }
  if (tl && tr) { /* no operation of ours */
    left = (struct operand){turned(b, (struct operand){left.step, 0}, 1, s.head), 0};
    tl = 0;
  }
  s.op = tl ? ATTN_OP_MATMUL_TN : tr ? ATTN_OP_MATMUL_NT : ATTN_OP_MATMUL;
  s.operands = 2;
  s.operand[0] = left.step, s.operand[1] = right.step;
  return b->status ? -1 : compute(b, s, shown);
}

/* Operations of one element, or along an axis. */
static int is_pointwise(int op) {
  return op == ATTN_OP_DIVIDE || op == ATTN_OP_EXP || op == ATTN_OP_MASK || op == ATTN_OP_SOFTMAX ||
         op == ATTN_OP_SUM || op == ATTN_OP_QUOTIENT || op == ATTN_OP_TANH || op == ATTN_OP_SHIFT ||
         op == ATTN_OP_ADD;
}

static struct operand apply(struct builder *b, const struct attn_use *use, int head, int name,
                            const struct operand *in, int shown) {
  int want = is_turned(b, name);
  attn_step s = {.name = name, .head = head, .op = use->op, .axis = use->axis};
  s.scalar = use->scalar, s.scaled_by = use->scaled_by, s.operands = use->operands;
  if (is_product(use->op)) return (struct operand){product(b, s, in[0], in[1], want, shown), want};
  int pointwise = is_pointwise(use->op), inner = pointwise ? want : 0;
  if (pointwise && want) s.axis = !s.axis;
  for (int n = 0; n < use->operands && !b->status; n++)
    s.operand[n] = turned(b, in[n], inner, head);
  if (b->status) return (struct operand){-1, 0};
  int step = compute(b, s, shown && inner == want);
  if (inner == want || b->status) return (struct operand){step, inner};
  s = (attn_step){.name = name, .head = head, .op = ATTN_OP_TRANSPOSE, .axis = 1, .operands = 1};
  s.operand[0] = step;
  return (struct operand){compute(b, s, shown), want};
}

/* ---- Givens ---- */

static int add_given(struct builder *b, int name, int head, const attn_printing *p) {
  attn_step *step = attn_add_step(&b->memory, b->ex, name, head, ATTN_OP_GIVEN);
  if (!step) return b->status = ATTN_ERR_MEMORY, -1;
  b->status = attn_add_printing(&b->memory, step, p);
  if (!b->status) b->status = attn_given_from(&b->memory, step);
  return b->status ? -1 : b->ex->steps - 1;
}

/* The mask of one query among rows that see everything. */
static attn_matrix mask_of_row(struct builder *b, const attn_matrix *mask, int row, int rows) {
  attn_matrix m = attn_matrix_new(b->memory.pool, rows, mask->cols);
  if (!m.at) b->status = attn_no_memory(&b->memory);
  for (int n = 0; m.at && n < rows * m.cols; n++)
    m.at[n] = n / m.cols == row ? mask->at[n % m.cols] : 1;
  return m;
}

/* A mask, or rounded operands: shown at the line of the block that they explain. */
static int add_constant(struct builder *b, const struct attn_use *use, int head, int line, int row,
                        int rows) {
  attn_matrix expanded = use->constant;
  if (row >= 0 && expanded.rows == 1 && rows > 1 && use->name == ATTN_STEP_MASK)
    expanded = mask_of_row(b, &use->constant, row, rows);
  const attn_matrix *m = &expanded;
  if (b->status) return -1;
  int columns = is_turned(b, use->name);
  attn_printing p = {.rows = columns ? m->cols : m->rows, .cols = columns ? m->rows : m->cols};
  p.line = line, p.column = 1;
  p.cells = attn_pool_take(b->memory.pool, (size_t)p.rows * (size_t)p.cols * sizeof *p.cells);
  if (!p.cells) return b->status = attn_no_memory(&b->memory), -1;
  for (int i = 0; i < p.rows; i++)
    for (int j = 0; j < p.cols; j++) {
      double v = columns ? m->at[j * m->cols + i] : m->at[i * m->cols + j];
      p.cells[i * p.cols + j] = (attn_cell){ATTN_CELL_EXACT, -1, v, v, v, line, 1};
    }
  return add_given(b, use->name, head, &p);
}

/* ---- A relation ---- */

static struct operand operand_of(struct builder *b, const struct attn_relation *r, int ref,
                                 const struct operand *result) {
  if (ref < 0) return result[-1 - ref];
  const struct attn_node *node = r->operand[ref];
  int step = step_of_node(b, node);
  if (step < 0) b->status = ATTN_ERR_SHAPE; /* of another example */
  return (struct operand){step, node->grid->transposed};
}

/* How many queries the step has that a relation begins with. */
static int queries_of(const struct builder *b, const struct attn_relation *r) {
  int step = r->operands ? step_of_node(b, r->operand[0]) : -1;
  if (step < 0) return 0;
  const attn_step *s = &b->ex->step[step];
  return is_turned(b, s->name) ? s->exact.cols : s->exact.rows;
}

/* The steps of a relation; the last one is the block's. -1: not possible. */
static int add_relation(struct builder *b, const struct attn_relation *r, int name, int head,
                        const struct attn_placement *p) {
  struct operand result[ATTN_USES_MAX];
  int row = b->reading->example[p->example]->head[p->head].row;
  int line = b->scan->block[p->block].line;
  for (int n = 0; n < r->uses && !b->status; n++) {
    const struct attn_use *use = &r->use[n];
    struct operand in[ATTN_HEADS_MAX];
    int last = n == r->uses - 1;
    for (int k = 0; k < use->operands && !b->status; k++)
      in[k] = operand_of(b, r, use->operand[k], result);
    if (b->status) return -1;
    result[n] = use->op == ATTN_OP_GIVEN
                    ? (struct operand){add_constant(b, use, head, line, row, queries_of(b, r)),
                                       is_turned(b, use->name)}
                    : apply(b, use, head, last ? name : use->name, in, last);
  }
  return b->status ? -1 : result[r->uses - 1].step;
}

/* ---- A block ---- */

static const attn_printing *printing_of(const struct builder *b, const struct attn_node *node) {
  return &b->scan->block[node->grid->block].reading[node->grid->reading];
}

/* The name that the document gives a step, where it is a symbol: "W^Q" of "W^Q =". */
static void set_symbol(struct builder *b, const struct attn_block *block, attn_step *step) {
  static const char SYMBOL[] =
      "(*UCP)^[\\s*#|>-]*((?:[A-Za-zα-ωΑ-Ω]{1,3}|[a-z]+_[a-z]+)(?:[_^'~]*\\(?[A-Za-z0-9]{0,3}\\)?)*"
      ")\\s*(?:[:=]|$)";
  struct attn_match m;
  if (!attn_match_at(b->scan->patterns, SYMBOL, block->name, strlen(block->name), 0, &m)) return;
  size_t size = m.group[1].end - m.group[1].begin;
  char *symbol = attn_pool_text(b->memory.pool, block->name + m.group[1].begin, size);
  if (!symbol) b->status = attn_no_memory(&b->memory);
  if (symbol && size) step->symbol = symbol;
}

/* A head that shows one query has one row of each step, where the step itself has all. */
static void show(struct builder *b, int step, const attn_printing *from, int row) {
  attn_printing p = *from;
  attn_step *s = &b->ex->step[step];
  int columns = is_turned(b, s->name);
  int alone = columns ? p.cols == 1 && s->exact.cols > 1 : p.rows == 1 && s->exact.rows > 1;
  if (row >= 0 && alone && columns)
    p.col0 = row;
  else if (row >= 0 && alone)
    p.row0 = row;
  b->status = attn_add_printing(&b->memory, s, &p);
}

static int head_of(const struct builder *b, const struct attn_placement *p) {
  const struct attn_state *s = b->reading->example[p->example];
  return s->heads > 1 && !attn_role_is_shared(p->role) ? p->head : -1;
}

/* A slip that is accused becomes the right relation, so that its cells are judged wrong. */
static const struct attn_relation *judged_relation(struct builder *b,
                                                   const struct attn_placement *p, int *cause) {
  const struct attn_roles *head = &b->reading->example[p->example]->head[p->head];
  enum attn_accusation a = attn_accuse(b->scan, b->priors, head, p, cause);
  if (a == ATTN_UNCERTAIN) b->ex->uncertain = 1;
  if (a != ATTN_ACCUSED) *cause = ATTN_CAUSE_NONE;
  if (a != ATTN_ACCUSED) return p->relation;
  const struct attn_relation *right =
      attn_right_relation(b->scan, b->relations, b->reading, p, *cause);
  if (right == p->relation) b->ex->uncertain = 1; /* nothing to judge it by */
  return right;
}

/* Its place is known too little to call a number wrong. */
static int is_guess(const struct builder *b, const struct attn_placement *p) {
  return p->node->share < 0.4 && b->priors[p->block].bits[p->role] < 6;
}

/* A bias, dropout, a residual: what is not followed, and what is computed from it. */
static void note_unfollowed(struct builder *b, const struct attn_placement *p) {
  static const char UNFOLLOWED[] =
      "(*UCP)(?i)dropout|residual|skip connection|layer "
      "?norm|\\bLN\\(|renormal|\\bbias|relu\\(|gelu\\(|rotary|"
      "\\bRoPE\\b|temperature|残差|バイアス|ドロップアウト|温度|\\+ ?b_|\\+ b\\b";
  const struct attn_block *block = &b->scan->block[p->block];
  const char *nearest = block->captions ? block->caption[block->captions - 1] : "";
  int name = STEP_OF_ROLE[p->role];
  if (p->node->share == 1 || (!attn_occurs(b->scan->patterns, UNFOLLOWED, block->name) &&
                              !attn_occurs(b->scan->patterns, UNFOLLOWED, nearest)))
    return;
  if (!b->ex->unfollowed || name < b->ex->unfollowed) b->ex->unfollowed = name;
}

static void add_computed(struct builder *b, const struct attn_placement *p) {
  const struct attn_block *block = &b->scan->block[p->block];
  int cause, before = b->ex->steps;
  const struct attn_relation *r = judged_relation(b, p, &cause);
  if (!r) b->status = attn_no_memory(&b->memory);
  if (!r) return;
  int step = add_relation(b, r, STEP_OF_ROLE[p->role], head_of(b, p), p);
  if (b->status == ATTN_ERR_SHAPE) { /* not an operation of a lesson: given */
    b->status = ATTN_OK;
    b->ex->steps = before;
    step = add_given(b, STEP_OF_ROLE[p->role], head_of(b, p), printing_of(b, p->node));
  } else if (step >= 0) {
    int row = b->reading->example[p->example]->head[p->head].row;
    show(b, step, printing_of(b, p->node), r->row >= 0 ? r->row : row);
  }
  if (step < 0 || b->status) return;
  attn_step *s = &b->ex->step[step];
  s->suspected = cause;
  s->uncertain = is_guess(b, p);
  note_unfollowed(b, p);
  set_symbol(b, block, s);
  remember(b, p->node, step);
}

static int same_cells(const attn_printing *x, const attn_printing *y) {
  for (int n = 0; n < x->rows * x->cols; n++)
    if (attn_cells_contradict(&x->cells[n], &y->cells[n])) return 0;
  return 1;
}

/* A given once more, by its own name and with other numbers, is a mistake of the document. */
static void add_given_again(struct builder *b, const struct attn_placement *p, int step,
                            const attn_printing *again) {
  const attn_step *s = &b->ex->step[step];
  const struct attn_block *block = &b->scan->block[p->block];
  if (same_cells(again, &s->printing[0]))
    show(b, step, again, -1);
  else if (*block->name && b->priors[p->block].bits[p->role] >= 8)
    b->status = attn_fail_at(b->memory.err, ATTN_ERR_FORMAT, again->line, again->column,
                             "%s is given twice within one example with different values, here and "
                             "at line %d; correct one, or begin a new example with a heading",
                             s->symbol, (int)s->printing[0].line);
}

/* Scores once more that are called scaled or masked: nothing was done to them. */
static int is_called_otherwise(const struct builder *b, const struct attn_placement *p) {
  const double *bits = b->priors[p->block].bits;
  return p->role == ATTN_ROLE_SCORES && (bits[ATTN_ROLE_SCALED] > 5 || bits[ATTN_ROLE_MASKED] > 5);
}

/* The numbers of a step once more: the step of that role whose shape they have. */
static void add_copy(struct builder *b, const struct attn_placement *p) {
  const attn_printing *from = printing_of(b, p->node);
  b->ex->uncertain |= is_called_otherwise(b, p);
  for (int n = b->ex->steps - 1; n >= 0; n--) {
    attn_step *s = &b->ex->step[n];
    if (s->name != STEP_OF_ROLE[p->role] || !s->printings) continue;
    if (s->exact.rows != from->rows || s->exact.cols != from->cols) continue;
    if (s->op == ATTN_OP_GIVEN)
      add_given_again(b, p, n, from);
    else
      show(b, n, from, -1);
    return;
  }
}

static void add_block(struct builder *b, const struct attn_placement *p) {
  if (p->role == ATTN_ROLE_OTHER || !p->node) return;
  if (p->is_copy) {
    add_copy(b, p);
  } else if (p->relation) {
    add_computed(b, p);
  } else {
    int step = add_given(b, STEP_OF_ROLE[p->role], head_of(b, p), printing_of(b, p->node));
    if (step < 0) return;
    set_symbol(b, &b->scan->block[p->block], &b->ex->step[step]);
    remember(b, p->node, step);
  }
}

/* ---- Examples ---- */

static int is_computed(const attn_example *ex) {
  for (int i = 0; i < ex->steps; i++)
    if (ex->step[i].op != ATTN_OP_GIVEN) return 1;
  return 0;
}

/* Labels of the rows of X, K or V name the tokens. */
static void name_tokens(struct builder *b, const struct attn_placement *p) {
  const struct attn_block *block = &b->scan->block[p->block];
  int query = p->role == ATTN_ROLE_Y || p->role == ATTN_ROLE_Q;
  int key = p->role == ATTN_ROLE_X || p->role == ATTN_ROLE_K || p->role == ATTN_ROLE_V;
  int columns = b->reading->columns == ATTN_COLUMNS_ALL,
      count = columns ? block->column_labels : block->labels;
  char **label = columns ? block->column_label : block->label;
  if ((!query && !key) || !p->node || count != p->node->grid->rows) return;
  for (int n = 0; n < count; n++)
    if (!label[n] || !*label[n] || attn_label_is_indexed(label[n])) return;
  attn_example *ex = b->ex;
  if (key && !ex->key_tokens) ex->key_tokens = count, ex->key_token = label;
  if ((query || p->role == ATTN_ROLE_X) && !ex->query_tokens)
    ex->query_tokens = count, ex->query_token = label;
}

/* Scores that are K Q^T, which is not stated and not confirmed by later steps. */
static int is_turned_silently(const struct builder *b, const attn_example *ex) {
  static const char TURNED[] = "(*UCP)(?i)\\bK\\w{0,3}\\s*[·@*.×]?\\s*Q|columns?|列";
  int turned = 0;
  for (int n = 0; n < ex->steps; n++) {
    if (ex->step[n].name > ATTN_STEP_SCORES && ex->step[n].printings) return 0;
    turned |= ex->step[n].name == ATTN_STEP_SCORES && ex->step[n].op != ATTN_OP_GIVEN;
  }
  return turned && b->reading->columns == ATTN_COLUMNS_SCORES &&
         !attn_occurs(b->scan->patterns, TURNED, b->scan->text);
}

/* A heading without its marks. */
static char *title_of(char *heading) { return heading + strspn(heading, " #=*"); }

static attn_status build_example(struct builder *b, int index) {
  attn_example ex = {.heads = b->reading->example[index]->heads, .title = ""};
  ex.orientation = b->reading->columns ? ATTN_QUERIES_IN_COLUMNS : ATTN_QUERIES_IN_ROWS;
  ex.one_based = 1;
  b->ex = &ex;
  b->count = 0;
  for (int n = 0; n < b->reading->placements && !b->status; n++) {
    const struct attn_placement *p = b->reading->placement[n];
    if (p->example != index) continue;
    if (!ex.line) ex.line = b->scan->block[p->block].line;
    if (!*ex.title) ex.title = title_of(b->scan->block[p->block].heading);
    add_block(b, p);
    name_tokens(b, p);
  }
  if (b->status || !is_computed(&ex)) return b->status;
  ex.uncertain |= is_turned_silently(b, &ex);
  if (attn_pool_grow(b->memory.pool, (void **)&b->lesson->example, (size_t)b->lesson->examples,
                     sizeof *b->lesson->example))
    return attn_no_memory(&b->memory);
  b->lesson->example[b->lesson->examples++] = ex;
  return ATTN_OK;
}

attn_status attn_build_lesson(struct attn_scan *scan, struct attn_relations *r,
                              const struct attn_reading *reading, const struct attn_priors *priors,
                              struct attn_pool *pool, attn_lesson *lesson, attn_error *err) {
  struct builder b = {.memory = {.pool = pool, .err = err},
                      .scan = scan,
                      .relations = r,
                      .reading = reading,
                      .priors = priors,
                      .lesson = lesson};
  attn_status status = ATTN_OK;
  for (int n = 0; n < reading->examples && !status; n++) status = build_example(&b, n);
  return status;
}
