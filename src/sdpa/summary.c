/* summary.c -- statistics of the weights, row by row: only a block of rows is in memory, never L
 * x S. The forward's kernel runs without values and leaves the weights of a block of rows in a
 * worker's scratch memory, from which the statistics are computed in double. The kernel runs
 * without sinks, whose share is applied here: so the largest weight is at least 1 / S for any
 * sink, and the largest logit follows from it. Columns are summed by stripes of rows, a function
 * of L alone, and the stripes are merged in order: the bits do not depend on threads. A wave is
 * enough heads to keep all workers busy; its stripes are merged before the next wave, so the
 * sums take O(S) memory, not heads times S. */
#include <math.h>
#include <string.h>

#include "clones.h"
#include "descriptor.h"
#include "error.h"
#include "element.h"
#include "integer.h"
#include "key_range.h"
#include "parallel.h"
#include "sdpa_task.h"
#include "ref.h"

enum {
  STRIPES = 32,     /* the most of a head */
  WAVE_OF_TASKS = 4 /* the least per worker */
};

static const double HIDDEN = -1; /* marks a key that is not visible */

struct weighted_key {
  double weight;
  int64_t key;
};

struct summary_call {
  struct attn_problem p; /* without sinks and dropout */
  const attn_tensor *sinks;
  /* (1, B, Hq, S), (B, Hq, L, K) twice, (1, B, Hq, L) twice; data NULL: not computed */
  attn_tensor column_sums, top_keys, top_weights, entropy, max_logit;
  int64_t listed, kept; /* K, and min(K, S) */
  int64_t lot;          /* heads of a task: several if all their rows fit into one block */
  int64_t lots;         /* in all */
  int64_t stripe_rows, stripes;
  int64_t wave, first_lot; /* lots of a wave; the first of this wave */
  char *workspace;         /* of all workers, then the columns of a wave's tasks */
  size_t at_weights, at_row, at_scores, at_best, worker_bytes;
  double *columns;
  struct attn_progress progress;
};

/* One row's weights without its sink: lo <= j < hi, HIDDEN where the mask hides j. */
struct summary_row {
  int64_t b, h, i, lo, hi;
  double *weights;
  double lse;          /* of these weights */
  double share, other; /* the shares of keys and sink */
};

/* The rows of a task: from <= i < to of heads h0 <= h < h1. */
struct summary_task {
  int64_t b, head, h0, h1, from, to;
  double *columns; /* S column sums; NULL: not computed */
};

static void store_key(const attn_tensor *t, char *at, int64_t key) {
  int32_t narrow = (int32_t)key;
  memcpy(at, t->dtype == ATTN_I32 ? (void *)&narrow : (void *)&key, t->dtype == ATTN_I32 ? 4 : 8);
}

/* ---- The largest weights ------------------------------------------------------ */

/* Whether a is before b: the larger weight, ties by the lower key; NaN counts as largest. */
static int beats(struct weighted_key a, struct weighted_key b) {
  double x = a.weight != a.weight ? (double)INFINITY : a.weight;
  double y = b.weight != b.weight ? (double)INFINITY : b.weight;
  return x > y || (x == y && a.key < b.key);
}

/* Restores the heap below `at`; the root is the entry that all others beat. */
static void sift(struct weighted_key *heap, int64_t count, int64_t at) {
  for (int64_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && beats(heap[child], heap[child + 1])) child++;
    if (!beats(heap[at], heap[child])) return;
    struct weighted_key moved = heap[at];
    heap[at] = heap[child], heap[child] = moved;
  }
}

/* Moves the root, the least entry, to the end, repeatedly. */
static void sort_heap(struct weighted_key *heap, int64_t count) {
  for (int64_t n = count - 1; n > 0; n--) {
    struct weighted_key least = heap[0];
    heap[0] = heap[n], heap[n] = least;
    sift(heap, n, 0);
  }
}

/* Finds the largest weights of the row in order; returns their number. */
static int64_t find_best(const struct summary_row *row, struct weighted_key *best, int64_t kept) {
  int64_t count = 0;
  for (int64_t j = row->lo; j < row->hi && kept; j++) {
    struct weighted_key e = {row->weights[j], j};
    if (count == kept && e.weight < best[0].weight) continue; /* most of them */
    if (e.weight == HIDDEN) continue;
    if (count < kept) {
      best[count++] = e;
      for (int64_t n = count / 2 - 1; count == kept && n >= 0; n--) sift(best, count, n);
    } else if (beats(e, best[0])) {
      best[0] = e;
      sift(best, count, 0);
    }
  }
  for (int64_t n = count / 2 - 1; count < kept && n >= 0; n--) sift(best, count, n);
  sort_heap(best, count);
  return count;
}

