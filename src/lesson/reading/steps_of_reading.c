/* steps_of_reading.c -- the placements of a reading become steps. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account.h"
#include "error.h"
#include "blocks.h"
#include "step_builder.h"

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
    [ATTN_ROLE_TANH_INPUT] = ATTN_STEP_OTHER,
    [ATTN_ROLE_TANH] = ATTN_STEP_OTHER,
    [ATTN_ROLE_SCORES] = ATTN_STEP_SCORES,
    [ATTN_ROLE_SCALED] = ATTN_STEP_SCALED,
    [ATTN_ROLE_MASKED] = ATTN_STEP_MASKED,
    [ATTN_ROLE_SHIFTED] = ATTN_STEP_OTHER,
    [ATTN_ROLE_EXPONENTIALS] = ATTN_STEP_EXPONENTIALS,
    [ATTN_ROLE_ROW_SUM] = ATTN_STEP_ROW_SUM,
    [ATTN_ROLE_WEIGHTS] = ATTN_STEP_WEIGHTS,
    [ATTN_ROLE_OUTPUT] = ATTN_STEP_OUTPUT,
    [ATTN_ROLE_CONCAT] = ATTN_STEP_CONCAT,
    [ATTN_ROLE_PROJECTED] = ATTN_STEP_PROJECTED,
};

int attn_step_of_role(int role) {
  return role >= 0 && role < ATTN_ROLES ? STEP_OF_ROLE[role] : ATTN_STEP_OTHER;
}

/* NULL: it has none. */
static const struct attn_built *find_built(const struct attn_builder *b,
                                           const struct attn_node *node) {
  if (node->shadow_of) node = node->shadow_of;
  for (int n = b->count - 1; n >= 0; n--)
    if (b->built[n].node == node) return &b->built[n];
  return NULL;
}

static int step_of_node(const struct attn_builder *b, const struct attn_node *node) {
  const struct attn_built *built = find_built(b, node);
  return built ? built->step : -1;
}

static void remember(struct attn_builder *b, const struct attn_node *node, int step, int turned) {
  if (attn_pool_grow(b->maker.pool, (void **)&b->built, (size_t)b->count, sizeof *b->built))
    b->status = attn_no_memory(&b->maker);
  else
    b->built[b->count++] = (struct attn_built){node, step, turned};
}

/* ---- Givens ---- */

static int add_given(struct attn_builder *b, int name, int head, const attn_printing *p) {
  attn_step *step = attn_add_step(&b->maker, b->ex, name, head, ATTN_OP_GIVEN);
  if (!step) return b->status = ATTN_ERR_MEMORY, -1;
  b->status = attn_add_printing(&b->maker, step, p);
  if (!b->status) b->status = attn_given_from(&b->maker, step);
  return b->status ? -1 : b->ex->steps - 1;
}

/* A mask, or rounded operands: shown at the line of the block that they explain. */
static int add_constant(struct attn_builder *b, const struct attn_use *use, int head, int line) {
  const attn_matrix *m = &use->constant;
  int columns = attn_is_turned(b, use->name);
  attn_printing p = {.rows = columns ? m->cols : m->rows, .cols = columns ? m->rows : m->cols};
  p.line = line, p.column = 1;
  p.cells = attn_pool_take(b->maker.pool, (size_t)p.rows * (size_t)p.cols * sizeof *p.cells);
  if (!p.cells) return b->status = attn_no_memory(&b->maker), -1;
  for (int i = 0; i < p.rows; i++)
    for (int j = 0; j < p.cols; j++) {
      double v = columns ? m->at[j * m->cols + i] : m->at[i * m->cols + j];
      p.cells[i * p.cols + j] = (attn_cell){ATTN_CELL_EXACT, -1, v, v, v, line, 1};
    }
  return add_given(b, use->name, head, &p);
}

/* ---- Heads that are projected together ---- */

/* The columns of one head as a step. */
static void add_columns(struct attn_builder *b, const struct attn_node *node, int head) {
  struct attn_turned of = {step_of_node(b, node->columns_of), node->grid->transposed};
  if (of.step < 0 || step_of_node(b, node) >= 0) return;
  int name = b->ex->step[of.step].name;
  struct attn_use use = {.name = (uint8_t)name,
                         .op = ATTN_OP_COLUMNS,
                         .axis = 1,
                         .operands = 1,
                         .scalar = node->first_column,
                         .constant = {0, node->grid->cols, NULL}};
  int step = attn_apply(b, &use, head, name, &of).step;
  if (!b->status) remember(b, node, step, 0);
}

