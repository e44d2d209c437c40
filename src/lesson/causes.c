/* causes.c -- why a step is wrong, where no slip of the whole step explains it: the first wrong
 * number is explained, with its row. */
#include "causes.h"

#include <math.h>

#include "error.h"
#include "operations.h"

enum { WORK_MAX = 200000000 };

/* ---- What the search is made of ---------------------------------------------------------- */

const attn_matrix *attn_cause_operand(const struct attn_cause_search *h, const attn_step *step,
                                      int32_t n) {
  int32_t index = step->operand[n];
  int printed = (h->as_printed >> (n < 2 ? n : 1)) & 1;
  return printed || h->all[index].tainted ? &h->all[index].carried : &h->example->step[index].exact;
}

int attn_cause_afford(struct attn_cause_search *h, double count, double each) {
  h->work -= count * each;
  return h->work > 0;
}

/* In multiplications; a division or an exponential counts as sixteen. */
static double cost(const attn_step *step, const attn_matrix *const *operand) {
  double own = 16.0 * operand[0]->rows * operand[0]->cols;
  if (!attn_is_product(step->op) && step->op != ATTN_OP_GENERAL) return own;
  return own +
         (double)operand[0]->rows * operand[0]->cols * fmax(operand[1]->rows, operand[1]->cols);
}

int attn_cause_eval(struct attn_cause_search *h, const attn_step *step,
                    const attn_matrix *const *operand, attn_matrix *out) {
  if (!attn_cause_afford(h, cost(step, operand), 1)) return 0;
  attn_status status = attn_eval_step(step, operand, h->pool, out, NULL);
  if (status == ATTN_ERR_MEMORY) h->out_of_memory = 1;
  return status == ATTN_OK;
}

int attn_cause_fits(const struct attn_cause_search *h, size_t n, double value) {
  const attn_cell *cell = h->judged->printed[n];
  if (attn_judged_fits(h->judged, n, value)) return 1;
  double unit = pow(10, -(double)h->judged->decimals), off = fabs(cell->value - value);
  double right =
      fmin(fabs(cell->value - h->step->exact.at[n]), fabs(cell->value - h->judged->followed.at[n]));
  int better = h->judged->verdict[n] != ATTN_JUDGED_WRONG || 2 * off < right;
  return cell->kind == ATTN_CELL_NUMBER && h->judged->decimals > 0 && off <= unit && better;
}

static int is_miss(const struct attn_cause_search *h, size_t n) {
  return h->judged->verdict[n] == ATTN_JUDGED_WRONG ||
         h->judged->verdict[n] == ATTN_JUDGED_DOUBTFUL;
}

size_t attn_cause_misses(const struct attn_cause_search *h, struct attn_cell_line line) {
  size_t count = 0;
  for (size_t n = 0; n < line.count; n++) count += is_miss(h, line.first + n * line.stride) != 0;
  return count;
}

/* ---- Where the first wrong number is ------------------------------------------------------- */

static size_t first_wrong(const struct attn_cause_search *h) {
  size_t n = 0;
  while (n + 1 < h->cells && h->judged->verdict[n] != ATTN_JUDGED_WRONG) n++;
  return n;
}

static struct attn_cell_line all_cells(const struct attn_cause_search *h) {
  return (struct attn_cell_line){0, 1, h->cells, 0};
}

/* Scores and weights are as the example has them; an output is turned as its weights are used. */
static int queries_in_columns(const struct attn_cause_search *h) {
  const attn_step *s = h->step;
  int columns = h->example->orientation == ATTN_QUERIES_IN_COLUMNS;
  if (s->name != ATTN_STEP_OUTPUT || !attn_is_product(s->op)) return columns;
  return h->example->step[s->operand[1]].name == ATTN_STEP_WEIGHTS;
}

/* The row of cell n, or its column. */
static struct attn_cell_line line_of(const struct attn_cause_search *h, size_t n, int column) {
  size_t rows = (size_t)h->step->exact.rows, cols = (size_t)h->step->exact.cols;
  int is_query = column == queries_in_columns(h);
  return column ? (struct attn_cell_line){n % cols, cols, rows, is_query}
                : (struct attn_cell_line){n / cols * cols, 1, cols, is_query};
}

static struct attn_cell_line query_of(const struct attn_cause_search *h, size_t n) {
  return line_of(h, n, queries_in_columns(h));
}

/* ---- The search ------------------------------------------------------------------------ */

/* Both lines through the first wrong cell, the query's first. */
static int by_lines(struct attn_cause_search *h, size_t first,
                    int (*cause_of)(struct attn_cause_search *, struct attn_cell_line)) {
  int turned = queries_in_columns(h), cause = ATTN_CAUSE_NONE;
  for (int other = 0; other < 2 && !cause; other++) {
    struct attn_cell_line line = line_of(h, first, turned ^ other);
    if (attn_cause_misses(h, line) > 1) cause = cause_of(h, line);
  }
  return cause;
}

/* A softmax is normalized, so one slip moves its whole row. */
static int is_softmax(const attn_step *step) {
  return step->op == ATTN_OP_SOFTMAX || step->name == ATTN_STEP_WEIGHTS;
}