static void store_best(const struct summary_call *r, const struct summary_row *row,
                       struct weighted_key *best) {
  int64_t count = find_best(row, best, r->kept);
  for (int64_t n = 0; n < r->listed; n++) {
    if (r->top_keys.data)
      store_key(&r->top_keys, attn_tensor_at(&r->top_keys, row->b, row->h, row->i, n),
                n < count ? best[n].key : -1);
    if (r->top_weights.data)
      attn_store_real(r->top_weights.dtype,
                      attn_tensor_at(&r->top_weights, row->b, row->h, row->i, n),
                      n < count ? best[n].weight * row->share : 0);
  }
}

/* ---- Entropy, largest logit, column sums ---- */

/* ln x of a positive float: x = 2^k m with m from sqrt(1/2) to sqrt(2), f = m - 1, and with
 * r = f / (2 + f) ln m = 2 atanh r by its series. Within 2^-52 of the result: the rest of the
 * series is below 2^-59, and ln 2 has two parts, of which k times the first is exact. */
ATTN_INLINE double log_of_float(double x) {
  static const double HIGH = 0x1.62e42feep-1, LOW = 0x1.a39ef35793c76p-33;
  const uint64_t ONE = 0x3FF0000000000000u, ROOT = 0x3FE6A09E00000000u, TWO52 = 0x4330000000000000u;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits += ONE - ROOT;
  uint64_t whole = bits >> 52 | TWO52, part = (bits & 0x000FFFFFFFFFFFFFu) + ROOT;
  double k, m;
  memcpy(&k, &whole, sizeof k), memcpy(&m, &part, sizeof m);
  k -= 0x1p52 + 1023;
  double f = m - 1, r = f / (2 + f), z = r * r, z2 = z * z, half = 0.5 * f * f;
  double odd = (((2.0 / 19 * z2 + 2.0 / 15) * z2 + 2.0 / 11) * z2 + 2.0 / 7) * z2 + 2.0 / 3;
  double even = (((2.0 / 21 * z2 + 2.0 / 17) * z2 + 2.0 / 13) * z2 + 2.0 / 9) * z2 + 2.0 / 5;
  double sum = z * (odd + z * even);
  return r * (half + sum) + k * LOW - half + f + k * HIGH;
}

/* sums[0] = sum w, sums[1] = sum w ln w of visible weights that are not 0, in LANES orders. */
ATTN_CLONES static void add_logs(const double *weights, int64_t count, double sums[2]) {
  enum { LANES = 8 };
  double sum[LANES] = {0}, logs[LANES] = {0};
  for (int64_t j = 0; j < count; j += LANES) {
    const double *w = weights + j;
    double tail[LANES] = {0};
    if (count - j < LANES) w = memcpy(tail, w, (size_t)(count - j) * sizeof *w);
    for (int n = 0; n < LANES; n++) {
      double x = w[n] <= 0 ? 1 : w[n], used = w[n] <= 0 ? 0 : w[n];
      sum[n] += used, logs[n] += used * log_of_float(x);
    }
  }
  for (int half = LANES / 2; half; half /= 2)
    for (int n = 0; n < half; n++) sum[n] += sum[n + half], logs[n] += logs[n + half];
  sums[0] = sum[0], sums[1] = logs[0];
}

static double entropy_term(double p) { return p == 0 ? 0 : -p * log(p); }

/* The entropy of the keys, corrected for weights that do not sum to exactly 1; then by the chain
 * rule that of the choice between keys and sink. */
static double entropy_of(const struct summary_row *row) {
  double sums[2];
  add_logs(row->weights + row->lo, row->hi - row->lo, sums);
  double own = sums[0] == 0 ? 0 : log(sums[0]) - sums[1] / sums[0];
  if (own < 0) own = 0;
  return row->share * own + entropy_term(row->share) + entropy_term(row->other);
}

/* The largest weight is exp(s - lse). */
static double largest_logit_of(const struct summary_row *row) {
  double top = 0;
  if (row->lse == -(double)INFINITY) return row->lse;
  for (int64_t j = row->lo; j < row->hi; j++)
    if (!(row->weights[j] <= top)) top = row->weights[j];
  return row->lse + log(top);
}

