/* judge.c -- is each printed number right? The rules: docs/check.md. */
#include "judge.h"

#include <math.h>
#include <string.h>

#include "cell.h"
#include "error.h"
#include "operations.h"
#include "steps.h"

/* ---- What is printed of a step: the best printing of each cell ------------------- */

static int is_literal(const attn_cell *cell) {
  return cell->kind == ATTN_CELL_NUMBER || cell->kind == ATTN_CELL_SCIENTIFIC;
}

/* A literal before a sum, many digits before few. */
static int better(const attn_cell *a, const attn_cell *than) {
  if (!than) return 1;
  int literal = is_literal(a), other = is_literal(than);
  return literal != other ? literal : a->decimals > than->decimals;
}

/* Is a cell that is worked out another number than its result? Arithmetic beside a step is listed
 * as such. */
static int is_other(const attn_cell *a, const attn_cell *b) {
  double slack = 1e-9 * (1 + fabs(b->value));
  return is_literal(a) != is_literal(b) && (a->lo > b->hi + slack || a->hi < b->lo - slack);
}

/* Printed twice with other numbers: the one that is farther from the exact number. */
static const attn_cell *worse(const attn_cell *a, const attn_cell *b, double exact) {
  return fabs(a->value - exact) > fabs(b->value - exact) ? a : b;
}

/* 0.005753 has four digits that count; 0 for what has no point. */
static int significant(const attn_cell *cell) {
  if (cell->kind != ATTN_CELL_NUMBER || cell->decimals < 1 || cell->value == 0) return 0;
  return (int)floor(log10(fabs(cell->value))) + 1 + cell->decimals;
}

/* 3/2, and no whole number or infinity */
static int is_fraction(const attn_cell *cell) {
  return cell->kind == ATTN_CELL_EXACT && isfinite(cell->value) &&
         cell->value != floor(cell->value);
}

static attn_status collect(struct attn_judged *j, const attn_step *s, struct attn_pool *pool,
                           attn_error *err) {
  size_t cells = (size_t)s->exact.rows * (size_t)s->exact.cols;
  j->printed = attn_pool_take(pool, (cells + 1) * sizeof *j->printed);
  if (!j->printed) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory");
  for (int32_t p = 0; p < s->printings; p++) {
    const attn_printing *g = &s->printing[p];
    int is_whole = g->rows == s->exact.rows && g->cols == s->exact.cols;
    for (int32_t r = 0; r < g->rows; r++)
      for (int32_t c = 0; c < g->cols; c++) {
        const attn_cell *cell = &g->cells[r * g->cols + c];
        int32_t row = r + g->row0, col = c + g->col0;
        if (cell->kind == ATTN_CELL_BLANK || row >= s->exact.rows || col >= s->exact.cols) continue;
        const attn_cell **at = &j->printed[(size_t)row * (size_t)s->exact.cols + (size_t)col];
        if (*at && ((is_whole && is_other(cell, *at)) ||
                    (is_literal(cell) && is_literal(*at) && attn_cells_contradict(cell, *at))))
          *at = worse(cell, *at, s->exact.at[row * s->exact.cols + col]);
        else if (better(cell, *at))
          *at = cell;
        if (cell->kind == ATTN_CELL_NUMBER && cell->decimals > j->decimals)
          j->decimals = cell->decimals;
        j->has_fractions |= is_fraction(cell);
        if (significant(cell) > j->significant) j->significant = significant(cell);
        if (cell->value > ATTN_HIDDEN) j->largest = fmax(j->largest, fabs(cell->value));
      }
  }
  return ATTN_OK;
}

/* ---- The author's own numbers ------------------------------------------------------ */

/* carried = what is printed, and where nothing is, what follows from what was printed before. */
static void overlay(struct attn_judged *j, const attn_step *s) {
  for (size_t n = 0; n < (size_t)s->exact.rows * (size_t)s->exact.cols; n++)
    j->carried.at[n] =
        j->printed[n] && s->op != ATTN_OP_GIVEN ? j->printed[n]->value : j->followed.at[n];
}

/* What a printed cell may mean when the next step is computed from it. An integer among
 * numbers with digits is one of those, its zeros dropped; one that is the computed number itself
 * hides no more than its operands leave open; only a lonely integer may hide half a unit. */
