/* backward.c -- attn_sdpa_backward: chunks of rows over float32 panels; the reference for float64.
 */
#include "backward_call.h"

#include <math.h>
#include <string.h>

#include "error.h"
#include "element.h"
#include "integer.h"
#include "key_range.h"
#include "parallel.h"
#include "ref.h"
#include "sdpa_task.h"

static double real_at(const attn_tensor *t, int64_t b, int64_t h, int64_t i, int64_t e) {
  return attn_load_real(t->dtype, attn_tensor_at(t, b, h, i, e));
}

/* ---- Shared by both types ---- */

/* The caller's tensors in their own shapes: they have elements even if they broadcast to no rows.
 */
void attn_backward_clear(const attn_sdpa_gradients *g) {
  attn_tensor_clear(g->d_mask), attn_tensor_clear(g->d_sinks), attn_tensor_clear(g->d_additive);
}

/* Whether several tasks add to the same element of the mask's gradient. Then one thread runs
 * all. */
static int shares_mask(const struct backward_call *r) {
  const int64_t *shape = r->p.mask.shape;
  if (!r->d_mask.data) return 0;
  for (int n = 0; n < 3; n++)
    if (!r->d_mask.strides[n] && shape[n] > 1) return 1;
  return 0;
}

static void in_order(const struct backward_call *r, int serial, int64_t count,
                     void (*body)(void *, int64_t, int32_t), struct backward_call *argument) {
  if (serial)
    for (int64_t n = 0; n < count; n++) body(argument, n, 0);
  else
    attn_problem_parallel(&r->p, count, body, argument);
}

/* 0 for the NaN of an empty row, which is a constant. */
static double d_lse_at(const struct backward_call *r, int64_t b, int64_t h, int64_t i, int empty) {
  if (!r->g->d_lse || (empty && r->p.desc.empty_row == ATTN_EMPTY_NAN)) return 0;
  return real_at(&r->d_lse, b, h, i, 0);
}

/* ---- The gradient of additive ---- */

/* A slot per block of the head's rows; where heads share blocks, a head is in at most two
 * adjacent ones. */
static int64_t slots_of_head(const struct backward_call *r) {
  if (!r->g->d_additive) return 0;
  if (!r->p.kernel) return 1;
  return r->p.rows < ATTN_ROW_BLOCK ? 2 : r->parts.blocks;
}

static double *additive_slot(const struct backward_call *r, int64_t b, int64_t h, int64_t block) {
  int64_t slot = r->p.rows < ATTN_ROW_BLOCK ? block & 1 : block;
  return r->d_additive + ((b * r->p.heads_q + h) * r->slots + slot) * r->p.width;
}

static void store_additive(const struct backward_call *r, int64_t h, int64_t e, double sum) {
  const attn_tensor *t = r->g->d_additive;
  int64_t at = e * t->strides[t->rank - 1] + (t->rank == 2 ? h * t->strides[0] : 0);
  char *to = attn_view_at(t, at);
  if (r->adds)
    attn_add_real(t->dtype, to, sum);
  else
    attn_store_real(t->dtype, to, sum);
}

static void sum_additive(const struct backward_call *r) {
  int shared = r->g->d_additive && r->g->d_additive->rank == 1;
  int64_t heads = !r->g->d_additive ? 0 : shared ? 1 : r->p.heads_q;
  int64_t each = shared ? r->p.heads_q : 1; /* heads of one vector */
  for (int64_t h = 0; h < heads; h++)
    for (int64_t e = 0; e < r->p.width; e++) {
      double sum = 0;
      for (int64_t b = 0; b < r->p.batch; b++) {
        const double *at = r->d_additive + (b * r->p.heads_q + h) * r->slots * r->p.width + e;
        for (int64_t n = 0; n < each * r->slots; n++) sum += at[n * r->p.width];
      }
      store_additive(r, h, e, sum);
    }
}

/* ---- float32 and below ---- */

static int64_t row_index(const struct backward_call *r, int64_t b, int64_t h, int64_t i) {
  return (b * r->p.heads_q + h) * r->p.rows + i;
}

