/* backward.c -- attn_sdpa_backward: two passes over float32 panels; the reference for float64. */
#include "backward.h"

#include <math.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "element.h"
#include "key_range.h"
#include "parallel.h"
#include "ref.h"
#include "sdpa_task.h"

/* A row's softmax from its scores in base 2: p_j = share 2^(s_j - m). */
struct row_softmax {
  float m, share, sink; /* sink: the sink's own p */
};
enum { ROW_BYTES = sizeof(float) + sizeof(struct row_softmax) }; /* of delta and sums */

struct backward_call {
  struct attn_problem p;
  const struct attn_problem *whole; /* NULL: not a part of another call */
  attn_sdpa_gradients own;          /* a copy */
  const attn_sdpa_gradients *g;
  int adds; /* to d_mask, d_sinks and d_additive, which are not cleared */
  attn_tensor d_o, d_q, d_k, d_v, d_lse, d_mask; /* at rank 4; d_mask broadcast like the mask */
  struct attn_partition parts;
  float *delta;             /* (B, Hq, L): rowsum(dO O) - dlse */
  struct row_softmax *sums; /* (B, Hq, L) */
  char *workspace;
  size_t worker_bytes;
  double *d_additive; /* [b][h][slot][e], each slot of one task: sums have one order */
  int64_t slots;      /* of a head */
  size_t slot_bytes;  /* of all */
  struct attn_progress progress;
};

static double real_at(const attn_tensor *t, int64_t b, int64_t h, int64_t i, int64_t e) {
  return attn_load_real(t->dtype, attn_tensor_at(t, b, h, i, e));
}

/* ---- Checks ---- */

attn_status attn_gradients_copy(const attn_sdpa_gradients *from, attn_sdpa_gradients *to,
                                attn_error *err) {
  return attn_descriptor_require(from, to, sizeof *to, offsetof(attn_sdpa_gradients, d_additive),
                                 "gradients", err);
}

static attn_status check_mask_gradient(struct backward_call *r, attn_error *err) {
  const attn_tensor *mask = r->p.desc.mask, *t = r->g->d_mask;
  if (!t) return ATTN_OK;
  if (!mask || mask->dtype == ATTN_BOOL)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "d_mask",
                     "d_mask must be NULL: there is no float mask");
  attn_tensor like = *mask, wide;
  for (int n = 3; n >= 0; n--)
    like.shape[n] = n >= 4 - mask->rank ? mask->shape[n - 4 + mask->rank] : 1;
  attn_status status = attn_tensor_check_result(t, "d_mask", &like, mask->rank, &wide, err);
  if (status) return status;
  for (int n = 0; n < 4; n++)
    if (wide.shape[n] == 1) wide.strides[n] = 0;
  memcpy(wide.shape, r->p.mask.shape, sizeof wide.shape);
  r->d_mask = wide;
  return ATTN_OK;
}

static attn_status check_sink_gradient(const struct backward_call *r, attn_error *err) {
  const attn_tensor *t = r->g->d_sinks;
  attn_tensor like = {.rank = 4, .shape = {1, 1, 1, r->p.heads_q}}, wide;
  if (!t) return ATTN_OK;
  if (!r->p.desc.sinks)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "d_sinks", "d_sinks must be NULL: there are no sinks");
  return attn_tensor_check_result(t, "d_sinks", &like, 1, &wide, err);
}

static attn_status check_additive_gradient(const struct backward_call *r, attn_error *err) {
  const attn_tensor *t = r->g->d_additive, *additive = r->p.desc.additive;
  attn_tensor like = {.rank = 4, .shape = {1, 1, r->p.heads_q, r->p.width}}, wide;
  if (!t) return ATTN_OK;
  if (!additive)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "d_additive",
                     "d_additive must be NULL: additive is NULL");
  return attn_tensor_check_result(t, "d_additive", &like, additive->rank, &wide, err);
}

static attn_status check_no_overlap(const struct backward_call *r, const attn_tensor *o,
                                    const attn_tensor *d_o, attn_error *err) {
  const attn_sdpa_gradients *g = r->g;
  const attn_sdpa *d = &r->p.desc;
  const struct attn_named_view out[] = {{g->d_q, "d_q"},         {g->d_k, "d_k"},
                                        {g->d_v, "d_v"},         {g->d_mask, "d_mask"},
                                        {g->d_sinks, "d_sinks"}, {g->d_additive, "d_additive"}};
  const struct attn_named_view in[] = {{&r->p.q, "q"},      {&r->p.k, "k"},
                                       {&r->p.v, "v"},      {o, "o"},
                                       {d_o, "d_o"},        {d->lse, "lse"},
                                       {d->mask, "mask"},   {d->alibi, "alibi"},
                                       {d->sinks, "sinks"}, {d->key_lengths, "key_lengths"},
                                       {g->d_lse, "d_lse"}, {d->additive, "additive"}};
  return attn_views_check_no_overlap(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in,
                                     err);
}