/* Of all heads whose projections are steps by now. */
static void add_heads(struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_state *s = b->reading->example[p->example];
  for (int h = 0; h < s->heads; h++)
    for (int role = ATTN_ROLE_W_Q; role <= ATTN_ROLE_V && !b->status; role++)
      if (s->head[h].at[role] && s->head[h].at[role]->columns_of)
        add_columns(b, s->head[h].at[role], h);
}

/* ---- A relation ---- */

static struct attn_turned operand_of(struct attn_builder *b, const struct attn_relation *r, int ref,
                                     const struct attn_turned *result) {
  if (ref < 0) return result[-1 - ref];
  const struct attn_node *node = r->operand[ref];
  const struct attn_built *built = find_built(b, node);
  int step = built ? built->step : -1;
  if (step < 0) b->status = ATTN_ERR_SHAPE; /* of another example */
  int turned = node->columns_of && step >= 0 ? attn_is_turned(b, b->ex->step[step].name)
                                             : node->grid->transposed;
  return (struct attn_turned){step, turned ^ (built && built->turned)};
}

/* A row that is added to others is taken alone: products, and what follows from them, have a row
 * for each query. */
static void operands_of(struct attn_builder *b, const struct attn_relation *r,
                        const struct attn_use *use, int head, const struct attn_turned *result,
                        struct attn_turned *in) {
  for (int k = 0; k < use->operands && !b->status; k++) {
    int ref = use->operand[k];
    in[k] = operand_of(b, r, ref, result);
    if (use->op == ATTN_OP_ADD && ref >= 0) in[k] = attn_row_alone(b, r->operand[ref], in[k], head);
  }
}

/* A mask where a table states it, or any other constant. */
static int add_stated(struct attn_builder *b, const struct attn_relation *r,
                      const struct attn_use *use, int head, int line) {
  const struct attn_grid *t = use->name == ATTN_STEP_MASK ? r->table : NULL;
  if (t) return add_given(b, use->name, head, &b->scan->block[t->block].reading[t->reading]);
  return add_constant(b, use, head, line);
}

/* The steps of a relation; the last one is the block's. -1: not possible. */
static int add_relation(struct attn_builder *b, const struct attn_relation *r, int name, int head,
                        const struct attn_placement *p) {
  struct attn_turned result[ATTN_USES_MAX];
  int line = b->scan->block[p->block].line;
  for (int n = 0; n < r->uses && !b->status; n++) {
    const struct attn_use *use = &r->use[n];
    struct attn_turned in[ATTN_HEADS_MAX];
    int last = n == r->uses - 1;
    operands_of(b, r, use, head, result, in);
    if (b->status) return -1;
    result[n] = use->op == ATTN_OP_GIVEN ? (struct attn_turned){add_stated(b, r, use, head, line),
                                                                attn_is_turned(b, use->name)}
                                         : attn_apply(b, use, head, last ? name : use->name, in);
  }
  return b->status ? -1 : result[r->uses - 1].step;
}

/* ---- A block ---- */

static const attn_printing *printing_of(const struct attn_builder *b,
                                        const struct attn_node *node) {
  return &b->scan->block[node->grid->block].reading[node->grid->reading];
}

static void call(struct attn_builder *b, attn_step *step, const char *name, size_t bytes) {
  char *symbol = attn_pool_text(b->maker.pool, name, bytes);
  if (!symbol) b->status = attn_no_memory(&b->maker);
  if (symbol) step->symbol = symbol;
}

/* The name that the document gives a step, where it is a symbol: "W^Q" of "W^Q =". */
static void set_symbol(struct attn_builder *b, const struct attn_block *block, attn_step *step) {
  static const char SYMBOL[] =
      "(*UCP)^[\\s*#|>-]*((?:[A-Za-zα-ωΑ-Ω]{1,3}|[a-z]+_[a-z]+)(?:[_^'~]*\\(?[A-Za-z0-9]{0,3}\\)?)*"
      ")\\s*(?:[:=]|$)";
  struct attn_match m;
  if (!attn_match_at(b->scan->patterns, SYMBOL, block->name, strlen(block->name), 0, &m)) return;
  size_t size = m.group[1].end - m.group[1].begin;
  if (size) call(b, step, block->name + m.group[1].begin, size);
}

