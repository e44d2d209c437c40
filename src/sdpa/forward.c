#include <math.h>
#include <string.h>

#include "allocator.h"
#include "error.h"
#include "element.h"
#include "philox.h"
#include "threads.h"
#include "problem.h"
#include "ref.h"

struct run {
  const struct attn_problem *p;
  struct attn_partition parts;
  char *workspace;
  int64_t splits; /* stretches of keys of the longest sequence; 1: no row is split */
  float *partial; /* behind the workers' memory: (B, Hq, L, splits) times attn_split_floats */
  struct attn_progress progress;
};

struct attn_partition attn_problem_partition(const struct attn_problem *p) {
  struct attn_partition s = {p->heads ? p->heads_q / p->heads : 0, 0, 0, 0};
  int merged = p->rows < ATTN_ROW_BLOCK;
  s.units = merged ? 1 : s.group;
  s.unit_rows = merged ? s.group * p->rows : p->rows;
  s.blocks = (s.unit_rows + ATTN_ROW_BLOCK - 1) / ATTN_ROW_BLOCK;
  return s;
}

void attn_problem_parallel(const struct attn_problem *p, int64_t count,
                           void (*body)(void *, int64_t, int32_t), void *argument) {
  attn_threads_parallel_for(p->desc.executor, p->workers, count, body, argument);
}

/* ---- Rows that see nothing ---------------------------------------------------- */

static double value_at(const struct attn_problem *p, int64_t b, int64_t head, int64_t j,
                       int64_t e) {
  if (p->paging) return attn_paging_value(p, b, head, j, e);
  return attn_load_real(p->v.dtype, attn_tensor_at(&p->v, b, head, j, e));
}

