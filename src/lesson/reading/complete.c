/* complete.c -- the usual steps that a document leaves out, so that they can be explained. */
#include <math.h>

#include "role_search.h"
#include "step_builder.h"

static const char SCALED[] = "(?i)√|sqrt|square root|\\bscal(?:e|ed|ing)\\b|平方根|スケー";

/* The last step of this name, of the head or of all. -1: none. */
static int find(const struct attn_builder *b, int name, int head) {
  for (int n = b->ex->steps - 1; n >= 0; n--) {
    const attn_step *s = &b->ex->step[n];
    if (s->name == name && s->exact.rows && (s->head == head || s->head < 0)) return n;
  }
  return -1;
}

static int find_first_of(const struct attn_builder *b, const int *names, int count, int head) {
  int found = -1;
  for (int n = 0; n < count && found < 0; n++) found = find(b, names[n], head);
  return found;
}

static int is_weights(int name) { return name >= ATTN_STEP_W_Q && name <= ATTN_STEP_W_O; }

static struct attn_turned operand(const struct attn_builder *b, int step) {
  int name = b->ex->step[step].name;
  int turned = attn_is_turned(b, name) ^ (is_weights(name) && b->reading->transposed_weights);
  return (struct attn_turned){step, turned};
}

static int rows_of(const struct attn_builder *b, struct attn_turned o) {
  const attn_matrix *m = &b->ex->step[o.step].exact;
  return o.turned ? m->cols : m->rows;
}

static int cols_of(const struct attn_builder *b, struct attn_turned o) {
  const attn_matrix *m = &b->ex->step[o.step].exact;
  return o.turned ? m->rows : m->cols;
}

/* A step of two operands whose shapes go together. -1: there is none. */
static int add_product(struct attn_builder *b, int op, int name, int head, int left, int right) {
  if (left < 0 || right < 0 || b->status) return -1;
  struct attn_turned in[] = {operand(b, left), operand(b, right)};
  struct attn_use use = {.name = (uint8_t)name, .op = (uint8_t)op, .axis = 1, .operands = 2};
  int inner = op == ATTN_OP_MATMUL_NT ? cols_of(b, in[1]) : rows_of(b, in[1]);
  if (cols_of(b, in[0]) != inner) return -1;
  return attn_apply(b, &use, head, name, in).step;
}

static int add_pointwise(struct attn_builder *b, struct attn_use use, int head, int of) {
  if (of < 0 || b->status) return -1;
  struct attn_turned in[] = {operand(b, of)};
  use.axis = 1, use.operands = 1;
  return attn_apply(b, &use, head, use.name, in).step;
}

/* ---- one head ---- */

static void add_projections(struct attn_builder *b, int head) {
  static const int SOURCE[] = {ATTN_STEP_POSITIONS, ATTN_STEP_X};
  int x = find_first_of(b, SOURCE, 2, -1), y = find(b, ATTN_STEP_Y, -1);
  if (x >= 0 && b->ex->step[x].name == ATTN_STEP_POSITIONS && !b->ex->step[x].operands)
    x = find(b, ATTN_STEP_X, -1);
  for (int n = 0; n < 3; n++)
    if (find(b, ATTN_STEP_Q + n, head) < 0)
      add_product(b, ATTN_OP_MATMUL, ATTN_STEP_Q + n, head, n == 0 && y >= 0 ? y : x,
                  find(b, ATTN_STEP_W_Q + n, head));
}

static int add_scores(struct attn_builder *b, int head) {
  static const int LATER[] = {ATTN_STEP_MASKED, ATTN_STEP_SCALED, ATTN_STEP_SCORES};
  int scores = find_first_of(b, LATER, 3, head), k = find(b, ATTN_STEP_K, head);
  if (scores >= 0) return scores;
  if (find(b, ATTN_STEP_W_A, -1) >= 0) return -1;
  return add_product(b, ATTN_OP_MATMUL_NT, ATTN_STEP_SCORES, head, find(b, ATTN_STEP_Q, head), k);
}

static int is_scaled(const struct attn_builder *b) {
  return attn_document_has(b->scan->patterns, SCALED, b->scan->text) && !attn_denies_scale(b->scan);
}

static int add_weights(struct attn_builder *b, int head) {
  int of = add_scores(b, head), q = find(b, ATTN_STEP_Q, head);
  if (of >= 0 && q >= 0 && b->ex->step[of].name == ATTN_STEP_SCORES && is_scaled(b)) {
    int width = cols_of(b, operand(b, q));
    of = add_pointwise(b,
                       (struct attn_use){.name = ATTN_STEP_SCALED,
                                         .op = ATTN_OP_DIVIDE,
                                         .scalar = sqrt(width),
                                         .scaled_by = width},
                       head, of);
  }
  return add_pointwise(b, (struct attn_use){.name = ATTN_STEP_WEIGHTS, .op = ATTN_OP_SOFTMAX}, head,
                       of);
}

static int complete_head(struct attn_builder *b, int head) {
  add_projections(b, head);
  int weights = find(b, ATTN_STEP_WEIGHTS, head), output = find(b, ATTN_STEP_OUTPUT, head);
  if (weights < 0 && find(b, ATTN_STEP_EXPONENTIALS, head) < 0) weights = add_weights(b, head);
  if (output >= 0) return output;
  return add_product(b, ATTN_OP_MATMUL, ATTN_STEP_OUTPUT, head, weights,
                     find(b, ATTN_STEP_V, head));
}

/* ---- all heads ---- */

static int add_concat(struct attn_builder *b, const int *output) {
  struct attn_turned in[ATTN_HEADS_MAX];
  struct attn_use use = {
      .name = ATTN_STEP_CONCAT, .op = ATTN_OP_APPEND, .operands = (uint8_t)b->ex->heads};
  for (int h = 0; h < b->ex->heads; h++) {
    if (output[h] < 0 || b->status) return -1;
    in[h] = operand(b, output[h]);
    if (rows_of(b, in[h]) != rows_of(b, in[0])) return -1;
  }
  return attn_apply(b, &use, -1, use.name, in).step;
}

void attn_complete_example(struct attn_builder *b) {
  int output[ATTN_HEADS_MAX], heads = b->ex->heads;
  for (int h = 0; h < heads && !b->status; h++) output[h] = complete_head(b, heads > 1 ? h : -1);
  if (b->status || find(b, ATTN_STEP_PROJECTED, -1) >= 0) return;
  int concat = find(b, ATTN_STEP_CONCAT, -1), w = find(b, ATTN_STEP_W_O, -1);
  if (concat < 0 && heads > 1) concat = add_concat(b, output);
  add_product(b, ATTN_OP_MATMUL, ATTN_STEP_PROJECTED, -1, heads > 1 ? concat : output[0], w);
}
