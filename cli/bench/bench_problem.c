/* bench_problem.c -- the tensors of a case, and its call. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"

/* ---- Memory and values ---- */

int64_t attn_cli_bench_elements(const attn_tensor *t) {
  int64_t count = 1;
  for (int n = 0; n < t->rank; n++) count *= t->shape[n];
  return count;
}

attn_status attn_cli_bench_tensor(struct bench_problem *p, attn_tensor *t, attn_dtype dtype,
                                  const int64_t *shape, int rank, attn_error *err) {
  *t = (attn_tensor){.dtype = dtype, .rank = rank};
  int64_t stride = 1;
  for (int n = rank - 1; n >= 0; n--) {
    t->shape[n] = shape[n], t->strides[n] = stride;
    stride *= shape[n];
  }
  size_t bytes = ((size_t)attn_cli_bench_elements(t) * attn_dtype_size(dtype) + 127) / 64 * 64;
  t->data = p->count < BENCH_TENSORS ? aligned_alloc(64, bytes) : NULL;
  if (!t->data) return attn_cli_no_memory(err);
  p->memory[p->count++] = memset(t->data, 0, bytes);
  return ATTN_OK;
}

static uint32_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 32);
}

static float uniform(uint64_t *state) { return (float)(draw(state) >> 8) * 0x1p-23f - 1.0f; }

/* float32: -1 to 1; float16: 0.5 to 1 of both signs; bf16: the upper bits of float32. */
static void fill(attn_tensor *t, uint64_t seed) {
  int64_t count = attn_cli_bench_elements(t);
  float *wide = t->data;
  uint16_t *narrow = t->data;
  for (int64_t n = 0; n < count; n++) {
    if (t->dtype == ATTN_F32) {
      wide[n] = uniform(&seed);
    } else if (t->dtype == ATTN_F16) {
      uint32_t bits = draw(&seed);
      narrow[n] = (uint16_t)(0x3800u | (bits & 0x83FFu));
    } else {
      float x = uniform(&seed);
      uint32_t bits;
      memcpy(&bits, &x, sizeof bits);
      narrow[n] = (uint16_t)(bits >> 16);
    }
  }
}

double attn_cli_bench_real(const attn_tensor *t, int64_t n) {
  if (t->dtype == ATTN_F64) return ((const double *)t->data)[n];
  if (t->dtype == ATTN_F32) return (double)((const float *)t->data)[n];
  uint32_t bits = ((const uint16_t *)t->data)[n];
  if (t->dtype == ATTN_BF16) {
    float x;
    bits <<= 16;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
  }
  int exponent = (int)(bits >> 10 & 31);
  double mantissa = (double)(bits & 1023) / 1024;
  double size = exponent ? ldexp(1 + mantissa, exponent - 15) : ldexp(mantissa, -14);
  return bits >> 15 ? -size : size;
}

double attn_cli_bench_error(const attn_tensor *got, const attn_tensor *exact) {
  double largest = 0, error = 0;
  for (int64_t n = 0; n < attn_cli_bench_elements(exact); n++) {
    double x = attn_cli_bench_real(got, n), y = attn_cli_bench_real(exact, n);
    largest = fmax(largest, fabs(y));
    if (!isnan(error) && !(fabs(x - y) <= error)) error = fabs(x - y); /* a NaN as well */
  }
  return error > 0 || isnan(error) ? error / largest : 0;
}

/* ---- Masks and the count of operations ---- */

/* The keys that row i of sequence b sees; random masks count as if they hid none. */
static int64_t visible_keys(const struct bench_case *c, int64_t b, int64_t i) {
  int64_t keys = c->shape.keys, first = 0;
  if (c->mask == BENCH_PADDING) return keys - (b + 1) * keys / 4;
  if (c->flags & ATTN_SDPA_CAUSAL || c->mask == BENCH_CAUSAL) keys = i + 1 < keys ? i + 1 : keys;
  if (c->flags & ATTN_SDPA_WINDOW && i >= BENCH_WINDOW) first = i - BENCH_WINDOW + 1;
  return keys > first ? keys - first : 0;
}

