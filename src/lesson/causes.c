/* causes.c -- why a step is wrong: single slips tried one after another, the simple and specific
 * first. A slip of the whole step must explain every wrong cell and leave the others right; a slip
 * of single cells must explain each wrong one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "judge.h"

struct cause_search {
  const attn_example *example;
  const struct attn_judged *all, *judged; /* of all steps; of this one */
  const attn_step *step;
  struct attn_pool *pool;
  int *out_of_memory;
  size_t cells;
};

/* 0 where the shapes do not fit: then this was not the slip. */
static int evaluates(const struct cause_search *h, const attn_step *step,
                     const attn_matrix *const *operand, attn_matrix *out) {
  attn_status status = attn_eval_step(step, operand, h->pool, out, NULL);
  if (status == ATTN_ERR_MEMORY) *h->out_of_memory = 1;
  return status == ATTN_OK;
}

/* The operand as the author has it where the author is right, else as he printed it. */
static const attn_matrix *operand(const struct cause_search *h, int32_t n) {
  int32_t index = h->step->operand[n];
  return h->all[index].tainted ? &h->all[index].carried : &h->example->step[index].exact;
}

static const attn_step *operand_step(const struct cause_search *h, int32_t n) {
  return n < h->step->operands ? &h->example->step[h->step->operand[n]] : NULL;
}

static int wrong(const struct cause_search *h, size_t n) {
  return h->judged->verdict[n] == ATTN_JUDGED_WRONG;
}

/* Values of another step are rounded once more on the way: a little more room than for the right.
 */
static int fits(const struct cause_search *h, size_t n, double value) {
  const attn_cell *cell = h->judged->printed[n];
  if (attn_judged_fits(h->judged, n, value)) return 1;
  double unit = pow(10, -(double)h->judged->decimals);
  return cell->kind == ATTN_CELL_NUMBER && h->judged->decimals > 0 &&
         fabs(cell->value - value) <= unit;
}

static int explains_all(const struct cause_search *h, const attn_matrix *m) {
  if (m->rows != h->step->exact.rows || m->cols != h->step->exact.cols) return 0;
  for (size_t n = 0; n < h->cells; n++)
    if (h->judged->printed[n] && !fits(h, n, m->at[n])) return 0;
  return 1;
}

/* The step computed anew by another operation, from other operands, with another scalar. */
static int as(const struct cause_search *h, int op, int axis, double scalar, const attn_matrix *a,
              const attn_matrix *b) {
  attn_step other = *h->step;
  attn_matrix out;
  const attn_matrix *operands[2] = {a, b};
  other.op = op, other.axis = axis, other.scalar = scalar, other.operands = b ? 2 : 1;
  return evaluates(h, &other, operands, &out) && explains_all(h, &out);
}

/* The right numbers of another step of the same head, or as the author has them. */
static const attn_matrix *named(const struct cause_search *h, int name, int right) {
  for (int32_t n = 0; n < h->example->steps; n++) {
    const attn_step *s = &h->example->step[n];
    if (s->name == name && (s->head == h->step->head || s->head < 0 || h->step->head < 0))
      return right || !h->all[n].tainted ? &s->exact : &h->all[n].carried;
  }
  return NULL;
}

/* ---- Slips of a whole step ----------------------------------------------------------- */

static int any_width(const struct cause_search *h, const attn_matrix *a) {
  for (int32_t n = 0; n < h->example->steps; n++) {
    const double widths[] = {h->example->step[n].exact.rows, h->example->step[n].exact.cols};
    for (int k = 0; k < 2; k++)
      if (as(h, ATTN_OP_DIVIDE, 0, sqrt(widths[k]), a, NULL) ||
          as(h, ATTN_OP_DIVIDE, 0, widths[k], a, NULL))
        return 1;
  }
  return 0;
}

static int scaling(const struct cause_search *h) {
  const attn_matrix *a = operand(h, 0);
  if (explains_all(h, a)) return ATTN_CAUSE_MISSING_SCALE;
  if (h->step->scaled_by && as(h, ATTN_OP_DIVIDE, 0, h->step->scaled_by, a, NULL))
    return ATTN_CAUSE_SCALE_BY_DK;
  return any_width(h, a) ? ATTN_CAUSE_SCALE_WRONG_DIM : ATTN_CAUSE_NONE;
}

