/* sublayer.c -- what follows attention in a layer: the residual connection, layer normalization. */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "reading.h"

enum { SIDE_MAX = 64 };

/* Of the number in the first place that shows it; a given is exact. */
static double half_shown(const attn_step *s) {
  return s->printings && s->op != ATTN_OP_GIVEN ? attn_cell_half(&s->printing[0].cells[0]) : 0;
}

static int is_size(const attn_matrix *m, const attn_printing *p) {
  return m->rows == p->rows && m->cols == p->cols;
}

static int is_near(const attn_cell *c, double x, double slack) {
  return c->kind != ATTN_CELL_BLANK && fabs(c->value - x) <= attn_cell_half(c) + slack + 1e-9;
}

/* A row of mean 0 and variance 1, with or without Bessel's correction. */
static int is_normal_row(const attn_cell *row, const double *x, int cols, double slack) {
  double mean = 0, squares = 0;
  for (int j = 0; j < cols; j++) mean += x[j] / cols;
  for (int j = 0; j < cols; j++) squares += (x[j] - mean) * (x[j] - mean);
  for (int less = 0; less < 2 && cols > 1; less++) {
    double deviation = sqrt(squares / (cols - less) + 1e-5);
    int j = 0;
    while (j < cols && is_near(&row[j], (x[j] - mean) / deviation, 2 * slack / deviation)) j++;
    if (j == cols) return 1;
  }
  return 0;
}

/* Is the block z or x + z (x: NULL or of its size), or the normalized rows of that? */
static int follows(const attn_printing *p, const attn_step *x, const attn_step *z) {
  double slack = 4 * (half_shown(z) + (x ? half_shown(x) : 0)), sum[SIDE_MAX];
  int sums = x != NULL, normal = 1;
  for (int i = 0; i < p->rows && (sums || normal); i++) {
    for (int j = 0; j < p->cols; j++) {
      int n = i * p->cols + j;
      sum[j] = z->exact.at[n] + (x ? x->exact.at[n] : 0);
      sums &= is_near(&p->cells[n], sum[j], slack);
    }
    normal &= is_normal_row(&p->cells[i * p->cols], sum, p->cols, slack);
  }
  return sums || normal;
}

static int is_input(const attn_step *s) {
  return s->name == ATTN_STEP_X || s->name == ATTN_STEP_Y || s->name == ATTN_STEP_POSITIONS;
}

/* Is the block printed after a step, if that is printed? */
static int is_after(const attn_printing *p, const attn_step *z) {
  return !z->printings || attn_cell_place(&p->cells[0]) > attn_cell_place(&z->printing[0].cells[0]);
}

static const attn_step *find_step(const attn_example *e, int name) {
  for (int32_t n = 0; n < e->steps; n++)
    if (e->step[n].name == name) return &e->step[n];
  return NULL;
}

/* Each value times its weight, before they are added up. */
static int are_weighted_values(const attn_printing *p, const attn_example *e) {
  const attn_step *w = find_step(e, ATTN_STEP_WEIGHTS), *v = find_step(e, ATTN_STEP_V);
  int is_one = w && (w->exact.rows == 1 || w->exact.cols == 1);
  if (!is_one || !v || !is_size(&v->exact, p) || w->exact.rows * w->exact.cols != p->rows) return 0;
  for (int n = 0; n < p->rows * p->cols; n++) {
    double value = v->exact.at[n], slack = half_shown(w) * fabs(value);
    if (!is_near(&p->cells[n], w->exact.at[n / p->cols] * value, slack)) return 0;
  }
  return 1;
}

int attn_is_of_sublayer(const attn_lesson *lesson, const attn_printing *p) {
  for (int32_t i = 0; i < lesson->examples && p->cols <= SIDE_MAX; i++) {
    const attn_example *e = &lesson->example[i];
    if (are_weighted_values(p, e)) return 1;
    for (int32_t z = 0; z < e->steps; z++) {
      int name = e->step[z].name;
      if ((name != ATTN_STEP_OUTPUT && name != ATTN_STEP_PROJECTED) ||
          !is_size(&e->step[z].exact, p) || !is_after(p, &e->step[z]))
        continue;
      if (follows(p, NULL, &e->step[z])) return 1;
      for (int32_t x = 0; x < z; x++)
        if (is_input(&e->step[x]) && is_size(&e->step[x].exact, p) &&
            follows(p, &e->step[x], &e->step[z]))
          return 1;
    }
  }
  return 0;
}