static int is_visible(const struct bench_case *c, int64_t b, int64_t i, int64_t j,
                      uint64_t *state) {
  return c->mask == BENCH_RANDOM ? draw(state) % 10 != 0 : j < visible_keys(c, b, i);
}

static attn_status make_mask(struct bench_problem *p, attn_error *err) {
  const struct bench_case *c = p->c;
  const struct bench_shape *s = &c->shape;
  int padding = c->mask == BENCH_PADDING;
  const int64_t shape[] = {padding ? s->batch : 1, 1, padding ? 1 : s->queries, s->keys};
  uint64_t state = 7;
  attn_status status = attn_cli_bench_tensor(p, &p->mask, c->mask_dtype, shape, 4, err);
  for (int64_t n = 0; !status && n < shape[0] * shape[2] * shape[3]; n++) {
    int64_t j = n % shape[3], i = n / shape[3] % shape[2], b = n / shape[3] / shape[2];
    int visible = is_visible(c, b, i, j, &state);
    float bias = c->mask == BENCH_RANDOM ? uniform(&state) : 0.0f;
    if (c->mask_dtype == ATTN_BOOL)
      ((char *)p->mask.data)[n] = (char)visible;
    else
      ((float *)p->mask.data)[n] = visible ? bias : -INFINITY;
  }
  p->desc.mask = &p->mask;
  return status;
}

static double visible_pairs(const struct bench_problem *p) {
  const struct bench_case *c = p->c;
  double pairs = 0;
  if (c->path == BENCH_PACKED) {
    const int32_t *start = p->starts.data;
    for (int64_t n = 0; n < c->shape.batch; n++) {
      double length = start[n + 1] - start[n];
      pairs += c->flags & ATTN_SDPA_CAUSAL ? length * (length + 1) / 2 : length * length;
    }
    return pairs * (double)c->shape.heads;
  }
  for (int64_t b = 0; b < c->shape.batch; b++)
    for (int64_t i = 0; i < c->shape.queries; i++) pairs += (double)visible_keys(c, b, i);
  return pairs * (double)c->shape.heads;
}

static void count_work(struct bench_problem *p) {
  const struct bench_case *c = p->c;
  const struct bench_shape *s = &c->shape;
  double width = (double)(s->width + s->value_width), pairs = visible_pairs(p);
  double size = (double)attn_dtype_size(c->dtype), sequences = (double)s->batch;
  if (c->path == BENCH_PACKED) sequences = 1;
  double keys = size * sequences * (double)(s->kv_heads * s->keys) * width;
  double queries = size * sequences * (double)(s->heads * s->queries) * width;
  p->operations = 2 * pairs * width;
  if (c->path == BENCH_BACKWARD) p->operations *= 2.5;
  if (c->path == BENCH_SUMMARY) p->operations = 4 * pairs * (double)s->width;
  p->bytes = (keys + queries) * (c->path == BENCH_BACKWARD ? 2 : 1);
  if (c->mask)
    p->bytes += (double)attn_cli_bench_elements(&p->mask) * (double)attn_dtype_size(c->mask_dtype);
  p->amount = c->unit == BENCH_GBYTES  ? keys
              : c->unit == BENCH_GTANH ? pairs * (double)s->width
                                       : p->operations;
}

/* ---- Tensors ---- */

/* (B, H, L, E) of random values; strided: (B, L, H, E) in memory. */
static attn_status make(struct bench_problem *p, attn_tensor *t, attn_dtype dtype, int64_t heads,
                        int64_t length, int64_t width, uint64_t seed, attn_error *err) {
  const struct bench_case *c = p->c;
  const int strided = (c->options & BENCH_STRIDED) != 0;
  const int64_t batch = c->path == BENCH_PACKED ? 1 : c->shape.batch;
  const int64_t shape[] = {batch, strided ? length : heads, strided ? heads : length, width};
  attn_status status = attn_cli_bench_tensor(p, t, dtype, shape, 4, err);
  if (status) return status;
  if (seed) fill(t, seed);
  if (strided) {
    int64_t stride = t->strides[1];
    t->shape[1] = heads, t->shape[2] = length;
    t->strides[1] = t->strides[2], t->strides[2] = stride;
  }
  return ATTN_OK;
}

