#include <math.h>
#include <string.h>

#include "allocator.h"
#include "element.h"
#include "error.h"
#include "integer.h"
#include "key_range.h"
#include "paging.h"
#include "parallel.h"
#include "ref.h"
#include "sdpa_task.h"
#include "split.h"

struct forward_call {
  const struct attn_problem *p;
  struct attn_partition parts;
  char *workspace;
  int64_t splits; /* splits of the keys of the longest sequence; 1: not split */
  float *partial; /* after the workers' memory: (B, Hq, L, splits) times attn_split_floats */
  struct attn_progress progress;
};

/* ---- Rows that see nothing ---------------------------------------------------- */

static double value_at(const struct attn_problem *p, int64_t b, int64_t head, int64_t j,
                       int64_t e) {
  if (p->paging) return attn_paging_value(p, b, head, j, e);
  return attn_load_real(p->v.dtype, attn_tensor_at(&p->v, b, head, j, e));
}

/* Writes the output of an empty row. */
static void write_empty(const struct attn_problem *p, int64_t b, int64_t h, int64_t i) {
  int nan = p->desc.empty_row == ATTN_EMPTY_NAN;
  int64_t head = h / (p->heads_q / p->heads), keys = attn_problem_keys(p, b);
  for (int64_t e = 0; e < p->value_width; e++) {
    long double sum = 0; /* long double: the mean of equal values must be that value */
    for (int64_t j = 0; j < keys && !nan; j++) sum += (long double)value_at(p, b, head, j, e);
    double mean = nan ? (double)NAN : keys ? (double)(sum / (long double)keys) : 0.0;
    attn_store_real(p->o.dtype, attn_tensor_at(&p->o, b, h, i, e), mean);
  }
  double weight = nan ? (double)NAN : 1.0 / (double)keys;
  for (int64_t j = 0; p->desc.weights && j < keys; j++)
    attn_store_real(p->weights.dtype, attn_tensor_at(&p->weights, b, h, i, j), weight);
  if (nan && p->desc.lse)
    attn_store_real(p->lse.dtype, attn_tensor_at(&p->lse, b, h, i, 0), (double)NAN);
}

/* ---- float32 ------------------------------------------------------------------ */

static void run_blocks(const struct attn_problem *p, struct attn_sdpa_task *t, int32_t blocks) {
  if (p->has_dots)
    p->kernel->sdpa_bf16(t, blocks);
  else
    p->kernel->sdpa_f32(t, blocks);
}

static float *partial_of(const struct forward_call *run, int64_t b, int64_t h, int64_t i) {
  const struct attn_problem *p = run->p;
  int64_t row = (b * p->heads_q + h) * p->rows + i;
  return run->partial + row * run->splits * attn_split_floats(p);
}

/* Limits row r to the keys of one split, with its partial result. */
static void point_split(const struct forward_call *run, struct attn_sdpa_task *t, int r,
                        int64_t split, int64_t keys, float *partial) {
  int64_t from = split * keys, to = from + keys;
  if (t->lo[r] < from) t->lo[r] = from;
  if (t->hi[r] > to) t->hi[r] = to;
  t->partial[r] = partial + split * attn_split_floats(run->p);
}

static void point_block(const struct forward_call *run, struct attn_sdpa_task *t, int64_t kv,
                        int64_t unit, int64_t first) {
  const struct attn_problem *p = run->p;
  const struct attn_partition *s = &run->parts;
  int64_t b = kv / p->heads, head = kv % p->heads;
  t->rows = 0;
  attn_task_set_head(p, t, b, head);
  for (int64_t r = first, i = first % p->rows; r < s->unit_rows && r < first + ATTN_ROW_BLOCK;
       r++, t->rows++, i = i + 1 < p->rows ? i + 1 : 0)
    if (t->rows && i)
      attn_task_set_next(p, t, t->rows, b, i);
    else
      attn_task_set_row(p, t, t->rows, b, head * s->group + unit + r / p->rows, i);
}

static struct attn_task_ahead rows_ahead(const attn_tensor *t, int64_t b, int64_t h, int64_t i,
                                         int64_t count) {
  const int64_t row = t->shape[3] * attn_real_size(t->dtype);
  int dense = t->strides[3] == 1 && t->strides[2] == t->shape[3];
  return (struct attn_task_ahead){attn_tensor_at(t, b, h, i, 0), dense ? count * row : 0};
}

