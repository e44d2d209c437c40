/* Law: a hidden pair gives exactly nothing. Rows and keys of random problems are filled once with
 * zeros and once with NaN, infinities and the largest numbers; every result that no visible pair
 * connects with them keeps its bits, and what no pair reaches is exactly 0. In every combination of
 * features, in every type and kernel: the forward, its weights, all gradients, packed sequences,
 * pages, score functions, summaries. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "element.h"
#include "lender.h"
#include "random.h"
#include "select.h"

enum { MOST = 1 << 19, HEADS = 6, WIDTH = 17, LISTED = 3, CANARY = 0x5A };

static int64_t pick(const int64_t *from, int n) { return from[below(n)]; }
#define PICK(...) \
  pick((const int64_t[]){__VA_ARGS__}, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

/* ---- A random problem ------------------------------------------------------------ */

/* Which function is called. */
enum door { DENSE, PACKED, PAGED, GENERAL, ADDITIVE, DOORS };

/* Numbers in double, dense as (H, B, N, width): so that sequences stand end to end as well. */
struct scene {
  enum door door;
  attn_dtype dtype, kv_dtype, mask_dtype, table_dtype;
  int64_t b, hq, h, l, s, e, ev, page_size;
  attn_sdpa desc; /* what is no tensor */
  int has_mask, has_lengths, has_slopes, has_sinks, additive_rank;
  int64_t mask_shape[4], lengths[2];
  double q[MOST], k[MOST], v[MOST], d_o[MOST], d_lse[MOST], mask[MOST];
  double slopes[HEADS], sinks[HEADS], additive[HEADS * WIDTH], w[WIDTH * WIDTH], u[WIDTH * WIDTH];
  /* Filled with zeros, or with poison; (B, H, S) and (B, Hq, L). */
  char bad_key[2 * HEADS * 3400], bad_row[MOST];
  /* What must follow, by rules of its own: (B, Hq, L, S) and so on. */
  char sees[MOST], dirty_row[MOST], empty[MOST], dirty_key[2 * HEADS * 3400],
      seen_key[2 * HEADS * 3400];
};

static struct scene scene;

static int is_float_mask(const struct scene *c) {
  return c->has_mask && c->mask_dtype != ATTN_BOOL;
}
static int64_t key_at(const struct scene *c, int64_t b, int64_t kv, int64_t j) {
  return (b * c->h + kv) * c->s + j;
}
static int64_t mask_at(const struct scene *c, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t *m = c->mask_shape, at[4] = {b, h, i, j};
  int64_t x = 0;
  for (int n = 0; n < 4; n++) x = x * m[n] + (m[n] == 1 ? 0 : at[n]);
  return x;
}

static void fill(double *to, int64_t count, double gain) {
  for (int64_t n = 0; n < count; n++) to[n] = gain * (double)(uniform() + uniform());
}

static void draw_shape(struct scene *c) {
  int few = chance(4); /* one row of one head against many keys: split, or the narrow kernel */
  c->b = 1 + below(2), c->h = 1 + below(2), c->hq = c->h * (few ? PICK(1, 1, 3) : PICK(1, 2, 3));
  c->l = few ? PICK(1, 1, 1, 2, 5) : PICK(1, 3, 7, 8, 33, 64, 65, 70);
  c->s = few ? PICK(1, 30, 200, 3072, 3300) : PICK(1, 2, 6, 30, 95, 97, 130, 193, 200);
  c->e = PICK(1, 3, 8, 16, 17), c->ev = PICK(1, 5, 8, 12);
  if (c->dtype == ATTN_F64 && c->s > 200) c->s = 60; /* by the equations, which are slow */
}

static void draw_mask(struct scene *c) {
  static const attn_dtype types[] = {ATTN_BOOL, ATTN_F32, ATTN_F64, ATTN_BF16};
  const int64_t full[4] = {c->b, c->hq, c->l, c->s};
  int64_t hidden = 1 + below(12), stretch = 1 + below(90);
  c->has_mask = 1, c->mask_dtype = types[below(4)];
  for (int n = 0; n < 4; n++) c->mask_shape[n] = chance(3) ? 1 : full[n];
  int64_t *m = c->mask_shape, count = m[0] * m[1] * m[2] * m[3], width = m[3];
  fill(c->mask, count, 1);
  for (int64_t n = 0; n < count; n++) {
    int64_t j = n % width, i = n / width;
    int away = hidden > 8 ? j / stretch % 2 == 0 : hidden > 6 ? i % 3 == 1 : below(hidden) == 0;
    if (away || chance(9)) c->mask[n] = -(double)INFINITY;
  }
}

