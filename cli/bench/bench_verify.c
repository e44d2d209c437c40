/* bench_verify.c -- results against the equations in double, before a time is printed.
 *
 * Outputs are held to their proved bounds (attn_sdpa_verify), in a sample of rows. Gradients and
 * general scores are compared with the library's float64 path, which computes the reference
 * equations, relative to the largest element. */
#include <math.h>
#include <string.h>

#include "bench.h"

enum { ROWS = 64 };

static attn_status wrong(const struct bench_problem *p, const char *what, double error,
                         double limit, attn_error *err) {
  return attn_cli_fail(err, ATTN_ERR_FORMAT,
                       "%s, %s, %s: wrong %s: error %.3g, at most %.3g is allowed", p->c->work,
                       p->c->name, attn_cli_bench_dtype_text(p->c->dtype), what, error, limit);
}

/* ---- Bounds ---- */

static attn_status verify_rows(const struct bench_problem *p, const attn_sdpa *desc,
                               const attn_tensor *q, const attn_tensor *k, const attn_tensor *v,
                               const attn_tensor *o, int64_t rows, attn_error *err) {
  attn_sdpa_report report = {.struct_size = sizeof report};
  attn_status status = attn_sdpa_verify(desc, q, k, v, o, rows, 1, &report, err);
  if (!status && report.outside)
    status =
        wrong(p, "output", fabs(report.worst_got - report.worst_exact), report.worst_bound, err);
  return status;
}

/* The rows of one sequence of packed tensors (H, T, E). */
static attn_tensor part(const attn_tensor *t, int32_t from, int32_t to) {
  attn_tensor view = *t;
  view.data = (char *)t->data + (size_t)from * (size_t)t->strides[1] * attn_dtype_size(t->dtype);
  view.shape[1] = to - from;
  return view;
}

static attn_status verify_packed(const struct bench_problem *p, attn_error *err) {
  const int32_t *start = p->starts.data;
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < p->c->shape.batch && !status; n++) {
    attn_tensor q = part(&p->q, start[n], start[n + 1]), k = part(&p->k, start[n], start[n + 1]);
    attn_tensor v = part(&p->v, start[n], start[n + 1]), o = part(&p->o, start[n], start[n + 1]);
    status = verify_rows(p, &p->desc, &q, &k, &v, &o, ROWS / 8, err);
  }
  return status;
}

/* ---- Against float64 ---- */

static attn_status compare(const struct bench_problem *p, const char *what, const attn_tensor *got,
                           const attn_tensor *exact, attn_error *err) {
  double limit = got->dtype == ATTN_F32 ? 0x1p-12 : 0x1p-6;
  double error = attn_cli_bench_error(got, exact);
  return error <= limit ? ATTN_OK : wrong(p, what, error, limit, err);
}

/* The first `heads` heads of the first batch of a dense tensor as float64. */
static attn_status widen(struct bench_problem *p, const attn_tensor *from, int64_t heads,
                         attn_tensor *to, attn_error *err) {
  int64_t shape[ATTN_RANK_MAX];
  memcpy(shape, from->shape, sizeof shape);
  if (heads) shape[0] = 1, shape[1] = heads;
  attn_status status = attn_cli_bench_tensor(p, to, ATTN_F64, shape, from->rank, err);
  for (int64_t n = 0; !status && n < attn_cli_bench_elements(to); n++)
    ((double *)to->data)[n] = attn_cli_bench_real(from, n);
  return status;
}

/* The query heads of the first key and value head. */
static attn_status verify_gradients(struct bench_problem *p, attn_error *err) {
  struct bench_problem w = {.c = p->c, .library = &attn_cli_bench_own, .desc = p->desc};
  const struct bench_shape *s = &p->c->shape;
  int64_t group = s->heads / s->kv_heads;
  const struct {
    const attn_tensor *from;
    attn_tensor *to;
    int64_t heads;
  } tensors[] = {{&p->q, &w.q, group},     {&p->k, &w.k, 1},         {&p->v, &w.v, 1},
                 {&p->o, &w.o, group},     {&p->d_o, &w.d_o, group}, {&p->lse, &w.lse, group},
                 {&p->d_q, &w.d_q, group}, {&p->d_k, &w.d_k, 1},     {&p->d_v, &w.d_v, 1}};
  attn_status status = ATTN_OK;
  for (size_t n = 0; n < sizeof tensors / sizeof *tensors && !status; n++)
    status = widen(&w, tensors[n].from, tensors[n].heads, tensors[n].to, err);
  w.slopes = p->slopes, w.slopes.shape[0] = group;
  w.desc.lse = &w.lse;
  if (w.desc.alibi) w.desc.alibi = &w.slopes;
  if (!status) status = attn_cli_bench_call(&w, err);
  if (!status) status = compare(p, "dQ", &p->d_q, &w.d_q, err);
  if (!status) status = compare(p, "dK", &p->d_k, &w.d_k, err);
  if (!status) status = compare(p, "dV", &p->d_v, &w.d_v, err);
  attn_cli_bench_close(&w);
  return status;
}