static attn_dtype query_type(const struct bench_case *c) {
  return c->dtype == ATTN_I8 ? ATTN_F32 : c->dtype;
}

static attn_status make_inputs(struct bench_problem *p, attn_error *err) {
  const struct bench_shape *s = &p->c->shape;
  attn_dtype type = query_type(p->c);
  attn_status status = make(p, &p->q, type, s->heads, s->queries, s->width, 1, err);
  if (!status) status = make(p, &p->k, type, s->kv_heads, s->keys, s->width, 2, err);
  if (!status) status = make(p, &p->v, type, s->kv_heads, s->keys, s->value_width, 3, err);
  if (!status) status = make(p, &p->o, type, s->heads, s->queries, s->value_width, 0, err);
  return status;
}

static attn_status make_gradients(struct bench_problem *p, attn_error *err) {
  const struct bench_shape *s = &p->c->shape;
  attn_dtype type = query_type(p->c);
  attn_status status = make(p, &p->d_o, type, s->heads, s->queries, s->value_width, 4, err);
  if (!status) status = make(p, &p->d_q, type, s->heads, s->queries, s->width, 0, err);
  if (!status) status = make(p, &p->d_k, type, s->kv_heads, s->keys, s->width, 0, err);
  if (!status) status = make(p, &p->d_v, type, s->kv_heads, s->keys, s->value_width, 0, err);
  return status;
}

/* The slopes of [Press22]: 2^-1 to 2^-8. */
static attn_status make_slopes(struct bench_problem *p, attn_error *err) {
  int64_t heads = p->c->shape.heads;
  attn_status status = attn_cli_bench_tensor(p, &p->slopes, ATTN_F32, &heads, 1, err);
  for (int64_t h = 0; !status && h < heads; h++)
    ((float *)p->slopes.data)[h] = exp2f(-8.0f * (float)(h + 1) / (float)heads);
  p->desc.alibi = &p->slopes;
  return status;
}

static attn_status make_options(struct bench_problem *p, attn_error *err) {
  const struct bench_case *c = p->c;
  const struct bench_shape *s = &c->shape;
  const int64_t rows[] = {s->batch, s->heads, s->queries, s->keys};
  attn_status status = ATTN_OK;
  if (c->mask) status = make_mask(p, err);
  if (!status && c->options & BENCH_ALIBI) status = make_slopes(p, err);
  if (!status && (c->options & BENCH_LSE || c->path == BENCH_BACKWARD)) {
    status = attn_cli_bench_tensor(p, &p->lse, ATTN_F32, rows, 3, err);
    p->desc.lse = &p->lse;
  }
  if (!status && c->options & BENCH_WEIGHTS) {
    status = attn_cli_bench_tensor(p, &p->weights, query_type(c), rows, 4, err);
    p->desc.weights = &p->weights;
  }
  if (!status && c->options & BENCH_ADDITIVE) {
    status = attn_cli_bench_tensor(p, &p->additive, ATTN_F32, &s->width, 1, err);
    if (!status) fill(&p->additive, 5);
    p->desc.additive = &p->additive;
  }
  return status;
}

/* ---- Other paths ---- */

/* (1, H, L, E) as (H, L, E). */
static void drop_batch(attn_tensor *t) {
  t->rank = 3;
  for (int n = 0; n < 3; n++) t->shape[n] = t->shape[n + 1], t->strides[n] = t->strides[n + 1];
}