/* What the task at index reads, which probably is this worker's next, if that is little. */
static void point_ahead(const struct forward_call *run, struct attn_sdpa_task *t, int64_t index) {
  enum { MOST = 1 << 17 };
  const struct attn_problem *p = run->p;
  const struct attn_partition *s = &run->parts;
  int64_t kv = index / s->tasks / s->units, task = s->tasks - 1 - index % s->tasks;
  if (p->paging || run->splits > 1 || s->group > 1 || kv >= p->batch * p->heads) return;
  int64_t b = kv / p->heads, h = kv % p->heads, most = p->row_blocks * ATTN_ROW_BLOCK;
  int64_t first = task * most, rows = attn_min(p->rows - first, most);
  t->ahead[0] = rows_ahead(&p->q, b, h, first, rows);
  t->ahead[1] = rows_ahead(&p->k, b, h, 0, task + 1 == s->tasks ? p->keys : 0);
  t->ahead[2] = rows_ahead(&p->v, b, h, 0, task + 1 == s->tasks ? p->keys : 0);
  t->ahead[3] = rows_ahead(&p->o, b, h, first, rows);
  int64_t bytes = 0;
  for (int n = 0; n < 4; n++) bytes += t->ahead[n].bytes;
  for (int n = 0; bytes > MOST && n < 4; n++) t->ahead[n].bytes = 0;
}

/* Runs a block of rows against one split of the keys; merge_row combines the splits. */
static void run_split(struct forward_call *run, struct attn_sdpa_task *t, int64_t kv, int64_t split,
                      int64_t count) {
  const struct attn_problem *p = run->p;
  int64_t b = kv / p->heads, h = kv % p->heads * run->parts.group;
  int64_t keys = attn_split_keys(attn_problem_keys(p, b), count);
  if (split >= count) return;
  for (int r = 0; r < t->rows; r++)
    point_split(run, t, r, split, keys, partial_of(run, b, h + r / p->rows, r % p->rows));
  run_blocks(p, t, 1);
  attn_progress_report(&run->progress, &run->p->desc, 0);
}

static void write_empty_rows(const struct forward_call *run, const struct attn_sdpa_task *t,
                             int64_t kv, int64_t unit, int64_t first) {
  const struct attn_problem *p = run->p;
  int64_t b = kv / p->heads, h = kv % p->heads * run->parts.group + unit;
  for (int r = 0; r < t->rows && p->desc.empty_row != ATTN_EMPTY_ZERO; r++)
    if (t->empty[r]) write_empty(p, b, h + (first + r) / p->rows, (first + r) % p->rows);
}

static void run_whole(struct forward_call *run, struct attn_sdpa_task *t, int32_t blocks,
                      int64_t kv, int64_t unit, int64_t first) {
  int64_t rows = 0;
  run_blocks(run->p, t, blocks);
  for (int32_t n = 0; n < blocks; rows += t[n++].rows)
    write_empty_rows(run, &t[n], kv, unit, first + n * ATTN_ROW_BLOCK);
  attn_progress_report(&run->progress, &run->p->desc, rows);
}

/* Runs some blocks of rows. */
static void run_task(void *argument, int64_t index, int32_t worker) {
  struct forward_call *run = argument;
  const struct attn_problem *p = run->p;
  const struct attn_partition *s = &run->parts;
  if (run->progress.stop) return;
  int64_t split = index % run->splits, number = index / run->splits;
  /* The last rows see most keys under a causal mask: they run first to balance the threads. */
  int64_t task = s->tasks - 1 - number % s->tasks, rest = number / s->tasks;
  int64_t unit = rest % s->units, kv = rest / s->units, first = task * p->row_blocks;
  int64_t count = run->splits > 1 ? attn_split_count(p, attn_problem_keys(p, kv / p->heads)) : 1;
  struct attn_sdpa_task *t = (void *)(run->workspace + (size_t)worker * p->worker_bytes);
  int32_t blocks = 0;
  for (; blocks < p->row_blocks && first + blocks < s->blocks; blocks++) {
    t[blocks].workspace = (float *)(void *)t + attn_task_floats(p->row_blocks);
    point_block(run, &t[blocks], kv, unit, (first + blocks) * ATTN_ROW_BLOCK);
  }
  point_ahead(run, t, index + p->workers);
  if (count > 1)
    run_split(run, t, kv, split, count);
  else if (split == 0)
    run_whole(run, t, blocks, kv, unit, first * ATTN_ROW_BLOCK);
}

static void merge_row(void *argument, int64_t index, int32_t worker) {
  struct forward_call *run = argument;
  const struct attn_problem *p = run->p;
  int64_t i = index % p->rows, h = index / p->rows % p->heads_q, b = index / p->rows / p->heads_q;
  int64_t count = attn_split_count(p, attn_problem_keys(p, b));
  (void)worker;
  if (run->progress.stop || count == 1) return;
  int empty = attn_split_merge(p, partial_of(run, b, h, i), count, b, h, i);
  if (empty && p->desc.empty_row != ATTN_EMPTY_ZERO) write_empty(p, b, h, i);
  attn_progress_report(&run->progress, &run->p->desc, 1);
}