/* A causal mask moved by one key, either way. */
static int moved_mask(const struct cause_search *h, const attn_step *masked, int then_softmax) {
  const attn_matrix *scores = &h->example->step[masked->operand[0]].exact;
  const attn_matrix *mask = &h->example->step[masked->operand[1]].exact;
  if (mask->rows != scores->rows || mask->cols != scores->cols) return 0;
  for (int32_t by = -1; by <= 1; by += 2) {
    attn_matrix m = attn_matrix_new(h->pool, scores->rows, scores->cols), out = m;
    if (!m.at) return *h->out_of_memory = 1, 0;
    for (int32_t i = 0; i < m.rows; i++)
      for (int32_t j = 0; j < m.cols; j++) {
        int32_t from = j + by < 0 ? 0 : j + by >= m.cols ? m.cols - 1 : j + by;
        int sees = mask->at[(size_t)i * (size_t)m.cols + (size_t)from] != 0;
        size_t at = (size_t)i * (size_t)m.cols + (size_t)j;
        m.at[at] = sees ? scores->at[at] : masked->scalar;
      }
    attn_step soft = *h->step;
    const attn_matrix *operands[] = {&m};
    soft.operands = 1;
    if (!then_softmax ? explains_all(h, &m)
                      : evaluates(h, &soft, operands, &out) && explains_all(h, &out))
      return 1;
  }
  return 0;
}

static int softmax(const struct cause_search *h) {
  const attn_matrix *a = operand(h, 0);
  const attn_step *from = operand_step(h, 0);
  int axis = h->step->axis;
  attn_matrix sum;
  if (as(h, ATTN_OP_SOFTMAX, !axis, 0, a, NULL)) return ATTN_CAUSE_SOFTMAX_OVER_COLUMNS;
  attn_step line = *h->step;
  line.op = ATTN_OP_SUM, line.operands = 1;
  if (evaluates(h, &line, &a, &sum) && as(h, ATTN_OP_QUOTIENT, axis, 0, a, &sum))
    return ATTN_CAUSE_SOFTMAX_WITHOUT_EXP;
  if (from->op == ATTN_OP_MASK &&
      as(h, ATTN_OP_SOFTMAX, axis, 0, &h->example->step[from->operand[0]].exact, NULL))
    return ATTN_CAUSE_MASK_IGNORED;
  if (from->op == ATTN_OP_MASK && moved_mask(h, from, 1)) return ATTN_CAUSE_MASK_OFF_BY_ONE;
  if (from->op == ATTN_OP_DIVIDE &&
      as(h, ATTN_OP_SOFTMAX, axis, 0, &h->example->step[from->operand[0]].exact, NULL))
    return ATTN_CAUSE_MISSING_SCALE;
  return ATTN_CAUSE_NONE;
}

/* Exponentials over their sums: over the sums of the other axis? */
static int quotient(const struct cause_search *h) {
  const attn_matrix *a = operand(h, 0);
  attn_step line = *h->step;
  attn_matrix sum;
  line.op = ATTN_OP_SUM, line.operands = 1, line.axis = !h->step->axis;
  return evaluates(h, &line, &a, &sum) && as(h, ATTN_OP_QUOTIENT, !h->step->axis, 0, a, &sum)
             ? ATTN_CAUSE_SOFTMAX_OVER_COLUMNS
             : ATTN_CAUSE_NONE;
}

static int mask(const struct cause_search *h) {
  if (explains_all(h, operand(h, 0))) return ATTN_CAUSE_MASK_IGNORED;
  return moved_mask(h, h->step, 0) ? ATTN_CAUSE_MASK_OFF_BY_ONE : ATTN_CAUSE_NONE;
}

static int is_output(const struct cause_search *h) { return h->step->name == ATTN_STEP_OUTPUT; }

static int product(const struct cause_search *h) {
  const attn_matrix *a = operand(h, 0), *b = operand(h, 1);
  int name = h->step->name;
  int other = name == ATTN_STEP_Q ? ATTN_STEP_K : name == ATTN_STEP_K ? ATTN_STEP_Q : -1;
  const attn_matrix *k = named(h, ATTN_STEP_K, 0);
  const attn_matrix *swap = other < 0 ? NULL : named(h, other, 1);
  if (swap && explains_all(h, swap)) return ATTN_CAUSE_SWAPPED_QK;
  if (name == ATTN_STEP_V && k && explains_all(h, k)) return ATTN_CAUSE_K_INSTEAD_OF_V;
  if (is_output(h) && k && as(h, h->step->op, 0, 0, a, k)) return ATTN_CAUSE_K_INSTEAD_OF_V;
  if (name == ATTN_STEP_SCORES && as(h, h->step->op, 0, 0, b, a)) return ATTN_CAUSE_SWAPPED_QK;
  if (h->step->op == ATTN_OP_MATMUL && as(h, ATTN_OP_MATMUL_NT, 0, 0, a, b))
    return is_output(h) ? ATTN_CAUSE_WRONG_ROW_OR_COLUMN : ATTN_CAUSE_TRANSPOSED_WEIGHTS;
  if (h->step->op == ATTN_OP_MATMUL_NT && as(h, ATTN_OP_MATMUL, 0, 0, a, b))
    return ATTN_CAUSE_WRONG_ROW_OR_COLUMN;
  if (is_output(h) && h->step->op != ATTN_OP_MATMUL_NT &&
      as(h, h->step->op == ATTN_OP_MATMUL ? ATTN_OP_MATMUL_TN : ATTN_OP_MATMUL, 0, 0, a, b))
    return ATTN_CAUSE_WRONG_WEIGHT_ROW;
  return ATTN_CAUSE_NONE;
}

