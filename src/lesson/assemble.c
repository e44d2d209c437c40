/* assemble.c -- the graph of one example: from what is given, in the order of attention. */
#include "assemble.h"

#include <math.h>
#include <string.h>

#include "error.h"

struct example_builder {
  struct attn_assembly *a;
  attn_example *ex;
  attn_status status;
  int x, y; /* step indices; -1: none. x with positions where it has them */
  int outputs[ATTN_OPERANDS_MAX];
};

static attn_step *step_at(struct example_builder *b, int i) { return &b->ex->step[i]; }

static struct attn_slot *slot_of(struct example_builder *b, int name, int head) {
  return attn_slot_find(b->a, name, head);
}

/* ---- adding ---- */

static int find_step(const attn_example *ex, int name, int head) {
  for (int i = 0; i < ex->steps; i++)
    if (ex->step[i].name == name && ex->step[i].head == head) return i;
  return -1;
}

/* Upright vectors of a row-wise matrix lie down: x_1 = [1; 0] is a row of X. */
static attn_status add_given_printing(struct attn_assembly *a, attn_step *step,
                                      const attn_printing *p) {
  attn_printing turned;
  int small = step->symbol[0] >= 'a' && step->symbol[0] <= 'z' && step->name != ATTN_STEP_MASK;
  int vector = p->cols == 1 && p->rows > 1 && p->col0 < 0;
  if (!vector || !(p->row0 >= 0 || (small && step->name <= ATTN_STEP_V)))
    return attn_add_printing(a, step, p);
  if (attn_transpose_printing(a->pool, p, &turned)) return attn_no_memory(a);
  return attn_add_printing(a, step, &turned);
}

/* What is printed is all there is to know. -1: not printed, or not in full. */
static int given(struct example_builder *b, int name, int head) {
  struct attn_slot *slot = slot_of(b, name, head);
  int found = find_step(b->ex, name, head);
  if (found >= 0 || !slot || b->status) return b->status ? -1 : found;
  attn_step *step = attn_add_step(b->a, b->ex, name, head, ATTN_OP_GIVEN);
  if (!step) return b->status = ATTN_ERR_MEMORY, -1;
  if (slot->symbol) {
    step->symbol = attn_pool_text(b->a->pool, slot->symbol, strlen(slot->symbol));
    if (!step->symbol) return b->status = attn_no_memory(b->a), -1;
  }
  for (int i = 0; i < slot->printings && !b->status; i++)
    b->status = add_given_printing(b->a, step, &slot->printing[i]);
  if (!b->status) b->status = attn_given_from(b->a, step);
  if (!b->status && step->exact.rows > 0) return b->ex->steps - 1;
  b->ex->steps--;
  return -1;
}

static int line_of(const attn_step *step) {
  return step->printings ? (int)step->printing[0].line : 0;
}

/* " (line 4)", or nothing where the document does not print it. */
static const char *place_of(const attn_step *step, char *text, size_t size) {
  text[0] = 0;
  int line = line_of(step);
  char digits[12];
  size_t n = 0, at = 0;
  if (line <= 0 || size < 24) return text;
  for (; line > 0; line /= 10) digits[n++] = (char)('0' + line % 10);
  memcpy(text, " (line ", 7), at = 7;
  while (n > 0) text[at++] = digits[--n];
  text[at++] = ')';
  text[at] = 0;
  return text;
}