static double dot(const float *x, const float *y, int64_t count) {
  enum { CHAINS = 8 }; /* independent sums hide the latency of an addition */
  double sum[CHAINS] = {0}, all = 0;
  int64_t n = 0;
  for (; n + CHAINS <= count; n += CHAINS)
    for (int c = 0; c < CHAINS; c++) sum[c] += (double)x[n + c] * (double)y[n + c];
  for (; n < count; n++) all += (double)x[n] * (double)y[n];
  for (int c = 0; c < CHAINS; c++) all += sum[c];
  return all;
}

/* rowsum(dO O) */
static double output_product(const struct backward_call *r, int64_t b, int64_t h, int64_t i) {
  enum { PART = 64 };
  const char *g = attn_tensor_at(&r->d_o, b, h, i, 0), *o = attn_tensor_at(&r->p.o, b, h, i, 0);
  int64_t size = attn_real_size(r->p.o.dtype), g_step = r->d_o.strides[3],
          o_step = r->p.o.strides[3];
  float x[PART], y[PART];
  double sum = 0;
  if (r->p.o.dtype == ATTN_F32 && g_step == 1 && o_step == 1)
    return dot((const float *)(const void *)g, (const float *)(const void *)o, r->p.value_width);
  for (int64_t e = 0; e < r->p.value_width; e += PART) {
    int64_t count = attn_min(r->p.value_width - e, PART);
    attn_load_floats(r->p.o.dtype, g + e * g_step * size, g_step, count, 1, x, 1);
    attn_load_floats(r->p.o.dtype, o + e * o_step * size, o_step, count, 1, y, 1);
    sum += dot(x, y, count);
  }
  return sum;
}

/* The delta of a row without keys is used only for the sink's gradient: its O is constant. */
static void run_delta(void *argument, int64_t index, int32_t worker) {
  struct backward_call *r = argument;
  (void)worker;
  int64_t i = index % r->p.rows, h = index / r->p.rows % r->p.heads_q;
  int64_t b = index / r->p.rows / r->p.heads_q;
  int empty = r->g->d_sinks && attn_problem_row_is_empty(&r->p, b, h, i);
  double sum = empty ? 0 : output_product(r, b, h, i);
  r->delta[index] = (float)(sum - d_lse_at(r, b, h, i, empty));
}

enum { TASK_FLOATS = (sizeof(struct attn_backward_task) * ATTN_BACKWARD_BLOCKS + 63) / 64 * 16 };

static float *worker_memory(const struct backward_call *r, int32_t worker) {
  return (float *)(void *)(r->workspace + (size_t)worker * r->worker_bytes);
}

static void point_row(const struct backward_call *r, struct attn_backward_task *t, int row,
                      int64_t b, int64_t h, int64_t i) {
  attn_task_set_row(&r->p, &t->task, row, b, h, i);
  t->task.weights[row] = NULL;
  t->d_o[row] = attn_tensor_at(&r->d_o, b, h, i, 0);
  const struct row_softmax *sum = &r->sums[row_index(r, b, h, i)];
  t->m[row] = sum->m, t->share[row] = sum->share;
  t->delta[row] = r->delta[row_index(r, b, h, i)];
  t->d_q[row] = r->g->d_q ? attn_tensor_at(&r->d_q, b, h, i, 0) : NULL;
  t->d_mask[row] = r->g->d_mask ? attn_tensor_at(&r->d_mask, b, h, i, 0) : NULL;
}

/* ---- The softmax's sums ---- */

/* Above this |lse| loses ln n in float32: the error is 2^-18. */
static const float LARGE_LSE = 64;

/* From the forward's log-sum-exp; -inf (no keys) gives weights 0. */
static struct row_softmax sum_of_lse(double lse, double sink) {
  return (struct row_softmax){(float)(lse * ATTN_LOG2E), 1,
                              sink > -(double)INFINITY ? (float)exp(sink - lse) : 0};
}

/* Whether bf16 dot products run the backward. */
static int runs_dots(const struct backward_call *r) {
  return r->p.has_dots && r->p.kernel->backward_bf16;
}

/* Recomputes the sums of the task's rows as the backward computes their scores. */
static void recompute_sums(const struct backward_call *r, struct attn_sdpa_task *t,
                           struct row_softmax *const *sums) {
  float partial[ATTN_ROW_BLOCK][3];
  if (!t->rows) return;
  for (int n = 0; n < t->rows; n++) t->partial[n] = partial[n], t->weights[n] = NULL;
  t->v.width = 0, t->drop_below = 0;
  if (runs_dots(r))
    r->p.kernel->sdpa_bf16(t, 1);
  else
    r->p.kernel->sdpa_f32(t, 1);
  for (int n = 0; n < t->rows; n++) {
    struct attn_softmax_sum all =
        attn_softmax_finish((double)partial[n][0], (double)partial[n][1], t->sink[n]);
    *sums[n] = (struct row_softmax){partial[n][0], (float)all.share, (float)all.sink};
  }
}