/* Where it does not: what has no name among the steps is called by its role. */
static void set_usual_symbol(struct attn_builder *b, int role, attn_step *step) {
  static const char *const SYMBOLS[ATTN_ROLES] = {[ATTN_ROLE_W_A_Q] = "W·q",
                                                  [ATTN_ROLE_U_A_K] = "U·k",
                                                  [ATTN_ROLE_TANH_INPUT] = "W·q + U·k",
                                                  [ATTN_ROLE_TANH] = "tanh",
                                                  [ATTN_ROLE_SHIFTED] = "shifted"};
  if (SYMBOLS[role]) call(b, step, SYMBOLS[role], strlen(SYMBOLS[role]));
}

/* A head that shows one query has one row of each step, where the step itself has all. */
static void show(struct attn_builder *b, int step, const attn_printing *from, int row) {
  attn_printing p = *from;
  attn_step *s = &b->ex->step[step];
  int columns = attn_is_turned(b, s->name);
  if (s->exact.at && (p.rows > s->exact.rows || p.cols > s->exact.cols))
    attn_crop_printing(b, &p, &s->exact);
  if (b->status) return;
  int alone = columns ? p.cols == 1 && s->exact.cols > 1 : p.rows == 1 && s->exact.rows > 1;
  if (row >= 0 && alone && columns)
    p.col0 = row;
  else if (row >= 0 && alone)
    p.row0 = row;
  b->status = attn_add_printing(&b->maker, s, &p);
}

static int head_of(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_state *s = b->reading->example[p->example];
  return s->heads > 1 && !attn_role_is_shared(p->role) ? p->head : -1;
}

/* A slip that is accused becomes the right relation, so that its cells are judged wrong. */
static const struct attn_relation *judged_relation(struct attn_builder *b,
                                                   const struct attn_placement *p, int *cause) {
  enum attn_accusation a = attn_accuse(b->scan, b->priors, b->reading, p, cause);
  if (a == ATTN_ACCUSED && attn_follows_from_guess(b, p->relation)) a = ATTN_UNCERTAIN;
  if (a == ATTN_UNCERTAIN) b->ex->uncertain = 1;
  if (a != ATTN_ACCUSED) *cause = ATTN_CAUSE_NONE;
  if (a != ATTN_ACCUSED) return p->relation;
  const struct attn_relation *right =
      attn_right_relation(b->scan, b->relations, b->reading, p, *cause);
  if (right == p->relation) b->ex->uncertain = 1; /* nothing to judge it by */
  return right;
}

/* A bias, dropout, a residual: what is not followed, and what is computed from it. */
static void note_unfollowed(struct attn_builder *b, const struct attn_placement *p) {
  static const char UNFOLLOWED[] =
      "(*UCP)(?i)dropout|residual|skip connection|layer "
      "?norm|\\bLN\\(|renormal|\\bbias|relu\\(|gelu\\(|rotary|"
      "\\bRoPE\\b|temperature|残差|バイアス|ドロップアウト|温度|\\+ ?b_|\\+ b\\b";
  const struct attn_block *block = &b->scan->block[p->block];
  int name = STEP_OF_ROLE[p->role];
  if (p->node->share == 1 || !attn_is_introduced(b, block, UNFOLLOWED)) return;
  if (!b->ex->unfollowed || name < b->ex->unfollowed) b->ex->unfollowed = name;
}

static const double MOST = 0.5; /* of the numbers: a slip that explains fewer is not their cause */

/* Sums of rows in a line: a column of sums, printed as a row. */
static int is_line_of_sums(const struct attn_builder *b, const struct attn_relation *r) {
  return r->role == ATTN_ROLE_ROW_SUM && r->uses > 1 && !attn_is_turned(b, ATTN_STEP_ROW_SUM) &&
         r->use[r->uses - 1].op == ATTN_OP_TRANSPOSE;
}