/* The mean of all S rows of v: what a large finite fill would have given. */
static void write_empty(const struct attn_problem *p, int64_t b, int64_t h, int64_t i) {
  int nan = p->desc.empty_row == ATTN_EMPTY_NAN;
  int64_t head = h / (p->heads_q / p->heads), keys = attn_problem_keys(p, b);
  for (int64_t e = 0; e < p->value_width; e++) {
    long double sum = 0; /* equal values round alike: in double their errors would add up */
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

int attn_problem_mask_allows(const struct attn_problem *p, int64_t b, int64_t h, int64_t i,
                             int64_t j) {
  const char *at = attn_tensor_at(&p->mask, b, h, i, j);
  if (p->mask.dtype == ATTN_BOOL) return *at != 0;
  return attn_load_real(p->mask.dtype, at) != -(double)INFINITY;
}

int attn_problem_row_is_empty(const struct attn_problem *p, int64_t b, int64_t h, int64_t i) {
  int64_t lo, hi;
  attn_problem_key_range(p, b, i, &lo, &hi);
  if (!p->desc.mask) return lo >= hi;
  for (int64_t j = lo; j < hi; j++)
    if (attn_problem_mask_allows(p, b, h, i, j)) return 0;
  return 1;
}

attn_status attn_problem_reject_empty_rows(const struct attn_problem *p, attn_error *err) {
  for (int64_t b = 0; b < p->batch; b++)
    for (int64_t h = 0; h < p->heads_q; h++)
      for (int64_t i = 0; i < p->rows; i++)
        if (attn_problem_row_is_empty(p, b, h, i))
          return attn_fail(err, ATTN_ERR_EMPTY_ROW, "empty_row",
                           "query %lld of head %lld of sequence %lld sees no key", (long long)i,
                           (long long)h, (long long)b);
  return ATTN_OK;
}

/* ---- float32 ------------------------------------------------------------------ */

static const char *vector_of(const attn_tensor *t, int64_t h) {
  if (attn_view_is_empty(t)) return NULL;
  return attn_view_at(t, t->rank == 2 ? h * t->strides[0] : 0);
}

void attn_task_set_row(const struct attn_problem *p, struct attn_sdpa_task *t, int r, int64_t b,
                       int64_t h, int64_t i) {
  const attn_sdpa *d = &p->desc;
  t->q[r] = attn_tensor_at(&p->q, b, h, i, 0);
  t->o[r] = attn_tensor_at(&p->o, b, h, i, 0);
  t->lse[r] = p->desc.lse ? (float *)attn_tensor_at(&p->lse, b, h, i, 0) : NULL;
  t->weights[r] = p->desc.weights ? attn_tensor_at(&p->weights, b, h, i, 0) : NULL;
  t->mask[r] = p->desc.mask ? attn_tensor_at(&p->mask, b, h, i, 0) : NULL;
  t->partial[r] = NULL;
  attn_problem_key_range(p, b, i, &t->lo[r], &t->hi[r]);
  t->position[r] = attn_problem_position(p, b, i);
  t->slope[r] = d->alibi ? attn_problem_per_head(d->alibi, b, h) : 0;
  t->additive[r] = d->additive ? vector_of(d->additive, h) : NULL;
  t->sink[r] = d->sinks ? attn_problem_per_head(d->sinks, b, h) * ATTN_LOG2E : -(double)INFINITY;
  t->counter[r][0] = (uint32_t)(d->origin_query + i);
  t->counter[r][1] = (uint32_t)(d->origin_head + h);
  t->counter[r][2] = (uint32_t)(d->origin_batch + b);
}

void attn_task_set_head(const struct attn_problem *p, struct attn_sdpa_task *t, int64_t b,
                        int64_t head) {
  t->dtype = t->weights_dtype = p->q.dtype, t->kv_dtype = p->k.dtype;
  t->k = attn_tensor_at(&p->k, p->paging ? 0 : b, head, 0, 0);
  t->v = attn_tensor_at(&p->v, p->paging ? 0 : b, head, 0, 0);
  attn_paging_set_pages(p, &t->pages, b, head);
  t->q_col = p->q.strides[3], t->o_col = p->o.strides[3];
  t->weights_col = p->weights.strides[3], t->mask_col = p->mask.strides[3];
  t->k_row = p->k.strides[2], t->k_col = p->width == 1 ? 1 : p->k.strides[3];
  t->v_row = p->v.strides[2], t->v_col = p->value_width == 1 ? 1 : p->v.strides[3];
  t->keys = p->keys, t->width = p->width, t->value_width = p->value_width;
  int drops = (p->desc.flags & ATTN_SDPA_DROPOUT) != 0;
  t->has_mask = p->desc.mask != NULL, t->mask_dtype = p->mask.dtype;
  t->has_alibi = p->desc.alibi != NULL, t->has_sinks = p->desc.sinks != NULL;
  const attn_tensor *additive = p->desc.additive;
  t->has_additive = additive != NULL;
  t->additive_dtype = additive ? additive->dtype : 0;
  t->additive_col = additive ? additive->strides[additive->rank - 1] : 0;
  t->softcap = p->desc.flags & ATTN_SDPA_SOFTCAP ? p->desc.softcap * ATTN_LOG2E : 0;
  t->drop_below = drops ? attn_dropout_threshold(p->desc.dropout) : 0;
  t->keep = drops ? 1 / (1 - p->desc.dropout) : 1;
  t->seed = p->desc.seed;
  t->scale = p->scale * ATTN_LOG2E;
  int64_t keys = attn_problem_keys(p, b);
  t->headroom = keys > 1 ? (float)(ceil(log2((double)keys)) + 1) : 1.0f;
}

static float *partial_of(const struct run *run, int64_t b, int64_t h, int64_t i) {
  const struct attn_problem *p = run->p;
  int64_t row = (b * p->heads_q + h) * p->rows + i;
  return run->partial + row * run->splits * attn_split_floats(p);
}

/* The row's keys of one stretch, and where its sums go. */
static void point_stretch(const struct run *run, struct attn_sdpa_task *t, int r, int64_t stretch,
                          int64_t keys, float *partial) {
  int64_t from = stretch * keys, to = from + keys;
  if (t->lo[r] < from) t->lo[r] = from;
  if (t->hi[r] > to) t->hi[r] = to;
  t->partial[r] = partial + stretch * attn_split_floats(run->p);
}

static void point_block(const struct run *run, struct attn_sdpa_task *t, int64_t kv, int64_t unit,
                        int64_t first) {
  const struct attn_problem *p = run->p;
  const struct attn_partition *s = &run->parts;
  int64_t b = kv / p->heads, head = kv % p->heads;
  t->rows = 0;
  attn_task_set_head(p, t, b, head);
  for (int64_t r = first; r < s->unit_rows && r < first + ATTN_ROW_BLOCK; r++)
    attn_task_set_row(p, t, t->rows++, b, head * s->group + unit + r / p->rows, r % p->rows);
}

/* A block of rows against one of `count` stretches of their keys; the merging comes later. */
static void run_stretch(struct run *run, struct attn_sdpa_task *t, int64_t kv, int64_t stretch,
                        int64_t count) {
  const struct attn_problem *p = run->p;
  int64_t b = kv / p->heads, h = kv % p->heads * run->parts.group;
  int64_t keys = attn_split_keys(attn_problem_keys(p, b), count);
  if (stretch >= count) return;
  for (int r = 0; r < t->rows; r++)
    point_stretch(run, t, r, stretch, keys, partial_of(run, b, h + r / p->rows, r % p->rows));
  p->kernel->sdpa_f32(t);
  attn_progress_report(&run->progress, &run->p->desc, 0);
}

static void run_whole(struct run *run, struct attn_sdpa_task *t, int64_t kv, int64_t unit,
                      int64_t first) {
  const struct attn_problem *p = run->p;
  int64_t b = kv / p->heads, h = kv % p->heads * run->parts.group + unit;
  p->kernel->sdpa_f32(t);
  for (int r = 0; r < t->rows && p->desc.empty_row != ATTN_EMPTY_ZERO; r++)
    if (t->empty[r]) write_empty(p, b, h + (first + r) / p->rows, (first + r) % p->rows);
  attn_progress_report(&run->progress, &run->p->desc, t->rows);
}

static void run_block(void *argument, int64_t index, int32_t worker) {
  struct run *run = argument;
  const struct attn_problem *p = run->p;
  const struct attn_partition *s = &run->parts;
  if (run->progress.stop) return;
  int64_t stretch = index % run->splits, task = index / run->splits;
  /* Late rows see most under a causal mask: they go first, so that no thread ends alone. */
  int64_t block = s->blocks - 1 - task % s->blocks, rest = task / s->blocks;
  int64_t unit = rest % s->units, kv = rest / s->units, first = block * ATTN_ROW_BLOCK;
  int64_t count = run->splits > 1 ? attn_split_count(p, attn_problem_keys(p, kv / p->heads)) : 1;
  struct attn_sdpa_task t;
  t.workspace = (float *)(void *)(run->workspace + (size_t)worker * p->worker_bytes);
  point_block(run, &t, kv, unit, first);
  if (count > 1)
    run_stretch(run, &t, kv, stretch, count);
  else if (stretch == 0)
    run_whole(run, &t, kv, unit, first);
}

static void merge_row(void *argument, int64_t index, int32_t worker) {
  struct run *run = argument;
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
  struct run *run = argument;
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
  for (int64_t e = 0; e < p->value_width; e++)
    attn_store_real(p->o.dtype, attn_tensor_at(&p->o, row.b, row.h, row.i, e), row.output[e]);
  for (int64_t j = 0; desc.weights && j < p->keys; j++)
    attn_store_real(p->weights.dtype, attn_tensor_at(&p->weights, row.b, row.h, row.i, j),
                    row.weights[j]);
  if (desc.lse)
    attn_store_real(p->lse.dtype, attn_tensor_at(&p->lse, row.b, row.h, row.i, 0), row.lse);
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
  struct run run = {.p = p,
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
    int64_t blocks = p->batch * p->heads * run.parts.units * run.parts.blocks;
    attn_problem_parallel(p, blocks * run.splits, run_block, &run);
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
  attn_status status = attn_problem_check(desc, q, k, v, o, 1, &p, err);
  if (!status) status = attn_forward_check(&p, err);
  return status ? status : attn_problem_run(&p, err);
}