ATTN_CLONES static void add_columns(const struct summary_row *row, double *columns) {
  for (int64_t j = row->lo; j < row->hi; j++) {
    double w = row->weights[j];
    columns[j] += w <= 0 ? 0 : w * row->share;
  }
}

static void summarize(const struct summary_call *r, const struct summary_task *c,
                      const struct summary_row *row, struct weighted_key *best) {
  const int64_t b = row->b, h = row->h, i = row->i;
  if (r->entropy.data)
    attn_store_real(r->entropy.dtype, attn_tensor_at(&r->entropy, 0, b, h, i), entropy_of(row));
  if (r->max_logit.data)
    attn_store_real(r->max_logit.dtype, attn_tensor_at(&r->max_logit, 0, b, h, i),
                    largest_logit_of(row));
  if (r->listed) store_best(r, row, best);
  if (!c->columns) return;
  if (i == c->from) memset(c->columns, 0, (size_t)r->p.keys * sizeof *c->columns);
  add_columns(row, c->columns);
  if (i + 1 == c->to && r->stripes == 1)
    attn_tensor_store_row(&r->column_sums, 0, b, h, c->columns);
}

/* ---- A row's weights ---------------------------------------------------------- */

/* The weights that the forward gives an empty row; a sink does not change them. */
static void fill_empty(const struct summary_call *r, struct summary_row *row) {
  int nan = r->p.desc.empty_row == ATTN_EMPTY_NAN;
  row->lo = 0, row->hi = nan || r->p.desc.empty_row == ATTN_EMPTY_MEAN ? r->p.keys : 0;
  row->lse = nan ? (double)NAN : -(double)INFINITY;
  for (int64_t j = 0; j < row->hi; j++)
    row->weights[j] = nan ? (double)NAN : 1.0 / (double)r->p.keys;
}

/* Applies the sink. If every score is -inf the weights are 0 / 0, but 0 with a sink. */
static void take_sink(const struct summary_call *r, struct summary_row *row) {
  double sink = attn_tensor_per_head(r->sinks, row->b, row->h);
  if (sink == -(double)INFINITY) return;
  row->share = 1 / (1 + exp(sink - row->lse));
  row->other = 1 / (1 + exp(row->lse - sink));
  for (int64_t j = row->lo; j < row->hi && row->lse == -(double)INFINITY; j++)
    if (row->weights[j] != HIDDEN) row->weights[j] = 0;
}

/* Separates hidden keys from weights of 0; computes the shares. */
static void finish_row(const struct summary_call *r, struct summary_row *row) {
  int64_t seen = r->p.desc.mask ? 0 : row->hi - row->lo;
  for (int64_t j = row->lo; r->p.desc.mask && j < row->hi; j++) {
    int hidden =
        row->weights[j] == 0 && !attn_problem_mask_allows(&r->p, row->b, row->h, row->i, j);
    if (hidden) row->weights[j] = HIDDEN;
    seen += !hidden;
  }
  row->share = 1, row->other = 0;
  if (!seen)
    fill_empty(r, row);
  else if (r->sinks)
    take_sink(r, row);
}

static struct summary_row row_at(const struct summary_call *r, int32_t worker,
                                 const struct summary_task *c, int64_t n) {
  char *scratch = r->workspace + (size_t)worker * r->worker_bytes;
  struct summary_row row = {.b = c->b, .h = c->h0 + n / (c->to - c->from)};
  row.i = c->from + n % (c->to - c->from);
  row.weights = (double *)(void *)(scratch + r->at_row);
  attn_problem_key_range(&r->p, row.b, row.i, &row.lo, &row.hi);
  return row;
}

/* Runs at most ATTN_ROW_BLOCK rows of the task from n on with the kernel; returns their number. */
static int64_t run_block(struct summary_call *r, const struct summary_task *c, int64_t n,
                         int32_t worker) {
  const struct attn_problem *p = &r->p;
  char *scratch = r->workspace + (size_t)worker * r->worker_bytes;
  float *weights = (float *)(void *)(scratch + r->at_weights), lse[ATTN_ROW_BLOCK];
  int64_t count = attn_min((c->h1 - c->h0) * (c->to - c->from) - n, ATTN_ROW_BLOCK);
  struct attn_sdpa_task t;
  attn_task_set_head(p, &t, c->b, c->head);
  t.workspace = (float *)(void *)scratch;
  t.weights_dtype = ATTN_F32, t.weights_col = 1;
  for (t.rows = 0; t.rows < count; t.rows++) {
    struct summary_row row = row_at(r, worker, c, n + t.rows);
    attn_task_set_row(p, &t, t.rows, row.b, row.h, row.i);
    t.lse[t.rows] = &lse[t.rows];
    t.weights[t.rows] = (char *)(weights + t.rows * p->keys);
  }
  p->kernel->sdpa_f32(&t, 1);
  for (int64_t m = 0; m < count; m++) {
    struct summary_row row = row_at(r, worker, c, n + m);
    row.lse = (double)lse[m];
    for (int64_t j = row.lo; j < row.hi; j++) row.weights[j] = (double)weights[m * p->keys + j];
    finish_row(r, &row);
    summarize(r, c, &row, (struct weighted_key *)(void *)(scratch + r->at_best));
  }
  return count;
}