static struct attn_interval stands_for(const struct attn_judged *j, size_t n, double exact) {
  const attn_cell *cell = j->printed[n];
  double value = cell->value;
  if (cell->kind == ATTN_CELL_EXACT) return (struct attn_interval){value, value};
  if (value == exact || value == j->followed.at[n]) {
    if (!j->open.lo.at) return (struct attn_interval){value, value};
    double half = 0.5 * pow(10, -(double)j->decimals);
    return (struct attn_interval){fmin(value, fmax(value - half, j->open.lo.at[n])),
                                  fmax(value, fmin(value + half, j->open.hi.at[n]))};
  }
  if (cell->kind == ATTN_CELL_NUMBER && cell->decimals == 0 && j->decimals > 0) {
    double half = 0.5 * pow(10, -(double)j->decimals);
    return (struct attn_interval){value - half, value + half};
  }
  /* All whole, and the author's operands whole as well: he computed with whole numbers. */
  if (cell->kind == ATTN_CELL_NUMBER && cell->decimals == 0 && exact == floor(exact))
    return (struct attn_interval){value, value};
  /* What is printed, or what it was rounded from. */
  double lo = cell->lo, hi = cell->hi;
  if (j->open.lo.at) lo = fmax(lo, j->open.lo.at[n]), hi = fmin(hi, j->open.hi.at[n]);
  if (lo > hi) return (struct attn_interval){cell->lo, cell->hi};
  return (struct attn_interval){fmin(value, lo), fmax(value, hi)};
}

/* Scaled scores and weights that are not printed may have been rounded, to as many decimals as what
 * they are used for. Half a unit of these; 0 of other steps. */
static double half_of_unprinted(const attn_example *e, int32_t index) {
  const attn_step *s = &e->step[index];
  int is_rounded = s->name == ATTN_STEP_SCALED || s->name == ATTN_STEP_WEIGHTS;
  if (!is_rounded || s->op == ATTN_OP_GIVEN || s->printings) return 0;
  int32_t n = index + 1;
  while (n < e->steps && !e->step[n].printings) n++;
  return n < e->steps ? fmin(0.005, attn_cell_half(&e->step[n].printing[0].cells[0])) : 0;
}

/* Weights that are given next to queries or keys, or whose sums are 1 but for rounding, follow from
 * numbers that the document does not show: they are rounded. */
static int is_given_rounded(const attn_example *e, const attn_step *s) {
  const attn_matrix *m = &s->exact;
  const int in_columns = e->orientation == ATTN_QUERIES_IN_COLUMNS;
  const int32_t queries = in_columns ? m->cols : m->rows, keys = in_columns ? m->rows : m->cols;
  double most = 0;
  if (s->op != ATTN_OP_GIVEN || s->name != ATTN_STEP_WEIGHTS || !s->printings) return 0;
  if (attn_find_step(e, ATTN_STEP_Q, s->head) || attn_find_step(e, ATTN_STEP_K, s->head)) return 1;
  for (int32_t q = 0; q < queries; q++) {
    double sum = 0;
    for (int32_t k = 0; k < keys; k++) sum += m->at[in_columns ? k * m->cols + q : q * m->cols + k];
    most = fmax(most, fabs(sum - 1));
  }
  return most > 1e-9 && most <= keys * attn_cell_half(&s->printing[0].cells[0]) + 1e-9;
}

/* The interval of a cell as an operand: what was printed, or the range that rounds to it. */
static void spread(struct attn_judged *j, const attn_example *e, int32_t index) {
  const attn_step *s = &e->step[index];
  const double unprinted = half_of_unprinted(e, index);
  const int is_rounded = is_given_rounded(e, s);
  for (size_t n = 0; n < (size_t)s->exact.rows * (size_t)s->exact.cols; n++) {
    const attn_cell *cell = j->printed[n];
    double exact = s->exact.at[n];
    if (s->op == ATTN_OP_GIVEN || (!cell && !j->range.lo.at)) {
      const int may_move =
          is_rounded && cell && cell->kind == ATTN_CELL_NUMBER && cell->decimals > 0;
      j->right.lo.at[n] = j->author.lo.at[n] = may_move ? cell->lo : exact;
      j->right.hi.at[n] = j->author.hi.at[n] = may_move ? cell->hi : exact;
      continue;
    }
    double lo = j->range.lo.at[n] - unprinted, hi = j->range.hi.at[n] + unprinted;
    j->right.lo.at[n] = j->author.lo.at[n] = lo, j->right.hi.at[n] = j->author.hi.at[n] = hi;
    if (!cell) continue;
    struct attn_interval stands = stands_for(j, n, exact);
    double from = stands.lo, to = stands.hi;
    j->author.lo.at[n] = from, j->author.hi.at[n] = to;
    if (j->verdict[n] == ATTN_JUDGED_WRONG || j->verdict[n] == ATTN_JUDGED_CARRIED) {
      j->right.lo.at[n] = j->right.hi.at[n] = exact;
    } else {
      j->right.lo.at[n] = fmin(from, exact), j->right.hi.at[n] = fmax(to, exact);
    }
  }
}