static attn_status check(struct backward_call *r, const attn_sdpa *desc, const attn_tensor *q,
                         const attn_tensor *k, const attn_tensor *v, const attn_tensor *o,
                         const attn_tensor *d_o, attn_error *err) {
  attn_status status = attn_gradients_copy(r->g, &r->own, err);
  const attn_sdpa_gradients *g = r->g = &r->own;
  if (status) return status;
  status = attn_problem_check_part(r->whole, desc, q, k, v, o, 1, &r->p, err);
  if (status) return status;
  if (!r->p.desc.lse)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "lse",
                     "desc->lse is NULL: the backward needs the log-sum-exp of the forward");
  if (r->p.desc.weights)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "weights", "weights must be NULL in the backward");
  attn_dtype dtype = q->dtype;
  status = attn_tensor_check_like(d_o, "d_o", &r->p.o, q->rank, dtype, &r->d_o, err);
  if (!status && g->d_q)
    status = attn_tensor_check_like(g->d_q, "d_q", &r->p.q, q->rank, dtype, &r->d_q, err);
  if (!status && g->d_k)
    status = attn_tensor_check_like(g->d_k, "d_k", &r->p.k, q->rank, dtype, &r->d_k, err);
  if (!status && g->d_v)
    status = attn_tensor_check_like(g->d_v, "d_v", &r->p.v, q->rank, dtype, &r->d_v, err);
  if (!status && g->d_lse) {
    attn_tensor like = r->p.lse; /* (B, Hq, L, 1), as of rank 4 with a 1 in front */
    attn_tensor three = {.rank = 4, .shape = {1, like.shape[0], like.shape[1], like.shape[2]}},
                wide;
    status =
        attn_tensor_check_like(g->d_lse, "d_lse", &three, q->rank - 1, r->p.lse.dtype, &wide, err);
    if (!status)
      r->d_lse = (attn_tensor){wide.data,
                               wide.dtype,
                               4,
                               {wide.shape[1], wide.shape[2], wide.shape[3], 1},
                               {wide.strides[1], wide.strides[2], wide.strides[3], 0}};
  }
  if (!status) status = check_mask_gradient(r, err);
  if (!status) status = check_sink_gradient(r, err);
  if (!status) status = check_additive_gradient(r, err);
  return status ? status : check_no_overlap(r, o, d_o, err);
}

attn_status attn_backward_check(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                                const attn_tensor *v, const attn_tensor *o, const attn_tensor *d_o,
                                const attn_sdpa_gradients *gradients, struct attn_problem *problem,
                                attn_error *err) {
  struct backward_call r = {.g = gradients};
  attn_status status = check(&r, desc, q, k, v, o, d_o, err);
  *problem = r.p;
  return status;
}

/* ---- Shared by both types ---- */

static void clear(const attn_tensor *given) {
  if (!given) return;
  attn_tensor t = *given; /* of its own shape: it has elements even if it broadcasts to no rows */
  for (int n = t.rank; n < 4; n++) t.shape[n] = 1, t.strides[n] = 0;
  for (int64_t a = 0; a < t.shape[0]; a++)
    for (int64_t b = 0; b < t.shape[1]; b++)
      for (int64_t c = 0; c < t.shape[2]; c++)
        for (int64_t d = 0; d < t.shape[3]; d++)
          attn_store_real(t.dtype, attn_tensor_at(&t, a, b, c, d), 0);
}