/* Runs row n of the task with the reference. */
static int64_t run_row(struct summary_call *r, const struct summary_task *c, int64_t n,
                       int32_t worker) {
  const struct attn_problem *p = &r->p;
  char *scratch = r->workspace + (size_t)worker * r->worker_bytes;
  struct summary_row row = row_at(r, worker, c, n);
  struct attn_ref_row exact = {.b = row.b,
                               .h = row.h,
                               .i = row.i,
                               .weights = row.weights,
                               .scores = (double *)(void *)(scratch + r->at_scores)};
  attn_ref_sdpa_row(&p->desc, &p->q, &p->k, &p->v, &exact);
  row.lse = exact.lse;
  finish_row(r, &row);
  summarize(r, c, &row, (struct weighted_key *)(void *)(scratch + r->at_best));
  return 1;
}

/* ---- Tasks, stripes, waves ------------------------------------------------------ */

static struct summary_task piece_at(const struct summary_call *r, int64_t index) {
  const struct attn_problem *p = &r->p;
  int64_t group = p->heads_q / p->heads, lots = attn_divide_up(group, r->lot);
  int64_t lot = r->first_lot + index / r->stripes, kv = lot / lots;
  /* The last rows see most keys under a causal mask: they run first. */
  int64_t stripe = r->stripes - 1 - index % r->stripes;
  struct summary_task c = {.b = kv / p->heads, .head = kv % p->heads};
  c.h0 = c.head * group + lot % lots * r->lot;
  c.h1 = attn_min(c.h0 + r->lot, (c.head + 1) * group);
  c.from = stripe * r->stripe_rows;
  c.to = attn_min(c.from + r->stripe_rows, p->rows);
  if (r->columns) c.columns = r->columns + index * p->keys;
  return c;
}

static void run_task(void *argument, int64_t index, int32_t worker) {
  struct summary_call *r = argument;
  struct summary_task c = piece_at(r, index);
  int64_t count = (c.h1 - c.h0) * (c.to - c.from), did;
  for (int64_t n = 0; n < count && !r->progress.stop; n += did) {
    did = r->p.kernel ? run_block(r, &c, n, worker) : run_row(r, &c, n, worker);
    attn_progress_report(&r->progress, &r->p.desc, did);
  }
}

/* Merges the stripes of one head of the wave, in order, into the first. */
static void merge(void *argument, int64_t index, int32_t worker) {
  struct summary_call *r = argument;
  (void)worker;
  double *sum = NULL;
  for (int64_t stripe = 0; stripe < r->stripes; stripe++) {
    struct summary_task c = piece_at(r, index * r->stripes + r->stripes - 1 - stripe);
    for (int64_t j = 0; j < r->p.keys && sum; j++) sum[j] += c.columns[j];
    if (!sum) sum = c.columns;
    if (stripe + 1 == r->stripes) attn_tensor_store_row(&r->column_sums, 0, c.b, c.h0, sum);
  }
}

static void run_all(struct summary_call *r) {
  for (; r->first_lot < r->lots && !r->progress.stop; r->first_lot += r->wave) {
    int64_t lots = attn_min(r->lots - r->first_lot, r->wave);
    attn_problem_parallel(&r->p, lots * r->stripes, run_task, r);
    if (r->columns && r->stripes > 1 && !r->progress.stop)
      attn_problem_parallel(&r->p, lots, merge, r);
  }
}

/* ---- Checks ------------------------------------------------------------------- */