/* ---- Judging one cell ------------------------------------------------------------------ */

static double slack_of(double value) { return 1e-9 * (1 + fabs(value)); }

/* Half a unit of the last digit that the author kept, where zeros at its end may have been dropped:
 * as many decimals as the matrix shows anywhere, or as many significant digits. */
static double half_unit(const struct attn_judged *j, const attn_cell *cell) {
  double half = 0.5 * pow(10, -(double)j->decimals), own = (cell->hi - cell->lo) / 2;
  if (cell->value == 0 || !j->significant) return half;
  double counted = 0.5 * pow(10, floor(log10(fabs(cell->value))) + 1 - j->significant);
  return fmin(own, fmax(half, counted));
}

/* Is the printed number a rounding of value? */
static int rounds_to(const struct attn_judged *j, const attn_cell *cell, double value) {
  if (value == cell->value) return 1;
  if (value == -(double)INFINITY) return cell->value < attn_hidden_below(j->largest);
  if (isinf(value) || isinf(cell->value)) return 0;
  if (cell->kind == ATTN_CELL_SUM || cell->kind == ATTN_CELL_SCIENTIFIC)
    return value >= cell->lo - slack_of(value) && value <= cell->hi + slack_of(value);
  if (cell->kind != ATTN_CELL_NUMBER) return fabs(value - cell->value) <= slack_of(value);
  if (j->decimals == 0 && !j->is_rounded) return fabs(value - cell->value) <= slack_of(value);
  return fabs(value - cell->value) <= half_unit(j, cell) + slack_of(value);
}

int attn_judged_fits(const struct attn_judged *j, size_t n, double value) {
  return rounds_to(j, j->printed[n], value);
}

/* Can the printed number, unrounded, be in the interval? An integer among decimals has theirs; one
 * among fractions is exact. */
static int may_be_in(const struct attn_judged *j, const attn_cell *cell, double lo, double hi) {
  double slack = slack_of(cell->value), from = cell->lo, to = cell->hi;
  if (isinf(cell->value)) return cell->value >= lo && cell->value <= hi;
  if (cell->kind == ATTN_CELL_NUMBER && cell->decimals == 0 && j->decimals > 0)
    from = cell->value - half_unit(j, cell), to = cell->value + half_unit(j, cell);
  if (j->decimals == 0 && j->has_fractions && !j->is_rounded) from = to = cell->value;
  return from - slack <= hi && to + slack >= lo;
}

/* ---- One step -------------------------------------------------------------------------- */

struct example_judgement {
  const attn_example *example;
  struct attn_judged *all;
  struct attn_pool *pool;
  attn_error *err;
};

/* Which numbers an operand is read as. */
enum operand_reading { READ_EXACT, READ_CARRIED, READ_FOLLOWED, READINGS };

static const attn_matrix *operand_as(const struct example_judgement *g, int32_t index,
                                     enum operand_reading how) {
  if (how == READ_CARRIED) return &g->all[index].carried;
  return how == READ_FOLLOWED ? &g->all[index].followed : &g->example->step[index].exact;
}

static int tainted(const struct example_judgement *g, const attn_step *s) {
  for (int32_t n = 0; n < s->operands; n++)
    if (g->all[s->operand[n]].tainted) return 1;
  return 0;
}

/* Marks the cells that one way of computing the step explains: 1 right, 2 by the author's slip. */
static attn_status explain_as(const struct example_judgement *g, int32_t index,
                              const enum operand_reading *how, double scalar,
                              unsigned char *explained) {
  const attn_step *s = &g->example->step[index];
  struct attn_judged *j = &g->all[index];
  attn_step as = *s;
  attn_matrix out;
  const attn_matrix *operand[ATTN_OPERANDS_MAX];
  int slipped = 0;
  as.scalar = scalar;
  for (int32_t n = 0; n < s->operands; n++) {
    operand[n] = operand_as(g, s->operand[n], how[n]);
    slipped |= how[n] != READ_EXACT && g->all[s->operand[n]].tainted;
  }
  attn_status status = attn_eval_step(&as, operand, g->pool, &out, g->err);
  if (status || out.rows != s->exact.rows || out.cols != s->exact.cols) return status;
  for (size_t n = 0; n < (size_t)out.rows * (size_t)out.cols; n++)
    if (j->printed[n] && attn_judged_fits(j, n, out.at[n])) explained[n] |= slipped ? 2 : 1;
  return ATTN_OK;
}