static void add_computed(struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_block *block = &b->scan->block[p->block];
  int cause, before = b->ex->steps;
  const struct attn_relation *r = judged_relation(b, p, &cause);
  if (!r) b->status = attn_no_memory(&b->maker);
  if (!r) return;
  const int is_line = is_line_of_sums(b, r);
  struct attn_relation upright = *r;
  upright.uses -= is_line;
  r = &upright;
  const attn_printing *printing = attn_upright(b, printing_of(b, p->node), is_line);
  if (!printing) return;
  int step = add_relation(b, r, STEP_OF_ROLE[p->role], head_of(b, p), p);
  if (b->status == ATTN_ERR_SHAPE) { /* not an operation of a lesson: given */
    b->status = ATTN_OK;
    b->ex->steps = before;
    step = add_given(b, STEP_OF_ROLE[p->role], head_of(b, p), printing);
  } else if (step >= 0) {
    show(b, step, printing, r->row >= 0 ? r->row : attn_roles_of(b->reading, p)->row);
  }
  if (step < 0 || b->status) return;
  attn_step *s = &b->ex->step[step];
  int is_new = s->printings == 1, guess = attn_is_guess(b, p);
  if (p->node->share >= MOST && cause) s->suspected = cause;
  int is_moved = attn_is_in_other_order(b, p);
  s->uncertain = (guess && (is_new || s->uncertain)) || b->reading->exhausted || is_moved;
  b->ex->uncertain |= is_moved || attn_is_contradicted(b, p) || attn_shifts_by_other(b, block, s);
  note_unfollowed(b, p);
  set_usual_symbol(b, p->role, s);
  set_symbol(b, block, s);
  remember(b, p->node, step, is_line);
}

/* The first number that another printing contradicts; -1: none. Givens with as many decimals are
 * not roundings of each other. */
static int contradicted(const attn_printing *x, const attn_printing *y) {
  for (int n = 0; n < x->rows * x->cols; n++) {
    const attn_cell *a = &x->cells[n], *b = &y->cells[n];
    int is_literal = a->kind == ATTN_CELL_NUMBER && b->kind == ATTN_CELL_NUMBER;
    if (is_literal && a->decimals == b->decimals && a->value != b->value) return n;
    if (attn_cells_contradict(a, b)) return n;
  }
  return -1;
}

/* With a point, whatever the locale of the process writes. */
static const char *short_text(double value, char text[32]) {
  snprintf(text, 32, "%g", value);
  char *comma = strchr(text, ',');
  if (comma) *comma = '.';
  return text;
}

static void fail_given_twice(struct attn_builder *b, const attn_step *s, const attn_cell *again,
                             const attn_cell *first) {
  char here[32], there[32];
  b->status = attn_fail_at(b->maker.err, ATTN_ERR_FORMAT, again->line, again->column,
                           "%s is given twice within one example with different values: %s here, "
                           "%s at line %d, column %d; correct one, or begin a new example with a "
                           "heading",
                           s->symbol, short_text(again->value, here),
                           short_text(first->value, there), (int)first->line, (int)first->column);
}

/* Q2 is no Q1. */
static int has_other_index(const struct attn_builder *b, const char *name,
                           const attn_printing *first) {
  int n = attn_block_of(b->scan, first);
  return n >= 0 && attn_same_letters(b->scan->block[n].name, name) &&
         strcmp(b->scan->block[n].name, name) != 0;
}

/* [3.00, 1.00] without the name of the given [3, 1]. */
static int is_finer(const struct attn_builder *b, const struct attn_placement *p,
                    const attn_printing *first, const attn_printing *again) {
  for (int n = 0; n < again->rows * again->cols; n++)
    if (first->cells[n].decimals != 0 || again->cells[n].decimals < 1) return 0;
  return b->priors[p->block].bits[p->role] <= 0;
}

/* A given once more, by its own name and with other numbers, is a mistake of the document. */
static void add_given_again(struct attn_builder *b, const struct attn_placement *p, int step,
                            const attn_printing *again) {
  const attn_step *s = &b->ex->step[step];
  const struct attn_block *block = &b->scan->block[p->block];
  int n = contradicted(&s->printing[0], again);
  if (n < 0) {
    b->ex->uncertain |= !attn_is_float_echo(b, p) && is_finer(b, p, &s->printing[0], again);
    show(b, step, again, -1);
  } else if (has_other_index(b, block->name, &s->printing[0])) {
    b->ex->uncertain = 1;
  } else if (p->role <= ATTN_ROLE_V && again->rows > 1 && *block->name &&
             b->priors[p->block].bits[p->role] >= 8) {
    fail_given_twice(b, s, &again->cells[n], &s->printing[0].cells[n]);
  }
}

/* The numbers of one head once more. */
static int step_of_columns(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_node *of = p->roles.at[p->role];
  return of && of->columns_of && !attn_role_is_shared(p->role) ? step_of_node(b, of) : -1;
}