/* Lengths between 1/16 and 2 times the mean, which add up to all keys. */
static attn_status make_sequences(struct bench_problem *p, attn_error *err) {
  const struct bench_shape *s = &p->c->shape;
  const int64_t shape[] = {s->batch + 1}, mean = s->keys / s->batch;
  uint64_t state = 3;
  attn_status status = attn_cli_bench_tensor(p, &p->starts, ATTN_I32, shape, 1, err);
  if (status) return status;
  int32_t *start = p->starts.data;
  for (int64_t n = 0; n < s->batch; n += 2) { /* pairs of lengths with the same sum */
    int64_t first = mean / 16 + (int64_t)(draw(&state) % (uint64_t)(mean - mean / 16));
    start[n + 1] = (int32_t)(start[n] + first);
    if (n + 2 <= s->batch) start[n + 2] = (int32_t)((n + 2) * mean);
  }
  start[s->batch] = (int32_t)s->keys;
  drop_batch(&p->q), drop_batch(&p->k), drop_batch(&p->v), drop_batch(&p->o);
  return ATTN_OK;
}

/* Appends page by page to all sequences in turns, so that their pages alternate. int8: k and v
 * become what the cache contains. */
static attn_status make_cache(struct bench_problem *p, attn_error *err) {
  const struct bench_case *c = p->c;
  const struct bench_shape *s = &c->shape;
  const attn_cache_config config = {.struct_size = sizeof config,
                                    .num_kv_heads = s->kv_heads,
                                    .head_dim = s->width,
                                    .value_head_dim = s->value_width,
                                    .sequences = s->batch,
                                    .capacity = s->keys,
                                    .page_size = c->page_size,
                                    .dtype = c->dtype};
  int64_t step = c->page_size ? c->page_size : s->keys;
  attn_status status = p->library->cache_new(&config, &p->cache, err);
  for (int64_t at = 0; at < s->keys && !status; at += step) {
    attn_tensor k = p->k, v = p->v;
    k.shape[2] = v.shape[2] = at + step <= s->keys ? step : s->keys - at;
    k.data = (char *)k.data + (size_t)(at * k.strides[2]) * attn_dtype_size(k.dtype);
    v.data = (char *)v.data + (size_t)(at * v.strides[2]) * attn_dtype_size(v.dtype);
    status = p->library->cache_append(p->cache, NULL, s->batch, &k, &v, err);
  }
  for (int64_t b = 0; b < s->batch && !status && c->dtype == ATTN_I8; b++) {
    const int64_t each = s->kv_heads * s->keys;
    attn_tensor k = attn_tensor_dense(ATTN_F32, (float *)p->k.data + b * each * s->width, 1,
                                      s->kv_heads, s->keys, s->width);
    attn_tensor v = attn_tensor_dense(ATTN_F32, (float *)p->v.data + b * each * s->value_width, 1,
                                      s->kv_heads, s->keys, s->value_width);
    drop_batch(&k), drop_batch(&v);
    status = p->library->cache_read(p->cache, b, &k, &v, err);
  }
  return status;
}

static attn_status make_summary(struct bench_problem *p, attn_error *err) {
  const struct bench_shape *s = &p->c->shape;
  const int64_t columns[] = {s->batch, s->heads, s->keys};
  const int64_t top[] = {s->batch, s->heads, s->queries, BENCH_TOP_KEYS};
  attn_status status = attn_cli_bench_tensor(p, &p->column_sums, ATTN_F32, columns, 3, err);
  if (!status) status = attn_cli_bench_tensor(p, &p->entropy, ATTN_F32, top, 3, err);
  if (!status) status = attn_cli_bench_tensor(p, &p->top_keys, ATTN_I32, top, 4, err);
  if (!status) status = attn_cli_bench_tensor(p, &p->top_weights, ATTN_F32, top, 4, err);
  return status;
}

static attn_status make_general(struct bench_problem *p, attn_error *err) {
  const int64_t shape[] = {p->c->shape.width, p->c->shape.width};
  attn_status status = attn_cli_bench_tensor(p, &p->w, ATTN_F32, shape, 2, err);
  if (!status) fill(&p->w, 6);
  return status;
}