static attn_status verify_general(struct bench_problem *p, attn_error *err) {
  struct bench_problem w = {.c = p->c, .library = &attn_cli_bench_own, .desc = p->desc};
  attn_status status = widen(&w, &p->q, 0, &w.q, err);
  if (!status) status = widen(&w, &p->k, 0, &w.k, err);
  if (!status) status = widen(&w, &p->v, 0, &w.v, err);
  if (!status) status = widen(&w, &p->o, 0, &w.o, err);
  if (!status) status = widen(&w, &p->w, 0, &w.w, err);
  if (!status) status = attn_cli_bench_call(&w, err);
  if (!status) status = compare(p, "output", &p->o, &w.o, err);
  attn_cli_bench_close(&w);
  return status;
}

/* ---- Summaries ---- */

static int count_above(const float *row, int64_t keys, float weight) {
  int above = 0;
  for (int64_t j = 0; j < keys; j++) above += row[j] > weight;
  return above;
}

/* The listed weights are those of the forward, bit for bit, and no other is larger; the sums of the
 * columns add up to the rows. */
static attn_status compare_summary(const struct bench_problem *p, const float *weights,
                                   attn_error *err) {
  const struct bench_shape *s = &p->c->shape;
  const int32_t *keys = p->top_keys.data;
  const float *top = p->top_weights.data, *sums = p->column_sums.data;
  int64_t rows = s->batch * s->heads * s->queries;
  double total = 0;
  for (int64_t n = 0; n < rows; n++)
    for (int64_t m = 0; m < BENCH_TOP_KEYS && m < s->keys; m++) {
      const float *row = weights + n * s->keys;
      float weight = top[n * BENCH_TOP_KEYS + m];
      int32_t key = keys[n * BENCH_TOP_KEYS + m];
      if (key < 0 || key >= s->keys || row[key] != weight || count_above(row, s->keys, weight) > m)
        return wrong(p, "largest weights", (double)weight, 0, err);
    }
  for (int64_t n = 0; n < s->batch * s->heads * s->keys; n++) total += (double)sums[n];
  double error = fabs(total - (double)rows) / (double)rows;
  return error <= 0x1p-12 ? ATTN_OK : wrong(p, "sums of columns", error, 0x1p-12, err);
}

static attn_status verify_summary(struct bench_problem *p, attn_error *err) {
  const struct bench_shape *s = &p->c->shape;
  const int64_t shape[] = {s->batch, s->heads, s->queries, s->keys};
  struct bench_problem w = {.c = p->c, .library = &attn_cli_bench_own, .desc = p->desc};
  attn_status status = attn_cli_bench_tensor(&w, &w.weights, ATTN_F32, shape, 4, err);
  w.desc.weights = &w.weights;
  if (!status) status = attn_sdpa_forward(&w.desc, &p->q, &p->k, &p->v, &p->o, err);
  if (!status) status = verify_rows(p, &w.desc, &p->q, &p->k, &p->v, &p->o, ROWS, err);
  if (!status) status = compare_summary(p, w.weights.data, err);
  attn_cli_bench_close(&w);
  return status;
}

attn_status attn_cli_bench_verify(struct bench_problem *p, attn_error *err) {
  switch (p->c->path) {
    case BENCH_BACKWARD:
      return verify_gradients(p, err);
    case BENCH_PACKED:
      return verify_packed(p, err);
    case BENCH_SUMMARY:
      return verify_summary(p, err);
    case BENCH_GENERAL:
      return verify_general(p, err);
    case BENCH_TRAIN:
    case BENCH_GENERATE:
      return attn_cli_bench_training_verify(p, err);
    default:
      return verify_rows(p, &p->desc, &p->q, &p->k, &p->v, &p->o, ROWS, err);
  }
}