/* The root of d_k as people write it: in full, or to a few digits. */
static double written(double x, int digits) {
  double unit = pow(10, digits);
  return digits ? round(x * unit) / unit : x;
}

static attn_status explain_with(const struct example_judgement *g, int32_t index, double scalar,
                                unsigned char *explained) {
  const attn_step *s = &g->example->step[index];
  attn_status status = ATTN_OK;
  for (int a = 0; a < READINGS && !status; a++)
    for (int b = 0; b < (s->operands == 2 ? READINGS : 1) && !status; b++) {
      enum operand_reading how[ATTN_OPERANDS_MAX];
      for (int32_t n = 0; n < s->operands; n++)
        how[n] = (enum operand_reading)(n == 1 && s->operands == 2 ? b : a);
      status = explain_as(g, index, how, scalar, explained);
    }
  return status;
}

static size_t count_explained(const unsigned char *explained, size_t cells) {
  size_t count = 0;
  for (size_t n = 0; n < cells; n++) count += explained[n] != 0;
  return count;
}

/* Ways to write a divisor; and the factors 0.71, 0.707 and 0.7071 in place of the root of 2. */
enum { WRITTEN = 4, FACTORS = 3 };

static int ways_to_divide(double scalar) {
  return WRITTEN + (fabs(scalar - sqrt(2)) < 1e-9 ? FACTORS : 0);
}

/* The divisors that people write: the root in full, to a few digits, or what is multiplied by. */
static double written_divisor(double scalar, int way) {
  if (way >= WRITTEN) return 1 / written(1 / scalar, way - WRITTEN + 2);
  return way ? written(scalar, way + 1) : scalar;
}

/* An author divides by one number: the written divisor that explains the most cells. */
static attn_status explain_quotients(const struct example_judgement *g, int32_t index,
                                     unsigned char *explained, size_t cells) {
  double scalar = g->example->step[index].scalar;
  unsigned char *tried = attn_pool_take(g->pool, cells + 1);
  attn_status status = tried ? ATTN_OK : attn_fail(g->err, ATTN_ERR_MEMORY, NULL, "no memory");
  for (int d = 0; d < ways_to_divide(scalar) && !status; d++) {
    memset(tried, 0, cells);
    status = explain_with(g, index, written_divisor(scalar, d), tried);
    if (count_explained(tried, cells) <= count_explained(explained, cells)) continue;
    memcpy(explained, tried, cells);
    g->all[index].rounded_divisor = d > 0;
  }
  return status;
}

static attn_status explain_all(const struct example_judgement *g, int32_t index,
                               unsigned char *explained, size_t cells) {
  const attn_step *s = &g->example->step[index];
  if (s->op == ATTN_OP_DIVIDE) return explain_quotients(g, index, explained, cells);
  return explain_with(g, index, s->scalar, explained);
}

/* Are the terms of a product exact with the decimals that are printed? So are 0.3 · 1.2 with two;
 * not of given weights or scores, which may have been rounded. */
static int has_exact_terms(const struct example_judgement *g, const attn_step *s, int decimals) {
  if (!attn_is_product(s->op)) return 0;
  for (int32_t n = 0; n < s->operands; n++) {
    const struct attn_judged *of = &g->all[s->operand[n]];
    const attn_step *operand = &g->example->step[s->operand[n]];
    size_t cells = (size_t)operand->exact.rows * (size_t)operand->exact.cols;
    if (operand->op != ATTN_OP_GIVEN || operand->name >= ATTN_STEP_SCORES) return 0;
    for (size_t c = 0; c < cells; c++)
      if (!of->printed[c] || of->printed[c]->kind != ATTN_CELL_NUMBER) return 0;
    decimals -= of->decimals;
  }
  return decimals >= 0;
}

/* Half a unit of what an author rounds on the way: two decimals, or one less than the result has.
 * The terms of a product have as many as their sum. */
static double half_on_the_way(const attn_step *s, int decimals) {
  int kept = attn_is_product(s->op) ? decimals : decimals - 1;
  return 0.5 * pow(10, -(double)(kept > 2 ? kept : 2));
}