static void draw_knobs(struct scene *c) {
  attn_sdpa *d = &c->desc;
  int plain = chance(4);
  d->struct_size = sizeof *d;
  d->empty_row = (int32_t)below(3);
  if (chance(2)) d->flags |= ATTN_SDPA_CAUSAL;
  if (chance(3))
    d->flags |= ATTN_SDPA_WINDOW, d->window_left = below(60) - 1, d->window_right = below(30) - 1;
  d->align = (int32_t)below(3);
  if (d->align == ATTN_ALIGN_OFFSET) d->flags |= ATTN_SDPA_OFFSET, d->offset = below(150) - 75;
  c->has_lengths = chance(2);
  for (int n = 0; n < 2; n++) c->lengths[n] = chance(6) ? 0 : below(c->s + 1);
  if (c->door == PAGED) c->lengths[0] = c->s;
  if (chance(4)) d->flags |= ATTN_SDPA_SCALE, d->scale = (double)uniform();
  c->has_sinks = chance(3);
  fill(c->sinks, HEADS, 1);
  if (chance(3)) c->sinks[0] = -(double)INFINITY;
  if (plain) return;
  if (chance(2)) draw_mask(c);
  if (chance(3)) d->flags |= ATTN_SDPA_SOFTCAP, d->softcap = 0.2 + fabs((double)uniform()) * 5;
  if (chance(4))
    d->flags |= ATTN_SDPA_DROPOUT, d->dropout = 0.3, d->seed = (uint64_t)below(1 << 30);
  c->has_slopes = chance(4);
  for (int n = 0; n < HEADS; n++) c->slopes[n] = 0.1 * fabs((double)uniform());
  if (c->door < GENERAL && chance(4)) c->additive_rank = 1 + (int)below(2);
}

/* ---- Who sees whom --------------------------------------------------------------- */

static int64_t length_of(const struct scene *c, int64_t b) {
  return c->has_lengths || c->door == PAGED ? c->lengths[b] : c->s;
}

/* By position alone. */
static int in_reach(const struct scene *c, int64_t b, int64_t i, int64_t j) {
  const attn_sdpa *d = &c->desc;
  int64_t length = length_of(c, b), offset = 0;
  if (d->align == ATTN_ALIGN_BOTTOM_RIGHT) offset = length - c->l;
  if (d->align == ATTN_ALIGN_OFFSET) offset = d->offset;
  int64_t ahead = j - (i + offset);
  if (j >= length || ((d->flags & ATTN_SDPA_CAUSAL) && ahead > 0)) return 0;
  if (!(d->flags & ATTN_SDPA_WINDOW)) return 1;
  return !(d->window_left >= 0 && -ahead > d->window_left) &&
         !(d->window_right >= 0 && ahead > d->window_right);
}

static int is_visible(const struct scene *c, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (!in_reach(c, b, i, j)) return 0;
  return !c->has_mask || c->mask[mask_at(c, b, h, i, j)] != -(double)INFINITY;
}

/* Calls visit for each pair. */
static void each_pair(struct scene *c,
                      void (*visit)(struct scene *, int64_t row, int64_t key, int64_t pair)) {
  for (int64_t row = 0; row < c->b * c->hq * c->l; row++) {
    int64_t b = row / c->l / c->hq, h = row / c->l % c->hq;
    for (int64_t j = 0; j < c->s; j++)
      visit(c, row, key_at(c, b, h / (c->hq / c->h), j), row * c->s + j);
  }
}

static void see(struct scene *c, int64_t row, int64_t key, int64_t pair) {
  int64_t b = row / c->l / c->hq, h = row / c->l % c->hq;
  c->sees[pair] = (char)is_visible(c, b, h, row % c->l, pair % c->s);
  c->seen_key[key] |= c->sees[pair], c->empty[row] &= (char)!c->sees[pair];
}

static void spoil_row(struct scene *c, int64_t row, int64_t key, int64_t pair) {
  c->dirty_row[row] |= (char)(c->sees[pair] && (c->bad_key[key] || c->bad_row[row]));
}

static void spoil_key(struct scene *c, int64_t row, int64_t key, int64_t pair) {
  c->dirty_key[key] |= (char)(c->bad_key[key] || (c->sees[pair] && c->dirty_row[row]));
}

/* Bad are rows that see nothing and keys that nobody sees; now and then others too. */
static void draw_bad(struct scene *c) {
  int64_t rows = c->b * c->hq * c->l, keys = c->b * c->h * c->s;
  int live_rows = chance(4), live_keys = chance(4);
  memset(c->empty, 1, (size_t)rows);
  each_pair(c, see);
  for (int64_t n = 0; n < rows; n++) c->bad_row[n] = c->empty[n] || (live_rows && chance(20));
  for (int64_t n = 0; n < keys; n++) c->bad_key[n] = !c->seen_key[n] || (live_keys && chance(20));
  each_pair(c, spoil_row), each_pair(c, spoil_key);
}