/* What does not chain, with both shapes and places. */
static attn_status chain_error(struct example_builder *b, const attn_step *step) {
  const attn_step *l = step_at(b, step->operand[0]), *r = step_at(b, step->operand[1]);
  const attn_matrix *m = &l->exact, *n = &r->exact;
  const attn_step *at = line_of(r) ? r : l;
  char left[32], right[32];
  int64_t line = line_of(at), column = line ? at->printing[0].column : 0;
  place_of(l, left, sizeof left);
  place_of(r, right, sizeof right);
  if (step->op == ATTN_OP_MATMUL)
    return attn_fail_at(b->a->err, ATTN_ERR_FORMAT, line, column,
                        "%s%s has %d rows, but %s%s has %d columns%s", r->symbol, right,
                        (int)n->rows, l->symbol, left, (int)m->cols,
                        n->cols == m->cols ? ": did you mean the transpose?" : "");
  if (step->op == ATTN_OP_MATMUL_NT)
    return attn_fail_at(b->a->err, ATTN_ERR_FORMAT, line, column,
                        "%s%s has %d columns, but %s%s has %d: their rows are multiplied, so both "
                        "must be equal%s",
                        r->symbol, right, (int)n->cols, l->symbol, left, (int)m->cols,
                        n->rows == m->cols ? "; did you mean the transpose?" : "");
  return attn_fail_at(b->a->err, ATTN_ERR_FORMAT, line, column,
                      "%s%s is %dx%d and %s%s is %dx%d: the shapes do not match", l->symbol, left,
                      (int)m->rows, (int)m->cols, r->symbol, right, (int)n->rows, (int)n->cols);
}

/* operands, up to 5; -1 ends them. */
static int computed(struct example_builder *b, int name, int head, int op, double scalar,
                    const int *operand) {
  if (b->status) return -1;
  attn_step *step = attn_add_step(b->a, b->ex, name, head, op);
  if (!step) return b->status = ATTN_ERR_MEMORY, -1;
  while (operand[step->operands] >= 0 && step->operands < 5) {
    step->operand[step->operands] = operand[step->operands];
    step->operands++;
  }
  step->scalar = scalar;
  step->axis = b->a->reading.columns ? 0 : 1;
  b->status = attn_compute_step(b->a, b->ex, step);
  if (b->status == ATTN_ERR_SHAPE && step->operands > 1) b->status = chain_error(b, step);
  if (!b->status) b->status = attn_attach(b->a, step, slot_of(b, name, head));
  return b->status ? -1 : b->ex->steps - 1;
}

static int two(struct example_builder *b, int name, int head, int op, int left, int right) {
  const int operand[] = {left, right, -1};
  return computed(b, name, head, op, 0, operand);
}

static int one(struct example_builder *b, int name, int head, int op, double scalar, int of) {
  const int operand[] = {of, -1};
  return computed(b, name, head, op, scalar, operand);
}

/* ---- positions ---- */

static int says_sine(struct example_builder *b) {
  const struct attn_document *d = b->a->document;
  for (int i = b->a->range.begin; i < b->a->range.end; i++)
    if (d->item[i].kind == ATTN_ITEM_SENTENCE &&
        (strstr(d->item[i].text, "sin") || strstr(d->item[i].text, "サイン")) &&
        (strstr(d->item[i].text, "cos") || strstr(d->item[i].text, "コサイン")))
      return 1;
  return 0;
}

/* To its last digit: chance makes small whole numbers look like sines. */
static int all_round_to(const attn_printing *p, const attn_matrix *m) {
  int decimals = 0;
  for (int n = 0; n < p->rows * p->cols; n++)
    if (p->cells[n].decimals > decimals) decimals = p->cells[n].decimals;
  double half = decimals ? 0.5 * pow(10, -decimals) : 0;
  for (int n = 0; n < p->rows * p->cols; n++)
    if (fabs(p->cells[n].value - m->at[n]) > half + 1e-9) return 0;
  return 1;
}

/* Sines and cosines as large as p, frequencies from `first` on. Does p round them? */
static int sines(struct example_builder *b, const attn_printing *p, double first,
                 attn_matrix *table) {
  attn_step probe = {.name = ATTN_STEP_POSITIONS, .op = ATTN_OP_POSITIONS, .scalar = first};
  probe.exact = (attn_matrix){p->rows, p->cols, NULL};
  b->status = attn_eval_step(&probe, NULL, b->a->pool, table, b->a->err);
  return !b->status && all_round_to(p, table);
}