/* Additive scores whose tanh is printed were rounded as that is. 0: it is not printed. */
static int decimals_on_the_way(const struct example_judgement *g, int32_t index) {
  int decimals = 0;
  for (int32_t n = 0; n < index && g->example->step[index].op == ATTN_OP_ADDITIVE; n++)
    if (g->example->step[n].op == ATTN_OP_TANH && g->all[n].decimals > decimals)
      decimals = g->all[n].decimals;
  return decimals;
}

/* The ranges with rounding: from the right numbers, and from the author's own. */
static attn_status ranges(const struct example_judgement *g, int32_t index,
                          struct attn_interval_matrix *right, struct attn_interval_matrix *author) {
  const attn_step *s = &g->example->step[index];
  const struct attn_interval_matrix *r[ATTN_OPERANDS_MAX], *a[ATTN_OPERANDS_MAX];
  int on_the_way = decimals_on_the_way(g, index);
  double slack =
      on_the_way ? 0.5 * pow(10, -(double)on_the_way) : half_on_the_way(s, g->all[index].decimals);
  if (has_exact_terms(g, s, g->all[index].decimals)) slack = 0;
  for (int32_t n = 0; n < s->operands; n++)
    r[n] = &g->all[s->operand[n]].right, a[n] = &g->all[s->operand[n]].author;
  attn_status status = attn_interval_step(s, r, slack, g->pool, right, g->err);
  return status ? status : attn_interval_step(s, a, slack, g->pool, author, g->err);
}

/* A divisor that was itself rounded moves the quotient by as much. */
static void widen(const attn_step *s, struct attn_interval_matrix *m) {
  double part = s->op == ATTN_OP_DIVIDE && s->scalar != 0 ? 0.005 / fabs(s->scalar) : 0;
  for (size_t n = 0; part > 0 && n < (size_t)m->lo.rows * (size_t)m->lo.cols; n++) {
    m->lo.at[n] -= fabs(m->lo.at[n]) * part;
    m->hi.at[n] += fabs(m->hi.at[n]) * part;
  }
}

static int judge_cell(const struct attn_judged *j, const attn_cell *cell, unsigned explained,
                      const double right[2], const double author[2]) {
  if (explained & 1) return ATTN_JUDGED_OK;
  if (explained & 2) return ATTN_JUDGED_CARRIED;
  if (may_be_in(j, cell, right[0], right[1])) return ATTN_JUDGED_DOUBTFUL;
  if (may_be_in(j, cell, author[0], author[1]))
    return j->tainted ? ATTN_JUDGED_CARRIED : ATTN_JUDGED_DOUBTFUL;
  return ATTN_JUDGED_WRONG;
}

/* The only cell of a line of weights that is not right, where the line does not add up to 1:
 * however the exponentials were rounded, their shares would. NULL: there is none. */
static int *only_odd_weight(const struct attn_judged *j, size_t first, size_t stride,
                            size_t count) {
  double sum = 0, slack = pow(10, -(double)j->decimals);
  int *odd = NULL;
  for (size_t n = 0; n < count; n++) {
    size_t at = first + n * stride;
    if (!j->printed[at] || j->printed[at]->kind != ATTN_CELL_NUMBER) return NULL;
    if (j->verdict[at] == ATTN_JUDGED_DOUBTFUL && !odd)
      odd = &j->verdict[at];
    else if (j->verdict[at] != ATTN_JUDGED_OK)
      return NULL;
    sum += j->printed[at]->value;
    slack += fmax(half_unit(j, j->printed[at]), attn_cell_half(j->printed[at]));
  }
  return fabs(sum - 1) > slack ? odd : NULL;
}

/* Of each query, a single doubtful weight is wrong if the sum of its line is. */
static void judge_sums(const attn_step *s, struct attn_judged *j) {
  size_t rows = (size_t)s->exact.rows, cols = (size_t)s->exact.cols;
  for (size_t n = 0; n < (s->axis ? rows : cols); n++) {
    int *odd = s->axis ? only_odd_weight(j, n * cols, 1, cols) : only_odd_weight(j, n, cols, rows);
    if (odd) *odd = j->worst = ATTN_JUDGED_WRONG;
  }
}