/* Computes the sums of a block of rows. Those with a large log-sum-exp are recomputed. */
static void run_sums(void *argument, int64_t index, int32_t worker) {
  struct backward_call *r = argument;
  const struct attn_partition *s = &r->parts;
  if (r->progress.stop) return;
  int64_t rest = index / s->blocks, unit = rest % s->units, kv = rest / s->units;
  int64_t b = kv / r->p.heads, head = kv % r->p.heads, first = index % s->blocks * ATTN_ROW_BLOCK;
  struct attn_sdpa_task t = {.workspace = worker_memory(r, worker)};
  struct row_softmax *again[ATTN_ROW_BLOCK];
  attn_task_set_head(&r->p, &t, b, head);
  for (int64_t n = first; n < s->unit_rows && n < first + ATTN_ROW_BLOCK; n++) {
    int64_t h = head * s->group + unit + n / r->p.rows, i = n % r->p.rows;
    double lse = real_at(&r->p.lse, b, h, i, 0), sink = attn_problem_sink(&r->p, h);
    struct row_softmax *sum = &r->sums[row_index(r, b, h, i)];
    *sum = sum_of_lse(lse, sink);
    if (!(fabs(lse) > LARGE_LSE) || lse == -(double)INFINITY) continue;
    again[t.rows] = sum;
    attn_task_set_row(&r->p, &t, t.rows++, b, h, i);
  }
  recompute_sums(r, &t, again);
  attn_progress_report(&r->progress, &r->p.desc, 0);
}

static const struct attn_backward_kernel *kernel_of(const struct backward_call *r) {
  return runs_dots(r) ? r->p.kernel->backward_bf16 : r->p.kernel->backward;
}

/* Points t at block n of the rows of a key/value head. */
static void point_block(const struct backward_call *r, struct attn_backward_task *t, int64_t b,
                        int64_t head, int64_t n) {
  const struct attn_partition *s = &r->parts;
  int64_t unit = n / s->blocks, block = n % s->blocks, first = block * ATTN_ROW_BLOCK;
  t->task.rows = 0;
  for (int64_t m = first; m < s->unit_rows && m < first + ATTN_ROW_BLOCK; m++) {
    int64_t h = head * s->group + unit + m / r->p.rows;
    if (r->slots) t->d_additive[t->task.rows] = additive_slot(r, b, h, block);
    point_row(r, t, t->task.rows++, b, h, m % r->p.rows);
  }
}

static float *sum_set(const struct backward_call *r, int64_t n) {
  return r->d_kv ? r->d_kv + n * r->chunks.layout.sum_floats : NULL;
}

/* Computes a chunk of a head and adds its part of dK and dV to sums. */
static void run_chunk(struct backward_call *r, struct attn_backward_task *t, int64_t kv,
                      int64_t chunk, float *sums) {
  const struct chunking *c = &r->chunks;
  int64_t b = kv / r->p.heads, head = kv % r->p.heads;
  int64_t n = chunk * c->each, to = attn_min(n + c->each, c->rows);
  while (n < to && !r->progress.stop) {
    int32_t blocks = 0, rows = 0;
    for (; blocks < c->together && n < to; n++, blocks++) {
      if (blocks) memcpy(&t[blocks], t, sizeof *t);
      t[blocks].sums = sums;
      point_block(r, &t[blocks], b, head, n);
      rows += t[blocks].task.rows;
    }
    kernel_of(r)->add_rows(t, blocks);
    attn_progress_report(&r->progress, &r->p.desc, rows);
  }
}

/* Adds elements begin..end of a set. */
static void add_sums(float *to, const float *from, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; n++) to[n] += from[n];
}

static void clear_sums(float *sums, int64_t begin, int64_t end) {
  memset(sums + begin, 0, (size_t)(end - begin) * sizeof *sums);
}