/* A learnt table is given; that of sines and cosines, be it said or seen, is computed. */
static int position_table(struct example_builder *b) {
  struct attn_slot *slot = slot_of(b, ATTN_STEP_POSITIONS, -1);
  if (!slot || slot->printing[0].rows < 1 || slot->printing[0].row0 >= 0)
    return given(b, ATTN_STEP_POSITIONS, -1);
  double first = b->a->reading.first_frequency;
  attn_matrix table;
  int fits = sines(b, &slot->printing[0], first, &table);
  if (!fits && !says_sine(b) && !b->status)
    fits = sines(b, &slot->printing[0], first = 1 - first, &table); /* 0 or 1 */
  if (b->status) return -1;
  if (!fits && !says_sine(b)) return given(b, ATTN_STEP_POSITIONS, -1);
  attn_step *step = attn_add_step(b->a, b->ex, ATTN_STEP_POSITIONS, -1, ATTN_OP_POSITIONS);
  if (!step) return b->status = ATTN_ERR_MEMORY, -1;
  step->scalar = first;
  step->exact = table;
  b->status = attn_attach(b->a, step, slot);
  return b->status ? -1 : b->ex->steps - 1;
}

static void add_positions(struct example_builder *b) {
  int table = position_table(b);
  struct attn_slot *sum = slot_of(b, ATTN_ROLE_WITH_POSITIONS, -1);
  if (b->status || table < 0 || b->x < 0 || (!b->a->reading.positions && !sum)) return;
  const attn_matrix *x = &step_at(b, b->x)->exact, *p = &step_at(b, table)->exact;
  if (x->rows != p->rows) return;
  int printed = sum ? (int)sum->printing[0].cols : 0;
  int append = x->cols != p->cols || b->a->clues.appended;
  if (printed == x->cols + p->cols || printed == x->cols) append = printed != x->cols;
  int op = append ? ATTN_OP_APPEND : ATTN_OP_ADD;
  int both = two(b, ATTN_ROLE_WITH_POSITIONS, -1, op, b->x, table);
  if (both < 0) return;
  attn_step *step = step_at(b, both);
  step->name = ATTN_STEP_POSITIONS;
  if (!sum || !sum->symbol) {
    step->symbol = attn_pool_text(b->a->pool, append ? "[X, PE]" : "X + PE", append ? 7 : 6);
    if (!step->symbol) b->status = attn_no_memory(b->a);
  }
  if (b->a->reading.positions) b->x = both;
}

/* ---- one head ---- */

static int projection(struct example_builder *b, int head, int weight, int name, int source) {
  int w = given(b, weight, head);
  struct attn_slot *own = slot_of(b, name, head);
  if (own && own->foreign) return given(b, name, head);
  if (w >= 0 && source >= 0) return two(b, name, head, ATTN_OP_MATMUL, source, w);
  int printed = given(b, name, head);
  if (printed < 0 && head >= 0) printed = find_step(b->ex, name, -1);
  if (printed < 0 && head >= 0) printed = given(b, name, -1);
  if (printed >= 0 || b->status) return printed;
  int bit = name == ATTN_STEP_V ? ATTN_VALUES_ARE_INPUTS : ATTN_KEYS_ARE_INPUTS;
  return b->a->reading.inputs & bit ? source : -1;
}

static int scores(struct example_builder *b, int head, int q, int k) {
  int columns = b->a->reading.columns, left = columns ? k : q, right = columns ? q : k;
  if (q < 0 || k < 0) return given(b, ATTN_STEP_SCORES, head);
  int w = given(b, ATTN_STEP_W_A, -1), u = given(b, ATTN_STEP_U_A, -1);
  int v = given(b, ATTN_STEP_V_A, -1);
  if (w >= 0 && u >= 0 && v >= 0) {
    const int operand[] = {left, right, columns ? u : w, columns ? w : u, v, -1};
    return computed(b, ATTN_STEP_SCORES, head, ATTN_OP_ADDITIVE, 0, operand);
  }
  if (w < 0) return two(b, ATTN_STEP_SCORES, head, ATTN_OP_MATMUL_NT, left, right);
  if (columns) w = one(b, ATTN_STEP_OTHER, -1, ATTN_OP_TRANSPOSE, 0, w);
  const int operand[] = {left, right, w, -1};
  return computed(b, ATTN_STEP_SCORES, head, ATTN_OP_GENERAL, 0, operand);
}