void attn_backward_clear(const attn_sdpa_gradients *g) {
  clear(g->d_mask), clear(g->d_sinks), clear(g->d_additive);
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

/* rowsum(dO O) */
static double output_product(const struct backward_call *r, int64_t b, int64_t h, int64_t i) {
  const char *g = attn_tensor_at(&r->d_o, b, h, i, 0), *o = attn_tensor_at(&r->p.o, b, h, i, 0);
  int64_t size = attn_real_size(r->p.o.dtype);
  int64_t g_step = r->d_o.strides[3] * size, o_step = r->p.o.strides[3] * size;
  double sum = 0;
  if (r->p.o.dtype == ATTN_F32 && g_step == size && o_step == size)
    for (int64_t e = 0; e < r->p.value_width; e++)
      sum +=
          (double)((const float *)(const void *)g)[e] * (double)((const float *)(const void *)o)[e];
  else
    for (int64_t e = 0; e < r->p.value_width; e++)
      sum += attn_load_real(r->p.o.dtype, g + e * g_step) *
             attn_load_real(r->p.o.dtype, o + e * o_step);
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

static void begin_task(const struct backward_call *r, struct attn_backward_task *t, int32_t worker,
                       int64_t b, int64_t head) {
  memset(t, 0, sizeof *t);
  t->task.workspace = worker_memory(r, worker);
  attn_task_set_head(&r->p, &t->task, b, head);
  t->plain_scale = r->p.scale;
  t->d_o_col = r->d_o.strides[3], t->d_q_col = r->d_q.strides[3];
  t->d_mask_col = r->d_mask.strides[3], t->d_mask_dtype = r->d_mask.dtype;
}

/* ---- The softmax's sums ---- */

/* Above this |lse| loses ln n in float32: the error is 2^-18. */
static const float LARGE_LSE = 64;

/* From the forward's log-sum-exp; -inf (no keys) gives weights 0. */
static struct row_softmax sum_of_lse(double lse, double sink) {
  return (struct row_softmax){(float)(lse * ATTN_LOG2E), 1,
                              sink > -(double)INFINITY ? (float)exp(sink - lse) : 0};
}

/* Recomputes the sums of the task's rows as the forward did. */
static void recompute_sums(const struct backward_call *r, struct attn_sdpa_task *t,
                           struct row_softmax *const *sums) {
  float partial[ATTN_ROW_BLOCK][2];
  if (!t->rows) return;
  for (int n = 0; n < t->rows; n++) t->partial[n] = partial[n], t->weights[n] = NULL;
  t->value_width = 0, t->drop_below = 0;
  r->p.kernel->sdpa_f32(t);
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

static void run_queries(void *argument, int64_t index, int32_t worker) {
  struct backward_call *r = argument;
  const struct attn_partition *s = &r->parts;
  if (r->progress.stop) return;
  int64_t block = s->blocks - 1 - index % s->blocks, rest = index / s->blocks;
  int64_t unit = rest % s->units, kv = rest / s->units;
  int64_t b = kv / r->p.heads, head = kv % r->p.heads, first = block * ATTN_ROW_BLOCK;
  struct attn_backward_task t;
  begin_task(r, &t, worker, b, head);
  for (int64_t n = first; n < s->unit_rows && n < first + ATTN_ROW_BLOCK; n++) {
    int64_t h = head * s->group + unit + n / r->p.rows;
    if (r->slots) t.d_additive[t.task.rows] = additive_slot(r, b, h, block);
    point_row(r, &t, t.task.rows++, b, h, n % r->p.rows);
  }
  r->p.kernel->backward_queries(&t);
  attn_progress_report(&r->progress, &r->p.desc, t.task.rows);
}

/* Adds all rows of all heads that share these keys, in order. */
static void run_keys(void *argument, int64_t index, int32_t worker) {
  struct backward_call *r = argument;
  const struct attn_problem *p = &r->p;
  if (r->progress.stop) return;
  int64_t blocks = (p->keys + ATTN_ROW_BLOCK - 1) / ATTN_ROW_BLOCK, kv = index / blocks;
  int64_t b = kv / p->heads, head = kv % p->heads;
  struct attn_backward_task t;
  begin_task(r, &t, worker, b, head);
  t.first_key = index % blocks * ATTN_ROW_BLOCK;
  t.lanes =
      (int32_t)(p->keys - t.first_key < ATTN_ROW_BLOCK ? p->keys - t.first_key : ATTN_ROW_BLOCK);
  t.d_k = r->g->d_k ? attn_tensor_at(&r->d_k, b, head, 0, 0) : NULL;
  t.d_v = r->g->d_v ? attn_tensor_at(&r->d_v, b, head, 0, 0) : NULL;
  t.d_k_row = r->d_k.strides[2], t.d_k_col = r->d_k.strides[3];
  t.d_v_row = r->d_v.strides[2], t.d_v_col = r->d_v.strides[3];
  p->kernel->backward_keys_begin(&t);
  for (int64_t h = head * r->parts.group; h < (head + 1) * r->parts.group; h++)
    for (int64_t first = 0; first < p->rows && !r->progress.stop; first += ATTN_ROW_BLOCK) {
      t.task.rows = 0;
      for (int64_t i = first; i < p->rows && i < first + ATTN_ROW_BLOCK; i++)
        point_row(r, &t, t.task.rows++, b, h, i);
      p->kernel->backward_keys_add(&t);
    }
  p->kernel->backward_keys_end(&t);
  attn_progress_report(&r->progress, &r->p.desc, t.lanes);
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

static void run_f32(struct backward_call *r) {
  const struct attn_problem *p = &r->p;
  int64_t heads = p->batch * p->heads;
  int queries = r->g->d_q || r->g->d_mask || r->g->d_additive, keys = r->g->d_k || r->g->d_v;
  r->progress.total =
      (queries ? p->batch * p->heads_q * p->rows : 0) + (keys ? heads * p->keys : 0);
  attn_problem_parallel(p, p->batch * p->heads_q * p->rows, run_delta, r);
  attn_problem_parallel(p, heads * r->parts.units * r->parts.blocks, run_sums, r);
  if (queries)
    in_order(r, shares_mask(r), heads * r->parts.units * r->parts.blocks, run_queries, r);
  if (keys)
    attn_problem_parallel(p, heads * ((p->keys + ATTN_ROW_BLOCK - 1) / ATTN_ROW_BLOCK), run_keys,
                          r);
  sink_gradients(r);
  sum_additive(r);
}

/* ---- float64: the equations, head by head ---- */

/* The memory of run_head in bytes; 0 on overflow, because strides of 0 allow any size. Keys and
 * widths are below 2^57. */
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

static void run_head(void *argument, int64_t kv, int32_t worker) {
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
      for (int64_t e = 0; r->g->d_q && e < p->width; e++)
        attn_store_real(r->d_q.dtype, attn_tensor_at(&r->d_q, b, row.h, row.i, e), g.d_q[e]);
      attn_progress_report(&r->progress, &r->p.desc, 1);
    }
  }
  for (int64_t j = 0; j < p->keys; j++) {
    for (int64_t e = 0; r->g->d_k && e < p->width; e++)
      attn_store_real(r->d_k.dtype, attn_tensor_at(&r->d_k, b, head, j, e),
                      g.d_k[j * p->width + e]);
    for (int64_t e = 0; r->g->d_v && e < p->value_width; e++)
      attn_store_real(r->d_v.dtype, attn_tensor_at(&r->d_v, b, head, j, e),
                      g.d_v[j * p->value_width + e]);
  }
}

static void run_f64(struct backward_call *r) {
  r->progress.total = r->p.batch * r->p.heads_q * r->p.rows;
  /* Shared masks and sinks are summed in order by one thread. */
  in_order(r, r->g->d_mask || r->g->d_sinks, r->p.batch * r->p.heads, run_head, r);
  sum_additive(r);
}

/* ---- The call ---- */

/* The bytes of all workers, then of the slots of d_additive, delta and sums; 0 on overflow. */
static size_t measure(struct backward_call *r) {
  size_t each = r->p.kernel ? (size_t)attn_backward_panel_floats(r->p.width, r->p.value_width,
                                                                 r->p.desc.additive != NULL) *
                                  sizeof(float)
                            : reference_bytes(&r->p),
         all, rows = (size_t)(r->p.batch * r->p.heads_q * r->p.rows), slots;
  r->slots = slots_of_head(r);
  if (__builtin_mul_overflow((size_t)(r->slots * r->p.batch * r->p.heads_q), (size_t)r->p.width,
                             &slots) ||
      __builtin_mul_overflow(slots, sizeof(double), &r->slot_bytes))
    return 0;
  r->worker_bytes = (each + ATTN_PANEL_ALIGN - 1) / ATTN_PANEL_ALIGN * ATTN_PANEL_ALIGN;
  if (!each || rows > SIZE_MAX / 2 / ROW_BYTES ||
      __builtin_mul_overflow(r->worker_bytes, (size_t)r->p.workers, &all) ||
      __builtin_add_overflow(all, r->slot_bytes, &all) ||
      __builtin_add_overflow(all, rows * ROW_BYTES + ATTN_PANEL_ALIGN, &all))
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
  r->d_additive = (double *)(void *)(r->workspace + r->worker_bytes * (size_t)r->p.workers);
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
  attn_status status = check(&r, desc, q, k, v, o, d_o, err);
  return status ? status : compute(&r, err);
}

attn_status attn_sdpa_backward(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                               const attn_tensor *v, const attn_tensor *o, const attn_tensor *d_o,
                               const attn_sdpa_gradients *gradients, attn_error *err) {
  return attn_backward_part(NULL, 0, desc, q, k, v, o, d_o, gradients, err);
}