/* Checks the two lists, which have q's rank and the same K. */
static attn_status check_lists(struct summary_call *r, const attn_sdpa_summary *s, int rank,
                               attn_error *err) {
  const struct attn_problem *p = &r->p;
  const attn_tensor *keys = s->top_keys, *first = keys ? keys : s->top_weights;
  if (!first) return ATTN_OK;
  attn_tensor like = {.rank = 4, .shape = {p->batch, p->heads_q, p->rows, 0}};
  if (first->rank == rank) like.shape[3] = r->listed = first->shape[rank - 1];
  attn_status status = ATTN_OK;
  if (keys)
    status =
        attn_tensor_check_like(keys, "top_keys", &like, rank,
                               keys->dtype == ATTN_I32 ? ATTN_I32 : ATTN_I64, &r->top_keys, err);
  if (!status)
    status =
        attn_tensor_check_result(s->top_weights, "top_weights", &like, rank, &r->top_weights, err);
  if (!status && keys && keys->dtype == ATTN_I32 && p->keys - 1 > INT32_MAX)
    return attn_fail(err, ATTN_ERR_TYPE, "top_keys", "S = %lld is too large for int32; use int64",
                     (long long)p->keys);
  r->kept = attn_min(r->listed, p->keys);
  return status;
}

static attn_status check_no_overlap(const struct summary_call *r, const attn_sdpa_summary *s,
                                    attn_error *err) {
  const attn_sdpa *d = &r->p.desc;
  const struct attn_named_view out[] = {{s->column_sums, "column_sums"},
                                        {s->top_keys, "top_keys"},
                                        {s->top_weights, "top_weights"},
                                        {s->entropy, "entropy"},
                                        {s->max_logit, "max_logit"}};
  const struct attn_named_view in[] = {{&r->p.q, "q"},
                                       {&r->p.k, "k"},
                                       {d->mask, "mask"},
                                       {d->alibi, "alibi"},
                                       {d->key_lengths, "key_lengths"},
                                       {r->sinks, "sinks"},
                                       {d->additive, "additive"}};
  return attn_views_check_no_overlap(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in,
                                     err);
}

/* Checks a call with values of width 0. */
static attn_status check_problem(struct summary_call *r, const attn_sdpa *desc,
                                 const attn_tensor *q, const attn_tensor *k, attn_error *err) {
  if (!k) return attn_fail(err, ATTN_ERR_ARGUMENT, "k", "k is NULL");
  attn_tensor none = *k;
  if (k->rank > 0 && k->rank <= ATTN_RANK_MAX) none.shape[k->rank - 1] = 0;
  attn_status status = attn_problem_check(NULL, desc, q, k, &none, NULL, 0, &r->p, err);
  if (status) return status;
  if (r->p.desc.lse || r->p.desc.weights)
    return attn_fail(err, ATTN_ERR_ARGUMENT, r->p.desc.lse ? "lse" : "weights",
                     "desc->lse and desc->weights must be NULL for a summary");
  r->sinks = r->p.desc.sinks, r->p.desc.sinks = NULL;
  r->p.desc.flags &= ~(uint64_t)ATTN_SDPA_DROPOUT;
  return ATTN_OK;
}

static attn_status check(struct summary_call *r, const attn_sdpa *desc, const attn_tensor *q,
                         const attn_tensor *k, const attn_sdpa_summary *given, attn_sdpa_summary *s,
                         attn_error *err) {
  attn_status status = attn_descriptor_require(given, s, sizeof *s, sizeof *s, "summary", err);
  if (!status) status = check_problem(r, desc, q, k, err);
  if (status) return status;
  const struct attn_problem *p = &r->p;
  const attn_tensor by_key = {.rank = 4, .shape = {1, p->batch, p->heads_q, p->keys}};
  const attn_tensor by_row = {.rank = 4, .shape = {1, p->batch, p->heads_q, p->rows}};
  int rank = q->rank - 1;
  status =
      attn_tensor_check_result(s->column_sums, "column_sums", &by_key, rank, &r->column_sums, err);
  if (!status) status = check_lists(r, s, q->rank, err);
  if (!status)
    status = attn_tensor_check_result(s->entropy, "entropy", &by_row, rank, &r->entropy, err);
  if (!status)
    status = attn_tensor_check_result(s->max_logit, "max_logit", &by_row, rank, &r->max_logit, err);
  if (!status) status = check_no_overlap(r, s, err);
  if (!status && p->desc.empty_row == ATTN_EMPTY_ERROR)
    status = attn_problem_reject_empty_rows(p, err);
  return status;
}

/* ---- The call ----------------------------------------------------------------- */