static attn_status make_path(struct bench_problem *p, attn_error *err) {
  switch (p->c->path) {
    case BENCH_BACKWARD:
      return make_gradients(p, err);
    case BENCH_CACHED:
      return make_cache(p, err);
    case BENCH_PACKED:
      return make_sequences(p, err);
    case BENCH_SUMMARY:
      return make_summary(p, err);
    case BENCH_GENERAL:
      return make_general(p, err);
    default:
      return ATTN_OK;
  }
}

int attn_cli_bench_counts_cpu(int32_t threads) {
  struct rlimit limit;
  return threads == 1 && !getrlimit(RLIMIT_CPU, &limit) && limit.rlim_cur == RLIM_INFINITY;
}

attn_status attn_cli_bench_open(const struct bench_case *c, const struct bench_library *library,
                                struct bench_problem *p, attn_error *err) {
  *p = (struct bench_problem){.c = c, .library = library, .desc = ATTN_SDPA_INIT};
  p->by_clock = !attn_cli_bench_counts_cpu(c->threads);
  if (c->model) {
    attn_cli_bench_training_count(p);
    return attn_cli_bench_training_open(p, err);
  }
  p->desc.flags = c->flags, p->desc.threads = c->threads;
  if (c->flags & ATTN_SDPA_WINDOW)
    p->desc.window_left = BENCH_WINDOW - 1, p->desc.window_right = -1;
  if (c->flags & ATTN_SDPA_SOFTCAP) p->desc.softcap = BENCH_SOFTCAP;
  if (c->flags & ATTN_SDPA_DROPOUT) p->desc.dropout = 0.1;
  attn_status status = make_inputs(p, err);
  if (!status) status = make_options(p, err);
  if (!status) status = make_path(p, err);
  if (!status && c->path == BENCH_BACKWARD)
    status = library->forward(&p->desc, &p->q, &p->k, &p->v, &p->o, err);
  if (!status) count_work(p);
  return status;
}

void attn_cli_bench_close(struct bench_problem *p) {
  attn_cli_bench_training_close(p);
  if (p->cache) p->library->cache_free(p->cache);
  for (int n = 0; n < p->count; n++) free(p->memory[n]);
  *p = (struct bench_problem){0};
}

attn_status attn_cli_bench_call(struct bench_problem *p, attn_error *err) {
  const attn_sdpa_gradients gradients = {
      .struct_size = sizeof gradients, .d_q = &p->d_q, .d_k = &p->d_k, .d_v = &p->d_v};
  const attn_sdpa_summary summary = {.struct_size = sizeof summary,
                                     .column_sums = &p->column_sums,
                                     .top_keys = &p->top_keys,
                                     .top_weights = &p->top_weights,
                                     .entropy = &p->entropy};
  const attn_score score = {.struct_size = sizeof score, .kind = ATTN_SCORE_GENERAL, .w = &p->w};
  const struct bench_library *call = p->library;
  switch (p->c->path) {
    case BENCH_BACKWARD:
      return call->backward(&p->desc, &p->q, &p->k, &p->v, &p->o, &p->d_o, &gradients, err);
    case BENCH_CACHED:
      return call->forward_cached(&p->desc, &p->q, p->cache, NULL, p->c->shape.batch, &p->o, err);
    case BENCH_PACKED:
      return call->forward_packed(&p->desc, &p->q, &p->k, &p->v, &p->o, &p->starts, &p->starts,
                                  err);
    case BENCH_SUMMARY:
      return call->summarize(&p->desc, &p->q, &p->k, &summary, err);
    case BENCH_GENERAL:
      return call->score_forward(&p->desc, &score, &p->q, &p->k, &p->v, &p->o, err);
    case BENCH_TRAIN:
    case BENCH_GENERATE:
      return attn_cli_bench_training_call(p, err);
    default:
      return call->forward(&p->desc, &p->q, &p->k, &p->v, &p->o, err);
  }
}