/* Computes a later chunk of a head in part and adds it to sums. */
static void add_chunk(struct backward_call *r, struct attn_backward_task *t, int64_t kv,
                      int64_t chunk, float *part, float *sums) {
  const struct attn_backward_layout *l = &r->chunks.layout;
  const int64_t first = chunk * r->chunks.each;
  const int64_t blocks = attn_divide_up(r->p.keys, ATTN_KEY_BLOCK);
  const int64_t k = blocks ? l->d_v / blocks : 0; /* floats of a block of keys */
  const int64_t v = blocks ? (l->sum_floats - l->d_v) / blocks : 0;
  int64_t lo, hi;
  attn_partition_key_blocks(&r->p, kv / r->p.heads, first, first + r->chunks.each, &lo, &hi);
  if (sums) clear_sums(part, lo * k, hi * k), clear_sums(part + l->d_v, lo * v, hi * v);
  run_chunk(r, t, kv, chunk, part);
  if (!sums) return;
  add_sums(sums, part, lo * k, hi * k), add_sums(sums + l->d_v, part + l->d_v, lo * v, hi * v);
}

/* Begins the tasks of a worker, which precede their workspace. */
static struct attn_backward_task *begin_head(const struct backward_call *r, int32_t worker,
                                             int64_t kv) {
  int64_t b = kv / r->p.heads, head = kv % r->p.heads;
  float *memory = worker_memory(r, worker);
  struct attn_backward_task *t = (void *)memory;
  memset(t, 0, sizeof *t);
  t->task.workspace = memory + TASK_FLOATS;
  t->blocks = (int32_t)r->chunks.together;
  attn_task_set_head(&r->p, &t->task, b, head);
  t->plain_scale = r->p.scale;
  t->d_o_col = r->d_o.strides[3], t->d_q_col = r->d_q.strides[3];
  t->d_mask_col = r->d_mask.strides[3], t->d_mask_dtype = r->d_mask.dtype;
  t->d_k = r->g->d_k ? attn_tensor_at(&r->d_k, b, head, 0, 0) : NULL;
  t->d_v = r->g->d_v ? attn_tensor_at(&r->d_v, b, head, 0, 0) : NULL;
  t->d_k_row = r->d_k.strides[2], t->d_k_col = r->d_k.strides[3];
  t->d_v_row = r->d_v.strides[2], t->d_v_col = r->d_v.strides[3];
  return t;
}

static void run_head(void *argument, int64_t kv, int32_t worker) {
  struct backward_call *r = argument;
  if (r->progress.stop) return;
  float *sums = sum_set(r, r->chunks.own * worker);
  float *part = sum_set(r, r->chunks.own * worker + r->chunks.own - 1);
  struct attn_backward_task *t = begin_head(r, worker, kv);
  t->sums = sums;
  kernel_of(r)->load_keys(t);
  run_chunk(r, t, kv, 0, sums);
  for (int64_t chunk = 1; chunk < r->chunks.count; chunk++) add_chunk(r, t, kv, chunk, part, sums);
  t->sums = sums;
  if (sums) kernel_of(r)->store_keys(t);
}

/* The later rows of a causal call see more keys: they begin first. */
static void run_one_chunk(void *argument, int64_t index, int32_t worker) {
  struct backward_call *r = argument;
  int64_t heads = r->p.batch * r->p.heads, kv = index % heads;
  int64_t chunk = r->chunks.count - 1 - index / heads;
  if (r->progress.stop) return;
  struct attn_backward_task *t = begin_head(r, worker, kv);
  float *sums = t->sums = sum_set(r, kv * r->chunks.count + chunk);
  kernel_of(r)->load_keys(t);
  run_chunk(r, t, kv, chunk, sums);
}

enum { SLICES = 16 }; /* of a head's sums */

static void add_chunks(void *argument, int64_t index, int32_t worker) {
  struct backward_call *r = argument;
  const int64_t floats = r->chunks.layout.sum_floats, kv = index / SLICES, slice = index % SLICES;
  (void)worker;
  for (int64_t chunk = 1; chunk < r->chunks.count; chunk++)
    add_sums(sum_set(r, kv * r->chunks.count), sum_set(r, kv * r->chunks.count + chunk),
             floats * slice / SLICES, floats * (slice + 1) / SLICES);
}

