/* known_values.c -- what a number in a sentence may be: a value of a step, in its digits or as a
 * percentage; a size, its root; a sum of a row. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "cell.h"
#include "reading.h"
#include "steps.h"

struct attn_known {
  struct attn_pool *pool;
  size_t count;
  double *value;     /* sorted */
  uint32_t sizes;    /* bit n: a matrix has n rows or columns */
  uint32_t decimals; /* bit n: a number has n decimals */
  int values_only;   /* sizes are not known */
  int no_sums;
  int failed;
};

enum {
  STEPS_CELLS_MAX = 200000, /* of a lesson: beyond, only what is printed is known */
  MODEL_SIZE = 16           /* matrices worked out by hand are smaller */
};

static void add(struct attn_known *k, double value) {
  if (!isfinite(value)) return;
  if (attn_pool_grow(k->pool, (void **)&k->value, k->count, sizeof *k->value))
    k->failed = 1;
  else
    k->value[k->count++] = value;
}

static void add_size(struct attn_known *k, int size) {
  if (k->values_only) return;
  if (size > 0 && size < MODEL_SIZE) k->sizes |= 1u << size;
  add(k, size);
  add(k, sqrt(size));
  add(k, 1 / sqrt(size));
  add(k, 1.0 / size);
}

/* Scores and vectors are not added up, and a sum of theirs is another number by chance. */
static int has_sums(const struct attn_known *k, const attn_step *step) {
  if (k->no_sums) return 0;
  return step->name == ATTN_STEP_EXPONENTIALS || step->name == ATTN_STEP_WEIGHTS;
}

/* The sum of a line of numbers that are `step` apart. */
static void add_sum(struct attn_known *k, const double *at, int count, int step) {
  double sum = 0;
  for (int n = 0; n < count; n++) sum += isfinite(at[n * step]) ? at[n * step] : 0;
  add(k, sum);
}

/* Of each query. */
static void add_sums(struct attn_known *k, const attn_matrix *m, int orientation) {
  int columns = orientation == ATTN_QUERIES_IN_COLUMNS;
  for (int n = 0; k->count < STEPS_CELLS_MAX && n < (columns ? m->cols : m->rows); n++)
    if (columns)
      add_sum(k, m->at + n, m->rows, m->cols);
    else
      add_sum(k, m->at + n * m->cols, m->cols, 1);
}

static void add_matrix(struct attn_known *k, const attn_matrix *m) {
  add_size(k, m->rows);
  add_size(k, m->cols);
  for (int n = 0; k->count < STEPS_CELLS_MAX && n < m->rows * m->cols; n++) add(k, m->at[n]);
}

/* at NULL: no memory */
static attn_matrix matrix_of(struct attn_known *k, const attn_printing *p) {
  attn_matrix m = attn_matrix_new(k->pool, p->rows, p->cols);
  if (!m.at) k->failed = 1;
  for (int32_t n = 0; m.at && n < p->rows * p->cols; n++)
    m.at[n] = p->cells[n].kind == ATTN_CELL_BLANK ? NAN : p->cells[n].value;
  return m;
}

/* orientation: of sums; -1: no sums */
static void add_printing(struct attn_known *k, const attn_printing *p, int orientation) {
  attn_matrix m = matrix_of(k, p);
  for (int32_t n = 0; m.at && n < p->rows * p->cols; n++) {
    const attn_cell *cell = &p->cells[n];
    add(k, m.at[n]);
    if (cell->kind != ATTN_CELL_BLANK && cell->decimals > 0 && cell->decimals < 32)
      k->decimals |= 1u << cell->decimals;
  }
  if (m.at && orientation >= 0) add_sums(k, &m, orientation);
}

static void add_step(struct attn_known *k, const attn_step *step, int orientation) {
  add_matrix(k, &step->exact);
  if (has_sums(k, step)) add_sums(k, &step->exact, orientation);
  for (int32_t p = 0; p < step->printings; p++)
    add_printing(k, &step->printing[p], has_sums(k, step) ? orientation : -1);
  if (step->op != ATTN_OP_DIVIDE) return;
  add(k, step->scalar), add(k, 1 / step->scalar);
  if (step->scaled_by) add_size(k, step->scaled_by);
}

/* e to the power of each number of a row, before and after the largest is subtracted, and their
 * sums.
 */
static void add_exponentials(struct attn_known *k, const double *at, int count, int step) {
  double sum = 0, largest = 0;
  for (int n = 0; n < count; n++) {
    double e = exp(at[n * step]);
    add(k, e);
    if (isfinite(e)) sum += e, largest = fmax(largest, e);
  }
  for (int n = 0; n < count; n++) add(k, exp(at[n * step]) / largest);
  add(k, sum), add(k, sum / largest);
}