/* The scores in "Q K^T / √d = 1/√2 [..] = [..]": "; scores (2)" to the scan. 1: scores are divided
 * by its root, -1: by something else, 0: it is not there. */
static int is_divided_here(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_state *s = b->reading->example[p->example];
  const struct attn_node *const *at = s->head[p->head].at;
  const struct attn_node *scaled =
      at[ATTN_ROLE_SCALED] ? at[ATTN_ROLE_SCALED] : at[ATTN_ROLE_WEIGHTS];
  double by = scaled && scaled->relation ? scaled->relation->divided_by : 1;
  const char *of = strstr(b->scan->block[p->block].name, "; scores (");
  attn_cell cell;
  if (!of || by == 1 || !attn_scan_number(of + 10, strcspn(of + 10, ")"), &cell)) return 0;
  return fabs(sqrt(cell.value) - by) < 1e-9 ? 1 : -1;
}

static const double CALLED = 5.9; /* bits of a name of its own: of another role, it is a guess */

/* The numbers of the scores called scaled or masked, or those of the weights called the output. */
static int is_misnamed_copy(const struct attn_builder *b, const struct attn_placement *p) {
  const double *bits = b->priors[p->block].bits;
  if (is_divided_here(b, p) > 0) return 0;
  if (p->role == ATTN_ROLE_WEIGHTS)
    return bits[ATTN_ROLE_OUTPUT] > CALLED && bits[ATTN_ROLE_OUTPUT] >= bits[ATTN_ROLE_WEIGHTS];
  return p->role == ATTN_ROLE_SCORES && (bits[ATTN_ROLE_SCALED] > 5 || bits[ATTN_ROLE_MASKED] > 5);
}

/* The numbers of one head, below those of another of which this step is not printed? */
static int is_below_other(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_placement *above = NULL;
  for (int n = p->block - 1; n >= 0 && !above; n--)
    if (b->reading->placement[n]->relation) above = b->reading->placement[n];
  return above && above->example == p->example && above->head != p->head && p->role > ATTN_ROLE_V &&
         !attn_roles_of(b->reading, above)->at[p->role];
}

/* The numbers of a step once more: the step of that role whose shape they have. */
static void add_copy(struct attn_builder *b, const struct attn_placement *p) {
  const attn_printing *from =
      attn_upright(b, printing_of(b, p->node), p->is_copy == ATTN_COPY_TRANSPOSED);
  if (!from) return;
  int columns = step_of_columns(b, p);
  if (columns >= 0) show(b, columns, from, -1);
  if (columns >= 0) return;
  b->ex->uncertain |= is_misnamed_copy(b, p) || is_below_other(b, p);
  int row = p->is_copy - ATTN_COPY_ROW, of = row >= 0 ? step_of_node(b, p->roles.at[p->role]) : -1;
  if (of >= 0) show(b, of, from, row);
  if (row >= 0) return;
  for (int n = b->ex->steps - 1; n >= 0; n--) {
    attn_step *s = &b->ex->step[n];
    if (s->name != STEP_OF_ROLE[p->role] || !s->printings) continue;
    if (s->exact.rows != from->rows || s->exact.cols != from->cols) continue;
    if (s->op == ATTN_OP_GIVEN) return add_given_again(b, p, n, from);
    s->uncertain |= attn_is_multiple(b, p, &s->printing[0], from);
    return show(b, n, from, -1);
  }
}

static const char KEYS_ARE_VALUES[] =
    "(?i)\\b(?:keys? ?= ?values?|values? ?= ?keys?|"
    "keys? (?:are|is|equals?|defaults? to) (?:the )?(?:same as (?:the )?)?values?)\\b|"
    "(?-i:\\bK ?= ?V\\b)";

/* "d_k" in one cell and 2 in the next */
static int is_size_of_keys(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_node *k = attn_roles_of(b->reading, p)->at[ATTN_ROLE_K];
  const struct attn_grid *g = p->node->grid;
  return k && g->rows * g->cols == 1 && g->value[0] == k->grid->cols;
}