static attn_status judge_step(const struct example_judgement *g, int32_t index) {
  const attn_step *s = &g->example->step[index];
  struct attn_judged *j = &g->all[index];
  size_t cells = (size_t)s->exact.rows * (size_t)s->exact.cols;
  unsigned char *explained = attn_pool_take(g->pool, cells + 1);
  struct attn_interval_matrix right, author;
  if (!explained) return attn_fail(g->err, ATTN_ERR_MEMORY, NULL, "no memory");
  attn_status status = explain_all(g, index, explained, cells);
  if (!status) status = ranges(g, index, &right, &author);
  if (status) return status;
  const int unsure = s->uncertain || (g->example->unfollowed && s->name >= g->example->unfollowed);
  size_t plain = j->rounded_divisor ? 0 : count_explained(explained, cells);
  if (2 * plain <= cells) widen(s, &right), widen(s, &author);
  j->tainted = tainted(g, s);
  j->range = right;
  j->open = author;
  for (size_t n = 0; n < cells; n++) {
    if (!j->printed[n]) continue;
    const double r[2] = {right.lo.at[n], right.hi.at[n]}, a[2] = {author.lo.at[n], author.hi.at[n]};
    j->verdict[n] = judge_cell(j, j->printed[n], explained[n], r, a);
    if (j->verdict[n] == ATTN_JUDGED_WRONG && unsure) j->verdict[n] = ATTN_JUDGED_DOUBTFUL;
    if (j->verdict[n] > j->worst) j->worst = j->verdict[n];
  }
  if (s->op == ATTN_OP_SOFTMAX && !unsure) judge_sums(s, j);
  if (j->worst == ATTN_JUDGED_WRONG) j->tainted = 1;
  return ATTN_OK;
}

static attn_status prepare(const struct example_judgement *g, int32_t index) {
  const attn_step *s = &g->example->step[index];
  struct attn_judged *j = &g->all[index];
  size_t cells = (size_t)s->exact.rows * (size_t)s->exact.cols;
  j->decimals = j->significant = 0, j->largest = 0;
  j->is_rounded = s->op == ATTN_OP_EXP;
  attn_status status = collect(j, s, g->pool, g->err);
  j->verdict = attn_pool_take(g->pool, (cells + 1) * sizeof *j->verdict);
  attn_matrix *const all[] = {&j->carried, &j->right.lo, &j->right.hi, &j->author.lo,
                              &j->author.hi};
  for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
    *all[n] = attn_matrix_new(g->pool, s->exact.rows, s->exact.cols);
    if (!all[n]->at) status = attn_fail(g->err, ATTN_ERR_MEMORY, NULL, "no memory");
  }
  if (!j->verdict) status = attn_fail(g->err, ATTN_ERR_MEMORY, NULL, "no memory");
  return status;
}

static int rounds_nothing(const attn_step *s) {
  int moves = s->op == ATTN_OP_APPEND || s->op == ATTN_OP_TRANSPOSE || s->op == ATTN_OP_COLUMNS;
  return s->op != ATTN_OP_GIVEN && (moves || !s->printings);
}

/* A step that is not printed, or only moves numbers, passes on both what is carried and what was
 * never rounded. */
static attn_status follow_unrounded(const struct example_judgement *g, int32_t index) {
  const attn_step *s = &g->example->step[index];
  const attn_matrix *operand[ATTN_OPERANDS_MAX];
  for (int32_t n = 0; n < s->operands; n++) operand[n] = &g->all[s->operand[n]].followed;
  return attn_eval_step(s, operand, g->pool, &g->all[index].followed, g->err);
}

static attn_status follow(const struct example_judgement *g, int32_t index) {
  const attn_step *s = &g->example->step[index];
  struct attn_judged *j = &g->all[index];
  const attn_matrix *operand[ATTN_OPERANDS_MAX];
  attn_status status = prepare(g, index);
  if (status) return status;
  j->followed = s->exact;
  if (s->op != ATTN_OP_GIVEN) {
    for (int32_t n = 0; n < s->operands; n++) operand[n] = &g->all[s->operand[n]].carried;
    status = attn_eval_step(s, operand, g->pool, &j->followed, g->err);
    if (!status) status = judge_step(g, index);
  }
  if (status) return status;
  overlay(j, s);
  spread(j, g->example, index);
  return rounds_nothing(s) ? follow_unrounded(g, index) : ATTN_OK;
}

attn_status attn_judge_example(const attn_example *example, struct attn_pool *pool,
                               struct attn_judged **judged, attn_error *err) {
  *judged = attn_pool_take(pool, ((size_t)example->steps + 1) * sizeof **judged);
  if (!*judged) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory");
  const struct example_judgement g = {example, *judged, pool, err};
  for (int32_t n = 0; n < example->steps; n++) {
    attn_status status = follow(&g, n);
    if (status) return status;
  }
  return ATTN_OK;
}