/* ---- float64 -------------------------------------------------------------------- */

static void run_row(void *argument, int64_t index, int32_t worker) {
  struct forward_call *run = argument;
  const struct attn_problem *p = run->p;
  if (run->progress.stop) return;
  double *work = (double *)(void *)(run->workspace + (size_t)worker * p->worker_bytes);
  struct attn_ref_row row = {.i = index % p->rows,
                             .h = index / p->rows % p->heads_q,
                             .b = index / p->rows / p->heads_q,
                             .scores = work,
                             .weights = work + p->keys,
                             .output = work + 2 * p->keys,
                             .absolute = work + 2 * p->keys + p->value_width};
  attn_sdpa desc = p->desc;
  attn_tensor mask = p->mask;
  if (desc.mask) desc.mask = &mask;
  attn_ref_sdpa_row(&desc, &p->q, &p->k, &p->v, &row);
  attn_tensor_store_row(&p->o, row.b, row.h, row.i, row.output);
  if (desc.weights) attn_tensor_store_row(&p->weights, row.b, row.h, row.i, row.weights);
  if (desc.lse) attn_tensor_store_row(&p->lse, row.b, row.h, row.i, &row.lse);
  if (!row.visible && desc.empty_row != ATTN_EMPTY_ZERO) write_empty(p, row.b, row.h, row.i);
  attn_progress_report(&run->progress, &run->p->desc, 1);
}

/* ---- The call ----------------------------------------------------------------- */

void *attn_problem_allocate(const attn_sdpa *d, size_t bytes) {
  return attn_memory_allocate(d->allocator, ATTN_PANEL_ALIGN, bytes);
}

void attn_problem_release(const attn_sdpa *d, void *memory) {
  attn_memory_release(d->allocator, memory);
}

static attn_status run_all(const struct attn_problem *p, void *workspace, attn_error *err) {
  struct forward_call run = {.p = p,
                             .parts = attn_problem_partition(p),
                             .splits = attn_split_max(p),
                             .progress = ATTN_PROGRESS_INIT};
  uintptr_t start = (uintptr_t)workspace + ATTN_PANEL_ALIGN - 1;
  run.workspace =
      (char *)workspace + (start / ATTN_PANEL_ALIGN * ATTN_PANEL_ALIGN - (uintptr_t)workspace);
  run.partial = (float *)(void *)(run.workspace + p->worker_bytes * (size_t)p->workers);
  run.progress.total = p->batch * p->heads_q * p->rows;
  if (!p->kernel) {
    attn_problem_parallel(p, run.progress.total, run_row, &run);
  } else {
    int64_t tasks = p->batch * p->heads * run.parts.units * run.parts.tasks;
    attn_problem_parallel(p, tasks * run.splits, run_task, &run);
    if (run.splits > 1) attn_problem_parallel(p, run.progress.total, merge_row, &run);
  }
  return attn_progress_end(&run.progress, err);
}

attn_status attn_forward_check(const struct attn_problem *p, attn_error *err) {
  const attn_sdpa *d = &p->desc;
  attn_status status = ATTN_OK;
  if (!p->batch || !p->heads_q || !p->rows) return ATTN_OK;
  if (d->empty_row == ATTN_EMPTY_ERROR && (status = attn_problem_reject_empty_rows(p, err)))
    return status;
  if (d->workspace && d->workspace_bytes < p->workspace_bytes)
    status =
        attn_fail(err, ATTN_ERR_MEMORY, "workspace", "workspace_bytes is %zu; this call needs %zu",
                  d->workspace_bytes, p->workspace_bytes);
  return status;
}

attn_status attn_problem_run(const struct attn_problem *p, attn_error *err) {
  const attn_sdpa *d = &p->desc;
  if (!p->batch || !p->heads_q || !p->rows) return ATTN_OK;
  void *workspace = d->workspace ? d->workspace : attn_problem_allocate(d, p->workspace_bytes);
  if (!workspace)
    return attn_fail(err, ATTN_ERR_MEMORY, "workspace", "no memory for %zu bytes of workspace",
                     p->workspace_bytes);
  attn_status status = run_all(p, workspace, err);
  if (!d->workspace) attn_problem_release(d, workspace);
  return status;
}

attn_status attn_sdpa_forward(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                              const attn_tensor *v, const attn_tensor *o, attn_error *err) {
  struct attn_problem p;
  attn_status status = attn_problem_check(NULL, desc, q, k, v, o, 1, &p, err);
  if (!status) status = attn_forward_check(&p, err);
  return status ? status : attn_problem_run(&p, err);
}