/* An input by its name, read as something else. The results of arithmetic are none. */
static int is_other_input(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_priors *named = &b->priors[p->block];
  if (attn_is_worked_out(b->scan, &printing_of(b, p->node)->cells[0])) return 0;
  int is_value = p->role == ATTN_ROLE_K && named->bits[ATTN_ROLE_V] == named->best;
  if (named->bits[p->role] > (is_value ? .3 * named->best : 0)) return 0;
  if (named->best < CALLED) return 0;
  if (p->role >= ATTN_ROLE_W_Q && p->role <= ATTN_ROLE_W_V &&
      named->bits[ATTN_ROLE_Q + p->role - ATTN_ROLE_W_Q] == named->best)
    return 0; /* weights that are called by what they make */
  if (is_value && attn_document_has(b->scan->patterns, KEYS_ARE_VALUES, b->scan->text)) return 0;
  int called = attn_best_role(named, ATTN_ROLE_X, ATTN_ROLE_V);
  if (called != ATTN_ROLE_OTHER) return !attn_is_called_after_result(b, p, called);
  return named->best >= ATTN_OWN_NAME && p->role >= ATTN_ROLE_Q && p->role <= ATTN_ROLE_V &&
         attn_best_role(named, ATTN_ROLE_SCORES, ATTN_ROLE_WEIGHTS) != ATTN_ROLE_OTHER;
}

/* "q2 = [0, 3]", where no row of the queries above is so. */
static int is_other_query(const struct attn_builder *b, const struct attn_placement *p) {
  static const char NAMED_QUERY[] = "(*UCP)(?i)\\bq(?:uery)?[ _]?\\d{0,2}\\W*$";
  if (p->role != ATTN_ROLE_Q || p->node->grid->rows > 1) return 0;
  if (!attn_occurs(b->scan->patterns, NAMED_QUERY, b->scan->block[p->block].name)) return 0;
  for (int n = 0; n < b->reading->placements; n++) {
    const struct attn_placement *q = b->reading->placement[n];
    if (q == p) return 0;
    if (q->node && q->role == ATTN_ROLE_Q && q->example == p->example && q->node->grid->rows > 1 &&
        q->node->grid->cols == p->node->grid->cols)
      return 1;
  }
  return 0;
}

static void add_block(struct attn_builder *b, const struct attn_placement *p) {
  if (p->role == ATTN_ROLE_OTHER || !p->node) return;
  b->ex->uncertain |= attn_states_other_step(b, p) || is_divided_here(b, p) < 0;
  b->ex->uncertain |= attn_is_other_echo(b, p);
  if (b->reading->example[p->example]->is_split) add_heads(b, p);
  if (p->is_copy) {
    add_copy(b, p);
  } else if (p->relation) {
    add_computed(b, p);
  } else {
    int step = add_given(b, STEP_OF_ROLE[p->role], head_of(b, p), printing_of(b, p->node));
    b->ex->uncertain |= is_other_query(b, p) || (is_other_input(b, p) && !is_size_of_keys(b, p));
    if (step < 0) return;
    b->ex->step[step].uncertain |= attn_is_labelled_other(&b->scan->block[p->block], p->role);
    set_usual_symbol(b, p->role, &b->ex->step[step]);
    set_symbol(b, &b->scan->block[p->block], &b->ex->step[step]);
    remember(b, p->node, step, 0);
  }
  b->ex->uncertain |= attn_repeats_other_row(b, p) || attn_repeats_other_step(b, p);
}

/* ---- Examples ---- */

/* Scores that are K Q^T, which is not stated and not confirmed by later steps. */
static int is_turned_silently(const struct attn_builder *b, const attn_example *ex) {
  static const char TURNED[] = "(*UCP)(?i)\\bK\\w{0,3}\\s*[·@*.×]?\\s*Q|columns?|列";
  static const char ROWS[] =
      "(?i)\\brows?\\b[^.;\\n]{0,30}\\b(?:quer|asks|attend)|\\bcolumns?\\b[^.;\\n]{0,30}(?:\\bkeys?"
      "\\b|"
      "looked at|attended)|行[^。\\n]{0,12}クエリ|列[^。\\n]{0,12}キー";
  int turned = 0;
  for (int n = 0; n < ex->steps; n++) {
    if (ex->step[n].name > ATTN_STEP_SCORES && ex->step[n].printings) return 0;
    turned |= ex->step[n].name == ATTN_STEP_SCORES && ex->step[n].op != ATTN_OP_GIVEN;
  }
  return turned && b->reading->columns == ATTN_COLUMNS_SCORES &&
         (!attn_document_has(b->scan->patterns, TURNED, b->scan->text) ||
          attn_document_has(b->scan->patterns, ROWS, b->scan->text));
}

static const double NAMED = 6; /* bits: its own name, or a caption */

