/* verify.c -- compares a result with the reference, row by row. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "element.h"
#include "error.h"
#include "integer.h"
#include "parallel.h"
#include "ref.h"

enum { MAX_SHARES = 256 };

struct verify_call {
  const struct attn_problem *p;
  int64_t rows, rows_total;
  uint64_t seed;
  double *work;              /* of all workers */
  size_t work_each;          /* doubles per worker */
  int64_t shares;            /* tasks: task n checks rows n, n + shares, .. */
  attn_sdpa_report *partial; /* one per share */
  struct attn_progress progress;
};

/* A permutation of 64-bit integers [splitmix64, Steele14]: the sample depends on seed alone. */
static uint64_t scramble(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/* All rows, or a random row of each of `rows` ranges, whose sizes differ by at most one. */
static int64_t row_number(const struct verify_call *c, int64_t index) {
  if (c->rows == c->rows_total) return index;
  int64_t least = c->rows_total / c->rows, longer = c->rows_total % c->rows;
  int64_t first = index * least + attn_min(index, longer);
  uint64_t size = (uint64_t)(least + (index < longer));
  return first + (int64_t)(scramble(c->seed + (uint64_t)index) % size);
}

static double real_at(const attn_tensor *t, const int64_t at[4]) {
  return attn_load_real(t->dtype, attn_tensor_at(t, at[0], at[1], at[2], at[3]));
}

static double largest_of(attn_dtype dtype) {
  if (dtype == ATTN_F16) return 65504;
  return dtype == ATTN_BF16 ? 0x1.FEp127 : dtype == ATTN_F32 ? (double)FLT_MAX : DBL_MAX;
}

/* NaN matches NaN only; an infinity matches itself, and a finite value that overflows the
 * output's type within its bound. */
static int within(double got, double exact, double bound, double largest) {
  if (exact != exact || got != got) return exact != exact && got != got;
  if (got == exact) return 1; /* even if the bound is NaN from 0 times Inf */
  if (isinf(got) && !isinf(exact))
    return !signbit(got) == !signbit(exact) && fabs(exact) + bound > largest;
  if (isinf(exact)) return 0;
  return fabs(got - exact) <= bound;
}

static void note_error(attn_sdpa_report *r, double error) {
  if (error != error || (isinf(error) && r->max_error > DBL_MAX)) return;
  r->rms_error += error * error; /* a sum until the end */
  if (error > r->max_error) r->max_error = error;
}

static void note(double largest, attn_sdpa_report *r, const int64_t at[4], double got, double exact,
                 double bound) {
  double error = fabs(got - exact), ratio = bound > 0 ? error / bound : error > 0 ? INFINITY : 0;
  int bad = !within(got, exact, bound, largest);
  int first = r->elements++ == 0;
  r->outside += bad;
  note_error(r, bad && !isfinite(error) ? INFINITY : error);
  if (bad && !(ratio > 1)) ratio = INFINITY; /* for example an unexpected NaN */
  if (!bad && !(ratio <= 1)) return;         /* equal NaN or Inf, or an overflow within the bound */
  if (!first && !(ratio > r->worst)) return;
  r->worst = ratio;
  memcpy(r->worst_index, at, sizeof r->worst_index);
  r->worst_got = got, r->worst_exact = exact, r->worst_bound = bound;
}

/* The expected output of an empty row. */
static void empty_row(const struct verify_call *c, struct attn_ref_row *row) {
  const struct attn_problem *p = c->p;
  int mean = p->desc.empty_row == ATTN_EMPTY_MEAN, nan = p->desc.empty_row == ATTN_EMPTY_NAN;
  for (int64_t j = 0; j < p->keys; j++)
    row->weights[j] = nan ? (double)NAN : mean ? 1.0 / (double)p->keys : 0.0;
  for (int64_t e = 0; e < p->value_width; e++) {
    long double sum = 0;
    double absolute = 0;
    for (int64_t j = 0; j < p->keys && mean; j++) {
      const int64_t at[4] = {row->b, row->h / (p->heads_q / p->heads), j, e};
      double v = real_at(&p->v, at);
      sum += (long double)v, absolute += fabs(v) / (double)p->keys;
    }
    row->output[e] = nan ? (double)NAN : p->keys ? (double)(sum / (long double)p->keys) : 0.0;
    row->absolute[e] = absolute;
  }
  if (nan) row->lse = (double)NAN;
}

/* The bound of the mean of an empty row: two sums in long double, rounded once. */
static double mean_bound(const struct verify_call *c, const struct attn_ref_row *row, int64_t e) {
  double size = fabs(row->output[e]);
  double sum = ((double)c->p->keys + 1) * (double)LDBL_EPSILON * row->absolute[e];
  return attn_ref_bound_rounded(c->p->o.dtype, 0x1p-24 * size + 0x1p-149, size) + sum +
         0x1p-53 * size;
}

static void compare_output(const struct verify_call *c, const struct attn_ref_row *row,
                           attn_sdpa_report *r) {
  const struct attn_problem *p = c->p;
  attn_dtype dtype = p->o.dtype;
  int64_t at[4] = {row->b, row->h, row->i, 0};
  for (; at[3] < p->value_width; at[3]++) {
    double got = real_at(&p->o, at), exact = row->output[at[3]];
    /* An infinite value whose weight was flushed: 0 times infinity. */
    if (isinf(row->flushed[at[3]]) && got != got) exact = got;
    note(largest_of(dtype), r, at, got, exact,
         row->visible ? attn_ref_bound_rounded(dtype, attn_ref_bound_output(row, at[3]), exact)
                      : mean_bound(c, row, at[3]));
  }
}

static void compare_weights(const struct verify_call *c, const struct attn_ref_row *row,
                            attn_sdpa_report *r) {
  const struct attn_problem *p = c->p;
  int64_t at[4] = {row->b, row->h, row->i, 0};
  for (; at[3] < p->keys; at[3]++) {
    double exact = row->weights[at[3]]; /* of an empty row 0 or 1 / S, rounded once */
    double bound = row->visible ? attn_ref_bound_weight(row, at[3]) : 0x1p-24 * exact;
    note(largest_of(p->weights.dtype), r, at, real_at(&p->weights, at), exact,
         bound > 0 ? attn_ref_bound_rounded(p->weights.dtype, bound, exact) : 0);
  }
}

static void compare_row(const struct verify_call *c, struct attn_ref_row *row,
                        attn_sdpa_report *r) {
  const struct attn_problem *p = c->p;
  const int64_t at[4] = {row->b, row->h, row->i, 0};
  if (!row->visible) empty_row(c, row);
  compare_output(c, row, r);
  if (p->desc.weights) compare_weights(c, row, r);
  if (p->desc.lse)
    note(largest_of(p->lse.dtype), r, at, real_at(&p->lse, at), row->lse,
         attn_ref_bound_rounded(p->lse.dtype, attn_ref_bound_lse(row), 0));
  r->rows++;
}

static void check_row(struct verify_call *c, int64_t index, int32_t worker,
                      attn_sdpa_report *report) {
  const struct attn_problem *p = c->p;
  int64_t number = row_number(c, index);
  double *work = c->work + (size_t)worker * c->work_each, *ev = work + 3 * p->keys;
  struct attn_ref_row row = {.i = number % p->rows,
                             .h = number / p->rows % p->heads_q,
                             .b = number / p->rows / p->heads_q,
                             .scores = work,
                             .weights = work + p->keys,
                             .budget = work + 2 * p->keys,
                             .output = ev,
                             .absolute = ev + p->value_width,
                             .flushed = ev + 2 * p->value_width,
                             .error = ev + 3 * p->value_width,
                             .largest = ev + 4 * p->value_width,
                             .has_dots = p->has_dots};
  /* The caller's mask: the reference broadcasts it itself. */
  attn_ref_sdpa_row(&p->desc, &p->q, &p->k, &p->v, &row);
  compare_row(c, &row, report);
  attn_progress_report(&c->progress, &p->desc, 1);
}

/* Checks the rows of one task. Each task has its own report, so the result does not depend on
 * the workers. */
static void check_share(void *argument, int64_t index, int32_t worker) {
  struct verify_call *c = argument;
  for (int64_t n = index; n < c->rows && !c->progress.stop; n += c->shares)
    check_row(c, n, worker, &c->partial[index]);
}

static void merge(attn_sdpa_report *to, const attn_sdpa_report *from) {
  int better = from->elements && (!to->elements || from->worst > to->worst);
  to->rows += from->rows, to->elements += from->elements, to->outside += from->outside;
  to->rms_error += from->rms_error;
  if (from->max_error > to->max_error) to->max_error = from->max_error;
  if (!better) return;
  to->worst = from->worst;
  memcpy(to->worst_index, from->worst_index, sizeof to->worst_index);
  to->worst_got = from->worst_got, to->worst_exact = from->worst_exact;
  to->worst_bound = from->worst_bound;
}

/* Three rows of keys and five of values for each worker; 0 on overflow. */
static size_t bytes_of_work(const struct attn_problem *p, size_t *each) {
  size_t keys = (size_t)p->keys, width = (size_t)p->value_width, bytes;
  if (keys > SIZE_MAX / 32 || width > SIZE_MAX / 64) return 0;
  *each = keys * 3 + width * 5 + 8;
  if (__builtin_mul_overflow(*each, sizeof(double) * (size_t)p->workers, &bytes)) return 0;
  return bytes > SIZE_MAX / 2 ? 0 : bytes;
}

static attn_status run_check(struct verify_call *c, attn_sdpa_report *report, attn_error *err) {
  const struct attn_problem *p = c->p;
  attn_sdpa_report sum = {.struct_size = sizeof sum, .rows_total = c->rows_total};
  memset(c->partial, 0, (size_t)c->shares * sizeof *c->partial);
  c->progress.total = c->rows;
  attn_problem_parallel(p, c->shares, check_share, c);
  attn_status status = attn_progress_end(&c->progress, err);
  if (status) return status;
  for (int64_t n = 0; n < c->shares; n++) merge(&sum, &c->partial[n]);
  if (sum.elements) sum.rms_error = sqrt(sum.rms_error / (double)sum.elements);
  attn_descriptor_fill(report, &sum, sizeof sum);
  return ATTN_OK;
}

attn_status attn_sdpa_verify(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                             const attn_tensor *v, const attn_tensor *o, int64_t row_limit,
                             uint64_t seed, attn_sdpa_report *report, attn_error *err) {
  struct attn_problem p;
  attn_status status =
      attn_descriptor_expect(report, sizeof *report, sizeof *report, "report", err);
  if (status) return status;
  if (row_limit < 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "row_limit",
                     "row_limit is %lld; it must be 0 (every row) or positive",
                     (long long)row_limit);
  status = attn_problem_check(NULL, desc, q, k, v, o, 1, &p, err);
  if (status) return status;
  struct verify_call c = {.p = &p, .seed = seed, .progress = ATTN_PROGRESS_INIT};
  c.rows_total = c.rows = p.batch * p.heads_q * p.rows;
  if (row_limit > 0 && row_limit < c.rows) c.rows = row_limit;
  c.shares = attn_min(c.rows, MAX_SHARES);
  size_t bytes = bytes_of_work(&p, &c.work_each);
  c.work = bytes ? attn_problem_allocate(&p.desc, bytes) : NULL;
  bytes = (size_t)(c.shares + 1) * sizeof *c.partial; /* at least one */
  c.partial = c.work ? attn_problem_allocate(&p.desc, bytes) : NULL;
  if (c.partial)
    status = run_check(&c, report, err);
  else
    status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the reference rows");
  attn_problem_release(&p.desc, c.partial);
  attn_problem_release(&p.desc, c.work);
  return status;
}