/* A divisor that the formula states and no slip explains: neither d_k nor another size of the
 * example's, or its root, stands in for it. Then the author means it: sqrt(64) in a small example.
 */
static int is_meant(const struct example_builder *b, double stated, double root) {
  if (stated <= 0 || fabs(stated - root) < 1e-3 * root) return 0;
  if (b->a->clues.d_k > 0 && fabs(stated * stated - b->a->clues.d_k) < 1e-3) return 1;
  for (int i = 0; i < b->ex->steps; i++) {
    const double size[] = {b->ex->step[i].exact.rows, b->ex->step[i].exact.cols};
    for (int n = 0; n < 2; n++)
      if (stated == size[n] || fabs(stated - sqrt(size[n])) < 1e-3) return 0;
  }
  return 1;
}

/* What the scores are divided by; 0: cannot tell. width: whose root it is. */
static double divisor(struct example_builder *b, int k, int q, int *width) {
  const struct attn_clues *c = &b->a->clues;
  double size = k >= 0 ? step_at(b, k)->exact.cols : 0;
  if (size > 0 && c->scale == 0 && is_meant(b, c->divisor, sqrt(size))) return c->divisor;
  double n = k >= 0        ? step_at(b, k)->exact.cols
             : q >= 0      ? step_at(b, q)->exact.cols
             : c->root > 0 ? c->root
                           : c->d_k;
  *width = n > 0 && n < 1e9 && n == floor(n) ? (int)n : 0;
  if (c->scale == 0) return n > 0 ? sqrt(n) : 0;
  if (n <= 0 || fabs(c->scale * sqrt(n) - 1) > 1e-3) *width = 0;
  return *width ? sqrt(n) : 1 / c->scale;
}

/* Scores that are printed once and fit only as scaled ones are the scaled ones. */
static void move_scaled_scores(struct example_builder *b, int from, int to, int head) {
  attn_step *e = step_at(b, from), *s = step_at(b, to);
  int cells = 0, plain = 0, scaled = 0;
  if (slot_of(b, ATTN_STEP_SCALED, head)) return;
  for (int i = 0; i < e->printings; i++) {
    cells += e->printing[i].rows * e->printing[i].cols;
    plain += attn_printing_fits(&e->printing[i], &e->exact);
    scaled += attn_printing_fits(&e->printing[i], &s->exact);
  }
  if (scaled <= plain || 4 * scaled < 3 * cells) return;
  s->printing = e->printing;
  s->printings = e->printings;
  s->symbol = e->symbol;
  e->printing = NULL;
  e->printings = 0;
  e->symbol = attn_pool_text(b->a->pool, "QK^T", 4);
  if (!e->symbol) b->status = attn_no_memory(b->a);
}

static int scaled(struct example_builder *b, int head, int k, int q, int e) {
  int width = 0;
  double by = e >= 0 && b->a->reading.scale ? divisor(b, k, q, &width) : 0;
  int printed = slot_of(b, ATTN_STEP_SCALED, head) != NULL;
  if (by == 0 && e >= 0 && !printed && !b->a->reading.scale) return e;
  /* Scaled, but by what cannot be told: then nothing is known of what follows. */
  if (by == 0) return given(b, ATTN_STEP_SCALED, head);
  int s = one(b, ATTN_STEP_SCALED, head, ATTN_OP_DIVIDE, by, e);
  if (s < 0) return -1;
  step_at(b, s)->scaled_by = width;
  move_scaled_scores(b, e, s, head);
  return s;
}