/* ---- Slips of single cells ------------------------------------------------------------- */

static int each_wrong(const struct cause_search *h,
                      int (*explains)(const struct cause_search *, size_t)) {
  for (size_t n = 0; n < h->cells; n++)
    if (wrong(h, n) && !explains(h, n)) return 0;
  return 1;
}

static double follows(const struct cause_search *h, size_t n) { return h->judged->followed.at[n]; }
static double exact(const struct cause_search *h, size_t n) { return h->step->exact.at[n]; }

/* Is what is printed at n the number of another place, however exact the author had that? */
static int is_that_of(const struct cause_search *h, size_t n, size_t other) {
  return fits(h, n, follows(h, other)) || fits(h, n, exact(h, other));
}

/* Every wrong cell is what another row gives at the same column. */
static int of_another_row(const struct cause_search *h, size_t n) {
  size_t cols = (size_t)h->step->exact.cols;
  for (size_t at = n % cols; at < h->cells; at += cols)
    if (at != n && is_that_of(h, n, at)) return 1;
  return 0;
}

/* Or what another column gives. */
static int of_another_place(const struct cause_search *h, size_t n) {
  size_t cols = (size_t)h->step->exact.cols, row = n / cols * cols;
  for (size_t at = row; at < row + cols; at++)
    if (at != n && is_that_of(h, n, at)) return 1;
  return of_another_row(h, n);
}

/* Cells of one line: `count` of them, `stride` apart. */
struct cell_line {
  size_t first, stride, count;
};

static int line_is_wrong(const struct cause_search *h, struct cell_line l) {
  for (size_t n = 0; n < l.count; n++)
    if (wrong(h, l.first + n * l.stride)) return 1;
  return 0;
}

/* All that is printed of the line is what the line `from` of the product gives. */
static int line_is_that_of(const struct cause_search *h, struct cell_line l, size_t from) {
  for (size_t n = 0; n < l.count; n++) {
    size_t at = l.first + n * l.stride;
    if (h->judged->printed[at] && !is_that_of(h, at, from + n * l.stride)) return 0;
  }
  return 1;
}

/* Every row (or column) with a wrong cell is another one, whole: chance does that less easily than
 * a cell alone. */
static int lines_are_others(const struct cause_search *h, int columns) {
  size_t cols = (size_t)h->step->exact.cols, rows = (size_t)h->step->exact.rows;
  size_t lines = columns ? cols : rows, next = columns ? 1 : cols;
  for (size_t l = 0; l < lines; l++) {
    const struct cell_line line = {l * next, columns ? cols : 1, columns ? rows : cols};
    int found = !line_is_wrong(h, line);
    for (size_t other = 0; other < lines && !found; other++)
      found = other != l && line_is_that_of(h, line, other * next);
    if (!found) return 0;
  }
  return 1;
}

static int lines_were_mixed_up(const struct cause_search *h) {
  return lines_are_others(h, 0) || lines_are_others(h, 1);
}

/* The terms a_ik b_kj of one cell of a product. */
static int32_t terms(const struct cause_search *h, size_t n, double *term, int32_t most) {
  const attn_matrix *a = operand(h, 0), *b = operand(h, 1);
  size_t cols = (size_t)h->step->exact.cols, i = n / cols, j = n % cols;
  int ta = h->step->op == ATTN_OP_MATMUL_TN, tb = h->step->op == ATTN_OP_MATMUL_NT;
  int32_t inner = ta ? a->rows : a->cols;
  for (int32_t k = 0; k < inner && k < most; k++) {
    double x = ta ? a->at[(size_t)k * (size_t)a->cols + i] : a->at[i * (size_t)a->cols + (size_t)k];
    double y = tb ? b->at[j * (size_t)b->cols + (size_t)k] : b->at[(size_t)k * (size_t)b->cols + j];
    term[k] = x * y;
  }
  return inner < most ? inner : most;
}