static int is_named(const struct attn_builder *b, const struct attn_placement *p) {
  int source = b->scan->block[p->block].source;
  return p->node && b->priors[p->block].bits[p->role] >= NAMED && source != ATTN_BLOCK_INLINE;
}

/* Where nothing follows from anything, blocks are what they are called; numbers without a name are
 * no example, and names in sentences are not enough. */
static int has_relations(const struct attn_builder *b, int index) {
  int related = 0, in_sentence = 0;
  for (int n = 0; n < b->reading->placements; n++) {
    const struct attn_placement *p = b->reading->placement[n];
    if (p->example != index || !p->node) continue;
    related |= p->relation != NULL || p->is_copy;
    in_sentence |= b->scan->block[p->block].source == ATTN_BLOCK_INLINE;
  }
  return related || in_sentence;
}

/* One product of matrices that nothing calls by their roles may be of anything, and so are sums of
 * rows. */
static int may_be_anything(const struct attn_builder *b, int index) {
  int computed = 0;
  for (int n = 0; n < b->reading->placements; n++) {
    const struct attn_placement *p = b->reading->placement[n];
    if (p->example != index || !p->node) continue;
    int is_sum = p->role == ATTN_ROLE_ROW_SUM;
    int takes_part = p->relation || attn_is_operand(b->reading, p->node, 0);
    if (!is_sum && b->priors[p->block].bits[p->role] > 0 && takes_part) return 0;
    computed += p->relation != NULL;
    if (p->relation && p->role > ATTN_ROLE_SCORES && !is_sum) return 0;
  }
  return computed == 1;
}

/* q_0, x0 */
static int counts_from_zero(const struct attn_block *block) {
  for (int n = 0; n < block->labels; n++) {
    size_t bytes = block->label[n] ? strcspn(block->label[n], "0123456789") : 0;
    if (bytes && strcmp(block->label[n] + bytes, "0") == 0 &&
        attn_label_is_indexed(block->label[n]))
      return 1;
  }
  return 0;
}

static attn_status build_example(struct attn_builder *b, int index) {
  attn_example ex = {.heads = b->reading->example[index]->heads, .title = ""};
  ex.orientation = b->reading->columns ? ATTN_QUERIES_IN_COLUMNS : ATTN_QUERIES_IN_ROWS;
  ex.one_based = 1;
  b->ex = &ex;
  b->count = 0;
  int related = has_relations(b, index), named = 1;
  for (int n = 0; n < b->reading->placements && !b->status; n++) {
    const struct attn_placement *p = b->reading->placement[b->reading->order[n]];
    if (p->example != index || (!related && !is_named(b, p))) continue;
    named &= is_named(b, p);
    if (!ex.line) ex.line = b->scan->block[p->block].line;
    add_block(b, p);
    ex.one_based &= !counts_from_zero(&b->scan->block[p->block]);
    attn_name_tokens(b, p);
  }
  if (!b->status && (attn_is_computed(&ex) || named)) attn_complete_example(b);
  attn_name_listed_tokens(b);
  attn_name_queries(b, index);
  if (b->status || !attn_is_computed(&ex) || may_be_anything(b, index)) return b->status;
  const attn_example *last =
      b->lesson->examples ? &b->lesson->example[b->lesson->examples - 1] : NULL;
  int after = last && !last->from_python ? last->line : 0;
  const struct attn_scan_heading *title = attn_scan_title(b->scan, ex.line, after);
  if (title) ex.title = title->text;
  if (title && title->line > after) ex.line = title->line;
  ex.uncertain |= is_turned_silently(b, &ex);
  ex.uncertain |= attn_only_repeats(&ex);
  ex.uncertain |= attn_is_turned_on_one_side(&ex) || attn_hides_seen_keys(&ex);
  ex.uncertain |= attn_forgets_mask(b->scan, b->reading, index);
  return attn_add_example(&b->maker, b->lesson, &ex);
}

attn_status attn_build_lesson(struct attn_scan *scan, struct attn_relations *r,
                              const struct attn_reading *reading, const struct attn_priors *priors,
                              struct attn_pool *pool, attn_lesson *lesson, attn_error *err) {
  struct attn_builder b = {.maker = {.pool = pool, .err = err},
                           .scan = scan,
                           .relations = r,
                           .reading = reading,
                           .priors = priors,
                           .lesson = lesson};
  attn_status status = ATTN_OK;
  for (int n = 0; n < reading->examples && !status; n++) status = build_example(&b, n);
  return status;
}