static void draw_scene(struct scene *c, enum door door, attn_dtype dtype) {
  static const attn_dtype kv[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
  memset(c, 0, sizeof *c);
  c->door = door, c->dtype = c->kv_dtype = dtype;
  draw_shape(c), draw_knobs(c), draw_bad(c);
  if (door == PAGED) c->kv_dtype = kv[below(4)], c->page_size = PICK(1, 16, 96, 100);
  c->table_dtype = chance(2) ? ATTN_I32 : ATTN_I64;
  fill(c->q, c->b * c->hq * c->l * c->e, 1), fill(c->k, c->b * c->h * c->s * c->e, 1);
  fill(c->v, c->b * c->h * c->s * c->ev, 1), fill(c->d_o, c->b * c->hq * c->l * c->ev, 1);
  fill(c->d_lse, c->b * c->hq * c->l, 1), fill(c->additive, HEADS * WIDTH, 0.6);
  fill(c->w, WIDTH * WIDTH, 0.5), fill(c->u, WIDTH * WIDTH, 0.5);
}

/* ---- The call -------------------------------------------------------------------- */

/* Outputs at rank 4, (B, H, N, width), whatever rank the call takes them in. */
struct call {
  attn_tensor q, k, v, d_o, d_lse, mask, slopes, sinks, additive, lengths, w, u, starts[2];
  attn_tensor o, lse, weights, d_q, d_k, d_v, d_mask, d_sinks, d_additive, d_w, d_u;
  attn_tensor sums, top_keys, top_weights, entropy, logit;
  attn_tensor pages_k, pages_v, scales_k, scales_v, table;
  void *memory[48];
  int used, poisoned;
};

static void *take(struct call *t, size_t bytes) {
  void *memory = t->memory[t->used++] = malloc(bytes + 64);
  assert_non_null(memory);
  memset(memory, CANARY, bytes + 64);
  return memory;
}

static double poison(attn_dtype dtype) {
  double largest = dtype == ATTN_F64 ? DBL_MAX : dtype == ATTN_F16 ? 65504 : 3.3895e38;
  double all[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, largest, -largest};
  return all[below(5)];
}

static void set(attn_dtype dtype, char *at, double x) {
  if (dtype == ATTN_BOOL)
    *at = (char)(x != -(double)INFINITY);
  else
    attn_store_real(dtype, at, x);
}

/* (B, H, N, width) in memory of the order (H, B, N, width). */
static attn_tensor room(struct call *t, attn_dtype dtype, int64_t b, int64_t h, int64_t n,
                        int64_t width) {
  size_t size = attn_dtype_size(dtype);
  return (attn_tensor){take(t, (size_t)(b * h * n * width) * size),
                       dtype,
                       4,
                       {b, h, n, width},
                       {n * width, b * n * width, width, 1}};
}

static char *at(const attn_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d) {
  int64_t n = a * t->strides[0] + b * t->strides[1] + c * t->strides[2] + d * t->strides[3];
  return (char *)t->data + n * (int64_t)attn_dtype_size(t->dtype);
}

/* An input whose bad rows, (B, H, N), are 0 or poison. */
static attn_tensor input(struct call *t, attn_dtype dtype, const double *from, int64_t b,
                         int64_t heads, int64_t n, int64_t width, const char *bad) {
  attn_tensor x = room(t, dtype, b, heads, n, width);
  for (int64_t row = 0; row < b * heads * n; row++)
    for (int64_t e = 0; e < width; e++) {
      double value = from[row * width + e];
      if (bad && bad[row]) value = t->poisoned ? poison(dtype) : 0;
      set(dtype, at(&x, row / n / heads, row / n % heads, row % n, e), value);
    }
  return x;
}

/* Without the first, or without the last dimension. */
static attn_tensor front(attn_tensor t) {
  t.rank = 3;
  return t;
}
static attn_tensor back(attn_tensor t, int rank) {
  for (int n = 0; n < rank; n++)
    t.shape[n] = t.shape[n + 4 - rank], t.strides[n] = t.strides[n + 4 - rank];
  t.rank = rank;
  return t;
}

/* (B, H, N, width) as (H, B N, width). */
static attn_tensor packed(attn_tensor t) {
  const int64_t *s = t.shape;
  return (attn_tensor){
      t.data, t.dtype, 3, {s[1], s[0] * s[2], s[3]}, {s[0] * s[2] * s[3], s[3], 1}};
}

/* The view of packed pairs, (Hq, B L, B S), where each sequence meets itself. */
static attn_tensor pairs_room(struct call *t, const struct scene *c, attn_dtype dtype) {
  int64_t rows = c->b * c->l, keys = c->b * c->s;
  attn_tensor x = room(t, dtype, 1, c->hq, rows, keys);
  const int64_t strides[4] = {c->l * keys + c->s, rows * keys, keys, 1};
  const int64_t shape[4] = {c->b, c->hq, c->l, c->s};
  memset(x.data, 0xFF, (size_t)(c->hq * rows * keys) * attn_dtype_size(dtype)); /* NaN; true */
  memcpy(x.shape, shape, sizeof shape), memcpy(x.strides, strides, sizeof strides);
  return x;
}

/* Where position hides a pair the mask's own element means nothing. */
static double mask_value(const struct call *t, const struct scene *c, const int64_t i[4]) {
  const int64_t *m = c->mask_shape;
  int own = c->door == PACKED || (m[0] == c->b && m[1] == c->hq && m[2] == c->l && m[3] == c->s);
  if (own && is_float_mask(c) && !in_reach(c, i[0], i[2], i[3]))
    return t->poisoned ? poison(c->mask_dtype == ATTN_BF16 ? ATTN_F32 : c->mask_dtype) : 0;
  return c->mask[mask_at(c, i[0], i[1], i[2], i[3])];
}

static void make_mask(struct call *t, const struct scene *c, attn_dtype wide) {
  const int64_t *m = c->mask_shape;
  attn_dtype dtype = c->mask_dtype;
  if (c->door == PACKED)
    t->mask = pairs_room(t, c, dtype), t->d_mask = pairs_room(t, c, wide);
  else
    t->mask = attn_tensor_dense(dtype, room(t, dtype, m[0], m[1], m[2], m[3]).data, m[0], m[1],
                                m[2], m[3]),
    t->d_mask =
        attn_tensor_dense(wide, room(t, wide, m[0], m[1], m[2], m[3]).data, m[0], m[1], m[2], m[3]);
  const int64_t *s = t->mask.shape;
  for (int64_t n = 0; n < s[0] * s[1] * s[2] * s[3]; n++) {
    const int64_t i[4] = {n / s[3] / s[2] / s[1], n / s[3] / s[2] % s[1], n / s[3] % s[2],
                          n % s[3]};
    set(dtype, at(&t->mask, i[0], i[1], i[2], i[3]), mask_value(t, c, i));
  }
}

static int64_t columns_of(const struct scene *c) { return c->additive_rank == 2 ? c->hq : 1; }

static void make_outputs(struct call *t, const struct scene *c, attn_dtype wide) {
  t->o = room(t, c->dtype, c->b, c->hq, c->l, c->ev), t->lse = room(t, wide, c->b, c->hq, c->l, 1);
  t->weights = room(t, c->dtype, c->b, c->hq, c->l, c->s);
  t->d_q = room(t, c->dtype, c->b, c->hq, c->l, c->e);
  t->d_k = room(t, c->dtype, c->b, c->h, c->s, c->e);
  t->d_v = room(t, c->dtype, c->b, c->h, c->s, c->ev);
  t->d_sinks = room(t, wide, 1, 1, c->hq, 1);
  t->d_additive = room(t, wide, 1, 1, columns_of(c), c->e);
  t->d_w = room(t, wide, 1, 1, c->e, c->e), t->d_u = room(t, wide, 1, 1, c->e, c->e);
  t->sums = room(t, wide, c->b, c->hq, c->s, 1);
  t->top_keys = room(t, ATTN_I64, c->b, c->hq, c->l, LISTED);
  t->top_weights = room(t, wide, c->b, c->hq, c->l, LISTED);
  t->entropy = room(t, wide, c->b, c->hq, c->l, 1), t->logit = room(t, wide, c->b, c->hq, c->l, 1);
}

/* A gradient of the log-sum-exp reaches the sink of a row that sees no key: it is hidden where
 * there is none, or where that row's is NaN. */
static void make_d_lse(struct call *t, struct scene *c, attn_dtype wide) {
  char *bad = take(t, (size_t)(c->b * c->hq * c->l));
  for (int64_t n = 0; n < c->b * c->hq * c->l; n++) {
    int sink = c->has_sinks && c->sinks[n / c->l % c->hq] > -(double)INFINITY;
    bad[n] = c->bad_row[n] && !(c->empty[n] && sink && c->desc.empty_row != ATTN_EMPTY_NAN);
  }
  t->d_lse = input(t, wide, c->d_lse, c->b, c->hq, c->l, 1, bad);
}

static void make_call(struct call *t, struct scene *c, int poisoned) {
  attn_dtype wide = c->dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
  memset(t, 0, sizeof *t);
  t->poisoned = poisoned;
  t->q = input(t, c->dtype, c->q, c->b, c->hq, c->l, c->e, c->bad_row);
  t->d_o = input(t, c->dtype, c->d_o, c->b, c->hq, c->l, c->ev, c->bad_row);
  t->k = input(t, c->dtype, c->k, c->b, c->h, c->s, c->e, c->bad_key);
  t->v = input(t, c->dtype, c->v, c->b, c->h, c->s, c->ev, c->bad_key);
  make_d_lse(t, c, wide);
  if (c->has_mask) make_mask(t, c, wide);
  t->slopes = back(input(t, wide, c->slopes, 1, 1, 1, c->hq, NULL), 1);
  t->sinks = back(input(t, wide, c->sinks, 1, 1, 1, c->hq, NULL), 1);
  t->additive = input(t, wide, c->additive, 1, 1, columns_of(c), c->e, NULL);
  t->additive = back(t->additive, c->additive_rank == 2 ? 2 : 1);
  t->w = back(input(t, wide, c->w, 1, 1, c->e, c->e, NULL), 2);
  t->u = back(input(t, wide, c->u, 1, 1, c->e, c->e, NULL), 2);
  t->lengths = (attn_tensor){c->lengths, ATTN_I64, 1, {c->b}, {1}};
  make_outputs(t, c, wide);
}

static void free_call(struct call *t) {
  while (t->used) free(t->memory[--t->used]);
}

/* ---- Its doors ------------------------------------------------------------------- */

static void must(attn_status status, const attn_error *err) {
  if (status) fail_msg("%s", err->message);
}

/* Small views that a descriptor points to. */
struct views {
  attn_tensor lse, mask, d_mask, d_lse, d_sinks, d_additive, d_w, d_u;
  attn_sdpa desc;
};

static void describe(struct call *t, const struct scene *c, struct views *v) {
  int flat = c->door == PACKED;
  memset(v, 0, sizeof *v);
  v->desc = c->desc, v->desc.allocator = &lender;
  v->lse = flat ? packed(t->lse) : t->lse, v->lse.rank = flat ? 2 : 3;
  v->d_lse = flat ? packed(t->d_lse) : t->d_lse, v->d_lse.rank = v->lse.rank;
  v->mask = t->mask, v->d_mask = t->d_mask;
  if (flat && c->has_mask) {
    const int64_t keys = c->b * c->s, shape[4] = {c->hq, c->b * c->l, keys, 1};
    memcpy(v->mask.shape, shape, sizeof shape), memcpy(v->d_mask.shape, shape, sizeof shape);
    v->mask.rank = v->d_mask.rank = 3;
    v->mask.strides[0] = v->d_mask.strides[0] = c->b * c->l * keys;
    v->mask.strides[1] = v->d_mask.strides[1] = keys;
    v->mask.strides[2] = v->d_mask.strides[2] = 1;
  }
  v->d_sinks = (attn_tensor){t->d_sinks.data, t->d_sinks.dtype, 1, {c->hq}, {1}};
  v->d_additive = back(t->d_additive, c->additive_rank == 2 ? 2 : 1);
  v->d_w = back(t->d_w, 2), v->d_u = back(t->d_u, 2);
  v->desc.lse = &v->lse;
  if (c->has_mask) v->desc.mask = &v->mask;
  if (c->has_lengths && c->door != PAGED) v->desc.key_lengths = &t->lengths;
  if (c->has_slopes) v->desc.alibi = &t->slopes;
  if (c->has_sinks) v->desc.sinks = &t->sinks;
  if (c->additive_rank) v->desc.additive = &t->additive;
}

static attn_sdpa_gradients gradients(struct call *t, const struct scene *c, struct views *v) {
  return (attn_sdpa_gradients){sizeof(attn_sdpa_gradients),
                               &t->d_q,
                               &t->d_k,
                               &t->d_v,
                               is_float_mask(c) ? &v->d_mask : NULL,
                               c->has_sinks ? &v->d_sinks : NULL,
                               &v->d_lse,
                               c->additive_rank ? &v->d_additive : NULL};
}

static void run_dense(struct call *t, const struct scene *c) {
  struct views v;
  attn_error err;
  describe(t, c, &v);
  attn_sdpa_gradients g = gradients(t, c, &v);
  must(attn_sdpa_forward(&v.desc, &t->q, &t->k, &t->v, &t->o, &err), &err);
  must(attn_sdpa_backward(&v.desc, &t->q, &t->k, &t->v, &t->o, &t->d_o, &g, &err), &err);
}

/* Weights are given where rows are whole, so by a call of their own. */
static void run_weights(struct call *t, const struct scene *c) {
  struct views v;
  attn_error err;
  describe(t, c, &v);
  v.desc.weights = &t->weights;
  must(attn_sdpa_forward(&v.desc, &t->q, &t->k, &t->v, &t->o, &err), &err);
}

static void run_summary(struct call *t, const struct scene *c) {
  struct views v;
  attn_error err;
  attn_tensor sums = front(t->sums), entropy = front(t->entropy), logit = front(t->logit);
  attn_sdpa_summary s = {sizeof s, &sums, &t->top_keys, &t->top_weights, &entropy, &logit};
  describe(t, c, &v);
  v.desc.lse = NULL;
  must(attn_sdpa_summarize(&v.desc, &t->q, &t->k, &s, &err), &err);
}

static void run_packed(struct call *t, const struct scene *c) {
  struct views v;
  attn_error err;
  int64_t rows[3] = {0, c->l, 2 * c->l}, keys[3] = {0, c->s, 2 * c->s};
  attn_tensor at_rows = {rows, ATTN_I64, 1, {c->b + 1}, {1}}, at_keys = at_rows;
  attn_tensor q = packed(t->q), k = packed(t->k), x = packed(t->v), o = packed(t->o);
  attn_tensor d_o = packed(t->d_o), d_q = packed(t->d_q), d_k = packed(t->d_k),
              d_v = packed(t->d_v);
  at_keys.data = keys;
  describe(t, c, &v);
  attn_sdpa_gradients g = gradients(t, c, &v);
  g.d_q = &d_q, g.d_k = &d_k, g.d_v = &d_v;
  must(attn_sdpa_forward_packed(&v.desc, &q, &k, &x, &o, &at_rows, &at_keys, &err), &err);
  must(attn_sdpa_backward_packed(&v.desc, &q, &k, &x, &o, &d_o, &at_rows, &at_keys, &g, &err),
       &err);
}

static void run_score(struct call *t, const struct scene *c) {
  struct views v;
  attn_error err;
  int additive = c->door == ADDITIVE;
  attn_tensor d_a = back(t->d_additive, 1);
  attn_tensor vector = (attn_tensor){t->additive.data, t->additive.dtype, 1, {c->e}, {1}};
  attn_score score = {sizeof score,
                      additive ? ATTN_SCORE_ADDITIVE : ATTN_SCORE_GENERAL,
                      0,
                      &t->w,
                      additive ? &t->u : NULL,
                      additive ? &vector : NULL};
  describe(t, c, &v);
  attn_score_gradients learned = {sizeof learned, &v.d_w, additive ? &v.d_u : NULL,
                                  additive ? &d_a : NULL};
  attn_sdpa_gradients g = gradients(t, c, &v);
  must(attn_score_forward(&v.desc, &score, &t->q, &t->k, &t->v, &t->o, &err), &err);
  must(
      attn_score_backward(&v.desc, &score, &t->q, &t->k, &t->v, &t->o, &t->d_o, &g, &learned, &err),
      &err);
}

/* One of the pages' tensors: numbers of keys in pages that follow each other backwards, poison or
 * zeros wherever no key is. */
static attn_tensor paged(struct call *t, const struct scene *c, const attn_tensor *x,
                         attn_tensor *scales) {
  int64_t tokens = c->page_size, most = (c->s + tokens - 1) / tokens, pages = c->b * most + 1;
  int64_t width = x->shape[3], count = pages * c->h * tokens;
  attn_tensor p = room(t, c->kv_dtype, pages, c->h, tokens, width);
  *scales = front(room(t, ATTN_F32, pages, c->h, tokens, 1));
  for (int64_t n = 0; n < count * width; n++) {
    int64_t row = n / width, page = row / tokens / c->h, b = page / most, slot = row % tokens;
    int64_t j = (most - 1 - page % most) * tokens + slot, h = row / tokens % c->h;
    int used = page < c->b * most && j < c->lengths[b];
    int bad = !used || c->bad_key[key_at(c, b, h, j)];
    double value = bad ? (t->poisoned ? poison(c->kv_dtype) : 0)
                       : attn_load_real(x->dtype, at(x, b, h, j, n % width));
    char *to = at(&p, page, h, slot, n % width);
    float scale = bad ? (t->poisoned ? (float)poison(ATTN_F32) : 0) : 0.01f;
    memcpy(at(scales, page, h, slot, 0), &scale, sizeof scale);
    if (c->kv_dtype == ATTN_I8)
      *to = (char)(bad ? (t->poisoned ? 127 : 0) : (int)(value * 50));
    else
      attn_store_real(c->kv_dtype, to, value);
  }
  return p;
}

static attn_tensor make_table(struct call *t, const struct scene *c) {
  int64_t most = (c->s + c->page_size - 1) / c->page_size;
  attn_tensor table = back(room(t, c->table_dtype, 1, 1, c->b, most), 2);
  for (int64_t n = 0; n < c->b * most; n++) {
    int64_t b = n / most, page = b * most + most - 1 - n % most;
    if (n % most * c->page_size >= c->lengths[b]) page = t->poisoned ? INT32_MIN : 0;
    int32_t narrow = (int32_t)page;
    size_t size = attn_dtype_size(c->table_dtype);
    memcpy((char *)table.data + (size_t)n * size, size == 4 ? (void *)&narrow : (void *)&page,
           size);
  }
  return table;
}

static void run_paged(struct call *t, const struct scene *c) {
  struct views v;
  attn_error err;
  attn_tensor k_scales, v_scales, table = make_table(t, c);
  attn_tensor k = paged(t, c, &t->k, &k_scales), x = paged(t, c, &t->v, &v_scales);
  int scaled = c->kv_dtype == ATTN_I8;
  attn_pages pages = {
      sizeof pages, &k,         &x, scaled ? &k_scales : NULL, scaled ? &v_scales : NULL,
      &table,       &t->lengths};
  describe(t, c, &v);
  must(attn_sdpa_forward_paged(&v.desc, &t->q, &pages, &t->o, &err), &err);
}

static void run(struct call *t, struct scene *c, int poisoned) {
  make_call(t, c, poisoned);
  if (c->door == DENSE) run_weights(t, c), run_summary(t, c), run_dense(t, c);
  if (c->door == PACKED) run_packed(t, c);
  if (c->door == PAGED) run_paged(t, c);
  if (c->door >= GENERAL) run_score(t, c);
}

/* ---- The law --------------------------------------------------------------------- */

static char where[256];

static void row_stays(const attn_tensor *x, const attn_tensor *y, int64_t a, int64_t b, int64_t n,
                      const char *name) {
  if (memcmp(at(x, a, b, n, 0), at(y, a, b, n, 0), (size_t)x->shape[3] * attn_dtype_size(x->dtype)))
    fail_msg("%s: %s[%d, %d, %d] is touched by what is hidden from it", where, name, (int)a, (int)b,
             (int)n);
}

static void is_zero(const attn_tensor *x, int64_t a, int64_t b, int64_t n, int64_t e,
                    const char *name) {
  double got = attn_load_real(x->dtype, at(x, a, b, n, e));
  if (!(got == 0))
    fail_msg("%s: %s[%d, %d, %d, %d] is %g where nothing is seen", where, name, (int)a, (int)b,
             (int)n, (int)e, got);
}

/* Does v's poison reach the row by empty_row's rule, the mean of all of them? */
static int takes_the_mean(const struct scene *c, int64_t row) {
  int64_t b = row / c->l / c->hq, kv = row / c->l % c->hq / (c->hq / c->h);
  if (!c->empty[row] || c->desc.empty_row != ATTN_EMPTY_MEAN) return 0;
  for (int64_t j = 0; j < c->s; j++)
    if (c->bad_key[key_at(c, b, kv, j)]) return 1;
  return 0;
}

static void rows_stay(const struct scene *c, const struct call *x, const struct call *y) {
  int backward = c->door != PAGED;
  for (int64_t row = 0; row < c->b * c->hq * c->l; row++) {
    int64_t b = row / c->l / c->hq, h = row / c->l % c->hq, i = row % c->l;
    for (int64_t e = 0; c->empty[row] && backward && e < c->e; e++)
      is_zero(&y->d_q, b, h, i, e, "d_q");
    if (c->dirty_row[row]) continue;
    if (!takes_the_mean(c, row)) row_stays(&x->o, &y->o, b, h, i, "o");
    row_stays(&x->lse, &y->lse, b, h, i, "lse");
    if (backward) row_stays(&x->d_q, &y->d_q, b, h, i, "d_q");
    if (c->door != DENSE) continue;
    row_stays(&x->weights, &y->weights, b, h, i, "weights");
    row_stays(&x->top_keys, &y->top_keys, b, h, i, "top_keys");
    row_stays(&x->top_weights, &y->top_weights, b, h, i, "top_weights");
    row_stays(&x->entropy, &y->entropy, b, h, i, "entropy");
    row_stays(&x->logit, &y->logit, b, h, i, "max_logit");
  }
}

static void keys_stay(const struct scene *c, const struct call *x, const struct call *y) {
  for (int64_t key = 0; key < c->b * c->h * c->s; key++) {
    int64_t b = key / c->s / c->h, h = key / c->s % c->h, j = key % c->s;
    for (int64_t e = 0; !c->seen_key[key] && e < c->e; e++) is_zero(&y->d_k, b, h, j, e, "d_k");
    for (int64_t e = 0; !c->seen_key[key] && e < c->ev; e++) is_zero(&y->d_v, b, h, j, e, "d_v");
    if (c->dirty_key[key]) continue;
    row_stays(&x->d_k, &y->d_k, b, h, j, "d_k"), row_stays(&x->d_v, &y->d_v, b, h, j, "d_v");
  }
}

static int is_dirty(const struct scene *c, int64_t h) { /* of a head, or -1: of any */
  for (int64_t row = 0; row < c->b * c->hq * c->l; row++)
    if (c->dirty_row[row] && (h < 0 || row / c->l % c->hq == h)) return 1;
  return 0;
}

/* A gradient of parameters that nothing bad reaches: the same bits, and a number. */
static void sum_stays(const attn_tensor *x, const attn_tensor *y, int64_t n, const char *name) {
  row_stays(x, y, 0, 0, n, name);
  for (int64_t e = 0; e < x->shape[3]; e++)
    if (!isfinite(attn_load_real(y->dtype, at(y, 0, 0, n, e))))
      fail_msg("%s: %s[%d, %d] is no number", where, name, (int)n, (int)e);
}

static void parameters_stay(const struct scene *c, const struct call *x, const struct call *y) {
  int all_clean = !is_dirty(c, -1);
  for (int64_t h = 0; c->has_sinks && h < c->hq; h++)
    if (!is_dirty(c, h)) sum_stays(&x->d_sinks, &y->d_sinks, h, "d_sinks");
  for (int64_t h = 0; c->additive_rank && h < columns_of(c); h++)
    if (c->additive_rank == 2 ? !is_dirty(c, h) : all_clean)
      sum_stays(&x->d_additive, &y->d_additive, h, "d_additive");
  for (int64_t e = 0; c->door >= GENERAL && all_clean && e < c->e; e++) {
    sum_stays(&x->d_w, &y->d_w, e, "d_w");
    if (c->door == ADDITIVE) sum_stays(&x->d_u, &y->d_u, e, "d_u");
  }
  if (c->door == ADDITIVE && all_clean) sum_stays(&x->d_additive, &y->d_additive, 0, "d_a");
}

/* Elements of the mask, each of the pairs that share it. */
static void mask_stays(const struct scene *c, const struct call *x, const struct call *y) {
  static char seen[MOST], dirty[MOST];
  const int64_t full[4] = {c->b, c->hq, c->l, c->s};
  const int64_t *m = c->door == PACKED ? full : c->mask_shape;
  size_t size = attn_dtype_size(x->d_mask.dtype);
  memset(seen, 0, sizeof seen), memset(dirty, 0, sizeof dirty);
  for (int64_t pair = 0; pair < c->b * c->hq * c->l * c->s; pair++) {
    int64_t row = pair / c->s, b = row / c->l / c->hq, h = row / c->l % c->hq;
    int64_t n = c->door == PACKED ? pair : mask_at(c, b, h, row % c->l, pair % c->s);
    seen[n] |= c->sees[pair], dirty[n] |= (char)(c->sees[pair] && c->dirty_row[row]);
  }
  for (int64_t n = 0; n < m[0] * m[1] * m[2] * m[3]; n++) {
    int64_t j = n % m[3], i = n / m[3] % m[2], h = n / m[3] / m[2] % m[1],
            b = n / m[3] / m[2] / m[1];
    if (!seen[n]) is_zero(&y->d_mask, b, h, i, j, "d_mask");
    if (!dirty[n] && memcmp(at(&x->d_mask, b, h, i, j), at(&y->d_mask, b, h, i, j), size))
      fail_msg("%s: d_mask[%d, %d, %d, %d] is touched by what is hidden from it", where, (int)b,
               (int)h, (int)i, (int)j);
  }
}

/* Weights of hidden pairs are 0, and of rows that see nothing what empty_row says; column sums are
 * those of the rows that see the key. */
static void weights_stay(const struct scene *c, const struct call *x, const struct call *y) {
  static char dirty[MOST];
  memset(dirty, 0, sizeof dirty);
  for (int64_t pair = 0; pair < c->b * c->hq * c->l * c->s; pair++) {
    int64_t row = pair / c->s, b = row / c->l / c->hq, h = row / c->l % c->hq, j = pair % c->s;
    dirty[(b * c->hq + h) * c->s + j] |= (char)(c->sees[pair] && c->dirty_row[row]);
    if (!c->sees[pair] && !(c->empty[row] && c->desc.empty_row))
      is_zero(&y->weights, b, h, row % c->l, j, "weights");
  }
  for (int64_t n = 0; n < c->b * c->hq * c->s; n++)
    if (!dirty[n])
      row_stays(&x->sums, &y->sums, n / c->s / c->hq, n / c->s % c->hq, n % c->s, "column_sums");
}

static void hidden_is_nothing(struct scene *c, const char *kernel, uint64_t seed) {
  struct call zeros, odd;
  snprintf(where, sizeof where,
           "%s, seed %llu (door %d, %s, L %d S %d, flags %d mask %x sinks %d additive %d empty %d)",
           kernel, (unsigned long long)seed, (int)c->door, attn_dtype_name(c->dtype), (int)c->l,
           (int)c->s, (int)c->desc.flags, c->has_mask ? (unsigned)c->mask_dtype : 0, c->has_sinks,
           c->additive_rank, (int)c->desc.empty_row);
  run(&zeros, c, 0), run(&odd, c, 1);
  rows_stay(c, &zeros, &odd);
  if (c->door != PAGED) keys_stay(c, &zeros, &odd), parameters_stay(c, &zeros, &odd);
  if (c->door != PAGED && is_float_mask(c)) mask_stays(c, &zeros, &odd);
  if (c->door == DENSE) weights_stay(c, &zeros, &odd);
  free_call(&zeros), free_call(&odd);
}

static void everywhere(enum door door, attn_dtype dtype, int rounds) {
  const char *kernel;
  for (int round = 0; round < rounds; round++) {
    uint64_t seed = random_state;
    draw_scene(&scene, door, dtype);
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      hidden_is_nothing(&scene, kernel, seed);
      if (dtype == ATTN_F64) break; /* no kernel is asked */
    }
    select_default();
  }
}

static void of_every_type(enum door door, int rounds) {
  everywhere(door, ATTN_F32, rounds);
  everywhere(door, ATTN_F16, (rounds + 2) / 3), everywhere(door, ATTN_BF16, (rounds + 2) / 3);
  if (door != PAGED) everywhere(door, ATTN_F64, rounds);
}

static void a_call_sees_nothing_of_what_is_hidden(void **state) {
  (void)state;
  of_every_type(DENSE, ROUNDS(60));
}

static void nor_do_packed_sequences(void **state) {
  (void)state;
  of_every_type(PACKED, ROUNDS(24));
}

static void nor_do_pages(void **state) {
  (void)state;
  of_every_type(PAGED, ROUNDS(40));
}

static void nor_do_score_functions(void **state) {
  (void)state;
  of_every_type(GENERAL, ROUNDS(20)), of_every_type(ADDITIVE, ROUNDS(12));
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_call_sees_nothing_of_what_is_hidden),
                                     cmocka_unit_test(nor_do_packed_sequences),
                                     cmocka_unit_test(nor_do_pages),
                                     cmocka_unit_test(nor_do_score_functions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