static int is_product(const struct cause_search *h) {
  return h->step->op == ATTN_OP_MATMUL || h->step->op == ATTN_OP_MATMUL_NT ||
         h->step->op == ATTN_OP_MATMUL_TN;
}

/* The whole cell, or one term of its sum, with the other sign. */
static int of_another_sign(const struct cause_search *h, size_t n) {
  double term[64], value = follows(h, n);
  if (value != 0 && fits(h, n, -value)) return 1;
  int32_t count = is_product(h) ? terms(h, n, term, 64) : 0;
  for (int32_t k = 0; k < count; k++)
    if (term[k] != 0 && fits(h, n, value - 2 * term[k])) return 1;
  return 0;
}

/* Two digits of value change places. */
static int digits_swapped(const struct cause_search *h, size_t n, double value) {
  const attn_cell *cell = h->judged->printed[n];
  char right[48], got[48];
  int places = h->judged->decimals;
  if (cell->kind != ATTN_CELL_NUMBER || fabs(value) > 1e12 || fabs(cell->value) > 1e12) return 0;
  snprintf(right, sizeof right, "%.*f", places, value);
  snprintf(got, sizeof got, "%.*f", places, cell->value);
  if (strlen(right) != strlen(got)) return 0;
  size_t differ = 0, first = 0, second = 0;
  for (size_t k = 0; right[k]; k++)
    if (right[k] != got[k]) second = differ ? k : second, first = differ++ ? first : k;
  return differ == 2 && right[first] == got[second] && right[second] == got[first];
}

static int copied_wrongly(const struct cause_search *h, size_t n) {
  return digits_swapped(h, n, follows(h, n)) || digits_swapped(h, n, exact(h, n));
}

/* The author rounded, or cut, at fewer digits than he prints. */
static int rounded_early(const struct cause_search *h, size_t n) {
  const attn_cell *cell = h->judged->printed[n];
  double value = follows(h, n);
  for (int d = h->judged->decimals; d >= 1; d--) {
    double unit = pow(10, d);
    if (fabs(round(value * unit) / unit - cell->value) < 1e-12 ||
        fabs(trunc(value * unit) / unit - cell->value) < 1e-12)
      return 1;
  }
  return 0;
}

static int count_wrong(const struct cause_search *h) {
  int count = 0;
  for (size_t n = 0; n < h->cells; n++) count += wrong(h, n);
  return count;
}

static int by_cells(const struct cause_search *h) {
  int32_t name = h->step->name;
  if (each_wrong(h, rounded_early)) return ATTN_CAUSE_ROUNDING_TOO_COARSE;
  if (each_wrong(h, of_another_sign)) return ATTN_CAUSE_SIGN_SLIP;
  if (each_wrong(h, copied_wrongly)) return ATTN_CAUSE_TRANSCRIPTION;
  int one = count_wrong(h) == 1;
  if ((is_output(h) || name == ATTN_STEP_WEIGHTS) && !one && lines_are_others(h, 0))
    return ATTN_CAUSE_WRONG_WEIGHT_ROW;
  if (is_product(h) && (one ? each_wrong(h, of_another_place) : lines_were_mixed_up(h)))
    return ATTN_CAUSE_WRONG_ROW_OR_COLUMN;
  if (one)
    return h->step->op == ATTN_OP_SOFTMAX ? ATTN_CAUSE_SOFTMAX_CELL : ATTN_CAUSE_ARITHMETIC_CELL;
  return ATTN_CAUSE_UNKNOWN;
}

attn_status attn_find_cause(const attn_example *example, const struct attn_judged *judged,
                            int32_t step, struct attn_pool *pool, int32_t *cause, attn_error *err) {
  const attn_step *s = &example->step[step];
  int out_of_memory = 0;
  const struct cause_search h = {example,
                                 judged,
                                 &judged[step],
                                 s,
                                 pool,
                                 &out_of_memory,
                                 (size_t)s->exact.rows * (size_t)s->exact.cols};
  *cause = ATTN_CAUSE_NONE;
  if (s->op == ATTN_OP_DIVIDE) *cause = scaling(&h);
  if (s->op == ATTN_OP_SOFTMAX) *cause = softmax(&h);
  if (s->op == ATTN_OP_QUOTIENT) *cause = quotient(&h);
  if (s->op == ATTN_OP_MASK) *cause = mask(&h);
  if (is_product(&h)) *cause = product(&h);
  if (*cause == ATTN_CAUSE_NONE) *cause = by_cells(&h);
  return out_of_memory ? attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to look for the cause")
                       : ATTN_OK;
}