/* Of each row, or each column, that softmax is taken of. */
static void add_softmax(struct attn_known *k, const attn_matrix *m, int axis) {
  for (int n = 0; k->count < STEPS_CELLS_MAX && n < (axis ? m->rows : m->cols); n++)
    if (axis)
      add_exponentials(k, m->at + n * m->cols, m->cols, 1);
    else
      add_exponentials(k, m->at + n, m->rows, m->cols);
}

static void add_softmaxes(struct attn_known *k, const attn_example *e) {
  for (int32_t s = 0; s < e->steps && !k->failed; s++) {
    if (e->step[s].op != ATTN_OP_SOFTMAX) continue;
    const attn_step *of = &e->step[e->step[s].operand[0]];
    add_softmax(k, &of->exact, e->step[s].axis);
    for (int32_t p = 0; p < of->printings; p++) {
      attn_matrix m = matrix_of(k, &of->printing[p]);
      if (m.at) add_softmax(k, &m, e->orientation == ATTN_QUERIES_IN_ROWS);
    }
  }
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double attn_largest(const double *at, int count, int step) {
  double largest = -INFINITY;
  for (int n = 0; n < count; n++) largest = fmax(largest, at[n * step]);
  return largest;
}

static void add_largest(struct attn_known *k, const attn_matrix *m) {
  for (int i = 0; i < m->rows && k->count < STEPS_CELLS_MAX && m->cols > 1; i++)
    add(k, attn_largest(m->at + i * m->cols, m->cols, 1));
  for (int j = 0; j < m->cols && k->count < STEPS_CELLS_MAX && m->rows > 1; j++)
    add(k, attn_largest(m->at + j, m->rows, m->cols));
}

/* Nothing is known yet. NULL: no memory. */
static struct attn_known *begin(struct attn_pool *pool) {
  struct attn_known *k = attn_pool_take(pool, sizeof *k);
  if (k) k->pool = pool;
  return k;
}

/* What is complete. NULL: there was no memory. */
static struct attn_known *finish(struct attn_known *k) {
  if (k->failed) return NULL;
  if (k->count) qsort(k->value, k->count, sizeof *k->value, ascending);
  return k;
}

struct attn_known *attn_known_maxima(const attn_lesson *lesson, struct attn_pool *pool) {
  struct attn_known *k = begin(pool);
  if (!k) return NULL;
  for (int32_t i = 0; i < lesson->examples; i++)
    for (int32_t s = 0; s < lesson->example[i].steps; s++) {
      const attn_step *step = &lesson->example[i].step[s];
      if (step->exact.at) add_largest(k, &step->exact);
      for (int32_t p = 0; p < step->printings; p++) {
        attn_matrix m = matrix_of(k, &step->printing[p]);
        if (m.at) add_largest(k, &m);
      }
    }
  return finish(k);
}

struct attn_known *attn_known_printed(const attn_lesson *lesson, struct attn_pool *pool) {
  struct attn_known *k = begin(pool);
  if (!k) return NULL;
  for (int32_t i = 0; i < lesson->examples; i++)
    for (int32_t s = 0; s < lesson->example[i].steps; s++)
      if (lesson->example[i].step[s].printings)
        add_step(k, &lesson->example[i].step[s], lesson->example[i].orientation);
  return finish(k);
}

struct attn_known *attn_known_of(const attn_lesson *lesson, uint32_t steps,
                                 struct attn_pool *pool) {
  struct attn_known *k = begin(pool);
  if (!k) return NULL;
  int is_all = steps == UINT32_MAX || steps == ATTN_AND_EXPONENTIALS;
  k->values_only = !is_all, k->no_sums = steps == ATTN_VALUES_ONLY;
  for (int32_t i = 0; steps == ATTN_AND_EXPONENTIALS && i < lesson->examples; i++)
    add_softmaxes(k, &lesson->example[i]);
  for (int32_t i = 0; i < lesson->examples; i++)
    for (int32_t s = 0; s < lesson->example[i].steps; s++)
      if (steps >> lesson->example[i].step[s].name & 1)
        add_step(k, &lesson->example[i].step[s], lesson->example[i].orientation);
  return finish(k);
}

static int has_between(const struct attn_known *k, double lo, double hi) {
  size_t low = 0, high = k->count; /* the first value that is not below lo */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (k->value[middle] < lo)
      low = middle + 1;
    else
      high = middle;
  }
  return low < k->count && k->value[low] <= hi;
}