static void store_head(void *argument, int64_t kv, int32_t worker) {
  struct backward_call *r = argument;
  struct attn_backward_task *t = begin_head(r, worker, kv);
  t->sums = sum_set(r, kv * r->chunks.count);
  kernel_of(r)->store_keys(t);
}

/* d sink = p_sink (dlse - D), summed over batch and queries. Where delta is 0, lse may be NaN. */
static void sink_gradients(const struct backward_call *r) {
  const attn_tensor *t = r->g->d_sinks;
  for (int64_t h = 0; t && h < r->p.heads_q; h++) {
    double sink = attn_problem_sink(&r->p, h), sum = 0;
    for (int64_t b = 0; b < r->p.batch && sink > -(double)INFINITY; b++)
      for (int64_t i = 0; i < r->p.rows; i++) {
        int64_t row = row_index(r, b, h, i);
        if (r->delta[row] != 0) sum -= (double)r->sums[row].sink * (double)r->delta[row];
      }
    attn_add_real(t->dtype, attn_view_at(t, h * t->strides[0]), sum);
  }
}

static void run_rows(struct backward_call *r) {
  int64_t heads = r->p.batch * r->p.heads;
  if (!r->chunks.by_chunk) {
    in_order(r, shares_mask(r), heads, run_head, r);
    return;
  }
  attn_problem_parallel(&r->p, heads * r->chunks.count, run_one_chunk, r);
  if (!r->d_kv || r->progress.stop) return;
  attn_problem_parallel(&r->p, heads * SLICES, add_chunks, r);
  attn_problem_parallel(&r->p, heads, store_head, r);
}

static void run_f32(struct backward_call *r) {
  const struct attn_problem *p = &r->p;
  int64_t rows = p->batch * p->heads_q * p->rows;
  int any = r->g->d_q || r->g->d_k || r->g->d_v || r->g->d_mask || r->g->d_additive;
  r->progress.total = any ? rows : 0;
  attn_problem_parallel(p, rows, run_delta, r);
  attn_problem_parallel(p, p->batch * p->heads * r->parts.units * r->parts.blocks, run_sums, r);
  if (any) run_rows(r);
  sink_gradients(r);
  sum_additive(r);
}

/* ---- float64: the equations, head by head ---- */

/* The memory of run_reference_head in bytes; 0 on overflow, because strides of 0 allow any size.
 * Keys and widths are below 2^57. */
static size_t reference_bytes(const struct attn_problem *p) {
  size_t keys = (size_t)p->keys, width = (size_t)p->width, value = (size_t)p->value_width, bytes;
  if (width > SIZE_MAX / 64 || __builtin_mul_overflow(keys, 2 * (width + value) + 4, &bytes) ||
      __builtin_add_overflow(bytes, 4 * width + 3 * value + 16, &bytes) ||
      __builtin_mul_overflow(bytes, sizeof(double), &bytes) || bytes > SIZE_MAX / 2)
    return 0;
  return bytes;
}

static double *cut(double **free, int64_t count) {
  double *at = *free;
  *free += count;
  return at;
}

static void add_scores(const struct backward_call *r, const struct attn_ref_row *row,
                       const struct attn_ref_gradients *g) {
  for (int64_t j = 0; r->g->d_mask && j < r->p.keys; j++)
    attn_add_real(r->d_mask.dtype, attn_tensor_at(&r->d_mask, row->b, row->h, row->i, j),
                  g->d_scores[j]);
  const attn_tensor *t = r->g->d_sinks;
  if (t) attn_add_real(t->dtype, attn_view_at(t, row->h * t->strides[0]), g->d_sink);
}