static int masked(struct example_builder *b, int head, int s) {
  if (s < 0) return given(b, ATTN_STEP_MASKED, head);
  if (!b->a->reading.mask || b->status) return s;
  int m = given(b, ATTN_STEP_MASK, -1), additive = 0;
  double fill = -INFINITY;
  struct attn_slot *printed = slot_of(b, ATTN_STEP_MASKED, head);
  if (m < 0) {
    b->status = b->status ? b->status : attn_make_mask(b->a, b->ex, &step_at(b, s)->exact, printed);
    m = b->status ? -1 : b->ex->steps - 1;
  }
  if (m < 0) return -1;
  attn_read_mask(step_at(b, m), printed, &additive, &fill);
  if (additive) return two(b, ATTN_STEP_MASKED, head, ATTN_OP_ADD, s, m);
  const int operand[] = {s, m, -1};
  return computed(b, ATTN_STEP_MASKED, head, ATTN_OP_MASK, fill, operand);
}

/* ---- softmax ---- */

/* e^(a - the largest of a's line): what programs do, and no step of ours. */
static attn_status shifted_exponentials(struct example_builder *b, const attn_matrix *a,
                                        attn_matrix *out) {
  int columns = b->a->reading.columns, lines = columns ? a->cols : a->rows;
  int length = columns ? a->rows : a->cols, along = columns ? a->cols : 1;
  *out = attn_matrix_new(b->a->pool, a->rows, a->cols);
  if (!out->at) return attn_no_memory(b->a);
  for (int l = 0; l < lines; l++) {
    int begin = columns ? l : l * a->cols;
    double largest = -INFINITY;
    for (int k = 0; k < length; k++) largest = fmax(largest, a->at[begin + k * along]);
    for (int k = 0; k < length; k++)
      out->at[begin + k * along] = exp(a->at[begin + k * along] - largest);
  }
  return ATTN_OK;
}

static int fits_of(const attn_step *step, const attn_matrix *m) {
  int fits = 0;
  for (int i = 0; i < step->printings; i++) fits += attn_printing_fits(&step->printing[i], m);
  return fits;
}

/* -1 where the document's exponentials are those after subtracting the maximum: then its sums are
 * other ones too, and nothing is said about either. */
static int exponentials(struct example_builder *b, int head, int s) {
  int e = one(b, ATTN_STEP_EXPONENTIALS, head, ATTN_OP_EXP, 0, s);
  attn_matrix shifted, rounded;
  if (e < 0 || !step_at(b, e)->printings) return e;
  attn_step *step = step_at(b, e);
  b->status = attn_compute_from_printed(b->a, b->ex, step, &rounded);
  if (!b->status) b->status = shifted_exponentials(b, &step_at(b, s)->exact, &shifted);
  if (b->status) return -1;
  int plain = fits_of(step, &step->exact), other = fits_of(step, &rounded);
  if (fits_of(step, &shifted) <= (plain > other ? plain : other)) return e;
  b->ex->steps = e;
  return -1;
}

static int weights(struct example_builder *b, int head, int s) {
  if (s < 0) return given(b, ATTN_STEP_WEIGHTS, head);
  struct attn_slot *input = slot_of(b, ATTN_ROLE_SOFTMAX_INPUT, head);
  if (!b->status) b->status = attn_attach(b->a, step_at(b, s), input);
  int w = -1, e = -1;
  if (slot_of(b, ATTN_STEP_EXPONENTIALS, head) || slot_of(b, ATTN_STEP_ROW_SUM, head))
    e = exponentials(b, head, s);
  if (e >= 0) {
    int sum = one(b, ATTN_STEP_ROW_SUM, head, ATTN_OP_SUM, 0, e);
    if (sum >= 0) w = two(b, ATTN_STEP_WEIGHTS, head, ATTN_OP_QUOTIENT, e, sum);
  } else {
    w = one(b, ATTN_STEP_WEIGHTS, head, ATTN_OP_SOFTMAX, 0, s);
  }
  return w;
}

static int output(struct example_builder *b, int head, int w, int v) {
  if (w < 0 || v < 0) return given(b, ATTN_STEP_OUTPUT, head);
  return two(b, ATTN_STEP_OUTPUT, head, b->a->reading.columns ? ATTN_OP_MATMUL_TN : ATTN_OP_MATMUL,
             w, v);
}