/* 0.1, 0.05, 0.001: a tolerance; e, pi. */
static int is_constant(double x, double half) {
  for (double unit = .1; unit > 1e-12; unit /= 10)
    if (fabs(x - unit) < 1e-3 * unit || fabs(x - unit / 2) < 1e-3 * unit) return 1;
  return fabs(x - exp(1)) <= half || fabs(x - acos(-1)) <= half;
}

int attn_is_known(const struct attn_known *k, const attn_cell *cell) {
  double x = cell->value, more = attn_cell_half(cell) * (1 + 1e-6) + 1e-9 * (1 + fabs(x));
  return has_between(k, x - more, x + more);
}

int attn_is_constant(const attn_cell *cell) {
  double x = fabs(cell->value);
  return is_constant(x, attn_cell_half(cell) * (1 + 1e-6) + 1e-9 * (1 + x));
}

int attn_is_known_value(const struct attn_known *k, const attn_cell *cell) {
  return !k->count || attn_is_known(k, cell);
}

int attn_is_known_operand(const struct attn_known *k, const attn_cell *cell) {
  double x = fabs(cell->value), more = 3 * attn_cell_half(cell) + 1e-9 * (1 + x);
  return has_between(k, x - more, x + more) || has_between(k, -x - more, -x + more) ||
         is_constant(x, more);
}

int attn_is_known_root(const struct attn_known *k, const attn_cell *cell) {
  double half = attn_cell_half(cell) * (1 + 1e-6) + 1e-9;
  for (int size = 1; size < MODEL_SIZE; size++)
    if (k->sizes >> size & 1 && fabs(cell->value - sqrt(size)) <= half) return 1;
  return cell->value >= sqrt(MODEL_SIZE);
}

/* ---- rows ---- */

/* Are the numbers those at `at`, `step` apart? Those before may have been rounded. */
static int is_row_at(const double *at, int step, const struct attn_stray *s, int count) {
  for (int n = 0; n < count; n++) {
    double half = 2 * attn_cell_half(&s[n].cell) + 1e-9 * (1 + fabs(at[n * step]));
    if (!(fabs(at[n * step] - s[n].cell.value) <= half)) return 0;
  }
  return 1;
}

static int has_row(const attn_matrix *m, const struct attn_stray *s, int count) {
  for (int i = 0; i < m->rows; i++)
    for (int j = 0; j < m->cols; j++) {
      int n = i * m->cols + j;
      const double *at = m->at + n;
      if (n + count <= m->rows * m->cols && is_row_at(at, 1, s, count)) return 1;
      if (i + count <= m->rows && is_row_at(at, m->cols, s, count)) return 1;
    }
  return 0;
}

static int prints_row(const attn_printing *p, const struct attn_stray *s, int count) {
  for (int n = 0; n + count <= p->rows * p->cols; n++) {
    int at = 0;
    while (at < count && p->cells[n + at].value == s[at].cell.value) at++;
    if (at == count) return 1;
  }
  return 0;
}

int attn_is_known_row(const attn_lesson *lesson, const struct attn_stray *s, int count,
                      int64_t *work) {
  for (int32_t i = 0; i < lesson->examples; i++)
    for (int32_t n = 0; n < lesson->example[i].steps; n++) {
      const attn_step *step = &lesson->example[i].step[n];
      *work += step->exact.rows * (int64_t)step->exact.cols * count;
      if (has_row(&step->exact, s, count)) return 1;
      for (int32_t p = 0; p < step->printings; p++)
        if (prints_row(&step->printing[p], s, count)) return 1;
    }
  return 0;
}

/* A size of a model that sentences mention, or of a matrix of the lesson. */
int attn_is_known_size(const struct attn_known *k, double size) {
  return size >= MODEL_SIZE || (size >= 0 && (k->sizes >> (int)size & 1));
}

int attn_has_decimals(const struct attn_known *k, int decimals) {
  return decimals > 0 && decimals < 32 && (k->decimals >> decimals & 1);
}

int attn_keeps_rows(const attn_matrix *w, const attn_step *of, int transposed) {
  if (!of || of->exact.cols != w->rows || w->rows != w->cols) return 0;
  double differs = 0;
  for (int32_t i = 0; i < of->exact.rows; i++)
    for (int32_t j = 0; j < w->cols; j++) {
      const double *row = of->exact.at + i * w->rows;
      double change = -row[j];
      for (int32_t k = 0; k < w->rows; k++)
        change += row[k] * (transposed ? w->at[j * w->cols + k] : w->at[k * w->cols + j]);
      differs += fabs(change);
    }
  return differs < 1e-9;
}