/* Is some row, or column, printed and right? */
static int has_right_query(const struct attn_cause_search *h) {
  int turned = queries_in_columns(h);
  size_t cols = (size_t)h->step->exact.cols, count = turned ? cols : h->cells / cols;
  for (size_t l = 0; l < count; l++) {
    struct attn_cell_line line = line_of(h, turned ? l : l * cols, turned);
    size_t printed = 0;
    for (size_t n = 0; n < line.count; n++)
      printed += h->judged->printed[line.first + n * line.stride] != NULL;
    if (printed && !attn_cause_misses(h, line)) return 1;
  }
  return 0;
}

/* Hidden where the mask shows it, or visible where the mask hides it. */
static int mask_differs(const struct attn_cause_search *h, size_t n) {
  const attn_matrix *mask = &h->example->step[h->step->operand[1]].exact;
  size_t cols = (size_t)h->step->exact.cols, i = mask->rows == 1 ? 0 : n / cols;
  size_t j = mask->cols == 1 ? 0 : n % cols;
  int sees = mask->at[i * (size_t)mask->cols + j] != 0;
  return sees != (h->judged->printed[n]->value > -1e3);
}

static int of_mask(const struct attn_cause_search *h, size_t first) {
  struct attn_cell_line line = query_of(h, first);
  size_t count = 0;
  for (size_t n = 0; n < line.count; n++) {
    size_t at = line.first + n * line.stride;
    count += is_miss(h, at) && mask_differs(h, at);
  }
  size_t hidden = 0;
  for (size_t n = 0; n < h->cells; n++)
    hidden += h->judged->printed[n] && h->judged->printed[n]->value < -1e3;
  if (!mask_differs(h, first)) return ATTN_CAUSE_TRANSCRIPTION;
  return count > 1 || !hidden ? ATTN_CAUSE_MASK_IGNORED : ATTN_CAUSE_MASK_OFF_BY_ONE;
}

/* Nothing is known but the place. A step that only copies can only copy wrongly. */
static int by_place(const struct attn_cause_search *h, size_t first) {
  size_t in_row = attn_cause_misses(h, line_of(h, first, 0));
  size_t in_column = attn_cause_misses(h, line_of(h, first, 1));
  if (h->step->op == ATTN_OP_MASK) return of_mask(h, first);
  int alone = in_row == 1 && in_column == 1;
  int copies = h->step->op == ATTN_OP_APPEND || h->step->op == ATTN_OP_COLUMNS;
  if (copies && alone) return ATTN_CAUSE_TRANSCRIPTION;
  if (is_softmax(h->step)) {
    struct attn_cell_line query = query_of(h, first);
    int local = attn_cause_misses(h, query) == 1 || query.count == h->cells || has_right_query(h);
    return local ? ATTN_CAUSE_SOFTMAX_CELL : ATTN_CAUSE_UNKNOWN;
  }
  return alone ? ATTN_CAUSE_ARITHMETIC_CELL : ATTN_CAUSE_UNKNOWN;
}

/* Are there several misses outside the query's line and the line that crosses it? Then no slip of
 * one line or cell explains them. */
static int is_scattered(const struct attn_cause_search *h, size_t first) {
  size_t cross =
      attn_cause_misses(h, line_of(h, first, 0)) + attn_cause_misses(h, line_of(h, first, 1));
  size_t all = attn_cause_misses(h, all_cells(h));
  return all > cross && !is_softmax(h->step) && h->step->op != ATTN_OP_MASK;
}

static int search(struct attn_cause_search *h) {
  size_t first = first_wrong(h);
  int cause = ATTN_CAUSE_NONE;
  if (attn_cause_misses(h, all_cells(h)) == 1) cause = attn_cause_of_cell(h, first);
  if (!cause) cause = attn_cause_of_rounding(h);
  if (!cause) cause = attn_cause_of_swap(h);
  if (!cause && is_scattered(h, first)) return by_place(h, first);
  if (!cause) cause = by_lines(h, first, attn_cause_of_other_line);
  if (!cause) cause = by_lines(h, first, attn_cause_of_operand);
  if (!cause && attn_cause_misses(h, query_of(h, first)) == 1) cause = attn_cause_of_cell(h, first);
  return cause ? cause : by_place(h, first);
}

attn_status attn_find_cause(const attn_example *example, const struct attn_judged *judged,
                            int32_t step, int32_t *cause, attn_error *err) {
  const attn_step *s = &example->step[step];
  struct attn_cause_search h = {.example = example,
                                .all = judged,
                                .judged = &judged[step],
                                .step = s,
                                .index = step,
                                .pool = attn_pool_new(),
                                .cells = (size_t)s->exact.rows * (size_t)s->exact.cols,
                                .work = WORK_MAX};
  h.out_of_memory = !h.pool;
  *cause = h.pool ? search(&h) : ATTN_CAUSE_NONE;
  attn_pool_free(h.pool);
  return h.out_of_memory ? attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to look for the cause")
                         : ATTN_OK;
}