/* The factors of [..][..] = .. are the operands, printed once more. */
static void attach_factors(struct example_builder *b, int head, int name, int step, int turned) {
  struct attn_slot *slot = slot_of(b, ATTN_ROLE_FACTOR + name, head);
  if (b->status || !slot || step < 0 || step_at(b, step)->op == ATTN_OP_GIVEN ||
      b->a->reading.columns)
    return;
  if (turned) b->status = attn_attach_turned(b->a, step_at(b, step), slot);
  for (int i = 0; !turned && i < slot->printings && !b->status; i++)
    b->status = attn_attach_one(b->a, step_at(b, step), &slot->printing[i], 0);
}

static int build_head(struct example_builder *b, int head) {
  int from = b->y >= 0 ? b->y : b->x;
  int q = projection(b, head, ATTN_STEP_W_Q, ATTN_STEP_Q, from);
  int k = projection(b, head, ATTN_STEP_W_K, ATTN_STEP_K, b->x);
  int v = projection(b, head, ATTN_STEP_W_V, ATTN_STEP_V, b->x);
  int e = scores(b, head, q, k);
  int s = masked(b, head, scaled(b, head, k, q, e));
  int w = weights(b, head, s), o = output(b, head, w, v);
  attach_factors(b, head, ATTN_STEP_Q, q, 0);
  attach_factors(b, head, ATTN_STEP_K, k, 1);
  attach_factors(b, head, ATTN_STEP_V, v, 0);
  attach_factors(b, head, ATTN_STEP_WEIGHTS, w, 0);
  return b->status ? -1 : o;
}

/* ---- all heads ---- */

static void join_heads(struct example_builder *b) {
  int heads = b->a->heads, joined = b->outputs[0];
  if (heads > 1) {
    joined = -1;
    int complete = 1;
    for (int h = 0; h < heads; h++) complete &= b->outputs[h] >= 0;
    if (!complete) {
      joined = given(b, ATTN_STEP_CONCAT, -1);
    } else {
      attn_step *step = attn_add_step(b->a, b->ex, ATTN_STEP_CONCAT, -1, ATTN_OP_APPEND);
      if (!step) b->status = ATTN_ERR_MEMORY;
      if (b->status) return;
      step->operands = heads;
      memcpy(step->operand, b->outputs, (size_t)heads * sizeof *step->operand);
      b->status = attn_compute_step(b->a, b->ex, step);
      if (b->status == ATTN_ERR_SHAPE) b->status = chain_error(b, step);
      if (!b->status) b->status = attn_attach(b->a, step, slot_of(b, ATTN_STEP_CONCAT, -1));
      joined = b->ex->steps - 1;
    }
  }
  int w = b->status ? -1 : given(b, ATTN_STEP_W_O, -1);
  if (w >= 0 && joined >= 0) two(b, ATTN_STEP_PROJECTED, -1, ATTN_OP_MATMUL, joined, w);
}

attn_status attn_build_example(struct attn_assembly *a, attn_example *example) {
  struct example_builder b = {.a = a, .ex = example};
  a->example = example;
  example->steps = 0;
  example->step = NULL;
  example->orientation = a->reading.columns;
  example->heads = a->heads;
  b.x = given(&b, ATTN_STEP_X, -1);
  b.y = given(&b, ATTN_STEP_Y, -1);
  if (!b.status) add_positions(&b);
  static const int WEIGHTS[] = {ATTN_STEP_W_Q, ATTN_STEP_W_K, ATTN_STEP_W_V};
  for (int i = 0; i < 3 && a->heads == 1; i++) given(&b, WEIGHTS[i], -1);
  for (int h = 0; h < a->heads && !b.status; h++)
    b.outputs[h] = build_head(&b, a->heads > 1 ? h : -1);
  if (!b.status) join_heads(&b);
  return b.status;
}