static void run_reference_head(void *argument, int64_t kv, int32_t worker) {
  struct backward_call *r = argument;
  const struct attn_problem *p = &r->p;
  int64_t b = kv / p->heads, head = kv % p->heads, group = r->parts.group;
  double *free = (double *)(void *)(r->workspace + (size_t)worker * r->worker_bytes);
  struct attn_ref_row row = {.b = b,
                             .scores = cut(&free, p->keys),
                             .weights = cut(&free, p->keys),
                             .output = cut(&free, p->value_width),
                             .absolute = cut(&free, p->value_width)};
  struct attn_ref_gradients g = {.d_q = cut(&free, p->width),
                                 .d_q_size = cut(&free, p->width),
                                 .d_scores = cut(&free, p->keys),
                                 .d_scores_size = cut(&free, p->keys)};
  double *sums = free;
  g.d_additive = p->desc.additive ? cut(&free, p->width) : NULL;
  g.d_additive_size = p->desc.additive ? cut(&free, p->width) : NULL;
  g.d_k = cut(&free, p->keys * p->width), g.d_k_size = cut(&free, p->keys * p->width);
  g.d_v = cut(&free, p->keys * p->value_width), g.d_v_size = cut(&free, p->keys * p->value_width);
  memset(sums, 0, (size_t)(free - sums) * sizeof *sums);
  for (row.h = head * group; row.h < (head + 1) * group; row.h++) {
    if (r->slots) g.d_additive = additive_slot(r, b, row.h, 0);
    for (row.i = 0; row.i < p->rows && !r->progress.stop; row.i++) {
      attn_ref_sdpa_row(&p->desc, &p->q, &p->k, &p->v, &row);
      double d_lse = d_lse_at(r, b, row.h, row.i, !row.visible);
      attn_ref_sdpa_row_backward(&p->desc, &p->q, &p->k, &p->v, &r->d_o, d_lse, &row, &g);
      add_scores(r, &row, &g);
      if (r->g->d_q) attn_tensor_store_row(&r->d_q, b, row.h, row.i, g.d_q);
      attn_progress_report(&r->progress, &r->p.desc, 1);
    }
  }
  for (int64_t j = 0; j < p->keys; j++) {
    if (r->g->d_k) attn_tensor_store_row(&r->d_k, b, head, j, g.d_k + j * p->width);
    if (r->g->d_v) attn_tensor_store_row(&r->d_v, b, head, j, g.d_v + j * p->value_width);
  }
}

static void run_f64(struct backward_call *r) {
  r->progress.total = r->p.batch * r->p.heads_q * r->p.rows;
  /* Shared masks and sinks are summed in order by one thread. */
  in_order(r, r->g->d_mask || r->g->d_sinks, r->p.batch * r->p.heads, run_reference_head, r);
  sum_additive(r);
}

/* ---- The call ---- */

enum {
  CHUNK_BLOCKS = 8, /* shorter chunks cost more overhead than they gain */
  CHUNK_LIMIT = 8,  /* of a head, which limits the memory of their sums */
  CHUNK_FLOATS = 1 << 25,
  TOGETHER_FLOATS =
      1 << 17 /* of blocks of rows that share a pass over the keys: half an L2 cache */
};

/* How rows become chunks depends on the shape of a head alone, as all bits do. Whether a chunk is a
 * task changes none. Returns 0 on overflow, because strides of 0 allow any size. */
static int cut_chunks(struct backward_call *r) {
  struct attn_problem *p = &r->p;
  struct chunking *c = &r->chunks;
  const int64_t heads = p->batch * p->heads, most = INT64_MAX / 64;
  int64_t wide, floats;
  if (__builtin_add_overflow(p->width, p->value_width, &wide) || p->keys > most || wide > most ||
      __builtin_mul_overflow(p->keys + ATTN_KEY_BLOCK, wide + 2 * ATTN_ROW_BLOCK, &floats) ||
      floats > most)
    return 0;
  const int additive = p->desc.additive != NULL;
  int64_t rows = attn_backward_lay_out(p->width, p->value_width, 0, additive, 1).rows_end;
  c->together = ATTN_BACKWARD_BLOCKS;
  while (c->together > 1 && c->together * rows > TOGETHER_FLOATS) c->together--;
  c->layout =
      attn_backward_lay_out(p->width, p->value_width, p->keys, additive, (int32_t)c->together);
  c->rows = r->parts.units * r->parts.blocks;
  c->count = attn_min(c->rows / CHUNK_BLOCKS, CHUNK_LIMIT);
  if (c->count * c->layout.sum_floats > CHUNK_FLOATS)
    c->count = CHUNK_FLOATS / c->layout.sum_floats;
  c->count = attn_max(c->count, 1);
  c->each = attn_divide_up(c->rows, c->count);
  c->by_chunk = heads < 4 * p->workers && heads % p->workers && !shares_mask(r);
  int64_t tasks = c->by_chunk ? heads * c->count : heads;
  p->workers = (int32_t)attn_min(p->workers, attn_max(tasks, 1));
  c->own = c->count > 1 ? 2 : 1;
  c->sets = c->by_chunk ? heads * c->count : c->own * p->workers;
  if (!r->g->d_k && !r->g->d_v) c->sets = 0;
  return 1;
}