/* Divides the rows: a function of L and the group alone, except for the wave, which changes no
 * bits. */
static void divide(struct summary_call *r) {
  struct attn_problem *p = &r->p;
  int64_t group = p->heads_q / p->heads;
  r->lot = attn_min(p->rows < ATTN_ROW_BLOCK ? ATTN_ROW_BLOCK / p->rows : 1, group);
  r->lots = p->batch * p->heads * attn_divide_up(group, r->lot);
  r->stripe_rows = attn_divide_up(p->rows, (int64_t)ATTN_ROW_BLOCK * STRIPES) * ATTN_ROW_BLOCK;
  r->stripes = attn_divide_up(p->rows, r->stripe_rows);
  r->wave = r->lots;
  if (r->column_sums.data)
    r->wave = attn_divide_up((int64_t)p->workers * WAVE_OF_TASKS, r->stripes);
  r->wave = attn_min(r->wave, r->lots);
  if (p->workers > r->wave * r->stripes) p->workers = (int32_t)(r->wave * r->stripes);
}

/* Adds count aligned items to *sum; returns their offset. */
static size_t add_bytes(size_t *sum, int64_t count, size_t size, int *overflow) {
  size_t at = *sum, bytes;
  *overflow |= __builtin_mul_overflow((size_t)count, size, &bytes);
  *overflow |= __builtin_add_overflow(bytes, (size_t)ATTN_PANEL_ALIGN - 1, &bytes);
  *overflow |= __builtin_add_overflow(at, bytes / ATTN_PANEL_ALIGN * ATTN_PANEL_ALIGN, sum);
  return at;
}

/* Computes the offsets of a worker's memory. Returns the bytes in total; 0 on overflow. */
static size_t measure(struct summary_call *r, size_t *at_columns) {
  const struct attn_problem *p = &r->p;
  int64_t block = attn_min(r->lot * attn_min(p->rows, r->stripe_rows), ATTN_ROW_BLOCK);
  int64_t columns = r->column_sums.data ? r->wave * r->stripes : 0;
  size_t all = 0, column;
  int over = 0;
  if (p->kernel)
    add_bytes(&r->worker_bytes, attn_sdpa_lay_out(p->width, 0, p->desc.additive != NULL, 1).end,
              sizeof(float), &over);
  over |= __builtin_mul_overflow((size_t)block, sizeof(float), &column);
  if (p->kernel) r->at_weights = add_bytes(&r->worker_bytes, p->keys, column, &over);
  if (!p->kernel) r->at_scores = add_bytes(&r->worker_bytes, p->keys, sizeof(double), &over);
  r->at_row = add_bytes(&r->worker_bytes, p->keys, sizeof(double), &over);
  r->at_best = add_bytes(&r->worker_bytes, r->kept, sizeof(struct weighted_key), &over);
  add_bytes(&all, p->workers, r->worker_bytes, &over);
  over |= __builtin_mul_overflow((size_t)columns, sizeof(double), &column);
  *at_columns = add_bytes(&all, p->keys, column, &over);
  add_bytes(&all, 1, 1, &over); /* at least one byte: 0 means overflow */
  return over ? 0 : all;
}

static attn_status run_in_memory(struct summary_call *r, attn_error *err) {
  size_t at_columns, bytes = measure(r, &at_columns);
  r->workspace = bytes ? attn_problem_allocate(&r->p.desc, bytes) : NULL;
  if (!r->workspace)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu bytes of workspace", bytes);
  if (r->column_sums.data) r->columns = (double *)(void *)(r->workspace + at_columns);
  run_all(r);
  attn_problem_release(&r->p.desc, r->workspace);
  return attn_progress_end(&r->progress, err);
}

static int wants_nothing(const attn_sdpa_summary *s) {
  return !s->column_sums && !s->top_keys && !s->top_weights && !s->entropy && !s->max_logit;
}

attn_status attn_sdpa_summarize(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                                const attn_sdpa_summary *summary, attn_error *err) {
  struct summary_call r = {.progress = ATTN_PROGRESS_INIT};
  attn_sdpa_summary s;
  attn_status status = check(&r, desc, q, k, summary, &s, err);
  if (status || !r.p.batch || !r.p.heads_q || wants_nothing(&s)) return status;
  if (!r.p.rows) return attn_tensor_clear(s.column_sums), ATTN_OK; /* sums of no queries */
  r.progress.total = r.p.batch * r.p.heads_q * r.p.rows;
  divide(&r);
  return run_in_memory(&r, err);
}