/* A worker's: of the backward, or of the sums that are recomputed. */
static int64_t worker_floats(const struct backward_call *r) {
  int64_t sums = attn_sdpa_lay_out(r->p.width, 0, r->p.desc.additive != NULL, 1).end;
  return attn_max(TASK_FLOATS + r->chunks.layout.end, sums);
}

/* Adds count times size bytes to all. Returns 0 on overflow. */
static int add_bytes(size_t *all, int64_t count, size_t size) {
  size_t bytes;
  return !__builtin_mul_overflow((size_t)count, size, &bytes) &&
         !__builtin_add_overflow(*all, bytes, all);
}

/* The bytes of all workers, then of the sums of dK and dV, the slots of d_additive, delta and sums;
 * 0 on overflow. */
static size_t measure(struct backward_call *r) {
  const struct attn_problem *p = &r->p;
  size_t each = 0, all = 0, rows = (size_t)(p->batch * p->heads_q * p->rows), slots;
  if (!p->kernel)
    each = reference_bytes(p);
  else if (cut_chunks(r))
    each = (size_t)worker_floats(r) * sizeof(float);
  r->slots = slots_of_head(r);
  if (__builtin_mul_overflow((size_t)(r->slots * p->batch * p->heads_q), (size_t)p->width,
                             &slots) ||
      __builtin_mul_overflow(slots, sizeof(double), &r->slot_bytes))
    return 0;
  r->worker_bytes = (each + ATTN_PANEL_ALIGN - 1) / ATTN_PANEL_ALIGN * ATTN_PANEL_ALIGN;
  r->sum_bytes = 0;
  if (!each || !add_bytes(&all, p->workers, r->worker_bytes) ||
      !add_bytes(&r->sum_bytes, r->chunks.sets,
                 (size_t)r->chunks.layout.sum_floats * sizeof(float)) ||
      !add_bytes(&all, 1, r->sum_bytes) || !add_bytes(&all, 1, r->slot_bytes) ||
      !add_bytes(&all, 1, ATTN_PANEL_ALIGN) || !add_bytes(&all, (int64_t)rows, ROW_BYTES))
    return 0;
  return all;
}

/* Runs a checked call. */
static attn_status compute(struct backward_call *r, attn_error *err) {
  r->parts = attn_problem_partition(&r->p);
  size_t bytes = measure(r);
  void *memory = bytes ? attn_problem_allocate(&r->p.desc, bytes) : NULL;
  if (!memory)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu bytes of workspace", bytes);
  r->workspace = memory;
  char *after = r->workspace + r->worker_bytes * (size_t)r->p.workers;
  r->d_kv = r->chunks.sets ? (float *)(void *)after : NULL;
  r->d_additive = (double *)(void *)(after + r->sum_bytes);
  memset(r->d_additive, 0, r->slot_bytes);
  r->delta = (float *)(void *)((char *)r->d_additive + r->slot_bytes);
  r->sums = (struct row_softmax *)(void *)(r->delta + r->p.batch * r->p.heads_q * r->p.rows);
  if (!r->adds) attn_backward_clear(r->g);
  if (r->p.kernel)
    run_f32(r);
  else
    run_f64(r);
  attn_problem_release(&r->p.desc, memory);
  return attn_progress_end(&r->progress, err);
}

attn_status attn_backward_part(const struct attn_problem *whole, int adds, const attn_sdpa *desc,
                               const attn_tensor *q, const attn_tensor *k, const attn_tensor *v,
                               const attn_tensor *o, const attn_tensor *d_o,
                               const attn_sdpa_gradients *gradients, attn_error *err) {
  struct backward_call r = {
      .whole = whole, .g = gradients, .adds = adds, .progress = ATTN_PROGRESS_INIT};
  attn_status status = attn_backward_call_check(&r, desc, q, k, v, o, d_o, err);
  return status ? status : compute(&r, err);
}

attn_status attn_sdpa_backward(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                               const attn_tensor *v, const attn_tensor *o, const attn_tensor *d_o,
                               const attn_sdpa_gradients *gradients, attn_error *err) {
  return attn_backward_part(NULL, 0, desc, q, k, v, o, d_o, gradients, err);
}
